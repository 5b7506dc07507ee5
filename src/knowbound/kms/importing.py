"""`kms import`: files into items, and again after the files changed (specification 2, "Items").

Sources are Markdown written for agents, lists, JSON lines, and exports of other memories. A second import of a file
updates the items of the first: pieces that are still there stay, pieces that were reworded update their item, new
pieces are added, and items whose piece is gone are marked stale, for a person to decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from knowbound.core.item import Anchor, Item, ItemSource, ItemType, Relationship, content_sha
from knowbound.core.paths import IGNORED_FOLDERS
from knowbound.errors import InputError
from knowbound.files import Walk, is_inside, leads_out, open_below
from knowbound.kms import pieces
from knowbound.kms.backends.outside import relationship
from knowbound.kms.knowledge_store import AnchorState, KnowledgeStore
from knowbound.kms.pieces import MARKDOWN
from knowbound.kms.validation import ItemEdit, NewItem

_PLAIN_TEXT = (".txt", "")
_LARGEST_BYTES = 64 * 1024 * 1024
_SKIPPED_FOLDERS = IGNORED_FOLDERS | {"dist", "build"}
# Names of a field in a record; the first that the record has counts.
_CONTENT = ("content", "memory", "text", "value", "fact", "observation")
_SUBJECT = ("subject", "category", "topic", "name")
_TYPE = ("type", "contentType", "content_type")
_USER = ("user", "user_id", "userId")
_TIME = ("timestamp", "updated_at", "created_at", "date")
# The kinds of Claude Code's memory files (`metadata.type` in their front matter).
_MEMORY_KINDS = {
    "user": (ItemType.MEMORY, ItemSource.PERSONAL),
    "feedback": (ItemType.INSIGHT, ItemSource.PERSONAL),
    "project": (ItemType.FACT, ItemSource.TECHNICAL),
    "reference": (ItemType.FACT, ItemSource.TECHNICAL),
}


class ImportedItem(NamedTuple):
    """An item to add, and the place it comes from, for people."""

    where: str
    new: NewItem
    flag: str = ""  # its flag in the store that it comes from: a flagged item is left out


class ImportSource(NamedTuple):
    """A file to import. An anchored file is followed: an item whose text is no longer in it becomes stale."""

    file: str
    is_anchored: bool
    items: list[ImportedItem]


def read_sources(paths: list[Path], root: Path) -> tuple[list[ImportSource], list[tuple[str, str]]]:
    """Read every named file and folder and what they include, or raise an error: nothing is half read.

    The second list is what was left out, with place and reason.
    """
    found: dict[Path, ImportSource] = {}  # by real_path path: a file that is named twice is read once
    outside: list[str] = []
    left_out: list[tuple[str, str]] = []
    for path in paths:
        if leads_out(path, root):
            raise _unreadable(path, f"it is a link that leads out of {root}, to {path.resolve()}")
        real_path = path.resolve()
        # A link below a folder of the project may lead to any other place in the project.
        base = root if is_inside(real_path, root.resolve()) else real_path if real_path.is_dir() else real_path.parent
        for file in _files_to_import(path, base, outside):
            _read_with_included(file, root, base, found, left_out)
    left_out += [(link, "a link that leads out of the root is not followed") for link in outside]
    return list(found.values()), left_out


def _read_with_included(
    file: Path, root: Path, base: Path, found: dict[Path, ImportSource], left_out: list[tuple[str, str]]
) -> None:
    """Read a file and what it includes, only below the base.

    The author of the file must not choose which of the user's other files are stored.
    """
    waiting = [(file, 0)]  # with the number of files that include it, one by the other
    while waiting:
        path, hops = waiting.pop(0)
        real_path = path.resolve()
        if real_path in found:
            continue
        source, text = _read(path, root, base)
        found[real_path] = source
        if not hops and path.name.lower() not in pieces.INCLUDING_NAMES:  # its @ is no inclusion
            continue
        for included_file in pieces.included(text, path.parent):
            where = f"{source.file}, @{included_file}"
            if included_file.resolve() in found:
                continue
            if not is_inside(included_file.resolve(), base.resolve()):
                reason = f"it is outside of {base}. If you want it: knowbound kms import {included_file}"
                left_out.append((where, reason))
            elif hops == pieces.MOST_HOPS:
                left_out.append((where, f"more than {pieces.MOST_HOPS} files include each other"))
            elif included_file.suffix.lower() not in (*MARKDOWN, *_PLAIN_TEXT):
                left_out.append((where, "only Markdown and plain text are included"))
            else:
                waiting.append((included_file, hops + 1))


def _files_to_import(path: Path, base: Path, outside: list[str]) -> Iterator[Path]:
    """Yield a file, or the Markdown of a folder; add links that lead out of the base to `outside`."""
    if path.is_dir():
        # Of a folder only Markdown is read; data files have to be named.
        walk = Walk(path, root=base, ignored=_SKIPPED_FOLDERS)
        yield from sorted(file for file in (Path(entry.path) for entry in walk) if file.suffix.lower() in MARKDOWN)
        outside += [link for link in walk.outside if Path(link).suffix.lower() in MARKDOWN or Path(link).is_dir()]
    elif path.is_file():
        yield path
    else:
        raise InputError(
            "no-such-path", f"{path} does not exist. Try: the path of a file or folder, seen from {Path.cwd()}"
        )


def _read(path: Path, root: Path, base: Path) -> tuple[ImportSource, str]:
    """Read a file by its kind; return its items, and its text if it may include other files."""
    text, blob = _text_of(path, base)
    file = _name(path, root)
    is_memory = pieces.is_memory_file(path)
    is_followed = is_memory or not is_outside(file)  # the project's files, and the agent's memory
    match path.suffix.lower():
        case ".jsonl" | ".ndjson":
            lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
            records = [(_decoded(line, path, f" at line {number}"), f"{path.name}:{number}") for number, line in lines]
            return ImportSource(file, is_anchored=False, items=[_record(value, path, at) for value, at in records]), ""
        case ".json":
            return ImportSource(file, is_anchored=False, items=list(_json(path, text))), ""
        case ".txt" | "":
            return ImportSource(file, is_followed, list(_lines(file, text, blob))), text
    if is_memory and path.name == pieces.INDEX_FILE:
        text = pieces.TOPIC_LINE.sub("", text)  # links to files that are imported themselves
    return ImportSource(file, is_followed, list(markdown_items(file, text, blob))), text


def _text_of(path: Path, base: Path) -> tuple[str, str]:
    """Return the text of a file, and git's id of its content."""
    try:
        with open_below(base, path.absolute()) as opened:
            content = opened.read(_LARGEST_BYTES + 1)  # one more byte: it is too large
        if len(content) > _LARGEST_BYTES:
            raise _unreadable(path, "it is larger than 64 MiB")
        return content.decode("utf-8-sig"), pieces.blob_id(content)
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise _unreadable(path, f"it is not UTF-8 at byte {error.start}") from error


def _name(path: Path, root: Path) -> str:
    """Return the path relative to the root where it is inside; below the user's home folder it begins with `~/`."""
    path, root, home = path.resolve(), root.resolve(), Path.home().resolve()
    if path.is_relative_to(root):
        return path.relative_to(root).as_posix()
    return f"~/{path.relative_to(home).as_posix()}" if path.is_relative_to(home) else path.as_posix()


def is_outside(file: str) -> bool:
    """Report whether the file of an anchor is outside the project."""
    return file.startswith("~/") or Path(file).is_absolute()


def markdown_items(file: str, text: str, blob: str) -> Iterator[ImportedItem]:
    """Yield the items of a Markdown file; `blob` is git's id of its content."""
    document = pieces.split(text)
    memory_kind = _MEMORY_KINDS.get(document.fields.get("type", ""))
    about = document.fields.get("description") or document.fields.get("name", "")
    for piece in document.pieces:
        type_, source = memory_kind or (
            ItemType.PROCEDURE if piece.is_procedure else ItemType.FACT,
            ItemSource.TECHNICAL,
        )
        yield ImportedItem(
            f"{file}, {piece.heading}" if piece.heading else file,
            NewItem(
                content=piece.content,
                type=type_,
                source=source,
                subject=(piece.heading or about)[:200],
                anchor=Anchor(file, heading=piece.heading, blob=blob, part=pieces.part_id(piece.content)),
            ),
        )


def _lines(file: str, text: str, blob: str) -> Iterator[ImportedItem]:
    """Read a simple list: one item per line."""
    for number, line in enumerate(text.splitlines(), 1):
        content = line.strip().removeprefix("- ").removeprefix("* ").strip()
        if content and not line.startswith("#"):  # # begins a heading or a comment
            anchor = Anchor(file, blob=blob, part=pieces.part_id(line))
            yield ImportedItem(f"{file}:{number}", NewItem(content=content, type=ItemType.MEMORY, anchor=anchor))


def _json(path: Path, text: str) -> Iterator[ImportedItem]:
    """Read a list of strings or of records; Mem0's export has it under `results` or `memories`."""
    document = _decoded(text, path, "")
    if isinstance(document, dict):
        lists = [
            document[name] for name in ("results", "memories", "items", "entities", "observations") if name in document
        ]
        document = next((found for found in lists if isinstance(found, list)), document)
    if not isinstance(document, list):
        raise _unreadable(path, "it has no list, neither at the top nor under results, memories or items")
    for number, entry in enumerate(document, 1):
        yield _record(entry, path, f"{path.name}, entry {number}")


def _decoded(text: str, path: Path, where: str) -> Any:
    """Return the value of a JSON text; `where` completes the message about a broken one."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise _unreadable(path, f"its JSON is broken{where}: {error}") from error


def _record(value: Any, path: Path, where: str) -> ImportedItem:
    """Return the item of a text or an object; fields of its `metadata` count where the object has none of the name."""
    if isinstance(value, str):
        return ImportedItem(where, NewItem(content=value, type=ItemType.MEMORY))
    if not isinstance(value, dict):
        raise _unreadable(path, f"{where} is neither text nor an object")
    metadata = value.get("metadata")
    both = metadata if isinstance(metadata, dict) else {}  # fields of the object win
    both = both | {key: _without_date_wrapper(field) for key, field in value.items() if field is not None}
    content = _first(both, _CONTENT)
    if not content:
        raise _unreadable(path, f"{where} has no content (looked for {', '.join(_CONTENT)})")
    return ImportedItem(
        where,
        NewItem(
            id=_text(both.get("id")),
            content=content,
            type=type_ if (type_ := _first(both, _TYPE)) in set(ItemType) else ItemType.MEMORY,
            source=_text(both.get("source")) if both.get("source") in set(ItemSource) else ItemSource.TECHNICAL,
            subject=" ".join(_first(both, _SUBJECT).split())[:200],
            user=_first(both, _USER),
            timestamp=_first(both, _TIME),
            confidence=_number(both.get("confidence")),
            relationships=_relationships(both.get("relationships"), path, where),
        ),
        _text(both.get("flag")),
    )


def _first(record: dict[str, Any], names: tuple[str, ...]) -> str:
    """Return the first of these fields that has a text."""
    return next((record[name] for name in names if isinstance(record.get(name), str) and record[name].strip()), "")


def _without_date_wrapper(value: object) -> object:
    """Return the date of an export of MongoDB as text; any other value as it is."""
    return value["$date"] if isinstance(value, dict) and value.keys() == {"$date"} else value


def _text(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else str(value)


def _number(value: object) -> float:
    """Return 1 for a missing number; validation.py refuses NaN."""
    if value is None:
        return 1.0
    return value if isinstance(value, (int, float)) else math.nan


def _relationships(value: object, path: Path, where: str) -> tuple[Relationship, ...]:
    """Return the relationships of a record; refuse what is none."""
    try:
        rows = [relationship(edge) or edge for edge in value] if isinstance(value, list) else value or []
        return msgspec.convert(rows, tuple[Relationship, ...], from_attributes=True)
    except msgspec.ValidationError as error:
        raise _unreadable(path, f"the relationships of {where} are wrong: {error}") from error


def _unreadable(path: Path, reason: str) -> InputError:
    return InputError("import-unreadable", f"{path} cannot be imported: {reason}. Nothing was imported.")


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
            _import_followed(store, source, done, backend)
        else:
            _import_export(store, source, done, backend)
    return done


def check_anchors(store: KnowledgeStore, root: Path) -> Imported:
    """Mark items stale whose place in the project changed, and unmark those whose place is as it was."""
    checker = pieces.AnchorChecker(root)
    done = Imported()
    marks: dict[str, AnchorState] = {}
    for indexed in store.index.anchored():
        anchor = indexed.item.anchor
        if anchor is None or not indexed.item.is_served or is_outside(anchor.file):  # withdrawn, or not in the project
            continue
        stale = checker.is_stale(anchor)
        if stale != indexed.item.stale:
            marks[indexed.item.id] = AnchorState(anchor, stale)
    done.stale = sorted(id_ for id_, mark in marks.items() if mark.stale)
    done.unchanged = sorted(id_ for id_, mark in marks.items() if not mark.stale)
    store.mark(marks)
    return done


def _import_followed(store: KnowledgeStore, source: ImportSource, done: Imported, backend: str) -> None:
    """Import a file again: pieces that it had are kept, reworded ones update their item, lost ones make it stale."""
    old = {indexed.item.id: indexed.item for indexed in store.index.anchored(source.file) if indexed.item.is_served}
    by_part = {item.anchor.part: item for item in old.values() if item.anchor}
    marks: dict[str, AnchorState] = {}
    new: list[ImportedItem] = []
    for found in source.items:
        anchor = found.new.anchor
        item = by_part.get(anchor.part) if anchor else None
        if item is None or item.id not in old:  # new, or the second piece with this text
            new.append(found)
            continue
        del old[item.id]  # what is left there is no longer in the file
        done.unchanged.append(item.id)
        marks[item.id] = AnchorState(anchor, stale=False)
    gone, added = pieces.Rewordings(old.values()), list[ImportedItem]()
    for found in new:
        anchor = found.new.anchor
        reworded = gone.of(anchor.heading, found.new.content) if anchor else None
        if reworded is None:
            added.append(found)
        elif _update(store, reworded.id, found, anchor, done):
            gone.remove(reworded)
            del old[reworded.id]
    _add(store, added, done, backend)
    done.stale += old
    store.mark(marks | {id_: AnchorState(item.anchor, stale=True) for id_, item in old.items()})


def _import_export(store: KnowledgeStore, source: ImportSource, done: Imported, backend: str) -> None:
    """Import an export of another memory. Its ids are kept, so that a later export updates."""
    new: list[ImportedItem] = []
    for found in source.items:
        item = _stored_item(store, found)
        if found.flag:
            done.skipped.append((found.where, f"it is flagged {found.flag} there"))
        elif item is None:
            new.append(found)
        elif item.content_sha == content_sha(found.new.content):
            done.unchanged.append(item.id)
        else:
            _update(store, item.id, found, anchor=None, done=done)
    _add(store, new, done, backend)


def _stored_item(store: KnowledgeStore, found: ImportedItem) -> Item | None:
    """Return the stored item with the id that the export gives; None for a new one."""
    try:
        return store.get(found.new.id) if found.new.id else None
    except InputError:
        return None  # an invalid id is reported when it is added


def _update(store: KnowledgeStore, id_: str, found: ImportedItem, anchor: Anchor | None, done: Imported) -> bool:
    """Give an item the new wording; report whether the store took it."""
    try:
        store.update(id_, ItemEdit(content=found.new.content, anchor=anchor))
    except InputError as error:
        done.skipped.append((found.where, str(error)))
        return False
    done.updated.append(id_)
    return True


def _add(store: KnowledgeStore, new: list[ImportedItem], done: Imported, backend: str) -> None:
    """Add new items; note which were added, and why the store refused others."""
    outcomes = store.add_many([found.new for found in new], backend)
    for found, outcome in zip(new, outcomes, strict=True):
        if isinstance(outcome, InputError):
            done.skipped.append((found.where, str(outcome)))
        else:
            done.added.append(outcome.id)
