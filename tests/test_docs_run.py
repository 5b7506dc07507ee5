"""What the docs tell readers to type: the guides run as they stand, and every other command is one that there is."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

import knowbound
from knowbound.cli.main import knowbound as program

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DEMO = Path(knowbound.__file__).parent / "demo"
GUIDES = [DOCS / "start.md", *sorted((DOCS / "guides").glob("*.md"))]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
EXPECTED = re.compile(r"#.*\bexit (\d)\s*$")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository in which agents have worked, with their sessions in the home folder, and one wrong line."""
    folder = tmp_path / "order-platform"
    shutil.copytree(DEMO / "project", folder)
    sessions = Path(os.environ["HOME"]) / ".claude" / "projects" / "orders"
    sessions.mkdir(parents=True)
    for trace in (DEMO / "traces").glob("*.jsonl"):
        text = trace.read_text("utf-8").replace("/home/dev/order-platform", str(folder))
        (sessions / trace.name).write_text(text, "utf-8")
    memory = sessions.parent / re.sub(r"[^A-Za-z0-9]", "-", str(folder)) / "memory"
    memory.mkdir(parents=True)
    (memory / "MEMORY.md").write_text("# Memory\n\n- The retry limit is in `services/orders/settings.py`.\n", "utf-8")
    settings = folder / "services" / "orders" / "settings.py"
    settings.parent.mkdir(parents=True)
    settings.write_text("RETRY_LIMIT = 5\n", "utf-8")
    with (folder / "CLAUDE.md").open("a", encoding="utf-8") as file:
        file.write("\n- The retry limit is in `services/orders/settings.py`.\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add the platform")
    git(folder, "mv", "services/orders/settings.py", "services/orders/limits.py")
    git(folder, "commit", "-qm", "Rename the settings")
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def run(folder: Path, line: str) -> subprocess.CompletedProcess[str]:
    """Run a line as a reader would, who answers every question with yes."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=os.environ | {"PATH": path}, capture_output=True, text=True,
        check=False, timeout=120, input="y\n" * 20,
    )  # fmt: skip


def typed(page: Path) -> Iterator[str]:
    """Yield the commands of the console blocks of a page."""
    for kind, block in FENCE.findall(page.read_text("utf-8")):
        if kind == "console":
            yield from (line[2:] for line in block.splitlines() if line.startswith("$ "))


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_a_guide_runs_as_it_stands(page: Path, project: Path) -> None:
    commands = list(typed(page))
    assert commands
    chosen = ""
    for line in commands:
        if re.search(r"\bID\b", line) and not chosen:
            actions = json.loads(run(project, "knowbound review --format json").stdout)["actions"]
            chosen = next(one["id"] for one in actions if one["fix"])
        expected = int(found[1]) if (found := EXPECTED.search(line)) else 0
        ran = run(project, re.sub(r"\bID\b", chosen, line))
        assert ran.returncode == expected, f"{line}\n{ran.stdout}\n{ran.stderr}"
        assert "Traceback" not in ran.stderr


def test_the_walk_through_the_first_five_minutes_repairs_the_line_and_takes_it_back(project: Path) -> None:
    actions = json.loads(run(project, "knowbound review --format json").stdout)["actions"]
    repair = next(one["id"] for one in actions if one["kind"] == "repair")
    assert run(project, f"knowbound fix {repair} --yes").returncode == 0
    assert "services/orders/limits.py" in (project / "CLAUDE.md").read_text("utf-8")
    assert run(project, "knowbound lint").returncode == 0
    assert run(project, f"knowbound fix --undo {repair}").returncode == 0
    assert "services/orders/settings.py" in (project / "CLAUDE.md").read_text("utf-8")


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "-d", str(tmp_path / "site")]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, check=False)
    assert (built.returncode, built.stdout + built.stderr) == (0, "")
    outside = re.compile(r'(?:src|href)="(https?://[^"]+\.(?:js|css|woff2?|png|svg))"')
    assert not [
        found for page in (tmp_path / "site").rglob("*.html") for found in outside.findall(page.read_text("utf-8"))
    ]


def named_commands() -> Iterator[tuple[str, str]]:
    """Yield every command line of knowbound in the docs: those in blocks, and those in running text."""
    for page in [ROOT / "README.md", *DOCS.rglob("*.md")]:
        if page.parent.name == "decisions":  # what was decided when a verb was another
            continue
        text = page.read_text("utf-8")
        blocks = [line for kind, block in FENCE.findall(text) if kind != "text" for line in block.splitlines()]
        inline = re.findall(r"`(knowbound [^`]+)`", FENCE.sub("", text))
        for given in [*blocks, *inline]:
            line = given.strip().removeprefix("- run: ").removeprefix("$ ").removeprefix("- ")
            if line.startswith("knowbound "):
                yield page.name, line


def test_every_command_in_the_docs_is_one_that_there_is() -> None:
    lines = list(named_commands())
    assert len(lines) > 100
    assert [wrong for page, line in lines if (wrong := problem(page, line))] == []


def problem(page: str, line: str) -> str:
    """Return what is wrong with a command line: an unknown verb or option; "" for nothing."""
    line = re.split(r"\s+(?:#|\||>|\|\||&&|;)\s*|   ", line)[0]
    try:
        words = shlex.split(line.replace("…", "").replace("[", "").replace("]", ""))[1:]
    except ValueError:
        return ""  # a quotation of a part of a line
    command: click.Command = program
    context = click.Context(program, info_name="knowbound")
    while words and isinstance(command, click.Group) and not words[0].startswith("-"):
        if not re.fullmatch(r"[a-z][a-z_/-]*", words[0]):
            return ""  # VERB, or a sentence
        for name in words[0].split("/"):
            below = command.get_command(context, name)
            if below is None:
                return f"{page}: {line}"
            inner = below
        command, words = inner, words[1:]
        context = click.Context(command, parent=context, info_name=command.name)
    options = {name for one in command.get_params(context) for name in (*one.opts, *one.secondary_opts)}
    given = {word.partition("=")[0] for word in words if word.startswith("--")}
    parents = {"--lang", "--model", "--show-request"}
    return "" if given <= options | parents | {"--"} else f"{page}: {line} ({', '.join(sorted(given - options))})"
