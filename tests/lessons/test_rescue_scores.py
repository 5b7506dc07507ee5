from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from knowbound.core.trace import AgentText, Outcome, Prompt, Step, ToolCall, ToolKind
from knowbound.lessons.rescue.scores import RescueRecord, judge, read_rescues, rescue_figures, score_rescues
from knowbound.stats.rate import Rate
from knowbound.traces.turns import TraceTurn

NOW = datetime(2026, 11, 16, 12, 5, tzinfo=UTC)
RECORD = RescueRecord(
    "2026-11-16T12:00:00Z", "r1", "s1", call="miss", status="found", places=(("src/cli/export.ts", 25),), delivered=True
)
MISS = ToolCall("miss", "Read", ToolKind.READ, Outcome.MISSING, query="src/commands/export.ts")


def turn(*calls: ToolCall, said: str = "") -> TraceTurn:
    return after(MISS, *calls, said=said)


def after(*calls: ToolCall, said: str = "") -> TraceTurn:
    steps = [Step(str(number), calls=(call,)) for number, call in enumerate(calls)]
    if said:
        steps.append(Step("last", said=(AgentText("m", said),)))
    return TraceTurn("s1", "claude-code", 1, Prompt("p", "Where is it?"), steps=steps)


def read(path: str, outcome: Outcome = Outcome.OK) -> ToolCall:
    return ToolCall(path, "Read", ToolKind.READ, outcome, query=path)


def test_an_agent_that_goes_there_used_it() -> None:
    assert judge(RECORD, [turn(read("README.md"), read("/home/me/shop/src/cli/export.ts"))], now=NOW) == (True, False)


def test_an_agent_that_finds_nothing_there_contradicts_it() -> None:
    assert judge(RECORD, [turn(read("src/cli/export.ts", Outcome.MISSING))], now=NOW) == (True, True)


FAILED = ToolCall("miss", "Bash", ToolKind.SHELL, Outcome.ERROR, query="rtk bun run test")
LESSON = RescueRecord(
    "2026-11-16T12:00:00Z", "r1", "s1", call="miss", status="found", rule="lesson", names=("bun run test", "rtk")
)


def run(command: str) -> ToolCall:
    return ToolCall(command, "Bash", ToolKind.SHELL, Outcome.OK, query=command)


def test_an_agent_that_calls_it_as_a_lesson_says_used_it() -> None:
    assert judge(LESSON, [after(FAILED, run("bun run test"))], now=NOW) == (True, False)


def test_an_agent_that_repeats_the_command_that_failed_did_not_use_the_lesson() -> None:
    again = [run("rtk bun run test") for _ in range(5)]
    assert judge(LESSON, [after(FAILED, *again)], now=NOW) == (False, False)


def test_an_answer_that_names_the_place_used_it() -> None:
    assert judge(RECORD, [turn(said="It is in src/cli/export.ts.")], now=NOW) == (True, False)


def test_five_calls_elsewhere_did_not_use_it() -> None:
    elsewhere = [read(f"docs/{number}.md") for number in range(5)]
    assert judge(RECORD, [turn(*elsewhere, read("src/cli/export.ts"))], now=NOW) == (False, False)


def test_while_the_agent_may_go_on_it_is_open() -> None:
    assert judge(RECORD, [turn(read("README.md"))], now=NOW) is None
    assert judge(RECORD, [turn(read("README.md"))], now=NOW.replace(hour=14)) == (False, False)
    assert judge(RECORD, [], now=NOW) is None


def test_a_score_is_added_to_its_record_and_counted(tmp_path: Path) -> None:
    transcript = tmp_path / "s1.jsonl"
    lines: list[dict[str, Any]] = [
        {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "Where is it?"}},
        _call("miss", "src/commands/export.ts"),
        _result("miss", "File does not exist.", is_error=True),
        _call("next", "src/cli/export.ts"),
        _result("next", "export function exportCommand() {}"),
    ]
    common = {"sessionId": "s1", "cwd": "/home/me/shop", "timestamp": "2026-11-16T12:00:00Z", "version": "2.1.197"}
    transcript.write_text("".join(json.dumps(common | line) + "\n" for line in lines), "utf-8")
    day = datetime.now(UTC).strftime("%Y-%m-%d")
    folder = tmp_path / "home" / "rescues"
    folder.mkdir(parents=True)
    begun: dict[str, Any] = {
        "time": f"{day}T00:00:00Z",
        "id": "r1",
        "session": "s1",
        "transcript": str(transcript),
        "call": "miss",
    }
    begun |= {"status": "found", "places": [["src/cli/export.ts", 25]], "event": "post-tool-use-failure"}
    ended = {
        "time": f"{day}T00:00:00Z",
        "id": "r1",
        "session": "s1",
        "outcome": "rescued",
        "delivered": True,
        "ms": 90.5,
    }
    item: dict[str, Any] = {"time": f"{day}T00:00:02Z", "id": "r3", "session": "s1", "status": "found", "rule": "item"}
    item |= {"transcript": str(transcript), "call": "miss", "delivered": True}  # without a name: it cannot be scored
    silent = {"time": f"{day}T00:00:01Z", "id": "r2", "session": "s1", "status": "silent", "delivered": False}
    (folder / f"{day}.jsonl").write_text(
        "".join(json.dumps(one) + "\n" for one in (begun, ended, silent, item)) + '{"cut', "utf-8"
    )
    assert score_rescues(tmp_path / "home") == 1
    assert score_rescues(tmp_path / "home") == 0
    first, second, third = read_rescues(tmp_path / "home")
    assert (first.used, first.contradicted, second.used, third.used) == (True, False, None, None)
    figures = rescue_figures(tmp_path / "home", day, day)
    assert figures is not None
    assert (figures.misses, figures.said, figures.absent, figures.known) == (3, 2, 0, 1)
    assert (figures.used, figures.contradicted) == (Rate(1, 1), Rate(0, 1))
    assert rescue_figures(tmp_path / "home", "2020-01-01", "2020-01-02") is None


def _call(id_: str, path: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": id_, "name": "Read", "input": {"file_path": path}}
    return {
        "type": "assistant",
        "uuid": f"a-{id_}",
        "message": {"id": f"m-{id_}", "role": "assistant", "content": [block]},
    }


def _result(id_: str, text: str, *, is_error: bool = False) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": is_error}
    return {"type": "user", "uuid": f"r-{id_}", "message": {"role": "user", "content": [block]}}
