"""Typed questions for a model; every question gets an answer or a problem (specification 1, section 4, source 3).

A failure is data: it does not lose the other answers, and is not cached. The key of the cache is the version of the
prompt, the model and the material. The cache is used by the asking thread alone, so it may be a database.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, Protocol, TypeVar

import msgspec

from knowbound.judge.models.completion import (
    Completer,
    CompletionError,
    MalformedError,
    ModelQuestion,
    known_sum,
    parse_answer,
)
from knowbound.judge.names import JudgeOptions
from knowbound.judge.prompts import PromptFile, input_hash
from knowbound.text.redact import redact
from knowbound.text.redact_values import redact_value

_T = TypeVar("_T")
_BACK_OFF = 0.25  # seconds before the second call; each further wait is twice as long
_COMPLAINT = 300  # characters


class AnswerStore(Protocol):
    """Store of valid answers beyond the process."""

    def answer(self, prompt: str, model: str, sha256: str) -> bytes | None:
        """Return the answer of this model to this version of a prompt with this material, as JSON."""

    def keep_answer(self, prompt: str, model: str, sha256: str, answer: bytes) -> None:
        """Store an answer."""


class MemoryAnswers:
    """Answers of this process."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str, str], bytes] = {}

    def answer(self, prompt: str, model: str, sha256: str) -> bytes | None:
        """Return a kept answer."""
        return self._answers.get((prompt, model, sha256))

    def keep_answer(self, prompt: str, model: str, sha256: str, answer: bytes) -> None:
        """Keep an answer."""
        self._answers[prompt, model, sha256] = answer


class AskResult(msgspec.Struct, Generic[_T], frozen=True):
    """The result of one question."""

    value: _T | None
    problem: str = ""  # the reason of a missing value
    usd: float | None = 0.0  # of all calls; None if the cost of a call is unknown
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    cached: bool = False  # known before, or equal to another of the same questions
    attempts: int = 0  # calls


class Asker:
    """Asks one judge for several threads, which share its limits.

    It counts all costs and stops at the budget. After a hopeless failure (a refused key, a missing program) the further
    questions get the same problem without a call.
    """

    def __init__(
        self, judge: str, completer: Completer, options: JudgeOptions, store: AnswerStore | None = None
    ) -> None:
        self.judge = judge
        self._completer, self._options = completer, options
        self._store: AnswerStore = MemoryAnswers() if store is None else store
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(max(1, options.concurrency))
        self._stopped = threading.Event()
        self._hopeless = ""
        self._spent = 0.0

    @property
    def spent(self) -> float:
        """Known costs so far, in USD."""
        return self._spent

    def ask(
        self,
        prompt: PromptFile,
        inputs: Sequence[Mapping[str, str]],
        type_: type[_T],
        checks: Sequence[Callable[[_T], str]] = (),
    ) -> list[AskResult[_T]]:
        """Return one result per input, in order. Equal inputs are asked once.

        `checks` has a function for each input: it returns the problem of an answer of the right type, or "". An answer
        with a problem is asked for again and not cached.
        """
        shown = [{name: sendable(text) for name, text in one.items()} for one in inputs]
        keys = [input_hash(one) for one in shown]
        done: dict[str, AskResult[_T]] = {}
        todo: dict[str, _Question[_T]] = {}
        for key, one, check in zip(keys, shown, checks or [_usable] * len(shown), strict=True):
            if key in done or key in todo:
                continue
            known = self._known(prompt, key, type_)
            if known is None or check(known):
                todo[key] = _Question(one, type_, check)
            else:
                done[key] = AskResult(known, cached=True)
        self._ask_all(prompt, todo, done)
        return self._in_order(keys, done)

    def _in_order(self, keys: list[str], done: dict[str, AskResult[_T]]) -> list[AskResult[_T]]:
        """Return the results in order. A repeated question has no costs: its answer is a copy of the first."""
        seen: set[str] = set()
        asked = []
        for key in keys:
            one = done[key]
            asked.append(one if key not in seen else AskResult(one.value, one.problem, cached=one.value is not None))
            seen.add(key)
        return asked

    def _ask_all(self, prompt: PromptFile, todo: dict[str, _Question[_T]], done: dict[str, AskResult[_T]]) -> None:
        """Ask several questions at once; keep each good answer at once, so that an interruption loses little."""
        if not todo:
            return
        schema = _inlined(msgspec.json.schema(next(iter(todo.values())).type))
        pool = ThreadPoolExecutor(max(1, min(self._options.concurrency, len(todo))))
        try:
            open_: dict[Future[AskResult[_T]], str] = {
                pool.submit(self._in_a_slot, prompt, one, schema): key for key, one in todo.items()
            }
            while open_:
                for future in wait(open_, return_when=FIRST_COMPLETED).done:
                    key = open_.pop(future)
                    asked = done[key] = future.result()
                    if asked.value is not None:
                        self._store.keep_answer(prompt.version, self.judge, key, msgspec.json.encode(asked.value))
        except BaseException:
            self._stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()

    def _in_a_slot(self, prompt: PromptFile, one: _Question[_T], schema: Mapping[str, object]) -> AskResult[_T]:
        with self._slots:  # held during waits too: a server that asks for a wait gets no other question
            return self._ask_one(prompt, one, schema)

    def _ask_one(self, prompt: PromptFile, one: _Question[_T], schema: Mapping[str, object]) -> AskResult[_T]:
        """Ask until there is a usable answer, within the retries and the time of one question."""
        retries, tally = self._options.retries, _Tally()
        end = time.monotonic() + self._options.seconds * (retries + 1)
        material = prompt.material(one.inputs)
        failure = _Failure("")
        for attempt in range(retries + 1):
            if stop := self._stop():
                return tally.asked(None, failure.problem or stop)
            question = ModelQuestion(prompt.name, one.inputs, prompt.instructions, material + failure.complaint, schema)
            left = self._options.seconds if attempt == 0 else min(self._options.seconds, end - time.monotonic())
            tried = self._try(question, one, left, tally)
            if not isinstance(tried, _Failure):
                return tally.asked(tried, "")
            failure = tried
            if not failure.again or attempt == retries:
                break
            pause = _BACK_OFF * 2**attempt if failure.after is None else failure.after
            if time.monotonic() + pause >= end:
                waits = f" (it asks for a wait of {pause:g} seconds)" if failure.after else ""
                return tally.asked(None, failure.problem + waits)
            self._stopped.wait(pause)
        return tally.asked(None, failure.problem)

    def _try(self, question: ModelQuestion, one: _Question[_T], seconds: float, tally: _Tally) -> _T | _Failure:
        """Make one call: return a value of the type, or the failure."""
        tally.attempts += 1
        try:
            completion = self._completer.complete(question, seconds=seconds)
        except CompletionError as error:
            tokens = None if error.usd is None else 0  # a call that was cut off may have used tokens
            self._count(tally, error.usd, tokens, tokens)
            if error.hopeless:
                self._hopeless = error.problem
            return _Failure(error.problem, error.again, error.after)
        except Exception as error:  # the other questions go on, whatever a library raises
            self._count(tally, None, None, None)
            return _Failure(f"{type(error).__name__}: {redact(str(error))[:_COMPLAINT]}")
        self._count(tally, completion.usd, completion.tokens_in, completion.tokens_out)
        try:
            value = _redacted(parse_answer(completion.text, one.type))
            problem = one.check(value)
        except MalformedError as error:
            problem = str(error)
        if not problem:
            return value
        wrong = redact(problem)[:_COMPLAINT]
        complaint = f"\nYour last answer could not be used: {wrong}. Answer with JSON alone."
        return _Failure(f"the answer cannot be used: {wrong}", True, 0.0, complaint)  # no wait is needed

    def _count(self, tally: _Tally, usd: float | None, tokens_in: int | None, tokens_out: int | None) -> None:
        tally.add(usd, tokens_in, tokens_out)
        with self._lock:
            self._spent += usd or 0.0

    def _stop(self) -> str:
        """Return the reason to make no further call, or ""."""
        if self._hopeless:
            return self._hopeless
        if self._stopped.is_set():
            return "asking was interrupted"
        limit = self._options.usd
        if limit is not None and self._spent >= limit:
            return f"the budget of {limit:g} USD is spent"
        return ""

    def _known(self, prompt: PromptFile, key: str, type_: type[_T]) -> _T | None:
        kept = self._store.answer(prompt.version, self.judge, key)
        try:
            return None if kept is None else msgspec.json.decode(kept, type=type_)
        except msgspec.MsgspecError:
            return None  # written by a version with another type


class _Question(msgspec.Struct, Generic[_T], frozen=True):
    """An open question: its texts, the type of its answer, and the check of its answer."""

    inputs: Mapping[str, str]
    type: type[_T]
    check: Callable[[_T], str]


def _usable(_value: object) -> str:
    return ""


class _Failure(msgspec.Struct, frozen=True):
    """A call without a value."""

    problem: str
    again: bool = False  # another call may succeed
    after: float | None = None  # seconds to wait before the next call; None: our own back-off
    complaint: str = ""  # for the model


class _Tally:
    """Tokens and cost of all calls for one question; None if unknown for one call."""

    def __init__(self) -> None:
        self.attempts = 0
        self._usd: float | None = 0.0
        self._tokens_in: int | None = 0
        self._tokens_out: int | None = 0

    def add(self, usd: float | None, tokens_in: int | None, tokens_out: int | None) -> None:
        self._usd = known_sum(self._usd, usd)
        self._tokens_in = known_sum(self._tokens_in, tokens_in)
        self._tokens_out = known_sum(self._tokens_out, tokens_out)

    def asked(self, value: _T | None, problem: str) -> AskResult[_T]:
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
