"""A tree with every sort of file, and evidence from it as lines."""

from __future__ import annotations

from pathlib import Path

from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Place
from knowbound.evidence.plan import Plan, read_plan
from knowbound.evidence.producers.protocol import Ask, Context, Producer
from tests.evidence_trees import plant

FILES = {
    "pool/pool.py": (
        "import redis\nfrom redis.exceptions import LockError\n\nLIMIT = 3\n\n\n"
        "class ConnectionPool:\n"
        '    """Keeps connections open for those who come next."""\n\n'
        "    size = LIMIT\n\n"
        "    def close_idle(self):\n"
        "        # Idle connections are closed when the pool is full.\n"
        "        for one in self.idle:\n            one.close()\n\n"
        "    def lend(self, timeout):\n"
        '        if "pool_size" in self.settings:\n'
        "            raise LockError(timeout)\n"
        "        return self.close_idle()\n"
    ),
    "pool/uses.py": (
        "from pool.pool import ConnectionPool\n\n\n"
        "def serve():\n    pool = ConnectionPool()\n    pool.lend(3)\n    pool.lend(4)\n    return pool\n\n\n"
        'def _main():\n    print("Pool is full, try again")\n'
        "    return [ConnectionPool(), ConnectionPool(), ConnectionPool()]\n"
    ),
    "pool/options.py": (
        'def parse(parser):\n    # --dry-run is old\n    parser.add_argument("--dry-run", help="dry run")\n'
    ),
    "pool/__init__.py": "",
    "pool/retry_budget.py": "BUDGET = 5\n\n\ndef spend(retry):\n    budget = BUDGET - retry\n    return budget\n",
    "web/queue.js": (
        "export class Queue {\n  push(item) {\n    return this.items.push(item);\n  }\n}\n"
        "export function drainQueue(queue) {\n  return queue.items;\n}\n"
    ),
    "tests/test_pool.py": (
        "from pool.pool import ConnectionPool\n\n\n"
        "def test_it():\n    replay_journal = ConnectionPool()\n    only_here()\n"
    ),
    "docs/pool.md": (
        "# Pool\n\nThe pool lends connections. It closes idle ones after 30 seconds.\n\n"
        "## Retry budget\n\n- A retry costs one of five.\n- See [more](more.md)\n\n"
        "## Plans\n\nTODO: write down the plan.\n"
    ),
    "docs/refunds.md": "# Refunds\n\nRefunds are approved by the finance team within two days.\n\n"
    "## Deadline\n\nThe deadline is every Friday.\n",
    "CHANGELOG.md": "# 1.0\n\n- Added zebra striping.\n",
    "config.yml": "# pool comment\npool:\n  max_size: 5\n  wait: 2\n",
    "app.log": "ConnectionPool failed\n",
    "vendor/lib.py": "def vendored_thing():\n    return 1\n",
    "many.txt": "prefixword prefixwords\n" * 6,
    "docs/setup.md": (
        "# Setup\n\nRun the install step:\n\n```sh\nmake install wheel\n\nstart server\n```\n\n"
        "| option | meaning |\n| --- | --- |\n| token | refresh weekly |\n\n"
        "1. clone tree\n2. sign binary\n   with key\n\nfirst plain words\nsecond line here\n### Deep\nclosing words\n"
    ),
    "web/types.ts": (
        "interface UserSession {\n  id: string;\n}\nfunction userSession(): UserSession {\n  return { id: '1' };\n}\n"
        "const user_session = userSession();\nclass _Hidden {}\nexport const limits = { 'user-limit': 3 };\n"
    ),
    "README.md": "# Shop\n\nA shop with a pool.\n",
}


def tree(folder: Path) -> Path:
    return plant(folder, FILES)


def ask_of(plan: Plan, cls: EvidenceClass = EvidenceClass.FILE_SEARCH, candidates: tuple[Place, ...] = ()) -> Ask:
    term = plan.terms[-1]
    return Ask(cls, term.text, plan.intent, plan.question, term, candidates)


def found(tool: Producer, question: str, root: Path, intent: Intent | None = None) -> list[str]:
    """How well a tool suits a question, and the evidence that it gives, as lines."""
    ask = ask_of(read_plan(question, intent))
    return [f"suits {tool.can(ask)}", *lines(tool.produce(ask, Context(root)))]


def lines(entry: Evidence) -> list[str]:
    counts = f"{entry.match_count} found, {entry.exact_match_count} exact{', phrase' * entry.phrase_match}"
    places = (f"{place.path}:{place.line} {place.symbol}".strip() for place in entry.places)
    read_as = f" [read as {entry.read_as}]" * bool(entry.read_as)
    return [f"{entry.tool} {entry.quality}: {counts}; {entry.note}{read_as}", *places]
