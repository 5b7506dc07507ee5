"""Real clients with a scripted model on loopback: what their readers make of calls whose outcome is known.

    unshare -rn python -m bench.readers.scripted NPM_FOLDER

NPM_FOLDER has `@qwen-code/qwen-code` and `opencode-ai` (`npm i --prefix NPM_FOLDER …`). Without a network but loopback.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

from knowbound.core.trace import Step
from knowbound.traces.registry import reader_named
from knowbound.traces.source import Tally

_PROMPT = "Where is the tide table read?"


class Scripted(NamedTuple):
    """A call that the model makes, and its outcome as a person would name it."""

    tool: str
    input: dict[str, Any]
    outcome: str


def _shell(tool: str) -> list[Scripted]:
    lines = {
        "grep -rn tide .": "ok",
        "grep -rn zebra .": "empty",
        "cat nothere.txt": "missing",
        "python3 -c 'raise SystemExit(3)'": "error",
        "echo hello": "ok",
    }
    return [
        Scripted(tool, {"command": line, "description": "x", "is_background": False}, lines[line]) for line in lines
    ]


def _qwen(root: str) -> list[Scripted]:
    return [
        Scripted("list_directory", {"path": root}, "error"),  # switched off by default
        Scripted("read_file", {"file_path": f"{root}/a.py"}, "ok"),
        Scripted("read_file", {"file_path": f"{root}/absent.py"}, "missing"),
        Scripted("grep_search", {"pattern": "tide"}, "ok"),
        Scripted("grep_search", {"pattern": "zebra_crossing"}, "empty"),
        Scripted("glob", {"pattern": "**/*.py"}, "ok"),
        Scripted("glob", {"pattern": "**/*.rs"}, "empty"),
        *_shell("run_shell_command"),
        Scripted("write_file", {"file_path": f"{root}/b.py", "content": "x = 1\n"}, "ok"),
        Scripted("edit", {"file_path": f"{root}/b.py", "old_string": "x = 1", "new_string": "x = 2"}, "ok"),
        Scripted("edit", {"file_path": f"{root}/b.py", "old_string": "not there", "new_string": "y"}, "error"),
        Scripted("grep_search", {"pattern": "x", "path": f"{root}/nofolder"}, "missing"),
        Scripted("glob", {"pattern": "*", "path": f"{root}/nofolder"}, "missing"),
        Scripted("no_such_tool", {"a": 1}, "error"),
        Scripted("read_file", {"file_path": f"{root}/nofolder/c.py"}, "missing"),
        Scripted("read_file", {"file_path": f"{root}/b.py"}, "ok"),
    ]


def _opencode(root: str) -> list[Scripted]:
    return [
        Scripted("read", {"filePath": f"{root}/a.py"}, "ok"),
        Scripted("read", {"filePath": f"{root}/absent.py"}, "missing"),
        Scripted("grep", {"pattern": "tide"}, "error"),  # it fetches ripgrep, which needs a network
        Scripted("glob", {"pattern": "**/*.py"}, "error"),
        *_shell("bash"),
        Scripted("write", {"filePath": f"{root}/c.py", "content": "x = 1\n"}, "ok"),
        Scripted("edit", {"filePath": f"{root}/c.py", "oldString": "x = 1", "newString": "x = 2"}, "ok"),
        Scripted("edit", {"filePath": f"{root}/c.py", "oldString": "not there", "newString": "y"}, "error"),
        Scripted("read", {"filePath": root}, "ok"),
        Scripted("read", {"filePath": f"{root}/nofolder"}, "missing"),
        Scripted("no_such_tool", {"a": 1}, "error"),
        Scripted("bash", {"command": "ls", "description": "x"}, "ok"),
        Scripted("bash", {"command": "ls nofolder", "description": "x"}, "missing"),
        Scripted("bash", {"command": "which zebra_crossing", "description": "x"}, "missing"),
        Scripted("bash", {"command": "find . -name '*.rs'", "description": "x"}, "empty"),
        Scripted("read", {"filePath": f"{root}/c.py"}, "ok"),
    ]


def _model(script: list[Scripted]) -> ThreadingHTTPServer:
    """A chat-completions model that makes the calls of a script, one a message."""
    waiting = iter(enumerate(script))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            delta: dict[str, Any] = {"role": "assistant", "content": "All done."}
            if asked.get("tools") and (found := next(waiting, None)):
                function = {"name": found[1].tool, "arguments": json.dumps(found[1].input)}
                call = {"index": 0, "id": f"call_{found[0]:02}", "type": "function", "function": function}
                delta = {"role": "assistant", "content": None, "tool_calls": [call]}
            ends = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if "tool_calls" in delta else "stop"}
            base: dict[str, Any] = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m1"}
            usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
            parts: list[dict[str, Any]] = [
                {"choices": [{"index": 0, "delta": delta}]},
                {"choices": [ends]},
                {"choices": [], "usage": usage},
            ]
            body = b"".join(f"data: {json.dumps(base | part)}\n\n".encode() for part in parts) + b"data: [DONE]\n\n"
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def _run(agent: str, npm: Path, folder: Path) -> tuple[list[Scripted], list[Path]]:
    """Run a client on the script; return the script, and the files that it left."""
    project, home = folder / "project", folder / "home"
    for made in (project, home / ".config" / "opencode"):
        made.mkdir(parents=True)
    (project / "a.py").write_text("tide = 3\n")
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    script = (_qwen if agent == "qwen-code" else _opencode)(str(project))
    server = _model(script)
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    environ = {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8", "TERM": "dumb"}
    environ |= {"OPENAI_API_KEY": "x", "OPENAI_BASE_URL": address, "OPENAI_MODEL": "m1"}
    command = [str(npm / "node_modules/.bin/qwen"), "--auth-type", "openai", "--approval-mode", "yolo", "-p", _PROMPT]
    if agent == "opencode":
        provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": address, "apiKey": "x"}}
        config = {"model": "local/m1", "small_model": "local/m1", "autoupdate": False, "share": "disabled"}
        config["provider"] = {"local": {**provider, "models": {"m1": {"name": "m1"}}}}
        (home / ".config/opencode/opencode.json").write_text(json.dumps(config))
        command = [str(npm / "node_modules/opencode-linux-x64/bin/opencode"), "run", _PROMPT]
        environ["OPENCODE_DISABLE_MODELS_FETCH"] = "1"
    subprocess.run(command, cwd=project, env=environ, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    server.shutdown()
    pattern = ".qwen/projects/*/chats/*.jsonl" if agent == "qwen-code" else ".local/share/opencode/opencode.db"
    return script, sorted(home.glob(pattern))


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=False)
    for agent in ("qwen-code", "opencode"):
        with tempfile.TemporaryDirectory() as folder:
            script, files = _run(agent, Path(sys.argv[1]), Path(folder))
            events = reader_named(agent).read(files, {}, Tally(skipped=[]))
            calls = [call for event in events if isinstance(event, Step) for call in event.calls]
            pairs = list(zip(script, calls, strict=False))
            right = sum(call.outcome == known.outcome for known, call in pairs)
            print(f"{agent}: {len(calls)} calls read of {len(script)} made, outcome right of {right}")
            for known, call in pairs:
                if call.outcome != known.outcome:
                    print(f"    {known.tool} {known.input}: {call.outcome}, should be {known.outcome}")


if __name__ == "__main__":
    main()
