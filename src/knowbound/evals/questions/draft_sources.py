"""The sources of drafts: the newest stored runs, the knowledge files, the test set, lessons and earlier decisions.

Decisions are kept in `drafts.json` of the data folder: a rejected proposal is not made again.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from knowbound.codebase.tree import SourceTree
from knowbound.config import Settings
from knowbound.core.paths import DOCUMENTS, extension, is_test, project_name
from knowbound.core.signal import Findings, Signal, SignalType, Status, Topic
from knowbound.errors import StoreError
from knowbound.evals.executor import BUILT_IN
from knowbound.evals.knowledge import files_of, knowledge_globs
from knowbound.evals.questions.draft_file import accept
from knowbound.evals.questions.drafts import Drafts, Gap, draft_samples, is_in_code
from knowbound.evals.questions.drafts_by_model import drafts_by_model
from knowbound.evals.questions.knowledge_text import read_knowledge
from knowbound.evals.samples.load import load_samples
from knowbound.files import replacing
from knowbound.gaps.wanted import plain_name, specific_words
from knowbound.judge.models.asking import Asker
from knowbound.report.topics import cost_words, endings_words
from knowbound.stats.evaluation import Evaluation, Origin
from knowbound.stats.figures import Coverage
from knowbound.store.evaluations import Evaluations
from knowbound.store.observed import Observed, session_of
from knowbound.user_files import make_folder

_DECISIONS_FILE = "drafts.json"
_PROJECT_SECONDS = 20.0  # for the definitions of a project
_MOST_SUGGESTED = 3  # samples beside the advice to add some


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
    gaps: list[Gap] = []
    uncovered = set(files)  # without an evaluation or a run nothing was reached
    if newest_run:
        report, keys = newest_run
        # The findings of the sessions that its topics begin with.
        sessions = {example.session for topic in report.topics for example in topic.examples[:1]}
        findings = observed.findings(key for key in keys if session_of(key) in sessions)
        gaps, uncovered = list(gaps_of_topics(report.topics, findings, settings.root)), set(report.coverage.uncovered)
    if evaluation:
        # What no sample reached needs a sample, also where sessions reached it.
        gaps, uncovered = gaps + gaps_of_evaluation(evaluation), set(evaluation.coverage.uncovered)
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


def gaps_of_topics(topics: Iterable[Topic], findings: Iterable[Findings], root: Path) -> Iterator[Gap]:
    """Yield the topics of this project, or all if it has none, each with the prompt of the turn that shows it."""
    prompts = {  # by the place of a signal
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
    stored.rejected = sorted({*stored.rejected, *rejected} - set(stored.accepted))  # those are in the test set
    make_folder(home)
    with replacing(home / _DECISIONS_FILE, private=True) as file:
        file.write(msgspec.json.format(msgspec.json.encode(stored), indent=2) + b"\n")


def accept_drafts(settings: Settings, ids: Sequence[str], drafts: Path, target: Path) -> list[str]:
    """Add proposals to the test set, and remember that they were accepted."""
    added = accept(ids, drafts, target)
    decide(settings.home, accepted=ids)
    return added


# ---- gaps

_MOST_ANSWERS = 3  # a name that more files define has no place of its own
_WANTED_PATH = re.compile(r"(?=.*[/.])[\w.~@*/-]+")
_RELATIVE = re.compile(r"[\w.@+-]+(?:/[\w.@+()\[\]-]+)*")


def gap_of_topic(topic: Topic, prompt: str = "", project: SourceTree | None = None) -> Gap:
    """A topic, by the first of its names that has an answer; one of words only has its sentence as its title."""
    is_doubt = topic.title == topic.said  # a topic without a name has the agent's sentence as its title
    names = [topic.title] if is_doubt else topic.title.split(", ")
    answered = ((name, known_answers(name, topic, project)) for name in names)
    wanted, answers = next(((name, paths) for name, paths in answered if paths), (names[0], ()))
    first = topic.examples[0] if topic.examples else None
    words = [f"{topic.title}: {cost_words(topic)} · {endings_words(topic)}"]
    words += [f'the user: "{topic.correction}"'] if topic.correction else []
    return Gap(
        why="; ".join(words),
        metadata={
            "drafted_from": "gap",
            "status": "proposed",
            "topic": topic.id,
            "session": first.session if first else "",
            "file": _file_name(first.file) if first else "",
            "line": first.line if first else 0,
        },
        wanted="" if is_doubt else wanted,
        doubt=topic.title if is_doubt else "",
        said="" if is_doubt else topic.said,
        is_found=not topic.is_open,
        answers=answers,
        prompt=prompt,
    )


def gap_of_signal(signal: Signal, prompt: str = "") -> Gap:
    """Return the gap of an open signal: a search without a result, or words of doubt."""
    searched = signal.type in (SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE)
    words = f'{signal.tool or "search"} "{signal.query}" found nothing' if searched else f'it said: "{signal.text}"'
    name = _file_name(signal.file)
    place = f"{name}:{signal.line}" if signal.line else name or f"sample {signal.sample}"
    return Gap(
        why=f"{words} ({place})",
        metadata={
            "drafted_from": "gap",
            "status": "proposed",
            "session": signal.session,
            "turn": signal.turn,
            "signal": str(signal.type),
            "file": name,
            "line": signal.line,
        },
        wanted=signal.query if searched else "",
        doubt="" if searched else signal.text,
        said=signal.said if searched else "",
        prompt=prompt,
    )


def known_answers(wanted: str, topic: Topic, project: SourceTree | None = None) -> tuple[str, ...]:
    """The paths that can be taken for the answer to a name of the topic; `project` has the files as they are now.

    Of a path: files that share a word with its name, where not several are called so. Of a name: where the project
    defines it; where that is not known, a file that two sessions found or that is called so: one session may have found
    any use of a name, and tests and documents name what they do not define.
    """
    sessions: Counter[str] = Counter()
    for answer in topic.answer:
        if _RELATIVE.fullmatch(answer.path) and (project is None or (project.root / answer.path).exists()):
            sessions[answer.path] += answer.sessions
    if _WANTED_PATH.fullmatch(wanted):
        words = specific_words(_stem(wanted))
        near = [path for path in sessions if any(words & specific_words(part) for part in path.split("/"))]
        same_name = [path for path in near if _last_part(path) == _last_part(wanted)]
        is_unique = project is None or sum(_last_part(path) == _last_part(wanted) for path in project.files) <= 1
        return tuple((same_name or near)[:_MOST_ANSWERS]) if is_unique else ()
    in_code = is_in_code(wanted)
    definitions = project.defined(wanted) if project else ()
    local = [definition for definition in definitions if definition.is_indented and definition.kind == "variable"]
    paths = [definition.path for definition in definitions if definition not in local]
    if not paths and not (project and in_code):  # what is in code, and not defined in this project, has no place in it
        # `count` adds up answers, and may have a session twice: a topic of one session never has two that agree.
        agreed = [path for path, count in sessions.items() if min(count, topic.sessions) > 1]
        paths = agreed or [path for path in sessions if plain_name(_stem(path)) == plain_name(wanted)]
    # A document may be the place of a subject, not of a name in code.
    places = {path for path in paths if not is_test(path) and not (in_code and extension(path) in DOCUMENTS)}
    return tuple(sorted(places)) if len(places) <= _MOST_ANSWERS else ()


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _stem(path: str) -> str:
    return _last_part(path).lstrip(".").partition(".")[0].replace("*", " ")


def _file_name(file: str) -> str:
    """The file name of a trace: a test set is shared, and its folder exists only on this machine."""
    return file.replace("\\", "/").rpartition("/")[2]
