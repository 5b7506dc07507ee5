"""The page Judges: who decides about text, how far that can be trusted, what it cost, and labels by single keys."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from knowbound.audit.labelling import AuditedClaim, claim_agreement, claims_to_label, decided_claims
from knowbound.config import ModelTask, Settings
from knowbound.core.audit import Claim, Support
from knowbound.errors import InputError
from knowbound.gaps.labelling import label_candidates
from knowbound.judge.choice import judge_for
from knowbound.judge.labels import (
    CLAIM_LABELS,
    LABELS,
    TURN_LABELS,
    ClaimLabel,
    ItemLabel,
    Label,
    Unlabelled,
    UnlabelledTurn,
    append_label,
    append_turn,
    labelled_ids,
    labelled_texts,
    read_claim_labels,
    take_back_claim,
)
from knowbound.judge.registry import hedging_judge_version, judges
from knowbound.language import say
from knowbound.quality.turns.found import turns_to_label
from knowbound.store.answers import UsedToday, used_today
from knowbound.store.calibrations import hedging_calibration
from knowbound.text.clock import utc_now
from knowbound.text.printable import counted
from knowbound.web.access import Right
from knowbound.web.pages.sessions import trace_turn
from knowbound.web.studio import Asked, Goto, Shown, Studio, StudioPage
from knowbound.web.timeline import Timeline, timeline

_SEED = 1
_QUESTIONS = {  # in the order of the fields of ItemLabel
    "on_topic": "On topic: does it bear on what the prompt asks?",
    "used": "Used: does the answer or a tool call restate it, act on it or cite it?",
    "contradicted": "Contradicted: is the answer, or a tool result that it reports, incompatible with it?",
}
_VERDICTS = {  # in the order of their keys
    Support.SUPPORTED: "Supported",
    Support.CONTRADICTED: "Contradicted",
    Support.UNSEEN: "Unseen",
    Support.NOT_CHECKABLE: "Unsure",
}
_DRAWN = 50  # sentences that are drawn; a reader labels one at a time


class UsedRow(NamedTuple):
    """Calls of a model today, of those that are allowed."""

    kind: str
    used: UsedToday
    most: int


def show(asked: Asked) -> Shown:
    """Return the page."""
    if asked.query.get("label") == "claims":
        return _show_claims(asked)
    settings = asked.studio.settings
    is_turns = asked.query.get("label") == "turns"
    texts, turns = labelled_texts(settings.home / LABELS), labelled_ids(settings.home / TURN_LABELS)
    todo = [] if is_turns else _todo(asked.studio, texts)
    turn = _turns(asked.studio, turns, 1) if is_turns else []
    values = {
        "headline": _headline(len(turns) if is_turns else len(texts), len(turn) or len(todo)),
        "tab": "turns" if is_turns else "sentences",
        "todo": todo[0] if todo else None,
        "turn": turn[0] if turn else None,
        "questions": _QUESTIONS,
        "left": len(todo),
        "calibration": hedging_calibration(settings.home, hedging_judge_version(judge_for(settings, ModelTask.HEDGES))),
    }
    return Shown("judges.html", values | _of_every_tab(asked.studio))


def _of_every_tab(studio: Studio) -> dict[str, object]:
    settings = studio.settings
    return {
        "tasks": _deciding(settings),
        "judges": [row for row in judges() if row.usable],
        "used": [
            UsedRow("commands", used_today(background=False), settings.model_budget_calls),
            UsedRow("in the background", used_today(background=True), settings.model_background_calls),
        ],
        "may_label": studio.access.may(Right.RECORD),
    }


def _deciding(settings: Settings) -> list[tuple[str, list[str]]]:
    """Return the tasks of each judge, the judge with most of them first."""
    found: dict[str, list[str]] = {}
    for task in ModelTask:
        found.setdefault(judge_for(settings, task), []).append(task.words)
    return sorted(found.items(), key=lambda one: -len(one[1]))


def _turns(studio: Studio, known: frozenset[str], count: int) -> list[UnlabelledTurn]:
    """Return turns with injected items that have no labels, in an order that stays."""
    try:
        return turns_to_label(studio.settings, count, _SEED, known)
    except InputError:
        return []


def _headline(labels: int, left: int) -> str:
    if left:
        return say("{} given. The next one waits.", counted(labels, "label"))
    return say("{} given. Nothing waits for one.", counted(labels, "label"))


def _todo(studio: Studio, known: frozenset[str]) -> list[Unlabelled]:
    """Return sentences of the newest stored run that have no label, in an order that stays."""
    try:
        return label_candidates(studio.settings, _DRAWN, _SEED, known)
    except InputError:  # nothing was read yet, or everything has a label
        return []


def label(asked: Asked) -> Goto:
    """Write the label of a sentence with the name of who gave it; one that was labelled meanwhile keeps its own."""
    home = asked.studio.settings.home
    known = labelled_texts(home / LABELS)
    text = asked.form.get("text", "")
    for one in _todo(asked.studio, known):
        if one.text == text and asked.form.get("given") in ("yes", "no"):
            is_doubt = asked.form["given"] == "yes"
            given = Label(
                one.text, is_doubt, context=one.context, by=asked.user, time=utc_now(), session=one.session,
                weight=one.weight,
            )  # fmt: skip
            append_label(home / LABELS, given)
            break
    return Goto("/judges")


def label_turn(asked: Asked) -> Goto:
    """Write the labels of the items of a turn, once every question about them is answered."""
    home = asked.studio.settings.home
    for turn in _turns(asked.studio, labelled_ids(home / TURN_LABELS), 1):
        given = [[asked.form.get(f"{name}.{at}") for name in _QUESTIONS] for at in range(len(turn.items))]
        if turn.id == asked.form.get("turn") and all(one in ("yes", "no") for answers in given for one in answers):
            labels = {
                item.id: ItemLabel(*(one == "yes" for one in answers))
                for item, answers in zip(turn.items, given, strict=True)
            }
            append_turn(home / TURN_LABELS, turn, labels, asked.user, utc_now())
    return Goto("/judges?label=turns")


# Claims


def _show_claims(asked: Asked) -> Shown:
    """Return the page with a claim to label, in its answer and with the calls of its turn."""
    settings = asked.studio.settings
    labels, claims = read_claim_labels(settings.home / CLAIM_LABELS), decided_claims(settings)
    skipped = _skipped(asked.query)
    waiting = claims_to_label(claims.values(), (one.key for one in labels))
    drawn = next(islice(waiting, skipped, None), None)
    values = {
        "headline": _headline(len(labels), int(drawn is not None)),
        "tab": "claims",
        "drawn": drawn,
        "shown": _turn_of(drawn) if drawn else None,
        "skipped": skipped,
        "verdicts": _VERDICTS,
        "agreement": claim_agreement(labels, claims),
        "may_undo": bool(labels) and labels[-1].by == asked.user,
    }
    return Shown("judges_claims.html", values | _of_every_tab(asked.studio))


def _skipped(fields: Mapping[str, str]) -> int:
    """Return how many claims the visitor skipped: an address keeps it."""
    given = fields.get("skip", "")
    return int(given) if given.isdecimal() and len(given) < 7 else 0


def _turn_of(drawn: AuditedClaim) -> Timeline | None:
    """Return the turn with the claim marked in its answer, and without anything that the audit said about it."""
    unjudged = replace(drawn.turn, claims=(Claim(drawn.claim.text, drawn.claim.kind),))
    try:
        trace = trace_turn(Path(drawn.turn.file), drawn.turn.session, drawn.turn.turn)
    except (InputError, OSError):
        return None
    return timeline(trace, unjudged, {}) if trace else None


def label_claim(asked: Asked) -> Goto:
    """Write the label of a claim with the name of who gave it; one that was labelled meanwhile keeps its own."""
    settings, given = asked.studio.settings, asked.form.get("given", "")
    path = settings.home / CLAIM_LABELS
    known = {one.key for one in read_claim_labels(path)}
    for one in decided_claims(settings).values():
        if one.id == asked.form.get("claim") and one.key not in known and given in _VERDICTS:
            append_label(path, ClaimLabel(*one.key, one.claim.kind, Support(given), by=asked.user, time=utc_now()))
    return _next_claim(asked)


def undo_claim(asked: Asked) -> Goto:
    """Take the newest label back, if the visitor gave it."""
    if not take_back_claim(asked.studio.settings.home / CLAIM_LABELS, asked.user):
        raise InputError("no-such-action", "The newest label is not yours: nothing was taken back.")
    return _next_claim(asked)


def _next_claim(asked: Asked) -> Goto:
    return Goto(f"/judges?label=claims&skip={_skipped(asked.form)}")


PAGE = StudioPage(
    "Judges",
    8,
    {"/judges": show},
    {
        "/judges/label": label,
        "/judges/label-turn": label_turn,
        "/judges/label-claim": label_claim,
        "/judges/undo-claim": undo_claim,
    },
    Right.RECORD,
)
