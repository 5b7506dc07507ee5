"""A project with a store, and the hook as an agent runs it there: a process of its own, real files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent.background import SCORING
from knowbound.agent.hook import log as hook_log
from knowbound.injection.log import InjectionRecord, read_log
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import NewItem
from tests import warm_process

HOOK = Path(sys.executable).parent / "knowbound-hook"
PORT = "The orders service listens on port 8080 behind the internal gateway."
RETRY = "Failed payment webhooks are retried three times with exponential backoff."
SWIFT = "The iOS app stores its session token in the keychain, not in user defaults."
PROMPT = "On which port does the orders service listen?"


class Project:
    """A project with a store, and the hook as an agent runs it there."""

    command: Sequence[str] = ()  # the program that `run` starts where it is given none

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / ".knowbound"
        self.environ = {
            key: value for key, value in os.environ.items() if not key.startswith(("KNOWBOUND", "KMS_"))
        } | {"HOME": str(root), "KNOWBOUND_INJECTION_TIME_LIMIT_MS": "20000"}

    def base(self) -> KnowledgeStore:
        return KnowledgeStore([SqliteBackend(self.home)], Index(self.home), by="test")

    def store(self, *contents: str, **more: Any) -> list[str]:
        base = self.base()
        ids = [base.add(NewItem(content=content, **more)).item.id for content in contents]
        base.close()
        return ids

    def run(self, event: str, stdin: bytes, command: Sequence[str] = (), **environ: str) -> bytes:
        """Return what the hook prints; it never ends with an error. What it does later is done when this returns.

        The hook is a fork of a process that has imported it; `command` is a program to start in its place.
        """
        command = command or self.command
        if not command:
            done = warm_process.hook(event, cwd=Path("/"), env=self.environ | environ, said=stdin)
            assert (done.returncode, done.stderr) == (0, "")
            return done.stdout.encode()
        left, held = os.pipe()  # the hook, and what it leaves behind, hold the other end until they are over
        with os.fdopen(left, "rb") as leaving:
            with os.fdopen(held, "wb"):
                process = subprocess.Popen(
                    [*command, event],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    env=self.environ | environ,
                    cwd="/",
                    pass_fds=(held,),
                )
            out, errors = process.communicate(stdin)
            leaving.read()
        assert process.returncode == 0
        assert errors == b""
        return out

    def ask(self, prompt: str = PROMPT, session: str = "s-1", **more: Any) -> str:
        """The context for a prompt, as Claude Code asks."""
        given = {"session_id": session, "cwd": str(self.root), "hook_event_name": "UserPromptSubmit", "prompt": prompt}
        return context(self.run("user-prompt-submit", json.dumps(given | more).encode()), "UserPromptSubmit")

    def start(self, source: str = "startup", session: str = "s-1") -> str:
        given = {"session_id": session, "cwd": str(self.root), "hook_event_name": "SessionStart", "source": source}
        return context(self.run("session-start", json.dumps(given).encode()), "SessionStart")

    def queue(self, event: str, given: dict[str, Any]) -> None:
        """A turn ends, as the client says it. No worker is started: its lock is taken."""
        lock = SCORING.take_lock(str(self.home))
        assert lock is not None
        try:
            assert self.run(event, json.dumps(given).encode()) == b""
        finally:
            os.close(lock)

    def last_run(self) -> dict[str, Any]:
        return hook_log.runs(str(self.home))[-1]

    def records(self) -> list[InjectionRecord]:
        return read_log(self.home).records


def context(output: bytes, event: str) -> str:
    """The additional context in what the hook printed, "" where it printed nothing."""
    if not output:
        return ""
    answer = json.loads(output)
    assert set(answer) == {"hookSpecificOutput"}  # Codex refuses fields that it does not know
    assert answer["hookSpecificOutput"]["hookEventName"] == event
    return str(answer["hookSpecificOutput"]["additionalContext"])


@pytest.fixture
def project(tmp_path: Path) -> Project:
    root = tmp_path / "shop"
    root.mkdir()
    return Project(root)


@pytest.fixture(scope="session")
def _filled_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with three items, to be copied."""
    made = Project(tmp_path_factory.mktemp("filled"))
    made.store(PORT, RETRY, SWIFT)
    return made.home


@pytest.fixture
def filled(project: Project, _filled_home: Path) -> Project:
    shutil.copytree(_filled_home, project.home)
    return project
