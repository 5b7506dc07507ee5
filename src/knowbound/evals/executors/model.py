"""A model as an agent: it answers a sample with read-only Grep, Glob and Read, which never leave the knowledge folder.

The wording of the tools' answers lets readers of traces distinguish a search that matched nothing or a missing file
from a mistake (specification 1, source 1).
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from knowbound.errors import ConfigError
from knowbound.evals.executor import Execution, Task
from knowbound.evals.tracing import write_chat
from knowbound.files import open_below, rg
from knowbound.judge.models.api import connected, need_extra, requested, tokens_of_response, usd_of_response
from knowbound.judge.models.completion import CompletionError, known_sum
from knowbound.judge.names import JudgeName, parse_name
from knowbound.stats.evaluation import RunEnding
from knowbound.text.redact import redact

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model


VERSION = 1  # raise it when the instructions or the tools change what a model may answer
STEPS = 25  # requests to the model for one sample
_INSTRUCTIONS = """\
You answer a question from the files of one folder, which is a knowledge base. You have no other source: search it \
with Grep and Glob and read what you find with Read before you answer. Paths are relative to the folder.

Answer briefly and exactly, and name the files your answer rests on. When the knowledge base does not say it, say so \
plainly instead of guessing, and mark what you infer with [inferred] and what it lacks with [knowledge gap].
"""


class ModelExecutor:
    """Lets a model work on the prompt. `name`: as judges are named, for example openai:MODEL or an address."""

    costs = True
    remembers = True
    injects = False
    reads_freely = False

    def __init__(self, model: str, hidden: Sequence[Path | str] = ()) -> None:
        self.name = f"model:{model}"
        self.version = f"model/{VERSION}"
        self._model, self._hidden = model, tuple(hidden)

    def check(self) -> None:
        """The name has to be a model's that is asked over its API, and the client for that has to be installed."""
        try:
            name = parse_name(self._model)
        except ConfigError:
            raise ConfigError(
                "unknown-executor",
                f"There is no model {self._model!r}. Try: model:openai:{self._model}, model:anthropic:NAME, or "
                "model:http://HOST:PORT/v1#NAME",
            ) from None
        if not name.uses_api:
            raise ConfigError(
                "unknown-executor",
                f"{self._model!r} cannot be given tools: name a model that is asked over its API, "
                "for example model:anthropic:NAME or model:http://HOST/v1#NAME. Try: knowbound judge list",
            )
        need_extra(name)

    def run(self, task: Task) -> Execution:
        """Let the model answer, within the task's limits."""
        began = time.monotonic()
        tools = FileTools(task.folder, self._hidden).tools()
        allowed = [tool for tool in tools if not task.tools or tool.name in task.tools]
        talk = Conversation(_INSTRUCTIONS, task.prompt, allowed, STEPS, task.usd)
        talk.hold(parse_name(self._model), task.seconds)
        replies = [message for message in talk.messages if message.get("role") in ("assistant", "tool")]
        tokens_in, tokens_out = talk.tokens
        return Execution(
            ending=talk.ending,
            trace=str(write_chat(task, replies)) if replies else "",
            answer=talk.answer,
            problem=redact(talk.problem),
            seconds=time.monotonic() - began,
            usd=talk.usd,
            tokens_in=tokens_in,
            tokens_out=tokens_out,
            model=talk.model or self._model,
            shows_calls=bool(allowed),  # without a tool it can search for nothing
        )


class Conversation:
    """A conversation with a model that works with tools, within a number of requests, seconds and dollars.

    A failure of the model, its server or a tool does not raise: the model sees the failure of a tool, and `problem`
    says what ended the conversation. `messages` have the shape of OpenAI's chat API, with calls and results.
    """

    def __init__(
        self, instructions: str, prompt: str, tools: Sequence[ModelTool], steps: int = 20, usd: float | None = None
    ) -> None:
        self.messages: list[dict[str, object]] = [{"role": "system", "content": instructions}] if instructions else []
        self.messages.append({"role": "user", "content": prompt})
        self.answer = ""  # the last message; empty if the conversation did not end by itself
        self.problem = ""  # the reason of a conversation without an answer
        self.ending = RunEnding.CRASHED
        self.tokens: tuple[int | None, int | None] = (None, None)  # in and out
        self.usd: float | None = 0.0
        self.model = ""
        self._instructions, self._prompt = instructions, prompt
        self._tools = {tool.name: tool for tool in tools}
        self._steps, self._budget, self._spent = steps, usd, 0.0

    def hold(self, judge: JudgeName, seconds: float) -> None:
        """Ask the model until it answers, or a limit or a failure ends the conversation."""

        async def within_time() -> None:
            async with asyncio.timeout(seconds), connected(judge, seconds) as model:
                await self._talk(model)

        try:
            asyncio.run(within_time())
        except TimeoutError:  # what the request that was cut off cost is unknown
            self.problem, self.ending, self.usd = f"no end within {seconds:g} seconds", RunEnding.TIMEOUT, None
        except CompletionError as error:
            self.problem, self.usd = error.problem, known_sum(self.usd, error.usd)

    async def _talk(self, model: Model) -> None:
        """Ask, run the called tools, and ask again, until an answer or a limit."""
        from pydantic_ai.messages import ModelRequest, ToolReturnPart  # noqa: PLC0415
        from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415
        from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415

        definitions = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters))
            for tool in self._tools.values()
        ]
        parameters = ModelRequestParameters(function_tools=definitions)
        history: list[ModelMessage] = [
            ModelRequest.user_text_prompt(self._prompt, instructions=self._instructions or None)
        ]
        for _ in range(self._steps):
            if self._budget is not None and self._spent >= self._budget:
                self.problem, self.ending = f"the budget of {self._budget:g} USD is spent", RunEnding.BUDGET
                return
            response = await requested(model, history, parameters)
            self._add_response(response)
            if not response.tool_calls:
                self.answer = response.text or ""
                self.problem = "" if self.answer.strip() else "the model answered nothing"
                self.ending = RunEnding.CRASHED if self.problem else RunEnding.DONE
                return
            history.append(response)
            results = []
            for call in response.tool_calls:
                result = await asyncio.to_thread(self._tool_result, call.tool_name, call.args)
                self.messages.append({"role": "tool", "tool_call_id": call.tool_call_id, "content": result})
                results.append(ToolReturnPart(tool_name=call.tool_name, content=result, tool_call_id=call.tool_call_id))
            history.append(ModelRequest(parts=results, instructions=self._instructions or None))
        self.problem = f"no end within {self._steps} steps"

    def _add_response(self, response: ModelResponse) -> None:
        """Add a response to the messages, in the form of OpenAI's chats, and its tokens and cost to the sums."""
        message: dict[str, object] = {"role": "assistant", "content": response.text or ""}
        if response.tool_calls:
            calls = [
                (call, call.args if isinstance(call.args, str | None) else json.dumps(call.args))
                for call in response.tool_calls
            ]
            message["tool_calls"] = [
                {
                    "id": call.tool_call_id,
                    "type": "function",
                    "function": {"name": call.tool_name, "arguments": args or "{}"},
                }
                for call, args in calls
            ]
        is_first = not any(earlier["role"] == "assistant" for earlier in self.messages)
        self.messages.append(message)
        self.model = response.model_name or self.model
        usd = usd_of_response(response)
        self.usd, self._spent = known_sum(self.usd, usd), self._spent + (usd or 0.0)
        before_in, before_out = (0, 0) if is_first else self.tokens  # None: an earlier response did not say
        tokens_in, tokens_out = tokens_of_response(response)
        self.tokens = known_sum(before_in, tokens_in), known_sum(before_out, tokens_out)

    def _tool_result(self, name: str, args: str | dict[str, object] | None) -> str:
        """Return the result of a tool, or the reason of its failure, for the model."""
        tool = self._tools.get(name)
        if tool is None:
            return f"Error: there is no tool {name!r}. Tools: {', '.join(self._tools)}"
        try:
            given = json.loads(args or "{}") if isinstance(args, str | None) else args
            if not isinstance(given, dict):
                raise ValueError("the arguments are no JSON object")
            return tool.run(given)
        except ValueError as error:
            return f"Error: {error}"
        except Exception as error:  # a missing argument or file: the model may do better
            return f"Error: {type(error).__name__}: {error}"


# ---- the tools


_ALWAYS_HIDDEN = (".git", ".knowbound")
_SEARCH_SECONDS = 20.0
_MOST_MATCHES = 100
_MOST_FILES = 200
_MATCH_CHARACTERS = 300
_MOST_LINES = 2000
_LINE_CHARACTERS = 2000  # of a line that Read shows
_MOST_ANSWER_BYTES = 60_000
_MOST_FILE_BYTES = 20_000_000
_PATTERN_CHARACTERS = 2000
_NO_MATCHES = "No matches found"

_TEXT = {"type": "string"}


def _parameters(**properties: object) -> dict[str, object]:
    """Return the JSON schema of a tool's arguments; the first is required."""
    return {"type": "object", "properties": properties, "required": [next(iter(properties))]}


_GREP = _parameters(
    pattern={**_TEXT, "description": "A regular expression."},
    path={**_TEXT, "description": "A file or folder to search in; the whole folder by default."},
    glob={**_TEXT, "description": "Only files that match, for example *.md."},
    ignore_case={"type": "boolean"},
)
_GLOB = _parameters(pattern={**_TEXT, "description": "For example **/*.md."}, path=_TEXT)
_READ = _parameters(
    file_path=_TEXT,
    offset={"type": "integer", "description": "The first line to show, from 1."},
    limit={"type": "integer", "description": "How many lines to show."},
)


class ModelTool(msgspec.Struct, frozen=True):
    """A tool that a model may call. `run` returns its result, or raises a ValueError with the message for the model."""

    name: str
    description: str
    parameters: Mapping[str, object]  # JSON schema of an object
    run: Callable[[Mapping[str, object]], str]


class FileTools:
    """The tools of one folder. `hidden`: files and folders that are not there for the model, wherever they lie."""

    def __init__(self, folder: Path, hidden: Sequence[Path | str] = ()) -> None:
        self._root = Path(os.path.realpath(folder))
        # Another version of the knowledge base has its own copy of the test set: a file's name hides it, too.
        self._hidden_names = {*_ALWAYS_HIDDEN, *(Path(path).name for path in hidden if not os.path.isdir(path))}
        self._hidden_paths = {os.path.realpath(self._root / path) for path in hidden}

    def tools(self) -> list[ModelTool]:
        """Return Grep, Glob and Read."""
        return [
            ModelTool("Grep", "Search the text of the files for a regular expression.", _GREP, self.grep),
            ModelTool("Glob", "Find files by their names.", _GLOB, self.glob),
            ModelTool("Read", "Read a file, with line numbers.", _READ, self.read),
        ]

    def grep(self, given: Mapping[str, object]) -> str:
        """The lines that match, with file and number."""
        options = ["--line-number", "--no-heading", "--with-filename", "--color", "never", "--null"]
        options += ["--max-columns", str(_MATCH_CHARACTERS), "--max-columns-preview", "--max-count", str(_MOST_MATCHES)]
        options += ["--ignore-case"] if given.get("ignore_case") is True else []
        out = self._ripgrep(given, [*options, *self._globs(_text(given, "glob")), "-e", _text(given, "pattern")])
        if isinstance(out, str):
            return out
        lines = [line.partition("\0") for line in out.decode("utf-8", "replace").split("\n")]
        is_shown = {path: self._is_shown(path) for path in {path for path, separator, _ in lines if separator}}
        matches = [f"{path.removeprefix('./')}:{rest}" for path, _, rest in lines if is_shown.get(path)]
        return _bounded(sorted(matches, key=_path_and_line), _MOST_MATCHES, "matches") if matches else _NO_MATCHES

    def glob(self, given: Mapping[str, object]) -> str:
        """The files whose path matches."""
        out = self._ripgrep(given, ["--files", "--null", *self._globs(_text(given, "pattern"))])
        if isinstance(out, str):
            return out
        names = out.decode("utf-8", "replace").split("\0")
        found = sorted(name.removeprefix("./") for name in names if name and self._is_shown(name))
        return _bounded(found, _MOST_FILES, "files") if found else "No files found"

    def _ripgrep(self, given: Mapping[str, object], arguments: Sequence[str]) -> bytes | str:
        """Return the output of ripgrep as bytes, empty if nothing matched; an error message is a str."""
        pattern, asked = _text(given, "pattern"), _text(given, "path")
        if not pattern or len(pattern) > _PATTERN_CHARACTERS:
            return f"Error: invalid pattern: a pattern of at most {_PATTERN_CHARACTERS} characters is needed."
        where = self._shown_path(asked)
        if where is None or not where.exists():
            return self._refusal(asked)
        relative = where.relative_to(self._root)
        ran = rg(self._root, [*arguments, "--", f"./{relative}" if relative.parts else "."], _SEARCH_SECONDS)
        if ran.out or ran.code == 1:  # 1: nothing matched
            return ran.out
        why = "timed out" if ran.timed_out else " ".join(ran.err.decode("utf-8", "replace").split())
        return f"Error: the search failed: {why[:300]}"

    def read(self, given: Mapping[str, object]) -> str:
        """A file's lines with their numbers."""
        asked = _text(given, "file_path")
        if not asked:
            return "Error: missing required file_path."
        path = self._shown_path(asked)
        if path is None or not path.is_file():
            return f"Error: {asked} is a directory." if path is not None and path.is_dir() else self._refusal(asked)
        try:
            with open_below(self._root, path) as file:
                content = file.read(_MOST_FILE_BYTES + 1)
            if len(content) > _MOST_FILE_BYTES:
                return f"Error: {asked} exceeds maximum allowed size."
        except OSError as error:
            return f"Error: permission denied: {error.strerror}"
        if b"\0" in content[:8000]:  # as git recognises a binary file
            return f"Error: invalid input: {asked} is a binary file."
        if not content:
            return "(the file is empty)"
        lines = content.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n").split("\n")
        first = max(1, _number(given, "offset", 1))
        chosen = lines[first - 1 : first - 1 + max(1, min(_number(given, "limit", _MOST_LINES), _MOST_LINES))]
        if not chosen:
            return f"(the file has {len(lines)} lines)"
        numbered = [f"{number:6}\t{line[:_LINE_CHARACTERS]}" for number, line in enumerate(chosen, first)]
        return _bounded(numbered, _MOST_LINES, "lines")

    def _shown_path(self, asked: str) -> Path | None:
        """The real file that a path means; None where it lies outside, or must not be shown."""
        if "\0" in asked:
            return None
        try:
            real = Path(os.path.realpath(self._root / asked)) if asked else self._root
        except (OSError, ValueError):
            return None
        if real != self._root and self._root not in real.parents:
            return None
        # A link that stays inside is followed; one to what is hidden is not.
        return real if self._is_shown(str(real.relative_to(self._root))) else None

    def _refusal(self, asked: str) -> str:
        """Return the error for a path that is not shown: forbidden outside of the folder, missing if hidden."""
        real = os.path.realpath(self._root / asked.replace("\0", ""))
        if not (real + os.sep).startswith(str(self._root) + os.sep):
            return f"Error: permission denied: {asked} is outside the allowed folder."
        return f"Error: File does not exist: {asked}"

    def _is_shown(self, relative: str) -> bool:
        """Report whether the model may see a relative path: neither its name nor its real place is hidden."""
        parts = Path(relative.removeprefix("./")).parts
        if self._hidden_names.intersection(parts):
            return False
        real = Path(os.path.realpath(self._root / relative))
        return not self._hidden_paths.intersection(map(str, (real, *real.parents)))

    def _globs(self, wanted: str) -> list[str]:
        """Return glob options, the exclusions last: of two globs that match a file, ripgrep follows the later."""
        globs = [wanted] if wanted else []
        globs += ["!" + re.sub(r"[*?\[\]{}\\!]", r"\\\g<0>", name) for name in sorted(self._hidden_names)]
        return [part for glob in globs for part in ("--glob", glob)]


def _bounded(lines: list[str], most: int, plural: str) -> str:
    """Join at most `most` lines, within the size of an answer, and say how many are left out."""
    shown, size = [], 0
    for line in lines[:most]:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > _MOST_ANSWER_BYTES:
            break
        shown.append(line)
    left = len(lines) - len(shown)
    return "\n".join(shown) + (f"\n({left} more {plural} are not shown)" if left else "")


def _path_and_line(match: str) -> tuple[str, int]:
    path, _, rest = match.partition(":")
    number = rest.partition(":")[0]
    return path, int(number) if number.isdecimal() and len(number) < 10 else 0


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    return value.strip() if isinstance(value, str) else ""


def _number(given: Mapping[str, object], name: str, default: int) -> int:
    value = given.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
