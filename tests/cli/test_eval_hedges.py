"""Hedges in `eval`, as a user runs it: an agent that hedges, and a judge that is a program."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_eval import knowbound
from tests.conftest import write_user_config

AGENT = """
import sys
print(f"I'm not sure which of the tables holds {sys.stdin.read().split()[-1]}")
"""
JUDGE = """
import json, sys
sys.stdin.read()
print(json.dumps({"isUncertainty": False, "confidence": 0.9, "reason": "a plan"}))
"""
TABLES = ("orders", "items", "taxes", "names")


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """Four questions to an agent that is never sure, which its judge calls no doubt."""
    base = tmp_path / "base"
    base.mkdir()
    (base / "refunds.md").write_text("# Refunds\n")
    (base / "agent.py").write_text(AGENT)
    (tmp_path / "judge.py").write_text(JUDGE)
    rows = [{"sample_id": name, "prompt": f"Which table holds {name}?"} for name in TABLES]
    (base / "eval-samples.json").write_text(json.dumps(rows))
    return base


def evaluated(base: Path, *arguments: str) -> dict[str, Any]:
    ran = knowbound(base, "eval", "--executor", "command:python agent.py", "--format", "json", *arguments)
    assert ran.returncode == 0, ran.stderr
    document: dict[str, Any] = json.loads(ran.stdout)
    return document


def test_hedges_beyond_the_cap_are_kept_unjudged_and_asked_in_the_next_run(base: Path) -> None:
    model = f"command:python {base.parent / 'judge.py'}"
    write_user_config(f'[hedging_classifier]\nmodel = "{model}"\nmax_candidates = 3\n')
    first = evaluated(base)
    assert first["gap"]["by_type"]["hedging"] == 1
    assert [signal["verdict"] for run in first["runs"] for signal in run["signals"]] == [None]
    judging = first["judging"]
    assert (judging["cap"], judging["judged"], judging["unjudged"], judging["usd"]) == (3, 3, 1, None)
    assert "1 of 4 hedging sentences were not judged: the cap is 3." in first["warnings"]
    text = " ".join(knowbound(base, "report").stdout.split())
    assert "Judged 3 sentences Unjudged 1, kept as signals and asked in the next run Cap 3 sentences per run" in text
    assert "judge: not asked" in text
    again = evaluated(base)
    assert again["gap"]["by_type"]["hedging"] == 0
    assert (again["judging"]["judged"], again["judging"]["unjudged"]) == (4, 0)


def test_a_judge_that_is_free_has_no_cap_to_show(base: Path) -> None:
    document = evaluated(base)
    assert document["judging"] is None
    assert document["gap"]["by_type"]["hedging"] == 4
