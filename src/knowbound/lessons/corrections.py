"""Proposals from corrections: wrong calls of commands, and files that users asked for."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

from knowbound.core.lesson import CheckKind, LessonEvidence, LessonKind, TreeCheck
from knowbound.lessons.invocations import MACHINE, script_name
from knowbound.lessons.material import SEVERAL, Corpus, Failure, LessonProposal, Material, UserText, code

_COMMANDS_AFTER = 3  # commands after the one that failed


def wrong_invocations(corpus: Corpus) -> Iterator[LessonProposal]:
    """Lessons from commands that their programs did not know: `rtk bun run test` is `bun run test`."""
    groups: dict[tuple[str, str], list[tuple[Material, Failure]]] = defaultdict(list)
    for material in corpus.materials:
        for failure in material.failures:
            if right := _what_worked(failure):
                groups[_difference(failure.commands[0], right)].append((material, failure))
    for (wrong, right), seen in groups.items():
        proposal = _proposal(corpus, wrong, right, seen)
        if proposal is not None and proposal.sessions >= SEVERAL:
            yield proposal


def _what_worked(failure: Failure) -> str:
    """Return the next command that is similar to the failed command and was known; "" if there is none."""
    if len(failure.commands) != 1:
        return ""
    wrong = failure.commands[0]
    for follow in failure.next[:_COMMANDS_AFTER]:
        for right in follow.commands:
            if right != wrong and (_front(wrong, right) or _front(right, wrong)):
                return right  # known by its program, whether the tests passed or not
            shared = set(wrong.split()[1:]) & set(right.split()[1:])
            is_like = right != wrong and any(not word.startswith("-") for word in shared)
            if follow.ok and not follow.edited and is_like and wrong.split()[0] not in MACHINE:
                return right
    return ""


def _front(long: str, short: str) -> str:
    """Return the words in front of `short` in a command that ends with it; "" if it does not."""
    return long.removesuffix(f" {short}") if long.endswith(f" {short}") else ""


def _difference(wrong: str, right: str) -> tuple[str, str]:
    """Return the wrong and the right call, without arguments if they differ by a word in front: that is one mistake."""
    if front := _front(wrong, right):
        return f"{front} {right.split(maxsplit=1)[0]}", right.split(maxsplit=1)[0]
    if front := _front(right, wrong):
        return wrong.split(maxsplit=1)[0], f"{front} {wrong.split(maxsplit=1)[0]}"
    return wrong, right


def _proposal(
    corpus: Corpus, wrong: str, right: str, failures: list[tuple[Material, Failure]]
) -> LessonProposal | None:
    """Return the line to write; None if nothing in the tree speaks of the right call, or of the word in front."""
    commands = Counter(failure.commands[0] for _, failure in failures)
    usual = commands.most_common(1)[0][0]
    shown = f"{right}{usual.removeprefix(wrong)}"
    right_script = script_name(shown)
    found = corpus.tree.script(right_script) if corpus.tree is not None and right_script else None
    checks = [TreeCheck(CheckKind.SCRIPT, found.path, right_script)] if found else []
    if front := _front(wrong, right) or _front(right, wrong):
        # The tool of one person's machine is no knowledge of the project: something in the tree has to speak of it.
        checks.append(TreeCheck(CheckKind.TEXT, text=front))
    elif corpus.tree is not None and not found:
        return None
    elif (gone := script_name(usual)) and gone != right_script:
        checks.append(TreeCheck(CheckKind.NO_SCRIPT, text=gone))
    return LessonProposal(
        kind=LessonKind.COMMAND,
        key=f"call {wrong}",
        text=f"Use {code(shown)}, not {code(usual)}.",
        evidence=tuple(LessonEvidence(material.session, failure.line, failure.file) for material, failure in failures),
        calls=len(failures),
        names=tuple(f"misused:{command}" for command in sorted(commands)),
        checks=tuple(checks),
        unverified=f"that {usual} fails was seen in sessions, not in the tree",
    )


_LEAST_SESSIONS = 3  # sessions in which a request is no accident
_LONGEST_REQUEST = 140  # characters; a longer message is a task
_UPDATES = re.compile(r"\b(?:update|add (?:it |this |that )?to|amend|adjust)\b[^.!?\n]{0,40}", re.IGNORECASE)
_COMMIT = re.compile(r"\bcom+it", re.IGNORECASE)
_DOCUMENTS = (".md", ".rst", ".txt", ".json", ".toml", ".yaml", ".yml")


def corrections(corpus: Corpus) -> Iterator[LessonProposal]:
    """A file of the tree that users had to ask for: the changelog, the docs page."""
    tree = corpus.tree
    if tree is None:
        return
    tops = {
        path.partition(".")[0].lower(): path for path in tree.files if "/" not in path and path.endswith(_DOCUMENTS)
    }
    asked: dict[str, list[tuple[Material, UserText]]] = defaultdict(list)
    for material in corpus.materials:
        for said in material.said:
            for found in _UPDATES.findall(said.text):
                for word in re.findall(r"@?([A-Za-z][\w-]*)(?:\.\w+)?", found.partition(" ")[2]):
                    if word.lower() in tops and len(said.text) < _LONGEST_REQUEST:
                        asked[tops[word.lower()]].append((material, said))
    for path, seen in asked.items():
        if len({material.session for material, _ in seen}) < _LEAST_SESSIONS:
            continue
        commits = sum(bool(_COMMIT.search(said.text)) for _, said in seen)
        # Mostly asked for at a commit: the lesson says when.
        when = "before you commit a change that belongs in it" if 2 * commits >= len(seen) else "along with the change"
        yield LessonProposal(
            kind=LessonKind.CORRECTION,
            key=f"update {path}",
            text=f"Update {code(path)} {when}, without being asked: users had to say so.",
            evidence=tuple(LessonEvidence(material.session, said.line, material.file) for material, said in seen),
            calls=len(seen),
            names=(f"said:update {path}",),
            checks=(TreeCheck(CheckKind.FILE, path),),
            subject=path,
            unverified="that users want it so was said in sessions; no tree can show it",
        )
