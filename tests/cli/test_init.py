from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.cli.main import VERBS, knowbound

BIN = str(Path(sys.executable).parent)


def script(*words: str, **environ: str) -> str:
    done = CliRunner().invoke(knowbound, ["init", "--completion", *words], env=environ)
    assert done.exit_code == 0, done.output
    return str(done.stdout)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("lin", ["lint"]),
        ("observe --form", ["--format"]),
        ("observe --format jso", ["json", "jsonl"]),
        ("kms supers", ["supersede"]),
        ("nonsense", []),
    ],
)
def test_bash_completes_verbs_options_and_values(typed: str, expected: list[str]) -> None:
    words = " ".join(["knowbound", *typed.split()])
    last = len(typed.split())
    asked = (
        f"COMP_WORDS=({words}); COMP_CWORD={last}; _knowbound_completion knowbound; printf '%s\\n' ${{COMPREPLY[@]}}"
    )
    done = subprocess.run(
        ["bash", "-c", f"{script('bash')}\n{asked}"],
        env={"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": os.environ["HOME"]},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout.split() == expected


def test_verbs_are_completed_without_loading_one() -> None:
    code = (
        "import sys, knowbound.cli.main as m; c = m.click.Context(m.knowbound); "
        "shown = [i.value for i in m.knowbound.shell_complete(c, '')]; "
        "print(shown == list(m.VERBS), 'knowbound.cli.observe' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.split() == ["True", "False"]
    assert len(VERBS) > 30


COMPLETED = [("lin", "lint"), ("observe --form", "--format"), ("kms supers", "supersede")]


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
@pytest.mark.parametrize(("typed", "expected"), COMPLETED)
def test_fish_completes_verbs_and_options(tmp_path: Path, typed: str, expected: str) -> None:
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"{script('fish')}\ncomplete -C 'knowbound {typed}'"],
        env={"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert [line.partition("\t")[0] for line in done.stdout.splitlines()] == [expected]


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
@pytest.mark.parametrize(("typed", "expected"), COMPLETED)
def test_zsh_completes_verbs_and_options_where_a_person_types(tmp_path: Path, typed: str, expected: str) -> None:
    (tmp_path / "_knowbound").write_text(script("zsh"), "utf-8")
    pid, terminal = pty.fork()
    if not pid:
        environ = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}
        os.execvpe("zsh", ["zsh", "-f", "-i"], environ)
    try:
        os.write(terminal, b"PS1=; fpath=($HOME $fpath); autoload -Uz compinit; compinit -u; print RE''ADY\n")
        shown_until(terminal, "READY\r")
        os.write(terminal, f"knowbound {typed}\t".encode())
        shown_until(terminal, f"{expected} ")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(terminal)


def shown_until(terminal: int, expected: str) -> None:
    """Read what the terminal shows until it has this text."""
    shown = b""
    while expected.encode() not in shown:
        assert select.select([terminal], [], [], 60)[0], f"{expected!r} is not in {shown!r}"
        shown += os.read(terminal, 4096)


def test_the_users_own_shell_is_the_default() -> None:
    assert script(SHELL="/usr/bin/fish") == script("fish") != script("bash")


@pytest.mark.parametrize("words", [["--completion"]])
def test_what_cannot_be_set_up_is_named(words: list[str]) -> None:
    done = CliRunner().invoke(knowbound, ["init", *words], env={"SHELL": "/bin/odd"})
    assert done.exit_code == 2
    assert "bash" in done.output or "Nothing to set up" in done.output


def test_it_runs_as_a_module() -> None:
    words = [sys.executable, "-m", "knowbound", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith("knowbound ")
