"""Where `knowbound-hook` starts: a tool call that found something is let go before anything else is loaded.

An agent makes many calls and waits for each hook, so the first look is at the bytes of the event, without decoding
them: it may take a call for a miss that is none (agent/rescue_answer.py decides), never the other way round where a
client reports a miss as Claude Code 2.1.197 and Codex 0.166.0 do.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

AFTER_TOOLS = {"post-tool-use": "PostToolUse", "post-tool-use-failure": "PostToolUseFailure"}
TRIAL = "KNOWBOUND_HOOK_TRIAL"  # set by `doctor`: answer as always, record nothing, say the outcome on stderr
MOST_INPUT = 4 * 1024 * 1024  # bytes; a prompt with a pasted log is far below
_SHORT = 400  # bytes of an output that may say that nothing is there
_SAYS_NOTHING = (b"no such file", b"no matches", b"not found", b"not exist", b"no files", b"none", b"no ", b"0 ")
_LOOKS_UP = (b"grep", b"rg ", b"find ", b"fd ", b"ls ", b'ls"', b"cat ", b"head ", b"tail ", b"sed ", b"awk ", b"ag ")
_FAILED = (b"no such file", b"no matches found", b"not exist", b"not found")
# What a program prints that was called wrongly (lessons/misuse.py): a lesson may say how it is called here.
_MISUSED = (
    b"command not found", b"unknown command", b"unrecognized command", b"no such command", b"missing script",
    b"script not found", b"no module named", b"no rule to make", b"no_script", b"subcommand", b"find a script",
    b"unknown flag", b"unknown option", b"unrecognized option", b"unrecognized argument", b"no such option",
    b"unexpected argument", b"unknown shorthand flag",
)  # fmt: skip


def main(args: list[str] | None = None) -> NoReturn:
    """Answer one event."""
    given = sys.argv[1:] if args is None else args
    event = given[0] if given else ""
    data = None
    if event in AFTER_TOOLS:
        data = read_input()
        if data is not None and not may_be_miss(data) and not os.environ.get(TRIAL):
            os._exit(0)
    from knowbound.agent.hook import main as answer  # noqa: PLC0415  # takes longer than a call that found something

    answer(given, data)


def read_input() -> bytes | None:
    """What the agent says, read to its end, so that its write does not fail; None where it is too much."""
    kept, size = [], 0
    while part := os.read(0, 1 << 20):
        size += len(part)
        if size <= MOST_INPUT:
            kept.append(part)
    return b"".join(kept) if size <= MOST_INPUT else None


def may_be_miss(data: bytes) -> bool:
    """Whether an event may be of a lookup that found nothing."""
    at = data.find(b'"tool_response":')
    if at < 0:  # a failure: its text says what is missing; of a command, a lesson may know what to do about it
        low = data.lower()
        return b'"error":' in low and (b'"error":"exit code ' in low or any(word in low for word in _FAILED))
    response = data[at + 16 : at + 16 + _SHORT * 4].lstrip()
    if response.startswith(b'"'):  # the output of a command
        return (_is_empty(response[1:]) and looks_up(data)) or _is_misused(response)
    if b'"stdout":"' in response:
        return (_is_empty(response.partition(b'"stdout":"')[2]) and looks_up(data)) or _is_misused(response)
    if b'"filenames":[]' not in response:
        return False
    return b'"numLines":' not in response or b'"numLines":0' in response


def _is_empty(output: bytes) -> bool:
    """Whether an output has no text, or a short one that may say that nothing is there."""
    end = output.find(b'"')
    while end > 0 and output[end - 1 : end] == b"\\":
        end = output.find(b'"', end + 1)
    if end == 0:
        return True
    low = output[:end].lower()
    return 0 < end <= _SHORT and any(word in low for word in _SAYS_NOTHING)


def _is_misused(response: bytes) -> bool:
    low = response.lower()
    return any(word in low for word in _MISUSED)


def looks_up(data: bytes) -> bool:
    """Whether the call is of a tool that looks up, or a command line with a program that does."""
    return b'"command":' not in data or any(word in data for word in _LOOKS_UP)
