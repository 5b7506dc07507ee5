"""The status line counts what was stored today, and never fails."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.agent import statusline
from knowbound.agent.hook.interruptions import switch_off, switch_on
from knowbound.audit.audit import audit_lens
from knowbound.cli.main import knowbound
from knowbound.config import load
from knowbound.gaps.observe import read_ahead
from knowbound.store.data_dir import INJECTIONS
from knowbound.store.listing import SqliteResults
from tests.transcripts import Transcript

LONG_AGO = "2000-01-01T00:00:00"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with an item, so with a data folder of ours."""
    done = CliRunner().invoke(knowbound, ["kms", "add", "The port is 8080.", "--root", str(tmp_path)])
    assert done.exit_code == 0, done.output
    return tmp_path


def printed(project: Path, given: bytes) -> str:
    words = [str(Path(sys.executable).parent / "knowbound"), "statusline"]
    done = subprocess.run(words, input=given, capture_output=True, cwd=project, timeout=60, check=True)
    assert done.stderr == b""
    return done.stdout.decode()


def event(project: Path) -> bytes:
    return json.dumps({"session_id": "s", "cwd": "/", "workspace": {"current_dir": str(project)}}).encode()


def injected(project: Path, *lines: dict[str, object]) -> None:
    folder = project / ".knowbound" / INJECTIONS
    folder.mkdir(exist_ok=True)
    text = "".join(json.dumps({"time": "2026-11-18T10:00:00Z"} | line, separators=(",", ":")) + "\n" for line in lines)
    (folder / "2026-11-18.jsonl").write_text(text + '{"time":"2026-11-18T1', "utf-8")


def test_items_count_once_they_reached_the_model(project: Path) -> None:
    item = {"item": "k1"}
    injected(
        project,
        {"id": "a", "items": [item, item]},
        {"id": "a", "outcome": "injected", "delivered": True},
        {"id": "b", "items": [item]},
        {"id": "b", "outcome": "shadow", "delivered": False},
        {"id": "c", "items": [item]},
        {"id": "a", "late": [item]},
        {"id": "a", "late_delivered": True},
        {"id": "d", "late": [item]},
    )
    assert statusline.line_of(str(project), LONG_AGO) == "knowbound today: 3 items injected"
    assert statusline.line_of(str(project), "2026-11-18T10:00:01") == "knowbound today: nothing"


def test_gaps_and_unsupported_claims_are_those_that_the_worker_listed(project: Path) -> None:
    folder = Path(os.environ["HOME"]) / ".claude" / "projects" / "p"
    folder.mkdir(parents=True)
    said = "I cannot find the retry budget. All tests pass."
    Transcript().user("Where is the retry budget?").grep("retry_budget_config").says(said).write(folder)
    settings = load(project)
    assert read_ahead(settings, [audit_lens(settings)]) == 1
    SqliteResults(settings.home).close()
    found = re.fullmatch(
        r"knowbound today: (\d) gaps?, 1 unsupported claim", statusline.line_of(str(project), LONG_AGO)
    )
    assert found
    assert int(found[1]) > 0


def test_it_says_that_hooks_are_off(project: Path) -> None:
    switch_off()
    try:
        assert statusline.line_of(str(project), LONG_AGO) == "knowbound: off"
    finally:
        switch_on()


def test_the_program_prints_the_line_of_the_sessions_folder(project: Path) -> None:
    assert printed(Path("/"), event(project)) == "knowbound today: nothing\n"


@pytest.mark.parametrize("given", [b"", b"[]", b"{}", b'{"cwd": 1}', b"\xff", b'{"workspace": {}}'])
def test_what_it_cannot_read_prints_nothing(project: Path, given: bytes) -> None:
    assert printed(project, given) == ""


def test_a_folder_without_data_prints_nothing(tmp_path: Path) -> None:
    assert printed(tmp_path, event(tmp_path)) == ""


def test_a_data_folder_of_somebody_else_is_not_read(tmp_path: Path) -> None:
    (tmp_path / ".knowbound").mkdir()
    (tmp_path / ".knowbound" / "owner").write_text("somebody 0123\n")
    assert statusline.line_of(str(tmp_path), LONG_AGO) == ""


def test_it_loads_the_standard_library_alone(project: Path) -> None:
    code = (
        "import sys, io; sys.stdin = io.TextIOWrapper(io.BytesIO(%r)); from knowbound.agent import statusline; "
        "statusline.main(); print([n for n in ('click', 'msgspec', 'knowbound.config') if n in sys.modules])"
    )
    words = [sys.executable, "-c", code % event(project)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.splitlines() == ["knowbound today: nothing", "[]"]
