"""Models over their APIs: the only module that imports `pydantic_ai` (extra `llm`), when such a model is asked.

Keys come from the providers' own environment variables; the key of a server named by its address comes from
KNOWBOUND_JUDGE_API_KEY. A call is made once: the caller repeats it. A redirect is refused, because it would send the
material to another server, and an answer is read up to a limit.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import msgspec

from knowbound.distribution import extra_command
from knowbound.errors import ConfigError
from knowbound.judge.models.completion import (
    ANSWER_BYTES,
    KEYS,
    Completion,
    CompletionError,
    ModelQuestion,
    is_loopback,
    known_sum,
    redirection,
    refusal,
    shown,
)
from knowbound.judge.names import JudgeName, Provider, parse_name

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters

_NO_SCHEMA = (400, 422)  # how a server refuses a request that it does not understand
_takes_no_schema: set[JudgeName] = set()  # learnt by asking, for the life of the process
_OUTPUT_TOKENS = 8_000  # in one answer of a provider's model; a local server has its own limit


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


class ApiModel:
    """Completes a prompt over a provider's API."""

    def __init__(self, name: JudgeName) -> None:
        self._name = name
        _need_extra(name)

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Ask once. A server that refuses a schema is asked without it, now and later."""
        end = time.monotonic() + seconds
        schema = question.schema or None
        try:
            if schema is not None and self._name not in _takes_no_schema:
                try:
                    return asyncio.run(_complete(self._name, question, schema, seconds))
                except CompletionError as error:
                    if error.status not in _NO_SCHEMA:
                        raise
            answer = asyncio.run(_complete(self._name, question, None, max(0.0, end - time.monotonic())))
            if schema is not None:
                _takes_no_schema.add(self._name)
            return answer
        except TimeoutError:
            raise CompletionError(f"no answer within {seconds:g} seconds", again=True, usd=None) from None


def is_installed() -> bool:
    """Report whether the extra `llm` is installed, without loading it."""
    return all(importlib.util.find_spec(module) for module in ("pydantic_ai", "openai", "anthropic"))


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
        async with asyncio.timeout(seconds), _connected(judge, seconds) as model:
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


async def _complete(
    judge: JudgeName, question: ModelQuestion, schema: Mapping[str, object] | None, seconds: float
) -> Completion:
    from pydantic_ai.messages import ModelRequest  # noqa: PLC0415
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415
    from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415

    parameters = ModelRequestParameters()
    if schema is not None:
        answer = OutputObjectDefinition(json_schema=dict(schema), name="answer")
        parameters = ModelRequestParameters(output_mode="native", output_object=answer)
    async with asyncio.timeout(seconds), _connected(judge, seconds) as model:
        if schema is not None and not model.profile.get("supports_json_schema_output", False):
            parameters = ModelRequestParameters()
        request = ModelRequest.user_text_prompt(question.text, instructions=question.instructions)
        response = await _requested(model, [request], parameters)
    tokens_in, tokens_out = _tokens(response)
    return Completion(response.text or "", tokens_in, tokens_out, _usd(response), response.model_name or "")


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
            response = await _requested(model, history, parameters)
            self._count(response)
            calls = response.tool_calls
            self._said(response)
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
        usd = _usd(response)
        self.costs_unknown |= usd is None
        self._usd += usd or 0.0
        tokens_in, tokens_out = _tokens(response)
        self._tokens = known_sum(self._tokens[0], tokens_in), known_sum(self._tokens[1], tokens_out)

    def _said(self, response: ModelResponse) -> None:
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


# The connection


async def _requested(model: Model, history: list[ModelMessage], parameters: ModelRequestParameters) -> ModelResponse:
    """Make one request; its failures become a CompletionError."""
    from pydantic_ai.direct import model_request  # noqa: PLC0415
    from pydantic_ai.exceptions import AgentRunError, ModelAPIError, ModelHTTPError, UserError  # noqa: PLC0415

    try:
        return await model_request(model, history, model_request_parameters=parameters)
    except ModelHTTPError as error:
        raise refusal(error.status_code, error.body, error.retry_after) from error
    except ModelAPIError as error:
        problem = f"no answer from {urlsplit(model.base_url or '').netloc}: {shown(error)}"
        raise _own(error) or CompletionError(problem, again=True, usd=None) from error
    except (AgentRunError, UserError) as error:
        problem = f"the answer cannot be used: {shown(error)}"
        raise _own(error) or CompletionError(problem, again=True, usd=None) from error


def _own(error: BaseException | None) -> CompletionError | None:
    """Return our own refusal of an answer if a library wrapped it."""
    seen = 0
    while error is not None and seen < 20:
        if isinstance(error, CompletionError):
            return error
        error, seen = error.__cause__ or error.__context__, seen + 1
    return None


@asynccontextmanager
async def _connected(judge: JudgeName, seconds: float) -> AsyncIterator[Model]:
    """Yield the model on a connection of its own."""
    import httpx2  # noqa: PLC0415
    from pydantic_ai.exceptions import UserError  # noqa: PLC0415

    timeout = httpx2.Timeout(seconds, connect=min(seconds, 10.0))
    headers = {"Accept-Encoding": "identity"}  # bytes are counted as they come
    hooks = {"response": [_guard]}
    trust = not is_loopback(judge.url)
    async with httpx2.AsyncClient(timeout=timeout, headers=headers, event_hooks=hooks, trust_env=trust) as client:
        try:
            model = _model(judge, client)
        except UserError as error:
            raise CompletionError(shown(error), hopeless=True) from error
        yield model


def _model(judge: JudgeName, client: httpx2.AsyncClient) -> Model:
    from pydantic_ai.settings import ModelSettings  # noqa: PLC0415

    settings = ModelSettings(max_retries=0, max_tokens=_OUTPUT_TOKENS)
    if judge.provider is Provider.ANTHROPIC:
        from pydantic_ai.models.anthropic import AnthropicModel  # noqa: PLC0415
        from pydantic_ai.providers.anthropic import AnthropicProvider  # noqa: PLC0415

        return AnthropicModel(judge.model, provider=AnthropicProvider(http_client=client), settings=settings)
    if judge.provider is Provider.OPENAI:
        from pydantic_ai.models.openai import OpenAIResponsesModel  # noqa: PLC0415
        from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

        return OpenAIResponsesModel(judge.model, provider=OpenAIProvider(http_client=client), settings=settings)
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider  # noqa: PLC0415

    key = os.environ.get(KEYS[Provider.URL]) or None
    provider = OpenAICompatibleProvider("server", base_url=judge.url, api_key=key, http_client=client)
    return OpenAIChatModel(judge.model, provider=provider, settings=ModelSettings(max_retries=0))


async def _guard(response: httpx2.Response) -> None:
    """Refuse redirects and compressed answers, and bound the rest."""
    if response.is_redirect:
        raise redirection(response.headers.get("location", ""))
    if response.headers.get("content-encoding", "identity") != "identity":
        raise CompletionError("the answer is compressed, though that was not asked for")
    response.stream = _bounded(cast("httpx2.AsyncByteStream", response.stream))


def _bounded(stream: httpx2.AsyncByteStream) -> httpx2.AsyncByteStream:
    import httpx2  # noqa: PLC0415

    class Bounded(httpx2.AsyncByteStream):
        """A body that ends with an error if it grows too long."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            size = 0
            async for chunk in stream:
                size += len(chunk)
                if size > ANSWER_BYTES:
                    raise CompletionError(f"the answer is longer than {ANSWER_BYTES} bytes", usd=None)
                yield chunk

        async def aclose(self) -> None:
            await stream.aclose()

    return Bounded()


# Costs of a response


def _tokens(response: ModelResponse) -> tuple[int | None, int | None]:
    usage = response.usage
    if not usage.has_values():
        return None, None
    return usage.input_tokens, usage.output_tokens


def _usd(response: ModelResponse) -> float | None:
    """Return the cost by the provider's price list; None if unknown."""
    if response.usage.cost is not None:
        return float(response.usage.cost)
    if not response.usage.has_values():
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


def _api_judge(name: str) -> JudgeName:
    judge = parse_name(name)
    if not judge.uses_api:
        raise ConfigError(
            "unknown-judge", f"{name!r} is no model behind an API. Try: anthropic:…, openai:… or http://…#MODEL"
        )
    _need_extra(judge)
    return judge


def _need_extra(judge: JudgeName) -> None:
    if not is_installed():
        raise ConfigError("extra-missing", f"The judge {judge.text!r} needs an extra. Try: {extra_command('llm')}")
