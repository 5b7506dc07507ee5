"""The programs under test: Claude Code and Codex, in the versions that `package-lock.json` pins.

`npm ci` brings them once into the user's cache folder, never into the repository. `AGENT_CLIENTS` names a folder that
has them already, in `node_modules`. Where they cannot be had, the tests are skipped with the reason.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from filelock import FileLock

_HERE = Path(__file__).parent
_MANIFESTS = ("package.json", "package-lock.json")
_ENVIRON = dict(os.environ)  # of whoever runs the tests: the fixtures move HOME, and with it npm's own settings
_INSTALL_SECONDS = 300
_PROGRAMS = {
    "claude-code": "node_modules/@anthropic-ai/claude-code-*/claude",
    "codex": "node_modules/@openai/codex-*/vendor/*/bin/codex",
}


@cache
def program(client: str) -> Path:
    """The program of a client, fetched where it is not there yet."""
    given = _ENVIRON.get("AGENT_CLIENTS")
    folder = Path(given) if given else installed(_ENVIRON)
    for path in sorted(folder.glob(_PROGRAMS[client])):
        return path
    pytest.skip(f"no {client} for this machine in {folder}")


def installed(environ: Mapping[str, str]) -> Path:
    """The folder of the pinned versions. It appears when it is complete; whoever comes second waits for the first."""
    versions = hashlib.sha256(b"".join((_HERE / name).read_bytes() for name in _MANIFESTS)).hexdigest()[:16]
    caches = environ.get("XDG_CACHE_HOME") or os.path.join(environ.get("HOME") or os.path.expanduser("~"), ".cache")
    folder = Path(caches) / "knowbound-agents" / versions
    if folder.is_dir():
        return folder
    npm = shutil.which("npm", path=environ.get("PATH", os.defpath))
    if npm is None:
        pytest.skip("no agents to test with: npm is not there (AGENT_CLIENTS may name a folder that has them)")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.parent / "lock"):
            if not folder.is_dir():
                _install(npm, folder, environ)
    except OSError as error:
        pytest.skip(f"no agents to test with: {error}")
    return folder


def _install(npm: str, folder: Path, environ: Mapping[str, str]) -> None:
    unfinished = folder.with_name("unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)  # of a run that was killed
    unfinished.mkdir()
    try:
        for name in _MANIFESTS:
            shutil.copy(_HERE / name, unfinished)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
        with (unfinished / "npm.log").open("w+") as log:
            process = subprocess.Popen(
                command,
                cwd=unfinished,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                code = process.wait(_INSTALL_SECONDS)
            except subprocess.TimeoutExpired:
                pytest.skip(f"no agents to test with: npm ci did not end within {_INSTALL_SECONDS} s")
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
            log.seek(0)
            if code != 0:
                pytest.skip(f"no agents to test with: npm ci failed: {log.read().strip()[-500:]}")
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
