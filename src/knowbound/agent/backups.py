"""The originals of settings files, kept in the user's state folder until `uninstall`."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from knowbound.files import replacing
from knowbound.user_files import make_folder, state_folder


@dataclass(frozen=True, slots=True)
class Backup:
    """The content of a file before our installation, and the hash of its content after it."""

    original: bytes | None  # None: no file
    left: str  # the hash
    made_folder: bool  # we made the folder of the file

    def is_of(self, data: bytes | None) -> bool:
        """Report whether a content is as we left it."""
        return data is not None and hash_of(data) == self.left


def hash_of(data: bytes) -> str:
    """Return the hash for `Backup.left`."""
    return hashlib.sha256(data).hexdigest()


def keep(path: Path, backup: Backup) -> None:
    """Keep a backup, readable only by the user: settings may have tokens."""
    kept = {
        "path": str(path),
        "made_folder": backup.made_folder,
        "original": None if backup.original is None else base64.b64encode(backup.original).decode(),
        "left": backup.left,
    }
    file = _file_of(path)
    make_folder(file.parent)
    with replacing(file, private=True) as opened:
        opened.write(json.dumps(kept).encode())


def backup_of(path: Path) -> Backup | None:
    """Return the backup of a settings file, if there is a readable one."""
    try:
        kept = json.loads(_file_of(path).read_bytes())
        original = kept["original"]
        return Backup(None if original is None else base64.b64decode(original), kept["left"], kept["made_folder"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def remove(path: Path) -> None:
    """Remove the backup of a settings file."""
    _file_of(path).unlink(missing_ok=True)


def kept_paths() -> list[Path]:
    """Return the settings files that have a backup."""
    found = []
    for file in sorted(_folder().glob("*.json")):
        try:
            found.append(Path(str(json.loads(file.read_bytes())["path"])))
        except (OSError, ValueError, KeyError, TypeError):
            continue
    return found


def _folder() -> Path:
    return Path(state_folder()) / "installed"


def _file_of(path: Path) -> Path:
    return _folder() / f"{hashlib.sha256(os.path.abspath(path).encode()).hexdigest()[:24]}.json"
