from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound
from knowbound.core.statement import CheckedStatement, Truth
from knowbound.errors import InputError
from knowbound.knowledge.lint import lint


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with a history: a folder was renamed, a script too."""
    root = tmp_path / "shop"
    files = {
        "src/commands/export_orders.ts": "export function exportAllOrders() {}\n",
        "src/commands/list.ts": "list();\n",
        "src/twice.ts": "exportEveryOrderTwice();\n",
        "CLAUDE.md": "- Start with `exportEveryOrderTwice`.\n",
        "package.json": '{"name": "@shop/web", "scripts": {"test": "x", "build:all": "x"}}\n',
        "packages/core/package.json": '{"name": "@shop/core"}\n',
        "pyproject.toml": '[project]\nrequires-python = ">=3.11"\n',
        ".gitignore": "dist/\n/local-data\n",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    _git(root, "init", "-q")
    _git(root, "add", ".")
    _git(root, "commit", "-qm", "one")
    (root / "src/commands").rename(root / "src/cli")
    for name in ("src/twice.ts", "CLAUDE.md"):
        (root / name).unlink()
    _git(root, "add", ".")
    _git(root, "commit", "-qm", "two")
    return root


def _git(root: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", "-C", str(root), *who, *words], check=True, capture_output=True)


def checked(root: Path, text: str, name: str = "CLAUDE.md") -> list[CheckedStatement]:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, "utf-8")
    return lint(root, [root / name])


def truths(root: Path, *statements: str) -> list[Truth]:
    return [one.truth for one in checked(root, "".join(f"- {one}\n" for one in statements))]


def test_a_path_that_is_gone_is_contradicted_with_its_new_place_and_the_commit(shop: Path) -> None:
    [one] = checked(shop, "Orders are exported by `src/commands/export_orders.ts`.\n")
    assert one.truth is Truth.CONTRADICTED
    assert one.repair == "Orders are exported by `src/cli/export_orders.ts`."
    assert len(one.since) >= 7
    [folder] = checked(shop, "Commands live in `src/commands/`.\n")
    assert folder.repair == "Commands live in `src/cli/`."


def test_what_is_there_is_confirmed_with_its_place(shop: Path) -> None:
    [one] = checked(shop, "Commands live in `src/cli/`.\n")
    assert (one.truth, one.evidence and one.evidence.path) == (Truth.CONFIRMED, "src/cli")
    assert truths(shop, "Run `npm run build:all`.", "The list is in `cli/list.ts`.") == [Truth.CONFIRMED] * 2


def test_scripts_packages_names_and_versions_are_checked(shop: Path) -> None:
    assert (
        truths(
            shop,
            "Run `npm run deploy` first.",
            "Types are in `@shop/types`.",
            "Start with `exportEveryOrderTwice`.",
            "Python 3.12+ is needed.",
            "See [the guide](docs/guide.md).",
        )
        == [Truth.CONTRADICTED] * 5
    )
    [one] = checked(shop, "Python 3.12+ is needed.\n")
    assert (one.repair, one.evidence and one.evidence.line) == ("Python 3.11+ is needed.", 2)
    [script] = checked(shop, "Run `npm run all:build`.\n")
    assert script.repair == "Run `npm run build:all`."


def test_what_the_tree_does_not_decide_is_not_checkable(shop: Path) -> None:
    assert (
        truths(
            shop,
            "Be kind.",
            "Output is in `dist/web/app.js`.",
            "Data is in `local-data/orders/x.json`.",
            "Use `useCallback` sparingly.",
            "Name tests `testTheFunctionName`.",
            "The name `exportAllOrders` is clear.",
            "Types are in `@types/node`.",
            "See `other-repo/src/main.ts`.",
            "Look at `missing.ts`.",
        )
        == [Truth.NOT_CHECKABLE] * 9
    )


def test_a_command_that_is_denied_is_not_checked_and_a_package_may_have_a_dot(shop: Path) -> None:
    wanted = [Truth.NOT_CHECKABLE, Truth.CONTRADICTED]
    assert truths(shop, "Never run `npm run deploy`.", "Types are in `@shop/types.js`.") == wanted


def test_a_program_is_contradicted_only_by_a_lock_file_that_was_read_whole(shop: Path) -> None:
    (shop / "uv.lock").write_text('name = "ruff"\n')
    assert truths(shop, "Run `uv run ruff`.", "Run `uv run pyright`.") == [Truth.CONFIRMED, Truth.CONTRADICTED]
    (shop / "uv.lock").write_text('name = "ruff"\n' + "# x\n" * 600_000 + 'name = "pyright"\n')
    assert truths(shop, "Run `uv run pyright`.") == [Truth.NOT_CHECKABLE]


def test_the_same_wrong_thing_in_several_lines_knows_the_others(shop: Path) -> None:
    wrong = [one for one in checked(shop, "In `src/commands/`.\n\nAlso `src/commands/`.\n") if one.named]
    assert [one.same_as for one in wrong] == [("CLAUDE.md:3",), ("CLAUDE.md:1",)]


def test_a_file_in_a_folder_is_judged_from_there_too(shop: Path) -> None:
    [one] = checked(shop, "The list is in `cli/list.ts` and in `./cli/`.\n", "src/CLAUDE.md")
    assert one.truth is Truth.CONFIRMED


def test_files_that_agents_load_are_found_and_skills_speak_of_the_project_only_by_its_history(shop: Path) -> None:
    (shop / "AGENTS.md").write_text("Commands live in `src/commands/`.\n")
    skill = shop / ".claude" / "skills" / "x" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("Run `npm run nothing`. Look at `src/commands/list.ts`.\n")
    (shop / "tests").mkdir()
    (shop / "tests" / "CLAUDE.md").write_text("In `src/commands/`.\n")
    wrong = [one for one in lint(shop) if one.truth is Truth.CONTRADICTED]
    assert [(one.statement.file, one.named) for one in wrong] == [
        ("AGENTS.md", "src/commands/"),
        (".claude/skills/x/SKILL.md", "src/commands/list.ts"),
    ]


def test_a_project_without_history_is_checked_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.ts").write_text("x\n")
    [one] = checked(tmp_path, "It is in `src/cli/b.ts`.\n")
    assert (one.truth, one.since) == (Truth.CONTRADICTED, "")


def test_the_verb_prints_lines_or_json_and_exits_with_one(shop: Path) -> None:
    (shop / "CLAUDE.md").write_text("Commands live in `src/commands/`.\nRun `npm run build:all`.\n")
    done = CliRunner().invoke(knowbound, ["lint", "--root", str(shop)], standalone_mode=False)
    assert done.return_value == 1
    assert "CLAUDE.md:1  src/commands/ is not there; src/cli is (since " in done.stdout
    assert "→ Commands live in `src/cli/`." in done.stdout
    assert (
        "2 statements: 1 contradicted by the tree, 1 whose paths, scripts and versions are there, 0 that" in done.stdout
    )
    done = CliRunner().invoke(knowbound, ["lint", "--root", str(shop), "--format", "jsonl"], standalone_mode=False)
    first, second = map(json.loads, done.stdout.splitlines())
    assert set(first) == {
        "file", "line", "statement", "kind", "truth", "evidence", "repair", "since", "same_as", "by",
    }  # fmt: skip
    assert (first["truth"], first["kind"], first["by"], first["evidence"]) == ("contradicted", "path", "rules", None)
    assert (second["truth"], second["evidence"]) == ("confirmed", {"path": "package.json", "line": 1})


def test_a_project_without_knowledge_files_and_a_file_outside_are_clear_errors(shop: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"No CLAUDE\.md"):
        lint(shop)
    (tmp_path / "other.md").write_text("x\n")
    with pytest.raises(InputError, match="is not below"):
        lint(shop, [tmp_path / "other.md"])
    with pytest.raises(InputError, match="Cannot read"):
        lint(shop, [shop / "none.md"])


def test_against_a_base_only_what_held_there_is_reported(shop: Path) -> None:
    said = ("Commands live in `src/commands/`.", "In `src/never/was.ts`.", "Run `npm run build:all`.")
    (shop / "CLAUDE.md").write_text("\n\n".join((*said, "See `exportAllOrders`.")) + "\n")
    against = [one.named for one in lint(shop, against="HEAD~1")]
    assert against == ["src/commands/"]
    assert lint(shop, against="HEAD") == []  # it was wrong there already
    (shop / "package.json").write_text('{"name": "@shop/web", "scripts": {"test": "x"}}\n')
    (shop / "src/cli/export_orders.ts").write_text("export function exportOrders() {}\n")
    assert [one.named for one in lint(shop, against="HEAD")] == ["npm build:all", "exportAllOrders"]


def test_an_unknown_base_is_a_clear_error(shop: Path) -> None:
    (shop / "CLAUDE.md").write_text("x\n")
    with pytest.raises(InputError, match="no commit 'nowhere'"):
        lint(shop, against="nowhere")
    with pytest.raises(InputError, match="no commit"):
        lint(shop, against="--all")


def test_nothing_of_the_project_is_run_and_no_link_leads_out(shop: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("In `src/commands/`.\n")
    (shop / "AGENTS.md").symlink_to(tmp_path / "secret.md")
    (shop / "CLAUDE.md").write_text("Run `make $(touch was-run)` and `./was-run.sh; touch was-run`.\n")
    found = lint(shop)
    assert {one.statement.file for one in found} == {"CLAUDE.md"}
    assert not list(shop.rglob("was-run"))


def test_a_path_that_moved_is_contradicted_although_other_folders_have_one_of_that_name(shop: Path) -> None:
    (shop / "src").mkdir(exist_ok=True)
    (shop / "src/ledger.ts").write_text("export const ledger = 'a ledger that is long enough to be followed';\n" * 5)
    _git(shop, "add", "-A")
    _git(shop, "commit", "-qm", "ledger")
    (shop / "packages/core/src").mkdir(parents=True)
    (shop / "apps/src").mkdir(parents=True)
    (shop / "apps/src/ledger.ts").write_text("other\n")
    _git(shop, "mv", "src/ledger.ts", "packages/core/src/ledger.ts")
    _git(shop, "commit", "-qam", "move")
    (shop / "CLAUDE.md").write_text("The ledger is `src/ledger.ts`.\n")
    [one] = lint(shop)
    assert (one.truth, one.repair) == (Truth.CONTRADICTED, "The ledger is `packages/core/src/ledger.ts`.")


def test_recipes_with_parameters_aliases_and_several_targets_are_scripts(shop: Path) -> None:
    (shop / "justfile").write_text(
        'alias f := format\n\nformat:\n  x\n\ngen *args="":\n  x\n\n@quiet name="a": format\n  x\n'
    )
    (shop / "Makefile").write_text("one two: x\n\techo\n.PHONY: one\nV := 1\n")
    held = ("`just f`", "`just gen`", "`just quiet`", "`make one`", "`make two`")
    assert truths(shop, *(f"Run {one}." for one in held)) == [Truth.CONFIRMED] * 5
    assert truths(shop, "Run `just none`.", "Run `make V`.") == [Truth.CONTRADICTED] * 2
    (shop / "justfile").write_text("import 'more.just'\n")
    assert truths(shop, "Run `just none`.") == [Truth.NOT_CHECKABLE]


def test_links_with_escapes_hold_and_names_in_links_to_other_places_are_not_checked(shop: Path) -> None:
    (shop / "docs").mkdir()
    (shop / "docs/A guide.md").write_text("x\n")
    assert truths(
        shop,
        "See [the guide](docs/A%20guide.md).",
        "See [`src/other/`](https://example.org/tree) there.",
    ) == [Truth.CONFIRMED, Truth.NOT_CHECKABLE]


def test_a_line_that_begins_with_a_label_is_a_statement_of_its_own(shop: Path) -> None:
    found = checked(shop, "Never: edit `src/commands/list.ts`\nAlways: run the tests\n")
    assert [(one.statement.line, one.truth) for one in found] == [(1, Truth.CONTRADICTED), (2, Truth.NOT_CHECKABLE)]


def test_a_submodule_and_names_of_other_programs_are_not_checkable(shop: Path) -> None:
    (shop / ".gitmodules").write_text('[submodule "evaluation"]\n\tpath = evaluation\n\turl = https://example.org/e\n')
    (shop / "evaluation").mkdir()
    (shop / "evaluation/old.py").write_text("x = 1\n")
    _git(shop, "add", "-A")
    _git(shop, "commit", "-qm", "three")
    _git(shop, "rm", "-rqf", "evaluation")
    _git(shop, "commit", "-qm", "four")
    found = truths(shop, "Benchmarks live in `evaluation/`.", "The rule `required_status_checks` is on.")
    assert found == [Truth.NOT_CHECKABLE, Truth.NOT_CHECKABLE]


def test_a_folder_of_the_root_that_moved_is_wrong_although_its_name_is_elsewhere(shop: Path) -> None:
    (shop / "vercel").mkdir()
    for name in ("one.ts", "two.ts"):
        (shop / "vercel" / name).write_text(f"export const {name[:3]} = 'long enough to be followed';\n" * 5)
    _git(shop, "add", "-A")
    _git(shop, "commit", "-qm", "three")
    (shop / "integrations").mkdir()
    _git(shop, "mv", "vercel", "integrations/vercel")
    _git(shop, "commit", "-qm", "four")
    [one] = checked(shop, "| `vercel/` | the provider |\n")
    assert one.repair == "| `integrations/vercel/` | the provider |"


def test_a_search_that_ended_early_proves_no_absence(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from knowbound.codebase import checkout
    from knowbound.process import Ran

    assert truths(shop, "Call `exportEveryOrderTwice()` first.") == [Truth.CONTRADICTED]
    monkeypatch.setattr(checkout, "rg", lambda *_: Ran(None, b"", b"", timed_out=True))
    monkeypatch.setattr(checkout, "list_files", lambda *_: (["CLAUDE.md"], False))
    assert truths(shop, "Call `exportEveryOrderTwice()` first.") == [Truth.NOT_CHECKABLE]


def test_manifests_hooks_and_node_are_checked_against_history_and_config(shop: Path) -> None:
    (shop / "Package.swift").write_text("// swift\n", "utf-8")
    (shop / "CLAUDE.md").write_text("- `swift build` - builds it\n", "utf-8")
    (shop / ".pre-commit-config.yaml").write_text("repos:\n  - hooks:\n      - id: ruff\n", "utf-8")
    (shop / "package.json").write_text('{\n  "name": "x",\n  "engines": {\n    "node": ">=22.0.0"\n  }\n}\n', "utf-8")
    _git(shop, "add", ".")
    _git(shop, "commit", "-qm", "three")
    (shop / "server").mkdir()
    (shop / "Package.swift").rename(shop / "server/Package.swift")
    _git(shop, "add", ".")
    _git(shop, "commit", "-qm", "four")
    wrong = ("`swift build` - builds it", "`pre-commit run eslint`", "Node >= 20")
    assert truths(shop, *wrong) == [Truth.CONTRADICTED] * 3
    assert truths(shop, "`pre-commit run ruff`", "Node.js 22+") == [Truth.CONFIRMED] * 2
    unknown = ("See `src/other/*.ts`.", "`cargo build`", "`cd server && swift build`", "Node is used")
    assert Truth.CONTRADICTED not in truths(shop, *unknown)


def test_a_command_that_was_written_after_its_manifest_left_means_another_folder(shop: Path) -> None:
    (shop / "Cargo.toml").write_text("[workspace]\n", "utf-8")
    _git(shop, "add", ".")
    _git(shop, "commit", "-qm", "three")
    (shop / "core").mkdir()
    (shop / "Cargo.toml").rename(shop / "core/Cargo.toml")
    _git(shop, "add", ".")
    _git(shop, "commit", "-qm", "four")
    assert truths(shop, "`cargo build`") == [Truth.NOT_CHECKABLE]


def test_a_name_below_a_heading_with_a_folder_is_wrong_if_history_took_it_from_there(shop: Path) -> None:
    found = checked(shop, "## Commands (`src/commands/`)\n\n- `list.ts` - lists\n- `never.ts` - was never there\n")
    assert [one.truth for one in found[1:]] == [Truth.CONTRADICTED, Truth.NOT_CHECKABLE]
    assert found[1].repair == "- `src/cli/list.ts` - lists"


def test_a_script_that_is_run_by_its_name_alone_is_wrong_if_no_manifest_has_the_word(shop: Path) -> None:
    (shop / "web").mkdir()
    (shop / "web/package.json").write_text('{"devDependencies": {"vitest": "1"}}\n', "utf-8")
    found = truths(shop, "`pnpm prettier-fix`", "`pnpm vitest`", "`pnpm install`", "`yarn build:all`", "`make x`")
    assert found == [Truth.CONTRADICTED, *[Truth.NOT_CHECKABLE] * 2, Truth.CONFIRMED, Truth.NOT_CHECKABLE]


def test_a_path_of_every_package_is_not_the_one_that_the_root_had(shop: Path) -> None:
    for name in ("tests/unit/a.py", "libs/a/tests/unit/a.py", "libs/b/tests/unit/a.py", "libs/c/tests/unit/a.py"):
        (shop / name).parent.mkdir(parents=True, exist_ok=True)
        (shop / name).write_text("x\n", "utf-8")
    _git(shop, "add", ".")
    _git(shop, "commit", "-qm", "three")
    shutil.rmtree(shop / "tests")
    _git(shop, "commit", "-qam", "four")
    assert truths(shop, "Unit tests: `tests/unit/`") == [Truth.NOT_CHECKABLE]


def test_something_that_is_added_to_a_deleted_file_is_wrong_and_a_new_file_is_not(shop: Path) -> None:
    (shop / "examples/one").mkdir(parents=True)
    (shop / "examples/one/a.ts").write_text("x\n", "utf-8")
    _git(shop, "add", ".")
    _git(shop, "commit", "-qm", "three")
    (shop / "examples/one/a.ts").unlink()
    _git(shop, "commit", "-qam", "four")
    found = truths(
        shop, "Add commands to `src/commands/list.ts`", "Add `src/commands/new.ts`", "See `examples/one/a.ts`"
    )
    assert found == [Truth.CONTRADICTED, Truth.NOT_CHECKABLE, Truth.CONTRADICTED]
