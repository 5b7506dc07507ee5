"""Junk of a memory store: copies, entries that the tree contradicts, hypotheses that were disproved, what is off topic.

Rules find copies in the same words, and what the tree contradicts. Whether an entry only repeats another in other
words, was disproved by a later one, or is of no use to anybody is asked of a model, which sees each entry beside those
nearest to it. An answer counts only if the entry that it names was shown.

Stores are Claude Code's memory, claude-mem, an export of Mem0 and JSON lines: read only, within bounds, as data.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from knowbound.codebase.checkout import Checkout
from knowbound.core.item import folded
from knowbound.core.statement import JunkEntry, JunkKind, Truth
from knowbound.errors import InputError
from knowbound.files import read_text
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import sendable
from knowbound.judge.prompts import load_prompt
from knowbound.kms.pieces import memory_folder
from knowbound.knowledge.asking import decided_by_model
from knowbound.knowledge.checking import Checker
from knowbound.knowledge.statements import statements_of
from knowbound.text.embedding import embed, similarity
from knowbound.text.printable import estimated_tokens
from knowbound.text.redact import excerpt

_PER_QUESTION = 12  # entries in one question
_NEIGHBOURS = 4  # entries that are shown beside each
_SHOWN_CHARACTERS = 600  # characters of an entry


class JunkAnswer(msgspec.Struct, frozen=True):
    """Answer about one entry."""

    number: int
    kind: str  # keep, or a kind of junk
    of: int = 0
    reason: str = ""


class JunkAnswers(msgspec.Struct, frozen=True):
    """Answer about the entries of a question."""

    entries: list[JunkAnswer]


def junk_of(entries: Sequence[StoreEntry], checkout: Checkout, asker: Asker | None = None) -> list[JunkEntry]:
    """Return the junk of a store, in the order of its entries."""
    found = {junk.id: junk for junk in (*_contradicted(entries, checkout, None), *_duplicates(entries))}
    if asker is not None:
        # What rules found is not asked about: the questions are the same, whatever the model says about statements.
        undecided = [entry for entry in entries if entry.id not in found]
        asked = (*_judged(undecided, entries, asker), *_contradicted(undecided, checkout, asker))
        found = {junk.id: junk for junk in asked} | found
    return [found[entry.id] for entry in entries if entry.id in found]


def _junk_entry(entry: StoreEntry, kind: JunkKind, why: str, of: str = "", by: str = "rules") -> JunkEntry:
    return JunkEntry(entry.id, kind, entry.content, why, of, estimated_tokens(entry.content), by)


def _duplicates(entries: Sequence[StoreEntry]) -> list[JunkEntry]:
    """Return later entries that repeat the words of an earlier entry, in any order and punctuation."""
    first_with_words: dict[tuple[str, ...], StoreEntry] = {}
    found = []
    for entry in sorted(entries, key=lambda entry: entry.created):
        words = tuple(sorted(word.strip(".,;:!?()'\"`*_-") for word in folded(entry.content).split()))
        earlier = first_with_words.setdefault(tuple(filter(None, words)), entry)
        if earlier is not entry:
            found.append(_junk_entry(entry, JunkKind.DUPLICATE, "the same words as an earlier entry", earlier.id))
    return found


def _contradicted(entries: Sequence[StoreEntry], checkout: Checkout, asker: Asker | None) -> list[JunkEntry]:
    """Return the entries with a statement that the tree contradicts, by rules or by a model where there is one."""
    statements = [(entry, said) for entry in entries for said in statements_of(f"item:{entry.id}", entry.content)]
    checked = Checker(checkout).check_all([statement for _, statement in statements])
    if asker is not None:
        checked = decided_by_model(checked, checkout, asker)
    return [
        _junk_entry(entry, JunkKind.CONTRADICTED, statement.why, by=statement.by)
        for (entry, _), statement in zip(statements, checked, strict=True)
        if statement.truth is Truth.CONTRADICTED
    ]


def _judged(undecided: Sequence[StoreEntry], entries: Sequence[StoreEntry], asker: Asker) -> list[JunkEntry]:
    """Return what a model calls junk among the entries that are left."""
    vectors = {entry.id: embed(entry.content) for entry in entries}
    batches = [undecided[start : start + _PER_QUESTION] for start in range(0, len(undecided), _PER_QUESTION)]
    by_id = {entry.id: entry for entry in entries}
    asked, shown = [], []  # of each question its texts, and its entries in the order of their numbers
    for batch in batches:
        near = dict.fromkeys(other.id for entry in batch for other in _nearest(entry, entries, vectors))
        others = [by_id[id_] for id_ in near if by_id[id_] not in batch]
        shown.append([*batch, *others])
        asked.append({"entries": _lines(batch, 1), "others": _lines(others, len(batch) + 1)})
    checks = [_answer_check(len(batch), known) for batch, known in zip(batches, shown, strict=True)]
    answers = asker.ask(load_prompt("junk"), asked, JunkAnswers, checks=checks)
    return [
        _junk_entry(
            known[answered.number - 1],
            JunkKind(answered.kind),
            answered.reason,
            known[answered.of - 1].id if answered.of else "",
            asker.judge,
        )
        for known, answer in zip(shown, answers, strict=True)
        for answered in (answer.value.entries if answer.value is not None else ())
        if answered.kind != "keep"
    ]


def _nearest(entry: StoreEntry, entries: Sequence[StoreEntry], vectors: dict[str, bytes]) -> list[StoreEntry]:
    others = (other for other in entries if other.id != entry.id)
    return sorted(others, key=lambda other: (-similarity(vectors[entry.id], vectors[other.id]), other.id))[:_NEIGHBOURS]


def _lines(entries: Sequence[StoreEntry], first: int) -> str:
    """Return entries as lines of JSON, numbered from `first` on."""
    rows = (
        {"number": number, "created": entry.created, "text": excerpt(sendable(entry.content), _SHOWN_CHARACTERS)}
        for number, entry in enumerate(entries, first)
    )
    return "\n".join(msgspec.json.encode(row).decode("utf-8") for row in rows)


def _answer_check(count: int, known: Sequence[StoreEntry]) -> Callable[[JunkAnswers], str]:
    """Return the check of an answer: every entry once, kinds that exist, and others that were shown."""

    def problem(answer: JunkAnswers) -> str:
        """Return what is wrong with an answer; "" if nothing is."""
        if {entry.number for entry in answer.entries} != set(range(1, count + 1)):
            return "not every entry has one answer"
        for answered in answer.entries:
            if answered.kind != "keep" and answered.kind not in set(JunkKind):
                return f"{answered.kind!r} is no kind"
            needs = answered.kind in (JunkKind.DUPLICATE, JunkKind.NEAR_COPY, JunkKind.DISPROVED)
            if needs and not (1 <= answered.of <= len(known) and answered.of != answered.number):
                return f"entry {answered.number} names no other entry that was shown"
            own, other = known[answered.number - 1], known[answered.of - 1]
            if answered.kind == JunkKind.DISPROVED and other.created < own.created:
                return f"entry {answered.number} is disproved by an earlier one"
        return ""

    return problem


CLAUDE_CODE, CLAUDE_MEM = "claude-code", "claude-mem"
_MOST_ENTRIES, _MOST_BYTES = 20_000, 64_000_000
_LARGEST_FILE, _MOST_FILES = 1_000_000, 1_000  # bytes of a note, notes of a folder
_SQLITE = b"SQLite format 3"  # begins every database
_PARAGRAPH = re.compile(r"\n(?=\s{0,3}[-*+] )|\n\s*\n")
_TEXTS = ("content", "memory", "text", "data")


class StoreEntry(msgspec.Struct, frozen=True):
    """One entry of a memory store."""

    id: str
    content: str
    created: str = ""  # as the store has it; ISO times compare


def read_store(name: str, root: Path) -> list[StoreEntry]:
    """Return the entries of `claude-code`, of `claude-mem`, or of a file or folder. Raises InputError."""
    if name == CLAUDE_CODE:
        return _bounded(_notes(memory_folder(root, os.environ)))
    path = Path.home() / ".claude-mem" / "claude-mem.db" if name == CLAUDE_MEM else Path(name)
    if not path.exists():
        raise InputError(
            "no-such-path", f"There is no store {path}. Try: claude-code, claude-mem, or the path of a file."
        )
    if path.is_dir():
        return _bounded(_notes(path))
    with path.open("rb") as file:
        head = file.read(len(_SQLITE))
    try:
        return _bounded(_observations(path, root) if head == _SQLITE else _exported(path))
    except (sqlite3.Error, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError("no-such-path", f"{path} is no store that can be read: {error}.") from error


def _bounded(entries: Iterator[StoreEntry]) -> list[StoreEntry]:
    """Return the first entries with a text. Raises InputError if there are none."""
    found = [entry for entry in entries if entry.content.strip()]
    if not found:
        raise InputError("no-such-path", "The store has no entries.")
    return found[:_MOST_ENTRIES]


def _notes(folder: Path) -> Iterator[StoreEntry]:
    """Yield the paragraphs and bullets of Markdown notes; an id is the file and the line."""
    for path in sorted(folder.glob("**/*.md"))[:_MOST_FILES]:
        text = read_text(folder, path.relative_to(folder).as_posix(), _LARGEST_FILE) or ""
        at = 0
        for part in _PARAGRAPH.split(text):
            start = text.find(part, at)
            at = start + len(part)
            plain = part.strip()
            if plain and not (plain.startswith("#") and "\n" not in plain) and plain != "---":  # no lone heading
                line = text.count("\n", 0, start + len(part) - len(part.lstrip())) + 1
                yield StoreEntry(f"{path.relative_to(folder).as_posix()}:{line}", plain)


def _observations(path: Path, root: Path) -> Iterator[StoreEntry]:
    """Yield the observations of claude-mem about the project, or about every project if it knows none of that name."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(observations)")}
        wanted = [name for name in ("title", "subtitle", "narrative", "text", "facts") if name in columns]
        if "id" not in columns or not wanted:
            raise InputError("no-such-path", f"{path} has no table of observations that is known.")
        created = "created_at" if "created_at" in columns else "''"  # versions of claude-mem have other columns
        query = f"SELECT id, {created}, {', '.join(wanted)} FROM observations"
        own = " WHERE project = ?" if "project" in columns else ""
        rows = db.execute(f"{query}{own} ORDER BY id LIMIT {_MOST_ENTRIES}", (root.name,) if own else ()).fetchall()
        rows = rows or db.execute(f"{query} ORDER BY id LIMIT {_MOST_ENTRIES}").fetchall()
    for id_, made, *texts in rows:
        yield StoreEntry(str(id_), "\n".join(_text(text) for text in texts if text), str(made or ""))


def _text(value: object) -> str:
    """Return a text; a list in JSON line by line."""
    text = str(value)
    if text.startswith("["):
        try:
            return "\n".join(map(str, msgspec.json.decode(text, type=list[Any])))
        except msgspec.DecodeError:
            return text
    return text


def _exported(path: Path) -> Iterator[StoreEntry]:
    """Yield the entries of a JSON file (a list, or `results` or `memories` of an object) or of JSON lines."""
    with path.open("rb") as file:
        raw = file.read(_MOST_BYTES)
    try:
        whole = msgspec.json.decode(raw)
        rows = (
            whole
            if isinstance(whole, list)
            else next((whole[key] for key in ("results", "memories") if key in whole), [])
        )
    except msgspec.DecodeError:
        rows = [msgspec.json.decode(line) for line in raw.splitlines() if line.strip()]
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            text = next((str(row[key]) for key in _TEXTS if row.get(key)), "")
            yield StoreEntry(
                str(row.get("id", number)), text, str(row.get("created_at") or row.get("updated_at") or "")
            )
