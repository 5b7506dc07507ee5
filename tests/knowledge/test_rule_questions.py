"""What a model is shown of a session for open rules, and what its answers make of them."""

from __future__ import annotations

from knowbound.core.statement import Rule, RuleVerdict
from knowbound.knowledge.rule_questions import (
    AskedSession,
    AskedVerdict,
    RuleAnswer,
    RuleAnswers,
    RuleLine,
    ask_sessions,
    which_are_rules,
)
from knowbound.traces.activity import ActivityRecord, RecordKind, SessionActivity
from tests.knowledge.scripts import Script

ONE, TWO = Rule("A.md", 1, "Name things well", "Style"), Rule("A.md", 2, "Write `const` and not let")


def record(kind: RecordKind, text: str = "", path: str = "", **more: object) -> ActivityRecord:
    made = ActivityRecord(kind, 0, text, path)
    for name, value in more.items():
        setattr(made, name, value)
    return made


def session(*records: ActivityRecord) -> SessionActivity:
    for order, made in enumerate(records):
        made.line, made.order = order + 1, order
    return SessionActivity("s1", project="/shop", records=list(records))


PROMPT, SAID, COMMAND, EDIT, READ = (
    RecordKind.PROMPT, RecordKind.SAID, RecordKind.COMMAND, RecordKind.EDIT, RecordKind.READ,
)  # fmt: skip


def lines(*records: ActivityRecord, rules: tuple[Rule, ...] = (ONE, TWO)) -> list[str]:
    """The record of a session as a model is shown it."""
    script = Script(RuleAnswers([]))
    ask_sessions([AskedSession(session(*records), rules)], script)
    text: str = script.materials[0]["record"]
    return text.split("\n")


def test_a_record_is_one_line() -> None:
    cases: list[tuple[ActivityRecord, str]] = [
        (record(COMMAND, "make all"), "L2 ran: make all"),
        (record(COMMAND, "make all", ok=False), "L2 ran (failed): make all"),
        (record(COMMAND, "make all", done=False), "L2 ran (refused by the user): make all"),
        (record(COMMAND, "make all", ok=False, done=False), "L2 ran (refused by the user): make all"),
        (record(EDIT, "a\nb", "x.ts"), "L2 wrote x.ts: a ⏎ b"),
        (record(EDIT, "a\n\nb", "x.ts", old="a\n"), "L2 wrote x.ts: b"),
        (record(EDIT, "a", "x.ts", old="a"), "L2 wrote x.ts: (text not shown)"),
        (record(EDIT, "a\nb\nc\nd\ne\nconst f", "x.ts"), "L2 wrote x.ts: a ⏎ b ⏎ c ⏎ d ⏎ const f ⏎ e"),
        (record(RecordKind.SEARCH, "cart"), "L2 searched: cart"),
        (record(RecordKind.SEARCH, "cart", ok=False), "L2 searched (failed): cart"),
        (record(RecordKind.SKILL, "review"), "L2 used the skill review"),
        (record(RecordKind.OTHER, "{}", tool="Web"), "L2 used Web: {}"),
        (record(RecordKind.OTHER, "{}", tool="Web", ok=False), "L2 used Web (failed): {}"),
        (record(PROMPT, "again"), "L2 user: again"),
        (record(SAID, "it is done"), "L2 agent said: it is done"),
        (record(READ, path="a.ts"), "L2 read a.ts"),
    ]
    for made, line in cases:
        assert lines(record(PROMPT, "start"), made) == ["L1 user: start", line], made


def test_reads_in_a_row_are_one_line_each_path_once_at_most_twelve() -> None:
    reads = [record(READ, path=f"{number}.ts") for number in (1, 1, 2)]
    assert lines(*reads, record(COMMAND, "x"), record(READ, path="3.ts")) == [
        "L1 read 1.ts, 2.ts",
        "L4 ran: x",
        "L5 read 3.ts",
    ]
    many = lines(*(record(READ, path=f"{number}.ts") for number in range(13)))
    assert many == [f"L1 read {', '.join(f'{number}.ts' for number in range(12))}"]


def test_words_that_more_work_follows_are_left_out() -> None:
    said = [
        record(SAID, "first"),
        record(COMMAND, "x"),
        record(SAID, "second"),
        record(PROMPT, "go"),
        record(SAID, "third"),
    ]
    assert lines(*said) == ["L2 ran: x", "L3 agent said: second", "L4 user: go", "L5 agent said: third"]


def test_the_first_prompt_is_shown_longer_than_later_ones() -> None:
    long = "word " * 400
    first, later = lines(record(PROMPT, long), record(PROMPT, long))
    assert 1_500 < len(first) < 1_620
    assert 400 < len(later) < 520
    (ran,) = lines(record(COMMAND, long))
    assert 200 < len(ran) < 275


def test_edits_are_shown_shorter_until_the_record_fits_and_else_its_middle_is_left_out() -> None:
    def edits(count: int) -> list[ActivityRecord]:
        return [
            record(EDIT, "\n".join(f"word{line} is here" for line in range(200)), f"{at}.ts") for at in range(count)
        ]

    lengths = [max(map(len, lines(*edits(count)))) for count in (5, 15, 22, 45, 80, 120)]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == len(lengths)
    shown = lines(*edits(300))
    numbers = [int(line.partition(" ")[0][1:]) for line in shown]
    assert numbers == sorted(numbers)
    assert (numbers[0], numbers[-1]) == (1, 300)
    first = sum(number <= 150 for number in numbers)
    assert 0 <= first - (len(numbers) - first) <= 1
    assert len(numbers) < 300


def test_rules_are_asked_in_parts_that_fit_at_most_three() -> None:
    rules = tuple(Rule("A.md", line, "word " * 100) for line in range(100))
    script = Script(*[RuleAnswers([])] * 3)
    ask_sessions([AskedSession(session(record(COMMAND, "x")), rules)], script)
    counts = [material["rules"].count("\n") + 1 for material in script.materials]
    assert len(counts) == 3
    assert counts[0] == counts[1] == counts[2] < 34
    huge = Rule("A.md", 1, "word " * 5_000)
    script = Script(*[RuleAnswers([])] * 2)
    ask_sessions([AskedSession(session(record(COMMAND, "x")), [huge, ONE])], script)
    assert [material["rules"].count("\n") + 1 for material in script.materials] == [1, 1]


def test_a_question_has_its_rules_by_number_and_the_session_as_its_source() -> None:
    script = Script(RuleAnswers([]))
    ask_sessions([AskedSession(session(record(COMMAND, "x")), [ONE, TWO])], script)
    assert script.materials[0]["rules"] == (
        '{"number":1,"file":"A.md","heading":"Style","rule":"Name things well"}\n'
        '{"number":2,"file":"A.md","heading":"","rule":"Write `const` and not let"}'
    )
    assert [(source.session, source.project) for source in script.sources] == [("s1", "/shop")]


RECORDS = (
    record(PROMPT, "do the thing well"), record(EDIT, "let total = 1", "x.ts"), record(PROMPT, "use const as I said"),
)  # fmt: skip
WORDS, FIRST, LATER = "let total = 1", "do the thing well", "use const as I said"


def test_a_verdict_counts_with_words_of_the_record_and_a_reminder_with_those_of_a_later_prompt() -> None:
    cases: list[tuple[RuleAnswer, tuple[object, ...]]] = [
        (RuleAnswer(1, AskedVerdict.VIOLATED, WORDS), (True, RuleVerdict.VIOLATED, 2, f"“{WORDS}”", "m", 0)),
        (RuleAnswer(1, AskedVerdict.OBEYED, f" {WORDS} "), (True, RuleVerdict.OBEYED, 2, f"“{WORDS}”", "m", 0)),
        (RuleAnswer(1, AskedVerdict.PARTLY, WORDS, LATER), (True, RuleVerdict.PARTLY, 2, f"“{WORDS}”", "m", 3)),
        (RuleAnswer(1, AskedVerdict.PARTLY, WORDS, FIRST), (True, RuleVerdict.PARTLY, 2, f"“{WORDS}”", "m", 0)),
        (RuleAnswer(1, AskedVerdict.PARTLY, WORDS, WORDS), (True, RuleVerdict.PARTLY, 2, f"“{WORDS}”", "m", 0)),
        (RuleAnswer(1, AskedVerdict.VIOLATED, "no such words here"), (None, None, 0, "", "", 0)),
        (RuleAnswer(1, AskedVerdict.UNKNOWN, WORDS), (True, None, 0, "", "", 0)),
        (RuleAnswer(1, AskedVerdict.UNKNOWN, "no such words here"), (None, None, 0, "", "", 0)),
        (RuleAnswer(0, AskedVerdict.VIOLATED, WORDS), (False, None, 0, "", "m", 0)),
        (RuleAnswer(3, AskedVerdict.VIOLATED, WORDS), (False, None, 0, "", "m", 0)),
        (RuleAnswer(2, AskedVerdict.VIOLATED, WORDS), (False, None, 0, "", "m", 0)),
    ]
    for answer, found in cases:
        [verdicts], problem = ask_sessions([AskedSession(session(*RECORDS), [ONE, TWO])], Script(RuleAnswers([answer])))
        now, line = verdicts[ONE]
        assert (now.applicable, now.verdict, now.at_line, now.why, now.by, line) == found
        assert problem == ""


def test_a_session_without_answer_has_no_findings_and_the_first_problem_is_said() -> None:
    asked = [AskedSession(session(*RECORDS), [ONE])] * 2
    found, problem = ask_sessions(asked, Script(RuleAnswers([]), None))
    assert ([len(verdicts) for verdicts in found], problem) == ([1, 0], "no answer")


def test_a_line_is_a_rule_by_the_answer_and_without_one_by_its_words() -> None:
    order, text = Rule("A.md", 1, "Run the tests."), Rule("A.md", 2, "Tests are run here")
    script = Script(RuleLine("1", False), RuleLine("2", True))
    is_rule = which_are_rules([order, text, Rule("B.md", 9, "Run the tests.")], script)
    assert (is_rule(order), is_rule(text)) == (False, True)
    assert script.materials == [
        {"heading": "", "line": "Run the tests."},
        {"heading": "", "line": "Tests are run here"},
    ]
    is_rule = which_are_rules([order, text], Script(None, None))
    assert (is_rule(order), is_rule(text), is_rule(Rule("C.md", 1, "Run it all now"))) == (True, False, True)
