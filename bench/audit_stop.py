"""What the check before an agent stops would have said on recorded turns, and how long it takes in a fresh process.

    python -m bench.audit_stop [--traces DIR] [--sentences FILE] [--no-speed]

`--sentences` writes each sentence with the key of its turn, for a reader. The time is that of a fresh interpreter that
checks one transcript, in turns with `python -c pass`; the transcripts are the real ones, the smallest to the largest.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.labels import SHARED
from bench.measuring import options, process_ms
from knowbound.audit.reading import read_turns
from knowbound.audit.stop import sentence, to_name
from knowbound.core.audit import Claim
from knowbound.stats.rate import Rate
from knowbound.traces.turns import sessions_in

_TRANSCRIPTS = 6  # that are timed, evenly by size
_TIMES = 5
_SCRIPT = (
    "import sys, time; from pathlib import Path; from knowbound.audit.stop import check_answer; "
    "check_answer(Path(sys.argv[1]), 'Done. All tests pass.', time.monotonic() + 20)"
)


class Said(NamedTuple):
    """A sentence, and the turn that it is about."""

    session: str
    turn: int
    path: str
    line: int
    sentence: str
    claim: str


def said(folder: Path) -> Iterator[Said | None]:
    """For every answer what the check would have said, or None."""
    for session in sessions_in([folder]):
        for read, view in read_turns(session):
            if read.unanswered or read.answer is None:
                continue
            claim: Claim | None = None
            if (read.facts.calls or view.last_code_edit) and not read.facts.waits:
                claim = to_name(read.answer, read.facts, view)
            turn = read.turn
            where = turn.session, turn.index, turn.prompt.path, turn.prompt.line
            yield None if claim is None else Said(*where, sentence(claim), claim.text)


def speed(folder: Path) -> None:
    """The check on transcripts of all sizes, beside the bare interpreter."""
    files = sorted((Path(path).stat().st_size, path) for one in sessions_in([folder]) for path in one.files[:1])
    step = max(1, (len(files) - 1) // (_TRANSCRIPTS - 1))
    print("\nTime of the check in a fresh process, in turns with python -c pass (medians of 5; clock: the quickest)")
    for size, path in dict.fromkeys([*files[::step], files[-1]]):
        bare, ours = [], []
        for _ in range(_TIMES):
            bare.append(process_ms([sys.executable, "-c", "pass"]))
            ours.append(process_ms([sys.executable, "-c", _SCRIPT, path]))
        first, second = (statistics.median(cpu for _, cpu in times) for times in (bare, ours))
        clock = min(wall for wall, _ in ours)
        print(f"  {size / 1e6:7.2f} MB   processor {second:5.0f} ms, {second / first:5.1f} times python -c pass "
              f"clock {clock:5.0f} ms")  # fmt: skip


def report(folder: Path, sentences: Path | None = None, *, timed: bool = True) -> None:
    """Print how often it would have spoken, and how long it takes."""
    if not folder.is_dir():
        print("audit_stop: not measured, the shared traces are not there")
        return
    found = list(said(folder))
    spoken = [one for one in found if one is not None]
    print(f"The check before an agent stops would have spoken on {Rate(len(spoken), len(found))} of the answers")
    if sentences is not None:
        lines = (json.dumps(one._asdict(), ensure_ascii=False) + "\n" for one in spoken)
        sentences.write_text("".join(lines), "utf-8")
    if timed:
        speed(folder)


if __name__ == "__main__":
    given = options(__doc__, traces=SHARED / "traces", sentences=None, no_speed=False)
    report(given.traces, given.sentences, timed=not given.no_speed)
