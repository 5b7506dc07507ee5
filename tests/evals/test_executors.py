"""Executors that run processes: small real programs on a PATH of the test's own print what the real clients print."""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent.hook import resident
from knowbound.errors import ConfigError
from knowbound.evals.executor import Execution, Task, executor_named
from knowbound.evals.executors import agent_process
from knowbound.evals.executors.agent_process import end_all
from knowbound.evals.executors.clients import ClaudeExecutor, CodexExecutor, CommandExecutor
from knowbound.evals.executors.without_agent import InvestigateExecutor
from knowbound.evals.tracing import Traced, read_trace
from knowbound.gaps.lens import LensSettings
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.names import JudgeOptions
from knowbound.process import HOOKS_OFF
from knowbound.stats.evaluation import RunEnding

LENS = LensSettings(("**/*.md",))
AgentMaker = Callable[..., Path]
SESSION = "6d1f0c1e-0000-4000-8000-000000000002"

CLAUDE_HELP = """
  -p, --print
  --tools <tools...>   --setting-sources <sources>   --no-session-persistence   --max-budget-usd <amount>
"""
CLAUDE = """
prompt = sys.stdin.read()
line = lambda type_, **more: print(json.dumps({"type": type_, "session_id": "@SESSION", **more}))
line("system", subtype="init", cwd=os.getcwd(), model="model-1", tools=[], claude_code_version="2.1.60")
def says(id_, *content): line("assistant", message={"id": id_, "role": "assistant", "content": list(content)})
says("m1", {"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "retry_policy"}})
line("user", message={"role": "user", "content": [
    {"type": "tool_result", "tool_use_id": "t1", "content": "No files found"}]}, tool_use_result={"filenames": []})
answer = f"{len(prompt)} characters, {len(sys.argv)} words"
says("m2", {"type": "text", "text": answer})
line("result", subtype="success", is_error=False, result=answer, total_cost_usd=0.25,
     usage={"input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 7})
""".replace("@SESSION", SESSION)
CODEX = """
prompt = sys.stdin.read()
say = lambda **event: print(json.dumps(event))
say(type="thread.started", thread_id="thread-1")
say(type="turn.started")
say(type="item.completed", item={"id": "item_0", "type": "command_execution", "command": "bash -lc 'rg retry_policy'",
    "aggregated_output": "", "exit_code": 1, "status": "failed"})
say(type="item.completed", item={"id": "item_1", "type": "agent_message", "text": f"{len(prompt)} characters"})
say(type="turn.completed", usage={"input_tokens": 100, "cached_input_tokens": 90, "output_tokens": 8})
"""


@pytest.fixture(autouse=True)
def _allowed() -> Iterator[None]:
    yield
    end_all(0.1)
    agent_process._is_ending.clear()


@pytest.fixture
def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AgentMaker:
    """Puts a program on the PATH: what it does, what it says to --version and --help."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")

    def make(name: str, body: str, help_: str = "", version: str = "1.2.3") -> Path:
        path = folder / name
        path.write_text(
            f"#!{sys.executable}\nimport json, os, sys, time\n"
            f"if '--version' in sys.argv: print({version!r}); sys.exit()\n"
            f"if '--help' in sys.argv: print({help_!r}); sys.exit()\n{body}\n"
        )
        path.chmod(0o755)
        return path

    return make


def task_in(tmp_path: Path, prompt: str = "Where is the retry policy?", name: str = "task", **more: object) -> Task:
    folder, place = tmp_path / "kb", tmp_path / name
    folder.mkdir(exist_ok=True)
    place.mkdir(exist_ok=True)
    return Task("s1", prompt, folder, place, 60.0, **more)  # type: ignore[arg-type]


def traced(execution: Execution, task: Task) -> Traced:
    """Read as the evaluation reads it."""
    return read_trace(Path(execution.trace), task.sample, task.folder, task.folder, LENS)


# Any command


@pytest.mark.parametrize(
    "prompt", ["plain", 'it\'s "quoted" $HOME `id`\\', "two\nlines\n", "漢字 é", "-p --halp", "x " * 50_000]
)
@pytest.mark.parametrize("way", ["input", "argument"])
def test_the_prompt_arrives_as_it_is(tmp_path: Path, agent: AgentMaker, prompt: str, way: str) -> None:
    agent("echo-agent", "sys.stdout.write(sys.argv[1] if len(sys.argv) > 1 else sys.stdin.read()); print('.')")
    executor = CommandExecutor("echo-agent {prompt}" if way == "argument" else "echo-agent")
    executor.check()
    task = task_in(tmp_path, prompt)
    execution = executor.run(task)
    assert (execution.ending, execution.problem) == (RunEnding.DONE, "")
    assert execution.answer == task.prompt.lstrip() + "."
    found = traced(execution, task)
    assert found.problem == ""
    assert (len(found.found.turns), found.answer) == (1, execution.answer)


def test_nothing_is_on_the_input_when_the_prompt_is_an_argument(tmp_path: Path, agent: AgentMaker) -> None:
    agent("a", "print(repr(sys.stdin.read()), sys.argv[1:])")
    assert CommandExecutor("a 'say: {prompt}'").run(task_in(tmp_path, "hi")).answer == "'' ['say: hi']"


def test_names_in_the_command_are_filled_in_once(tmp_path: Path, agent: AgentMaker) -> None:
    agent(
        "a", "print(sys.argv[1:]); print(os.environ['KNOWBOUND_SAMPLE'], os.environ['KNOWBOUND_FOLDER'], os.getcwd())"
    )
    task = task_in(tmp_path, "{sample} {folder}")
    first, second = CommandExecutor("a {folder}/{sample} {prompt} {other}").run(task).answer.splitlines()
    assert first == str([f"{task.folder}/s1", "{sample} {folder}", "{other}"])
    assert second == f"s1 {task.folder} {task.folder}"


def test_no_shell_reads_the_command(tmp_path: Path, agent: AgentMaker) -> None:
    agent("a", "print(sys.argv[1:])")
    assert CommandExecutor("a '$HOME' ; touch x | y > z").run(task_in(tmp_path)).answer == str(
        ["$HOME", ";", "touch", "x", "|", "y", ">", "z"]
    )


def test_a_prompt_with_half_a_character_is_asked_all_the_same(tmp_path: Path, agent: AgentMaker) -> None:
    agent("claude", CLAUDE)
    task = task_in(tmp_path, "half \ud83d of it")
    execution = ClaudeExecutor().run(task)
    assert execution.ending is RunEnding.DONE
    assert traced(execution, task).problem == ""


def test_text_that_is_not_utf_8_is_still_an_answer(tmp_path: Path, agent: AgentMaker) -> None:
    agent("a", "sys.stdout.buffer.write(b'caf\\xe9 \\xff\\n')")
    task = task_in(tmp_path)
    execution = CommandExecutor("a").run(task)
    assert execution.ending is RunEnding.DONE
    assert execution.answer.startswith("caf")
    assert traced(execution, task).problem == ""


def test_saying_nothing_is_a_crash(tmp_path: Path, agent: AgentMaker) -> None:
    agent("a", "print()")
    execution = CommandExecutor("a").run(task_in(tmp_path))
    assert (execution.ending, execution.problem, execution.trace) == (RunEnding.CRASHED, "it said nothing", "")


def test_a_crash_says_the_last_errors_without_secrets(tmp_path: Path, agent: AgentMaker) -> None:
    agent(
        "a", "print('half'); print('first\\nkey sk-ant-api03-" + "x7Kq" * 20 + "\\nlast', file=sys.stderr); sys.exit(3)"
    )
    execution = CommandExecutor("a").run(task_in(tmp_path))
    assert execution.ending is RunEnding.CRASHED
    assert execution.problem.startswith("exit status 3: first / key")
    assert execution.problem.endswith("/ last")
    assert "x7Kq" not in execution.problem


def test_taking_too_long_is_a_timeout(tmp_path: Path, agent: AgentMaker) -> None:
    agent("a", "time.sleep(1000)")
    task = Task("s1", "p", tmp_path, tmp_path / "t", 0.3)
    assert CommandExecutor("a").run(task).ending is RunEnding.TIMEOUT


@pytest.mark.parametrize("lines", ["lines", "list", "mapping"])
def test_a_chat_is_the_trace_and_gets_the_prompt(tmp_path: Path, agent: AgentMaker, lines: str) -> None:
    messages = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"id": "c", "type": "function", "function": {"name": "grep", "arguments": '{"pattern": "retry"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c", "content": "No matches found"},
        {"role": "assistant", "content": "It is not there."},
    ]
    value: object = {"list": messages, "mapping": {"messages": messages}, "lines": messages}[lines]
    text = "\n".join(map(json.dumps, messages)) if lines == "lines" else json.dumps(value)
    agent("a", f"print({text!r})")
    task = task_in(tmp_path)
    execution = CommandExecutor("a").run(task)
    assert (execution.ending, execution.answer) == (RunEnding.DONE, "It is not there.")
    found = traced(execution, task).found
    assert [turn.prompt for turn in found.turns] == [task.prompt]
    assert [signal.type for signal in found.signals][:1] == ["failed_search"]


def test_a_trace_that_has_its_prompt_is_left_as_it_is(tmp_path: Path, agent: AgentMaker) -> None:
    talk = [{"role": "user", "content": "Other words"}, {"role": "assistant", "content": "Hello"}]
    agent("a", f"print({json.dumps(talk)!r})")
    task = task_in(tmp_path)
    execution = CommandExecutor("a").run(task)
    assert execution.trace == str(task.output_dir / "stdout")


def test_json_that_is_no_trace_is_text(tmp_path: Path, agent: AgentMaker) -> None:
    agent("a", "print(json.dumps({'answer': 42}))")
    assert CommandExecutor("a").run(task_in(tmp_path)).answer == '{"answer": 42}'


@pytest.mark.parametrize(
    "line",
    [
        {"type": "system", "subtype": "init", "cwd": "/x", "session_id": "s", "tools": ["Grep"], "model": "m"},
        {"type": "assistant", "message": {"id": "m", "role": "assistant", "content": [{"type": "text", "text": "Hm"}]},
         "session_id": "s"},
        {"type": "thread.started", "thread_id": "t"},
        {"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "Looking."}},
    ],
    ids=["claude-init", "claude-message", "codex-thread", "codex-message"],
)  # fmt: skip
def test_a_stream_that_ends_after_its_first_line_is_incomplete(
    tmp_path: Path, agent: AgentMaker, line: dict[str, Any]
) -> None:
    agent("a", f"print({json.dumps(line)!r})")
    assert CommandExecutor("a").run(task_in(tmp_path)).ending is RunEnding.INCOMPLETE


def test_any_stream_that_a_reader_knows_brings_its_cost(tmp_path: Path, agent: AgentMaker) -> None:
    agent("a", CLAUDE)
    execution = CommandExecutor("a").run(task_in(tmp_path))
    assert (execution.usd, execution.tokens_in, execution.tokens_out, execution.model) == (0.25, 25, 7, "model-1")


def test_a_finished_run_is_not_made_again(tmp_path: Path, agent: AgentMaker) -> None:
    agent("a", f"open({str(tmp_path / 'runs')!r}, 'a').write('x'); print('once')")
    task = task_in(tmp_path)
    first = CommandExecutor("a").run(task)
    assert CommandExecutor("a").run(task) == first
    assert (tmp_path / "runs").read_text() == "x"


def test_eight_at_once_each_get_their_own(tmp_path: Path, agent: AgentMaker) -> None:
    agent("a", "print(sys.stdin.read(), os.environ['KNOWBOUND_SAMPLE'])")
    executor = CommandExecutor("a")
    tasks = [task_in(tmp_path, f"prompt {number}", f"task{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert [done.answer for done in pool.map(executor.run, tasks)] == [f"prompt {n} s1" for n in range(8)]


@pytest.mark.parametrize("command", ["nowhere-to-be-found x", "./nothing-here", "'unclosed", "''"])
def test_a_command_that_is_not_there_is_said_before_anything_runs(command: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CommandExecutor(command).check()
    assert caught.value.slug == "no-agent"


def test_a_program_in_the_knowledge_folder_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = tmp_path / "claude"
    evil.write_text("#!/bin/sh\necho 1")
    evil.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".:{os.defpath}")
    with pytest.raises(ConfigError):
        CommandExecutor("claude").check()


def test_the_version_changes_with_the_command_and_its_files(tmp_path: Path, agent: AgentMaker) -> None:
    path = agent("a", "print(1)")
    settings = tmp_path / "settings.json"
    settings.write_text("{}")
    executor = CommandExecutor(f"a {settings}")
    versions = [executor.version, CommandExecutor(f"a {settings} -v").version]
    settings.write_text("{1}")
    versions.append(executor.version)
    path.write_text("#!/bin/sh\necho 2")
    versions.append(executor.version)
    assert len(set(versions)) == 4
    assert executor.version == versions[-1]


def test_a_secret_in_the_command_is_not_in_its_name(agent: AgentMaker) -> None:
    agent("a", "")
    secret = "sk-ant-api03-" + "y" * 80
    executor = CommandExecutor(f"a --key {secret}")
    assert secret not in executor.name + executor.version


# Claude


def test_claude_leaves_a_trace_with_prompt_outcomes_and_cost(tmp_path: Path, agent: AgentMaker) -> None:
    agent("claude", CLAUDE, CLAUDE_HELP)
    executor = ClaudeExecutor()
    executor.check()
    task = task_in(tmp_path, "p" * 100_000)
    execution = executor.run(task)
    assert (execution.ending, execution.problem) == (RunEnding.DONE, "")
    assert execution.answer.startswith("100000 characters")
    assert (execution.usd, execution.tokens_in, execution.tokens_out, execution.model) == (0.25, 25, 7, "model-1")
    found = traced(execution, task)
    assert found.problem == ""
    assert [(signal.type, signal.query) for signal in found.found.signals] == [("failed_search", "retry_policy")]
    assert len(found.found.turns) == 1


ARGUMENTS = """
said = ' '.join(sys.argv[1:])
print(json.dumps({"type": "result", "subtype": "success", "is_error": False, "session_id": "s", "result": said}))
"""


def test_claude_is_given_only_options_it_understands(tmp_path: Path, agent: AgentMaker) -> None:
    agent("claude", ARGUMENTS, CLAUDE_HELP)
    assert ClaudeExecutor("opus").run(task_in(tmp_path, usd=0.5)).answer == (
        "-p --output-format stream-json --verbose --permission-mode default --allowedTools Read,Grep,Glob,LS "
        "--tools Read,Grep,Glob --setting-sources project --no-session-persistence --max-budget-usd 0.5 --model opus"
    )
    agent("claude", ARGUMENTS, "  -p, --print --toolset --allowedTools")
    assert ClaudeExecutor().run(task_in(tmp_path, name="older", usd=0.5)).answer == (
        "-p --output-format stream-json --verbose --permission-mode default --allowedTools Read,Grep,Glob,LS"
    )


def test_a_sample_may_allow_other_tools(tmp_path: Path, agent: AgentMaker) -> None:
    agent("claude", ARGUMENTS, "--tools")
    answer = ClaudeExecutor().run(task_in(tmp_path, tools=("Read", "Bash(git log:*)", "Bash(git show:*)"))).answer
    assert "--allowedTools Read,Bash(git log:*),Bash(git show:*) --tools Read,Bash" in answer


def test_claude_does_not_think_that_it_was_started_by_itself(
    tmp_path: Path, agent: AgentMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    agent("claude", ARGUMENTS.replace("' '.join(sys.argv[1:])", "str('CLAUDECODE' in os.environ)"))
    assert ClaudeExecutor().run(task_in(tmp_path)).answer == "False"


def failing(**fields: object) -> str:
    line = {"type": "result", "session_id": SESSION, "is_error": True, "total_cost_usd": 0.5, **fields}
    return f"print({json.dumps(line)!r}); sys.exit(1)"


@pytest.mark.parametrize(
    ("body", "ending", "problem"),
    [
        (failing(subtype="success", result="Invalid API key"), RunEnding.CRASHED, "exit status 1: Invalid API key"),
        (failing(subtype="error_max_budget_usd", errors=["Reached maximum budget ($0.5)"]), RunEnding.BUDGET,
         "Reached maximum budget ($0.5)"),
        (failing(subtype="error_max_budget_usd"), RunEnding.BUDGET, "error_max_budget_usd"),
        (failing(subtype="error_max_turns").replace("sys.exit(1)", ""), RunEnding.CRASHED, "error_max_turns"),
        ("print('error: unknown option --verbose', file=sys.stderr); sys.exit(1)", RunEnding.CRASHED,
         "exit status 1: error: unknown option --verbose"),
        (CLAUDE[: CLAUDE.index('line("result"')], RunEnding.INCOMPLETE, "the stream ends before its result"),
        (CLAUDE[: CLAUDE.index('line("result"')] + "os.kill(os.getpid(), 9)", RunEnding.CRASHED, "exit status 137"),
    ],
)  # fmt: skip
def test_a_claude_that_fails_says_why(
    tmp_path: Path, agent: AgentMaker, body: str, ending: RunEnding, problem: str
) -> None:
    agent("claude", body)
    execution = ClaudeExecutor().run(task_in(tmp_path))
    assert execution.ending is ending
    assert execution.problem.startswith(problem)  # some shells add their word for a signal


def test_what_a_failed_claude_cost_is_known(tmp_path: Path, agent: AgentMaker) -> None:
    agent("claude", failing(subtype="error_max_turns"))
    assert ClaudeExecutor().run(task_in(tmp_path)).usd == 0.5


def test_the_clients_version_and_our_options_make_the_version(agent: AgentMaker) -> None:
    agent("claude", "", CLAUDE_HELP, "2.1.60 (Claude Code)")
    assert ClaudeExecutor().version.startswith("2.1.60 (Claude Code) -p --output-format")
    assert ClaudeExecutor("opus").version != ClaudeExecutor("sonnet").version
    before = ClaudeExecutor().version
    agent("claude", "", CLAUDE_HELP, "2.1.61 (Claude Code)")
    assert ClaudeExecutor().version != before


# Codex


def test_codex_leaves_a_trace_with_prompt_outcomes_and_tokens(tmp_path: Path, agent: AgentMaker) -> None:
    agent("codex", CODEX)
    executor = CodexExecutor()
    executor.check()
    task = task_in(tmp_path)
    execution = executor.run(task)
    assert (execution.ending, execution.answer) == (RunEnding.DONE, f"{len(task.prompt)} characters")
    assert (execution.usd, execution.tokens_in, execution.tokens_out) == (None, 100, 8)
    found = traced(execution, task)
    assert found.problem == ""
    assert [(signal.type, signal.query) for signal in found.found.signals] == [("failed_search", "retry_policy")]
    assert [turn.prompt for turn in found.found.turns] == [task.prompt]


def test_codex_works_read_only_in_the_folder_of_the_task(tmp_path: Path, agent: AgentMaker) -> None:
    agent("codex", CODEX.replace('f"{len(prompt)} characters"', "' '.join(sys.argv[1:])"))
    task = task_in(tmp_path)
    assert CodexExecutor("gpt-x").run(task).answer == (
        f"exec --json --sandbox read-only --skip-git-repo-check --model gpt-x -C {task.folder} -"
    )


CODEX_CONFIG = """
model = "gpt-x"
model_provider = "mine"
developer_instructions = "Answer in French."
notify = ["say"]
profile = "fast"

[model_providers.mine]
name = "Mine \\"own\\""
base_url = "http://127.0.0.1:1/v1"
http_headers = { "X-Team" = "a b" }
request_max_retries = 0
requires_openai_auth = false

[profiles.fast]
model = "gpt-y"
model_instructions_file = "french.md"

[mcp_servers.tickets]
command = "tickets"
"""


def test_codex_has_the_login_and_the_model_of_the_user_and_nothing_else(
    tmp_path: Path, agent: AgentMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home" / ".codex"
    home.mkdir(parents=True)
    (home / "config.toml").write_text(CODEX_CONFIG)
    (home / "auth.json").write_text('{"token": 1}')
    (home / "AGENTS.md").write_text("Answer in French.")
    monkeypatch.setenv("HOME", str(home.parent))
    monkeypatch.delenv("CODEX_HOME", raising=False)
    look = (
        "import tomllib; home = os.environ['CODEX_HOME']; "
        "open(home + '/auth.json', 'a').write(' '); "
        "seen = [sorted(os.listdir(home)), tomllib.load(open(home + '/config.toml', 'rb'))]\n"
    )
    agent("codex", look + CODEX.replace('f"{len(prompt)} characters"', "json.dumps(seen)"))
    task = task_in(tmp_path)
    files, config = json.loads(CodexExecutor().run(task).answer)
    assert files == ["auth.json", "config.toml"]
    provider = tomllib.loads(CODEX_CONFIG)["model_providers"]["mine"]
    assert config == {
        "model": "gpt-x",
        "model_provider": "mine",
        "profile": "fast",
        "model_providers": {"mine": provider},
        "profiles": {"fast": {"model": "gpt-y"}},
    }
    assert (home / "auth.json").read_text() == '{"token": 1} ', "a login that Codex renews stays the user's"
    assert not (task.output_dir / "client-home").exists()


def test_the_model_of_the_users_config_is_part_of_the_version(
    tmp_path: Path, agent: AgentMaker, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent("codex", CODEX)
    monkeypatch.setenv("CODEX_HOME", str(tmp_path))
    versions = []
    for model in ("gpt-x", "gpt-y"):
        (tmp_path / "config.toml").write_text(f'model = "{model}"\n')
        versions.append(CodexExecutor().version)
    assert versions[0] != versions[1]


# Injection

HOOKS = {"UserPromptSubmit": "env KNOWBOUND_OFF= knowbound-hook user-prompt-submit"}


def test_our_installed_hooks_are_off_in_every_agent(tmp_path: Path, agent: AgentMaker) -> None:
    assert HOOKS_OFF == resident.OFF_VARIABLE
    agent("a", "print(os.environ['KNOWBOUND_OFF'])")
    assert CommandExecutor("a").run(task_in(tmp_path)).answer == "1"
    agent("claude", ARGUMENTS.replace("' '.join(sys.argv[1:])", "os.environ['KNOWBOUND_OFF']"))
    assert ClaudeExecutor(hooks=HOOKS).run(task_in(tmp_path, name="claude")).answer == "1"


@pytest.mark.parametrize("inject", [True, False])
def test_a_task_with_injection_brings_our_hooks(tmp_path: Path, agent: AgentMaker, inject: bool) -> None:
    agent("claude", ARGUMENTS.replace("' '.join(sys.argv[1:])", "json.dumps(sys.argv[1:])"), "--include-hook-events")
    words = json.loads(ClaudeExecutor(hooks=HOOKS).run(task_in(tmp_path, inject=inject)).answer)
    assert ("--include-hook-events" in words) is inject
    settings = json.loads(words[words.index("--settings") + 1]) if inject else {}
    command = {"type": "command", "command": HOOKS["UserPromptSubmit"], "timeout": 10}
    assert settings == ({"hooks": {"UserPromptSubmit": [{"hooks": [command]}]}} if inject else {})
    agent("codex", CODEX.replace('f"{len(prompt)} characters"', "json.dumps(sys.argv[1:])"))
    words = json.loads(CodexExecutor(hooks=HOOKS).run(task_in(tmp_path, name="codex", inject=inject)).answer)
    assert ("--dangerously-bypass-hook-trust" in words) is inject
    config = tomllib.loads(words[words.index("-c") + 1]) if inject else {}
    assert config == ({"hooks": {"UserPromptSubmit": [{"hooks": [command]}]}} if inject else {})


@pytest.mark.parametrize(
    ("end", "ending", "problem"),
    [
        ('say(type="turn.failed", error={"message": "usage limit"}); sys.exit(1)', RunEnding.CRASHED,
         "exit status 1: usage limit"),
        ('say(type="error", message="Reconnecting... 5/5"); sys.exit(1)', RunEnding.CRASHED,
         "exit status 1: Reconnecting... 5/5"),
        ("", RunEnding.INCOMPLETE, "the stream ends within a turn"),
    ],
)  # fmt: skip
def test_a_codex_that_fails_says_why(
    tmp_path: Path, agent: AgentMaker, end: str, ending: RunEnding, problem: str
) -> None:
    agent("codex", CODEX[: CODEX.index('say(type="turn.completed"')] + end)
    execution = CodexExecutor().run(task_in(tmp_path))
    assert (execution.ending, execution.problem) == (ending, problem)


# By name


@pytest.mark.parametrize("executor", [ClaudeExecutor(), CodexExecutor()])
def test_a_client_that_is_not_there_is_said_before_anything_runs(
    executor: ClaudeExecutor | CodexExecutor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError) as caught:
        executor.check()
    assert caught.value.slug == "no-agent"
    assert executor.name in str(caught.value)


@pytest.mark.parametrize(
    ("name", "model", "made"),
    [
        ("investigate", "", "investigate"),
        ("claude", "", "claude"),
        ("claude", "opus", "claude:opus"),
        ("codex:gpt-x", "", "codex:gpt-x"),
        ("command: python x.py", "", "command:python x.py"),
        ("model:openai:gpt-x", "", "model:openai:gpt-x"),
        ("model:http://127.0.0.1:1/v1#m", "", "model:http://127.0.0.1:1/v1#m"),
    ],
)
def test_executors_are_found_by_name(name: str, model: str, made: str) -> None:
    assert executor_named(name, model=model).name == made


@pytest.mark.parametrize(
    ("name", "suggestion"),
    [
        ("cluade", "'claude'"),
        ("comand:python x.py", "'command:python x.py'"),
        ("command:", "command:PROGRAM ARGS"),
        ("model:", "model:NAME"),
        ("", "investigate, claude, codex"),
        ("something", "investigate, claude, codex"),
    ],
)
def test_an_unknown_name_gets_a_suggestion(name: str, suggestion: str) -> None:
    with pytest.raises(ConfigError) as caught:
        executor_named(name)
    assert caught.value.slug == "unknown-executor"
    assert suggestion in str(caught.value)


def test_a_refusal_of_the_built_in_executor_has_no_word_of_the_question(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Backups\n\nBackups are copied to the vault.\n")
    for prompt in ("Which zeppelin carries the ballast?", "How are backups copied?"):
        out = tmp_path / "out" / prompt[:5]
        out.mkdir(parents=True)
        done = InvestigateExecutor(("*.md",)).run(Task("s", prompt, tmp_path, out, 30.0))
        words = {word.strip("?").lower() for word in prompt.split()}
        assert not words & set(re.findall(r"[a-z]+", done.answer.lower().replace("a.md", "")))
    assert done.answer == "Place found: `a.md:3`"


def test_the_built_in_executor_with_a_model_quotes_the_passage_and_is_a_series_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Webhooks\n\nA failed webhook is retried five times.\n")
    (tmp_path / "out").mkdir()

    class Model:
        def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
            answer: object = {"kind": "locate", "terms": ["failed webhook"]}
            if question.prompt == "read":
                quote = "A failed webhook is retried five times."
                answer = {"answer": [{"text": "Five times.", "passage": 1, "quote": quote}]}
            return Completion(json.dumps(answer), 1, 1, 0.0)

    executor = InvestigateExecutor(("*.md",), (), Asker("scripted", Model(), JudgeOptions()))
    done = executor.run(Task("s", "How often do we try a webhook again?", tmp_path, tmp_path / "out", 30.0))
    assert done.answer.startswith("```\nFive times.\n```\n")
    assert "retried five times" in done.answer
    assert executor.version != InvestigateExecutor(("*.md",)).version
