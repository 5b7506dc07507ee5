"""`knowbound` from beginning to end: read the sessions once for every lens, check the knowledge, propose actions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from knowbound import __version__
from knowbound.audit.audit import audit_lens
from knowbound.audit.stored import stored_shares
from knowbound.codebase.checkout import Checkout
from knowbound.config import Settings
from knowbound.core.audit import Diagnosis
from knowbound.core.lesson import Action, Applied, Lesson, LessonStatus
from knowbound.core.paths import project_name
from knowbound.core.statement import CheckedStatement, Truth
from knowbound.errors import InputError
from knowbound.gaps.stored import Filters
from knowbound.kms.pieces import claude_project
from knowbound.kms.team_results import publish_review
from knowbound.knowledge.lint import items_stamp, lint_project
from knowbound.knowledge.rules import RulesFound, check_rules
from knowbound.lessons.kept import failed_commands, failed_lookups, watched
from knowbound.lessons.learn import Learned, learn
from knowbound.report.model import ReviewFigures
from knowbound.review.enforcing import code_spans, enforce_actions
from knowbound.review.lens_actions import evaluation_actions, newest_evaluation_id, supersede_actions, verify_actions
from knowbound.review.proposing import Proposed, proposed_actions, rank
from knowbound.store.decisions import DecidedFix, Fix, FixState, KeptLessons, Screens
from knowbound.text.digest import digest_of
from knowbound.traces.corpus import scan
from knowbound.traces.sessions import Progress, places_of_agents

SCREEN = "review"
_NO_SESSIONS = (
    "No session of this project was found: the knowledge files alone were checked. Work with Claude Code, Codex or "
    "another agent here and run knowbound again, or name traces: knowbound review PATH"
)
_LARGE_CORPUS_BYTES, _FIRST_LOOK_BYTES = 80_000_000, 16_000_000  # of a larger corpus, this much is looked at first
_VERSION = 3  # raise it when the same sessions and tree give other actions


class ReviewScope(NamedTuple):
    """The traces and settings that a review is made of."""

    paths: Sequence[Path]
    settings: Settings
    filters: Filters
    root_is_given: bool = False
    environ: Mapping[str, str] | None = None


class Reviewed(msgspec.Struct, frozen=True):
    """The front door of one project."""

    project: str
    actions: list[Action]  # best first, without those that were decided about
    figures: ReviewFigures
    fixes: dict[str, Fix] = {}  # by action
    watched: list[Lesson] = []  # carried out, with the rate of the missed thing before and after
    notes: list[str] = []  # sentences about what is missing or did not work


def review(
    paths: Sequence[Path],
    settings: Settings,
    filters: Filters | None = None,
    *,
    root_is_given: bool = False,
    progress: Progress | None = None,
    environ: Mapping[str, str] | None = None,
) -> Reviewed:
    """Return the actions of a project; from the store while no session, file or decision changed."""
    asked = ReviewScope(paths, settings, filters or Filters(), root_is_given, environ)
    with closing(Screens(settings.home)) as screens:
        kept = screens.screen(SCREEN, _key(asked, screens), Reviewed)
    if kept is not None:
        return kept
    made = _run_lenses(asked, progress)
    with closing(Screens(settings.home)) as screens:
        screens.keep_screen(SCREEN, _key(asked, screens), made)  # lessons and items may have changed on the way
    publish_review(settings, made.project, made)
    return made


def is_kept(settings: Settings, filters: Filters) -> bool:
    """Report whether the screen of this project comes from the store."""
    with closing(Screens(settings.home)) as screens:
        return screens.screen(SCREEN, _key(ReviewScope((), settings, filters), screens), Reviewed) is not None


def first_look(settings: Settings, filters: Filters, environ: Mapping[str, str] | None = None) -> Reviewed | None:
    """Return the actions of the newest sessions alone, for a person who waits; None where reading all is as quick.

    It works in a folder of its own: nothing that is stored changes.
    """
    files, _ = scan(places_of_agents(environ)[1], settings.store_keep_days)
    if sum(file.size for file in files) < _LARGE_CORPUS_BYTES:
        return None
    own = claude_project(settings.root)
    newest, size = list[Path](), 0
    for file in sorted(files, key=lambda file: (own not in file.path, -file.mtime_ns)):  # of this project first
        size += file.size
        if size > _FIRST_LOOK_BYTES:
            break
        newest.append(Path(file.path))
    with TemporaryDirectory(prefix="knowbound-first-look-") as folder:
        aside = dataclasses.replace(settings, home=Path(folder), cluster_mongo_url="")  # nothing for the team
        try:
            return _run_lenses(ReviewScope(newest, aside, filters, environ=environ))
        except InputError:  # no session of the project among them
            return None


def _key(asked: ReviewScope, screens: Screens) -> str:
    """Return a hash over everything that the screen depends on."""
    settings = asked.settings
    files, left_out = scan(asked.paths or places_of_agents(asked.environ)[1], settings.store_keep_days)
    with closing(KeptLessons(settings.home)) as kept:
        lessons = [f"{lesson.id}|{lesson.status}" for lesson in kept.lessons()]
    fixes = [f"{decision.fix.id}|{decision.state}" for decision in screens.fixes()]
    parts = [__version__, str(_VERSION), repr(sorted(asdict(settings).items(), key=str)), repr(asked.filters)]
    parts += [str(asked.root_is_given), Checkout(settings.root).stamp, items_stamp(settings.home)]
    parts.append(str(newest_evaluation_id(settings.home)))
    traces = (f"{file.path}|{file.size}|{file.mtime_ns}" for file in files)
    return digest_of([*parts, *lessons, *fixes, *left_out, *traces])


def _run_lenses(asked: ReviewScope, progress: Progress | None = None) -> Reviewed:
    """Run every lens and return the screen; without sessions or knowledge files a note says what is missing."""
    paths, settings, filters, root_is_given, environ = asked
    learned: Learned | None = None
    notes: list[str] = []
    checked: list[CheckedStatement] = []
    lenses = [audit_lens(settings)]
    try:
        learned = learn(
            paths, settings, filters, root_is_given=root_is_given, progress=progress, environ=environ, also=lenses
        )
    except InputError as error:
        if error.slug != "no-sessions" or paths:  # the user named traces: that none is there is a mistake
            raise
        notes.append(_NO_SESSIONS)
    try:
        checked = lint_project(settings)
    except InputError as error:
        if error.slug != "no-knowledge-files":
            raise
        notes.append(str(error))
    with closing(Screens(settings.home)) as screens:
        decided = screens.fixes()
    applied_or_rejected = (FixState.APPLIED, FixState.REJECTED)
    closed = {decision.fix.id: decision.fix for decision in decided if decision.state in applied_or_rejected}
    found = proposed_actions(checked, learned, settings, closed.values())
    if learned is not None:
        rejected = {decision.fix.id for decision in decided if decision.state is FixState.REJECTED}
        found += _enforcing(asked, [lesson for lesson in learned.lessons if lesson.id not in rejected])
        sessions = {material.session for material in learned.corpus.materials} if learned.corpus else set[str]()
        found += verify_actions(settings.home, sessions)
    found += supersede_actions(settings)
    found += evaluation_actions(settings)
    found.sort(key=rank)
    found = [proposed for proposed in found if proposed.action.id not in closed]
    return Reviewed(
        project=project_name(str(settings.root)),
        actions=[proposed.action for proposed in found],
        figures=_figures(learned, checked, settings, filters),
        fixes={proposed.action.id: proposed.fix for proposed in found if proposed.fix is not None},
        watched=_watched(decided, learned),
        notes=notes + (learned.notes if learned else []),
    )


def _enforcing(asked: ReviewScope, lessons: Sequence[Lesson]) -> list[Proposed]:
    """Return the actions about rules that agents ignore, in the newest sessions, without those that a lesson is about.

    What sessions learned about the same command may be why they ignore a rule: that is written first.
    """
    rules = rules_of(asked)
    spans = {span for lesson in lessons for span in code_spans(lesson.text)}
    spans |= {span.split(" ")[0] for span in spans}  # `rtk bun test` is about `rtk`
    ignored = enforce_actions(rules, asked.settings) if rules else []
    return [proposed for proposed in ignored if spans.isdisjoint(code_spans(proposed.action.title))]


def rules_of(asked: ReviewScope) -> RulesFound | None:
    """Return how sessions kept the rules; None without a rule, or without a session of this project."""
    paths, settings, filters, root_is_given, environ = asked
    try:
        return check_rules(paths, settings, filters, root_is_given=root_is_given, environ=environ)
    except InputError:
        return None


def _figures(
    learned: Learned | None, checked: Sequence[CheckedStatement], settings: Settings, filters: Filters
) -> ReviewFigures:
    """Return the headline of each lens; without sessions, of the check of the knowledge alone."""
    wrong = sum(statement.truth is Truth.CONTRADICTED for statement in checked)
    if learned is None:
        return ReviewFigures(statements=len(checked), contradicted=wrong)
    report, shares = learned.report, stored_shares(settings.home, filters.admits)
    gap, totals, watermark = report.gap, report.totals, report.watermark
    return ReviewFigures(
        gap_rate=gap.rate.value,
        weighted=gap.weighted.value,
        open=gap.open.value,
        open_upper=gap.open_upper.value,
        coverage=None if report.coverage.reason else report.coverage.rate.value,
        test_set=watermark.path,
        samples=watermark.samples,
        sha256_8=watermark.sha256_8,
        warning=watermark.warning,
        sessions=totals.sessions,
        tool_calls=totals.tool_calls,
        agents=report.agents,
        reading=report.reading,
        unread_files=len(report.unrecognised),
        warnings=report.warnings,
        turns=shares.turns,
        unknown_turns=shares.rate(Diagnosis.UNKNOWN).k if shares.turns else 0,
        unknown_lines=report.read.of_lines,
        unknown_tools=report.read.of_calls,
        statements=len(checked),
        contradicted=wrong,
    )


def _watched(decided: Sequence[DecidedFix], learned: Learned | None) -> list[Lesson]:
    """Return what was carried out, newest first, with the share of sessions that missed it before and after."""
    corpus = learned.corpus if learned else None
    found = []
    for decision in reversed(decided):
        if decision.state is not FixState.APPLIED or decision.fix.lesson is None:
            continue
        lesson = decision.fix.lesson
        if decision.fix.is_written_line:  # `learn` watches it already
            lesson = next((known for known in learned.lessons if known.id == lesson.id), lesson) if learned else lesson
        elif corpus is not None:
            applied = Applied(target="file", time=decision.time, place=lesson.file)
            lesson = replace(lesson, status=LessonStatus.APPLIED, applied=applied)
            occurrences = [*failed_lookups(corpus.misses)]
            occurrences += [each for material in corpus.materials for each in failed_commands(material)]
            started = {material.session: material.started for material in corpus.materials}
            lesson = watched(lesson, started, occurrences)
        found.append(lesson)
    return found
