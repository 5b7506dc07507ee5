"""The schema takes every form that the loader takes, and refuses what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.errors import InputError
from knowbound.evals.assertions import TYPES
from knowbound.evals.samples.load import load_samples
from knowbound.evals.samples.schema import SCHEMA
from knowbound.evals.samples.yaml_nodes import yaml_node

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "tests" / "samples"
VALIDATOR = jsonschema_rs.Draft202012Validator(SCHEMA)


def test_it_is_a_valid_schema_in_which_every_field_is_described() -> None:
    jsonschema_rs.meta.validate(SCHEMA)
    definitions = SCHEMA["$defs"]
    assert isinstance(definitions, dict)
    for name in ("set", "sample", "sample_v3", "assertion"):
        for field, shape in definitions[name]["properties"].items():
            assert shape["description"], f"{name}.{field}"


@pytest.mark.parametrize("name", ["list.json", "older.json", "wrapped_v1.json", "wrapped_v2.json", "third.json"])
def test_every_json_form_fits(name: str) -> None:
    VALIDATOR.validate(json.loads((SAMPLES / name).read_text("utf-8")))


@pytest.mark.parametrize("name", ["rag.yaml", "dimensions.yaml", "folder/b.yaml"])
def test_every_yaml_form_fits(name: str) -> None:
    VALIDATOR.validate(yaml_node((SAMPLES / name).read_text("utf-8")).value)


def is_loaded(value: object, folder: Path) -> bool:
    (folder / "s.json").write_text(json.dumps(value), "utf-8")
    try:
        load_samples(folder / "s.json")
    except InputError:
        return False
    return True


WRONG: list[dict[str, Any]] = [
    {"unknown": 1},
    {"sample_id": ""},
    {"sample_id": 7},
    {"prompt": "  "},
    {"prompt": None},
    {"context": 1},
    {"rubric": {}},
    {"rubric": {"a": {"criterion": "x", "weight": 0}}},
    {"rubric": {"a": {"criterion": "x"}}, "dimensions": {"b": "y"}},
    {"dimensions": {"": "x"}},
    {"capability": "x"},
    {"capability": [""]},
    {"difficulty": "L2"},
    {"provenance": "robot"},
    {"metadata": 1},
    {"tripwire": 1},
    {"session": ""},
    {"covers": [{"targetKind": "x", "ref": "y"}]},
    {"environment": {"cli": []}},
    {"mocks": [{"match": {}}]},
    {"assertions": [{"type": "faithfulness"}]},
    {"assertions": [{"type": "context_recall", "reference": " "}]},
]
WRONG_ASSERTIONS: list[dict[str, Any]] = [
    {},
    {"type": "x"},
    {"type": "contains"},
    {"type": "contains", "value": " "},
    {"type": "contains", "value": 3},
    {"type": "contains", "value": ["x"]},
    {"type": "contains", "value": "x", "weight": 0},
    {"type": "contains", "value": "x", "unknown": 0},
    {"type": "contains_all", "values": []},
    {"type": "contains_all", "values": [""]},
    {"type": "tools_called"},
    {"type": "tools_called", "value": 3},
    {"type": "tools_called", "value": []},
    {"type": "max_length", "value": "3"},
    {"type": "max_length", "value": -1},
    {"type": "regex"},
    {"type": "json_schema", "schema": []},
    {"type": "custom"},
    {"type": "custom", "fn": ""},
    {"type": "rouge_n_min"},
    {"type": "rouge_n_min", "reference": "x", "threshold": 2},
    {"type": "rouge_n_min", "reference": "x", "n": 0},
    {"type": "answer_relevancy", "threshold": 0},
    {"type": "mock_hit", "value": "Bash"},
    {"type": "mock_hit", "value": "Bash:0"},
    {"type": "tool_output_contains", "value": "Bash: "},
    {"type": "assert-set"},
    {"type": "assert-set", "children": []},
    {"type": "assert-set", "children": [{"type": "contains"}]},
    {"type": "assert-set", "children": [{"type": "answer_relevancy"}]},
    {"type": "assert-set", "children": [{"type": "json_valid"}], "mode": "some"},
]


@pytest.mark.parametrize("fields", [*WRONG, *({"assertions": [one]} for one in WRONG_ASSERTIONS)], ids=json.dumps)
def test_what_the_loader_refuses_by_its_shape_the_schema_refuses(fields: dict[str, Any], tmp_path: Path) -> None:
    samples = [{"sample_id": "s", "prompt": "?"} | fields]
    assert not is_loaded(samples, tmp_path)
    assert not VALIDATOR.is_valid(samples)


@pytest.mark.parametrize("value", [[], {}, {"samples": []}, {"samples": [{}]}, "x", None, {"samples": 1, "x": 2}])
def test_what_is_no_test_set_is_refused_by_both(value: object, tmp_path: Path) -> None:
    assert not is_loaded(value, tmp_path)
    assert not VALIDATOR.is_valid(value)


_VALUES: dict[str, st.SearchStrategy[Any]] = {
    "value": st.sampled_from(["x", "Read:1", "", 3, 0.5, -1, ["a"], [], None]),
    "values": st.sampled_from([["a"], [], [""], "a", ["a", 1]]),
    "pattern": st.sampled_from(["a", "", 1]),
    "schema": st.sampled_from([{}, {"type": "string"}, 1]),
    "weight": st.sampled_from([1, 0.5, 0, "1"]),
    "fn": st.sampled_from(["f.py", "", 2]),
    "reference": st.sampled_from(["r", " ", 4]),
    "threshold": st.sampled_from([0, 0.5, 1, 3, 5, 6, "3"]),
    "not": st.sampled_from([True, False, "no"]),
    "mode": st.sampled_from(["all", "any", "none"]),
    "n": st.sampled_from([1, 2, 0, 1.0, 1.5]),
    "odd": st.just(1),
}
_LEAVES = st.fixed_dictionaries({"type": st.sampled_from([*TYPES, "unknown"])}, optional=_VALUES)
_ASSERTIONS = st.recursive(
    _LEAVES,
    lambda inner: st.fixed_dictionaries({"type": st.just("assert-set"), "children": st.lists(inner, max_size=2)}),
    max_leaves=4,
)


@given(assertions=st.lists(_ASSERTIONS, max_size=2), context=st.sampled_from(["", "c"]))
def test_loader_and_schema_agree(
    assertions: list[dict[str, Any]], context: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    samples = [{"sample_id": "s", "prompt": "?", "context": context, "assertions": assertions}]
    assert is_loaded(samples, tmp_path_factory.getbasetemp()) == VALIDATOR.is_valid(samples)
