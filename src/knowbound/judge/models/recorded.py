"""Recorded answers: a file instead of a model, the same every time, without network or cost.

A file has one JSON object per line: `{"prompt": "hedging", "version": "hedging-2-0123abcd", "input": key of the entry
or hash of the material, "answer": text}`. Of two lines about the same input, the later one counts. A line whose version
is not that of the prompt now is stale and is not used; a line without a version is always used.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from knowbound.errors import ConfigError
from knowbound.judge.models.completion import Completion, CompletionError, ModelQuestion

_EXAMPLE = '{"prompt": "hedging", "version": "…", "input": "…", "answer": "…"}'


class RecordedAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """One recorded answer."""

    prompt: str
    input: str
    answer: str
    version: str = ""


class Recorded:
    """Answers from a file, as a store of answers that nothing is added to, and a model that knows no other."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._answers = {(line.prompt, line.input): line for line in _lines(path)}

    def answer(self, prompt: str, _model: str, sha256: str) -> bytes | None:
        """Return the recorded answer about this input."""
        line = self._answers.get((_prompt_name(prompt), sha256))
        return line.answer.encode() if line is not None and line.version in ("", prompt) else None

    def keep_answer(
        self, prompt: str, model: str, sha256: str, answer: bytes, session: str = "", project: str = ""
    ) -> None:
        """Keep nothing: a recording is read only."""

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Raise the error for a question that nothing was recorded for."""
        raise CompletionError(f"{self._path.name} holds no answer to this question")

    def stale(self, prompt: str) -> tuple[int, int]:
        """Return how many lines about a prompt are of another version than this one, and how many there are."""
        lines = [line for line in self._answers.values() if line.prompt == _prompt_name(prompt)]
        return sum(line.version not in ("", prompt) for line in lines), len(lines)


def _prompt_name(version: str) -> str:
    """Return the name of a prompt by its version: hedging for hedging-2-0123abcd."""
    return version.rsplit("-", 2)[0]


def recording_hash(path: Path) -> str:
    """Return twelve hex digits that change with the file."""
    return hashlib.sha256(_file_content(path)).hexdigest()[:12]


def _lines(path: Path) -> list[RecordedAnswer]:
    lines = []
    for number, data in enumerate(_file_content(path).splitlines(), 1):
        if not data.strip():
            continue
        try:
            lines.append(msgspec.json.decode(data, type=RecordedAnswer))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ConfigError(
                "recording-unreadable", f"{path}:{number} is no recorded answer: {error}. Try: {_EXAMPLE}"
            ) from error
    return lines


def _file_content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(
            "recording-unreadable",
            f"Cannot read {path}: {error.strerror or error}. Name a file that can be read: recorded:FILE",
        ) from error
