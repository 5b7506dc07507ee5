"""Intent of a lookup that missed (specification 1, section 10), from the call and the agent's words about it.

A malformed call is malformed before all else, and an incidental one is no check of the project. A pattern has a fault
if a mistake in its syntax keeps it from matching what was meant. A correct pattern that matches nothing has none, and
neither has a doubtful one: `"name": "x"`, `className="` and `string \\| null` may be in the code.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from knowbound.core.lazy_pattern import lazy
from knowbound.core.tool_kinds import LookupIntent, Syntax, ToolKind

# Syntax of the patterns of agents' tools (patterns.Syntax); it is unknown for other tools.
_SYNTAX = {
    **dict.fromkeys(("grep", "rg", "ripgrep", "grep_search", "grep_files", "search_files"), "rust"),
    "search_file_content": "extended",
    "glob": "glob",
}
# Names that agents give as a file type, and that ripgrep refuses.
_UNKNOWN_TYPES = frozenset("tsx jsx mts cts mjs cjs yml javascript rs kt rb golang shell bash scss hpp cc".split())
_TYPE = lazy(r"\w+")
_QUOTES = "\"'`"


def tool_intent(
    name: str, kind: ToolKind, input_: dict[str, Any], query: str, where: str, purpose: str, folder: str
) -> tuple[LookupIntent, str]:
    """Return the intent of a call (no command line) that found nothing, and the fault of a malformed one.

    `folder` is the agent's working folder, "" if it is not known.
    """
    if fault_in_words := _call_fault(name.lower(), kind, input_, query):
        return LookupIntent.MALFORMED, fault_in_words
    searched_path = where or (query if kind is not ToolKind.SEARCH or query.startswith(("/", "~")) else "")
    from knowbound.core.knowledge_paths import is_machine_state  # noqa: PLC0415  # hooks check patterns without it

    if is_machine_state(searched_path, folder):
        return LookupIntent.INCIDENTAL, ""
    is_check = input_.get("output_mode") == "count"  # 0 is an answer, too
    if purpose and not is_check:
        is_check = announces_check(purpose)
    return (LookupIntent.CHECK if is_check else LookupIntent.LOOKUP), ""


def _call_fault(name: str, kind: ToolKind, input_: dict[str, Any], query: str) -> str:
    """Return the fault of a call, in words; "" if it has none."""
    if kind is not ToolKind.SEARCH:
        return "quotes in a path" if query and (query[0] in _QUOTES or query[-1] in _QUOTES) else ""
    if name not in _SYNTAX:  # the syntax of its patterns is not known
        return ""
    syntax = Syntax(_SYNTAX[name])
    if syntax is not Syntax.GLOB and is_option(query):
        return "an option as the pattern"
    if syntax is not Syntax.GLOB and has_stray_quote(query):
        return "a stray quote at the end of the pattern"
    glob, type_ = input_.get("glob"), input_.get("type")
    if isinstance(type_, str) and type_ and (type_ in _UNKNOWN_TYPES or not _TYPE.fullmatch(type_)):
        return f"ripgrep knows no file type `{type_[:40]}`"
    return fault(query, syntax, multiline=bool(input_.get("multiline"))) or (
        fault(glob, Syntax.GLOB) if isinstance(glob, str) else ""
    )


def announces_check(text: str) -> bool:
    """Report whether a text announces a check that something is there, or no longer there."""
    return asks_whether(text) or speaks_of_absence(text)


_WHETHER = lazy(
    r"\b(?:check|see|verify|confirm|determine|test|find out|look|ensure)\w*(?: to see)? (?:if|whether)\b"
    r"|\bcheck\w* for\b"
    r"|\b(?:check|verify|confirm|ensure|see)\w*\b[^.;\n]{0,60}\b(?:exists?|existence|already)\b"
    r"|\b(?:is|are) there\b|\bdo(?:es)? [^.;\n]{1,40} exist\b"
    r"|是否|有没有|存不存在",
    re.IGNORECASE,
)


def asks_whether(text: str) -> bool:
    """Report whether a text asks if something is there."""
    return _WHETHER.search(text[:_LONGEST_SPEECH]) is not None


_FINDING = lazy(
    r"\s*(?:(?:find|locate|search|look (?:for|up|at|into)|list|identify|discover|grep|examine|explore|read|view|show"
    r"|get|inspect)\b|查找|搜索|寻找|定位|列出|读取|阅读)",
    re.IGNORECASE,
)


def expects_it(text: str) -> bool:
    """Report whether a text expects that something is there: it announces a search or a closer look."""
    return _FINDING.match(text) is not None


_THINGS = (
    r"(?:references?|refs|usages?|uses|occurrences?|instances?|mentions?|imports?|traces?|callers?|calls|"
    r"matches|hits|leftovers?|violations?|todos?|conflicts?|markers?|consumers?)"
)
_OLD = r"(?:remaining|left-?over|lingering|stale|dangling|stray|residual|outdated)"
_ABSENCE = lazy(
    "|".join(
        (
            r"\bno longer\b",
            rf"\bno (?:{_OLD}|more)\b",
            rf"\b{_OLD}\s(?:[\w'`\"./-]+\s){{0,3}}{_THINGS}\b",
            r"\b(?:any|for) (?:remnants?|remains)\b|\bleft ?overs?\b",
            r"\bstill (?:referenced|used|present|exists?|there|mention\w*|import\w*|contains?|refer\w*|uses?)\b",
            r"\bstill (?:has|have|in use)\b",
            r"\b(?:was|were|is|are|been|got|fully|completely|properly|all) "
            r"(?:removed|deleted|gone|eliminated|cleaned up|purged|absent)\b",
            r"\bnothing (?:left|remains|else|references|uses|still)\b|\bnone (?:left|remain)",
            r"\b(?:verif\w+|confirm\w*|ensur\w+|mak(?:e|ing) sure|double[- ]check\w*|validat\w+|assert\w*)\b"
            r"[^.;\n]{0,80}?\b(?:no(?!-)|none|nothing|not|never|without|gone|remov(?:ed|al)|delet(?:ed|ion)|absent|"
            r"absence|zero|hidden|isn't|aren't|don't|doesn't)\b",
            r"\bcheck\w*\b[^.;\n]{0,40}?\b(?:that no|there (?:is|are) no|for no|nothing|are gone|is gone)\b",
            r"\b(?:should|must) (?:be (?:gone|empty|none|zero)|not (?:exist|appear|be there)|have no)\b",
            r"残留|遗留|不再|(?:已经?|都|全部)(?:删除|移除|清除|清理)|没有(?:剩余|残留|遗漏)",
            r"是否还(?:有|存在)|还有没有|清理干净|(?:确认|确保|验证|检查).{0,30}?(?:没有|不存在|已删|已移|无残|不含)",
        )
    ),
    re.IGNORECASE,
)


_LONGEST_SPEECH = 2_000  # characters of a text that are searched
# Every phrase of absence in English has one of these in it: a cheap check before the expensive one.
_HINTS = (
    *("no ", "non", "not", "n't", "never", "without", "zero", "left", "still", "gone", "hidden", "absen", "remain"),
    *("remov", "delet", "eliminat", "clean", "purg", "linger", "stale", "dangling", "stray", "residual", "outdated"),
    *("remnant", "empty"),
)


@lru_cache(maxsize=4096)
def speaks_of_absence(text: str) -> bool:
    """Report whether a text is about a check that something is gone or absent, rather than a search for it."""
    text = text[:_LONGEST_SPEECH]
    if not text:
        return False
    low = text.lower()
    if text.isascii() and not any(map(low.__contains__, _HINTS)):  # the quick answer; the hints are English
        return False
    return _ABSENCE.search(text) is not None


_LONGEST = 2_000  # characters; longer patterns are not checked


def fault(pattern: str, syntax: Syntax, *, multiline: bool = False) -> str:
    """Return the fault of a pattern, in words; "" if it has none."""
    if not pattern or len(pattern) > _LONGEST:
        return ""
    if syntax is Syntax.GLOB:
        return _glob_fault(pattern)
    if syntax is Syntax.FIXED:
        return r"`\|` is literal text with -F" if _ESCAPED_BAR.search(pattern) else ""
    if _GLOB.search(pattern):
        return "a glob where a regular expression is expected"
    plain = _CLASS.sub("[]", pattern)  # signs in brackets are literal
    if _OVER_ESCAPED.search(plain):
        return "escaped twice: it demands a backslash"
    if syntax is Syntax.BASIC:
        return _basic_fault(plain)
    if _ESCAPED_BAR.search(plain) and not _BAR.search(plain.replace(r"\|", "")):  # a bare bar shows that it is meant
        return r"`\|` is a literal bar here"
    if syntax is Syntax.EXTENDED and _PERL_GROUP.search(plain):
        return "Perl's syntax without -P"
    if syntax is not Syntax.RUST:
        return ""
    from knowbound.traces.calls.ripgrep_syntax import rust_fault  # noqa: PLC0415  # hooks load it for ripgrep alone

    return rust_fault(pattern, multiline)


_CLASS = lazy(r"\[\^?\]?[^\[\]\\]*(?:\\.[^\[\]\\]*)*\]")
_GLOB = lazy(r"\A\*+(?:\.\w|/)|(?:\A|/)\*\*/")
_OVER_ESCAPED = lazy(r"(?<!\\)\\\\(?:[.()\[\]{}|*+?$]|[swdSWD][*+]|b(?:\W|\Z)|b(?<=\A\\\\b))")
_BAR = lazy(r"(?<!\\)\|")
# A bar between words; with space around it, or doubled, it is a bar of the code.
_ESCAPED_BAR = lazy(r"[^\s|\\]\\\|[^\s|\\]")
_PLAIN_BAR = lazy(r"[\w)\]*.$'\"]\|[\w(\[^.'\"]")
_PERL_GROUP = lazy(r"\(\?(?:[:=!<]|[imsx]+\))")
_QUANTIFIER = lazy(r"(?:\[\]|(?<!\\)\\[wWsSdD]|(?<![\\.])\.)\+|\[\]\{\d")


def _basic_fault(plain: str) -> str:
    """Return the fault of a pattern for `grep` without -E, where bars, plus signs and braces are literal."""
    if _PERL_GROUP.search(plain):
        return "Perl's syntax without -P"
    if _PLAIN_BAR.search(plain) and r"\|" not in plain:
        return "`|` is a literal bar without -E"
    return "`+` and `{}` are literal without -E" if _QUANTIFIER.search(plain) else ""


_GLOB_EXPRESSION = lazy(r"\\\.|\.\*\\|\A\^|[\w*)]\$\Z|\.\+")
_EXTENDED_GLOB = lazy(r"[@+?!*]\(")


def _glob_fault(glob: str) -> str:
    """Return the fault of a glob; "" if it has none."""
    if glob[0] in "\"'`" or glob[-1] in "\"'`":
        return "quotes in a glob"
    if " -o " in glob:
        return "options of find in a glob"
    if _GLOB_EXPRESSION.search(glob) or ("|" in glob and not _EXTENDED_GLOB.search(glob)):
        return "a regular expression where a glob is expected"
    return "unbalanced braces" if glob.count("{") != glob.count("}") else ""


def has_stray_quote(pattern: str) -> bool:
    """Report whether a pattern ends in a quote without a partner that closes nothing.

    Only for patterns that reached their tool without a shell: in a command line a quote was escaped on purpose. After
    `=`, `(` and similar signs a quote opens a text of the code, unless the pattern has space before the `=` only; after
    a path it closes an import.
    """
    last = pattern[-1:]
    if not last or last not in "\"'`" or pattern.count(last) % 2 == 0:
        return False
    before = pattern[:-1].rstrip("\\")
    if not before or (_OPENING.search(before) and not _SPACED.search(before)):
        return False
    return "/" not in before or before.count(last) > 1


_OPENING = lazy(r"(?:[=({\[:,\s]|\\s[*+]?|(?<!\\)\.[*+]\??)\Z")
_SPACED = lazy(r"(?:\s|\\s[*+]?)=\Z")


_OPTION = lazy(
    r"-[A-Za-z]\d*|-[A-Z] \d+"
    r"|--(?:include|exclude|exclude-dir|glob|type|context|after-context|before-context)(?:[= ].*)?"
)


def is_option(pattern: str) -> bool:
    """Report whether an option of the program was given as the pattern: `-C3`, `--include=*.go`."""
    return _OPTION.fullmatch(pattern) is not None
