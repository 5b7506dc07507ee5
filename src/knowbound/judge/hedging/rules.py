"""The embedded judge of hedges: weighted features of a sentence, no model, no network, no cost.

A feature is a short name for something a reader can see around a word of doubt: its subject, what follows the word,
whether a condition comes before it, whether the agent goes to look next. The patterns are written by hand
(`hedging_features.toml`); the weights are learnt from labelled sentences by `python -m bench.train_hedging`
(`hedging_rules.json`). English and Chinese share the names, and words of doubt that behave alike share a group, so that
a weight learnt from one word serves the others. A sentence expresses doubt when one of its words does. Of its context
only the text that follows it counts: an agent that goes to look next was not sure.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

import msgspec

from knowbound.core.signal import HedgingVerdict
from knowbound.judge.hedging.verdict import HedgingCandidate
from knowbound.text.hedges import Cue, cues, lowered, words
from knowbound.text.sentences import HIDDEN, mask, shape

_RESOURCES = resources.files("knowbound.judge.hedging")
_MOST_NAMED = 3  # features that a reason names
# The specification's own statements of missing knowledge are doubt in any context, unless the sentence sets
# a condition, asks the user, speaks of the future, reports somebody else or says that the question is settled.
_DECLARED = re.compile(r"(?:insufficient|not enough) information|not sure|没有足够的?信息|无法确认", re.IGNORECASE)
_DECLARED_LACK = "a declared lack of knowledge"
_NOT_DECLARED_WITH = frozenset(
    ["after a condition", "with asks the user", "with future", "with a report", "with settled", "of people", "of you"]
)


class HedgingWeights(msgspec.Struct, frozen=True):
    """The weight of each feature: positive for doubt, negative against it."""

    bias: float
    features: dict[str, float] = msgspec.field(name="traits")

    @property
    def fingerprint(self) -> str:
        """Eight hex digits that change with any weight."""
        return hashlib.sha256(msgspec.json.encode(self, order="sorted")).hexdigest()[:8]


@cache
def shipped_weights() -> HedgingWeights:
    """Return the weights that come with the package."""
    return msgspec.json.decode(_RESOURCES.joinpath("hedging_rules.json").read_bytes(), type=HedgingWeights)


def text_after(candidate: HedgingCandidate) -> str:
    """Return the text that follows the sentence in its context."""
    at = candidate.context.find(candidate.sentence)
    return candidate.context[at + len(candidate.sentence) :].lstrip() if at >= 0 else ""


class RulesJudge:
    """Judges hedges by their features."""

    costs = False
    usd = 0.0

    def __init__(self, weights: HedgingWeights | None = None) -> None:
        self._weights = weights or shipped_weights()
        self.version = f"rules/3-{self._weights.fingerprint}"

    def known(self, _candidate: HedgingCandidate) -> HedgingVerdict | None:
        """Return nothing: rules keep no verdicts."""
        return None

    def judge(self, candidates: Sequence[HedgingCandidate]) -> list[HedgingVerdict]:
        """Return one verdict per candidate."""
        return [self._verdict(candidate) for candidate in candidates]

    def _verdict(self, candidate: HedgingCandidate) -> HedgingVerdict:
        """Judge a sentence by the one of its words of doubt with the highest score."""
        sentence = candidate.sentence
        weight = self._weights.features.get
        best: tuple[float, str, list[str]] | None = None
        for cue, names in features(sentence, text_after(candidate)):
            word, score = sentence[cue.start : cue.end], self._weights.bias + sum(weight(name, 0.0) for name in names)
            judged = score, word, names
            if score <= 0 and _DECLARED.search(word) and _NOT_DECLARED_WITH.isdisjoint(names):
                judged = 1.0, word, [_DECLARED_LACK]  # its words say it, whatever the weights do
            if best is None or judged[0] > best[0]:
                best = judged
        if best is None:
            return HedgingVerdict(False, 1.0, "no word of doubt outside code and quotations", self.version)
        score, word, names = best
        probability = 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))  # logistic; beyond 30 it is 0 or 1 anyway
        is_doubt = score > 0
        return HedgingVerdict(
            is_uncertainty=is_doubt,
            confidence=round(probability if is_doubt else 1 - probability, 3),
            reason=f"“{word}”: {self._deciding_features(names, is_doubt)}",
            judge=self.version,
        )

    def _deciding_features(self, names: list[str], is_doubt: bool) -> str:
        """Name the features that decided, strongest first."""
        sign = 1 if is_doubt else -1
        weights = {_DECLARED_LACK: 1.0, **self._weights.features}
        deciding = [name for name in names if sign * weights.get(name, 0.0) > 0]
        deciding.sort(key=lambda name: -sign * weights[name])
        return ", ".join(deciding[:_MOST_NAMED]) or "the word alone"


# Features

_WORD_LENGTH = 12
_NEAR_CHARACTERS = 90  # on each side of a word of doubt that are looked at
_Table = tuple[tuple[str, re.Pattern[str]], ...]


class _Phrase(msgspec.Struct):
    name: str
    has_one_of: str
    pattern: str | list[str]


class _FeatureFile(msgspec.Struct):
    parts: dict[str, str | list[str]]
    subject: dict[str, str | list[str]]
    follows: dict[str, str | list[str]]
    before: dict[str, str | list[str]]
    forms: dict[str, str | list[str]]
    chinese: dict[str, str | list[str]]
    words: dict[str, str]
    phrases: list[_Phrase]

    def pattern(self, written: str | list[str]) -> re.Pattern[str]:
        """Compile a pattern: its pieces are joined, and `<name>` stands for the part of that name."""
        text = "".join(written)
        for name, part in self.parts.items():
            text = text.replace(f"<{name}>", "".join(part))
        return re.compile(text)

    def table(self, patterns: Mapping[str, str | list[str]]) -> _Table:
        """Compile the patterns of a table."""
        return tuple((name, self.pattern(written)) for name, written in patterns.items())


_FEATURES = msgspec.convert(
    tomllib.loads(_RESOURCES.joinpath("hedging_features.toml").read_text("utf-8")), _FeatureFile
)
_SUBJECT, _FOLLOWS, _BEFORE = (
    _FEATURES.table(_FEATURES.subject),
    _FEATURES.table(_FEATURES.follows),
    _FEATURES.table(_FEATURES.before),
)
_FORMS, _CHINESE_AROUND = _FEATURES.table(_FEATURES.forms), _FEATURES.table(_FEATURES.chinese)
_PHRASES = tuple(
    (phrase.name, frozenset(phrase.has_one_of.encode().split()), _FEATURES.pattern(phrase.pattern))
    for phrase in _FEATURES.phrases
)
_FEATURES_OF_WORD: dict[bytes, list[str]] = {}
for _name, _words in _FEATURES.words.items():
    for _word in _words.encode().split():
        _FEATURES_OF_WORD.setdefault(_word, []).append(_name)

_CLAUSE = re.compile(
    r"[;:(—–]| - |[,，；：（]|\b(?:but|and|so|because|since|which|though|as|means)\b"  # after it a clause begins
)
_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|in case|once|without|while|until)\b|如果|若|假如|一旦|要是|除非|当.{1,20}时"
)
_INDIRECT_QUESTION = re.compile(
    r"\b(?:check|see|verify|confirm|know|sure|determine|investigate|understand|unclear|wonder|ask|tell|find out"
    r"|figure out)\w{0,3}\b[^,]{0,40}\b(?:if|when|whether)\b"
)
_CONDITION_AFTER = re.compile(r"[^.]{0,40}\b(?:if|when|unless|once)\b")
_IS = re.compile(r"\b(?:is|are|was|were|'s|'re)\s*$")
_WORD = re.compile(r"\W{0,9}([^\W¤]{1,20})")
_STILL = re.compile(r"\s*(?:still|already|actually|only|also|incorrectly|just|simply|even|really|no longer)\b")
_WILL = re.compile(r"\b(?:will|would|should|'ll|'d)\s*$")
_ANNOUNCES = re.compile(
    r"\W{0,4}(?:(?:now|first|next|then|so|ok|okay|also|great|good|wait|actually|and)\b[,.!]? ?)*"
    r"(?:let me|let's|i'll|i will|we'll|i'm (?:also |now )?\w+ing|i am \w+ing)\b|(?:让我|我来|我先|接下来)"
)
_GOES_TO_LOOK = re.compile(
    rf"(?:{_ANNOUNCES.pattern}|(?:so |but )?i (?:need to|should))"
    r".{0,60}?\b(?:check|look|see|verify|find|investigat|read|debug|trac|try|test|confirm|examin|inspect|search|run|print"
    r"|reproduc)"
    r"|(?:让我|我来|我先|接下来).{0,20}(?:看|查|确认|验证|试)"
)
# A name of a program is hidden like quoted code: the "user" of user_profile is nobody.
_IDENTIFIER = re.compile(r"(?<![^\W_])(?:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w+)(?!['’]\w)", re.ASCII)
_NEW_CLAUSE = re.compile(r"[;:(—–,]| - |\b(?:because|since|as|but|so)\b|[，；：（]")
# Kinds that behave alike: a weight learnt from one kind serves the others.
_GROUPS = {
    kind: group
    for group, kinds in {
        "modal": "may might could",
        "adverb": "likely probably presumably maybe possible memory",
        "seeming": "seem appear looks suggest signs",
        "opinion": "think guess assume",
        "ignorance": "unsure lack silent unknown",
    }.items()
    for kind in kinds.split()
}
# Kinds that hold words of different force: the word itself is a feature too.
_MIXED = frozenset("likely appear lack verify unsure think assume guess silent signs memory".split())
# Kinds whose own `if` belongs to them: "not sure if", "check if".
_ASKING = frozenset("verify unsure lack silent".split())


def features(sentence: str, after: str = "") -> list[tuple[Cue, list[str]]]:
    """Return each word of doubt in a sentence with its features; `after` is the text that follows the sentence."""
    masked = mask(sentence)
    found = cues(masked)
    low = lowered(_IDENTIFIER.sub(lambda name: HIDDEN * len(name[0]), masked))
    shared = _features_of_sentence(sentence, low)  # by every word of doubt in it
    if _GOES_TO_LOOK.match(lowered(after[:200])):
        shared.append("then goes to look")
    announced = _ANNOUNCES.match(low)
    return [(cue, _features_near(low, cue, announced) + shared) for cue in found]


def _features_near(low: str, cue: Cue, announced: re.Match[str] | None) -> list[str]:
    """Return the features around one word of doubt; `announced` is the announcement that the sentence begins with."""
    kind, word = cue.kind, low[cue.start : cue.end]
    group = _GROUPS.get(kind, kind)
    left = low[max(0, cue.start - _NEAR_CHARACTERS) : cue.start]
    right = low[cue.end : cue.end + _NEAR_CHARACTERS]
    subject = _subject(left)
    still = _STILL.match(right)
    rest = right[still.end() :] if still else right
    follows = next((name for name, pattern in _FOLLOWS if pattern.match(rest)), "something else")
    names = [kind, f"of {subject}", f"then {follows}", f"{group} then {follows}"]
    if kind in _ASKING:
        names.append(f"{group} of {subject}")  # who does not know decides: the agent, or a program that it describes
    if kind in _MIXED and word.isascii():
        first, *_, last = [*word.split(), ""]  # a long phrase is named by its ends
        names.append(f"“{word}”" if len(word) < 14 else f"“{first} … {last or word.split()[-1]}”")
    for name, pattern in _BEFORE:
        if pattern.search(left):
            names += [f"after {name}", f"{group} after {name}"]
    if announced:
        where = "later in" if _NEW_CLAUSE.search(low, announced.end(), cue.start) else "in"
        names += [f"{where} announced work", f"{group} {where} announced work"]
    if kind != "memory" and _CONDITION.search(left) and not _INDIRECT_QUESTION.search(left):
        names += ["after a condition", f"{group} after a condition"]
    if kind not in _ASKING and _CONDITION_AFTER.match(right):
        names.append("before a condition")
    if _IS.search(left[-_WORD_LENGTH:]):
        names.append(f"{group} after is")
    if _WILL.search(left[-_WORD_LENGTH:]):
        names.append("after will")
    if still:
        names.append(f"{group} then still")
    if word_after := _WORD.match(right):
        names.append(f"{group} then “{word_after[1]}”")
    return names


def _subject(left: str) -> str:
    """Name the subject of the clause that contains the word of doubt."""
    start = 0
    for border in _CLAUSE.finditer(left):  # the last one begins the clause
        start = border.end()
    clause = left[start:]
    if not clause.strip(" *_-|#\"'("):
        return "nothing" if not left.strip(" *_-|#") else "a clause before"
    return next((name for name, pattern in _SUBJECT if pattern.search(clause)), "something")


def _features_of_sentence(sentence: str, low: str) -> list[str]:
    """Return the features of the whole sentence, sorted."""
    names = {f"in {shape(sentence)}"}
    found = set(words(low))
    for word in _FEATURES_OF_WORD.keys() & found:
        names.update([f"with {name}" for name in _FEATURES_OF_WORD[word]])
    for name, needed_words, pattern in _PHRASES:  # the words are the quick test
        if not found.isdisjoint(needed_words) and pattern.search(low):
            names.add(f"with {name}")
    names.update([f"with {name}" for name, pattern in _FORMS if pattern.search(low)])
    if not low.isascii():
        names.update(f"with {name}" for name, pattern in _CHINESE_AROUND if pattern.search(low))
    return sorted(names)
