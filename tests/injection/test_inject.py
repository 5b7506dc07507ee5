from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knowbound.injection.inject import EPSILON, drawn, explored, is_held_out
from knowbound.injection.prompt import HookPrompt
from knowbound.kms.index.ranking import FoundItem

PROMPTS = [HookPrompt({"session_id": f"s{n // 2}", "prompt_id": f"p{n}"}) for n in range(4000)]


@given(st.text(), st.text())
def test_the_same_prompt_is_always_decided_alike(session: str, prompt: str) -> None:
    one, again = (HookPrompt({"session_id": session, "prompt_id": prompt}) for _ in range(2))
    assert drawn("x", one) == drawn("x", again)
    assert 0 <= drawn("x", one) < 1


def test_about_the_share_is_held_out_and_none_and_all_at_the_ends() -> None:
    assert 0.17 < sum(is_held_out(one, 0.2) for one in PROMPTS) / len(PROMPTS) < 0.23
    assert not any(is_held_out(one, 0.0) for one in PROMPTS)
    assert all(is_held_out(one, 1.0) for one in PROMPTS)


def test_all_prompts_of_a_session_are_on_one_side() -> None:
    sides = [is_held_out(one, 0.5) for one in PROMPTS]
    assert sides[::2] == sides[1::2]


def test_whoever_is_held_out_for_a_share_is_for_a_larger_one() -> None:
    assert all(is_held_out(one, 0.3) for one in PROMPTS if is_held_out(one, 0.1))


def test_exploring_does_not_depend_on_being_held_out() -> None:
    held = [one for one in PROMPTS if is_held_out(one, 0.5)]
    share = sum(drawn("explore", one) < 0.5 for one in held) / len(held)
    assert 0.45 < share < 0.55


def items(*names: str) -> list[FoundItem]:
    return [FoundItem(name, "sqlite", name) for name in names]


def test_a_tenth_of_the_prompts_tries_one_that_was_ranked_lower_in_the_last_place() -> None:
    tried = 0
    seen = set()
    for prompt in PROMPTS:
        chosen = explored(prompt, items("a", "b"), items("c", "d", "e"))
        assert chosen[0].id == "a"
        assert len(chosen) == 2
        if chosen[1].id != "b":
            tried += 1
            seen.add(chosen[1].id)
            assert chosen[1].is_explored
    assert EPSILON * 0.8 < tried / len(PROMPTS) < EPSILON * 1.2
    assert seen == {"c", "d", "e"}


def test_nothing_is_tried_where_nothing_else_is_relevant_or_nothing_is_injected() -> None:
    for prompt in PROMPTS[:200]:
        assert [one.id for one in explored(prompt, items("a"), [])] == ["a"]
        assert explored(prompt, [], items("c")) == []


def test_without_a_session_the_words_of_the_prompt_count() -> None:
    given_prompts = [HookPrompt({"prompt": f"question {n}"}) for n in range(400)]
    assert 0 < sum(is_held_out(one, 0.5) for one in given_prompts) < 400
