"""Every assertion type, decided by rules; what cannot be known is undecided, never failed."""

from __future__ import annotations

import json
import math
import shutil
import stat
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.evals.assertions import (
    TYPES,
    AgentAnswer,
    CheckResult,
    ToolUse,
    decide,
    detail_of,
    layer_of,
)
from knowbound.evals.grading import run_custom
from knowbound.evals.samples import matching
from knowbound.evals.samples.matching import bleu, is_found, levenshtein, problem_of, rouge_n, words
from knowbound.evals.samples.values import Assertion, EvalSample

RUN = AgentAnswer(
    answer="The berth planner belongs to Planning.",
    seconds=1.5,
    usd=0.02,
    steps=4,
    calls=(
        ToolUse("Read", '{"file_path": "docs/OWNERS.md", "confirmed": true}', "Planning: berth"),
        ToolUse("Bash", '{"command": "git log"}', "commit 1"),
    ),
)
UNKNOWN = AgentAnswer(answer="x", calls=None)


def passes(assertion: Assertion, answered: AgentAnswer = RUN) -> bool | None:
    return decide(assertion, answered).passed


@pytest.mark.parametrize(
    ("assertion", "answer", "expected"),
    [
        (Assertion("contains", value="BERTH"), "the berth", True),
        (Assertion("contains", value="berths"), "the berth", False),
        (Assertion("not_contains", value="Guess"), "I guess", False),
        (Assertion("not_contains", value="guess"), "sure", True),
        (Assertion("contains_all", values=("a", "b")), "A B", True),
        (Assertion("contains_all", values=("a", "c")), "A B", False),
        (Assertion("contains_any", values=("c", "b")), "A B", True),
        (Assertion("contains_any", values=("c", "d")), "A B", False),
        (Assertion("equals", value="yes "), "\n yes\n", True),
        (Assertion("equals", value="yes"), "Yes", False),
        (Assertion("not_equals", value="yes"), "Yes", True),
        (Assertion("starts_with", value="the"), "The end", True),
        (Assertion("starts_with", value="end"), "The end", False),
        (Assertion("ends_with", value="END"), "The end", True),
        (Assertion("ends_with", value="The"), "The end", False),
        (Assertion("min_length", value=3), "港口吧", True),
        (Assertion("min_length", value=4), "港口吧", False),
        (Assertion("max_length", value=3), "abc", True),
        (Assertion("max_length", value=2), "abc", False),
        (Assertion("word_count_min", value=2), " two\twords\n", True),
        (Assertion("word_count_min", value=3), "two words", False),
        (Assertion("word_count_max", value=2), "two words", True),
        (Assertion("word_count_max", value=1), "two words", False),
        (Assertion("json_valid"), ' {"a": [1, null]} ', True),
        (Assertion("json_valid"), "{'a': 1}", False),
        (Assertion("json_valid"), "NaN", False),
        (Assertion("json_valid"), "[" * 100_000, False),
        (Assertion("json_schema", schema={"required": ["a"]}), '{"a": 1}', True),
        (Assertion("json_schema", schema={"required": ["a"]}), '{"b": 1}', False),
        (Assertion("json_schema", schema={"required": ["a"]}), "a", False),
        (Assertion("regex", pattern="^the"), "The end", True),
        (Assertion("regex", pattern="^the", flags="g"), "The end", False),
        (Assertion("rouge_n_min", reference="a b c d"), "a b", True),
        (Assertion("rouge_n_min", reference="a b c d", n=2), "a b", False),
        (Assertion("rouge_n_min", reference="a b c d", threshold=0.75), "a b", False),
        (Assertion("bleu_min", reference="one two three four five"), "one two three four five", True),
        (Assertion("bleu_min", reference="one two three four five"), "five four three two one", False),
        (Assertion("levenshtein_max", value=3, reference="kitten"), "sitting", True),
        (Assertion("levenshtein_max", value=2, reference="kitten"), "sitting", False),
        (Assertion("levenshtein_max", value=2, reference="kitten"), "kitten" * 99, False),
        (Assertion("levenshtein_max", value=1, reference="kitten"), "kittens", True),
        (Assertion("levenshtein_max", value=0, reference="kitten"), "kitten", True),
    ],
)
def test_what_the_answer_says(assertion: Assertion, answer: str, expected: bool) -> None:
    answered = AgentAnswer(answer=answer)
    assert passes(assertion, answered) is expected
    turned_round = Assertion(
        **{name: getattr(assertion, name) for name in assertion.__struct_fields__} | {"negated": True}
    )
    assert passes(turned_round, answered) is not expected
    assert decide(assertion, answered).reason


@pytest.mark.parametrize(
    ("assertion", "expected"),
    [
        (Assertion("cost_max", value=0.02), True),
        (Assertion("cost_max", value=0.01), False),
        (Assertion("latency_max", value=1500), True),
        (Assertion("latency_max", value=1499), False),
        (Assertion("turns_min", value=4), True),
        (Assertion("turns_min", value=5), False),
        (Assertion("turns_max", value=4), True),
        (Assertion("turns_max", value=3), False),
        (Assertion("tools_called", values=("read", "BASH")), True),
        (Assertion("tools_called", values=("Read", "Grep")), False),
        (Assertion("tools_not_called", values=("Write", "Grep")), True),
        (Assertion("tools_not_called", values=("Write", "bash")), False),
        (Assertion("tools_count_min", value=2), True),
        (Assertion("tools_count_min", value=3), False),
        (Assertion("tools_count_max", value=2), True),
        (Assertion("tools_count_max", value=1), False),
        (Assertion("tool_input_contains", value="Read:owners.md"), True),
        (Assertion("tool_input_contains", value='read:"confirmed":true'), True),
        (Assertion("tool_input_contains", value="Bash:owners.md"), False),
        (Assertion("tool_input_contains", value="owners.md"), True),
        (Assertion("tool_input_contains", value="Grep:x"), False),
        (Assertion("tool_input_not_contains", value="Bash:--force"), True),
        (Assertion("tool_input_not_contains", value="Bash:git"), False),
        (Assertion("tool_output_contains", value="Read:planning: berth"), True),
        (Assertion("tool_output_contains", value="Bash:planning"), False),
    ],
)
def test_how_the_answer_came_about(assertion: Assertion, expected: bool) -> None:
    assert passes(assertion) is expected


@pytest.mark.parametrize(
    ("assertion", "reason"),
    [
        (Assertion("cost_max", value=1), "the cost is unknown"),
        (Assertion("latency_max", value=1), "the time is unknown"),
        (Assertion("turns_min", value=0), "the number of steps is unknown"),
        (Assertion("turns_max", value=9), "the number of steps is unknown"),
        (Assertion("tools_called", values=("Read",)), "the agent's tool calls are unknown"),
        (Assertion("tools_not_called", values=("Read",)), "the agent's tool calls are unknown"),
        (Assertion("tools_count_min", value=0), "the agent's tool calls are unknown"),
        (Assertion("tools_count_max", value=0), "the agent's tool calls are unknown"),
        (Assertion("tool_input_contains", value="x"), "the agent's tool calls are unknown"),
        (Assertion("tool_input_not_contains", value="x"), "the agent's tool calls are unknown"),
        (Assertion("tool_output_contains", value="x"), "the agent's tool calls are unknown"),
        (Assertion("mock_hit", value="Bash:1"), "mocks are not played"),
    ],
)
@pytest.mark.parametrize("negated", [False, True])
def test_what_cannot_be_known_is_undecided_even_turned_round(assertion: Assertion, reason: str, negated: bool) -> None:
    fields = {name: getattr(assertion, name) for name in assertion.__struct_fields__} | {"negated": negated}
    assert decide(Assertion(**fields), UNKNOWN) == CheckResult(None, reason)


@pytest.mark.parametrize("kind", ["input", "output"])
def test_what_is_not_in_the_kept_part_of_a_call_is_undecided(kind: str) -> None:
    cut = AgentAnswer(answer="", calls=(ToolUse("Read", "abc", "abc", input_cut=True, output_cut=True),))
    assert passes(Assertion(f"tool_{kind}_contains", value="Read:b"), cut) is True
    assert passes(Assertion(f"tool_{kind}_contains", value="Read:x"), cut) is None
    assert passes(Assertion(f"tool_{kind}_contains", value="Bash:x"), cut) is False


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (ToolUse("shell", kind="shell"), "Bash"),
        (ToolUse("shell", kind="read"), "Bash"),
        (ToolUse("shell", kind="read"), "Read"),
        (ToolUse("search_files", kind="search"), "Grep"),
        (ToolUse("apply_patch", kind="edit"), "Edit"),
        (ToolUse("mcp__harbour__save_note"), "save_note"),
        (ToolUse("mcp__harbour__save_note"), "mcp__harbour__save_note"),
    ],
)
def test_another_agents_tool_counts_under_what_it_does(call: ToolUse, named: str) -> None:
    assert passes(Assertion("tools_called", values=(named,)), AgentAnswer(answer="", calls=(call,)))


def test_a_tool_that_has_the_name_itself_counts_under_no_other() -> None:
    answered = AgentAnswer(answer="", calls=(ToolUse("Write", kind="edit"), ToolUse("Bash", kind="read")))
    assert passes(Assertion("tools_not_called", values=("Edit", "Read")), answered)


TRUE = Assertion("contains", value="planning")
FALSE = Assertion("contains", value="zzz")
OPEN = Assertion("mock_hit", value="Bash:1")


@pytest.mark.parametrize(
    ("mode", "children", "expected"),
    [
        ("all", (TRUE, TRUE), True),
        ("all", (TRUE, FALSE), False),
        ("all", (TRUE, OPEN), None),
        ("all", (FALSE, OPEN), False),
        ("any", (TRUE, FALSE), True),
        ("any", (FALSE, FALSE), False),
        ("any", (FALSE, OPEN), None),
        ("any", (TRUE, OPEN), True),
    ],
)
def test_a_set_is_decided_by_what_is_decided(mode: str, children: tuple[Assertion, ...], expected: bool | None) -> None:
    one = Assertion("assert-set", mode="any" if mode == "any" else "all", children=children)
    assert passes(one) is expected
    nested = Assertion("assert-set", children=(Assertion("assert-set", mode=one.mode, children=children), TRUE))
    assert passes(nested) is expected


def test_a_set_reports_how_many_passed() -> None:
    assert decide(Assertion("assert-set", children=(TRUE, TRUE, FALSE)), RUN).reason == "2 of 3 passed"
    assert decide(Assertion("assert-set", children=(TRUE, OPEN)), RUN).reason == "1 of 2 passed, 1 undecided"


def test_a_set_has_the_layer_that_its_children_share() -> None:
    behaviour = Assertion("max_length", value=1)
    assert layer_of(Assertion("assert-set", children=(TRUE, Assertion("assert-set", children=(FALSE,))))) == "fact"
    assert layer_of(Assertion("assert-set", children=(behaviour, behaviour))) == "behavior"
    assert layer_of(Assertion("assert-set", children=(TRUE, behaviour))) == ""


def test_every_type_has_a_layer_and_is_decided_by_someone() -> None:
    for kind in TYPES.values():
        assert kind.layer in ("fact", "behavior") or kind.name == "assert-set"
        if not kind.decided_by:
            fields = {"value": "Read:1", "values": ("a",), "pattern": "a", "schema": {}, "reference": "a"}
            numeric = kind.fields.get("properties", {}).get("value", {}).get("type") == "number"
            children = (TRUE,) if kind.name == "assert-set" else ()
            made = Assertion(kind.name, **fields | {"value": 1 if numeric else "Read:1", "children": children})  # type: ignore[arg-type]
            assert decide(made, RUN).reason


def test_a_detail_is_short_and_on_one_line() -> None:
    assert detail_of(Assertion("contains", value="a\nb", negated=True)) == "not a b"
    assert detail_of(Assertion("max_length", value=30.0)) == "30"
    assert detail_of(Assertion("tools_called", values=("Read", "Grep"))) == "Read, Grep"
    assert len(detail_of(Assertion("regex", pattern="x" * 500))) == 80
    assert detail_of(Assertion("assert-set", mode="any", children=(TRUE, OPEN))) == "any of 2: contains, mock_hit"


# Patterns


PATTERNS = [
    (r"\bGO\b", "", "发布GO吧", True),  # ASCII letters end where Chinese ones begin
    (r"^a$", "", "a\n", False),  # the very end
    (r"^a$", "m", "b\na\r\nc", True),
    (r"a.c", "", "a\nc", False),
    (r"a.c", "s", "a\nc", True),
    (r"[^]x", "", "\nx", True),
    (r"[]", "", "x", False),
    (r"\d{2}", "", "٣٣", False),
    (r"\w", "", "é", False),
    (r"[\W]", "", "é", True),
    (r"é", "i", "É", True),
    (r"(?<y>a)\k<y>", "", "aa", True),
    (r"a{", "", "a{", True),
    (r"foo{e}", "", "fo", False),  # braces that count nothing are braces
    (r"[[]", "", "[", True),
    (r"[\w-]+@", "", "a-b@", True),
    (r"\/\-", "", "/-", True),
    (r"\u4e00\x41", "", "一a", True),
    (r"\u{1F600}", "u", "😀", True),
    (r"\p{L}", "u", "é", True),
    (r"\s", "", "\ufeff", True),
    (r"(?<=a+)b", "", "aab", True),
    (r"a", "y", "ba", False),
    (r"\d+.*[天小时工作日]", "", "3 个工作日", True),
    (r"\|.*\|.*\|", "", "|a|b|", True),
]


@pytest.mark.parametrize(("pattern", "flags", "text", "expected"), PATTERNS)
def test_patterns_mean_what_they_mean_in_javascript(pattern: str, flags: str, text: str, expected: bool) -> None:
    assert problem_of(pattern, flags) == ""
    assert is_found(pattern, flags, text) is expected


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
def test_the_table_of_patterns_is_javascripts() -> None:
    code = (
        "const rows = JSON.parse(require('fs').readFileSync(0));"
        "console.log(JSON.stringify(rows.map(([p, f, t]) => new RegExp(p, f || 'i').test(t))))"
    )
    done = subprocess.run(["node", "-e", code], input=json.dumps(PATTERNS), capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [row[3] for row in PATTERNS]


@pytest.mark.parametrize("pattern", ["(", "*a", "[a", "a\\", r"\A", "(?<a", "a{2}{99999999999}", "x" * 6000, "(" * 900])
def test_a_pattern_that_is_not_valid_is_refused(pattern: str) -> None:
    assert problem_of(pattern, "")


def test_a_catastrophic_pattern_is_undecided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matching, "PATTERN_SECONDS", 0.3)
    pattern, answer = "(?:(?:a{1,50}){1,50}){1,50}b", "a" * 3000
    decision = decide(Assertion("regex", pattern=pattern, negated=True), AgentAnswer(answer=answer))
    assert decision == CheckResult(None, "the pattern takes more than 0.3 seconds on this answer")


# Similarity

TEXT = st.text("ab 港c", max_size=30)


def plain_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, left in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, right in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (left != right))
    return row[-1]


@given(TEXT, TEXT)
def test_edits_are_counted_as_the_table_counts_them(one: str, other: str) -> None:
    assert levenshtein(one, other) == plain_distance(one, other)


@given(TEXT, TEXT, TEXT)
def test_edits_are_a_distance(a: str, b: str, c: str) -> None:
    assert levenshtein(a, b) == levenshtein(b, a)
    assert (levenshtein(a, b) == 0) == (a == b)
    assert levenshtein(a, c) <= levenshtein(a, b) + levenshtein(b, c)
    assert abs(len(a) - len(b)) <= levenshtein(a, b) <= max(len(a), len(b))


@given(TEXT, TEXT, st.integers(1, 3))
def test_shares_of_sequences_are_shares(answer: str, reference: str, n: int) -> None:
    share = rouge_n(answer, reference, n)
    assert 0 <= share <= 1
    assert rouge_n(reference, reference, n) == (1.0 if len(words(reference)) >= n else 0.0)
    assert rouge_n(f"{answer} {reference}", reference, n) >= share


@given(TEXT, TEXT)
def test_rouge_1_is_the_share_of_words(answer: str, reference: str) -> None:
    have, want = Counter(words(answer)), Counter(words(reference))
    shared = sum(min(have[word], count) for word, count in want.items())
    assert rouge_n(answer, reference) == pytest.approx(shared / want.total() if want else 0.0)


@given(TEXT, TEXT)
def test_bleu_is_a_share_and_whole_for_the_same_words(answer: str, reference: str) -> None:
    assert 0 <= bleu(answer, reference) <= 1 + 1e-9
    if len(words(reference)) >= 4:
        assert bleu(reference, reference) == pytest.approx(1)


def test_bleu_by_hand() -> None:
    # Of 6, 5, 4 and 3 sequences of one to four words all but one are shared; the reference has a word more.
    share = bleu("the cat sat on the rug", "a cat sat on the rug again")
    assert share == pytest.approx(math.exp(1 - 7 / 6) * (5 / 6 * 4 / 5 * 3 / 4 * 2 / 3) ** 0.25)


def test_characters_of_scripts_without_spaces_are_words() -> None:
    assert words("Café 港口 x_1") == ["café", "港", "口", "x", "1"]


# Programs


def custom(folder: Path, name: str, text: str, *, executable: bool = False) -> CheckResult:
    (folder / name).write_text(text, "utf-8")
    if executable:
        (folder / name).chmod(stat.S_IRWXU)
    sample = EvalSample(id="s", prompt="?", metadata={"lang": "en"})
    return run_custom(Assertion("custom", fn=name, value="berth"), sample, RUN, folder)


PYTHON = """
import json, sys
given = json.load(sys.stdin)
print("a note before")
print(json.dumps({"pass": given["assertion"]["value"] in given["output"], "message": given["sample"]["sample_id"]}))
"""


def test_a_python_program_decides(tmp_path: Path) -> None:
    assert custom(tmp_path, "check.py", PYTHON) == CheckResult(True, "s")


def test_an_executable_decides(tmp_path: Path) -> None:
    text = '#!/bin/sh\ncat > /dev/null\necho \'{"pass": false, "message": "no"}\'\n'
    assert custom(tmp_path, "check", text, executable=True) == CheckResult(False, "no")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not here")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "check.mjs",
            "export default function (output, { sample, assertion }) {"
            " return { pass: output.includes(assertion.value), message: sample.metadata.lang }; }",
        ),
        (
            "check.js",
            "module.exports = async (output, { sample, assertion }) =>"
            " ({ pass: output.includes(assertion.value), message: sample.metadata.lang });",
        ),
        (
            "named.mjs",
            "export const check = (output, { sample }) => ({ pass: true, message: sample.metadata.lang });",
        ),
        (
            "script.mjs",
            "let text = ''; for await (const part of process.stdin) text += part;"
            " console.log(JSON.stringify({ pass: true, message: JSON.parse(text).sample.metadata.lang }));",
        ),
    ],
)
def test_a_javascript_module_decides(tmp_path: Path, name: str, text: str) -> None:
    assert custom(tmp_path, name, text) == CheckResult(True, "en")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.py", "import sys; sys.exit('broken here')", "the program failed with 1: broken here"),
        ("a.py", "print('yes')", 'the program did not print {"pass": true or false}'),
        ("a.py", "print('{\"pass\": 1}')", 'the program did not print {"pass": true or false}'),
        ("a.txt", "", "a.txt is neither .py nor .js nor .mjs, and is not executable"),
    ],
)
def test_a_program_that_fails_leaves_it_undecided(tmp_path: Path, name: str, text: str, reason: str) -> None:
    assert custom(tmp_path, name, text) == CheckResult(None, reason)


def test_a_program_must_be_beside_the_samples(tmp_path: Path) -> None:
    sample, folder = EvalSample(id="s", prompt="?"), tmp_path / "samples"
    folder.mkdir()
    (tmp_path / "out.py").write_text(PYTHON, "utf-8")
    outside = run_custom(Assertion("custom", fn="../out.py"), sample, RUN, folder)
    assert outside == CheckResult(None, "../out.py is outside the samples' folder")
    missing = run_custom(Assertion("custom", fn="no.py"), sample, RUN, folder)
    assert missing == CheckResult(None, "there is no file no.py beside the samples")


def test_a_program_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowbound.evals.grading.PROGRAM_SECONDS", 0.2)
    decision = custom(tmp_path, "a.py", "import threading; threading.Event().wait()")
    assert decision == CheckResult(None, "the program took more than 0.2 seconds")


def test_a_program_does_not_see_our_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    text = "import os, json; print(json.dumps({'pass': 'SOME_API_KEY' not in os.environ}))"
    assert custom(tmp_path, "a.py", text).passed is True
