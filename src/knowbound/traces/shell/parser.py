"""Shell command lines as pipelines of commands, from tree-sitter's Bash grammar; nothing is ever executed.

The grammar has some precedences wrong (`a && b 2>x | c` is for it a pipeline that starts with a list). So only its
commands, groups and operators are used, in the order of the text, and put together here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ast_grep_py import SgNode, SgRoot
from msgspec.structs import replace

from knowbound.traces.shell.tree import Command, CompoundCommand, Expansion, Pipeline, Redirect, Word, script_of, unwrap

LONGEST = 5_000  # characters; a longer line is taken for one unknown command
_DEEPEST = 24  # groups and scripts inside each other; what is deeper is left out

# Nodes whose children are read as if they stood in their parent.
_TRANSPARENT = frozenset(
    "list pipeline redirected_statement negated_command heredoc_redirect do_group else_clause "
    "variable_assignments function_definition ERROR".split()
)
_IGNORED = frozenset("comment heredoc_body heredoc_end variable_name".split())
_ENDS = {"&&": "&&", "||": "||", ";": ";", "&": ";", ";;": ";", ";&": ";", ";;&": ";", "\n": ";"}
_GROUPS = {
    "subshell": "(",
    "compound_statement": "{",
    "if_statement": "if",
    "for_statement": "for",
    "c_style_for_statement": "for",
    "while_statement": "while",
    "case_statement": "case",
}
_REDIRECTS = frozenset({"file_redirect", "herestring_redirect"})
_EXPANSIONS = frozenset(
    "simple_expansion expansion command_substitution process_substitution arithmetic_expansion".split()
)
_QUOTING = re.compile(r"[\\'\"$`(]")  # without one of these a word is what it says
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r'\\(["\\$`\n])')
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "e": "\x1b", "a": "\a", "b": "\b", "0": "\0"}


def parse(text: str, depth: int = 0) -> tuple[Pipeline, ...]:
    """The pipelines of a command line, in order."""
    if len(text) > LONGEST:
        return (Pipeline("", False, (Command((Word(text[:100]),)),)),)
    try:
        root = SgRoot(text, "bash").root()
    except UnicodeEncodeError:  # half of a surrogate pair
        root = SgRoot(text.encode("utf-8", "replace").decode(), "bash").root()
    return _pipelines(root.children(), depth)


# ---- lists of pipelines


class _List:
    """A list of pipelines while it is read."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.done: list[Pipeline] = []
        self.stages: list[Command | CompoundCommand] = []
        self.link = ""
        self.negated = False
        self.ended = False  # an operator follows the last stage

    def add(self, stage: Command | CompoundCommand) -> None:
        if self.stages and not self.ended:
            self.end(";")  # a new line
        self.stages.append(stage)
        self.ended = False

    def extend(self, command: Command) -> None:
        """More words or redirections of the last stage."""
        if not self.stages or self.ended:
            self.add(command)
            return
        last = self.stages[-1]
        last = replace(last, redirects=last.redirects + command.redirects)
        self.stages[-1] = replace(last, words=last.words + command.words) if isinstance(last, Command) else last

    def end(self, link: str) -> None:
        if self.stages:
            stages = tuple(_unwrapped(stage, self.depth) for stage in self.stages)
            self.done.append(Pipeline(self.link, self.negated, stages))
            self.stages, self.negated, self.link = [], False, link
        elif self.done and link != ";":
            self.link = link


def _pipelines(nodes: list[SgNode], depth: int) -> tuple[Pipeline, ...]:
    found = _List(depth)
    waiting = nodes[::-1]  # a stack: lists nest as deep as they are long
    while waiting:
        node = waiting.pop()
        kind = node.kind()
        if kind == "command":
            found.add(_command(node))
        elif kind in _TRANSPARENT:
            waiting += node.children()[::-1]
        elif kind in _ENDS:
            found.end(_ENDS[kind])
        elif kind in ("|", "|&"):
            found.ended = True
        elif kind in _REDIRECTS:
            found.extend(_redirected(node))
        elif kind == "heredoc_start":
            found.extend(Command(redirects=(Redirect("", "<<", node.text()),)))
        elif kind in _GROUPS:
            found.add(_group(node, _GROUPS[kind], depth + 1))
        elif kind == "variable_assignment":
            found.add(Command(assigns=(_word(node),)))
        elif kind in ("declaration_command", "unset_command"):
            found.add(Command(tuple(map(_word, node.children()))))
        elif kind == "test_command":
            found.add(Command(_words_of_test(node)))
        elif kind == "!":
            found.negated = not found.negated
        elif node.is_named() and kind not in _IGNORED:
            found.extend(Command((_word(node),)))
    found.end("")
    return tuple(found.done)


def _unwrapped(stage: Command | CompoundCommand, depth: int) -> Command | CompoundCommand:
    """The command inside its wrappers; `bash -c "…"` becomes the group of its script."""
    if isinstance(stage, CompoundCommand):
        return stage
    command = unwrap(stage)
    script = script_of(command)
    if script is None or depth > _DEEPEST:
        return command
    return CompoundCommand("sh", body=parse(script, depth + 1), redirects=command.redirects, wrappers=command.wrappers)


# ---- groups


def _group(node: SgNode, word: str, depth: int) -> CompoundCommand:
    children = node.children()
    if depth > _DEEPEST or children[0].kind() == "((":
        return CompoundCommand(word)
    if word == "if":
        return _conditional(children, depth)
    if word == "case":
        bodies = [part for child in children if child.kind() == "case_item" for part in _case_body(child)]
        return CompoundCommand(word, body=_pipelines(bodies, depth))
    if word in ("for", "while"):
        head = [child for child in children if child.kind() != "do_group"]
        body = _pipelines([child for child in children if child.kind() == "do_group"], depth)
        if word == "while":
            return CompoundCommand(word, test=_pipelines(head, depth), body=body)
        items = (child for child in head if child.is_named() and child.kind() not in _IGNORED)
        return CompoundCommand(word, body=body, items=tuple(map(_word, items)))
    return CompoundCommand(word, body=_pipelines(children, depth))


def _conditional(children: list[SgNode], depth: int) -> CompoundCommand:
    """The condition, the body, and the rest; an `elif` is an `if` in the rest."""
    kinds = [child.kind() for child in children]
    then = kinds.index("then") if "then" in kinds else len(kinds)
    rest = next((at for at, kind in enumerate(kinds) if kind in ("elif_clause", "else_clause")), len(kinds))
    other: tuple[Pipeline, ...] = ()
    if "elif_clause" in kinds[rest : rest + 1]:
        inner = [*children[rest].children(), *children[rest + 1 :]]
        other = (Pipeline("", False, (_conditional(inner, depth + 1),)),) if depth < _DEEPEST else ()
    elif rest < len(kinds):
        other = _pipelines(children[rest:], depth)
    return CompoundCommand("if", _pipelines(children[:then], depth), _pipelines(children[then:rest], depth), other)


def _case_body(case: SgNode) -> list[SgNode]:
    children = case.children()
    start = next((at for at, child in enumerate(children) if child.kind() == ")"), 0)
    return children[start + 1 :]


# ---- words


def _command(node: SgNode) -> Command:
    words: list[Word] = []
    assigns: list[Word] = []
    redirects: tuple[Redirect, ...] = ()
    text, end = node.text(), 0
    for child in node.children():
        kind, part = child.kind(), child.text()
        start = text.find(part, end)
        if kind in _REDIRECTS:
            more = _redirected(child)
            redirects += more.redirects
            words += more.words
        elif kind == "variable_assignment" and not words:
            assigns.append(_word(child))
        elif start == end and words:  # the grammar splits `a"b"$c/d` in two
            words[-1] = _concatenated((words[-1], _word(child)))
        else:
            words.append(_word(child))
        end = start + len(part)
    return Command(tuple(words), redirects, tuple(assigns))


def _redirected(node: SgNode) -> Command:
    """A redirection; words behind its target belong to the command, whatever the grammar says."""
    fd = operator = ""
    words = []
    for child in node.children():
        kind = child.kind()
        if kind == "file_descriptor":
            fd = child.text()
        elif child.is_named():
            words.append(_word(child))
        else:
            operator = kind
    target = words[0].text if words else ""
    return Command(tuple(words[1:]), (Redirect(fd, operator, target),))


def _words_of_test(node: SgNode) -> tuple[Word, ...]:
    """`[ … ]` and `[[ … ]]`, which the grammar takes for expressions."""
    words: list[Word] = []
    waiting = node.children()[:0:-1]
    while waiting:
        child = waiting.pop()
        if child.kind().endswith("_expression") and not child.text().startswith("~"):
            waiting += child.children()[::-1]
        else:
            words.append(_word(child))
    return Word("["), *words


def _word(node: SgNode) -> Word:
    """A word without its quotes."""
    text = node.text()
    if not _QUOTING.search(text):
        return Word(text)
    kind = node.kind()
    if kind == "raw_string":
        return Word(text[1:-1])
    if kind == "ansi_c_string":
        return Word(_ESCAPED.sub(lambda found: _ANSI.get(found[1], found[1]), text[2:-1]))
    if kind in ("string", "translated_string"):
        return _quoted(node, text)
    if kind in _EXPANSIONS:
        return _expansion(text)
    if kind in ("concatenation", "variable_assignment", "command_name"):
        return _concatenated(map(_word, node.children()))
    return Word(_ESCAPED.sub(lambda found: found[1].strip("\n"), text))


def _quoted(node: SgNode, text: str) -> Word:
    """The inside of "…", where the grammar leaves out the space around expansions."""
    if not _QUOTING.search(text, 1, len(text) - 1):
        return Word(text[1:-1])
    parts: list[Word] = []
    end = 0
    for child in node.children():
        kind, part = child.kind(), child.text()
        start = max(text.find(part, end), end)
        parts.append(Word(text[end:start]))
        end = start + len(part)
        if kind in _EXPANSIONS:
            parts.append(_expansion(part))
        elif kind == "string_content":
            parts.append(Word(_ESCAPED_IN_QUOTES.sub(lambda found: found[1].strip("\n"), part)))
    return _concatenated(parts)


def _expansion(text: str) -> Word:
    """`$name`, `${name…}`, `$(command)`; the grammar may put the space before it into it."""
    plain = text.lstrip()
    name = command = ""
    if plain.startswith("`"):
        command = plain[1:-1]
    elif plain.startswith(("$(", "<(", ">(")) and not plain.startswith("$(("):
        command = plain[2:-1]
    else:
        name = plain[1:].strip("{}")
    return Word(text, (Expansion(len(text) - len(plain), len(text), name, command),))


def _concatenated(words: Iterable[Word]) -> Word:
    text = ""
    expansions: list[Expansion] = []
    for word in words:
        shift = len(text)
        expansions += [replace(one, start=one.start + shift, end=one.end + shift) for one in word.expansions]
        text += word.text
    return Word(text, tuple(expansions))
