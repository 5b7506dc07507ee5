"""Parses a prompt to a document folder: its specific words, the names in it, and the kind of answer it wants.

Prompts of test sets are questions, orders ("Summarize the deploy check …") or a few sentences with one of these in
them. What they ask about is taken; how they ask is not.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowbound.core.paths import FILE_EXTENSIONS
from knowbound.documents.answer_kinds import AnswerKind, wanted_by
from knowbound.documents.relations import CONCEPTS, meant_by
from knowbound.documents.word_weights import character_weight, weight_of
from knowbound.documents.words import is_chinese, pairs_of, parts_of, tokens_of
from knowbound.text.intent import AskedQuestion
from knowbound.text.sentences import sentences
from knowbound.text.stems import stem
from knowbound.text.stop_words import PASSIVE, QUESTION_WORDS, STOP_WORDS

_MOST_TERMS = 24
_VERB = 0.7  # verbs have more paraphrases than nouns, and name less
_LEADING, _ENOUGH = 0.4, 1.0  # what leads to a question weighs less, where the question itself says enough
_ORDER = re.compile(
    r"^\W*(?:please\s+|kindly\s+|can you\s+|could you\s+)?(?:summari[sz]e|explain|describe|outline|list|tell|show|give|"
    r"find|name|state|clarify|walk|write|draft|say|answer|look up|point|check|compare|how|what|which|who|when|where|"
    r"why)\b",
    re.IGNORECASE,
)
_LABEL = re.compile(r"^\W*(?:task|question|prompt|instructions?|q|任务|问题)\s*[::]\s*", re.IGNORECASE)
_ROLE = re.compile(r"^\W*(?:you are\b|act as\b|你是)", re.IGNORECASE)
_QUOTED = re.compile(r"`([^`\n]{1,120})`")
_NAME = re.compile(
    r"(?<![\w/.-])(?:"
    r"--?[a-zA-Z][\w-]*(?:=\S+)?"  # an option
    r"|(?:\.{0,2}/)?[\w.-]{1,100}(?:/[\w.*-]+)+/?"  # a path; lengths are limited where a run may begin anywhere
    rf"|[\w-]{{1,100}}\.(?:{'|'.join(sorted(FILE_EXTENSIONS))})(?!\w)"  # a file
    r"|[A-Za-z_$][\w$]{0,100}(?:\.[A-Za-z_$][\w$]*)+(?:\(\))?"  # a dotted name
    r"|[A-Za-z]\w*_\w+|_\w+"  # snake case
    r"|[a-z]+[A-Z]\w*|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+"  # camel case
    r"|[A-Z]{1,8}-?\d{2,}[A-Z0-9-]*"  # a code of an error or a ticket
    r"|[A-Za-z]\w*\(\)"
    r"|@[\w/-]+|#[a-z][\w-]+"
    r")(?![\w])"
)
# A thing with its number, "Xid 48", "error 1042": it is no other one. Amounts are no numbers of things.
_NUMBERED = re.compile(
    r"(?<=[a-z,;:] )([A-Z][A-Za-z]+|error|code|status|port|ticket|rule|runbook) #?\d{2,}\b"
    r"(?![.,]?\d|\s*(?:%|percent|eur|usd|gb|mb|kb|ms|seconds?|minutes?|hours?|days?|weeks?|months?|years?)\b)",
)
_AMOUNT = re.compile(
    r"(?:eur|usd|gbp|chf|cny|rmb|euro|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mon|tue|wed|thu|fri|sat|sun)",
    re.IGNORECASE,
)
_NOT_NAMES = frozenset("and/or he/she his/her i/o 24/7 e.g i.e a.m p.m yes/no on/off ci/cd ios github gitlab".split())
_MAYBE_SLASHED = re.compile(r"^[a-z]+/[a-z]+$")
_CHINESE_FRAME = re.compile(
    "为什么|是什么|什么时候|什么样|什么|怎么样|怎么办|怎么|怎样|如何|多少|多久|多长时间|多长|几个|几次|几天|几位|几张|哪个|哪些|哪里|哪儿|谁来|由谁|谁"
    "|是否|能否|可否|可以|能不能|是不是|有没有|应该|应当|需要|必须|请问|我们|你们|他们|公司|一下|一个|一次|一份|一笔|这个|那个|这些|那些"
    "|时候|的话|如果|说明|介绍|总结|概述|描述|解释|列出|告诉|以及|或者|还是|[的了吗呢吧啊是和与把被请]"
)


@dataclass(frozen=True, slots=True)
class AskedTerm:
    """One thing that the prompt asks about: a word, a phrase or a name."""

    text: str  # as it is written
    stems: tuple[str, ...]
    concepts: frozenset[str]
    weight: float  # how specific it is by itself, without how rare it is in the folder
    is_name: bool = False  # an identifier, a path, an option, a code: it must be there as written
    is_proper: bool = False  # written with a capital: only itself will do
    is_asked_for: bool = False  # the very thing that is asked for: how many THESE, which OF THESE
    chinese: tuple[str, ...] = ()  # its pairs of characters


@dataclass(frozen=True, slots=True)
class ParsedPrompt:
    """What a prompt asks about, and the kind of answer that it wants."""

    core: str  # the sentence that asks
    wanted: AnswerKind
    asked: tuple[AskedTerm, ...]


def parse_prompt(question: AskedQuestion) -> ParsedPrompt:
    """What a prompt asks about; where it has several sentences, those that ask weigh more than what leads to them."""
    text = question.corrected
    parts = [_LABEL.sub("", sentence.text) for sentence in sentences(text)]
    parts = [part for part in parts if not _ROLE.match(part)] or parts
    asking = [part for part in parts if part.endswith(("?", "?"))] or [part for part in parts if _ORDER.match(part)]
    core = " ".join(asking) or text
    found: dict[object, AskedTerm] = {}
    for one in _asked_in(core, 1.0):
        found.setdefault(one.stems or one.chinese, one)
    if asking and len(asking) < len(parts):
        # "My list is slow when I scroll. What helps?" asks about what it says before.
        scale = _LEADING if sum(one.weight for one in found.values()) >= _ENOUGH else 1.0
        for sentence in parts:
            if sentence not in asking:
                for one in _asked_in(sentence, scale):
                    found.setdefault(one.stems or one.chinese, one)
    asked = sorted(found.values(), key=lambda one: -one.weight)[:_MOST_TERMS]
    kept = tuple(one for one in found.values() if one in asked)
    return ParsedPrompt(core, wanted_by(core), kept)


def _asked_in(sentence: str, scale: float) -> list[AskedTerm]:
    names, rest = _names(sentence)
    found = [
        AskedTerm(
            name,
            tuple(stem(part) for token in tokens_of(name) for part in parts_of(token)),
            frozenset(),
            2.0 * scale,
            is_name=scale == 1.0,
        )
        for name in names
    ]
    return found + _words(rest, scale)


def _names(sentence: str) -> tuple[list[str], str]:
    """The names in a sentence as written, and the sentence without them."""
    found: list[str] = []

    def take(match: re.Match[str]) -> str:
        name = match.group(1) if match.re is _QUOTED else match.group()
        low = name.lower().strip(".")
        if low in _NOT_NAMES or (match.re is _NAME and _MAYBE_SLASHED.match(name)):
            return f" {name.replace('/', ' ')} "
        found.append(name.rstrip("."))
        return " ; "

    rest = _QUOTED.sub(take, sentence)
    for numbered in _NUMBERED.finditer(rest):
        if numbered[1].lower() not in STOP_WORDS and not _AMOUNT.match(numbered[1]):
            found.append(numbered[0])
    rest = _NAME.sub(take, rest)
    return list(dict.fromkeys(found)), rest


def _words(sentence: str, scale: float) -> list[AskedTerm]:
    tokens = tokens_of(sentence)
    stems = [stem(token) for token in tokens]
    phrases = _phrases(stems)
    asked_for = _asked_for(tokens)
    found: list[AskedTerm] = []
    for at, token in enumerate(tokens):
        if is_chinese(token):
            found.extend(_chinese(token, scale))
            continue
        low = token.lower()
        if at in phrases:
            size, concepts, partner = phrases[at]
            words = [*tokens[at : at + size], *([tokens[partner]] if partner else [])]
            specific = max(weight_of(word.lower()) for word in words)
            weight = 0.9 if specific > 0.4 else 0.6  # "sign off" says more than "at once"
            found.append(
                AskedTerm(
                    " ".join(words),
                    tuple(stem(word) for word in words),
                    concepts,
                    weight * scale,
                    is_asked_for=at in asked_for,
                )
            )
        elif any(first < at < first + size or at == partner for first, (size, _, partner) in phrases.items()):
            continue  # part of the phrase
        elif len(low) < 2 or (low in STOP_WORDS and not token.isupper()):
            continue  # but "US" and "IT" are names
        elif at and low in _KIND_WORDS.get(tokens[at - 1].lower(), ()):
            continue  # it says which kind of answer is wanted
        else:
            # Who is named in what leads to a question ("Ms Li wants …") is an instance, not what is asked about.
            proper = at > 0 and scale == 1.0 and token[:1].isupper()
            concepts = meant_by((stems[at],))
            weight = weight_of(low, proper=proper) * scale
            if weight > _VERB * scale and not proper and _is_verb(tokens, at):
                weight = _VERB * scale
            found.append(
                AskedTerm(token, (stems[at],), concepts, weight, is_proper=proper, is_asked_for=at in asked_for)
            )
    return found


_ASKS_FOR = tuple(
    tuple(opening.split())
    for opening in ("how many", "how much", "which", "what is the", "what are the", "what is", "what are", "what")
)


def _asked_for(tokens: list[str]) -> frozenset[int]:
    """Where the words of the thing stand that is asked for: "how many open disputes", "what is the fee"."""
    low = [token.lower() for token in tokens]
    for at in range(len(low)):
        for opening in _ASKS_FOR:
            if tuple(low[at : at + len(opening)]) == opening:
                first = at + len(opening)
                end = first
                while end < len(low) and low[end] not in STOP_WORDS and end - first < 4:
                    if (
                        end > first
                        and opening[0] != "how"
                        and low[end].endswith("s")
                        and not low[end - 1].endswith("s")
                    ):
                        break  # "which header carries": the verb
                    end += 1
                return frozenset(range(first, end))
    return frozenset()


def _is_verb(tokens: list[str], at: int) -> bool:
    """Whether a word stands where verbs stand: "we COMPLAIN", "to RELEASE", "is BLOCKED"."""
    before = tokens[at - 1].lower() if at else ""
    if before in _BEFORE_VERBS:
        return True
    return tokens[at].lower().endswith("ed") and any(word.lower() in PASSIVE for word in tokens[max(0, at - 3) : at])


def _phrases(stems: list[str]) -> dict[int, tuple[int, frozenset[str], int]]:
    """Phrases that stand for something: where they begin, how long, what for, and where a parted end stands."""
    found: dict[int, tuple[int, frozenset[str], int]] = {}
    at = 0
    while at < len(stems):
        for size in (4, 3, 2):
            concepts = CONCEPTS.get(tuple(stems[at : at + size])) if at + size <= len(stems) else None
            if concepts and stems[at] not in QUESTION_WORDS:
                found[at] = (size, concepts, 0)
                at += size - 1
                break
        else:
            for gap in range(2, 6):  # "give a customer 600 euro back"
                if at + gap < len(stems) and stems[at + gap] in _PARTICLES:
                    concepts = CONCEPTS.get((stems[at], stems[at + gap]))
                    if concepts:
                        found[at] = (1, concepts, at + gap)
                        break
        at += 1
    return found


_WHICH = frozenset("command commands team person role group department file folder time day date number reason".split())
_KIND_WORDS = {
    "how": frozenset(
        "many much long often soon fast quickly frequently big large far few old late early high wide".split()
    ),
    "which": _WHICH,
    "what": _WHICH,
}
_BEFORE_VERBS = frozenset(
    "to i we you they he she it who not can could must may might should would will shall cannot".split()
)
_PARTICLES = frozenset("back off up down out over on in away".split())


def _chinese(run: str, scale: float) -> list[AskedTerm]:
    """A run of Chinese characters between the words that only ask."""
    found = []
    for part in _CHINESE_FRAME.split(run):
        weight = sum(map(character_weight, part))
        if weight > 0.3:
            weight = scale * min(2.5, 0.5 * weight)
            found.append(AskedTerm(part, (), frozenset(), weight, chinese=tuple(pairs_of(part))))
    return found
