"""Run git on a repository that may be a stranger's.

Its config may name programs to run (fsmonitor, hooks, pagers, external diffs). None of them is run, and nothing is
fetched.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    "blame.ignoreRevsFile": "",
    "log.showSignature": "false",
    "log.follow": "false",
    "protocol.allow": "never",
}
_OPTIONS = tuple(part for name, value in _OFF.items() for part in ("-c", f"{name}={value}"))
_ENVIRONMENT = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",  # unlike protocol.allow, no setting of the repository can widen it
    "LC_ALL": "C.UTF-8",  # callers read reasons from English messages
}
# The same for a program that runs git itself.
GIT_CONFIG = _ENVIRONMENT | {
    "GIT_CONFIG_COUNT": str(len(_OFF)),
    **{f"GIT_CONFIG_KEY_{number}": name for number, name in enumerate(_OFF)},
    **{f"GIT_CONFIG_VALUE_{number}": value for number, value in enumerate(_OFF.values())},
}


def run_git(
    root: Path, *arguments: str, seconds: float, output_bytes: int, added: Mapping[str, str] | None = None
) -> Ran:
    """Run git in `root`; `added` goes into its environment."""
    environment = clean_environment(root, _ENVIRONMENT | dict(added or {}))
    return run(["git", "--no-pager", *_OPTIONS, *arguments], root, seconds, output_bytes, environment=environment)
