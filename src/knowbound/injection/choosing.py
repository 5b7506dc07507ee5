"""The choice by a configured model among the first candidates, within the time that the hook has left.

The choice without a model is made before, and is delivered if the model is late, fails or answers nonsense. The model
is asked once, in a thread of its own, and the hook waits no longer than its limit. The prompt and the items are data:
they are cleared of secrets, are in fences that they cannot close, and the answer is read for numbers alone
(judge/prompts/choose-2.md). Loaded only where `model.tasks.choose` names a model.
"""

from __future__ import annotations

import _thread
import time
from pathlib import Path

from knowbound.errors import ConfigError
from knowbound.injection.bundle import cleaned
from knowbound.injection.inject import CHOSEN, FAILED, RESERVE, ModelChoice, too_late
from knowbound.judge.choosing import Choosing, chosen_in, inputs_of
from knowbound.judge.models.completion import CompletionError, MalformedError, ModelQuestion
from knowbound.judge.names import JudgeKind, JudgeName, parse_name
from knowbound.judge.prompts import CHOOSE, PromptFile, load_prompt
from knowbound.text.redact import excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowbound.judge.models.completion import Completer
    from knowbound.kms.search.ranking import FoundItem

_LEAST = 0.05  # seconds; no model is asked with less
_GRACE = 1.0  # seconds after which a late model is given up
_LONGEST_PROBLEM = 300


def choose(
    model: str, prompt: str, candidates: Sequence[FoundItem], *, most: int, folder: str, until: float
) -> ModelChoice:
    """Ask the model of that name (`judge list`). It has to answer shortly before `until` (monotonic seconds).

    A program that is named is run in the folder, never in a folder that an agent works in.
    """
    began, chooser = time.monotonic(), ""
    try:
        name, file = parse_name(model), load_prompt(CHOOSE)
        chooser = f"{file.version}/{_identity(name)}"
        completer, question = _completer(name, folder), _question(file, prompt, candidates)
        left = until - RESERVE - time.monotonic()
        text = _within(left, lambda: completer.complete(question, seconds=left + _GRACE).text)
        if text is None:
            return too_late(_since(began), chooser=chooser)
        return ModelChoice(CHOSEN, _since(began), chooser=chooser, items=_chosen(text, candidates)[:most])
    except (CompletionError, ConfigError, MalformedError) as error:
        problem = str(error)
    except Exception as error:  # after any error there is the choice without the model
        problem = f"{type(error).__name__}: {error}"
    problem = f"the model: {excerpt(problem, _LONGEST_PROBLEM)}"
    return ModelChoice(FAILED, _since(began), chooser=chooser, problem=problem)


def _completer(name: JudgeName, folder: str) -> Completer:
    if name.kind is JudgeKind.RULES:
        raise ConfigError("unknown-judge", "The rules cannot choose items: name a model (knowbound judge list).")
    if name.uses_api:
        from knowbound.judge.models.direct import DirectModel  # noqa: PLC0415

        return DirectModel(name)
    from knowbound.judge.registry import completer  # noqa: PLC0415

    return completer(name, Path(folder))


def _identity(name: JudgeName) -> str:
    """Return the name of the model that is stored."""
    if name.uses_api:
        return excerpt(name.text, _LONGEST_PROBLEM)
    from knowbound.judge.registry import identity  # noqa: PLC0415

    return identity(name)


def _question(file: PromptFile, prompt: str, candidates: Sequence[FoundItem]) -> ModelQuestion:
    inputs = inputs_of(Choosing(prompt, [cleaned(item.content) for item in candidates]))
    return ModelQuestion(file.name, inputs, file.instructions, file.material(inputs), {})


def _chosen(text: str, candidates: Sequence[FoundItem]) -> list[FoundItem]:
    """Return the items that the answer names, in its order. Unknown numbers are ignored."""
    numbers = dict.fromkeys(one.number for one in chosen_in(text, len(candidates)))
    return [candidates[number - 1] for number in numbers]


def _within(seconds: float, work: Callable[[], str]) -> str | None:
    """Return the result of the work, or None after the time is over; the work then goes on alone."""
    if seconds < _LEAST:
        return None
    done, results = _thread.allocate_lock(), list[str | Exception]()
    done.acquire()

    def run() -> None:
        try:
            results.append(work())
        except Exception as error:
            results.append(error)
        finally:
            done.release()

    _thread.start_new_thread(run, ())
    if not done.acquire(timeout=seconds):
        return None
    [result] = results
    if isinstance(result, Exception):
        raise result
    return result


def _since(began: float) -> float:
    return (time.monotonic() - began) * 1000
