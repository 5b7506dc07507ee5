"""The choice of a model among candidates, made by a process of its own while the agent works.

The hook injects at once what the floor of relevance is sure of. What the model adds is kept for the next tool event of
the same turn (late.py). Prompt, conversation and items are data: they are cleared of secrets, are in fences that they
cannot close, and the answer is read for numbers alone (judge/choosing.py).
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from knowbound.config import Settings, load
from knowbound.injection import late
from knowbound.injection.bundle import cleaned, compose
from knowbound.injection.hook_settings import HookSettings
from knowbound.injection.inject import item_row
from knowbound.injection.log import CHOSE_LATER, FAILED
from knowbound.injection.prompt import HookPrompt, new_to_context
from knowbound.injection.record import add_to_record
from knowbound.judge.choice import is_named_for_choosing, may_see
from knowbound.judge.choosing import Choosing, Chosen, choose
from knowbound.judge.prompts import load_prompt
from knowbound.judge.registry import asker_for
from knowbound.kms.index.ranking import FoundItem
from knowbound.kms.index.search import SPLIT_BY, search
from knowbound.store.own_index import open_own_index
from knowbound.text.redact import excerpt, redact
from knowbound.traces.turns import TraceTurn, session_of, turns_in

CANDIDATES = 40
_CONVERSATION_TURNS = 2  # before the prompt, that the conversation is taken from
_MESSAGE_CHARACTERS = 1_000
_MOST_FILES = 8
_SEARCH_SECONDS = 5.0
_PROBLEM_CHARACTERS = 300
_FIRST_ITEMS = """
    SELECT id, backend, content_sha, confidence, content, timestamp, anchor_file FROM item
    WHERE served = 1 AND flag = '' AND stale = 0 ORDER BY id LIMIT ?
"""


@dataclass(frozen=True)
class ModelChoice:
    """The items that a model chose, best first; or the reason why it chose none."""

    items: list[FoundItem] | None  # None unless the model answered
    chooser: str = ""  # version of the prompt, and the model; "" where neither was reached
    problem: str = ""  # the reason where the model did not answer


def choose_for_later(root: str, home: str, settings: HookSettings, prompt: HookPrompt, record: dict[str, Any]) -> None:
    """Ask the model about a prompt that is answered already, and keep its choice for a later tool event."""
    prompted = time.time()
    os.chdir(home)  # a program that is the model never runs in a folder that an agent works in
    choice = ask_model(root, home, settings.model, prompt, settings.most_items)
    keep_for_later(home, prompt, record, choice, budget=settings.token_budget, prompted=prompted)


def ask_model(root: str, home: str, model: str, prompt: HookPrompt, most: int) -> ModelChoice:
    """Ask the model of that name which items the prompt needs. A program runs in the current folder."""
    try:
        choice = _asked(replace(load(Path(root), ignore_untrusted=True), home=Path(home)), model, prompt, most)
    except Exception as error:  # there is the choice without the model
        choice = ModelChoice(None, problem=f"{type(error).__name__}: {error}")
    return replace(choice, problem=choice.problem and f"the model: {excerpt(choice.problem, _PROBLEM_CHARACTERS)}")


def keep_for_later(
    home: str, prompt: HookPrompt, record: dict[str, Any], choice: ModelChoice, *, budget: int, prompted: float
) -> None:
    """Record the choice, and keep what is new to the context. Raises OSError."""
    if late.is_forgotten(home, prompt.session):  # while the model was asked
        return
    bundle = compose(new_to_context(home, prompt.context, choice.items or []), budget=budget)
    fields: dict[str, Any] = {
        "chooser": choice.chooser,
        "chooser_outcome": FAILED if choice.items is None else CHOSE_LATER,
        "chooser_ms": round((time.time() - prompted) * 1000, 1),
    }
    fields |= {"late": [item_row(item) for item in bundle.items], "late_tokens": bundle.tokens} if bundle.items else {}
    fields |= {"chooser_problem": choice.problem} if choice.problem else {}
    add_to_record(home, record, fields)
    if bundle.items:
        items = list(map(late.item_to_json, bundle.items))
        late.keep(
            home, prompt.context, prompt.turn, late.LateAnswer(late.ITEMS, record, prompted, items=items, budget=budget)
        )


def _asked(settings: Settings, model: str, prompt: HookPrompt, most: int) -> ModelChoice:
    """Ask the model among the candidates, and once more among those of its own search if none of them fits."""
    if not is_named_for_choosing(settings) and not may_see(model, prompt.agent, settings):
        return ModelChoice(None, problem="it is of another provider than the session (model.cross_provider)")
    asker = asker_for(settings, model, background=True, keep=False, is_quick=True)
    if asker is None:
        return ModelChoice(None, problem="the rules cannot choose items: name a model (knowbound judge list)")
    chooser = f"{load_prompt('choose').version}/{asker.judge}"
    messages = conversation_before(prompt)
    candidates = candidates_for(str(settings.home), "\n".join([*messages, prompt.text]))
    if not candidates:
        return ModelChoice([], chooser)

    def chosen_from(candidates: list[FoundItem]) -> tuple[list[FoundItem] | None, Chosen]:
        question = Choosing(prompt.text, [cleaned(item.content) for item in candidates], messages)
        [answer] = choose(asker, [question])
        if answer.entries is None:
            return None, answer
        numbers = dict.fromkeys(entry.number for entry in answer.entries)  # from 1, as the model was shown them
        return [candidates[number - 1] for number in numbers], answer

    items, answer = chosen_from(candidates)
    if answer.search and (further := further_candidates(str(settings.home), answer.search, candidates)):
        items, answer = chosen_from(further)
    return ModelChoice(items and items[:most], chooser, problem="" if items is not None else answer.problem)


def candidates_for(home: str, query: str) -> list[FoundItem]:
    """Return the items that a model chooses from, best first; of a small store all items."""
    index = open_own_index(home, wait_seconds=1.0, work_seconds=_SEARCH_SECONDS, split_by=SPLIT_BY)
    if index is None:
        return []
    found = search(index, query, limit=CANDIDATES).items
    return (found + _rest_of_few(index, found))[:CANDIDATES]


def further_candidates(home: str, search: str, shown: list[FoundItem]) -> list[FoundItem]:
    """Return candidates by words that a model proposes because no item that it was shown fits."""
    known_contents = {item.content_sha for item in shown}
    return [item for item in candidates_for(home, search) if item.content_sha not in known_contents]


def _rest_of_few(index: sqlite3.Connection, found: list[FoundItem]) -> list[FoundItem]:
    """Return the other items of a store that is small enough to be shown to a model whole."""
    rows = index.execute(_FIRST_ITEMS, (CANDIDATES + 1,)).fetchall() if len(found) < CANDIDATES else []
    if len(rows) > CANDIDATES:  # a larger store
        return []
    known_contents, others = {item.content_sha for item in found}, list[FoundItem]()
    for id_, backend, sha, confidence, content, timestamp, file in rows:
        item = FoundItem(
            id_, backend, sha, confidence=confidence, content=content, timestamp=timestamp, anchor_file=file
        )
        item.rank = len(found) + len(others) + 1
        if item.content_sha not in known_contents:
            known_contents.add(item.content_sha)
            others.append(item)
    return others


def conversation_before(prompt: HookPrompt) -> list[str]:
    """Return the last messages before the prompt, and the files that they were about; nothing without a transcript."""
    turns: deque[TraceTurn] = deque(maxlen=_CONVERSATION_TURNS)
    try:
        for turn in turns_in(session_of(Path(prompt.transcript))) if prompt.transcript else ():
            if turn.key != prompt.turn:  # the turn of the prompt itself is no context
                turns.append(turn)
    except Exception:  # no path, or no transcript: the prompt alone has to do
        return []
    messages = []
    for turn in turns:
        # Secrets go before the cut, which may go through one.
        messages += [f"user: {redact(turn.prompt.text)[:_MESSAGE_CHARACTERS]}"] if turn.prompt.text else []
        messages += [f"agent: {redact(turn.said[-1])[-_MESSAGE_CHARACTERS:]}"] if turn.said else []
    paths = dict.fromkeys(path for turn in reversed(turns) for call in reversed(turn.calls) for path in call.paths)
    inside = os.path.join(prompt.cwd, "")
    if files := ", ".join([path.removeprefix(inside) for path in paths][:_MOST_FILES]):
        messages.append(f"files: {files}")
    return messages
