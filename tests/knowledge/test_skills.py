"""Skills: found, fitting, in agreement with the rules of the project, and used."""

from __future__ import annotations

import subprocess
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound
from knowbound.config import Settings, load
from knowbound.core.signal import Findings, Sample, Signal, SignalType, Status, Turn
from knowbound.errors import InputError
from knowbound.knowledge.skills import check_skills
from knowbound.store.observed import Observed

_FRONT = "---\nname: ship\ndescription: >\n  Ships a release to\n  the staging servers.\n---\n"
GOOD = f"{_FRONT}\n# Ship\n\nRun `pnpm build`.\n"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    (tmp_path / "CLAUDE.md").write_text("# Rules\n\n- Use `pnpm`, not `npm`.\n- Never use `git push --force`.\n")
    (tmp_path / "package.json").write_text('{"scripts": {"build": "x"}}')
    return load(tmp_path, environ={"KNOWBOUND_HOME": str(tmp_path / "data")})


def problems(settings: Settings, text: str) -> list[tuple[str, int]]:
    path = settings.root / ".claude" / "skills" / "ship" / "SKILL.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    (found,) = check_skills(settings)
    return [(one.code, one.line) for one in found.problems]


def seen(settings: Settings, *prompts: str, skill: str = "general", gap: bool = False) -> None:
    turns = [Turn(at, "s#1", prompt) for at, prompt in enumerate(prompts, 1)]
    signals = [Signal(SignalType.FAILED_SEARCH, Status.OPEN, session="s", turn=1, sample="s#1")] if gap else []
    found = Findings("s", "claude_code", turns=turns, samples=[Sample("s#1", skill, answered=1)], signals=signals)
    with closing(Observed(settings.home)) as observed:
        observed.keep_sessions([("claude:s:1", "s", "read", msgspec.msgpack.encode([found]))])
        observed.keep_run("observe", "2026-01-01T00:00:00Z", "corpus", ["claude:s:1"], {})


def test_a_good_skill_has_no_problem(settings: Settings) -> None:
    assert problems(settings, GOOD) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# Ship\n", [("no_description", 1)]),
        ("---\nname: [\n---\n", [("no_description", 1)]),
        (GOOD.replace("name: ship", "name: deploy"), [("name_differs", 1)]),
        (GOOD.replace("Ships", "Ships " * 200), [("description_long", 1)]),
        (GOOD + "one more line\n" * 500, [("skill_long", 500)]),
        (GOOD + "\nThen `npm install left-pad`.\n", [("contradicts_rule", 12)]),
        (GOOD + "\n```sh\ngit push --force origin\n```\n", [("contradicts_rule", 13)]),
        (GOOD + "\nNever use `git push --force`, whatever happens.\n", []),
    ],
)
def test_a_problem_has_its_line(settings: Settings, text: str, found: list[tuple[str, int]]) -> None:
    assert problems(settings, text) == found


def test_a_step_that_names_what_is_gone_is_a_problem(settings: Settings) -> None:
    steps = settings.root / "docs" / "steps.md"
    steps.parent.mkdir()
    steps.write_text("# Steps\n")
    git = ["git", "-C", str(settings.root), "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["rm", "-q", "docs/steps.md"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    subprocess.run([*git, "commit", "-qm", "two"], check=True, capture_output=True)
    assert problems(settings, GOOD + "\nRead `docs/steps.md` first.\n") == [("tree", 12)]


def test_use_is_counted_in_sessions(settings: Settings) -> None:
    problems(settings, GOOD)
    seen(settings, "Ship the release to staging", "Why is it red?", skill="tools:ship")
    (found,) = check_skills(settings)
    assert (found.uses, found.sessions, found.ended_well, found.with_gaps) == (1, 1, 1, 0)
    assert (found.prompts, found.matched) == (2, 1)
    seen(settings, "Ship the release to staging", skill="ship", gap=True)
    (found,) = check_skills(settings)
    assert (found.uses, found.ended_well, found.with_gaps) == (1, 0, 1)


def test_a_trigger_that_no_prompt_matches_is_named_once_there_are_enough_prompts(settings: Settings) -> None:
    problems(settings, GOOD)
    seen(settings, *["Why is the test red?"] * 19)
    assert check_skills(settings)[0].problems == []
    seen(settings, *["Why is the test red?"] * 20)
    assert [one.code for one in check_skills(settings)[0].problems] == ["never_matches"]
    seen(settings, *["Is the staging test red?"] * 20)  # a word such as "the" is none of those that are shared
    assert [one.code for one in check_skills(settings)[0].problems] == ["never_matches"]
    seen(settings, *["Ship the release to staging"] * 20)
    assert [one.code for one in check_skills(settings)[0].problems] == ["never_used"]


def test_the_verb_lists_skills_and_fails_on_a_problem(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="No skills"):
        check_skills(settings)
    problems(settings, GOOD)
    monkeypatch.setenv("KNOWBOUND_HOME", str(settings.home))
    good = CliRunner().invoke(knowbound, ["lint", "--skills", "--root", str(settings.root)], standalone_mode=False)
    assert good.return_value == 0
    assert "1 skill, 0 with a problem. How they were used: knowbound observe" in good.output
    problems(settings, "# Ship\n")
    bad = CliRunner().invoke(
        knowbound, ["lint", "--skills", "--root", str(settings.root), "--format", "jsonl"], standalone_mode=False
    )
    assert bad.return_value == 1
    assert '"no_description"' in bad.output
