"""The answer to a prompt, or to a session that starts: the items and the index that are injected, or nothing.

Both are chosen by rules, within the limit. A model that may choose is asked when the agent has its answer, and a later
tool event delivers what it chose (injection/late.py).
"""

from __future__ import annotations

from knowbound.agent.hook.resident import has_late_hook
from knowbound.agent.hook.run import EVENTS, INJECTING, RefusedError
from knowbound.injection.hook_settings import is_shadowed
from knowbound.injection.prompt import forget_context, is_notice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.agent.hook.run import HookRun
    from knowbound.injection.hook_settings import HookSettings
    from knowbound.injection.inject import Choice
    from knowbound.injection.prompt import HookPrompt
    from knowbound.injection.session_start import SessionStart


def answer_prompt(run: HookRun, event: str, prompt: HookPrompt) -> None:
    """Write the context or nothing, and end the run."""
    if not run.home or is_notice(prompt.text):  # the client's own text goes on with the turn before
        run.inject_nothing()
        return
    if event not in EVENTS:
        raise RefusedError(f"unknown event {event[:40]!r}; known are {', '.join(EVENTS)}")
    # Imported here, because they are not needed without a store.
    from knowbound.store.own_index import IndexOutdatedError  # noqa: PLC0415

    settings = run.settings()
    if event == "user-prompt-submit" and settings.check != "off" and prompt.session and not run.is_trial:
        from knowbound.agent.hook.stop import claim_waiting  # noqa: PLC0415

        run.notice = claim_waiting(run.home, prompt.session)  # found about the last answer meanwhile
    if prompt.context_is_gone and not run.is_trial:  # compacted or cleared
        forget_context(run.home, prompt.context)
    choose = _choose_start_of_session if event == "session-start" else _choose_items
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


def _choose_items(run: HookRun, settings: HookSettings, prompt: HookPrompt) -> Choice:
    """Return the items for a prompt; `run.asks_later` becomes true if a model is to choose after the answer."""
    from knowbound.injection.inject import choose_for_prompt, is_held_out  # noqa: PLC0415

    choice = choose_for_prompt(run.home, settings, prompt)
    asks_model = settings.model and settings.most_items and choice.pool and not is_held_out(prompt, settings.holdout)
    if asks_model and not prompt.agent_id and prompt.turn and not run.is_trial:  # late text is for main agents
        # A later tool event of this turn delivers the choice.
        run.asks_later = has_late_hook(prompt.agent) and not is_shadowed(run.home)
    run.record.add_known(choice.fields())
    return choice


def _holds_out(run: HookRun, settings: HookSettings, prompt: HookPrompt) -> bool:
    """Record the prompt's arm of the holdout, and report whether that arm gets nothing."""
    from knowbound.injection.inject import HELD_OUT, INJECTED, is_held_out  # noqa: PLC0415

    is_held = is_held_out(prompt, settings.holdout)
    run.record.add_arm(HELD_OUT if is_held else INJECTED)
    return is_held


def _choose_start_of_session(run: HookRun, settings: HookSettings, prompt: HookPrompt) -> SessionStart:
    """Return the store's index and the suggested corrections that a session starts with."""
    from knowbound.injection.session_start import start_of_session  # noqa: PLC0415

    start = start_of_session(run.home, settings, prompt)
    run.record.add_known(start.fields())
    return start
