"""Failed searches (specification 1, source 1): the agent looked for something and it was not there.

Consecutive similar misses are one event. A miss is `resolved` when a later call of the same sample
finds what was missed, and a `verification` when the agent was checking that something is absent.
"""

from __future__ import annotations

import re
from collections import OrderedDict

from msgspec.structs import replace

from knowbound.core.knowledge import relative_to
from knowbound.core.signal import Signal, SignalType, Status
from knowbound.core.trace import LOOKUPS, MISSES, Intent, Kind, Outcome, Step, ToolCall
from knowbound.text.sentences import plain_sentences
from knowbound.text.similar import essence, path_terms, plain_term, similar, terms
from knowbound.traces.intent import speaks_of_absence

_NAME = re.compile(r"[A-Za-z_]\w{3,}")
_LINE = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")  # a line number after a path
# A path in prose ends at what prose puts around it: brackets, quotes, commas, Chinese signs.
_AROUND_PATHS = "`'\"()[]{}<>,;:!?*"
_GIVEN = re.compile(r"[^\s`'\"()\[\]{}<>,;!?*=|\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]+")
_MOST_PROMPT = 100_000  # characters of a prompt that are searched for paths
_MOST_GONE = 20_000  # names remembered of what the agent removed


def is_failed_search(call: ToolCall) -> bool:
    """The call looked something up, and it was not there."""
    return call.kind in LOOKUPS and call.outcome in MISSES


def terms_of(call: ToolCall) -> frozenset[str]:
    """What the call looked for: the terms of its pattern, or the name of its path."""
    if call.kind in (Kind.READ, Kind.LIST) or (_looks_like_glob(call.query) and "|" not in call.query):
        return path_terms(call.query.replace("*", "").replace("?", ""))
    return terms(call.query)


def _looks_like_glob(query: str) -> bool:
    return ("*" in query or "/" in query) and not re.search(r"[\\()^$+]|\.\*|\s", query)


def _last_sentence(text: str) -> str:
    """The sentence that announces a call: what comes before it is about something else."""
    return (plain_sentences(text[-500:]) or [""])[-1]


class Misses:
    """The failed searches of one session, in order."""

    def __init__(self) -> None:
        self._project = ""
        self._given: set[str] = set()  # paths that the user named, also below the project
        self._gone: OrderedDict[str, None] = OrderedDict()  # names that the agent removed, oldest first
        self._open: dict[str, list[Signal]] = {}  # misses of the sample that runs, by what would answer them
        self._last: dict[str, tuple[Signal, frozenset[str]]] = {}  # the last miss of each agent

    def new_sample(self) -> None:
        """What was missed before is not resolved by another sample's finds, nor joined to its misses."""
        self._open.clear()
        self._last.clear()

    def prompt(self, text: str, project: str) -> None:
        """A new turn: remember the paths that the user gave, forget what the last turn removed.

        Reading a given path is not the agent's own guess; checking for leftovers belongs to the turn that made them.
        """
        self._gone.clear()
        self._last.clear()
        self._project = project
        text = text[:_MOST_PROMPT]
        like_paths = [word for word in text.split() if "/" in word or "." in word]
        # Whole words, since a path may hold brackets (`app/(shop)/[id].tsx`), and words without what prose puts around.
        words = {*(word.strip(_AROUND_PATHS) for word in like_paths), *_GIVEN.findall(" ".join(like_paths))}
        for word in words:
            path = _LINE.sub("", word.rstrip(".:")).removeprefix("@").removeprefix("./")
            if "/" in path or "." in path:
                self._given.update((path, relative_to(path, project), f"{project.rstrip('/')}/{path}"))

    def step(self, step: Step, new: Signal) -> list[Signal]:
        """The new events of a step; `new` has the session, turn and sample of a signal here."""
        events: list[Signal] = []
        for call in step.calls:
            if call.gone:
                self._remember_gone(call.gone)
            if call.outcome is not Outcome.OK:
                event = self._miss(call, step, new) if self.is_miss(call) else None
                if event is not None:
                    events.append(event)
            elif self._open:
                if call.kind in LOOKUPS:
                    self._resolve(call)
                elif call.kind is Kind.EDIT:  # what the agent then writes itself was not found
                    self._open.pop(essence(path_terms(call.query)), None)
        return events

    def is_miss(self, call: ToolCall) -> bool:
        """A failed search of the agent's own: what the user named is not its guess."""
        return is_failed_search(call) and not self._given_by_user(call)

    def shown_query(self, call: ToolCall) -> str:
        """The query as reports show it: a path relative to the project, a pattern as it is."""
        return relative_to(call.query, self._project) if call.kind in (Kind.READ, Kind.LIST) else call.query

    def is_verification(self, call: ToolCall, step: Step) -> bool:
        """The agent was checking that something is absent: it says so, or it removed the name itself."""
        if call.intent is Intent.CHECK or self._is_gone(call):
            return True
        if speaks_of_absence(call.purpose):
            return True
        return bool(step.said) and speaks_of_absence(_last_sentence(step.said[-1].text))

    def _miss(self, call: ToolCall, step: Step, new: Signal) -> Signal | None:
        status = Status.VERIFICATION if self.is_verification(call, step) else Status.OPEN
        wanted = terms_of(call)
        last = self._last.get(step.agent_id)
        if last is not None and last[0].status is status and similar(last[1], wanted):
            last[0].call_ids.append(call.id)
            return None
        event = replace(
            new,
            type=SignalType.FAILED_SEARCH,
            status=status,
            call_ids=[call.id],
            message_id=step.said[-1].message_id if step.said else "",
            tool=call.name,
            query=self.shown_query(call),
            path=relative_to(call.where, self._project),
            reason=call.reason,
            outcome=call.outcome,
            agent_id=step.agent_id,
            file=step.path,
            line=call.line or step.line,
        )
        self._last[step.agent_id] = (event, wanted)
        if status is Status.OPEN:
            self._open.setdefault(essence(wanted), []).append(event)
        return event

    def _resolve(self, call: ToolCall) -> None:
        """A lookup that succeeded resolves the misses that looked for the same."""
        found = terms_of(call).union(*map(path_terms, call.paths))
        for term in found:
            for event in self._open.pop(plain_term(term), ()):
                event.status = Status.RESOLVED
                event.resolved_by = call.id

    def _given_by_user(self, call: ToolCall) -> bool:
        """Specification 1: a Read counts when the path is one the agent constructed itself.

        A folder that the agent put before a name of the user's is its own guess.
        """
        if call.kind is not Kind.READ or not self._given:
            return False
        paths = [call.query, *call.query.split()]
        return any(path.removeprefix("./") in self._given for path in paths)

    def _remember_gone(self, names: tuple[str, ...]) -> None:
        self._gone.update(dict.fromkeys(names))
        while len(self._gone) > _MOST_GONE:
            self._gone.popitem(last=False)

    def _is_gone(self, call: ToolCall) -> bool:
        """The longest name of the pattern is one that the agent removed before."""
        if call.kind is not Kind.SEARCH or not self._gone:
            return False
        names = _NAME.findall(call.query)
        return bool(names) and max(names, key=len) in self._gone
