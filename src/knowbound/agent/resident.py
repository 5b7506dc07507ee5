"""The border between the two ways to answer an event: the running MCP server, and a process that the client starts.

Clients call both for the same event. Whoever creates the event's file first answers it:

    .knowbound/claims/<hash of the event>

Starting Python only to find the file there would cost more than the answer. So a server that the client has called once
leaves a mark with both process ids, and the shell that would start the process looks for it first (`guarded`):

    ~/.local/state/knowbound/resident/<client>.<server>

The shell gives way only if the mark is the only one of its client and the server is alive. A client that runs several
servers, or starts them through another program, has no such mark: there both come, and the claim decides.
"""

from __future__ import annotations

import binascii
import os
import sys
import time

from knowbound.agent.hook_entry import AFTER_TOOLS
from knowbound.store.data_dir import CLAIMS
from knowbound.user_files import PRIVATE_FILE, make_folder, state_places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowbound.injection.prompt import HookPrompt

# The events that the server answers, too, with their names in clients. When a session starts no server is connected
# yet, when it ends it is closed.
EVENTS = {"user-prompt-submit": "UserPromptSubmit", **AFTER_TOOLS, "stop": "Stop"}
_MARKS = "resident"
_KEPT_SECONDS = 60.0  # for a claim: both come within seconds
_FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)
_PACKAGE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "__init__.py")


def claim(home: str, event: str, prompt: HookPrompt, payload: Mapping[str, object]) -> bool:
    """Report whether this run answers the event: nobody claimed it before. Raises OSError."""
    if event == "session-start":
        _tidy(home)
        remove_stale_marks(os.getppid() if prompt.source == "startup" else 0)  # no server of it was called yet
    if not has_id(event, prompt, payload):
        return True
    said = payload.get("last_assistant_message") if event == "stop" else payload.get("tool_use_id") or prompt.text
    key = repr((event, prompt.context, prompt.turn, str(payload.get("stop_hook_active")), said))
    data = key.encode("utf-8", "replace")
    path = os.path.join(home, CLAIMS, f"{binascii.crc32(data):08x}{binascii.crc32(data[::-1]):08x}")
    for _ in range(2):
        try:
            os.close(os.open(path, _FLAGS, PRIVATE_FILE))
        except FileNotFoundError:
            make_folder(os.path.dirname(path))
        except FileExistsError:
            return False
        else:
            return True
    return True


def has_id(event: str, prompt: HookPrompt, payload: Mapping[str, object]) -> bool:
    """Report whether the event cannot be taken for another: only then can two runs know that they have the same one."""
    return event in EVENTS and bool(prompt.turn) and (event not in AFTER_TOOLS or bool(payload.get("tool_use_id")))


def _tidy(home: str) -> None:
    """Remove old claims."""
    folder, oldest = os.path.join(home, CLAIMS), time.time() - _KEPT_SECONDS
    try:
        for entry in os.scandir(folder):
            if entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)
    except OSError:  # there is none, or another run removes them
        return


# The mark of a server


def guarded(command: str) -> str:
    """Return a command line that runs the command unless a server answers for the client that starts the line."""
    marks = '"$HOME"/.local/state/knowbound/resident/$PPID.*'
    return f'set -- {marks}; [ $# = 1 ] && kill -0 "${{1##*.}}" 2>/dev/null && exec cat >/dev/null; exec {command}'


def mark() -> None:
    """Say that this process answers the events of the client that started it. Raises OSError."""
    for folder in state_places(_MARKS):
        path = os.path.join(folder, f"{os.getppid()}.{os.getpid()}")
        if os.path.exists(path):
            continue
        make_folder(folder)
        os.close(os.open(path, _FLAGS & ~os.O_EXCL, PRIVATE_FILE))


def unmark() -> None:
    """Take the mark away: the process answers no more events."""
    for folder in state_places(_MARKS):
        _remove(os.path.join(folder, f"{os.getppid()}.{os.getpid()}"))


def remove_stale_marks(new_client: int = 0) -> None:
    """Remove the marks of servers and clients that have ended, and those of a client that has just started."""
    for folder in state_places(_MARKS):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            client, _, server = name.partition(".")
            pids = [int(part) for part in (client, server) if part.isdecimal()]
            if new_client in pids[:1] or not all(map(_is_alive, pids)):
                _remove(os.path.join(folder, name))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


# The version of a server


def installation() -> tuple[int, ...]:
    """Return what changes when another version is installed in the place of this one."""
    try:
        found = os.stat(_PACKAGE)
    except OSError:
        return ()
    return found.st_ino, found.st_mtime_ns, found.st_size


def process_words(event: str) -> list[str]:
    """Return the command that answers an event in a process of its own, in the version that is installed now."""
    return [sys.executable, "-P", "-m", "knowbound.agent.hook_entry", event]
