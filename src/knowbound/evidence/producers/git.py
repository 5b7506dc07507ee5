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
from dataclasses import dataclass
from functools import lru_cache

from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality, Shows
from knowbound.evidence.producers.history import (
    HistoryKind,
    HistoryQuestion,
    Matched,
    date_of,
    read_history_question,
    search_messages,
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

_MORE_COMMITS = 4  # of a subject that a note names, the last one included
# Two producers need the question, to suit it and to answer it: it is read once.
_history_question = lru_cache(maxsize=32)(read_history_question)


@dataclass(frozen=True, slots=True)
class _History:
    """A question to the history of one repository, and its answers."""

    ask: Ask
    question: HistoryQuestion
    repository: Repository

    def answer(self) -> Evidence:
        """Ask git what the question needs. Raises UnansweredError with the reason why git has no answer."""
        question, repository = self.question, self.repository
        if repository.ask("rev-parse", "--quiet", "--verify", "HEAD").code != 0:
            raise UnansweredError("the repository has no commit yet")
        is_newest = question.kind in (HistoryKind.LAST, HistoryKind.COMMIT, HistoryKind.TREE)
        if repository.shallow and not (is_newest and not question.subject and question.count == 1):  # it has the last
            raise UnansweredError("a shallow clone: its history is cut off (git fetch --unshallow brings it)")
        match question.kind:
            case HistoryKind.LAST:
                return self._last()
            case HistoryKind.COMMIT:
                return self._commit(question.subject)
            case HistoryKind.SINCE:
                return self._since()
            case _:
                return self._about()

    def _log_evidence(
        self,
        query: str,
        commits: Sequence[LogEntry],
        note: str,
        quality: Quality = Quality.STRONG,
        tool: str = "git log",
    ) -> Evidence:
        """Return commits as evidence: Strong, where they match what the question names."""
        exact = len(commits) if quality is Quality.STRONG else 0
        places, target = (commit.place for commit in commits[:MOST]), self.ask.target or self.question.subject
        return self.ask.evidence(
            tool, quality, places, count=len(commits), exact=exact, note=note, query=query, target=target
        )

    def _last(self) -> Evidence:
        """Return the last commits, of the file that the question names if it names one."""
        question = self.question
        paths = pathspecs(self.repository.files_named(question.subject)) if question.subject else None
        if paths == []:  # what it names is no file
            return self._about()
        commits = self.repository.log(count=question.count, paths=paths)
        if not commits:
            raise UnansweredError("no commit touches this folder")
        about = f" of {question.subject}" if question.subject else ""
        return self._log_evidence(f"-{question.count}{about}", commits, f"the last commit{about} is {commits[0]}")

    def _commit(self, name: str) -> Evidence:
        """Return the commit of that name, with the files that it touches."""
        revision = ("--end-of-options", f"{name}^{{commit}}", "--", ".")
        ran = self.repository.ask("show", "--name-only", "--relative", "-z", FIELDS, *QUIET, *revision)
        head, _, names = ran.text.partition("\x1e")
        commits = parse_log(head + "\x1e")
        if ran.code != 0 or not commits:
            raise UnansweredError(f"there is no commit {name}")
        files = [path.strip("\n") for path in names.split("\0") if path.strip("\n")]
        note = f"{commits[0]}; it touches {listed(files) or 'no file here'}"
        places = (commits[0].place, *(Place(path) for path in files[:MOST]))
        target = self.ask.target or name
        return self.ask.evidence(
            "git show", Quality.STRONG, places, count=1, exact=1, note=note, query=name, target=target
        )

    def _since(self) -> Evidence:
        """Return the commits since a revision or a date; if there are none, the last commit before it."""
        question, repository = self.question, self.repository
        start, date = question.subject, date_of(question.subject)
        start_revision = repository.revision(start)
        end_revision = repository.revision(question.until) if question.until else "HEAD"
        if not (start_revision and end_revision) and not date:
            raise UnansweredError(
                f"{(start if not start_revision else question.until)!r} is neither a revision nor a date"
            )
        span = (
            ("--end-of-options", f"{start_revision}..{end_revision}")
            if start_revision and end_revision
            else (f"--since={date}",)
        )
        period = f"since {start}" if not question.until else f"between {start} and {question.until}"
        is_tag = start_revision not in ("", start) and not re.fullmatch(r"[0-9a-f]{40}", start_revision)
        if is_tag:  # "v2" was read as "v2.0"
            period += f" ({start_revision})"
        about, matched = " ".join(question.words), Matched(())
        if about:
            paths = repository.files_named(about)
            commits = repository.log(*span, paths=pathspecs(paths)) if paths else []
            if not commits:
                matched = search_messages(question, repository, span)
                commits = list(matched.commits)
            if not commits:
                raise UnansweredError(f"no commit {period} is about {about!r}{_nearest(matched)}")
            period = f"{period} about {about}"
        else:
            commits = repository.log(*span)
        if not commits:
            last = repository.log(count=1)
            return self._log_evidence(period, last, f"no commit {period}; the last one is {last[0]}" if last else "")
        more = "".join(f"; before it {commit}" for commit in commits[1:_MORE_COMMITS]) if about else ""
        return self._log_evidence(
            period, commits, f"{counted(len(commits), 'commit')} {period}, the last one {commits[0]}{more}"
        )

    def _about(self) -> Evidence:
        """Find the commits about a subject: of its file, with its words, that add or remove its name, by its author.

        The first of them answers when it came, the last what became of it.
        """
        question, repository, subject = self.question, self.repository, self.question.subject
        if not subject:
            commits = repository.log(count=10)
            if not commits:
                raise UnansweredError("no commit touches this folder")
            return self._log_evidence(
                "-10", commits, f"the log, with nothing to match; the last commit is {commits[0]}", Quality.MODERATE
            )
        if found := self._of_file():
            return found
        matched = search_messages(question, repository) if question.words else Matched(())
        if matched.commits:
            others = len(matched.commits) - 1
            more = f"; {counted(others, 'other')} {'mentions' if others == 1 else 'mention'} it" if others else ""
            about = " ".join(question.words)
            return self._log_evidence(
                about, matched.commits, f"{about}: {matched.commits[0]}{more}", tool="git log --grep"
            )
        name = question.words[0] if len(question.words) == 1 else subject
        is_whole = all(word in name for word in question.words)  # else the name is a part of what is asked
        spelled = list(dict.fromkeys((name, *(spellings(name.split()) if " " in name else ()))))
        if commits := repository.pickaxe(*spelled) if is_whole else []:
            return self._added_or_removed(spelled, commits)
        if commits := repository.log("--fixed-strings", "--regexp-ignore-case", f"--author={subject}"):
            note = f"{counted(len(commits), 'commit')} by {subject}, the last one {commits[0]}"
            return self._log_evidence(subject, commits, note, tool="git log --author")
        raise UnansweredError(f"no commit is about {subject!r}{_nearest(matched)}")

    def _of_file(self) -> Evidence | None:
        """Return the commits of a file that the question names; None if it names none."""
        kind, repository = self.question.kind, self.repository
        named = [word for word in self.question.words if "." in word or "/" in word]
        for name in dict.fromkeys((self.question.subject, *named)):
            tracked = repository.files_named(name)  # there now
            anywhere_ever = [literal(name), anywhere(name)]  # also where it was once
            if kind is HistoryKind.ADDED and name in named:
                if commits := repository.log("--diff-filter=A", paths=anywhere_ever)[::-1]:
                    return self._log_evidence(name, commits, f"{name} was added by {commits[0]}")
            elif kind is HistoryKind.REMOVED and name in named and not tracked:
                if commits := repository.log("--diff-filter=D", paths=anywhere_ever):
                    return self._log_evidence(name, commits, f"{name} was removed by {commits[0]}")
            elif kind is not HistoryKind.REMOVED and tracked and (commits := repository.log(paths=pathspecs(tracked))):
                people = listed(list(dict.fromkeys(commit.author for commit in commits)))
                note = f"{name} was last changed by {commits[0]}; {counted(len(commits), 'commit')} by {people}"
                return self._log_evidence(name, commits, note)
        return None

    def _added_or_removed(self, spelled: Sequence[str], commits: Sequence[LogEntry]) -> Evidence:
        """Return the commits that add or remove a name; what is still in the tree was not removed."""
        name, tool, count = spelled[0], "git log -S", counted(len(commits), "commit")
        match self.question.kind:
            case HistoryKind.ADDED:
                return self._log_evidence(name, commits[::-1], f"{name!r} came with {commits[-1]}", tool=tool)
            case HistoryKind.REMOVED if self.repository.has(*spelled):
                note = f"{name!r} is still in the tree; {count} added or removed some of it"
                return self._log_evidence(name, commits, note, Quality.WEAK, tool)
            case HistoryKind.REMOVED:
                return self._log_evidence(name, commits, f"{name!r} went with {commits[0]}", tool=tool)
            case _:
                note = f"{count} add or remove {name!r}, the last one {commits[0]}"
                return self._log_evidence(name, commits, note, tool=tool)


def _nearest(matched: Matched) -> str:
    """Return words about the nearest commit, which is no answer; "" if there is none."""
    if matched.nearest is None:
        return ""
    return f"; nearest is {matched.nearest}, which says nothing of {' and '.join(matched.missing)}"


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
        try:
            return _History(ask, question, Repository.open(context)).answer()
        except UnansweredError as reason:
            return ask.nothing(self.name, one_line(str(reason)), question.subject, ask.target or question.subject)


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
