"""A number of hundreds or thousands of digits is refused or passed over wherever one is read, and is no defect."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from knowbound.errors import InputError
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.judge.models.completion import Completion, MalformedError, parse_answer
from knowbound.kms.validation import NewItem, checked
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.readers.claude_code.stream import ClaudeStream
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.shell.lookup import split_exit_code
from tests import warm_process
from tests.transcripts import Transcript

_SIZES = (20, 310, 400, 5000)
_KNOWBOUND = Path(sys.executable).parent / "knowbound"


def _run(root: Path, *arguments: str | Path, **environ: str) -> tuple[int, str]:
    own = {"PATH": os.environ["PATH"], "HOME": str(root), "KNOWBOUND_HOME": str(root / "data")}
    ran = warm_process.knowbound(*arguments, cwd=root, env=own | environ)
    return ran.returncode, ran.stderr


@pytest.mark.parametrize("digits", _SIZES)
@pytest.mark.parametrize("key", ["eval.seconds", "repeated_failure_calls", "jobs"])
def test_in_a_config(key: str, digits: int, tmp_path: Path) -> None:
    (tmp_path / "knowbound.toml").write_text(f"{key} = {'7' * digits}\n")
    (tmp_path / "s.yaml").write_text("- {sample_id: a, prompt: b}\n")
    code, said = _run(tmp_path, "eval", "s.yaml", "--executor", "command:true")
    assert code == 2, said


@pytest.mark.parametrize("value", ["²", *("7" * digits for digits in _SIZES)], ids=len)
def test_in_the_environment(value: str, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("- {sample_id: a, prompt: b}\n")
    code, said = _run(tmp_path, "eval", "s.yaml", "--validate", KNOWBOUND_JOBS=value)
    assert code == 2, said
    hook = _KNOWBOUND.with_name("knowbound-hook")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KNOWBOUND_INJECTION_TIME_LIMIT_MS": value}
    ran = subprocess.run(
        [hook, "session-start"], input=b"{}", capture_output=True, env=environ, cwd=tmp_path, timeout=30, check=False
    )
    assert (ran.returncode, ran.stderr) == (0, b"")


@pytest.mark.parametrize("digits", _SIZES)
def test_on_the_command_line(digits: int, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("- {sample_id: a, prompt: b}\n")
    for option in ("--repeat", "--concurrency", "--seconds", "--budget", "--max-gap-rate"):
        code, said = _run(tmp_path, "eval", "s.yaml", "--executor", "command:true", option, "7" * digits)
        assert code in (1, 2, 3), said


@pytest.mark.parametrize("digits", _SIZES)
@pytest.mark.parametrize("ending", ["yaml", "json", "jsonl"])
def test_in_a_samples_file(ending: str, digits: int, tmp_path: Path) -> None:
    sample = f'{{"sample_id": "a", "prompt": "b", "metadata": {{"n": {"7" * digits}}}}}'
    (tmp_path / f"s.{ending}").write_text(sample if ending == "jsonl" else f"[{sample}]")
    code, said = _run(tmp_path, "eval", f"s.{ending}", "--executor", "command:true", "--format", "json")
    assert code in (0, 2, 3), said


@pytest.mark.parametrize("digits", _SIZES)
def test_in_a_trace(digits: int, tmp_path: Path) -> None:
    number = "7" * digits
    transcript = Transcript().user("Where?").calls("Bash", {"command": "grep a b"}, "t1")
    transcript.result("t1", f"Exit code {number}\n", is_error=True).calls("Grep", {"pattern": "a"}, "t2")
    path = transcript.write(tmp_path)
    result = {"type": "tool_result", "tool_use_id": "t2", "content": "a"}
    line = json.dumps({"type": "user", "message": {"content": [result]}, "toolUseResult": {"numLines": 0}})
    with path.open("a") as file:
        file.write(line.replace('"numLines": 0', f'"numLines": {number}') + "\n")
    found = read_session(SharedEvents(SessionFiles("claude-code", "s", (str(path),), {}, 1)), LensSettings())[0]
    assert found.tool_calls == 2
    assert split_exit_code(f"Exit code {number}\n")[0] is None


@pytest.mark.parametrize("digits", _SIZES)
def test_in_the_cost_of_a_stream(digits: int, tmp_path: Path) -> None:
    number = "7" * digits
    usage = f'"usage": {{"input_tokens": {number}, "output_tokens": {number}}}'
    line = f'{{"type": "result", "subtype": "success", "session_id": "s", "total_cost_usd": {number}, {usage}}}\n'
    (tmp_path / "s.jsonl").write_text(line)
    spent = ClaudeStream().spent(tmp_path / "s.jsonl")
    assert (spent.usd, spent.tokens_out) == (None, None)


@pytest.mark.parametrize("digits", [20, 310, 400])
def test_in_an_item(digits: int, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="from 0 to 1"):
        checked(NewItem(content="The port is 8080.", confidence=int("7" * digits)), "k-1", "2026-11-16T10:00:00Z")
    (tmp_path / "items.jsonl").write_text(f'{{"content": "The port is 8080.", "confidence": {"7" * digits}}}\n')
    code, said = _run(tmp_path, "kms", "import", "items.jsonl")
    assert code in (0, 2), said


@pytest.mark.parametrize("digits", [310, 400, 5000])
def test_in_the_answer_of_a_judge(digits: int) -> None:
    with pytest.raises(MalformedError):
        parse_answer(f'{{"text": "a", "tokens_in": {"7" * digits}, "usd": {"7" * digits}}}', Completion)
