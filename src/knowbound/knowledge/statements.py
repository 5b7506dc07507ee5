"""The statements of a Markdown file: sentences, bullets, rows of tables and of drawn trees, lines of commands.

Text is kept as written, with its code spans and links: these say what is named. Code in other languages than a shell's
is an example and asserts nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby, pairwise

from knowbound.core.statement import Rule, Statement

_FENCE = re.compile(r"^\s*(`{3,}|~{3,})\s*([\w+-]*)")
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(.*?)\s*#*\s*$")
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+")
_ROW = re.compile(r"^\s*\|.*\|\s*$")
_RULE_ROW = re.compile(r"^[\s|:-]+$")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+(?=[\"'`(\[*_A-Z\u4e00-\u9fff])|(?<=[。！？])")
_SHELLS = frozenset({"", "bash", "sh", "shell", "zsh", "console", "terminal", "text", "txt", "plaintext", "fish"})
_BRANCH = re.compile("[├└]")
# A row of a tree that is drawn by indentation: a file or a folder, and maybe a remark after a gap or a sign.
_INDENTED = re.compile(r"^(?P<indent>\s*)(?P<name>[\w@.+-]+(?:/|\.\w{1,10}))(?:\s{2,}\S.*|\s+[#-].*)?$")
_FOLDER = re.compile(r"`([\w@.-]+(?:/[\w@.-]+)*/)`")
_OUTER = re.compile(
    r"^\s*[-*+•]\s+\*{0,2}`([\w@.-]+(?:/[\w@.-]+)*/)`"
)  # a bullet about a folder: those below it are in there
_LEAD_IN = re.compile(r"`([\w@.-]+(?:/[\w@.-]+)*/)`[^`]{0,40}:\s*$")
_LABEL = re.compile(r"^\s*(?:[A-Z][\w-]*|\*\*[^*]{1,40}\*\*):\s")  # a line that begins a thought of its own
_CELL = re.compile(r"^\|\s*`([^`]+)`\s*\|")
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FRONT = re.compile(r"\A---\r?\n.*?\r?\n---\r?\n", re.DOTALL)


def statements_of(file: str, text: str) -> list[Statement]:
    """Return the statements of a file, in order."""
    text = _blanked(_COMMENT, _blanked(_FRONT, text.replace("\r\n", "\n").removeprefix("\ufeff")))
    return [statement for statement in _statements(file, text.split("\n")) if statement.text.strip()]


def _blanked(pattern: re.Pattern[str], text: str) -> str:
    """Return the text without what the pattern matches, with as many lines."""
    return pattern.sub(lambda found: "\n" * found.group().count("\n"), text)


def _statements(file: str, lines: list[str]) -> Iterator[Statement]:
    """Yield the statements line by line; the lines of a paragraph or bullet are collected until another begins.

    `under` is the folder that the text above names for the bullets that follow.
    """
    heading, paragraph, start, under, folder_of_heading = "", list[str](), 0, "", ""
    outer: list[tuple[int, str]] = []  # indent and folder of the bullets that a bullet is indented below
    drawn: list[tuple[int, str]] = []  # indent and name of the folders above a row of a tree in a table
    at = 0
    while at < len(lines):
        line, number = lines[at], at + 1
        fence = _FENCE.match(line)
        is_label = bool(paragraph) and _LABEL.match(line) and not paragraph[-1].rstrip().endswith((",", "(", "-"))
        is_start = (
            is_label or fence or _HEADING.match(line) or _ROW.match(line) or _BULLET.match(line) or not line.strip()
        )
        if is_start and paragraph:
            is_bullet = bool(_BULLET.match(paragraph[0]))
            yield from _prose(
                file, start, paragraph, heading, _folder_above(paragraph[0], outer, under) if is_bullet else ""
            )
            lead_in = _LEAD_IN.search(paragraph[-1])
            # A list keeps the folder that is named above it; a paragraph ends that.
            under = lead_in[1] if lead_in else under if is_bullet else folder_of_heading
            paragraph = []
        if fence:
            end = _end_of(lines, at, fence[1])
            yield from _block(file, at + 1, lines[at + 1 : end], fence[2].lower(), heading)
            at = end
        elif found := _HEADING.match(line):
            folder = _FOLDER.search(found[1])
            folder_of_heading = folder[1] if folder else ""
            heading, under, outer = found[1], folder_of_heading, []
            yield Statement(file, number, number, line.strip(), heading=heading)
        elif _ROW.match(line):
            if not _RULE_ROW.match(line):
                path = _path_of_row(line, drawn)
                yield Statement(file, number, number, line.strip(), path=path, heading=heading)
        elif line.strip():
            start = start if paragraph else number
            paragraph.append(line)
        at += 1
    if paragraph:
        above = _folder_above(paragraph[0], outer, under) if _BULLET.match(paragraph[0]) else ""
        yield from _prose(file, start, paragraph, heading, above)


def _folder_above(bullet: str, outer: list[tuple[int, str]], under: str) -> str:
    """Return the folder that contains the things of a bullet, and add the folder that the bullet names to `outer`."""
    indent = len(bullet) - len(bullet.lstrip())
    while outer and outer[-1][0] >= indent:
        outer.pop()
    inside = outer[-1][1] if outer else under
    if found := _OUTER.match(bullet):
        is_whole = "/" in found[1].rstrip("/")  # written from the root
        outer.append((indent, found[1] if is_whole else f"{inside}{found[1]}"))
    return inside


def _path_of_row(line: str, trail: list[tuple[int, str]]) -> str:
    """Return the path of a row whose first cell draws a branch of a tree below earlier rows; "" for other rows.

    Updates `trail`: the folders above the next row, each with its indent.
    """
    cell = _CELL.match(line)
    name = cell[1] if cell else ""
    branch = _BRANCH.search(name)
    if branch is None:
        trail[:] = [(-1, name)] if name.endswith("/") else []
        return ""
    has_parent = any(indent < branch.start() for indent, _ in trail)
    return _path_below(trail, branch.start(), name[branch.end() :].lstrip("─- ").strip()) if has_parent else ""


def _path_below(trail: list[tuple[int, str]], indent: int, name: str) -> str:
    """Return the path of a tree's row below the folders of `trail`, and add the row to `trail` if it is a folder."""
    while trail and trail[-1][0] >= indent:
        trail.pop()
    path = "".join(part for _, part in trail) + name
    if name.endswith("/"):
        trail.append((indent, name))
    return path


def _end_of(lines: list[str], at: int, fence: str) -> int:
    """Return the index of the line that closes a block: one of at least as many signs, and nothing else."""
    for index in range(at + 1, len(lines)):
        if lines[index].strip().startswith(fence) and not lines[index].strip().strip(fence[0]):
            return index
    return len(lines)


def _prose(file: str, first: int, lines: list[str], heading: str, under: str) -> Iterator[Statement]:
    """Yield the sentences of a bullet or a paragraph, each with the line that it begins in."""
    whole, starts = "", list[int]()  # all lines as one text, and where in it each begins
    for line in lines:
        starts.append(len(whole))
        whole += line.strip() + " "
    at = 0
    for sentence in _SENTENCE_END.split(whole.rstrip()):
        begin = whole.find(sentence, at)
        at = begin + len(sentence)
        first_line = max(number for number, start in enumerate(starts) if start <= begin)
        last_line = max(number for number, start in enumerate(starts) if start < max(at, 1))
        yield Statement(file, first + first_line, first + last_line, sentence, heading=heading, under=under)


def _block(file: str, first: int, lines: list[str], language: str, heading: str) -> Iterator[Statement]:
    """Yield the commands of a block, or the rows of a drawn tree; nothing of other code."""
    if language not in _SHELLS:
        return
    if any(_BRANCH.search(line) for line in lines):
        yield from _drawn(file, first, lines, heading)
        return
    if _is_indented_tree(lines):
        yield from _indented(file, first, lines, heading)
        return
    for number, line in enumerate(lines, first + 1):
        is_comment = line.lstrip().startswith(("#", "//"))
        if line.strip(" \t#/") and not line.lstrip().startswith("#!"):
            text = line.strip().lstrip("#/ ") if is_comment else line.strip()
            yield Statement(file, number, number, text, is_code=not is_comment, heading=heading)


def _is_indented_tree(lines: list[str]) -> bool:
    """Report whether every line is a file or a folder, and one of them is below the folder before it."""
    rows = [_INDENTED.match(line) for line in lines if line.strip()]
    return all(rows) and any(
        row and below and row["name"].endswith("/") and len(below["indent"]) > len(row["indent"])
        for row, below in pairwise(rows)
    )


def _indented(file: str, first: int, lines: list[str], heading: str) -> Iterator[Statement]:
    """Yield the rows of a tree that is drawn by indentation, each with its path."""
    trail: list[tuple[int, str]] = []
    for number, line in enumerate(lines, first + 1):
        if row := _INDENTED.match(line):
            path = _path_below(trail, len(row["indent"]), row["name"])
            yield Statement(file, number, number, line.strip(), path=path, heading=heading)


def _drawn(file: str, first: int, lines: list[str], heading: str) -> Iterator[Statement]:
    """Yield the rows of a tree that is drawn with lines, each with its path."""
    trail: list[tuple[int, str]] = []
    for number, line in enumerate(lines, first + 1):
        branch = _BRANCH.search(line)
        start = branch.start() if branch else -1  # the root of the tree, or of the next one
        rest = line[branch.end() :].lstrip("─- ") if branch else line.strip()
        name = rest.split("#")[0].split(" ")[0].strip()
        if name.strip("│|… ."):
            path = _path_below(trail, start, name)
            yield Statement(file, number, number, line.strip("│ \t"), path=path, heading=heading)


# Statements that may be rules

_LONGEST = 600  # characters of a rule
_ORDERS = re.compile(
    r"\b(?:must|never|always|should|shall|do not|don['’]t|avoid|prefer|ensure|make sure|mandatory|required|forbidden|"
    r"not allowed|prohibited|only use|use only|no exceptions|instead of|rather than|before (?:commit|push|mak|start|"
    r"edit|finish|complet|submitt|open|merg)\w*|必须|不要|禁止|始终|总是|务必|应该|不得)",
    re.IGNORECASE,
)
# Verbs that begin an order; a heading or a description begins with a noun.
_VERBS = re.compile(
    r"(?:add|adhere|apply|ask|assume|begin|break|bump|call|catch|check|choose|clean|clear|close|commit|confirm|consult|"
    r"create|declare|define|delete|describe|do|document|encrypt|escape|explain|export|extract|favou?r|file|find|fix|"
    r"follow|format|generate|group|handle|hand|implement|import|include|inject|inherit|inline|keep|leave|limit|lint|load|"
    r"log|look|match|merge|minimi[sz]e|mock|name|never|note|omit|open|organi[sz]e|parametri[sz]e|place|plan|prefix|"
    r"preserve|provide|prune|pull|push|put|raise|read|rebuild|re-?generate|rely|remember|remove|rename|replace|report|"
    r"resolve|respect|restart|return|reuse|review|run|search|separate|set|ship|skip|sort|split|start|stop|store|test|"
    r"throw|track|treat|try|update|use|validate|verify|wait|work|wrap|write)\b",
    re.IGNORECASE,
)
_HEADED = re.compile(r"\b(?:never|always|do not|don['’]t|must)\b", re.IGNORECASE)
_RULE_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_SIGNS = re.compile(r"[*_`~]{1,3}")
_RULE_LABEL = re.compile(r"^[^\w]*(?:[^:.]{2,60}:\s+)?")  # "**Tests**: run them"
_ADVERB = re.compile(r"^(?:please|also|then|finally|first|next)\s+", re.IGNORECASE)
_LATIN = re.compile(r"[A-Za-z]")
_NO = re.compile(r"^No (?!one\b|longer\b|doubt\b)[\w`@]")
_OF_RULES = re.compile(
    r"\b(?:rules?|conventions?|guidelines?|requirements?|mandatory|critical|must|principles?|do|don['’]ts?|avoid|"
    r"best practices|workflow)\b|правил|规则|规范|约定",
    re.IGNORECASE,
)  # headings of sections whose bullets are rules
_FEWEST_WORDS = 3


def lines_of(file: str, text: str) -> list[Rule]:
    """Return the statements of a file that may be rules, in order: those of one line together, with its commands."""
    found: list[Rule] = []
    leads = False  # the last line ends with a colon: the lines of code after it belong to it
    for line, group in groupby(statements_of(file, text), key=lambda statement: statement.line):
        statements = list(group)
        if all(statement.is_code for statement in statements):  # code is no rule by itself
            if leads:
                last = found[-1]
                commands = "".join(f" `{statement.text.split(' #')[0].strip()}`" for statement in statements)
                found[-1] = Rule(file, last.line, (last.text + commands)[:_LONGEST], last.heading)
            continue
        statements = [statement for statement in statements if not statement.is_code and not statement.path]
        words = " ".join(statement.text for statement in statements)
        if statements:
            found.append(Rule(file, line, words[:_LONGEST], statements[0].heading))
        leads = bool(statements) and words.rstrip("*_ ").endswith(":")
    return found


def is_rule(line: Rule) -> bool:
    """Report whether a line orders or forbids something, by its words; a bullet does in a section of rules."""
    text, heading = line.text, line.heading
    plain = _SIGNS.sub("", _RULE_BULLET.sub("", text)).strip()
    if plain.startswith("|") or plain.endswith("?"):
        return False
    if plain.startswith("#"):
        return bool(_HEADED.search(plain))  # a heading names a subject unless it says never, always or must
    is_listed = bool(_RULE_BULLET.match(text)) and bool(_OF_RULES.search(heading))
    if len(plain.split()) < _FEWEST_WORDS and not is_listed:
        return False
    beginnings = (plain, _RULE_LABEL.sub("", plain), *(part.lstrip() for part in plain.split(",")[1:]))
    is_order = any(_VERBS.match(_ADVERB.sub("", start)) or _NO.match(start) for start in beginnings)
    is_foreign = len(_LATIN.findall(plain)) * 2 < sum(map(str.isalpha, plain))  # no words that rules could read
    is_listed = is_listed or (is_foreign and bool(_RULE_BULLET.match(text)))
    return is_listed or is_order or bool(_ORDERS.search(plain))
