"""Markdown and TOML documents as sections: headings and the blocks under them, with line numbers.

In a folder of knowledge, headings and sections are the symbols (specification 3 applied to documents). A block is the
smallest unit of meaning: a paragraph, an item of a list, a row of a table, a piece of code.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec
from markdown_it import MarkdownIt
from markdown_it.token import Token

_LONGEST_LINE = 4000  # characters; the rest of a longer line is data, not prose
_MOST_LINES = 20_000  # the parser takes 4 s for a list of 20,000 lines
_OTHER_BULLET = re.compile(r"^(\s*)(?:•|(\d{1,4})、)\s*")  # written in place of `-` and `1.`
_CHECKBOX = re.compile(r"^\[[ xX]\]\s+")
_BOLD_LINE = re.compile(r"^\s*(?:\*\*|__)(.{2,120}?)(?:\*\*|__)\s*[::]?\s*$")
_COMMENT_OR_TAG = re.compile(r"<!--.*?(?:-->|\Z)|</?[a-zA-Z][^<>]{0,300}>", re.DOTALL)
_FRONT_MATTER_FIELD = re.compile(r"^\s*([A-Za-z][\w -]{0,60}?)\s*:\s*(.*)$")
_TOML_TABLE = re.compile(r"^\s*\[{1,2}\s*([^\[\]]{1,200}?)\s*\]{1,2}\s*(?:#.*)?$")
_parser = MarkdownIt("commonmark").enable("table")


class BlockKind(StrEnum):
    """Kind of a block; code and pointers prove less than prose."""

    PROSE = "prose"
    ITEM = "item"
    ROW = "row"
    CODE = "code"


class DocumentBlock(msgspec.Struct, frozen=True):
    """A paragraph, an item, a row or a piece of code of a section."""

    kind: BlockKind
    line: int
    end_line: int
    text: str  # as read: without the marks of Markdown, links as their text
    lead: str = ""  # the line that introduces the block: before a list, the head of a table, a question in bold


class DocumentSection(msgspec.Struct, frozen=True):
    """A heading and the blocks under it, up to the next heading."""

    path: str
    headings: tuple[str, ...]  # from the document's title down to the section's own
    line: int
    end_line: int
    blocks: tuple[DocumentBlock, ...]

    @property
    def heading(self) -> str:
        """The path of headings, as people read it."""
        return " › ".join(self.headings)


def sections_of(path: str, text: str) -> list[DocumentSection]:
    """Return the sections of a document, in order; a document without headings is one section."""
    lines = [line[:_LONGEST_LINE].rstrip("\r") for line in text.removeprefix("\ufeff").split("\n")[:_MOST_LINES]]
    builder = _Builder(path)
    if path.lower().endswith(".toml"):
        _read_toml(lines, builder)
    else:
        body = _front_matter(lines, builder)
        _read_markdown([""] * body + lines[body:], builder)  # the numbers of the lines stay
    builder.close(len(lines))
    return builder.found


class _Builder:
    """Collects the blocks of the open section, and closes it at the next heading."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[DocumentSection] = []
        self.levels: list[tuple[int, str]] = []  # level and heading of the open section, and of those around it
        self.line = 1  # the first line of the open section
        self.blocks: list[DocumentBlock] = []

    def open(self, level: int, heading: str, line: int) -> None:
        """Close the open section and begin one below the headings of a higher level."""
        self.close(line - 1)
        while self.levels and self.levels[-1][0] >= level:
            self.levels.pop()
        self.levels.append((level, heading))
        self.line = line

    def close(self, end: int) -> None:
        """Keep the open section, unless it has neither blocks nor a heading."""
        if self.blocks or self.levels:
            headings = tuple(heading for _, heading in self.levels)
            last = self.blocks[-1].end_line if self.blocks else self.line
            self.found.append(DocumentSection(self.path, headings, self.line, last, tuple(self.blocks)))
        self.blocks = []
        self.line = end + 1

    def add(self, kind: BlockKind, line: int, end: int, text: str, lead: str = "") -> None:
        if text.strip():
            self.blocks.append(DocumentBlock(kind, line, end, text, lead))


def _read_markdown(lines: list[str], builder: _Builder) -> None:
    """Add the headings and blocks of the parser's tokens; a list item has the item around it in its lead."""
    tokens = _parser.parse("\n".join(_OTHER_BULLET.sub(_usual_bullet, line) for line in lines))
    lead = ""  # the line that introduces the next blocks: it ends with a colon, is all bold, or is a question
    items: list[str] = []  # the open items of lists, outermost first; "" until the text of an item is read
    head: list[str] = []  # cells of the first row of the open table
    row: list[str] = []  # cells of the open row
    row_line = 0
    for at, token in enumerate(tokens):
        first, end = token.map or (0, 0)
        end = min(end, len(lines))
        match token.type, tokens[at - 1].type:
            case "inline", "heading_open":
                builder.open(int(tokens[at - 1].tag[1]), _plain_text(token), first + 1)
                lead = ""
            case "hr", _:
                lead = ""
            case (("fence" | "code_block"), _):
                builder.add(BlockKind.CODE, first + 1, end, token.content.rstrip("\n"), lead)
            case "html_block", _:
                builder.add(BlockKind.PROSE, first + 1, end, " ".join(_COMMENT_OR_TAG.sub(" ", token.content).split()))
            case "list_item_open", _:
                items.append("")
            case "list_item_close", _:
                items.pop()
            case "inline", ("th_open" | "td_open"):
                row.append(_plain_text(token))
            case "table_open", _:
                head = []
            case "tr_open", _:
                row, row_line = [], first + 1
            case "tr_close", _ if head:
                builder.add(BlockKind.ROW, row_line, row_line, " | ".join(row), f"{lead} {' | '.join(head)}".strip())
            case "tr_close", _:
                head = row
            case "inline", "paragraph_open" if items and not items[-1]:  # the first text of an item
                items[-1] = _CHECKBOX.sub("", _plain_text(token))
                builder.add(BlockKind.ITEM, first + 1, end, items[-1], " ".join(filter(None, (lead, *items[-2:-1]))))
            case "inline", "paragraph_open":
                text = _plain_text(token)
                is_bold, is_question = bool(_BOLD_LINE.match(token.content)), _is_question(text)
                if is_bold or is_question or text.endswith((":", ":")):
                    lead = text
                    if not is_bold:
                        builder.add(BlockKind.PROSE, first + 1, end, text)
                else:
                    lead = lead if _is_question(lead) else ""  # a question leads all paragraphs of its answer
                    builder.add(BlockKind.PROSE, first + 1, end, text, lead)


def _front_matter(lines: list[str], builder: _Builder) -> int:
    """Read `---` … `---` at the top: its title is the title of the document, its description a block."""
    if not lines or lines[0].strip() != "---":
        return 0
    end = next((at for at in range(1, min(len(lines), 200)) if lines[at].strip() in ("---", "...")), None)
    if end is None or not any(_FRONT_MATTER_FIELD.match(line) for line in lines[1:end]):
        return 0
    values: dict[str, tuple[int, str]] = {}
    for at in range(1, end):
        pair = _FRONT_MATTER_FIELD.match(lines[at])
        if pair:
            values.setdefault(pair.group(1).strip().lower(), (at, pair.group(2).strip().strip("\"'|>").strip()))
    title = next((values[key] for key in ("title", "name") if values.get(key, (0, ""))[1]), None)
    if title is not None:
        builder.open(0, title[1], 1)
    for key in ("description", "summary", "when_to_use"):
        if values.get(key, (0, ""))[1]:
            at, description = values[key]
            builder.add(BlockKind.PROSE, at + 1, at + 1, description)
    return end + 1


def _read_toml(lines: list[str], builder: _Builder) -> None:
    """Read a TOML file: its tables are headings, and each line with a value is a block."""
    comment = ""
    for at, line in enumerate(lines):
        table = _TOML_TABLE.match(line)
        if table:
            builder.open(1, table.group(1), at + 1)
            comment = ""
        elif line.lstrip().startswith("#"):
            comment = f"{comment} {line.strip('# ')}".strip()
        elif line.strip():
            builder.add(BlockKind.ITEM, at + 1, at + 1, line.strip(), comment)
            comment = ""


def _usual_bullet(mark: re.Match[str]) -> str:
    return f"{mark[1]}{mark[2]}. " if mark[2] else f"{mark[1]}- "


def _is_question(text: str) -> bool:
    return len(text) < 200 and text.rstrip().endswith(("?", "?"))


def _plain_text(token: Token) -> str:
    """Return the text of an inline token without its markup."""
    parts: list[str] = []
    for child in token.children or ():
        match child.type:
            case "text" | "image":
                parts.append(child.content)
            case "code_inline":
                parts.append(f"`{child.content}`")
            case "softbreak" | "hardbreak" | "html_inline":
                parts.append(" ")
    return "".join(parts).strip()


def file_words(path: str) -> str:
    """Return the name of a file as words: its folder and its stem."""
    folders, _, name = path.rpartition("/")
    return f"{folders.rpartition('/')[2]} {name.partition('.')[0] or name}"
