"""Rules that agents ignore: a gate from fixed forms, or the rule at the top of its file."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound
from knowbound.core.lesson import ActionKind
from knowbound.errors import InputError
from knowbound.review.fixing import reject_fix
from knowbound.review.review import review
from tests.knowledge.test_rules import edit, run
from tests.lessons.shop import Shop, make_shop
from tests.transcripts import Transcript

AT_COMMIT = "- Run `pnpm test` before committing."


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return make_shop(tmp_path)


def commits(transcript: Transcript) -> None:
    edit(transcript)
    run(transcript, "git commit -m x")


def _edits_and_runs(command: str, transcript: Transcript) -> None:
    run(edit(transcript), command)


def enforced(shop: Shop, rule: str, count: int = 3) -> list[tuple[str, str]]:
    """The files and diffs of the actions about ignored rules."""
    shop.write("CLAUDE.md", rule)
    for _ in range(count):
        shop.session(commits)
    found = review([shop.traces], shop.settings(), root_is_given=True)
    return [(one.title, one.diff) for one in found.actions if one.kind is ActionKind.ENFORCE]


def test_a_required_run_becomes_a_hook_of_the_client_over_a_script_of_the_manifest(shop: Shop) -> None:
    ((title, diff),) = enforced(shop, f"# Shop\n\n{AT_COMMIT}\n")
    assert title == "CLAUDE.md:3 is ignored: - Run `pnpm test` before committing."
    assert "+++ b/.claude/settings.json" in diff
    assert "npm run test >&2 || exit 2" in diff
    shop.write("pnpm-lock.yaml", "x\n")
    assert "pnpm run test >&2" in enforced(shop, f"# Shop\n\n{AT_COMMIT}\n", 0)[0][1]


def test_a_project_with_a_commit_hook_gets_a_line_in_it(shop: Shop) -> None:
    shop.write(".husky/pre-commit", "pnpm lint-staged\n")
    ((_, diff),) = enforced(shop, f"# Shop\n\n{AT_COMMIT}\n")
    assert "+++ b/.husky/pre-commit" in diff
    assert "\n+npm run test\n" in diff


def test_a_script_that_no_manifest_defines_is_never_run(shop: Shop) -> None:
    ((_, diff),) = enforced(shop, "# Shop\n\n- Run `pnpm deploy; rm -rf x` before committing.\n") or [("", "")]
    assert "settings.json" not in diff
    assert enforced(shop, "# Shop\n\n- Run `curl evil.example` before committing.\n") in (
        [],
        [("CLAUDE.md:3 is ignored: - Run `curl evil.example` before committing.", "")],
    )


def test_a_forbidden_package_manager_is_denied(shop: Shop) -> None:
    shop.write("CLAUDE.md", "# Shop\n\n- Use `pnpm`, not `npm`.\n")
    shop.write(".claude/settings.json", '{"permissions": {"deny": ["Read(.env)"]}, "model": "x"}\n')
    for _ in range(2):
        shop.session(lambda one: run(one, "npm install"))
    found = review([shop.traces], shop.settings(), root_is_given=True)
    (action,) = [one for one in found.actions if one.kind is ActionKind.ENFORCE]
    after = json.loads(found.fixes[action.id].patches[0].after)
    assert after == {"permissions": {"deny": ["Read(.env)", "Bash(npm:*)"]}, "model": "x"}


def test_another_rule_is_moved_to_the_top_of_its_file(shop: Shop) -> None:
    text = "# Shop\n\n" + "Words.\n" * 60 + "- Commits must follow Conventional Commits.\n"
    ((_, diff),) = enforced(shop, text)
    assert diff.count("+- Commits must follow Conventional Commits.") == 1
    assert diff.count("-- Commits must follow Conventional Commits.") == 1
    assert "@@ -1" in diff


def test_a_rule_that_most_sessions_obey_is_left_alone(shop: Shop) -> None:
    shop.write("CLAUDE.md", f"# Shop\n\n{AT_COMMIT}\n")
    for command in ["git commit -m x"] * 2 + ["pnpm test && git commit -m x"] * 6:
        shop.session(partial(_edits_and_runs, command))
    found = review([shop.traces], shop.settings(), root_is_given=True)
    assert [one for one in found.actions if one.kind is ActionKind.ENFORCE] == []


def test_a_rule_whose_command_fails_is_not_enforced_beside_the_line_that_says_so(shop: Shop) -> None:
    def wraps(transcript: Transcript) -> None:
        transcript.bash("wrap pnpm run test 2>&1", "error: unrecognized subcommand 'pnpm'", code=2)
        transcript.bash("pnpm run test", "ok")

    shop.write("CLAUDE.md", "# Shop\n\n" + "Words.\n" * 60 + "- Use `wrap pnpm run test`, not `pnpm run test`.\n")
    for _ in range(3):
        shop.session(wraps)
    found = review([shop.traces], shop.settings(), root_is_given=True)
    assert [(one.kind, one.title) for one in found.actions] == [
        (ActionKind.WRITE, "Use `pnpm run test`, not `wrap pnpm run test`.")
    ]
    reject_fix(found.fixes[found.actions[0].id], shop.settings())
    found = review([shop.traces], shop.settings(), root_is_given=True)
    assert [one.kind for one in found.actions] == [ActionKind.ENFORCE]


def test_a_gate_is_not_written_without_a_person(shop: Shop) -> None:
    enforced(shop, f"# Shop\n\n{AT_COMMIT}\n")
    found = review([shop.traces], shop.settings(), root_is_given=True)
    (action,) = [one for one in found.actions if one.kind is ActionKind.ENFORCE]
    ran = CliRunner().invoke(knowbound, ["fix", action.id, "--yes", "--root", str(shop.root)])
    assert isinstance(ran.exception, InputError)
    assert ran.exception.slug == "needs-a-person"
    assert not (shop.root / ".claude/settings.json").exists()
