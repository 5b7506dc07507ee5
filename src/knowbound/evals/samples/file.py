"""One samples file as it is written: JSON, YAML or JSONL, opened up to its samples, each with its line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from knowbound.evals.samples.fields import SET_FIELDS
from knowbound.evals.samples.positions import BadTextError, Node
from knowbound.evals.samples.positions_json import json_node
from knowbound.evals.samples.shapes import Slip, told

ENDINGS = (".json", ".yaml", ".yml", ".jsonl")
LARGEST = 32 * 1024 * 1024  # bytes; far beyond what people write and review by hand


@dataclass(slots=True)
class Written:
    """What a samples file holds, before its samples are read."""

    samples: list[Node] = field(default_factory=list)
    requires: Node | None = None
    slips: list[Slip] = field(default_factory=list)


def opened(content: bytes, ending: str) -> Written:
    """The samples in a file of this ending."""
    try:
        text = _decoded(content)
        if ending == ".jsonl":
            return _lines(text)
        if ending == ".json":
            return _unwrapped(json_node(text))
        from knowbound.evals.samples.positions_yaml import yaml_node  # noqa: PLC0415  # PyYAML is heavy

        return _unwrapped(yaml_node(text))
    except BadTextError as error:
        return Written(slips=[Slip(error.line, error.what)])


def ending_of(path: Path) -> str:
    """The ending that decides how a file is read; "" where it is none of ours."""
    ending = path.suffix.lower()
    return ending if ending in ENDINGS else ""


def _decoded(content: bytes) -> str:
    if len(content) > LARGEST:
        raise BadTextError(1, f"the file is larger than {LARGEST // 2**20} MiB")
    if content[:2] in (b"\xff\xfe", b"\xfe\xff") or b"\0" in content[:200]:
        raise BadTextError(1, "the file is UTF-16 or binary: save it as UTF-8")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadTextError(line, "a byte here is not UTF-8: save the file as UTF-8") from None
    if not text.strip():
        raise BadTextError(1, "the file is empty")
    return text


def _lines(text: str) -> Written:
    """JSONL: one sample per line; each broken line is told by itself."""
    written = Written()
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            written.samples.append(json_node(line, number))
        except BadTextError as error:
            written.slips.append(Slip(error.line, error.what))
    return written


def _unwrapped(root: Node) -> Written:
    """A list of samples, or an object that has them under `samples`."""
    if isinstance(root.value, list):
        slips = [] if root.value else [Slip(root.line, "the list of samples is empty")]
        return Written(root.value, slips=slips)
    if not isinstance(root.value, dict):
        return Written(slips=[Slip(root.line, f"a samples file is a list of samples, not {told(root)}")])
    if "samples" not in root.value and root.value.keys() & {"sample_id", "sampleId", "prompt"}:
        return Written(slips=[Slip(root.line, "the file is one sample: put it in a list")])
    slips = list(SET_FIELDS.slips(root, ""))
    inner = root.value.get("samples")
    samples = inner.value if inner is not None and isinstance(inner.value, list) else []
    return Written(samples, root.value.get("requires"), slips)
