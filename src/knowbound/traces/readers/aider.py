"""Aider's chat history (`.aider.chat.history.md`): Markdown with a heading for each session.

- `# aider chat started at …` begins a session, `#### …` is a line of the user's words, `> …` a line of Aider, and all
  other text is the agent's answer.
- Aider has no tools. Its lines show what it did for the agent: `Applied edit to FILE`, `Running COMMAND`, and the
  tokens of an answer. The output of a command is not in the history.
- A line that begins with `/` is a command to Aider itself, except `/ask`, `/code` and `/architect` with words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from knowbound.core.trace import AgentText, Event, Injection, Outcome, Prompt, Start, Step, ToolCall, ToolKind
from knowbound.text.clock import comparable_time
from knowbound.traces.calls.finish import PATCH_FAILED, finish_call
from knowbound.traces.calls.outcome import SUCCESS
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally, read_lines

_START = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*$")
_EDITED = re.compile(r"Applied edit to (\S.*)")
_NOT_EDITED = re.compile(r"(?:The LLM did not conform to the edit format|# \d+ SEARCH/REPLACE blocks? failed to match)")
_RUN = re.compile(r"Running (\S.*)")
_TOKENS = re.compile(r"Tokens: ([\d.,]+)(k?)[^,]* sent,(?: [^,]*cache[^,]*,)* ([\d.,]+)(k?) received")
_ASKS = re.compile(r"/(?:ask|code|architect)\s+(?=\S)")
_NOT_IN_HISTORY = (Outcome.UNKNOWN, "its output is not in the history")


class Aider:
    """The reader of Aider's chat history."""

    name = "aider"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise the heading of a session at the start of the file."""
        first = head.lstrip()[:60].split(b"\n")[0].decode("utf-8", "replace")
        return Identity("") if _START.match(first) else None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of each session in the files, a Start before each."""
        for path in files:
            yield from _History(path).events(tally)


class _History:
    """State of a history that is being read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.prompt: list[str] = []
        self.said: list[str] = []
        self.calls: list[ToolCall] = []
        self.tokens: int | None = None
        self.first_line = 0  # of what is collected; 0: nothing yet

    def events(self, tally: Tally) -> Iterator[Event]:
        """Yield the events: `####` begins words of the user, `>` what Aider reports, other lines are the model's."""
        for number, raw in read_lines(self.path, tally):
            text = raw.decode("utf-8", "replace").rstrip()
            if start := _START.match(text):
                yield from self._flush()
                session = f"{self.path.parent.name}:{start[1]}"
                yield Start(
                    session, Aider.name, str(self.path.parent), time=comparable_time(start[1].replace(" ", "T"))
                )
            elif text.startswith("####"):
                if not self.prompt:
                    yield from self._flush()
                    self.first_line = number
                self.prompt.append(text[4:].strip())
            elif text.startswith(">"):
                yield from self._prompt()
                self._aider_line(text[1:].strip(), number)
            elif text:
                yield from self._prompt()
                self.first_line = self.first_line or number
                self.said.append(text)
        yield from self._flush()

    def _prompt(self) -> Iterator[Event]:
        """Yield the collected words; a command to Aider is none."""
        words, self.prompt = "\n".join(self.prompt).strip(), []
        if not words:
            return
        words = _ASKS.sub("", words, count=1)
        if words.startswith(("/", "!")):
            yield Injection("client", words, line=self.first_line)
        else:
            yield Prompt(f"L{self.first_line}", words, "", str(self.path), self.first_line)
        self.first_line = 0

    def _aider_line(self, text: str, number: int) -> None:
        """Take what Aider reports: an edit, a command that it ran, or the tokens of a message."""
        if edited := _EDITED.match(text):
            given = {"path": edited[1]}
            self.calls.append(finish_call(f"L{number}", "edit", given, "", outcome=SUCCESS, line=number))
        elif _NOT_EDITED.match(text):
            self.calls.append(finish_call(f"L{number}", "edit", {}, text, outcome=PATCH_FAILED, line=number))
        elif run := _RUN.match(text):
            command = {"command": run[1]}
            kind = ToolKind.SHELL
            self.calls.append(
                finish_call(f"L{number}", "run", command, None, outcome=_NOT_IN_HISTORY, kind=kind, line=number)
            )
        elif tokens := _TOKENS.match(text):
            self.tokens = (self.tokens or 0) + _token_count(tokens[1], tokens[2]) + _token_count(tokens[3], tokens[4])
        self.first_line = self.first_line or number

    def _flush(self) -> Iterator[Event]:
        """Yield what was collected since the last prompt."""
        yield from self._prompt()
        text = "\n".join(self.said).strip()
        if text or self.calls:
            id_, line = f"L{self.first_line}", self.first_line
            said = (AgentText(id_, text, line),) if text else ()
            yield Step(id_, said, tuple(self.calls), path=str(self.path), line=line, tokens=self.tokens)
        self.said, self.calls, self.tokens, self.first_line = [], [], None, 0


def _token_count(digits: str, thousands: str) -> int:
    """Return the count in `1,234` or `1.2k`; 0 if it is none."""
    try:
        return int(float(digits.replace(",", "")) * (1000 if thousands else 1))
    except ValueError:
        return 0
