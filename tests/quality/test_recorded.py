"""`quality score`: recorded traces and given turns are judged; only given turns are logged, on request."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest
from click.testing import CliRunner, Result

from knowbound.cli.main import knowbound
from knowbound.cli.options import project_settings
from knowbound.core.quality import Counts
from knowbound.errors import InputError
from knowbound.kms.opening import open_quality_log
from knowbound.quality.status import quality_status
from knowbound.report.quality.items import RecordedQuality, ScoredItem, ScoredSource, render_recorded
from knowbound.report.quality.status import render_quality
from knowbound.stats.rate import Rate
from tests.transcripts import Transcript

MEMORY = "# Ports\n\nThe orders service listens on port 8080.\n\n# Colours\n\nBrand colours are teal and coral."
BUNDLE = (
    "Entries of this project's knowledge store (knowbound) that match the prompt, each with its id:\n"
    "[k1] (from sqlite) The orders service listens on port 8080 behind the gateway."
)
PROMPT = "On which port does the orders service listen?"


def told(text: str, event: str = "UserPromptSubmit") -> dict[str, Any]:
    return {"type": "hook_additional_context", "content": [text], "hookEvent": event}


def score(*words: str, root: Path) -> Result:
    return CliRunner().invoke(knowbound, ["quality", "score", *words, "--root", str(root)])


def run(*words: str) -> None:
    knowbound(["quality", *words], standalone_mode=False)


def verdicts(traces: Path, root: Path) -> list[dict[str, Any]]:
    return lines(score(str(traces), "--format", "jsonl", root=root).stdout)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    first = Transcript().line("attachment", attachment=told(MEMORY, "SessionStart")).user(PROMPT)
    first.says("The orders service listens on port 8080.").user("thanks, now rename foo to bar").says("Renamed.")
    first.write(folder)
    other = Transcript("22222222-2222-4333-8444-555555555555").user(PROMPT)
    other.line("attachment", attachment=told(BUNDLE)).says("The orders service listens on port 8080.")
    other.write(folder)
    return folder


def lines(output: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in output.splitlines()]


def test_items_of_the_store_are_judged_in_their_turn(traces: Path, tmp_path: Path) -> None:
    found = [
        line for line in lines(score(str(traces), "--format", "jsonl", root=tmp_path).stdout) if line["item"] == "k1"
    ]
    assert [(line["source"], line["used"], line["contradicted"]) for line in found] == [("knowbound", True, False)]
    assert found[0]["judge"].startswith("rules-turns-")
    assert Path(found[0]["file"]).is_relative_to(traces)


def test_what_stays_in_the_context_counts_once_a_session(traces: Path, tmp_path: Path) -> None:
    rows = [
        line for line in lines(score(str(traces), "--format", "jsonl", root=tmp_path).stdout) if line["item"] != "k1"
    ]
    assert len(rows) == 2  # two pieces in a session of two turns
    assert {line["source"] for line in rows} == {"hook:SessionStart"}


def test_the_report_has_a_row_for_each_source_and_no_log_is_written(traces: Path, tmp_path: Path) -> None:
    document = json.loads(score(str(traces), "--format", "json", root=tmp_path).stdout)
    assert document["format"] == "knowbound.recorded-quality/1"
    assert (document["sessions"], document["turns"]) == (2, 3)
    assert [(one["name"], one["pieces"]) for one in document["sources"]] == [("knowbound", 1), ("hook:SessionStart", 2)]
    assert document["sources"][0]["used"]["k"] == 1
    assert not (tmp_path / ".knowbound" / "items.db").exists()


def scored(id_: str, *counts: int, correction: str = "") -> ScoredItem:
    return ScoredItem(id_, "CLAUDE.md", f"text of {id_}", Counts(*counts), correction, "s/t", "s.jsonl", 7)


def test_the_page_says_what_to_do_first() -> None:
    rate = Rate(1, 6)
    items = (
        scored("fine", 6, 6, 6),
        scored("idle", 6, 6),
        scored("off", 6),
        scored("wrong", 6, 6, 0, 1, correction="9090"),
    )
    report = RecordedQuality("rules-1", 6, 9, (ScoredSource("CLAUDE.md", 4, 6, rate, rate, rate),), items)
    shown = render_recorded(report, "text")
    places = [
        shown.index(words) for words in ("contradicted 1 of 6", "9090", "never on topic, injected 6", "never used")
    ]
    assert places == sorted(places)
    assert "text of fine" not in shown
    assert "s.jsonl:7" in shown


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_hostile_text_is_shown_as_data(format_: str) -> None:
    hostile = scored("k", 6, 6, 0, 1, correction="<script>alert(1)</script>\x1b[2J")
    shown = render_recorded(RecordedQuality("rules-1", 1, 1, (), (hostile,)), cast("Any", format_))
    assert "\x1b" not in shown
    assert format_ != "html" or "<script>alert" not in shown
    assert format_ != "markdown" or "`<script>alert(1)</script>`" in shown


def test_no_trace_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="Try: knowbound quality score PATH"):
        run("score", str(tmp_path / "empty"), "--root", str(tmp_path))


def test_given_turns_get_a_line_per_item_in_their_order(tmp_path: Path) -> None:
    turn = {
        "id": "t1",
        "prompt": PROMPT,
        "items": [{"id": "i2", "content": "Brand colours are teal and coral."}, {"id": "i1", "content": "Port 8080."}],
        "response": "It listens on port 8080.",
        "tool_calls": [{"name": "Bash", "input": {"command": "curl localhost:8080"}, "output": "ok"}],
    }
    path = tmp_path / "turns.jsonl"
    path.write_text(json.dumps(turn) + "\n", "utf-8")
    rows = lines(score("--input", str(path), "--format", "jsonl", root=tmp_path).stdout)
    assert [(row["turn"], row["item"]) for row in rows] == [("t1", "i2"), ("t1", "i1")]
    assert {"on_topic", "used", "contradicted", "correction", "judge"} <= rows[0].keys()


def exported(path: Path, *turns: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(turn) + "\n" for turn in turns), "utf-8")
    return path


def exported_turn(id_: str, time: str, **more: Any) -> dict[str, Any]:
    items = [
        {"id": "4f2", "content": "The orders service listens on port 9090.", "source": "kms", "confidence": 0.7},
        {"id": "4f3", "content": "Brand colours are teal and coral."},
    ]
    said = "The stored entry is wrong: the orders service listens on port 8080, not on port 9090."
    turn = {"id": id_, "session": "s1", "timestamp": time, "prompt": PROMPT, "items": items, "response": said}
    return turn | more


def test_logged_turns_are_measured_without_an_item_of_our_own(tmp_path: Path) -> None:
    path = exported(tmp_path / "turns.jsonl", exported_turn("t1", "2026-10-01T12:00:00+02:00"))
    printed = [score("--input", str(path), "--log", root=tmp_path) for _ in range(2)]  # the second replaces the first
    assert [(row["item"], row["contradicted"]) for row in lines(printed[1].stdout)] == [("4f2", True), ("4f3", False)]
    settings = project_settings(tmp_path)
    with closing(open_quality_log(settings)) as log:
        (turn,) = log.since("")
        (day,) = log.rollups()
    assert (turn.id, turn.timestamp, turn.injected_items) == ("s1/t1", "2026-10-01T10:00:00Z", ())
    first, second = turn.other_items
    assert (first.own_id, first.source, first.confidence, second.source) == ("4f2", "kms", 0.7, "exported")
    assert first.verdict is not None
    assert first.verdict.contradicted
    assert (day.turns, day.others["kms"].contradicted, day.others["exported"].judged) == (1, 1, 1)
    status = quality_status(settings, today="2026-10-01")
    assert status.window.others["kms"].judged == 1
    assert status.window.injected == Counts()


def test_a_contradicted_item_of_others_names_the_call_that_corrects_it_until_that_is_made(tmp_path: Path) -> None:
    call = {"name": "mcp__kms__kms_supersede", "input": {"old_id": "4f2", "new_content": "x"}, "outcome": "ok"}
    first = exported_turn("t1", "2026-10-01T10:00:00Z")
    for turns, waiting, corrected in (
        ([first], 1, Rate(0, 1)),
        ([first, exported_turn("t2", "2026-10-01T11:00:00Z", items=[], tool_calls=[call])], 0, Rate(1, 1)),
    ):
        path = exported(tmp_path / "turns.jsonl", *turns)
        score("--input", str(path), "--log", root=tmp_path)
        found = quality_status(project_settings(tmp_path), today="2026-10-01")
        assert [one.tool for one in found.other_corrections] == ["kms_supersede"] * waiting
        assert found.others_corrected["kms"] == corrected
        assert [one.now.n for one in found.metrics] == [0, 0, 0, 0]  # the rates of our own items
        for one in found.other_corrections:
            assert one.arguments["old_id"] == "4f2"
            assert "8080" in one.arguments["new_content"]
            assert "9090" not in one.arguments["new_content"]
            page = render_quality(found, "markdown")
            assert "Correct 1 item of others that agents contradicted." in page
            assert "Correct it there: `kms_supersede" in page


def test_logging_needs_given_turns_with_a_time_that_is_one(tmp_path: Path) -> None:
    assert "--log needs --input" in score("--log", root=tmp_path).output
    path = exported(tmp_path / "turns.jsonl", exported_turn("t1", "yesterday"))
    with pytest.raises(InputError, match=":1 is no turn"):
        run("score", "--input", str(path), "--log", "--root", str(tmp_path))


@pytest.mark.parametrize("text", ["", "{", '{"id": "t1"}', '{"id": "t1", "prompt": 3, "response": ""}', "[]"])
def test_a_line_that_is_no_turn_is_an_error_with_its_number(tmp_path: Path, text: str) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(InputError, match=":1 is no turn" if text else "has no turn") as raised:
        run("score", "--input", str(path), "--root", str(tmp_path))
    assert raised.value.slug == "bad-turns"
