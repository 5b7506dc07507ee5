"""Words around a lookup: the agent checks whether something is there, concludes that it is not, gives up, or asks.

English and Chinese. Each is asked of one or two sentences beside a miss, never of a whole text.
"""

# ruff: noqa: E501 - a pattern is easier to read unbroken
from __future__ import annotations

import re

from knowbound.core.trace import ToolCall
from knowbound.text.sentences import plain_sentences
from knowbound.text.terms import canonical, split_words
from knowbound.traces.calls.purpose import speaks_of_absence

_NEAR = 500  # characters beside a call
_ASKING_TOOLS = frozenset("askuserquestion requestuserinput askuser askfollowupquestion askquestions".split())

# Wider than what a call's own description has to say (`traces.intent`): it decides only where no later call finds it.
_WHETHER = re.compile(
    r"\b(?:check(?:ing)?|see|verify(?:ing)?|confirm(?:ing)?|make sure|ensure|determine|validate|look(?:ing)? for)\b[^.;\n]{0,60}"
    r"\b(?:if|whether|any(?:thing|where)?|no|existing|already|still|other|others|exists?|remaining|usages?|references?|"
    r"duplicates?|conflicts?|leftovers?)\b"
    r"|\b(?:is|are) there (?:any|already|an?|other|existing)\b"
    r"|\b(?:does|do|is|are|has|have)\b[^.;\n]{0,50}\b(?:exist|already|still|anywhere|elsewhere|anything)\b"
    r"|\bany (?:other|existing|more|remaining|left|references?|usages?|callers?|tests?|places?)\b"
    r"|\b(?:existing|already|elsewhere|anywhere else|also used|other (?:places|files|usages|callers|references|tests))\b"
    r"|\bsearch(?:ing)? for (?:other|existing|any)\b|\bif (?:it|they|there|that|this)\b"
    r"|是否|有没有|还有(?:没有|哪些)?|其他地方|已经?有",
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
    r"\b(?:(?:could|can)(?:n't|not| not) (?:find|locate|determine|figure out|access|see (?:where|how|which|what))"
    r"|(?:was|am|is|were|are|'m)(?:n't| not) able to (?:find|locate|determine|access)"
    r"|unable to (?:find|locate|determine|access)|failed to (?:find|locate)|no luck|(?:i|we) (?:do|did)(?:n't| not) have"
    r"|(?:do|did|does)(?:n't| not) (?:know|find|say|tell|specify|explain|document) (?:where|how|which|what|who|the|a|an|it)\b"
    r"|(?:is|are|was)(?:n't| not) (?:documented|explained|specified|described|anywhere)|nowhere (?:to be found|documented))"
    r"|找不到|没找到|未能找到|无法(?:找到|定位|确定|得知)|没有(?:提到|说明|记载|文档)",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\b(?:where|which|what|who|how|could you|can you|do you|did you|would you|please|point me|let me know|share|provide|"
    r"is there|are there|should i)\b[^?\n]{0,200}\?|(?:请问|哪里|哪个|在哪|能否|可以告诉)[^？?\n]{0,100}[？?]",
    re.IGNORECASE,
)


def asks_whether(call: ToolCall, said: str) -> bool:
    """The agent's words before the call, or its description, ask whether something is there."""
    return bool(_WHETHER.search(call.purpose) or _WHETHER.search(last_sentence(said)))


def expects_absence(call: ToolCall, said: str) -> bool:
    """The agent's words before the call, or its description, say that nothing should be left."""
    return speaks_of_absence(call.purpose) or speaks_of_absence(last_sentence(said))


def concludes_absence(said: str) -> bool:
    """The agent takes "not there" for its answer, in the first sentences after the result."""
    head = plain_sentences(said[:_NEAR])[:2]
    return any(_ABSENT.search(one) and not _GAVE_UP.search(one) for one in head)


def gives_up(said: str, about: frozenset[str]) -> bool:
    """The agent says that it did not find something, in a sentence with one of these words."""
    said = said[: 4 * _NEAR]
    if not _GAVE_UP.search(said):
        return False
    return any(_GAVE_UP.search(one) and _is_about(one, about) for one in plain_sentences(said))


def asks(said: str, about: frozenset[str]) -> bool:
    """The agent asks the user about one of these words."""
    said = said[-4 * _NEAR :]
    if not ("?" in said or "？" in said):
        return False
    return any(_QUESTION.search(one) and _is_about(one, about) for one in plain_sentences(said))


def is_question_tool(call: ToolCall) -> bool:
    """A tool by which an agent asks the user."""
    return call.name.replace("_", "").lower() in _ASKING_TOOLS


def last_sentence(said: str) -> str:
    """The sentence that announces a call: what comes before it is about something else."""
    return (plain_sentences(said[-_NEAR:]) or [""])[-1]


def words_in(text: str) -> frozenset[str]:
    """The words of a text in the spelling of `Wanted.words`."""
    return frozenset(map(canonical, split_words(text)))


def _is_about(sentence: str, about: frozenset[str]) -> bool:
    return not about.isdisjoint(words_in(sentence))
