"""Labels: people's own decisions on the texts and turns that judges decide on.

Specification 2, "The judge", asks for a comparison with hand-labelled turns before a judge is used. The judge of hedges
(specification 1) is compared with hand-labelled sentences in the same way. Files have one
JSON object per line; they are read, appended to, and taken back.

A line of `labels.jsonl` is

    {"text", "label": true|false, "context", "question": "hedging", "by", "time", "note", "session", "weight"}

with `text` and `label` required. For the question `rubric` the text is an answer, the context its prompt, `rubric` the
criteria, and the label a score from 1 to 5.

A line of `turn-labels.jsonl` is

    {"id", "prompt", "items": [{"id", "content"}], "response", "tool_calls": [{"name", "input", "output"}],
     "labels": {item: {"on_topic", "used", "contradicted"}}, "by", "time", "weight", "session", "judge"}

with the last five optional. An item may have no label. `judge` is the version that judged the turn when it was drawn.

A line of `claim-labels.jsonl` is

    {"session", "turn", "text", "kind", "label": "supported|contradicted|unseen|not_checkable", "by", "time"}

with the last two optional: the verdict of a person on a claim of an answer; `not_checkable` if the person cannot tell.

`session` is the session of a text or a turn: labels of one session are alike. `weight` says how much more often such
texts or turns occur than they were drawn.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from knowbound.core.audit import ClaimKind, Support
from knowbound.core.quality import ItemVerdict, JudgedCall, JudgedItem, JudgedTurn, Metric
from knowbound.errors import InputError, StoreError
from knowbound.judge.material import sendable_input
from knowbound.judge.models.questions import sendable
from knowbound.stats.calibration import Pair
from knowbound.text.redact import redact
from knowbound.user_files import PRIVATE_FILE, make_folder

HEDGING = "hedging"
RUBRIC = "rubric"
_SCORES = range(1, 6)


class Unlabelled(msgspec.Struct, frozen=True):
    """A sentence to label, without the judge's verdict so that it cannot influence the label."""

    text: str
    context: str = ""
    session: str = ""
    weight: float = 1.0


class Label(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person's decision on a text."""

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
            if isinstance(self.label, bool) or self.label not in _SCORES:  # true is equal to 1
                raise ValueError("the label of a rubric must be a score from 1 to 5")
            if not self.rubric.strip():
                raise ValueError("a score needs the rubric that it was given for")
        elif not isinstance(self.label, bool):
            raise ValueError("the label must be true or false")
        _check_weight(self.weight)

    @property
    def key(self) -> tuple[str, str]:
        """Equal for labels of the same text and rubric."""
        return self.text, self.rubric

    @property
    def answer(self) -> bool | int:
        """The decision, to compare with another label of the same text."""
        return self.label

    @property
    def cluster(self) -> str:
        """The session; a text without a session is alone."""
        return self.session or self.text


class ItemLabel(msgspec.Struct, frozen=True):
    """A person's decision on one item of a turn."""

    on_topic: bool
    used: bool
    contradicted: bool

    def says(self, metric: Metric) -> bool:
        """Return the answer to one question."""
        return bool(getattr(self, metric))


class UnlabelledTurn(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A turn to label, without verdicts so that they cannot influence the labels."""

    id: str
    prompt: str
    items: tuple[JudgedItem, ...]
    response: str = ""
    tool_calls: tuple[JudgedCall, ...] = ()
    session: str = ""
    weight: float = 1.0
    judge: str = ""

    def __post_init__(self) -> None:
        if not self.id:
            raise ValueError("the id is empty")
        ids = [item.id for item in self.items]
        if not ids:
            raise ValueError("there is no item")
        if len(set(ids)) < len(ids):
            raise ValueError("two items have the same id")
        _check_weight(self.weight)

    @property
    def judged(self) -> JudgedTurn:
        """The turn as a judge sees it."""
        return JudgedTurn(self.id, self.prompt, self.response, self.items, self.tool_calls)


class LabelledTurn(UnlabelledTurn, frozen=True, kw_only=True, omit_defaults=True):
    """A turn with a person's decisions on its items."""

    labels: dict[str, ItemLabel]
    by: str = ""
    time: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.labels:
            raise ValueError("no item has a label")
        if unknown := self.labels.keys() - {item.id for item in self.items}:
            raise ValueError(f"there is no item {min(unknown)!r} to label")

    @property
    def key(self) -> str:
        """Equal for labels of the same turn."""
        return self.id

    @property
    def answer(self) -> dict[str, ItemLabel]:
        """The decisions, to compare with other labels of the same turn."""
        return self.labels

    @property
    def cluster(self) -> str:
        """The session; a turn without a session is alone. Items of one turn are alike."""
        return self.session or self.id

    def pairs(self, verdicts: Collection[ItemVerdict], metric: Metric) -> list[Pair]:
        """Return each label with the verdict on the same item."""
        by_item = {verdict.item: verdict.says(metric) for verdict in verdicts}
        return [
            Pair(label.says(metric), by_item.get(item), self.weight, self.cluster)
            for item, label in self.labels.items()
        ]


class ClaimLabel(msgspec.Struct, frozen=True, omit_defaults=True):
    """A person's verdict on a claim of an answer."""

    session: str
    turn: int
    text: str
    kind: ClaimKind
    label: Support
    by: str = ""
    time: str = ""

    @property
    def key(self) -> tuple[str, int, str]:
        """Equal for labels of the same claim."""
        return self.session, self.turn, self.text


def _check_weight(weight: float) -> None:
    if not (math.isfinite(weight) and weight > 0):
        raise ValueError("the weight must be more than 0")


LABELS = "labels.jsonl"  # in the data folder
TURN_LABELS = "turn-labels.jsonl"
CLAIM_LABELS = "claim-labels.jsonl"
LABEL_FILES = (LABELS, TURN_LABELS, CLAIM_LABELS)
_Label = TypeVar("_Label", Label, LabelledTurn)
_AnyLabel = TypeVar("_AnyLabel", Label, LabelledTurn, ClaimLabel)
_Row = TypeVar("_Row")


class LabelSet(msgspec.Struct, Generic[_Label], frozen=True):
    """The labels of a file about one question, the newest of each text or turn."""

    path: str
    sha256_8: str  # of the whole file
    labels: tuple[_Label, ...]
    repeated: int = 0  # texts or turns that were labelled more than once
    disagreements: int = 0  # of these: labelled differently


class _Format(NamedTuple, Generic[_Row]):
    """Reader of a line, with the noun and the example for an error about it."""

    read: Callable[[bytes], _Row]
    noun: str
    example: str


def _label(line: bytes) -> Label:
    """Read a label; also a line `{"session", "sentence", "uncertain"}`."""
    row = msgspec.json.decode(line)
    if isinstance(row, dict) and "sentence" in row and "text" not in row:
        row = {"text": row["sentence"], "label": row.get("uncertain"), "session": row.get("session", "")}
    return msgspec.convert(row, Label)


def _sentence(line: bytes) -> Unlabelled:
    """Read a sentence to label, as plain text or as JSON, without its secrets."""
    if not line.startswith(b"{"):
        return Unlabelled(redact(line.decode()))
    row = msgspec.json.decode(line)
    if "sentence" in row and "text" not in row:
        row["text"] = row["sentence"]
    sentence = msgspec.convert(row, Unlabelled)
    return Unlabelled(redact(sentence.text), redact(sentence.context), sentence.session)


_A_TURN = '{"id": "…", "prompt": "…", "items": [{"id": "…", "content": "…"}], "response": "…", "tool_calls": []}'
_A_CLAIM = '{"session": "…", "turn": 1, "text": "…", "kind": "done", "label": "unseen"}'
_LABEL = _Format(_label, "label", '{"text": "…", "label": true}')
_SENTENCE = _Format(_sentence, "sentence", '{"text": "…", "context": "…"}')
_TURN = _Format(msgspec.json.Decoder(LabelledTurn).decode, "turn", _A_TURN)
_UNLABELLED_TURN = _Format(msgspec.json.Decoder(UnlabelledTurn).decode, "turn", _A_TURN)
_CLAIM = _Format(msgspec.json.Decoder(ClaimLabel).decode, "label", _A_CLAIM)
_NO_TURN = "There is no turn in {}. Try: knowbound judge label --question turns"


def read_labels(path: Path, question: str = HEDGING) -> LabelSet[Label]:
    """Read the labels about a question. A line that is no label is an error: its loss would change the figures."""
    data = _file_content(path, f"There are no labels in {path}. Try: knowbound judge label")
    labels = [label for label in _rows(_LABEL, path, data) if label.question == question]
    return _label_set(path, data, labels, f"{path} has no label about {question}. Try: knowbound judge label")


def read_turn_labels(path: Path) -> LabelSet[LabelledTurn]:
    """Read the labelled turns. A line that is none is an error: its loss would change the figures."""
    data = _file_content(path, _NO_TURN.format(path))
    return _label_set(path, data, _rows(_TURN, path, data), _NO_TURN.format(path))


def read_claim_labels(path: Path) -> tuple[ClaimLabel, ...]:
    """Read the newest label of each claim; none if the file does not exist. A line that is none is an error."""
    labels = _rows(_CLAIM, path, _file_content(path)) if path.exists() else ()
    return tuple(map(_newest, _by_key(labels).values()))


def labelled_texts(path: Path) -> frozenset[str]:
    """Return the texts that have a label about hedging; none if the file does not exist."""
    labels = _rows(_LABEL, path, _file_content(path)) if path.exists() else ()
    return frozenset(label.text for label in labels if label.question == HEDGING)


def labelled_ids(path: Path) -> frozenset[str]:
    """Return the ids of the turns that have labels; none if the file does not exist."""
    return frozenset(turn.id for turn in read_turn_labels(path).labels) if path.exists() else frozenset()


def kept_aside(labels: Iterable[_Label], fraction: float) -> tuple[_Label, ...]:
    """Return the labels of a share of the sessions, chosen by hash: the same in every run.

    Rules are tuned on the other sessions. A smaller share is always part of a larger one.
    """
    return tuple(label for label in labels if _position(label.cluster) < fraction)


def given_sentences(path: Path, known: Collection[str] = ()) -> list[Unlabelled]:
    """Read unlabelled sentences: one per line, as plain text or as `{"text", "context", "session"}`."""
    data = "\n".join(line.strip() for line in _file_content(path).decode("utf-8", "replace").splitlines()).encode()
    rows = reversed(list(_rows(_SENTENCE, path, data)))  # reversed twice: of equal texts the first stays
    fresh = {row.text: row for row in rows if row.text not in known}
    if not fresh:
        raise InputError("nothing-to-label", f"{path} has no sentence that is not labelled yet.")
    return list(reversed(fresh.values()))


def given_turns(path: Path, known: Collection[str] = ()) -> list[UnlabelledTurn]:
    """Read unlabelled turns, each once."""
    data = _file_content(path, _NO_TURN.format(path))
    fresh = {turn.id: turn for turn in _rows(_UNLABELLED_TURN, path, data) if turn.id not in known}
    if not fresh:
        raise InputError("nothing-to-label", f"{path} has no turn that is not labelled yet.")
    return [without_secrets(turn) for turn in fresh.values()]


def append_turn(path: Path, turn: UnlabelledTurn, labels: dict[str, ItemLabel], by: str, time: str) -> bytes:
    """Append a labelled turn without its secrets. Returns the bytes written, for `take_back`."""
    clean = without_secrets(turn)
    kept = {name: getattr(clean, name) for name in UnlabelledTurn.__struct_fields__}
    return append_label(path, LabelledTurn(**kept, labels=labels, by=by, time=time))


def append_label(path: Path, label: Label | LabelledTurn | ClaimLabel) -> bytes:
    """Append a line in one durable write, readable by the user alone. Returns the bytes written, for `take_back`."""
    data = msgspec.json.encode(label) + b"\n"
    try:
        make_folder(path.parent)
        file = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, PRIVATE_FILE)
        try:
            size = os.fstat(file).st_size
            if size and os.pread(file, 1, size - 1) != b"\n":
                data = b"\n" + data  # the last line was written without its end
            os.write(file, data)
            os.fsync(file)
        finally:
            os.close(file)
    except OSError as error:
        raise StoreError("store-unwritable", f"Cannot write {path}: {error.strerror or error}.") from error
    return data


def take_back(path: Path, written: bytes) -> bool:
    """Remove the line that was written last, unless the file has grown since."""
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


def take_back_claim(path: Path, by: str) -> bool:
    """Remove the last label of the file if it is one that this person gave to a claim."""
    lines = _file_content(path).splitlines(keepends=True) if path.exists() else []
    last = next(_rows(_CLAIM, path, b"".join(lines[-1:])), None)
    return last is not None and last.by == by and take_back(path, lines[-1])


def _file_content(path: Path, missing: str = "") -> bytes:
    """Read a file; `missing` is the message for a file that does not exist, if that means no labels yet."""
    try:
        return path.read_bytes()
    except OSError as error:
        if missing and isinstance(error, FileNotFoundError):
            raise InputError("no-labels", missing) from None
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error


def _rows(format_: _Format[_Row], path: Path, data: bytes) -> Iterator[_Row]:
    """Yield the rows of a file. Raises InputError with the number of the first line that is none."""
    for number, row in enumerate(data.splitlines(), 1):
        if row.strip():
            try:
                yield format_.read(row)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                problem = f"{path}:{number} is no {format_.noun}: {error}. Try: {format_.example}"
                raise InputError("bad-labels", problem) from None


def _by_key(labels: Iterable[_AnyLabel]) -> dict[object, list[_AnyLabel]]:
    """Group the labels of the same text, turn or claim."""
    groups: dict[object, list[_AnyLabel]] = {}
    for label in labels:
        groups.setdefault(label.key, []).append(label)
    return groups


def _label_set(path: Path, data: bytes, labels: Iterable[_Label], if_empty: str) -> LabelSet[_Label]:
    """Return the newest label of each text or turn. Raises InputError with the message `if_empty` if there is none."""
    groups = _by_key(labels).values()
    if not groups:
        raise InputError("no-labels", if_empty)
    return LabelSet(
        path=str(path),
        sha256_8=hashlib.sha256(data).hexdigest()[:8],
        labels=tuple(map(_newest, groups)),
        repeated=sum(len(group) > 1 for group in groups),
        disagreements=sum(any(label.answer != group[0].answer for label in group) for group in groups),
    )


def _newest(labels: list[_AnyLabel]) -> _AnyLabel:
    """Return the newest by time if both have a time, else by position: files are appended to."""
    newest = labels[0]
    for label in labels[1:]:
        if not label.time or not newest.time or label.time >= newest.time:
            newest = label
    return newest


def _position(name: str) -> float:
    """Return 0 to 1 by the hash of a name: the lowest bit decides the half, the next bit the quarter."""
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
    bits = f"{int.from_bytes(digest[:4], 'little'):032b}"[::-1]
    return int(bits, 2) / 2**32


def without_secrets(turn: UnlabelledTurn) -> UnlabelledTurn:
    """Return the turn with every text redacted."""
    return replace(
        turn,
        prompt=sendable(turn.prompt),
        response=sendable(turn.response),
        items=tuple(replace(item, content=sendable(item.content)) for item in turn.items),
        tool_calls=tuple(
            JudgedCall(sendable(call.name), sendable_input(call.input), sendable(call.output), call.outcome)
            for call in turn.tool_calls
        ),
    )
