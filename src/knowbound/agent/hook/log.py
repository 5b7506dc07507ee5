"""The hook log: one JSON line per run, in the data folder; `doctor` shows it."""

from __future__ import annotations

import json
import os
import time

from knowbound.user_files import append, state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "hook.log"
LARGEST = 256 * 1024  # bytes; then the file replaces its predecessor, hook.log.1
_LONGEST_REASON = 500  # characters


def write(home: str, event: str, outcome: str, spent_ms: float, items: int, tokens: int, reason: str = "") -> None:
    """Append a run; to the user's state folder if the data folder cannot be written."""
    line = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "event": event,
        "outcome": outcome,  # injected, indexed, queued, nothing, gave_up, undelivered, failed
        "ms": round(spent_ms, 1),
        "items": items,
        "tokens": tokens,
    }
    if reason:
        line["reason"] = without_secrets(reason) if outcome == "failed" else reason  # other reasons are our own words
    try:
        append_line(os.path.join(home, NAME), line, LARGEST)
    except OSError as error:
        line |= {"home": home, "unwritable": str(error)}
        append_line(os.path.join(state_folder(), NAME), line, LARGEST)


def runs(home: str) -> list[dict[str, Any]]:
    """Return the runs in the log, oldest first, with those logged in the state folder."""
    in_folder = json_lines(os.path.join(home, NAME + ".1")) + json_lines(os.path.join(home, NAME))
    elsewhere = [run for run in json_lines(os.path.join(state_folder(), NAME)) if run.get("home") == home]
    for run in in_folder + elsewhere:
        if run.get("outcome") == "told":  # the name in version 0.1.0
            run["outcome"] = "injected"
    return sorted(in_folder + elsewhere, key=lambda run: str(run.get("time")))


def append_line(path: str, line: dict[str, Any], most_bytes: int) -> None:
    """Append a line; a log of more than so many bytes replaces its predecessor. Raises OSError."""
    if append(path, json.dumps(line, separators=(",", ":")).encode() + b"\n") > most_bytes:
        try:
            if os.path.getsize(path) > most_bytes:  # else another run has just moved it
                os.replace(path, path + ".1")
        except FileNotFoundError:
            return


def json_lines(path: str) -> list[dict[str, Any]]:
    """Return the JSON objects of a file of lines, without broken lines; nothing if the file cannot be read."""
    try:
        with open(path, "rb") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    return [fields for line in lines if (fields := json_object(line))]


def json_object(line: bytes) -> dict[str, Any]:
    """Return the object that a line of JSON has; {} for a line that is broken or has no object."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def without_secrets(reason: str) -> str:
    """Return the reason of a failure as it may be written."""
    try:
        from knowbound.text.redact import excerpt  # noqa: PLC0415  # takes 20 ms: only after a failure

        return excerpt(reason, _LONGEST_REASON)
    except Exception:
        return f"{reason.split(':', maxsplit=1)[0][:80]} (the rest could not be cleared of secrets)"
