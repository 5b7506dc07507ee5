"""`lint`: the statements of a project's knowledge files, each with what the tree says about it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from knowbound.codebase.at_commit import CommitCheckout
from knowbound.codebase.checkout import Checkout
from knowbound.core.statement import CheckedStatement, Truth
from knowbound.errors import InputError
from knowbound.files import is_inside
from knowbound.knowledge.checking import Checker
from knowbound.knowledge.statements import statements_of

# What agents load by themselves, in every folder: Claude Code, Codex and others, Gemini CLI, Copilot, Cursor, Windsurf.
_LOADED = re.compile(
    r"(?:^|/)(?:CLAUDE|claude|AGENTS|GEMINI|CLAUDE\.local)\.md$|^\.github/copilot-instructions\.md$"
    r"|(?:^|/)\.cursor/rules/.+\.mdc?$|(?:^|/)\.cursorrules$|(?:^|/)\.windsurfrules$"
    r"|(?:^|/)\.(?:claude|agents|codex)/(?:rules|skills|agents|commands)/.+\.md$"
)
_IN_TESTS = re.compile(r"(?:^|/)(?:tests?|fixtures?|examples?|testdata|vendor|demo)/")
_MOST_BYTES = 1_000_000  # of a knowledge file


def knowledge_files(checkout: Checkout) -> list[str]:
    """Return the files that agents load by themselves, nearest to the root first."""
    found = {path for path in checkout.files if _LOADED.search(path) and not _IN_TESTS.search(path)}
    return sorted(found, key=lambda path: (path.count("/"), path))


def lint(root: Path, files: Sequence[Path] = (), *, against: str = "") -> list[CheckedStatement]:
    """Check the statements of the named files, or of all files that agents load. Raises InputError.

    With a commit to compare with, only statements that are wrong now and held there.
    """
    checked = _checked(Checkout(root), [_relative(root, file) for file in files])
    return broken_since(checked, CommitCheckout(root, against)) if against else checked


def broken_since(checked: Iterable[CheckedStatement], base: Checkout) -> list[CheckedStatement]:
    """Return the contradicted statements that an earlier checkout confirms."""
    wrong = [one for one in checked if one.truth is Truth.CONTRADICTED]
    return [one for one, held in zip(wrong, Checker(base).holds(wrong), strict=True) if held]


def _checked(checkout: Checkout, named: Sequence[str] = ()) -> list[CheckedStatement]:
    """Check the statements of these files of a checkout, or of all files that agents load."""
    root, paths = checkout.root, list(named) or knowledge_files(checkout)
    if not paths:
        raise InputError(
            "no-knowledge-files",
            f"No CLAUDE.md, AGENTS.md, rules or skills in {root}. Name a file: knowbound lint docs/guide.md",
        )
    checker = Checker(checkout)
    statements = [one for path in paths for one in statements_of(path, _text(root, path))]
    return list(_with_same(checker.check_all(statements)))


def _relative(root: Path, file: Path) -> str:
    path = (file if file.is_absolute() else Path.cwd() / file).resolve()
    if not is_inside(str(path), str(root.resolve())):
        raise InputError("no-such-path", f"{file} is not below {root}. Try: --root DIR")
    return path.relative_to(root.resolve()).as_posix()


def _text(root: Path, path: str) -> str:
    try:
        with (root / path).open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error


def _with_same(checked: Iterable[CheckedStatement]) -> Iterator[CheckedStatement]:
    """Yield the statements; of those that name the same wrong thing, each knows the others."""
    several = list(checked)
    places: dict[tuple[str, str], list[str]] = defaultdict(list)
    for one in several:
        if one.truth is Truth.CONTRADICTED:
            places[one.kind, one.named].append(f"{one.statement.file}:{one.statement.line}")
    for one in several:
        own = f"{one.statement.file}:{one.statement.line}"
        same = tuple(place for place in places.get((one.kind, one.named), ()) if place != own)
        yield replace(one, same_as=same) if one.truth is Truth.CONTRADICTED and same else one
