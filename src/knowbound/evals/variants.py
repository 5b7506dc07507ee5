"""Variants of one evaluation: what is put before the agent, A against B, and whether our hooks inject; and the copies.

Two variants differ in nothing else: the same samples, in turns, through the same agent. A variant is the knowledge base
as it is (`.`), another folder, a git revision, or the knowledge base with one file or skill in the place of another.
`+inject` has our hooks serve it. `--against REF` and `--inject both` are short forms for two variants.

Two versions are run from copies of their own, so that neither agent can see or touch the other's files: the model and
the samples are fixed, and only the knowledge varies. Copies are outside of the knowledge base, because agents look into
the folders above theirs for instructions, and searches obey the ignore files there.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import tempfile
from collections import deque
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from knowbound.core.paths import IGNORED_FOLDERS
from knowbound.errors import InputError
from knowbound.evals.executor import Executor
from knowbound.evals.knowledge import KnowledgeCommit, commit_of, files_of, git, named_commit
from knowbound.files import NotBelowError, Walk, copy_below
from knowbound.git import run_git
from knowbound.store.own_index import open_own_index
from knowbound.text.digest import digest_of
from knowbound.user_files import make_file, make_folder

HERE, NOTHING, INJECT = ".", "none", "+inject"
SKILL, SKILLS = "SKILL.md", ".claude/skills"
_NAME_CHARACTERS = 60
_ITEMS = "SELECT id, content_sha, flag, stale, confidence FROM item WHERE served = 1 ORDER BY id"
_STORE_SECONDS = 60.0  # for reading the items of the store
DRAFTS = "eval-samples.draft"  # files of `draft`, which hold prompts and what their answers should be
_CHECK_OUT_SECONDS = 600.0
_COPIES = ("other", "this")  # of the copies: compared with, evaluated


class Variant(msgspec.Struct, frozen=True):
    """One side of an evaluation; without a name it is the only one."""

    name: str = ""
    source: str = HERE  # `.`, a folder, a file, `none` (without the other side's file), or a git revision
    inject: bool = False  # our hooks inject items of the store

    @property
    def label(self) -> str:
        """The source in reports; "" for the knowledge base itself."""
        return self.source if self.source != HERE else ""

    @property
    def is_file(self) -> bool:
        """Report whether it is one file or skill, and not a whole knowledge base."""
        path = Path(self.source).expanduser()
        return self.source == NOTHING or path.is_file() or (path / SKILL).is_file()


ONLY = Variant()


def read_variants(given: Sequence[str], against: str = "", inject: str = "off") -> tuple[Variant, ...]:
    """Return the variants that options name: one, or two of which the second is evaluated against the first."""
    named = [option for option, is_given in (("--variant", given), ("--against", against)) if is_given]
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
    found = tuple(_variant(option, injects) for option in given)
    if len(found) != 2 or found[0].name == found[1].name:
        raise InputError(
            "two-variants", "--variant names two variants that differ: --variant a=HEAD~1 --variant b=. (see --help)"
        )
    first, second = found
    if first.source == second.source == NOTHING or (first.source, first.inject) == (second.source, second.inject):
        raise InputError("two-variants", f"Both variants are {first.source!r}: there is nothing to compare.")
    return found


def _variant(given: str, injects: bool) -> Variant:
    """Parse NAME=SOURCE or NAME=SOURCE+inject. Raises InputError for another form."""
    name, equals, source = given.partition("=")
    name, source = name.strip(), source.strip()
    if not equals or not name or not source or len(name) > _NAME_CHARACTERS or not name.isprintable():
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
    path = files[0]  # none lies in the knowledge base: a skill is put among its skills, a file at its top
    if path.name == SKILL:
        return f"{SKILLS}/{path.resolve().parent.name}"
    return f"{SKILLS}/{path.resolve().name}" if path.is_dir() else path.name


def items_state(home: Path) -> str:
    """Return a digest that changes with what could be injected; "" if there is nothing."""
    index = open_own_index(str(home), wait_seconds=_STORE_SECONDS, work_seconds=_STORE_SECONDS)
    if index is None:
        return ""
    with closing(index):
        rows = index.execute(_ITEMS).fetchall()
    return digest_of(" ".join(map(str, row)) for row in rows) if rows else ""


def check_inject(variants: Iterable[Variant], executor: Executor, home: Path) -> str:
    """Return the digest of the items that will be injected; "" if no variant injects. Raises InputError if none can."""
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


# ---- the version of the knowledge base of each variant


class Version(msgspec.Struct, frozen=True):
    """One version of the knowledge base, and where its files are."""

    name: str  # "" for the evaluated version, else the name of the variant that it is compared with
    folder: Path
    commit: KnowledgeCommit
    root: Path  # the knowledge base that it is a version of
    variant: Variant = ONLY

    def inside(self, folder: Path) -> Path:
        """A folder of the knowledge base in this version; one outside of it as it is."""
        root = self.root.resolve()
        return self.folder / folder.relative_to(root) if folder.is_relative_to(root) else folder


class Copies:
    """The copies of one evaluation: where they are, and of which commit, so that a resumed run finds them again."""

    def __init__(self, run_dir: Path, home: Path, globs: tuple[str, ...]) -> None:
        self._run_dir, self._home, self._globs = run_dir, home, globs  # home: all of our data

    def versions(self, root: Path, variants: Sequence[Variant], hidden: Sequence[Path]) -> list[Version]:
        """Copies of the variants, without what is hidden. The last one is evaluated."""
        place = place_of_files(root, variants)
        versions = []
        for side, variant in zip(_COPIES[-len(variants) :], variants, strict=True):  # a single variant is "this"
            name = "" if variant is variants[-1] else variant.name
            version = Version(name, *self._copied(side, root, variant, place), root, variant)
            _hide(version, hidden)
            versions.append(version)
        return versions

    def folder(self, side: str) -> Path:
        """Return the place of a copy: in a private folder below the system's temporary folder."""
        account = os.getuid() if hasattr(os, "getuid") else "own"  # on Windows the temporary folder is the account's
        private = Path(tempfile.gettempdir()).resolve() / f"knowbound-{account}"
        return private / hashlib.sha256(f"{self._run_dir.resolve()} {side}".encode()).hexdigest()[:20] / "base"

    def drop(self) -> None:
        """Remove the copies: the run is over."""
        for side in _COPIES:
            shutil.rmtree(self.folder(side).parent, ignore_errors=True)
            with suppress(OSError):
                (self._run_dir / f"{side}.json").unlink()

    def _copied(self, side: str, root: Path, variant: Variant, place: str) -> tuple[Path, KnowledgeCommit]:
        """The copy and its commit; those that the run began with, where it is resumed."""
        folder, note = self.folder(side), self._run_dir / f"{side}.json"
        try:
            if not folder.is_dir() or not note.is_file():
                _make_parent(folder, root)
                commit = self._fill_whole(folder, root, variant, place)
                make_folder(note.parent)
                make_file(note, msgspec.json.encode(commit))
            return folder, msgspec.json.decode(note.read_bytes(), type=KnowledgeCommit)
        except OSError as error:
            raise InputError(
                "no-copy", f"{root} cannot be copied to {folder}: {error.strerror or error}. Try: TMPDIR=DIR"
            ) from error

    def _fill_whole(self, folder: Path, root: Path, variant: Variant, place: str) -> KnowledgeCommit:
        """Fill a copy so that it is complete or not there: one that was cut off would look like missing knowledge."""
        making = folder.with_name(folder.name + ".making")
        for left in (folder, making):
            shutil.rmtree(left, ignore_errors=True)
        try:
            make_folder(making)
            commit = self._fill(making, root, variant, place)
            making.rename(folder)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        return commit

    def _fill(self, copy: Path, root: Path, variant: Variant, place: str) -> KnowledgeCommit:
        """Fill a copy with the files of a variant; return the commit they are of."""
        source = Path(variant.source).expanduser()
        if variant.source == HERE or variant.is_file:
            self._copy(root, copy)
            if variant.is_file:
                _replace_skill(None if variant.source == NOTHING else source, copy / place)
            return commit_of(root, self._globs)
        if source.is_dir():
            self._copy(source, copy)
            return commit_of(source, self._globs)
        commit = commit_named(root, variant.source)
        _export_commit(root, commit.hash, copy)
        _remove_links_out(copy)
        # Knowledge that git does not keep (ignored files, submodules) is the same in both versions. Tracked files are
        # those of the commit; files that git would track (`fresh`) were not there then.
        tracked = set(_listed(root, "--cached"))
        fresh = set(_listed(root, "--others", "--exclude-standard"))
        kept_elsewhere = [*_listed(root, "--cached", "--recurse-submodules"), *files_of(root, self._globs)]
        self._copy(root, copy, [path for path in kept_elsewhere if path not in tracked and path not in fresh])
        return commit

    def _copy(self, root: Path, folder: Path, paths: Iterable[str] | None = None) -> None:
        """Copy these files, or all files and knowledge of the root. Left out: our data, and links that lead out."""
        data_dir = self._home.resolve()
        paths = [*_belonging(root), *files_of(root, self._globs)] if paths is None else paths
        for path in dict.fromkeys(paths):
            if not (root / path).resolve().is_relative_to(data_dir):
                _copy_file(root, path, folder / path)


def _copy_file(source: Path, path: str, target: Path) -> None:
    """Copy a file below the source; a link that leads out, or a file that is gone, is left out."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with suppress(NotBelowError, FileNotFoundError):
        copy_below(source, path, target)


def _replace_skill(source: Path | None, place: Path) -> None:
    """Put a file or a skill in its place in a copy; None takes away what is there."""
    skill = place.parent if place.name == SKILL else place
    if source is None:
        shutil.rmtree(skill, ignore_errors=True) if skill.is_dir() else skill.unlink(missing_ok=True)
    elif source.is_dir():
        shutil.rmtree(skill, ignore_errors=True)
        for path in (os.path.relpath(entry.path, source) for entry in Walk(source)):
            _copy_file(source, path, skill / path)
    else:
        is_folder = source.name == SKILL and place.suffix != ".md"  # the place is that of a skill
        target = place / SKILL if is_folder else place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def check_variants(root: Path, variants: Iterable[Variant]) -> None:
    """Raise InputError for a variant that is nowhere, before anything is begun."""
    for variant in variants:
        if variant.source != HERE and not variant.is_file and not Path(variant.source).expanduser().is_dir():
            commit_named(root, variant.source)


def commit_named(root: Path, ref: str) -> KnowledgeCommit:
    """The commit that a ref of the knowledge base names."""
    commit = None if ref.startswith("-") else named_commit(root, f"{ref}^{{commit}}", "--")
    if commit is None:
        raise InputError(
            "no-such-version", f"{ref}: neither a file, a folder nor a commit of {root}. {_other_versions(root, ref)}"
        )
    return commit


def _other_versions(root: Path, ref: str) -> str:
    """Return which versions there are to name instead."""
    log = git(root, "log", "-4", "--format=%h", "--")
    if not log:
        return "It is in no git repository with a commit. Try: a folder"
    hashes = [short for short in log.split() if short != ref]  # the first is what is checked out
    if len(hashes) == 1:
        return f"There is one commit only, {hashes[0]}. Try: a folder, or commit a change first"
    return f"Try: a folder, or one of the last commits: {', '.join(hashes[1:])}"


def current_version(root: Path, globs: tuple[str, ...], variant: Variant = ONLY, name: str = "") -> Version:
    """The knowledge base as it is, where it is."""
    return Version(name, root, commit_of(root, globs), root, variant)


def _hide(version: Version, hidden: Sequence[Path]) -> None:
    """Take the test set out of a copy: by its path, by its name, and by its content wherever else it is."""
    for path in hidden:
        for spelled in (Path(os.path.abspath(path)), path.resolve()):
            copy = version.inside(spelled)
            if copy.is_relative_to(version.folder) and copy.is_file():
                copy.unlink()
    contents = {path.read_bytes() for path in hidden if path.is_file()}
    sizes = {len(content) for content in contents}
    for entry in Walk(version.folder):
        path = Path(entry.path)
        if path.name.startswith(DRAFTS) or (path.stat().st_size in sizes and path.read_bytes() in contents):
            path.unlink()


def _make_parent(folder: Path, root: Path) -> None:
    """Make the folder of all our copies. Raises InputError if it is in the knowledge base or open to other users."""
    copies = folder.parents[1]  # above the copy's own folder
    if copies.is_relative_to(root.resolve()):
        raise InputError("no-copy", f"A copy of {root} would be inside of it, in {copies}. Try: TMPDIR=DIR")
    make_folder(copies)
    info = copies.lstat()
    is_private = not hasattr(os, "getuid") or (info.st_uid == os.getuid() and not info.st_mode & 0o077)
    if not stat.S_ISDIR(info.st_mode) or not is_private:
        raise InputError("no-copy", f"{copies} is not ours alone: no copy can be made there. Try: TMPDIR=DIR")


def _export_commit(root: Path, commit: str, folder: Path) -> None:
    """Write the files of the root at a commit, by an index of their own: the repository stays as it is."""
    prefix = (git(root, "rev-parse", "--show-prefix") or "").strip()
    tree = f"{commit}:{prefix}" if prefix else commit
    top = Path((git(root, "rev-parse", "--show-toplevel") or str(root)).strip())  # where the paths of an index begin
    index = folder.with_name(folder.name + ".index")
    try:
        for arguments in (("read-tree", tree), ("checkout-index", "--all", f"--prefix={folder}/")):
            added = {"GIT_INDEX_FILE": str(index)}
            ran = run_git(top, *arguments, seconds=_CHECK_OUT_SECONDS, output_bytes=1_000_000, added=added)
            if ran.code != 0:
                why = ran.err.decode("utf-8", "replace").strip() or "git did not finish"
                raise InputError("no-such-version", f"{root} cannot be checked out at {commit[:12]}: {why}")
    finally:
        index.unlink(missing_ok=True)


def _remove_links_out(copy: Path) -> None:
    """Remove links that lead out of a copy: a commit may have links to anywhere, and git makes them."""
    walk = Walk(copy)
    deque(walk, maxlen=0)  # the walk finds the links on its way
    for link in walk.outside:
        os.unlink(link)


def _belonging(root: Path) -> list[str]:
    """Return the files that git tracks (with submodules) or would track; without git, all that tools did not make."""
    if git(root, "rev-parse", "--git-dir") is None or git(root, "check-ignore", "-q", ".") is not None:
        walk = Walk(root, ignored=IGNORED_FOLDERS)  # not in git, or in a part of a repository that it ignores
        return [os.path.relpath(entry.path, root) for entry in walk]
    return [*_listed(root, "--cached", "--recurse-submodules"), *_listed(root, "--others", "--exclude-standard")]


def _listed(root: Path, *options: str) -> list[str]:
    return [path for path in (git(root, "ls-files", "-z", *options) or "").split("\0") if path]
