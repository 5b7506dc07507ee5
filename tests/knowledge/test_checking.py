"""The truth of statements in a tree and its history, thing by thing."""

from __future__ import annotations

from typing import Any, TypeAlias

from knowbound.core.statement import CheckedStatement
from knowbound.knowledge.checking import Checker
from knowbound.knowledge.statements import statements_of
from tests.knowledge.trees import Tree

History: TypeAlias = dict[str, Any]
SHOP = {
    "src/cart.ts": "export function sumCart() {}\n",
    "src/tax/rate.ts": "",
    "docs/a.md": "sumTax\n",
    "package.json": '{"name": "@shop/web",\n"scripts": {\n"build:web": "x",\n"test:unit": "y"}}\n',
    "packages/core/package.json": '{"name": "@shop/core",\n"scripts": {\n"deep": "x"}}\n',
    "Makefile": "all: x\nlint:\n",
}
DELETED = {"src/old.ts": "d1", "src/gone": "d2", "gone": "d3", "gone/x.ts": "d3", "lib.ts": "d4"}


def check(files: dict[str, str], history: History, text: str) -> list[str]:
    """The statements of a CLAUDE.md with this text, each as a line."""
    statements = statements_of("CLAUDE.md", text)
    return [shown(checked) for checked in Checker(Tree(files, **history)).check_all(statements)]


def shown(checked: CheckedStatement) -> str:
    place, repair = checked.evidence, checked.repair
    parts = (
        f"{checked.kind} {checked.truth}",
        checked.named,
        f"at {place.path}:{place.line}" if place else "",
        f"since {checked.since}" if checked.since else "",
        checked.why,
        f"→ {repair!r}" if repair is not None else "",
    )
    return "; ".join(filter(None, parts))


def test_paths_are_held_to_the_tree_and_its_history() -> None:
    cases: list[tuple[dict[str, str], History, str, list[str]]] = [
        (SHOP, {}, "`src/cart.ts` and `src/tax/`", ["path confirmed; src/cart.ts; at src/cart.ts:0"]),
        (SHOP, {}, "`src/none.ts` is there", ["path contradicted; src/none.ts; src/none.ts is not there"]),
        (SHOP, {}, "`none/x.ts` is there", ["other not_checkable"]),
        (SHOP, {}, "`none.ts` is there", ["other not_checkable"]),
        (
            SHOP,
            {"deleted": DELETED},
            "`src/old.ts` is there",
            ["path contradicted; src/old.ts; since d1; src/old.ts is not there"],
        ),
        (
            SHOP,
            {"deleted": DELETED, "renames": {"src/old.ts": "src/new.ts"}},
            "`src/old.ts` is there",
            [
                (
                    "path contradicted; src/old.ts; since d1; src/old.ts is not there; src/new.ts is; → "
                    "'`src/new.ts` is there'"
                )
            ],
        ),
        (
            SHOP,
            {"deleted": DELETED},
            "`gone/x.ts` is there",
            ["path contradicted; gone/x.ts; since d3; gone/x.ts is not there"],
        ),
        (SHOP, {"deleted": DELETED}, "`lib.ts` is there", ["path contradicted; lib.ts; since d4; lib.ts is not there"]),
        (SHOP, {"deleted": DELETED}, "Create `src/old.ts` here", ["other not_checkable"]),
        (SHOP, {"deleted": DELETED}, "It is in `src/old.ts` now, e.g. x", ["other not_checkable"]),
        (
            SHOP,
            {"deleted": DELETED},
            "The optional `src/old.ts` is there",
            ["path contradicted; src/old.ts; since d1; src/old.ts is not there"],
        ),
        (
            SHOP,
            {"deleted": DELETED},
            "Create it in `src/old.ts`",
            ["path contradicted; src/old.ts; since d1; src/old.ts is not there"],
        ),
        (SHOP, {}, "`tax/rate.ts` is there", ["path confirmed; tax/rate.ts; at src/tax/rate.ts:0"]),
        (SHOP, {}, "`rate.ts` is there", ["path confirmed; rate.ts; at src/tax/rate.ts:0"]),
        (SHOP, {}, "[x](src/none.ts) is there", ["link contradicted; src/none.ts; src/none.ts is not there"]),
        (SHOP, {}, "[x](none/none.ts) is there", ["link contradicted; none/none.ts; none/none.ts is not there"]),
        (SHOP, {}, "[x](src/cart.ts) is there", ["link confirmed; src/cart.ts; at src/cart.ts:0"]),
        (SHOP, {}, "`dist/app.js` is there", ["other not_checkable"]),
        (SHOP, {}, "`src/app.log` is there", ["other not_checkable"]),
        (SHOP, {}, "`../other/x.ts` is there", ["other not_checkable"]),
        (SHOP, {}, "`.github/x.yml` is there", ["other not_checkable"]),
        (
            SHOP | {"src/tax/vat_table.ts": ""},
            {},
            "`src/vat_table.ts` is there",
            [
                (
                    "path contradicted; src/vat_table.ts; src/vat_table.ts is not there; "
                    "src/tax/vat_table.ts is; → '`src/tax/vat_table.ts` is there'"
                )
            ],
        ),
        (
            SHOP | {"src/tax/vat.ts": ""},
            {},
            "`src/vat.ts` is there",
            ["path contradicted; src/vat.ts; src/vat.ts is not there"],
        ),
        (
            SHOP | {"src/tax/vat.ts": ""},
            {},
            "`old/tax/vat.ts` is there",
            [
                (
                    "path contradicted; old/tax/vat.ts; old/tax/vat.ts is not there; src/tax/vat.ts is; "
                    "→ '`src/tax/vat.ts` is there'"
                )
            ],
        ),
        (SHOP | {"src/tax/vat.ts": "", "a/vat.ts": ""}, {}, "`old/tax/vat.ts` is there", ["other not_checkable"]),
        (
            SHOP | {"src/tax/vat_table.ts": ""},
            {},
            "`lib2/vat_table.ts` is there",
            [
                (
                    "path contradicted; lib2/vat_table.ts; lib2/vat_table.ts is not there; "
                    "src/tax/vat_table.ts is; → '`src/tax/vat_table.ts` is there'"
                )
            ],
        ),
        (
            SHOP,
            {
                "deleted": {
                    "src/cart/": "d",
                    "src/old.ts": "d1",
                    "src/gone": "d2",
                    "gone": "d3",
                    "gone/x.ts": "d3",
                    "lib.ts": "d4",
                },
                "renames": {"src/gone": "src/tax"},
            },
            "`src/gone/` is there",
            [("path contradicted; src/gone/; since d2; src/gone/ is not there; src/tax is; → '`src/tax/` is there'")],
        ),
        (
            SHOP | {".gitignore": "/local\ndata/*\n#x\n!y\n*.z\n\n", ".gitmodules": "[s]\n path = third/\n"},
            {},
            "`local/x.ts` is there",
            ["other not_checkable"],
        ),
        (
            SHOP | {".gitignore": "local/x\n**/deep\n"},
            {},
            "`src/local/x` and `src/deep/a.ts`",
            ["path contradicted; src/local/x; src/local/x is not there"],
        ),
        (SHOP | {".gitignore": "src/deep\n"}, {}, "`src/deep/a.ts` is there", ["other not_checkable"]),
        (
            SHOP | {".gitignore": "src/other\n"},
            {},
            "`src/deep/a.ts` is there",
            ["path contradicted; src/deep/a.ts; src/deep/a.ts is not there"],
        ),
        (SHOP | {".gitmodules": "[s]\n path = src/third\n"}, {}, "`src/third/x.ts` is there", ["other not_checkable"]),
        (
            SHOP | {"a/src/old.ts": "", "b/src/old.ts": "", "c/src/old.ts": ""},
            {"deleted": DELETED},
            "`src/old.ts` is there",
            ["other not_checkable"],
        ),
        (
            SHOP | {"a/src/old.ts": "", "b/src/old.ts": ""},
            {"deleted": DELETED},
            "`src/old.ts` is there",
            ["other not_checkable"],
        ),
        (
            SHOP | {"a/src/old.ts": ""},
            {"deleted": DELETED, "renames": {"src/old.ts": "a/src/old.ts"}},
            "`src/old.ts` is there",
            [
                (
                    "path contradicted; src/old.ts; since d1; src/old.ts is not there; a/src/old.ts is; "
                    "→ '`a/src/old.ts` is there'"
                )
            ],
        ),
        (
            SHOP | {"a/lib.ts": ""},
            {"deleted": DELETED, "renames": {"lib.ts": "a/lib.ts"}},
            "`lib.ts` is there",
            ["other not_checkable"],
        ),
        (
            SHOP,
            {"deleted": DELETED, "versions": {"d1^:CLAUDE.md": "x\n`src/old.ts`   is there\n"}},
            "`src/old.ts` is there",
            ["path contradicted; src/old.ts; since d1; src/old.ts is not there"],
        ),
        (
            SHOP | {"a/src/old.ts": ""},
            {"deleted": DELETED, "versions": {"d1^:CLAUDE.md": "`src/old.ts` is there\n"}},
            "`src/old.ts` is there",
            ["path contradicted; src/old.ts; since d1; src/old.ts is not there"],
        ),
        (
            SHOP | {"a/src/old.ts": ""},
            {"deleted": DELETED, "versions": {"d1^:CLAUDE.md": "other\n"}},
            "`src/old.ts` is there",
            ["other not_checkable"],
        ),
        (SHOP, {}, "src/none/deep is there", ["other not_checkable"]),
        (
            SHOP,
            {"deleted": {"src/none/deep": "d"}},
            "src/none/deep is there",
            ["path contradicted; src/none/deep; since d; src/none/deep is not there"],
        ),
        (SHOP, {}, "src/cart.ts is there", ["path confirmed; src/cart.ts; at src/cart.ts:0"]),
        (
            SHOP,
            {},
            "In `src/`:\n- `cart.ts` is it\n- `none.ts` is none\n- `tax/rate.ts` is it",
            [
                "path confirmed; src/; at src:0",
                "path confirmed; cart.ts; at src/cart.ts:0",
                "other not_checkable",
                "path confirmed; tax/rate.ts; at src/tax/rate.ts:0",
            ],
        ),
        (
            SHOP | {"lib/x.ts": ""},
            {"deleted": {"src/x.ts": "d"}},
            "In `src/`:\n- `x.ts` is it",
            ["path confirmed; src/; at src:0", "path contradicted; x.ts; since d; x.ts is not there"],
        ),
        (
            SHOP | {"lib/x.ts": ""},
            {},
            "In `src/`:\n- `x.ts` is it",
            ["path confirmed; src/; at src:0", "other not_checkable"],
        ),
        (
            SHOP,
            {"deleted": {"src/x.ts": "d"}, "renames": {"src/x.ts": "src/tax/x.ts"}},
            "In `src/`:\n- `x.ts` is it",
            [
                "path confirmed; src/; at src:0",
                ("path contradicted; x.ts; since d; x.ts is not there; src/tax/x.ts is; → '- `src/tax/x.ts` is it'"),
            ],
        ),
        (
            SHOP,
            {},
            "```\nshop/\n├── src/\n│   ├── cart.ts\n│   └── none.ts\n└── docs/\n```",
            [
                "other not_checkable",
                "layout confirmed; shop/src/; at src:0",
                "layout confirmed; shop/src/cart.ts; at src/cart.ts:0",
                "other not_checkable",
                "layout confirmed; shop/docs/; at docs:0",
            ],
        ),
        (
            SHOP,
            {"deleted": {"src/none.ts": "d"}, "renames": {"src/none.ts": "src/some.ts"}},
            "```\nshop/\n├── src/\n│   ├── none.ts  # none.ts\n│   └── cart.ts\n```",
            [
                "other not_checkable",
                "layout confirmed; shop/src/; at src:0",
                "layout contradicted; shop/src/none.ts; shop/src/none.ts is not there; src/some.ts is",
                "layout confirmed; shop/src/cart.ts; at src/cart.ts:0",
            ],
        ),
        (
            SHOP,
            {"deleted": {"src/none.ts": "d"}},
            "```\nsrc/\n├── none.ts  # none.ts\n└── cart.ts\n```",
            [
                "layout confirmed; src/; at src:0",
                "layout contradicted; src/none.ts; since d; src/none.ts is not there; → ''",
                "layout confirmed; src/cart.ts; at src/cart.ts:0",
            ],
        ),
        (
            SHOP,
            {"deleted": {"src/none.ts": "d"}},
            "| `src/none.ts` | x |\n| --- | --- |",
            ["path contradicted; src/none.ts; since d; src/none.ts is not there; → ''"],
        ),
        (
            SHOP,
            {"deleted": {"src/none.ts": "d"}},
            "| x | `src/none.ts` |",
            ["path contradicted; src/none.ts; since d; src/none.ts is not there"],
        ),
        (
            SHOP,
            {"deleted": {"src/tab": "d"}, "renames": {"src/tab": "lib/tab"}},
            "```\nsrc/\n├── tab/\n└── cart.ts\n```",
            [
                "layout confirmed; src/; at src:0",
                "layout contradicted; src/tab/; since d; src/tab/ is not there; lib/tab is",
                "layout confirmed; src/cart.ts; at src/cart.ts:0",
            ],
        ),
    ]
    for files, history, text, found in cases:
        assert check(files, history, text) == found, files


def test_names_are_held_to_the_tree_and_its_history() -> None:
    cases: list[tuple[dict[str, str], History, str, list[str]]] = [
        (SHOP, {}, "`sumCart()` sums", ["symbol not_checkable"]),
        (SHOP, {}, "`sumTax` taxes", ["other not_checkable"]),
        (SHOP, {}, "`sumNone` is none", ["other not_checkable"]),
        (
            SHOP,
            {"past": {"sumNone": ["src/a.ts"]}},
            "`sumNone` is none",
            ["symbol contradicted; sumNone; since sumNone left src/a.ts; sumNone is not there"],
        ),
        (SHOP, {"past": {"sumNone": ["docs/a.md"]}}, "`sumNone` is none", ["other not_checkable"]),
        (
            SHOP,
            {"past": {"sumNone": ["src/a.ts"]}, "unsearched": ["sumNone"]},
            "`sumNone` is none",
            ["other not_checkable"],
        ),
        (
            SHOP,
            {"past": {"sumNone": ["src/a.ts"]}},
            "`cart.sumNone()` is none",
            [("symbol contradicted; cart.sumNone; since sumNone left src/a.ts; cart.sumNone is not there")],
        ),
        (
            SHOP,
            {"past": {"SHOP_ENV": ["a.ts", "docs/b.md"]}},
            "Set `SHOP_ENV`",
            ["variable contradicted; SHOP_ENV; since SHOP_ENV left a.ts; SHOP_ENV is not there"],
        ),
        (SHOP, {}, "`sumCart()` in `src/cart.ts`", ["path confirmed; src/cart.ts; at src/cart.ts:0"]),
        (SHOP, {}, "`sumCart()` in `src/cart.ts` and `sumNone`", ["symbol not_checkable"]),
        (SHOP, {}, "`@shop/web` is it", ["other not_checkable"]),
        (SHOP, {}, "`@shop/none` is none", ["other contradicted; @shop/none; @shop/none is not there"]),
        (SHOP, {}, "`@other/none` is none", ["other not_checkable"]),
        (SHOP | {"src/x.ts": "import '@shop/none'"}, {}, "`@shop/none` is none", ["other not_checkable"]),
        (SHOP, {"unsearched": ["@shop/none"]}, "`@shop/none` is none", ["other not_checkable"]),
        (
            {"package.json": '{"name": "@shop/web",\n"scripts": {\n"build:web": "x",\n"test:unit": "y"}}\n'},
            {},
            "`@shop/none` is none",
            ["other not_checkable"],
        ),
        (
            SHOP | {".claude/commands/review.md": ""},
            {},
            "`/review` it",
            ["skill confirmed; /review; at .claude/commands/review.md:0"],
        ),
        (
            SHOP | {".claude/skills/review/SKILL.md": ""},
            {},
            "`/review` it",
            ["skill confirmed; /review; at .claude/skills/review/SKILL.md:0"],
        ),
        (
            SHOP,
            {"deleted": {".claude/commands/review.md": "d9"}},
            "`/review` it",
            ["skill contradicted; /review; since d9; /review is not there"],
        ),
        (SHOP, {}, "`/review` it", ["other not_checkable"]),
    ]
    for files, history, text, found in cases:
        assert check(files, history, text) == found, files


def test_commands_are_held_to_the_tree_and_its_history() -> None:
    cases: list[tuple[dict[str, str], History, str, list[str]]] = [
        (SHOP, {}, "Run `npm run build:web`", ["command confirmed; npm build:web; at package.json:3"]),
        (SHOP, {}, "Run `npm run deep`", ["command confirmed; npm deep; at packages/core/package.json:3"]),
        (SHOP, {}, "Run `npm run none`", ["command contradicted; npm none; no manifest has the script none"]),
        (
            SHOP,
            {},
            "Run `npm run web:build`",
            [
                (
                    "command contradicted; npm web:build; no manifest has the script web:build; there is "
                    "build:web; → 'Run `npm run build:web`'"
                )
            ],
        ),
        (SHOP, {}, "Run `npm test`", ["other not_checkable"]),
        (SHOP, {}, "Run `npm start`", ["other not_checkable"]),
        (SHOP, {}, "Run `pnpm test:unit`", ["command confirmed; pnpm test:unit; at package.json:4"]),
        (SHOP, {}, "Run `pnpm none`", ["command contradicted; pnpm none; no manifest has the script none"]),
        (
            SHOP | {"packages/core/package.json": '{"name": "@shop/core", "dependencies": {"none": "1"}}'},
            {},
            "Run `pnpm none`",
            ["other not_checkable"],
        ),
        (
            SHOP | {"packages/core/package.json": '{"name": "@shop/core", "dependencies": {"none": "1"}}'},
            {},
            "Run `npm run none`",
            ["command contradicted; npm none; no manifest has the script none"],
        ),
        ({}, {}, "Run `npm run none`", ["other not_checkable"]),
        (SHOP, {}, "Run `make lint`", ["command confirmed; make lint; at Makefile:2"]),
        (SHOP, {}, "Run `make none`", ["command contradicted; make none; no manifest has the script none"]),
        (SHOP | {"Makefile": "%.o: x\n"}, {}, "Run `make none`", ["other not_checkable"]),
        (
            SHOP | {"Makefile": "all:\n", "x/Makefile": "%.o: x\n"},
            {},
            "Run `make none`",
            ["command contradicted; make none; no manifest has the script none"],
        ),
        (
            SHOP | {"mise.toml": "[tasks.build]\n"},
            {},
            "Run `mise run build`",
            ["command confirmed; mise build; at mise.toml:1"],
        ),
        (
            SHOP | {"mise.toml": "[tasks.build]\n"},
            {},
            "Run `mise run none`",
            ["command contradicted; mise none; no manifest has the script none"],
        ),
        (
            SHOP | {".mise/tasks/all.sh": ""},
            {},
            "Run `mise run all`",
            ["command confirmed; mise all; at .mise/tasks/all.sh:1"],
        ),
        (
            SHOP | {"package.json": '{"scripts": {\n"a:b": "",\n"b-a": ""}}'},
            {},
            "Run `npm run b:a`",
            ["command contradicted; npm b:a; no manifest has the script b:a"],
        ),
        (
            SHOP,
            {"versions": {"v1:CLAUDE.md": "Run `npm run old`", "v1:package.json": '{\n"old": "x"'}},
            "Run `npm run old`",
            ["command contradicted; npm old; at package.json:0; no manifest has the script old"],
        ),
        (
            SHOP | {"packages/core/package.json": '{"name": "@shop/core",\n"scripts": {\n"old": "x"}}'},
            {"versions": {"v1:CLAUDE.md": "Run `npm run old`", "v1:package.json": '{\n"old": "x"'}},
            "Run `npm run old`",
            ["command contradicted; npm old; at package.json:0; no manifest has the script old"],
        ),
        (
            SHOP | {"packages/core/package.json": '{"name": "@shop/core",\n"scripts": {\n"old": "x"}}'},
            {"versions": {"v1:CLAUDE.md": "other", "v1:package.json": '{\n"old": "x"'}},
            "Run `npm run old`",
            ["command confirmed; npm old; at packages/core/package.json:3"],
        ),
        (
            SHOP | {"packages/core/package.json": '{"name": "@shop/core",\n"scripts": {\n"web:build2": "x"}}'},
            {},
            "Run `cd packages/core && npm run deep`",
            ["command contradicted; npm deep; no manifest has the script deep"],
        ),
        (
            SHOP | {".pre-commit-config.yaml": "repos:\n  - id: ruff\n    alias: fast # x\n"},
            {},
            "Run `pre-commit run ruff`",
            ["command confirmed; pre-commit ruff; at .pre-commit-config.yaml:2"],
        ),
        (
            SHOP | {".pre-commit-config.yaml": "repos:\n  - id: ruff\n    alias: fast # x\n"},
            {},
            "Run `pre-commit run fast`",
            ["command confirmed; pre-commit fast; at .pre-commit-config.yaml:3"],
        ),
        (
            SHOP | {".pre-commit-config.yaml": "repos:\n  - id: ruff\n"},
            {},
            "Run `pre-commit run none`",
            ["command contradicted; pre-commit none; .pre-commit-config.yaml has no hook none"],
        ),
        (SHOP, {}, "Run `pre-commit run none`", ["other not_checkable"]),
        (
            SHOP | {"pyproject.toml": "[x]\nruff = 1\n"},
            {},
            "Run `uv run ruff`",
            ["command confirmed; uv ruff; at pyproject.toml:2"],
        ),
        (
            SHOP | {"pyproject.toml": "[x]\nruff-lsp = 1\n", "uv.lock": "name = x\n"},
            {},
            "Run `uv run ruff`",
            ["command contradicted; uv ruff; no manifest has the script ruff"],
        ),
        (SHOP | {"pyproject.toml": "[x]\n"}, {}, "Run `uv run ruff`", ["other not_checkable"]),
        (
            SHOP | {"uv.lock": "a\nb\nname = ruff\n"},
            {},
            "Run `uv run ruff`",
            ["command confirmed; uv ruff; at uv.lock:3"],
        ),
        (SHOP | {"Cargo.toml": ""}, {}, "Run `cargo build`", ["other not_checkable"]),
        (SHOP, {}, "Run `cargo build`", ["other not_checkable"]),
        (
            SHOP,
            {"deleted": {"Cargo.toml": "d"}, "versions": {"v1:CLAUDE.md": "Run `cargo build`", "v1:Cargo.toml": "x"}},
            "Run `cargo build`",
            ["command contradicted; cargo ; there is no Cargo.toml here"],
        ),
        (
            SHOP | {"core/Cargo.toml": ""},
            {"deleted": {"Cargo.toml": "d"}, "versions": {"v1:CLAUDE.md": "Run `cargo build`", "v1:Cargo.toml": "x"}},
            "Run `cargo build`",
            ["command contradicted; cargo ; there is no Cargo.toml here; core/Cargo.toml is"],
        ),
        (
            SHOP | {"core/Cargo.toml": "", "b/Cargo.toml": ""},
            {"deleted": {"Cargo.toml": "d"}, "versions": {"v1:CLAUDE.md": "Run `cargo build`", "v1:Cargo.toml": "x"}},
            "Run `cargo build`",
            ["command contradicted; cargo ; there is no Cargo.toml here"],
        ),
        (
            SHOP,
            {"deleted": {"Cargo.toml": "d"}, "versions": {"v1:CLAUDE.md": "Run `cargo build`"}},
            "Run `cargo build`",
            ["other not_checkable"],
        ),
        (
            SHOP,
            {
                "deleted": {"Cargo.toml": "d"},
                "versions": {"v1:CLAUDE.md": "# In `core/x`\nRun `cargo build`", "v1:Cargo.toml": "x"},
            },
            "# In `core/x`\nRun `cargo build`",
            ["other not_checkable", "other not_checkable"],
        ),
        (
            SHOP,
            {
                "deleted": {"compose.yml": "d"},
                "versions": {"v1:CLAUDE.md": "Run `docker compose up`", "v1:compose.yml": "x"},
            },
            "Run `docker compose up`",
            ["command contradicted; docker ; there is no compose.yaml here"],
        ),
    ]
    for files, history, text, found in cases:
        assert check(files, history, text) == found, files


def test_options_and_versions_are_held_to_the_tree_and_its_history() -> None:
    cases: list[tuple[dict[str, str], History, str, list[str]]] = [
        (
            SHOP | {"x.py": "argparse.ArgumentParser()\n'--all'\n"},
            {},
            "Run `python x.py --all`",
            ["path confirmed; x.py; at x.py:0"],
        ),
        (
            SHOP | {"x.py": "argparse.ArgumentParser()\n"},
            {},
            "Run `python x.py --all`",
            ["option contradicted; x.py --all; at x.py:0; x.py has no option --all"],
        ),
        (
            SHOP | {"x.py": "argparse.ArgumentParser()\n"},
            {},
            "Run `python x.py --help`",
            ["path confirmed; x.py; at x.py:0"],
        ),
        (SHOP | {"x.py": "print()\n"}, {}, "Run `python x.py --all`", ["path confirmed; x.py; at x.py:0"]),
        (
            SHOP | {"x.py": "argparse.ArgumentParser()\nall_rows\n"},
            {},
            "Run `python x.py --all-rows`",
            ["path confirmed; x.py; at x.py:0"],
        ),
        (
            SHOP | {"x.py": "argparse.ArgumentParser()\nallRows\n"},
            {},
            "Run `python x.py --no-all-rows`",
            ["path confirmed; x.py; at x.py:0"],
        ),
        (
            SHOP | {"x.py": "argparse.ArgumentParser()\nparse_known_args\n"},
            {},
            "Run `python x.py --all`",
            ["path confirmed; x.py; at x.py:0"],
        ),
        (
            SHOP | {"x.py": "argparse.ArgumentParser()\n'--all-rows'\n"},
            {},
            "Run `python x.py --all`",
            ["path confirmed; x.py; at x.py:0"],
        ),
        (
            SHOP | {"a/x.py": "argparse.ArgumentParser()\n"},
            {},
            "Run `cd a && python x.py --all`",
            ["option contradicted; x.py --all; at a/x.py:0; x.py has no option --all"],
        ),
        (
            SHOP | {"run": "argparse.ArgumentParser()\n"},
            {},
            "Run `./run --all`",
            ["option contradicted; ./run --all; at run:0; ./run has no option --all"],
        ),
        (SHOP | {"run": "argparse.ArgumentParser()\n"}, {}, "Run `run --all`", ["other not_checkable"]),
        (
            SHOP | {".python-version": "3.11\n"},
            {},
            "Python 3.11 is used",
            ["version confirmed; Python 3.11; at .python-version:1"],
        ),
        (
            SHOP | {".python-version": "3.11.4\n"},
            {},
            "Python 3.12 is used",
            [
                (
                    "version contradicted; Python 3.12; at .python-version:1; .python-version states "
                    "Python 3.11; → 'Python 3.11 is used'"
                )
            ],
        ),
        (
            SHOP | {".python-version": "3.11\n"},
            {},
            "Python 3.11, see `src/cart.ts`",
            ["path confirmed; src/cart.ts; at src/cart.ts:0"],
        ),
        (
            SHOP | {"pyproject.toml": 'requires-python = ">=3.11"\n'},
            {},
            "Python 3.10 is used",
            [
                (
                    "version contradicted; Python 3.10; at pyproject.toml:1; pyproject.toml states "
                    "Python 3.11; → 'Python 3.11 is used'"
                )
            ],
        ),
        (SHOP | {"pyproject.toml": 'requires-python = ">=3.11"\n'}, {}, "Python 3.12 is used", ["other not_checkable"]),
        (
            SHOP | {"pyproject.toml": 'requires-python = ">=3.11"\n'},
            {},
            "Python ≥ 3.12",
            [
                (
                    "version contradicted; Python ≥ 3.12; at pyproject.toml:1; pyproject.toml states "
                    "Python ≥ 3.11; → 'Python ≥ 3.11'"
                )
            ],
        ),
        (
            SHOP | {"pyproject.toml": 'requires-python = ">=3.11"\n'},
            {},
            "Python 3.12 or newer",
            [
                (
                    "version contradicted; Python 3.12 or newer; at pyproject.toml:1; pyproject.toml "
                    "states Python 3.11 or newer; → 'Python 3.11 or newer'"
                )
            ],
        ),
        (
            SHOP | {".python-version": "3.12\n"},
            {},
            "Python 3.11+",
            [
                (
                    "version contradicted; Python 3.11+; at .python-version:1; .python-version states "
                    "Python 3.12+; → 'Python 3.12+'"
                )
            ],
        ),
        (SHOP | {".python-version": "3.12\n"}, {}, "Python 3.13+", ["other not_checkable"]),
        (
            SHOP | {"pyproject.toml": 'requires-python = ">=3.11"\n', ".python-version": "3.12\n"},
            {},
            "Python 3.12 is used",
            ["version confirmed; Python 3.12; at .python-version:1"],
        ),
        (
            SHOP | {"pyproject.toml": 'requires-python = ">=3.11"\n', ".python-version": "3.12\n"},
            {},
            "Python 3.11 is used",
            ["version confirmed; Python 3.11; at pyproject.toml:1"],
        ),
        (
            SHOP | {"pyproject.toml": 'requires-python = ">=3.11"\n'},
            {},
            "Python 3.10, 3.11, or 3.12",
            [
                (
                    "version contradicted; Python 3.10, 3.11, or 3.12; at pyproject.toml:1; "
                    "pyproject.toml states another than Python 3.10, 3.11, or 3.12"
                )
            ],
        ),
        (
            SHOP | {"pyproject.toml": 'requires-python = ">=3.10"\n'},
            {},
            "Python 3.10, 3.11, or 3.12",
            ["other not_checkable"],
        ),
        (SHOP, {}, "Python 3.10, 3.11, or 3.12", ["other not_checkable"]),
        (SHOP, {}, "Python 3.12 is used", ["other not_checkable"]),
        (SHOP | {".python-version": "3.12\n"}, {}, "Upgrading: Python 3.11 is used", ["other not_checkable"]),
        (SHOP | {".python-version": "3.12\n"}, {}, "Supports Python 3.11", ["other not_checkable"]),
        (SHOP | {".python-version": "3.12\n"}, {}, "React 18 is used", ["other not_checkable"]),
        (
            SHOP | {"go.mod": "module x\ntoolchain go1.23.4\n"},
            {},
            "Golang 1.22 is used",
            [("version contradicted; Golang 1.22; at go.mod:2; go.mod states Golang 1.23; → 'Golang 1.23 is used'")],
        ),
        (
            SHOP | {"mise.toml": "[tools]\nnode = '22.1'\n"},
            {},
            "Node.js 20.1 is used",
            [
                (
                    "version contradicted; Node.js 20.1; at mise.toml:2; mise.toml states Node.js 22.1; "
                    "→ 'Node.js 22.1 is used'"
                )
            ],
        ),
        (
            SHOP | {".tool-versions": "nodejs 22.1.3\n"},
            {},
            "nodejs v20 is used",
            [
                (
                    "version contradicted; nodejs v20; at .tool-versions:1; .tool-versions states nodejs "
                    "v22; → 'nodejs v22 is used'"
                )
            ],
        ),
        (
            SHOP | {"package.json": '{\n"packageManager": "yarn@4.1.0"}'},
            {},
            "Yarn 3.x is used",
            [("version contradicted; Yarn 3.x; at package.json:2; package.json states Yarn 4.x; → 'Yarn 4.x is used'")],
        ),
        (
            SHOP | {".python-version": "3.9\n"},
            {},
            "Python 3.11 is used",
            [
                (
                    "version contradicted; Python 3.11; at .python-version:1; .python-version states "
                    "Python 3.9; → 'Python 3.9 is used'"
                )
            ],
        ),
        (
            SHOP | {".python-version": "3.12\n"},
            {},
            "Python 3.1 is used",
            [
                (
                    "version contradicted; Python 3.1; at .python-version:1; .python-version states "
                    "Python 3.12; → 'Python 3.12 is used'"
                )
            ],
        ),
    ]
    for files, history, text, found in cases:
        assert check(files, history, text) == found, files
