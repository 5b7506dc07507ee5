"""What linters and commit hooks print: the rule that was broken, in the words of the tool."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from knowbound.text.redact import redact

_SHOWN = 60_000  # characters of an output that are looked through
_MOST = 40  # diagnostics of one output


class Diagnostic(NamedTuple):
    """A broken rule: the tool, the rule's code, and what it asks for."""

    tool: str
    code: str
    message: str


class Linter(NamedTuple):
    """How a linter prints a finding, and the names of its config files."""

    pattern: re.Pattern[str]
    configs: tuple[str, ...]
    hint: str  # something that is in every output with findings: most outputs end at this look


LINTERS: dict[str, Linter] = {
    "markdownlint": Linter(
        re.compile(r"\s(?P<code>MD\d{3})/[\w/-]+ (?P<message>[^\[\n]{4,120})"),
        (".markdownlint.json", ".markdownlint.jsonc", ".markdownlint.yaml", ".markdownlint.yml", ".markdownlintrc",
         ".markdownlint-cli2.jsonc", ".markdownlint-cli2.yaml"),
        "/",
    ),
    "commitlint": Linter(
        re.compile(r"✖\s+(?P<message>[^\[\n]{4,120}?) \[(?P<code>[a-z]+(?:-[a-z]+)+)\]"),
        ("commitlint.config.js", "commitlint.config.mjs", "commitlint.config.cjs", "commitlint.config.ts",
         ".commitlintrc", ".commitlintrc.json", ".commitlintrc.yml", ".commitlintrc.js"),
        "✖",
    ),
    "biome": Linter(
        re.compile(r"\slint/\w+/(?P<code>\w+)[^\n]*\n(?:[^\n]*\n){0,2}?\s*[×!✖] (?P<message>[^\n]{4,120})"),
        ("biome.json", "biome.jsonc"),
        "lint/",
    ),
    "golangci-lint": Linter(
        re.compile(r"\.go:\d+(?::\d+)?: (?P<message>[^\n]{4,300}) \((?P<code>[a-z][\w-]{2,24})\)$", re.MULTILINE),
        (".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"),
        ".go:",
    ),
    "eslint": Linter(
        re.compile(
            r"^\s+\d+:\d+\s+error\s+(?P<message>\S[^\n]{3,120}?)\s{2,}(?P<code>@?[a-z][\w/-]+)$", re.MULTILINE
        ),
        ("eslint.config.js", "eslint.config.mjs", "eslint.config.cjs", "eslint.config.ts", ".eslintrc.json",
         ".eslintrc.js", ".eslintrc.cjs", ".eslintrc.yml", ".eslintrc"),
        "error",
    ),
    "ruff": Linter(
        re.compile(r"\.pyi?:\d+:\d+: (?P<code>[A-Z]{1,4}\d{2,4}) (?:\[\*\] )?(?P<message>[^\n]{4,120})"),
        ("ruff.toml", ".ruff.toml", "pyproject.toml"),
        ".py",
    ),
}  # fmt: skip
_NOT_RULES = frozenset({"typecheck"})  # of golangci-lint: what the compiler says
_QUOTED = re.compile(r"\s*(?:`[^`]*`|\"[^\"]*\"|'[\w./$-]+')")
_DANGLING = re.compile(r" (?:of|in|on|for|to|from|named) (?=`[^`]*`|\"[^\"]*\"|'[\w./$-]+')")
_BRACKETS = re.compile(r"\s*\([^()]*\)")
_LEADING = re.compile(r"^(?:[\w-]{3,40}: |\S+ - )")  # the name of a part of the rule, or of the one case
_ITS_NAME = re.compile(r"\b(variable|function|property|import|type|hook|value|method|class|on) \w*[a-z][A-Z_]\w*")
_FOREIGN_NAME = re.compile(r"\b\w+(?:[./]\w+)+\b|\b[a-z]+[A-Z]\w*\b")


def diagnostics(output: str) -> Iterator[Diagnostic]:
    """The broken rules that an output names, each once."""
    text = output[:_SHOWN]
    seen: set[tuple[str, str]] = set()
    for tool, linter in LINTERS.items():
        if linter.hint not in text:
            continue
        for found in linter.pattern.finditer(text):
            code = found["code"]
            if (tool, code) not in seen and code not in _NOT_RULES and len(seen) < _MOST:
                seen.add((tool, code))
                yield Diagnostic(tool, code, general(found["message"]))


def general(message: str) -> str:
    """A message without the names of the one case: what the rule asks for."""
    text = redact(" ".join(message.split()))
    text = _LEADING.sub("", text)
    head, colon, _ = text.partition(": ")
    text = head if colon and " " in head else text
    text = _BRACKETS.sub("", _QUOTED.sub("", _DANGLING.sub("", text)))
    text = _ITS_NAME.sub(r"\1", text)
    if len(_FOREIGN_NAME.findall(text)) == 1 and " of type " in text:
        text = _FOREIGN_NAME.sub("", text)
    return " ".join(text.split()).rstrip(" .,;:")
