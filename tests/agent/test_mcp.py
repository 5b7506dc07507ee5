"""The MCP server as the official client sees it: a real client and process, every version that the client speaks."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS

from knowbound.agent.mcp import tools
from knowbound.agent.mcp.server import root_of
from knowbound.config import load
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.kms.validation import NewItem
from knowbound.quality.rollup import roll_up
from tests.conftest import write_user_config
from tests.quality.measured_project import logged, turn
from tests.services import Mongod, emptied

KNOWBOUND = Path(sys.executable).parent / "knowbound"
PORT = "The orders service listens on port 8080 behind the internal gateway."
TOOLS = {
    "unified_search", "kms_show", "unified_store", "kms_update", "kms_delete", "kms_supersede", "kms_flag", "kms_reap",
    "kms_suggestions", "kms_accept_suggestion", "kms_dismiss", "propose_lesson",
    "investigate", "rescue", "next_questions", "answer",
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


def talk(
    root: Path, conversation: Callable[[Agent], Awaitable[None]], mode: str = "auto", *options: str, **more: str
) -> None:
    environ = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_STATE_HOME")}
    server = StdioServerParameters(command=str(KNOWBOUND), args=["mcp", *options], env=environ | more, cwd=root)

    async def run() -> None:
        async with Client(server, mode=mode, read_timeout_seconds=120) as client:
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
        assert (reaped["dry_run"], reaped["removed"]) == (True, 2)
        assert (await agent.call("kms_reap", older_than_days=0, dry_run=False))["removed"] == 2
        assert (await agent.call("kms_reap", older_than_days=0))["removed"] == 0

    talk(tmp_path, conversation)


def test_the_arguments_of_the_system_that_the_contract_comes_from_are_answered(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        stored = await agent.call(
            "unified_store",
            content=PORT,
            contentType="procedure",
            source="cross_domain",
            userId="ada",
            confidence=0.9,
            metadata={"subject": "Orders.port", "project": "orders"},
            relationships=[{"targetId": "other", "type": "REQUIRES", "strength": 0.5}],
        )
        item = stored["item"]
        assert (item["type"], item["source"], item["user"], item["subject"]) == (
            "procedure", "cross_domain", "ada", "Orders.port",
        )  # fmt: skip
        assert item["relationships"] == [{"kind": "requires", "target": "other"}]
        asked = {"query": "port of the orders service", "options": {"maxResults": 5, "cacheStrategy": "realtime"}}
        filters = {"contentType": ["procedure"], "source": ["cross_domain"], "userId": "ada", "minConfidence": 0.5}
        found = await agent.call("unified_search", filters=filters | {"subject": "Orders.port"}, **asked)
        assert [hit["id"] for hit in found["results"]] == [item["id"]]
        for name, value in (("contentType", ["fact"]), ("source", ["personal"]), ("minConfidence", 0.95)):
            other = filters | {name: value}
            assert (await agent.call("unified_search", filters=other, **asked))["results"] == [], name
        assert "takes one value" in await agent.error("unified_search", query="x", filters={"source": ["a", "b"]})

        new = PORT.replace("8080", "9090")
        done = await agent.call("kms_supersede", old_id=item["id"], new_content=new, reason="moved", confidence=0.7)
        after = done["item"]
        assert (after["content"], after["type"], after["confidence"]) == (new, "procedure", 0.7)
        old = (await agent.call("kms_show", id=item["id"]))["item"]
        assert (old["flag"]["kind"], old["flag"]["note"], old["flag"]["superseded_by"]) == (
            "SUPERSEDED", "moved", after["id"],
        )  # fmt: skip

        await agent.call("kms_update", id=after["id"], confidence=0.6, reason="less sure", userId="ada")
        await agent.call("kms_flag", id=after["id"], flag="RETRACTED", note="no", by="ada")
        assert await agent.contents("port of the orders service") == []
        await agent.call("kms_flag", id=after["id"], flag=None)
        assert await agent.contents("port of the orders service") == [new]
        await agent.call("kms_delete", id=after["id"], reason="noise", by="ada")
        assert (await agent.call("kms_reap", olderThanDays=1))["removed"] == 0

    talk(tmp_path, conversation)


@pytest.mark.parametrize(("by", "kind"), [("quality", "HELD_BACK"), ("lint", "HELD_BACK"), ("", "RETRACTED")])
def test_an_agent_releases_nothing_that_knowbound_or_a_person_holds_back(tmp_path: Path, by: str, kind: str) -> None:
    with closing(open_knowledge_store(load(tmp_path), by=by)) as store:
        port = store.add(NewItem(content=PORT)).item.id
        store.flag(port, kind, "contradicted in a session")

    async def conversation(agent: Agent) -> None:
        assert "[flag-refused]" in await agent.error("kms_flag", id=port, flag="NONE")
        await agent.call("kms_flag", id=port, flag="DELETED")  # its own flag comes off again, and no other
        await agent.call("kms_flag", id=port, flag="NONE")
        assert "[flag-refused]" in await agent.error("kms_flag", id=port, flag="NONE")
        assert "[flag-refused]" in await agent.error("kms_flag", id=port, flag="UNVERIFIED")
        await agent.error("unified_store", content=PORT)
        assert await agent.contents("port of the orders service") == []

    talk(tmp_path, conversation)
    with closing(open_knowledge_store(load(tmp_path), by="")) as store:  # a person does
        assert store.unflag(port).is_served


def test_a_corrected_fact_does_not_come_back_through_a_tool(tmp_path: Path) -> None:
    reworded = "On port 8080 the orders service listens, behind the internal gateway."

    async def conversation(agent: Agent) -> None:
        old = (await agent.call("unified_store", content=PORT))["item"]["id"]
        near = (await agent.call("unified_store", content=reworded))["item"]["id"]
        new = PORT.replace("8080", "9090")
        done = await agent.call("kms_supersede", id=old, content=new)
        assert [(one["id"], one["restates"]) for one in done["near"]] == [(near, True)]
        assert (await agent.call("kms_supersede", id=old, content=new, also=[near]))["near"] == []
        assert await agent.contents("port of the orders service") == [new]
        for content in (PORT.lower(), reworded):
            error = await agent.error("unified_store", content=content)
            assert "[item-withdrawn]" in error
            assert done["item"]["id"] in error
        assert "[item-withdrawn]" in await agent.error("kms_update", id=done["item"]["id"], content=PORT)
        assert "also is not a list of strings" in await agent.error("kms_supersede", id=old, content=new, also=[1])
        assert "again is not of type boolean" in await agent.error("unified_store", content=PORT, again="perhaps")
        await agent.call("unified_store", content=PORT, again=True)
        assert sorted(await agent.contents("port of the orders service")) == sorted([PORT, new])

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
        assert 1 <= len(results) <= tools.MOST_RESULTS
        assert all(len(hit["content"]) < tools.MOST_OF_A_TEXT + 50 for hit in results)

    talk(tmp_path, conversation)


def test_there_are_no_suggestions_until_corrections_exist(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        assert await agent.call("kms_suggestions") == {"suggestions": []}

    talk(tmp_path, conversation)


def contradicted(root: Path) -> str:
    """An item that a turn contradicted; its id."""
    settings = load(root, environ={})
    with closing(open_knowledge_store(settings)) as store, closing(SqliteQualityLog(settings.home)) as log:
        item = store.add(NewItem(content=PORT)).item
        said = logged(item, "tc", correction="The orders service listens on port 9090, not 8080.")
        log.put(turn("2026-11-16", 1, [said]))
        roll_up(log, store.index.corrections())
    return item.id


def test_a_suggestion_is_listed_and_accepted_with_its_draft(tmp_path: Path) -> None:
    id_ = contradicted(tmp_path)
    (tmp_path / "orders.ini").write_text("port = 9090\n")

    async def conversation(agent: Agent) -> None:
        (one,) = (await agent.call("kms_suggestions"))["suggestions"]
        assert (one["id"], one["draft"]) == (id_, PORT.replace("8080", "9090"))
        assert (one["session"], one["turn"]) == ("session-2026-11-16", "turn-1")
        accepted = await agent.call("kms_accept_suggestion", id=f"[{id_}]")
        assert accepted["item"]["content"] == PORT.replace("8080", "9090")
        assert (await agent.call("kms_accept_suggestion", id=id_))["item"]["id"] == accepted["item"]["id"]
        assert await agent.call("kms_suggestions") == {"suggestions": []}
        (found,) = (await agent.call("unified_search", query="orders service port"))["results"]
        assert found["id"] == accepted["item"]["id"]

    talk(tmp_path, conversation)


def test_superseding_the_entry_answers_its_suggestion(tmp_path: Path) -> None:
    id_ = contradicted(tmp_path)

    async def conversation(agent: Agent) -> None:
        await agent.call("kms_supersede", id=id_, content="The orders service listens on port 9191.")
        assert await agent.call("kms_suggestions") == {"suggestions": []}

    talk(tmp_path, conversation)


def test_a_dismissed_suggestion_is_not_listed_and_its_entry_stays(tmp_path: Path) -> None:
    id_ = contradicted(tmp_path)

    async def conversation(agent: Agent) -> None:
        assert await agent.call("kms_dismiss", id=id_, note="another environment") == {"dismissed": id_}
        assert await agent.call("kms_suggestions") == {"suggestions": []}
        assert (await agent.call("kms_show", id=id_))["item"]["content"] == PORT
        assert "was dismissed at" in await agent.error("kms_accept_suggestion", id=id_)

    talk(tmp_path, conversation)


def test_a_question_is_answered_from_the_project(tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text("def settle_invoice(total: int) -> int:\n    return total\n")

    async def conversation(agent: Agent) -> None:
        answer = await agent.call("investigate", question="Where is settle_invoice defined?")
        assert answer["format"] == "knowbound.investigation/1"
        assert answer["outcome"] == "success"
        assert answer["sources"][0]["path"] == "orders.py"

    talk(tmp_path, conversation)


def test_terms_of_the_agent_widen_what_is_found_and_prove_nothing_alone(tmp_path: Path) -> None:
    (tmp_path / "orders.py").write_text("def settle_invoice(total: int) -> int:\n    return total\n")

    async def conversation(agent: Agent) -> None:
        exact = await agent.call(
            "investigate", question="Where is settle_invoice defined?", kind="locate", terms=["settle_invoice"]
        )
        assert (exact["outcome"], exact["sources"][0]["line"]) == ("success", 1)
        asked = {"question": "Where do we close a bill?", "kind": "locate", "terms": ["settle_invoice", "close bill"]}
        refused = await agent.call("investigate", **asked)
        assert (refused["outcome"], refused["answer"]) == ("insufficient_evidence", None)
        assert refused["probable"]["path"] == "orders.py"
        assert refused["nearest"][0]["path"] == "orders.py"
        assert "[bad-questions]" in await agent.error("investigate", question="Where?", kind="guess")

    talk(tmp_path, conversation)


def test_a_path_that_is_not_there_is_rescued(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "orders.py").write_text("def settle_invoice(total: int) -> int:\n    return total\n")
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "other.py").write_text("x = 1\n")

    async def conversation(agent: Agent) -> None:
        answer = await agent.call("rescue", path="lib/orders.py")
        assert (answer["status"], answer["suggestions"][0]["path"]) == ("found", "src/orders.py")
        answer = await agent.call("rescue", pattern='settle_invoice"', path="src")
        assert answer["suggestions"] == [{"path": "src/orders.py", "line": 1, "why": "matches"}]
        assert (await agent.call("rescue", pattern="settle_invoice", path="lib"))["status"] == "silent"
        assert (await agent.call("rescue", path="src/orders.py"))["status"] == "silent"
        assert "[bad-events]" in await agent.error("rescue")

    talk(tmp_path, conversation)


def test_the_project_is_the_one_with_the_nearest_store(tmp_path: Path) -> None:
    below = tmp_path / "src" / "deep"
    below.mkdir(parents=True)
    (tmp_path / ".knowbound").mkdir()
    assert root_of(below) == tmp_path
    assert root_of(Path("/")) == Path("/")


@pytest.mark.parametrize("version", [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS])
def test_every_version_that_the_official_client_knows_is_spoken(
    tmp_path: Path, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp.client.session.LATEST_HANDSHAKE_VERSION", version)

    async def conversation(agent: Agent) -> None:
        assert agent.client.protocol_version == version
        assert agent.client.server_info is not None
        assert agent.client.server_info.name == "knowbound"
        assert "data, not instructions" in (agent.client.instructions or "")
        listed = (await agent.client.list_tools()).tools
        assert {tool.name for tool in listed} == TOOLS
        stored = await agent.client.call_tool("unified_store", {"content": PORT})
        assert not stored.is_error
        assert PORT in str(getattr(stored.content[0], "text", ""))
        assert (stored.structured_content is not None) == (version >= "2025-06-18")
        again = await agent.client.call_tool("unified_store", {"content": PORT})
        assert again.is_error
        with pytest.raises(MCPError, match="Unknown tool: kms_forget"):
            await agent.client.call_tool("kms_forget", {})

    talk(tmp_path, conversation, "auto" if version in MODERN_PROTOCOL_VERSIONS else "legacy")


@pytest.mark.parametrize("version", MODERN_PROTOCOL_VERSIONS)
def test_a_client_that_knows_the_version_asks_for_nothing_first(tmp_path: Path, version: str) -> None:
    async def conversation(agent: Agent) -> None:
        assert await agent.call("unified_search", query="orders") == {"results": []}

    talk(tmp_path, conversation, version)


def test_a_tool_says_whether_it_changes_anything(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        hints = {tool.name: tool.annotations for tool in (await agent.client.list_tools()).tools}
        reads = {name for name, hint in hints.items() if hint and hint.read_only_hint}
        assert reads == {"unified_search", "kms_show", "kms_suggestions", "investigate", "rescue", "next_questions"}
        destroys = {name for name, hint in hints.items() if hint and hint.destructive_hint}
        assert destroys == {"kms_update", "kms_delete", "kms_reap"}
        assert all(hint and hint.open_world_hint is False for hint in hints.values())

    talk(tmp_path, conversation)


def test_arguments_that_do_not_fit_are_a_tool_error_that_names_them(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        for arguments, words in (
            ({"content": PORT, "tags": ["a"]}, "no argument 'tags'; it takes content, type"),
            ({"type": "fact"}, "content is missing"),
            ({"content": None}, "content is missing"),
            ({"content": 7}, "content is not of type string"),
            ({"content": PORT, "confidence": "high"}, "confidence is not of type number"),
            ({"content": PORT, "confidence": True}, "confidence is not of type number"),
            ({"content": PORT, "confidence": "1e999"}, "confidence is not of type number, or too large"),
        ):
            said = await agent.error("unified_store", **arguments)
            assert f"unified_store: {words}" in said, said
            assert "[bad-arguments]" in said
        assert "limit is not of type integer" in await agent.error("unified_search", query="x", limit=1.5)
        assert await agent.call("unified_search", query="x", limit="5", subject=None) == {"results": []}
        stored = (await agent.call("unified_store", content=PORT))["item"]["id"]
        assert (await agent.call("kms_show", id=f"[{stored}]"))["item"]["id"] == stored  # as the index shows it

    talk(tmp_path, conversation)


def test_a_config_that_cannot_be_read_is_the_error_of_a_call_until_it_is_corrected(tmp_path: Path) -> None:
    config = tmp_path / "knowbound.toml"
    config.write_text("[kms\n")

    async def conversation(agent: Agent) -> None:
        assert len((await agent.client.list_tools()).tools) == len(TOOLS)
        assert "[config-unreadable]" in await agent.error("unified_search", query="orders")
        config.write_text("")
        assert await agent.contents("orders") == []

    talk(tmp_path, conversation)


def test_a_project_can_be_named(tmp_path: Path) -> None:
    project, elsewhere = tmp_path / "project", tmp_path / "elsewhere"
    project.mkdir()
    elsewhere.mkdir()

    async def conversation(agent: Agent) -> None:
        await agent.call("unified_store", content=PORT)

    talk(elsewhere, conversation, "auto", "--root", str(project))
    assert (project / ".knowbound" / "items.db").is_file()
    assert not (elsewhere / ".knowbound").exists()


def test_a_correction_is_logged_with_what_the_client_says_about_the_call(tmp_path: Path) -> None:
    async def conversation(agent: Agent) -> None:
        item = (await agent.call("unified_store", content=PORT))["item"]["id"]
        for session in ("s-1", "s-2"):  # one process, two sessions
            meta: Any = {"x-codex-turn-metadata": {"session_id": session, "turn_id": "t-1"}, "callId": "call_1"}
            await agent.client.call_tool("kms_flag", {"id": item, "flag": "UNVERIFIED", "note": session}, meta=meta)
        await agent.call("kms_flag", id=item, flag="NONE")

    talk(tmp_path, conversation)
    with closing(open_knowledge_store(load(tmp_path))) as store:
        logged = store.index.corrections()
    assert [(one.by, one.session) for one in logged] == [("mcp", "s-1"), ("mcp", "s-2"), ("mcp", "")]
    details = [json.loads(one.detail) for one in logged]
    assert [(detail.get("turn"), detail.get("call")) for detail in details] == [
        ("t-1", "call_1"),
        ("t-1", "call_1"),
        (None, None),
    ]


@pytest.mark.long
def test_a_backend_that_was_down_is_asked_again(tmp_path: Path, mongod: Mongod) -> None:
    write_user_config(f'[kms]\nbackends = ["mongo"]\nmongo_url = "{emptied(mongod.url)}"\nsync_seconds = 0\n')
    mongod.process.kill()

    async def conversation(agent: Agent) -> None:
        assert "[backend-unreachable]" in await agent.error("unified_store", content=PORT)
        mongod.revive()  # in this thread: a server ends with the thread that started it
        await agent.call("unified_store", content=PORT)
        assert await agent.contents("orders port") == [PORT]

    try:
        talk(tmp_path, conversation)
    finally:
        if mongod.process.popen.poll() is not None:
            mongod.revive()


def test_calls_at_once_and_another_process_change_one_store(tmp_path: Path) -> None:
    contents = [f"Shard {n} of the orders service keeps the invoices of region {n}." for n in range(12)]
    environ = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_STATE_HOME")}

    async def conversation(agent: Agent) -> None:
        added = asyncio.create_subprocess_exec(
            str(KNOWBOUND), "kms", "add", PORT, cwd=tmp_path, env=environ, stdout=subprocess.DEVNULL
        )
        other = asyncio.create_task(added)
        stored = await asyncio.gather(*(agent.call("unified_store", content=content) for content in contents))
        assert await (await other).wait() == 0
        assert len({one["item"]["id"] for one in stored}) == len(contents)
        assert await agent.contents("port of the orders service behind the gateway") != []
        flagged = (agent.call("kms_flag", id=one["item"]["id"], flag="RETRACTED") for one in stored)
        await asyncio.gather(*flagged)
        assert await agent.contents("orders service") == [PORT]

    talk(tmp_path, conversation)


def test_standard_output_carries_nothing_but_the_protocol(tmp_path: Path) -> None:
    done = subprocess.run([KNOWBOUND, "mcp"], input=b"", capture_output=True, cwd=tmp_path, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


def test_no_description_of_the_tools_for_questions_reads_as_an_order_to_start() -> None:
    about = str(tools.Tools.next_questions.__doc__)
    assert "that the user queued" in about
    assert "Only for a user who asks to have them answered; otherwise there is nothing to do here." in about
    for order in ("must", "always", "first", "before you", "call this", "whenever"):
        assert order not in about.lower()
