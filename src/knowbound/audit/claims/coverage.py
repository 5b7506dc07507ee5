"""Reach of a check: the folder, the package and the build tag of what it can have seen."""

from __future__ import annotations

import re

from knowbound.audit.facts import Edit, TurnFacts
from knowbound.audit.runs.programs import Check
from knowbound.audit.runs.runs import Run

_APART = re.compile(r"(?:^|/)(?:integration_?tests?|e2e(?:_?tests?)?)/|[._-]e2e[._-]|_integration_test\.go$")
_RUNS_APART = re.compile(r"integration|e2e|-tags?\b|test:ci|test-ci|test_ci|test:all|playwright|cypress|\bci\b")
_TEST_FILE = re.compile(r"(?:[._-](?:test|spec)s?\.\w+$|(?:^|/)test_\w+\.py$|(?:^|/)(?:tests?|__tests__|spec)/)")


def short_name(edit: Edit) -> str:
    """The name of the file that was edited."""
    return edit.paths[0].rsplit("/", 1)[-1] if edit.paths else "the code"


def covers(run: Run, edit: Edit) -> bool:
    """Whether a check can have seen an edit; true where nothing says so.

    A Go check names its packages; any check in a folder of its own sees what is in there.
    """
    paths = [path for path in edit.paths if path.startswith("/")]
    if not paths:
        return True
    if run.folder.startswith("/") and not any(_is_in(path, run.folder) for path in paths):
        return any(_is_in(run.folder, path.rsplit("/", 1)[0]) for path in paths)
    packages = [one for one in run.operands if one.startswith("./")]
    is_whole = any(one in (".", "./...", "./") or "test" in one for one in run.operands)
    if run.tool.split()[0] != "go" or not packages or is_whole:
        return True  # tests in a package of their own are about the others
    folders = [one.removeprefix("./").removesuffix("...").strip("/") for one in packages]
    return any(f"/{folder}/" in path for path in paths for folder in folders)


def is_test(path: str) -> bool:
    """Report whether a file is a test by its name or folder."""
    return bool(_TEST_FILE.search(path))


def is_of_other_file(run: Run, edit: Edit) -> bool:
    """Report whether a run names test files, and none by the name of an edited file; never for an edited test."""
    tests = [one.rsplit("/", 1)[-1].lower() for one in run.operands if is_test(one)]
    edited = [path.rsplit("/", 1)[-1].split(".")[0].lower() for path in edit.paths]
    if not tests or len(tests) < len(run.operands) or any(map(is_test, edit.paths)):
        return False
    return not any(name and name in test for name in edited for test in tests)


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def without_tag(facts: TurnFacts, passed: list[Run]) -> Edit | None:
    """A test that runs only on demand (integration, e2e), which was edited, and that no run has asked for."""
    own = [edit for edit in facts.edits if edit.needs_check and all(_APART.search(path) for path in edit.paths)]
    if not own or any(_RUNS_APART.search(run.command) or Check.TEST not in run.kinds for run in passed):
        return None
    named = {path.rsplit("/", 1)[-1].split(".")[0] for edit in own for path in edit.paths}
    if any(name in run.command for name in named for run in passed):
        return None
    return own[-1]
