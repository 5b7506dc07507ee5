"""How well search finds: on LoCoMo, beside Mem0's search, and what the floor of relevance lets through.

    python -m bench.retrieval [--mem0 N]       about 2 minutes; the time per search is in bench/retrieval_speed.py

LoCoMo: each turn of a conversation is an item, a question's evidence is what has to be found. Weights were chosen on
the first half (every other conversation), the second half was only measured. Injection turns: prompts with items that
were injected for them, labelled on topic or not; the floor was chosen on one half of the turns.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import random
import re
import sqlite3
import statistics
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.labels import SHARED
from bench.retrieval_speed import made_index
from knowbound.kms.search.lexical import query_words, shared_words
from knowbound.kms.search.ranking import RELEVANCE_FLOOR, FoundItem
from knowbound.kms.search.retrieval import search
from knowbound.text.embedding import embed, similarity

_MOST_ITEMS = 3  # that the hook injects by default


class Conversation(NamedTuple):
    """Turns by their id, and questions with the turns that answer them."""

    items: list[tuple[str, str]]
    questions: list[tuple[str, frozenset[str]]]


Finder = Callable[[str], list[str]]  # the ids for a question, best first


def conversations(*, aside: bool) -> list[Conversation]:
    """One half of LoCoMo."""
    files = sorted((SHARED / "locomo").glob("*.json"))
    return [_conversation(json.loads(path.read_text("utf-8"))) for path in files[int(aside) :: 2]]


def _conversation(data: dict[str, Any]) -> Conversation:
    turns = [turn for key in data if re.fullmatch(r"session_\d+", key) for turn in data[key]]
    items = [(turn["dia_id"], f"{turn['speaker']}: {turn['text']}") for turn in turns]
    known = {id_ for id_, _ in items}
    questions = [(entry["question"], frozenset(entry["evidence"]) & known) for entry in data["qa"]]
    return Conversation(items, [(question, gold) for question, gold in questions if gold])


class Scores(NamedTuple):
    """Recall at 5 and nDCG at 10, one value per question."""

    recall: list[float]
    ndcg: list[float]

    def __str__(self) -> str:
        return f"recall@5 {statistics.mean(self.recall):.3f}   nDCG@10 {statistics.mean(self.ndcg):.3f}"


def scores(parts: Iterable[tuple[Conversation, Finder]]) -> Scores:
    """Of all questions of the conversations."""
    total = Scores([], [])
    for conversation, find in parts:
        for question, gold in conversation.questions:
            found = find(question)[:10]
            total.recall.append(len(gold.intersection(found[:5])) / len(gold))
            gain = sum(1 / math.log2(place + 2) for place, id_ in enumerate(found) if id_ in gold)
            total.ndcg.append(gain / sum(1 / math.log2(place + 2) for place in range(min(10, len(gold)))))
    return total


def by_bm25(index: sqlite3.Connection, question: str) -> list[str]:
    """FTS5's own ranking, for comparison."""
    words = " OR ".join(f'"{word}"' for word in query_words(question))
    rows = index.execute(
        "SELECT item.id FROM item_text JOIN item ON item.rowid = item_text.rowid WHERE item_text MATCH ?"
        " ORDER BY rank LIMIT 10",
        (words or '""',),
    )
    return [id_ for (id_,) in rows]


def by_words(index: sqlite3.Connection, question: str) -> list[str]:
    """The lexical part alone."""
    share = shared_words(index, question)
    ids = dict(index.execute("SELECT rowid, id FROM item").fetchall())
    return [ids[row] for row in sorted(share, key=lambda row: (-share[row], row))[:10]]


def by_embedding(index: sqlite3.Connection, question: str) -> list[str]:
    """The semantic part alone, over all items."""
    vector = embed(question)
    like = {id_: similarity(vector, other) for id_, other in index.execute("SELECT id, vector FROM item")}
    return sorted(like, key=lambda id_: -like[id_])[:10]


def by_reciprocal_rank(index: sqlite3.Connection, question: str) -> list[str]:
    """The other way to fuse, for comparison."""
    share: dict[str, float] = {}
    for found in (by_words(index, question), by_embedding(index, question)):
        for place, id_ in enumerate(found):
            share[id_] = share.get(id_, 0.0) + 1 / (60 + place)
    return sorted(share, key=lambda id_: -share[id_])


def fused(index: sqlite3.Connection, question: str) -> list[str]:
    """What is shipped."""
    return [hit.id for hit in search(index, question, limit=10).items]


def report_locomo() -> None:
    """Print both halves."""
    for name, aside in (("first half, weights chosen on it", False), ("second half, only measured", True)):
        half = conversations(aside=aside)
        indexes = [made_index(":memory:", conversation.items) for conversation in half]
        asked = sum(len(conversation.questions) for conversation in half)
        print(f"LoCoMo, {name}: {len(half)} conversations, {asked} questions")
        found = {
            title: scores(
                (conversation, partial(find, index)) for conversation, index in zip(half, indexes, strict=True)
            )
            for title, find in (
                ("FTS5's BM25", by_bm25),
                ("lexical only", by_words),
                ("embedding only", by_embedding),
                ("reciprocal rank", by_reciprocal_rank),
                ("fused (shipped)", fused),
            )
        }
        for title, got in found.items():
            print(f"  {title:16} {got}")
        low, high = _interval(found["fused (shipped)"].recall, found["lexical only"].recall)
        print(f"  fused − lexical  recall@5 {low:+.3f} to {high:+.3f} (95%, bootstrap over questions)")


def _interval(ours: list[float], theirs: list[float]) -> tuple[float, float]:
    differences = [one - other for one, other in zip(ours, theirs, strict=True)]
    chance = random.Random(0)
    means = sorted(statistics.mean(chance.choices(differences, k=len(differences))) for _ in range(2000))
    return means[50], means[1949]


def report_mem0(most: int) -> None:
    """Print Mem0's search and ours on the same items with the same embedding.

    Mem0's own word search needs a model from the network and is off, as it is in an installation without one.
    """
    half = conversations(aside=True)[:most]
    with tempfile.TemporaryDirectory() as folder:
        theirs = scores((one, _mem0(one, Path(folder) / str(number))) for number, one in enumerate(half))
    ours = scores((one, partial(fused, made_index(":memory:", one.items))) for one in half)
    print(f"Mem0 and knowbound, same items, same embedding, {len(half)} conversations, {len(ours.recall)} questions")
    print(f"  mem0 search      {theirs}")
    print(f"  knowbound        {ours}")


def _mem0(conversation: Conversation, folder: Path) -> Finder:
    from knowbound.kms.backends.mem0 import open_memory  # noqa: PLC0415  # slow to import

    folder.mkdir()
    memory: Any = open_memory(folder)
    for id_, content in conversation.items:
        memory.add(content, user_id="locomo", infer=False, metadata={"turn": id_})

    def find(question: str) -> list[str]:
        found = memory.search(question, filters={"user_id": "locomo"}, top_k=10)
        return [entry["metadata"]["turn"] for entry in found["results"]]

    return find


class Pair(NamedTuple):
    """A prompt and an item that was injected for it."""

    turn: str
    candidate: FoundItem
    on_topic: bool


def report_floor() -> None:
    """Print how well the score separates items on topic from others, and what the floor lets through."""
    lines = (SHARED / "injection/turns.jsonl").read_text("utf-8").splitlines()
    turns = [json.loads(line) for line in lines]
    items = [(f"{turn['id']}/{item['id']}", item["content"]) for turn in turns for item in turn["items"]]
    index = made_index(":memory:", items)
    pairs = [pair for turn in turns for pair in _pairs(index, turn)]
    labels = [pair.on_topic for pair in pairs]
    print(f"Prompts and injected items: {len(turns)} turns, {len(pairs)} items, {sum(labels)} on topic")
    for name in ("lexical", "semantic", "relevance"):
        print(f"  AUC of {name:10} {_auc([getattr(pair.candidate, name) for pair in pairs], labels):.3f}")
    print(f"The floor, searching all {len(items)} items for each prompt as the hook does (at most {_MOST_ITEMS})")
    for name, aside in (("chosen on", False), ("kept aside", True)):
        half = [turn for turn in turns if _is_aside(turn["id"]) == aside]
        best = max((floor / 100 for floor in range(5, 60)), key=lambda floor: _measured(index, half, floor).f_half)
        print(f"  {name:11} {_measured(index, half, RELEVANCE_FLOOR)}   (best here would be {best:.2f})")


class Floor(NamedTuple):
    """What is injected above a floor: own items are those labelled for the prompt, others those of other prompts."""

    floor: float
    turns: int
    turns_with_items: int
    right: int
    wrong: int
    others: int
    missed: int

    @property
    def f_half(self) -> float:
        """F0.5: what is injected should be right; being complete matters half as much."""
        injected = self.right + self.wrong + self.others
        return 1.25 * self.right / max(1.0, 0.25 * (self.right + self.missed) + injected)

    def __str__(self) -> str:
        labelled, injected = self.right + self.wrong, self.right + self.wrong + self.others
        return (
            f"floor {self.floor:.2f}: on topic {self.right} of {labelled} labelled, of {injected} injected;"
            f" injected {self.right} of {self.right + self.missed} on topic; anything in {self.turns_with_items} of"
            f" {self.turns} turns"
        )


def _measured(index: sqlite3.Connection, turns: list[dict[str, Any]], floor: float) -> Floor:
    right = wrong = others = turns_with_items = possible = 0
    for turn in turns:
        labels = {f"{turn['id']}/{id_}": label["on_topic"] for id_, label in turn["labels"].items()}
        injected = [id_ for id_, relevance in _found(index, turn["prompt"]) if relevance >= floor]
        right += sum(labels.get(id_) is True for id_ in injected)
        wrong += sum(labels.get(id_) is False for id_ in injected)
        others += sum(id_ not in labels for id_ in injected)
        turns_with_items += bool(injected)
        possible += sum(labels.values())
    return Floor(floor, len(turns), turns_with_items, right, wrong, others, possible - right)


_KNOWN: dict[str, list[tuple[str, float]]] = {}


def _found(index: sqlite3.Connection, prompt: str) -> list[tuple[str, float]]:
    if prompt not in _KNOWN:
        _KNOWN[prompt] = [(hit.id, hit.relevance) for hit in search(index, prompt, limit=_MOST_ITEMS).items]
    return _KNOWN[prompt]


def _pairs(index: sqlite3.Connection, turn: dict[str, Any]) -> Iterable[Pair]:
    share, vector = shared_words(index, turn["prompt"]), embed(turn["prompt"])
    for item in turn["items"]:
        id_ = f"{turn['id']}/{item['id']}"
        row, other = index.execute("SELECT rowid, vector FROM item WHERE id = ?", (id_,)).fetchone()
        candidate = FoundItem(id_, "sqlite", id_, share.get(row, 0.0), similarity(vector, other))
        yield Pair(turn["id"], candidate, turn["labels"][item["id"]]["on_topic"])


def _auc(values: list[float], labels: list[bool]) -> float:
    """The chance that an item on topic has a higher value than one that is not; a tie counts half."""
    right = [value for value, label in zip(values, labels, strict=True) if label]
    wrong = [value for value, label in zip(values, labels, strict=True) if not label]
    wins = sum((one > other) + 0.5 * (one == other) for one in right for other in wrong)
    return wins / (len(right) * len(wrong))


def _is_aside(turn: str) -> bool:
    return hashlib.sha256(turn.encode()).digest()[0] % 2 == 0


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(prog="bench.retrieval")
    parser.add_argument("--mem0", type=int, default=5, metavar="N", help="conversations to give Mem0 (0: none)")
    given = parser.parse_args()
    if not SHARED.exists():
        print(f"The shared data are not at {SHARED}: nothing to measure against.")
        return
    report_locomo()
    report_floor()
    if given.mem0:
        report_mem0(given.mem0)


if __name__ == "__main__":
    main()
