"""What a SKILL.md itself says, at the limits; and the use of a skill in sessions."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.config import Settings
from knowbound.core.statement import SkillCheck
from knowbound.knowledge.skills import check_skills


def check(root: Path, text: str, others: str = "") -> SkillCheck:
    (root / ".claude/skills/pay").mkdir(parents=True)
    (root / ".claude/skills/pay/SKILL.md").write_text(text, "utf-8")
    if others:
        (root / "CLAUDE.md").write_text(others, "utf-8")
    [found] = check_skills(Settings(root=root, home=root / ".knowbound"))
    return found


def skill(description: str = "Pays.", name: str = "pay", body: str = "Pay it.\n") -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n{body}"


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        (skill(), []),
        (skill("x" * 1024), []),
        (skill("x" * 1025), [(1, "description_long")]),
        (skill(name="bill"), [(1, "name_differs")]),
        (skill(body="\n" * 495), []),
        (skill(body="\n" * 496), [(500, "skill_long")]),
        ("Pay it.\n", [(1, "no_description")]),
        ("---\n- a\n---\n", [(1, "no_description")]),
        ("---\n[: \n---\n", [(1, "no_description")]),
        (skill().replace("\n", "\r\n"), []),
        (f"\ufeff{skill()}", []),
        (skill(body="Run `npm i` now.\n"), [(5, "contradicts_rule")]),
        (skill(body="```\nnpm i\n```\n"), [(6, "contradicts_rule")]),
        (skill(body="Run `yarn` now.\n"), []),
        (skill(body="Use `yarn` instead of `npm`.\n"), []),
        (skill(body="It is npm i, no code.\n"), []),
    ],
)
def test_a_skill_has_the_problems_of_its_text(tmp_path: Path, text: str, problems: list[tuple[int, str]]) -> None:
    found = check(tmp_path, text, "- Use `yarn` instead of `npm`.\n- Words.\n")
    assert [(problem.line, problem.code) for problem in found.problems] == problems
    assert (found.prompts, found.uses) == (None, None)


def test_a_problem_says_the_limit_and_the_rule(tmp_path: Path) -> None:
    found = check(
        tmp_path, skill("x" * 1025, "bill", "Run `npm i` now.\n" + "\n" * 500), "- Use `yarn` instead of `npm`.\n"
    )
    assert [problem.text for problem in found.problems] == [
        "its description has 1,025 characters; clients take 1,024",
        "is called bill in a folder called pay",
        "has 506 lines, more than 500: move parts to files that are read when they are needed",
        "npm: CLAUDE.md:1 says: - Use `yarn` instead of `npm`.",
    ]
    assert (found.name, found.lines, found.listed_tokens > 250, found.tokens > found.listed_tokens) == (
        "bill",
        506,
        True,
        True,
    )
