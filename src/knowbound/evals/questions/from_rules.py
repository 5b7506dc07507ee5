"""Competency questions from headings, file names and principles, without a model (specification 1, section 9).

A heading that no pattern here fits is skipped: a question that reads wrong is worse than none. None of this looks at
whether the knowledge base has the answer: running the questions shows that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowbound.core.evaluation import CompetencyQuestion, QuestionSource
from knowbound.core.evidence import Intent
from knowbound.evals.questions.knowledge_text import KnowledgePage, KnowledgeText
from knowbound.text.intent import intent_of
from knowbound.text.markdown import BlockKind, DocumentSection
from knowbound.text.stems import stem
from knowbound.text.stop_words import DETERMINERS, PREPOSITIONS, PRONOUNS, STOP_WORDS

CHINESE = re.compile(r"[\u4e00-\u9fff]")
_SAYS = "What does the documentation say about"
_NUMBERING = re.compile(
    r"^(?:(?:step|part|chapter|section|phase)\s+)?\d+(?:\.\d+)*\s*[.):–—-]+\s+"
    r"|^(?:run-?book|play-?book|how-?to|guide|tutorial|recipe|skill|rfc|adr)(?:\s*:|\s[–—-])\s+",
    re.IGNORECASE,
)
_VERSION_OR_DATE = re.compile(r"^\W*v?\d+(?:[.x-]\d+)+")
_SUBTITLE = re.compile(r":\s.*$|\s[–—-]\s.*$|,\s(?:the|an?|our)\s.*$|\s*\([^()]*\)$", re.IGNORECASE)
_MOST_WORDS = 8  # of a heading; a longer one is a sentence, and says itself what it is about
_GENERIC = frozenset(
    "overview|introduction|about|summary|contents|table of contents|note|notes|see also|further reading|related|links|"
    "resources|references|reference|next steps|license|changelog|changes|credits|example|examples|misc|other|appendix|"
    "conclusion|index|readme|documentation|general|details|description|basics|unreleased|added|fixed|removed|history|"
    "status|faq|support|glossary|background|roadmap|todo|to do|backlog|open questions|open points|open issues|ideas|"
    "afterwards|gotchas|runbooks|release notes|rules|ground rules|steps|type|size|use|behaviour|behavior|commands|"
    "options|概述|简介|目录|示例|附录|参考|更新日志|待办|路线图"
    .split("|")
)  # fmt: skip
# A heading that names one side of the subject above it, and what it asks of that subject.
_SIDES = {
    name: question
    for names, question in {
        "usage|basic usage|how to use": "How do you use {x}?",
        "installation|install|installing": "How do you install {x}?",
        "setup|set up|getting started|quick start|quickstart": "How do you set up {x}?",
        "configuration|configuring|settings": "How do you configure {x}?",
        "deployment|deploy|deploying": "How do you deploy {x}?",
        "rollback|roll back|rolling back": "How do you roll back {x}?",
        "testing|tests": "How do you test {x}?",
        "monitoring|observability": "How do you monitor {x}?",
        "upgrading|upgrade|upgrade guide|migration guide": "How do you upgrade {x}?",
        "troubleshooting|common problems|common errors": "What do you do when something goes wrong with {x}?",
        "limitations|known limitations|known issues": "What are the limits of {x}?",
        "requirements|prerequisites": "What do you need before you use {x}?",
        "owner|owners|ownership|contact": "Who is responsible for {x}?",
        "architecture|design": "What is the architecture of {x}?",
        "alerts": "Which alerts are there for {x}?",
        "escalation": "To whom do you escalate problems with {x}?",
        "environment variables": "Which environment variables are there for {x}?",
    }.items()
    for name in names.split("|")
}
_TROUBLE = re.compile(
    r"\b(?:fail(?:s|ed|ure)?|refused|denied|time[sd]? ?out|not found|unavailable|is down|down|stuck|full|outage)\b",
    re.I,
)
_RUNBOOK = re.compile(r"(?:run-?book|play-?book|alert|on-?call)", re.IGNORECASE)
_CODE = re.compile(
    r"^`[^`]+`$|^[\w.]+\([^)]*\)$|^--?[a-z][\w-]*$|^\w+_\w+$|^[a-z]{2,}[A-Z]\w*$|^[a-z]+(?:-[a-z0-9]+)+$|^(?:[A-Z][a-z0-9]+){2,}$"
)
_ARTICLES = frozenset("the a an your our its their each every all this".split())
_MASS_NOUN = re.compile(r"(?:ing|tion|sion|ment|ity|ness|ance|ence|ship|ics|ism)$")
_UNFINISHED = re.compile(r"^\W*(?:TODO|TBD|TBC|FIXME|coming soon|待补充|待定|待完善)\b.{0,60}$", re.IGNORECASE)
_ADVICE = re.compile(r"^(never|always|do not|don't|avoid|prefer)\s+([a-z`].{5,120})$", re.IGNORECASE)
_DUTY = re.compile(r"^((?:[A-Z`][\w`.-]*)(?: [\w`.-]+){0,4}) (must|should) ((?:not )?[a-z].{3,100})$")
_COMMAND = re.compile(r"\b(?:run|execute|with|using)\s+`([^`<>]{3,50})`", re.IGNORECASE)
_RULE_END = re.compile(
    r"[.;:!](?:\s|$).*|\s[–—(].*|,\s(?:because|since|so|as|but|not|even|which|unless|or|and|use)\b.*"
)


class HeadingQuestions:
    """Makes questions of headings; what is a name and keeps its capital, the prose of the knowledge base shows."""

    def __init__(self, knowledge: KnowledgeText) -> None:
        self._words = frozenset(re.findall(r"[\w-]+", knowledge.prose))

    def of_heading(self, heading: str, above: tuple[str, ...] = (), path: str = "") -> str:
        """Return a reader's question about a heading below the headings `above`; "" if no question is clear."""
        name = plain_heading(heading)
        if not name or name.lower() in _GENERIC or _VERSION_OR_DATE.match(name) or len(name.split()) > _MOST_WORDS:
            return ""
        if CHINESE.search(name):
            return _in_chinese(name)
        parents = [one for one in map(plain_heading, above) if one.lower() not in _GENERIC]
        parent = next((one for one in reversed(parents) if one.lower() not in _SIDES), "")
        if name.lower() in _SIDES and parent:
            return _SIDES[name.lower()].format(x=self.noun_phrase(parent) or f'"{parent}"')
        if _CODE.match(name):
            return _of_code(name, path)
        first = name.split(maxsplit=1)[0].lower()
        if first in ("how", "what", "when", "where", "which", "who", "why"):
            return _of_question(name)
        if _TROUBLE.search(name) and len(name.split()) > 1:
            return f'What do you do about "{name}"?'
        if asked := self.of_instruction(name):
            return asked
        phrase = self.noun_phrase(name)
        context = f" ({parent})" if " " not in name and parent and parent.lower() not in phrase.lower() else ""
        return f"{_SAYS} {phrase}{context}?" if phrase else ""

    def of_instruction(self, text: str) -> str:
        """ "Add a migration" and "Adding a migration" ask how one does it; empty for any other text."""
        first, _, rest = text.partition(" ")
        follows = rest.split(" ")[0].lower()
        verb = stem(first) if first.lower().endswith("ing") else first.lower()
        if not rest or not verb or not verb.isalpha() or verb in STOP_WORDS or follows in ("of", "and", "or"):
            return ""
        takes_object = follows in _ARTICLES or follows in ("one", "up") or follows.startswith("`")
        if not takes_object:
            return ""  # "Release notes", "Training sets" and "Change data capture" are nouns
        return f"How do you {verb} {rest}?"

    def noun_phrase(self, name: str) -> str:
        """A heading as it is written inside a sentence, with its article.

        In quotation marks where its form does not show whether it takes one; empty where it is no noun.
        """
        words = self._cased(name).split(" ")
        first = words[0].lower()
        if not re.fullmatch(r"[\w` ,/&'.-]+", name) or first in PREPOSITIONS | PRONOUNS or "you" in words:
            return ""
        phrase = " ".join(words)
        end = next((at for at, word in enumerate(words) if at and word in PREPOSITIONS), len(words))
        head = words[end - 1]
        is_name = bool(_CODE.match(name)) or all(word != word.lower() for word in words[:end])
        if first in DETERMINERS or is_name or is_plural(head) or _MASS_NOUN.search(head):
            return "" if intent_of(name) is Intent.MODIFY and not is_plural(head) else phrase
        if " and " in phrase:
            return phrase
        return f"the {phrase}" if " of " in phrase else f'"{name}"'

    def _cased(self, name: str) -> str:
        """Ordinary words in lower case; names, which the prose never writes so, as they are."""
        words = name.split(" ")
        is_title_case = len(words) > 1 and all(word[:1].isupper() for word in words if len(word) > 3)
        for at, word in enumerate(words):
            if word[:1].isupper() and word[1:].islower() and (at == 0 or is_title_case):
                is_noun = at == 0 and (is_plural(word) or _MASS_NOUN.search(word) or word not in self._words)
                words[at] = word.lower() if is_noun or word.lower() in self._words else word
        return " ".join(words)


def questions_by_rules(knowledge: KnowledgeText) -> Iterator[CompetencyQuestion]:
    """Every question of the rules: sections without content first, then principles, then the other headings."""
    headings = HeadingQuestions(knowledge)
    found = [one for page in knowledge.pages for one in (*_of_sections(page, headings), *_of_principles(page))]
    order = list(QuestionSource)
    yield from sorted(found, key=lambda one: order.index(one.kind))


def section_questions(page: KnowledgePage, headings: HeadingQuestions) -> list[tuple[str, DocumentSection]]:
    """A page's questions, each with its section; the widest form ("What does the documentation say …") comes last."""
    found = []
    for section in page.sections:
        names = section.headings or (page.name,)
        if len(names) == 1 and (page.is_index or page.is_instructions):
            continue  # the title of such a page names the project
        asked = ""
        if section.line == 1 and page.text.startswith("---") and section.blocks:
            description = re.split(r"[.。](?:\s|$)", section.blocks[0].text, maxsplit=1)[0]
            asked = headings.of_instruction(description) if len(description.split()) <= 14 else ""
        asked = asked or headings.of_heading(names[-1], names[:-1], page.path)
        if asked:
            found.append((asked, section))
    return sorted(found, key=lambda pair: (pair[0].startswith(_SAYS), -len(pair[1].headings)))


def written_headings(page: KnowledgePage) -> set[tuple[str, ...]]:
    """Return the headings with content below them, directly or in a deeper section; "TODO" is no content."""
    return {
        section.headings[:depth]
        for section in page.sections
        if any(not _UNFINISHED.match(block.text) for block in section.blocks)
        for depth in range(len(section.headings) + 1)
    }


def _of_sections(page: KnowledgePage, headings: HeadingQuestions) -> Iterator[CompetencyQuestion]:
    """Yield a question for each section, marked as a stub if the section has no content."""
    written = written_headings(page)
    for asked, section in section_questions(page, headings):
        kind, why = QuestionSource.STRUCTURE, f"heading {plain_heading((section.headings or (page.name,))[-1])!r}"
        if section.headings not in written:
            kind, why = QuestionSource.STUB, "a section without content"
        yield CompetencyQuestion(asked, kind, why, page.path, section.line)


def _of_principles(page: KnowledgePage) -> Iterator[CompetencyQuestion]:
    """Yield questions about the bullets of CLAUDE.md and the like: why a rule holds, or what if its command fails."""
    items = [block for section in page.sections for block in section.blocks if block.kind is BlockKind.ITEM]
    for block in items if page.is_instructions else ():
        rule = _RULE_END.sub("", block.text).strip()
        if match := _ADVICE.match(rule):
            word = match[1].lower().replace("do not", "not").replace("don't", "not")
            asked = f"Why should you {word} {match[2]}?"
        elif match := _DUTY.match(rule):
            asked = f"Why {match[2]} {match[1][0].lower() + match[1][1:]} {match[3]}?"
        elif match := _COMMAND.search(rule):
            asked = f"What do you do when `{match[1]}` fails?"
        else:
            continue
        yield CompetencyQuestion(asked, QuestionSource.PRINCIPLE, f"the rule {rule[:80]!r}", page.path, block.line)


def plain_heading(heading: str) -> str:
    """A heading without numbering, emoji, anchor, subtitle and closing mark."""
    name = re.sub(r"[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+|\s*\{#?[^}]*\}$", "", " ".join(heading.split()))
    name = _NUMBERING.sub("", name.strip())
    return _SUBTITLE.sub("", name).strip().rstrip(":.。：").strip() or name


def is_plural(noun: str) -> bool:
    """Report whether a noun looks plural."""
    low = noun.lower()
    return len(low) > 3 and low.endswith("s") and not low.endswith(("ss", "us", "is", "ics", "news"))


def _of_question(name: str) -> str:
    """A heading that is a question already, or nearly."""
    if name.endswith("?"):
        return name
    if match := re.match(r"^(how|when|where) to ([a-z].+)$", name, re.IGNORECASE):
        return f"{match[1].capitalize()} do you {match[2]}?"
    if match := re.match(r"^how (.+) (is|are) (\w+ed\b.*)$", name, re.IGNORECASE):
        return f"How {match[2]} {match[1]} {match[3]}?"
    if match := re.match(r"^how (.+) works?$", name, re.IGNORECASE):
        return f"How {'do' if is_plural(match[1]) else 'does'} {match[1]} work?"
    if match := re.match(r"^when (.+ fails?)$", name, re.IGNORECASE):
        return f"What do you do when {match[1]}?"
    if re.match(r"^(?:what|which|who|how|when|where|why) (?:is|are|does|do|can|should|must)\b.", name, re.IGNORECASE):
        return f"{name}?"
    return ""


def _of_code(name: str, path: str) -> str:
    code = name if name.startswith("`") else f"`{name}`"
    if _RUNBOOK.search(path) and name[0].isupper():
        return f"What do you do when {code} fires?"
    is_action = name.strip("`").startswith("-") or name.strip("`").endswith(")")
    return f"What does {code} do?" if is_action else f"What is {code} for?"


def _in_chinese(name: str) -> str:
    if name.endswith(("?", "？")):
        return name
    if re.match(r"^(?:如何|怎么|怎样|为什么|什么是|何时)", name):
        return f"{name}？"
    is_action = re.match(r"^(?:添加|新增|创建|配置|安装|部署|删除|使用|设置|编写|运行|启动|处理|迁移)", name)
    return f"如何{name}？" if is_action else f"{name}是什么？"
