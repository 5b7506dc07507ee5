"""Validation of items before anything is written (specification 2, "Items")."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from knowbound.core.item import Anchor, FlagKind, Item, ItemSource, ItemType, Relationship
from knowbound.errors import InputError
from knowbound.kms.index.entry import with_effective
from knowbound.kms.screening import screened
from knowbound.text.printable import shorten
from knowbound.text.redact import redact

_MAX_CONTENT_CHARACTERS = 20_000  # about 5,000 tokens, far more than a bundle gives to one item
_MAX_LABEL_CHARACTERS = 200
_MAX_NOTE_CHARACTERS = 2_000
_MAX_RELATIONSHIPS = 100
_MAX_METADATA_BYTES = 64_000  # as JSON
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@/+-]{0,127}")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_Kind = TypeVar("_Kind", bound=StrEnum)


class NewItem(msgspec.Struct, frozen=True, kw_only=True):
    """A new item as its caller gives it, unchecked."""

    content: str
    type: str = ItemType.FACT
    source: str = ItemSource.TECHNICAL
    subject: str = ""
    user: str = ""
    confidence: float = 1.0
    relationships: tuple[Relationship, ...] = ()
    timestamp: str = ""
    anchor: Anchor | None = None
    metadata: dict[str, Any] = {}
    id: str = ""
    copy_of: str = ""


class ItemEdit(msgspec.Struct, frozen=True, kw_only=True):
    """Changes to an item; None leaves a field as it is."""

    content: str | None = None
    type: str | None = None
    source: str | None = None
    subject: str | None = None
    user: str | None = None
    confidence: float | None = None
    relationships: tuple[Relationship, ...] | None = None
    anchor: Anchor | None = None
    metadata: dict[str, Any] | None = None


def checked(draft: NewItem, new_id: str, now: str) -> Item:
    """Return the draft as an item, or raise an error that names the problem.

    Measured quality belongs to the wording that was injected: the item starts without one.
    """
    content = _text(draft.content, "content", _MAX_CONTENT_CHARACTERS)
    if not content:
        raise _invalid("The content is empty.")
    item = Item(
        id=checked_id(draft.id or new_id),
        content=content,
        type=_enum_member(ItemType, draft.type, "type"),
        source=_enum_member(ItemSource, draft.source, "source"),
        subject=_label(draft.subject, "subject"),
        user=_label(draft.user, "user"),
        timestamp=_time(draft.timestamp) or now,
        confidence=_confidence(draft.confidence),
        relationships=_relationships(draft.relationships),
        anchor=draft.anchor,
        copy_of=checked_id(draft.copy_of) if draft.copy_of else "",
        metadata=_metadata(draft.metadata),
    )
    return with_effective(item, None)


def checked_id(id_: str) -> str:
    """Return the id, or raise an error if its form is wrong."""
    if not isinstance(id_, str) or not _ID.fullmatch(id_):
        raise _invalid(f"An id is 1 to 128 letters, digits and . _ : @ / + -, not {_shown(id_)}.")
    return id_


def checked_flag(kind: str) -> FlagKind:
    """Return the flag of this name."""
    return _enum_member(FlagKind, kind, "flag")


def checked_note(text: str) -> str:
    """Return the reason for a correction, checked like content: agents see it."""
    return _text(text, "note", _MAX_NOTE_CHARACTERS)


def _label(text: str, what: str) -> str:
    """Return a short text of one line, checked like content."""
    text = _text(text, what, _MAX_LABEL_CHARACTERS)
    if "\n" in text:
        raise _invalid(f"The {what} must be one line.")
    return text


def _confidence(value: float) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= 1:  # false for NaN and infinity, too
        raise _invalid(f"Confidence is a number from 0 to 1, not {_shown(value)}.")
    return float(value)


def _text(text: str, what: str, longest: int) -> str:
    """Return the text in a form that every backend can hold, or refuse it: it may hold no secret and no attack."""
    if not isinstance(text, str):
        raise _invalid(f"The {what} must be text, not {_shown(text)}.")
    if len(text) > longest:
        raise _invalid(f"The {what} has {len(text):,} characters; {longest:,} are allowed. Try: split it into items.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _invalid(f"The {what} is not valid Unicode at character {error.start}.") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n").strip()
    if found := _CONTROL.search(text):
        raise _invalid(f"The {what} holds the control character U+{ord(found[0]):04X}.")
    if (redacted := redact(text)) != text:
        kind = next(iter(re.findall(r"\[redacted:([a-z-]+)\]", redacted)), "secret")
        raise InputError("item-secret", f"The {what} holds a secret ({kind}). Say where it is kept instead.")
    if finding := screened(text):
        raise InputError(
            "item-unsafe", f"The {what} tries to command the agent ({finding.kind}): {_shown(finding.words)}."
        )
    return text


def _enum_member(kinds: type[_Kind], value: str, what: str) -> _Kind:
    try:
        return kinds(value)
    except ValueError:
        raise _invalid(f"Unknown {what} {_shown(value)}. Known are {', '.join(kinds)}.") from None


def _relationships(edges: tuple[Relationship, ...]) -> tuple[Relationship, ...]:
    """Return the relationships with their ids checked; refuse too many, or a kind that is no word."""
    if len(edges) > _MAX_RELATIONSHIPS:
        raise _invalid(f"An item has at most {_MAX_RELATIONSHIPS} relationships, not {len(edges)}.")
    for edge in edges:
        if not isinstance(edge.kind, str) or not re.fullmatch(r"[a-z][a-z0-9_]{0,49}", edge.kind):
            raise _invalid(f"A kind of relationship is a word such as depends_on, not {_shown(edge.kind)}.")
    return tuple(Relationship(edge.kind, checked_id(edge.target)) for edge in edges)


def _time(text: str) -> str:
    """Return an ISO time in UTC, to the second: the index compares times as text."""
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        raise _invalid(f"A timestamp is ISO 8601, for example 2026-11-01T10:00:00Z, not {_shown(text)}.") from None
    return utc(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def utc(moment: datetime) -> str:
    """Return a moment in the form that items carry."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _metadata(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return the metadata, or refuse what JSON cannot hold, or what is too large."""
    try:
        encoded = msgspec.json.encode(metadata)
        msgspec.json.decode(encoded)  # what is nested too deeply cannot be read back
    except (TypeError, ValueError, RecursionError) as error:
        raise _invalid(f"The metadata cannot be stored as JSON: {error}.") from error
    if len(encoded) > _MAX_METADATA_BYTES:
        raise _invalid(f"The metadata has {len(encoded):,} bytes; {_MAX_METADATA_BYTES:,} are allowed.")
    return metadata


def _invalid(message: str) -> InputError:
    return InputError("item-invalid", f"{message} Nothing was changed.")


def _shown(value: object) -> str:
    """Return a short form of the value without broken or hidden characters."""
    text = ascii(value) if isinstance(value, str) and not value.isprintable() else repr(value)
    return shorten(text, 80)
