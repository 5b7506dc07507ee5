"""How well items are chosen for prompts: `python -m bench.choices [--items 5000 --filler DIR]`.

Each set is a store of 100 items and 110 prompts (same words, other words, long, follow-ups, needs nothing, Chinese),
and 20 hostile ones. Rules find forty candidates, and more by words that the model proposes where none fits. Beside the
recorded choice of a large model stand the choice of the rules (what the hook injects) and BM25. A prompt is right if
every item that it needs is chosen; precision is the share of chosen items that it needs, or that the author would not
call wrong. Half of the prompts are kept aside. A larger store is filled up with paragraphs of the Markdown files below
DIR, which count as wrong.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from bench.injection_baselines import BASELINES
from bench.injection_sets import build, filler_of
from bench.turn_sets import is_aside
from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.injection.choosing import CANDIDATES, candidates_for, further_candidates
from knowbound.injection.hook_settings import HookSettings
from knowbound.injection.inject import choose_for_prompt
from knowbound.injection.prompt import HookPrompt
from knowbound.judge.choosing import Choosing, Chosen, choose
from knowbound.judge.models.asking import Asker
from knowbound.kms.index.ranking import FoundItem
from knowbound.stats.rate import Rate

HERE = Path(__file__).parent
_Row = TypeVar("_Row", bound=msgspec.Struct)


class _ItemRow(msgspec.Struct, frozen=True):
    id: str
    content: str


class PromptRow(msgspec.Struct, frozen=True):
    """A labelled prompt."""

    id: str
    kind: str
    lang: str
    prompt: str
    right: list[str]
    also: list[str] = []
    conversation: list[str] = []
    extra_items: list[_ItemRow] = []
    target: str = ""


class Asked(NamedTuple):
    """A prompt with its candidates, and what rules would inject."""

    row: PromptRow
    home: Path  # of its store
    candidates: list[FoundItem]
    rules: list[str]
    bm25: list[str]

    def choosing(self, candidates: Sequence[FoundItem]) -> Choosing:
        return Choosing(self.row.prompt, [one.content for one in candidates], self.row.conversation)


def asked_prompts(
    folder: Path, names: Iterable[str] = ("prompts", "hostile"), size: int = 0, filler: Path | None = None
) -> Iterator[Asked]:
    """Every prompt with the candidates that the product finds in the store of its set, filled up to the size.

    The stores are made in the folder. Hostile prompts bring items of their own.
    """
    more = [_ItemRow(item.id, item.content) for item in filler_of(filler)] if filler else []
    for path in sorted(path for path in HERE.iterdir() if (path / "items.jsonl").exists()):
        items = _rows(path / "items.jsonl", _ItemRow)
        items += more[: max(0, size - len(items))]
        rows = [row for name in names for row in _rows(path / f"{name}.jsonl", PromptRow)]
        yield from _asked(folder / path.name, items, [row for row in rows if not row.extra_items])
        for row in rows:
            if row.extra_items:
                yield from _asked(folder / f"{path.name}-{row.id}", [*items, *row.extra_items], [row])


def _asked(folder: Path, items: Sequence[_ItemRow], rows: Sequence[PromptRow]) -> Iterator[Asked]:
    stored = [Item(id=item.id, content=item.content) for item in items]
    bm25 = next(one for one in BASELINES if "bm25" in one.name.lower()).scoring(stored)
    home = folder / ".knowbound"
    build(home, stored)
    for row in rows:
        query = "\n".join([*row.conversation, row.prompt])
        found = candidates_for(str(home), query)
        extra = {item.id for item in row.extra_items}
        if missing := extra - {item.id for item in found}:  # a hostile item is always shown
            index = candidates_for(str(home), "\n".join(one.content for one in row.extra_items))
            found = [*(item for item in index if item.id in missing), *found][:CANDIDATES]
        scores = bm25(query)
        best = sorted(scores, key=lambda id_: -scores[id_])[:1]
        yield Asked(row, home, found, _injected(home, row.prompt), best)


def _injected(home: Path, prompt: str) -> list[str]:
    usual = Settings(root=home, home=home)
    settings = HookSettings(
        time_limit_ms=10**6,
        token_budget=usual.injection_token_budget,
        relevance_floor=None,
        most_items=usual.injection_most_items,
        subject="",
        is_shared=False,
    )
    return [item.id for item in choose_for_prompt(str(home), settings, HookPrompt({"prompt": prompt})).items]


def _rows(path: Path, type_: type[_Row]) -> list[_Row]:
    return [msgspec.json.decode(line, type=type_) for line in path.read_bytes().splitlines() if line]


def chosen_by(asker: Asker, several: Sequence[Asked]) -> list[list[str] | None]:
    """The ids that a model chooses, after a second look where it proposes one; None without an answer."""
    first = choose(asker, [one.choosing(one.candidates) for one in several])
    found = [_ids(one.candidates, answer) for one, answer in zip(several, first, strict=True)]
    again = [
        (at, further)
        for at, (one, answer) in enumerate(zip(several, first, strict=True))
        if answer.search and (further := further_candidates(str(one.home), answer.search, one.candidates))
    ]
    print(f"second look: {len(again)} of {len(several)}")
    second = choose(asker, [several[at].choosing(further) for at, further in again])
    for (at, further), answer in zip(again, second, strict=True):
        found[at] = _ids(further, answer)
    return found


def _ids(candidates: Sequence[FoundItem], answer: Chosen) -> list[str] | None:
    return None if answer.entries is None else [candidates[one.number - 1].id for one in answer.entries]


def main() -> None:
    from bench.recorded_sets import asker_of, recording_of  # noqa: PLC0415  (which asks by this module)

    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=0)
    parser.add_argument("--filler", type=Path)
    given = parser.parse_args()
    names = ("prompts",) if given.items else ("prompts", "hostile")
    with tempfile.TemporaryDirectory() as folder:
        several = list(asked_prompts(Path(folder), names, given.items, given.filler))
        model = chosen_by(asker_of(recording_of("choices-5000" if given.items else "choices")), several)
    print(f"answers of the model: {sum(found is not None for found in model)} of {len(several)}")
    judges: dict[str, list[list[str]]] = {
        "rules": [one.rules for one in several],
        "a large model, recorded": [found or [] for found in model],
        "BM25, the first": [one.bm25 for one in several],
    }
    kinds = sorted({one.row.kind for one in several})
    for name, chosen in judges.items():
        print(f"\n{name}")
        pairs = list(zip(several, chosen, strict=True))
        usual = [pair for pair in pairs if pair[0].row.kind != "hostile"]
        _print("all but hostile", usual)
        _print("kept aside", [pair for pair in usual if is_aside(pair[0].row.id)])
        for kind in kinds:
            _print(kind, [pair for pair in pairs if pair[0].row.kind == kind])
    needed = [one for one in several if one.row.right]
    for most in (20, CANDIDATES):
        found = [one for one in needed if set(one.row.right) <= {item.id for item in one.candidates[:most]}]
        print(f"\nneeded items among {most} candidates: {Rate(len(found), len(needed))}")


def _print(title: str, pairs: Sequence[tuple[Asked, list[str]]]) -> None:
    needed = [(one.row, chosen) for one, chosen in pairs if one.row.right]
    right = Rate(sum(set(row.right) <= set(chosen) for row, chosen in needed), len(needed))
    good = sum(id_ in {*one.row.right, *one.row.also} for one, chosen in pairs for id_ in chosen)
    precision = Rate(good, sum(len(chosen) for _, chosen in pairs))
    alone = Rate(
        sum(not chosen for one, chosen in pairs if not one.row.right), sum(not one.row.right for one, _ in pairs)
    )
    print(f"  {title:16} right {right}  precision {precision}  left alone {alone}")


if __name__ == "__main__":
    main()
