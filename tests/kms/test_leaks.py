"""What was corrected is never given again: by paraphrase, by command line, hook and MCP, in fresh processes.

Copies are in a second real backend. Each runs in a process of its own, so each look is one after a restart.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from knowbound.config import load
from knowbound.core.item import Item
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.validation import NewItem
from tests import warm_process
from tests.agent.test_mcp import Agent, talk
from tests.conftest import write_user_config
from tests.services import emptied
from tests.stores import put_items

WRONG = "The ledger API binds to port 8004."
RIGHT = "The ledger API binds to port 8040."
PARAPHRASES = (
    "which port does the ledger API listen on",
    "what is the port of the ledger API?",
    "ledger API port number",
    WRONG,
)


@pytest.fixture
def root(tmp_path: Path, mongo_url: str) -> Path:
    """A project whose wrong item has a copy, a part and a twin in MongoDB."""
    root = tmp_path / "shop"
    root.mkdir()
    url = emptied(mongo_url)
    write_user_config(f'[kms]\nbackends = ["sqlite", "mongo"]\nmongo_url = "{url}"\nsync_seconds = 0\n')
    base = open_knowledge_store(load(root, {}), by="ada")
    try:
        base.add(NewItem(content=WRONG, id="wrong"))
        put_items(
            base.backends["mongo"],
            Item("copy", WRONG, copy_of="wrong"),
            Item("part", "ledger API port 8004", copy_of="copy"),
            Item("twin", WRONG),
        )
        base.sync()
    finally:
        base.close()
    return root


def given(root: Path, *paraphrases: str) -> str:
    """Everything that search, hooks and MCP give for the paraphrases."""
    environ = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_STATE_HOME")}
    texts: list[str] = []
    for number, words in enumerate(paraphrases):
        searched = warm_process.knowbound("kms", "search", words, "--format", "json", cwd=root, env=environ)
        assert searched.returncode == 0, searched.stderr
        texts.append(searched.stdout)
        events = (("user-prompt-submit", "UserPromptSubmit"), ("session-start", "SessionStart"))
        for event, name in events[: 1 if number else 2]:  # the start of a session knows no prompt
            asked = {"session_id": f"s{number}{len(texts)}", "cwd": str(root), "hook_event_name": name, "prompt": words}
            hook = warm_process.hook(event, cwd=root, env=environ, said=json.dumps(asked).encode())
            assert hook.returncode == 0
            texts.append(hook.stdout)

    async def conversation(agent: Agent) -> None:
        for words in paraphrases:
            texts.extend(await agent.contents(words))

    talk(root, conversation)
    return "\n".join(texts)


def correct(root: Path, *arguments: str) -> None:
    environ = {name: os.environ[name] for name in ("HOME", "PATH", "XDG_STATE_HOME")}
    ran = warm_process.knowbound("kms", *arguments, cwd=root, env=environ)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("supersede", "copy", RIGHT),
        ("flag", "part", "RETRACTED"),
        ("delete", "twin"),
    ],
)
def test_what_was_corrected_is_given_nowhere(root: Path, arguments: tuple[str, ...]) -> None:
    assert "8004" in given(root, WRONG)
    correct(root, *arguments)
    after = given(root, *PARAPHRASES)
    assert "8004" not in after
    assert ("8040" in after) == (arguments[0] == "supersede")
    correct(root, "sync", "--all")
    assert "8004" not in given(root, PARAPHRASES[0])
