"""`knowbound rescue`: replay missed lookups, and print where their targets really are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowbound.cli.asking import asking_options
from knowbound.cli.options import project_settings, report_options, root_option
from knowbound.cli.output import emit
from knowbound.errors import InputError
from knowbound.files import numbered_lines

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.lessons.rescue.words import Rescue


@click.command("rescue")
@click.option(
    "--input", "input_", type=click.Path(path_type=Path), required=True,
    help="Read events of PostToolUse or PostToolUseFailure, as the client sends them, one per line, each with an id.",
)  # fmt: skip
@root_option
@report_options(("text", "jsonl"))
@asking_options()
def command(input_: Path, root: Path | None, format_: str, output: Path | None) -> int:
    """Say for each missed lookup where the thing really is, or that it is nowhere, or nothing.

    The hooks say the same while an agent works (`install`). Here the events are recorded, and the tree is as it is now.
    Where rules are silent, a model that you allowed is asked; the tree verifies every place that it names.
    """
    emit(_answers(input_, project_settings(root), format_), output)
    return 0


def _answers(path: Path, settings: Settings, format_: str) -> Iterator[str]:
    """Answer each event with a line."""
    from knowbound.judge.choice import ModelTask, judge_for, may_see
    from knowbound.judge.registry import asker_for
    from knowbound.lessons.rescue.asking import SECONDS, indexed
    from knowbound.lessons.rescue.rescue import rescue

    events = list(_events(path))
    asker = asker_for(settings, judge_for(settings, ModelTask.RESCUE))
    with indexed(settings.root, settings.home) as tree:
        said = [rescue(event, tree, home=str(settings.home), seconds=SECONDS) for _, event in events]
        if asker is not None:
            from knowbound.lessons.rescue.asking import rescues_by_model

            left = [at for at, one in enumerate(said) if one.is_open]
            sees = partial(may_see, asker.judge, settings=settings)
            for at, one in zip(left, rescues_by_model([events[at][1] for at in left], tree, asker, sees), strict=True):
                said[at] = one if one.suggestions else said[at]
    for (number, event), one in zip(events, said, strict=True):
        yield _shown(event.get("id", number), one, format_)


def _events(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in numbered_lines(path):
        try:
            event = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError("bad-events", f"{path}, line {number}: {error}.") from error
        if not isinstance(event, dict):
            raise InputError("bad-events", f"{path}, line {number}: an event is a JSON object.")
        yield number, event


def _shown(id_: object, said: Rescue, format_: str) -> str:
    if format_ == "text":
        from knowbound.text.printable import one_line

        return f"{one_line(str(id_))}  {said.text or '(silent)'}\n"
    places = [{"path": one.path, "line": one.line, "why": one.why} for one in said.suggestions]
    row = {"id": id_, "status": said.status, "rule": said.rule, "text": said.text, "suggestions": places}
    return json.dumps(row, ensure_ascii=False) + "\n"
