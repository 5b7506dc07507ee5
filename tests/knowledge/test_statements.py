from __future__ import annotations

from knowbound.core.statement import StatementKind
from knowbound.knowledge.named import Named, commands_in, named_in
from knowbound.knowledge.statements import statements_of

TEXT = """\
---
name: x
---
# Guide

Commands live in `src/cli/`. Each has
a test in `tests/cli/`.

<!-- not
this -->
- First bullet.
  It goes on here.
1. Second

| file | use |
| --- | --- |
| `src/a.ts` | first |

```bash
# a comment
make dev          # starts it
```

```ts
import x from "./example"
```

```
src/
├── cli/          # verbs
│   └── main.ts
└── report/
```
"""


def rows(text: str = TEXT) -> list[tuple[int, str]]:
    return [(one.line, one.text) for one in statements_of("CLAUDE.md", text)]


def test_sentences_bullets_rows_and_commands_are_statements_with_their_lines() -> None:
    found = dict(rows())
    assert (6, "Commands live in `src/cli/`.") in rows()
    assert (6, "Each has a test in `tests/cli/`.") in rows()
    assert found[11] == "- First bullet."
    assert (12, "It goes on here.") in rows()
    assert found[17] == "| `src/a.ts` | first |"
    assert found[21] == "make dev          # starts it"
    assert not any("example" in text or "not" in text for _, text in rows())


def test_a_sentence_knows_the_lines_that_it_spans() -> None:
    [one] = [one for one in statements_of("CLAUDE.md", TEXT) if one.text.startswith("Each has")]
    assert (one.line, one.end_line) == (6, 7)


def test_the_rows_of_a_drawn_tree_have_their_paths() -> None:
    drawn = {one.path for one in statements_of("CLAUDE.md", TEXT) if one.path}
    assert drawn == {"src/", "src/cli/", "src/cli/main.ts", "src/report/"}


def test_a_tree_that_is_drawn_in_a_table_has_its_paths() -> None:
    rows_ = ("path", "---", "`src/app/`", "`├─server/`", "`│  └─auth/`", "`└─cli/`")
    text = "".join(f"| {row} | {'---' if row == '---' else 'what'} |\n" for row in rows_)
    paths = [one.path for one in statements_of("CLAUDE.md", text)]
    assert paths == ["", "", "src/app/server/", "src/app/server/auth/", "src/app/cli/"]


def test_hostile_text_is_read_to_its_end() -> None:
    for text in ("```\n" * 3, "├" * 5000, "|" * 3000, "- " * 4000, "\x00\ufeff\n", "`" * 5001, "<!--" * 500):
        statements_of("CLAUDE.md", text)


def named(text: str) -> list[Named]:
    return [one for statement in statements_of("CLAUDE.md", text) for one in named_in(statement)]


def test_paths_links_names_variables_and_packages_are_named() -> None:
    text = "See `src/cli/main.ts`, [guide](docs/guide.md#top), `parseAllArgs()`, `API_BASE_URL` and `@shop/core`.\n"
    assert {(one.kind, one.value) for one in named(text)} == {
        (StatementKind.PATH, "src/cli/main.ts"),
        (StatementKind.LINK, "docs/guide.md"),
        (StatementKind.SYMBOL, "parseAllArgs"),
        (StatementKind.VARIABLE, "API_BASE_URL"),
        (StatementKind.OTHER, "@shop/core"),
    }


def test_examples_placeholders_and_the_outside_world_are_not_named() -> None:
    for text in (
        "Call `path/to/file.ts`.", "Name it `src/<name>.ts`.", "See `https://example.com/a.ts`.", "Use `and/or`.",
        "Open `~/.config/x.toml`.", "Write `src/foo.ts`.", "Run `pytest tests/test_specific_test.py`.",
    ):  # fmt: skip
        assert [one for one in named(text + "\n") if one.is_sure] == [], text


def test_what_is_planned_made_or_denied_is_not_sure() -> None:
    for text in (
        "Create `src/new/thing.ts`.", "Never edit `src/old.ts`.", "Build output goes to `src/gen/x.ts` (generated).",
        "`src/old.ts` was removed.", "Optional: `src/extra.ts`.",
    ):  # fmt: skip
        assert not any(one.is_sure for one in named(text + "\n")), text
    assert all(one.is_sure for one in named("- `src/runtime/host.ts`: local runtime wiring\n"))


def commands(line: str) -> list[tuple[StatementKind, str, str]]:
    return [(one.kind, one.value, one.folder) for one in commands_in(line)]


def test_scripts_and_files_of_command_lines_are_named() -> None:
    command, path, option = StatementKind.COMMAND, StatementKind.PATH, StatementKind.OPTION
    assert commands("npm run build:all -- --watch") == [(command, "npm build:all", "")]
    assert commands("$ make lint && just test") == [(command, "make lint", ""), (command, "just test", "")]
    assert commands("cd web/app && bun run css") == [(path, "web/app/", ""), (command, "bun css", "web/app")]
    assert commands("pnpm --filter web run dev") == [(command, "pnpm dev", "")]
    assert commands("DEBUG=1 node scripts/seed.js --all") == [
        (path, "scripts/seed.js", ""),
        (option, "scripts/seed.js --all", ""),
    ]
    assert commands("uv run seed --all") == [(command, "uv seed", ""), (option, "seed --all", "")]
    assert commands("SHOP_ENV=dev ./run.sh") == [(StatementKind.VARIABLE, "SHOP_ENV", ""), (path, "./run.sh", "")]
    assert commands("bun run src/index.ts cli") == []
    assert commands("yarn add left-pad") == []
    assert commands("git commit -m 'x'") == []
    assert commands("python -m shop.cli") == []
    assert commands("echo 'unclosed") == []


def test_a_tree_drawn_by_indentation_has_its_paths_and_other_blocks_have_none() -> None:
    text = "```\nsrc/\n  sdk/            # builders\n    agent.ts      # the builder\n  index.ts\ndocs/\n  a.md\n```\n"
    found = [(one.line, one.path) for one in statements_of("AGENTS.md", text)]
    assert found == [
        (2, "src/"),
        (3, "src/sdk/"),
        (4, "src/sdk/agent.ts"),
        (5, "src/index.ts"),
        (6, "docs/"),
        (7, "docs/a.md"),
    ]
    for block in ("cd src/\nmake dev", "README.md\nsetup.py", "src/\n  cart.ts\nmake dev"):
        assert not any(one.path for one in statements_of("AGENTS.md", f"```\n{block}\n```\n"))


def test_a_bullet_knows_the_folder_that_the_sentence_before_its_list_names() -> None:
    text = "Examples in `src/examples/`:\n\n- `server/` is first\n- `client/` too\n\nOther things.\n\n- `server/`\n"
    found = {one.line: one.under for one in statements_of("AGENTS.md", text)}
    assert found == {1: "", 3: "src/examples/", 4: "src/examples/", 6: "", 8: ""}


def test_a_bullet_knows_the_folder_of_its_heading_and_of_the_bullet_above_it() -> None:
    text = "## Core (`src/`)\n\n- `api/` - APIs\n  - `server.ts`\n- `cart.ts`\n- `web/app/` - pages\n  - `a.ts`\n"
    text += "\n## Other\n\n- x\n"
    found = {one.line: one.under for one in statements_of("AGENTS.md", text) if not one.text.startswith("#")}
    assert found == {3: "src/", 4: "src/api/", 5: "src/", 6: "src/", 7: "web/app/", 11: ""}


def test_a_comment_in_a_block_of_commands_is_a_statement_and_no_command() -> None:
    found = statements_of("AGENTS.md", "```bash\n#!/bin/sh\n# UI: localhost:3000\nmake dev\n```\n")
    assert [(one.line, one.text, one.is_code) for one in found] == [
        (3, "UI: localhost:3000", False),
        (4, "make dev", True),
    ]


def test_a_placeholder_in_a_drawn_tree_names_nothing() -> None:
    drawn = "```\nsrc/\n├── <name>.ts\n└── cart.ts\n```\n"
    paths = [named.value for statement in statements_of("CLAUDE.md", drawn) for named in named_in(statement)]
    assert "src/cart.ts" in paths
    assert not any("<" in path for path in paths)
