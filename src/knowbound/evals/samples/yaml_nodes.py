"""YAML with line numbers: data only, bounded, and by the rules of YAML 1.2, where `no` is a word.

It is read event by event: `yaml.compose` recurses in C and crashes the process on deep nesting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import yaml

from knowbound.evals.samples.nodes import (
    LONGEST_NUMBER,
    MOST_DEPTH,
    SourceNode,
    UnreadableError,
    checked_text,
    line_finder,
    too_deep,
)

MOST_VALUES = 1_000_000  # of a file, each alias counted with all that it repeats
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"

# The parser takes these for line breaks, as YAML 1.1 did; in YAML 1.2 they are ordinary characters. So it never sees
# them: they are replaced before parsing and put back after.
_BREAKS = "\x85\u2028\u2029"
_STAND_INS = "\uf8d0\uf8d1\uf8d2"
_HIDE = str.maketrans(_BREAKS, _STAND_INS)
_SHOW = str.maketrans(_STAND_INS, _BREAKS)


def yaml_node(text: str) -> SourceNode:
    """The YAML text as a node."""
    return _Composer(text).document()


class _Composer:
    """Builds the nodes of a text from the events of the parser."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.line_of = line_finder(text)
        self.hides_breaks = any(sign in text for sign in _BREAKS)
        self.events: Iterator[Any] = yaml.parse(text.translate(_HIDE) if self.hides_breaks else text, Loader=_LOADER)
        self.anchors: dict[str, tuple[SourceNode, int]] = {}  # the node of an anchor, and how many values it has
        self.count = 0  # values so far

    def document(self) -> SourceNode:
        """Return the only document of the text."""
        root = None
        try:
            for event in self.events:
                if isinstance(event, yaml.DocumentStartEvent) and root is not None:
                    line = self._line(event.start_mark)
                    raise UnreadableError(line, "a second YAML document (---) begins: one file is one document")
                if isinstance(event, yaml.NodeEvent):
                    root = self._node(event, 0)
        except yaml.MarkedYAMLError as error:
            raise self._syntax_error(error) from None
        except yaml.reader.ReaderError as error:
            line = self.line_of(error.position)
            raise UnreadableError(line, "there is a control character in the text (not valid YAML)") from None
        if root is None:
            raise UnreadableError(1, "the file is empty")
        return root

    def _node(self, event: Any, depth: int) -> SourceNode:
        """Return the node that begins with an event; an alias is the node of its anchor, counted again."""
        line, count_before = self._line(event.start_mark), self.count
        self.count += 1
        if isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise UnreadableError(line, f"*{event.anchor} refers to nothing, or to itself")
            node, size = self.anchors[event.anchor]
            self.count += size
            if depth + node.depth > MOST_DEPTH:
                raise too_deep(line)
        else:
            _refuse_other_tags(event, line)
            node = self._value(event, line, depth)
        if self.count > MOST_VALUES:
            raise UnreadableError(
                line, f"the file has more than {MOST_VALUES:,} values, most of them by aliases (*name)"
            )
        if event.anchor and not isinstance(event, yaml.AliasEvent):
            self.anchors[event.anchor] = node, self.count - count_before
        return node

    def _value(self, event: Any, line: int, depth: int) -> SourceNode:
        """Return a list, an object or a scalar; a plain scalar is what it means, a quoted one is text."""
        if isinstance(event, yaml.ScalarEvent):
            text = checked_text(self._text(event), line)
            if not event.implicit[0] or event.tag == f"{_TAG}str":  # in quotes, or tagged as text
                return SourceNode(text, line)
            return SourceNode(_scalar_value(text), line, written=text)
        if depth >= MOST_DEPTH:
            raise too_deep(line)
        if not isinstance(event, yaml.SequenceStartEvent):
            return self._object(line, depth)
        node = SourceNode([], line, depth=1)
        for member in self._until(yaml.SequenceEndEvent):
            node.append(self._node(member, depth + 1))
        return node

    def _object(self, line: int, depth: int) -> SourceNode:
        """Return the object that the next events describe, up to its end."""
        node = SourceNode({}, line, depth=1)
        merged: list[tuple[str, int, SourceNode]] = []  # by `<<`: the object's own members win
        for event in self._until(yaml.MappingEndEvent):
            key_line = self._line(event.start_mark)
            if not isinstance(event, yaml.ScalarEvent):
                raise UnreadableError(key_line, "a key must be a word")
            key = checked_text(self._text(event), key_line)
            member = self._node(next(self.events), depth + 1)
            if key == "<<" and event.implicit[0]:  # in quotes it is an ordinary key
                merged += _merged(member, key_line)
            else:
                node.put(key, key_line, member)
        for key, key_line, member in merged:
            if key not in node.members:
                node.put(key, key_line, member)
        return node

    def _until(self, end: type[yaml.Event]) -> Iterator[Any]:
        for event in self.events:
            if isinstance(event, end):
                return
            yield event

    def _text(self, event: Any) -> str:
        return str(event.value.translate(_SHOW) if self.hides_breaks else event.value)

    def _syntax_error(self, error: yaml.MarkedYAMLError) -> UnreadableError:
        """Return the error in our words, with the line that helps most."""
        mark, message = error.problem_mark or error.context_mark, error.problem or "something is misplaced"
        if mark is not None and self.text[mark.index : mark.index + 1] == "\t":
            message = "there is a tab where YAML needs spaces"
        elif error.context:
            message = f"{message} {error.context}"
        if "end of stream" in message and error.context_mark is not None:
            mark = error.context_mark  # where it begins helps more than where the file ends
        return UnreadableError(self._line(mark), f"{message} (not valid YAML)")

    def _line(self, mark: Any) -> int:
        return self.line_of(mark.index) if mark is not None else 1


def _refuse_other_tags(event: Any, line: int) -> None:
    """Raise UnreadableError for a tag that plain YAML does not have."""
    tag = event.tag or "!"
    if tag.startswith(f"{_TAG}python"):
        raise UnreadableError(line, "a samples file contains data, never Python objects")
    if tag != "!" and not tag.startswith(_TAG):
        raise UnreadableError(line, f"the tag {tag} is not known")


def _merged(node: SourceNode, line: int) -> Iterator[tuple[str, int, SourceNode]]:
    """The members that `<<` brings: of one object, or of several where the first wins."""
    for source in node.items() if isinstance(node.value, list) else [node]:
        if not isinstance(source.value, dict):
            raise UnreadableError(line, "<< takes an object, or a list of objects")
        yield from ((key, source.key_lines[key], source.members[key]) for key in source.value)


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def _scalar_value(text: str) -> bool | int | float | str | None:
    """A plain scalar by YAML 1.2's core schema; anything else is text, dates too."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > LONGEST_NUMBER:
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    return float(text) if _FLOAT.fullmatch(text) else text
