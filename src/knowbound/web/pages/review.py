"""The page Review: the actions of the front door as cards, what earlier fixes did, and the changes that cards make."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from msgspec.structs import replace

from knowbound.core.lesson import Action, Lesson
from knowbound.errors import InputError
from knowbound.files import FilePatch
from knowbound.kms.listing import ItemFilter
from knowbound.knowledge.lint import ITEM
from knowbound.language import say, translated
from knowbound.report.figures import open_figures
from knowbound.report.model import ObserveReport
from knowbound.report.review import cost_words
from knowbound.report.sections import Figure, Mark, Section
from knowbound.review.fixing import (
    apply_fix,
    commit_on_branch,
    current,
    known_fixes,
    reject_fix,
    rejectable,
    restore_fix,
    undo_fix,
    undo_of,
)
from knowbound.review.proposing import diff_of
from knowbound.review.review import Reviewed
from knowbound.stats.figures import Watermark
from knowbound.store.decisions import DecidedFix, Fix, FixState
from knowbound.store.observed import Observed
from knowbound.text.digest import digest_of
from knowbound.text.printable import counted
from knowbound.web.access import Right
from knowbound.web.pages import Asked, Goto, Shown, Studio, StudioPage

_DECIDED_STATES = (FixState.APPLIED, FixState.REJECTED)
_BAR_ENDS = (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0)  # where the bars of costs end
_MOST_PLACES = 8  # places of one action
_MOST_ACTIONS = 50  # actions


class ActionCard(NamedTuple):
    """An action as its card shows it."""

    action: Action
    cost: str
    diff: str = ""
    is_file: bool = False  # the change is one of files, which can be committed
    stamp: str = ""  # hash of the shown diff: only the diff that the person saw can be accepted
    turn: str = ""  # address of the turn, of an answer to verify
    edited: str = ""  # the lines that `edit` begins with
    problem: str = ""  # why it cannot be carried out now
    needs_person: bool = False
    knowledge: str = ""  # address of the statement, where rules know no repair


def show(asked: Asked) -> Shown:
    """Return the page."""
    reviewed, decided = known_fixes(asked.studio.settings)
    if reviewed is None:
        return Shown("review_reading.html")
    actions = [action for action in reviewed.actions if not _is_closed(action.id, decided)]
    highest_share = max((action.cost.share or 0.0 for action in actions), default=0.0)
    cost = cost_words(actions[0].cost, reviewed.figures.sessions) if actions else ""
    return Shown(
        "review.html",
        {
            "headline": _headline(actions),
            "lead": say("The first touches {}.", cost) if cost else "",
            "figure": _open_gap_figure(asked.studio),
            "mark": _watermark(reviewed),
            "cards": [_card(action, reviewed, asked.studio) for action in actions[:_MOST_ACTIONS]],
            "left": max(0, len(actions) - _MOST_ACTIONS),
            "scale": next((end for end in _BAR_ENDS if highest_share <= end), 1.0),
            "done": _decisions(reviewed, decided),
            "reviewed": reviewed,
            "evidence": _MOST_PLACES,
            "may_change": asked.studio.access.may(Right.WORK),
        },
    )


def _is_closed(id_: str, decided: dict[str, DecidedFix]) -> bool:
    return id_ in decided and decided[id_].state in _DECIDED_STATES


def _headline(actions: Sequence[Action]) -> str:
    if not actions:
        return translated("Nothing to do: no line that the tree contradicts, and no miss that a line would spare.")
    return say("{} to decide.", counted(len(actions), "action"))


def _open_gap_figure(studio: Studio) -> Figure | None:
    """Return the open gap rate with its interval, of the run that the screen was made from."""
    newest = Observed(studio.settings.home).run("observe", ObserveReport)
    return open_figures(newest[0].gap)[0] if newest else None


def _watermark(reviewed: Reviewed) -> tuple[Section, ...]:
    figures = reviewed.figures
    if not figures.sha256_8:
        return ()
    return (Section("", (Mark(Watermark(figures.test_set, figures.samples, figures.sha256_8, figures.warning)),)),)


def _card(action: Action, reviewed: Reviewed, studio: Studio) -> ActionCard:
    """Return the card of an action; its fix is made anew for the files as they are now."""
    fix, problem = reviewed.fixes.get(action.id), ""
    if fix is not None and not fix.session:  # a fix with a session is an answer to look at
        try:
            fix = current(fix, studio.settings)
        except InputError as error:
            problem = str(error.args[0])
    cost = cost_words(action.cost, reviewed.figures.sessions)
    if fix is None:
        by_hand = translated("Rules know no repair: correct it by hand.")
        return ActionCard(action, cost, problem=by_hand, knowledge=_knowledge_address(action.place))
    return ActionCard(
        action,
        cost,
        diff="" if fix.session else diff_of(fix),
        is_file=bool(fix.patches),
        stamp=_stamp(fix),
        turn=f"/turn/{fix.session}/{fix.turn}" if fix.session else "",
        edited=_changed_lines(fix.patches[0])[1] if len(fix.patches) == 1 else "",
        problem=problem,
        needs_person=fix.needs_person,
    )


def _knowledge_address(place: str) -> str:
    """Return the address of the page of knowledge with a file, or with the items that are held back."""
    if place.startswith(ITEM):
        return f"/knowledge?{urlencode({'items': ItemFilter.HELD_BACK})}"
    return f"/knowledge?{urlencode({'file': place})}" if place else ""


def _decisions(reviewed: Reviewed, decided: dict[str, DecidedFix]) -> list[tuple[DecidedFix, Lesson | None]]:
    """Return the newest decisions first, each with its lesson, which has the rate before and after."""
    lessons = {lesson.id: lesson for lesson in reviewed.watched}
    found = [decision for decision in decided.values() if decision.state in _DECIDED_STATES]
    found.sort(key=lambda decision: decision.time, reverse=True)
    return [(each, lessons.get(each.fix.lesson.id) if each.fix.lesson else None) for each in found]


# Changes


def _stamp(fix: Fix) -> str:
    return digest_of([fix.id, diff_of(fix), fix.content])[:16]


def _open_fix(asked: Asked) -> Fix:
    """Return the fix that the form shows. Raises InputError if the fix has changed since."""
    id_, settings = asked.path["id"], asked.studio.settings
    reviewed, decided = known_fixes(settings)
    fix = rejectable(id_, reviewed)
    if fix is None or _is_closed(id_, decided):
        raise InputError("no-such-action", f"The action {id_} is decided already, or there is none any more.")
    return fix


def _fix_as_seen(asked: Asked) -> Fix:
    """Return the fix of the form for the files as they are now. Raises InputError unless the person saw just this."""
    fix = _open_fix(asked)
    if fix.session or not (fix.patches or fix.item or fix.lesson):
        raise InputError("no-such-action", "This action has nothing to write.")
    fix = current(fix, asked.studio.settings)
    if _stamp(fix) != asked.form.get("stamp"):
        raise InputError("file-changed", "The change is another one by now. Nothing was written: look at it again.")
    if fix.needs_person and asked.form.get("agreed") != "yes":
        raise InputError("needs-a-person", "This changes what runs or is refused here: agree to it in its card first.")
    return fix


def accept(asked: Asked) -> Goto:
    """Carry the action out, as it was shown."""
    fix = _fix_as_seen(asked)
    apply_fix(fix, asked.studio.settings, asked.user)
    return Goto(f"/?done={fix.id}#done-{fix.id}")


def edit(asked: Asked) -> Goto:
    """Carry the action out with other lines in place of those that it proposes."""
    fix = _fix_as_seen(asked)
    if len(fix.patches) != 1:
        raise InputError("no-such-action", "This action changes several files: edit them by hand.")
    (patch,) = fix.patches
    before, _, after = _changed_lines(patch)
    lines = asked.form.get("lines", "").replace("\r\n", "\n")
    lines += "\n" if lines and not lines.endswith("\n") else ""
    changed = replace(patch, after=f"{before}{lines}{after}".encode("utf-8", "surrogateescape"))
    if changed.after == changed.before:
        raise InputError("nothing-changed", "The lines are those of the file: nothing was written.")
    apply_fix(replace(fix, patches=[changed]), asked.studio.settings, asked.user)
    return Goto(f"/?done={fix.id}#done-{fix.id}")


def _changed_lines(patch: FilePatch) -> tuple[str, str, str]:
    """Return the text after a change: what comes before the changed lines, those lines, and what follows."""
    texts = (patch.before, patch.after)
    old, new = (text.decode("utf-8", "surrogateescape").splitlines(keepends=True) for text in texts)
    opcodes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    changes = [opcode for opcode in opcodes if opcode[0] != "equal"]
    first, last = (changes[0][3], changes[-1][4]) if changes else (len(new), len(new))
    return "".join(new[:first]), "".join(new[first:last]), "".join(new[last:])


def branch(asked: Asked) -> Goto:
    """Commit the change on a branch of its own."""
    fix = _fix_as_seen(asked)
    commit_on_branch(fix, asked.studio.settings)
    return Goto(f"/?branch={fix.id}#action-{fix.id}")


def reject(asked: Asked) -> Goto:
    """Never show the action again."""
    fix = _open_fix(asked)
    reject_fix(fix, asked.studio.settings)
    return Goto(f"/?done={fix.id}#done-{fix.id}")


def undo(asked: Asked) -> Goto:
    """Take a fix back, or a rejection."""
    id_, settings = asked.path["id"], asked.studio.settings
    decision = known_fixes(settings)[1].get(id_)
    if decision is None or decision.state not in _DECIDED_STATES:
        raise InputError("no-such-action", f"The action {id_} was not carried out: there is nothing to take back.")
    if decision.state is FixState.REJECTED:
        restore_fix(decision, settings)
    else:
        undo_fix(decision, undo_of(decision, settings), settings, asked.user)
    return Goto(f"/?undone={id_}#action-{id_}")


PAGE = StudioPage(
    "Review",
    place=1,
    views={"/": show},
    changes={
        "/actions/{id}/accept": accept,
        "/actions/{id}/edit": edit,
        "/actions/{id}/branch": branch,
        "/actions/{id}/reject": reject,
        "/actions/{id}/undo": undo,
    },
)
