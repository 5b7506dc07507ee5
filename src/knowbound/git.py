"""Runs git on an untrusted repository.

The config of a repository may name programs (fsmonitor, hooks, pagers, external diffs, filters). None of them is run,
and nothing is fetched.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from knowbound.process import Ran, clean_environment, run

_OFF = {
    "core.fsmonitor": "false",
    "core.hooksPath": "/dev/null",
    "core.pager": "cat",
    "core.sshCommand": "false",
    "core.attributesFile": "/dev/null",
    "credential.helper": "",
    "diff.external": "",
    "gpg.program": "false",
    "gpg.ssh.program": "false",
    "gpg.x509.program": "false",
    "blame.ignoreRevsFile": "",
    "log.showSignature": "false",
    "log.follow": "false",
    "protocol.allow": "never",
    "safe.bareRepository": "explicit",  # a folder of the checkout may look like a bare repository
    "submodule.recurse": "false",
}
_CONFIG_SECONDS = 10.0  # for listing the drivers
_MOST_CONFIG_BYTES = 1 << 20
_CACHE_SECONDS = 2.0  # before the config is read again
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # unlike protocol.allow, no setting of the repository can widen it
    "LC_ALL": "C.UTF-8",  # callers read reasons from English messages
}
# Keys of drivers that run programs. A name may have any character, so variables overrule them, not options.
_DRIVERS = r"^(filter|diff|merge)\..*\.(clean|smudge|process|required|textconv|command|driver)$"
_HARMLESS = {"required": "false", "textconv": "cat", "command": "true", "driver": "true"}  # other keys: empty, not run


def run_git(
    root: Path, *arguments: str, seconds: float, output_bytes: int, added: Mapping[str, str] | None = None
) -> Ran:
    """Run git in `root`, with `added` in its environment."""
    variables = _ENVIRONMENT | dict(added or {})
    drivers = _drivers_off(root, tuple(sorted(variables.items())), int(time.monotonic() / _CACHE_SECONDS))
    if drivers is None:
        return Ran(None, b"", b"the drivers of the repository's config cannot be listed, so git is not run")
    if arguments[0] in ("status", "diff"):  # a submodule has a config of its own
        arguments = (arguments[0], "--ignore-submodules=all", *arguments[1:])
    return _run(root, arguments, variables | _variables(_OFF | drivers), seconds, output_bytes)


@lru_cache(maxsize=64)
def _drivers_off(root: Path, environment: tuple[tuple[str, str], ...], moment: int) -> dict[str, str] | None:
    """Return settings that disable every driver in the config of the repository and of the user.

    The result is cached for a moment only: a config may change while a server runs.
    """
    list_drivers = ("config", "--null", "--name-only", "--get-regexp", _DRIVERS)
    listing = _run(root, list_drivers, dict(environment) | _variables(_OFF), _CONFIG_SECONDS, _MOST_CONFIG_BYTES)
    if listing.cut or listing.timed_out:
        return None
    keys = listing.out.decode("utf-8", "surrogateescape").split("\0")
    return {key: _HARMLESS.get(key.rpartition(".")[2], "") for key in keys if key}


def _run(root: Path, arguments: Sequence[str], added: Mapping[str, str], seconds: float, output_bytes: int) -> Ran:
    return run(
        ["git", "--no-pager", *arguments], root, seconds, output_bytes, environment=clean_environment(root, added)
    )


def _variables(settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings as variables, which overrule every config file."""
    return {
        "GIT_CONFIG_COUNT": str(len(settings)),
        **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(settings)},
        **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(settings.values())},
    }


GIT_CONFIG = _ENVIRONMENT | _variables(_OFF)  # for a program that runs git itself
