"""What `kms import` takes is what the real Claude Code reads."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.agents.clients import CLIENTS
from tests.agents.sandbox import Sandbox

FILES = {
    "CLAUDE.md": "Orders are booked twice.\n\n@docs/ports.md and `@docs/code.md`\n",
    "docs/ports.md": "The orders service listens on 8080.\n\n@deep/last.md\n",
    "docs/deep/last.md": "Restores are tested on Fridays.\n",
    "docs/code.md": "Nobody reads this file.\n",
}
CLAUDE_CODE = next(client for client in CLIENTS if client.name == "claude-code")


@pytest.fixture
def claude_code(tmp_path: Path, possible: None) -> Sandbox:
    return Sandbox(CLAUDE_CODE, tmp_path)


def test_the_files_that_the_client_includes_are_imported(claude_code: Sandbox) -> None:
    for name, text in FILES.items():
        path = claude_code.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    run = claude_code.ask("Hello.").check()
    read = [name for name, text in FILES.items() if run.requests[-1].with_text(text.splitlines()[0])]
    claude_code.knowbound("kms", "import", "CLAUDE.md")
    sources = json.loads(claude_code.knowbound("kms", "list", "--format", "json"))["sources"]
    assert (
        sorted(one["source"] for one in sources) == sorted(read) == ["CLAUDE.md", "docs/deep/last.md", "docs/ports.md"]
    )


def test_the_memory_that_the_client_reads_is_imported(claude_code: Sandbox) -> None:
    project = re.sub(r"[^A-Za-z0-9]", "-", str(claude_code.project.resolve()))
    memory = claude_code.home / ".claude" / "projects" / project / "memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("- [Ports](ports.md) — who listens where\n\nRestores are tested on Fridays.\n")
    (memory / "ports.md").write_text("---\nname: ports\ntype: project\n---\nThe orders service listens on 8080.\n")
    run = claude_code.ask("Hello.").check()
    assert run.requests[-1].with_text("Restores are tested on Fridays.")
    (transcript,) = claude_code.client.transcripts(claude_code.home)
    assert transcript.parent == memory.parent
    claude_code.knowbound("kms", "import", "--claude-memory")
    found = json.loads(claude_code.knowbound("kms", "list", "--source", "memory", "--format", "json"))["items"]
    assert sorted(item["content"] for item in found) == [
        "Restores are tested on Fridays.", "The orders service listens on 8080.",
    ]  # fmt: skip
