"""Labelled turns of real sessions: ids and labels are in this repository (`bench/turns/real.jsonl`), the texts are not.

A turn's id is the stem of its trace and its index in there. An item's id begins with "q", then the first ten digits of
the SHA-256 of its text: a piece of the instructions that were injected somewhere in those traces, or of a Markdown file
that was read there. So the texts are found again in the traces that lie beside the repository; without those there
are no real turns, and the reason is said. Every project is a set of its own, to be left out whole.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from bench.labels import SHARED
from bench.turn_sets import REAL, WRITTEN_ITEMS, Label, LabelledTurn
from knowbound.core.quality import JudgedCall, JudgedItem, JudgedTurn
from knowbound.core.trace import Outcome, ToolKind
from knowbound.errors import InputError
from knowbound.kms.pieces import split
from knowbound.quality.joining import TurnSources, join
from knowbound.traces.turns import TraceTurn, session_of, turns_in

TRACES = SHARED / "traces"
_FOLDERS = (
    "codex",
    "copilot-cli",
    "claude-code/entire",
    "claude-code/newer",
    "claude-code/packmind",
    "claude-code/cipherbox",
)
_INSTRUCTIONS = ("instructions", "hook", "nested")
_MOST_OF_AN_OUTPUT = 20_000
# Which project a session is of: its folder, or how its file's name begins.
_PROJECTS = {
    "entire": "entire",
    "planetfall": "planetfall",
    "ShamsiievDmytro": "statistics",
    "session-bridge": "bridge",
}


class _Row(msgspec.Struct):
    turn: str
    item: str
    on_topic: bool
    used: bool
    contradicted: bool

    @property
    def label(self) -> Label:
        return Label(self.on_topic, self.used, self.contradicted)


class _WrittenItem(msgspec.Struct):
    id: str
    content: str
    kind: str
    on_topic: bool
    used: bool
    contradicted: bool


class _WrittenRow(msgspec.Struct):
    turn: str
    items: list[_WrittenItem]


def written_items() -> list[LabelledTurn]:
    """Turns of real sessions with items that were written and labelled for them (`turns/written_items.jsonl`)."""
    rows = [msgspec.json.decode(line, type=_WrittenRow) for line in WRITTEN_ITEMS.read_bytes().splitlines() if line]
    if not TRACES.is_dir():
        print(f"real turns skipped: no {TRACES.name} beside the repository", file=sys.stderr)
        return []
    _, turns = _texts(set(), {row.turn for row in rows})
    found = []
    for row in rows:
        if row.turn not in turns:
            print(f"real turns: {row.turn} is not in the traces", file=sys.stderr)
            continue
        path, trace = turns[row.turn]
        items = tuple(JudgedItem(item.id, item.content) for item in row.items)
        turn = msgspec.structs.replace(join(TurnSources(trace=trace), lambda _: None).judged, id=row.turn, items=items)
        labels = tuple(Label(item.on_topic, item.used, item.contradicted) for item in row.items)
        found.append(LabelledTurn(turn, labels, f"real {_project(path)}", "en", tuple(item.kind for item in row.items)))
    return found


def real_turns() -> list[LabelledTurn]:
    """The labelled turns whose texts are all found; what is not found is said on stderr."""
    rows = [msgspec.json.decode(line, type=_Row) for line in REAL.read_bytes().splitlines() if line]
    if not TRACES.is_dir():
        print(f"real turns skipped: no {TRACES.name} beside the repository", file=sys.stderr)
        return []
    items, turns = _texts({row.item for row in rows}, {row.turn for row in rows})
    labelled: dict[str, list[_Row]] = {}
    for row in rows:
        labelled.setdefault(row.turn, []).append(row)
    found = [
        _labelled(*turns[name], [row for row in several if row.item in items], items)
        for name, several in labelled.items()
        if name in turns
    ]
    missing = len(rows) - sum(len(one.labels) for one in found)
    if missing:
        print(f"real turns: {missing} of {len(rows)} items are not in the traces", file=sys.stderr)
    return [one for one in found if one.labels]


def _labelled(path: Path, trace: TraceTurn, rows: list[_Row], items: dict[str, str]) -> LabelledTurn:
    judged = join(TurnSources(trace=trace), lambda _: None).judged
    turn = JudgedTurn(
        id=f"{path.stem}/{trace.index}",
        prompt=judged.prompt,
        response=judged.response,
        items=tuple(JudgedItem(row.item, items[row.item]) for row in rows),
        tool_calls=tuple(
            JudgedCall(call.name, call.input, call.output[:_MOST_OF_AN_OUTPUT]) for call in judged.tool_calls
        ),
    )
    return LabelledTurn(turn, tuple(row.label for row in rows), f"real {_project(path)}", "en")


def _project(path: Path) -> str:
    for begins, name in _PROJECTS.items():
        if path.parent.name == begins or path.stem.startswith(begins):
            return name
    return "agentv"


def _texts(items: set[str], turns: set[str]) -> tuple[dict[str, str], dict[str, tuple[Path, TraceTurn]]]:
    """The texts of the wanted items and the wanted turns, from all traces."""
    texts: dict[str, str] = {}
    found: dict[str, tuple[Path, TraceTurn]] = {}
    for path in sorted(path for folder in _FOLDERS for path in (TRACES / folder).rglob("*.jsonl")):
        try:
            several = list(turns_in(session_of(path)))
        except InputError:  # the file of a sub-agent, or of no session
            continue
        for turn in several:
            if (name := f"{path.stem}/{turn.index}") in turns:
                found.setdefault(name, (path, turn))
            if len(texts) < len(items):
                texts.update((one, text) for one, text in _identified(_documents(turn)) if one in items)
    return texts, found


def _documents(turn: TraceTurn) -> Iterator[str]:
    """The instructions that were injected into a turn, and the Markdown files that were read in it."""
    for one in turn.injections:
        if one.source.startswith(_INSTRUCTIONS) and not one.item:
            yield one.content
    for call in turn.calls:
        if call.kind is ToolKind.READ and call.query.lower().endswith(".md") and call.outcome is Outcome.OK:
            # Without the numbers that the tool puts before the lines.
            yield "\n".join(line.split("→", 1)[-1].split("\t", 1)[-1] for line in call.text.split("\n"))


def _identified(documents: Iterable[str]) -> Iterator[tuple[str, str]]:
    for document in documents:
        for piece in split(document).pieces:
            text = f"{piece.heading}: {piece.content}" if piece.heading else piece.content
            yield f"q{hashlib.sha256(text.encode()).hexdigest()[:10]}", text
