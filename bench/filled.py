"""Six gaps of a handbook, six commits that fill one each: the rate of `eval` after each commit, drawn by `trend`.

    python -m bench.filled                                        with the recorded model, and by rules (retrieval only)
    python -m bench.answers filled FOLDER                         records: writes open questions, keeps answers

The handbook is bench/questions/payments-handbook; its sections that answer the questions are taken out, and come back
one by one. Run as a user runs it: real commits, `knowbound eval`, `knowbound trend`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench.evaluation import KNOWBOUND
from bench.investigations import HERE
from knowbound.evals.executor import Task
from knowbound.evals.executors.without_agent import InvestigateExecutor
from knowbound.evals.knowledge import DOCUMENTS
from knowbound.judge.models.asking import Asker

ANSWERS = Path(__file__).parent / "answers" / "filled.jsonl"


class Gap(NamedTuple):
    """A question, and the section that answers it."""

    id: str
    question: str
    file: str
    heading: str


GAPS = (
    Gap("rollback", "How long does it take until the former image is on every instance again?",
        "deploys.md", "Rolling back"),
    Gap("new-year", "When may we ship again after the turn of the year?", "deploys.md", "Freezes"),
    Gap("flags", "After how many days is a switch that is on for everybody removed?", "deploys.md", "Feature flags"),
    Gap("newcomers", "When does somebody new take over a shift of their own?", "on-call.md", "The rota"),
    Gap("urgent", "Customers are losing money this minute. How do I reach the team?", "README.md", "Getting help"),
    Gap("reviewers", "How many people have to agree to a change of the ledger?", "README.md", "Ways of working"),
)  # fmt: skip


def states() -> Iterator[dict[str, str]]:
    """The handbook without the six sections, then after each commit."""
    whole = {path.name: path.read_text("utf-8") for path in sorted((HERE / "payments-handbook").glob("*.md"))}
    for filled in range(len(GAPS) + 1):
        pages = dict(whole)
        for gap in GAPS[filled:]:
            pattern = rf"(?ms)^## {re.escape(gap.heading)}\n.*?(?=^## |\Z)"
            pages[gap.file], taken = re.subn(pattern, "", pages[gap.file])
            assert taken == 1, gap
        yield pages


def write(folder: Path, pages: dict[str, str]) -> None:
    for name, text in pages.items():
        (folder / name).write_text(text, "utf-8")


def ask_filled(asker: Asker) -> tuple[int, int]:
    """Ask about every state, for recordings."""
    executor = InvestigateExecutor(DOCUMENTS, (), asker)
    done = undecided = 0
    for pages in states():
        with tempfile.TemporaryDirectory() as name:
            folder, output = Path(name) / "kb", Path(name) / "out"
            folder.mkdir()
            output.mkdir()
            write(folder, pages)
            for gap in GAPS:
                before = asker.usage.calls
                executor.run(Task(gap.id, gap.question, folder, output, 60.0))
                done += asker.usage.calls == before
                undecided += asker.usage.calls != before
                for path in output.iterdir():
                    path.unlink()
    return done, undecided


def report(model: str) -> None:
    """Commit after commit: the rate, and at the end the trend."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "kb"
        folder.mkdir()
        home = {"HOME": name, "XDG_CONFIG_HOME": f"{name}/config", "KNOWBOUND_MODEL": model}
        environ = {**os.environ, **home, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org"}
        environ |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}

        def run(*command: str | Path) -> str:
            return subprocess.run(command, cwd=folder, env=environ, check=True, capture_output=True, text=True).stdout

        run("git", "init", "-q")
        rows = [{"sample_id": gap.id, "prompt": gap.question} for gap in GAPS]
        (folder / "eval-samples.json").write_text(json.dumps(rows), "utf-8")
        for number, pages in enumerate(states()):
            write(folder, pages)
            run("git", "add", "-A")
            run("git", "commit", "-q", "-m", f"Fill {GAPS[number - 1].id}" if number else "Begin")
            found = json.loads(run(KNOWBOUND, "eval", "--format", "json"))["gap"]
            rate, left = found["rate"], found["by_status"]
            said = "Begin" if not number else f"fill {GAPS[number - 1].id}"
            print(
                f"  {said:16} gap rate {rate['k']} of {rate['n']}; open {left['open']}, undecided {left['undecided']}"
            )
        print(run(KNOWBOUND, "trend"))


if __name__ == "__main__":
    print("With a recorded large model")
    report(f"recorded:{ANSWERS}")
    print("By rules: retrieval only")
    report("none")
