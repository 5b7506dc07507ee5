"""Answers of a person to interruptions: all hooks are switched off and on, or one is called wrong.

.knowbound/wrong.jsonl   one line for each: its kind, its time, and the time of the person's word
"""

from __future__ import annotations

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from knowbound.agent.hook import log as hook_log
from knowbound.agent.hook.resident import LATE_HOOK, OFF_FILE, OFF_VARIABLE, variable_is_set
from knowbound.errors import InputError
from knowbound.text.clock import utc_now
from knowbound.user_files import append, make_file, make_folder, state_places

NAME = "wrong.jsonl"
_MOST_OF_A_TIME = 40  # characters
DAYS = 7  # that the share is counted over
MOST_WRONG = 1  # in these days; above it the kind should be switched off
# Outcomes in the hook log by kind, and how each kind is switched off.
_OUTCOMES = {"injected": "injection", "rescued": "rescue", "warned": "check", "blocked": "check"}
QUIET = {
    "injection": "knowbound off",
    "rescue": "rescue.enabled = false in the config",
    "check": 'audit.check = "off" in the config',
}
KINDS = tuple(QUIET)


class Interruption(NamedTuple):
    """One run of a hook that the agent or its user saw."""

    kind: str
    time: str


class WrongShare(NamedTuple):
    """Interruptions of one kind in the last days, and how many of them a person called wrong."""

    kind: str
    wrong: int
    all: int


def call_wrong(home: Path, kind: str = "") -> Interruption:
    """Note that the newest interruption (of this kind) was wrong. Raises InputError if there is none."""
    called_wrong = set(_called_wrong(home))
    remaining = [run for run in _interruptions(home) if run not in called_wrong and kind in ("", run.kind)]
    if not remaining:
        missing = f"{kind} that is" if kind else "interruption that is"
        raise InputError("no-interruption", f"The log of hooks has no {missing} not called wrong already. See: doctor")
    newest = max(remaining, key=lambda run: run.time)
    line = {"kind": newest.kind, "time": newest.time, "said": utc_now()}
    append(str(home / NAME), json.dumps(line, separators=(",", ":")).encode() + b"\n")
    return newest


def wrong_shares(home: Path) -> list[WrongShare]:
    """Count the interruptions of the last days by kind."""
    since = (datetime.fromisoformat(utc_now()) - timedelta(days=DAYS)).strftime("%Y-%m-%dT%H:%M:%SZ")
    seen, wrong = (
        Counter(interruption.kind for interruption in listed if interruption.time >= since)
        for listed in (_interruptions(home), _called_wrong(home))
    )
    # The hook log is cut, wrong.jsonl is not: more may be called wrong than the log still has.
    return [WrongShare(kind, wrong[kind], max(seen[kind], wrong[kind])) for kind in KINDS if seen[kind] or wrong[kind]]


def _interruptions(home: Path) -> list[Interruption]:
    return _interruptions_in((_OUTCOMES.get(str(run.get("outcome")), ""), run) for run in hook_log.runs(str(home)))


def _called_wrong(home: Path) -> list[Interruption]:
    return _interruptions_in((str(line.get("kind")), line) for line in hook_log.json_lines(str(home / NAME)))


def _interruptions_in(lines: Iterable[tuple[str, Mapping[str, object]]]) -> list[Interruption]:
    return [Interruption(kind, str(line.get("time"))) for kind, line in lines if kind in KINDS]


# The switch


class OffState(NamedTuple):
    """The way that hooks are off: by the variable, or by the file since a time."""

    by_variable: bool
    since: str = ""  # ISO, UTC; "" if unknown

    def __str__(self) -> str:
        if self.by_variable:
            return f"{OFF_VARIABLE} is set"
        return f"since {self.since or 'an unknown time'}"


def off_state() -> OffState | None:
    """Return how and since when hooks are off; None if they are on."""
    if variable_is_set():
        return OffState(by_variable=True)
    for path in filter(os.path.lexists, state_places(OFF_FILE)):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                since = file.read(_MOST_OF_A_TIME).strip()
        except OSError:
            since = ""
        return OffState(by_variable=False, since=since if since.isascii() and since.isprintable() else "")
    return None


def switch_off() -> None:
    """Switch off every hook that starts from now on. Raises OSError."""
    now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    for path in state_places(OFF_FILE):
        if not os.path.lexists(path):  # the first time stays
            make_folder(os.path.dirname(path))
            make_file(path, f"{now}\n".encode())


def switch_on() -> bool:
    """Remove the switch, not the variable, and report whether it was there. Raises OSError."""
    were_off = False
    for path in state_places(OFF_FILE):
        try:
            os.unlink(path)
            were_off = True
        except FileNotFoundError:
            continue
    return were_off


def note_late_hook(agent: str, *, is_installed: bool) -> None:
    """Note whether an agent has the hook after every tool, which brings late answers. Raises OSError."""
    for path in state_places(LATE_HOOK + agent):
        if is_installed:
            make_folder(os.path.dirname(path))
            make_file(path, b"")
        elif os.path.lexists(path):
            os.unlink(path)
