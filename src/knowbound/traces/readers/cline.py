"""Sessions of Cline and of Roo Code: those of the command line (`ID.messages.json`), and tasks of the extensions.

- Both are messages in Anthropic's form. The command line has `{sessionId, messages}` and, in a file beside it, the
  session's folder (`{session_id, cwd, …}`). A result of its tools is a list of {query, result, error, success}.
- A task (`api_conversation_history.json`) is a list of messages. A result is a `tool_result`, or a text of the user's
  role that begins with `[tool for 'input'] Result:`, in the order of the calls.
- The user's words are in elements (task, user_message, feedback, answer, user_input); all else in the user's role is
  the client's. The agent's answer is a parameter of `attempt_completion`.
- Roo Code, and Cline before it used tool calls, ask for a tool in the text: an element with its name at the start of a
  line, and in it one element for each parameter. Roo's `[tool …] Result:` has its text in the next part.
- Roo names its mode in `<slug>`. It replaces a conversation that is too long by a message with `isSummary`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from knowbound.core.trace import Event, Start
from knowbound.text.clock import iso_time
from knowbound.traces.calls.outcome import REFUSED, STILL_RUNNING, failure
from knowbound.traces.dialogue import (
    Message,
    ToolRequest,
    ToolResult,
    as_input,
    as_text,
    follow,
    is_error_report,
    text_in,
)
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally
from knowbound.traces.values import dicts, first_value, new_tokens, read_values

_USER_WORDS = re.compile(r"<(task|user_message|feedback|answer|user_input)\b[^<>]{0,200}>")
_MOST_UNCLOSED = 5  # names of elements that may lack their end
_TOOLS = (
    "access_mcp_resource|apply_diff|ask_followup_question|attempt_completion|browser_action|codebase_search"
    "|execute_command|fetch_instructions|insert_content|list_code_definition_names|list_files|load_mcp_documentation"
    "|new_task|plan_mode_respond|read_file|replace_in_file|search_and_replace|search_files|switch_mode"
    "|update_todo_list|use_mcp_tool|write_to_file"
)
_CALL = re.compile(rf"^<({_TOOLS})>\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"<(\w{1,40})>")
_ANSWER_PARAMETERS = ("result", "question", "response")  # parameters that are the agent's words to the user
_ANSWERING_TOOLS = frozenset({"attempt_completion", "ask_followup_question", "plan_mode_respond"})
_RESULT_HEADING = re.compile(r"\[(\w+)\b(?:.{0,20000}?)?\] Result:\n?", re.DOTALL)
_ROO = "<slug>"
_MCP = "use_mcp_tool"
_PATH_ELEMENT = re.compile(r"<(path)>")
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \((.{1,1000}?)\) Files")
_NAME_IN_CALL = {"subagents": "use_subagents", "use_mcp_tool": ""}  # tools that are called by another name
_USER_REPLY = re.compile(r"\s*The user ")
_EXIT_CODE = re.compile(
    r"\s*\[?Command (?:executed successfully|failed|exited)[^\n]{0,20}?(?:exit )?code (-?\d{1,5})"
    r"\)?[.\]]*\s*(?:Output:\n|\[stderr\]\n)?"
)
_RUNS_ON = re.compile(r"\s*Command is still running")
_DENIED = re.compile(r"\s*The user denied this operation")
_FAILED = re.compile(r"\s*The tool execution failed|\s*Error (?:reading|executing|searching|listing|writing)\b")


class Cline:
    """The reader of Cline sessions."""

    name = "cline"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise the session of the command line by its keys, a task by the elements around the user's words."""
        value = first_value(head)
        if isinstance(value, dict):
            if "workspace_root" in value and text_in(value, "session_id"):
                return Identity(text_in(value, "session_id"), time=text_in(value, "started_at"))
            is_cli = isinstance(value.get("messages"), list) and "agent" in value
            return Identity(text_in(value, "sessionId")) if is_cli and text_in(value, "sessionId") else None
        first = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}
        blocks = dicts(first.get("content"))
        text = text_in(blocks[0], "text") if blocks else ""
        is_task = first.get("role") == "user" and text.startswith("<task>")
        return Identity("", time=iso_time(first.get("ts"), 1000)) if is_task else None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session."""
        session_data: dict[str, Any] = {}
        documents: list[tuple[Path, dict[str, Any]]] = []
        for path in files:
            for number, value in read_values(path, tally):
                if isinstance(value, list):
                    documents.append((path, {"messages": value}))
                elif isinstance(value, dict) and isinstance(value.get("messages"), list):
                    documents.append((path, value))
                elif isinstance(value, dict) and "workspace_root" in value:
                    session_data = value
                else:
                    tally.skip(str(path), number, "foreign")
        for path, value in documents:
            raws = dicts(value["messages"])
            session = text_in(value, "sessionId") or text_in(session_data, "session_id") or path.parent.name
            first = [_text(block) for raw in raws[:1] for block in _blocks(raw)]
            # The folder that the client names in its first message to the model.
            named = next((found[1] for text in first if (found := _FOLDER.search(text))), "")
            folder = text_in(session_data, "cwd") or named
            agent = "roo-code" if any(_ROO in text for text in first) else Cline.name
            yield Start(session, agent, folder, time=iso_time(raws[0].get("ts"), 1000) if raws else "")
            yield from follow(_messages(raws), str(path))


def _blocks(raw: dict[str, Any]) -> list[dict[str, Any]]:
    content = raw.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else dicts(content)


def _messages(raws: list[dict[str, Any]]) -> Iterator[Message]:
    """Yield the messages of the agent, and those in the user's role, which have results, too."""
    for line, raw in enumerate(raws, 1):
        if raw.get("role") == "assistant" and raw.get("isSummary") is not True:  # a summary is the client's
            yield _message_of_agent(raw, line)
        else:
            yield from _messages_of_user(raw, line)


def _message_of_agent(raw: dict[str, Any], line: int) -> Message:
    """Return a message of the agent with its calls, of which some are asked for in its text."""
    texts, asked = list[str](), list[ToolRequest]()
    for block in _blocks(raw):
        if block.get("type") == "tool_use":
            asked.append(_request(block))
        else:
            text, called = _calls_in(_text(block))
            texts, asked = [*texts, text], asked + called
    for request in asked:  # some tools carry the answer itself
        texts += [text_in(request.input, *_ANSWER_PARAMETERS)] if request.name in _ANSWERING_TOOLS else []
    return Message(
        "assistant",
        text_in(raw, "id") or f"M{line}",
        texts=tuple(filter(str.strip, texts)),
        requests=tuple(asked),
        time=iso_time(raw.get("ts"), 1000),
        line=line,
        tokens=_new_tokens(raw.get("metrics")),
        model=text_in(as_input(raw.get("modelInfo")), "modelId", "id"),
    )


def _messages_of_user(raw: dict[str, Any], line: int) -> Iterator[Message]:
    """Yield the results and the client's texts of a message in the user's role, then the user's own words."""
    id_, time = text_in(raw, "id") or f"M{line}", iso_time(raw.get("ts"), 1000)
    results, words, others = list[ToolResult](), list[str](), list[str]()
    announced = ""  # the tool whose heading the part before is, without its result
    for block in _blocks(raw):
        text = _text(block)
        heading = _RESULT_HEADING.match(text)
        begin = heading.end() if heading else 0
        tool = heading[1] if heading else announced
        if block.get("type") == "tool_result":
            results.append(_result_of_block(block))
        elif heading and not text[begin:].strip():
            announced = tool
            continue
        elif tool:
            results.append(_result("", text[begin:], _name_in_call(tool)))
        is_words = not tool or tool in _ANSWERING_TOOLS or _USER_REPLY.match(text, begin)
        own = [inside.strip() for _, inside in _elements(text, _USER_WORDS)] if is_words else []
        words += filter(None, own)
        others += [text] if text.strip() and not own and not tool else []
        announced = ""
    results += [_result("", "", _name_in_call(announced))] if announced else []
    yield Message("tool", id_, tuple(others), results=tuple(results), time=time, line=line)
    if words:
        yield Message("user", id_, tuple(words), time=time, line=line)


def _name_in_call(tool: str) -> str:
    return _NAME_IN_CALL.get(tool, tool)


def _elements(text: str, start: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield the name and the inside of each element whose start matches; one without an end is left out."""
    at, unclosed = 0, set[str]()
    while len(unclosed) < _MOST_UNCLOSED and (opened := start.search(text, at)):
        at = opened.end()
        end = -1 if opened[1] in unclosed else text.find(f"</{opened[1]}>", at)
        if end < 0:
            unclosed.add(opened[1])
        else:
            yield opened[1], text[at:end]
            at = end


def _calls_in(text: str) -> tuple[str, list[ToolRequest]]:
    """Return a text without the calls in it, and these; the last may have been cut off."""
    requests, rest, at = list[ToolRequest](), list[str](), 0
    while opened := _CALL.search(text, at):
        rest.append(text[at : opened.start()])
        end = text.find(f"</{opened[1]}>", opened.end())
        inside = text[opened.end() : end if end >= 0 else len(text)]
        at = end + len(opened[1]) + 3 if end >= 0 else len(text)  # 3: `</>`
        name, input_ = opened[1], {key: value.strip() for key, value in _elements(inside, _PARAMETER)}
        if name == _MCP:
            name = f"mcp__{input_.get('server_name', '')}__{input_.get('tool_name', '')}"
            requests.append(ToolRequest("", name, as_input(input_.get("arguments"))))
        elif "args" in input_:  # several files
            paths = [value.strip() for key, value in _elements(input_["args"], _PATH_ELEMENT) if key == "path"]
            requests.append(ToolRequest("", name, {"paths": paths}))
        else:
            requests.append(ToolRequest("", name, input_))
    return "".join([*rest, text[at:]]), requests


def _text(block: dict[str, Any]) -> str:
    return text_in(block, "text") if block.get("type") == "text" else ""


def _request(block: dict[str, Any]) -> ToolRequest:
    """Return a call; files of a list are its paths."""
    input_ = as_input(block.get("input"))
    paths = [text_in(file, "path") for file in dicts(input_.get("files"))]
    return ToolRequest(text_in(block, "id"), text_in(block, "name"), {**input_, "paths": paths} if paths else input_)


def _result_of_block(block: dict[str, Any]) -> ToolResult:
    """Return a result; one of several parts is an error only if no part succeeded."""
    parts = [part for part in dicts(block.get("content")) if "success" in part]
    id_, name = text_in(block, "tool_use_id"), text_in(block, "name")
    if not parts:
        text = as_text(block.get("content"))
        return _result(id_, text, name, is_error=block.get("is_error") is True)
    text = "\n".join(as_text(part.get("result")) or text_in(part, "error") for part in parts)
    return _result(id_, text, name, is_error=not any(part["success"] is True for part in parts))


def _result(id_: str, text: str, name: str, *, is_error: bool | None = None) -> ToolResult:
    """Return a result with the outcome that the client's own words say."""
    code, outcome = _EXIT_CODE.match(text), None
    if _DENIED.match(text):
        outcome = REFUSED
    elif _RUNS_ON.match(text):
        outcome = STILL_RUNNING
    elif _FAILED.match(text) and code is None:  # an exit code says more
        outcome = failure(text)
    if code is not None:
        return ToolResult(id_, text[code.end() :], name=name, exit_code=int(code[1]), outcome=outcome)
    failed = is_error if is_error is not None else is_error_report(text)
    return ToolResult(id_, text, failed and outcome is None, name, outcome=outcome)


def _new_tokens(raw: object) -> int | None:
    counts = as_input(raw)
    counts = as_input(counts.get("tokens")) or counts
    names = (("prompt", "inputTokens"), ("cached", "cacheReadTokens"), ("completion", "outputTokens"))
    return new_tokens(*(counts.get(short, counts.get(long)) for short, long in names))
