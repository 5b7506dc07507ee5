"""Open questions for a model: about one thing, or about several entries whose answers count one by one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from knowbound.judge.models.completion import ModelQuestion, known_sum, parse_answer
from knowbound.judge.prompts import PromptFile
from knowbound.text.redact import redact
from knowbound.text.redact_values import redact_value

_T = TypeVar("_T")


class AnswerSource(msgspec.Struct, frozen=True):
    """Session and project that the material of a question comes from, stored with its answer: `forget` needs them."""

    session: str = ""
    project: str = ""


NO_SOURCE = AnswerSource()


class AskResult(msgspec.Struct, Generic[_T], frozen=True):
    """The result of one question, or of one entry."""

    value: _T | None
    problem: str = ""  # the reason of a missing value
    usd: float | None = 0.0  # of all calls; None if the cost of a call is unknown; of a batch on its first entry
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    cached: bool = False  # known before, or equal to another of the same questions
    attempts: int = 0  # calls


class AskedEntry(msgspec.Struct, frozen=True):
    """One of several things that a call asks about."""

    id: str  # its name in the material and in the answer
    shown: Mapping[str, object]  # a line of JSON in the material, after the id
    key: str  # hash of everything that its verdict depends on
    source: AnswerSource = NO_SOURCE


class EntryGroup(msgspec.Struct, frozen=True):
    """Entries that share texts, for example the items of one turn."""

    entries: Sequence[AskedEntry]
    shared: Mapping[str, str] = {}


class OpenQuestion(ABC):
    """A question until it is answered or given up."""

    def __init__(self, prompt: PromptFile) -> None:
        self.prompt = prompt
        self.problem = self.complaint = ""
        self.tally = CallCosts()

    def question(self) -> ModelQuestion:
        """Return the next call: what is still open, and the problem of the last answer."""
        inputs = self.inputs()
        text = self.prompt.material(inputs) + self.complaint
        prompt = self.prompt
        return ModelQuestion(
            prompt.name, inputs, prompt.instructions, text, self.schema(), prompt.version, tuple(self.entries())
        )

    @abstractmethod
    def inputs(self) -> Mapping[str, str]:
        """Return the texts of the prompt's places."""

    @abstractmethod
    def entries(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield id, key, session and project of everything that is still open; a single thing has no id."""

    @abstractmethod
    def schema(self) -> Mapping[str, object]:
        """Return the JSON schema of the answer."""

    @abstractmethod
    def take(self, text: str) -> str:
        """Take what an answer decides. Returns the problem of the rest, or "". Raises MalformedError."""

    @abstractmethod
    def valid(self) -> Iterator[tuple[str, bytes, AnswerSource]]:
        """Yield key, answer (as JSON) and source of what is decided."""


class SingleQuestion(OpenQuestion, Generic[_T]):
    """A question about one thing."""

    def __init__(
        self,
        prompt: PromptFile,
        key: str,
        inputs: Mapping[str, str],
        type_: type[_T],
        check: Callable[[_T], str],
        source: AnswerSource,
    ) -> None:
        super().__init__(prompt)
        self.key, self._inputs, self._type, self._check, self._source = key, inputs, type_, check, source
        self.value: _T | None = None

    def inputs(self) -> Mapping[str, str]:
        """Return the texts of the prompt's places."""
        return self._inputs

    def entries(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield the key and the source of the question."""
        yield "", self.key, self._source.session, self._source.project

    def schema(self) -> Mapping[str, object]:
        """Return the JSON schema of the answer."""
        return _inlined(msgspec.json.schema(self._type))

    def take(self, text: str) -> str:
        """Take what an answer decides; return the problem of the rest."""
        value = _redacted(parse_answer(text, self._type))
        problem = self._check(value)
        self.value = None if problem else value
        return problem

    def valid(self) -> Iterator[tuple[str, bytes, AnswerSource]]:
        """Yield key, answer and source of what is decided."""
        if self.value is not None:
            yield self.key, msgspec.json.encode(self.value), self._source


class _Answers(msgspec.Struct, frozen=True):
    """The answers to a batch, read one by one: a malformed entry does not lose the others."""

    items: list[Any]


class BatchQuestion(OpenQuestion, Generic[_T]):
    """A question about several entries."""

    def __init__(
        self,
        prompt: PromptFile,
        shared: Mapping[str, str],
        entries: Sequence[AskedEntry],
        type_: type[_T],
        check: Callable[[AskedEntry, _T], str],
    ) -> None:
        super().__init__(prompt)
        self._shared = {name: sendable(text) for name, text in shared.items()}
        self._entries, self._type, self._check = entries, type_, check
        self.open = {entry.key: entry for entry in entries}
        self._values: dict[str, _T] = {}
        self._problems: dict[str, str] = {}

    def inputs(self) -> Mapping[str, str]:
        """Return the texts of the prompt's places."""
        lines = (msgspec.json.encode({"id": one.id, **one.shown}).decode("utf-8") for one in self.open.values())
        return {**self._shared, "entries": "\n".join(lines)}

    def entries(self) -> Iterator[tuple[str, str, str, str]]:
        """Yield id, key and source of the open entries."""
        for one in self.open.values():
            yield one.id, one.key, one.source.session, one.source.project

    def schema(self) -> Mapping[str, object]:
        """Return the JSON schema of the answer."""
        entry = _inlined(msgspec.json.schema(self._type))
        definitions = entry.pop("$defs", None)
        whole = {"type": "object", "properties": {"items": {"type": "array", "items": entry}}, "required": ["items"]}
        return {**whole, **({"$defs": definitions} if definitions else {})}

    def take(self, text: str) -> str:
        """Take what an answer decides; return the problem of the rest."""
        given: dict[str, dict[str, Any]] = {}
        for one in parse_answer(text, _Answers).items:
            if isinstance(one, dict):
                given.setdefault(str(one.get("id", "")), one)
        for key, entry in list(self.open.items()):
            value, problem = self._taken(entry, given.get(entry.id))
            if value is None:
                self._problems[key] = problem
            else:
                self._values[key] = value
                del self.open[key]
        wrong = [f"{entry.id}: {self._problems[key]}" for key, entry in self.open.items()]
        return "; ".join(wrong)

    def _taken(self, entry: AskedEntry, given: dict[str, Any] | None) -> tuple[_T | None, str]:
        if given is None:
            return None, "there is nothing about it"
        try:
            value = msgspec.convert(redact_value(given), self._type)
        except msgspec.MsgspecError as error:
            return None, str(error)
        problem = self._check(entry, value)
        return (None, problem) if problem else (value, "")

    def valid(self) -> Iterator[tuple[str, bytes, AnswerSource]]:
        """Yield key, answer and source of what is decided."""
        for entry in self._entries:
            if entry.key in self._values:
                yield entry.key, msgspec.json.encode(self._values[entry.key]), entry.source

    def results(self) -> dict[str, AskResult[_T]]:
        """Return the result of every entry by its key; the first one has the costs of the calls."""
        found: dict[str, AskResult[_T]] = {}
        for at, entry in enumerate(self._entries):
            value = self._values.get(entry.key)
            problem = "" if value is not None else self._problems.get(entry.key) or self.problem
            tally = self.tally if at == 0 else CallCosts()
            found[entry.key] = tally.asked(value, problem)
        return found


class CallCosts:
    """Tokens and cost of all calls for one question; None if unknown for one call."""

    def __init__(self) -> None:
        self.attempts = 0
        self._usd: float | None = 0.0
        self._tokens_in: int | None = 0
        self._tokens_out: int | None = 0

    def add(self, usd: float | None, tokens_in: int | None, tokens_out: int | None) -> None:
        """Add the tokens and the cost of a call."""
        self._usd = known_sum(self._usd, usd)
        self._tokens_in = known_sum(self._tokens_in, tokens_in)
        self._tokens_out = known_sum(self._tokens_out, tokens_out)

    @property
    def sums(self) -> tuple[float | None, int | None, int | None]:
        """Cost, tokens in and tokens out."""
        return self._usd, self._tokens_in, self._tokens_out

    def asked(self, value: _T | None, problem: str) -> AskResult[_T]:
        """Return the result of a question with these costs."""
        return AskResult(value, problem, self._usd, self._tokens_in, self._tokens_out, attempts=self.attempts)


def sendable(text: str) -> str:
    """Return the text for a model: without secrets and lone surrogates."""
    return redact(text.encode("utf-8", "replace").decode("utf-8"))


def _redacted(value: _T) -> _T:
    """Redact every text of a value: a model may repeat secrets of its input."""
    return msgspec.convert(redact_value(msgspec.to_builtins(value)), type(value))


def _inlined(schema: dict[str, object]) -> dict[str, object]:
    """Return the schema without a `$ref` at its top, which some servers do not follow."""
    definitions = schema.get("$defs")
    top = str(schema.get("$ref", "")).rpartition("/")[2]
    if not isinstance(definitions, dict) or top not in definitions:
        return schema
    rest = {name: one for name, one in definitions.items() if name != top}
    return {**definitions[top], **({"$defs": rest} if rest else {})}
