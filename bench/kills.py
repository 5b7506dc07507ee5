"""Kills every writer at its write system calls, and looks what is lost.

`python -m bench.kills` runs each writer under strace, which kills it with SIGKILL as it enters its N-th write-like
system call (`--points 0` for every N; otherwise an even sample). After each kill the data are opened again: they must
be as before the call or as after it, and as after it where the call had printed its result. Where it had not, the same
call is made again: it must succeed, and leave exactly what one call that was not killed leaves. Anything else counts as
lost.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from bench.measuring import options
from knowbound.core.item import Item
from knowbound.demo import PROJECT, TRACES
from knowbound.injection.log import read_log
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import NewItem
from knowbound.store.database import Database
from knowbound.user_files import seal

CALLS = (
    "write,pwrite64,pwritev,fsync,fdatasync,unlink,unlinkat,rename,renameat,renameat2,ftruncate,link,linkat,mkdir,rmdir"
)
VERB = "from knowbound.cli.main import main; main()"
HOOK = "from knowbound.agent.hook_entry import main; main()"
MIGRATE = (
    "import sys; from pathlib import Path; from knowbound.store.database import Database; "
    "Database(Path(sys.argv[1])).close()"
)
PORT = "The orders service listens on port 8080 behind the internal gateway."
_EARLIER = Path(__file__).parents[1] / "tests" / "store" / "earlier" / "index_1.sql"
SECONDS = 120  # no writer here takes longer, unless it hangs
ALREADY_STORED = 2  # the exit code of `kms add` for content that is stored: it says so, with the id

State = Any  # what the data hold, as plain values without ids and times


@dataclass(frozen=True)
class Writer:
    """One call that writes: how its data are made and read, and how it is called."""

    name: str
    code: str
    args: Callable[[Path], list[str]]
    prepare: Callable[[Path], None]
    state: Callable[[Path], State]
    stdin: Callable[[Path], bytes] = lambda root: b""
    retried: tuple[int, ...] = (0,)  # exit codes of a good retry
    again: tuple[str, ...] = ()  # arguments that the retry has besides
    acknowledgement: bytes = b""  # what it prints when it is done; by default anything


@dataclass
class Killed:
    name: str
    points: int  # there are
    tried: int = 0
    lost: list[str] = field(default_factory=list)


def measure(writer: Writer, folder: Path, points: int) -> Killed:
    """Kill the writer at an even sample of its points (0: at all of them)."""
    original = folder / "original"
    original.mkdir()
    seal("bench")  # makes the user's key, which every copy brings along
    shutil.copytree(os.environ["XDG_STATE_HOME"], original / "state")
    writer.prepare(original)
    before = _state(writer, original, folder)
    whole = _copy(original, folder / "whole")
    trace = folder / "trace"
    done = _run(writer, whole, ["-o", str(trace), "-e", f"trace={CALLS}"])
    if done.returncode:
        raise RuntimeError(f"{writer.name} fails: {done.stderr.decode()}")
    after = _state(writer, whole, folder)
    lines = [line.split(maxsplit=1)[0] for line in trace.read_text("utf-8", "replace").splitlines()]
    there = max(lines.count(thread) for thread in set(lines))  # strace counts calls by thread
    step = max(1, there // points) if points else 1
    killed = Killed(writer.name, there)
    for number in range(1, there + 1, step):
        root = _copy(original, folder / "killed")
        problem = _problem(writer, root, number, before, after, folder)
        killed.tried += 1
        if problem:
            killed.lost.append(f"call {number}: {problem}")
    return killed


def _problem(writer: Writer, root: Path, number: int, before: State, after: State, folder: Path) -> str:
    """What is wrong after a kill at this call, and after the call is made again."""
    done = _run(writer, root, ["-o", "/dev/null", "-e", f"inject={CALLS}:signal=KILL:when={number}"])
    found = _state(writer, root, folder)
    # It was killed, if at all, when it had printed what it did.
    is_acknowledged = bool(done.stdout) and writer.acknowledgement in done.stdout
    if found not in ((after,) if is_acknowledged else (before, after)):
        return f"neither as before nor as after: {_difference(found, after)}"
    if is_acknowledged:
        return ""
    again = _run(writer, root, None, writer.again)
    if again.returncode not in writer.retried:
        return f"the retry ends with {again.returncode}: {again.stderr.decode('utf-8', 'replace').strip()[-200:]}"
    left = _state(writer, root, folder)
    return "" if left == after else f"after the retry: {_difference(left, after)}"


def _run(
    writer: Writer, root: Path, strace: Sequence[str] | None, more: Sequence[str] = ()
) -> subprocess.CompletedProcess[bytes]:
    traced = ["strace", "-f", "-qq", "--seccomp-bpf", *strace] if strace is not None else []
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("KNOWBOUND", "XDG_", "KMS_"))}
    environ |= {"HOME": str(root), "XDG_STATE_HOME": str(root / "state"), "PYTHONDONTWRITEBYTECODE": "1"}
    environ |= {"KNOWBOUND_INJECTION_TIME_LIMIT_MS": "20000", "KNOWBOUND_JOBS": "1"}
    command = [*traced, sys.executable, "-c", writer.code, *writer.args(root), *more]
    return subprocess.run(
        command, cwd=root, env=environ, input=writer.stdin(root), capture_output=True, timeout=SECONDS, check=False
    )


def _state(writer: Writer, root: Path, folder: Path) -> State:
    """What the data hold; looked at in a copy, so that looking mends nothing."""
    return writer.state(_copy(root, folder / "looked"))


def _copy(root: Path, to: Path) -> Path:
    """Copy to a new folder beside the last copy, which a worker that a kill left behind may still write to."""
    for earlier in to.parent.glob(f"{to.name}-*"):
        shutil.rmtree(earlier, ignore_errors=True)
    return shutil.copytree(root, Path(tempfile.mkdtemp(prefix=f"{to.name}-", dir=to.parent)) / to.name, symlinks=True)


def _difference(found: State, wanted: State) -> str:
    if isinstance(found, dict) and isinstance(wanted, dict):
        return "; ".join(f"{key}: {found.get(key)} ≠ {wanted[key]}" for key in wanted if found.get(key) != wanted[key])
    return f"{found} ≠ {wanted}"


# What the writers write


def _home(root: Path) -> Path:
    return root / ".knowbound"


def _base(root: Path) -> KnowledgeStore:
    return KnowledgeStore([SqliteBackend(_home(root))], Index(_home(root)), by="bench")


def _with_item(root: Path) -> None:
    with closing(_base(root)) as base:
        base.add(NewItem(content=PORT, id="port"))
        base.add(NewItem(content="Failed payment webhooks are retried three times.", id="retry"))


def _with_deleted_item(root: Path) -> None:
    _with_item(root)
    with closing(_base(root)) as base:
        base.delete("port")


def _with_file(root: Path) -> None:
    _with_item(root)
    text = "".join(f"## Part {number}\n\nQueue {number} is drained by worker {number * 7}.\n\n" for number in range(9))
    (root / "CLAUDE.md").write_text(text)


def _items(root: Path) -> State:
    """Items of the backend and of the index, and the log of corrections."""
    with closing(_base(root)) as base:
        held = {item.id: item for item in base.backends["sqlite"].changed_since("")[0] if isinstance(item, Item)}
        named = {id_: item.content for id_, item in held.items()}

        def flag(id_: str) -> tuple[str, str]:
            found = held[id_].flag
            return (str(found.kind), named.get(found.superseded_by, "")) if found else ("", "")

        indexed = [one for id_ in held for one in base.index.known(id_)]
        log = [(named.get(one.item, one.item), one.tool) for one in base.index.corrections()]
        count = sum(items for items, _ in base.index.counts().values())
        return {
            "held": sorted((item.content, *flag(id_)) for id_, item in held.items()),
            "index": sorted((one.item.content, one.served) for one in indexed),
            "rows": count,
            "log": sorted(log),
        }


def _with_earlier_index(root: Path) -> None:
    """An index of the first schema, with an injection in its table."""
    _home(root).mkdir(parents=True)
    with closing(sqlite3.connect(_home(root) / "index.db")) as db:
        db.executescript(_EARLIER.read_text("utf-8"))


def _prompt(session: str) -> Callable[[Path], bytes]:
    text = "On which port does the orders service listen?"
    return lambda root: json.dumps({"session_id": session, "cwd": str(root), "prompt": text}).encode()


def _asked(root: Path) -> State:
    """Sessions with an injection that was delivered or may have been; whoever asks again gets it again."""
    return sorted(set(_injected(root)))


def _injected(root: Path) -> State:
    """Sessions with an injection, as often as it was recorded."""
    if (_home(root) / "index.db").exists():
        Database(_home(root) / "index.db").close()
    return sorted(record.session for record in read_log(_home(root)).records)


def _with_traces(root: Path) -> None:
    shutil.copytree(TRACES, root / "traces")


def _observed(root: Path) -> State:
    """The gap figures that are stored, or nothing."""
    if not (_home(root) / "knowbound.db").exists():
        return None
    show = Writer("report", VERB, _verb("report", "--root", ".", "--format", "json"), _with_traces, _observed)
    done = _run(show, root, None)
    return json.loads(done.stdout)["gap"] if done.returncode == 0 else None


def _with_samples(root: Path) -> None:
    shutil.copytree(PROJECT, root, dirs_exist_ok=True)
    samples = [{"sample_id": f"s{number}", "prompt": f"What is {number}?"} for number in range(4)]
    (root / "eval-samples.json").write_text(json.dumps({"samples": samples}))
    agent = root / "agent.py"
    agent.write_text(
        "import json\nfor role in ('user', 'assistant'): print(json.dumps({'role': role, 'content': 'It is known.'}))\n"
    )


def _evaluated(root: Path) -> State:
    """Finished evaluations, each with its samples; none is there twice."""
    if not (_home(root) / "knowbound.db").exists():
        return []
    from knowbound.store.evaluations import Evaluations  # noqa: PLC0415

    with closing(Evaluations(_home(root))) as store:
        return [sorted(run.sample for run in store.get(head.id).runs) for head in store.heads()]  # type: ignore[union-attr]


def _with_settings(root: Path) -> None:
    (root / ".claude").mkdir()
    (root / ".claude" / "settings.json").write_text('{\n  "model": "opus"\n}\n')


def _installed(root: Path) -> State:
    """The settings of the agent, and what uninstalling makes of them."""
    settings = root / ".claude" / "settings.json"
    now = json.loads(settings.read_text())
    remove = Writer(
        "uninstall",
        VERB,
        lambda root: ["uninstall", "claude-code", "--scope", "user", "--yes"],
        _with_settings,
        _installed,
    )
    removed = _run(remove, root, None)
    return {
        "events": sorted(now.get("hooks", {})),
        "model": now["model"],
        "left": settings.read_text(),
        "code": removed.returncode,
    }


def _verb(*args: str) -> Callable[[Path], list[str]]:
    return lambda root: list(args)


def _kms(*args: str, prepare: Callable[[Path], None] = _with_item, retried: tuple[int, ...] = (0,)) -> Writer:
    return Writer(f"kms {args[0]}", VERB, _verb("kms", *args), prepare, _items, retried=retried)


_AGENT = f"command:{sys.executable} agent.py"
WRITERS = (
    Writer("hook", HOOK, _verb("user-prompt-submit"), _with_item, _asked, _prompt("s9")),
    Writer("migrate", MIGRATE, lambda root: [str(_home(root) / "index.db")], _with_earlier_index, _injected),
    _kms("add", "The cache holds 512 entries.", retried=(0, ALREADY_STORED)),
    _kms("update", "port", "--content", "The orders service is on 9090."),
    _kms("supersede", "port", "The orders service moved to 9090."),
    _kms("flag", "port", "RETRACTED"),
    _kms("delete", "port"),
    _kms("reap", "--older-than", "0", prepare=_with_deleted_item),
    _kms("import", "CLAUDE.md", prepare=_with_file),
    Writer("observe", VERB, _verb("observe", "traces", "--root", "."), _with_traces, _observed),
    Writer(
        "eval", VERB, _verb("eval", "--concurrency", "1", "--executor", _AGENT, "--root", "."),
        _with_samples, _evaluated, again=("--resume",),
    ),
    Writer(
        "install", VERB, _verb("install", "claude-code", "--scope", "user", "--yes"), _with_settings, _installed,
        acknowledgement=b"Installed in",  # it shows what it would change before
    ),
)  # fmt: skip


def _measured(writer: Writer, points: int) -> Killed:
    """With a home folder and a key of their own."""
    with tempfile.TemporaryDirectory() as name:
        user, folder = Path(name, "user"), Path(name, "data")
        folder.mkdir()
        with mock.patch.dict(os.environ, {"HOME": str(user), "XDG_STATE_HOME": str(user / "state")}):
            return measure(writer, folder, points)


def report(points: int = 4, only: Sequence[str] = ()) -> bool:
    """Print the kill points of each writer and what was lost, and say whether nothing was."""
    print("\nKilled at write system calls (aim: nothing lost, the retry succeeds, nothing twice)")
    if shutil.which("strace") is None:
        print("  strace is not installed: not measured")
        return True
    began, tried, lost = time.monotonic(), 0, 0
    for writer in WRITERS:
        if only and writer.name not in only:
            continue
        killed = _measured(writer, points)
        tried, lost = tried + killed.tried, lost + len(killed.lost)
        print(
            f"  {killed.name:14} {killed.tried:4} of {killed.points:4} points   {len(killed.lost):3} lost", flush=True
        )
        for problem in killed.lost[:3]:
            print(f"      {problem[:220]}")
    print(f"  together       {tried:4} points tried, {lost} lost   ({time.monotonic() - began:.0f} s)")
    return not lost


if __name__ == "__main__":
    given = options(__doc__, points=4, only=[])
    report(given.points, given.only)
