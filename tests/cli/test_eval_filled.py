"""Six gaps and six commits that fill one each: with a model the rate ends at 0, by rules it says that it is retrieval.

The model is a program: it quotes the sentence that answers if a passage has it, and refuses otherwise.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import warm_process
from tests.conftest import write_user_config
from tests.knowledge_base import begin, commit

# Question, term that a model would propose, page, sentence that fills the gap.
GAPS = (
    ("How often is a failed webhook tried again?", "retried", "webhooks.md", "A failed webhook is retried five times."),
    ("Who may lift the cap of a customer?", "credit limit", "limits.md", "Finance may raise a credit limit."),
    ("Wann werden alte Belege entfernt?", "receipts", "storage.md", "Receipts are deleted after ten years."),
    ("What happens if the printer is offline?", "label queue", "labels.md", "The label queue waits for the printer."),
    ("Where do I find the keys for staging?", "vault", "secrets.md", "Keys of staging are in the vault `stage`."),
    ("Why are amounts no floating point numbers?", "cents", "money.md", "Cents are exact, floats are rounded."),
)
_PROGRAM = """#!{python}
import json, sys
asked = sys.stdin.read()
gaps = {gaps!r}
term, said = next((term, said) for question, term, _, said in gaps if question in asked)
if '"kind"' in asked and '"terms"' in asked:
    print(json.dumps({{"kind": "locate", "terms": [term]}}))
elif said in asked:
    print(json.dumps({{"answer": [{{"text": said, "passage": 1, "quote": said}}], "try": [], "nearest": 0}}))
else:
    print(json.dumps({{"answer": [], "try": [], "nearest": 0}}))
"""


def knowbound(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm_process.knowbound(*arguments, cwd=folder, env=dict(os.environ))


def rates(base: Path) -> list[dict[str, Any]]:
    """Evaluate the base before, and after each of the six commits."""
    names = {name for *_, name, _ in GAPS}
    steps: list[tuple[str, dict[str, str | None]]] = [("Begin", {name: f"# {name[:-3].title()}\n" for name in names})]
    steps += [(f"Fill {name}", {name: f"# {name[:-3].title()}\n\n{said}\n"}) for *_, name, said in GAPS]
    found = []
    for step in steps:
        commit(base, step)
        ran = knowbound(base, "eval", "--format", "json")
        assert ran.returncode == 0, ran.stderr
        found.append(json.loads(ran.stdout))
    return found


@pytest.fixture
def base(tmp_path: Path) -> Path:
    folder = begin(tmp_path / "kb")
    for old in folder.glob("eval-samples.*"):
        old.unlink()
    rows = [{"sample_id": name, "prompt": question} for question, _, name, _ in GAPS]
    (folder / "eval-samples.json").write_text(json.dumps(rows), "utf-8")
    return folder


def test_six_commits_that_fill_six_gaps_end_at_zero_and_trend_draws_them(base: Path, tmp_path: Path) -> None:
    program = tmp_path / "model"
    program.write_text(_PROGRAM.format(python=sys.executable, gaps=GAPS), "utf-8")
    program.chmod(0o755)
    write_user_config(f'[model.tasks]\ninvestigate = "command:{program}"\n')
    documents = rates(base)
    assert [(one["gap"]["rate"]["k"], one["gap"]["rate"]["n"]) for one in documents] == [
        (k, 6) for k in range(6, -1, -1)
    ]
    left = [one["gap"]["by_status"]["open"] + one["gap"]["by_status"]["undecided"] for one in documents]
    assert left == list(range(6, -1, -1))
    trend = json.loads(knowbound(base, "trend", "--format", "json").stdout)
    assert [one["gap"]["k"] for one in trend["evaluations"]] == list(range(6, -1, -1))
    chart = knowbound(base, "trend", "--format", "html").stdout
    assert "<svg" in chart
    for one in documents:
        assert one["knowledge"]["commit"][:7] in chart


def test_by_rules_it_is_called_retrieval_and_claims_no_filled_gap(base: Path) -> None:
    documents = rates(base)
    assert documents[-1]["gap"]["rate"]["k"] > 0  # other words than the documents': rules find places at most
    shown = knowbound(base, "eval")
    assert "retrieval only" in " ".join((shown.stdout + shown.stderr).split())
