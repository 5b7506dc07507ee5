"""How well the items of other tools are found in transcripts: `python -m bench.others [FOLDER] [--part first|aside]`.

FOLDER has the texts that cannot be kept here, as ID.txt (README.md says from where each is); the written ones are in
`written.jsonl`. Every text becomes a turn of a transcript, as the client writes it, and is read like any trace. An item
is found if one that was taken out of the turn has its text, and no other item's; what is no item of the reader is
invented. The baseline takes every line that begins as an entry of a list, a table or a numbered line for an item.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from tests.transcripts import Transcript

from knowbound.stats.rate import Rate
from knowbound.traces.other_items import OtherItem, other_items
from knowbound.traces.turns import session_of, turns_in

HERE = Path(__file__).parent
_LEAST = 0.4  # of the letters of a label that a found item has, the marks of a line apart
_ENTRY = re.compile(r"\s*(?:[-*+•|]|\d+[.)]?)\s+\S")
_ADDRESS = re.compile(r"\]\([^()\s]+\)")
_NOT_LETTERS = re.compile(r"[\W_]+")


class Labelled(msgspec.Struct, frozen=True):
    """A text, and the items that a reader saw in it: first and last line, or quoted; id and confidence as stated."""

    id: str
    tool: str
    kind: str  # real, written
    source: str
    sha256_8: str
    part: str  # first, aside
    event: str
    items: tuple[tuple[int, int, str, float | None], ...]
    path: str = ""
    quoted: bool = False  # first and last are the characters of an item, in a text whose items share lines


class Score(msgspec.Struct):
    """Counts of some texts."""

    found: Rate = Rate()
    invented: Rate = Rate()
    ids: Rate = Rate()
    baseline: Rate = Rate()
    baseline_invented: Rate = Rate()

    def __iadd__(self, other: Score) -> Score:
        return Score(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


def letters(text: str) -> str:
    """Return the text as it is compared: without the address of a link, which is an id, and escapes of JSON."""
    return _NOT_LETTERS.sub("", _ADDRESS.sub("]", text).replace("\\n", "\n")).lower()


def labels_of(one: Labelled, text: str) -> list[str]:
    """Return the texts of the labelled items."""
    lines = text.split("\n")
    if one.quoted:
        return [text[first:last] for first, last, *_ in one.items]
    return ["\n".join(lines[first - 1 : last]) for first, last, *_ in one.items]


def taken_out(one: Labelled, text: str, folder: Path) -> list[OtherItem]:
    """Return the items of the turn that the text was injected into."""
    path = folder / f"{one.id}.jsonl"
    if one.tool == "codex":
        path = folder / f"rollout-{one.id}.jsonl"
        path.write_text("".join(_rollout(one, text)), "utf-8")
    else:
        script = Transcript()
        if one.path:
            kept = {"path": one.path, "content": text, "mtimeMs": 0}
            memories = {"type": "relevant_memories", "memories": [kept]}
            nested = {"type": "nested_memory", "path": one.path, "content": {"path": one.path, "content": text}}
            script.line("attachment", attachment=nested if one.path.endswith("/MEMORY.md") else memories)
        else:
            told = {"type": "hook_additional_context", "content": [text], "hookEvent": one.event}
            script.line("attachment", attachment=told)
        path = script.user("Go on.").says("Done.").write(folder)
    (turn,) = turns_in(session_of(path))
    path.unlink()
    return [item for injection in turn.injections for item in other_items(injection).items]


def _rollout(one: Labelled, text: str) -> Iterator[str]:
    def message(role: str, content: str) -> dict[str, object]:
        return {"type": "message", "role": role, "content": [{"type": "input_text", "text": content}]}

    hook, prompt = message("developer", text), message("user", "Go on.")
    if one.kind == "written":  # as clients from 0.166 on name the parts of a message
        hook["internal_chat_message_metadata_passthrough"] = {"content_item_kinds": ["hooks.additional_context"]}
    said: dict[str, object] = {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": "Done."}],
    }
    rows: list[tuple[str, dict[str, object]]] = [
        ("session_meta", {"id": one.id, "cwd": "/work/shop"}),
        ("event_msg", {"type": "task_started", "turn_id": "t1"}),
        ("response_item", message("developer", "<permissions instructions>\nAll.\n</permissions instructions>")),
        ("response_item", message("user", "<environment_context>\n</environment_context>")),
        ("turn_context", {"turn_id": "t1"}),
        *(("response_item", row) for row in ((hook, prompt) if one.event == "SessionStart" else (prompt, hook))),
        ("response_item", said),
    ]
    for kind, payload in rows:
        yield json.dumps({"timestamp": "2026-10-01T10:00:00Z", "type": kind, "payload": payload}) + "\n"


def matched(wanted: Sequence[str], given: Sequence[str]) -> dict[int, int]:
    """Return given → wanted, each once: a given text that is the wanted one, or most of it."""
    found: dict[int, int] = {}
    for at, text in enumerate(given):
        mine = letters(text)
        for number, label in enumerate(wanted):
            other = letters(label)
            is_part = mine in other and len(mine) >= _LEAST * len(other)
            if mine and number not in found.values() and (is_part or (other in mine and len(mine) < 1.5 * len(other))):
                found[at] = number
                break
    return found


def score(one: Labelled, text: str, folder: Path, *, shows: bool) -> Score:
    """Compare what was taken out of a text with its labels."""
    wanted, given = labels_of(one, text), taken_out(one, text, folder)
    found = matched(wanted, [item.content for item in given])
    named = [(given[at], one.items[number]) for at, number in found.items() if one.items[number][2]]
    lines = [line for line in text.split("\n") if _ENTRY.match(line)]
    plain = matched(wanted, lines)
    if shows:
        missed = [label for number, label in enumerate(wanted) if number not in found.values()]
        for sign, texts in (("-", missed), ("+", [x.content for at, x in enumerate(given) if at not in found])):
            print(*(f"    {one.id} {sign} {text[:110]!r}" for text in texts), sep="\n")
    return Score(
        found=Rate(len(found), len(wanted)),
        invented=Rate(len(given) - len(found), len(given)),
        ids=Rate(sum(item.id == label[2] for item, label in named), len(named)),
        baseline=Rate(len(plain), len(wanted)),
        baseline_invented=Rate(len(lines) - len(plain), len(lines)),
    )


def main() -> None:
    """Print the figures of every tool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--part", choices=("first", "aside"))
    parser.add_argument("--show", action="store_true", help="print what was missed and invented")
    arguments = parser.parse_args()
    written = {row["id"]: row["text"] for row in map(json.loads, (HERE / "written.jsonl").open(encoding="utf-8"))}
    rows = [msgspec.json.decode(line, type=Labelled) for line in (HERE / "labels.jsonl").read_bytes().splitlines()]
    scores: dict[str, Score] = {}
    with tempfile.TemporaryDirectory() as folder:
        for one in rows:
            path = arguments.folder / f"{one.id}.txt" if arguments.folder else None
            text = written.get(one.id) or (path.read_text("utf-8") if path and path.is_file() else "")
            if not text or (arguments.part and one.part != arguments.part):
                continue
            assert hashlib.sha256(text.encode()).hexdigest()[:8] == one.sha256_8, f"{one.id} is another text"
            total = score(one, text, Path(folder), shows=arguments.show)
            for name in (one.tool, "all"):
                scores[name] = scores.get(name, Score())
                scores[name] += total
    for name, total in sorted(scores.items(), key=lambda pair: pair[0] == "all"):
        print(f"{name:14} found {total.found}; invented {total.invented}; ids right {total.ids}")
        print(f"{'':14} every entry: found {total.baseline}; invented {total.baseline_invented}")


if __name__ == "__main__":
    main()
