"""What a sample can be drafted from: a topic of observed work, or an open signal of an evaluation."""

from __future__ import annotations

import re
from collections import Counter

import msgspec

from knowbound.codebase.tree import SourceTree
from knowbound.core.paths import DOCUMENTS, extension, is_test
from knowbound.core.signal import Signal, SignalType, Topic
from knowbound.evals.drafts.wording import is_in_code
from knowbound.evals.questions.scope import gives_orders
from knowbound.gaps.wanted import plain_name, specific_words
from knowbound.report.gaps.topics import cost_words, endings_words
from knowbound.text.redact import redact

REDACTED = "[redacted:"
_MOST_CONTEXT = 400
_LEAST_CONTEXT = 2  # words
# What only the conversation explains: "do it again", "the second one".
_POINTS_BACK = re.compile(
    r"\b(?:this|that|these|those|it|them|above|below|again|yes|yeah|ok|okay|sure|still|let's)\b", re.IGNORECASE
)
_MOST_ANSWERS = 3  # a name that more files define has no place of its own
_PATH = re.compile(r"(?=.*[/.])[\w.~@*/-]+")
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
        """Whether what is missing cannot be named."""
        shown = f"{self.wanted} {self.doubt}"
        return REDACTED in shown or redact(shown) != shown

    @property
    def context(self) -> str:
        """What the user wanted in that turn, where it can be shown to another agent and is clear without the rest."""
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
    wanted, answers = next((one for one in answered if one[1]), (names[0], ()))
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
            "file": _name(first.file) if first else "",
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
    """An open signal."""
    searched = signal.type in (SignalType.FAILED_SEARCH, SignalType.REPEATED_FAILURE)
    words = f'{signal.tool or "search"} "{signal.query}" found nothing' if searched else f'it said: "{signal.text}"'
    name = _name(signal.file)
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
    for one in topic.answer:
        if _RELATIVE.fullmatch(one.path) and (project is None or (project.root / one.path).exists()):
            sessions[one.path] += one.sessions
    if _PATH.fullmatch(wanted):
        words = specific_words(_stem(wanted))
        near = [path for path in sessions if any(words & specific_words(part) for part in path.split("/"))]
        same = [path for path in near if _base(path) == _base(wanted)]
        is_one = project is None or sum(_base(path) == _base(wanted) for path in project.files) <= 1
        return tuple((same or near)[:_MOST_ANSWERS]) if is_one else ()
    definitions = project.defined(wanted) if project else ()
    known = [one.path for one in definitions if not (one.is_indented and one.kind == "variable")]  # no local ones
    if not known and not (project and is_in_code(wanted)):
        agree = [path for path, count in sessions.items() if min(count, topic.sessions) > 1]
        known = agree or [path for path in sessions if plain_name(_stem(path)) == plain_name(wanted)]
    in_code = is_in_code(wanted)  # a document may be the place of a subject, not of a name in code
    places = {path for path in known if not is_test(path) and not (in_code and extension(path) in DOCUMENTS)}
    return tuple(sorted(places)) if len(places) <= _MOST_ANSWERS else ()


def _base(path: str) -> str:
    return path.rstrip("/").rpartition("/")[2]


def _stem(path: str) -> str:
    return _base(path).lstrip(".").partition(".")[0].replace("*", " ")


def _name(file: str) -> str:
    """The file name of a trace: a test set is shared, and its folder exists only on this machine."""
    return file.replace("\\", "/").rpartition("/")[2]
