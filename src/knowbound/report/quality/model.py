"""Values that `quality status` shows, to answer "does injection help?" (specification 2)."""

from __future__ import annotations

import shlex
from enum import StrEnum

import msgspec

from knowbound.core.quality import Counts, DayRollup, Discovery, ItemVerdict, Metric
from knowbound.stats.calibration import Estimate, corrected
from knowbound.stats.judge_gate import GateState, MeasuredMetric, WeeklySample
from knowbound.stats.quality import HoldoutComparison, MetricStatus, WindowRates, window
from knowbound.stats.rate import Rate
from knowbound.stats.rollout import RolloutStatus

ITEM_DAYS = 30  # of injections that the items to fix are chosen from
ENOUGH = 5  # verdicts before an item is called never on topic, or ignored
FIRST_ITEMS = 5  # of the items to fix: what a screen shows
NEW_DAYS = 8  # of measuring, while the screen says what the rates mean


class Fault(StrEnum):
    """The fault of an item; the worst is first."""

    WRONG = "wrong"  # contradicted, and not corrected yet
    OFF_TOPIC = "never on topic"
    IGNORED = "ignored"  # on topic, and never used


class ItemToFix(msgspec.Struct, frozen=True):
    """An item that is served as it was then, and what agents made of it."""

    id: str
    fault: Fault
    content: str  # its beginning, without secrets
    counts: Counts  # of its injections in the last 30 days, as its content is now
    times: int  # how often it was contradicted, off topic, or not used
    session: str  # the newest turn that shows it
    turn: str
    time: str
    statement: str = ""  # what an agent said instead, where it is wrong
    draft: str = ""  # what would replace it
    is_silenced: bool = False  # contradictions brought its confidence to 0: it is not injected any more
    flag: str = ""

    @property
    def commands(self) -> tuple[str, ...]:
        """Return the commands that show the item, then correct it."""
        id_ = shlex.quote(self.id)
        match self.fault:
            case Fault.WRONG:
                content = "" if self.draft else ' --content "…"'
                return (f"knowbound quality corrections accept {id_}{content}",)
            case Fault.OFF_TOPIC:
                return f"knowbound kms show {id_}", f"knowbound kms delete {id_}"
            case Fault.IGNORED:
                return (f'knowbound kms update {id_} --content "…"',)


class JudgeWorth(msgspec.Struct, frozen=True):
    """The judges of the window, and the agreement of the main judge with people's labels."""

    versions: dict[str, int] = {}  # version → turns
    labelled: int = 0  # turns
    made: str = ""  # when it was compared with them, UTC; "": never
    measured: dict[Metric, MeasuredMetric] = {}
    weekly: WeeklySample | None = None  # None: not known

    @property
    def version(self) -> str:
        """The judge of most turns; "" if no turn was judged."""
        return max(self.versions, key=lambda version: (self.versions[version], version), default="")

    def corrected(self, rate: Rate, metric: Metric) -> Estimate:
        """The rate for a judge without error: known where one measured judge judged all of it."""
        measured = self.measured.get(metric)
        return corrected(rate, measured.found) if measured and len(self.versions) == 1 else Estimate()

    def is_unreliable(self, metric: Metric) -> bool:
        """Report whether labels show that the judge errs too often."""
        measured = self.measured.get(metric)
        return measured is not None and measured.gate.state in (GateState.KILLED, GateState.HALTED)


class ItemInjection(msgspec.Struct, frozen=True):
    """One injection of an item: the turn, and the verdict."""

    time: str
    session: str
    turn: str
    prompt: str  # its beginning
    verdict: ItemVerdict | None = None
    is_present: bool = True  # whether the content was as it is now


class ItemDay(msgspec.Struct, frozen=True):
    """An item on one day."""

    date: str
    counts: Counts


class CorrectionMade(msgspec.Struct, frozen=True):
    """A corrective call that named the item."""

    time: str
    tool: str
    by: str
    session: str = ""


class ItemSaving(msgspec.Struct, frozen=True):
    """Tool calls about what an item says, and turns, before it was injected first and from then on."""

    calls_before: int
    turns_before: int
    calls_after: int
    turns_after: int


class ItemQuality(msgspec.Struct, frozen=True):
    """One item in full: its numbers, its last injections, its records and its corrections."""

    id: str
    content: str  # its beginning, without secrets
    content_length: int
    is_served: bool
    flag: str
    days: tuple[ItemDay, ...]
    injections: tuple[ItemInjection, ...]  # newest first
    records: tuple[Discovery, ...]
    corrections: tuple[CorrectionMade, ...]
    fault: ItemToFix | None = None  # as in the list of items to fix
    version: str = ""
    saving: ItemSaving | None = None  # None: not looked at, or it has no specific word

    @property
    def tokens(self) -> int:
        """About how many tokens its injections cost, by its present length."""
        return self.content_length // 4 * (self.counts.judged + self.counts.unjudged)

    @property
    def counts(self) -> Counts:
        """Return the summed counts of all kept days."""
        return sum((day.counts for day in self.days), Counts())


class RescueFigures(msgspec.Struct, frozen=True):
    """Lookups that missed, and what came of what was said about them."""

    misses: int
    said: int  # places were said, or what a lesson or an item says
    absent: int  # called absent
    used: Rate  # of those that are scored
    contradicted: Rate
    known: int = 0  # of those that were said: by a lesson or an item


class OtherCorrection(msgspec.Struct, frozen=True):
    """A contradicted item that another tool injected, and the call that would correct it there."""

    source: str
    content: str
    statement: str
    contradictions: int
    tool: str  # "" if no tool of that store is known
    arguments: dict[str, str]  # without the id or the new content where these are not known


TO_LOOK_AT = 10  # choices that a person accepts or rejects before injecting starts


class ShadowChoice(msgspec.Struct, frozen=True):
    """An item that a prompt would have got."""

    key: str  # number of the choice, by which it is accepted or rejected
    time: str
    prompt: str  # the beginning, without secrets
    item: str
    content: str
    accepted: bool | None = None  # None: nobody has answered


class ShadowStatus(msgspec.Struct, frozen=True):
    """The shadow of a project: whether it is on, and what would have been injected."""

    is_on: bool
    since: str
    choices: tuple[ShadowChoice, ...]  # newest first
    counts: Counts = Counts()  # verdicts on them, as far as they are judged

    @property
    def answered(self) -> int:
        """Choices that a person accepted or rejected."""
        return sum(choice.accepted is not None for choice in self.choices)

    @property
    def left(self) -> int:
        """Answers that are missing before injecting starts."""
        return max(0, TO_LOOK_AT - self.answered)


class QualityStatus(msgspec.Struct, frozen=True):
    """The measured quality of injected items, and the items to fix."""

    until: str  # the last day of the window
    is_current: bool  # whether that is today
    first: str  # the first day that is kept; "": nothing was ever logged
    metrics: tuple[MetricStatus, ...]
    window: DayRollup  # the sum of its days
    items: tuple[ItemToFix, ...]  # all of them, the worst first
    judge: JudgeWorth
    unscored: dict[str, int]  # why turns have no verdict → how many, of all that are kept
    series: tuple[WindowRates, ...] = ()
    pages: tuple[ItemQuality, ...] = ()  # of the first five items to fix
    rollout: RolloutStatus | None = None
    holdout: HoldoutComparison | None = None  # None: no session was held out
    offers_holdout: bool = False  # enough was measured to ask whether injecting helps
    rescues: RescueFigures | None = None  # None: no lookup missed
    others_corrected: dict[str, Rate] = {}  # by the source of what others injected
    other_corrections: tuple[OtherCorrection, ...] = ()  # the most contradicted first
    shadow: ShadowStatus | None = None  # None: the user did not start in shadow
    version: str = ""

    @property
    def is_empty(self) -> bool:
        """Report whether nothing was ever logged."""
        return not self.first

    @property
    def is_new(self) -> bool:
        """Report whether the reader may see the four rates for the first time."""
        return not self.first or self.first > window(self.until, NEW_DAYS)[0]

    @property
    def wrong(self) -> int:
        """Items that were contradicted and wait for a correction."""
        return sum(item.fault is Fault.WRONG for item in self.items)

    @property
    def pending(self) -> int:
        """Warranted corrections of the window that would still count."""
        return sum(metric.pending for metric in self.metrics)
