"""The line of `knowbound statusline`: what happened today in the project of a Claude Code session.

The client runs it after each of its own updates, so it reads three counts that others made and loads the standard
library alone. Gaps and unsupported answers are those of sessions that were read: a worker reads them when a turn has
ended.
"""

from __future__ import annotations

import json
import os
import sys
import time

from knowbound.agent.hook.log import json_object
from knowbound.agent.hook.resident import is_off
from knowbound.store.data_dir import FINDINGS, INJECTIONS, data_folder, is_usable

_MOST_INPUT = 1 << 20  # bytes; the client sends about one KB
_MOST_LOG = 8 << 20  # bytes of a day's injections, from its end
_WAIT_SECONDS = 0.02  # for a writer of the database
_COUNTS = (
    ("SELECT coalesce(sum(open), 0) FROM listed_session WHERE ended >= ?", "gap", "gaps"),
    (
        "SELECT count(*) FROM listed_turn WHERE time >= ? AND diagnosis = 'unsupported'",
        "unsupported claim",
        "unsupported claims",
    ),
)
_COUNTED_PARTS = (b'"items":', b'"late":', b'"outcome":"injected"', b'"late_delivered":')  # in lines of injections


def main() -> None:
    """Print the line for the session on standard input; to a person, what the client's settings need."""
    if sys.stdin is None or sys.stdin.isatty():
        sys.stdout.write(how_to_set())
        return
    try:
        session = json.loads(sys.stdin.buffer.read(_MOST_INPUT))
        folder = session["workspace"]["current_dir"] if "workspace" in session else session["cwd"]
        line = line_of(folder, since_midnight()) if isinstance(folder, str) else ""
    except Exception:  # a status line never shows a failure
        line = ""
    sys.stdout.write(f"{line}\n" if line else "")


def how_to_set() -> str:
    """Return the setting, with a command that stays right when the plugin's environment changes."""
    environments, environment = os.path.split(sys.prefix)
    program = os.path.join(sys.prefix, "bin", "knowbound")
    if os.path.exists(os.path.join(environments, "current")):
        program = program.replace(
            f"{os.sep}{environment}{os.sep}", f'{os.sep}"$(cat {os.path.join(environments, "current")})"{os.sep}'
        )
    setting = {"statusLine": {"type": "command", "command": f"{program} statusline"}}
    return f"For ~/.claude/settings.json:\n{json.dumps(setting, indent=2)}\n"


def since_midnight() -> str:
    """Return the beginning of the user's day, in UTC."""
    now = time.localtime()
    midnight = time.mktime((now.tm_year, now.tm_mon, now.tm_mday, 0, 0, 0, 0, 0, -1))
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(midnight))


def line_of(folder: str, since: str) -> str:
    """Return the line for a folder; "" where knowbound keeps nothing."""
    home = data_folder(folder)[1]
    if not home or not is_usable(home):
        return ""
    if is_off():
        return "knowbound: off"
    counts = [*_finding_counts(home, since), (_injected_count(home, since), "item injected", "items injected")]
    parts = [f"{number} {singular if number == 1 else plural}" for number, singular, plural in counts if number]
    return f"knowbound today: {', '.join(parts) or 'nothing'}"


def _finding_counts(home: str, since: str) -> list[tuple[int, str, str]]:
    """Return the counts of the database with their words; none if it cannot be read."""
    import sqlite3  # noqa: PLC0415  # where there is a project

    from knowbound.store.read_only import open_read_only  # noqa: PLC0415

    if (db := open_read_only(os.path.join(home, FINDINGS), wait_seconds=_WAIT_SECONDS)) is None:
        return []
    try:
        numbers = [int(db.execute(query, (since,)).fetchone()[0]) for query, _, _ in _COUNTS]
        return [(number, singular, plural) for number, (_, singular, plural) in zip(numbers, _COUNTS, strict=True)]
    except sqlite3.Error:  # of an earlier version, or busy
        return []
    finally:
        db.close()


def _injected_count(home: str, since: str) -> int:
    """Count the items that reached the model.

    A record is written in several lines with one id: chosen items wait in `pending` until a line says they arrived.
    """
    folder, pending, reached_count = os.path.join(home, INJECTIONS), dict[tuple[str, str], int](), 0
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        if name[:10] < since[:10]:
            continue
        with open(os.path.join(folder, name), "rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _MOST_LOG))
            for line in file:
                if not any(part in line for part in _COUNTED_PARTS):
                    continue
                fields = json_object(line)
                if str(fields.get("time", since)) < since:
                    continue
                is_injected = fields.get("outcome") == "injected" and fields.get("delivered") is True
                for key, has_arrived in (("items", is_injected), ("late", fields.get("late_delivered") is True)):
                    record = (str(fields.get("id")), key)
                    pending[record] = pending.get(record, 0) + len(fields.get(key) or ())
                    reached_count += pending.pop(record) if has_arrived else 0
    return reached_count
