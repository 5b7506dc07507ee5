"""Everything that is wrong in a test set is listed with file, line and a suggestion; nothing runs then."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.errors import InputError
from knowbound.evals.samples.load import LARGEST_FILE, load_samples
from knowbound.evals.samples.nodes import SourceNode, UnreadableError, json_node
from knowbound.evals.samples.yaml_nodes import yaml_node


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def problems(name: str, content: str | bytes) -> list[str]:
    """The problems of a file, line by line."""
    Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(InputError) as caught:
        load_samples(Path(name))
    assert caught.value.slug == "bad-samples"
    return [line.strip() for line in str(caught.value.args[0]).split("\n")[1:]]


def problems_of_sample(**fields: object) -> list[str]:
    """The problems of one sample, without file and line."""
    sample = {"sample_id": "s", "prompt": "?"} | fields
    place = "s.json:1: sample 's': "
    found = problems("s.json", json.dumps([sample]))
    assert all(line.startswith(place) for line in found), found
    return [line.removeprefix(place) for line in found]


def problems_of_assertion(**fields: object) -> list[str]:
    return [line.removeprefix("assertions[0]").lstrip(". ") for line in problems_of_sample(assertions=[fields])]


NESTED = """\
[
  {
    "sample_id": "deep",
    "prompt": "?",
    "assertions": [
      {"type": "contains", "value": "x"},
      {
        "type": "assert-set",
        "children": [
          {"type": "contains", "value": "y"},
          {
            "type": "containz",
            "value": "z"
          }
        ]
      }
    ],
    "environment": {
      "notes": "n",
      "cli": []
    }
  }
]
"""


def test_lines_are_right_deep_inside_json() -> None:
    assert problems("deep.json", NESTED) == [
        "deep.json:12: sample 'deep': assertions[1].children[1].type must be one of the known words, "
        "not the text 'containz'. Did you mean 'contains'?",
        "deep.json:20: sample 'deep': unknown field 'environment.cli'.",
    ]


def test_lines_are_right_deep_inside_yaml() -> None:
    text = """\
# a comment
samples:
  - sample_id: deep
    prompt: |
      two
      lines
    assertions:
      - type: contains
        value: x
      - type: assert-set
        children:
          - {type: contains, value: y}
          - type: regex
            pattern: "(a"
    difficultly: easy
"""
    assert problems("deep.yaml", text) == [
        "deep.yaml:14: sample 'deep': assertions[1].children[1] (regex): the pattern cannot be used: missing )",
        "deep.yaml:15: sample 'deep': unknown field 'difficultly'. Did you mean 'difficulty'?",
    ]


def test_lines_are_right_in_jsonl() -> None:
    text = '{"sample_id": "a", "prompt": "?"}\n\n{"sample_id": "b"}\n{"sample_id": "c", "prompt": "?",}\n[]\n'
    assert problems("s.jsonl", text) == [
        "s.jsonl:3: sample 'b': prompt is missing",
        "s.jsonl:4: JSON has no comma before } (not valid JSON)",
        "s.jsonl:5: sample '#3': the sample must be an object, not a list",
    ]


def test_every_problem_of_every_sample_is_listed_in_order() -> None:
    samples = [{"sample_id": "a"}, {"sample_id": "b", "prompt": 3, "tripwire": "yes"}, {"prompt": "?"}, 7]
    assert problems("s.json", json.dumps(samples, indent=0)) == [
        "s.json:2: sample 'a': prompt is missing",
        "s.json:7: sample 'b': prompt must be a text, not the number 3",
        "s.json:8: sample 'b': tripwire must be true or false, not the text 'yes'",
        "s.json:10: sample '#3': sample_id is missing",
        "s.json:13: sample '#4': the sample must be an object, not the number 7",
    ]


def test_twenty_problems_are_all_listed() -> None:
    found = problems("s.json", json.dumps([{"sample_id": f"s{number}"} for number in range(20)], indent=0))
    assert len(found) == 20
    assert "more" not in found[-1]


def test_more_than_twenty_problems_are_counted() -> None:
    found = problems("s.json", json.dumps([{"sample_id": f"s{number}"} for number in range(50)], indent=0))
    assert len(found) == 21
    assert found[-1] == "and 30 more"


def test_a_repeated_id_is_reported_with_both_lines() -> None:
    text = '[{"sample_id": "a", "prompt": "?"},\n{"prompt": "?",\n"sample_id": "a"}]'
    assert problems("s.json", text) == ["s.json:3: sample 'a': the id is repeated, first in s.json:1"]


def test_an_id_in_two_files_of_a_folder_is_reported_with_both() -> None:
    folder = Path("set")
    folder.mkdir()
    (folder / "a.json").write_text('[{"sample_id": "x", "prompt": "?"}]')
    (folder / "b.yaml").write_text("- prompt: '?'\n  sample_id: x\n")
    with pytest.raises(InputError, match=r"set/b\.yaml:2: sample 'x': the id is repeated, first in set/a\.json:1"):
        load_samples(folder)


def test_a_repeated_key_is_reported_with_both_lines() -> None:
    assert problems("s.json", '[{"sample_id": "a",\n"prompt": "?",\n"prompt": "!"}]') == [
        "s.json:3: sample 'a': the key 'prompt' is repeated, first in line 2"
    ]
    assert problems("s.yaml", "- sample_id: a\n  prompt: '?'\n  prompt: '!'\n") == [
        "s.yaml:3: sample 'a': the key 'prompt' is repeated, first in line 2"
    ]


def test_a_repeated_key_is_reported_wherever_it_is() -> None:
    text = '[{"sample_id": "a", "prompt": "?", "metadata": {"deep": {"x": 1,\n"x": 2}}}]'
    assert problems("s.json", text) == ["s.json:2: sample 'a': the key 'x' is repeated, first in line 1"]


@pytest.mark.parametrize("name", ["7", "007", "a/b", "~", "-1"])
def test_names_of_the_authors_choice_lead_to_their_lines(name: str) -> None:
    text = json.dumps([{"sample_id": "s", "prompt": "?", "dimensions": {"x": "y", name: 3}}], indent=0)
    assert problems("s.json", text) == [f"s.json:7: sample 's': dimensions.{name} must be a text, not the number 3"]


def test_a_value_under_an_empty_name_is_checked_too() -> None:
    assert problems_of_sample(dimensions={"": 3}) == ["dimensions. must be a text, not the number 3"]


def test_a_value_that_is_wrong_in_two_ways_is_one_problem() -> None:
    assert problems_of_assertion(type="contains", value=None) == ["value must be a text, not nothing (null)"]
    assert problems_of_assertion(type="rouge_n_min", reference="x", n=0.5) == [
        "n must be a whole number, not the number 0.5"
    ]


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("id", "unknown field 'id'. Did you mean 'sample_id'?"),
        ("question", "unknown field 'question'. Did you mean 'prompt'?"),
        ("asertions", "unknown field 'asertions'. Did you mean 'assertions'?"),
        ("allowed-tools", "unknown field 'allowed-tools'. Did you mean 'allowedTools'?"),
        ("tags", "unknown field 'tags'. Did you mean 'capability'?"),
        ("zzz", "unknown field 'zzz'."),
    ],
)
def test_an_unknown_field_gets_a_suggestion(written: str, wrong: str) -> None:
    assert problems_of_sample(**{written: "x"}) == [wrong]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"sample_id": 7}, "sample_id must be a text, not the number 7"),
        ({"prompt": " \n"}, "prompt is empty"),
        ({"prompt": None}, "prompt must be a text, not nothing (null)"),
        ({"context": ["x"]}, "context must be a text, not a list"),
        ({"rubric": 5}, "rubric must be a text or an object, not the number 5"),
        ({"rubric": {}}, "rubric is empty"),
        ({"rubric": {"a": {"weight": 1}}}, "rubric.a.criterion is missing"),
        (
            {"rubric": {"a": {"criterion": "x", "weight": 0}}},
            "rubric.a.weight must be more than 0, not 0",
        ),
        ({"dimensions": {"a": 1}}, "dimensions.a must be a text, not the number 1"),
        ({"dimensions": {"": "x"}}, "dimensions has an empty name"),
        ({"capability": "x"}, "capability must be a list, not the text 'x'; write [\"x\"]"),
        ({"capability": ["x", ""]}, "capability[1] is empty"),
        (
            {"difficulty": "L2"},
            "difficulty must be easy, medium or hard, not the text 'L2'.",
        ),
        (
            {"provenance": "humans"},
            "provenance must be human, llm-generated, production-trace or rule-generated, not the text 'humans'. "
            "Did you mean 'human'?",
        ),
        ({"metadata": []}, "metadata must be an object, not a list"),
        ({"tripwire": 1}, "tripwire must be true or false, not the number 1"),
        ({"covers": [{"targetKind": "skill"}]}, "covers[0].ref is missing"),
        ({"mocks": [{"return": "x"}]}, "mocks[0].tool is missing"),
        ({"assertions": {"type": "contains"}}, "assertions must be a list, not an object"),
        ({"assertions": ["x"]}, "assertions[0] must be an object, not the text 'x'"),
        (
            {"rubric": {"a": {"criterion": "x"}}, "dimensions": {"b": "y"}},
            "dimensions cannot be used with a rubric that has criteria: keep one of them",
        ),
    ],
)
def test_a_wrong_field_of_a_sample(fields: dict[str, object], wrong: str) -> None:
    found = problems("s.json", json.dumps([{"sample_id": "s", "prompt": "?"} | fields]))
    assert [line.split(": ", 2)[2] for line in found] == [wrong]


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"value": "x"}, "type is missing"),
        (
            {"type": "contain", "value": "x"},
            "type must be one of the known words, not the text 'contain'. Did you mean 'contains'?",
        ),
        ({"type": "contains"}, "(contains) needs value"),
        ({"type": "contains", "value": ""}, "value is empty"),
        ({"type": "contains", "value": 4}, "value must be a text, not the number 4"),
        (
            {"type": "contains", "values": ["x"]},
            "(contains) needs value, not values",
        ),
        (
            {"type": "contains", "value": "x", "wieght": 1},
            "unknown field 'assertions[0].wieght'. Did you mean 'weight'?",
        ),
        ({"type": "contains", "value": "x", "weight": 0}, "weight must be more than 0, not 0"),
        ({"type": "contains", "value": "x", "not": "yes"}, "not must be true or false, not the text 'yes'"),
        ({"type": "contains_all"}, "(contains_all) needs values"),
        ({"type": "contains_any", "values": []}, "values is empty"),
        ({"type": "tools_called", "value": []}, "value is empty"),
        ({"type": "tools_called", "value": 3}, "(tools_called) needs values, not value"),
        ({"type": "min_length", "value": "9"}, "value must be a number, not the text '9'"),
        ({"type": "turns_max", "value": -1}, "value must be at least 0, not -1"),
        ({"type": "regex"}, "(regex) needs pattern"),
        ({"type": "regex", "value": "x"}, "(regex) needs pattern, not value"),
        ({"type": "regex", "pattern": "[a"}, "(regex): the pattern cannot be used: [ at character 1 is not closed"),
        (
            {"type": "regex", "pattern": "a", "flags": "q"},
            "(regex): the pattern cannot be used: there is no flag 'q'; the flags are i, m, s, g, u, v, y and d",
        ),
        (
            {"type": "regex", "pattern": "(a{900}){900}"},
            "(regex): the pattern cannot be used: it repeats something more than 100,000 times",
        ),
        ({"type": "json_schema"}, "(json_schema) needs schema"),
        ({"type": "json_schema", "schema": []}, "schema must be an object, not a list"),
        ({"type": "custom"}, "(custom) needs fn"),
        ({"type": "rouge_n_min"}, "(rouge_n_min) needs reference"),
        (
            {"type": "rouge_n_min", "reference": "x", "threshold": 3},
            "threshold must be from 0 to 1, not 3",
        ),
        ({"type": "rouge_n_min", "reference": "x", "n": 1.5}, "n must be a whole number, not the number 1.5"),
        ({"type": "answer_relevancy", "threshold": 9}, "threshold must be from 1 to 5, not 9"),
        ({"type": "levenshtein_max", "value": 3}, "(levenshtein_max) needs reference"),
        ({"type": "mock_hit", "value": "Bash"}, "value must be Tool:N, where N counts the mocks of that tool from 1"),
        (
            {"type": "tool_input_contains", "value": "Bash: "},
            "value must be a text, or Tool:text with a text after the colon",
        ),
        ({"type": "assert-set"}, "needs children, a list of assertions"),
        ({"type": "assert-set", "children": []}, "needs children, a list of assertions"),
        (
            {"type": "assert-set", "mode": "one", "children": [{"type": "json_valid"}]},
            "mode must be all or any, not the text 'one'.",
        ),
        (
            {"type": "assert-set", "children": [{"type": "custom", "fn": "x.py"}]},
            "children[0] is decided by a judge or a program and cannot be in a set",
        ),
    ],
)
def test_a_wrong_assertion(fields: dict[str, object], wrong: str) -> None:
    assert problems_of_assertion(**fields) == [wrong]


def test_a_schema_that_is_not_valid_is_refused() -> None:
    (found,) = problems_of_assertion(type="json_schema", schema={"type": "strin"})
    assert found.startswith("(json_schema): the schema cannot be used: ")


def test_a_schema_that_is_elsewhere_is_not_fetched() -> None:
    (found,) = problems_of_assertion(type="json_schema", schema={"$ref": "http://127.0.0.1:9/x.json"})
    assert "nothing is fetched" in found


@pytest.mark.parametrize("kind", ["faithfulness", "context_recall"])
def test_what_compares_with_a_context_needs_one(kind: str) -> None:
    wrong = "compares the answer with a text: give it a reference, or the sample a context"
    assert problems_of_assertion(type=kind) == [wrong]
    assert problems_of_sample(assertions=[{"type": kind}], context=" ") == [f"assertions[0] {wrong}"]


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ("sample_id: 001", 'sample_id must be a text, not the number 001; put it in quotes: "001"'),
        ("sample_id: 1e3", 'sample_id must be a text, not the number 1e3; put it in quotes: "1e3"'),
        ("sample_id: True", 'sample_id must be a text, not the word True (true or false); put it in quotes: "True"'),
        ("sample_id: ~", "sample_id must be a text, not nothing (null)"),
        ("sample_id:", "sample_id must be a text, not nothing (null)"),
    ],
)
def test_a_yaml_id_that_is_no_text_is_to_be_quoted(written: str, wrong: str) -> None:
    (found,) = problems("s.yaml", f"- {written}\n  prompt: '?'\n")
    assert found.split(": ", 2)[2] == wrong


@pytest.mark.parametrize(
    ("third", "wrong"),
    [
        ({"input": {"inputKind": "messages"}}, "input.inputKind cannot be used: only 'text' can be asked here"),
        ({"input": {"inputKind": "text"}}, "input.text is missing"),
        ({"input": "?"}, "input must be an object, not the text '?'"),
        (
            {"executionContext": {"data": 1}},
            "executionContext.data cannot be used: no executor here takes data beside the text",
        ),
        (
            {"evaluationContext": {"assertions": [{"type": "faithfulness"}]}},
            "evaluationContext.assertions[0] compares the answer with a text: give it a reference, or the sample an "
            "evaluationContext.reference",
        ),
        ({"sample_if": 1}, "unknown field 'sample_if'. Did you mean 'sampleId'?"),
    ],
)
def test_a_sample_of_the_third_form_that_cannot_be_run_is_refused(third: dict[str, object], wrong: str) -> None:
    sample = {"sampleId": "s", "input": {"inputKind": "text", "text": "?"}} | third
    assert problems("s.json", json.dumps([sample])) == [f"s.json:1: sample 's': {wrong}"]


def test_a_check_that_leads_nowhere_is_refused() -> None:
    check = {
        "checkKind": "exact-match",
        "checkId": "c",
        "actual": {"sourceKind": "output", "pointer": ""},
        "expectedPointer": "/a/1",
        "layer": "fact",
    }
    sample = {
        "sampleId": "s",
        "input": {"inputKind": "text", "text": "?"},
        "expected": {"a": ["x"]},
        "evaluationContext": {"checks": [check]},
    }
    assert problems("s.json", json.dumps([sample])) == [
        "s.json:1: sample 's': evaluationContext.checks[0]: expectedPointer '/a/1' leads nowhere in expected"
    ]


@pytest.mark.parametrize(
    ("name", "content", "wrong"),
    [
        ("s.json", b"", "1: the file is empty"),
        ("s.json", b" \n\n", "1: the file is empty"),
        ("s.yaml", b"# nothing\n", "1: the file is empty"),
        ("s.json", b"[]", "1: the file is empty"),
        ("s.json", b'{"samples": []}', "1: samples is empty"),
        ("s.json", b'{"samples": 3}', "1: samples must be a list, not the number 3"),
        ("s.json", b'"text"', "1: the file must be a list, not the text 'text'"),
        ("s.json", b'{"sample_id": "a", "prompt": "?"}', "1: the file is one sample: put it in a list"),
        ("s.json", b'{"sample": [{"sample_id": "a"}]}', "1: unknown field 'sample'. Did you mean 'samples'?"),
        ("s.json", '["é"]'.encode("utf-16"), "1: the file is UTF-16 or binary: save it as UTF-8"),
        ("s.yaml", "a: é".encode("utf-16-le"), "1: the file is UTF-16 or binary: save it as UTF-8"),
        ("s.json", b'[\n"\xff"]', "2: a byte here is not UTF-8: save the file as UTF-8"),
        ("s.json", b'[\n{"a": 1\n', "3: the file ends in the middle (not valid JSON)"),
        ("s.json", b"[\n1,\n]", "2: JSON has no comma before ] (not valid JSON)"),
        ("s.json", b"[\n// note\n]", "2: JSON has no comments: remove it, or use YAML (not valid JSON)"),
        ("s.json", b"[{'a': 1}]", "1: JSON has double quotes only (not valid JSON)"),
        ("s.json", b"[NaN]", "1: NaN and Infinity are not numbers in JSON (not valid JSON)"),
        (
            "s.json",
            b'["\\ud800"]',
            "1: a text contains half of a surrogate pair (\\ud800 to \\udfff alone)",
        ),
        ("s.json", b'["\\u0000"]', "1: a text contains a NUL character"),
        ("s.json", b"[" * 5000, "1: lists and objects are nested more than 64 deep"),
        ("s.json", b"[" + b"9" * 9000 + b"]", "1: a number has too many digits (not valid JSON)"),
        ("s.json", b'[{"prompt": ' + b"9" * 400 + b"}]", "1: a number has too many digits (not valid JSON)"),
        ("s.yaml", b"a:\n\t- b\n", "2: there is a tab where YAML needs spaces (not valid YAML)"),
        ("s.yaml", b"- a: 1\n---\n- b: 2\n", "2: a second YAML document (---) begins: one file is one document"),
        ("s.yaml", b"- !!python/object/apply:os.getcwd []\n", "1: a samples file contains data, never Python objects"),
        ("s.yaml", b"- !secret x\n", "1: the tag !secret is not known"),
        ("s.yaml", b"- &a [*a]\n", "1: *a refers to nothing, or to itself"),
        ("s.yaml", b"[" * 5000, "1: lists and objects are nested more than 64 deep"),
        ("s.yaml", b'- "open\n', "1: found unexpected end of stream while scanning a quoted scalar (not valid YAML)"),
    ],
)
def test_a_file_that_cannot_be_read(name: str, content: bytes, wrong: str) -> None:
    assert problems(name, content)[0] == f"{name}:{wrong}"


def test_aliases_that_grow_without_end_are_refused() -> None:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    (found,) = problems("s.yaml", "\n".join(lines))
    assert "more than 1,000,000 values, most of them by aliases" in found


def test_aliases_that_nest_too_deep_are_refused() -> None:
    lines = ["a0: &a0 [1]", *(f"a{n}: &a{n} [*a{n - 1}]" for n in range(1, 5000))]
    assert problems("s.yaml", "\n".join(lines)) == ["s.yaml:64: lists and objects are nested more than 64 deep"]


def test_a_huge_file_is_refused_before_it_is_read() -> None:
    with Path("s.json").open("wb") as file:
        file.truncate(LARGEST_FILE * 100)
    with pytest.raises(InputError, match="the file is larger than 32 MiB"):
        load_samples(Path("s.json"))


def test_a_path_that_is_not_there() -> None:
    with pytest.raises(InputError, match=r"no samples file nowhere\.json") as caught:
        load_samples(Path("nowhere.json"))
    assert caught.value.slug == "no-such-path"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read() -> None:
    Path("s.json").write_text("[]")
    Path("s.json").chmod(0)
    with pytest.raises(InputError, match="cannot be read") as caught:
        load_samples(Path("s.json"))
    assert caught.value.slug == "no-such-path"


def test_a_folder_without_samples() -> None:
    Path("empty").mkdir()
    with pytest.raises(InputError, match="No samples file is in empty"):
        load_samples(Path("empty"))


def test_another_ending_is_refused() -> None:
    Path("samples.txt").write_text("[]")
    with pytest.raises(InputError, match=r"samples\.txt does not end in \.json, \.yaml, \.yml or \.jsonl"):
        load_samples(Path("samples.txt"))


def refused(read: Callable[[str], SourceNode], text: str) -> UnreadableError | None:
    try:
        read(text)
    except UnreadableError as error:
        return error
    return None


@given(st.text())
def test_no_text_breaks_the_readers(text: str) -> None:
    for read in (json_node, yaml_node):
        error = refused(read, text)
        assert error is None or (error.message and 1 <= error.line <= text.count("\n") + 1)


_ODD = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
_FIELDS = ("sample_id", "prompt", "rubric", "dimensions", "assertions", "mocks", "covers", "environment", "metadata")
_THIRD = ("sampleId", "input", "evaluationContext", "executionContext", "annotations", "expected")


@given(st.dictionaries(st.sampled_from((*_FIELDS, *_THIRD, "x")), _ODD, max_size=5))
def test_no_sample_breaks_the_check(sample: dict[str, object]) -> None:
    Path("odd.json").write_text(json.dumps([sample]), "utf-8")
    with contextlib.suppress(InputError):
        load_samples(Path("odd.json"))
