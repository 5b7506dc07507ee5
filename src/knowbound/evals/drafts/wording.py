"""Words a failed search, a hedge or a marker as a question that a person would ask (specification 1, section 8).

A question is made only where it is clear what is missing; where a name, a pattern and the agent's own words do not say
so, there is none.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from knowbound.core.paths import DOCUMENTS
from knowbound.evals.questions.from_rules import CHINESE, is_plural
from knowbound.evals.questions.scope import unfit
from knowbound.gaps.search_words import words_in
from knowbound.gaps.wanted import specific_words
from knowbound.text.terms import split_words

_PATH = re.compile(r"[\w.~@*-]*(?:/[\w.@*-]+)+|\.?[\w-]+\.[a-z]{1,5}")
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_KEYWORDS = re.compile(
    r"^(?:(?:export|pub|async|static|public|private|func|function|def|class|struct|type|interface|enum|const|var|let)\s)+"
    r"|\s(?:struct|interface|class)$"
)
_REGEX = re.compile(r"\\[bBswdWSD]|\(\?[:=!i][^)]*|[\^$*+?{}\[\]\\]|\.\*|\.\+")
_MARKER = re.compile(r"【[^】]{1,12}】|\[(?:inferred|unknown|knowledge gap)\]", re.IGNORECASE)
_UNSURE = re.compile(
    r"\b(?:(?:do(?:n't| not)|did(?:n't| not)|cannot|can't|could(?:n't| not)|am not|'m not|is not|isn't|not) "
    r"(?:\w+ ){0,2}?(?:know|sure|certain|clear|tell|find(?: out)?|say|confirm|determine)|unsure|unclear|uncertain|"
    r"unknown|wonder|need to (?:verify|check|confirm|find out))(?: (?:about|yet|exactly|(?:to|for) (?:me|us)))?[, ]+"
    r"((?:what|which|whether|how|where|who|when|why|if)\b[^.;:!?]{6,160})",
    re.IGNORECASE,
)
_SEEKS = re.compile(
    r"\b(?:find(?: out)?|see|check|look up|understand|determine|figure out|know|learn) "
    r"((?:what|which|how|where|who|when|why)\b[^.;:!?]{6,160})",
    re.IGNORECASE,
)
_OPENS = re.compile(
    r"\b(?:read|open|check|find|see|view|examine|inspect|review|locate|look (?:at|for|up|into)) "
    r"(the [^.;:,!?()]{3,60})",
    re.IGNORECASE,
)
_TAIL = re.compile(r",? (?:so|but|and so|because|since|therefore|hence)\b.*$|,\s*$", re.IGNORECASE)
_PURPOSE = re.compile(r" (?:to|so|and|for|before|that|which|where|how|when|if|from|with|in order|first|again)\b.*$")
_OWN = re.compile(r"\b(?:I|my|me|we|our|us|you|your|this|that|these|those|it|its|here|above|below)\b", re.IGNORECASE)
_STATEMENT = re.compile(r"^[A-Z`][^.?!]{15,160}[.!]?$")
# "where the limit is set", "how the worker handles retries": the order of words in a question of its own.
_WHETHER_IS = re.compile(r"^whether (.{3,70}?) (is|are|was|were) (.+)$", re.IGNORECASE)
_PASSIVE = re.compile(r"^(where|how|when|why) (.{3,70}?) (is|are|was|were) (\w+(?:ed|en|wn|t|de)\b.*)$", re.IGNORECASE)
_ACTIVE = re.compile(
    r"^(where|how|when|why|whether) (.{3,60}?) (handle|work|use|get|store|load|read|write|call|create|set|check|decide|"
    r"compute|define|resolve|parse|start|run|send|return|find|come|count|keep|round)s\b(.*)$",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"^(?:what|which|who) (?!the |an? |our |each |to )(?!\w+ (?:the|an?|our|each) )", re.IGNORECASE)
# A question in form only ("Can you add a test?"), or one that points at what another reader does not see.
_NO_QUESTION = re.compile(
    r"^(?:(?:can|could|will|would|do|did|have|are) you|(?:can|could|should|shall|may|have|did) (?:i|we))\b"
    r"|\b(?:this|that|these|those|it|them|above|below|again|now|still|just|yet|so far|recently|today)\b|[.!?;] ",
    re.IGNORECASE,
)
_LEAST_WORDS, _MOST_WORDS = 2, 4  # in a name that is a subject: `refund_policy`


def question_of_prompt(prompt: str) -> str:
    """The prompt, where it is a question that is clear without the conversation; else an empty string."""
    question = " ".join(prompt.split())
    is_unclear = not question or question.startswith("<") or unfit(question) or _NO_QUESTION.search(question)
    return "" if is_unclear else question


def question_of_search(wanted: str, said: str = "", answers: Collection[str] = ()) -> str:
    """The question behind a search that missed, from the agent's words where they are about it; empty without any.

    Where a thing is, is asked only where some session found it: a name that nobody found may not exist.
    """
    wanted = wanted.strip().strip("\"'")
    return _in_words(wanted, said, answers) or _by_name(wanted, answers)


def _in_words(wanted: str, said: str, answers: Collection[str]) -> str:
    """From a sentence that shares a word with the search."""
    about = frozenset[str]().union(*map(specific_words, re.split(r"[\s/.|]+", wanted)))
    sentence = " ".join(said.split())
    if about.isdisjoint(words_in(sentence)) or CHINESE.search(sentence):
        return ""
    if sentence.endswith("?"):
        return "" if _OWN.search(sentence) or unfit(sentence) else sentence
    if clause := _SEEKS.search(sentence):
        return _asked(_without_purpose(clause[1]), about)
    if answers and _PATH.fullmatch(wanted) and (thing := _OPENS.search(sentence)):
        named = _PURPOSE.sub("", thing[1]).strip()
        if _names_one(named) and not about.isdisjoint(words_in(named)):
            return f"Where {'are' if is_plural(named.split()[-1]) else 'is'} {named[0].lower() + named[1:]}?"
    return ""


def _names_one(thing: str) -> bool:
    """`the linter's configuration` says which, `the todo` and `the docs/todo.md` do not."""
    return len(thing.split()) > 2 and "/" not in thing and not _OWN.search(thing)  # with the article


def _without_purpose(clause: str) -> str:
    """`where the limit is set to add a test` → `where the limit is set`; "how to" keeps its words."""
    return clause if re.match(r"\w+ to\b", clause) else _PURPOSE.sub("", clause)


def _asked(clause: str, about: frozenset[str]) -> str:
    """A clause as a question, where it is clear and about what was searched for."""
    clause = _TAIL.sub("", clause).strip()
    if _OWN.search(clause) or "/" in clause or re.match(r"\w+ to\b", clause) or about.isdisjoint(words_in(clause)):
        return ""
    return _direct(clause)


def _direct(clause: str) -> str:
    """In the order of a question where that is plain: `where the limit is set` → `Where is the limit set?`."""
    if clause.lower().startswith("if "):
        clause = "whether " + clause[3:]
    if whether := _WHETHER_IS.match(clause):
        return f"{whether[2].capitalize()} {whether[1]} {whether[3]}?"
    if passive := _PASSIVE.match(clause):
        return f"{passive[1].capitalize()} {passive[3]} {passive[2]} {passive[4]}?"
    if active := _ACTIVE.match(clause):
        asks = "" if active[1].lower() == "whether" else f"{active[1].capitalize()} "
        return f"{asks}{'does' if asks else 'Does'} {active[2]} {active[3]}{active[4]}?"
    if _SUBJECT.match(clause):
        return f"{clause[0].upper() + clause[1:]}?"
    return f"Can you say {clause[0].lower() + clause[1:]}?"


def _by_name(wanted: str, answers: Collection[str]) -> str:
    """From the name alone: a subject, a name in code, or a file that is somewhere else."""
    if CHINESE.search(wanted):
        words = re.findall(r"[\u4e00-\u9fff]{2,}", wanted)
        return f"{words[0]}是什么？" if words else ""
    if _PATH.fullmatch(wanted):
        return _of_path(wanted, answers)
    for part in re.split(r"\\?\||\s·\s", wanted):
        name = _KEYWORDS.sub("", _REGEX.sub(" ", part).strip().strip(".:=-_/()\"'").strip())
        if _NAME.fullmatch(name) and len(split_words(name)) >= _LEAST_WORDS:
            return _of_name(name, answers)
    return ""


def _of_path(path: str, answers: Collection[str]) -> str:
    name = path.rpartition("/")[2]
    stem, _, ending = name.rpartition(".")
    if any(answer.rpartition("/")[2] == name for answer in answers):
        return f"Where is `{name}`?" if "*" not in name and specific_words(stem or name) else ""
    return _of_subject(stem) if ending.lower() in DOCUMENTS and not answers else ""


def is_in_code(name: str) -> bool:
    """`getUserName` and `MAX_TRIES` are things in code; `refund_policy` is a subject."""
    return name != name.lower()


def _of_name(name: str, answers: Collection[str]) -> str:
    if is_in_code(name):
        return f"Where is `{name}` defined?" if answers else ""
    if not answers:
        return _of_subject(name)
    words = split_words(name)
    return f"Where {'are' if is_plural(words[-1]) else 'is'} the {' '.join(words)} defined?"


def _of_subject(name: str) -> str:
    words = split_words(name)
    if not _LEAST_WORDS <= len(words) <= _MOST_WORDS or len(specific_words(name)) < len(words):
        return ""
    return f"What {'are' if is_plural(words[-1]) else 'is'} the {' '.join(words)}?"


def question_of_hedge(text: str) -> str:
    """The question that a hedge or a marked guess leaves open; empty where it is not clear without the conversation."""
    sentence = " ".join(text.split())
    if CHINESE.search(sentence):
        return _of_chinese(sentence)
    if clause := _UNSURE.search(sentence):
        wanted = _TAIL.sub("", clause[1]).strip()
        return _direct(wanted) if not _OWN.search(wanted) else ""
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
