"""Variants of one evaluation: what is put before the agent, A against B, and whether our hooks inject.

Two variants differ in nothing else: the same samples, in turns, through the same agent. A variant is the knowledge base
as it is (`.`), another folder, a git revision, or the knowledge base with one file or skill in the place of another.
`+inject` has our hooks serve it. `--against REF` and `--inject both` are short forms for two variants.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from knowbound.errors import InputError
from knowbound.evals.executor import Executor
from knowbound.store.read_only import open_own_index
from knowbound.text.digest import digest_of

HERE, NOTHING, INJECT = ".", "none", "+inject"
SKILL, SKILLS = "SKILL.md", ".claude/skills"
_LONGEST_NAME = 60
_ITEMS = "SELECT id, content_sha, flag, stale, confidence FROM item WHERE served = 1 ORDER BY id"
_SECONDS = 60.0


class Variant(msgspec.Struct, frozen=True):
    """One side of an evaluation; without a name it is the only one."""

    name: str = ""
    source: str = HERE  # `.`, a folder, a file, `none` (without the other side's file), or a git revision
    inject: bool = False  # our hooks inject items of the store

    @property
    def label(self) -> str:
        """Part besides the knowledge base; "" for the knowledge base itself."""
        return self.source if self.source != HERE else ""

    @property
    def is_file(self) -> bool:
        """Report whether it is one file or skill, and not a whole knowledge base."""
        path = Path(self.source).expanduser()
        return self.source == NOTHING or path.is_file() or (path / SKILL).is_file()


ONLY = Variant()


def read_variants(given: Sequence[str], against: str = "", inject: str = "off") -> tuple[Variant, ...]:
    """Return the variants that options name: one, or two of which the second is evaluated against the first."""
    named = [one for one, is_given in (("--variant", given), ("--against", against)) if is_given]
    named += ["--inject both"] if inject == "both" else []
    if len(named) > 1:
        raise InputError("two-comparisons", f"{' and '.join(named)} are two comparisons at once. Try: one of them")
    injects = inject == "on"
    if against:
        return Variant(against, against, injects), Variant("this version", HERE, injects)
    if inject == "both":
        return Variant("without injection"), Variant("with injection", HERE, True)
    if not given:
        return (Variant(inject=injects),)
    found = tuple(_variant(one, injects) for one in given)
    if len(found) != 2 or found[0].name == found[1].name:
        raise InputError(
            "two-variants", "--variant names two variants that differ: --variant a=HEAD~1 --variant b=. (see --help)"
        )
    if all(one.source == NOTHING for one in found) or found[0].source + str(found[0].inject) == found[1].source + str(
        found[1].inject
    ):
        raise InputError("two-variants", f"Both variants are {found[0].source!r}: there is nothing to compare.")
    return found


def _variant(given: str, injects: bool) -> Variant:
    name, equals, source = given.partition("=")
    name, source = name.strip(), source.strip()
    if not equals or not name or not source or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError("two-variants", f"--variant {given!r} is not NAME=PATH or NAME=REVISION, such as a=HEAD~1")
    if source.endswith(INJECT):
        return Variant(name, source.removesuffix(INJECT) or HERE, True)
    return Variant(name, source, injects)


def place_of_files(root: Path, variants: Iterable[Variant]) -> str:
    """Return the path in the knowledge base that variants of one file or skill are about; "" where none is one."""
    files = [Path(variant.source).expanduser() for variant in variants if variant.is_file and variant.source != NOTHING]
    top = root.resolve()
    for path in files:
        if path.resolve().is_relative_to(top):
            return str(path.resolve().relative_to(top))
    if not files:
        return ""
    path = files[0]
    if path.name == SKILL:
        return f"{SKILLS}/{path.resolve().parent.name}"
    return f"{SKILLS}/{path.resolve().name}" if path.is_dir() else path.name


def items_state(home: Path) -> str:
    """Changes with what could be injected; "" where there is nothing."""
    index = open_own_index(str(home), wait_seconds=_SECONDS, work_seconds=_SECONDS)
    if index is None:
        return ""
    with closing(index):
        rows = index.execute(_ITEMS).fetchall()
    return digest_of(" ".join(map(str, row)) for row in rows) if rows else ""


def check_inject(variants: Iterable[Variant], executor: Executor, home: Path) -> str:
    """The state of the items that will be injected; an error where that cannot be, "" where nothing shall be."""
    if not any(variant.inject for variant in variants):
        return ""
    if not executor.injects:
        raise InputError(
            "no-injection",
            f"The executor {executor.name} has no hooks that could inject. "
            "Try: --executor claude, --executor codex, or --inject off",
        )
    state = items_state(home)
    if not state:
        raise InputError(
            "nothing-to-inject",
            f"The store in {home} has no item that could be injected. Try: knowbound kms import, or knowbound kms add",
        )
    return state
