"""The four sources of signals (specification 1): failed searches, markers, hedges, repeated failure.

A failed search and repeated failure (sources 1 and 4) are read from calls: consecutive similar misses are one event;
the same class of lookup that fails again and again is another. What follows decides a miss (`gaps/endings.py`).

A marker (source 2) counts at the start of a line, inside a sentence and in a cell of a table. One in a quotation or in
code, a link, an index or a type, one that is only talked about, or one that a table explains, does not. A sentence with
a word of doubt (source 3) is a candidate for hedging; a judge decides.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import NamedTuple

from knowbound.core.knowledge_paths import relative_to
from knowbound.core.signal import Signal, SignalType, Status
from knowbound.core.trace import LOOKUPS, MISSES, LookupIntent, Step, ToolCall, ToolKind
from knowbound.gaps.endings import Endings, ExistenceCheck
from knowbound.gaps.wanted import asks_whether, is_about_a_path
from knowbound.judge.hedging.verdict import HedgingCandidate
from knowbound.text.hedges import cues, may_hedge
from knowbound.text.redact import cut
from knowbound.text.sentences import HIDDEN, Sentence, mask, prose_lines, sentences, shape
from knowbound.text.terms import path_terms, similar, terms
from knowbound.traces.calls.tools import COMMAND_KEYS, first_text, kind_of

_SEARCHES = re.compile(r"(?:^|[;&|(]\s*)(?:e|f|git )?(?:grep|rg|find)\s")  # the specification's searching commands
_MOST_PROMPT = 100_000  # characters of a prompt that are searched for paths
_STATUSES = {LookupIntent.MALFORMED: Status.MALFORMED, LookupIntent.INCIDENTAL: Status.INCIDENTAL}
_MOST_PROMPTS = 500_000  # characters of the newest prompts of a session
AT_LEAST = 3  # calls of a repeated failure; the specification retries "more than N times (default N=2)"
_WINDOW = 3  # consecutive steps of a repeated failure (the specification's turns)
_PLURALS = {ToolKind.SEARCH: "searches", ToolKind.LIST: "listings", ToolKind.READ: "reads"}
_QUERY_SEPARATOR = " · "  # between the queries of an event
_QUERIES_CHARS = 500  # of all queries of an event
NewSignal = Callable[..., Signal]  # makes a signal of a step: the caller names its type, its status and its source


def is_failed_search(call: ToolCall) -> bool:
    """Report whether the call looked something up that was not there."""
    return call.kind in LOOKUPS and call.outcome in MISSES


def failed_as_specified(call: ToolCall) -> bool:
    """Specification 1, source 1, to the letter: a Grep, a Read or a searching command (no Glob) that found nothing."""
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
    is_file_name = "." in name[1:] and " " not in call.where and "*" not in name  # one path, with an extension
    return call.kind is ToolKind.SEARCH and is_file_name


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
        self._last_misses.clear()  # a miss of the next turn is an event of its own
        self._endings.begin_turn(self._last_words, text)
        self._last_words = ""
        self._prompts.append(text[:_MOST_PROMPT])
        self._prompt_characters += len(self._prompts[-1])
        while self._prompt_characters > _MOST_PROMPTS:
            self._prompt_characters -= len(self._prompts.popleft())

    def step(self, step: Step, step_number: int, new: NewSignal) -> list[Signal]:
        """The new events of a step; `new` makes a signal of its session, turn and sample."""
        self._endings.step(step)
        if step.said and not step.agent_id:  # only the main agent's words are followed by the user's
            self._last_words = step.said[-1].text
        events: list[Signal] = []
        self.misses_in_step = 0
        for call in step.calls:
            if self.is_miss(call):
                self.misses_in_step += 1
                event = self._miss(call, step, step_number, new)
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
        if call.intent is LookupIntent.CHECK:  # the call itself shows that "not there" was expected
            return ExistenceCheck.ABSENCE
        return ExistenceCheck.WHETHER if asks_whether(call, said) or _is_in_one_file(call) else None

    def _miss(self, call: ToolCall, step: Step, step_number: int, new: NewSignal) -> Signal | None:
        """Return the signal of a miss; None if it joins the signal of the similar miss before it."""
        check = self.check(call, step)
        wanted_terms = terms_of(call)
        last_miss = self._last_misses.get(step.agent_id)
        if last_miss is not None and last_miss.check is check and similar(last_miss.terms, wanted_terms):
            last_miss.signal.call_ids.append(call.id)
            last_miss.signal.step = step_number
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
        given = {call.query, *call.query.split()}  # one path, which may have spaces, or several
        relative = {relative_to(path, self._project) for path in given}
        root = self._project.rstrip("/")
        names = {*given, *relative, *(f"{root}/{path}" for path in relative)} - {""}
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
        self._windows: dict[str, deque[Step]] = {}  # by agent
        # Agent and class → the event that still grows, and the calls in it.
        self._running: dict[tuple[str, str], tuple[Signal, set[str]]] = {}

    def new_sample(self) -> None:
        """Forget what came before: repeats are counted within one sample."""
        self._windows.clear()
        self._running.clear()

    def step(self, step: Step, call_signals: CallSignals, new: NewSignal) -> list[Signal]:
        """The events that this step completes."""
        window = self._windows.get(step.agent_id)
        if window is None:
            window = self._windows[step.agent_id] = deque(maxlen=_WINDOW)
        window.append(step)
        events: list[Signal] = []
        if not self._running and not call_signals.misses_in_step:
            return events  # no event that could grow or end, and none that could begin
        calls_by_class: dict[str, list[tuple[ToolCall, Step]]] = {
            tool_class: [] for tool_class in dict.fromkeys(map(_tool_class, step.calls)) if tool_class
        }
        for recent_step in window:
            for call in recent_step.calls:
                calls_by_class.get(_tool_class(call), []).append((call, recent_step))
        for tool_class, calls in calls_by_class.items():
            key = (step.agent_id, tool_class)
            if not all(call_signals.is_miss(call) for call, _ in calls):  # one that succeeds ends the event
                self._running.pop(key, None)
                continue
            if len(calls) < self._at_least:
                continue
            if key not in self._running:
                self._running[key] = (self._new_event(calls, new), set())  # no call is counted in it yet
                events.append(self._running[key][0])
            self._extend_event(*self._running[key], [call for call, _ in calls], call_signals)
        return events

    def _extend_event(self, event: Signal, counted_ids: set[str], calls: list[ToolCall], shown: CallSignals) -> None:
        """Take in the calls that are new, and say how many there are by now."""
        new_calls = [call for call in calls if call.id not in counted_ids]
        counted_ids.update(call.id for call in new_calls)
        event.call_ids.extend(call.id for call in new_calls)
        queries = dict.fromkeys((*event.query.split(_QUERY_SEPARATOR), *map(shown.shown_query, new_calls)))
        event.query = cut(_QUERY_SEPARATOR.join(query for query in queries if query), _QUERIES_CHARS)
        event.reason = f"{len(event.call_ids)} {_PLURALS[calls[0].kind]} in consecutive steps, all failed"

    def _new_event(self, calls: list[tuple[ToolCall, Step]], new: NewSignal) -> Signal:
        """Return the signal of a repeated failure, at its first call; its calls are counted later."""
        first = calls[0][0]
        return new(
            type=SignalType.REPEATED_FAILURE,
            status=Status.OPEN,  # until it is known what its misses are
            tool=first.name,
            path=first.where,
            file=calls[0][1].path,
            line=first.line,
        )


# Signals in the agent's own words

_MARKER = re.compile(
    r"【\s{0,3}(?:推断|知识缺口|未知)\s{0,3}】"
    r"|(?<![_\])}\[\\|^$¤!])\\?\[\s{0,3}(?:inferred|unknown|knowledge[ _-]{1,3}gap)\s{0,3}\\?\]"
    r"(?![_(\[{|?+]|:\s?http|\s?[+*/%-]?=|\.\w)",  # not an index, a link, a type, a pattern, an assignment
    re.IGNORECASE,
)
_MAY_MARK = re.compile(r"[【\[]\s{0,3}(?:推断|知识缺口|未知|inferred|unknown|knowledge[ _-]{1,3}gap)", re.IGNORECASE)
# "mark it with 【推断】", "we use [unknown] for": the marker is the object of the talk.
_TALK_BEFORE = re.compile(
    r"(?:\b(?:use[sd]?|using|add(?:ed|ing|s)?|mark(?:ed|ing|s)?|tag(?:ged|ging|s)?|label(?:led|ed|s)?|flag(?:ged|s)?|with|as"
    r"|called|named|contains?|means?|writes?|prefix(?:ed)?)"
    r"|标记|标注|标[为成]|使用|采用|请用|会用|带有?|添加|加上|写成|含有?|包含|没有|[】\]]\s?(?:、|和|或|/|,|and|or))\W{0,3}$",
    re.IGNORECASE,
)
_TALK_AFTER = re.compile(
    r"\W{0,3}(?:\b(?:tags?|markers?|marks?|labels?|prefix(?:es)?|annotations?|entries)\b"
    r"|标记|标签|标注|字样|前缀|表示|的(?:内容|条目|部分))|\s?(?:、|和|或|/|,|and|or)\s?[【\[]",
    re.IGNORECASE,
)
# "the [inferred] limit" marks the limit; "the [unknown] is printed" is about the marker.
_ARTICLE = re.compile(r"\b(?:the|an?|of|no|any|each|every)\W{0,3}$", re.IGNORECASE)
_NO_NOUN_AFTER = re.compile(
    r"\W{0,3}(?:$|[.,;:)]|(?:is|are|was|were|means?|in|on|at|for|with|from|by|to|and|or|when|where|instead)\b)",
    re.IGNORECASE,
)
# A name right before the bracket has an index or a type there: `Array[unknown]`, `byName[unknown]`, `n[unknown] + 1`
_NAME_BEFORE = re.compile(r"(?:\b[A-Z][a-z]+|[a-z][A-Z]\w*|_\w+)$")
_WORD_BEFORE = re.compile(r"[A-Za-z0-9]$")
_SENTENCE_GOES_ON = re.compile(r"\s+[A-Za-z\u4e00-\u9fff]|\s*(?:$|[.,;:)。，；：）|])|[\u4e00-\u9fff]")
_IS_OR_MEANS = re.compile(r"\W{0,3}\b(?:is|are|means?)\b", re.IGNORECASE)
_TABLE_RULE = re.compile(r"\s*\|[\s|:-]+\Z")
_LEGEND = re.compile(
    r"\b(?:markers?|marks?|tags?|labels?|symbols?|legend|meanings?|means)\b|标记|标签|标注|符号|含义|意思|表示|图例",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W\d_]{2}")
_NEAR_CHARS = 24  # on each side of a marker, which show whether it is talked about
_LONGEST_CHARS = 1500  # what runs on longer is output or minified code, not a sentence


def explicit_markers(text: str) -> list[str]:
    """The lines of an agent's text that carry a marker of its own, in order."""
    if not ("[" in text or "【" in text) or not _MAY_MARK.search(text):
        return []
    found: list[str] = []
    table: list[str] = []
    for line in [*prose_lines(text), ""]:  # the empty line ends a table at the end of the text
        if line.lstrip().startswith("|"):
            table.append(line)
            continue
        found += _marked_rows(table)
        table = []
        if _MARKER.search(line) and _has_real_marker(mask(line)):  # a mask hides the address that makes it a link
            found.append(line.strip())
    return found


def _hide_markers(masked: str) -> str:
    """The text with its markers masked, character for character: their words are no words of doubt."""
    if not ("[" in masked or "【" in masked):
        return masked
    return _MARKER.sub(lambda marker: HIDDEN * len(marker[0]), masked)


def _marked_rows(table: list[str]) -> list[str]:
    """The rows of a table with a marker in a cell; the header names its columns and marks nothing."""
    has_header = len(table) > 1 and bool(_TABLE_RULE.match(table[1]))
    is_legend = not has_header or bool(_LEGEND.search(table[0]))
    rows = table[2:] if has_header else table  # without the header and the rule below it
    return [row.strip() for row in rows if _row_has_real_marker(mask(row), is_legend)]


def _row_has_real_marker(masked: str, is_legend: bool) -> bool:
    """Report whether a row is marked. In a legend, a marker alone in the first cell is only explained."""
    first, *others = [cell.strip(" \t*_") for cell in masked.strip().strip("|").split("|")]
    if _MARKER.fullmatch(first):  # it marks the other cells, if they say anything
        return not is_legend and any(_WORDS.search(cell) for cell in others)
    return any(map(_has_real_marker, [first, *others]))


def _has_real_marker(masked: str) -> bool:
    return any(not _is_talked_about(masked, marker) for marker in _MARKER.finditer(masked))


def _is_talked_about(masked: str, marker: re.Match[str]) -> bool:
    """Report whether a text is about a marker, or has it as an index or type, instead of marking something with it."""
    before = masked[max(0, marker.start() - _NEAR_CHARS) : marker.start()]
    after = masked[marker.end() : marker.end() + _NEAR_CHARS]
    if _TALK_BEFORE.search(before) or _TALK_AFTER.match(after):  # "mark it with [unknown]", "[unknown] tags"
        return True
    if _WORD_BEFORE.search(before) and (_NAME_BEFORE.search(before) or not _SENTENCE_GOES_ON.match(after)):
        return True  # an index or a type
    if _ARTICLE.search(before):
        return bool(_NO_NOUN_AFTER.match(after))  # with a noun after it, it marks the noun
    return bool(_IS_OR_MEANS.match(after)) and not before.rstrip()[-1:].isalnum()  # a sentence that begins with it


def hedging_candidates(text: str) -> list[HedgingCandidate]:
    """The sentences of an agent's text that may express doubt, each with its neighbours."""
    if not may_hedge(text):
        return []
    found = []
    for sentence in sentences(text, worth=may_hedge):
        if sentence.masked and len(sentence.masked) <= _LONGEST_CHARS and _has_doubt(sentence):  # masked: without code
            context = " ".join(filter(None, (sentence.before, sentence.text, sentence.after)))
            found.append(HedgingCandidate(sentence.text, cut(context, 2 * _LONGEST_CHARS)))
    return found


def _has_doubt(sentence: Sentence) -> bool:
    """Report whether a sentence outside headings has a word of doubt beside its markers."""
    masked = _hide_markers(sentence.masked)
    return may_hedge(masked) and bool(cues(masked)) and shape(sentence.text) != "heading"


def _unmarked_hedges(text: str) -> list[tuple[str, str]]:
    """Return the candidates with their contexts. A marked sentence is one signal, not two."""
    unmarked = (found for found in hedging_candidates(text) if not explicit_markers(found.sentence))
    return [(found.sentence, found.context) for found in unmarked]


# Each finder returns the signals of its type in a text, with their contexts, "" if the text itself is enough.
_FINDERS: dict[SignalType, Callable[[str], list[tuple[str, str]]]] = {
    SignalType.EXPLICIT_MARKER: lambda text: [(marker, "") for marker in explicit_markers(text)],
    SignalType.HEDGING: _unmarked_hedges,
}


def text_signals(text: str) -> list[tuple[SignalType, str, str]]:
    """Return the signals of a text: type, text, context."""
    return [(type_, found, context) for type_, find in _FINDERS.items() for found, context in find(text)]
