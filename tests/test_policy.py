"""The policy of a machine: stricter values count, looser ones do not, and what cannot be read stops everything."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound import policy
from knowbound.agent.hook.resident import is_off
from knowbound.cli.main import knowbound
from knowbound.config import ModelTask, Settings, load
from knowbound.errors import ConfigError
from knowbound.injection import hook_settings
from knowbound.judge.choice import judge_for
from knowbound.judge.names import RULES
from knowbound.judge.registry import asker_for
from knowbound.user_files import POLICY_VARIABLE
from tests.conftest import write_user_config

LOOSE = (
    '[model]\nbudget_usd = 9.0\nbudget_calls = 900\nbackground_calls = 90\nkeep_days = 0\n[audit]\ncheck = "block"\n'
)
STRICT = "[model]\nbudget_usd = 0.1\nbudget_calls = 1\nbackground_calls = 0\nkeep_days = 1\n"
LIMITS = 'check = "warn"\nkeep_days = 30\nbudget_usd = 1.0\nbudget_calls = 100\nbackground_calls = 10\n'


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that the environment adds; the machine that runs the tests may have one of its own."""
    path = tmp_path / "policy.toml"
    monkeypatch.setenv(POLICY_VARIABLE, str(path))
    return path


def values(settings: Settings) -> tuple[object, ...]:
    found = settings.model_budget_usd, settings.model_budget_calls, settings.model_background_calls
    return (*found, settings.model_keep_days, settings.audit_check)


def test_a_policy_tightens_what_the_user_sets(machine: Path, tmp_path: Path) -> None:
    write_user_config(LOOSE)
    assert values(load(tmp_path)) == (9.0, 900, 90, 0, "block")
    machine.write_text(LIMITS)
    assert values(load(tmp_path)) == (1.0, 100, 10, 30, "warn")
    given = {"model_budget_usd": 5.0, "audit_check": "block"}
    assert values(load(tmp_path, flags=given)) == (1.0, 100, 10, 30, "warn")


def test_a_policy_lifts_nothing(machine: Path, tmp_path: Path) -> None:
    write_user_config(STRICT)
    machine.write_text(LIMITS + 'providers = ["anthropic"]\noff = false\n')
    assert values(load(tmp_path)) == (0.1, 1, 0, 1, "off")
    assert judge_for(load(tmp_path), ModelTask.CLAIMS) == RULES


def test_two_policies_are_as_strict_as_the_stricter_of_each_key(
    machine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.toml"
    other.write_text('budget_calls = 5\nproviders = ["anthropic", "openai"]\ncheck = "off"\n')
    machine.write_text('budget_calls = 50\nbudget_usd = 0.5\nproviders = ["openai"]\ncheck = "warn"\noff = true\n')
    monkeypatch.setattr(policy, "policy_files", lambda: [str(other), str(machine)])
    found = policy.load_policy()
    assert (found.budget_calls, found.budget_usd, found.check, found.off) == (5, 0.5, "off", True)
    assert found.providers == frozenset({"openai"})


def test_only_allowed_providers_are_asked(machine: Path, tmp_path: Path) -> None:
    flags = {"model_name": "openai:gpt-5"}
    assert judge_for(load(tmp_path, flags=flags), ModelTask.CLAIMS) == "openai:gpt-5"
    machine.write_text('providers = ["anthropic", "this machine"]\n')
    settings = load(tmp_path, flags=flags)
    assert judge_for(settings, ModelTask.CLAIMS) == RULES
    assert asker_for(settings, "openai:gpt-5") is None
    assert judge_for(load(tmp_path, flags={"model_name": "command:cat"}), ModelTask.CLAIMS) == "command:cat"
    machine.write_text("providers = []\n")
    assert judge_for(load(tmp_path, flags={"model_name": "command:cat"}), ModelTask.CLAIMS) == RULES


def test_hooks_are_off_by_policy_and_see_its_check_at_once(machine: Path, tmp_path: Path) -> None:
    write_user_config(LOOSE)
    home = tmp_path / ".knowbound"
    home.mkdir()
    assert hook_settings.load(str(tmp_path), str(home)).check == "block"
    machine.write_text('check = "warn"\n')
    assert hook_settings.load(str(tmp_path), str(home)).check == "warn"
    assert not is_off()
    machine.write_text("off = true\n")
    assert is_off()


@pytest.mark.parametrize(
    "text",
    ["off = 1", "providers = 'anthropic'", "check = 'loud'", "budget_usd = -1", "budget_uds = 1", "off = ", "\0"],
)
def test_a_policy_that_cannot_be_used_stops_commands_and_switches_hooks_off(
    text: str, machine: Path, tmp_path: Path
) -> None:
    machine.write_text(text)
    with pytest.raises(ConfigError, match=r"policy\.toml"):
        load(tmp_path)
    assert is_off()


def test_doctor_shows_policy_version_and_problems_for_a_fleet(machine: Path, tmp_path: Path) -> None:
    machine.write_text("off = true\nproviders = []\n")
    ran = CliRunner().invoke(knowbound, ["doctor", "--root", str(tmp_path), "--format", "json"], standalone_mode=False)
    found = json.loads(ran.stdout)
    assert found["policy"][-1] == str(machine)
    assert found["off"] is True
    assert found["problems"] == [one["name"] for one in found["checks"] if one["state"] == "problem"]
    assert found["healthy"] is not bool(found["problems"])
    assert {one["name"]: one["found"] for one in found["checks"]}["policy"].endswith("text may be sent to no provider")
