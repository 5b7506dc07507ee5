"""A test set as values: samples, what is asserted of their answers, and the watermark (specification 1, section 7)."""

from __future__ import annotations

import hashlib
import re
from typing import Literal

import msgspec

from knowbound.stats.figures import Watermark


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
            longest = max((len(run) for run in re.findall("`+", self.context)), default=0)
            fence = "`" * max(3, longest + 1)
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
