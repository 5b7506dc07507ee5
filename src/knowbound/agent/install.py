"""Install into an agent and take it out again: planned first, shown as a difference, then written whole or not at all.

What a settings file was before is kept (`backups.py`). `uninstall` gives exactly these bytes back while the file is as
we left it, however often it was installed and upgraded meanwhile; where someone has edited it since, only our entries
go. One file may have entries of ours in several places: Claude Code keeps the servers of all projects in one.
"""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from knowbound.agent.backups import Backup, backup_of, hash_of, keep, remove
from knowbound.agent.clients import OurEntries, SettingsFile
from knowbound.agent.settings.entries import entries_in, server_places, value_of, with_ours, without_ours
from knowbound.errors import InputError
from knowbound.files import replacing
from knowbound.text.redact import redact

_LONGEST_LINE = 400  # of a shown difference


@dataclass(frozen=True, slots=True)
class FileChange:
    """One settings file: what it is, what it shall be (None: no file), and the backup to keep (None: no more)."""

    path: Path
    now: bytes | None
    then: bytes | None
    backup: Backup | None
    note: str = ""

    def difference(self) -> str:
        """As `diff -u` shows it, without secrets of the lines around."""
        lines = difflib.unified_diff(
            _shown(self.now), _shown(self.then), f"{self.path}", f"{self.path} (new)", lineterm=""
        )
        shown = redact("\n".join(lines)).split("\n")
        return "\n".join(line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " …" for line in shown)


def plan_install(
    files: Sequence[SettingsFile], ours: OurEntries, replaced: Sequence[SettingsFile] = ()
) -> list[FileChange]:
    """What installing into `files` would change, with our entries in `replaced` removed; nothing where it is done."""
    paths = dict.fromkeys(file.path for file in (*files, *replaced))
    plans = [_plan(path, _at(path, files), _at(path, replaced), ours) for path in paths]
    return [plan for plan in plans if plan]


def plan_uninstall(files: Sequence[SettingsFile]) -> list[FileChange]:
    """What uninstalling would change."""
    return plan_install((), OurEntries({}, {}), files)


def _at(path: Path, files: Sequence[SettingsFile]) -> list[SettingsFile]:
    return [file for file in files if file.path == path]


def _plan(path: Path, added: list[SettingsFile], removed: list[SettingsFile], ours: OurEntries) -> FileChange | None:
    now, backup = _read(path), backup_of(path)
    if now is None and not added:
        return None
    text = _text(path, now)
    others = [file for file in _servers(path, text) if file not in (*added, *removed)]
    has_ours = [file for file in (*added, *removed, *others) if entries_in(file, value_of(file, text))]
    is_as_left = backup is not None and backup.is_of(now)
    note = ""
    if not added and not has_ours and not is_as_left:
        return None
    if backup and is_as_left and not others:  # all that is ours is about to be written anew: start from before it
        original = then = backup.original
        if original and (
            left_in := _servers(path, _text(path, original))
        ):  # version 0.1.0 kept those of other projects
            original = then = _without(_text(path, original), left_in).encode("utf-8")
        if added:
            then = _with(_text(path, original), added, ours).encode("utf-8")
        else:
            note = "as it was before knowbound"
    else:
        before = value_of(removed[0], _text(path, backup.original)) if backup and removed else None
        left = _without(text, removed, before)
        then = _with(left, added, ours).encode("utf-8")
        original = backup.original if backup and is_as_left else now
        if has_ours and not is_as_left:
            original = _without(text, has_ours).encode("utf-8")
        if not added and not others:
            note = "edited since the installation: only knowbound's entries are removed"
            is_only_ours = backup is not None and backup.original is None and value_of(removed[0], left) == {}
            then = None if is_only_ours else then
    if then == now:
        return None
    _check_writable(path)
    if path.is_symlink():
        note = f"it is a link to {path.resolve()}" + (f"; {note}" if note else "")
    kept = None
    if then is not None and (added or others):
        made_folder = backup.made_folder if backup else not path.parent.exists()
        kept = Backup(original, hash_of(then), made_folder)
    return FileChange(path, now, then, kept, note)


def _with(text: str, files: list[SettingsFile], ours: OurEntries) -> str:
    for file in files:
        text = with_ours(file, text, ours)
    return text


def _without(text: str, files: list[SettingsFile], keep_empty: dict[str, object] | None = None) -> str:
    for file in files:
        text = without_ours(file, text, keep_empty)
    return text


def _servers(path: Path, text: str) -> list[SettingsFile]:
    """Every place of a JSON file that has a server of ours."""
    file = SettingsFile(path, servers=("mcpServers",))
    if file.is_toml:
        return []
    return [SettingsFile(path, servers=place) for place in server_places(value_of(file, text))]


def apply(changes: Sequence[FileChange]) -> None:
    """Write all the changes, or none: what was written is taken back when a later file cannot be."""
    for change in changes:
        if _read(change.path) != change.now:
            raise InputError(
                "settings-changed", f"{change.path} was changed meanwhile. Nothing was written. Try again."
            )
    before = {change.path: backup_of(change.path) for change in changes}
    done: list[FileChange] = []
    try:
        for change in changes:
            done.append(change)
            if change.backup:  # before the file: whatever happens, what was there is not lost
                keep(change.path, change.backup)
            _put(change.path, change.then)
    except OSError as error:
        for change in done:
            with suppress(OSError):
                _put(change.path, change.now)
                _restore(change.path, before[change.path])
        raise InputError("settings-unwritable", f"{error}. Nothing was changed.") from error
    for change in changes:
        if change.backup is None:
            _forget(change, before[change.path])


def _restore(path: Path, backup: Backup | None) -> None:
    if backup:
        keep(path, backup)
    else:
        remove(path)


def _forget(change: FileChange, backup: Backup | None) -> None:
    """The backup is used up; a folder that we made goes too, where nobody has put something there."""
    remove(change.path)
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


def _text(path: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("settings-broken", f"{path} is no UTF-8: {error}. Nothing was changed.") from error


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


def _shown(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()
