"""`knowbound kms`: add, find and correct the items that are injected into agents' context."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowbound.cli import options
from knowbound.cli.kms.list import SHOWN, list_, short
from knowbound.cli.main import VerbGroup
from knowbound.cli.options import argument, option, several, verb
from knowbound.cli.output import echo, print_result

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.kms.importing import Imported
    from knowbound.kms.knowledge_store import ItemDetails, KnowledgeStore
    from knowbound.kms.refusals import NearCopy


_format = options.format_of(("text", "json"))
_again = option("Store content that was superseded, retracted, deleted or reaped: it is true again.")


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


_item_options = several(
    _without_none,
    type=option("Set the type: memory, insight, pattern, relationship, fact or procedure."),
    source=option("Set the source: personal, technical or cross_domain."),
    subject=option("Name the subject: a service, a topic."),
    user=option("Name the user that the item belongs to."),
    confidence=option("Set the certainty, 0 to 1.", type=click.FLOAT),
)


@click.group("kms", cls=VerbGroup)
def kms_command() -> None:
    """Add, find and correct the items that are injected into agents' context.

    Items are stored in the backends that kms.backends names (default: an embedded SQLite file). A correction reaches
    every copy of an item in every backend. A deletion can be undone until the item is reaped: kms flag ID --clear.
    """


kms_command.add_command(list_)


@verb("add", kms_command)
def add(
    content: str = argument(),
    described: dict[str, Any] = _item_options,
    relates: tuple[str, ...] = option("Relate the item to another item, e.g. depends_on=ID.", metavar="KIND=ID"),
    anchor: str = option("Tie the item to a file, and to a heading or symbol in it.", metavar="FILE[#NAME]"),
    backend: str = option("Store the item in this backend (default: the first of kms.backends)."),
    again: bool = _again,
    root: Path | None = options.project,
    format_: str = _format,
) -> None:
    """Store an item. CONTENT is a plain statement; - reads it from stdin.

    Items that say nearly the same are shown. Refused is content that is stored already, and content that was
    superseded, retracted, deleted or reaped, also in other words; the error names the item that replaced it.
    """
    from knowbound.core.item import Relationship
    from knowbound.kms.pieces import anchor_to
    from knowbound.kms.validation import NewItem

    with _open_store(root) as (settings, store):
        new = NewItem(
            content=_argument_or_stdin(content),
            relationships=tuple(Relationship(kind, to) for kind, _, to in (edge.partition("=") for edge in relates)),
            anchor=anchor_to(settings.root, anchor) if anchor else None,
            **described,
        )
        added = store.add(new, backend, again=again)
    near = [{"id": copy.id, "similarity": round(copy.similarity, 3), "content": copy.content} for copy in added.near]
    lines = [f"Stored {added.item.id}."]
    lines += [f"Nearly the same: {copy['id']} ({copy['similarity']}): {short(str(copy['content']))}" for copy in near]
    if near:
        lines.append(f"If one replaces the other: knowbound kms supersede OLD --by-id {added.item.id}")
    print_result(format_, "item", {"item": added.item, "near": near}, lines)


@verb("search", kms_command)
def search(
    words: tuple[str, ...] = argument(required=True),
    subject: str = option("Find only items of this subject."),
    limit: int = option("Show this many items at most.", within=(1, 1000), default=10),
    root: Path | None = options.project,
    format_: str = _format,
) -> None:
    """Find items by words and meaning, ranked as for an agent: best first, with id and score.

    A * marks the items that the hook would inject if the words were a prompt.
    """
    from knowbound.agent.background import keep_current
    from knowbound.kms.index.ranking import quality_is_on
    from knowbound.kms.index.search import search as find
    from knowbound.kms.opening import open_index

    settings, query = options.project_settings(root), " ".join(words)
    with closing(open_index(settings)) as opened_index, opened_index.reading() as index:
        is_on = quality_is_on(settings.quality_ranking)
        items = find(index, query, only={"subject": subject}, limit=limit, with_quality=is_on).items
        is_empty = not any(served for _, served in opened_index.counts().values())
    injected = _injected_ids(settings, query)
    names = ("id", "backend", "type", "subject", "score", "flag", "content")
    lines = [
        f"{'*' if item.id in injected else ' '} {item.score:.3f}  {item.id}  {short(item.content)}"
        + (f"  [{item.flag}]" if item.flag else "")
        for item in items
    ]
    if items:
        others = len(injected - {item.id for item in items})
        also = f", and {others} more that are not in this list" if others else ""
        explanation = (
            f"* would be injected for this prompt{also}." if injected else "Nothing would be injected for this prompt."
        )
        lines.append(explanation)
    results = [{name: getattr(item, name) for name in names} | {"injected": item.id in injected} for item in items]
    if is_empty:
        lines = ["Nothing found: the store serves no item.", "Next: knowbound kms list   (says how it gets some)"]
    print_result(format_, "search", {"results": results}, lines or ["Nothing found."], keep_current(settings))


def _injected_ids(settings: Settings, prompt: str) -> set[str]:
    """Return the ids of the items that the hook's rules would inject into a new session; no model is asked."""
    from knowbound.injection import hook_settings
    from knowbound.injection.inject import choose_for_prompt
    from knowbound.injection.prompt import HookPrompt
    from knowbound.store.own_index import IndexRefusedError

    root, home = str(settings.root), str(settings.home)
    try:
        rules = hook_settings.load(root, home, keep=False)
        choice = choose_for_prompt(home, rules, HookPrompt({"prompt": prompt}))
    except IndexRefusedError:  # the hook does not use this index
        return set()
    return {item.id for item in choice.items}


@verb("show", kms_command)
def show(id_: str = argument(), root: Path | None = options.project, format_: str = _format) -> None:
    """Show an item with its backends, copies, predecessors and corrections."""
    with _open_store(root) as (_, store):
        shown = store.show(id_)
    print_result(format_, "item", shown, list(_item_lines(shown)))


@verb("update", kms_command)
def update(
    id_: str = argument(),
    content: str | None = option("Set the content; - reads it from stdin."),
    described: dict[str, Any] = _item_options,
    again: bool = _again,
    root: Path | None = options.project,
    format_: str = _format,
) -> None:
    """Change an item in place. Options that are not given leave their values as they are."""
    from knowbound.kms.validation import ItemEdit

    edit = ItemEdit(content=None if content is None else _argument_or_stdin(content), **described)
    with _open_store(root) as (_, store):
        item = store.update(id_, edit, again=again)
    print_result(format_, "item", {"item": item}, [f"Updated {item.id}."])


@verb("supersede", kms_command)
def supersede(
    id_: str = argument(),
    content: str | None = argument(),
    by_id: str = option("Replace it by this stored item.", metavar="ID"),
    also: tuple[str, ...] = option("Also replace this item, which says the same as the old one.", metavar="ID"),
    note: str = option("Give the reason."),
    again: bool = _again,
    root: Path | None = options.project,
    format_: str = _format,
) -> None:
    """Replace an item, and every copy of it, by new CONTENT or by another item.

    Items that say nearly the same as the old one are shown. On a terminal you are asked which of them to replace, too;
    elsewhere repeat the command with --also ID.
    """
    from knowbound.kms.validation import ItemEdit

    edit = None if content is None else ItemEdit(content=_argument_or_stdin(content))
    with _open_store(root) as (_, store):
        item = store.supersede(id_, by_id=by_id, by=edit, note=note, also=also, again=again)
        near = store.near_copies(id_)
        if near and format_ == "text" and _is_terminal():
            chosen = [copy.id for copy in near if _is_same_fact(copy)]
            store.supersede(id_, by_id=item.id, note=note, also=chosen)
            also, near = (*also, *chosen), [copy for copy in near if copy.id not in chosen]
    lines = [f"{superseded} is superseded by {item.id}." for superseded in (id_, *also)]
    lines += [f"{_nearness_words(copy)}: {copy.id} ({copy.similarity:.2f}): {short(copy.content)}" for copy in near]
    if near:
        lines.append(f"If it is the same fact: knowbound kms supersede {id_} --by-id {item.id} --also {near[0].id}")
    print_result(format_, "item", {"item": item, "near": [copy._asdict() for copy in near]}, lines)


@verb("flag", kms_command)
def flag(
    id_: str = argument(),
    flag_: str | None = argument(metavar="[RETRACTED|UNVERIFIED|DELETED]"),
    clear: bool = option("Remove the flag; this also undoes a deletion."),
    note: str = option("Give the reason."),
    root: Path | None = options.project,
    format_: str = _format,
) -> None:
    """Flag an item as wrong (RETRACTED: never injected) or doubtful (UNVERIFIED: ranked lower and marked)."""
    if clear == (flag_ is not None):
        raise click.UsageError("Give a flag, or --clear.")
    with _open_store(root) as (_, store):
        item = store.unflag(id_) if flag_ is None else store.flag(id_, flag_, note)
    line = f"{item.id} is {item.flag.kind}." if item.flag else f"{item.id} has no flag."
    print_result(format_, "item", {"item": item}, [line])


@verb("delete", kms_command)
def delete(
    id_: str = argument(),
    note: str = option("Give the reason."),
    root: Path | None = options.project,
    format_: str = _format,
) -> None:
    """Delete an item and every copy of it. Undo is possible until the item is reaped."""
    with _open_store(root) as (settings, store):
        item = store.delete(id_, note)
        days = settings.kms_reap_days
    lines = [f"Deleted {item.id}. To undo within {days} days: knowbound kms flag {item.id} --clear"]
    print_result(format_, "item", {"item": item}, lines)


@verb("reap", kms_command)
def reap(
    older_than: int | None = option(
        "Remove items that were flagged longer ago (default: kms.reap_days).", within=(0, 36_500), metavar="DAYS"
    ),
    root: Path | None = options.project,
    format_: str = _format,
) -> None:
    """Remove items for good that were deleted or superseded long ago, and shorten chains of superseded items."""
    with _open_store(root) as (settings, store):
        days = settings.kms_reap_days if older_than is None else older_than
        reaped = store.reap(timedelta(days=days))
    removed, compacted = len(reaped.removed), len(reaped.compacted)
    lines = [f"Removed {removed} items flagged more than {days} days ago; {compacted} chains shortened."]
    print_result(format_, "reap", {"removed": reaped.removed, "compacted": reaped.compacted}, lines)


@verb("import", kms_command)
def import_(
    paths: tuple[Path, ...] = argument(),
    claude_memory: bool = option("Import the notes that Claude Code keeps on this project."),
    backend: str = option("Store the items in this backend (default: the first of kms.backends)."),
    root: Path | None = options.project,
    format_: str = _format,
) -> None:
    """Import CLAUDE.md, AGENTS.md, folders of Markdown, JSON lines, lists, and exports of other memory stores.

    Files of the project that a CLAUDE.md includes (@path) are imported with it. Importing a file again updates its
    items; items whose text is gone are marked stale.
    """
    from knowbound.kms.importing import import_files
    from knowbound.kms.pieces import memory_folder

    if not paths and not claude_memory:
        raise click.UsageError("Give a path, or --claude-memory.")
    with _open_store(root) as (settings, store):
        memory = [memory_folder(settings.root, os.environ)] if claude_memory else []
        imported = import_files(store, settings.root, [*paths, *memory], backend)
    print_result(format_, "import", imported, list(_import_lines(imported)))


@verb("sync", kms_command)
def sync(
    everything: bool = option(
        "Read everything again, and remove items from the index that no backend has any more.", "--all"
    ),
    root: Path | None = options.project,
    format_: str = _format,
) -> None:
    """Update the local index from the backends, and mark items whose file changed as stale.

    A damaged or missing index is built again.
    """
    from knowbound.injection.log import tidy
    from knowbound.kms.importing import check_anchors
    from knowbound.kms.index.freshness import freshness_of

    with _open_store(root, repair=True) as (settings, store):
        synced_by_backend = store.sync(everything=everything)
        checked = check_anchors(store, settings.root)
        tidy(settings.home, settings.injection_log_days)
        counts = store.index.counts()
    backends: dict[str, dict[str, int | str]] = {}
    lines = []
    for name, synced in synced_by_backend.items():
        items, served = counts.get(name, (0, 0))
        backends[name] = {"written": synced.written, "dropped": synced.dropped, "items": items, "served": served}
        lines.append(f"{name}: {items} items, {served} served ({synced.written} written, {synced.dropped} dropped)")
    if checked.stale or checked.unchanged:
        lines.append(f"{len(checked.stale)} became stale, {len(checked.unchanged)} are current again.")
    for name in settings.shared_backends:
        current_at = freshness_of(settings.home, name).current_at
        lines.append(f"{name}: current at {current_at}")
        if name in backends:
            backends[name]["current_at"] = current_at
    print_result(format_, "sync", {"backends": backends, "stale": checked.stale, "current": checked.unchanged}, lines)


@contextmanager
def _open_store(root: Path | None, *, repair: bool = False) -> Iterator[tuple[Settings, KnowledgeStore]]:
    """Open the store of a project, with its settings, for a change by the user."""
    from knowbound.kms.opening import open_knowledge_store

    settings = options.project_settings(root)
    store = open_knowledge_store(settings, by=options.user_name(), repair=repair)
    try:
        yield settings, store
    finally:
        store.close()


def _argument_or_stdin(text: str) -> str:
    """Return the argument, or stdin for -. The check of the item refuses bytes that are not UTF-8."""
    return sys.stdin.buffer.read().decode("utf-8", "surrogateescape") if text == "-" else text


def _item_lines(shown: ItemDetails) -> Iterator[str]:
    item = shown.item
    state = "served" if shown.served else "not served"
    yield f"{item.id}  {item.type}, {item.source}, confidence {item.confidence:g}, {state}"
    yield f"\n{item.content}\n"
    rows = {
        "subject": item.subject,
        "user": item.user,
        "since": item.timestamp,
        "in": ", ".join(shown.backends),
        "from": f"{item.anchor.file} {item.anchor.heading or item.anchor.symbol}".strip() if item.anchor else "",
        "stale": "yes: its file or section changed" if item.stale else "",
        "copies": ", ".join(shown.copies),
        "supersedes": ", ".join(shown.supersedes),
        "replaced by": shown.in_force if shown.in_force != item.id else "",
        "related": ", ".join(f"{edge.kind} {edge.target}" for edge in item.relationships),
    }
    if item.flag:
        rows["flag"] = f"{item.flag.kind}, {item.flag.date} by {item.flag.by}: {item.flag.note}".rstrip(": ")
    yield from (f"{name:11} {value}" for name, value in rows.items() if value)
    yield from (f"{entry.time}  {entry.tool} by {entry.by}  {entry.detail}" for entry in shown.corrections[-SHOWN:])


def _import_lines(imported: Imported) -> Iterator[str]:
    yield (
        f"{len(imported.added)} added, {len(imported.updated)} updated, {len(imported.unchanged)} unchanged, "
        f"{len(imported.stale)} stale, {len(imported.skipped)} left out."
    )
    yield from (f"  left out: {where}: {reason}" for where, reason in imported.skipped[:SHOWN])
    if len(imported.skipped) > SHOWN:
        yield f"  … and {len(imported.skipped) - SHOWN} more (--format json shows all)"
    yield from (f"  stale: {id_}" for id_ in imported.stale[:SHOWN])
    if imported.stale:
        yield "Next: knowbound kms show ID   (gone from its file, but still served: knowbound kms delete ID)"
    elif imported.added:
        yield "Next: knowbound doctor   (whether agents get them; what was made of a file: knowbound kms list)"


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _nearness_words(near: NearCopy) -> str:
    return "Says the same as the old one" if near.restates else "Says something near the old one"


def _is_same_fact(near: NearCopy) -> bool:
    """Ask the user. The default answer is the verdict of the rules."""
    echo(f"{_nearness_words(near)}: {near.id}: {short(near.content)}")
    return click.confirm("Supersede it too?", default=near.restates)
