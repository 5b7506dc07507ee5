"""`judge label`: a person labels sentences, or the injected items of turns.

Specification 2, "The judge", asks for 50 hand-labelled turns, and for a weekly sample of 10.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

import click

from knowbound.cli.options import user_name
from knowbound.cli.output import echo, width
from knowbound.judge.labels import (
    LABELS,
    TURN_LABELS,
    ItemLabel,
    Label,
    Unlabelled,
    UnlabelledTurn,
    append_label,
    append_turn,
    given_sentences,
    given_turns,
    labelled_ids,
    labelled_texts,
    take_back,
)
from knowbound.text.clock import utc_now
from knowbound.text.printable import counted

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.core.quality import JudgedItem

_WORDS = {word: word[0] for word in ("yes", "no", "skip", "undo", "quit")}
_SENTENCE_KEYS = "y yes · n no · s skip · u undo · q quit"
_SENTENCE_QUESTION = "Does the agent say that it is not sure of a fact?"
_TURN_KEYS = "y yes · n no · s skip the item · u undo · q quit"
_TURN_QUESTIONS = (
    "On topic: does it bear on what the prompt asks?",
    "Used: does the answer or a tool call restate it, act on it or cite it?",
    "Contradicted: is the answer, or a tool result that it reports, incompatible with it?",
)
_PROMPT_LINES, _ANSWER_LINES, _CALL_LINES, _ITEM_LINES = 30, 60, 6, 30
_Item = TypeVar("_Item")
_Given = TypeVar("_Given")


def label_sentences(settings: Settings, input_: Path | None, count: int, seed: int, path: Path | None, by: str) -> None:
    """Label the sentences of a file, or of the newest stored run, that have no label yet."""
    from knowbound.gaps.labelling import label_candidates

    path = path or settings.home / LABELS
    known = labelled_texts(path)
    todo = given_sentences(input_, known)[:count] if input_ else label_candidates(settings, count, seed, known)
    _SentenceLabelling(path, by or user_name()).run(todo)


def label_turns(settings: Settings, input_: Path | None, count: int, seed: int, path: Path | None, by: str) -> None:
    """Label the turns of a file, or of the quality log, that have no labels yet."""
    from knowbound.quality.turns.found import turns_to_label

    path = path or settings.home / TURN_LABELS
    known = labelled_ids(path)
    todo = given_turns(input_, known)[:count] if input_ else turns_to_label(settings, count, seed, known)
    _TurnLabelling(path, by or user_name()).run(todo)


class _Move(Enum):
    """An answer that is no label."""

    SKIP = "s"
    UNDO = "u"
    QUIT = "q"


class _Labelling(ABC, Generic[_Item, _Given]):
    """Asks for labels; each label is written before the next question."""

    stays = "the label stays"

    def __init__(self, path: Path, by: str) -> None:
        self.path, self.by = path, by
        self._written: list[tuple[int, bytes, _Given]] = []  # position in the list, bytes written, label

    @abstractmethod
    def ask(self, item: _Item, number: str) -> _Given | _Move:
        """Show an item and ask for its label."""

    @abstractmethod
    def write(self, item: _Item, given: _Given) -> bytes:
        """Append a label to the file."""

    @abstractmethod
    def summary(self, given: list[_Given]) -> str:
        """Say what was labelled, and what to do next."""

    def run(self, todo: Sequence[_Item]) -> None:
        """Ask about every item, then print a summary, also after an interruption."""
        try:
            self._run(todo)
        finally:
            given = [one for _, _, one in self._written]
            echo(self.summary(given) if given else f"Nothing labelled in {self.path}.")

    def _run(self, todo: Sequence[_Item]) -> None:
        at = 0
        while at < len(todo):
            given = self.ask(todo[at], f"{at + 1} of {len(todo)}")
            if given is _Move.QUIT:
                return
            if given is _Move.UNDO:
                at = self._undo(at)
                continue
            if not isinstance(given, _Move):
                self._written.append((at, self.write(todo[at], given), given))
            at += 1

    def _undo(self, at: int) -> int:
        """Remove the last label. Returns the position to go on from."""
        if not self._written:
            echo("There is nothing to undo.", err=True)
            return at
        before, data, _ = self._written[-1]
        if not take_back(self.path, data):
            echo(f"{self.path} was changed by somebody else: {self.stays}.", err=True)
            return at
        self._written.pop()
        return before


class _SentenceLabelling(_Labelling[Unlabelled, bool]):
    """Asks one question about each sentence."""

    def __init__(self, path: Path, by: str) -> None:
        super().__init__(path, by)
        self._keys = _Keys(_SENTENCE_KEYS)

    def ask(self, item: Unlabelled, number: str) -> bool | _Move:
        """Show a sentence in its context and ask for its label."""
        from knowbound.report.formats.plain import plain, wrap

        text, context = plain(item.text), plain(item.context)
        echo(f"\n{number}", err=True)
        if context and context != text:
            echo("\n".join(f"  | {line}" for line in wrap(context, width() - 4, 12)), err=True)
        echo("\n".join(f"  {line}" for line in wrap(text, width() - 2, 20)), err=True)
        key = self._keys.next(f"{_SENTENCE_QUESTION}  {_SENTENCE_KEYS}")
        return key == "y" if key in "yn" else _Move(key)

    def write(self, item: Unlabelled, given: bool) -> bytes:
        """Append a label to the file."""
        label = Label(
            item.text,
            given,
            context=item.context,
            by=self.by,
            time=utc_now(),
            session=item.session,
            weight=item.weight,
        )
        return append_label(self.path, label)

    def summary(self, given: list[bool]) -> str:
        """Say how many sentences have which label."""
        counts = f"{len(given)} labelled: {sum(given)} yes, {len(given) - sum(given)} no"
        return f"{counts}, in {self.path}. Next: knowbound judge calibrate"


class _TurnLabelling(_Labelling[UnlabelledTurn, dict[str, ItemLabel]]):
    """Asks three questions about each injected item of a turn."""

    stays = "the labels stay"

    def __init__(self, path: Path, by: str) -> None:
        super().__init__(path, by)
        self._keys = _Keys(_TURN_KEYS, several=True)

    def ask(self, item: UnlabelledTurn, number: str) -> dict[str, ItemLabel] | _Move:
        """Show a turn and ask for the labels of its items; UNDO before the first item goes back to the last turn."""
        _print(_turn_lines(item, number))
        given: list[ItemLabel | None] = []
        while len(given) < len(item.items):
            label = self._ask_item(item.items[len(given)], f"Item {len(given) + 1} of {len(item.items)}")
            if label is _Move.QUIT:
                return label
            if label is _Move.UNDO:
                if not given:
                    return label
                given.pop()
            else:
                given.append(None if isinstance(label, _Move) else label)
        labels = {one.id: label for one, label in zip(item.items, given, strict=True) if label}
        return labels or _Move.SKIP

    def _ask_item(self, item: JudgedItem, number: str) -> ItemLabel | _Move:
        """Ask for the label of an item. After a first answer, undo asks about the same item again."""
        _print(_item_lines(item, number))
        answers: list[bool] = []
        while len(answers) < len(_TURN_QUESTIONS):
            key = self._keys.next(_TURN_QUESTIONS[len(answers)])
            if key in "yn":
                answers.append(key == "y")
            elif key == "u" and answers:
                answers.clear()
            else:
                return _Move(key)
        return ItemLabel(*answers)

    def write(self, item: UnlabelledTurn, given: dict[str, ItemLabel]) -> bytes:
        """Append the labels of a turn to the file."""
        return append_turn(self.path, item, given, self.by, utc_now())

    def summary(self, given: list[dict[str, ItemLabel]]) -> str:
        """Say how many turns and items have which labels."""

        items = [label for labels in given for label in labels.values()]
        yes = [sum(getattr(label, name) for label in items) for name in ("on_topic", "used", "contradicted")]
        said = "{} on topic, {} used, {} contradicted".format(*yes)
        done = f"{counted(len(given), 'turn')} labelled, {counted(len(items), 'item')}: {said}, in {self.path}."
        return f"{done} Next: knowbound judge calibrate --question turns"


class _Keys:
    """The answers of a person: a key each on a terminal, else a line each; `several` allows a line such as `yyn`."""

    def __init__(self, usage: str, *, several: bool = False) -> None:
        self._usage, self._several = usage, several
        self._read: list[str] = []

    def next(self, question: str) -> str:
        """Return y, n, s, u or q; the end of the input is q."""
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
            elif typed and set(typed) <= set(_WORDS.values()) and (self._several or len(typed) == 1):
                self._read = list(typed)
            else:
                echo(self._usage, err=True)
        return self._read.pop(0)


# Text from traces is shown behind a margin, made plain


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
    yield _TURN_KEYS


def _wrapped(text: str, margin: str, most: int) -> Iterator[str]:
    """Yield the first lines of a text behind a margin, then the number of the other lines."""
    from knowbound.report.formats.plain import plain_lines, wrap

    room = width() - len(margin)
    lines = [part for line in plain_lines(text).splitlines() for part in wrap(line, room, most)]
    yield from (f"{margin}{line}".rstrip() for line in lines[:most])
    if len(lines) > most:
        yield f"{margin}… {len(lines) - most} more lines"
