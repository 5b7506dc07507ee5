"""The user's own folders and files, and the key that marks what this user made.

All written files are readable by the user alone: prompts and transcripts are private. Hooks load this module: it
imports only built-ins.
"""

from __future__ import annotations

import _thread  # threading itself costs 4 ms
import errno
import os

PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700  # whatever the umask
POLICY_VARIABLE = "KNOWBOUND_POLICY"  # one more policy beside that of the machine: it can only tighten, too
_KEY = "key"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)  # bytes as they are, on Windows too
_KEY_BYTES = 32


def config_folder() -> str:
    """Return the folder of the user's own settings: `config.toml`."""
    return _folder("XDG_CONFIG_HOME", ".config")


def state_folder() -> str:
    """Return the folder of the user's data outside projects: the key, trusted projects, backups of settings."""
    return _folder("XDG_STATE_HOME", ".local", "state")


def state_places(name: str) -> list[str]:
    """Return a file in the state folder, and in the default one: agents may not pass XDG_STATE_HOME on."""
    default_folder = os.path.join(os.path.expanduser("~"), ".local", "state", "knowbound")
    return [os.path.join(folder, name) for folder in dict.fromkeys((state_folder(), default_folder))]


def _folder(variable: str, *below_home: str) -> str:
    base = os.environ.get(variable, "")
    if not os.path.isabs(base):  # XDG specification: a relative path is ignored
        base = os.path.join(os.path.expanduser("~"), *below_home)
    return os.path.join(base, "knowbound")


def policy_files() -> list[str]:
    """Return the policy files that exist (`policy.py`): that of the machine, and one that the environment adds."""
    base = os.environ.get("PROGRAMDATA", "C:\\ProgramData") if os.name == "nt" else "/etc"
    places = [os.path.join(base, "knowbound", "policy.toml"), os.environ.get(POLICY_VARIABLE, "")]
    return [path for path in places if path and os.path.lexists(path)]


# Writing


def append(path: str, data: bytes, *, durable: bool = False) -> int:
    """Append whole lines to a private file and return its new size. Raises OSError.

    There is one write, so that lines of several processes do not mix. After a line that a full disk cut short, the data
    begins a new line: only the cut line is lost, and its writer got an error. A durable line survives a power cut.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | _NO_LINK
    if os.path.islink(os.path.dirname(path)):
        raise OSError(errno.ELOOP, "the folder is a link", path)
    is_new = durable and not os.path.exists(path)
    try:
        file = os.open(path, flags, PRIVATE_FILE)
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
        file = os.open(path, flags, PRIVATE_FILE)
    try:
        if os.lseek(file, 0, os.SEEK_END):
            os.lseek(file, -1, os.SEEK_END)  # the last byte
            if os.read(file, 1) != b"\n":
                data = b"\n" + data
        written = os.write(file, data)
        if written < len(data):
            raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes were written", path)
        if durable:
            os.fsync(file)
        if is_new:
            _sync_folder(os.path.dirname(path))
        return os.fstat(file).st_size
    finally:
        os.close(file)


def _sync_folder(folder: str) -> None:
    """Make the names in a folder survive a power cut. If the system cannot, only the newest file is at risk."""
    try:
        opened = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(opened)
    except OSError:
        pass
    finally:
        os.close(opened)


def make_folder(path: str | os.PathLike[str]) -> None:
    """Create a private folder and its missing parents; an existing folder stays unchanged."""
    missing = []
    folder = os.path.abspath(path)
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, PRIVATE_FOLDER)
        except FileExistsError:  # another process was quicker, or a file is in the way
            if not os.path.isdir(folder):
                raise


def make_file(path: str | os.PathLike[str], data: bytes) -> None:
    """Create or replace a private file atomically."""
    draft = f"{os.fspath(path)}.{os.getpid()}-{_thread.get_ident()}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _NO_LINK, PRIVATE_FILE)
    try:
        with open(file, "wb") as opened:
            opened.write(data)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def make_private(path: str | os.PathLike[str]) -> None:
    """Remove other users' access, which an earlier version allowed, from our file or folder if possible."""
    status = os.stat(path)
    if status.st_mode & 0o077:
        try:
            os.chmod(path, status.st_mode & 0o700)
        except OSError:  # another user's file, or a read-only file system
            return


# The key


def seal(text: str) -> str:
    """Return a code for the text that only this user's key can make; a missing key is made. Raises OSError."""
    return _seal_code((_valid_keys() or [_new_key()])[0], text)


def is_sealed(text: str, code: str) -> bool:
    """Report whether this user sealed the text."""
    return any(code == _seal_code(key, text) for key in _valid_keys())


def _seal_code(key: bytes, text: str) -> str:
    """Return the code of a text by a key, which others cannot make."""
    try:
        from _blake2 import blake2b  # noqa: PLC0415  # all of hashlib costs the hook 8 ms
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415
    return str(blake2b(text.encode("utf-8", "surrogateescape"), key=key, digest_size=16).hexdigest())


def _key_files() -> list[str]:
    return state_places(_KEY)


def _valid_keys() -> list[bytes]:
    """Return the user's keys that can be read, one for each place of a key file."""
    keys = []
    for path in _key_files():
        try:
            with open(path, "rb") as file:
                key = file.read(_KEY_BYTES + 1)
        except OSError:
            continue
        if len(key) == _KEY_BYTES:  # a damaged key is ignored
            keys.append(key)
    return keys


def _new_key() -> bytes:
    """Make a new key in every place. If several processes make a key at once, the first wins."""
    first, *others = _key_files()
    make_folder(os.path.dirname(first))
    draft = f"{first}.{os.urandom(8).hex()}"
    make_file(draft, os.urandom(_KEY_BYTES))
    try:
        if os.path.exists(first) and os.path.getsize(first) != _KEY_BYTES:
            os.replace(draft, first)  # a damaged key
        else:
            os.link(draft, first)  # fails if another process was quicker
    except FileExistsError:
        pass
    finally:
        if os.path.exists(draft):
            os.unlink(draft)
    keys = _valid_keys()
    if not keys:
        raise OSError(f"the key {first} cannot be read")
    for path in others:
        make_folder(os.path.dirname(path))
        make_file(path, keys[0])
    return keys[0]
