"""Gaps from which a sample can be drafted (topics of observed work, open signals of an evaluation), and the question.

A failed search, a hedge or a marker (specification 1, section 8) becomes a question that a person would ask only if a
name, a pattern or the agent's own words say clearly what is missing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

import msgspec

from knowbound.codebase.tree import SourceTree
from knowbound.core.paths import DOCUMENTS, extension, is_test
from knowbound.core.signal import Signal, SignalType, Topic
from knowbound.evals.questions.knowledge_text import CHINESE
from knowbound.evals.questions.scope import gives_orders, unfit
from knowbound.gaps.wanted import plain_name, specific_words, words_in
from knowbound.report.gaps.topics import cost_words, endings_words
from knowbound.text.redact import redact
from knowbound.text.terms import split_words

_PATH = re.compile(r"[\w.~@*-]*(?:/[\w.@*-]+)+|\.?[\w-]+\.[a-z]{1,5}")
_NAME = re.compile(r"[A-Za-z_][\w-]*")
_KEYWORDS = re.compile(
    r"^(?:(?:export|pub|async|static|public|private|func|function|def|class|struct|type|interface|enum|const|var|let)\s)+"
    r"|\s(?:struct|interface|class)$"
)
_REGEX = re.compile(r"\\[bBswdWSD]|\(\?[:=!i][^)]*|[\^$*+?{}\[\]\\]|\.\*|\.\+")
_MARKER = re.compile(r"【[^】]{1,12}】|\[(?:inferred|unknown|knowledge gap)\]", re.IGNORECASE)
# What an agent says that it does not know, or looks for: "not sure whether …", "find out where …".
_UNKNOWN = re.compile(
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
_TAIL = re.compile(r",? (?:so|but|and so|because|since|therefore|hence)\b.*$|,\s*$", re.IGNORECASE)
_PURPOSE = re.compile(r" (?:to|so|and|for|before|first|again)\b.*$")
# Words that mean something only in their own conversation.
_CONVERSATION = re.compile(
    r"\b(?:I|my|me|we|our|us|you|your|this|that|these|those|it|its|here|above|below)\b", re.IGNORECASE
)
_STATEMENT = re.compile(r"^[A-Z`][^.?!]{15,160}[.!]?$")
_CHINESE_UNKNOWN = re.compile(r"^(?:我)?(?:不确定|不清楚|无法确认|需要查证)([^，。！；]{4,60})")
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
    """Return the question behind a search that missed; "" if neither the agent's words nor the search name a subject.

    Where a thing is, is asked only where some session found it: a name that nobody found may not exist.
    """
    wanted = wanted.strip().strip("\"'")
    subject_words = frozenset[str]().union(*map(specific_words, re.split(r"[\s/.|]+", wanted)))
    sentence = " ".join(said.split())
    if not subject_words.isdisjoint(words_in(sentence)) and not CHINESE.search(sentence):
        if sentence.endswith("?"):
            return "" if _CONVERSATION.search(sentence) or unfit(sentence) else sentence
        clause = _PURPOSE.sub("", _clause(_SEEKS, sentence))
        if clause and "/" not in clause and not subject_words.isdisjoint(words_in(clause)):
            return f"Can you say {clause}?"
    return _by_name(wanted, answers)


def _clause(pattern: re.Pattern[str], sentence: str) -> str:
    """Return the clause that a pattern finds, where it is clear without the conversation; else ""."""
    found = pattern.search(sentence)
    clause = _TAIL.sub("", found[1]).strip() if found else ""
    return "" if not clause or _CONVERSATION.search(clause) else clause[0].lower() + clause[1:]


def _by_name(wanted: str, answers: Collection[str]) -> str:
    """Make a question from the name alone: a subject, a name in code, or a file in another place."""
    if CHINESE.search(wanted):
        words = re.findall(r"[\u4e00-\u9fff]{2,}", wanted)
        return f"{words[0]}是什么？" if words else ""
    if _PATH.fullmatch(wanted):
        name = wanted.rpartition("/")[2]
        stem, _, ending = name.rpartition(".")
        if any(answer.rpartition("/")[2] == name for answer in answers):
            return f"Where is `{name}`?" if "*" not in name and specific_words(stem or name) else ""
        return _of_subject(stem) if ending.lower() in DOCUMENTS and not answers else ""
    for part in re.split(r"\\?\||\s·\s", wanted):
        name = _KEYWORDS.sub("", _REGEX.sub(" ", part).strip().strip(".:=-_/()\"'").strip())
        if _NAME.fullmatch(name) and len(split_words(name)) >= _LEAST_WORDS:
            if answers:
                return f"Where is `{name}` defined?"
            return "" if is_in_code(name) else _of_subject(name)
    return ""


def is_in_code(name: str) -> bool:
    """`getUserName` and `MAX_TRIES` are things in code; `refund_policy` is a subject."""
    return name != name.lower()


def _of_subject(name: str) -> str:
    """Ask what is written about the words of a name; "" if they are too few, too many or too common."""
    words = split_words(name)
    if not _LEAST_WORDS <= len(words) <= _MOST_WORDS or len(specific_words(name)) < len(words):
        return ""
    return f'What is written about "{" ".join(words)}"?'


def question_of_hedge(text: str) -> str:
    """Return the question that a hedge or a marked guess leaves open; "" if it needs the conversation."""
    sentence = " ".join(text.split())
    if clause := _clause(_UNKNOWN, sentence):
        return f"Can you say {clause}?"
    bare = _MARKER.sub("", sentence).strip(" :-")
    if unknown := _CHINESE_UNKNOWN.match(bare):
        return f"{unknown[1]}？"
    claim = re.split(r"(?<=[.!])\s|;\s|[。！；]", bare)[0].strip()
    if bare == sentence or _CONVERSATION.search(claim):  # without a marker it is no guess of the agent
        return ""
    if CHINESE.search(claim):
        return f"“{claim}”对吗？" if 6 <= len(claim) <= 60 else ""
    return f'Is this right: "{claim.rstrip(".!")}"?' if _STATEMENT.match(claim) else ""


REDACTED = "[redacted:"
_MOST_CONTEXT = 400
_LEAST_CONTEXT = 2  # words
# What only the conversation explains: "do it again", "the second one".
_POINTS_BACK = re.compile(
    r"\b(?:this|that|these|those|it|them|above|below|again|yes|yeah|ok|okay|sure|still|let's)\b", re.IGNORECASE
)
_MOST_ANSWERS = 3  # a name that more files define has no place of its own
_WANTED_PATH = re.compile(r"(?=.*[/.])[\w.~@*/-]+")
_RELATIVE = re.compile(r"[\w.@+-]+(?:/[\w.@+()\[\]-]+)*")


class Gap(msgspec.Struct, frozen=True):
    """Something that an agent did not find or was not sure of, with the user's prompt of that turn."""

    why: str  # for the person who decides
    metadata: dict[str, object]
    wanted: str = ""  # what it searched for
    doubt: str = ""  # the sentence in which it was not sure
    said: str = ""  # the agent's own words beside a search
    is_found: bool = False  # every session found it in the end
    answers: tuple[str, ...] = ()  # paths where it is
    prompt: str = ""

    @property
    def has_secret(self) -> bool:
        """Report whether the missing thing cannot be named because its words contain a secret."""
        shown = f"{self.wanted} {self.doubt}"
        return REDACTED in shown or redact(shown) != shown

    @property
    def context(self) -> str:
        """Return the user's task in that turn; "" if another agent may not see it, or it is unclear by itself."""
        task = " ".join(self.prompt.split())
        if len(task) > _MOST_CONTEXT or REDACTED in task or redact(task) != task or task.startswith("<"):
            return ""
        is_clear = len(task.split()) >= _LEAST_CONTEXT and not _POINTS_BACK.search(task)
        return f"Asked while working on: {task}" if is_clear and not gives_orders(task) else ""


def gap_of_topic(topic: Topic, prompt: str = "", project: SourceTree | None = None) -> Gap:
    """A topic, by the first of its names that has an answer; one of words only has its sentence as its title."""
    is_doubt = topic.title == topic.said
    names = [topic.title] if is_doubt else topic.title.split(", ")
    answered = ((name, known_answers(name, topic, project)) for name in names)
    wanted, answers = next(((name, paths) for name, paths in answered if paths), (names[0], ()))
    first = topic.examples[0] if topic.examples else None
    words = [f"{topic.title}: {cost_words(topic)} · {endings_words(topic)}"]
    words += [f'the user: "{topic.correction}"'] if topic.correction else []
    return Gap(
        why="; ".join(words),
        metadata={
            "drafted_from": "gap",
            "status": "proposed",
            "topic": topic.id,
            "session": first.session if first else "",
            "file": _file_name(first.file) if first else "",
            "line": first.line if first else 0,
        },
        wanted="" if is_doubt else wanted,
        doubt=topic.title if is_doubt else "",
        said="" if is_doubt else topic.said,
        is_found=not topic.is_open,
        answers=answers,
        prompt=prompt,
    )


def gap_of_signal(signal: Signal, prompt: str = "") -> Gap:
    """Return the gap of an open signal: a search without a result, or words of doubt."""
    searched = signal.type in (SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE)
    words = f'{signal.tool or "search"} "{signal.query}" found nothing' if searched else f'it said: "{signal.text}"'
    name = _file_name(signal.file)
    place = f"{name}:{signal.line}" if signal.line else name or f"sample {signal.sample}"
    return Gap(
        why=f"{words} ({place})",
        metadata={
            "drafted_from": "gap",
            "status": "proposed",
            "session": signal.session,
            "turn": signal.turn,
            "signal": str(signal.type),
            "file": name,
            "line": signal.line,
        },
        wanted=signal.query if searched else "",
        doubt="" if searched else signal.text,
        said=signal.said if searched else "",
        prompt=prompt,
    )


def known_answers(wanted: str, topic: Topic, project: SourceTree | None = None) -> tuple[str, ...]:
    """The paths that can be taken for the answer to a name of the topic; `project` has the files as they are now.

    Of a path: files that share a word with its name, where not several are called so. Of a name: where the project
    defines it; where that is not known, a file that two sessions found or that is called so: one session may have found
    any use of a name, and tests and documents name what they do not define.
    """
    sessions: Counter[str] = Counter()
    for answer in topic.answer:
        if _RELATIVE.fullmatch(answer.path) and (project is None or (project.root / answer.path).exists()):
            sessions[answer.path] += answer.sessions
    if _WANTED_PATH.fullmatch(wanted):
        words = specific_words(_stem(wanted))
        near = [path for path in sessions if any(words & specific_words(part) for part in path.split("/"))]
        same_name = [path for path in near if _last_part(path) == _last_part(wanted)]
        is_unique = project is None or sum(_last_part(path) == _last_part(wanted) for path in project.files) <= 1
        return tuple((same_name or near)[:_MOST_ANSWERS]) if is_unique else ()
    definitions = project.defined(wanted) if project else ()
    paths = [
        definition.path for definition in definitions if not (definition.is_indented and definition.kind == "variable")
    ]  # no local variables
    if not paths and not (project and is_in_code(wanted)):
        agreed = [path for path, count in sessions.items() if min(count, topic.sessions) > 1]
        paths = agreed or [path for path in sessions if plain_name(_stem(path)) == plain_name(wanted)]
    in_code = is_in_code(wanted)  # a document may be the place of a subject, not of a name in code
    places = {path for path in paths if not is_test(path) and not (in_code and extension(path) in DOCUMENTS)}
    return tuple(sorted(places)) if len(places) <= _MOST_ANSWERS else ()


def _last_part(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _stem(path: str) -> str:
    return _last_part(path).lstrip(".").partition(".")[0].replace("*", " ")


def _file_name(file: str) -> str:
    """The file name of a trace: a test set is shared, and its folder exists only on this machine."""
    return file.replace("\\", "/").rpartition("/")[2]
