"""What the rollout changes in the hook: prompts that are held out, and items that are tried."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from knowbound.agent.background import settings_for
from knowbound.injection import hook_settings
from knowbound.injection.inject import EPSILON, choose_for_prompt, drawn, is_held_out, keep_rollout
from knowbound.injection.prompt import HookPrompt
from knowbound.kms.opening import open_knowledge_store
from tests.hook_project import PORT, PROMPT, Project

SESSION = "s-1"
ALIKE = [f"The orders service listens on port {port} in region {name}." for port, name in
         ((8081, "east"), (8082, "west"), (8083, "north"), (8084, "south"))]  # fmt: skip


def session_id(wanted: bool, share: float) -> str:
    """A session that is held out at this share, or is not."""
    return next(f"s{n}" for n in range(1000) if is_held_out(HookPrompt({"session_id": f"s{n}"}), share) is wanted)


def hold_out(project: Project, share: float) -> None:
    (project.root / "knowbound.toml").write_text(f"[quality]\nholdout = {share}\n")


def test_a_held_out_prompt_gets_nothing_and_the_record_says_what_it_would_have_got(filled: Project) -> None:
    hold_out(filled, 0.5)
    assert filled.ask(session_id=session_id(True, 0.5)) == ""
    [record] = filled.records()
    assert (record.outcome, record.arm, record.delivered) == ("held_out", "held_out", False)
    assert [item.excerpt for item in record.items] == [PORT]
    assert record.pool


def test_the_other_prompts_get_theirs_and_are_marked_to_be_compared(filled: Project) -> None:
    hold_out(filled, 0.5)
    assert PORT in filled.ask(session_id=session_id(False, 0.5))
    [record] = filled.records()
    assert (record.outcome, record.arm) == ("injected", "injected")


def test_what_was_held_out_can_still_be_injected_later(filled: Project) -> None:
    hold_out(filled, 0.5)
    filled.ask(session_id=session_id(True, 0.5))
    assert PORT in filled.ask(session_id=session_id(False, 0.5))


def test_a_prompt_that_would_get_nothing_is_on_no_side(filled: Project) -> None:
    hold_out(filled, 1.0)
    filled.ask("thanks, looks good", prompt_id="p1")
    [record] = filled.records()
    assert (record.outcome, record.arm) == ("nothing", "")


def test_without_the_setting_nobody_is_held_out(filled: Project) -> None:
    assert PORT in filled.ask(session_id=session_id(True, 0.5))
    assert filled.records()[0].arm == ""


def test_a_session_starts_as_always_also_where_every_prompt_is_held_out(filled: Project) -> None:
    hold_out(filled, 1.0)
    assert filled.start()


# Exploration


def exploring_id(wanted: bool) -> str:
    return next(
        f"p{n}"
        for n in range(1000)
        if (drawn("explore", HookPrompt({"session_id": SESSION, "prompt_id": f"p{n}"})) < EPSILON) is wanted
    )


@pytest.mark.parametrize(
    ("is_on", "explores", "switch", "expected"),
    [
        (True, True, "", True),
        (True, False, "", False),
        (False, True, "", False),
        (True, True, "false", False),  # KMS_QUALITY_RANKING_ENABLED
    ],
)
def test_a_lower_ranked_item_is_tried_where_exploration_is_on(
    project: Project, is_on: bool, explores: bool, switch: str, expected: bool
) -> None:
    project.store(*ALIKE)
    keep_rollout(project.home, 1, is_on)
    given = {"session_id": SESSION, "cwd": str(project.root), "prompt": PROMPT, "prompt_id": exploring_id(explores)}
    environ = {"KMS_QUALITY_RANKING_ENABLED": switch} if switch else {}
    (project.root / "knowbound.toml").write_text("[injection]\nmost_items = 2\n")
    project.run("user-prompt-submit", json.dumps(given).encode(), **environ)
    [record] = project.records()
    assert len(record.items) == 2
    assert [item.explored for item in record.items] == [False, expected]
    assert (record.items[1].rank > 2) is expected


# The switch


def test_a_running_process_sees_the_switch_with_its_next_prompt(project: Project) -> None:
    project.store(*ALIKE[:2])
    with closing(open_knowledge_store(settings_for(project.root, project.home))) as store:
        wrong = next(one.item.id for one in store.index.all_items() if one.item.content == ALIKE[0])
        store.set_quality({("sqlite", wrong): 0.0})
    prompt = HookPrompt({"session_id": SESSION, "cwd": str(project.root), "prompt": PROMPT, "prompt_id": "p1"})
    config, found = project.root / "knowbound.toml", list[bool]()
    for ranking in ("true", "false", "true"):
        config.write_text(f"[quality]\nranking = {ranking}\n" + "# another size\n" * len(found))
        settings = hook_settings.load(str(project.root), str(project.home))
        found.append(wrong in [item.id for item in choose_for_prompt(str(project.home), settings, prompt).items])
    assert found == [False, True, False]
