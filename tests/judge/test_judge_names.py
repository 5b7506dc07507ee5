from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.config import TAKEN_OUT, load
from knowbound.distribution import extra_command
from knowbound.errors import ConfigError
from knowbound.judge.models.completion import SERVERS
from knowbound.judge.names import FORMS, PROVIDERS, JudgeName, Provider, parse_name
from knowbound.judge.registry import check_judge, hedging_judge_version, judges
from tests.conftest import write_user_config
from tests.judges import hedging_judge_named


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rules", JudgeName("rules", Provider.RULES)),
        (" rules ", JudgeName("rules", Provider.RULES)),
        ("anthropic:m-1", JudgeName("anthropic:m-1", Provider.ANTHROPIC, "m-1")),
        ("openai:org/m:2", JudgeName("openai:org/m:2", Provider.OPENAI, "org/m:2")),
        (
            "http://127.0.0.1:8080/v1/#smollm2",
            JudgeName(
                "http://127.0.0.1:8080/v1/#smollm2",
                Provider.URL,
                "smollm2",
                "http://127.0.0.1:8080/v1",
            ),
        ),
        (
            "https://models.example/v1#a/b#c",
            JudgeName("https://models.example/v1#a/b#c", Provider.URL, "a/b#c", "https://models.example/v1"),
        ),
        ("claude-cli:haiku", JudgeName("claude-cli:haiku", Provider.CLAUDE_CLI, "haiku")),
        ("codex-cli:m", JudgeName("codex-cli:m", Provider.CODEX_CLI, "m")),
        (
            "command:judge.sh --as 'a b'",
            JudgeName("command:judge.sh --as 'a b'", Provider.COMMAND, command=("judge.sh", "--as", "a b")),
        ),
        ("recorded:answers.jsonl", JudgeName("recorded:answers.jsonl", Provider.RECORDED, file="answers.jsonl")),
    ],
)
def test_a_name_says_who_judges(text: str, expected: JudgeName) -> None:
    assert parse_name(text) == expected


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("rulez", "Did you mean 'rules'?"),
        ("antropic:m", "Did you mean 'anthropic:m'?"),
        ("claude:haiku", "Did you mean 'claude-cli:haiku'?"),
        ("gpt", "A judge is one of rules, anthropic:MODEL"),
        ("", "A judge is one of"),
        ("anthropic:", "a model has to follow 'anthropic:'"),
        ("claude-cli:--dangerous", "no model's name"),
        ("openai:a b", "no model's name"),
        ("command:  ", "a program has to follow"),
        ("command:say 'hello", "the command cannot be read"),
        ("recorded:", "a file of recorded answers has to follow"),
        ("http://127.0.0.1:8080/v1", "the model has to follow '#': http://127.0.0.1:8080/v1#MODEL"),
        ("http://#m", "the address cannot be read"),
        ("http://host:99999/v1#m", "the address cannot be read"),
    ],
)
def test_a_wrong_name_is_an_error_with_a_suggestion(text: str, hint: str) -> None:
    with pytest.raises(ConfigError, match="unknown-judge") as error:
        parse_name(text)
    assert hint in str(error.value)


@pytest.mark.parametrize(
    "address", ["http://me:pa55word@host/v1", "http://host/v1?key=pa55word", "http://pa55word@host"]
)
def test_an_address_with_a_secret_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(ConfigError, match="KNOWBOUND_JUDGE_API_KEY") as error:
        parse_name(f"{address}#m")
    assert "pa55word" not in str(error.value)


@given(st.text())
def test_any_text_is_a_judge_or_a_config_error(text: str) -> None:
    try:
        name = parse_name(text)
    except ConfigError:
        return
    assert parse_name(name.text) == name


def test_only_rules_and_recordings_are_free() -> None:
    costly = {form for form in FORMS if parse_name(form).costs}
    assert costly == set(FORMS) - {"rules", "recorded:FILE"}


def test_rules_cannot_score_a_rubric() -> None:
    with pytest.raises(ConfigError, match="cannot score") as error:
        check_judge("rules", scores=True)
    assert error.value.slug == "no-judge"


def test_a_version_names_prompt_and_judge() -> None:
    assert hedging_judge_version("rules").startswith("rules-")
    assert hedging_judge_version("anthropic:m").startswith("hedging-2-")
    assert hedging_judge_version("anthropic:m").endswith("/anthropic:m")
    assert hedging_judge_version("anthropic:m") != hedging_judge_version("anthropic:n")


def test_neither_a_version_nor_the_list_loads_a_library_of_models() -> None:
    script = (
        "import sys; from knowbound.judge.registry import hedging_judge_version, judges; judges(); "
        "hedging_judge_version('anthropic:m'); "
        "print([one for one in sys.modules if one.startswith(('pydantic_ai', 'openai'))])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_recording_s_version_changes_with_its_file(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    file.write_text("")
    before = hedging_judge_version(f"recorded:{file}")
    file.write_text('{"prompt": "hedging", "input": "0", "answer": "{}"}\n')
    assert hedging_judge_version(f"recorded:{file}") != before
    assert str(tmp_path) not in before


def test_a_missing_extra_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowbound.judge.models.api.is_installed", lambda: False)
    with pytest.raises(ConfigError, match=re.escape(extra_command("llm"))):
        hedging_judge_named("openai:m")
    rows = {row.form: row for row in judges()}
    assert extra_command("llm") in rows["openai:MODEL"].why_not


def test_the_list_of_judges_tells_what_is_missing_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    (tmp_path / "codex").write_text("#!/bin/sh\n")
    (tmp_path / "codex").chmod(0o755)
    rows = {row.form: row for row in judges()}
    assert list(rows) == list(FORMS)
    assert rows["rules"].usable
    assert not rows["anthropic:MODEL"].usable
    assert "ANTHROPIC_API_KEY is not set" in rows["anthropic:MODEL"].why_not
    assert "OPENAI_API_KEY" not in rows["openai:MODEL"].why_not
    assert rows["claude-cli:MODEL"].why_not == "claude is not on the PATH"
    assert rows["codex-cli:MODEL"].usable


# The config's entries


def _config(folder: Path, text: str) -> Path:
    write_user_config(text)
    return folder


@pytest.mark.parametrize(
    "text",
    [
        '[hedgingClassifier]\nenabled = false\nmodel = "openai:m"\nmaxCandidates = 7\n',
        '[hedging_classifier]\nenabled = false\nmodel = "openai:m"\nmax_candidates = 7\n',
        'hedging_classifier.enabled = false\n[hedgingClassifier]\nmodel = "openai:m"\nmaxCandidates = 7\n',
    ],
)
def test_the_specification_s_spelling_of_the_hedging_entry_is_read(tmp_path: Path, text: str) -> None:
    settings = load(_config(tmp_path, text), {})
    assert not settings.hedging_classifier_enabled
    assert settings.model_tasks_hedges == "openai:m"
    assert settings.hedging_classifier_max_candidates == 7


def test_the_hedging_entry_of_an_eval_yaml_is_read_as_the_specification_names_it(tmp_path: Path) -> None:
    entry = "hedgingClassifier:\n  enabled: true\n  model: rules\n  maxCandidates: 7\n"
    (tmp_path / "eval.yaml").write_text(f"samples: []\n{entry}", "utf-8")
    settings = load(tmp_path, {})
    assert (settings.model_tasks_hedges, settings.hedging_classifier_max_candidates) == ("rules", 7)
    (tmp_path / "knowbound.toml").write_text("[hedging_classifier]\nmax_candidates = 9\n", "utf-8")
    assert load(tmp_path, {}).hedging_classifier_max_candidates == 9
    (tmp_path / "eval.yaml").write_text(entry.replace("rules", "openai:m"), "utf-8")
    with pytest.raises(ConfigError, match="config-untrusted"):
        load(tmp_path, {})


@pytest.mark.parametrize("text", [": [", ": {model: 3}", ": " + "[" * 5000, ": {1: 2}", ": {model: [&a [x, x], *a]}"])
def test_an_eval_yaml_that_cannot_be_used_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "eval.yaml").write_text(f"hedgingClassifier{text}", "utf-8")
    with pytest.raises(ConfigError, match="config-"):
        load(tmp_path, {})


def test_two_spellings_of_one_key_are_an_error(tmp_path: Path) -> None:
    text = '[hedgingClassifier]\nmodel = "openai:m"\n[hedging_classifier]\nmodel = "rules"\n'
    with pytest.raises(ConfigError, match=r"hedging_classifier\.model was replaced by model\.tasks\.hedges"):
        load(_config(tmp_path, text), {})


def test_a_slip_in_the_specification_s_spelling_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"Did you mean 'hedgingClassifier\.maxCandidates'\?"):
        load(_config(tmp_path, "[hedgingClassifier]\nmaxCandidate = 3\n"), {})


def test_the_judge_s_limits_are_settings(tmp_path: Path) -> None:
    settings = load(_config(tmp_path, '[judge]\nmodel = "codex-cli:m"\n'), {"KNOWBOUND_JUDGE_SECONDS": "5"})
    assert (settings.model_tasks_rubrics, settings.judge_seconds) == ("codex-cli:m", 5)


@pytest.mark.parametrize("key", TAKEN_OUT)
def test_a_setting_that_was_taken_out_says_what_counts_instead(tmp_path: Path, key: str) -> None:
    said = f"was taken out. {TAKEN_OUT[key]}"
    with pytest.raises(ConfigError, match=re.escape(said)):
        load(tmp_path, {f"KNOWBOUND_{key.replace('.', '_').upper()}": "1"})
    with pytest.raises(ConfigError, match=re.escape(f"{key} {said}")):
        load(_config(tmp_path, f"{key} = 1\n"), {})


def test_every_provider_has_its_form_and_every_api_its_server() -> None:
    assert set(PROVIDERS) == set(Provider)
    assert {provider for provider, form in PROVIDERS.items() if form.is_api} == set(SERVERS)
