"""Open questions for a model: about one thing, or about several entries whose answers count one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar

import msgspec

from knowbound.judge.models.completion import ModelQuestion, known_sum, parse_answer
from knowbound.judge.prompts import PromptFile
from knowbound.text.redact import redact, redact_value

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
    """One of the things that a call asks about."""

    id: str  # its name in the material and in the answer; "" for the only thing
    shown: Mapping[str, object]  # a line of JSON in the material, after the id
    key: str  # hash of everything that its verdict depends on
    source: AnswerSource = NO_SOURCE


class EntryGroup(msgspec.Struct, frozen=True):
    """Entries that share texts, for example the items of one turn."""

    entries: Sequence[AskedEntry]
    shared: Mapping[str, str] = {}


class _Answers(msgspec.Struct, frozen=True):
    """The answers to several entries, read one by one: a malformed entry does not lose the others."""

    items: list[Any]


class OpenQuestion(Generic[_T]):
    """A question about one thing, or about several entries in one call, until it is answered or given up.

    One thing is an entry without an id: its texts are all of the material, and the whole answer is about it.
    """

    def __init__(
        self,
        prompt: PromptFile,
        texts: Mapping[str, str],
        entries: Sequence[AskedEntry],
        type_: type[_T],
        check: Callable[[AskedEntry, _T], str],
    ) -> None:
        self.prompt, self._texts, self._entries, self._type, self._check = prompt, texts, entries, type_, check
        self._has_several = bool(entries[0].id)  # one thing alone has no id
        self._open = {entry.key: entry for entry in entries}
        self._values: dict[str, _T] = {}
        self._problems: dict[str, str] = {}
        self.problem = self.complaint = ""
        self.tally = CallCosts()

    def next_call(self) -> ModelQuestion:
        """Return the next call: what is still open, and the problem of the last answer."""
        texts, schema, prompt = dict(self._texts), _inlined(msgspec.json.schema(self._type)), self.prompt
        if self._has_several:
            shown = ({"id": entry.id, **entry.shown} for entry in self._open.values())
            texts["entries"] = "\n".join(msgspec.json.encode(line).decode("utf-8") for line in shown)
            definitions = {name: schema.pop(name) for name in ("$defs",) if name in schema}
            listed = {"items": {"type": "array", "items": schema}}
            schema = {"type": "object", "properties": listed, "required": ["items"], **definitions}
        text = prompt.material(texts) + self.complaint
        entries = tuple(
            (entry.id, entry.key, entry.source.session, entry.source.project) for entry in self._open.values()
        )
        return ModelQuestion(prompt.name, texts, prompt.instructions, text, schema, prompt.version, entries)

    def take(self, text: str) -> str:
        """Take what an answer decides. Returns the problem of the rest, or "". Raises MalformedError."""
        given = self._answers_in(text)
        for key, entry in list(self._open.items()):
            value, self._problems[key] = self._checked_value(entry, given.get(entry.id))
            if value is not None:
                self._values[key] = value
                del self._open[key]
        wrong = ((entry.id, self._problems[key]) for key, entry in self._open.items())
        return "; ".join(f"{id_}: {problem}" if id_ else problem for id_, problem in wrong)

    def _answers_in(self, text: str) -> dict[str, object]:
        """Return what an answer says about each entry, by its id."""
        if not self._has_several:
            return {"": msgspec.to_builtins(parse_answer(text, self._type))}
        answers = [answer for answer in parse_answer(text, _Answers).items if isinstance(answer, dict)]
        return {str(answer.get("id", "")): answer for answer in reversed(answers)}  # of two with one id, the first

    def _checked_value(self, entry: AskedEntry, given: object) -> tuple[_T | None, str]:
        """Return the value of what an answer says about an entry, or None and the problem."""
        if given is None:
            return None, "there is nothing about it"
        try:
            value = msgspec.convert(redact_value(given), self._type)  # a model may repeat secrets of its input
        except msgspec.MsgspecError as error:
            return None, str(error)
        problem = self._check(entry, value)
        return (None, problem) if problem else (value, "")

    def valid(self) -> Iterator[tuple[str, bytes, AnswerSource]]:
        """Yield key, answer (as JSON) and source of what is decided."""
        for entry in self._entries:
            if entry.key in self._values:
                yield entry.key, msgspec.json.encode(self._values[entry.key]), entry.source

    def results(self) -> dict[str, AskResult[_T]]:
        """Return the result of every entry by its key; the first one has the costs of the calls."""
        results: dict[str, AskResult[_T]] = {}
        for at, entry in enumerate(self._entries):
            value, entry_problem = self._values.get(entry.key), self._problems.get(entry.key) if entry.id else ""
            tally = self.tally if at == 0 else CallCosts()  # a sum over the results is right
            results[entry.key] = tally.asked(value, "" if value is not None else entry_problem or self.problem)
        return results


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


def _inlined(schema: dict[str, object]) -> dict[str, object]:
    """Return the schema without a `$ref` at its top, which some servers do not follow."""
    definitions = schema.get("$defs")
    top = str(schema.get("$ref", "")).rpartition("/")[2]
    if not isinstance(definitions, dict) or top not in definitions:
        return schema
    rest = {name: definition for name, definition in definitions.items() if name != top}
    return {**definitions[top], **({"$defs": rest} if rest else {})}
