"""Models behind a command line: `claude`, `codex`, and any program that reads a prompt and writes an answer.

The two agents run without tools, settings and memory, in an empty folder: they only answer. Tokens and costs are those
that a program reports, else unknown. A program and its children are ended at the time limit, or if the output grows too
long.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from knowbound.judge.models.completion import ANSWER_BYTES, Completion, CompletionError, ModelQuestion, shown
from knowbound.judge.names import JudgeName, Provider
from knowbound.process import Ran, agent_environment, run

_OUTPUT_BYTES = 4 * ANSWER_BYTES  # events around an answer included
_LAST = 300  # bytes of the output of a program that failed
_NEEDS_A_PERSON = ("login", "log in", "api key", "credit balance", "unauthorized")


class CommandLineModel:
    """Completes a prompt by running a program."""

    def __init__(self, name: JudgeName, folder: Path | None = None) -> None:
        self._name = name
        self._folder = folder or Path()

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        """Run the program once."""
        if self._name.provider is Provider.CLAUDE_CLI:
            return _claude(self._name.model, question, seconds)
        if self._name.provider is Provider.CODEX_CLI:
            return _codex(self._name.model, question, seconds)
        ran = _run(self._name.command, _whole(question), seconds, self._folder)
        if ran.code != 0:
            raise _ended(self._name.command[0], ran)
        return Completion(ran.out.decode("utf-8", "replace"))


def _claude(model: str, question: ModelQuestion, seconds: float) -> Completion:
    command = ["claude", "-p", "--output-format", "json", "--model", model, "--system-prompt", question.instructions]
    command += ["--tools", "", "--setting-sources", "", "--strict-mcp-config", "--no-session-persistence"]
    with tempfile.TemporaryDirectory() as folder:
        ran = _run(command, question.text, seconds, Path(folder))
    result = _claude_result(ran.out)
    if result is None:
        raise _ended("claude", ran) if ran.code != 0 else _unreadable("claude")
    said = result.get("result")
    usd = _number(result.get("total_cost_usd"))
    if result.get("is_error") or not isinstance(said, str):
        raise _failed("claude", said or result.get("subtype"), usd)
    usage = result.get("usage")
    models = result.get("modelUsage")
    return Completion(
        said,
        _sum(usage, "input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"),
        _sum(usage, "output_tokens"),
        usd,
        next(iter(models), "") if isinstance(models, dict) else "",
    )


def _claude_result(out: bytes) -> dict[str, Any] | None:
    """Return the result in the output: one object, or with verbose settings the last of a list."""
    try:
        value = msgspec.json.decode(out)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    for one in reversed(value if isinstance(value, list) else [value]):
        if isinstance(one, dict) and one.get("type") == "result":
            return one
    return None


def _codex(model: str, question: ModelQuestion, seconds: float) -> Completion:
    command = ["codex", "exec", "--json", "--skip-git-repo-check", "--ephemeral", "--sandbox", "read-only"]
    command += ["-c", "mcp_servers={}", "--model", model, "-"]
    with tempfile.TemporaryDirectory() as folder:
        ran = _run(command, _whole(question), seconds, Path(folder))
    said: str | None = None
    tokens_in = tokens_out = None
    problem: object = None
    for event in _events(ran.out):
        kind, item = event.get("type"), event.get("item")
        if kind == "item.completed" and isinstance(item, dict) and item.get("type") == "agent_message":
            said = str(item.get("text", ""))
        elif kind == "turn.completed":
            tokens_in, tokens_out = _sum(event.get("usage"), "input_tokens"), _sum(event.get("usage"), "output_tokens")
        elif kind in ("turn.failed", "error"):
            error = event.get("error")
            problem = error.get("message") if isinstance(error, dict) else event.get("message")
    if problem is not None:
        raise _failed("codex", problem, None)
    if ran.code != 0:
        raise _ended("codex", ran)
    if said is None:
        raise _unreadable("codex")
    return Completion(said, tokens_in, tokens_out, None, model)


def _events(out: bytes) -> list[dict[str, Any]]:
    events = []
    for line in out.splitlines():
        with contextlib.suppress(msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            event = msgspec.json.decode(line)
            if isinstance(event, dict):
                events.append(event)
    return events


def _whole(question: ModelQuestion) -> str:
    return f"{question.instructions}\n\n{question.text}\n"


def _sum(usage: object, *names: str) -> int | None:
    """Add the tokens of these names; None if the output has none of them."""
    given = [usage.get(name) for name in names] if isinstance(usage, dict) else []
    counts = [count for count in given if isinstance(count, int) and not isinstance(count, bool)]
    return sum(counts) if counts else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


# Problems


def _failed(program: str, said: object, usd: float | None) -> CompletionError:
    """Return the error for a failure that the program reports itself."""
    text = shown(str(said or "no reason given"))
    hopeless = any(word in text.lower() for word in _NEEDS_A_PERSON)
    return CompletionError(f"{program} failed: {text}", again=not hopeless, hopeless=hopeless, usd=usd)


def _unreadable(program: str) -> CompletionError:
    return CompletionError(f"{program} ended without an answer", again=True, usd=None)


# The process


def _ended(program: str, ran: Ran) -> CompletionError:
    last = shown((ran.err or ran.out).decode("utf-8", "replace")[-_LAST:])
    return CompletionError(f"{program} ended with code {ran.code}{f': {last}' if last else ''}", again=True, usd=None)


def _run(command: Sequence[str], text: str, seconds: float, folder: Path) -> Ran:
    """Run a program with the text as its input, within the limits of time and output."""
    stdin = text.encode("utf-8", "replace")
    ran = run(command, folder, seconds, _OUTPUT_BYTES, environment=agent_environment(), stdin=stdin)
    if ran.timed_out:
        raise CompletionError(f"no answer within {seconds:g} seconds", again=True, usd=None)
    if ran.cut:
        raise CompletionError(f"the answer is longer than {_OUTPUT_BYTES} bytes", usd=None)
    if ran.code is None:
        raise CompletionError(f"{command[0]} cannot be started: {ran.err.decode()}", hopeless=True)
    return ran
