"""Pieces of Markdown files, short enough to inject: their anchors, and their new wordings when a file changes.

A piece is a section, or bullets and paragraphs of a long one. Whether its anchored text has changed is a mark on the
item, not a flag, checked without a model and without running git: git's id of a file's content is a SHA-1 that anyone
can compute. Comparing two texts takes time that grows with the square of their length, and a changed piece may be a new
wording of any old piece of its section. So only the start of a text is compared, and of a long section only the pieces
that share rare words.

A CLAUDE.md includes files by `@path` in its text. A path is relative to the file it is in, absolute, or begins with
`~/`; in code it is text. An included file may include others, up to five hops. An @ that names no file is text: people
are mentioned with @ too.

Claude Code keeps notes on a project in `projects/PROJECT/memory/` of its config folder. `MEMORY.md` is the index, a
line for each topic file; the topic files hold the notes, with name, description and type in their front matter. The
client loads the index into every session, so an item of each of its lines would be a second copy of what the topic file
says: only its other text is imported.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from functools import cache
from pathlib import Path
from typing import NamedTuple

from knowbound.core.item import Anchor, Item, spaced_sha
from knowbound.errors import InputError
from knowbound.files import open_below
from knowbound.store.data_dir import main_work_tree, work_tree

WHOLE_SECTION = 600  # characters: up to here a section is one item, about 150 tokens
LONGEST = 3_000  # characters of a block; a longer one is cut
_LEAST_BULLET = 25  # characters: a list of shorter bullets only makes sense together
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
    for found in _sections(text.replace("\r\n", "\n")):
        if heading in (found.heading, found.heading.rpartition(" > ")[2]):
            return "\n".join(found.lines).strip()
    return ""


def _sections(text: str) -> Iterator[_Section]:
    """Yield the lines below each heading; the first section has none."""
    trail: list[tuple[int, str]] = []  # level and name of the headings above
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


def _pieces(section: _Section) -> Iterator[Piece]:
    """Yield a list bullet by bullet, a short section whole, and a long section in packed blocks."""
    # A comment, or a line that includes a file, has no content itself.
    lines = [line for line in section.lines if not _INCLUDE.fullmatch(line.strip())]
    body = _without_comments("\n".join(lines)).strip()
    if not body:
        return
    title = section.heading.rpartition(" > ")[2]
    blocks = _blocks(body)
    bullets = [block for block in blocks if _BULLET.match(block)]
    is_list = len(bullets) >= 2 and len(bullets) == len(blocks) and not _NUMBERED.match(body)
    if is_list and all(len(block) >= _LEAST_BULLET for block in blocks):
        for block in blocks:
            yield from _titled_piece(section.heading, title, _BULLET.sub("", block, count=1))
    elif len(body) <= WHOLE_SECTION:
        yield from _titled_piece(section.heading, title, body)
    else:
        for block in _packed(blocks):
            yield from _titled_piece(section.heading, title, block)


def _without_comments(text: str) -> str:
    """Remove whole comments; an unclosed comment is text."""
    kept, position = [], 0
    while (start := text.find("<!--", position)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        kept.append(text[position:start])
        position = end + 3
    return "".join([*kept, text[position:]])


def _blocks(body: str) -> list[str]:
    """Split into paragraphs and top-level bullets with their indented lines; code stays with the block before it."""
    blocks: list[list[str]] = [[]]
    was_blank = False
    for line, is_code in _with_code_marked(body):
        is_start = not is_code and (_BULLET.match(line) or (was_blank and line.strip() and not line[0].isspace()))
        if is_start:
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
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]  # a fence as long ends it
        yield line, was_inside or bool(fence)


def _packed(blocks: list[str]) -> Iterator[str]:
    """Yield neighbouring blocks together, up to the size of a section; a block that is far too long is cut at lines."""
    packed = ""
    for part in (part for block in blocks for part in _cut_long(block)):
        if packed and len(packed) + len(part) > WHOLE_SECTION:
            yield packed
            packed = ""
        packed = f"{packed}\n\n{part}" if packed else part
    if packed:
        yield packed


def _cut_long(block: str) -> Iterator[str]:
    """Yield parts of a block, each cut at its last line or sentence within the limit."""
    while len(block) > LONGEST:
        end = max(block.rfind("\n", 0, LONGEST), block.rfind(". ", 0, LONGEST) + 1)
        end = end if end > 0 else LONGEST
        yield block[:end].strip()
        block = block[end:].strip()
    if block:
        yield block


def _titled_piece(heading: str, title: str, text: str) -> Iterator[Piece]:
    """Yield the text with its title in front, so that the piece is understood by itself."""
    if any(map(str.isalnum, text)):  # else a ruler, or dots
        is_procedure = "```" in text or bool(_NUMBERED.match(text))
        separator = "\n\n" if "\n" in text else ": "
        yield Piece(heading, f"{title}{separator}{text}" if title else text, is_procedure)


MARKDOWN = (".md", ".mdc", ".markdown")
_PART_DIGITS = 16  # hexadecimal


def blob_id(content: bytes) -> str:
    """Return the id that git gives to a file with this content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def part_id(text: str) -> str:
    """Return the fingerprint of a part of a file; white space does not count."""
    return spaced_sha(text)[:_PART_DIGITS]


def anchor_to(root: Path, place: str) -> Anchor:
    """Return the anchor of `src/app.py#symbol`, `docs/setup.md#Heading` or a file, as it is now."""
    file, _, name = place.partition("#")
    content = _content(root, file)
    if content is None:
        raise InputError("item-invalid", f"No file {file!r} under {root} to anchor the item to. Nothing was changed.")
    file = (root / file).resolve().relative_to(root.resolve()).as_posix()
    if not name:
        return Anchor(file, blob=blob_id(content))
    part = _named_part(file, content, name)
    if not part:
        raise InputError("item-invalid", f"{file} has no {name!r} to anchor the item to. Nothing was changed.")
    if file.endswith(MARKDOWN):
        return Anchor(file, heading=name, blob=blob_id(content), part=part_id(part))
    return Anchor(file, symbol=name, blob=blob_id(content), part=part_id(part))


class AnchorChecker:
    """A check of anchors that reads each file once."""

    def __init__(self, root: Path) -> None:
        self._read = cache(lambda file: _content(root, file))
        self._blob = cache(lambda file: blob_id(self._read(file) or b""))
        self._parts = cache(lambda file: _parts(file, self._read(file) or b""))

    def is_stale(self, anchor: Anchor) -> bool:
        """Report whether the anchored text has changed since, or is gone."""
        content = self._read(anchor.file)
        if content is None:
            return True
        if not anchor.blob or self._blob(anchor.file) == anchor.blob:
            return False
        if not anchor.part:  # anchored to the whole file
            return True
        named_part = _named_part(anchor.file, content, anchor.symbol or anchor.heading)
        return part_id(named_part) != anchor.part and anchor.part not in self._parts(anchor.file)


def _content(root: Path, file: str) -> bytes | None:
    """Return the bytes of a file below the root; None if it cannot be read."""
    try:
        with open_below(root, file) as opened:
            return opened.read()
    except OSError:
        return None


def _parts(file: str, content: bytes) -> set[str]:
    """Return fingerprints of the lines, and of the pieces that an import would make of the file."""
    text = content.decode("utf-8", "replace")
    pieces = [piece.content for piece in split(text).pieces] if file.endswith(MARKDOWN) else []
    return {part_id(part) for part in (*pieces, *text.splitlines()) if part.strip()}


def _named_part(file: str, content: bytes, name: str) -> str:
    """Return the section of a heading, or the lines that name a symbol."""
    text = content.decode("utf-8", "replace")
    if not name:
        return ""
    if file.endswith(MARKDOWN):
        return section(text, name)
    word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
    return "\n".join(line.strip() for line in text.splitlines() if word.search(line))


MOST_HOPS = 5
INDEX_FILE = "MEMORY.md"
INCLUDING_NAMES = ("claude.md", "claude.local.md")  # files that Claude Code looks for included files in, in lower case
_INCLUDED = re.compile(r"(?:^|(?<=\s))@((?:[^\s\\]|\\ )+)", re.MULTILINE)
_PATH_START = re.compile(r"[A-Za-z0-9._~/-]")
# A line of a memory index that only leads to a topic file.
TOPIC_LINE = re.compile(r"^\s*[-*+]\s*\**\[[^\]\n]*\]\([^)\s]+\.md\)[^\n]*$", re.MULTILINE)
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9]")


def included(text: str, folder: Path) -> Iterator[Path]:
    """Yield the existing files that a text in this folder includes, in order."""
    for found in _INCLUDED.finditer(without_code(text)):
        name = found[1].replace("\\ ", " ").partition("#")[0]
        for spelled in dict.fromkeys((name, name.rstrip(".,;:!?)'\""))):  # or a sentence ends here
            path = folder / Path(spelled).expanduser() if _PATH_START.match(spelled) else None
            if path is not None and _is_file(path):
                yield path
                break


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError, RuntimeError):  # no name that a file can have
        return False


def claude_project(root: Path) -> str:
    """Return the name of the folder that Claude Code keeps the sessions of a project in."""
    return _NOT_IN_A_NAME.sub("-", str(root.resolve()))


def memory_folder(root: Path, environ: Mapping[str, str]) -> Path:
    """Return the memory folder of a project, or raise an error that names the folder that is missing."""
    config = Path(environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    top = work_tree(str(root))
    for project in dict.fromkeys((main_work_tree(top) if top else "", top, str(root.resolve()))):
        folder = config / "projects" / _NOT_IN_A_NAME.sub("-", project) / "memory"
        if project and folder.is_dir():
            return folder
    expected = config / "projects" / _NOT_IN_A_NAME.sub("-", top or str(root.resolve())) / "memory"
    raise InputError(
        "no-such-path", f"Claude Code has no memory of this project: no {expected}. Try: knowbound kms import FOLDER"
    )


def is_memory_file(path: Path) -> bool:
    """Report whether a file is in a memory folder."""
    folders = path.resolve().parts[:-1]
    return any(top == "projects" and below == "memory" for top, below in zip(folders, folders[2:], strict=False))


_REWORDED = 0.5  # share of text that a reworded piece has in common with the old piece under the same heading
_COMPARED = 400  # characters of a text
_MOST_CANDIDATES = 30
_WORD = re.compile(r"\w+")


class Rewordings:
    """The items of one file whose pieces are gone from it."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._by_heading: dict[str, _SectionItems] = {}
        for item in items:
            if item.anchor:
                self._by_heading.setdefault(item.anchor.heading, _SectionItems()).add(item)

    def of(self, heading: str, content: str) -> Item | None:
        """Return the item under this heading that has the most in common with the content, if that is enough."""
        section = self._by_heading.get(heading)
        if section is None:
            return None
        likeness = {
            item.id: SequenceMatcher(None, item.content[:_COMPARED], content[:_COMPARED], autojunk=False).ratio()
            for item in section.candidates(content)
        }
        best = max(likeness, key=lambda id_: likeness[id_], default="")
        return section.items[best] if best and likeness[best] >= _REWORDED else None

    def remove(self, item: Item) -> None:
        """Remove an item whose new wording was found."""
        if item.anchor:
            del self._by_heading[item.anchor.heading].items[item.id]


class _SectionItems:
    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self._items_of_word: dict[str, list[str]] = {}  # word → items, capped one above _MOST_CANDIDATES

    def add(self, item: Item) -> None:
        """Add an item, and its id to the list of each of its words."""
        self.items[item.id] = item
        for word in set(_WORD.findall(item.content)):
            with_word = self._items_of_word.setdefault(word, [])
            if len(with_word) <= _MOST_CANDIDATES:  # one more marks a common word
                with_word.append(item.id)

    def candidates(self, content: str) -> list[Item]:
        """Return the items to compare with a text: all of a short section, else those that share most rare words."""
        if len(self.items) <= _MOST_CANDIDATES:
            return list(self.items.values())
        shared: Counter[str] = Counter()
        for word in set(_WORD.findall(content)):
            with_word = self._items_of_word.get(word, ())
            if len(with_word) <= _MOST_CANDIDATES:  # else too common to tell items apart
                shared.update(with_word)
        return [self.items[id_] for id_, _ in shared.most_common(_MOST_CANDIDATES) if id_ in self.items]
