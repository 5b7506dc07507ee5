"""How well the status of misses is decided: `python -m bench.statuses FOLDER [--aside]`.

FOLDER has a folder of traces for each project of README.md. `labels.jsonl` has 202 misses of five public projects that
no rule was made on, labelled on 2026-11-18 by two readers who saw the whole turn and not the code; half of the sessions
are kept aside. `verdicts.jsonl` has what rules and a large model together said, recorded on the same day. The baseline
calls every miss resolved.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from bench.measuring import kappa_words
from knowbound.core.signal import Findings, SignalType, Status
from knowbound.gaps.asking import decide_misses
from knowbound.gaps.endings import settle
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.judge.models.asking import Asker
from knowbound.stats.rate import Rate
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.turns import sessions_in

HERE = Path(__file__).parent


class LabelledMiss(msgspec.Struct, frozen=True):
    project: str
    session: str
    call_id: str
    first: Status
    second: Status
    ending: str
    cost: int
    matters: bool
    aside: bool


class SaidStatus(msgspec.Struct, frozen=True):
    call_id: str
    status: Status


def labels() -> list[LabelledMiss]:
    return [msgspec.json.decode(line, type=LabelledMiss) for line in (HERE / "labels.jsonl").read_bytes().splitlines()]


def findings(folder: Path, projects: Iterable[str]) -> list[Findings]:
    """The findings of the projects' sessions by rules; hedges are kept as they are."""
    found = []
    for project in projects:
        for session in sessions_in([folder / project]):
            for one in read_session(SharedEvents(session), LensSettings()):
                settle(one)
                found.append(one)
    return found


def statuses(found: Iterable[Findings]) -> dict[str, Status]:
    return {
        call: signal.status
        for one in found
        for signal in one.signals
        if signal.type is SignalType.FAILED_SEARCH
        for call in signal.call_ids
    }


def ask_statuses(asker: Asker) -> tuple[int, int]:
    """Ask about the sessions below the folder that KNOWBOUND_MISSES names, and keep the statuses of labelled misses."""
    wanted = {one.call_id for one in labels()}
    found = findings(Path(os.environ["KNOWBOUND_MISSES"]), sorted({one.project for one in labels()}))
    decide_misses(found, asker, lambda _agent: True)
    said = statuses(found)
    rows = [SaidStatus(call, said[call]) for call in sorted(wanted) if call in said]
    (HERE / "verdicts.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    undecided = sum(row.status is Status.UNDECIDED for row in rows)
    return len(rows) - undecided, undecided


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--aside", action="store_true")
    given = parser.parse_args()
    wanted = [one for one in labels() if one.aside is given.aside]
    rules = statuses(findings(given.folder, sorted({one.project for one in wanted})))
    firsts, seconds = [one.first for one in wanted], [one.second for one in wanted]
    print(f"{len(wanted)} misses; the two readers: {kappa_words(list(zip(firsts, seconds, strict=True)))}")
    print(f"open by the readers: {firsts.count(Status.OPEN)} and {seconds.count(Status.OPEN)}")
    _print("rules", wanted, rules)
    if (HERE / "verdicts.jsonl").exists():
        lines = (HERE / "verdicts.jsonl").read_bytes().splitlines()
        said = (msgspec.json.decode(line, type=SaidStatus) for line in lines)
        _print("rules and recorded model", wanted, {one.call_id: one.status for one in said})
    _print("every miss is resolved", wanted, {one.call_id: Status.RESOLVED for one in wanted})


def _print(name: str, wanted: Sequence[LabelledMiss], said: dict[str, Status]) -> None:
    known = [(one, said[one.call_id]) for one in wanted if one.call_id in said]
    pairs = [(one.first, status) for one, status in known if status is not Status.UNDECIDED]
    same = Rate(sum(one in (label.first, label.second) for label, one in known), len(known))
    opens = [label for label, status in known if status is Status.OPEN]
    right = sum(Status.OPEN in (label.first, label.second) for label in opens)
    undecided = sum(status is Status.UNDECIDED for _, status in known)
    print(f"{name}: with the first reader {kappa_words(pairs)} over {len(pairs)} decided; as one of them {same}")
    print(f"    open: {Rate(right, len(opens))} right; from {len(opens)} to {len(opens) + undecided} of {len(known)}")
    counts = Counter((label.first.value, status.value) for label, status in known)
    print(f"    reader, said: {dict(counts.most_common())}")


if __name__ == "__main__":
    main()
