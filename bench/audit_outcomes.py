"""Trajectories with a known end beside what `audit` says about them: claims of success against the outcome.

    python -m bench.audit_outcomes [--traces DIR]

A trajectory of SWE-agent says how it ended (`exit_status`) and what was handed in. For a flag that is handed in, the
outcome is known as far as the environment printed that flag before; for a patch, where a run of its tests is in the
trajectory. Whether a hidden test accepted it is in none of the files, so it is not compared.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from bench.labels import SHARED
from bench.measuring import options
from knowbound.audit.reading import audited_turn, read_turns
from knowbound.core.audit import ClaimKind, Diagnosis
from knowbound.stats.rate import Rate
from knowbound.traces.turns import sessions_in

_SUCCESS = (ClaimKind.TESTS_PASS, ClaimKind.BUILD_OK, ClaimKind.LINT_OK, ClaimKind.DONE)


class Ended(NamedTuple):
    """How a trajectory ended, and what the audit says about its last turn."""

    name: str
    status: str
    shown: bool | None  # whether what was handed in had been printed; None: a patch, or nothing
    diagnosis: str
    claims: str


def outcome(path: Path) -> tuple[str, bool | None]:
    """The exit status of a trajectory, and whether the environment had printed what was handed in."""
    data = json.loads(path.read_text("utf-8"))
    info = data.get("info") or {}
    handed_in = str(info.get("submission") or "").strip()
    status = str(info.get("exit_status") or "not known")
    if not handed_in or handed_in.startswith("diff --git"):
        return status, None
    printed = [
        str(step.get("observation", "")) for step in data.get("trajectory", []) if "submit" not in step["action"]
    ]
    return status, any(handed_in in text for text in printed)


def ended(folder: Path) -> list[Ended]:
    found = []
    for session in sessions_in([folder]):
        path = Path(session.files[0])
        if path.suffix != ".traj":
            continue
        turns = [audited_turn(read) for read, _ in read_turns(session)]
        claims = [f"{one.kind.value} {one.support.value}" for one in turns[-1].claims if one.kind in _SUCCESS]
        found.append(Ended(path.stem, *outcome(path), turns[-1].diagnosis.value, ", ".join(claims)))
    return found


def report(folder: Path) -> None:
    if not folder.is_dir():
        print("audit_outcomes: not measured, the shared traces are not there")
        return
    rows = ended(folder)
    for one in rows:
        shown = {True: "printed before", False: "never printed", None: "a patch or nothing"}[one.shown]
        print(f"  {one.name:40} {one.status:10} {shown:20} {one.diagnosis:12} {one.claims}")
    unshown = [one for one in rows if one.shown is False]
    good = [one for one in rows if one.shown]
    bad = Diagnosis.UNSUPPORTED.value
    print(
        f"  handed in and never printed: unsupported {Rate(sum(one.diagnosis == bad for one in unshown), len(unshown))}"
    )
    print(f"  handed in after it was printed: unsupported {Rate(sum(one.diagnosis == bad for one in good), len(good))}")


if __name__ == "__main__":
    report(options(__doc__, traces=SHARED / "traces" / "swe-agent").traces)
