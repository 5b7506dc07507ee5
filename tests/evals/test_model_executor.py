"""A model as an agent: a scripted server that speaks OpenAI's chat API, and tools that never leave their folder."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowbound.core.trace import Outcome, Step
from knowbound.errors import ConfigError
from knowbound.evals.executor import Task
from knowbound.evals.executors.model import STEPS, FileTools, ModelExecutor
from knowbound.evals.tracing import read_trace
from knowbound.gaps.lens import LensSettings
from knowbound.stats.evaluation import RunEnding
from knowbound.traces.registry import recognise
from knowbound.traces.source import Tally, read_head

pytestmark = pytest.mark.xdist_group("providers")
Answer = dict[str, Any]
LENS = LensSettings(("**/*.md",))
Script = Callable[[list[dict[str, Any]]], Answer]


@pytest.fixture
def knowledge(tmp_path: Path) -> Path:
    """A knowledge base with what must not be found in it, and a secret beside it."""
    folder = tmp_path / "kb"
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "orders.md").write_text("# Orders\n\nThe orders service binds to port 8004.\n")
    (folder / "docs" / "café notes.md").write_text("Retries: five.\n")
    (folder / "README.md").write_text("Read docs/orders.md.\n")
    (folder / "eval-samples.json").write_text('[{"sample_id": "s1", "prompt": "port 8004?"}]')
    (folder / ".knowbound").mkdir()
    (folder / ".knowbound" / "port.md").write_text("port 8004\n")
    (folder / "binary.bin").write_bytes(b"port 8004\0\1")
    (tmp_path / "secret.md").write_text("port 8004 is a secret\n")
    (folder / "way-out.md").symlink_to(tmp_path / "secret.md")
    (folder / "door").symlink_to(tmp_path)
    (folder / "inside.md").symlink_to(folder / "README.md")
    (folder / "sly.md").symlink_to(folder / "eval-samples.json")
    return folder


@pytest.fixture
def tools(knowledge: Path) -> FileTools:
    return FileTools(knowledge, (knowledge / "eval-samples.json",))


# The tools


def test_grep_shows_file_line_and_text(tools: FileTools) -> None:
    assert tools.grep({"pattern": "port 8004"}) == "docs/orders.md:3:The orders service binds to port 8004."
    assert tools.grep({"pattern": "PORT", "ignore_case": True, "path": "docs", "glob": "*.md"}).startswith(
        "docs/orders"
    )
    assert tools.grep({"pattern": "Retries"}) == "docs/café notes.md:1:Retries: five."


def test_a_search_without_a_match_says_so(tools: FileTools) -> None:
    assert tools.grep({"pattern": "retry_policy"}) == "No matches found"
    assert tools.glob({"pattern": "**/retry*"}) == "No files found"


def test_glob_shows_the_files(tools: FileTools, knowledge: Path) -> None:
    assert tools.glob({"pattern": "**/*.md"}).splitlines() == ["README.md", "docs/café notes.md", "docs/orders.md"]
    assert tools.glob({"pattern": "*.md", "path": str(knowledge / "docs")}).splitlines() == [
        "docs/café notes.md",
        "docs/orders.md",
    ]


def test_read_numbers_the_lines(tools: FileTools, knowledge: Path) -> None:
    assert (
        tools.read({"file_path": "docs/orders.md"}).splitlines()[2] == "     3\tThe orders service binds to port 8004."
    )
    assert tools.read({"file_path": str(knowledge / "README.md")}) == "     1\tRead docs/orders.md."
    assert tools.read({"file_path": "docs/../README.md"}) == "     1\tRead docs/orders.md."
    assert tools.read({"file_path": "inside.md"}) == "     1\tRead docs/orders.md."
    assert tools.read({"file_path": "docs/orders.md", "offset": 3, "limit": 1}).startswith("     3\t")
    assert tools.read({"file_path": "docs/orders.md", "offset": 30}) == "(the file has 3 lines)"


OUTSIDE = [
    "../secret.md",
    "way-out.md",
    "door/secret.md",
    "/etc/passwd",
    "docs/../../secret.md",
    "//etc/passwd",
    "~/x/..",
]
HIDDEN = [
    "eval-samples.json",
    "./eval-samples.json",
    "sly.md",
    ".knowbound/port.md",
    "docs/../.knowbound/port.md",
    ".git/x",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_is_read_or_searched(tools: FileTools, path: str) -> None:
    for said in (tools.read({"file_path": path}), tools.grep({"pattern": ".", "path": path})):
        assert said.startswith("Error:")
        assert "secret\n" not in said
        assert "is a secret" not in said
        assert "root:" not in said
    assert "secret" not in tools.glob({"pattern": "**", "path": os.path.dirname(path) or "."})


@pytest.mark.parametrize("path", HIDDEN)
def test_what_is_hidden_is_not_there(tools: FileTools, path: str) -> None:
    assert tools.read({"file_path": path}) == f"Error: File does not exist: {path}"
    assert tools.grep({"pattern": "8004", "path": path}) == f"Error: File does not exist: {path}"


@pytest.mark.parametrize(
    "glob", ["", "*.json", ".knowbound/**", "**", "!*.md", "eval-samples.json", "{.knowbound,x}/**"]
)
def test_no_glob_brings_back_what_is_hidden(tools: FileTools, glob: str) -> None:
    for said in (tools.grep({"pattern": "8004", "glob": glob}), tools.glob({"pattern": glob or "**"})):
        assert "eval-samples" not in said
        assert ".knowbound" not in said


def test_another_version_of_the_test_set_is_hidden_by_its_name(knowledge: Path, tmp_path: Path) -> None:
    tools = FileTools(knowledge, (tmp_path / "elsewhere" / "eval-samples.json",))
    assert tools.read({"file_path": "eval-samples.json"}).startswith("Error: File does not exist")


def test_a_hidden_folder_elsewhere_hides_no_folder_of_the_same_name(knowledge: Path, tmp_path: Path) -> None:
    (tmp_path / "home" / "docs").mkdir(parents=True)
    tools = FileTools(knowledge, (tmp_path / "home" / "docs",))
    assert "8004" in tools.read({"file_path": "docs/orders.md"})


@pytest.mark.parametrize(
    ("tool", "given_", "said"),
    [
        ("grep", {"pattern": "("}, "Error: the search failed: rg: regex parse error"),
        ("grep", {"pattern": ""}, "Error: invalid pattern"),
        ("grep", {}, "Error: invalid pattern"),
        ("grep", {"pattern": "x" * 3000}, "Error: invalid pattern"),
        ("grep", {"pattern": "x", "path": "nowhere"}, "Error: File does not exist: nowhere"),
        ("grep", {"pattern": "x", "path": "a\0b"}, "Error: File does not exist"),
        ("glob", {"pattern": "[", "path": "docs"}, "Error: the search failed"),
        ("read", {"file_path": ""}, "Error: missing required file_path."),
        ("read", {"file_path": "docs"}, "Error: docs is a directory."),
        ("read", {"file_path": "binary.bin"}, "Error: invalid input: binary.bin is a binary file."),
        ("read", {"file_path": 7}, "Error: missing required file_path."),
        ("read", {"file_path": "nowhere.md"}, "Error: File does not exist: nowhere.md"),
    ],
)
def test_a_mistake_is_told_as_one(tools: FileTools, tool: str, given_: dict[str, object], said: str) -> None:
    assert getattr(tools, tool)(given_).startswith(said)


def test_a_pattern_that_looks_like_an_option_is_a_pattern(tools: FileTools, knowledge: Path) -> None:
    assert tools.grep({"pattern": "--files"}) == "No matches found"
    (knowledge / "--pre=sh").write_text("port\n")
    assert tools.grep({"pattern": "port", "path": "--pre=sh"}) == "--pre=sh:1:port"


def test_answers_are_bounded(tools: FileTools, knowledge: Path) -> None:
    (knowledge / "long.md").write_text("needle " + "x" * 10_000 + "\n" + "needle in a haystack of words\n" * 5_000)
    found = tools.grep({"pattern": "needle"})
    assert len(found.splitlines()) <= 101
    assert len(found) < 60_000
    read = tools.read({"file_path": "long.md"})
    assert len(read) < 61_000
    assert read.endswith("more lines are not shown)")
    for number in range(300):
        (knowledge / f"many{number:03}.txt").write_text("")
    listed = tools.glob({"pattern": "*.txt"}).splitlines()
    assert (len(listed), listed[-1]) == (201, "(100 more files are not shown)")


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(
        st.sampled_from(["..", ".", "docs", "door", "kb", "secret.md", "way-out.md", "", "~", "/"]), max_size=8
    )
)
def test_no_path_leads_to_what_lies_beside_the_folder(tools: FileTools, parts: list[str]) -> None:
    assert "is a secret" not in tools.read({"file_path": "/".join(parts)})
    assert "is a secret" not in tools.read({"file_path": "/" + "/".join(parts)})


# The model


class Server:
    """Answers each request by a script, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []
        self.script: Script = lambda messages: says("Nothing.")
        self.hold: threading.Event | None = None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(request)
                if outer.hold is not None:
                    outer.hold.wait(30)
                message = outer.script(request["messages"])
                finish = "tool_calls" if message.get("tool_calls") else "stop"
                content = json.dumps(
                    {
                        "id": "chat-1", "object": "chat.completion", "created": 1, "model": "scripted-1",
                        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
                    }
                ).encode()  # fmt: skip
                with suppress(OSError):  # whoever asked may have gone
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.name = f"http://127.0.0.1:{self.http.server_address[1]}/v1#scripted"


@pytest.fixture
def server() -> Iterator[Server]:
    pytest.importorskip("pydantic_ai")
    server = Server()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    yield server
    if server.hold is not None:
        server.hold.set()
    server.http.shutdown()
    thread.join()
    server.http.server_close()


def says(text: str) -> Answer:
    return {"role": "assistant", "content": text}


def calls(*wanted: tuple[str, dict[str, Any]]) -> Answer:
    asked = [
        {
            "id": f"call_{number}_{id(given_)}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given_)},
        }
        for number, (name, given_) in enumerate(wanted)
    ]
    return {"role": "assistant", "content": None, "tool_calls": asked}


def one_after_the_other(*answers: Answer) -> Script:
    left = iter(answers)
    return lambda messages: next(left)


def task_in(tmp_path: Path, knowledge: Path, seconds: float = 60.0, **more: Any) -> Task:
    place = tmp_path / "place"
    place.mkdir(exist_ok=True)
    return Task("s1", "Which port does the orders service bind to?", knowledge, place, seconds, **more)


def outcomes(trace: str) -> list[tuple[str, Outcome]]:
    known = recognise(read_head(Path(trace)))
    assert known is not None
    events = known[0].read([Path(trace)], {}, Tally())
    return [(call.name, call.outcome) for event in events if isinstance(event, Step) for call in event.calls]


def test_a_model_searches_reads_and_answers(tmp_path: Path, knowledge: Path, server: Server) -> None:
    server.script = one_after_the_other(
        calls(("Grep", {"pattern": "orders service"}), ("Glob", {"pattern": "**/*.md"})),
        calls(("Read", {"file_path": "docs/orders.md"})),
        says("It binds to 8004 (docs/orders.md)."),
    )
    executor = ModelExecutor(server.name)
    executor.check()
    task = task_in(tmp_path, knowledge)
    execution = executor.run(task)
    assert (execution.ending, execution.problem) == (RunEnding.DONE, "")
    assert execution.answer == "It binds to 8004 (docs/orders.md)."
    assert (execution.tokens_in, execution.tokens_out, execution.model) == (300, 30, "scripted-1")
    assert execution.usd is None
    assert outcomes(execution.trace) == [("Grep", Outcome.OK), ("Glob", Outcome.OK), ("Read", Outcome.OK)]
    traced = read_trace(Path(execution.trace), "s1", knowledge, knowledge, LENS)
    assert traced.problem == ""
    assert traced.found.signals == []
    assert "docs/orders.md" in traced.found.reached
    assert [turn.prompt for turn in traced.found.turns] == [task.prompt]
    told = [message["content"] for message in server.asked[-1]["messages"] if message["role"] == "tool"]
    assert told[0] == "docs/orders.md:3:The orders service binds to port 8004."


def test_misses_are_misses_in_the_trace(tmp_path: Path, knowledge: Path, server: Server) -> None:
    server.script = one_after_the_other(
        calls(("Grep", {"pattern": "retry_policy"})),
        calls(("Glob", {"pattern": "**/retry*"})),
        calls(("Read", {"file_path": "docs/retry.md"})),
        says("The knowledge base does not say it."),
    )
    execution = ModelExecutor(server.name).run(task_in(tmp_path, knowledge))
    assert outcomes(execution.trace) == [
        ("Grep", Outcome.EMPTY),
        ("Glob", Outcome.EMPTY),
        ("Read", Outcome.MISSING),
    ]
    traced = read_trace(Path(execution.trace), "s1", knowledge, knowledge, LENS)
    assert {signal.type for signal in traced.found.signals} >= {"failed_search"}


def test_an_attempt_to_escape_is_an_error_and_no_gap(tmp_path: Path, knowledge: Path, server: Server) -> None:
    server.script = one_after_the_other(
        calls(("Read", {"file_path": "../secret.md"}), ("Read", {"file_path": "way-out.md"})),
        calls(("Grep", {"pattern": "8004", "path": "/"}), ("Grep", {"pattern": "("})),
        calls(("Delete", {"file_path": "docs/orders.md"})),
        says("That is out of reach."),
    )
    execution = ModelExecutor(server.name).run(task_in(tmp_path, knowledge))
    assert {outcome for _, outcome in outcomes(execution.trace)} == {Outcome.ERROR}
    assert (
        read_trace(Path(execution.trace), "s1", knowledge, knowledge, LensSettings(LENS.knowledge, 99)).found.signals
        == []
    )
    told = "\n".join(message["content"] for message in server.asked[-1]["messages"] if message["role"] == "tool")
    assert "is a secret" not in told
    assert "root:" not in told


def test_the_test_set_and_our_data_are_not_found(tmp_path: Path, knowledge: Path, server: Server) -> None:
    server.script = one_after_the_other(
        calls(("Grep", {"pattern": "8004"}), ("Glob", {"pattern": "**"}), ("Read", {"file_path": "eval-samples.json"})),
        says("8004."),
    )
    hidden = (knowledge / "eval-samples.json", knowledge / ".knowbound")
    ModelExecutor(server.name, hidden).run(task_in(tmp_path, knowledge))
    told = [message["content"] for message in server.asked[-1]["messages"] if message["role"] == "tool"]
    assert told[0] == "docs/orders.md:3:The orders service binds to port 8004."
    assert "eval-samples" not in told[1]
    assert told[2].startswith("Error: File does not exist")


def test_a_model_that_never_stops_searching_is_stopped(tmp_path: Path, knowledge: Path, server: Server) -> None:
    server.script = lambda messages: calls(("Grep", {"pattern": f"x{len(messages)}"}))
    execution = ModelExecutor(server.name).run(task_in(tmp_path, knowledge))
    assert (execution.ending, execution.answer) == (RunEnding.CRASHED, "")
    assert "steps" in execution.problem
    assert len(server.asked) == STEPS
    assert len(outcomes(execution.trace)) == STEPS


def test_a_server_that_does_not_answer_is_a_timeout(tmp_path: Path, knowledge: Path, server: Server) -> None:
    server.hold = threading.Event()
    execution = ModelExecutor(server.name).run(task_in(tmp_path, knowledge, seconds=0.5))
    assert execution.ending is RunEnding.TIMEOUT
    assert execution.usd is None


def test_a_model_that_says_nothing_crashed(tmp_path: Path, knowledge: Path, server: Server) -> None:
    server.script = lambda messages: says("")
    execution = ModelExecutor(server.name).run(task_in(tmp_path, knowledge))
    assert execution.ending is RunEnding.CRASHED
    assert execution.problem


def test_a_sample_may_allow_fewer_tools(tmp_path: Path, knowledge: Path, server: Server) -> None:
    server.script = lambda messages: says("Fine.")
    ModelExecutor(server.name).run(task_in(tmp_path, knowledge, tools=("Read",)))
    assert [tool["function"]["name"] for tool in server.asked[0]["tools"]] == ["Read"]


@pytest.mark.parametrize(
    ("name", "slug"),
    [("rules", "unknown-executor"), ("claude-cli:x", "unknown-executor"), ("nobody", "unknown-executor")],
)
def test_what_is_no_model_with_tools_is_refused_before_anything_runs(name: str, slug: str) -> None:
    with pytest.raises(ConfigError) as caught:
        ModelExecutor(name).check()
    assert caught.value.slug == slug
