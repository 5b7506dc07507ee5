from __future__ import annotations

import json
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from knowbound import distribution
from knowbound.distribution import InstallOrigin, extra_command, is_temporary, origin_of

COMMIT = "a" * 40


@pytest.mark.parametrize(
    ("record", "wanted"),
    [
        (None, "knowbound[mongo]"),
        ("{broken", "knowbound[mongo]"),
        ({"no": "url"}, "knowbound[mongo]"),
        ({"url": "file:///src/a%20b", "dir_info": {}}, "/src/a b[mongo]"),
        ({"url": "file:///C:/src/knowbound", "dir_info": {}}, r"C:\src\knowbound[mongo]"),
        ({"url": "file:///w/k-1-py3-none-any.whl", "archive_info": {}}, "/w/k-1-py3-none-any.whl[mongo]"),
        ({"url": "https://e.org/k.whl", "archive_info": {}}, "knowbound[mongo] @ https://e.org/k.whl"),
        (
            {"url": "https://e.org/k", "vcs_info": {"vcs": "git", "requested_revision": "v1", "commit_id": COMMIT}},
            "knowbound[mongo] @ git+https://e.org/k@v1",
        ),
        (
            {"url": "https://me:s3cr3t@e.org/k", "vcs_info": {"vcs": "git", "commit_id": COMMIT}, "subdirectory": "py"},
            f"knowbound[mongo] @ git+https://e.org/k@{COMMIT}#subdirectory=py",
        ),
        (
            {"url": "ssh://git@e.org/k", "vcs_info": {"vcs": "git", "commit_id": COMMIT}},
            f"knowbound[mongo] @ git+ssh://git@e.org/k@{COMMIT}",
        ),
        ({"url": "file:///src/k", "vcs_info": {"vcs": "git"}}, "knowbound[mongo] @ git+file:///src/k"),
    ],
)
def test_an_extra_comes_from_where_the_package_came_from(record: Any, wanted: str) -> None:
    origin = origin_of(record if isinstance(record, str | None) else json.dumps(record))
    assert origin.requirement(["mongo"]) == wanted


def test_a_checkout_is_installed_editable_again() -> None:
    origin = origin_of('{"url": "file:///src/k", "dir_info": {"editable": true}}')
    assert origin == InstallOrigin("/src/k", is_path=True, is_editable=True)


def test_the_command_names_the_interpreter_that_runs_this() -> None:
    """The tests' own environment is an editable checkout, and not activated."""
    root = Path(__file__).parents[1]
    words = shlex.split(extra_command("mongo"))
    assert words[-3:] == ["install", "-e", f"{root}[mongo]"]
    assert sys.executable in words
    assert (words[:3] == [sys.executable, "-m", "pip"]) == bool(find_spec("pip"))


@pytest.mark.parametrize(("uv", "words"), [("/bin/uv", ["uv", "pip", "install", "--python"]), (None, ["pip"])])
def test_an_environment_without_pip_is_reached_from_outside(
    monkeypatch: pytest.MonkeyPatch, uv: str | None, words: list[str]
) -> None:
    monkeypatch.setattr(distribution, "find_spec", lambda name: None)
    monkeypatch.setattr("shutil.which", lambda name: uv)
    command = shlex.split(extra_command("mongo"))
    assert command[: len(words)] == words
    assert sys.executable in command


def test_pipx_injects_the_packages_of_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = tmp_path / "knowbound-next"
    prefix.mkdir()
    (prefix / "pipx_metadata.json").write_text("{}")
    monkeypatch.setattr(sys, "prefix", str(prefix))
    words = shlex.split(extra_command("mongo"))
    assert words[:3] == ["pipx", "inject", "knowbound-next"]
    assert [word.partition(">")[0] for word in words[3:]] == ["pymongo"]


@pytest.mark.parametrize(
    ("receipt", "extras"),
    [
        ('[tool]\nrequirements = [{ name = "knowbound", extras = ["llm"] }, { name = "x" }]', "llm,mongo"),
        ('[tool]\nrequirements = [{ name = "knowbound" }]', "mongo"),
        ("broken", "mongo"),
        ("[tool]\nrequirements = [1]", "mongo"),
    ],
)
def test_a_uv_tool_keeps_the_extras_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, receipt: str, extras: str
) -> None:
    (tmp_path / "uv-receipt.toml").write_text(receipt)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    words = shlex.split(extra_command("mongo"))
    assert words[:4] == ["uv", "tool", "install", "--editable"]
    assert words[4].endswith(f"[{extras}]")


@pytest.mark.parametrize(
    ("prefix", "expected"),
    [
        ("/home/u/.cache/uv/archive-v0/Xy", True),
        ("/home/u/.cache/pipx/1a", True),
        ("/home/u/.local/share/uv/tools/knowbound", False),
        ("/home/u/project/.venv", False),
    ],
)
def test_an_environment_of_a_single_run_is_known(monkeypatch: pytest.MonkeyPatch, prefix: str, expected: bool) -> None:
    monkeypatch.setattr(sys, "prefix", prefix)
    assert is_temporary() is expected
