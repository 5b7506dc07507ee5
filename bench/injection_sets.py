"""Labelled sets for bench/injection.py, and the stores that their prompts are asked in.

A set is a folder with `items.jsonl` ({"id", "subject", "content"}) and `prompts.jsonl` ({"id", "prompt", "right",
"on_topic", "length", "wording", "language", "kind"}). A file of turns is a set too: items that were injected for a
prompt, labelled on topic or not; those on topic count as right there.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from bench.measuring import rows
from knowbound.core.item import Item
from knowbound.injection.calibration import LabelledPrompt
from knowbound.kms.backends.protocol import Swap
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore

_WORD = re.compile(r"[a-z0-9_]+|[\u3040-\u30ff\u3400-\u9fff]")
_PARAGRAPH = re.compile(r"\n\s*\n|\n(?=\s*[-*] )")
_MARKUP = re.compile(r"^\s*(?:[-*>] +|\d+\. +)|\s*\{\s*#[^}]*\}|</?[a-z][^>]*>", re.MULTILINE)
_SKIPPED = ("#", "|", "```", "---", "===", "!!!", "///", "{%", "{*", ":::", "import ")
_FILLER_WORDS = range(20, 101)
_NEIGHBOURS = 1


class Prompt(NamedTuple):
    """A labelled prompt with what is known about it."""

    label: LabelledPrompt
    length: str
    wording: str
    language: str
    kind: str


class LabelledSet(NamedTuple):
    name: str
    items: list[Item]
    prompts: list[Prompt]


class Store(NamedTuple):
    items: list[Item]
    prompts: list[Prompt]


def is_set(path: Path) -> bool:
    return path.is_file() or all((path / name).is_file() for name in ("items.jsonl", "prompts.jsonl"))


def read_set(path: Path) -> LabelledSet:
    """A set. Ids get its name in front, so that sets can share a store."""
    if path.is_file():
        return _turns(path)
    items = [_item(path.name, row["id"], row["content"], row.get("subject", "")) for row in rows(path / "items.jsonl")]
    known = {item.id for item in items}
    prompts = [_prompt(path.name, row) for row in rows(path / "prompts.jsonl")]
    for prompt in prompts:
        if unknown := {*prompt.label.right, *prompt.label.on_topic} - known:
            raise SystemExit(f"{path}: {prompt.label.id} names unknown items: {', '.join(sorted(unknown))}")
    return LabelledSet(path.name, items, prompts)


def _item(name: str, id_: str, content: str, subject: str = "") -> Item:
    return Item(id=f"{name}/{id_}", content=content, subject=subject, timestamp="2026-01-01T00:00:00Z")


def _prompt(name: str, row: dict[str, str]) -> Prompt:
    right, on_topic = (tuple(f"{name}/{id_}" for id_ in row.get(key, ())) for key in ("right", "on_topic"))
    label = LabelledPrompt(row["prompt"], right, on_topic, f"{name}/{row['id']}")
    length = row.get("length") or _length(row["prompt"])
    return Prompt(label, length, row.get("wording", "?"), row.get("language", "?"), row.get("kind", "?"))


def _length(prompt: str) -> str:
    return "short" if len(prompt) <= 60 else "medium" if len(prompt) <= 200 else "long"


def _turns(path: Path) -> LabelledSet:
    items, prompts = [], []
    for turn in rows(path):
        ids = {item["id"]: f"{turn['id']}/{item['id']}" for item in turn["items"]}
        items += [_item(path.stem, ids[item["id"]], item["content"]) for item in turn["items"]]
        right = [ids[id_] for id_, label in turn["labels"].items() if label["on_topic"]]
        prompts.append(_prompt(path.stem, {"id": turn["id"], "prompt": turn["prompt"], "right": right}))  # type: ignore[dict-item]
    return LabelledSet(path.stem, items, prompts)


# Stores of a size


def stores(one: LabelledSet, size: int, others: Iterable[LabelledSet], filler: Iterable[Item]) -> list[Store]:
    """The prompts in stores of about that many items.

    Far fewer than the set has: a store of its own for each prompt, with what it needs, the item most like that, and
    others at random. Far more: the items of the other sets and filler beside the set's. Else the set as it is.
    """
    if size <= len(one.items) // 2:
        return [Store(_few(one, prompt, size), [prompt]) for prompt in one.prompts]
    items = {item.content_sha: item for item in one.items}
    if size > 2 * len(one.items):
        for item in (*(item for other in others for item in other.items), *filler):
            if len(items) >= size:
                break
            items.setdefault(item.content_sha, item)
    return [Store(list(items.values()), one.prompts)]


def _few(one: LabelledSet, prompt: Prompt, size: int) -> list[Item]:
    chance = random.Random(prompt.label.id)
    right = [item for item in one.items if item.id in prompt.label.right]
    left = [item for item in one.items if item.id not in prompt.label.right]
    near = sorted(left, key=lambda item: (-_overlap(item, right), item.id))[:_NEIGHBOURS] if right else []
    left = [item for item in left if item not in near]
    chosen = [*right, *near, *chance.sample(left, size - len(right) - len(near))]
    return sorted(chosen, key=lambda item: item.id)


def _overlap(item: Item, right: list[Item]) -> float:
    words = _words(item)
    return max(len(words & _words(other)) / len(words | _words(other)) for other in right)


def _words(item: Item) -> set[str]:
    return set(_WORD.findall(f"{item.subject} {item.content}".lower()))


def filler_of(folder: Path) -> list[Item]:
    """Paragraphs and bullets of the Markdown files below a folder, in an order that is the same in every run."""
    subjects: dict[str, str] = {}  # of each text
    for path in sorted(folder.rglob("*.md")):
        for text in _PARAGRAPH.split(path.read_text("utf-8", "replace")):
            plain = " ".join(_MARKUP.sub("", text).split())
            if not text.strip().startswith(_SKIPPED) and len(plain.split()) in _FILLER_WORDS:
                subjects.setdefault(plain, path.stem)
    hashed = sorted((hashlib.sha256(text.encode()).hexdigest()[:12], text) for text in subjects)
    return [_item("filler", sha, text, subjects[text]) for sha, text in hashed]


def build(home: Path, items: list[Item]) -> None:
    """A store of the items, as the product makes it: backend, redaction, screening, embedding, index."""
    backend = SqliteBackend(home)
    backend.swap([Swap(None, item) for item in items])
    KnowledgeStore([backend], Index(home)).close()
