"""Discovery: two scans of a project that judge by different things, on ordinary and on hostile trees."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.codebase.manifests import Inventory, take_inventory
from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Quality, Strength
from knowbound.core.paths import is_test
from knowbound.evidence.producers.discovery import (
    ManifestScan,
    Project,
    TreeScan,
    grade_discovery,
    scan_manifests,
    scan_tree,
)
from knowbound.evidence.producers.protocol import Ask, Context

Q = Quality


def project(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def scan(producer: ManifestScan | TreeScan, root: Path) -> Evidence:
    ask = Ask(EvidenceClass.DISCOVERY, "", Intent.EXPLAIN, "What is this project?")
    return producer.produce(ask, Context(root))


def inventory(root: Path) -> Inventory:
    return take_inventory(root, time.monotonic() + 60)


PYTHON = {
    "pyproject.toml": '[project]\nname = "tiny"\n[project.scripts]\ntiny = "tiny:main"\n[build-system]\n'
    'build-backend = "hatchling.build"\nrequires = []\n',
    "src/tiny/__init__.py": "def main():\n    ...\n",
    "src/tiny/__main__.py": "import tiny\n\nif __name__ == '__main__':\n    tiny.main()\n",
    "tests/test_tiny.py": "",
    ".github/workflows/ci.yml": "name: ci\n",
    "package.json": '{"private": true, "devDependencies": {"prettier": "3"}}',
    "docs/_static/a.js": "",
    "Dockerfile": 'FROM x\nCMD ["tiny", "serve"]\n',
    "Makefile": "all:\n",
}
KINDS: list[tuple[str, dict[str, str]]] = [
    ("python", PYTHON),
    (
        "javascript",
        {"package.json": '{"bin": {"tool": "x.js"}, "scripts": {"test": "jest"}}', "src/x.ts": "", "a.test.ts": ""},
    ),
    ("rust", {"Cargo.toml": '[package]\nname = "tiny"\n', "src/main.rs": "fn main() {}\n", "tests/a.rs": ""}),
    (
        "c/c++",
        {
            "CMakeLists.txt": "add_executable(app main.c)\nenable_testing()\n",
            "main.c": "int main(void) {}\n",
            "a.h": "",
        },
    ),
    ("go", {"go.mod": "module x\n", "cmd/x/main.go": "package main\nfunc main() {}\n", "x_test.go": "", "x.go": ""}),
    ("jvm", {"pom.xml": "<project/>", "src/main/java/App.java": "", "src/test/java/AppTest.java": ""}),
    ("dotnet", {"app.csproj": "", "Program.cs": ""}),
]


def kind_of(entry: Evidence) -> str:
    return entry.places[0].symbol.partition(" with ")[0]


@pytest.mark.parametrize(("kind", "files"), KINDS)
def test_two_different_scans_agree_on_the_kind(tmp_path: Path, kind: str, files: dict[str, str]) -> None:
    project(tmp_path, files)
    tree, manifests = scan(TreeScan(), tmp_path), scan(ManifestScan(), tmp_path)
    assert tree.quality is manifests.quality is Q.STRONG, (tree.note, manifests.note)
    assert (kind_of(tree), kind_of(manifests), tree.target) == (kind, kind, manifests.target)
    assert TreeScan().independent_of != ManifestScan().independent_of


@pytest.mark.parametrize("producer", [TreeScan(), ManifestScan()])
def test_what_is_found_is_about_the_project_or_the_target_of_the_question(
    tmp_path: Path, producer: TreeScan | ManifestScan
) -> None:
    project(tmp_path, PYTHON)
    assert scan(producer, tmp_path).target == "project"
    ask = Ask(EvidenceClass.DISCOVERY, "tiny", Intent.EXPLAIN, "What is tiny?")
    assert producer.produce(ask, Context(tmp_path)).target == "tiny"


def test_the_note_tells_the_whole_project(tmp_path: Path) -> None:
    project(tmp_path, PYTHON)
    assert scan(ManifestScan(), tmp_path).note == (
        "python project; 2 source files; 1 test file; starts at tiny, [\"tiny\", \"serve\"]; "
        "built with hatchling, npm, make; CI: GitHub Actions"
    )  # fmt: skip
    assert scan(TreeScan(), tmp_path).note == (
        "python project; 3 source files; 1 test file; Python 3, JavaScript 1; starts at src/tiny/__main__.py; "
        "built with make, npm, python; CI: GitHub Actions"
    )


def test_entry_points_are_places(tmp_path: Path) -> None:
    project(tmp_path, dict(KINDS)["c/c++"])
    assert [(place.path, place.line, place.symbol) for place in scan(ManifestScan(), tmp_path).places[1:]] == [
        ("CMakeLists.txt", 1, "app")
    ]
    assert [(place.path, place.line) for place in scan(TreeScan(), tmp_path).places[1:]] == [("main.c", 1)]


@pytest.mark.parametrize(
    ("known", "quality"),
    [
        (Project(""), Q.WEAK),
        (Project("", 10, 2), Q.WEAK),
        (Project("python"), Q.MODERATE),
        (Project("python", 0, 0), Q.MODERATE),
        (Project("python", 10, None), Q.MODERATE),
        (Project("python", 10, 2, limits=("the walk stopped at its limit",)), Q.MODERATE),
        (Project("python", 10, 0), Q.STRONG),  # that there are no tests is known
    ],
)
def test_discovery_is_graded_by_how_much_is_known(known: Project, quality: Quality) -> None:
    assert grade_discovery(known) is quality


def test_the_scans_may_disagree(tmp_path: Path) -> None:
    files = {f"native/{number}.rs": "" for number in range(9)}
    project(tmp_path, files | {"pyproject.toml": '[project]\nname = "tiny"\n', "tiny/__init__.py": ""})
    assert kind_of(scan(TreeScan(), tmp_path)) == "rust"
    assert kind_of(scan(ManifestScan(), tmp_path)) == "python"


def test_a_mixture_is_named_by_its_two_largest_parts(tmp_path: Path) -> None:
    project(tmp_path, {"a.py": "", "aa.py": "", "b.rs": "", "bb.rs": "", "c.go": ""})
    assert kind_of(scan(TreeScan(), tmp_path)) == "python and rust"


def test_a_knowledge_folder_is_a_project_of_documents(tmp_path: Path) -> None:
    project(tmp_path, {"README.md": "", "guides/a.md": "", "logo.png": ""})
    assert kind_of(scan(TreeScan(), tmp_path)) == "documents"
    assert scan(ManifestScan(), tmp_path).quality is Q.NONE


@pytest.mark.parametrize("producer", [TreeScan(), ManifestScan()])
def test_an_empty_or_missing_folder_is_none_with_the_reason(tmp_path: Path, producer: TreeScan | ManifestScan) -> None:
    for root in (tmp_path, tmp_path / "nowhere"):
        entry = scan(producer, root)
        assert (entry.quality, entry.strength) == (Q.NONE, Strength.NONE)
        assert entry.note


def test_other_peoples_code_and_what_tools_made_do_not_count(tmp_path: Path) -> None:
    project(
        tmp_path,
        {
            "a.py": "",
            "vendor/b.go": "",
            "vendor/c.go": "",
            "node_modules/m/index.js": "",
            ".venv/pyvenv.cfg": "",
            ".venv/lib/x.c": "",
            "out/CMakeCache.txt": "",
            "out/y.c": "",
            "target/CACHEDIR.TAG": "",
            "target/z.rs": "",
        },
    )
    found = scan_tree(inventory(tmp_path))
    assert (found.kind, found.sources) == ("python", 1)


@pytest.mark.parametrize(
    "path",
    [
        "tests/a.py",
        "a/test_x.py",
        "x_test.go",
        "a.spec.ts",
        "a.test.jsx",
        "src/FooTest.java",
        "spec/a_spec.rb",
        "conftest.py",
    ],
)
def test_tests_are_known_by_folder_or_name(path: str) -> None:
    assert is_test(path)


@pytest.mark.parametrize("path", ["src/attest.py", "latest.js", "contest/a.py", "testimony.rs", "inspect.py"])
def test_what_only_sounds_like_a_test_is_none(path: str) -> None:
    assert not is_test(path)


@pytest.mark.parametrize("producer", [TreeScan(), ManifestScan()])
def test_hostile_trees_are_scanned_safely(tmp_path: Path, producer: TreeScan | ManifestScan) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside"
    project(outside, {"Cargo.toml": '[package]\nname = "outside"\n', "secret.rs": ""})
    project(root, {"pyproject.toml": '[project]\nname = "x"\n', "a.py": "", "new\nline.py": "", "-rf.py": ""})
    (root / "loop").symlink_to(".")
    (root / "out").symlink_to(outside)
    (root / "Cargo.toml").symlink_to(outside / "Cargo.toml")
    os.mkfifo(root / "package.json")
    with open(os.fsencode(root) + b"/\xff\xfe.py", "wb"):
        pass
    entry = scan(producer, root)
    assert kind_of(entry) == "python"
    assert entry.exact_match_count == 4
    assert "rust" not in entry.note
    assert entry.note.isprintable()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("pyproject.toml", "[project\n"),
        ("pyproject.toml", "x = " + "[" * 5000),
        ("pyproject.toml", "project = 3\n"),
        ("package.json", "{" * 100_000),
        ("package.json", "[1, 2]"),
        ("package.json", '{"scripts": [], "bin": 7, "main": {}}'),
        ("Cargo.toml", "bin = 4\npackage = [1]\n"),
        ("Cargo.toml", "\0"),
        ("CMakeLists.txt", "add_executable("),
        ("setup.cfg", "[metadata]\n[options.entry_points]\nconsole_scripts =\n  a = b:c\n"),
        ("pyproject.toml", "#" * 2_000_000),
    ],
)
def test_broken_manifests_are_at_most_unreadable(tmp_path: Path, name: str, content: str) -> None:
    project(tmp_path, {name: content, "a.py": "", "a.js": "", "a.rs": "", "a.c": ""})
    found = scan_manifests(inventory(tmp_path))
    assert found is not None
    assert found.kind


@given(
    st.binary(max_size=200),
    st.sampled_from(["pyproject.toml", "package.json", "Cargo.toml", "CMakeLists.txt", "setup.cfg"]),
)
def test_no_content_of_a_manifest_breaks_the_scan(
    tmp_path_factory: pytest.TempPathFactory, content: bytes, name: str
) -> None:
    root = tmp_path_factory.mktemp("any")
    (root / name).write_bytes(content)
    assert scan_manifests(inventory(root)) is not None


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may read every folder")
def test_folders_that_may_not_be_read_are_told(tmp_path: Path) -> None:
    project(tmp_path, {"a.py": "", "locked/b.py": ""})
    (tmp_path / "locked").chmod(0)
    entry = scan(TreeScan(), tmp_path)
    (tmp_path / "locked").chmod(0o755)
    assert entry.quality is Q.MODERATE
    assert "1 folder could not be read" in entry.note


def test_unreadable_folders_and_limits_lower_the_level(tmp_path: Path) -> None:
    project(tmp_path, {"a.py": "", "b.py": ""})
    whole = inventory(tmp_path)
    assert grade_discovery(scan_tree(whole)) is Q.STRONG
    assert grade_discovery(scan_tree(Inventory(tmp_path, whole.files, unreadable=1))) is Q.MODERATE
    cut = take_inventory(tmp_path, time.monotonic() + 60, most=1)
    assert cut.cut
    assert not cut.complete


def test_a_walk_ends_with_its_deadline(tmp_path: Path) -> None:
    project(tmp_path, {"a/b.py": ""})
    assert take_inventory(tmp_path, deadline=0.0).cut
