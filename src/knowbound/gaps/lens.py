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
from knowbound.core.knowledge_paths import is_knowledge, relative_to
from knowbound.core.signal import SOURCES, Findings, FoundPlace, InjectedText, Sample, Signal, Status, Turn
from knowbound.core.trace import Broken, Event, Injection, Outcome, Prompt, Skill, Start, Step, ToolKind
from knowbound.gaps.endings import settle_repeats
from knowbound.gaps.signals import AT_LEAST, CallSignals, NewSignal, text_signals
from knowbound.gaps.wanted import plain_name
from knowbound.text.clock import comparable_time
from knowbound.text.redact import excerpt, excerpt_of_end, redact
from knowbound.traces.calls.finish import is_unknown_call
from knowbound.traces.other_items import other_items

GENERAL = "general"  # the sample before and without a skill
EXCERPT = 500  # specification 2: the first 500 characters, in code points
MOST_SIGNALS = 20_000  # of a session; of 285 real ones none has more than 30
_TEXT_CHARS = 1_000_000  # of a message that are looked through
_FEW_SIGNALS = 50  # signals of one message
_MOST_INJECTED = 2_000  # texts injected into a turn that are kept
_SAID_CHARS = 240  # of the agent's own words kept beside a miss
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
        self._reached: dict[str, None] = {}  # an ordered set of paths
        self._loaded: dict[str, None] = {}
        self._injected: list[InjectedText] = []  # before the first prompt
        self._turn: Turn | None = None
        self._sample: Sample | None = None
        self._skill = GENERAL
        self._started_in: dict[str, tuple[Turn | None, Sample]] = {}  # where each sub-agent was started
        self._misses_without_words: dict[str, list[Signal]] = {}  # by agent: they wait for its next words
        self._steps: dict[str, int] = {}  # of each agent, counted
        self._with_signal: set[str] = set()  # ids of samples
        self._failure = ""  # of the agent itself, after its last step
        self._ends_unanswered = False  # the last step lacks the result of a call
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
                self._failure = event.reason or "the agent failed"
            elif self._started and event.session != self.found.session:  # only a Start is left here
                return event
            else:
                self.start(event)
        return None

    def findings(self, files: Iterable[str]) -> Findings:
        """The findings, after the last event."""
        self._close_sample()
        self._calls.new_sample()  # decides the misses that are still followed
        found = self.found
        found.files = list(files)
        found.reached = list(map(redact, self._reached))
        found.loaded = list(map(redact, self._loaded))
        found.digest = f"{self._digest:08x}"
        for turn in found.turns:
            turn.answer = excerpt(turn.answer, EXCERPT)
        settle_repeats(found.signals)
        names = set[str]().union(*map(_redact_signal, found.signals))
        # Names of any signal: in a chain of searches for one thing each signal has a name of the first one.
        for signal in found.signals:
            signal.names = tuple(name for name in signal.names if name in names)
        return found

    def start(self, start: Start) -> None:
        """Take in the id, the folder and the version of the session."""
        self._started = True
        self.found.session = start.session or self.found.session
        self.found.project = start.project
        self._calls.start(start.project)
        self.found.version = start.version
        self._note_time(start.time)

    def _note_time(self, time: str) -> None:
        """Extend the session's time span to an event; clocks may go backwards."""
        found, time = self.found, comparable_time(time)
        found.ended = max(found.ended, time)
        if time and (time < found.started or not found.started):
            found.started = time

    def _prompt(self, prompt: Prompt) -> None:
        self._note_time(prompt.time)
        self._calls.prompt(prompt.text)
        sample = self._current_sample()
        sample.turns += 1
        self._turn = Turn(
            index=len(self.found.turns) + 1,
            sample=sample.id,
            prompt=excerpt(prompt.text, EXCERPT),
            time=prompt.time,
            injected=self._injected,  # what came before the first prompt
            file=prompt.path,
            line=prompt.line,
            client_turn=prompt.client_turn,
            author=prompt.author,
        )
        self._injected = []
        self.found.turns.append(self._turn)

    def _injection(self, injection: Injection) -> None:
        """Keep the texts that were put into the context, with the turn they belong to."""
        if injection.path:
            self._note_reached((injection.path,))  # what is in the context needs no reading
            self._note_loaded(injection)
        injected = self._turn.injected if self._turn else self._injected
        path, source, line = redact(injection.path), injection.source, injection.line
        # A text may hold several items of another knowledge tool: then each of them counts, else the text as a whole.
        for text in [item.content for item in other_items(injection).items] or [injection.content]:
            if len(injected) == _MOST_INJECTED:
                return
            injected.append(InjectedText(source, path, excerpt(text, EXCERPT), len(text), line, injection.item))

    def _new_skill(self, name: str, *, invoked: bool = False) -> None:
        """Begin the sample of a skill. The same skill begins one only if invoked after work was done."""
        if name == self._skill and not (invoked and self._sample and self._sample.steps > 1):
            return
        sample = self._sample
        if sample is not None and sample.name == GENERAL and sample.steps <= 1 and sample.id not in self._with_signal:
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
        """End the sample. It is incomplete if the agent never answered, failed, or was cut off.

        A call without a result is lost, and nothing else: what was answered counts in observed work.
        """
        sample, self._sample = self._sample, None
        if sample is None:
            return
        if self._failure:
            sample.incomplete = f"the agent failed: {self._failure}"
        elif not sample.steps:
            sample.incomplete = "no answer of the agent"
        elif self._ends_unanswered:
            sample.incomplete = "ends in the middle of a tool call"
        sample.incomplete = redact(sample.incomplete)
        self._failure, self._ends_unanswered = "", False

    def _step(self, step: Step) -> None:
        """Count a step in its turn and sample, keep its signals, and begin the skills whose files it read."""
        self._note_time(step.time)
        self._failure = ""
        self._digest = crc32(step.id.encode("utf-8", "replace"), self._digest)  # over the ids of all steps
        turn, sample = self._turn_and_sample(step.agent_id)
        step_number = self._steps[step.agent_id] = self._steps.get(step.agent_id, 0) + 1
        unanswered = 0
        skills: list[str] = []
        for call in step.calls:
            if call.outcome is not Outcome.OK:
                unanswered += call.is_unanswered
            else:
                self._note_reached(call.paths)
                if call.kind is ToolKind.READ and call.query.endswith("SKILL.md"):
                    skills += _SKILL_FILE.findall(call.query)
            self.found.unknown_calls += is_unknown_call(call)
        sample.steps += 1
        sample.answered += bool(step.said) or unanswered < len(step.calls)  # words, or the result of a call
        sample.calls += len(step.calls)
        self.found.tool_calls += len(step.calls)
        if turn is not None:
            turn.steps += 1
            turn.calls += len(step.calls)
            if step.said and not step.agent_id:  # a sub-agent speaks to the main agent, not to the user
                turn.answer = step.said[-1].text
        if not step.agent_id:  # a sub-agent that was cut off cuts off no sample
            self._ends_unanswered = unanswered > 0
        new = partial(
            Signal, session=self.found.session, turn=turn.index if turn else 0, sample=sample.id, step=step_number,
            agent_id=step.agent_id,
        )  # fmt: skip
        events = self._calls.step(step, step_number, new)
        if events:
            self._keep_up_to_limit(events)
        self._keep_own_words(step, events)
        if step.said:
            self._text_signals(step, new)
        for name in skills:
            if not self._skill.endswith(name):  # invoked as "plugin:name"
                self._new_skill(name)

    def _turn_and_sample(self, agent_id: str) -> tuple[Turn | None, Sample]:
        """Return the turn and sample of a step; a sub-agent's are those that started it, however long it runs."""
        if not agent_id:
            return self._turn, self._current_sample()
        started_in = self._started_in.get(agent_id)
        if started_in is None:  # its first step
            started_in = self._started_in[agent_id] = (self._turn, self._current_sample())
        return started_in

    def _keep_own_words(self, step: Step, events: list[Signal]) -> None:
        """Keep the agent's own words with a miss: those before it, else those that follow."""
        waiting = self._misses_without_words.get(step.agent_id, [])
        if not (waiting or events):
            return
        words = step.said[-1].text.strip() if step.said else ""
        if words:
            for signal in waiting:
                signal.said = _start_of(words)
            waiting.clear()
            for signal in events:
                signal.said = _end_of(words)
        elif events:
            self._misses_without_words.setdefault(step.agent_id, []).extend(events)

    def _text_signals(self, step: Step, new: NewSignal) -> None:
        """Keep the markers and hedges of a step, without secrets, and follow the doubts among them."""
        for said in step.said:
            text = said.text[:_TEXT_CHARS]
            found = text_signals(text)
            if not found:
                continue
            if (clean := redact(text)) != text:
                found = text_signals(clean)  # a secret may go over the lines and sentences that signals are made of
            if len(found) > _FEW_SIGNALS:
                clean = ""  # looking for each of many parts in a long text would take time that grows with its square
            kept = self._keep_up_to_limit(
                [
                    new(
                        type=type_,
                        status=Status.OPEN,
                        message_id=said.message_id,
                        text=_clean_part(part, clean),
                        context=_clean_part(context, clean),
                        file=step.path,
                        line=said.line,
                    )
                    for type_, part, context in found
                ]
            )
            self._calls.doubt([signal for signal in kept if SOURCES[signal.type].is_doubt], step)

    def _keep_up_to_limit(self, signals: list[Signal]) -> list[Signal]:
        """Keep signals up to the limit of a session, so that short ones cannot fill the memory; return the kept."""
        kept = signals[: max(0, MOST_SIGNALS - len(self.found.signals))]
        self.found.signals += kept
        self.found.signals_left_out += len(signals) - len(kept)
        self._with_signal.update(signal.sample for signal in kept)
        return kept

    def _note_loaded(self, injection: Injection) -> None:
        """Keep the knowledge files that the client put into the context without being asked."""
        path = relative_to(injection.path, self.found.project)
        if injection.source in _LOADING and path in self._reached:  # reached has knowledge files alone
            self._loaded[path] = None

    def _note_reached(self, paths: Iterable[str]) -> None:
        """Keep the knowledge files among the paths, relative to the project."""
        for path in paths:
            # Without globs the name decides, inside the project or not: most paths end here.
            if not self._knowledge and not is_knowledge(path):
                continue
            relative_path = relative_to(path, self.found.project)
            if is_knowledge(relative_path, self._knowledge):
                self._reached[relative_path] = None


def _start_of(words: str) -> str:
    """The start of a text without secrets, cut between words."""
    shown = excerpt(words, _SAID_CHARS)
    return shown if len(words) <= _SAID_CHARS else (shown.rpartition(" ")[0] or shown) + " …"


def _end_of(words: str) -> str:
    """The end of a text without secrets, cut between words."""
    shown = excerpt_of_end(words, _SAID_CHARS)
    return shown if len(words) <= _SAID_CHARS else "… " + (shown.partition(" ")[2] or shown)


def _clean_part(part: str, clean: str) -> str:
    """Return a part of a text without secrets: one that the redacted text has as it is needs no second look."""
    return part if part in clean else redact(part)


def _redact_signal(signal: Signal) -> list[str]:
    """Take the secrets out of a signal, and return the names of it that hold none.

    A text signal has no secret left: it was redacted with its message.
    """
    raw = (signal.query, signal.path)
    signal.query = redact(signal.query)
    signal.path = redact(signal.path)
    if signal.found_at is not None:
        signal.found_at = FoundPlace(redact(signal.found_at.path), signal.found_at.line)
    if not signal.text and raw == (signal.query, signal.path):
        return list(signal.names)  # nothing was redacted
    shown = plain_name(f"{signal.query} {signal.path} {signal.text}")
    return [name for name in signal.names if name in shown]
