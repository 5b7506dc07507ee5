"""Precision and recall of ignored rules: `python -m bench.rules FOLDER [--aside] [--rows]`.

FOLDER has, for each project of README.md, PROJECT/root (a checkout with its history) and PROJECT/traces.
`labels.jsonl` has 312 pairs of a rule and a session, labelled on 2026-11-18 by readers who had not seen the code; half
of the sessions are kept aside. `verdicts.jsonl` has what rules and a large model together said, recorded on the same
day. The baselines say of every rule that applied that it was obeyed, or violated.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from knowbound.core.statement import RuleCheck, RuleVerdict
from knowbound.judge.models.asking import Asker
from knowbound.knowledge.rules import RuleHistory, check_sessions
from knowbound.stats.rate import Rate
from knowbound.traces.turns import sessions_in

HERE = Path(__file__).parent
BROKEN = (RuleVerdict.VIOLATED, RuleVerdict.PARTLY)


class LabelledRule(msgspec.Struct, frozen=True):
    project: str
    session: str
    file: str
    line: int
    applicable: bool
    verdict: RuleVerdict | None
    reminded: bool
    sure: bool
    aside: bool

    @property
    def place(self) -> tuple[str, str, int]:
        return self.session, self.file.lower(), self.line

    @property
    def is_broken(self) -> bool:
        return self.applicable and self.verdict in BROKEN


class SaidVerdict(msgspec.Struct, frozen=True):
    """What was said about a rule in a session."""

    session: str
    file: str
    line: int
    applicable: bool | None
    verdict: RuleVerdict | None
    reminded: bool
    by: str

    @property
    def place(self) -> tuple[str, str, int]:
        return self.session, self.file.lower(), self.line


def labels() -> list[LabelledRule]:
    return [msgspec.json.decode(line, type=LabelledRule) for line in (HERE / "labels.jsonl").read_bytes().splitlines()]


def said(folder: Path, projects: Iterable[str], asker: Asker | None = None) -> Iterator[SaidVerdict]:
    """What rules say about every rule of every session, and a model about the rest."""
    for project in projects:
        sessions = sessions_in([folder / project / "traces"])
        found = check_sessions(sessions, RuleHistory(folder / project / "root"), asker)
        yield from map(_said, found.checks)


def _said(one: RuleCheck) -> SaidVerdict:
    finding = one.finding
    return SaidVerdict(
        one.session, one.rule.file, one.rule.line, finding.applicable, finding.verdict, one.reminded, finding.by
    )


def ask_rules(asker: Asker) -> tuple[int, int]:
    """Ask about the sessions below the folder that KNOWBOUND_RULES names, and keep the verdicts at labelled lines."""
    wanted = labels()
    projects = sorted({one.project for one in wanted})
    rows = list(said(Path(os.environ["KNOWBOUND_RULES"]), projects, asker))
    text = b"".join(msgspec.json.encode(row) + b"\n" for row in rows if row.by)
    (HERE / "verdicts.jsonl").write_bytes(text)
    return len(rows), sum(not row.by for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--aside", action="store_true")
    parser.add_argument("--rows", action="store_true")
    given = parser.parse_args()
    wanted = [one for one in labels() if one.aside is given.aside]
    sessions = {one.session for one in wanted}
    rules = [one for one in said(given.folder, sorted({one.project for one in wanted})) if one.session in sessions]
    _print("rules", wanted, rules, given.rows)
    if (HERE / "verdicts.jsonl").exists():
        lines = (HERE / "verdicts.jsonl").read_bytes().splitlines()
        both = [msgspec.json.decode(line, type=SaidVerdict) for line in lines]
        _print("rules and recorded model", wanted, [one for one in both if one.session in sessions], given.rows)
    applied = [one for one in wanted if one.applicable and one.verdict is not None]
    print(f"always violated: precision {Rate(sum(one.is_broken for one in applied), len(applied))}, recall 100%")
    print(f"always obeyed: finds 0 of {sum(one.is_broken for one in applied)}")


def _print(name: str, wanted: Sequence[LabelledRule], rows: Sequence[SaidVerdict], with_rows: bool) -> None:
    """Print what was found. Readers labelled one line of a rule that is said twice: other lines are only counted."""
    by_place: dict[tuple[str, str, int], list[LabelledRule]] = {}
    for label in wanted:
        by_place.setdefault(label.place, []).append(label)
    broken = [one for one in rows if one.verdict in BROKEN]
    right = [one for one in broken if any(label.is_broken for label in by_place.get(one.place, ()))]
    unlabelled = sum(one.place not in by_place for one in broken)
    found = {one.place for one in right}
    truth = {place for place, several in by_place.items() if any(label.is_broken for label in several)}
    at_labels = Rate(len(right), len(broken) - unlabelled)
    print(f"{name}: violated or partly, precision at labelled lines {at_labels}; {unlabelled} more at other lines")
    print(f"    recall {Rate(len(found), len(truth))}; decided {sum(one.verdict is not None for one in rows)} cases")
    known = {one.place: one.verdict for one in rows if one.verdict is not None}
    pairs = [(label.verdict, known[label.place]) for label in wanted if label.verdict and label.place in known]
    print(
        f"    the same verdict as the reader: {Rate(sum(a == b for a, b in pairs), len(pairs))}; {dict(Counter(pairs))}"
    )
    reminded = {one.place for one in rows if one.reminded}
    print(f"    reminders: {len(reminded)} said, {sum(one.reminded for one in wanted)} labelled")
    if with_rows:
        for one in broken:
            if one not in right:
                said_by = [label.verdict or label.applicable for label in by_place.get(one.place, ())]
                print(f"      wrong: {one.place} {one.verdict} by {one.by}; readers: {said_by}")
        for place in sorted(truth - found):
            print(f"      missed: {place} said {known.get(place)}")


if __name__ == "__main__":
    main()
