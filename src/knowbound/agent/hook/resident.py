"""The choice of who answers an event: nobody while hooks are off, else the MCP server, or a process of the client.

The switch of all hooks (`knowbound off`, `knowbound on`) is a file in the user's state folder, so it applies to every
agent and project from the next hook run on; interruptions.py turns it. The environment variable KNOWBOUND_OFF does the
same for one shell.

Clients call both the server and the process for the same event. Whoever creates the event's file first answers it:

    .knowbound/claims/<hash of the event>

Starting Python only to find the file there would cost more than the answer. So a server that the client has called once
leaves a mark with both process ids (mcp/hook_events.py), and the shell that would start the process looks for it first
(agent/install/clients.py):

    ~/.local/state/knowbound/resident/<client>.<server>

The shell gives way only if the mark is the only one of its client and the server is alive. A client that runs several
servers, or starts them through another program, has no such mark: there both come, and the claim decides.
"""

from __future__ import annotations

import binascii
import os
import time

from knowbound.agent.hook_entry import AFTER_TOOLS
from knowbound.store.data_dir import CLAIMS
from knowbound.user_files import PRIVATE_FILE, make_folder, policy_files, state_places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from knowbound.injection.prompt import HookPrompt

OFF_VARIABLE = "KNOWBOUND_OFF"
PLUGIN = "KNOWBOUND_PLUGIN"  # set by the plugin's scripts to the agent whose plugin it is; that has every hook
OFF_FILE = "off"
LATE_HOOK = "late-hook-"  # start of the name of a note, before the agent's name
_VALUES_FOR_ON = ("", "0", "false", "no")  # of the variable, which then leaves hooks on
# The events that the server answers, too, with their names in clients. When a session starts no server is connected
# yet, when it ends it is closed.
EVENTS = {"user-prompt-submit": "UserPromptSubmit", **AFTER_TOOLS, "stop": "Stop"}
MARKS = "resident"
_CLAIM_SECONDS = 60.0  # that a claim is kept: server and process come within seconds
FLAGS = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_NOFOLLOW", 0)


def is_off() -> bool:
    """Report whether hooks are switched off."""
    if variable_is_set() or any(map(os.path.lexists, state_places(OFF_FILE))):
        return True
    if not policy_files():
        return False
    from knowbound.policy import is_off_by_policy  # noqa: PLC0415  # most machines have no policy

    return is_off_by_policy()


def has_late_hook(agent: str) -> bool:
    """Report whether a hook is installed that delivers what a model chooses after the prompt was answered."""
    return os.environ.get(PLUGIN) == agent or any(map(os.path.exists, state_places(LATE_HOOK + agent)))


def variable_is_set() -> bool:
    """Report whether the variable switches hooks off."""
    return os.environ.get(OFF_VARIABLE, "").strip().lower() not in _VALUES_FOR_ON


def claim(home: str, event: str, prompt: HookPrompt, payload: Mapping[str, object]) -> bool:
    """Create the claim file of an event, and report whether this run answers it: the first to create the file does.

    An event without an id of its own is answered anyway, and so is one whose folder is gone once more when it
    was made. Raises OSError.
    """
    if event == "session-start":
        _remove_old_claims(home)
        remove_stale_marks(os.getppid() if prompt.source == "startup" else 0)  # no server of it was called yet
    if not has_id(event, prompt, payload):
        return True
    content = payload.get("last_assistant_message") if event == "stop" else payload.get("tool_use_id") or prompt.text
    # A turn that a hook made go on stops twice: `stop_hook_active` tells the second stop from the first.
    key = repr((event, prompt.context, prompt.turn, str(payload.get("stop_hook_active")), content))
    data = key.encode("utf-8", "replace")
    # Two checksums, of the bytes and of their reverse, make a hash of 64 bits: hashlib costs 10 ms.
    path = os.path.join(home, CLAIMS, f"{binascii.crc32(data):08x}{binascii.crc32(data[::-1]):08x}")
    for _ in range(2):  # again when the folder was made
        try:
            os.close(os.open(path, FLAGS, PRIVATE_FILE))
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


def _remove_old_claims(home: str) -> None:
    folder, needed_since = os.path.join(home, CLAIMS), time.time() - _CLAIM_SECONDS
    try:
        for entry in os.scandir(folder):
            if entry.stat(follow_symlinks=False).st_mtime < needed_since:
                os.unlink(entry.path)
    except OSError:  # there is none, or another run removes them
        return


# The mark of a server


def remove_stale_marks(new_client: int = 0) -> None:
    """Remove the marks of servers and clients that have ended, and those of a client that has just started."""
    for folder in state_places(MARKS):
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        for name in names:
            client, _, server = name.partition(".")
            pids = [int(part) for part in (client, server) if part.isdecimal()]
            if new_client in pids[:1] or not all(map(_is_alive, pids)):
                remove(os.path.join(folder, name))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


def remove(path: str) -> None:
    """Remove a file that may be gone."""
    try:
        os.unlink(path)
    except OSError:
        return
