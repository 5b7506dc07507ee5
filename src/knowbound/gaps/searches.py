"""Failed searches (specification 1, source 1): the agent looked for something and it was not there.

Consecutive similar misses are one event. What a miss comes to is decided by what follows (`gaps/endings.py`).
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable

from knowbound.core.paths import relative_to
from knowbound.core.signal import Signal, SignalType, Status
from knowbound.core.trace import LOOKUPS, MISSES, LookupIntent, Step, ToolCall, ToolKind
from knowbound.gaps.endings import Endings, ExistenceCheck
from knowbound.gaps.search_words import asks_whether, expects_absence
from knowbound.gaps.wanted import is_about_a_path
from knowbound.text.similar import path_terms, similar, terms
from knowbound.traces.calls.tools import COMMAND_KEYS, first_text, kind_of

_NAME = re.compile(r"[A-Za-z_]\w{3,}")
_LINE = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)$")  # a line number after a path
# A path in prose ends at what prose puts around it: brackets, quotes, commas, Chinese signs.
_AROUND_PATHS = "`'\"()[]{}<>,;:!?*“”‘’«»"
_GIVEN = re.compile(r"[^\s`'\"()\[\]{}<>,;!?*=|“”‘’«»\u3000-\u303f\u4e00-\u9fff\uff00-\uffef]+")
_SEARCHES = re.compile(r"(?:^|[;&|(]\s*)(?:e|f|git )?(?:grep|rg|find)\s")  # the specification's searching commands
_MOST_PROMPT = 100_000  # characters of a prompt that are searched for paths
_STATUSES = {LookupIntent.MALFORMED: Status.MALFORMED, LookupIntent.INCIDENTAL: Status.INCIDENTAL}
_MOST_GONE = 20_000  # names remembered of what the agent removed
NewSignal = Callable[..., Signal]  # makes a signal of a step: the caller names its type, its status and its source
_MOST_EDITS = 64  # edits that wait to be searched for such names
_MOST_WAITING = 500_000  # characters of prompts that wait to be searched for paths


def is_failed_search(call: ToolCall) -> bool:
    """The call looked something up, and it was not there."""
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
    """A search in one file asks whether it holds something."""
    name = call.where.rpartition("/")[2]
    return call.kind is ToolKind.SEARCH and "." in name[1:] and " " not in call.where and "*" not in name


class Misses:
    """The failed searches of one session, in order."""

    def __init__(self, as_specified: bool = False) -> None:
        self._failed = failed_as_specified if as_specified else is_failed_search
        self._project = ""
        self._given: set[str] = set()  # paths that the user named
        self._prompts: list[str] = []  # searched for such paths when a read fails
        self._gone: OrderedDict[str, None] = OrderedDict()  # names that the agent removed, oldest first
        self._edits: list[ToolCall] = []  # searched for such names when a search fails
        self._endings = Endings()
        self._said = ""  # the main agent's last words
        self.in_step = 0  # misses of the last step, also those similar to an earlier miss
        # The last miss of each agent, what it wanted, and whether it was a check.
        self._last: dict[str, tuple[Signal, frozenset[str], ExistenceCheck | None]] = {}

    def start(self, project: str) -> None:
        """The folder that the agent works in becomes known, before the first prompt or after it."""
        self._project = self._endings.project = project

    def new_sample(self) -> None:
        """Forget the misses so far: another sample's finds do not resolve them, and its misses do not join them."""
        self._endings.new_sample()
        self._last.clear()

    def prompt(self, text: str) -> None:
        """A new turn: remember the paths that the user gave, forget what the last turn removed.

        Reading a given path is not the agent's own guess; checking for leftovers belongs to the turn that made them.
        """
        self._gone.clear()
        self._edits.clear()
        self._last.clear()
        self._endings.begin_turn(self._said, text)
        self._said = ""
        self._prompts.append(text[:_MOST_PROMPT])
        if sum(map(len, self._prompts)) > _MOST_WAITING:
            self._search_prompts()

    def step(self, step: Step, number: int, new: NewSignal) -> list[Signal]:
        """The new events of a step; `new` makes a signal of its session, turn and sample."""
        self._endings.step(step)
        if step.said and not step.agent_id:
            self._said = step.said[-1].text
        events: list[Signal] = []
        self.in_step = 0
        for call in step.calls:
            if call.removed is not None:
                self._edits.append(call)
                if len(self._edits) > _MOST_EDITS:
                    self._search_edits()
            if self.is_miss(call):
                self.in_step += 1
                event = self._miss(call, step, number, new)
                if event is not None:
                    events.append(event)
        return events

    def doubt(self, signals: Iterable[Signal], step: Step) -> None:
        """Hedges and markers of a step: what the agent does next may answer them."""
        for signal in signals:
            self._endings.doubt(signal, step)

    def is_miss(self, call: ToolCall) -> bool:
        """A failed search of the agent's own: what the user named is not its guess."""
        return self._failed(call) and not self._given_by_user(call)

    def shown_query(self, call: ToolCall) -> str:
        """The query as reports show it: a path relative to the project, a pattern as it is."""
        return relative_to(call.query, self._project) if call.kind in (ToolKind.READ, ToolKind.LIST) else call.query

    def check(self, call: ToolCall, step: Step) -> ExistenceCheck | None:
        """Report whether the agent was asking if something is there: it says so, or it removed the name itself."""
        said = step.said[-1].text if step.said else ""
        if call.intent is LookupIntent.CHECK or self._is_gone(call) or expects_absence(call, said):
            return ExistenceCheck.ABSENCE
        return ExistenceCheck.WHETHER if asks_whether(call, said) or _is_in_one_file(call) else None

    def _miss(self, call: ToolCall, step: Step, number: int, new: NewSignal) -> Signal | None:
        check = self.check(call, step)
        wanted = terms_of(call)
        last = self._last.get(step.agent_id)
        if last is not None and last[2] is check and similar(last[1], wanted):
            last[0].call_ids.append(call.id)
            last[0].step = number
            self._endings.again(last[0], step.agent_id)
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
        self._last[step.agent_id] = (event, wanted, check)
        self._endings.follow(event, call, step, check=check)
        return event

    def _given_by_user(self, call: ToolCall) -> bool:
        """Specification 1: a Read counts when the path is one the agent constructed itself.

        A folder that the agent put before a name of the user's is its own guess.
        """
        if call.kind is not ToolKind.READ:
            return False
        self._search_prompts()
        for path in (call.query, *call.query.split()):
            near = relative_to(path, self._project)
            if near in self._given or path in self._given or f"{self._project.rstrip('/')}/{near}" in self._given:
                return True
        return False

    def _search_prompts(self) -> None:
        for text in self._prompts:
            # Whole words, since a path may hold brackets (`app/(shop)/[id].tsx`), and words without what prose puts
            # around. A plain word counts too: "the Makefile" is a path, given where the agent reads exactly that name.
            for word in {*(word.strip(_AROUND_PATHS) for word in text.split()), *_GIVEN.findall(text)}:
                if path := _LINE.sub("", word.rstrip(".:")).removeprefix("@").removeprefix("./"):
                    self._given.add(path)
        self._prompts.clear()

    def _search_edits(self) -> None:
        for edit in self._edits:
            self._gone.update(dict.fromkeys(edit.gone))
            while len(self._gone) > _MOST_GONE:
                self._gone.popitem(last=False)
        self._edits.clear()

    def _is_gone(self, call: ToolCall) -> bool:
        """The longest name of the pattern is one that the agent removed before."""
        if call.kind is not ToolKind.SEARCH:
            return False
        self._search_edits()
        names = _NAME.findall(call.query)
        return bool(names) and max(names, key=len) in self._gone
