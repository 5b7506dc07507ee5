"""The page Judges: who decides about text, how far that can be trusted, what it cost, and labels by single keys."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from pathlib import Path

from msgspec.structs import replace

from knowbound.audit.labelling import AuditedClaim, claim_agreement, claims_to_label, decided_claims
from knowbound.config import ModelTask, Settings
from knowbound.core.audit import Claim, Support
from knowbound.errors import InputError
from knowbound.gaps.reading import label_candidates
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
from knowbound.quality.found_turns import turns_to_label
from knowbound.store.judges import hedging_calibration, used_today
from knowbound.text.clock import utc_now
from knowbound.text.printable import counted
from knowbound.web.access import Right
from knowbound.web.pages import Asked, Goto, Shown, Studio, StudioPage
from knowbound.web.pages.sessions import trace_turn
from knowbound.web.timeline import Timeline, timeline

_DRAW_SEED = 1
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
_MOST_DRAWN = 50  # sentences that are drawn; a reader labels one at a time


def show(asked: Asked) -> Shown:
    """Return the page."""
    if asked.query.get("label") == "claims":
        return _show_claims(asked)
    settings = asked.studio.settings
    shows_turns = asked.query.get("label") == "turns"
    labelled, labelled_turns = labelled_texts(settings.home / LABELS), labelled_ids(settings.home / TURN_LABELS)
    sentences = [] if shows_turns else _sentences_to_label(asked.studio, labelled)
    waiting_turns = _turns_to_label(asked.studio, labelled_turns, 1) if shows_turns else []
    labels = len(labelled_turns) if shows_turns else len(labelled)
    values = {
        "headline": _headline(labels, len(waiting_turns) or len(sentences)),
        "tab": "turns" if shows_turns else "sentences",
        "todo": sentences[0] if sentences else None,
        "turn": waiting_turns[0] if waiting_turns else None,
        "questions": _QUESTIONS,
        "left": len(sentences),
        "calibration": hedging_calibration(settings.home, hedging_judge_version(judge_for(settings, ModelTask.HEDGES))),
    }
    return Shown("judges.html", values | _shared_values(asked.studio))


def _shared_values(studio: Studio) -> dict[str, object]:
    """Return the values that the templates of all tabs show: who decides, and what calls of a model were used."""
    settings = studio.settings
    return {
        "tasks": _tasks_by_judge(settings),
        "judges": [row for row in judges() if row.usable],
        "used": [  # kind of use, calls of a model today, those that are allowed
            ("commands", used_today(background=False), settings.model_budget_calls),
            ("in the background", used_today(background=True), settings.model_background_calls),
        ],
        "may_label": studio.access.may(Right.RECORD),
    }


def _tasks_by_judge(settings: Settings) -> list[tuple[str, list[str]]]:
    """Return the tasks of each judge, the judge with most of them first."""
    tasks: dict[str, list[str]] = {}
    for task in ModelTask:
        tasks.setdefault(judge_for(settings, task), []).append(task.words)
    return sorted(tasks.items(), key=lambda judge_tasks: -len(judge_tasks[1]))


def _turns_to_label(studio: Studio, labelled: frozenset[str], count: int) -> list[UnlabelledTurn]:
    """Return turns with injected items that have no labels, in an order that stays."""
    try:
        return turns_to_label(studio.settings, count, _DRAW_SEED, labelled)
    except InputError:
        return []


def _headline(labels: int, left: int) -> str:
    if left:
        return say("{} given. The next one waits.", counted(labels, "label"))
    return say("{} given. Nothing waits for one.", counted(labels, "label"))


def _sentences_to_label(studio: Studio, labelled: frozenset[str]) -> list[Unlabelled]:
    """Return sentences of the newest stored run that have no label, in an order that stays."""
    try:
        return label_candidates(studio.settings, _MOST_DRAWN, _DRAW_SEED, labelled)
    except InputError:  # nothing was read yet, or everything has a label
        return []


def label(asked: Asked) -> Goto:
    """Write the label of a sentence with the name of who gave it; one that was labelled meanwhile keeps its own."""
    home = asked.studio.settings.home
    labelled = labelled_texts(home / LABELS)
    text = asked.form.get("text", "")
    for sentence in _sentences_to_label(asked.studio, labelled):
        if sentence.text == text and asked.form.get("given") in ("yes", "no"):
            is_doubt = asked.form["given"] == "yes"
            new_label = Label(
                sentence.text, is_doubt, context=sentence.context, by=asked.user, time=utc_now(),
                session=sentence.session, weight=sentence.weight,
            )  # fmt: skip
            append_label(home / LABELS, new_label)
            break
    return Goto("/judges")


def label_turn(asked: Asked) -> Goto:
    """Write the labels of the items of a turn, once every question about them is answered."""
    home = asked.studio.settings.home
    for turn in _turns_to_label(asked.studio, labelled_ids(home / TURN_LABELS), 1):
        answers = {
            item.id: [asked.form.get(f"{name}.{number}") for name in _QUESTIONS]
            for number, item in enumerate(turn.items)
        }
        are_all_answered = all(answer in ("yes", "no") for given in answers.values() for answer in given)
        if turn.id == asked.form.get("turn") and are_all_answered:
            labels = {id_: ItemLabel(*(answer == "yes" for answer in given)) for id_, given in answers.items()}
            append_turn(home / TURN_LABELS, turn, labels, asked.user, utc_now())
    return Goto("/judges?label=turns")


# Claims


def _show_claims(asked: Asked) -> Shown:
    """Return the page with a claim to label, in its answer and with the calls of its turn."""
    settings = asked.studio.settings
    labels, claims = read_claim_labels(settings.home / CLAIM_LABELS), decided_claims(settings)
    skipped = _skipped(asked.query)
    waiting = claims_to_label(claims.values(), (label.key for label in labels))
    claim = next(islice(waiting, skipped, None), None)
    values = {
        "headline": _headline(len(labels), int(claim is not None)),
        "tab": "claims",
        "drawn": claim,
        "shown": _timeline_of_claim(claim) if claim else None,
        "skipped": skipped,
        "verdicts": _VERDICTS,
        "agreement": claim_agreement(labels, claims),
        "may_undo": bool(labels) and labels[-1].by == asked.user,
    }
    return Shown("judges_claims.html", values | _shared_values(asked.studio))


def _skipped(fields: Mapping[str, str]) -> int:
    """Return how many claims the visitor skipped: an address keeps it."""
    given = fields.get("skip", "")
    return int(given) if given.isdecimal() and len(given) < 7 else 0


def _timeline_of_claim(drawn: AuditedClaim) -> Timeline | None:
    """Return the turn with the claim marked in its answer, and without anything that the audit said about it."""
    # Without the verdict: a label must not follow it.
    unjudged = replace(drawn.turn, claims=(Claim(drawn.claim.text, drawn.claim.kind),))
    try:
        trace = trace_turn(Path(drawn.turn.file), drawn.turn.session, drawn.turn.turn)
    except (InputError, OSError):
        return None
    return timeline(trace, unjudged, {}) if trace else None


def label_claim(asked: Asked) -> Goto:
    """Write the label of a claim with the name of who gave it; one that was labelled meanwhile keeps its own."""
    settings, verdict = asked.studio.settings, asked.form.get("given", "")
    path = settings.home / CLAIM_LABELS
    labelled = {claim.key for claim in read_claim_labels(path)}
    for claim in decided_claims(settings).values():
        if claim.id == asked.form.get("claim") and claim.key not in labelled and verdict in _VERDICTS:
            given = ClaimLabel(*claim.key, claim.claim.kind, Support(verdict), by=asked.user, time=utc_now())
            append_label(path, given)
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
    place=8,
    views={"/judges": show},
    changes={
        "/judges/label": label,
        "/judges/label-turn": label_turn,
        "/judges/label-claim": label_claim,
        "/judges/undo-claim": undo_claim,
    },
    right=Right.RECORD,
)
