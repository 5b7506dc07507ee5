"""Statements of a Markdown file, and which of them may be rules."""

from __future__ import annotations

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


def test_a_file_is_cut_into_statements_with_lines_paths_and_headings() -> None:
    cases: list[tuple[str, str, list[str]]] = [
        (
            "sentences_of_a_paragraph_with_the_lines_that_they_are_in",
            "One here. Two\nthree. Four!\n五。六\nend",
            ["1: One here.", "1-2: Two three.", "2: Four!", "3: 五。", "3-4: 六 end"],
        ),
        ("an_empty_text", "", []),
        ("a_text_of_blanks", " \n\n\t\n", []),
        (
            "front_matter_and_comments_keep_the_lines",
            "---\nname: x\n---\n<!-- a\nb -->\nText.\n<!-- open\nmore",
            ["6: Text."],
        ),
        ("crlf_and_a_byte_order_mark", "\ufeffOne.\r\nTwo.\r\n", ["1: One.", "2: Two."]),
        (
            "headings_with_and_without_closing_signs",
            "# Top #\nA.\n## Sub\nB.\n####### No heading\n",
            ["1: # Top # [Top]", "2: A. [Top]", "3: ## Sub [Sub]", "4-5: B. ####### No heading [Sub]"],
        ),
        (
            "bullets_and_numbers",
            "- one\n- two\n  more\n* three\n+ four\n1. five\n10) six\n1234. seven\n-none\n",
            ["1: - one", "2-3: - two more", "4: * three", "5: + four", "6: 1. five", "7-9: 10) six 1234. seven -none"],
        ),
        (
            "a_label_begins_a_statement",
            "**Tests**: run them\nLint: run it\nand more\nBuild (,\nNote: x\n",
            ["1: **Tests**: run them", "2-5: Lint: run it and more Build (, Note: x"],
        ),
        (
            "a_label_after_an_open_bracket_goes_on",
            "Build all (\nNote: x)\nGo on,\nNote: y\nGo on -\nNote: z\n",
            ["1-6: Build all ( Note: x) Go on, Note: y Go on - Note: z"],
        ),
        ("rows_of_a_table", "| a | b |\n| --- | --- |\n| c | d |\n", ["1: | a | b |", "3: | c | d |"]),
        (
            "a_tree_drawn_in_a_table",
            "| File | Use |\n| `src/` | all |\n| `├── cart/` | sums |\n| `│   └── cart.ts` | sum "
            "|\n| `└── tax.ts` | tax |\n| `other.ts` | x |\n| `├── lost.ts` | x |\n",
            [
                "1: | File | Use |",
                "2: | `src/` | all |",
                "3: | `├── cart/` | sums | [path src/cart/]",
                "4: | `│   └── cart.ts` | sum | [path src/cart/cart.ts]",
                "5: | `└── tax.ts` | tax | [path src/tax.ts]",
                "6: | `other.ts` | x |",
                "7: | `├── lost.ts` | x |",
            ],
        ),
        (
            "code_of_shells_and_of_others",
            "```bash\n# comment line\n#!/bin/sh\nmake all\n\n//note\n```\n```ts\nsum()\n```\n"
            "```\nplain\n```\n~~~console\n$ x\n~~~\n",
            ["2: comment line", "4: make all [code]", "6: note", "12: plain [code]", "15: $ x [code]"],
        ),
        ("an_unclosed_block", "```\nmake all\nmake b", ["2: make all [code]", "3: make b [code]"]),
        (
            "a_fence_within_a_longer_fence",
            "````\n```\nx\n```\n````\nAfter.",
            ["2: ``` [code]", "3: x [code]", "4: ``` [code]", "6: After."],
        ),
        (
            "a_tree_drawn_with_lines",
            "```\nshop/\n├── src/\n│   ├── cart.ts  # sums\n│   └── tax/\n│       └── tax.ts\n"
            "├── docs/\n└── a.md\n│\nother/\n└── b.md\n```\n",
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
        ),
        (
            "a_tree_drawn_by_indentation",
            "```\nshop/\n  src/\n    cart.ts  sums\n  a.md - text\nb.md\n```\n",
            [
                "2: shop/ [path shop/]",
                "3: src/ [path shop/src/]",
                "4: cart.ts  sums [path shop/src/cart.ts]",
                "5: a.md - text [path shop/a.md]",
                "6: b.md [path b.md]",
            ],
        ),
        ("files_without_a_folder_are_no_tree", "```\na.md\nb.md\n```\n", ["2: a.md [code]", "3: b.md [code]"]),
        ("a_folder_without_a_row_below_is_no_tree", "```\nsrc/\nb.md\n```\n", ["2: src/ [code]", "3: b.md [code]"]),
        (
            "a_line_that_is_no_file_makes_it_no_tree",
            "```\nsrc/\n  b.md\nmake all\n```\n",
            ["2: src/ [code]", "3: b.md [code]", "4: make all [code]"],
        ),
        (
            "bullets_below_a_folder",
            "- `src/`: all\n  - `cart.ts` sums\n    - deep\n  - `tax/` taxes\n    - `tax.ts`\n- "
            "`docs/` texts\n- `a/b/` whole\n  - x\n",
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
        ),
        (
            "a_nested_whole_path",
            "- `src/`\n  - `lib/core/` whole\n    - `x.ts`\n",
            ["1: - `src/`", "2: - `lib/core/` whole [under src/]", "3: - `x.ts` [under lib/core/]"],
        ),
        (
            "bullets_below_a_sentence_that_names_a_folder",
            "In `src/cart/` there are:\n\n- `a.ts`\n- `b.ts`\n\nText.\n\n- `c.ts`\n",
            [
                "1: In `src/cart/` there are:",
                "3: - `a.ts` [under src/cart/]",
                "4: - `b.ts` [under src/cart/]",
                "6: Text.",
                "8: - `c.ts`",
            ],
        ),
        (
            "bullets_below_a_heading_that_names_a_folder",
            "## `src/cart/`\n\n- `a.ts`\n\nText.\n\n- `b.ts`\n## Other\n- `c.ts`\n",
            [
                "1: ## `src/cart/` [`src/cart/`]",
                "3: - `a.ts` [under src/cart/] [`src/cart/`]",
                "5: Text. [`src/cart/`]",
                "7: - `b.ts` [under src/cart/] [`src/cart/`]",
                "8: ## Other [Other]",
                "9: - `c.ts` [Other]",
            ],
        ),
        ("the_last_paragraph_is_a_bullet", "In `src/`:\n- `a.ts`", ["1: In `src/`:", "2: - `a.ts` [under src/]"]),
        (
            "the_lead_in_is_too_far_away",
            "In `src/cart/` there are a great many of the files that we need:\n- `a.ts`",
            ["1: In `src/cart/` there are a great many of the files that we need:", "2: - `a.ts`"],
        ),
    ]
    for case, text, found in cases:
        assert [_shown(statement) for statement in statements_of("A.md", text)] == found, case


def test_a_rule_is_known_by_its_words_or_as_a_bullet_of_a_section_of_rules() -> None:
    cases: list[tuple[str, str, bool]] = [
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
    ]
    for text, heading, is_one in cases:
        assert is_rule(Rule("A.md", 1, text, heading)) is is_one, text


def test_lines_that_may_be_rules_have_the_commands_below_them() -> None:
    cases: list[tuple[str, str, list[tuple[int, str, str]]]] = [
        (
            "commands_below_a_line_with_a_colon",
            "Run this:\n```\nmake a  # all\nmake b\n```\nText. More.\n```\nmake c\n```\n",
            [(1, "Run this: `make a` `make b`", ""), (6, "Text. More.", "")],
        ),
        ("bold_colon", "**Run this:**\n```\nmake a\n```\n", [(1, "**Run this:** `make a`", "")]),
        ("code_first", "```\nmake a\n```\nRun it.\n", [(4, "Run it.", "")]),
        ("two_blocks", "Run:\n```\nmake a\n```\n```\nmake b\n```\n", [(1, "Run: `make a` `make b`", "")]),
        (
            "rows_of_a_tree_are_left_out",
            "Tree:\n```\nsrc/\n├── a.ts\n```\nText.\n```\nmake x\n```",
            [(1, "Tree:", ""), (6, "Text.", "")],
        ),
        ("long", "x" * 700 + ". Y\n", [(1, "x" * 600, "")]),
        ("heading", "# Top\nDo it: now\n", [(1, "# Top", "Top"), (2, "Do it: now", "Top")]),
        ("long_with_command", "y" * 590 + ":\n```\nmake everything\n```\n", [(1, "y" * 590 + ": `make ev", "")]),
    ]
    for case, text, found in cases:
        assert [(rule.line, rule.text, rule.heading) for rule in lines_of("A.md", text)] == found, case
