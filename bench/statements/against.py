"""What `lint --against` says about real changes: `python -m bench.statements.against REPOSITORY… [--commits 60]`.

Each first-parent commit (a merge, or a squashed pull request) is compared with its first parent, from git's objects.
Every statement that the change makes wrong is printed with its commit, to be read.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from knowbound.codebase.checkout import CommitCheckout
from knowbound.core.statement import CheckedStatement
from knowbound.git import run_git
from knowbound.knowledge.checking import Checker
from knowbound.knowledge.lint import broken_since, knowledge_files
from knowbound.knowledge.statements import statements_of


class _Changed(CommitCheckout):
    """A commit that knows what it took away."""

    def __init__(self, root: Path, commit: str, base: CommitCheckout) -> None:
        super().__init__(root, commit)
        ran = _git(root, "diff", "-M", "--diff-filter=R", "--name-status", base.commit, commit)
        rows = (line.split("\t") for line in ran.splitlines())
        self.note_deleted_since(base.commit, base.files)
        self._renames[base.commit] = {row[1]: row[2] for row in rows if len(row) == 3}


def _git(root: Path, *words: str) -> str:
    return run_git(root, *words, seconds=60, output_bytes=20_000_000).out.decode("utf-8", "replace")


def broken_by(root: Path, commit: str) -> list[CheckedStatement]:
    """The statements that a commit makes wrong."""
    base = CommitCheckout(root, f"{commit}^1")
    head = _Changed(root, commit, base)
    statements = [one for path in knowledge_files(head) for one in statements_of(path, head.text(path))]
    return broken_since(Checker(head).check_all(statements), base)


def changes(root: Path, most: int) -> Iterator[str]:
    """The newest first-parent commits with another tree than their parent, that remove, move or edit a file."""
    yield from _git(root, "rev-list", "--first-parent", f"--max-count={most}", "HEAD").split()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("repositories", nargs="+", type=Path)
    parser.add_argument("--commits", type=int, default=60)
    given = parser.parse_args()
    for root in given.repositories:
        seen = alarms = 0
        for commit in changes(root, given.commits):
            seen += 1
            found = broken_by(root, commit)
            alarms += bool(found)
            subject = _git(root, "log", "-1", "--format=%s", commit).strip()
            for one in found:
                where = f"{one.statement.file}:{one.statement.line}"
                print(f"{root.name} {commit[:10]} {subject[:60]} | {where} {one.why} | {one.statement.text[:100]}")
        print(f"{root.name}: {alarms} of {seen} changes make a statement wrong", flush=True)


if __name__ == "__main__":
    main()
