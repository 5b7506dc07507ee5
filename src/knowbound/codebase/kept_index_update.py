"""Update of the kept index of a tree: only new and changed files are read.

A file is known by its size and time of modification, its content by a hash: after a change of branch and back nothing
is read twice. Of files that keep secrets only the path is indexed; words that look like a secret are left out.
"""

from __future__ import annotations

import json
import os
import re
import time
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from knowbound.codebase.definitions import definitions_in
from knowbound.core.paths import source_rank
from knowbound.errors import StoreError
from knowbound.files import list_files, open_below
from knowbound.store.data_dir import CODEBASE, OWNER
from knowbound.store.database import Database
from knowbound.store.marking import mark_folder
from knowbound.text.redact import redact
from knowbound.text.terms import plain_term

if TYPE_CHECKING:
    import sqlite3

MOST_FILES = 100_000
_LARGEST = 1_000_000  # bytes; a larger file is not read
_LOOKED_AT = 8_000  # bytes: a NUL in them makes a file binary
_LIST_SECONDS = 60.0
_CLOCK_LAG_NS = 20_000_000  # the clock of a file system may lag behind by this much
_FILES_AT_ONCE = 500  # files in one transaction
_MOST_UNUSED_CONTENTS = 2_000  # contents without a file that may stay, beyond one for each file
_WORD = re.compile(r"[^\W\d][\w$]{1,49}")
_PRIVATE_KEY = "PRIVATE KEY"
_MAY_HOLD_SECRET = re.compile(
    r"(?i:secret|token|passw|pwd|passphrase|api.?key|bearer|credential|authorization)|://[^/\s]*:|[A-Za-z0-9+/_=-]{28,}"
)
_VENDORED_RANK = 4  # `source_rank` of vendored and generated files: their definitions are not the project's
_SECRET_PLACES = re.compile(
    r"(?:^|/)(?:\.env(?!\.(?:example|sample|template|dist|defaults?)$)[^/]*|[^/]*\.(?:pem|key|p12|pfx|jks|keystore)"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)|\.netrc|\.npmrc|\.pypirc|\.pgpass|credentials(?:\.\w+)?|secrets?\.(?:ya?ml|json|toml))$",
    re.IGNORECASE,
)


class Updated(NamedTuple):
    """Result of an update."""

    files: int
    read: int  # files of these that were new or changed
    seconds: float


class _FileState(NamedTuple):
    """Size and time of a file, by which a change shows."""

    size: int
    mtime_ns: int


def open_index(home: Path) -> Database:
    """Open the index of a data folder for writing."""
    database = Database(home / CODEBASE)
    with suppress(StoreError):  # without a key the index has no mark, and its reader refuses it
        mark = mark_folder(home)
        if database.row("SELECT value FROM meta WHERE key = ?", OWNER) != (mark,):
            with database.writing() as db:
                db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (OWNER, mark))
    return database


def update_index(database: Database, root: Path) -> Updated:
    """Bring the index of a tree up to date."""
    began, clock = time.time(), time.monotonic()
    paths, is_cut = list_files(root, _LIST_SECONDS)
    states = _states_of(root, paths[:MOST_FILES])
    with database.writing() as db:
        db.execute("INSERT OR IGNORE INTO tree (root) VALUES (?)", (str(root),))
    tree = int(database.row("SELECT id FROM tree WHERE root = ?", str(root))[0])
    _drop_unused_contents(database)
    rows = database.rows("SELECT path, size, mtime_ns FROM file WHERE tree = ?", tree)
    known_states = {path: _FileState(size, mtime) for path, size, mtime in rows}
    changed = [path for path, file in states.items() if known_states.get(path) != file]
    gone = [path for path in known_states if path not in states]
    for at in range(0, len(changed), _FILES_AT_ONCE):
        with database.writing() as db:
            for path in changed[at : at + _FILES_AT_ONCE]:
                content = _store_content(db, root, path)
                db.execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?)", (tree, path, *states[path], content))
    with database.writing() as db:
        db.executemany("DELETE FROM file WHERE tree = ? AND path = ?", [(tree, path) for path in gone])
        if changed or not db.execute("SELECT 1 FROM vocabulary").fetchone():
            words = "\n".join(word for (word,) in db.execute("SELECT term FROM word_list"))
            db.execute("INSERT OR REPLACE INTO vocabulary VALUES (1, ?)", (f"\n{words}\n",))
        is_complete = not is_cut and len(paths) <= MOST_FILES  # else readers do not open the tree
        db.execute(
            "UPDATE tree SET updated = ?, folders = ? WHERE id = ?",
            (began if is_complete else 0, json.dumps(_folder_times(root, states, int(began * 1e9))), tree),
        )
    return Updated(len(states), len(changed), time.monotonic() - clock)


def _states_of(root: Path, paths: list[str]) -> dict[str, _FileState]:
    """Return size and time of each file, without files whose name is no text."""
    states: dict[str, _FileState] = {}
    for path in paths:
        try:
            path.encode()  # raises for a name that SQLite cannot store
            found = os.lstat(os.path.join(root, path))
        except (OSError, UnicodeEncodeError):
            continue
        states[path] = _FileState(found.st_size, found.st_mtime_ns)
    return states


def _folder_times(root: Path, paths: dict[str, _FileState], began_ns: int) -> dict[str, int]:
    """Return the time of the last change of each folder; 0 if it changed during the update."""
    folders = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder and folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    times = {}
    for folder in folders:
        with suppress(OSError):
            found = os.lstat(os.path.join(root, folder)).st_mtime_ns
            times[folder] = found if found < began_ns - _CLOCK_LAG_NS else 0
    return times


def _store_content(db: sqlite3.Connection, root: Path, path: str) -> int | None:
    """Store a file's content if it is new, and return its id; None if it must not or cannot be read."""
    if _SECRET_PLACES.search(path):
        return None
    try:
        with open_below(root, path) as file:
            data = file.read(_LARGEST + 1)
    except (OSError, ValueError):
        return None
    if len(data) > _LARGEST or b"\0" in data[:_LOOKED_AT]:
        return None
    ending = path.rpartition(".")[2][:16].encode()[:16]  # in the hash: definitions depend on the language
    digest = blake2b(data, digest_size=16, person=ending).digest()
    row = db.execute("SELECT id FROM content WHERE hash = ?", (digest,)).fetchone()
    if row:
        return int(row[0])
    id_ = int(db.execute("INSERT INTO content (hash) VALUES (?)", (digest,)).lastrowid or 0)
    text = data.decode("utf-8", "replace")
    words = {word for word in _WORD.findall(_without_secrets(text)) if not _may_be_secret(word)}
    db.execute("INSERT INTO word (rowid, words) VALUES (?, ?)", (id_, " ".join(words)))
    if source_rank(path) < _VENDORED_RANK:
        rows = [
            (plain_term(definition.name.lower()), definition.name, id_, definition.line, definition.kind)
            for definition in definitions_in(text, path)
            if not _may_be_secret(definition.name)
        ]
        db.executemany("INSERT INTO definition VALUES (?, ?, ?, ?, ?)", rows)
    return id_


def _without_secrets(text: str) -> str:
    """Return the text with known secrets redacted; lines that cannot hold a secret are skipped."""
    if _PRIVATE_KEY in text:  # it goes over several lines
        return redact(text)
    return "\n".join(redact(line) if _MAY_HOLD_SECRET.search(line) else line for line in text.split("\n"))


def _may_be_secret(word: str) -> bool:
    """Report whether a word is long and has digits all over, as tokens have."""
    return len(word) >= 16 and sum(map(str.isdigit, word)) >= 3 and "_" not in word.strip("_")


def _drop_unused_contents(database: Database) -> None:
    """Empty the index if too many contents belong to no file: rows of the words cannot be removed one by one."""
    contents = int(database.row("SELECT count(*) FROM content")[0])
    used = int(database.row("SELECT count(DISTINCT content) FROM file")[0])
    if contents - used <= used + _MOST_UNUSED_CONTENTS:
        return
    with database.writing() as db:
        db.execute("INSERT INTO word (word) VALUES ('delete-all')")  # a command of SQLite's full-text index
        for table in ("file", "content", "definition", "vocabulary"):
            db.execute(f"DELETE FROM {table}")
        db.execute("UPDATE tree SET updated = 0")
