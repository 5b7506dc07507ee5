"""Pieces of a Markdown file that are short enough to inject: a section, or bullets and paragraphs of a long one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

WHOLE_SECTION = 600  # characters: up to here a section is one item, about 150 tokens
LONGEST = 3_000
_SHORT_BULLET = 25  # characters: a list of shorter bullets only makes sense together
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")
_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"(?:[-*+]|\d{1,3}[.)])\s+")
_NUMBERED = re.compile(r"\d{1,3}[.)]\s+", re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---\r?\n(.*?)\r?\n(?:---|\.\.\.)\r?\n", re.DOTALL)
_FIELD = re.compile(r"\s{0,4}([A-Za-z_-]{1,40}):\s*(.*?)\s*$", re.MULTILINE)
_CODE_SPAN = re.compile(r"(?<!`)(`{1,5})(?!`)[^`\n][^\n]{0,1000}?(?<!`)\1(?!`)")
_INCLUDE = re.compile(r"@[\w./~-]+")


class Piece(NamedTuple):
    """The text of one item, and the headings above it."""

    heading: str  # "Setup > Ports"
    content: str
    is_procedure: bool


class SplitDocument(NamedTuple):
    """A Markdown file: the fields of its front matter, and its pieces."""

    fields: dict[str, str]
    pieces: list[Piece]


class _Section(NamedTuple):
    heading: str
    lines: list[str]


def split(text: str) -> SplitDocument:
    """Split a Markdown text into pieces, in order."""
    text = text.replace("\r\n", "\n").removeprefix("\ufeff")
    fields: dict[str, str] = {}
    if front := _FRONT_MATTER.match(text):
        fields = {name.lower(): value.strip("\"'") for name, value in _FIELD.findall(front[1])}
        text = text[front.end() :]
    return SplitDocument(fields, [piece for section in _sections(text) for piece in _pieces(section)])


def without_code(text: str) -> str:
    """Remove code blocks, code spans and comments."""
    lines = (line for line, is_code in _with_code_marked(text.replace("\r\n", "\n")) if not is_code)
    return _without_comments(_CODE_SPAN.sub("", "\n".join(lines)))


def section(text: str, heading: str) -> str:
    """Return the text under a heading (its last part is enough), or an empty string."""
    for one in _sections(text.replace("\r\n", "\n")):
        if heading in (one.heading, one.heading.rpartition(" > ")[2]):
            return "\n".join(one.lines).strip()
    return ""


def _sections(text: str) -> Iterator[_Section]:
    trail: list[tuple[int, str]] = []
    lines: list[str] = []
    for line, is_code in _with_code_marked(text):
        found = None if is_code else _HEADING.match(line)
        if found is None:
            lines.append(line)
            continue
        yield _Section(" > ".join(name for _, name in trail), lines)
        level = len(found[1])
        trail = [*((depth, name) for depth, name in trail if depth < level), (level, found[2])]
        lines = []
    yield _Section(" > ".join(name for _, name in trail), lines)


def _pieces(one: _Section) -> Iterator[Piece]:
    body = _body(one.lines)
    if not body:
        return
    title = one.heading.rpartition(" > ")[2]
    blocks = _blocks(body)
    bullets = [block for block in blocks if _BULLET.match(block)]
    is_list = len(bullets) >= 2 and len(bullets) == len(blocks) and not _NUMBERED.match(body)
    if is_list and all(len(block) >= _SHORT_BULLET for block in blocks):
        for block in blocks:
            yield from _piece(one.heading, title, _BULLET.sub("", block, count=1))
    elif len(body) <= WHOLE_SECTION:
        yield from _piece(one.heading, title, body)
    else:
        for block in _packed(blocks):
            yield from _piece(one.heading, title, block)


def _body(lines: Iterable[str]) -> str:
    """Join lines without comments and includes, which have no content themselves."""
    kept = [line for line in lines if not _INCLUDE.fullmatch(line.strip())]
    return _without_comments("\n".join(kept)).strip()


def _without_comments(text: str) -> str:
    """Remove whole comments; an unclosed comment is text."""
    kept, done = [], 0
    while (start := text.find("<!--", done)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[done:start])
        done = end + 3
    return "".join([*kept, text[done:]])


def _blocks(body: str) -> list[str]:
    """Split into paragraphs and top-level bullets with their indented lines; code stays with the block before it."""
    blocks: list[list[str]] = [[]]
    was_blank = False
    for line, is_code in _with_code_marked(body):
        starts = not is_code and (_BULLET.match(line) or (was_blank and line.strip() and not line[0].isspace()))
        if starts:
            blocks.append([])
        blocks[-1].append(line)
        was_blank = not line.strip()
    return [text for block in blocks if (text := "\n".join(block).strip())]


def _with_code_marked(text: str) -> Iterator[tuple[str, bool]]:
    """Yield each line, and whether it belongs to a code block."""
    fence = ""
    for line in text.split("\n"):
        was_inside = bool(fence)
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        yield line, was_inside or bool(fence)


def _packed(blocks: list[str]) -> Iterator[str]:
    """Yield neighbouring blocks together, up to the size of a section; a block that is far too long is cut at lines."""
    packed = ""
    for part in (part for block in blocks for part in _cut(block)):
        if packed and len(packed) + len(part) > WHOLE_SECTION:
            yield packed
            packed = ""
        packed = f"{packed}\n\n{part}" if packed else part
    if packed:
        yield packed


def _cut(block: str) -> Iterator[str]:
    while len(block) > LONGEST:
        at = max(block.rfind("\n", 0, LONGEST), block.rfind(". ", 0, LONGEST) + 1)
        at = at if at > 0 else LONGEST
        yield block[:at].strip()
        block = block[at:].strip()
    if block:
        yield block


def _piece(heading: str, title: str, text: str) -> Iterator[Piece]:
    """Yield the text with its title in front, so that the piece is understood by itself."""
    if any(map(str.isalnum, text)):
        is_procedure = "```" in text or bool(_NUMBERED.match(text))
        separator = "\n\n" if "\n" in text else ": "
        yield Piece(heading, f"{title}{separator}{text}" if title else text, is_procedure)
