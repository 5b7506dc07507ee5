"""The corrective loop in the real client: contradicted in one session, suggested in the next, gone from the third."""

from __future__ import annotations

import pytest

from knowbound.core.quality import Closing
from knowbound.injection.log import AT_START, read_log
from knowbound.injection.session_start import SUGGESTIONS_INTRO
from knowbound.judge.registry import turn_judge_version
from tests.agents.sandbox import Run, Sandbox
from tests.agents.scripted_model import Say
from tests.agents.test_scored_turns import DENIES, NEXT_PROMPT, PORT, PROMPT, discoveries
from tests.quality.measured_project import calibrate_judge

RIGHT = PORT.replace("8080", "9090")


@pytest.fixture
def item(sandbox: Sandbox) -> str:
    """The id of the one item in the store that the client is connected to; labels show that the judge finds such.

    The rollout is in leg 0: corrections are no leg.
    """
    stored = sandbox.add(PORT)
    calibrate_judge(sandbox.data, turn_judge_version("rules"))
    (sandbox.project / "orders.ini").write_text("port = 9090\n")
    sandbox.install()
    return stored


def said_to_the_model(run: Run) -> str:
    """All that the first request of a run has."""
    return "\n".join(part.text for part in run.requests[0].parts)


@pytest.mark.parametrize("how", ["kms_accept_suggestion", "kms_supersede"])
def test_a_contradicted_item_is_suggested_confirmed_and_gone(sandbox: Sandbox, item: str, how: str) -> None:
    first = sandbox.ask(PROMPT, [Say(DENIES)]).check()
    assert SUGGESTIONS_INTRO not in said_to_the_model(first)
    (record,) = discoveries(sandbox)

    content = {"content": RIGHT} if how == "kms_supersede" else {}
    confirms = sandbox.client.calls(how, id=item, **content)
    second = sandbox.ask(NEXT_PROMPT, [*confirms, Say("Confirmed.")]).check()
    shown = said_to_the_model(second)
    where = f"session {first.session[:8]}, turn {record.turn_id[:8]}"
    assert f"[{item}] {PORT} (contradicted {record.raised[:10]}, {where}) suggested: {RIGHT}" in shown
    starts = [one for one in read_log(sandbox.data).records if one.event == AT_START and one.session == second.session]
    assert [one.corrections for one in starts] == [(item,)]
    (record,) = discoveries(sandbox)
    assert record.closing is Closing.RESOLVED

    third = sandbox.ask(PROMPT, [Say("It is 9090.")]).check()
    shown = said_to_the_model(third)
    assert RIGHT in shown
    assert SUGGESTIONS_INTRO not in shown
    assert item not in shown
    assert PORT not in shown


def test_a_dismissed_suggestion_is_not_shown_again_and_its_item_stays(sandbox: Sandbox, item: str) -> None:
    sandbox.ask(PROMPT, [Say(DENIES)]).check()
    discoveries(sandbox)
    dismisses = sandbox.client.calls("kms_dismiss", id=item, note="Only in staging.")
    second = sandbox.ask(NEXT_PROMPT, [*dismisses, Say("Dismissed.")]).check()
    assert SUGGESTIONS_INTRO in said_to_the_model(second)
    (record,) = discoveries(sandbox)
    assert record.closing is Closing.NOT_WARRANTED
    shown = said_to_the_model(sandbox.ask(PROMPT, [Say("It is 8080.")]).check())
    assert SUGGESTIONS_INTRO not in shown
    assert PORT in shown
