"""The work of an answered event that no agent waits for: records, workers, models.

It runs in a process that the hook leaves behind, in the MCP server when nobody waits, or as `knowbound-hook finish`.
"""

from __future__ import annotations

import os
import time

from knowbound.agent.hook.run import TURN_ENDS, HookRun
from knowbound.agent.hook_entry import AFTER_TOOLS
from knowbound.injection import hook_settings
from knowbound.injection.prompt import HookPrompt, checksum_key, keys_of_context, remember_keys
from knowbound.store.data_dir import RESCUES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from knowbound.injection.hook_settings import HookSettings
    from knowbound.lessons.rescue.words import Rescue
    from knowbound.quality.ended import EndedTurn

# What finishing needs of a run.
_RUN_FIELDS = ("root", "home", "tree", "index_is_outdated", "asks_later", "spent_ms", "tool_calls", "tool_ms")
_SEARCH_SECONDS = 30.0  # nobody waits for these searches
_LONGEST_PROBLEM = 300  # characters


def finish(run: HookRun, payload: dict[str, Any]) -> None:
    """Do what no agent waits for after an answer: records, workers, questions to models."""
    if not run.home or run.is_answered_elsewhere:
        return
    if run.ended_turn:
        _finish_turn(run, run.ended_turn)
    else:
        _finish_answer(run, HookPrompt(payload), payload)


def needs_process(run: HookRun) -> bool:
    """Report whether finishing may take long, or changes the working folder: not in the process of a server."""
    return bool(run.ended_turn) or run.index_is_outdated or run.record.begins_day or run.asks_later


def unfinished(run: HookRun, payload: dict[str, Any]) -> dict[str, Any]:
    """Return an answered event as JSON, for `knowbound-hook finish`."""
    fields = {name: getattr(run, name) for name in _RUN_FIELDS}
    key = run.ended_turn.key if run.ended_turn else run.record.key
    return {"event": run.event, "payload": payload, "run": fields, "key": key, "begins_day": run.record.begins_day}


def resumed(saved: dict[str, Any]) -> tuple[HookRun, dict[str, Any]]:
    """Return the run and the payload of what `unfinished` returned."""
    event, payload = saved["event"], saved["payload"]
    run, prompt = HookRun(event, time.monotonic()), HookPrompt(payload)
    for name in _RUN_FIELDS:
        setattr(run, name, saved["run"][name])
    run.record.begins_day = saved["begins_day"]
    run.record.key.update(saved["key"])
    if event in TURN_ENDS:
        from knowbound.quality.ended import EndedTurn  # noqa: PLC0415

        run.ended_turn = EndedTurn(event, prompt, payload)
        run.ended_turn.key.update(saved["key"])
        if event == "stop":
            from knowbound.agent.hook.stop import stop_check_of  # noqa: PLC0415

            run.check = stop_check_of(run, prompt, payload)
    return run, payload


def _finish_answer(run: HookRun, prompt: HookPrompt, payload: dict[str, Any]) -> None:
    """Complete the record of an answer, and start the workers, the daily removal and the question to a model."""
    settings = hook_settings.cached(run.root, run.home)
    _update_source_index(run, prompt, settings)
    if settings and settings.is_shared:
        from knowbound.agent.background import SYNC  # noqa: PLC0415

        SYNC.ensure_running(run.root, run.home)
    if prompt.text:
        run.record.end_with_prompt(run.home, prompt.text)
    if run.index_is_outdated:  # knowbound was upgraded: the next prompt finds the index as this version reads it
        from pathlib import Path  # noqa: PLC0415

        from knowbound.kms.index.database import Index  # noqa: PLC0415

        Index(Path(run.home)).close()
    if run.record.begins_day:  # once a day, old records are removed
        from pathlib import Path  # noqa: PLC0415

        from knowbound.config import load  # noqa: PLC0415
        from knowbound.injection.log import tidy  # noqa: PLC0415

        tidy(Path(run.home), load(Path(run.root), ignore_untrusted=True).injection_log_days)
    if run.asks_later and settings and run.event in AFTER_TOOLS:
        _ask_about_miss(run, settings.rescue_model, payload, prompt)
    elif run.asks_later and settings:
        from knowbound.injection.choosing import choose_for_later  # noqa: PLC0415

        choose_for_later(run.root, run.home, settings, prompt, run.record.key)


def _update_source_index(run: HookRun, prompt: HookPrompt, settings: HookSettings | None) -> None:
    """Update the index of the source tree when a session starts and after a miss."""
    if not settings or not settings.rescues:
        return
    if run.event == "session-start":
        from knowbound.agent.hook.rescue import tree_of  # noqa: PLC0415

        run.tree = tree_of(prompt.cwd, run.root)
    if run.tree:  # set above, or by a lookup that may be a miss
        from knowbound.agent.background import INDEXING  # noqa: PLC0415

        INDEXING.ensure_running(run.tree, run.home)


def _finish_turn(run: HookRun, turn: EndedTurn) -> None:
    """Add the last message for the judge of an ended turn, and start the worker that has it judged.

    If the check is off, its log gets what it would have said.
    """
    check = run.check
    from knowbound.agent.background import SCORING  # noqa: PLC0415

    try:
        turn.end(run.home, run.spent_ms, run.tool_calls, run.tool_ms)
    finally:
        SCORING.ensure_running(run.root, run.home)
    if check is None:
        return
    if check.mode == "off":  # not asked before the answer; the log gets its sentence
        from knowbound.agent.hook.stop import BACKGROUND_SECONDS  # noqa: PLC0415

        check.sentence(time.monotonic() + BACKGROUND_SECONDS)
    check.hand_over()


def _ask_about_miss(run: HookRun, model: str, payload: Mapping[str, Any], prompt: HookPrompt) -> None:
    """Ask a model about a miss, once in a context, and keep its answer for a later tool event. Raises OSError."""
    from knowbound.agent.hook.rescue import place_key  # noqa: PLC0415  # most runs ask about nothing
    from knowbound.injection import late  # noqa: PLC0415
    from knowbound.injection.record import add_to_record  # noqa: PLC0415

    asked_at = time.time()
    key = checksum_key("miss", repr((payload.get("tool_name"), payload.get("tool_input"))))
    if key in keys_of_context(run.home, prompt.context):  # asked already
        return
    remember_keys(run.home, prompt.context, [key])
    os.chdir(run.home)  # a program that is the model never runs in a folder that an agent works in
    try:
        rescue = _model_rescue(run, model, payload, prompt)
    except Exception as error:  # the agent goes on without an answer
        from knowbound.lessons.rescue.words import NOTHING  # noqa: PLC0415

        rescue = NOTHING._replace(problem=f"{type(error).__name__}: {error}")
    if late.is_forgotten(run.home, prompt.session):  # `forget` ran meanwhile
        return
    fields: dict[str, Any] = {"model": model, "model_ms": round((time.time() - asked_at) * 1000)}
    if rescue.problem:
        from knowbound.text.redact import excerpt  # noqa: PLC0415

        fields["problem"] = excerpt(rescue.problem, _LONGEST_PROBLEM)
    elif rescue.text:
        places = [[place.path, place.line] for place in rescue.suggestions]
        fields |= {"status": rescue.status, "rule": rescue.rule, "text": rescue.text, "places": places}
    add_to_record(run.home, run.record.key, fields, RESCUES)
    if rescue.text:
        keys = list(map(place_key, rescue.suggestions))
        answer = late.LateAnswer(late.RESCUE, run.record.key, asked_at, text=rescue.text, keys=keys)
        late.keep(run.home, prompt.context, prompt.turn, answer)


def _model_rescue(run: HookRun, model: str, payload: Mapping[str, Any], prompt: HookPrompt) -> Rescue:
    """Return what a model says about a miss; NOTHING if it may not be asked, or if the agent looked there already."""
    from dataclasses import replace  # noqa: PLC0415
    from pathlib import Path  # noqa: PLC0415

    from knowbound.codebase.kept_index import open_tree  # noqa: PLC0415
    from knowbound.config import load  # noqa: PLC0415
    from knowbound.judge.choice import may_see  # noqa: PLC0415
    from knowbound.judge.registry import asker_for  # noqa: PLC0415
    from knowbound.lessons.rescue.asking import is_reached, rescues_by_model  # noqa: PLC0415
    from knowbound.lessons.rescue.words import NOTHING  # noqa: PLC0415

    settings = replace(load(Path(run.root), ignore_untrusted=True), home=Path(run.home))
    if not may_see(model, prompt.agent, settings):
        return NOTHING._replace(problem="the model is of another provider than the session (model.cross_provider)")
    asker = asker_for(settings, model, background=True, keep=False, is_quick=True)
    tree = open_tree(run.home, run.tree, work_seconds=_SEARCH_SECONDS)
    if asker is None or tree is None:
        return NOTHING
    (rescue,) = rescues_by_model([payload], tree, asker)
    return NOTHING if is_reached(payload, rescue) else rescue
