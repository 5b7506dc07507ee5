"""Tool calls made of a request and the text of its result.

Readers of clients that keep a structured result decide the outcome from that first (see `claude_code`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import replace

from knowbound.core.lazy_pattern import lazy
from knowbound.core.trace import LOOKUPS, MISSES, LookupIntent, Outcome, ToolCall, ToolKind
from knowbound.text.redact import cut
from knowbound.traces.calls.intent import tool_intent
from knowbound.traces.calls.outcome import SUCCESS, failure, search_outcome
from knowbound.traces.calls.tools import COMMAND_KEYS, KINDS, MCP_TOOL, PATH_KEYS, QUERY_KEYS, first_text, kind_of
from knowbound.traces.shell.lookup import read_result, read_shell, split_exit_code
from knowbound.traces.shell.plan import LinePlan

_NO_RESULT = (Outcome.UNKNOWN, "no result in the trace")
_FAILED = frozenset({Outcome.ERROR, Outcome.TIMEOUT, Outcome.REJECTED, Outcome.CANCELLED})
MAX_PATHS = 200  # paths kept with a call, for coverage
MAX_SHELL_PATHS = 50  # … with a command line
_HIT_PATH = lazy(r"((?:[A-Za-z]:)?(?=[^\s:]*[\w)\]])[^\s:]++):")
_PATH_CHARACTERS = lazy(r"[^\s:'\"<>|{}]+")
_ENDING = lazy(r"[\w-]\.[A-Za-z]\w{0,9}\Z")
_LONGEST_ENDING = 12
_SEARCHED_SHELL_OUTPUT = 100_000  # characters of a command's output that are searched for paths
_LONGEST_QUERY = 500  # characters of a pattern, path or command kept with a call
_LONGEST_PATH = 300  # characters of a path in the output of a search
_LONGEST_NAMED = 4_096  # characters of a path in an input: systems take no longer path
_SEARCHED_OUTPUT = 200_000  # characters of a search's output that are searched for paths
_CONTEXT_LINE = lazy(r"([^\s-][^\s]{0,299}?\.\w{1,12})-\d{1,7}-")  # a line beside a match: `path-12-text`
PATCH_FAILED = (Outcome.ERROR, "the patch did not apply")
_PATCHED = lazy(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)


class _Reading(NamedTuple):
    """A call as it was read from its input and its result."""

    kind: ToolKind
    outcome: Outcome
    query: str
    where: str
    paths: tuple[str, ...]
    reason: str
    intent: LookupIntent


def finish_call(
    id_: str,
    name: str,
    input_: dict[str, Any],
    output: str | None,
    *,
    is_error: bool | None = False,
    exit_code: int | None = None,
    outcome: tuple[Outcome, str] | None = None,
    kind: ToolKind | None = None,
    folder: str = "",
    line: int = 0,
    undecoded: Callable[[], str] | None = None,
) -> ToolCall:
    """Return the call with its kind, its query and its outcome.

    `output` None: the trace has no result. `is_error` None: the client does not say whether the call failed.
    `outcome` is given if the client's structured result has decided, `kind` if the name does not say it. `folder` is
    the agent's working folder, if the trace names it. `undecoded` decodes an output that few callers ask for.
    """
    kind = kind or kind_of(name)
    purpose = cut(first_text(input_, ("description", "explanation", "justification")), _LONGEST_QUERY)
    if outcome is None and output is None:
        outcome = _NO_RESULT
    if kind is ToolKind.SHELL:
        reading = _read_shell_call(input_, output, is_error, exit_code, outcome, purpose, folder)
    else:
        reading = _read_call(name, kind, input_, output or "", bool(is_error), outcome, purpose, folder)
    # A call that succeeded is not shown, so its texts need no redaction before they are cut.
    shorten = cut if reading.outcome is not Outcome.OK else lambda text, most: text[:most]
    return ToolCall(
        id=id_,
        name=name,
        kind=reading.kind,
        outcome=reading.outcome,
        query=shorten(reading.query, _LONGEST_QUERY),
        where=shorten(reading.where, _LONGEST_QUERY),
        paths=tuple([path for path in reading.paths[:MAX_PATHS] if len(path) <= _LONGEST_NAMED]),
        purpose=purpose,
        input=input_,
        output=output,
        reason=reading.reason,
        intent=reading.intent,
        failed=bool(is_error or exit_code) or reading.outcome in _FAILED,
        line=line,
        undecoded=undecoded,
    )


def _read_call(
    name: str,
    kind: ToolKind,
    input_: dict[str, Any],
    output: str,
    is_error: bool,
    outcome: tuple[Outcome, str] | None,
    purpose: str,
    folder: str,
) -> _Reading:
    """Return what a call of any tool but a shell asked for, and how it ended."""
    query, where = _query_of(kind, input_)
    is_search = kind in (ToolKind.SEARCH, ToolKind.LIST)
    if outcome is None:
        outcome = search_outcome(output, is_error) if is_search else failure(output) if is_error else SUCCESS
    decided, reason = outcome
    intent = LookupIntent.LOOKUP
    if decided in MISSES and kind in LOOKUPS:
        intent, fault = tool_intent(name, kind, input_, query, where, purpose, folder)
        reason = fault or reason
    paths: tuple[str, ...] = ()
    if decided is Outcome.OK and is_search:
        paths = _paths_of_hits(output, where)
    elif decided is Outcome.OK and kind in (ToolKind.READ, ToolKind.EDIT):
        paths = (query,)
    return _Reading(kind, decided, query, where, paths, reason, intent)


def _query_of(kind: ToolKind, input_: dict[str, Any]) -> tuple[str, str]:
    """Return the query of a call, and the place that it searched."""
    path = first_text(input_, PATH_KEYS)
    if kind in (ToolKind.READ, ToolKind.LIST, ToolKind.EDIT):
        return path or first_text(input_, QUERY_KEYS), ""
    query = first_text(input_, QUERY_KEYS) or first_text(input_, ("url", "prompt"))
    if not query and not path:
        query = first_text(input_, tuple(input_))  # any text: the inputs of a tool that is not known
    return (query, path) if query else (path, "")


def _paths_of_hits(output: str, where: str) -> tuple[str, ...]:
    """Return the distinct paths at the start of the lines of a search's output, and the file that was searched."""
    found: dict[str, None] = {}
    if "." in where[-_LONGEST_ENDING - 1 :] and where[-1] != "/":  # it ends in a file's name
        found[where] = None
    for line in output[:_SEARCHED_OUTPUT].splitlines():
        head = line.partition(":")[0]
        if "-" in head and (context := _CONTEXT_LINE.match(head)) is not None:
            head = context[1]
        if head not in found and len(head) < _LONGEST_PATH and "." in head[-_LONGEST_ENDING - 1 :] and " " not in head:
            found[head.removeprefix("./")] = None
            if len(found) == MAX_PATHS:
                break
    return tuple(found)


def _read_shell_call(
    input_: dict[str, Any],
    output: str | None,
    is_error: bool | None,
    exit_code: int | None,
    outcome: tuple[Outcome, str] | None,
    purpose: str,
    folder: str,
) -> _Reading:
    """Return what a command line asked for, and how it ended by its output and status."""
    command, text = first_text(input_, COMMAND_KEYS), output or ""
    if outcome is None:
        known_error = None if output is None else is_error  # without a result nothing is known
        reading = read_result(command, text, exit_code, known_error, purpose, folder)
    else:  # the command line is only read for its query
        reading = read_shell(command, split_exit_code(text)[1], None, None, purpose, folder)
        intent = reading.intent if outcome[0] in MISSES else LookupIntent.LOOKUP
        reading = reading._replace(outcome=outcome[0], reason=outcome[1], intent=intent)
    paths = _files_in(reading.line, text)
    return _Reading(reading.kind, reading.outcome, reading.query, reading.where, paths, reading.reason, reading.intent)


def _files_in(line: LinePlan, output: str) -> tuple[str, ...]:
    """Return the files that the lookups of a command line name, then the files in its output."""
    if not line.lookups:
        return ()
    found = {operand: None for lookup in line.lookups for operand in lookup.parsed.operands}
    whole_lines = any(lookup.parsed.lists_paths for lookup in line.lookups)
    if whole_lines or any(lookup.parsed.kind is ToolKind.SEARCH for lookup in line.lookups):
        for text in output[:_SEARCHED_SHELL_OUTPUT].splitlines():
            if len(found) >= MAX_SHELL_PATHS:
                break
            hit = _HIT_PATH.match(text)
            path = hit[1] if hit else text.strip() if whole_lines else ""
            # A path with a folder, or a name with an ending.
            if _PATH_CHARACTERS.fullmatch(path) and ("/" in path[:-1] or _ENDING.search(path[-_LONGEST_ENDING:])):
                found[path] = None
    return tuple(found)[:MAX_SHELL_PATHS]


def finish_patch(id_: str, patch: str, output: str, *, failed: bool, line: int) -> ToolCall:
    """Return an edit by `apply_patch` with all its files."""
    files = tuple(dict.fromkeys(path.strip() for path in _PATCHED.findall(patch)))
    # Only the first line is the client's; the text that the patch expected is below it.
    outcome = failure(output.strip().split("\n")[0]) if failed else SUCCESS
    if outcome[0] is Outcome.ERROR:  # no refusal or cancellation: then it is the patch
        outcome = PATCH_FAILED
    input_ = {"path": files[0] if files else "", "patch": patch}
    call = finish_call(id_, "apply_patch", input_, output, outcome=outcome, line=line)
    return call if failed else replace(call, paths=files)


# Tools of the known clients that look nothing up: plans, sub-agents, questions to the user, control of shells.
_WITHOUT_LOOKUP = frozenset(
    "agent task taskcreate taskupdate taskget tasklist taskoutput taskstop todowrite todoread askuserquestion ask_user "
    "skill exitplanmode enterplanmode enterworktree exitworktree toolsearch tool_search killshell killbash bashoutput "
    "slashcommand update_plan submit exit stop_bash read_bash write_bash write_stdin wait wait_agent spawn_agent "
    "send_input close_agent sendmessage croncreate crondelete cronlist schedulewakeup monitor lsp "
    "listmcpresourcestool list_mcp_resources list_mcp_resource_templates structuredoutput report_intent "
    "save_memory write_todos todo_write question ask_question ask_followup_question attempt_completion "
    "plan_mode_respond act_mode_respond use_subagents delegate load_skill think finish edit_anyway js_repl new_task "
    "switch_mode update_todo_list fetch_instructions "
    "image_generation request_user_input".split()
)


def is_unknown_call(call: ToolCall) -> bool:
    """Report whether a call is of a tool that neither a known client nor an MCP server has."""
    lower = call.name.lower()
    is_known = lower in KINDS or lower in _WITHOUT_LOOKUP or MCP_TOOL.match(call.name) is not None
    return call.kind is ToolKind.OTHER and not is_known
