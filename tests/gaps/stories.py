"""Sessions in a few words, as tests of the gap lens need them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from knowbound.core.signal import Signal, Status
from knowbound.core.trace import AgentText, Event, Outcome, Prompt, Skill, Step, ToolCall, ToolKind
from knowbound.gaps.endings import settle_repeats
from knowbound.gaps.signals import CallSignals, text_signals

SHOP = "/work/shop"


def call(kind: ToolKind, query: str, outcome: Outcome = Outcome.OK, **more: object) -> ToolCall:
    """A call of the tool that agents have for it; its id is what it asked for unless another is given."""
    name = {"search": "Grep", "read": "Read", "list": "LS", "shell": "Bash", "edit": "Edit"}.get(kind, "Tool")
    fields: dict[str, object] = {"id": query, "name": name, "kind": kind, "outcome": outcome, "query": query, **more}
    return ToolCall(**fields)  # type: ignore[arg-type]


def search(query: str, *paths: str, **more: object) -> ToolCall:
    """A search that found these files, or nothing."""
    fields = {"paths": paths, "output": "\n".join(paths), **more}
    return call(ToolKind.SEARCH, query, Outcome.OK if paths else Outcome.EMPTY, **fields)


def read(path: str, *, there: bool = True, **more: object) -> ToolCall:
    """A read of a file."""
    fields: dict[str, object] = {"output": "text", "paths": (path,) if there else (), **more}
    return call(ToolKind.READ, path, Outcome.OK if there else Outcome.MISSING, **fields)


def step(*calls: ToolCall, said: str = "", **more: object) -> Step:
    """A step of the main agent, or of the one that is named."""
    words = (AgentText("m", said, 5),) if said else ()
    return Step(id="x", calls=calls, said=words, path="/t/s.jsonl", **more)  # type: ignore[arg-type]


def follow(*events: Event) -> list[Signal]:
    """The signals of a session of one prompt and then these events."""
    calls, signals, last = CallSignals(), list[Signal](), 0
    calls.start(SHOP)
    calls.prompt("go")
    for number, event in enumerate(events, 1):
        if isinstance(event, Prompt):
            calls.prompt(event.text)
        elif isinstance(event, Skill):
            calls.new_sample()
        elif isinstance(event, Step):
            new = partial(Signal, session="s", turn=1, sample="s#1", step=number, agent_id=event.agent_id)
            signals += calls.step(event, number, new)
            last = len(signals)
            for said in event.said:
                signals += [
                    new(type=type_, status=Status.OPEN, text=text) for type_, text, _ in text_signals(said.text)
                ]
            calls.doubt(signals[last:], event)
    calls.new_sample()
    settle_repeats(signals)
    return signals


def shown(signals: Iterable[Signal]) -> list[str]:
    """Signals in a line each: type, status, ending, where it was found and by which call, cost, names, correction."""
    return [" ".join(filter(None, _parts(signal))) for signal in signals]


def _parts(signal: Signal) -> Iterable[str]:
    yield from (signal.type, signal.status, signal.ending or "-")
    yield f"at {signal.found_at.path}:{signal.found_at.line}" if signal.found_at else ""
    yield f"by {signal.resolved_by}" if signal.resolved_by else ""
    if signal.cost is not None:
        cost = signal.cost
        yield f"{cost.calls} calls {cost.steps} steps"
        yield f"{cost.seconds} s" if cost.seconds is not None else ""
        yield f"{cost.tokens} tokens" if cost.tokens is not None else ""
    yield f"[{', '.join(signal.names)}]" if signal.names else ""
    yield f"user: {signal.correction}" if signal.correction else ""
