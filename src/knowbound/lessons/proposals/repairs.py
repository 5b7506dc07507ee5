"""Commands that failed until another one was run: what to run first, and what leftovers stand in the way."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from knowbound.core.lesson import CheckKind, LessonEvidence, LessonKind, TreeCheck
from knowbound.lessons.invocations import script_name
from knowbound.lessons.material import Failure, Material
from knowbound.lessons.proposals.proposal import SEVERAL, Corpus, LessonProposal, code
from knowbound.lessons.tree import Tree

_DIRECT = 3  # sessions in which a repair follows at once, where its effect was not seen
_RANDOM = re.compile(r"[*?]|\d|[a-z][A-Z]")  # in the name of a leftover


class _Repair(NamedTuple):
    """A command that failed, what was run then, and whether it passed afterwards without an edit."""

    material: Material
    failure: Failure
    repair: str
    is_proven: bool
    calls: int


def repairs(corpus: Corpus) -> Iterator[LessonProposal]:
    """Lessons from what had to be run before a command passed."""
    asked: dict[tuple[str, str], list[_Repair]] = defaultdict(list)  # the output itself says what to run
    fixed: dict[tuple[str, str], list[_Repair]] = defaultdict(list)
    cleared: dict[tuple[str, str], list[_Repair]] = defaultdict(list)  # by command and folder
    for material in corpus.materials:
        for failure in material.failures:
            if len(failure.commands) != 1 or failure.misused:
                continue
            command = failure.commands[0]
            found = _repair(material, failure)
            if failure.advice and any(failure.advice in one.commands and one.ok for one in failure.next):
                one = _Repair(material, failure, failure.advice, True, 2)
                asked[command, failure.advice].append(one)
            elif found is not None and found.repair.startswith("rm "):
                if folder := leftovers(found.repair):
                    cleared[command, folder].append(found)
            elif found is not None:
                fixed[command, found.repair].append(found)
    for (command, repair), seen in asked.items():
        yield from _asked(corpus, command, repair, seen)
    for (command, repair), seen in fixed.items():
        yield from _fixed(corpus, command, repair, seen)
    by_folder: dict[str, list[_Repair]] = defaultdict(list)
    for (_, folder), seen in cleared.items():
        by_folder[folder] += seen
    for folder, seen in by_folder.items():
        yield from _cleared(corpus, folder, seen)


def _repair(material: Material, failure: Failure) -> _Repair | None:
    """The command between a failure and the next success of the same; or what follows at once."""
    command = failure.commands[0]
    between: list[str] = []
    for number, follow in enumerate(failure.next):
        if command in follow.commands:
            if follow.ok and between and not follow.edited:
                return _Repair(material, failure, between[-1], True, number + 1)
            break
        if follow.ok and len(follow.commands) == 1:
            between.append(follow.commands[0])
    first = failure.next[0] if failure.next else None
    if first is not None and not first.edited and len(first.commands) == 1 and first.commands[0] != command:
        return _Repair(material, failure, first.commands[0], False, 2)
    return None


def _asked(corpus: Corpus, command: str, repair: str, seen: list[_Repair]) -> Iterator[LessonProposal]:
    said = Counter(one.failure.complaint for one in seen if one.failure.complaint).most_common(1)
    script = _script(repair, corpus.tree)
    if _sessions(seen) < SEVERAL or not said or (corpus.tree is not None and not script):
        return
    complaint = said[0][0].rstrip(".!")
    yield LessonProposal(
        LessonKind.COMMAND,
        f"asked {command} {repair}",
        f"When {code(command)} is refused with “{complaint}”, run {code(repair)} and stage what it changes."
        if command == "git commit"
        else f"When {code(command)} says “{complaint}”, run {code(repair)} first.",
        _evidence(seen),
        sum(one.calls for one in seen),
        (f"advice:{repair}",),
        (TreeCheck(CheckKind.TEXT, text=complaint), *script),
    )


def _fixed(corpus: Corpus, command: str, repair: str, seen: list[_Repair]) -> Iterator[LessonProposal]:
    """A script that repairs what another one checks: both in the manifest, and one named after the other."""
    first, second = script_name(command), script_name(repair)
    proven = _sessions([one for one in seen if one.is_proven])
    if not first or not second or not (proven >= SEVERAL or _sessions(seen) >= _DIRECT) or _sessions(seen) < SEVERAL:
        return
    if not _is_repair_of(first, second):
        return
    checks = (*_script(repair, corpus.tree), *_script(command, corpus.tree))
    if corpus.tree is not None and len(checks) < 2:
        return
    yield LessonProposal(
        LessonKind.COMMAND,
        f"fixed {command} {repair}",
        f"Run {code(repair)} after edits and before {code(command)}: it repairs the formatting and imports that "
        f"{code(command)} rejects.",
        _evidence(seen),
        sum(one.calls for one in seen),
        (f"repaired:{command}:{repair}",),
        checks,
        unverified="" if proven else f"that {repair} is enough was not seen",
    )


def _is_repair_of(check: str, repair: str) -> bool:
    """Lint → lint:fix, format, fmt; check → fix."""
    return bool(re.search(r"fix|format|fmt|write", repair)) and not re.search(
        r"fix|format|fmt|test|build|commit", check
    )


def _cleared(corpus: Corpus, folder: str, seen: list[_Repair]) -> Iterator[LessonProposal]:
    """Only what git ignores is called a leftover: a lesson never leads to the loss of work."""
    if _sessions(seen) < SEVERAL:
        return
    commands = [one for one, _ in Counter(one.failure.commands[0] for one in seen).most_common(2)]
    ignored = _ignored_as(folder, corpus.tree)
    if corpus.tree is not None and ignored is None:
        return
    checks = (TreeCheck(CheckKind.TEXT, ".gitignore", ignored),) if ignored else ()
    named = " and ".join(map(code, commands))
    yield LessonProposal(
        LessonKind.COMMAND,
        f"cleared {folder}",
        f"{named} {'fail' if len(commands) > 1 else 'fails'} while old files are left in {code(folder + '/')} (ignored "
        f"by git): when it fails on files below it, empty that folder and run it again.",
        _evidence(seen),
        sum(one.calls for one in seen),
        (f"cleared:{folder}",),
        checks,
        subject=folder,
        unverified="that the leftovers are the reason was seen in sessions, not in the tree",
    )


def leftovers(command: str) -> str:
    """The folder whose entries a command removes; "" where they are not of this project or not made at random."""
    paths = [word for word in command.split()[1:] if not word.startswith("-")]
    folders = set()
    for path in paths:
        parts = path.rstrip("/").split("/")
        if path.startswith(("/", "~", "$", "..")) or len(parts) < 2:
            return ""
        folders.add("/".join(parts[:-1] if _RANDOM.search(parts[-1]) else parts))
    return folders.pop() if len(folders) == 1 else ""


def _ignored_as(folder: str, tree: Tree | None) -> str | None:
    """The line of .gitignore that ignores the folder."""
    if tree is None:
        return None
    parts = folder.split("/")
    spellings = {"/".join(parts[: end + 1]) for end in range(len(parts))}
    for line in tree.text(".gitignore").splitlines():
        if line.strip().strip("/*") in spellings:
            return line.strip()
    return None


def _script(command: str, tree: Tree | None) -> tuple[TreeCheck, ...]:
    name = script_name(command)
    found = tree.script(name) if tree is not None and name else None
    return (TreeCheck(CheckKind.SCRIPT, found.path, name),) if found else ()


def _sessions(seen: list[_Repair]) -> int:
    return len({one.material.session for one in seen})


def _evidence(seen: list[_Repair]) -> tuple[LessonEvidence, ...]:
    return tuple(LessonEvidence(one.material.session, one.failure.line, one.failure.file) for one in seen)
