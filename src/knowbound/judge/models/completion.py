"""One call of a model: its input, its answer, and its failures, for every client that asks a model."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar
from urllib.parse import urlsplit

import msgspec

from knowbound.errors import ConfigError
from knowbound.judge.names import JudgeName, Provider
from knowbound.process import Ran, agent_environment, run
from knowbound.text.redact import redact

ANSWER_BYTES = 1_000_000  # of an answer; a verdict has a few hundred
_REFUSED_FOR_GOOD = (401, 402, 403, 404)  # key, quota, permission, model: every question will be refused
_REFUSED_FOR_NOW = (408, 409, 425, 429)
_MESSAGE_CHARACTERS = 300  # of a server's or a program's message
_FENCE = re.compile(r"```[a-zA-Z]*\n(.*?)```", re.DOTALL)
_MOST_BRACES = 200  # braces tried in one text: a model that writes more is not answering
_T = TypeVar("_T")
_Number = TypeVar("_Number", int, float)
_decoder = json.JSONDecoder()


class ApiServer(NamedTuple):
    """The server of a provider's API: OpenAI's chat, unless the path is another's."""

    key: str  # the variable that has it
    moved_by: str = ""  # the variable for another address
    address: str = ""  # "": the judge's name has it
    path: str = "/chat/completions"


SERVERS = {
    Provider.ANTHROPIC: ApiServer(
        "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "https://api.anthropic.com", "/v1/messages"
    ),
    Provider.OPENAI: ApiServer("OPENAI_API_KEY", "OPENAI_BASE_URL", "https://api.openai.com/v1"),
    Provider.URL: ApiServer("KNOWBOUND_JUDGE_API_KEY"),
}
KEYS = {provider: server.key for provider, server in SERVERS.items()}


class ModelQuestion(msgspec.Struct, frozen=True):
    """A question for a model."""

    prompt: str  # the prompt's name, without its version
    inputs: Mapping[str, str]  # the material, by the names that the prompt has for it
    instructions: str
    text: str  # the material in its fences, and the problem of the last answer
    schema: Mapping[str, object]  # JSON schema of the answer
    version: str = ""  # of the prompt
    entries: tuple[tuple[str, str, str, str], ...] = ()  # id, key, session and project of what is asked about


class Completion(msgspec.Struct, frozen=True):
    """The answer of a model, with its costs; None for costs that the model does not report."""

    text: str
    tokens_in: int | None = None
    tokens_out: int | None = None
    usd: float | None = None
    model: str = ""  # as the model names itself


class CompletionError(Exception):
    """A call without an answer.

    `again`: the same call may succeed later. `hopeless`: every call of this judge will fail. `after`: seconds to wait
    before the next call. `usd`: the cost of the call: 0 if the server refused it, None if unknown. `status`: of HTTP.
    `limit`: the user's plan or quota is used up for now.
    """

    def __init__(
        self,
        problem: str,
        *,
        again: bool = False,
        hopeless: bool = False,
        after: float | None = None,
        usd: float | None = 0.0,
        status: int | None = None,
        limit: bool = False,
    ) -> None:
        super().__init__(problem)
        self.problem, self.again, self.hopeless, self.after = problem, again, hopeless, after
        self.usd, self.status, self.limit = usd, status, limit


class Completer(Protocol):
    """Answers a prompt: an API, a command line, a recording. Several threads may call it at once."""

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Return the answer, or raise a CompletionError."""


def known_sum(*parts: _Number | None) -> _Number | None:
    """Add costs; None if one of them is unknown."""
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


# Servers


def address_of(name: JudgeName) -> str:
    """Return the address of a judge's server: its own, that of the environment, or the provider's.

    Raises CompletionError for one of the environment that is no http address, or has a password.
    """
    server = SERVERS[name.provider]
    address = (name.url or os.environ.get(server.moved_by) or server.address).rstrip("/")
    if urlsplit(address).scheme not in ("http", "https") or "@" in urlsplit(address).netloc:
        raise CompletionError(f"{server.moved_by} is no http address without user and password", hopeless=True)
    return address


def refusal(status: int, body: object, after: float | None = None) -> CompletionError:
    """Return the error for a refusal of a server: the status of HTTP, and its message."""
    message = shown(body) if body else ""
    words = {401: "the key is refused", 403: "it is forbidden", 404: "there is no such model or address"}
    problem = words.get(status, "too many requests" if status == 429 else "the server refused")
    return CompletionError(
        f"{problem} (HTTP {status}){f': {message}' if message else ''}",
        again=status >= 500 or status in _REFUSED_FOR_NOW,
        hopeless=status in _REFUSED_FOR_GOOD,
        after=after,
        status=status,
    )


def redirection(where: str) -> CompletionError:
    """Return the error for a redirect, which would send the material to another server."""
    return CompletionError(f"the server redirects to {shown(where)}: name that address instead", hopeless=True)


def is_loopback(url: str) -> bool:
    """Report whether the server is on this machine, where a proxy of the environment does not reach it."""
    import ipaddress  # noqa: PLC0415

    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def shown(said: object) -> str:
    """Return a message of a server or a program: short, on one line, without secrets."""
    text = said if isinstance(said, str) else json.dumps(said, default=str) if isinstance(said, dict) else str(said)
    return redact(" ".join(text.split()))[:_MESSAGE_CHARACTERS].rstrip(".")


# Answers


class MalformedError(Exception):
    """An answer of another shape than asked for; the message says for the model what is wrong."""


def parse_answer(text: str, type_: type[_T]) -> _T:
    """Return the last JSON object of the text that fits the type: a model may reason first and answer last."""
    problem: str | None = None
    for found in _objects(text):
        try:
            return msgspec.json.decode(found, type=type_)
        except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
            problem = problem or str(error)
    raise MalformedError(problem or "there is no JSON object in it")


def _objects(text: str) -> Iterator[str]:
    """Yield texts of JSON objects, the likeliest first: the whole text, then fenced and loose objects from the end."""
    whole = text.strip()
    if whole.startswith("{") and whole.endswith("}"):
        yield whole
    for fenced in reversed(_FENCE.findall(text)):
        yield from reversed(list(_loose(fenced)))
    yield from reversed(list(_loose(text)))


def _loose(text: str) -> Iterator[str]:
    """Yield the JSON objects of the text that are not nested in another object."""
    at = text.find("{")
    for _ in range(_MOST_BRACES):
        if at < 0:
            return
        try:
            _, end = _decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            yield text[at:end]
        at = text.find("{", end)


_OUTPUT_BYTES = 4 * ANSWER_BYTES  # events around an answer included
_ERROR_BYTES = 300  # of the output of a program that failed


class CommandLineModel:
    """Completes a prompt by running a program."""

    def __init__(self, name: JudgeName) -> None:
        self._command = name.command

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Run the program once."""
        ran = run_program(self._command, whole(question), seconds, Path(), agent_environment())
        if ran.code != 0:
            raise ended(self._command[0], ran)
        return Completion(ran.out.decode("utf-8", "replace"))


def whole(question: ModelQuestion) -> str:
    """Return instructions and material as one text."""
    return f"{question.instructions}\n\n{question.text}\n"


def ended(program: str, ran: Ran) -> CompletionError:
    """Return the error for a program that failed without a message that we know."""
    last = shown((ran.err or ran.out).decode("utf-8", "replace")[-_ERROR_BYTES:])
    return CompletionError(f"{program} ended with code {ran.code}{f': {last}' if last else ''}", again=True, usd=None)


def run_program(command: Sequence[str], text: str, seconds: float, folder: Path, environment: Mapping[str, str]) -> Ran:
    """Run a program with the text as its input, within the limits of time and output."""
    stdin = text.encode("utf-8", "replace")
    ran = run(command, folder, seconds, _OUTPUT_BYTES, environment=environment, stdin=stdin)
    if ran.timed_out:
        raise CompletionError(f"no answer within {round(seconds, 2):g} seconds", again=True, usd=None)
    if ran.cut:
        raise CompletionError(f"the answer is longer than {_OUTPUT_BYTES} bytes", usd=None)
    if ran.code is None:
        raise CompletionError(f"{command[0]} cannot be started: {ran.err.decode()}", hopeless=True)
    return ran


_EXAMPLE = '{"prompt": "hedging", "version": "…", "input": "…", "answer": "…"}'


# Recorded answers: a file instead of a model, the same every time, without network or cost.
#
# A file has one JSON object per line: `{"prompt": "hedging", "version": "hedging-2-0123abcd", "input": key of the entry
# or hash of the material, "answer": text}`. Of two lines about the same input, the later one counts. A line whose
# version is not that of the prompt now is stale and is not used; a line without a version is always used.


class RecordedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One recorded answer."""

    prompt: str
    input: str
    answer: str
    version: str = ""


class Recorded:
    """Answers from a file, as a store of answers that nothing is added to, and a model that knows no other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answers = {(line.prompt, line.input): line for line in _recorded_answers(path)}

    def answer(self, prompt: str, _model: str, sha256: str) -> bytes | None:
        """Return the recorded answer about this input."""
        line = self._answers.get((_prompt_name(prompt), sha256))
        return line.answer.encode() if line is not None and line.version in ("", prompt) else None

    def keep_answer(
        self, prompt: str, model: str, sha256: str, answer: bytes, session: str = "", project: str = ""
    ) -> None:
        """Keep nothing: a recording is read only."""

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Raise the error for a question that nothing was recorded for."""
        raise CompletionError(f"{self._path.name} holds no answer to this question")

    def stale(self, prompt: str) -> tuple[int, int]:
        """Return how many lines about a prompt are of another version than this one, and how many there are."""
        lines = [line for line in self._answers.values() if line.prompt == _prompt_name(prompt)]
        return sum(line.version not in ("", prompt) for line in lines), len(lines)


def _prompt_name(version: str) -> str:
    """Return the name of a prompt by its version: hedging for hedging-2-0123abcd."""
    return version.rsplit("-", 2)[0]


def recording_hash(path: Path) -> str:
    """Return twelve hex digits that change with the file."""
    return hashlib.sha256(_recorded_bytes(path)).hexdigest()[:12]


def _recorded_answers(path: Path) -> list[RecordedAnswer]:
    """Return the answers in a recording, one on each line. Raises ConfigError."""
    lines = []
    for number, data in enumerate(_recorded_bytes(path).splitlines(), 1):
        if not data.strip():
            continue
        try:
            lines.append(msgspec.json.decode(data, type=RecordedAnswer))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ConfigError(
                "recording-unreadable", f"{path}:{number} is no recorded answer: {error}. Try: {_EXAMPLE}"
            ) from error
    return lines


def _recorded_bytes(path: Path) -> bytes:
    """Return the content of a recording. Raises ConfigError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            "recording-unreadable",
            f"Cannot read {path}: {error.strerror or error}. Name a file that can be read: recorded:FILE",
        ) from error
