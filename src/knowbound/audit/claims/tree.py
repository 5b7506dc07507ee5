"""Claims of location and absence that the trace leaves open, looked up in the project's tree (`--root`).

The tree of today is not that of the turn: it may support such a claim, and it contradicts only a cited file that is
nowhere in it. Only sessions that worked in a folder of the root's name are looked up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePath

from knowbound.audit.claims.checked import Checked, checked
from knowbound.audit.claims.places import cited_places
from knowbound.core.audit import ClaimKind, FindingCode, Support
from knowbound.files import rg

_SECONDS = 5.0
_BYTES = 4_000_000  # of a file whose lines are counted
_OPEN = frozenset({Support.UNSEEN, Support.NOT_CHECKABLE})
_NAME = re.compile(r"`([A-Za-z_]\w{2,60})(?:\(\))?`")


class ProjectFiles:
    """The files of a project."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: dict[str, list[str]] | None = None

    def is_of(self, project: str) -> bool:
        """Whether a session of this project is about this tree."""
        return bool(project) and PurePath(project.replace("\\", "/")).name == self.root.name

    def looked_up(self, found: Sequence[Checked]) -> list[Checked]:
        """The claims, those that the tree can decide decided."""
        return [self._looked_up(one) if one.claim.support in _OPEN else one for one in found]

    def _looked_up(self, one: Checked) -> Checked:
        claim = one.claim
        if claim.kind is ClaimKind.LOCATION:
            for path, line, is_source in cited_places(claim.text):
                if is_source:
                    continue  # what a file says is not shown by its being there
                files = self._named(path)
                if files is None:
                    return one
                support = Support.SUPPORTED if any(self._has_line(file, line) for file in files) else claim.support
                why = "it is in the tree"
                if not files:
                    support, why = Support.CONTRADICTED, f"the tree has no {PurePath(path).name}"
                elif support is claim.support:
                    why = f"{PurePath(path).name} of the tree has no line {line}"
                return checked(claim.text, claim.kind, support, why, line=claim.line, code=FindingCode.CITED_UNSEEN)
        if claim.kind is ClaimKind.ABSENCE and (name := _NAME.search(claim.text)) is not None:
            ran = rg(
                self.root, ["--files-with-matches", "--word-regexp", "--fixed-strings", "-e", name[1], "./"], _SECONDS
            )
            if ran.code == 1:
                return checked(
                    claim.text, claim.kind, Support.SUPPORTED, f"{name[1]} is not in the tree", line=claim.line
                )
        return one

    def _named(self, path: str) -> list[str] | None:
        """The files of the tree that a cited path may mean; None where the tree could not be listed."""
        if self._files is None:
            ran = rg(self.root, ["--files", "./"], _SECONDS)
            if ran.code != 0 or ran.cut:
                return None
            self._files = {}
            for file in ran.text.splitlines():
                self._files.setdefault(PurePath(file).name, []).append(file.removeprefix("./"))
        tail = path.lstrip("./")
        return [file for file in self._files.get(PurePath(path).name, ()) if f"/{file}".endswith(f"/{tail}")]

    def _has_line(self, file: str, line: int) -> bool:
        if not line:
            return True
        try:
            with (self.root / file).open("rb") as opened:
                return opened.read(_BYTES).count(b"\n") + 1 >= line
        except OSError:
            return False
