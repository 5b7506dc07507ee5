"""The sources of drafts: the newest stored runs, the knowledge files, the test set, lessons and earlier decisions.

Decisions are kept in `drafts.json` of the data folder: a rejected proposal is not made again.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from knowbound.codebase.tree import SourceTree
from knowbound.config import Settings
from knowbound.core.lesson import Lesson, LessonKind
from knowbound.core.paths import project_name
from knowbound.core.signal import Findings, Status, Topic
from knowbound.errors import StoreError
from knowbound.evals.drafts.by_model import drafts_by_model
from knowbound.evals.drafts.drafts import Drafts, draft_samples
from knowbound.evals.drafts.file import accept
from knowbound.evals.drafts.gaps import Gap, gap_of_signal, gap_of_topic
from knowbound.evals.executor import BUILT_IN
from knowbound.evals.knowledge import files_of, knowledge_globs
from knowbound.evals.questions.knowledge_text import read_knowledge
from knowbound.evals.samples.load import load_samples
from knowbound.files import replacing
from knowbound.judge.models.asking import Asker
from knowbound.stats.evaluation import Evaluation, Origin
from knowbound.stats.figures import Coverage
from knowbound.store.evaluations import Evaluations
from knowbound.store.observed import Observed, session_of
from knowbound.user_files import make_folder

_DECISIONS_FILE = "drafts.json"
_PROJECT_SECONDS = 20.0  # for the definitions of a project
_MOST_SUGGESTED = 3  # samples beside the advice to add some
_CODE = re.compile(r"`([^`]+)`")
_NEGATED = re.compile(r"(?:not|no|without)(?: in| at)? `([^`]+)`")


class Decisions(msgspec.Struct):
    """The ids of proposals that a person accepted or rejected."""

    format: str = "knowbound.drafts/1"
    accepted: list[str] = []
    rejected: list[str] = []

    def by_id(self) -> dict[str, str]:
        """Each id with "accepted" or "rejected"."""
        return dict.fromkeys(self.rejected, "rejected") | dict.fromkeys(self.accepted, "accepted")


class _Observed(msgspec.Struct, frozen=True):
    """The part of an observe report that is needed here."""

    coverage: Coverage
    topics: list[Topic] = []


def drafts_of(settings: Settings, samples: Path | None, asker: Asker | None = None, count: int = 10) -> Drafts:
    """Proposals for the test set at `samples` (None: there is none yet); a model writes at most `count`."""
    globs = knowledge_globs(settings.knowledge)
    hidden = (settings.home, *((samples,) if samples else ()))
    files = files_of(settings.root, globs, hidden)
    observed = Observed(settings.home)
    evaluation = Evaluations(settings.home).newest(Origin.WRITTEN)
    newest_run = observed.run("observe", _Observed)
    gaps = [
        *(_gaps_of_run(observed, *newest_run, settings.root) if newest_run else ()),
        *gaps_of_evaluation(evaluation),
    ]
    # The newest evaluation shows what was reached, else the observed sessions; without either, nothing was.
    coverages = [
        report.coverage for report in (evaluation, newest_run[0] if newest_run else None) if report is not None
    ]
    uncovered = set(coverages[0].uncovered) if coverages else set(files)
    existing = [sample.prompt for sample in load_samples(samples, settings.root).samples] if samples else []
    decided = decisions(settings.home)
    knowledge = read_knowledge(settings.root, files)
    if asker is not None:
        return drafts_by_model(knowledge, uncovered, gaps, existing, asker, count, decided.by_id())
    return draft_samples(gaps, knowledge, uncovered, existing, decided.by_id())


def next_questions(settings: Settings, samples: Path) -> str:
    """Return three new samples in words, for a test set that finds nothing any more; "" where rules propose none."""
    if not samples.exists():
        return ""
    drafts = reversed(drafts_of(settings, samples).drafts)
    first_of_file = {draft.covers or draft.id: draft for draft in drafts}  # reversed: the first is set last
    chosen = [*reversed(first_of_file.values())][:_MOST_SUGGESTED]
    questions = ", ".join(f"“{draft.prompt}” ({draft.covers or 'what agents looked for'})" for draft in chosen)
    return f" For example: {questions}. To add them: knowbound draft" if chosen else ""


def _gaps_of_run(observed: Observed, report: _Observed, keys: list[str], root: Path) -> Iterator[Gap]:
    """Yield the gaps of an observe report; reads the findings of the sessions that its topics begin with."""
    sessions = {example.session for topic in report.topics for example in topic.examples[:1]}
    findings = observed.findings(key for key in keys if session_of(key) in sessions)
    yield from gaps_of_topics(report.topics, findings, root)


def gaps_of_topics(topics: Iterable[Topic], findings: Iterable[Findings], root: Path) -> Iterator[Gap]:
    """Yield the topics of this project, or all if it has none, each with the prompt of the turn that shows it."""
    prompts = {
        (signal.session, signal.file, signal.line): turns.get(signal.turn, "")
        for found in findings
        for turns in [{turn.index: turn.prompt for turn in found.turns}]
        for signal in found.signals
    }
    with_id = [topic for topic in topics if topic.id]  # version 0.1 stored topics without one
    ours = [topic for topic in with_id if topic.project == project_name(str(root))]
    project = SourceTree(root, time.monotonic() + _PROJECT_SECONDS) if ours else None
    for topic in ours or with_id:
        prompt = next((prompts.get((first.session, first.file, first.line), "") for first in topic.examples), "")
        yield gap_of_topic(topic, prompt, project)


def gaps_of_evaluation(evaluation: Evaluation | None) -> list[Gap]:
    """The open and undecided signals of the complete runs, hard evidence first, with the sample's own prompt.

    A person decides about every proposal, so a search that rules left undecided is one, too. The built-in executor
    searches for the words of the sample itself: they are in the test set already.
    """
    if evaluation is None or evaluation.executor == BUILT_IN:
        return []
    runs = [run for run in evaluation.runs if run.is_complete]
    statuses = (Status.OPEN, Status.UNDECIDED)
    found = [(signal, run.prompt) for run in runs for signal in run.signals if signal.status in statuses]
    found.sort(key=lambda pair: (-pair[0].weight, statuses.index(pair[0].status)))
    return [gap_of_signal(signal, prompt) for signal, prompt in found]


def decisions(home: Path) -> Decisions:
    """Return the stored decisions about earlier drafts. Raises StoreError if the file is unreadable."""
    path = home / _DECISIONS_FILE
    if not path.exists():
        return Decisions()
    try:
        return msgspec.json.decode(path.read_bytes(), type=Decisions)
    except (OSError, msgspec.DecodeError) as error:
        raise StoreError(
            "drafts-unreadable", f"{path} cannot be used: {error}. Move it away: rejected drafts are proposed again."
        ) from error


def decide(home: Path, *, accepted: Iterable[str] = (), rejected: Iterable[str] = ()) -> None:
    """Remember which proposals a person accepted or rejected."""
    stored = decisions(home)
    stored.accepted = sorted({*stored.accepted, *accepted})
    stored.rejected = sorted({*stored.rejected, *rejected} - set(stored.accepted))
    make_folder(home)
    with replacing(home / _DECISIONS_FILE, private=True) as file:
        file.write(msgspec.json.format(msgspec.json.encode(stored), indent=2) + b"\n")


def accept_drafts(settings: Settings, ids: Sequence[str], drafts: Path, target: Path) -> list[str]:
    """Add proposals to the test set, and remember that they were accepted."""
    added = accept(ids, drafts, target)
    decide(settings.home, accepted=ids)
    return added


def sample_of_lesson(lesson: Lesson) -> dict[str, object]:
    """An entry of a samples file. The wrong names of the lesson are in the question, the right ones in the answer."""
    wrong = list(dict.fromkeys(_NEGATED.findall(lesson.text)))
    right = [name for name in dict.fromkeys(_CODE.findall(lesson.text)) if name not in wrong]
    found: dict[str, object] = {"sample_id": f"lesson-{lesson.id}", "prompt": _question(lesson, wrong, right)}
    if right:
        found["assertions"] = [{"type": "contains_any", "values": right}]
    found["provenance"] = "production-trace"
    found["metadata"] = {"drafted_from": "lesson", "lesson": lesson.id, "expected": lesson.text, "status": "accepted"}
    return found


def _question(lesson: Lesson, wrong: list[str], right: list[str]) -> str:
    """Ask what is there instead of the wrong name; without one, what there is to know about the right one."""
    if lesson.kind is LessonKind.LOCATION:
        return (
            f"Where in this project is `{wrong[0]}`, or what is there instead?"
            if wrong
            else _open_question(lesson, right)
        )
    if lesson.kind is LessonKind.COMMAND and wrong:
        return f"`{wrong[0]}` fails in this project. What has to be run instead?"
    return _open_question(lesson, right)


def _open_question(lesson: Lesson, right: list[str]) -> str:
    what = "What does one have to know" if lesson.kind is not LessonKind.CORRECTION else "What do the users expect"
    return f"{what} about `{right[0]}` in this project?" if right else f"{what} in this project before a commit?"
