"""Build and Test: whether it builds and its tests pass, found out on a copy (specification 3, classes Build and Test).

| evidence of a build | level |
| --- | --- |
| there was nothing to build | Weak |
| it builds, but not the target asked for, or only a part of the project | Moderate |
| it builds the target asked for (the whole project if none was named) | Strong |
| build and tests both pass, for the same target: the planner makes both Verified | Verified |
| it fails, and the tool says what | Strong that it fails |
| not allowed, not supported, not installed, not finished | None, with the reason |

| evidence of tests | level |
| --- | --- |
| 0 tests ran | Weak |
| some tests pass: most are skipped, none is of the target asked for, or nobody counted | Moderate |
| tests fail, and the runner says which | Strong that they fail |
| all relevant tests pass (those of the target; all, if none was named) | Strong |
| no tests configured, or as for a build | None, with the reason |

A failure is as certain as a success and shows the opposite (`Evidence.shows`). It answers "do the tests pass" with no.
Where something has to pass, a failing build counts as Weak and a failing test run as Moderate at best ("passes some
tests"), and two failures never corroborate each other into Verified.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from dataclasses import dataclass

from knowbound.codebase.manifests import Inventory, known_manifest, take_inventory
from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Place, Quality, Shows
from knowbound.evidence.producers.compiled import Cargo, CMake, Make
from knowbound.evidence.producers.discovery import PROJECT, scan_tree
from knowbound.evidence.producers.protocol import BUILD, LONGEST_NOTE, TEST, Ask, Context, Producer
from knowbound.evidence.producers.scripted import Npm, Python
from knowbound.evidence.producers.system import Built, System, Tested, UnableError, Workspace, workspace
from knowbound.text.english import STOP_WORDS
from knowbound.text.printable import counted, listed, one_line

_LISTED = 3  # targets of a build that are named
NOTHING_CHANGED = "nothing was changed: an investigation changes no file, so no run can confirm a change"
NOT_ALLOWED = "needs --allow-run: builds and tests run the project's own code"
SYSTEMS: tuple[System, ...] = (
    CMake(),
    Cargo(),
    Python(),
    Npm(),
    Make(),
)  # make last: it often only calls other systems
# Words that say that something is built or tested, not what.
_NO_TARGET = STOP_WORDS | frozenset(
    "assert build builds building built cargo check checks clean cmake code codebase compilation compile compiled "
    "compiles compiling complete completely correctly ctest current entire everything execute fail failed failing "
    "fails fine full fully green integration jest make makefile node npm pass passed passes passing project pytest "
    "python repo repository result results run running runs source sources succeed succeeds success successfully "
    "suite suites sure target targets test tested testing tests tree unit verify work works whole main new existing "
    "latest properly locally default errors warnings ci command".split()
)
# Words that may be the name of a target, but hardly are unless the question says "target".
_RARELY_A_TARGET = frozenset("app application binary bundle library module package program script software".split())
_NAME = r"[`'\"]?([\w@][\w./:@+-]*)(?![\w=])[`'\"]?"
_TARGET_FORMS = tuple(re.compile(form, re.I) for form in (rf"\btarget\s+{_NAME}", rf"{_NAME}\s+target\b"))
_LIKELY_TARGET_FORMS = tuple(
    re.compile(form, re.I)
    for form in (
        r"`([^`]+)`",
        r"[\"“]([^\"”]+)[\"”]",
        r"\btests?\s+(?:for|of|in|about)\s+(.+?)(?:\s+(?:pass|fail|run|succeed|work|still)\w*\b|[?.!,]?\s*$)",
        rf"\b(?:build|compile|test|make|run)s?\s+(?:the\s+)?{_NAME}",
        rf"\bthe\s+{_NAME}\s+(?:unit\s+)?(?:tests?|builds?|compiles?|crate|package|module|library|binary)\b",
        rf"\bdo(?:es)?\s+(?:the\s+)?{_NAME}\s+(?:build|compile|pass|tests?)\b",
        r"\b(\w+(?:_|::|/)[\w./:]+)",
    )
)


def grade_build(built: Built, named: str) -> tuple[Quality, str]:
    """Return the level of a build by specification 3, and why; `named` is the target of the question, "" for none."""
    if not built.passed:
        return (Quality.STRONG, f"fails: {built.says}") if built.says else (Quality.MODERATE, "fails, without a reason")
    if not built.made:
        return Quality.WEAK, f"{built.command} had nothing to build"
    what = f"{built.command} builds {listed(list(built.made), _LISTED)}"
    if named and not built.has_named:
        return Quality.MODERATE, f"{what}, but nothing called {named!r}"
    if built.partial:
        return Quality.MODERATE, f"{what}; {built.partial}"
    return Quality.STRONG, f"{what} ({counted(len(built.made), 'target')})" if len(built.made) > _LISTED else what


def grade_tests(tested: Tested, named: str) -> tuple[Quality, str]:
    """Return the level of a test run by specification 3, and why; `named` is the target of the question, or ""."""
    if tested.counts is None:
        if not tested.passed_all:
            return Quality.MODERATE, f"fails: {tested.says or tested.command}, but does not say which tests"
        return Quality.MODERATE, f"{tested.command} passes, but does not say how many tests ran"
    passed, failed, skipped = tested.counts
    if failed or not tested.passed_all:
        count = f"{failed} of {counted(passed + failed, 'test')}" if failed else "the run"
        note = f"fails: {count}" + (f": {tested.says}" if tested.says else "")
        if named and not tested.has_named:
            return Quality.MODERATE, f"{note}, but none is known to be of {named!r}"
        return (Quality.STRONG if failed or tested.says else Quality.MODERATE), note  # a failure needs its words
    if not passed:
        return Quality.WEAK, f"0 tests run by {tested.command}" + (f", {skipped} skipped" if skipped else "")
    verb = "passes" if passed == 1 else "pass"
    note = f"{counted(passed, 'test')} {verb} ({tested.command})" + (f", {skipped} skipped" if skipped else "")
    if named and not tested.has_named:
        return Quality.MODERATE, f"{note}, but none is known to be of {named!r}"
    if skipped > passed:
        return Quality.MODERATE, f"{note}: more were skipped than passed"
    return Quality.STRONG, f"all {note}" if passed > 1 else note


@dataclass(frozen=True, slots=True)
class _Graded:
    """Graded outcome of a build or test run."""

    outcome: Built | Tested
    quality: Quality
    note: str
    count: int  # targets made, or tests that ran
    exact: int  # those of them that were made or passed
    shows: Shows


class _RunsInCopy(Producer):
    """Runs the project's own build system in a copy of the tree."""

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Return one entry. The planner joins build and tests by its first place, the manifest with the target."""
        named = named_target(ask)
        target = ask.target or named or PROJECT
        try:
            if ask.intent is Intent.MODIFY:  # "can I change it safely?" asks for a run after the change
                raise UnableError(NOTHING_CHANGED)
            if not context.allow_run:
                raise UnableError(NOT_ALLOWED)
            system, manifest = choose_system(take_inventory(context.root, context.deadline), ask.question)
            with workspace(context, system.keeps) as work:
                graded = self._run(system, work, named)
        except UnableError as reason:
            return ask.nothing(self.name, one_line(str(reason)), "", target)
        outcome = graded.outcome
        return ask.evidence(
            outcome.tool,
            graded.quality,
            (Place(manifest, 0, target), *outcome.failures),
            count=graded.count,
            exact=graded.exact,
            note=one_line(graded.note, LONGEST_NOTE),
            query=outcome.command,
            target=target,
            shows=graded.shows,
        )

    @abstractmethod
    def _run(self, system: System, work: Workspace, named: str) -> _Graded:
        """Build or test the copy, and grade the result."""


class Build(_RunsInCopy):
    """Builds the project."""

    name = "build"
    cls = EvidenceClass.BUILD
    independent_of = BUILD

    def _run(self, system: System, work: Workspace, named: str) -> _Graded:
        built = system.build(work, named)
        quality, note = grade_build(built, named)
        made = len(built.made)
        exact = made if built.passed and quality is Quality.STRONG else 0
        shows = _shown_by_run(built.passed, bool(made))
        return _Graded(built, quality, note, count=made, exact=exact, shows=shows)


class Tests(_RunsInCopy):
    """Runs the project's tests."""

    name = "tests"
    cls = EvidenceClass.TEST
    independent_of = TEST

    def _run(self, system: System, work: Workspace, named: str) -> _Graded:
        tested = system.test(work, named)
        quality, note = grade_tests(tested, named)
        shows = _shown_by_run(tested.passed_all and not (tested.counts and tested.counts.failed), tested.passed > 0)
        return _Graded(tested, quality, note, count=tested.ran, exact=tested.passed, shows=shows)


def _shown_by_run(passed: bool, did_something: bool) -> Shows:
    """Return what a run shows: that it fails or passes; nothing if it passed and had nothing to do."""
    if not passed:
        return Shows.FAILS
    return Shows.PASSES if did_something else Shows.NOTHING


def named_target(ask: Ask) -> str:
    """The target that the question names; "" for the project as a whole.

    Only a question to build or test names one. To change something safely, the whole project has to build.
    """
    if ask.intent is not Intent.EXECUTE:
        return ""
    called_targets = [match[1] for form in _TARGET_FORMS for match in form.finditer(ask.question)]
    likely_targets = [ask.target, *(match[1] for form in _LIKELY_TARGET_FORMS for match in form.finditer(ask.question))]
    names = (
        *(_target_name(text, _NO_TARGET) for text in called_targets),
        *(_target_name(text, _NO_TARGET | _RARELY_A_TARGET) for text in likely_targets),
    )
    return next(filter(None, names), "")


def _target_name(text: str, ignored: frozenset[str]) -> str:
    """Return a name without the general words around it; several words are joined to one name."""
    words = [word for word in text.strip("`'\"?!., ").split() if word.lower().strip("?!.,") not in ignored]
    name = "_".join(word.strip("?!.,`'\"") for word in words)
    return name if re.fullmatch(r"[\w@][\w./:@+-]*", name) else ""  # no option, no assignment


def choose_system(inventory: Inventory, question: str) -> tuple[System, str]:
    """Return the system to run with its manifest: as the question names it, else the system of most sources."""
    names = inventory.at_root()
    present = [(system, name) for system in SYSTEMS for name in system.manifests if name in names]
    if not present:
        raise UnableError(_why_no_system(names))
    lower = question.lower()
    for system, name in present:
        if any(re.search(rf"(?<!\w){re.escape(word)}\b", lower) for word in system.words):
            return system, name
    kind = scan_tree(inventory).kind  # "python", "rust", …
    return min(present, key=lambda found: (found[0].kind != kind, SYSTEMS.index(found[0])))


def _why_no_system(names: frozenset[str]) -> str:  # of the files in the root
    unsupported = sorted({known.system for name in names if (known := known_manifest(name))})
    if not unsupported:
        return "no build system is recognised in the root"
    return f"{', '.join(unsupported)} is recognised, but not supported (supported: cmake, pytest, npm, cargo, make)"
