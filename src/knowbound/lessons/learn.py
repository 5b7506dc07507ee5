"""`learn` from beginning to end: observe, read what lessons are made of, propose, check, join with what was decided.

A configured model says which misses are worth a line, and words it; without one, what recurs is proposed by rules.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from knowbound.config import ModelTask, Settings
from knowbound.core.lesson import Lesson, LessonStatus
from knowbound.core.paths import project_name
from knowbound.gaps.observe import observe
from knowbound.gaps.stored import Filters, project_of_root, signals_of
from knowbound.judge.choice import judge_for, may_see
from knowbound.judge.registry import asker_for
from knowbound.lessons.asking import lessons_by_model
from knowbound.lessons.kept import failed_commands, failed_lookups, joined, requests, watched
from knowbound.lessons.material import MATERIAL_VERSION, Corpus, Material, SessionMiss, material_of
from knowbound.lessons.proposing import lessons_of, within_budget
from knowbound.lessons.verifying import Tree
from knowbound.report.model import ObserveReport
from knowbound.store.decisions import KeptLessons, MaterialRow
from knowbound.store.observed import Observed
from knowbound.text.clock import utc_now
from knowbound.traces.sessions import Lens, Progress, SessionToRead, SharedEvents

_materials = msgspec.msgpack.Decoder(list[Material])


class Learned(msgspec.Struct, frozen=True):
    """The lessons of each project, and what they were made from."""

    lessons: list[Lesson]  # best first; within the budget, those that are new
    left_out: int  # new ones that the budget has no room for
    sessions: dict[str, int]  # project → sessions
    checked: str  # the project whose tree was there, "" for none
    commit: str  # of that tree
    places: list[str]
    report: ObserveReport  # of the same sessions
    corpus: Corpus | None = None  # of the project whose tree was there
    notes: list[str] = []  # what did not work


def learn(
    paths: Sequence[Path],
    settings: Settings,
    filters: Filters | None = None,
    *,
    root_is_given: bool = False,
    progress: Progress | None = None,
    environ: Mapping[str, str] | None = None,
    also: Sequence[Lens] = (),
) -> Learned:
    """Return the lessons of the sessions below the paths (or where agents keep theirs), and keep those of each project.

    They are checked in the tree of the root. Accepted and written ones are shown whatever the budget is.
    """
    filters = filters or Filters()
    lenses = [material_lens(settings.home), *also]
    report, _ = observe(
        paths, settings, filters, root_is_given=root_is_given, progress=progress, environ=environ, also=lenses
    )
    with closing(Observed(settings.home)) as observed, closing(KeptLessons(settings.home)) as kept:
        newest = observed.run("observe", ObserveReport)
        assert newest is not None  # `observe` has just kept it
        _, keys = newest
        corpora = _corpora(observed, kept, report, keys, filters, settings, root_is_given)
        now, left_out = utc_now(), 0
        lessons, notes = list[Lesson](), list[str]()
        for corpus in corpora:
            proposed, note = _proposed(corpus, settings)
            notes += [note] if note else []
            merged = _merged_with_kept(corpus, proposed, kept, now)
            new = [lesson for lesson in merged if lesson.status is LessonStatus.NEW]
            fitting = {lesson.id for lesson in within_budget(new, settings.learn_max_lines, settings.learn_max_tokens)}
            left_out += len(new) - len(fitting)
            kept.replace(corpus.project, merged)
            lessons += [lesson for lesson in merged if lesson.status is not LessonStatus.NEW or lesson.id in fitting]
    own_corpus = next((corpus for corpus in corpora if corpus.tree is not None), None)
    return Learned(
        lessons=sorted(lessons, key=lambda lesson: (-lesson.saves, lesson.project, lesson.id)),
        left_out=left_out,
        sessions={corpus.project: len(corpus.materials) for corpus in corpora},
        checked=own_corpus.project if own_corpus else "",
        commit=own_corpus.tree.commit if own_corpus and own_corpus.tree else "",
        places=report.places,
        report=report,
        corpus=own_corpus,
        notes=notes,
    )


def _merged_with_kept(corpus: Corpus, proposed: list[Lesson], kept: KeptLessons, now: str) -> list[Lesson]:
    """The lessons of a project: those of now and of before, with what became of those that were written down."""
    lessons = joined(proposed, kept.lessons(corpus.project), corpus.tree, now)
    happened = [*failed_lookups(corpus.misses)]
    for material in corpus.materials:
        happened += [*failed_commands(material), *requests(material, lessons)]
    started = {material.session: material.started for material in corpus.materials}
    return [watched(lesson, started, happened) for lesson in lessons]


def _proposed(corpus: Corpus, settings: Settings) -> tuple[list[Lesson], str]:
    """Return the lessons of a project: by the configured model, and by rules what the model says nothing about."""
    by_rules = lessons_of(corpus)
    judge = judge_for(settings, ModelTask.LESSONS)
    seen_by = {material.agent for material in corpus.materials}
    asker = asker_for(settings, judge) if all(may_see(judge, agent, settings) for agent in seen_by) else None
    if asker is None:
        return by_rules, ""
    by_model, problem = lessons_by_model(corpus, asker)
    if problem:
        return by_rules, f"{judge} did not say which misses are worth a line: {problem}"
    return with_rest(by_model, by_rules), ""


def with_rest(by_model: list[Lesson], by_rules: list[Lesson]) -> list[Lesson]:
    """Return the model's lessons, and those of rules about hooks, edits, users and often read files.

    About lookups and wrong calls the model decides.
    """
    known = {name for lesson in by_model for name in lesson.names}
    return [*by_model, *(rule for rule in by_rules if known.isdisjoint(rule.names) and not _is_about_miss(rule))]


def _is_about_miss(lesson: Lesson) -> bool:
    """Report whether a lesson is about a lookup or a wrong call; one about often read files is not."""
    is_map = any(name.startswith("read:") for name in lesson.names)
    return not is_map and any(
        name.startswith(("path:", "base:", "folder:", "name:", "misused:")) for name in lesson.names
    )


def material_lens(home: Path) -> Lens:
    """The lens that reads the material of lessons."""
    with closing(KeptLessons(home)) as kept:
        states = kept.states()

    def keep(batch: list[tuple[SessionToRead, bytes]]) -> None:
        with closing(KeptLessons(home)) as kept:
            kept.keep_material([MaterialRow(session.key, session.state, material) for session, material in batch])

    return Lens(str(MATERIAL_VERSION), states, _read_one, keep)


def _read_one(events: SharedEvents, settings: Settings) -> bytes:
    """Run in a worker: return the material of one session, as msgpack."""
    try:
        found = read_material(events)
    except Exception:  # a defect of ours: a session that fails never hides other sessions
        if os.environ.get("KNOWBOUND_TRACEBACK"):
            raise
        found = []
    return msgspec.msgpack.encode(found)


def read_material(events: SharedEvents) -> list[Material]:
    """Return the material of the sessions in these files."""
    session = events.session
    return material_of(events.follow(), session.start, session.files[0] if session.files else "")


def _corpora(
    observed: Observed,
    kept: KeptLessons,
    report: ObserveReport,
    keys: list[str],
    filters: Filters,
    settings: Settings,
    root_is_given: bool,
) -> list[Corpus]:
    """Return the sessions by project; clones and worktrees of one are one project. Only that of the root has a tree."""
    folders = {found.session: found.project for found in observed.findings(keys) if filters.admits(found)}
    materials: dict[str, list[Material]] = defaultdict(list)
    for _, encoded in kept.bodies(keys):
        for material in _materials.decode(encoded):
            if material.session in folders:
                materials[project_name(material.project)].append(material)
    misses: dict[str, list[SessionMiss]] = defaultdict(list)
    topic_of: dict[int, str] = {}
    for signal in signals_of(observed, keys, filters, report):
        miss = SessionMiss(signal, folders.get(signal.session, ""))
        misses[project_name(miss.project)].append(miss)
        topic_of[id(signal)] = signal.topic
    worked_in = (material.project for found in materials.values() for material in found)
    own = project_of_root(worked_in, settings.root, root_is_given)
    tree = Tree(Path(os.path.realpath(settings.root))) if own else None
    return [
        Corpus(
            project,
            sorted(found, key=lambda material: (material.started, material.session)),
            misses[project],
            tree if project == own else None,
            topic_of,
        )
        for project, found in sorted(materials.items())
    ]
