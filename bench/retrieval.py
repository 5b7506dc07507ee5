"""How well search finds: on LoCoMo, and beside Mem0's search.

    python -m bench.retrieval [--mem0 N]       N conversations for Mem0; about 2 minutes

LoCoMo: each turn of a conversation is an item, a question's evidence is what has to be found. Weights were chosen on
the first half (every other conversation), the second half was only measured. What is injected of what is found is
measured by bench/injection.py, the time per search by bench/retrieval_speed.py.
"""

from __future__ import annotations

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
from bench.measuring import options
from bench.retrieval_speed import made_index
from knowbound.kms.index.search import ParsedQuery, rows_with_words, search
from knowbound.text.embedding import embed, similarity
from knowbound.text.english import SEARCH_STOP_WORDS


class Conversation(NamedTuple):
    """Turns by their id, and questions with the turns that answer them."""

    items: list[tuple[str, str]]
    questions: list[tuple[str, frozenset[str]]]


Finder = Callable[[str], list[str]]  # the ids for a question, best first


def conversations(*, aside: bool) -> list[Conversation]:
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
    if not index.execute("SELECT 1 FROM sqlite_schema WHERE name = 'plain'").fetchone():
        index.execute("CREATE VIRTUAL TABLE plain USING fts5 (content, tokenize='porter unicode61')")
        index.execute("INSERT INTO plain (rowid, content) SELECT rowid, content FROM item")
    words = [word for word in re.findall(r"[^\W_]+", question.lower()) if word not in SEARCH_STOP_WORDS]
    rows = index.execute(
        "SELECT item.id FROM plain JOIN item ON item.rowid = plain.rowid WHERE plain MATCH ? ORDER BY rank LIMIT 10",
        (" OR ".join(f'"{word}"' for word in words) or '""',),
    )
    return [id_ for (id_,) in rows]


def by_words(index: sqlite3.Connection, question: str) -> list[str]:
    """The lexical part alone: BM25."""
    asked = ParsedQuery(question)
    rows = rows_with_words(index, asked, 1_000)
    known = index.execute(f"SELECT id, terms FROM item WHERE rowid IN ({', '.join(map(str, rows))})").fetchall()
    share = {id_: asked.score(terms.split())[0] for id_, terms in known}
    return sorted(share, key=lambda id_: (-share[id_], id_))[:10]


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


if __name__ == "__main__":
    given = options(__doc__, mem0=5)
    report_locomo()
    if given.mem0:
        report_mem0(given.mem0)
