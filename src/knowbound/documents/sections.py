"""Documents as sections: headings and what is said under them, with line numbers.

In a folder of knowledge, headings and sections are the symbols (specification 3 read for documents). Markdown is taken
as people write it, and never refused: broken front matter, unclosed fences, a table without a head are text. A block is
the smallest thing that says something: a paragraph, an item of a list, a row of a table, a piece of code.
"""

from __future__ import annotations

import re
from enum import StrEnum

import msgspec

_LONGEST_LINE = 4000  # characters; what follows in one line is data, not prose
_MOST_LINES = 50_000
_FENCE = re.compile(r"^ {0,8}(?:>\s*)?(`{3,}|~{3,})")
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$")
_SETEXT = re.compile(r"^ {0,3}(=+|-+)\s*$")
_ITEM = re.compile(r"^\s*(?:>\s*)?(?:[-*+•]|\d{1,4}[.)、]|[a-zA-Z][.)])\s+(?:\[[ xX]\]\s+)?(?=\S)")
_RULE_ROW = re.compile(r"^\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$")
_BREAK = re.compile(r"^ {0,3}(?:(?:\*\s*){3,}|(?:-\s*){3,}|(?:_\s*){3,})$")
_BOLD_LINE = re.compile(r"^\s*(?:\*\*|__)(.{2,120}?)(?:\*\*|__)\s*[::]?\s*$")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,300}>")
_IMAGE = re.compile(r"!\[([^\[\]]{0,300})\]\([^()\s]{0,1000}[^()]{0,200}\)")
_LINK = re.compile(r"\[([^\[\]]{1,300})\](?:\([^()]{0,1000}\)|\[[^\[\]]{0,200}\])")
_REFERENCE = re.compile(r"^ {0,3}\[[^\[\]]{1,200}\]:\s*\S+.*$")
_FRONT = re.compile(r"^\s*([A-Za-z][\w -]{0,60}?)\s*:\s*(.*)$")
_TOML_TABLE = re.compile(r"^\s*\[{1,2}\s*([^\[\]]{1,200}?)\s*\]{1,2}\s*(?:#.*)?$")
_CODE_SPAN = re.compile(r"(``[^\n]{1,1000}?``|`[^`\n]{1,1000}`)")
_EMPHASIS = re.compile(r"(?<!\w)[*_]{1,3}(?=\S)|(?<=\S)[*_]{1,3}(?!\w)")


class BlockKind(StrEnum):
    """What a block is; code and pointers prove less than prose."""

    PROSE = "prose"
    ITEM = "item"
    ROW = "row"
    CODE = "code"


class DocumentBlock(msgspec.Struct, frozen=True):
    """The smallest part of a section that says something."""

    kind: BlockKind
    line: int
    end_line: int
    text: str  # as read: without the marks of Markdown, links as their text
    lead: str = ""  # the line that introduces it: of a list, the head of a table, a question in bold
    links: int = 0  # how many characters of the text are the text of links


class DocumentSection(msgspec.Struct, frozen=True):
    """A heading and what is said under it, before the next one."""

    path: str
    headings: tuple[str, ...]  # from the document's title down to its own
    line: int
    end_line: int
    blocks: tuple[DocumentBlock, ...]

    @property
    def heading(self) -> str:
        """The path of headings, as people read it."""
        return " › ".join(self.headings)


def sections_of(path: str, text: str) -> list[DocumentSection]:
    """The sections of a document, in order; a document without headings is one section."""
    lines = [line[:_LONGEST_LINE] for line in text.removeprefix("\ufeff").split("\n")[:_MOST_LINES]]
    lines = [line.rstrip("\r") for line in lines]
    if path.lower().endswith(".toml"):
        return _toml(path, lines)
    return _markdown(path, _without_comments(lines))


def _without_comments(lines: list[str]) -> list[str]:
    """HTML comments are not read by people: blank, the lines kept."""
    text = "\n".join(lines)
    if "<!--" not in text:
        return lines
    return _COMMENT.sub(lambda match: "\n" * match.group().count("\n"), text).split("\n")


class _Builder:
    """Collects the blocks of the open section, and closes it at the next heading."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.found: list[DocumentSection] = []
        self.levels: list[tuple[int, str]] = []
        self.line = 1
        self.blocks: list[DocumentBlock] = []

    def open(self, level: int, heading: str, line: int) -> None:
        self.close(line - 1)
        while self.levels and self.levels[-1][0] >= level:
            self.levels.pop()
        self.levels.append((level, heading))
        self.line = line

    def close(self, end: int) -> None:
        if self.blocks or self.levels:
            headings = tuple(heading for _, heading in self.levels)
            last = self.blocks[-1].end_line if self.blocks else self.line
            self.found.append(DocumentSection(self.path, headings, self.line, last, tuple(self.blocks)))
        self.blocks = []
        self.line = end + 1

    def add(self, kind: BlockKind, line: int, end: int, raw: str, lead: str = "") -> None:
        text, links = plain(raw) if kind is not BlockKind.CODE else (raw, 0)
        if text.strip():
            self.blocks.append(DocumentBlock(kind, line, end, text, lead, links))


def _markdown(path: str, lines: list[str]) -> list[DocumentSection]:
    builder = _Builder(path)
    at = _front_matter(lines, builder)
    lead = ""
    while at < len(lines):
        line = lines[at]
        fence = _FENCE.match(line)
        heading = _HEADING.match(line)
        if fence:
            end = _fence_end(lines, at, fence.group(1))
            builder.add(BlockKind.CODE, at + 1, min(end + 1, len(lines)), "\n".join(lines[at + 1 : end]), lead)
            at = end + 1
        elif heading:
            builder.open(len(heading.group(1)), plain(heading.group(2) or "")[0].strip(), at + 1)
            lead, at = "", at + 1
        elif not line.strip() or _REFERENCE.match(line):
            at += 1
        elif _is_setext(lines, at):
            builder.open(1 if lines[at + 1].lstrip()[0] == "=" else 2, plain(line)[0].strip(), at + 1)
            lead, at = "", at + 2
        elif _BREAK.match(line):
            lead, at = "", at + 1
        elif _is_table(lines, at):
            at = _table(lines, at, builder, lead)
        elif _ITEM.match(line):
            at = _item(lines, at, builder, lead)
        elif line.startswith(("    ", "\t")) and not (builder.blocks and builder.blocks[-1].kind is BlockKind.ITEM):
            end = _while_indented(lines, at)
            builder.add(BlockKind.CODE, at + 1, end, "\n".join(lines[at:end]), lead)
            at = end
        else:
            end = _paragraph_end(lines, at)
            text = " ".join(part.strip().lstrip(">").strip() for part in lines[at:end])
            if _is_lead(text):
                lead = plain(text)[0]
                if not _BOLD_LINE.match(text):
                    builder.add(BlockKind.PROSE, at + 1, end, text)
            else:
                builder.add(BlockKind.PROSE, at + 1, end, text, lead if _asks(lead) else "")
                lead = lead if _asks(lead) else ""
            at = end
    builder.close(len(lines))
    return builder.found


def _front_matter(lines: list[str], builder: _Builder) -> int:
    """`---` … `---` at the top: its title is the document's, what it describes is said."""
    if not lines or lines[0].strip() != "---":
        return 0
    end = next((at for at in range(1, min(len(lines), 200)) if lines[at].strip() in ("---", "...")), None)
    if end is None or not any(_FRONT.match(line) for line in lines[1:end]):
        return 0
    values: dict[str, tuple[int, str]] = {}
    for at in range(1, end):
        pair = _FRONT.match(lines[at])
        if pair:
            values.setdefault(pair.group(1).strip().lower(), (at, pair.group(2).strip().strip("\"'|>").strip()))
    title = next((values[key] for key in ("title", "name") if values.get(key, (0, ""))[1]), None)
    if title is not None:
        builder.open(0, title[1], 1)
    for key in ("description", "summary", "when_to_use"):
        if values.get(key, (0, ""))[1]:
            at, said = values[key]
            builder.add(BlockKind.PROSE, at + 1, at + 1, said)
    return end + 1


def _toml(path: str, lines: list[str]) -> list[DocumentSection]:
    """Tables are the headings of a TOML file; each line with a value says something."""
    builder = _Builder(path)
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
    builder.close(len(lines))
    return builder.found


def _fence_end(lines: list[str], at: int, fence: str) -> int:
    """The line that closes a fence, or the end of the document."""
    for end in range(at + 1, len(lines)):
        closing = _FENCE.match(lines[end])
        if closing and closing.group(1)[0] == fence[0] and len(closing.group(1)) >= len(fence):
            return end
    return len(lines)


def _is_setext(lines: list[str], at: int) -> bool:
    if at + 1 >= len(lines) or _ITEM.match(lines[at]) or "|" in lines[at]:
        return False
    under = _SETEXT.match(lines[at + 1])
    return under is not None and (len(under.group(1)) > 1 or under.group(1) == "=")


def _is_table(lines: list[str], at: int) -> bool:
    return "|" in lines[at] and at + 1 < len(lines) and "|" in lines[at + 1] and bool(_RULE_ROW.match(lines[at + 1]))


def _table(lines: list[str], at: int, builder: _Builder, lead: str) -> int:
    """Each row is a block; the head says what its cells are."""
    head = [plain(cell)[0].strip() for cell in _cells(lines[at])]
    at += 2
    while at < len(lines) and "|" in lines[at] and lines[at].strip():
        cells = _cells(lines[at])
        builder.add(BlockKind.ROW, at + 1, at + 1, " | ".join(cells), f"{lead} {' | '.join(head)}".strip())
        at += 1
    return at


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]


def _item(lines: list[str], at: int, builder: _Builder, lead: str) -> int:
    """An item with the lines that continue it; what is indented under an item has it as its lead."""
    mark = _ITEM.match(lines[at])
    assert mark is not None
    indent = len(lines[at]) - len(lines[at].lstrip())
    end = at + 1
    while end < len(lines) and lines[end].strip() and not _starts_something(lines, end):
        end += 1
    text = " ".join([lines[at][mark.end() :], *(line.strip() for line in lines[at + 1 : end])])
    above = _item_above(lines, at, indent)
    builder.add(BlockKind.ITEM, at + 1, end, text, f"{lead} {above}".strip())
    return end


def _item_above(lines: list[str], at: int, indent: int) -> str:
    """The item that a nested item stands under."""
    if indent < 2:
        return ""
    for before in range(at - 1, max(-1, at - 40), -1):
        line = lines[before]
        if not line.strip() or _HEADING.match(line):
            return ""
        mark = _ITEM.match(line)
        if mark and len(line) - len(line.lstrip()) < indent:
            return plain(line[mark.end() :])[0]
    return ""


def _starts_something(lines: list[str], at: int) -> bool:
    line = lines[at]
    return bool(_ITEM.match(line) or _HEADING.match(line) or _FENCE.match(line) or _is_table(lines, at))


def _paragraph_end(lines: list[str], at: int) -> int:
    end = at + 1
    while (
        end < len(lines) and lines[end].strip() and not _starts_something(lines, end) and not _BREAK.match(lines[end])
    ):
        end += 1
    return end


def _while_indented(lines: list[str], at: int) -> int:
    end = at + 1
    while end < len(lines) and (lines[end].startswith(("    ", "\t"))):
        end += 1
    return end


def _is_lead(text: str) -> bool:
    """A line that only introduces what follows: it ends with a colon, is all bold, or is a question."""
    return bool(_BOLD_LINE.match(text)) or text.rstrip().endswith((":", ":")) or _asks(plain(text)[0])


def _asks(text: str) -> bool:
    return len(text) < 200 and text.rstrip().endswith(("?", "?"))


def plain(raw: str) -> tuple[str, int]:
    """A text without the marks of Markdown, and how many of its characters are the text of links."""
    if "[" in raw:
        raw = _IMAGE.sub(r"\1", raw)
        linked = 0

        def shown(match: re.Match[str]) -> str:
            nonlocal linked
            linked += len(match.group(1))
            return match.group(1)

        raw = _LINK.sub(shown, raw)
    else:
        linked = 0
    if "`" not in raw:
        return _unmarked(raw).strip(), linked
    parts = _CODE_SPAN.split(raw)  # what stands in code is no markup: `promote <service>`, `a_b_c`
    return "".join(part if at % 2 else _unmarked(part) for at, part in enumerate(parts)).strip(), linked


def _unmarked(text: str) -> str:
    return _EMPHASIS.sub("", _TAG.sub(" ", text) if "<" in text else text)


def file_words(path: str) -> str:
    """What the name of a file says: its folders and its stem, as words."""
    folders, _, name = path.rpartition("/")
    return f"{folders.rpartition('/')[2]} {name.partition('.')[0] or name}"
