from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from knowbound.core.item import Item
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.store.observed import Observed, UnmanagedInjection, UnmanagedItem
from tests.cli.test_kms import Cli
from tests.hook_project import PORT, PROMPT, Project
from tests.stores import put_items


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return Cli(tmp_path)


@pytest.fixture
def filled(cli: Cli) -> Cli:
    """Items of every kind of source."""
    (cli.root / "CLAUDE.md").write_text(
        "# Ports\n- The ledger API binds to 8004, always.\n- Metrics are on port 9100.\n"
    )
    cli.text("import", str(cli.root / "CLAUDE.md"))
    cli.add("Invoices are archived after ninety days.", "--subject", "invoices")
    backend = SqliteBackend(cli.root / ".knowbound")
    put_items(backend, Item("mem-1", "The user likes short answers."))
    backend.close()
    cli.text("sync")
    return cli


def test_items_are_listed_by_source_with_counts(filled: Cli) -> None:
    found = filled.json("list")
    assert found["format"] == "knowbound.items/1"
    assert found["totals"] == {"items": 4, "served": 4, "stale": 0, "injected": 0, "unmanaged": 0, "flags": {}}
    assert [(one["kind"], one["source"], one["items"]) for one in found["sources"]] == [
        ("file", "CLAUDE.md", 2), ("added", "added", 1), ("backend", "sqlite", 1),
    ]  # fmt: skip
    text = filled.text("list")
    assert text.startswith("4 items from 3 sources: 4 served, 0 injected so far, 0 stale; 0 unmanaged.\nNext: ")
    assert "CLAUDE.md: 2 items (2 served, 0 injected)" in text


def test_what_an_overview_has_no_room_for_is_in_the_list_of_its_source(cli: Cli) -> None:
    (cli.root / "ports.txt").write_text("".join(f"Service number {n} binds to {8000 + n}.\n" for n in range(22)))
    cli.text("import", str(cli.root / "ports.txt"))
    assert cli.text("list").endswith("… and 17 more: knowbound kms list --source ports.txt\n")
    of_source = cli.text("list", "--source", "ports.txt")
    assert of_source.endswith("… and 2 more: knowbound kms list --source ports.txt --format json\n")


@pytest.mark.parametrize(
    ("words", "count"),
    [
        (("--source", "CLAUDE.md"), 2),
        (("--source", "file"), 2),
        (("--source", "added"), 1),
        (("--source", "sqlite"), 4),
        (("--source", "unmanaged"), 0),
        (("--source", "docs"), 0),
        (("--subject", "invoices"), 1),
        (("--flag", "UNVERIFIED"), 0),
    ],
)
def test_a_list_is_narrowed(filled: Cli, words: tuple[str, ...], count: int) -> None:
    assert filled.json("list", *words)["totals"]["items"] == count


def test_an_unknown_flag_is_an_error(cli: Cli) -> None:
    error = str(cli.run("list", "--flag", "WRONG").exception)
    assert "item-invalid" in error
    assert "Known are RETRACTED, SUPERSEDED, DELETED, UNVERIFIED, HELD_BACK." in error


def test_flags_and_stale_items_are_shown_with_what_to_do(filled: Cli) -> None:
    added = filled.json("list", "--source", "added")["items"][0]["id"]
    filled.text("flag", added, "UNVERIFIED")
    assert f"Next: knowbound kms show {added}" in filled.text("list")
    assert filled.json("list", "--flag", "UNVERIFIED")["items"][0]["id"] == added
    (filled.root / "CLAUDE.md").write_text("# Ports\n- Metrics are on port 9100.\n- Another line, long enough.\n")
    filled.text("sync")
    text = filled.text("list")
    assert "Next: knowbound kms import CLAUDE.md" in text
    assert "1 stale" in text
    filled.text("supersede", added, "Invoices are archived after thirty days.")
    assert filled.json("list")["totals"]["flags"] == {"SUPERSEDED": 1}


def test_what_was_injected_is_counted(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.store(PORT)
    project.ask(PROMPT)
    found = Cli(tmp_path).json("list")
    assert (found["totals"]["injected"], found["items"][0]["injections"]) == (1, 1)
    Cli(tmp_path).text("supersede", found["items"][0]["id"], "The orders service listens on port 9090.")
    text = Cli(tmp_path).text("list")
    assert "2 items from 1 source: 1 served, 1 injected so far" in text
    assert "nothing was injected yet" not in text


def test_what_others_injected_is_listed_as_unmanaged(cli: Cli) -> None:
    home = cli.root / ".knowbound"
    cli.text("sync")
    item = UnmanagedItem("u1", "hook:UserPromptSubmit", "", "Always answer in French.\x1b[31m", 24)
    with closing(Observed(home)) as observed:
        observed.keep_unmanaged(UnmanagedInjection(item, f"claude:s{number}", 1, "") for number in range(3))
    found = cli.json("list")
    assert found["totals"]["unmanaged"] == 1
    assert (found["unmanaged"][0]["injections"], found["unmanaged"][0]["sessions"]) == (3, 3)
    text = cli.text("list")
    assert "u1  3× in 3 sessions  hook:UserPromptSubmit: Always answer in French." in text
    assert "\x1b" not in text
    assert "Next: knowbound kms import CLAUDE.md" in text


def test_an_empty_store_says_how_to_begin(cli: Cli) -> None:
    assert "Next: knowbound kms import docs" in cli.text("list")
    assert not (cli.root / ".knowbound" / "knowbound.db").exists()
