"""A conversation with a model that works with tools, within a number of requests, seconds and dollars."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from knowbound.errors import ConfigError
from knowbound.judge.models.api import connected, need_extra, requested, tokens_of_response, usd_of_response
from knowbound.judge.models.completion import CompletionError, known_sum
from knowbound.judge.names import JudgeName, parse_name

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model


class ModelTool(msgspec.Struct, frozen=True):
    """A tool that a model may call. `run` returns its result, or raises a ValueError with the message for the model."""

    name: str
    description: str
    parameters: Mapping[str, object]  # JSON schema of an object
    run: Callable[[Mapping[str, object]], str]


class Limit(StrEnum):
    """A limit that ended a conversation before the model did."""

    SECONDS = "seconds"
    STEPS = "steps"
    USD = "usd"


class Conversation(msgspec.Struct, frozen=True):
    """Messages of a model that works with tools, in the shape of OpenAI's chat API, with calls and results."""

    messages: list[dict[str, object]]
    answer: str = ""  # the last message; empty if the conversation did not end by itself
    problem: str = ""  # the reason of a conversation without an answer
    limit: Limit | None = None  # the limit that ended the conversation
    tokens_in: int | None = None
    tokens_out: int | None = None
    usd: float | None = None
    model: str = ""


def converse(
    name: str,
    instructions: str,
    prompt: str,
    tools: Sequence[ModelTool],
    *,
    seconds: float,
    steps: int = 20,
    usd: float | None = None,
) -> Conversation:
    """Let a model work on a prompt with tools, within a number of requests, seconds and dollars.

    A failure of the model, its server or a tool does not raise: the model sees the failure of a tool, and the problem
    says what ended the conversation, with the messages so far.
    """
    judge = _api_judge(name)
    talk = _Talk(instructions, prompt, {tool.name: tool for tool in tools}, steps, usd)

    async def within_time() -> None:
        async with asyncio.timeout(seconds), connected(judge, seconds) as model:
            await talk.run(model)

    try:
        asyncio.run(within_time())
    except TimeoutError:
        talk.problem, talk.limit = f"no end within {seconds:g} seconds", Limit.SECONDS
        talk.costs_unknown = True
    except CompletionError as error:
        talk.problem = error.problem
        talk.costs_unknown |= error.usd is None
    return talk.conversation()


class _Talk:
    """A running conversation."""

    def __init__(
        self, instructions: str, prompt: str, tools: dict[str, ModelTool], steps: int, usd: float | None
    ) -> None:
        self.messages: list[dict[str, object]] = []
        if instructions:
            self.messages.append({"role": "system", "content": instructions})
        self.messages.append({"role": "user", "content": prompt})
        self.problem = ""
        self.limit: Limit | None = None
        self.costs_unknown = False
        self._instructions, self._prompt, self._tools = instructions, prompt, tools
        self._steps, self._budget = steps, usd
        self._answer = self._model = ""
        self._usd = 0.0
        self._tokens: tuple[int | None, int | None] = (0, 0)
        self._asked = False

    async def run(self, model: Model) -> None:
        """Ask, run the called tools, and ask again, until an answer or a limit."""
        from pydantic_ai.messages import ModelRequest, ToolReturnPart  # noqa: PLC0415
        from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415
        from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415

        known = [
            ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters))
            for tool in self._tools.values()
        ]
        parameters = ModelRequestParameters(function_tools=known)
        history: list[ModelMessage] = [
            ModelRequest.user_text_prompt(self._prompt, instructions=self._instructions or None)
        ]
        for _ in range(self._steps):
            if self._budget is not None and self._usd >= self._budget:
                self.problem, self.limit = f"the budget of {self._budget:g} USD is spent", Limit.USD
                return
            response = await requested(model, history, parameters)
            self._count(response)
            calls = response.tool_calls
            self._append_response(response)
            if not calls:
                self._answer = response.text or ""
                self.problem = "" if self._answer else "the model answered nothing"
                return
            history.append(response)
            results = []
            for call in calls:
                result = await asyncio.to_thread(self._tool_result, call.tool_name, call.args)
                self.messages.append({"role": "tool", "tool_call_id": call.tool_call_id, "content": result})
                results.append(ToolReturnPart(tool_name=call.tool_name, content=result, tool_call_id=call.tool_call_id))
            history.append(ModelRequest(parts=results, instructions=self._instructions or None))
        self.problem, self.limit = f"no end within {self._steps} steps", Limit.STEPS

    def conversation(self) -> Conversation:
        """Return the result so far."""
        usd = None if self.costs_unknown else self._usd
        tokens_in, tokens_out = self._tokens if self._asked else (None, None)
        return Conversation(
            self.messages, self._answer, self.problem, self.limit, tokens_in, tokens_out, usd, self._model
        )

    def _count(self, response: ModelResponse) -> None:
        self._asked = True
        self._model = response.model_name or self._model
        usd = usd_of_response(response)
        self.costs_unknown |= usd is None
        self._usd += usd or 0.0
        tokens_in, tokens_out = tokens_of_response(response)
        self._tokens = known_sum(self._tokens[0], tokens_in), known_sum(self._tokens[1], tokens_out)

    def _append_response(self, response: ModelResponse) -> None:
        """Append a response to the messages, in the form of OpenAI's chats."""
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
        self.messages.append(message)

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


def _api_judge(name: str) -> JudgeName:
    judge = parse_name(name)
    if not judge.uses_api:
        raise ConfigError(
            "unknown-judge", f"{name!r} is no model behind an API. Try: anthropic:…, openai:… or http://…#MODEL"
        )
    need_extra(judge)
    return judge
