"""`share`: what this machine may show a team. Names that were searched for and counts; no prompt, answer or person.

A text leaves the machine only if it is one name or one relative path without a secret, or a line of a knowledge file of
the project. Sentences of users and agents, search phrases, paths outside of the project and the user's own name stay.
"""

from __future__ import annotations

import getpass
import re
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
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
from knowbound.report.review import (
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
_SHORT_CHUNK = 4  # characters of a chunk that is taken as it is
_WORD_SHARE = 0.6  # share of a chunk's letters that are in words
_MOST_DIGITS, _LONG = 3, 12  # digits of a chunk; from this length on a chunk may have none
_LONGEST_LINE = 300  # characters of a line of a knowledge file
_NOBODY = frozenset(("root", "admin", "user", "ubuntu", "runner", "localhost", "home", "build"))


class _Shareable:
    """Decides which texts may leave the machine."""

    def __init__(self) -> None:
        own = {socket.gethostname().partition(".")[0], Path.home().name}
        with suppress(KeyError, OSError):
            own.add(getpass.getuser())
        self._own = {plain_name(name) for name in own if len(name) > 2 and name.lower() not in _NOBODY}

    def line(self, text: str) -> str:
        """Return a line of a knowledge file of the project; "" if it has a secret or a name of this user."""
        text = " ".join(text.split())[:_LONGEST_LINE]
        plain = plain_name(text)
        return "" if redact(text) != text or any(name in plain for name in self._own) else text

    def name(self, text: str) -> str:
        """Return a name or a relative path that is made of words; "" for anything else."""
        return self.line(text) if _NAME.fullmatch(text) and all(map(_is_wordy, _CHUNK.findall(text))) else ""

    def miss(self, signal: Signal, session: int) -> SharedMiss | None:
        """Return a failed search without the words around it; None if it stays here."""
        name = topic_name(signal)
        query = self.name(signal.query) or self.name(spelled(signal))
        missing, path = signal.outcome is Outcome.MISSING, self.name(signal.path)
        if not name or name not in plain_name(path if missing and path else query):
            return None  # what may be shown does not show what was missed
        place = signal.found_at
        found = FoundPlace(self.name(place.path), place.line) if place is not None and self.name(place.path) else None
        return SharedMiss(
            session=session, turn=signal.turn, name=name, query=query or name, path=path, missing=missing,
            status=signal.status, ending=signal.ending, found_at=found, cost=signal.cost,
        )  # fmt: skip


def _is_wordy(chunk: str) -> bool:
    """Report whether a chunk reads as words. Redaction alone finds few secrets without words around them."""
    letters = sum(map(str.isalpha, chunk))
    most_digits = 0 if len(chunk) >= _LONG else _MOST_DIGITS
    if len(chunk) - letters > most_digits or _UNSPOKEN.search(chunk):
        return False
    letters_in_words = sum(map(len, _WORD.findall(chunk)))
    # Other scripts have words that the pattern does not know, and secrets are ASCII.
    return len(chunk) <= _SHORT_CHUNK or not chunk.isascii() or letters_in_words >= _WORD_SHARE * letters


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
        newest_run = observed.run("observe", ObserveReport)
        _, keys = newest_run or (None, [])
        aggregates: dict[str, Aggregate] = {}
        for found in observed.findings(keys):
            if filters.admits(found):
                found.project = at_root(found.project, folders_of(settings.root))
                aggregates.setdefault(project_name(found.project), Aggregate()).add(found)
    answers = _answers(keys, settings, filters)
    shareable = _Shareable()
    here = project_name(str(settings.root))
    parts = []
    for project, aggregate in sorted(aggregates.items()):
        if not shareable.name(project):
            continue
        numbers: dict[str, int] = {}  # of sessions, in the order in which they come
        misses = (
            shareable.miss(signal, numbers.setdefault(signal.session, len(numbers) + 1))
            for signal in aggregate.misses()
        )
        is_here = project == here or (root_is_given and len(aggregates) == 1)  # its knowledge files are the root's
        scope = ReviewScope(paths, settings, filters, root_is_given, environ) if is_here else None
        parts.append(
            SharedProject(
                project=project,
                gap=aggregate.figures(),
                sessions=aggregate.sessions,
                turns=aggregate.turns,
                tool_calls=aggregate.tool_calls,
                answers=dict(sorted(answers.get(project, Counter()).items())),
                misses=[miss for miss in misses if miss],
                statements=list(_statements(settings, shareable)) if scope else [],
                rules=list(_rules(scope, shareable)) if scope else [],
                items=list(_items(settings, shareable)) if scope else [],
            )
        )
    if not parts:
        raise InputError("nothing-to-share", "No project in these sessions has a name that may be shared.")
    return SharedFile(FORMAT, seal("knowbound share"), utc_now(), __version__, parts)


def _answers(keys: Sequence[str], settings: Settings, filters: Filters) -> dict[str, Counter[str]]:
    """Return how many turns of each project have each diagnosis."""
    answers: dict[str, Counter[str]] = {}
    for session in Audited(settings.home).sessions(keys):
        if filters.admits(session):
            project = project_name(at_root(session.project, folders_of(settings.root)))
            answers.setdefault(project, Counter()).update(turn.diagnosis.value for turn in session.turns)
    return answers


def _statements(settings: Settings, shareable: _Shareable) -> Iterator[SharedStatement]:
    """Yield the contradicted lines of shared knowledge files; items and files for one user stay here."""
    try:
        checked = lint_project(settings)
    except InputError:  # no knowledge files
        return
    for checked_statement in checked:
        file, text = checked_statement.statement.file, shareable.line(checked_statement.statement.text)
        is_own = file.startswith(ITEM) or ".local." in file  # an item, or a file for this user alone
        if checked_statement.truth is Truth.CONTRADICTED and text and shareable.name(file) and not is_own:
            yield SharedStatement(file, text, shareable.line(checked_statement.why))


def _rules(asked: ReviewScope, shareable: _Shareable) -> Iterator[SharedRule]:
    """Yield how often the rules of shared files were obeyed and broken."""
    found = rules_of(asked)
    for summary in summaries(found.checks) if found else ():
        text = shareable.line(summary.rule.text)
        if text and shareable.name(summary.rule.file) and ".local." not in summary.rule.file:
            yield SharedRule(summary.rule.file, text, summary.obeyed.k, summary.violated, summary.partly)


def _items(settings: Settings, shareable: _Shareable) -> Iterator[SharedItem]:
    """Yield the verdicts of this machine's own log; a log in MongoDB is the team's already."""
    if "mongo" in settings.kms_backends or not (settings.home / ITEMS).exists():
        return
    counts: dict[str, Counts] = {}
    with closing(SqliteQualityLog(settings.home)) as log:
        for day in log.rollups():
            for id_, item_counts in day.by_item.items():
                counts[id_] = counts.get(id_, Counts()) + item_counts
    yield from (SharedItem(id_, item_counts) for id_, item_counts in sorted(counts.items()) if shareable.name(id_))
