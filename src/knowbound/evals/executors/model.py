"""A model as an agent: it answers a sample with read-only Grep, Glob and Read over the knowledge folder."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from knowbound.errors import ConfigError
from knowbound.evals.executor import Execution, RunEnding, Task
from knowbound.evals.executors.conversation import Conversation, Limit, converse
from knowbound.evals.executors.file_tools import FileTools
from knowbound.evals.executors.output import write_chat
from knowbound.judge.models.api import ApiModel
from knowbound.judge.names import parse_name
from knowbound.text.redact import redact

VERSION = 1  # raise it when the instructions or the tools change what a model may answer
STEPS = 25  # requests to the model for one sample
_INSTRUCTIONS = """\
You answer a question from the files of one folder, which is a knowledge base. You have no other source: search it \
with Grep and Glob and read what you find with Read before you answer. Paths are relative to the folder.

Answer briefly and exactly, and name the files your answer rests on. When the knowledge base does not say it, say so \
plainly instead of guessing, and mark what you infer with [inferred] and what it lacks with [knowledge gap].
"""


class ModelExecutor:
    """Lets a model work on the prompt. `name`: as judges are named, for example openai:MODEL or an address."""

    costs = True
    remembers = True
    injects = False
    reads_freely = False

    def __init__(self, model: str, hidden: Sequence[Path | str] = ()) -> None:
        self.name = f"model:{model}"
        self.version = f"model/{VERSION}"
        self._model, self._hidden = model, tuple(hidden)

    def check(self) -> None:
        """The name has to be a model's that is asked over its API, and the client for that has to be installed."""
        try:
            name = parse_name(self._model)
        except ConfigError:
            raise ConfigError(
                "unknown-executor",
                f"There is no model {self._model!r}. Try: model:openai:{self._model}, model:anthropic:NAME, or "
                "model:http://HOST:PORT/v1#NAME",
            ) from None
        if not name.uses_api:
            raise ConfigError(
                "unknown-executor",
                f"{self._model!r} cannot be given tools: name a model that is asked over its API, "
                "for example model:anthropic:NAME or model:http://HOST/v1#NAME. Try: knowbound judge list",
            )
        ApiModel(name)

    def run(self, task: Task) -> Execution:
        """Let the model answer, within the task's limits."""
        began = time.monotonic()
        tools = FileTools(task.folder, self._hidden).tools()
        allowed = [tool for tool in tools if not task.tools or tool.name in task.tools]
        talk = converse(
            self._model, _INSTRUCTIONS, task.prompt, allowed, seconds=task.seconds, steps=STEPS, usd=task.usd
        )
        seconds = time.monotonic() - began
        said = [message for message in talk.messages if message.get("role") in ("assistant", "tool")]
        trace = str(write_chat(task, said)) if said else ""
        return Execution(
            _ending(talk),
            trace,
            talk.answer,
            redact(talk.problem or ("" if talk.answer.strip() else "it said nothing")),
            seconds,
            talk.usd,
            talk.tokens_in,
            talk.tokens_out,
            talk.model or self._model,
            shows_calls=bool(allowed),  # without a tool it can search for nothing
        )


def _ending(talk: Conversation) -> RunEnding:
    if talk.limit is Limit.SECONDS:
        return RunEnding.TIMEOUT
    if talk.limit is Limit.USD:
        return RunEnding.BUDGET
    return RunEnding.CRASHED if talk.problem or not talk.answer.strip() else RunEnding.DONE
