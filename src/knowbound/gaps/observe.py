"""`observe` from beginning to end: find the sessions, read those that changed, judge them, and count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import msgspec

from knowbound import __version__
from knowbound.config import ModelTask, Settings
from knowbound.core.bundle import SELF_MARKING
from knowbound.core.knowledge_paths import is_loaded_by_client, relative_to, split_by_reach
from knowbound.core.paths import project_name, works_in
from knowbound.core.signal import LENS_VERSION, Findings, Signal, SignalType, SkippedLine
from knowbound.core.trace import LeftOut, SessionsRead
from knowbound.errors import InputError
from knowbound.files import links_not_followed
from knowbound.gaps.stored import Filters, at_root, folders_of, signals_of
from knowbound.judge.choice import judge_for
from knowbound.judge.names import RULES
from knowbound.judge.registry import hedging_judge_version, why_hedges_off
from knowbound.report.model import Incomplete, ObserveReport, Totals
from knowbound.stats.figures import Coverage, HedgeJudging, Marking, Watermark, observed_hash
from knowbound.stats.rate import Rate
from knowbound.store.observed import FileRow, Observed, UnmanagedInjection, unmanaged_in
from knowbound.store.retention import FORGOTTEN_FILE, load_forgotten
from knowbound.text.clock import utc_now
from knowbound.text.digest import digest_of
from knowbound.traces.corpus import FoundFile, knowledge_files, scan
from knowbound.traces.registry import readers
from knowbound.traces.sessions import (
    FoundSessions,
    Lens,
    Progress,
    can_read_more,
    keys_of,
    places_of_agents,
    read_together,
    sessions_of,
)

_SKIPPED_SHOWN = 20


def observe(
    paths: Sequence[Path],
    settings: Settings,
    filters: Filters | None = None,
    *,
    root_is_given: bool = False,
    progress: Progress | None = None,
    environ: Mapping[str, str] | None = None,
    also: Sequence[Lens] = (),
) -> tuple[ObserveReport, Iterator[Signal]]:
    """Read the traces below the paths (or where agents keep theirs) and report the gaps.

    Other lenses read in the same pass. Gives the report, and the signals one by one for formats that list them all.
    """
    filters = filters or Filters()
    places, paths_are_given = [str(path) for path in paths], bool(paths)
    if not paths:
        known, paths = places_of_agents(environ)
        places = [str(path) for path in paths or known]
    files, scan_warnings = scan(paths, settings.store_keep_days)
    if not files:
        why = "".join(f" {warning}." for warning in scan_warnings)
        raise InputError("no-sessions", f"No sessions found in {listed(places)}.{why} Try: knowbound observe PATH")
    knowledge, links = knowledge_files(settings.root, settings.knowledge)
    hedges_off_reason = why_hedges_off(settings)
    settings = replace(settings, hedges_off=bool(hedges_off_reason))
    store = Observed(settings.home)
    lens, forgotten = lens_state(settings), load_forgotten(settings.home)
    corpus = digest_of(
        [lens, repr(filters), str(settings.root), str(root_is_given), *places, *knowledge]
        + ([forgotten.salt] if forgotten else [])  # a first `forget` changes the report
        + ([settings.cluster_mongo_url] if settings.cluster_mongo_url else [])
        + [f"{file.path}|{file.size}|{file.mtime_ns}" for file in files]
    )
    report, keys = store.run("observe", ObserveReport, corpus) or (None, [])
    if report is not None and not (report.unrecognised and can_read_more(report.unrecognised, store)):
        store.make_newest("observe", corpus)  # nothing changed since: the report is shown again
        if also:
            read_together(sessions_of(files, store, forgotten).sessions, files, also, settings, progress)
            _publish_to_team(settings)
        return report, signals_of(store, keys, filters, report)
    from knowbound.gaps.reading import read_what_changed
    from knowbound.store.retention import keep_bounded

    last_look = _newest_run_time(store, places, filters)
    found = sessions_of(files, store, forgotten)
    scan_warnings += keep_bounded(settings.home, settings.store_keep_days, keys_of(found.sessions))
    read = read_what_changed(found.sessions, files, settings, store, lens, progress, also)
    gone = [] if paths_are_given else store.digested(read.keys)  # read in the background, then their files were deleted
    keys, warnings = [*read.keys, *gone], [*read.warnings, *filter(None, [hedges_off_reason])]
    if gone:
        warnings.append(f"Sessions that count by what was read before their transcripts were deleted: {len(gone)}")
    files = _without_forgotten(files, found, read.forgotten, store, settings.home, warnings)
    warnings += scan_warnings + ([links_not_followed(links, settings.root)] if links else [])
    unread = found.left_out() + Counter({LeftOut.FORGOTTEN: len(read.forgotten)})
    report = report_of(
        store, keys, settings, filters, root_is_given, places, files, found.unrecognised, warnings, knowledge,
        last_look, judging=read.judging, unread=unread,
    )  # fmt: skip
    # A report that a failed judge had a part in is shown by `report`, and made again by the next `observe`.
    store.keep_run("observe", report.made, corpus if store.are_read(read.keys) else f"undecided {corpus}", keys, report)
    _publish_to_team(settings)
    return report, signals_of(store, keys, filters, report)


def _publish_to_team(settings: Settings) -> None:
    """Share what this machine has read, if a team has a database for it."""
    if settings.cluster_mongo_url:
        from knowbound.kms.team_results import publish

        publish(settings)


def read_ahead(settings: Settings, also: Sequence[Lens] = (), environ: Mapping[str, str] | None = None) -> int:
    """Read the sessions that changed, so that the next command finds them read; return their number.

    No model is asked: what one decides waits for the next command. No report is made: nobody has looked.
    """
    files, _ = scan(places_of_agents(environ)[1], settings.store_keep_days)
    if not files:
        return 0
    from knowbound.gaps.reading import read_what_changed

    settings = replace(settings, hedges_off=bool(why_hedges_off(settings)))
    store, forgotten = Observed(settings.home), load_forgotten(settings.home)
    with closing(store):
        found = sessions_of(files, store, forgotten)
        lens = lens_state(settings)
        read = read_what_changed(found.sessions, files, settings, store, lens, None, also, asks=False)
        _without_forgotten(files, found, read.forgotten, store, settings.home, [])  # no report takes warnings
        store.keep_read_ahead([*read.keys, *store.digested(read.keys)])
    return read.read


def _without_forgotten(
    files: list[FoundFile], found: FoundSessions, gone: list[str], store: Observed, home: Path, warnings: list[str]
) -> list[FoundFile]:
    """Keep what is remembered of each file; return the files without those of which everything was forgotten."""
    left_out = {*found.forgotten, *gone}
    store.keep_files(row for row in found.fresh if row.path not in left_out)
    forgotten = load_forgotten(home) if left_out else None
    if forgotten is not None:
        named = ((forgotten.file_row(file.path), file) for file in files if file.path in left_out)  # path as a hash
        store.keep_files(FileRow(name, file.size, file.mtime_ns, problem="forgotten") for name, file in named)
        warnings.append(
            f"Files of forgotten sessions that were left out: {len(left_out)} (to read them again: remove "
            f"{home / FORGOTTEN_FILE})"
        )
    return [file for file in files if file.path not in left_out]


class _StoredRun(msgspec.Struct):
    """The subject of a stored run, and the time it was made."""

    places: list[str]
    filters: dict[str, str]
    made: str


def _newest_run_time(store: Observed, places: list[str], filters: Filters) -> str:
    """Return the time of the newest run about the same subject, or ""; `since` moves with the clock."""
    about = filters.shown() | {"since": ""}
    runs = (run for run in store.runs("observe", _StoredRun) if run.places == places)
    return next((run.made for run in runs if run.filters | {"since": ""} == about), "")


def report_of(
    store: Observed,
    keys: list[str],
    settings: Settings,
    filters: Filters,
    root_is_given: bool,
    places: list[str],
    files: list[FoundFile],
    unrecognised: list[str],
    warnings: list[str],
    knowledge: list[str],
    last_look: str,
    judging: HedgeJudging | None = None,
    unread: Mapping[LeftOut, int] | None = None,
) -> ObserveReport:
    """Count what the stored findings hold, within the filters."""
    from knowbound.gaps.aggregate import Aggregate
    from knowbound.gaps.topics import TopicNames

    whole = Aggregate(filters.skill or None)
    roots = folders_of(settings.root)
    in_root = 0  # sessions that worked in the root
    left_out = Counter(unread or {})
    elsewhere: Counter[str] = Counter()  # sessions of other projects
    loaded: set[str] = set()
    agents: dict[str, int] = {}
    skipped: dict[str, int] = {}
    examples: list[SkippedLine] = []
    lines = duplicates = unknown_calls = 0
    used: set[str] = set()  # files of the sessions within the filters
    unmanaged: list[UnmanagedInjection] = []
    marking = Marking()
    for found in store.findings(keys):
        unmanaged.extend(unmanaged_in(found))
        if why := filters.why_not(found):
            left_out[why] += 1
            if why is LeftOut.OTHER_PROJECT:
                elsewhere[project_name(found.project)] += 1
            continue
        used.update(found.files)
        lines += found.lines
        duplicates += found.duplicates
        unknown_calls += found.unknown_calls
        for reason, count in found.skipped_by_reason.items():
            skipped[reason] = skipped.get(reason, 0) + count
        examples += found.skipped[: _SKIPPED_SHOWN - len(examples)]
        if found.signals_left_out:
            which = f"a session of {project_name(found.project) or 'an unknown project'} from {found.started[:10]}"
            warnings.append(f"{found.signals_left_out:,} signals of {which} are beyond what a session keeps")
        in_root += works_in(found.project, roots) or root_is_given
        loaded.update(_in_root(found, found.loaded, roots, root_is_given))
        found.reached = _in_root(found, found.reached, roots, root_is_given)
        found.project = at_root(found.project, roots)
        whole.add(found)
        marking += marked_guesses(found)
        agents[found.agent] = agents.get(found.agent, 0) + 1
    store.keep_unmanaged(unmanaged)
    if not whole.sessions:
        raise InputError("no-sessions", _nothing_found(places, filters, unrecognised, warnings, elsewhere))
    coverage = _coverage(knowledge, whole.reached, loaded, in_root, settings.root)
    topics, names = whole.topics(project_name(str(settings.root)))
    inventory = whole.inventory()
    for signal in inventory:
        signal.topic = TopicNames(names).id_of(signal, project_name(whole.project_of[signal.sample]))
    return ObserveReport(
        watermark=Watermark(listed(places), whole.samples - len(whole.incomplete), observed_hash(whole.parts)),
        totals=Totals(
            files=len(used) if filters.shown() else len(files),
            sessions=whole.sessions,
            turns=whole.turns,
            tool_calls=whole.tool_calls,
            samples=whole.samples,
            skipped_lines=sum(skipped.values()),
            lines=lines,
            duplicates=duplicates,
            signals=whole.signals,
            unknown_calls=unknown_calls,
            turns_by_programs=whole.turns_by_programs,
            unmanaged_items=len({injection.item.id for injection in unmanaged}),
        ),
        gap=whole.figures(),
        coverage=coverage,
        skills=whole.skills(frozenset(() if coverage.reason else knowledge).difference(coverage.loaded)),
        topics=topics,
        inventory=inventory,
        incomplete=[
            Incomplete(session, sample.id, sample.name, sample.incomplete, day)
            for session, day, sample in whole.incomplete
        ],
        skipped=skipped,
        skipped_examples=examples,
        unrecognised=unrecognised,
        agents=agents,
        places=places,
        filters=filters.shown(),
        warnings=warnings,
        judging=judging,
        marking=marking,
        reading=SessionsRead(whole.sessions, {reason: count for reason, count in left_out.items() if count}),
        made=utc_now(),
        version=__version__,
        root=str(settings.root),
        skill_of={signal.sample: whole.skill_of[signal.sample] for signal in inventory},
        topic_names=names,
        last_look=last_look,
        projects=dict(whole.projects.most_common()),
    )


def marked_guesses(found: Findings) -> Marking:
    """Count, among the guesses and doubts in the agents' words, those that the agent marked."""
    markers = sum(signal.type is SignalType.EXPLICIT_MARKER for signal in found.signals)
    hedges = sum(signal.type is SignalType.HEDGING for signal in found.signals)  # a marked sentence is none
    guesses = Rate(markers, markers + hedges)
    texts = (injected.excerpt for turn in found.turns for injected in turn.injected)  # they may ask for markers
    return Marking(asked=guesses) if any(SELF_MARKING in text for text in texts) else Marking(unasked=guesses)


def _nothing_found(
    places: Sequence[str], filters: Filters, unrecognised: list[str], warnings: list[str], elsewhere: Counter[str]
) -> str:
    from knowbound.text.printable import counted
    from knowbound.text.printable import listed as some_of

    given = ", ".join(f"--{name} {value}" for name, value in filters.shown().items())
    message = f"No sessions found in {listed(places)}{f' with {given}' if given else ''}."
    if unrecognised:
        message += f" No trace: {some_of(unrecognised, 3)}."
    message += "".join(f" {warning}." for warning in warnings)
    names = [reader.name for reader in readers()]
    if filters.agent and filters.agent not in names:
        return f"{message} Agents are: {', '.join(names)}."
    if filters.project and elsewhere:
        named = [f"{name or 'unknown'} {sessions:,}" for name, sessions in elsewhere.most_common()]
        others = f"There are {counted(elsewhere.total(), 'session')} of other projects: {some_of(named, 3)}."
        return f"{message} {others} Try: knowbound observe --all"
    return f"{message} Try: knowbound observe PATH"


def _coverage(
    knowledge: Sequence[str], reached: Iterable[str], loaded: Iterable[str], sessions: int, root: Path
) -> Coverage:
    """Return the share of knowledge files that agents opened themselves, of those that no client loads for them."""
    by_client = {path for path in knowledge if is_loaded_by_client(path)} | set(loaded)
    own = [path for path in knowledge if path not in by_client]
    loaded_files = sorted(by_client.intersection(knowledge))
    if not sessions:
        return Coverage(Rate(), [], 0, f"no session worked in {listed([str(root)])}", loaded_files)
    if not knowledge:
        return Coverage(Rate(), [], sessions, f"no knowledge files under {listed([str(root)])}", loaded_files)
    hits, uncovered = split_by_reach(own, reached)
    return Coverage(Rate(len(hits), len(own)), uncovered, sessions, "", loaded_files)


def _in_root(found: Findings, paths: Sequence[str], roots: tuple[str, str], root_is_given: bool) -> list[str]:
    """Return the knowledge files of a session, relative to the root; of a session elsewhere, only those in the root."""
    base = roots[1]
    project = found.project.rstrip("/")
    if project == base or project.startswith(base + "/"):
        return [relative_to(path if path.startswith("/") else f"{project}/{path}", base) for path in paths]
    if works_in(found.project, roots) or root_is_given:  # a worktree or a copy: its paths are those of the root
        return [relative_to(path, project) for path in paths]
    return [relative_to(path, base) for path in paths if path.startswith(base + "/")]


def lens_state(settings: Settings) -> str:
    """Return a text that changes with everything but the trace that findings depend on."""
    enabled = settings.hedging_classifier_enabled
    judge = hedging_judge_version(judge_for(settings, ModelTask.HEDGES)) if enabled else "none"
    cap = settings.hedging_classifier_max_candidates
    more = "|hedges off" * settings.hedges_off + "|as specified" * settings.as_specified  # "" by default
    more += "" if (misses := judge_for(settings, ModelTask.MISSES)) == RULES else f"|{misses}"
    return f"{__version__}|{LENS_VERSION}|{judge}|{cap}|{settings.knowledge}|{settings.repeated_failure_calls}{more}"


def listed(places: Sequence[str]) -> str:
    """Folders for people: the home folder as ~."""
    home = str(Path.home())
    short = ["~" + place[len(home) :] if place.startswith(home + "/") else place for place in places]
    return ", ".join(short)
