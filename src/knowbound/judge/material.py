"""The part of a turn that a model is shown: the few thousand tokens in which the answer to a question must be.

Every text is redacted first. Edits are shown as changed lines, runs with their outcome and the end of their output,
searches and reads as the lines around the names that the answer (or the entries that are asked about) use. Windows are
lines: the first and the last few, and those between with the most of these names. `[… n lines]` replaces what was
left out. The whole has a budget of tokens; what a text does not need of its share goes to the tool calls. A change of
these limits may change verdicts: then the prompt files that use the material get their next number.

A quotation of the model has to be verbatim in what it was shown. White space and the signs of Markdown do not count,
nor do the numbers and signs before a line. An ellipsis matches any text: its parts have to
follow each other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from knowbound.core.quality import JudgedCall, JudgedTurn
from knowbound.judge.models.questions import sendable
from knowbound.text.english import STOP_WORDS
from knowbound.text.printable import both_ends, estimated_tokens
from knowbound.text.redact import redact_value

TOKENS = 6_000  # of a turn
_PROMPT_SHARE, _ANSWER_SHARE, _NEXT_SHARE, _BEFORE_SHARE = 0.16, 0.34, 0.05, 0.04  # of the budget, at most
_CALL_TOKENS = 700  # at most
_LEAST_CALL_TOKENS = 40  # a call that has not even this is only counted
_HEAD_SHARE, _TAIL_SHARE = 0.3, 0.3  # of a text's room; what is between has the rest
_LINE_CHARACTERS = 400  # characters of a line that are kept or left out together
_MOST_CHARACTERS = 200_000  # characters of one text
_INPUT_CHARACTERS = 1_000  # characters of an input that is neither an edit nor a command
_NAMES = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:/@#+-]*[A-Za-z0-9_]|[0-9]|[\u3040-\u30ff\u4e00-\u9fff]{2}")
_COMMANDS = ("command", "cmd", "script")
_PATHS = ("file_path", "path", "notebook_path", "filePath", "file")
_OLD_TEXTS = ("old_string", "old_str", "old_text", "oldText")
_NEW_TEXTS = ("new_string", "new_str", "new_text", "newText")
_WHOLE_TEXTS = ("content", "file_text", "new_source", "contents")
_PATCHES = ("patch", "diff", "input")
_NORMAL_OUTCOMES = ("ok", "unknown", "")


class TurnMaterial(msgspec.Struct, frozen=True):
    """A turn as a model is shown it: texts without secrets, within the budget."""

    prompt: str
    tool_calls: str
    answer: str
    next_message: str = ""
    read_before: str = ""

    @property
    def texts(self) -> dict[str, str]:
        """The texts by their names in prompt files."""
        return {name: getattr(self, name) for name in self.__struct_fields__}


def turn_material(turn: JudgedTurn, focus: Iterable[str] = (), tokens: int = TOKENS) -> TurnMaterial:
    """Return what a model is shown of a turn. `focus` has further texts whose names matter, for example items."""
    answer = sendable(turn.response)
    names = names_in([answer, *focus])
    prompt = shortened(sendable(turn.prompt), int(tokens * _PROMPT_SHARE), names)
    names_in_answer = names_in(focus) or names  # its own names would choose every line
    shown = shortened(answer, int(tokens * _ANSWER_SHARE), names_in_answer)
    next_message = shortened(sendable(turn.next_message), int(tokens * _NEXT_SHARE))
    before = _listed(turn.read_before, int(tokens * _BEFORE_SHARE), names)
    left = tokens - sum(map(estimated_tokens, (prompt, shown, next_message, before)))
    calls = _shown_calls(turn.tool_calls, names, left)  # all that the texts leave
    return TurnMaterial(prompt=prompt, tool_calls=calls, answer=shown, next_message=next_message, read_before=before)


def names_in(texts: Iterable[str]) -> frozenset[str]:
    """Return the names, numbers and words of texts that are no stop words, in lower case."""
    found = (match.lower() for text in texts for match in _NAMES.findall(text[:_MOST_CHARACTERS]))
    return frozenset(name for name in found if len(name) > 1 or name.isdigit()) - STOP_WORDS


def shortened(text: str, tokens: int, names: Collection[str] = ()) -> str:
    """Return the text, or its first and last lines and those between with the most of the names."""
    if estimated_tokens(text) <= tokens:
        return text
    lines = [
        line[at : at + _LINE_CHARACTERS]  # a long line in parts
        for line in both_ends(text, _MOST_CHARACTERS, "\n").splitlines()
        for at in range(0, max(1, len(line)), _LINE_CHARACTERS)
    ]
    sizes = [estimated_tokens(line) + 1 for line in lines]
    kept: set[int] = set()
    _keep_while_they_fit(range(len(lines)), sizes, int(tokens * _HEAD_SHARE), kept)
    _keep_while_they_fit(range(len(lines) - 1, -1, -1), sizes, int(tokens * _TAIL_SHARE), kept)
    left = tokens - sum(sizes[at] for at in kept)
    scores = {at: score for at in range(len(lines)) if at not in kept and (score := _score(lines[at], names))}
    for at in sorted(scores, key=lambda at: (-scores[at], at)):
        if sizes[at] <= left:
            kept.add(at)
            left -= sizes[at]
    return "\n".join(_with_gaps(lines, kept))


def _keep_while_they_fit(order: Iterable[int], sizes: Sequence[int], room: int, kept: set[int]) -> None:
    """Add lines to the kept ones, in this order, up to the first that is too large or kept already."""
    for at in order:
        room -= sizes[at]
        if room < 0 or at in kept:
            return
        kept.add(at)


def _with_gaps(lines: Sequence[str], kept: Collection[int]) -> Iterator[str]:
    """Yield the kept lines; a mark with their number replaces those between."""
    gap = 0
    for at, line in enumerate(lines):
        if at in kept:
            if gap:
                yield _left_out(gap, "line")
            yield line
            gap = 0
        else:
            gap += 1
    if gap:
        yield _left_out(gap, "line")


def _left_out(number: int, noun: str) -> str:
    return f"[… {number} {noun}{'' if number == 1 else 's'}]"


def _score(text: str, names: Collection[str]) -> int:
    """Return how many of the names a text has; a name with a digit or a sign counts twice."""
    if not names:
        return 0
    shared = {name.lower() for name in _NAMES.findall(text)} & set(names)
    return sum(1 if name.isalpha() else 2 for name in shared)


def _listed(paths: Sequence[str], tokens: int, names: Collection[str]) -> str:
    """Return the paths that fit, those that the answer names first."""
    kept: list[str] = []
    for path in sorted(dict.fromkeys(map(sendable, paths)), key=lambda path: -_score(path, names)):
        tokens -= estimated_tokens(path) + 1
        if tokens < 0:
            break
        kept.append(path)
    return "\n".join(kept)


# Tool calls


def _shown_calls(calls: Sequence[JudgedCall], names: Collection[str], tokens: int) -> str:
    """Return the calls, numbered, in order. If they do not fit, calls about the names get more room."""
    heads, bodies = [], []
    for number, call in enumerate(calls, 1):
        head, body = _shown_call(call)
        heads.append(f"[{number}] {head}")
        bodies.append(body)
    pairs = list(zip(heads, bodies, strict=True))
    scores = [_score(f"{head}\n{body[:_MOST_CHARACTERS]}", names) for head, body in pairs]
    sizes = [estimated_tokens(head) + estimated_tokens(body) for head, body in pairs]
    shown, gap = [], 0
    for (head, body), call_tokens in zip(pairs, _shares(scores, sizes, tokens), strict=True):
        if not call_tokens:
            gap += 1
            continue
        if gap:
            shown.append(_left_out(gap, "call"))
            gap = 0
        first = _with_number(head, shortened(head, max(_LEAST_CALL_TOKENS, call_tokens // 2), names))
        rest = shortened(body, max(0, call_tokens - estimated_tokens(first)), names) if body else ""
        shown.append(f"{first}\n{rest}" if rest else first)
    return "\n".join([*shown, *([_left_out(gap, "call")] if gap else [])])


def _with_number(head: str, shown: str) -> str:
    """Return a shortened head with its number and tool, where its first line did not fit."""
    number, name = head.split(" ", 2)[:2]
    return shown if shown.startswith(number) else f"{number} {name} {shown}"


def _shares(scores: Sequence[int], sizes: Sequence[int], tokens: int) -> list[int]:
    """Return the tokens of each call: best scores first, later calls before earlier ones; 0 if it does not fit."""
    shares = [0] * len(sizes)
    for at in sorted(range(len(sizes)), key=lambda at: (-scores[at], -at)):
        needed = min(sizes[at], _CALL_TOKENS)
        shares[at] = needed if needed <= tokens else tokens if tokens >= _LEAST_CALL_TOKENS else 0
        tokens -= shares[at]
    return shares


def _shown_call(call: JudgedCall) -> tuple[str, str]:
    """Return a call as a line that says what was done, and the text below it."""
    given = sendable_input(call.input)
    outcome = f" ({call.outcome})" if call.outcome not in _NORMAL_OUTCOMES else ""
    name, output = sendable(call.name)[:100], sendable(call.output)
    path = _first(given, _PATHS)
    if changed := "\n".join(_changes(given)):
        return f"{name} {path}{outcome}", changed if call.outcome in _NORMAL_OUTCOMES else f"{changed}\n{output}"
    if command := _first(given, _COMMANDS):
        return f"{name}: {command}{outcome}", output
    shown = both_ends(json.dumps(given, ensure_ascii=False), _INPUT_CHARACTERS, " … ") if given else ""
    return f"{name} {shown}{outcome}".strip(), output


def _changes(given: Mapping[str, object]) -> Iterator[str]:
    """Yield the lines that an edit takes out and puts in."""
    edits = given.get("edits")
    for edit in edits if isinstance(edits, list) else [given]:
        if isinstance(edit, dict) and (
            any(name in edit for name in _OLD_TEXTS) or any(name in edit for name in _NEW_TEXTS)
        ):
            old, new = _first(edit, _OLD_TEXTS).splitlines(), _first(edit, _NEW_TEXTS).splitlines()
            yield from (f"-{line}" for line in old if line not in new)
            yield from (f"+{line}" for line in new if line not in old)
    if _first(given, _PATHS) and (whole := _first(given, _WHOLE_TEXTS)):
        yield from (f"+{line}" for line in whole.splitlines())
    patch = _first(given, _PATCHES)
    if patch.startswith(("*** Begin Patch", "--- ", "diff --git")):
        yield from patch.splitlines()


def _first(given: Mapping[str, object], names: Iterable[str]) -> str:
    """Return the first text, or list of texts in one line, that an input has under one of the names; "" if none."""
    for name in names:
        value = given.get(name)
        if isinstance(value, str) and value:
            return value
        if isinstance(value, list) and value and all(isinstance(part, str) for part in value):
            return " ".join(value)
    return ""


def sendable_input(input_: Mapping[str, object]) -> dict[str, object]:
    """Return a tool's input without secrets and lone surrogates."""
    redacted = {name: redact_value(value, name) for name, value in input_.items()}
    try:
        msgspec.json.encode(redacted)
    except UnicodeEncodeError:
        text = json.dumps(redacted, ensure_ascii=False).encode("utf-8", "replace")
        return dict(json.loads(text))
    return redacted


_ELLIPSIS = re.compile(r"\s*(?:\[?…\]?|\[?\.{3}\]?)\s*")
_SIGNS = re.compile(r"[\s*_`#>|~\\]+")
_QUOTES = str.maketrans({"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'", "\u00a0": " ", "–": "-", "—": "-"})
_OUTER_SIGNS = "\"'«»「」『』.,;:"
_SHORTEST_QUOTE = 4  # characters of each part of a quotation; an ideograph counts as two
_IDEOGRAPH = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")


def is_quoted(quotation: str, texts: Iterable[str]) -> bool:
    """Report whether the quotation is verbatim in one of the texts."""
    parts = [part for raw in _ELLIPSIS.split(quotation.strip()) if (part := _stripped(raw).strip(_OUTER_SIGNS))]
    if not parts or any(len(part) + len(_IDEOGRAPH.findall(part)) < _SHORTEST_QUOTE for part in parts):
        return False
    return any(_in_order(parts, _stripped(text)) for text in texts)


def line_of(quotation: str, text: str, first: int) -> int:
    """Return the line on which a quotation begins in a text whose first line is `first`; else that first line."""
    begins = next((line for line in quotation.split("\n") if line.strip()), "").strip()[:60]
    lines = enumerate(text.split("\n"), first)
    return next((number for number, line in lines if is_quoted(begins, [line])), first)


def _in_order(parts: list[str], text: str) -> bool:
    """Report whether the parts are in the text one after another."""
    at = 0
    for part in parts:
        at = text.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True


@lru_cache(maxsize=256)
def _stripped(text: str) -> str:
    """Return the text without white space and signs of Markdown; JSON escapes of line ends and quotes are undone."""
    text = text.replace("\\n", "\n").replace("\\t", "\t").replace('\\"', '"')
    return _SIGNS.sub("", text.translate(_QUOTES))
