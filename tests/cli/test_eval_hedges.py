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
import json, re, sys
ids = re.findall('"id":"(s[0-9]+)', sys.stdin.read())
rows = [{"id": one, "isUncertainty": False, "confidence": 0.9, "reason": "a plan"} for one in ids]
print(json.dumps({"items": rows}))
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


@pytest.mark.long
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
    assert "judge: kept: not judged" in text
    again = evaluated(base)
    assert again["gap"]["by_type"]["hedging"] == 0
    assert (again["judging"]["judged"], again["judging"]["unjudged"]) == (4, 0)


def test_a_judge_that_is_free_has_no_cap_to_show(base: Path) -> None:
    document = evaluated(base)
    assert document["judging"] is None
    assert document["gap"]["by_type"]["hedging"] == 4


# Agents whose tool calls are not seen

SILENT = """
import sys
sys.stdin.read()
print("It is in the ledger.")
"""
HALF = """
import json, sys
prompt = sys.stdin.read()
answer = {"role": "assistant", "content": "It is in the ledger."}
traced = json.dumps({"messages": [{"role": "user", "content": prompt}, answer]})
print(traced if "orders" in prompt or "items" in prompt else answer["content"])
"""


@pytest.mark.long
def test_an_agent_of_plain_text_gets_no_green_zero(base: Path) -> None:
    (base / "agent.py").write_text(SILENT)
    document = evaluated(base)
    gap = document["gap"]
    assert (gap["rate"]["k"], gap["rate"]["n"], gap["unseen"]) == (0, 4, 4)
    assert gap["band"] is gap["open_band"] is None
    assert document["coverage"]["rate"] is None
    assert "no tool call left a trace" in document["coverage"]["reason"]
    assert [run["shows_calls"] for run in document["runs"]] == [False] * 4
    for format_ in ("text", "markdown", "html"):
        shown = " ".join(knowbound(base, "report", "--format", format_).stdout.split())
        assert "The tool calls of 4 of 4 samples left no trace: only what the agent said was seen there" in shown
        assert "unknown: only what the agent said was seen" in shown
        assert "green (indicative" not in shown
    text = " ".join(knowbound(base, "report").stdout.split())
    assert "failed search unknown" in text
    assert "No gap signal in what was seen." in text
    for format_ in ("junit", "sarif", "github"):
        assert "The tool calls of 4 of 4 samples left no trace" in knowbound(base, "report", "--format", format_).stdout


def test_a_gate_of_which_nothing_was_measured_is_undecided(base: Path) -> None:
    (base / "agent.py").write_text(SILENT)
    evaluated(base)
    ran = knowbound(base, "check", "--max-gap-rate", "0.9", "--format", "json")
    (gate,) = json.loads(ran.stdout)["gates"]
    assert (ran.returncode, gate["outcome"], gate["settled"]) == (3, "undecided", None)
    assert "No tool call of any sample left a trace" in gate["words"]


def test_a_gate_that_passes_partly_unseen_is_not_settled(base: Path) -> None:
    (base / "agent.py").write_text(HALF)
    evaluated(base)
    assert knowbound(base, "check", "--max-gap-rate", "0.4", "--strict").returncode == 3
    ran = knowbound(base, "check", "--max-gap-rate", "0.4", "--format", "json")
    (gate,) = json.loads(ran.stdout)["gates"]
    assert (ran.returncode, gate["outcome"], gate["settled"]) == (0, "passed", False)
    assert gate["words"].endswith("The data do not settle it: the tool calls of 2 of 4 samples left no trace.")


def test_where_some_samples_are_seen_the_report_says_how_many_are_not(base: Path) -> None:
    (base / "agent.py").write_text(HALF)
    document = evaluated(base)
    assert document["gap"]["unseen"] == 2
    assert {run["sample"]: run["shows_calls"] for run in document["runs"]} == {
        "orders": True, "items": True, "taxes": False, "names": False,
    }  # fmt: skip
    assert "The tool calls of 2 of 4 samples left no trace" in " ".join(knowbound(base, "report").stdout.split())


def test_the_built_in_executor_is_seen(base: Path) -> None:
    ran = knowbound(base, "eval", "--format", "json")
    assert json.loads(ran.stdout)["gap"]["unseen"] == 0
    assert "left no trace" not in knowbound(base, "report").stdout
