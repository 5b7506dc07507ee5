"""`lint`: the statements of a project's knowledge files, each with what the tree says about it.

What checks them is imported where it is first needed: while nothing changed, the kept screen is shown without it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from knowbound import __version__
from knowbound.codebase.checkout import Checkout
from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.core.statement import LINT_VERSION, CheckedStatement, Truth
from knowbound.errors import InputError
from knowbound.files import is_inside
from knowbound.store.data_dir import INDEX
from knowbound.store.decisions import Screens
from knowbound.text.digest import digest_of

if TYPE_CHECKING:
    from knowbound.judge.models.asking import Asker
    from knowbound.kms.index.database import IndexedItem

# What agents load by themselves, in every folder: Claude Code, Codex and others, Gemini CLI, Copilot, Cursor, Windsurf.
_LOADED = re.compile(
    r"(?:^|/)(?:CLAUDE|claude|AGENTS|GEMINI|CLAUDE\.local)\.md$|^\.github/copilot-instructions\.md$"
    r"|(?:^|/)\.cursor/rules/.+\.mdc?$|(?:^|/)\.cursorrules$|(?:^|/)\.windsurfrules$"
    r"|(?:^|/)\.(?:claude|agents|codex)/(?:rules|skills|agents|commands)/.+\.md$"
)
_IN_TESTS = re.compile(r"(?:^|/)(?:tests?|fixtures?|examples?|testdata|vendor|demo|bench(?:mark)?s?)/")
_MOST_BYTES = 1_000_000  # of a knowledge file
_SCREEN, _BY = "lint", "lint"
_FILES_BACKEND = "files"  # the backend whose items are text of the project: linted where it is
ITEM = "item:"  # before the id of an item, in place of a file


def knowledge_files(checkout: Checkout) -> list[str]:
    """Return the files that agents load by themselves, nearest to the root first."""
    return loaded_files(checkout.files)


def loaded_files(files: Iterable[str]) -> list[str]:
    """Return those of the files that agents load by themselves, nearest to the root first."""
    found = (path for path in files if _LOADED.search(path) and not _IN_TESTS.search(path))
    return sorted(found, key=lambda path: (path.count("/"), path))


def lint(
    root: Path, files: Sequence[Path] = (), *, against: str = "", asker: Asker | None = None
) -> list[CheckedStatement]:
    """Check the statements of the named files, or of all files that agents load. Raises InputError.

    With a commit to compare with, only statements that are wrong now and held there, by rules alone.
    """
    checkout = Checkout(root)
    base = None
    if against:
        from knowbound.codebase.checkout import CommitCheckout  # noqa: PLC0415

        base = CommitCheckout(root, against)
    if base is not None:
        checkout.note_deleted_since(base.commit, base.files)  # what it deleted makes statements wrong
    checked = _checked(checkout, [_relative(root, file) for file in files] or knowledge_files(checkout))
    return _with_model(checked, checkout, asker) if base is None else broken_since(checked, base)


def lint_project(settings: Settings, asker: Asker | None = None) -> list[CheckedStatement]:
    """Check all files that agents load and the items of the store; return the stored result while nothing changed.

    A model is asked about what rules leave open. An item that the tree contradicts is held back from injection; one
    that holds again is injected again.
    """
    checkout = Checkout(settings.root)
    if settings.items_files:
        from knowbound.kms.opening import sync_files  # noqa: PLC0415

        sync_files(settings)
    items = _injectable_items(settings.home)

    def key() -> str:  # made anew after the check: holding items back changes their stamp
        judge = asker.judge if asker else ""
        parts = [__version__, str(LINT_VERSION), judge, str(settings.root), checkout.stamp, items_stamp(settings.home)]
        return digest_of(parts)

    with closing(Screens(settings.home)) as screens:
        kept = screens.screen(_SCREEN, key(), list[CheckedStatement])
    if kept is not None:
        return kept
    items_of_files = [indexed.item for indexed in items if indexed.backend == _FILES_BACKEND]
    items_of_store = [indexed.item for indexed in items if indexed.backend != _FILES_BACKEND]
    files = dict.fromkeys([*knowledge_files(checkout), *(item.anchor.file for item in items_of_files if item.anchor)])
    checked = _checked(checkout, [*files], items_of_store)
    checked = _with_model(checked, checkout, asker)
    if items:
        _hold_back(checked, items_of_store, items_of_files, settings)
    with closing(Screens(settings.home)) as screens:
        screens.keep_screen(_SCREEN, key(), checked)
    return checked


def _with_model(checked: list[CheckedStatement], checkout: Checkout, asker: Asker | None) -> list[CheckedStatement]:
    """Return the statements, those that rules left open decided by the model; as they are without a model."""
    if asker is None:
        return checked
    from knowbound.knowledge.asking import decided_by_model  # noqa: PLC0415  (without a model nothing of it is needed)

    return decided_by_model(checked, checkout, asker)


def items_stamp(home: Path) -> str:
    """Return a stamp that changes with the index of items."""
    found = []
    for name in (INDEX, f"{INDEX}-wal"):  # SQLite writes to its log first
        with suppress(OSError):
            info = (home / name).stat()
            found.append(f"{info.st_size}|{info.st_mtime_ns}")
    return " ".join(found)


def _injectable_items(home: Path) -> list[IndexedItem]:
    """Return the items that are injected, or would be if they were not held back."""
    if not (home / INDEX).exists():
        return []
    from knowbound.kms.index.database import Index  # noqa: PLC0415  (a project without items needs none of it)

    with closing(Index(home)) as index:
        return [indexed for indexed in index.all_items() if indexed.served or indexed.item.is_held_back]


def _hold_back(
    checked: Iterable[CheckedStatement],
    items_of_store: Sequence[Item],
    items_of_files: Sequence[Item],
    settings: Settings,
) -> None:
    """Flag the items that the tree contradicts, with the reason, and take the flag of `lint` off other items."""
    contradicted = [statement for statement in checked if statement.truth is Truth.CONTRADICTED]
    why_wrong = {statement.statement.file.removeprefix(ITEM): statement.why for statement in contradicted}  # by item
    for statement in contradicted:  # one of a file belongs to the item of that file that has its words
        words = " ".join(statement.statement.text.lstrip("-*+• ").split())
        here = (item for item in items_of_files if item.anchor and item.anchor.file == statement.statement.file)
        why_wrong |= {item.id: statement.why for item in here if words in " ".join(item.content.split())}
    from knowbound.kms.opening import hold_back  # noqa: PLC0415

    hold_back(settings, why_wrong, [*items_of_store, *items_of_files], by=_BY)


def broken_since(checked: Iterable[CheckedStatement], base: Checkout) -> list[CheckedStatement]:
    """Return the statements that are wrong now and held in the earlier checkout `base`."""
    wrong = [statement for statement in checked if statement.truth is Truth.CONTRADICTED]
    from knowbound.knowledge.checking import Checker  # noqa: PLC0415

    held_at_base = Checker(base).holds(wrong)
    return [statement for statement, held in zip(wrong, held_at_base, strict=True) if held]


def _checked(checkout: Checkout, paths: Sequence[str], items: Iterable[Item] = ()) -> list[CheckedStatement]:
    """Check the statements of these files of a checkout, and of items."""
    from knowbound.knowledge.checking import Checker, with_same  # noqa: PLC0415
    from knowbound.knowledge.statements import statements_of  # noqa: PLC0415

    statements = [statement for path in paths for statement in statements_of(path, _text(checkout.root, path))]
    statements += [statement for item in items for statement in statements_of(f"{ITEM}{item.id}", item.content)]
    if not paths and not statements:
        raise InputError(
            "no-knowledge-files",
            f"No CLAUDE.md, AGENTS.md, rules or skills in {checkout.root}. Name a file: knowbound lint docs/guide.md",
        )
    return list(with_same(Checker(checkout).check_all(statements)))


def _relative(root: Path, file: Path) -> str:
    """Return a file that a user named (from the current folder) as a path below the root. Raises InputError."""
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
