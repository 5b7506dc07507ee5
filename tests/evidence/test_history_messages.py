"""History by commit messages: the specific word decides, the best commit comes first, what nobody did is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Quality
from knowbound.evidence.producers.git import GitLog
from knowbound.evidence.producers.history import HistoryKind, distinctive_words, read_history_question
from knowbound.evidence.producers.protocol import Ask, CallLimits, Context
from tests.evidence.test_producer_git import commit, copied, git

LOG = (
    ("Start", "main.py", "x = 1\n"),
    ("Add gzip compression", "pack.py", "gzip = 1\n"),
    ("Prepare the response compression", "pack.py", "gzip = 2\n"),
    ("Add zstd compression to responses", "pack.py", "zstd = 1\n"),
    ("Fix zstd compression of empty bodies", "pack.py", "zstd = 2\n"),
    ("Add a dry run: --dry-run prints what it would do", "cli.py", "dry = 1\n"),
    ("Replace requests with httpx", "http.py", "import httpx\n"),
    ("Drop Python 2", "setup.py", "python = 3\n"),
    ("Raise the timeout", "http.py", "import httpx\ntimeout = 60\n"),
    ("Fix the leak of sockets in the pool", "pool.py", "pool = 1\n"),
    ("Document the pool", "pool.py", "pool = 2\n"),
)
LATER = (
    ("redirect defaults to 303", "http.py", "import httpx\ntimeout = 60\nredirect = 303\n"),
    ("Tidy up", "limits.py", "pool = 2\nMaxIdle = 5\n"),
    ("Use one name for limits", "limits.py", "pool = 2\nMaxSpare = 5\n"),
    ("Add the retry queue", "retry.py", "RetryQueue = 1\n"),
    ("Add a limit to the retry queue\n\n* remove a check of the retry queue", "retry.py", "RetryQueue = 2\n"),
    ("Introduce the Route Helper", "route.py", "route = 1\n"),
)


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    git(root, "init", "--quiet", "--initial-branch=main")
    for day, (message, path, text) in enumerate(LOG, 1):
        (root / path).write_text(text)
        commit(root, message, f"2026-01-{day:02}T12:00:00Z")
        if message.startswith("Fix zstd"):
            git(root, "tag", "v2.0.0")
    git(root, "tag", "v2.1.0")
    return root


@pytest.fixture(scope="module")
def _made_longer(_made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = copied(_made, tmp_path_factory.mktemp("longer"))
    for day, (message, path, text) in enumerate(LATER, 1):
        (root / path).write_text(text)
        commit(root, message, f"2026-02-{day:02}T12:00:00Z")
    return root


@pytest.fixture
def repository(_made: Path, tmp_path: Path) -> Path:
    return copied(_made, tmp_path)


@pytest.fixture
def longer(_made_longer: Path, tmp_path: Path) -> Path:
    return copied(_made_longer, tmp_path)


def asked(question: str, root: Path, limits: CallLimits | None = None) -> Evidence:
    ask = Ask(EvidenceClass.GIT_LOG, "", Intent.STATUS, question)
    return GitLog().produce(ask, Context(root, limits=limits or CallLimits()))


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("when was support for zstd compression introduced", "Add zstd compression to responses"),
        ("which commit fixed zstd", "Fix zstd compression of empty bodies"),
        ("when was the --dry-run option added?", "Add a dry run: --dry-run prints what it would do"),
        ("which commit replaced requests with httpx", "Replace requests with httpx"),
        ("when did we drop python 2", "Drop Python 2"),
        ("why was the timeout raised to 60", "Raise the timeout"),
        ("who fixed the leak of sockets", "Fix the leak of sockets in the pool"),
        ("who last touched pool.py and what did they change", "Document the pool"),
    ],
)
def test_the_best_commit_comes_first(question: str, first: str, repository: Path) -> None:
    entry = asked(question, repository)
    assert (entry.quality, entry.places[0].symbol) == (Quality.STRONG, first), entry.note


@pytest.mark.parametrize(
    "question",
    [
        "when was brotli compression introduced",  # compression is there, brotli is nowhere
        "when was the --watch option removed",
        "which commit fixed the leak of threads in the pool",
        "when was the MongoDB backend dropped?",
        "why was the timeout raised to 90",
    ],
)
def test_what_the_history_does_not_know_is_refused(question: str, repository: Path) -> None:
    entry = asked(question, repository)
    assert entry.quality is Quality.NONE, entry.note


def test_a_refusal_names_the_nearest_commit_and_the_words_that_it_lacks(repository: Path) -> None:
    note = asked("which commit fixed the leak of threads in the pool", repository).note
    assert note.startswith("no commit is about 'leak threads pool'; nearest is ")
    assert note.endswith(" Ada: Fix the leak of sockets in the pool, which says nothing of threads")


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("what changed since v2", "6 commits since v2 (v2.0.0)"),
        ("what changed between v2.0.0 and v2.1.0", "6 commits between v2.0.0 and v2.1.0"),
    ],
)
def test_a_short_name_of_a_release_is_its_first_tag(question: str, says: str, repository: Path) -> None:
    assert asked(question, repository).note.startswith(says)


def test_a_time_out_is_called_a_time_out(repository: Path) -> None:
    entry = asked("when was brotli added", repository, CallLimits(call_seconds=0.0))
    assert entry.quality is Quality.NONE
    assert "in time" in entry.note
    assert "no commit" not in entry.note


def test_an_option_is_a_term_as_it_is_written() -> None:
    question = read_history_question("when was --dry-run introduced?")
    assert (question.kind, question.subject, question.words) == (HistoryKind.ADDED, "--dry-run", ("--dry-run",))
    assert distinctive_words("support for Python 3.8 in `parse_args()`") == ("Python", "3.8", "parse_args")


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("who last touched http.py and what did they change", "redirect defaults to 303"),
        ("when did redirect() start using 303 by default", "redirect defaults to 303"),
        ("since when does it have zstd compression", "Add zstd compression to responses"),
        ("which commit introduced the Route Helper", "Introduce the Route Helper"),
    ],
)
def test_what_was_done_may_be_said_anywhere(question: str, first: str, longer: Path) -> None:
    entry = asked(question, longer)
    assert (entry.quality, entry.places[0].symbol) == (Quality.STRONG, first), entry.note


@pytest.mark.parametrize(
    "question",
    [
        "when did redirect() start using 308 by default",
        "which commit taught the pool to speak HTTP/2",
        "which commit renamed zstd to lz4",
        "when was gzip compression deprecated",  # there is much about it, and no word of that
    ],
)
def test_what_was_done_must_have_been_done(question: str, longer: Path) -> None:
    entry = asked(question, longer)
    assert entry.quality is Quality.NONE, entry.note


def test_a_part_that_an_addition_removes_is_no_removal_of_the_thing(longer: Path) -> None:
    entry = asked("when was the retry queue removed?", longer)
    assert entry.quality in (Quality.NONE, Quality.WEAK), entry.note


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("what changed in http.py since v2.0.0", "3 commits since v2.0.0 about http.py, the last one"),
        ("what changed around the leak of sockets since 2.0", "1 commit since 2.0 (v2.0.0) about leak sockets"),
    ],
)
def test_since_a_release_is_about_the_thing_that_is_named(question: str, says: str, longer: Path) -> None:
    assert asked(question, longer).note.startswith(says), asked(question, longer).note


def test_nothing_about_the_thing_since_then_is_refused(longer: Path) -> None:
    entry = asked("what changed around brotli since v2.0.0", longer)
    assert entry.quality is Quality.NONE, entry.note


def test_a_release_is_found_behind_the_name_of_the_project(longer: Path) -> None:
    git(longer, "tag", "Packer-7.1.0", "HEAD~1")
    assert asked("what changed since 7.1.0", longer).note.startswith("1 commit since 7.1.0 (Packer-7.1.0)")
