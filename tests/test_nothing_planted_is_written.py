"""Every kind of secret is planted in every input, and looked for in everything that was written, printed or sent.

A kind counts where the redactor knows it in that place (bench/secrets.py measures how often it does): what is tested
here is that no writer, printer or sender goes past the redactor. Everything is real: verbs, hooks, processes, a model
server on loopback.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from bench.secret_kinds import occurrences, pieces

from knowbound.codebase.kept_index_update import open_index, update_index
from knowbound.text.redact import redact
from tests import warm_process
from tests.fault_server import chat, serving
from tests.transcripts import Transcript

FORMATS = ("text", "json", "jsonl", "markdown", "html", "sarif", "junit", "github")
GROUP = 12  # texts in one prompt, answer or question
PLACES = pytest.mark.parametrize(
    "all_places", [False, pytest.param(True, marks=pytest.mark.long)], ids=["a place of each kind", "all places"]
)


class Planted(NamedTuple):
    """A text with a secret in it, for a place."""

    kind: str
    place: str
    text: str
    secret: str

    @property
    def parts(self) -> list[bytes]:
        """What must not be found: as it was planted, and as it is inside of JSON."""
        found = [piece for piece in pieces(self.secret) if len(piece) >= 8]
        return [form.encode() for piece in found for form in {piece, json.dumps(piece)[1:-1]}]


def planted(seed: int, *places: str, all_places: bool = True) -> list[Planted]:
    """One text for every kind and place in which the redactor knows it, or for every kind in one of the places."""
    made = (Planted(*one) for one in occurrences(seed))
    known = [one for one in made if one.place in places and _is_known(one.text, one)]
    if all_places:
        return known
    by_kind: dict[str, list[Planted]] = {}
    for one in known:
        by_kind.setdefault(one.kind, []).append(one)
    return [texts[number % len(texts)] for number, texts in enumerate(by_kind.values())]


def _is_known(text: str, one: Planted) -> bool:
    shown = redact(text)
    return not any(piece in shown for piece in pieces(one.secret))


def grouped(texts: list[Planted], size: int = GROUP) -> Iterator[tuple[str, list[Planted]]]:
    """Several texts as one, with those of them that are known in it."""
    for at in range(0, len(texts), size):
        group = texts[at : at + size]
        whole = "\n\n".join(one.text for one in group)
        yield whole, [one for one in group if _is_known(whole, one)]


class Project:
    """A project, the user's folders, and what came out of every process that ran there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.inputs = folder / "inputs"
        self.root = folder / "root"
        self.home = folder / "data" / ".knowbound"
        self.printed: dict[str, bytes] = {}
        for name in ("inputs", "root", "temp", "state", "user"):
            (folder / name).mkdir()
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("KNOWBOUND")} | {
            "KNOWBOUND_HOME": str(self.home),
            "TMPDIR": str(folder / "temp"),
            "HOME": str(folder / "user"),
            "XDG_STATE_HOME": str(folder / "state"),
            "KNOWBOUND_INJECTION_TIME_LIMIT_MS": "20000",
        }

    def run(self, *arguments: str) -> None:
        done = warm_process.knowbound(*arguments, env=self.environ, cwd=self.root)
        self._keep(" ".join(arguments), done.stdout.encode(), done.stderr.encode())

    def hook(self, event: str, given: bytes) -> None:
        done = warm_process.hook(event, env=self.environ, cwd=self.root, said=given)
        self._keep(event, done.stdout.encode(), done.stderr.encode())

    def _keep(self, words: str, output: bytes, errors: bytes) -> None:
        assert b"Traceback" not in errors, errors.decode()
        self.printed[f"{len(self.printed)} {words[:60]}"] = output + b"\n" + errors

    def everything(self) -> dict[str, bytes]:
        """What was written, printed and stored; values of databases also apart from their pages."""
        found = dict(self.printed)
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.is_relative_to(self.inputs) and not path.is_relative_to(self.root):
                found[str(path.relative_to(self.folder))] = path.read_bytes()
                if path.suffix == ".db":
                    found[f"values of {path.name}"] = b"\n".join(_values(path))
            if not path.is_relative_to(self.inputs) and not path.is_relative_to(self.root):
                found[f"name of {path.name}"] = path.name.encode("utf-8", "replace")
        return found


def _values(path: Path) -> Iterator[bytes]:
    db = sqlite3.connect(path)
    # A virtual table has no page of its own: its values are in the tables beside it.
    names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")]
    for name in names:
        for row in db.execute(f'SELECT * FROM "{name}"'):
            for value in row:
                yield value if isinstance(value, bytes) else str(value).encode("utf-8", "replace")
    db.close()


def leaks(project: Project, texts: list[Planted], *sent: bytes) -> list[str]:
    found = project.everything() | {f"request {number}": body for number, body in enumerate(sent)}
    whole = {where: content for where, content in found.items() if content}
    return sorted(
        {
            f"{one.kind} ({one.place}) in {where}"
            for one in texts
            for part in one.parts
            for where, content in whole.items()
            if part in content
        }
    )


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@PLACES
def test_transcripts(project: Project, all_places: bool) -> None:
    """Prompts, tool inputs, outputs, paths, queries, addresses and answers of sessions, in reports of every format."""
    texts = planted(
        1, "prompt", "tool_input", "output", "path", "query", "environment", "url", "chinese", all_places=all_places
    )
    session = Transcript(project=str(project.root))
    for number, one in enumerate(texts):
        match one.place:
            case "prompt" | "chinese":
                session.user(one.text).says(f"I'm not sure which service owns this. [knowledge gap] {one.text}")
            case "tool_input":
                given = json.loads(one.text)
                given = given if isinstance(given, dict) else {"input": given}
                session.calls("Bash", given, id_=f"t{number}").result(f"t{number}", "grep: no such file", is_error=True)
            case "path":
                session.says(f"Looking at {one.text}").read(one.text, there=False)
            case "query":
                session.says(f"I assume it is in {one.text}, but I could not verify it.").grep(one.text)
            case _:
                session.bash("make test", one.text)
    session.says("I could not find the schema, so I guess.")
    session.write(project.inputs)
    broken = Transcript(session="s-2", project=str(project.root)).user("Why?")
    broken.write(project.inputs, "broken.jsonl")
    for format_ in FORMATS:
        project.run("observe", str(project.inputs), "--format", format_)
    project.run("report", "--format", "html", "-o", str(project.folder / "report.html"))
    project.run("draft")
    assert len({one.kind for one in texts}) > 250
    found = leaks(project, texts)
    assert not found, "\n".join(found[:40])


@PLACES
def test_hooks(project: Project, all_places: bool) -> None:
    """Prompts that an agent sends, and items of a backend that was written by others."""
    (project.root / "facts.jsonl").write_text(
        json.dumps({"content": "The orders service listens on port 8080 behind the internal gateway."}) + "\n"
    )
    project.run("kms", "import", "facts.jsonl")
    texts = planted(2, "prompt", "chinese", "environment", all_places=all_places)
    kept: list[Planted] = []
    for number, (whole, known) in enumerate(grouped(texts)):
        kept += known
        prompt = f"On which port does the orders service listen?\n{whole}"
        given: dict[str, Any] = {"session_id": f"s-{len(kept)}", "cwd": str(project.root), "prompt": prompt}
        project.hook("user-prompt-submit", json.dumps(given).encode())
        if number % 6 == 0:  # what is wrong with the input is said in one way for all
            project.hook("session-start", json.dumps({**given, "source": whole}).encode())
            project.hook("user-prompt-submit", json.dumps(given).encode()[:-40])
            project.hook(f"no-such-event {known[0].text}"[:400], b"{}")
    project.run("doctor", "--format", "json")
    project.run("kms", "sync")
    assert b"8080" in b"".join(project.printed.values())
    found = leaks(project, kept)
    assert not found, "\n".join(found[:40])


@PLACES
def test_lookups_that_missed_and_the_index_of_the_source_tree(project: Project, all_places: bool) -> None:
    """Searches with secrets in them, and source files that hold some."""
    project.run("kms", "add", "The orders service listens on port 8080.")
    texts = planted(5, "prompt", "environment", "output", all_places=all_places)
    known = [one for one in texts if _is_known(one.text, one)]
    for number, one in enumerate(known):
        (project.root / f"settings_{number}.py").write_text(
            f"{one.text}\n\n\ndef start_{number}():\n    pass\n", "utf-8"
        )
    events: list[dict[str, Any]] = []
    for number, one in enumerate(known[::6]):
        nothing = {"filenames": [], "numFiles": 0}
        given: dict[str, Any] = {"session_id": f"s-{number}", "cwd": str(project.root), "tool_response": nothing}
        search = {"tool_name": "Grep", "tool_input": {"pattern": f'start_job_{number}|{one.text}"'}}
        project.hook("post-tool-use", json.dumps({**given, **search}, separators=(",", ":")).encode())
        events.append({**given, **search, "id": number})
    (project.inputs / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    project.run("rescue", "--input", str(project.inputs / "events.jsonl"), "--format", "jsonl")
    home = project.folder / "index"
    home.mkdir()
    database = open_index(home)
    update_index(database, project.root)
    assert database.row("SELECT count(*) FROM definition")[0] >= len(known)
    database.close()
    found = leaks(project, known)
    assert not found, "\n".join(found[:40])


@PLACES
def test_items_of_the_knowledge_store(project: Project, all_places: bool) -> None:
    """Items that are added, imported, changed and shown."""
    texts = planted(3, "prompt", "chinese", "url", "environment", "output", all_places=all_places)
    rows = [{"content": f"Deploy notes {number}. {one.text}"} for number, one in enumerate(texts)]
    known = [one for row, one in zip(rows, texts, strict=True) if _is_known(row["content"], one)]
    (project.inputs / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (project.inputs / "notes.md").write_text(
        "\n\n".join(f"## Note {n}\n\n{row['content']}" for n, row in enumerate(rows))
    )
    project.run("kms", "import", str(project.inputs / "items.jsonl"))
    project.run("kms", "import", str(project.inputs / "notes.md"))
    for one in known[:: len(known) // 8]:
        project.run("kms", "add", f"Deploy notes. {one.text}")
        project.run("kms", "search", one.text, "--format", "json")
    project.run("kms", "search", "Deploy notes", "--format", "json")
    project.run("kms", "sync")
    found = leaks(project, known)
    assert not found, "\n".join(found[:40])


@pytest.mark.long
def test_questions_and_names_of_files(project: Project) -> None:
    """Questions to `investigate`, over a tree whose files and names hold secrets."""
    tree = planted(4, "output", "environment", "path")
    known: list[Planted] = []
    for number, one in enumerate(tree):
        if one.place == "path":
            path = project.root / "docs" / one.text.lstrip("/~").replace("../", "")
            if len(path.name.encode()) < 200 and len(str(path)) < 900 and _is_known(str(path), one):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("retry budget notes\n")
                known.append(one)
        else:
            (project.root / f"notes{number}.md").write_text(f"# Retry budget {number}\n\n{one.text}\n")
            known += [one] if all(_is_known(line, one) for line in one.text.splitlines()) else []  # lines are cited
    asked = [one for one in planted(5, "prompt", "query", "url") if len(one.text) < 200]
    questions: list[dict[str, str]] = []
    for whole, group in list(grouped(asked))[::10]:  # each takes seconds
        questions.append({"id": str(len(questions)), "question": f"Where is the retry budget of {whole}?"})
        known += [one for one in group if _is_known(questions[-1]["question"], one)]
    (project.inputs / "questions.jsonl").write_text("".join(json.dumps(one) + "\n" for one in questions))
    project.run("investigate", "--input", str(project.inputs / "questions.jsonl"), "--trail", "--seconds", "0.2")
    for format_ in ("text", "json", "markdown", "html"):
        project.run("investigate", "--trail", "--seconds", "5", "--format", format_, "where is the retry budget?")
        project.run("investigate", "--trail", "--seconds", "1", "--format", format_, questions[0]["question"])
    assert b"retry" in b"".join(project.printed.values())
    found = leaks(project, known)
    assert not found, "\n".join(found[:40])


AGENT = """
import json, os, sys, time
sys.stdin.read()
texts = json.load(open(sys.argv[1]))[os.environ["KNOWBOUND_SAMPLE"]]
if os.environ["KNOWBOUND_SAMPLE"].endswith("0"):
    print("\\n\\n".join(texts))
    print("\\n\\n".join(texts), file=sys.stderr)
    sys.exit(3 if os.environ["KNOWBOUND_SAMPLE"].endswith("00") else 0)
def line(**fields):
    print(json.dumps({"session_id": "s", **fields}))
def step(role, content):
    line(type=role, message={"id": str(time.time_ns()), "content": content})
line(type="system", subtype="init", model="m", cwd=os.getcwd())
for number, text in enumerate(texts):
    step("assistant", [{"type": "text", "text": "I'm not sure. " + text},
                       {"type": "tool_use", "id": f"t{number}", "name": "Grep", "input": {"pattern": text}}])
    step("user", [{"type": "tool_result", "tool_use_id": f"t{number}", "content": text}])
step("assistant", [{"type": "text", "text": "\\n\\n".join(texts)}])
line(type="result", subtype="success", is_error=False, result="\\n\\n".join(texts))
print("\\n\\n".join(texts), file=sys.stderr)
"""


@pytest.mark.long
def test_evaluations(project: Project) -> None:
    """Prompts, rubrics and assertions of samples, what an agent prints, and what a judge is sent."""
    pytest.importorskip("pydantic_ai")
    texts = planted(6, "prompt", "output", "environment", "url", "chinese", "query")[::24]
    known: list[Planted] = []
    rows: list[dict[str, object]] = []
    answers: dict[str, list[str]] = {}
    for whole, group in grouped(texts, 40):
        known += group
        id_ = f"sample-{len(rows)}"
        answers[id_] = [one.text for one in group]
        rows.append(
            {
                "sample_id": id_,
                "prompt": f"Why does this fail?\n\n{whole}",
                "context": whole,
                "rubric": f"It explains this:\n\n{whole}",
                "assertions": [
                    {"type": "contains", "value": group[0].text},
                    {"type": "ends_with", "value": group[-1].text},
                ],
            }
        )
    (project.root / "eval-samples.json").write_text(json.dumps(rows))
    (project.inputs / "agent.py").write_text(AGENT)
    (project.inputs / "answers.json").write_text(json.dumps(answers))
    (project.root / "notes.md").write_text("# Notes\n")
    agent = f"command:{sys.executable} {project.inputs / 'agent.py'} {project.inputs / 'answers.json'}"
    reply = json.dumps({"score": 4, "reason": f"It repeats {texts[0].text} and {texts[-1].text}"})
    with serving(chat(reply)) as server:
        given = ("--executor", agent, "--judge", server.judge, "--format", "json")
        project.run("eval", "eval-samples.json", *given)
        project.run("eval", "eval-samples.json", "--executor", "investigate")
        sent = [json.dumps(body, ensure_ascii=False).encode() for body in server.asked]
    for format_ in FORMATS:
        project.run("report", "--format", format_)
    project.run("trend")
    project.run("check", "--max-gap-rate", "0.5")
    assert sent
    found = leaks(project, known, *sent)
    assert not found, "\n".join(found[:40])
