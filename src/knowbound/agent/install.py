"""Install into an agent and take it out again: planned first, shown as a difference, then written whole or not at all.

What a settings file was before is kept in the user's state folder. `uninstall` gives exactly these bytes back while the
file is as we left it; where someone has edited it since, only our entries go.
"""

from __future__ import annotations

import base64
import difflib
import hashlib
import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from knowbound.agent.clients import OurEntries, SettingsFile
from knowbound.agent.settings.entries import entries_in, value_of, with_ours, without_ours
from knowbound.errors import InputError
from knowbound.files import replacing
from knowbound.text.redact import redact
from knowbound.user_files import make_folder, state_folder

_LONGEST_LINE = 400  # of a shown difference


@dataclass(frozen=True, slots=True)
class FileChange:
    """One settings file: what it is, what it shall be (None: no file), and what was there before us."""

    path: Path
    now: bytes | None
    then: bytes | None
    original: bytes | None  # to be kept for uninstall
    note: str = ""

    def difference(self) -> str:
        """As `diff -u` shows it, without secrets of the lines around."""
        lines = difflib.unified_diff(
            _shown(self.now), _shown(self.then), f"{self.path}", f"{self.path} (new)", lineterm=""
        )
        shown = redact("\n".join(lines)).split("\n")
        return "\n".join(line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " …" for line in shown)


@dataclass(frozen=True, slots=True)
class _Backup:
    """What a file was before us, and the hash of what we made of it."""

    original: bytes | None
    left: str
    made_folder: bool


def plan_install(files: Sequence[SettingsFile], ours: OurEntries) -> list[FileChange]:
    """What installing would change; nothing where it is installed already."""
    changes = []
    for file in files:
        now = _read(file.path)
        backup = _backup(file.path)
        text = _text(file, now)
        after = with_ours(file, text, ours)
        if after == text:
            continue
        if backup and now is not None and _hash(now) == backup.left:  # ours of an older version: start from before it
            original, after = backup.original, with_ours(file, _text(file, backup.original), ours)
        elif entries_in(file, value_of(file, text)):
            original = without_ours(file, text).encode("utf-8")
        else:
            original = now
        _check_writable(file.path)
        note = f"it is a link to {file.path.resolve()}" if file.path.is_symlink() else ""
        changes.append(FileChange(file.path, now, after.encode("utf-8"), original, note))
    return changes


def plan_uninstall(files: Sequence[SettingsFile]) -> list[FileChange]:
    """What uninstalling would change."""
    changes = []
    for file in files:
        now = _read(file.path)
        backup = _backup(file.path)
        if now is None:
            continue
        if backup and _hash(now) == backup.left:
            then, note = backup.original, "as it was before knowbound"
        elif entries_in(file, value_of(file, text := _text(file, now))):
            keep = value_of(file, _text(file, backup.original)) if backup else None
            left = without_ours(file, text, keep)
            is_only_ours = backup is not None and backup.original is None and value_of(file, left) == {}
            then = None if is_only_ours else left.encode("utf-8")
            note = "edited since the installation: only knowbound's entries are removed"
        else:
            continue
        _check_writable(file.path)
        changes.append(FileChange(file.path, now, then, None, note))
    return changes


def apply(changes: Sequence[FileChange], *, keep_originals: bool) -> None:
    """Write all the changes, or none: what was written is taken back when a later file cannot be."""
    for change in changes:
        if _read(change.path) != change.now:
            raise InputError(
                "settings-changed", f"{change.path} was changed meanwhile. Nothing was written. Try again."
            )
    made = {change.path.parent for change in changes if not change.path.parent.exists()}
    done: list[FileChange] = []
    try:
        for change in changes:
            if keep_originals and change.then is not None:
                _keep(change.path, change.original, change.then, change.path.parent in made)
            _put(change.path, change.then)
            done.append(change)
    except OSError as error:
        for change in done:
            with suppress(OSError):
                _put(change.path, change.now)
        raise InputError("settings-unwritable", f"{error}. Nothing was changed.") from error
    if not keep_originals:
        for change in changes:
            _forget(change)


def _forget(change: FileChange) -> None:
    """The backup is used up; a folder that we made goes too, where nobody has put something there."""
    backup = _backup(change.path)
    _backup_file(change.path).unlink(missing_ok=True)
    if backup and backup.made_folder and change.then is None:
        with suppress(OSError):
            change.path.parent.rmdir()


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError("settings-broken", f"{path} cannot be read: {error}. Nothing was changed.") from error


def _text(file: SettingsFile, data: bytes | None) -> str:
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("settings-broken", f"{file.path} is no UTF-8: {error}. Nothing was changed.") from error


def _check_writable(path: Path) -> None:
    """Replacing a file needs no right on the file itself, so a file that is meant to stay must be asked."""
    real = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        is_meant_to_stay = not real.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
        if is_meant_to_stay or not os.access(real, os.W_OK):
            raise InputError("settings-unwritable", f"{path} is read-only. Nothing was changed.")


def _put(path: Path, data: bytes | None) -> None:
    """The file with this content, whole or not at all; a link stays a link."""
    real = Path(os.path.realpath(path))
    if data is None:
        real.unlink(missing_ok=True)
        return
    real.parent.mkdir(parents=True, exist_ok=True)
    with replacing(real) as file:
        file.write(data)


def _backup_file(path: Path) -> Path:
    name = hashlib.sha256(os.path.abspath(path).encode()).hexdigest()[:24]
    return Path(state_folder()) / "installed" / f"{name}.json"


def _keep(path: Path, original: bytes | None, left: bytes, made_folder: bool) -> None:
    """For our eyes only: settings may hold tokens."""
    kept: Mapping[str, str | bool | None] = {
        "path": str(path),
        "made_folder": made_folder,
        "original": None if original is None else base64.b64encode(original).decode(),
        "left": _hash(left),
    }
    file = _backup_file(path)
    make_folder(file.parent)
    with replacing(file, private=True) as opened:
        opened.write(json.dumps(kept).encode())


def _backup(path: Path) -> _Backup | None:
    try:
        kept = json.loads(_backup_file(path).read_bytes())
        original = kept["original"]
        return _Backup(None if original is None else base64.b64decode(original), kept["left"], kept["made_folder"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _shown(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()
