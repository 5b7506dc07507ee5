"""History and state of a repository that is a value: what each question finds, and what keeps git from answering."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from knowbound.core.evidence import EvidenceClass, Intent
from knowbound.evidence.producers.git import GitLog, GitStatus
from knowbound.evidence.producers.history import date_of, read_history_question
from knowbound.evidence.producers.protocol import Ask, Context, Producer
from knowbound.evidence.producers.repository import LogEntry, Repository, anywhere, parse_log, pathspecs, refusal
from knowbound.process import Ran
from tests.evidence.git_values import Commit, FakeGit
from tests.evidence.trees import lines


def commit(
    at: int, subject: str, body: str = "", files: tuple[str, ...] = (), change: str = "", author: str = "Ada"
) -> Commit:
    return Commit(f"{at:x}" * 40, subject, body, author, f"2026-01-{20 - at:02}T10:00:00+00:00", files, change)


HISTORY = (
    commit(1, "Fix the retry budget", "It was too low.", ("src/pool.py",), "-LIMIT = 3\n+LIMIT = 5\n"),
    commit(2, "Remove zstd compression", "Nobody used it.", ("-src/zstd.py", "src/pool.py"), "-zstd_level\n"),
    commit(
        3, "Rework settings", "Adds nothing.\n\nCo-authored-by: Bo", ("src/settings.py",), "+max_size = 4\n", "Bo Young"
    ),
    commit(4, "Add docs", "", ("+docs/guide.md",), "+guide\n", "Bo Young"),
    commit(5, "Support zstd compression", "With zstd_level.", ("+src/zstd.py",), "+zstd_level\n"),
    commit(6, "Add the retry budget", "A retry costs one.", ("src/pool.py",), "+LIMIT = 3\n"),
    commit(7, "Initial import", "", ("+src/pool.py", "+README.md"), "+pool\n"),
)
TRACKED = ("src/pool.py", "src/settings.py", "docs/guide.md", "README.md", "word:max_size")


def found(
    tool: Producer, question: str, git: FakeGit, patch: pytest.MonkeyPatch, target: str = "", root: str = "/repo"
) -> list[str]:
    patch.setattr("knowbound.evidence.producers.repository.run_git", git)
    ask = Ask(EvidenceClass.GIT_LOG, target, Intent.STATUS, question)
    return [f"suits {tool.can(ask)}", *lines(tool.produce(ask, Context(Path(root))))]


def history(**more: Any) -> FakeGit:
    return FakeGit(HISTORY, TRACKED, TAGS, **more)


TAGS = ("v1.0", "v1.1", "v2.0rc1", "v2.0", "shop-3.1", "shop-3.1-beta2", "4.0rc2")


ANSWERS: list[tuple[str, list[str]]] = [
    (
        "What was the last commit?",
        [
            "suits 3",
            ("git log strong: 1 found, 1 exact; the last commit is 1111111111 2026-01-19 Ada: Fix the retry budget"),
            "commit 1111111111:0 Fix the retry budget",
        ],
    ),
    (
        "What were the last 2 commits?",
        [
            "suits 3",
            ("git log strong: 2 found, 2 exact; the last commit is 1111111111 2026-01-19 Ada: Fix the retry budget"),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
        ],
    ),
    (
        "What are the latest changes to src/pool.py?",
        [
            "suits 3",
            (
                "git log strong: 4 found, 4 exact; the last commit of src/pool.py is 1111111111 "
                "2026-01-19 Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 6666666666:0 Add the retry budget",
            "commit 7777777777:0 Initial import",
        ],
    ),
    (
        "What was the last commit to guide.md?",
        [
            "suits 3",
            (
                "git log strong: 1 found, 1 exact; the last commit of guide.md is 4444444444 "
                "2026-01-16 Bo Young: Add docs"
            ),
            "commit 4444444444:0 Add docs",
        ],
    ),
    (
        "What was the last commit about zstd?",
        [
            "suits 3",
            (
                "git log --grep strong: 2 found, 2 exact; zstd: 2222222222 2026-01-18 Ada: Remove "
                "zstd compression; 1 other mentions it"
            ),
            "commit 2222222222:0 Remove zstd compression",
            "commit 5555555555:0 Support zstd compression",
        ],
    ),
    (
        "What are the last three commits?",
        [
            "suits 3",
            ("git log strong: 3 found, 3 exact; the last commit is 1111111111 2026-01-19 Ada: Fix the retry budget"),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 3333333333:0 Rework settings",
        ],
    ),
    (
        "Show commit 3333333333",
        [
            "suits 3",
            (
                "git show strong: 1 found, 1 exact; 3333333333 2026-01-17 Bo Young: Rework settings; "
                "it touches src/settings.py"
            ),
            "commit 3333333333:0 Rework settings",
            "src/settings.py:0",
        ],
    ),
    ("Show commit 9999999999", ["suits 3", "git log none: 0 found, 0 exact; there is no commit 9999999999"]),
    (
        "What changed since 2026-01-16?",
        [
            "suits 3",
            (
                "git log strong: 4 found, 4 exact; 4 commits since 2026-01-16, the last one "
                "1111111111 2026-01-19 Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 3333333333:0 Rework settings",
            "commit 4444444444:0 Add docs",
        ],
    ),
    (
        "What changed since v1.0?",
        [
            "suits 3",
            (
                "git log strong: 4 found, 4 exact; 4 commits since v1.0, the last one 1111111111 "
                "2026-01-19 Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 3333333333:0 Rework settings",
            "commit 4444444444:0 Add docs",
        ],
    ),
    (
        "What changed since 4444444444?",
        [
            "suits 3",
            (
                "git log strong: 3 found, 3 exact; 3 commits since 4444444444, the last one "
                "1111111111 2026-01-19 Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 3333333333:0 Rework settings",
        ],
    ),
    (
        "What changed between 6666666666 and 3333333333?",
        [
            "suits 3",
            (
                "git log strong: 5 found, 5 exact; 5 commits between 6666666666 and 3333333333, the "
                "last one 1111111111 2026-01-19 Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 3333333333:0 Rework settings",
            "commit 4444444444:0 Add docs",
            "commit 5555555555:0 Support zstd compression",
        ],
    ),
    (
        "What changed since nonsense?",
        ["suits 3", "git log none: 0 found, 0 exact; 'nonsense' is neither a revision nor a date"],
    ),
    (
        "What happened to pool.py since 6666666666?",
        [
            "suits 3",
            (
                "git log strong: 2 found, 2 exact; 2 commits since 6666666666 about pool.py, the "
                "last one 1111111111 2026-01-19 Ada: Fix the retry budget; before it 2222222222 "
                "2026-01-18 Ada: Remove zstd compression"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
        ],
    ),
    (
        "Who changed zebra since 6666666666?",
        ["suits 3", "git log none: 0 found, 0 exact; no commit since 6666666666 is about 'zebra'"],
    ),
    (
        "What about zstd since 6666666666?",
        [
            "suits 3",
            (
                "git log strong: 2 found, 2 exact; 2 commits since 6666666666 about zstd, the last "
                "one 2222222222 2026-01-18 Ada: Remove zstd compression; before it 5555555555 "
                "2026-01-15 Ada: Support zstd compression"
            ),
            "commit 2222222222:0 Remove zstd compression",
            "commit 5555555555:0 Support zstd compression",
        ],
    ),
    (
        "What changed since 2026-02-01?",
        [
            "suits 3",
            (
                "git log strong: 1 found, 1 exact; no commit since 2026-02-01; the last one is "
                "1111111111 2026-01-19 Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
        ],
    ),
    (
        "What changed since 1111111111111111111111111111111111111111?",
        [
            "suits 3",
            (
                "git log strong: 1 found, 1 exact; no commit since "
                "1111111111111111111111111111111111111111; the last one is 1111111111 2026-01-19 "
                "Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
        ],
    ),
    (
        "When was zstd removed?",
        [
            "suits 3",
            (
                "git log --grep strong: 2 found, 2 exact; zstd: 2222222222 2026-01-18 Ada: Remove "
                "zstd compression; 1 other mentions it"
            ),
            "commit 2222222222:0 Remove zstd compression",
            "commit 5555555555:0 Support zstd compression",
        ],
    ),
    (
        "When was zstd added?",
        [
            "suits 3",
            (
                "git log --grep strong: 2 found, 2 exact; zstd: 5555555555 2026-01-15 Ada: Support "
                "zstd compression; 1 other mentions it"
            ),
            "commit 5555555555:0 Support zstd compression",
            "commit 2222222222:0 Remove zstd compression",
        ],
    ),
    (
        "Who added zstd compression?",
        [
            "suits 3",
            (
                "git log --grep strong: 2 found, 2 exact; zstd compression: 5555555555 2026-01-15 "
                "Ada: Support zstd compression; 1 other mentions it"
            ),
            "commit 5555555555:0 Support zstd compression",
            "commit 2222222222:0 Remove zstd compression",
        ],
    ),
    (
        "When was LIMIT removed?",
        [
            "suits 3",
            ("git log -S strong: 2 found, 2 exact; 'LIMIT' went with 1111111111 2026-01-19 Ada: Fix the retry budget"),
            "commit 1111111111:0 Fix the retry budget",
            "commit 6666666666:0 Add the retry budget",
        ],
    ),
    (
        "When was max_size removed?",
        [
            "suits 3",
            (
                "git log -S weak: 1 found, 0 exact; 'max_size' is still in the tree; 1 commit added "
                "or removed some of it"
            ),
            "commit 3333333333:0 Rework settings",
        ],
    ),
    (
        "When was max_size added?",
        [
            "suits 3",
            (
                "git log -S strong: 1 found, 1 exact; 'max_size' came with 3333333333 2026-01-17 Bo "
                "Young: Rework settings"
            ),
            "commit 3333333333:0 Rework settings",
        ],
    ),
    (
        "When was zstd_level dropped?",
        [
            "suits 3",
            (
                "git log -S strong: 2 found, 2 exact; 'zstd_level' went with 2222222222 2026-01-18 "
                "Ada: Remove zstd compression"
            ),
            "commit 2222222222:0 Remove zstd compression",
            "commit 5555555555:0 Support zstd compression",
        ],
    ),
    (
        "What happened to zstd_level?",
        [
            "suits 3",
            (
                "git log --grep strong: 1 found, 1 exact; zstd_level: 5555555555 2026-01-15 Ada: "
                "Support zstd compression"
            ),
            "commit 5555555555:0 Support zstd compression",
        ],
    ),
    (
        "Who fixed the retry budget?",
        [
            "suits 3",
            (
                "git log --grep strong: 2 found, 2 exact; retry budget: 1111111111 2026-01-19 Ada: "
                "Fix the retry budget; 1 other mentions it"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 6666666666:0 Add the retry budget",
        ],
    ),
    (
        "When was the retry budget added?",
        [
            "suits 3",
            (
                "git log --grep strong: 2 found, 2 exact; retry budget: 6666666666 2026-01-14 Ada: "
                "Add the retry budget; 1 other mentions it"
            ),
            "commit 6666666666:0 Add the retry budget",
            "commit 1111111111:0 Fix the retry budget",
        ],
    ),
    (
        "When was src/zstd.py removed?",
        [
            "suits 3",
            (
                "git log strong: 1 found, 1 exact; src/zstd.py was removed by 2222222222 2026-01-18 "
                "Ada: Remove zstd compression"
            ),
            "commit 2222222222:0 Remove zstd compression",
        ],
    ),
    (
        "When was zstd.py added?",
        [
            "suits 3",
            (
                "git log strong: 1 found, 1 exact; zstd.py was added by 5555555555 2026-01-15 Ada: "
                "Support zstd compression"
            ),
            "commit 5555555555:0 Support zstd compression",
        ],
    ),
    (
        "When was src/pool.py removed?",
        ["suits 3", "git log none: 0 found, 0 exact; no commit is about 'src/pool.py'"],
    ),
    (
        "Who changed src/pool.py?",
        [
            "suits 3",
            (
                "git log strong: 4 found, 4 exact; src/pool.py was last changed by 1111111111 "
                "2026-01-19 Ada: Fix the retry budget; 4 commits by Ada"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 6666666666:0 Add the retry budget",
            "commit 7777777777:0 Initial import",
        ],
    ),
    (
        "What happened to docs/guide.md?",
        [
            "suits 3",
            (
                "git log strong: 1 found, 1 exact; docs/guide.md was last changed by 4444444444 "
                "2026-01-16 Bo Young: Add docs; 1 commit by Bo Young"
            ),
            "commit 4444444444:0 Add docs",
        ],
    ),
    (
        "What did Bo Young do?",
        [
            "suits 3",
            (
                "git log --author strong: 2 found, 2 exact; 2 commits by Bo Young, the last one "
                "3333333333 2026-01-17 Bo Young: Rework settings"
            ),
            "commit 3333333333:0 Rework settings",
            "commit 4444444444:0 Add docs",
        ],
    ),
    ("When was zebra added?", ["suits 3", "git log none: 0 found, 0 exact; no commit is about 'zebra'"]),
    (
        "When was the zebra support removed?",
        ["suits 3", "git log none: 0 found, 0 exact; no commit is about 'zebra'"],
    ),
    (
        "What happened?",
        [
            "suits 3",
            (
                "git log moderate: 7 found, 0 exact; the log, with nothing to match; the last commit "
                "is 1111111111 2026-01-19 Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 3333333333:0 Rework settings",
            "commit 4444444444:0 Add docs",
            "commit 5555555555:0 Support zstd compression",
            "commit 6666666666:0 Add the retry budget",
            "commit 7777777777:0 Initial import",
        ],
    ),
    (
        "git log",
        [
            "suits 3",
            (
                "git log moderate: 7 found, 0 exact; the log, with nothing to match; the last commit "
                "is 1111111111 2026-01-19 Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 3333333333:0 Rework settings",
            "commit 4444444444:0 Add docs",
            "commit 5555555555:0 Support zstd compression",
            "commit 6666666666:0 Add the retry budget",
            "commit 7777777777:0 Initial import",
        ],
    ),
    (
        "When did nothing settings come?",
        [
            "suits 3",
            (
                "git log --grep strong: 1 found, 1 exact; nothing settings: 3333333333 2026-01-17 Bo "
                "Young: Rework settings"
            ),
            "commit 3333333333:0 Rework settings",
        ],
    ),
    (
        "Which branch is it?",
        [
            "suits 1",
            (
                "git log moderate: 7 found, 0 exact; the log, with nothing to match; the last commit "
                "is 1111111111 2026-01-19 Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 3333333333:0 Rework settings",
            "commit 4444444444:0 Add docs",
            "commit 5555555555:0 Support zstd compression",
            "commit 6666666666:0 Add the retry budget",
            "commit 7777777777:0 Initial import",
        ],
    ),
    (
        "Is anything uncommitted?",
        [
            "suits 1",
            (
                "git log moderate: 7 found, 0 exact; the log, with nothing to match; the last commit "
                "is 1111111111 2026-01-19 Ada: Fix the retry budget"
            ),
            "commit 1111111111:0 Fix the retry budget",
            "commit 2222222222:0 Remove zstd compression",
            "commit 3333333333:0 Rework settings",
            "commit 4444444444:0 Add docs",
            "commit 5555555555:0 Support zstd compression",
            "commit 6666666666:0 Add the retry budget",
            "commit 7777777777:0 Initial import",
        ],
    ),
    (
        "What happened to max_size and settings?",
        [
            "suits 3",
            (
                "git log --grep strong: 1 found, 1 exact; max_size settings: 3333333333 2026-01-17 "
                "Bo Young: Rework settings"
            ),
            "commit 3333333333:0 Rework settings",
        ],
    ),
]


@pytest.mark.parametrize("start", range(0, len(ANSWERS), 4))
def test_a_history_answers_what_it_is_asked(monkeypatch: pytest.MonkeyPatch, start: int) -> None:
    for question, evidence in ANSWERS[start : start + 4]:
        assert found(GitLog(), question, history(), monkeypatch) == evidence, question


STATUS = (
    "# branch.oid abc\x00# branch.head main\x00# branch.ab +1 -2\x001 .M N... 1 1 1 a b "
    "src/a b.py\x002 R. N... 1 1 1 a b R100 new.py\x00old.py\x00u UU N... 1 1 1 1 a b c "
    "both.py\x00? new file.py\x00"
)


@pytest.mark.parametrize(
    ("question", "status", "evidence"),
    [
        (
            "Is anything uncommitted?",
            STATUS,
            [
                "suits 3",
                (
                    "git status strong: 5 found, 5 exact; 3 changed and 1 untracked, on branch main, 1 "
                    "ahead and 2 behind"
                ),
                "src/a b.py:0",
                "new.py:0",
                "both.py:0",
                "new file.py:0",
            ],
        ),
        (
            "Is anything uncommitted?",
            "# branch.head main\x00# branch.ab +0 -0\x00",
            ["suits 3", "git status strong: 1 found, 1 exact; the tree is clean, on branch main"],
        ),
        (
            "When was zstd added?",
            STATUS,
            [
                "suits 0",
                (
                    "git status weak: 5 found, 0 exact; 3 changed and 1 untracked, on branch main, 1 "
                    "ahead and 2 behind; the state of the tree says little about its history"
                ),
                "src/a b.py:0",
                "new.py:0",
                "both.py:0",
                "new file.py:0",
            ],
        ),
        (
            "What happened?",
            STATUS,
            [
                "suits 1",
                (
                    "git status weak: 5 found, 0 exact; 3 changed and 1 untracked, on branch main, 1 "
                    "ahead and 2 behind; the state of the tree says little about its history"
                ),
                "src/a b.py:0",
                "new.py:0",
                "both.py:0",
                "new file.py:0",
            ],
        ),
        (
            "What happened?",
            "# branch.oid x\x00",
            [
                "suits 1",
                (
                    "git status weak: 1 found, 0 exact; the tree is clean, on branch (detached); the "
                    "state of the tree says little about its history"
                ),
            ],
        ),
    ],
)
def test_the_state_of_the_tree_is_strong_for_a_question_about_it(
    monkeypatch: pytest.MonkeyPatch, question: str, status: str, evidence: list[str]
) -> None:
    assert found(GitStatus(), question, history(status=status), monkeypatch) == evidence


def test_what_keeps_git_from_answering_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    cases: list[tuple[str, Ran, str, list[str]]] = [
        (
            "log",
            Ran(None, b"", b"", timed_out=True),
            "What happened?",
            ["suits 3", "git log none: 0 found, 0 exact; git log did not finish in time (time-out)"],
        ),
        (
            "log",
            Ran(None, b"x", b"", cut=True),
            "When was zstd added?",
            ["suits 3", "git log none: 0 found, 0 exact; the history is longer than we read"],
        ),
        (
            "log",
            Ran(None, b"x", b"", cut=True),
            "What was the last commit?",
            ["suits 3", "git log none: 0 found, 0 exact; no commit touches this folder"],
        ),
        (
            "log",
            Ran(128, b"", b"fatal: bad object"),
            "What was the last commit?",
            ["suits 3", "git log none: 0 found, 0 exact; git cannot read this repository: bad object"],
        ),
        (
            "log",
            Ran(0, b"", b""),
            "What was the last commit?",
            ["suits 3", "git log none: 0 found, 0 exact; no commit touches this folder"],
        ),
        (
            "log",
            Ran(0, b"", b""),
            "What happened?",
            ["suits 3", "git log none: 0 found, 0 exact; no commit touches this folder"],
        ),
        ("log", Ran(0, b"", b""), "What changed since 2026-01-01?", ["suits 3", "git log strong: 0 found, 0 exact; "]),
        (
            "rev-parse",
            Ran(128, b"", b"fatal: not a git repository"),
            "What happened?",
            ["suits 3", "git log none: 0 found, 0 exact; not a git repository"],
        ),
        (
            "rev-parse",
            Ran(128, b"", b"fatal: detected dubious ownership"),
            "What happened?",
            [
                "suits 3",
                (
                    "git log none: 0 found, 0 exact; git refuses this repository: it belongs to another "
                    "user (safe.directory)"
                ),
            ],
        ),
        (
            "rev-parse",
            Ran(None, b"", b"", missing=True),
            "What happened?",
            ["suits 3", "git log none: 0 found, 0 exact; the folder does not exist"],
        ),
        (
            "rev-parse",
            Ran(0, b"false\nfalse\n/x", b""),
            "What happened?",
            ["suits 3", "git log none: 0 found, 0 exact; not a git repository"],
        ),
        (
            "show",
            Ran(None, b"", b"", timed_out=True),
            "Show commit 3333333333",
            ["suits 3", "git log none: 0 found, 0 exact; git show did not finish in time (time-out)"],
        ),
        (
            "rev-parse",
            Ran(0, b"false\ntrue\n/else\n", b""),
            "What happened?",
            ["suits 3", "git log none: 0 found, 0 exact; the working tree of this repository is elsewhere"],
        ),
        (
            "rev-parse",
            Ran(0, b"true\ntrue\n/repo\n", b""),
            "What was the last commit?",
            [
                "suits 3",
                (
                    "git log strong: 1 found, 1 exact; the last commit is 1111111111 2026-01-19 Ada: Fix "
                    "the retry budget"
                ),
                "commit 1111111111:0 Fix the retry budget",
            ],
        ),
        (
            "rev-parse",
            Ran(0, b"true\ntrue\n/repo\n", b""),
            "What were the last 2 commits?",
            [
                "suits 3",
                (
                    "git log none: 0 found, 0 exact; a shallow clone: its history is cut off (git fetch "
                    "--unshallow brings it)"
                ),
            ],
        ),
        (
            "rev-parse",
            Ran(0, b"true\ntrue\n/repo\n", b""),
            "What was the last commit to pool.py?",
            [
                "suits 3",
                (
                    "git log none: 0 found, 0 exact; a shallow clone: its history is cut off (git fetch "
                    "--unshallow brings it)"
                ),
            ],
        ),
        (
            "rev-parse",
            Ran(0, b"true\ntrue\n/repo\n", b""),
            "When was zstd added?",
            [
                "suits 3",
                (
                    "git log none: 0 found, 0 exact; a shallow clone: its history is cut off (git fetch "
                    "--unshallow brings it)"
                ),
            ],
        ),
        (
            "rev-parse",
            Ran(0, b"true\ntrue\n/repo\n", b""),
            "Show commit 3333333333",
            [
                "suits 3",
                (
                    "git log none: 0 found, 0 exact; a shallow clone: its history is cut off (git fetch "
                    "--unshallow brings it)"
                ),
            ],
        ),
    ]
    for verb, ran, question, evidence in cases:
        assert found(GitLog(), question, history(answers={verb: ran}), monkeypatch) == evidence, verb


def test_a_question_about_history_has_a_kind_a_subject_and_words() -> None:
    cases: list[tuple[str, str, str, tuple[str, ...], int, str]] = [
        ("between v1.0 and v2.0", "since", "v1.0", (), 10, "v2.0"),
        ("from 1.2.3 to main, what?", "since", "1.2.3", (), 10, "main"),
        ("Show commit abcdef1", "commit", "abcdef1", (), 10, ""),
        ("Show commit abcdef", "about", "abcdef", ("abcdef",), 10, ""),
        ("Show revision `abcdef1`", "commit", "abcdef1", (), 10, ""),
        ("the last commit", "last", "", (), 1, ""),
        ("the last commits", "last", "", (), 10, ""),
        ("the latest 3 changes", "last", "", (), 3, ""),
        ("the latest change to pool.py", "last", "pool.py", ("pool.py",), 10, ""),
        ("previous two commits by Ada", "last", "Ada", ("Ada",), 2, ""),
        ("the last commit since May", "since", "May", (), 10, ""),
        ("uncommitted changes", "tree", "", (), 10, ""),
        ("which branch", "tree", "", (), 10, ""),
        ("clean tree?", "tree", "", (), 10, ""),
        ("since May 3", "since", "May 3", (), 10, ""),
        ("since when is it there?", "added", "", (), 10, ""),
        ("after the release 1.2 what came?", "since", "1.2 what came", (), 10, ""),
        ("since `v1.0`", "since", "v1.0", (), 10, ""),
        ("what changed since yesterday", "since", "yesterday", (), 10, ""),
        ("what happened last week", "since", "1 weeks ago", (), 10, ""),
        ("last 3 days", "since", "3 days ago", (), 10, ""),
        ("this month", "since", "1 months ago", (), 10, ""),
        ("today", "since", "today", (), 10, ""),
        ("when was foo removed", "removed", "foo", ("foo",), 10, ""),
        ("when was foo got rid of", "removed", "foo rid", ("foo", "rid"), 10, ""),
        ("who renamed foo", "about", "foo", ("foo",), 10, ""),
        ("when was `foo bar` added", "added", "foo bar", ("foo", "bar"), 10, ""),
        ("who introduced foo_bar and Baz", "added", "foo_bar Baz", ("foo_bar", "Baz"), 10, ""),
        ("when was zero-copy implemented", "added", "zero-copy", ("zero-copy",), 10, ""),
        ("since when is foo there", "added", "foo", ("foo",), 10, ""),
        ("when did foo disappear", "removed", "foo", ("foo",), 10, ""),
        ("blame foo.py", "about", "foo.py", ("foo.py",), 10, ""),
        ("what about foo?", "about", "foo", ("foo",), 10, ""),
        ("", "about", "", (), 10, ""),
        ("foo() and 'bar'", "about", "bar", ("foo", "bar"), 10, ""),
        ("--dry-run flag added", "added", "--dry-run", ("--dry-run",), 10, ""),
        ("src/a.py:", "about", "src/a.py", ("src/a.py",), 10, ""),
    ]
    for question, kind, subject, words, count, until in cases:
        read = read_history_question(question)
        assert (read.kind, read.subject, read.words, read.count, read.until) == (kind, subject, words, count, until)


def test_a_date_is_one_that_git_understands() -> None:
    cases: list[tuple[str, str]] = [
        ("2026-01-02", "2026-01-02"),
        ("2026-01-02 10:00", "2026-01-02 10:00"),
        ("the 2026-01-02", "2026-01-02"),
        ("yesterday", "yesterday"),
        ("today", "midnight"),
        ("Today", "midnight"),
        ("noon", "noon"),
        ("week", "1 week ago"),
        ("last week", "1 week ago"),
        ("last month", "1 month ago"),
        ("the last year", "1 year ago"),
        ("monday", "monday"),
        ("last friday", "last friday"),
        ("3 days", "3 days ago"),
        ("3 days ago", "3 days ago"),
        ("two weeks", "two weeks"),
        ("a month", "1 month ago"),
        ("an hour", "1 hour ago"),
        ("one year", "1 year ago"),
        ("1 hour", "1 hour ago"),
        ("nonsense", ""),
        ("12345 days", ""),
        ("release", ""),
    ]
    for text, date in cases:
        assert date_of(text) == date, text


def test_a_refusal_of_git_has_a_reason() -> None:
    cases: list[tuple[Ran, str]] = [
        (Ran(0, b"", b""), "not a git repository"),
        (Ran(None, b"", b"", timed_out=True), "git did not answer in time"),
        (
            Ran(128, b"", b"fatal: detected dubious ownership in x"),
            "git refuses this repository: it belongs to another user (safe.directory)",
        ),
        (Ran(128, b"", b"fatal: not a git repository (or any)"), "not a git repository"),
        (Ran(128, b"", b"fatal: this operation must be run in a work tree"), "not a git repository"),
        (Ran(128, b"", b"fatal: odd\nthing"), "git cannot read this repository: odd thing"),
    ]
    for ran, reason in cases:
        assert refusal(ran) == reason, ran


def test_a_revision_is_found_by_its_name_or_its_version(repository: Repository) -> None:
    cases: list[tuple[str, str]] = [
        ("v1.0", "5555555555555555555555555555555555555555"),
        ("1", "1111111111111111111111111111111111111111"),
        ("1.1", "v1.1"),
        ("2", "2222222222222222222222222222222222222222"),
        ("v2", "v2.0"),
        ("version 2", "v2.0"),
        ("release 3.1", "shop-3.1"),
        ("3", "3333333333333333333333333333333333333333"),
        ("4", "4444444444444444444444444444444444444444"),
        ("9", ""),
        ("abc", ""),
        ("5555555555", "5555555555555555555555555555555555555555"),
        ("1.0.0", ""),
    ]
    for name, revision in cases:
        assert repository.revision(name) == revision, name


def test_a_name_is_a_tracked_path_or_the_end_of_one(repository: Repository) -> None:
    cases: list[tuple[str, list[str]]] = [
        ("pool.py", ["src/pool.py"]),
        ("src", ["src"]),
        ("src/", ["src"]),
        ("./src/pool.py", ["src/pool.py"]),
        ("ool.py", []),
        ("none", []),
        ("docs/guide.md", ["docs/guide.md"]),
    ]
    for name, files in cases:
        assert repository.files_named(name) == files, name


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Repository:
    monkeypatch.setattr("knowbound.evidence.producers.repository.run_git", history())
    return Repository.open(Context(Path("/repo")))


def test_programs_of_the_repository_are_switched_off_and_words_are_no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    git = history(
        config=(
            "local\x00filter.x.clean\x00global\x00filter.y.clean\x00worktree\x00filter.z.required\x00local\x00hook.a.enabled\x00local\x00core.editor\x00local\x00filter.x.clean\x00local"
        ),
        top="/",
        answers={"grep": Ran(0, b"", b"")},
    )
    monkeypatch.setattr("knowbound.evidence.producers.repository.run_git", git)
    repository = Repository.open(Context(Path("/repo")))
    assert (repository.is_top, repository.shallow, repository.has("a", "-b")) == (False, False, True)
    assert git.added == {
        "GIT_CONFIG_COUNT": "3",
        "GIT_CONFIG_KEY_0": "filter.x.clean", "GIT_CONFIG_VALUE_0": "",
        "GIT_CONFIG_KEY_1": "filter.z.required", "GIT_CONFIG_VALUE_1": "false",
        "GIT_CONFIG_KEY_2": "hook.a.enabled", "GIT_CONFIG_VALUE_2": "false",
    }  # fmt: skip
    assert git.asked[-1] == ("grep", "-q", "-I", "-w", "-F", "-e", "a", "-e", "-b", "HEAD", "--", ".")
    repository.log()
    assert git.asked[-1][-2:] == ("--", ".")
    repository.pickaxe("a.b", "-x", "c d")
    assert r"-S\b(a[.]b|c d)\b" in git.asked[-1]
    repository.pickaxe("-x")
    assert "-S-x" in git.asked[-1]


def test_a_log_is_read_without_its_incomplete_end() -> None:
    assert [
        entry.subject for entry in parse_log("a\x1fb\x1fc\x1fd\x1fe\x1e\nx\x1fy\x1e\na\x1fb\x1fc\x1fz\x1eq\x1fr")
    ] == ["d\x1fe", "z"]
    assert str(LogEntry("a" * 40, "2026-01-02T03", "Ada", "Fix")) == "aaaaaaaaaa 2026-01-02 Ada: Fix"
    assert (anywhere("a[1]*?.py"), len(pathspecs(["x"] * 101))) == (":(glob)**/a\\[1\\]\\*\\?.py", 100)
