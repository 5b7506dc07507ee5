"""Installation into an agent and its removal: planned, shown as a difference, then written whole or not at all.

The original of a settings file is kept in the user's state folder. `uninstall` restores exactly these bytes while the
file is as we left it, after any number of installations and upgrades; from a file that was edited since, only our
entries are removed. One file may have our entries in several places: Claude Code keeps the servers of all projects in
one.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec

from knowbound.agent.install.clients import OurEntries, SettingsFile, claude_state, settings_files
from knowbound.agent.install.entries import entries_in, server_places, value_of, with_ours, without_ours
from knowbound.errors import InputError, KnowboundError
from knowbound.files import leads_out, replacing
from knowbound.text.redact import redact
from knowbound.user_files import make_folder, state_folder

_LONGEST_LINE = 400  # characters, of a shown difference
_LOCAL = (".claude", "settings.local.json")


def _is_installed(file: SettingsFile) -> bool:
    """Report whether the file has our entries; an unreadable file counts as not installed."""
    try:
        return bool(entries_in(file, value_of(file, file.path.read_text("utf-8"))))
    except (KnowboundError, OSError, ValueError):
        return False


def installed_files(agent: str, scope: str, root: Path, environ: Mapping[str, str]) -> list[SettingsFile]:
    """Return the files of a scope that have our entries."""
    return [file for file in settings_files(agent, scope, root, environ) if _is_installed(file)]


def local_files(environ: Mapping[str, str], root: Path | None = None) -> Iterator[SettingsFile]:
    """Yield the places of Claude Code's local scope that have our entries; with a root, only in and below it.

    Hooks are searched in files with a backup and in the root, servers in the client's own list of projects.
    """
    here = [root.joinpath(*_LOCAL)] if root else []
    for path in dict.fromkeys((*here, *(path for path in kept_paths() if path.parts[-2:] == _LOCAL))):
        file, folder = SettingsFile(path, has_hooks=True), path.parent.parent
        is_here = root is None or folder.is_relative_to(root)
        if is_here and not leads_out(path, folder) and _is_installed(file):
            yield file
    state = SettingsFile(claude_state(environ), servers=("mcpServers",))
    try:
        places = server_places(value_of(state, state.path.read_text("utf-8")))
    except (KnowboundError, OSError, ValueError):
        return
    for place in places:
        # A project's place is ("projects", folder, "mcpServers").
        is_here = root is None or Path(str(place[1])).is_relative_to(root) if len(place) == 3 else False
        file = SettingsFile(state.path, servers=place)
        if is_here and _is_installed(file):
            yield file


@dataclass(frozen=True, slots=True)
class FileChange:
    """A planned change of one settings file."""

    path: Path
    now: bytes | None  # None: no file
    then: bytes | None
    backup: Backup | None  # to be kept; None removes it
    note: str = ""

    def difference(self) -> str:
        """Return the change as `diff -u` shows it, without secrets."""
        before, after = (f"{self.path}{' (no such file)' * (text is None)}" for text in (self.now, self.then))
        lines = difflib.unified_diff(_lines_of(self.now), _lines_of(self.then), before, after, lineterm="")
        shown = redact("\n".join(lines)).split("\n")
        return "\n".join(line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + " …" for line in shown)


def plan_install(
    files: Sequence[SettingsFile], ours: OurEntries, replaced: Sequence[SettingsFile] = ()
) -> list[FileChange]:
    """Plan to install into `files` and to remove our entries from `replaced`; nothing if that is done."""
    changes = []
    for path in dict.fromkeys(file.path for file in (*files, *replaced)):
        added, removed = ([file for file in group if file.path == path] for group in (files, replaced))
        changes.append(_plan(path, added, removed, ours))
    return [change for change in changes if change]


def plan_uninstall(files: Sequence[SettingsFile]) -> list[FileChange]:
    """Plan to remove our entries from the files."""
    return plan_install((), OurEntries({}, {}), files)


def _plan(path: Path, added: list[SettingsFile], removed: list[SettingsFile], ours: OurEntries) -> FileChange | None:
    """Plan the change of one file; None if there is nothing to do.

    A file that is as we left it is made from its original, an edited one from its present text without our entries.
    """
    now, backup = _bytes_of(path), backup_of(path)
    if now is None and not added:
        return None
    text = _decoded(path, now)
    other_servers = [file for file in _server_files(path, text) if file not in (*added, *removed)]
    has_ours = [file for file in (*added, *removed, *other_servers) if entries_in(file, value_of(file, text))]
    is_as_left = backup is not None and backup.is_of(now)
    if not added and not has_ours and not is_as_left:
        return None
    if backup and is_as_left and not other_servers:  # all our entries are written anew
        original, note = _original_without_ours(path, backup), "" if added else "as it was before knowbound"
        then = _with_entries(_decoded(path, original), added, ours).encode("utf-8") if added else original
    else:
        original = backup.original if backup and is_as_left else now
        if has_ours and not is_as_left:
            original = _without_entries(text, has_ours).encode("utf-8")
        before = value_of(removed[0], _decoded(path, backup.original)) if backup and removed else None
        rest, note = _without_entries(text, removed, before), ""
        then = _with_entries(rest, added, ours).encode("utf-8")
        if not added and not other_servers:
            note = "edited since the installation: only knowbound's entries are removed"
            # We made the file, and nothing else is in it.
            is_file_ours = backup is not None and backup.original is None and value_of(removed[0], rest) == {}
            then = None if is_file_ours else then
    if then == now:
        return None
    _check_writable(path)
    if path.is_symlink():
        note = f"it is a link to {path.resolve()}" + (f"; {note}" if note else "")
    new_backup = None
    if then is not None and (added or other_servers):
        made_folder = backup.made_folder if backup else not path.parent.exists()
        new_backup = Backup(original=original, left=hash_of(then), made_folder=made_folder)
    return FileChange(path=path, now=now, then=then, backup=new_backup, note=note)


def _original_without_ours(path: Path, backup: Backup) -> bytes | None:
    """Return the file before our installation. The backups of version 0.1.0 have the servers of other projects."""
    text = _decoded(path, backup.original)
    servers = _server_files(path, text) if text else []
    return _without_entries(text, servers).encode("utf-8") if servers else backup.original


def _with_entries(text: str, files: list[SettingsFile], ours: OurEntries) -> str:
    for file in files:
        text = with_ours(file, text, ours)
    return text


def _without_entries(text: str, files: list[SettingsFile], keep_empty: dict[str, object] | None = None) -> str:
    for file in files:
        text = without_ours(file, text, keep_empty)
    return text


def _server_files(path: Path, text: str) -> list[SettingsFile]:
    """Return every place of a JSON file that has our server."""
    file = SettingsFile(path, servers=("mcpServers",))
    if file.is_toml:  # the server of Codex has one place, that of the file
        return []
    return [SettingsFile(path, servers=place) for place in server_places(value_of(file, text))]


def apply(changes: Sequence[FileChange]) -> None:
    """Write all changes or none: if a file cannot be written, earlier changes are undone."""
    for change in changes:
        if _bytes_of(change.path) != change.now:
            raise InputError(
                "settings-changed", f"{change.path} was changed meanwhile. Nothing was written. Try again."
            )
    old_backups = {change.path: backup_of(change.path) for change in changes}
    begun: list[FileChange] = []
    try:
        for change in changes:
            begun.append(change)
            if change.backup:  # before the file, so that its original is never lost
                keep(change.path, change.backup)
            _write_whole(change.path, change.then)
    except OSError as error:
        for change in begun:
            with suppress(OSError):
                _write_whole(change.path, change.now)
                if backup := old_backups[change.path]:
                    keep(change.path, backup)
                else:
                    remove(change.path)
        raise InputError("settings-unwritable", f"{error}. Nothing was changed.") from error
    for change in changes:
        if change.backup is None:  # the backup is used
            remove(change.path)
            used = old_backups[change.path]
            if used and used.made_folder and change.then is None:
                with suppress(OSError):  # others may have files there
                    change.path.parent.rmdir()


def _bytes_of(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError("settings-broken", f"{path} cannot be read: {error}. Nothing was changed.") from error


def _decoded(path: Path, data: bytes | None) -> str:
    try:
        return (data or b"").decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError("settings-broken", f"{path} is no UTF-8: {error}. Nothing was changed.") from error


def _check_writable(path: Path) -> None:
    """Refuse a read-only file: replacing it would need no right on the file itself."""
    real = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        is_read_only = not real.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH)
        if is_read_only or not os.access(real, os.W_OK):
            raise InputError("settings-unwritable", f"{path} is read-only. Nothing was changed.")


def _write_whole(path: Path, data: bytes | None) -> None:
    """Write the file whole or not at all; a link stays a link."""
    real = Path(os.path.realpath(path))
    if data is None:
        real.unlink(missing_ok=True)
        return
    real.parent.mkdir(parents=True, exist_ok=True)
    with replacing(real) as file:
        file.write(data)


def _lines_of(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()


# The originals of settings files


class Backup(msgspec.Struct, frozen=True):
    """The content of a file before our installation, and the hash of its content after it."""

    original: bytes | None  # None: no file
    left: str  # the hash
    made_folder: bool  # we made the folder of the file
    path: str = ""  # of the file, where it is kept

    def is_of(self, data: bytes | None) -> bool:
        """Report whether a content is as we left it."""
        return data is not None and hash_of(data) == self.left


def hash_of(data: bytes) -> str:
    """Return the hash for `Backup.left`."""
    return hashlib.sha256(data).hexdigest()


def keep(path: Path, backup: Backup) -> None:
    """Keep a backup, readable only by the user: settings may have tokens."""
    file = _backup_file(path)
    make_folder(file.parent)
    with replacing(file, private=True) as opened:
        opened.write(msgspec.json.encode(msgspec.structs.replace(backup, path=str(path))))


def backup_of(path: Path) -> Backup | None:
    """Return the backup of a settings file, if a backup is readable."""
    return _decoded_backup(_backup_file(path))


def remove(path: Path) -> None:
    """Remove the backup of a settings file."""
    _backup_file(path).unlink(missing_ok=True)


def kept_paths() -> list[Path]:
    """Return the settings files that have a backup."""
    backups = map(_decoded_backup, sorted(_backup_folder().glob("*.json")))
    return [Path(backup.path) for backup in backups if backup and backup.path]


def _decoded_backup(file: Path) -> Backup | None:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Backup)
    except (OSError, ValueError):
        return None


def _backup_folder() -> Path:
    return Path(state_folder()) / "installed"


def _backup_file(path: Path) -> Path:
    return _backup_folder() / f"{hashlib.sha256(os.path.abspath(path).encode()).hexdigest()[:24]}.json"
