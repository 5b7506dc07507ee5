from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from knowbound.agent import mcp_server
from knowbound.config import load
from knowbound.distribution import extra_command
from knowbound.errors import InputError

KNOWBOUND = Path(sys.executable).parent / "knowbound"
PORT = "The orders service listens on port 8080 behind the internal gateway."
TOOLS = {
    "unified_search", "unified_store", "kms_update", "kms_delete", "kms_supersede", "kms_flag", "kms_reap",
    "kms_suggestions", "investigate",
}  # fmt: skip


class Agent:
    """A real MCP client that talks to a real server process."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.content
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def error(self, tool: str, **arguments: Any) -> str:
        result = await self.client.call_tool(tool, arguments)
        assert result.is_error
        return str(getattr(result.content[0], "text", ""))

    async def contents(self, query: str) -> list[str]:
        return [hit["content"] for hit in (await self.call("unified_search", query=query))["results"]]


def talk(root: Path, conversation: Callable[[Agent], Awaitable[None]]) -> None:
    environ = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_STATE_HOME")}
    server = StdioServerParameters(command=str(KNOWBOUND), args=["mcp"], env=environ, cwd=root)

    async def run() -> None:
        async with Client(server, read_timeout_seconds=120) as client:
            await conversation(Agent(client))

    asyncio.run(run())


def test_the_tools_have_the_names_that_clients_know(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        listed = (await agent.client.list_tools()).tools
        assert {tool.name for tool in listed} == TOOLS
        assert all(tool.description for tool in listed)

    talk(tmp_path, conversation)


def test_what_is_stored_is_found_corrected_and_gone(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        stored = await agent.call("unified_store", content=PORT, subject="orders", confidence=0.9)
        port = stored["item"]["id"]
        found = (await agent.call("unified_search", query="port of the orders service"))["results"]
        assert [(hit["id"], hit["content"], hit["confidence"]) for hit in found] == [(port, PORT, 0.9)]

        await agent.call("kms_update", id=port, content=PORT.replace("8080", "8081"))
        assert "8081" in (await agent.contents("port of the orders service"))[0]

        await agent.call("kms_flag", id=port, flag="UNVERIFIED", note="nobody knows")
        flagged = (await agent.call("unified_search", query="port of the orders service"))["results"]
        assert flagged[0]["flag"] == "UNVERIFIED"
        await agent.call("kms_flag", id=port, flag="NONE")

        new = await agent.call("kms_supersede", id=port, content="The orders service listens on port 9090 now.")
        assert [hit for hit in await agent.contents("port of the orders service") if "8081" in hit] == []

        await agent.call("kms_delete", id=new["item"]["id"], note="moved away")
        assert await agent.contents("port of the orders service") == []
        reaped = await agent.call("kms_reap", older_than_days=0)
        assert reaped["removed"] >= 1

    talk(tmp_path, conversation)


def test_what_a_pull_brings_while_the_server_runs_is_not_found(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        await agent.call("unified_store", content=PORT)
        assert await agent.contents("orders port") == [PORT]
        subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
        subprocess.run(["git", "-C", str(tmp_path), "add", "-f", ".knowbound/index.db"], check=True)
        assert "[store-tracked]" in await agent.error("unified_search", query="orders port")

    talk(tmp_path, conversation)


def test_what_is_wrong_with_a_call_is_a_tool_error_in_our_words(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        assert "[item-invalid]" in await agent.error("unified_store", content="x", confidence=1.7)
        assert "[item-invalid]" in await agent.error("unified_store", content="   ")
        assert "[item-invalid]" in await agent.error("unified_store", content="x", type="rumour")
        assert "[item-unknown]" in await agent.error("kms_update", id="k-none", content="x")
        assert "[item-unknown]" in await agent.error("kms_supersede", id="k-none", content="x")
        assert "[item-invalid]" in await agent.error("kms_flag", id="k-none", flag="MAYBE")
        assert "[item-invalid]" in await agent.error("kms_reap", older_than_days=-1)
        assert "[bad-questions]" in await agent.error("investigate", question=" ")
        first = await agent.call("unified_store", content=PORT)
        assert "[item-duplicate]" in await agent.error("unified_store", content=PORT)
        assert first["item"]["id"] in await agent.error("unified_store", content=PORT)
        assert "[supersede-cycle]" in await agent.error(
            "kms_supersede", id=first["item"]["id"], by_id=first["item"]["id"]
        )
        assert await agent.contents("orders port") == [PORT]  # nothing was changed

    talk(tmp_path, conversation)


def test_answers_have_a_largest_size(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        for n in range(3):
            await agent.call("unified_store", content=f"Shard {n} of the orders service. " + "More about it. " * 1000)
        results = (await agent.call("unified_search", query="orders service shard", limit=10_000))["results"]
        assert 1 <= len(results) <= mcp_server.MOST_RESULTS
        assert all(len(hit["content"]) < mcp_server.MOST_OF_A_TEXT + 50 for hit in results)

    talk(tmp_path, conversation)


def test_there_are_no_suggestions_until_corrections_exist(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        assert await agent.call("kms_suggestions") == {"suggestions": []}

    talk(tmp_path, conversation)


def test_a_question_is_answered_from_the_project(tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text("def settle_invoice(total: int) -> int:\n    return total\n")

    async def conversation(agent: Agent) -> None:
        answer = await agent.call("investigate", question="Where is settle_invoice defined?")
        assert answer["format"] == "knowbound.investigation/1"
        assert answer["outcome"] == "success"
        assert answer["sources"][0]["path"] == "orders.py"

    talk(tmp_path, conversation)


def test_the_project_is_the_one_with_the_nearest_store(tmp_path: Path) -> None:
    below = tmp_path / "src" / "deep"
    below.mkdir(parents=True)
    (tmp_path / ".knowbound").mkdir()
    assert mcp_server.root_of(below) == tmp_path
    assert mcp_server.root_of(Path("/")) == Path("/")


def test_without_the_extra_the_error_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp.server.mcpserver", None)
    with pytest.raises(InputError, match=re.escape(extra_command("mcp"))) as caught:
        mcp_server.build_server(load(tmp_path))
    assert caught.value.slug == "extra-missing"


def test_standard_output_carries_nothing_but_the_protocol(tmp_path: Path) -> None:
    done = subprocess.run([KNOWBOUND, "mcp"], input=b"", capture_output=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, b"")
