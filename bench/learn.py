"""Lessons from the past, misses of the future: learn from the first 60% of a project's sessions, replay the rest.

For every project with enough sessions: the share of later misses that an earlier lesson is about, how many lessons and
tokens that takes, and the same for two baselines: every early miss kept literally, and the files that were read most.
A miss is a lookup that lacked something, or a command that was called wrongly; failures of builds and tests are none.
Lessons are checked in the tree of the day of the split, where `--clones`
has the clone `OWNER+NAME/repo` of its repository; `--traces` names a folder of other projects' traces.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.labels import SHARED
from bench.measuring import check_out, options
from bench.miss_events import REPOSITORIES
from knowbound.config import load
from knowbound.core.lesson import LessonKind
from knowbound.core.paths import project_name
from knowbound.core.signal import Findings
from knowbound.core.trace import Outcome, Step, ToolKind
from knowbound.gaps.observe import observe
from knowbound.gaps.stored import Filters
from knowbound.gaps.topics import Topics
from knowbound.judge.models.asking import Asker
from knowbound.lessons.asking import lessons_by_model
from knowbound.lessons.kept import LessonOccurrence, failed_commands, failed_lookups, is_about
from knowbound.lessons.learn import read_material, with_rest
from knowbound.lessons.locations import misses
from knowbound.lessons.material import Corpus, Material, SessionMiss
from knowbound.lessons.proposing import lessons_of, tokens_of, within_budget
from knowbound.lessons.verifying import Tree
from knowbound.stats.rate import Rate, clustered
from knowbound.store.observed import Observed
from knowbound.traces.corpus import SessionFiles, scan
from knowbound.traces.registry import events_of
from knowbound.traces.sessions import SharedEvents, sessions_of
from knowbound.traces.source import Tally

FOLDERS = (*(f"claude-code/{name}" for name in ("packmind", "cipherbox", "newer", "entire")), "codex", "copilot-cli")
_EARLY = 0.6
_LEAST_SESSIONS = 10
_LINES, _TOKENS = 40, 1500


class Project(NamedTuple):
    """The sessions of one project, oldest first."""

    name: str
    folder: str
    materials: list[Material]
    lookups: dict[str, list[SessionMiss]]  # by session
    read: dict[str, Counter[str]]  # by session: files of the project that were read
    findings: list[Findings]


class Answered(NamedTuple):
    """What one way of remembering answers of later misses, and what it costs."""

    lookups: Rate
    commands: Rate
    entries: int
    tokens: int


def projects(folder: Path) -> list[Project]:
    """The projects whose traces a folder has."""
    with tempfile.TemporaryDirectory() as home:
        settings = load(Path(home), environ={"KNOWBOUND_HOME": f"{home}/data"})
        observe([folder], settings, Filters())
        store = Observed(settings.home)
        found = {one.session: one for one in store.findings(store.states())}
        files, _ = scan([folder])
        sessions = sessions_of(files, store, None).sessions
        store.close()
    materials: dict[str, list[Material]] = defaultdict(list)
    lookups: dict[str, dict[str, list[SessionMiss]]] = defaultdict(dict)
    read: dict[str, dict[str, Counter[str]]] = defaultdict(dict)
    for session in sessions:
        for material in read_material(SharedEvents(session)):
            name = project_name(material.project)
            one = found.get(material.session)
            materials[name].append(material)
            lookups[name][material.session] = (
                [SessionMiss(signal, one.project) for signal in one.signals] if one else []
            )
            read[name][material.session] = files_read(session, material.project)
    return [
        Project(
            name,
            folder.name,
            sorted(own, key=lambda one: (one.started, one.session)),
            lookups[name],
            read[name],
            [one for one in found.values() if project_name(one.project) == name],
        )
        for name, own in materials.items()
        if len(own) >= _LEAST_SESSIONS and name
    ]


def files_read(session: SessionFiles, project: str) -> Counter[str]:
    events = events_of(session, Tally())
    calls = (call for event in events if isinstance(event, Step) for call in event.calls)
    paths = (call.query for call in calls if call.kind is ToolKind.READ and call.outcome is Outcome.OK)
    return Counter(path[len(project) + 1 :] for path in paths if path.startswith(f"{project}/"))


def corpus_of(project: Project, materials: list[Material], tree: Tree | None) -> Corpus:
    """The sessions as `learn` has them, with the topics of `observe`."""
    known = [one for material in materials for one in project.lookups[material.session]]
    names = Topics()
    for one in project.findings:
        if any(material.session == one.session for material in materials):
            names.add(one, one.signals)
    names.ranked()
    topic_of = {id(one.signal): names.names.id_of(one.signal, project_name(one.project)) for one in known}
    return Corpus(project.name, materials, known, tree, topic_of)


def measure(project: Project, tree: Tree | None, asker: Asker | None = None) -> dict[str, Answered]:
    """The ways to remember, each learned from the early sessions and replayed on the later ones."""
    cut = int(len(project.materials) * _EARLY)
    early, late = project.materials[:cut], project.materials[cut:]
    corpus = corpus_of(project, early, tree)
    found = lessons_of(corpus)
    if asker is not None:
        own, problem = lessons_by_model(corpus, asker)
        found = with_rest(own, found) if not problem else []
    lessons = within_budget(found, _LINES, _TOKENS)
    before, later = occurrences(project, early), occurrences(project, late)
    found_at = {
        (miss.signal.session, miss.signal.line): miss.near(miss.signal.found_at.path)
        for material in late
        for miss in project.lookups[material.session]
        if miss.signal.found_at is not None
    }

    def is_answered(one: LessonOccurrence) -> bool:
        """A lesson is about it, or names the file where it was found, as the list of files does."""
        place = found_at.get((one.session, one.line))
        return any(is_about(lesson, one) or (place and f"`{place}`" in lesson.text) for lesson in lessons)

    literal = {words for _, words in before}
    missed = {name for miss, _ in before for name in miss.names if not name.startswith("folder:")}
    files = most_read(project, early)
    by_lesson = [(miss, is_answered(miss)) for miss, _ in later]
    by_literal = [(miss, words in literal) for miss, words in later]
    by_name = [(miss, not missed.isdisjoint(miss.names)) for miss, _ in later]
    by_file = [(miss, found_at.get((miss.session, miss.line), "") in files) for miss, _ in later]
    return {
        "lessons": _answered(by_lesson, len(lessons), sum(map(tokens_of, lessons))),
        "every miss literally": _answered(by_literal, len(literal), sum(len(words) // 4 for words in literal)),
        "(missed before by name)": _answered(by_name, 0, 0),  # what any memory of misses could reach
        "most read files": _answered(by_file, len(files), sum(len(path) // 4 for path in files)),
    }


def occurrences(project: Project, materials: Sequence[Material]) -> list[tuple[LessonOccurrence, str]]:
    """The misses of the sessions, each with its own words."""
    found: list[tuple[LessonOccurrence, str]] = []
    for material in materials:
        looked = misses(Corpus(project.name, [], project.lookups[material.session], None))
        words = [f"{one.near(one.signal.query)} in {one.near(one.signal.path)}" for one in looked]
        found += zip(failed_lookups(looked), words, strict=True)
        found += [(one, " ".join(sorted(one.names))) for one in failed_commands(material)]
    return found


def most_read(project: Project, early: Sequence[Material]) -> set[str]:
    """The files that most early sessions read, as many as fit the budget of the lessons."""
    counts: Counter[str] = Counter()
    for material in early:
        counts.update(project.read[material.session].keys())
    files: set[str] = set()
    for path, sessions in counts.most_common(_LINES):
        if sessions > 1 and sum(len(one) // 4 for one in files) + len(path) // 4 <= _TOKENS:
            files.add(path)
    return files


def _answered(seen: Iterable[tuple[LessonOccurrence, bool]], entries: int, tokens: int) -> Answered:
    """Misses of one session are alike: the interval is that of clusters."""
    by_kind: dict[LessonKind, dict[str, list[bool]]] = {kind: defaultdict(list) for kind in LessonKind}
    for one, answered in seen:
        by_kind[one.kind][one.session].append(answered)
    lookups, commands = (
        clustered(Rate(sum(each), len(each)) for each in by_kind[kind].values())
        for kind in (LessonKind.LOCATION, LessonKind.COMMAND)
    )
    return Answered(lookups, commands, entries, tokens)


def tree_at(repository: Path, day: str, target: Path) -> Tree | None:
    """The tree of the newest commit before a time, from a git directory."""
    git = ["git", f"--git-dir={repository}"]
    newest = [*git, "rev-list", "-1", f"--before={day}", "HEAD"]
    commit = subprocess.run(newest, capture_output=True, text=True, check=True).stdout.strip()
    if not commit:
        return None
    check_out(git, commit, target)
    return Tree(target)


def folders(traces: str) -> list[Path]:
    """The folders of traces: the shared ones, or those of other projects (`bench.public_traces`)."""
    others = sorted(one for one in Path(traces).iterdir() if one.is_dir()) if traces else []
    return others or [SHARED / "traces" / folder for folder in FOLDERS]


def measured(traces: str, clones: str, asker: Asker | None = None) -> dict[str, list[Answered]]:
    """What every project gives, in the tree of the day of its split where there is a clone."""
    totals: dict[str, list[Answered]] = defaultdict(list)
    for folder in folders(traces):
        for project in projects(folder):
            start = project.materials[int(len(project.materials) * _EARLY)].started
            clone = Path(clones, REPOSITORIES.get(project.folder, "?"), "repo")
            with tempfile.TemporaryDirectory() as place:
                tree = tree_at(clone, start, Path(place)) if clones and clone.exists() else None
                found = measure(project, tree, asker)
            checked = "checked in the tree of that day" if tree is not None else "no tree"
            print(f"  {project.name} ({len(project.materials)} sessions, split at {start[:10]}, {checked})")
            for name, answered in found.items():
                totals[name].append(answered)
                _print(name, answered)
    return totals


def ask_lessons(asker: Asker) -> tuple[int, int]:
    """Ask about the projects of KNOWBOUND_TRACES, with the clones of KNOWBOUND_CLONES."""
    totals = measured(os.environ["KNOWBOUND_TRACES"], os.environ["KNOWBOUND_CLONES"], asker)
    _print_totals(totals)
    return sum(one.entries for one in totals["lessons"]), 0


def report(traces: str, clones: str) -> None:
    print("Lessons, learned from the first 60% of sessions, on the misses of the rest (95% intervals, by session)")
    _print_totals(measured(traces, clones))


def _print_totals(totals: Mapping[str, Sequence[Answered]]) -> None:
    print("  all projects")
    for name, each in totals.items():
        lookups, commands = (sum((getattr(one, part) for one in each), Rate()) for part in ("lookups", "commands"))
        _print(name, Answered(lookups, commands, sum(one.entries for one in each), sum(one.tokens for one in each)))


def _print(name: str, found: Answered) -> None:
    print(
        f"    {name:23} lookups {found.lookups}   commands {found.commands}   "
        f"{found.entries} entries, {found.tokens:,} tokens"
    )


if __name__ == "__main__":
    given = options(__doc__, traces="", clones="")
    report(given.traces, given.clones)
