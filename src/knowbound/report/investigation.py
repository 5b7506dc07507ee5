"""An investigation in any format: the answer with its sources, or what is missing (specification 3)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Sequence
from html import escape
from importlib.resources import files
from typing import Literal, get_args

import msgspec

from knowbound.core.evidence import CitedSource, Evidence, EvidenceGap, Investigation
from knowbound.errors import InputError
from knowbound.report.columns import aligned, shorten, wrap
from knowbound.report.plain import dumped, markdown_text, plain

FORMAT = "knowbound.investigation/1"
Format = Literal["text", "json", "jsonl", "markdown", "html"]
FORMATS: tuple[Format, ...] = get_args(Format)
_SOURCES_SHOWN = 10
_SUCCESS = "success"


def render_investigation(
    found: Investigation, format: Format, *, width: int = 100, colour: bool = False, trail: bool = False, id_: str = ""
) -> str:
    """The investigation in a format. `id_` is the question's own id, where it came from a file of many."""
    match format:
        case "text":
            return "\n".join(_text(_plain(found), width, colour, trail)) + "\n"
        case "json":
            return dumped(_document(found, trail, id_), indent=2) + "\n"
        case "jsonl":
            return dumped(_document(found, trail, id_)) + "\n"
        case "markdown":
            return "\n".join(_markdown(_plain(found), trail)) + "\n"
        case "html":
            return _html(_plain(found))
        case _:
            raise InputError(
                "format-unfit", f"An investigation is no test: it has no {format} form. Try: --format json"
            )


def _plain(found: Investigation) -> Investigation:
    """The same with every text in it made plain: code and file names are data."""
    return msgspec.convert(_plain_value(msgspec.to_builtins(found)), Investigation)


def _plain_value(value: object) -> object:
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list | tuple):
        return [_plain_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain_value(item) for key, item in value.items()}
    return value


def _document(found: Investigation, trail: bool, id_: str) -> dict[str, object]:
    """The keys of docs/json.md first, then what is added to them."""
    document: dict[str, object] = {"id": id_} if id_ else {}
    document |= {
        "format": FORMAT,
        "question": found.question,
        "intent": found.intent,
        "outcome": found.outcome,
        "confidence": found.confidence,
        "explanation": found.explanation,
        "evidence": [_evidence(entry) for entry in found.evidence],
        "gaps": [_gap(gap) for gap in found.gaps],
        "sources": [{"path": source.path, "line": source.line, "why": source.why} for source in found.sources],
        "terms": list(found.terms),
        "nearest": list(found.nearest),
        "notes": list(found.notes),
    }
    if trail:
        document["trail"] = list(found.trail)
    return document


def _evidence(entry: Evidence) -> dict[str, object]:
    return {
        "class": entry.cls,
        "quality": entry.quality,
        "strength": entry.strength,
        "tool": entry.tool,
        "query": entry.query,
        "target": entry.target,
        "sources": list(entry.sources),
        "match_count": entry.match_count,
        "exact_match_count": entry.exact_match_count,
        "phrase_match": entry.phrase_match,
        "note": entry.note,
        "cites": list(entry.cites),
    }


def _gap(gap: EvidenceGap) -> dict[str, object]:
    return {"class": gap.cls, "have": gap.have, "need": gap.need, "target": gap.target, "reason": gap.reason}


def _text(found: Investigation, width: int, colour: bool, trail: bool) -> Iterator[str]:
    good = found.outcome == _SUCCESS
    mark = ("32" if good else "33") if colour else ""
    yield _coloured(f"{_outcome_words(found)}   intent {found.intent}, confidence {found.confidence}", mark)
    for part in (found.explanation, *found.notes):
        yield from wrap(part, width, 8)
    if found.sources:
        yield ""
        shown = found.sources[:_SOURCES_SHOWN]
        places = aligned([[place_words(source)] for source in shown], ())
        for (place,), source in zip(places, shown, strict=True):
            yield shorten(f"  {place}   {source.why}", width) if len(place) < width - 10 else f"  {place}"
        if len(found.sources) > len(shown):
            yield f"  +{len(found.sources) - len(shown)} more"
    if found.gaps:
        yield ""
        yield "Missing"
        for gap in found.gaps:
            yield from wrap(f"  {gap_words(gap)}", width, 3)
    if found.evidence:
        yield ""
        yield "Evidence"
        for number, entry in enumerate(found.evidence):
            yield shorten(f"  {number:2}  {_evidence_words(entry)}", width)
    if trail:
        yield ""
        yield "Trail"
        for number, step in enumerate(found.trail, 1):
            yield f"  {number:2}  {step}"


def _coloured(text: str, code: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def _outcome_words(found: Investigation) -> str:
    if found.intent == "chat":
        return "Chat"
    return "CitedSource" if found.outcome == _SUCCESS else "Insufficient evidence"


def place_words(source: CitedSource) -> str:
    """A file and line as terminals and editors take it."""
    return f"{source.path}:{source.line}" if source.line else source.path


def gap_words(gap: EvidenceGap) -> str:
    """What is missing, in one line."""
    about = f" for {gap.target!r}" if gap.target else ""
    reason = f": {gap.reason}" if gap.reason else ""
    return f"{gap.cls}{about}: have {gap.have}, need {gap.need}{reason}"


def _evidence_words(entry: Evidence) -> str:
    about = f" {entry.target!r}" if entry.target else ""
    cites = f" (entries {', '.join(map(str, entry.cites))})" if entry.cites else ""
    return f"{entry.cls} {entry.quality}, strength {entry.strength}, by {entry.tool}{about}: {entry.note}{cites}"


def _markdown(found: Investigation, trail: bool) -> Iterator[str]:
    yield f"# {markdown_text(found.question)}"
    yield ""
    yield f"**{_outcome_words(found)}** · intent {found.intent} · confidence {found.confidence}"
    yield ""
    for part in (found.explanation, *found.notes):
        yield markdown_text(part)
        yield ""
    if found.sources:
        yield from _table("Sources", ("place", "why"), [(place_words(one), one.why) for one in found.sources])
    if found.gaps:
        rows = [(gap.cls, gap.target, gap.have, gap.need, gap.reason) for gap in found.gaps]
        yield from _table("Missing", ("class", "for", "have", "need", "reason"), rows)
    if found.nearest:
        yield from _table("Nearest", ("what does exist",), [(one,) for one in found.nearest])
    yield from _table("Evidence", _EVIDENCE_HEAD, [_evidence_row(at, one) for at, one in enumerate(found.evidence)])
    if trail:
        yield "## Trail"
        yield ""
        yield from (f"{number}. {markdown_text(step)}" for number, step in enumerate(found.trail, 1))


_EVIDENCE_HEAD = ("", "class", "quality", "strength", "tool", "for", "found", "note")


def _evidence_row(number: int, entry: Evidence) -> tuple[str, ...]:
    note = entry.note + (f" (entries {', '.join(map(str, entry.cites))})" if entry.cites else "")
    return (
        str(number), entry.cls, entry.quality, entry.strength, entry.tool, entry.target, str(entry.match_count), note,
    )  # fmt: skip


def _table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        return
    yield f"## {title}"
    yield ""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(markdown_text(cell) for cell in row)} |"
    yield ""


def _html(found: Investigation) -> str:
    """One page without script or network; every text is escaped on its way in."""
    style = (files("knowbound.report") / "assets" / "report.css").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    sections = "".join(
        (
            _html_table("Sources", ("place", "why"), [(place_words(one), one.why) for one in found.sources]),
            _html_table(
                "Missing",
                ("class", "for", "have", "need", "reason"),
                [(gap.cls, gap.target, gap.have, gap.need, gap.reason) for gap in found.gaps],
            ),
            _html_table("Nearest", ("what does exist",), [(one,) for one in found.nearest]),
            _html_table("Evidence", _EVIDENCE_HEAD, [_evidence_row(at, one) for at, one in enumerate(found.evidence)]),
            _html_table("Trail", ("", "step"), [(str(at), one) for at, one in enumerate(found.trail, 1)]),
        )
    )
    notes = "".join(f"<p>{escape(note)}</p>" for note in (found.explanation, *found.notes))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{digest}'; "
        "base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Investigation</title>\n<style>{style}</style>\n</head>\n<body>\n<header>\n"
        f"<h1>{escape(found.question)}</h1>\n"
        f'<p class="lead">{_outcome_words(found)}: intent {found.intent}, confidence {found.confidence}</p>\n'
        f"</header>\n<main>{notes}{sections}</main>\n</body>\n</html>\n"
    )


def _html_table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return ""
    heads = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<section><h2>{title}</h2><table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table></section>"
