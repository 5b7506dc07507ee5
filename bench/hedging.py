"""How well net and judge find doubt: precision, recall and F1 on labelled sentences, with intervals.

`python -m bench.hedging` shows each set of labels apart, cross-validated by project and by session (the weights never
saw the project or the session they are measured on), then what is kept aside, judged by the shipped weights. Beside
them: every candidate of the net, and the words that specification 1 names.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import NamedTuple

from bench.recorded_sets import UNSEEN, LabelledHedge, asker_of, hedges, recording_of
from bench.train_hedging import Example, examples, fit
from bench.turn_sets import is_aside as is_kept_aside
from knowbound.judge.hedging.rules import RulesJudge
from knowbound.judge.model_judges import ModelHedgingJudge
from knowbound.stats.rate import Rate
from knowbound.text.hedges import cues
from knowbound.text.sentences import mask

_FOLDS = 8
_DRAWS = 1000
# Specification 1, section 4, source 3.
_SPECIFIED = re.compile(
    r"not sure|insufficient information|need to verify|likely|presumably"
    r"|不确定|没有足够信息|需要查证|无法确认|猜测|可能是",
    re.I,
)

# Sentences of all traces that the judge of that day kept, dropped or never saw; the reader's are drawn from each.
_DRAWN_FROM = {"kept": 360, "dropped": 593, "other": 24_324}

_Says = Callable[[Example], bool]


class Measured(NamedTuple):
    """Of the sentences called doubt, how many are; of those that are doubt, how many were called so; and their F1."""

    precision: Rate
    recall: Rate
    f1: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"F1 {self.f1:.2f} ({self.low:.2f}–{self.high:.2f})  precision {self.precision}  recall {self.recall}"


class Judged(NamedTuple):
    """Every example with what each judge says of it."""

    by_project: list[tuple[Example, bool]]
    by_session: list[tuple[Example, bool]]
    aside: list[tuple[Example, bool]]


def judged() -> Judged:
    """The development examples out of fold, twice, and what is kept aside, judged by the shipped weights."""
    data = examples()
    real = [example for example in data if example.session and not example.aside]
    aside = [example for example in data if example.aside]
    shipped = RulesJudge()
    return Judged(
        _out_of_fold(data, real, lambda example: example.project),
        _out_of_fold(data, real, lambda example: str(sha256(example.session.encode()).digest()[1] % _FOLDS)),
        [(example, _says(shipped, example)) for example in aside],
    )


def measure(rows: Sequence[tuple[Example, bool]]) -> Measured:
    """The figures, with a bootstrap of F1 over sessions (our own sentences count as one each)."""
    clusters: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for at, (example, called) in enumerate(rows):
        clusters[example.session or str(at)].append((example.uncertain, called))
    counts = [_counts(cluster) for cluster in clusters.values()]
    right, called, doubt = (sum(column) for column in zip(*counts, strict=True))
    draw = random.Random(1)
    drawn = sorted(
        _f1(*(sum(column) for column in zip(*draw.choices(counts, k=len(counts)), strict=True))) for _ in range(_DRAWS)
    )
    low, high = drawn[_DRAWS // 40], drawn[-_DRAWS // 40]
    return Measured(Rate(right, called), Rate(right, doubt), _f1(right, called, doubt), low, high)


def main() -> None:
    for set_ in ("hedges", "hedges-specified", "hedges-fresh"):
        _print_unseen(set_)
    found = judged()
    for name, rows in (
        ("developed on, out of fold by project", found.by_project),
        ("developed on, out of fold by session", found.by_session),
        ("kept aside, shipped weights", found.aside),
    ):
        print(name)
        for source in ("shared", "reader", "ours", "own", "written"):
            of_source = [(example, called) for example, called in rows if example.source == source]
            if of_source:
                _print(source, of_source)
    _print_drawn([(example, called) for example, called in found.by_project if example.drawn])


def _print_unseen(set_: str) -> None:
    """The sentences that nothing was made with: rules, the recorded large model, and words of doubt alone."""
    rows = hedges(UNSEEN / f"{set_.replace('-', '_')}.jsonl")
    recording = recording_of(set_)
    model = ModelHedgingJudge("recorded", True, asker_of(recording)) if recording.exists() else None
    judges: dict[str, Callable[[LabelledHedge], bool]] = {
        "rules": lambda row: any(one.is_uncertainty for one in RulesJudge().judge([row.candidate])),
        **({"a large model, recorded": lambda row: _is_doubt(model, row)} if model is not None else {}),
        "baseline: a word of doubt": lambda row: bool(cues(mask(row.sentence))),
        "baseline: specified words": lambda row: bool(_SPECIFIED.search(row.sentence)),
    }
    print(f"unseen: {set_} ({len(rows)} sentences)")
    for name, says in judges.items():
        called = [(row, says(row)) for row in rows]
        parts = {"all": called, "kept aside": [one for one in called if is_kept_aside(one[0].id)]}
        parts |= {lang: [one for one in called if one[0].lang == lang] for lang in sorted({row.lang for row in rows})}
        for part, of_part in parts.items():
            right, calls, doubts = _counts([(row.uncertain, said) for row, said in of_part])
            print(f"  {name:26} {part:10} F1 {_f1(right, calls, doubts):.2f}  {right} of {calls} called, of {doubts}")


def _is_doubt(model: ModelHedgingJudge, row: LabelledHedge) -> bool:
    said = model.known(row.candidate)
    return said is not None and said.is_uncertainty


def _print_drawn(rows: list[tuple[Example, bool]]) -> None:
    """The reader's labels by what they were drawn from, and weighted to what the traces hold of each."""
    print("reader's labels by what the judge of that day did with the sentence, out of fold by project")
    right = called = doubt = 0.0
    for drawn, total in _DRAWN_FROM.items():
        part = [(example.uncertain, called) for example, called in rows if example.drawn == drawn]
        hits, calls, doubts = _counts(part)
        agreed = Rate(sum(y == c for y, c in part), len(part))
        print(f"  {drawn:8} {len(part):4} sentences, {doubts} of them doubt, right {agreed}")
        weight = total / len(part)
        right, called, doubt = right + weight * hits, called + weight * calls, doubt + weight * doubts
    f1 = _f1(right, called, doubt)
    print(f"  weighted to all sentences: F1 {f1:.2f}, precision {right / called:.0%}, recall {right / doubt:.0%}")


def _print(source: str, rows: list[tuple[Example, bool]]) -> None:
    judges: tuple[tuple[str, _Says | None], ...] = (
        ("net and judge", None),
        ("every candidate", lambda example: bool(example.candidates)),
        ("specified words", lambda example: any(_SPECIFIED.search(one.sentence) for one in example.candidates)),
    )
    print(f"  {source} ({len(rows)} sentences)")
    for name, says in judges:
        print(f"    {name:16} {measure([(one, says(one)) for one, _ in rows] if says else rows)}")


def _out_of_fold(
    data: list[Example], real: list[Example], fold: Callable[[Example], str]
) -> list[tuple[Example, bool]]:
    """What a judge says that learnt from the other folds and our own sentences."""
    judges = {
        name: RulesJudge(fit([one for one in data if not one.session or fold(one) != name]))
        for name in sorted({fold(one) for one in real})
    }
    return [(example, _says(judges[fold(example)], example)) for example in real]


def _says(judge: RulesJudge, example: Example) -> bool:
    return any(verdict is not None and verdict.is_uncertainty for verdict in judge.judge(example.candidates))


def _counts(rows: list[tuple[bool, bool]]) -> tuple[int, int, int]:
    """Right calls, calls, doubts."""
    return sum(y and c for y, c in rows), sum(c for _, c in rows), sum(y for y, _ in rows)


def _f1(right: float, called: float, doubt: float) -> float:
    return 2 * right / (called + doubt) if called + doubt else 0.0


if __name__ == "__main__":
    main()
