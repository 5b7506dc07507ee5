"""Git is run without the programs that a repository's config names."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from knowbound.git import run_git


def git(repository: Path, *arguments: str) -> None:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *who, *arguments], cwd=repository, env=environ, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.md").write_text("# A\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "First")
    return root


@pytest.mark.parametrize("setting", ["core.fsmonitor", "core.pager", "core.sshCommand", "diff.external"])
def test_no_program_of_the_config_is_run(repository: Path, tmp_path: Path, setting: str) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\ncat\n")
    program.chmod(0o755)
    git(repository, "config", setting, str(program))
    (repository / "a.md").write_text("# A\nchanged\n")
    for arguments in (("status", "--porcelain"), ("log", "-1", "-p"), ("diff",), ("fetch", "ssh://nowhere.invalid/a")):
        run_git(repository, *arguments, seconds=60, output_bytes=1_000_000)
    assert not (tmp_path / "was-run").exists()


@pytest.mark.parametrize("name", ["evil", "a=b.c", "with space"])
@pytest.mark.parametrize("kind", ["filter.{}.clean", "filter.{}.process", "diff.{}.textconv", "diff.{}.command"])
def test_no_driver_that_attributes_choose_is_run(repository: Path, tmp_path: Path, kind: str, name: str) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\ncat\n")
    program.chmod(0o755)
    git(repository, "config", kind.format(name), str(program))
    git(repository, "config", f"filter.{name}.required", "true")
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "attributes").write_text(f'* "filter={name}"\n* filter={name} diff={name}\n')
    (repository / "a.md").write_text("# B\n")  # as long as before: git has to read it
    for arguments in (("status", "--porcelain"), ("diff",), ("log", "-p", "-1"), ("stash", "create"), ("add", "-A")):
        run_git(repository, *arguments, seconds=60, output_bytes=1_000_000)
    assert not (tmp_path / "was-run").exists()


def test_a_driver_that_the_config_gets_later_is_not_run_either(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("knowbound.git.time.monotonic", lambda: now[0])
    run_git(repository, "status", "--porcelain", seconds=60, output_bytes=1_000)
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\ncat\n")
    program.chmod(0o755)
    git(repository, "config", "filter.late.clean", str(program))
    (repository / ".gitattributes").write_text("*.md filter=late\n")
    (repository / "a.md").write_text("# A\nchanged\n")
    now[0] += 10.0
    run_git(repository, "status", "--porcelain", seconds=60, output_bytes=1_000)
    run_git(repository, "diff", seconds=60, output_bytes=100_000)
    assert not (tmp_path / "was-run").exists()


def test_a_config_that_hides_a_driver_behind_many_is_not_used(repository: Path, tmp_path: Path) -> None:
    with (repository / ".git" / "config").open("a") as file:
        for number in range(20):
            file.write(f'[filter "{"x" * 62_000}{number}"]\nclean = cat\n')
        file.write(f'[filter "evil"]\nclean = touch {tmp_path}/was-run; cat\n')
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "attributes").write_text("* filter=evil\n")
    (repository / "a.md").write_text("# B\n")
    ran = run_git(repository, "status", "--porcelain", seconds=60, output_bytes=1_000_000)
    assert ran.code is None
    assert not (tmp_path / "was-run").exists()


def test_no_driver_of_a_submodule_is_run(repository: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "b.md").write_text("# B\n")
    git(inner, "add", "-A")
    git(inner, "commit", "-qm", "First")
    git(repository, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "sub")
    git(repository, "commit", "-qm", "Submodule")
    git(repository / "sub", "config", "filter.evil.clean", f"touch {tmp_path}/was-run; cat")
    folder = repository / ".git" / "modules" / "sub" / "info"
    folder.mkdir(exist_ok=True)
    (folder / "attributes").write_text("* filter=evil\n")
    (repository / "sub" / "b.md").write_text("# C\n")
    for arguments in (("status", "--porcelain"), ("diff",)):
        run_git(repository, *arguments, seconds=60, output_bytes=1_000_000)
    assert not (tmp_path / "was-run").exists()


def test_what_git_says_of_a_changed_file_arrives(repository: Path) -> None:
    (repository / "a.md").write_text("# A\nchanged\n")
    ran = run_git(repository, "status", "--porcelain", seconds=60, output_bytes=1_000_000)
    assert (ran.code, ran.out) == (0, b" M a.md\n")


def test_variables_of_our_own_environment_do_not_lead_elsewhere(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    assert run_git(repository, "rev-parse", "--git-dir", seconds=60, output_bytes=1_000_000).text == ".git\n"
