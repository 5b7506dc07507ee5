"""`judge label --question turns`: three questions about each injected item of a turn, answered by a person.

Specification 2, "The judge": the 50 hand-labelled turns, and the weekly sample of 10.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli.echo import echo
from knowbound.cli.options import user_name, width
from knowbound.errors import InputError

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.core.quality import JudgedItem, JudgedTurn
    from knowbound.judge.turns.labels import ItemLabel, UnlabelledTurn
    from knowbound.quality.joining import TurnSources

_KEYS = "y yes · n no · s skip the item · u undo · q quit"
_WORDS = {word: word[0] for word in ("yes", "no", "skip", "undo", "quit")}
_QUESTIONS = (
    "On topic: does it bear on what the prompt asks?",
    "Used: does the answer or a tool call restate it, act on it or cite it?",
    "Contradicted: is the answer, or a tool result that it reports, incompatible with it?",
)
_PROMPT_LINES, _ANSWER_LINES, _CALL_LINES, _ITEM_LINES = 30, 60, 6, 30


class _Move(Enum):
    """What is done instead of labelling an item."""

    SKIP = "s"
    UNDO = "u"
    QUIT = "q"


def label_turns(settings: Settings, input_: Path | None, count: int, seed: int, path: Path, by: str) -> None:
    """Label turns of a file, or of the quality log, those that have no labels yet."""
    from knowbound.judge.turns.labels import given_turns, labelled_ids

    known = labelled_ids(path)
    todo = given_turns(input_, known)[:count] if input_ else _drawn(settings, count, seed, known)
    session = _Labelling(path, by or user_name())
    try:
        session.run(todo)
    finally:
        echo(session.summary())


def _drawn(settings: Settings, count: int, seed: int, known: frozenset[str]) -> list[UnlabelledTurn]:
    """Turns of the log, whole where their traces are still there."""
    from knowbound.judge.turns.drawing import draw_turns, to_label
    from knowbound.kms.quality_log.opening import open_quality_log
    from knowbound.quality.found_turns import FoundTurns

    with closing(open_quality_log(settings)) as log:
        drawn = draw_turns(log.since(""), count, seed, known)
        if not drawn:
            raise InputError(
                "nothing-to-label",
                "The quality log has no turn with injected items that is not labelled yet. "
                "Try: knowbound judge label --question turns --input FILE",
            )
        found = FoundTurns(settings.home, log)
        turns = [(turn, one.weight) for one in drawn if (turn := log.get(one.id))]
        return [to_label(turn, weight, _from_trace(found.again(turn))) for turn, weight in turns]


def _from_trace(sources: TurnSources) -> JudgedTurn | None:
    """The whole turn; None where its trace is gone."""
    from knowbound.quality.joining import join

    return join(sources, lambda _id: None).judged if sources.trace else None


class _Labelling:
    """Asks about one turn after the other; each is written before the next one is shown."""

    def __init__(self, path: Path, by: str) -> None:
        self._path, self._by = path, by
        self._keys = _Keys()
        self._written: list[tuple[int, bytes, dict[str, ItemLabel]]] = []  # place in the list, bytes written, labels

    def run(self, todo: Sequence[UnlabelledTurn]) -> None:
        at = 0
        while at < len(todo):
            labels = self._ask(todo[at], f"{at + 1} of {len(todo)}")
            if labels is _Move.QUIT:
                return
            if labels is _Move.UNDO:
                at = self._undo(at)
                continue
            if isinstance(labels, dict) and labels:
                self._write(at, todo[at], labels)
            at += 1

    def summary(self) -> str:
        from knowbound.report.words import counted

        items = [label for _, _, labels in self._written for label in labels.values()]
        if not items:
            return f"Nothing labelled in {self._path}."
        yes = [sum(getattr(label, name) for label in items) for name in ("on_topic", "used", "contradicted")]
        said = "{} on topic, {} used, {} contradicted".format(*yes)
        done = (
            f"{counted(len(self._written), 'turn')} labelled, {counted(len(items), 'item')}: {said}, in {self._path}."
        )
        return f"{done} Next: knowbound judge calibrate --question turns"

    def _ask(self, turn: UnlabelledTurn, number: str) -> dict[str, ItemLabel] | _Move:
        """The labels of a turn; UNDO where the turn before it is to be asked again."""
        _print(_turn_lines(turn, number))
        given: list[ItemLabel | None] = []
        while len(given) < len(turn.items):
            label = self._ask_item(turn.items[len(given)], f"Item {len(given) + 1} of {len(turn.items)}")
            if label is _Move.QUIT:
                return label
            if label is _Move.UNDO:
                if not given:
                    return label
                given.pop()
            else:
                given.append(None if isinstance(label, _Move) else label)
        return {item.id: label for item, label in zip(turn.items, given, strict=True) if label}

    def _ask_item(self, item: JudgedItem, number: str) -> ItemLabel | _Move:
        """The label of an item. After a first answer, undo asks about the same item again."""
        from knowbound.judge.turns.labels import ItemLabel

        _print(_item_lines(item, number))
        answers: list[bool] = []
        while len(answers) < len(_QUESTIONS):
            key = self._keys.next(_QUESTIONS[len(answers)])
            if key in ("y", "n"):
                answers.append(key == "y")
            elif key == "u" and answers:
                answers.clear()
            else:
                return _Move(key)
        return ItemLabel(*answers)

    def _write(self, at: int, turn: UnlabelledTurn, labels: dict[str, ItemLabel]) -> None:
        from knowbound.judge.turns.labels import append_turn
        from knowbound.text.clock import utc_now

        self._written.append((at, append_turn(self._path, turn, labels, self._by, utc_now()), labels))

    def _undo(self, at: int) -> int:
        """Remove the labels of the last turn; gives its place in the list."""
        from knowbound.judge.labels import take_back

        if not self._written:
            echo("There is nothing to undo.", err=True)
            return at
        before, data, _ = self._written[-1]
        if not take_back(self._path, data):
            echo(f"{self._path} was changed by somebody else: the labels stay.", err=True)
            return at
        self._written.pop()
        return before


class _Keys:
    """The answers: a key each on a terminal; without one lines, of one answer or several (`yyn`)."""

    def __init__(self) -> None:
        self._read: list[str] = []

    def next(self, question: str) -> str:
        """One of y, n, s, u, q; the end of the input is q."""
        echo(question, err=True)
        while not self._read:
            try:
                given = click.getchar() if sys.stdin.isatty() else sys.stdin.readline()
            except EOFError:
                return "q"
            if not given:
                return "q"
            typed = given.strip().lower()
            if typed in _WORDS:
                self._read = [_WORDS[typed]]
            elif typed and set(typed) <= set(_WORDS.values()):
                self._read = list(typed)
            else:
                echo(_KEYS, err=True)
        return self._read.pop(0)


# What is shown: text of others, made plain


def _print(lines: Iterator[str]) -> None:
    echo("\n".join(lines), err=True)


def _turn_lines(turn: UnlabelledTurn, number: str) -> Iterator[str]:
    from knowbound.report.formats.json import json_line

    yield f"\n── Turn {number}"
    yield "Prompt"
    yield from _wrapped(turn.prompt, "  | ", _PROMPT_LINES)
    if turn.tool_calls:
        yield "Tool calls"
    for call in turn.tool_calls:
        yield from _wrapped(f"{call.name} {json_line(call.input)}", "  > ", _CALL_LINES)
        yield from _wrapped(call.output, "    ", _CALL_LINES)
    yield "Answer"
    yield from _wrapped(turn.response, "  | ", _ANSWER_LINES)


def _item_lines(item: JudgedItem, number: str) -> Iterator[str]:
    yield f"\n{number}" + ("" if item.is_whole else " (only its beginning is known)")
    yield from _wrapped(item.content, "  * ", _ITEM_LINES)
    yield _KEYS


def _wrapped(text: str, margin: str, most: int) -> Iterator[str]:
    """The lines of a text behind a margin, which nothing in the text can leave; then how much is not shown."""
    from knowbound.report.formats.columns import wrap
    from knowbound.report.formats.plain import plain_lines

    room = width() - len(margin)
    lines = [part for line in plain_lines(text).splitlines() for part in wrap(line, room, most)]
    yield from (f"{margin}{line}".rstrip() for line in lines[:most])
    if len(lines) > most:
        yield f"{margin}… {len(lines) - most} more lines"
