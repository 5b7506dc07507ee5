"""Test sets: read a samples file, or a folder of them, whole or not at all (specification 1, section 7).

A test set with a mistake in it would measure something else than its author meant: every mistake is listed with file,
line and a suggestion, and nothing runs. docs/samples.md describes the format.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from knowbound.errors import InputError
from knowbound.evals.assertions import TYPES, WITH_CONTEXT
from knowbound.evals.samples.check import id_of, issues_of, samples_of
from knowbound.evals.samples.nodes import SourceNode, UnreadableError, json_node, pointed, pointer_steps
from knowbound.evals.samples.values import EvalSample, SampleSet, either
from knowbound.files import is_inside, leads_out

_INDEX_DIGITS = 4  # of a list index that a pointer may contain
SINGLE_RUBRIC = "rubric"  # the name of a rubric that is one text


def decoded(given: dict[str, Any], file: str, line: int) -> EvalSample:
    """Return a sample from its fields in any version of the format."""
    sample = _from_v3(given) if "sampleId" in given else given
    changed = {
        "rubric": _criteria(sample.get("dimensions") or sample.get("rubric", "")),  # dimensions replace a plain rubric
        "assertions": [_current_assertion(assertion) for assertion in sample.get("assertions", [])],
        "mocks": len(sample.get("mocks", [])),
        "file": file,
        "line": line,
    }
    return msgspec.convert(sample | changed, EvalSample)


def _from_v3(given: dict[str, Any]) -> dict[str, Any]:
    """Return a sample of version 3 with the fields of the versions before."""
    evaluation = given.get("evaluationContext", {})
    reference, assertions = evaluation.get("reference", ""), list[dict[str, Any]]()
    for assertion in evaluation.get("assertions", []):
        lacks_reference = assertion["type"] in WITH_CONTEXT and not assertion.get("reference", "").strip()
        assertions.append(assertion | {"reference": reference} if lacks_reference else assertion)
    assertions += [_comparison(check, given.get("expected")) for check in evaluation.get("checks", [])]
    return {
        **given.get("executionContext", {}),
        **given.get("annotations", {}),
        "sample_id": given["sampleId"],
        "prompt": given["input"]["text"],
        "rubric": evaluation.get("rubric", ""),
        "assertions": assertions,
    }


def _criteria(given: str | dict[str, Any]) -> list[dict[str, Any]]:
    """Return the criteria of a rubric, which is a text, criteria by name, or (`dimensions`) texts by name."""
    if isinstance(given, str):
        given = {SINGLE_RUBRIC: given} if given.strip() else {}
    return [
        {"name": name} | (criterion if isinstance(criterion, dict) else {"criterion": criterion})
        for name, criterion in given.items()
    ]


def _current_assertion(given: dict[str, Any]) -> dict[str, Any]:
    """Return an assertion, and its children, in the form of the current format."""
    changed = dict(given)
    value = changed.get("value")
    if TYPES[given["type"]].takes_list and "values" not in given:  # as older files have it
        changed["values"] = [value] if isinstance(value, str) else value
        del changed["value"]
    elif isinstance(value, list):  # which this type does not use
        del changed["value"]
    if "n" in given:
        changed["n"] = int(given["n"])  # 2.0 is a whole number too
    return changed | {"children": [_current_assertion(child) for child in given.get("children", [])]}


def _comparison(check: dict[str, Any], expected: object) -> dict[str, Any]:
    """Return a check of version 3 as an assertion: a text is the whole answer, anything else is JSON in it."""
    pointer, wanted = check["actual"]["pointer"], pointed(expected, check["expectedPointer"])
    weight = {"weight": check["weight"]} if "weight" in check else {}
    if pointer == "" and isinstance(wanted, str):
        return {"type": "equals", "value": wanted, **weight}
    schema: dict[str, object] = {"const": wanted}
    for step in reversed(pointer_steps(pointer)):
        schema = _with_member(step, schema)
    return {"type": "json_schema", "schema": schema, **weight}


def _with_member(step: str, inner: dict[str, object]) -> dict[str, object]:
    """A schema for what has this member: an object, or where the step is a number also a list."""
    named: dict[str, object] = {"type": "object", "required": [step], "properties": {step: inner}}
    if not (step.isascii() and step.isdecimal() and len(step) <= _INDEX_DIGITS):
        return named
    index = int(step)
    listed = {"type": "array", "minItems": index + 1, "items": [*([{}] * index), inner]}
    return {"anyOf": [named, listed]}


MOST_SHOWN = 20  # problems of one test set that are listed; the rest is counted
FOLDER = ".omk"
_USUAL_NAMES = ("eval-samples", "samples")
_NOT_SAMPLES = re.compile(r"report|health|_|\.", re.IGNORECASE)  # how the names of other files there begin
ENDINGS = (".json", ".yaml", ".yml", ".jsonl")
LARGEST_FILE = 32 * 1024 * 1024  # bytes; far beyond what people write and review by hand


def load_samples(path: Path, project: Path | None = None) -> SampleSet:
    """The test set at this path; an InputError lists everything that is wrong with it.

    A link that leads out of the project, or without one out of the folder that was named, is an error.
    """
    contents: dict[Path, bytes] = {}
    for file in _files(path, project):
        try:
            with file.open("rb") as opened:
                contents[file] = opened.read(LARGEST_FILE + 1)
        except OSError as error:
            raise InputError("no-such-path", f"{_shown_path(file)} cannot be read: {error.strerror}.") from None
    samples: list[EvalSample] = []
    problems: list[str] = []
    ids: dict[str, str] = {}
    for file, content in contents.items():
        shown = _shown_path(file)
        root, unreadable = parsed(content, ending_of(file))
        found = [(error.line, error.message) for error in unreadable]
        if root is not None:
            found += [(issue.line, issue.message) for issue in issues_of(root)]
            found += _repeated_ids(root, shown, ids)
        problems += [f"{shown}:{line}: {message}" for line, message in sorted(found, key=itemgetter(0))]
        if root is not None and not problems:
            samples += [decoded(sample.value, shown, sample.line) for sample in samples_of(root)]
    if problems:
        count = f"{len(problems)} problems" if len(problems) > 1 else "1 problem"
        lines = [f"{_shown_path(path)} cannot be used: {count}. Nothing was run."]
        lines += [f"  {problem}" for problem in problems[:MOST_SHOWN]]
        lines += [f"  and {len(problems) - MOST_SHOWN} more"] if len(problems) > MOST_SHOWN else []
        raise InputError("bad-samples", "\n".join(lines))
    return SampleSet(_shown_path(path), tuple(samples), _sha256(path, contents))


def find_samples(root: Path, configured: str = "") -> Path | None:
    """The samples of a project: the configured file, else one of a usual name, else the folder .omk."""
    if configured:
        return root / configured
    for name in _USUAL_NAMES:
        for ending in ENDINGS:
            if (root / (name + ending)).is_file():
                return _followed(root / (name + ending), root)
    inside = _followed(root / FOLDER, root)
    return inside if inside.is_dir() and _samples_in_folder(inside, root) else None


def _followed(path: Path, root: Path) -> Path:
    """The path, unless it is a link that leads out of the root."""
    if leads_out(path, root):
        words = f"{_shown_path(path)} is a link that leads out of {root}: it is not followed. Try: {path.resolve()}"
        raise InputError("bad-samples", words)
    return path


def _files(path: Path, root: Path | None) -> list[Path]:
    """The file itself, or the samples files of a folder in the order of their names."""
    if root is not None:
        _followed(path, root)

    if path.is_dir():
        files = _samples_in_folder(path, root)
        if not files:
            place, looked = _shown_path(path), f"looked for {', '.join('*' + ending for ending in ENDINGS)}"
            raise InputError("bad-samples", f"No samples file is in {place} ({looked}). Try: knowbound draft")
        return files
    if not path.is_file():
        raise InputError("no-such-path", f"There is no samples file {_shown_path(path)}. Try: knowbound eval FILE")
    if not ending_of(path):
        words = f"{_shown_path(path)} does not end in {either(ENDINGS)}. Rename it to what it is."
        raise InputError("bad-samples", words)
    return [path]


def _samples_in_folder(folder: Path, root: Path | None) -> list[Path]:
    """Return the samples files of a folder. Links may lead anywhere in the root; outside of it, in the folder."""
    try:
        found = sorted(path for path in folder.iterdir() if ending_of(path) and not _NOT_SAMPLES.match(path.name))
    except OSError as error:
        raise InputError("no-such-path", f"{_shown_path(folder)} cannot be read: {error.strerror}.") from None
    base = root if root is not None and is_inside(folder.resolve(), root.resolve()) else folder
    return [_followed(path, base) for path in found if path.is_file()]


def _repeated_ids(root: SourceNode, file: str, ids: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the repeated ids, with their lines; `ids` remembers where each was first, over all files."""
    for sample in samples_of(root):
        if known := id_of(sample):
            line = sample.key_lines.get("sample_id") or sample.key_lines["sampleId"]
            if known in ids:
                yield line, f"sample {known!r}: the id is repeated, first in {ids[known]}"
            else:
                ids[known] = f"{file}:{line}"


def _sha256(path: Path, contents: dict[Path, bytes]) -> str:
    """Hash a samples file by its content, as sha256sum does; a folder by the names and contents of its files."""
    if path not in contents:  # a folder
        parts = (f"{file.name}\0{len(content)}\0".encode() + content for file, content in contents.items())
        return hashlib.sha256(b"".join(parts)).hexdigest()
    return hashlib.sha256(contents[path]).hexdigest()


def _shown_path(path: Path) -> str:
    """The path in messages: from the current folder where it is inside."""
    absolute = Path(os.path.abspath(path))
    try:
        return absolute.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(path)


def parsed(content: bytes, ending: str) -> tuple[SourceNode | None, list[UnreadableError]]:
    """Parse a file by its ending: its nodes, and its unreadable parts. Each line of JSONL is parsed by itself."""
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
    """Return the text of a file. Raises UnreadableError if it is too large, empty or not UTF-8."""
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
