"""A git repository that can be asked safely.

Besides what `knowbound.git` switches off, no filter, text converter or signature checker of the repository is run, and
terms are never read as options.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from knowbound.core.evidence import Place
from knowbound.evidence.producers.protocol import Context
from knowbound.git import run_git
from knowbound.process import Ran
from knowbound.text.printable import one_line

QUIET = ("--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color", "--ignore-submodules=all")
FIELDS = "--format=tformat:%H%x1f%aI%x1f%an%x1f%s%x1e"
_AUTHOR_LENGTH, _BRANCH_LENGTH = 40, 60  # that are shown
_MOST_PATHS = 100  # that one log is asked about
MOST = 200  # commits and files named as sources
ALL = -1  # git's own word for no limit; the first commit of many is only known from all of them
_RUNS_PROGRAM = re.compile(r"(filter|hook)\..*\.\w+", re.S)


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One line of the log."""

    hash: str
    date: str
    author: str
    subject: str

    @property
    def place(self) -> Place:
        """The commit as a source."""
        return Place(f"commit {self.hash[:10]}", 0, one_line(self.subject))

    def __str__(self) -> str:
        return f"{self.hash[:10]} {self.date[:10]} {one_line(self.author, _AUTHOR_LENGTH)}: {one_line(self.subject)}"


def parse_log(text: str) -> list[LogEntry]:
    """The commits of a log in our own format; an incomplete last one is left out."""
    records = (record.strip("\n").split("\x1f", 3) for record in text.split("\x1e")[:-1])
    return [LogEntry(*fields) for fields in records if len(fields) == 4]


@dataclass(frozen=True, slots=True)
class TreeState:
    """The state of the working tree."""

    branch: str
    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    ahead_behind: str = ""

    def __str__(self) -> str:
        where = f"on branch {one_line(self.branch, _BRANCH_LENGTH)}{self.ahead_behind}"
        if not self.changed and not self.untracked:
            return f"the tree is clean, {where}"
        return f"{len(self.changed)} changed and {len(self.untracked)} untracked, {where}"


def parse_status(text: str) -> TreeState:
    """Return the state that `git status --porcelain=v2 --branch -z` prints."""
    branch, ahead_behind = "(detached)", ""
    changed: list[str] = []
    untracked: list[str] = []
    records = iter(text.split("\0"))
    for record in records:
        if record.startswith("# branch.head "):
            branch = record.removeprefix("# branch.head ")
        elif record.startswith("# branch.ab "):
            ahead, _, behind = record.removeprefix("# branch.ab +").partition(" -")
            ahead_behind = f", {ahead} ahead and {behind} behind" if (ahead, behind) != ("0", "0") else ""
        elif record.startswith(("1 ", "u ")):  # changed, unmerged: 8 or 10 fields before the path
            changed.append(record.split(" ", 8 if record[0] == "1" else 10)[-1])
        elif record.startswith("2 "):  # renamed
            changed.append(record.split(" ", 9)[-1])
            next(records, None)  # the name before the rename
        elif record.startswith("? "):
            untracked.append(record[2:])
    return TreeState(branch, tuple(changed), tuple(untracked), ahead_behind)


class UnansweredError(Exception):
    """Git cannot say, and why."""


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository that can be asked, with what its own config wants to run switched off."""

    context: Context
    shallow: bool
    is_top: bool  # the root is the top of the repository, not a folder in it
    switched_off: dict[str, str]

    @classmethod
    def open(cls, context: Context) -> Repository:
        """Return the repository around the root. Raises UnansweredError with the reason if there is none."""
        unchecked = cls(context, shallow=False, is_top=True, switched_off={})  # these commands run no program of it
        asked = unchecked._run("rev-parse", "--is-shallow-repository", "--is-inside-work-tree", "--show-toplevel")
        answers = asked.text.removesuffix("\n").split("\n", 2)
        if asked.code != 0 or answers[1] != "true":
            raise UnansweredError(refusal(asked))
        root, top = context.root.resolve(), Path(answers[2]).resolve()
        if not root.is_relative_to(top):
            raise UnansweredError("the working tree of this repository is elsewhere")
        return cls(
            context, shallow=answers[0] == "true", is_top=root == top, switched_off=unchecked._disabled_programs()
        )

    def ask(self, *arguments: str) -> Ran:
        """Run git. Raises UnansweredError if it is not there or does not finish."""
        ran = self._run(*arguments)
        if ran.timed_out:
            raise UnansweredError(f"git {arguments[0]} did not finish in time (time-out)")
        return ran

    def log(self, *arguments: str, count: int = ALL, paths: Sequence[str] | None = None) -> list[LogEntry]:
        """Return commits, newest first. Paths are pathspecs, given after the `--`; None is all of the root.

        With a path git leaves out merges and empty commits, so the top of a repository is asked for without one.
        """
        where = paths if paths is not None else () if self.is_top else (".",)
        ran = self.ask("log", FIELDS, f"--max-count={count}", *QUIET, *arguments, "--", *where)
        if ran.cut and count == ALL:
            raise UnansweredError("the history is longer than we read")
        if ran.code:  # None: it was stopped at its limit
            raise UnansweredError(refusal(ran))
        return parse_log(ran.text)

    def messages(self, *span: str) -> list[tuple[LogEntry, str]]:
        """Return commits with their messages' bodies, newest first; of a very long history without the bodies."""
        where = () if self.is_top else (".",)
        fields = f"{FIELDS.removesuffix('%x1e')}%x1f%b%x1e"  # the body is the fifth field
        ran = self.ask("log", fields, *QUIET, *span, "--", *where)
        if ran.cut:
            return [(commit, "") for commit in self.log(*span)]
        records = (record.strip("\n").split("\x1f", 4) for record in ran.text.split("\x1e")[:-1])
        return [(LogEntry(*values[:4]), values[4]) for values in records if len(values) == 5]

    def change(self, commit: str) -> str:
        """The changed lines of a commit with the names of its files, as a diff without context."""
        return self.ask("show", "--format=", "--unified=0", *QUIET, "--end-of-options", commit, "--", ".").text

    def revision(self, name: str) -> str:
        """Return the revision of that name, or ""; "v2" is also the first of the tags v2.…, if there is no other."""
        known = self.ask("rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")
        if known.code == 0:
            return known.text.strip()
        number = name.lower().removeprefix("version ").removeprefix("release ").lstrip("v").strip()
        if not re.fullmatch(r"\d+(?:\.\d+)*", number):
            return ""
        for starts in (("v", "", "release-"), ("*-", "*-v", "*_", "*/", "*/v", "*@")):  # then "Project-2.0"
            globs = [f"{start}{number}{end}" for end in ("", ".*") for start in starts]
            tags = self.ask("tag", "--sort=version:refname", "--list", *globs).text.split()
            # Final releases: a tag that ends in letters (rc1, beta) is none, unless it ends in the number itself.
            final = [tag for tag in tags if not re.search(r"[a-z]+[.-]?\d*$", tag.lstrip("v").lower())]
            final = final or [tag for tag in tags if re.search(rf"[-_/@]v?{re.escape(number)}$", tag)]
            if tags:
                return (final or tags)[0]
        return ""

    def pickaxe(self, *names: str) -> list[LogEntry]:
        """Return commits that add or remove one of the names, as whole words: `foo` is not found in `foobar`."""
        plain = [name.replace(".", "[.]") for name in names if re.fullmatch(r"\w(?:[\w .:-]*\w)?", name, re.ASCII)]
        if plain:
            return self.log("--pickaxe-regex", rf"-S\b({'|'.join(plain)})\b")
        return self.log(f"-S{names[0]}")  # other signs have no word boundary: as it is written

    def files_named(self, name: str) -> list[str]:
        """Return the tracked file or folder of this path, else the files whose path ends with it."""
        tracked = self.ask("ls-files", "-z").text.split("\0")[:-1]
        wanted = name.removeprefix("./").rstrip("/")
        exact = [path for path in tracked if path == wanted or path.startswith(wanted + "/")]
        return [wanted] if exact else [path for path in tracked if path.endswith("/" + wanted)]

    def has(self, *names: str) -> bool:
        """Report whether the last commit has one of the names as a word."""
        wanted = (part for name in names for part in ("-e", name))
        return self.ask("grep", "-q", "-I", "-w", "-F", *wanted, "HEAD", "--", ".").code == 0

    def _disabled_programs(self) -> dict[str, str]:
        """Return environment variables for git that set each of the repository's own filters and hooks to nothing."""
        listing = self._run("config", "--list", "--show-scope", "--name-only", "-z").text.split("\0")
        own_names = [
            name for scope, name in zip(listing[::2], listing[1::2], strict=False) if scope in ("local", "worktree")
        ]
        programs = [name for name in dict.fromkeys(own_names) if _RUNS_PROGRAM.fullmatch(name)]
        settings = [(name, "false" if name.endswith((".required", ".enabled")) else "") for name in programs]
        pairs = {"GIT_CONFIG_COUNT": str(len(settings))}
        for number, (name, value) in enumerate(settings):
            pairs |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
        return pairs

    def _run(self, *arguments: str) -> Ran:
        """Run git within the limits, with the repository's own programs switched off."""
        limits = self.context.limits
        ran = run_git(
            self.context.root,
            *arguments,
            seconds=min(limits.call_seconds, self.context.seconds_left),
            output_bytes=limits.output_bytes,
            added=self.switched_off,
        )
        if ran.missing:
            raise UnansweredError("git is not installed" if self.context.root.is_dir() else "the folder does not exist")
        return ran


def refusal(ran: Ran) -> str:
    """Return the reason why git has no answer for this folder."""
    message = ran.err.decode("utf-8", "replace")
    if ran.timed_out:
        return "git did not answer in time"
    if "dubious ownership" in message:
        return "git refuses this repository: it belongs to another user (safe.directory)"
    if ran.code == 0 or "not a git repository" in message or "must be run in a work tree" in message:
        return "not a git repository"
    return f"git cannot read this repository: {one_line(message.removeprefix('fatal: '))}"


def literal(path: str) -> str:
    """The pathspec of exactly this path."""
    return f":(literal){path}"


def pathspecs(paths: Sequence[str]) -> list[str]:
    """The pathspecs of exactly these paths."""
    return [literal(path) for path in paths[:_MOST_PATHS]]


def anywhere(name: str) -> str:
    """The pathspec of a file of this name in any folder."""
    return ":(glob)**/" + re.sub(r"([*?\[\]\\])", r"\\\1", name)
