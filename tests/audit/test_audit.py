"""`knowbound audit`: stored, incremental, forgotten where asked, and shown in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from knowbound.audit.audit import suspicious
from knowbound.cli.main import knowbound
from knowbound.core.audit import AuditedSession, AuditedTurn, Diagnosis
from knowbound.store.observed import Audited
from knowbound.traces.sessions import SharedEvents
from tests.audit.turns import edit, started
from tests.transcripts import PROJECT, Transcript

OTHER = "22222222-2222-4333-8444-555555555555"
KEYS = ["session", "turn", "message_id", "intent", "diagnosis", "confidence", "claims", "findings", "gaps", "next"]


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    edit(started()).says("Fixed. All tests pass.").user("thanks").says("You are welcome!").write(folder)
    good = Transcript(OTHER, "/work/bank").user("Fix the interest")
    edit(good, "/work/bank/interest.py").bash("pytest", "3 passed in 0.1s").says("Fixed. All 3 tests pass.").write(
        folder
    )
    return folder


def audit(*words: str, root: Path) -> Result:
    return CliRunner().invoke(knowbound, ["audit", *words, "--root", str(root)])


def lines(result: Result) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_each_turn_is_a_line_with_the_keys_that_others_rely_on(traces: Path, tmp_path: Path) -> None:
    found = lines(audit(str(traces), "--format", "jsonl", root=tmp_path))
    assert [one["diagnosis"] for one in found if one["session"] != OTHER] == ["unsupported", "chat"]
    assert [one["diagnosis"] for one in found if one["session"] == OTHER] == ["unknown"]
    bad = next(one for one in found if one["diagnosis"] == "unsupported")
    assert list(bad)[: len(KEYS)] == KEYS
    claim = next(one for one in bad["claims"] if one["kind"] == "tests_pass")
    assert (claim["support"], claim["text"]) == ("unseen", "All tests pass.")
    assert set(claim) >= {"text", "kind", "support", "why", "line"}
    assert bad["findings"][0]["code"] == "success_without_run"
    assert {tuple(gap) for gap in bad["gaps"]} == {("class", "have", "need")}
    assert bad["message_id"].endswith("uuid-1")
    assert set(bad["because"]) == {"quality", "coverage", "agreement"}
    assert (bad["by"], claim["by"]) == ("rules", "rules")


def test_json_has_the_distribution_with_intervals_for_each_group(traces: Path, tmp_path: Path) -> None:
    report = json.loads(audit(str(traces), "--format", "json", root=tmp_path).stdout)
    assert report["format"] == "knowbound.audit/1"
    assert set(report["groups"]) == {"project", "agent", "model", "skill", "week"}
    rate = report["diagnoses"]["unsupported"]
    assert (rate["k"], rate["n"]) == (1, 3)
    assert 0 < rate["low"] < rate["value"] < rate["high"] < 1
    assert sum(one["k"] for one in report["diagnoses"].values()) == report["totals"]["turns"] == 3
    assert {one["name"] for one in report["groups"]["project"]} == {"shop", "bank"}
    assert [one["name"] for one in report["groups"]["week"]] == ["2026-W40"]
    assert report["model"] == {"turns": 0, "calls": 0, "tokens": 0, "usd": 0.0, "judged": {}, "waiting": 2}


def test_the_text_starts_with_the_turn_to_look_at_its_sentence_and_the_line(traces: Path, tmp_path: Path) -> None:
    text = audit(str(traces), root=tmp_path).stdout
    first = text[: text.index("Diagnoses")]
    assert "All tests pass." in first
    assert "a test run is not in the trace" in first
    assert "11111111-2222-4333-8444-555555555555.jsonl:" in first
    for diagnosis in Diagnosis:
        assert diagnosis in text


@pytest.mark.parametrize("format_", ["markdown", "html", "sarif", "junit", "github"])
def test_every_format_names_the_finding(format_: str, traces: Path, tmp_path: Path) -> None:
    result = audit(str(traces), "--format", format_, root=tmp_path)
    assert result.exit_code == 0, result.output
    assert "All tests pass." in result.stdout or "success_without_run" in result.stdout


def test_sarif_has_a_rule_for_every_result(traces: Path, tmp_path: Path) -> None:
    (run,) = json.loads(audit(str(traces), "--format", "sarif", root=tmp_path).stdout)["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in run["results"]} <= rules
    assert [result["ruleId"] for result in run["results"]] == ["success_without_run"] * 2  # fixed, and tests pass
    for result in run["results"]:
        assert result["locations"][0]["physicalLocation"]["region"]["startLine"] > 1


def test_auditing_again_reads_only_what_changed(traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = lines(audit(str(traces), "--format", "jsonl", root=tmp_path))
    read: list[str] = []
    from knowbound.audit import reading

    real = reading.read_session

    def noted(events: SharedEvents, judge: Any, *more: Any) -> list[AuditedSession]:
        read.append(events.session.session)
        return real(events, judge, *more)

    monkeypatch.setattr(reading, "read_session", noted)
    assert lines(audit(str(traces), "--format", "jsonl", root=tmp_path)) == first
    assert read == []
    more = (
        edit(started()).says("Fixed. All tests pass.").user("thanks").says("You are welcome!").user("bye").says("Bye!")
    )
    more.write(traces)
    assert len(lines(audit(str(traces), "--format", "jsonl", root=tmp_path))) == 4
    assert read == [more.session]


def test_one_turn_shows_what_was_injected_searched_found_and_claimed(traces: Path, tmp_path: Path) -> None:
    text = audit(str(traces), "--session", OTHER[:8], "--turn", "1", root=tmp_path).stdout
    for words in ("Claimed", "Searched and run", "Found", "pytest", "All 3 tests pass.", "unknown", "Test"):
        assert words in text
    page = json.loads(audit(str(traces), "--session", OTHER, "--turn", "1", "--format", "json", root=tmp_path).stdout)
    assert page["format"] == "knowbound.audited-turn/1"
    assert [one["class"] for one in page["evidence"]] == ["Test"]


def test_a_turn_or_session_that_is_not_there_is_an_error(traces: Path, tmp_path: Path) -> None:
    assert "no turn 9" in str(audit(str(traces), "--session", OTHER, "--turn", "9", root=tmp_path).exception)
    assert "begins with 'zz'" in str(audit(str(traces), "--session", "zz", "--turn", "1", root=tmp_path).exception)
    assert audit(str(traces), "--session", OTHER, root=tmp_path).exit_code == 2


def test_filters_choose_sessions(traces: Path, tmp_path: Path) -> None:
    assert len(lines(audit(str(traces), "--project", "bank", "--format", "jsonl", root=tmp_path))) == 1
    assert len(lines(audit(str(traces), "--agent", "claude-code", "--format", "jsonl", root=tmp_path))) == 3
    assert audit(str(traces), "--agent", "codex", root=tmp_path).exit_code != 0


def test_a_forgotten_session_is_erased_and_does_not_come_back(traces: Path, tmp_path: Path) -> None:
    audit(str(traces), root=tmp_path)
    home = tmp_path / ".knowbound"
    assert {one.session for one in Audited(home).sessions()} == {OTHER, "11111111-2222-4333-8444-555555555555"}
    run = CliRunner().invoke(knowbound, ["forget", "--session", OTHER, "--yes", "--root", str(tmp_path)])
    assert run.exit_code == 0, run.output
    assert {one.session for one in Audited(home).sessions()} == {"11111111-2222-4333-8444-555555555555"}
    assert len(lines(audit(str(traces), "--format", "jsonl", root=tmp_path))) == 2
    assert {one.project for one in Audited(home).sessions()} == {PROJECT}


def check(*words: str, root: Path) -> Result:
    return CliRunner().invoke(knowbound, ["check", "--root", str(root), *words])


def test_check_gates_on_the_share_of_unsupported_answers(traces: Path, tmp_path: Path) -> None:
    assert check("--max-unsupported", "0.5", root=tmp_path).exit_code != 0  # nothing was audited
    assert check("--max-unsupported", "0.5", "--allow-none", root=tmp_path).return_value in (0, None)
    audit(str(traces), root=tmp_path)
    run = CliRunner().invoke(
        knowbound, ["check", "--root", str(tmp_path), "--max-unsupported", "0.3"], standalone_mode=False
    )
    assert run.return_value == 1
    assert "33.3% (1 of 3" in run.stdout
    run = CliRunner().invoke(
        knowbound, ["check", "--root", str(tmp_path), "--max-unsupported", "0.5"], standalone_mode=False
    )
    assert run.return_value == 0


def test_observe_shows_the_distribution_in_one_line(traces: Path, tmp_path: Path) -> None:
    def observed() -> str:
        run = CliRunner().invoke(knowbound, ["observe", str(traces), "--root", str(tmp_path)])
        return " ".join(run.stdout.split())

    assert "Answers were not audited yet: knowbound audit" in observed()
    audit(str(traces), root=tmp_path)
    assert "Answers of 3 audited turns: 1 chat, 1 unsupported, 1 unknown (knowbound audit)" in observed()


def test_friction_of_insights_is_a_reason_to_look_and_changes_no_verdict(
    traces: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    facets = tmp_path / "claude" / "usage-data" / "facets"
    facets.mkdir(parents=True)
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    words = (str(traces), "--model", "none", "--format", "json")
    before = json.loads(audit(*words, root=tmp_path).stdout)
    session = lines(audit(str(traces), "--model", "none", "--format", "jsonl", root=tmp_path))[0]["session"]
    (facets / f"{session}.json").write_text(
        json.dumps({"session_id": session, "friction_counts": {"wrong_approach": 1}})
    )
    (facets / "other.json").write_text(json.dumps({"session_id": "other", "friction_counts": {}}))
    (facets / "broken.json").write_text("{")
    after = json.loads(audit(*words, root=tmp_path).stdout)
    assert [one for one in after["warnings"] if "/insights saw friction in 1 session" in one]
    unlike = {"warnings": [], "waiting": 0, "made": ""}
    assert {**after, **unlike} == {**before, **unlike}


def test_turns_of_a_session_with_friction_come_first() -> None:
    def turn(session: str, suspicion: int, diagnosis: Diagnosis) -> AuditedTurn:
        return AuditedTurn(session, 1, "m", "question", diagnosis, "", suspicion=suspicion)

    turns = [
        turn("calm", 3, Diagnosis.UNKNOWN), turn("bad", 2, Diagnosis.UNKNOWN), turn("bad", 0, Diagnosis.UNKNOWN),
        turn("bad", 0, Diagnosis.CHAT), turn("calm", 0, Diagnosis.UNKNOWN),
    ]  # fmt: skip
    found = suspicious(turns, frozenset({"bad"}))
    assert [(one.session, one.suspicion) for one in found] == [("bad", 2), ("calm", 3), ("bad", 0)]
