"""Installs this release of knowbound for the plugin: from the lock with hashes, and the wheel that the plugin ships.

    ~/.local/share/knowbound/
        0.2.0-1f3a…/      the environment of one release; it appears when it is complete
        current           the name of the newest one
        .lock             held while one set-up runs; another waits

Environments of earlier releases stay for sessions that use them: the one before this always, others for a week after
they were replaced.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

ROOT = Path(__file__).resolve().parents[1]
KEPT = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share") / "knowbound"
LOCK = KEPT / ".lock"
WEEK = 7 * 24 * 3600.0
BIN = "Scripts" if os.name == "nt" else "bin"
PYTHON = "python.exe" if os.name == "nt" else "python"
UNFINISHED = ".unfinished-"


class SetupError(Exception):
    """The reason why nothing was installed."""


@contextmanager
def lock() -> Iterator[None]:
    """Hold the lock of all set-ups; the system releases it when this process ends, however it ends."""
    is_first = True
    while (file := _locked()) is None:
        if is_first:
            print("Another set-up is running: waiting for it.", flush=True)
        is_first = False
        time.sleep(0.2)
    with file:
        yield


def _locked() -> BinaryIO | None:
    """Return the lock's file, held by this process, or None where another one holds it."""
    KEPT.mkdir(mode=0o700, parents=True, exist_ok=True)
    file = LOCK.open("a+b")
    try:
        _try_lock(file.fileno())
        if os.path.samestat(os.fstat(file.fileno()), LOCK.stat()):  # else a removal took it meanwhile
            return file
    except OSError:
        pass
    file.close()
    return None


def _try_lock(file: int) -> None:
    if os.name == "nt":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def shipped() -> tuple[str, Path, Path]:
    """Return the name of this release, its wheel and its lock, after a look at their hashes."""
    try:
        name = (ROOT / "release").read_text("utf-8").strip()
        wanted = json.loads((ROOT / "release.json").read_text("utf-8"))
    except (OSError, ValueError):
        raise SetupError(
            "this copy of the plugin comes from the source tree and has no wheel. Run `make plugin` there, or add the "
            "marketplace from the branch `plugin`"
        ) from None
    paths = [ROOT / "wheel" / wanted["wheel"], ROOT / "requirements.lock"]
    for path in paths:
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != wanted["sha256"][path.name]:
            raise SetupError(f"{path} is not what the release made. Install the plugin again")
    return name, paths[0], paths[1]


def install(name: str, wheel: Path, requirements: Path) -> None:
    """Install into a new folder, and rename it when it is complete."""
    final = KEPT / name
    new = KEPT / f"{UNFINISHED}{name}"
    shutil.rmtree(new, ignore_errors=True)
    python = new / BIN / PYTHON
    uv = shutil.which("uv")
    # The settings of the index are the user's own: a mirror, a proxy, certificates.
    if uv:
        _run(uv, "venv", "--quiet", "--prompt", "knowbound", "--python", sys.executable, str(new))
        pip = [uv, "pip", "install", "--quiet", "--python", str(python), "--compile-bytecode"]
    else:
        _run(sys.executable, "-m", "venv", "--prompt", "knowbound", str(new))
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    try:
        _run(*pip, "--require-hashes", "--only-binary", ":all:", "-r", str(requirements))
    except SetupError as error:
        raise SetupError(f"the packages cannot be downloaded; is the network there? {error}") from None
    _run(*pip, "--no-deps", "--no-index", str(wheel))
    _run(str(python), "-m", "knowbound", "--version")
    for script in (new / BIN).iterdir():  # scripts name the folder
        if script.is_file() and not script.is_symlink():
            text = script.read_bytes()
            if os.fsencode(new) in text and b"\0" not in text:
                script.write_bytes(text.replace(os.fsencode(new), os.fsencode(final)))
    shutil.rmtree(final, ignore_errors=True)  # an environment that lost its programs
    new.rename(final)


def _run(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", cwd=KEPT, check=False)
    if done.returncode:
        lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
        raise SetupError(f"{Path(words[0]).name} failed: {' / '.join(lines[-3:]) or f'exit code {done.returncode}'}")


def is_complete(name: str) -> bool:
    """Report whether the environment of a release can be used."""
    programs = ("knowbound", "knowbound-hook")
    return all(any((KEPT / name / BIN / f"{one}{end}").exists() for end in ("", ".exe")) for one in programs)


def make_current(name: str) -> None:
    """Name the newest environment, and remove what no session can use any more."""
    pointer = KEPT / "current"
    before = pointer.read_text("utf-8").strip() if pointer.is_file() else ""
    if before not in ("", name) and (KEPT / before).is_dir():
        os.utime(KEPT / before)  # its week begins now: until now new sessions began with it
    draft = KEPT / f".current-{os.getpid()}"
    draft.write_text(f"{name}\n", "utf-8")
    draft.replace(pointer)
    for folder in KEPT.iterdir():
        is_old = folder.name not in (name, before) and folder.stat().st_mtime < time.time() - WEEK
        if folder.is_dir() and (folder.name.startswith(UNFINISHED) or is_old):
            shutil.rmtree(folder, ignore_errors=True)


def remove() -> None:
    """Remove every environment and what the plugin noted; data of projects and settings of the user stay."""
    with lock():
        for folder in [one for one in KEPT.iterdir() if one.is_dir()]:
            shutil.rmtree(folder, ignore_errors=True)
        (KEPT / "current").unlink(missing_ok=True)
        with suppress(OSError):  # Windows removes no file that is open, and no folder with files of others goes
            LOCK.unlink()
            KEPT.rmdir()
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "knowbound"
    for said in state.glob("said-*"):
        said.rmdir()
    print("Removed. Data of projects (.knowbound) stay; knowbound forget erases them before this.")


def main() -> int:
    """Install or remove."""
    if sys.argv[1:] == ["--remove"]:
        remove()
        return 0
    began = time.monotonic()
    try:
        name, wheel, requirements = shipped()
        with lock():
            if is_complete(name):
                make_current(name)
                print(f"knowbound {name} is set up already.")
                return 0
            print(f"Installing knowbound {name} into {KEPT / name} …", flush=True)
            try:
                install(name, wheel, requirements)
            finally:
                shutil.rmtree(KEPT / f"{UNFINISHED}{name}", ignore_errors=True)
            make_current(name)
    except (SetupError, OSError) as error:
        print(f"knowbound: {error}. Nothing was changed.", file=sys.stderr)
        return 2
    print(f"Set up in {time.monotonic() - began:.0f} s. Hooks answer from the next prompt on.")
    print("Start a new session to have the tools of the MCP server. To see that it works, in a project:")
    print(f"  {KEPT / name / BIN / 'knowbound'} doctor")
    return 0


if __name__ == "__main__":
    sys.exit(main())
