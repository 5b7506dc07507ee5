"""`rules` from beginning to end: the newest sessions of a project, and which of its rules each of them obeyed.

The rules are those of the knowledge files on the day of a session, on its branch if the repository has it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from functools import lru_cache, partial
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
from knowbound.git import run_git
from knowbound.judge.choice import may_see
from knowbound.knowledge.deciding import SessionCheck, check_of
from knowbound.knowledge.lint import knowledge_files, loaded_files
from knowbound.knowledge.rule_questions import AskedSession, ask_sessions, which_are_rules
from knowbound.knowledge.statements import is_rule, lines_of
from knowbound.report.model import ObserveReport
from knowbound.store.decisions import Screens
from knowbound.store.observed import Observed
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
        newest_run = observed.run("observe", ObserveReport)
        _, session_keys = newest_run or (None, [])
        found = [session for session in observed.findings(session_keys) if filters.admits(session)]
    project = project_of_root((session.project for session in found), settings.root, root_is_given)
    of_project = [session for session in found if project_name(session.project) == project]
    of_project.sort(key=lambda session: session.started)
    chosen = of_project[-newest:]
    key = digest_of(
        [__version__, str(_VERSION), str(settings.root), Checkout(settings.root).stamp, asker.judge if asker else ""]
        + [f"{session.session}|{session.ended}|{session.tool_calls}" for session in chosen]
        + [str(len(of_project))]
    )
    with closing(Screens(settings.home)) as screens:
        result = screens.screen(_SCREEN, key, RulesFound)
        if result is None:
            files = [files for session in chosen for files in _files_of(session)]
            sees = partial(may_see, asker.judge, settings=settings) if asker else bool  # without a model nobody sees
            result = check_sessions(files, RuleHistory(settings.root), asker, sees)
            result = replace(result, of=len(of_project), calls=report.totals.tool_calls)
            screens.keep_screen(_SCREEN, key, result)
    if not result.checks:
        raise InputError(
            "no-rules", f"No rule was found in a CLAUDE.md, AGENTS.md or the like of {settings.root}. Try: --root DIR"
        )
    return result


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
    read_sessions = [
        (activity_of(events_of(session, Tally()), session.start), session.files[0]) for session in sessions
    ]
    if asker is not None:
        lines = (line for activity, _ in read_sessions for line in history.lines_at(*_rule_selectors(activity)))
        history.is_rule = which_are_rules(lines, asker)  # in place of the rule by words
    checks = [_by_rules(activity, trace, history) for activity, trace in read_sessions]
    notes: list[str] = []
    if asker is not None:
        notes = _ask(read_sessions, checks, asker, sees)
    every_check = [check for of_session in checks for check in of_session]
    return RulesFound(every_check, sessions=len(read_sessions), of=len(sessions), notes=notes)


def _by_rules(activity: SessionActivity, trace: str, history: RuleHistory) -> list[RuleCheck]:
    """Check every rule that a session was given; one that the records do not decide has an empty finding."""
    checks = []
    for rule in history.at(*_rule_selectors(activity)):
        decide = check_of(rule)
        finding = decide(activity) if decide is not None else RuleFinding()
        checks.append(_rule_check(rule, activity, trace, finding, _reminder(rule, activity, decide)))
    return checks


def _rule_selectors(activity: SessionActivity) -> tuple[str, str, str, set[str]]:
    """Return what says which rules a session was given: its time, branch, agent and files."""
    touched = {record.path for record in activity.records if record.path}
    return activity.started, activity.branch, activity.agent, touched


def _rule_check(
    rule: Rule, activity: SessionActivity, trace: str, finding: RuleFinding, reminder: ActivityRecord | None
) -> RuleCheck:
    """Return a finding with its session, and with the calls before the record that shows it."""
    # Line 0 is that of no record.
    before = next((record.calls_before for record in activity.records if record.line == finding.at_line > 0), None)
    return RuleCheck(
        rule=rule,
        session=activity.session,
        started=activity.started,
        finding=finding,
        trace=trace,
        calls_before=before,
        calls=activity.calls,
        reminded=reminder is not None,
        reminded_line=reminder.line if reminder else 0,
    )


def _reminder(rule: Rule, activity: SessionActivity, decide: SessionCheck | None) -> ActivityRecord | None:
    """Return the short message of the user that names what the rule names, when the rule was broken until then.

    In 52 messages of real users with words such as "again" or "I said", none was about a rule: words alone say nothing.
    """
    named = [re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])", re.IGNORECASE) for name in _SPAN.findall(rule.text)]
    for prompt in list(activity.of(RecordKind.PROMPT))[1:] if decide else ():  # the first prompt is the task
        if len(prompt.text) <= _LONGEST_REMINDER and any(name.search(prompt.text) for name in named):
            until_then = msgspec.structs.replace(activity, records=activity.records[: prompt.order])
            if decide and decide(until_then).verdict in (RuleVerdict.VIOLATED, RuleVerdict.PARTLY):
                return prompt
    return None


def _ask(
    sessions_read: Sequence[tuple[SessionActivity, str]],
    checks: list[list[RuleCheck]],
    asker: Asker,
    sees: Callable[[str], bool],
) -> list[str]:
    """Put the model's findings in place of what rules left open; return what did not work."""
    asked = [
        AskedSession(activity, [check.rule for check in of_session if _is_for_model(check)])
        for (activity, _), of_session in zip(sessions_read, checks, strict=True)
    ]
    # Indexes of sessions with something to decide: one without calls neither obeys nor breaks a rule.
    to_ask = [at for at, (activity, rules) in enumerate(asked) if rules and activity.calls and sees(activity.agent)]
    answers, problem = ask_sessions([asked[at] for at in to_ask], asker)
    for at, answered in zip(to_ask, answers, strict=True):
        activity, trace = sessions_read[at]
        for number, check in enumerate(checks[at]):
            if _is_for_model(check) and (found := answered.get(check.rule)) is not None:
                line = found.reminded_line
                reminder = next((record for record in activity.records if record.line == line > 0), None)
                checks[at][number] = _rule_check(check.rule, activity, trace, found.finding, reminder)
    return [f"{asker.judge} did not answer for every session: {problem}"] if problem else []


def _is_for_model(check: RuleCheck) -> bool:
    """Report whether nobody has decided yet."""
    return not check.finding.by


_SECONDS = 20.0
_HASH_BYTES, _LISTING_BYTES, _LARGEST = 200, 64 << 20, 1_000_000  # of what git prints
_TO_SECONDS = len("2026-01-31T12:00:00")
# Skills, sub-agents and commands are loaded when they are called: they give no rules for every session.
_ON_CALL = ("/skills/", "/agents/", "/commands/")
_CLAUDE = re.compile(r"(?:^|/)claude(?:\.local)?\.md$|(?:^|/)\.claude/rules/", re.IGNORECASE)
_AGENTS = re.compile(r"(?:^|/)AGENTS\.md$")
_OF_AGENT = {
    "claude-code": _CLAUDE,
    "codex": _AGENTS,
    "gemini-cli": re.compile(r"(?:^|/)GEMINI\.md$"),
    "copilot-cli": re.compile(r"(?:^|/)AGENTS\.md$|(?:^|/)copilot-instructions\.md$"),
}


class RuleHistory:
    """The rules of a project by day. Without history, the files as they are now count for every session."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.is_rule: Callable[[Rule], bool] = is_rule  # by words, until a model has said which lines are rules

    def at(self, time: str, branch: str = "", agent: str = "", touched: Iterable[str] = ()) -> list[Rule]:
        """Return the rules that a session of a moment (ISO, UTC; "" for now) was given.

        Agents load the files of their own client; one in a folder only if the session works in that folder.
        """
        return [line for line in self.lines_at(time, branch, agent, touched) if self.is_rule(line)]

    def lines_at(self, time: str, branch: str = "", agent: str = "", touched: Iterable[str] = ()) -> list[Rule]:
        """Return every line that may be a rule of a session."""
        lines = self._of_commit(self._commit(branch, time[:_TO_SECONDS]) if time else "")
        folders = {folder for path in touched for folder in _folders_above(path)}
        return [line for line in lines if _is_loaded(line.file, agent) and _folder_of(line.file) in (*folders, "")]

    @lru_cache(maxsize=512)  # noqa: B019  (one history lives as long as a command)
    def _commit(self, branch: str, time: str) -> str:
        """Return the last commit of the branch before that moment; "" if there is no history that long."""
        for ref in (f"refs/heads/{branch}", f"refs/remotes/origin/{branch}", "HEAD") if branch else ("HEAD",):
            arguments = ("rev-list", "-1", f"--before={time}Z", "--end-of-options", ref, "--")
            ran = run_git(self.root, *arguments, seconds=_SECONDS, output_bytes=_HASH_BYTES)
            if ran.code == 0 and (found := ran.out.decode("ascii", "replace").strip()):
                return found
        return ""

    @lru_cache(maxsize=512)  # noqa: B019
    def _of_commit(self, commit: str) -> list[Rule]:
        """Return the lines of the knowledge files of a commit, or of the files as they are now for ""."""
        if not commit:
            checkout = Checkout(self.root)
            files = _every_session(knowledge_files(checkout))
            return [rule for path in files for rule in lines_of(path, checkout.text(path))]
        return [rule for path, blob in self._blobs(commit) for rule in self._of_blob(path, blob)]

    def _blobs(self, commit: str) -> list[tuple[str, str]]:
        """Return the knowledge files of a commit with their blobs."""
        ran = run_git(self.root, "ls-tree", "-r", "-z", commit, seconds=_SECONDS, output_bytes=_LISTING_BYTES)
        rows = (row.partition("\t") for row in ran.out.decode("utf-8", "replace").split("\0") if row)
        blobs = {path: meta.split()[2] for meta, _, path in rows if meta.startswith("100")}  # files, no links
        return [(path, blobs[path]) for path in _every_session(loaded_files(blobs))]

    @lru_cache(maxsize=512)  # noqa: B019
    def _of_blob(self, path: str, blob: str) -> list[Rule]:
        ran = run_git(self.root, "cat-file", "blob", blob, seconds=_SECONDS, output_bytes=_LARGEST)
        return lines_of(path, ran.out.decode("utf-8", "replace")) if ran.code == 0 and not ran.cut else []


def _every_session(files: Iterable[str]) -> list[str]:
    return [file for file in files if not any(part in f"/{file}" for part in _ON_CALL)]


def _is_loaded(file: str, agent: str) -> bool:
    """Report whether an agent loads a file by itself; of unknown agents every file counts."""
    name = _OF_AGENT.get(agent)
    return name is None or bool(name.search(file))


def _folder_of(file: str) -> str:
    """Return the folder whose work a file is for; "" for the whole project."""
    parts = file.split("/")[:-1]
    end = next((at for at, part in enumerate(parts) if part.startswith(".")), len(parts))  # `web/.claude/rules`: `web`
    return "/".join(parts[:end])


def _folders_above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path
