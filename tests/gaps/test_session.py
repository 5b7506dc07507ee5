"""One session from its events to its findings: turns, samples, knowledge files, the agent's words, limits."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from knowbound.core.signal import Findings, InjectedText, Sample, Signal, SignalType, Status
from knowbound.core.trace import (
    AgentText,
    Author,
    Broken,
    Event,
    Injection,
    Outcome,
    Prompt,
    Skill,
    Start,
    Step,
    ToolKind,
)
from knowbound.gaps import lens
from knowbound.gaps.lens import LensSettings, SessionLens
from tests.gaps.stories import SHOP, call, read, search, step

START = Start("s", "codex", SHOP, "1.2", "2026-11-01T10:00:00Z")


def findings(*events: Event, settings: LensSettings | None = None) -> Findings:
    one = SessionLens("s", "codex", settings or LensSettings())
    assert one.follow(iter((START, *events))) is None
    return one.findings(("/t/s.jsonl",))


def samples(found: Findings) -> list[tuple[str, str, int, int, int, int, str]]:
    return [(one.id, one.name, one.turns, one.steps, one.calls, one.answered, one.incomplete) for one in found.samples]


def test_a_session_has_its_turns_with_their_steps_and_calls() -> None:
    found = findings(
        Injection("hook", "before"),
        Prompt("p", "go", "2026-11-01T10:00:01Z", "/t/s.jsonl", 4, "turn-1", Author.PERSON),
        step(read("a.py"), search("x", "b.py")),
        Injection("hook", "during", "docs/x.txt", 7, "k1"),
        step(said="First."),
        step(said="Not mine.", agent_id="a1"),
        step(call(ToolKind.SHELL, "make"), said="Last."),
        Prompt("q", "more"),
    )
    first, second = found.turns
    assert (first.index, first.sample, first.prompt, first.time, first.file) == (
        1, "s#1", "go", "2026-11-01T10:00:01Z", "/t/s.jsonl"
    )  # fmt: skip
    assert (first.line, first.client_turn, first.author) == (4, "turn-1", Author.PERSON)
    assert (first.steps, first.calls, first.answer) == (4, 3, "Last.")
    assert first.injected == [
        InjectedText("hook", "", "before", 6),
        InjectedText("hook", "docs/x.txt", "during", 6, 7, "k1"),
    ]
    assert (second.index, second.steps, second.answer, second.injected) == (2, 0, "", [])
    assert (found.session, found.agent, found.project, found.version) == ("s", "codex", SHOP, "1.2")
    assert (found.tool_calls, found.files, found.unknown_calls) == (3, ["/t/s.jsonl"], 0)
    assert samples(found) == [("s#1", "general", 2, 4, 3, 4, "")]


def test_a_time_span_goes_from_the_earliest_to_the_latest_event() -> None:
    times = ("2026-11-01T10:00:05Z", "", "2026-11-01T09:59:00Z", "2026-11-01T10:00:04Z")
    found = findings(*(Prompt("p", "go", time) for time in times))
    assert (found.started, found.ended) == ("2026-11-01T09:59:00Z", "2026-11-01T10:00:05Z")


def test_the_digest_of_a_session_follows_the_ids_of_its_steps() -> None:
    def digest(*ids: str) -> str:
        return findings(*(Step(id=id_) for id_ in ids)).digest

    assert (digest(), digest("a")) == ("00000000", "e8b7be43")
    assert digest("a", "b") != digest("b", "a")
    assert digest("a", "b") == "9e83486d"


@pytest.mark.parametrize(
    ("events", "incomplete", "answered"),
    [
        ([Prompt("p", "go")], "no answer of the agent", 0),
        ([Prompt("p", "go"), step(said="Done.")], "", 1),
        (
            [Prompt("p", "go"), step(call(ToolKind.SHELL, "make", Outcome.UNKNOWN))],
            "ends in the middle of a tool call",
            0,
        ),
        ([step(call(ToolKind.SHELL, "make", Outcome.UNKNOWN), said="So.")], "ends in the middle of a tool call", 1),
        ([step(call(ToolKind.SHELL, "make", Outcome.UNKNOWN), read("a.py"))], "ends in the middle of a tool call", 1),
        ([step(call(ToolKind.SHELL, "make", Outcome.UNKNOWN)), step(said="Done.")], "", 1),
        ([step(call(ToolKind.SHELL, "make", Outcome.UNKNOWN), agent_id="a1")], "", 0),
        ([step(call(ToolKind.SHELL, "make", Outcome.ERROR))], "", 1),
        ([step(said="So."), Broken("rate limited")], "the agent failed: rate limited", 1),
        ([step(said="So."), Broken("")], "the agent failed: the agent failed", 1),
        ([Broken("rate limited"), step(said="So.")], "", 1),
        ([step()], "", 0),
    ],
)
def test_a_sample_is_incomplete_where_the_agent_failed_or_never_answered(
    events: list[Event], incomplete: str, answered: int
) -> None:
    (sample,) = findings(*events).samples
    assert (sample.incomplete, sample.answered) == (incomplete, answered)


def skill(name: str) -> Skill:
    return Skill(name, "call")


WORK = step(said="So.")


@pytest.mark.parametrize(
    ("events", "names"),
    [
        ([WORK, WORK, skill("ship"), WORK], ["general", "ship"]),
        ([WORK, skill("ship"), WORK], ["ship"]),  # the prompt led straight to the skill
        ([step(search("refundLedger")), skill("ship"), WORK], ["general", "ship"]),  # a signal is work
        ([skill("ship"), WORK], ["ship"]),
        ([skill("ship"), WORK, skill("ship"), WORK], ["ship"]),
        ([skill("ship"), WORK, WORK, skill("ship"), WORK], ["ship", "ship"]),  # invoked again
        ([skill("ship"), WORK, skill("audit"), WORK], ["ship", "audit"]),
        ([WORK, WORK, skill("ship")], ["general"]),
        ([WORK, WORK, step(read("/x/ship/SKILL.md")), WORK], ["general", "ship"]),
        ([skill("ship"), WORK, WORK, step(read("/x/ship/SKILL.md")), WORK], ["ship"]),
        ([skill("team:ship"), WORK, WORK, step(read("/x/ship/SKILL.md")), WORK], ["team:ship"]),
        ([WORK, WORK, step(read("/x/ship/SKILL.md", there=False)), WORK], ["general"]),
        ([WORK, WORK, step(search("/x/ship/SKILL.md", "a")), WORK], ["general"]),
        ([WORK, WORK, step(read("/x/ship/README.md")), WORK], ["general"]),
        ([WORK, WORK, step(read("ship/SKILL.md")), WORK], ["general", "ship"]),
    ],
)
def test_a_skill_begins_a_sample(events: list[Event], names: list[str]) -> None:
    found = findings(Prompt("p", "go"), *events)
    assert [sample.name for sample in found.samples] == names
    assert [sample.id for sample in found.samples] == [f"s#{at}" for at in range(1, len(names) + 1)]


def test_a_failure_ends_with_the_sample_in_which_it_was() -> None:
    found = findings(Prompt("p", "go"), WORK, WORK, Broken("crash"), skill("ship"), WORK)
    assert [sample.incomplete for sample in found.samples] == ["the agent failed: crash", ""]
    cut = step(call(ToolKind.SHELL, "make", Outcome.UNKNOWN))
    found = findings(Prompt("p", "go"), WORK, cut, skill("ship"), Prompt("q", "go"))
    assert [sample.incomplete for sample in found.samples] == [
        "ends in the middle of a tool call", "no answer of the agent"
    ]  # fmt: skip


def test_a_sub_agent_belongs_to_the_turn_and_sample_that_started_it() -> None:
    sub = step(search("refundLedger"), agent_id="a1")
    found = findings(Prompt("p", "go"), WORK, sub, Prompt("q", "more"), skill("ship"), sub, step(search("vatRates")))
    assert [(signal.turn, signal.sample, signal.step, signal.agent_id) for signal in found.signals] == [
        (1, "s#1", 1, "a1"), (1, "s#1", 2, "a1"), (2, "s#2", 2, "")
    ]  # fmt: skip
    assert [turn.steps for turn in found.turns] == [3, 1]
    assert [(sample.name, sample.steps) for sample in found.samples] == [("general", 3), ("ship", 1)]


def test_a_signal_before_the_first_prompt_is_of_turn_0() -> None:
    (signal,) = findings(step(search("refundLedger"))).signals
    assert (signal.turn, signal.step, signal.sample, signal.session) == (0, 1, "s#1", "s")


KNOWN = "/work/shop/.claude/docs/a.md"


def test_knowledge_files_are_reached_by_calls_that_found_them_and_by_what_is_injected() -> None:
    found = findings(
        Injection("nested_memory", "x", "/work/shop/CLAUDE.md"),
        Injection("skill", "x", "/work/shop/AGENTS.md"),
        Injection("memory", "x", "/work/shop/src/a.py"),
        Prompt("p", "go"),
        step(read(KNOWN), read("/work/shop/.claude/docs/b.md", there=False), read("/work/shop/src/a.py")),
    )
    assert found.reached == ["CLAUDE.md", "AGENTS.md", ".claude/docs/a.md"]
    assert found.loaded == ["CLAUDE.md"]
    with_globs = findings(step(read("/work/shop/src/a.py"), read(KNOWN)), settings=LensSettings(("src/*.py",)))
    assert with_globs.reached == ["src/a.py", ".claude/docs/a.md"]


def words_of(*events: Event) -> list[str]:
    return [signal.said for signal in findings(Prompt("p", "go"), *events).signals if signal.query]


def test_a_miss_keeps_the_words_before_it_else_those_that_follow() -> None:
    missed = search("refundLedger")
    assert words_of(step(missed, said="I need it.")) == ["I need it."]
    assert words_of(step(missed), step(read("a.py")), step(said="I needed it."), step(said="Done.")) == ["I needed it."]
    assert words_of(step(missed), step(said="Other.", agent_id="a1"), step(said="Mine.")) == ["Mine."]
    assert words_of(step(missed), step(said="  ")) == [""]
    assert words_of(step(missed), step(search("vatRates")), step(said="Both.")) == ["Both.", "Both."]


def test_long_words_are_cut_between_words_at_the_side_that_is_far_from_the_miss() -> None:
    long = " ".join(f"word{at:02d}" for at in range(60))
    (before,) = words_of(step(search("refundLedger"), said=long))
    assert (before[:8], before[-6:], len(before)) == ("… word26", "word59", 239)
    (after,) = words_of(step(search("refundLedger")), step(said=long))
    assert (after[:6], after[-8:]) == ("word00", "word33 …")
    for whole in ("x" * 240, "a " * 119 + "bb"):
        assert words_of(step(search("refundLedger"), said=whole)) == [whole]
        assert words_of(step(search("refundLedger")), step(said=whole)) == [whole]
    unbroken = "x" * 241
    assert words_of(step(search("refundLedger")), step(said=unbroken)) == ["x" * 240 + " …"]
    assert words_of(step(search("refundLedger"), said=unbroken)) == ["… " + "x" * 240]


SECRET = "postgres://app:" + "s3cret" * 2 + "@db/shop"
CLEAN = "postgres://app:[redacted:url-password]@db/shop"


def test_secrets_are_taken_out_of_everything_that_is_kept() -> None:
    found = findings(
        Prompt("p", f"Use {SECRET}"),
        step(search(f"refundLedger {SECRET}", where=f"/x/{SECRET}", id="c1")),
        step(search("refundLedger", f"a/{SECRET}.py")),
        step(said=f"[inferred] It is {SECRET}.\n\nDone."),
    )
    missed, marked = found.signals
    assert (found.turns[0].prompt, marked.text) == (f"Use {CLEAN}", f"[inferred] It is {CLEAN}.")
    assert SECRET not in repr(found)
    assert missed.query == f"refundLedger {CLEAN}"
    assert "refundledger" in missed.names
    assert not any("s3cret" in name for name in missed.names)


def test_a_session_keeps_signals_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lens, "MOST_SIGNALS", 2)
    misses = [search(name) for name in ("alphaOne", "betaTwo", "gammaThree")]
    found = findings(Prompt("p", "go"), step(*misses), step(said="[inferred] It is 8080."))
    assert ([signal.query for signal in found.signals], found.signals_left_out) == (["alphaOne", "betaTwo"], 3)


def test_a_turn_keeps_injected_texts_up_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lens, "_MOST_INJECTED", 2)
    found = findings(*(Injection("hook", str(at)) for at in range(3)), Prompt("p", "go"), Injection("hook", "3"))
    assert [text.excerpt for text in found.turns[0].injected] == ["0", "1"]


def test_only_the_beginning_of_a_very_long_message_is_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lens, "_TEXT_CHARS", 40)
    found = findings(step(said="[inferred] It is 8080.\n" + "x" * 40 + "\n[unknown] The owner."))
    assert [signal.text for signal in found.signals] == ["[inferred] It is 8080."]


def test_a_message_of_several_texts_has_a_signal_with_the_line_of_each() -> None:
    said = (AgentText("m1", "[inferred] It is 8080.", 3), AgentText("m2", "I'm not sure who owns it.", 4))
    found = findings(Step(id="x", said=said, path="/t/s.jsonl"))
    assert [(one.type, one.message_id, one.line, one.file, one.status) for one in found.signals] == [
        (SignalType.EXPLICIT_MARKER, "m1", 3, "/t/s.jsonl", Status.OPEN),
        (SignalType.HEDGING, "m2", 4, "/t/s.jsonl", Status.OPEN),
    ]
    assert found.signals[1].context == "I'm not sure who owns it."


def test_another_session_in_the_stream_is_given_back_and_the_rest_is_left() -> None:
    one = SessionLens("s", "codex")
    events: Iterator[Event] = iter([Start("", "codex", SHOP), Start("s", "codex"), WORK, Start("t", "codex"), WORK])
    assert one.follow(events) == Start("t", "codex")
    assert (one.found.session, next(events)) == ("s", WORK)
    assert [sample.steps for sample in one.findings(()).samples] == [1]
    named = SessionLens("s", "codex")
    assert named.follow(iter([Start("t", "codex")])) is None  # its first start names it
    assert named.found.session == "t"


@pytest.mark.parametrize(
    ("signal", "names"),
    [
        (Signal(SignalType.FAILED_SEARCH, Status.OPEN, "s", 1, "x", query="a", names=("a", "gone")), ["a", "gone"]),
        (
            Signal(
                SignalType.HEDGING, Status.OPEN, "s", 1, "x", text="about refundLedger", names=("refundledger", "x9")
            ),
            ["refundledger"],
        ),
        (
            Signal(
                SignalType.FAILED_SEARCH, Status.OPEN, "s", 1, "x", query=SECRET, names=("postgres", "s3crets3cret")
            ),
            ["postgres"],
        ),
    ],
)
def test_a_name_that_a_secret_had_is_no_name(signal: Signal, names: list[str]) -> None:
    assert lens._redact_signal(signal) == names


def test_a_part_that_the_clean_text_has_needs_no_second_look() -> None:
    assert lens._clean_part("plain", "a plain text") == "plain"
    assert lens._clean_part(SECRET, "") == CLEAN
    assert lens._clean_part(SECRET, SECRET) == SECRET


def test_a_sample_without_a_name_of_its_own_is_general() -> None:
    assert findings(WORK).samples == [Sample("s#1", "general", steps=1, answered=1)]
