"""The lines that agents write, for the demo: a session is told call by call, ids and times are made from its name.

A `Call` is a request with its result. `Claude` and `Codex` write a talk of texts and calls in the shape of
their client's transcripts.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from knowbound.demo import PROJECT

FOLDER = "/home/dev/order-platform"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of Claude Code: the request, the text that the model got back, and the structure beside it."""

    name: str
    input: Json
    text: str
    result: Any
    is_error: bool | None = None


def grep(pattern: str, where: str = "", found: tuple[str, ...] = ()) -> Call:
    """A Grep for files; without `found` nothing matched."""
    input_ = {"pattern": pattern, **({"path": f"{FOLDER}/{where}"} if where else {})}
    text = f"Found {len(found)} files\n" + "\n".join(found) if found else "No files found"
    return Call("Grep", input_, text, {"mode": "files_with_matches", "filenames": found, "numFiles": len(found)})


def grep_lines(pattern: str, *lines: str) -> Call:
    """A Grep that shows the lines it found."""
    content = "\n".join(lines)
    result = {"mode": "content", "numFiles": 0, "filenames": [], "content": content, "numLines": len(lines)}
    return Call("Grep", {"pattern": pattern, "output_mode": "content", "-n": True}, content, result)


def glob(pattern: str, found: tuple[str, ...] = ()) -> Call:
    """A Glob; without `found` nothing matched."""
    names = [f"{FOLDER}/{path}" for path in found]
    result = {"filenames": names, "durationMs": 14, "numFiles": len(names), "truncated": False}
    return Call("Glob", {"pattern": pattern}, "\n".join(names) or "No files found", result)


def read(path: str, content: str = "") -> Call:
    """A Read: of the given lines, or of a file of the knowledge base."""
    content = content or (PROJECT / path).read_text("utf-8")
    lines = content.splitlines()
    numbered = "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1))
    file = {"filePath": f"{FOLDER}/{path}", "content": content, "numLines": len(lines), "startLine": 1}
    return Call("Read", {"file_path": f"{FOLDER}/{path}"}, numbered, {"type": "text", "file": file})


def missing(path: str) -> Call:
    """A Read of a file that is not there."""
    text = "<tool_use_error>File does not exist.</tool_use_error>"
    return Call("Read", {"file_path": f"{FOLDER}/{path}"}, text, "Error: File does not exist.", is_error=True)


def bash(command: str, stdout: str = "", *, purpose: str, code: int = 0) -> Call:
    """A shell command; status 1 of a silent search is what the client calls "No matches found"."""
    input_ = {"command": command, "description": purpose}
    if code and stdout:
        text = f"Exit code {code}\n{stdout}"
        return Call("Bash", input_, text, f"Error: {text}", is_error=True)
    result = {"stdout": stdout, "stderr": "", "interrupted": False, "isImage": False}
    if code:
        result["returnCodeInterpretation"] = "No matches found"
    return Call("Bash", input_, stdout or "(Bash completed with no output)", result, is_error=False)


def failed(name: str, input_: Json, text: str, result: str) -> Call:
    """A call that its client stopped: rejected, timed out, or given up with its sibling."""
    return Call(name, input_, text, result, is_error=True)


def edit(path: str, old: str, new: str) -> Call:
    """An Edit."""
    input_ = {"file_path": f"{FOLDER}/{path}", "old_string": old, "new_string": new}
    text = f"The file {FOLDER}/{path} has been updated successfully."
    return Call("Edit", input_, text, {"filePath": f"{FOLDER}/{path}", "oldString": old, "newString": new})


def _skill_text(name: str) -> str:
    folder = f".claude/skills/{name}"
    body = (PROJECT / folder / "SKILL.md").read_text("utf-8").rpartition("---\n")[2].strip()
    return f"Base directory for this skill: {FOLDER}/{folder}\n\n{body}"


@dataclass
class Ids:
    """Ids and times that are the same in every run: counted under the name of the session."""

    name: str
    time: datetime
    count: int = 0

    def uuid(self) -> str:
        """The next uuid."""
        self.count += 1
        return str(uuid5(NAMESPACE_URL, f"knowbound-demo/{self.name}/{self.count}"))

    def short(self, prefix: str) -> str:
        """The next short id."""
        self.count += 1
        return prefix + hashlib.sha256(f"{self.name}/{self.count}".encode()).hexdigest()[:20]

    def now(self) -> str:
        """The next moment: something happens every few seconds."""
        self.time += timedelta(seconds=2 + self.count * 7 % 23, milliseconds=self.count * 131 % 997)
        return f"{self.time:%Y-%m-%dT%H:%M:%S}.{self.time.microsecond // 1000:03d}Z"


class Talk:
    """What an agent says and does, whoever writes the lines down."""

    ids: Ids

    def emit(self, type_: str, message: Json, **fields: Any) -> None:
        """Write one message down."""
        raise NotImplementedError

    def says(self, text: str, *calls: Call) -> None:
        """A text, and the calls of the same message."""
        self._message(text, calls)

    def does(self, *calls: Call) -> None:
        """Calls of one message, without a word."""
        self._message("", calls)

    def _message(self, text: str, calls: tuple[Call, ...]) -> None:
        id_ = self.ids.short("msg_")
        if text:
            self._assistant(id_, {"type": "text", "text": text})
        asked = [(self.ids.short("toolu_"), call) for call in calls]
        for call_id, call in asked:
            self._assistant(id_, {"type": "tool_use", "id": call_id, "name": call.name, "input": call.input})
        for call_id, call in asked:
            self._answer(call_id, call)

    def _assistant(self, id_: str, block: Json) -> None:
        usage = {"input_tokens": 900 + 37 * self.ids.count, "output_tokens": 20 + len(json.dumps(block)) // 4}
        message = {"model": "claude-sonnet-4-6", "id": id_, "type": "message", "role": "assistant", "content": [block]}
        self.emit("assistant", message | {"usage": usage})

    def _answer(self, call_id: str, call: Call) -> None:
        block: Json = {"tool_use_id": call_id, "type": "tool_result", "content": call.text}
        if call.is_error is not None:
            block["is_error"] = call.is_error
        self.emit("user", {"role": "user", "content": [block]}, toolUseResult=call.result)


@dataclass
class Claude(Talk):
    """A session of Claude Code."""

    name: str
    start: str
    branch: str = "main"
    version: str = "2.1.126"
    files: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.ids = Ids(self.name, datetime.fromisoformat(self.start))
        self.session = self.ids.uuid()
        self.lines: list[str] = []
        self.files[f"{self.session}.jsonl"] = self.lines
        self._last: str | None = None

    def line(self, type_: str, **fields: Any) -> None:
        """A line with what every message line carries."""
        uuid = self.ids.uuid()
        base = {
            "parentUuid": self._last,
            "isSidechain": False,
            "userType": "external",
            "cwd": FOLDER,
            "sessionId": self.session,
            "version": self.version,
            "gitBranch": self.branch,
            "type": type_,
        }
        self.bare({**base, **fields, "uuid": uuid, "timestamp": self.ids.now()})
        self._last = uuid

    def bare(self, line: Json | str) -> None:
        """A line of any shape, or a text as it is."""
        self.lines.append(line if isinstance(line, str) else _compact(line))

    def emit(self, type_: str, message: Json, **fields: Any) -> None:
        """A message of the main agent or its user."""
        self.line(type_, message=message, **fields)

    def user(self, text: str, **fields: Any) -> None:
        """The user's words, or a text of the client with its flags."""
        self.emit("user", {"role": "user", "content": text}, **fields)

    def slash(self, skill: str, words: str) -> None:
        """A slash command of the user, and the skill's text behind it."""
        tags = (("command-message", skill), ("command-name", f"/{skill}"), ("command-args", words))
        self.user("\n".join(f"<{tag}>{text}</{tag}>" for tag, text in tags))
        self._meta(_skill_text(skill))

    def skill(self, skill: str, text: str) -> None:
        """The agent invokes a skill with the Skill tool."""
        result = {"success": True, "commandName": skill}
        self.says(text, Call("Skill", {"skill": skill}, f"Launching skill: {skill}", result))
        self._meta(_skill_text(skill))

    def _meta(self, text: str) -> None:
        self.emit("user", {"role": "user", "content": [{"type": "text", "text": text}]}, isMeta=True)

    def hook(self, event: str, text: str) -> None:
        """Context that a hook adds."""
        attachment = {"type": "hook_additional_context", "content": [text], "hookName": event, "hookEvent": event}
        self.line("attachment", attachment=attachment)

    def queued(self, text: str) -> None:
        """Words that the user types while the agent works."""
        operation = {"type": "queue-operation", "operation": "enqueue", "timestamp": self.ids.now()}
        self.bare({**operation, "sessionId": self.session, "content": text})

    def compacted(self, summary: str) -> None:
        """The client makes room in the context."""
        self.line("system", subtype="compact_boundary", content="Conversation compacted", level="info")
        start = "This session is being continued from a previous conversation that ran out of context. "
        self.user(start + summary, isVisibleInTranscriptOnly=True, isCompactSummary=True)

    def api_error(self, text: str) -> None:
        """The model does not answer any more."""
        message = {"id": self.ids.uuid(), "model": "<synthetic>", "role": "assistant", "type": "message"}
        self.emit("assistant", {**message, "content": [{"type": "text", "text": text}]}, isApiErrorMessage=True)

    def task(self, agent: SubAgent, text: str, answer: str) -> None:
        """Start a sub-agent, whose own lines stand between the request and this result."""
        call_id = self.ids.short("toolu_")
        input_ = {"description": agent.what, "prompt": agent.prompt, "subagent_type": "Explore"}
        id_ = self.ids.short("msg_")
        self._assistant(id_, {"type": "text", "text": text})
        self._assistant(id_, {"type": "tool_use", "id": call_id, "name": agent.tool, "input": input_})
        agent.play(call_id)
        content = [{"type": "text", "text": answer}]
        result = {"status": "completed", "prompt": agent.prompt, "agentId": agent.id, "content": content}
        block = {"tool_use_id": call_id, "type": "tool_result", "content": content}
        self.emit("user", {"role": "user", "content": [block]}, toolUseResult=result)


class SubAgent(Talk):
    """A sub-agent: older clients write it as progress lines of the main file, newer ones to a file of its own."""

    def __init__(self, main: Claude, what: str, prompt: str, *, own_file: bool) -> None:
        self.main, self.what, self.prompt, self.own_file = main, what, prompt, own_file
        self.ids = main.ids
        self.id = main.ids.short("a")[:17]
        self.tool = "Agent" if own_file else "Task"
        self._told: list[tuple[str, tuple[Call, ...]]] = []
        self._parent = ""
        self._last: str | None = None

    def _message(self, text: str, calls: tuple[Call, ...]) -> None:
        self._told.append((text, calls))  # it speaks when it is started

    def play(self, call_id: str) -> None:
        """Write down what it was asked, says and does."""
        self._parent = call_id
        self.emit("user", {"role": "user", "content": self.prompt})
        for text, calls in self._told:
            super()._message(text, calls)

    def emit(self, type_: str, message: Json, **fields: Any) -> None:
        """A message of the sub-agent, where its client keeps it."""
        inner = {"type": type_, "message": message, **fields, "uuid": self.ids.uuid(), "timestamp": self.ids.now()}
        if self.own_file:
            about = {"isSidechain": True, "agentId": self.id, "sessionId": self.main.session, "cwd": FOLDER}
            line = {"parentUuid": self._last, **about, "version": self.main.version, **inner}
            self.main.files.setdefault(f"agent-{self.id}.jsonl", []).append(_compact(line))
            self._last = inner["uuid"]
            return
        data = {"type": "agent_progress", "agentId": self.id, "message": inner, "normalizedMessages": []}
        self.main.line("progress", data=data, parentToolUseID=self._parent)


@dataclass(frozen=True, slots=True)
class Shell:
    """A command of Codex with its output and status."""

    command: str
    output: str = ""
    code: int = 0


@dataclass(frozen=True, slots=True)
class Patch:
    """An edit of Codex: one file, lines taken out and put in."""

    path: str
    old: str
    new: str


@dataclass
class Codex:
    """A session of Codex: a rollout."""

    name: str
    start: str
    branch: str = "main"

    def __post_init__(self) -> None:
        self.ids = Ids(self.name, datetime.fromisoformat(self.start))
        self.session = self.ids.uuid()
        self.lines: list[str] = []
        self.files = {f"rollout-{self.start.replace(':', '-')}-{self.session}.jsonl": self.lines}
        about = {"id": self.session, "timestamp": f"{self.start}.000Z", "cwd": FOLDER, "originator": "codex-tui"}
        self._line("session_meta", {**about, "cli_version": "0.140.0", "source": "cli", "git": {"branch": self.branch}})
        instructions = (PROJECT / "AGENTS.md").read_text("utf-8")
        told = f"# AGENTS.md instructions for {FOLDER}\n\n<INSTRUCTIONS>\n{instructions}</INSTRUCTIONS>"
        here = f"<environment_context>\n  <cwd>{FOLDER}</cwd>\n  <shell>bash</shell>\n</environment_context>"
        self._text("user", told, here)

    def user(self, text: str) -> None:
        """The user's words: a turn begins."""
        turn = {"turn_id": self.ids.uuid(), "cwd": FOLDER, "approval_policy": "never", "model": "gpt-5.4"}
        self._line("turn_context", turn)
        self._text("user", text)
        self._line("event_msg", {"type": "user_message", "message": text})

    def says(self, text: str, *calls: Shell | Patch) -> None:
        """A text, and the calls of the same response."""
        self._text("assistant", text)
        self.does(*calls)

    def does(self, *calls: Shell | Patch) -> None:
        """Calls of one response."""
        asked = [(self.ids.short("call_"), call) for call in calls]
        for call_id, call in asked:
            self._line("response_item", _request(call_id, call))
        for call_id, call in asked:
            kind = "custom_tool_call_output" if isinstance(call, Patch) else "function_call_output"
            self._line("response_item", {"type": kind, "call_id": call_id, "output": _output(call)})
        if calls:
            self._line("event_msg", {"type": "token_count", "info": None})

    def done(self, text: str) -> None:
        """The answer that ends the turn."""
        self._text("assistant", text)
        self._line("event_msg", {"type": "task_complete", "last_agent_message": text})

    def _text(self, role: str, *texts: str) -> None:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": text} for text in texts]
        self._line("response_item", {"type": "message", "role": role, "content": content})

    def _line(self, type_: str, payload: Json) -> None:
        self.ids.count += 1
        self.lines.append(_compact({"timestamp": self.ids.now(), "type": type_, "payload": payload}))


def _request(call_id: str, call: Shell | Patch) -> Json:
    if isinstance(call, Shell):
        arguments = json.dumps({"cmd": call.command, "workdir": FOLDER, "yield_time_ms": 1000})
        return {"type": "function_call", "name": "exec_command", "arguments": arguments, "call_id": call_id}
    changes = [f"-{line}" for line in call.old.splitlines()] + [f"+{line}" for line in call.new.splitlines()]
    patch = ["*** Begin Patch", f"*** Update File: {call.path}", "@@", *changes, "*** End Patch"]
    about = {"type": "custom_tool_call", "status": "completed", "call_id": call_id, "name": "apply_patch"}
    return {**about, "input": "\n".join(patch)}


def _output(call: Shell | Patch) -> str:
    if isinstance(call, Patch):
        return f"Exit code: 0\nWall time: 0.1 seconds\nOutput:\nSuccess. Updated the following files:\nM {call.path}\n"
    head = f"Wall time: 0.0412 seconds\nProcess exited with code {call.code}\n"
    return f"{head}Original token count: {len(call.output) // 4}\nOutput:\n{call.output}"


def _compact(line: Json) -> str:
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))
