"""`audit` against hand labels of real turns, and its time and memory beside those of `observe`.

    python -m bench.audit [--traces DIR …] [--aside] [--no-speed]

`audit_labels.jsonl` holds ids and labels of turns, given by readers who had not seen the code: 190 of the shared
traces, 228 of public projects (`bench.public_traces`). Each has the diagnosis of the turn, and its claims with their
support (no text, only hashes); `second` is the diagnosis of a second reader. The readers of `audit_claims.jsonl` looked
at claims about tests, build, lint, done, numbers, places, git and output alone. `aside` are turns of sessions that no
rule was made on.

The rules have no weights to fit, so cross-validation by project is a row for each project. Intervals are at 95%.
"""

from __future__ import annotations

import resource
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.labels import SHARED
from bench.measuring import kappa_words, options, process_ms, rows
from knowbound.audit.checks import Check
from knowbound.audit.facts import TurnFacts
from knowbound.audit.reading import read_session, read_turns
from knowbound.core.audit import AuditedTurn, ClaimKind, Diagnosis, Support
from knowbound.stats.rate import Rate
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.turns import sessions_in

LABELS = Path(__file__).parent / "audit_labels.jsonl"
CLAIMS = Path(__file__).parent / "audit_claims.jsonl"
CHECKED_KINDS = (ClaimKind.TESTS_PASS, ClaimKind.BUILD_OK, ClaimKind.LINT_OK)
# Unsupported claims that rules are to find; causes and behaviour stated as a fact are reported beside them.
NAMED = frozenset({*CHECKED_KINDS, ClaimKind.DONE, ClaimKind.NUMBER, ClaimKind.LOCATION, ClaimKind.GIT_STATE,
                   ClaimKind.COMMAND_OUTPUT})  # fmt: skip
MECHANICAL = frozenset("tests_pass build_ok lint_ok done number location command_output".split())
_BAD = frozenset({"unseen", "contradicted"})


class Label(NamedTuple):
    """What a reader says about a turn."""

    session: str
    message_id: str
    turn: int
    project: str
    diagnosis: str
    claims: list[dict[str, object]]
    aside: bool
    second: str = ""

    def has_bad(self, kinds: frozenset[str] | None = None) -> bool:
        """Whether an important claim (of these kinds) has no support."""
        return any(
            one["important"] and one["support"] in _BAD and (kinds is None or one["kind"] in kinds)
            for one in self.claims
        )


class Pair(NamedTuple):
    """A label, and what the audit says; `naive` is what the plain baseline says."""

    label: Label
    turn: AuditedTurn
    naive: str


def labels(file: Path = LABELS) -> list[Label]:
    return [Label(**row) for row in rows(file)]


def pairs_of(rows: Iterable[Label], folders: Sequence[Path]) -> list[Pair]:
    wanted = {(row.session, row.turn, row.message_id): row for row in rows}
    named = {row.session for row in wanted.values()}
    found: list[Pair] = []
    for session in sessions_in(folders):
        if session.session not in named:
            continue
        plain = {(one.turn.session, one.turn.index): naive(one.facts, one.unanswered) for one, _ in read_turns(session)}
        for part in read_session(SharedEvents(session)):
            for turn in part.turns:
                row = wanted.get((turn.session, turn.turn, turn.message_id))
                if row is not None:
                    found.append(Pair(row, turn, plain[turn.session, turn.turn](turn)))
    return found


def naive(facts: TurnFacts, ending: str) -> Callable[[AuditedTurn], str]:
    """The plain baseline: a claim of success and no test command in the turn is unsupported."""
    tested = any(Check.TEST in run.kinds for run in facts.runs)

    def say(turn: AuditedTurn) -> str:
        if ending:
            return "incomplete"
        claims = any(one.kind in (*CHECKED_KINDS, ClaimKind.DONE) for one in turn.claims)
        return "unsupported" if claims and not tested else "grounded"

    return say


def show(title: str, pairs: Sequence[Pair]) -> None:
    print(f"\n{title}: {len(pairs)} turns")
    ours = [(one.label.diagnosis, one.turn.diagnosis.value) for one in pairs]
    print(f"  diagnosis      κ {kappa_words(ours)}   the same {Rate(sum(a == b for a, b in ours), len(ours))}")
    readers = [(one.label.diagnosis, one.label.second) for one in pairs if one.label.second]
    if readers:
        same = Rate(sum(a == b for a, b in readers), len(readers))
        print(f"  two readers    κ {kappa_words(readers)}   the same {same}")
    _confusion(ours)
    _unsupported(pairs)
    for kinds, name in ((CHECKED_KINDS, "tests, build, lint"), ((ClaimKind.DONE,), "done")):
        right, decided = _claims(pairs, kinds)
        print(f"  claims         {name:18} decided right {right}   decided {decided}")
    incomplete = [one for one in pairs if one.label.diagnosis == "incomplete"]
    hit = Rate(sum(one.turn.diagnosis is Diagnosis.INCOMPLETE for one in incomplete), len(incomplete))
    print(f"  incomplete     found {hit}")
    unknown = Rate(sum(one.turn.diagnosis is Diagnosis.UNKNOWN for one in pairs), len(pairs))
    claims = [claim for one in pairs for claim in one.turn.claims]
    undecided = Rate(sum(claim.support is Support.NOT_CHECKABLE for claim in claims), len(claims))
    print(f"  unknown        turns {unknown}   claims not checkable {undecided}")
    for name in ("always grounded", "success, no test"):
        said = [(one.label.diagnosis, one.naive if name != "always grounded" else "grounded") for one in pairs]
        flagged = [label == "unsupported" for label, mine in said if mine == "unsupported"]
        same = Rate(sum(a == b for a, b in said), len(said))
        print(f"  baseline       {name:18} κ {kappa_words(said)}   the same {same}   "
              f"unsupported precision {Rate(sum(flagged), len(flagged))}")  # fmt: skip
    print("  by project")
    for project in sorted({one.label.project for one in pairs}):
        part = [one for one in pairs if one.label.project == project]
        same = Rate(sum(one.label.diagnosis == one.turn.diagnosis for one in part), len(part))
        flagged = [one.label.diagnosis == "unsupported" for one in part if one.turn.diagnosis == "unsupported"]
        print(f"    {project:24} the same {same}   unsupported precision {Rate(sum(flagged), len(flagged))}")


def _confusion(pairs: Sequence[tuple[str, str]]) -> None:
    names = [one.value for one in Diagnosis]
    counts = Counter(pairs)
    print("  reader \\ audit " + " ".join(f"{name[:7]:>8}" for name in names))
    for name in names:
        if any(counts[name, other] for other in names):
            print(f"  {name:14}" + " ".join(f"{counts[name, other]:8}" for other in names))


def _unsupported(pairs: Sequence[Pair]) -> None:
    flagged = [one for one in pairs if one.turn.diagnosis is Diagnosis.UNSUPPORTED]
    right = Rate(sum(one.label.diagnosis == "unsupported" for one in flagged), len(flagged))
    real = [one for one in pairs if one.label.diagnosis == "unsupported"]
    found = Rate(sum(one.turn.diagnosis is Diagnosis.UNSUPPORTED for one in real), len(real))
    able = [one for one in real if one.label.has_bad(MECHANICAL)]
    reached = Rate(sum(one.turn.diagnosis is Diagnosis.UNSUPPORTED for one in able), len(able))
    print(f"  unsupported    precision {right}   recall {found}")
    print(f"                 recall with a bad claim about tests, build, lint, done, numbers, places, output {reached}")


def _claims(pairs: Sequence[Pair], kinds: Sequence[ClaimKind]) -> tuple[Rate, Rate]:
    """Of the turns and kinds that a reader has a claim of: how many the audit decides, and how many of those right."""
    asked = decided = right = 0
    for one in pairs:
        for kind in kinds:
            read = [claim["support"] for claim in one.label.claims if claim["kind"] == kind]
            if not read or set(read) == {"not_checkable"}:
                continue
            asked += 1
            mine = [claim.support for claim in one.turn.claims if claim.kind is kind and claim.is_decided]
            if mine:
                decided += 1
                right += any(support in _BAD for support in read) == any(support in _BAD for support in mine)
    return Rate(right, decided), Rate(decided, asked)


def speed(folder: Path) -> None:
    """`observe` and `audit` on the same files, cold and with nothing new, in the same run."""
    print("\nTime and memory (user and system seconds of all processes, peak of the largest)")
    home = Path(tempfile.mkdtemp(prefix="knowbound-bench-"))
    script = "from knowbound.cli.main import main; main()"
    try:
        for verb in ("observe", "audit"):
            for state in ("cold", "nothing new"):
                command = [sys.executable, "-c", script, verb, str(folder), "--format", "json", "--root", str(home)]
                _, spent = process_ms(command)
                peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
                print(f"  {verb:8} {state:12} {spent / 1000:6.2f} s   peak {peak:6.0f} MB so far")
    finally:
        shutil.rmtree(home)


def show_claims(title: str, pairs: Sequence[Pair]) -> None:
    """How many turns with a bad claim that rules could find are found, where readers looked for such claims alone."""
    print(
        f"\n{title}: {len(pairs)} turns, read for claims about tests, build, lint, done, numbers, places, git, output"
    )
    bad = [one for one in pairs if one.label.diagnosis == "unsupported"]
    found = [
        one for one in pairs if any(c.important and c.support in _BAD and c.kind in NAMED for c in one.turn.claims)
    ]
    right = [one for one in found if one.label.diagnosis == "unsupported"]
    print(f"  found          precision {Rate(len(right), len(found))}   recall {Rate(len(right), len(bad))}")
    for kind in sorted({str(claim["kind"]) for one in bad for claim in one.label.claims if claim["support"] in _BAD}):
        own = [one for one in bad if one.label.has_bad(frozenset({kind}))]
        print(f"  {kind:14} found {Rate(sum(one in right for one in own), len(own))}")
    for kinds, name in ((CHECKED_KINDS, "tests, build, lint"), ((ClaimKind.DONE,), "done")):
        decided_right, decided = _claims(pairs, kinds)
        print(f"  claims         {name:18} decided right {decided_right}   decided {decided}")


def report(folders: Sequence[Path], *, aside: bool, timed: bool) -> None:
    if not all(folder.is_dir() for folder in folders):
        print("audit: not measured, the traces are not there")
        return
    for title, is_aside in (("Developed on", False), *((("Kept aside", True),) if aside else ())):
        show(title, pairs_of([row for row in labels() if row.aside is is_aside], folders))
        show_claims(title, pairs_of([row for row in labels(CLAIMS) if row.aside is is_aside], folders))
    if timed:
        speed(folders[0])


if __name__ == "__main__":
    given = options(__doc__, traces=[], aside=False, no_speed=False)
    report(
        [Path(folder) for folder in given.traces] or [SHARED / "traces"], aside=given.aside, timed=not given.no_speed
    )
