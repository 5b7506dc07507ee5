"""The page Injection: whether what is injected helps, and the corrections that wait for an answer."""

from __future__ import annotations

from knowbound.core.quality import Suggestion
from knowbound.errors import InputError
from knowbound.kms.opening import open_index, open_quality_log
from knowbound.language import say, translated
from knowbound.quality.corrections import suggestions
from knowbound.quality.status import quality_status
from knowbound.quality.suggesting import opened_corrections
from knowbound.report.quality.status import quality_page
from knowbound.text.printable import counted
from knowbound.web.access import Right
from knowbound.web.pages import Asked, Goto, Shown, Studio, StudioPage

_MOST_CORRECTIONS = 50


def show(asked: Asked) -> Shown:
    """Return the page."""
    status = quality_status(asked.studio.settings)
    page = quality_page(status, "html")
    corrections = _open_corrections(asked.studio)
    values = {
        "headline": _headline(corrections),
        "next": page.totals,
        "waiting": corrections[:_MOST_CORRECTIONS],
        "left": max(0, len(corrections) - _MOST_CORRECTIONS),
        "origin": page.origin,
        "sections": page.sections,
        "commands": page.commands,
        "legs": () if status.is_empty or status.rollout is None else status.rollout.legs,
        "may_answer": asked.studio.access.may(Right.RECORD),
        "answered": asked.query.get("answered", ""),
    }
    return Shown("injection.html", values)


def _open_corrections(studio: Studio) -> list[Suggestion]:
    """Return the corrections that wait for an answer."""
    log, index = open_quality_log(studio.settings), open_index(studio.settings)
    try:
        return suggestions(log, index, studio.settings.root)
    finally:
        log.close()
        index.close()


def _headline(waiting: list[Suggestion]) -> str:
    if waiting:
        return say("{} to answer: agents contradicted what was injected.", counted(len(waiting), "correction"))
    return translated("No correction waits for an answer.")


def accept(asked: Asked) -> Goto:
    """Supersede the item by the draft, or by the words of the form."""
    with opened_corrections(asked.studio.settings, asked.user) as opened:
        opened.accept(asked.path["item"], asked.form.get("content", ""))
    return Goto(f"/injection?answered={asked.path['item']}")


def dismiss(asked: Asked) -> Goto:
    """Close the correction as not warranted."""
    with opened_corrections(asked.studio.settings, asked.user) as opened:
        opened.dismiss(asked.path["item"], asked.form.get("note", ""))
    return Goto(f"/injection?answered={asked.path['item']}")


def undo(asked: Asked) -> Goto:
    """Take the last answer about an item back."""
    with opened_corrections(asked.studio.settings, asked.user) as opened:
        try:
            opened.undo(asked.path["item"])
        except InputError:  # somebody else took it back
            return Goto("/injection")
    return Goto("/injection")


PAGE = StudioPage(
    "Injection",
    place=5,
    views={"/injection": show},
    changes={
        "/corrections/{item}/accept": accept,
        "/corrections/{item}/dismiss": dismiss,
        "/corrections/{item}/undo": undo,
    },
    right=Right.RECORD,
)
