"""What a regression is measured against and what counts as broken, as a user of `eval`, `check`, `compare` sees it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_eval import knowbound

FACTS = {
    "approval": ("Who approves refunds?", "Refunds are approved by the finance team.", "finance"),
    "rota": ("When does the on-call rota change?", "The on-call rota changes every Monday at nine.", "Monday"),
    "retention": ("How long are invoices kept?", "Invoices are kept for ten years.", "ten years"),
    "rollback": ("How long does a rollback take?", "A rollback takes about two minutes.", "two minutes"),
    "carrier": ("Which carrier delivers parcels?", "Parcels are delivered by the carrier Hermes.", "Hermes"),
}  # fmt: skip


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A knowledge base with one file per fact, and a sample with an assertion for each."""
    for name, (_, passage, _) in FACTS.items():
        (tmp_path / f"{name}.md").write_text(f"# {name.capitalize()}\n\n{passage}\n")
    rows = [
        {"sample_id": name, "prompt": prompt, "assertions": [{"type": "contains", "value": answer}]}
        for name, (prompt, _, answer) in FACTS.items()
    ]
    (tmp_path / "eval-samples.json").write_text(json.dumps(rows))
    return tmp_path


def rewrite(base: Path, name: str, before: str, after: str) -> None:
    path = base / f"{name}.md"
    path.write_text(path.read_text().replace(before, after))


def gated(base: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the regression gate."""
    ran = knowbound(base, *arguments, "--format", "json")
    (gate,) = (gate for gate in json.loads(ran.stdout)["gates"] if gate["name"] == "gap-rate-regression")
    return ran.returncode, gate


REGRESSION = ("--gap-rate-regression", "0.1")


# Broken facts


def test_a_fact_that_is_wrong_now_is_broken_although_no_search_failed(base: Path) -> None:
    assert knowbound(base, "eval").returncode == 0
    rewrite(base, "approval", "finance team", "sales team")
    rewrite(base, "rota", "Monday", "Friday")
    (base / "retention.md").write_text("# Nothing\n")
    assert knowbound(base, "eval").returncode == 0
    compared = json.loads(knowbound(base, "compare", "--format", "json").stdout)
    rows = {row["sample"]: row for row in compared["rows"]}
    assert {name for name, row in rows.items() if row["change"] == "broken"} == {"approval", "rota", "retention"}
    assert rows["approval"]["assertions"]["failing"] == ["contains finance"]
    assert (compared["samples"]["broken"], compared["samples"]["same"], compared["pairs"]["broken"]) == (3, 2, 1)
    text = " ".join(knowbound(base, "compare", "--format", "markdown").stdout.split())
    assert "3 samples broke: an assertion that passed before fails now" in text
    assert "`contains finance` fails now" in text
    trend = json.loads(knowbound(base, "trend", "--format", "json").stdout)
    assert [row["broken"] for row in trend["evaluations"]] == [None, ["approval", "retention", "rota"]]
    assert "3 samples broken" in " ".join(knowbound(base, "trend", "--format", "markdown").stdout.split())


def test_the_regression_gate_fails_where_facts_broke_although_the_gap_rate_did_not_rise(base: Path) -> None:
    assert knowbound(base, "eval").returncode == 0
    rewrite(base, "approval", "finance team", "sales team")
    rewrite(base, "rota", "Monday", "Friday")
    code, gate = gated(base, "eval", "--gap-rate-regression", "0.3")
    assert (code, gate["outcome"], gate["broken"]) == (1, "failed", ["approval", "rota"])
    assert gate["rate"]["k"] == gate["before"]["k"] == 0
    assert "2 of 5 samples broke by an assertion that passed before (approval, rota)" in gate["words"]
    assert gated(base, "check", "--gap-rate-regression", "0.3")[0] == 1
    code, gate = gated(base, "check", "--gap-rate-regression", "0.4")
    assert (code, gate["broken"]) == (0, ["approval", "rota"])  # 2 of 5 is not more than 0.4


@pytest.mark.long
def test_a_fact_that_is_right_again_is_fixed(base: Path) -> None:
    rewrite(base, "rota", "Monday", "Friday")
    assert knowbound(base, "eval").returncode == 0
    rewrite(base, "rota", "Friday", "Monday")
    assert knowbound(base, "eval").returncode == 0
    rows = json.loads(knowbound(base, "compare", "--format", "json").stdout)["rows"]
    assert [(row["sample"], row["change"]) for row in rows if row["change"] != "same"] == [("rota", "fixed")]


# The baseline


@pytest.mark.long
def test_a_regression_gate_that_failed_fails_again_on_the_same_data(base: Path) -> None:
    assert knowbound(base, "eval", *REGRESSION).returncode == 0
    (base / "rota.md").write_text("# Nothing\n")
    for verb in ("eval", "eval", "check", "check", "eval"):
        code, gate = gated(base, verb, *REGRESSION)
        assert (code, gate["failed"], gate["before"]["k"]) == (1, True, 0), verb
        assert "Against evaluation 1 " in gate["note"]


@pytest.mark.long
def test_a_run_that_was_not_gated_does_not_hide_a_regression_that_failed(base: Path) -> None:
    assert knowbound(base, "eval").returncode == 0
    (base / "rota.md").write_text("# Nothing\n")
    assert knowbound(base, "eval", *REGRESSION).returncode == 1
    assert knowbound(base, "eval").returncode == 0
    assert gated(base, "eval", *REGRESSION)[0] == 1


@pytest.mark.long
def test_what_check_finds_is_remembered_too(base: Path) -> None:
    assert knowbound(base, "eval").returncode == 0
    (base / "rota.md").write_text("# Nothing\n")
    assert knowbound(base, "eval").returncode == 0
    assert gated(base, "check", *REGRESSION)[0] == 1
    assert gated(base, "eval", *REGRESSION)[0] == 1


@pytest.mark.long
def test_a_regression_that_was_accepted_is_the_new_baseline(base: Path) -> None:
    assert knowbound(base, "eval").returncode == 0
    (base / "rota.md").write_text("# Nothing\n")
    failed = knowbound(base, "eval", *REGRESSION)
    assert failed.returncode == 1
    assert "knowbound check --gap-rate-regression 1" in " ".join(failed.stdout.split())
    assert knowbound(base, "check", "--gap-rate-regression", "1").returncode == 0
    code, gate = gated(base, "eval", *REGRESSION)
    assert (code, gate["before"]["k"]) == (0, 1)


@pytest.mark.long
def test_a_run_that_passes_again_is_the_baseline_of_the_next(base: Path) -> None:
    rota = (base / "rota.md").read_text()
    assert knowbound(base, "eval").returncode == 0
    (base / "rota.md").write_text("# Nothing\n")
    assert knowbound(base, "eval", *REGRESSION).returncode == 1
    (base / "rota.md").write_text(rota)
    assert knowbound(base, "eval", *REGRESSION).returncode == 0
    assert "Against evaluation 3 " in gated(base, "eval", *REGRESSION)[1]["note"]


@pytest.mark.long
def test_a_run_above_an_absolute_limit_is_no_baseline_but_hides_no_later_one(base: Path) -> None:
    assert knowbound(base, "eval").returncode == 0
    (base / "rota.md").write_text("# Nothing\n")
    assert knowbound(base, "eval", "--max-gap-rate", "0.1").returncode == 1
    assert "Against evaluation 1 " in gated(base, "eval", *REGRESSION)[1]["note"]


@pytest.mark.long
def test_where_every_run_failed_a_gate_the_first_is_the_baseline(base: Path) -> None:
    (base / "rota.md").write_text("# Nothing\n")
    assert knowbound(base, "eval", "--max-gap-rate", "0.1").returncode == 1
    (base / "carrier.md").write_text("# Nothing\n")
    code, gate = gated(base, "eval", *REGRESSION)
    assert (code, gate["before"]["k"], gate["rate"]["k"]) == (1, 1, 2)


# The rate of a gate


def test_gates_are_about_the_rate_that_is_asked_for(base: Path) -> None:
    """The agent misses, looks again and finds: a signal, and no open one."""
    (base / "agent.py").write_text(AGENT)
    run = ("--executor", "command:python agent.py", "--max-gap-rate", "0.5")
    ran = knowbound(base, "eval", *run, "--format", "json")
    raw = json.loads(ran.stdout)
    assert (ran.returncode, raw["gap"]["rate"]["k"], raw["gap"]["open"]["k"]) == (1, 5, 0)
    assert (raw["gates"][0]["kind"], raw["gates"][0]["rate"]["k"]) == ("raw", 5)
    for given, environ in ((("--rate", "open"), {}), ((), {"KNOWBOUND_GATE_RATE": "open"})):
        ran = knowbound(base, "check", "--max-gap-rate", "0.5", *given, "--format", "json", **environ)
        (gate,) = json.loads(ran.stdout)["gates"]
        assert (ran.returncode, gate["kind"], gate["rate"]["k"]) == (0, "open", 0)
        assert gate["words"].startswith("open gap rate 0%")
    text = knowbound(base, "check", "--max-gap-rate", "0.5", "--rate", "open").stdout
    assert "max-gap-rate 0.5 (open rate): passed" in text
    wrong = knowbound(base, "check", "--max-gap-rate", "0.5", KNOWBOUND_GATE_RATE="weighted")
    assert (wrong.returncode, "gate.rate must be raw or open" in wrong.stderr) == (2, True)


AGENT = """
import json, sys

def grep(id_, pattern, result):
    function = {"name": "Grep", "arguments": json.dumps({"pattern": pattern})}
    call = {"id": id_, "type": "function", "function": function}
    return [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id_, "content": result},
    ]

messages = [{"role": "user", "content": sys.stdin.read()}]
messages += grep("c1", "rota_table", "No matches found") + grep("c2", "rota_table", "rota.md:1: rota_table")
print(json.dumps({"messages": messages + [{"role": "assistant", "content": "It changes on Monday."}]}))
"""
