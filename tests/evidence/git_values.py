"""A git that is a value: commits, newest first, answered to the few commands that a history is asked with."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from knowbound.process import Ran


class Commit(NamedTuple):
    """A commit; `files` with "+" before what it adds and "-" before what it deletes."""

    hash: str
    subject: str
    body: str = ""
    author: str = "Ada"
    date: str = "2026-01-01T10:00:00+00:00"
    files: tuple[str, ...] = ()
    change: str = ""

    @property
    def paths(self) -> list[str]:
        return [file.lstrip("+-") for file in self.files]


class FakeGit:
    """Answers `run_git` from commits, tracked files, tags and a status."""

    def __init__(
        self, commits: Sequence[Commit], tracked: Sequence[str] = (), tags: Sequence[str] = (), status: str = "",
        answers: Mapping[str, Ran] | None = None, *, is_shallow: bool = False, top: str = "/repo", config: str = "",
    ) -> None:  # fmt: skip
        self._commits, self._tracked, self._tags, self._status = commits, tracked, tags, status
        self._answers, self._is_shallow, self._top, self._config = dict(answers or {}), is_shallow, top, config
        self.asked: list[tuple[str, ...]] = []
        self.added: Mapping[str, str] = {}

    def __call__(
        self, root: Path, *arguments: str, seconds: float, output_bytes: int, added: Mapping[str, str] | None = None
    ) -> Ran:
        self.asked.append(arguments)
        self.added = added or {}
        verb = arguments[0]
        if verb in self._answers:
            return self._answers[verb]
        methods = {"config": self._config_, "status": self._status_}
        text = methods.get(verb, getattr(self, f"_{verb.replace('-', '_')}"))(list(arguments[1:]))
        return Ran(1 if text is None else 0, (text or "").encode(), b"")

    def _rev_parse(self, given: list[str]) -> str | None:
        if "--show-toplevel" in given:
            return f"{str(self._is_shallow).lower()}\ntrue\n{self._top}\n"
        name = given[-1].removesuffix("^{commit}")
        if name == "HEAD":
            return "c\n" if self._commits else None
        found = [commit.hash for commit in self._commits if commit.hash.startswith(name)]
        return f"{found[0]}\n" if found else f"{self._commits[4].hash}\n" if name in self._tags else None

    def _config_(self, given: list[str]) -> str:
        return self._config

    def _ls_files(self, given: list[str]) -> str:
        return "".join(f"{path}\0" for path in self._tracked)

    def _status_(self, given: list[str]) -> str:
        return self._status

    def _tag(self, given: list[str]) -> str:
        patterns = [re.escape(glob).replace(r"\*", ".*") for glob in given[given.index("--list") + 1 :]]
        return "\n".join(tag for tag in self._tags if any(re.fullmatch(pattern, tag) for pattern in patterns))

    def _grep(self, given: list[str]) -> str | None:
        names = [given[at + 1] for at, word in enumerate(given) if word == "-e"]
        return "" if any(f"word:{name}" in self._tracked for name in names) else None

    def _show(self, given: list[str]) -> str | None:
        name = given[given.index("--end-of-options") + 1].removesuffix("^{commit}")
        commit = next((commit for commit in self._commits if commit.hash.startswith(name)), None)
        if commit is None:
            return None
        if "--unified=0" in given:
            return commit.change
        return f"{self._row(commit)}\x1e\n" + "".join(f"{path}\0" for path in commit.paths)

    def _log(self, given: list[str]) -> str:
        split = given.index("--")
        options, paths = given[:split], given[split + 1 :]
        found = [commit for commit in self._commits if self._fits(commit, options, paths)]
        count = next((int(word.partition("=")[2]) for word in options if word.startswith("--max-count=")), -1)
        end = "\x1e"
        return "".join(
            self._row(commit) + (f"\x1f{commit.body}" if "%b" in options[0] else "") + f"{end}\n"
            for commit in found[: None if count < 0 else count]
        )

    def _row(self, commit: Commit) -> str:
        return "\x1f".join((commit.hash, commit.date, commit.author, commit.subject))

    def _fits(self, commit: Commit, options: list[str], paths: list[str]) -> bool:
        for option in options:
            name, _, value = option.partition("=")
            if name == "--author" and value.lower() not in commit.author.lower():
                return False
            if name == "--since" and commit.date < value:
                return False
            if ".." in option and not option.startswith("-"):
                start = option.partition("..")[0]
                hashes = [other.hash for other in self._commits]
                if hashes.index(commit.hash) >= hashes.index(start):
                    return False
            if option.startswith("-S") and not re.search(option[2:].replace(r"\b", ""), commit.change):
                return False
            if name == "--diff-filter":
                sign = {"A": "+", "D": "-"}[value]
                if not any(file[0] == sign and self._named(file[1:], paths) for file in commit.files):
                    return False
        return not paths or paths == ["."] or any(self._named(path, paths) for path in commit.paths)

    @staticmethod
    def _named(path: str, specs: list[str]) -> bool:
        plain = [spec.removeprefix(":(literal)").removeprefix(":(glob)**/") for spec in specs]
        return any(path == name or path.startswith(f"{name}/") or path.endswith(f"/{name}") for name in plain)
