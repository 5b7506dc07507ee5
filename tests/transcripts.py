"""Claude Code transcripts written for the tests: one builder, so that a test shows only what matters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"
PROJECT = "/work/shop"


class Transcript:
    """Builds the lines of a session as the client writes them."""

    def __init__(self, session: str = SESSION, project: str = PROJECT) -> None:
        self.session, self.project = session, project
        self.lines: list[str] = []
        self._count = 0

    def line(self, type_: str, **fields: Any) -> Transcript:
        """Any line, with what every line carries."""
        self._count += 1
        base: dict[str, Any] = {
            "parentUuid": None,
            "isSidechain": False,
            "cwd": self.project,
            "sessionId": self.session,
            "version": "2.1.60",
            "type": type_,
            "uuid": f"{self.session[:8] if self.session == SESSION else self.session}-uuid-{self._count}",
            "timestamp": f"2026-10-01T10:{self._count // 60:02d}:{self._count % 60:02d}.000Z",
        }
        self.lines.append(json.dumps({**base, **fields}))
        return self

    def raw(self, text: str) -> Transcript:
        """A line exactly as given."""
        self.lines.append(text)
        return self

    def user(self, text: str, **fields: Any) -> Transcript:
        """The user's words (or a text of the client, with its flags)."""
        return self.line("user", message={"role": "user", "content": text}, **fields)

    def says(self, text: str, message: str = "", **fields: Any) -> Transcript:
        """A text of the agent."""
        return self._assistant({"type": "text", "text": text}, message, **fields)

    def calls(self, name: str, input_: dict[str, Any], id_: str = "", message: str = "", **fields: Any) -> Transcript:
        """A tool call of the agent."""
        block = {"type": "tool_use", "id": id_ or f"toolu_{self._count + 1}", "name": name, "input": input_}
        return self._assistant(block, message, **fields)

    def _assistant(self, block: dict[str, Any], message: str, **fields: Any) -> Transcript:
        id_ = message or f"msg_{self._count + 1}"
        content = {"id": id_, "role": "assistant", "model": "m", "content": [block]}
        return self.line("assistant", message=content, **fields)

    def result(
        self, id_: str, content: Any, structured: Any = None, *, is_error: bool | None = None, **fields: Any
    ) -> Transcript:
        """The result of a call: text for the model, and the structure beside it."""
        block: dict[str, Any] = {"type": "tool_result", "tool_use_id": id_, "content": content}
        if is_error is not None:
            block["is_error"] = is_error
        if structured is not None:
            fields["toolUseResult"] = structured
        return self.line("user", message={"role": "user", "content": [block]}, **fields)

    def grep(self, pattern: str, found: list[str] | None = None, *, id_: str = "", message: str = "") -> Transcript:
        """A Grep with its result."""
        id_ = id_ or f"toolu_{self._count + 1}"
        self.calls("Grep", {"pattern": pattern}, id_, message)
        text = "\n".join(found) if found else "No files found"
        structure = {"mode": "files_with_matches", "filenames": found or [], "numFiles": len(found or [])}
        return self.result(id_, text, structure)

    def read(self, path: str, *, there: bool = True, id_: str = "", message: str = "") -> Transcript:
        """A Read with its result."""
        id_ = id_ or f"toolu_{self._count + 1}"
        self.calls("Read", {"file_path": path}, id_, message)
        if there:
            return self.result(id_, "1\tx", {"type": "text", "file": {"filePath": path, "content": "x"}})
        text = "<tool_use_error>File does not exist.</tool_use_error>"
        return self.result(id_, text, "Error: File does not exist.", is_error=True)

    def bash(
        self, command: str, stdout: str = "", *, code: int = 0, purpose: str = "", id_: str = "", message: str = ""
    ) -> Transcript:
        """A Bash call with its result."""
        id_ = id_ or f"toolu_{self._count + 1}"
        self.calls("Bash", {"command": command, "description": purpose}, id_, message)
        if code:
            text = f"Exit code {code}" + (f"\n{stdout}" if stdout else "")
            return self.result(id_, text, f"Error: {text}", is_error=True)
        return self.result(id_, stdout, {"stdout": stdout, "stderr": "", "interrupted": False}, is_error=False)

    def text(self) -> str:
        """The file's content."""
        return "\n".join(self.lines) + "\n"

    def write(self, folder: Path, name: str = "") -> Path:
        """The file, under a name that tells nothing."""
        path = folder / (name or f"{self.session}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text(), "utf-8")
        return path
