from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.signal import SOURCES, Ending, Findings, Signal, SignalType, Status
from knowbound.core.trace import Outcome, Prompt, Start, Step, ToolCall, ToolKind
from knowbound.gaps.lens import LensSettings, SessionLens
from knowbound.gaps.reading import read_session
from knowbound.gaps.signals import terms_of
from knowbound.text.terms import similar
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.sessions import SharedEvents
from tests.transcripts import PROJECT, SESSION, Transcript


def findings(transcript: Transcript, folder: Path, **settings: object) -> Findings:
    path = transcript.write(folder)
    session = SessionFiles("claude-code", SESSION, (str(path),), {}, 0)
    return read_session(SharedEvents(session), LensSettings(**settings))[0]  # type: ignore[arg-type]


def searches(found: Findings) -> list[Signal]:
    return [signal for signal in found.signals if signal.type is SignalType.FAILED_SEARCH]


def repeats(found: Findings) -> list[Signal]:
    return [signal for signal in found.signals if signal.type is SignalType.REPEATED_FAILURE]


def test_an_empty_search_is_a_failed_search_with_the_way_back_to_its_line(tmp_path: Path) -> None:
    found = findings(Transcript().user("go").grep("revenue_schema", id_="t1").says("Hm."), tmp_path)
    (signal,) = searches(found)
    assert (signal.status, signal.weight, signal.turn, signal.sample) == (Status.UNDECIDED, 1.0, 1, f"{SESSION}#1")
    assert (signal.call_ids, signal.query, signal.tool) == (["t1"], "revenue_schema", "Grep")
    assert (Path(signal.file).name, signal.line) == (f"{SESSION}.jsonl", 2)


@pytest.mark.parametrize(
    "text",
    [
        "The user doesn't want to proceed with this tool use. The tool use was rejected",
        "<tool_use_error>Sibling tool call errored</tool_use_error>",
        "EACCES: permission denied, open '/x'",
        "<tool_use_error>InputValidationError: Grep failed</tool_use_error>",
        "Command timed out after 2m 0.0s",
    ],
)
def test_what_is_not_a_miss_is_no_signal(tmp_path: Path, text: str) -> None:
    transcript = Transcript().user("go").calls("Grep", {"pattern": "x"}, "t1").result("t1", text, text, is_error=True)
    assert findings(transcript, tmp_path).signals == []


def test_consecutive_similar_misses_are_one_event(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("retryBudget", id_="a").grep("retry_budget|retryBudget", id_="b")
    transcript.grep("RetryBudget", id_="c").grep("invoiceTotals", id_="d")
    assert [signal.call_ids for signal in searches(findings(transcript, tmp_path))] == [["a", "b", "c"], ["d"]]


def test_a_miss_found_later_in_the_sample_is_resolved(tmp_path: Path) -> None:
    transcript = Transcript().user("go").read("/work/shop/src/session.go", there=False, id_="a")
    transcript.read("/work/shop/internal/session.go", id_="b").grep("refundWindow", id_="c")
    one, two = searches(findings(transcript, tmp_path))
    assert (one.status, one.resolved_by) == (Status.RESOLVED, "b")
    assert two.status is Status.UNDECIDED


def test_a_find_in_the_next_sample_resolves_nothing(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("refundWindow", id_="a")
    transcript.user("<command-message>audit</command-message>\n<command-name>/audit</command-name>")
    transcript.grep("refundWindow", ["docs/refunds.md"], id_="b")
    (signal,) = searches(findings(transcript, tmp_path))
    assert signal.status is Status.UNDECIDED


def test_what_the_agent_says_makes_a_verification(tmp_path: Path) -> None:
    transcript = Transcript().user("go").says("Let me verify that no references to the old client remain:", message="m")
    (signal,) = searches(findings(transcript.grep("OldClient", message="m"), tmp_path))
    assert signal.status is Status.VERIFICATION


def test_a_command_shaped_as_an_absence_check_is_a_verification(tmp_path: Path) -> None:
    transcript = Transcript().user("go").bash('grep -rn "OldClient" src || echo "no remaining references"',
                                              "no remaining references")  # fmt: skip
    (signal,) = searches(findings(transcript, tmp_path))
    assert signal.status is Status.VERIFICATION


def test_reading_a_path_that_the_user_gave_is_not_the_agents_guess(tmp_path: Path) -> None:
    given = Transcript().user("please read docs/setup.md").read(f"{PROJECT}/docs/setup.md", there=False)
    assert searches(findings(given, tmp_path)) == []
    guessed = Transcript().user("please read setup.md").read(f"{PROJECT}/docs/setup.md", there=False)
    assert len(searches(findings(guessed, tmp_path))) == 1


@pytest.mark.parametrize(
    "prompt",
    [
        "read `docs/a.md`.",
        "look (docs/a.md).",
        "see [the page](docs/a.md)",
        "docs/a.md,docs/b.md",
        "docs/a.md's first part",
        "看一下docs/a.md，谢谢",
        "请读 docs/a.md。",
        "@docs/a.md:12 please",
        f"{PROJECT}/docs/a.md",
    ],
)
def test_a_path_that_the_user_gave_is_known_in_any_prose(tmp_path: Path, prompt: str) -> None:
    assert searches(findings(Transcript().user(prompt).read(f"{PROJECT}/docs/a.md", there=False), tmp_path)) == []
    assert (
        searches(
            findings(
                Transcript().user(prompt).bash("cat docs/a.md", "cat: docs/a.md: No such file or directory", code=1),
                tmp_path,
            )
        )
        == []
    )


def test_a_pattern_is_shown_as_it_was_written(tmp_path: Path) -> None:
    (signal,) = searches(findings(Transcript().user("go").grep(r"paths\.(Session\|Store)\b"), tmp_path))
    assert signal.query == r"paths\.(Session\|Store)\b"


def test_misses_of_two_turns_are_two_events(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("refundWindow").says("no").user("again").grep("refundWindow").says("no")
    assert [signal.turn for signal in searches(findings(transcript, tmp_path))] == [1, 2]


def test_a_look_before_the_agent_writes_the_file_itself_was_a_check(tmp_path: Path) -> None:
    transcript = Transcript().user("go").read(f"{PROJECT}/docs/plan.md", there=False)
    transcript.calls("Write", {"file_path": f"{PROJECT}/docs/plan.md", "content": "x"}, "w").result(
        "w", "ok", {"type": "create"}
    )
    (signal,) = searches(findings(transcript.read(f"{PROJECT}/docs/plan.md"), tmp_path))
    assert (signal.status, signal.ending) == (Status.VERIFICATION, Ending.CREATED)


def test_a_command_left_to_the_background_leaves_the_sample_complete(tmp_path: Path) -> None:
    transcript = Transcript().user("go").calls("Bash", {"command": "npm run dev"}, "b")
    transcript.result("b", "running", {"stdout": "", "stderr": "", "interrupted": False, "backgroundTaskId": "x"})
    assert [sample.incomplete for sample in findings(transcript, tmp_path).samples] == [""]


def test_the_type_of_a_text_signal_decides_whether_it_is_a_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {type_ for type_, source in SOURCES.items() if source.is_doubt} == {
        SignalType.EXPLICIT_MARKER,
        SignalType.HEDGING,
    }
    transcript = Transcript().user("go").says("[inferred] `loadRates` reads the table.").grep("loadRates", ["src/a.py"])
    (doubt,) = findings(transcript, tmp_path).signals
    assert doubt.ending is Ending.FOUND
    plain = SOURCES[SignalType.EXPLICIT_MARKER]._replace(is_doubt=False)
    monkeypatch.setitem(SOURCES, SignalType.EXPLICIT_MARKER, plain)
    (marked,) = findings(transcript, tmp_path).signals
    assert marked.ending is None


def test_let_me_check_if_alone_is_no_doubt_and_a_marker_that_is_talked_about_neither(tmp_path: Path) -> None:
    transcript = Transcript().user("go").says("Let me check if the server is running.").says("请用【推断】标记这些行。")
    assert findings(transcript, tmp_path).signals == []


def test_long_words_without_spaces_stand_beside_a_miss(tmp_path: Path) -> None:
    found = findings(Transcript().user("go").grep("refund").says("退款" * 200), tmp_path)
    assert searches(found)[0].said.startswith("退款")


def test_the_same_skill_invoked_again_is_another_sample(tmp_path: Path) -> None:
    command = "<command-message>audit</command-message>\n<command-name>/audit</command-name>"
    transcript = Transcript().user(command).grep("a", ["x"]).says("done").user(command).says("done")
    assert [sample.name for sample in findings(transcript, tmp_path).samples] == ["audit", "audit"]


def test_three_failed_calls_of_a_class_within_three_steps_are_a_repeated_failure(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("alpha", id_="a").grep("beta", id_="b").grep("gamma", id_="c")
    found = findings(transcript.grep("delta", id_="d"), tmp_path)
    (signal,) = repeats(found)
    assert signal.call_ids == ["a", "b", "c", "d"]
    assert signal.weight == 1.0


def test_repeated_failure_is_counted_before_similar_searches_collapse(tmp_path: Path) -> None:
    found = findings(Transcript().user("go").grep("cart").grep("cart").grep("cart"), tmp_path)
    assert len(searches(found)) == 1
    assert len(repeats(found)) == 1


def test_a_success_of_the_class_breaks_a_repeated_failure(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("alpha").grep("beta", ["b.py"]).grep("gamma").grep("delta")
    assert repeats(findings(transcript, tmp_path)) == []


def test_failures_spread_over_more_than_three_steps_are_no_repeated_failure(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("alpha").says("a").grep("beta").says("b").grep("gamma")
    assert repeats(findings(transcript, tmp_path)) == []


def test_parallel_calls_of_one_step_count(tmp_path: Path) -> None:
    transcript = Transcript().user("go")
    for name in ("alpha", "beta", "gamma"):
        transcript.grep(name, message="same")
    assert len(repeats(findings(transcript, tmp_path))) == 1


def test_different_classes_do_not_add_up(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("alpha").read("/nope.md", there=False).bash("rg beta", code=1)
    assert repeats(findings(transcript, tmp_path)) == []


def test_a_repeated_failure_grows_and_is_resolved_with_its_misses(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("alphaFlow").grep("betaFlow").grep("gammaFlow").grep("deltaFlow")
    (signal,) = repeats(findings(transcript, tmp_path))
    assert signal.reason == "4 searches in consecutive steps, all failed"
    assert signal.query == "alphaFlow · betaFlow · gammaFlow · deltaFlow"
    assert signal.status is Status.UNDECIDED
    for name in ("alphaFlow", "betaFlow", "gammaFlow", "deltaFlow"):
        transcript.grep(name, [f"src/{name}.ts"])
    assert repeats(findings(transcript, tmp_path))[0].status is Status.RESOLVED


def test_reads_that_the_user_asked_for_are_no_repeated_failure(tmp_path: Path) -> None:
    transcript = Transcript().user("read docs/a.md docs/b.md docs/c.md")
    for name in "abc":
        transcript.read(f"{PROJECT}/docs/{name}.md", there=False)
    assert findings(transcript, tmp_path).signals == []


def test_the_number_of_calls_is_a_setting(tmp_path: Path) -> None:
    transcript = Transcript().user("go").grep("alpha").grep("beta")
    assert len(repeats(findings(transcript, tmp_path, repeat_at_least=2))) == 1


def test_a_skill_lasts_from_its_invocation_to_the_next(tmp_path: Path) -> None:
    transcript = (
        Transcript()
        .user("hello")
        .says("hi")
        .calls("Skill", {"skill": "release"}, "s1")
        .result("s1", "ok", {"success": True, "commandName": "release"})
        .grep("changelog")
        .user("go on")
        .says("done")
        .read("/work/shop/.claude/skills/audit/SKILL.md")
        .grep("ledger")
        .says("done")
    )
    found = findings(transcript, tmp_path)
    assert [(sample.name, sample.incomplete) for sample in found.samples] == [
        ("general", ""), ("release", ""), ("audit", ""),
    ]  # fmt: skip
    by_sample = {signal.sample.rpartition("#")[2]: signal.query for signal in searches(found)}
    assert by_sample == {"2": "changelog", "3": "ledger"}


def test_editing_the_file_of_a_skill_is_no_use_of_it(tmp_path: Path) -> None:
    file = f"{PROJECT}/.claude/skills/audit/SKILL.md"
    transcript = Transcript().user("go").calls("Edit", {"file_path": file, "old_string": "a", "new_string": "b"}, "e")
    transcript.result("e", "ok", {"type": "update"}).says("done").grep("ledger").says("done")
    assert [sample.name for sample in findings(transcript, tmp_path).samples] == ["general"]


def test_a_session_that_begins_with_a_skill_has_no_general_sample(tmp_path: Path) -> None:
    command = "<command-message>audit</command-message>\n<command-name>/audit</command-name>"
    found = findings(Transcript().user(command).says("done"), tmp_path)
    assert [sample.name for sample in found.samples] == ["audit"]


@pytest.mark.parametrize(
    ("transcript", "reason"),
    [
        (Transcript().user("go"), "no answer"),
        (Transcript().user("go").says("API Error: overloaded", isApiErrorMessage=True), "the agent failed"),
        (Transcript().user("go").calls("Grep", {"pattern": "x"}), "ends in the middle"),
    ],
)
def test_a_sample_without_a_complete_trace_says_why(tmp_path: Path, transcript: Transcript, reason: str) -> None:
    (sample,) = findings(transcript, tmp_path).samples
    assert reason in sample.incomplete


def test_a_step_whose_calls_all_lack_a_result_is_no_answer(tmp_path: Path) -> None:
    (sample,) = findings(Transcript().user("go").calls("Grep", {"pattern": "x"}), tmp_path).samples
    assert (sample.steps, sample.answered) == (1, 0)


def test_a_failure_that_the_agent_got_over_leaves_the_sample_complete(tmp_path: Path) -> None:
    transcript = Transcript().user("go").says("API Error", isApiErrorMessage=True).user("again").says("Done.")
    assert [sample.incomplete for sample in findings(transcript, tmp_path).samples] == [""]


def test_the_agents_own_words_stand_beside_a_miss(tmp_path: Path) -> None:
    before = Transcript().user("go").says("I need the refund policy.", message="m").grep("refund", message="m")
    assert searches(findings(before, tmp_path))[0].said == "I need the refund policy."
    after = Transcript().user("go").grep("refund").says("There is no refund policy here.")
    assert searches(findings(after, tmp_path))[0].said == "There is no refund policy here."


def test_knowledge_files_are_reached_by_read_hit_shell_and_injection(tmp_path: Path) -> None:
    transcript = (
        Transcript()
        .line("attachment", attachment={"type": "nested_memory", "path": f"{PROJECT}/lib/CLAUDE.md", "content": "x"})
        .user("go")
        .read(f"{PROJECT}/CLAUDE.md")
        .grep("pay", [".claude/knowledge/payments.md", "src/pay.ts"])
        .bash("cat .claude/rules/style.md", "Be kind.")
        .read(f"{PROJECT}/.claude/skills/nope/SKILL.md", there=False)
        .read(f"{PROJECT}/src/pay.ts")
        .says("done")
    )
    assert sorted(findings(transcript, tmp_path).reached) == [
        ".claude/knowledge/payments.md", ".claude/rules/style.md", "CLAUDE.md", "lib/CLAUDE.md",
    ]  # fmt: skip


def test_globs_of_the_config_are_knowledge_too(tmp_path: Path) -> None:
    transcript = Transcript().user("go").read(f"{PROJECT}/docs/a/b.md").read(f"{PROJECT}/docs/top.md")
    assert findings(transcript, tmp_path, knowledge=("docs/**/*.md",)).reached == ["docs/a/b.md", "docs/top.md"]


def test_what_was_injected_is_kept_with_its_turn(tmp_path: Path) -> None:
    transcript = Transcript().line(
        "attachment",
        attachment={"type": "hook_additional_context", "hookEvent": "SessionStart", "content": ["a" * 600]},
    )
    (turn,) = findings(transcript.user("go").says("ok"), tmp_path).turns
    assert [(one.source, len(one.excerpt), one.content_length) for one in turn.injected] == [
        ("hook:SessionStart", 500, 600)
    ]


def test_secrets_are_redacted_before_anything_is_kept(tmp_path: Path) -> None:
    secret = "hunter2" + "hunter2"
    transcript = Transcript().user(f"use postgres://app:{secret}@db/orders").grep(f"password={secret}")
    transcript.says(f"Not sure whether postgres://app:{secret}@db/orders is the right database.")
    import msgspec

    assert secret.encode() not in msgspec.json.encode(findings(transcript, tmp_path))


def test_a_background_sub_agent_belongs_to_the_turn_that_started_it() -> None:
    def miss(step: str, agent: str) -> Step:
        call = ToolCall(step, "Grep", ToolKind.SEARCH, Outcome.EMPTY, query=step)
        return Step(step, calls=(call,), agent_id=agent)

    lens = SessionLens(session="s", agent="x")
    lens.follow(
        iter([Start("s", "x"), Prompt("1", "one"), miss("alpha", "sub"), Prompt("2", "two"), miss("beta", "sub")])
    )
    assert [signal.turn for signal in lens.findings([]).signals] == [1, 1]


QUERIES = st.sampled_from(["cart", "cartTotal", "cart_total", "invoice", "invoiceLine", "ledger", "a|b", "**/*.md", ""])


@given(st.lists(QUERIES, max_size=12))
def test_collapsing_loses_no_call_and_joins_only_similar_neighbours(queries: list[str]) -> None:
    calls = [ToolCall(str(i), "Grep", ToolKind.SEARCH, Outcome.EMPTY, query=query) for i, query in enumerate(queries)]
    lens = SessionLens("s", "x", LensSettings(repeat_at_least=1000))
    lens.follow(iter([Prompt("1", "go"), *(Step(call.id, calls=(call,)) for call in calls)]))
    events = [signal.call_ids for signal in lens.findings([]).signals]
    assert [id_ for event in events for id_ in event] == [call.id for call in calls]
    for event in events:
        for one, two in pairwise(event):
            assert similar(terms_of(calls[int(event[0])]), terms_of(calls[int(two)])), (one, two)
