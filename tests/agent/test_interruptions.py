"""A person calls an interruption wrong; doctor shows the share, and proposes to go quiet."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.agent.doctor import NOTE, OK
from knowbound.agent.doctor.activity import check_interruptions
from knowbound.agent.hook import log as hook_log
from knowbound.agent.hook.interruptions import NAME, call_wrong, wrong_shares
from knowbound.cli.main import knowbound
from knowbound.errors import InputError


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / ".knowbound"
    folder.mkdir()
    return folder


def ran(home: Path, *outcomes: str) -> None:
    for outcome in outcomes:
        hook_log.write(str(home), "stop", outcome, 1.0, 0, 0)


def test_the_last_interruption_is_called_wrong_and_counted(home: Path) -> None:
    ran(home, "injected", "nothing", "warned", "queued")
    said = CliRunner().invoke(knowbound, ["wrong", "check", "--root", str(home.parent)])
    assert said.exit_code == 0, said.output
    assert said.stdout.startswith("Noted: the check of 20")
    assert wrong_shares(home) == [("injection", 0, 1), ("check", 1, 1)]
    assert [(one.state, one.found) for one in check_interruptions(home)] == [
        (OK, "called wrong in the last 7 days: 0 of 1 injections, 1 of 1 checks")
    ]


def test_without_an_interruption_there_is_nothing_to_call_wrong(home: Path) -> None:
    ran(home, "nothing", "queued")
    with pytest.raises(InputError, match="no interruption"):
        call_wrong(home)
    assert not (home / NAME).exists()


def test_each_is_called_wrong_once(home: Path) -> None:
    ran(home, "rescued")
    assert call_wrong(home, "rescue").kind == "rescue"
    with pytest.raises(InputError, match="no rescue"):
        call_wrong(home, "rescue")


def test_more_than_one_wrong_in_a_week_proposes_to_go_quiet(home: Path) -> None:
    lines = [f'{{"kind":"check","time":"{day}T10:00:00Z"}}' for day in ("2999-01-01", "2999-01-02", "2001-01-01")]
    (home / NAME).write_text("\n".join(lines))
    ran(home, "blocked")
    notes = [one for one in check_interruptions(home) if one.state == NOTE]
    assert [(one.found, one.do) for one in notes] == [
        ("2 of 2 checks were wrong", 'go quiet: audit.check = "off" in the config')
    ]
