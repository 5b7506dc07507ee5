"""Stored runs of `observe`: the newest report, its signals, one topic in full; and the filters of a report."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from knowbound.config import Settings
from knowbound.core.audit import AuditedSession
from knowbound.core.paths import project_name, works_in
from knowbound.core.signal import Findings, Sample, Signal, Topic
from knowbound.core.trace import LeftOut
from knowbound.errors import InputError
from knowbound.report.model import ObserveReport, TopicReport, TopicSignal
from knowbound.store.observed import Observed

if TYPE_CHECKING:
    from knowbound.store.listing import ResultPage

# What marks a folder as a project.
_PROJECT_MARKS = (
    ".git", ".hg", ".jj", "CLAUDE.md", "AGENTS.md", "GEMINI.md", ".claude", ".codex", ".cursor", "knowbound.toml",
    "pyproject.toml", "setup.py", "package.json", "deno.json", "go.mod", "Cargo.toml", "pom.xml", "build.gradle",
    "build.gradle.kts", "Gemfile", "composer.json", "mix.exs", "Package.swift", "CMakeLists.txt",
)  # fmt: skip


def project_at(root: Path) -> str:
    """Return the folder if it is a project, else "". A home folder is none, whatever agents keep in it."""
    is_home_or_top = root in (Path.home().resolve(), Path(root.anchor))
    return str(root) if not is_home_or_top and any((root / name).exists() for name in _PROJECT_MARKS) else ""


class Filters(msgspec.Struct, frozen=True):
    """The sessions and samples that a report is about. Every session is read and kept all the same."""

    since: str = ""  # ISO time: sessions that were active since
    project: str = ""  # a folder, and what is below it, or the name of one
    skill: str = ""
    agent: str = ""

    def admits(self, found: Findings | AuditedSession) -> bool:
        """Report whether a session is in the report."""
        return self.why_not(found) is None

    def why_not(self, found: Findings | AuditedSession) -> LeftOut | None:
        """Return the reason why a session is not in the report; None if it is."""
        if not self.has_project(found):
            return LeftOut.OTHER_PROJECT
        if self.agent and found.agent != self.agent:
            return LeftOut.OTHER_AGENT
        return LeftOut.BEFORE if self.since and (not found.ended or found.ended < self.since) else None

    def has_project(self, found: Findings | AuditedSession) -> bool:
        """Report whether a session is of the project."""
        if "/" in self.project:  # a folder, not a name
            return works_in(found.project, (self.project,))
        return not self.project or self.project in found.project.split("/")  # any folder on its path may have the name

    def shown(self) -> dict[str, str]:
        """The filters that were given."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value}


def since(text: str, now: datetime | None = None) -> str:
    """`7d`, `12h`, `2w` or a date, as an ISO time to compare with."""
    now = now or datetime.now(UTC)
    units = {"h": "hours", "d": "days", "w": "weeks"}
    try:
        if text[-1:] in units and text[:-1].isdigit():
            then = now - timedelta(**{units[text[-1]]: int(text[:-1])})
            # Whole minutes: the same question within one has one answer.
            return then.replace(second=0, microsecond=0, tzinfo=None).isoformat()
        given = datetime.fromisoformat(text)
        if given.tzinfo is not None:  # a date without a zone is UTC, as the times of sessions are
            given = given.astimezone(UTC)
        return given.replace(microsecond=0, tzinfo=None).isoformat()
    except (ValueError, OverflowError):
        raise InputError(
            "bad-since", f"--since {text!r} is neither a span (7d, 12h, 2w) nor a date (2026-11-01)."
        ) from None


_OLD_TOPICS = "This run is of version 0.1.0, which knew no topics. To see them: knowbound observe"


class _SignalInReport(NamedTuple):
    """A signal with the sample and the session that it is in."""

    session: Findings
    sample: Sample
    signal: Signal


def newest_report(settings: Settings) -> tuple[ObserveReport, Iterator[Signal]]:
    """The report of the newest stored run."""
    store, report, keys = newest_run(settings)
    return report, signals_of(store, keys, Filters(**report.filters), report)


def newest_topic(settings: Settings, name: str) -> TopicReport:
    """One topic of the newest stored run, by its id or its title, with every signal of it."""
    from knowbound.gaps.topics import TopicNames
    from knowbound.store.listing import SqliteResults

    store, report, keys = newest_run(settings)
    topic = next((topic for topic in report.topics if name in (topic.id, topic.title)), None)
    if topic is None:
        raise InputError("unknown-topic", _unknown_topic_message(name, report.topics))
    with closing(SqliteResults(settings.home)) as listing:  # only sessions that can have a signal of it are read
        keys_about = {*listing.keys_about(TopicNames(report.topic_names).names_of(topic.id))}
        keys_about.update(listing.keys_of(example.session for example in topic.examples))  # a doubt may have no name
    seen = _signals_in_report(store, [key for key in keys if key in keys_about], Filters(**report.filters), report)
    signals = [
        TopicSignal(signal, sample.name, session.started[:10])
        for session, sample, signal in seen
        if signal.topic == topic.id
    ]
    return TopicReport(topic, report.watermark, signals, report.places, report.made, report.version)


def topics_by_cost(settings: Settings, *, project: str = "", after: str = "", most: int = 50) -> ResultPage[Topic]:
    """A page of the topics of the newest stored run, best worth writing down first; `after` is where it starts."""
    from knowbound.store.listing import ResultPage

    topics = [topic for topic in newest_run(settings)[1].topics if not project or topic.project == project]
    topics.sort(key=lambda topic: (-topic.saves, not topic.is_open, topic.title))
    start = int(after) if after.isdigit() else 0
    return ResultPage(topics[start : start + most], str(start + most) if len(topics) > start + most else "")


def _unknown_topic_message(name: str, topics: list[Topic]) -> str:
    """Return the message that there is no such topic, with the nearest topics first and all other topics."""
    import difflib

    from knowbound.text.printable import counted, listed, one_line

    known = {key: topic for topic in topics for key in (topic.id, topic.title)}
    near = [known[key] for key in difflib.get_close_matches(name, known, n=1)]
    near = near or [topic for topic in topics if name.lower() in topic.title.lower()][:1]
    hint = "".join(f" Did you mean {topic.id} ({one_line(topic.title, 60)})?" for topic in near)
    others = listed([f"{topic.id} ({one_line(topic.title, 40)})" for topic in topics])
    there = f"It has {counted(len(topics), 'topic')}: {others}." if topics else "It has no topics."
    return f"No topic {name!r} in the newest stored run of observe.{hint} {there} Try: knowbound report --topic ID"


def signals_of(store: Observed, keys: Iterable[str], filters: Filters, report: ObserveReport) -> Iterator[Signal]:
    """Every signal of the sessions, one by one, within the filters, with its topic."""
    return (found.signal for found in _signals_in_report(store, keys, filters, report))


def newest_run(settings: Settings) -> tuple[Observed, ObserveReport, list[str]]:
    """Return the newest stored run with the keys of its sessions. Raises InputError if there is none."""
    store = Observed(settings.home)
    kept = store.run("observe", ObserveReport)
    if kept is None:
        raise InputError("no-run", f"No stored run in {settings.home}. Try: knowbound observe, or knowbound eval")
    report, keys = kept
    if any(not topic.id for topic in report.topics):  # stored by version 0.1.0
        report = msgspec.structs.replace(report, topics=[], warnings=[*report.warnings, _OLD_TOPICS])
    return store, report, keys


def _signals_in_report(
    store: Observed, keys: Iterable[str], filters: Filters, report: ObserveReport
) -> Iterator[_SignalInReport]:
    """Yield the signals of the sessions within the filters, each with its topic, sample and session."""
    from knowbound.gaps.topics import TopicNames

    topics, roots = TopicNames(report.topic_names), folders_of(Path(report.root))
    for found in store.findings(keys):
        if filters.admits(found):
            samples = {  # those that the report counts
                sample.id: sample
                for sample in found.samples
                if sample.answered and (not filters.skill or sample.name == filters.skill)
            }
            for signal in found.signals:
                if signal.sample in samples:
                    signal.topic = topics.id_of(signal, project_name(at_root(found.project, roots)))
                    yield _SignalInReport(found, samples[signal.sample], signal)


def folders_of(root: Path) -> tuple[str, str]:
    """The root as it was given, and where it really is."""
    return str(root), os.path.realpath(root)


def project_of_root(folders: Iterable[str], root: Path, is_given: bool) -> str:
    """Return the project whose tree the root is: by folder, by name, or, for a given root, that of most sessions.

    `folders` has the working folder of every session.
    """
    roots = folders_of(root)
    counts: Counter[str] = Counter()
    for folder in folders:
        name = project_name(folder)
        if name and works_in(folder, roots):
            return name
        counts[name] += 1
    if project_name(str(root)) in counts:
        return project_name(str(root))
    return counts.most_common(1)[0][0] if is_given and counts else ""


def at_root(project: str, roots: tuple[str, str]) -> str:
    """Return the root for a session that worked below it or in one of its worktrees; else the session's own folder."""
    return roots[0] if works_in(project, roots) else project
