"""A miss that rules are silent about, answered by a model from names of the tree; every place is verified there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from knowbound.codebase.kept_index import DefinedName, KeptTree
from knowbound.core.paths import is_test
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import sendable
from knowbound.judge.prompts import RESCUE, load_prompt
from knowbound.lessons.rescue.misses.event import EventRoots, missed_lookups
from knowbound.lessons.rescue.misses.lookup import MissedLookup, name_words
from knowbound.lessons.rescue.names import TreeNames
from knowbound.lessons.rescue.words import MOST_PLACES, NOTHING, Rescue, SuggestedPlace, found, listed, quoted
from knowbound.text.embedding import embed, similarity

RULE = "model"
_PATHS, _SYMBOLS, _OF_FILE = 60, 60, 4  # names that are shown; definitions of one file
_BY_MEANING = 4_000  # paths that are compared by meaning, those with a common word first
_LONGEST = 400  # characters of a query
_WHY = 100


class ModelPlace(msgspec.Struct, frozen=True):
    """One place of the model's answer."""

    path: str
    line: int | None = None
    why: str = ""


class ModelPlaces(msgspec.Struct, frozen=True):
    """The model's answer."""

    places: list[ModelPlace]


def rescues_by_model(
    events: Sequence[Mapping[str, Any]], tree: KeptTree, asker: Asker, before: Sequence[str] = ()
) -> list[Rescue]:
    """Return what a model says about each event that missed something; nothing where it is not sure.

    `before` has what the agent did before each event, in words.
    """
    names = TreeNames(tree)
    roots = [EventRoots(str(event.get("cwd") or ""), tree.root, lambda path: path in names.folders) for event in events]
    misses = [missed_lookups(event, root) for event, root in zip(events, roots, strict=True)]
    asked = [at for at, found_ in enumerate(misses) if found_ and not any(one.is_check for one in found_)]
    shown = [
        {
            "miss": sendable("\n".join(map(_words, misses[at]))),
            "before": sendable(before[at] if before else ""),
            "tree": sendable("\n".join(_near(misses[at], names, tree))),
        }
        for at in asked
    ]
    answers = asker.ask(load_prompt(RESCUE), shown, ModelPlaces)
    said = [NOTHING] * len(events)
    for at, answer in zip(asked, answers, strict=True):
        if answer.value is not None:
            said[at] = _verified(answer.value.places, misses[at][0], tree)
    return said


def _verified(places: Sequence[ModelPlace], miss: MissedLookup, tree: KeptTree) -> Rescue:
    """Return the places that the tree has, with the lines that their files have."""
    kept = []
    for one in places[:MOST_PLACES]:
        path = one.path.strip().removeprefix("./").strip("/")
        text = tree.read(path) if tree.exists(path) else None
        if text is not None:
            line = one.line if one.line and 1 <= one.line <= text.count("\n") + 1 else None
            kept.append(SuggestedPlace(path, line, " ".join(one.why.split())[:_WHY]))
    if not kept:
        return NOTHING
    return found(f"{quoted(miss.query)} is not there; a model takes {listed(kept)} to be meant.", kept, RULE)


def _words(miss: MissedLookup) -> str:
    where = f" in {', '.join(miss.where)}" if miss.where else ""
    globs = f" (files {', '.join(miss.globs)})" if miss.globs else ""
    wrong = f" ({miss.wrong})" if miss.wrong else ""
    return f"{miss.tool or 'a search'}: {miss.kind} {miss.query[:_LONGEST]}{where}{globs}{wrong}"


def _near(misses: Sequence[MissedLookup], names: TreeNames, tree: KeptTree) -> list[str]:
    """Return names of the tree near to what was looked for: by common words first, then by meaning."""
    wanted = " ".join(" ".join((miss.query[:_LONGEST], *miss.where)) for miss in misses)
    words = {word for word in name_words(wanted) if len(word) > 2}
    common = {path: len(words & set(name_words(path))) for path in names.paths}
    ranked = sorted(names.paths, key=lambda path: (-common[path], is_test(path), path))[:_BY_MEANING]
    vector = embed(" ".join(sorted(words)))
    scores = {path: 0.15 * common[path] + similarity(embed(" ".join(name_words(path))), vector) for path in ranked}
    paths = sorted(ranked, key=lambda path: (-scores[path], path))[:_PATHS]
    with_words = tree.files_with([[word] for word in sorted(words, key=len, reverse=True)[:4]])
    paths = list(dict.fromkeys((*paths, *with_words[: _PATHS // 3])))
    symbols: dict[str, list[DefinedName]] = {}
    for one in sorted(tree.defined_in(paths), key=lambda one: -len(words & set(name_words(one.name)))):
        if len(symbols.setdefault(one.path, [])) < _OF_FILE:
            symbols[one.path].append(one)
    left = _SYMBOLS
    lines = []
    for path in paths:
        own = [one for one in symbols.get(path, ()) if words & set(name_words(one.name))][: max(0, left)]
        left -= len(own)
        defined = ", ".join(f"{one.name} (line {one.line})" for one in own)
        lines.append(f"{path}{': ' + defined if defined else ''}")
    return lines
