"""GitLog: what the history says, asked the way the question needs it (specification 3, class GitLog).

| evidence | level |
| --- | --- |
| `git status` for a question about history | Weak |
| `git log` for a question that names nothing to match | Moderate |
| commits that match what the question names; the commit it asks for | Strong |
| git is authoritative for history: the planner makes Strong Verified | Verified |
| nothing matches, or git cannot know (no repository, no commit, history cut off) | None, with the reason |
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality, Shows
from knowbound.evidence.producers.history import (
    HistoryKind,
    HistoryQuestion,
    Matched,
    date_of,
    is_name,
    read_history_question,
    search_messages,
    states_change,
)
from knowbound.evidence.producers.protocol import GIT, Ask, Context, Producer
from knowbound.evidence.producers.repository import (
    FIELDS,
    MOST,
    QUIET,
    LogEntry,
    Repository,
    UnansweredError,
    anywhere,
    literal,
    parse_log,
    parse_status,
    pathspecs,
    refusal,
)
from knowbound.text.printable import counted, listed, one_line
from knowbound.text.terms import spellings


@dataclass(frozen=True, slots=True)
class GitAnswer:
    """Git's answer to a question."""

    tool: str
    query: str
    quality: Quality
    note: str
    places: tuple[Place, ...] = ()
    matches: int = 0


def _matching(tool: str, query: str, commits: list[LogEntry], note: str) -> GitAnswer:
    """Commits that match what the question names: Strong."""
    places = tuple(commit.place for commit in commits[:MOST])
    return GitAnswer(tool, query, Quality.STRONG, note, places, len(commits))


def answer(question: HistoryQuestion, repository: Repository, also: Sequence[str] = ()) -> GitAnswer:
    """Ask git what the question needs; `also` are other spellings of its subject."""
    if repository.ask("rev-parse", "--quiet", "--verify", "HEAD").code != 0:
        raise UnansweredError("the repository has no commit yet")
    whole_history = question.kind not in (HistoryKind.LAST, HistoryKind.COMMIT, HistoryKind.TREE)
    if repository.shallow and (whole_history or question.subject or question.count > 1):
        raise UnansweredError("a shallow clone: its history is cut off (git fetch --unshallow brings it)")
    question = _without_project(question, repository)
    match question.kind:
        case HistoryKind.LAST:
            return _last(question, repository)
        case HistoryKind.COMMIT:
            return _commit(question.subject, repository)
        case HistoryKind.ADDED | HistoryKind.REMOVED:
            return _came_or_went(question, repository, also)
        case HistoryKind.CHANGED:
            return _changed(question, repository, also)
        case HistoryKind.FIXED:
            return _fixed(question, repository)
        case HistoryKind.SINCE:
            return _since(question, repository)
        case _:
            return _history(question, repository, also)


def _without_project(question: HistoryQuestion, repository: Repository) -> HistoryQuestion:
    """The question without the name of the project, which every commit is about, where it names anything else."""
    own = repository.called() if len(question.words) > 1 else frozenset()
    words = tuple(word for word in question.words if word.lower() not in own)
    if not words or len(words) == len(question.words):
        return question
    rest = " ".join(word for word in question.subject.split() if word.lower() not in own)
    return replace(question, words=words, subject=rest or " ".join(words))


def _last(question: HistoryQuestion, repository: Repository) -> GitAnswer:
    author = ("--fixed-strings", "--regexp-ignore-case", f"--author={question.author}") if question.author else ()
    paths = pathspecs(repository.files_named(question.subject)) if question.subject else None
    if paths == []:
        return _history(replace(question, kind=HistoryKind.HISTORY, recent=True), repository, ())
    commits = repository.log(*author, count=question.count, paths=paths)
    if not commits:
        raise UnansweredError(
            "no commit touches this folder" if not question.author else f"no commit by {question.author}"
        )
    about = f" of {question.subject}" if question.subject else ""
    return _matching("git log", f"-{question.count}{about}", commits, f"the last commit{about} is {commits[0]}")


def _commit(name: str, repository: Repository) -> GitAnswer:
    ran = repository.ask(
        "show", "--name-only", "--relative", "-z", FIELDS, *QUIET, "--end-of-options", f"{name}^{{commit}}", "--", "."
    )
    head, _, names = ran.text.partition("\x1e")
    commits = parse_log(head + "\x1e")
    if ran.code != 0 or not commits:
        raise UnansweredError(f"there is no commit {name}")
    files = [path.strip("\n") for path in names.split("\0") if path.strip("\n")]
    note = f"{commits[0]}; it touches {listed(files) or 'no file here'}"
    places = (commits[0].place, *(Place(path) for path in files[:MOST]))
    return GitAnswer("git show", name, Quality.STRONG, note, places, 1)


def _came_or_went(question: HistoryQuestion, repository: Repository, also: Sequence[str]) -> GitAnswer:
    """The first commit that has it, or the last that had: of a file by its name, else by messages and by pickaxe."""
    came, subject = question.kind is HistoryKind.ADDED, question.subject
    if re.search(r"[/.]", subject) and " " not in subject:
        paths = [literal(subject), anywhere(subject)]
        commits = repository.log(f"--diff-filter={'A' if came else 'D'}", paths=paths)
        if commits and not (not came and repository.files_named(subject)):
            verb = "was added" if came else "was removed"
            note = f"{subject} {verb} by {commits[-1 if came else 0]}"
            return _matching("git log", subject, commits[::-1] if came else commits, note)
    matched = search_messages(question, repository) if question.words else Matched(())
    sure = bool(matched.commits) and states_change(matched.commits[0], question)
    there = not came and not sure and any(repository.lines_with(one) for one in also)  # spelt as a name
    if matched.commits and (sure or not (_is_one_name(question) or there)):
        return _by_message(question, matched, repository)
    name = question.words[0] if len(question.words) == 1 else next(filter(is_name, question.words), subject)
    is_all = len(question.words) == 1 or name == subject  # else the name is a part of what is asked
    commits = repository.pickaxe(name, *(also if name == subject else ())) if is_all else []
    if commits:
        if came:
            note = f"{name!r} came with {commits[-1]}{_released(question, commits[-1], repository)}"
            return _matching("git log -S", name, commits[::-1], note)
        if any(repository.lines_with(one) for one in (name, *also)):
            places = tuple(commit.place for commit in commits[:MOST])
            note = f"{name!r} is still in the tree; {counted(len(commits), 'commit')} added or removed some of it"
            return GitAnswer("git log -S", name, Quality.WEAK, note, places, len(commits))
        return _matching("git log -S", name, commits, f"{name!r} went with {commits[0]}")
    if matched.commits and not there:
        return _by_message(question, matched, repository)
    raise UnansweredError(f"no commit adds or removes {subject!r}{_nearest(matched)}")


def _is_one_name(question: HistoryQuestion) -> bool:
    """Report whether the question names one identifier: changed lines then say more than messages."""
    return len(question.words) == 1 and is_name(question.words[0]) and not question.words[0].startswith("-")


def _by_message(question: HistoryQuestion, matched: Matched, repository: Repository) -> GitAnswer:
    """Commits whose messages are about it, the best first: Strong."""
    best = matched.commits[0]
    others = (
        f"; {counted(len(matched.commits) - 1, 'other')} {'mentions' if len(matched.commits) == 2 else 'mention'} it"
    )
    last = ", the last one" if question.recent else ":"
    note = f"{' '.join(question.words)}{last} {best}{_released(question, best, repository)}"
    return _matching(
        "git log --grep",
        " ".join(question.words),
        list(matched.commits),
        note + (others if len(matched.commits) > 1 else ""),
    )


def _released(question: HistoryQuestion, commit: LogEntry, repository: Repository) -> str:
    tag = repository.first_release(commit.hash) if question.release else ""
    return f", first released in {tag}" if tag else ", in no release yet" if question.release else ""


def _nearest(matched: Matched) -> str:
    """Return words about the nearest commit, which is no answer; "" if there is none."""
    if matched.nearest is None:
        return ""
    return f"; nearest is {matched.nearest}, which says nothing of {' and '.join(matched.missing)}"


def _fixed(question: HistoryQuestion, repository: Repository) -> GitAnswer:
    """The commit whose message says that it did it."""
    matched = search_messages(question, repository) if question.words else Matched(())
    if matched.commits:
        return _by_message(question, matched, repository)
    raise UnansweredError(f"no commit is about {question.subject!r}{_nearest(matched)}")


def _changed(question: HistoryQuestion, repository: Repository, also: Sequence[str]) -> GitAnswer:
    """Find the last change of a file (its log), or of the lines of a name (blame; pickaxe if it is gone)."""
    subject = question.subject
    named = next((word for word in question.words if "." in word or "/" in word), "")
    for name in dict.fromkeys((subject, named)):
        paths = repository.files_named(name) if name else []
        commits = repository.log(paths=pathspecs(paths)) if paths else []
        if commits:
            people = listed(list(dict.fromkeys(commit.author for commit in commits)))
            note = f"{name} was last changed by {commits[0]}; {counted(len(commits), 'commit')} by {people}"
            return _matching("git log", name, commits, note)
    if _is_one_name(question) or (" " not in subject and subject):
        found = _blamed(subject, repository)
        if found:
            return found
    matched = search_messages(question, repository) if question.words else Matched(())
    if matched.commits:
        return _by_message(question, matched, repository)
    for name in (subject, *also):
        found = _blamed(name, repository)
        if found:
            return found
    commits = repository.pickaxe(subject, *also)
    if commits:
        return _matching("git log -S", subject, commits, f"{subject!r} was last added or removed by {commits[0]}")
    raise UnansweredError(f"no commit changes {subject!r}{_nearest(matched)}")


def _blamed(name: str, repository: Repository) -> GitAnswer | None:
    """The commit that last changed the line that defines a name."""
    for path, line, _ in repository.lines_with(name)[:3]:
        commit = _blame(path, line, repository)
        if commit:
            places = (commit.place, Place(path, line, name))
            note = f"{path}:{line} ({name}) was last changed by {commit}"
            return GitAnswer("git blame", f"{path}:{line}", Quality.STRONG, note, places, 1)
    return None


def _blame(path: str, line: int, repository: Repository) -> LogEntry | None:
    ran = repository.ask("blame", "--porcelain", "--no-textconv", f"-L{line},{line}", "HEAD", "--", path)
    found = ran.text.partition(" ")[0]
    commits = repository.log("--no-walk", "--end-of-options", found, count=1, paths=()) if ran.code == 0 else []
    return commits[0] if commits else None


def _since(question: HistoryQuestion, repository: Repository) -> GitAnswer:
    """Return the commits since a revision or a date; if there are none, the last commit before it."""
    text, until = question.subject, repository.revision(question.until) if question.until else "HEAD"
    known, date = repository.revision(text), date_of(text)
    span: tuple[str, ...]
    if known and until:
        span = ("--end-of-options", f"{known}..{until}")
    elif date:
        span = (f"--since={date}",)
    else:
        raise UnansweredError(f"{(text if not known else question.until)!r} is neither a revision nor a date")
    said = f"since {text}" if not question.until else f"between {text} and {question.until}"
    if known not in ("", text) and not re.fullmatch(r"[0-9a-f]{40}", known):  # a tag that was taken for it
        said += f" ({known})"
    if question.words:
        return _about_since(question, span, said, repository)
    commits = repository.log(*span)
    if commits:
        note = f"{counted(len(commits), 'commit')} {said}, the last one {commits[0]}"
        return _matching("git log", said, commits, note)
    last = repository.log(count=1)
    return _matching("git log", said, last, f"no commit {said}; the last one is {last[0]}" if last else "")


def _about_since(question: HistoryQuestion, span: tuple[str, ...], said: str, repository: Repository) -> GitAnswer:
    """Find the commits of a span about one thing: its file, messages about it, lines with its name, its author."""
    about = " ".join(question.words)
    paths = repository.files_named(about)
    matched = Matched(())
    commits = repository.log(*span, paths=pathspecs(paths)) if paths else []
    if not commits:
        matched = search_messages(question, repository, span)
        commits = list(matched.commits)
    if not commits and len(question.words) == 1:
        commits = repository.changing(about, *span)
    if not commits:
        commits = repository.log(*span[:-1], "--fixed-strings", "--regexp-ignore-case", f"--author={about}", span[-1])
    if commits:
        note = f"{counted(len(commits), 'commit')} {said} about {about}, the last one {commits[0]}"
        note += "".join(f"; before it {commit}" for commit in commits[1:4])
        return _matching("git log", f"{about} {said}", commits, note)
    raise UnansweredError(f"no commit {said} is about {about!r}{_nearest(matched)}")


def _history(question: HistoryQuestion, repository: Repository, also: Sequence[str]) -> GitAnswer:
    """Find the commits about a subject: its file, messages about it, lines with its name, its author."""
    subject = question.subject
    if not subject or (not question.words and re.search(r"\w{2}", subject)):
        commits = repository.log(count=10)
        if not commits:
            raise UnansweredError("no commit touches this folder")
        note = f"the log, with nothing to match; the last commit is {commits[0]}"
        places = tuple(commit.place for commit in commits)
        return GitAnswer("git log", "-10", Quality.MODERATE, note, places, len(commits))
    paths = repository.files_named(subject)
    if paths:
        commits = repository.log(paths=pathspecs(paths))
        if commits:
            note = f"{counted(len(commits), 'commit')} touch {listed(paths, 2)}, the last one {commits[0]}"
            return _matching("git log", subject, commits, note)
    matched = search_messages(question, repository) if question.words else Matched(())
    if matched.commits:
        return _by_message(question, matched, repository)
    whole = all(word in subject for word in question.words)  # else the subject is a part of what is asked
    if len(question.words) == 1:
        subject = question.words[0]
    commits = repository.pickaxe(subject, *also) if whole else []
    if commits:
        note = f"{counted(len(commits), 'commit')} add or remove {subject!r}, the last one {commits[0]}"
        return _matching("git log -S", subject, commits, note)
    commits = repository.log("--fixed-strings", "--regexp-ignore-case", f"--author={subject}")
    if commits:
        note = f"{counted(len(commits), 'commit')} by {subject}, the last one {commits[0]}"
        return _matching("git log --author", subject, commits, note)
    raise UnansweredError(f"no commit mentions, adds or removes {subject!r}{_nearest(matched)}")


# Two producers need the question, to suit it and to answer it: it is read once.
_history_question = lru_cache(maxsize=32)(read_history_question)


class GitLog(Producer):
    """The history: log, show, blame or pickaxe, as the question needs."""

    name = "git log"
    cls = EvidenceClass.GIT_LOG
    independent_of = GIT
    authoritative = True

    def can(self, ask: Ask) -> int:
        """Rate this producer: best for history, weak for the state of the tree."""
        if ask.cls is not self.cls:
            return 0
        return 1 if _history_question(ask.question, ask.target).kind is HistoryKind.TREE else 3

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Return one entry: the answer of git, or the reason why it has none."""
        question = _history_question(ask.question, ask.target)
        words = question.subject.split()
        also = [name for name in spellings(words) if name != question.subject] if len(words) > 1 else []
        target = ask.target or question.subject
        try:
            found = answer(question, Repository.open(context), also)
        except UnansweredError as reason:
            return ask.nothing(self.name, one_line(str(reason)), question.subject, target)
        strong = found.quality is Quality.STRONG
        return ask.evidence(
            found.tool,
            found.quality,
            found.places,
            count=found.matches,
            exact=found.matches if strong else 0,
            note=found.note,
            query=found.query,
            target=target,
        )


class GitStatus(Producer):
    """The state of the working tree: an answer to that question, and next to nothing about history."""

    name = "git status"
    cls = EvidenceClass.GIT_LOG
    independent_of = GIT
    authoritative = True  # for the state of the tree; for history it is only ever Weak

    def can(self, ask: Ask) -> int:
        """Rate this producer: best for the state of the tree."""
        if ask.cls is not self.cls:
            return 0
        question = _history_question(ask.question, ask.target)
        if question.kind is HistoryKind.TREE:
            return 3
        return 0 if question.words else 1  # of a thing that the question names it says nothing at all

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Return evidence from `git status`: Strong for a question about the state of the tree, else Weak."""
        is_about_tree = _history_question(ask.question, ask.target).kind is HistoryKind.TREE
        try:
            repository = Repository.open(context)
            ran = repository.ask("status", "--porcelain=v2", "--branch", "-z", "--ignore-submodules=all", "--", ".")
            if ran.code != 0:
                raise UnansweredError(refusal(ran))
        except UnansweredError as reason:
            return ask.nothing(self.name, one_line(str(reason)), "")
        state = parse_status(ran.text)
        files = (*state.changed, *state.untracked)
        note = str(state) if is_about_tree else f"{state}; the state of the tree says little about its history"
        count = len(files) + 1  # the branch line is there also when nothing changed
        return ask.evidence(
            self.name,
            Quality.STRONG if is_about_tree else Quality.WEAK,
            [Place(path) for path in files],
            count=count,
            exact=count if is_about_tree else 0,
            note=note,
            query="",
            shows=(Shows.FAILS if files else Shows.PASSES) if is_about_tree else Shows.NOTHING,
        )
