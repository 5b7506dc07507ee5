"""The installation of knowbound, and the command that adds an extra to it."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

if TYPE_CHECKING:
    from importlib.metadata import Distribution

_NAME = "knowbound"
_RECEIPT = "uv-receipt.toml"  # in the environment of a `uv tool`
_PIPX = "pipx_metadata.json"  # in an environment of pipx
_CACHES = ("archive-v0", "environments-v2")  # of uv: `uvx` and `uv run --with` run from there


@dataclass(frozen=True, slots=True)
class InstallOrigin:
    """Source of the package: a path or an address; "" for a registry."""

    place: str = ""
    is_path: bool = False
    is_editable: bool = False

    def requirement(self, extras: Iterable[str]) -> str:
        """Return the requirement that installs the package with these extras from its source."""
        chosen = ",".join(sorted(set(extras)))
        if self.is_path:
            return f"{self.place}[{chosen}]"
        return f"{_NAME}[{chosen}]" + (f" @ {self.place}" if self.place else "")


def extra_command(extra: str) -> str:
    """Return the command that adds an extra to the running installation, from the same source."""
    installed = _distribution()
    origin = origin_of(installed.read_text("direct_url.json") if installed else None)
    prefix = Path(sys.prefix)
    if (prefix / _PIPX).is_file():  # installed by pipx
        return _command_line("pipx", "inject", prefix.name, *_requirements(installed, extra))
    if (prefix / _RECEIPT).is_file():  # installed by uv tool
        requirement = origin.requirement((extra, *_extras_of_receipt(prefix / _RECEIPT)))
        return _command_line("uv", "tool", "install", *(("--editable",) if origin.is_editable else ()), requirement)
    requirement = origin.requirement((extra,))
    return _command_line(*_pip(), *(("-e",) if origin.is_editable else ()), requirement)


def path_command() -> str:
    """Return the command that puts our programs on the path."""
    prefix = Path(sys.prefix)
    if (prefix / _PIPX).is_file():  # installed by pipx
        return "pipx ensurepath"
    if (prefix / _RECEIPT).is_file():  # installed by uv tool
        return "uv tool update-shell"
    return f'export PATH="{Path(sys.executable).parent}{os.pathsep}$PATH"'


def is_temporary() -> bool:
    """Report whether we run from an environment that may be removed at any time (`uvx`, `pipx run`)."""
    parts = Path(sys.prefix).parts
    return bool(set(_CACHES) & set(parts)) or (".cache" in parts and "pipx" in parts)


def origin_of(record: str | None) -> InstallOrigin:
    """Return the source in `direct_url.json` (packaging.python.org/specifications/direct-url); none: a registry."""
    try:
        fields = json.loads(record or "")
        url, vcs = str(fields["url"]), fields.get("vcs_info")
        folder_info = fields.get("dir_info")
        if vcs:
            revision = vcs.get("requested_revision") or vcs.get("commit_id")
            place = f"{vcs['vcs']}+{_without_password(url)}" + (f"@{revision}" if revision else "")
        else:
            place = _path_of(url) if url.startswith("file:") else _without_password(url)
        if inner := fields.get("subdirectory"):
            place = os.path.join(place, inner) if folder_info is not None else f"{place}#subdirectory={inner}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return InstallOrigin()
    is_file = url.startswith("file:")
    is_editable = bool(folder_info and folder_info.get("editable"))
    return InstallOrigin(place, is_path=is_file and not vcs, is_editable=is_editable)


def _pip() -> tuple[str, ...]:
    """Return the command of a pip for our interpreter that works in any shell."""
    if find_spec("pip"):
        return sys.executable, "-m", "pip", "install"
    if shutil.which("uv"):
        return "uv", "pip", "install", "--python", sys.executable
    return "pip", "--python", sys.executable, "install"


def _distribution() -> Distribution | None:
    from importlib.metadata import PackageNotFoundError, distribution  # noqa: PLC0415  # slow, and rarely needed

    try:
        return distribution(_NAME)
    except PackageNotFoundError:  # run from its source without being installed
        return None


def _requirements(installed: Distribution | None, extra: str) -> list[str]:
    """Return the packages that an extra adds, or the extra itself if they are unknown."""
    requirements = []
    for line in (installed.requires if installed else None) or ():
        requirement, _, marker = line.partition(";")
        if re.search(rf"extra\s*==\s*[\"']{re.escape(extra)}[\"']", marker):
            requirements.append(requirement.strip())
    return requirements or [f"{_NAME}[{extra}]"]


def _extras_of_receipt(path: Path) -> list[str]:
    """Return the installed extras of the tool. A new installation must name them too, or they are removed."""
    import tomllib  # noqa: PLC0415

    try:
        requirements = tomllib.loads(path.read_text("utf-8"))["tool"]["requirements"]
        ours = [requirement for requirement in requirements if requirement.get("name") == _NAME]
        return [str(extra) for requirement in ours for extra in requirement.get("extras", ())]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return []


def _path_of(url: str) -> str:
    path = unquote(urlsplit(url).path)
    return path[1:].replace("/", "\\") if re.match(r"/[A-Za-z]:", path) else path  # file:///C:/folder


def _without_password(url: str) -> str:
    """Return an address without its credentials; the user of ssh (git@…) is part of the address."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=host if ":" in user or parts.scheme != "ssh" else user + at + host))


def _command_line(*words: str) -> str:
    return subprocess.list2cmdline(words) if os.name == "nt" else shlex.join(words)
