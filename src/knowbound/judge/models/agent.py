"""The agent of a session as the model: questions are queued for it, and its answers are kept like any model's.

    knowbound quality score --again --model agent:claude-code      queues the questions
    next_questions, answer                                         tools that the agent calls when the user asks for it

A question that is queued has no answer yet, so rules decide meanwhile. The same command finds the answers later, and
verifies them as those of any model: a quotation has to be verbatim in the material.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from knowbound.errors import InputError
from knowbound.judge.material import is_quoted
from knowbound.judge.models.completion import Completion, CompletionError, MalformedError, ModelQuestion, parse_answer
from knowbound.store.judges import AgentQuestions, ModelAnswers, QueuedEntry, QueuedQuestion, question_id
from knowbound.text.redact import redact_value

MOST = 10  # questions in one batch
MOST_CHARACTERS = 60_000  # of the material in one batch: clients cut longer results of a tool
_TYPES = {"boolean": bool, "string": str, "array": list, "object": dict}
_QUOTE = "quote"  # name of a field that has to be verbatim in the material


class AgentModel:
    """Queues every question for the agent of a client; it never answers itself."""

    def __init__(self, judge: str, client: str, home: Path) -> None:
        self._judge, self._client, self._queue = judge, client, AgentQuestions(home)

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Queue the question, and raise CompletionError: the answer comes later, to `take_answer`."""
        entries = tuple(QueuedEntry(*entry) for entry in question.entries)
        id_ = question_id(self._judge, question.version, entries)
        queued = QueuedQuestion(
            id=id_,
            judge=self._judge,
            prompt=question.prompt,
            version=question.version,
            instructions=question.instructions,
            text=question.text,
            schema=question.schema,
            entries=entries,
        )
        self._queue.put(self._client, queued)
        raise CompletionError(f'it waits for {self._client}: say there "answer knowbound\'s questions"')


class AnsweredQuestion(msgspec.Struct, frozen=True):
    """The outcome of an answer."""

    accepted: int  # entries
    rejected: dict[str, str]  # the problem of each other entry by its id; "" is the id of a single thing
    question: str  # by which the rejected entries are answered; "" if there are none
    left: int  # open questions


def next_questions(home: Path, client: str, most: int) -> tuple[list[QueuedQuestion], int]:
    """Return the next questions for a client, and how many are open in all."""
    open_questions = AgentQuestions(home).open(client)
    batch: list[QueuedQuestion] = []
    size = 0
    for question in open_questions[: max(1, min(most, MOST))]:
        size += len(question.text)
        if batch and size > MOST_CHARACTERS:
            break
        batch.append(question)
    return batch, len(open_questions)


def take_answer(home: Path, client: str, id_: str, text: str, keep_days: int = 0) -> AnsweredQuestion:
    """Keep the entries of an answer that fit their question. Raises InputError."""
    queue, answers = AgentQuestions(home), ModelAnswers(home, keep_days)
    try:
        given = parse_answer(text, dict)
    except MalformedError as error:
        raise InputError("bad-answer", f"The answer to {id_[:40]} cannot be used: {error}.") from error
    question = queue.take(client, id_)
    if question is None:
        raise InputError("no-question", f"No open question {id_[:40]!r} for {client}. Try: next_questions")
    rejected: dict[str, str] = {}
    accepted: set[str] = set()
    for entry in question.entries:
        value = _answer_about(given, entry)
        if problem := _problem(value, question):
            rejected[entry.id] = problem
        else:
            answer = json.dumps(redact_value(value), ensure_ascii=False).encode()
            answers.keep_answer(question.version, question.judge, entry.key, answer, entry.session, entry.project)
            accepted.add(entry.key)
    left = tuple(entry for entry in question.entries if entry.key not in accepted)
    id_of_rest = question_id(question.judge, question.version, left) if left else ""
    if left:
        queue.put(client, msgspec.structs.replace(question, id=id_of_rest, entries=left))
    return AnsweredQuestion(len(accepted), rejected, id_of_rest, len(queue.open(client)))


def _answer_about(given: dict[str, Any], entry: QueuedEntry) -> object:
    """Return what an answer says about an entry."""
    if not entry.id:  # the question is about one thing alone
        return given
    items = given.get("items")
    answers = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
    return next((answer for answer in answers if str(answer.get("id")) == entry.id), None)


def _problem(value: object, question: QueuedQuestion) -> str:
    """Return why an answer about an entry cannot be used; "" if nothing speaks against it."""
    if not isinstance(value, dict):
        return "there is nothing about it"
    schema: dict[str, Any] = dict(question.schema)
    if any(entry.id for entry in question.entries):  # the answers to several entries are a list
        schema = schema.get("properties", {}).get("items", {}).get("items", {}) or schema
    missing = [name for name in schema.get("required", ()) if name not in value]
    if missing:
        return f"{', '.join(missing)} is missing"
    for name, shape in schema.get("properties", {}).items():
        type_ = shape.get("type") if isinstance(shape, dict) else None
        if name in value and type_ in _TYPES and not isinstance(value[name], _TYPES[type_]):
            return f"{name} is not of type {type_}"
    wrong = [quote for quote in _quotes(value) if not is_quoted(quote, [question.text])]
    return f"the quotation is not in the material, word for word: {wrong[0][:100]!r}" if wrong else ""


def _quotes(value: object) -> Iterator[str]:
    """Yield every quotation in an answer that is not empty."""
    if isinstance(value, dict):
        for name, member in value.items():
            if name == _QUOTE and isinstance(member, str) and member.strip():
                yield member
            else:
                yield from _quotes(member)
    elif isinstance(value, list):
        for member in value:
            yield from _quotes(member)
