"""Typed questions for a model; every entry gets an answer or a problem (specification 1, section 4, source 3).

A question asks about one thing (`Asker.ask`) or about several entries in one call (`Asker.ask_entries`). An answer
counts entry by entry: what a check accepts is kept at once, the rest is asked once more, then it stays undecided with
the problem. A failure is data: it does not lose the other answers, and is not cached. The key of the cache is the
version of the prompt, the model and the entry's own material, so a batch survives when one entry of it changes. The
cache is used by the asking thread alone, so it may be a database.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import Protocol, TypeVar

import msgspec

from knowbound.errors import StoreError
from knowbound.judge.announcing import SILENT, AskingPlan, announcer
from knowbound.judge.models.completion import Completer, CompletionError, MalformedError, Recorded
from knowbound.judge.models.questions import (
    NO_SOURCE,
    AnswerSource,
    AskedEntry,
    AskResult,
    CallCosts,
    EntryGroup,
    OpenQuestion,
    sendable,
)
from knowbound.judge.names import JudgeOptions
from knowbound.judge.prompts import PromptFile, input_hash
from knowbound.text.printable import estimated_tokens
from knowbound.text.redact import redact

_T = TypeVar("_T")
_TIME_IS_OVER = "the time is over"
_BACK_OFF_SECONDS = 0.25  # before the second call; each further wait is twice as long
_COMPLAINT_CHARACTERS = 300
_NOT_ASKED = "it was not asked"
_INTERRUPTED = "asking was interrupted"


class AnswerStore(Protocol):
    """Store of valid answers beyond the process."""

    def answer(self, prompt: str, model: str, sha256: str) -> bytes | None:
        """Return the answer of this model to this version of a prompt with this material, as JSON."""

    def keep_answer(
        self, prompt: str, model: str, sha256: str, answer: bytes, session: str = "", project: str = ""
    ) -> None:
        """Store an answer, with the session and the project that its material is from."""


class MemoryAnswers:
    """Answers of this process."""

    def __init__(self) -> None:
        self._answers: dict[tuple[str, str, str], bytes] = {}

    def answer(self, prompt: str, model: str, sha256: str) -> bytes | None:
        """Return a kept answer."""
        return self._answers.get((prompt, model, sha256))

    def keep_answer(
        self, prompt: str, model: str, sha256: str, answer: bytes, session: str = "", project: str = ""
    ) -> None:
        """Keep an answer."""
        self._answers[prompt, model, sha256] = answer


class Allowance(Protocol):
    """Calls and costs that the user allows, counted over all processes."""

    def reserve(self) -> str:
        """Reserve one call. Returns "" or the reason to make none."""

    def record(self, usd: float | None, limit: str = "") -> None:
        """Record the known cost of a call, and the provider's own words if it refused by a limit of the plan."""


class AskingUsage(msgspec.Struct, frozen=True):
    """Calls with their tokens and costs; None if unknown for one call."""

    calls: int
    usd: float | None
    tokens_in: int | None
    tokens_out: int | None
    own_tokens: int  # estimated, of the texts that were sent
    seconds: float  # of all calls together


class Asker:
    """Asks one judge for several threads, which share its limits.

    It counts all costs and stops at the budget. After a hopeless failure (a refused key, a missing program, the limit
    of a plan) the further questions get the same problem without a call.
    """

    def __init__(
        self,
        judge: str,
        completer: Completer,
        options: JudgeOptions,
        store: AnswerStore | None = None,
        allowance: Allowance | None = None,
        source: AnswerSource = NO_SOURCE,
    ) -> None:
        """`source` is that of questions which name no other."""
        self.judge, self._source = judge, source
        self._completer, self._options, self._allowance = completer, options, allowance
        self._store: AnswerStore = MemoryAnswers() if store is None else store
        self._lock = threading.Lock()
        self._slots = threading.BoundedSemaphore(max(1, options.concurrency))
        self._stopped = threading.Event()
        self._hopeless = ""  # why every further call would fail
        self._spent = 0.0  # USD, as far as known
        self._total, self._own_tokens, self._seconds = CallCosts(), 0, 0.0  # own: estimated by us

    @property
    def usage(self) -> AskingUsage:
        """Calls, tokens and costs so far."""
        return AskingUsage(self._total.attempts, *self._total.sums, self._own_tokens, self._seconds)

    def ask(
        self,
        prompt: PromptFile,
        inputs: Sequence[Mapping[str, str]],
        type_: type[_T],
        checks: Sequence[Callable[[_T], str]] = (),
        sources: Sequence[AnswerSource] = (),
        until: float = math.inf,
    ) -> list[AskResult[_T]]:
        """Return one result per input, in order. Equal inputs are asked once.

        `checks` has a function for each input: it returns the problem of an answer of the right type, or "". An answer
        with a problem is asked for again and not cached. `sources` says where the material of each input comes from.
        No call goes on after `until` (`time.monotonic()`).
        """
        groups, check_of = list[EntryGroup](), dict[str, Callable[[_T], str]]()
        all_checks, all_sources = checks or [_accept_all] * len(inputs), sources or [self._source] * len(inputs)
        for material, check, source in zip(inputs, all_checks, all_sources, strict=True):
            texts = {name: sendable(text) for name, text in material.items()}
            entry = AskedEntry("", {}, input_hash(texts), source)
            check_of.setdefault(entry.key, check)
            groups.append(EntryGroup([entry], texts))
        results = self._ask_groups(prompt, groups, type_, 1, lambda entry, value: check_of[entry.key](value), until)
        return [result for (result,) in results]

    def ask_entries(
        self,
        prompt: PromptFile,
        groups: Sequence[EntryGroup],
        type_: type[_T],
        *,
        size: int,
        check: Callable[[AskedEntry, _T], str] | None = None,
    ) -> list[list[AskResult[_T]]]:
        """Return one result per entry of each group, in order, asking about at most `size` entries in a call.

        The type has a field `id`. `check` returns the problem of an answer about an entry, or "". Entries with equal
        keys are asked once.
        """
        shown = [
            EntryGroup(group.entries, {name: sendable(text) for name, text in group.shared.items()}) for group in groups
        ]
        return self._ask_groups(prompt, shown, type_, size, check or _accept_all)

    def _ask_groups(
        self,
        prompt: PromptFile,
        groups: Sequence[EntryGroup],
        type_: type[_T],
        size: int,
        check: Callable[[AskedEntry, _T], str],
        until: float = math.inf,
    ) -> list[list[AskResult[_T]]]:
        """Return one result per entry of each group: a kept answer, or that of the model."""
        results: dict[str, AskResult[_T]] = {}
        questions: list[OpenQuestion[_T]] = []
        seen: set[str] = set()
        for group in groups:
            unanswered: list[AskedEntry] = []
            for entry in group.entries:
                if entry.key in seen:
                    continue
                seen.add(entry.key)
                kept_answer = self.known(prompt, entry.key, type_)
                if kept_answer is not None and not check(entry, kept_answer):
                    results[entry.key] = AskResult(kept_answer, cached=True)
                else:
                    unanswered.append(entry)
            for start in range(0, len(unanswered), size):
                questions.append(OpenQuestion(prompt, group.shared, unanswered[start : start + size], type_, check))
        self._ask_all(questions, until)
        for question in questions:
            results |= question.results()
        return _in_order(groups, results)

    def _ask_all(self, questions: Sequence[OpenQuestion[_T]], until: float) -> None:
        """Ask several questions at once; keep each good answer at once, so that an interruption loses little."""
        if not questions:
            return
        reporting = SILENT if isinstance(self._completer, Recorded) else announcer()  # a recording costs nothing
        plan = AskingPlan(self.judge, [question.next_call() for question in questions])
        if not reporting.begin(plan):
            for question in questions:
                question.problem = _NOT_ASKED
            return
        pool = ThreadPoolExecutor(max(1, min(self._options.concurrency, len(questions))))
        try:
            asked = {pool.submit(self._ask_in_a_slot, question, until): question for question in questions}
            for done, future in enumerate(as_completed(asked), 1):
                future.result()  # raises what interrupted it
                question = asked[future]
                for key, answer, source in question.valid():
                    version = question.prompt.version
                    self._store.keep_answer(version, self.judge, key, answer, source.session, source.project)
                reporting.advance(done, len(questions), self._spent)
        except BaseException:
            self._stopped.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        finally:
            reporting.end()
        pool.shutdown()

    def _ask_in_a_slot(self, question: OpenQuestion[_T], until: float) -> None:
        with self._slots:  # held during waits too: a server that asks for a wait gets no other question
            self._ask_one(question, until)

    def _ask_one(self, question: OpenQuestion[_T], until: float) -> None:
        """Ask until there is a usable answer, within the retries and the time of one question."""
        retries = self._options.retries
        end = min(until, time.monotonic() + self._options.seconds * (retries + 1))
        for attempt in range(retries + 1):
            if reason := self._reason_to_stop():
                question.problem = question.problem or reason
                return
            left = min(self._options.seconds, end - time.monotonic())
            if left <= 0:
                question.problem = question.problem or _TIME_IS_OVER
                return
            is_last_try = bool(question.complaint)  # an answer that cannot be used is asked for once more
            failure = self._try(question, left)
            if failure is None:
                question.problem = ""
                return
            question.problem = failure.problem
            if not failure.again or attempt == retries or is_last_try:
                return
            pause = _BACK_OFF_SECONDS * 2**attempt if failure.after is None else failure.after
            if time.monotonic() + pause >= end:
                question.problem += f" (it asks for a wait of {pause:g} seconds)" if failure.after else ""
                return
            self._stopped.wait(pause)

    def _try(self, question: OpenQuestion[_T], seconds: float) -> CompletionError | None:
        """Make one call: return the failure, or None once the question is answered."""
        question.tally.attempts += 1
        call = question.next_call()
        with self._lock:
            self._own_tokens += estimated_tokens(call.instructions) + estimated_tokens(call.text)
        began = time.monotonic()
        try:
            completion = self._completer.complete(call, seconds=seconds)
        except CompletionError as error:
            tokens = None if error.usd is None else 0  # a call that was cut off may have used tokens
            self._count(question.tally, error.usd, tokens, tokens, error.problem if error.limit else "")
            if error.hopeless:
                self._hopeless = error.problem
            return error
        except Exception as error:  # the other questions go on, whatever a library raises
            self._count(question.tally, None, None, None)
            return CompletionError(f"{type(error).__name__}: {redact(str(error))[:_COMPLAINT_CHARACTERS]}")
        with self._lock:
            self._seconds += time.monotonic() - began
        self._count(question.tally, completion.usd, completion.tokens_in, completion.tokens_out)
        try:
            problem = question.take(completion.text)
        except MalformedError as error:
            problem = str(error)
        if not problem:
            return None
        wrong = redact(problem)[:_COMPLAINT_CHARACTERS]
        question.complaint = f"\nYour last answer could not be used: {wrong}. Answer with JSON alone."
        return CompletionError(f"the answer cannot be used: {wrong}", again=True, after=0.0)  # no wait is needed

    def _count(
        self, tally: CallCosts, usd: float | None, tokens_in: int | None, tokens_out: int | None, limit: str = ""
    ) -> None:
        """Add a call to the costs of its question, to all costs, and to what the user allows."""
        tally.add(usd, tokens_in, tokens_out)
        with self._lock:
            self._total.attempts += 1
            self._total.add(usd, tokens_in, tokens_out)
            self._spent += usd or 0.0
        if self._allowance is not None:
            with suppress(StoreError):  # the answer is paid for: a damaged counter must not lose it
                self._allowance.record(usd, limit)

    def _reason_to_stop(self) -> str:
        """Return the reason to make no further call, or "" after the call was counted (`reserve`)."""
        if self._hopeless:
            return self._hopeless
        if self._stopped.is_set():
            return _INTERRUPTED
        limit = self._options.usd
        if limit is not None and self._spent >= limit:
            return f"the budget of {limit:g} USD is spent"
        try:
            return self._allowance.reserve() if self._allowance is not None else ""
        except StoreError as error:
            return f"calls cannot be counted: {error}"

    def known(self, prompt: PromptFile, key: str, type_: type[_T]) -> _T | None:
        """Return the kept answer to a question or about an entry, if there is one."""
        kept = self._store.answer(prompt.version, self.judge, key)
        try:
            return None if kept is None else msgspec.json.decode(kept, type=type_)
        except msgspec.MsgspecError:
            return None  # written by a version with another type


def _in_order(groups: Sequence[EntryGroup], done: Mapping[str, AskResult[_T]]) -> list[list[AskResult[_T]]]:
    """Return the results in order. A repeated entry has no costs: its answer is a copy of the first."""
    seen: set[str] = set()

    def result(key: str) -> AskResult[_T]:
        if key not in seen:
            seen.add(key)
            return done[key]
        return AskResult(done[key].value, done[key].problem, cached=done[key].value is not None)

    return [[result(entry.key) for entry in group.entries] for group in groups]


def _accept_all(*_asked: object) -> str:
    return ""
