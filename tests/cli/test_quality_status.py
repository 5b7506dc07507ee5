from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from knowbound.cli.main import knowbound
from knowbound.core.item import Item
from knowbound.errors import InputError
from knowbound.report.quality.model import Fault
from knowbound.stats.quality import day_before
from knowbound.text.clock import utc_now
from tests.quality.measured_project import MeasuredProject, logged, turn

PORT = Item(id="port", content="The staging database listens on port 5432.")
TABS = Item(id="tabs", content="Ada prefers tabs in Makefiles.")
NIGHT = Item(id="night", content="The nightly export runs at 02:00 UTC.")
YESTERDAY = day_before(utc_now()[:10])


@pytest.fixture
def project(tmp_path: Path) -> MeasuredProject:
    """One item is wrong, one never on topic, one ignored."""
    made = MeasuredProject(tmp_path, [PORT, TABS, NIGHT])
    turns = [turn(YESTERDAY, number, [logged(TABS, "-"), logged(NIGHT, "-t")]) for number in range(6)]
    made.log([*turns, turn(YESTERDAY, 9, [logged(PORT, "-tc", correction="It is 6432 now.")])])
    return made


def run(project: MeasuredProject, *words: str) -> Result:
    return CliRunner().invoke(knowbound, [*words, "--root", str(project.root)], standalone_mode=False)


def status(project: MeasuredProject, *words: str) -> str:
    done = run(project, "quality", "status", *words)
    assert done.exception is None, done.exception
    return done.output


def test_the_status_starts_with_what_to_do(project: MeasuredProject) -> None:
    shown = " ".join(status(project).split())
    assert shown.startswith("knowbound quality status Correct an item that agents contradicted, first port.")


def test_json_has_the_items_to_fix_in_their_order(project: MeasuredProject) -> None:
    found = json.loads(status(project, "--format", "json"))
    assert [(one["id"], one["fault"]) for one in found["items"]] == [
        ("port", "wrong"),
        ("tabs", "never on topic"),
        ("night", "ignored"),
    ]


@pytest.mark.parametrize("at", range(len(Fault)))
def test_every_command_that_is_shown_works_and_takes_the_item_off_the_list(project: MeasuredProject, at: int) -> None:
    one = json.loads(status(project, "--format", "json"))["items"][at]
    for command in one["commands"]:
        program, *words = shlex.split(command.replace("…", "Say something else from now on."))
        assert program == "knowbound"
        assert run(project, *words).exception is None
    left = json.loads(status(project, "--format", "json"))["items"]
    assert one["id"] not in [other["id"] for other in left]


def test_an_item_has_a_page_of_its_own(project: MeasuredProject) -> None:
    text = " ".join(status(project, "--item", "port").split())
    assert "judged 1 time: 1 on topic, 0 used, 1 contradicted" in text
    assert f"Question 9 of {YESTERDAY}" in text
    assert json.loads(status(project, "--item", "port", "--format", "json"))["format"] == "knowbound.quality_item/1"


def test_an_unknown_item_is_an_error_with_its_slug(project: MeasuredProject) -> None:
    error = run(project, "quality", "status", "--item", "nope").exception
    assert isinstance(error, InputError)
    assert error.slug == "item-unknown"


def test_the_page_is_written_to_a_file(project: MeasuredProject) -> None:
    page = project.root / "quality.html"
    assert status(project, "--format", "html", "-o", str(page)) == ""
    assert "Does what we inject help?" in page.read_text("utf-8")


def test_a_project_without_a_log_says_what_to_do(tmp_path: Path) -> None:
    text = status(MeasuredProject(tmp_path))
    assert "Nothing is measured yet" in text
    assert "knowbound install claude-code" in text
