"""Statements of a Markdown file, and which of them may be rules."""

from __future__ import annotations

import pytest

from knowbound.core.statement import Rule, Statement
from knowbound.knowledge.statements import is_rule, lines_of, statements_of


def _shown(statement: Statement) -> str:
    lines = str(statement.line) if statement.line == statement.end_line else f"{statement.line}-{statement.end_line}"
    signs = (
        " [code]" * statement.is_code,
        f" [path {statement.path}]" * bool(statement.path),
        f" [under {statement.under}]" * bool(statement.under),
        f" [{statement.heading}]" * bool(statement.heading),
    )
    return f"{lines}: {statement.text}{''.join(signs)}"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "One here. Two\nthree. Four!\n五。六\nend",
            ["1: One here.", "1-2: Two three.", "2: Four!", "3: 五。", "3-4: 六 end"],
            id="sentences_of_a_paragraph_with_the_lines_that_they_are_in",
        ),
        pytest.param("", [], id="an_empty_text"),
        pytest.param(" \n\n\t\n", [], id="a_text_of_blanks"),
        pytest.param(
            "---\nname: x\n---\n<!-- a\nb -->\nText.\n<!-- open\nmore",
            ["6: Text."],
            id="front_matter_and_comments_keep_the_lines",
        ),
        pytest.param("\ufeffOne.\r\nTwo.\r\n", ["1: One.", "2: Two."], id="crlf_and_a_byte_order_mark"),
        pytest.param(
            "# Top #\nA.\n## Sub\nB.\n####### No heading\n",
            ["1: # Top # [Top]", "2: A. [Top]", "3: ## Sub [Sub]", "4-5: B. ####### No heading [Sub]"],
            id="headings_with_and_without_closing_signs",
        ),
        pytest.param(
            "- one\n- two\n  more\n* three\n+ four\n1. five\n10) six\n1234. seven\n-none\n",
            ["1: - one", "2-3: - two more", "4: * three", "5: + four", "6: 1. five", "7-9: 10) six 1234. seven -none"],
            id="bullets_and_numbers",
        ),
        pytest.param(
            "**Tests**: run them\nLint: run it\nand more\nBuild (,\nNote: x\n",
            ["1: **Tests**: run them", "2-5: Lint: run it and more Build (, Note: x"],
            id="a_label_begins_a_statement",
        ),
        pytest.param(
            "Build all (\nNote: x)\nGo on,\nNote: y\nGo on -\nNote: z\n",
            ["1-6: Build all ( Note: x) Go on, Note: y Go on - Note: z"],
            id="a_label_after_an_open_bracket_goes_on",
        ),
        pytest.param("| a | b |\n| --- | --- |\n| c | d |\n", ["1: | a | b |", "3: | c | d |"], id="rows_of_a_table"),
        pytest.param(
            (
                "| File | Use |\n| `src/` | all |\n| `├── cart/` | sums |\n| `│   └── cart.ts` | sum "
                "|\n| `└── tax.ts` | tax |\n| `other.ts` | x |\n| `├── lost.ts` | x |\n"
            ),
            [
                "1: | File | Use |",
                "2: | `src/` | all |",
                "3: | `├── cart/` | sums | [path src/cart/]",
                "4: | `│   └── cart.ts` | sum | [path src/cart/cart.ts]",
                "5: | `└── tax.ts` | tax | [path src/tax.ts]",
                "6: | `other.ts` | x |",
                "7: | `├── lost.ts` | x |",
            ],
            id="a_tree_drawn_in_a_table",
        ),
        pytest.param(
            (
                "```bash\n# comment line\n#!/bin/sh\nmake all\n\n//note\n```\n```ts\nsum()\n```\n"
                "```\nplain\n```\n~~~console\n$ x\n~~~\n"
            ),
            ["2: comment line", "4: make all [code]", "6: note", "12: plain [code]", "15: $ x [code]"],
            id="code_of_shells_and_of_others",
        ),
        pytest.param("```\nmake all\nmake b", ["2: make all [code]", "3: make b [code]"], id="an_unclosed_block"),
        pytest.param(
            "````\n```\nx\n```\n````\nAfter.",
            ["2: ``` [code]", "3: x [code]", "4: ``` [code]", "6: After."],
            id="a_fence_within_a_longer_fence",
        ),
        pytest.param(
            (
                "```\nshop/\n├── src/\n│   ├── cart.ts  # sums\n│   └── tax/\n│       └── tax.ts\n"
                "├── docs/\n└── a.md\n│\nother/\n└── b.md\n```\n"
            ),
            [
                "2: shop/ [path shop/]",
                "3: ├── src/ [path shop/src/]",
                "4: ├── cart.ts  # sums [path shop/src/cart.ts]",
                "5: └── tax/ [path shop/src/tax/]",
                "6: └── tax.ts [path shop/src/tax/tax.ts]",
                "7: ├── docs/ [path shop/docs/]",
                "8: └── a.md [path shop/a.md]",
                "10: other/ [path other/]",
                "11: └── b.md [path other/b.md]",
            ],
            id="a_tree_drawn_with_lines",
        ),
        pytest.param(
            "```\nshop/\n  src/\n    cart.ts  sums\n  a.md - text\nb.md\n```\n",
            [
                "2: shop/ [path shop/]",
                "3: src/ [path shop/src/]",
                "4: cart.ts  sums [path shop/src/cart.ts]",
                "5: a.md - text [path shop/a.md]",
                "6: b.md [path b.md]",
            ],
            id="a_tree_drawn_by_indentation",
        ),
        pytest.param(
            "```\na.md\nb.md\n```\n", ["2: a.md [code]", "3: b.md [code]"], id="files_without_a_folder_are_no_tree"
        ),
        pytest.param(
            "```\nsrc/\nb.md\n```\n", ["2: src/ [code]", "3: b.md [code]"], id="a_folder_without_a_row_below_is_no_tree"
        ),
        pytest.param(
            "```\nsrc/\n  b.md\nmake all\n```\n",
            ["2: src/ [code]", "3: b.md [code]", "4: make all [code]"],
            id="a_line_that_is_no_file_makes_it_no_tree",
        ),
        pytest.param(
            (
                "- `src/`: all\n  - `cart.ts` sums\n    - deep\n  - `tax/` taxes\n    - `tax.ts`\n- "
                "`docs/` texts\n- `a/b/` whole\n  - x\n"
            ),
            [
                "1: - `src/`: all",
                "2: - `cart.ts` sums [under src/]",
                "3: - deep [under src/]",
                "4: - `tax/` taxes [under src/]",
                "5: - `tax.ts` [under src/tax/]",
                "6: - `docs/` texts",
                "7: - `a/b/` whole",
                "8: - x [under a/b/]",
            ],
            id="bullets_below_a_folder",
        ),
        pytest.param(
            "- `src/`\n  - `lib/core/` whole\n    - `x.ts`\n",
            ["1: - `src/`", "2: - `lib/core/` whole [under src/]", "3: - `x.ts` [under lib/core/]"],
            id="a_nested_whole_path",
        ),
        pytest.param(
            "In `src/cart/` there are:\n\n- `a.ts`\n- `b.ts`\n\nText.\n\n- `c.ts`\n",
            [
                "1: In `src/cart/` there are:",
                "3: - `a.ts` [under src/cart/]",
                "4: - `b.ts` [under src/cart/]",
                "6: Text.",
                "8: - `c.ts`",
            ],
            id="bullets_below_a_sentence_that_names_a_folder",
        ),
        pytest.param(
            "## `src/cart/`\n\n- `a.ts`\n\nText.\n\n- `b.ts`\n## Other\n- `c.ts`\n",
            [
                "1: ## `src/cart/` [`src/cart/`]",
                "3: - `a.ts` [under src/cart/] [`src/cart/`]",
                "5: Text. [`src/cart/`]",
                "7: - `b.ts` [under src/cart/] [`src/cart/`]",
                "8: ## Other [Other]",
                "9: - `c.ts` [Other]",
            ],
            id="bullets_below_a_heading_that_names_a_folder",
        ),
        pytest.param(
            "In `src/`:\n- `a.ts`", ["1: In `src/`:", "2: - `a.ts` [under src/]"], id="the_last_paragraph_is_a_bullet"
        ),
        pytest.param(
            "In `src/cart/` there are a great many of the files that we need:\n- `a.ts`",
            ["1: In `src/cart/` there are a great many of the files that we need:", "2: - `a.ts`"],
            id="the_lead_in_is_too_far_away",
        ),
    ],
)
def test_a_file_is_cut_into_statements_with_lines_paths_and_headings(text: str, found: list[str]) -> None:
    assert [_shown(statement) for statement in statements_of("A.md", text)] == found


@pytest.mark.parametrize(
    ("text", "heading", "is_one"),
    [
        ("Run the tests.", "", True),
        ("- Run", "", False),
        ("- Run", "Rules", True),
        ("Two words", "", False),
        ("Use it now", "", True),
        ("Tests are run here", "", False),
        ("You must test", "", True),
        ("## Never push", "", True),
        ("## Push it", "", False),
        ("| Never push |", "", False),
        ("Should we push?", "", False),
        ("**Tests**: run them all", "", True),
        ("When done, run them", "", True),
        ("Please run the tests", "", True),
        ("No emojis in code", "", True),
        ("No one knows this", "", False),
        ("No longer used here", "", False),
        ("- a plain text", "", False),
        ("- a plain text", "Best practices", True),
        ("a plain text", "Best practices", False),
        ("- один два три", "", True),
        ("один два три", "", False),
        ("- mixed один два", "", True),
        ("- mixed words один", "", False),
        ("1. [ ] Run it all", "", True),
        ("Don’t push to it", "", True),
        ("必须 push it", "", True),
        ("- ok", "Guidelines", True),
        ("x: add it", "", False),
        ("Note, that it is", "", True),
        ("- ab аб", "", False),
    ],
)
def test_a_rule_is_known_by_its_words_or_as_a_bullet_of_a_section_of_rules(
    text: str, heading: str, is_one: bool
) -> None:
    assert is_rule(Rule("A.md", 1, text, heading)) is is_one


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param(
            "Run this:\n```\nmake a  # all\nmake b\n```\nText. More.\n```\nmake c\n```\n",
            [(1, "Run this: `make a` `make b`", ""), (6, "Text. More.", "")],
            id="commands_below_a_line_with_a_colon",
        ),
        pytest.param("**Run this:**\n```\nmake a\n```\n", [(1, "**Run this:** `make a`", "")], id="bold_colon"),
        pytest.param("```\nmake a\n```\nRun it.\n", [(4, "Run it.", "")], id="code_first"),
        pytest.param(
            "Run:\n```\nmake a\n```\n```\nmake b\n```\n", [(1, "Run: `make a` `make b`", "")], id="two_blocks"
        ),
        pytest.param(
            "Tree:\n```\nsrc/\n├── a.ts\n```\nText.\n```\nmake x\n```",
            [(1, "Tree:", ""), (6, "Text.", "")],
            id="rows_of_a_tree_are_left_out",
        ),
        pytest.param("x" * 700 + ". Y\n", [(1, "x" * 600, "")], id="long"),
        pytest.param("# Top\nDo it: now\n", [(1, "# Top", "Top"), (2, "Do it: now", "Top")], id="heading"),
        pytest.param(
            "y" * 590 + ":\n```\nmake everything\n```\n", [(1, "y" * 590 + ": `make ev", "")], id="long_with_command"
        ),
    ],
)
def test_lines_that_may_be_rules_have_the_commands_below_them(text: str, found: list[tuple[int, str, str]]) -> None:
    assert [(rule.line, rule.text, rule.heading) for rule in lines_of("A.md", text)] == found
