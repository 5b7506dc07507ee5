"""Words a failed search, a hedge or a marker as a question (specification 1, section 8)."""

from __future__ import annotations

import re

from knowbound.evals.questions.from_rules import CHINESE, is_plural
from knowbound.evals.questions.scope import unfit
from knowbound.text.similar import terms
from knowbound.text.terms import split_words

_PATH = re.compile(
    r"^[\w.~@-]*(?:/[\w.@-]+)+\.?\w*$|^[\w-]+\.(?:md|ya?ml|toml|json|env|py|ts|js|go|rs|sql|sh|txt|cfg|ini)$"
)
_NAME = re.compile(r"^[A-Za-z_][\w-]*$")
_CALL = re.compile(r"^[\w.:-]+(?:\(\))?$")
_REGEX = re.compile(r"\\[bBswdWSD]|\(\?[:=!i][^)]*|[\^$*+?{}\[\]\\]|\.\*|\.\+")
_MARKER = re.compile(r"【[^】]{1,12}】|\[(?:inferred|unknown|knowledge gap)\]", re.IGNORECASE)
_CLAUSE = re.compile(
    r"\b(?:(?:do(?:n't| not)|did(?:n't| not)|cannot|can't|could(?:n't| not)|am not|'m not|is not|isn't|not) "
    r"(?:\w+ ){0,2}?(?:know|sure|certain|clear|tell|find out|say|confirm|determine)|unsure|unclear|uncertain|unknown|"
    r"wonder|need to (?:verify|check|confirm|find out))(?: (?:about|yet|exactly|(?:to|for) (?:me|us)))?[, ]+"
    r"((?:what|which|whether|how|where|who|when|why|if)\b[^.;!?]{6,160})",
    re.IGNORECASE,
)
_TAIL = re.compile(r",? (?:so|but|and so|because|since|therefore|hence)\b.*$|,\s*$", re.IGNORECASE)
_OWN = re.compile(r"\b(?:I|my|me|we|our|us|you|your|this|that|these|those|it|its|here|above|below)\b", re.IGNORECASE)
_STATEMENT = re.compile(r"^[A-Z`][^.?!]{15,160}[.!]?$")
# A question in form only ("Can you add a test?"), or one that points at what another reader does not see.
_NO_QUESTION = re.compile(
    r"^(?:(?:can|could|will|would|do|did|have|are) you|(?:can|could|should|shall|may) (?:i|we))\b"
    r"|\b(?:this|that|these|those|it|them|above|below|again)\b",
    re.IGNORECASE,
)
_LEAST = 3  # letters of a name that can be asked for


def question_of_prompt(prompt: str) -> str:
    """The prompt, where it is a question that is clear without the conversation; else an empty string."""
    question = " ".join(prompt.split())
    is_unclear = not question or question.startswith("<") or unfit(question) or _NO_QUESTION.search(question)
    return "" if is_unclear else question


def question_of_search(pattern: str) -> str:
    """The question that a search pattern or a path stands for; empty where it names nothing."""
    pattern = pattern.strip().strip("\"'")
    if _PATH.match(pattern):
        return f"What is in `{pattern}`?" if "/" in pattern else _of_file(pattern)
    if CHINESE.search(pattern):
        words = re.findall(r"[\u4e00-\u9fff]{2,}", pattern)
        return f"{words[0]}是什么？" if words else ""
    for part in pattern.split("|"):
        name = _REGEX.sub(" ", part).strip().strip(".:=-_/()\"'").strip()
        if asked := _of_name(name):
            return asked
    known = sorted(terms(pattern), key=lambda term: (-len(term), term))
    return _of_name(known[0]) if known else ""


def _of_file(name: str) -> str:
    return f"What does `{name}` say?"


def _of_name(name: str) -> str:
    words = split_words(name)
    if sum(len(word) for word in words) < _LEAST or all(word.isdigit() for word in words):
        return ""
    if " " in name:
        shown = " ".join(name.split())
        return f"What is known about {shown}?" if len(shown) <= 60 and re.fullmatch(r"[\w .,'-]+", shown) else ""
    if len(words) >= 2 and _NAME.match(name) and all(word.isalpha() for word in words) and not _is_code(name):
        return f"What {'are' if is_plural(words[-1]) else 'is'} the {' '.join(words)}?"
    return f"What is `{name}`?" if _CALL.match(name) and len(name) <= 60 else ""


def _is_code(name: str) -> bool:
    """`getUserName` and `UserStore` are things in code; `refund_policy` is a subject."""
    return bool(re.search(r"[a-z][A-Z]", name)) or (name.isupper() and "_" in name)


def question_of_hedge(text: str) -> str:
    """The question that a hedge or a marked guess leaves open; empty where it is not clear without the conversation."""
    sentence = " ".join(text.split())
    if CHINESE.search(sentence):
        return _of_chinese(sentence)
    if clause := _CLAUSE.search(sentence):
        wanted = _TAIL.sub("", clause[1]).strip()
        if wanted.lower().startswith("if "):
            wanted = "whether " + wanted[3:]
        return f"Can you say {wanted[0].lower() + wanted[1:]}?" if not _OWN.search(wanted) else ""
    if _MARKER.search(sentence):
        claim = re.split(r"(?<=[.!])\s|;\s", _MARKER.sub("", sentence).strip(" :-"))[0]
        if _STATEMENT.match(claim) and not _OWN.search(claim):
            return f"Is it right that {_as_clause(claim.rstrip('.!'))}?"
    return ""


def _as_clause(claim: str) -> str:
    """A sentence inside another: only a name keeps its capital."""
    first = claim.split(maxsplit=1)[0]
    return claim[0].lower() + claim[1:] if first[1:].islower() else claim


def _of_chinese(sentence: str) -> str:
    claim = re.split(r"[。！；]", _MARKER.sub("", sentence).strip())[0].strip()
    unsure = re.match(r"^(?:我)?(?:不确定|不清楚|无法确认|需要查证)(.{4,60})$", claim)
    if unsure:
        return f"{unsure[1].split('，')[0]}？"
    return f"“{claim}”对吗？" if _MARKER.search(sentence) and 6 <= len(claim) <= 60 else ""
