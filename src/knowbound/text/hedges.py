"""Words of doubt in English and Chinese, to find candidates; a judge decides about each.

Specification 1, source 3 gives examples only. Kinds group words that behave alike in a
sentence.
"""

# ruff: noqa: E501 - a pattern is easier to read unbroken
from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Cue(NamedTuple):
    """A word of doubt in a sentence: its kind and its position."""

    kind: str
    start: int
    end: int


_VERB = (
    r"(?:double-?check|check|verify|confirm|investigate|find out|figure out|determine|understand|validate"
    r"|know|look into|see (?:if|whether|why))"
)
_FACTS = r"(?:information|context|details|documentation|evidence|visibility)(?!\.\w)"

_NO_DOUBT = "no_doubt"  # words that would be a cue, in a phrase that says the opposite
_ENGLISH = {
    _NO_DOUBT: r"(?:confirm|prove|validate|verifie|refute|disprove|support|overturn|contradict)(?:s|d|ed)? (?:my|the|this|that|our) (?:\w+ )?"
    r"(?:hypothesis|theory|suspicion|guess|assumptions?)|(?:rather than|instead of|without|no|not) (?:guess(?:es|ing)?|assum(?:ing|ptions))"
    r"|(?:what|how) (?:[\w¤'’./-]+ ){1,8}(?:look|looks|looked) like",
    "unsure": r"(?:not|never|hardly|(?:is|are|was|were|do|would)n't) (?:[\w%]+ ){0,3}(?:sure|certain|clear|confident|obvious|convinced)"
    r"|unsure|uncertain(?:ty)?|unclear|(?:do|did|does)(?:n't| not) (?:\w+ )?(?:know|recall|remember|understand)"
    r"|no (?:idea|clue)|(?:hard|difficult|impossible|too early) to (?:tell|say|know|determine)|remains to be seen"
    r"|wonder(?:ing|s)?|not (?:yet )?(?:known|understood)|(?:could|may|might) be wrong|ambiguous|inconclusive"
    r"|i(?:'m| am) (?:\w+ )?(?:confused|puzzled|stumped|baffled)|(?:doesn't|does not) (?:\w+ )?make (?:\w+ )?sense|makes no sense"
    r"|open question|(?:i|we) doubt|doubtful|have (?:my|some) doubts|(?<=for )some reason|somehow",
    "lack": r"(?:can(?:'t|not| not)|could(?:n't| not)|unable to|(?:not|(?:is|was|were|have|has)n't) (?:been )?able to|no way to) "
    r"(?:\w+ ){0,2}(?:find|tell|determine|confirm|verify|see|locate|establish|identify|say|be sure|be certain|know"
    r"|rule out|check|figure)"
    rf"|(?:insufficient|(?:not|(?:is|was|are|do|does|did)n't) (?:have |got )?enough)(?: (?:information|context|details|documentation|evidence))?|(?:no|without|lack(?:s|ing)?(?: of)?) (?:\w+ ){{0,2}}{_FACTS}"
    rf"|(?:don't|do not) have (?:\w+ ){{0,2}}(?:access|{_FACTS})|need more {_FACTS}"
    r"|(?:have|has)(?:n't| not) (?:\w+ ){0,2}(?:tested|verified|checked|confirmed|looked|seen|validated|read|found|figured"
    r"|determined|worked out)"
    r"|not (?:\w+ )?(?:documented|verified|confirmed)|untested|unverified|unconfirmed",
    # "The page doesn't say which", "nothing here tells me whether".
    "silent": r"(?:doesn't|does not|don't|do not|didn't|did not|never) (?:\w+ ){0,2}(?:say|tell|mention|specify|state|explain|reveal"
    r"|describe|spell out|make clear)s?"
    r"|(?:nothing|nobody|no one|none|neither|nowhere) (?:[\w']+ ){0,5}(?:says?|tells?|mentions?|specif(?:y|ies)|states?"
    r"|explains?|shows?|indicates?|documents?|describes?|documented|mentioned|stated|specified|explained|described)"
    r"|no (?:\w+ )?(?:mention|indication|sign|trace|hint|explanation|answer)(?= (?:of|on|about|for|in|as|that|whether|how|why))",
    "verify": rf"(?:need|needs|have|has|want|remains?|ought) (?:\w+ )?to (?:\w+ )?{_VERB}"
    r"|(?:needs?|remains?|yet|still|has|have) (?:\w+ )?to be (?:\w+ )?(?:checked|verified|confirmed|determined|investigated)"
    r"|needs? (?:\w+ )?(?:verification|confirmation|checking|verifying|confirming|investigation|investigating)"
    r"|worth (?:\w+ )?(?:checking|verifying|confirming|investigating|double-?checking)"
    rf"|(?:i should|we should|i must|i'd better) (?:\w+ ){{0,2}}{_VERB}",
    "likely": r"(?:(?:most|more|less|very|quite|just as|equally) )?likely",
    "probably": r"probably|in all probability|chances are|odds are",
    "presumably": r"presumably|supposedly|apparently|conceivably|plausibly|seemingly|reportedly|allegedly"
    r"|far as (?:i|we) (?:can (?:tell|see)|know)|(?<=to )(?:my|our) knowledge|(?<=from )memory(?= alone|[,.])|iirc|afaict|afaik"
    r"|(?<=if )(?:i (?:remember|recall)|memory serves)",
    "maybe": r"maybe|perhaps|possibly",
    "possible": r"potentially|(?:it's|it is|also|is|one|quite|entirely) possible|theoretically|a chance (?:that|of)"
    r"|possible (?:that|causes?|reasons?|explanations?|culprits?)|possibility that",
    "might": r"might",
    "may": r"may",
    "could": r"could",
    "must": r"must(?= (?:be|have)\b)",
    "seem": r"seem(?:s|ed)?",
    # Not "appears twice", "appeared in the list": that is to be seen.
    "appear": r"appear(?:s|ed|ing)?(?! (?:in|on|at|under|below|above|next|when|once|only|twice|after|before|while|earlier|later"
    r"|again|because|across|between|inside|here|there|from|with|for|where|multiple|several|many|everywhere|as(?! if| though)"
    r"|alongside|centered|\d)|[.,;:)]|\s*$)",
    "looks": r"(?:(?:look|sound)(?:s|ed)?|feels) (?:like|as if|as though)(?!:| this[:.])",
    "think": r"i(?:'m| am|'d|'ll)? (?:\w+ )?(?:think|believe|suspect|thought|expect|imagine|suppose|bet|wager)"
    r"|my (?:understanding|bet|reading|impression)",
    "guess": r"(?:my|best|educated|working|a|strong) (?:guess|hypothesis|theory|suspicion|hunch)|guess(?:es|ing)?"
    r"|(?:prime|main|first|next|other) suspect|suspected (?:cause|culprit|bug|issue)|hypothesis|speculat(?:e|es|ed|ing|ion)|(?:(?<=is )|(?<=was )|(?<=are )|(?<=purely ))speculative",
    "assume": r"assum(?:e|es|ed|ing|ption|ptions)",
    "suggest": r"(?:this|that|which|it|error|output|logs?|message|name|naming|result|trace|test|table|code|comment|pattern|¤) "
    r"(?:strongly |also )?(?:suggests|hints|implies)|(?:this|that|which|it|and) (?:would|may|might|could) (?:suggest|explain|indicate|mean)",
    "unknown": r"unknown|undetermined|undocumented|tbd",
}
_CHINESE = {
    _NO_DOUBT: r"(?:证实|验证|证明|推翻)了?(?:我的|这个|该)?(?:猜测|推测|猜想|怀疑|假设)|(?:不靠|不用|无需|不必|而不是)(?:猜测|推测|猜)",
    "unsure": r"不(?:太|大|是很|完全|能|敢|百分之百)?(?:确定|清楚|肯定|明确|知道|了解|明白|理解|记得|熟悉)|不明|不详|没有?(?:把握|头绪|线索)"
    r"|说不[准清]|拿不准|吃不准|[搞弄]不(?:清|懂|明白)|看不出|不得而知|难以(?:判断|确定)|不好说|不知(?:为何|怎么)|未必|疑问|疑惑",
    "lack": r"(?:无法|没法|没有?办法|不能|没能|未能|无从)\w{0,2}(?:确认|确定|判断|得知|验证|核实|找到|查到|知道|看出)"
    r"|(?:没有|缺乏|缺少|缺)\w{0,6}(?:信息|资料|依据|文档|证据|上下文)|信息\w{0,2}不足"
    r"|(?:尚未|未经?|没有?|还没有?)(?:确认|验证|核实|证实|测试过)|没有?(?:任何)?(?:找到|查到|搜到)",
    "silent": r"(?:没有?|并?未|并没有|也没有?)(?:\w{0,4})(?:提到|提及|说明|写明|注明|标明|交代|记载|解释|给出|指明|讲清|说清)",
    "verify": r"(?:需要?|有待|待|还要|必须|得|应该?先?)\w{0,6}?(?:查证|确认|核实|验证|检查|核对|查一下|看一下|弄清|调查|排查)"
    r"|存疑",
    "presumably": r"据说|貌似|疑似|想必|印象中|据我(?:所知|了解)",
    "likely": r"很可能|极有可能|最有可能|十有八九|多半|八成",
    "might": r"(?<!不)可能(?!性|的话)",
    "maybe": r"也许|或许|大概|兴许|说不定|没准|恐怕",
    "guess": r"猜测|推测|猜想|我猜|估计|推断|怀疑",
    "seem": r"似乎|好像|看起来|看上去|看样子|像是",
    "think": r"我(?:觉得|认为|以为)",
    "assume": r"假设|假定",
    "must": r"应该是|应当是",
    "unknown": r"未知",
}

# What an English cue can begin with. Its first three letters are asked before the long pattern, which takes ten times
# as long to say that nothing begins at a word.
_FIRST = (
    "not never hardly isn't aren't was wasn't were weren't wouldn't unsure uncertain unclear do don't does did didn't no hard "
    "difficult impossible too remain remains wonder ambiguous inconclusive makes open doubtful some somehow nothing nobody none "
    "neither nowhere reportedly allegedly far our memory iirc afaict afaik speculative pattern "
    "confirm prove validate verifies refute disprove support rather instead what how overturn contradict prime main first next other "
    "could may might can can't cannot couldn't unable insufficient without lack have haven't has hasn't untested unverified "
    "unconfirmed need needs want ought yet still worth i we i'd let let's i'll most more less very quite just equally likely "
    "probably in chances odds presumably supposedly apparently conceivably plausibly seemingly maybe perhaps possibly "
    "potentially it it's also is one entirely possible theoretically a possibility must seem appear look sound feel i'm my "
    "best educated working strong guess suspect hypothesis speculation assume this that which error output log message name "
    "naming result trace test table code comment and ¤ would unknown undetermined undocumented tbd"
)


def _beginnings(words: str) -> str:
    """A pattern of the first three letters of these words, branching at the first, which is the quickest to refuse."""
    rests: dict[str, set[str]] = {}
    for word in words.split():
        rests.setdefault(word[0], set()).add(f"{word[1:]} "[:2])
    return "|".join(f"{letter}(?:{'|'.join(sorted(after))})" for letter, after in sorted(rests.items()))


_WORDS = re.compile(
    rf"\b(?={_beginnings(_FIRST)})(?:" + "|".join(f"(?P<{kind}>{words})" for kind, words in _ENGLISH.items()) + r")\b"
)
_SIGNS = re.compile("|".join(f"(?P<{kind}>{words})" for kind, words in _CHINESE.items()))
_HAN = re.compile("[一-鿿]")
_KANA = re.compile("[ぁ-ヿ]")  # Japanese writes 可能 too, for "possible"

# The cheap test of a text before anything else is done with it, by whole words: a cue holds a word that is enough
# by itself, or one word of each set of a pair.
_ALONE = frozenset(
    b"likely might may could must seem seems seemed appear appears appeared appearing probably probability chances odds "
    b"presumably supposedly apparently conceivably plausibly seemingly maybe perhaps possibly potentially possible "
    b"possibility theoretically chance think believe suspect suspects suspected thought expect imagine suppose guess guesses "
    b"guessing hypothesis theory suspicion hunch speculate speculates speculated speculating speculation speculative assume "
    b"assumes assumed assuming assumption assumptions suggests hints implies unknown "
    b"undetermined undocumented tbd unsure uncertain uncertainty unclear wonder wonders wondering untested "
    b"unverified unconfirmed insufficient unable ambiguous inconclusive confused puzzled stumped baffled somehow doubt "
    b"doubtful doubts reportedly allegedly iirc afaict afaik bet wager impression".split()
)
_PAIRS = tuple(
    (frozenset(one.encode().split()), frozenset(other.encode().split()))
    for one, other in (
        (
            "not never hardly cannot no without lack lacks lacking don't didn't can't couldn't isn't aren't wasn't weren't "
            "haven't hasn't hadn't doesn't won't wouldn't shouldn't hard difficult impossible",
            "sure certain clear confident obvious convinced know recall remember known understand understood enough documented "
            "verified confirmed able find tell determine confirm verify see locate establish identify say be rule check "
            "figure tested checked looked seen validated read found figured determined worked access information context "
            "details documentation evidence visibility way idea clue sense mention specify explain reveal describe spell",
        ),
        (
            "no nothing nobody none neither nowhere",
            "mention indication sign trace hint explanation answer says tell tells mentions mentioned specify specifies "
            "specified state states stated explain explains explained show shows indicate indicates document documents "
            "documented describe describes described say",
        ),
        (
            "need needs have has want remain remains ought worth should must better yet still",
            "check checked checking verify verified verifying verification confirm confirmed confirming confirmation "
            "investigate investigated investigating investigation out determine determined understand validate know look "
            "see seen",
        ),
        ("look looks looked sound sounds sounded feels", "like if though"),
        ("my our", "reading knowledge understanding"),
        ("need", "information context details documentation evidence visibility"),
        ("some far", "reason tell see know"),
        ("open early", "question tell say know determine"),
        ("makes from serves", "sense memory"),
        ("would may might could", "mean explain suggest indicate"),
    )
)
_PAIRED = frozenset[bytes]().union(*(words for pair in _PAIRS for words in pair))
_REMEMBERED = 2_000  # characters of a text whose answer is kept
# Everything but letters, digits and apostrophes becomes a space, and capitals become small, in one pass.
_TO_WORDS = bytes(
    ord(chr(c).lower()) if (c < 128 and chr(c).isalnum()) or c == ord("'") else ord(" ") for c in range(256)
)


def words(text: str) -> list[bytes]:
    """The English words of a text, in lower case; bytes because they are three times as fast to split."""
    data = text.encode(errors="replace")
    if not data.isascii():
        data = data.replace("’".encode(), b"'")
    return data.translate(_TO_WORDS).split()


def may_hedge(text: str) -> bool:
    """Whether `text` can hold a word of doubt at all."""
    return _remembered(text) if len(text) <= _REMEMBERED else _may_hedge(text)


@lru_cache(maxsize=256)  # a text of one line is asked as text, as line and as sentence
def _remembered(text: str) -> bool:
    return _may_hedge(text)


def _may_hedge(text: str) -> bool:
    found = words(text)
    if not _ALONE.isdisjoint(found):
        return True
    paired = _PAIRED.intersection(found)
    if paired:
        for one, other in _PAIRS:
            if not (paired.isdisjoint(one) or paired.isdisjoint(other)):
                return True
    return not text.isascii() and _HAN.search(text) is not None


def cues(masked: str) -> list[Cue]:
    """The words of doubt in a masked sentence."""
    found = [
        Cue(match.lastgroup or "", *match.span())
        for match in _WORDS.finditer(lowered(masked))
        if match.lastgroup != _NO_DOUBT and not (match[0] == "may" and _is_month(masked, match.start()))
    ]
    if not masked.isascii() and _HAN.search(masked) and not _KANA.search(masked):
        found += [
            Cue(match.lastgroup or "", *match.span())
            for match in _SIGNS.finditer(masked)
            if match.lastgroup != _NO_DOUBT
        ]
    return found


def lowered(masked: str) -> str:
    """Lower case with plain apostrophes, character for character."""
    low = masked.lower().replace("’", "'")
    return low if len(low) == len(masked) else masked  # a few letters grow when lowered


def _is_month(masked: str, at: int) -> bool:
    return masked[at] == "M" and masked[at + 4 : at + 5].isdigit()
