"""The refusals of writes to a knowledge store, and stored items that say nearly the same as a text.

Each refusal is an error that says what to do. Content that was withdrawn is recognised when it is about to be stored
again. Retracted, superseded, deleted and reaped contents are known by their hash. Of superseded contents rewordings are
known too: the successor shows which value was wrong. Of reaped contents only the hash is left.

The likeness of two texts is the mean of two values: the cosine of their embeddings (meaning), and Dice (words). Neither
is enough alone: contradicting statements mean nearly the same, and two facts about one subject share its words. The
threshold was calibrated on pairs, see docs/decisions/items.md; `python -m bench.near_duplicates` measures it
again. A pair that differs in a number or a "not" is above it on purpose: a person must look at it. Near duplicates are
shown to the caller who adds an item, not refused.

A rewording of a superseded item is near to it or has all of its words among others, and has what the old item says and
its successor does not: the wrong value. So a text that only shares the subject, has the new value, negates the old
statement, speaks of the past, or has a number or a name that the old item lacks, is another statement. The rule was
made on one part of `bench/returning_facts.jsonl`; docs/decisions/items.md has the figures of the others.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache
from typing import NamedTuple

from knowbound.core.item import Flag, Item, content_sha, folded
from knowbound.errors import InputError
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.corrections import Chains, ItemCopies, end_of_chain
from knowbound.kms.index.codes import nearest_of
from knowbound.kms.index.database import Index, SupersededRow
from knowbound.kms.index.search import search
from knowbound.text.embedding import code_of, embed, plain_words, similarity
from knowbound.text.english import STOP_WORDS, stem
from knowbound.text.printable import short_line

NEAR = 0.70
_CANDIDATES = 50  # compared with a text
_SHOWN = 3  # near duplicates of a new item
_OFFERED = 10  # near copies of a superseded item
_NOT = "not "
_NEGATIONS = frozenset(
    "not no never without nor neither none avoid nicht kein keine nie ohne ne pas jamais sans nunca sin не нет никогда "
    "без 不 没 無 未".split()
)
_NEGATING_PAIRS = frozenset({("rather", "than"), ("instead", "of")})
_PAST = frozenset(
    "was were until formerly previously originally once früher bisher autrefois avant antes раньше".split()
)
_PAST_PHRASES = ("used to", "no longer", "any more", "anymore", "nicht mehr", "ne plus")
# Verbs and nouns that one statement is reworded with; any other word that takes the place of one is another subject.
_COMMON = frozenset(
    map(
        stem,
        "listen bind bound run live store keep hold define use make call name set put place find locate serve own "
        "have get require need like prefer see give go come take start begin end stop contain include write read "
        "load save send post push build create provide show say mean work handle manage reach reachable available "
        "configure enable apply return expire happen belong allow permit let accept grant emit output print produce "
        "generate fetch receive perform execute launch trigger wait last stay remain exist sit reside expose "
        "publish install point map refer mount equal amount offer support ensure must should please currently "
        "always port folder file directory path value version default new".split(),
    )
)


class NearDuplicate(NamedTuple):
    """A stored item that says nearly the same."""

    id: str
    content: str
    similarity: float


class NearCopy(NamedTuple):
    """A stored item that says nearly what another item said before it was superseded."""

    id: str
    content: str
    similarity: float
    restates: bool  # rules find the wrong value in it


def near_duplicates(index: sqlite3.Connection, content: str, *, most: int = _SHOWN) -> list[NearDuplicate]:
    """Return the served items most like this content, best first."""
    words = stems(content)
    found = [
        NearDuplicate(item.id, item.content, likeness(item.meaning, words, stems(item.content)))
        for item in search(index, content, limit=_CANDIDATES, as_a_whole=True).items
    ]
    near = [duplicate for duplicate in found if duplicate.similarity >= NEAR]
    return sorted(near, key=lambda duplicate: -duplicate.similarity)[:most]


def near_copies(index: sqlite3.Connection, old: str, new: str, left_out: Collection[str]) -> list[NearCopy]:
    """Return the served items more like the old content than like the new content that replaces it, best first."""
    found = near_duplicates(index, old, most=_OFFERED + len(left_out))
    return [
        NearCopy(*near, restates=restates(near.content, old, new))
        for near in [near for near in found if near.id not in left_out][:_OFFERED]
        if _statement_likeness(near.content, old) > _statement_likeness(near.content, new)
    ]


def likeness(cosine: float, words: frozenset[str], other: frozenset[str]) -> float:
    """Return the likeness of two texts by the cosine of their meaning and by their words, 0 to 1."""
    dice = 2 * len(words & other) / max(1, len(words) + len(other))
    return (max(0.0, cosine) + dice) / 2


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that are no stop words; ideographs count one by one."""
    words = {word.lower() for word in plain_words(text)}
    return frozenset(map(stem, words - STOP_WORDS or words))


def restates(text: str, old: str, new: str) -> bool:
    """Report whether the text says what `old` says and `new`, its successor, does not."""
    words, old_words, new_words = _statement(text), _statement(old), _statement(new)
    if _literals(words) - old_words:  # a number or a name that the old item lacks
        return False
    only_text, only_old = words - old_words, old_words - words
    if any(_NOT + word in words for word in only_old) or any(_NOT + word in old_words for word in only_text):
        return False
    # Another word in place of one that both versions share is another subject: "the web port" for "the API port".
    if only_text - new_words - _COMMON and (old_words & new_words) - words - _COMMON:
        return False
    old_likeness = _statement_likeness(text, old)
    if old_likeness < NEAR or (_is_past(text) and not _is_past(old)):
        return False
    wrong, right = old_words - new_words, new_words - old_words
    if not wrong:  # the successor only adds words: the text has to be without them
        return old_likeness > _statement_likeness(text, new)
    if _literals(wrong) - words:  # the wrong number or name is missing
        return False
    return len(words & wrong) / len(wrong) > (len(words & right) / len(right) if right else 0.0)


def _statement_likeness(text: str, other: str) -> float:
    return likeness(similarity(_vector(text), _vector(other)), _statement(text), _statement(other))


_vector = lru_cache(maxsize=4096)(embed)


@lru_cache(maxsize=4096)
def _statement(text: str) -> frozenset[str]:
    """Return stems and literals (numbers, names, paths) of a text; a negation goes with the word after it."""
    words: set[str] = set()
    is_negated = False
    previous = ""
    for token in folded(text).split():
        word = token.lower().removesuffix("'s")
        if word in _NEGATIONS or word.endswith("n't") or (previous, word) in _NEGATING_PAIRS:
            is_negated = True
        elif word not in STOP_WORDS and any(map(str.isalnum, word)):
            words.add((_NOT if is_negated else "") + (stem(word) if word.isalpha() else word))
            is_negated = False
        previous = word
    return frozenset(words)


def _literals(words: frozenset[str]) -> frozenset[str]:
    """Return the numbers, paths and names with other signs than letters."""
    return frozenset(word for word in words if not word.removeprefix(_NOT).replace("-", "").replace("'", "").isalpha())


def _is_past(text: str) -> bool:
    plain = folded(text)
    return not _PAST.isdisjoint(plain.split()) or any(phrase in plain for phrase in _PAST_PHRASES)


_INSIST = "If it is true again, insist: knowbound kms {verb} … --again (MCP: again=true)"
_CORRECT = "Correct it there; if it is true again: knowbound kms add … --again"
_LEAST_COSINE = 2 * NEAR - 1  # likeness is the mean of the cosine and a share of at most 1


class Refusals:
    """The checks before a write. Each raises InputError, or returns nothing."""

    def __init__(self, backends: Mapping[str, Backend], index: Index, chains: Chains) -> None:
        self._backends, self._index, self._chains = backends, index, chains

    def duplicates(self, content: str, but: Collection[str] = ()) -> None:
        """Refuse content that an item has which was not withdrawn."""
        twins = self._index.same_content(content_sha(content))
        served = next((twin for twin in twins if twin.item.is_served and twin.item.id not in but), None)
        if served:
            flag = f", {served.item.flag.kind}" if served.item.flag else ""
            stored_as = f"{served.item.id} ({served.backend}{flag}): {quoted(served.item.content)}"
            raise InputError("item-duplicate", f"Stored already as {stored_as}")

    def withdrawn(
        self, content: str, *, verb: str = "", but: Collection[str] = (), items: WithdrawnItems | None = None
    ) -> None:
        """Refuse content that was withdrawn, also in other words. `items` saves reading them for every content.

        The verb is the one that can insist; an import cannot.
        """
        found = (items or WithdrawnItems(self._index)).find(content, but)
        if found is not None:
            raise InputError("item-withdrawn", f"{found} {_INSIST.format(verb=verb) if verb else _CORRECT}")

    def unflagging(self, item: Item, by: str | None) -> Flag:
        """Return the flag to remove; refuse if there is none, or if somebody else than `by` set it.

        An agent releases nothing that a person holds back.
        """
        if item.flag is None:
            raise InputError("flag-refused", f"{item.id} has no flag to remove. Nothing was changed.")
        if by is not None and item.flag.by != by:  # None: a person, who may remove any
            words = f"{item.id} was flagged {item.flag.kind} by {item.flag.by or 'somebody else'}: a person decides."
            raise InputError("flag-refused", f"{words} Try: knowbound kms flag {item.id} --clear")
        return item.flag

    def not_served(self, item: Item) -> None:
        """Refuse an item with a flag that withdraws it."""
        if item.flag and not item.is_served:
            instead = self._chains.end(item.id)
            hint = (
                f"Its successor is {instead}." if instead != item.id else f"Try: knowbound kms flag {item.id} --clear"
            )
            raise InputError("flag-refused", f"{item.id} is {item.flag.kind}. {hint}")

    def circle(self, copies: ItemCopies, successor: str) -> None:
        """Refuse a successor that is, or leads to, the item that it would replace."""
        if {successor, self._chains.end(successor)} & copies.ids:
            raise InputError(
                "supersede-cycle", f"{successor} is, or leads to, {copies.original.id} itself. Try: another successor"
            )

    def unknown(self, id_: str) -> InputError:
        """Return the error for an unknown id. SQLite may read a damaged file as empty: then that is raised."""
        self._index.check()
        for backend in self._backends.values():
            backend.check()
        return InputError("item-unknown", f"No item {id_} in the backends in use. Try: knowbound kms search WORDS")


class Withdrawn(NamedTuple):
    """A withdrawn item that says what is about to be stored. Its text is for people."""

    id: str
    how: str  # superseded, retracted, deleted, reaped
    content: str  # empty where the item was reaped
    time: str
    by: str
    successor: str  # the id of the served item that replaced it, or an empty string
    successor_content: str
    is_same: bool  # the same content; else a rewording of it

    def __str__(self) -> str:
        if self.is_same:
            sentence = f"This was {self.how}"
        else:
            sentence = f"This says again what {self.id} said: {quoted(self.content)}. That was {self.how}"
        sentence += f" on {self.time[:10]}" if self.time else ""
        sentence += f" by {self.by}" if self.by else ""
        sentence += f" (as {self.id})" if self.is_same else ""
        if self.successor:
            sentence += f"; it was replaced by {self.successor}"
            sentence += f" {quoted(self.successor_content)}" if self.successor_content else ""
        return f"{sentence}."


class WithdrawnItems:
    """All withdrawn items of the index: read once, then asked for any number of new contents."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._contents: dict[str, str] = {}  # of successors

    def find(self, content: str, but: Collection[str] = ()) -> Withdrawn | None:
        """Return the withdrawn item that says this; ids in `but` do not count."""
        return self._same_content(content, but) or self._reaped(content) or self._reworded(content, but)

    def _same_content(self, content: str, but: Collection[str]) -> Withdrawn | None:
        """Return a withdrawn item with exactly this content; None if there is none."""
        twins = [indexed.item for indexed in self._index.same_content(content_sha(content))]
        gone = [item for item in twins if not item.is_served and item.id not in but]
        # A superseded item first: its message can name what is true instead.
        gone.sort(key=lambda item: bool(item.flag and item.flag.superseded_by), reverse=True)
        return self._withdrawn(gone[0], is_same=True) if gone else None

    def _reaped(self, content: str) -> Withdrawn | None:
        """Return the last removal of this content; the log of corrections says who removed it and what replaced it."""
        found = self._index.last_removal(content)
        if found is None:
            return None
        corrections = self._index.corrections(found.item)
        superseded = next((call for call in reversed(corrections) if call.tool == "kms_supersede"), None)
        replacement = str(json.loads(superseded.detail).get("superseded_by", "")) if superseded else ""
        in_force = self._successor_of(replacement)
        by = corrections[-1].by if corrections else ""
        return Withdrawn(found.item, "reaped", "", found.time, by, in_force, self._content_of(in_force), is_same=True)

    def _reworded(self, content: str, but: Collection[str]) -> Withdrawn | None:
        """Return the nearest superseded item that the content restates."""
        if not self._rows:
            return None
        vector = embed(content)
        codes = ((row_number, row.code) for row_number, row in enumerate(self._rows))
        for row_number in nearest_of(codes, code_of(vector), _CANDIDATES + len(but)):
            row = self._rows[row_number]
            if row.id in but or similarity(vector, row.vector) < _LEAST_COSINE:
                continue
            if restates(content, row.content, self._content_of(self._successor_of(row.id))):
                return self._withdrawn(self._index.known(row.id)[0].item, is_same=False)
        return None

    def _withdrawn(self, item: Item, *, is_same: bool) -> Withdrawn:
        flag = item.flag
        assert flag is not None  # only a flag withdraws an item
        in_force = self._successor_of(item.id) if flag.superseded_by else ""
        how, when = str(flag.kind).lower(), flag.date
        return Withdrawn(
            item.id, how, item.content, when, flag.by, in_force, self._content_of(in_force), is_same=is_same
        )

    def _successor_of(self, id_: str) -> str:
        """Return the end of the chain that begins at a superseded item; other ids are their own end."""
        return end_of_chain(id_, lambda replaced: self._successors.get(replaced, ""))

    def _content_of(self, id_: str) -> str:
        """Return the content of the item with this id, looked up once; empty where there is none."""
        if id_ not in self._contents:
            found = self._index.known(id_) if id_ else []
            self._contents[id_] = found[0].item.content if found else ""
        return self._contents[id_]

    @cached_property
    def _rows(self) -> list[SupersededRow]:
        return self._index.superseded_rows()

    @cached_property
    def _successors(self) -> dict[str, str]:
        return {row.id: row.superseded_by for row in self._rows}


def quoted(content: str) -> str:
    """Return the beginning of a content in quotes, for a message."""
    return f"“{short_line(content, 100)}”"
