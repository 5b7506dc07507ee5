"""With a tree, cited files and absences that the trace leaves open are looked up."""

from __future__ import annotations

from pathlib import Path, PurePath

import pytest

from knowbound.audit.claims.tree import ProjectFiles
from knowbound.audit.reading import read_session
from knowbound.core.audit import Claim, ClaimKind, Support
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.turns import session_of
from tests.audit.turns import started
from tests.transcripts import PROJECT, Transcript


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / PurePath(PROJECT).name
    (root / "src").mkdir(parents=True)
    (root / "src" / "tax.py").write_text("rate = 1\nround_up = 2\n")
    return root


def claim(turns: Transcript, kind: ClaimKind, folder: Path, tree: Path | None) -> Claim:
    (session,) = read_session(SharedEvents(session_of(turns.write(folder))), tree=ProjectFiles(tree) if tree else None)
    return next(one for one in session.turns[-1].claims if one.kind is kind)


def cites(place: str) -> Transcript:
    return started("Where is it?").bash("git log -1", "1a2b3c4 Round").says(f"The rate is set in `{place}`.")


@pytest.mark.parametrize(
    ("place", "support"),
    [
        ("src/tax.py:2", Support.SUPPORTED),
        ("tax.py:1", Support.SUPPORTED),
        ("src/tax.py:99", Support.UNSEEN),
        ("src/gone.py:2", Support.CONTRADICTED),
        ("lib/tax.py:2", Support.CONTRADICTED),
    ],
)
def test_a_cited_place_that_was_never_shown_is_looked_up(
    place: str, support: Support, tree: Path, tmp_path: Path
) -> None:
    assert claim(cites(place), ClaimKind.LOCATION, tmp_path / "traces", tree).support is support
    assert claim(cites(place), ClaimKind.LOCATION, tmp_path / "traces", None).support is Support.UNSEEN


def test_the_tree_of_another_project_decides_nothing(tree: Path, tmp_path: Path) -> None:
    other = tree.rename(tmp_path / "other")
    assert claim(cites("src/gone.py:2"), ClaimKind.LOCATION, tmp_path / "traces", other).support is Support.UNSEEN


def test_an_absence_is_supported_where_the_tree_has_none(tree: Path, tmp_path: Path) -> None:
    def says(name: str) -> Transcript:
        return started("Is it used?").bash("git log -1", "1a2b3c4 Round").says(f"There are no usages of `{name}`.")

    assert claim(says("round_down"), ClaimKind.ABSENCE, tmp_path / "traces", tree).support is Support.SUPPORTED
    assert claim(says("round_up"), ClaimKind.ABSENCE, tmp_path / "traces", tree).support is Support.NOT_CHECKABLE
