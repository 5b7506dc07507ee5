"""The page Ask: a question to the tree, its answer from evidence, and the trail of how it was found."""

from __future__ import annotations

from knowbound.config import ModelTask
from knowbound.errors import InputError, StoreError
from knowbound.evidence.investigate import investigate_and_keep, newest_investigation
from knowbound.gaps.stored import topics_by_cost
from knowbound.judge.choice import model_for
from knowbound.report.answers import investigation_page
from knowbound.web.access import Right
from knowbound.web.pages import Asked, Goto, Shown, StudioPage

_LONGEST_QUESTION = 2_000  # characters of a question
_SECONDS = 30.0
_MOST_TOPICS = 4  # that are proposed to be asked about


def show(asked: Asked) -> Shown:
    """Return the page with the newest answer."""
    settings = asked.studio.settings
    try:
        newest = newest_investigation(settings)
    except StoreError:
        newest = None
    page = investigation_page(newest, trail=True) if newest else None
    values = {
        "found": newest,
        "question": asked.query.get("question", "") or (newest.question if newest else ""),
        "missed": _missed_topics(asked),
        "totals": page.totals if page else "",
        "sections": page.sections if page else (),
        "model": model_for(settings, ModelTask.INVESTIGATE),
        "may_ask": asked.studio.access.may(Right.WORK),
    }
    return Shown("ask.html", values)


def _missed_topics(asked: Asked) -> list[str]:
    """Return what agents looked for and missed: it is worth a question."""
    try:
        return [row.title for row in topics_by_cost(asked.studio.settings, after="", most=_MOST_TOPICS).rows]
    except InputError:  # nothing was read yet
        return []


def ask(asked: Asked) -> Goto:
    """Answer a question with the model that the user allowed, within its budget, and keep the answer."""
    question = " ".join(asked.form.get("question", "").split())[:_LONGEST_QUESTION]
    terms = [term.strip() for term in asked.form.get("terms", "").split(",") if term.strip()][:10]
    if question:
        investigate_and_keep(question, asked.studio.settings, terms=terms, seconds=_SECONDS)
    return Goto("/ask")


PAGE = StudioPage("Ask", place=7, views={"/ask": show}, changes={"/ask": ask})
