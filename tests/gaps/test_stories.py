"""How a miss or a doubt ends by what follows, as one line for each signal (specification 1, section 10)."""

from __future__ import annotations

import pytest

from knowbound.core.trace import Event, LookupIntent, Outcome, Prompt, Skill, Step, ToolCall, ToolKind
from tests.gaps.stories import call, follow, read, search, shown, step

MISSED = step(search("refundLedger"))
DOUBT = "I'm not sure whether refundLedger is used."


def others(count: int) -> list[Step]:
    """Steps that have nothing to do with it."""
    return [step(search(f"unrelated{at}", "src/u.py")) for at in range(count)]


def asked(text: str, outcome: Outcome = Outcome.OK) -> ToolCall:
    return call(ToolKind.OTHER, "ask", outcome, name="AskUserQuestion", input={"question": text}, output="x")


STORIES: dict[str, tuple[list[Event], list[str]]] = {
    "nothing_follows": (
        [MISSED],
        ["failed_search undecided went_on 1 calls 0 steps [refundledger]"],
    ),
    "found_by_another_spelling": (
        [MISSED, step(search("refund_ledger", "src/ledger.py", id="b"))],
        ["failed_search resolved found at src/ledger.py:0 by b 2 calls 1 steps [refundledger]"],
    ),
    "found_by_reading_its_file": (
        [MISSED, step(read("/work/shop/src/refundLedger.py", id="b"))],
        ["failed_search resolved found at src/refundLedger.py:0 by b 2 calls 1 steps [refundledger]"],
    ),
    "found_with_tokens_and_seconds": (
        [
            step(search("refundLedger"), time="2026-11-01T10:00:00Z", tokens=9),
            step(tokens=3),
            step(said="Hm."),
            step(search("refundLedger", "a.py", id="b"), time="2026-11-01T10:00:04.26Z", tokens=5),
        ],
        ["failed_search resolved found at a.py:0 by b 2 calls 3 steps 4.3 s 8 tokens [refundledger]"],
    ),
    "found_at_once": (
        [
            step(search("refundLedger"), time="2026-11-01T10:00:00Z"),
            step(search("refundLedger", "a.py", id="b"), time="2026-11-01T10:00:00Z"),
        ],
        ["failed_search resolved found at a.py:0 by b 2 calls 1 steps 0.0 s [refundledger]"],
    ),
    "found_by_a_clock_that_goes_backwards": (
        [
            step(search("refundLedger"), time="2026-11-01T10:00:05Z"),
            step(search("refundLedger", "a.py", id="b"), time="2026-11-01T10:00:04Z"),
        ],
        ["failed_search resolved found at a.py:0 by b 2 calls 1 steps [refundledger]"],
    ),
    "found_by_two_searches_of_which_the_first_counts": (
        [MISSED, step(search("refundLedger", "a.py", id="b"), search("refundLedger", "b.py", id="c"))],
        ["failed_search resolved found at a.py:0 by b 2 calls 1 steps [refundledger]"],
    ),
    "found_in_the_same_step": (
        [step(search("refundLedger"), search("refund_ledger", "a.py", id="b"))],
        ["failed_search resolved found at a.py:0 by b 1 calls 0 steps [refundledger]"],
    ),
    "its_last_words_ask_for_it": (
        [MISSED, step(said="Where is the refund ledger?"), Prompt("q", "In the wiki.")],
        [
            "failed_search resolved asked 1 calls 1 steps [refundledger] user: In the wiki.",
            "hedging resolved asked 0 calls 0 steps user: In the wiki.",
        ],
    ),
    "its_last_words_ask_for_it_and_nobody_answers": (
        [MISSED, step(said="Where is the refund ledger?")],
        ["failed_search undecided went_on 1 calls 1 steps [refundledger]", "hedging open guessed 0 calls 0 steps"],
    ),
    "its_last_words_ask_something_else": (
        [MISSED, step(said="Shall I go on?"), Prompt("q", "In the wiki.")],
        ["failed_search undecided went_on 1 calls 1 steps [refundledger]"],
    ),
    "a_sub_agent_asks_and_the_next_prompt_is_no_answer": (
        [
            step(search("refundLedger"), agent_id="a1"),
            step(said="Where is the refund ledger?", agent_id="a1"),
            Prompt("q", "The ledger is in the wiki."),
        ],
        ["failed_search undecided went_on 1 calls 1 steps [refundledger]", "hedging open guessed 0 calls 0 steps"],
    ),
    "the_next_prompt_has_a_word_of_six_letters": (
        [MISSED, step(said="Done."), Prompt("q", "The ledger is in the wiki.")],
        ["failed_search resolved asked 1 calls 1 steps [refundledger] user: The ledger is in the wiki."],
    ),
    "the_next_prompt_has_a_shorter_word": (
        [step(search("handleVats")), step(said="Done."), Prompt("q", "All vats are in the wiki.")],
        ["failed_search undecided went_on 1 calls 1 steps [handlevats]"],
    ),
    "the_prompt_after_the_next_is_no_answer": (
        [
            MISSED,
            step(said="Done."),
            Prompt("q", "Thanks."),
            step(said="Done."),
            Prompt("q", "The ledger is in the wiki."),
        ],
        ["failed_search undecided went_on 1 calls 1 steps [refundledger]"],
    ),
    "a_find_is_not_corrected_by_the_next_prompt": (
        [MISSED, step(search("refundLedger", "a.py", id="b")), Prompt("q", "The ledger is in the wiki.")],
        ["failed_search resolved found at a.py:0 by b 2 calls 1 steps [refundledger]"],
    ),
    "it_gives_up_in_its_last_words": (
        [MISSED, step(said="I could not find the refund ledger."), Prompt("q", "ledger: see wiki")],
        [
            "failed_search open gave_up 1 calls 1 steps [refundledger] user: ledger: see wiki",
            "hedging open gave_up 0 calls 0 steps user: ledger: see wiki",
        ],
    ),
    "it_gives_up_on_something_else": (
        [MISSED, step(said="I could not find the carrier.")],
        ["failed_search undecided went_on 1 calls 1 steps [refundledger]", "hedging open gave_up 0 calls 0 steps"],
    ),
    "it_gives_up_at_once_and_goes_on": (
        [MISSED, step(said="I could not find the refund ledger. Going on."), step(said="Done.")],
        ["failed_search open gave_up 1 calls 2 steps [refundledger]", "hedging open gave_up 0 calls 0 steps"],
    ),
    "it_gives_up_in_the_third_step": (
        [MISSED, step(said="Hm."), step(said="Well."), step(said="No luck with the ledger."), step(said="Done.")],
        ["failed_search open gave_up 1 calls 4 steps [refundledger]"],
    ),
    "it_gives_up_in_the_fourth_step_which_is_too_late": (
        [
            MISSED,
            step(said="Hm."),
            step(said="Well."),
            step(said="So."),
            step(said="No luck with the ledger."),
            step(said="Done."),
        ],
        ["failed_search undecided went_on 1 calls 5 steps [refundledger]"],
    ),
    "its_first_words_after_silence_conclude_that_it_is_not_there": (
        [MISSED, *others(4), step(said="There is no ledger.")],
        ["failed_search verification - 5 calls 5 steps [refundledger]"],
    ),
    "its_second_words_conclude_nothing": (
        [MISSED, step(said="Looking on."), step(said="There is no ledger.")],
        ["failed_search undecided went_on 1 calls 2 steps [refundledger]"],
    ),
    "its_first_words_conclude_that_it_is_not_there": (
        [MISSED, step(said="There is no refund ledger yet.")],
        ["failed_search verification - 1 calls 1 steps [refundledger]"],
    ),
    "it_creates_the_file": (
        [MISSED, step(call(ToolKind.EDIT, "/work/shop/src/refundLedger.py"))],
        ["failed_search verification created 1 calls 1 steps [refundledger]"],
    ),
    "it_creates_the_name_in_a_text": (
        [MISSED, step(call(ToolKind.EDIT, "a.py", input={"content": "def refund_ledger(): pass"}))],
        ["failed_search verification created 1 calls 1 steps [refundledger]"],
    ),
    "it_creates_the_name_in_a_replacement": (
        [MISSED, step(call(ToolKind.EDIT, "a.py", input={"file_path": "a.py", "new_string": "refundLedger = 1"}))],
        ["failed_search verification created 1 calls 1 steps [refundledger]"],
    ),
    "it_writes_something_else": (
        [MISSED, step(call(ToolKind.EDIT, "a.py", input={"content": "carrier = 1"}))],
        ["failed_search undecided went_on 1 calls 1 steps [refundledger]"],
    ),
    "it_writes_a_name_of_six_letters": (
        [step(search("vatsum")), step(call(ToolKind.EDIT, "a.py", input={"content": "vatsum = 1"}))],
        ["failed_search verification created 1 calls 1 steps"],
    ),
    "it_writes_a_name_that_is_too_short": (
        [step(search("vatxs")), step(call(ToolKind.EDIT, "a.py", input={"content": "vatxs = 1"}))],
        ["failed_search undecided went_on 1 calls 1 steps"],
    ),
    "its_edit_fails": (
        [MISSED, step(call(ToolKind.EDIT, "/work/shop/src/refundLedger.py", Outcome.ERROR))],
        ["failed_search undecided went_on 1 calls 1 steps [refundledger]"],
    ),
    "it_reads_what_it_would_have_to_edit": (
        [MISSED, step(call(ToolKind.OTHER, "a.py", input={"content": "def refund_ledger(): pass"}))],
        ["failed_search undecided went_on 1 calls 1 steps [refundledger]"],
    ),
    "it_asks_by_a_tool": (
        [MISSED, step(asked("Where is the refund ledger?"))],
        ["failed_search resolved asked 1 calls 1 steps [refundledger]"],
    ),
    "it_asks_by_a_tool_and_nobody_answers": (
        [MISSED, step(asked("Where is the refund ledger?", Outcome.REJECTED))],
        ["failed_search open asked 1 calls 1 steps [refundledger]"],
    ),
    "it_asks_something_else_by_a_tool": (
        [MISSED, step(asked("Which carrier?"))],
        ["failed_search undecided went_on 1 calls 1 steps [refundledger]"],
    ),
    "a_check_that_nothing_is_left": (
        [step(search("refundLedger", intent=LookupIntent.CHECK))],
        ["failed_search verification - 1 calls 0 steps [refundledger]"],
    ),
    "a_check_that_finds_something_later": (
        [step(search("refundLedger", intent=LookupIntent.CHECK)), step(search("refundLedger", "a.py", id="b"))],
        ["failed_search verification found at a.py:0 by b 2 calls 1 steps [refundledger]"],
    ),
    "a_wrong_pattern": (
        [step(search("refundLedger", intent=LookupIntent.MALFORMED)), step(search("refundLedger", "a.py", id="b"))],
        ["failed_search malformed found at a.py:0 by b 2 calls 1 steps [refundledger]"],
    ),
    "a_filter_over_output": (
        [step(search("refundLedger", intent=LookupIntent.INCIDENTAL))],
        ["failed_search incidental - 1 calls 0 steps [refundledger]"],
    ),
    "a_question_whether_it_exists": (
        [step(search("refundLedger", purpose="Check if it exists"))],
        ["failed_search verification - 1 calls 0 steps [refundledger]"],
    ),
    "a_search_in_one_file": (
        [step(search("refundLedger", where="src/a.py"))],
        ["failed_search verification - 1 calls 0 steps [refundledger]"],
    ),
    "a_search_in_a_folder": (
        [step(search("refundLedger", where="src/api"))],
        ["failed_search undecided went_on 1 calls 0 steps [refundledger]"],
    ),
    "a_search_in_a_dotted_folder": (
        [step(search("refundLedger", where="src/.github"))],
        ["failed_search undecided went_on 1 calls 0 steps [refundledger]"],
    ),
    "a_search_in_several_files": (
        [step(search("refundLedger", where="src/a.py src/b.py"))],
        ["failed_search undecided went_on 1 calls 0 steps [refundledger]"],
    ),
    "a_search_in_a_glob_of_files": (
        [step(search("refundLedger", where="src/*.py"))],
        ["failed_search undecided went_on 1 calls 0 steps [refundledger]"],
    ),
    "a_list_of_one_file": (
        [step(call(ToolKind.LIST, "refundLedger", Outcome.EMPTY, where="src/a.py"))],
        ["failed_search undecided went_on 1 calls 0 steps [refundledger]"],
    ),
    "a_question_whether_it_exists_that_is_answered": (
        [step(search("refundLedger", purpose="Check if it exists")), step(search("refundLedger", "a.py", id="b"))],
        ["failed_search resolved found at a.py:0 by b 2 calls 1 steps [refundledger]"],
    ),
    "a_hedge": (
        [step(said=DOUBT)],
        ["hedging open guessed 0 calls 0 steps [refundledger]"],
    ),
    "a_hedge_that_a_search_answers": (
        [step(said=DOUBT), step(search("refundLedger", "src/ledger.py", id="b"))],
        ["hedging resolved found at src/ledger.py:0 by b 1 calls 1 steps [refundledger]"],
    ),
    "a_hedge_that_a_read_answers": (
        [step(said=DOUBT), step(read("/work/shop/src/refundLedger.py", id="b"))],
        ["hedging resolved found at src/refundLedger.py:0 by b 1 calls 1 steps [refundledger]"],
    ),
    "a_hedge_that_a_command_answers": (
        [step(said=DOUBT), step(call(ToolKind.SHELL, "refundLedger", id="b"))],
        ["hedging resolved found by b 1 calls 1 steps [refundledger]"],
    ),
    "a_hedge_that_an_edit_does_not_answer": (
        [step(said=DOUBT), step(call(ToolKind.EDIT, "refundLedger.py", id="b"))],
        ["hedging open guessed 0 calls 0 steps [refundledger]"],
    ),
    "a_hedge_that_is_answered_in_the_third_step": (
        [step(said=DOUBT), *others(2), step(search("refundLedger", "a.py", id="b"))],
        ["hedging resolved found at a.py:0 by b 3 calls 3 steps [refundledger]"],
    ),
    "a_hedge_that_is_answered_in_the_fourth_step": (
        [step(said=DOUBT), *others(3), step(search("refundLedger", "a.py", id="b"))],
        ["hedging open guessed 0 calls 0 steps [refundledger]"],
    ),
    "a_hedge_that_announces_a_read": (
        [step(read("/work/shop/src/x.py"), said=DOUBT)],
        ["hedging resolved found 0 calls 0 steps [refundledger]"],
    ),
    "a_hedge_before_other_words_announces_nothing": (
        [step(read("/work/shop/src/x.py"), said=f"{DOUBT} Let me read the plan.")],
        ["hedging open guessed 0 calls 0 steps [refundledger]"],
    ),
    "a_hedge_that_announces_a_command": (
        [step(call(ToolKind.SHELL, "make"), said=DOUBT)],
        ["hedging resolved found 1 calls 0 steps [refundledger]"],
    ),
    "a_hedge_that_announces_an_edit": (
        [step(call(ToolKind.EDIT, "a.py"), said=DOUBT)],
        ["hedging open guessed 0 calls 0 steps [refundledger]"],
    ),
    "a_hedge_that_announces_a_read_that_fails": (
        [step(read("x.py", there=False), said=DOUBT)],
        ["failed_search verification - 1 calls 0 steps [x]", "hedging open guessed 0 calls 0 steps [refundledger]"],
    ),
    "a_hedge_that_is_a_question": (
        [step(said="I'm not sure who owns refundLedger, is it us?"), Prompt("q", "Yes, ours.")],
        ["hedging resolved asked 0 calls 0 steps [refundledger] user: Yes, ours."],
    ),
    "a_hedge_that_is_a_chinese_question": (
        [step(said="我不确定 refundLedger 是否还在用？"), Prompt("q", "Yes.")],
        ["hedging resolved asked 0 calls 0 steps [refundledger] user: Yes."],
    ),
    "a_hedge_before_a_question": (
        [step(said=f"{DOUBT} Shall I go on?"), Prompt("q", "Yes.")],
        ["hedging open guessed 0 calls 0 steps [refundledger]"],
    ),
    "a_hedge_that_was_a_question_earlier": (
        [step(said="I'm not sure who owns refundLedger, is it us?"), step(said="Done."), Prompt("q", "Yes.")],
        ["hedging open guessed 0 calls 0 steps [refundledger]"],
    ),
    "a_hedge_that_gives_up": (
        [step(said="I could not find out, maybe the refundLedger is gone.")],
        ["hedging open gave_up 0 calls 0 steps [refundledger]"],
    ),
    "a_marker": (
        [step(said="[inferred] The refund window is 30 days.")],
        ["explicit_marker open guessed 0 calls 0 steps"],
    ),
    "a_hedge_of_a_sub_agent": (
        [step(said=DOUBT, agent_id="a1"), step(search("refundLedger", "a.py", id="b"))],
        ["hedging open guessed 0 calls 0 steps [refundledger]"],
    ),
    "a_chain_has_the_first_name": (
        [
            step(search("refundLedger handleRefundLedger")),
            step(search("refund_ledgerTotals")),
            step(search("otherThingy")),
        ],
        [
            "failed_search undecided went_on 2 calls 2 steps [handlerefundledger, refundledger]",
            "failed_search undecided went_on 1 calls 0 steps [otherthingy]",
            "repeated_failure undecided -",
        ],
    ),
    "late_by_its_very_name": (
        [MISSED, *others(9), step(search("refundLedger", "src/refundLedger.py", id="b"))],
        ["failed_search resolved found at src/refundLedger.py:0 by b 9 calls 8 steps [refundledger]"],
    ),
    "late_by_the_name_of_a_file": (
        [MISSED, *others(9), step(search("unrelated", "src/refundLedger.py", id="b"))],
        ["failed_search resolved found at src/refundLedger.py:0 by b 9 calls 8 steps [refundledger]"],
    ),
    "late_by_a_part_of_its_name": (
        [MISSED, *others(9), step(search("refund", "src/refund.py", id="b"))],
        ["failed_search undecided went_on 9 calls 8 steps [refundledger]"],
    ),
    "late_by_a_call_that_fails": (
        [
            MISSED,
            *others(9),
            step(call(ToolKind.SEARCH, "refundLedger", Outcome.ERROR, paths=("src/refundLedger.py",))),
        ],
        ["failed_search undecided went_on 9 calls 8 steps [refundledger]"],
    ),
    "late_by_a_command": (
        [MISSED, *others(9), step(call(ToolKind.SHELL, "cat", paths=("src/refundLedger.py",)))],
        ["failed_search undecided went_on 9 calls 8 steps [refundledger]"],
    ),
    "late_after_it_was_created": (
        [MISSED, step(call(ToolKind.EDIT, "src/refundLedger.py")), *others(9), step(read("src/refundLedger.py"))],
        ["failed_search verification created 1 calls 1 steps [refundledger]"],
    ),
    "similar_misses_are_one_event": (
        [MISSED, step(search("refund_ledger", id="b")), step(search("RefundLedger", "a.py", id="c"))],
        ["failed_search resolved found at a.py:0 by c 3 calls 2 steps [refundledger]"],
    ),
    "similar_misses_of_two_agents_are_two": (
        [MISSED, step(search("refund_ledger", id="b"), agent_id="a1")],
        [
            "failed_search undecided went_on 1 calls 0 steps [refundledger]",
            "failed_search undecided went_on 1 calls 0 steps [refundledger]",
        ],
    ),
    "similar_misses_of_two_turns_are_two": (
        [MISSED, Prompt("q", "again"), step(search("refund_ledger", id="b"))],
        [
            "failed_search undecided went_on 1 calls 0 steps [refundledger]",
            "failed_search undecided went_on 1 calls 0 steps [refundledger]",
        ],
    ),
    "a_similar_check_is_another_event": (
        [MISSED, step(search("refund_ledger", id="b", intent=LookupIntent.CHECK))],
        [
            "failed_search undecided went_on 1 calls 1 steps [refundledger]",
            "failed_search verification - 1 calls 0 steps [refundledger]",
        ],
    ),
    "three_misses_in_a_row_are_a_repeated_failure": (
        [step(search("aaaaOne")), step(search("bbbbTwo")), step(search("ccccThree"))],
        [
            "failed_search undecided went_on 1 calls 2 steps [aaaaone]",
            "failed_search undecided went_on 1 calls 1 steps [bbbbtwo]",
            "failed_search undecided went_on 1 calls 0 steps [ccccthree]",
            "repeated_failure undecided -",
        ],
    ),
    "three_misses_in_four_steps_are_none": (
        [step(search("aaaaOne")), step(search("bbbbTwo")), step(), step(search("ccccThree"))],
        [
            "failed_search undecided went_on 1 calls 3 steps [aaaaone]",
            "failed_search undecided went_on 1 calls 2 steps [bbbbtwo]",
            "failed_search undecided went_on 1 calls 0 steps [ccccthree]",
        ],
    ),
    "a_find_between_ends_a_repeated_failure": (
        [step(search("aaaaOne")), step(search("bbbbTwo")), step(search("dddd", "x.py"), search("ccccThree"))],
        [
            "failed_search undecided went_on 2 calls 2 steps [aaaaone]",
            "failed_search undecided went_on 2 calls 1 steps [bbbbtwo]",
            "failed_search undecided went_on 1 calls 0 steps [ccccthree]",
        ],
    ),
    "two_tools_are_no_repeated_failure": (
        [step(search("aaaaOne")), step(search("bbbbTwo")), step(read("cccc.py", there=False))],
        [
            "failed_search undecided went_on 1 calls 2 steps [aaaaone]",
            "failed_search undecided went_on 1 calls 1 steps [bbbbtwo]",
            "failed_search undecided went_on 1 calls 0 steps [cccc]",
        ],
    ),
    "a_repeated_failure_in_one_step": (
        [step(search("aaaaOne"), search("bbbbTwo"), search("ccccThree"), search("ddddFour"))],
        [
            "failed_search undecided went_on 1 calls 0 steps [aaaaone]",
            "failed_search undecided went_on 1 calls 0 steps [bbbbtwo]",
            "failed_search undecided went_on 1 calls 0 steps [ccccthree]",
            "failed_search undecided went_on 1 calls 0 steps [ddddfour]",
            "repeated_failure undecided -",
        ],
    ),
    "a_skill_ends_what_is_followed": (
        [MISSED, Skill("ship", "call"), step(search("refundLedger", "a.py", id="b"))],
        ["failed_search undecided went_on 1 calls 0 steps [refundledger]"],
    ),
    "the_user_named_the_path": (
        [Prompt("q", "Read docs/vat.md please."), step(read("/work/shop/docs/vat.md", there=False))],
        [],
    ),
    "the_user_named_a_longer_path": (
        [Prompt("q", "Read docs/vat.md.bak please."), step(read("/work/shop/docs/vat.md", there=False))],
        ["failed_search undecided went_on 1 calls 0 steps [vat]"],
    ),
    "the_user_named_the_path_with_an_at_sign": (
        [Prompt("q", "Read @docs/vat.md."), step(read("docs/vat.md", there=False))],
        [],
    ),
    "the_user_named_a_word_of_a_search": (
        [Prompt("q", "Look for refundLedger."), step(search("refundLedger"))],
        ["failed_search undecided went_on 1 calls 0 steps [refundledger]"],
    ),
    "a_miss_keeps_the_words_before_it": (
        [step(search("refundLedger"), said="I need the ledger.")],
        ["failed_search undecided went_on 1 calls 0 steps [refundledger]"],
    ),
    "a_miss_keeps_the_words_after_it_where_none_were_before": (
        [MISSED, step(read("a.py")), step(said="I needed the ledger."), step(said="Done.")],
        ["failed_search undecided went_on 1 calls 3 steps [refundledger]"],
    ),
    "a_chain_with_one_common_word_keeps_its_own_names": (
        [step(search("refundLedger")), step(search("carrierRefund"))],
        [
            "failed_search undecided went_on 1 calls 1 steps [refundledger]",
            "failed_search undecided went_on 1 calls 0 steps [carrierrefund]",
        ],
    ),
    "a_chain_with_a_doubt_keeps_its_own_names": (
        [step(said="I'm not sure whether refundLedgerBook is used."), step(search("bookRefundLedger"))],
        [
            "hedging open guessed 0 calls 0 steps [refundledgerbook]",
            "failed_search undecided went_on 1 calls 0 steps [bookrefundledger]",
        ],
    ),
    "a_miss_without_a_name_is_followed_by_nothing": (
        [step(search("x+")), step(search("x+", "a.py"))],
        ["failed_search undecided went_on 2 calls 1 steps"],
    ),
    "the_words_of_a_miss_of_64_are_answered": (
        [
            *[step(search(4 * f"{chr(98 + at // 20)}{chr(98 + at % 20)}")) for at in range(3)],
            step(said="Done."),
            Prompt("q", "The bbbbbbbb is in the wiki."),
        ],
        [
            "failed_search resolved asked 1 calls 3 steps user: The bbbbbbbb is in the wiki.",
            "failed_search undecided went_on 1 calls 2 steps",
            "failed_search undecided went_on 1 calls 1 steps",
            "repeated_failure undecided -",
        ],
    ),
    "late_in_another_sample": (
        [MISSED, *others(9), Skill("ship", "call"), step(search("refundLedger", "src/refundLedger.py"))],
        ["failed_search undecided went_on 9 calls 8 steps [refundledger]"],
    ),
    "late_for_a_doubt": (
        [step(said=DOUBT), *others(9), step(search("refundLedger", "src/refundLedger.py", id="b"))],
        ["hedging open guessed 0 calls 0 steps [refundledger]"],
    ),
    "the_longest_text_that_is_looked_through_for_a_name": (
        [MISSED, step(call(ToolKind.EDIT, "a.py", input={"content": "x" * 19_988 + "refundLedger"}))],
        ["failed_search verification created 1 calls 1 steps [refundledger]"],
    ),
    "the_name_after_that": (
        [MISSED, step(call(ToolKind.EDIT, "a.py", input={"content": "x" * 19_989 + "refundLedger"}))],
        ["failed_search undecided went_on 1 calls 1 steps [refundledger]"],
    ),
}
# One test for stories of a kind, so that each sees all of them.
KINDS = sorted({name.split("_")[0] for name in STORIES})


@pytest.mark.parametrize("kind", KINDS)
def test_a_miss_ends_by_what_follows(kind: str) -> None:
    told = {name: story for name, story in STORIES.items() if name.split("_")[0] == kind}
    assert {name: shown(follow(*events)) for name, (events, _) in told.items()} == {
        name: lines for name, (_, lines) in told.items()
    }
