"""A miss that rules are silent about, answered by a model from names of the tree; every place is verified there.

Outside of a hook the index is made or brought up to date first (`indexed`).
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from knowbound.codebase.kept_index import DefinedName, KeptTree, TreeNames, open_tree
from knowbound.codebase.kept_index_update import open_index, update_index
from knowbound.core.paths import is_test
from knowbound.errors import InputError
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import sendable
from knowbound.judge.prompts import load_prompt
from knowbound.lessons.rescue.event import EventRoots, missed_lookups
from knowbound.lessons.rescue.words import (
    MOST_PLACES,
    NOTHING,
    PATTERN,
    MissedLookup,
    Rescue,
    SuggestedPlace,
    found,
    listed,
    quoted,
    texts_of,
    without_secrets,
)
from knowbound.store.data_dir import CODEBASE
from knowbound.text.code_names import name_words
from knowbound.text.embedding import embed, similarity
from knowbound.text.printable import shorten
from knowbound.traces.activity import ActivityRecord, RecordKind, activity_of
from knowbound.traces.registry import events_of
from knowbound.traces.source import Tally
from knowbound.traces.turns import session_of

SECONDS = 10.0  # for the searches of one event: nobody waits for it
_WORK_SECONDS = 10_000.0


@contextmanager
def indexed(root: Path, home: Path, *, keep: bool = False) -> Iterator[KeptTree]:
    """The tree as it is now: by the index in the data folder where there is one, else by one for the time being.

    With `keep` one is made in the data folder, where there is such a folder.
    """
    with tempfile.TemporaryDirectory(prefix="knowbound-") as made:
        folder = home if (home / CODEBASE).exists() or (keep and home.is_dir()) else Path(made)
        database = open_index(folder)
        try:
            update_index(database, root)
        finally:
            database.close()
        tree = open_tree(str(folder), str(root), work_seconds=_WORK_SECONDS, is_ours=True)
        if tree is None:
            raise InputError(
                "tree-too-large", f"{root} has more files than can be indexed, or listing them took too long."
            )
        try:
            yield tree
        finally:
            tree.close()


def as_event(pattern: str, path: str, glob: str, cwd: str) -> dict[str, Any]:
    """Return the event of Claude Code for a search, a glob or a path that found nothing."""
    nothing = {"mode": "files_with_matches", "filenames": [], "numFiles": 0}
    if pattern:
        given = {"pattern": pattern} | ({"path": path} if path else {}) | ({"glob": glob} if glob else {})
        return {"tool_name": "Grep", "tool_input": given, "tool_response": nothing, "cwd": cwd}
    if glob:
        given = {"pattern": glob} | ({"path": path} if path else {})
        return {"tool_name": "Glob", "tool_input": given, "tool_response": nothing, "cwd": cwd}
    return {"tool_name": "Read", "tool_input": {"file_path": path}, "error": "File does not exist.", "cwd": cwd}


RULE = "model"
_MOST_PATHS, _MOST_SYMBOLS, _SYMBOLS_OF_FILE = 60, 60, 4  # names that are shown; definitions of one file
_COMMON_WORD = 0.15  # of similarity, for each word that a path shares with what was looked for
_MOST_COMPARED = 4_000  # paths that are compared by meaning, those with a common word first
_QUERY_CHARACTERS = 400  # characters of a query
_WHY_CHARACTERS = 100
_RECORDS_BEFORE, _RECORD_CHARACTERS = 8, 220  # records before the call; characters of each
_MOST_WORDS, _FILES_OF_WORD, _LINES_OF_FILE = 5, 6, 2  # of a pattern; files and lines that are shown of each word
_WORD = re.compile(r"[A-Za-z_][\w-]{3,}")
_TRANSCRIPT_BYTES = 30_000_000  # bytes of a transcript


class ModelPlace(msgspec.Struct, frozen=True):
    """One place of the model's answer."""

    path: str
    line: int | None = None
    why: str = ""


class ModelPlaces(msgspec.Struct, frozen=True):
    """The model's answer."""

    places: list[ModelPlace]


def rescues_by_model(
    events: Sequence[Mapping[str, Any]], tree: KeptTree, asker: Asker, sees: Callable[[str], bool] = lambda _agent: True
) -> list[Rescue]:
    """Return what a model says about each event that missed something; nothing where it is not sure.

    `sees` says whether the model may be shown what an agent did before the miss.
    """
    names = TreeNames(tree)
    roots = [EventRoots(str(event.get("cwd") or ""), tree.root, lambda path: path in names.folders) for event in events]
    misses = [missed_lookups(event, root) for event, root in zip(events, roots, strict=True)]
    asked_numbers = [
        number for number, lookups in enumerate(misses) if lookups and not any(miss.is_check for miss in lookups)
    ]
    shown = [
        {
            "miss": sendable("\n".join(map(_miss_line, misses[number]))),
            "before": sendable(_before(events[number], sees)),
            "tree": sendable("\n".join(_names_near(misses[number], names, tree))),
        }
        for number in asked_numbers
    ]
    answers = asker.ask(load_prompt("rescue"), shown, ModelPlaces)
    rescues = [NOTHING] * len(events)
    for number, answer in zip(asked_numbers, answers, strict=True):
        if answer.value is None:
            rescues[number] = NOTHING._replace(problem=answer.problem)
        else:
            verified = _verified(answer.value.places, misses[number][0], names, tree)
            rescues[number] = without_secrets(verified, texts_of(events[number]))
    return rescues


def is_reached(event: Mapping[str, Any], rescue: Rescue) -> bool:
    """Report whether the agent has found the places itself by now, as far as its transcript shows."""
    path, call = event.get("transcript_path"), event.get("tool_use_id")
    if not rescue.suggestions or not isinstance(path, str) or not path:
        return False
    _records.cache_clear()  # the transcript has grown
    records = _records(path)[1]
    call_at = next((number for number, record in enumerate(records) if record.call_id == call), len(records))
    after = [record for record in records[call_at + 1 :] if record.ok and record.kind is not RecordKind.PROMPT]
    texts = [f"{record.path} {record.text} {record.output}" for record in after]
    return all(any(place.path in text for text in texts) for place in rescue.suggestions)


def _verified(places: Sequence[ModelPlace], miss: MissedLookup, names: TreeNames, tree: KeptTree) -> Rescue:
    """Return the files and folders that the tree has, with the lines that the files have."""
    kept = []
    for place in places[:MOST_PLACES]:
        path = place.path.strip().removeprefix("./").strip("/")
        if path and names.has(path):
            text = tree.read(path) if names.is_file(path) else None
            line = place.line if text and place.line and 1 <= place.line <= text.count("\n") + 1 else None
            kept.append(SuggestedPlace(path, line, " ".join(place.why.split())[:_WHY_CHARACTERS]))
    if not kept:
        return NOTHING
    return found(f"{quoted(miss.query)} is not there; a model takes {listed(kept)} to be meant.", kept, RULE)


def _before(event: Mapping[str, Any], sees: Callable[[str], bool]) -> str:
    """Return the last prompt, and what the agent did right before the call, by the transcript that the event names."""
    path, call = event.get("transcript_path"), event.get("tool_use_id")
    if not isinstance(path, str) or not path or not isinstance(call, str):
        return ""
    agent, records = _records(path)
    if not sees(agent):  # the model may not see this agent's session
        return ""
    call_at = next((number for number, record in enumerate(records) if record.call_id == call), len(records))
    of_agent = [
        record
        for record in records[:call_at]
        if call_at == len(records) or record.agent_id in ("", records[call_at].agent_id)  # not in the transcript yet
    ]
    prompt = next((record for record in reversed(of_agent) if record.kind is RecordKind.PROMPT), None)
    shown = [record for record in of_agent[-_RECORDS_BEFORE:] if record is not prompt]
    return "\n".join(_record_line(record) for record in ([prompt] if prompt else []) + shown)


@lru_cache(maxsize=4)
def _records(path: str) -> tuple[str, list[ActivityRecord]]:
    """Return the agent of a transcript and what it shows; nothing if it cannot be read, or is large."""
    try:
        if os.path.getsize(path) > _TRANSCRIPT_BYTES:
            return "", []
        session = session_of(Path(path))
        return session.reader, activity_of(events_of(session, Tally()), session.start).records
    except (OSError, InputError):
        return "", []


def _record_line(record: ActivityRecord) -> str:
    """Return a line about a record for the model: who, whether nothing came of it, and what."""
    what = {RecordKind.PROMPT: "user", RecordKind.SAID: "agent"}.get(record.kind, record.tool or record.kind.value)
    ended = "" if record.ok else " (nothing)"
    return f"{what}{ended}: {shorten(' '.join((record.path or record.text).split()), _RECORD_CHARACTERS)}"


def _miss_line(miss: MissedLookup) -> str:
    """Return a lookup in words for the model: tool, kind, query, where, which files, what is wrong with it."""
    where = f" in {', '.join(miss.where)}" if miss.where else ""
    globs = f" (files {', '.join(miss.globs)})" if miss.globs else ""
    wrong = f" ({miss.wrong})" if miss.wrong else ""
    return f"{miss.tool or 'a search'}: {miss.kind} {miss.query[:_QUERY_CHARACTERS]}{where}{globs}{wrong}"


def _names_near(misses: Sequence[MissedLookup], names: TreeNames, tree: KeptTree) -> list[str]:
    """Return names of the tree near to what was looked for: by common words first, then by meaning."""
    wanted = " ".join(" ".join((miss.query[:_QUERY_CHARACTERS], *miss.where)) for miss in misses)
    words = {word for word in name_words(wanted) if len(word) > 2}
    common = {path: len(words & set(name_words(path))) for path in names.paths}
    ranked = sorted(names.paths, key=lambda path: (-common[path], is_test(path), path))[:_MOST_COMPARED]
    vector = embed(" ".join(sorted(words)))
    scores = {
        path: _COMMON_WORD * common[path] + similarity(embed(" ".join(name_words(path))), vector) for path in ranked
    }
    paths = sorted(ranked, key=lambda path: (-scores[path], path))[:_MOST_PATHS]
    with_words = tree.files_with([[word] for word in sorted(words, key=lambda word: (-len(word), word))[:4]])
    paths = list(dict.fromkeys((*paths, *sorted(with_words)[: _MOST_PATHS // 3])))
    symbols: dict[str, list[DefinedName]] = {}
    for symbol in sorted(
        tree.defined_in(paths),
        key=lambda symbol: (-len(words & set(name_words(symbol.name))), symbol.path, symbol.line),
    ):
        if len(symbols.setdefault(symbol.path, [])) < _SYMBOLS_OF_FILE:
            symbols[symbol.path].append(symbol)
    symbols_left = _MOST_SYMBOLS
    lines = []
    for path in paths:
        own = [symbol for symbol in symbols.get(path, ()) if words & set(name_words(symbol.name))][
            : max(0, symbols_left)
        ]
        symbols_left -= len(own)
        defined = ", ".join(f"{symbol.name} (line {symbol.line})" for symbol in own)
        lines.append(f"{path}{': ' + defined if defined else ''}")
    return [*lines, *_lines_with(misses, tree)]


def _lines_with(misses: Sequence[MissedLookup], tree: KeptTree) -> list[str]:
    """Return some lines of the tree that have one word of a pattern, the words that fewest files have first."""
    words = {word for miss in misses if miss.kind == PATTERN for word in _WORD.findall(miss.query[:_QUERY_CHARACTERS])}
    by_word = {
        word: tree.files_with([[word.lower()]])
        for word in sorted(words, key=lambda word: (-len(word), word))[:_MOST_WORDS]
    }
    shown: dict[str, None] = {}
    for word, paths in sorted(by_word.items(), key=lambda one: (len(one[1]), one[0])):
        for path in sorted(paths, key=lambda path: (is_test(path), path))[:_FILES_OF_WORD]:
            found_lines = (
                f"{path}:{number}: {shorten(line.strip(), _RECORD_CHARACTERS)}"
                for number, line in enumerate((tree.read(path) or "").splitlines(), 1)
                if word.lower() in line.lower()
            )
            shown.update(dict.fromkeys(islice(found_lines, _LINES_OF_FILE)))
    return list(shown)[:_MOST_SYMBOLS]
