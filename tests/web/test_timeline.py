"""One turn as values: groups of calls, the call of a claim, the quotation in its output, verdicts on items."""

from __future__ import annotations

from knowbound.core.audit import AuditedTurn, Claim, ClaimKind, Diagnosis, Support
from knowbound.core.quality import ItemVerdict
from knowbound.core.tool_kinds import Outcome, ToolKind
from knowbound.core.trace import AgentText, Injection, Prompt, Step, ToolCall
from knowbound.traces.turns import TraceTurn
from knowbound.web.markdown import highlighted
from knowbound.web.timeline import timeline

OUTPUT = f"{'x' * 3000}\nRan 12 tests:\n  12 passed,   0 failed\n{'y' * 3000}"


def turn() -> TraceTurn:
    calls = (
        ToolCall("c1", "Grep", ToolKind.SEARCH, Outcome.EMPTY, query="budget", line=3),
        ToolCall("c2", "Read", ToolKind.READ, Outcome.OK, query="/shop/a.py", line=5, output="a = 1"),
        ToolCall("c3", "Bash", ToolKind.SHELL, Outcome.OK, query="make all", line=7, output=OUTPUT),
    )
    said = (AgentText("m2", "All 12 tests pass. The key is password=hunter2hunter2.", 9),)
    steps = [Step("m1", (AgentText("m1", "I look.", 2),), calls, line=2), Step("m2", said, line=9)]
    given = [Injection("hook:UserPromptSubmit", "The budget is 5.", item="k1", line=1)]
    return TraceTurn("s", "claude-code", 1, Prompt("p", "Go", line=1), "/shop", injections=given, steps=steps)


def audited() -> AuditedTurn:
    shown = Claim(
        "All 12 tests pass.", ClaimKind.TESTS_PASS, Support.SUPPORTED, "“12 passed, 0 failed”", line=7, by="m"
    )
    return AuditedTurn("s", 1, "p", "modify", Diagnosis.GROUNDED, "low", (shown,))


def test_calls_of_a_kind_are_one_group_and_words_stand_between_them() -> None:
    found = timeline(turn(), audited(), {})
    assert [(one.kind, len(one.calls), one.misses) for one in found.groups] == [
        ("said", 0, 0), ("look", 2, 1), ("run", 1, 0),
    ]  # fmt: skip
    assert found.groups[1].calls[1].what == "a.py"


def test_a_claim_leads_to_its_call_and_the_quotation_is_found_whatever_its_white_space() -> None:
    found = timeline(turn(), audited(), {})
    (claim,) = found.claims
    assert (claim.call, claim.address) == (3, "#call-3")
    call = found.groups[2].calls[0]
    assert call.quoted == "12 passed,   0 failed"
    assert (call.claims, call.cut, len(call.before) < 700) == ((1,), True, True)
    (mark,) = found.marks
    assert found.answer[mark.start : mark.end] == "All 12 tests pass."


def test_the_call_at_a_line_is_the_one_that_was_asked_for() -> None:
    found = timeline(turn(), audited(), {}, line=6)
    assert [one.number for group in found.groups for one in group.calls if one.is_asked] == [2]


def test_a_claim_of_an_earlier_call_leads_to_its_turn() -> None:
    later = turn()
    later.prompt = Prompt("p", "Go", line=20)
    (claim,) = timeline(later, audited(), {}).claims
    assert claim.address == "/at/s/7"


def test_items_have_their_verdicts_and_secrets_stay_away() -> None:
    verdict = ItemVerdict("k1", True, True, False)
    found = timeline(turn(), audited(), {"k1": verdict})
    assert [(one.item, one.verdict) for one in found.injected] == [("k1", verdict)]
    assert "hunter2" not in found.answer


def test_code_is_coloured_and_escaped() -> None:
    shown = highlighted('if x < 1:  # <b>\n    return "a&b"', "python")
    assert shown == (
        '<span class="k">if</span> x &lt; <span class="n">1</span>:  <span class="c"># &lt;b&gt;</span>\n'
        '    <span class="k">return</span> <span class="s">&quot;a&amp;b&quot;</span>'
    )
    assert highlighted("<x>", "unknown-language") == "&lt;x&gt;"
