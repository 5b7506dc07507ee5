from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from knowbound.judge.models.api import DirectModel
from knowbound.judge.models.completion import CompletionError, ModelQuestion
from knowbound.judge.names import parse_name
from tests.fault_server import Reply, anthropic, chat, cut, huge, serving, status

QUESTION = ModelQuestion("p", {}, "Choose.", "the material", {})


def complete(name: str, seconds: float = 20.0) -> str:
    return DirectModel(parse_name(name)).complete(QUESTION, seconds=seconds).text


def test_a_server_of_one_s_own_is_asked_in_openai_s_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOWBOUND_JUDGE_API_KEY", "k-1")
    monkeypatch.setenv("http_proxy", "http://192.0.2.1:9")  # does not reach a server on this machine
    with serving(chat("[1]")) as server:
        assert complete(server.judge) == "[1]"
    [asked] = server.asked
    assert (server.paths, server.keys) == (["/v1/chat/completions"], ["Bearer k-1"])
    assert [one["content"] for one in asked["messages"]] == ["Choose.", "the material"]
    assert asked["model"] == "m"


def test_providers_are_asked_in_their_own_form_with_their_own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(anthropic("[2]", "m"), chat("[3]")) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.address)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "k-a")
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "k-o")
        assert (complete("anthropic:m"), complete("openai:m")) == ("[2]", "[3]")
    assert server.paths == ["/v1/messages", "/v1/chat/completions"]
    assert server.keys == ["k-a", "Bearer k-o"]
    assert server.asked[0]["system"] == "Choose."
    assert server.asked[0]["messages"] == [{"role": "user", "content": "the material"}]


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (status(401, {"error": {"message": "no such key sk-ant-api03-" + "a1B2" * 20}}), "the key is refused"),
        (status(529), "the server refused"),
        (status(307, None, {"location": "http://192.0.2.1/"}), "redirects to http://192.0.2.1/"),
        (status(200, b"<html>busy</html>"), "the answer cannot be used"),
        (status(200, {"choices": [{"message": 1}]}), "the answer cannot be used"),
        (cut, "the answer cannot be used"),
        (huge, "longer than"),
    ],
)
def test_a_call_that_gives_no_answer_says_why_without_secrets(reply: Reply, problem: str) -> None:
    with serving(reply) as server, pytest.raises(CompletionError, match=problem) as error:
        complete(server.judge)
    assert "a1B2a1B2" not in str(error.value)
    assert len(server.asked) == 1


def test_a_server_that_is_not_there_or_says_nothing_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(CompletionError, match="no answer within"):
            complete(f"http://127.0.0.1:{port}/v1#m", seconds=0.01)
    with pytest.raises(CompletionError, match=f"no answer from 127.0.0.1:{port}: .*refused"):
        complete(f"http://127.0.0.1:{port}/v1#m")


def test_a_key_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(CompletionError, match="ANTHROPIC_API_KEY is not set") as error:
        complete("anthropic:m")
    assert error.value.hopeless


def test_a_key_or_an_address_that_cannot_be_sent_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for key in ("horse\nstaple", "horse\u2026staple"):
        monkeypatch.setenv("OPENAI_API_KEY", key)
        with pytest.raises(CompletionError, match=r"^OPENAI_API_KEY has characters that no key has$"):
            complete("openai:m")
    monkeypatch.setenv("OPENAI_API_KEY", "k-o\n")  # as a file has it
    with serving(chat("[3]")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.address}/v1")
        assert (complete("openai:m"), server.keys) == ("[3]", ["Bearer k-o"])
    for address in ("http://me:horse@127.0.0.1/v1", "file:///horse"):
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        with pytest.raises(CompletionError, match=r"^OPENAI_BASE_URL is no http address without user and password$"):
            complete("openai:m")


def test_it_loads_no_library_of_a_provider() -> None:
    script = (
        "import sys; import knowbound.injection.choosing, knowbound.judge.models.api; "
        "print([one for one in sys.modules if one.startswith(('pydantic', 'openai', 'anthropic', 'httpx', 'asyncio'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
