"""`share`: what this machine may show a team. Names that were searched for and counts; no prompt, answer or person.

A text leaves the machine only if it is one name or one relative path without a secret, or a line of a knowledge file of
the project. Sentences of users and agents, search phrases, paths outside of the project and the user's own name stay.
"""

from __future__ import annotations

import getpass
import re
import socket
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path

from knowbound import __version__
from knowbound.audit.audit import audit_lens
from knowbound.config import Settings
from knowbound.core.paths import project_name
from knowbound.core.quality import Counts
from knowbound.core.signal import FoundPlace, Signal
from knowbound.core.statement import Truth
from knowbound.core.trace import Outcome
from knowbound.errors import InputError
from knowbound.gaps.aggregate import Aggregate
from knowbound.gaps.observe import observe
from knowbound.gaps.stored import Filters, at_root, folders_of
from knowbound.gaps.topics import spelled, topic_name
from knowbound.gaps.wanted import plain_name
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.knowledge.lint import ITEM, lint_project
from knowbound.report.knowledge import summaries
from knowbound.report.model import ObserveReport
from knowbound.report.team import (
    FORMAT,
    SharedFile,
    SharedItem,
    SharedMiss,
    SharedProject,
    SharedRule,
    SharedStatement,
)
from knowbound.review.review import ReviewScope, rules_of
from knowbound.store.data_dir import ITEMS
from knowbound.store.observed import Audited, Observed
from knowbound.text.clock import utc_now
from knowbound.text.redact import redact
from knowbound.traces.sessions import Progress
from knowbound.user_files import seal

_NAME = re.compile(r"(?![/~$]|[A-Za-z]:)(?!.*(?:\.\.|://))[\w.@/*#:-]{1,200}")
_CHUNK = re.compile(r"[^\W_]+")
_WORD = re.compile(r"[A-Z]?[a-z]{3,24}|(?<![a-zA-Z])[A-Z]{2,24}(?![a-zA-Z])")
_UNSPOKEN = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}")
_SHORT = 4  # characters of a chunk that is taken as it is
_WORDY = 0.6  # share of a chunk's letters that are in words
_MOST_DIGITS, _LONG = 3, 12  # digits of a chunk; from this length on a chunk may have none
_LONGEST_LINE = 300  # characters of a line of a knowledge file
_NOBODY = frozenset(("root", "admin", "user", "ubuntu", "runner", "localhost", "home", "build"))


class _Shareable:
    """Decides which texts may leave the machine."""

    def __init__(self) -> None:
        own = {socket.gethostname().partition(".")[0], Path.home().name}
        with suppress(KeyError, OSError):
            own.add(getpass.getuser())
        self._own = {plain_name(one) for one in own if len(one) > 2 and one.lower() not in _NOBODY}

    def line(self, text: str) -> str:
        """Return a line of a knowledge file of the project; "" if it has a secret or a name of this user."""
        text = " ".join(text.split())[:_LONGEST_LINE]
        plain = plain_name(text)
        return "" if redact(text) != text or any(one in plain for one in self._own) else text

    def name(self, text: str) -> str:
        """Return a name or a relative path that is made of words; "" for anything else."""
        return self.line(text) if _NAME.fullmatch(text) and all(map(_is_wordy, _CHUNK.findall(text))) else ""

    def miss(self, signal: Signal, session: int) -> SharedMiss | None:
        """Return a failed search without the words around it; None if it stays here."""
        name = topic_name(signal)
        query = self.name(signal.query) or self.name(spelled(signal))
        missing, path = signal.outcome is Outcome.MISSING, self.name(signal.path)
        if not name or name not in plain_name(path if missing and path else query):
            return None
        place = signal.found_at
        found = FoundPlace(self.name(place.path), place.line) if place is not None and self.name(place.path) else None
        return SharedMiss(
            session, signal.turn, name, query or name, path, missing, signal.status, signal.ending, found, signal.cost
        )


def _is_wordy(chunk: str) -> bool:
    """Report whether a chunk reads as words. Redaction alone finds few secrets without words around them."""
    letters = sum(map(str.isalpha, chunk))
    most = 0 if len(chunk) >= _LONG else _MOST_DIGITS
    if len(chunk) - letters > most or _UNSPOKEN.search(chunk):
        return False
    return len(chunk) <= _SHORT or not chunk.isascii() or sum(map(len, _WORD.findall(chunk))) >= _WORDY * letters


def share(
    paths: Sequence[Path],
    settings: Settings,
    filters: Filters | None = None,
    *,
    root_is_given: bool = False,
    progress: Progress | None = None,
    environ: Mapping[str, str] | None = None,
) -> SharedFile:
    """Return what this machine shares about the sessions within the filters. Raises InputError without sessions."""
    filters = filters or Filters()
    lens = audit_lens(settings)
    observe(paths, settings, filters, root_is_given=root_is_given, progress=progress, environ=environ, also=[lens])
    with closing(Observed(settings.home)) as observed:
        run = observed.run("observe", ObserveReport)
        keys = run[1] if run is not None else []
        whole: dict[str, Aggregate] = {}
        for found in observed.findings(keys):
            if filters.admits(found):
                found.project = at_root(found.project, folders_of(settings.root))
                whole.setdefault(project_name(found.project), Aggregate()).add(found)
    answers: dict[str, Counter[str]] = {}
    for session in Audited(settings.home).sessions(keys):
        if filters.admits(session):
            project = project_name(at_root(session.project, folders_of(settings.root)))
            answers.setdefault(project, Counter()).update(turn.diagnosis.value for turn in session.turns)
    may = _Shareable()
    here = project_name(str(settings.root))
    parts = []
    for project, one in sorted(whole.items()):
        if not may.name(project):
            continue
        is_here = project == here or (root_is_given and len(whole) == 1)
        asked = ReviewScope(paths, settings, filters, root_is_given, environ) if is_here else None
        parts.append(
            SharedProject(
                project,
                one.figures(),
                one.sessions,
                one.turns,
                one.tool_calls,
                dict(sorted(answers.get(project, Counter()).items())),
                list(_misses(one.misses(), may)),
                list(_statements(settings, may)) if asked else [],
                list(_rules(asked, may)) if asked else [],
                list(_items(settings, may)) if asked else [],
            )
        )
    if not parts:
        raise InputError("nothing-to-share", "No project in these sessions has a name that may be shared.")
    return SharedFile(FORMAT, seal("knowbound share"), utc_now(), __version__, parts)


def _misses(signals: Iterable[Signal], may: _Shareable) -> Iterator[SharedMiss]:
    numbers: dict[str, int] = {}
    for signal in signals:
        if found := may.miss(signal, numbers.setdefault(signal.session, len(numbers) + 1)):
            yield found


def _statements(settings: Settings, may: _Shareable) -> Iterator[SharedStatement]:
    try:
        checked = lint_project(settings)
    except InputError:  # no knowledge files
        return
    for one in checked:
        file, text = one.statement.file, may.line(one.statement.text)
        is_own = file.startswith(ITEM) or ".local." in file  # an item, or a file for this user alone
        if one.truth is Truth.CONTRADICTED and text and may.name(file) and not is_own:
            yield SharedStatement(file, text, may.line(one.why))


def _rules(asked: ReviewScope, may: _Shareable) -> Iterator[SharedRule]:
    found = rules_of(asked)
    for one in summaries(found.checks) if found else ():
        text = may.line(one.rule.text)
        if text and may.name(one.rule.file) and ".local." not in one.rule.file:
            yield SharedRule(one.rule.file, text, one.obeyed.k, one.violated, one.partly)


def _items(settings: Settings, may: _Shareable) -> Iterator[SharedItem]:
    """Yield the verdicts of this machine's own log; a log in MongoDB is the team's already."""
    if "mongo" in settings.kms_backends or not (settings.home / ITEMS).exists():
        return
    counts: dict[str, Counts] = {}
    with closing(SqliteQualityLog(settings.home)) as log:
        for day in log.rollups():
            for id_, one in day.by_item.items():
                counts[id_] = counts.get(id_, Counts()) + one
    yield from (SharedItem(id_, one) for id_, one in sorted(counts.items()) if may.name(id_))
