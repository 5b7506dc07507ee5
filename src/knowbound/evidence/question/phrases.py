"""A question cut into noun phrases, names and descriptions.

There is no part-of-speech tagger here: stop words, lists of verbs and the position of a word decide.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowbound.core.paths import FILE_EXTENSIONS
from knowbound.text.questions.words import (
    GENERIC,
    LIGHT_VERBS,
    MEASURES,
    NOUN_TOO,
    PREDICATES,
    SAYING_WHICH,
    VACUOUS,
    is_participle,
    verb_base,
)
from knowbound.text.stop_words import (
    ADVERBS,
    AUXILIARIES,
    CONNECTIVES,
    DETERMINERS,
    DO_SUPPORT,
    PASSIVE,
    PREPOSITIONS,
    PRONOUNS,
    QUESTION_WORDS,
    STOP_WORDS,
)
from knowbound.text.terms import canonical

_ENDING = "|".join(sorted(FILE_EXTENSIONS, key=lambda one: (-len(one), one)))
_TOKEN = re.compile(
    r"""(?P<quote>"[^"\n]{1,300}"|“[^”\n]{1,300}”|`[^`\n]{1,300}`|(?<!\w)'[^'\n]{2,300}'(?!\w))"""
    r"|(?P<option>(?<![\w-])--?[A-Za-z][\w-]*)"
    r"|(?P<exact>\b[A-Z][A-Za-z0-9]*(?:-[A-Z][A-Za-z0-9]*)+\b)"
    rf"|(?P<file>(?<![\w/])(?:[\w.@+-]{{1,100}}/|\.{{1,2}}/|/)*[\w.@+-]{{0,100}}[\w@+-]\.(?:{_ENDING})(?![\w(])(?!\.\w)"
    r"|(?:[\w.@+-]{1,100}/)+[\w.@+-]+/?"
    r"|\b(?:Makefile|Dockerfile|Jenkinsfile|Rakefile|Gemfile|Procfile|CMakeLists\.txt|README|LICENSE|CHANGELOG)\b)"
    r"|(?P<name>[^\W\d][\w$]*(?:(?:\.|::|->|\#)[^\W\d][\w$]*)*(?:\(\))?|[_$][\w$]*|@[\w.]+)"
    r"|(?P<number>\d[\w.]*)"
    r"|(?P<mark>[.?!;:,()\[\]{}])"
)
_CODE_SHAPE = re.compile(r"[a-z0-9][A-Z]|_|\$|::|\.|->|#|\(\)$|^@|[A-Z]{2,}[a-z]+|[A-Za-z]\d")
HYPHEN = re.compile(r"(?<=[A-Za-z])-(?=[A-Za-z])")
_GENERIC_ONE = frozenset(canonical(word) for word in GENERIC)


@dataclass(slots=True)
class QuestionToken:
    """A word, or a name that stands for itself."""

    text: str
    kind: str  # word, name, file, option, quote

    @property
    def low(self) -> str:
        """The text, lower-cased."""
        return self.text.lower()

    @property
    def is_code(self) -> bool:
        """Whether it is taken as it is."""
        return self.kind != "word"

    @property
    def is_generic(self) -> bool:
        """Whether it says what sort of thing is meant, not which."""
        if self.is_code or self.text != self.low:
            return False
        return self.low in GENERIC or canonical(self.low) in _GENERIC_ONE

    @property
    def is_empty(self) -> bool:
        """Whether it could be said of anything."""
        return self.is_generic or (not self.is_code and self.low in VACUOUS | SAYING_WHICH | MEASURES)


@dataclass(slots=True)
class Chunk:
    """A noun phrase, a name, or a description, with the words around it that matter."""

    tokens: list[QuestionToken]
    segment: int = 0
    determiner: str = ""
    preposition: str = ""  # the one before it
    link: str = ""  # "of" or "for" where it follows another chunk with it
    after: str = ""  # the verb before it
    verb: str = ""  # a verb that is said of it and that is no everyday verb of code
    clause: bool = False

    @property
    def is_empty(self) -> bool:
        """Whether it names nothing."""
        return not self.clause and all(token.is_empty for token in self.tokens)


def segments_of(question: str) -> list[list[QuestionToken]]:
    """The question's tokens, cut where its punctuation cuts it."""
    segments: list[list[QuestionToken]] = [[]]
    for match in _TOKEN.finditer(question):
        kind, text = match.lastgroup or "", match.group()
        if kind == "mark":
            if segments[-1]:
                segments.append([])
            continue
        made = _tokens(kind, text)
        if made and made[0].kind == "word" and not segments[-1] and made[0].text.istitle():
            made[0].text = made[0].low  # a capital at the beginning of a sentence says nothing
        segments[-1].extend(made)
    return [segment for segment in segments if segment]


def _tokens(kind: str, text: str) -> list[QuestionToken]:
    if kind == "quote":
        inner = text[1:-1].strip()
        again = _TOKEN.fullmatch(inner)
        if again is not None and again.lastgroup in ("option", "file", "name"):
            return [QuestionToken(inner, str(again.lastgroup))]
        return [QuestionToken(inner, "quote")] if inner else []
    if kind == "exact":
        return [QuestionToken(text, "quote")]  # X-Frame-Options
    if kind == "file" and not _is_path(text):
        return [QuestionToken(part, "word") for part in text.split("/") if part]
    if kind == "name" and re.fullmatch(r"[A-Z]{2,}s", text):
        return [QuestionToken(text[:-1], "word")]  # URLs
    if kind == "name" and not (_CODE_SHAPE.search(text) and text.lower() not in STOP_WORDS):
        return [QuestionToken(text, "word")]
    return [QuestionToken(text, kind if kind in ("file", "option", "name") else "word")]


def _is_path(text: str) -> bool:
    """`lib/pool/`, `a/b/c`, `src/my_app` and whatever has an ending; not `TCP/IP`, `HTTP/2` or `read/write`."""
    return "." in text or "/" not in text or text.endswith("/") or text.count("/") > 1 or bool(re.search(r"[_-]", text))


def chunks_of(segment: list[QuestionToken], number: int) -> list[Chunk]:
    """The noun phrases, names and descriptions of one segment, left to right."""
    return _Cutter(segment, number).cut()


def content(tokens: list[QuestionToken]) -> list[str]:
    """The words that carry meaning."""
    return [
        part for token in tokens if token.is_code or token.low not in STOP_WORDS for part in HYPHEN.split(token.text)
    ]


class _Cutter:
    """Walks over one segment of a question and cuts it into chunks."""

    def __init__(self, segment: list[QuestionToken], number: int) -> None:
        self.segment, self.number = segment, number
        self.found: list[Chunk] = []
        self.run: list[QuestionToken] = []
        self.determiner = self.link = self.preposition = self.last_verb = ""
        self.seen_passive = self.seen_do = self.seen_verb = self.seen_question = False
        self.asked_which = False  # "which class …", before its verb
        self.main_verb: int | None = None  # the position of the verb of "does the X …"

    def cut(self) -> list[Chunk]:
        """All chunks."""
        for at, token in enumerate(self.segment):
            before = self.segment[at - 1] if at else None
            after = self.segment[at + 1] if at + 1 < len(self.segment) else None
            rest = self.segment[at + 1 :]
            if token.is_code:
                self.run.append(token)
            elif at and rest and self._opens_description(token, rest):
                return self._with_description(token, rest)
            elif self._belongs_to_phrase(token, before, after):
                self.run.append(token)
            elif token.low in PREDICATES and self.seen_passive and after is None and self.run:
                continue  # "is the X safe?"
            elif token.low in STOP_WORDS and not _is_getting(token, after):
                self._small_word(token, before, at)
            elif _is_getting(token, after) or self._is_verb(token, before, after, at):
                description = self._verb(token, self.segment[at:])
                if description:
                    return self.found + description
            else:
                self.run.append(token)
        self._flush()
        return self.found

    def _flush(self, verb: str = "") -> None:
        """End the phrase that is being read."""
        if self.run:
            self.found.append(
                Chunk(self.run, self.number, self.determiner, self.preposition, self.link, self.last_verb, verb)
            )
            self.run = []
            self.link = self.preposition = ""
        elif verb and self.found and not self.found[-1].verb:
            self.found[-1].verb = verb
        self.determiner = ""

    def _opens_description(self, token: QuestionToken, rest: list[QuestionToken]) -> bool:
        """ "… that redirects writes", "… for parsing cookies"."""
        first = rest[0]
        if token.low in ("that", "which", "who"):
            if first.is_code or first.low in STOP_WORDS:
                return False
            return bool(self.run) or verb_base(first.low) not in (None, first.low)
        if token.low in ("for", "by", "of"):
            doing = rest[1] if len(rest) > 1 and first.low.endswith("ly") else first
            is_doing = not doing.is_code and doing.low.endswith("ing") and verb_base(doing.low) is not None
            return is_doing and len(content(rest)) > 1 and not any(one.is_code for one in rest)
        return False

    def _with_description(self, token: QuestionToken, rest: list[QuestionToken]) -> list[Chunk]:
        """What was found so far and the description that follows; "the class that …" is only its description."""
        head = [one for one in self.run if not one.is_empty] if token.low in ("for", "by", "of") else []
        if head:
            self.run = []
        self._flush()
        if self.found and self.found[-1].is_empty:
            self.found.pop()
        return self.found + _described([*head, *rest], self.number)

    def _belongs_to_phrase(
        self, token: QuestionToken, before: QuestionToken | None, after: QuestionToken | None
    ) -> bool:
        """ "the per message limit", "an in memory cache", "the last error": a small word right after a determiner."""
        if before is None or after is None or after.is_code or after.low in STOP_WORDS:
            return False
        if token.low in ("first", "last", "next"):
            return before.low in DETERMINERS or bool(self.run)
        return token.low in PREPOSITIONS and before.low in DETERMINERS - {"all", "both"}

    def _small_word(self, token: QuestionToken, before: QuestionToken | None, at: int) -> None:
        low = token.low
        self._flush()
        if low in DETERMINERS:
            self.determiner = low
        elif low in PREPOSITIONS:
            self.preposition = low
        if low in ("of", "for") and self.found and before is not None and before.low not in STOP_WORDS:
            self.link = low
        elif low not in DETERMINERS:
            self.link = ""
        if low in QUESTION_WORDS:  # a new clause begins
            self.seen_verb = self.seen_do = self.seen_passive = False
        self.seen_verb = self.seen_verb or (self.seen_do and low in ("have", "has", "had"))
        self.seen_passive = self.seen_passive or low in PASSIVE
        if low in DO_SUPPORT and not self.seen_do:
            self.seen_do, self.main_verb = True, _main_verb(self.segment, at)
        self.seen_question = self.seen_question or low in QUESTION_WORDS
        self.asked_which = low in ("which", "what", "who")
        if low in AUXILIARIES and self.found:
            self.last_verb = ""

    def _verb(self, token: QuestionToken, from_here: list[QuestionToken]) -> list[Chunk]:
        """Note a verb; "which class wraps a socket" is a description from its verb on."""
        base = verb_base(token.low) or token.low
        everyday = base in LIGHT_VERBS
        if self.asked_which and all(one.is_empty for one in self.run):
            self.run = []
            if len(from_here) > 1 and not any(one.is_code for one in from_here):
                if not everyday:
                    return [Chunk(from_here, self.number, clause=True)]
                if _is_scattered(from_here[1:]):
                    return [Chunk(from_here[1:], self.number, clause=True)]
        self._flush(token.low if self.seen_passive and not everyday else "")
        self.seen_verb, self.asked_which, self.last_verb = True, False, base
        return []

    def _is_verb(
        self, token: QuestionToken, before: QuestionToken | None, after: QuestionToken | None, at: int
    ) -> bool:
        """Whether a word is a verb in its position."""
        low, before_low = token.low, before.low if before else ""
        base = verb_base(low)
        opens_phrase = after is not None and (after.low in DETERMINERS or after.is_code)
        ends = after is None or (not after.is_code and after.low in STOP_WORDS - DETERMINERS - PRONOUNS)
        ends = ends or (after is not None and after.low in CONNECTIVES | PREPOSITIONS | {"here", "there"})
        if is_participle(low) and (
            (self.run and self.seen_passive and ends) or (not self.run and before_low in PASSIVE)
        ):
            return True
        if base is None:  # unknown, but a noun phrase follows without a word between: "the file frobs its target"
            return opens_phrase and low.isalpha() and (bool(self.run) or before_low == "to")
        if at == 0:
            return low == base
        if before_low == "to" and low == base:
            return not (after is None and low in NOUN_TOO)
        if before_low in PRONOUNS - {"here", "there"}:
            return True
        if before_low in DETERMINERS or before_low in PREPOSITIONS:
            return low.endswith("ing") and opens_phrase
        if self.asked_which and before_low in QUESTION_WORDS:
            return low not in GENERIC or opens_phrase
        if self.asked_which and before is not None and before.is_generic:
            return after is not None
        if self.run:
            return self._is_verb_of_phrase(low, base, opens_phrase, ends, after, at)
        if before_low in DO_SUPPORT or before_low in ("how", "where", "why", "not", "also", "please", "just", "then"):
            return low == base
        return before_low in ("and", "or") and low == base and opens_phrase

    def _is_verb_of_phrase(
        self, low: str, base: str, opens_phrase: bool, ends: bool, after: QuestionToken | None, at: int
    ) -> bool:
        """Whether a word after a noun is its verb: "the file replaces its target", "does the store expire"."""
        if self.seen_do and self.main_verb is not None:
            return at == self.main_verb
        if opens_phrase:
            return True
        if not low.endswith("s") or low == base or self.seen_passive or self.seen_do:
            return False
        return (ends and self.seen_question and not self.seen_verb) or (base not in NOUN_TOO and after is not None)


def _is_getting(token: QuestionToken, after: QuestionToken | None) -> bool:
    """ "gets the number of cells"; but "gets created" is only another "is"."""
    return token.low in ("get", "gets") and after is not None and not is_participle(after.low)


def _main_verb(segment: list[QuestionToken], do_at: int) -> int | None:
    """Where the verb of "does the X … ?" stands; a noun phrase may hold words that are verbs elsewhere."""
    able = [
        at
        for at in range(do_at + 2, len(segment))
        if not segment[at].is_code
        and (segment[at].low in ("do", "have", "get") or verb_base(segment[at].low) == segment[at].low)
    ]
    first = segment[do_at + 1] if do_at + 1 < len(segment) else None
    asks = bool(do_at) and segment[do_at - 1].low in QUESTION_WORDS
    if asks and first is not None and first.low not in STOP_WORDS and verb_base(first.low) == first.low:
        return do_at + 1  # "what would break if …"
    if do_at + 2 in able and segment[do_at + 1].low in PRONOUNS:
        return do_at + 2

    def follows(at: int) -> QuestionToken | None:
        return segment[at + 1] if at + 1 < len(segment) else None

    for at in able:
        after = follows(at)
        if after is not None and (
            after.is_code or after.low in DETERMINERS or (segment[at].low == "get" and is_participle(after.low))
        ):
            return at
    for at in able:
        after = follows(at)
        if after is None or after.low in PREPOSITIONS | CONNECTIVES | ADVERBS:
            return at
    return next((at for at in able if segment[at].low not in NOUN_TOO), None)


def _described(tokens: list[QuestionToken], number: int) -> list[Chunk]:
    """A description ("redirects writes to a console"); where its verb is an everyday one, what it is done to."""
    everyday = (verb_base(tokens[0].low) or "") in LIGHT_VERBS and len(tokens) > 1
    if everyday and not _is_scattered(tokens[1:]):
        inner = chunks_of(tokens[1:], number)
        if any(not chunk.is_empty for chunk in inner):
            return inner
    return [Chunk(tokens[1:] if everyday and len(content(tokens)) > 2 else tokens, number, clause=True)]


def _is_scattered(tokens: list[QuestionToken]) -> bool:
    """ "messages in a cookie": several words that mean something together, but no phrase among them."""
    if any(token.is_code for token in tokens) or len(content(tokens)) < 2:
        return False
    return all(len(chunk.tokens) < 2 for chunk in chunks_of(tokens, 0))
