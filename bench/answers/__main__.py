"""Records answers: `python -m bench.answers SET FOLDER`.

Writes the open questions of a labelled set into FOLDER/questions (one file each: the material; the instructions once
per prompt), reads the answers in FOLDER/answers (`{"case": name of the file, "answer": {…}}` per line), verifies them
as any answer is, and keeps what is valid in `bench/answers/SET.jsonl`, or in FOLDER for turns of real sessions. No
label is shown. Run it until nothing is open; an entry whose second answer is not valid either stays undecided.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from bench.recorded_sets import SETS, recording_of
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, CompletionError, ModelQuestion, Recorded, RecordedAnswer
from knowbound.judge.names import JudgeOptions


class _Answer(msgspec.Struct):
    case: str
    answer: dict[str, object]


class FolderModel:
    """A model that is a folder: questions go into files, and answers are read from files."""

    def __init__(self, folder: Path) -> None:
        self._questions = folder / "questions"
        self._questions.mkdir(parents=True, exist_ok=True)
        self._answers: dict[str, dict[str, object]] = {}
        for path in sorted((folder / "answers").glob("*.jsonl")):
            for line in path.read_bytes().splitlines():
                if line.strip():
                    given = msgspec.json.decode(line, type=_Answer)
                    self._answers[given.case] = given.answer

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        case = f"{question.prompt}-{hashlib.sha256(question.text.encode()).hexdigest()[:12]}"
        if (answer := self._answers.get(case)) is not None:
            return Completion(msgspec.json.encode(answer).decode(), 0, 0, 0.0)
        (self._questions / f"INSTRUCTIONS-{question.prompt}.md").write_text(question.instructions, "utf-8")
        (self._questions / f"{case}.txt").write_text(question.text, "utf-8")
        raise CompletionError("not answered yet")


class RecordingStore:
    """Keeps valid answers in a file of recordings."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known = Recorded(path) if path.exists() else None
        self._new: dict[tuple[str, str], bytes] = {}

    def answer(self, prompt: str, model: str, sha256: str) -> bytes | None:
        known = self._known.answer(prompt, model, sha256) if self._known else None
        return self._new.get((prompt, sha256), known)

    def keep_answer(
        self, prompt: str, model: str, sha256: str, answer: bytes, session: str = "", project: str = ""
    ) -> None:
        self._new[prompt, sha256] = answer
        line = RecordedAnswer(prompt.rsplit("-", 2)[0], sha256, answer.decode(), prompt)
        with self._path.open("ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")


def main(arguments: Sequence[str]) -> None:
    """Ask the questions of a set."""
    name, folder = arguments[0], Path(arguments[1])
    for old in (folder / "questions").glob("*"):
        old.unlink()
    store = RecordingStore(recording_of(name, folder))
    asker = Asker("a large model", FolderModel(folder), JudgeOptions(retries=1), store)
    answered, undecided = SETS[name].ask(asker)
    open_ = len(list((folder / "questions").glob("*.txt")))
    print(f"{name}: {answered} entries answered, {undecided} not; {open_} questions are open in {folder}/questions")


if __name__ == "__main__":
    main(sys.argv[1:])
