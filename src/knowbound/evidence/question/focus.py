"""Which places of a term a question asks for: its definition, its uses, wherever it occurs."""

from __future__ import annotations

import re

from knowbound.core.evidence import Intent
from knowbound.evidence.question.terms import Focus

_USES = re.compile(
    r"\b(?:(?:calls|called|callers?|calling|call(?= ?sites?))|callsites?|us(?:es|ed|ages?|ers of)|invok(?:es|ed|ing)|"
    r"import(?:s|ed|ing|ers?)|referenc(?:es|ed|ing)|depend(?:s|ing|ents)? on|dependents|rel(?:y|ies) on|"
    r"consum(?:es|ed|ers?)|"
    r"instantiat(?:es|ed)|inherit(?:s|ed)? from|subclass(?:es|ed)|affected|impacted|break if|"
    r"if (?:i|we|you|someone) (?:were to )?(?:rename|change|remove|delete|move|touch|drop)(?:d|ed|ped)?|"
    r"(?:who|what|that|which \w+|files?|modules?|places?|functions?|class(?:es)?|methods?|do (?:we|you|they|i)) "
    r"(?:\w+ly )?"
    r"(?:use|call|invoke|import|reference|consume|instantiate|depend|inherit))\b",
    re.IGNORECASE,
)
_OCCURRENCES = re.compile(
    r"\b(?:read|set|enforced|checked|raised|thrown|printed|emitted|logged|applied|written|opened|closed|honou?red|"
    r"validated|consulted|evaluated|parsed|respected|handled|processed|shown|displayed|stored|loaded|reads?|sets?|"
    r"enforces|checks|raises|throws|prints|emits|logs|applies|writes|honou?rs|validates|consults)\b",
    re.IGNORECASE,
)
_DEFINED = re.compile(
    r"\b(?:defin\w+|implement\w*|declar\w+|definition|lives?|located|source of|written)\b", re.IGNORECASE
)


def focus_of(text: str, intent: Intent) -> Focus:
    """Whether the definition is asked for, the uses, or wherever it occurs."""
    if intent in (Intent.LOCATE, Intent.NAVIGATE, Intent.EXPLAIN) and _USES.search(text) and not _DEFINED.search(text):
        return Focus.USES
    if intent in (Intent.LOCATE, Intent.NAVIGATE) and _OCCURRENCES.search(text) and not _DEFINED.search(text):
        return Focus.OCCURRENCES
    return Focus.DEFINITION
