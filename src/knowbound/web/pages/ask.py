"""The page Ask: a question to the tree, its answer from evidence, and the trail of how it was found."""

from __future__ import annotations

from knowbound.config import ModelTask
from knowbound.errors import InputError, StoreError
from knowbound.evidence.investigate import investigate_and_keep, newest_investigation
from knowbound.gaps.stored import topics_by_cost
from knowbound.judge.choice import model_for
from knowbound.report.investigation import investigation_page
from knowbound.web.access import Right
from knowbound.web.studio import Asked, Goto, Shown, StudioPage

_LONGEST = 2_000  # characters of a question
_SECONDS = 30.0
_TOPICS = 4  # that are proposed to be asked about


def show(asked: Asked) -> Shown:
    """Return the page with the newest answer."""
    settings = asked.studio.settings
    try:
        found = newest_investigation(settings)
    except StoreError:
        found = None
    page = investigation_page(found, trail=True) if found else None
    values = {
        "found": found,
        "question": asked.query.get("question", "") or (found.question if found else ""),
        "missed": _missed(asked),
        "totals": page.totals if page else "",
        "sections": page.sections if page else (),
        "model": model_for(settings, ModelTask.INVESTIGATE),
        "may_ask": asked.studio.access.may(Right.WORK),
    }
    return Shown("ask.html", values)


def _missed(asked: Asked) -> list[str]:
    """Return what agents looked for and missed: it is worth a question."""
    try:
        return [row.title for row in topics_by_cost(asked.studio.settings, after="", most=_TOPICS).rows]
    except InputError:  # nothing was read yet
        return []


def ask(asked: Asked) -> Goto:
    """Answer a question with the model that the user allowed, within its budget, and keep the answer."""
    question = " ".join(asked.form.get("question", "").split())[:_LONGEST]
    terms = [one.strip() for one in asked.form.get("terms", "").split(",") if one.strip()][:10]
    if question:
        investigate_and_keep(question, asked.studio.settings, terms=terms, seconds=_SECONDS)
    return Goto("/ask")


PAGE = StudioPage("Ask", 7, {"/ask": show}, {"/ask": ask})
