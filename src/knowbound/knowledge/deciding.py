"""Rules that the records of a session decide by themselves: runs, forbidden commands, commits, files to read or leave.

Each reader of a rule returns a check, or nothing where the words leave room: such a rule is a model's to decide.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from knowbound.core.statement import Rule, RuleFinding, RuleVerdict
from knowbound.traces.activity import ActivityRecord, RecordKind, SessionActivity
from knowbound.traces.shell.parser import Command, commands, parse

_BY = "rules"
_SHOWN_CHARACTERS = 80  # of a command line
SessionCheck = Callable[[SessionActivity], RuleFinding]

_SPAN = re.compile(r"`([^`\n]{2,80})`")
_PROGRAM = re.compile(r"[a-z][\w.+-]*$")
_CALL = re.compile(r"[(){}<>]")
_RUN = re.compile(r"\b(?:run|execute|runs|running)\b[^.;`]{0,80}(?=`)", re.IGNORECASE)
_AND_ALSO = re.compile(r"\s*(?:,|&|\+|,?\s*(?:and|then|and then|followed by))\s*(?=`)")
_EITHER = re.compile(r"`,?\s*or\s*`")
_AT_COMMIT = re.compile(r"\bbefore (?:\w+ ){0,3}(?:commit|push)|\b(?:pre-?commit|commits?:)", re.IGNORECASE)
_AT_END = re.compile(
    r"\b(?:after|following) (?:each|every|any|all|making|your|code|the)\b[^.;]{0,30}\b(?:chang|edit|modif|implement)\w*"
    r"|\bbefore (?:\w+ ){0,3}(?:complet|finish|submitt|done|declar|end)\w*"
    r"|\bat the end of (?:each|every|any|the|a|your)\b|\bwhen (?:you are |you're )?(?:done|finished)\b",
    re.IGNORECASE,
)
# The rule is about some cases only: which ones, the records do not say.
_SOME_CASES = re.compile(
    r"\b(?:if|when(?! (?:you are |you're )?(?:done|finished))|unless|except|only for|for any|in case|where|whenever|"
    r"that (?:touch|chang|affect|modif)\w*|optionally|as needed|if needed|without|besides|other than)\b",
    re.IGNORECASE,
)
_FORBIDS = re.compile(r"\b(?:never|do not|don['’]t|must not|mustn['’]t|not allowed|forbidden)\b", re.IGNORECASE)
_USES = re.compile(r"\b(?:use|run|execute|call|invoke)\b", re.IGNORECASE)
_NOT = re.compile(r"\b(?:instead of|rather than|not|never|over|,? ?don['’]t use)\b", re.IGNORECASE)
_VERB_CHARACTERS = 40  # between "never" and its verb
_MANAGERS = re.compile(r"\b(npm|npx|pnpm|yarn|bun|pip|pip3|poetry|pipenv|uv|conda)\b")
_PUSH = re.compile(
    r"\b(?:never|do not|don['’]t|must not)\b[^.]{0,30}\bpush(?:ed|es|ing)?\b[^.]{0,40}`?\b(main|master)\b", re.I
)
_EDITS = re.compile(
    r"\b(?:never|do not|don['’]t|must not|not be|NOT be)\b[^.`]{0,30}\b(?:edit|modif|chang|touch)\w*", re.IGNORECASE
)
_CONVENTIONAL = re.compile(r"(?<!not use )conventional commits?", re.IGNORECASE)
_OTHER_TITLES = re.compile(r"\b(?:titles?|pull requests?|PRs?|branch(?:es)?|prefer\w*)\b", re.IGNORECASE)
_SUBJECT = re.compile(r"^(?:feat|fix|docs|style|refactor|perf|test|build|ci|chore|revert)(?:\([^)]+\))?!?: \S")
_AUTHOR = re.compile(r"co-authored-by", re.IGNORECASE)
_READS = re.compile(
    r"\b(?:read|consult|study)\b[^.`]{0,30}`(?P<path>[^`\s]+\.\w{1,5})`[^.`]{0,30}\b(?:before|first)\b"
    r"|\b(?:before|first)\b[^.`]{0,60}\b(?:read|consult|study)\b[^.`]{0,30}`(?P<later>[^`\s]+\.\w{1,5})`",
    re.IGNORECASE,
)
_GIVES_MESSAGE = re.compile(r"-[A-Za-z]*m|--message")
_MESSAGE = re.compile(r"""<<-?\s*['"]?EOF['"]?\s*\n(.*?)\n\s*EOF""", re.DOTALL)
# Words around the script of a package manager, and wrappers in front of a program.
_AROUND = frozenset(
    "run run-script exec x npx bunx pnpx uvx rtk poetry pipenv hatch pdm rye dotenv env time command python python3 -m "
    "workspace workspaces -w --silent -s".split()
)
_PACKAGE_MANAGERS = frozenset("npm pnpm yarn bun uv poetry pipenv deno turbo nx make just mise task".split())
_SPEAKERS = frozenset("echo printf grep rg cat sed awk man which type".split())  # name commands, and run none of them
# What a commit prints whose hook ran checks.
_BY_HOOK = re.compile(
    r"husky|lint-staged|lefthook|pre-commit|Checked \d+ files|\b\d+ pass|biome|eslint|prettier|ruff|vitest|jest|Tests:",
    re.IGNORECASE,
)
_NARROW = re.compile(r"^(?:-k|-t|-run|--grep|--filter|--testNamePattern|-p|--lib|--test)$|[\w-]+\.\w{1,5}$|::|/")
_ALL_CHECKS = re.compile(
    r"^(?:check|checks|ci|verify|validate|precommit|pre-commit|all|quality|lint:all|test:all|preflight)$"
)


def check_of(rule: Rule) -> SessionCheck | None:
    """Return a check that decides from the records whether a session obeyed the rule; None if only a model can."""
    text = rule.text
    if _CONVENTIONAL.search(text) and not _SOME_CASES.search(text) and not _OTHER_TITLES.search(text):
        return _commits(lambda message: bool(_SUBJECT.match(message.lstrip())), "the subject is no conventional commit")
    if found := _PUSH.search(text):
        return _pushes(found[1])
    if _AUTHOR.search(text) and _FORBIDS.search(text):
        return _commits(lambda message: not _AUTHOR.search(message), "the message has a co-author")
    if _EDITS.search(text) and not re.search(r"\b(?:without|manually)\b", text, re.IGNORECASE):  # some edits are right
        paths = [span for span in _SPAN.findall(text) if "/" in span or re.search(r"\.\w{1,5}$", span)]
        return _left_alone(paths) if paths else None
    if _SOME_CASES.search(text):
        return None  # which cases, the records do not say
    if found := _READS.search(text):
        return _read_first(found["path"] or found["later"])
    return _forbidden_check(text) or _run_check(text)


def _decided(verdict: RuleVerdict, record: ActivityRecord | None, why: str) -> RuleFinding:
    """Return the finding on a rule that applied, with the record that shows it."""
    return RuleFinding(applicable=True, verdict=verdict, at_line=record.line if record else 0, why=why, by=_BY)


# Runs


def _run_check(text: str) -> SessionCheck | None:
    """Return the check that every required command ran before each commit or at the end; None if none is required."""
    spans, at_end = _required_commands(text), bool(_AT_END.search(text))
    if not spans:
        return None
    return lambda activity: _all_of([_run_finding(span, activity, only_commits=not at_end) for span in spans])


def required_runs(rule: Rule) -> list[tuple[str, ...]]:
    """Return the commands, as words, that a rule wants to have run before a commit or at the end."""
    return [] if _SOME_CASES.search(rule.text) else [_words_of(run) for run in _required_commands(rule.text)]


def _required_commands(text: str) -> list[str]:
    """Return the commands as they are written: all of "run `a` and `b`", none of "run `a` or `b`"."""
    if _EITHER.search(text) or not (_AT_COMMIT.search(text) or _AT_END.search(text)) or _FORBIDS.search(text):
        return []
    required = []
    for found in _RUN.finditer(text):
        span = _SPAN.match(text, found.end())
        while span is not None:
            required.append(span[1])
            joined = _AND_ALSO.match(text, span.end())
            span = _SPAN.match(text, joined.end()) if joined else None
    return [command for command in required if _words_of(command)]


def _words_of(text: str) -> tuple[str, ...]:
    """Return the essential words of a text that is one command; nothing for any other text."""
    simple = list(commands(parse(text))) if not _CALL.search(text) else []  # `f()` is a tool or a function
    words = _essential_words(simple[0]) if len(simple) == 1 else ()
    return words if words and _PROGRAM.match(words[0]) else ()


def _essential_words(command: Command) -> tuple[str, ...]:
    """Return the words without wrappers and a runner's `run`; a package manager in front stays."""
    words = [word.text for word in command.words]
    kept = [word for at, word in enumerate(words) if word not in _AROUND or (at == 0 and word in _PACKAGE_MANAGERS)]
    return tuple(kept)


def _is_run_of(command: Command, wanted: tuple[str, ...]) -> bool | None:
    """Report whether a command runs what is wanted, maybe behind a wrapper; None if it runs only a part of it."""
    words = [word for word in _essential_words(command) if not word.startswith("-")]
    needed = [word for word in wanted if not word.startswith("-")]
    if not words or words[0] in _SPEAKERS:
        return False
    if len(needed) > 1 and needed[0] in _PACKAGE_MANAGERS:  # the script counts, whoever runs it
        starts = [at for at, word in enumerate(words) if word in _PACKAGE_MANAGERS]
        starts = [at for at in starts if words[at + 1 : at + len(needed)] == needed[1:]]
    else:
        starts = [at for at in range(len(words)) if words[at : at + len(needed)] == needed]
    if not starts:
        return False
    further = [word for word in _essential_words(command)[1:] if word not in wanted]
    return None if any(_NARROW.search(word) for word in further) else True  # `-k`, a file: only a part


def _run_finding(spelled: str, activity: SessionActivity, *, only_commits: bool) -> RuleFinding:
    """Return the finding on a command that has to run after the last edit before each commit, or before the end."""
    edits = [record for record in activity.records if record.is_code]
    if not edits:
        return RuleFinding(applicable=False, by=_BY, why="no source was edited")
    runs, other_runner = _runs_in(activity, _words_of(spelled), edits[-1].order)
    commits = [record for record in activity.of(RecordKind.COMMAND) if _is_commit(record)]
    commits = [commit for commit in commits if commit.order > edits[0].order]  # of this session's work
    if only_commits and not commits:
        return RuleFinding(applicable=False, by=_BY, why="nothing was committed")
    ends = [commit.order for commit in commits] if only_commits else [len(activity.records)]
    verdicts = []
    for end in ends:
        last_edit = max(edit.order for edit in edits if edit.order < end)
        ran = [(record, is_whole) for record, is_whole in runs if record.order <= end]
        after_edit = [is_whole for record, is_whole in ran if record.order >= last_edit]
        verdicts.append(RuleVerdict.OBEYED if any(after_edit) else RuleVerdict.PARTLY if ran else RuleVerdict.VIOLATED)
    if not runs and not only_commits and not activity.is_answered:
        return RuleFinding(applicable=True, by="", why="the session ends before the work did")
    verdict = verdicts[0] if len(set(verdicts)) == 1 else RuleVerdict.PARTLY
    if other_runner and verdict is not RuleVerdict.OBEYED:
        return RuleFinding(applicable=True, by="", why=other_runner)
    shown_by = runs[-1][0] if runs else commits[-1] if only_commits else edits[-1]
    whys = {
        RuleVerdict.OBEYED: f"`{spelled}` ran after the last edit",
        RuleVerdict.PARTLY: f"`{spelled}` ran, but not whole after the last edit",
        RuleVerdict.VIOLATED: f"`{spelled}` never ran",
    }
    return _decided(verdict, shown_by, whys[verdict])


def _runs_in(
    activity: SessionActivity, wanted: tuple[str, ...], last_edit: int
) -> tuple[list[tuple[ActivityRecord, bool]], str]:
    """Return the records that ran a command, each with whether it ran the whole; and in words what else may have."""
    runs: list[tuple[ActivityRecord, bool]] = []
    other_runner = ""
    for record in activity.of(RecordKind.COMMAND):
        kinds = [_is_run_of(command, wanted) for command in record.commands]
        if any(kind is not False for kind in kinds):
            runs.append((record, None not in kinds or True in kinds))  # None: a part of it
        elif any(_runs_all_checks(command) for command in record.commands):
            other_runner = "another check ran that may have run it"
        elif _is_commit(record) and record.order > last_edit and _BY_HOOK.search(record.output):
            other_runner = "a hook of the commit may have run it"
    return runs, other_runner


def _runs_all_checks(command: Command) -> bool:
    """Report whether a command is a script such as `npm run ci`, which may run any check."""
    words = _essential_words(command)
    return len(words) > 1 and words[0] in _PACKAGE_MANAGERS and bool(_ALL_CHECKS.match(words[1]))


def _all_of(found: Sequence[RuleFinding]) -> RuleFinding:
    """Return one finding for several things that a rule asks for."""
    if open_finding := next((finding for finding in found if finding.verdict is None), None):
        return open_finding
    if len({finding.verdict for finding in found}) == 1:
        return found[0]
    worst = next(finding for finding in found if finding.verdict is not RuleVerdict.OBEYED)
    return RuleFinding(applicable=True, verdict=RuleVerdict.PARTLY, at_line=worst.at_line, why=worst.why, by=_BY)


# Commands that are not to be used


def _forbidden_check(text: str) -> SessionCheck | None:
    """Return the check that no forbidden command ran; None if the text forbids none."""
    forbidden, preferred = _forbidden(text)
    return (lambda activity: _not_used(forbidden, preferred, activity)) if forbidden else None


def forbidden_commands(rule: Rule) -> list[tuple[str, ...]]:
    """Return the commands, as words, that a rule forbids."""
    return [] if _SOME_CASES.search(rule.text) else _forbidden(rule.text)[0]


def _forbidden(text: str) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """Return the commands that a text forbids, and those that it wants in their place."""
    plain = text.replace("**", "")
    prose = _SPAN.sub(lambda span: " " * len(span[0]), plain)  # a verb in code is part of a command
    split = _NOT.search(plain) if _USES.search(prose) else None
    if split is not None and not _FORBIDS.search(plain[: split.start()]):  # "use `a` instead of `b`"
        preferred, forbidden = _named(plain[: split.start()]), _named(plain[split.end() :])
        if preferred and forbidden:
            return forbidden, preferred
    forbids = _FORBIDS.search(plain)
    if forbids and (uses := _USES.search(prose, forbids.end(), forbids.end() + _VERB_CHARACTERS)):  # "never run `a b`"
        spans = (_words_of(span) for span in _SPAN.findall(plain[uses.end() :]))
        return [words for words in spans if len(words) > 1], []  # one word may name a tool, and no command
    return [], []


def _named(text: str) -> list[tuple[str, ...]]:
    """Return the commands in a text: those in code spans, and package managers without."""
    spans = _SPAN.findall(text)
    found = [words for words in map(_words_of, spans) if words and (len(words) > 1 or _MANAGERS.fullmatch(words[0]))]
    return found or [(manager,) for manager in _MANAGERS.findall(_SPAN.sub(" ", text))]


def _begins(command: Command, wanted: tuple[str, ...]) -> bool:
    words = tuple(word.text for word in command.words)
    return words[: len(wanted)] == wanted or _essential_words(command)[: len(wanted)] == wanted


def begins_with(text: str, wanted: tuple[str, ...]) -> bool:
    """Report whether a command of a line begins with the words of `forbidden_commands`."""
    return any(_begins(command, wanted) for command in commands(parse(text)))


def _not_used(
    forbidden: list[tuple[str, ...]], preferred: list[tuple[str, ...]], activity: SessionActivity
) -> RuleFinding:
    """Return the finding: violated if a forbidden command ran, partly if a preferred one ran, too."""
    preferred_runs, violation = 0, None
    for record in activity.of(RecordKind.COMMAND):
        if violation is None and any(_begins(command, wanted) for command in record.commands for wanted in forbidden):
            violation = record
        preferred_runs += any(_begins(command, wanted) for command in record.commands for wanted in preferred)
    if violation is None:
        if preferred_runs:
            return _decided(RuleVerdict.OBEYED, None, "only the right one ran")
        return RuleFinding(applicable=False, by=_BY, why="neither ran")
    verdict = RuleVerdict.PARTLY if preferred_runs else RuleVerdict.VIOLATED
    return _decided(verdict, violation, f"it ran `{_command_line(violation)}`")


# Git


def _is_commit(record: ActivityRecord) -> bool:
    return any(_git(command)[:1] == ["commit"] for command in record.commands) and record.ok


def _git(command: Command) -> list[str]:
    """Return the arguments of git after its own options; nothing for another program."""
    words = command.texts if command.program == "git" else []
    while words and words[0].startswith("-"):
        words = words[2 if words[0] in ("-C", "-c") else 1 :]
    return words


def _commits(is_right: Callable[[str], bool], why: str) -> SessionCheck:
    """Return the check that the message of every commit is right; `why` says what is wrong with another."""

    def check(activity: SessionActivity) -> RuleFinding:
        right_commits, first_wrong = 0, None
        for record in activity.of(RecordKind.COMMAND):
            for message in _messages(record):
                if is_right(message):
                    right_commits += 1
                else:
                    first_wrong = first_wrong or record
        if first_wrong is None:
            verdict = RuleVerdict.OBEYED if right_commits else None
            return RuleFinding(bool(right_commits), verdict, why="every commit follows it", by=_BY)
        return _decided(RuleVerdict.PARTLY if right_commits else RuleVerdict.VIOLATED, first_wrong, why)

    return check


def _messages(record: ActivityRecord) -> Iterator[str]:
    """Yield the messages of the commits of a command line that git accepted."""
    if not _is_commit(record):
        return
    for command in record.commands:
        words = _git(command)
        if words[:1] != ["commit"]:
            continue
        for flag, value in pairwise(words):
            if _GIVES_MESSAGE.fullmatch(flag):
                here_document = _MESSAGE.search(value)
                yield here_document[1].strip() if here_document else value
                break


def _pushes(branch: str) -> SessionCheck:
    """Return the check that nothing was pushed to a branch, or to `main` or `master`."""

    def check(activity: SessionActivity) -> RuleFinding:
        right_pushes = 0
        for record in activity.of(RecordKind.COMMAND):
            for command in record.commands:
                words = [word for word in _git(command) if not word.startswith("-")]
                if words[:1] != ["push"]:
                    continue
                if len(words) > 2 and words[2].rpartition(":")[2] in (branch, "main", "master"):  # `HEAD:main`
                    return _decided(RuleVerdict.VIOLATED, record, f"`{_command_line(record)}`")
                if len(words) < 3 and activity.branch in ("", "main", "master"):  # where to, git's settings say
                    return RuleFinding(applicable=True, by="", why="a push without a branch")
                right_pushes += 1
        if not right_pushes:
            return RuleFinding(applicable=False, by=_BY, why="nothing was pushed")
        return _decided(RuleVerdict.OBEYED, None, "every push went to another branch")

    return check


# Files


def _left_alone(paths: list[str]) -> SessionCheck:
    """Return the check that no edit touched these files or folders."""
    forbidden_paths = [path.strip("/").removesuffix("/*").removesuffix("/**") for path in paths]

    def check(activity: SessionActivity) -> RuleFinding:
        for record in activity.of(RecordKind.EDIT):
            for path in forbidden_paths:
                if record.path == path or record.path.startswith(path + "/"):
                    return _decided(RuleVerdict.VIOLATED, record, f"it edited {record.path}")
        return RuleFinding(applicable=False, by=_BY, why="no such file was edited")

    return check


def _read_first(path: str) -> SessionCheck:
    """Return the check that a file was read before the first edit of a source; read later, it is partly obeyed."""

    def check(activity: SessionActivity) -> RuleFinding:
        edit = next((record for record in activity.records if record.is_code), None)
        if edit is None:
            return RuleFinding(applicable=False, by=_BY, why="no source was edited")
        name = path.strip("/")
        for record in activity.records:
            is_read = record.kind is RecordKind.READ and record.path.endswith(name)
            if is_read or (record.kind is RecordKind.COMMAND and name in record.text):
                verdict = RuleVerdict.OBEYED if record.order <= edit.order else RuleVerdict.PARTLY
                return _decided(verdict, record, f"it read {name}")
        return _decided(RuleVerdict.VIOLATED, edit, f"it edited before it read {name}")

    return check


def _command_line(record: ActivityRecord) -> str:
    line = record.text.strip().splitlines()[0] if record.text.strip() else ""
    return line if len(line) <= _SHOWN_CHARACTERS else f"{line[:_SHOWN_CHARACTERS]}…"
