"""Templates of the studio: every value is escaped, every sentence is in the language of the request."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from starlette.routing import compile_path

from knowbound import __version__
from knowbound.config import Settings
from knowbound.errors import InputError
from knowbound.language import catalogue, language, say, translated
from knowbound.report.formats import in_language
from knowbound.report.formats.html import interval_svg, line_html, section_html, share_svg
from knowbound.report.formats.plain import plain, printable
from knowbound.report.sections import Figure
from knowbound.stats.printing import percent
from knowbound.text.printable import counted, shorten
from knowbound.web.access import Access
from knowbound.web.live import Live, ReadingPlan
from knowbound.web.markdown import markdown_html
from knowbound.web.pages import Asked, Goto, Plain, Shown, Studio, StudioPage, studio_pages

_PATH_STEP = re.compile(r"(?<=\w)/(?=\w)")  # where a long path may be wrapped
_LONGEST_TEXT = 20_000  # characters of a text that a page shows


@cache
def environment() -> Environment:
    """Return the templates with the functions that they use."""
    templates = Environment(
        loader=PackageLoader("knowbound.web", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.globals.update(t=translated, say=say, counted=counted, bar=bar, interval=interval)
    templates.filters.update(
        answer=lambda shown: Markup(markdown_html(shown.answer, shown.marks)),
        diff=diff_html,
        inline=inline_html,
        line=lambda line: Markup(line_html(in_language(line))),
        markdown=lambda text: Markup(markdown_html(text)),
        moment=moment,
        number=lambda number: f"{number:,}",
        percent=percent,
        plain=lambda text, most=300: shorten(plain(text), most),
        sections=lambda sections: Markup(
            "".join(section_html(in_language(section)) for section in sections if not section.is_empty)
        ),
        text=_shown_text,
    )
    return templates


@cache
def sentences(language: str) -> dict[str, str]:
    """Return the catalogue of a language; an empty one for English."""
    return {} if language == "en" else catalogue(language)


def rendered(template: str, studio: Studio, page: StudioPage | None, values: Mapping[str, Any]) -> str:
    """Return a page in the language of the present context, without a menu unless the values have its pages."""
    nobody = {"pages": (), "theme": "", "csrf": "", "user": "", "css": ""}
    about = {"studio": studio, "page": page, "pulse": studio.live.pulse, "version": __version__}
    return environment().get_template(template).render({**nobody, **about, **values})


def bar(share: float | None, scale: float = 1.0, tone: str = "") -> Markup:
    """Return a bar for a share of the scale; nothing for an unknown share."""
    return Markup("" if share is None else share_svg(share / scale, tone))


def interval(figure: Figure) -> Markup:
    """Return a figure's value and interval on a line from 0 to 1."""
    return Markup(interval_svg(*figure.drawn, figure.limits) if figure.drawn else "")


def diff_html(diff: str) -> Markup:
    """Return a unified diff, a line of markup for each of its lines, without the names of its files."""
    rows, lines = [], _shown_text(diff).splitlines()
    is_one_hunk = sum(line.startswith("@@") for line in lines) < 2
    for line in lines:
        if line.startswith(("--- ", "+++ ")) or (is_one_hunk and line.startswith("@@")):
            continue
        kind = {"+": "ins", "-": "del", "@": "at", "\\": "at"}.get(line[:1], "same")
        words = {"ins": translated("added: "), "del": translated("removed: ")}.get(kind, "")
        heard = f'<span class="only-heard">{words}</span>' if words else ""  # for screen readers
        rows.append(f'<span class="row {kind}">{heard}{escape(line[1:] if kind != "at" else line)}\n</span>')
    return Markup("".join(rows))


def inline_html(text: str, most: int = 300) -> Markup:
    """Return a line of text, with the text between backticks as code."""
    parts = shorten(plain(text), most).split("`")
    if len(parts) % 2 == 0:  # the last one is not closed
        parts[-2:] = [f"{parts[-2]}`{parts[-1]}"]
    parts_html = (
        f"<code>{escape(part)}</code>" if number % 2 else str(escape(part)) for number, part in enumerate(parts)
    )
    shown = (_PATH_STEP.sub(r"\g<0><wbr>", part_html) for part_html in parts_html)
    return Markup("".join(shown))


def moment(time: str) -> str:
    """Return an ISO time as people read it, in the zone of this machine; the text itself where it is none."""
    try:
        parsed = datetime.fromisoformat(time)
    except ValueError:
        return plain(time)
    local = (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).astimezone()
    return local.strftime("%Y-%m-%d %H:%M")


def _shown_text(text: str) -> str:
    """Return a text of a trace as a page shows it: its lines, without terminal codes and unseen characters."""
    cut = len(text) - _LONGEST_TEXT
    return printable(text[:_LONGEST_TEXT]) + (f"\n… {say('{:,} more characters', cut)}" if cut > 0 else "")


def asset_bytes(name: str) -> bytes | None:
    """Return a file that comes with the pages; None for an unknown one."""
    if name not in ("report.css", "studio.css", "studio.js", "icon.svg"):
        return None
    package = "knowbound.report.formats" if name == "report.css" else "knowbound.web"
    return (files(package) / "assets" / name).read_bytes()


# What is of no use without a server. Text of traces is escaped, so none of it can look like these.
_NEEDS_SERVER = re.compile(
    r'<form\b.*?</form>|<details class="raw".*?</details>|<nav class="pager".*?</nav>', re.DOTALL
)
_LOCAL_LINK = re.compile(r' href="/[^"]*"')


def static_page(settings: Settings, address: str) -> str:
    """Return the page at an address of the studio, such as `/sessions` or `/turn/SESSION/1`, as one file."""
    live = Live(ReadingPlan(str(settings.root), root_is_given=True), settings.home, reads=False)
    studio = Studio(settings, Access("", is_read_only=True), live)
    path = address
    while True:  # until a page is shown: an address may lead to another
        page, shown = _view_at(studio, path)
        if isinstance(shown, Plain) or (isinstance(shown, Shown) and shown.status != 200):
            raise InputError("no-such-path", f"{address} is no page of the studio.")
        if isinstance(shown, Shown):
            break
        path = shown.path
    css = "".join((asset_bytes(name) or b"").decode() for name in ("report.css", "studio.css"))
    digest = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    as_file = {"language": language(), "css": css, "css_digest": digest}
    text = rendered(shown.template, studio, page, {**as_file, **shown.values})
    return _LOCAL_LINK.sub("", _NEEDS_SERVER.sub("", text))


def _view_at(studio: Studio, address: str) -> tuple[StudioPage, Shown | Goto | Plain]:
    """Return the page that an address belongs to, with what its view answers."""
    parts = urlsplit(address)
    for page in studio_pages():
        for pattern, view in page.views.items():
            regex, _, convertors = compile_path(pattern)
            if match := regex.match(parts.path):
                path = {name: convertors[name].convert(value) for name, value in match.groupdict().items()}
                return page, view(Asked(studio, "", path, dict(parse_qsl(parts.query))))
    raise InputError("no-such-path", f"{address} is no page of the studio.")
