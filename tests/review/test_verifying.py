"""Answers whose claim nothing shows: which of them the front door names, and what it names to verify them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound
from knowbound.core.lesson import Action, ActionKind
from knowbound.review.lens_actions import MOST_ANSWERS
from knowbound.review.review import review
from tests.audit.turns import edit
from tests.lessons.shop import Shop, make_shop
from tests.transcripts import Transcript

CLAIM = "All tests pass."


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return make_shop(tmp_path)


def claims(transcript: Transcript) -> None:
    edit(transcript, f"{transcript.project}/src/cart.ts").says(CLAIM)
    transcript.user("Thanks. What is next?")


def then_runs(transcript: Transcript) -> None:
    claims(transcript)
    transcript.bash("npx vitest run", " Tests  4 passed (4)\n")


def complains(transcript: Transcript) -> None:
    edit(transcript, f"{transcript.project}/src/cart.ts").says("The discount is fixed.")
    transcript.user("It is still broken.")


def actions(shop: Shop) -> list[Action]:
    found = review([shop.traces], shop.settings(), root_is_given=True)
    return [one for one in found.actions if one.kind is ActionKind.VERIFY]


def test_an_answer_without_support_is_an_action_with_its_session_turn_and_step(shop: Shop) -> None:
    session = shop.session(claims)
    (action,) = actions(shop)
    assert action.title == (
        f"2026-10-01, session {session[:8]}, turn 1: “All tests pass.”, but a test run is not in the trace"
    )
    assert action.why == "To verify it: run the tests after the last edit and read their result."
    assert [(one.session, one.file) for one in action.evidence] == [(session, str(shop.traces / f"{session}.jsonl"))]
    assert (action.cost.sessions, action.diff, action.by) == (1, "", "rules")


def test_the_command_that_passes_in_other_sessions_is_named(shop: Shop) -> None:
    shop.session(then_runs)
    shop.session(claims)
    assert [one.why for one in actions(shop)] == [
        "To verify it: run the tests after the last edit and read their result: npx vitest run."
    ]


@pytest.mark.parametrize(
    ("tell", "day"),
    [(then_runs, "2026-10-01"), (claims, "2026-09-01")],
    ids=["a later turn of the session has run the tests", "a month older than the newest session"],
)
def test_what_was_shown_later_or_is_old_is_no_action(tell: Callable[[Transcript], None], day: str, shop: Shop) -> None:
    shop.session(tell, day)
    shop.session(lambda transcript: transcript.read(f"{transcript.project}/src/cart.ts"))
    assert actions(shop) == []


def test_what_the_user_contradicted_comes_first_and_at_most_two_are_shown(shop: Shop) -> None:
    for tell in (claims, claims, complains):
        shop.session(tell)
    found = actions(shop)
    assert len(found) == MOST_ANSWERS
    assert "the user's next message says" in found[0].title


def test_fix_opens_the_turn_and_writes_nothing(shop: Shop) -> None:
    shop.session(claims)
    (action,) = actions(shop)
    before = (shop.root / "CLAUDE.md").read_bytes()
    shown = CliRunner().invoke(knowbound, ["fix", action.id, "--root", str(shop.root)])
    assert shown.exit_code == 0, shown.output
    assert "unsupported" in shown.stdout
    assert CLAIM in shown.stdout
    assert "To verify it: run the tests after the last edit" in shown.stdout
    assert (shop.root / "CLAUDE.md").read_bytes() == before
    CliRunner().invoke(knowbound, ["fix", "--reject", action.id, "--root", str(shop.root)])
    assert actions(shop) == []
