"""The acts of a turn in order (edits, checks, git, lookups), what a check covers, and what the session has shown.

Earlier turns count for what was read, not for what was run before a later edit. The calls of sub-agents count for
their turn.
"""

from __future__ import annotations

import re

import msgspec

from knowbound.audit.runs import Run, command_of, plan_of, runs_of
from knowbound.core.paths import CODE, extension
from knowbound.core.trace import LOOKUPS, MISSES, LookupIntent, Outcome, ToolCall, ToolKind
from knowbound.traces.calls.tools import NEW_KEYS, OLD_KEYS, first_text
from knowbound.traces.shell.parser import Command
from knowbound.traces.turns import TraceTurn

_MOST_SHOWN = 8_000_000  # characters of a session that are kept to look for what an answer cites
_MOST_INPUT = 20_000  # characters of a tool's input that are kept
_LAYOUT = frozenset("py pyi yml yaml md mk coffee pug haml sass".split())
_LAST_COMMA = re.compile(r",(?=[)\]}])")
_COMMENT = re.compile(r"\s*(?://|#(?!!|include|define)|/\*|\*|--|<!--|;;|\"\"\"|'''|$)")
_NOTE = re.compile(
    r"\s*(?://\s*(?:nolint|eslint-|biome-ignore|@ts-|prettier-ignore)|#\s*(?:noqa|type:\s*ignore|pragma)).*$"
)
_SERVICES = ("mcp__", "mcp_")  # what a service of the user's own did is not known
_COMPARING = frozenset({"stash", "worktree", "bisect"})


class Edit(msgspec.Struct, frozen=True):
    """A change of files."""

    paths: tuple[str, ...]
    order: int
    line: int
    is_code: bool
    is_comment: bool = False  # only comments and empty lines change

    @property
    def needs_check(self) -> bool:
        """Report whether "it works" needs more than the successful edit."""
        return self.is_code and not self.is_comment


class GitAct(msgspec.Struct, frozen=True):
    """A git (or gh) command that ran: its verb and whether it succeeded (None: unknown)."""

    verb: str
    ok: bool | None
    order: int
    line: int
    arguments: tuple[str, ...] = ()


class TurnFacts(msgspec.Struct):
    """The acts of one turn, for the checks of its claims."""

    edits: list[Edit] = []
    runs: list[Run] = []
    gits: list[GitAct] = []
    calls: int = 0
    acts: int = 0  # other calls that succeeded: commands, services
    unseen_agents: int = 0  # sub-agents whose calls the trace does not hold
    unknown_calls: int = 0  # calls whose result the trace does not hold
    waits: bool = False  # something runs in the background
    model: str = ""  # that wrote the answer
    missed: list[str] = []  # what was looked for and not found, and did not come up later in the turn

    @property
    def doubt(self) -> str:
        """Reason why a missing check is not held against an answer; "" if the trace holds every call."""
        if self.unseen_agents:
            return "the trace does not hold the calls of a sub-agent"
        return "the trace does not hold the result of every call" if self.unknown_calls else ""

    @property
    def is_compared(self) -> bool:
        """Report whether it was tried without the change: a failure may be known from there."""
        return any(act.verb in _COMPARING for act in self.gits)

    @property
    def last_code_edit(self) -> Edit | None:
        """The last edit whose effect needs a check."""
        return next((edit for edit in reversed(self.edits) if edit.needs_check), None)


class SessionView:
    """Texts that a session has shown so far, with its runs, its edits and its git commands."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._size = 0
        self.is_cut = False  # it is longer than what is kept of it
        self.runs: list[Run] = []  # of the whole session, in order
        self.last_code_edit: Edit | None = None
        self.prompt = ""  # of the turn
        self.order = 0  # of the newest call: each has the next number
        self.gits: list[GitAct] = []
        self.last_act = 0  # the order of the last call that ran something that rules do not know
        self.unseen_agents = 0  # sub-agents whose calls the trace does not hold

    def show(self, text: str) -> None:
        """Keep a text that the agent was shown, if there is room for the whole of it."""
        if not text:
            return
        if self._size + len(text) > _MOST_SHOWN:
            self.is_cut = True
            return
        self._texts.append(text)
        self._size += len(text)

    @property
    def texts(self) -> tuple[str, ...]:
        """Everything that was shown until now."""
        return tuple(self._texts)

    def has(self, text: str) -> bool:
        """Report whether the session has shown this text, as it is."""
        for shown in reversed(self._texts):  # noqa: SIM110  # `any` takes twice the time
            if text in shown:
                return True
        return False


def facts_of(turn: TraceTurn, view: SessionView) -> TurnFacts:
    """Return the acts of a turn, and bring the view of the session up to its end."""
    facts = TurnFacts()
    view.prompt = turn.prompt.text
    view.show(turn.prompt.text)
    for injection in turn.injections:
        view.show(injection.content)
    started: set[str] = set()  # ids of sub-agents; "" for those whose id the trace does not say
    in_trace: set[str] = {step.agent_id for step in turn.steps if step.agent_id}
    for step in turn.steps:
        facts.model = step.model if step.model and not step.agent_id else facts.model
        if step.agent_id:  # what a sub-agent says is shown to the agent; what the agent says itself shows nothing
            for said in step.said:
                view.show(said.text)
        for call in step.calls:
            view.order += 1
            _add_call(call, view.order, facts, view)
            if call.agent_id or call.name in ("Task", "Agent"):
                started.add(call.agent_id)
    facts.unseen_agents = len(started - in_trace)
    view.unseen_agents += facts.unseen_agents
    view.runs += facts.runs
    view.gits += facts.gits
    view.last_code_edit = facts.last_code_edit or view.last_code_edit
    return facts


def _add_call(call: ToolCall, order: int, facts: TurnFacts, view: SessionView) -> None:
    """Add a call to the facts of its turn, and show its texts to the view of the session."""
    facts.calls += 1
    text = call.text
    view.show(text)
    if call.outcome is Outcome.UNKNOWN:
        facts.unknown_calls += 1
        facts.waits = facts.waits or call.is_in_background
    if call.query:
        view.show(call.query)
    if call.kind is ToolKind.EDIT:
        _add_edit(call, order, facts, view)
        return
    if call.kind in LOOKUPS and call.query:
        if call.outcome in MISSES and call.intent is LookupIntent.LOOKUP:
            facts.missed.append(call.query)
        elif call.outcome is Outcome.OK and call.query in facts.missed:  # found on a second try
            facts.missed.remove(call.query)
    facts.acts += call.outcome is Outcome.OK and call.kind in (ToolKind.SHELL, ToolKind.OTHER)
    command = command_of(call)
    if command:
        view.show(command)
        _shell(call, command, order, facts, view)
    elif call.input and call.kind is ToolKind.OTHER:
        if call.outcome is Outcome.OK and call.name.startswith(_SERVICES):
            view.last_act = order
        view.show(" ".join(str(value) for value in call.input.values() if isinstance(value, str))[:_MOST_INPUT])
    facts.runs += runs_of(call, order)


def _add_edit(call: ToolCall, order: int, facts: TurnFacts, view: SessionView) -> None:
    """Add an edit to the facts if it succeeded, and show its new text to the view of the session."""
    given = call.input or {}
    new = first_text(given, NEW_KEYS) or first_text(given, ("content", "file_text", "patch", "new_source"))
    view.show(new)
    if call.outcome is not Outcome.OK:
        return
    paths = call.paths or ((call.query,) if call.query else ())
    old = first_text(given, OLD_KEYS)
    needs_no_run = _only_spaces(paths, old, new) or _only_comments(old, new, first_text(given, ("patch",)))
    facts.edits.append(_edit_of(paths, order, call.line, needs_no_run))


def _edit_of(paths: tuple[str, ...], order: int, line: int, is_comment: bool = False) -> Edit:
    kinds = [extension(path) for path in paths]
    return Edit(paths, order, line, any(one in CODE for one in kinds), is_comment)


def _only_spaces(paths: tuple[str, ...], old: str, new: str) -> bool:
    """Report whether an edit only lays the same text out anew, in a language that does not read the layout."""
    if not old or any(extension(path) in _LAYOUT for path in paths):
        return False
    return _LAST_COMMA.sub("", "".join(old.split())) == _LAST_COMMA.sub("", "".join(new.split()))


def _only_comments(old: str, new: str, patch: str) -> bool:
    """Report whether an edit changes nothing but comments and empty lines."""
    if patch:
        lines = [line[1:] for line in patch.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
        return bool(lines) and all(map(_COMMENT.match, lines))
    if not old:
        return False
    before, after = _without_notes(old), _without_notes(new)
    changed = before ^ after
    return all(map(_COMMENT.match, changed)) if changed else old != new  # only notes such as `noqa` differ


def _without_notes(text: str) -> set[str]:
    """The lines of a text without their notes for tools: a line that only gains one does what it did."""
    return {_NOTE.sub("", line) for line in text.splitlines()}


def _shell(call: ToolCall, command: str, order: int, facts: TurnFacts, view: SessionView) -> None:
    """Add the git commands of a command line, and the files that it changes, to the facts."""
    if call.outcome in (Outcome.REJECTED, Outcome.CANCELLED):
        return
    plan = plan_of(command)
    if plan.runs_unknown:
        view.last_act = order
    facts.gits += (_git(command_part, call, order) for command_part in plan.gits)
    if plan.written and call.outcome is not Outcome.ERROR:
        facts.edits.append(_edit_of(plan.written, order, call.line))


def _git(command: Command, call: ToolCall, order: int) -> GitAct:
    """Return a git or gh command as an act: its verb (of gh two words), its end by that of the call, its arguments."""
    words = list(command.texts)
    while words and words[0] in ("-C", "-c", "--git-dir", "--work-tree"):
        words = words[2:]
    verb = next((word for word in words if not word.startswith("-")), "")
    if command.program == "gh":
        verb = "gh " + " ".join([word for word in words if not word.startswith("-")][:2])
    is_known = call.outcome is not Outcome.UNKNOWN
    ok = call.outcome not in (Outcome.ERROR, Outcome.TIMEOUT) if is_known else None
    return GitAct(verb, ok, order, call.line, tuple(words[1:20]))


_TEST_FILE = re.compile(r"(?:[._-](?:test|spec)s?\.\w+$|(?:^|/)test_\w+\.py$|(?:^|/)(?:tests?|__tests__|spec)/)")


def short_name(edit: Edit) -> str:
    """The name of the file that was edited."""
    return edit.paths[0].rsplit("/", 1)[-1] if edit.paths else "the code"


def covers(run: Run, edit: Edit) -> bool:
    """Report whether a check can have seen an edit; true where nothing says otherwise.

    A Go check names its packages; any check in a folder of its own sees what is in there.
    """
    paths = [path for path in edit.paths if path.startswith("/")]
    if not paths:
        return True
    if run.folder.startswith("/") and not any(_is_in(path, run.folder) for path in paths):
        return any(_is_in(run.folder, path.rsplit("/", 1)[0]) for path in paths)  # run below the folder of the edit
    packages = [operand for operand in run.operands if operand.startswith("./")]
    is_whole = any(operand in (".", "./...", "./") or "test" in operand for operand in run.operands)
    if run.tool.split()[0] != "go" or not packages or is_whole:
        return True  # tests in a package of their own test the other packages
    folders = [package.removeprefix("./").removesuffix("...").strip("/") for package in packages]
    return any(f"/{folder}/" in path for path in paths for folder in folders)


def is_test(path: str) -> bool:
    """Report whether a file is a test by its name or folder."""
    return bool(_TEST_FILE.search(path))


def is_of_other_file(run: Run, edit: Edit) -> bool:
    """Report whether a run names test files, and none by the name of an edited file; never for an edited test."""
    tests = [name.rsplit("/", 1)[-1].lower() for name in run.operands if is_test(name)]
    edited = [path.rsplit("/", 1)[-1].split(".")[0].lower() for path in edit.paths]
    if not tests or len(tests) < len(run.operands) or any(map(is_test, edit.paths)):
        return False  # it names more than test files: what those cover is not known
    return not any(name and name in test for name in edited for test in tests)


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")
