"""Asks a model typed questions; every question gets its answer or its problem (specification 1, section 4, source 3).

A failure is data: it never loses the other answers, and it is never cached. The cache is keyed by the prompt's version,
the model and the material. Only the thread that asks touches it, so a database may stand behind it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Generic, Protocol, TypeVar

import msgspec

from knowbound.judge.models.completion import Completer, CompletionError, MalformedError, ModelQuestion, parse_answer
from knowbound.judge.names import JudgeOptions
from knowbound.judge.prompts import PromptFile, input_hash
from knowbound.text.redact import redact
from knowbound.text.redact_values import redact_value

_T = TypeVar("_T")
_BACK_OFF = 0.25  # seconds before the second call; each further wait is twice as long
_COMPLAINT = 300  # characters


class AnswerStore(Protocol):
    """Stores valid answers beyond the process."""

    def answer(self, prompt: str, model: str, sha256: str) -> bytes | None:
        """What this model answered to this version of a prompt with this material, as JSON."""

    def keep_answer(self, prompt: str, model: str, sha256: str, answer: bytes) -> None:
        """Remember an answer."""


class MemoryAnswers:
    """Answers of this process."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str, str], bytes] = {}

    def answer(self, prompt: str, model: str, sha256: str) -> bytes | None:
        """What was answered."""
        return self._answers.get((prompt, model, sha256))

    def keep_answer(self, prompt: str, model: str, sha256: str, answer: bytes) -> None:
        """Remember an answer."""
        self._answers[prompt, model, sha256] = answer


class AskResult(msgspec.Struct, Generic[_T], frozen=True):
    """The result of one question."""

    value: _T | None
    problem: str = ""  # why there is no value
    usd: float | None = 0.0  # of all its calls; None where one of them is not known
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    cached: bool = False  # known before, or asked within the same questions
    attempts: int = 0  # calls made


class Asker:
    """Asks one judge; several threads may ask through it, and the limits hold for them together.

    It counts what it spends over its whole life and stops at the budget. Where the judge says that no question will
    fare better (a refused key, a program that is not there), the questions after it get the same problem unasked.
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
        """The known costs so far, in USD."""
        return self._spent

    def ask(
        self,
        prompt: PromptFile,
        inputs: Sequence[Mapping[str, str]],
        type_: type[_T],
        checks: Sequence[Callable[[_T], str]] = (),
    ) -> list[AskResult[_T]]:
        """One result per input, in their order. Equal inputs are asked once.

        `checks` has for each input what says why an answer of the right type cannot be used, or "": then it is asked
        again, and such an answer is never cached.
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
        """A repeated question cost once: its second answer was copied from the first."""
        seen: set[str] = set()
        asked = []
        for key in keys:
            one = done[key]
            asked.append(one if key not in seen else AskResult(one.value, one.problem, cached=one.value is not None))
            seen.add(key)
        return asked

    def _ask_all(self, prompt: PromptFile, todo: dict[str, _Question[_T]], done: dict[str, AskResult[_T]]) -> None:
        """Several at once; each good answer is kept as soon as it is there, so that an interruption loses little."""
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
        with self._slots:  # held through the waits too: a server that asks us to wait should not be asked more
            return self._ask_one(prompt, one, schema)

    def _ask_one(self, prompt: PromptFile, one: _Question[_T], schema: Mapping[str, object]) -> AskResult[_T]:
        """Ask until there is an answer that can be used, within the retries and the time of one question."""
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
        """One call: a value of the type, or why there is none."""
        tally.attempts += 1
        try:
            completion = self._completer.complete(question, seconds=seconds)
        except CompletionError as error:
            tokens = None if error.usd is None else 0  # a call that was cut may have cost either
            self._count(tally, error.usd, tokens, tokens)
            if error.hopeless:
                self._hopeless = error.problem
            return _Failure(error.problem, error.again, error.after)
        except Exception as error:  # whatever a library raises, the other questions go on
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
        return _Failure(f"the answer cannot be used: {wrong}", True, 0.0, complaint)  # a model needs no rest

    def _count(self, tally: _Tally, usd: float | None, tokens_in: int | None, tokens_out: int | None) -> None:
        tally.add(usd, tokens_in, tokens_out)
        with self._lock:
            self._spent += usd or 0.0

    def _stop(self) -> str:
        """Why no further call is made, where that is so."""
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
            return None  # written by a version with another answer


class _Question(msgspec.Struct, Generic[_T], frozen=True):
    """A question that is not answered yet: its texts, the type of its answer, and what else is asked of that."""

    inputs: Mapping[str, str]
    type: type[_T]
    check: Callable[[_T], str]


def _usable(_value: object) -> str:
    """Every answer of the right type is."""
    return ""


class _Failure(msgspec.Struct, frozen=True):
    """Why a call gave no value."""

    problem: str
    again: bool = False  # whether another call may
    after: float | None = None  # seconds to wait before it; None: as we see fit
    complaint: str = ""  # what the model is shown


class _Tally:
    """Tokens, cost and time of all calls for one question; unknown where one of them is."""

    def __init__(self) -> None:
        self.attempts = 0
        self._usd: float | None = 0.0
        self._tokens_in: int | None = 0
        self._tokens_out: int | None = 0

    def add(self, usd: float | None, tokens_in: int | None, tokens_out: int | None) -> None:
        self._usd = None if usd is None or self._usd is None else self._usd + usd
        self._tokens_in = None if tokens_in is None or self._tokens_in is None else self._tokens_in + tokens_in
        self._tokens_out = None if tokens_out is None or self._tokens_out is None else self._tokens_out + tokens_out

    def asked(self, value: _T | None, problem: str) -> AskResult[_T]:
        return AskResult(value, problem, self._usd, self._tokens_in, self._tokens_out, attempts=self.attempts)


def sendable(text: str) -> str:
    """The text as it is sent to a model: no secrets, no lone surrogates."""
    return redact(text.encode("utf-8", "replace").decode("utf-8"))


def _redacted(value: _T) -> _T:
    """The value with every text in it free of secrets: a model may repeat what it read."""
    return msgspec.convert(redact_value(msgspec.to_builtins(value)), type(value))


def _inlined(schema: dict[str, object]) -> dict[str, object]:
    """The schema without `$ref` at its top: some servers do not follow it."""
    definitions = schema.get("$defs")
    top = str(schema.get("$ref", "")).rpartition("/")[2]
    if not isinstance(definitions, dict) or top not in definitions:
        return schema
    rest = {name: one for name, one in definitions.items() if name != top}
    return {**definitions[top], **({"$defs": rest} if rest else {})}
