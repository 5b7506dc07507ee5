"""The entry point of `knowbound-hook`: a tool call that found something ends here, before anything else is loaded.

An agent makes many calls and waits for each hook, so the first look is at the bytes of the event, without decoding
them. This look may take a hit for a miss (agent/hook/rescue.py decides), but never a miss for a hit, if the client
reports misses as Claude Code 2.1.197 and Codex 0.166.0 do.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

AFTER_TOOLS = {"post-tool-use": "PostToolUse", "post-tool-use-failure": "PostToolUseFailure"}
FINISH = "finish"  # the MCP server has answered an event, and leaves the rest of the work
TRIAL = "KNOWBOUND_HOOK_TRIAL"  # set by `doctor`: answer as always, record nothing, report the outcome on stderr
MOST_INPUT = 4 * 1024 * 1024  # bytes; a prompt with a pasted log has far fewer
_RESPONSE = b'"tool_response":'
_SHORT_BYTES = 400  # a longer output is a result
_SAYS_NOTHING = (b"no such file", b"no matches", b"not found", b"not exist", b"no files", b"none", b"no ", b"0 ")
_LOOKS_UP = (b"grep", b"rg ", b"find ", b"fd ", b"ls ", b'ls"', b"cat ", b"head ", b"tail ", b"sed ", b"awk ", b"ag ")
_FAILED = (b"no such file", b"no matches found", b"not exist", b"not found")
# Output of a program that was called wrongly (lessons/invocations.py): a lesson may know the right call.
_MISUSED = (
    b"command not found", b"unknown command", b"unrecognized command", b"no such command", b"missing script",
    b"script not found", b"no module named", b"no rule to make", b"no_script", b"subcommand", b"find a script",
    b"unknown flag", b"unknown option", b"unrecognized option", b"unrecognized argument", b"no such option",
    b"unexpected argument", b"unknown shorthand flag",
)  # fmt: skip


def main(args: list[str] | None = None) -> NoReturn:
    """Answer one event."""
    arguments = sys.argv[1:] if args is None else args
    event = arguments[0] if arguments else ""
    data = None
    if event in AFTER_TOOLS:
        data = read_input()
        if data is not None and not may_be_miss(data) and not os.environ.get(TRIAL):  # a trial wants a report
            os._exit(0)
    from knowbound.agent.hook.process import main as answer  # noqa: PLC0415  # the import takes longer than this look

    answer(arguments, data)


def read_input() -> bytes | None:
    """Read the agent's input to its end, so that its write does not fail; None if the input is too long."""
    kept, size = [], 0
    while part := os.read(0, 1 << 20):
        size += len(part)
        if size <= MOST_INPUT:
            kept.append(part)
    return b"".join(kept) if size <= MOST_INPUT else None


def may_be_miss(data: bytes) -> bool:
    """Report whether an event may be of a lookup that found nothing."""
    position = data.find(_RESPONSE)
    if position < 0:  # a failure: its text names what is missing, and for a command a lesson may know what to do
        lowered = data.lower()
        return b'"error":' in lowered and (
            b'"error":"exit code ' in lowered or any(word in lowered for word in _FAILED)
        )
    start = position + len(_RESPONSE)
    response = data[start : start + _SHORT_BYTES * 4].lstrip()
    if response.startswith(b'"'):  # the output of a command
        return (_is_empty(response[1:]) and looks_up(data)) or _is_misused(response)
    if b'"stdout":"' in response:
        return (_is_empty(response.partition(b'"stdout":"')[2]) and looks_up(data)) or _is_misused(response)
    if b'"filenames":[]' not in response:
        return False
    return b'"numLines":' not in response or b'"numLines":0' in response


def _is_empty(output: bytes) -> bool:
    """Report whether an output is empty, or short enough to say that nothing was found."""
    end = output.find(b'"')
    while end > 0 and output[end - 1 : end] == b"\\":
        end = output.find(b'"', end + 1)
    if end == 0:
        return True
    lowered = output[:end].lower()
    return 0 < end <= _SHORT_BYTES and any(word in lowered for word in _SAYS_NOTHING)


def _is_misused(response: bytes) -> bool:
    lowered = response.lower()
    return any(word in lowered for word in _MISUSED)


def looks_up(data: bytes) -> bool:
    """Report whether the call is of a lookup tool, or of a command line with a lookup program."""
    return b'"command":' not in data or any(word in data for word in _LOOKS_UP)


if __name__ == "__main__":
    main()
