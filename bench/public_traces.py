"""The transcripts that public repositories keep in a branch or in refs of their own, as files for the other benchmarks.

    python -m bench.public_traces --repositories DIR --to FOLDER OWNER+NAME …

DIR has the clones `OWNER+NAME/repo`. A session is stored once for each of its checkpoints: the longest one is written.
Sessions of the shared traces are left out, for rules were made on them.
"""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

from bench.labels import SHARED

REFS = ("refs/heads/entire/checkpoints/v1", "refs/entire/checkpoints")  # one branch, or a ref for each checkpoint
_SESSION = re.compile(
    rb'"sessionId":\s*"([\w-]+)"|"session_meta".{0,400}?"id":\s*"([\w-]+)"|"id":\s*"([0-9a-f-]{36})"', re.S
)
_HEAD = 200_000  # bytes that name the session


def write(repository: Path, target: Path, known: set[str]) -> int:
    """Write the sessions that are not known; how many they were."""
    found: dict[str, bytes] = {}
    for blob in _transcripts(repository):
        content = subprocess.run(
            ["git", "-C", str(repository), "cat-file", "blob", blob], capture_output=True, check=False
        )
        named = _SESSION.search(content.stdout[:_HEAD])
        session = (named[1] or named[2] or named[3]).decode() if named else ""
        if session and session not in known and len(content.stdout) > len(found.get(session, b"")):
            found[session] = content.stdout
    target.mkdir(parents=True, exist_ok=True)
    for session, text in found.items():
        (target / f"{session}.jsonl").write_bytes(text)
    return len(found)


def _transcripts(repository: Path) -> list[str]:
    found = dict[str, None]()
    for ref in _git(repository, "for-each-ref", "--format=%(refname)", *REFS).split():
        rows = _git(repository, "ls-tree", "-r", ref).splitlines()
        found.update((line.split()[2], None) for line in rows if line.endswith("full.jsonl"))
    return list(found)


def _git(repository: Path, *arguments: str) -> str:
    return subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, text=True, check=True).stdout


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.public_traces")
    parser.add_argument("--repositories", type=Path, required=True, help="the folder with the clones")
    parser.add_argument("--to", type=Path, required=True, help="where the transcripts go")
    parser.add_argument("names", nargs="+", metavar="OWNER+NAME")
    given = parser.parse_args()
    shared = " ".join(path.name for path in (SHARED / "traces").rglob("*") if path.is_file())
    known = set(re.findall(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", shared))
    for name in given.names:
        count = write(given.repositories / name / "repo", given.to / name.partition("+")[2], known)
        print(f"{name}: {count} sessions")


if __name__ == "__main__":
    main()
