"""The page of all code that runs while an agent waits for a hook: docs/hook-code.md, for whoever reviews its security.

`python -m tools.hook_code` writes the page. It runs each event as an agent does, in a project with an item and an index
of its tree, and lists the modules of ours that were loaded when the agent had its answer. What a file may touch is read
off its calls.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "knowbound"
PAGE = Path(__file__).parents[1] / "docs" / "hook-code.md"
MOST_LINES = 5_000
_ENDING = """
import os, sys
from knowbound.agent import hook_entry
leave, process, notes = os._exit, os.getpid(), os.open(sys.argv.pop(1), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
def ended(code):
    if os.getpid() == process:  # not in what it leaves behind
        loaded = [f"{name} {getattr(one, '__file__', None)}\\n" for name, one in sys.modules.items()]
        os.write(notes, "".join(loaded).encode())
    leave(code)
os._exit = ended
hook_entry.main()
"""
_EMPTY: dict[str, object] = {"filenames": [], "numFiles": 0}
# What is shown → the event, and what an agent sends with it.
EVENTS: dict[str, tuple[str, dict[str, object]]] = {
    "session-start": ("session-start", {"source": "startup"}),
    "user-prompt-submit": ("user-prompt-submit", {"prompt": "On which port does the orders service listen?"}),
    "a tool found something": (
        "post-tool-use",
        {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"stdout": "README.md"}},
    ),
    "a missed path": (
        "post-tool-use-failure",
        {"tool_name": "Read", "tool_input": {"file_path": "src/export.py"}, "error": "File does not exist."},
    ),
    "a missed glob": (
        "post-tool-use",
        {"tool_name": "Glob", "tool_input": {"pattern": "**/Export.py"}, "tool_response": _EMPTY},
    ),
    "a missed pattern": (
        "post-tool-use",
        {"tool_name": "Grep", "tool_input": {"pattern": 'def export"'}, "tool_response": _EMPTY | {"mode": "content"}},
    ),
    "a missed command line": (
        "post-tool-use-failure",
        {
            "tool_name": "Bash",
            "tool_input": {"command": "cat src/export.py"},
            "error": "Exit code 1\ncat: src/export.py: No such file or directory",
        },
    ),
    "a missed search in a command line": (
        "post-tool-use",
        {
            "tool_name": "Bash",
            "tool_input": {"command": "git grep -n 'def EXPORT' || echo none", "description": "Find the export"},
            "tool_response": {"stdout": "none"},
        },
    ),
    "a missed search among other programs": (
        "post-tool-use",
        {
            "tool_name": "Bash",
            "tool_input": {
                "command": "LC_ALL=\"$LANG\" rg -n 'exportOrders\\(' src | sed 's/:.*//' || echo none",
                "description": "Find the export",
            },
            "tool_response": {"stdout": "none"},
        },
    ),
    "stop": ("stop", {"last_assistant_message": "Done."}),
    "session-end": ("session-end", {"reason": "other"}),
}
LARGER = ("a missed search among other programs",)  # events that load more than MOST_LINES
# What a call gives access to, by the last parts of its name.
_TOUCHES = {
    "reads files": ("open", "os.open", "os.stat", "os.listdir", "os.scandir", "mmap.mmap", "read_text", "read_bytes"),
    "writes files": (
        "append",
        "make_file",
        "make_folder",
        "os.unlink",
        "os.replace",
        "os.utime",
        "os.link",
        "os.mkdir",
    ),
    "reads SQLite": ("sqlite3.connect", "open_own_index", "open_read_only"),
    "starts processes": ("os.fork", "os.posix_spawn", "subprocess.run", "subprocess.Popen", "run_git"),
    "signals": ("os.kill",),
    "network": ("socket.socket", "socket.create_connection", "urlopen", "HTTPConnection", "HTTPSConnection"),
}


def loaded(shown: str, root: Path, environ: dict[str, str]) -> dict[str, str]:
    """Return the modules with their files that are loaded when the agent has its answer to an event."""
    event, about = EVENTS[shown]
    given = {"session_id": "s", "cwd": str(root), "transcript_path": "", "prompt_id": "p", "tool_use_id": shown} | about
    notes = root.parent / "loaded.txt"
    subprocess.run(
        [sys.executable, "-P", "-c", _ENDING, str(notes), event],
        input=json.dumps(given, separators=(",", ":")).encode(),
        stdout=subprocess.DEVNULL,
        env=environ,
        cwd=root,
        check=True,
    )
    return dict(line.split(" ", 1) for line in notes.read_text().splitlines())


def prepared(folder: Path) -> tuple[Path, dict[str, str]]:
    """Return a project with an item and an index of its tree, and the environment of its user."""
    root = folder / "project"
    (root / "src" / "orders").mkdir(parents=True)
    (root / "src" / "orders" / "export.py").write_text("def export(): ...\n")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("KNOWBOUND", "KMS_", "XDG_"))}
    environ = kept | {"HOME": str(folder), "KNOWBOUND_INJECTION_TIME_LIMIT_MS": "20000"}
    add = "from knowbound.cli.entry import main; main()"
    words = ["kms", "add", "The orders service listens on port 8080."]
    subprocess.run([sys.executable, "-c", add, *words], env=environ, cwd=root, check=True, capture_output=True)
    index = [sys.executable, "-m", "knowbound.agent.worker", str(root), str(root / ".knowbound"), "index"]
    subprocess.run(index, env=environ, cwd=root, check=True)
    loaded("session-start", root, environ)  # the settings are read once, the slow way
    return root, environ


def modules_by_event() -> dict[str, dict[str, str]]:
    """Return the loaded modules of every event."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        root, environ = prepared(Path(folder))
        return {event: loaded(event, root, environ) for event in EVENTS}


def touched(path: Path) -> str:
    """Return what the calls in a file give access to."""
    tree = ast.parse(path.read_text("utf-8"))
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = calls | {call.rpartition(".")[2] for call in calls if "read_" in call}
    return ", ".join(kind for kind, those in _TOUCHES.items() if not names.isdisjoint(those)) or "nothing"


def page(found: dict[str, dict[str, str]]) -> str:
    """Return the text of the page."""
    files: dict[Path, list[str]] = {}
    for event, modules in found.items():
        for name, file in modules.items():
            if name.split(".")[0] == "knowbound" and file.endswith(".py"):
                files.setdefault(Path(file).relative_to(SOURCE), []).append(event)
    lines = {path: (SOURCE / path).read_text("utf-8").count("\n") for path in files}
    rows = []
    for path, events in sorted(files.items()):
        shown = "all" if len(events) == len(found) else ", ".join(events)
        rows.append(f"| `{path}` | {lines[path]} | {touched(SOURCE / path)} | {shown} |")
    per_event = [
        f"| `{event}` | {sum(name.startswith('knowbound') for name in modules)} | "
        f"{sum(lines[path] for path, events in files.items() if event in events):,} |"
        for event, modules in found.items()
    ]
    return "\n".join(
        [
            "# The code of a hook",
            "",
            "All files that run while an agent waits for the process of a hook. Beside them only the standard library",
            "is loaded. `python -m tools.hook_code` makes this page from real runs of every event, and a test holds it",
            "to them. In the MCP server the same files answer, with `agent/mcp/hook_events.py` around them. What",
            "follows when the agent has its answer (clearing text of secrets, starting workers, asking a model where",
            "that is allowed) runs in a process that nobody waits for, and is not listed. A check before the agent",
            "stops (`audit.check`) is off unless the user asks for it; it loads `audit/`.",
            "",
            f"{sum(lines.values()):,} lines in {len(files)} files together. One event may run {MOST_LINES:,} lines;",
            "rules are loaded as an event needs them, and only a search among other programs runs more.",
            "",
            "| event | files | lines |",
            "| --- | --- | --- |",
            *per_event,
            "",
            "| file of `src/knowbound/` | lines | may touch | loaded by |",
            "| --- | --- | --- | --- |",
            *rows,
            "",
        ]
    )


if __name__ == "__main__":
    PAGE.write_text(page(modules_by_event()), "utf-8")
