"""Recorded answers: a file instead of a model, the same every time, without network or cost.

A file has one JSON object per line: `{"prompt": "hedging", "input": SHA-256 of the material, "answer": text of the
model}`. Of two lines about the same material, the later one counts.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from knowbound.errors import ConfigError
from knowbound.judge.models.completion import Completion, CompletionError, ModelQuestion
from knowbound.judge.prompts import input_hash

_EXAMPLE = '{"prompt": "hedging", "input": "…", "answer": "…"}'


class RecordedAnswer(msgspec.Struct, frozen=True):
    """One recorded answer."""

    prompt: str
    input: str
    answer: str


class Recorded:
    """Answers from a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answers = {(line.prompt, line.input): line.answer for line in _lines(path)}

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Return the recorded answer for this prompt and material, which costs nothing."""
        answer = self._answers.get((question.prompt, input_hash(question.inputs)))
        if answer is None:
            raise CompletionError(f"{self._path.name} holds no answer to this question")
        return Completion(answer, 0, 0, 0.0, "recorded")


def recording_hash(path: Path) -> str:
    """Return twelve hex digits that change with the file."""
    return hashlib.sha256(_bytes(path)).hexdigest()[:12]


def _lines(path: Path) -> list[RecordedAnswer]:
    lines = []
    for number, data in enumerate(_bytes(path).splitlines(), 1):
        if not data.strip():
            continue
        try:
            lines.append(msgspec.json.decode(data, type=RecordedAnswer))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ConfigError(
                "recording-unreadable", f"{path}:{number} is no recorded answer: {error}. Try: {_EXAMPLE}"
            ) from error
    return lines


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            "recording-unreadable",
            f"Cannot read {path}: {error.strerror or error}. Name a file that can be read: recorded:FILE",
        ) from error
