"""Samples files as people write them become the same values, whatever form they have."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from knowbound.evals.assertions import AgentAnswer, decide
from knowbound.evals.samples.load import find_samples, load_samples
from knowbound.evals.samples.nodes import SourceNode, json_node
from knowbound.evals.samples.values import Assertion, Criterion, EvalSample
from knowbound.evals.samples.yaml_nodes import yaml_node

SAMPLES = Path(__file__).parents[1] / "samples"


def load(name: str) -> dict[str, EvalSample]:
    return {sample.id: sample for sample in load_samples(SAMPLES / name).samples}


def test_a_bare_list_of_samples_is_a_test_set() -> None:
    first, second = load("list.json").values()
    assert first.rubric == (
        Criterion("rubric", "The answer names the 30 day window and the form that the customer fills in."),
    )
    assert first.metadata == {
        "difficulty": "L2",
        "source": ["index.md", "handbook/*/refunds.md"],
        "reviewed": True,
        "rounds": 3,
    }
    assert second.capability == ("refunds", "approval")
    assert (second.difficulty, second.construct, second.provenance) == ("hard", "necessity", "human")
    assert second.session == "refunds"
    assert first.session == ""


def test_a_list_of_tools_under_value_is_read_as_values() -> None:
    assert load("list.json")["refund-window"].assertions[1] == Assertion(
        "tools_called", values=("Read", "Grep"), weight=0.8
    )


def test_one_tool_under_value_is_read_as_values() -> None:
    assert load("older.json")["read-first-line"].assertions[0] == Assertion("tools_called", values=("Read",))


def test_how_a_sample_is_run_is_read() -> None:
    sample = load("wrapped_v1.json")["deploy-status"]
    assert sample.cwd == "./workspace"
    assert sample.allowed_tools == ("Bash", "Read")
    assert sample.environment.programs == ("harbourctl",)
    assert sample.mocks == 2


def test_criteria_of_a_rubric_have_names_and_weights() -> None:
    assert load("wrapped_v2.json")["berth-owner"].rubric == (
        Criterion("grounded", "The answer names OWNERS.md or the planner's own page.", 0.75),
        Criterion("short", "The answer has no more than three sentences.", 0.25),
    )


def test_sets_of_assertions_are_nested_and_turned_round() -> None:
    outer = load("wrapped_v2.json")["berth-owner"].assertions[1]
    assert outer.mode == "any"
    inner = outer.children[1]
    assert inner.mode == "all"
    assert inner.children[1] == Assertion("contains", value="guess", negated=True)


def test_dimensions_take_the_place_of_a_plain_rubric() -> None:
    criteria = load("dimensions.yaml")["review_unbounded_query"].rubric
    assert [one.name for one in criteria] == ["security", "usable"]
    assert {one.weight for one in criteria} == {1.0}


def test_yaml_words_that_look_like_booleans_and_dates_are_words() -> None:
    sample = load("dimensions.yaml")["no"]
    assert sample.metadata == {"written": "2026-02-01", "tide": "off"}


def test_yaml_blocks_keep_their_lines() -> None:
    assert load("dimensions.yaml")["review_unbounded_query"].context.startswith("def ships(name):\n    return")


def test_yaml_aliases_stand_for_what_they_name() -> None:
    samples = load("rag.yaml")
    assert samples["tide_refusal"].context == samples["tide_answer"].context


def test_the_third_form_is_read_where_it_asks_a_text() -> None:
    sample = load("third.json")["dispute"]
    assert sample.prompt == "Sort this dispute: the invoice was paid twice."
    assert sample.context == ""  # a reference is never shown to the agent
    assert sample.assertions == (
        Assertion("faithfulness", threshold=4, reference="A payment that came twice is a matter of billing."),
        Assertion("contains", value="billing"),
        Assertion("equals", value="billing", weight=2),
    )
    assert sample.rubric == (Criterion("clear", "One label, and why.", 1),)
    assert (sample.cwd, sample.allowed_tools, sample.environment.notes) == ("work", ("Read",), "Offline.")
    assert (sample.provenance, sample.difficulty, sample.capability) == ("human", "easy", ("sorting",))


@pytest.mark.parametrize(
    ("expected", "pointer", "answer", "passes"),
    [
        ("billing", "", " billing\n", True),
        ("billing", "", '"billing"', False),
        ({"a": 1}, "", '{"a": 1}', True),
        ("billing", "/label", '{"label": "billing", "why": "paid twice"}', True),
        ("billing", "/label", '{"label": "shipping"}', False),
        ("billing", "/label", "billing", False),
        (2, "/rows/1/n", '{"rows": [{"n": 1}, {"n": 2}]}', True),
        (2, "/rows/1/n", '{"rows": {"1": {"n": 2}}}', True),
        (2, "/rows/1/n", '{"rows": [{"n": 2}]}', False),
        (True, "/a~1b~0", '{"a/b~": true}', True),
    ],
)
def test_a_check_of_the_third_form_compares_a_part_of_the_answer(
    tmp_path: Path, expected: object, pointer: str, answer: str, passes: bool
) -> None:
    check = {
        "checkKind": "exact-match",
        "checkId": "c",
        "actual": {"sourceKind": "output", "pointer": pointer},
        "expectedPointer": "/0",
        "layer": "fact",
    }
    whole = {
        "sampleId": "s",
        "input": {"inputKind": "text", "text": "?"},
        "expected": [expected],
        "evaluationContext": {"checks": [check]},
    }
    (tmp_path / "s.json").write_text(json.dumps([whole]), "utf-8")
    (sample,) = load_samples(tmp_path / "s.json").samples
    assert decide(sample.assertions[0], AgentAnswer(answer=answer)).passed is passes


def test_jsonl_is_one_sample_per_line() -> None:
    assert [(sample.id, sample.line) for sample in load("lines.jsonl").values()] == [("one", 1), ("two", 3)]


def test_a_folder_is_one_test_set_in_the_order_of_names() -> None:
    found = load_samples(SAMPLES / "folder")
    assert [sample.id for sample in found.samples] == ["from-a", "from-b"]
    assert [Path(sample.file).name for sample in found.samples] == ["a.json", "b.yaml"]


@pytest.mark.parametrize(
    ("name", "lines"),
    [("list.json", [2, 19]), ("dimensions.yaml", [3, 13]), ("rag.yaml", [2, 16]), ("third.json", [4])],
)
def test_a_sample_knows_its_line(name: str, lines: list[int]) -> None:
    assert [sample.line for sample in load_samples(SAMPLES / name).samples] == lines


def test_the_watermark_is_of_the_file_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES)
    found = load_samples(Path("list.json"))
    digest = hashlib.sha256((SAMPLES / "list.json").read_bytes()).hexdigest()
    assert found.sha256 == digest
    assert (found.watermark.path, found.watermark.samples) == ("list.json", 2)
    assert found.watermark.sha256_8 == digest[:8]


def test_the_path_is_shown_from_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SAMPLES.parent)
    assert load_samples(SAMPLES / "list.json").path == "samples/list.json"
    assert load_samples(SAMPLES / "list.json").samples[0].file == "samples/list.json"


def test_the_hash_of_a_folder_changes_with_a_name_or_a_content(tmp_path: Path) -> None:
    def write(name: str, id_: str) -> str:
        folder = tmp_path / f"{name}-{id_}"
        folder.mkdir()
        (folder / name).write_text(json.dumps([{"sample_id": id_, "prompt": "?"}]), "utf-8")
        return load_samples(folder).sha256

    assert len({write("a.json", "x"), write("b.json", "x"), write("a.json", "y")}) == 3
    again = tmp_path / "again"
    again.mkdir()
    (again / "a.json").write_text(json.dumps([{"sample_id": "x", "prompt": "?"}]), "utf-8")
    assert load_samples(again).sha256 == load_samples(tmp_path / "a.json-x").sha256


@pytest.mark.parametrize("ending", ["json", "yaml", "yml", "jsonl"])
@pytest.mark.parametrize("name", ["eval-samples", "samples"])
def test_samples_are_found_under_the_usual_names(tmp_path: Path, name: str, ending: str) -> None:
    (tmp_path / f"{name}.{ending}").touch()
    assert find_samples(tmp_path) == tmp_path / f"{name}.{ending}"


def test_samples_are_found_in_the_omk_folder(tmp_path: Path) -> None:
    assert find_samples(tmp_path) is None
    (tmp_path / ".omk").mkdir()
    (tmp_path / ".omk" / "report-1.json").touch()
    assert find_samples(tmp_path) is None
    (tmp_path / ".omk" / "one.json").touch()
    assert find_samples(tmp_path) == tmp_path / ".omk"
    (tmp_path / "samples.json").touch()
    assert find_samples(tmp_path) == tmp_path / "samples.json"


def test_the_agent_is_asked_prompt_context_and_what_it_may_take_for_granted() -> None:
    sample = load("wrapped_v1.json")["deploy-status"]
    assert sample.asked == (
        "Is the deploy of the harbour service done?\n\n"
        "These programs are installed: harbourctl.\nThese files exist: state.json.\nCredentials are set up."
    )
    assert load("lines.jsonl")["one"].asked == "What is 2 + 2?"


def test_a_context_with_fences_stays_one_block() -> None:
    sample = EvalSample(id="x", prompt="Read", context="```\ncode\n```\n")
    assert sample.asked == "Read\n\n````\n```\ncode\n```\n````"


@pytest.mark.parametrize("breaks", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path, breaks: str, mark: str) -> None:
    for name in ("list.json", "rag.yaml", "lines.jsonl"):
        text = (SAMPLES / name).read_text("utf-8")
        (tmp_path / name).write_bytes((mark + text.replace("\n", breaks)).encode())
        plain, other = load_samples(SAMPLES / name).samples, load_samples(tmp_path / name).samples
        assert [one.line for one in other] == [one.line for one in plain]
        assert [one.assertions for one in other] == [one.assertions for one in plain]


def test_a_whole_number_may_be_written_with_a_point(tmp_path: Path) -> None:
    assertion = {"type": "rouge_n_min", "reference": "a b c", "n": 2.0}
    (tmp_path / "s.json").write_text(
        json.dumps([{"sample_id": "s", "prompt": "?", "assertions": [assertion]}]), "utf-8"
    )
    (sample,) = load_samples(tmp_path / "s.json").samples
    assert decide(sample.assertions[0], AgentAnswer(answer="a b")).passed is True


def test_merged_keys_of_yaml_give_way_to_a_samples_own(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(
        "- &base {sample_id: a, prompt: one, difficulty: easy}\n- <<: *base\n  sample_id: b\n", "utf-8"
    )
    samples = load_samples(tmp_path / "s.yaml").samples
    assert [(one.id, one.prompt, one.difficulty) for one in samples] == [("a", "one", "easy"), ("b", "one", "easy")]


TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON, st.sampled_from([None, 1, "\t"]))
def test_json_with_lines_says_what_json_says(value: object, indent: int | str | None) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    assert json_node(text).value == value


@given(JSON)
def test_json_is_yaml(value: object) -> None:
    text = json.dumps(value)
    assume("\\ud" not in text)  # pairs of escapes for one sign are JSON's alone
    assert yaml_node(text).value == value


def test_signs_that_were_line_breaks_once_are_signs_in_yaml() -> None:
    text = "a: |\n  one\u2028 two\x85three\nb: 1\n"
    node = yaml_node(text)
    assert node.value == {"a": "one\u2028 two\x85three\n", "b": 1}
    assert node.key_lines == {"a": 1, "b": 3}


@given(JSON)
def test_every_line_is_the_line_of_its_value(value: object) -> None:
    text = json.dumps(value, indent=1)
    lines = text.split("\n")

    def check(node: SourceNode) -> None:
        first = json.dumps(node.value)[0]
        assert first in lines[node.line - 1]
        for key, line in node.key_lines.items():
            assert json.dumps(key) in lines[line - 1]
        for one in node.members.values():
            check(one)

    check(json_node(text))
