"""The part of a turn that a model is shown, so that one call is bounded however long the turn was.

Items share `ITEMS` characters. A long prompt is cut to its beginning and end. A long answer or tool output is cut to
its beginning, its end, and the passages between that share the most words with the items. Of too many tool calls, those
that share words with the items are kept, then the latest. `[…]` replaces the omitted text. A change of these limits
may change verdicts: then the prompt file gets its next number.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import msgspec
from msgspec.structs import replace

from knowbound.core.quality import JudgedCall, JudgedItem, JudgedTurn
from knowbound.judge.models.asking import sendable
from knowbound.text.redact_values import redact_value
from knowbound.text.stems import stem
from knowbound.text.stop_words import STOP_WORDS
from knowbound.text.thesaurus import stems_of

PROMPT = 4_000  # characters
ITEMS = 24_000  # of all items together; each may have its equal share, and at least SHORTEST_ITEM
SHORTEST_ITEM = 500
RESPONSE = 12_000
CALLS = 12_000  # of all tool calls together
OUTPUT = 2_000  # of one tool call
INPUT = 800
_NAME = 100
LEFT_OUT = "[…]"
_PIECE = 400  # characters of a line that are kept or left out together
_MOST_READ = 60_000  # characters of one text
_SAY_NOTHING = frozenset(map(stem, STOP_WORDS))
_HEAD, _TAIL = 0.4, 0.3  # of the room; what is between has the rest


def bounded(turn: JudgedTurn) -> JudgedTurn:
    """Return the turn without secrets, cut to the size of one call."""
    words = telling_stems(item.content for item in turn.items)
    longest = max(SHORTEST_ITEM, ITEMS // max(1, len(turn.items)))
    return JudgedTurn(
        id=turn.id,
        prompt=shortened(sendable(turn.prompt), PROMPT),
        response=shortened(sendable(turn.response), RESPONSE, words),
        items=tuple(replace(one, content=shortened(sendable(one.content), longest)) for one in turn.items),
        tool_calls=tuple(_calls([_call(call, words) for call in turn.tool_calls], words)),
    )


def material_of(turn: JudgedTurn, names: dict[str, str]) -> dict[str, str]:
    """Return the texts of the prompt `turns`; `names` has the name of each item in them."""
    shown = bounded(turn)
    return {
        "prompt": shown.prompt,
        "entries": "\n".join(_json(_entry(item, names[item.id])) for item in shown.items),
        "tool_calls": "\n".join(map(_json, shown.tool_calls)),
        "answer": shown.response,
    }


def telling_stems(texts: Iterable[str]) -> frozenset[str]:
    """Return the stems of the words that are no stop words."""
    return frozenset(found for text in texts for found in stems_of(text)) - _SAY_NOTHING


def shortened(text: str, most: int, words: Collection[str] = ()) -> str:
    """Return the text, or its beginning, its end, and the pieces between that share the most words."""
    if len(text) <= most:
        return text
    pieces = list(_pieces(_read(text)))
    sizes = [len(piece) + len(LEFT_OUT) + 2 for piece in pieces]
    kept: set[int] = set()
    _take(range(len(pieces)), sizes, int(most * _HEAD), kept)
    _take(reversed(range(len(pieces))), sizes, int(most * _TAIL), kept)
    shared = {at: _shared(pieces[at], words) for at in range(len(pieces)) if at not in kept}
    telling = sorted((at for at, number in shared.items() if number), key=lambda at: (-shared[at], at))
    left = most - sum(sizes[at] for at in kept) - len(LEFT_OUT)
    for at in telling:
        if sizes[at] <= left:
            kept.add(at)
            left -= sizes[at]
    return "\n".join(_with_gaps(pieces, kept))


def _read(text: str) -> str:
    """Return the part of a very long text that is looked at: its two ends."""
    half = _MOST_READ // 2
    return text if len(text) <= _MOST_READ else f"{text[:half]}\n{LEFT_OUT}\n{text[-half:]}"


def _pieces(text: str) -> Iterator[str]:
    """Yield lines, a long line in parts."""
    for line in text.splitlines():
        yield from (line[at : at + _PIECE] for at in range(0, max(1, len(line)), _PIECE))


def _take(order: Iterator[int] | range, sizes: Sequence[int], room: int, kept: set[int]) -> None:
    for at in order:
        room -= sizes[at]
        if room < 0 or at in kept:
            return
        kept.add(at)


def _with_gaps(pieces: Sequence[str], kept: Collection[int]) -> Iterator[str]:
    last = -1
    for at in sorted(kept):
        if at != last + 1:
            yield LEFT_OUT
        yield pieces[at]
        last = at
    if last != len(pieces) - 1:
        yield LEFT_OUT


def _shared(text: str, words: Collection[str]) -> int:
    return len(telling_stems([text]) & set(words)) if words else 0


def _entry(item: JudgedItem, name: str) -> dict[str, object]:
    shown: dict[str, object] = {"id": name, "content": item.content}
    return shown if item.is_whole else {**shown, "only_its_beginning": True}


def _call(call: JudgedCall, words: Collection[str]) -> JudgedCall:
    input_ = sendable_input(call.input)
    text = _json(input_)
    if len(text) > INPUT:
        input_ = {LEFT_OUT: shortened(text, INPUT, words)}
    return JudgedCall(sendable(call.name)[:_NAME], input_, shortened(sendable(call.output), OUTPUT, words))


def sendable_input(input_: Mapping[str, object]) -> dict[str, object]:
    """Return a tool's input without secrets and lone surrogates."""
    redacted = {name: redact_value(value, name) for name, value in input_.items()}
    try:
        msgspec.json.encode(redacted)
    except UnicodeEncodeError:
        text = json.dumps(redacted, ensure_ascii=False).encode("utf-8", "replace")
        return dict(json.loads(text))
    return redacted


def _calls(calls: Sequence[JudgedCall], words: Collection[str]) -> Iterator[JudgedCall]:
    """Yield the calls that fit, in order, and the number of omitted calls in their place."""
    texts = list(map(_json, calls))
    kept, room = set[int](), CALLS
    for at in sorted(range(len(texts)), key=lambda at: (-_shared(texts[at], words), -at)):
        if len(texts[at]) <= room:
            kept.add(at)
            room -= len(texts[at])
    for is_kept, group in groupby(enumerate(calls), key=lambda one: one[0] in kept):
        some = [call for _, call in group]
        yield from some if is_kept else [JudgedCall(LEFT_OUT, {"left_out": len(some)})]


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode("utf-8")
