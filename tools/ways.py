"""The page of ways through the house: docs/ways.md, for whoever reads the code for the first time.

`python -m tools.ways` writes the page. It runs six usual commands on the demo's project with a profiler and lists the
modules of ours in the order of their first call, with the function that was called and what the module is for.
`--counts` prints how many calls each way made.
"""

from __future__ import annotations

import ast
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from knowbound.demo import PROJECT, TRACES

SOURCE = Path(__file__).parents[1] / "src" / "knowbound"
PAGE = Path(__file__).parents[1] / "docs" / "ways.md"
_HEAD = "| | module | first call | for |\n| --- | --- | --- | --- |"
_numbers = count(1)
_QUESTION = "Where is the retry limit of the notifier?"
# Follows a run: a line for each of our modules when one of its functions is called first, outside of imports.
_FOLLOW = f"""
import atexit, os, sys, threading
own, seen, calls = {str(SOURCE)!r} + os.sep, set(), 0
notes = os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
process = os.getpid()
def follow(frame, event, argument):
    global calls
    if event != "call" or not frame.f_code.co_filename.startswith(own) or os.getpid() != process:
        return
    calls += 1
    name = frame.f_code.co_filename
    if name in seen:
        return
    caller = frame
    while caller is not None:
        if caller.f_code.co_name == "<module>" and caller.f_code.co_filename.startswith(own):
            return
        caller = caller.f_back
    seen.add(name)
    os.write(notes, f"{{name[len(own):]}} {{frame.f_code.co_qualname}}\\n".encode())
leave = os._exit
def ended(code=0):
    if os.getpid() == process:
        os.write(notes, f"calls {{calls}}\\n".encode())
    leave(code)
os._exit = ended
from {{module}} import main
sys.setprofile(follow)
threading.setprofile(follow)
try:
    main()
finally:
    sys.setprofile(None)
    os.write(notes, f"calls {{calls}}\\n".encode())
"""


@dataclass(frozen=True)
class Way:
    """A command whose way is followed, and what a person or a client does there."""

    title: str
    story: str
    arguments: tuple[str, ...]
    module: str = "knowbound.cli.main"
    event: dict[str, object] | None = None
    before: tuple[str, ...] = ()


@dataclass(frozen=True)
class Followed:
    """The modules of a way with the function that was called first in each, in order, and the number of calls."""

    modules: dict[str, str]
    calls: int


WAYS = (
    Way(
        "One transcript",
        "`knowbound observe FILE`: sessions of Claude Code, from their lines to the report.",
        ("observe", "trace.jsonl"),
    ),
    Way(
        "One prompt",
        "`knowbound-hook user-prompt-submit`: the client hands over a prompt, and the item about it is injected. "
        "In the running MCP server the same functions answer, after `agent/mcp/hook_events.py`.",
        ("user-prompt-submit",),
        module="knowbound.agent.hook_entry",
        event={"session_id": "s1", "prompt_id": "p1", "prompt": "Which port does the orders service listen on?"},
        before=("kms", "add", "The orders service listens on port 8080 behind the internal gateway."),
    ),
    Way("One question", f"`knowbound investigate` “{_QUESTION}”, without a model.", ("investigate", _QUESTION)),
    Way(
        "One audited turn", "`knowbound audit FILE`: the claims of answers against the calls.", ("audit", "trace.jsonl")
    ),
    Way("One statement", "`knowbound lint CLAUDE.md`: a line names a folder that is gone.", ("lint", "CLAUDE.md")),
    Way("One action", "`knowbound`: sessions and knowledge files become a few actions.", ("review",)),
)


def follow(way: Way) -> Followed:
    """Run the way in a project of its own, and return what was called."""
    # No random name, which might be taken for a secret; and none twice: what a hook leaves running may still write.
    folder = Path(tempfile.gettempdir(), f"way-{os.getpid()}-{next(_numbers)}")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        folder.mkdir()
        return _follow(way, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _follow(way: Way, folder: Path) -> Followed:
    """Run the way below the folder."""
    project, home = folder / "project", folder / "home"
    shutil.copytree(PROJECT, project)
    home.mkdir()
    trace = sorted(TRACES.glob("*.jsonl"))[0]
    shutil.copy(trace, project / "trace.jsonl")
    with (project / "CLAUDE.md").open("a", encoding="utf-8") as file:
        file.write("\n- The retry limit is in `services/notifier/limits.toml`.\n")
    sessions = home / ".claude" / "projects" / "project"
    sessions.mkdir(parents=True)
    sessions.joinpath("s.jsonl").write_text(trace.read_text("utf-8").replace("/home/dev/order-platform", str(project)))
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    for arguments in (("init", "-q"), ("add", "-A"), (*who, "commit", "-qm", "Add the platform")):
        subprocess.run(["git", *arguments], cwd=project, check=True, capture_output=True)
    if way.before:
        command = [sys.executable, "-m", "knowbound", *way.before]
        subprocess.run(command, cwd=project, env=_environment(home), check=True, capture_output=True)
    notes = folder / "notes"
    event = b"" if way.event is None else json.dumps({**way.event, "cwd": str(project)}).encode()
    code = _FOLLOW.replace("{module}", way.module)
    command = [sys.executable, "-c", code, str(notes), *way.arguments]
    ran = subprocess.run(command, cwd=project, env=_environment(home), input=event, capture_output=True, check=False)
    if ran.returncode not in (0, 3):  # 3: not enough evidence
        raise RuntimeError(f"{way.title} ends with {ran.returncode}: {ran.stderr.decode('utf-8', 'replace')}")
    lines = [line.split(" ", 1) for line in notes.read_text("utf-8").splitlines()]
    return Followed({name: called for name, called in lines if name != "calls"}, int(dict(lines)["calls"]))


def _environment(home: Path) -> dict[str, str]:
    """Return an environment without settings of whoever runs it: neither `CI` nor a model changes the ways."""
    own = {"HOME": str(home), "KNOWBOUND_INJECTION_TIME_LIMIT_MS": "20000", "KNOWBOUND_JOBS": "1"}
    return {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ} | own


def page(followed: dict[str, Followed]) -> str:
    """Return the page for what was followed, by the title of the way."""
    parts = [
        "# Ways through the house\n\nWritten by `python -m tools.ways` from profiled runs; a test compares "
        "it with new ones. A row is a module of ours in the order of its first call: what was called there, "
        "and what the module is for. [Architecture](architecture.md) has the rooms.\n"
    ]
    for way in WAYS:
        modules = followed[way.title].modules
        head = f"## {way.title}\n\n{way.story} {len(modules)} modules.\n\n" + _HEAD
        rows = [f"| {at} | `{name}` | `{modules[name]}` | {_purpose(name)} |" for at, name in enumerate(modules, 1)]
        parts.append("\n".join([head, *rows, ""]))
    return "\n".join(parts)


def _purpose(name: str) -> str:
    """Return the first sentence of the module's docstring, fit for a cell."""
    text = ast.get_docstring(ast.parse((SOURCE / name).read_text("utf-8"))) or ""
    return " ".join(text.split("\n\n")[0].split()).partition(". ")[0].rstrip(".:").replace("|", "\\|")


def main() -> None:
    """Write the page, or print the counts."""
    followed = {way.title: follow(way) for way in WAYS}
    if "--counts" in sys.argv:
        for title, one in followed.items():
            print(f"{title:18} {len(one.modules):4} modules {one.calls:9,} calls")
    else:
        PAGE.write_text(page(followed), "utf-8")


if __name__ == "__main__":
    main()
