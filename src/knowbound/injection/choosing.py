"""The choice by a configured model among the first candidates, within the time that the hook has left.

The choice without a model is made before, and is delivered if the model is late, fails or answers nonsense. The model
is asked once, in a thread of its own, and the hook waits no longer than its limit. The prompt and the items are data:
they are cleared of secrets, are in fences that they cannot close, and the answer is read for numbers alone
(judge/prompts/choose-1.md). Loaded only where `model.tasks.choose` names a model.
"""

from __future__ import annotations

import _thread
import json
import time
from pathlib import Path

import msgspec

from knowbound.errors import ConfigError
from knowbound.injection.bundle import cleaned
from knowbound.injection.inject import CHOSEN, FAILED, RESERVE, ModelChoice, too_late
from knowbound.judge.models.completion import CompletionError, MalformedError, ModelQuestion, parse_answer
from knowbound.judge.names import JudgeKind, JudgeName, parse_name
from knowbound.judge.prompts import PromptFile, load_prompt
from knowbound.text.redact import excerpt, excerpt_of_end, redact
from knowbound.text.specific_words import all_terms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knowbound.judge.models.completion import Completer
    from knowbound.kms.search.ranking import FoundItem

PROMPT = "choose-1"
_LEAST = 0.05  # seconds; no model is asked with less
_GRACE = 1.0  # seconds after which a late model is given up
_OF_ENTRY = 500  # characters of an item that are sent
_BEGINNING, _END = 2_500, 1_000  # characters of a long prompt: the question is mostly there
_PASSAGES, _PASSAGE = 5, 300  # number of passages between them, and characters of each
_LONGEST_READ = 40_000  # characters of a prompt that are read: clearing them of secrets takes up to 15 ms
_LONGEST_PROBLEM = 300
_LEFT_OUT = "\n[…]\n"


class _Numbers(msgspec.Struct, frozen=True):
    """The answer that the model is asked for."""

    numbers: list[int]


def choose(
    model: str, prompt: str, candidates: Sequence[FoundItem], *, most: int, folder: str, until: float
) -> ModelChoice:
    """Ask the model of that name (`judge list`). It has to answer shortly before `until` (monotonic seconds).

    A program that is named is run in the folder, never in a folder that an agent works in.
    """
    began, chooser = time.monotonic(), ""
    try:
        name, file = parse_name(model), load_prompt(PROMPT)
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
    entries = [
        json.dumps({"number": number, "text": excerpt(cleaned(item.content), _OF_ENTRY)}, ensure_ascii=False)
        for number, item in enumerate(candidates, 1)
    ]
    inputs = {"prompt": _shortened(prompt, candidates), "entries": "\n".join(entries)}
    inputs = {name: text.encode("utf-8", "replace").decode("utf-8") for name, text in inputs.items()}
    return ModelQuestion(file.name, inputs, file.instructions, file.material(inputs), {})


def _shortened(prompt: str, candidates: Sequence[FoundItem]) -> str:
    """Return the prompt without secrets; of a long prompt the beginning, the end, and passages that match items."""
    if len(prompt) <= _LONGEST_READ:
        text = redact(prompt)
    else:
        half = _LONGEST_READ // 2
        text = excerpt(prompt, half) + _LEFT_OUT + excerpt_of_end(prompt, half)
    if len(text) <= _BEGINNING + _END:
        return text
    between = _matching(text[_BEGINNING:-_END], set().union(*(all_terms(item.content) for item in candidates)))
    return _LEFT_OUT.join([text[:_BEGINNING], *between, text[-_END:]])


def _matching(text: str, words: set[str]) -> list[str]:
    """Return the passages with the most of the words, in order; a passage that only repeats words is left out."""
    lines = text.splitlines()
    passages = [line[at : at + _PASSAGE] for line in lines for at in range(0, len(line), _PASSAGE)]
    shared = [words & all_terms(passage).keys() for passage in passages]
    taken, known = set[int](), set[str]()
    for number in sorted(range(len(passages)), key=lambda number: -len(shared[number])):
        if len(taken) == _PASSAGES:
            break
        if not shared[number] <= known:
            taken.add(number)
            known |= shared[number]
    return [passages[number] for number in sorted(taken)]


def _chosen(text: str, candidates: Sequence[FoundItem]) -> list[FoundItem]:
    """Return the items that the answer names, in its order. Unknown numbers are ignored."""
    numbers = parse_answer(text, _Numbers).numbers
    known = dict.fromkeys(number for number in numbers if 1 <= number <= len(candidates))
    if numbers and not known:
        raise MalformedError("the answer names no number of an entry")
    return [candidates[number - 1] for number in known]


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
