"""The injected text: plain facts, each with the id by which it is cited and corrected, and its source.

It has no orders: imperative wording in injected text triggers the model's injection defences. Items are in the order of
their ids and nothing in the text depends on the time or on scores, so the same items are always the same text and
prompt caches stay valid. Stored text arrives as it was stored, inside a fence that it cannot close: the fence is longer
than any run of backticks in it, and only the id of an item begins a line. Invisible characters are removed, and tags
that clients and models use themselves are escaped (docs/decisions/hook.md). The hook loads this module on every prompt:
it imports next to nothing.
"""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.text.printable import estimated_tokens, whole_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowbound.kms.index.ranking import FoundItem

MOST_CHARACTERS = 9_500  # above 10,000 (UTF-16 units) Claude Code and Codex put the text into a file instead
MOST_OF_ONE = 1_200  # characters of one item; a longer item is cut and says so
_MOST_ID_CHARACTERS = 128  # as kms/validation.py allows: a cut id names no item

INTRO = "Entries of this project's knowledge store (knowbound) that match the prompt, each with its id:"
_UNVERIFIED = "UNVERIFIED entries are not confirmed."
_STALE = "STALE entries come from a source that has changed since."
_USE = "The ids are what the tools kms_flag, kms_update and kms_supersede take when an entry is wrong."

# Control characters, and invisible or reversing characters: zero-width, bidirectional, tag and private ones.
_INVISIBLE = lazy(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ue000-\uf8ff\U000e0000-\U0010ffff]"
)
# Tags that clients put around injected text, and that models use for turns and tools; no placeholders (`<sha>`).
_CONTROL_TAG = lazy(
    r"<(?=\||</?SYS>>|/?(?:antml:|system-reminder|system_prompt|system>|assistant>|human>|developer>|function_calls|invoke\b"
    r"|function_results|tool_(?:call|use|result)|additional_?context|[a-z-]{0,40}hook\b|user_instructions"
    r"|environment_context|INSTRUCTIONS>|command-(?:name|message|args)|local-command-|task-notification|admin_"
    r"|developer_message))",
    re.IGNORECASE,
)
_BACKTICKS = lazy("`+")
_PLAIN_PATH = lazy(r"(?:[A-Za-z_.-]{1,40}[0-9]{0,4}/){0,20}[A-Za-z_.-]{1,40}[0-9]{0,4}\.[a-z]{1,8}")
_MAY_NAME_SECRET = lazy(r"pass|secret|token|key|pwd|cred|auth", re.IGNORECASE)


class Bundle:
    """The text, and the items that fit into it."""

    def __init__(self, text: str, items: list[FoundItem]) -> None:
        self.text = text
        self.items = items
        self.tokens = estimated_tokens(text)


def compose(items: Sequence[FoundItem], *, budget: int) -> Bundle:
    """Compose the bundle of what fits into the budget of tokens, best first; without items an empty text.

    No item takes more than half of the budget. An item that does not fit is left out; a shorter item after it may fit.
    """
    kept: list[FoundItem] = []
    text = ""
    for item in items:
        with_item = _text([*kept, item], budget // 2)
        utf16_units = len(with_item.encode("utf-16-le")) // 2  # as clients count
        if estimated_tokens(with_item) <= budget and utf16_units <= MOST_CHARACTERS:
            kept.append(item)
            text = with_item
    return Bundle(text, kept)


def cleaned(text: str) -> str:
    """Return the text as it was stored, without invisible characters and without tags of clients and models."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text = _CONTROL_TAG.sub("&lt;", _INVISIBLE.sub("", text))
    return "\n".join([line.rstrip() for line in text.split("\n")]).strip()


def for_brackets(text: str, most: int = _MOST_ID_CHARACTERS) -> str:
    """Return a short text that cannot begin a line of its own or end its brackets."""
    return " ".join(cleaned(text).split()).replace("[", "(").replace("]", ")")[:most]


def fence_of(text: str) -> str:
    """Return a fence that the text cannot close: longer than any run of backticks in it."""
    return "`" * max(3, 1 + max(map(len, _BACKTICKS.findall(text)), default=0))


def _text(items: list[FoundItem], most_tokens: int) -> str:
    """Return the bundle of these items; `most_tokens` are those of one item."""
    shown = "\n".join([_line(item, most_tokens) for item in sorted(items, key=lambda item: item.id)])
    fence = fence_of(shown)
    lines = [INTRO, fence, shown, fence, _USE]
    lines += [_UNVERIFIED] if any(item.flag for item in items) else []
    lines += [_STALE] if any(item.stale for item in items) else []
    return "\n".join(lines)


def _line(item: FoundItem, most_tokens: int) -> str:
    """Return the item's line. Further lines are indented: no content can look like an item of its own."""
    marks = [mark for mark, is_set in (("UNVERIFIED", item.flag), ("STALE", item.stale)) if is_set]
    marks += [f"from {_source(item)}"]
    marks += [f"as of {for_brackets(item.timestamp[:10])}"] if item.timestamp else []
    marked = f" ({', '.join(marks)})"
    content = _cut(cleaned(item.content), most_tokens).replace("\n", "\n    ")
    return f"[{for_brackets(item.id)}]{marked} {content}"


def _source(item: FoundItem) -> str:
    """Return the file of the project that the item comes from, else its backend; no path outside the project."""
    file = item.anchor_file.replace("\\", "/")
    if not file:
        return for_brackets(item.backend)
    if file.startswith(("/", "~")) or file[1:2] == ":" or ".." in file.split("/"):
        return "a file outside the project"
    if _PLAIN_PATH.fullmatch(file) and not _MAY_NAME_SECRET.search(file):
        return for_brackets(file)
    from knowbound.text.redact import redact  # noqa: PLC0415  # costs 20 ms: only where a path may hold a secret

    return for_brackets(redact(file))


def _cut(text: str, most_tokens: int) -> str:
    """Cut the text to `most_tokens` tokens, and to the characters that an item may have."""
    most_characters = min(MOST_OF_ONE, len(text) * most_tokens // max(1, estimated_tokens(text)))
    if len(text) <= most_characters:
        return text
    return f"{whole_words(text, most_characters)} … (cut; the entry has {len(text)} characters)"
