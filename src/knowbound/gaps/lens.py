"""Turns the events of one session into turns, samples and gap signals (specification 1).

The lens follows a stream and keeps only what is needed later, so a session of any length fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import partial
from zlib import crc32

import msgspec

from knowbound.config import Settings
from knowbound.core.paths import is_knowledge, relative_to
from knowbound.core.signal import SOURCES, Findings, FoundPlace, InjectedText, Sample, Signal, Status, Turn
from knowbound.core.trace import Broken, Event, Injection, Outcome, Prompt, Skill, Start, Step, ToolKind
from knowbound.gaps.call_signals import AT_LEAST, CallSignals, NewSignal
from knowbound.gaps.endings import settle_repeats
from knowbound.gaps.text_signals import text_signals
from knowbound.gaps.wanted import plain_name
from knowbound.text.clock import comparable_time
from knowbound.text.redact import excerpt, excerpt_of_end, redact
from knowbound.traces.calls.tools import is_unknown_call
from knowbound.traces.other_items import other_items

GENERAL = "general"  # the sample before and without a skill
EXCERPT = 500  # specification 2: the first 500 characters, in code points
MOST_SIGNALS = 20_000  # of a session; of 285 real ones none has more than 30
_LONGEST_TEXT = 1_000_000  # characters of a message that are looked through
_FEW = 50  # signals of one message
_MOST_INJECTED = 2_000  # texts injected into a turn that are kept
_SAID = 240  # characters of the agent's own words kept beside a miss
_LOADING = frozenset({"instructions", "nested_memory", "memory", "relevant_memories"})  # sources of injections
_SKILL_FILE = re.compile(r"(?:^|/)([^/]+)/SKILL\.md$")


class LensSettings(msgspec.Struct, frozen=True):
    """Settings that the findings depend on."""

    knowledge: tuple[str, ...] = ()
    repeat_at_least: int = AT_LEAST
    as_specified: bool = False  # count failed searches by the letter of specification 1

    @classmethod
    def of(cls, settings: Settings, knowledge: tuple[str, ...]) -> LensSettings:
        """Return what the lens needs of the settings."""
        return cls(knowledge, settings.repeated_failure_calls, settings.as_specified)


class SessionLens:
    """Follows one session. Feed it the events in order, then ask for the findings."""

    def __init__(self, session: str, agent: str, settings: LensSettings = LensSettings()) -> None:  # noqa: B008
        self.found = Findings(session=session, agent=agent)
        self._knowledge = settings.knowledge
        self._calls = CallSignals(settings.as_specified, settings.repeat_at_least)
        self._reached: dict[str, None] = {}
        self._loaded: dict[str, None] = {}
        self._injected: list[InjectedText] = []  # before the first prompt
        self._turn: Turn | None = None
        self._sample: Sample | None = None
        self._skill = GENERAL
        self._homes: dict[str, tuple[Turn | None, Sample]] = {}  # where each sub-agent was started
        self._wordless: dict[str, list[Signal]] = {}  # misses without words of the agent yet, by agent
        self._steps: dict[str, int] = {}  # of each agent, counted
        self._with_signals: set[str] = set()  # samples
        self._broken = ""
        self._unanswered = False
        self._started = False
        self._digest = 0

    def follow(self, events: Iterator[Event]) -> Start | None:
        """Take in the events of the session; where another session starts, stop and give back its start."""
        for event in events:
            if isinstance(event, Step):
                self._step(event)
            elif isinstance(event, Prompt):
                self._prompt(event)
            elif isinstance(event, Injection):
                self._injection(event)
            elif isinstance(event, Skill):
                self._new_skill(event.name, invoked=True)
            elif isinstance(event, Broken):
                self._broken = event.reason or "the agent failed"
            elif self._started and event.session != self.found.session:
                return event
            else:
                self.start(event)
        return None

    def findings(self, files: Iterable[str]) -> Findings:
        """The findings, after the last event."""
        self._close_sample()
        self._calls.new_sample()
        found = self.found
        found.files = list(files)
        found.reached = list(map(redact, self._reached))
        found.loaded = list(map(redact, self._loaded))
        found.digest = f"{self._digest:08x}"
        for turn in found.turns:
            turn.answer = excerpt(turn.answer, EXCERPT)
        settle_repeats(found.signals)
        names = set[str]().union(*map(_redact, found.signals))
        for signal in found.signals:  # one of a chain has the name of the first
            signal.names = tuple(name for name in signal.names if name in names)
        return found

    def start(self, start: Start) -> None:
        """The session becomes known."""
        self._started = True
        self.found.session = start.session or self.found.session
        self.found.project = start.project
        self._calls.start(start.project)
        self.found.version = start.version
        self._clock(start.time)

    def _clock(self, time: str) -> None:
        found, time = self.found, comparable_time(time)
        found.ended = max(found.ended, time)
        if time and (time < found.started or not found.started):
            found.started = time

    def _prompt(self, prompt: Prompt) -> None:
        self._clock(prompt.time)
        self._calls.prompt(prompt.text)
        sample = self._current_sample()
        sample.turns += 1
        self._turn = Turn(
            index=len(self.found.turns) + 1,
            sample=sample.id,
            prompt=excerpt(prompt.text, EXCERPT),
            time=prompt.time,
            injected=self._injected,
            file=prompt.path,
            line=prompt.line,
            client_turn=prompt.client_turn,
            author=prompt.author,
        )
        self._injected = []
        self.found.turns.append(self._turn)

    def _injection(self, injection: Injection) -> None:
        if injection.path:
            self._reach((injection.path,))
            self._load(injection)
        injected = self._turn.injected if self._turn else self._injected
        path, source, line = redact(injection.path), injection.source, injection.line
        for text in [item.content for item in other_items(injection).items] or [injection.content]:
            if len(injected) == _MOST_INJECTED:
                return
            injected.append(InjectedText(source, path, excerpt(text, EXCERPT), len(text), line, injection.item))

    def _new_skill(self, name: str, *, invoked: bool = False) -> None:
        """A skill lasts from its invocation to the next, or the end of the session; not from reading its file again."""
        if name == self._skill and not (invoked and self._sample and self._sample.steps > 1):
            return
        sample = self._sample
        if sample is not None and sample.name == GENERAL and sample.steps <= 1 and sample.id not in self._with_signals:
            # The prompt led straight to the skill: there was no work before it that could be a sample.
            sample.name = self._skill = name
            return
        self._close_sample()
        self._skill = name
        self._calls.new_sample()

    def _current_sample(self) -> Sample:
        if self._sample is None:
            self._sample = Sample(id=f"{self.found.session}#{len(self.found.samples) + 1}", name=self._skill)
            self.found.samples.append(self._sample)
        return self._sample

    def _close_sample(self) -> None:
        """A sample whose agent never answered, failed, or was cut off has no complete trace.

        A call without a result is lost, and nothing else: what was answered counts in observed work.
        """
        sample, self._sample = self._sample, None
        if sample is None:
            return
        if self._broken:
            sample.incomplete = f"the agent failed: {self._broken}"
        elif not sample.steps:
            sample.incomplete = "no answer of the agent"
        elif self._unanswered:
            sample.incomplete = "ends in the middle of a tool call"
        sample.incomplete = redact(sample.incomplete)
        self._broken, self._unanswered = "", False

    def _step(self, step: Step) -> None:
        self._clock(step.time)
        self._broken = ""
        self._digest = crc32(step.id.encode("utf-8", "replace"), self._digest)
        turn, sample = self._home(step.agent_id)
        number = self._steps[step.agent_id] = self._steps.get(step.agent_id, 0) + 1
        unanswered = 0
        skills: list[str] = []
        for call in step.calls:
            if call.outcome is not Outcome.OK:
                unanswered += call.is_unanswered
            else:
                self._reach(call.paths)
                if call.kind is ToolKind.READ and call.query.endswith("SKILL.md"):
                    skills += _SKILL_FILE.findall(call.query)
            self.found.unknown_calls += is_unknown_call(call)
        sample.steps += 1
        sample.answered += bool(step.said) or unanswered < len(step.calls)
        sample.calls += len(step.calls)
        self.found.tool_calls += len(step.calls)
        if turn is not None:
            turn.steps += 1
            turn.calls += len(step.calls)
            if step.said and not step.agent_id:
                turn.answer = step.said[-1].text
        if not step.agent_id:
            self._unanswered = unanswered > 0
        new = partial(
            Signal, session=self.found.session, turn=turn.index if turn else 0, sample=sample.id, step=number,
            agent_id=step.agent_id,
        )  # fmt: skip
        events = self._calls.step(step, number, new)
        if events:
            self._keep(events)
        self._own_words(step, events)
        if step.said:
            self._text_signals(step, new)
        for name in skills:
            if not self._skill.endswith(name):
                self._new_skill(name)

    def _home(self, agent_id: str) -> tuple[Turn | None, Sample]:
        """The turn and sample of a step: a sub-agent's are those that started it, however long it runs."""
        if not agent_id:
            return self._turn, self._current_sample()
        home = self._homes.get(agent_id)
        if home is None:
            home = self._homes[agent_id] = (self._turn, self._current_sample())
        return home

    def _own_words(self, step: Step, events: list[Signal]) -> None:
        """Keep the agent's own words with a miss: those before it, else those that follow."""
        waiting = self._wordless.get(step.agent_id, [])
        if not (waiting or events):
            return
        words = step.said[-1].text.strip() if step.said else ""
        if words:
            for signal in waiting:
                signal.said = _start(words)
            waiting.clear()
            for signal in events:
                signal.said = _end(words)
        elif events:
            self._wordless.setdefault(step.agent_id, []).extend(events)

    def _text_signals(self, step: Step, new: NewSignal) -> None:
        for said in step.said:
            text = said.text[:_LONGEST_TEXT]
            found = text_signals(text)
            if not found:
                continue
            if (clean := redact(text)) != text:
                found = text_signals(clean)  # a secret may go over the lines and sentences that signals are made of
            if len(found) > _FEW:
                clean = ""  # looking for each of many parts in a long text would take time that grows with its square
            kept = self._keep(
                [
                    new(
                        type=type_,
                        status=Status.OPEN,
                        message_id=said.message_id,
                        text=_clean_part(text, clean),
                        context=_clean_part(context, clean),
                        file=step.path,
                        line=said.line,
                    )
                    for type_, text, context in found
                ]
            )
            self._calls.doubt([signal for signal in kept if SOURCES[signal.type].is_doubt], step)

    def _keep(self, signals: list[Signal]) -> list[Signal]:
        """A session keeps so many signals and no more, so that no text of a few characters each fills the memory."""
        kept = signals[: max(0, MOST_SIGNALS - len(self.found.signals))]
        self.found.signals += kept
        self.found.signals_left_out += len(signals) - len(kept)
        self._with_signals.update(signal.sample for signal in kept)
        return kept

    def _load(self, injection: Injection) -> None:
        """Keep the knowledge files that the client put into the context without being asked."""
        near = relative_to(injection.path, self.found.project)
        if injection.source in _LOADING and near in self._reached:
            self._loaded[near] = None

    def _reach(self, paths: Iterable[str]) -> None:
        """Keep the knowledge files among the paths, relative to the project."""
        for path in paths:
            # Without globs the name decides, inside the project or not: most paths end here.
            if not self._knowledge and not is_knowledge(path):
                continue
            near = relative_to(path, self.found.project)
            if is_knowledge(near, self._knowledge):
                self._reached[near] = None


def _start(words: str) -> str:
    """The start of a text without secrets, cut between words."""
    shown = excerpt(words, _SAID)
    return shown if len(words) <= _SAID else (shown.rpartition(" ")[0] or shown) + " …"


def _end(words: str) -> str:
    """The end of a text without secrets, cut between words."""
    shown = excerpt_of_end(words, _SAID)
    return shown if len(words) <= _SAID else "… " + (shown.partition(" ")[2] or shown)


def _clean_part(part: str, clean: str) -> str:
    """Return a part of a text without secrets: one that the redacted text has as it is needs no second look."""
    return part if part in clean else redact(part)


def _redact(signal: Signal) -> list[str]:
    """Take the secrets out of a signal, and return the names of it that hold none.

    A text signal has no secret left: it was redacted with its message.
    """
    raw = (signal.query, signal.path)
    signal.query = redact(signal.query)
    signal.path = redact(signal.path)
    if signal.found_at is not None:
        signal.found_at = FoundPlace(redact(signal.found_at.path), signal.found_at.line)
    if not signal.text and raw == (signal.query, signal.path):
        return list(signal.names)
    shown = plain_name(f"{signal.query} {signal.path} {signal.text}")
    return [name for name in signal.names if name in shown]
