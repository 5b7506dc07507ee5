"""Signals of an agent's calls (specification 1): failed searches (source 1), and repeated failure (source 4).

Consecutive similar misses are one event; the same class of lookup that fails again and again is another. What a miss
comes to is decided by what follows (`gaps/endings.py`).
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from knowbound.core.paths import relative_to
from knowbound.core.signal import Signal, SignalType, Status
from knowbound.core.trace import LOOKUPS, MISSES, LookupIntent, Step, ToolCall, ToolKind
from knowbound.gaps.endings import Endings, ExistenceCheck
from knowbound.gaps.wanted import asks_whether, is_about_a_path
from knowbound.text.redact import cut
from knowbound.text.similar import path_terms, similar, terms
from knowbound.traces.calls.tools import COMMAND_KEYS, first_text, kind_of

_SEARCHES = re.compile(r"(?:^|[;&|(]\s*)(?:e|f|git )?(?:grep|rg|find)\s")  # the specification's searching commands
_MOST_PROMPT = 100_000  # characters of a prompt that are searched for paths
_STATUSES = {LookupIntent.MALFORMED: Status.MALFORMED, LookupIntent.INCIDENTAL: Status.INCIDENTAL}
_MOST_PROMPTS = 500_000  # characters of the newest prompts of a session
AT_LEAST = 3  # calls of a repeated failure; the specification retries "more than N times (default N=2)"
_WINDOW = 3  # consecutive steps of a repeated failure (the specification's turns)
_PLURALS = {ToolKind.SEARCH: "searches", ToolKind.LIST: "listings", ToolKind.READ: "reads"}
_QUERY_SEPARATOR = " · "  # between the queries of an event
NewSignal = Callable[..., Signal]  # makes a signal of a step: the caller names its type, its status and its source


def is_failed_search(call: ToolCall) -> bool:
    """Report whether the call looked something up that was not there."""
    return call.kind in LOOKUPS and call.outcome in MISSES


def failed_as_specified(call: ToolCall) -> bool:
    """Specification 1, source 1, to the letter: a Grep, a Read or a searching command that found nothing or failed."""
    if kind_of(call.name) is ToolKind.SHELL:
        is_lookup = bool(_SEARCHES.search(first_text(call.input or {}, COMMAND_KEYS)))
    else:
        is_lookup = call.kind in (ToolKind.SEARCH, ToolKind.READ) and "glob" not in call.name.lower()
    return is_lookup and (call.failed or call.outcome in MISSES)


def terms_of(call: ToolCall) -> frozenset[str]:
    """Return what the call looked for: the terms of its pattern, or the name of its path."""
    if is_about_a_path(call):
        return path_terms(call.query.replace("*", "").replace("?", ""))
    return terms(call.query)


def _is_in_one_file(call: ToolCall) -> bool:
    """Report whether a call searches one file: it asks whether the file holds something."""
    name = call.where.rpartition("/")[2]
    return call.kind is ToolKind.SEARCH and "." in name[1:] and " " not in call.where and "*" not in name


class _LastMiss(NamedTuple):
    """The last miss of an agent: a similar one joins its signal."""

    signal: Signal
    terms: frozenset[str]  # what the call looked for
    check: ExistenceCheck | None


class CallSignals:
    """The failed searches and repeated failures of one session, in order."""

    def __init__(self, as_specified: bool = False, repeat_at_least: int = AT_LEAST) -> None:
        self._failed = failed_as_specified if as_specified else is_failed_search
        self._repeats = _Repeats(repeat_at_least)
        self._project = ""
        self._prompt_characters = 0
        self._prompts: deque[str] = deque()  # looked through for a path when reading it fails
        self._endings = Endings()
        self._last_words = ""  # the main agent's last words
        self.misses_in_step = 0  # misses of the last step, also those similar to an earlier miss
        self._last_misses: dict[str, _LastMiss] = {}  # by agent

    def start(self, project: str) -> None:
        """The folder that the agent works in becomes known, before the first prompt or after it."""
        self._project = self._endings.project = project

    def new_sample(self) -> None:
        """Forget the misses so far: another sample's finds do not resolve them, and its misses do not join them."""
        self._endings.new_sample()
        self._repeats.new_sample()
        self._last_misses.clear()

    def prompt(self, text: str) -> None:
        """Begin a turn. Keep the prompt: to read a path that it names is no guess of the agent's own."""
        self._last_misses.clear()
        self._endings.begin_turn(self._last_words, text)
        self._last_words = ""
        self._prompts.append(text[:_MOST_PROMPT])
        self._prompt_characters += len(self._prompts[-1])
        while self._prompt_characters > _MOST_PROMPTS:
            self._prompt_characters -= len(self._prompts.popleft())

    def step(self, step: Step, number: int, new: NewSignal) -> list[Signal]:
        """The new events of a step; `new` makes a signal of its session, turn and sample."""
        self._endings.step(step)
        if step.said and not step.agent_id:
            self._last_words = step.said[-1].text
        events: list[Signal] = []
        self.misses_in_step = 0
        for call in step.calls:
            if self.is_miss(call):
                self.misses_in_step += 1
                event = self._miss(call, step, number, new)
                if event is not None:
                    events.append(event)
        return events + self._repeats.step(step, self, new)

    def doubt(self, signals: Iterable[Signal], step: Step) -> None:
        """Hedges and markers of a step: what the agent does next may answer them."""
        for signal in signals:
            self._endings.doubt(signal, step)

    def is_miss(self, call: ToolCall) -> bool:
        """Report whether a call is a failed search of the agent's own, for nothing that the user named."""
        return self._failed(call) and not self._is_named_by_user(call)

    def shown_query(self, call: ToolCall) -> str:
        """The query as reports show it: a path relative to the project, a pattern as it is."""
        return relative_to(call.query, self._project) if call.kind in (ToolKind.READ, ToolKind.LIST) else call.query

    def check(self, call: ToolCall, step: Step) -> ExistenceCheck | None:
        """Return which kind of existence check a call is; None for a search that expects to find."""
        said = step.said[-1].text if step.said else ""
        if call.intent is LookupIntent.CHECK:
            return ExistenceCheck.ABSENCE
        return ExistenceCheck.WHETHER if asks_whether(call, said) or _is_in_one_file(call) else None

    def _miss(self, call: ToolCall, step: Step, number: int, new: NewSignal) -> Signal | None:
        """Return the signal of a miss; None if it joins the signal of the similar miss before it."""
        check = self.check(call, step)
        wanted_terms = terms_of(call)
        last_miss = self._last_misses.get(step.agent_id)
        if last_miss is not None and last_miss.check is check and similar(last_miss.terms, wanted_terms):
            last_miss.signal.call_ids.append(call.id)
            last_miss.signal.step = number
            self._endings.again(last_miss.signal, step.agent_id)
            return None
        event = new(
            type=SignalType.FAILED_SEARCH,
            status=_STATUSES.get(call.intent, Status.OPEN),
            call_ids=[call.id],
            message_id=step.said[-1].message_id if step.said else "",
            tool=call.name,
            query=self.shown_query(call),
            path=relative_to(call.where, self._project),
            reason=call.reason,
            outcome=call.outcome,
            file=step.path,
            line=call.line or step.line,
        )
        self._last_misses[step.agent_id] = _LastMiss(event, wanted_terms, check)
        self._endings.follow(event, call, step, check=check)
        return event

    def _is_named_by_user(self, call: ToolCall) -> bool:
        """Report whether the user named the path of a read (specification 1: only paths that the agent made count).

        A folder that the agent put before a name of the user's is its own guess.
        """
        if call.kind is not ToolKind.READ:
            return False
        relative = {path: relative_to(path, self._project) for path in (call.query, *call.query.split())}
        root = self._project.rstrip("/")
        names = {*relative, *relative.values(), *(f"{root}/{path}" for path in relative.values())} - {""}
        return any(name in prompt and _names_path(name, prompt) for name in names for prompt in self._prompts)


def _names_path(path: str, prompt: str) -> bool:
    """Report whether a prompt names the whole path. A plain name counts, too: "the Makefile" is a path."""
    return bool(re.search(rf"(?<![\w./-])(?:@|\./)?{re.escape(path)}(?![\w/-]|\.\w)", prompt, re.ASCII))


def _tool_class(call: ToolCall) -> str:
    """The class of a lookup: the agent's tool, and what a shell command does with it (Grep, Read, Bash search)."""
    return f"{call.name} {call.kind}" if call.kind in LOOKUPS else ""


class _Repeats:
    """Watches each agent's last steps for repeated failure; counted before similar searches collapse."""

    def __init__(self, at_least: int = AT_LEAST) -> None:
        self._at_least = max(2, at_least)  # once is not again
        self._windows: dict[str, deque[Step]] = {}
        # Agent and class → the event that still grows, and the calls in it.
        self._running: dict[tuple[str, str], tuple[Signal, set[str]]] = {}

    def new_sample(self) -> None:
        """Forget what came before: repeats are counted within one sample."""
        self._windows.clear()
        self._running.clear()

    def step(self, step: Step, misses: CallSignals, new: NewSignal) -> list[Signal]:
        """The events that this step completes."""
        window = self._windows.get(step.agent_id)
        if window is None:
            window = self._windows[step.agent_id] = deque(maxlen=_WINDOW)
        window.append(step)
        events: list[Signal] = []
        if not self._running and not misses.misses_in_step:
            return events
        calls_by_class: dict[str, list[tuple[ToolCall, Step]]] = {
            tool_class: [] for tool_class in dict.fromkeys(map(_tool_class, step.calls)) if tool_class
        }
        for recent_step in window:
            for call in recent_step.calls:
                calls_by_class.get(_tool_class(call), []).append((call, recent_step))
        for tool_class, calls in calls_by_class.items():
            key = (step.agent_id, tool_class)
            if not all(misses.is_miss(call) for call, _ in calls):
                self._running.pop(key, None)
                continue
            if len(calls) < self._at_least:
                continue
            if key not in self._running:
                self._running[key] = (self._new_event(calls, new), set())
                events.append(self._running[key][0])
            self._extend_event(*self._running[key], [call for call, _ in calls], misses)
        return events

    def _extend_event(self, event: Signal, counted_ids: set[str], calls: list[ToolCall], misses: CallSignals) -> None:
        """Take in the calls that are new, and say how many there are by now."""
        new_calls = [call for call in calls if call.id not in counted_ids]
        counted_ids.update(call.id for call in new_calls)
        event.call_ids.extend(call.id for call in new_calls)
        queries = dict.fromkeys((*event.query.split(_QUERY_SEPARATOR), *map(misses.shown_query, new_calls)))
        event.query = cut(_QUERY_SEPARATOR.join(query for query in queries if query), 500)
        event.reason = f"{len(event.call_ids)} {_PLURALS[calls[0].kind]} in consecutive steps, all failed"

    def _new_event(self, calls: list[tuple[ToolCall, Step]], new: NewSignal) -> Signal:
        first = calls[0][0]
        return new(
            type=SignalType.REPEATED_FAILURE,
            status=Status.OPEN,  # until it is known what its misses are
            tool=first.name,
            path=first.where,
            file=calls[0][1].path,
            line=first.line,
        )
