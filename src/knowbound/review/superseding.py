"""Actions for injected items that turns contradict, with the drafted correction of file or store."""

from __future__ import annotations

from contextlib import closing

from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.action import Action, ActionCost, ActionKind, action_id
from knowbound.core.item import Item
from knowbound.core.quality import Suggestion
from knowbound.core.signal import Example
from knowbound.errors import KnowboundError
from knowbound.kms.backends.files import FilesBackend
from knowbound.kms.index.database import Index
from knowbound.kms.opening import open_quality_log
from knowbound.knowledge.lint import ITEM
from knowbound.patching import FilePatch, read_below
from knowbound.quality.corrections.answers import suggestions
from knowbound.review.proposing import Proposed, diff_of
from knowbound.store.data_dir import INDEX
from knowbound.store.screens import Fix
from knowbound.text.printable import short_line

MOST = 3
_WORTH = 3.0  # calls that a contradicted item counts for, each time: as a wrong line does
_SHOWN = 100  # characters of the item


def supersede_actions(settings: Settings) -> list[Proposed]:
    """Return the actions for contradicted items, the most contradicted first."""
    if not (settings.home / INDEX).exists():
        return []
    try:
        with closing(open_quality_log(settings)) as log, closing(Index(settings.home)) as index:
            waiting = suggestions(log, index, settings.root)[:MOST]
            held = {one.item: index.known(one.item) for one in waiting}
    except KnowboundError:  # a store that does not answer; `quality corrections` says why
        return []
    of_files = {id_: known[0].item for id_, known in held.items() if known and known[0].backend == FilesBackend.name}
    return [_action(one, of_files.get(one.item), settings) for one in waiting]


def _action(one: Suggestion, item: Item | None, settings: Settings) -> Proposed:
    place = item.anchor.file if item and item.anchor else f"{ITEM}{one.item}"
    id_ = action_id(ActionKind.SUPERSEDE, one.item)
    title = f"{place}: “{short_line(one.content, _SHOWN)}” was contradicted"
    fix = None
    if one.draft and item is None:
        fix = Fix(id_, title, item=one.item, content=one.draft)
    elif one.draft and item is not None and (patch := _patch(item, one.draft, settings)):
        fix = Fix(id_, title, [patch])
    if fix and one.needs_person:
        fix = replace(fix, needs_person=True)
    often = "once" if one.contradictions == 1 else f"{one.contradictions} times"
    said = f" It was said instead: {one.statement}" if one.statement else ""
    why = f"{often.capitalize()} since {one.raised[:10]}.{said}"
    evidence = [Example(one.session, "", 0)]
    cost = ActionCost(sessions=one.contradictions)
    action = Action(
        id_, ActionKind.SUPERSEDE, title, why, cost, evidence, place=place, diff=diff_of(fix), by=one.judge or "rules"
    )
    return Proposed(action, fix, _WORTH * one.contradictions)


def _patch(item: Item, draft: str, settings: Settings) -> FilePatch | None:
    """Return the change of the very text of an item; None if the file does not have it once, as it is."""
    assert item.anchor is not None
    title = item.anchor.heading.rpartition(" > ")[2]
    heads = [f"{title}{sign}" for sign in (": ", "\n\n")] if title else []
    head = next((one for one in heads if item.content.startswith(one)), "")
    old, new = item.content.removeprefix(head), draft.removeprefix(head)
    before = read_below(settings.root, item.anchor.file)
    if before.count(old.encode()) != 1 or old == new:
        return None
    return FilePatch(item.anchor.file, before, before.replace(old.encode(), new.encode()))
