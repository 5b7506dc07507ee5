"""A model behind a folder: each question is a file, and whoever answers puts a file beside it."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

from knowbound.judge.models.completion import Completion, CompletionError, ModelQuestion

_PAUSE = 0.05  # seconds between two looks


class SpoolModel:
    """Waits for an answer until the time for a question is over."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Write the question, and return the answer once it is there."""
        text = f"{question.instructions}\n\n{question.text}\n"
        name = hashlib.sha256(text.encode()).hexdigest()[:16]
        answer = self._folder / f"{name}.answer"
        if not self._folder.is_dir():
            raise CompletionError(f"there is no folder {self._folder}", hopeless=True)
        if not answer.exists():
            (self._folder / f"{name}.question").write_text(text, "utf-8")
        end = time.monotonic() + seconds
        while not answer.exists():
            if time.monotonic() > end:
                raise CompletionError(f"no answer within {seconds:g} seconds", again=True)
            time.sleep(_PAUSE)
        return Completion(answer.read_text("utf-8"))


def open_model(model: str) -> SpoolModel:
    """Return the model of `spool:FOLDER`."""
    return SpoolModel(Path(model or "questions"))
