"""A model as an agent: it answers a sample with read-only Grep, Glob and Read over the knowledge folder."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from knowbound.errors import ConfigError
from knowbound.evals.executor import Execution, RunEnding, Task
from knowbound.evals.executors.file_tools import FileTools, ModelTool
from knowbound.evals.executors.output import write_chat
from knowbound.judge.models.api import connected, need_extra, requested, tokens_of_response, usd_of_response
from knowbound.judge.models.completion import CompletionError, known_sum
from knowbound.judge.names import JudgeName, parse_name
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
        except TimeoutError:
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
            message["tool_calls"] = [
                {
                    "id": call.tool_call_id,
                    "type": "function",
                    "function": {"name": call.tool_name, "arguments": _arguments_text(call.args)},
                }
                for call in response.tool_calls
            ]
        is_first = not any(earlier["role"] == "assistant" for earlier in self.messages)
        self.messages.append(message)
        self.model = response.model_name or self.model
        usd = usd_of_response(response)
        self.usd, self._spent = known_sum(self.usd, usd), self._spent + (usd or 0.0)
        before_in, before_out = (0, 0) if is_first else self.tokens
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


def _arguments_text(args: str | dict[str, object] | None) -> str:
    return args or "{}" if isinstance(args, str | None) else json.dumps(args)
