"""Build: whether it builds, found out by building a copy (specification 3, class Build).

| evidence | level |
| --- | --- |
| there was nothing to build; or it fails (the note says what) | Weak |
| it builds, but not the target asked for, or only a part of the project | Moderate |
| it builds the target asked for (the whole project if none was named) | Strong |
| build and tests both pass, for the same target: the planner makes both Verified | Verified |
| not allowed, not supported, not installed, not finished | None, with the reason |

A failing build is certain knowledge, but of the opposite: the levels of this class say how well it is shown that the
target builds, Execute and Modify rest on them, and two failures must never corroborate each other into Verified. So a
failure is Weak, its note starts with "fails:", and its places are the places of the errors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from knowbound.codebase.inventory import take_inventory
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality, strength_of
from knowbound.evidence.producers.discovery import PROJECT
from knowbound.evidence.producers.protocol import BUILD, Ask, Context, nothing
from knowbound.evidence.producers.systems.choice import choose_system, named_target
from knowbound.evidence.producers.systems.system import Built, System, Tested
from knowbound.evidence.producers.workspace import UnableError, Workspace, workspace
from knowbound.text.printable import counted, listed, one_line

Outcome = TypeVar("Outcome", Built, Tested)
NOT_ALLOWED = "needs --allow-run: builds and tests run the project's own code"


def grade_build(built: Built, named: str) -> tuple[Quality, str]:
    """Specification 3, class Build: the level, and what makes it this good."""
    if not built.passed:
        return Quality.WEAK, f"fails: {built.says or 'the tool does not say why'}"
    if not built.made:
        return Quality.WEAK, f"{built.command} had nothing to build"
    what = f"{built.command} builds {listed(list(built.made), 3)}"
    if named and not built.has_named:
        return Quality.MODERATE, f"{what}, but nothing called {named!r}"
    if built.partial:
        return Quality.MODERATE, f"{what}; {built.partial}"
    return Quality.STRONG, f"{what} ({counted(len(built.made), 'target')})" if len(built.made) > 3 else what


def run_in_copy(ask: Ask, context: Context, act: Callable[[System, Workspace, str], Outcome]) -> tuple[Outcome, str]:
    """Choose the build system, copy the tree and act on the copy; the outcome with its manifest."""
    if not context.allow_run:
        raise UnableError(NOT_ALLOWED)
    system, manifest = choose_system(take_inventory(context.root, context.deadline), ask.question)
    with workspace(context, system.keeps) as work:
        return act(system, work, named_target(ask)), manifest


def target_of(ask: Ask) -> str:
    """What the entries of Build and Test are about: the same for both, so that the planner can join them."""
    return ask.target or named_target(ask) or PROJECT


class Build:
    """Builds a copy of the tree with the project's own build system."""

    name = "build"
    cls = EvidenceClass.BUILD
    independent_of = BUILD
    authoritative = False

    def can(self, ask: Ask, context: Context) -> int:
        """The only producer of its class."""
        return 1 if ask.cls is self.cls else 0

    def produce(self, ask: Ask, context: Context) -> list[Evidence]:
        """One entry; its first place is the manifest with the target, as in the entry of the tests."""
        target = target_of(ask)
        try:
            built, manifest = run_in_copy(ask, context, lambda system, work, named: system.build(work, named))
        except UnableError as reason:
            return nothing(self.cls, self.name, target, one_line(str(reason)))
        quality, note = grade_build(built, named_target(ask))
        return [
            Evidence(
                self.cls,
                built.tool,
                built.command,
                target,
                quality,
                strength_of(len(built.made)),
                (Place(manifest, 0, target), *built.failures)[: context.limits.places],
                match_count=len(built.made),
                exact_match_count=len(built.made) if quality is Quality.STRONG else 0,
                note=one_line(note, 400),
            )
        ]
