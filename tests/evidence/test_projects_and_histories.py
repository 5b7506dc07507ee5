"""Histories that a model reads, targets of builds, and the description of a project."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from knowbound.codebase.manifests import Inventory, take_inventory
from knowbound.core.evidence import EvidenceClass, Intent, Place
from knowbound.evidence.investigate import investigate
from knowbound.evidence.producers.build_and_test import choose_system, named_target
from knowbound.evidence.producers.discovery import Project, grade_discovery, scan_manifests, scan_tree
from knowbound.evidence.producers.git import GitLog, GitStatus
from knowbound.evidence.producers.protocol import Ask
from knowbound.evidence.producers.system import UnableError
from knowbound.evidence.understanding import PlanAnswer, ReadAnswer, ReadSentence
from knowbound.process import Ran
from tests.evidence.git_values import Commit, FakeGit
from tests.evidence.test_answers import answered
from tests.evidence.test_git_answers import history
from tests.evidence_trees import plant
from tests.knowledge.scripts import Script


@pytest.mark.parametrize(
    ("question", "terms", "reading", "passages", "answer"),
    [
        (
            "When was the retry budget added?",
            ["retry budget", "LIMIT"],
            ReadAnswer([ReadSentence("In January.", 6, "Add the retry budget")], [], 0),
            [
                "[1] commit 1111111111",
                "2026-01-19 Ada",
                "Fix the retry budget",
                "adds or removes LIMIT",
                "It was too low.",
                "",
                "[2] commit 2222222222",
                "2026-01-18 Ada",
                "Remove zstd compression",
                "Nobody used it.",
                "",
                "[3] commit 3333333333",
                "2026-01-17 Bo Young",
                "Rework settings",
                "Adds nothing.",
                "",
                "[4] commit 6666666666",
                "2026-01-14 Ada",
                "Add the retry budget",
                "adds or removes LIMIT",
                "A retry costs one.",
            ],
            [
                "status success complete by m",
                ("Confidence is complete because what was needed is verified: git log is authoritative for this."),
                "terms retry budget, LIMIT",
                "answer commit 6666666666:0 In January.",
                "source commit 6666666666:0 Add the retry budget (read: In January.)",
                "git log → GitLog strong, 4 found (commit 6666666666: Add the retry budget)",
                "planner → GitLog verified: git log is authoritative for this",
            ],
        ),
        (
            "When was zstd removed?",
            ["zstd", "src/zstd.py"],
            ReadAnswer(
                [
                    ReadSentence("It was removed.", 2, "Remove zstd compression"),
                    ReadSentence("Nobody used it.", 2, "Nobody used it."),
                ],
                [],
                0,
            ),
            [
                "[1] commit 1111111111",
                "2026-01-19 Ada",
                "Fix the retry budget",
                "It was too low.",
                "",
                "[2] commit 2222222222",
                "2026-01-18 Ada",
                "Remove zstd compression",
                "changes src/zstd.py",
                "Nobody used it.",
                "",
                "[3] commit 3333333333",
                "2026-01-17 Bo Young",
                "Rework settings",
                "Adds nothing.",
                "",
                "[4] commit 5555555555",
                "2026-01-15 Ada",
                "Support zstd compression",
                "changes src/zstd.py",
                "With zstd_level.",
            ],
            [
                "status success complete by m",
                ("Confidence is complete because what was needed is verified: git log is authoritative for this."),
                "terms zstd, src/zstd.py",
                "answer commit 2222222222:0 It was removed. [1] Nobody used it. [2]",
                "source commit 2222222222:0 Remove zstd compression (read: It was removed.)",
                "source commit 2222222222:0 Nobody used it. (read: Nobody used it.)",
                "git log → GitLog strong, 4 found (commit 2222222222: Remove zstd compression)",
                "planner → GitLog verified: git log is authoritative for this",
            ],
        ),
        (
            "Who changed max_size?",
            ["max_size", "settings.py"],
            ReadAnswer([], [], 2),
            [],
            [
                "status success complete by rules",
                ("Confidence is complete because what was needed is verified: git log -S is authoritative for this."),
                "terms max_size",
                (
                    "answer commit 3333333333:0 1 commit add or remove 'max_size', the last one "
                    "3333333333 2026-01-17 Bo Young: Rework settings"
                ),
                (
                    "source commit 3333333333:0  (git log -S: 1 commit add or remove 'max_size', the "
                    "last one 3333333333 2026-01-17 Bo Young: Rework settings)"
                ),
                (
                    "git log -S 'max_size' → GitLog strong, 1 found (1 commit add or remove 'max_size', "
                    "the last one 3333333333 2026-01-17 Bo Young: Rework settings)"
                ),
                "planner → GitLog verified: git log -S is authoritative for this",
            ],
        ),
        (
            "Who changed max_size?",
            ["--max-size"],
            ReadAnswer([], [], 0),
            [],
            [
                "status success complete by rules",
                ("Confidence is complete because what was needed is verified: git log -S is authoritative for this."),
                "terms max_size",
                (
                    "answer commit 3333333333:0 1 commit add or remove 'max_size', the last one "
                    "3333333333 2026-01-17 Bo Young: Rework settings"
                ),
                (
                    "source commit 3333333333:0  (git log -S: 1 commit add or remove 'max_size', the "
                    "last one 3333333333 2026-01-17 Bo Young: Rework settings)"
                ),
                (
                    "git log -S 'max_size' → GitLog strong, 1 found (1 commit add or remove 'max_size', "
                    "the last one 3333333333 2026-01-17 Bo Young: Rework settings)"
                ),
                "planner → GitLog verified: git log -S is authoritative for this",
            ],
        ),
        (
            "Why was the level changed?",
            ["zstd_level"],
            None,
            [
                "[1] commit 1111111111",
                "2026-01-19 Ada",
                "Fix the retry budget",
                "It was too low.",
                "",
                "[2] commit 2222222222",
                "2026-01-18 Ada",
                "Remove zstd compression",
                "adds or removes zstd_level",
                "Nobody used it.",
                "",
                "[3] commit 3333333333",
                "2026-01-17 Bo Young",
                "Rework settings",
                "Adds nothing.",
                "",
                "[4] commit 5555555555",
                "2026-01-15 Ada",
                "Support zstd compression",
                "adds or removes zstd_level",
                "With zstd_level.",
            ],
            [
                "status success complete by rules",
                (
                    "Confidence is complete because what was needed is verified: git log --grep is "
                    "authoritative for this."
                ),
                "terms level, zstd_level",
                ("answer commit 5555555555:0 Level: 5555555555 2026-01-15 Ada: Support zstd compression"),
                (
                    "source commit 5555555555:0  (git log --grep: level: 5555555555 2026-01-15 Ada: "
                    "Support zstd compression)"
                ),
                "note The model gave no reading: no answer.",
                (
                    "git log --grep 'level' → GitLog strong, 1 found (level: 5555555555 2026-01-15 Ada: "
                    "Support zstd compression)"
                ),
                "planner → GitLog verified: git log --grep is authoritative for this",
            ],
        ),
        (
            "What was the last commit?",
            ["x"],
            None,
            [],
            [
                "status success complete by rules",
                ("Confidence is complete because what was needed is verified: git log is authoritative for this."),
                "terms x",
                ("answer commit 1111111111:0 The last commit is 1111111111 2026-01-19 Ada: Fix the retry budget"),
                (
                    "source commit 1111111111:0  (git log: the last commit is 1111111111 2026-01-19 Ada: "
                    "Fix the retry budget)"
                ),
                (
                    "git log → GitLog strong, 1 found (the last commit is 1111111111 2026-01-19 Ada: Fix "
                    "the retry budget)"
                ),
                "planner → GitLog verified: git log is authoritative for this",
            ],
        ),
    ],
)
def test_a_model_reads_the_commits_that_come_near(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    question: str,
    terms: list[str],
    reading: ReadAnswer | None,
    passages: list[str],
    answer: list[str],
) -> None:
    monkeypatch.setattr("knowbound.evidence.producers.repository.run_git", history(top=str(tmp_path.resolve())))
    script = Script(PlanAnswer(Intent.STATUS, terms), reading)
    assert answered(investigate(question, tmp_path, asker=script, producers=[GitLog(), GitStatus()])) == answer
    shown = [material["passages"].split("\n") for material in script.materials[1:]]
    assert shown == ([passages] if passages else [])


def test_without_a_repository_no_model_reads_its_history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    git = history(answers={"rev-parse": Ran(128, b"", b"fatal: not a git repository")})
    monkeypatch.setattr("knowbound.evidence.producers.repository.run_git", git)
    script = Script(PlanAnswer(Intent.STATUS, ["zstd"]))
    assert answered(investigate("When was zstd added?", tmp_path, asker=script, producers=[GitLog()])) == [
        "status insufficient_evidence none by m",
        ("GitLog: not a git repository. Confidence is none because there is no GitLog evidence."),
        "terms zstd",
        "gap GitLog : has none, needs moderate; not a git repository",
        "git log → GitLog none, 0 found (not a git repository)",
    ]


def test_commits_are_shown_newest_first_within_the_budget_and_trailers_are_left_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    body = "one\ntwo\n\nthree\nfour\nfive zebra\nCo-authored-by: Bo\nFixes #3\nsix zebra\nseven zebra\neight zebra\n"
    many = [Commit(f"{number:040x}", f"Zebra {number}", body, "Ada", "2026-01-01") for number in range(150)]
    git = FakeGit([*many[:5], Commit("f" * 40, "Other"), *many[5:]], top=str(tmp_path.resolve()))
    monkeypatch.setattr("knowbound.evidence.producers.repository.run_git", git)
    script = Script(PlanAnswer(Intent.STATUS, ["zebra"]), ReadAnswer())
    investigate("When was the zebra added?", tmp_path, asker=script, producers=[GitLog()])
    passages = script.materials[1]["passages"].split("\n\n")
    assert passages[0] == (
        "[1] commit 0000000000\n2026-01-01 Ada\nZebra 0\none\ntwo\nthree\nfive zebra\nsix zebra\nseven zebra"
    )
    assert "Other" not in script.materials[1]["passages"]
    assert 40 < len(passages) < 150


def test_a_question_to_build_or_test_names_its_target() -> None:
    cases: list[tuple[str, str]] = [
        ("Build the target core", "core"),
        ("Does the core target build?", "core"),
        ("Does `core` build?", "core"),
        ("Do the tests for the cart pass?", "cart"),
        ("Do the tests of cart_total still pass?", "cart_total"),
        ("Build everything", ""),
        ("Does the application build?", ""),
        ("Build the application target", "application"),
        ("Does cart::total pass?", "cart::total"),
        ("Run tests in src/cart.py", "src/cart.py"),
        ("Compile --fast", ""),
        ("Compile a=b", ""),
        ('Build "the web app"', "web"),
        ("Does the web crate compile?", "web"),
        ("make all", ""),
        ("Build it, target `x y`?", "x"),
        ("Do tests pass?", ""),
        ("Test 'cart'.", "cart"),
    ]
    for question, target in cases:
        assert named_target(Ask(EvidenceClass.BUILD, "", Intent.EXECUTE, question)) == target
        assert named_target(Ask(EvidenceClass.BUILD, "", Intent.MODIFY, question)) == ""


def test_the_system_is_what_the_question_names_or_what_most_sources_need() -> None:
    cases: list[tuple[tuple[str, ...], str, str]] = [
        (("Makefile", "pyproject.toml", "a.py"), "Does it build?", "python pyproject.toml"),
        (("Makefile", "pyproject.toml", "a.js"), "Does it build?", "python pyproject.toml"),
        (("Makefile", "package.json", "a.js"), "Does make build it?", "npm package.json"),
        (("Makefile", "package.json", "a.js"), "Does the makefile work?", "make Makefile"),
        (("CMakeLists.txt", "Cargo.toml", "a.rs"), "Does it build?", "cargo Cargo.toml"),
        (("CMakeLists.txt", "Cargo.toml", "a.py"), "Does it build?", "cmake CMakeLists.txt"),
        (("CMakeLists.txt", "Cargo.toml", "a.rs"), "Does ctest pass?", "cmake CMakeLists.txt"),
        (("setup.py", "tox.ini"), "Does it build?", "python setup.py"),
        (("Makefile",), "Does it build?", "make Makefile"),
        (("x/Cargo.toml",), "Does it build?", "unable: no build system is recognised in the root"),
        (
            ("pom.xml", "build.gradle"),
            "Does it build?",
            ("unable: gradle, maven is recognised, but not supported (supported: cmake, pytest, npm, cargo, make)"),
        ),
        (("Cargo.toml", "package.json"), "Do the crates build?", "cargo Cargo.toml"),
        (("Cargo.toml", "package.json"), "mynpm", "cargo Cargo.toml"),
        (("Cargo.toml", "package.json"), "Does npm work?", "npm package.json"),
    ]
    for files, question, chosen in cases:
        try:
            system, manifest = choose_system(Inventory(Path("/none"), files), question)
            found = f"{system.name} {manifest}"
        except UnableError as reason:
            found = f"unable: {reason}"
        assert found == chosen


def described(project: Project | None) -> list[str]:
    if project is None:
        return ["none"]
    facts = (
        project.kind,
        project.sources,
        project.tests,
        project.languages,
        project.build_systems,
        project.ci_systems,
        project.limits,
    )
    return ["; ".join(map(str, facts)), project.agreed_facts, str(project), grade_discovery(project)]


def test_files_describe_a_project() -> None:
    cases: list[tuple[tuple[str, ...], list[str]]] = [
        ((), ["; 0; 0; (); (); (); ()", "", "the kind of project is unknown; 0 source files; no tests", "weak"]),
        (
            ("a.py",),
            [
                "python; 1; 0; (('Python', 1),); (); (); ()",
                "python with 1 source file and no tests",
                "python project; 1 source file; no tests; Python 1",
                "strong",
            ],
        ),
        (
            ("a.py", "b.py", "c.rs"),
            [
                "python; 3; 0; (('Python', 2), ('Rust', 1)); (); (); ()",
                "python with 3 source files and no tests",
                "python project; 3 source files; no tests; Python 2, Rust 1",
                "strong",
            ],
        ),
        (
            ("a.py", "c.rs"),
            [
                "python and rust; 2; 0; (('Python', 1), ('Rust', 1)); (); (); ()",
                "python and rust with 2 source files and no tests",
                "python and rust project; 2 source files; no tests; Python 1, Rust 1",
                "strong",
            ],
        ),
        (
            ("a.py", "b.rs", "c.go"),
            [
                "python and rust; 3; 0; (('Python', 1), ('Rust', 1), ('Go', 1)); (); (); ()",
                "python and rust with 3 source files and no tests",
                "python and rust project; 3 source files; no tests; Python 1, Rust 1, Go 1",
                "strong",
            ],
        ),
        (
            ("a.py", "tests/test_a.py"),
            [
                "python; 1; 1; (('Python', 2),); (); (); ()",
                "python with 1 source file and tests",
                "python project; 1 source file; 1 test file; Python 2",
                "strong",
            ],
        ),
        (
            ("tests/test_a.py",),
            [
                "; 0; 1; (('Python', 1),); (); (); ()",
                "",
                "the kind of project is unknown; 0 source files; 1 test file; Python 1",
                "weak",
            ],
        ),
        (
            ("a.md", "b.png", "c.png", "d.png"),
            [
                "documents; 1; 0; (); (); (); ()",
                "documents with 1 source file and no tests",
                "documents project; 1 source file; no tests",
                "strong",
            ],
        ),
        (
            ("a.md", "b.png", "c.png", "d.png", "e.png"),
            ["; 0; 0; (); (); (); ()", "", "the kind of project is unknown; 0 source files; no tests", "weak"],
        ),
        (
            ("a.md", "a.py"),
            [
                "python; 1; 0; (('Python', 1),); (); (); ()",
                "python with 1 source file and no tests",
                "python project; 1 source file; no tests; Python 1",
                "strong",
            ],
        ),
        (
            ("Makefile", "a.c", ".github/workflows/x.yml"),
            [
                "c/c++; 1; 0; (('C', 1),); ('make',); ('GitHub Actions',); ()",
                "c/c++ with 1 source file and no tests",
                "c/c++ project; 1 source file; no tests; C 1; built with make; CI: GitHub Actions",
                "strong",
            ],
        ),
        (
            ("a.md", "tests/test_a.py"),
            [
                "documents; 1; 1; (); (); (); ()",
                "documents with 1 source file and tests",
                "documents project; 1 source file; 1 test file",
                "strong",
            ],
        ),
    ]
    for files, project in cases:
        assert described(scan_tree(Inventory(Path("/none"), files))) == project, files


def test_a_project_is_said_and_graded_by_what_is_known() -> None:
    cases: list[tuple[Project, list[str]]] = [
        (
            Project("", None, None, (), (), (), (), ()),
            ["; None; None; (); (); (); ()", "", "the kind of project is unknown", "weak"],
        ),
        (
            Project("python", None, None, (), (), (), (), ()),
            ["python; None; None; (); (); (); ()", "", "python project", "moderate"],
        ),
        (
            Project("python", 3, None, (), (), (), (), ()),
            ["python; 3; None; (); (); (); ()", "", "python project; 3 source files", "moderate"],
        ),
        (
            Project("python", 3, 0, (), (), (), (), ()),
            [
                "python; 3; 0; (); (); (); ()",
                "python with 3 source files and no tests",
                "python project; 3 source files; no tests",
                "strong",
            ],
        ),
        (
            Project("python", 0, 0, (), (), (), (), ()),
            [
                "python; 0; 0; (); (); (); ()",
                "python with 0 source files and no tests",
                "python project; 0 source files; no tests",
                "moderate",
            ],
        ),
        (
            Project("python", 1, 1, (), (), (), (), ()),
            [
                "python; 1; 1; (); (); (); ()",
                "python with 1 source file and tests",
                "python project; 1 source file; 1 test file",
                "strong",
            ],
        ),
        (
            Project("python", 3, 2, (), (), (), (), ("cut",)),
            [
                "python; 3; 2; (); (); (); ('cut',)",
                "python with 3 source files and tests",
                "python project; 3 source files; 2 test files; cut",
                "moderate",
            ],
        ),
        (
            Project(
                "python",
                3,
                2,
                (("Python", 1500), ("Go", 2), ("C", 1), ("D", 1), ("E", 1)),
                (
                    Place("a.py", 3, "main"),
                    Place("b.py", 0, ""),
                ),
                ("make",),
                ("github",),
                (),
            ),
            [
                (
                    "python; 3; 2; (('Python', 1500), ('Go', 2), ('C', 1), ('D', 1), ('E', 1)); "
                    "('make',); ('github',); ()"
                ),
                "python with 3 source files and tests",
                (
                    "python project; 3 source files; 2 test files; Python 1,500, Go 2, C 1, D 1; starts "
                    "at main, b.py; built with make; CI: github"
                ),
                "strong",
            ],
        ),
    ]
    for project, project_lines in cases:
        assert described(project) == project_lines, project


@pytest.mark.parametrize(
    ("files", "by_manifests", "by_files"),
    [
        (
            {},
            ["none"],
            ["; 0; 0; (); (); (); ()", "", "the kind of project is unknown; 0 source files; no tests", "weak"],
        ),
        (
            {"pyproject.toml": "[project]\nname='a'\n", "a.py": "", "tests/test_a.py": ""},
            [
                "python; 1; 1; (); ('python',); (); ()",
                "python with 1 source file and tests",
                "python project; 1 source file; 1 test file; built with python",
                "strong",
            ],
            [
                "python; 1; 1; (('Python', 2),); ('python',); (); ()",
                "python with 1 source file and tests",
                "python project; 1 source file; 1 test file; Python 2; built with python",
                "strong",
            ],
        ),
        (
            {"package.json": "{", "a.js": ""},
            [
                "javascript; 1; 0; (); ('npm',); (); ('package.json cannot be read',)",
                "javascript with 1 source file and no tests",
                ("javascript project; 1 source file; no tests; built with npm; package.json cannot be read"),
                "moderate",
            ],
            [
                "javascript; 1; 0; (('JavaScript', 1),); ('npm',); (); ()",
                "javascript with 1 source file and no tests",
                "javascript project; 1 source file; no tests; JavaScript 1; built with npm",
                "strong",
            ],
        ),
        (
            {"package.json": '{"scripts": {"test": "x"}, "bin": {"go": "a.js"}}', "a.js": "x", "b.js": ""},
            [
                "javascript; 2; 1; (); ('npm',); (); ()",
                "javascript with 2 source files and tests",
                "javascript project; 2 source files; 1 test file; starts at go; built with npm",
                "strong",
                "package.json:0 go",
            ],
            [
                "javascript; 2; 0; (('JavaScript', 2),); ('npm',); (); ()",
                "javascript with 2 source files and no tests",
                "javascript project; 2 source files; no tests; JavaScript 2; built with npm",
                "strong",
            ],
        ),
        (
            {"Cargo.toml": "[package]\nname='a'\n", "src/main.rs": "// x\nfn main() {}\n", "x.py": ""},
            [
                "rust; 1; 0; (); ('cargo',); (); ()",
                "rust with 1 source file and no tests",
                "rust project; 1 source file; no tests; starts at a; built with cargo",
                "strong",
                "src/main.rs:0 a",
            ],
            [
                "python and rust; 2; 0; (('Python', 1), ('Rust', 1)); ('cargo',); (); ()",
                "python and rust with 2 source files and no tests",
                (
                    "python and rust project; 2 source files; no tests; Python 1, Rust 1; starts at "
                    "src/main.rs; built with cargo"
                ),
                "strong",
                "src/main.rs:2 src/main.rs",
            ],
        ),
        (
            {"package.json": "{}", "pyproject.toml": "[project]\nname='a'\n", "a.py": "", "b.py": "", "c.js": ""},
            [
                "python; 2; 0; (); ('python', 'npm'); (); ()",
                "python with 2 source files and no tests",
                "python project; 2 source files; no tests; built with python, npm",
                "strong",
            ],
            [
                "python; 3; 0; (('Python', 2), ('JavaScript', 1)); ('npm', 'python'); (); ()",
                "python with 3 source files and no tests",
                ("python project; 3 source files; no tests; Python 2, JavaScript 1; built with npm, python"),
                "strong",
            ],
        ),
        (
            {
                "main.py": "x = 1\n\ndef main():\n",
                "app/server.go": "package main\nfunc main() {}\n",
                "index.js": "",
                "tests/main.py": "def main():\n",
                "lib/main.py": "nothing\n",
                "Dockerfile": "FROM x\nCMD python main.py\n",
            },
            ["none"],
            [
                ("javascript and python; 4; 1; (('Python', 3), ('JavaScript', 1), ('Go', 1)); (); (); ()"),
                "javascript and python with 4 source files and tests",
                (
                    "javascript and python project; 4 source files; 1 test file; Python 3, JavaScript 1, "
                    "Go 1; starts at index.js, main.py, app/server.go"
                ),
                "strong",
                "index.js:1 index.js",
                "main.py:3 main.py",
                "app/server.go:2 app/server.go",
            ],
        ),
    ],
)
def test_manifests_and_files_describe_a_project_each(
    tmp_path: Path, files: dict[str, str], by_manifests: list[str], by_files: list[str]
) -> None:
    inventory = take_inventory(plant(tmp_path, files), math.inf)
    for project, wanted in ((scan_manifests(inventory), by_manifests), (scan_tree(inventory), by_files)):
        points = project.entry_points if project else ()
        assert [*described(project), *(f"{place.path}:{place.line} {place.symbol}" for place in points)] == wanted
