"""The hooks of an agent: what is injected when a session starts and when a prompt is submitted.

    knowbound-hook user-prompt-submit|session-start      the agent's hook JSON on stdin, its answer on stdout

An entry point of its own, on the standard library and our smallest modules: it starts for every prompt. It reads only
the local index, so a backend that is down does not matter. Whatever goes wrong, the agent gets no context and no
error, the exit code is 0, and the reason is in the hook log, which `knowbound doctor` shows. Claude Code and Codex
use the same names and the same JSON.
"""

from __future__ import annotations

import _thread  # threading itself costs 4 ms
import json
import os
import sys
import time

from knowbound import __version__
from knowbound.agent import hook_log
from knowbound.agent.switch import is_off
from knowbound.store.data_dir import data_folder
from knowbound.store.owner import OURS, may_be_tracked, owner_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

EVENTS = {"user-prompt-submit": "UserPromptSubmit", "session-start": "SessionStart"}
INPUT_LIMIT_MS = 300  # for the agent to write its input; then injection.time_limit_ms counts
_LIMIT_SETTING = "KNOWBOUND_INJECTION_TIME_LIMIT_MS"
TRIAL = "KNOWBOUND_HOOK_TRIAL"  # set by `doctor`: answer as always, record nothing, say the outcome on stderr
MOST_INPUT = 4 * 1024 * 1024  # bytes; a prompt with a pasted log is far below
# The start of the process: a start-up does nothing but use the CPU.
_STARTED = time.perf_counter() - time.process_time()
_CONTEXT_IS_GONE = ("compact", "clear")  # values of SessionStart's `source`


class RefusedError(Exception):
    """Why nothing is injected, in words for the log."""


class HookRun:
    """One run of the hook: what its line in the log says."""

    def __init__(self, event: str) -> None:
        self.event = event
        self.home = ""  # the data folder; without one nothing is logged
        self.items = 0
        self.tokens = 0
        given = os.environ.get(_LIMIT_SETTING, "")
        self.limit_ms = int(given) if given.isdecimal() and len(given) < 10 else INPUT_LIMIT_MS
        self.is_trial = bool(os.environ.get(TRIAL))
        self.ending = _thread.allocate_lock()  # whoever takes it ends the process

    def end(self, outcome: str, reason: str = "") -> NoReturn:
        """Log and leave at once: no interpreter teardown, no late exception, always 0."""
        is_mine = self.ending.acquire(timeout=0.1)
        try:
            spent = (time.perf_counter() - _STARTED) * 1000
            if self.is_trial and is_mine:
                found = {"version": __version__, "outcome": outcome, "reason": reason, "home": self.home, "ms": spent}
                os.write(2, json.dumps(found).encode() + b"\n")
            elif self.home and is_mine:
                event = self.event if self.event in EVENTS else "unknown"
                hook_log.write(self.home, event, outcome, spent, self.items, self.tokens, reason)
        finally:
            os._exit(0)


def main(args: list[str] | None = None) -> NoReturn:
    """Answer one event."""
    given = sys.argv[1:] if args is None else args
    run = HookRun(given[0][:40] if given else "")
    try:
        _thread.start_new_thread(_watch, (run,))
        if is_off():
            while os.read(0, 1 << 20):  # to its end, so that the agent's write does not fail
                pass
            run.end("off")
        _, home = data_folder(os.getcwd())
        run.home = home if home and _is_ours(home) else ""  # where a failure to read the input is logged
        answer = _answer(run, _read_input())
        if answer:
            os.write(1, answer)
    except RefusedError as refusal:
        run.end("failed", str(refusal))
    except BaseException as error:
        run.end("failed", f"{type(error).__name__}: {error}")
    run.end("told" if answer else "nothing")


def _watch(run: HookRun) -> None:
    """Give up when the time is over, wherever the work is: the agent must not wait."""
    while (left := run.limit_ms / 1000 - (time.perf_counter() - _STARTED)) > 0:
        time.sleep(min(left, 0.05))  # the limit may change when the settings are read
    run.end("failed", f"the time limit of {run.limit_ms} ms is over (injection.time_limit_ms)")


def _read_input() -> dict[str, Any]:
    """The agent's JSON. What is too large is read to its end all the same, so that the agent's write does not fail."""
    kept, size = [], 0
    while part := os.read(0, 1 << 20):
        size += len(part)
        if size <= MOST_INPUT:
            kept.append(part)
    if size > MOST_INPUT:
        raise RefusedError(f"the input has {size} bytes, more than {MOST_INPUT}")
    try:
        payload = json.loads(b"".join(kept).decode("utf-8", "replace").lstrip("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise RefusedError(f"the input is no JSON: {error}") from None
    if not isinstance(payload, dict):
        raise RefusedError("the input is no JSON object")
    return payload


def _answer(run: HookRun, payload: dict[str, Any]) -> bytes:
    """What to print: the context, or nothing."""
    root, home = data_folder(_text(payload, "cwd") or os.getcwd())
    run.home = home if home and _is_ours(home) else ""
    if not run.home:
        return b""
    if run.event not in EVENTS:
        raise RefusedError(f"unknown event {run.event!r}; known are {', '.join(EVENTS)}")
    # Not needed where there is no store.
    from knowbound.injection import hook_settings  # noqa: PLC0415
    from knowbound.injection.inject import inject_at_session_start, inject_for_prompt  # noqa: PLC0415
    from knowbound.injection.record import HookPrompt  # noqa: PLC0415

    settings = hook_settings.load(root, run.home, keep=not run.is_trial)
    run.limit_ms = settings.time_limit_ms
    # A sub-agent has a context of its own.
    context = "-".join(filter(None, (_text(payload, "session_id"), _text(payload, "agent_id"))))
    prompt = HookPrompt(
        session=_text(payload, "session_id"),
        turn=_text(payload, "turn_id") or _text(payload, "prompt_id"),
        prompt_id=_text(payload, "prompt_id"),
        text=_text(payload, "prompt"),
        context=context,
        is_recorded=not run.is_trial,
    )
    if run.event == "session-start":
        context_is_new = _text(payload, "source") in _CONTEXT_IS_GONE
        injected = inject_at_session_start(run.home, settings, prompt, context_is_new=context_is_new)
    else:
        injected = inject_for_prompt(run.home, settings, prompt)
    run.items, run.tokens = len(injected.items), injected.tokens
    if not injected.text:
        return b""
    output = {"hookSpecificOutput": {"hookEventName": EVENTS[run.event], "additionalContext": injected.text}}
    return json.dumps(output, ensure_ascii=False).encode("utf-8", "replace")


def _is_ours(home: str) -> bool:
    """Whether this user made the data folder, or named it. Another is neither read nor written."""
    is_given = bool(os.environ.get("KNOWBOUND_HOME"))
    return (is_given or owner_of(home) == OURS) and not may_be_tracked(home)


def _text(payload: dict[str, Any], key: str) -> str:
    value = payload.get(key)
    return value if isinstance(value, str) else ""
