"""Labels: people's own decisions on the texts that a judge decides on, one JSON object per line.

Specification 2 asks that a judge is compared with hand-labelled turns before it is used; specification 1's hedging
judge is compared with hand-labelled sentences in the same way. A line is

    {"text", "label": true|false, "context", "question": "hedging", "by", "time", "note", "session", "weight"}

of which `text` and `label` are needed. `session` is where the text was said: labels of one session are alike. `weight`
says how much more often texts like this one occur than they were drawn. For the question `rubric` the text is an
answer, the context its prompt, `rubric` the criteria, and the label a score from 1 to 5. Lines of the shape
`{"session", "sentence", "uncertain"}` are read too.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Collection, Iterable
from pathlib import Path

import msgspec

from knowbound.errors import InputError, StoreError
from knowbound.text.redact import redact
from knowbound.user_files import PRIVATE_FILE, make_folder

NAME = "labels.jsonl"  # in the data folder
HEDGING = "hedging"
RUBRIC = "rubric"
SCORES = range(1, 6)


class Label(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a person says about a text."""

    text: str
    label: bool | int
    context: str = ""
    question: str = HEDGING
    by: str = ""
    time: str = ""
    note: str = ""
    session: str = ""
    weight: float = 1.0
    rubric: str = ""

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise ValueError("the text is empty")
        if self.question == RUBRIC:
            if isinstance(self.label, bool) or self.label not in SCORES:
                raise ValueError("the label of a rubric must be a score from 1 to 5")
            if not self.rubric.strip():
                raise ValueError("a score needs the rubric that it was given for")
        elif not isinstance(self.label, bool):
            raise ValueError("the label must be true or false")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ValueError("the weight must be more than 0")


class LabelSet(msgspec.Struct, frozen=True):
    """The labels of a file about one question, the newest for each text."""

    path: str
    sha256_8: str  # of the whole file
    labels: tuple[Label, ...]
    repeated: int = 0  # texts that were labelled more than once
    disagreements: int = 0  # of these: labelled differently


def read_labels(path: Path, question: str = HEDGING) -> LabelSet:
    """The labels of a file. A line that is no label is an error: a label lost in silence would change the figures."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no-labels", f"There are no labels in {path}. Try: knowbound judge label") from None
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
    given: dict[tuple[str, str], list[Label]] = {}
    for number, line in enumerate(data.splitlines(), 1):
        if line.strip():
            label = _label(line, path, number)
            if label.question == question:
                given.setdefault((label.text, label.rubric), []).append(label)
    if not given:
        raise InputError("no-labels", f"{path} has no label about {question}. Try: knowbound judge label")
    return LabelSet(
        path=str(path),
        sha256_8=hashlib.sha256(data).hexdigest()[:8],
        labels=tuple(_newest(labels) for labels in given.values()),
        repeated=sum(len(labels) > 1 for labels in given.values()),
        disagreements=sum(len({label.label for label in labels}) > 1 for labels in given.values()),
    )


def _label(line: bytes, path: Path, number: int) -> Label:
    try:
        row = msgspec.json.decode(line)
        if isinstance(row, dict) and "sentence" in row and "text" not in row:
            row = {"text": row["sentence"], "label": row.get("uncertain"), "session": row.get("session", "")}
        return msgspec.convert(row, Label)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            "bad-labels", f'{path}:{number} is no label: {error}. Try: {{"text": "…", "label": true}}'
        ) from None


def _newest(labels: list[Label]) -> Label:
    """By time where both say one, else by place: files are appended to."""
    newest = labels[0]
    for label in labels[1:]:
        if not label.time or not newest.time or label.time >= newest.time:
            newest = label
    return newest


def kept_aside(labels: Iterable[Label], fraction: float) -> tuple[Label, ...]:
    """The labels of a share of the sessions, chosen by their hash, so that the choice is the same in every run.

    Whatever is tuned, is tuned on the others. A smaller share is always part of a larger one.
    """
    return tuple(label for label in labels if is_aside(label.session or label.text, fraction))


def is_aside(name: str, fraction: float) -> bool:
    """Whether what has this name is in the share that is kept aside."""
    return _place(name) < fraction


def _place(name: str) -> float:
    """From 0 to 1 by the hash of a name: the lowest bit tells the halves apart, the next one the quarters."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    bits = f"{int.from_bytes(digest[:4], 'little'):032b}"[::-1]
    return int(bits, 2) / 2**32


def append_label(path: Path, label: Label) -> bytes:
    """Append a label in one write. Returns the bytes written."""
    return append_row(path, label)


def append_row(path: Path, row: msgspec.Struct) -> bytes:
    """Append a line to a file of labels in one durable write, for the user alone. Returns the bytes written."""
    data = msgspec.json.encode(row) + b"\n"
    try:
        make_folder(path.parent)
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, PRIVATE_FILE)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                data = b"\n" + data  # whoever wrote the last line did not end it
            os.write(file, data)
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise StoreError("store-unwritable", f"Cannot write {path}: {error.strerror or error}.") from error
    return data


def take_back(path: Path, written: bytes) -> bool:
    """Remove the label that was written last, unless the file has grown since."""
    try:
        with path.open("r+b") as file:
            size = file.seek(0, os.SEEK_END)
            start = size - len(written)
            if start < 0:
                return False
            file.seek(start)
            if file.read() != written:
                return False
            file.truncate(start)
    except OSError as error:
        raise StoreError("store-unwritable", f"Cannot write {path}: {error.strerror or error}.") from error
    return True


class Unlabelled(msgspec.Struct, frozen=True):
    """A sentence to label, without the judge's verdict so that it cannot influence the label."""

    text: str
    context: str = ""
    session: str = ""
    weight: float = 1.0  # how much more often its like occurs than it was drawn


def given_candidates(path: Path, known: Collection[str] = ()) -> list[Unlabelled]:
    """The sentences of a file: one per line, as plain text or as `{"text", "context", "session"}`."""
    try:
        lines = path.read_text("utf-8", "replace").splitlines()
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
    found = [_given(line.strip(), path, number) for number, line in enumerate(lines, 1) if line.strip()]
    fresh = {one.text: one for one in reversed(found) if one.text not in known}
    if not fresh:
        raise InputError("nothing-to-label", f"{path} has no sentence that is not labelled yet.")
    return list(reversed(fresh.values()))


def _given(line: str, path: Path, number: int) -> Unlabelled:
    if not line.startswith("{"):
        return Unlabelled(redact(line))
    try:
        row = msgspec.json.decode(line)
        if "sentence" in row and "text" not in row:
            row["text"] = row["sentence"]
        given = msgspec.convert(row, Unlabelled)
    except msgspec.MsgspecError as error:
        raise InputError(
            "bad-labels", f'{path}:{number} is no sentence: {error}. Try: {{"text": "…", "context": "…"}}'
        ) from None
    return Unlabelled(redact(given.text), redact(given.context), given.session)
