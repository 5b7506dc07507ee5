"""Terms that a knowledge base uses and nowhere explains (specification 1, section 9).

A term is a name in code spelling, a flag, a command, or an abbreviation. It is the knowledge base's own when several
of its files use it; it is explained where a heading, an entry of a list, a cell or a defining sentence is about it.
"""

from __future__ import annotations

import builtins
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from knowbound.core.competency import CompetencyQuestion, QuestionKind
from knowbound.documents.sections import Block, BlockKind, Section
from knowbound.evals.questions.base import Document, KnowledgeBase
from knowbound.text.terms import glued, split_words

_SPAN = re.compile(r"(?<!\})`([^`\n]{2,60})`")  # after a brace it is a directive: {doc}`page`
_ABBREVIATION = re.compile(r"(?<![\w`/.-])[A-Z][A-Z0-9]{1,6}s?(?![\w`/.=(-])")
_NAME = re.compile(
    r"^(?:[a-z]+(?:_[a-z0-9]+)+|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+)+"
    r"|[a-z]+(?:[A-Z][a-z0-9]+)+|--[a-z][a-z0-9-]+|[a-z]\w*(?:\.[a-z_]\w*)+(?:\(\))?|[a-z_]\w{2,}\(\)"
    r"|(?:make|just|npm run|task|bin/\w+|scripts?/[\w.-]+) [a-z][\w:-]+|[a-z]+(?:-[a-z0-9]+)+)$"
)
_GLOSSARY = re.compile(r"\b(?:glossary|terminology|definitions|vocabulary|acronyms|abbreviations)\b", re.IGNORECASE)
# Names that everybody's code has: no knowledge base needs to explain them.
_EVERYONES = frozenset(
    "api apis ascii aws bash bsd cd ci cli cpu cpus crud css csv db dns dom env eof faq ftp gcc gcp get git gnu gpu "
    "gui html http https i/o id ide ids io ip ipc iso jpg js json jwt kb lan linux lts mac macos mb md mit ml npm os "
    "ok orm pdf php pid png post pr prs put pwd python qa ram rest rfc rpc rss sdk sha shell sql ssh ssl stdin "
    "stdout stderr svg tcp tls toml tty udp ui uri uris url urls usb utc utf utf-8 uuid vm vms wsl xml yaml yes no "
    "and or not note todo tbd fixme e.g i.e readme license true false null none undefined string number boolean "
    "object array promise buffer function map set date symbol error typeerror rangeerror syntaxerror eventemitter "
    "arraybuffer uint8array readablestream writablestream asynciterator abortsignal abortcontroller formdata "
    "textdecoder stringio bytesio contextvar contextvars regexp mime async await patch delete head options utf8 cors "
    "csrf xss oauth gb tb ms am pm us eu uk vs posix ansi unix msvc llvm vram cuda rocm opencl vulkan ibm amd nvidia "
    "arm intel apt cmake gcc clang nat gpl whatwg ietf w3c gmt faqs cwd ttl ide nfc javascript typescript github "
    "gitlab dockerfile makefile stackoverflow nodejs postgresql mongodb graphql console.log process.env process.exit "
    "module.exports package.json pyproject.toml setup.py requirements.txt node_modules index.js main.py --help "
    "--version sys.argv sys.exit os.environ __init__ __main__ __name__ content-type user-agent content-length "
    "set-cookie eur usd gbp chf cny sftp vat".split()
) | {name.lower() for name in dir(builtins)}
_EVERYONES_OBJECTS = frozenset(
    "process console http https fs path buffer json math object array promise self this".split()
)
_MOST_PER_FILE = 3
_SMALL = 20  # files: in a small knowledge base a term that is used twice is in use


class _Use(NamedTuple):
    document: Document
    line: int


def undefined_terms(base: KnowledgeBase) -> Iterator[CompetencyQuestion]:
    """What is X, for every X that at least two files use and none explains; most used first."""
    uses: dict[str, list[_Use]] = defaultdict(list)
    explained: set[str] = set()
    has_glossary = False
    for document in base.documents:
        for section in document.sections:
            has_glossary = has_glossary or any(_GLOSSARY.search(heading) for heading in section.headings)
            explained.update(_explained_in(section))
            for block in section.blocks:
                if block.kind is not BlockKind.CODE:
                    for term in _terms_in(block.text):
                        uses[term].append(_Use(document, block.line))
    for document in base.documents:
        explained.add(_key(document.path.rpartition("/")[2].partition(".")[0]))
    least = 2 if len(base.documents) <= _SMALL else 3
    asked: dict[str, int] = defaultdict(int)
    for term, found in sorted(uses.items(), key=lambda one: (-len({use.document.path for use in one[1]}), one[0])):
        files = {use.document.path for use in found}
        if len(files) < 2 or len(found) < least or _key(term) in explained:
            continue
        first = found[0]
        asked[first.document.path] += 1
        if asked[first.document.path] <= _MOST_PER_FILE:
            why = f"used in {len(files)} files, explained in none"
            why += " and not in the glossary" if has_glossary else ""
            yield CompetencyQuestion(
                asking_of_term(term), QuestionKind.UNDEFINED_TERM, why, first.document.path, first.line
            )


def asking_of_term(term: str) -> str:
    """The question that asks for the explanation of a term."""
    if term.startswith("--") or term.endswith("()") or " " in term:
        return f"What does `{term}` do?"
    if term.isupper() and "_" not in term:
        return f"What does {term} mean?"
    return f"What is `{term}`?"


def _terms_in(text: str) -> Iterator[str]:
    for span in _SPAN.findall(text):
        if _NAME.match(span) and not _is_everyones(span):
            yield span
    for found in _ABBREVIATION.findall(_SPAN.sub(" ", text)):
        word = found.rstrip("s")
        if word.lower() not in _EVERYONES and len(word) > 2 and not word[-1].isdigit():
            yield word


def _is_everyones(name: str) -> bool:
    """Whether a name belongs to a language or its standard library."""
    low = name.lower().rstrip("()")
    first, dot, _ = low.partition(".")
    return low in _EVERYONES or (bool(dot) and (first in sys.stdlib_module_names or first in _EVERYONES_OBJECTS))


def _explained_in(section: Section) -> Iterator[str]:
    """The keys of what a section explains: its headings, what its entries begin with, what its sentences define."""
    for heading in section.headings:
        yield from _keys_in(heading)
    for block in section.blocks:
        if block.kind is BlockKind.CODE:
            yield from map(
                _key, re.findall(r"(?:def|class|function|const|let|var|type|interface)\s+([\w.]+)", block.text)
            )
        else:
            yield from _defined_in(block)


_ENTRY = re.compile(r"^[*_`\"']*([^:–—=|]{2,60}?)[*_`\"']*\s*(?:\([^)]*\)\s*)?(?::|–|—|=|\s-\s|\|)")
_DEFINES = re.compile(
    r"(?:^|[.;]\s+|\b(?:the|an?|The|An?)\s+)[\"'*_]*(`[^`]{2,60}`|[A-Z][A-Z0-9]{2,6}|[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+)[\"'*_]*"
    r"(?:\s+(?:\w+\s+)?(?:option|flag|setting|function|method|table|command|service|class|parameter|property|variable|"
    r"decorator|argument|hook|event|field|column|file|module|package|attribute|object|key|header|value|type|skill|worker))?"
    r"(?:\s*\([^)]*\))?,?\s+(?:is|are|means|stands for|holds|contains|describes|defines|starts|returns|sends|reads|"
    r"writes|keeps|sets|builds|runs|fills|creates|takes|gives|controls|specifies|allows|enables|determines|can be|will|"
    r"lets|makes|provides|represents|refers)\b"
)
_EXPANDED = re.compile(
    r"\b(?:[A-Z]?[a-z]+[ -]){1,6}[A-Z]?[a-z]+s?\s+\(([A-Z][A-Z0-9]{1,6})s?\)|\b([A-Z][A-Z0-9]{1,6})s?\s+\([A-Za-z]+[ -]"
)


def _defined_in(block: Block) -> Iterator[str]:
    if entry := _ENTRY.match(block.text):
        yield from _keys_in(entry[1])
    for found in _DEFINES.findall(block.text):
        yield _key(found)
    for one, other in _EXPANDED.findall(block.text):
        yield _key(one or other)


def _keys_in(text: str) -> Iterable[str]:
    spans = _SPAN.findall(text)
    return {_key(one) for one in (*spans, *re.findall(r"[\w.-]+", text), text)}


def _key(term: str) -> str:
    """A term in one form, so that `add_route()`, `addRoute` and "add route" are the same."""
    return glued(split_words(term.strip("`*_\"'(). ")))
