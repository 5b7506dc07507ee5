"""Score answers to the labelled sets of this repository, whoever gave them (README.md).

python -m bench.yardstick                     ours: by rules, with the recorded model; plain baselines
python -m bench.yardstick ANSWERS.jsonl …     yours: {"task", "id", "answer"} a line
python -m bench.yardstick --questions TASK    what is asked, a line each
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench.hedging import _SPECIFIED
from bench.recorded_sets import UNSEEN, asker_of, hedges, recording_of
from bench.turn_sets import is_aside, read_set
from bench.turns import judged
from knowbound.core.quality import Metric
from knowbound.judge.hedging.rules import RulesJudge
from knowbound.judge.model_judges import ModelHedgingJudge, ModelTurnJudge
from knowbound.judge.turns import RulesTurnJudge, TurnJudge
from knowbound.stats.rate import Rate

_HERE = Path(__file__).parent
_STATUSES = _HERE.parent / "statuses"
Answers = Mapping[str, Any]  # by id


class Task(NamedTuple):
    """A labelled set: what it asks, the label of each id, and how ours answer."""

    asks: str
    labels: Callable[[], Answers]
    questions: Callable[[], list[dict[str, Any]]]
    rows: Callable[[], dict[str, Answers]]


def _doubts() -> Answers:
    return {row.id: row.uncertain for row in hedges()}


def _asked_doubts() -> list[dict[str, Any]]:
    return [
        {"id": row.id, "sentence": row.sentence, "context": row.context, "question": row.question} for row in hedges()
    ]


def _rows_of_doubts() -> dict[str, Answers]:
    model, rules = ModelHedgingJudge("recorded", True, asker_of(recording_of("hedges"))), RulesJudge()
    known = {row.id: model.known(row.candidate) for row in hedges()}
    by_rules = {row.id: rules.judge([row.candidate])[0] for row in hedges()}
    return {
        "ours, rules": {id_: one.is_uncertainty for id_, one in by_rules.items()},
        "ours, recorded model": {id_: one.is_uncertainty for id_, one in known.items() if one is not None},
        "omk 0.54.0": read_answers(_HERE / "omk.jsonl").get("doubts", {}),
        "the words of specification 1": {row.id: bool(_SPECIFIED.search(row.sentence)) for row in hedges()},
        "always yes": dict.fromkeys(_doubts(), True),
    }


def _turns(metric: Metric) -> Task:
    turns = read_set(UNSEEN / "turns.jsonl")

    def by(judge: TurnJudge) -> Answers:
        return {
            f"{one.turn.turn.id}/{one.turn.turn.items[one.at].id}": one.said[metric] for one in judged(turns, judge)
        }

    def labels() -> Answers:
        return {
            f"{one.turn.id}/{item.id}": label.says(metric)
            for one in turns
            for item, label in zip(one.turn.items, one.labels, strict=True)
        }

    def questions() -> list[dict[str, Any]]:
        raw = [json.loads(line) for line in (UNSEEN / "turns.jsonl").read_text().splitlines()]
        hidden = {"labels", "correction", "kind"}
        return [
            {"id": f"{turn['id']}/{item['id']}", "item": item["content"], **_shown(turn, hidden | {"items", "id"})}
            for turn in raw
            for item in turn["items"]
        ]

    def rows() -> dict[str, Answers]:
        recorded = ModelTurnJudge("recorded", True, asker_of(recording_of("turns")))
        return {
            "ours, rules": by(RulesTurnJudge()),
            "ours, recorded model": by(recorded),
            "always yes": dict.fromkeys(labels(), True),
        }

    return Task(f"is the injected item {metric.value.replace('_', ' ')}", labels, questions, rows)


def _shown(turn: dict[str, Any], hidden: set[str]) -> dict[str, Any]:
    return {key: value for key, value in turn.items() if key not in hidden}


def _endings() -> Answers:
    return {row["call_id"]: row["first"] for row in _lines(_STATUSES / "labels.jsonl")}


def _asked_endings() -> list[dict[str, Any]]:
    rows = _lines(_STATUSES / "labels.jsonl")
    return [{"id": row["call_id"], "project": row["project"], "session": row["session"]} for row in rows]


def _rows_of_endings() -> dict[str, Answers]:
    second = {row["call_id"]: row["second"] for row in _lines(_STATUSES / "labels.jsonl")}
    recorded = {row["call_id"]: row["status"] for row in _lines(_STATUSES / "verdicts.jsonl")}
    most = Counter(_endings().values()).most_common(1)[0][0]
    same = dict.fromkeys(_endings(), most)
    return {"the second reader": second, "ours, recorded model": recorded, f"always {most}": same}


def _aside() -> set[str]:
    """Ids that are kept aside: by a hash, or, of endings, by their labels."""
    found = {row["call_id"] for row in _lines(_STATUSES / "labels.jsonl") if row["aside"]}
    hashed = [id_ for name, task in TASKS.items() if name != "endings" for id_ in task.labels()]
    return found.union(id_ for id_ in hashed if is_aside(id_.partition("/")[0]))


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


TASKS = {
    "doubts": Task("is the agent not sure of a fact in this sentence", _doubts, _asked_doubts, _rows_of_doubts),
    **{str(metric): _turns(metric) for metric in Metric},
    "endings": Task("how did this failed search end", _endings, _asked_endings, _rows_of_endings),
}


def read_answers(path: Path) -> dict[str, dict[str, Any]]:
    """Answers of a file by task and id."""
    found: dict[str, dict[str, Any]] = {}
    for row in _lines(path):
        found.setdefault(row["task"], {})[row["id"]] = row["answer"]
    return found


def score(labels: Answers, answers: Answers) -> str:
    """Answered, right, κ; for yes and no also precision, recall and F1. No answer counts as wrong, or as no."""
    is_binary = all(isinstance(label, bool) for label in labels.values())
    pairs = [(label, answers.get(id_, False if is_binary else "")) for id_, label in labels.items()]
    right = Rate(sum(label == said for label, said in pairs), len(pairs))
    of_labels, of_answers = (Counter(pair[side] for pair in pairs) for side in (0, 1))
    chance = sum(of_labels[one] * of_answers[one] for one in of_labels) / len(pairs) ** 2
    kappa = (right.k / right.n - chance) / (1 - chance) if chance < 1 else 0.0
    cells = [f"{sum(id_ in answers for id_ in labels)} of {len(labels)}", f"{right.k / right.n:.0%}", f"{kappa:.2f}"]
    if not is_binary:
        return " | ".join([*cells, "", "", ""])
    hits = sum(label and said for label, said in pairs)
    called, true = of_answers[True], of_labels[True]
    f1 = 2 * hits / (called + true) if called + true else 0.0
    shares = [f"{hits / of:.2f}" if of else "unknown" for of in (called, true)]
    return " | ".join([*cells, *shares, f"{f1:.2f}"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.yardstick", description=__doc__)
    parser.add_argument("answers", nargs="*", type=Path)
    parser.add_argument("--questions", choices=TASKS)
    parser.add_argument("--aside", action="store_true", help="score the half that is kept aside")
    given = parser.parse_args()
    if given.questions:
        for question in TASKS[given.questions].questions():
            print(json.dumps({"task": given.questions, **question}, ensure_ascii=False))
        return
    files = {path.stem: read_answers(path) for path in given.answers}
    aside = _aside()
    print("| task | who | answered | right | κ | precision | recall | F1 |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, task in TASKS.items():
        labels = {id_: one for id_, one in task.labels().items() if not given.aside or id_ in aside}
        rows = {who: found[name] for who, found in files.items() if name in found} if files else task.rows()
        for who, answers in rows.items():
            print(f"| {name} | {who} | {score(labels, answers)} |")


if __name__ == "__main__":
    main()
