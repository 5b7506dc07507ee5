from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import msgspec
import pytest

from knowbound.judge.hedging.verdict import HedgingCandidate
from knowbound.judge.models.completion import CommandLineModel, Completion, CompletionError, ModelQuestion
from knowbound.judge.names import JudgeOptions, parse_name
from knowbound.judge.registry import completer
from knowbound.judge.rubric import RubricKind, RubricQuestion
from tests.judges import hedging_judge_named, rubric_judge_named
from tests.services import until

QUESTION = ModelQuestion("p", {}, "Judge it.", "<<<text\nmay be\ntext>>>", {})
GOOD = '{"score": 3, "reason": "half"}'

# What `claude -p --output-format json` prints, with the names and shapes of its own result message.
CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "duration_ms": 2104,
    "duration_api_ms": 2050,
    "num_turns": 1,
    "result": GOOD,
    "session_id": "00000000-0000-0000-0000-000000000001",
    "total_cost_usd": 0.0125,
    "usage": {
        "input_tokens": 5,
        "cache_creation_input_tokens": 100,
        "cache_read_input_tokens": 1000,
        "output_tokens": 40,
    },
    "modelUsage": {"claude-exact-1": {"inputTokens": 1105, "outputTokens": 40, "costUSD": 0.0125}},
}
# What `codex exec --json` prints, one event per line.
CODEX: list[dict[str, object]] = [
    {"type": "thread.started", "thread_id": "t1"},
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_0", "type": "reasoning", "text": "Let me see."}},
    {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": GOOD}},
    {"type": "turn.completed", "usage": {"input_tokens": 900, "cached_input_tokens": 800, "output_tokens": 30}},
]


class Programs:
    """A PATH with programs of the test's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, name: str, body: str) -> str:
        """A Python program that notes how it was called, then does what is given."""
        path = self.folder / name
        noted = self.folder / f"{name}.called"
        path.write_text(
            f"#!{sys.executable}\nimport json, os, sys, time\ntext = sys.stdin.read()\n"
            f"json.dump([sys.argv[1:], text, os.listdir('.'), 'CLAUDECODE' in os.environ], open({str(noted)!r}, 'w'))\n"
            f"{body}\n"
        )
        path.chmod(0o755)
        return str(path)

    def says(self, name: str, text: str) -> str:
        return self.write(name, f"sys.stdout.write({text!r})")

    def codex(self, text: str) -> str:
        """A codex that knows a model, and says the text."""
        models = json.dumps({"models": [{"slug": "m", "shell_type": "default"}]})
        asked = "sys.argv[1:] == ['debug', 'models']"
        return self.write("codex", f"sys.stdout.write({models!r} if {asked} else {text!r})")

    def called(self, name: str) -> tuple[list[str], str, list[str], bool]:
        arguments, text, files, inside = json.loads((self.folder / f"{name}.called").read_text())
        return arguments, text, files, inside


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("CLAUDECODE", "1")
    return Programs(tmp_path)


def complete(name: str, seconds: float = 30.0) -> Completion:
    return completer(parse_name(name)).complete(QUESTION, seconds=seconds)


def problem(name: str, seconds: float = 30.0) -> CompletionError:
    with pytest.raises(CompletionError) as error:
        complete(name, seconds)
    return error.value


def lines(events: list[dict[str, object]]) -> str:
    return "".join(json.dumps(event) + "\n" for event in events)


def test_claude_is_asked_without_tools_settings_or_session_in_an_empty_folder(programs: Programs) -> None:
    programs.says("claude", json.dumps([{"type": "system", "subtype": "init"}, CLAUDE]))
    assert complete("claude-cli:haiku") == Completion(GOOD, 1105, 40, 0.0125, "claude-exact-1")
    arguments, text, files, inside = programs.called("claude")
    assert arguments[arguments.index("--tools") + 1] == ""
    assert arguments[arguments.index("--setting-sources") + 1] == ""
    assert {"--strict-mcp-config", "--no-session-persistence", "--disable-slash-commands"} <= set(arguments)
    assert "--bare" not in arguments
    assert text.endswith(QUESTION.text)
    assert (files, inside) == ([], False)


def test_claude_s_structured_output_is_the_answer(programs: Programs) -> None:
    programs.says("claude", json.dumps(CLAUDE | {"structured_output": {"score": 4}, "result": "said aloud"}))
    assert json.loads(complete("claude-cli:haiku").text) == {"score": 4}


def test_codex_is_asked_read_only_with_a_home_of_its_own(programs: Programs) -> None:
    programs.codex("a warning that is no JSON\n" + lines([{"type": "error", "message": "Reconnecting"}, *CODEX]))
    assert complete("codex-cli:m") == Completion(GOOD, 900, 30, None, "m")
    arguments, text, files, _ = programs.called("codex")
    assert arguments[:2] == ["exec", "--json"]
    assert arguments[arguments.index("--sandbox") + 1] == "read-only"
    assert {"--ephemeral", "--ignore-rules"} <= set(arguments)
    assert (text, files) == (QUESTION.text, [])


def test_any_program_answers_with_its_output(programs: Programs) -> None:
    path = programs.says("my-judge", GOOD)
    assert complete(f"command:{path} --strict 'two words'") == Completion(GOOD)
    arguments, text, _, _ = programs.called("my-judge")
    assert arguments == ["--strict", "two words"]
    assert text.startswith(QUESTION.instructions)
    assert QUESTION.text in text


FAILED = {**CLAUDE, "is_error": True, "result": "API Error: overloaded"}
SAID = {**CLAUDE, "is_error": True, "result": "what it says", "total_cost_usd": 0}
LIMIT: dict[str, object] = {
    "type": "rate_limit_event",
    "rate_limit_info": {"status": "rejected", "resetsAt": 1794960000},
}


def failing(kind: str, *others: dict[str, object]) -> str:
    """What claude prints where the API refused, by the field that names the reason."""
    return json.dumps([*others, {"type": "assistant", "error": kind}, SAID])


def failed_turn(message: str) -> str:
    return lines([*CODEX[:4], {"type": "turn.failed", "error": {"message": message}}])


@pytest.mark.parametrize(
    ("judge", "out", "told", "again", "hopeless"),
    [
        ("claude-cli:m", json.dumps(FAILED), "claude failed: API Error: overloaded", True, False),
        ("claude-cli:m", failing("authentication_failed"), "claude is not logged in (what it says)", False, True),
        ("claude-cli:m", failing("billing_error"), "the account has no credit left", False, True),
        ("claude-cli:m", failing("model_not_found"), "claude knows no such model", False, True),
        ("claude-cli:m", failing("rate_limit"), "claude failed: what it says", True, False),
        (
            "claude-cli:m",
            failing("rate_limit", LIMIT),
            "the plan's limit of claude is reached until 2026-11-18 00:00 UTC (what it says). What was answered",
            False,
            True,
        ),
        ("claude-cli:m", failing("max_output_tokens"), "claude's answer was cut", False, False),
        (
            "claude-cli:m",
            json.dumps({**SAID, "subtype": "error_max_turns"}),
            "claude answered with tool calls",
            True,
            False,
        ),
        ("claude-cli:m", json.dumps(CLAUDE)[:80], "claude ended with code 0", True, False),
        ("claude-cli:m", "", "claude ended with code 0", True, False),
        ("codex-cli:m", lines(CODEX[:2]), "codex ended without an answer", True, False),
        ("codex-cli:m", failed_turn("high demand"), "codex failed: high demand", True, False),
        (
            "codex-cli:m",
            failed_turn("You’ve hit your usage limit."),
            "the plan's limit of codex is reached",
            False,
            True,
        ),
        ("codex-cli:m", failed_turn("unexpected status 401 Unauthorized"), "codex is not logged in", False, True),
        ("codex-cli:m", failed_turn("Incomplete response returned"), "codex's answer was cut", False, False),
        ("codex-cli:m", "", "codex ended without an answer", True, False),
    ],
)
def test_a_command_line_that_fails_says_what_it_said(
    programs: Programs, judge: str, out: str, told: str, again: bool, hopeless: bool
) -> None:
    programs.codex(out) if judge.startswith("codex") else programs.says("claude", out)
    error = problem(judge)
    assert told in error.problem
    assert (error.again, error.hopeless) == (again, hopeless)


@pytest.mark.parametrize("name", ["claude-cli:m", "command:judge-x"])
def test_a_program_that_ends_badly_is_told_with_its_last_words(programs: Programs, name: str) -> None:
    program = "judge-x" if name.startswith("command") else name.split("-", maxsplit=1)[0]
    programs.write(program, "sys.stderr.write('no such option --tools'); sys.exit(3)")
    error = problem(name)
    assert error.problem == f"{program} ended with code 3: no such option --tools"
    assert error.usd is None


def test_a_codex_that_knows_no_catalogue_is_not_asked(programs: Programs) -> None:
    programs.write("codex", "print('{}')")
    error = problem("codex-cli:m")
    assert "cannot be asked without its tools" in error.problem
    assert error.hopeless
    programs.write("codex", "sys.exit('Error loading config.toml')")
    assert "codex cannot be asked: Error loading config.toml" in problem("codex-cli:m").problem


@pytest.mark.parametrize("name", ["claude-cli:m", "codex-cli:m", "command:judge-x"])
def test_a_program_that_is_not_there_is_hopeless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    error = problem(name)
    assert "cannot be started: No such file" in error.problem
    assert error.hopeless


def test_the_time_limit_ends_a_program_with_all_it_started(programs: Programs, tmp_path: Path) -> None:
    child = tmp_path / "child.pid"
    path = programs.folder / "slow"
    path.write_text(f"#!/bin/sh\nsleep 600 &\necho $! > {child}\nwait\n")
    path.chmod(0o755)
    error = problem(f"command:{path}", seconds=1.0)
    assert error.problem == "no answer within 1 seconds"
    assert error.again
    assert error.usd is None
    pid = int(child.read_text())
    until(lambda: not _is_running(pid))


def _is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def test_a_program_that_closes_its_output_and_goes_on_is_ended_too(programs: Programs) -> None:
    path = programs.write("hangs", "os.close(1); os.close(2); time.sleep(600)")
    assert problem(f"command:{path}", seconds=0.5).problem == "no answer within 0.5 seconds"


def test_a_program_without_an_end_is_ended_at_the_limit(programs: Programs) -> None:
    path = programs.write("endless", "while True: sys.stdout.write('x' * 65536)")
    assert "longer than 4000000 bytes" in problem(f"command:{path}").problem


def test_a_program_that_does_not_read_its_input_is_no_trouble(programs: Programs) -> None:
    path = programs.folder / "deaf"
    path.write_text(f"#!/bin/sh\necho '{GOOD}'\n")
    path.chmod(0o755)
    long = msgspec.structs.replace(QUESTION, text="x" * 2_000_000)
    assert CommandLineModel(parse_name(f"command:{path}")).complete(long, seconds=30).text.strip() == GOOD


def test_an_output_that_is_no_text_is_malformed_and_not_lost(programs: Programs) -> None:
    path = programs.write("bytes", "sys.stdout.buffer.write(bytes(range(256)))")
    judge = rubric_judge_named(f"command:{path}", JudgeOptions(30, 0))
    (score,) = judge.score([RubricQuestion(RubricKind.RUBRIC, answer="x")])
    assert (score.score, score.problem) == (None, "the answer cannot be used: there is no JSON object in it")


@pytest.mark.parametrize("kind", list(RubricKind))
def test_every_kind_of_rubric_is_scored_by_a_command_line(programs: Programs, kind: RubricKind) -> None:
    programs.says("claude", json.dumps(CLAUDE))
    judge = rubric_judge_named("claude-cli:haiku", JudgeOptions(30, 0))
    question = RubricQuestion(kind, "the-prompt", "the-answer", "the-rubric", "the-context", "the-reference")
    (score,) = judge.score([question])
    assert (score.score, score.reason, score.usd, score.judge) == (3, "half", 0.0125, judge.version)
    _, text, _, _ = programs.called("claude")
    assert "the-answer" in text or kind is RubricKind.CONTEXT_RECALL
    assert ("the-rubric" in text) == (kind is RubricKind.RUBRIC)
    assert ("the-context" in text) == (kind in (RubricKind.FAITHFULNESS, RubricKind.CONTEXT_RECALL))
    assert ("the-reference" in text) == (kind in (RubricKind.CONTEXT_RECALL, RubricKind.SEMANTIC_SIMILARITY))


def test_hedges_are_judged_by_a_command_line(programs: Programs) -> None:
    answer = '{"items": [{"id": "s1", "isUncertainty": true, "confidence": 0.7, "reason": "it says so"}]}'
    programs.codex(lines([{"type": "item.completed", "item": {"type": "agent_message", "text": answer}}]))
    judge = hedging_judge_named("codex-cli:m")
    (verdict,) = judge.judge([HedgingCandidate("I am not sure which table.", "")])
    assert (verdict.is_uncertainty, verdict.reason, judge.costs) == (True, "it says so", True)
