"""Code in colours: comments, strings, numbers and keywords of a dozen languages, by one pattern for each family.

Every repetition in the patterns ends at a character that cannot begin it again, so the time is linear in the code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from pathlib import PurePosixPath

_LONGEST_CODE = 60_000  # characters in colours; the rest is plain
_HASH, _SLASH, _DASH = r"#[^\n]*", r"//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/", r"--[^\n]*"
_FAMILIES = {
    "python": (_HASH, "False None True and as assert async await break case class continue def del elif else except "
               "finally for from global if import in is lambda match nonlocal not or pass raise return try while with "
               "yield self"),
    "script": (_SLASH, "abstract any as async await boolean break case catch class const continue default delete do "
               "else enum export extends false finally for from function get if implements import in instanceof "
               "interface let new null number of private protected public readonly return set static string super "
               "switch this throw true try type typeof undefined var void while yield"),
    "rust": (_SLASH, "as async await break const continue crate dyn else enum extern false fn for if impl in let loop "
             "match mod move mut pub ref return self static struct super trait true type unsafe use where while"),
    "go": (_SLASH, "break case chan const continue default defer else fallthrough false for func go if import "
           "interface map nil package range return select struct switch true type var"),
    "c": (_SLASH, "auto bool break case catch char class const continue default delete do double else enum extern "
          "false final float for if import int long namespace new null nullptr package private protected public return "
          "short signed sizeof static struct super switch template this throw true try typedef union unsigned using "
          "virtual void volatile while"),
    "shell": (_HASH, "case do done elif else esac export fi for function if in local return select then until while"),
    "sql": (_DASH, "add all alter and as asc begin between by case column commit constraint create default delete desc "
            "distinct drop else end exists foreign from group having in index inner insert into is join key left like "
            "limit not null on or order outer primary references right select set table then transaction union unique "
            "update values view when where with"),
    "data": (_HASH, "false no null on off true yes"),
}  # fmt: skip
_NAMES_OF_FAMILY = {
    "python": "py pyi python", "script": "js jsx mjs cjs ts tsx javascript typescript java kt swift", "rust": "rs rust",
    "go": "go", "c": "c h cc cpp hpp cs m", "shell": "sh bash zsh console shell mk makefile dockerfile",
    "sql": "sql", "data": "json jsonl yaml yml toml ini cfg conf",
}  # fmt: skip
_FAMILY_OF_NAME = {name: family for family, names in _NAMES_OF_FAMILY.items() for name in names.split()}
_STRING = r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`(?:[^`\\\n]|\\.)*`'
_PATTERNS: dict[str, re.Pattern[str]] = {}


def family_of(name: str) -> str:
    """Return the family of a language's name or of a path; "" if none is known."""
    lower = name.lower()
    return (
        _FAMILY_OF_NAME.get(lower)
        or _FAMILY_OF_NAME.get(PurePosixPath(lower).suffix[1:])
        or _FAMILY_OF_NAME.get(PurePosixPath(lower).name, "")
    )


def highlighted(code: str, language: str) -> str:
    """Return code as markup: escaped, with spans of the classes c (comment), s (string), n (number), k (keyword)."""
    family = family_of(language)
    if not family:
        return escape(code)
    return "".join(_coloured(code[:_LONGEST_CODE], family)) + escape(code[_LONGEST_CODE:])


def _coloured(code: str, family: str) -> Iterator[str]:
    end = 0
    for token in _pattern(family).finditer(code):
        yield escape(code[end : token.start()])
        yield f'<span class="{token.lastgroup}">{escape(token[0])}</span>'
        end = token.end()
    yield escape(code[end:])


def _pattern(family: str) -> re.Pattern[str]:
    if family not in _PATTERNS:
        comment, words = _FAMILIES[family]
        keywords = "|".join(sorted(words.split(), key=len, reverse=True))
        flags = re.IGNORECASE if family == "sql" else re.NOFLAG
        _PATTERNS[family] = re.compile(
            rf"(?P<c>{comment})|(?P<s>{_STRING})|(?P<n>(?<![\w.])\d[\w.]*)|(?P<k>(?<![\w.$-])(?:{keywords})(?![\w-]))",
            flags,
        )
    return _PATTERNS[family]
