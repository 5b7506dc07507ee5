"""How well net and judge find doubt: precision and recall on hand-labelled sentences, k of n.

`python -m bench.hedging` cross-validates on the development sessions (the weights never saw the session they are
measured on); `--aside` measures the shipped weights on the sessions kept aside.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

from bench.labels import labels
from bench.train_hedging import Example, examples, fit, texts
from knowbound.gaps.hedging import hedging_candidates
from knowbound.judge.hedging.rules import RulesJudge
from knowbound.stats.rate import Rate

_FOLDS = 8


class Measured(NamedTuple):
    """Of the sentences called doubt, how many are; of those that are doubt, how many were called so."""

    precision: Rate
    recall: Rate


def measure(*, aside: bool = False, net_only: bool = False) -> Measured:
    """Out-of-fold figures on the development sessions, or those of the shipped weights on the ones kept aside."""
    rows = labels("sentences", aside=aside)
    said = texts((row["session"], row["message_id"]) for row in rows)
    judge_of = _shipped() if aside else _out_of_fold(examples())
    return _measured(rows, said, judge_of, net_only)


def _shipped() -> Callable[[str], RulesJudge]:
    judge = RulesJudge()
    return lambda session: judge


def _out_of_fold(data: list[Example]) -> Callable[[str], RulesJudge]:
    """For each session a judge that learnt from the other folds and our own sentences."""
    judges = [
        RulesJudge(fit([example for example in data if not example.session or _fold(example.session) != fold]))
        for fold in range(_FOLDS)
    ]
    return lambda session: judges[_fold(session)]


def _fold(session: str) -> int:
    return hashlib.sha256(session.encode()).digest()[1] % _FOLDS


def _measured(
    rows: list[dict[str, Any]], said: dict[str, list[str]], judge_of: Callable[[str], RulesJudge], net_only: bool
) -> Measured:
    called, doubt, right = 0, 0, 0
    for row in rows:
        found = [c for text in said.get(row["message_id"], []) for c in hedging_candidates(text)]
        verdicts = judge_of(row["session"]).judge(found)
        hit = any(
            (net_only or (verdict and verdict.is_uncertainty))
            and (candidate.sentence in row["sentence"] or row["sentence"] in candidate.sentence)
            for candidate, verdict in zip(found, verdicts, strict=True)
        )
        called += hit
        doubt += row["uncertain"]
        right += hit and row["uncertain"]
    return Measured(Rate(right, called), Rate(right, doubt))


def main() -> None:
    """Print the table."""
    aside = "--aside" in sys.argv[1:]
    print("sessions kept aside" if aside else f"development sessions, {_FOLDS}-fold by session")
    for name, net_only in (("net alone", True), ("net and judge", False)):
        found = measure(aside=aside, net_only=net_only)
        print(f"{name:14} precision {found.precision}   recall {found.recall}")


if __name__ == "__main__":
    main()
