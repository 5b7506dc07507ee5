"""What a rule takes for granted, as questions: "Never deploy on Fridays" asks how one deploys.

Specification 1, section 9. Rules are the bullets of CLAUDE.md, AGENTS.md and their kin, and elsewhere those that say
must, always or never.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowbound.core.competency import CompetencyQuestion, QuestionKind
from knowbound.documents.sections import BlockKind
from knowbound.evals.questions.base import KnowledgeBase
from knowbound.evals.questions.phrases import Asking
from knowbound.evals.questions.words import NOUN_OR_VERB, VERBS, gerund

_NEVER = re.compile(r"^(?:never|do not|don't|avoid)\s+(?:ever\s+)?([a-z]+(?:ing)?)\b\s*(.*)$", re.IGNORECASE)
_ALWAYS = re.compile(r"^(?:always|make sure to|be sure to|remember to|please)\s+([a-z]+)\b\s*(.*)$", re.IGNORECASE)
_MUST = re.compile(
    r"^((?:(?:all|every|each|any|the|a|an|new|no)\s+)?[\w` /.-]{2,50}?)\s+(must|should|shall)\s+(not\s+)?(.+)$",
    re.IGNORECASE,
)
_USE_FOR = re.compile(r"^use\s+(`[^`]+`|[\w -]{2,40}?)\s+(for|to|when|instead of)\s+(.+)$", re.IGNORECASE)
_PREFER = re.compile(r"^prefer\s+(.{2,50}?)\s+(?:over|to|rather than|instead of)\s+(.{2,50}?)$", re.IGNORECASE)
_RUN = re.compile(r"\b(?:run|execute|with|using)\s+`([^`<>]{3,50})`", re.IGNORECASE)
_WITHOUT = re.compile(r"\s+without\s+(.+)$", re.IGNORECASE)
_CONDITION = re.compile(
    r"\s*\b(?:on|during|after|before|until|unless|if|when|while|between|outside|at)\b.*$", re.IGNORECASE
)
_END = re.compile(
    r"\s*(?:[.;!。；！](?:\s.*)?|\s[–—]\s.*|,\s+(?:because|since|so|as|and|but|or|not|even|which|it|they|then|unless|never|only|use|see|e\.g)\b.*|\s+\(.*|:\s.*)$"
)
_FILLER = re.compile(r"^(?:and|or|it|them|this|that|these|be|have|do|so)\b", re.IGNORECASE)
# What a team does on purpose, so that forbidding it at some time asks how it is done at others.
_DEEDS = frozenset(
    "deploy release merge migrate publish ship push rebase upgrade restart scale rotate roll commit tag promote".split()
)
_SOFT = re.compile(
    r"\s+(?:if you can|(?:if|when(?:ever)?|where(?:ver)?|as much as) possible|at all|by default)\b", re.IGNORECASE
)
_NO_SUBJECT = re.compile(
    r"^(?:ideally|generally|usually|typically|often|also|then|otherwise|not|and|or|if|when|while|so|but|to|for|in|with|as"
    r"|is|are|there)\b|.*\b(?:and|that|which|you|it|when)$|.+ (?:the|an?|when|if|that|you|we) |.*-$",
    re.IGNORECASE,
)
# Outside a page of rules, "the server must …" is about one server of one paragraph.
_OF_MANY = re.compile(r"^(?:all|every|each|any|no|new|you)\b|^`|^(?:[A-Z][a-z]+ ){0,2}[A-Za-z]+s$", re.IGNORECASE)
_SHOUTED = re.compile(r"\b(MUST|SHOULD|NEVER|ALWAYS|NOT|ONLY|DO|SHALL)\b")


def principles(base: KnowledgeBase, asking: Asking) -> Iterator[CompetencyQuestion]:
    """The questions that stand behind the rules."""
    for document in base.documents:
        for section in document.sections:
            for block in section.blocks:
                if block.kind is not BlockKind.ITEM and not document.gives_principles:
                    continue
                if block.kind in (BlockKind.CODE, BlockKind.ROW):
                    continue
                rule = _rule_of(block.text)
                for asked in _asked_of(rule, document.gives_principles, asking):
                    shown = rule if len(rule) <= 80 else rule[:79] + "…"
                    why = f"the rule {shown!r}"
                    yield CompetencyQuestion(
                        " ".join(asked.split()), QuestionKind.PRINCIPLE, why, document.path, block.line
                    )


def _rule_of(text: str) -> str:
    """The first sentence of a bullet, without its label and its shouting."""
    text = re.sub(r"^\*\*[^*]{2,60}\*\*\s*[:–—-]?\s*", "", text)
    text = re.sub(r"^[A-Z][\w /-]{1,40}:\s+(?=[A-Z`])", "", text)
    return _SHOUTED.sub(lambda match: match[0].lower(), text).strip()


def _asked_of(rule: str, is_instruction: bool, asking: Asking) -> Iterator[str]:
    if re.search(r"`[^`]*[\s=]`", rule.partition(". ")[0]):
        return  # a placeholder stood there: `trace action <id>`
    if match := _NEVER.match(rule):
        yield from _of_never(match[1].lower(), _cut(match[2]), asking)
        return
    if match := _PREFER.match(_cut(rule)):
        yield f"When may {asking.phrase(match[2])} be used instead of {asking.phrase(match[1])}?"
        return
    if match := _USE_FOR.match(_cut(rule).partition(", ")[0]):
        if len(match[1].split()) <= 5 and len(match[3].split()) <= 10:
            yield f"How do you use {asking.phrase(match[1])} {match[2].lower()} {match[3]}?"
        return
    if match := _MUST.match(_cut(rule)):
        if is_instruction or _OF_MANY.match(match[1]):
            yield from _of_must(match, asking)
        return
    if match := _ALWAYS.match(rule):
        verb, rest = match[1].lower(), _cut(match[2])
        if verb in VERBS | NOUN_OR_VERB and rest and not _FILLER.match(rest) and "`" not in rest:
            yield f"How do you {verb} {rest}?"
    if is_instruction or _ALWAYS.match(rule):
        for command in _RUN.findall(rule)[:1]:
            yield f"What do you do when `{command}` fails?"


def _of_never(verb: str, rest: str, asking: Asking) -> Iterator[str]:
    if verb.endswith("ing"):
        doing = verb
    elif verb in VERBS | NOUN_OR_VERB:
        doing = gerund(verb)
    else:
        return
    if without := _WITHOUT.search(f" {rest}"):
        about = f" {rest}"[: without.start()].strip()
        yield f"What is needed before {f'{doing} {about}'.strip()}?"
        return
    base = _CONDITION.sub("", f" {rest}").strip()
    if verb in _DEEDS and base != rest:
        yield f"How do you {verb} {base}?" if base else f"How do you {verb} here?"
    elif (
        rest
        and doing not in ("stopping", "worrying", "hesitating", "forgetting")
        and not _FILLER.match(rest)
        and len(rest.split()) <= 10
    ):
        yield f"What do you do instead of {doing} {rest}?"


def _of_must(match: re.Match[str], asking: Asking) -> Iterator[str]:
    subject, must, negated, rest = match[1].strip(), match[2].lower(), match[3] or "", match[4]
    if subject.lower() in ("you", "it", "this", "that", "they", "we", "i", "which", "there", "these", "those", "one"):
        verb, _, more = rest.partition(" ")
        if subject.lower() == "you" and not negated and verb in VERBS and more and len(more.split()) <= 8:
            yield f"How do you {verb} {more}?"
        return
    if len(subject.split()) > 6 or len(rest.split()) > 12 or "," in subject or _NO_SUBJECT.match(subject):
        return
    if not (subject[0].isupper() or subject[0] == "`"):
        return  # a part of a sentence
    subject = asking.base.spelled(subject.split(" ")[0]) + subject[len(subject.split(" ")[0]) :]
    yield f"Why {must} {subject} {negated}{rest}?"


def _cut(text: str) -> str:
    """Up to where the rule stops and its reason begins."""
    return _SOFT.sub("", _END.sub("", text)).strip()
