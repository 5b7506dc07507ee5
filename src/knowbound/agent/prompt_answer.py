"""The answer to a prompt, or to a session that starts: the items and the index that are injected, or nothing.

Both are chosen by rules, within the limit. A model that may choose is asked when the agent has its answer, and a later
tool event delivers what it chose (injection/late.py); only where the user lets prompts wait (injection.wait_ms), the
hook gives it some time.
"""

from __future__ import annotations

import os
import time

from knowbound.agent.hook import EVENTS, INJECTING, RefusedError
from knowbound.agent.switch import has_late_hook
from knowbound.injection import shadow
from knowbound.injection.prompt import is_notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from knowbound.agent.hook_run import HookRun
    from knowbound.injection.choosing import ModelChoice
    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.inject import Choice
    from knowbound.injection.prompt import HookPrompt
    from knowbound.injection.store_index import SessionStart


def answer_prompt(run: HookRun, event: str, prompt: HookPrompt) -> None:
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

    choice = choose_for_prompt(run.home, settings, prompt)
    if settings.model and settings.most_items and choice.pool and not is_held_out(prompt, settings.holdout):
        if settings.wait_ms:
            choice = _waited_for(run, settings, prompt, choice)
        elif not prompt.agent_id and prompt.turn and not run.is_trial and _may_come_later(run, prompt):
            run.asks_later = True  # a later tool event of this turn can deliver the choice
    run.record.add_known(choice.fields())
    return choice


def _may_come_later(run: HookRun, prompt: HookPrompt) -> bool:
    return has_late_hook(prompt.agent) and not shadow.is_on(run.home)


def _waited_for(run: HookRun, settings: HookSettings, prompt: HookPrompt, choice: Choice) -> Choice:
    """Wait for the model's choice. After the time limit the rules' choice is injected, and the model's choice later."""
    from knowbound.injection.choosing import FAILED, RESERVE, Asking, ModelChoice  # noqa: PLC0415
    from knowbound.injection.contexts import new_to_context  # noqa: PLC0415

    def work(hand_over: Callable[[ModelChoice], bool]) -> None:
        ask_model_for(run, settings, prompt, hand_over)

    until = min(time.monotonic() + settings.wait_ms / 1000, run.until - RESERVE)
    try:
        asked = Asking(work).wait(until)
    except (OSError, ValueError, KeyError, TypeError) as error:  # no process, or one that died while it answered
        asked = ModelChoice(FAILED, problem=f"the model: {type(error).__name__}")
    run.add_model(asked)
    return choice if asked.items is None else choice.replaced_by(new_to_context(run.home, prompt.context, asked.items))


def ask_model_for(
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
    run.record.add_known(start.fields())
    return start
