"""One turn as a time line: calls in groups, edits as diffs, checks with their end, and claims tied to the calls that
show them. Texts are redacted and cut here; the page escapes them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from knowbound.audit.answer import answer_of
from knowbound.audit.runs import Run, runs_of
from knowbound.core.audit import AuditedTurn, Claim, Support
from knowbound.core.quality import ItemVerdict
from knowbound.core.trace import MISSES, Outcome, Step, ToolCall, ToolKind
from knowbound.text.redact import excerpt, redact
from knowbound.traces.shell.lookup import split_exit_code
from knowbound.traces.turns import TraceTurn
from knowbound.web.markdown import TextMark

_OUTPUT, _WORDS, _PROMPT, _INJECTED, _ANSWER, _DIFF = 1_600, 4_000, 8_000, 4_000, 60_000, 12_000  # characters shown
_AROUND = 600  # characters before and after a quotation
_SEARCHED_CHARACTERS = 200_000  # characters of an output in which a quotation is looked for
_MOST_CALLS = 400
_LOOKUPS = frozenset({ToolKind.SEARCH, ToolKind.LIST, ToolKind.READ, ToolKind.WEB})
_QUOTED = re.compile(r"“([^”]{4,300})”")
_LIST_MARKS = re.compile(r"(?:[ \t]*(?:[-*+][ \t]+|#{1,6}[ \t]+|>[ \t]?|\d{1,3}[.)][ \t]+|\|[ \t]*))+")


class ShownCall(NamedTuple):
    """A tool call on the time line."""

    number: int  # in the turn, from 1
    name: str
    what: str
    where: str
    line: int
    path: str  # file of the trace
    outcome: Outcome
    is_miss: bool
    is_failed: bool
    ended: str  # of a command: its exit code, or how a check ended
    check: str  # what the command checked: test, lint, …
    diff: str
    before: str  # the shown part of the output, around the first quotation of a claim
    quoted: str
    after: str
    cut: bool
    claims: tuple[int, ...]  # numbers of the claims that rest on the call
    is_asked: bool  # the visitor came for this call
    agent: str  # the sub-agent that made it


class ShownGroup(NamedTuple):
    """Calls of one kind that follow each other, or words of the agent between calls."""

    kind: str  # look, edit, run, other, said
    calls: tuple[ShownCall, ...] = ()
    text: str = ""

    @property
    def misses(self) -> int:
        """The number of calls that did not find what they looked for, or failed."""
        return sum(call.is_miss or call.is_failed for call in self.calls)


class ShownClaim(NamedTuple):
    """A claim of the answer, with the address of the call that decides it."""

    number: int
    claim: Claim
    call: int  # number of the call in this turn; 0 for none
    address: str  # where a click on it leads


class ShownInjection(NamedTuple):
    """A text that was put into the agent's context."""

    source: str
    item: str
    text: str
    verdict: ItemVerdict | None


class Timeline(NamedTuple):
    """Everything that the page of a turn shows of its trace."""

    prompt: str
    injected: tuple[ShownInjection, ...]
    groups: tuple[ShownGroup, ...]
    answer: str
    marks: tuple[TextMark, ...]
    claims: tuple[ShownClaim, ...]
    calls: int
    left_out: int  # calls that are not shown
    tokens: int | None
    broken: str


def timeline(turn: TraceTurn, audited: AuditedTurn | None, verdicts: dict[str, ItemVerdict], line: int = 0) -> Timeline:
    """Return the time line of a turn; `line` is the line of the trace that the visitor came for."""
    answer = answer_of(turn)
    calls = ((call, step) for step in turn.steps for call in step.calls)
    numbered = [_NumberedCall(number, call, step) for number, (call, step) in enumerate(calls, 1)]
    claims = tuple(_shown_claims(audited, numbered, answer.line if answer else 0, turn))
    asked = _call_at(line, numbered) if line else 0
    text = redact(answer.text[:_ANSWER]) if answer else ""
    groups = _groups(turn.steps, numbered, claims, asked, answer.line if answer else 0, turn.project.rstrip("/"))
    return Timeline(
        prompt=excerpt(turn.prompt.text, _PROMPT),
        injected=tuple(
            ShownInjection(
                injection.path or injection.source,
                injection.item,
                excerpt(injection.content, _INJECTED),
                verdicts.get(injection.item),
            )
            for injection in turn.injections
        ),
        groups=tuple(groups),
        answer=text,
        marks=tuple(_text_marks(text, claims)),
        claims=claims,
        calls=len(numbered),
        left_out=max(0, len(numbered) - _MOST_CALLS),
        tokens=turn.tokens,
        broken=turn.broken.reason if turn.broken else "",
    )


# Calls


class _NumberedCall(NamedTuple):
    """A call with its number in the turn, and its step."""

    number: int
    call: ToolCall
    step: Step


def _call_at(line: int, numbered: Sequence[_NumberedCall]) -> int:
    """Return the number of the last call that begins at or before a line of the main agent's trace; 0 for none."""
    before = [entry for entry in numbered if not entry.step.agent_id and entry.call.line <= line]
    return before[-1].number if before else 0


def _group_kind(call: ToolCall) -> str:
    if call.kind in _LOOKUPS:
        return "look"
    return {ToolKind.EDIT: "edit", ToolKind.SHELL: "run"}.get(call.kind, "other")


def _groups(
    steps: Sequence[Step],
    numbered: Sequence[_NumberedCall],
    claims: Sequence[ShownClaim],
    asked: int,  # number of the call that the visitor came for
    answer_line: int,
    folder: str,
) -> Iterator[ShownGroup]:
    """Yield the calls of the steps, and the words between them, in groups of one kind; the answer is no such group."""
    by_step: dict[int, list[_NumberedCall]] = {}
    for entry in numbered[:_MOST_CALLS]:
        by_step.setdefault(id(entry.step), []).append(entry)
    pieces: list[tuple[str, object]] = []
    for step in steps:
        said = () if step.agent_id else step.said  # a sub-agent speaks to its caller
        texts = [words.text for words in said if words.text.strip() and words.line != answer_line]
        pieces += [("said", text) for text in texts]
        pieces += [(_group_kind(entry.call), entry) for entry in by_step.get(id(step), ())]
    for kind, group in groupby(pieces, key=lambda piece: piece[0]):
        found = [piece for _, piece in group]
        if kind == "said":
            yield ShownGroup("said", text=excerpt("\n\n".join(map(str, found)), _WORDS))
        else:
            calls = (_shown_call(entry, claims, asked, folder) for entry in found if isinstance(entry, _NumberedCall))
            yield ShownGroup(kind, tuple(calls))


def _shown_call(entry: _NumberedCall, claims: Sequence[ShownClaim], asked: int, folder: str) -> ShownCall:
    """Return a call as the page shows it, its output around the first quotation of its claims."""
    number, call, step = entry
    claims_of_call = [claim for claim in claims if claim.call == number]
    code, text = split_exit_code(call.text) if call.kind is ToolKind.SHELL else (None, call.text)
    runs = runs_of(call, number) if call.kind is ToolKind.SHELL else []
    is_bare = call.kind is ToolKind.EDIT and not call.failed  # its diff says all
    before, quoted, after, cut = ("", "", "", False) if is_bare else _output(text, claims_of_call)
    return ShownCall(
        number=number,
        name=call.name,
        what=excerpt(call.query or call.purpose or _input_words(call.input), 400).replace(f"{folder}/", ""),
        where=excerpt(call.where, 200),
        line=call.line,
        path=step.path,
        outcome=call.outcome,
        is_miss=call.outcome in MISSES,
        is_failed=call.failed and call.outcome not in MISSES,
        ended=_ended_words(call, code, runs),
        check=", ".join(dict.fromkeys(kind.value for run in runs for kind in sorted(run.kinds))),
        diff=excerpt(_edit_diff(call.input or {}), _DIFF) if call.kind is ToolKind.EDIT else "",
        before=before,
        quoted=quoted,
        after=after,
        cut=cut,
        claims=tuple(claim.number for claim in claims_of_call),
        is_asked=number == asked,
        agent=step.agent_id,
    )


def _ended_words(call: ToolCall, code: int | None, runs: Sequence[Run]) -> str:
    """Return the exit code of a command, else that the call failed, else how its last check ended."""
    if code is not None:
        return f"exit {code}"
    if call.failed:
        return "failed"
    return runs[-1].ended.value if runs else ""


def _input_words(given: dict[str, Any] | None) -> str:
    return " ".join(f"{name}: {value}" for name, value in list((given or {}).items())[:4])


def _output(text: str, claims: Sequence[ShownClaim]) -> tuple[str, str, str, bool]:
    """Return the beginning of an output, or what is around the first quotation that a claim rests on."""
    for quotation in (found[1] for claim in claims for found in _QUOTED.finditer(claim.claim.why)):
        span = _span_of_words(quotation, text[:_SEARCHED_CHARACTERS])
        if span is not None:
            start = max(0, span[0] - _AROUND)
            end = span[1] + _AROUND
            before, quoted, after = text[start : span[0]], text[span[0] : span[1]], text[span[1] : end]
            return ("…" * bool(start)) + redact(before), redact(quoted), redact(after), start > 0 or end < len(text)
    return excerpt(text, _OUTPUT), "", "", len(text) > _OUTPUT


def _span_of_words(words: str, text: str) -> tuple[int, int] | None:
    """Return where the words are in a text, whatever the white space between them."""
    parts = [re.escape(word) for word in words.split()]
    found = re.search(r"\s+".join(parts), text) if parts else None
    return found.span() if found else None


def _edit_diff(given: dict[str, Any]) -> str:
    """Return what an edit changed as a diff, from the input of the usual tools."""
    for name in ("patch", "input", "diff"):
        if isinstance(given.get(name), str):
            lines = given[name].splitlines()
            return "\n".join(f"@ {line}" if line.startswith("***") else line for line in lines)
    several = given.get("edits")
    edits = several if isinstance(several, list) else [given]
    return "\n".join(_pair_diff(edit) for edit in edits if isinstance(edit, dict))


def _pair_diff(edit: dict[str, Any]) -> str:
    """Return the diff of an old and a new text, under the names that tools give them."""
    old = next((str(edit[name]) for name in ("old_string", "oldString", "old_str") if name in edit), "")
    names = ("new_string", "newString", "new_str", "content", "file_text")
    new = next((str(edit[name]) for name in names if name in edit), "")
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=3)
    return "\n".join(line for line in lines if not line.startswith(("--- ", "+++ ", "@@")))


# Claims


def _shown_claims(
    audited: AuditedTurn | None, numbered: Sequence[_NumberedCall], answer_line: int, turn: TraceTurn
) -> Iterator[ShownClaim]:
    """Yield the claims with the addresses of the calls that decide them; some calls are of an earlier turn."""
    for number, claim in enumerate(audited.claims if audited else (), 1):
        if claim.line and claim.line != answer_line and claim.line < turn.prompt.line:
            yield ShownClaim(number, claim, 0, f"/at/{turn.session}/{claim.line}")
            continue
        call = _call_at(claim.line, numbered) if claim.line != answer_line else 0
        yield ShownClaim(number, claim, call, f"#call-{call}" if call else f"#claim-{number}")


def _text_marks(text: str, claims: Iterable[ShownClaim]) -> Iterator[TextMark]:
    """Yield the spans of the claims in the answer, without those that overlap an earlier one."""
    spans = []
    for shown in claims:
        span = _span_of_words(shown.claim.text, text)
        if span is not None:
            skipped = _LIST_MARKS.match(text, span[0])
            start = skipped.end() if skipped and skipped.end() < span[1] else span[0]
            spans.append((start, span[1], shown))
    last_end = 0
    for start, end, shown in sorted(spans, key=lambda span: (span[0], -span[1])):
        if start >= last_end:
            support = Support(shown.claim.support).value
            opening = f'<a class="claim {support}" href="{shown.address}" data-claim="{shown.number}">'
            yield TextMark(start, end, opening, "</a>")
            last_end = end
