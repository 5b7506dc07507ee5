"""The whole of `observe`: files → sessions → findings → store → report."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import signal as signals
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound
from knowbound.config import Settings, load
from knowbound.core.signal import HedgingVerdict, SignalType, Status
from knowbound.errors import ConfigError, InputError, StoreError
from knowbound.gaps import observe as observing
from knowbound.gaps.stored import Filters, newest_report, since
from knowbound.judge.hedging.verdict import HedgingCandidate, failed_verdict
from knowbound.report.model import ObserveReport
from knowbound.report.observe import Format, render_observe
from knowbound.stats.figures import WARNING, HedgeJudging
from knowbound.stats.rate import Rate
from knowbound.store.observed import Observed
from knowbound.traces import sessions, source
from knowbound.traces.sessions import done_in_processes
from tests.transcripts import Transcript

RECORDINGS = Path(__file__).parents[1] / "recordings"


def settings_for(folder: Path, **more: Any) -> Settings:
    return Settings(root=folder, home=folder / ".knowbound", jobs=1, **more)


def observe(folder: Path, traces: Path | None = None, **filters: Any) -> ObserveReport:
    report, _ = observing.observe([traces or folder / "traces"], settings_for(folder), Filters(**filters))
    return report


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A project with traces: one session with a miss, one clean, one hedging, one without an answer."""
    traces = tmp_path / "traces"
    Transcript("s-1").user("go").grep("refundWindow").says("I will take 30 days.").write(traces)
    Transcript("s-2").user("go").grep("cart", ["src/cart.ts"]).says("In src/cart.ts.").write(traces)
    Transcript("s-3").user("go").says("I'm not sure which service owns the invoice table.").write(traces)
    Transcript("s-4").user("go").write(traces)
    return tmp_path


def test_the_formulas_of_the_specification(shop: Path) -> None:
    report = observe(shop)
    assert (report.gap.rate.k, report.gap.rate.n) == (2, 3)
    assert (report.gap.weighted.sum, report.gap.weighted.n) == (1.5, 3)
    assert (report.gap.open.k, report.gap.open_upper.k, report.gap.open.n) == (1, 2, 3), "one miss is undecided"
    assert (report.gap.per_turn.k, report.gap.per_turn.n) == (2, 3)
    assert report.gap.by_type[SignalType.FAILED_SEARCH] == 1
    assert report.gap.by_type[SignalType.HEDGING] == 1


def test_a_sample_without_a_complete_trace_leaves_the_denominators_and_is_shown(shop: Path) -> None:
    report = observe(shop)
    assert report.totals.samples == 4
    assert report.watermark.samples == 3
    assert [(one.session, one.reason) for one in report.incomplete] == [("s-4", "no answer of the agent")]


def test_a_verification_counts_in_the_gap_rate_and_not_in_the_open_one(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    check = 'grep -rn "OldClient" src || echo "no remaining references"'
    Transcript().user("go").bash(check, "no remaining references").says("Clean.").write(traces)
    report = observe(tmp_path)
    assert (report.gap.rate.k, report.gap.open.k) == (1, 0)
    assert report.gap.by_status[Status.VERIFICATION] == 1


def test_the_watermark_is_on_the_report(shop: Path) -> None:
    mark = observe(shop).watermark
    assert mark.path == str(shop / "traces")
    assert mark.warning == WARNING
    assert len(mark.sha256_8) == 8
    assert int(mark.sha256_8, 16) >= 0


def test_the_hash_changes_with_the_sessions_and_not_with_where_they_lie(shop: Path) -> None:
    before = observe(shop).watermark.sha256_8
    shutil.copytree(shop / "traces", shop / "moved")
    assert observe(shop, shop / "moved").watermark.sha256_8 == before
    Transcript("s-5").user("go").says("ok").write(shop / "traces")
    assert observe(shop).watermark.sha256_8 != before


def test_unchanged_files_are_not_opened_again(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = observe(shop)
    opened: list[str] = []
    open_bytes = source.open_bytes

    def watched(path: Path, *more: int) -> IO[bytes]:
        opened.append(path.name)
        return open_bytes(path, *more)

    monkeypatch.setattr(source, "open_bytes", watched)
    assert observe(shop) == first
    assert opened == []
    with (shop / "traces" / "s-2.jsonl").open("a") as file:
        file.write(Transcript("s-2").user("more").user("even more").grep("ledger").lines[-2] + "\n")
    assert observe(shop).totals.sessions == 4
    assert set(opened) == {"s-2.jsonl"}


def test_a_change_of_settings_reads_again(shop: Path) -> None:
    Transcript("s-1").user("go").grep("refundWindow").grep("ledger").says("There is none.").write(shop / "traces")
    observe(shop)
    other = settings_for(shop, knowledge=("docs/**/*.md",), repeated_failure_calls=2)
    report, _ = observing.observe([shop / "traces"], other)
    assert report.gap.by_type[SignalType.REPEATED_FAILURE] == 1


def test_files_of_one_session_are_one_session(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    Transcript().user("one").says("a").write(traces, "early.jsonl")
    Transcript().user("one").says("a").user("two").grep("ledger").write(traces, "deep/late.jsonl")
    report = observe(tmp_path)
    assert (report.totals.files, report.totals.sessions, report.totals.turns, report.totals.tool_calls) == (2, 1, 2, 1)
    assert report.totals.duplicates == 2


def test_a_side_chain_file_joins_its_session(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    main = Transcript().user("go").calls("Task", {"prompt": "look"}, "t1")
    main.result("t1", "done", {"agentId": "a7", "status": "completed"}).says("ok").write(traces)
    side = Transcript().grep("ledger", id_="g1")
    lines = [json.dumps({**json.loads(line), "isSidechain": True, "agentId": "a7", "uuid": f"side-{i}"})
             for i, line in enumerate(side.lines)]  # fmt: skip
    (traces / "subagents").mkdir()
    (traces / "subagents" / "agent-a7.jsonl").write_text("\n".join(lines))
    report = observe(tmp_path)
    assert (report.totals.sessions, report.totals.turns, report.totals.tool_calls) == (1, 1, 2)
    assert [(one.turn, one.agent_id) for one in report.inventory] == [(1, "a7")]


def test_two_files_of_one_sub_agent_are_both_read(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    Transcript().user("go").says("ok").write(traces)
    for number in range(2):
        side = Transcript().grep(f"ledger{number}", id_=f"g{number}")
        lines = [json.dumps({**json.loads(line), "isSidechain": True, "agentId": "a7", "uuid": f"side-{number}-{i}"})
                 for i, line in enumerate(side.lines)]  # fmt: skip
        (traces / f"side{number}.jsonl").write_text("\n".join(lines))
    assert observe(tmp_path).totals.tool_calls == 2


def test_observing_another_folder_with_the_same_sessions_loses_nothing(shop: Path) -> None:
    shutil.copytree(shop / "traces", shop / "copy")
    first = list(observing.observe([shop / "traces"], settings_for(shop))[1])
    assert list(observing.observe([shop / "copy"], settings_for(shop))[1])
    assert list(observing.observe([shop / "traces"], settings_for(shop))[1]) == first
    assert newest_report(settings_for(shop))[0].watermark.path == str(shop / "traces")


def test_a_damaged_archive_does_not_stop_the_run(shop: Path) -> None:
    whole = gzip.compress(Transcript("s-9").user("go").says("ok").text().encode() * 40)
    (shop / "traces" / "damaged.gz").write_bytes(whole[:60] + b"\x00" * 40 + whole[100:])
    assert observe(shop).totals.sessions >= 4


def test_a_file_that_becomes_readable_is_read(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read_head = source.read_head

    def closed(path: Path) -> bytes:
        if path.name == "s-2.jsonl":
            raise PermissionError(path)
        return read_head(path)

    monkeypatch.setattr(sessions, "read_head", closed)
    assert observe(shop).totals.sessions == 3
    monkeypatch.setattr(sessions, "read_head", read_head)
    Transcript("s-5").user("go").says("ok").write(shop / "traces")
    assert observe(shop).totals.sessions == 5


def test_a_byte_order_mark_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "bom.jsonl").write_bytes(b"\xef\xbb\xbf" + Transcript().user("go").says("ok").text().encode())
    report, _ = observing.observe([tmp_path / "bom.jsonl"], settings_for(tmp_path))
    assert (report.totals.turns, report.totals.skipped_lines) == (1, 0)


def test_bad_lines_and_foreign_files_are_shown_in_the_totals(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    Transcript().user("go").raw('{"type": "assis').raw("%%%").says("ok").write(traces)
    (traces / "notes.txt").write_text("shopping list")
    (traces / "empty.jsonl").write_text("")
    (traces / "package.json").write_text('{"name": "shop"}')
    report = observe(tmp_path)
    assert report.skipped == {"truncated": 1, "broken": 1}
    assert report.totals.skipped_lines == 2
    assert [Path(name.split(" (")[0]).name for name in report.unrecognised] == [
        "empty.jsonl",
        "notes.txt",
        "package.json",
    ]


def test_coverage_counts_knowledge_files_of_the_root(tmp_path: Path) -> None:
    for name in ("CLAUDE.md", ".claude/rules/sql.md", "docs/AGENTS.md", ".claude/skills/audit/SKILL.md", "README.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    here, elsewhere = Transcript("s-1", str(tmp_path)), Transcript("s-2", "/elsewhere")
    here.user("go").read(f"{tmp_path}/.claude/rules/sql.md").says("ok").write(tmp_path / "traces")
    elsewhere.user("go").read("/elsewhere/docs/AGENTS.md").says("ok").write(tmp_path / "traces")
    report = observe(tmp_path)
    assert (report.coverage.rate.k, report.coverage.rate.n) == (1, 3)
    assert report.coverage.uncovered == [".claude/skills/audit/SKILL.md", "docs/AGENTS.md"]
    assert (report.coverage.sessions, report.coverage.loaded) == (1, ["CLAUDE.md"])
    assert [(row.coverage.k, row.coverage.n) for row in report.skills] == [(1, 3)]
    given, _ = observing.observe([tmp_path / "traces"], settings_for(tmp_path), root_is_given=True)
    assert given.coverage.rate.k == 2


def test_coverage_without_knowledge_files_is_unknown(shop: Path) -> None:
    assert observe(shop).coverage.rate.value is None


def test_filters_choose_sessions_and_samples(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    Transcript("s-1", "/home/u/shop").user("go").grep("alpha").says("a").write(traces)
    command = "<command-message>audit</command-message>\n<command-name>/audit</command-name>"
    Transcript("s-2", "/home/u/bank").user("hi").says("b").user(command).grep("beta").says("c").write(traces)
    assert observe(tmp_path, project="bank").totals.sessions == 1
    assert observe(tmp_path, project="/home/u/shop").totals.sessions == 1
    report = observe(tmp_path, skill="audit")
    assert (report.totals.samples, report.gap.rate.k) == (1, 1)
    assert observe(tmp_path, agent="claude-code").totals.sessions == 2
    assert observe(tmp_path, since="2026-09-30T00:00:00").totals.sessions == 2
    with pytest.raises(InputError, match="no-sessions"):
        observe(tmp_path, since="2026-10-02T00:00:00")


@pytest.mark.parametrize("text", ["soon", "7x", "d", "-3d", "", "99999999999d"])
def test_a_wrong_since_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="bad-since"):
        since(text)


def test_spans_of_time() -> None:
    from datetime import UTC, datetime

    now = datetime(2026, 11, 15, 12, tzinfo=UTC)
    assert since("7d", now) == "2026-11-08T12:00:00"
    assert since("12h", now) == "2026-11-15T00:00:00"
    assert since("2026-11-01") == "2026-11-01T00:00:00"
    assert since("2026-11-01T10:00+02:00") == "2026-11-01T08:00:00"


def test_several_processes_print_the_same_json_as_one(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_POOL_FROM_BYTES", 0)
    started: list[int] = []

    def counted(work: Sequence[Any], do: Callable[[Any], Any], jobs: int) -> Iterator[Any]:
        started.append(jobs)
        return done_in_processes(work, do, jobs)

    monkeypatch.setattr("knowbound.traces.sessions.done_in_processes", counted)
    printed = []
    for jobs in (1, 2):
        home = {"KNOWBOUND_HOME": str(shop / f"home-{jobs}"), "KNOWBOUND_JOBS": str(jobs)}
        words = ["observe", str(shop / "traces"), str(RECORDINGS), "--root", str(shop), "--format", "json"]
        done = CliRunner().invoke(knowbound, words, env=home)
        assert done.exit_code == 0, done.output
        document = json.loads(done.stdout)
        assert document.pop("made")
        assert document["totals"]["sessions"] > 10
        printed.append(document)
    assert printed[0] == printed[1]
    assert started == [2]


def test_what_others_told_is_recorded_as_items_of_an_unmanaged_source(tmp_path: Path) -> None:
    def told(session: str, text: str) -> None:
        transcript = Transcript(session).line(
            "attachment",
            attachment={"type": "hook_additional_context", "hookEvent": "UserPromptSubmit", "content": [text]},
        )
        transcript.user("go").says("ok").write(tmp_path / "traces")

    told("s-1", "Staging runs on tern.")
    told("s-2", "Staging runs on tern.")
    told("s-3", "Entries of this project's knowledge store (knowbound) that match the prompt: [k1] Ours.")
    for _ in range(2):
        assert observe(tmp_path).totals.unmanaged_items == 1
        (item,) = Observed(tmp_path / ".knowbound").unmanaged()
        assert (item.source, item.excerpt, item.injections, item.sessions) == (
            "hook:UserPromptSubmit", "Staging runs on tern.", 2, 2,
        )  # fmt: skip
        Transcript("s-4").user("go").says("ok").write(tmp_path / "traces")


def test_without_any_folder_every_place_that_was_looked_at_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"~?/\.claude/projects.*/\.codex/sessions.*no-sessions"):
        observing.observe([], settings_for(tmp_path))


def test_nothing_found_names_every_place(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"No sessions found in .*empty.*no-sessions"):
        observe(tmp_path, tmp_path / "empty")


def test_without_a_path_we_look_where_agents_keep_theirs(tmp_path: Path) -> None:
    home = Path(os.environ["HOME"])
    Transcript().user("go").says("ok").write(home / ".claude" / "projects" / "-work-shop")
    report, _ = observing.observe([], settings_for(tmp_path))
    assert report.totals.sessions == 1
    assert "~/.claude/projects" in report.watermark.path
    assert ".codex" not in report.watermark.path  # the report is about the folders that there are


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_folder_without_permission_is_named(shop: Path) -> None:
    closed = shop / "traces" / "closed"
    closed.mkdir(mode=0)
    assert any("closed" in warning for warning in observe(shop).warnings)


def test_a_report_that_is_stored_is_shown_without_loading_what_makes_one(shop: Path) -> None:
    observe(shop)
    code = (
        "import sys\nfrom knowbound.cli.main import main\n"
        f"try: main(['observe', {str(shop / 'traces')!r}, '--root', {str(shop)!r}, '-o', '/dev/null'])\n"
        "finally: print(*sys.modules)"
    )
    # The first run of its own has another question: with --root, every session counts for the root.
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    assert "knowbound.report.topics" in loaded
    making = ("knowbound.gaps.topics", "knowbound.gaps.lens", "knowbound.gaps.aggregate", "knowbound.text.redact")
    assert not {*making} & {*loaded}


def test_a_damaged_store_is_named_and_not_overwritten(shop: Path) -> None:
    home = shop / ".knowbound"
    home.mkdir()
    (home / "knowbound.db").write_bytes(b"this is not a database, it is a text of some length" * 20)
    with pytest.raises(StoreError, match="store-corrupt"):
        observe(shop)
    assert (home / "knowbound.db").read_bytes().startswith(b"this is not")


def test_a_newer_store_is_not_touched(shop: Path) -> None:
    observe(shop)
    with sqlite3.connect(shop / ".knowbound" / "knowbound.db") as db:
        db.execute("PRAGMA user_version = 999")
    with pytest.raises(StoreError, match="store-newer"):
        observe(shop)


def test_config_file_environment_and_flag_in_that_order(tmp_path: Path) -> None:
    (tmp_path / "knowbound.toml").write_text(
        'jobs = 2\nknowledge = ["docs/*.md"]\n[hedging_classifier]\nenabled = false\n'
    )
    assert load(tmp_path, {}).jobs == 2
    assert load(tmp_path, {}).hedging_classifier_enabled is False
    assert load(tmp_path, {"KNOWBOUND_JOBS": "3"}).jobs == 3
    assert load(tmp_path, {"KNOWBOUND_JOBS": "3"}, {"jobs": 4}).jobs == 4
    assert load(tmp_path, {"KNOWBOUND_HOME": "/data"}).home == Path("/data")


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("knowlege = []", "Did you mean 'knowledge'"),
        ("jobs = 'many'", "config-wrong-type"),
        ("jobs = -1", "config-wrong-type"),
        ("jobs = true", "config-wrong-type"),
        ("knowledge = [1]", "config-wrong-type"),
        ("jobs = ", "config-unreadable"),
        ("[hedging_classifier]\nenabeld = true", "Did you mean 'hedging_classifier.enabled'"),
    ],
)
def test_a_wrong_config_is_an_error_that_helps(tmp_path: Path, text: str, slug: str) -> None:
    (tmp_path / "knowbound.toml").write_text(text)
    with pytest.raises(ConfigError) as error:
        load(tmp_path, {})
    assert slug in str(error.value)


HEDGE = "I'm not sure which service owns the {} table."


class CostlyJudge:
    """A judge that costs, as a model would: keeps everything, and counts what it was asked."""

    version = "costly/1"
    costs = True
    usd = 0.0

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.given: dict[str, HedgingVerdict] = {}

    def known(self, candidate: HedgingCandidate) -> HedgingVerdict | None:
        return self.given.get(candidate.sentence)

    def judge(self, candidates: Sequence[HedgingCandidate]) -> list[HedgingVerdict]:
        self.asked += [candidate.sentence for candidate in candidates]
        found = [HedgingVerdict(True, 0.9, "said so", self.version) for _ in candidates]
        self.given |= {one.sentence: verdict for one, verdict in zip(candidates, found, strict=True)}
        return list(found)


def test_a_judge_that_costs_is_capped_per_evaluation_and_never_asked_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = CostlyJudge()
    monkeypatch.setattr("knowbound.gaps.reading.judge_of", lambda settings: judge)
    for number in range(40):
        text = " ".join(HEDGE.format(name) for name in (f"t{number}a", f"t{number}b"))
        Transcript(f"s-{number}").user("go").says(text).write(tmp_path / "traces")
    report = observe(tmp_path)
    assert len(judge.asked) == 50
    assert report.gap.by_type[SignalType.HEDGING] == 80  # what was not judged stays a signal
    assert report.warnings == ["30 of 80 hedging sentences were not judged: the cap is 50."]
    assert report.judging == HedgeJudging("costly/1", cap=50, judged=50, unjudged=30)
    (tmp_path / "traces" / "s-0.jsonl").touch()
    again = observe(tmp_path)
    assert len(judge.asked) == len(set(judge.asked)) == 80  # the rest is asked the next time, within the cap again
    assert (again.gap.by_type[SignalType.HEDGING], again.warnings) == (80, [])
    assert again.judging is not None
    assert again.judging.unjudged == 0
    observe(tmp_path)
    assert len(judge.asked) == 80


def test_a_judge_with_a_cap_never_lowers_the_rate_by_what_it_was_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Never(CostlyJudge):
        def judge(self, candidates: Sequence[HedgingCandidate]) -> list[HedgingVerdict]:
            return [HedgingVerdict(False, 0.9, "a plan", self.version) for _ in super().judge(candidates)]

    monkeypatch.setattr("knowbound.gaps.reading.judge_of", lambda settings: Never())
    for number in range(60):
        Transcript(f"s-{number}").user("go").says(HEDGE.format(f"t{number}")).write(tmp_path / "traces")
    report = observe(tmp_path)
    assert report.gap.rate == Rate(10, 60)  # 50 were judged to be no doubt
    assert [signal.verdict for signal in report.inventory] == [None] * 10
    formats: tuple[Format, ...] = ("text", "markdown", "html")
    for format_ in formats:
        shown = " ".join(re.sub(r"<[^>]+>|[*`\\]", " ", render_observe(report, format_)).split())
        for part in ("Hedges judged", "50 sentences", "10, kept as signals", "$0.00", "judge: kept: not judged"):
            assert part in shown, (format_, part)
    document = json.loads(render_observe(report, "json"))
    assert document["judging"] == {
        "judge": "costly/1", "cap": 50, "judged": 50, "unjudged": 10, "failed": 0, "usd": 0.0,
    }  # fmt: skip


def test_a_verdict_that_failed_is_asked_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(CostlyJudge):
        failing = True

        def judge(self, candidates: Sequence[HedgingCandidate]) -> list[HedgingVerdict]:
            self.asked += [candidate.sentence for candidate in candidates]
            failed = failed_verdict("no answer", self.version)
            verdict = failed if self.failing else HedgingVerdict(False, 0.9, "a plan", self.version)
            return [verdict for _ in candidates]

    judge = Failing()
    monkeypatch.setattr("knowbound.gaps.reading.judge_of", lambda settings: judge)
    Transcript("s-1").user("go").says(HEDGE.format("ledger")).write(tmp_path / "traces")
    assert observe(tmp_path).gap.by_type[SignalType.HEDGING] == 1  # kept as doubt
    judge.failing = False
    assert observe(tmp_path).gap.by_type[SignalType.HEDGING] == 0
    observe(tmp_path)
    assert len(judge.asked) == 2  # and not a third time


def test_a_cap_in_the_settings_holds_for_a_free_judge_too(tmp_path: Path) -> None:
    text = " ".join(HEDGE.format(name) for name in ("invoice", "refund", "ledger"))
    Transcript().user("go").says(text).write(tmp_path / "traces")
    report, _ = observing.observe([tmp_path / "traces"], settings_for(tmp_path, hedging_classifier_max_candidates=2))
    assert report.gap.by_type[SignalType.HEDGING] == 3
    assert [signal.verdict is None for signal in report.inventory].count(True) == 1
    assert "the cap is 2" in report.warnings[0]


def test_without_a_judge_the_net_alone_decides(tmp_path: Path) -> None:
    Transcript().user("go").says("The user might want a list.").write(tmp_path / "traces")
    without, _ = observing.observe([tmp_path / "traces"], settings_for(tmp_path, hedging_classifier_enabled=False))
    assert without.gap.by_type[SignalType.HEDGING] == 1


def test_an_unknown_judge_is_an_error_that_helps(shop: Path) -> None:
    with pytest.raises(ConfigError, match="unknown-judge"):
        observing.observe([shop / "traces"], settings_for(shop, model_tasks_hedges="oracle"))


def test_ctrl_c_leaves_a_usable_store(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    for number in range(100):
        transcript = Transcript(f"session-{number}").user("go")
        for step in range(30):
            transcript.grep(f"name{step}")
        transcript.says("ok").write(traces)
    (tmp_path / "knowbound.toml").write_text("jobs = 1\n")
    code = (
        "from knowbound.traces import sessions; sessions._COMMIT_SECONDS = 0.0\n"
        "from knowbound.cli.main import main\n"
        f"main(['observe', {str(traces)!r}, '--root', {str(tmp_path)!r}])"
    )
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    database = tmp_path / ".knowbound" / "knowbound.db"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and run.poll() is None and _kept(database) < 3:
        pass
    run.send_signal(signals.SIGINT)
    _, told = run.communicate(timeout=60)
    assert run.returncode in (0, 130), told
    kept = _kept(database)
    assert kept >= 3
    assert observe(tmp_path).totals.sessions == 100


def _kept(database: Path) -> int:
    try:
        with sqlite3.connect(f"file:{database}?mode=ro", uri=True) as db:
            return int(db.execute("SELECT count(*) FROM session").fetchone()[0])
    except sqlite3.Error:
        return 0


def test_one_screen_has_topics_one_line_of_figures_and_the_watermark(tmp_path: Path) -> None:
    Transcript("s-1").user("go").grep("ledger").says("ok").write(tmp_path / "traces")

    def shown(*more: str) -> str:
        given = ["observe", str(tmp_path / "traces"), "--root", str(tmp_path), *more]
        result = CliRunner().invoke(knowbound, given, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.stdout

    short, rates, full = shown(), shown("--all-rates"), shown("--verbose")
    assert "Gap rate 100% (weighted 100%, open 0–100%) · open band red" in short
    assert WARNING in short
    assert "Gap inventory" not in short
    assert "Raw band" not in short
    assert "Raw band" in rates
    assert "Gap inventory" not in rates
    assert "Gap inventory" in full
    assert "Gap inventory" in shown("--format", "html")
