"""Whole investigations of one tree: by rules alone, and with a model that gives answers of a script."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.evidence import Intent, Investigation
from knowbound.evidence.investigate import investigate
from knowbound.evidence.producers.discovery import ManifestScan, TreeScan
from knowbound.evidence.producers.grep import Find, Grep
from knowbound.evidence.producers.passages import PassageSearch
from knowbound.evidence.producers.protocol import Producer
from knowbound.evidence.producers.read import Read
from knowbound.evidence.producers.references import References
from knowbound.evidence.understanding import PlanAnswer, ReadAnswer, ReadSentence
from tests.evidence.trees import tree
from tests.knowledge.scripts import Script

TOOLS: list[Producer] = [Find(), Grep(), PassageSearch(), Read(), References(), TreeScan(), ManifestScan()]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tree(tmp_path_factory.mktemp("shop"))


def answered(found: Investigation) -> list[str]:
    """An investigation as lines: outcome, answer, sources or what is missing."""
    given, probable = found.answer, found.probable
    return [
        f"{found.intent} {found.outcome} {found.confidence} by {found.by}",
        found.explanation,
        f"terms {', '.join(found.terms)}",
        *([f"answer {given.path}:{given.line} {given.text}"] if given else []),
        *(f"source {source.path}:{source.line} {source.text} ({source.why})" for source in found.sources),
        *(f"gap {gap.cls} {gap.target}: has {gap.have}, needs {gap.need}; {gap.reason}" for gap in found.gaps),
        *(f"near {near.path}:{near.line} {near.text}" for near in found.nearest),
        *([f"probable {probable.path}:{probable.line} {probable.text} ({probable.why})"] if probable else []),
        *(f"note {note}" for note in found.notes),
        *found.trail,
    ]


BY_RULES: list[tuple[str, list[str]]] = [
    (
        "Where is ConnectionPool?",
        [
            "locate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: references and "
                "read agree on ConnectionPool in pool/pool.py."
            ),
            "terms ConnectionPool",
            "answer pool/pool.py:7 class ConnectionPool:",
            (
                "source pool/pool.py:7 class ConnectionPool: (references: ConnectionPool, exact "
                "symbol, 1 definition, 7 uses)"
            ),
            (
                "source pool/uses.py:5 pool = ConnectionPool() (references: ConnectionPool, exact "
                "symbol, 1 definition, 7 uses)"
            ),
            (
                "source app.log:1 ConnectionPool failed (references: ConnectionPool, exact symbol, 1 "
                "definition, 7 uses (built))"
            ),
            (
                "source tests/test_pool.py:5 replay_journal = ConnectionPool() (references: "
                "ConnectionPool, exact symbol, 1 definition, 7 uses (a test))"
            ),
            ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
            "read 'ConnectionPool' → FileContent strong, 2 found (the best candidate has it)",
            ("planner → FileSearch verified: references and read agree on ConnectionPool in pool/pool.py"),
            ("planner → FileContent verified: references and read agree on ConnectionPool in pool/pool.py"),
        ],
    ),
    (
        "Where is ConnectionPool defined?",
        [
            "locate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: references and "
                "read agree on ConnectionPool in pool/pool.py."
            ),
            "terms ConnectionPool",
            "answer pool/pool.py:7 class ConnectionPool:",
            (
                "source pool/pool.py:7 class ConnectionPool: (references: ConnectionPool, exact "
                "symbol, 1 definition, 7 uses)"
            ),
            (
                "source pool/uses.py:5 pool = ConnectionPool() (references: ConnectionPool, exact "
                "symbol, 1 definition, 7 uses)"
            ),
            (
                "source app.log:1 ConnectionPool failed (references: ConnectionPool, exact symbol, 1 "
                "definition, 7 uses (built))"
            ),
            (
                "source tests/test_pool.py:5 replay_journal = ConnectionPool() (references: "
                "ConnectionPool, exact symbol, 1 definition, 7 uses (a test))"
            ),
            ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
            "read 'ConnectionPool' → FileContent strong, 1 found (the best candidate has it)",
            ("planner → FileSearch verified: references and read agree on ConnectionPool in pool/pool.py"),
            ("planner → FileContent verified: references and read agree on ConnectionPool in pool/pool.py"),
        ],
    ),
    (
        "Who calls ConnectionPool?",
        [
            "navigate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: references and "
                "read agree on ConnectionPool in pool/uses.py."
            ),
            "terms ConnectionPool",
            "answer pool/uses.py:5 pool = ConnectionPool()",
            "source pool/uses.py:5 pool = ConnectionPool() (references: call in serve)",
            (
                "source pool/uses.py:13 return [ConnectionPool(), ConnectionPool(), "
                "ConnectionPool()] (references: call in _main)"
            ),
            (
                "source pool/uses.py:13 return [ConnectionPool(), ConnectionPool(), "
                "ConnectionPool()] (references: call in _main)"
            ),
            (
                "source pool/uses.py:13 return [ConnectionPool(), ConnectionPool(), "
                "ConnectionPool()] (references: call in _main)"
            ),
            ("source tests/test_pool.py:5 replay_journal = ConnectionPool() (references: call in test_it (a test))"),
            ("source pool/uses.py:1 from pool.pool import ConnectionPool (references: import at the top of the file)"),
            (
                "source tests/test_pool.py:1 from pool.pool import ConnectionPool (references: "
                "import at the top of the file (a test))"
            ),
            "references 'ConnectionPool' → FileSearch strong, 9 found (5 uses, 2 imports)",
            "read 'ConnectionPool' → FileContent strong, 1 found (the best candidate has it)",
            ("planner → FileSearch verified: references and read agree on ConnectionPool in pool/uses.py"),
            ("planner → FileContent verified: references and read agree on ConnectionPool in pool/uses.py"),
        ],
    ),
    (
        "Who calls close_idle?",
        [
            "navigate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: read and grep "
                "agree on close_idle in pool/pool.py."
            ),
            "terms close_idle",
            "answer pool/pool.py:20 return self.close_idle()",
            ("source pool/pool.py:20 return self.close_idle() (references: call in ConnectionPool.lend)"),
            "references 'close_idle' → FileSearch moderate, 2 found (1 use, 0 imports)",
            "read 'close_idle' → FileContent strong, 1 found (the best candidate has it)",
            "grep 'close_idle' → FileSearch strong, 2 found (exact identifier, 2 times in 1 file)",
            "planner → FileContent verified: read and grep agree on close_idle in pool/pool.py",
            "planner → FileSearch verified: read and grep agree on close_idle in pool/pool.py",
        ],
    ),
    (
        "Where is LIMIT?",
        [
            "locate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: references and "
                "read agree on LIMIT in pool/pool.py."
            ),
            "terms LIMIT",
            "answer pool/pool.py:4 LIMIT = 3",
            ("source pool/pool.py:4 LIMIT = 3 (references: LIMIT, exact symbol, 1 definition, 1 use)"),
            "references 'LIMIT' → FileSearch strong, 2 found (exact symbol, 1 definition, 1 use)",
            "read 'LIMIT' → FileContent strong, 1 found (the best candidate has it)",
            "planner → FileSearch verified: references and read agree on LIMIT in pool/pool.py",
            "planner → FileContent verified: references and read agree on LIMIT in pool/pool.py",
        ],
    ),
    (
        "Where is the connection pool?",
        [
            "locate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: references and "
                "read agree on ConnectionPool in pool/pool.py."
            ),
            "terms connection pool",
            "answer pool/pool.py:7 class ConnectionPool:",
            (
                "source pool/pool.py:7 class ConnectionPool: (references: connection pool, exact "
                "symbol, 1 definition, 0 uses)"
            ),
            ("references 'connection pool' → FileSearch strong, 1 found (exact symbol, 1 definition, 0 uses)"),
            "read 'connection pool' → FileContent strong, 1 found (the best candidate has it)",
            ("planner → FileSearch verified: references and read agree on ConnectionPool in pool/pool.py"),
            ("planner → FileContent verified: references and read agree on ConnectionPool in pool/pool.py"),
        ],
    ),
    (
        "Where is --dry-run?",
        [
            "locate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: grep and read "
                "agree on --dry-run in pool/options.py."
            ),
            "terms --dry-run",
            "answer pool/options.py:2 # --dry-run is old",
            ("source pool/options.py:2 # --dry-run is old (grep: --dry-run, exact option, 2 times in 1 file)"),
            "grep '--dry-run' → FileSearch strong, 2 found (exact option, 2 times in 1 file)",
            "read '--dry-run' → FileContent strong, 1 found (the best candidate has it)",
            "planner → FileSearch verified: grep and read agree on --dry-run in pool/options.py",
            "planner → FileContent verified: grep and read agree on --dry-run in pool/options.py",
        ],
    ),
    (
        "Where is pool.py?",
        [
            "locate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: find and read "
                "agree on pool/pool.py."
            ),
            "terms pool.py",
            "answer pool/pool.py:0 import redis",
            "source pool/pool.py:0 import redis (find: pool.py, exact file name)",
            "find 'pool.py' → FileSearch strong, 1 found (exact file name)",
            "read 'pool.py' → FileContent strong, 1 found (the best candidate has it)",
            "planner → FileSearch verified: find and read agree on pool/pool.py",
            "planner → FileContent verified: find and read agree on pool/pool.py",
        ],
    ),
    (
        "Where is the retry budget?",
        [
            "locate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: grep and read "
                "agree on retry budget in docs/pool.md."
            ),
            "terms retry budget",
            "answer docs/pool.md:5 ## Retry budget",
            (
                "source docs/pool.md:5 ## Retry budget (grep: retry budget, exact phrase, 1 time in "
                "1 file (documentation))"
            ),
            "references 'retry budget' → FileSearch none, 0 found (no such symbol)",
            "find 'retry budget' → FileSearch moderate, 1 found (exact file name)",
            ("read 'retry budget' → FileContent weak, 1 found (a file name says nothing of what is in it)"),
            "grep 'retry budget' → FileSearch strong, 1 found (exact phrase, 1 time in 1 file)",
            "read 'retry budget' → FileContent strong, 1 found (the best candidate has it)",
            "planner → FileSearch verified: grep and read agree on retry budget in docs/pool.md",
            "planner → FileContent verified: grep and read agree on retry budget in docs/pool.md",
        ],
    ),
    (
        "Where is zebra?",
        [
            "locate insufficient_evidence low by rules",
            (
                "No 'zebra' with enough evidence: only in a changelog: exact word, 1 time in 1 file. "
                "Confidence is low because the FileContent evidence for 'zebra' is only weak (a "
                "changelog says what was once so) (0 of 2 that were needed are met)."
            ),
            "terms zebra",
            ("gap FileSearch zebra: has moderate, needs strong; only in a changelog: exact word, 1 time in 1 file"),
            "gap FileContent zebra: has weak, needs moderate; a changelog says what was once so",
            "near CHANGELOG.md:3 - Added zebra striping.",
            "references 'zebra' → FileSearch none, 0 found (no such symbol)",
            "find 'zebra' → FileSearch none, 0 found (no such file)",
            ("grep 'zebra' → FileSearch moderate, 1 found (only in a changelog: exact word, 1 time in 1 file)"),
            "read 'zebra' → FileContent weak, 1 found (a changelog says what was once so)",
        ],
    ),
    (
        "Where is only_here?",
        [
            "locate insufficient_evidence low by rules",
            (
                "No 'only_here' with enough evidence. Confidence is low because the FileContent "
                "evidence for 'only_here' is only weak (a test or a fixture answers nothing about "
                "the product) (1 of 2 that were needed are met)."
            ),
            "terms only_here",
            (
                "gap FileContent only_here: has weak, needs moderate; a test or a fixture answers "
                "nothing about the product"
            ),
            "near docs/setup.md:20 second line here",
            "near tests/test_pool.py:6 only_here()",
            ("references 'only_here' → FileSearch strong, 1 found (exact symbol, 0 definitions, 1 use)"),
            ("read 'only_here' → FileContent weak, 1 found (a test or a fixture answers nothing about the product)"),
        ],
    ),
    (
        "Where is poool.py?",
        [
            "locate insufficient_evidence none by rules",
            (
                "No 'poool.py' with enough evidence: no such file. Confidence is none because there "
                "is no FileSearch evidence for 'poool.py'."
            ),
            "terms poool.py",
            "gap FileSearch poool.py: has none, needs strong; no such file",
            "gap FileContent poool.py: has none, needs moderate; ",
            "near pool/pool.py:0 ",
            "find 'poool.py' → FileSearch none, 0 found (no such file)",
        ],
    ),
    (
        "Where is the deadline?",
        [
            "locate success high by rules",
            (
                "Confidence is high because the FileSearch evidence for 'deadline' is strong (exact "
                "word, 2 times in 1 file) (2 of 2 that were needed are met)."
            ),
            "terms deadline",
            "answer docs/refunds.md:5 ## Deadline",
            ("source docs/refunds.md:5 ## Deadline (grep: deadline, exact word, 2 times in 1 file (documentation))"),
            "references 'deadline' → FileSearch none, 0 found (no such symbol)",
            "find 'deadline' → FileSearch none, 0 found (no such file)",
            "grep 'deadline' → FileSearch strong, 2 found (exact word, 2 times in 1 file)",
            "read 'deadline' → FileContent strong, 1 found (the best candidate has it)",
        ],
    ),
    (
        "Who approves refunds?",
        [
            "locate success medium by rules",
            (
                "Confidence is medium because the FileContent evidence for 'approves refunds' is "
                "only moderate (the best candidate has it, by its words alone: no model has read it) "
                "(2 of 2 that were needed are met)."
            ),
            "terms approves refunds",
            "answer docs/refunds.md:3 Refunds are approved by the finance team within two days.",
            (
                "source docs/refunds.md:3 Refunds are approved by the finance team within two days. "
                "(passages: approves refunds, all of it within 10 lines (documentation))"
            ),
            "passages 'approves refunds' → FileSearch strong, 1 found (all of it within 10 lines)",
            (
                "read 'approves refunds' → FileContent moderate, 1 found (the best candidate has it, "
                "by its words alone: no model has read it)"
            ),
        ],
    ),
    (
        "How are idle connections closed?",
        [
            "explain insufficient_evidence low by rules",
            (
                "No 'idle connections closed' with enough evidence. Confidence is low because the "
                "FileContent evidence for 'idle connections closed' is only weak (found, and not "
                "read: a question of how or why needs a model (knowbound model)) (2 of 3 that were "
                "needed are met)."
            ),
            "terms idle connections closed",
            (
                "gap FileContent idle connections closed: has weak, needs moderate; found, and not "
                "read: a question of how or why needs a model (knowbound model)"
            ),
            "near pool/pool.py:13 # Idle connections are closed when the pool is full.",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near docs/setup.md:22 closing words",
            "near pool/uses.py:13 return [ConnectionPool(), ConnectionPool(), ConnectionPool()]",
            "near app.log:1 ConnectionPool failed",
            (
                "probable pool/pool.py:13 # Idle connections are closed when the pool is full. "
                "(found, and not read: a question of how or why needs a model (knowbound model))"
            ),
            ("passages 'idle connections closed' → FileSearch strong, 3 found (all of it within 10 lines)"),
            (
                "read 'idle connections closed' → FileContent weak, 2 found (found, and not read: a "
                "question of how or why needs a model (knowbound model))"
            ),
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
        ],
    ),
    (
        "Where is the nowhere thing?",
        [
            "locate insufficient_evidence none by rules",
            (
                "The question names nothing that could be looked for. Confidence is none because "
                "there is no FileSearch evidence."
            ),
            "terms ",
            "gap FileSearch : has none, needs strong; ",
            "gap FileContent : has none, needs moderate; ",
        ],
    ),
    (
        "Explain ConnectionPool",
        [
            "explain insufficient_evidence low by rules",
            (
                "No 'ConnectionPool' with enough evidence. Confidence is low because the FileContent "
                "evidence for 'ConnectionPool' is only weak (found, and not read: a question of how "
                "or why needs a model (knowbound model)) (2 of 3 that were needed are met)."
            ),
            "terms ConnectionPool",
            (
                "gap FileContent ConnectionPool: has weak, needs moderate; found, and not read: a "
                "question of how or why needs a model (knowbound model)"
            ),
            "near pool/pool.py:7 class ConnectionPool:",
            "near pool/uses.py:5 pool = ConnectionPool()",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near config.yml:1 # pool comment",
            "near README.md:3 A shop with a pool.",
            (
                "probable pool/pool.py:7 class ConnectionPool: (found, and not read: a question of "
                "how or why needs a model (knowbound model))"
            ),
            ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
            (
                "read 'ConnectionPool' → FileContent weak, 2 found (found, and not read: a question "
                "of how or why needs a model (knowbound model))"
            ),
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
        ],
    ),
    (
        "Compare ConnectionPool and Queue",
        [
            "compare insufficient_evidence low by rules",
            (
                "No 'ConnectionPool' with enough evidence. No 'Queue' with enough evidence. "
                "Confidence is low because the FileContent evidence for 'ConnectionPool' is only "
                "weak (found, and not read: a question of how or why needs a model (knowbound "
                "model)) (2 of 4 that were needed are met)."
            ),
            "terms ConnectionPool, Queue",
            (
                "gap FileContent ConnectionPool: has weak, needs moderate; found, and not read: a "
                "question of how or why needs a model (knowbound model)"
            ),
            (
                "gap FileContent Queue: has weak, needs moderate; found, and not read: a question of "
                "how or why needs a model (knowbound model)"
            ),
            "near pool/pool.py:7 class ConnectionPool:",
            "near pool/uses.py:5 pool = ConnectionPool()",
            "near web/queue.js:1 export class Queue {",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near config.yml:1 # pool comment",
            (
                "probable pool/pool.py:7 class ConnectionPool: (found, and not read: a question of "
                "how or why needs a model (knowbound model))"
            ),
            ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
            "references 'Queue' → FileSearch strong, 1 found (exact symbol, 1 definition, 0 uses)",
            (
                "read 'ConnectionPool' → FileContent weak, 2 found (found, and not read: a question "
                "of how or why needs a model (knowbound model))"
            ),
            (
                "read 'Queue' → FileContent weak, 1 found (found, and not read: a question of how or "
                "why needs a model (knowbound model))"
            ),
        ],
    ),
    (
        "Review retry_budget.py",
        [
            "review insufficient_evidence low by rules",
            (
                "No 'retry_budget.py' with enough evidence. Confidence is low because the "
                "FileContent evidence for 'retry_budget.py' is only weak (found, and not read: a "
                "question of how or why needs a model (knowbound model)) (2 of 3 that were needed "
                "are met)."
            ),
            "terms retry_budget.py",
            (
                "gap FileContent retry_budget.py: has weak, needs moderate; found, and not read: a "
                "question of how or why needs a model (knowbound model)"
            ),
            "near pool/retry_budget.py:0 retry_budget.py",
            "near docs/pool.md:7 - A retry costs one of five.",
            "near pool/uses.py:11 def _main():",
            (
                "probable pool/retry_budget.py:0 retry_budget.py (found, and not read: a question of "
                "how or why needs a model (knowbound model))"
            ),
            "find 'retry_budget.py' → FileSearch strong, 1 found (exact file name)",
            (
                "read 'retry_budget.py' → FileContent weak, 1 found (found, and not read: a question "
                "of how or why needs a model (knowbound model))"
            ),
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
        ],
    ),
    (
        "Where is it?",
        [
            "locate insufficient_evidence none by rules",
            (
                "The question names nothing that could be looked for. Confidence is none because "
                "there is no FileSearch evidence."
            ),
            "terms ",
            "gap FileSearch : has none, needs strong; ",
            "gap FileContent : has none, needs moderate; ",
        ],
    ),
    (
        "thanks!",
        ["chat success none by rules", "This is chat: nothing was asked that evidence could answer.", "terms "],
    ),
    (
        "What kind of project is this?",
        [
            "explain success high by rules",
            (
                "Confidence is high because the Discovery evidence is strong (python project; 7 "
                "source files; 1 test file; Python 6, JavaScript 1, TypeScript 1)."
            ),
            "terms ",
            ("answer .:0 Python project; 7 source files; 1 test file; Python 6, JavaScript 1, TypeScript 1"),
            (
                "source .:0  (tree scan: python project; 7 source files; 1 test file; Python 6, "
                "JavaScript 1, TypeScript 1)"
            ),
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
            "manifest scan 'project' → Discovery none, 0 found (no project manifest in the root)",
        ],
    ),
    (
        "Where is LockErrr?",
        [
            "locate insufficient_evidence none by rules",
            (
                "No 'LockErrr' with enough evidence: no match. Confidence is none because there is "
                "no FileSearch evidence for 'LockErrr'."
            ),
            "terms LockErrr",
            "gap FileSearch LockErrr: has none, needs strong; no match",
            "gap FileContent LockErrr: has none, needs moderate; ",
            "near pool/pool.py:2 from redis.exceptions import LockError",
            "references 'LockErrr' → FileSearch none, 0 found (no such symbol)",
            "find 'LockErrr' → FileSearch none, 0 found (no such file)",
            "grep 'LockErrr' → FileSearch none, 0 found (no match)",
        ],
    ),
    (
        "Where is lend in pool/uses.py?",
        [
            "locate success high by rules",
            (
                "Confidence is high because the FileSearch evidence for 'lend' is strong (exact file "
                "name) (4 of 4 that were needed are met; find and read agree on pool/uses.py)."
            ),
            "terms pool/uses.py, lend",
            "answer pool/uses.py:0 from pool.pool import ConnectionPool",
            ("source pool/uses.py:0 from pool.pool import ConnectionPool (find: pool/uses.py, exact file name)"),
            "find 'pool/uses.py' → FileSearch strong, 1 found (exact file name)",
            "references 'lend' → FileSearch none, 0 found (no such symbol)",
            "grep 'lend' → FileSearch strong, 2 found (exact word, 2 times in 1 file)",
            "read 'pool/uses.py' → FileContent strong, 1 found (the best candidate has it)",
            "planner → FileSearch verified: find and read agree on pool/uses.py",
            "planner → FileContent verified: find and read agree on pool/uses.py",
            "read 'lend' → FileContent strong, 1 found (the best candidate has it)",
        ],
    ),
    (
        "Where is LIMIT and BUDGET?",
        [
            "locate insufficient_evidence none by rules",
            (
                "No 'LIMIT BUDGET' with enough evidence: without limit. Confidence is none because "
                "there is no FileContent evidence for 'LIMIT BUDGET'."
            ),
            "terms LIMIT BUDGET",
            "gap FileSearch LIMIT BUDGET: has weak, needs strong; without limit",
            "gap FileContent LIMIT BUDGET: has none, needs moderate; ",
            "near pool/retry_budget.py:5 budget = BUDGET - retry",
            "near docs/pool.md:5 ## Retry budget",
            "near web/types.ts:9 export const limits = { 'user-limit': 3 };",
            "near pool/pool.py:10 size = LIMIT",
            "near config.yml:1 # pool comment",
            "passages 'LIMIT BUDGET' → FileSearch weak, 7 found (without limit)",
        ],
    ),
    (
        "Who calls nobody_here?",
        [
            "navigate insufficient_evidence none by rules",
            (
                "No 'nobody_here' with enough evidence: only single words of it. Confidence is none "
                "because there is no FileContent evidence for 'nobody_here'."
            ),
            "terms nobody_here",
            "gap FileSearch nobody_here: has weak, needs strong; only single words of it",
            "gap FileContent nobody_here: has none, needs moderate; ",
            "near docs/setup.md:20 second line here",
            "near tests/test_pool.py:6 only_here()",
            "references 'nobody_here' → FileSearch none, 0 found (no such symbol)",
            "grep 'nobody_here' → FileSearch weak, 1 found (only single words of it)",
        ],
    ),
    (
        "Where is pool?",
        [
            "locate success high by rules",
            (
                "Confidence is high because the FileSearch evidence for 'pool' is strong (exact "
                "word, 15 times in 6 files) (2 of 2 that were needed are met)."
            ),
            "terms pool",
            "answer pool/pool.py:13 # Idle connections are closed when the pool is full.",
            (
                "source pool/pool.py:13 # Idle connections are closed when the pool is full. (grep: "
                "pool, exact word, 15 times in 6 files)"
            ),
            ("source pool/uses.py:5 pool = ConnectionPool() (grep: pool, exact word, 15 times in 6 files)"),
            ("source docs/pool.md:1 # Pool (grep: pool, exact word, 15 times in 6 files (documentation))"),
            ("source README.md:3 A shop with a pool. (grep: pool, exact word, 15 times in 6 files (documentation))"),
            ("source config.yml:1 # pool comment (grep: pool, exact word, 15 times in 6 files (built))"),
            (
                "source tests/test_pool.py:1 from pool.pool import ConnectionPool (grep: pool, exact "
                "word, 15 times in 6 files (a test))"
            ),
            "references 'pool' → FileSearch none, 0 found (no such symbol)",
            "find 'pool' → FileSearch moderate, 3 found (exact file name)",
            "read 'pool' → FileContent weak, 3 found (a file name says nothing of what is in it)",
            "grep 'pool' → FileSearch strong, 15 found (exact word, 15 times in 6 files)",
            "read 'pool' → FileContent strong, 4 found (the best candidate has it)",
        ],
    ),
    (
        'Where is "connections"?',
        [
            "locate success medium by rules",
            (
                "Confidence is medium because the FileContent evidence for 'connections' is only "
                "moderate (a later candidate has it) (2 of 2 that were needed are met)."
            ),
            "terms connections",
            ("answer docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            (
                "source docs/pool.md:3 The pool lends connections. It closes idle ones after 30 "
                "seconds. (grep: connections, exact identifier, 3 times in 2 files (documentation))"
            ),
            (
                'source pool/pool.py:8 """Keeps connections open for those who come next.""" (grep: '
                "connections, exact identifier, 3 times in 2 files)"
            ),
            ("references 'connections' → FileSearch moderate, 3 found (named in text, neither defined nor used)"),
            "read 'connections' → FileContent moderate, 1 found (a later candidate has it)",
            "find 'connections' → FileSearch none, 0 found (no such file)",
            ("grep 'connections' → FileSearch strong, 3 found (exact identifier, 3 times in 2 files)"),
        ],
    ),
    (
        "Who calls lend and close?",
        [
            "navigate success medium by rules",
            (
                "Confidence is medium because the FileContent evidence for 'lend close' is only "
                "moderate (the best candidate has it, by its words alone: no model has read it) (2 "
                "of 2 that were needed are met)."
            ),
            "terms lend close",
            "answer pool/pool.py:17 def lend(self, timeout):",
            ("source pool/pool.py:17 def lend(self, timeout): (passages: lend close, all of it within 10 lines)"),
            (
                "source docs/pool.md:3 The pool lends connections. It closes idle ones after 30 "
                "seconds. (passages: lend close, all of it within 10 lines (documentation))"
            ),
            "passages 'lend close' → FileSearch strong, 2 found (all of it within 10 lines)",
            (
                "read 'lend close' → FileContent moderate, 1 found (the best candidate has it, by "
                "its words alone: no model has read it)"
            ),
        ],
    ),
    (
        "Who uses LockError?",
        [
            "navigate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: read and grep "
                "agree on LockError in pool/pool.py."
            ),
            "terms LockError",
            "answer pool/pool.py:19 raise LockError(timeout)",
            ("source pool/pool.py:19 raise LockError(timeout) (references: call in ConnectionPool.lend)"),
            (
                "source pool/pool.py:2 from redis.exceptions import LockError (references: import at "
                "the top of the file)"
            ),
            "references 'LockError' → FileSearch moderate, 2 found (1 use, 1 import)",
            "read 'LockError' → FileContent strong, 1 found (the best candidate has it)",
            "grep 'LockError' → FileSearch strong, 2 found (exact identifier, 2 times in 1 file)",
            "planner → FileContent verified: read and grep agree on LockError in pool/pool.py",
            "planner → FileSearch verified: read and grep agree on LockError in pool/pool.py",
        ],
    ),
    (
        "Who calls userSession?",
        [
            "navigate insufficient_evidence medium by rules",
            (
                "No 'userSession' with enough evidence: defined here, but no use of it was found: "
                "exact identifier, 2 times in 1 file. Confidence is medium because the FileSearch "
                "evidence for 'userSession' is only moderate (1 use, 0 imports) (1 of 2 that were "
                "needed are met)."
            ),
            "terms userSession",
            (
                "gap FileSearch userSession: has moderate, needs strong; defined here, but no use of "
                "it was found: exact identifier, 2 times in 1 file"
            ),
            "near web/types.ts:7 const user_session = userSession();",
            (
                "probable web/types.ts:7 const user_session = userSession(); (defined here, but no "
                "use of it was found: exact identifier, 2 times in 1 file)"
            ),
            "references 'userSession' → FileSearch moderate, 2 found (1 use, 0 imports)",
            (
                "read 'userSession' → FileContent moderate, 1 found (the best candidate has it, in "
                "one line that the search found, too)"
            ),
            (
                "grep 'userSession' → FileSearch moderate, 2 found (defined here, but no use of it "
                "was found: exact identifier, 2 times in 1 file)"
            ),
        ],
    ),
    (
        "Who uses UserSession?",
        [
            "navigate insufficient_evidence medium by rules",
            (
                "No 'UserSession' with enough evidence: defined here, but no use of it was found: "
                "exact identifier, 2 times in 1 file. Confidence is medium because the FileSearch "
                "evidence for 'UserSession' is only moderate (1 use, 0 imports) (1 of 2 that were "
                "needed are met)."
            ),
            "terms UserSession",
            (
                "gap FileSearch UserSession: has moderate, needs strong; defined here, but no use of "
                "it was found: exact identifier, 2 times in 1 file"
            ),
            "near web/types.ts:4 function userSession(): UserSession {",
            (
                "probable web/types.ts:4 function userSession(): UserSession { (defined here, but no "
                "use of it was found: exact identifier, 2 times in 1 file)"
            ),
            "references 'UserSession' → FileSearch moderate, 2 found (1 use, 0 imports)",
            "read 'UserSession' → FileContent strong, 1 found (the best candidate has it)",
            (
                "grep 'UserSession' → FileSearch moderate, 2 found (defined here, but no use of it "
                "was found: exact identifier, 2 times in 1 file)"
            ),
        ],
    ),
    (
        "Where is ol.py?",
        [
            "locate insufficient_evidence none by rules",
            (
                "No 'ol.py' with enough evidence: no such file. Confidence is none because there is "
                "no FileSearch evidence for 'ol.py'."
            ),
            "terms ol.py",
            "gap FileSearch ol.py: has none, needs strong; no such file",
            "gap FileContent ol.py: has none, needs moderate; ",
            "near pool/pool.py:0 ",
            "near vendor/lib.py:0 ",
            "find 'ol.py' → FileSearch none, 0 found (no such file)",
        ],
    ),
    (
        "Where is typ.ts?",
        [
            "locate insufficient_evidence none by rules",
            (
                "No 'typ.ts' with enough evidence: only single words of it in file names. Confidence "
                "is none because there is no FileContent evidence for 'typ.ts'."
            ),
            "terms typ.ts",
            "gap FileSearch typ.ts: has weak, needs strong; only single words of it in file names",
            "gap FileContent typ.ts: has none, needs moderate; ",
            "near web/types.ts:0 ",
            "near web/queue.js:1 export class Queue {",
            "near pool/pool.py:7 class ConnectionPool:",
            "probable web/types.ts:0  (only single words of it in file names)",
            "find 'typ.ts' → FileSearch weak, 1 found (only single words of it in file names)",
        ],
    ),
    (
        "Where is the user session?",
        [
            "locate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: references and "
                "read agree on UserSession in web/types.ts."
            ),
            "terms user session",
            "answer web/types.ts:1 interface UserSession {",
            (
                "source web/types.ts:1 interface UserSession { (references: user session, exact "
                "symbol, 3 definitions, 2 uses)"
            ),
            ("references 'user session' → FileSearch strong, 5 found (exact symbol, 3 definitions, 2 uses)"),
            "read 'user session' → FileContent strong, 1 found (the best candidate has it)",
            ("planner → FileSearch verified: references and read agree on UserSession in web/types.ts"),
            ("planner → FileContent verified: references and read agree on UserSession in web/types.ts"),
        ],
    ),
    (
        "Where is token refresh weekly?",
        [
            "locate success medium by rules",
            (
                "Confidence is medium because the FileContent evidence for 'token refresh weekly' is "
                "only moderate (the best candidate has it, by its words alone: no model has read it) "
                "(2 of 2 that were needed are met)."
            ),
            "terms token refresh weekly",
            "answer docs/setup.md:13 | token | refresh weekly |",
            (
                "source docs/setup.md:13 | token | refresh weekly | (passages: token refresh weekly, "
                "all of it within 10 lines (documentation))"
            ),
            ("passages 'token refresh weekly' → FileSearch strong, 1 found (all of it within 10 lines)"),
            (
                "read 'token refresh weekly' → FileContent moderate, 1 found (the best candidate has "
                "it, by its words alone: no model has read it)"
            ),
        ],
    ),
    (
        "Where is the token zebra refresh?",
        [
            "locate insufficient_evidence none by rules",
            (
                "No 'token zebra refresh' with enough evidence: without zebra. Confidence is none "
                "because there is no FileContent evidence for 'token zebra refresh'."
            ),
            "terms token zebra refresh",
            "gap FileSearch token zebra refresh: has weak, needs strong; without zebra",
            "gap FileContent token zebra refresh: has none, needs moderate; ",
            "near docs/setup.md:13 | token | refresh weekly |",
            "near CHANGELOG.md:3 - Added zebra striping.",
            "probable docs/setup.md:13 | token | refresh weekly | (without zebra)",
            "passages 'token zebra refresh' → FileSearch weak, 2 found (without zebra)",
        ],
    ),
    (
        "Where is binary signed with the missing key?",
        [
            "locate insufficient_evidence none by rules",
            (
                "No 'binary signed missing key' with enough evidence: without missing. Confidence is "
                "none because there is no FileContent evidence for 'binary signed missing key'."
            ),
            "terms binary signed missing key",
            "gap FileSearch binary signed missing key: has weak, needs strong; without missing",
            "gap FileContent binary signed missing key: has none, needs moderate; ",
            "near docs/setup.md:16 2. sign binary",
            "near web/types.ts:1 interface UserSession {",
            "probable docs/setup.md:16 2. sign binary (without missing)",
            "passages 'binary signed missing key' → FileSearch weak, 3 found (without missing)",
        ],
    ),
    (
        "Is it dirty?",
        [
            "locate insufficient_evidence none by rules",
            (
                "No 'dirty' with enough evidence: no match. Confidence is none because there is no "
                "FileSearch evidence for 'dirty'."
            ),
            "terms dirty",
            "gap FileSearch dirty: has none, needs strong; no match",
            "gap FileContent dirty: has none, needs moderate; ",
            "references 'dirty' → FileSearch none, 0 found (no such symbol)",
            "find 'dirty' → FileSearch none, 0 found (no such file)",
            "grep 'dirty' → FileSearch none, 0 found (no match)",
        ],
    ),
    (
        "How many retries?",
        [
            "locate success high by rules",
            (
                "Confidence is high because the FileSearch evidence for 'retries' is strong (exact "
                "word, 4 times in 2 files) (2 of 2 that were needed are met)."
            ),
            "terms retries",
            "answer pool/retry_budget.py:4 def spend(retry):",
            ("source pool/retry_budget.py:4 def spend(retry): (grep: retries, exact word, 4 times in 2 files)"),
            ("source docs/pool.md:5 ## Retry budget (grep: retries, exact word, 4 times in 2 files (documentation))"),
            "references 'retries' → FileSearch none, 0 found (no such symbol)",
            "find 'retries' → FileSearch weak, 1 found (only single words of it in file names)",
            "grep 'retries' → FileSearch strong, 4 found (exact word, 4 times in 2 files)",
            "read 'retries' → FileContent strong, 2 found (the best candidate has it)",
        ],
    ),
    (
        "Where is ConnectionPool tested?",
        [
            "locate insufficient_evidence medium by rules",
            (
                "No 'ConnectionPool tested' with enough evidence: all of it, but only in a test or "
                "in vendored code. Confidence is medium because the FileSearch evidence for "
                "'ConnectionPool tested' is only moderate (all of it, but only in a test or in "
                "vendored code) (1 of 2 that were needed are met)."
            ),
            "terms ConnectionPool tested",
            (
                "gap FileSearch ConnectionPool tested: has moderate, needs strong; all of it, but "
                "only in a test or in vendored code"
            ),
            "near pool/pool.py:7 class ConnectionPool:",
            "near tests/test_pool.py:5 replay_journal = ConnectionPool()",
            "near pool/uses.py:5 pool = ConnectionPool()",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near config.yml:1 # pool comment",
            ("probable pool/pool.py:7 class ConnectionPool: (all of it, but only in a test or in vendored code)"),
            (
                "passages 'ConnectionPool tested' → FileSearch moderate, 2 found (all of it, but "
                "only in a test or in vendored code)"
            ),
            (
                "read 'ConnectionPool tested' → FileContent moderate, 1 found (the best candidate "
                "has it, by its words alone: no model has read it)"
            ),
        ],
    ),
    (
        "Where is pool.md?",
        [
            "locate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: find and read "
                "agree on docs/pool.md."
            ),
            "terms pool.md",
            ("answer docs/pool.md:0 The pool lends connections. It closes idle ones after 30 seconds."),
            (
                "source docs/pool.md:0 The pool lends connections. It closes idle ones after 30 "
                "seconds. (find: pool.md, exact file name (documentation))"
            ),
            "find 'pool.md' → FileSearch strong, 1 found (exact file name)",
            "read 'pool.md' → FileContent strong, 1 found (the best candidate has it)",
            "planner → FileSearch verified: find and read agree on docs/pool.md",
            "planner → FileContent verified: find and read agree on docs/pool.md",
        ],
    ),
    (
        "Which document mentions refunds?",
        [
            "locate insufficient_evidence none by rules",
            (
                "No 'mentions refunds' with enough evidence: without mentions. Confidence is none "
                "because there is no FileContent evidence for 'mentions refunds'."
            ),
            "terms mentions refunds",
            "gap FileSearch mentions refunds: has weak, needs strong; without mentions",
            "gap FileContent mentions refunds: has none, needs moderate; ",
            "near docs/refunds.md:3 Refunds are approved by the finance team within two days.",
            "passages 'mentions refunds' → FileSearch weak, 2 found (without mentions)",
        ],
    ),
    (
        "Does it build?",
        [
            "execute insufficient_evidence none by rules",
            "Confidence is none because there is no Build evidence.",
            "terms build",
            "gap Build : has none, needs strong; ",
            "near docs/setup.md:1 # Setup",
        ],
    ),
    (
        "Do the tests pass?",
        [
            "execute insufficient_evidence none by rules",
            "Confidence is none because there is no Test evidence.",
            "terms tests pass",
            "gap Test : has none, needs strong; ",
            "near tests/test_pool.py:4 def test_it():",
        ],
    ),
    (
        "Is CI green?",
        [
            "status insufficient_evidence none by rules",
            "Confidence is none because there is no CIWorkflow evidence.",
            "terms CI green",
            "gap CIWorkflow : has none, needs strong; ",
        ],
    ),
    (
        "Why does CI fail?",
        [
            "diagnose insufficient_evidence none by rules",
            (
                "No '.github/workflows/' with enough evidence: no such file. Confidence is none "
                "because there is no FileSearch evidence for '.github/workflows/'."
            ),
            "terms .github/workflows/",
            "gap FileSearch .github/workflows/: has none, needs strong; no such file",
            "gap FileContent .github/workflows/: has none, needs moderate; ",
            "gap CIWorkflow : has none, needs strong; ",
            "find '.github/workflows/' → FileSearch none, 0 found (no such file)",
        ],
    ),
    (
        "What was the last commit?",
        [
            "status insufficient_evidence none by rules",
            "Confidence is none because there is no GitLog evidence.",
            "terms ",
            "gap GitLog : has none, needs moderate; ",
        ],
    ),
    (
        "Add a flag to ConnectionPool",
        [
            "modify insufficient_evidence none by rules",
            (
                "No 'ConnectionPool Add' with enough evidence: without add. Confidence is none "
                "because there is no FileContent evidence for 'ConnectionPool Add'."
            ),
            "terms ConnectionPool Add",
            "gap FileSearch ConnectionPool Add: has weak, needs strong; without add",
            "gap FileContent ConnectionPool Add: has none, needs strong; ",
            "gap Build : has none, needs verified; ",
            "gap Test : has none, needs verified; ",
            "near pool/pool.py:7 class ConnectionPool:",
            'near pool/options.py:3 parser.add_argument("--dry-run", help="dry run")',
            "near pool/uses.py:5 pool = ConnectionPool()",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near config.yml:1 # pool comment",
            "probable pool/pool.py:7 class ConnectionPool: (without add)",
            "passages 'ConnectionPool Add' → FileSearch weak, 19 found (without add)",
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
        ],
    ),
]


@pytest.mark.parametrize("start", range(0, len(BY_RULES), 3))
def test_a_question_is_answered_by_rules_or_says_what_is_missing(root: Path, start: int) -> None:
    for question, answer in BY_RULES[start : start + 3]:
        assert answered(investigate(question, root, producers=TOOLS)) == answer, question


@pytest.mark.parametrize(
    ("question", "terms", "answer"),
    [
        (
            "Where do we throttle?",
            ["ConnectionPool"],
            [
                "locate insufficient_evidence none by rules",
                (
                    "No 'throttle' with enough evidence: no match. Confidence is none because there is "
                    "no FileSearch evidence for 'throttle'."
                ),
                "terms throttle, ConnectionPool",
                "gap FileSearch throttle: has none, needs strong; no match",
                "gap FileContent throttle: has none, needs moderate; ",
                "near pool/pool.py:7 class ConnectionPool:",
                "near pool/uses.py:5 pool = ConnectionPool()",
                ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
                "near web/types.ts:9 export const limits = { 'user-limit': 3 };",
                "near config.yml:1 # pool comment",
                "probable pool/pool.py:7 class ConnectionPool: (no match)",
                "references 'throttle' → FileSearch none, 0 found (no such symbol)",
                "find 'throttle' → FileSearch none, 0 found (no such file)",
                "grep 'throttle' → FileSearch none, 0 found (no match)",
                ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
            ],
        ),
        (
            "Where is ConnectionPool?",
            ["pool limit"],
            [
                "locate success complete by rules",
                (
                    "Confidence is complete because all 2 that were needed are verified: references and "
                    "read agree on ConnectionPool in pool/pool.py."
                ),
                "terms ConnectionPool, pool limit",
                "answer pool/pool.py:7 class ConnectionPool:",
                (
                    "source pool/pool.py:7 class ConnectionPool: (references: ConnectionPool, exact "
                    "symbol, 1 definition, 7 uses)"
                ),
                (
                    "source pool/uses.py:5 pool = ConnectionPool() (references: ConnectionPool, exact "
                    "symbol, 1 definition, 7 uses)"
                ),
                (
                    "source app.log:1 ConnectionPool failed (references: ConnectionPool, exact symbol, 1 "
                    "definition, 7 uses (built))"
                ),
                (
                    "source tests/test_pool.py:5 replay_journal = ConnectionPool() (references: "
                    "ConnectionPool, exact symbol, 1 definition, 7 uses (a test))"
                ),
                ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
                "read 'ConnectionPool' → FileContent strong, 2 found (the best candidate has it)",
                ("planner → FileSearch verified: references and read agree on ConnectionPool in pool/pool.py"),
                ("planner → FileContent verified: references and read agree on ConnectionPool in pool/pool.py"),
            ],
        ),
        (
            "Where is the nowhere thing?",
            ["pool_size", "LIMIT"],
            [
                "locate success complete by rules",
                (
                    "Confidence is complete because all 2 that were needed are verified: references and "
                    "read agree on pool_size in pool/pool.py."
                ),
                "terms pool_size, LIMIT",
                'answer pool/pool.py:18 if "pool_size" in self.settings:',
                (
                    'source pool/pool.py:18 if "pool_size" in self.settings: (references: pool_size, '
                    "exact symbol, 0 definitions, 1 use)"
                ),
                ("references 'pool_size' → FileSearch strong, 1 found (exact symbol, 0 definitions, 1 use)"),
                "read 'pool_size' → FileContent strong, 1 found (the best candidate has it)",
                ("planner → FileSearch verified: references and read agree on pool_size in pool/pool.py"),
                ("planner → FileContent verified: references and read agree on pool_size in pool/pool.py"),
            ],
        ),
    ],
)
def test_proposed_terms_widen_what_is_shown(root: Path, question: str, terms: list[str], answer: list[str]) -> None:
    assert answered(investigate(question, root, terms=terms, producers=TOOLS)) == answer


@pytest.mark.parametrize(
    ("calls", "answer"),
    [
        (
            0,
            [
                "locate insufficient_evidence none by rules",
                (
                    "No 'ConnectionPool' with enough evidence. Confidence is none because there is no "
                    "FileSearch evidence for 'ConnectionPool'."
                ),
                "terms ConnectionPool",
                "gap FileSearch ConnectionPool: has none, needs strong; ",
                "gap FileContent ConnectionPool: has none, needs moderate; ",
                "near pool/pool.py:7 class ConnectionPool:",
                "near pool/uses.py:5 pool = ConnectionPool()",
                ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
                "near config.yml:1 # pool comment",
                "near README.md:3 A shop with a pool.",
                "probable pool/pool.py:7 class ConnectionPool: (the evidence is not enough)",
                "note Collecting stopped because 0 calls were made.",
                "stopped: 0 calls were made",
            ],
        ),
        (
            1,
            [
                "locate insufficient_evidence none by rules",
                (
                    "No 'ConnectionPool' with enough evidence. Confidence is none because there is no "
                    "FileContent evidence for 'ConnectionPool'."
                ),
                "terms ConnectionPool",
                "gap FileContent ConnectionPool: has none, needs moderate; ",
                "near pool/pool.py:7 class ConnectionPool:",
                "near pool/uses.py:5 pool = ConnectionPool()",
                ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
                "near config.yml:1 # pool comment",
                "near README.md:3 A shop with a pool.",
                "probable pool/pool.py:7 class ConnectionPool: (the evidence is not enough)",
                "note Collecting stopped because 1 calls were made.",
                ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
                "stopped: 1 calls were made",
            ],
        ),
        (
            2,
            [
                "locate success complete by rules",
                (
                    "Confidence is complete because all 2 that were needed are verified: references and "
                    "read agree on ConnectionPool in pool/pool.py."
                ),
                "terms ConnectionPool",
                "answer pool/pool.py:7 class ConnectionPool:",
                (
                    "source pool/pool.py:7 class ConnectionPool: (references: ConnectionPool, exact "
                    "symbol, 1 definition, 7 uses)"
                ),
                (
                    "source pool/uses.py:5 pool = ConnectionPool() (references: ConnectionPool, exact "
                    "symbol, 1 definition, 7 uses)"
                ),
                (
                    "source app.log:1 ConnectionPool failed (references: ConnectionPool, exact symbol, 1 "
                    "definition, 7 uses (built))"
                ),
                (
                    "source tests/test_pool.py:5 replay_journal = ConnectionPool() (references: "
                    "ConnectionPool, exact symbol, 1 definition, 7 uses (a test))"
                ),
                ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
                "read 'ConnectionPool' → FileContent strong, 2 found (the best candidate has it)",
                ("planner → FileSearch verified: references and read agree on ConnectionPool in pool/pool.py"),
                ("planner → FileContent verified: references and read agree on ConnectionPool in pool/pool.py"),
            ],
        ),
        (
            3,
            [
                "locate success complete by rules",
                (
                    "Confidence is complete because all 2 that were needed are verified: references and "
                    "read agree on ConnectionPool in pool/pool.py."
                ),
                "terms ConnectionPool",
                "answer pool/pool.py:7 class ConnectionPool:",
                (
                    "source pool/pool.py:7 class ConnectionPool: (references: ConnectionPool, exact "
                    "symbol, 1 definition, 7 uses)"
                ),
                (
                    "source pool/uses.py:5 pool = ConnectionPool() (references: ConnectionPool, exact "
                    "symbol, 1 definition, 7 uses)"
                ),
                (
                    "source app.log:1 ConnectionPool failed (references: ConnectionPool, exact symbol, 1 "
                    "definition, 7 uses (built))"
                ),
                (
                    "source tests/test_pool.py:5 replay_journal = ConnectionPool() (references: "
                    "ConnectionPool, exact symbol, 1 definition, 7 uses (a test))"
                ),
                ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
                "read 'ConnectionPool' → FileContent strong, 2 found (the best candidate has it)",
                ("planner → FileSearch verified: references and read agree on ConnectionPool in pool/pool.py"),
                ("planner → FileContent verified: references and read agree on ConnectionPool in pool/pool.py"),
            ],
        ),
    ],
)
def test_collecting_stops_at_the_number_of_calls(root: Path, calls: int, answer: list[str]) -> None:
    assert answered(investigate("Where is ConnectionPool?", root, calls=calls, producers=TOOLS)) == answer


BY_MODEL: list[tuple[str, list[object], list[str]]] = [
    (
        "How are idle connections closed?",
        [
            PlanAnswer(Intent.EXPLAIN, ["idle connections", "close_idle"]),
            ReadAnswer([ReadSentence("One  by one.", 1, "for one in self.idle:\n            one.close()")], [], 0),
        ],
        [
            "explain success high by m",
            (
                "Confidence is high because the kind of project is shown by one scan alone; the "
                "FileSearch evidence is verified (passages and model agree on close_idle in "
                "pool/pool.py) (3 of 3 that were needed are met)."
            ),
            "terms idle connections closed, idle connections, close_idle",
            "answer pool/pool.py:14 One by one.",
            "source pool/pool.py:14 for one in self.idle: (read: One by one.)",
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
            "manifest scan 'project' → Discovery none, 0 found (no project manifest in the root)",
            ("passages 'idle connections closed' → FileSearch strong, 3 found (all of it within 10 lines)"),
            "references 'idle connections' → FileSearch none, 0 found (no such symbol)",
            "find 'idle connections' → FileSearch none, 0 found (no such file)",
            ("grep 'idle connections' → FileSearch strong, 1 found (exact phrase, 1 time in 1 file)"),
            ("references 'close_idle' → FileSearch strong, 2 found (exact symbol, 1 definition, 1 use)"),
            ("model 'idle connections closed' → FileContent strong, 1 found (read, and quoted from pool/pool.py:14)"),
            ("planner → FileSearch verified: passages and model agree on close_idle in pool/pool.py"),
            ("planner → FileContent verified: passages and model agree on close_idle in pool/pool.py"),
        ],
    ),
    (
        "How are idle connections closed?",
        [
            PlanAnswer(Intent.EXPLAIN, ["idle connections", "close_idle"]),
            ReadAnswer(
                [
                    ReadSentence("One by one.", 2, "for one in self.idle:"),
                    ReadSentence("After 30 s.", 1, "It closes idle ones after 30 seconds."),
                ],
                [],
                0,
            ),
        ],
        [
            "explain success high by m",
            (
                "Confidence is high because the kind of project is shown by one scan alone; the "
                "FileSearch evidence is verified (passages and model agree on close_idle in "
                "pool/pool.py) (3 of 3 that were needed are met)."
            ),
            "terms idle connections closed, idle connections, close_idle",
            "answer pool/pool.py:14 One by one. [1] After 30 s. [2]",
            "source pool/pool.py:14 for one in self.idle: (read: One by one.)",
            (
                "source docs/pool.md:3 The pool lends connections. It closes idle ones after 30 "
                "seconds. (read: After 30 s.)"
            ),
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
            "manifest scan 'project' → Discovery none, 0 found (no project manifest in the root)",
            ("passages 'idle connections closed' → FileSearch strong, 3 found (all of it within 10 lines)"),
            "references 'idle connections' → FileSearch none, 0 found (no such symbol)",
            "find 'idle connections' → FileSearch none, 0 found (no such file)",
            ("grep 'idle connections' → FileSearch strong, 1 found (exact phrase, 1 time in 1 file)"),
            ("references 'close_idle' → FileSearch strong, 2 found (exact symbol, 1 definition, 1 use)"),
            ("model 'idle connections closed' → FileContent strong, 1 found (read, and quoted from pool/pool.py:14)"),
            ("planner → FileSearch verified: passages and model agree on close_idle in pool/pool.py"),
            ("planner → FileContent verified: passages and model agree on close_idle in pool/pool.py"),
            ("model 'idle connections closed' → FileContent strong, 1 found (read, and quoted from docs/pool.md:3)"),
        ],
    ),
    (
        "How are idle connections closed?",
        [
            PlanAnswer(Intent.EXPLAIN, ["zebra"]),
            ReadAnswer([], ["close_idle"], 1),
            ReadAnswer([ReadSentence("One by one.", 1, "for one in self.idle:")], [], 0),
        ],
        [
            "explain insufficient_evidence low by m",
            (
                "No passage that was read answers it. Confidence is low because the FileContent "
                "evidence is only weak (a model read the passages that were found, and none of them "
                "answers) (2 of 3 that were needed are met)."
            ),
            "terms idle connections closed, zebra",
            (
                "gap FileContent : has weak, needs moderate; a model read the passages that were "
                "found, and none of them answers"
            ),
            "near pool/pool.py:13 # Idle connections are closed when the pool is full.",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near docs/setup.md:22 closing words",
            "near pool/uses.py:13 return [ConnectionPool(), ConnectionPool(), ConnectionPool()]",
            "near CHANGELOG.md:3 - Added zebra striping.",
            (
                "probable pool/pool.py:13 # Idle connections are closed when the pool is full. (a "
                "model read the passages that were found, and none of them answers)"
            ),
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
            "manifest scan 'project' → Discovery none, 0 found (no project manifest in the root)",
            ("passages 'idle connections closed' → FileSearch strong, 3 found (all of it within 10 lines)"),
            "references 'zebra' → FileSearch none, 0 found (no such symbol)",
            "find 'zebra' → FileSearch none, 0 found (no such file)",
            ("grep 'zebra' → FileSearch moderate, 1 found (only in a changelog: exact word, 1 time in 1 file)"),
            ("references 'close_idle' → FileSearch strong, 2 found (exact symbol, 1 definition, 1 use)"),
            ("model → FileContent weak, 0 found (a model read the passages that were found, and none of them answers)"),
        ],
    ),
    (
        "How are idle connections closed?",
        [PlanAnswer(Intent.EXPLAIN, ["close_idle"]), ReadAnswer([], [], 2)],
        [
            "explain insufficient_evidence low by m",
            (
                "No passage that was read answers it. Confidence is low because the FileContent "
                "evidence is only weak (a model read the passages that were found, and none of them "
                "answers) (2 of 3 that were needed are met)."
            ),
            "terms idle connections closed, close_idle",
            (
                "gap FileContent : has weak, needs moderate; a model read the passages that were "
                "found, and none of them answers"
            ),
            "near pool/pool.py:20 return self.close_idle()",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near docs/setup.md:22 closing words",
            "near pool/uses.py:13 return [ConnectionPool(), ConnectionPool(), ConnectionPool()]",
            "near app.log:1 ConnectionPool failed",
            (
                "probable pool/pool.py:20 return self.close_idle() (a model read the passages that "
                "were found, and none of them answers)"
            ),
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
            "manifest scan 'project' → Discovery none, 0 found (no project manifest in the root)",
            ("passages 'idle connections closed' → FileSearch strong, 3 found (all of it within 10 lines)"),
            ("references 'close_idle' → FileSearch strong, 2 found (exact symbol, 1 definition, 1 use)"),
            ("model → FileContent weak, 0 found (a model read the passages that were found, and none of them answers)"),
        ],
    ),
    (
        "How are idle connections closed?",
        [
            PlanAnswer(Intent.EXPLAIN, ["close_idle"]),
            ReadAnswer([ReadSentence("x", 1, "no such words are there")], ["zebra"], 0),
        ],
        [
            "explain insufficient_evidence low by rules",
            (
                "No 'idle connections closed' with enough evidence. Confidence is low because the "
                "FileContent evidence for 'idle connections closed' is only weak (found, and not "
                "read: a question of how or why needs a model (knowbound model)) (2 of 3 that were "
                "needed are met)."
            ),
            "terms idle connections closed, close_idle",
            (
                "gap FileContent idle connections closed: has weak, needs moderate; found, and not "
                "read: a question of how or why needs a model (knowbound model)"
            ),
            "near pool/pool.py:12 def close_idle(self):",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near docs/setup.md:22 closing words",
            "near pool/uses.py:13 return [ConnectionPool(), ConnectionPool(), ConnectionPool()]",
            "near app.log:1 ConnectionPool failed",
            (
                "probable pool/pool.py:12 def close_idle(self): (found, and not read: a question of "
                "how or why needs a model (knowbound model))"
            ),
            "note The model gave no reading: no answer.",
            ("passages 'idle connections closed' → FileSearch strong, 3 found (all of it within 10 lines)"),
            (
                "read 'idle connections closed' → FileContent weak, 2 found (found, and not read: a "
                "question of how or why needs a model (knowbound model))"
            ),
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
            ("references 'close_idle' → FileSearch strong, 2 found (exact symbol, 1 definition, 1 use)"),
        ],
    ),
    (
        "How are idle connections closed?",
        [PlanAnswer(Intent.EXPLAIN, ["close_idle"]), None],
        [
            "explain insufficient_evidence low by rules",
            (
                "No 'idle connections closed' with enough evidence. Confidence is low because the "
                "FileContent evidence for 'idle connections closed' is only weak (found, and not "
                "read: a question of how or why needs a model (knowbound model)) (2 of 3 that were "
                "needed are met)."
            ),
            "terms idle connections closed, close_idle",
            (
                "gap FileContent idle connections closed: has weak, needs moderate; found, and not "
                "read: a question of how or why needs a model (knowbound model)"
            ),
            "near pool/pool.py:12 def close_idle(self):",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near docs/setup.md:22 closing words",
            "near pool/uses.py:13 return [ConnectionPool(), ConnectionPool(), ConnectionPool()]",
            "near app.log:1 ConnectionPool failed",
            (
                "probable pool/pool.py:12 def close_idle(self): (found, and not read: a question of "
                "how or why needs a model (knowbound model))"
            ),
            "note The model gave no reading: no answer.",
            ("passages 'idle connections closed' → FileSearch strong, 3 found (all of it within 10 lines)"),
            (
                "read 'idle connections closed' → FileContent weak, 2 found (found, and not read: a "
                "question of how or why needs a model (knowbound model))"
            ),
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
            ("references 'close_idle' → FileSearch strong, 2 found (exact symbol, 1 definition, 1 use)"),
        ],
    ),
    (
        "How are idle connections closed?",
        [None],
        [
            "explain insufficient_evidence low by rules",
            (
                "No 'idle connections closed' with enough evidence. Confidence is low because the "
                "FileContent evidence for 'idle connections closed' is only weak (found, and not "
                "read: a question of how or why needs a model (knowbound model)) (2 of 3 that were "
                "needed are met)."
            ),
            "terms idle connections closed",
            (
                "gap FileContent idle connections closed: has weak, needs moderate; found, and not "
                "read: a question of how or why needs a model (knowbound model)"
            ),
            "near pool/pool.py:13 # Idle connections are closed when the pool is full.",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near docs/setup.md:22 closing words",
            "near pool/uses.py:13 return [ConnectionPool(), ConnectionPool(), ConnectionPool()]",
            "near app.log:1 ConnectionPool failed",
            (
                "probable pool/pool.py:13 # Idle connections are closed when the pool is full. "
                "(found, and not read: a question of how or why needs a model (knowbound model))"
            ),
            "note The model gave no plan: rules alone answered.",
            ("passages 'idle connections closed' → FileSearch strong, 3 found (all of it within 10 lines)"),
            (
                "read 'idle connections closed' → FileContent weak, 2 found (found, and not read: a "
                "question of how or why needs a model (knowbound model))"
            ),
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
        ],
    ),
    (
        "How are idle connections closed?",
        [PlanAnswer(Intent.CHAT, [])],
        ["chat success none by rules", "This is chat: nothing was asked that evidence could answer.", "terms "],
    ),
    (
        "Where is ConnectionPool?",
        [],
        [
            "locate success complete by rules",
            (
                "Confidence is complete because all 2 that were needed are verified: references and "
                "read agree on ConnectionPool in pool/pool.py."
            ),
            "terms ConnectionPool",
            "answer pool/pool.py:7 class ConnectionPool:",
            (
                "source pool/pool.py:7 class ConnectionPool: (references: ConnectionPool, exact "
                "symbol, 1 definition, 7 uses)"
            ),
            (
                "source pool/uses.py:5 pool = ConnectionPool() (references: ConnectionPool, exact "
                "symbol, 1 definition, 7 uses)"
            ),
            (
                "source app.log:1 ConnectionPool failed (references: ConnectionPool, exact symbol, 1 "
                "definition, 7 uses (built))"
            ),
            (
                "source tests/test_pool.py:5 replay_journal = ConnectionPool() (references: "
                "ConnectionPool, exact symbol, 1 definition, 7 uses (a test))"
            ),
            ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
            "read 'ConnectionPool' → FileContent strong, 2 found (the best candidate has it)",
            ("planner → FileSearch verified: references and read agree on ConnectionPool in pool/pool.py"),
            ("planner → FileContent verified: references and read agree on ConnectionPool in pool/pool.py"),
        ],
    ),
    (
        "Where is ConnectionPool and Nothing?",
        [
            PlanAnswer(Intent.LOCATE, ["ConnectionPool"]),
            ReadAnswer([ReadSentence("In the pool.", 1, "class ConnectionPool:")], [], 0),
        ],
        [
            "locate success complete by m",
            (
                "Confidence is complete because all 2 that were needed are verified: references and "
                "model agree on ConnectionPool in pool/pool.py."
            ),
            "terms ConnectionPool, Nothing",
            "answer pool/pool.py:7 In the pool.",
            "source pool/pool.py:7 class ConnectionPool: (read: In the pool.)",
            ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
            "references 'Nothing' → FileSearch none, 0 found (no such symbol)",
            "find 'Nothing' → FileSearch none, 0 found (no such file)",
            "grep 'Nothing' → FileSearch none, 0 found (no match)",
            ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
            ("model 'ConnectionPool' → FileContent strong, 1 found (read, and quoted from pool/pool.py:7)"),
            ("planner → FileSearch verified: references and model agree on ConnectionPool in pool/pool.py"),
            ("planner → FileContent verified: references and model agree on ConnectionPool in pool/pool.py"),
        ],
    ),
    (
        "Compare ConnectionPool and Queue",
        [
            PlanAnswer(Intent.COMPARE, ["ConnectionPool", "Queue"]),
            ReadAnswer(
                [ReadSentence("a", 1, "class ConnectionPool:"), ReadSentence("b", 1, "class ConnectionPool:")],
                [],
                0,
            ),
        ],
        [
            "compare insufficient_evidence low by m",
            (
                "No passage that was read answers it. Confidence is low because the FileContent "
                "evidence is only weak (a model read the passages that were found, and none of them "
                "answers) (1 of 2 that were needed are met)."
            ),
            "terms ConnectionPool, Queue",
            (
                "gap FileContent : has weak, needs moderate; a model read the passages that were "
                "found, and none of them answers"
            ),
            "near pool/pool.py:7 class ConnectionPool:",
            "near pool/uses.py:5 pool = ConnectionPool()",
            "near web/queue.js:1 export class Queue {",
            ("near docs/pool.md:3 The pool lends connections. It closes idle ones after 30 seconds."),
            "near config.yml:1 # pool comment",
            (
                "probable pool/pool.py:7 class ConnectionPool: (a model read the passages that were "
                "found, and none of them answers)"
            ),
            ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
            "references 'Queue' → FileSearch strong, 1 found (exact symbol, 1 definition, 0 uses)",
            ("references 'ConnectionPool' → FileSearch strong, 9 found (exact symbol, 1 definition, 7 uses)"),
            "references 'Queue' → FileSearch strong, 1 found (exact symbol, 1 definition, 0 uses)",
            ("model → FileContent weak, 0 found (a model read the passages that were found, and none of them answers)"),
        ],
    ),
    (
        "What kind of project is it, is it good?",
        [PlanAnswer(Intent.EXPLAIN, ["a" * 201])],
        [
            "explain success high by rules",
            (
                "Confidence is high because the Discovery evidence is strong (python project; 7 "
                "source files; 1 test file; Python 6, JavaScript 1, TypeScript 1)."
            ),
            "terms good",
            ("answer .:0 Python project; 7 source files; 1 test file; Python 6, JavaScript 1, TypeScript 1"),
            (
                "source .:0  (tree scan: python project; 7 source files; 1 test file; Python 6, "
                "JavaScript 1, TypeScript 1)"
            ),
            "note The model gave no plan: rules alone answered.",
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
            "manifest scan 'project' → Discovery none, 0 found (no project manifest in the root)",
        ],
    ),
    (
        "How is a shop described?",
        [
            PlanAnswer(Intent.EXPLAIN, ["shop"]),
            ReadAnswer([ReadSentence("A shop.", 1, "A shop with a pool.")], [], 0),
        ],
        [
            "explain success high by m",
            (
                "Confidence is high because the FileSearch evidence is strong (exact word, 2 times "
                "in 1 file) (3 of 3 that were needed are met)."
            ),
            "terms shop described, shop",
            "answer README.md:3 A shop.",
            "source README.md:3 A shop with a pool. (read: A shop.)",
            (
                "tree scan 'project' → Discovery strong, 8 found (python project; 7 source files; 1 "
                "test file; Python 6, JavaScript 1, TypeScript 1)"
            ),
            "manifest scan 'project' → Discovery none, 0 found (no project manifest in the root)",
            "passages 'shop described' → FileSearch weak, 1 found (without described)",
            "references 'shop' → FileSearch none, 0 found (no such symbol)",
            "find 'shop' → FileSearch none, 0 found (no such file)",
            "grep 'shop' → FileSearch strong, 2 found (exact word, 2 times in 1 file)",
            "model 'shop' → FileContent strong, 1 found (read, and quoted from README.md:3)",
        ],
    ),
]


@pytest.mark.parametrize("start", range(0, len(BY_MODEL), 2))
def test_what_a_model_quotes_is_verified_and_graded(root: Path, start: int) -> None:
    for question, script, answer in BY_MODEL[start : start + 2]:
        assert answered(investigate(question, root, asker=Script(*script), producers=TOOLS)) == answer, question


@pytest.mark.parametrize(
    ("question", "terms", "passages", "searched"),
    [
        (
            "How are idle connections closed?",
            ["idle connections", "close_idle"],
            [
                "[1] pool/pool.py:12-15 (close_idle)",
                "    def close_idle(self):",
                "        # Idle connections are closed when the pool is full.",
                "        for one in self.idle:",
                "            one.close()",
                "",
                "[2] pool/pool.py:17-20 (lend)",
                "    def lend(self, timeout):",
                '        if "pool_size" in self.settings:',
                "            raise LockError(timeout)",
                "        return self.close_idle()",
                "",
                "[3] docs/pool.md:1-4 (Pool)",
                "# Pool",
                "",
                "The pool lends connections. It closes idle ones after 30 seconds.",
                "",
                "",
                "[4] pool/pool.py:7-11 (ConnectionPool)",
                "class ConnectionPool:",
                '    """Keeps connections open for those who come next."""',
                "",
                "    size = LIMIT",
                "",
                "",
                "[5] docs/setup.md:21-23 (Deep)",
                "### Deep",
                "closing words",
                "",
                "",
                "[6] pool/uses.py:11-13 (_main)",
                "def _main():",
                '    print("Pool is full, try again")',
                "    return [ConnectionPool(), ConnectionPool(), ConnectionPool()]",
                "",
                "[7] pool/uses.py:1-3",
                "from pool.pool import ConnectionPool",
                "",
                "",
                "",
                "[8] pool/uses.py:4-8 (serve)",
                "def serve():",
                "    pool = ConnectionPool()",
                "    pool.lend(3)",
                "    pool.lend(4)",
                "    return pool",
            ],
            [
                "idle connections closed: 3 found, strong",
                "idle connections: 1 found, strong",
                "close_idle: 2 found, strong",
            ],
        ),
        (
            "Where is the pool limit?",
            ["LIMIT", "pool.py"],
            [
                "[1] pool/pool.py:1-6 (LIMIT)",
                "import redis",
                "from redis.exceptions import LockError",
                "",
                "LIMIT = 3",
                "",
                "",
                "",
                "[2] pool/pool.py:7-11 (LIMIT)",
                "class ConnectionPool:",
                '    """Keeps connections open for those who come next."""',
                "",
                "    size = LIMIT",
                "",
                "",
                "[3] pool/pool.py:17-20 (lend)",
                "    def lend(self, timeout):",
                '        if "pool_size" in self.settings:',
                "            raise LockError(timeout)",
                "        return self.close_idle()",
                "",
                "[4] web/types.ts:9-10",
                "export const limits = { 'user-limit': 3 };",
                "",
                "",
                "[5] pool/pool.py:12-15 (close_idle)",
                "    def close_idle(self):",
                "        # Idle connections are closed when the pool is full.",
                "        for one in self.idle:",
                "            one.close()",
                "",
                "[6] config.yml:1-5",
                "# pool comment",
                "pool:",
                "  max_size: 5",
                "  wait: 2",
                "",
                "",
                "[7] pool/uses.py:4-8 (serve)",
                "def serve():",
                "    pool = ConnectionPool()",
                "    pool.lend(3)",
                "    pool.lend(4)",
                "    return pool",
                "",
                "[8] docs/pool.md:1-4 (Pool)",
                "# Pool",
                "",
                "The pool lends connections. It closes idle ones after 30 seconds.",
                "",
                "",
                "[9] pool/uses.py:11-13 (_main)",
                "def _main():",
                '    print("Pool is full, try again")',
                "    return [ConnectionPool(), ConnectionPool(), ConnectionPool()]",
                "",
                "[10] pool/uses.py:1-3",
                "from pool.pool import ConnectionPool",
                "",
                "",
                "",
                "[11] docs/pool.md:10-13 (Plans)",
                "## Plans",
                "",
                "TODO: write down the plan.",
                "",
                "",
                "[12] README.md:1-4 (Shop)",
                "# Shop",
                "",
                "A shop with a pool.",
                "",
                "",
                "[13] docs/pool.md:5-9 (Retry budget)",
                "## Retry budget",
                "",
                "- A retry costs one of five.",
                "- See [more](more.md)",
                "",
            ],
            ["pool limit: 3 found, weak", "LIMIT: 2 found, strong", "pool.py: 1 found, strong"],
        ),
        (
            "Which test replays a journal?",
            ["replay journal"],
            [
                "[1] tests/test_pool.py:4-6 (test_it)",
                "def test_it():",
                "    replay_journal = ConnectionPool()",
                "    only_here()",
                "",
                "[2] tests/test_pool.py:1-3",
                "from pool.pool import ConnectionPool",
                "",
                "",
            ],
            ["test replays journal: 1 found, moderate", "replay journal: 1 found, moderate"],
        ),
        (
            "What is a shop?",
            ["nothing_here"],
            [
                "[1] README.md:1-4",
                "# Shop",
                "",
                "A shop with a pool.",
                "",
                "",
                "[2] docs/setup.md:1-20 (Setup)",
                "# Setup",
                "",
                "Run the install step:",
                "",
                "```sh",
                "make install wheel",
                "",
                "start server",
                "```",
                "",
                "| option | meaning |",
                "| --- | --- |",
                "| token | refresh weekly |",
                "",
                "1. clone tree",
                "2. sign binary",
                "   with key",
                "",
                "first plain words",
                "second line here",
            ],
            ["shop: 2 found, strong", "nothing_here: 0 found, none"],
        ),
    ],
)
def test_a_model_is_shown_passages_around_what_was_found(
    root: Path, question: str, terms: list[str], passages: list[str], searched: list[str]
) -> None:
    script = Script(PlanAnswer(Intent.EXPLAIN, terms), ReadAnswer())
    investigate(question, root, asker=script, producers=TOOLS)
    assert script.materials[1]["passages"].split("\n") == passages
    assert script.materials[1]["searched"].split("\n") == searched


def test_a_plan_is_made_from_the_question_and_what_the_project_consists_of(root: Path) -> None:
    script = Script(None)
    investigate("How are idle connections closed?", root, asker=script, producers=TOOLS)
    assert script.materials[0]["question"] == "How are idle connections closed?"
    assert script.materials[0]["project"].split("\n") == [
        "17 files; Python 7, JavaScript 1, TypeScript 1",
        "docs/ 3",
        "pool/ 5",
        "tests/ 1",
        "vendor/ 1",
        "web/ 2",
        "CHANGELOG.md",
        "README.md",
        "app.log",
        "config.yml",
        "many.txt",
    ]


@pytest.mark.parametrize(
    ("plan", "problem"),
    [
        (PlanAnswer(Intent.EXPLAIN, []), "there are no terms"),
        (PlanAnswer(Intent.EXPLAIN, [" "]), "there are no terms"),
        (PlanAnswer(Intent.CHAT, []), ""),
        (PlanAnswer(Intent.EXPLAIN, ["x" * 200]), ""),
        (PlanAnswer(Intent.EXPLAIN, ["x", "x" * 201]), "a term has 201 characters, at most 200 are searched"),
    ],
)
def test_a_plan_has_terms_of_200_characters_at_most(root: Path, plan: PlanAnswer, problem: str) -> None:
    script = Script(plan, None)
    investigate("How are idle connections closed?", root, asker=script, producers=TOOLS)
    assert script.problems[0] == problem
