"""Choices of injection in shadow: a person accepts or rejects them before anything reaches an agent.

Hooks in shadow record their choices (injection/shadow.py), and the judge scores them like any other; they count in
figures of their own. A person looks at ten. A rejected item is held back; after ten answers injecting may start.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

from knowbound.config import Settings
from knowbound.core.item import FlagKind
from knowbound.core.quality import Counts, DayRollup
from knowbound.errors import InputError
from knowbound.injection import shadow
from knowbound.injection.log import read_log
from knowbound.kms.opening import open_knowledge_store
from knowbound.report.quality.model import TO_LOOK_AT, ShadowChoice, ShadowStatus
from knowbound.text.clock import utc_now
from knowbound.text.redact import excerpt
from knowbound.user_files import make_file

ANSWERS = "shadow.json"  # in the data folder
_PROMPT_CHARS, _CONTENT_CHARS = 200, 300  # that are shown


def shadow_status(settings: Settings, days: Sequence[DayRollup] = ()) -> ShadowStatus | None:
    """Return the shadow of the project; None if the user never started in shadow."""
    home = str(settings.home)
    if not shadow.is_switched_on():
        return None
    accepted_by_key = _answers(settings.home)
    choices = [
        ShadowChoice(
            key=f"{record.id[:6]}-{number}",
            time=record.time,
            prompt=excerpt(record.prompt, _PROMPT_CHARS),
            item=item.item,
            content=excerpt(item.excerpt, _CONTENT_CHARS),
            accepted=accepted_by_key.get(f"{record.id[:6]}-{number}"),
        )
        for record in reversed(read_log(settings.home).records)
        if record.arm == shadow.SHADOW
        for number, item in enumerate(record.items, 1)
    ]
    counts = sum((day.shadow for day in days), Counts())
    return ShadowStatus(shadow.is_on(home), shadow.since(), tuple(choices), counts)


def to_look_at(status: ShadowStatus) -> list[ShadowChoice]:
    """Return the unanswered choices to show, each item once: with the answered choices they make ten."""
    seen_items: set[str] = set()
    unanswered = []
    for choice in status.choices:
        if choice.accepted is None and choice.item not in seen_items:
            unanswered.append(choice)
        seen_items.add(choice.item)
    return unanswered[: status.left]


def answer(settings: Settings, accepted: Collection[str], rejected: Collection[str], *, by: str) -> ShadowStatus:
    """Accept and reject choices by their keys. A rejected item is held back until a person clears its flag."""
    status = _status_in_shadow(settings)
    choices = {choice.key: choice for choice in status.choices}
    if unknown := [key for key in (*accepted, *rejected) if key not in choices]:
        raise InputError("no-choice", f"No choice {unknown[0]!r}. Try: knowbound quality shadow")
    if both := set(accepted) & set(rejected):
        raise InputError("no-choice", f"{min(both)} is accepted and rejected. Nothing was changed.")
    if rejected:
        with closing(open_knowledge_store(settings, by=by)) as store:
            for item, choice in {choices[key].item: choices[key] for key in rejected}.items():
                reason = f"rejected in shadow on {utc_now()[:10]}, for the prompt: {choice.prompt}"
                store.flag(item, FlagKind.HELD_BACK, reason)
    answers = dict.fromkeys(accepted, True) | dict.fromkeys(rejected, False)
    make_file(str(settings.home / ANSWERS), json.dumps(_answers(settings.home) | answers).encode())
    return _status_in_shadow(settings)


def start(settings: Settings) -> None:
    """Start injecting in this project. Raises InputError before ten choices were answered."""
    status = _status_in_shadow(settings)
    if status.left:
        words = f"{status.answered} of {TO_LOOK_AT} choices were accepted or rejected."
        raise InputError("shadow-unseen", f"{words} Nothing was changed. Try: knowbound quality shadow")
    make_file(str(settings.home / shadow.LIVE), f"{utc_now()}\n".encode())


def _status_in_shadow(settings: Settings) -> ShadowStatus:
    """Return the shadow of the project. Raises InputError if the user never started in shadow."""
    status = shadow_status(settings)
    if status is None:
        raise InputError("no-shadow", "Nothing is in shadow. Try: knowbound install claude-code --shadow")
    return status


def _answers(home: Path) -> dict[str, bool]:
    """Return the answers of a person: key of a choice → whether it was accepted; none without a file."""
    try:
        found = json.loads((home / ANSWERS).read_bytes())
    except (OSError, ValueError):
        return {}
    return (
        {key: is_accepted for key, is_accepted in found.items() if isinstance(is_accepted, bool)}
        if isinstance(found, dict)
        else {}
    )
