"""What the executors of agents' command lines share: found once, asked once for their version and options.

Clients differ in what they understand, so options beyond the basic ones are given only where `--help` names them.
"""

from __future__ import annotations

import re
import subprocess
import threading
from collections.abc import Callable
from typing import TypeVar

from knowbound.evals.executors.command import agent_environment, program

_SECONDS = 60.0
_LONGEST_VERSION = 100
T = TypeVar("T")


class CommandLine:
    """An agent's command line on this machine. What was learned of it is kept."""

    def __init__(self, name: str, help_of: tuple[str, ...] = ()) -> None:
        self._name, self._help_of = name, help_of
        self._known: dict[str, str] = {}
        self._asking = threading.Lock()

    def path(self) -> str:
        """Where it is; a ConfigError where it is not."""
        return self._once("path", lambda: program(self._name))

    @property
    def version(self) -> str:
        """What it says its version is."""
        return self._once("version", lambda: self._says("--version").strip()[:_LONGEST_VERSION] or "unknown version")

    def understands(self, option: str) -> bool:
        """Whether its help names the option."""
        known = self._once("help", lambda: self._says(*self._help_of, "--help"))
        return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", known) is not None

    def _once(self, what: str, ask: Callable[[], str]) -> str:
        if what not in self._known:
            value = ask()
            with self._asking:
                self._known.setdefault(what, value)
        return self._known[what]

    def _says(self, *arguments: str) -> str:
        try:
            ran = subprocess.run(
                [self.path(), *arguments],
                env=agent_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return ran.stdout.decode("utf-8", "replace")
