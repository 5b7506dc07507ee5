"""Lessons by meaning: a model says which misses of a project are worth a line, names them and words the line.

It sees the misses of all sessions in groups, with what they cost and how they ended. Rules verify every path, name and
command of a line: it is in the tree, or it is what was missed and the tree does not have it. A line that names anything
else is not used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from knowbound.core.lesson import CheckKind, Lesson, LessonEvidence, LessonKind, TreeCheck
from knowbound.gaps.wanted import plain_name, specific_words
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.questions import AnswerSource, sendable
from knowbound.judge.prompts import load_prompt
from knowbound.lessons.invocations import script_name
from knowbound.lessons.kept import failed_commands, failed_lookups
from knowbound.lessons.locations import denied, missed_path, misses
from knowbound.lessons.material import SEVERAL, Corpus, Failure, LessonProposal, Material, SessionMiss
from knowbound.lessons.proposing import clean_line, lesson_of
from knowbound.lessons.verifying import Tree
from knowbound.text.printable import estimated_tokens

_GROUPS, _TOKENS = 40, 6_000  # shown to the model
_MEMBERS, _PLACES = 6, 3  # shown of a group
_WORTH = 6  # calls of one session after which a single miss is shown
_SAID = 160  # characters
_TITLE = 80
_CODE = re.compile(r"`([^`]+)`")


class ModelLine(msgspec.Struct, frozen=True):
    """One line of the model's answer."""

    groups: list[int]
    title: str
    line: str


class ModelLines(msgspec.Struct, frozen=True):
    """The model's answer."""

    lines: list[ModelLine]


class _Group(NamedTuple):
    """Misses that are about one thing, as rules see it."""

    key: str
    kind: LessonKind
    members: list[str]
    evidence: list[LessonEvidence]
    calls: int
    found: list[str]
    ended: dict[str, int]
    said: str
    user: str
    names: frozenset[str]  # by which a later miss is known to be about it
    topics: tuple[str, ...] = ()
    tree: tuple[str, ...] = ()
    worked: tuple[str, ...] = ()  # commands that ran afterwards and succeeded
    denied: frozenset[str] = frozenset()  # places that the user corrected: no line sends anybody there

    @property
    def sessions(self) -> int:
        return len({one.session for one in self.evidence})

    def row(self, number: int) -> dict[str, object]:
        """Return what the model sees."""
        shown = {
            "group": number, "sessions": self.sessions, "calls": self.calls, "members": self.members[:_MEMBERS],
            "found": self.found[:_PLACES], "ended": self.ended, "agent": self.said, "user": self.user,
            "tree": self.tree[:_PLACES], "worked_then": self.worked[:_PLACES],
        }  # fmt: skip
        return {name: value for name, value in shown.items() if value}


def lessons_by_model(corpus: Corpus, asker: Asker) -> tuple[list[Lesson], str]:
    """Return the lessons that a model proposes and rules verify, best first; and the problem if it did not answer."""
    groups = _groups(corpus)
    if not groups:
        return [], ""
    rows = (msgspec.json.encode(one.row(number)).decode("utf-8") for number, one in enumerate(groups, 1))
    source = AnswerSource("", corpus.materials[0].project if corpus.materials else "")
    (asked,) = asker.ask(load_prompt("topics"), [{"groups": sendable("\n".join(rows))}], ModelLines, sources=[source])
    if asked.value is None:
        return [], asked.problem
    used: set[int] = set()
    lessons = []
    for line in asked.value.lines:
        own = [number for number in dict.fromkeys(line.groups) if 1 <= number <= len(groups) and number not in used]
        lesson = _lesson(line, [groups[number - 1] for number in own], corpus, asker.judge) if own else None
        if lesson is not None:
            used.update(own)
            lessons.append(lesson)
    return lessons, ""


# Groups


def _groups(corpus: Corpus) -> list[_Group]:
    """Return what a model is asked about: most calls first, as much as fits."""
    groups = [*_lookups(corpus), *_commands(corpus.materials)]
    groups = [one for one in groups if one.sessions >= SEVERAL or one.calls >= _WORTH]
    groups.sort(key=lambda one: (-one.calls * one.sessions, one.key))
    left, kept = _TOKENS, list[_Group]()
    for one in groups[:_GROUPS]:
        left -= estimated_tokens(msgspec.json.encode(one.row(1)).decode())
        if left >= 0:
            kept.append(one)
    return kept


def _lookups(corpus: Corpus) -> Iterator[_Group]:
    by_topic: dict[str, list[SessionMiss]] = {}
    disputed = denied(corpus)
    for one in misses(corpus):
        key = corpus.topic_of.get(id(one.signal)) or missed_path(one) or " ".join(one.signal.names[:1])
        if key:
            by_topic.setdefault(key, []).append(one)
    for key, group in by_topic.items():
        signals = [one.signal for one in group]
        tried = dict.fromkeys(missed_path(one) or one.near(one.signal.query) for one in group)
        wrong = dict(disputed[id(one)] for one in group if id(one) in disputed)
        places = (one.near(one.signal.found_at.path) for one in group if one.signal.found_at is not None)
        found = Counter(place for place in places if place not in wrong)
        yield _Group(
            key,
            LessonKind.LOCATION,
            [one for one in tried if one],
            [LessonEvidence(signal.session, signal.line, signal.file) for signal in signals],
            sum(max(1, signal.cost.calls if signal.cost else 1) for signal in signals),
            [place for place, _ in found.most_common(_PLACES) if place and not place.startswith(("/", "~"))],
            dict(Counter(str(signal.ending) for signal in signals if signal.ending)),
            next((signal.said[:_SAID] for signal in signals if signal.said), ""),
            next((text[:_SAID] for text in (*wrong.values(), *(signal.correction for signal in signals)) if text), ""),
            frozenset(name for one in failed_lookups(group) for name in one.names if not name.startswith("folder:")),
            (key,) if key in corpus.topic_of.values() else (),
            tuple(place for place in _in_tree(corpus.tree, tried) if place not in wrong),
            denied=frozenset(wrong),
        )


def _in_tree(tree: Tree | None, tried: Iterable[str]) -> tuple[str, ...]:
    """Return files of the tree whose name has the words of what was looked for."""
    if tree is None:
        return ()
    found: dict[str, None] = {}
    for one in tried:
        last = one.rstrip("/").rpartition("/")[2]
        stem = plain_name(last.partition(".")[0].strip("*"))
        exact = tree.by_name.get(last.lower(), [])
        near = (path for path in sorted(tree.files) if len(stem) > 4 and stem in plain_name(path.rpartition("/")[2]))
        found.update(dict.fromkeys([*exact[:_PLACES], *near]))
    return tuple(sorted(found, key=lambda path: (path.count("/"), path))[:_PLACES])


def _commands(materials: Sequence[Material]) -> Iterator[_Group]:
    """Yield the commands that failed because they were called wrongly, those of one program and subcommand together."""
    by_call: dict[str, list[tuple[Material, Failure]]] = {}
    for material in materials:
        for failure in material.failures:
            if failure.commands:
                by_call.setdefault(" ".join(failure.commands[-1].split()[:3]), []).append((material, failure))
    for call, group in by_call.items():
        lines = {(material.session, failure.line) for material, failure in group}
        then = Counter(
            command for _, failure in group for follow in failure.next[:3] if follow.ok for command in follow.commands
        )
        names = {
            name
            for material in {id(one): one for one, _ in group}.values()
            for one in failed_commands(material)
            if (one.session, one.line) in lines
            for name in one.names
            if name.startswith("misused:")
        }
        yield _Group(
            call,
            LessonKind.COMMAND,
            list(dict.fromkeys(command for _, failure in group for command in failure.commands)),
            [LessonEvidence(material.session, failure.line, failure.file) for material, failure in group],
            len(group),
            [],
            {},
            "",
            next((failure.misused for _, failure in group), ""),
            frozenset(names),
            worked=tuple(command for command, _ in then.most_common(_PLACES)),
        )


# Lines


def _lesson(line: ModelLine, groups: Sequence[_Group], corpus: Corpus, judge: str) -> Lesson | None:
    """Return the line as a lesson; None if it names what neither the tree nor the misses have, or says nothing new."""
    checks = _checks(clean_line(line.line), groups, corpus)
    if checks is None:
        return None
    proposal = LessonProposal(
        groups[0].kind,
        f"group {min(one.key for one in groups)}",
        line.line,
        tuple(one for group in groups for one in group.evidence),
        sum(one.calls for one in groups),
        tuple(sorted(name for group in groups for name in group.names)),
        checks,
        next((check.path for check in checks if check.kind is CheckKind.FILE), ""),
        "" if checks else "it names nothing that the tree could show",
        tuple(topic for group in groups for topic in group.topics),
    )
    return lesson_of(proposal, corpus, judge, clean_line(line.title)[:_TITLE])


def _checks(text: str, groups: Sequence[_Group], corpus: Corpus) -> tuple[TreeCheck, ...] | None:
    """Return what has to hold in the tree; None if the line names something unseen, or nothing of the misses."""
    tree = corpus.tree
    missed = {member.strip("/") for group in groups for member in group.members}
    seen = missed | {place.strip("/") for group in groups for place in (*group.found, *group.worked)}
    said = [text for group in groups for text in (group.said, group.user)]
    words = {word for one in missed for part in re.split(r"[\s/|]+", one) for word in specific_words(part)}
    checks: list[TreeCheck] = []
    is_about = False
    for span in _CODE.findall(text):
        value = span.strip().removeprefix("./").strip("/")
        is_about = is_about or value in seen or not words.isdisjoint(specific_words(value.rpartition("/")[2]))
        if any(value in group.denied for group in groups):
            return None
        if tree is not None and tree.has(value):
            checks.append(TreeCheck(CheckKind.FILE, value))
        elif any(value == one or one.startswith(f"{value}/") for one in missed):
            if tree is not None and ("/" in value or "." in value) and " " not in value:
                checks.append(TreeCheck(CheckKind.ABSENT, value))
        elif (name := script_name(value)) and tree is not None and tree.script(name):
            checks.append(TreeCheck(CheckKind.SCRIPT, text=name))
        elif any(value in one for one in (*seen, *said)) and (tree is None or "/" not in value or " " in value):
            continue
        elif tree is not None and tree.lines_with(span):
            checks.append(TreeCheck(CheckKind.TEXT, text=span))
        else:
            return None
    return tuple(dict.fromkeys(checks)) if is_about else None
