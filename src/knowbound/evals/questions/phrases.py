"""A heading as the question that a reader would bring to it (specification 1, section 9).

"Add a migration" → how do you add one; "Rollback" → how is what stands above it rolled back; "Notifier" → what is it
and when is it used; "Connection refused" below "Troubleshooting" → what do you do about it.
"""

from __future__ import annotations

import re

from knowbound.evals.questions.base import KnowledgeBase, is_generic, is_plural
from knowbound.evals.questions.words import (
    ABSTRACT,
    AFTER_A_VERB,
    FACETS,
    GERUNDS,
    NOUN_OR_VERB,
    NOUNS_AFTER_GERUND,
    NOUNS_WITH_PREPOSITION,
    OF_EVERYTHING,
    PROCESSES,
    SILENT,
    TROUBLE,
    TROUBLE_CLAUSE,
    TROUBLE_MESSAGE,
    TROUBLE_PAGES,
    VERBS,
    gerund,
)
from knowbound.text.terms import canonical

_LEADING = re.compile(
    r"^(?:(?:step|part|chapter|section|phase|task)\s+)?(?:\d+(?:\.\d+)*|[ivx]+)\s*[.):–—-]+\s+"
    r"|^(?:step|part|phase)\s+\d+\s*"
    r"|^(?:tip|note|tutorial|how-?to|guide|example|recipe|run-?book|play-?book|reference|checklist|skill|rfc|adr|sop)"
    r"(?:\s*:|\s[–—-])\s+",
    re.IGNORECASE,
)
_SIGNS = re.compile(r"[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+|^[^\w`\"'(\[<@./$-]+")
_VERSION = re.compile(
    r"^\W*(?:v(?:ersion)?\s*)?\d+(?:[.x]\d*)+\S*(?:\s.*)?$|^\W*\d{4}-\d{2}(?:-\d{2})?.*$", re.IGNORECASE
)
_IDENTIFIER = re.compile(
    r"^`[^`]+`$|^[\w.]+\([^)]*\)(?:\s*[:→-].*)?$|^--?[a-z][\w-]*$|^[a-z]+(?:[A-Z][a-z0-9]*)+$|^\w+_\w+$|^@\w[\w./-]*$"
    r"|^[a-z]\w*(?:\.\w+)+$|^[a-z]{3,}(?:-[a-z0-9]{3,})+$|^[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+$"
)
_CALL = re.compile(r"\(.*\)$")
_ASKS = re.compile(r"^(?:how|what|when|where|which|who|why|can|should|is|are|do|does)\b", re.IGNORECASE)
_HOW_IT = re.compile(r"^how (?:(?:do|does) )?(.+?) (works?|is \w+ed|are \w+ed)( .+)?$", re.IGNORECASE)
_PARTED = re.compile(r":\s+| [–—-] ")
_APPOSITION = re.compile(r",\s+(?:the|an?|our)\s.*$", re.IGNORECASE)  # "Shelf, the feature store"
# By itself such a heading only says when or where: "After an incident", "In CI".
_PREPOSITION = re.compile(
    r"^(?:after|at|before|below|beyond|between|by|during|for|from|in|inside|on|per|to|under|via|with|within|without)\s",
    re.IGNORECASE,
)
_VERSUS = re.compile(r"^(.+?)\s+(?:vs\.?|versus)\s+(.+)$", re.IGNORECASE)
_HAPPENED = re.compile(r"\b(?:incident|outage|post-?mortem)\b", re.IGNORECASE)
_STATES = re.compile(r"\b(?:is|are|was|were|must|should|has|have|will|can|don't|do not|never|always)\b", re.IGNORECASE)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_RUNBOOK = re.compile(r"(?:^|/)(?:run-?books?|play-?books?|alerts?)/", re.IGNORECASE)
_DOING = frozenset(GERUNDS)
_WITH = re.compile(r"^[\w` .-]{3,40} with [\w` .-]{3,40}$", re.IGNORECASE)
_OVER = re.compile(r"^([\w` -]{3,30}) over ([\w` -]{3,30})$", re.IGNORECASE)
# "Upgrade guide" is a noun, though it begins with a verb.
_PAPERS = frozenset(
    canonical(noun)
    for noun in "check window freeze "
    "guide note process policy strategy path instruction procedure checklist script flow plan tool mode "
    "info level".split()
)
_SMALL = frozenset("with from into over your that this when using without through between after before their".split())
_MASS = re.compile(r"(?:ing|tion|sion|ment|ity|ness|ance|ence|ship|ics|ism|age)$")  # no things: they are for nothing
_DEED = re.compile(r"(?:ing|tion|sion|ment)$")
_THING = 3  # words of the name of a thing at most; a longer heading names a subject
_MOST_WORDS = 12  # a longer heading is a sentence, and says itself what it is about


def cleaned(heading: str) -> str:
    """A heading without numbering, signs and a closing mark."""
    heading = _SIGNS.sub("", " ".join(heading.split())).strip()
    heading = re.sub(r"\s*\{#?[^}]*\}\s*$|\s*\(#\d+\)\s*$", "", heading)  # an anchor "{#setup}", an issue "(#12)"
    heading = re.sub(
        r"^(?:the |an? )?(?:[\w’']+ )?(?:guide|introduction|intro|tutorial) (?:to|for|on) ", "", heading, flags=re.I
    )
    return _LEADING.sub("", heading).strip().rstrip(":.。：").strip()


class Asking:
    """Makes questions of headings, with the spelling of one knowledge base."""

    def __init__(self, base: KnowledgeBase) -> None:
        self.base = base

    def of_heading(self, heading: str, above: tuple[str, ...] = (), path: str = "") -> str:
        """The question, or an empty string where the heading asks nothing. `above` are the headings over it."""
        name = _APPOSITION.sub("", cleaned(heading))
        if not name or _VERSION.match(name) or len(name.split()) > _MOST_WORDS:
            return ""
        if _CHINESE.search(name):
            return _in_chinese(name)
        subject = self.subject(above)
        key = re.sub(r"[^\w' -]", "", name).strip().lower()
        if key in FACETS and not _IDENTIFIER.match(name):
            return self._of_facet(key, subject) if subject else self._of_facet_alone(name)
        if is_generic(name, SILENT) or _PREPOSITION.match(name):
            return ""
        if _PARTED.search(name):
            return self._of_parts(name, above, path)
        if re.match(r"(?:how|what|when|where|why|which|who)\b", name, re.IGNORECASE):
            return self._as_question(name)
        return (
            self._as_question(name)
            or self._of_identifier(name, above, path)
            or self._of_trouble(name, above)
            or self.of_instruction(name)
            or self._of_noun(name, subject)
        )

    def facet(self, heading: str, subject: str) -> str:
        """What a heading that others have asks of a subject that lacks it."""
        name = cleaned(heading)
        if _CHINESE.search(name + subject):
            return f"{subject}的{name}是什么？"
        key = re.sub(r"[^\w' -]", "", name).strip().lower()
        if key in FACETS:
            return self._of_facet(key, self.phrase(subject))
        if is_generic(name, SILENT) or len(name.split()) > 4 or _ASKS.match(name):
            return ""
        about = self.phrase(subject)
        if verb := self._verb(name) or (name.lower() if name.lower() in VERBS else ""):
            return f"How do you {' '.join([verb, *self._spelled(name).split()[1:]])} for {about}?"
        return f"What is there to know about {self.phrase(name)} for {about}?"

    def of_title(self, title: str) -> str:
        """What one asks first of a page that is about the whole."""
        name = re.sub(r"^welcome to (?:the )?", "", _main_part(cleaned(title)), flags=re.IGNORECASE)
        if not name or _ASKS.match(name) or self._verb(name) or len(name.split()) > 5 or is_generic(name, SILENT):
            return ""
        if re.match(r"(?:CLAUDE|AGENTS?|GEMINI|README)(?:\.md)?$", name, re.IGNORECASE):
            return ""
        if _CHINESE.search(name):
            return f"{name}是什么？"
        phrase = self.phrase(name)
        return f"What is {_the(phrase) if ' ' in phrase and phrase[0].islower() else phrase}?"

    def of_rules(self, heading: str) -> str:
        """What one asks of a section that lists rules."""
        name = cleaned(heading)
        if not name or len(name.split()) > 3 or self._verb(name) or _ASKS.match(name) or is_generic(name, SILENT):
            return ""
        if _CHINESE.search(name) or _IDENTIFIER.match(name) or name.lower() in FACETS or ":" in name:
            return ""
        words = self._spelled(name)
        if canonical(words.split()[-1].lower()) in {canonical(one) for one in ABSTRACT}:
            return f"What are {_the(words)}?" if is_plural(words.split()[-1]) else ""
        about = words[0].lower() + words[1:] if words[1:].islower() else words
        return f"Which rules does the documentation give for {about}?"

    def when_it_fails(self, heading: str) -> str:
        """What one asks of a procedure that does not go as it is told."""
        name = cleaned(heading)
        if _CHINESE.search(name) or len(name.split()) > 8:
            return ""
        verb = self._verb(name)
        return f"What do you do when {_gerund_phrase(self._spelled(name), verb)} fails?" if verb else ""

    def subject(self, above: tuple[str, ...]) -> str:
        """What the headings over this one are about: the nearest that says something."""
        for heading in reversed(above):
            name = _main_part(cleaned(heading))
            key = name.lower()
            if name and key not in FACETS and not is_generic(name, SILENT) and len(name.split()) <= 6:
                return self.phrase(name)
        return ""

    def phrase(self, text: str) -> str:
        """A name as it stands inside a sentence, with an article where the knowledge base uses one."""
        text = _main_part(cleaned(text).rstrip("?"))
        if _IDENTIFIER.match(text):
            return text if text.startswith("`") else f"`{text}`"
        verb = self._verb(text)
        if verb:
            return _gerund_phrase(self._spelled(text), verb)
        return self.base.with_article(self._spelled(text))

    def _spelled(self, text: str) -> str:
        """Words of a Title Case heading in lower case; in any other, a capital after the first word is a name's."""
        later = [
            word
            for word in re.sub(r"`[^`]*`", "", text).split()[1:]
            if len(word) > 3 and word[0].isalpha() and word.lower() not in _SMALL
        ]
        is_title_case = bool(later) and all(word[0].isupper() for word in later)
        parts = re.split(r"(`[^`]*`)", text)
        for at, part in enumerate(parts):
            if part.startswith("`"):
                continue
            words = part.split(" ")
            for place, word in enumerate(words):
                if is_title_case or (at == 0 and place == 0):
                    words[place] = self.base.spelled(word, is_alone=" " not in text)
            parts[at] = " ".join(words)
        return "".join(parts)

    def _of_facet_alone(self, name: str) -> str:
        """A page that is named by a facet is about that side of everything: "On call", "Testing"."""
        words = self._spelled(name).split()
        words[0] = words[0].lower() if words[0][1:].islower() else words[0]
        if name.lower() in ("architecture", "design"):
            return f"What is the {name.lower()} like?"
        if _ASKS.match(name):
            return self._as_question(name)
        if name.lower() not in OF_EVERYTHING:
            return ""
        if words[-1].lower() in PROCESSES:
            return f"How does the {' '.join(words)} work?"
        if not _DEED.search(words[-1]) and not is_plural(words[-1]):
            return _told_of(" ".join(words))
        return f"How {'are' if is_plural(words[-1]) else 'is'} {' '.join(words)} done here?"

    def _of_facet(self, key: str, subject: str) -> str:
        """The question of a facet, with verbs that agree with its subject."""
        words = subject.split()
        head = _head_noun(words)
        is_one = subject.startswith("`") or head.lower() in self.base.names or words[0] in _DOING
        plural = is_plural(head) and not is_one
        verbs = {"is": "are", "does": "do"} if plural else {"is": "is", "does": "does"}
        return FACETS[key].format(x=subject, **verbs)

    def _as_question(self, name: str) -> str:
        """A heading that is a question already, or nearly."""
        if not _ASKS.match(name):
            return ""
        if name.endswith("?"):
            return name
        low = name[0].upper() + self._spelled(name)[1:]
        if match := re.match(r"^(how|when|where|what|why) to (.+)$", low, re.IGNORECASE):
            return f"{match[1].capitalize()} do you {match[2]}?"
        if match := _HOW_IT.match(low):
            plural = is_plural(match[1].split()[-1])
            if match[2].lower().startswith("work"):
                return f"How {'do' if plural else 'does'} {match[1]} work{match[3] or ''}?"
            verb, done = match[2].split(" ", 1)
            return f"How {verb} {match[1]} {done}{match[3] or ''}?"
        if match := re.match(r"^why (?!is\b|are\b|do\b|does\b|not\b)(.+)$", low, re.IGNORECASE):
            return f"Why is {match[1]} used?" if len(match[1].split()) <= 3 else ""
        if match := re.match(r"^(how|when|where) (?:do|does|is|are|can|should) .+$", low, re.IGNORECASE):
            return f"{low}?"
        if re.match(r"^(?:what|which|who) (?:is|are|does|do|happens)\b", low, re.IGNORECASE):
            return f"{low}?"
        return ""

    def _of_identifier(self, name: str, above: tuple[str, ...], path: str) -> str:
        if not _IDENTIFIER.match(name):
            return ""
        code = name if name.startswith("`") else f"`{name}`"
        if _RUNBOOK.search(path) and name[0].isupper():
            return f"What do you do when {code} fires?"
        inner = code.strip("`")
        if _CALL.search(inner) or inner.startswith("-"):
            return f"What does {code} do?"
        owner = self.subject(above)
        return f"What is {code} for in {owner}?" if owner and owner.strip("`") not in inner else f"What is {code} for?"

    def _of_trouble(self, name: str, above: tuple[str, ...]) -> str:
        below_trouble = any(cleaned(one).lower() in TROUBLE_PAGES for one in above[-1:])
        if not below_trouble and not TROUBLE.search(name):
            return ""
        if re.search(r"\b(?:handling|handler|codes?|messages?|types?|classes|modes)\b", name, re.IGNORECASE):
            return ""
        if self._verb(name) and not re.search(r"\b(?:failed|fails)$", name, re.IGNORECASE):
            return ""
        if TROUBLE_CLAUSE.search(name):
            return f"What do you do when {self.base.with_article(self._spelled(name))}?"
        if TROUBLE_MESSAGE.search(name):
            return f'What do you do about "{name}"?'
        return f"What do you do about {self.phrase(name)}?"

    def of_instruction(self, name: str) -> str:
        """How to do what a text tells to do, or an empty string where it tells nothing of the kind."""
        verb = self._verb(name)
        if not verb:
            return ""
        rest = self._spelled(name).split(" ")[1:]
        return f"How do you {' '.join([verb, *rest])}?" if rest else f"How do you {verb} here?"

    def _verb(self, name: str) -> str:
        """The verb of a heading that tells someone to do something, or an empty string."""
        words = name.split()
        first = words[0].lower().strip(",")
        follows = words[1].lower().strip("`") if len(words) > 1 else ""
        if follows in ("of", "it", "and", "or") or (len(words) > 2 and words[2].lower() == "of" and first in GERUNDS):
            return ""  # "Change of schema" is a noun, and "putting it to the test" says nothing
        if len(words) == 2 and self.base.with_article(name.lower()) != name.lower():
            return ""  # its own prose speaks of "the commit queue"
        if first in VERBS:
            is_noun = len(words) == 2 and canonical(follows) in _PAPERS
            return first if len(words) > 1 and "," not in words[0] and not is_noun else ""
        object_follows = follows in AFTER_A_VERB or (len(words) > 1 and words[1].startswith("`"))
        if first in NOUN_OR_VERB:
            object_follows = object_follows or "using" in (word.lower() for word in words[2:])
            is_noun = first in NOUNS_WITH_PREPOSITION and follows in ("to", "from", "with", "into")
            return first if object_follows and not is_noun else ""
        if first in GERUNDS and len(words) > 1:
            last_is_noun = canonical(words[-1].lower()) in {canonical(noun) for noun in NOUNS_AFTER_GERUND}
            if object_follows or (not last_is_noun and follows not in ("and", "or", "of", "is")):
                return GERUNDS[first] if not (GERUNDS[first] in NOUN_OR_VERB and not _takes_object(words)) else ""
        return ""

    def _of_noun(self, name: str, subject: str) -> str:
        if match := _VERSUS.match(name):
            return f"What is the difference between {self._spelled(match[1])} and {self._spelled(match[2])}?"
        if match := _OVER.match(name):
            return f"When do you prefer {self._spelled(match[1])} over {self._spelled(match[2])}?"
        if _HAPPENED.search(name):
            return f"What happened in {_the(self._spelled(name))}?"
        is_use = _WITH.match(name) and len(name.split()) <= 6 and not _ASKS.match(name)
        if is_use and canonical(_head_noun(name.split()).lower()) not in {canonical(one) for one in ABSTRACT}:
            return f"How do you use {self._spelled(name)}?"
        words = self._spelled(name).rstrip("?!").split()
        if len(words) == 1 and words[0].lower() in VERBS:
            return ""
        if _STATES.search(name) and len(words) > 3:
            return ""  # a statement: the heading is the answer
        head = _head_noun(words)
        phrase = self.phrase(" ".join(words))
        plural = is_plural(head) or bool(re.search(r"\band\b|, ", name))
        below = self._below(phrase, subject) if len(words) == 1 else ""
        if canonical(head.lower()) in {canonical(one) for one in PROCESSES}:
            return f"How does {_the(phrase)}{below} work?"
        if canonical(head.lower()) in {canonical(one) for one in ABSTRACT}:
            if len(words) == 1 and not below:
                return ""
            return f"What {'are' if plural else 'is'} {_the(phrase)}{below}?"
        if plural and len(words) == 1 and not below:
            return f"Which {words[0].lower() if words[0].istitle() else words[0]} are there?"
        if not plural and not _MASS.search(head) and phrase.startswith("the ") and len(words) <= _THING:
            return f"What is {phrase}{below} for?"
        return _told_of(f"{phrase}{below}")

    def _below(self, phrase: str, subject: str) -> str:
        """A single word means little without what it stands under."""
        if not subject or subject.removeprefix("the ").lower() in phrase.lower() or subject.startswith("`"):
            return ""
        return f" in {subject}" if len(subject.split()) <= 4 and subject.split(maxsplit=1)[0] not in _DOING else ""

    def _of_parts(self, name: str, above: tuple[str, ...], path: str) -> str:
        """ "Plugins: registering one": the first part is what it is about, unless it only labels the second."""
        first, second = (part.strip() for part in _PARTED.split(name + ": ", maxsplit=1)[:2])
        second = second.rstrip(": ").strip()
        if _HAPPENED.search(first):
            spelled = _PARTED.split(self._spelled(name))[0]
            return f"What happened in {_the(spelled)}?"
        if not second or ":" in first:
            return self.of_heading(first, above, path) if first != name else ""
        if second.lower() in FACETS:
            return self.of_heading(second, (*above, first), path)
        return self.of_heading(first, above, path)


def _main_part(name: str) -> str:
    """A heading without its subtitle: "Kestrel team: instructions for agents" is about the team."""
    return name if _IDENTIFIER.match(name) else _APPOSITION.sub("", _PARTED.split(name, maxsplit=1)[0])


def _told_of(phrase: str) -> str:
    """The widest question: its own words ask for nothing that a passage on the subject would have to say."""
    return f"What does the documentation say about {phrase}?"


def weight(question: str, depth: int) -> int:
    """How much a question says by itself: what is asked of a title or of one bare word is asked last."""
    if re.match(r"(?:How do you|What do you|Why|Who|When|Where|What is the difference|How (?:is|are))\b", question):
        return 3
    if re.match(r"What (?:is|are) [^`]+ for\?|Which \w+ are there|What does the documentation say", question):
        return 1 if depth > 1 else 0
    return 2 if depth > 1 else 1


def _takes_object(words: list[str]) -> bool:
    """ "Testing applications" has an object; "Logging levels" and "Routing" do not."""
    has_more = len(words) > 3 and any(
        word.lower() in ("with", "for", "from", "to", "in", "on", "as") for word in words[2:]
    )
    return is_plural(words[-1]) or words[1].lower() in AFTER_A_VERB or words[1].startswith("`") or has_more


def _gerund_phrase(text: str, verb: str) -> str:
    return " ".join([gerund(verb), *text.split(" ")[1:]])


def _head_noun(words: list[str]) -> str:
    """The noun that the rest describes: the last before a preposition."""
    for at, word in enumerate(words):
        if at and word.lower() in (
            "of",
            "for",
            "in",
            "with",
            "to",
            "from",
            "on",
            "by",
            "at",
            "without",
            "between",
            "as",
        ):
            return words[at - 1]
    return words[-1]


def _the(phrase: str) -> str:
    return phrase if phrase.startswith(("the ", "`", "your ", "our ")) else f"the {phrase}"


def _in_chinese(name: str) -> str:
    if name.endswith(("?", "？")):
        return name
    if re.match(r"^(?:如何|怎么|怎样|为什么|什么是|何时)", name) or name.endswith(("是什么", "怎么办")):
        return f"{name}？"
    if re.match(r"^(?:概述|简介|介绍|目录|示例|附录|参考|前言|说明|其他|背景|待办|路线图)$", name):
        return ""
    if re.search(r"(?:失败|错误|异常|超时|故障|报错)$", name):
        return f"遇到{name}时怎么办？"
    if re.match(
        r"^(?:添加|新增|创建|配置|安装|部署|发布|回滚|更新|升级|删除|使用|设置|编写|运行|启动|处理|迁移)", name
    ):
        return f"如何{name}？"
    return f"{name}是什么？"
