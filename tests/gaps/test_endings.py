"""How a miss ends, by what the same agent does next (specification 1, section 10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.signal import NOT_CLOSED, Cost, Ending, Findings, FoundPlace, Signal, SignalType, Status
from knowbound.core.trace import Event, Outcome, Prompt, Start, Step, ToolCall, ToolKind
from knowbound.gaps.lens import LensSettings, SessionLens
from knowbound.gaps.reading import judge_findings, read_session
from knowbound.judge.hedging.rules import RulesJudge
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.sessions import SharedEvents
from tests.transcripts import PROJECT, SESSION, Transcript


def read(transcript: Transcript, folder: Path) -> Findings:
    """The findings with their hedges judged, as `observe` has them."""
    file = transcript.write(folder / "session.jsonl")
    (found,) = read_session(SharedEvents(SessionFiles("claude-code", SESSION, (str(file),), {}, 0)), LensSettings())
    judge_findings([found], RulesJudge())
    return found


def miss(transcript: Transcript, folder: Path) -> Signal:
    (found,) = [one for one in read(transcript, folder).signals if one.type is SignalType.FAILED_SEARCH]
    return found


def ended(transcript: Transcript, folder: Path) -> tuple[Status, Ending | None]:
    found = miss(transcript, folder)
    return found.status, found.ending


FOUND = (Status.RESOLVED, Ending.FOUND)


class TestFound:
    def test_by_another_extension(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").read(f"{PROJECT}/.lint.yml", there=False).read(f"{PROJECT}/.lint.yaml")
        found = miss(transcript.says("done"), tmp_path)
        assert (found.status, found.ending, found.found_at) == (*FOUND, FoundPlace(".lint.yaml"))

    def test_in_another_folder(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").read(f"{PROJECT}/src/logging/logging.go", there=False)
        found = miss(transcript.read(f"{PROJECT}/internal/logging.go").says("done"), tmp_path)
        assert (found.status, found.found_at) == (Status.RESOLVED, FoundPlace("internal/logging.go"))

    def test_by_a_looser_pattern_that_shares_a_name(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("func handleRefundRequest").grep("RefundRequest", ["src/refund.go"])
        assert ended(transcript.says("done"), tmp_path) == FOUND

    def test_in_what_a_file_shows(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("refundWindowDays")
        transcript.calls("Read", {"file_path": f"{PROJECT}/src/rules.py"}, "r").result(
            "r", "12→refund_window_days = 14", {"type": "text", "file": {}}
        )
        assert ended(transcript.says("done"), tmp_path) == FOUND

    def test_in_the_same_step(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go")
        transcript.calls("Glob", {"pattern": "src/**/*payroll*"}, "a", "m").calls(
            "Grep", {"pattern": "payrollRun"}, "b", "m"
        )
        transcript.result("a", "No files found", {"filenames": [], "numFiles": 0})
        transcript.result("b", "src/pay.py", {"filenames": ["src/pay.py"], "numFiles": 1})
        assert ended(transcript.says("done"), tmp_path) == FOUND

    def test_later_in_the_sample_by_the_very_name_only(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").read(f"{PROJECT}/docs/vatRates.md", there=False).says("I need it.")
        transcript.user("It is in the wiki folder.")
        for at in range(12):
            transcript.grep(f"unrelated{at}", [f"src/u{at}.py"])
        assert ended(transcript, tmp_path) == (Status.UNDECIDED, Ending.WENT_ON)
        assert ended(transcript.read(f"{PROJECT}/wiki/vatRates.md").says("ok"), tmp_path) == FOUND

    @pytest.mark.parametrize(("between", "ending"), [(7, Ending.FOUND), (8, Ending.WENT_ON)])
    def test_by_a_part_of_the_name_within_eight_steps(self, tmp_path: Path, between: int, ending: Ending) -> None:
        transcript = Transcript().user("go").grep("handleRefundRequest")
        for at in range(between):
            transcript.grep(f"unrelated{at}", [f"src/u{at}.py"])
        assert ended(transcript.grep("RefundRequest", ["src/pay.py"]).says("done"), tmp_path)[1] is ending

    def test_not_by_a_word_that_every_search_has(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("parse config").grep("config", ["src/config.py"]).says("done")
        assert ended(transcript, tmp_path)[1] is not Ending.FOUND

    def test_not_by_another_agent(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("ledgerExport").grep("ledgerExport2")
        transcript.calls("Task", {"prompt": "look", "subagent_type": "x"}, "t")
        transcript.calls("Grep", {"pattern": "ledgerExport"}, "s", isSidechain=True, agentId="a1")
        transcript.result("s", "x.py", {"filenames": ["x.py"], "numFiles": 1}, isSidechain=True, agentId="a1")
        transcript.result("t", "done", {"agentId": "a1"}).says("done")
        assert ended(transcript, tmp_path)[1] is not Ending.FOUND

    def test_it_costs_the_searches_until_then(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").read(f"{PROJECT}/docs/vat.md", there=False)
        transcript.grep("taxes", ["src/a.py"]).grep("rates", ["src/b.py"]).read(f"{PROJECT}/wiki/vat.md").says("ok")
        cost = miss(transcript, tmp_path).cost
        assert cost is not None
        assert (cost.calls, cost.steps) == (4, 3)
        assert cost.seconds is not None
        assert cost.seconds > 0


def test_a_miss_costs_the_tokens_of_the_steps_that_follow() -> None:
    call = ToolCall("c", "Grep", ToolKind.SEARCH, Outcome.EMPTY, query="refundLedger")
    steps = [Step("1", calls=(call,), tokens=900), Step("2", tokens=30), Step("3"), Step("4", tokens=12)]
    lens = SessionLens(session="s", agent="x")
    lens.follow(iter([Prompt("p", "go"), *steps]))
    (signal,) = lens.findings([]).signals
    assert signal.cost == Cost(1, 3, tokens=42)


class TestCheck:
    @pytest.mark.parametrize(
        ("words", "status"),
        [
            ("Let me check if there is an existing helper for refunds:", Status.VERIFICATION),
            ("Is there any other caller?", Status.VERIFICATION),
            ("先检查是否已有退款工具。", Status.VERIFICATION),
            ("Let me verify that no references remain.", Status.VERIFICATION),
        ],
    )
    def test_the_agent_asks_whether_or_expects_nothing(self, tmp_path: Path, words: str, status: Status) -> None:
        transcript = Transcript().user("go").says(words, "m").grep("refundHelper", message="m")
        transcript.read(f"{PROJECT}/src/App.tsx").says("done")
        assert ended(transcript, tmp_path) == (status, None)

    def test_a_search_in_one_file(self, tmp_path: Path) -> None:
        transcript = (
            Transcript().user("go").calls("Grep", {"pattern": "sticky", "path": f"{PROJECT}/src/Tabs.tsx"}, "g")
        )
        transcript.result("g", "No matches found", {"filenames": [], "numFiles": 0})
        assert ended(transcript.read(f"{PROJECT}/src/App.tsx").says("done"), tmp_path) == (Status.VERIFICATION, None)

    def test_a_look_before_creating(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("refundWindowDays")
        transcript.calls(
            "Edit",
            {"file_path": f"{PROJECT}/src/a.py", "old_string": "x", "new_string": "refund_window_days = 14"},
            "e",
        ).result("e", "ok", {"type": "update"})
        assert ended(transcript.says("done"), tmp_path) == (Status.VERIFICATION, Ending.CREATED)

    def test_absence_is_the_conclusion(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("refundHelper").grep("refundHelper2")
        transcript.says("There is no helper for refunds yet, so I will add one.")
        assert {(one.status, one.ending) for one in read(transcript, tmp_path).signals} == {(Status.VERIFICATION, None)}

    def test_a_later_hit_that_shares_a_word_is_no_answer(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("refundLedger").grep("billing ledger", ["src/App.tsx"]).says("done")
        assert ended(transcript, tmp_path) == (Status.UNDECIDED, Ending.WENT_ON)

    @pytest.mark.parametrize(
        "words",
        [
            "All right, let me try the wiki instead.",
            "Okay, where else could the refund policy be?",
            "I don't have the refund policy, so the window will be 30 days.",
        ],
    )
    def test_not_by_any_word_that_begins_a_sentence(self, tmp_path: Path, words: str) -> None:
        transcript = Transcript().user("go").says("Let me find the refund policy.", "m")
        transcript.grep("refundPolicy", message="m").says(words).read(f"{PROJECT}/src/App.tsx").says("done")
        assert ended(transcript, tmp_path)[0] in NOT_CLOSED


@pytest.mark.parametrize("path", ["", " ", "./", f"{PROJECT}/", PROJECT])
def test_a_path_may_name_nothing(tmp_path: Path, path: str) -> None:
    transcript = Transcript().user("go").read(path, there=False)
    transcript.bash(f"ls {path}", "ls: cannot access: No such file or directory", code=2).says("done")
    assert read(transcript, tmp_path).tool_calls == 2


def test_a_chain_of_searches_goes_by_the_first_name(tmp_path: Path) -> None:
    transcript = Transcript().user("go")
    for name in ("refundPolicyWindow", "policy_window_days", "windowForPolicy"):
        transcript.grep(name)
    found = read(transcript.says("done"), tmp_path)
    names = {one.names[0] for one in found.signals if one.type is SignalType.FAILED_SEARCH}
    assert names == {"refundpolicywindow"}


class TestOpen:
    def test_asked(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("nginxUpstream").read(f"{PROJECT}/README.md")
        transcript.says("Where does the nginx upstream live? I only see the application here.")
        assert ended(transcript.user("On the host."), tmp_path) == (Status.RESOLVED, Ending.ASKED)

    def test_asked_with_a_tool(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("nginxUpstream")
        question = {"questions": [{"question": "Which host has the nginx configuration?"}]}
        transcript.calls("AskUserQuestion", question, "q").result("q", "The edge host.")
        assert ended(transcript.says("done"), tmp_path) == (Status.RESOLVED, Ending.ASKED)

    def test_gave_up(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("refundLedger").read(f"{PROJECT}/README.md")
        transcript.says("I could not find where the refund ledger is written.")
        assert ended(transcript, tmp_path) == (Status.OPEN, Ending.GAVE_UP)

    def test_guessed(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("refundLedger").read(f"{PROJECT}/README.md")
        transcript.says("I'm not sure which service owns the refund ledger, probably billing.")
        assert ended(transcript, tmp_path) == (Status.UNDECIDED, Ending.GUESSED)

    def test_again_and_again_in_vain(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").grep("refundLedger").grep("refund_ledger").read(f"{PROJECT}/README.md")
        assert ended(transcript.says("done"), tmp_path) == (Status.UNDECIDED, Ending.WENT_ON)

    def test_the_last_thing_it_tried(self, tmp_path: Path) -> None:
        assert ended(Transcript().user("go").grep("refundLedger").says("done"), tmp_path) == (
            Status.UNDECIDED,
            Ending.WENT_ON,
        )

    def test_a_path_that_it_took_to_be_there(self, tmp_path: Path) -> None:
        transcript = Transcript().user("go").read(f"{PROJECT}/docs/ledger.md", there=False).read(f"{PROJECT}/main.py")
        assert ended(transcript.says("done"), tmp_path) == (Status.UNDECIDED, Ending.WENT_ON)


def test_the_folder_may_become_known_after_the_prompt() -> None:
    """As in the streams of `claude -p` and `codex exec`: a path that the prompt names is not the agent's guess."""
    call = ToolCall("c", "Read", ToolKind.READ, Outcome.MISSING, query=f"{PROJECT}/docs/a.md", output="")
    events: list[Event] = [Start("s", "codex"), Prompt("p", "Look at docs/a.md"), Start("s", "codex", PROJECT)]
    lens = SessionLens(session="s", agent="codex")
    lens.follow(iter([*events, Step("1", calls=(call,))]))
    assert lens.findings([]).signals == []


def test_a_hedge_that_the_next_call_answers_is_resolved(tmp_path: Path) -> None:
    transcript = Transcript().user("go").says("I am not sure whether the timeout is in `gateway_limits`.", "m")
    transcript.grep("gateway_limits", ["src/gateway_limits.py"], message="m").says("Yes.")
    (hedge,) = read(transcript, tmp_path).signals
    assert (hedge.type, hedge.status) == (SignalType.HEDGING, Status.RESOLVED)


@pytest.mark.parametrize("by", ["read", "search"])
def test_a_miss_that_is_found_long_after_it_is_resolved_where_it_was_found(tmp_path: Path, by: str) -> None:
    transcript = Transcript().user("go").grep("refund_ledger")
    for number in range(30):
        transcript.read(f"{PROJECT}/src/part{number}.py")
    if by == "read":
        transcript.read(f"{PROJECT}/src/refund_ledger.py")
    else:
        transcript.grep("class Ledger", ["src/refund_ledger.py"])
    found = miss(transcript.says("done"), tmp_path)
    assert (found.status, found.found_at) == (Status.RESOLVED, FoundPlace("src/refund_ledger.py"))


def test_a_doubt_said_last_before_a_look_is_about_what_the_look_shows(tmp_path: Path) -> None:
    transcript = Transcript().user("go").says("I am not sure whether the timeout is in `gateway_limits`.", "m")
    transcript.read(f"{PROJECT}/src/app.py", message="m").says("Yes.")
    (hedge,) = read(transcript, tmp_path).signals
    assert (hedge.status, hedge.ending) == FOUND


def test_a_hedge_that_nothing_answers_stays_open(tmp_path: Path) -> None:
    transcript = Transcript().user("go").says("I'm not sure which service owns the refund ledger.")
    (hedge,) = read(transcript, tmp_path).signals
    assert (hedge.status, hedge.ending) == (Status.OPEN, Ending.GUESSED)


def test_a_name_that_was_redacted_is_no_name(tmp_path: Path) -> None:
    secret = "hunter2" + "hunter2"
    found = read(Transcript().user("go").grep(f"password={secret}").says("done"), tmp_path)
    assert all(secret not in name for signal in found.signals for name in signal.names)
