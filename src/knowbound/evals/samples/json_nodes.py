"""JSON with line numbers: `json` decides what is valid, then one pass over the tokens finds the lines."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from knowbound.evals.samples.nodes import (
    DEPTH,
    LONGEST_NUMBER,
    SourceNode,
    UnreadableError,
    checked_text,
    line_finder,
    too_deep,
)

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')
_STRAY = {  # what begins with this sign, and belongs elsewhere
    "": "the file ends in the middle",
    "/": "JSON has no comments: remove it, or use YAML",
    "#": "JSON has no comments: remove it, or use YAML",
    "'": "JSON has double quotes only",
}


def json_node(text: str, first_line: int = 1) -> SourceNode:
    """The JSON text as a node; it begins in line `first_line` of its file."""
    line_of = line_finder(text, first_line)
    try:
        json.loads(text, parse_int=str)  # which takes any number of digits
    except json.JSONDecodeError as error:
        at, message = _explained(text, error)
        raise UnreadableError(line_of(at), f"{message} (not valid JSON)") from None
    except RecursionError:
        pass  # the pass over the tokens stops at the depth limit, and knows the line
    tokens = _TOKEN.finditer(text)
    return _node(next(tokens), tokens, line_of, 0)


def _node(
    first: re.Match[str], tokens: Iterator[re.Match[str]], line_of: Callable[[int], int], depth: int
) -> SourceNode:
    """The value that begins with this token, in text that is valid."""
    opening, line = first.group(), line_of(first.start())
    if opening not in ("[", "{"):
        return SourceNode(_scalar(opening, line), line)
    if depth >= DEPTH:
        raise too_deep(line)
    node = SourceNode([] if opening == "[" else {}, line, depth=1)
    for token in tokens:
        if token.group() in ("]", "}"):
            break
        if token.group() == ",":
            continue
        if opening == "[":
            node.append(_node(token, tokens, line_of, depth + 1))
        else:
            key = _node(token, tokens, line_of, depth)
            next(tokens)  # the colon
            node.put(key.value, key.line, _node(next(tokens), tokens, line_of, depth + 1))
    return node


def _scalar(token: str, line: int) -> Any:
    if token.startswith('"'):
        return checked_text(json.loads(token), line)
    if token in ("NaN", "Infinity", "-Infinity"):
        raise UnreadableError(line, "NaN and Infinity are not numbers in JSON (not valid JSON)")
    if len(token) > LONGEST_NUMBER:
        raise UnreadableError(line, "a number has too many digits (not valid JSON)")
    return json.loads(token)


def _explained(text: str, error: json.JSONDecodeError) -> tuple[int, str]:
    """Where the mistake is, and what it is; for what people often get wrong, in our words."""
    sign, before = text[error.pos : error.pos + 1], text[: error.pos].rstrip()
    if sign in ("]", "}") and before.endswith(","):
        return len(before) - 1, f"JSON has no comma before {sign}"
    if error.msg.startswith("Invalid control character"):
        return error.pos, "a text contains a line break or a tab: write \\n or \\t"
    stray = _STRAY.get(sign) if error.msg.startswith("Expecting") else None
    return error.pos, stray or error.msg.removesuffix(" at")
