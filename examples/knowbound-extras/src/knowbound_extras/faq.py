"""An executor: an agent that knows the answers of a TOML file (`answers = {"question" = "answer"}`) and no more."""

from __future__ import annotations

import hashlib
import json
import tomllib
from pathlib import Path

from knowbound.errors import ConfigError
from knowbound.evals.executor import Execution, RunEnding, Task


class FaqExecutor:
    """Answers from the file; says that it does not know anything else."""

    costs = remembers = injects = reads_freely = False

    def __init__(self, path: Path) -> None:
        self._path, self.name = path, f"faq:{path}"

    @property
    def version(self) -> str:
        """Changes with the file."""
        return f"faq/{hashlib.sha256(self._path.read_bytes()).hexdigest()[:12]}"

    def check(self) -> None:
        """Refuse a file that is missing or has no answers."""
        try:
            self._answers = dict(tomllib.loads(self._path.read_text("utf-8"))["answers"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError("no-agent", f"{self._path} has no table of answers: {error}.") from error

    def run(self, task: Task) -> Execution:
        """Answer, and leave the conversation as the trace."""
        answer = self._answers.get(task.question, "I don't know: it is not in my list.")
        trace = task.output_dir / "trace.json"
        said = [{"role": "user", "content": task.prompt}, {"role": "assistant", "content": answer}]
        trace.write_text(json.dumps(said), "utf-8")
        return Execution(RunEnding.DONE, str(trace), answer, folder=str(task.folder), shows_calls=False)


def open_executor(argument: str) -> FaqExecutor:
    """Return the executor of `faq:FILE`."""
    return FaqExecutor(Path(argument).absolute())
