"""Build and Test: real tools on tiny projects, in a copy, only when allowed."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
import time
from pathlib import Path

import pytest

from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Quality, Shows, Strength
from knowbound.evidence.producers import system
from knowbound.evidence.producers.build_and_test import NOT_ALLOWED, Build, Tests
from knowbound.evidence.producers.protocol import Ask, CallLimits, Context
from knowbound.evidence.producers.system import UnableError, copy_tree

PASS = "Does the project build and do the tests pass?"
Q = Quality


def needs(*programs: str) -> pytest.MarkDecorator:
    missing = [program for program in programs if shutil.which(program) is None]
    return pytest.mark.skipif(bool(missing), reason=f"{', '.join(missing)} is not installed")


def project(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"))
    return root


def build(root: Path, question: str = PASS, target: str = "") -> Evidence:
    return _produce(Build(), EvidenceClass.BUILD, root, question, target)


def run_tests(root: Path, question: str = PASS, target: str = "") -> Evidence:
    return _produce(Tests(), EvidenceClass.TEST, root, question, target)


def _produce(producer: Build | Tests, cls: EvidenceClass, root: Path, question: str, target: str) -> Evidence:
    context = Context(root, allow_run=True, deadline=time.monotonic() + 120)
    return producer.produce(Ask(cls, target, Intent.EXECUTE, question), context)


def fails(entry: Evidence, as_a_pass: Quality) -> bool:
    """Strong evidence of a failure, which counts for little where something has to pass."""
    return (entry.shows, entry.quality, entry.quality_for(Shows.PASSES)) == (Shows.FAILS, Q.STRONG, as_a_pass)


# --- when nothing is run


@pytest.mark.parametrize(("producer", "cls"), [(Build(), EvidenceClass.BUILD), (Tests(), EvidenceClass.TEST)])
def test_without_permission_nothing_runs(tmp_path: Path, producer: Build | Tests, cls: EvidenceClass) -> None:
    project(tmp_path, {"Makefile": "all test:\n\ttouch $(CURDIR)/ran\n"})
    entry = producer.produce(Ask(cls, "", Intent.EXECUTE, PASS), Context(tmp_path))
    assert (entry.quality, entry.note, entry.strength) == (Q.NONE, NOT_ALLOWED, Strength.NONE)
    assert "--allow-run" in entry.note


@pytest.mark.parametrize(
    ("manifest", "system"),
    [
        ("build.gradle", "gradle"),
        ("pom.xml", "maven"),
        ("MODULE.bazel", "bazel"),
        ("go.mod", "go"),
        ("app.csproj", "dotnet"),
        ("meson.build", "meson"),
    ],
)
def test_other_systems_are_recognised_and_named(tmp_path: Path, manifest: str, system: str) -> None:
    project(tmp_path, {manifest: ""})
    entry = build(tmp_path)
    assert entry.quality is Q.NONE
    assert entry.note.startswith(f"{system} is recognised, but not supported")


def test_no_build_system_is_none_with_the_reason(tmp_path: Path) -> None:
    assert build(tmp_path).note == "no build system is recognised in the root"


@needs("make")
def test_a_missing_tool_is_none_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project(tmp_path, {"Makefile": "all:\n\techo hi\n"})
    monkeypatch.setenv("PATH", "/nonexistent")
    assert build(tmp_path).note == "make is not installed"


@needs("make")
def test_a_run_that_does_not_end_is_none_with_the_reason(tmp_path: Path) -> None:
    project(tmp_path, {"Makefile": "all:\n\tsleep 60\n"})
    context = Context(tmp_path, allow_run=True, limits=CallLimits(run_seconds=0.3))
    entry = Build().produce(Ask(EvidenceClass.BUILD, "", Intent.EXECUTE, PASS), context)
    assert entry.quality is Q.NONE
    assert "did not finish" in entry.note


@needs("make")
def test_endless_output_is_none_with_the_reason(tmp_path: Path) -> None:
    project(tmp_path, {"Makefile": "all:\n\tyes\n"})
    context = Context(tmp_path, allow_run=True, limits=CallLimits(output_bytes=100_000))
    entry = Build().produce(Ask(EvidenceClass.BUILD, "", Intent.EXECUTE, PASS), context)
    assert "printed more than 100,000 bytes" in entry.note


# --- the copy


@needs("make")
def test_the_user_tree_stays_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SECRET", "hidden")
    project(tmp_path, {"Makefile": "all:\n\ttouch made; env > env.txt; cat env.txt\n"})
    entry = build(tmp_path)
    assert entry.quality is Q.STRONG
    assert sorted(os.listdir(tmp_path)) == ["Makefile"]


def test_a_copy_keeps_inner_links_and_drops_those_that_lead_out(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    project(root, {"a/file.txt": "x", ".git/config": "x", "node_modules/m/i.js": "x", "v/pyvenv.cfg": ""})
    project(outside, {"secret.txt": "s"})
    (root / "inner").symlink_to("a/file.txt")
    (root / "absolute").symlink_to(root / "a")
    (root / "out").symlink_to(outside)
    (root / "out.txt").symlink_to(outside / "secret.txt")
    (root / "loop").symlink_to("loop")
    (root / "up").symlink_to("..")
    os.mkfifo(root / "pipe")
    copy_tree(root, tmp_path / "copy")
    assert sorted(os.listdir(tmp_path / "copy")) == ["a", "absolute", "inner"]
    assert (tmp_path / "copy/absolute").resolve() == (tmp_path / "copy/a").resolve()
    copy_tree(root, tmp_path / "second", frozenset({"node_modules"}))
    assert (tmp_path / "second/node_modules/m/i.js").is_file()


def test_a_tree_that_is_too_large_is_not_copied(tmp_path: Path) -> None:
    project(tmp_path / "root", {"a": "x" * 100})
    with pytest.raises(UnableError, match="larger than"):
        copy_tree(tmp_path / "root", tmp_path / "copy", most_bytes=50)


def test_a_tree_is_copied_up_to_a_number_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system, "MOST_FILES", 2)
    project(tmp_path / "root", {"a": "x", "b": "x"})
    copy_tree(tmp_path / "root", tmp_path / "copy")
    assert sorted(os.listdir(tmp_path / "copy")) == ["a", "b"]
    project(tmp_path / "root", {"c": "x"})
    with pytest.raises(UnableError, match="larger than 2 files"):
        copy_tree(tmp_path / "root", tmp_path / "second")


# --- make

MAKEFILE = """
    app: main.c
    \tcc -o app main.c
    empty:
    test: app
    \t./app && echo "1..1" && echo "ok 1 - parser"
    deploy:
    \ttouch deployed
"""
MAIN = "int main(void) { return 0; }\n"


@needs("make", "cc")
def test_make_builds_the_default_target_and_runs_the_tests(tmp_path: Path) -> None:
    project(tmp_path, {"Makefile": MAKEFILE, "main.c": MAIN})
    made, ran = build(tmp_path), run_tests(tmp_path)
    assert (made.quality, made.tool) == (Q.STRONG, "make")
    assert (ran.quality, ran.match_count) == (Q.STRONG, 1), ran.note
    assert made.target == ran.target
    assert made.places[0] == ran.places[0]  # so that the planner can join them


@needs("make", "cc")
@pytest.mark.parametrize(
    ("question", "quality"),
    [("does the target app build?", Q.STRONG), ("does the target other build?", Q.MODERATE)],
)
def test_make_builds_the_target_asked_for_or_says_that_it_did_not(
    tmp_path: Path, question: str, quality: Quality
) -> None:
    project(tmp_path, {"Makefile": MAKEFILE, "main.c": MAIN})
    assert build(tmp_path, question).quality is quality


@needs("make", "cc")
def test_what_was_built_before_is_built_again(tmp_path: Path) -> None:
    project(tmp_path, {"Makefile": MAKEFILE, "main.c": MAIN, "app": "stale"})
    assert build(tmp_path).quality is Q.STRONG


@needs("make")
def test_a_make_with_nothing_to_do_is_weak(tmp_path: Path) -> None:
    project(tmp_path, {"Makefile": "all:\ntest:\n"})
    made, ran = build(tmp_path), run_tests(tmp_path)
    assert (made.quality, made.note) == (Q.WEAK, "make had nothing to build")
    assert (ran.quality, ran.match_count) == (Q.WEAK, 0)


@needs("make", "cc")
def test_a_failing_make_says_where(tmp_path: Path) -> None:
    project(tmp_path, {"Makefile": MAKEFILE, "main.c": "int main(void) { return undefined_name; }\n"})
    made = build(tmp_path)
    assert fails(made, Q.WEAK)
    assert made.note.startswith("fails: ")
    assert ("main.c", 1) in {(place.path, place.line) for place in made.places}


@needs("make")
def test_a_target_that_reaches_further_is_not_run(tmp_path: Path) -> None:
    project(tmp_path, {"Makefile": MAKEFILE})
    entry = build(tmp_path, "does the target deploy build?")
    assert entry.quality is Q.NONE
    assert "is not run" in entry.note


# --- cmake and ctest

CMAKE = """
    cmake_minimum_required(VERSION 3.10)
    project(tiny C)
    enable_testing()
    add_executable(app main.c)
    add_test(NAME parser COMMAND app)
    add_test(NAME lexer COMMAND app)
"""


@needs("cmake", "ctest", "cc", "make")
def test_cmake_builds_and_ctest_passes(tmp_path: Path) -> None:
    project(tmp_path, {"CMakeLists.txt": CMAKE, "main.c": MAIN, "CMakeCache.txt": "stale"})
    made, ran = build(tmp_path, "does the target app build?"), run_tests(tmp_path)
    assert (made.quality, made.tool, made.match_count) == (Q.STRONG, "cmake", 1), made.note
    assert (ran.quality, ran.tool, ran.match_count) == (Q.STRONG, "ctest", 2), ran.note


@needs("cmake", "ctest", "make")
def test_a_disabled_test_is_counted_once_and_as_skipped(tmp_path: Path) -> None:
    listed = "".join(f"add_test(NAME {name} COMMAND true)\n" for name in ("reads", "writes", "slow"))
    off = "set_tests_properties(slow PROPERTIES DISABLED ON)\n"
    top = "cmake_minimum_required(VERSION 3.10)\nproject(some NONE)\nenable_testing()\n"
    ran = run_tests(project(tmp_path, {"CMakeLists.txt": top + listed + off}))
    assert (ran.match_count, ran.exact_match_count, ran.shows) == (2, 2, Shows.PASSES), ran.note
    assert "1 skipped" in ran.note


@pytest.mark.long
@needs("cmake", "ctest", "cc", "make")
def test_cmake_without_the_target_asked_for_is_moderate(tmp_path: Path) -> None:
    project(tmp_path, {"CMakeLists.txt": CMAKE, "main.c": MAIN})
    made = build(tmp_path, "does the target engine build?")
    assert (made.quality, made.target) == (Q.MODERATE, "engine")
    ran = run_tests(tmp_path, "do the tests for the parser pass?")
    assert (ran.quality, ran.match_count) == (Q.STRONG, 1)


@needs("cmake", "ctest", "make")
def test_cmake_with_nothing_to_build_and_no_tests_is_weak(tmp_path: Path) -> None:
    project(
        tmp_path, {"CMakeLists.txt": "cmake_minimum_required(VERSION 3.10)\nproject(none NONE)\nenable_testing()\n"}
    )
    assert build(tmp_path).quality is Q.WEAK
    ran = run_tests(tmp_path)
    assert (ran.quality, ran.note) == (Q.WEAK, "0 tests run by ctest")


@needs("cmake", "ctest", "cc", "make")
def test_cmake_failures_say_what_failed(tmp_path: Path) -> None:
    failing = CMAKE + "    add_test(NAME broken COMMAND ${CMAKE_COMMAND} -E false)\n"
    project(tmp_path, {"CMakeLists.txt": failing, "main.c": MAIN})
    ran = run_tests(tmp_path)
    assert fails(ran, Q.MODERATE)  # passes some tests
    assert ran.note == "fails: 1 of 3 tests: broken"
    (tmp_path / "main.c").write_text("int main(void) { return undefined_name; }\n")
    made, ran = build(tmp_path), run_tests(tmp_path)
    assert fails(made, Q.WEAK)
    assert fails(ran, Q.WEAK)
    assert made.places[1].path == "main.c"
    assert "it does not build" in ran.note


@needs("cmake", "make")
def test_a_cmake_error_is_a_failure_with_its_place(tmp_path: Path) -> None:
    project(tmp_path, {"CMakeLists.txt": 'project(x NONE)\nmessage(FATAL_ERROR "no luck")\n'})
    made = build(tmp_path)
    assert fails(made, Q.WEAK)
    assert made.note == "fails: no luck"
    assert (made.places[1].path, made.places[1].line) == ("CMakeLists.txt", 2)


# --- pytest

PYTHON = {
    "pyproject.toml": '[project]\nname = "tiny"\nversion = "1"\n[tool.pytest.ini_options]\naddopts = "-q -q"\n',
    "src/tiny/__init__.py": "def double(x):\n    return 2 * x\n",
    "src/tiny/parser.py": "def parse():\n    return 1\n",
    "tests/test_tiny.py": "from tiny import double\n\ndef test_double():\n    assert double(2) == 4\n",
    "tests/test_parser.py": "from tiny.parser import parse\n\ndef test_parse():\n    assert parse() == 1\n",
}


@pytest.fixture
def with_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    """The interpreter of these tests is the active one: it has pytest."""
    monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)


@pytest.mark.usefixtures("with_pytest")
def test_python_compiles_and_pytest_passes(tmp_path: Path) -> None:
    project(tmp_path, PYTHON)
    made, ran = build(tmp_path), run_tests(tmp_path)
    assert (made.quality, made.tool, made.match_count) == (Q.STRONG, "compileall", 2), made.note
    assert (ran.quality, ran.tool, ran.match_count) == (Q.STRONG, "pytest", 2), ran.note
    assert (made.target, made.places[0]) == (ran.target, ran.places[0])
    assert not list(tmp_path.rglob("__pycache__"))


@pytest.mark.long
@pytest.mark.usefixtures("with_pytest")
def test_pytest_runs_the_tests_of_what_was_asked_for(tmp_path: Path) -> None:
    project(tmp_path, PYTHON)
    ran = run_tests(tmp_path, "do the tests for the parser pass?")
    assert (ran.quality, ran.match_count) == (Q.STRONG, 1)
    other = run_tests(tmp_path, "do the tests for xqkz_planner pass?")
    assert (other.quality, other.match_count) == (Q.MODERATE, 2)  # tests pass, but none of them is about it
    assert build(tmp_path, "does the parser module compile?", "parser").quality is Q.STRONG
    assert build(tmp_path, "does it build?", "xqkz_planner").quality is Q.MODERATE


@pytest.mark.usefixtures("with_pytest")
@pytest.mark.parametrize(
    ("target", "command"), [("tests/test_parser.py", "-- tests/test_parser.py"), ("parser", "-k parser")]
)
def test_pytest_runs_the_file_or_the_tests_of_a_name(target: str, command: str, tmp_path: Path) -> None:
    ran = run_tests(project(tmp_path, PYTHON), target=target)
    assert (ran.quality, ran.note) == (Q.STRONG, f"1 test passes (pytest {command})")


@pytest.mark.usefixtures("with_pytest")
def test_failing_pytest_says_which(tmp_path: Path) -> None:
    project(tmp_path, PYTHON | {"src/tiny/parser.py": "def parse():\n    return 2\n"})
    ran = run_tests(tmp_path)
    assert fails(ran, Q.MODERATE)
    assert ran.note == "fails: 1 of 2 tests: tests/test_parser.py::test_parse"
    assert ran.places[1].path == "tests/test_parser.py"


@pytest.mark.long
@pytest.mark.usefixtures("with_pytest")
def test_pytest_without_tests_is_weak(tmp_path: Path) -> None:
    project(tmp_path, {"pyproject.toml": PYTHON["pyproject.toml"]})
    assert run_tests(tmp_path).quality is Q.WEAK
    assert build(tmp_path).quality is Q.WEAK  # and there is nothing to compile


@pytest.mark.long
@pytest.mark.usefixtures("with_pytest")
def test_what_does_not_compile_or_import_fails(tmp_path: Path) -> None:
    project(tmp_path, PYTHON | {"src/tiny/parser.py": "def parse(:\n"})
    made, ran = build(tmp_path), run_tests(tmp_path)
    assert fails(made, Q.WEAK)
    assert made.note == "fails: src/tiny/parser.py:1 does not compile"
    assert fails(ran, Q.WEAK)
    assert "tests/test_parser.py" in ran.note


# --- npm

NPM = {
    "package.json": '{"name": "tiny", "scripts": {"test": "node --test", "build": "node build.js"}}',
    "build.js": "console.log('built');\n",
    "parser.js": "module.exports = () => 1;\n",
    "parser.test.js": """
        const test = require('node:test');
        const assert = require('node:assert');
        test('parser parses', () => assert.strictEqual(require('./parser.js')(), 1));
        test('lexer', () => assert.ok(true));
    """,
}


@needs("npm", "node")
def test_npm_builds_and_tests(tmp_path: Path) -> None:
    project(tmp_path, NPM)
    made, ran = build(tmp_path), run_tests(tmp_path, "do the tests for the parser pass?")
    assert (made.quality, made.query) == (Q.STRONG, "npm run build"), made.note
    assert (ran.quality, ran.match_count) == (Q.STRONG, 2), ran.note


@needs("npm", "node")
def test_npm_failures_say_which(tmp_path: Path) -> None:
    broken = {"parser.js": "module.exports = () => 2;\n", "build.js": "process.exit(1)\n"}
    project(tmp_path, NPM | broken)
    made, ran = build(tmp_path), run_tests(tmp_path)
    assert fails(made, Q.WEAK)
    assert fails(ran, Q.MODERATE)
    assert ran.note == "fails: 1 of 2 tests: parser parses"


@needs("npm", "node")
def test_npm_without_a_build_script_checks_the_syntax(tmp_path: Path) -> None:
    project(tmp_path, {"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'})
    assert build(tmp_path).quality is Q.WEAK
    assert run_tests(tmp_path).note == "package.json has no test script"
    project(tmp_path, {"index.js": "exports.a = 1;\n"})
    assert (build(tmp_path).quality, build(tmp_path).tool) == (Q.STRONG, "node")
    project(tmp_path, {"index.js": "exports.a = ;\n"})
    made = build(tmp_path)
    assert fails(made, Q.WEAK)
    assert (made.places[1].path, made.places[1].line) == ("index.js", 1)


@needs("npm")
def test_an_npm_build_that_does_nothing_is_weak(tmp_path: Path) -> None:
    project(tmp_path, {"package.json": '{"scripts": {"build": "echo no build && exit 0"}}'})
    assert build(tmp_path).quality is Q.WEAK


@needs("npm")
def test_npm_packages_that_are_not_installed_are_a_reason(tmp_path: Path) -> None:
    project(tmp_path, {"package.json": '{"scripts": {"test": "node run.js"}}', "run.js": "require('left-pad')\n"})
    entry = run_tests(tmp_path)
    assert entry.quality is Q.NONE
    assert "left-pad is not installed" in entry.note


def test_a_broken_package_json_is_a_reason(tmp_path: Path) -> None:
    project(tmp_path, {"package.json": "{" * 100_000})
    assert build(tmp_path).note == "package.json cannot be read"


# --- cargo

CARGO = {
    "Cargo.toml": '[package]\nname = "tiny"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/main.rs": """
        fn double(x: i32) -> i32 { x * 2 }
        fn main() { println!("{}", double(1)); }
        #[cfg(test)]
        mod parser {
            #[test]
            fn doubles() { assert_eq!(super::double(2), 4); }
        }
    """,
}


@pytest.mark.long
@needs("cargo")
def test_cargo_builds_and_tests_offline(tmp_path: Path) -> None:
    project(tmp_path, CARGO)
    made, ran = build(tmp_path, "does the tiny crate build?"), run_tests(tmp_path, "do the tests for the parser pass?")
    assert (made.quality, made.tool, made.target) == (Q.STRONG, "cargo", "tiny"), made.note
    assert (ran.quality, ran.match_count) == (Q.STRONG, 1), ran.note
    assert sorted(os.listdir(tmp_path)) == ["Cargo.toml", "src"]


@needs("cargo")
def test_cargo_failures_say_where(tmp_path: Path) -> None:
    project(tmp_path, CARGO | {"src/main.rs": CARGO["src/main.rs"].replace("x * 2", "x * 3")})
    ran = run_tests(tmp_path)
    assert fails(ran, Q.WEAK)
    assert ran.note == "fails: 1 of 1 test: parser::doubles"
    assert (ran.places[1].path, ran.places[1].symbol) == ("src/main.rs", "parser::doubles")
    project(tmp_path, {"src/main.rs": "fn main() { undefined(); }\n"})
    made = build(tmp_path)
    assert fails(made, Q.WEAK)
    assert (made.places[1].path, made.places[1].line) == ("src/main.rs", 1)


@needs("cargo")
def test_crates_that_are_not_here_are_a_reason_not_a_failure(tmp_path: Path) -> None:
    project(tmp_path, CARGO | {"Cargo.toml": CARGO["Cargo.toml"] + '[dependencies]\nserde_xqkz = "1"\n'})
    entry = build(tmp_path)
    assert entry.quality is Q.NONE
    assert "not on this machine" in entry.note


# --- which system


@needs("make")
def test_the_question_chooses_among_several_systems(tmp_path: Path) -> None:
    project(tmp_path, PYTHON | {"Makefile": "all:\n\t@echo made\n"})
    assert build(tmp_path).tool == "compileall"
    assert build(tmp_path, "does the Makefile build?").tool == "make"
