"""The clients are fetched once and whole. npm is a script here: what is tested is what we do around it."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.agents.programs import installed


def machine(folder: Path, npm: str = "") -> dict[str, str]:
    """An environment with a cache folder and, where given, with npm."""
    programs = folder / "bin"
    programs.mkdir()
    if npm:
        (programs / "npm").write_text(f"#!/bin/sh\n{npm}\n", "utf-8")
        (programs / "npm").chmod(0o755)
    return {"XDG_CACHE_HOME": str(folder / "cache"), "PATH": str(programs)}


def left(folder: Path) -> list[str]:
    cache = folder / "cache" / "knowbound-agents"
    return sorted(path.name for path in cache.iterdir() if path.name != "lock") if cache.exists() else []


def test_two_runs_at_once_fetch_once(tmp_path: Path) -> None:
    environ = machine(tmp_path, f'echo "$1" >> {tmp_path}/calls; test -f package-lock.json && echo > fetched')
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(installed, [environ, environ])
    assert first == second
    assert (first / "fetched").exists()
    assert (tmp_path / "calls").read_text("utf-8").split() == ["ci"]
    assert left(tmp_path) == [first.name]


def test_a_download_that_fails_is_a_reason_to_skip_and_leaves_nothing(tmp_path: Path) -> None:
    environ = machine(tmp_path, "echo > part; echo no such registry >&2; exit 1")
    with pytest.raises(pytest.skip.Exception, match="no such registry"):
        installed(environ)
    assert left(tmp_path) == []


def test_what_a_killed_run_left_is_not_taken_for_whole(tmp_path: Path) -> None:
    environ = machine(tmp_path, "echo > fetched")
    part = tmp_path / "cache" / "knowbound-agents" / "unfinished" / "part"
    part.parent.mkdir(parents=True)
    part.touch()
    folder = installed(environ)
    assert (folder / "fetched").exists()
    assert not (folder / "part").exists()


def test_a_machine_without_npm_is_a_reason_to_skip(tmp_path: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="npm is not there"):
        installed(machine(tmp_path))


def test_the_pinned_versions_are_known_by_their_hash_and_by_no_address() -> None:
    lock = (Path(__file__).parent / "package-lock.json").read_text("utf-8")
    packages = [package for name, package in json.loads(lock)["packages"].items() if name]
    assert all(package["integrity"].startswith("sha512-") for package in packages)
    assert "://" not in lock
