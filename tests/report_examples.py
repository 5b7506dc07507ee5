"""Reports made by hand: an everyday one, one with nothing in it, and one whose every text is hostile."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import msgspec

from knowbound.core.signal import (
    Cost,
    Ending,
    Example,
    FoundPlace,
    HedgingVerdict,
    Signal,
    SignalType,
    SkippedLine,
    Status,
    Topic,
    TopicAnswer,
)
from knowbound.core.tool_kinds import Outcome
from knowbound.report.model import Incomplete, ObserveReport, Totals
from knowbound.stats.figures import Coverage, GapFigures, SkillRow, Watermark
from knowbound.stats.rate import Rate, Weighted

TRACES = "/home/ada/.claude/projects"
SHOP = f"{TRACES}/-home-ada-shop/5f0c2a9e-7d41-4c0b-9a63-2f1d8e7b6c55.jsonl"
BILLING = f"{TRACES}/-home-ada-billing/c81e40d7-1b2f-4f0e-8d5a-90a7b3c4e612.jsonl"


def figures(
    *, samples: int, strong: int, weak: int, still_open: int, turns: Rate, by_type: tuple[int, ...] = (0, 0, 0, 0)
) -> GapFigures:
    """Gap figures whose counts agree with each other."""
    failed, repeated, marked, hedged = by_type
    signals = sum(by_type)
    return GapFigures(
        rate=Rate(strong + weak, samples),
        weighted=Weighted(strong, weak, samples),
        open=Rate(still_open, samples),
        per_turn=turns,
        by_type={
            SignalType.FAILED_SEARCH: failed,
            SignalType.EXPLICIT_MARKER: marked,
            SignalType.HEDGING: hedged,
            SignalType.REPEATED_FAILURE: repeated,
        },
        by_status={
            Status.OPEN: signals - signals // 4 - signals // 8,
            Status.RESOLVED: signals // 4,
            Status.VERIFICATION: signals // 8,
        },
        open_weighted=Weighted(min(strong, still_open), max(still_open - strong, 0), samples),
    )


def failed_search(query: str, *, where: str = "", line: int = 1, file: str = SHOP, **more: object) -> Signal:
    """A search that missed."""
    session = file.rpartition("/")[2].removesuffix(".jsonl")
    fields: dict[str, Any] = {
        "type": SignalType.FAILED_SEARCH,
        "status": Status.OPEN,
        "session": session,
        "turn": 1 + line // 100,
        "sample": f"{session}#1",
        "call_ids": [f"toolu_{line:04d}"],
        "tool": "Grep",
        "query": query,
        "path": where,
        "reason": "the search matched nothing",
        "outcome": None if "reason" in more else Outcome.EMPTY,
        "file": file,
        "line": line,
    }
    return Signal(**(fields | more))


def topic_id(title: str) -> str:
    """The id of a topic made by hand."""
    return sha256(title.encode("utf-8", "replace")).hexdigest()[:8]


REFUND_POLICY = failed_search(
    "refund_policy",
    topic=topic_id("refund_policy"),
    ending=Ending.ASKED,
    cost=Cost(4, 3, 9.0),
    where="docs/",
    line=212,
    said="Before I touch the return flow I need to know which refund policy applies to gift cards.",
)
TAX_TABLE = failed_search(
    "docs/tax/vat-rates.md",
    file=BILLING,
    line=88,
    tool="Read",
    reason="the path is not there",
    topic=topic_id("docs/tax/vat-rates.md"),
    ending=Ending.GUESSED,
    said="The rates should be documented next to the invoice template.",
)
RETRIES = failed_search(
    "retry_budget · RetryBudget · max_retries",
    where="src/",
    file=BILLING,
    line=143,
    type=SignalType.REPEATED_FAILURE,
    call_ids=["toolu_0143", "toolu_0147", "toolu_0151"],
    reason="3 searches in 3 consecutive steps, all failed",
)
MARKER = failed_search(
    "",
    line=305,
    type=SignalType.EXPLICIT_MARKER,
    tool="",
    reason="",
    call_ids=[],
    message_id="6a1f7d20-0000-4000-8000-0000000003e9",
    text="[inferred] Vouchers expire after 24 months, as in the older shop. 【推断】代金券的有效期是两年。",
)
HEDGE = failed_search(
    "",
    line=318,
    type=SignalType.HEDGING,
    tool="",
    reason="",
    call_ids=[],
    agent_id="a1",
    message_id="6a1f7d20-0000-4000-8000-0000000003f2",
    text="I'm not sure whether the nightly export still writes to the old bucket.",
    verdict=HedgingVerdict(True, 0.86, "states that a fact is not known", "rules"),
)
RESOLVED = failed_search(
    "PaymentGatway",
    where="src/",
    line=61,
    status=Status.RESOLVED,
    ending=Ending.FOUND,
    found_at=FoundPlace("src/payment_gateway.ts", 14),
    resolved_by="toolu_0064",
    call_ids=["toolu_0061"],
)
CHECK = failed_search(
    "legacyCheckout", where="src/", line=402, status=Status.VERIFICATION, said="Checking that nothing refers to it."
)
LIKE_ANY_OTHER = [failed_search(f"feature_flag_{number}", where="config/", line=500 + number) for number in range(12)]


def topic_of(
    title: str,
    signal: Signal,
    *,
    sessions: int = 1,
    calls: int = 2,
    endings: dict[str, int] | None = None,
    answer: str = "",
    said: str = "I need the refund rules first.",
    project: str = "shop",
    correction: str = "",
    last: str = "2026-11-01T10:00:00",
) -> Topic:
    """A topic that rests on one signal."""
    return Topic(
        id=topic_id(title),
        title=title,
        sessions=sessions,
        turns=sessions,
        signals=sessions,
        cost=Cost(calls, calls, 12.0),
        endings=endings or {"went_on": sessions},
        said=said,
        answer=[TopicAnswer(answer, 12, 2)] if answer else [],
        examples=[Example(signal.session, signal.file, signal.line)],
        project=project,
        correction=correction,
        last=last,
        is_open=set(endings or {"went_on": 1}) != {"found"},
        saves=3.0 * sessions * calls,
    )


def everyday_report(**more: object) -> ObserveReport:
    """A few days of two agents on two projects."""
    inventory = [RETRIES, REFUND_POLICY, TAX_TABLE, *LIKE_ANY_OTHER, MARKER, HEDGE, RESOLVED, CHECK]
    report = ObserveReport(
        watermark=Watermark(TRACES, 24, "3f9a1c07"),
        totals=Totals(
            files=9,
            sessions=7,
            turns=58,
            tool_calls=1240,
            samples=26,
            skipped_lines=4,
            lines=5210,
            duplicates=12,
            signals=24,
        ),
        gap=figures(samples=24, strong=8, weak=2, still_open=7, turns=Rate(13, 55), by_type=(17, 1, 2, 4)),
        coverage=Coverage(Rate(5, 8), ["docs/agents/deploy.md", "docs/agents/vouchers.md", ".claude/rules/sql.md"]),
        skills=[
            SkillRow(
                "general",
                figures(samples=20, strong=6, weak=2, still_open=5, turns=Rate(9, 41), by_type=(12, 1, 2, 3)),
                Rate(5, 8),
            ),
            SkillRow(
                "release-notes",
                figures(samples=4, strong=2, weak=0, still_open=2, turns=Rate(4, 14), by_type=(5, 0, 0, 1)),
                Rate(1, 8),
            ),
        ],
        topics=[
            topic_of(
                "refund_policy",
                REFUND_POLICY,
                sessions=3,
                calls=9,
                endings={"found": 2, "asked": 1},
                answer="docs/refunds.md",
                said="I need to know which refund policy applies to gift cards.",
                correction="No, gift cards are never refunded.",
            ),
            topic_of(
                "docs/tax/vat-rates.md",
                TAX_TABLE,
                sessions=2,
                endings={"guessed": 2},
                said="The rates should be documented next to the invoice template.",
            ),
        ],
        inventory=inventory,
        incomplete=[
            Incomplete(
                REFUND_POLICY.session, f"{REFUND_POLICY.session}#2", "general", "no answer of the agent", "2026-11-14"
            ),
            Incomplete(TAX_TABLE.session, f"{TAX_TABLE.session}#3", "deploy", "ends in the middle of a tool call"),
        ],
        skipped={"broken": 3, "truncated": 1},
        skipped_examples=[SkippedLine(SHOP, 17, "broken"), SkippedLine(BILLING, 990, "truncated")],
        unrecognised=[f"{TRACES}/-home-ada-shop/notes.txt"],
        agents={"claude-code": 5, "codex": 2},
        places=[TRACES],
        filters={"since": "7d"},
        warnings=["One session is still being written: its last sample may grow."],
        made="2026-11-15T19:46:00Z",
        version="0.1.0",
        root="/home/ada/shop",
        skill_of={TAX_TABLE.sample: "release-notes", REFUND_POLICY.sample: "general"},
    )
    return msgspec.structs.replace(report, **more)


def empty_report() -> ObserveReport:
    """Nothing could be counted: every figure is unknown, none is 0%."""
    nothing = figures(samples=0, strong=0, weak=0, still_open=0, turns=Rate(0, 0))
    return ObserveReport(
        watermark=Watermark("traces", 0, "e3b0c442"),
        totals=Totals(files=0, sessions=0, turns=0, tool_calls=0, samples=0, skipped_lines=0),
        gap=nothing,
        coverage=Coverage(Rate(0, 0), []),
        skills=[],
        topics=[],
        inventory=[],
        incomplete=[],
        skipped={},
        skipped_examples=[],
        unrecognised=[],
        agents={},
        places=["traces"],
        filters={},
        warnings=[],
        made="2026-11-15T19:46:00Z",
        version="0.1.0",
        root="/srv/project",
    )


def hostile_report(text: str) -> ObserveReport:
    """The everyday report with `text` in every place that a trace or a file system can fill."""
    signals = [
        msgspec.structs.replace(
            signal,
            session=text,
            sample=text,
            call_ids=[text],
            message_id=text,
            tool=text,
            query=text,
            path=f"{text}/",
            text=text,
            context=text,
            reason=text,
            outcome=None,
            said=text,
            verdict=signal.verdict and HedgingVerdict(True, 0.5, text, text),
            agent_id=text,
            file=text,
            topic=topic_id(text),
        )
        for signal in (RETRIES, REFUND_POLICY, MARKER, HEDGE)
    ]
    report = everyday_report()
    return msgspec.structs.replace(
        report,
        watermark=Watermark(text, 26, "3f9a1c07"),
        coverage=Coverage(Rate(5, 8), [text]),
        skills=[SkillRow(text, row.gap, row.coverage) for row in report.skills],
        topics=[
            topic_of(text, signals[1], said=f"{text} said", answer=text, project=text, correction=text),
            topic_of(f"{text} again", signals[1], project="other", last="2026-11-20"),
        ],
        projects={text: 3, "other": 2},
        last_look="2026-11-15T00:00:00Z",
        inventory=signals,
        incomplete=[Incomplete(text, text, text, text, text)],
        skipped={text: 4},
        skipped_examples=[SkippedLine(text, 1, text)],
        unrecognised=[text],
        agents={text: 1},
        places=[text],
        filters={"project": text},
        warnings=[text],
        root=text,
        skill_of={text: text},
    )
