"""A model decides statements and words repairs; rules verify what it quotes and what its repairs name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from knowbound.core.statement import CheckedStatement, Truth
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.names import JudgeOptions
from knowbound.knowledge.lint import lint


class Model:
    """A model that gives the answers of a script, one for each question."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self._answers = list(answers)
        self.asked: list[str] = []

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        self.asked.append(question.text)
        return Completion(json.dumps(self._answers.pop(0)), 0, 0, 0.0)


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    scripts = '{"scripts": {\n"check": "vitest run",\n"dev": "vite"},\n'
    files = {
        "package.json": scripts + '"devDependencies": {\n"vitest": "^3.0.0"}}\n',
        "src/cart.ts": "export const RETRY_LIMIT = 5;\nexport function sumCart() {}\n",
        "src/store/cart_totals.ts": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def decided(root: Path, said: str, model: Model) -> CheckedStatement:
    (root / "CLAUDE.md").write_text(said + "\n", "utf-8")
    [one] = lint(root, [root / "CLAUDE.md"], asker=Asker("m", model, JudgeOptions(retries=0)))
    return one


def answer(truth: str, quote: str = "", repair: str = "", terms: list[str] | None = None) -> dict[str, Any]:
    return {"statements": [{"number": 1, "truth": truth, "quote": quote, "repair": repair}], "terms": terms or []}


@pytest.mark.parametrize(
    ("repair", "counts"),
    [
        ("Tests use Vitest, run `npm run check`.", True),
        ("Tests use Vitest 3, see `src/cart.ts`.", True),
        ("Tests use Vitest, run `npm run verify`.", False),  # no such script
        ("Tests use Vitest, see `src/basket.ts`.", False),  # no such file
        ("Tests use Vitest 2 and `sumCart`.", False),  # the manifest states 3
        ("Tests use Vitest, see `sumBasketTwice()`.", False),  # no such name
        ("Tests use Vitest on 17 machines.", False),  # a number that no passage has
        ("Tests use Vitest with `--fast-mode on`.", False),  # words that no passage has
    ],
)
def test_a_repair_of_a_model_counts_only_if_rules_find_what_it_names(shop: Path, repair: str, counts: bool) -> None:
    one = decided(
        shop, "Tests use Jest, started by `vitest`.", Model(answer("contradicted", '"vitest": "^3.0.0"', repair))
    )
    assert (one.truth, one.by) == (Truth.CONTRADICTED, "m")
    assert one.repair == (repair if counts else None)
    assert one.swap == (("Tests use Jest, started by `vitest`.", repair) if counts else None)


@pytest.mark.parametrize(
    ("repair", "wanted"),
    [
        ("Totals: `src/store/cart_totals.ts` has them.", "Totals: `src/store/cart_totals.ts` has them."),
        ("Totals are in `src/cart.ts`.", "Totals are in `src/store/cart_totals.ts`."),  # not what rules found
        ("Totals: `src/store/cart_totals.ts` and `src/none.ts`.", "Totals are in `src/store/cart_totals.ts`."),
        ("", "Totals are in `src/store/cart_totals.ts`."),
    ],
)
def test_a_model_may_word_a_repair_of_rules_and_else_theirs_stays(shop: Path, repair: str, wanted: str) -> None:
    model = Model(answer("contradicted", "", repair))
    one = decided(shop, "Totals are in `src/store/old/cart_totals.ts`.", model)
    assert (one.truth, one.by, one.repair) == (Truth.CONTRADICTED, "rules", wanted)
    assert '"wrong"' in model.asked[0]


def test_terms_that_a_model_names_are_searched_and_it_is_asked_once_more(shop: Path) -> None:
    first = answer("not_checkable", terms=["RETRY_LIMIT", "", "x", "a", "b", "c", "d", "RETRY_LIMIT"])
    last = answer("contradicted", "export const RETRY_LIMIT = 5;", terms=["sumCart"])
    model = Model(first, last)
    one = decided(shop, "A failed Checkout is tried three times.", model)
    assert len(model.asked) == 2
    assert "RETRY_LIMIT" not in model.asked[0]
    assert "src/cart.ts:1: export const RETRY_LIMIT = 5;" in model.asked[1]
    assert (one.truth, one.evidence and one.evidence.path, one.by) == (Truth.CONTRADICTED, "src/cart.ts", "m")


def test_a_model_is_told_which_names_nothing_else_in_the_tree_has(shop: Path) -> None:
    model = Model(answer("not_checkable"))
    decided(shop, "A `Basket` is tried `RETRY_LIMIT` times.", model)
    absent = [line for line in model.asked[0].splitlines() if "nothing else in the tree" in line]
    assert absent == ["(nothing else in the tree has the word Basket)"]


@pytest.mark.parametrize(
    "first",
    [
        answer("not_checkable"),
        answer("confirmed", "export const RETRY_LIMIT = 5;"),  # a quotation that was not shown, and no terms
    ],
)
def test_a_model_that_names_no_terms_is_asked_once(shop: Path, first: dict[str, Any]) -> None:
    model = Model(first)
    assert decided(shop, "A failed Checkout is tried three times.", model).truth is Truth.NOT_CHECKABLE
    assert len(model.asked) == 1


@pytest.mark.parametrize(("quote", "truth"), [("LIMIT = 5", Truth.CONTRADICTED), ("LIMIT = 7", Truth.CONFIRMED)])
def test_a_model_contradicts_what_names_confirm_only_with_words_of_the_tree(
    shop: Path, quote: str, truth: Truth
) -> None:
    model = Model(answer("contradicted", quote))
    assert decided(shop, "`RETRY_LIMIT` in `src/cart.ts` is 4.", model).truth is truth
