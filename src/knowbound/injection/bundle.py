"""What the agent is told: a small, stable text of plain facts, each with the id by which it is cited and corrected.

No orders: imperative wording in injected text triggers the model's injection defences. Entries stand in the order of
their ids and nothing in the text depends on the time or on scores, so the same entries are always the same text and
prompt caches hold. This module is loaded by the hook on every prompt: it imports next to nothing.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_CHARACTERS = 9_500  # above 10,000 (UTF-16 units) Claude Code and Codex put the text into a file instead
MOST_OF_ONE = 1_200  # characters of one entry; a longer one is cut and says so
_MOST_OF_AN_ID = 120

FOR_A_PROMPT = "Entries of this project's knowledge store (knowbound) that match the prompt, each with its id:"
FOR_A_SESSION = "Entries of this project's knowledge store (knowbound), each with its id:"
_CORRECTIONS = "Corrections of the knowledge store that wait for a decision:"
_UNVERIFIED = "UNVERIFIED entries are not confirmed."
_STALE = "STALE entries come from a source that has changed since."
_USE = "The ids are what the tools kms_flag, kms_update and kms_supersede take when an entry is wrong."

# Control characters, and what is invisible or turns text around: zero-width, bidirectional, tag and private characters.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ue000-\uf8ff\U000e0000-\U0010ffff]"
)
_TAG = re.compile(r"<(?=[A-Za-z/!?|])")
_BLANK_LINES = re.compile(r"[ \t]*\n\s*\n")


class Entry:
    """One item as it is told."""

    __slots__ = ("content", "date", "flag", "id", "stale")

    def __init__(self, id_: str, content: str, date: str = "", flag: str = "", *, stale: bool = False) -> None:
        self.id = id_
        self.content = content
        self.date = date  # ISO; the day is shown
        self.flag = flag  # "" or UNVERIFIED: nothing else is served
        self.stale = stale


class SuggestedCorrection:
    """A suggested correction: which entry, contradicted in which turn, by what, and how to decide it."""

    __slots__ = ("confirm", "content", "dismiss", "item", "replacement", "session", "statement", "turn")

    def __init__(
        self,
        item: str,
        content: str,
        *,
        session: str,
        turn: str,
        statement: str,
        replacement: str,
        confirm: str,
        dismiss: str,
    ) -> None:
        self.item = item
        self.content = content
        self.session = session
        self.turn = turn
        self.statement = statement  # what contradicted it
        self.replacement = replacement
        self.confirm = confirm  # the call that confirms it
        self.dismiss = dismiss  # the call that dismisses it


class Bundle:
    """The text, and which of the entries and corrections found room in it."""

    __slots__ = ("corrections", "entries", "text", "tokens")

    def __init__(self, text: str, entries: list[Entry], corrections: list[SuggestedCorrection]) -> None:
        self.text = text
        self.entries = entries
        self.corrections = corrections
        self.tokens = estimated_tokens(text)


def compose(entries: Sequence[Entry], corrections: Sequence[SuggestedCorrection], *, budget: int, intro: str) -> Bundle:
    """The bundle of what fits into the budget of tokens: corrections first, then entries, best first.

    Nothing to tell is an empty text. No entry takes more than half of the budget; one that does not fit is left out,
    and a shorter one after it may fit.
    """
    kept_entries: list[Entry] = []
    kept_corrections: list[SuggestedCorrection] = []
    text = ""
    for correction in corrections:
        longer = _text(kept_entries, [*kept_corrections, correction], intro, budget // 2)
        if _fits(longer, budget):
            kept_corrections.append(correction)
            text = longer
    for entry in entries:
        longer = _text([*kept_entries, entry], kept_corrections, intro, budget // 2)
        if _fits(longer, budget):
            kept_entries.append(entry)
            text = longer
    return Bundle(text, kept_entries, kept_corrections)


def estimated_tokens(text: str) -> int:
    """Tokens without a tokenizer, rather too many than too few.

    English prose has about 4 characters per token and code about 3.3; outside of ASCII a character is about one.
    """
    others = len(text) - len(text.encode("ascii", "ignore"))
    return -(-(len(text) - others) * 10 // 33) + others


def cleaned(text: str) -> str:
    """The text as data: nothing unseen, no tags, no runs of blank lines."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    text = _TAG.sub("&lt;", _UNSEEN.sub("", text))
    return _BLANK_LINES.sub("\n", text).strip()


def _text(entries: list[Entry], corrections: list[SuggestedCorrection], intro: str, most: int) -> str:
    lines = []
    if entries:
        lines += [intro, *(_entry(entry, most) for entry in sorted(entries, key=_by_id)), _USE]
        lines += [_UNVERIFIED] if any(entry.flag for entry in entries) else []
        lines += [_STALE] if any(entry.stale for entry in entries) else []
    if corrections:
        lines += [_CORRECTIONS, *(_correction(one) for one in sorted(corrections, key=lambda one: one.item))]
    return "\n".join(lines)


def _by_id(entry: Entry) -> str:
    return entry.id


def _entry(entry: Entry, most: int) -> str:
    marks = [mark for mark, holds in (("UNVERIFIED", entry.flag), ("STALE", entry.stale)) if holds]
    marks += [f"as of {one_line(entry.date[:10])}"] if entry.date else []
    said = f" ({', '.join(marks)})" if marks else ""
    return f"[{one_line(entry.id)}]{said} {_indented(_cut(cleaned(entry.content), most))}"


def _correction(one: SuggestedCorrection) -> str:
    return (
        f"[{one_line(one.item)}] {_quoted(one.content)} was contradicted in turn {one_line(one.turn)} of session "
        f"{one_line(one.session)}: {_quoted(one.statement)}\n"
        f"  Suggested replacement: {_quoted(one.replacement)}\n"
        f"  To confirm it: {_indented(cleaned(one.confirm))}\n"
        f"  To dismiss it: {_indented(cleaned(one.dismiss))}"
    )


def one_line(text: str) -> str:
    """A short text that cannot begin a line of its own or end its brackets."""
    return " ".join(cleaned(text).split()).replace("[", "(").replace("]", ")")[:_MOST_OF_AN_ID]


def _quoted(text: str) -> str:
    return f"“{_indented(_cut(cleaned(text)))}”"


def _indented(text: str) -> str:
    """Later lines are indented: no content can look like an entry of its own."""
    return text.replace("\n", "\n    ")


def _cut(text: str, most: int = MOST_OF_ONE) -> str:
    """At most so many tokens, and not more characters than an entry may have."""
    room = min(MOST_OF_ONE, len(text) * most // max(1, estimated_tokens(text)))
    if len(text) <= room:
        return text
    return f"{text[:room].rpartition(' ')[0] or text[:room]} … (cut; the entry has {len(text)} characters)"


def _fits(text: str, budget: int) -> bool:
    utf16_units = len(text.encode("utf-16-le")) // 2
    return estimated_tokens(text) <= budget and utf16_units <= MOST_CHARACTERS
