"""What each tool finds for a question in one tree, how it grades that, and where a reader disagrees."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from knowbound.core.evidence import EvidenceClass, Place, Quality
from knowbound.evidence.plan import read_plan
from knowbound.evidence.producers.grep import Find, Grep
from knowbound.evidence.producers.passages import PassageSearch
from knowbound.evidence.producers.protocol import CallLimits, Context
from knowbound.evidence.producers.read import Read
from knowbound.evidence.producers.references import References
from tests.evidence.trees import ask_of, found, lines, tree


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tree(tmp_path_factory.mktemp("shop"))


def test_text_are_searched_and_graded(root: Path) -> None:
    cases: list[tuple[str, list[str]]] = [
        (
            "Where is ConnectionPool?",
            [
                "suits 6",
                "grep strong: 9 found, 9 exact, phrase; exact identifier, 9 times in 4 files",
                "pool/pool.py:7 ConnectionPool",
                "pool/uses.py:1 ConnectionPool",
                "pool/uses.py:5 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "app.log:1 ConnectionPool",
                "tests/test_pool.py:1 ConnectionPool",
                "tests/test_pool.py:5 ConnectionPool",
            ],
        ),
        (
            "Where is ConnectionPool defined?",
            [
                "suits 6",
                (
                    "grep moderate: 9 found, 9 exact, phrase; named here, not defined: exact identifier, "
                    "9 times in 4 files"
                ),
                "pool/pool.py:7 ConnectionPool",
                "pool/uses.py:1 ConnectionPool",
                "pool/uses.py:5 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "app.log:1 ConnectionPool",
                "tests/test_pool.py:1 ConnectionPool",
                "tests/test_pool.py:5 ConnectionPool",
            ],
        ),
        (
            "Who calls ConnectionPool?",
            [
                "suits 6",
                "grep strong: 9 found, 9 exact, phrase; exact identifier, 9 times in 4 files",
                "pool/uses.py:1 ConnectionPool",
                "pool/uses.py:5 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/pool.py:7 ConnectionPool",
                "app.log:1 ConnectionPool",
                "tests/test_pool.py:1 ConnectionPool",
                "tests/test_pool.py:5 ConnectionPool",
            ],
        ),
        (
            "Who calls lend?",
            [
                "suits 6",
                "grep strong: 4 found, 4 exact; exact word, 4 times in 3 files",
                "pool/uses.py:6",
                "pool/uses.py:7",
                "pool/pool.py:17",
                "docs/pool.md:3",
            ],
        ),
        (
            "Where is `pool.lend`?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact, phrase; exact identifier, 2 times in 1 file",
                "pool/uses.py:6 pool.lend",
                "pool/uses.py:7 pool.lend",
            ],
        ),
        (
            "Where is `ConnectionPool.lend`?",
            [
                "suits 6",
                "grep weak: 18 found, 0 exact; only single words of it",
                "pool/uses.py:0",
                "pool/pool.py:0",
                "config.yml:0",
                "docs/pool.md:0",
                "README.md:0",
                "tests/test_pool.py:0",
            ],
        ),
        (
            "Where is `Queue.push`?",
            ["suits 6", "grep weak: 5 found, 0 exact; only single words of it", "web/queue.js:0"],
        ),
        (
            "Where is `Missing.lend`?",
            ["suits 6", "grep weak: 3 found, 0 exact; only single words of it", "pool/uses.py:0", "pool/pool.py:0"],
        ),
        (
            "Where is `self.lend`?",
            ["suits 6", "grep weak: 8 found, 0 exact; only single words of it", "pool/pool.py:0", "pool/uses.py:0"],
        ),
        (
            "Where is `Queue.lend`?",
            [
                "suits 6",
                "grep weak: 6 found, 0 exact; only single words of it",
                "web/queue.js:0",
                "pool/uses.py:0",
                "pool/pool.py:0",
            ],
        ),
        (
            "Where is the connection pool?",
            [
                "suits 6",
                "grep strong: 9 found, 9 exact, phrase; exact phrase, 9 times in 4 files",
                "pool/pool.py:7 connection pool",
                "pool/uses.py:1 connection pool",
                "pool/uses.py:5 connection pool",
                "pool/uses.py:13 connection pool",
                "pool/uses.py:13 connection pool",
                "pool/uses.py:13 connection pool",
                "app.log:1 connection pool",
                "tests/test_pool.py:1 connection pool",
                "tests/test_pool.py:5 connection pool",
            ],
        ),
        (
            "Where is the retry budget?",
            [
                "suits 6",
                "grep strong: 1 found, 1 exact, phrase; exact phrase, 1 time in 1 file",
                "docs/pool.md:5 retry budget",
            ],
        ),
        (
            "Where is pool?",
            [
                "suits 6",
                "grep strong: 15 found, 15 exact; exact word, 15 times in 6 files",
                "pool/pool.py:13",
                "pool/uses.py:1",
                "pool/uses.py:1",
                "pool/uses.py:5",
                "pool/uses.py:6",
                "pool/uses.py:7",
                "pool/uses.py:8",
                "pool/uses.py:12",
                "config.yml:1",
                "config.yml:2",
                "docs/pool.md:1",
                "docs/pool.md:3",
                "README.md:3",
                "tests/test_pool.py:1",
                "tests/test_pool.py:1",
            ],
        ),
        (
            "Where is queue?",
            [
                "suits 6",
                "grep strong: 3 found, 3 exact; exact word, 3 times in 1 file",
                "web/queue.js:1",
                "web/queue.js:6",
                "web/queue.js:7",
            ],
        ),
        (
            "Where is Queue?",
            ["suits 6", "grep strong: 1 found, 1 exact; exact identifier, 1 time in 1 file", "web/queue.js:1 Queue"],
        ),
        (
            "Where is --dry-run?",
            [
                "suits 9",
                "grep strong: 2 found, 2 exact, phrase; exact option, 2 times in 1 file",
                "pool/options.py:2 --dry-run",
                "pool/options.py:3 --dry-run",
            ],
        ),
        (
            "Find --dry",
            [
                "suits 9",
                "grep moderate: 2 found, 0 exact; only as part of longer words",
                "pool/options.py:2 --dry",
                "pool/options.py:3 --dry",
            ],
        ),
        (
            'Where is "Pool is full, try again"?',
            [
                "suits 9",
                "grep strong: 1 found, 1 exact, phrase; exact text, 1 time in 1 file",
                "pool/uses.py:12 Pool is full, try again",
            ],
        ),
        (
            'Where is "pool is  full"?',
            [
                "suits 9",
                (
                    "grep strong: 2 found, 2 exact, phrase; the text in another case or over several "
                    "lines, 2 times in 2 files"
                ),
                "pool/pool.py:13 pool is  full",
                "pool/uses.py:12 pool is  full",
            ],
        ),
        (
            "Where is `pool_size`?",
            [
                "suits 6",
                "grep strong: 1 found, 1 exact, phrase; exact identifier, 1 time in 1 file",
                "pool/pool.py:18 pool_size",
            ],
        ),
        (
            "Where is LockError?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact, phrase; exact identifier, 2 times in 1 file",
                "pool/pool.py:2 LockError",
                "pool/pool.py:19 LockError",
            ],
        ),
        (
            "Where is LockError defined?",
            [
                "suits 6",
                (
                    "grep moderate: 2 found, 2 exact, phrase; named here, not defined: exact identifier, "
                    "2 times in 1 file"
                ),
                "pool/pool.py:2 LockError",
                "pool/pool.py:19 LockError",
            ],
        ),
        (
            "Where is LockError raised?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact, phrase; exact identifier, 2 times in 1 file",
                "pool/pool.py:2 LockError",
                "pool/pool.py:19 LockError",
            ],
        ),
        (
            "Where is LIMIT read?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact; exact identifier, 2 times in 1 file",
                "pool/pool.py:4 LIMIT",
                "pool/pool.py:10 LIMIT",
            ],
        ),
        (
            "Who uses LIMIT?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact; exact identifier, 2 times in 1 file",
                "pool/pool.py:4 LIMIT",
                "pool/pool.py:10 LIMIT",
            ],
        ),
        (
            "Where is the prefixwor?",
            [
                "suits 6",
                "grep weak: 12 found, 0 exact; only as part of longer words",
                "many.txt:1",
                "many.txt:1",
                "many.txt:2",
                "many.txt:2",
                "many.txt:3",
                "many.txt:3",
                "many.txt:4",
                "many.txt:4",
                "many.txt:5",
                "many.txt:5",
                "many.txt:6",
                "many.txt:6",
            ],
        ),
        ("Find PREFIXWOR", ["suits 6", "grep none: 0 found, 0 exact; no match"]),
        (
            "Find `refixword`",
            [
                "suits 6",
                "grep weak: 12 found, 0 exact; only as part of longer words",
                "many.txt:1 refixword",
                "many.txt:1 refixword",
                "many.txt:2 refixword",
                "many.txt:2 refixword",
                "many.txt:3 refixword",
                "many.txt:3 refixword",
                "many.txt:4 refixword",
                "many.txt:4 refixword",
                "many.txt:5 refixword",
                "many.txt:5 refixword",
                "many.txt:6 refixword",
                "many.txt:6 refixword",
            ],
        ),
        (
            "Find `refix`",
            [
                "suits 6",
                "grep weak: 12 found, 0 exact; only as part of longer words",
                "many.txt:1 refix",
                "many.txt:1 refix",
                "many.txt:2 refix",
                "many.txt:2 refix",
                "many.txt:3 refix",
                "many.txt:3 refix",
                "many.txt:4 refix",
                "many.txt:4 refix",
                "many.txt:5 refix",
                "many.txt:5 refix",
                "many.txt:6 refix",
                "many.txt:6 refix",
            ],
        ),
        (
            "Where is zebra?",
            [
                "suits 6",
                "grep moderate: 1 found, 1 exact; only in a changelog: exact word, 1 time in 1 file",
                "CHANGELOG.md:3",
            ],
        ),
        (
            "Where is the zebra striping?",
            [
                "suits 6",
                ("grep moderate: 1 found, 1 exact, phrase; only in a changelog: exact phrase, 1 time in 1 file"),
                "CHANGELOG.md:3 zebra striping",
            ],
        ),
        (
            "Where is only_here?",
            [
                "suits 6",
                "grep strong: 1 found, 1 exact, phrase; exact identifier, 1 time in 1 file",
                "tests/test_pool.py:6 only_here",
            ],
        ),
        (
            "Where is the replay journal?",
            [
                "suits 6",
                (
                    "grep moderate: 1 found, 1 exact, phrase; only in tests or in vendored code: exact "
                    "phrase, 1 time in 1 file"
                ),
                "tests/test_pool.py:5 replay journal",
            ],
        ),
        (
            "Where is vendored_thing defined?",
            [
                "suits 6",
                (
                    "grep moderate: 1 found, 1 exact, phrase; named here, not defined: exact identifier, "
                    "1 time in 1 file"
                ),
                "vendor/lib.py:1 vendored_thing",
            ],
        ),
        (
            "Where is timeout defined?",
            [
                "suits 6",
                ("grep moderate: 2 found, 2 exact; named here, not defined: exact identifier, 2 times in 1 file"),
                "pool/pool.py:17 timeout",
                "pool/pool.py:19 timeout",
            ],
        ),
        ("Where is pool.py?", ["suits 0"]),
        (
            "Where is pool/?",
            [
                "suits 6",
                "grep strong: 15 found, 15 exact; exact word, 15 times in 6 files",
                "pool/pool.py:13",
                "pool/uses.py:1",
                "pool/uses.py:1",
                "pool/uses.py:5",
                "pool/uses.py:6",
                "pool/uses.py:7",
                "pool/uses.py:8",
                "pool/uses.py:12",
                "config.yml:1",
                "config.yml:2",
                "docs/pool.md:1",
                "docs/pool.md:3",
                "README.md:3",
                "tests/test_pool.py:1",
                "tests/test_pool.py:1",
            ],
        ),
        ("Where is ool.py?", ["suits 0"]),
        ("Where is uses.rb?", ["suits 0"]),
        ("Where is the retry_budget.py file?", ["suits 0"]),
        (
            "Where is lend in pool/uses.py?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact; exact word, 2 times in 1 file",
                "pool/uses.py:6",
                "pool/uses.py:7",
            ],
        ),
        (
            "Where is lend in none.py?",
            ["suits 6", "grep none: 0 found, 0 exact; the file that it should be in is not there"],
        ),
        ("Where is budget spent in retry_budget.py?", ["suits 0"]),
        ("Where is LockErrr?", ["suits 6", "grep none: 0 found, 0 exact; no match"]),
        ("Where is conectionpool?", ["suits 6", "grep none: 0 found, 0 exact; no match"]),
        (
            "Where is CONNECTIONPOOL?",
            [
                "suits 6",
                "grep weak: 9 found, 0 exact; only parts of it",
                "pool/uses.py:0",
                "pool/pool.py:0",
                "app.log:0",
                "tests/test_pool.py:0",
            ],
        ),
        (
            "Where is drain_queue?",
            ["suits 6", "grep weak: 3 found, 0 exact; only single words of it", "web/queue.js:0"],
        ),
        (
            "Where is the drain queue?",
            [
                "suits 6",
                "grep strong: 1 found, 1 exact, phrase; exact phrase, 1 time in 1 file",
                "web/queue.js:6 drain queue",
            ],
        ),
        ("Where is the nowhere thing wanted?", ["suits 6", "grep none: 0 found, 0 exact; no match"]),
        ("Where is nowhere_at_all?", ["suits 6", "grep none: 0 found, 0 exact; no match"]),
        (
            "Who calls close_idle?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact, phrase; exact identifier, 2 times in 1 file",
                "pool/pool.py:12 close_idle",
                "pool/pool.py:20 close_idle",
            ],
        ),
        (
            "Who calls nobody_here?",
            ["suits 6", "grep weak: 1 found, 0 exact; only single words of it", "docs/setup.md:0"],
        ),
        (
            "Who calls serve?",
            ["suits 6", "grep strong: 1 found, 1 exact; exact word, 1 time in 1 file", "pool/uses.py:4"],
        ),
        (
            "Where is idle?",
            [
                "suits 6",
                "grep strong: 3 found, 3 exact; exact word, 3 times in 2 files",
                "pool/pool.py:13",
                "pool/pool.py:14",
                "docs/pool.md:3",
            ],
        ),
        (
            "Where is `replay_journal`?",
            [
                "suits 6",
                "grep strong: 1 found, 1 exact, phrase; exact identifier, 1 time in 1 file",
                "tests/test_pool.py:5 replay_journal",
            ],
        ),
        ("How are idle connections closed?", ["suits 0"]),
        ("Where are idle connections closed when full?", ["suits 0"]),
        ("Who approves refunds within days?", ["suits 0"]),
        (
            "Where is max_size?",
            [
                "suits 6",
                "grep strong: 1 found, 1 exact, phrase; exact identifier, 1 time in 1 file",
                "config.yml:3 max_size",
            ],
        ),
        (
            "Where is the max size?",
            [
                "suits 6",
                "grep strong: 1 found, 1 exact, phrase; exact phrase, 1 time in 1 file",
                "config.yml:3 max size",
            ],
        ),
        ("Where are refunds authorized by finance?", ["suits 0"]),
        ("Where is zebra striped added?", ["suits 0"]),
        ("Where does the test replay a journal?", ["suits 0"]),
        ("Where is pool comment written?", ["suits 0"]),
        ("What is the pool and lend size and close idle?", ["suits 0"]),
        (
            "Where is Shop?",
            ["suits 6", "grep strong: 1 found, 1 exact; exact identifier, 1 time in 1 file", "README.md:1 Shop"],
        ),
        (
            "Where is the pool init?",
            [
                "suits 6",
                "grep weak: 15 found, 0 exact; only single words of it",
                "pool/uses.py:0",
                "pool/pool.py:0",
                "config.yml:0",
                "docs/pool.md:0",
                "README.md:0",
                "tests/test_pool.py:0",
            ],
        ),
        (
            "Where is push?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact; exact word, 2 times in 1 file",
                "web/queue.js:2",
                "web/queue.js:3",
            ],
        ),
        (
            "Where is push defined?",
            [
                "suits 6",
                ("grep moderate: 2 found, 2 exact; named here, not defined: exact identifier, 2 times in 1 file"),
                "web/queue.js:2 push",
                "web/queue.js:3 push",
            ],
        ),
        ("Find parse", ["suits 6", "grep strong: 1 found, 1 exact; exact word, 1 time in 1 file", "pool/options.py:1"]),
        ("Where does make install the wheel?", ["suits 0"]),
        ("Where is wheel server started with make?", ["suits 0"]),
        ("Where is token refresh weekly?", ["suits 0"]),
        ("Where is the token and option meaning?", ["suits 0"]),
        ("Where is binary signed with key?", ["suits 0"]),
        ("Where is clone signed key?", ["suits 0"]),
        ("Where are first plain second words?", ["suits 0"]),
        ("Where are second closing words?", ["suits 0"]),
        (
            "Where is the user session?",
            [
                "suits 6",
                "grep strong: 5 found, 5 exact, phrase; exact phrase, 5 times in 1 file",
                "web/types.ts:1 user session",
                "web/types.ts:4 user session",
                "web/types.ts:4 user session",
                "web/types.ts:7 user session",
                "web/types.ts:7 user session",
            ],
        ),
        (
            "Who uses the user session?",
            [
                "suits 6",
                "grep strong: 5 found, 5 exact, phrase; exact phrase, 5 times in 1 file",
                "web/types.ts:1 user session",
                "web/types.ts:4 user session",
                "web/types.ts:4 user session",
                "web/types.ts:7 user session",
                "web/types.ts:7 user session",
            ],
        ),
        (
            "Where is UserSession?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact, phrase; exact identifier, 2 times in 1 file",
                "web/types.ts:1 UserSession",
                "web/types.ts:4 UserSession",
            ],
        ),
        (
            "Who calls userSession?",
            [
                "suits 6",
                (
                    "grep moderate: 2 found, 2 exact, phrase; defined here, but no use of it was found: "
                    "exact identifier, 2 times in 1 file"
                ),
                "web/types.ts:4 userSession",
                "web/types.ts:7 userSession",
            ],
        ),
        (
            "Where is user_session?",
            [
                "suits 6",
                "grep strong: 1 found, 1 exact, phrase; exact identifier, 1 time in 1 file",
                "web/types.ts:7 user_session",
            ],
        ),
        (
            "Where is `_Hidden`?",
            ["suits 6", "grep strong: 1 found, 1 exact; exact identifier, 1 time in 1 file", "web/types.ts:8 _Hidden"],
        ),
        ("Where is _Hiden?", ["suits 6", "grep none: 0 found, 0 exact; no match"]),
        (
            "Where is the user limit?",
            [
                "suits 6",
                "grep strong: 1 found, 1 exact, phrase; exact phrase, 1 time in 1 file",
                "web/types.ts:9 user limit",
            ],
        ),
        ("Where is UserSesion?", ["suits 6", "grep weak: 1 found, 0 exact; only single words of it", "web/types.ts:0"]),
        (
            "Where is the UserSessionn type?",
            ["suits 6", "grep weak: 1 found, 0 exact; only single words of it", "web/types.ts:0"],
        ),
        (
            "Who uses LockError?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact, phrase; exact identifier, 2 times in 1 file",
                "pool/pool.py:2 LockError",
                "pool/pool.py:19 LockError",
            ],
        ),
        (
            "Where is session?",
            ["suits 6", "grep moderate: 1 found, 0 exact; only as part of longer words", "web/types.ts:7"],
        ),
        (
            "Where is Session?",
            [
                "suits 6",
                "grep moderate: 4 found, 0 exact; only as part of longer words",
                "web/types.ts:1 Session",
                "web/types.ts:4 Session",
                "web/types.ts:4 Session",
                "web/types.ts:7 Session",
            ],
        ),
        (
            "Where is `pool.pool`?",
            [
                "suits 6",
                "grep strong: 2 found, 2 exact, phrase; exact identifier, 2 times in 2 files",
                "pool/uses.py:1 pool.pool",
                "tests/test_pool.py:1 pool.pool",
            ],
        ),
        ("Where is types.ts?", ["suits 0"]),
        ("Where is web?", ["suits 6", "grep none: 0 found, 0 exact; no match"]),
        ("Where is index.ts?", ["suits 0"]),
        (
            "Where is `limits`?",
            ["suits 6", "grep strong: 1 found, 1 exact; exact identifier, 1 time in 1 file", "web/types.ts:9 limits"],
        ),
        (
            'Where is "user-limit"?',
            [
                "suits 9",
                "grep strong: 1 found, 1 exact, phrase; exact text, 1 time in 1 file",
                "web/types.ts:9 user-limit",
            ],
        ),
        (
            "Where is lends?",
            [
                "suits 6",
                "grep strong: 4 found, 4 exact; exact word, 4 times in 3 files",
                "pool/pool.py:17",
                "pool/uses.py:6",
                "pool/uses.py:7",
                "docs/pool.md:3",
            ],
        ),
        (
            "Where is a pool lent?",
            [
                "suits 6",
                "grep weak: 15 found, 0 exact; only single words of it",
                "pool/uses.py:0",
                "pool/pool.py:0",
                "config.yml:0",
                "docs/pool.md:0",
                "README.md:0",
                "tests/test_pool.py:0",
            ],
        ),
    ]
    for question, evidence in cases:
        if evidence == ["suits 0"]:
            assert Grep().can(ask_of(read_plan(question))) == 0
        else:
            assert found(Grep(), question, root) == evidence


def test_file_names_are_searched_and_graded(root: Path) -> None:
    cases: list[tuple[str, list[str]]] = [
        (
            "Where is ConnectionPool?",
            [
                "suits 7",
                "find weak: 3 found, 0 exact; only single words of it in file names",
                "docs/pool.md:0 pool.md",
                "pool/pool.py:0 pool.py",
                "tests/test_pool.py:0 test_pool.py",
            ],
        ),
        (
            "Where is ConnectionPool defined?",
            [
                "suits 7",
                "find weak: 3 found, 0 exact; only single words of it in file names",
                "docs/pool.md:0 pool.md",
                "pool/pool.py:0 pool.py",
                "tests/test_pool.py:0 test_pool.py",
            ],
        ),
        ("Who calls ConnectionPool?", ["suits 0"]),
        ("Who calls lend?", ["suits 0"]),
        (
            "Where is `pool.lend`?",
            [
                "suits 7",
                "find weak: 3 found, 0 exact; only single words of it in file names",
                "docs/pool.md:0 pool.md",
                "pool/pool.py:0 pool.py",
                "tests/test_pool.py:0 test_pool.py",
            ],
        ),
        (
            "Where is `ConnectionPool.lend`?",
            [
                "suits 7",
                "find weak: 3 found, 0 exact; only single words of it in file names",
                "docs/pool.md:0 pool.md",
                "pool/pool.py:0 pool.py",
                "tests/test_pool.py:0 test_pool.py",
            ],
        ),
        (
            "Where is `Queue.push`?",
            [
                "suits 7",
                "find weak: 1 found, 0 exact; only single words of it in file names",
                "web/queue.js:0 queue.js",
            ],
        ),
        ("Where is `Missing.lend`?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is `self.lend`?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        (
            "Where is `Queue.lend`?",
            [
                "suits 7",
                "find weak: 1 found, 0 exact; only single words of it in file names",
                "web/queue.js:0 queue.js",
            ],
        ),
        (
            "Where is the connection pool?",
            [
                "suits 7",
                "find weak: 3 found, 0 exact; only single words of it in file names",
                "docs/pool.md:0 pool.md",
                "pool/pool.py:0 pool.py",
                "tests/test_pool.py:0 test_pool.py",
            ],
        ),
        (
            "Where is the retry budget?",
            [
                "suits 7",
                "find moderate: 1 found, 1 exact, phrase; exact file name",
                "pool/retry_budget.py:0 retry_budget.py",
            ],
        ),
        (
            "Where is pool?",
            [
                "suits 7",
                "find moderate: 3 found, 3 exact; exact file name",
                "pool/__init__.py:0 __init__.py",
                "pool/pool.py:0 pool.py",
                "docs/pool.md:0 pool.md",
            ],
        ),
        ("Where is queue?", ["suits 7", "find moderate: 1 found, 1 exact; exact file name", "web/queue.js:0 queue.js"]),
        ("Where is Queue?", ["suits 7", "find moderate: 1 found, 1 exact; exact file name", "web/queue.js:0 queue.js"]),
        ("Where is --dry-run?", ["suits 0"]),
        ("Find --dry", ["suits 0"]),
        ('Where is "Pool is full, try again"?', ["suits 0"]),
        ('Where is "pool is  full"?', ["suits 0"]),
        (
            "Where is `pool_size`?",
            [
                "suits 7",
                "find weak: 3 found, 0 exact; only single words of it in file names",
                "docs/pool.md:0 pool.md",
                "pool/pool.py:0 pool.py",
                "tests/test_pool.py:0 test_pool.py",
            ],
        ),
        ("Where is LockError?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is LockError defined?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is LockError raised?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is LIMIT read?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Who uses LIMIT?", ["suits 0"]),
        ("Where is the prefixwor?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Find PREFIXWOR", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Find `refixword`", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Find `refix`", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is zebra?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is the zebra striping?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is only_here?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is the replay journal?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is vendored_thing defined?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is timeout defined?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        (
            "Where is pool.py?",
            ["suits 9", "find strong: 1 found, 1 exact, phrase; exact file name", "pool/pool.py:0 pool.py"],
        ),
        (
            "Where is pool/?",
            [
                "suits 7",
                "find moderate: 3 found, 3 exact; exact file name",
                "pool/__init__.py:0 __init__.py",
                "pool/pool.py:0 pool.py",
                "docs/pool.md:0 pool.md",
            ],
        ),
        ("Where is ool.py?", ["suits 9", "find none: 0 found, 0 exact; no such file"]),
        (
            "Where is uses.rb?",
            ["suits 9", "find moderate: 1 found, 0 exact; part of a file name", "pool/uses.py:0 uses.py"],
        ),
        (
            "Where is the retry_budget.py file?",
            [
                "suits 9",
                "find strong: 1 found, 1 exact, phrase; exact file name",
                "pool/retry_budget.py:0 retry_budget.py",
            ],
        ),
        ("Where is lend in pool/uses.py?", ["suits 0"]),
        ("Where is lend in none.py?", ["suits 0"]),
        ("Where is budget spent in retry_budget.py?", ["suits 0"]),
        ("Where is LockErrr?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is conectionpool?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is CONNECTIONPOOL?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        (
            "Where is drain_queue?",
            [
                "suits 7",
                "find weak: 1 found, 0 exact; only single words of it in file names",
                "web/queue.js:0 queue.js",
            ],
        ),
        (
            "Where is the drain queue?",
            [
                "suits 7",
                "find weak: 1 found, 0 exact; only single words of it in file names",
                "web/queue.js:0 queue.js",
            ],
        ),
        ("Where is the nowhere thing wanted?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is nowhere_at_all?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Who calls close_idle?", ["suits 0"]),
        ("Who calls nobody_here?", ["suits 0"]),
        ("Who calls serve?", ["suits 0"]),
        ("Where is idle?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is `replay_journal`?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("How are idle connections closed?", ["suits 0"]),
        ("Where are idle connections closed when full?", ["suits 0"]),
        ("Who approves refunds within days?", ["suits 0"]),
        ("Where is max_size?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is the max size?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where are refunds authorized by finance?", ["suits 0"]),
        ("Where is zebra striped added?", ["suits 0"]),
        ("Where does the test replay a journal?", ["suits 0"]),
        ("Where is pool comment written?", ["suits 0"]),
        ("What is the pool and lend size and close idle?", ["suits 0"]),
        ("Where is Shop?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        (
            "Where is the pool init?",
            [
                "suits 7",
                "find weak: 4 found, 0 exact; only single words of it in file names",
                "docs/pool.md:0 pool.md",
                "pool/__init__.py:0 __init__.py",
                "pool/pool.py:0 pool.py",
                "tests/test_pool.py:0 test_pool.py",
            ],
        ),
        ("Where is push?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is push defined?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Find parse", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where does make install the wheel?", ["suits 0"]),
        ("Where is wheel server started with make?", ["suits 0"]),
        ("Where is token refresh weekly?", ["suits 0"]),
        ("Where is the token and option meaning?", ["suits 0"]),
        ("Where is binary signed with key?", ["suits 0"]),
        ("Where is clone signed key?", ["suits 0"]),
        ("Where are first plain second words?", ["suits 0"]),
        ("Where are second closing words?", ["suits 0"]),
        ("Where is the user session?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Who uses the user session?", ["suits 0"]),
        ("Where is UserSession?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Who calls userSession?", ["suits 0"]),
        ("Where is user_session?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is `_Hidden`?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is _Hiden?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is the user limit?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is UserSesion?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is the UserSessionn type?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Who uses LockError?", ["suits 0"]),
        ("Where is session?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is Session?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        (
            "Where is `pool.pool`?",
            ["suits 7", "find moderate: 1 found, 1 exact, phrase; exact file name", "pool/pool.py:0 pool.py"],
        ),
        (
            "Where is types.ts?",
            ["suits 9", "find strong: 1 found, 1 exact, phrase; exact file name", "web/types.ts:0 types.ts"],
        ),
        ("Where is web?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ("Where is index.ts?", ["suits 9", "find none: 0 found, 0 exact; no such file"]),
        ("Where is `limits`?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        ('Where is "user-limit"?', ["suits 0"]),
        ("Where is lends?", ["suits 7", "find none: 0 found, 0 exact; no such file"]),
        (
            "Where is a pool lent?",
            [
                "suits 7",
                "find weak: 3 found, 0 exact; only single words of it in file names",
                "docs/pool.md:0 pool.md",
                "pool/pool.py:0 pool.py",
                "tests/test_pool.py:0 test_pool.py",
            ],
        ),
    ]
    for question, evidence in cases:
        if evidence == ["suits 0"]:
            assert Find().can(ask_of(read_plan(question))) == 0
        else:
            assert found(Find(), question, root) == evidence


def test_symbols_are_searched_and_graded(root: Path) -> None:
    cases: list[tuple[str, list[str]]] = [
        (
            "Where is ConnectionPool?",
            [
                "suits 9",
                "references strong: 9 found, 9 exact, phrase; exact symbol, 1 definition, 7 uses",
                "pool/pool.py:7 ConnectionPool",
                "pool/uses.py:5 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "app.log:1 ConnectionPool",
                "tests/test_pool.py:5 ConnectionPool",
            ],
        ),
        (
            "Where is ConnectionPool defined?",
            [
                "suits 9",
                "references strong: 9 found, 9 exact, phrase; exact symbol, 1 definition, 7 uses",
                "pool/pool.py:7 ConnectionPool",
                "pool/uses.py:5 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "app.log:1 ConnectionPool",
                "tests/test_pool.py:5 ConnectionPool",
            ],
        ),
        (
            "Who calls ConnectionPool?",
            [
                "suits 9",
                "references strong: 9 found, 9 exact, phrase; 5 uses, 2 imports",
                "pool/uses.py:5 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:1 ConnectionPool",
                "pool/pool.py:7 ConnectionPool",
                "app.log:1 ConnectionPool",
                "tests/test_pool.py:5 ConnectionPool",
                "tests/test_pool.py:1 ConnectionPool",
            ],
        ),
        (
            "Who calls lend?",
            [
                "suits 8",
                "references moderate: 3 found, 3 exact; 2 uses, 0 imports",
                "pool/uses.py:6 lend",
                "pool/uses.py:7 lend",
                "pool/pool.py:17 lend",
            ],
        ),
        (
            "Where is `pool.lend`?",
            [
                "suits 9",
                "references strong: 3 found, 3 exact, phrase; exact symbol, 1 definition, 2 uses",
                "pool/pool.py:17 lend",
                "pool/uses.py:6 lend",
                "pool/uses.py:7 lend",
            ],
        ),
        (
            "Where is `ConnectionPool.lend`?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact, phrase; exact symbol, 1 definition, 0 uses",
                "pool/pool.py:17 lend",
            ],
        ),
        (
            "Where is `Queue.push`?",
            [
                "suits 9",
                "references strong: 2 found, 2 exact, phrase; exact symbol, 1 definition, 1 use",
                "web/queue.js:2 push",
                "web/queue.js:3 push",
            ],
        ),
        ("Where is `Missing.lend`?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is `self.lend`?",
            [
                "suits 9",
                "references strong: 3 found, 3 exact, phrase; exact symbol, 1 definition, 2 uses",
                "pool/pool.py:17 lend",
                "pool/uses.py:6 lend",
                "pool/uses.py:7 lend",
            ],
        ),
        ("Where is `Queue.lend`?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is the connection pool?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact, phrase; exact symbol, 1 definition, 0 uses",
                "pool/pool.py:7 ConnectionPool",
            ],
        ),
        ("Where is the retry budget?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is pool?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is queue?",
            [
                "suits 8",
                "references strong: 1 found, 1 exact; exact symbol, 1 definition, 0 uses",
                "web/queue.js:1 Queue",
            ],
        ),
        (
            "Where is Queue?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact; exact symbol, 1 definition, 0 uses",
                "web/queue.js:1 Queue",
            ],
        ),
        ("Where is --dry-run?", ["suits 0"]),
        ("Find --dry", ["suits 0"]),
        ('Where is "Pool is full, try again"?', ["suits 0"]),
        ('Where is "pool is  full"?', ["suits 0"]),
        (
            "Where is `pool_size`?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact, phrase; exact symbol, 0 definitions, 1 use",
                "pool/pool.py:18 pool_size",
            ],
        ),
        (
            "Where is LockError?",
            [
                "suits 9",
                (
                    "references moderate: 2 found, 2 exact, phrase; LockError is not defined in this "
                    "tree: it comes from redis.exceptions (imported in pool/pool.py:2)"
                ),
                "pool/pool.py:19 LockError",
            ],
        ),
        (
            "Where is LockError defined?",
            [
                "suits 9",
                (
                    "references moderate: 2 found, 2 exact, phrase; LockError is not defined in this "
                    "tree: it comes from redis.exceptions (imported in pool/pool.py:2)"
                ),
                "pool/pool.py:19 LockError",
            ],
        ),
        (
            "Where is LockError raised?",
            [
                "suits 9",
                "references strong: 2 found, 2 exact, phrase; exact symbol, 0 definitions, 2 uses",
                "pool/pool.py:19 LockError",
                "pool/pool.py:2 LockError",
            ],
        ),
        (
            "Where is LIMIT read?",
            [
                "suits 9",
                "references strong: 2 found, 2 exact; exact symbol, 1 definition, 1 use",
                "pool/pool.py:10 LIMIT",
                "pool/pool.py:4 LIMIT",
            ],
        ),
        (
            "Who uses LIMIT?",
            [
                "suits 9",
                "references moderate: 2 found, 2 exact; 1 use, 0 imports",
                "pool/pool.py:10 LIMIT",
                "pool/pool.py:4 LIMIT",
            ],
        ),
        ("Where is the prefixwor?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        ("Find PREFIXWOR", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        ("Find `refixword`", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        ("Find `refix`", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is zebra?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is the zebra striping?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is only_here?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact, phrase; exact symbol, 0 definitions, 1 use",
                "tests/test_pool.py:6 only_here",
            ],
        ),
        ("Where is the replay journal?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is vendored_thing defined?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact, phrase; exact symbol, 1 definition, 0 uses",
                "vendor/lib.py:1 vendored_thing",
            ],
        ),
        (
            "Where is timeout defined?",
            [
                "suits 9",
                ("references moderate: 2 found, 2 exact; only a parameter, an attribute or a key is called so"),
                "pool/pool.py:17 timeout",
                "pool/pool.py:19 timeout",
            ],
        ),
        ("Where is pool.py?", ["suits 0"]),
        ("Where is pool/?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is ool.py?", ["suits 0"]),
        ("Where is uses.rb?", ["suits 0"]),
        ("Where is the retry_budget.py file?", ["suits 0"]),
        ("Where is lend in pool/uses.py?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is lend in none.py?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is budget spent in retry_budget.py?", ["suits 0"]),
        ("Where is LockErrr?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is conectionpool?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is CONNECTIONPOOL?",
            [
                "suits 9",
                (
                    "references strong: 9 found, 9 exact; exact symbol, 1 definition, 7 uses. "
                    "'CONNECTIONPOOL' is written 'ConnectionPool' here. [read as ConnectionPool]"
                ),
                "pool/pool.py:7 ConnectionPool",
                "pool/uses.py:5 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "pool/uses.py:13 ConnectionPool",
                "app.log:1 ConnectionPool",
                "tests/test_pool.py:5 ConnectionPool",
            ],
        ),
        ("Where is drain_queue?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is the drain queue?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact, phrase; exact symbol, 1 definition, 0 uses",
                "web/queue.js:6 drainQueue",
            ],
        ),
        ("Where is the nowhere thing wanted?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is nowhere_at_all?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Who calls close_idle?",
            [
                "suits 9",
                "references moderate: 2 found, 2 exact, phrase; 1 use, 0 imports",
                "pool/pool.py:20 close_idle",
                "pool/pool.py:12 close_idle",
            ],
        ),
        ("Who calls nobody_here?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Who calls serve?",
            [
                "suits 8",
                "references moderate: 1 found, 1 exact; defined here, but no use of it was found",
                "pool/uses.py:4 serve",
            ],
        ),
        ("Where is idle?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is `replay_journal`?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact, phrase; exact symbol, 1 definition, 0 uses",
                "tests/test_pool.py:5 replay_journal",
            ],
        ),
        ("How are idle connections closed?", ["suits 0"]),
        ("Where are idle connections closed when full?", ["suits 0"]),
        ("Who approves refunds within days?", ["suits 0"]),
        (
            "Where is max_size?",
            [
                "suits 9",
                ("references moderate: 1 found, 1 exact, phrase; named in text, neither defined nor used"),
                "config.yml:3 max_size",
            ],
        ),
        ("Where is the max size?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where are refunds authorized by finance?", ["suits 0"]),
        ("Where is zebra striped added?", ["suits 0"]),
        ("Where does the test replay a journal?", ["suits 0"]),
        ("Where is pool comment written?", ["suits 0"]),
        ("What is the pool and lend size and close idle?", ["suits 0"]),
        (
            "Where is Shop?",
            ["suits 9", "references strong: 1 found, 1 exact; exact symbol, 1 definition, 0 uses", "README.md:1 Shop"],
        ),
        ("Where is the pool init?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is push?",
            [
                "suits 8",
                "references strong: 2 found, 2 exact; exact symbol, 1 definition, 1 use",
                "web/queue.js:2 push",
                "web/queue.js:3 push",
            ],
        ),
        (
            "Where is push defined?",
            [
                "suits 9",
                "references strong: 2 found, 2 exact; exact symbol, 1 definition, 1 use",
                "web/queue.js:2 push",
                "web/queue.js:3 push",
            ],
        ),
        (
            "Find parse",
            [
                "suits 8",
                "references strong: 1 found, 1 exact; exact symbol, 1 definition, 0 uses",
                "pool/options.py:1 parse",
            ],
        ),
        ("Where does make install the wheel?", ["suits 0"]),
        ("Where is wheel server started with make?", ["suits 0"]),
        ("Where is token refresh weekly?", ["suits 0"]),
        ("Where is the token and option meaning?", ["suits 0"]),
        ("Where is binary signed with key?", ["suits 0"]),
        ("Where is clone signed key?", ["suits 0"]),
        ("Where are first plain second words?", ["suits 0"]),
        ("Where are second closing words?", ["suits 0"]),
        (
            "Where is the user session?",
            [
                "suits 9",
                "references strong: 5 found, 5 exact, phrase; exact symbol, 3 definitions, 2 uses",
                "web/types.ts:1 UserSession",
                "web/types.ts:4 userSession",
                "web/types.ts:7 user_session",
                "web/types.ts:7 UserSession",
            ],
        ),
        (
            "Who uses the user session?",
            [
                "suits 9",
                "references moderate: 5 found, 5 exact, phrase; 2 uses, 0 imports",
                "web/types.ts:7 UserSession",
                "web/types.ts:4 UserSession",
                "web/types.ts:1 UserSession",
                "web/types.ts:4 userSession",
                "web/types.ts:7 user_session",
            ],
        ),
        (
            "Where is UserSession?",
            [
                "suits 9",
                "references strong: 2 found, 2 exact, phrase; exact symbol, 1 definition, 1 use",
                "web/types.ts:1 UserSession",
                "web/types.ts:4 UserSession",
            ],
        ),
        (
            "Who calls userSession?",
            [
                "suits 9",
                "references moderate: 2 found, 2 exact, phrase; 1 use, 0 imports",
                "web/types.ts:7 userSession",
                "web/types.ts:4 userSession",
            ],
        ),
        (
            "Where is user_session?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact, phrase; exact symbol, 1 definition, 0 uses",
                "web/types.ts:7 user_session",
            ],
        ),
        (
            "Where is `_Hidden`?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact; exact symbol, 1 definition, 0 uses",
                "web/types.ts:8 _Hidden",
            ],
        ),
        ("Where is _Hiden?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is the user limit?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is UserSesion?",
            [
                "suits 9",
                (
                    "references moderate: 2 found, 2 exact, phrase; exact symbol, 1 definition, 1 use. "
                    "'UserSesion' is not defined here; read as 'UserSession' (one letter differs). [read "
                    "as UserSession]"
                ),
                "web/types.ts:1 UserSession",
                "web/types.ts:4 UserSession",
            ],
        ),
        (
            "Where is the UserSessionn type?",
            [
                "suits 9",
                (
                    "references moderate: 2 found, 2 exact, phrase; exact symbol, 1 definition, 1 use. "
                    "'UserSessionn' is not defined here; read as 'UserSession' (one letter differs). "
                    "[read as UserSession]"
                ),
                "web/types.ts:1 UserSession",
                "web/types.ts:4 UserSession",
            ],
        ),
        (
            "Who uses LockError?",
            [
                "suits 9",
                "references moderate: 2 found, 2 exact, phrase; 1 use, 1 import",
                "pool/pool.py:19 LockError",
                "pool/pool.py:2 LockError",
            ],
        ),
        ("Where is session?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is Session?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
        (
            "Where is `pool.pool`?",
            [
                "suits 9",
                "references strong: 9 found, 9 exact, phrase; exact symbol, 1 definition, 5 uses",
                "pool/uses.py:5 pool",
                "pool/uses.py:6 pool",
                "pool/uses.py:7 pool",
                "pool/uses.py:8 pool",
                "pool/pool.py:13 pool",
                "docs/pool.md:3 pool",
                "tests/test_pool.py:1 pool",
            ],
        ),
        ("Where is types.ts?", ["suits 0"]),
        ("Where is web?", ["suits 8", "references none: 0 found, 0 exact; no such symbol"]),
        ("Where is index.ts?", ["suits 0"]),
        (
            "Where is `limits`?",
            [
                "suits 9",
                "references strong: 1 found, 1 exact; exact symbol, 1 definition, 0 uses",
                "web/types.ts:9 limits",
            ],
        ),
        ('Where is "user-limit"?', ["suits 0"]),
        (
            "Where is lends?",
            [
                "suits 8",
                "references strong: 1 found, 1 exact; exact symbol, 1 definition, 0 uses",
                "pool/pool.py:17 lend",
            ],
        ),
        ("Where is a pool lent?", ["suits 9", "references none: 0 found, 0 exact; no such symbol"]),
    ]
    for question, evidence in cases:
        if evidence == ["suits 0"]:
            assert References().can(ask_of(read_plan(question))) == 0
        else:
            assert found(References(), question, root) == evidence


def test_passages_are_searched_and_graded(root: Path) -> None:
    cases: list[tuple[str, list[str]]] = [
        ("Where is ConnectionPool?", ["suits 0"]),
        ("Where is ConnectionPool defined?", ["suits 0"]),
        ("Who calls ConnectionPool?", ["suits 0"]),
        ("Who calls lend?", ["suits 0"]),
        ("Where is `pool.lend`?", ["suits 0"]),
        ("Where is `ConnectionPool.lend`?", ["suits 0"]),
        ("Where is `Queue.push`?", ["suits 0"]),
        ("Where is `Missing.lend`?", ["suits 0"]),
        ("Where is `self.lend`?", ["suits 0"]),
        ("Where is `Queue.lend`?", ["suits 0"]),
        ("Where is the connection pool?", ["suits 0"]),
        ("Where is the retry budget?", ["suits 0"]),
        ("Where is pool?", ["suits 0"]),
        ("Where is queue?", ["suits 0"]),
        ("Where is Queue?", ["suits 0"]),
        ("Where is --dry-run?", ["suits 0"]),
        ("Find --dry", ["suits 0"]),
        ('Where is "Pool is full, try again"?', ["suits 0"]),
        ('Where is "pool is  full"?', ["suits 0"]),
        ("Where is `pool_size`?", ["suits 0"]),
        ("Where is LockError?", ["suits 0"]),
        ("Where is LockError defined?", ["suits 0"]),
        ("Where is LockError raised?", ["suits 0"]),
        ("Where is LIMIT read?", ["suits 0"]),
        ("Who uses LIMIT?", ["suits 0"]),
        ("Where is the prefixwor?", ["suits 0"]),
        ("Find PREFIXWOR", ["suits 0"]),
        ("Find `refixword`", ["suits 0"]),
        ("Find `refix`", ["suits 0"]),
        ("Where is zebra?", ["suits 0"]),
        ("Where is the zebra striping?", ["suits 0"]),
        ("Where is only_here?", ["suits 0"]),
        ("Where is the replay journal?", ["suits 0"]),
        ("Where is vendored_thing defined?", ["suits 0"]),
        ("Where is timeout defined?", ["suits 0"]),
        ("Where is pool.py?", ["suits 0"]),
        ("Where is pool/?", ["suits 0"]),
        ("Where is ool.py?", ["suits 0"]),
        ("Where is uses.rb?", ["suits 0"]),
        ("Where is the retry_budget.py file?", ["suits 0"]),
        ("Where is lend in pool/uses.py?", ["suits 0"]),
        ("Where is lend in none.py?", ["suits 0"]),
        (
            "Where is budget spent in retry_budget.py?",
            ["suits 9", "passages strong: 1 found, 1 exact; all of it within 10 lines", "pool/retry_budget.py:4 spend"],
        ),
        ("Where is LockErrr?", ["suits 0"]),
        ("Where is conectionpool?", ["suits 0"]),
        ("Where is CONNECTIONPOOL?", ["suits 0"]),
        ("Where is drain_queue?", ["suits 0"]),
        ("Where is the drain queue?", ["suits 0"]),
        ("Where is the nowhere thing wanted?", ["suits 0"]),
        ("Where is nowhere_at_all?", ["suits 0"]),
        ("Who calls close_idle?", ["suits 0"]),
        ("Who calls nobody_here?", ["suits 0"]),
        ("Who calls serve?", ["suits 0"]),
        ("Where is idle?", ["suits 0"]),
        ("Where is `replay_journal`?", ["suits 0"]),
        (
            "How are idle connections closed?",
            [
                "suits 9",
                "passages strong: 3 found, 3 exact; all of it within 10 lines",
                "pool/pool.py:13 close_idle",
                "pool/pool.py:20 lend",
                "docs/pool.md:3 Pool",
            ],
        ),
        (
            "Where are idle connections closed when full?",
            ["suits 9", "passages strong: 1 found, 1 exact; all of it within 10 lines", "pool/pool.py:13 close_idle"],
        ),
        (
            "Who approves refunds within days?",
            ["suits 9", "passages strong: 1 found, 1 exact; all of it within 10 lines", "docs/refunds.md:3 Refunds"],
        ),
        ("Where is max_size?", ["suits 0"]),
        ("Where is the max size?", ["suits 0"]),
        (
            "Where are refunds authorized by finance?",
            [
                "suits 9",
                "passages weak: 2 found, 0 exact; without authorized",
                "docs/refunds.md:3 Refunds",
                "docs/refunds.md:5 Deadline",
            ],
        ),
        (
            "Where is zebra striped added?",
            [
                "suits 9",
                "passages moderate: 1 found, 0 exact; all of it, but only in a changelog",
                "CHANGELOG.md:3 1.0",
            ],
        ),
        (
            "Where does the test replay a journal?",
            [
                "suits 9",
                ("passages moderate: 1 found, 0 exact; all of it, but only in a test or in vendored code"),
                "tests/test_pool.py:5 test_it",
            ],
        ),
        (
            "Where is pool comment written?",
            [
                "suits 9",
                "passages weak: 16 found, 0 exact; without written",
                "pool/pool.py:7 ConnectionPool",
                "config.yml:1",
                "docs/pool.md:12 Plans",
                "pool/uses.py:12 _main",
                "pool/pool.py:18 lend",
                "pool/pool.py:13 close_idle",
                "docs/pool.md:1 Pool",
                "web/queue.js:2 push",
                "pool/uses.py:5 serve",
                "pool/uses.py:1",
                "README.md:3 Shop",
                "docs/pool.md:5 Retry budget",
                "pool/pool.py:1",
                "app.log:1",
                "tests/test_pool.py:1",
                "tests/test_pool.py:5 test_it",
            ],
        ),
        (
            "What is the pool and lend size and close idle?",
            ["suits 9", "passages strong: 1 found, 1 exact; all of it within 10 lines", "pool/pool.py:18 lend"],
        ),
        ("Where is Shop?", ["suits 0"]),
        ("Where is the pool init?", ["suits 0"]),
        ("Where is push?", ["suits 0"]),
        ("Where is push defined?", ["suits 0"]),
        ("Find parse", ["suits 0"]),
        (
            "Where does make install the wheel?",
            ["suits 9", "passages strong: 1 found, 1 exact; all of it within 10 lines", "docs/setup.md:6 Setup"],
        ),
        (
            "Where is wheel server started with make?",
            ["suits 9", "passages strong: 1 found, 1 exact; all of it within 10 lines", "docs/setup.md:6 Setup"],
        ),
        (
            "Where is token refresh weekly?",
            ["suits 9", "passages strong: 1 found, 1 exact; all of it within 10 lines", "docs/setup.md:13 Setup"],
        ),
        (
            "Where is the token and option meaning?",
            [
                "suits 9",
                "passages moderate: 1 found, 0 exact; all of it in one passage, but not together",
                "docs/setup.md:11 Setup",
            ],
        ),
        (
            "Where is binary signed with key?",
            ["suits 9", "passages strong: 1 found, 1 exact; all of it within 10 lines", "docs/setup.md:16 Setup"],
        ),
        (
            "Where is clone signed key?",
            [
                "suits 9",
                "passages moderate: 1 found, 0 exact; all of it in one passage, but not together",
                "docs/setup.md:16 Setup",
            ],
        ),
        (
            "Where are first plain second words?",
            ["suits 9", "passages strong: 1 found, 1 exact; all of it within 10 lines", "docs/setup.md:19 Setup"],
        ),
        (
            "Where are second closing words?",
            [
                "suits 9",
                "passages weak: 5 found, 0 exact; without second",
                "docs/setup.md:22 Deep",
                "pool/pool.py:12 close_idle",
                "docs/setup.md:19 Setup",
                "docs/pool.md:3 Pool",
                "pool/pool.py:20 lend",
            ],
        ),
        ("Where is the user session?", ["suits 0"]),
        ("Who uses the user session?", ["suits 0"]),
        ("Where is UserSession?", ["suits 0"]),
        ("Who calls userSession?", ["suits 0"]),
        ("Where is user_session?", ["suits 0"]),
        ("Where is `_Hidden`?", ["suits 0"]),
        ("Where is _Hiden?", ["suits 0"]),
        ("Where is the user limit?", ["suits 0"]),
        ("Where is UserSesion?", ["suits 0"]),
        ("Where is the UserSessionn type?", ["suits 0"]),
        ("Who uses LockError?", ["suits 0"]),
        ("Where is session?", ["suits 0"]),
        ("Where is Session?", ["suits 0"]),
        ("Where is `pool.pool`?", ["suits 0"]),
        ("Where is types.ts?", ["suits 0"]),
        ("Where is web?", ["suits 0"]),
        ("Where is index.ts?", ["suits 0"]),
        ("Where is `limits`?", ["suits 0"]),
        ('Where is "user-limit"?', ["suits 0"]),
        ("Where is lends?", ["suits 0"]),
        ("Where is a pool lent?", ["suits 0"]),
    ]
    for question, evidence in cases:
        if evidence == ["suits 0"]:
            assert PassageSearch().can(ask_of(read_plan(question))) == 0
        else:
            assert found(PassageSearch(), question, root) == evidence


def test_a_reader_opens_candidates_and_may_disagree(root: Path) -> None:
    cases: list[tuple[str, list[tuple[str, int, str]], list[str]]] = [
        (
            "Where is ConnectionPool?",
            [("pool/pool.py", 7, "ConnectionPool")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "pool/pool.py:7 ConnectionPool"],
        ),
        (
            "Where is ConnectionPool defined?",
            [("pool/uses.py", 5, "ConnectionPool")],
            [
                ("read weak: 1 found, 0 exact; the syntax tree has no definition of ConnectionPool here"),
                "pool/uses.py:0",
            ],
        ),
        (
            "Where is ConnectionPool?",
            [("pool/uses.py", 1, "ConnectionPool")],
            [
                (
                    "read moderate: 1 found, 1 exact, phrase; the best candidate has it, in one line "
                    "that the search found, too"
                ),
                "pool/uses.py:5 ConnectionPool",
            ],
        ),
        (
            "Who calls ConnectionPool?",
            [("pool/uses.py", 1, "ConnectionPool")],
            [
                (
                    "read moderate: 1 found, 1 exact, phrase; the best candidate has it, in one line "
                    "that the search found, too"
                ),
                "pool/uses.py:5 ConnectionPool",
            ],
        ),
        (
            "Who calls ConnectionPool?",
            [("pool/pool.py", 7, "ConnectionPool")],
            ["read weak: 1 found, 0 exact; the syntax tree has no call of ConnectionPool here", "pool/pool.py:0"],
        ),
        (
            "Where is LIMIT?",
            [("pool/pool.py", 4, "LIMIT")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "pool/pool.py:4 LIMIT"],
        ),
        (
            "Where is `pool_size`?",
            [("pool/pool.py", 18, "pool_size")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "pool/pool.py:18 pool_size"],
        ),
        (
            "Where is `pool_size` defined?",
            [("pool/pool.py", 18, "pool_size")],
            ["read weak: 1 found, 0 exact; the syntax tree has no definition of pool_size here", "pool/pool.py:0"],
        ),
        (
            "Where is `pool_size`?",
            [("pool/pool.py", 99, "pool_size")],
            ["read weak: 1 found, 0 exact; the syntax tree has no definition of pool_size here", "pool/pool.py:0"],
        ),
        (
            "Where is the class lend defined?",
            [("pool/pool.py", 17, "lend")],
            ["read weak: 1 found, 0 exact; the syntax tree has no definition of lend here", "pool/pool.py:0"],
        ),
        (
            "Where is timeout defined?",
            [("pool/pool.py", 17, "timeout")],
            ["read weak: 1 found, 0 exact; the syntax tree has no definition of timeout here", "pool/pool.py:0"],
        ),
        (
            "Where is timeout read?",
            [("pool/pool.py", 17, "timeout")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "pool/pool.py:17 timeout"],
        ),
        (
            "Where is --dry-run?",
            [("pool/options.py", 3, "--dry-run")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "pool/options.py:3 --dry-run"],
        ),
        (
            "Where is --dry-run?",
            [("pool/options.py", 2, "--dry-run")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "pool/options.py:2 --dry-run"],
        ),
        (
            'Where is "Pool is full, try again"?',
            [("pool/uses.py", 12, "")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "pool/uses.py:12"],
        ),
        (
            'Where is "connections are closed"?',
            [("pool/pool.py", 13, "")],
            ["read weak: 1 found, 0 exact; only in a comment or a help text", "pool/pool.py:0"],
        ),
        (
            "Where are idle connections closed?",
            [("pool/pool.py", 12, "")],
            [
                (
                    "read moderate: 1 found, 1 exact; the best candidate has it, by its words alone: no "
                    "model has read it"
                ),
                "pool/pool.py:12",
            ],
        ),
        (
            "Where are idle zebras closed?",
            [("pool/pool.py", 12, "")],
            ["read weak: 1 found, 0 exact; no code here has zebras: only a comment or a text", "pool/pool.py:0"],
        ),
        (
            "Where is the connection pool?",
            [("pool/pool.py", 7, "")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "pool/pool.py:7"],
        ),
        (
            "Where is the retry budget?",
            [("pool/retry_budget.py", 4, "")],
            ["read weak: 1 found, 0 exact; only in a comment, a docstring or a string", "pool/retry_budget.py:0"],
        ),
        (
            "Where is idle?",
            [("pool/pool.py", 13, "idle")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "pool/pool.py:13 idle"],
        ),
        (
            "Where is seconds?",
            [("pool/pool.py", 13, "seconds")],
            ["read weak: 1 found, 0 exact; only in a comment, a docstring or a string", "pool/pool.py:0"],
        ),
        (
            "Where is the pool?",
            [("docs/pool.md", 3, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "docs/pool.md:3"],
        ),
        (
            "Where is the pool?",
            [("docs/pool.md", 0, "")],
            ["read weak: 1 found, 0 exact; a file name says nothing of what is in it", "docs/pool.md:0"],
        ),
        (
            "Where is the retry budget?",
            [("docs/pool.md", 5, "")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "docs/pool.md:5"],
        ),
        (
            "Where is the retry cost?",
            [("docs/pool.md", 7, "")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "docs/pool.md:7"],
        ),
        (
            "Where is the plan?",
            [("docs/pool.md", 12, "")],
            [
                ("read weak: 1 found, 0 exact; the page only promises it, asks for it or points elsewhere"),
                "docs/pool.md:0",
            ],
        ),
        (
            "Where is zebra?",
            [("docs/pool.md", 3, "")],
            ["read weak: 1 found, 0 exact; the section says nothing of it", "docs/pool.md:0"],
        ),
        (
            "How long are idle connections lent?",
            [("docs/pool.md", 3, "")],
            ["read weak: 1 found, 0 exact; without lent", "docs/pool.md:0"],
        ),
        (
            "How often is a retry made?",
            [("docs/pool.md", 7, "")],
            ["read weak: 1 found, 0 exact; the section says nothing of it", "docs/pool.md:0"],
        ),
        (
            "How many retry budgets?",
            [("docs/pool.md", 5, "")],
            [
                (
                    "read moderate: 1 found, 1 exact; the best candidate has it, by its words alone: no "
                    "model has read it"
                ),
                "docs/pool.md:5",
            ],
        ),
        (
            "How often is the deadline?",
            [("docs/refunds.md", 7, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "docs/refunds.md:7"],
        ),
        (
            "How many refunds are approved?",
            [("docs/refunds.md", 3, "")],
            [
                (
                    "read moderate: 1 found, 1 exact; the best candidate has it, by its words alone: no "
                    "model has read it"
                ),
                "docs/refunds.md:3",
            ],
        ),
        (
            "Who approves refunds today?",
            [("docs/refunds.md", 3, "")],
            ["read weak: 1 found, 0 exact; no page knows what is so today", "docs/refunds.md:0"],
        ),
        (
            "Who approves refunds?",
            [("docs/refunds.md", 3, "")],
            [
                (
                    "read moderate: 1 found, 1 exact; the best candidate has it, by its words alone: no "
                    "model has read it"
                ),
                "docs/refunds.md:3",
            ],
        ),
        (
            "Who pays refunds?",
            [("docs/refunds.md", 3, "")],
            ["read weak: 1 found, 0 exact; without pays", "docs/refunds.md:0"],
        ),
        (
            "Who calls refunds?",
            [("docs/refunds.md", 3, "refunds")],
            [
                ("read weak: 1 found, 0 exact; a page does nothing: only source defines, calls, parses or enforces"),
                "docs/refunds.md:0",
            ],
        ),
        (
            "Where is refunds defined?",
            [("docs/refunds.md", 3, "refunds")],
            [
                ("read weak: 1 found, 0 exact; a page does nothing: only source defines, calls, parses or enforces"),
                "docs/refunds.md:0",
            ],
        ),
        (
            "Where is zebra?",
            [("CHANGELOG.md", 3, "")],
            ["read weak: 1 found, 0 exact; a changelog says what was once so", "CHANGELOG.md:0"],
        ),
        (
            "Where is zebra in the changelog?",
            [("CHANGELOG.md", 3, "")],
            [
                (
                    "read moderate: 1 found, 1 exact; the best candidate has it, by its words alone: no "
                    "model has read it"
                ),
                "CHANGELOG.md:3",
            ],
        ),
        (
            "Where is only_here?",
            [("tests/test_pool.py", 6, "only_here")],
            [
                "read weak: 1 found, 0 exact; a test or a fixture answers nothing about the product",
                "tests/test_pool.py:0",
            ],
        ),
        (
            "Which test has only_here?",
            [("tests/test_pool.py", 6, "only_here")],
            [
                (
                    "read moderate: 1 found, 1 exact; the best candidate has it, by its words alone: no "
                    "model has read it"
                ),
                "tests/test_pool.py:6 only_here",
            ],
        ),
        (
            "Where is ConnectionPool?",
            [("app.log", 1, "")],
            [
                ("read weak: 1 found, 0 exact; a log, a transcript, a manual page or generated data answers nothing"),
                "app.log:0",
            ],
        ),
        (
            "Where is vendored_thing?",
            [("vendor/lib.py", 1, "vendored_thing")],
            [
                ("read weak: 1 found, 0 exact; third-party or generated files answer nothing about this project"),
                "vendor/lib.py:0",
            ],
        ),
        (
            "Where is max_size?",
            [("config.yml", 3, "")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "config.yml:3"],
        ),
        ("Where is pool?", [("config.yml", 1, "")], ["read weak: 1 found, 0 exact; only in a comment", "config.yml:0"]),
        (
            "Where is pool.py?",
            [("pool/pool.py", 0, "")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "pool/pool.py:0 pool.py"],
        ),
        (
            "Where is __init__.py?",
            [("pool/__init__.py", 0, "")],
            ["read weak: 1 found, 0 exact; the file is empty", "pool/__init__.py:0"],
        ),
        ("Where is pool?", [("none.py", 1, "")], ["read none: 0 found, 0 exact; no candidate could be read"]),
        (
            "Explain the retry budget",
            [("docs/pool.md", 7, "")],
            [
                (
                    "read weak: 1 found, 0 exact; found, and not read: a question of how or why needs a "
                    "model (knowbound model)"
                ),
                "docs/pool.md:7",
            ],
        ),
        (
            "Where is the deadline?",
            [("docs/refunds.md", 5, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "docs/refunds.md:5"],
        ),
        (
            "Where is the Friday?",
            [("docs/refunds.md", 5, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "docs/refunds.md:5"],
        ),
        (
            "Where is the install step?",
            [("docs/setup.md", 1, "")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "docs/setup.md:1"],
        ),
        (
            "Where is the server?",
            [("docs/setup.md", 8, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "docs/setup.md:8"],
        ),
        (
            "Where is the token?",
            [("docs/setup.md", 13, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "docs/setup.md:13"],
        ),
        (
            "How often is the token refreshed?",
            [("docs/setup.md", 13, "")],
            [
                (
                    "read moderate: 1 found, 1 exact; the best candidate has it, by its words alone: no "
                    "model has read it"
                ),
                "docs/setup.md:13",
            ],
        ),
        (
            "Where is the key?",
            [("docs/setup.md", 16, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "docs/setup.md:16"],
        ),
        (
            "Where is the key?",
            [("docs/setup.md", 17, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "docs/setup.md:17"],
        ),
        (
            "Where is the clone?",
            [("docs/setup.md", 15, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "docs/setup.md:15"],
        ),
        (
            "Where is the sign?",
            [("docs/setup.md", 15, "")],
            ["read weak: 1 found, 0 exact; the section says nothing of it", "docs/setup.md:0"],
        ),
        (
            "Where are plain words?",
            [("docs/setup.md", 19, "")],
            [
                (
                    "read moderate: 1 found, 1 exact; the best candidate has it, by its words alone: no "
                    "model has read it"
                ),
                "docs/setup.md:19",
            ],
        ),
        (
            "Where are second words?",
            [("docs/setup.md", 20, "")],
            [
                (
                    "read moderate: 1 found, 1 exact; the best candidate has it, by its words alone: no "
                    "model has read it"
                ),
                "docs/setup.md:20",
            ],
        ),
        (
            "Where are closing words?",
            [("docs/setup.md", 21, "")],
            [
                (
                    "read moderate: 1 found, 1 exact; the best candidate has it, by its words alone: no "
                    "model has read it"
                ),
                "docs/setup.md:21",
            ],
        ),
        (
            "Where is the user session?",
            [("web/types.ts", 4, "userSession")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "web/types.ts:4 userSession"],
        ),
        (
            "Where is UserSession?",
            [("web/types.ts", 1, "UserSession")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "web/types.ts:1 UserSession"],
        ),
        (
            "Where is the interface UserSession defined?",
            [("web/types.ts", 1, "UserSession")],
            ["read strong: 1 found, 1 exact, phrase; the best candidate has it", "web/types.ts:1 UserSession"],
        ),
        (
            "Where is the type userSession defined?",
            [("web/types.ts", 4, "userSession")],
            ["read weak: 1 found, 0 exact; the syntax tree has no definition of userSession here", "web/types.ts:0"],
        ),
        (
            'Where is "user-limit"?',
            [("web/types.ts", 9, "")],
            [
                (
                    "read moderate: 1 found, 1 exact, phrase; the best candidate has it, in one line "
                    "that the search found, too"
                ),
                "web/types.ts:9",
            ],
        ),
        (
            "Where is `limits`?",
            [("web/types.ts", 9, "limits")],
            [
                ("read moderate: 1 found, 1 exact; the best candidate has it, in one line that the search found, too"),
                "web/types.ts:9 limits",
            ],
        ),
        (
            "Where is the user limit?",
            [("web/types.ts", 9, "")],
            ["read weak: 1 found, 0 exact; only in a comment, a docstring or a string", "web/types.ts:0"],
        ),
        (
            "Where is Shop?",
            [("README.md", 1, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "README.md:1"],
        ),
        (
            "Where is the shop?",
            [("README.md", 3, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "README.md:3"],
        ),
        (
            "Where is the pool?",
            [("app.log", 1, ""), ("docs/pool.md", 3, "")],
            ["read moderate: 1 found, 1 exact; a later candidate has it", "docs/pool.md:3"],
        ),
        (
            "Where is the pool?",
            [("docs/pool.md", 3, ""), ("docs/pool.md", 7, ""), ("app.log", 1, "")],
            ["read strong: 1 found, 1 exact; the best candidate has it", "docs/pool.md:3"],
        ),
        (
            "Where is LIMIT?",
            [("app.log", 1, ""), ("pool/pool.py", 4, "LIMIT")],
            ["read moderate: 1 found, 1 exact; a later candidate has it", "pool/pool.py:4 LIMIT"],
        ),
        (
            "Where is LIMIT?",
            [("app.log", 1, ""), ("vendor/lib.py", 1, "")],
            [
                ("read weak: 2 found, 0 exact; a log, a transcript, a manual page or generated data answers nothing"),
                "app.log:0",
                "vendor/lib.py:0",
            ],
        ),
    ]
    for question, candidates, evidence in cases:
        ask = ask_of(read_plan(question), EvidenceClass.FILE_CONTENT, tuple(Place(*place) for place in candidates))
        assert lines(Read().produce(ask, Context(root))) == evidence


def test_a_reader_needs_a_term_and_candidates_and_opens_one_of_each_file_up_to_a_limit(root: Path) -> None:
    plan = read_plan("Where is the pool?")
    here = (Place("docs/pool.md", 3), Place("docs/pool.md", 7), Place("app.log", 1), Place("README.md", 3))
    ask = ask_of(plan, EvidenceClass.FILE_CONTENT, here)
    assert (Read().can(ask), Read().can(replace(ask, candidates=())), Read().can(replace(ask, term=None))) == (9, 0, 0)
    shown = [lines(Read().produce(ask, Context(root, limits=CallLimits(reads=most))))[1:] for most in (1, 2, 3)]
    assert shown == [["docs/pool.md:3"], ["docs/pool.md:3"], ["docs/pool.md:3", "README.md:3"]]
    late = Read().produce(ask, Context(root, deadline=0.0))
    assert (late.quality, late.note) == (Quality.NONE, "no candidate could be read")
