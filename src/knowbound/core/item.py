"""Knowledge items that can be injected into an agent's context (specification 2, "Items"), and when two say the same.

The folded form of a text is equal for texts that differ only in case, punctuation or spelling of characters.
Texts with the same folded form are one fact, and nobody is asked: a correction of one withdraws the other. So folding
removes only differences that cannot distinguish two facts: the case of plain words, quotes, emphasis, bullets, commas
and full stops around words, white space, and Unicode spellings of one character. It keeps signs and dots of numbers,
operators and other symbols, question marks, brackets that belong to a name, a comma after a negation, and the case of
paths, options, identifiers and words with a digit. If both readings are possible, the texts stay different.
`bench/same_content_pairs.jsonl` has pairs of both kinds.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from enum import StrEnum
from typing import Any

import msgspec


class ItemType(StrEnum):
    """Kind of content."""

    MEMORY = "memory"
    INSIGHT = "insight"
    PATTERN = "pattern"
    RELATIONSHIP = "relationship"
    FACT = "fact"
    PROCEDURE = "procedure"


class ItemSource(StrEnum):
    """Domain that an item comes from."""

    PERSONAL = "personal"
    TECHNICAL = "technical"
    CROSS_DOMAIN = "cross_domain"


class FlagKind(StrEnum):
    """Decision of a corrective tool about an item."""

    RETRACTED = "RETRACTED"
    SUPERSEDED = "SUPERSEDED"
    DELETED = "DELETED"
    UNVERIFIED = "UNVERIFIED"
    HELD_BACK = "HELD_BACK"  # disproved by the tree or by a turn: not injected until it is repaired


NOT_SERVED = frozenset({FlagKind.RETRACTED, FlagKind.SUPERSEDED, FlagKind.DELETED, FlagKind.HELD_BACK})


class Flag(msgspec.Struct, frozen=True, omit_defaults=True):
    """A flag with note, date and author; a superseded item names its successor."""

    kind: FlagKind
    note: str = ""
    date: str = ""  # ISO, UTC
    by: str = ""
    superseded_by: str = ""
    covers: Flag | None = None  # earlier flag, which comes back when this one is removed


class Relationship(msgspec.Struct, frozen=True):
    """An edge to another item."""

    kind: str  # relates_to, depends_on, derived_from, …
    target: str  # the other item's id


class Anchor(msgspec.Struct, frozen=True, omit_defaults=True):
    """Source of an item in a project. When the source changes, the item is stale (a mark, not a flag)."""

    file: str  # relative to the root
    heading: str = ""
    symbol: str = ""
    blob: str = ""  # git's id of the content of the file when the item was made
    part: str = ""  # fingerprint of the section or lines; the rest of the file may change


class Item(msgspec.Struct, frozen=True, omit_defaults=True):
    """One knowledge entry."""

    id: str
    content: str
    type: ItemType = ItemType.FACT
    source: ItemSource = ItemSource.TECHNICAL
    subject: str = ""
    user: str = ""
    timestamp: str = ""  # ISO, UTC: time of the last confirmation
    confidence: float = 1.0  # 0 to 1, as stored
    relationships: tuple[Relationship, ...] = ()
    flag: Flag | None = None
    anchor: Anchor | None = None
    stale: bool = False
    copy_of: str = ""  # id of the original, if this is a copy or a part (a backend may split an item)
    metadata: dict[str, Any] = {}  # the rollup writes metadata["quality"]["effective_confidence"]

    @property
    def is_served(self) -> bool:
        """Report whether the item may be injected. Unverified items are injected with a mark and rank lower."""
        return self.flag is None or self.flag.kind not in NOT_SERVED

    @property
    def is_held_back(self) -> bool:
        """Report whether the item is disproved and not injected until it is repaired."""
        return self.flag is not None and self.flag.kind is FlagKind.HELD_BACK

    @property
    def held_by(self) -> str:
        """Name of the party that holds the item back; "" if none does."""
        return self.flag.by if self.flag is not None and self.is_held_back else ""

    @property
    def content_sha(self) -> str:
        """Hash that duplicates share, in every backend."""
        return content_sha(self.content)


# Marks of scripts without a space after the mark, as the ASCII mark with a space.
_MARKS = str.maketrans(
    {
        "。": ". ", "．": ".", "｡": ". ", "，": ", ", "、": ", ", "､": ", ", "；": "; ", "：": ": ", "！": "! ",
        "？": "? ", "،": ", ", "؛": "; ", "؟": "? ", "۔": ". ", "।": ". ", "—": " — ", "―": " — ", "‐": "-", "‑": "-",
        "−": "-", "…": "...",
    }
)  # fmt: skip
# Invisible characters: soft hyphen, zero-width, direction and variation marks.
_INVISIBLE = re.compile("[\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufe00-\ufe0f\ufeff]")
_VALUE_CHANGING = ("<super>", "<sub>", "<fraction>", "<circle>")  # 10² is not 102
_IDEOGRAPH = "\u3005\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002fa1f"
_AT_IDEOGRAPH = re.compile(rf"(?<=[{_IDEOGRAPH}])(?=\w)|(?<=\w)(?=[{_IDEOGRAPH}])")
_EN_DASH = re.compile(r"–(?=\d)(?:(?<=\d–)|(?<=[\s(]–)|(?<=^–))")  # a range or a minus; any other en dash is a dash
_LINE_START = re.compile(
    r"^[ \t]*(?:[-*+•‣▪◦][ \t]+(?:\[ \][ \t]+)?|#{1,6}[ \t]+|>[ \t]+(?=[*_]*[^\W\d_]))+", re.MULTILINE
)
_EMPHASIS = re.compile(r"(?<![\w*/.\\])(\*{1,3})(?=\w)([^*\n]*?[\w.,;:!?)])\1(?![\w*/\\]|\.\w)")
_FENCES = ("```", "~~~")
_INNER_SPACE = re.compile(r"(?<=\()[ \t]+|[ \t]+(?=\))")
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.{1,400}?)(?<!`)\1(?!`)", re.DOTALL)
_QUOTED = re.compile(r"""(?<!\w)(["'])([^"\n]{0,300}?[^"\s])\1(?!\w)""")
_APOSTROPHE = re.compile(r"(?<=\w)[’ʼ](?=\w)")
_QUOTES = re.compile("[“”„‟«»‹›‘’‚‛「」『』]")
_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
_JOINTS = re.compile(r"['-]")
_DASHES = frozenset("-–—")
_MARKS_DROPPED_ALONE = frozenset(",;:!–—·") | {"..."}
_NEGATIONS = frozenset(
    "no not never none nein nicht kein keine nie non pas jamais nunca jamás não mai нет не нельзя никогда".split()
)
_CODE_START, _CODE_END = "\x02", "\x03"  # never in an item: validation.py refuses control characters


def content_sha(content: str) -> str:
    """Return the SHA-256 of the folded content. Duplicates share it in every backend."""
    return hashlib.sha256(folded(content).encode("utf-8", "replace")).hexdigest()


def is_version_of(noted: str, sha: str) -> bool:
    """Report whether a hash that a log noted is that of a content. Logs keep the first digits, or ""."""
    return bool(noted) and sha.startswith(noted)


def spaced_sha(content: str) -> str:
    """Return the SHA-256 that ignores only white space and character spelling: the content hash until 0.1.0."""
    return hashlib.sha256(
        " ".join(unicodedata.normalize("NFC", content).split()).encode("utf-8", "replace")
    ).hexdigest()


def content_hashes(content: str) -> tuple[str, str]:
    """Return both hashes. Removed content may be recorded under either."""
    return content_sha(content), spaced_sha(content)


def folded(content: str) -> str:
    """Return the tokens of the text without ignorable differences."""
    text = _without_line_starts(_one_spelling(content))
    text = _CODE.sub(rf"{_CODE_START}\2{_CODE_END}", text)
    text = _INNER_SPACE.sub("", _EMPHASIS.sub(r"\2", text))
    text = _QUOTED.sub(r"\2", text)
    text = _QUOTES.sub("", _APOSTROPHE.sub("'", text))
    raw_tokens = text.split()
    tokens: list[str] = []
    is_code = False  # the last token ended inside a span of code
    for index, token in enumerate(raw_tokens):
        starts, ends = token.count(_CODE_START), token.count(_CODE_END)
        bare = token.replace(_CODE_START, "").replace(_CODE_END, "")
        is_last = index + 1 == len(raw_tokens)
        following = "" if is_last else raw_tokens[index + 1].lstrip(_CODE_START + "(")
        tokens += _kept_parts(bare, tokens[-1] if tokens else "", following, is_code=is_code or starts > 0)
        is_code = is_code + starts > ends
    return " ".join(tokens) or content  # a text of nothing but ignorable signs is its own form


def _without_line_starts(text: str) -> str:
    """Remove bullets, heading marks and quote marks at line starts outside code blocks."""
    if "```" not in text and "~~~" not in text:
        return _LINE_START.sub("", text)
    lines, fence = [], ""
    for line in text.split("\n"):
        mark = line.lstrip()[:3]
        if mark in _FENCES:
            fence = "" if mark == fence else fence or mark  # inside ``` a ~~~ is text
        lines.append(line if fence else _LINE_START.sub("", line))
    return "\n".join(lines)


def _one_spelling(content: str) -> str:
    """Spell each character in one way, and separate ideographs from other words."""
    text = content.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    text = unicodedata.normalize("NFC", text).translate(_MARKS)
    text = unicodedata.normalize("NFC", "".join(map(_plain_character, _INVISIBLE.sub("", text))))
    text = _EN_DASH.sub("-", text).replace("–", " – ")  # 3–5 is a range, word–word are two words
    return _AT_IDEOGRAPH.sub(" ", text)


def _plain_character(character: str) -> str:
    """Return the plain form of a character, unless it would be another value: a superscript 2 stays."""
    if character.isascii():
        return character
    digit = unicodedata.decimal(character, None)
    if digit is not None:  # a digit of another script
        return str(digit)
    if unicodedata.decomposition(character).startswith(_VALUE_CHANGING):
        return character
    return unicodedata.normalize("NFKC", character)


def _kept_parts(token: str, before: str, following: str, *, is_code: bool) -> list[str]:
    """Return the kept parts of a token: nothing, the token, or the token and a significant mark."""
    core, mark = _without_marks(token)
    if not any(map(str.isalnum, core)):  # in code each sign counts
        return [token] if is_code and token else _mark_alone(token, before, following)
    if _is_plain_word(core) and not (is_code and core != core.lower()):  # in code, case distinguishes names
        core = core.lower()
    kept = [core]
    is_between_digits = mark == "," and core[-1].isdigit() and following[:1].isdigit()  # "1, 2" is not "1 2"
    if mark == "?":
        kept.append("?")
    elif mark and following and (core in _NEGATIONS or is_between_digits):  # "no, delete it"
        kept.append(",")
    return kept


def _without_marks(token: str) -> tuple[str, str]:
    """Remove parentheses and sentence marks around a token; return the token and the mark after it, if any."""
    core, mark = token, ""
    while core:
        last, rest = core[-1], core[:-1]
        if (last == ")" and core.count(")") > core.count("(")) or _is_possessive(core):
            core = rest
        elif last in ",;:" or _is_full_stop(core) or _is_exclamation(core):
            core, mark = rest, mark or last  # of several marks the last one is returned
        elif last == "?" and rest and not mark:
            core, mark = rest, "?"
        elif core[0] == "(" and (core.count("(") > core.count(")") or _is_wrapped(core)):
            core = core[1:-1] if _is_wrapped(core) else core[1:]
        elif core[0] in "¿¡":
            core = core[1:]
        else:
            break
    return core, mark


def _is_possessive(core: str) -> bool:
    """Report whether the token ends as in "the players'", where other spellings have a closing quote."""
    return core.endswith("s'") and core.count("'") % 2 == 1


def _is_full_stop(core: str) -> bool:
    """Report whether the last character is a full stop, and not part of a path such as `../..`."""
    rest = core.rstrip(".")
    return core[-1] == "." and bool(rest) and not rest.endswith(("/", "\\"))


def _is_exclamation(core: str) -> bool:
    """Report whether the last character is an exclamation mark; in `n!` it is an operator."""
    return core[-1] == "!" and sum(map(str.isalnum, core)) > 1 and not core.endswith(("(!", "/!"))


def _is_wrapped(core: str) -> bool:
    """Report whether the last character closes the first parenthesis."""
    return core[0] == "(" and core[-1] == ")" and core[1:-1].count("(") == core[1:-1].count(")")


def _mark_alone(token: str, before: str, following: str) -> list[str]:
    """Fold a token without letters and digits: an operator, a path such as `.`, or a sentence mark."""
    if not token:
        return []
    if token in _DASHES and (not following or (before[-1:].isdigit() and following[:1].isdigit())):
        return ["-"] if before else []  # an argument for standard input, or a minus
    if token in _DASHES or token in _MARKS_DROPPED_ALONE:
        return [","] if before in _NEGATIONS and following else []  # a pause: "no - delete it"
    return [token]


def _is_plain_word(core: str) -> bool:
    """Report whether a token has only letters, hyphens and apostrophes, and no mixed case as in a name."""
    if not _WORD.fullmatch(core):
        return False
    return all(part == part.lower() or part == part.upper() or part == part.title() for part in _JOINTS.split(core))
