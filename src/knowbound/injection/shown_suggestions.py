"""The suggested corrections that a session starts with (specification 2, section 5).

    .knowbound/suggestions.json    what may be shown, written after each rollup and answer

The file is sealed with the user's key: a checkout may bring a file of that name. A suggestion is shown while its item
is served, or held back, with the content that was contradicted; a correction from anywhere ends it. The text states
facts and has no orders; stored text is inside a fence that it cannot close, and nothing of it is an injected item. The
hook loads this module: it imports next to nothing.
"""

from __future__ import annotations

import json
import os

from knowbound.injection.bundle import fence_of, for_brackets
from knowbound.text.printable import estimated_tokens, whole_words
from knowbound.user_files import is_sealed, make_file, seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

FILE = "suggestions.json"
MOST_SHOWN = 3
MOST_TOKENS = 200
MOST_KEPT = 10  # in the file: some may be corrected before a session shows them
MOST_OF_A_TEXT = 400  # characters of a text in the file
INTRO = (
    "Suggested corrections of this project's knowledge store (knowbound): entries that an earlier turn contradicted. "
    "The MCP tools kms_accept_suggestion (id) and kms_supersede (id, content) confirm one, kms_dismiss (id) drops it; "
    "so do `knowbound quality corrections accept ID` and `dismiss ID`."
)
_ENTRY_CHARACTERS = (160, 90, 60, 40)  # of an entry and of its replacement: the first that fits is used
_IS_OPEN = (
    "SELECT 1 FROM item WHERE id = ? AND content_sha = ? "
    "AND (served = 1 OR (flag = 'HELD_BACK' AND screened = '')) LIMIT 1"
)


class ShownSuggestion:
    """A suggestion that a session may start with."""

    __slots__ = ("content", "date", "draft", "id", "needs_person", "session", "sha", "turn")

    def __init__(
        self,
        id: str,
        sha: str,
        content: str,
        draft: str,
        date: str,
        session: str,
        turn: str = "",
        needs_person: bool = False,
    ) -> None:
        self.id, self.sha = id, sha  # the item, and the hash of its content when it was contradicted
        self.content = content  # the beginning
        self.draft = draft  # the beginning of the drafted replacement, or ""
        self.date, self.session, self.turn = date, session, turn  # of the turn that contradicted it
        self.needs_person = needs_person  # its replacement is not confirmed: it is not shown


class StartText:
    """A text that a session starts with, and the items that it is about."""

    def __init__(self, text: str = "", ids: Sequence[str] = ()) -> None:
        self.text, self.ids = text, list(ids)
        self.tokens = estimated_tokens(text)


def keep(home: str, suggestions: Sequence[ShownSuggestion]) -> None:
    """Keep these suggestions for the next sessions; remove the file if there are none. Raises OSError."""
    path = os.path.join(home, FILE)
    if not suggestions:
        if os.path.exists(path):
            os.unlink(path)
        return
    rows = [[getattr(suggestion, name) for name in ShownSuggestion.__slots__] for suggestion in suggestions[:MOST_KEPT]]
    kept = json.dumps(rows)
    make_file(path, json.dumps({"suggestions": kept, "seal": seal(kept)}).encode())


def load(home: str) -> list[ShownSuggestion]:
    """Return the kept suggestions; none if the file is foreign or damaged."""
    try:
        with open(os.path.join(home, FILE), encoding="utf-8") as file:
            found = json.load(file)
        if is_sealed(found["suggestions"], found["seal"]):
            rows = json.loads(found["suggestions"])
            return [ShownSuggestion(**dict(zip(ShownSuggestion.__slots__, row, strict=True))) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return []


def suggestions_for_session(home: str, index: sqlite3.Connection) -> StartText:
    """Return the text for a session that starts; it is empty if no suggestion is open."""
    return composed([kept for kept in load(home) if index.execute(_IS_OPEN, (kept.id, kept.sha)).fetchone()])


def composed(waiting: Sequence[ShownSuggestion]) -> StartText:
    """Compose as many suggestions as may be shown, in as many words as fit."""
    for number in range(min(MOST_SHOWN, len(waiting)), 0, -1):
        for most_characters in _ENTRY_CHARACTERS:
            text = _text(waiting[:number], len(waiting) - number, most_characters)
            if estimated_tokens(text) <= MOST_TOKENS:
                return StartText(text, [suggestion.id for suggestion in waiting[:number]])
    return StartText()


def _text(shown: Sequence[ShownSuggestion], more: int, most_characters: int) -> str:
    lines = "\n".join([_line(suggestion, most_characters) for suggestion in shown])
    fence = fence_of(lines)
    unshown = f"\n{more} more: kms_suggestions." if more else ""
    return f"{INTRO}\n{fence}\n{lines}\n{fence}{unshown}"


def _line(suggestion: ShownSuggestion, most_characters: int) -> str:
    """Return the line of a suggestion: the entry, the turn that contradicted it, and the replacement."""
    ids = (("session", suggestion.session), ("turn", suggestion.turn))
    where = "".join(f", {name} {for_brackets(id_, 8)}" for name, id_ in ids if id_)
    when = f"contradicted {for_brackets(suggestion.date[:10])}{where}"
    missing = "a person decides on a replacement" if suggestion.needs_person else "no replacement drafted"
    new = f"suggested: {_cut(suggestion.draft, most_characters)}" if suggestion.draft else missing
    return f"[{for_brackets(suggestion.id)}] {_cut(suggestion.content, most_characters)} ({when}) {new}"


def _cut(text: str, most_characters: int) -> str:
    line = for_brackets(text, MOST_OF_A_TEXT)
    return line if len(line) <= most_characters else f"{whole_words(line, most_characters)}…"
