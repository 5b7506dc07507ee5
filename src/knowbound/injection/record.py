"""The record of a hook's run, in the log of injections: the choice, its candidates, and whether it was delivered.

    .knowbound/injections/2026-11-16.jsonl    one file a day; log.py reads it

A record is several lines that share its id: what is to be injected (before the answer is written; without this line
nothing is injected), how the run ended (after it), and the beginning of the prompt (last: clearing it of secrets takes
longer than all the rest). A run that injects nothing has its first two in one line. What a model chose meanwhile
follows as `late`, and two more lines around its delivery. A pull through MCP is one line, with an event of its own. So
whatever ends the process, the log claims no more than what happened:

    killed before the answer was written      the first line alone: `delivered` is unknown
    killed right after                        the same
    the disk is full                          nothing is injected; or, if it fills up then, `delivered` is unknown
"""

from __future__ import annotations

import json
import os
import time

from knowbound.store.data_dir import INJECTIONS
from knowbound.user_files import append

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from knowbound.injection.prompt import HookPrompt

EXCERPT = 500  # code points (specification 2)
PROMPT = 2_000  # code points
MOST_OF_A_DAY = 32 * 1024 * 1024  # bytes; further records of that day have neither candidates nor excerpts


class Record:
    """The record of one run. Its time is taken once, and names the file of all its lines."""

    def __init__(self, event: str, folder: str = INJECTIONS) -> None:
        self._folder = folder
        now = time.gmtime()
        self.key: dict[str, Any] = {  # the fields that every line of the record has
            "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", now),
            "id": os.urandom(8).hex(),
            "session": "",
        }
        self._fields: dict[str, Any] = {"event": event}
        self._is_begun = False
        self.begins_day = False  # it is the first record of its day

    def add_prompt(self, prompt: HookPrompt) -> None:
        """Add session, agent and turn of the run."""
        self.key["session"] = prompt.session
        of_prompt = ("agent", "agent_id", "transcript", "prompt_id", "turn_id", "source")
        self._fields |= {name: getattr(prompt, name) for name in of_prompt}

    def add_arm(self, arm: str) -> None:
        """Add the arm of a holdout."""
        self._fields["arm"] = arm

    def add_known(self, fields: Mapping[str, Any]) -> None:
        """Add fields: a choice, the start of a session, a rescue, a pull."""
        self._fields |= fields

    def begin(self, home: str) -> None:
        """Write what is to be injected. Raises OSError."""
        self._append(home, self.key | self._fields_within_limit(home))
        self._is_begun = True

    def end(self, home: str, outcome: str, ms: float, tokens: int, *, delivered: bool, reason: str) -> None:
        """Write how the run ended. Raises OSError."""
        fields = {} if self._is_begun else self._fields_within_limit(home)  # begun: the log has them
        ending: dict[str, Any] = {"outcome": outcome, "delivered": delivered, "ms": round(ms, 1)}
        ending |= {"tokens": tokens} if tokens else {}
        self._append(home, self.key | fields | ending | ({"reason": reason} if reason else {}))

    def end_with_prompt(self, home: str, prompt: str) -> None:
        """Write the beginning of the prompt without its secrets. Raises OSError."""
        from knowbound.text.redact import excerpt  # noqa: PLC0415  # costs 20 ms

        self._append(home, self.key | {"prompt": excerpt(prompt, PROMPT)})

    def _fields_within_limit(self, home: str) -> dict[str, Any]:
        """Return the fields that have a value, without candidates and excerpts if the file of the day is full."""
        fields = {name: value for name, value in self._fields.items() if value not in ("", None)}
        try:
            is_full = os.stat(self._path(home)).st_size > MOST_OF_A_DAY
        except OSError:
            return fields
        if is_full:
            fields.pop("pool", None)
            for item in fields.get("items", ()):
                item["excerpt"] = ""
        return fields

    def _path(self, home: str) -> str:
        return os.path.join(home, self._folder, f"{self.key['time'][:10]}.jsonl")

    def _append(self, home: str, line: dict[str, Any]) -> None:
        path = self._path(home)
        self.begins_day = self.begins_day or not os.path.exists(path)
        append(path, _as_line(line))


def add_to_record(home: str, key: Mapping[str, Any], fields: Mapping[str, Any], folder: str = INJECTIONS) -> None:
    """Append a line to the record that has this key: what a model answered later. Raises OSError."""
    append(os.path.join(home, folder, f"{key['time'][:10]}.jsonl"), _as_line({**key, **fields}))


def _as_line(fields: Mapping[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"
