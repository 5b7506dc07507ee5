"""Every word of a question that says something: nouns and verbs alike (specification 3, part III.2).

What only asks is left out: "where is the code that", "can you show me", "is … defined". A verb that names what happens
to a thing is as much a part of the question as the thing: "replicated" is what is asked for in "where are route tables
replicated to other hosts".
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowbound.codebase.passages import word_stem
from knowbound.evidence.question.phrases import HYPHEN, QuestionToken, segments_of
from knowbound.text.questions.words import GENERIC, verb_base
from knowbound.text.stop_words import STOP_WORDS
from knowbound.text.terms import canonical, split_words

# Phrases that ask and say nothing of what they ask for; longest first.
_FRAMES = re.compile(
    r"\b(?:(?:can|could|would|will) (?:you|someone|anyone|anybody|we)(?: please| kindly)?(?: help me)?|"
    r"(?:i|we) (?:would |really |just |also )*(?:need|want|like|have|am trying|are trying|was trying|try)(?: to)?"
    r"(?: (?:know|find|see|learn|understand|figure|read|look)(?: out| up| at| for| into| through)?)?|"
    r"i am (?:looking for|wondering|curious|trying to (?:find|understand|see|figure out))|do you know|any idea|"
    r"(?:please )?(?:show|tell|give|point|walk|bring|take|direct|remind|help) (?:me|us)"
    r"(?: (?:to|at|through|out|the way))?|"
    r"(?:find|figure) out|make sense of|take a look at|have a look at|look (?:at|into|for|up)|search for|"
    r"(?:explain|describe|summari[sz]e|outline|clarify|locate|find|open|list|show|review|audit|inspect|check out)"
    r"(?= (?:how|what|why|where|when|the|a|an|all|every|each|me|our|this|who|which)\b)|"
    r"(?:is|are) there (?:a way|any way|a place|some place|somewhere|anything|something)(?: to| that| where| which)?|"
    r"what (?:is|are|was) the (?:point|purpose|role|job|idea|meaning|reason)(?: of| for| behind)?|"
    r"in (?:which|what) (?:file|module|class|function|place|part|folder|directory|page|section)|"
    r"(?:which|what)(?: \w+)? (?:file|module|class|function|method|part|place|piece|code|bit|line|component|spot|"
    r"page|section|document|chapter|struct|type|routine|script)s?(?: of the (?:code|codebase|project|program|docs))?"
    r"(?: (?:that|which|is it that))?|"
    r"the (?:code|part|place|piece|function|method|class|bit|thing|file|module|line|logic|spot|one|page|section|"
    r"component|routine)s?(?: of the (?:code|codebase|project|program))? (?:that|which|where|responsible for|to)|"
    r"where (?:would|should|do|can|could|shall) (?:i|we|one|you) (?:start|begin|look)(?: (?:reading|looking))?|"
    r"(?:someone|somebody|a user|a customer|users|people|we|i) (?:\w+ )?(?:reported|filed|found|saw|hit|got|noticed) "
    r"(?:a |an |some )?(?:bug|issue|problem|error|crash|report)s?(?: (?:in|with|about|of))?|tak(?:e|es|ing) effect|"
    r"what (?:would|will|might|could) (?:break|happen|change|stop working|be affected)|"
    r"if (?:i|we|you|someone) (?:were to )?(?:rename|change|remove|delete|move|touch|edit|drop)(?:d|ed|ped)?|"
    r"(?:our|the|my|some) (?:docs|documentation|readme|notes|wiki|changelog|ticket|issue|report) "
    r"(?:mentions?|says?|talks? about|refers? to|names?)|how (?:many|much|long|often|far|big|large|frequently|soon)|"
    r"how come|what happens (?:if|when|to|with|after|before)|for what|at what point|"
    r"(?:in|within|of|for) (?:this|the|our) (?:project|repo|repository|codebase|code base|tree|docs|documentation|"
    r"code|handbook)|in here|these days|"
    r"make(?:s)? sure|be(?:ing)? able|supposed to|going to|used to|as well|i\.e\.|e\.g\.|for example|for instance|"
    r"take(?:s)? place|the way|by the way|exactly|actually)\b",
    re.IGNORECASE,
)
# Verbs that hold for anything: what they say is said by the question word.
SAYS_NOTHING = frozenset(
    "be have do get go come happen occur work live reside sit exist find locate define declare implement contain "
    "hold house handle deal cope manage perform concern relate belong appear mean involve explain describe tell show "
    "know see look want need like ask wonder understand learn say call use".split()
)
# Verbs that syntax says without a word: a name is read, set, called, raised wherever it is used.
BY_SYNTAX = frozenset(
    "read set use call invoke reference import require assign get return raise throw create construct instantiate "
    "pass access consult touch depend rely inherit subclass override extend catch look check consume emit fire print "
    "log write store keep hold initialise initialize configure register define load evaluate honour honor respect "
    "apply enforce validate parse process show display".split()
)
# What is so today is in no document that does not say so itself.
_NOW = re.compile(
    r"\b(?:(?:this|next|last) (?:week|month|quarter|year|sprint)|today|tomorrow|tonight|right now)\b", re.I
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n+|:\s+")
_POINTS_BACK = re.compile(r"\b(?:it|its|they|them|their|that|this|these|those|there|same)\b", re.IGNORECASE)
_ENOUGH = 2  # words of a sentence that is a question of its own
_IDEOGRAPHS = re.compile(r"[\u3400-\u9fff]+")
_CHINESE_FRAMES = re.compile(
    "由谁|是谁|什么时候|什么|为什么|怎么样|怎么|怎样|如何|多久|多少|多长|多大|哪里|哪儿|哪个|哪些|在哪|几个|几天|我们|你们|需要|可以|应该|"
    "请问|请|是否|有没有|有|是|的|了|吗|呢|由|在|和|与|谁|该|要|会|能|把|被|对|从|到底|其"
)
_SORTS = frozenset("class function method enum struct interface trait type macro constant variable module file".split())
_VAGUE = frozenset("thing things stuff something anything everything somebody way kind sort lot bit".split())


@dataclass(frozen=True, slots=True)
class AskedWord:
    """A word of the question that an answer must have."""

    text: str
    stem: str
    is_verb: bool = False
    exact: bool = False  # a name, an option, a quotation: as it is written


def asked_words(question: str) -> tuple[AskedWord, ...]:
    """The words that say something, each once, in order. Names come whole, and so do times that depend on the day."""
    found = {text: AskedWord(text, text, exact=True) for text in map(str.lower, _NOW.findall(question))}
    question = _NOW.sub(" ", question)
    sentences = [one for one in _SENTENCE.split(question) if one.strip()]
    last = _in_sentence(sentences[-1]) if sentences else []
    # What comes before the question is its setting, unless it points back there.
    before = [word for one in sentences[:-1] for word in _in_sentence(one)]
    alone = len(last) >= _ENOUGH and not _POINTS_BACK.search(sentences[-1]) and not any(word.exact for word in before)
    for word in last if alone else (*before, *last):
        found.setdefault(word.text if word.exact else word.stem, word)
    return tuple(found.values())


def _in_sentence(text: str) -> list[AskedWord]:
    found = []
    for segment in segments_of(_FRAMES.sub(_kept_length, text)):
        for at, token in enumerate(segment):
            found += _words_of(token, segment[at - 1] if at else None)
    return found


def _kept_length(match: re.Match[str]) -> str:
    """A frame gives way to a comma where a sentence begins with it, so that no phrase reaches over it."""
    return " , " if match.start() == 0 else " "


def _words_of(token: QuestionToken, before: QuestionToken | None) -> list[AskedWord]:
    if token.is_code:
        return [AskedWord(token.text.removesuffix("()").lstrip("@"), word_stem(token.text), exact=True)]
    if not token.text.isascii() and (runs := _IDEOGRAPHS.findall(token.text)):
        return [AskedWord(pair, pair) for run in runs for pair in _pairs(run)]
    found = []
    for part in HYPHEN.split(token.text):
        low = part.lower()
        base = verb_base(low)
        if low in STOP_WORDS or low in _VAGUE or (base or low) in SAYS_NOTHING or (len(low) < 2 and not low.isdigit()):
            continue
        if low in _SORTS and before is not None and before.is_code:
            continue  # "the Session enum"
        for word in split_words(part) if not part.isdigit() else (part,):
            if word not in STOP_WORDS:
                found.append(AskedWord(word, word_stem(word), is_verb=base is not None))
    return found


def _pairs(run: str) -> list[str]:
    """Every two Chinese characters that touch, apart from those of words that only ask."""
    parts = [part for part in _CHINESE_FRAMES.split(run) if len(part) > 1]
    return [part[at : at + 2] for part in parts for at in range(len(part) - 1)]


def is_sort(word: AskedWord) -> bool:
    """Whether a word only says what sort of thing is meant: a class, an option, a message."""
    return not word.exact and (word.text in GENERIC or canonical(word.text) in {canonical(one) for one in GENERIC})
