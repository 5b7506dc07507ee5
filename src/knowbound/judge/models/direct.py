"""Models over their APIs with the standard library alone: for a hook, which an agent waits for.

The libraries of api.py take 1.6 seconds to load, this module 60 ms. It asks once, for a text, without a schema: a
server that refuses a schema would have to be asked again. Keys, addresses, redirects and the limit of an answer are
those of api.py.
"""

from __future__ import annotations

import http.client
import os
import time
import urllib.error
import urllib.request
from typing import IO, NoReturn
from urllib.parse import urlsplit

import msgspec

from knowbound.judge.models.completion import (
    ANSWER_BYTES,
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

_CHUNK_BYTES = 1 << 16
_OUTPUT_TOKENS = 1_000  # Anthropic's API requires a limit; an answer for a hook has a few words


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
        body |= {"max_tokens": _OUTPUT_TOKENS, "system": question.instructions, "messages": messages}
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
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise CompletionError(f"the answer cannot be used: {shown(error)}", again=True, usd=None) from error
    texts = [part.text for part in answer.content] + [choice.message.content or "" for choice in answer.choices[:1]]
    return Completion("".join(texts), model=answer.model)
