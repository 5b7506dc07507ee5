"""Many sessions at once, and another version of knowbound that is installed while sessions run."""

from __future__ import annotations

import copy
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knowbound.agent.background import READING, SCORING, settings_for
from knowbound.agent.hook import log as hook_log
from knowbound.gaps.observe import observe
from knowbound.injection.bundle import INTRO
from knowbound.injection.log import read_log
from knowbound.store.own_index import INDEX_SCHEMA
from tests.agents.sandbox import Run, Sandbox
from tests.agents.scripted_model import Reply, Request, Say, ScriptedModel
from tests.agents.test_resident_hooks import servers
from tests.services import until

PORT = "The orders service listens on port 8080."
PROMPT = "Which port does the orders service use?"
SOURCE = Path(hook_log.__file__).parents[2]
BIN = Path(sys.executable).parent
ITEMS = 5_000
NEWER = INDEX_SCHEMA + 1
SESSIONS = 20


def beside(sandbox: Sandbox, number: int) -> Sandbox:
    """Another session of the same user in the same project."""
    other = copy.copy(sandbox)
    other.model = ScriptedModel()
    other._folder = sandbox.home.parent / f"session-{number}-{os.urandom(3).hex()}"
    other._folder.mkdir()
    return other


def failed_hooks(run: Run) -> list[str]:
    return [str(event.get("output")) for event in run.events if event.get("outcome") == "error"]


def sessions_at_once(sandbox: Sandbox, count: int, meanwhile: Callable[[], None] = lambda: None) -> list[Run]:
    """Run sessions that each call two tools; when all have called the first one, something happens."""
    reached = threading.Barrier(count, action=meanwhile)

    def run(one: Sandbox) -> Run:
        left: list[Reply] = [one.client.runs("cat README.md"), one.client.runs("ls"), Say("8080.")]

        def script(_request: Request) -> Reply:
            if len(left) == 2:
                reached.wait()
            return left.pop(0)

        return one.ask(PROMPT, script).check()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, [beside(sandbox, number) for number in range(count)]))


def test_twenty_sessions_at_once_with_five_thousand_items(sandbox: Sandbox) -> None:
    texts = [
        f"Entry {number}: the worker {number % 97} of queue {number % 31} keeps {number} jobs."
        for number in range(ITEMS)
    ]
    stored = sandbox.home / "items.jsonl"
    stored.write_text("".join(json.dumps({"content": text}) + "\n" for text in [*texts, PORT]))
    sandbox.knowbound("kms", "import", str(stored))
    sandbox.environ["MCP_CONNECTION_NONBLOCKING"] = "false"  # else Claude Code 2.1.197 shows that it does not wait
    sandbox.environ["KNOWBOUND_INJECTION_TIME_LIMIT_MS"] = "4500"
    sandbox.install()
    runs = sessions_at_once(sandbox, SESSIONS)
    assert [one for run in runs for one in failed_hooks(run)] == []
    records = [one for one in read_log(sandbox.data).records if one.event == "user-prompt-submit"]
    assert Counter(one.session for one in records) == {run.session: 1 for run in runs}  # none lost, none doubled
    injected = {one.session for one in records if one.delivered}
    for run in runs:
        assert sum(part.text.count(INTRO) for part in run.requests[0].parts) == (run.session in injected)
    assert set(sandbox.outcomes("user-prompt-submit")) <= {"injected", "gave_up", "declined"}
    assert len(injected) >= SESSIONS // 2  # on a busy machine some give up


class Installed:
    """A copy of knowbound in a folder of its own, which can be replaced by another version."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._folder = sandbox.home / "app"
        self._bin = self._folder / "bin"
        self._bin.mkdir(parents=True)
        for name, module in (("knowbound", "knowbound.cli.entry"), ("knowbound-hook", "knowbound.agent.hook_entry")):
            script = self._bin / name
            code = f"import sys; from {module} import main; main()"
            script.write_text(f'#!/bin/sh\nexec env PYTHONPATH={self._folder} {sys.executable} -c "{code}" "$@"\n')
            script.chmod(0o755)
        self.put("1.0.0")
        sandbox.install()
        for path in sandbox.client.settings(sandbox.home, sandbox.project):
            for name in ("knowbound-hook", "knowbound"):
                path.write_text(path.read_text().replace(f"{BIN}/{name}", f"{self._bin}/{name}"))

    def refused(self, sandbox: Sandbox, *words: str) -> str:
        """What the installed version says on stderr where it refuses to work."""
        command = [str(self._bin / "knowbound"), *words]
        done = subprocess.run(
            command, cwd=sandbox.project, env=sandbox.environ, capture_output=True, text=True, check=False
        )
        assert done.returncode == 2, f"exit code {done.returncode}\n{done.stderr}"
        return done.stderr

    def put(self, version: str, *, schema: int = 0) -> None:
        """Install a version, with a newer index if a schema is given."""
        new = self._folder / "new"
        shutil.copytree(SOURCE, new)  # with the bytecode: a hook has five seconds
        (new / "__init__.py").write_text(f'"""A version."""\n\n__version__ = "{version}"\n')
        if schema:
            reader = new / "store" / "own_index.py"
            reader.write_text(reader.read_text().replace(f"INDEX_SCHEMA = {INDEX_SCHEMA}", f"INDEX_SCHEMA = {schema}"))
            (new / "store" / "migrations" / "index" / f"{schema:04}_newer.sql").write_text("CREATE TABLE newer (a);\n")
        place = self._folder / "knowbound"
        if place.exists():
            place.rename(self._folder / f"old-{os.urandom(4).hex()}")
        new.rename(place)


def test_another_version_is_installed_while_five_sessions_run(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    sandbox.environ["MCP_CONNECTION_NONBLOCKING"] = "false"
    installed = Installed(sandbox)
    upgraded = sessions_at_once(sandbox, 5, lambda: installed.put("1.1.0", schema=NEWER))
    first = beside(sandbox, 90).ask(PROMPT, [Say("8080.")]).check()  # 1.1.0 brings the index up to date
    downgraded = sessions_at_once(sandbox, 5, lambda: installed.put("1.0.0"))
    again = beside(sandbox, 91).ask(PROMPT, [Say("8080.")]).check()
    runs = [*upgraded, first, *downgraded, again]
    assert [one for run in runs for one in failed_hooks(run)] == []
    assert {run.answer for run in runs} == {"8080."}
    records = [one for one in read_log(sandbox.data).records if one.event == "user-prompt-submit"]
    assert Counter(one.session for one in records) == {run.session: 1 for run in runs}  # none lost, none doubled
    until(lambda: sandbox.outcomes("stop").count("queued") >= len(runs))
    assert sandbox.outcomes("stop").count("queued") == len(runs)
    reasons = [str(run.get("reason")) for run in hook_log.runs(str(sandbox.data)) if run["outcome"] == "failed"]
    assert any(f"the index has schema {NEWER}, this knowbound reads {INDEX_SCHEMA}" in reason for reason in reasons)
    assert "newer" in installed.refused(sandbox, "kms", "search", "port")


def test_servers_are_killed_while_another_version_is_installed(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    sandbox.environ["MCP_CONNECTION_NONBLOCKING"] = "false"
    installed = Installed(sandbox)
    killed: list[int] = []

    def upgrade_and_kill() -> None:
        installed.put("1.1.0", schema=NEWER)
        killed.extend(servers(sandbox)[:2])
        for pid in killed:
            os.kill(pid, signal.SIGKILL)

    runs = sessions_at_once(sandbox, 5, upgrade_and_kill)
    assert len(killed) == 2
    assert {run.answer for run in runs} == {"8080."}
    # A client reports the calls of a server that died; what processes answer beside it never fails.
    assert sum(bool(failed_hooks(run)) for run in runs) <= len(killed)
    prompts = [one for one in read_log(sandbox.data).records if one.event == "user-prompt-submit"]
    assert Counter(one.session for one in prompts) == {run.session: 1 for run in runs}
    until(lambda: sandbox.outcomes("stop").count("queued") >= len(runs))
    assert sandbox.outcomes("stop").count("queued") == len(runs)
    reasons = {str(run.get("reason")) for run in hook_log.runs(str(sandbox.data)) if run["outcome"] == "failed"}
    assert reasons <= {"IndexOutdatedError", *(one for one in reasons if "the index is of an earlier" in one)}


def test_after_a_session_its_transcript_is_read_before_anybody_asks(sandbox: Sandbox) -> None:
    sandbox.add(PORT)
    sandbox.install()
    sandbox.ask(PROMPT, [sandbox.client.runs("cat README.md"), Say("8080.")]).check()
    until(lambda: READING.last_note(str(sandbox.data)) is not None)
    until(lambda: not (SCORING.is_running(str(sandbox.data)) or READING.is_running(str(sandbox.data))))
    settings, read = settings_for(sandbox.project, sandbox.data), list[int]()
    environ = {**sandbox.environ, "HOME": str(sandbox.home)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(sandbox.home))
        report, _ = observe([], settings, progress=lambda done, _: read.append(done), environ=environ)
    assert (report.totals.sessions, read) == (1, [])
