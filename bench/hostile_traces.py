"""Traces of every agent in pathological shapes: files whose texts or numbers of entries grow with a size."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def trace_file(name: str, content: str | bytes) -> Path:
    """The file, alone in a folder of its own."""
    path = Path(tempfile.mkdtemp(prefix="knowbound-shape-")) / name
    path.write_bytes(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    return path


def folder_of(name: str, content: str) -> Path:
    return trace_file(name, content).parent


def _lines(values: Iterable[dict[str, Any]]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


_BASE = {"sessionId": "s", "cwd": "/work/shop", "version": "2.1", "timestamp": "2026-10-01T10:00:00.000Z"}


def claude_line(kind: str, content: object, number: int, **more: object) -> dict[str, Any]:
    message = {"id": f"m{number}", "role": kind, "model": "m", "content": content}
    return {**_BASE, "type": kind, "uuid": f"u{number}", "message": message, **more}


def call(number: int, name: str, **given: object) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}


def _result(number: int, text: str, *, failed: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": f"t{number}", "content": text, "is_error": failed}


def claude_session(*middle: dict[str, Any]) -> Path:
    first = claude_line("user", "Where is the retry budget?", 0)
    return trace_file("s.jsonl", _lines([first, *middle, claude_line("assistant", "It is in budget.py.", 10**9)]))


def agent_says(text: str) -> Path:
    return claude_session(claude_line("assistant", [{"type": "text", "text": text}], 1))


def user_says(text: str) -> Path:
    return claude_session(claude_line("user", text, 1))


def bash_prints(output: str, command: str = "grep -rn budget src") -> Path:
    structured = {"stdout": output, "stderr": "", "interrupted": False}
    return claude_session(
        claude_line("assistant", [call(1, "Bash", command=command)], 1),
        claude_line("user", [_result(1, output)], 2, toolUseResult=structured),
    )


def grep_prints(output: str) -> Path:
    """A search in the shell, and what it prints."""
    return claude_session(
        claude_line("assistant", [call(1, "Bash", command="grep -rn budget src")], 1),
        claude_line("user", [_result(1, output)], 2),
    )


def many(make: Callable[[int], list[dict[str, Any]]]) -> Callable[[int], Path]:
    return lambda size: claude_session(*(line for number in range(size) for line in make(number)))


def failed_grep(number: int, name: str = "Grep", query: str = "") -> list[dict[str, Any]]:
    return [
        claude_line("assistant", [call(number, name, pattern=query or f"budget_{number}_limit")], 2 * number + 1),
        claude_line("user", [_result(number, "No matches found")], 2 * number + 2),
    ]


def one_message(size: int, name: Callable[[int], str], *, reverse: bool = False) -> Path:
    numbers = list(range(size))
    calls = [call(number, name(number), pattern=f"budget_{number}_limit") for number in numbers]
    results = [_result(number, "No matches found") for number in (reversed(numbers) if reverse else numbers)]
    return claude_session(claude_line("assistant", calls, 1), claude_line("user", results, 2))


def edits(size: int) -> Path:
    """Edits that remove many names."""

    def edit(at: int) -> list[dict[str, Any]]:
        names = " ".join(f"n{at}_{i}" for i in range(400))
        edited = call(at, "Edit", file_path="a.py", old_string=names, new_string="")
        return [claude_line("assistant", [edited], 2 * at + 1), claude_line("user", [_result(at, "ok")], 2 * at + 2)]

    return many(edit)(size // 50)


def skills(size: int) -> Path:
    """Skills, each with a failed search."""

    def one(at: int) -> list[dict[str, Any]]:
        text = f"<command-message>x</command-message><command-name>/skill{at}</command-name>"
        answer = claude_line("assistant", "Perhaps.", 4 * at + 10**7)
        return [claude_line("user", text, 4 * at + 1), *failed_grep(2 * at + 1), answer]

    return many(one)(size)


def sub_agents(size: int) -> Path:
    def progress(at: int) -> list[dict[str, Any]]:
        message = {"id": f"q{at}", "content": [call(10**6 + at, "Grep", pattern="x")]}
        said = {"type": "assistant", "uuid": f"p{at}", "message": message}
        data = {"type": "agent_progress", "agentId": f"a{at}", "message": said}
        return [{**_BASE, "type": "progress", "uuid": f"w{at}", "data": data}]

    return many(progress)(size)


def stream(size: int) -> Path:
    """What `claude -p` prints."""
    base = {"session_id": "s"}
    lines: list[dict[str, Any]] = [{**base, "type": "system", "subtype": "init", "cwd": "/work/shop", "model": "m"}]
    for at in range(size):
        content = [{"type": "text", "text": "It may be in the budget file. " * 20}]
        lines.append({**base, "type": "assistant", "uuid": f"u{at}", "message": {"id": f"m{at}", "content": content}})
    lines.append({**base, "type": "result", "subtype": "success", "result": "Done.", "is_error": False})
    return trace_file("stream.jsonl", _lines(lines))


def _codex(items: Iterable[dict[str, Any]]) -> Path:
    meta = {"timestamp": "2026-10-01T10:00:00Z", "type": "session_meta", "payload": {"id": "s", "cwd": "/work/shop"}}
    lines = ({"timestamp": "2026-10-01T10:00:01Z", "type": "response_item", "payload": item} for item in items)
    return trace_file("rollout.jsonl", _lines([meta, *lines]))


def codex_calls(size: int, output: str = "") -> Path:
    call = [
        {"type": "function_call", "name": "shell", "call_id": f"c{at}", "arguments": '{"command":["rg","budget"]}'}
        for at in range(size)
    ]
    given = output or '{"output":"","metadata":{"exit_code":1}}'
    results = [{"type": "function_call_output", "call_id": f"c{at}", "output": given} for at in range(size)]
    return _codex([*call, *results])


def codex_message(role: str, text: str) -> Path:
    kind = "output_text" if role == "assistant" else "input_text"
    return _codex([{"type": "message", "role": role, "content": [{"type": kind, "text": text}]}])


def codex_prompts(size: int) -> Path:
    texts = [{"type": "input_text", "text": "<skill><name>a</name></skill>"}, {"type": "input_text", "text": "go"}]
    return _codex({"type": "message", "role": "user", "content": texts} for _ in range(size))


def codex_exec(size: int) -> Path:
    """What `codex exec` prints."""
    run = {"type": "command_execution", "command": "rg budget", "aggregated_output": "", "exit_code": 1}
    items = [{"type": "item.completed", "item": {"id": f"i{at}", **run, "status": "failed"}} for at in range(size)]
    start = [{"type": "thread.started", "thread_id": "s"}, {"type": "turn.started"}]
    return trace_file("exec.jsonl", _lines([*start, *items]))


def _copilot(*events: tuple[str, dict[str, Any]], agents: tuple[str, ...] = ()) -> Path:
    """A session with these events; `agents` are the sub-agents of the messages, in their order."""
    given = [("session.start", {"sessionId": "s", "copilotVersion": "1.0"}), *events]
    lines = [{"type": kind, "data": data, "id": f"{at}", "timestamp": "2026"} for at, (kind, data) in enumerate(given)]
    for line, agent in zip((line for line in lines if line["type"] == "assistant.message"), agents, strict=False):
        line["agentId"] = agent
    return trace_file("events.jsonl", _lines(lines))


def copilot_calls(size: int, *, agents: bool = False) -> Path:
    """Calls of one message, or of a message of each of many sub-agents."""
    requests = [{"toolCallId": f"c{at}", "name": "grep", "arguments": {"pattern": f"b{at}"}} for at in range(size)]
    parents = tuple(f"p{at}" for at in range(size)) if agents else ()
    messages: list[dict[str, Any]] = [{"messageId": "m", "content": "", "toolRequests": requests}]
    if agents:
        messages = [
            {"messageId": f"m{at}", "content": "x", "toolRequests": [requests[at]], "parentToolCallId": f"p{at}"}
            for at in range(size)
        ]
    results = [
        {"toolCallId": f"c{at}", "success": True, "result": {"content": "No matches found"}} for at in range(size)
    ]
    return _copilot(
        ("user.message", {"content": "Where?"}),
        *(("assistant.message", message) for message in messages),
        *(("tool.execution_complete", result) for result in results),
        agents=parents,
    )


def copilot_text(text: str) -> Path:
    return _copilot(("system.message", {"content": text}), ("user.message", {"content": "Where?"}))


def _gemini(name: str, arguments: list[dict[str, Any]], output: str) -> Path:
    """A message with a call of the tool for each of the arguments, all with this output."""
    calls = [
        {"id": f"c{at}", "name": name, "args": given, "status": "success",
         "result": [{"functionResponse": {"id": f"c{at}", "name": "x", "response": {"output": output}}}]}
        for at, given in enumerate(arguments)
    ]  # fmt: skip
    messages = [{"id": "1", "type": "user", "content": "Where?"}, {"id": "2", "type": "gemini", "toolCalls": calls}]
    document = {"sessionId": "s", "projectHash": "h", "startTime": "2026", "lastUpdated": "2026", "messages": messages}
    return trace_file("session.json", json.dumps(document))


def gemini_calls(size: int) -> Path:
    return _gemini("search_file_content", [{"pattern": f"b{at}"} for at in range(size)], "No matches found")


def gemini_report(text: str) -> Path:
    return _gemini("run_shell_command", [{"command": "ls"}], text)


def swe_agent(observation: str, action: str = "search_dir budget src", steps: int = 1) -> Path:
    start = {"action": "ls", "observation": "a", "thought": "It may be there.", "response": "", "state": "{}"}
    step = {**start, "action": action, "observation": observation}
    history = [{"role": "user", "content": observation, "agent": "primary", "message_type": "observation"}]
    return trace_file("a.traj", json.dumps({"trajectory": [start, *[step] * steps], "history": history, "info": {}}))


def chat_calls(size: int, *, named: bool = False) -> Path:
    """One message with all calls, then all results: by id, or (as older forms have it) by name alone."""
    calls = [
        {"id": "" if named else f"c{at}", "type": "function", "function": {"name": f"search{at}", "arguments": "{}"}}
        for at in range(size)
    ]
    names = [{"name": f"search{at}"} if named else {"tool_call_id": f"c{at}"} for at in range(size)]
    results = [{"role": "tool", "content": "No matches found", **name} for name in names]
    asked = [{"role": "user", "content": "Where?"}, {"role": "assistant", "content": "", "tool_calls": calls}]
    return trace_file("chat.json", json.dumps({"messages": [*asked, *results]}))


def chat_joined(size: int) -> Path:
    """Calls of the Responses API, one by one."""
    items = [{"type": "function_call", "call_id": f"c{at}", "name": "grep", "arguments": "{}"} for at in range(size)]
    return trace_file("chat.json", json.dumps({"input": [{"role": "user", "content": "Where?"}, *items]}))


def otel_spans(size: int, *, events: bool = False) -> Path:
    def span(at: int) -> dict[str, Any]:
        said = json.dumps([{"role": "assistant", "content": f"It may be {at}."}])
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "s", "gen_ai.output.messages": said}
        return {"name": "chat", "context": {"trace_id": "t", "span_id": f"{at}"}, "parent_id": f"{at - 1}",
                "start_time": f"2026-10-01T10:00:00.{at:06d}Z", "end_time": "2026-10-01T11:00:00Z",
                "attributes": attributes}  # fmt: skip

    if not events:
        return trace_file("spans.jsonl", _lines(map(span, range(size))))
    parts = [{"name": "x", "attributes": {"gen_ai.system_instructions": f"rule {at}"}} for at in range(size)]
    return trace_file("spans.jsonl", _lines([{**span(0), "events": parts}]))


def nested_line(size: int) -> Path:
    return trace_file(
        "s.jsonl", _lines([claude_line("user", "x", 0)]) + '{"type":"user","message":' + "[" * size + "\n"
    )


def broken_lines(size: int) -> Path:
    return trace_file(
        "s.jsonl", _lines([claude_line("user", "x", 0), claude_line("assistant", "y", 1)]) + "{broken\n" * size
    )


def joined_lines(size: int) -> Path:
    """Objects written one after the other onto one line, the last of them cut."""
    many = "".join(json.dumps(claude_line("assistant", "It may be.", at)) for at in range(size))
    return trace_file("s.jsonl", _lines([claude_line("user", "x", 10**8)]) + many + "{\n")
