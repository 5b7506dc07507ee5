"""Versions, options, symbols, variables and slash commands: contradicted by what the tree states, or had."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from knowbound.core.statement import CheckedStatement, StatementKind, StatementPlace, Truth
from knowbound.knowledge.lint import lint

CONFIRMED, WRONG, OPEN = Truth.CONFIRMED, Truth.CONTRADICTED, Truth.NOT_CHECKABLE


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")


def commit(root: Path, message: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", message]):
        subprocess.run(["git", "-C", str(root), *words], check=True, capture_output=True)
    ran = subprocess.run(["git", "-C", str(root), "rev-parse", "--short=7", "HEAD"], check=True, capture_output=True)
    return ran.stdout.decode().strip()


def check(root: Path, text: str, name: str = "CLAUDE.md") -> CheckedStatement:
    """The one statement of a file."""
    write(root, {name: text + "\n"})
    [one] = lint(root, [root / name])
    return one


@pytest.mark.parametrize(
    ("manifest", "stated", "said", "truth", "repair"),
    [
        ("package.json", '{"dependencies": {\n"react": "^19.0.0"}}', "UI: Vite 5, React 18", OPEN, None),
        (".nvmrc", "v22.1.0", "Migrated from Node 20 last year", OPEN, None),
        ("package.json", '{"engines": {\n"node": ">=22"}}', "Needs Node.js >= 20", WRONG, "Needs Node.js >= 22"),
        ("package.json", '{"engines": {\n"node": ">=22"}}', "Node.js: v18, v20, or v22", WRONG, None),
        ("package.json", '{\n"packageManager": "pnpm@10.2.0"}', "Use pnpm 9", WRONG, "Use pnpm 10"),
        (".nvmrc", "v22.1.0", "Node 20 is used", WRONG, "Node 22 is used"),
        (".tool-versions", "ruby 3.3.1", "Ruby 3.3 is used", CONFIRMED, None),
        ("go.mod", "module x\n\ngo 1.23.0", "Go 1.21+", WRONG, "Go 1.23+"),
        ("go.mod", "module x\n\ngo 1.21", "Go 1.23 is installed", OPEN, None),
        ("go.mod", "module x\n\ngo 1.21", "Go 1.23.x is installed", OPEN, None),
        ("go.mod", "module x\n\ngo 1.21", "Go 1.23+ is needed", WRONG, "Go 1.21+ is needed"),
        ("Cargo.toml", 'rust-version = "1.80"', "Rust 1.75 or newer", WRONG, "Rust 1.80 or newer"),
    ],
)
def test_a_version_is_held_to_the_manifest_that_states_it(
    tmp_path: Path, manifest: str, stated: str, said: str, truth: Truth, repair: str | None
) -> None:
    write(tmp_path, {manifest: stated + "\n"})
    one = check(tmp_path, said)
    assert (one.truth, one.repair) == (truth, repair)


@pytest.mark.parametrize(
    ("script", "source", "truth"),
    [
        ("tools/seed.py", 'p = argparse.ArgumentParser()\np.add_argument("--count")\n', WRONG),
        ("tools/seed.py", 'p = argparse.ArgumentParser()\np.add_argument("--dry-run")\n', CONFIRMED),
        ("tools/seed.py", "import typer\ntyper.run(main)\ndef main(dry_run: bool): ...\n", OPEN),
        ("tools/seed.py", "p = argparse.ArgumentParser()\nargs, rest = p.parse_known_args()\n", OPEN),
        ("tools/seed.py", "p = argparse.ArgumentParser()\nadd_common(parser)\n", OPEN),
        ("tools/seed.py", "print(1)\n", OPEN),
        ("tools/seed.sh", 'case "$1" in\n  --all) ;;\nesac\n', WRONG),
        ("tools/seed.sh", 'case "$1" in\n  --all) ;;\nesac\nrun "$@"\n', OPEN),
    ],
)
def test_an_option_is_held_to_a_script_that_reads_all_of_its_command_line(
    tmp_path: Path, script: str, source: str, truth: Truth
) -> None:
    write(tmp_path, {script: source})
    program = "python" if script.endswith(".py") else "bash"
    one = check(tmp_path, f"Run `{program} {script} --dry-run`.")
    assert (one.truth is WRONG) is (truth is WRONG)
    assert one.kind is (StatementKind.OPTION if truth is WRONG else StatementKind.PATH)


def test_an_option_is_shown_in_the_line_of_its_script(tmp_path: Path) -> None:
    write(tmp_path, {"tools/seed.py": 'p = argparse.ArgumentParser()\np.add_argument("--dry-run")\n'})
    one = check(tmp_path, "Run `uv run tools/seed.py --dry-run`.")
    assert (one.truth, one.kind) == (CONFIRMED, StatementKind.OPTION)
    assert one.evidence == StatementPlace("tools/seed.py", 2)


def test_a_script_that_its_manifest_renamed_is_repaired_if_one_name_has_the_same_words(tmp_path: Path) -> None:
    write(tmp_path, {"package.json": '{"scripts": {\n"build:web": "x"}}\n', "AGENTS.md": "Run `npm run build:web`.\n"})
    commit(tmp_path, "one")
    for scripts, repair in (
        ('"web:build": "x"', "Run `npm run web:build`."),
        ('"web:build": "x",\n"web-build": "y"', None),
    ):
        write(tmp_path, {"package.json": f'{{"scripts": {{\n{scripts}}}}}\n'})
        [one] = lint(tmp_path, [tmp_path / "AGENTS.md"])
        assert (one.truth, one.repair) == (WRONG, repair)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project whose names went away after its instructions were written."""
    lines = (
        "- `find_rebates()` in `src/shop/cart.py` lists them.\n"
        "- Set `SHOP_REBATES` to turn them on.\n- `/rebate` starts it.\n- Helpers: `src/shop/help.py`.\n"
        "- `npm run seed` fills it.\n"
    )
    files = {
        "src/shop/cart.py": "def find_rebates(): ...\n",
        "src/shop/env.py": "SHOP_REBATES, SHOP_ENV, SHOP_URL = 1, 2, 3\n",
        "src/shop/help.py": "help = 1\n",
        ".claude/commands/rebate.md": "Start it.\n",
        "package.json": '{"scripts": {\n"seed": "x",\n"dev": "y"}}\n',
        "packages/web/package.json": '{"scripts": {\n"seed": "x"}}\n',
        "AGENTS.md": lines,
    }
    write(tmp_path, files)
    commit(tmp_path, "one")
    write(
        tmp_path,
        {
            "src/shop/cart.py": "class Cart:\n    def total(self): ...\n",
            "src/shop/env.py": "SHOP_ENV, SHOP_URL = 2, 3\n",
            "package.json": '{"scripts": {\n"dev": "y"}}\n',
            "one/src/shop/help.py": "",
            "two/src/shop/help.py": "",
            "three/src/shop/help.py": "",
        },
    )
    (tmp_path / "src/shop/help.py").unlink()
    (tmp_path / ".claude/commands/rebate.md").unlink()
    commit(tmp_path, "two")
    return tmp_path


def test_a_name_that_the_tree_had_when_the_line_was_written_is_gone(shop: Path) -> None:
    found = {one.statement.line: one for one in lint(shop, [shop / "AGENTS.md"])}
    assert {line: one.truth for line, one in found.items()} == dict.fromkeys(range(1, 6), WRONG)
    kinds = [str(found[line].kind) for line in range(1, 6)]
    assert kinds == ["symbol", "variable", "skill", "path", "command"]
    assert all(len(found[line].since) >= 7 for line in range(1, 5))


def test_a_name_that_the_tree_never_had_is_not_checkable(shop: Path) -> None:
    for said in ("`Cart.discount` is applied.", "Set `OTHER_TOKEN` first.", "`/clear` starts anew."):
        assert check(shop, said, "docs/CLAUDE.md").truth is OPEN
