"""`judge label`: a person labels sentences, or the injected items of turns.

Specification 2, "The judge", asks for 50 hand-labelled turns, and for a weekly sample of 10.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from knowbound.cli import options
from knowbound.cli.output import echo, width
from knowbound.judge import labels
from knowbound.text.clock import utc_now
from knowbound.text.printable import counted

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.core.quality import JudgedItem

_KEY_OF_WORD = {word: word[0] for word in ("yes", "no", "skip", "undo", "quit")}
_SKIP, _UNDO, _QUIT = "s", "u", "q"  # the answers that are no label
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
_LabelType = TypeVar("_LabelType", bool, dict[str, labels.ItemLabel])


def label_sentences(settings: Settings, input_: Path | None, count: int, seed: int, path: Path | None, by: str) -> None:
    """Label the sentences of a file, or of the newest stored run, that have no label yet."""
    from knowbound.gaps.reading import label_candidates
    from knowbound.report.formats.plain import plain, wrap

    file, by, keys = path or settings.home / labels.LABELS, by or options.user_name(), _Keys(_SENTENCE_KEYS)
    known = labels.labelled_texts(file)

    def ask(item: labels.Unlabelled, number: str) -> bool | str:
        text, context = plain(item.text), plain(item.context)
        echo(f"\n{number}", err=True)
        if context and context != text:
            echo("\n".join(f"  | {line}" for line in wrap(context, width() - 4, 12)), err=True)
        echo("\n".join(f"  {line}" for line in wrap(text, width() - 2, 20)), err=True)
        key = keys.next(f"{_SENTENCE_QUESTION}  {_SENTENCE_KEYS}")
        return key == "y" if key in "yn" else key

    def write(item: labels.Unlabelled, given: bool) -> bytes:
        more = {"context": item.context, "by": by, "time": utc_now(), "session": item.session}
        return labels.append_label(file, labels.Label(item.text, given, **more, weight=item.weight))

    def summary(given: list[bool]) -> str:
        counts = f"{len(given)} labelled: {sum(given)} yes, {len(given) - sum(given)} no"
        return f"{counts}, in {file}. Next: knowbound judge calibrate"

    todo = labels.given_sentences(input_, known)[:count] if input_ else label_candidates(settings, count, seed, known)
    _label(file, todo, ask, write, summary)


def label_turns(settings: Settings, input_: Path | None, count: int, seed: int, path: Path | None, by: str) -> None:
    """Label the turns of a file, or of the quality log, that have no labels yet."""
    from knowbound.quality.turns.found import turns_to_label

    file, by = path or settings.home / labels.TURN_LABELS, by or options.user_name()
    keys = _Keys(_TURN_KEYS, several=True)
    known = labels.labelled_ids(file)

    def ask(turn: labels.UnlabelledTurn, number: str) -> dict[str, labels.ItemLabel] | str:
        """Ask for the labels of the items. Undo before the first item goes back to the last turn."""
        _show(_turn_lines(turn, number))
        given: list[labels.ItemLabel | None] = []
        while len(given) < len(turn.items):
            label = _ask_item(turn.items[len(given)], f"Item {len(given) + 1} of {len(turn.items)}", keys)
            if label == _QUIT or (label == _UNDO and not given):
                return str(label)
            if label == _UNDO:
                given.pop()
            else:
                given.append(label if isinstance(label, labels.ItemLabel) else None)
        return {item.id: label for item, label in zip(turn.items, given, strict=True) if label} or _SKIP

    def summary(given: list[dict[str, labels.ItemLabel]]) -> str:
        items = [label for turn in given for label in turn.values()]
        yes = [sum(getattr(label, name) for label in items) for name in ("on_topic", "used", "contradicted")]
        counts = "{} on topic, {} used, {} contradicted".format(*yes)
        labelled = f"{counted(len(given), 'turn')} labelled, {counted(len(items), 'item')}: {counts}, in {file}."
        return f"{labelled} Next: knowbound judge calibrate --question turns"

    todo = labels.given_turns(input_, known)[:count] if input_ else turns_to_label(settings, count, seed, known)
    _label(file, todo, ask, lambda turn, given: labels.append_turn(file, turn, given, by, utc_now()), summary)


def _label(
    path: Path,
    todo: Sequence[_Item],
    ask: Callable[[_Item, str], _LabelType | str],
    write: Callable[[_Item, _LabelType], bytes],
    summary: Callable[[list[_LabelType]], str],
) -> None:
    """Ask for the label of every item, then print a summary, also after an interruption.

    `ask` returns a label or the key of a move. Each label is written before the next question.
    """
    written: list[tuple[int, bytes, _LabelType]] = []  # position in the list, bytes written, label
    position = 0
    try:
        while position < len(todo) and (given := ask(todo[position], f"{position + 1} of {len(todo)}")) != _QUIT:
            if given == _UNDO:
                position = _undo_last(path, written, position)
                continue
            if not isinstance(given, str):
                written.append((position, write(todo[position], given), given))
            position += 1
    finally:
        labels_given = [label for _, _, label in written]
        echo(summary(labels_given) if labels_given else f"Nothing labelled in {path}.")


def _undo_last(path: Path, written: list[tuple[int, bytes, _LabelType]], position: int) -> int:
    """Remove the last label. Returns the position to go on from."""
    if not written:
        echo("There is nothing to undo.", err=True)
        return position
    last_position, data, _ = written[-1]
    if not labels.take_back(path, data):
        echo(f"{path} was changed by somebody else: what is there stays.", err=True)
        return position
    written.pop()
    return last_position


def _ask_item(item: JudgedItem, number: str, keys: _Keys) -> labels.ItemLabel | str:
    """Ask for the label of an item. After a first answer, undo asks about the same item again."""
    _show(_item_lines(item, number))
    answers: list[bool] = []
    while len(answers) < len(_TURN_QUESTIONS):
        key = keys.next(_TURN_QUESTIONS[len(answers)])
        if key in "yn":
            answers.append(key == "y")
        elif key == _UNDO and answers:
            answers.clear()
        else:
            return key
    return labels.ItemLabel(*answers)


class _Keys:
    """The answers of a person: a key each on a terminal, else a line each; `several` allows a line such as `yyn`."""

    def __init__(self, usage: str, *, several: bool = False) -> None:
        self._usage, self._several = usage, several
        self._pending_keys: list[str] = []

    def next(self, question: str) -> str:
        """Return y, n, s, u or q; the end of the input is q."""
        echo(question, err=True)
        while not self._pending_keys:
            try:
                given = click.getchar() if sys.stdin.isatty() else sys.stdin.readline()
            except EOFError:
                return "q"
            if not given:
                return "q"
            typed = given.strip().lower()
            if typed in _KEY_OF_WORD:
                self._pending_keys = [_KEY_OF_WORD[typed]]
            elif typed and set(typed) <= set(_KEY_OF_WORD.values()) and (self._several or len(typed) == 1):
                self._pending_keys = list(typed)
            else:
                echo(self._usage, err=True)
        return self._pending_keys.pop(0)


# Text from traces is shown behind a margin, made plain


def _show(lines: Iterator[str]) -> None:
    echo("\n".join(lines), err=True)


def _turn_lines(turn: labels.UnlabelledTurn, number: str) -> Iterator[str]:
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
