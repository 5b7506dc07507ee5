"""YAML with line numbers: data only, bounded, and by the rules of YAML 1.2, where `no` is a word."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from knowbound.evals.samples.positions import DEPTH, NODES, BadTextError, Node, line_finder, sound


def yaml_node(text: str) -> Node:
    """The YAML text as a node."""
    return _Yaml(text).whole()


# The parser takes these for line breaks, as YAML 1.1 did; in YAML 1.2 they are signs like others. It does not see them.
_BREAKS = "\x85\u2028\u2029"
_STAND_INS = "\uf8d0\uf8d1\uf8d2"
_HIDDEN = str.maketrans(_BREAKS, _STAND_INS)
_SHOWN = str.maketrans(_STAND_INS, _BREAKS)


class _Yaml:
    def __init__(self, text: str) -> None:
        self.text = text
        self.line = line_finder(text)
        self.hides = any(sign in text for sign in _BREAKS)
        self.anchors: dict[str, tuple[Node, int]] = {}
        self.count = 0

    def whole(self) -> Node:
        import yaml  # noqa: PLC0415  # heavy, and a JSON file does not need it

        try:
            return self._documents(self._events(yaml))
        except yaml.MarkedYAMLError as error:
            raise self._refusal(error) from None
        except yaml.reader.ReaderError as error:
            raise BadTextError(
                self.line(error.position), "a control character stands in the text (not valid YAML)"
            ) from None

    def _events(self, yaml: Any) -> Iterator[Any]:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        return iter(yaml.parse(self.text.translate(_HIDDEN) if self.hides else self.text, Loader=loader))

    def _documents(self, events: Iterator[Any]) -> Node:
        whole: Node | None = None
        for event in events:
            name = _name(event)
            if name in ("StreamStart", "StreamEnd", "DocumentEnd") or (name == "DocumentStart" and whole is None):
                continue
            if whole is not None:
                raise BadTextError(
                    self._at(event.start_mark), "a second YAML document (---) begins: one file is one document"
                )
            whole = self._node(event, events, 0)
        if whole is None:
            raise BadTextError(1, "the file is empty")
        return whole

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        line, name = self._at(event.start_mark), _name(event)
        before = self.count
        self.count += 1
        if name == "Alias":
            node, size = self.anchors.get(event.anchor, (None, 0))
            if node is None:
                raise BadTextError(line, f"*{event.anchor} stands for nothing, or for itself")
            self.count += size
        elif name == "Scalar":
            node = self._scalar(event, line)
        else:
            if depth >= DEPTH:
                raise BadTextError(line, f"lists and objects are nested more than {DEPTH} deep")
            _only_plain_tags(event, line)
            inside = self._list if name == "SequenceStart" else self._object
            node = inside(line, events, depth)
        if self.count > NODES:
            raise BadTextError(line, f"the file stands for more than {NODES:,} values, most of them by aliases (*name)")
        if name != "Alias" and event.anchor:
            self.anchors[event.anchor] = node, self.count - before
        return node

    def _list(self, line: int, events: Iterator[Any], depth: int) -> Node:
        items: list[Node] = []
        for event in events:
            if _name(event) == "SequenceEnd":
                break
            items.append(self._node(event, events, depth + 1))
        return Node(items, line)

    def _object(self, line: int, events: Iterator[Any], depth: int) -> Node:
        node, merged = Node({}, line), []
        for event in events:
            if _name(event) == "MappingEnd":
                break
            if _name(event) != "Scalar":
                raise BadTextError(self._at(event.start_mark), "a key must be a word")
            key, at = self._shown(event), self._at(event.start_mark)
            value = self._node(next(events), events, depth + 1)
            if key == "<<" and event.implicit[0]:
                merged += _merged(value, at)
            else:
                node.put(sound(key, at), at, value)
        assert isinstance(node.value, dict)
        for key, value, at in merged:
            if key not in node.value:
                node.put(key, at, value)
        return node

    def _scalar(self, event: Any, line: int) -> Node:
        text = sound(self._shown(event), line)
        _only_plain_tags(event, line)
        if not event.implicit[0] or event.tag == "tag:yaml.org,2002:str":
            return Node(text, line)
        return Node(_meaning(text), line, written=text)

    def _shown(self, event: Any) -> str:
        return str(event.value.translate(_SHOWN) if self.hides else event.value)

    def _refusal(self, error: Any) -> BadTextError:
        mark, problem = error.problem_mark or error.context_mark, error.problem or "something is misplaced"
        if mark is not None and self.text[mark.index : mark.index + 1] == "\t":
            problem, context = "a tab stands where YAML wants spaces", ""
        else:
            context = f" {error.context}" if error.context else ""
        if "end of stream" in problem and error.context_mark is not None:
            mark = error.context_mark  # where it begins is more use than where the file ends
        return BadTextError(self._at(mark), f"{problem}{context} (not valid YAML)")

    def _at(self, mark: Any) -> int:
        return self.line(mark.index) if mark is not None else 1


def _name(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")


def _only_plain_tags(event: Any, line: int) -> None:
    if event.tag and event.tag != "!" and not event.tag.startswith("tag:yaml.org,2002:"):
        raise BadTextError(line, f"the tag {event.tag} means nothing here")
    if event.tag and event.tag.startswith("tag:yaml.org,2002:python"):
        raise BadTextError(line, "a samples file holds data, never Python objects")


def _merged(value: Node, at: int) -> list[tuple[str, Node, int]]:
    """The members that `<<` brings: of one object, or of several with the first winning."""
    sources = value.value if isinstance(value.value, list) else [value]
    members = []
    for source in sources:
        if not isinstance(source.value, dict):
            raise BadTextError(at, "<< takes an object, or a list of objects")
        members += [(key, one, source.keys[key]) for key, one in source.value.items()]
    return members


_WORDS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INT = re.compile(r"[-+]?[0-9]+")
_BASED = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")


def _meaning(text: str) -> bool | int | float | str | None:
    """A plain scalar by YAML 1.2's core schema; what it does not name is text, dates too."""
    if text in _WORDS:
        return _WORDS[text]
    if len(text) > 300:  # no number a person writes, and Python refuses to read thousands of digits
        return text
    if _INT.fullmatch(text):
        return int(text)
    if _BASED.fullmatch(text):
        return int(text, 0)
    return float(text) if _FLOAT.fullmatch(text) else text
