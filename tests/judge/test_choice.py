"""Which model may be asked: the user's permission, what a project may say, and who may see a session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from knowbound.config import REPLACED, ModelTask, Settings, load, risky_settings, variable
from knowbound.errors import ConfigError
from knowbound.judge.choice import (
    Permission,
    chooser,
    fallback_for,
    judge_for,
    keep_permission,
    load_permission,
    may_see,
    provider_of,
)
from knowbound.judge.names import parse_name
from knowbound.trust import lines_of, trust
from knowbound.user_files import state_folder
from tests.conftest import write_user_config

MODEL = "anthropic:claude-haiku-4-5"
TURNS = ModelTask.TURNS


def allowed(*, commands: bool = True, background: bool = False, name: str = MODEL, choosing: bool = False) -> None:
    keep_permission(Permission(name, commands, background, choosing=choosing))


def test_without_a_permission_rules_decide_alone(tmp_path: Path) -> None:
    assert {judge_for(load(tmp_path, {}), task) for task in ModelTask} == {"rules"}


def test_the_permission_for_commands_is_none_for_the_background(tmp_path: Path) -> None:
    allowed()
    settings = load(tmp_path, {})
    assert (judge_for(settings, TURNS), judge_for(settings, TURNS, background=True)) == (MODEL, "rules")
    allowed(commands=False, background=True)
    assert (judge_for(settings, TURNS), judge_for(settings, TURNS, background=True)) == ("rules", MODEL)


def test_a_model_that_the_user_names_may_be_used_by_commands_only(tmp_path: Path) -> None:
    for settings in (
        load(tmp_path, {"KNOWBOUND_MODEL": MODEL}),
        load(tmp_path, {"KNOWBOUND_MODEL_NAME": MODEL}),
        load(tmp_path, {}, {"model_name": MODEL}),
    ):
        assert judge_for(settings, TURNS) == MODEL
        assert judge_for(settings, TURNS, background=True) == "rules"


def test_a_task_may_have_a_model_of_its_own_or_none(tmp_path: Path) -> None:
    write_user_config(
        f'[model]\nname = "{MODEL}"\n[model.tasks]\nhedges = "rules"\nlessons = "codex-cli:m"\nturns = "none"\n'
    )
    settings = load(tmp_path, {})
    found = {task: judge_for(settings, task) for task in ModelTask}
    assert found[ModelTask.HEDGES] == found[TURNS] == "rules"
    assert found[ModelTask.LESSONS] == "codex-cli:m"
    assert found[ModelTask.CLAIMS] == MODEL


def project_names(root: Path, name: str) -> Settings:
    (root / "knowbound.toml").write_text(f'[model]\nname = "{name}"\n', "utf-8")
    risky = risky_settings(root)
    if risky:
        trust(root, risky, lines_of(risky))
    return load(root, {})


def test_a_trusted_project_names_a_model_only_of_a_provider_that_the_user_allowed(tmp_path: Path) -> None:
    settings = project_names(tmp_path, "openai:m")
    assert judge_for(settings, TURNS) == "rules"
    allowed()
    assert judge_for(settings, TURNS) == "rules"  # another provider
    allowed(name="openai:other")
    assert judge_for(settings, TURNS) == "openai:m"


def test_a_project_may_say_none(tmp_path: Path) -> None:
    allowed(background=True)
    settings = project_names(tmp_path, "none")
    assert judge_for(settings, TURNS) == judge_for(settings, TURNS, background=True) == "rules"


@pytest.mark.parametrize(("old", "new"), REPLACED.items())
def test_a_setting_of_an_earlier_version_still_counts_and_says_what_replaced_it(
    tmp_path: Path, old: str, new: str
) -> None:
    table, _, key = old.rpartition(".")
    field = new.replace(".", "_")
    write_user_config(f'[{table}]\n{key} = "openai:m"\n')
    settings = load(tmp_path, {})
    assert (getattr(settings, field), settings.replaced) == ("openai:m", (old,))
    settings = load(tmp_path, {variable(old): ""})
    assert (getattr(settings, field), variable(old) in settings.replaced) == ("none", True)  # empty meant none
    settings = load(tmp_path, {variable(old): "openai:a", variable(new): "openai:b"})
    assert getattr(settings, field) == "openai:b"


def test_the_judge_of_turns_of_an_earlier_version_goes_on_judging_in_the_background(tmp_path: Path) -> None:
    write_user_config(f'[quality]\njudge = "{MODEL}"\n')
    assert judge_for(load(tmp_path, {}), TURNS, background=True) == MODEL


@pytest.mark.parametrize("text", ["", "{", "[]", '{"name": 3}', "\xff"])
def test_a_damaged_permission_is_none(text: str) -> None:
    allowed()
    Path(state_folder(), "model.json").write_bytes(text.encode("latin-1"))
    assert load_permission() == Permission()


def test_the_permission_is_for_the_user_alone() -> None:
    path = keep_permission(Permission(MODEL, commands=True))
    assert os.stat(path).st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("judge", "agent", "seen"),
    [
        ("claude-cli:haiku", "claude-code", True),
        ("anthropic:m", "claude-code", True),
        ("anthropic:m", "codex", False),
        ("codex-cli:m", "codex", True),
        ("openai:m", "claude-code", False),
        ("openai:m", "gemini-cli", False),
        ("https://example.com/v1#m", "codex", False),
        ("http://127.0.0.1:11434/v1#m", "codex", True),
        ("command:judge", "codex", True),
        ("recorded:a.jsonl", "codex", True),
        ("rules", "codex", True),
        ("anthropic:m", "", True),  # text that the user hands over
    ],
)
def test_a_session_is_seen_by_its_own_provider_alone(tmp_path: Path, judge: str, agent: str, seen: bool) -> None:
    assert may_see(judge, agent, load(tmp_path, {})) == seen
    assert may_see(judge, agent, load(tmp_path, {}, {"model_cross_provider": True}))


def test_a_model_falls_back_to_the_next_larger_one_of_its_provider_or_to_a_named_one(tmp_path: Path) -> None:
    settings = load(tmp_path, {})
    assert fallback_for(settings, "claude-cli:haiku") == "claude-cli:sonnet"
    assert fallback_for(settings, "codex-cli:m") == ""
    named = load(tmp_path, {}, {"model_fallback": "openai:large"})
    assert fallback_for(named, "openai:small") == "openai:large"
    assert fallback_for(named, "rules") == ""


def test_a_remote_address_is_its_host() -> None:
    assert provider_of(parse_name("https://models.example.com/v1#m")) == "models.example.com"
    assert provider_of(parse_name("rules")) == ""


def test_a_project_does_not_switch_on_the_background_by_a_key_of_an_earlier_version(tmp_path: Path) -> None:
    write_user_config(f'[model]\nname = "{MODEL}"\n')
    (tmp_path / "knowbound.toml").write_text('[quality]\njudge = "command:evil"\n', "utf-8")
    assert judge_for(load(tmp_path, {}, ignore_untrusted=True), TURNS, background=True) == "rules"


def test_a_project_does_not_undo_the_none_of_the_user_by_an_empty_name(tmp_path: Path) -> None:
    write_user_config('[model.tasks]\nhedges = "none"\n')
    (tmp_path / "knowbound.toml").write_text('[model.tasks]\nhedges = ""\n', "utf-8")
    with pytest.raises(ConfigError, match="config-untrusted"):
        load(tmp_path, {})


def test_a_permission_is_for_its_provider_alone(tmp_path: Path) -> None:
    allowed(background=True)
    write_user_config('[model.tasks]\nturns = "openai:m"\n')
    assert judge_for(load(tmp_path, {}), TURNS, background=True) == "rules"
    settings = project_names(tmp_path, "anthropic:claude-opus-4-6")
    keep_permission(Permission())
    assert judge_for(settings, ModelTask.HEDGES) == "rules"


def test_a_fallback_or_a_chooser_of_a_project_needs_the_permission_too(tmp_path: Path) -> None:
    text = '[model]\nfallback = "openai:m"\n[model.tasks]\nchoose = "openai:m"\n'
    (tmp_path / "knowbound.toml").write_text(text, "utf-8")
    risky = risky_settings(tmp_path)
    trust(tmp_path, risky, lines_of(risky))
    settings = load(tmp_path, {})
    assert (fallback_for(settings, "anthropic:m"), chooser(settings)) == ("", "")
    allowed(name="openai:other", background=True)
    assert chooser(settings) == ""  # a permission of an earlier version, which did not ask for choosing
    allowed(name="openai:other", background=True, choosing=True)
    assert (fallback_for(settings, "anthropic:m"), chooser(settings)) == ("openai:m", "openai:m")


def test_the_variable_counts_for_every_task_without_one_of_its_own(tmp_path: Path) -> None:
    write_user_config('[model.tasks]\nhedges = "claude-cli:haiku"\n')
    environ = {"KNOWBOUND_MODEL": "none", "KNOWBOUND_MODEL_TASKS_TURNS": MODEL}
    settings = load(tmp_path, environ)
    assert (judge_for(settings, ModelTask.HEDGES), judge_for(settings, TURNS)) == ("rules", MODEL)


def test_a_permission_for_an_unknown_name_is_none() -> None:
    keep_permission(Permission("foo", commands=True))
    assert load_permission() == Permission()
