"""Items in a text that another tool injected: a JSON document, elements, a table, a numbered or bulleted list.

Memory tools inject lists: each entry with an id, a source and a confidence, as far as the tool writes them down. The
shape of the text decides, never its words. A text with paragraphs between its lists is a document and no list of items.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from knowbound.core.trace import Injection

_MOST_ITEMS = 200  # items of one text
_LONGEST_ID = 200  # characters
_MOST_INTRODUCTION = 6  # lines before the first entry of a list
# Names of fields in the documents, attributes and tables of memory tools, best first.
_CONTENT = ("content", "memory", "text", "fact", "observation", "title", "summary", "narrative", "value")
_ID = ("id", "_id", "memory_id", "uuid", "key")
_SOURCE = ("sourcesystem", "source_system", "source", "origin", "category", "kind", "type")
_CONFIDENCE = ("confidence",)

_STORE = re.compile(r"(?<![\w/])(?:\w+-)?(kms|claude-mem|mem0)(?![\w/])", re.IGNORECASE)
_ELEMENT = re.compile(r"<([A-Za-z][\w.-]{0,60})((?:\s+[\w:.-]+\s*=\s*(?:\"[^\"<]*\"|'[^'<]*'))*)\s*>")
_ATTRIBUTE = re.compile(r"([\w:.-]+)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_TAG_LINE = re.compile(r"</?[A-Za-z][\w.-]{0,60}(?:\s[^<>]*)?>")
_MARKER_LINE = re.compile(r"\[[^\]\n]*\]|[=\-─*_]{3,}|<!--.*-->")
_HEADING = re.compile(r"#{1,6}\s")
_ENTRY = re.compile(r"(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_MARK = re.compile(r"\[([^\[\]\n]{1,200})\](?!\()\s*")
_BARE_SHARE = re.compile(r"\(([01]\.\d+)\)\s+")
_PERCENT = re.compile(r"(\d{1,3}(?:\.\d+)?)\s?%")
_SHARE = re.compile(r"(?:confidence|conf)\s*[:=]?\s*([01](?:\.\d+)?)(?!\d|\s?%)", re.IGNORECASE)
_NAMED_ID = re.compile(r"(?:memory_?id|uuid|id)\s*[:=]\s*([\w:.-]{1,200})", re.IGNORECASE)
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{24}", re.IGNORECASE)
_CLOSING_MARKS = re.compile(r"\s+\(([^()\n]{1,200})\)\s*\Z")
_LINK = re.compile(r"\[([^\[\]\n]{1,300})\]\(([^()\s]{1,200}\.md)\)\s*(?:[-–—:]\s*)?")
# Lines that begin with the number of an observation: "81424 6:02p 🟣 …", "**#177** 4:12 PM 🔵 **…**", "🎯 #S25 …",
# "S25 … (May 8 at 9:12 PM)".
_TIME = r"(?:\d{1,2}:\d\d\s?(?:[ap]m?)?|[\"″])"
_NUMBERED_LINE = re.compile(
    rf"[^\w#|]{{0,20}}(?:#(?P<id>S?\d{{1,12}})\b[\s*]{{0,4}}(?:{_TIME}\s+)?|(?P<bare>\d{{1,12}})[\s*]{{1,4}}{_TIME}\s+"
    r"|(?P<session>S\d{1,12})\s+(?=.*\([A-Z][a-z]{2} \d{1,2}[ ,][^()]*\)\s*\Z))"
    r"(?:[^\w\s(\"'`*]{1,8}\s+)?(?P<content>[\w(\"'`*@./].*)",
    re.IGNORECASE,
)
_BOLD_LINE = re.compile(r"\*\*[^*]+\*\*:?")
# No sentence of an entry: a heading, a statistic, a bold title, a mark.
_APART = (re.compile(r"#{1,6}\s.*"), re.compile(r".{0,11}~.*"), _BOLD_LINE, _TAG_LINE)
_SEPARATOR = re.compile(r"^[ \t]*§[ \t]*$", re.MULTILINE)
_HEADING_LINE = re.compile(r"^(#{1,6})[ \t]+(.+)$", re.MULTILINE)
_DATED = re.compile(r"\(\d{4}-\d\d-\d\d[^()]{0,20}\)\Z")
_COUNT = re.compile(r"\((?:showing )?(\d{1,4})(?: of \d+)?(?:, \w+)?\)\Z")
_TAGS_AT_END = re.compile(r"(?:\s*</[\w.-]+>)+\s*\Z")
_BOLD_ID = re.compile(r"\*\*([\w.-]{1,100})\*\*:\s+")
_AGE = re.compile(r"\((?:\d+\s?(?:m|h|d|w|mo|y)\w* ago|[\d-]{10}[^()]{0,20})\)\s*")
_OWN_ID = re.compile(r"\s*\[(?:mem0|kms|claude-mem|id):([\w.-]{4,200})\]\s*\Z", re.IGNORECASE)
_SIGN = re.compile(r"[^\w\s\[(\"'`*#<{/~.$@-]{1,4}\s+(?=\[)")
_FRONT_MATTER = re.compile(r"\A---\r?\n(.*?)\r?\n---\r?\n", re.DOTALL)
_NAME = re.compile(r"^name:\s*(.+?)\s*$", re.MULTILINE)


class OtherItem(NamedTuple):
    """An item that another tool injected."""

    content: str
    id: str = ""  # in the store of that tool; "" if the text has none
    origin: str = ""  # the source that the text names for it
    confidence: float | None = None


class OtherItems(NamedTuple):
    """The items of one text, and the store that the text around them names."""

    items: tuple[OtherItem, ...]
    store: str = ""  # kms, claude-mem, mem0; "" if the text names none


def other_items(injection: Injection) -> OtherItems:
    """Return the items of an injected text; none of a document, of instructions, and of a bundle of knowbound."""
    source, text = injection.source, injection.content
    if injection.item:  # a bundle of knowbound
        return OtherItems(())
    if source in ("memory", "relevant_memories") and injection.path:
        front = _FRONT_MATTER.match(text)
        name = _NAME.search(front[1]) if front else None
        content = (text[front.end() :] if front else text).strip()
        id_ = name[1].strip("\"'") if name else injection.path.rpartition("/")[2]
        return OtherItems((OtherItem(content, _id(id_)),) if content else ())
    if source.startswith("hook") or injection.path.endswith("/MEMORY.md"):
        return items_of_text(text)
    return OtherItems(())


def items_of_text(text: str) -> OtherItems:
    """Return the items of a text by the first shape that fits."""
    text = text.replace("\r\n", "\n")
    for items_of_shape in (_of_json, _of_elements, _of_numbered_lines, _of_sections, _of_dated_sections, _of_list):
        items = [item for item in items_of_shape(text) if item.content][:_MOST_ITEMS]
        if items:
            item_lines = {line for item in items for line in item.content.split("\n")}
            lines = (line for line in text.split("\n") if not any(part in line for part in item_lines if part))
            around = "\n".join(lines)
            store = _STORE.search(around)
            return OtherItems(tuple(items), store[1].lower() if store else "")
    return OtherItems(())


def _id(value: object) -> str:
    return str(value).strip().removeprefix("#")[:_LONGEST_ID]


def _item_of_fields(fields: Mapping[str, Any], content: str = "") -> OtherItem | None:
    """Return the item of a record; None if no field of it has a text."""
    by_name = {name.lower(): value for name, value in fields.items()}

    def first(names: Iterable[str]) -> Any:  # that has a value
        return next((by_name[name] for name in names if by_name.get(name) not in (None, "")), "")

    content = content or next((by_name[name] for name in _CONTENT if isinstance(by_name.get(name), str)), "")
    if not content.strip():
        return None
    source = first(_SOURCE)
    origin = source if isinstance(source, str) else ""
    return OtherItem(content.strip(), _id(first(_ID)), origin, _confidence_in(first(_CONFIDENCE)))


def _confidence_in(value: Any) -> float | None:
    """Return a confidence from 0 to 1; a percentage in words counts as one."""
    if isinstance(value, str):
        percent = _PERCENT.fullmatch(value.strip())
        try:
            value = float(percent[1]) / 100 if percent else float(value)
        except ValueError:
            return None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1 else None


# JSON


def _of_json(text: str) -> Iterator[OtherItem]:
    """Yield the records of JSON documents in the text, also of one that was cut off."""
    decoder, at = json.JSONDecoder(), text.find("{")
    while at >= 0:
        before = text[text.rfind("\n", 0, at) + 1 : at].strip()
        if before and before[0] not in '{["`(,':  # inside a sentence, or an entry of a list
            at = text.find("{", at + 1)
            continue
        try:
            document, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1  # cut off: records inside it may be whole
        else:
            yield from _records(document)
        at = text.find("{", end)


def _records(document: Any) -> Iterator[OtherItem]:
    """Yield the record that an object is, else those of the lists in it."""
    if isinstance(document, list):
        for part in document:
            yield from _records(part)
    elif isinstance(document, dict):
        item = _item_of_fields(document)
        if item is not None:
            yield item
            return
        for value in document.values():
            if isinstance(value, (list, dict)):
                yield from _records(value)


# Elements


class _Element(NamedTuple):
    tag: str
    fields: dict[str, str]
    content: str
    start: int
    end: int


def _of_elements(text: str) -> Iterator[OtherItem]:
    """Yield elements that have an id, or that are repeated; the outermost, and the list inside a repeated one."""
    elements = list(_elements(text))
    counts: dict[str, int] = {}
    for element in elements:
        counts[element.tag] = counts.get(element.tag, 0) + 1
    end = 0
    for element in elements:
        has_id = any(name in element.fields for name in _ID)
        if element.start < end or not (has_id or counts[element.tag] > 1):
            continue
        end = element.end
        nested_items = () if has_id else items_of_text(element.content).items
        item = _item_of_fields(element.fields, _without_tags(element.content))
        yield from nested_items or ([item] if item else [])


def _elements(text: str) -> Iterator[_Element]:
    """Yield every element that has an end tag, in order; elements inside others, too."""
    for match in _ELEMENT.finditer(text):
        close = text.find(f"</{match[1]}>", match.end())
        if close >= 0:
            fields = {name.lower(): html.unescape(a or b) for name, a, b in _ATTRIBUTE.findall(match[2])}
            end = close + len(match[1]) + 3
            yield _Element(match[1].lower(), fields, text[match.end() : close], match.start(), end)


def _without_tags(content: str) -> str:
    """Return the text of an element without the tags of the elements in it; `List<String>` stays."""
    for tag in {element.tag for element in _elements(content)}:
        content = re.sub(rf"</?{re.escape(tag)}(?:\s[^<>]*)?>", "\n", content, flags=re.IGNORECASE)
    return html.unescape("\n".join(line for line in map(str.strip, content.split("\n")) if line))


# Tables and lines that begin with a number


def _of_numbered_lines(text: str) -> Iterator[OtherItem]:
    """Yield the rows of tables with an id or a content column, and lines that begin with the number of an entry."""
    header: list[str] = []
    last: OtherItem | None = None
    has_detail, was_blank = False, False  # of the last entry: the paragraph below its bold title
    for line in map(str.strip, text.split("\n")):
        if line.startswith("|"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not header:
                header = [cell.lower() for cell in cells]
            elif not all(set(cell) <= set("-: ") for cell in cells) and len(cells) == len(header) and "id" in header:
                row = dict(zip(header, cells, strict=True)) | {"type": ""}  # the type of an entry is no origin
                item = _item_of_fields(row)
                if item is not None:
                    yield from [last] if last else []
                    last, has_detail = item, False
            continue
        header = []
        if numbered := _NUMBERED_LINE.fullmatch(line):
            yield from [last] if last else []
            last = OtherItem(
                numbered["content"].strip("* "), _id(numbered["id"] or numbered["bare"] or numbered["session"])
            )
            has_detail = numbered["content"].startswith("**") and line.endswith("**")
        elif line and last and has_detail and not any(apart.fullmatch(line) for apart in _APART):
            last = last._replace(content=f"{last.content}\n{line}")
            has_detail = not was_blank or last.content.count("\n") == 1
        elif line:
            has_detail = False
        was_blank = not line
    yield from [last] if last else []


# Lists


class _Entry(NamedTuple):
    """The first line of an entry of a list, and the lines that belong to it."""

    indent: int
    number: int  # 0: a bullet
    lines: list[str]


def _of_list(text: str) -> Iterator[OtherItem]:
    """Yield the entries of a text that is a list: no paragraph after its first entry, apart from a closing one."""
    entries, introduction, loose_paragraphs = _entries(text.split("\n"))
    if loose_paragraphs <= 1 and introduction <= _MOST_INTRODUCTION:
        yield from (_item_of_entry("\n".join(entry.lines)) for entry in entries)


def _entries(lines: Sequence[str]) -> tuple[list[_Entry], int, int]:
    """Return the entries of a list, the number of lines before the first, and of later paragraphs that are in none.

    Whatever is between two entries of a numbered list belongs to the first of them, if their numbers follow.
    """
    entries: list[_Entry] = []
    introduction, was_blank = 0, True
    is_open = False  # the next line may belong to the last entry
    loose_lines: list[str] = []  # lines since the last entry that belong to none
    loose_paragraphs = new_paragraphs = 0
    end_with_id = any(_OWN_ID.search(line) for line in lines)
    for line in lines:
        bare = line.strip()
        if not bare:
            was_blank = True
            continue
        last = entries[-1] if entries else None
        mark = _ENTRY.match(bare)
        if mark and end_with_id and last and is_open and not _OWN_ID.search("\n".join(last.lines)):
            mark = None  # entries end with their ids
        if _TAG_LINE.fullmatch(bare) or _MARKER_LINE.fullmatch(bare) or _HEADING.match(bare):
            is_open = False
        elif mark and last and last.number and is_open and not _follows(last, line, mark):
            last.lines.append(bare)
        elif mark and not (is_open and last and _indent(line) > last.indent):
            number = int(mark[0].rstrip(" \t.)")) if mark[0][0].isdigit() else 0
            if last and number and _follows(last, line, mark):
                last.lines.extend(loose_lines)
            else:
                loose_paragraphs += new_paragraphs
            if loose_paragraphs > 1:
                return entries, introduction, loose_paragraphs
            loose_lines, new_paragraphs = [], 0
            entries.append(_Entry(_indent(line), number, [bare[mark.end() :]]))
            is_open = True
        elif last and is_open and (not was_blank or line[0].isspace()) and _indent(line) >= min(last.indent, 1):
            last.lines.append(bare)
        elif last:
            new_paragraphs += was_blank or not loose_lines
            loose_lines.append(bare)
            is_open = False
        else:
            introduction += 1
        was_blank = False
    return entries, introduction, loose_paragraphs + new_paragraphs


def _follows(last: _Entry, line: str, mark: re.Match[str]) -> bool:
    """Report whether a line is the next entry of the numbered list that the last entry is in."""
    return mark[0][0].isdigit() and int(mark[0].rstrip(" \t.)")) == last.number + 1 and _indent(line) == last.indent


# Sections


def _of_sections(text: str) -> Iterator[OtherItem]:
    """Yield the entries of those sections of a document that are lists of items, and sections that are items.

    A heading counts its entries ("Memories (3)"), or every entry below it has a mark: `[decision]`, `(0.95)`, an id.
    Parts between lines of a single § are items, too.
    """
    parts = _SEPARATOR.split(text)
    if len(parts) > 2:  # a single § separates nothing
        yield from (OtherItem(part.strip()) for part in parts)
        return
    sections = _sections(text)
    for number, section in enumerate(sections):
        counted = _COUNT.search(section.title)
        ends = (later for later in range(number + 1, len(sections)) if sections[later].level <= section.level)
        end = next(ends, None)
        below = sections[number + 1 : end]
        if counted and below and len(below) == int(counted[1]):
            yield from (OtherItem(other.body, _id(other.title)) for other in below if other.body)
            continue
        entries, introduction, _ = _entries(section.body.split("\n"))
        items = [_item_of_entry("\n".join(entry.lines)) for entry in entries]
        with_id = [item for item in items if item.id]
        if counted and len(with_id) == int(counted[1]):
            yield from with_id
        elif len(items) > 1 and introduction <= 1 and all(item.origin or item.confidence is not None for item in items):
            yield from items


def _of_dated_sections(text: str) -> Iterator[OtherItem]:
    """Yield sections whose titles end with a date, if there are several."""
    dated = [section for section in _sections(text) if _DATED.search(section.title) and section.body]
    yield from (OtherItem(f"{section.title}\n{section.body}") for section in dated if len(dated) > 1)


class _Section(NamedTuple):
    level: int
    title: str
    body: str


def _sections(text: str) -> list[_Section]:
    """Return the sections below the headings of a text, each without those below it."""
    heads = [*_HEADING_LINE.finditer(text)]
    ends = [*(head.start() for head in heads[1:]), len(text)]
    return [
        _Section(len(head[1]), head[2].strip(), _TAGS_AT_END.sub("", text[head.end() : end]).strip())
        for head, end in zip(heads, ends, strict=False)
    ]


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _item_of_entry(text: str) -> OtherItem:
    """Return an entry of a list, without the marks around its text: [source] [87%] … (id: 4, confidence: 0.9)."""
    if link := _LINK.match(text):
        rest = text[link.end() :]
        return OtherItem(f"{link[1]}: {rest}" if rest else link[1], _id(link[2]))
    item = OtherItem("")  # without its text until the marks are read
    if own := _OWN_ID.search(text):
        item, text = item._replace(id=_id(own[1])), text[: own.start()]
    if bold := _BOLD_ID.match(text):
        return item._replace(content=text[bold.end() :].strip(), id=item.id or _id(bold[1]))
    text = _SIGN.sub("", text, count=1) if _SIGN.match(text) else text
    if (share := _BARE_SHARE.match(text)) is not None:
        item, text = item._replace(confidence=_confidence_in(share[1])), text[share.end() :]
    while mark := _MARK.match(text) or (_AGE.match(text) if item.origin else None):  # an age follows its origin
        if mark.re is _MARK:
            item = _marked(item, mark[1], is_leading=True)
        text = text[mark.end() :]
    if closing := _CLOSING_MARKS.search(text):
        found = _marked(item, closing[1], is_leading=False)
        if found != item:
            item, text = found, text[: closing.start()]
    return item._replace(content=text.strip())


def _marked(item: OtherItem, mark: str, *, is_leading: bool) -> OtherItem:
    """Return the item with the confidence, id or origin in a mark: `87%`, `id: 4, confidence: 0.9`, `notes.md`."""
    percent, share = _PERCENT.fullmatch(mark.strip()), _SHARE.search(mark)
    if percent:
        item = item._replace(confidence=_confidence_in(f"{percent[1]}%"))
    elif share:
        item = item._replace(confidence=_confidence_in(share[1]))
    id_mark = _NAMED_ID.search(mark) or _UUID.fullmatch(mark.strip())
    if id_mark:
        item = item._replace(id=_id(id_mark[1] if id_mark.re is _NAMED_ID else id_mark[0]))
    if is_leading and not (percent or share or id_mark) and not item.origin:
        item = item._replace(origin=mark.strip())
    return item
