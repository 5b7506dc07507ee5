"""The hooks of an agent: inject context when a session starts or a prompt is submitted, and queue ended turns.

    knowbound-hook user-prompt-submit|session-start      the agent's hook JSON on stdin, its answer on stdout
    knowbound-hook stop|stop-failure|interrupt|session-end|subagent-stop      queues the turn to be scored; no answer
    knowbound-hook post-tool-use|post-tool-use-failure   the place that a missed lookup meant (rescue_answer.py)

The hook starts for every prompt, so it uses the standard library and our smallest modules. It reads only the local
index, so a backend that is down does not matter. After any failure the agent gets no context and no error, the exit
code is 0, and the reason is in the hook log, which `knowbound doctor` shows. Claude Code and Codex use the same JSON,
and the same names for the events that both have (clients.py).
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time

from knowbound.agent.hook_entry import AFTER_TOOLS, MOST_INPUT, TRIAL, read_input
from knowbound.agent.hook_run import HookRun, continue_detached, release_agent
from knowbound.agent.switch import has_late_hook, is_off
from knowbound.injection import hook_settings
from knowbound.injection.prompt import HookPrompt, is_notice
from knowbound.quality import ended
from knowbound.quality.ended import EndedTurn
from knowbound.store.data_dir import data_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from knowbound.agent.stop_check import StopCheck
    from knowbound.injection.choosing import ModelChoice
    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.inject import Choice
    from knowbound.injection.store_index import SessionStart

INJECTING = {"user-prompt-submit": "UserPromptSubmit", "session-start": "SessionStart"}
EVENTS = INJECTING | ended.EVENTS | AFTER_TOOLS


class RefusedError(Exception):
    """The reason why nothing is injected, for the log."""


def main(args: list[str] | None = None, data: bytes | None = None) -> NoReturn:
    """Answer one event; `data` is its input, if that was read already."""
    gc.disable()  # the process is over before there is anything to collect
    given = sys.argv[1:] if args is None else args
    event = given[0] if given else ""
    run = HookRun(event if event in EVENTS else "unknown", is_trial=bool(os.environ.get(TRIAL)))
    payload: dict[str, Any] = {}
    prompt, turn, check = HookPrompt(payload), None, None
    try:
        run.watch()
        if is_off():
            _read_input()
            run.end_off()
        run.use_folder(*data_folder(_started_in()))  # for its time limit and its log, until the input names a folder
        payload = _decoded(_read_input() if data is None else data)
        run.has_input = True
        prompt = HookPrompt(payload)
        run.use_folder(*data_folder(prompt.cwd or _started_in()))
        if event in ended.EVENTS:
            turn = EndedTurn(event, prompt, payload)
            check = _stop_check(run, event, prompt, payload)
            run.queue(turn, check if check is not None and check.mode != "off" else None)
        else:
            run.record.add_prompt(prompt)
            if event in AFTER_TOOLS:
                from knowbound.agent.rescue_answer import answer  # noqa: PLC0415  # other events need none

                answer(run, event, payload, prompt)
            else:
                _answer(run, event, prompt)
    except RefusedError as refusal:
        run.fail(str(refusal))
    except BaseException as error:
        run.fail(f"{type(error).__name__}: {error}")
    try:
        release_agent()
        if run.home and not run.is_trial:
            continue_detached()
            if turn:
                _finish_turn(run, turn, check)
            else:
                _finish_answer(run, prompt, payload)
    finally:
        os._exit(0)  # no interpreter teardown, no late exception, always 0


def _answer(run: HookRun, event: str, prompt: HookPrompt) -> None:
    """Write the context or nothing, and end the run."""
    if not run.home or is_notice(prompt.text):
        run.inject_nothing()
        return
    if event not in EVENTS:
        raise RefusedError(f"unknown event {event[:40]!r}; known are {', '.join(EVENTS)}")
    # Not needed without a store.
    from knowbound.injection.contexts import forget  # noqa: PLC0415
    from knowbound.store.read_only import IndexOutdatedError  # noqa: PLC0415

    settings = run.settings()
    if event == "user-prompt-submit" and settings.check != "off" and prompt.session and not run.is_trial:
        from knowbound.agent.stop_check import claim_waiting  # noqa: PLC0415

        run.notice = claim_waiting(run.home, prompt.session)
    if prompt.context_is_gone and not run.is_trial:
        forget(run.home, prompt.context)
    choose = _start_of_session if event == "session-start" else _items
    try:
        chosen = choose(run, settings, prompt)
    except IndexOutdatedError as outdated:
        run.index_is_outdated = True
        raise RefusedError(str(outdated)) from None
    if settings.holdout and event == "user-prompt-submit" and chosen.text and _holds_out(run, settings, prompt):
        run.inject_nothing("held_out")
    elif chosen.text:
        run.deliver(INJECTING[event], chosen, prompt)
    else:
        run.inject_nothing()


def _items(run: HookRun, settings: HookSettings, prompt: HookPrompt) -> Choice:
    """Choose the items that a prompt is about."""
    from knowbound.injection.inject import choose_for_prompt, is_held_out  # noqa: PLC0415
    from knowbound.kms.search.ranking import RANKER  # noqa: PLC0415

    choice = choose_for_prompt(run.home, settings, prompt)
    if settings.model and settings.most_items and choice.pool and not is_held_out(prompt, settings.holdout):
        if settings.wait_ms:
            choice = _waited_for(run, settings, prompt, choice)
        elif not prompt.agent_id and prompt.turn and not run.is_trial and has_late_hook(prompt.agent):
            run.asks_later = True  # a later tool event of this turn can deliver the choice
    run.record.add_choice(
        choice.items, choice.pool, ranker=RANKER, floor=choice.floor, budget=choice.budget, ms=choice.ms
    )
    return choice


def _waited_for(run: HookRun, settings: HookSettings, prompt: HookPrompt, choice: Choice) -> Choice:
    """Give the model some time to choose. If it needs longer, the floor's choice is injected, and its own later."""
    from knowbound.injection.choosing import FAILED, RESERVE, Asking, ModelChoice  # noqa: PLC0415
    from knowbound.injection.contexts import new_to_context  # noqa: PLC0415

    def work(hand_over: Callable[[ModelChoice], bool]) -> None:
        _ask_model(run, settings, prompt, hand_over)

    until = min(time.monotonic() + settings.wait_ms / 1000, run.until - RESERVE)
    try:
        asked = Asking(work).wait(until)
    except (OSError, ValueError, KeyError, TypeError) as error:  # no process, or one that died while it answered
        asked = ModelChoice(FAILED, problem=f"the model: {type(error).__name__}")
    run.add_model(asked)
    return choice if asked.items is None else choice.replaced_by(new_to_context(run.home, prompt.context, asked.items))


def _ask_model(
    run: HookRun, settings: HookSettings, prompt: HookPrompt, hand_over: Callable[[ModelChoice], bool] | None = None
) -> None:
    """Ask the model. What nobody waits for is kept for a later tool event of the turn."""
    from knowbound.injection.choosing import ask_model, keep_for_later  # noqa: PLC0415

    prompted = time.time()
    os.chdir(run.home)  # a program that is the model never runs in a folder that an agent works in
    asked = ask_model(run.root, run.home, settings.model, prompt, settings.most_items)
    if hand_over is not None and (hand_over(asked) or run.is_trial or prompt.agent_id or not prompt.turn):
        return
    keep_for_later(run.home, prompt, run.record.key, asked, budget=settings.token_budget, prompted=prompted)


def _holds_out(run: HookRun, settings: HookSettings, prompt: HookPrompt) -> bool:
    """Record the prompt's arm of the holdout, and report whether that arm gets nothing."""
    from knowbound.injection.inject import HELD_OUT, INJECTED, is_held_out  # noqa: PLC0415

    held = is_held_out(prompt, settings.holdout)
    run.record.add_arm(HELD_OUT if held else INJECTED)
    return held


def _start_of_session(run: HookRun, settings: HookSettings, prompt: HookPrompt) -> SessionStart:
    """Return the store's index and the suggested corrections that a session starts with."""
    from knowbound.injection.store_index import start_of_session  # noqa: PLC0415

    start = start_of_session(run.home, settings, prompt)
    run.record.add_start(start)
    return start


def _finish_answer(run: HookRun, prompt: HookPrompt, payload: dict[str, Any]) -> None:
    """Do the work that no agent waits for."""
    settings = hook_settings.cached(run.root, run.home)
    _keep_index(run, prompt, settings)
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
        from knowbound.injection.upkeep import tidy  # noqa: PLC0415

        tidy(Path(run.home), load(Path(run.root), ignore_untrusted=True).injection_log_days)
    if run.asks_later and settings and run.event in AFTER_TOOLS:
        from knowbound.agent.rescue_answer import ask_about_miss  # noqa: PLC0415

        ask_about_miss(run, settings.rescue_model, payload, prompt)
    elif run.asks_later and settings:
        _ask_model(run, settings, prompt)


def _keep_index(run: HookRun, prompt: HookPrompt, settings: HookSettings | None) -> None:
    """Update the index of the source tree when a session starts and after a miss."""
    if not settings or not settings.rescues:
        return
    if run.event == "session-start":
        from knowbound.agent.rescue_answer import tree_of  # noqa: PLC0415

        run.tree = tree_of(prompt.cwd, run.root)
    if run.tree:
        from knowbound.agent.background import INDEXING  # noqa: PLC0415

        INDEXING.ensure_running(run.tree, run.home)


def _stop_check(run: HookRun, event: str, prompt: HookPrompt, payload: dict[str, Any]) -> StopCheck | None:
    """Return the check before the agent stops; None without a data folder."""
    if event != ended.STOP or not run.home or run.is_trial:
        return None
    from knowbound.agent.stop_check import StopCheck  # noqa: PLC0415  # other events need none

    try:
        settings = hook_settings.cached(run.root, run.home) or run.settings()
    except Exception:  # a config that cannot be used checks nothing
        return StopCheck(run.root, run.home, "off", 0, prompt, payload)
    return StopCheck(run.root, run.home, settings.check, settings.check_ms, prompt, payload)


def _finish_turn(run: HookRun, turn: EndedTurn, check: StopCheck | None) -> None:
    """Add the last message for the judge of an ended turn, and start the worker that has it judged.

    If the check is off, its log gets what it would have said.
    """
    from knowbound.agent.background import SCORING  # noqa: PLC0415

    try:
        turn.end(run.home, run.spent_ms)
    finally:
        SCORING.ensure_running(run.root, run.home)
    if check is None:
        return
    if check.mode == "off":
        from knowbound.agent.stop_check import BACKGROUND_SECONDS  # noqa: PLC0415

        check.sentence(time.monotonic() + BACKGROUND_SECONDS)
    check.hand_over()


def _started_in() -> str:
    """Return the folder we were started in; one without a store if it was deleted, as the input names another."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def _read_input() -> bytes:
    data = read_input()
    if data is None:
        raise RefusedError(f"the input has more than {MOST_INPUT} bytes")
    return data


def _decoded(data: bytes) -> dict[str, Any]:
    try:
        payload = json.loads(data.decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the input is no JSON: {error}") from None
    if not isinstance(payload, dict):
        raise RefusedError("the input is no JSON object")
    return payload
