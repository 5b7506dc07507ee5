"""`kms import`: files into items, and again after the files changed (specification 2, "Items").

A second import of a file updates the items of the first: pieces that are still there stay, pieces that were reworded
update their item, new pieces are added, and items whose piece is gone are marked stale, for a person to decide.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from knowbound.core.item import Anchor, Item
from knowbound.core.same_content import content_sha
from knowbound.errors import InputError
from knowbound.kms.importing.anchors import AnchorChecker
from knowbound.kms.importing.sources import ImportedItem, ImportSource, is_outside, read_sources
from knowbound.kms.knowledge_store import AnchorState, KnowledgeStore
from knowbound.kms.rewordings import Rewordings
from knowbound.kms.validation import ItemEdit


class Imported(msgspec.Struct):
    """The items that an import changed, by id; and what it left out, with the place and the reason."""

    added: list[str] = []
    updated: list[str] = []
    unchanged: list[str] = []
    stale: list[str] = []
    skipped: list[tuple[str, str]] = []


def import_files(store: KnowledgeStore, root: Path, paths: list[Path], backend: str = "") -> Imported:
    """Read all files first, then write their items."""
    done = Imported()
    sources, left_out = read_sources(paths, root)
    done.skipped += left_out
    for source in sources:
        if source.is_anchored:
            _follow(store, source, done, backend)
        else:
            _take_over(store, source, done, backend)
    return done


def check_anchors(store: KnowledgeStore, root: Path) -> Imported:
    """Mark items stale whose place in the project changed, and unmark those whose place is as it was."""
    checker = AnchorChecker(root)
    done = Imported()
    marks: dict[str, AnchorState] = {}
    for known in store.index.anchored():
        anchor = known.item.anchor
        if anchor is None or not known.item.is_served or is_outside(anchor.file):
            continue
        stale = checker.is_stale(anchor)
        if stale != known.item.stale:
            marks[known.item.id] = AnchorState(anchor, stale)
    done.stale = sorted(id_ for id_, mark in marks.items() if mark.stale)
    done.unchanged = sorted(id_ for id_, mark in marks.items() if not mark.stale)
    store.mark(marks)
    return done


def _follow(store: KnowledgeStore, source: ImportSource, done: Imported, backend: str) -> None:
    """Import a file of the project, which may have been imported before."""
    old = {known.item.id: known.item for known in store.index.anchored(source.file) if known.item.is_served}
    by_part = {item.anchor.part: item for item in old.values() if item.anchor}
    marks: dict[str, AnchorState] = {}
    new: list[ImportedItem] = []
    for found in source.items:
        anchor = found.new.anchor
        item = by_part.get(anchor.part) if anchor else None
        if item is None or item.id not in old:
            new.append(found)
            continue
        del old[item.id]
        done.unchanged.append(item.id)
        marks[item.id] = AnchorState(anchor, False)
    gone = Rewordings(old.values())
    added = [found for found in new if not _is_rewording(store, found, gone, old, done)]
    _add(store, added, done, backend)
    done.stale += old
    store.mark(marks | {id_: AnchorState(item.anchor, True) for id_, item in old.items()})


def _is_rewording(
    store: KnowledgeStore, found: ImportedItem, gone: Rewordings, old: dict[str, Item], done: Imported
) -> bool:
    """Update the item that the piece is a new wording of; report whether there is one."""
    anchor = found.new.anchor
    assert anchor is not None
    best = gone.of(anchor.heading, found.new.content)
    if best is None:
        return False
    if _update(store, best.id, found, anchor, done):
        gone.remove(best)
        del old[best.id]
    return True


def _take_over(store: KnowledgeStore, source: ImportSource, done: Imported, backend: str) -> None:
    """Import an export of another memory. Its ids are kept, so that a later export updates."""
    new: list[ImportedItem] = []
    for found in source.items:
        item = _stored(store, found)
        if found.flag:
            done.skipped.append((found.where, f"it is flagged {found.flag} there"))
        elif item is None:
            new.append(found)
        elif item.content_sha == content_sha(found.new.content):
            done.unchanged.append(item.id)
        else:
            _update(store, item.id, found, None, done)
    _add(store, new, done, backend)


def _stored(store: KnowledgeStore, found: ImportedItem) -> Item | None:
    try:
        return store.get(found.new.id) if found.new.id else None
    except InputError:
        return None  # an invalid id is reported when it is added


def _update(store: KnowledgeStore, id_: str, found: ImportedItem, anchor: Anchor | None, done: Imported) -> bool:
    try:
        store.update(id_, ItemEdit(content=found.new.content, anchor=anchor))
    except InputError as error:
        done.skipped.append((found.where, str(error)))
        return False
    done.updated.append(id_)
    return True


def _add(store: KnowledgeStore, new: list[ImportedItem], done: Imported, backend: str) -> None:
    outcomes = store.add_many([found.new for found in new], backend)
    for found, outcome in zip(new, outcomes, strict=True):
        if isinstance(outcome, InputError):
            done.skipped.append((found.where, str(outcome)))
        else:
            done.added.append(outcome.id)
