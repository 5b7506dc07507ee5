"""Whether a check can have seen a change: its folder, its package, its language, its build tag."""

from __future__ import annotations

import re

from knowbound.audit.facts import Edit, SessionView, TurnFacts
from knowbound.audit.runs.programs import Check
from knowbound.audit.runs.results import Ended
from knowbound.audit.runs.runs import Run
from knowbound.core.paths import extension

# Languages whose tools see no other: a file of one is not checked by the tools of another.
_LANGUAGES: dict[str, frozenset[str]] = {
    "go": frozenset({"go"}),
    "rust": frozenset({"rs"}),
    "python": frozenset({"py", "pyi"}),
    "javascript": frozenset({"js", "jsx", "ts", "tsx", "mjs", "cjs", "mts", "vue", "svelte"}),
    "swift": frozenset({"swift"}),
}
_TOOLS: dict[str, str] = {
    tool: language
    for language, tools in {
        "go": "go gotestsum golangci-lint gofmt goimports staticcheck gofumpt",
        "rust": "cargo rustc rustfmt",
        "python": "pytest py.test mypy ruff flake8 pylint unittest black isort pyright basedpyright doctest",
        "javascript": "jest vitest tsc eslint biome mocha prettier ava jasmine vue-tsc svelte-check oxlint tsup",
        "swift": "swift swiftlint",
    }.items()
    for tool in tools.split()
}
_APART = re.compile(r"(?:^|/)(?:integration_?tests?|e2e(?:_?tests?)?)/|[._-]e2e[._-]|_integration_test\.go$")
_RUNS_APART = re.compile(r"integration|e2e|-tags?\b|test:ci|test-ci|test_ci|test:all|playwright|cypress|\bci\b")
_TEST_FILE = re.compile(r"(?:[._-](?:test|spec)s?\.\w+$|(?:^|/)test_\w+\.py$|(?:^|/)(?:tests?|__tests__|spec)/)")
_WHOLE = re.compile(r"\b(?:all|both|every\w*|each|two|three|four|five|six|\d+)\b")


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


def is_of_other_file(run: Run, edit: Edit) -> bool:
    """Report whether a run names test files, and none by the name of an edited file; never for an edited test."""
    tests = [one.rsplit("/", 1)[-1].lower() for one in run.operands if _TEST_FILE.search(one)]
    edited = [path.rsplit("/", 1)[-1].split(".")[0].lower() for path in edit.paths]
    if not tests or len(tests) < len(run.operands) or any(_TEST_FILE.search(path) for path in edit.paths):
        return False
    return not any(name and name in test for name in edited for test in tests)


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")


def language_of(path: str) -> str:
    """The language of a file, where its tools see no other; "" for others."""
    ending = extension(path)
    return next((name for name, extensions in _LANGUAGES.items() if ending in extensions), "")


def uncovered(facts: TurnFacts, view: SessionView) -> Edit | None:
    """An edit of code in this turn whose language none of the later checks that passed is for."""
    seen: set[str] = set()
    for edit in reversed(facts.edits):
        languages = {language_of(path) for path in edit.paths} - {""} - seen
        if not edit.needs_check or not languages:
            continue
        seen |= languages
        after = [run for run in view.runs if run.order > edit.order and run.ended is not Ended.FAILED]
        known = {_TOOLS.get(run.tool.split()[0], "") for run in after}
        if after and "" not in known and not known & languages:
            return edit
    return None


def without_tag(facts: TurnFacts, passed: list[Run]) -> Edit | None:
    """A test that runs only on demand (integration, e2e), which was edited, and that no run has asked for."""
    own = [edit for edit in facts.edits if edit.needs_check and all(_APART.search(path) for path in edit.paths)]
    if not own or any(_RUNS_APART.search(run.command) or Check.TEST not in run.kinds for run in passed):
        return None
    named = {path.rsplit("/", 1)[-1].split(".")[0] for edit in own for path in edit.paths}
    if any(name in run.command for name in named for run in passed):
        return None
    return own[-1]


def untested_part(text: str, facts: TurnFacts) -> str:
    """Of several changes that are said to be verified, a file that has no test by the agent's own words."""
    if not _WHOLE.search(text):
        return ""
    if any(Check.RUN in run.kinds for run in facts.runs):
        return ""  # it was tried out
    for path in dict.fromkeys(path for edit in facts.edits if edit.needs_check for path in edit.paths):
        name = path.rsplit("/", 1)[-1]
        stem = re.escape(name.split(".")[0])
        says = re.compile(
            rf"\bno (?:existing )?`?{stem}\S* tests?\b|\bno (?:unit )?tests? (?:file )?(?:for|of) `?{stem}\b", re.I
        )
        if not _TEST_FILE.search(path) and any(says.search(text) for text in facts.said):
            return name
    return ""
