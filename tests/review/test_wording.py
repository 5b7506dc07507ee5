"""An ignored rule in another place or in fewer words: the same rule, by its names."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.codebase.checkout import Checkout
from knowbound.core.statement import Rule
from knowbound.review.enforcing import problem_of, scoped, shorter
from tests.fault_server import chat, serving
from tests.lessons.shop import Shop, make_shop

LONG = "Please make sure that, whenever you changed anything, you run `npm test` in `src/api/` and you never skip it"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return make_shop(tmp_path)


@pytest.mark.parametrize(
    ("new", "problem"),
    [
        ("After each change run `npm test` in `src/api/`; never skip it", ""),
        ("After each change run `npm test`; never skip it", "it does not name src/api/"),
        ("Never skip `npm test` and `npm run lint` in `src/api/`", "the rule does not name npm run lint"),
        ("Never skip `npm test` in `src/api/`, see docs/testing.md", "the rule does not name docs/testing.md"),
        ("After each change run `npm test` in `src/api/`", "only one of the two forbids something"),
        (LONG.replace("Please make", "Make"), "it is not clearly shorter"),
        ("Run `npm test` in `src/api/`,\nnever skip it", "it is not one plain line"),
        ("# Never skip `npm test` in `src/api/`", "it is not one plain line"),
    ],
)  # fmt: skip
def test_a_wording_counts_only_if_it_is_the_same_rule_and_shorter(new: str, problem: str) -> None:
    assert problem_of(LONG, new) == problem


def test_a_model_s_wording_is_used_and_another_rule_is_not(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = Rule("CLAUDE.md", 3, f"- {LONG}", "Tests")
    for said, used in (("Never skip `npm test` in `src/api/` after a change", True), ("Run `make deploy`", False)):
        with serving(chat(f'{{"text": "{said}"}}')) as server:
            monkeypatch.setenv("KNOWBOUND_MODEL", server.judge)
            found = shorter([rule], shop.settings())
        assert found == ({rule.key: said} if used else {})
        assert LONG in server.asked[0]["messages"][1]["content"]


def test_without_a_model_there_is_no_other_wording(shop: Shop) -> None:
    assert shorter([Rule("CLAUDE.md", 3, f"- {LONG}")], shop.settings()) == {}


@pytest.mark.parametrize(
    ("text", "globs"),
    [
        ("- In `src/cli/` keep functions short.", ["src/cli/**"]),
        ("- Format `*.ts` and `src/cli/**` with tabs.", ["**/*.ts", "src/cli/**"]),
        ("- Run `pnpm test` before committing.", []),
        ("- Nothing goes into `src/nowhere/`.", []),
        ("- Write `.zig` without `usingnamespace`.", []),
    ],
)
def test_a_rule_that_names_a_folder_or_a_file_type_of_the_tree_gets_a_rules_file(
    shop: Shop, text: str, globs: list[str]
) -> None:
    shop.write("src/cli/export.ts", "export {}\n")
    patch = scoped(Rule("CLAUDE.md", 3, text), Checkout(shop.root), shop.settings())
    assert (patch is not None) == bool(globs)
    if patch is not None:
        listed = "".join(f'  - "{glob}"\n' for glob in globs)
        assert patch.path.startswith(".claude/rules/")
        assert patch.after.decode() == f"---\npaths:\n{listed}---\n\n{text}\n"
        shop.write(patch.path, "theirs\n")
        assert scoped(Rule("CLAUDE.md", 3, text), Checkout(shop.root), shop.settings()) is None


def test_a_rule_of_another_client_s_file_gets_none(shop: Shop) -> None:
    rule = Rule("AGENTS.md", 3, "- In `src/cli/` keep functions short.")
    assert scoped(rule, Checkout(shop.root), shop.settings()) is None
