"""A test set as values: samples, what is asserted of their answers, and the watermark (specification 1, section 7)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from knowbound.injection.bundle import fence_of
from knowbound.stats.figures import Watermark

if TYPE_CHECKING:
    pass


class Assertion(msgspec.Struct, frozen=True):
    """One thing that must be true of an answer, or of how it was found. docs/samples.md lists the types."""

    type: str
    value: str | int | float | None = None
    values: tuple[str, ...] = ()
    pattern: str = ""
    flags: str = ""
    schema: dict[str, object] | None = None
    weight: int | float = 1.0
    fn: str = ""  # the file of a custom assertion, beside the samples
    reference: str = ""
    threshold: int | float | None = None
    negated: bool = msgspec.field(default=False, name="not")
    mode: Literal["all", "any"] = "all"
    children: tuple[Assertion, ...] = ()
    n: int = 1  # how many words an n-gram has


class Criterion(msgspec.Struct, frozen=True):
    """One question of a rubric: a judge scores it 1 to 5."""

    name: str  # `rubric` where the sample has one plain rubric
    text: str = msgspec.field(name="criterion")
    weight: int | float = 1.0


class Environment(msgspec.Struct, frozen=True):
    """Programs, files and notes that the agent may assume; knowbound installs and creates nothing."""

    programs: tuple[str, ...] = msgspec.field(default=(), name="cli_available")
    files: tuple[str, ...] = msgspec.field(default=(), name="files_available")
    notes: str = ""

    def __str__(self) -> str:
        lines = [f"These programs are installed: {', '.join(self.programs)}."] if self.programs else []
        lines += [f"These files exist: {', '.join(self.files)}."] if self.files else []
        return "\n".join(lines + ([self.notes] if self.notes else []))


class EvalSample(msgspec.Struct, frozen=True, kw_only=True):
    """One case of a test set."""

    id: str = msgspec.field(name="sample_id")
    prompt: str
    context: str = ""
    rubric: tuple[Criterion, ...] = ()
    assertions: tuple[Assertion, ...] = ()
    capability: tuple[str, ...] = ()
    difficulty: str = ""
    construct: str = ""
    provenance: str = ""
    session: str = ""  # samples that share one are related: they are counted as a cluster
    cwd: str = ""
    environment: Environment = Environment()
    allowed_tools: tuple[str, ...] = msgspec.field(default=(), name="allowedTools")
    mocks: int = 0  # answers for tools that the file has; they are not used
    metadata: dict[str, object] = {}
    file: str = ""
    line: int = 0

    @property
    def asked(self) -> str:
        """Return the text sent to the agent: the prompt, the context as a fenced block, and the environment."""
        parts = [self.prompt]
        if self.context:
            fence = fence_of(self.context)
            parts.append(f"{fence}\n{self.context.rstrip()}\n{fence}")
        if environment := str(self.environment):
            parts.append(environment)
        return "\n\n".join(parts)


class SampleSet(msgspec.Struct, frozen=True):
    """A test set: a samples file, or a folder of them."""

    path: str  # relative to the current folder where it is inside
    samples: tuple[EvalSample, ...]
    sha256: str  # of the file's content; of a folder: over the names and contents of its files

    @property
    def watermark(self) -> Watermark:
        """Shown with every rate of this test set."""
        return Watermark(self.path, len(self.samples), self.sha256[:8])

    def held_out(self, share: float) -> list[str]:
        """Return the ids of a share of the samples, chosen by hash; samples of one session stay together."""
        groups: dict[str, list[str]] = {}
        for sample in self.samples:
            groups.setdefault(sample.session or sample.id, []).append(sample.id)
        count, held_out = round(share * len(self.samples)), list[str]()
        for name in sorted(groups, key=lambda name: hashlib.sha256(name.encode("utf-8", "replace")).digest()):
            if len(held_out) < count:
                held_out += groups[name]
        return held_out


# ---- the JSON Schemas that the format is made of

Schema = dict[str, Any]

LARGEST_NUMBER = 2**53  # beyond it a JSON number is no longer exact

ANY_TEXT: Schema = {"type": "string"}
TEXT: Schema = {"type": "string", "pattern": r"\S"}  # at least one character that is not space
TEXTS: Schema = {"type": "array", "items": TEXT}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
NUMBER: Schema = {"type": "number", "minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER}
COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": LARGEST_NUMBER}
WEIGHT: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_NUMBER}


def one_of(*words: str) -> Schema:
    """One of these words."""
    return {"enum": list(words)}


def list_of(items: Schema) -> Schema:
    """A list that is not empty."""
    return {"type": "array", "items": items, "minItems": 1}


def _member(name: str, shape: Schema, description: str, is_needed: bool) -> tuple[str, Schema, bool]:
    return name, shape | {"description": description}, is_needed


needed = partial(_member, is_needed=True)
optional = partial(_member, is_needed=False)


def record(*members: tuple[str, Schema, bool]) -> Schema:
    """Return the schema of an object with exactly these members; editors and docs/samples.md show the descriptions."""
    required = [name for name, _, is_needed in members if is_needed]
    shape: Schema = {"type": "object", "properties": {name: shape for name, shape, _ in members}}
    return shape | {"required": required, "additionalProperties": False}


def refused(message: str) -> Schema:
    """No value at all; `errorMessage` is what editors (VS Code, ajv-errors) and our check show instead of their own."""
    return {"not": {}, "errorMessage": message}


_TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_MOST_LISTED = 8  # words of a choice that are listed


def kind_of(shape: Schema) -> str:
    """Return the allowed type of a value in words: "a text or a number"."""
    if "enum" in shape:
        return either(shape["enum"]) if len(shape["enum"]) <= _MOST_LISTED else "one of the known words"
    types = shape.get("type", [])
    return " or ".join(_TYPES[name] for name in ([types] if isinstance(types, str) else types)) or "any value"


def either(words: Sequence[str]) -> str:
    """The words as a choice: easy, medium or hard."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
