from __future__ import annotations

import re
from pathlib import Path

import pytest
from bench.make_docs import pages
from click.testing import CliRunner

from knowbound.catalogue import codes, problems
from knowbound.cli.start import explain_command as explain
from knowbound.core.audit import Diagnosis, FindingCode, Support
from knowbound.core.signal import Ending, SignalType, Status
from knowbound.core.trace import Outcome

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_generated_pages_are_current(path: Path) -> None:
    assert path.read_text("utf-8") == pages()[path], "run: python -m bench.make_docs"


def test_every_signal_status_ending_and_outcome_is_explained() -> None:
    wanted = {*SignalType, *Status, *Ending, *Outcome, *Diagnosis, *Support, *FindingCode, "topic"}
    assert {str(code) for code in wanted} <= {entry.code for entry in codes()}


def test_every_slug_that_is_raised_is_explained() -> None:
    raised = set()
    for path in (ROOT / "src").rglob("*.py"):
        raised |= set(re.findall(r"Error\(\s*\"([a-z]+-[a-z-]+)\"", path.read_text("utf-8")))
    assert raised
    assert raised <= set(problems())


def test_links_in_the_docs_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_files_that_the_docs_name_exist() -> None:
    source = ROOT / "src" / "knowbound"
    for page in (ROOT / "docs").rglob("*.md"):
        for name in re.findall(r"`((?:[a-z_]+/)+[a-z_0-9]+\.(?:py|json|sql))`", page.read_text("utf-8")):
            assert (source / name).exists() or (ROOT / name).exists(), f"{page.name}: {name}"


def test_a_walk_through_the_rooms_names_no_file_twice() -> None:
    architecture = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    walks = [part for part in architecture.split("\n## ") if part.startswith("One ")]
    assert [walk.splitlines()[0] for walk in walks] == [
        "One transcript line",
        "One prompt",
        "One ended turn",
        "One lesson",
        "One miss",
        "One question",
        "One audited turn",
        "One sample",
    ]
    for walk in walks:
        named = re.findall(r"`([a-z_/0-9]+\.py)`", walk)
        assert len(named) >= 9
        assert len(named) == len(set(named)), walk.splitlines()[0]


def test_each_usual_change_touches_three_files_at_most_and_they_exist() -> None:
    contributing = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = contributing.partition("## Usual changes")[2].partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 16
    for row in rows:
        usual = row.partition(". ")[0]  # sentences after the first are about special cases
        assert len(re.findall(r"`[\w/]+\.py`", usual)) <= 3, row
        for name in re.findall(r"`([\w/]+\.py)`", row):
            assert "NAME" in name or "ROOM" in name or (ROOT / "src" / "knowbound" / name).is_file(), row


def test_every_test_that_the_security_page_names_exists() -> None:
    root = Path(__file__).resolve().parents[2]
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (root / "SECURITY.md").read_text("utf-8"))
    assert len(named) > 40
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (root / file).is_file() or (test and f"def {test}(" not in (root / file).read_text("utf-8"))
    ]
    assert missing == []


def test_the_terms_of_specification_1_are_explained_in_both_languages() -> None:
    rows = re.findall(
        r"^\| (.+?) \| (.+?) \| `(\w+)` \|$", (ROOT / "docs" / "words.md").read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) == 11
    for chinese, _, code in rows:
        entries = [entry for entry in codes() if entry.code == code and entry.zh]
        assert len(entries) == 1, code
        assert entries[0].zh.startswith(f"{chinese}："), code
        assert entries[0].zh in (ROOT / "docs" / "codes.md").read_text("utf-8")
        shown = CliRunner().invoke(explain, [chinese]).output
        assert entries[0].zh in shown
        assert entries[0].meaning in shown


def test_every_test_that_the_specification_page_names_exists() -> None:
    root = Path(__file__).parents[2]
    text = (root / "docs" / "specification.md").read_text("utf-8")
    named = re.findall(r"`([\w/]+\.py)::(test_\w+)`", text)
    assert len(named) > 50
    for path, name in named:
        places = [root / path, root / "tests" / path, root / "tests" / "evidence" / path]
        texts = [one.read_text("utf-8") for one in places if one.exists()]
        assert any(f"def {name}(" in text for text in texts), (path, name)
