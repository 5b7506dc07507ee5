"""`rules` from beginning to end: the newest sessions of a project, and which of its rules each of them obeyed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from knowbound import __version__
from knowbound.codebase.checkout import Checkout
from knowbound.config import Settings
from knowbound.core.paths import project_name
from knowbound.core.signal import Findings
from knowbound.core.statement import Rule, RuleCheck, RuleFinding, RuleVerdict
from knowbound.errors import InputError
from knowbound.gaps.observe import observe
from knowbound.gaps.stored import Filters, project_of_root
from knowbound.judge.choice import may_see
from knowbound.knowledge.rules.asking import AskedSession, ask_sessions, which_are_rules
from knowbound.knowledge.rules.deciding import SessionCheck, check_of
from knowbound.knowledge.rules.history import RuleHistory
from knowbound.report.model import ObserveReport
from knowbound.store.observed import Observed
from knowbound.store.screens import Screens
from knowbound.text.digest import digest_of
from knowbound.traces.activity import ActivityRecord, RecordKind, SessionActivity, activity_of
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.registry import events_of
from knowbound.traces.sessions import Lens, Progress
from knowbound.traces.source import Tally
from knowbound.traces.turns import session_of

if TYPE_CHECKING:
    from knowbound.judge.models.asking import Asker

NEWEST = 30  # sessions that are looked at by default
_SCREEN = "rules"
_VERSION = 4  # raise it when the same sessions and files give other verdicts
_SPAN = re.compile(r"`([^`\n]{2,60})`")
_LONGEST_REMINDER = 400  # a longer prompt is a task


class RulesFound(msgspec.Struct, frozen=True):
    """The checks of a project's rules."""

    checks: list[RuleCheck]
    sessions: int  # that were looked at
    of: int  # sessions of the project
    calls: int = 0  # tool calls of all sessions of the project
    notes: list[str] = []


def check_rules(
    paths: Sequence[Path],
    settings: Settings,
    filters: Filters | None = None,
    *,
    newest: int = NEWEST,
    root_is_given: bool = False,
    asker: Asker | None = None,
    progress: Progress | None = None,
    environ: Mapping[str, str] | None = None,
    also: Sequence[Lens] = (),
) -> RulesFound:
    """Check the rules of the project at the root in its newest sessions; from the store while nothing changed.

    Raises InputError if there is no session, or no rule.
    """
    filters = filters or Filters()
    report, _ = observe(
        paths, settings, filters, root_is_given=root_is_given, progress=progress, environ=environ, also=also
    )
    with closing(Observed(settings.home)) as observed:
        run = observed.run("observe", ObserveReport)
        keys = run[1] if run is not None else []
        found = [one for one in observed.findings(keys) if filters.admits(one)]
    own = project_of_root((one.project for one in found), settings.root, root_is_given)
    found = sorted((one for one in found if project_name(one.project) == own), key=lambda one: one.started)
    chosen = found[-newest:]
    key = digest_of(
        [__version__, str(_VERSION), str(settings.root), Checkout(settings.root).stamp, asker.judge if asker else ""]
        + [f"{one.session}|{one.ended}|{one.tool_calls}" for one in chosen]
        + [str(len(found))]
    )
    with closing(Screens(settings.home)) as screens:
        kept = screens.screen(_SCREEN, key, RulesFound)
        if kept is None:
            files = [one for found in chosen for one in _files_of(found)]
            sees = partial(may_see, asker.judge, settings=settings) if asker else bool
            kept = check_sessions(files, RuleHistory(settings.root), asker, sees)
            kept = replace(kept, of=len(found), calls=report.totals.tool_calls)
            screens.keep_screen(_SCREEN, key, kept)
    if not kept.checks:
        raise InputError(
            "no-rules", f"No rule was found in a CLAUDE.md, AGENTS.md or the like of {settings.root}. Try: --root DIR"
        )
    return kept


def _files_of(found: Findings) -> Iterator[SessionFiles]:
    """Yield the files of a session; nothing if they are gone."""
    with suppress(InputError, OSError):
        yield session_of(Path(found.files[0]))


def check_sessions(
    sessions: Sequence[SessionFiles],
    history: RuleHistory,
    asker: Asker | None = None,
    sees: Callable[[str], bool] = lambda _agent: True,
) -> RulesFound:
    """Check the rules of a project in these sessions: by rules, and by a model what they leave open.

    `sees` says whether the model may be shown the sessions of an agent.
    """
    read = [(activity_of(events_of(session, Tally()), session.start), session.files[0]) for session in sessions]
    if asker is not None:
        lines = (line for activity, _ in read for line in history.lines_at(*_given(activity)))
        history.is_rule = which_are_rules(lines, asker)
    checks = [_by_rules(activity, trace, history) for activity, trace in read]
    notes: list[str] = []
    if asker is not None:
        notes = _ask(read, checks, asker, sees)
    return RulesFound([one for of_session in checks for one in of_session], len(read), len(sessions), notes=notes)


def _by_rules(activity: SessionActivity, trace: str, history: RuleHistory) -> list[RuleCheck]:
    checks = []
    for rule in history.at(*_given(activity)):
        decide = check_of(rule)
        finding = decide(activity) if decide is not None else RuleFinding()
        checks.append(_check(rule, activity, trace, finding, _reminder(rule, activity, decide)))
    return checks


def _given(activity: SessionActivity) -> tuple[str, str, str, set[str]]:
    """Return what says which rules a session was given: its time, branch, agent and files."""
    touched = {record.path for record in activity.records if record.path}
    return activity.started, activity.branch, activity.agent, touched


def _check(
    rule: Rule, activity: SessionActivity, trace: str, finding: RuleFinding, reminder: ActivityRecord | None
) -> RuleCheck:
    before = next((record.calls_before for record in activity.records if record.line == finding.at_line > 0), None)
    return RuleCheck(
        rule,
        activity.session,
        activity.started,
        finding,
        trace,
        before,
        activity.calls,
        reminder is not None,
        reminder.line if reminder else 0,
    )


def _reminder(rule: Rule, activity: SessionActivity, decide: SessionCheck | None) -> ActivityRecord | None:
    """Return the short message of the user that names what the rule names, when the rule was broken until then.

    In 52 messages of real users with words such as "again" or "I said", none was about a rule: words alone say nothing.
    """
    named = [re.compile(rf"(?<![\w-]){re.escape(one)}(?![\w-])", re.IGNORECASE) for one in _SPAN.findall(rule.text)]
    for one in list(activity.of(RecordKind.PROMPT))[1:] if decide else ():
        if len(one.text) <= _LONGEST_REMINDER and any(name.search(one.text) for name in named):
            until_then = msgspec.structs.replace(activity, records=activity.records[: one.order])
            if decide and decide(until_then).verdict in (RuleVerdict.VIOLATED, RuleVerdict.PARTLY):
                return one
    return None


def _ask(
    read: Sequence[tuple[SessionActivity, str]],
    checks: list[list[RuleCheck]],
    asker: Asker,
    sees: Callable[[str], bool],
) -> list[str]:
    """Put the model's findings in place of what rules left open; return what did not work."""
    asked = [
        AskedSession(activity, [one.rule for one in of_session if _is_open(one)])
        for (activity, _), of_session in zip(read, checks, strict=True)
    ]
    worth = [at for at, one in enumerate(asked) if one.rules and one.activity.calls and sees(one.activity.agent)]
    answers, problem = ask_sessions([asked[at] for at in worth], asker)
    for at, answered in zip(worth, answers, strict=True):
        activity, trace = read[at]
        for place, one in enumerate(checks[at]):
            if _is_open(one) and (found := answered.get(one.rule)) is not None:
                line = found.reminded_line
                reminder = next((record for record in activity.records if record.line == line > 0), None)
                checks[at][place] = _check(one.rule, activity, trace, found.finding, reminder)
    return [f"{asker.judge} did not answer for every session: {problem}"] if problem else []


def _is_open(check: RuleCheck) -> bool:
    return not check.finding.by
