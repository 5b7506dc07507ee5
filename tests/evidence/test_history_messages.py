"""History by commit messages: the telling word decides, the best commit comes first, what nobody did is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Quality
from knowbound.evidence.producers.git import GitLog
from knowbound.evidence.producers.protocol import Ask, CallLimits, Context
from knowbound.evidence.question.history import HistoryKind, read_history_question, telling_words
from tests.evidence.test_producer_git import commit, git

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


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for day, (message, path, text) in enumerate(LOG, 1):
        (tmp_path / path).write_text(text)
        commit(tmp_path, message, f"2026-01-{day:02}T12:00:00Z")
        if message.startswith("Fix zstd"):
            git(tmp_path, "tag", "v2.0.0")
    git(tmp_path, "tag", "v2.1.0")
    return tmp_path


def asked(question: str, root: Path, limits: CallLimits | None = None) -> Evidence:
    ask = Ask(EvidenceClass.GIT_LOG, "", Intent.STATUS, question)
    (entry,) = GitLog().produce(ask, Context(root, limits=limits or CallLimits()))
    return entry


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
        ("recent work on the pool", "Document the pool"),
        ("recent work on zstd", "Fix zstd compression of empty bodies"),
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


def test_the_release_is_named_where_it_is_asked_for(repository: Path) -> None:
    assert asked("in which release was zstd compression added", repository).note.endswith(
        "first released in v2.0.0; 1 other mentions it"
    )


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
    assert telling_words("support for Python 3.8 in `parse_args()`") == ("Python-3.8", "parse_args")
