import importlib
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.gaps.signals import hedging_candidates
from knowbound.judge.hedging.rules import RulesJudge
from knowbound.text import hedges
from knowbound.text.hedges import cues, may_hedge

SPECIFIED = [  # specification 1, section 4, source 3
    "我不确定这个字段在哪个域",
    "没有足够信息",
    "需要查证",
    "无法确认这张表由谁维护",
    "这只是猜测",
    "问题可能是缓存没有刷新",
    "I'm not sure which domain this data lives in.",
    "There is insufficient information to name the owner.",
    "We need to verify that the export is complete.",
    "The delay is likely caused by the proxy.",
    "The value is presumably in cents.",
]
DOUBT = [
    *SPECIFIED,
    "The issue might be that the cache is never cleared.",
    "It seems the second job never starts.",
    "The diagnostics seem stale.",
    "I need to check whether the importer still runs.",
    "This may be a timing problem.",
    "I’m not sure why this fails.",
    "I'm not 100% sure how the scheduler orders retries.",
    "The documentation doesn't say which encoding the export uses.",
    "Nothing here tells me whether the worker is restarted.",
    "It isn't clear whether the token is refreshed.",
    "For some reason the second page is empty.",
    "As far as I can tell, nothing else reads this table.",
    "I haven't found where the port is set.",
    "The formatter must have stripped the comment.",
    "知识库里没有提到退款的期限。",
    "文档没有说明第二列的含义。",
    "拿不准这里用的是哪个时区。",
    # Doubt without the usual words: knowledge lacking, claims not verified, weak signs, memory, a question to oneself.
    "There's no way of knowing which tenant the job ran for.",
    "The changelog is silent about the default.",
    "I can't vouch for the Korean strings.",
    "I wouldn't swear it's the new pool size.",
    "I haven't run this against a real cluster.",
    "I only skimmed the generated code.",
    "Judging by the stack, the pool was closed twice.",
    "If I recall correctly, the queue is locked per job.",
    "Last I checked, the action ran on Node 16.",
    "Let me read the worker — does it retry after a timeout?",
    "没有网关的日志，是谁先断开的我判断不了。",
    "这个脚本我没有跑过，不敢保证没有遗漏。",
    "凭印象这个上限是 500。",
]
NO_DOUBT = [
    "Let me see if the flag has any effect.",
    "The user might want to export the report.",
    "If you need it, you could perhaps add a second index.",
    "It may in future support more formats.",
    "We could split this into two functions.",
    "The badge appears next to the name.",
    "I believe I have enough to write the plan.",
    "Option 2 seems cleanest.",
    "Unknown keys are ignored.",
    "The compiler cannot find the header because it was never installed.",
    "Would you like me to check whether other files are affected?",
    "如果需要，也许可以再加一个参数。",
    "用户可能想要导出报表。",
    "将来可能会支持更多格式。",
    "| Needs investigation",
    "| Work might be lost",
    "The fix needs to verify the signature first.",
    "The signature must be verified by the caller.",
    "Every entity must have a migration.",
    "The caller needs to know whether the user is signed in.",
    "The handler returns unknown when the header is missing.",
    "The list may be null.",
    "This filters out anything the shell might print.",
    "Let me check what the response looks like and whether it compiles.",
    "Let me look for other callers that may need the same change.",
    "I'd go with option B, which is probably the simplest.",
    "The change is probably 50 lines.",
    "Want me to check if other files are affected?",
    "该字段可能为空。",
    "Unless told otherwise, the loader only reads the first line.",
    "What's your view - is removing the flag acceptable to the team?",
    "If you're not sure which preset to use, keep the default.",
    "如果不确定用哪个模板，选默认的就行。",
]


def kept(text: str) -> list[str]:
    candidates = hedging_candidates(text)
    verdicts = RulesJudge().judge(candidates)
    return [c.sentence for c, v in zip(candidates, verdicts, strict=True) if v and v.is_uncertainty]


@pytest.mark.parametrize("sentence", DOUBT)
def test_doubt_about_a_fact_is_a_hedge(sentence: str) -> None:
    assert kept(f"{sentence}\n\nDone.") == [sentence]


@pytest.mark.parametrize("sentence", NO_DOUBT)
def test_options_wishes_conditions_and_facts_are_not_hedges(sentence: str) -> None:
    assert kept(sentence) == []


@pytest.mark.parametrize(
    "text",
    [
        "The type is `unknown`.",
        "Renamed `maybe_load` and “might”.",
        "```\n# maybe wrong\n```",
        "> it may be broken",
        "The release of May 2024 is out.",
        "処理可能なファイルです。",
        "Let me check the file.",
        "Let me see if the flag has any effect.",
        "让我看看测试是否通过。",
        "## Possible reasons",
        "**Likely cause**",
        "This confirms my hypothesis: the lock is taken twice.",
        "这证实了我的猜测。",
        "I'll read the source rather than guess.",
        "That overturns my earlier guess.",
        "It fails in the second step, as you suspected.",
        "Let me check what the response looks like.",
        "The warning appeared twice, and it appears in the log.",
        "",
    ],
)
def test_code_quotations_months_headings_and_announced_checks_are_not_candidates(text: str) -> None:
    assert hedging_candidates(text) == []


def test_a_whole_sentence_in_bold_is_no_heading() -> None:
    assert kept("**The worker might be reading the old queue.**") == ["**The worker might be reading the old queue.**"]


def test_an_agent_that_goes_to_look_next_was_not_sure() -> None:
    assert kept("The indentation may differ.") == []
    assert kept("The indentation may differ. Both are fine.") == []
    assert kept("The indentation may differ. Let me check the file.") == ["The indentation may differ."]


def test_a_candidate_carries_its_neighbours() -> None:
    (candidate,) = hedging_candidates("The job failed. It might be the disk. I will look.")
    assert candidate.sentence == "It might be the disk."
    assert candidate.context == "The job failed. It might be the disk. I will look."


def test_each_sentence_is_one_candidate_however_many_words_of_doubt_it_holds() -> None:
    assert len(hedging_candidates("It might, perhaps, possibly be the disk.")) == 1


def test_a_text_that_runs_on_without_end_is_not_a_sentence() -> None:
    assert hedging_candidates("maybe " * 100_000) == []


WORDS = st.lists(
    st.sampled_from(
        "i don't know not sure might may could let me check if whether the likely seems looks like as though "
        "need to verify can't tell my guess hypothesis possible that 可能 不确定 `code` must be remains to be seen "
        "no information worth checking theoretically tbd i imagine suggests this would explain some reason for far "
        "as can from memory nothing here tells me doesn't say never mention open question makes sense isn't clear "
        "have found understanding knowledge reading too early rather than guess somehow".split()
    ),
    max_size=12,
)


@given(WORDS)
def test_the_cheap_look_misses_no_word_of_doubt(words: list[str]) -> None:
    text = " ".join(words)
    assert may_hedge(text) or not cues(text)


def beginnings(parts: Any) -> set[str]:
    """What the parsed parts of a pattern can begin with, up to four characters; \\0 stands for any word."""
    whole: set[str] = set()
    open_: set[str] = {""}
    for operation, value in parts:
        longer = {start + more for start in open_ for more in beginnings_of(str(operation), value)}
        whole |= {start[:4] for start in longer if len(start) >= 4}
        open_ = {start for start in longer if len(start) < 4}
    return whole | open_


def beginnings_of(operation: str, value: Any) -> set[str]:
    match operation:
        case "LITERAL":
            return {chr(value)}
        case "IN":
            return {chr(one) if str(kind) == "LITERAL" else "\0" for kind, one in value}
        case "SUBPATTERN":
            return beginnings(value[3])
        case "BRANCH":
            return {start for branch in value[1] for start in beginnings(branch)}
        case "MAX_REPEAT":
            least, _, part = value
            return beginnings(part) | (set() if least else {""})
    return {""}  # looks around


@pytest.mark.parametrize(("kind", "pattern"), hedges._ENGLISH.items())
def test_the_first_letters_let_every_cue_through(kind: str, pattern: str) -> None:
    parse = importlib.import_module("re._parser").parse
    gate = re.compile(hedges._beginnings(hedges._FIRST))
    assert not [start for start in beginnings(parse(pattern)) if not gate.match(f"{start} ")], kind
