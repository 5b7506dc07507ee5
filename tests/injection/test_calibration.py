from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from knowbound.errors import InputError
from knowbound.injection.calibration import LabelledPrompt, PromptInjection, check_ids, read_labelled_prompts
from knowbound.injection.hook_settings import HookSettings
from knowbound.injection.inject import choose_for_prompt
from knowbound.injection.prompt import HookPrompt
from tests.hook_project import PORT, PROMPT, RETRY, SWIFT, Project, project  # noqa: F401


def settings(floor: float, most: int, budget: int) -> HookSettings:
    return HookSettings(
        time_limit_ms=20_000,
        token_budget=budget,
        relevance_floor=floor,
        most_items=most,
        subject="shop",
        is_shared=False,
    )


def test_what_is_measured_is_what_the_hook_injects(project: Project) -> None:  # noqa: F811
    """Whatever the floor, the number of items and the token budget are."""
    project.store(PORT, RETRY, SWIFT, *(f"The orders service listens on port {8000 + n} too." for n in range(6)))
    home, seen = str(project.home), set()
    for budget, prompt in product((120, 600), (PROMPT, "Why was the payment webhook retried three times?")):
        injection = PromptInjection(prompt, home, settings(0.9, 2, budget))
        for floor, most in product((0.0, 0.33, 1.0), (1, 3)):
            choice = choose_for_prompt(home, settings(floor, most, budget), HookPrompt({"prompt": prompt}))
            assert sorted(injection(floor, most)) == sorted(item.id for item in choice.items)
            seen.add(len(choice.items))
    assert {0, 1, 3} <= seen


def test_what_is_relevant_enough_is_injected_however_many_rank_before_it(project: Project) -> None:  # noqa: F811
    project.store(*(f"The orders service has a shard {n}." for n in range(6)))
    (sought,) = project.store(PORT, confidence=0.01)
    injection = PromptInjection(PROMPT, str(project.home), settings(0.9, 1, 600))
    ranked = {item.id: item.relevance for item in injection.ranked}
    assert list(ranked).index(sought) == 6
    chosen = choose_for_prompt(str(project.home), settings(ranked[sought], 1, 600), HookPrompt({"prompt": PROMPT}))
    assert [item.id for item in chosen.items] == injection(ranked[sought], 1) == [sought]


def test_labelled_prompts_are_read_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(
        '{"prompt": "Which port?", "right": ["a"], "on_topic": ["b"], "id": "p1", "kind": "question"}\n\n'
        '{"prompt": "提交", "right": [], "line": 70}\n',
        "utf-8",
    )
    assert read_labelled_prompts(path).prompts == (
        LabelledPrompt("Which port?", ("a",), ("b",), "p1", 1),
        LabelledPrompt("提交", (), line=3),
    )


@pytest.mark.parametrize(
    "line",
    [
        b'{"prompt": "x"}',
        b'{"right": []}',
        b'{"prompt": " ", "right": []}',
        b'{"prompt": "x", "right": "a"}',
        b'{"prompt": "x", "right": [1]}',
        b'["x"]',
        b'{"prompt": "x", "right": [',
        b'{"prompt": "\xff", "right": []}',
    ],
)
def test_a_line_that_is_no_labelled_prompt_is_named(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_bytes(b'{"prompt": "x", "right": []}\n' + line + b"\n")
    with pytest.raises(InputError, match=r"prompts\.jsonl:2 ") as error:
        read_labelled_prompts(path)
    assert error.value.slug == "bad-prompts"


def test_a_file_without_prompts_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(InputError, match="bad-prompts"):
        read_labelled_prompts(tmp_path / "empty.jsonl")
    with pytest.raises(InputError, match="no-such-path"):
        read_labelled_prompts(tmp_path / "missing.jsonl")


def test_an_item_that_is_not_served_is_named_with_the_line(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"prompt": "x", "right": ["a"]}\n{"prompt": "y", "right": [], "on_topic": ["gone"]}\n')
    labelled = read_labelled_prompts(path)
    with pytest.raises(InputError, match=r"prompts\.jsonl:2 names the item 'gone'"):
        check_ids(labelled, {"a"})
    check_ids(labelled, {"a", "gone"})
