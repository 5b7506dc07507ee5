"""The story in one file: what each verb does, step by step; the steps themselves are in the rooms below.

What is heavy is imported where it is needed: a verb that finds nothing new takes little more than a process start.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from knowbound.config import Settings
from knowbound.core.evidence import Investigation
from knowbound.core.signal import Signal
from knowbound.errors import InputError, StoreError
from knowbound.observing import (
    Filters,
    Progress,
    lens_state,
    listed,
    read_what_changed,
    report_of,
    sessions_of,
    signals_of,
)
from knowbound.read.corpus import default_places, knowledge_files, scan
from knowbound.report.model import ObserveReport
from knowbound.store.observed import Observed
from knowbound.text.digest import digest_of

__all__ = ["Filters", "investigate", "newest_investigation", "newest_report", "observe", "since"]


def observe(
    paths: Sequence[Path],
    settings: Settings,
    filters: Filters | None = None,
    *,
    root_is_given: bool = False,
    progress: Progress | None = None,
    environ: Mapping[str, str] | None = None,
) -> tuple[ObserveReport, Iterator[Signal]]:
    """Read the traces below the paths (or where agents keep theirs) and report the gaps.

    Gives the report, and the signals one by one for formats that list them all.
    """
    filters = filters or Filters()
    places = [str(path) for path in paths]
    if not paths:
        known = default_places(os.environ if environ is None else environ, Path.home())
        places = [str(path) for path in known]
        paths = [path for path in known if path.exists()]
    files, closed = scan(paths)
    if not files:
        raise InputError("no-sessions", f"No sessions found in {listed(places)}. Try: knowbound observe PATH")
    knowledge = knowledge_files(settings.root, settings.knowledge)
    store = Observed(settings.home)
    lens = lens_state(settings)
    corpus = digest_of(
        [lens, repr(filters), str(settings.root), str(root_is_given), *places, *knowledge]
        + [f"{file.path}|{file.size}|{file.mtime_ns}" for file in files]
    )
    kept = store.run("observe", ObserveReport, corpus)
    if kept is not None:
        report, keys = kept
        store.make_newest("observe", corpus)
        return report, signals_of(store, keys, filters)
    sessions, unrecognised = sessions_of(files, store)
    keys, warnings = read_what_changed(sessions, files, settings, store, lens, progress)
    warnings += [f"{folder} could not be entered" for folder in closed]
    report = report_of(store, keys, settings, filters, root_is_given, places, files, unrecognised, warnings, knowledge)
    store.keep_run("observe", report.made, corpus, keys, report)
    return report, signals_of(store, keys, filters)


def investigate(
    question: str, settings: Settings, *, allow_run: bool = False, seconds: float = 60.0, keep: bool = True
) -> Investigation:
    """Answer a question about the root from evidence, and keep the answer for `report`."""
    from knowbound import evidence

    found = evidence.investigate(question, settings.root, allow_run=allow_run, seconds=seconds)
    if keep:
        made = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        with suppress(StoreError):  # an answer is an answer, also where nothing can be kept
            Observed(settings.home).keep_run(
                "investigation", made, digest_of([question, str(settings.root)]), [], found
            )
    return found


def newest_investigation(settings: Settings) -> Investigation | None:
    """The investigation that was stored last, where it is the newest run."""
    store = Observed(settings.home)
    kept = store.run("investigation", Investigation) if store.newest_kind() == "investigation" else None
    return kept[0] if kept else None


def newest_report(settings: Settings) -> tuple[ObserveReport, Iterator[Signal]]:
    """The report of the newest stored run."""
    store = Observed(settings.home)
    kept = store.run("observe", ObserveReport)
    if kept is None:
        raise InputError("no-run", f"No stored run in {settings.home}. Try: knowbound observe")
    report, keys = kept
    return report, signals_of(store, keys, Filters(**report.filters))


def since(text: str, now: datetime | None = None) -> str:
    """`7d`, `12h`, `2w` or a date, as an ISO time to compare with."""
    now = now or datetime.now(UTC)
    units = {"h": "hours", "d": "days", "w": "weeks"}
    try:
        if text[-1:] in units and text[:-1].isdigit():
            then = now - timedelta(**{units[text[-1]]: int(text[:-1])})
            return then.strftime("%Y-%m-%dT%H:%M:00")  # whole minutes: the same question within one has one answer
        given = datetime.fromisoformat(text)
        if given.tzinfo is not None:
            given = given.astimezone(UTC)
        return given.strftime("%Y-%m-%dT%H:%M:%S")
    except (ValueError, OverflowError):
        raise InputError(
            "bad-since", f"--since {text!r} is neither a span (7d, 12h, 2w) nor a date (2026-11-01)."
        ) from None
