"""SWE-agent trajectories (`*.traj`): one JSON document with `trajectory`, `history` and `info`.

- `trajectory[]` has one entry per step: `thought`, `action` (a command line), `observation`. A document without it is
  read from `history`: messages of role system, user, assistant (`thought`, `action`) and, after each action, the
  observation (role user or tool) with the prompt line at its end.
- The first user message that is no demonstration has the problem statement inside instructions. Demonstrations
  (`is_demo`, `message_type` demonstration) are not the agent's own.
- SWE-agent's commands: `find_file NAME [DIR]`, `search_dir TERM [DIR]`, `search_file TERM [FILE]`, `open PATH [LINE]`,
  `goto LINE`, `scroll_up`, `scroll_down`, `create`, `edit`, `insert`, `submit`, and `str_replace_editor COMMAND PATH`.
  Every other action is a shell command whose exit code is unknown.
- `info.exit_status` is "submitted", or the reason why the agent stopped (exit_cost, exit_context, …).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from knowbound.core.trace import AgentText, Broken, Event, Injection, Outcome, Prompt, Start, Step, ToolCall, ToolKind
from knowbound.traces.calls.finish import finish_call
from knowbound.traces.calls.outcome import NO_MATCH, NO_PATH, SUCCESS, TIMED_OUT
from knowbound.traces.dialogue import as_input, as_text, is_error_report, text_in
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally
from knowbound.traces.values import dicts, first_value, read_objects

# The commands with the names of their arguments, in order.
_COMMANDS: dict[str, tuple[ToolKind, tuple[str, ...]]] = {
    "find_file": (ToolKind.SEARCH, ("pattern", "path")),
    "search_dir": (ToolKind.SEARCH, ("pattern", "path")),
    "search_file": (ToolKind.SEARCH, ("pattern", "path")),
    "open": (ToolKind.READ, ("path",)),
    "goto": (ToolKind.READ, ()),
    "scroll_up": (ToolKind.READ, ()),
    "scroll_down": (ToolKind.READ, ()),
    "create": (ToolKind.EDIT, ("path",)),
    "edit": (ToolKind.EDIT, ()),
    "insert": (ToolKind.EDIT, ()),
    "submit": (ToolKind.OTHER, ()),
    "str_replace_editor": (ToolKind.EDIT, ("command", "path")),
}
_SHELL_OPERATORS = frozenset({"&&", "||", "|", ";", "&", ">", ">>", "<"})
# Marks around the problem statement, by version.
_STATEMENTS = (
    ("<pr_description>", "</pr_description>"),
    ("<issue>", "</issue>"),
    ("ISSUE:\n", "\nINSTRUCTIONS:"),
    ("", "\nINSTRUCTIONS:"),
)
_PROMPT_LINE = re.compile(
    r"\(Open file: [^\n]*\)\s*\n\(Current directory: (?P<folder>[^\n]*)\)\s*"
    r"(?:\n\(Interactive[^\n]*\)\s*)?\n?bash-\$\s*\Z"
)
_LONGEST_PROMPT_LINE = 2_000  # characters at the end of a text that may be the prompt line
_SILENT = "Your command ran successfully and did not produce any output."
_TIMEOUT = re.compile(r"EXECUTION TIMED OUT|was cancelled because it took more than \d+ seconds|Command timed out")
_MISSING = re.compile(
    r"(?:Usage: [^\n]*\n)?(?:Error: )?(?:(?:File|Directory|Path)(?: name)? .{0,300}?(?:not found|does not exist)"
    r"|(?:The path|Path) .{0,300}? does not exist)"
)
_WRONG = re.compile(
    r"Usage:|Error:|No file open|Your proposed edit has introduced|Your edit was not applied"
    r"|No replacement was performed|Invalid |Warning: File .* already exists|Syntax error|.{0,300}? is a directory"
)
_NO_SUCH_FILE = re.compile(r"[^\n]{0,500}\bNo such file\b[^\n]{0,100}")
_NO_MATCH = re.compile(r"No matches found|No .{0,80} found")


class SweAgent:
    """The reader of SWE-agent trajectories."""

    name = "swe-agent"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise trajectory entries with an action, or a history whose messages name their agent."""
        value = first_value(head)
        if not isinstance(value, dict):
            return None
        steps, history = dicts(value.get("trajectory")), dicts(value.get("history"))
        if steps and "action" in steps[0] and {"observation", "thought", "response"} & steps[0].keys():
            return Identity("")
        if history and text_in(history[0], "role") and {"agent", "message_type", "is_demo"} & history[0].keys():
            return Identity("")
        return None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of each trajectory."""
        for path in files:
            for number, value in read_objects(path, tally):
                if dicts(value.get("trajectory")) or dicts(value.get("history")):
                    yield from _session(value, path)
                else:
                    tally.skip(str(path), number, "foreign")


class _Action(msgspec.Struct, frozen=True):
    """An action with its observation; `line` is its position in the document's list."""

    thought: str
    action: str
    observation: str | None
    open_file: str
    line: int
    call_id: str = ""


def _session(document: dict[str, Any], path: Path) -> Iterator[Event]:
    """Yield the events of a trajectory: what came before the work, a step for each action, and a bad ending."""
    history = dicts(document.get("history"))
    steps = dicts(document.get("trajectory"))
    info = document.get("info")
    info = info if isinstance(info, dict) else {}
    yield Start(path.stem, SweAgent.name, _working_folder(steps, history), text_in(info, "swe_agent_version"))
    yield from _events_before_work(history, path)
    for action in _from_trajectory(steps) if steps else _from_history(history):
        id_ = f"M{action.line}"
        said = (AgentText(id_, action.thought, action.line),) if action.thought.strip() else ()
        calls = (_call(action, action.call_id or f"{id_}#0"),) if action.action.strip() else ()
        if said or calls:
            yield Step(id_, said, calls, path=str(path), line=action.line)
    status = text_in(info, "exit_status")
    if status and status != "submitted":
        yield Broken(status)


def _events_before_work(history: list[dict[str, Any]], path: Path) -> Iterator[Event]:
    """Yield the events before the agent's work: system text, demonstrations, the problem statement as the prompt."""
    for line, message in enumerate(history, 1):
        text = as_text(message.get("content"))
        if _is_demonstration(message):
            yield Injection("demonstration", text, line=line)
        elif message.get("role") == "system":
            yield Injection("system", text, line=line)
        elif message.get("role") == "user":
            statement, around = _statement(_without_prompt_line(text))
            if around:
                yield Injection("instructions", around, line=line)
            yield Prompt(f"M{line}", statement, path=str(path), line=line)
            return
        elif message.get("role") == "assistant":
            return


def _statement(text: str) -> tuple[str, str]:
    """Return the problem statement and the instructions around it; the whole text if nothing marks it."""
    for before, after in _STATEMENTS:
        start = text.find(before)
        end = text.find(after, start + len(before))
        if start >= 0 and end >= 0 and (statement := text[start + len(before) : end].strip()):
            return statement, (text[:start] + text[end:].removeprefix(after)).strip()
    return text.strip(), ""


def _from_trajectory(steps: list[dict[str, Any]]) -> Iterator[_Action]:
    """Yield the actions of a trajectory; the whole response is the thought if no action was found in it."""
    for line, step in enumerate(steps, 1):
        state = as_input(step.get("state"))
        observation = step.get("observation")
        yield _Action(
            thought=text_in(step, "thought") or ("" if step.get("action") else text_in(step, "response")),
            action=text_in(step, "action"),
            observation=as_text(observation) if observation is not None else None,
            open_file=text_in(state, "open_file"),
            line=line,
        )


def _from_history(history: list[dict[str, Any]]) -> Iterator[_Action]:
    """Yield the agent's own messages, each with the message after it as its observation."""
    for index, message in enumerate(history):
        if message.get("role") != "assistant" or _is_demonstration(message):
            continue
        after = history[index + 1] if index + 1 < len(history) else {}
        answered = after.get("role") in ("user", "tool")
        calls = dicts(message.get("tool_calls"))
        action = text_in(message, "action")
        yield _Action(
            thought=text_in(message, "thought") or ("" if action else as_text(message.get("content"))),
            action=action,
            observation=_without_prompt_line(as_text(after.get("content"))).rstrip() if answered else None,
            open_file="",
            line=index + 1,
            call_id=text_in(calls[0], "id") if calls else "",
        )


def _call(action: _Action, id_: str) -> ToolCall:
    """Return an action as a tool call: one of SWE-agent's own commands, or a shell command."""
    observation = action.observation
    if observation is not None and observation.strip() == _SILENT:
        observation = ""
    outcome = TIMED_OUT if observation and _TIMEOUT.search(observation[-2000:]) else None
    own = _own_command(action.action)
    if own is None:  # a shell command
        if observation and _NO_SUCH_FILE.fullmatch(observation.strip()):
            outcome = NO_PATH
        failed = True if observation and is_error_report(observation) else None
        input_ = {"command": action.action.strip()}
        return finish_call(id_, "bash", input_, observation, is_error=failed, outcome=outcome, line=action.line)
    name, kind, input_ = own
    if kind in (ToolKind.READ, ToolKind.EDIT) and "path" not in input_ and action.open_file not in ("", "n/a"):
        input_["path"] = action.open_file
    if outcome is None and observation is not None:
        outcome = _own_outcome(kind, observation)
    return finish_call(id_, name, input_, observation, outcome=outcome, kind=kind, line=action.line)


def _own_command(action: str) -> tuple[str, ToolKind, dict[str, Any]] | None:
    """Return the name, kind and arguments of one of SWE-agent's own commands; None for a shell command."""
    first, _, rest = action.strip().partition("\n")
    name = first.split(maxsplit=1)[0] if first else ""
    if name not in _COMMANDS:
        return None
    kind, names = _COMMANDS[name]
    try:
        words = shlex.split(first)[1:]
    except ValueError:  # an open quote: the text of an edit goes on in the next lines
        words = first.split()[1:]
    if name != "edit" and _SHELL_OPERATORS & set(words):  # a pipeline of the shell
        return None
    input_: dict[str, Any] = dict(zip(names, words, strict=False))
    if name == "str_replace_editor" and input_.pop("command", "") == "view":  # its other commands edit
        kind = ToolKind.READ
    if name == "edit":
        input_["new_string"] = rest.removesuffix("end_of_edit").rstrip()
    return name, kind, input_


def _own_outcome(kind: ToolKind, observation: str) -> tuple[Outcome, str]:
    """Return the outcome of one of SWE-agent's own commands by the words of its observation."""
    text = observation.lstrip()
    if kind is ToolKind.SEARCH and _NO_MATCH.match(text):
        return NO_MATCH
    if kind is not ToolKind.OTHER and _MISSING.match(text):
        return NO_PATH
    if kind is not ToolKind.OTHER and _WRONG.match(text):
        return Outcome.ERROR, "the command was refused"
    return SUCCESS


def _working_folder(steps: list[dict[str, Any]], history: list[dict[str, Any]]) -> str:
    """Return the working folder, from the first state or from the prompt line of a message."""
    for step in steps[:1]:
        if folder := text_in(as_input(step.get("state")), "working_dir"):
            return folder
    for message in history[:10]:  # the prompt line is in the first ones
        if found := _PROMPT_LINE.search(as_text(message.get("content"))[-_LONGEST_PROMPT_LINE:]):
            return found["folder"].strip()
    return ""


def _without_prompt_line(text: str) -> str:
    return text[:-_LONGEST_PROMPT_LINE] + _PROMPT_LINE.sub("", text[-_LONGEST_PROMPT_LINE:])


def _is_demonstration(message: dict[str, Any]) -> bool:
    return message.get("is_demo") is True or message.get("message_type") == "demonstration"
