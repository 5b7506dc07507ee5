"""A store with items and a log of turns about them, made by hand."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from knowbound.config import Settings, load
from knowbound.core.item import Item
from knowbound.core.quality import ItemVerdict, LoggedItem, Metric, QualityTurn, TurnEnding
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.index.ranking import RANKER, FoundItem
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.stats.calibration import Pair, calibrate
from knowbound.stats.judge_gate import MeasuredMetric, gate
from knowbound.store.judges import TurnJudgeCalibration, keep_turn_judge_calibrations
from tests.stores import put_items

TODAY = "2026-11-16"


def logged(item: Item, said: str = "", *, correction: str = "", reason: str = "") -> LoggedItem:
    """An injection of the item. `said` has a letter per yes: t on topic, u used, c contradicted; "" is not judged."""
    verdict = None
    if said:
        verdict = ItemVerdict(item.id, "t" in said, "u" in said, "c" in said, correction, reason, "rules-1")
    return LoggedItem(
        item.id,
        "sqlite",
        item.content[:500],
        len(item.content),
        content_sha=item.content_sha[:16],  # as the log of injections keeps it
        source=str(item.source),
        verdict=verdict,
    )


def turn(date: str, number: int, items: Sequence[LoggedItem] = (), **more: object) -> QualityTurn:
    """The number-th turn of a day."""
    is_judged = bool(items) and all(item.verdict for item in items)
    given: dict[str, object] = {
        "session_id": f"session-{date}",
        "turn_id": f"turn-{number}",
        "timestamp": f"{date}T{9 + number // 60:02d}:{number % 60:02d}:00Z",
        "user_prompt": f"Question {number} of {date}",
        "assistant_response": "An answer.",
        "injected_items": tuple(items),
        "injected_tokens": 40 * len(items),
        "judge": "rules-1" if is_judged else "",
        "scored_at": f"{date}T23:00:00Z",
        "prompt_ms": 42.0,
        "stop_ms": 12.0,
        "ending": TurnEnding.STOPPED,
    }
    return QualityTurn(**{**given, **more})  # type: ignore[arg-type]


def calibrate_judge(home: Path, version: str, *, contradicted: int = 10, finds: int | None = None) -> None:
    """Keep a calibration: of so many contradicted labels the judge finds so many, and all else is right."""
    missed = contradicted - (contradicted if finds is None else finds)
    pairs = [Pair(True, n >= missed, session=f"y{n}") for n in range(contradicted)]
    pairs += [Pair(False, False, session=f"n{n}") for n in range(100)]
    found = calibrate(pairs)
    even = calibrate(Pair(n % 2 == 0, n % 2 == 0, session=f"{n}") for n in range(100))
    measured = {metric: MeasuredMetric(one, gate(one, one.n)) for metric, one in (
        (Metric.ON_TOPIC, even), (Metric.USED, even), (Metric.CONTRADICTED, found))}  # fmt: skip
    kept = TurnJudgeCalibration(version, "2026-11-01T00:00:00Z", "0" * 8, 100, measured)
    keep_turn_judge_calibrations(home, {version: kept})


class MeasuredProject:
    """A project whose store has items, and whose turns were scored."""

    def __init__(self, root: Path, items: Iterable[Item] = ()) -> None:
        self.root, self.home = root, root / ".knowbound"
        self.items = {item.id: item for item in items}
        backend = SqliteBackend(self.home)
        put_items(backend, *list(self.items.values()))
        KnowledgeStore([backend], Index(self.home)).close()

    @property
    def settings(self) -> Settings:
        """Those of the project, whatever the machine has."""
        return load(self.root, environ={})

    def log(self, turns: Iterable[QualityTurn]) -> None:
        """Write these turns."""
        log = SqliteQualityLog(self.home)
        for one in turns:
            log.put(one)
        log.close()

    def log_candidates(self, turns: Iterable[QualityTurn], candidates: Sequence[Item]) -> None:
        """Write the hook's record of these turns: each had these candidates, the most relevant one first."""
        found = [
            FoundItem(one.id, "sqlite", one.content_sha, words=25 * share, meaning=0.52)
            for one, share in zip(candidates, (0.82, 0.8, 0.78), strict=False)
        ]
        (self.home / "injections").mkdir(exist_ok=True)
        for number, one in enumerate(turns):
            record = {
                "time": one.timestamp,
                "id": f"r-{one.timestamp}-{number}",
                "ranker": RANKER,
                "event": "user-prompt-submit",
                "session": one.session_id,
                "prompt_id": one.turn_id,
                "pool": [item.pool_row() for item in found],
                "delivered": True,
                "outcome": "injected",
            }
            with (self.home / "injections" / f"{one.timestamp[:10]}.jsonl").open("a") as file:
                file.write(json.dumps(record) + "\n")

    def store(self) -> KnowledgeStore:
        """To correct items."""
        return KnowledgeStore([SqliteBackend(self.home)], Index(self.home), by="ada")
