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

_MOST_GROUPS, _GROUP_TOKENS = 40, 6_000  # of all groups together
_MOST_MEMBERS, _MOST_PLACES = 6, 3  # shown of a group
_WORTH_CALLS = 6  # calls of one session after which a single miss is shown
_SAID_CHARACTERS = 160  # characters
_TITLE_CHARACTERS = 80
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
        return len({evidence.session for evidence in self.evidence})

    def row(self, number: int) -> dict[str, object]:
        """Return what the model sees."""
        shown = {
            "group": number, "sessions": self.sessions, "calls": self.calls, "members": self.members[:_MOST_MEMBERS],
            "found": self.found[:_MOST_PLACES], "ended": self.ended, "agent": self.said, "user": self.user,
            "tree": self.tree[:_MOST_PLACES], "worked_then": self.worked[:_MOST_PLACES],
        }  # fmt: skip
        return {name: value for name, value in shown.items() if value}


def lessons_by_model(corpus: Corpus, asker: Asker) -> tuple[list[Lesson], str]:
    """Return the lessons that a model proposes and rules verify, best first; and the problem if it did not answer."""
    groups = _groups(corpus)
    if not groups:
        return [], ""
    rows = (msgspec.json.encode(group.row(number)).decode("utf-8") for number, group in enumerate(groups, 1))
    source = AnswerSource("", corpus.materials[0].project if corpus.materials else "")
    (asked,) = asker.ask(load_prompt("topics"), [{"groups": sendable("\n".join(rows))}], ModelLines, sources=[source])
    if asked.value is None:
        return [], asked.problem
    used: set[int] = set()
    lessons = []
    for line in asked.value.lines:
        unused = [number for number in dict.fromkeys(line.groups) if 1 <= number <= len(groups) and number not in used]
        lesson = _lesson(line, [groups[number - 1] for number in unused], corpus, asker.judge) if unused else None
        if lesson is not None:
            used.update(unused)
            lessons.append(lesson)
    return lessons, ""


# Groups


def _groups(corpus: Corpus) -> list[_Group]:
    """Return the groups that a model is asked about: most lost work first (calls × sessions), as many as fit."""
    groups = [*_lookups(corpus), *_commands(corpus.materials)]
    groups = [group for group in groups if group.sessions >= SEVERAL or group.calls >= _WORTH_CALLS]
    groups.sort(key=lambda group: (-group.calls * group.sessions, group.key))
    tokens_left, fitting = _GROUP_TOKENS, list[_Group]()
    for group in groups[:_MOST_GROUPS]:
        tokens_left -= estimated_tokens(msgspec.json.encode(group.row(1)).decode())
        if tokens_left >= 0:
            fitting.append(group)
    return fitting


def _lookups(corpus: Corpus) -> Iterator[_Group]:
    """Yield the lookups that missed, those of one topic together; without a topic, those of one path or name."""
    by_topic: dict[str, list[SessionMiss]] = {}
    disputed = denied(corpus)
    for miss in misses(corpus):
        key = corpus.topic_of.get(id(miss.signal)) or missed_path(miss) or " ".join(miss.signal.names[:1])
        if key:
            by_topic.setdefault(key, []).append(miss)
    for key, group in by_topic.items():
        signals = [miss.signal for miss in group]
        tried = dict.fromkeys(missed_path(miss) or miss.near(miss.signal.query) for miss in group)
        wrong = dict(disputed[id(miss)] for miss in group if id(miss) in disputed)
        places = (miss.near(miss.signal.found_at.path) for miss in group if miss.signal.found_at is not None)
        found = Counter(place for place in places if place not in wrong)
        corrected = next(filter(None, (*wrong.values(), *(signal.correction for signal in signals))), "")
        yield _Group(
            key=key,
            kind=LessonKind.LOCATION,
            members=[path for path in tried if path],
            evidence=[LessonEvidence(signal.session, signal.line, signal.file) for signal in signals],
            calls=sum(max(1, signal.cost.calls if signal.cost else 1) for signal in signals),
            found=[place for place, _ in found.most_common(_MOST_PLACES) if place and not place.startswith(("/", "~"))],
            ended=dict(Counter(str(signal.ending) for signal in signals if signal.ending)),
            said=next((signal.said[:_SAID_CHARACTERS] for signal in signals if signal.said), ""),
            user=corrected[:_SAID_CHARACTERS],
            names=frozenset(name for miss in failed_lookups(group) for name in miss.names if name[:7] != "folder:"),
            topics=(key,) if key in corpus.topic_of.values() else (),
            tree=tuple(place for place in _in_tree(corpus.tree, tried) if place not in wrong),
            denied=frozenset(wrong),
        )


def _in_tree(tree: Tree | None, tried: Iterable[str]) -> tuple[str, ...]:
    """Return files of the tree whose name has the words of what was looked for."""
    if tree is None:
        return ()
    found: dict[str, None] = {}
    for wanted in tried:
        last = wanted.rstrip("/").rpartition("/")[2]  # the name without its folders
        stem = plain_name(last.partition(".")[0].strip("*"))
        exact = tree.by_name.get(last.lower(), [])
        near = (path for path in sorted(tree.files) if len(stem) > 4 and stem in plain_name(path.rpartition("/")[2]))
        found.update(dict.fromkeys([*exact[:_MOST_PLACES], *near]))
    return tuple(sorted(found, key=lambda path: (path.count("/"), path))[:_MOST_PLACES])


def _commands(materials: Sequence[Material]) -> Iterator[_Group]:
    """Yield the commands that failed because they were called wrongly, those of one program and subcommand together."""
    by_call: dict[str, list[tuple[Material, Failure]]] = {}
    for material in materials:
        for failure in material.failures:
            if failure.commands:
                by_call.setdefault(" ".join(failure.commands[-1].split()[:3]), []).append((material, failure))
    for call, group in by_call.items():
        lines = {(material.session, failure.line) for material, failure in group}
        next_commands = Counter(
            command for _, failure in group for follow in failure.next[:3] if follow.ok for command in follow.commands
        )
        names = {
            name
            for material in {id(material): material for material, _ in group}.values()
            for command in failed_commands(material)
            if (command.session, command.line) in lines
            for name in command.names
            if name.startswith("misused:")
        }
        yield _Group(
            key=call,
            kind=LessonKind.COMMAND,
            members=list(dict.fromkeys(command for _, failure in group for command in failure.commands)),
            evidence=[LessonEvidence(material.session, failure.line, failure.file) for material, failure in group],
            calls=len(group),
            found=[],
            ended={},
            said="",
            user=next((failure.misused for _, failure in group), ""),  # the program's own words
            names=frozenset(names),
            worked=tuple(command for command, _ in next_commands.most_common(_MOST_PLACES)),
        )


# Lines


def _lesson(line: ModelLine, groups: Sequence[_Group], corpus: Corpus, judge: str) -> Lesson | None:
    """Return the line as a lesson; None if it names what neither the tree nor the misses have, or says nothing new."""
    checks = _checks(clean_line(line.line), groups, corpus)
    if checks is None:
        return None
    proposal = LessonProposal(
        kind=groups[0].kind,
        key=f"group {min(group.key for group in groups)}",
        text=line.line,
        evidence=tuple(evidence for group in groups for evidence in group.evidence),
        calls=sum(group.calls for group in groups),
        names=tuple(sorted(name for group in groups for name in group.names)),
        checks=checks,
        subject=next((check.path for check in checks if check.kind is CheckKind.FILE), ""),
        unverified="" if checks else "it names nothing that the tree could show",
        topics=tuple(topic for group in groups for topic in group.topics),
    )
    return lesson_of(proposal, corpus, judge, clean_line(line.title)[:_TITLE_CHARACTERS])


def _checks(text: str, groups: Sequence[_Group], corpus: Corpus) -> tuple[TreeCheck, ...] | None:
    """Return what has to hold in the tree; None if the line names something unseen, or nothing of the misses."""
    tree = corpus.tree
    missed = {member.strip("/") for group in groups for member in group.members}
    seen = missed | {place.strip("/") for group in groups for place in (*group.found, *group.worked)}
    quoted_words = [text for group in groups for text in (group.said, group.user)]
    words = {word for path in missed for part in re.split(r"[\s/|]+", path) for word in specific_words(part)}
    checks: list[TreeCheck] = []
    names_a_miss = False
    for code_span in _CODE.findall(text):
        quoted_name = code_span.strip().removeprefix("./").strip("/")
        names_a_miss = (
            names_a_miss or quoted_name in seen or not words.isdisjoint(specific_words(quoted_name.rpartition("/")[2]))
        )
        if any(quoted_name in group.denied for group in groups):
            return None  # the user said that this is the wrong place
        if tree is not None and tree.has(quoted_name):
            checks.append(TreeCheck(CheckKind.FILE, quoted_name))
        elif any(quoted_name == path or path.startswith(f"{quoted_name}/") for path in missed):
            if tree is not None and ("/" in quoted_name or "." in quoted_name) and " " not in quoted_name:
                checks.append(TreeCheck(CheckKind.ABSENT, quoted_name))
        elif (name := script_name(quoted_name)) and tree is not None and tree.script(name):
            checks.append(TreeCheck(CheckKind.SCRIPT, text=name))
        elif any(quoted_name in text_seen for text_seen in (*seen, *quoted_words)) and (
            tree is None or "/" not in quoted_name or " " in quoted_name
        ):
            continue  # words of the sessions, which the tree need not have
        elif tree is not None and tree.lines_with(code_span):
            checks.append(TreeCheck(CheckKind.TEXT, text=code_span))
        else:
            return None  # nobody has seen it
    return tuple(dict.fromkeys(checks)) if names_a_miss else None
