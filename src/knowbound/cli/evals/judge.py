"""`knowbound judge`: measure how far judges can be trusted, by labels that people give."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from knowbound.cli import options
from knowbound.cli.asking import asking_as_configured
from knowbound.cli.main import VerbGroup
from knowbound.cli.options import argument, option, verb
from knowbound.cli.output import Out, echo, width
from knowbound.errors import GATE_FAILED, UNDECIDED
from knowbound.judge.labels import (
    LABELS,
    RUBRIC,
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
from knowbound.report import SHORT_FORMATS
from knowbound.text.clock import utc_now
from knowbound.text.printable import counted

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.core.quality import JudgedItem


@click.group("judge", cls=VerbGroup)
def judge_command() -> None:
    """Measure how far judges can be trusted.

    A judge decides questions about text: whether a sentence is a hedge, how well an answer meets a rubric, whether an
    injected item was on topic, used or contradicted. Label some texts yourself, then compare the judge's verdicts with
    your labels.
    """


@verb("list", judge_command)
def list_(root: Path | None = options.root, out: Out = options.report(SHORT_FORMATS)) -> None:
    """List the judges: which can be used here, what the others need, and which ones are configured."""
    import msgspec

    from knowbound.config import ModelTask
    from knowbound.judge.choice import judge_for
    from knowbound.judge.registry import judges

    settings = options.settings_of(root)
    rows = judges()
    configured = {str(task): judge_for(settings, task) for task in ModelTask if task is not ModelTask.CHOOSE}
    if not settings.hedging_classifier_enabled:
        configured[ModelTask.HEDGES] = ""
    if out.format == "json":
        from knowbound.report.formats.json import json_text

        shown = {name: judge or None for name, judge in configured.items()}
        document = {"format": "knowbound.judges/1", "in_force": shown, "judges": msgspec.to_builtins(rows)}
        out.emit([json_text(document)])
        return
    table = [["judge", "kind", "usable", "needs, or lacks"]]
    table += [[row.form, row.kind, "yes" if row.usable else "no", row.why_not or row.needs] for row in rows]
    below = [f"Configured for {question}: {judge or 'none'}" for question, judge in configured.items()]
    out.emit(_as_table(table, below, out.format))


def _as_table(table: list[list[str]], notes: Sequence[str], format_: str) -> Iterator[str]:
    """Yield the table and the notes below it, in Markdown or in aligned columns."""
    if format_ == "markdown":
        head, *rows = [[cell.replace("|", "\\|") for cell in row] for row in table]
        for row in (head, ["---"] * len(head), *rows):
            yield f"| {' | '.join(row)} |\n"
        yield "".join(f"\n{line}\n" for line in notes)
        return
    from knowbound.report.formats.plain import aligned

    for row in aligned(table, ()):
        yield "   ".join(row).rstrip() + "\n"
    yield "\n" + "".join(f"{line}\n" for line in notes)


@verb("label", judge_command)
def label(
    question: str = option(
        "What is labelled: sentences, or the injected items of turns.", choices=("hedging", "turns"), default="hedging"
    ),
    input_: Path | None = option("Label the sentences of FILE, or its turns."),
    count: int = option("Sentences or turns to label.", within=(1, 10_000), default=50),
    seed: int = option("Which ones are drawn.", default=0),
    labels: Path | None = option("The file of labels (default: in the data folder)."),
    by: str = option("Who labels (default: you)."),
    root: Path | None = options.root,
) -> None:
    """Label by hand: sentences (is the agent not sure of a fact?), or the items injected into turns.

    The sentences are drawn from the sessions of the newest stored run: some that the judge kept, some that it
    dropped. The judge's verdict is not shown. Answer y or n; s skips, u undoes the last label, q quits. Every label
    is written at once. Without a terminal, answers are read line by line.

    With --question turns, turns are drawn from the quality log, as many with a contradiction that the judge saw as
    others. Each item has three questions: on topic, used, contradicted. Without a terminal a line may answer all
    three: yyn. FILE has a turn per line: {"id", "prompt", "items": [{"id", "content"}], "response", "tool_calls"}.
    """
    if question == "turns":
        label_turns(options.project_settings(root), input_, count, seed, labels, by)
    else:
        label_sentences(options.settings_of(root), input_, count, seed, labels, by)


@verb("calibrate", judge_command, around=asking_as_configured)
def calibrate(
    labels: Path | None = argument(),
    judge: str = option("The judge (default: the configured one).", metavar="NAME"),
    question: str = option("What the labels answer.", choices=("hedging", "rubric", "turns"), default="hedging"),
    aside: float | None = option(
        "Use only the labels of this share of the sessions, chosen by hash.",
        type=click.FloatRange(0, 1, min_open=True),
        metavar="FRACTION",
    ),
    run: bool = option("Correct the rate of the newest stored run; this reads its sessions again."),
    min_kappa: float | None = option(
        "Exit 1 when the whole interval of κ is below this.", type=click.FloatRange(-1, 1), metavar="κ"
    ),
    strict: bool = option("Exit 3 when there are too few labels to decide."),
    root: Path | None = options.root,
    out: Out = options.report(SHORT_FORMATS),
) -> int:
    """Compare a judge's verdicts with labels: sensitivity, specificity, κ, and whether there are enough labels.

    LABELS is a file of labels (default: in the data folder labels.jsonl, for turns turn-labels.jsonl). A judge is good
    enough when the whole interval of κ is at or above --min-kappa (0.6 where it is not given).

    With --question turns the judge of injected items is measured on each metric (on topic, used, contradicted): at
    least 50 labelled turns, agreement of at least 85% and above chance. Below that model.fallback is asked
    about the same turns. Exit 1 when a metric is halted or killed.
    """
    if question == "turns":
        if run or min_kappa is not None:
            raise click.UsageError("--run and --min-kappa are not about turns: their gate is on agreement.")
        return _calibrate_turns(options.project_settings(root), labels, judge, aside, strict, out)
    from knowbound.gaps.reading import judged_rate
    from knowbound.judge.calibration import calibrate_hedging, calibrate_rubric
    from knowbound.report.judging import render_calibration
    from knowbound.stats.calibration import WANTED_KAPPA, Trust

    settings = options.settings_of(root)
    path = labels or settings.home / LABELS
    wanted_kappa = WANTED_KAPPA if min_kappa is None else min_kappa
    if question == RUBRIC:
        if run:
            raise click.UsageError("--run is about hedging: a rubric has no rate in a run.")
        report = calibrate_rubric(settings, path, judge, wanted_kappa, aside)
    else:
        rate_of = partial(judged_rate, settings) if run else None
        report = calibrate_hedging(settings, path, judge, wanted_kappa, aside, rate_of=rate_of)
    out.emit([render_calibration(report, out.format, width=width())])
    verdict = report.found.decision.verdict
    if verdict is Trust.BAD and min_kappa is not None:
        return GATE_FAILED
    return UNDECIDED if verdict is Trust.UNDERPOWERED and strict else 0


def _calibrate_turns(
    settings: Settings, labels: Path | None, judge: str, aside: float | None, strict: bool, out: Out
) -> int:
    """Measure the judge of injected items, print the report, and return the exit code."""
    from knowbound.judge.calibration import calibrate_turns
    from knowbound.report.judging import render_calibration
    from knowbound.stats.judge_gate import GateState

    report = calibrate_turns(settings, labels or settings.home / TURN_LABELS, judge, aside)
    out.emit([render_calibration(report, out.format, width=width())])
    if report.states & {GateState.HALTED, GateState.KILLED}:
        return GATE_FAILED
    return UNDECIDED if strict and report.states & {GateState.UNDERPOWERED, GateState.UNMEASURED} else 0


# Labelling by hand. Specification 2, "The judge", asks for 50 hand-labelled turns, and for a weekly sample of 10.

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
_LabelType = TypeVar("_LabelType", bool, dict[str, ItemLabel])


def label_sentences(settings: Settings, input_: Path | None, count: int, seed: int, path: Path | None, by: str) -> None:
    """Label the sentences of a file, or of the newest stored run, that have no label yet."""
    from knowbound.gaps.reading import label_candidates
    from knowbound.report.formats.plain import plain, wrap

    file, by, keys = path or settings.home / LABELS, by or options.user_name(), _Keys(_SENTENCE_KEYS)
    known = labelled_texts(file)

    def ask(item: Unlabelled, number: str) -> bool | str:
        text, context = plain(item.text), plain(item.context)
        echo(f"\n{number}", err=True)
        if context and context != text:
            echo("\n".join(f"  | {line}" for line in wrap(context, width() - 4, 12)), err=True)
        echo("\n".join(f"  {line}" for line in wrap(text, width() - 2, 20)), err=True)
        key = keys.next(f"{_SENTENCE_QUESTION}  {_SENTENCE_KEYS}")
        return key == "y" if key in "yn" else key

    def write(item: Unlabelled, given: bool) -> bytes:
        more = {"context": item.context, "by": by, "time": utc_now(), "session": item.session}
        return append_label(file, Label(item.text, given, **more, weight=item.weight))

    def summary(given: list[bool]) -> str:
        counts = f"{len(given)} labelled: {sum(given)} yes, {len(given) - sum(given)} no"
        return f"{counts}, in {file}. Next: knowbound judge calibrate"

    todo = given_sentences(input_, known)[:count] if input_ else label_candidates(settings, count, seed, known)
    _label(file, todo, ask, write, summary)


def label_turns(settings: Settings, input_: Path | None, count: int, seed: int, path: Path | None, by: str) -> None:
    """Label the turns of a file, or of the quality log, that have no labels yet."""
    from knowbound.quality.found_turns import turns_to_label

    file, by = path or settings.home / TURN_LABELS, by or options.user_name()
    keys = _Keys(_TURN_KEYS, several=True)
    known = labelled_ids(file)

    def ask(turn: UnlabelledTurn, number: str) -> dict[str, ItemLabel] | str:
        """Ask for the labels of the items. Undo before the first item goes back to the last turn."""
        echo("\n".join(_turn_lines(turn, number)), err=True)
        given: list[ItemLabel | None] = []
        while len(given) < len(turn.items):
            label = _ask_item(turn.items[len(given)], f"Item {len(given) + 1} of {len(turn.items)}", keys)
            if label == _QUIT or (label == _UNDO and not given):
                return str(label)
            if label == _UNDO:
                given.pop()
            else:
                given.append(label if isinstance(label, ItemLabel) else None)
        return {item.id: label for item, label in zip(turn.items, given, strict=True) if label} or _SKIP

    def summary(given: list[dict[str, ItemLabel]]) -> str:
        items = [label for turn in given for label in turn.values()]
        yes = [sum(getattr(label, name) for label in items) for name in ("on_topic", "used", "contradicted")]
        counts = "{} on topic, {} used, {} contradicted".format(*yes)
        labelled = f"{counted(len(given), 'turn')} labelled, {counted(len(items), 'item')}: {counts}, in {file}."
        return f"{labelled} Next: knowbound judge calibrate --question turns"

    todo = given_turns(input_, known)[:count] if input_ else turns_to_label(settings, count, seed, known)
    _label(file, todo, ask, lambda turn, given: append_turn(file, turn, given, by, utc_now()), summary)


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
    if not take_back(path, data):
        echo(f"{path} was changed by somebody else: what is there stays.", err=True)
        return position
    written.pop()
    return last_position


def _ask_item(item: JudgedItem, number: str, keys: _Keys) -> ItemLabel | str:
    """Ask for the label of an item. After a first answer, undo asks about the same item again."""
    echo("\n".join(_item_lines(item, number)), err=True)
    answers: list[bool] = []
    while len(answers) < len(_TURN_QUESTIONS):
        key = keys.next(_TURN_QUESTIONS[len(answers)])
        if key in "yn":
            answers.append(key == "y")
        elif key == _UNDO and answers:
            answers.clear()
        else:
            return key
    return ItemLabel(*answers)


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
