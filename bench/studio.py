"""Times of the studio's pages at size, its first paint in Chromium, and its memory: `python -m bench.studio`.

The corpus is made for it: 100,000 audited turns in 2,000 sessions, 10,000 open gaps among them, 100,000 items. A
process serves it; each page is asked for in turn by one client over one connection. Times here are wall times of this
machine, whatever else it does.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
from playwright.sync_api import sync_playwright

from bench.measuring import options
from bench.studio_pictures import chromium
from knowbound.config import load
from knowbound.core.audit import AuditedSession, AuditedTurn, Claim, ClaimKind, Diagnosis, Support
from knowbound.core.signal import Findings, Signal, SignalType, Status, Turn
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.validation import NewItem
from knowbound.store.listing import SqliteResults
from knowbound.store.observed import Audited, Observed
from knowbound.web.app import LOOPBACK, Address, prepared

_DIAGNOSES = tuple(Diagnosis)


def fill(root: Path, sessions: int, turns: int, gaps: int, items: int) -> None:
    """Write the results and the items of a large project, and the transcript of its newest session."""
    settings = load(root)
    trace = root / "traces" / "newest.jsonl"
    trace.parent.mkdir(parents=True)
    trace.write_text("".join(_transcript(turns)), "utf-8")
    rows, audited = [], []
    for number in range(sessions):
        id_, day = f"s{number:06d}", f"2026-{1 + number % 10:02d}-{1 + number % 28:02d}T10:00:00Z"
        known = [
            Turn(one, id_, f"ask {one}", day, 3, 4, file=str(trace), line=6 * one - 5) for one in range(1, turns + 1)
        ]
        signals = [_signal(id_, one, number) for one in range(gaps // sessions)]
        rows.append((f"claude-code:{id_}:x", f"claude-code:{id_}", "x", msgspec.msgpack.encode(
            [Findings(id_, "claude-code", str(root), started=day, ended=day, files=[str(trace)], turns=known,
                      signals=signals, tool_calls=4 * turns)])))  # fmt: skip
        found = [_audited(id_, one, day, str(trace)) for one in range(1, turns + 1)]
        kept = [AuditedSession(id_, "claude-code", str(root), day, day, found)]
        audited.append((f"claude-code:{id_}:x", "x", msgspec.msgpack.encode(kept)))
    Observed(settings.home).keep_sessions(rows)
    Audited(settings.home).keep(audited)
    with closing(SqliteResults(settings.home)):
        pass
    with closing(open_knowledge_store(settings, by="bench")) as store:
        for start in range(0, items, 10_000):
            texts = (f"Fact {one}: the module part{one} of area{one % 997} is owned by team{one % 31}." for one in
                     range(start, min(items, start + 10_000)))  # fmt: skip
            store.add_many([NewItem(content=text, subject=f"area{one % 50}") for one, text in enumerate(texts)])


def _signal(session: str, number: int, at: int) -> Signal:
    return Signal(SignalType.FAILED_SEARCH, Status.OPEN, session, 1 + number, session, query=f"thing{at}_{number}")


def _audited(session: str, number: int, day: str, file: str) -> AuditedTurn:
    diagnosis = _DIAGNOSES[number % len(_DIAGNOSES)]
    claim = Claim("All tests pass.", ClaimKind.TESTS_PASS, Support.UNSEEN, "nothing was run", line=6 * number - 3)
    return AuditedTurn(session, number, f"m{number}", "modify", diagnosis, "low", (claim,), why="nothing was run",
                       file=file, line=6 * number - 5, time=day)  # fmt: skip


def _transcript(turns: int) -> list[str]:
    from tests.transcripts import Transcript  # noqa: PLC0415  (written for the tests; the bench needs the lines alone)

    made = Transcript("s001999", "/work/shop")
    for number in range(turns):
        made.user(f"ask {number}").grep(f"thing{number}").bash("pnpm test", "3 passed").says("All tests pass.")
    return [f"{line}\n" for line in made.lines]


def serve(root: Path) -> None:
    """Serve the project and print the link, in a process of its own."""
    made = prepared(load(root), Address(LOOPBACK, 0), "bench", [root / "traces"], root_is_given=True, reads=False)
    print(json.dumps([made.address.port, made.new_link(), made.new_link()]), flush=True)
    made.run()


def main() -> None:
    """Fill, serve, ask, print."""
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]))
        return
    given = options(__doc__ or "", sessions=2_000, turns=50, gaps=10_000, items=100_000, times=60)
    with TemporaryDirectory(prefix="knowbound-bench-studio-") as folder:
        root = Path(folder) / "project"
        root.mkdir()
        (root / "CLAUDE.md").write_text("# Project\n\n- Code is in `src/`.\n", "utf-8")
        fill(root, given.sessions, given.turns, given.gaps, given.items)
        command = [sys.executable, "-m", "bench.studio", "--serve", str(root)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
            assert server.stdout is not None
            port, link, other = json.loads(server.stdout.readline())
            try:
                _ask(port, link, given.times, server.pid)
                _paint(other)
            finally:
                server.terminate()


_PAGES = (
    "/", "/sessions", "/sessions?diagnosis=unsupported", "/session/s001999", "/turn/s001999/25", "/at/s001999/100",
    "/knowledge", "/knowledge?items=all", "/knowledge?items=stale", "/knowledge?items=all&text=team7", "/injection",
    "/evaluations", "/ask", "/judges",
)  # fmt: skip


def _ask(port: int, link: str, times: int, pid: int) -> None:
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=60)
    headers = {"Host": f"{LOOPBACK}:{port}"}
    for _ in range(100):
        try:
            connection.request("GET", "/" + link.split("/", 3)[3], headers=headers)
            break
        except ConnectionRefusedError:  # it is not ready yet
            connection.close()
            time.sleep(0.1)
    answer = connection.getresponse()
    answer.read()
    headers["Cookie"] = (answer.getheader("set-cookie") or "").partition(";")[0]
    for path in _PAGES:
        found = []
        for _ in range(times):
            began = time.perf_counter()
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            size = len(answer.read())
            found.append(1000 * (time.perf_counter() - began))
        found.sort()
        p50, p95 = found[len(found) // 2], found[int(0.95 * len(found))]
        print(f"{path:<36} {answer.status}  p50 {p50:6.1f} ms  p95 {p95:6.1f} ms  {size / 1024:6.1f} KiB")
    status = Path(f"/proc/{pid}/status").read_text("ascii")
    print("memory of the server:", next(line for line in status.splitlines() if line.startswith("VmHWM")))


_FIRST_PAINT = "performance.getEntriesByName('first-contentful-paint').map(one => one.startTime)"


def _paint(link: str) -> None:
    with sync_playwright() as driver:
        browser = chromium(driver)
        page = browser.new_context().new_page()
        page.goto(link)
        for path in ("/sessions", "/turn/s001999/25", "/knowledge?items=all"):
            times = list[float]()
            for _ in range(7):
                page.goto(link.partition("/open")[0] + path)
                for _ in range(100):  # it may come after the load
                    if found := page.evaluate(_FIRST_PAINT):
                        break
                    page.wait_for_timeout(20)
                times += found
            print(f"first paint {path:<24} median {sorted(times)[3]:.0f} ms, worst {max(times):.0f} ms")
        browser.close()


if __name__ == "__main__":
    main()
