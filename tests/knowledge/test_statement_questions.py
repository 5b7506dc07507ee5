"""What a model is shown of a tree for open statements, and what its answers make of them."""

from __future__ import annotations

import pytest

from knowbound.core.statement import CheckedStatement, Truth
from knowbound.knowledge.asking import StatementAnswer, StatementAnswers, decided_by_model, is_open, terms_of
from knowbound.knowledge.checking import Checker
from knowbound.knowledge.statements import statements_of
from tests.knowledge.scripts import Script
from tests.knowledge.trees import Tree

SHOP = {
    "package.json": '{"scripts": {\n"check": "vitest"}}\n// no\n\n',
    "web/package.json": '{"name": "web"}\n',
    "src/cart.ts": "import x\n\nexport function sumCart() {\n  return 1;\n\n  // end\n}\nlast\nsumCart()\n",
    "src/cart.test.ts": "sumCart()\n",
    "src/tax/rate.ts": "sumCart()\n  sumCart() again\nRATE = 5\n",
    "docs/a.md": "sumCart is described\n",
    "yarn.lock": "sumCart\n",
    "CLAUDE.md": "sumCart and OnlyHere\n",
}


def checked(text: str, files: dict[str, str] | None = None, file: str = "CLAUDE.md") -> list[CheckedStatement]:
    return Checker(Tree(files or SHOP)).check_all(statements_of(file, text))


def decided(text: str, *answers: StatementAnswers | None, files: dict[str, str] | None = None) -> CheckedStatement:
    """The first statement as a model decides it that answers so."""
    tree = Tree(files or SHOP)
    return decided_by_model(Checker(tree).check_all(statements_of("CLAUDE.md", text)), tree, Script(*answers))[0]


def said(truth: Truth, quote: str = "", repair: str = "", terms: list[str] | None = None) -> StatementAnswers:
    return StatementAnswers([StatementAnswer(1, truth, quote, repair)], terms or [])


def shown(text: str, files: dict[str, str] | None = None, file: str = "CLAUDE.md") -> list[str]:
    """The passages of the first question."""
    script, tree = Script(None), Tree(files or SHOP)
    decided_by_model(Checker(tree).check_all(statements_of(file, text)), tree, script)
    passages: str = script.materials[0]["passages"]
    return passages.split("\n")


def test_a_model_is_shown_lines_with_each_name_folders_and_settings() -> None:
    cases: list[tuple[str, list[str]]] = [
        (
            "`sumCart` sums it all",
            [
                "src/cart.ts:3: export function sumCart() {",
                "src/cart.ts:4: return 1;",
                "src/cart.ts:6: // end",
                "src/cart.ts:7: }",
                "src/cart.ts:9: sumCart()",
                "src/tax/rate.ts:1: sumCart()",
                "(folder . has: CLAUDE.md, docs, package.json, src, web, yarn.lock)",
                'package.json:1: {"scripts": {',
                'package.json:2: "check": "vitest"}}',
            ],
        ),
        (
            "The RATE is used",
            [
                "src/tax/rate.ts:3: RATE = 5",
                "(folder . has: CLAUDE.md, docs, package.json, src, web, yarn.lock)",
                'package.json:1: {"scripts": {',
                'package.json:2: "check": "vitest"}}',
            ],
        ),
        (
            "Use Basket and Rate here",
            [
                "(nothing else in the tree has the word Basket)",
                "(nothing else in the tree has the word Rate)",
                "(folder . has: CLAUDE.md, docs, package.json, src, web, yarn.lock)",
                'package.json:1: {"scripts": {',
                'package.json:2: "check": "vitest"}}',
            ],
        ),
        (
            "The OnlyHere word is here",
            [
                "(nothing else in the tree has the word OnlyHere)",
                "(folder . has: CLAUDE.md, docs, package.json, src, web, yarn.lock)",
                'package.json:1: {"scripts": {',
                'package.json:2: "check": "vitest"}}',
            ],
        ),
        (
            "See `cart.ts` and rate.ts for it",
            [
                "(there is the file src/cart.ts)",
                "(folder . has: CLAUDE.md, docs, package.json, src, web, yarn.lock)",
                'package.json:1: {"scripts": {',
                'package.json:2: "check": "vitest"}}',
            ],
        ),
        (
            "In `src/tax/` and `src` it is",
            [
                "(nothing else in the tree has the word tax)",
                "(folder . has: CLAUDE.md, docs, package.json, src, web, yarn.lock)",
                "(folder src/tax has: rate.ts)",
                "(folder src has: cart.test.ts, cart.ts, tax)",
                'package.json:1: {"scripts": {',
                'package.json:2: "check": "vitest"}}',
            ],
        ),
        (
            "Uses `a.b.sumCart` and 12 or 123 of `x`",
            [
                "src/cart.ts:3: export function sumCart() {",
                "src/cart.ts:4: return 1;",
                "src/cart.ts:6: // end",
                "src/cart.ts:7: }",
                "src/cart.ts:9: sumCart()",
                "src/tax/rate.ts:1: sumCart()",
                "(nothing else in the tree has the word 123)",
                "(folder . has: CLAUDE.md, docs, package.json, src, web, yarn.lock)",
                'package.json:1: {"scripts": {',
                'package.json:2: "check": "vitest"}}',
            ],
        ),
    ]
    for text, passages in cases:
        assert shown(text) == passages, text


def test_the_settings_beside_the_file_come_before_those_of_the_root() -> None:
    assert shown("Words of nothing Here", file="web/CLAUDE.md") == [
        "(nothing else in the tree has the word Here)",
        "(folder . has: CLAUDE.md, docs, package.json, src, web, yarn.lock)",
        'web/package.json:1: {"name": "web"}',
        'package.json:1: {"scripts": {',
        'package.json:2: "check": "vitest"}}',
    ]


@pytest.mark.parametrize(
    ("count", "passages"),
    [
        (
            38,
            [
                "package.json:1: common",
                "f00.ts:1: common",
                "f01.ts:1: common",
                (
                    "(folder . has: CLAUDE.md, f00.ts, f01.ts, f02.ts, f03.ts, f04.ts, f05.ts, f06.ts, "
                    "f07.ts, f08.ts, f09.ts, f10.ts, f11.ts, f12.ts, f13.ts, f14.ts, f15.ts, f16.ts, "
                    "f17.ts, f18.ts, f19.ts, f20.ts, f21.ts, f22.ts, f23.ts, f24.ts, f25.ts, f26.ts, "
                    "f27.ts, f28.ts, f29.ts, f30.ts, f31.ts, f32.ts, f33.ts, f34.ts, f35.ts, f36.ts, "
                    "f37.ts, package.json)"
                ),
                "package.json:1: common",
            ],
        ),
        (
            39,
            [
                "package.json:1: common",
                (
                    "(folder . has: CLAUDE.md, f00.ts, f01.ts, f02.ts, f03.ts, f04.ts, f05.ts, f06.ts, "
                    "f07.ts, f08.ts, f09.ts, f10.ts, f11.ts, f12.ts, f13.ts, f14.ts, f15.ts, f16.ts, "
                    "f17.ts, f18.ts, f19.ts, f20.ts, f21.ts, f22.ts, f23.ts, f24.ts, f25.ts, f26.ts, "
                    "f27.ts, f28.ts, f29.ts, f30.ts, f31.ts, f32.ts, f33.ts, f34.ts, f35.ts, f36.ts, "
                    "f37.ts, f38.ts and 1 more)"
                ),
                "package.json:1: common",
            ],
        ),
    ],
)
def test_of_a_word_in_forty_places_only_settings_are_shown(count: int, passages: list[str]) -> None:
    files = {f"f{number:02}.ts": "common\n" for number in range(count)} | {"package.json": "common\n", "CLAUDE.md": ""}
    assert shown("It is `common` to all", files)[:5] == passages


@pytest.mark.parametrize(("count", "ending"), [(40, "f39"), (41, "f39 and 1 more")])
def test_at_most_forty_entries_of_a_folder_are_shown(count: int, ending: str) -> None:
    files = {f"src/f{number:02}": "" for number in range(count)}
    folder = next(line for line in shown("Look in `src` for Everything", files) if line.startswith("(folder src"))
    assert folder.endswith(f", {ending})")


@pytest.mark.parametrize(("length", "shown_lines"), [(60, 60), (61, 60)])
def test_at_most_sixty_lines_of_settings_are_shown(length: int, shown_lines: int) -> None:
    files = {"package.json": "".join(f"{number}\n" for number in range(length))}
    lines = shown("Look at Everything there", files)
    assert sum(line.startswith("package.json:") for line in lines) == shown_lines


def test_passages_end_at_their_budget() -> None:
    files = {
        "package.json": "\n".join("word " * 30 for _ in range(60)),
        "Makefile": "\n".join("word " * 32 for _ in range(60)),
    }
    lines = shown("Look at Everything there", files)
    assert len(lines) == 62
    assert max(map(len, lines)) <= len("package.json:60: ") + 160


def test_names_and_numbers_are_the_terms_of_a_statement() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("`a.b.c` and `x.ts` of `The`", ["a.b.c", "x.ts"]),
        ("Use Basket with aBasket and a_b and 12 or 1", ["Basket", "aBasket", "a_b"]),
        ("Basket first, and Basket again", ["Basket"]),
        ("A `npm run check` in `Makefile`", ["check", "Makefile"]),
        (
            "`one two three four five six seven eight nine`",
            ["one", "two", "three", "four", "five", "six", "seven", "eight"],
        ),
        ("`@types/node` and `$x_y`", ["types", "node", "$x_y"]),
        ("`a` `bc` `def`", ["def"]),
        ("No names at all", []),
    ]
    for text, terms in cases:
        [statement] = statements_of("A.md", text)
        assert terms_of(statement) == terms


def test_every_name_of_a_command_is_a_term() -> None:
    [statement] = statements_of("A.md", "```\nmake all --fast Basket\n```")
    assert terms_of(statement) == ["all", "fast", "Basket"]


def test_a_model_is_asked_about_sentences_with_names_that_rules_leave_open() -> None:
    cases: list[tuple[str, bool]] = [
        ("Use Basket here", True),
        ("# Use Basket", False),
        ("Basket here", False),
        ("use it here now", False),
        ("`src/none.ts` is the place", False),
        ("```\nmake Basket\n```", True),
    ]
    for text, is_asked in cases:
        assert is_open(checked(text)[0]) is is_asked, text


def test_an_answer_counts_with_a_quotation_and_a_repair_with_what_rules_find() -> None:
    cases: list[tuple[str, StatementAnswers | None, tuple[str | None, ...]]] = [
        (
            "The RATE is used",
            said(Truth.CONTRADICTED, "RATE = 5"),
            (
                "behaviour",
                "contradicted",
                "m",
                "The RATE is used",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                None,
            ),
        ),
        (
            "The RATE is used",
            said(Truth.CONFIRMED, "RATE = 5"),
            ("behaviour", "confirmed", "m", "The RATE is used", "src/tax/rate.ts:3", "", None),
        ),
        (
            "The RATE is used",
            said(Truth.NOT_CHECKABLE, "RATE = 5"),
            ("other", "not_checkable", "rules", "", "", "", None),
        ),
        (
            "The RATE is used",
            said(Truth.CONTRADICTED, "RATE = 6"),
            ("other", "not_checkable", "rules", "", "", "", None),
        ),
        (
            "The RATE is used",
            said(Truth.CONTRADICTED, "(folder . has: CLAUDE.md, docs"),
            (
                "behaviour",
                "contradicted",
                "m",
                "The RATE is used",
                "",
                "the tree says otherwise: (folder . has: CLAUDE.md, docs",
                None,
            ),
        ),
        (
            "The RATE is used",
            said(Truth.CONFIRMED, "RATE = 5 and (folder . has"),
            ("other", "not_checkable", "rules", "", "", "", None),
        ),
        ("The RATE is used", None, ("other", "not_checkable", "rules", "", "", "", None)),
        (
            "The RATE is used",
            said(Truth.CONTRADICTED, "RATE = 5", "The RATE is 5 here"),
            (
                "behaviour",
                "contradicted",
                "m",
                "The RATE is used",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                "The RATE is 5 here",
            ),
        ),
        (
            "The RATE is used",
            said(Truth.CONTRADICTED, "RATE = 5", "The RATE is 6 here"),
            (
                "behaviour",
                "contradicted",
                "m",
                "The RATE is used",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                None,
            ),
        ),
        (
            "The RATE is used",
            said(Truth.CONTRADICTED, "RATE = 5", "The  RATE\nis used"),
            (
                "behaviour",
                "contradicted",
                "m",
                "The RATE is used",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                None,
            ),
        ),
        (
            "The RATE is used",
            said(Truth.CONTRADICTED, "RATE = 5", "The `src/none.ts` is used"),
            (
                "behaviour",
                "contradicted",
                "m",
                "The RATE is used",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                None,
            ),
        ),
        (
            "The RATE is used",
            said(Truth.CONTRADICTED, "RATE = 5", "The `src/tax/rate.ts` is used"),
            (
                "behaviour",
                "contradicted",
                "m",
                "The RATE is used",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                "The `src/tax/rate.ts` is used",
            ),
        ),
        (
            "The RATE is used",
            said(Truth.CONTRADICTED, "RATE = 5", "The `odd words` are used"),
            (
                "behaviour",
                "contradicted",
                "m",
                "The RATE is used",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                None,
            ),
        ),
        (
            "The RATE is used",
            said(Truth.CONTRADICTED, "RATE = 5", "The `RATE = 5` are used"),
            (
                "behaviour",
                "contradicted",
                "m",
                "The RATE is used",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                "The `RATE = 5` are used",
            ),
        ),
        (
            "The RATE\nis used",
            said(Truth.CONTRADICTED, "RATE = 5", "The RATE is 5 here"),
            (
                "behaviour",
                "contradicted",
                "m",
                "The RATE is used",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                None,
            ),
        ),
        (
            "`src/cart.ts` has RATE in it",
            said(Truth.CONFIRMED, "RATE = 5"),
            ("path", "confirmed", "rules", "src/cart.ts", "src/cart.ts:0", "", None),
        ),
        (
            "`src/cart.ts` has RATE in it",
            said(Truth.CONTRADICTED, "RATE = 5"),
            (
                "path",
                "contradicted",
                "m",
                "`src/cart.ts` has RATE in it",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                None,
            ),
        ),
        (
            "`src/cart.ts` has RATE in it",
            said(Truth.CONTRADICTED, "RATE = 5", "`src/cart.ts` has sumCart 5"),
            (
                "path",
                "contradicted",
                "m",
                "`src/cart.ts` has RATE in it",
                "src/tax/rate.ts:3",
                "src/tax/rate.ts:3 says otherwise: RATE = 5",
                "`src/cart.ts` has sumCart 5",
            ),
        ),
        (
            "`src/none.ts` is the place",
            said(Truth.CONTRADICTED, "RATE = 5", "`src/cart.ts` is the place"),
            (
                "path",
                "contradicted",
                "rules",
                "src/none.ts",
                "",
                "src/none.ts is not there",
                "`src/cart.ts` is the place",
            ),
        ),
        (
            "`old/tax/rate.ts` is the place",
            said(Truth.CONTRADICTED, "", "The place: `src/tax/rate.ts`"),
            (
                "path",
                "contradicted",
                "rules",
                "old/tax/rate.ts",
                "",
                "old/tax/rate.ts is not there; src/tax/rate.ts is",
                "The place: `src/tax/rate.ts`",
            ),
        ),
        (
            "`old/tax/rate.ts` is the place",
            said(Truth.CONTRADICTED, "", "The place: `src/cart.ts`"),
            (
                "path",
                "contradicted",
                "rules",
                "old/tax/rate.ts",
                "",
                "old/tax/rate.ts is not there; src/tax/rate.ts is",
                "`src/tax/rate.ts` is the place",
            ),
        ),
    ]
    for text, answer, found in cases:
        now = decided(text, answer)
        place = f"{now.evidence.path}:{now.evidence.line}" if now.evidence else ""
        assert (now.kind, now.truth, now.by, now.named, place, now.why, now.repair) == found


@pytest.mark.parametrize("number", [0, 2])
def test_an_answer_about_another_number_counts_for_nothing(number: int) -> None:
    answer = StatementAnswers([StatementAnswer(number, Truth.CONTRADICTED, "RATE = 5")])
    assert decided("The RATE is used", answer).truth is Truth.NOT_CHECKABLE


def test_ten_statements_of_one_section_are_one_question() -> None:
    lines = [f"- Rate{number} is used" for number in range(11)]
    script, tree = Script(None, None, None, None), Tree({})
    text = "\n".join([*lines, "# Other", "- Rate is used"])
    statements = [
        *statements_of("A.md", text),
        *statements_of("item:1", "Use Rate one"),
        *statements_of("item:2", "# X\nUse Rate two"),
    ]
    decided_by_model(Checker(tree).check_all(statements), tree, script)
    rows = [material["statements"].count("\n") + 1 for material in script.materials]
    assert rows == [10, 1, 1, 2]
    assert [material["file"] for material in script.materials] == ["A.md", "A.md", "A.md", "entries of a memory store"]
    assert script.materials[2]["statements"] == '{"number":1,"section":"Other","statement":"- Rate is used"}'


def test_what_rules_contradict_is_asked_about_with_the_reason_if_words_may_repair_it() -> None:
    script, tree = Script(None), Tree(SHOP)
    text = "`src/none.ts` is it\n```\nnpm run none\n```\n"
    decided_by_model(Checker(tree).check_all(statements_of("A.md", text)), tree, script)
    [material] = script.materials
    assert material["statements"] == (
        '{"number":1,"section":"","statement":"`src/none.ts` is it","wrong":"src/none.ts is not there"}'
    )


def test_a_second_question_has_the_terms_that_the_first_answer_names() -> None:
    terms = ["`sumCart`", "x", "ab", "abc", "d\ne", "l" * 161, "m" * 160, "n01", "n02", "n03", "n04", "n05"]
    script, tree = Script(said(Truth.NOT_CHECKABLE, terms=terms), said(Truth.CONTRADICTED, "return 1;")), Tree(SHOP)
    [found] = decided_by_model(
        Checker(tree).check_all(statements_of("CLAUDE.md", "Totals of Everything here")), tree, script
    )
    assert (found.truth, len(script.materials)) == (Truth.CONTRADICTED, 2)
    second = script.materials[1]["passages"]
    assert "src/cart.ts:3: export function sumCart() {" in second
    named = [line for line in second.split("\n") if line.startswith("(nothing else")]
    assert [line.split()[-1].rstrip(")") for line in named] == ["abc", "m" * 160, "n01", "n02", "n03", "Everything"]


def test_an_answer_needs_every_number() -> None:
    script, tree = Script(StatementAnswers([StatementAnswer(2, Truth.NOT_CHECKABLE)])), Tree({})
    decided_by_model(
        Checker(tree).check_all(statements_of("A.md", "- Rate is one\n- Rate is two\n- Rate is three")), tree, script
    )
    assert script.problems == ["no answer for the statements [1, 3]"]
    script = Script(said(Truth.NOT_CHECKABLE))
    decided_by_model(Checker(tree).check_all(statements_of("A.md", "- Rate is one")), tree, script)
    assert script.problems == [""]


def test_a_row_that_is_to_be_taken_out_keeps_that_repair() -> None:
    tree = Tree({"a.md": ""}, deleted={"src/none.ts": "d"})
    [wrong] = Checker(tree).check_all(statements_of("A.md", "| `src/none.ts` | Sums |"))
    assert wrong.repair == ""
    assert decided_by_model([wrong], tree, Script()) == [wrong]
