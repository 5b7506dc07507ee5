"""`knowbound kms list`: list items by their origin, and the text that other tools put into agents' context."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from knowbound.cli import options
from knowbound.cli.options import option, verb
from knowbound.cli.output import print_result
from knowbound.text.printable import counted, short_line

if TYPE_CHECKING:
    from knowbound.kms.listing import ListedItem, ListedSource
    from knowbound.store.observed import UnmanagedItem

SHOWN = 20  # lines of a list in text; JSON has all
_SHOWN_PER_SOURCE = 5  # items of a source in the overview; with --source 20
UNMANAGED = "unmanaged"
_SOURCE_NAMES = {"added": "Added by people and agents", "backend": "Put by others into the backend", "memory": "Memory"}


@verb("list")
def list_(
    source: str = option("List only items from here: a file or folder, file, memory, added, backend, unmanaged."),
    subject: str = option("List only items of this subject."),
    flag: str = option("List only items with this flag (UNVERIFIED, RETRACTED, SUPERSEDED, DELETED)."),
    root: Path | None = options.project,
    format_: str = options.format_of(("text", "json")),
) -> None:
    """List the items by their origin, with injections, stale items and flags.

    Also lists the text that other hooks, instruction files and memories put into agents' context, as `observe` saw it
    in traces. Such text is unmanaged: knowbound cannot correct it.
    """
    from knowbound.agent.background import keep_current
    from knowbound.kms.listing import listed_items, listed_sources, matching
    from knowbound.kms.opening import open_index
    from knowbound.kms.validation import checked_flag

    settings = options.project_settings(root)
    flag = checked_flag(flag) if flag else ""
    with closing(open_index(settings)) as index:
        everything = listed_items(index, _injection_counts(settings.home))
    items = matching(everything, source=source, subject=subject, flag=flag)
    sources = listed_sources(items)
    # Unmanaged items have no subject and no flag.
    unmanaged_items = _unmanaged(settings.home) if source in ("", UNMANAGED) and not subject and not flag else []
    document = {
        "totals": {
            "items": len(items),
            "served": sum(item.served for item in items),
            "stale": sum(item.stale and item.served for item in items),
            "injected": sum(item.injections > 0 for item in items),
            "unmanaged": len(unmanaged_items),
            "flags": dict(Counter(item.flag for item in items if item.flag)),
        },
        "sources": sources,
        "items": items,
        "unmanaged": unmanaged_items,
    }
    shown_per_source = SHOWN if source else _SHOWN_PER_SOURCE
    lines = [_overview(items, unmanaged_items, sources)]
    lines += _next_step(items, unmanaged_items) if not (source or subject or flag) else []
    format_hint = " --format json" if source else ""  # shows the rest of one source
    lines += [
        *_source_lines(items, sources, shown_per_source, format_hint),
        *_unmanaged_lines(unmanaged_items, shown_per_source, format_hint),
    ]
    print_result(format_, "items", document, lines, keep_current(settings))


def _injection_counts(home: Path) -> Counter[str]:
    """Count the injections of each item, without those that are known not to have arrived."""
    from knowbound.injection.log import read_log

    return Counter(
        item.item for record in read_log(home).records if record.delivered is not False for item in record.items
    )


def _unmanaged(home: Path) -> list[UnmanagedItem]:
    from knowbound.store.data_dir import FINDINGS
    from knowbound.store.observed import Observed

    if not (home / FINDINGS).exists():
        return []
    with closing(Observed(home)) as observed:
        return observed.unmanaged()


def _overview(items: list[ListedItem], unmanaged: list[UnmanagedItem], sources: list[ListedSource]) -> str:
    served = [item for item in items if item.served]
    return (
        f"{counted(len(items), 'item')} from {counted(len(sources), 'source')}: {len(served)} served, "
        f"{sum(item.injections > 0 for item in items)} injected so far, "
        f"{sum(item.stale for item in served)} stale; {len(unmanaged)} unmanaged."
    )


def _next_step(items: list[ListedItem], unmanaged: list[UnmanagedItem]) -> Iterator[str]:
    """Name the next step, if there is one."""
    served = [item for item in items if item.served]
    stale = [item for item in served if item.stale]
    unverified = [item for item in served if item.flag == "UNVERIFIED"]
    reimportable = next((item for item in stale if item.kind in ("file", "memory")), None)
    if reimportable is not None:
        what = reimportable.source if reimportable.kind == "file" else "--claude-memory"
        yield f"Next: knowbound kms import {what}   (updates what changed there; what is gone: knowbound kms delete ID)"
    elif stale:
        yield f"Next: knowbound kms show {stale[0].id}   (what it is about has changed)"
    elif unverified:
        yield f"Next: knowbound kms show {unverified[0].id}   (confirm it: kms flag ID --clear; or kms supersede ID)"
    elif not items and unmanaged:
        path = next((item.path for item in unmanaged if item.path), "CLAUDE.md")
        yield f"Next: knowbound kms import {path}   (then it can be ranked, measured and corrected)"
    elif not items:
        yield "Next: knowbound kms import docs   (or: knowbound kms add CONTENT; clients load CLAUDE.md themselves)"
    elif not any(item.injections for item in items):
        yield "Next: knowbound doctor   (nothing was injected yet)"


def _source_lines(items: list[ListedItem], sources: list[ListedSource], most: int, format_hint: str) -> Iterator[str]:
    """Yield each source with its counts and its first `most` items; `format_hint` shows the others."""
    for source in sources:
        source_items = [item for item in items if (item.kind, item.source) == (source.kind, source.source)]
        marks = [f"{source.served} served", f"{source.injected} injected"]
        marks += [f"{source.stale} stale"] if source.stale else []
        marks += [f"{count} {flag}" for flag, count in sorted(source.flags.items())]
        yield f"\n{_source_name(source)}: {counted(source.items, 'item')} ({', '.join(marks)})"
        yield from (f"  {_item_line(item)}" for item in source_items[:most])
        if len(source_items) > most:
            yield f"  … and {len(source_items) - most} more: knowbound kms list --source {source.source}{format_hint}"


def _unmanaged_lines(unmanaged: list[UnmanagedItem], most: int, format_hint: str) -> Iterator[str]:
    if not unmanaged:
        return
    yield f"\nUnmanaged, injected by others: {counted(len(unmanaged), 'item')}"
    for item in unmanaged[:most]:
        where = f"{item.source} {item.path}".strip()
        yield f"  {item.id}  {item.injections}× in {counted(item.sessions, 'session')}  {where}: {short(item.excerpt)}"
    if len(unmanaged) > most:
        yield f"  … and {len(unmanaged) - most} more: knowbound kms list --source {UNMANAGED}{format_hint}"


def _item_line(item: ListedItem) -> str:
    marks = ["stale"] if item.stale and item.served else []
    marks += [item.flag] if item.flag else [] if item.served else ["not served"]
    marks += [f"injected {item.injections}×"] if item.injections else []
    return f"{item.id}  {short(item.content)}" + (f"  [{', '.join(marks)}]" if marks else "")


def _source_name(source: ListedSource) -> str:
    name = _SOURCE_NAMES.get(source.kind, "")
    return f"{name} {source.source}".strip() if source.kind != "added" else name


def short(text: str) -> str:
    """Return the beginning of a text on one line."""
    return short_line(text, 90)
