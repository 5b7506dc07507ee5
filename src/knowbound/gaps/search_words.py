"""Words around a lookup: the agent checks whether something is there, concludes that it is not, gives up, or asks.

English and Chinese. Each is asked of one or two sentences beside a miss, never of a whole text. Before a miss plain words
do as well as phrases (`python -m bench.endings`).
"""

# ruff: noqa: E501 - a pattern is easier to read unbroken
from __future__ import annotations

import re

from knowbound.core.trace import ToolCall
from knowbound.text.sentences import plain_sentences
from knowbound.text.terms import canonical, split_words

_NEAR_CHARS = 500  # beside a call
_ASKING_TOOLS = frozenset("askuserquestion requestuserinput askuser askfollowupquestion askquestions".split())

# Wider than what a call's own description has to say (`traces.intent`): it decides only where no later call finds it.
_WHETHER = re.compile(
    r"\b(?:if|whether|any|already|existing|exists?|others?|elsewhere|anywhere|still|remaining|usages?|references?"
    r"|duplicates?|conflicts?|leftovers?)\b|是否|有没有|还有|其他地方|已",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"\b(?:there(?:'s| is| are|'re) (?:currently |also |already )?(?:no|none|nothing)\b"
    r"|there (?:isn't|aren't|is not|are not|was no|were no)|"
    r"no (?:\w+ ){0,3}(?:exists?|found|matches|references?|usages?|tests?|results?|callers?|issues?|changes?|conflicts?|needed|left|yet)\b"
    r"|no (?:existing|such|other|remaining|more|longer|duplicates?)\b"
    r"|(?:does|do|did|is|are|was|were|has|have)(?:n't| not)(?: (?:yet|currently|actually|even|any|anything))* "
    r"(?:exist|have|use|used|appear|contain|include|there|present|found|defined|implemented|referenced|set|exported|"
    r"tracked|mention\w*|been|got|a|an|any|need\w*|support\w*|installed|available|configured|documented|covered|tested|in|on)\b"
    r"|not (?:yet |currently |already |actually )*(?:used|there|present|found|defined|implemented|referenced|set|"
    r"exported|tracked|installed|available|configured|needed|exist\w*|in (?:the|this|use))\b"
    r"|nothing (?:else|references|uses|left|there|in|to|found|matches)|never (?:used|called|set|referenced)"
    r"|(?:is|are|'s) (?:empty|gone|unused|unreferenced|absent|new|clean)"
    r"|don't need|only (?:one|place|used|in|the|exists?|appears?)"
    r"|(?:the|that was the) only\b|all (?:clear|clean|removed|gone|good|references|usages|set))"
    r"|^(?:good|great|perfect|clean|nice|excellent)[,.!:—–-]|✓|✅"
    r"|不存在|没有|未(?:使用|找到|定义|发现|引用)|缺少|无需",
    re.IGNORECASE,
)
_GAVE_UP = re.compile(
    r"(?:n't|\bnot|\bcannot) (?:able to )?(?:find|locate|determine|figure out|access|documented|explained|specified"
    r"|described|anywhere|know (?:where|how|which|what|who))\b|\b(?:i|we) (?:do|did)(?:n't| not) have\b"
    r"|\b(?:unable to|failed to find|no luck|nowhere)\b"
    r"|找不到|没找到|未能|无法|没有(?:提到|说明|记载|文档)",
    re.IGNORECASE,
)


def asks_whether(call: ToolCall, said: str) -> bool:
    """Report whether the agent's words before a call, or its description, ask if something is there."""
    return bool(_WHETHER.search(call.purpose) or _WHETHER.search(last_sentence(said)))


def concludes_absence(said: str) -> bool:
    """Report whether the first sentences after a result take "not there" for the answer."""
    head = plain_sentences(said[:_NEAR_CHARS])[:2]
    return any(_ABSENT.search(sentence) and not _GAVE_UP.search(sentence) for sentence in head)


def gives_up(said: str, about: frozenset[str]) -> bool:
    """Report whether the agent says that it did not find something, in a sentence with one of these words."""
    said = said[: 4 * _NEAR_CHARS]
    if not _GAVE_UP.search(said):
        return False
    return any(_GAVE_UP.search(sentence) and _is_about(sentence, about) for sentence in plain_sentences(said))


def asks(said: str, about: frozenset[str]) -> bool:
    """Report whether the agent asks the user about one of these words."""
    said = said[-4 * _NEAR_CHARS :]
    questions = (sentence for sentence in plain_sentences(said) if "?" in sentence or "？" in sentence)
    return any(_is_about(question, about) for question in questions)


def is_question_tool(call: ToolCall) -> bool:
    """Report whether a call is to a tool by which an agent asks the user."""
    return call.name.replace("_", "").lower() in _ASKING_TOOLS


def last_sentence(said: str) -> str:
    """The sentence that announces a call: what comes before it is about something else."""
    return (plain_sentences(said[-_NEAR_CHARS:]) or [""])[-1]


def words_in(text: str) -> frozenset[str]:
    """The words of a text in the spelling of `Wanted.words`."""
    return frozenset(map(canonical, split_words(text)))


def _is_about(sentence: str, about: frozenset[str]) -> bool:
    return not about.isdisjoint(words_in(sentence))
