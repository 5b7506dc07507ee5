"""What is typed wrong is answered with what was meant; every word of a report is explained."""

from __future__ import annotations

import pytest

from knowbound.cli.main import GROUPS, ONLY_FOR_CLIENTS, TAKEN_OUT, VERBS, main


def said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[object, str]:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    told = capsys.readouterr()
    return ended.value.code, told.out + told.err


@pytest.mark.parametrize(("typed", "meant"), [("evla", "eval"), ("Trend", "trend"), ("compair", "compare")])
def test_a_misspelt_verb_names_the_nearest(typed: str, meant: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said([typed], capsys)
    assert code == 2
    assert f"Did you mean '{meant}'?" in text


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("kms serch", "search"), ("quality corrections acept", "accept"), ("judge calibrat", "calibrate")],
)
def test_a_misspelt_verb_of_a_group_names_the_nearest(
    typed: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, text = said(typed.split(), capsys)
    assert code == 2
    assert f"Did you mean '{meant}'?" in text


def test_a_verb_like_no_other_is_refused_without_a_guess(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(["zzzzzz"], capsys)
    assert code == 2
    assert "Did you mean" not in text


@pytest.mark.parametrize("asked", TAKEN_OUT)
def test_what_was_taken_out_says_what_to_use_instead(asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(asked.split(), capsys)
    assert code == 2
    assert f"`knowbound {asked}` was taken out. {TAKEN_OUT[asked]}   [taken-out]" in text


def test_another_option_that_is_unknown_is_a_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(["quality", "rollout", "--sideways"], capsys)
    assert code == 2
    assert "No such option" in text
    assert "taken-out" not in text


@pytest.mark.parametrize(
    ("typed", "code"),
    [
        ("Failed-Search", "failed_search"), ("retracted", "RETRACTED"), ("NO_SAMPLES", "no-samples"),
        ("[no-samples]", "no-samples"), ("near zero", "near_zero"),
    ],
)  # fmt: skip
def test_a_code_is_found_however_it_is_written(typed: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    exit_code, text = said(["explain", typed], capsys)
    assert exit_code == 0
    assert text.startswith(f"{code} (")


def test_a_code_with_two_meanings_shows_both(capsys: pytest.CaptureFixture[str]) -> None:
    _, text = said(["explain", "broken"], capsys)
    assert "broken (skipped line)" in text
    assert "broken (change)" in text


def test_an_unknown_code_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(["explain", "Softshare"], capsys)
    assert code == 2
    assert "Did you mean 'soft_share'?" in text


@pytest.mark.parametrize(
    "word", ["composite", "band", "confidence", "per_turn", "weighted", "soft_share", "coverage", "watermark"]
)
def test_every_word_of_a_report_is_explained(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(["explain", word], capsys)[0] == 0


def test_every_verb_is_in_one_group_of_the_help_or_only_for_clients() -> None:
    listed = [verb for verbs in (*GROUPS.values(), ONLY_FOR_CLIENTS) for verb in verbs]
    assert sorted(listed) == sorted(VERBS)
