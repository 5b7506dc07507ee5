"""Make."""

from __future__ import annotations

import re

from knowbound.evidence.producers.systems.system import (
    Built,
    OutcomeCounts,
    System,
    Tested,
    compiler_errors,
    first_error,
    read_counts,
)
from knowbound.evidence.producers.workspace import UnableError, Workspace

_NOTHING = re.compile(
    r"^make(?:\[\d+\])?: (?:Nothing to be done for|'[^']*' is up to date|`[^']*' is up to date)", re.M
)
_NO_RULE = re.compile(r"No rule to make target '([^']*)'\.\s+Stop|No targets\.\s+Stop")
# Targets that reach beyond the copy: never run, however the question puts it.
_FAR_REACHING = frozenset(
    "install uninstall deploy publish release upload push clean distclean destroy migrate login start serve run".split()
)


def refuse_far_reaching(named: str) -> None:
    """A target that may change the world outside the copy is not run."""
    if not _FAR_REACHING.isdisjoint(re.split(r"[^a-z]+", named.lower())):
        raise UnableError(f"{named!r} is not run: by its name it may change things outside of the copy")


class Make(System):
    """`make`, `make TARGET`, and for tests `make test` or `make check`."""

    name = "make"
    manifests = ("GNUmakefile", "makefile", "Makefile")
    kind = ""
    words = ("makefile", "gnu make", "`make")

    def build(self, work: Workspace, named: str) -> Built:
        """The named target, else the default one. What is already built in the copy is built again."""
        if named:
            refuse_far_reaching(named)
            built = self._make(work, named)
            if built is not None:
                return built
        return self._make(work, "") or Built("make", "make", False, says="the Makefile has no default target")

    def test(self, work: Workspace, named: str) -> Tested:
        """A make target says little about tests; the runner behind it does, if we know its words."""
        for target in ("test", "check", "tests"):
            ran = work.run("make", "--", target)
            text = ran.text
            if _lacks(text, target):
                continue
            counts = read_counts(text)
            if ran.code == 0 and counts is None and _NOTHING.search(text):
                counts = OutcomeCounts(0)
            return Tested(
                f"make {target}",
                f"make {target}",
                ran.code == 0,
                counts,
                bool(named) and named in text,
                compiler_errors(text, work),
                first_error(text) if ran.code != 0 else "",
            )
        raise UnableError("the Makefile has no target test, check or tests")

    def _make(self, work: Workspace, target: str) -> Built | None:
        """None if there is no such target."""
        argv = ("make", *(("--", target) if target else ()))
        command = f"make {target}".rstrip()
        ran = work.run(*argv)
        text = ran.text
        if _lacks(text, target):
            return None
        if ran.code == 0 and _did_nothing(text):
            ran = work.run("make", "--always-make", *argv[1:])  # built before: that says nothing about today
            text = ran.text
        if ran.code != 0:
            return Built("make", command, False, (), False, compiler_errors(text, work), first_error(text))
        return Built(
            "make", command, True, () if _did_nothing(text) else (target or "the default target",), bool(target)
        )


def _lacks(text: str, target: str) -> bool:
    missing = _NO_RULE.search(text)
    return missing is not None and (missing[1] or "") == target


def _did_nothing(text: str) -> bool:
    lines = [
        line for line in text.splitlines() if line.strip() and not re.match(r"make(\[\d+\])?: (Enter|Leav)ing", line)
    ]
    return all(_NOTHING.match(line) for line in lines)
