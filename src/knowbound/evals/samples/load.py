"""Test sets: read a samples file, or a folder of them, whole or not at all (specification 1, section 7).

A test set with a slip in it would measure something else than its writer meant: everything that is wrong is told at
once, with file, line and a suggestion, and nothing runs. docs/samples.md tells the format.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path
from typing import NamedTuple

from knowbound.errors import InputError
from knowbound.evals.samples.file import ENDINGS, LARGEST, Written, ending_of, opened
from knowbound.evals.samples.positions import Node
from knowbound.evals.samples.reading import label_of, read_sample, requires_of
from knowbound.evals.samples.shapes import Slip, either
from knowbound.evals.samples.values import Assertion, Criterion, Environment, EvalSample, Requires, SampleSet

__all__ = [
    "Assertion",
    "Criterion",
    "Environment",
    "EvalSample",
    "Requires",
    "SampleSet",
    "find_samples",
    "load_samples",
]

TOLD = 20  # problems of one test set that are told; the rest is counted
FOLDER = ".omk"
_NAMES = ("eval-samples", "samples")
_NOT_SAMPLES = re.compile(r"report|health|_|\.", re.IGNORECASE)  # what else such a folder holds, by how its name begins


class Problem(NamedTuple):
    """One thing that is wrong, and where."""

    file: str
    line: int
    sample: str
    what: str

    def __str__(self) -> str:
        who = f"sample {self.sample!r}: " if self.sample else ""
        return f"{self.file}:{self.line}: {who}{self.what}"


def load_samples(path: Path) -> SampleSet:
    """The test set at this path; an InputError tells everything that is wrong with it."""
    files = _files(path)
    contents = {file: _content(file) for file in files}
    samples: list[EvalSample] = []
    problems: list[Problem] = []
    requires = Requires()
    ids: dict[str, tuple[str, int]] = {}
    for file, content in contents.items():
        shown = _shown(file)
        written = opened(content, ending_of(file))
        problems += [Problem(shown, slip.line, "", slip.what) for slip in written.slips]
        found, wrong = _read(written, shown, ids)
        samples += found
        problems += wrong
        requires |= requires_of(written.requires) if not problems else Requires()
    if problems:
        raise _refusal(path, problems)
    return SampleSet(_shown(path), tuple(samples), _sha256(path, contents), requires)


def find_samples(root: Path) -> Path | None:
    """Where a person keeps the samples of a project: a file of the usual name, or the folder .omk."""
    for name in _NAMES:
        for ending in ENDINGS:
            if (root / (name + ending)).is_file():
                return root / (name + ending)
    inside = root / FOLDER
    return inside if inside.is_dir() and _in_folder(inside) else None


def _files(path: Path) -> list[Path]:
    """The file itself, or the samples files of a folder in the order of their names."""
    if path.is_dir():
        files = _in_folder(path)
        if not files:
            looked = f"looked for {', '.join('*' + ending for ending in ENDINGS)}"
            raise InputError("bad-samples", f"No samples file is in {_shown(path)} ({looked}). Try: knowbound draft")
        return files
    if not path.is_file():
        raise InputError("no-such-path", f"There is no samples file {_shown(path)}. Try: knowbound eval FILE")
    if not ending_of(path):
        raise InputError("bad-samples", f"{_shown(path)} does not end in {either(ENDINGS)}. Rename it to what it is.")
    return [path]


def _in_folder(folder: Path) -> list[Path]:
    try:
        found = sorted(one for one in folder.iterdir() if ending_of(one) and not _NOT_SAMPLES.match(one.name))
    except OSError as error:
        raise InputError("no-such-path", f"{_shown(folder)} cannot be read: {error.strerror}.") from None
    return [one for one in found if one.is_file()]


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opening:
            return opening.read(LARGEST + 1)
    except OSError as error:
        raise InputError("no-such-path", f"{_shown(file)} cannot be read: {error.strerror}.") from None


def _read(written: Written, file: str, ids: dict[str, tuple[str, int]]) -> tuple[list[EvalSample], list[Problem]]:
    """The samples of one file; `ids` remembers where each id was first seen, over all files."""
    samples, problems = [], []
    for index, node in enumerate(written.samples, 1):
        label = label_of(node)
        sample, slips = read_sample(node, file)
        slips += _seen_before(node, label, file, ids)
        problems += [Problem(file, slip.line, label or f"#{index}", slip.what) for slip in slips]
        if sample is not None:
            samples.append(sample)
    return samples, problems


def _seen_before(node: Node, label: str, file: str, ids: dict[str, tuple[str, int]]) -> list[Slip]:
    if not label:
        return []
    assert isinstance(node.value, dict)
    line = node.keys.get("sample_id") or node.keys["sampleId"]
    if label in ids:
        where, first = ids[label]
        return [Slip(line, f"the id is there twice, first in {where}:{first}")]
    ids[label] = file, line
    return []


def _refusal(path: Path, problems: list[Problem]) -> InputError:
    """All problems in the order of the text, file by file."""
    order = {file: index for index, file in enumerate(dict.fromkeys(one.file for one in problems))}
    told = sorted(problems, key=lambda one: (order[one.file], one.line))
    count = f"{len(told)} problems" if len(told) > 1 else "1 problem"
    lines = [f"{_shown(path)} cannot be used: {count}. Nothing was run."]
    lines += [f"  {one}" for one in told[:TOLD]]
    if len(told) > TOLD:
        lines.append(f"  and {len(told) - TOLD} more")
    return InputError("bad-samples", "\n".join(lines))


def _sha256(path: Path, contents: dict[Path, bytes]) -> str:
    """Of a file: its content, as any other tool hashes it. Of a folder: names and contents of its files, in order."""
    if path not in contents:
        parts = (f"{file.name}\0{len(content)}\0".encode() + content for file, content in contents.items())
        return hashlib.sha256(b"".join(parts)).hexdigest()
    return hashlib.sha256(contents[path]).hexdigest()


def _shown(path: Path) -> str:
    """The path as people are told it: from the current folder where it is inside."""
    absolute = Path(os.path.abspath(path))
    try:
        return absolute.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)
