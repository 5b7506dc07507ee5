"""Test: whether the tests pass, found out by running them in a copy (specification 3, class Test).

| evidence | level |
| --- | --- |
| 0 tests ran; or all fail (the note says which) | Weak |
| some tests pass: others fail, most are skipped, none is of the target asked for, or nobody counted | Moderate |
| all relevant tests pass (those of the target; all, if none was named) | Strong |
| build and tests both pass, for the same target: the planner makes both Verified | Verified |
| not allowed, not supported, no tests configured, not installed, not finished | None, with the reason |

As with a build, a failure is known for certain but shows the opposite of what this class is about: it is never more
than the table's "passes some tests", and its note starts with "fails:".
"""

from __future__ import annotations

from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality, strength_of
from knowbound.evidence.producers.build import run_in_copy, target_of
from knowbound.evidence.producers.protocol import TEST, Ask, Context, nothing
from knowbound.evidence.producers.systems.choice import named_target
from knowbound.evidence.producers.systems.system import Tested
from knowbound.evidence.producers.workspace import UnableError
from knowbound.text.printable import counted, one_line


def grade_tests(tested: Tested, named: str) -> tuple[Quality, str]:
    """Specification 3, class Test: the level, and what makes it this good."""
    passed, failed, skipped = tested.passed, tested.failed, tested.skipped
    if passed is None:
        if not tested.passed_all:
            return Quality.WEAK, f"fails: {tested.says or tested.command}"
        return Quality.MODERATE, f"{tested.command} passes, but does not say how many tests ran"
    if failed or not tested.passed_all:
        count = f"{failed} of {counted(passed + failed, 'test')}" if failed else "the run"
        note = f"fails: {count}" + (f": {tested.says}" if tested.says else "")
        return (Quality.MODERATE if passed else Quality.WEAK), note
    if not passed:
        return Quality.WEAK, f"0 tests run by {tested.command}" + (f", {skipped} skipped" if skipped else "")
    verb = "passes" if passed == 1 else "pass"
    note = f"{counted(passed, 'test')} {verb} ({tested.command})" + (f", {skipped} skipped" if skipped else "")
    if named and not tested.has_named:
        return Quality.MODERATE, f"{note}, but none is known to be of {named!r}"
    if skipped > passed:
        return Quality.MODERATE, f"{note}: more were skipped than passed"
    return Quality.STRONG, f"all {note}" if passed > 1 else note


class Tests:
    """Runs the project's own tests in a copy of the tree."""

    name = "tests"
    cls = EvidenceClass.TEST
    independent_of = TEST
    authoritative = False

    def can(self, ask: Ask, context: Context) -> int:
        """The only producer of its class."""
        return 1 if ask.cls is self.cls else 0

    def produce(self, ask: Ask, context: Context) -> list[Evidence]:
        """One entry; its first place is the manifest with the target, as in the entry of the build."""
        target = target_of(ask)
        try:
            tested, manifest = run_in_copy(ask, context, lambda system, work, named: system.test(work, named))
        except UnableError as reason:
            return nothing(self.cls, self.name, target, one_line(str(reason)))
        quality, note = grade_tests(tested, named_target(ask))
        ran = (tested.passed or 0) + tested.failed
        return [
            Evidence(
                self.cls,
                tested.tool,
                tested.command,
                target,
                quality,
                strength_of(ran),
                (Place(manifest, 0, target), *tested.failures)[: context.limits.places],
                match_count=ran,
                exact_match_count=tested.passed or 0,
                note=one_line(note, 400),
            )
        ]
