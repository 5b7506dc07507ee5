"""Versions that a text says the project uses."""

from __future__ import annotations

from knowbound.core.statement import CheckedStatement, StatementKind, Truth
from knowbound.knowledge.checking import Checker, cause_of, with_same
from knowbound.knowledge.named import Named
from knowbound.knowledge.statements import statements_of
from knowbound.knowledge.versions import versions_in
from tests.knowledge.trees import Tree


def test_a_version_has_its_tool_its_words_and_whether_it_is_the_least() -> None:
    cases: list[tuple[str, list[tuple[str, str, bool, str, bool]]]] = [
        ("Uses Python 3.11", [("python", "3.11", False, "Python 3.11", False)]),
        ("Python 3.11+", [("python", "3.11", True, "Python 3.11+", False)]),
        ("Python 3.11.x", [("python", "3.11", False, "Python 3.11.x", False)]),
        ("Python ≥ 3.11", [("python", "3.11", True, "Python ≥ 3.11", False)]),
        ("Python >= 3.11 or newer", [("python", "3.11", True, "Python >= 3.11 or newer", False)]),
        ("Python 3.11 or later", [("python", "3.11", True, "Python 3.11 or later", False)]),
        ("Python v3", [("python", "3", False, "Python v3", False)]),
        ("React 18", []),
        ("PHP 8.2", [("php", "8.2", False, "PHP 8.2", False)]),
        ("pnpm 9", [("pnpm", "9", False, "pnpm 9", False)]),
        ("JDK 21 and Node.js 20", [("java", "21", False, "JDK 21", False), ("node", "20", False, "Node.js 20", False)]),
        ("Node 20, Node 22", []),
        ("Node 18, 20, or 22", [("node", "18", False, "Node 18, 20, or 22", True)]),
        ("Node 22 and 20", [("node", "20", False, "Node 22 and 20", True)]),
        ("Node 18/20", [("node", "18", False, "Node 18/20", True)]),
        ("React 17, 18", []),
        ("Go 1.21, 1.22 is used", [("go", "1.21", False, "Go 1.21, 1.22", True)]),
        ("Ruby 3.1 and 3.2", []),
        ("Drops Node 18, 20, or 22", []),
        ("from Python 3.9", []),
        ("Supports Python 3.9", []),
        ("Upgrade to Python 3.9", []),
        ("Python 3.9 compatible", []),
        ("before Python 3.9 and after", []),
        ("Python: 3.9", [("python", "3.9", False, "Python: 3.9", False)]),
        ("**Python** 3.9", [("python", "3.9", False, "Python** 3.9", False)]),
        ("`python` 3.9", [("python", "3.9", False, "python` 3.9", False)]),
        ("Python 3.9-3.11", []),
        ("Python 3.9%", []),
        ("Python 3.9/x", []),
        (
            "Node 20, 22 and PHP 8.1",
            [("php", "8.1", False, "PHP 8.1", False), ("node", "20", False, "Node 20, 22", True)],
        ),
        ("Python 10.2, 9.1 or 9.10", [("python", "9.1", False, "Python 10.2, 9.1 or 9.10", True)]),
    ]
    for text, found in cases:
        assert [tuple(version) for version in versions_in(text)] == found, text


def wrong(text: str, tree: Tree) -> list[CheckedStatement]:
    return Checker(tree).check_all(statements_of("A.md", text))


def test_statements_that_are_wrong_for_one_reason_name_each_other() -> None:
    moves = {"src/a.ts": "lib/src/a.ts", "src/b.ts": "lib/src/b.ts", "src/c.ts": "src/d.ts"}
    tree = Tree(dict.fromkeys(moves.values(), ""), deleted=dict.fromkeys(moves, "d1"), renames=moves)
    text = "- `src/a.ts` is one\n- `src/b.ts` is two\n- `src/c.ts` is 3\n- `src/c.ts` is 4\n- `lib/src/a.ts` is there"
    found = wrong(text, tree)
    assert [cause_of(statement) for statement in found[:3]] == [
        ("moved into", "lib/"),
        ("moved into", "lib/"),
        ("path", "src/c.ts"),
    ]
    assert [statement.same_as for statement in with_same(found)] == [
        ("A.md:2",),
        ("A.md:1",),
        ("A.md:4",),
        ("A.md:3",),
        (),
    ]
    assert [statement.same_as for statement in with_same(found[:1])] == [()]


def test_a_wrong_statement_held_where_the_thing_that_decided_is_there() -> None:
    now, then = Tree({"src/b.ts": ""}), Tree({"src/a.ts": "", "src/c.ts": ""})
    found = wrong("`src/b.ts` and `src/a.ts` are there\n\n`src/none.ts` is there\n\n`src/b.ts` and `src/c.ts` are", now)
    assert [statement.truth for statement in found] == [Truth.CONTRADICTED] * 3
    assert Checker(then).holds(found) == [True, False, True]


def test_a_repair_is_shown_only_if_the_tree_has_all_that_it_names() -> None:
    tree = Tree({"src/a.ts": "sumCart()\n", "docs/b.md": ""})
    cases: list[tuple[str, list[str]]] = [
        ("`src/a.ts` has `sumCart`", []),
        ("`src/none.ts` has `sumNone`", ["src/none.ts", "sumNone"]),
        ("see docs/b.md or none.md", []),
        ("see docs/none.md or one/two/three", ["docs/none.md", "one/two/three"]),
    ]
    for text, missing in cases:
        [statement] = statements_of("A.md", text)
        assert [named.value for named in Checker(tree).unshown(statement)] == missing, text
    assert Named(StatementKind.PATH, "x").is_sure
