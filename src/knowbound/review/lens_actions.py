"""Actions that other lenses have found: contradicted items, failed samples of `eval`, and answers without support.

Each function reads what its lens has stored, and returns its actions with their fixes, best first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, suppress
from datetime import datetime, timedelta
from pathlib import Path

from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.audit import UNSUPPORTED, AuditedSession, AuditedTurn, Claim, ClaimKind, Diagnosis, FindingCode
from knowbound.core.item import Item
from knowbound.core.lesson import Action, ActionCost, ActionKind, action_id
from knowbound.core.quality import Suggestion
from knowbound.core.signal import Example
from knowbound.errors import KnowboundError, StoreError
from knowbound.files import FilePatch, read_below
from knowbound.kms.backends.files import FilesBackend
from knowbound.kms.index.database import Index
from knowbound.kms.opening import open_quality_log
from knowbound.knowledge.lint import ITEM
from knowbound.quality.corrections import suggestions
from knowbound.report.words import place_words
from knowbound.review.proposing import Proposed, diff_of
from knowbound.stats.evaluation import Cause, Origin, SampleCause, SampleRun
from knowbound.store.data_dir import INDEX
from knowbound.store.decisions import Fix
from knowbound.store.evaluations import Evaluations
from knowbound.store.listing import SqliteResults
from knowbound.store.observed import Audited
from knowbound.text.markdown import sections_of
from knowbound.text.printable import short_line, whole_words

_MOST_ITEMS = 3
_WORTH_OF_TURN = 3.0  # calls that a contradicted item counts for, each time: as a wrong line does
_ITEM_TEXT = 100  # characters of the item


def supersede_actions(settings: Settings) -> list[Proposed]:
    """Return the actions for contradicted items, the most contradicted first."""
    if not (settings.home / INDEX).exists():
        return []
    try:
        with closing(open_quality_log(settings)) as log, closing(Index(settings.home)) as index:
            suggested = suggestions(log, index, settings.root)[:_MOST_ITEMS]
            indexed = {suggestion.item: index.known(suggestion.item) for suggestion in suggested}
    except KnowboundError:  # a store that does not answer; `quality corrections` says why
        return []
    first = {id_: copies[0] for id_, copies in indexed.items() if copies}
    # An item that is text of a file is corrected in the file.
    of_files = {id_: copy.item for id_, copy in first.items() if copy.backend == FilesBackend.name}
    return [_supersede(suggestion, of_files.get(suggestion.item), settings) for suggestion in suggested]


def _supersede(suggestion: Suggestion, item: Item | None, settings: Settings) -> Proposed:
    """Return the action to correct an item: in its file if it is text of one, else in the store."""
    place = item.anchor.file if item and item.anchor else f"{ITEM}{suggestion.item}"
    id_ = action_id(ActionKind.SUPERSEDE, suggestion.item)
    title = f"{place}: “{short_line(suggestion.content, _ITEM_TEXT)}” was contradicted"
    fix = None
    if suggestion.draft and item is None:
        fix = Fix(id_, title, item=suggestion.item, content=suggestion.draft)
    elif suggestion.draft and item is not None and (patch := _item_patch(item, suggestion.draft, settings)):
        fix = Fix(id_, title, [patch])
    if fix and suggestion.needs_person:
        fix = replace(fix, needs_person=True)
    often = "Once" if suggestion.contradictions == 1 else f"{suggestion.contradictions} times"
    correction = f" It was said instead: {suggestion.statement}" if suggestion.statement else ""
    why = f"{often} since {suggestion.raised[:10]}.{correction}"
    action = Action(
        id_, ActionKind.SUPERSEDE, title, why, ActionCost(sessions=suggestion.contradictions),
        [Example(suggestion.session, "", 0)], place=place, diff=diff_of(fix), by=suggestion.judge or "rules",
    )  # fmt: skip
    return Proposed(action, fix, _WORTH_OF_TURN * suggestion.contradictions)


def _item_patch(item: Item, draft: str, settings: Settings) -> FilePatch | None:
    """Return the change of the very text of an item; None if the file does not have it once, as it is."""
    assert item.anchor is not None
    title = item.anchor.heading.rpartition(" > ")[2]
    heads = [f"{title}{sign}" for sign in (": ", "\n\n")] if title else []  # as items repeat their heading
    head = next((start for start in heads if item.content.startswith(start)), "")
    old, new = item.content.removeprefix(head), draft.removeprefix(head)
    before = read_below(settings.root, item.anchor.file)
    if before.count(old.encode()) != 1 or old == new:
        return None
    return FilePatch(item.anchor.file, before, before.replace(old.encode(), new.encode()))


_MOST_SAMPLES = 4
_WORTH_OF_SAMPLE = 3.0  # calls that a failed sample counts for, as a wrong line does
_QUESTION = 110  # characters of a question or quotation


def newest_evaluation_id(home: Path) -> int:
    """Return the id of the newest evaluation of written samples; 0 if there is none."""
    try:
        heads = Evaluations(home).heads()
    except StoreError:
        return 0
    return next((head.id for head in reversed(heads) if not head.against and head.origin is Origin.WRITTEN), 0)


def evaluation_actions(settings: Settings) -> list[Proposed]:
    """Return the actions for failed samples: contradictions, missing knowledge, bad samples."""
    try:
        newest = Evaluations(settings.home).newest(Origin.WRITTEN)
    except StoreError:  # damaged; `eval` says so
        return []
    if newest is None:
        return []
    runs = {run.sample: run for run in newest.runs}
    order = (Cause.CONTRADICTED, Cause.MISSING, Cause.SAMPLE_BAD)
    decided = [cause for cause in newest.causes if cause.cause in order and cause.sample in runs]
    first = sorted(decided, key=lambda cause: order.index(cause.cause))[:_MOST_SAMPLES]
    return [_about_sample(cause, runs[cause.sample], settings) for cause in first]


def _about_sample(cause: SampleCause, run: SampleRun, settings: Settings) -> Proposed:
    """Return the action for a failed sample: write what is missing, or repair one of two documents, or the sample."""
    asked = short_line(run.prompt, _QUESTION)
    if cause.cause is Cause.MISSING:
        kind, place = ActionKind.WRITE, cause.path
        title = f"No document answers “{asked}”" + (f"; it belongs in {cause.path}" if cause.path else "")
    elif cause.cause is Cause.CONTRADICTED:
        kind, place = ActionKind.REPAIR, cause.other_path
        both = f"{place_words(cause.other_path, cause.other_line)} and {place_words(cause.path, cause.line)}"
        quotes = [short_line(quote, _QUESTION) for quote in (cause.other_quote, cause.quote)]
        title = f"{both} disagree: “{quotes[0]}” against “{quotes[1]}”"
    else:
        kind, place = ActionKind.REPAIR, run.file
        title = f"{place_words(Path(run.file).name, run.line)}: sample {cause.sample} fails a right answer"
    id_ = action_id(kind, f"sample {cause.sample}")
    patch = _sample_patch(cause, settings) if cause.cause is Cause.MISSING else None
    fix = Fix(id_, title, [patch]) if patch else None
    why = " ".join(part for part in (cause.why, f"To do: {cause.fix}" if cause.fix else "") if part)
    evidence = [Example(run.session, run.trace, 0)] if run.trace else []
    action = Action(
        id_, kind, title, why, ActionCost(sessions=1), evidence, place=place, diff=diff_of(fix), by=cause.by
    )  # fmt: skip
    return Proposed(action, fix, _WORTH_OF_SAMPLE)


def _sample_patch(cause: SampleCause, settings: Settings) -> FilePatch | None:
    """Return the change that writes the author's answer at the end of the section it belongs in."""
    if not cause.expected or not cause.path:
        return None
    before = read_below(settings.root, cause.path)
    lines = before.decode("utf-8", "surrogateescape").split("\n")
    sections = sections_of(cause.path, "\n".join(lines))
    around = [section for section in sections if section.line <= max(1, cause.line) <= section.end_line]  # 0: the top
    end = around[-1].end_line if around else len(lines)
    lines[end:end] = ["", " ".join(cause.expected.split())]
    return FilePatch(cause.path, before, "\n".join(lines).encode("utf-8", "surrogateescape"))


MOST_ANSWERS = 2  # on the screen: a line that is repaired helps every session, an answer only one
_DAYS = 14  # before the newest session: older work has been used, or thrown away
_QUOTED_OF_ANSWER = 100  # characters of the sentence
_SHOWN_WRONG = frozenset({FindingCode.USER_CONTRADICTS, FindingCode.FAILURE_LEFT_OUT, FindingCode.TRACE_CONTRADICTS})
_NITPICKS = frozenset({FindingCode.PARTIAL_RUN, FindingCode.NUMBER_NOT_SHOWN, FindingCode.CLAIM_NOT_SHOWN})
_WORTH_OPEN, _WORTH_WRONG = 3.0, 5.0  # in calls, as other actions are ranked: one wrong line counts for three
# Checks that show a claim; any of them shows that something is done.
_CHECKS = {
    ClaimKind.TESTS_PASS: ("test",),
    ClaimKind.BUILD_OK: ("build", "type check", "test"),
    ClaimKind.LINT_OK: ("lint", "type check", "format"),
    ClaimKind.DONE: ("test", "build", "type check", "run"),
}


def verify_actions(home: Path, sessions: Collection[str]) -> list[Proposed]:
    """Return the actions about answers of these sessions, best first."""
    with closing(SqliteResults(home)) as results:
        keys = results.keys_of(sorted(sessions))
    audited = [session for session in Audited(home).sessions(keys) if session.session in sessions]
    newest = max((turn.time for session in audited for turn in session.turns), default="")
    since = ""  # without a time every answer is still of interest
    with suppress(ValueError):
        since = (datetime.fromisoformat(newest) - timedelta(days=_DAYS)).strftime("%Y-%m-%dT%H:%M:%S")
    commands = _commands(audited)
    found = [
        _verify_action(turn, claim, commands)
        for session in audited
        for turn, claim in _still_open(session)
        if turn.time >= since and turn.findings and turn.findings[0].code not in _NITPICKS
    ]
    newest_first = sorted(
        found, key=lambda proposed: proposed.action.title, reverse=True
    )  # a title begins with its date
    return sorted(newest_first, key=lambda proposed: -proposed.worth)[:MOST_ANSWERS]


def _still_open(session: AuditedSession) -> Iterator[tuple[AuditedTurn, Claim]]:
    """Yield the unsupported turns with their claim, without those that a later turn of the session has shown."""
    for index, turn in enumerate(session.turns):
        unsupported = [claim for claim in turn.claims if claim.important and claim.support in UNSUPPORTED]
        if turn.diagnosis is not Diagnosis.UNSUPPORTED or not unsupported:
            continue
        later = {kind for later_turn in session.turns[index + 1 :] for kind in later_turn.passed}
        if later.isdisjoint(_CHECKS.get(unsupported[0].kind, ())):
            yield turn, unsupported[0]


def _commands(audited: Iterable[AuditedSession]) -> dict[str, str]:
    """Return, for each kind of check, the command that passed most often in these sessions."""
    counts: dict[str, Counter[str]] = {}
    for session in audited:
        for turn in session.turns:
            for kind, command in turn.passed.items():
                counts.setdefault(kind, Counter())[command] += 1
    return {kind: count.most_common(1)[0][0] for kind, count in counts.items()}


def _verify_action(turn: AuditedTurn, claim: Claim, commands: dict[str, str]) -> Proposed:
    """Return the action to verify a claim, with the project's usual command for that kind of check."""
    id_ = action_id(ActionKind.VERIFY, f"{turn.session} {turn.turn}")
    said = claim.text if len(claim.text) <= _QUOTED_OF_ANSWER else f"{whole_words(claim.text, _QUOTED_OF_ANSWER)} …"
    title = f"{turn.time[:10]}, session {turn.session[:8]}, turn {turn.turn}: “{said}”, but {claim.why}"
    command = next((commands[kind] for kind in _CHECKS.get(claim.kind, ()) if kind in commands), "")
    step = f"{turn.next}: {command}" if command else turn.next
    fix = Fix(id_, title, session=turn.session, turn=turn.turn, trace=turn.file, content=step)
    action = Action(
        id_, ActionKind.VERIFY, title, f"To verify it: {step}.", ActionCost(sessions=1),
        [Example(turn.session, turn.file, claim.line or turn.line)], by=claim.by,
    )  # fmt: skip
    is_wrong = turn.findings[0].code in _SHOWN_WRONG
    return Proposed(action, fix, _WORTH_WRONG if is_wrong else _WORTH_OPEN)
