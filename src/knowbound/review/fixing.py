"""Carries an action out: changes files or an item, remembers what was there, and takes it back.

Files are written under a lock, after a record of what will be written: a process that was killed in between is finished
by the next one. Nothing is written unless every file is still the one that the shown diff was made from.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.lesson import LessonStatus
from knowbound.errors import InputError
from knowbound.files import FilePatch, check_patches, moved_to, read_below, write_patches
from knowbound.git import run_git
from knowbound.kms.opening import open_knowledge_store, sync_files
from knowbound.kms.validation import ItemEdit
from knowbound.lessons.applying import decide, mark_written
from knowbound.review.proposing import line_fix
from knowbound.review.review import SCREEN, Reviewed
from knowbound.store.decisions import DecidedFix, Fix, FixState, KeptLessons, Screens
from knowbound.text.clock import utc_now
from knowbound.user_files import PRIVATE_FILE, make_folder

_WAITING = (LessonStatus.NEW, LessonStatus.ACCEPTED, LessonStatus.STALE)
_GIT_SECONDS, _GIT_BYTES = 20.0, 200_000  # of one command
_MODE_OF_NEW_FILE = "100644"  # git's: readable, not executable


def known_fixes(settings: Settings) -> tuple[Reviewed | None, dict[str, DecidedFix]]:
    """Return the newest screen, and every decision by the id of its action. Finishes what a killed process began."""
    with _locked(settings.home), closing(Screens(settings.home)) as screens:
        decided = {decision.fix.id: decision for decision in screens.fixes()}
        for decision in decided.values():
            if decision.state is FixState.PENDING:
                decided[decision.fix.id] = _finish_writing(decision, settings, screens)
        return screens.newest(SCREEN, Reviewed), decided


def _finish_writing(decision: DecidedFix, settings: Settings, screens: Screens) -> DecidedFix:
    """Write the files that a killed process did not come to; a file that has changed since stays as it is."""
    root = settings.root
    write_patches(root, [patch for patch in decision.fix.patches if read_below(root, patch.path) == patch.before])
    _mark_line_written(decision.fix, decision.time, settings)
    screens.keep_fix(decision.fix, FixState.APPLIED, decision.time)
    return DecidedFix(decision.fix, FixState.APPLIED, decision.time)


def line_of(id_: str, settings: Settings) -> Fix | None:
    """Return the fix that writes the line of a lesson that waits for a person, or takes a stale line out."""
    with closing(KeptLessons(settings.home)) as kept:
        lessons = kept.lessons()
    lesson = next((lesson for lesson in lessons if lesson.id == id_ and lesson.status in _WAITING), None)
    if lesson is None:
        return None
    return line_fix(lesson, [other for other in lessons if other.project == lesson.project], settings)


def rejectable(id_: str, reviewed: Reviewed | None) -> Fix | None:
    """Return the fix of a shown action, or for one without a repair a fix that changes nothing; None if not shown."""
    action = next((action for action in reviewed.actions if action.id == id_), None) if reviewed else None
    if reviewed is None or action is None:
        return None
    return reviewed.fixes.get(id_) or Fix(id_, action.title)


def current(fix: Fix, settings: Settings) -> Fix:
    """Return the fix for the files as they are now. Raises InputError if its lines have changed since."""
    if fix.lesson is not None and fix.is_written_line:  # its section is made anew from all written lines
        return line_of(fix.lesson.id, settings) or fix
    patches = []
    for patch in fix.patches:
        moved = moved_to(patch, read_below(settings.root, patch.path))
        if moved is None:
            raise InputError(
                "file-changed", f"The lines of {patch.path} changed since. Nothing was written. Try again: knowbound"
            )
        patches.append(moved)
    return replace(fix, patches=patches)


def apply_fix(fix: Fix, settings: Settings, by: str) -> None:
    """Carry out a fix as it was shown. Raises InputError, and then nothing is changed."""
    now = utc_now()
    if fix.item:
        with closing(open_knowledge_store(settings, by=by)) as store:
            successor = store.supersede(fix.item, by=ItemEdit(content=fix.content), note="knowbound fix").id
        fix = replace(fix, successor=successor)
    with _locked(settings.home), closing(Screens(settings.home)) as screens:
        check_patches(settings.root, fix.patches, f"knowbound fix {fix.id}")
        screens.keep_fix(fix, FixState.PENDING, now)
        write_patches(settings.root, fix.patches)
        _mark_line_written(fix, now, settings)
        screens.keep_fix(fix, FixState.APPLIED, now)
    sync_files(settings)


def _mark_line_written(fix: Fix, time: str, settings: Settings) -> None:
    """Remember that the line of a lesson is written, so that `learn` watches it."""
    if fix.is_written_line and fix.lesson is not None:
        mark_written(fix.lesson, time, fix.patches, settings.home)


def reject_fix(fix: Fix, settings: Settings) -> None:
    """Remember that a person does not want this action."""
    if fix.lesson is not None and fix.lesson.id == fix.id:  # a repair has a lesson of another id, only to be watched
        decide(fix.lesson, LessonStatus.REJECTED, settings.home)
    with closing(Screens(settings.home)) as screens:
        screens.keep_fix(fix, FixState.REJECTED, utc_now())


def restore_fix(decision: DecidedFix, settings: Settings) -> None:
    """Show a rejected action again."""
    if decision.fix.lesson is not None and decision.fix.lesson.id == decision.fix.id:
        decide(decision.fix.lesson, LessonStatus.NEW, settings.home)
    with closing(Screens(settings.home)) as screens:
        screens.keep_fix(decision.fix, FixState.UNDONE, utc_now())


def undo_of(decision: DecidedFix, settings: Settings) -> list[FilePatch]:
    """Return the changes that take a fix back. Raises InputError with the reverse diff if its lines changed since."""
    patches = []
    for patch in decision.fix.patches:
        back = moved_to(patch.reversed(), read_below(settings.root, patch.path))
        if back is None:
            raise InputError(
                "undo-refused",
                f"The lines of {patch.path} changed since the fix. Nothing was written. By hand:\n"
                + patch.reversed().diff(),
            )
        patches.append(back)
    return patches


def undo_fix(decision: DecidedFix, patches: list[FilePatch], settings: Settings, by: str) -> None:
    """Take a fix back as it was shown."""
    with _locked(settings.home), closing(Screens(settings.home)) as screens:
        check_patches(settings.root, patches, f"knowbound fix --undo {decision.fix.id}")
        write_patches(settings.root, patches)
        screens.keep_fix(decision.fix, FixState.UNDONE, utc_now())
        if decision.fix.is_written_line and decision.fix.lesson is not None:
            with closing(KeptLessons(settings.home)) as kept:
                kept.keep([replace(decision.fix.lesson, status=LessonStatus.NEW, applied=None)])
    sync_files(settings)
    if decision.fix.item:
        with closing(open_knowledge_store(settings, by=by)) as store:
            store.unflag(decision.fix.item)
            store.delete(decision.fix.successor, "knowbound fix --undo")


def commit_on_branch(fix: Fix, settings: Settings) -> str:
    """Commit the change on a branch of its own, without touching the work tree; return the branch. No hook runs."""
    branch = f"knowbound/fix-{fix.id}"
    make_folder(settings.home)
    index = settings.home / f".index-{os.getpid()}-{secrets.token_hex(4)}"
    draft = index.with_suffix(".blob")
    added = {"GIT_INDEX_FILE": str(index)}

    def git(*arguments: str) -> str:
        ran = run_git(settings.root, *arguments, seconds=_GIT_SECONDS, output_bytes=_GIT_BYTES, added=added)
        if ran.code != 0:
            why = ran.err.decode("utf-8", "replace").strip().splitlines()
            raise InputError("no-branch", f"git {arguments[0]} failed: {why[-1] if why else 'unknown'}.")
        return ran.out.decode("utf-8", "replace").strip()

    try:
        prefix = git("rev-parse", "--show-prefix")
        git("read-tree", "HEAD")
        for patch in fix.patches:
            path = f"{prefix}{patch.path}"
            draft.write_bytes(patch.before)
            entry = git("ls-tree", "--full-tree", "HEAD", "--", path).split()  # mode, type, hash, path; or nothing
            if patch.before and (not entry or entry[2] != git("hash-object", "--no-filters", str(draft))):
                raise InputError("no-branch", f"{patch.path} differs from the last commit. Commit it first.")
            draft.write_bytes(patch.after)
            blob = git("hash-object", "-w", "--no-filters", str(draft))
            git("update-index", "--add", "--cacheinfo", f"{entry[0] if entry else _MODE_OF_NEW_FILE},{blob},{path}")
        tree = git("write-tree")
        subject = f"Correct {', '.join(patch.path for patch in fix.patches[:2])}"[:65]
        commit = git("commit-tree", tree, "-p", git("rev-parse", "HEAD"), "-m", subject, "-m", fix.title)
        git("update-ref", f"refs/heads/{branch}", commit, "")  # only if there is no such branch
    finally:
        for path_ in (index, draft):
            path_.unlink(missing_ok=True)
    return branch


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold the lock of fixes: two at once wait for each other."""
    from filelock import FileLock  # noqa: PLC0415  (takes 0.1 s to import)

    make_folder(home)
    with FileLock(home / "fix.lock", mode=PRIVATE_FILE):
        yield
