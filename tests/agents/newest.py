"""Prints a folder with the newest published clients, for AGENT_CLIENTS: `python -m tests.agents.newest`.

They lie beside the locked ones in the user's cache folder, one folder for each pair of versions; none of their scripts
is run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = ("@anthropic-ai/claude-code", "@openai/codex")


def newest(folder: Path) -> Path:
    """Return the folder of the newest versions, fetched where they are not there yet."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is not there: the newest clients cannot be fetched")
    versions = {name: _npm(npm, folder, "view", name, "version").strip() for name in PACKAGES}
    found = folder / "-".join(["newest", *versions.values()])
    if not found.is_dir():
        unfinished = folder / f"unfinished-{os.getpid()}"
        unfinished.mkdir(parents=True)
        (unfinished / "package.json").write_text(json.dumps({"private": True, "dependencies": versions}), "utf-8")
        _npm(npm, unfinished, "install", "--ignore-scripts", "--no-audit", "--no-fund")
        unfinished.rename(found)
    print(", ".join(f"{name} {version}" for name, version in versions.items()), file=sys.stderr)
    return found


def _npm(npm: str, folder: Path, *words: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([npm, *words, "--loglevel=error"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"npm {' '.join(words)}: {done.stderr.strip()[-400:]}")
    return done.stdout


if __name__ == "__main__":
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    print(newest(Path(caches) / "knowbound-agents"))
