"""A hostile clone is put through every verb and hook: nothing runs, nothing is sent, nothing else is read."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from knowbound.cli.main import VERBS
from tests import warm_process
from tests.security.hostile import SECRET, HostileRepository, Listener, commands, knowbound_program

AS_INSTALLED = ("observe", "investigate", "eval", "kms", "mcp")  # started once so; the long cases start every verb so
TRAPS = [(), *(pytest.param((trap,), marks=pytest.mark.long) for trap in ("config", "data"))]


@pytest.fixture
def listener() -> Iterator[Listener]:
    listening = Listener()
    yield listening
    listening.close()


def run(repository: HostileRepository, words: tuple[str, ...], said: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [knowbound_program(), *words], cwd=repository.root, env=repository.environment(), input=said,
        capture_output=True, text=True, errors="replace", timeout=240, check=False,
    )  # fmt: skip


def test_every_verb_is_tried() -> None:
    assert {words[0] for words in commands()} == set(VERBS)


@pytest.mark.parametrize("traps", TRAPS, ids=lambda traps: "+".join(traps) or "others")
def test_nothing_runs_nothing_leaves_and_nothing_else_is_read(
    tmp_path: Path, listener: Listener, traps: tuple[str, ...]
) -> None:
    repository = HostileRepository(tmp_path, listener.port)
    repository.build(*traps)
    before = (repository.other / "settings.json").read_bytes()
    outputs, worked, started = [], 0, set[str]()
    for words in commands():
        if words[0] in started or not (traps or words[0] in AS_INSTALLED):
            done = warm_process.knowbound(*words, cwd=repository.root, env=repository.environment())
        else:
            done = run(repository, words)
            started.add(words[0])
        outputs.append(done.stdout + done.stderr)
        worked += done.returncode in (0, 3)
        assert done.returncode in (0, 1, 2, 3), (words, done.stderr)
        assert repository.ran() == [], words
        assert listener.connections == 0, words
        assert SECRET not in outputs[-1], words
        assert "\x1b" not in outputs[-1], words
        assert "\u202e" not in outputs[-1], words
    for event in ("user-prompt-submit", "session-start"):
        for cwd in (repository.root, repository.root / "src"):
            payload = {"session_id": "s", "cwd": str(cwd), "prompt": "Which port does the service use?"}
            done = run(repository, ("hook", event), json.dumps(payload))
            assert done.returncode == 0
            assert "run-tests.sh" not in done.stdout
            assert "planted store" not in done.stdout
    assert repository.ran() == []
    assert listener.connections == 0
    assert SECRET.encode() not in repository.everything_kept()
    assert (repository.other / "settings.json").read_bytes() == before
    assert len(repository.planted) > 70
    assert traps or worked >= 25  # without a trap that makes them refuse, verbs did their work


def test_the_canaries_of_the_repository_do_run_where_somebody_runs_them(tmp_path: Path, listener: Listener) -> None:
    """The test can fail: a plain git and a plain make run them."""
    repository = HostileRepository(tmp_path, listener.port)
    repository.build()
    for command in (["git", "status"], ["git", "log", "-p", "-1"], ["make"], ["sh", "./run-tests.sh"]):
        subprocess.run(command, cwd=repository.root, capture_output=True, check=False, timeout=60)
    assert {"git-fsmonitor", "build-make", "build-run-tests.sh"} <= set(repository.ran())
