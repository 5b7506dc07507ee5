"""The choice of a model among candidates, made by a process of its own while the agent works.

The hook injects at once what the floor of relevance is sure of. What the model adds is kept for the next tool event of
the same turn (late.py). If the user prefers to wait (`injection.wait_ms`), the hook gives the model that long, and its
choice replaces that of the floor. Prompt, conversation and items are data: they are cleared of secrets, are in fences
that they cannot close, and the answer is read for numbers alone (judge/choosing.py).
"""

from __future__ import annotations

import json
import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable
    from typing import Any

    from knowbound.config import Settings
    from knowbound.injection.prompt import HookPrompt
    from knowbound.judge.choosing import Chosen
    from knowbound.kms.search.ranking import FoundItem
    from knowbound.traces.turns import TraceTurn

CHOSEN, LATE, FAILED = "chosen", "late", "failed"  # outcomes of asking a model
RESERVE = 0.15  # seconds to compose, record and write an answer: 4 ms in the middle, 130 at most
CANDIDATES = 40
# The setting of earlier versions, with which prompts waited for the model up to the time limit.
_OLD_MODEL = frozenset({"injection.model", "KNOWBOUND_INJECTION_MODEL"})
_TURNS = 2  # before the prompt, that the conversation is taken from
_OF_A_MESSAGE = 1_000  # characters
_FILES = 8
_SEARCH_SECONDS = 5.0
_LONGEST_PROBLEM = 300
_READ = 1 << 16
_FEW = """
    SELECT id, backend, content_sha, confidence, content, timestamp, anchor_file FROM item
    WHERE served = 1 AND flag = '' AND stale = 0 ORDER BY id LIMIT ?
"""


class ModelChoice:
    """The items that a model chose, best first; or the reason why it chose none."""

    def __init__(
        self,
        outcome: str,
        ms: float = 0.0,
        *,
        chooser: str = "",
        items: list[FoundItem] | None = None,
        problem: str = "",
    ) -> None:
        self.outcome = outcome
        self.ms = ms
        self.chooser = chooser  # version of the prompt, and the model; "" where neither was reached
        self.items = items  # None unless the model answered
        self.problem = problem  # the reason where it did not

    def fields(self) -> dict[str, Any]:
        """Return what is recorded of it."""
        return {"chooser": self.chooser, "chooser_outcome": self.outcome, "chooser_ms": round(self.ms, 1)}


# In the hook


class Asking:
    """A process that asks the model. Its answer is read from a pipe by whoever waits for it."""

    def __init__(self, work: Callable[[Callable[[ModelChoice], bool]], None]) -> None:
        """Start the process. `work` gets a function that hands an answer over, and reports whether somebody waits."""
        if not hasattr(os, "fork"):
            raise OSError("no process can be forked on this system")
        self._reading, writing = os.pipe()
        if os.fork():
            os.close(writing)
            return
        try:
            os.close(self._reading)
            nowhere = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):  # the agent waits until its pipes are closed
                os.dup2(nowhere, descriptor)
            os.setsid()
            work(lambda choice: _handed_over(writing, choice))
        finally:
            os._exit(0)

    def wait(self, until: float) -> ModelChoice:
        """Return the answer if it comes before that moment (monotonic seconds)."""
        import select  # noqa: PLC0415

        poll, data, began = select.poll(), b"", time.monotonic()
        poll.register(self._reading, select.POLLIN | select.POLLHUP)
        while poll.poll(max(0, round((until - time.monotonic()) * 1000))):
            if not (part := os.read(self._reading, _READ)):
                break
            data += part
        else:
            data = b""
        os.close(self._reading)
        if not data:
            ms = (time.monotonic() - began) * 1000
            return ModelChoice(LATE, ms, problem="the model did not answer in time (injection.wait_ms)")
        return _read(json.loads(data))


def _handed_over(pipe: int, choice: ModelChoice) -> bool:
    items = None if choice.items is None else [item_to_json(item) for item in choice.items]
    data = memoryview(json.dumps(vars(choice) | {"items": items}).encode("utf-8", "replace"))
    try:
        while data:
            data = data[os.write(pipe, data) :]
        os.close(pipe)
    except BrokenPipeError:
        return False
    return True


def item_to_json(item: FoundItem) -> dict[str, Any]:
    """Return an item with everything that a bundle and a record need."""
    named = ("content", "type", "subject", "timestamp", "anchor_file")
    return {"row": item.pool_row(), "rank": item.rank, "score": item.score} | {
        "named": {name: getattr(item, name) for name in named}
    }


def _read(known: dict[str, Any]) -> ModelChoice:
    rows = known.pop("items")
    items = None if rows is None else [item_from_json(row) for row in rows]
    return ModelChoice(known.pop("outcome"), items=items, **known)


def item_from_json(row: dict[str, Any]) -> FoundItem:
    """Return the item again."""
    from knowbound.kms.search.ranking import FoundItem  # noqa: PLC0415

    item = FoundItem(*row["row"], **row["named"])
    item.rank, item.score = row["rank"], row["score"]
    return item


# In the process that asks


def ask_model(root: str, home: str, model: str, prompt: HookPrompt, most: int) -> ModelChoice:
    """Ask the model of that name which items the prompt needs. A program runs in the current folder."""
    from dataclasses import replace  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from knowbound.config import load  # noqa: PLC0415

    began = time.monotonic()
    try:
        found = _asked(replace(load(Path(root), ignore_untrusted=True), home=Path(home)), model, prompt, most)
    except Exception as error:  # there is the choice without the model
        found = ModelChoice(FAILED, problem=f"{type(error).__name__}: {error}")
    if found.problem:
        from knowbound.text.redact import excerpt  # noqa: PLC0415

        found.problem = f"the model: {excerpt(found.problem, _LONGEST_PROBLEM)}"
    found.ms = (time.monotonic() - began) * 1000
    return found


def _asked(settings: Settings, model: str, prompt: HookPrompt, most: int) -> ModelChoice:
    from knowbound.injection.bundle import cleaned  # noqa: PLC0415
    from knowbound.judge.choice import is_named_for_choosing, may_see  # noqa: PLC0415
    from knowbound.judge.choosing import Choosing, choose  # noqa: PLC0415
    from knowbound.judge.prompts import CHOOSE, load_prompt  # noqa: PLC0415
    from knowbound.judge.registry import asker_for  # noqa: PLC0415

    if not is_named_for_choosing(settings) and not may_see(model, prompt.agent, settings):
        return ModelChoice(FAILED, problem="it is of another provider than the session (model.cross_provider)")
    asker = asker_for(settings, model, background=True, keep=False, is_quick=True)
    if asker is None:
        return ModelChoice(FAILED, problem="the rules cannot choose items: name a model (knowbound judge list)")
    chooser = f"{load_prompt(CHOOSE).version}/{asker.judge}"
    said = conversation_before(prompt)
    candidates = candidates_for(str(settings.home), "\n".join([*said, prompt.text]))
    if not candidates:
        return ModelChoice(CHOSEN, chooser=chooser, items=[])

    def chosen_from(candidates: list[FoundItem]) -> tuple[list[FoundItem] | None, Chosen]:
        asked = Choosing(prompt.text, [cleaned(item.content) for item in candidates], said)
        [answer] = choose(asker, [asked])
        if answer.entries is None:
            return None, answer
        return [candidates[number - 1] for number in dict.fromkeys(entry.number for entry in answer.entries)], answer

    items, answer = chosen_from(candidates)
    if answer.search and (further := further_candidates(str(settings.home), answer.search, candidates)):
        items, answer = chosen_from(further)
    if items is None:
        return ModelChoice(FAILED, chooser=chooser, problem=answer.problem)
    return ModelChoice(CHOSEN, chooser=chooser, items=items[:most])


def candidates_for(home: str, query: str) -> list[FoundItem]:
    """Return the items that a model chooses from, best first; of a small store all items."""
    from knowbound.kms.search.lexical import SPLIT_BY  # noqa: PLC0415
    from knowbound.kms.search.retrieval import search  # noqa: PLC0415
    from knowbound.store.read_only import open_own_index  # noqa: PLC0415

    index = open_own_index(home, wait_seconds=1.0, work_seconds=_SEARCH_SECONDS, split_by=SPLIT_BY)
    if index is None:
        return []
    found = search(index, query, limit=CANDIDATES).items
    return (found + _rest_of_few(index, found))[:CANDIDATES]


def further_candidates(home: str, search: str, shown: list[FoundItem]) -> list[FoundItem]:
    """Return candidates by words that a model proposes because no item that it was shown fits."""
    known = {item.content_sha for item in shown}
    return [item for item in candidates_for(home, search) if item.content_sha not in known]


def _rest_of_few(index: sqlite3.Connection, found: list[FoundItem]) -> list[FoundItem]:
    """Return the other items of a store that is small enough to be shown to a model whole."""
    from knowbound.kms.search.ranking import FoundItem  # noqa: PLC0415

    rows = index.execute(_FEW, (CANDIDATES + 1,)).fetchall() if len(found) < CANDIDATES else []
    if len(rows) > CANDIDATES:
        return []
    known, rest = {item.content_sha for item in found}, list[FoundItem]()
    for id_, backend, sha, confidence, content, timestamp, file in rows:
        item = FoundItem(
            id_, backend, sha, confidence=confidence, content=content, timestamp=timestamp, anchor_file=file
        )
        item.rank = len(found) + len(rest) + 1
        if item.content_sha not in known:
            known.add(item.content_sha)
            rest.append(item)
    return rest


def conversation_before(prompt: HookPrompt) -> list[str]:
    """Return the last messages before the prompt, and the files that they were about; nothing without a transcript."""
    from collections import deque  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from knowbound.text.redact import redact  # noqa: PLC0415
    from knowbound.traces.turns import session_of, turns_in  # noqa: PLC0415

    turns: deque[TraceTurn] = deque(maxlen=_TURNS)
    try:
        for turn in turns_in(session_of(Path(prompt.transcript))) if prompt.transcript else ():
            if turn.key != prompt.turn:
                turns.append(turn)
    except Exception:  # no path, or no transcript: the prompt alone has to do
        return []
    said = []
    for turn in turns:
        # Secrets go before the cut, which may go through one.
        said += [f"user: {redact(turn.prompt.text)[:_OF_A_MESSAGE]}"] if turn.prompt.text else []
        said += [f"agent: {redact(turn.said[-1])[-_OF_A_MESSAGE:]}"] if turn.said else []
    paths = dict.fromkeys(path for turn in reversed(turns) for call in reversed(turn.calls) for path in call.paths)
    if files := ", ".join(_shown(paths, prompt.cwd)):
        said.append(f"files: {files}")
    return said


def _shown(paths: Iterable[str], cwd: str) -> list[str]:
    """Return the first paths, those inside the project relative to it."""
    inside = os.path.join(cwd, "")
    return [path.removeprefix(inside) for path in paths][:_FILES]


def keep_for_later(
    home: str, prompt: HookPrompt, record: dict[str, Any], choice: ModelChoice, *, budget: int, prompted: float
) -> None:
    """Record the choice for a prompt that is answered already, and keep what is new to the context. Raises OSError."""
    from knowbound.injection import late  # noqa: PLC0415
    from knowbound.injection.bundle import compose  # noqa: PLC0415
    from knowbound.injection.contexts import new_to_context  # noqa: PLC0415
    from knowbound.injection.inject import item_row  # noqa: PLC0415
    from knowbound.injection.record import add_to_record  # noqa: PLC0415

    if late.is_forgotten(home, prompt.session):
        return
    bundle = compose(new_to_context(home, prompt.context, choice.items or []), budget=budget)
    outcome = LATE if choice.outcome == CHOSEN else choice.outcome
    known = choice.fields() | {"chooser_outcome": outcome}
    known |= {"late": [item_row(item) for item in bundle.items], "late_tokens": bundle.tokens} if bundle.items else {}
    known |= {"chooser_problem": choice.problem} if choice.problem else {}
    add_to_record(home, record, known)
    if bundle.items:
        items = [item_to_json(item) for item in bundle.items]
        chosen = late.LateAnswer(late.ITEMS, record, prompted, items=items, budget=budget)
        late.keep(home, prompt.context, prompt.turn, chosen)


def wait_of(settings: Settings) -> int:
    """Return the milliseconds that a prompt waits for the model that chooses."""
    is_old = not _OLD_MODEL.isdisjoint(settings.replaced)
    return settings.injection_wait_ms or (settings.injection_time_limit_ms if is_old else 0)
