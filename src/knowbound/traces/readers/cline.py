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

_WORDS = re.compile(r"<(task|user_message|feedback|answer|user_input)\b[^<>]{0,200}>")
_MOST_UNCLOSED = 5  # names of elements that may lack their end
_TOOLS = (
    "access_mcp_resource|apply_diff|ask_followup_question|attempt_completion|browser_action|codebase_search"
    "|execute_command|fetch_instructions|insert_content|list_code_definition_names|list_files|load_mcp_documentation"
    "|new_task|plan_mode_respond|read_file|replace_in_file|search_and_replace|search_files|switch_mode"
    "|update_todo_list|use_mcp_tool|write_to_file"
)
_CALL = re.compile(rf"^<({_TOOLS})>\s*$", re.MULTILINE)
_PARAMETER = re.compile(r"<(\w{1,40})>")
_ANSWERS = ("result", "question", "response")  # parameters that are the agent's words to the user
_ANSWERING = frozenset({"attempt_completion", "ask_followup_question", "plan_mode_respond"})
_RESULT = re.compile(r"\[(\w+)\b(?:.{0,20000}?)?\] Result:\n?", re.DOTALL)
_ROO = "<slug>"
_MCP = "use_mcp_tool"
_PATH = re.compile(r"<(path)>")
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \((.{1,1000}?)\) Files")
_OF_RESULTS = {"subagents": "use_subagents", "use_mcp_tool": ""}  # tools that are called by another name
_BY_USER = re.compile(r"\s*The user ")
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
        about: dict[str, Any] = {}
        listed: list[tuple[Path, dict[str, Any]]] = []
        for path in files:
            for number, value in read_values(path, tally):
                if isinstance(value, list):
                    listed.append((path, {"messages": value}))
                elif isinstance(value, dict) and isinstance(value.get("messages"), list):
                    listed.append((path, value))
                elif isinstance(value, dict) and "workspace_root" in value:
                    about = value
                else:
                    tally.skip(str(path), number, "foreign")
        for path, value in listed:
            raws = dicts(value["messages"])
            session = text_in(value, "sessionId") or text_in(about, "session_id") or path.parent.name
            first = [_text(block) for raw in raws[:1] for block in _blocks(raw)]
            # The folder that the client names in its first message to the model.
            named = next((found[1] for text in first if (found := _FOLDER.search(text))), "")
            folder = text_in(about, "cwd") or named
            agent = "roo-code" if any(_ROO in text for text in first) else Cline.name
            yield Start(session, agent, folder, time=iso_time(raws[0].get("ts"), 1000) if raws else "")
            yield from follow(_messages(raws), str(path))


def _blocks(raw: dict[str, Any]) -> list[dict[str, Any]]:
    content = raw.get("content")
    return [{"type": "text", "text": content}] if isinstance(content, str) else dicts(content)


def _messages(raws: list[dict[str, Any]]) -> Iterator[Message]:
    for line, raw in enumerate(raws, 1):
        id_, time, blocks = text_in(raw, "id") or f"M{line}", iso_time(raw.get("ts"), 1000), _blocks(raw)
        if raw.get("role") == "assistant" and raw.get("isSummary") is not True:
            texts, asked = list[str](), list[ToolRequest]()
            for block in blocks:
                if block.get("type") == "tool_use":
                    asked.append(_request(block))
                else:
                    text, called = _calls_in(_text(block))
                    texts, asked = [*texts, text], asked + called
            for request in asked:
                texts += [text_in(request.input, *_ANSWERS)] if request.name in _ANSWERING else []
            said, model = tuple(filter(str.strip, texts)), text_in(as_input(raw.get("modelInfo")), "modelId", "id")
            yield Message(
                "assistant", id_, said, tuple(asked), (), False, time, line, _new_tokens(raw.get("metrics")), model
            )
            continue
        results, words, others = list[ToolResult](), list[str](), list[str]()
        headed = ""  # the tool that the part before is the heading of
        for block in blocks:
            text, heading = _text(block), _RESULT.match(_text(block))
            if block.get("type") == "tool_result":
                results.append(_result_of_block(block))
            elif heading and not text[heading.end() :].strip():
                headed = heading[1]
                continue
            elif heading or headed:
                results.append(
                    _result("", text[heading.end() if heading else 0 :], _asked_as(heading[1] if heading else headed))
                )
            of = heading[1] if heading else headed
            is_words = not of or of in _ANSWERING or _BY_USER.match(text, heading.end() if heading else 0)
            own = [inside.strip() for _, inside in _elements(text, _WORDS)] if is_words else []
            words += filter(None, own)
            others += [text] if text.strip() and not own and not heading and not headed else []
            headed = ""
        results += [_result("", "", _asked_as(headed))] if headed else []
        yield Message("tool", id_, tuple(others), (), tuple(results), False, time, line)
        if words:
            yield Message("user", id_, tuple(words), time=time, line=line)


def _asked_as(tool: str) -> str:
    return _OF_RESULTS.get(tool, tool)


def _elements(text: str, start: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Yield the elements that begin so, with what is in them; an element without an end is left out."""
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
    found, rest, at = list[ToolRequest](), list[str](), 0
    while opened := _CALL.search(text, at):
        rest.append(text[at : opened.start()])
        end = text.find(f"</{opened[1]}>", opened.end())
        inside = text[opened.end() : end if end >= 0 else len(text)]
        at = end + len(opened[1]) + 3 if end >= 0 else len(text)
        name, input_ = opened[1], {key: value.strip() for key, value in _elements(inside, _PARAMETER)}
        if name == _MCP:
            name = f"mcp__{input_.get('server_name', '')}__{input_.get('tool_name', '')}"
            found.append(ToolRequest("", name, as_input(input_.get("arguments"))))
        elif "args" in input_:  # several files
            paths = [value.strip() for key, value in _elements(input_["args"], _PATH) if key == "path"]
            found.append(ToolRequest("", name, {"paths": paths}))
        else:
            found.append(ToolRequest("", name, input_))
    return "".join([*rest, text[at:]]), found


def _text(block: dict[str, Any]) -> str:
    return text_in(block, "text") if block.get("type") == "text" else ""


def _request(block: dict[str, Any]) -> ToolRequest:
    """Return a call; files of a list are its paths."""
    input_ = as_input(block.get("input"))
    paths = [text_in(one, "path") for one in dicts(input_.get("files"))]
    return ToolRequest(text_in(block, "id"), text_in(block, "name"), {**input_, "paths": paths} if paths else input_)


def _result_of_block(block: dict[str, Any]) -> ToolResult:
    parts = [one for one in dicts(block.get("content")) if "success" in one]
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
    elif _FAILED.match(text) and code is None:
        outcome = failure(text)
    if code is not None:
        return ToolResult(id_, text[code.end() :], False, name, int(code[1]), outcome)
    failed = is_error if is_error is not None else is_error_report(text)
    return ToolResult(id_, text, failed and outcome is None, name, None, outcome)


def _new_tokens(raw: object) -> int | None:
    about = as_input(raw)
    about = as_input(about.get("tokens")) or about
    names = (("prompt", "inputTokens"), ("cached", "cacheReadTokens"), ("completion", "outputTokens"))
    return new_tokens(*(about.get(short, about.get(long)) for short, long in names))
