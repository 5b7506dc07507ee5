"""`forget` from beginning to end: select, erase from every store, and prove it by a search of what is left.

The list of forgotten sessions is written first (`store/retention.py`), so that nothing comes back while the rest is
erased; the next call finishes a call that was killed.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import msgspec

from knowbound.agent.hook import log as hook_log
from knowbound.config import Settings
from knowbound.errors import InputError, StoreError
from knowbound.evals.knowledge import knowledge_globs
from knowbound.evals.variants import Copies
from knowbound.files import Walk
from knowbound.injection.late import context_of_file
from knowbound.injection.log import tidy
from knowbound.injection.prompt import CONTEXTS, context_file_name
from knowbound.injection.session_start import SUGGESTIONS_FILE, keep_suggestions, load_suggestions
from knowbound.judge.labels import LABEL_FILES
from knowbound.kms.changes import write_lock
from knowbound.kms.opening import open_shared_log
from knowbound.kms.quality_log import DISCOVERY, LOG, KeptDocument
from knowbound.store import data_dir
from knowbound.store.database import Database
from knowbound.store.erasing import (
    Erased,
    ErasureScope,
    erase_databases,
    kept_records,
    select_runs,
    select_sessions,
    task_of,
    texts_in,
)
from knowbound.store.judges import HEDGING_FILE, TURNS_FILE
from knowbound.store.retention import Forgotten, blank_lines, load_forgotten, sessions_in
from knowbound.text.clock import utc_now
from knowbound.user_files import PRIVATE_FILE, state_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.kms.team_log import MongoQualityLog


# Files about the whole project: the index of its source tree, the hook's settings, the suggestions that sessions start
# with, decided proposals, figures about judges, the demo.
_CODEBASE = tuple(f"{data_dir.CODEBASE}{ending}" for ending in ("", "-wal", "-shm"))
_CACHES = (*_CODEBASE, "hook.json", SUGGESTIONS_FILE, "drafts.json", HEDGING_FILE, TURNS_FILE, "demo")
_DAY_LOGS = (data_dir.INJECTIONS, data_dir.RESCUES, data_dir.ENDED, data_dir.STOP_CHECKS)


class Selection(msgspec.Struct, frozen=True):
    """The selection to forget: exactly one of these fields."""

    sessions: tuple[str, ...] = ()
    project: str = ""  # a folder
    before: str = ""  # ISO, UTC
    everything: bool = False


class ForgetReport(msgspec.Struct, frozen=True):
    """Counts of what was or would be erased, what was not touched, and the proof."""

    home: str
    sessions: int
    erased: dict[str, int]
    not_touched: list[str]
    proof: Searched | None = None  # None in a preview


def forget(selection: Selection, settings: Settings, *, is_preview: bool = False) -> ForgetReport:
    """Erase the selection and prove it; a preview only reports what would be erased."""
    home = settings.home
    if not home.is_dir():
        raise InputError("nothing-kept", f"There is no data folder {home}: nothing is kept about this project.")
    with _no_evaluation_runs(home), _shared_log(settings) as shared:
        if (home / data_dir.INDEX).exists():
            Database(home / data_dir.INDEX).close()  # moves what an earlier version left there into the log
        tidy(home, settings.injection_log_days)
        scope, sessions = _scope(selection, settings)
        if not is_preview:
            scope.forgotten.keep(home)
            shutil.rmtree(home / data_dir.RECEIPTS, ignore_errors=True)  # printed reports, to be printed again
        erased = Erased(texts=set(selection.sessions))  # searched for in any case
        if shared:
            _erase_shared(shared, scope, erased, is_preview)
        if settings.cluster_mongo_url:
            from knowbound.kms.team_results import RESULT, MongoResults  # noqa: PLC0415

            with closing(MongoResults(settings.cluster_mongo_url)) as results:
                erased_results = results.erase(scope.forgotten.has_session, preview=is_preview)
            erased.add(f"MongoDB: {RESULT}", erased_results)
        files = _FileEraser(settings, scope, erased, is_preview)
        files.erase_run_folders()  # while the databases still have the times of the runs
        files.erase_lines()
        files.erase_contexts()
        files.erase_caches()
        files.erase_suggestions()
        with write_lock(home):
            erase_databases(home, scope, erased, preview=is_preview)
        proof = None
        if not is_preview:
            # The ids are also names of files. We write below the data folder, our state and the agents' copies alone.
            searched = {*erased.texts, *sessions, *(context_file_name(id_) for id_ in sessions)}
            folders = [home, Path(state_folder()), Copies(home, home, ()).folder("this").parents[1]]
            documents = shared.documents(partial(_is_in_scope, scope)) if shared else ()
            prefix = f"{shared.place}: " if shared else ""
            named_documents = ((prefix + collection, content, is_gone) for collection, content, is_gone in documents)
            proof = search_for(searched, folders, _remaining_records(home), named_documents)
    return ForgetReport(
        home=str(home),
        sessions=len(set(sessions)),
        erased=dict(sorted(erased.counts.items())),
        not_touched=_not_touched(settings),
        proof=proof,
    )


def _scope(selection: Selection, settings: Settings) -> tuple[ErasureScope, list[str]]:
    """Return the scope with the ids of its sessions, stored and named ones."""
    forgotten = load_forgotten(settings.home) or Forgotten()
    scope = ErasureScope(
        forgotten,
        before=selection.before,
        project=selection.project,
        everything=selection.everything,
        is_own_project=selection.project == str(settings.root) and settings.home == settings.root / ".knowbound",
    )
    sessions = [*selection.sessions, *select_sessions(settings.home, scope)]
    for id_ in sessions:
        forgotten.add_session(id_)
    if selection.project:
        forgotten.add_project(selection.project)
    if selection.before or selection.everything:
        forgotten.add_before(selection.before or utc_now())
    runs = select_runs(settings.home, scope).runs
    # Only a search for its prompt finds the folder of such a run.
    without_trace = [run.prompt for run in runs if not run.trace]
    paths = (*(run.trace for run in runs), *files_with([*sessions, *without_trace], [settings.home / data_dir.EVALS]))
    scope.tasks = frozenset(filter(None, map(task_of, paths)))  # names of folders below evals/
    return scope, sessions


class _FileEraser:
    """Erases files and lines of a scope from the data folder; a preview only counts them."""

    def __init__(self, settings: Settings, scope: ErasureScope, erased: Erased, is_preview: bool) -> None:
        self._settings, self._home = settings, settings.home
        self._scope, self._erased, self._is_preview = scope, erased, is_preview
        self._is_whole = scope.everything or scope.is_own_project

    def erase_lines(self) -> None:
        """Erase lines of the hooks' logs and queue, and of labels, in place."""
        for store in _DAY_LOGS:
            for path in data_dir.day_files(self._home, store):
                self._erase_lines_of(path, store)
        for name in LABEL_FILES:
            self._erase_lines_of(self._home / name, name)
        for name in (hook_log.NAME, hook_log.NAME + ".1"):
            self._erase_lines_of(self._home / name, hook_log.NAME)
            self._erase_lines_of(Path(state_folder()) / name, hook_log.NAME, home=str(self._home))

    def _erase_lines_of(self, path: Path, store: str, home: str = "") -> None:
        """Erase the lines in scope from a file; with `home`, only lines of that data folder."""

        def is_in_scope(line: bytes) -> bool:
            fields = hook_log.json_object(line)
            if home and fields.get("home") != home:
                return False
            is_in_time = self._scope.has_record(_text_field(fields, "time"))
            return is_in_time or any(map(self._scope.has_session, sessions_in(line)))

        for line in blank_lines(path, is_in_scope, preview=self._is_preview):
            fields = hook_log.json_object(line)
            text_fields = ("session", "prompt", "query", "text", "context", "note", "answer", "response")
            self._erased.add(store, 1, *(_text_field(fields, name) for name in text_fields))

    def erase_contexts(self) -> None:
        """Erase a session's lists of items and late choices; a sub-agent's context begins with the session's id."""
        folders = [folder for name in (CONTEXTS, data_dir.LATE) if not (folder := self._home / name).is_symlink()]
        for path in sorted(path for folder in folders for path in folder.glob("*")):
            parts = _context_of(context_of_file(path.name)).split("-")
            sessions = ("-".join(parts[:end]) for end in range(len(parts), 0, -1))
            if self._scope.has_record(_modified_at(path)) or any(map(self._scope.has_session, sessions)):
                self._remove(path, path.parent.name)

    def erase_caches(self) -> None:
        """Erase whole files; a damaged index that `kms sync` put aside cannot be erased in parts."""
        # Most of their entries name no session.
        caches = [self._home / name for name in _CACHES] if self._is_whole else []
        for path in (*caches, *sorted(self._home.glob(f"{data_dir.INDEX}.damaged*"))):
            if path.exists():
                self._remove(path, path.name)

    def erase_suggestions(self) -> None:
        """Erase suggestions that quote a forgotten session."""
        if self._is_whole:
            return  # the whole file is erased
        shown, has_record = load_suggestions(str(self._home)), self._scope.has_record
        in_scope = [quote for quote in shown if quote.session and has_record(quote.date, quote.session)]
        for quote in in_scope:
            self._erased.add(SUGGESTIONS_FILE, 1, quote.session, quote.draft)
        if in_scope and not self._is_preview:
            keep_suggestions(str(self._home), [quote for quote in shown if quote not in in_scope])

    def erase_run_folders(self) -> None:
        """Erase prompts, outputs and traces of evaluations, and the copies that their agents worked in."""
        selected, folders = select_runs(self._home, self._scope), self._home / data_dir.EVALS
        for folder in sorted(path for path in folders.glob("*") if path.name.isdecimal()):
            # A folder whose run the database does not know.
            is_left_over = int(folder.name) not in selected.known and self._scope.has_record(_modified_at(folder))
            if int(folder.name) in selected.folders or is_left_over:
                if not self._is_preview:
                    Copies(folder, self._home, knowledge_globs(self._settings.knowledge)).drop()
                self._remove(folder, f"{data_dir.EVALS}/")
        for task in sorted(self._scope.tasks):
            if (folders / task).is_dir():
                self._remove(folders / task, f"{data_dir.EVALS}/")

    def _remove(self, path: Path, store: str) -> None:
        """Remove a file or folder and count it; a preview only counts."""
        self._erased.add(store, 1)
        if self._is_preview:
            return
        try:
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise StoreError("store-unwritable", f"Cannot erase {path}: {error.strerror or error}.") from error


@contextmanager
def _shared_log(settings: Settings) -> Iterator[MongoQualityLog | None]:
    """Open the log of a team; if it does not answer, nothing is erased, because it could not be searched."""
    log = open_shared_log(settings)
    try:
        yield log
    finally:
        if log:
            log.close()


def _erase_shared(log: MongoQualityLog, scope: ErasureScope, erased: Erased, is_preview: bool) -> None:
    """Erase measured turns, and the words of their sessions in warranted corrections (docs/privacy.md).

    Records of other data folders are erased only for named sessions; records of this data folder in the whole scope.
    """
    gone = log.erase(partial(_is_in_scope, scope), preview=is_preview)
    for turn in gone.turns:
        erased.add(f"MongoDB: {LOG}", 1, *texts_in(turn))
    for record in gone.records:
        erased.add(f"MongoDB: words in {DISCOVERY}", 1, record.session_id, record.statement)


def _is_in_scope(scope: ErasureScope, document: KeptDocument) -> bool:
    return bool(document.session) and scope.has_shared_record(document.session, document.time, is_own=document.is_own)


@contextmanager
def _no_evaluation_runs(home: Path) -> Iterator[None]:
    """Hold the locks of all evaluations: a running evaluation would write the erased data again."""
    from filelock import FileLock, Timeout  # noqa: PLC0415  (takes 0.1 s to import)

    with ExitStack() as locks:
        for lock in sorted((home / data_dir.EVALS).glob("*.lock")):
            try:
                locks.enter_context(FileLock(lock, mode=PRIVATE_FILE).acquire(blocking=False))
            except Timeout:
                raise InputError(
                    "eval-running", f"An evaluation is running ({lock}). Nothing was erased. Wait until it has ended."
                ) from None
        yield


# What is left


def _remaining_records(home: Path) -> Iterator[bytes]:
    """Yield records that stay and may repeat an erased text: those of other sessions, and items."""
    yield from kept_records(home)
    logs = (path for store in _DAY_LOGS for path in data_dir.day_files(home, store))
    for path in (*(home / name for name in LABEL_FILES), *logs):
        with suppress(OSError):
            yield path.read_bytes()


def _not_touched(settings: Settings) -> list[str]:
    """Return sentences about what is not ours to erase."""
    sentences = ["the agents' own transcripts: forgotten sessions in them are not read again"]
    if (settings.home / data_dir.ITEMS).exists() or settings.kms_backends != ("sqlite",):
        sentences.append(f"items of the knowledge store ({', '.join(settings.kms_backends)}): knowbound kms delete ID")
    if "mongo" in settings.kms_backends:
        sentences.append(
            "what MongoDB itself keeps of erased turns (journal, oplog, backups), and turns of other data folders"
        )
    if (Path(state_folder()) / "installed").is_dir():
        sentences.append("backups of agents' settings: knowbound uninstall gives them back")
    drafts = [path.name for path in settings.root.glob("eval-samples*") if path.is_file()]
    if drafts:
        sentences.append(f"your samples files, which may quote prompts: {', '.join(sorted(drafts))}")
    return sentences


def _context_of(name: str) -> str:
    """Return the context of a file, cut if the id was too long for a name."""
    data, dot, _ = name.partition(".")
    try:
        return bytes.fromhex(data).decode("utf-8", "replace") if dot else name
    except ValueError:
        return name


def _modified_at(path: Path) -> str:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _text_field(fields: dict[str, object], name: str) -> str:
    value = fields.get(name)
    return value if isinstance(value, str) else ""


# A search of files and documents for many texts in one pass: the proof of `forget`.


_WINDOW_BYTES = 8  # content is read in these steps, so each piece needs a window for each of its first offsets
_SHORTEST_PIECE = 2 * _WINDOW_BYTES - 1  # bytes: has a whole step wherever it begins; a shorter text may be chance
_PIECE_BYTES = 48


class FileOccurrences(msgspec.Struct, frozen=True):
    """A file that still has some of the texts, and their number."""

    file: str
    texts: int


class Searched(msgspec.Struct, frozen=True):
    """The extent of a search, and what it found."""

    texts: int
    files: int
    bytes: int
    left: list[FileOccurrences] = []
    unreadable: list[str] = []
    documents: int = 0


def search_for(
    texts: Iterable[str],
    places: Iterable[Path],
    kept: Iterable[bytes],
    documents: Iterable[tuple[str, bytes, bool]] = (),
) -> Searched:
    """Search the names and bytes of all files below the places, and documents of stores that others write to, too.

    A text that `kept` records have too is no occurrence; nor is one in a document that was not to be erased.
    """
    wanted = _Pieces(texts)
    pieces_by_place: dict[str, set[bytes]] = {}
    unreadable: list[str] = []
    explained: set[bytes] = set()
    file_count = byte_count = document_count = 0
    for place, path in _files_below(places):
        try:
            content = _mapped(path)
        except FileNotFoundError:
            continue
        except OSError:
            unreadable.append(path)
            continue
        file_count, byte_count = file_count + 1, byte_count + len(content)
        name = os.fsencode(os.path.relpath(path, place))
        if pieces_here := {*wanted.found_in(content), *wanted.found_in(name)}:
            pieces_by_place[path] = pieces_here
    for collection, content, is_gone in documents:
        document_count, byte_count = document_count + 1, byte_count + len(content)
        if pieces_here := set(wanted.found_in(content)):
            (pieces_by_place.setdefault(collection, set()) if is_gone else explained).update(pieces_here)
    explained.update(piece for record in (kept if pieces_by_place else ()) for piece in wanted.found_in(record))
    unexplained = {place: pieces - explained for place, pieces in sorted(pieces_by_place.items())}
    left = [FileOccurrences(file=place, texts=len(pieces)) for place, pieces in unexplained.items() if pieces]
    return Searched(
        texts=len(wanted.pieces),
        files=file_count,
        bytes=byte_count,
        left=left,
        unreadable=unreadable,
        documents=document_count,
    )


def files_with(texts: Iterable[str], places: Iterable[Path]) -> Iterator[str]:
    """Yield the files that have one of the texts."""
    wanted = _Pieces(texts)
    for _, path in _files_below(places) if wanted.pieces else ():
        try:
            content = _mapped(path)
        except OSError:
            continue
        if any(True for _ in wanted.found_in(content)):
            yield path


def _files_below(places: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    for place in places:
        yield from ((place, entry.path) for entry in Walk(place))


def _mapped(path: str) -> bytes | mmap.mmap:
    with open(path, "rb") as file:
        if not os.fstat(file.fileno()).st_size:  # cannot be mapped
            return b""
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


class _Pieces:
    """The pieces of texts, found by windows of 8 bytes with their places in the pieces and the pieces' lengths."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.pieces: set[bytes] = set()
        self._windows: dict[bytes, set[tuple[int, int]]] = {}
        for text in texts:
            for form in {text, json.dumps(text)[1:-1]}:  # as it is, and inside JSON
                self.pieces.update(piece for piece in _pieces(form) if len(piece) >= _SHORTEST_PIECE)
        for piece in self.pieces:
            for at in range(_WINDOW_BYTES):  # found_in reads in steps of a window: one of these meets it
                self._windows.setdefault(piece[at : at + _WINDOW_BYTES], set()).add((at, len(piece)))

    def found_in(self, content: bytes | mmap.mmap) -> Iterator[bytes]:
        """Yield each piece as often as it occurs."""
        for start in range(0, len(content), _WINDOW_BYTES):
            for at, length in self._windows.get(content[start : start + _WINDOW_BYTES], ()):
                if start >= at and (piece := content[start - at : start - at + length]) in self.pieces:
                    yield piece


def _pieces(text: str) -> tuple[bytes, ...]:
    """Return a short text whole, of a long one its beginning, middle and end."""
    data = text.encode("utf-8", "replace")
    if len(data) <= _PIECE_BYTES:
        return (data,)
    middle = (len(data) - _PIECE_BYTES) // 2
    return data[:_PIECE_BYTES], data[middle : middle + _PIECE_BYTES], data[-_PIECE_BYTES:]
