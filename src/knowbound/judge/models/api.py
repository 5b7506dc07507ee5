"""Models over their APIs, by their providers' libraries or, for a hook, by the standard library alone.

`ApiModel` imports `pydantic_ai` (extra `llm`) when it asks: 1.6 seconds. `DirectModel` takes 60 ms, because an agent
waits for it. It asks once, for a text, without a schema: a server that refuses one would have to be asked again.

Keys come from the providers' own environment variables; the key of a server named by its address comes from
KNOWBOUND_JUDGE_API_KEY. A call is made once: the caller repeats it. A redirect is refused, because it would send the
material to another server, and an answer is read up to a limit.
"""

from __future__ import annotations

import http.client
import importlib.util
import os
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import IO, TYPE_CHECKING, NoReturn, cast
from urllib.parse import urlsplit

import msgspec

from knowbound.distribution import extra_command
from knowbound.errors import ConfigError
from knowbound.judge.models.completion import (
    ANSWER_BYTES,
    KEYS,
    SERVERS,
    Completion,
    CompletionError,
    ModelQuestion,
    address_of,
    is_loopback,
    redirection,
    refusal,
    shown,
)
from knowbound.judge.names import JudgeName, Provider

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters

_NO_SCHEMA = (400, 422)  # how a server refuses a request that it does not understand
_takes_no_schema: set[JudgeName] = set()  # learnt by asking, for the life of the process
_OUTPUT_TOKENS = 8_000  # in one answer of a provider's model; a local server has its own limit


class ApiModel:
    """Completes a prompt over a provider's API."""

    def __init__(self, name: JudgeName) -> None:
        self._name = name
        need_extra(name)

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Ask once. A server that refuses a schema is asked without it, now and later."""
        import asyncio  # noqa: PLC0415

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
            raise CompletionError(f"no answer within {round(seconds, 2):g} seconds", again=True, usd=None) from None


def is_installed() -> bool:
    """Report whether the extra `llm` is installed, without loading it."""
    return all(importlib.util.find_spec(module) for module in ("pydantic_ai", "openai", "anthropic"))


async def _complete(
    judge: JudgeName, question: ModelQuestion, schema: Mapping[str, object] | None, seconds: float
) -> Completion:
    """Make one request, with the schema if the model takes one."""
    import asyncio  # noqa: PLC0415

    from pydantic_ai.messages import ModelRequest  # noqa: PLC0415
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415
    from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415

    parameters = ModelRequestParameters()
    if schema is not None:
        answer = OutputObjectDefinition(json_schema=dict(schema), name="answer")
        parameters = ModelRequestParameters(output_mode="native", output_object=answer)
    async with asyncio.timeout(seconds), connected(judge, seconds) as model:
        if schema is not None and not model.profile.get("supports_json_schema_output", False):
            parameters = ModelRequestParameters()  # the library would refuse the schema
        request = ModelRequest.user_text_prompt(question.text, instructions=question.instructions)
        response = await requested(model, [request], parameters)
    tokens_in, tokens_out = tokens_of_response(response)
    return Completion(response.text or "", tokens_in, tokens_out, usd_of_response(response), response.model_name or "")


# The connection


async def requested(model: Model, history: list[ModelMessage], parameters: ModelRequestParameters) -> ModelResponse:
    """Make one request; its failures become a CompletionError."""
    from pydantic_ai.direct import model_request  # noqa: PLC0415
    from pydantic_ai.exceptions import AgentRunError, ModelAPIError, ModelHTTPError, UserError  # noqa: PLC0415

    try:
        return await model_request(model, history, model_request_parameters=parameters)
    except ModelHTTPError as error:
        raise refusal(error.status_code, error.body, error.retry_after) from error
    except ModelAPIError as error:
        problem = f"no answer from {urlsplit(model.base_url or '').netloc}: {shown(error)}"
        raise _wrapped_refusal(error) or CompletionError(problem, again=True, usd=None) from error
    except (AgentRunError, UserError) as error:
        problem = f"the answer cannot be used: {shown(error)}"
        raise _wrapped_refusal(error) or CompletionError(problem, again=True, usd=None) from error


def _wrapped_refusal(error: BaseException | None) -> CompletionError | None:
    """Return our own refusal of an answer if a library wrapped it."""
    for _ in range(20):  # causes may form a circle
        if error is None or isinstance(error, CompletionError):
            return error
        error = error.__cause__ or error.__context__
    return None


@asynccontextmanager
async def connected(judge: JudgeName, seconds: float) -> AsyncIterator[Model]:
    """Yield the model on a connection of its own."""
    import httpx2  # noqa: PLC0415
    from pydantic_ai.exceptions import UserError  # noqa: PLC0415

    timeout = httpx2.Timeout(seconds, connect=min(seconds, 10.0))
    headers = {"Accept-Encoding": "identity"}  # bytes are counted as they come
    hooks = {"response": [_check_response]}
    has_proxy = not is_loopback(judge.url)  # a proxy of the environment does not reach this machine
    async with httpx2.AsyncClient(timeout=timeout, headers=headers, event_hooks=hooks, trust_env=has_proxy) as client:
        try:
            model = _model(judge, client)
        except UserError as error:
            raise CompletionError(shown(error), hopeless=True) from error
        yield model


def _model(judge: JudgeName, client: httpx2.AsyncClient) -> Model:
    """Return the model by its provider's library, which is not to repeat a call by itself."""
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

    key = os.environ.get(KEYS[judge.provider]) or None
    if key is None and judge.provider is not Provider.URL:  # a service refuses it, after it has got the text
        raise CompletionError(f"{KEYS[judge.provider]} is not set", hopeless=True)
    provider = OpenAICompatibleProvider("server", base_url=address_of(judge), api_key=key, http_client=client)
    return OpenAIChatModel(judge.model, provider=provider, settings=ModelSettings(max_retries=0))


async def _check_response(response: httpx2.Response) -> None:
    """Refuse redirects and compressed answers, and bound the rest."""
    if response.is_redirect:
        raise redirection(response.headers.get("location", ""))
    if response.headers.get("content-encoding", "identity") != "identity":
        raise CompletionError("the answer is compressed, though that was not asked for")
    response.stream = _bounded(cast("httpx2.AsyncByteStream", response.stream))


def _bounded(stream: httpx2.AsyncByteStream) -> httpx2.AsyncByteStream:
    """Return the stream with a limit to its length."""
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


def tokens_of_response(response: ModelResponse) -> tuple[int | None, int | None]:
    """Return the tokens in and out; None if unknown."""
    usage = response.usage
    if not usage.has_values():
        return None, None
    return usage.input_tokens, usage.output_tokens


def usd_of_response(response: ModelResponse) -> float | None:
    """Return the cost by the provider's price list; None if unknown."""
    if response.usage.cost is not None:
        return float(response.usage.cost)
    if not response.usage.has_values():
        return None
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


def need_extra(judge: JudgeName) -> None:
    """Raise a ConfigError unless the extra `llm` is installed."""
    if not is_installed():
        raise ConfigError("extra-missing", f"The judge {judge.text!r} needs an extra. Try: {extra_command('llm')}")


_CHUNK_BYTES = 1 << 16
_HOOK_TOKENS = 1_000  # Anthropic's API requires a limit; an answer for a hook has a few words


# Without a library


class DirectModel:
    """Completes a prompt over a provider's API."""

    def __init__(self, name: JudgeName) -> None:
        self._name = name

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Ask once."""
        end = time.monotonic() + seconds
        request = _request(self._name, question)
        proxies: dict[str, str] | None = {} if is_loopback(request.full_url) else None  # None: those of the environment
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies), _NoRedirects)
        try:
            with opener.open(request, timeout=seconds) as response:
                return _completion(_body(response, end))
        except urllib.error.HTTPError as error:
            raise refusal(error.code, error.read(_CHUNK_BYTES).decode("utf-8", "replace")) from error
        except TimeoutError:
            raise CompletionError(f"no answer within {round(seconds, 2):g} seconds", again=True, usd=None) from None
        except (OSError, http.client.HTTPException) as error:
            why = error.reason if isinstance(error, urllib.error.URLError) else error
            problem = f"no answer from {urlsplit(request.full_url).netloc}: {shown(why) or type(why).__name__}"
            raise CompletionError(problem, again=True, usd=None) from error


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: http.client.HTTPMessage,
        newurl: str,
    ) -> NoReturn:
        raise redirection(newurl)


def _request(name: JudgeName, question: ModelQuestion) -> urllib.request.Request:
    """Return the question in the provider's own form."""
    server = SERVERS[name.provider]
    base = address_of(name)
    key = os.environ.get(server.key, "").strip()
    if not key and name.provider is not Provider.URL:
        raise CompletionError(f"{server.key} is not set", hopeless=True)
    if not (key.isascii() and key.isprintable()):  # the library's error would show the key
        raise CompletionError(f"{server.key} has characters that no key has", hopeless=True)
    messages: list[dict[str, str]] = [{"role": "user", "content": question.text}]
    body: dict[str, object] = {"model": name.model}
    headers = {"content-type": "application/json", "user-agent": "knowbound"}
    if name.provider is Provider.ANTHROPIC:
        body |= {"max_tokens": _HOOK_TOKENS, "system": question.instructions, "messages": messages}
        headers |= {"x-api-key": key, "anthropic-version": "2023-06-01"}
    else:
        body |= {"messages": [{"role": "system", "content": question.instructions}, *messages]}
        headers |= {"authorization": f"Bearer {key}"} if key else {}
    return urllib.request.Request(base + server.path, msgspec.json.encode(body), headers)


def _body(response: http.client.HTTPResponse, end: float) -> bytes:
    """Read the body, within the limits of time and size."""
    body = bytearray()
    while part := response.read1(_CHUNK_BYTES):
        body += part
        if len(body) > ANSWER_BYTES:
            raise CompletionError(f"the answer is longer than {ANSWER_BYTES} bytes", usd=None)
        if time.monotonic() > end:
            raise TimeoutError
    return bytes(body)


class _Part(msgspec.Struct, frozen=True):
    text: str = ""


class _Message(msgspec.Struct, frozen=True):
    content: str | None = None


class _Choice(msgspec.Struct, frozen=True):
    message: _Message


class _Answer(msgspec.Struct, frozen=True):
    """Answer of both APIs: Anthropic's has parts, OpenAI's choices."""

    model: str = ""
    content: tuple[_Part, ...] = ()
    choices: tuple[_Choice, ...] = ()


def _completion(body: bytes) -> Completion:
    """Return the answer in Anthropic's or in OpenAI's form: what the other one has is empty."""
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CompletionError(f"the answer cannot be used: {shown(error)}", again=True, usd=None) from error
    texts = [part.text for part in answer.content] + [choice.message.content or "" for choice in answer.choices[:1]]
    return Completion("".join(texts), model=answer.model)
