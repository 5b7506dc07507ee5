"""What a project's config may decide: nothing that runs, names an address, leaves the root or lifts a hook's limit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from knowbound import trust
from knowbound.cli.main import knowbound
from knowbound.config import SETTINGS, load, risky_settings
from knowbound.errors import ConfigError
from knowbound.store.data_dir import ANOTHERS, owner_of
from knowbound.trust import hash_of
from tests.conftest import write_user_config

RISKY = {
    "knowledge": 'knowledge = ["../other/**/*.md"]',
    "cluster.address": '[cluster]\naddress = "local:2"',
    "cluster.certificates": '[cluster]\ncertificates = "certificates"',
    "eval.samples": '[eval]\nsamples = "/etc/eval-samples.yaml"',
    "eval.executor": '[eval]\nexecutor = "command:./canary.sh"',
    "kms.backends": '[kms]\nbackends = ["mongo"]',
    "kms.mongo_url": '[kms]\nmongo_url = "mongodb://192.0.2.1/all"',
    "cluster.mongo_url": '[cluster]\nmongo_url = "mongodb://192.0.2.1/all"',
    "cluster.keep_days": "[cluster]\nkeep_days = 7",
    "store.keep_days": "[store]\nkeep_days = 7",
    "kms.mem0_path": '[kms]\nmem0_path = "mem0"',
    "kms.neo4j_url": '[kms]\nneo4j_url = "bolt://192.0.2.1"',
    "kms.neo4j_user": '[kms]\nneo4j_user = "eve"',
    "kms.neo4j_password": '[kms]\nneo4j_password = "x"',
    "kms.neo4j_database": '[kms]\nneo4j_database = "x"',
    "kms.neo4j_label": '[kms]\nneo4j_label = "Knowledge"',
    "kms.mongo_collection": '[kms]\nmongo_collection = "unified_knowledge"',
    "kms.mem0_url": '[kms]\nmem0_url = "http://192.0.2.1"',
    "kms.mem0_password": '[kms]\nmem0_password = "x"',
    "kms.mem0_user": '[kms]\nmem0_user = "eve"',
    "kms.fields": '[kms]\nfields = ["content=body"]',
    "kms.write": "[kms]\nwrite = true",
    "items.files": '[items]\nfiles = ["knowledge/**/*.md"]',
    "injection.token_budget": "[injection]\ntoken_budget = 100000",
    "injection.most_items": "[injection]\nmost_items = 20",
    "injection.time_limit_ms": "[injection]\ntime_limit_ms = 60000",
    "audit.check_ms": "[audit]\ncheck_ms = 60000",
    "model.name": '[model]\nname = "anthropic:m"',
    "model.fallback": '[quality]\nfallback_judge = "openai:m"',
    "model.budget_usd": "[model]\nbudget_usd = 100",
    "model.budget_calls": "[model]\nbudget_calls = 100000",
    "model.background_calls": "[model]\nbackground_calls = 100000",
    "model.cross_provider": "[model]\ncross_provider = true",
    "model.tasks.hedges": '[hedging_classifier]\nmodel = "http://192.0.2.1/v1#m"',
    "model.tasks.rubrics": '[judge]\nmodel = "command:./canary.sh"',
    "model.tasks.lessons": '[learn]\nmodel = "command:./canary.sh"',
    "model.tasks.choose": '[injection]\nmodel = "anthropic:m"',
    "model.tasks.claims": '[audit]\nmodel = "anthropic:m"',
    "model.tasks.turns": '[quality]\njudge = "command:./canary.sh"',
    "model.tasks.misses": '[model.tasks]\nmisses = "codex-cli:m"',
    "model.tasks.rescue": '[model.tasks]\nrescue = "codex-cli:m"',
    "model.tasks.investigate": '[model.tasks]\ninvestigate = "codex-cli:m"',
    "model.tasks.rules": '[model.tasks]\nrules = "codex-cli:m"',
    "model.tasks.statements": '[model.tasks]\nstatements = "codex-cli:m"',
    "model.tasks.causes": '[model.tasks]\ncauses = "codex-cli:m"',
    "model.tasks.drafts": '[model.tasks]\ndrafts = "codex-cli:m"',
    "model.tasks.probe": '[model.tasks]\nprobe = "codex-cli:m"',
}
OTHER_FORMS = {
    "model.tasks.hedges": ("anthropic:m", "openai:m", "claude-cli:m", "codex-cli:m", "recorded:../x.jsonl"),
    "model.tasks.rubrics": ("https://192.0.2.1/v1#m", "command:sh -c true", "recorded:/etc/passwd", "recorded:~/x"),
    "model.tasks.turns": ("anthropic:m", "https://192.0.2.1/v1#m", "recorded:../x.jsonl"),
    "model.fallback": ("command:./canary.sh", "recorded:/etc/passwd"),
    "eval.executor": ("claude", "codex", "claude:opus", "model:openai:m", "anything"),
}
HARMLESS = (
    'knowledge = ["docs/**/*.md"]\njobs = 2',
    '[hedgingClassifier]\nmodel = "rules"\nenabled = true',
    '[judge]\nmodel = "recorded:answers.jsonl"\nseconds = 5',
    '[eval]\nsamples = "tests/set.yaml"\nexecutor = "investigate"\nseconds = 10',
    '[kms]\nbackends = ["sqlite"]\nreap_days = 3',
    "[injection]\ntoken_budget = 100\ntime_limit_ms = 100\nrelevance_floor = 0.5\nmost_items = 1",
    "[gate]\nmax_gap_rate = 0.1",
    '[quality]\njudge = "rules"\nfallback_judge = "recorded:answers.jsonl"',
    '[model]\nname = "none"\nbudget_usd = 0.1\nbudget_calls = 1\nbackground_calls = 0\nkeep_days = 1',
)


def configured(root: Path, text: str) -> Path:
    (root / "knowbound.toml").write_text(text, "utf-8")
    return root


def run(root: Path, *words: str, input_: str | None = None) -> Result:
    return CliRunner().invoke(knowbound, [words[0], "--root", str(root), *words[1:]], input=input_)


def test_every_setting_is_either_risky_here_or_named_as_harmless() -> None:
    assert {setting.key for setting in SETTINGS if setting.risk is not trust.HARMLESS} == set(RISKY)


@pytest.mark.parametrize("key", RISKY)
def test_a_risky_setting_of_a_project_is_refused_with_the_way_to_allow_it(tmp_path: Path, key: str) -> None:
    configured(tmp_path, RISKY[key])
    with pytest.raises(ConfigError, match="knowbound trust") as error:
        load(tmp_path, {})
    assert error.value.slug == "config-untrusted"
    assert f"{key} " in str(error.value)
    assert "config.toml" in str(error.value)
    assert [one.key for one in risky_settings(tmp_path)] == [key]


@pytest.mark.parametrize(("key", "value"), [(key, value) for key in OTHER_FORMS for value in OTHER_FORMS[key]])
def test_every_form_of_a_judge_or_executor_that_asks_somebody_is_refused(tmp_path: Path, key: str, value: str) -> None:
    table, _, name = key.partition(".")
    with pytest.raises(ConfigError, match="config-untrusted"):
        load(configured(tmp_path, f"[{table}]\n{name} = {json.dumps(value)}"), {})


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_harmless_needs_no_trust(tmp_path: Path, text: str) -> None:
    assert load(configured(tmp_path, text), {}).source.endswith("knowbound.toml")


def test_pyproject_is_a_projects_config_as_well(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.knowbound.judge]\nmodel = "command:./canary.sh"\n', "utf-8")
    with pytest.raises(ConfigError, match="config-untrusted"):
        load(tmp_path, {})


def test_the_user_the_environment_and_the_command_line_may(tmp_path: Path) -> None:
    configured(tmp_path, '[eval]\nexecutor = "command:./canary.sh"')
    assert load(tmp_path, {"KNOWBOUND_EVAL_EXECUTOR": "codex"}).eval_executor == "codex"
    assert load(tmp_path, {}, {"eval_executor": "claude"}).eval_executor == "claude"
    write_user_config('[eval]\nexecutor = "command:./canary.sh"\n[kms]\nbackends = ["mongo"]\n')
    settings = load(tmp_path, {})
    assert (settings.eval_executor, settings.kms_backends) == ("command:./canary.sh", ("mongo",))


def test_a_project_decides_over_the_user_where_it_may(tmp_path: Path) -> None:
    write_user_config("jobs = 3\nrepeated_failure_calls = 9\n[injection]\ntoken_budget = 2000\n")
    settings = load(configured(tmp_path, "jobs = 2\n[injection]\ntoken_budget = 1500\n"), {})
    assert (settings.jobs, settings.repeated_failure_calls, settings.injection_token_budget) == (2, 9, 1500)
    with pytest.raises(ConfigError, match="lifts a limit"):
        load(configured(tmp_path, "[injection]\ntoken_budget = 2001\n"), {})


def test_a_config_that_is_a_link_out_of_the_root_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "other.toml").write_text("jobs = 2\n", "utf-8")
    root = tmp_path / "root"
    root.mkdir()
    (root / "knowbound.toml").symlink_to(tmp_path / "other.toml")
    with pytest.raises(ConfigError, match="leads out of"):
        load(root, {})


# knowbound trust


def test_trust_shows_the_settings_and_asks(tmp_path: Path) -> None:
    configured(tmp_path, '[judge]\nmodel = "command:sh judge.sh"\n[eval]\nexecutor = "claude"\n')
    (tmp_path / "judge.sh").write_text("echo 1\n", "utf-8")
    refused = run(tmp_path, "trust", input_="n\n")
    assert '+ model.tasks.rubrics = "command:sh judge.sh"   (runs a program)' in refused.output
    assert "+     judge.sh sha256:" in refused.output
    assert '+ eval.executor = "claude"   (runs a program)' in refused.output
    assert isinstance(refused.exception, Exception)
    with pytest.raises(ConfigError):
        load(tmp_path, {})
    assert run(tmp_path, "trust", input_="y\n").exit_code == 0
    assert load(tmp_path, {}).eval_executor == "claude"
    assert "trusted already" in run(tmp_path, "trust").output


def test_a_changed_setting_or_program_asks_again_and_shows_the_difference(tmp_path: Path) -> None:
    configured(tmp_path, '[judge]\nmodel = "command:sh judge.sh"\n')
    (tmp_path / "judge.sh").write_text("echo 1\n", "utf-8")
    run(tmp_path, "trust", "--yes")
    assert load(tmp_path, {}).model_tasks_rubrics
    (tmp_path / "judge.sh").write_text("echo 2\n", "utf-8")
    with pytest.raises(ConfigError, match="config-untrusted"):
        load(tmp_path, {})
    shown = run(tmp_path, "trust", "--yes").output
    assert "-     judge.sh sha256:" in shown
    assert '  model.tasks.rubrics = "command:sh judge.sh"' in shown
    configured(tmp_path, '[judge]\nmodel = "command:sh judge.sh --fast"\n')
    with pytest.raises(ConfigError, match="config-untrusted"):
        load(tmp_path, {})
    configured(tmp_path, 'jobs = 3\n[judge]\nmodel = "command:sh judge.sh"\n')  # what is harmless may change
    assert load(tmp_path, {}).jobs == 3


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("python3 tools", "tools/__main__.py"),
        ("python3 -m agentmod", "agentmod.py"),
        ("python3 -m package.agent", "package/agent.py"),
        ("sh -c './agent.sh x'", "agent.sh"),
        ("env X=agent.sh sh", "agent.sh"),
    ],
)
def test_every_way_to_name_a_program_is_covered(tmp_path: Path, command: str, file: str) -> None:
    configured(tmp_path, f"[eval]\nexecutor = {json.dumps('command:' + command)}\n")
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text("1\n", "utf-8")
    run(tmp_path, "trust", "--yes")
    assert load(tmp_path, {}).eval_executor
    (tmp_path / file).write_text("2\n", "utf-8")
    with pytest.raises(ConfigError, match="config-untrusted"):
        load(tmp_path, {})


def test_a_program_that_is_a_link_is_another_one_when_the_link_is(tmp_path: Path) -> None:
    configured(tmp_path, '[eval]\nexecutor = "command:./tool 8080"\n')
    (tmp_path / "tool").symlink_to("/bin/echo")
    run(tmp_path, "trust", "--yes")
    assert load(tmp_path, {}).eval_executor
    (tmp_path / "tool").unlink()
    (tmp_path / "tool").symlink_to("/bin/cat")
    with pytest.raises(ConfigError, match="config-untrusted"):
        load(tmp_path, {})


def test_what_was_trusted_is_what_runs_wherever_the_user_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    for folder in (root, elsewhere):
        folder.mkdir()
        (folder / "agent.sh").write_text("1\n", "utf-8")
    configured(root, '[eval]\nexecutor = "command:sh agent.sh"\n[judge]\nmodel = "command:./agent.sh"\n')
    run(root, "trust", "--yes")
    monkeypatch.chdir(elsewhere)
    assert load(root, {}).eval_executor == f"command:sh {root}/agent.sh"
    assert load(root, {}).model_tasks_rubrics.startswith(f"command:{root}/")
    monkeypatch.chdir(root)
    assert load(root, {}).eval_executor == "command:sh agent.sh"


def test_unseen_characters_of_a_setting_are_shown(tmp_path: Path) -> None:
    configured(tmp_path, '[eval]\nexecutor = "command:sh agent\u200b.sh"\n')
    assert "agent\\u200b.sh" in run(tmp_path, "trust", input_="n\n").output


def test_trust_is_of_one_folder_and_can_be_revoked(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for root in (first, second):
        root.mkdir()
        configured(root, '[eval]\nexecutor = "claude"\n')
    run(first, "trust", "--yes")
    assert load(first, {}).eval_executor == "claude"
    with pytest.raises(ConfigError):
        load(second, {})
    run(first, "trust", "--revoke")
    with pytest.raises(ConfigError):
        load(first, {})


def test_ci_trusts_one_content_only(tmp_path: Path) -> None:
    configured(tmp_path, '[eval]\nexecutor = "claude"\n')
    said = run(tmp_path, "trust", "--yes").output
    pinned = said.split("--expect ")[1].split()[0]
    run(tmp_path, "trust", "--revoke")
    assert run(tmp_path, "trust", "--expect", pinned).exit_code == 0
    assert load(tmp_path, {}).eval_executor == "claude"
    run(tmp_path, "trust", "--revoke")
    configured(tmp_path, '[eval]\nexecutor = "codex"\n')
    assert run(tmp_path, "trust", "--expect", pinned).exit_code != 0
    assert run(tmp_path, "trust", "--expect", "").exit_code != 0  # an empty pin pins nothing
    with pytest.raises(ConfigError):
        load(tmp_path, {})


def test_a_hash_of_settings_takes_over_no_data_folder(tmp_path: Path) -> None:
    configured(tmp_path, '[eval]\nexecutor = "claude"\n')
    (tmp_path / ".knowbound").mkdir()
    (tmp_path / ".knowbound" / "owner").write_text("somebody else\n", "utf-8")
    assert run(tmp_path, "trust", "--expect", hash_of(risky_settings(tmp_path))).exit_code == 0
    assert owner_of(tmp_path / ".knowbound") == ANOTHERS


def test_a_credential_is_not_shown_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    password = "Sw0rd" + "fish-77"
    root = tmp_path / "root"
    root.mkdir()
    url = f'mongo_url = "mongodb://ada:{password}@db.example.org/x"'
    configured(root, f'[kms]\nneo4j_password = "{password}"\n{url}\n')
    assert password not in run(root, "trust", "--yes").output
    kept = [path for path in (tmp_path / "state").rglob("*") if path.is_file()]
    assert kept
    assert not any(password.encode() in path.read_bytes() for path in kept)
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)


@pytest.mark.parametrize(
    "text", ['[judge]\nmodel = "command:./canary.sh"\n', '[eval]\nexecutor = "command:./canary.sh"\n']
)
def test_no_verb_runs_what_an_untrusted_config_names(tmp_path: Path, text: str) -> None:
    canary = tmp_path / "canary.sh"
    configured(tmp_path, text.replace("./canary.sh", str(canary)))
    canary.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", "utf-8")
    canary.chmod(0o755)
    (tmp_path / "eval-samples.yaml").write_text(
        "- sample_id: a\n  prompt: Which port?\n  rubric: It is 8080.\n", "utf-8"
    )
    (tmp_path / "README.md").write_text("# Shop\n\nThe port is 8080.\n", "utf-8")
    for words in (("eval", "eval-samples.yaml"), ("probe",), ("observe", str(tmp_path)), ("judge", "list")):
        run(tmp_path, *words)
    assert not (tmp_path / "ran").exists()


def test_doctor_says_what_is_not_trusted_and_goes_on(tmp_path: Path) -> None:
    configured(tmp_path, '[eval]\nexecutor = "claude"\n')
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    shown = run(tmp_path, "doctor").output
    assert "eval.executor of the project: not trusted" in shown
    assert "knowbound trust" in shown
