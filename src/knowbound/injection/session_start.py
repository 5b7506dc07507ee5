"""The texts that a session starts with: an index of the store, and suggested corrections (specification 2, section 5).

A prompt finds items by shared words or meaning. Items that it needs under other words are listed in the index, as
titles by subject, and the agent reads them through MCP: `kms_show` returns an item by its id, `unified_search` finds
more. The index lists only sure items, and they do not count as injected (core/bundle.py distinguishes them in a trace).

    Index of this project's knowledge store (knowbound). …      introduction
    # shop                                                      the project's subject, then none, then the others
    [k6nsnzvpw55d] Failed payment webhooks are retried three…   oldest first
    In all 83 entries; not listed: shop (20), Dunning.          counts at the end; Dunning has one

The same store makes the same text at any time, for any order of writes and any backend, and a new item changes the text
as late as possible: prompt caches keep the beginning of a text.

Corrections that may be shown are in `.knowbound/suggestions.json`, written after each rollup and answer. The file is
sealed with the user's key: a checkout may bring a file of that name. A suggestion is shown while its item is served, or
held back, with the content that was contradicted; a correction from anywhere ends it. The texts state facts and have no
orders; stored text is inside a fence that it cannot close. The hook loads this module: it imports next to nothing.
"""

from __future__ import annotations

import json
import os
import re

from knowbound.injection.bundle import cleaned, fence_of, for_brackets
from knowbound.injection.prompt import checksum_key, keys_of_context
from knowbound.store.own_index import open_own_index
from knowbound.store.read_only import HOOK_WAIT_SECONDS
from knowbound.text.printable import estimated_tokens, whole_words
from knowbound.user_files import is_sealed, make_file, seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence

    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.prompt import HookPrompt

MOST_TOKENS = 400
INTRO = (
    "Index of this project's knowledge store (knowbound). The MCP tool kms_show gives the entry of an [id]; "
    "unified_search finds entries by words and meaning."
)
NO_SUBJECT = "(no subject)"
_HEADING_SEPARATOR = " > "  # between the headings of a subject: the first is shown
_TITLE_TOKENS = (20, 15, 11)  # about twelve, nine, six words; the longest that fits is used
_SUBJECT_TOKENS = 12
_COUNT_TOKENS = 110  # that titles leave for the counts of subjects that are not listed
_MOST_LISTED = 60  # items, and subjects by name: more never fit
_BLOCK_TITLES = 5  # old items leave a long list in blocks, so that not every new item changes its beginning
_READ_CHARACTERS = 400  # of an item that its title is taken from

_IS_SURE = "served = 1 AND flag = '' AND stale = 0"  # the condition of the database's index item_listed
_BACKENDS = "SELECT count(*) FROM meta WHERE key LIKE 'stamp %'"
_COUNTS = f"SELECT subject, count({{}}) FROM item WHERE {_IS_SURE} GROUP BY subject"
_NEWEST = f"""
    SELECT timestamp, id, rowid FROM item WHERE subject = ? AND {_IS_SURE}
    ORDER BY timestamp DESC, id DESC LIMIT ?
"""
_MARKUP = re.compile(r"^(?:[#>*+-]+\s+|\d+[.)]\s+)+")
_SENTENCE = re.compile(r".{8,}?(?:[.!?](?=\s)|[。！？])")


class StartText:
    """A text that a session starts with, and the items that it is about."""

    def __init__(self, text: str = "", ids: Sequence[str] = ()) -> None:
        self.text, self.ids = text, list(ids)
        self.tokens = estimated_tokens(text)

    @property
    def key(self) -> str:
        """Return the key of the text, for the context that gets it."""
        return checksum_key("index", self.text)


class SessionStart:
    """The start of a session: the convention of marking, the index of the store, suggested corrections; no item."""

    outcome = "indexed"

    def __init__(self, marking: StartText, index: StartText, suggested: StartText) -> None:
        self.index, self.suggested = index, suggested
        self.items: tuple[()] = ()  # as other deliveries have them: a start injects none
        self._parts = [part for part in (marking, index, suggested) if part.text]
        self.text = "\n\n".join([part.text for part in self._parts])
        self.tokens = estimated_tokens(self.text)

    def fields(self) -> dict[str, object]:
        """Return the titles and the suggested corrections, which are no injected items, for the record."""
        fields: dict[str, object] = {}
        if text := self.index.text:
            fields["index"] = {"lines": text.count("\n") + 1, "tokens": self.index.tokens, "ids": self.index.ids}
        return fields | ({"corrections": self.suggested.ids} if self.suggested.ids else {})

    def keys(self) -> list[str]:
        """Return the keys of the texts, for the context that gets them."""
        return [part.key for part in self._parts]


def start_of_session(home: str, settings: HookSettings, prompt: HookPrompt) -> SessionStart:
    """Return the texts for a session that starts, without those that its context has."""
    marking = index = suggested = StartText()
    if settings.self_marking:
        from knowbound.core.bundle import SELF_MARKING  # noqa: PLC0415  # few sessions are asked

        marking = StartText(SELF_MARKING)
    db = open_own_index(home, wait_seconds=HOOK_WAIT_SECONDS, work_seconds=settings.time_limit_ms / 1000)
    if db is not None:
        db.execute("BEGIN")  # everything is read from one state of the index
        index = composed_index(_groups(db, settings.subject))
        suggested = suggestions_for_session(home, db)
        db.close()
    is_new = prompt.context_is_new or not prompt.context
    known_keys = set() if is_new else keys_of_context(home, prompt.context)
    texts = (StartText() if part.key in known_keys else part for part in (marking, index, suggested))
    return SessionStart(*texts)


# The index


class SubjectGroup:
    """Items of one subject: their number, and the newest of them, oldest first."""

    def __init__(self, subject: str, *, is_own: bool) -> None:
        self._subject, self._label = subject, ""
        self.is_own = is_own  # of the project's subject, or without a subject
        self.count = 0
        self.subjects: list[str] = []
        self.titles: list[tuple[str, str]] = []  # id and uncut title

    @property
    def label(self) -> str:
        """Return the subject as it is shown."""
        if not self._label:
            self._label = _cut(for_brackets(self._subject), _SUBJECT_TOKENS) or NO_SUBJECT
        return self._label

    def newest(self, number: int) -> list[tuple[str, str]]:
        """Return the newest titles."""
        return self.titles[len(self.titles) - number :]


def composed_index(groups: Sequence[SubjectGroup]) -> StartText:
    """Compose all titles, as long as fit; else as many short titles as fit beside the counts."""
    if not groups:
        return StartText()
    listed = [len(group.titles) for group in groups]
    if all(group.count == len(group.titles) for group in groups):  # every title was read
        for title_tokens in _TITLE_TOKENS:
            if estimated_tokens(text := _text(groups, listed, title_tokens)) <= MOST_TOKENS:
                return StartText(text, _listed_ids(groups, listed))
    listed = _fitting(groups, _TITLE_TOKENS[-1])
    return StartText(_text(groups, listed, _TITLE_TOKENS[-1]), _listed_ids(groups, listed))


def _fitting(groups: Sequence[SubjectGroup], most_tokens: int) -> list[int]:
    """Return the number of titles of each group: first the project's newest, then of the other groups in turn."""
    own = [nth for nth, group in enumerate(groups) if group.is_own for _ in group.titles]
    others = [(nth, group) for nth, group in enumerate(groups) if group.titles and not group.is_own]
    in_turn = [nth for round_ in range(_MOST_LISTED) for nth, group in others if len(group.titles) > round_]
    listed = [0] * len(groups)
    for nth in own + in_turn:
        listed[nth] += 1
        if not _has_room(groups, listed, most_tokens):
            listed[nth] -= 1
            if groups[nth].is_own and listed[nth] > 2 * _BLOCK_TITLES:  # whole blocks are left out
                listed[nth] -= (listed[nth] - groups[nth].count) % _BLOCK_TITLES
            break
    return listed


def _has_room(groups: Sequence[SubjectGroup], listed: Sequence[int], most_tokens: int) -> bool:
    """Report whether these titles leave enough room for the counts."""
    reserved = _COUNT_TOKENS
    if len(groups) <= _MOST_LISTED:
        reserved = min(_COUNT_TOKENS, estimated_tokens(_Counts(groups, listed).text(_MOST_LISTED)))
    return estimated_tokens(_fenced(_title_lines(groups, listed, most_tokens))) + reserved < MOST_TOKENS


def _text(groups: Sequence[SubjectGroup], listed: Sequence[int], most_tokens: int) -> str:
    """Return the titles, and the counts of as many unlisted subjects as there is room for."""
    titles, counts = _title_lines(groups, listed, most_tokens), _Counts(groups, listed)
    for named_count in range(min(_MOST_LISTED, len(groups)), -1, -1):
        text = _fenced([*titles, counts.text(named_count)])
        if estimated_tokens(text) <= MOST_TOKENS:
            break
    return text


def _fenced(lines: Sequence[str]) -> str:
    """Put stored text between fences that it cannot close."""
    shown = "\n".join(lines)
    fence = fence_of(shown)
    return f"{INTRO}\n{fence}\n{shown}\n{fence}"


def _title_lines(groups: Sequence[SubjectGroup], listed: Sequence[int], most_tokens: int) -> list[str]:
    """Return the line of each listed subject, and those of its newest titles below it."""
    lines = []
    for nth in [nth for nth, count in enumerate(listed) if count]:  # a few of thousands of subjects
        lines.append(f"# {groups[nth].label}")
        newest = groups[nth].newest(listed[nth])
        lines += [f"[{for_brackets(id_)}] {_cut(title, most_tokens)}" for id_, title in newest]
    return lines


class _Counts:
    """The number of all entries, and of those in subjects that are not listed."""

    def __init__(self, groups: Sequence[SubjectGroup], listed: Sequence[int]) -> None:
        self._total = f"In all {_entries(sum(group.count for group in groups))}"
        counted = [
            (number == 0, group.count - number, place, group)
            for place, (group, number) in enumerate(zip(groups, listed, strict=True))
            if group.count > number
        ]
        counted.sort(key=lambda row: (row[0], -row[1], row[2]))  # partly listed subjects first, then the largest
        self._not_listed = [(place, count, group) for _, count, place, group in counted]
        self._entries = sum(count for _, count, _ in self._not_listed)

    def text(self, named_count: int) -> str:
        """Name this many subjects, in the order of the index; count the others."""
        if not self._not_listed:
            return f"{self._total}."
        shown = sorted(self._not_listed[:named_count], key=lambda row: row[0])
        parts = [group.label if count == 1 else f"{group.label} ({count:,})" for _, count, group in shown]
        if others := len(self._not_listed) - len(shown):
            entries = _entries(self._entries - sum(count for _, count, _ in shown))
            more = "more subject" if parts else "subject"
            parts.append(f"{'and ' if parts else ''}{others:,} {more}{'s'[: others != 1]} with {entries}")
        return f"{self._total}; not listed: {', '.join(parts)}."


def _entries(count: int) -> str:
    return f"{count:,} {'entry' if count == 1 else 'entries'}"


def _listed_ids(groups: Sequence[SubjectGroup], listed: Sequence[int]) -> list[str]:
    return [id_ for group, number in zip(groups, listed, strict=True) for id_, _ in group.newest(number)]


# What is stored


def _groups(db: sqlite3.Connection, own: str) -> list[SubjectGroup]:
    """Read the groups: the project's subject, no subject, then other subjects by name; with titles where needed."""
    is_one_backend = db.execute(_BACKENDS).fetchone()[0] < 2  # else one id may be in several backends
    by_top: dict[str, SubjectGroup] = {}  # by the first heading of the subject
    for subject, count in db.execute(_COUNTS.format("*" if is_one_backend else "DISTINCT id")):
        top = subject.partition(_HEADING_SEPARATOR)[0].strip()
        if top not in by_top:
            by_top[top] = SubjectGroup(top, is_own=top in (own, ""))
        by_top[top].count += count
        by_top[top].subjects.append(subject)
    groups = [by_top[top] for top in sorted(by_top, key=lambda top: (top != own, top != "", top))]
    others = sum(not group.is_own for group in groups)
    is_small = sum(group.count for group in groups) <= _MOST_LISTED
    for group in groups:
        if group.is_own or is_small:
            _read_titles(db, group, _MOST_LISTED)
        elif others <= _MOST_LISTED // 2:  # else only names have room
            _read_titles(db, group, _MOST_LISTED // others)
    return groups


def _read_titles(db: sqlite3.Connection, group: SubjectGroup, most: int) -> None:
    """Read the newest items of a group, each content once, by age: a new item is the last."""
    newest: list[tuple[str, str, int]] = []
    for subject in group.subjects[:_MOST_LISTED]:
        newest += db.execute(_NEWEST, (subject, most))
    newest = sorted(newest, reverse=True)[:most]
    rows = ", ".join([str(rowid) for _, _, rowid in newest])
    read = db.execute(
        f"SELECT content_sha, timestamp, id, substr(content, 1, {_READ_CHARACTERS}) FROM item WHERE rowid IN ({rows})"
    )
    by_id = {row[2]: row for row in sorted(read, reverse=True)}  # one row per id, if several backends have it
    by_content = {row[0]: row for row in sorted(by_id.values(), reverse=True)}  # the oldest item of each content
    group.count -= len(by_id) - len(by_content)
    listed = sorted(by_content.values(), key=lambda row: row[1:])
    titles = [(id_, title(content, group.label)) for _, _, id_, content in listed]
    can_be_pulled = {id_ for id_, _ in titles if id_ == for_brackets(id_)}  # shown as it is
    group.titles = [(id_, text) for id_, text in titles if text and id_ in can_be_pulled]


def title(text: str, subject: str) -> str:
    """Return the heading or the first sentence of a text."""
    lines = (_MARKUP.sub("", line.strip()) for line in cleaned(text).split("\n"))
    first = next((line for line in lines if line.strip("-=*_#|` ")), "")
    first = first.removeprefix(f"{subject}: ") or first
    sentence = _SENTENCE.match(first)
    return for_brackets(sentence.group() if sentence else first, _READ_CHARACTERS).rstrip(".。:")


def _cut(text: str, most_tokens: int) -> str:
    """Cut the text to `most_tokens` tokens, at a word."""
    if estimated_tokens(text) <= most_tokens:
        return text
    kept = ""
    for word in text.split(" "):
        longer = f"{kept} {word}" if kept else word
        if estimated_tokens(longer) >= most_tokens:
            break
        kept = longer
    while not kept and estimated_tokens(text) >= most_tokens:  # a long word, or a text without spaces
        text = text[: len(text) - 1 - len(text) // 10]
    return f"{kept or text}…"


# Suggested corrections


SUGGESTIONS_FILE = "suggestions.json"
MOST_SHOWN = 3
MOST_SUGGESTION_TOKENS = 200
MOST_KEPT = 10  # in the file: some may be corrected before a session shows them
MOST_OF_A_TEXT = 400  # characters of a text in the file
SUGGESTIONS_INTRO = (
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


def keep_suggestions(home: str, suggestions: Sequence[ShownSuggestion]) -> None:
    """Keep these suggestions for the next sessions; remove the file if there are none. Raises OSError."""
    path = os.path.join(home, SUGGESTIONS_FILE)
    if not suggestions:
        if os.path.exists(path):
            os.unlink(path)
        return
    rows = [[getattr(suggestion, name) for name in ShownSuggestion.__slots__] for suggestion in suggestions[:MOST_KEPT]]
    kept = json.dumps(rows)
    make_file(path, json.dumps({"suggestions": kept, "seal": seal(kept)}).encode())


def load_suggestions(home: str) -> list[ShownSuggestion]:
    """Return the kept suggestions; none if the file is foreign or damaged."""
    try:
        with open(os.path.join(home, SUGGESTIONS_FILE), encoding="utf-8") as file:
            found = json.load(file)
        if is_sealed(found["suggestions"], found["seal"]):
            rows = json.loads(found["suggestions"])
            return [ShownSuggestion(**dict(zip(ShownSuggestion.__slots__, row, strict=True))) for row in rows]
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return []


def suggestions_for_session(home: str, index: sqlite3.Connection) -> StartText:
    """Return the text for a session that starts; it is empty if no suggestion is open."""
    return composed_suggestions(
        [kept for kept in load_suggestions(home) if index.execute(_IS_OPEN, (kept.id, kept.sha)).fetchone()]
    )


def composed_suggestions(waiting: Sequence[ShownSuggestion]) -> StartText:
    """Compose as many suggestions as may be shown, in as many words as fit."""
    for number in range(min(MOST_SHOWN, len(waiting)), 0, -1):
        for most_characters in _ENTRY_CHARACTERS:
            shown, hidden = waiting[:number], len(waiting) - number
            lines = "\n".join([_suggestion_line(suggestion, most_characters) for suggestion in shown])
            fence = fence_of(lines)
            more = f"\n{hidden} more: kms_suggestions." if hidden else ""
            text = f"{SUGGESTIONS_INTRO}\n{fence}\n{lines}\n{fence}{more}"
            if estimated_tokens(text) <= MOST_SUGGESTION_TOKENS:
                return StartText(text, [suggestion.id for suggestion in shown])
    return StartText()


def _suggestion_line(suggestion: ShownSuggestion, most_characters: int) -> str:
    """Return the line of a suggestion: the entry, the turn that contradicted it, and the replacement."""
    ids = (("session", suggestion.session), ("turn", suggestion.turn))
    where = "".join(f", {name} {for_brackets(id_, 8)}" for name, id_ in ids if id_)
    when = f"contradicted {for_brackets(suggestion.date[:10])}{where}"
    missing = "a person decides on a replacement" if suggestion.needs_person else "no replacement drafted"
    new = f"suggested: {_beginning(suggestion.draft, most_characters)}" if suggestion.draft else missing
    return f"[{for_brackets(suggestion.id)}] {_beginning(suggestion.content, most_characters)} ({when}) {new}"


def _beginning(text: str, most_characters: int) -> str:
    line = for_brackets(text, MOST_OF_A_TEXT)
    return line if len(line) <= most_characters else f"{whole_words(line, most_characters)}…"
