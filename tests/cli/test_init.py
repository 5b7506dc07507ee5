from __future__ import annotations

import os
import shutil
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


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_script_of_another_shell_is_well_formed(shell: str) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    subprocess.run([shell, "-n"], input=script(shell), text=True, timeout=60, check=True)


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
