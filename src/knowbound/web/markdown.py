"""Markdown of agents as markup: only the elements named here, every text escaped, no image loaded, no script linked.

Markup is written from the tokens of the parser, so nothing of the text can become markup. Marks in the text are wrapped
piece by piece: a claim that begins in bold letters and ends outside of them stays well formed. Code is coloured by one
pattern for each family of languages; every repetition in them ends at a character that cannot begin it again, so the
time is linear in the code.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from html import escape
from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from knowbound.language import say
from knowbound.report.formats.plain import printable

_parser = MarkdownIt("commonmark", {"html": False, "maxNesting": 20}).enable(["table", "strikethrough"])
_LONGEST_TEXT = 60_000  # characters that are parsed
_ELEMENTS = {
    "paragraph": "p", "bullet_list": "ul", "ordered_list": "ol", "list_item": "li", "blockquote": "blockquote",
    "strong": "strong", "em": "em", "s": "s", "table": "table", "thead": "thead", "tbody": "tbody", "tr": "tr",
    "th": "th", "td": "td",
}  # fmt: skip
# Punctuation around the number of a mark, and after its text.
_MARK_OPEN, _NUMBER_END, _MARK_CLOSE = "\u2e26", "\u2e27", "\u2e29"
_MARK = re.compile(f"{_MARK_OPEN}(\\d+){_NUMBER_END}|{_MARK_CLOSE}")
_MARK_SIGNS = re.compile(f"[{_MARK_OPEN}{_NUMBER_END}{_MARK_CLOSE}]")


class TextMark(NamedTuple):
    """A part of a text and the markup around each piece of it."""

    start: int
    end: int
    opening: str
    closing: str


def markdown_html(text: str, marks: Sequence[TextMark] = (), *, heading: int = 3) -> str:
    """Return the text as markup; headings begin at this level. Marks must not overlap."""
    cut = len(text) - _LONGEST_TEXT
    parsed = _parser.parse(_with_marks(_MARK_SIGNS.sub(" ", text)[:_LONGEST_TEXT], marks))
    more = f'<p class="soft">{escape(say("{:,} more characters", cut))}</p>' if cut > 0 else ""
    return "".join(_Writer(marks, heading).blocks(parsed)) + more


def _with_marks(text: str, marks: Sequence[TextMark]) -> str:
    """Return the text with signs around each mark, which the parser leaves in place."""
    parts, end = [], 0
    for number, mark in enumerate(marks):
        marked = text[mark.start : mark.end]
        parts += [text[end : mark.start], f"{_MARK_OPEN}{number}{_NUMBER_END}", marked, _MARK_CLOSE]
        end = mark.end
    return "".join([*parts, text[end:]])


class _Writer:
    """Writes tokens as markup, and remembers the mark that is open."""

    def __init__(self, marks: Sequence[TextMark], heading: int) -> None:
        self._marks, self._heading = marks, heading
        self._open: TextMark | None = None

    def blocks(self, tokens: Sequence[Token]) -> Iterator[str]:
        """Yield the markup of the tokens."""
        for token in tokens:
            kind = token.type.removesuffix("_open").removesuffix("_close")
            closes = "/" if token.nesting < 0 else ""
            if token.type == "inline":
                yield from self._inline(token.children or ())
            elif kind in _ELEMENTS:
                if not token.hidden:  # a paragraph in a tight list
                    yield f"<{closes}{_ELEMENTS[kind]}>"
            elif kind == "heading":
                yield f"<{closes}h{min(6, self._heading + int(token.tag[1]) - 1)}>"
            elif kind in ("fence", "code_block"):
                code = _MARK.sub("", token.content)
                yield f"<pre><code>{highlighted(printable(code), token.info.split(' ')[0])}</code></pre>"
            elif kind == "hr":
                yield "<hr>"
            elif token.content:
                yield self._text(token.content)

    def _inline(self, tokens: Sequence[Token]) -> Iterator[str]:
        """Yield the markup of a line: text, code, emphasis, and links to the web."""
        links: list[bool] = []
        for token in tokens:
            kind = token.type.removesuffix("_open").removesuffix("_close")
            match token.type:
                case "text":
                    yield self._text(token.content)
                case "code_inline":
                    yield self._text(token.content, lambda code: f"<code>{code}</code>")
                case "softbreak" | "hardbreak":
                    yield "<br>" if token.type == "hardbreak" else "\n"
                case "link_open":
                    address = _MARK.sub("", str(token.attrs.get("href", "")))
                    links.append(is_web_address(address) and self._open is None)  # no link inside a mark
                    if links[-1]:
                        yield f'<a href="{escape(address)}" rel="noopener noreferrer nofollow" target="_blank">'
                case "link_close":
                    if links.pop():
                        yield "</a>"
                case "image":
                    yield f'<span class="soft">[{self._text(token.content)}]</span>'
                case _ if kind in _ELEMENTS:
                    yield f"<{'/' if token.nesting < 0 else ''}{_ELEMENTS[kind]}>"
                case _:
                    yield self._text(token.content)

    def _text(self, text: str, within: Callable[[str], str] = str) -> str:
        """Return a text with its marks; each piece of a mark is wrapped alone."""
        pieces, end = [], 0
        for mark in [*_MARK.finditer(text), None]:
            piece = escape(printable(text[end : mark.start() if mark else len(text)]))
            if piece:
                open_mark = self._open
                pieces.append(f"{open_mark.opening}{within(piece)}{open_mark.closing}" if open_mark else within(piece))
            if mark is None:
                break
            self._open = self._marks[int(mark[1])] if mark[1] else None
            end = mark.end()
        return "".join(pieces)


def is_web_address(address: str) -> bool:
    """Report whether an address leads to the web: nothing else is linked."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


_LONGEST_CODE = 60_000  # characters in colours; the rest is plain
_HASH, _SLASH, _DASH = r"#[^\n]*", r"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/", r"--[^\n]*"
_FAMILIES = {
    "python": (_HASH, "False None True and as assert async await break case class continue def del elif else except "
               "finally for from global if import in is lambda match nonlocal not or pass raise return try while with "
               "yield self"),
    "script": (_SLASH, "abstract any as async await boolean break case catch class const continue default delete do "
               "else enum export extends false finally for from function get if implements import in instanceof "
               "interface let new null number of private protected public readonly return set static string super "
               "switch this throw true try type typeof undefined var void while yield"),
    "rust": (_SLASH, "as async await break const continue crate dyn else enum extern false fn for if impl in let loop "
             "match mod move mut pub ref return self static struct super trait true type unsafe use where while"),
    "go": (_SLASH, "break case chan const continue default defer else fallthrough false for func go if import "
           "interface map nil package range return select struct switch true type var"),
    "c": (_SLASH, "auto bool break case catch char class const continue default delete do double else enum extern "
          "false final float for if import int long namespace new null nullptr package private protected public return "
          "short signed sizeof static struct super switch template this throw true try typedef union unsigned using "
          "virtual void volatile while"),
    "shell": (_HASH, "case do done elif else esac export fi for function if in local return select then until while"),
    "sql": (_DASH, "add all alter and as asc begin between by case column commit constraint create default delete desc "
            "distinct drop else end exists foreign from group having in index inner insert into is join key left like "
            "limit not null on or order outer primary references right select set table then transaction union unique "
            "update values view when where with"),
    "data": (_HASH, "false no null on off true yes"),
}  # fmt: skip
_NAMES_OF_FAMILY = {
    "python": "py pyi python", "script": "js jsx mjs cjs ts tsx javascript typescript java kt swift", "rust": "rs rust",
    "go": "go", "c": "c h cc cpp hpp cs m", "shell": "sh bash zsh console shell mk makefile dockerfile",
    "sql": "sql", "data": "json jsonl yaml yml toml ini cfg conf",
}  # fmt: skip
_FAMILY_OF_NAME = {name: family for family, names in _NAMES_OF_FAMILY.items() for name in names.split()}
_STRING = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`(?:[^`\\\n]|\\.)*`'


def family_of(name: str) -> str:
    """Return the family of a language's name or of a path; "" if none is known."""
    path = PurePosixPath(name.lower())
    names = (name.lower(), path.suffix[1:], path.name)
    return next((_FAMILY_OF_NAME[name] for name in names if name in _FAMILY_OF_NAME), "")


def highlighted(code: str, language: str) -> str:
    """Return code as markup: escaped, with spans of the classes c (comment), s (string), n (number), k (keyword)."""
    family = family_of(language)
    if not family:
        return escape(code)
    return "".join(_coloured(code[:_LONGEST_CODE], family)) + escape(code[_LONGEST_CODE:])


def _coloured(code: str, family: str) -> Iterator[str]:
    """Yield code as markup, each token in a span with the class of its kind."""
    end = 0
    for token in _pattern(family).finditer(code):
        yield escape(code[end : token.start()])
        yield f'<span class="{token.lastgroup}">{escape(token[0])}</span>'
        end = token.end()
    yield escape(code[end:])


@cache
def _pattern(family: str) -> re.Pattern[str]:
    """Return the pattern of the tokens of a family of languages; its groups are the classes of `highlighted`."""
    comment, words = _FAMILIES[family]
    names = "|".join(sorted(words.split(), key=len, reverse=True))
    number, keyword = r"(?<![\w.])\d[\w.]*", rf"(?<![\w.$-])(?:{names})(?![\w-])"
    flags = re.IGNORECASE if family == "sql" else re.NOFLAG
    return re.compile(rf"(?P<c>{comment})|(?P<s>{_STRING})|(?P<n>{number})|(?P<k>{keyword})", flags)
