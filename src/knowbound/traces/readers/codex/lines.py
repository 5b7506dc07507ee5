"""Lines of a Codex rollout as typed values, with their calls and results.

A result is text under a header ("Exit code: 1", "Process exited with code 0", "Wall time: …"), JSON text
`{"output", "metadata": {"exit_code"}}`, a list of parts, or `{"content", "success"}`.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any, NamedTuple

from knowbound.core.trace import Event, Injection, Skill, ToolCall
from knowbound.traces.calls.finish import finish_call
from knowbound.traces.calls.outcome import SUCCESS
from knowbound.traces.dialogue import PendingCall, as_input, as_text, injected, text_in
from knowbound.traces.values import new_tokens, object_of, value_of

CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_search_call", "web_search_call"})
RESULTS = frozenset({"function_call_output", "custom_tool_call_output", "tool_search_output"})

# Header that the client puts before the output of a shell or MCP call.
_HEADER = re.compile(
    r"\A(?=Chunk ID|Exit code|Wall time|Process )(?:Chunk ID: \w+\n)?(?:Exit code: (?P<code>-?\d{1,9})\n)?"
    r"(?:Wall time: [^\n]*\n)?"
    r"(?:Process exited with code (?P<exited>-?\d{1,9})\n|Process running with session ID (?P<running>\d+)\n)?"
    r"(?:Original token count: \d+\n)?(?:Total output lines: \d+\n)?Output:(?:\n|\Z)"
)
# Messages of the client in place of an output.
_CLIENT_ERROR = re.compile(
    r"\s*(?:aborted by user|rejected|unsupported (?:custom tool )?call|unable to |failed (?:to|in) |err(?:or)?:"
    r"|tool call (?:failed|error)|(?:exec_command|write_stdin|apply_patch|resources/\w+)\b[^\n]{0,40}\bfailed"
    r"|patch (?:rejected|failed)|execution error|sandbox (?:denied|error)|user (?:rejected|cancelled)|no such )",
    re.IGNORECASE,
)


Payload = dict[str, Any]  # of a line


def is_bare_meta(line: dict[str, Any]) -> bool:
    """Report whether a line is the first of a rollout of the oldest clients: `{id, timestamp, git}`."""
    is_meta = text_in(line, "id") and text_in(line, "timestamp") and ("git" in line or "instructions" in line)
    return bool(is_meta and not text_in(line, "type"))


def tokens_of(event: Payload) -> int | None:
    """Return the tokens of a response that were written, and read for the first time; None if it has no such number."""
    last = as_input(as_input(event.get("info")).get("last_token_usage"))
    counts = (last.get(f"{kind}_tokens", 0) for kind in ("input", "cached_input", "output"))
    return new_tokens(*counts) if last else None


class CallOutput(NamedTuple):
    """The result of a call without the client's header."""

    text: str
    exit_code: int | None = None
    running: str = ""  # the shell or cell of a command that has not ended
    failed: bool = False


def session_and_agent(meta: Payload) -> tuple[str, str]:
    """Return the session and the sub-agent ("" for the main agent, whose session a sub-agent's rollout names)."""
    session, own = text_in(meta, "session_id"), text_in(meta, "id", "session_id")
    spawned = as_input(as_input(as_input(meta.get("source")).get("subagent")).get("thread_spawn"))
    parent = text_in(meta, "parent_thread_id") or text_in(spawned, "parent_thread_id")
    if not parent:
        return own, ""
    return (session if session and session != own else parent), own


def failure_of_turn(event: Payload) -> str:
    """Return the reason why the agent failed; "" if the turn ended normally or the user stopped it."""
    if event["type"] in ("error", "stream_error"):
        return as_text(event.get("message")) or text_in(event, "type")
    if event["type"] == "turn_aborted":
        reason = text_in(event, "reason")
        return reason if re.search(r"error|fail", reason, re.IGNORECASE) else ""
    return as_text(event.get("error"))


def texts_of(message: Payload) -> list[str]:
    """Return the text parts of a message."""
    content = message.get("content")
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return [text for text in texts if isinstance(text, str)]


def part_kinds(message: Payload) -> list[str]:
    """Return the kinds of the parts of a message, if the client names them (0.166: `hooks.additional_context`, …)."""
    kinds = as_input(message.get("internal_chat_message_metadata_passthrough")).get("content_item_kinds")
    return [str(kind) for kind in kinds] if isinstance(kinds, list) else []


def request_of(item: Payload, number: int) -> PendingCall:
    """Return the call that an item asks for; the command of a shell call becomes one string."""
    kind, namespace = text_in(item, "type"), text_in(item, "namespace")
    name = text_in(item, "name") or kind.removesuffix("_call")
    if namespace:
        name = f"{namespace}__{name.lstrip('_')}"
    if kind == "custom_tool_call":
        text = as_text(item.get("input"))
        if name == "exec" and (call := call_of(text)):  # a script that makes calls itself
            return PendingCall(call.name, call.input, number)
        return PendingCall(name, {"input": text}, number)
    arguments = item.get("action" if kind in ("local_shell_call", "web_search_call") else "arguments")
    return PendingCall(name, _argv_joined(as_input(arguments)), number)


def _argv_joined(input_: dict[str, Any]) -> dict[str, Any]:
    """Join the command of an input: `["bash", "-lc", "rg x"]` becomes `rg x`, any other argv is quoted."""
    argv = input_.get("command")
    if not isinstance(argv, list) or not all(isinstance(word, str) for word in argv):
        return input_
    wrapped = len(argv) == 3 and re.fullmatch(r"-l?c|-Command", argv[1])
    return {**input_, "command": argv[2] if wrapped else shlex.join(argv)}


def result_of(item: Payload) -> CallOutput:
    """Return the output of a call with its exit code, from any of the shapes of a result."""
    if item["type"] == "tool_search_output":
        return CallOutput(as_text(item.get("tools")))
    output = item.get("output")
    failed = isinstance(output, dict) and output.get("success") is False
    text = as_text(output.get("content") if isinstance(output, dict) else output)
    if printed := output_of(text):  # of a script
        return printed
    if text.startswith('{"output":'):  # a report in JSON
        outer = object_of(text)
        metadata = outer.get("metadata")
        if isinstance(metadata, dict):
            code = metadata.get("exit_code")
            return CallOutput(as_text(outer.get("output")), code if isinstance(code, int) else None, failed=failed)
    header = _HEADER.match(text)
    if header is None:
        return CallOutput(_parts_joined(text), failed=failed or bool(_CLIENT_ERROR.match(text)))
    code = header["code"] or header["exited"]
    return CallOutput(_parts_joined(text[header.end() :]), int(code) if code else None, header["running"] or "", failed)


def _parts_joined(text: str) -> str:
    """Return the text of parts that some clients write as JSON text."""
    return as_text(value_of(text)) or text if text.startswith('[{"type":') else text


def ended_mcp_call(event: Payload) -> tuple[str, bool] | None:
    """Return the MCP call that an event ends, and whether it failed; None for other events."""
    if event["type"] == "mcp_tool_call_end":
        value = as_input(event.get("result"))
        failed = "Err" in value or as_input(value.get("Ok")).get("isError") is True
        return text_in(event, "call_id"), failed
    item = as_input(event.get("item")) if event["type"] == "item_completed" else {}
    return (text_in(item, "id"), item.get("status") == "failed") if item.get("type") == "McpToolCall" else None


def web_search_call(id_: str, request: PendingCall, status: str | None) -> ToolCall:
    """Return a web search, which runs at the model's provider: the trace only shows that it ended."""
    queries = request.input.get("queries")
    input_ = request.input if request.input.get("query") or not queries else {**request.input, "query": queries}
    done = SUCCESS if status == "completed" else None
    return finish_call(id_, request.name, input_, None, outcome=done, line=request.line)


# ---- scripts of the tool `exec`, clients 0.144 and later: JavaScript that calls the other tools
#
#     const r = await tools.exec_command({cmd: "git status", "workdir": "/work"}); text(r.output);
#
# A script is never run: its calls are read off its text. A script with one call is that call; several shell commands
# are one call with all of them; any other script stays a call of `exec`. A result has the script's own header, then the
# output of each command, or JSON with its output and exit code. A script that goes on has a cell; `wait` looks at it.

SHELL = "exec_command"
_MAX_SCRIPT = 400_000  # characters
_SCRIPT_HEADER = re.compile(
    r"\AScript (?:completed|(?P<failed>failed)|running with cell ID (?P<cell>\w+))[^\n]*\n"
    r"Wall time[^\n]*\nOutput:(?:\n|\Z)"
)
_SHELL_ID = re.compile(r"(?i)\bsession_?id\W{1,3}(\d+)\s*\Z")  # scripts print it for a command that goes on
# Comments and strings; strings become numbers between NUL characters, so that braces are the script's own.
_TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|`(?:[^`\\]|\\.)*`)""",
    re.S,
)
_STRING_NUMBER = re.compile("\0(\\d+)\0")
_TOOL_CALL = re.compile(r"\btools\.(\w+)\s*\(\s*(\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\w+|" + "\0\\d+\0" + r")?")
_BARE_KEY = re.compile(r"([{,]\s*)([A-Za-z_$][\w$]*)(\s*:)")
_VARIABLE = re.compile(r"\b(?:const|let|var)\s+([A-Za-z_$][\w$]*)\s*=\s*" + "(\0\\d+\0)")
_NAMED_VALUE = re.compile(r"(:\s*)([A-Za-z_$][\w$]*)(?=\s*[,}])")
_TRAILING = re.compile(r",(\s*[}\]])")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "f": "\f", "v": "\v", "\n": ""}


class ScriptCall(NamedTuple):
    """A call of a tool in a script."""

    name: str
    input: dict[str, Any]


def call_of(script: str) -> ScriptCall | None:
    """Return a script as one call: its only call, or its shell commands joined; None if neither is possible."""
    calls = _calls_in(script[:_MAX_SCRIPT])
    if len(calls) == 1:
        return calls[0]
    commands = [as_text(call.input.get("cmd")) for call in calls if call.name == SHELL]
    if len(commands) < 2 or len(commands) < len(calls) or not all(commands):
        return None
    return ScriptCall(SHELL, calls[0].input | {"cmd": "\n".join(commands)})


def output_of(text: str) -> CallOutput | None:
    """Return the output of a script; None for a text without its header."""
    header = _SCRIPT_HEADER.match(text)
    if header is None:
        return None
    body, failed = text[header.end() :].removeprefix("\n"), bool(header["failed"])
    if header["cell"]:
        return CallOutput(body, running=cell_key(header["cell"]), failed=failed)
    results = [object_of(line) for line in body.splitlines() if line.startswith("{")]
    if not results or len(results) < len(body.splitlines()) or not all("output" in result for result in results):
        shell = _SHELL_ID.search(body)
        return CallOutput(body, running=shell[1] if shell else "", failed=failed)
    codes = [code for result in results if isinstance(code := result.get("exit_code"), int)]
    running = next((str(result["session_id"]) for result in results if result.get("session_id") is not None), "")
    whole = "\n".join(as_text(result["output"]) for result in results)
    first_failure = next(filter(None, codes), 0) if codes else None
    return CallOutput(whole, first_failure, running, failed)


def cell_key(id_: object) -> str:
    """Return the name under which a running script is remembered."""
    return f"cell {id_}"


def _calls_in(script: str) -> list[ScriptCall]:
    """Return the calls of tools in a script, with variables that hold a string replaced by it."""
    strings: list[str] = []

    def keep(match: re.Match[str]) -> str:
        if match[1] is None:
            return " "  # a comment
        strings.append(_string(match[1]))
        return f"\0{len(strings) - 1}\0"  # its number stands for a string

    without_strings = _TOKENS.sub(keep, script.replace("\0", ""))
    variables = dict(_VARIABLE.findall(without_strings))
    calls = _TOOL_CALL.finditer(without_strings)
    return [ScriptCall(call[1], _argument(call[2] or "", variables, strings)) for call in calls]


def _string(literal: str) -> str:
    """Return the text of a string literal."""
    if literal[0] == '"':
        try:
            return str(json.loads(literal, strict=False))
        except ValueError:
            pass
    return re.sub(r"\\(.)", lambda sign: _ESCAPES.get(sign[1], sign[1]), literal[1:-1], flags=re.S)


def _argument(argument: str, variables: dict[str, str], strings: list[str]) -> dict[str, Any]:
    """Return the argument of a call as an object; text alone, as of `apply_patch`, is its `input`."""
    value = variables.get(argument, argument)
    if alone := _STRING_NUMBER.fullmatch(value):
        return {"input": strings[int(alone[1])]}
    value = _NAMED_VALUE.sub(lambda pair: pair[1] + variables.get(pair[2], pair[2]), value)
    value = _TRAILING.sub(r"\1", _BARE_KEY.sub(r'\1"\2"\3', value))
    value = _STRING_NUMBER.sub(lambda mark: json.dumps(strings[int(mark[1])]), value)
    return object_of(value)


# ---- text that Codex adds to the user's own words: instructions, environment, skills, notices

_INSTRUCTIONS = re.compile(
    r"\s*# AGENTS\.md instructions(?: for (?P<folder>[^\n]+))?\s+<INSTRUCTIONS>\n?(?P<text>.*?)\n?</INSTRUCTIONS>\s*\Z",
    re.DOTALL,
)
_PROJECT_DOC = "\n--- project-doc ---\n"  # the user's own AGENTS.md comes before it, without a path
_SKILL = re.compile(r"\s*<skill>\s*<name>(?>(.*?)</name>)\s*(?:<path>(?>(.*?)</path>))?", re.DOTALL)
_TAG = re.compile(r"\s*<([A-Za-z][\w-]*)[^>\n]*>")
# Elements of the client in the user's role; other elements may be the user's.
_CLIENT_TAG = re.compile(
    r"(?:\w+_)?(?:context|instructions)|plugins|subagents|user_shell_command|user_action|hook_prompt|subagent_notification",
    re.IGNORECASE,
)
_IMAGE_TAG = re.compile(r"\s*</?image\b[^>]*>\s*\Z")
_APPROVAL_NOTICE = "Approved command prefix saved"  # a notice in the developer's role
_HOOK_PART = "hooks.additional_context"
_NOTICES = (
    "<turn_aborted>",
    "Another language model started to solve this problem",  # the summary of a compaction
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via",
)
_REQUEST = re.compile(r"^## My request(?: for Codex)?:[ \t]*$", re.MULTILINE)  # an editor puts its context before it


def own_words(text: str, line: int) -> tuple[str, list[Event]]:
    """Return the user's own words in a text of the user's role, and as events what the client wrote around them."""
    instructions = _INSTRUCTIONS.match(text)
    if instructions:
        own, _, project = f"\n{instructions['text']}".rpartition(_PROJECT_DOC)
        if instructions["folder"] is None:  # only the user's own
            own, project = instructions["text"], ""
        path = f"{(instructions['folder'] or '').strip()}/AGENTS.md"
        parts = [injected("instructions", own.strip(), line), injected("instructions", project.strip(), line, path)]
        return "", [part for part in parts if part.content]
    skill = _SKILL.match(text) if text.rstrip().endswith("</skill>") else None
    if skill:
        content = text[skill.end() :].rstrip().removesuffix("</skill>")
        injection = injected("skill", content.strip(), line, (skill.group(2) or "").strip())
        return "", [Skill(skill.group(1).strip(), "command", line), injection]
    tag = _element(text)
    if _CLIENT_TAG.fullmatch(tag):
        is_instructions = tag == "user_instructions"  # how older clients wrapped AGENTS.md
        return "", [injected("instructions" if is_instructions else tag.lower(), text.strip(), line)]
    if text.lstrip().startswith(_NOTICES) or _IMAGE_TAG.match(text):
        return "", []
    *_, request = (None, *_REQUEST.finditer(text))  # the last heading: the context before it may quote one
    if request is None:
        return text, []
    words = text[request.end() :].strip()
    return words or text, [injected("editor", text[: request.start()].strip(), line)]


def is_hook_text(text: str, kinds: list[str], *, is_alone: bool) -> bool:
    """Report whether a text in the developer's role is a hook's.

    Newer clients name the kind of each part. In older clients a hook's text has no tag, unlike the client's own texts,
    and is alone in its message, after the client's own texts of the turn (`is_alone`).
    """
    if kinds:
        return _HOOK_PART in kinds
    tag = _element(text)
    return tag == "hook_context" or (is_alone and not tag and not text.lstrip().startswith(_APPROVAL_NOTICE))


def developer_text(text: str, line: int, hook: str = "") -> Injection:
    """Return a text in the developer's role: of a hook, of the client under its tag, or configured by the user."""
    tag = _element(text)
    return injected(hook or (f"developer:{tag}" if tag else "developer"), text.strip(), line)


def _element(text: str) -> str:
    """Return the name of the element that a text consists of, or ""."""
    tag = _TAG.match(text)
    return tag.group(1) if tag and f"</{tag.group(1)}" in text[-200:] else ""
