"""One samples file: JSON, YAML or JSONL as a node with lines."""

from __future__ import annotations

from pathlib import Path

from knowbound.evals.samples.json_nodes import json_node
from knowbound.evals.samples.nodes import SourceNode, UnreadableError

ENDINGS = (".json", ".yaml", ".yml", ".jsonl")
LARGEST_FILE = 32 * 1024 * 1024  # bytes; far beyond what people write and review by hand


def parsed(content: bytes, ending: str) -> tuple[SourceNode | None, list[UnreadableError]]:
    """What a file of this ending contains, and what of it cannot be read; of JSONL each line by itself."""
    try:
        text = _decoded(content)
        if ending == ".jsonl":
            return _lines(text)
        if ending == ".json":
            return json_node(text), []
        from knowbound.evals.samples.yaml_nodes import yaml_node  # noqa: PLC0415  # PyYAML is heavy

        return yaml_node(text), []
    except UnreadableError as error:
        return None, [error]


def ending_of(path: Path) -> str:
    """The ending that decides how a file is read; "" for a file that is no samples file."""
    ending = path.suffix.lower()
    return ending if ending in ENDINGS else ""


def _decoded(content: bytes) -> str:
    if len(content) > LARGEST_FILE:
        raise UnreadableError(1, f"the file is larger than {LARGEST_FILE // 2**20} MiB")
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in content[:200]:
        raise UnreadableError(1, "the file is UTF-16 or binary: save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableError(line, "a byte here is not UTF-8: save the file as UTF-8") from None
    if not text.strip():
        raise UnreadableError(1, "the file is empty")
    return text


def _lines(text: str) -> tuple[SourceNode | None, list[UnreadableError]]:
    """JSONL: one sample per line, as a list."""
    samples, errors = SourceNode([], 1, depth=1), []
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                samples.append(json_node(line, number))
            except UnreadableError as error:
                errors.append(error)
    return (samples if samples.value else None), errors
