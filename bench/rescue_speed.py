"""How long an agent waits for the hook after a tool call, in fresh processes, on a tree of 5,000 files.

    python -m bench.rescue_speed [--files 5000] [--runs 100]

Kinds of calls: one that found something, one that missed with a warm index, one that a lesson answers and one that an
item answers (of 300 lessons and 1,000 items), a command that failed and that no lesson is about, and one that missed
without any index. Runs of `python -c pass` run between ours, so both meet the same machine. Modules have their
bytecode, as those of an installed package have: with PYTHONDONTWRITEBYTECODE every process compiles their sources.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.measuring import at, options
from knowbound.codebase.kept_index_update import open_index, update_index
from knowbound.core.lesson import CheckKind, Lesson, LessonKind, LessonStatus, TreeCheck
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import NewItem
from knowbound.store.decisions import KeptLessons

TARGET_MS = 300.0  # DESIGN: p95 of a rescue on a tree of 5,000 files
_HOOK = "from knowbound.agent.hook_entry import main; main()"
_WORDS = "order cart invoice user vault share folder key token job queue report chart node edge price tax".split()
_LINES = 120  # of a file
_LESSONS, _ITEMS = 300, 1_000


def make_tree(root: Path, count: int) -> None:
    """Source files in folders of fifty, each with a class and functions of its own names."""
    chance = random.Random(11)
    for number in range(count):
        one, two = chance.choice(_WORDS), chance.choice(_WORDS)
        folder = root / "src" / f"{_WORDS[number % len(_WORDS)]}_{number // 50}"
        folder.mkdir(parents=True, exist_ok=True)
        lines = [f"class {one.title()}{two.title()}{number}:"]
        for part in range(_LINES // 4):
            name = f"{chance.choice(_WORDS)}_{chance.choice(_WORDS)}_{number}_{part}"
            lines += [f"    def {name}(self, {one}, {two}):", f"        return {one}.{two}({part})", ""]
        (folder / f"{one}_{two}_{number}.py").write_text("\n".join(lines) + "\n", "utf-8")


def misses(root: Path) -> list[tuple[str, dict[str, Any]]]:
    """Events of misses that are rescued, of each kind of lookup."""
    paths = sorted(root.rglob("*.py"))
    file, other = paths[len(paths) // 2], paths[7]
    name = file.read_text("utf-8").split("class ")[1].split(":")[0]
    nothing = {"filenames": [], "numFiles": 0}
    common = {"cwd": str(root), "prompt_id": "p", "tool_use_id": "t"}
    grep = {"tool_name": "Grep", "tool_input": {"pattern": name, "path": str(other.parent)}, "tool_response": nothing}
    quote = {"tool_name": "Grep", "tool_input": {"pattern": f'{name}"', "path": "src"}, "tool_response": nothing}
    glob = {"tool_name": "Glob", "tool_input": {"pattern": f"lib/{file.name}"}, "tool_response": nothing}
    read = {
        "tool_name": "Read",
        "tool_input": {"file_path": f"{root}/lib/{file.name}"},
        "error": "File does not exist.",
    }
    error = f"Exit code 2\ngrep: lib/{file.name}: No such file or directory"
    bash = {"tool_name": "Bash", "tool_input": {"command": f"grep -n {name} lib/{file.name}"}, "error": error}
    found = [("post-tool-use", one) for one in (grep, quote, glob)]
    return [(event, common | one) for event, one in [*found, *(("post-tool-use-failure", one) for one in (read, bash))]]


def fill_store(root: Path, home: Path) -> dict[str, tuple[str, dict[str, Any]]]:
    """Lessons and items, and an event that each of them answers."""
    place = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))[0]
    with closing(KeptLessons(home)) as lessons:
        lessons.keep(_lesson(number, place) for number in range(_LESSONS))
    with closing(KnowledgeStore([SqliteBackend(home)], Index(home), by="bench")) as items:
        for number in range(_ITEMS):
            one, two = _WORDS[number % len(_WORDS)], _WORDS[number // len(_WORDS) % len(_WORDS)]
            text = f"The {one}_{two}_feed_{number} job is defined in repository number {number}, for the {two} team."
            items.add(NewItem(content=text), again=True)
    nothing, common = {"filenames": [], "numFiles": 0}, {"cwd": str(root), "prompt_id": "p", "tool_use_id": "t"}
    read = {
        "tool_name": "Read",
        "tool_input": {"file_path": f"{root}/wrong/of_7.yaml"},
        "error": "File does not exist.",
    }
    grep = {"tool_name": "Grep", "tool_input": {"pattern": "order_order_feed_0"}, "tool_response": nothing}
    test = {"tool_name": "Bash", "tool_input": {"command": "make test"}, "error": "Exit code 1\n1 failed"}
    return {
        "missed, lesson": ("post-tool-use-failure", common | read),
        "missed, item": ("post-tool-use", common | grep),
        "command failed": ("post-tool-use-failure", common | test),
    }


def _lesson(number: int, place: str) -> Lesson:
    return Lesson(
        id=f"{number:08x}",
        kind=LessonKind.LOCATION,
        text=f"The file is `{place}`: there is no `wrong/of_{number}.yaml`.",
        file="CLAUDE.md",
        project="project",
        checks=[TreeCheck(CheckKind.FILE, place)],
        status=LessonStatus.ACCEPTED,
        names=[f"path:wrong/of_{number}.yaml"],
    )


class Times(list[float]):
    """Wall times of fresh processes, in milliseconds."""

    def run(self, code: str, words: list[str], payload: dict[str, Any], environ: dict[str, str]) -> bytes:
        data = json.dumps(payload, separators=(",", ":")).encode()
        command = [sys.executable, "-c", code, *words]
        began = time.perf_counter()
        done = subprocess.run(command, input=data, env=environ, capture_output=True, check=True)
        self.append((time.perf_counter() - began) * 1000)
        return done.stdout


def report(files: int, runs: int) -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:  # what runs in the background may write
        root, home = Path(folder) / "project", Path(folder) / "project" / ".knowbound"
        os.environ["HOME"] = folder  # the key that marks the data folder
        environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environ |= {"PYTHONPYCACHEPREFIX": f"{folder}/bytecode", "KNOWBOUND_INJECTION_TIME_LIMIT_MS": "20000"}
        make_tree(root, files)
        home.mkdir()
        database = open_index(home)
        built, again = update_index(database, root), update_index(database, root)
        database.close()
        size = (home / "codebase.db").stat().st_size / 1e6
        print(
            f"Index of {built.files:,} files: {built.seconds:.1f} s, again {again.seconds * 1000:.0f} ms, {size:.1f} MB"
        )
        found = {"cwd": str(root), "tool_name": "Grep", "tool_input": {"pattern": "x"}}
        found["tool_response"] = {"mode": "files_with_matches", "filenames": ["a.py"], "numFiles": 1}
        events, known = misses(root), fill_store(root, home)
        tables = {name: Times() for name in ("python -c pass", "found", "missed", *known, "missed, cold")}
        for event, payload in [*events, *known.values()]:  # the first run of each writes bytecode
            Times().run(_HOOK, [event], payload | {"session_id": "first", "tool_use_id": os.urandom(4).hex()}, environ)
        said: dict[str, int] = {}
        cold = Path(folder) / "cold"
        for number in range(runs):
            event, payload = events[number % len(events)]
            tables["python -c pass"].run("pass", [], {}, environ)
            tables["found"].run(_HOOK, ["post-tool-use"], found, environ)
            fresh = {"session_id": f"s{number}"}
            answer = tables["missed"].run(_HOOK, [event], payload | fresh, environ)
            kind = f"{payload['tool_name']}{' with a quote' if number % len(events) == 1 else ''}"
            said[kind] = said.get(kind, 0) + bool(answer)
            for name, (about, asked) in known.items():
                answer = tables[name].run(_HOOK, [about], asked | fresh | {"tool_use_id": name}, environ)
                said[name] = said.get(name, 0) + bool(answer)
            cold.mkdir(exist_ok=True)
            empty = environ | {"KNOWBOUND_HOME": str(cold)}
            tables["missed, cold"].run(_HOOK, [event], payload | fresh, empty)
            _settle(cold)
        base = at(tables["python -c pass"], 0.5)
        print(
            f"Hook after a tool call, {runs} runs each (aim: missed p95 {TARGET_MS:.0f} ms, found 2 × python -c pass)"
        )
        for name, times in tables.items():
            p50, p95 = at(times, 0.5), at(times, 0.95)
            print(f"  {name:15} p50 {p50:6.1f} ms ({p50 / base:4.1f} ×)   p95 {p95:6.1f} ms ({p95 / base:4.1f} ×)")
        print(f"  answered: {', '.join(f'{kind} {count}' for kind, count in said.items())}")


def _settle(cold: Path) -> None:
    """Wait for the index that a cold run has made in the background, and remove it; the settings stay cached."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if not (cold / "codebase.lock").exists() or (cold / "codebase.log").exists():
            break
        time.sleep(0.05)
    for path in cold.glob("codebase*"):
        path.unlink()


if __name__ == "__main__":
    given = options(__doc__, files=5_000, runs=100)
    report(given.files, given.runs)
