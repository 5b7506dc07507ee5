"""How well unsupported answers are found: `python -m bench.audited FOLDER [--part first|aside|last]`.

FOLDER has a folder of traces for each project of README.md. `labels.jsonl` has 319 turns of thirteen public projects,
labelled on 2026-11-18 by two readers who saw the session and not the code. `verdicts.jsonl` has what rules and a large
model together said, recorded on the same day. The baseline calls a turn unsupported if it claims success and ran no
test.
"""

from __future__ import annotations

import argparse
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from bench.measuring import kappa_words
from knowbound.audit.asking import AskedTurn, ask_turns
from knowbound.audit.checks import Check
from knowbound.audit.reading import ReadTurn, asked_turn, audited_turn, read_turns, take_answer
from knowbound.core.audit import AuditedTurn, ClaimKind, Diagnosis
from knowbound.judge.models.asking import Asker
from knowbound.stats.rate import Rate
from knowbound.traces.turns import sessions_in

HERE = Path(__file__).parent
UNSUPPORTED, INCOMPLETE, OTHER = "unsupported", "incomplete", "other"
_SUCCESS = (ClaimKind.TESTS_PASS, ClaimKind.BUILD_OK, ClaimKind.LINT_OK, ClaimKind.DONE)


class LabelledTurn(msgspec.Struct, frozen=True):
    """What two readers say about a turn: incomplete, chat, unsupported, other; `kind` of the worst claim."""

    project: str
    session: str
    turn: int
    message_id: str
    first: str = ""
    second: str = ""
    kind: str = ""
    part: str = ""  # first and aside: sessions of the same projects; last: other projects, looked at once

    @property
    def key(self) -> tuple[str, int]:
        return self.session, self.turn

    @property
    def is_both(self) -> bool:
        """Both readers call it unsupported."""
        return self.first == self.second == UNSUPPORTED

    @property
    def is_either(self) -> bool:
        """One of them does."""
        return UNSUPPORTED in (self.first, self.second)


class SaidTurn(msgspec.Struct, frozen=True):
    """The diagnosis of a turn by rules and model, and the kinds of its unsupported claims."""

    session: str
    turn: int
    diagnosis: Diagnosis
    kinds: tuple[str, ...] = ()


def labels() -> list[LabelledTurn]:
    return [msgspec.json.decode(line, type=LabelledTurn) for line in (HERE / "labels.jsonl").read_bytes().splitlines()]


def read(folder: Path, wanted: Sequence[LabelledTurn]) -> Iterator[tuple[LabelledTurn, ReadTurn, AskedTurn | None]]:
    """Yield the labelled turns as rules read them, each with what a question about it needs."""
    by_key = {one.key: one for one in wanted}
    sessions = {one.session for one in wanted}
    for project in sorted({one.project for one in wanted}):
        for session in sessions_in([folder / project]):
            if session.session not in sessions:
                continue
            for one, view in read_turns(session):
                label = by_key.get((one.turn.session, one.turn.index))
                if label is not None:
                    has_answer = one.answer is not None and not one.unanswered
                    yield label, one, asked_turn(one, view) if has_answer else None


def ask_audited(asker: Asker) -> tuple[int, int]:
    """Ask about the labelled turns below the folder that KNOWBOUND_AUDITED names, and keep the verdicts."""
    parts = os.environ.get("KNOWBOUND_PART", "first aside last").split()
    wanted = [one for one in labels() if one.part in parts]
    found = list(read(Path(os.environ["KNOWBOUND_AUDITED"]), wanted))
    asked = [(one, question) for _, one, question in found if question is not None]
    answers = ask_turns([question for _, question in asked], asker)
    for (one, _), answered in zip(asked, answers, strict=True):
        take_answer(one, answered, asker.judge)
    rows = [_said(audited_turn(one)) for _, one, _ in found]
    (HERE / "verdicts.jsonl").write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    missing = sum(answered.claims is None for answered in answers)
    return len(answers) - missing, missing


def _said(turn: AuditedTurn) -> SaidTurn:
    bad = [one.kind.value for one in turn.claims if one.important and one.support in ("unseen", "contradicted")]
    return SaidTurn(turn.session, turn.turn, turn.diagnosis, tuple(dict.fromkeys(bad)))


def naive(one: ReadTurn) -> Diagnosis:
    """The plain baseline: success is claimed, and no test ran in the turn."""
    if one.unanswered:
        return Diagnosis.INCOMPLETE
    tested = any(Check.TEST in run.kinds for run in one.facts.runs)
    claims = any(each.claim.kind in _SUCCESS for each in one.checked)
    return Diagnosis.UNSUPPORTED if claims and not tested else Diagnosis.GROUNDED


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--part", choices=("first", "aside", "last"), default="first")
    given = parser.parse_args()
    wanted = [one for one in labels() if one.part == given.part]
    found = list(read(given.folder, wanted))
    rules = {label.key: _said(audited_turn(one)) for label, one, _ in found}
    pairs = [(one.first, one.second) for one in wanted]
    print(f"{len(wanted)} turns, {len(found)} found; the two readers: {kappa_words(pairs)}")
    both, either = sum(one.is_both for one in wanted), sum(one.is_either for one in wanted)
    print(f"unsupported by both readers {both}, by either {either}")
    _print("rules", wanted, lambda one: rules.get(one.key))
    lines = (HERE / "verdicts.jsonl").read_bytes().splitlines() if (HERE / "verdicts.jsonl").exists() else []
    model = {(one.session, one.turn): one for one in (msgspec.json.decode(line, type=SaidTurn) for line in lines)}
    _print("rules and recorded model", wanted, lambda one: model.get(one.key))
    plain = {label.key: SaidTurn(*label.key, naive(one)) for label, one, _ in found}
    _print("success and no test", wanted, lambda one: plain.get(one.key))


def _print(name: str, wanted: Sequence[LabelledTurn], said: Callable[[LabelledTurn], SaidTurn | None]) -> None:
    known = [(one, verdict) for one in wanted if (verdict := said(one)) is not None]
    named = [one for one, verdict in known if verdict.diagnosis is Diagnosis.UNSUPPORTED]
    right = Rate(sum(one.is_either for one in named), len(named))
    strict = Rate(sum(one.is_both for one in named), len(named))
    print(f"{name}: {len(known)} turns")
    print(f"    unsupported: precision {right} (both readers: {strict})")
    for title, real in (
        ("both", [one for one, _ in known if one.is_both]),
        ("either", [one for one, _ in known if one.is_either]),
    ):
        print(f"    recall, {title}: {Rate(sum(one in named for one in real), len(real))}")
    cut = [verdict for one, verdict in known if INCOMPLETE in (one.first, one.second)]
    print(f"    incomplete found: {Rate(sum(one.diagnosis is Diagnosis.INCOMPLETE for one in cut), len(cut))}")
    kinds = Counter(one.kind for one, _ in known if one.is_either)
    hit = Counter(one.kind for one in named if one.is_either)
    print("    by kind: " + ", ".join(f"{kind} {hit[kind]} of {count}" for kind, count in kinds.most_common()))
    wrong = Counter(kind for one, verdict in known for kind in verdict.kinds if one in named and not one.is_either)
    print(f"    false, by kind of claim: {dict(wrong)}")
    projects = sorted({one.project for one in wanted})
    rows = ((each, [one for one in named if one.project == each]) for each in projects)
    print(
        "    by project: "
        + ", ".join(f"{each} {sum(one.is_either for one in own)} of {len(own)}" for each, own in rows)
    )


if __name__ == "__main__":
    main()
