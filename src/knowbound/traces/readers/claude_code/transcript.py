"""Claude Code transcripts (`~/.claude/projects/*/SESSION.jsonl`), clients 2.0 to 2.1.

- An API message is spread over several lines with one `message.id`: these lines are one step.
- A tool result is in a user line as text for the model and, beside it, as `toolUseResult`.
- Sub-agents write `progress` lines (`agent_progress`), or side-chain lines, or files of their own: each is joined to
  the turn that started it, and each call counts once.
- Only the user's own words start a turn: meta texts, command echoes, task notifications, interrupts and compaction
  summaries do not. Words queued while the agent works (queue operations, queued commands) steer the running turn.
- Text that a hook injects when a session starts, is resumed or is compacted belongs to the turn that reads it first:
  the turn of the next prompt, or the running turn if the agent goes on. JSON output of a hook is written twice, as
  `hook_success` and as `hook_additional_context`, and counts once.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any

from msgspec import Raw

from knowbound.core.trace import AgentText, Broken, Event, Injection, Outcome, Prompt, Skill, Start, ToolCall
from knowbound.text.redact import cut
from knowbound.traces.dialogue import MAX_REASON, KnownIds, OpenStep, PendingCall, injected, split_by_item, text_in
from knowbound.traces.readers.claude_code.lines import (
    ApiMessage,
    ContentBlock,
    TranscriptLine,
    call_with_result,
    decode_line,
    decode_lines,
    decode_progress,
    joined_text_blocks,
)
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally, read_lines
from knowbound.traces.values import UNDECODABLE, dicts, object_of

_LINE_TYPES = frozenset(
    "user assistant progress system attachment summary file-history-snapshot queue-operation pr-link last-prompt mode "
    "permission-mode ai-title custom-title agent-name".split()
)
_HEAD_LINES = 400  # lines of a head that are looked at: many may come before the first message
# The output of one hook is in both kinds of attachment.
_OTHER_FORM = {"hook_success": "hook_additional_context", "hook_additional_context": "hook_success"}
_MOST_OPEN = 64  # steps that may wait for a missing result


class ClaudeCode:
    """The reader of Claude Code transcripts."""

    name = "claude-code"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise the line types together with `sessionId`, `leafUuid` or `isSnapshotUpdate`."""
        time = ""
        has_session_key = False
        for raw in islice(BytesIO(head), _HEAD_LINES):
            if not raw.strip().startswith(b"{"):
                if raw.strip():
                    return None
                continue
            try:
                line = decode_lines(raw)[0]
            except ValueError:
                continue
            if b'"systemPayload"' in raw or (b'"parts"' in raw and line.message and line.message.content is None):
                return None  # Qwen Code's
            if line.type not in _LINE_TYPES:
                if not line.session_id or b'"sessionId"' not in raw:
                    return None
                continue
            has_session_key = (
                has_session_key or b'"sessionId"' in raw or b'"leafUuid"' in raw or b'"isSnapshotUpdate"' in raw
            )
            time = time or line.timestamp or ""
            if line.session_id and line.type in ("user", "assistant", "attachment", "system", "progress"):
                agent = (line.agent_id or "") if line.is_sidechain else ""
                return Identity(line.session_id, agent, time, "" if agent else line.uuid or "")  # copied by forks
        if not has_session_key:
            return None
        match = re.search(rb'"sessionId":\s*"([^"]+)"', head)  # in any line of a head without a message
        return Identity(match.group(1).decode("utf-8", "replace") if match else "", time=time)

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session."""
        return Session(tally, dict(sidechains), self.name).events(files)


class _AgentSteps:
    """Open steps of the main agent or of a sub-agent, in order."""

    __slots__ = ("agent_id", "open_steps", "step_of_call")

    def __init__(self, agent_id: str) -> None:
        self.agent_id = agent_id
        self.open_steps: deque[OpenStep] = deque()
        self.step_of_call: dict[str, OpenStep] = {}

    def flush(self, out: list[Event], *, all_of_them: bool = False) -> None:
        """Hand on the steps that have their results, in order; the last one may still grow, unless all are to end."""
        open_steps = self.open_steps
        while open_steps:
            first = open_steps[0]
            is_last = len(open_steps) == 1
            if not all_of_them and (is_last or (len(open_steps) <= _MOST_OPEN and not first.is_answered)):
                return
            open_steps.popleft()
            for id_ in first.calls:
                self.step_of_call.pop(id_, None)
            step = first.step()
            out.append(step)
            out.extend(
                Skill(call.query, "call", call.line)
                for call in step.calls
                if call.name == "Skill" and call.outcome is Outcome.OK and call.query
            )


class Session:
    """State of a session that is being read, from a transcript or from a stream.

    Lines put their events into `out`, which is handed on after each line: most lines have none.
    """

    def __init__(self, tally: Tally, sidechains: dict[str, Path], agent: str) -> None:
        self.tally = tally
        self.sidechains = sidechains
        self.agent = agent
        self.chains: dict[str, _AgentSteps] = {"": _AgentSteps("")}
        self.first_line_of: dict[str, str] = {}  # side-chain lines in a main file: uuid → first uuid of the chain
        self.known_ids = KnownIds(tally)  # of messages and calls
        self.session = ""
        self.path = self.folder = ""
        self.out: list[Event] = []
        self.results_without_call: dict[str, tuple[ContentBlock, Raw]] = {}  # by the id of the call that is to come
        self.agents_to_read: list[str] = []  # sub-agents whose own files are read next
        self.context_for_prompt: list[Injection] = []  # or for the agent if it goes on without one
        self.recent_hook_texts: list[tuple[str, str, str]] = []  # since the last message: kind, source, text
        self.client_turn = ""  # the id that the client gives a prompt and its context

    def events(self, files: Sequence[Path]) -> Iterator[Event]:
        """Yield the events of the files, in order."""
        for file in files:
            yield from self._file(file, "")
        self.flush()
        yield from self.hand_on()
        for agent_id in list(self.sidechains):  # no call of the session started them
            yield from self._sidechain(agent_id)

    def hand_on(self) -> list[Event]:
        """Return the events since the last call of this method."""
        out, self.out = self.out, []
        return out

    def _file(self, file: Path, side_agent: str) -> Iterator[Event]:
        """Yield the events of a file, with those of each sub-agent's file after the line that names it."""
        outer_path, self.path = self.path, str(file)
        for number, raw in read_lines(file, self.tally):
            try:
                line = decode_line(raw)
            except UNDECODABLE:
                self._irregular_line(raw, number, side_agent)
            else:
                self.line(line, raw, number, side_agent)
            if self.out:
                yield from self.hand_on()
            while self.agents_to_read:
                yield from self._sidechain(self.agents_to_read.pop())
        self.path = outer_path

    def _sidechain(self, agent_id: str) -> Iterator[Event]:
        """Read a sub-agent's own file in place: its calls belong to the turn that started it."""
        file = self.sidechains.pop(agent_id, None)
        if file is None:
            return
        yield from self._file(file, agent_id)
        self._chain(agent_id).flush(self.out, all_of_them=True)
        yield from self.hand_on()

    def _irregular_line(self, raw: bytes, number: int, side_agent: str) -> None:
        """Take a line with fields of other types, several lines written as one, or no line at all."""
        try:
            lines = decode_lines(raw)
        except ValueError as reason:
            self.tally.skip(self.path, number, str(reason))
            return
        for line in lines:
            self.line(line, raw, number, side_agent)

    def line(self, line: TranscriptLine, raw: bytes, number: int, side_agent: str) -> None:
        """Take a line of the agent `side_agent`, or of the main agent."""
        kind = line.type
        if kind == "progress":
            if b'"agent_progress"' in raw:
                self._progress(line, number)
            return
        if kind not in ("assistant", "user", "attachment"):
            if not kind or (kind not in _LINE_TYPES and not line.session_id):
                self.tally.skip(self.path, number, "foreign")
            return
        if line.uuid and not self.known_ids.is_new(line.uuid):
            return
        if line.session_id and line.session_id != self.session:
            of_sub_agent = side_agent or line.is_sidechain  # its lines may name another session
            if not (self.session and of_sub_agent):
                self._start(line, line.session_id)
        if kind == "attachment":
            self.attachment(object_of(line.attachment), number)
            return
        if line.message is None:
            return
        chain = self._chain(side_agent or (self._side_agent(line) if line.is_sidechain else ""))
        if kind == "assistant":
            self._assistant(chain, line.message, line, number)
        else:
            self._user(chain, line.message, line, number)

    def _start(self, line: TranscriptLine, session: str) -> None:
        """Begin a session: the first one of the files, or the fork that goes on after the messages that it copied."""
        self.flush()
        self.session, self.folder = session, line.cwd or ""
        version, time, branch = line.version or "", line.timestamp or "", line.git_branch or ""
        self.out.append(Start(session, self.agent, self.folder, version=version, time=time, branch=branch))

    def attachment(self, attachment: dict[str, Any], number: int, *, is_for_next_prompt: bool = False) -> None:
        """Take the context of an attachment. A hook's text that was already written in the other form counts once."""
        kind = str(attachment.get("type"))
        for injection in injections_of_attachment(attachment, number):
            if kind in _OTHER_FORM:
                same_in_other_form = (_OTHER_FORM[kind], injection.source, injection.content)
                if same_in_other_form in self.recent_hook_texts:
                    self.recent_hook_texts.remove(same_in_other_form)
                    continue
                self.recent_hook_texts.append((kind, injection.source, injection.content))
            waits = is_for_next_prompt or injection.source == "hook:SessionStart"  # a session starts without a prompt
            (self.context_for_prompt if waits else self.out).extend(split_by_item(injection))

    def prompt(self, prompt: Prompt) -> None:
        """Begin a turn with its prompt and the context that was held for it."""
        self.client_turn = prompt.client_turn
        self.out.append(prompt)
        self._hand_out_context()

    def _hand_out_context(self) -> None:
        self.out.extend(self.context_for_prompt)
        self.context_for_prompt.clear()

    def _chain(self, agent_id: str) -> _AgentSteps:
        """Return the open steps of an agent, "" for the main agent; they are begun if there are none."""
        chain = self.chains.get(agent_id)
        if chain is None:
            chain = self.chains[agent_id] = _AgentSteps(agent_id)
        return chain

    def _side_agent(self, line: TranscriptLine) -> str:
        """Return the sub-agent of a side-chain line: its id, or the first line of its thread."""
        if line.agent_id:
            return line.agent_id
        root = self.first_line_of.get(line.parent_uuid or "") or line.uuid or "sidechain"
        if line.uuid:
            self.first_line_of[line.uuid] = root
        return root

    def _progress(self, line: TranscriptLine, number: int) -> None:
        """Take the message of a sub-agent that a progress line wraps."""
        try:
            progress = decode_progress(line.data)
        except UNDECODABLE:
            return
        inner = progress.message
        if inner is None or inner.message is None:
            return
        if inner.uuid and not self.known_ids.is_new(inner.uuid):
            return
        chain = self._chain(progress.agent_id or "sub-agent")
        if inner.type == "assistant":
            self._assistant(chain, inner.message, inner, number)
        elif inner.type == "user":
            self._results(chain, inner.message, inner)  # other text is the main agent's task for it

    def _assistant(self, chain: _AgentSteps, message: ApiMessage, line: TranscriptLine, number: int) -> None:
        """Add a line of the agent to the open step of its message, or begin the step.

        Calls of a resumed transcript that are known are left out; results that came before their call are joined to it.
        """
        content = message.content
        if line.is_api_error_message:
            chain.flush(self.out, all_of_them=True)
            self.out.append(Broken(cut(joined_text_blocks(content), MAX_REASON), number))
            return
        if message.model == "<synthetic>" or content is None:  # the client wrote it
            return
        if self.context_for_prompt and not chain.agent_id:  # a sub-agent goes on without the user's next prompt
            self._hand_out_context()
        self.recent_hook_texts.clear()
        id_ = message.id or line.uuid or ""
        step = chain.open_steps[-1] if chain.open_steps else None
        if step is None or step.id != id_:
            step = OpenStep(id_, line.timestamp or "", self.path, number, chain.agent_id, model=message.model or "")
            chain.open_steps.append(step)
            chain.flush(self.out)  # the steps before it: the last one stays open for further lines
        if message.usage is not None:
            step.tokens = message.usage.new_tokens  # every line of a message has it; the last one is final
        blocks = [ContentBlock(type="text", text=content)] if isinstance(content, str) else content
        for block in blocks:
            if block.type == "text" and block.text:
                step.said.append(AgentText(line.uuid or "", block.text, number))
            elif block.type == "tool_use" and block.id:
                if not self.known_ids.is_new(block.id):
                    continue
                step.calls[block.id] = PendingCall(block.name, object_of(block.input), number)
                chain.step_of_call[block.id] = step
                if block.id in self.results_without_call:
                    self._answer(chain, *self.results_without_call.pop(block.id))

    def _user(self, chain: _AgentSteps, message: ApiMessage, line: TranscriptLine, number: int) -> None:
        """Take a line in the user's role: results of calls, context that the client adds, or a prompt."""
        if self._results(chain, message, line):
            return
        if chain.agent_id or line.is_compact_summary or line.is_visible_in_transcript_only:  # no words of the user
            return
        self.recent_hook_texts.clear()
        text = joined_text_blocks(message.content)
        if not text:
            blocks = message.content if isinstance(message.content, list) else ()
            if line.is_meta is None and any(block.type == "image" for block in blocks):
                self._begin_turn(line, "[image]", number)
            return
        is_for_next_prompt = line.is_meta and line.prompt_id and line.prompt_id != self.client_turn
        destination = self.context_for_prompt if is_for_next_prompt else self.out
        for injection in injections_of_text(text, bool(line.is_meta), number):
            destination.extend(split_by_item(injection))
        if line.is_meta:  # the client wrote it: all of it was injected
            return
        command = skill_command(text)
        words = command[1] if command else own_words(text)
        if words:
            self._begin_turn(line, words, number, skill=command[0] if command else "")

    def _begin_turn(self, line: TranscriptLine, words: str, number: int, *, skill: str = "") -> None:
        """End the open steps, and begin a turn with these words, which may invoke a skill."""
        self.flush()
        if skill:
            self.out.append(Skill(skill, "command", number))
        time, turn = line.timestamp or "", line.prompt_id or ""
        self.prompt(Prompt(line.uuid or "", words, time, self.path, number, client_turn=turn, author=line.author))

    def _results(self, chain: _AgentSteps, message: ApiMessage, line: TranscriptLine) -> bool:
        """Join the results of a message to their calls; report whether the message has nothing else."""
        content = message.content
        if not isinstance(content, list):
            return False
        blocks = [block for block in content if block.type == "tool_result"]
        # The structured result belongs to the line: among several results its owner is unknown.
        result = line.tool_use_result if len(blocks) == 1 else Raw()
        for block in blocks:
            if block.tool_use_id in chain.step_of_call:
                self._answer(chain, block, result)
            elif len(self.results_without_call) < _MOST_OPEN:  # some clients write a result before the call
                self.results_without_call[block.tool_use_id] = (block, result)
        return len(blocks) == len(content)

    def _answer(self, chain: _AgentSteps, block: ContentBlock, result: Raw) -> None:
        """Put a result into the step of its call; a sub-agent that the call started is read next."""
        step = chain.step_of_call[block.tool_use_id]
        request = step.calls[block.tool_use_id]
        if isinstance(request, ToolCall):  # it has its result
            return
        call = call_with_result(block.tool_use_id, request, block, result, self.folder)
        step.answer(call)
        if call.agent_id in self.sidechains:
            self.agents_to_read.append(call.agent_id)

    def flush(self) -> None:
        """End every open step: the user speaks, or the file ends."""
        for agent_id, chain in list(self.chains.items()):
            chain.flush(self.out, all_of_them=True)
            if agent_id:
                del self.chains[agent_id]


# ---- text around the user's own words: injected context, commands, reminders

# Elements that clients put around or beside the user's words.
_ELEMENT = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|local-command-stdout|local-command-stderr"
    r"|local-command-caveat|bash-input|bash-stdout|bash-stderr|task-notification|user-prompt-submit-hook"
    r"|command-name|command-message|command-args|session-start-hook|task-reminder|user-memory-input"
    r"|teammate-message|new-diagnostics)\b[^<>]*>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
# Beginnings of texts that the client wrote as a whole.
_NOT_WORDS = (
    "[Request interrupted",
    "Caveat: The messages below",
    "This session is being continued from a previous",
    "<task-notification>",
    "<local-command-",
    "<bash-",
)
_COMMAND = re.compile(
    r"^\s*<command-message>(?>.*?</command-message>)\s*<command-name>/?(?>(.*?)</command-name>)"
    r"(?:\s*<command-args>(?>(.*?)</command-args>))?",
    re.DOTALL,
)
_BASE_DIRECTORY = re.compile(r"\ABase directory for this skill: (\S.*)")
_CONTENTS = re.compile(
    r"Contents of (/(?:(?!Contents of /)[^\n(])+?\.(?:md|mdc|txt))(?: \([^()]*\))?:\n\n"
    r"(.*?)(?=\nContents of /|</system-reminder>|\Z)",
    re.DOTALL,
)
_REMINDER = re.compile(r"<(user-prompt-submit-hook|session-start-hook)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_HOOK_TEXT_EVENTS = ("SessionStart", "UserPromptSubmit")  # the plain output of these hooks reaches the model


def own_words(text: str) -> str:
    """Return the user's own words in a user line; "" if the client wrote all of it."""
    text = text.strip()
    if text.startswith(_NOT_WORDS):
        return ""
    words = _ELEMENT.sub("", text).strip() if "<" in text else text
    return "" if words.startswith(_NOT_WORDS) else words


def skill_command(text: str) -> tuple[str, str] | None:
    """Return the skill and the words of a slash command that starts the agent; None for other text.

    A command that the client handles itself (`/clear`, `/model`) puts its name first and starts nothing.
    """
    match = _COMMAND.match(text)
    if match is None:
        return None
    name, words = match.group(1).strip(), (match.group(2) or "").strip()
    return (name, f"/{name} {words}".strip()) if name else None


def injections_of_text(text: str, is_meta: bool, line: int) -> Iterator[Injection]:
    """Yield the context in a user line: texts of skills and commands, instruction files in reminders, hook output."""
    if is_meta:
        skill = _BASE_DIRECTORY.match(text)
        if skill:
            folder = skill.group(1).strip()
            yield injected("skill", text, line, f"{folder}/SKILL.md")
        elif not text.lstrip().startswith(("<local-command", "Caveat:", "[Image")):
            yield injected("meta", text, line)
    if "Contents of /" in text:
        for match in _CONTENTS.finditer(text):
            yield injected("instructions", match.group(2), line, match.group(1).strip())
    if "-hook>" in text:
        for match in _REMINDER.finditer(text):
            yield injected(f"hook:{match.group(1)}", match.group(2).strip(), line)


def injections_of_attachment(attachment: dict[str, Any], line: int) -> Iterator[Injection]:
    """Yield the context of an `attachment` line: hook output, memory files, mentioned files, skills."""
    kind = attachment.get("type")
    hook = f"hook:{attachment.get('hookEvent') or attachment.get('hookName') or ''}"
    if kind == "hook_additional_context":
        content = attachment.get("content")
        parts = content if isinstance(content, list) else [content]
        for part in parts:
            if isinstance(part, str) and part.strip():
                yield injected(hook, part, line)
    elif kind == "hook_success":
        text = _hook_output(attachment)
        if text:
            yield injected(hook, text, line)
    elif kind == "invoked_skills":
        for skill in dicts(attachment.get("skills")):
            yield injected("skill", text_in(skill, "content"), line, text_in(skill, "path"))
    elif kind in ("nested_memory", "file", "edited_text_file", "selected_lines_in_ide", "memory", "relevant_memories"):
        for part in dicts(attachment.get("memories")) or [attachment]:
            path, value = text_in(part, "filename", "path", "displayPath"), part.get("content") or part.get("snippet")
            if isinstance(value, dict):
                value = value.get("content") or (value.get("file") or {}).get("content")
            yield injected(str(kind), value if isinstance(value, str) else "", line, path)


def _hook_output(attachment: dict[str, Any]) -> str:
    """Return the text that a successful hook injected: `additionalContext`, or the plain output of some hooks."""
    stdout = text_in(attachment, "stdout").strip() or text_in(attachment, "content").strip()
    if not stdout.startswith("{"):
        return stdout if attachment.get("hookEvent") in _HOOK_TEXT_EVENTS else ""
    output = object_of(stdout)
    specific = output.get("hookSpecificOutput")
    inner = text_in(specific, "additionalContext") if isinstance(specific, dict) else ""
    return inner or text_in(output, "additionalContext")
