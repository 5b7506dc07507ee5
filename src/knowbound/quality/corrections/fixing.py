"""The items to fix first: wrong, never on topic, or on topic and never used (specification 2, sections 2 and 5).

Only items that are served or held back, and only verdicts on their content as it is now: what was corrected, withdrawn
or rewritten since is done. Non-use alone is never a fault: an ignored item comes last, and may be left as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from knowbound.core.item import Item
from knowbound.core.quality import Closing, Counts, Discovery, LoggedItem, QualityTurn
from knowbound.core.same_content import is_version_of
from knowbound.kms.index.database import Index
from knowbound.kms.index.entry import effective_of
from knowbound.kms.quality_log.protocol import QualityLog
from knowbound.kms.screening import screened
from knowbound.quality.corrections.drafting import drafted
from knowbound.quality.rollup import counted
from knowbound.report.quality.model import ENOUGH, Fault, ItemToFix
from knowbound.text.redact import excerpt

CONTENT_SHOWN = 300  # characters
_ORDER = list(Fault)


class _Seen:
    """The injections of one item with one content."""

    def __init__(self) -> None:
        self.counts = Counts()
        self.judged: QualityTurn | None = None  # the newest turn in which it was
        self.contradicted: QualityTurn | None = None

    def add(self, turn: QualityTurn, item: LoggedItem) -> None:
        self.counts += counted((item,))
        if item.verdict:
            self.judged = turn
            self.contradicted = turn if item.verdict.contradicted else self.contradicted


def to_fix(turns: Iterable[QualityTurn], log: QualityLog, index: Index) -> list[ItemToFix]:
    """All of them, the worst first. `turns` are those of the days that are looked at, in the order of their time."""
    seen: dict[tuple[str, str], _Seen] = {}
    for turn in turns:
        for item in turn.injected_items:
            seen.setdefault((item.id, item.content_sha), _Seen()).add(turn, item)
    by_item: dict[str, dict[str, _Seen]] = {}
    for (id_, sha), one in seen.items():
        by_item.setdefault(id_, {})[sha] = one
    records = {one.item: one for one in log.discoveries() if one.closing is Closing.OPEN}
    found: list[ItemToFix] = []
    for id_, versions in by_item.items():
        held = correctable(index, id_)
        if held is not None:
            found += _faults(held, versions, on_present_content(records.get(id_), held, log))
    return sorted(found, key=lambda one: (_ORDER.index(one.fault), -one.times, one.id))


def correctable(index: Index, id_: str) -> Item | None:
    """Return the item if it is served, or would be if it were not held back."""
    known = index.known(id_)
    held = (one.item for one in known if one.item.is_held_back and screened(one.item.content) is None)
    return next((one.item for one in known if one.served), None) or next(held, None)


def on_present_content(record: Discovery | None, held: Item, log: QualityLog) -> Discovery | None:
    """The record, unless the item was rewritten after the turn that raised it. A turn that is gone tells nothing."""
    turn = log.get(f"{record.session_id}/{record.turn_id}") if record else None
    shas = {item.content_sha for item in turn.injected_items if item.id == held.id} if turn else set()
    return record if not shas or any(is_present(sha, held) for sha in shas) else None


def is_present(noted: str, held: Item) -> bool:
    """Whether a verdict is about the content that the item has now; 0.1.0 did not note which one it was about."""
    return not noted or is_version_of(noted, held.content_sha)


def _faults(held: Item, versions: Mapping[str, _Seen], record: Discovery | None) -> Iterator[ItemToFix]:
    present = [one for sha, one in versions.items() if is_present(sha, held)]
    judged = [turn for one in present if (turn := one.judged)]
    if not judged:
        return
    counts = sum((one.counts for one in present), Counts())
    fault, times = _fault(counts, record)
    if fault is None:
        return
    contradicted = [turn for one in present if (turn := one.contradicted)]
    newest = max(contradicted if fault is Fault.WRONG and contradicted else judged, key=lambda turn: turn.timestamp)
    yield ItemToFix(
        id=held.id,
        fault=fault,
        content=excerpt(held.content, CONTENT_SHOWN),
        counts=counts,
        times=times,
        session=newest.session_id,
        turn=newest.turn_id,
        time=newest.timestamp,
        statement=excerpt(record.statement, CONTENT_SHOWN) if record and fault is Fault.WRONG else "",
        draft=drafted(held.content, record.statement).content if record and fault is Fault.WRONG else "",
        is_silenced=effective_of(held) == 0.0,
        flag=str(held.flag.kind) if held.flag else "",
    )


def _fault(counts: Counts, record: Discovery | None) -> tuple[Fault | None, int]:
    """The worst that is the matter, and how often it showed."""
    if record:
        return Fault.WRONG, record.contradictions
    if counts.judged >= ENOUGH and not counts.on_topic:
        return Fault.OFF_TOPIC, counts.judged
    if counts.on_topic >= ENOUGH and not counts.used:
        return Fault.IGNORED, counts.on_topic
    return None, 0
