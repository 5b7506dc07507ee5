"""Labelled sets that a recorded large model answered, and how each is asked."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.audited.__main__ import ask_audited
from bench.choices.__main__ import asked_prompts, chosen_by
from bench.filled import ask_filled
from bench.investigated import ask_investigations
from bench.junk.__main__ import ask_junk
from bench.labels import SHARED
from bench.learn import ask_lessons
from bench.real_turns import written_items
from bench.rescue import ask_rescues
from bench.rules.__main__ import ask_rules
from bench.scope import ask_scope
from bench.statements.__main__ import ask_statements
from bench.statuses.__main__ import ask_statuses
from bench.stop_answers.__main__ import ask_stop
from bench.train_hedging import examples
from bench.turn_sets import LabelledTurn, read_set
from knowbound.judge import tryout
from knowbound.judge.hedging.verdict import HedgingCandidate
from knowbound.judge.model_judges import ModelHedgingJudge, ModelTurnJudge
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Recorded
from knowbound.judge.names import JudgeOptions
from knowbound.judge.prompts import load_prompt

HERE = Path(__file__).parent
ANSWERS = HERE / "answers"
UNSEEN = HERE / "unseen"
# About recordings that are not part of this repository.
_OUTSIDE = ("audited", "real", "sentences", "statements", "rules", "statuses", "lessons", "rescues", "investigations")


class LabelledHedge(msgspec.Struct, frozen=True):
    """A sentence with its passage, the user's question, and whether it is doubt."""

    id: str
    sentence: str
    uncertain: bool
    context: str = ""
    question: str = ""
    lang: str = ""
    kind: str = ""

    @property
    def candidate(self) -> HedgingCandidate:
        return HedgingCandidate(self.sentence, self.context, self.question)


class RecordedSet(NamedTuple):
    """How a set is asked: gives the numbers of answered and undecided entries."""

    ask: Callable[[Asker], tuple[int, int]]


def asker_of(path: Path) -> Asker:
    """What replays a file of recordings; it says how many of them are stale."""
    recorded = Recorded(path)
    for prompt in (load_prompt("turns"), load_prompt("hedging"), load_prompt("choose")):
        stale, of = recorded.stale(prompt.version)
        if stale:
            print(f"{stale} of {of} recordings in {path.name} are stale: they are of another version of {prompt.name}")
    return Asker("a large model", recorded, JudgeOptions(retries=0), recorded)


def recording_of(name: str, folder: Path | None = None) -> Path:
    """The file of recordings of a set; of real sessions it lies outside of the repository."""
    if name in _OUTSIDE:
        assert folder is not None, f"answers about {name} are not part of this repository: name their folder"
        return folder / f"{name}.jsonl"
    if name == "tryout":
        return Path(tryout.__file__).parent / "tryout_cases" / "answers.jsonl"
    return ANSWERS / f"{name}.jsonl"


def hedges(path: Path = UNSEEN / "hedges.jsonl") -> list[LabelledHedge]:
    return [msgspec.json.decode(line, type=LabelledHedge) for line in path.read_bytes().splitlines() if line]


def sentences() -> list[LabelledHedge]:
    """The labelled candidates of real sessions beside the repository; without them there are none."""
    if not SHARED.is_dir():
        return []
    return [
        LabelledHedge(
            f"{example.session}/{at}/{number}", one.sentence, example.uncertain, one.context, kind=example.source
        )
        for at, example in enumerate(examples())
        if example.source in ("shared", "reader")
        for number, one in enumerate(example.candidates)
    ]


def _ask_turns(turns: Sequence[LabelledTurn], asker: Asker) -> tuple[int, int]:
    judged = ModelTurnJudge("recorded", True, asker).judge([one.turn for one in turns])
    answered = sum(len(one.verdicts) for one in judged)
    return answered, sum(len(one.labels) for one in turns) - answered


def _ask_hedges(several: Sequence[LabelledHedge], asker: Asker) -> tuple[int, int]:
    judge = ModelHedgingJudge("recorded", True, asker)
    judge.judge([one.candidate for one in several])
    answered = sum(judge.known(one.candidate) is not None for one in several)
    return answered, len(several) - answered


def _ask_tryout(asker: Asker) -> tuple[int, int]:
    found = tryout.measured(asker)
    of = sum(one.model.n for one in found)
    undecided = sum(bool(one.problem) for one in found)
    return of, undecided


def _ask_choices(asker: Asker, size: int = 0) -> tuple[int, int]:
    """Ask about the stores as they are, or filled up with the documents in the folder that KNOWBOUND_FILLER names."""
    names = ("prompts",) if size else ("prompts", "hostile")
    filler = Path(os.environ["KNOWBOUND_FILLER"]) if size else None
    with tempfile.TemporaryDirectory() as folder:
        found = chosen_by(asker, list(asked_prompts(Path(folder), names, size, filler)))
    return sum(one is not None for one in found), sum(one is None for one in found)


SETS = {
    "choices": RecordedSet(_ask_choices),
    "choices-5000": RecordedSet(lambda asker: _ask_choices(asker, 5000)),
    "tryout": RecordedSet(_ask_tryout),
    "turns": RecordedSet(lambda asker: _ask_turns(read_set(UNSEEN / "turns.jsonl"), asker)),
    "hostile": RecordedSet(lambda asker: _ask_turns(read_set(UNSEEN / "hostile_turns.jsonl"), asker)),
    "hedges": RecordedSet(lambda asker: _ask_hedges(hedges(), asker)),
    "real": RecordedSet(lambda asker: _ask_turns(written_items(), asker)),
    "hedges-specified": RecordedSet(lambda asker: _ask_hedges(hedges(UNSEEN / "hedges_specified.jsonl"), asker)),
    "hedges-fresh": RecordedSet(lambda asker: _ask_hedges(hedges(UNSEEN / "hedges_fresh.jsonl"), asker)),
    "scope": RecordedSet(ask_scope),
    "junk": RecordedSet(ask_junk),
    "stop": RecordedSet(ask_stop),
    "statements": RecordedSet(ask_statements),
    "rules": RecordedSet(ask_rules),
    "statuses": RecordedSet(ask_statuses),
    "audited": RecordedSet(ask_audited),
    "lessons": RecordedSet(ask_lessons),
    "rescues": RecordedSet(ask_rescues),
    "investigations": RecordedSet(ask_investigations),
    "filled": RecordedSet(ask_filled),
    "sentences": RecordedSet(lambda asker: _ask_hedges(sentences(), asker)),
}
