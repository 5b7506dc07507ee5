"""How long the three ways in take for a user who has nothing: no cache, no environment, no setting.

    python -m bench.fresh_account [--traces FOLDER] [--test]

Each way has a home folder of its own; packages come from the index that pip is configured for. Real transcripts of
Claude Code are in FOLDER (default: those of the demo). With --test the clone runs `make test`, too. The same ways in
the real clients: `pytest -m agents tests/agents/test_plugin.py`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tools.plugin import PLUGIN, ROOT, add_wheel
from tools.release import fresh_account

from bench.measuring import options
from knowbound.demo import TRACES

_ITEM, _PROMPT = "The orders service listens on port 8080.", "Which port does the orders service use?"


def main() -> None:
    given = options(__doc__, traces=str(TRACES), test=False)
    with tempfile.TemporaryDirectory() as folder:
        plugin = Path(shutil.copytree(PLUGIN, Path(folder) / "plugin"))
        wheel = add_wheel(plugin)
        _from_wheel(Account(Path(folder) / "wheel"), wheel, Path(given.traces))
        _from_plugin(Account(Path(folder) / "plugin-user"), plugin)
        _from_clone(Account(Path(folder) / "clone"), has_tests=bool(given.test))


class Account:
    """A home folder with an empty project; its commands are timed."""

    def __init__(self, home: Path) -> None:
        self.home, self.project = home, home / "project"
        self.project.mkdir(parents=True)
        self._began = time.monotonic()
        print(home.name)

    def run(self, what: str, *words: str | Path, cwd: Path | None = None, given: str = "") -> str:
        """Run a command, and print its seconds and those since the account began."""
        began = time.monotonic()
        done = subprocess.run(
            [str(word) for word in words], cwd=cwd or self.project, env=fresh_account(self.home), input=given,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        now = time.monotonic()
        print(f"  {now - began:7.1f} s  {now - self._began:7.1f} s  {what}", flush=True)
        if done.returncode:
            sys.exit(f"{what}: {(done.stderr or done.stdout)[-2000:]}")
        return done.stdout


def _from_wheel(user: Account, wheel: Path, traces: Path) -> None:
    shutil.copytree(traces, user.home / ".claude" / "projects" / "p")
    inside = user.home / "environment" / "bin"
    user.run("an environment", sys.executable, "-m", "venv", inside.parent)
    user.run("pip install the wheel", inside / "python", "-m", "pip", "install", "--quiet", wheel)
    user.run("knowbound demo", inside / "knowbound", "demo")
    user.run("knowbound on the transcripts", inside / "knowbound", "review", "--all")
    user.run("the same again", inside / "knowbound", "review", "--all")


def _from_plugin(user: Account, plugin: Path) -> None:
    program = plugin / "bin" / "knowbound"
    user.run("/knowbound setup", "sh", program, "setup")
    user.run("an item", "sh", program, "kms", "add", _ITEM)
    event = json.dumps({"session_id": "s", "cwd": str(user.project), "prompt": _PROMPT})
    hook = ("sh", plugin / "run" / "hook.sh", "claude-code", "user-prompt-submit")
    if "8080" not in user.run("the first prompt", *hook, given=event):
        sys.exit("the first prompt has no item")


def _from_clone(user: Account, *, has_tests: bool) -> None:
    clone = user.home / "knowbound"
    user.run("git clone", "git", "clone", "--quiet", ROOT, clone)
    user.run("make demo", "make", "demo", cwd=clone)
    user.run("make install", "make", "install", cwd=clone)
    if has_tests:
        user.run("make test", "make", "test", cwd=clone)


if __name__ == "__main__":
    main()
