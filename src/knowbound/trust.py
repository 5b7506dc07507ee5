"""Risky settings of a project's config, and the user's permission for them.

Settings that run a program, name an address or a credential, leave the root, remove results of a team or lift a limit
of a hook are used from a project only after `knowbound trust` has shown them. The permission is kept in the user's
state folder, one file per project, with a hash over these settings and over the files of the project that they name: a
change asks again.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from knowbound.errors import ConfigError
from knowbound.user_files import make_file, make_folder, state_folder

_FOLDER = "trusted"
_LARGEST_FOLDER_BYTES = 50_000_000  # a hash covers no larger folder


class Risk(StrEnum):
    """Reason for asking the user before a setting of a project is used."""

    PROGRAM = "runs a program"
    ADDRESS = "names an address or a credential"
    OUTSIDE = "leaves the root"
    LIMIT = "lifts a limit of the hooks"
    ERASES = "removes stored results"
    CONTEXT = "puts text of the checkout into agents' context"


class RiskRule(NamedTuple):
    """A rule that finds the risk of a project's value of a setting. An unknown value counts as risky."""

    needs_trust: str  # the column "trust" of docs/config.md
    risk_of: Callable[[Any, Any], Risk | None]  # of the project's value, and of the value without the project


def _path_risk(value: str | tuple[str, ...], _without: object) -> Risk | None:
    paths = value if isinstance(value, tuple) else (value,)
    return Risk.OUTSIDE if any(map(_leaves_root, paths)) else None


def _judge_risk(value: str, without: object) -> Risk | None:
    """Return the risk of a judge's name: it sends text to an address, runs a program, or leaves the root."""
    if not value.strip():  # would undo the name or the "none" of the user
        return Risk.ADDRESS if without else None
    kind, _, rest = value.strip().partition(":")
    if kind == "recorded":
        return Risk.OUTSIDE if _leaves_root(rest.strip()) else None
    if kind in ("http", "https", "anthropic", "openai"):
        return Risk.ADDRESS
    if kind == "auto":  # sends what the project would otherwise keep to rules
        return Risk.ADDRESS
    return Risk.PROGRAM if ":" in value else None  # without a colon it is `none`, `rules`, or no judge at all


def _executor_risk(value: str, _without: object) -> Risk | None:
    """Return the risk of an executor's name: it sends text to an address, or runs a program."""
    kind = value.strip().partition(":")[0].strip()
    if kind == "model":
        return Risk.ADDRESS
    return None if kind == "investigate" else Risk.PROGRAM


def _leaves_root(path: str) -> bool:
    parts = path.replace("\\", "/").split("/")
    return path.startswith(("~", "!~")) or ".." in parts or os.path.isabs(path.lstrip("!")) or ":" in parts[0]


HARMLESS = RiskRule("No", lambda _value, _without: None)
ADDRESS = RiskRule("Yes", lambda _value, _without: Risk.ADDRESS)
HIGHER = RiskRule(
    "If it is higher than without the project", lambda value, without: Risk.LIMIT if value > without else None
)
FEWER_DAYS = RiskRule(
    "If it is fewer days than without the project",
    lambda value, without: Risk.ERASES if value and (not without or value < without) else None,
)
PATH = RiskRule("If it leaves the root", _path_risk)
JUDGE = RiskRule("Unless it is `none`, `rules`, or a recording inside the root", _judge_risk)
SWITCHED_ON = RiskRule("If it is switched on", lambda value, without: Risk.ADDRESS if value and not without else None)
CONTEXT = RiskRule("Yes", lambda value, _without: Risk.CONTEXT if value else None)
EXECUTOR = RiskRule("Unless it is `investigate`", _executor_risk)
BACKENDS = RiskRule(
    "Unless it is `sqlite` alone", lambda value, _without: None if set(value) <= {"sqlite"} else Risk.ADDRESS
)


@dataclass(frozen=True, slots=True)
class RiskySetting:
    """One setting of a project that is used only with the user's permission."""

    key: str
    value: Any
    risk: Risk
    env: str  # the variable that sets it instead
    files: tuple[tuple[str, str], ...] = ()  # files of the project that the value names, with their SHA-256


@dataclass(frozen=True, slots=True)
class Trusted:
    """The permission of a project."""

    hash: str = ""
    lines: tuple[str, ...] = ()


def risky_setting(key: str, value: Any, risk: Risk, env: str, root: Path) -> RiskySetting:
    """Return the setting with the files of the project that its value names."""
    return RiskySetting(key, value, risk, env, _named_files(value, root) if risk is Risk.PROGRAM else ())


def absolute_command(value: str, root: Path, *, always: bool = False) -> str:
    """Return a command of a project's config with absolute paths of the project's files, to run from anywhere.

    In the root the command stays unchanged, unless `always` is set.
    """
    kind, colon, command = value.partition(":")
    if not colon or (Path.cwd() == root and not always):
        return value
    import shlex  # noqa: PLC0415

    words = _split(command)
    for number, word in enumerate(words):
        is_path = number > 0 or "/" in word  # a bare first word is looked up on the path
        if is_path and os.path.lexists(os.path.join(root, word)):
            words[number] = os.path.join(root, word)
    return f"{kind}:{shlex.join(words)}"


def lines_of(settings: Sequence[RiskySetting]) -> tuple[str, ...]:
    """Return the settings as shown and compared: one line each, followed by its files with their hashes."""
    lines = []
    for setting in settings:
        lines.append(f"{setting.key} = {json.dumps(setting.value)}   ({setting.risk})")
        lines += [f"    {json.dumps(name)[1:-1]} sha256:{digest}" for name, digest in setting.files]
    return tuple(lines)


def hash_of(settings: Sequence[RiskySetting]) -> str:
    """Return the hash of these settings; equal on every machine."""
    return hashlib.sha256("\n".join(lines_of(settings)).encode("utf-8", "surrogateescape")).hexdigest()


def trusted(root: Path) -> Trusted:
    """Return the permission of this project; empty if there is none."""
    try:
        permission = json.loads(_permission_file(root).read_bytes())
        return Trusted(str(permission["hash"]), tuple(map(str, permission["lines"])))
    except (OSError, ValueError, KeyError, TypeError):
        return Trusted()


def is_trusted(root: Path, settings: Sequence[RiskySetting]) -> bool:
    """Report whether the user allowed the project exactly these settings."""
    return not settings or trusted(root).hash == hash_of(settings)


def trust(root: Path, settings: Sequence[RiskySetting], shown: Sequence[str]) -> None:
    """Allow the project exactly these settings. `shown`, the lines without secrets, is kept to show later changes."""
    path = _permission_file(root)
    permission = {"root": str(root), "hash": hash_of(settings), "lines": list(shown)}
    try:
        make_folder(path.parent)
        make_file(path, json.dumps(permission).encode())
    except OSError as error:
        raise ConfigError("config-unwritable", f"Cannot keep what is trusted in {path.parent}: {error}.") from error


def distrust(root: Path) -> bool:
    """Remove the permission of a project; report whether there was one."""
    path = _permission_file(root)
    was_there = path.exists()
    path.unlink(missing_ok=True)
    return was_there


def refusal(file: Path, settings: Sequence[RiskySetting], user_config: Path) -> ConfigError:
    """Return the error for untrusted settings."""
    first = settings[0]
    others = f" (and {len(settings) - 1} more)" if len(settings) > 1 else ""
    return ConfigError(
        "config-untrusted",
        f"{file}: {first.key} {first.risk}{others}, which a project may not decide alone. "
        f"Try: knowbound trust (shows it and asks), or set it in {user_config}, as {first.env} or on the command line",
    )


def _named_files(value: Any, root: Path) -> tuple[tuple[str, str], ...]:
    """Return what a command names inside the root, with hashes: an edited program is another program."""
    digests: dict[str, str] = {}
    real_root = os.path.realpath(root)
    for word in _words_with_inner(str(value).partition(":")[2]):  # behind the kind, such as `command:`
        # A word can be a path, have one behind "=", or name a module or package (`python -m pkg.tool`).
        for part in (word, word.partition("=")[2], word.replace(".", "/"), word.replace(".", "/") + ".py"):
            path = os.path.normpath(os.path.join(real_root, part)) if part else ""
            if path.startswith(real_root + os.sep) and os.path.lexists(path):
                digests[os.path.relpath(path, real_root)] = _content_digest(path)
    return tuple(sorted(digests.items()))


def _words_with_inner(command: str) -> list[str]:
    """Return the words of a command, and those of a command inside it (`sh -c '…'`)."""
    words = _split(command)
    return words + [inner for word in words if " " in word for inner in _words_with_inner(word) if inner != word]


def _split(command: str) -> list[str]:
    import shlex  # noqa: PLC0415  (most projects name no program)

    try:
        return shlex.split(command)
    except ValueError:
        return command.split()


def _content_digest(path: str) -> str:
    """Return the hash of a file, of a folder's names and contents, or of a link with its target."""
    if os.path.islink(path):
        return f"{_sha256(path)} of the link to {os.readlink(path)}"
    if not os.path.isdir(path):
        return _sha256(path)
    digest, size = hashlib.sha256(), 0
    for folder, folders, files in os.walk(path):
        folders.sort()
        for name in sorted(files):
            file = os.path.join(folder, name)
            size += os.path.getsize(file) if os.path.isfile(file) else 0
            if size > _LARGEST_FOLDER_BYTES:
                return f"over {_LARGEST_FOLDER_BYTES} bytes: not covered"
            digest.update(f"{os.path.relpath(file, path)}\0{_sha256(file)}\0".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _sha256(path: str) -> str:
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"


def _permission_file(root: Path) -> Path:
    name = hashlib.sha256(os.path.realpath(root).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return Path(state_folder()) / _FOLDER / f"{name}.json"
