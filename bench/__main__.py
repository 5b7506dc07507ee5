"""`make bench`: quality against labels first, then speed and memory against others, in one run.

python -m bench [--no-speed] [--megabytes 1024]      the size is that of the corpus for speed
"""

from __future__ import annotations

import sys

from bench import (
    audit,
    endings,
    evidence,
    hedging,
    injection,
    intents,
    learn,
    near_duplicates,
    retrieval,
    screening,
    store,
)
from bench.labels import SHARED
from bench.measuring import HALVES, options


def main() -> None:
    given = options(__doc__, no_speed=False, megabytes=1024)
    is_safe = safety()
    if not SHARED.exists():
        print(f"The shared data are not at {SHARED}: nothing else to measure against.")
        sys.exit(0 if is_safe else 1)
    quality()
    evidence.report(speed=not given.no_speed)
    intents.report()
    learn.report("", "")
    audit.report([SHARED / "traces"], aside=True, timed=not given.no_speed)
    knowledge(speed=not given.no_speed)
    if not given.no_speed:
        from bench import evaluation, hook, mcp_server, resident, retrieval_speed, speed, starts, team  # noqa: PLC0415
        from bench import quality as ended_turns  # noqa: PLC0415

        evaluation.report()
        hook.report()
        resident.report()
        ended_turns.report(kills=0, failovers=0)
        mcp_server.report()
        team.report()
        retrieval_speed.report(retrieval_speed.SIZES, retrieval_speed.FOLDER)
        starts.report()
        speed.report(given.megabytes)
    sys.exit(0 if is_safe else 1)


def quality() -> None:
    """Precision and recall of failed searches and of hedging."""
    signals = endings.observed_signals()
    print("Quality (aim: failed searches 0.95 / 0.95, hedging F1 0.85 on what the code has never seen)")
    for name, aside in HALVES:
        found = endings.measure_found(signals, aside=aside)
        print(f"  failed search  {name:13} precision {found.precision}   recall {found.recall}")
        for wrong in found.wrong if not aside else ():
            print(f"      wrong: {wrong}")
    endings.report()
    for name, rows in hedging.judged()._asdict().items():
        real = [row for row in rows if row[0].session]  # without our own sentences
        print(f"  hedging        {name.replace('_', ' '):13} {hedging.measure(real)}")


def safety() -> bool:
    """Attacks: secrets, a hostile clone, kill points, pathological shapes, fuzzed lines; whether none succeeded."""
    from bench import fuzz, hostile_clone, kills, secrets, shapes  # noqa: PLC0415
    from bench import quality as ended_turns  # noqa: PLC0415

    secrets.report()
    print("\nAttacks")
    is_kept = ended_turns.report(runs=0, at_once=0, kills=40, failovers=1, records=0)
    return all([hostile_clone.report(), kills.report(), is_kept, shapes.report(), fuzz.report()])


def knowledge(*, speed: bool) -> None:
    """Screening of items, near-duplicates, retrieval, and the embedded store under parallel writers and readers."""
    print("\nKnowledge store")
    for aside in (False, True):
        screening.report(aside=aside)
    near_duplicates.report()
    retrieval.report_locomo()
    injection.report_shared(SHARED / "injection")
    if speed:
        retrieval.report_mem0(5)
        store.report(processes=50, seconds=60)


if __name__ == "__main__":
    main()
