"""From the sessions of a project to its lessons: every rule proposes, the tree decides, the budget keeps the best.

A lesson belongs in the knowledge file nearest to its subject. What an agent proposes through MCP is held to the same
checks, and only a person accepts it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

from knowbound.config import Settings
from knowbound.core.lesson import CheckKind, Lesson, LessonEvidence, LessonKind, LessonStatus, TreeCheck, lesson_id
from knowbound.core.paths import project_name
from knowbound.core.signal import Cost
from knowbound.errors import InputError
from knowbound.kms.screening import screened
from knowbound.lessons.invocations import MACHINE, script_name
from knowbound.lessons.kept import BY_AGENT
from knowbound.lessons.locations import locations
from knowbound.lessons.material import SEVERAL, Corpus, Failure, LessonProposal, Material, UserText, code, first_of_each
from knowbound.lessons.verifying import Tree, verify
from knowbound.store.decisions import KeptLessons
from knowbound.text.clock import utc_now
from knowbound.text.printable import printable_line
from knowbound.text.redact import redact

LONGEST = 400  # characters of a line
_NO_TREE = "no tree of this project was there to check it"
_CODE = re.compile(r"`([^`]+)`")
_INCLUDES = re.compile(r"\s*@(?P<path>[\w./-]+\.md)\s*")
_COMMANDS_AFTER = 3  # commands after the one that failed


def lessons_of(corpus: Corpus) -> list[Lesson]:
    """The lessons of a project, most useful first. What the tree contradicts is left out."""
    found: dict[str, Lesson] = {}
    for rule in RULES:
        for proposal in rule(corpus):
            lesson = lesson_of(proposal, corpus)
            if lesson is not None:
                found.setdefault(lesson.id, lesson)
    return sorted(found.values(), key=lambda lesson: (-lesson.saves, lesson.id))


def lesson_of(proposal: LessonProposal, corpus: Corpus, by: str = "rules", title: str = "") -> Lesson | None:
    """Return a proposal as a lesson; None if the tree contradicts it, or its file or its words rule it out."""
    tree = corpus.tree
    verdict = verify(proposal.checks, tree)
    file = knowledge_file(proposal.subject, tree, corpus.materials)
    text = clean_line(proposal.text)
    if verdict.contradicted or not text or (tree is not None and is_written(text, file, tree)):
        return None
    unverified = [proposal.unverified] if proposal.unverified else []
    unverified += [_NO_TREE] if tree is None else []
    return Lesson(
        id=lesson_id(corpus.project, proposal.kind, proposal.key),
        kind=proposal.kind,
        text=text,
        file=file,
        project=corpus.project,
        sessions=proposal.sessions,
        cost=Cost(proposal.calls),
        evidence=first_of_each(proposal.evidence),
        checks=list(proposal.checks),
        verified=verdict.verified,
        unverified="; ".join(unverified),
        topics=list(proposal.topics),
        names=list(proposal.names),
        by=by,
        title=title,
    )


def clean_line(text: str) -> str:
    """A lesson as one printable line; "" where a secret is in it, or words that would lead an agent astray."""
    line = printable_line(text)
    is_clean = redact(line) == line and "[redacted" not in line and screened(line) is None
    return line if is_clean and len(line) <= LONGEST and "<!--" not in line else ""


def is_written(text: str, file: str, tree: Tree) -> bool:
    """Report whether a line of the knowledge file already has all names of the lesson. A lesson of one name has none.

    A name inside a longer name, `make` in `make test`, is ignored.
    """
    spans = list(dict.fromkeys(_CODE.findall(text)))
    names = [name for name in spans if not any(name != other and name in other for other in spans)]
    spelled = [re.compile(rf"(?<![\w:./-]){re.escape(name)}(?![\w:/-])") for name in names]
    lines = tree.text(file).splitlines()
    return len(spelled) > 1 and any(all(name.search(line) for name in spelled) for line in lines)


def within_budget(lessons: Iterable[Lesson], lines: int, tokens: int) -> list[Lesson]:
    """Return the most useful lessons that fit: agents read a short knowledge file, not a long one."""
    kept: list[Lesson] = []
    for lesson in sorted(lessons, key=lambda lesson: (-lesson.saves, lesson.id)):
        if len(kept) < lines and sum(map(tokens_of, kept)) + tokens_of(lesson) <= tokens:
            kept.append(lesson)
    return kept


def tokens_of(lesson: Lesson) -> int:
    """Return the tokens of its line, at four characters each, with the bullet and the line end."""
    return (len(lesson.text) + 6) // 4


def knowledge_file(subject: str, tree: Tree | None, materials: Sequence[Material]) -> str:
    """CLAUDE.md or AGENTS.md in the subject's folder or the nearest above it; the agents' own where there is none."""
    agents = Counter(material.agent for material in materials)
    claude_first = not agents or agents.most_common(1)[0][0] == "claude-code"
    names = ("CLAUDE.md", "AGENTS.md") if claude_first else ("AGENTS.md", "CLAUDE.md")
    if tree is not None:
        for folder in _upwards(subject):
            for name in (*names, f".claude/{names[0]}") if not folder else names:
                path = f"{folder}/{name}" if folder else name
                if path in tree.files:
                    return _included(path, tree)
    return names[0]


def _upwards(subject: str) -> Iterator[str]:
    """Yield a path and the folders above it, nearest first; "" for the root is the last."""
    folder = subject.rstrip("/")
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def _included(path: str, tree: Tree) -> str:
    """Return the file that another one includes, if it does nothing else (`@AGENTS.md`); else the path itself."""
    found = _INCLUDES.fullmatch(tree.text(path))
    if found is None:
        return path
    other = f"{path.rpartition('/')[0]}/{found['path']}".lstrip("/")
    return other if other in tree.files else path


_MOST_WAITING = 100  # undecided proposals of agents


def propose(
    text: str, kind: str, settings: Settings, *, path: str = "", symbol: str = "", command: str = "", session: str = ""
) -> Lesson:
    """Check a proposal against the tree and keep it as new. What the tree contradicts is an error."""
    line = clean_line(text)
    if not line:
        raise InputError("lesson-unfit", f"A lesson is one line of at most {LONGEST} characters, without secrets.")
    if kind not in tuple(LessonKind):
        raise InputError("lesson-unfit", f"The kind of a lesson is one of {', '.join(LessonKind)}, not {kind[:40]!r}.")
    tree = Tree(Path(settings.root))
    checks = _checks(path, symbol, command)
    verdict = verify(checks, tree)
    if verdict.contradicted:
        raise InputError("lesson-contradicted", f"The tree does not confirm that {verdict.contradicted}.")
    project = project_name(str(settings.root))
    lesson = Lesson(
        id=lesson_id(project, LessonKind(kind), f"agent {line.casefold()}"),
        kind=LessonKind(kind),
        text=line,
        file=knowledge_file(path, tree, ()),
        project=project,
        sessions=1 if session else 0,
        evidence=[LessonEvidence(session, 0)] if session else [],
        checks=checks,
        verified=verdict.verified,
        unverified="" if checks else "an agent said so; it named nothing that the tree could show",
        by=BY_AGENT,
        made=utc_now(),
    )
    with closing(KeptLessons(settings.home)) as store:
        lessons = store.lessons(project)
        if (before := next((other for other in lessons if other.id == lesson.id), None)) is not None:
            return before
        if sum(other.by == BY_AGENT and other.status is LessonStatus.NEW for other in lessons) >= _MOST_WAITING:
            raise InputError("lesson-unfit", f"{_MOST_WAITING} proposals wait for a person already: knowbound learn")
        store.keep([lesson])
    return lesson


def _checks(path: str, symbol: str, command: str) -> list[TreeCheck]:
    """Return what the tree has to confirm: the symbol in its file or else the file, and the command's script."""
    checks = []
    if symbol:
        checks.append(TreeCheck(CheckKind.SYMBOL, path, symbol))
    elif path:
        checks.append(TreeCheck(CheckKind.FILE, path.strip("/")))
    if name := script_name(command):
        checks.append(TreeCheck(CheckKind.SCRIPT, text=name))
    return checks


# ---- proposals from corrections: wrong calls of commands, and files that users asked for


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
    if len(failure.commands) != 1:  # of several, which one was wrong is unknown
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
    top_documents = {
        path.partition(".")[0].lower(): path for path in tree.files if "/" not in path and path.endswith(_DOCUMENTS)
    }
    asked: dict[str, list[tuple[Material, UserText]]] = defaultdict(list)
    for material in corpus.materials:
        for said in material.said:
            for found in _UPDATES.findall(said.text):
                for word in re.findall(r"@?([A-Za-z][\w-]*)(?:\.\w+)?", found.partition(" ")[2]):
                    if word.lower() in top_documents and len(said.text) < _LONGEST_REQUEST:
                        asked[top_documents[word.lower()]].append((material, said))
    for path, requests in asked.items():
        if len({material.session for material, _ in requests}) < _LEAST_SESSIONS:
            continue
        commits = sum(bool(_COMMIT.search(said.text)) for _, said in requests)
        # Mostly asked for at a commit: the lesson says when.
        when = (
            "before you commit a change that belongs in it" if 2 * commits >= len(requests) else "along with the change"
        )
        yield LessonProposal(
            kind=LessonKind.CORRECTION,
            key=f"update {path}",
            text=f"Update {code(path)} {when}, without being asked: users had to say so.",
            evidence=tuple(LessonEvidence(material.session, said.line, material.file) for material, said in requests),
            calls=len(requests),
            names=(f"said:update {path}",),
            checks=(TreeCheck(CheckKind.FILE, path),),
            subject=path,
            unverified="that users want it so was said in sessions; no tree can show it",
        )


RULES: tuple[Callable[[Corpus], Iterator[LessonProposal]], ...] = (locations, wrong_invocations, corrections)
