"""Joins what is known about a turn: what was injected, what the trace shows, how it ended (specification 2, section 3).

The result is the document for the log, with everything cut and cleared of secrets, and the turn as the judge sees it,
whole. Only items that were injected for the prompt are in the four metrics; what the agent pulled and what others
injected is kept apart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from knowbound.core.bundle import is_ours
from knowbound.core.item import is_version_of
from knowbound.core.quality import (
    EXCERPT,
    LONGEST_TEXT,
    JudgedCall,
    JudgedItem,
    JudgedTurn,
    LoggedCall,
    LoggedItem,
    QualityTurn,
    TurnEnding,
)
from knowbound.core.trace import LOOKUPS, MISSES, Injection, Outcome, ToolCall
from knowbound.injection.hook_settings import SHADOW
from knowbound.injection.log import InjectedItem, InjectionRecord, PullRecord
from knowbound.kms.index.ranking import RANKER, FoundItem, relevant
from knowbound.kms.pieces import split
from knowbound.quality.ended import INTERRUPT, STOP_FAILURE, answer_sum
from knowbound.quality.queue import EndedRecord
from knowbound.store.observed import KNOWLEDGE_SOURCES
from knowbound.text.redact import excerpt, redact
from knowbound.traces.other_items import OtherItem, other_items
from knowbound.traces.turns import TraceTurn

# Tools that close a warranted correction.
CORRECTIVE = (
    *("kms_supersede", "kms_accept_suggestion", "kms_flag", "kms_update", "kms_delete"),
    *("update_memory", "delete_memory"),  # of Mem0
)
_ID_ARGUMENTS = ("id", "old_id", "memory_id")
MOST_CALLS = 50  # of a turn that are kept; corrective ones first
MOST_PIECES = 60  # of what others injected into one turn that are judged
_CALL_CHARS = 300
_ORIGIN_CHARS = 100  # characters kept of the source that another tool names for its item
EXPORTED = "exported"  # channel of turns that another system recorded
_NO_SESSION = "unknown"
_ENDINGS = {STOP_FAILURE: TurnEnding.FAILED, INTERRUPT: TurnEnding.INTERRUPTED}
_FAILED_OUTCOMES = (Outcome.ERROR, Outcome.REJECTED, Outcome.CANCELLED, Outcome.TIMEOUT)


class StoredText(NamedTuple):
    """The present text of the store under an id."""

    content: str
    sha: str
    source: str  # personal, technical, cross_domain


class Joined(NamedTuple):
    """A turn as it is logged, and as it is judged."""

    turn: QualityTurn
    judged: JudgedTurn


class TurnSources(msgspec.Struct, frozen=True):
    """Everything that is known about a turn; at least one of the three."""

    ended: EndedRecord | None = None  # None: no hook said that it ended
    injected: InjectionRecord | None = None
    trace: TraceTurn | None = None
    pulls: tuple[PullRecord, ...] = ()


def join(sources: TurnSources, stored: Callable[[str], StoredText | None]) -> Joined:
    """Join a turn. `stored` gives what the store holds under an id."""
    trace, injected, ended = sources.trace, sources.injected, sources.ended
    by_session, by_agent = (ended, injected, trace), (injected, ended, trace)  # the first that names it
    if ended is not None:
        ending = _ENDINGS.get(ended.event, TurnEnding.STOPPED)
    else:  # no hook reported the end
        ending = TurnEnding.FAILED if trace and trace.broken else TurnEnding.INTERRUPTED
    response = _response(trace, ended)
    # Characters that the queue cut from the last message.
    cut = ended.answer_length - len(ended.answer) if ended and ended.answer and ended.answer in response else 0
    prompt = trace.prompt.text if trace and trace.prompt.text else injected.prompt if injected else ""
    texts = {injection.item: injection.content for injection in trace.injections if injection.item} if trace else {}
    calls = trace.calls if trace else []
    injected_items = [_Item.of(item, stored, texts) for item in _delivered(injected, texts)]
    injected_ids = {item.logged.id for item in injected_items}
    # Of an item that was pulled twice, the first pull, in the order of pulling: hence reversed, and reversed again.
    first_pulls = {item.item: item for pull in reversed(sources.pulls) for item in reversed(pull.items)}
    pulled = (item for id_, item in reversed(first_pulls.items()) if id_ not in injected_ids)
    pulled_items = [_Item.of(item, stored, texts) for item in pulled]
    late_tokens = injected.late_tokens if injected and injected.late_delivered else 0
    others = _items_of_others(trace.injections if trace else [])
    turn = QualityTurn(
        session_id=next(filter(None, (source.session for source in by_session if source)), _NO_SESSION),
        turn_id=_turn_key(sources),
        timestamp=_timestamp(sources),
        agent=next((source.agent for source in by_agent if source and source.agent != "unknown"), "unknown"),
        ending=ending,
        user_prompt=excerpt(prompt, LONGEST_TEXT),
        user_prompt_length=len(prompt),
        assistant_response=excerpt(response, LONGEST_TEXT),
        assistant_response_length=len(response) + max(0, cut),
        injected_items=tuple(item.logged for item in injected_items),
        pulled_items=tuple(item.logged for item in pulled_items),
        other_items=tuple(item.logged for item in others),
        tool_calls=_logged_calls(calls),
        tool_calls_count=len(calls),
        steps=len(trace.steps) if trace else 0,
        failed_searches=sum(call.kind in LOOKUPS and call.outcome in MISSES for call in calls),
        turn_tokens=trace.tokens if trace else None,
        injected_tokens=injected.tokens + late_tokens if injected and injected_items else 0,
        arm=injected.arm if injected else "",
        silenced=_silenced(injected) if injected else (),
        rank_ms=injected.rank_ms if injected else None,
        prompt_ms=injected.ms if injected else None,
        stop_ms=ended.ms if ended else None,
        trace=trace.prompt.path if trace else "",
    )
    judged = JudgedTurn(
        id=turn.id,
        prompt=prompt,
        response=response,
        items=tuple(item.judged for item in (*injected_items, *pulled_items, *others)),
        tool_calls=tuple(map(JudgedCall.of, calls)),
        read_before=trace.read_before if trace else (),
        next_message=trace.next_prompt if trace else "",
        session=turn.session_id,
        project=trace.project if trace else "",
        agent=turn.agent,
    )
    return Joined(turn, judged)


def exported(turn: JudgedTurn, time: str) -> QualityTurn:
    """Return for the log a turn that another system recorded; `time` counts if the turn has none."""
    calls = [
        LoggedCall(
            excerpt(call.name, 100),
            call.outcome,
            corrected=() if call.outcome in _FAILED_OUTCOMES else _corrected_ids(call.name, call.input),
        )
        for call in turn.tool_calls
    ]
    items = [OtherItem(item.content, item.id, confidence=item.confidence) for item in turn.items]
    sources = [item.source or EXPORTED for item in turn.items]
    return QualityTurn(
        session_id=turn.session or EXPORTED,
        turn_id=turn.id,
        timestamp=turn.timestamp or time,
        agent=turn.agent or "unknown",
        user_prompt=excerpt(turn.prompt, LONGEST_TEXT),
        user_prompt_length=len(turn.prompt),
        assistant_response=excerpt(turn.response, LONGEST_TEXT),
        assistant_response_length=len(turn.response),
        other_items=tuple(other_logged(item, EXPORTED, source) for item, source in zip(items, sources, strict=True)),
        tool_calls=tuple(sorted(calls, key=lambda call: not call.corrected)[:MOST_CALLS]),
        tool_calls_count=len(calls),
    )


def is_complete(trace: TraceTurn | None, ended: EndedRecord) -> bool:
    """Report whether the trace has the end of the turn: clients write it a little later than they call the hook."""
    if trace is None:
        return False
    if ended.event == STOP_FAILURE:
        return trace.broken is not None
    return not ended.answer_sum or any(answer_sum(text) == ended.answer_sum for text in trace.said)


# Where and when


def id_of_unnamed(ended: EndedRecord) -> str:
    """The id of the document of a turn that neither its hooks nor a trace named."""
    return f"{ended.session or _NO_SESSION}/{ended.id}"


def _turn_key(known: TurnSources) -> str:
    """Return the key of a turn, the same with and without its trace: else scoring it again would log it twice."""
    ids = [known.ended.key if known.ended else "", known.injected.turn_key if known.injected else ""]
    ids += [known.injected.id if known.injected else "", known.trace.key if known.trace else ""]
    return next(filter(None, ids), known.ended.id if known.ended else "")


def _timestamp(known: TurnSources) -> str:
    """Return the time of the prompt; without it, when the turn ended."""
    if known.injected:
        return known.injected.time
    if known.trace and known.trace.prompt.time:
        return known.trace.prompt.time
    return known.ended.time if known.ended else ""


# What was said


def _response(trace: TraceTurn | None, ended: EndedRecord | None) -> str:
    """Return all that the agent said in the turn; where the trace is late, with the last message that the hook got."""
    said = trace.said if trace else []
    if ended and ended.answer and not any(answer_sum(message) == ended.answer_sum for message in said):
        return "\n\n".join([*said, ended.answer])
    return "\n\n".join(said)


def _logged_calls(calls: Sequence[ToolCall]) -> tuple[LoggedCall, ...]:
    """Return the calls for the log; corrective ones first, so that they are not cut off."""
    logged = []
    for call in calls:
        shown = excerpt(call.query or " ".join(str(value) for value in (call.input or {}).values()), _CALL_CHARS)
        logged.append(LoggedCall(excerpt(call.name, 100), str(call.outcome), shown, corrected_by(call)))
    logged.sort(key=lambda call: not call.corrected)  # stable: the others keep their order
    return tuple(logged[:MOST_CALLS])


def corrected_by(call: ToolCall) -> tuple[str, ...]:
    """Return the ids of items that a tool call corrected; none if it is no corrective call, or failed."""
    return () if call.outcome in _FAILED_OUTCOMES else _corrected_ids(call.name, call.input or {})


def _corrected_ids(tool: str, arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the ids of items in the arguments of a corrective tool; none for another tool."""
    if tool.rpartition("__")[2] not in CORRECTIVE:
        return ()
    further = arguments.get("also")
    ids = [*(arguments.get(name) for name in _ID_ARGUMENTS), *(further if isinstance(further, list) else [])]
    return tuple(id_ for id_ in ids if isinstance(id_, str))


# Items


class _Item(NamedTuple):
    logged: LoggedItem
    judged: JudgedItem

    @classmethod
    def of(cls, item: InjectedItem, stored: Callable[[str], StoredText | None], texts: Mapping[str, str]) -> _Item:
        """An item of our log: whole, by its id and version, where that can still be had."""
        present = stored(item.item)
        whole = present.content if present and is_version_of(item.sha, present.sha) else ""
        text = whole or max(texts.get(item.item, ""), item.excerpt, key=len)  # either may be cut
        logged = LoggedItem(
            id=item.item,
            source_backend=item.backend,
            content_excerpt=item.excerpt[:EXCERPT],
            content_length=item.content_length,
            confidence=item.confidence,
            content_sha=item.sha,
            rank=item.rank,
            source=present.source if present else "",
        )
        return cls(logged, JudgedItem(item.item, text, is_whole=bool(whole) or len(text) >= item.content_length))


def _delivered(injected: InjectionRecord | None, texts: Mapping[str, str]) -> Iterable[InjectedItem]:
    """Return the items that reached the agent, or would in shadow. Of a killed hook the trace shows them (`texts`)."""
    if injected is None:
        return []
    if injected.arm == SHADOW:
        return injected.items
    at_once = () if injected.delivered is False else injected.items  # None: killed before it could say
    found = [item for item in at_once if injected.delivered or item.item in texts]
    return found + [item for item in injected.late if injected.late_delivered or item.item in texts]


def _silenced(injected: InjectionRecord) -> tuple[str, ...]:
    """The items that would have been injected, had contradictions not brought their confidence to 0."""
    if injected.floor is None or injected.ranker != RANKER:
        return ()  # rows of another ranker have other fields
    pool = [FoundItem(*row) for row in injected.pool]  # type: ignore[arg-type]
    return tuple(item.id for item in relevant(pool, injected.floor, with_quality=False) if not item.quality)


def _items_of_others(injections: Sequence[Injection]) -> list[_Item]:
    """Return the items that another tool injected: entries of a list, or sections or bullets of a document."""
    found: dict[str, _Item] = {}
    for injection in injections:
        if not injection.source.startswith(KNOWLEDGE_SOURCES) or injection.item or is_ours(injection.content):
            continue  # no knowledge, or from our own store
        listed = other_items(injection)
        store = listed.store or injection.path or injection.source
        for item in listed.items or _pieces_of(injection.content):
            logged = other_logged(item, injection.source, store)
            found.setdefault(logged.id, _Item(logged, JudgedItem(logged.id, item.content)))
    return list(found.values())[:MOST_PIECES]


def _pieces_of(document: str) -> Iterable[OtherItem]:
    for piece in split(document).pieces:
        yield OtherItem(f"{piece.heading}: {piece.content}" if piece.heading else piece.content)


def other_logged(item: OtherItem, channel: str, where: str) -> LoggedItem:
    """Return an item of another tool for the log, under an id that no item of our store has."""
    identity = item.id or item.content  # an id outlives the wording
    return LoggedItem(
        id="u" + hashlib.sha256(f"{where}\0{identity}".encode("utf-8", "replace")).hexdigest()[:12],
        source_backend=channel,
        content_excerpt=excerpt(item.content, EXCERPT),
        content_length=len(item.content),
        confidence=1.0 if item.confidence is None else item.confidence,
        source=where,
        own_id=redact(item.id),
        origin=excerpt(item.origin, _ORIGIN_CHARS),
    )
