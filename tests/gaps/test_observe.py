"""`observe` from files to the report: what is counted, what is left out, and what is said where nothing is found."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from knowbound import __version__
from knowbound.config import Settings
from knowbound.core.bundle import SELF_MARKING
from knowbound.core.signal import LENS_VERSION, Findings, InjectedText, Signal, SignalType, Status, Turn
from knowbound.core.trace import LeftOut
from knowbound.errors import InputError
from knowbound.gaps import observe as module
from knowbound.gaps.observe import lens_state, listed, marked_guesses, observe, read_ahead
from knowbound.gaps.stored import Filters
from knowbound.report.model import ObserveReport
from knowbound.stats.figures import Coverage
from knowbound.stats.rate import Rate
from knowbound.store.observed import Observed
from tests.transcripts import Transcript


@pytest.mark.parametrize(
    ("injected", "asked", "unasked"),
    [
        ([], Rate(0, 0), Rate(1, 3)),
        (["The port is 8080."], Rate(0, 0), Rate(1, 3)),
        (["The port is 8080.", SELF_MARKING], Rate(1, 3), Rate(0, 0)),
    ],
)
def test_marked_guesses_count_apart_where_the_session_was_asked_to_mark_them(
    injected: list[str], asked: Rate, unasked: Rate
) -> None:
    types = (SignalType.EXPLICIT_MARKER, SignalType.HEDGING, SignalType.HEDGING, SignalType.FAILED_SEARCH)
    signals = [Signal(type_, Status.OPEN, "s", 1, "s#1") for type_ in types]
    texts = [InjectedText("hook:SessionStart", "", text, len(text)) for text in injected]
    marking = marked_guesses(Findings("s", "codex", turns=[Turn(1, "s#1", injected=texts)], signals=signals))
    assert (marking.asked, marking.unasked) == (asked, unasked)


class Corpus:
    """A project with knowledge files, and the sessions of agents that worked in it and elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.root, self.traces = folder / "shop", folder / "traces"
        for name in ("CLAUDE.md", "AGENTS.md", ".claude/docs/tables.md", ".claude/docs/refunds.md"):
            file = self.root / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("x\n", "utf-8")
        self.settings = Settings(root=self.root, home=folder / "home")

    def session(self, name: str, project: Path | str | None = None) -> Transcript:
        return Transcript(name, str(self.root if project is None else project))

    def write(self, *sessions: Transcript) -> Corpus:
        for one in sessions:
            one.write(self.traces)
        return self

    def report(self, filters: Filters | None = None, **more: object) -> ObserveReport:
        return observe([self.traces], self.settings, filters, **more)[0]  # type: ignore[arg-type]


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Two sessions in the project, one of its worktree, one of another project."""
    made = Corpus(tmp_path)
    first = made.session("s1").user("go").grep("refundLedger").read(f"{made.root}/.claude/docs/tables.md").says("Done.")
    second = (
        made.session("s2").user("go").grep("vatRates").raw("not json").user("Where?").says("[inferred] In the wiki.")
    )
    tree = made.session("s3", f"{made.root}/.worktrees/fix").user("go").grep("refundLedger").says("Done.")
    other = made.session("s4", "/work/billing").user("go").grep("invoiceTotals").user("unanswered")
    return made.write(first, second, tree, other)


def test_every_session_is_counted_once(corpus: Corpus) -> None:
    report = corpus.report()
    assert msgspec.to_builtins(report.totals) == {
        "files": 4, "sessions": 4, "turns": 6, "tool_calls": 5, "samples": 4, "skipped_lines": 1, "lines": 20,
        "duplicates": 0, "signals": 5, "unknown_calls": 0, "turns_by_programs": 0, "unmanaged_items": 0,
    }  # fmt: skip
    assert (report.gap.rate, report.gap.open, report.gap.open_most, report.gap.per_turn) == (
        Rate(4, 4), Rate(1, 4), Rate(4, 4), Rate(5, 5)
    )  # fmt: skip
    assert report.gap.by_type == {"failed_search": 4, "explicit_marker": 1, "hedging": 0, "repeated_failure": 0}
    assert (report.projects, report.agents) == ({"shop": 3, "billing": 1}, {"claude-code": 4})
    assert report.skipped_examples[0].path.endswith("s2.jsonl")
    assert sum(report.skipped.values()) == 1
    assert (report.watermark.samples, report.places, report.root) == (4, [str(corpus.traces)], str(corpus.root))
    assert (report.version, report.last_look, report.filters, report.unrecognised) == (__version__, "", {}, [])
    assert (report.reading.read, report.reading.left_out) == (4, {})
    assert (report.marking.unasked, report.marking.asked) == (Rate(1, 1), Rate())


def test_the_inventory_has_each_signal_with_its_topic_and_skill(corpus: Corpus) -> None:
    report, signals = observe([corpus.traces], corpus.settings)
    assert sorted(signal.query or signal.text for signal in report.inventory) == [
        "[inferred] In the wiki.", "invoiceTotals", "refundLedger", "refundLedger", "vatRates",
    ]  # fmt: skip
    ids = {topic.title: topic.id for topic in report.topics}
    assert set(ids) == {"refundLedger", "vatRates", "invoiceTotals", "[inferred] In the wiki."}
    assert {signal.query: signal.topic for signal in report.inventory if signal.query} == {
        title: id_ for title, id_ in ids.items() if not title.startswith("[")
    }
    assert set(report.skill_of.values()) == {"general"}
    assert [(topic.project, topic.sessions) for topic in report.topics][:1] == [("shop", 2)]
    assert sorted(signal.query for signal in signals if signal.query) == [
        "invoiceTotals", "refundLedger", "refundLedger", "vatRates"
    ]  # fmt: skip


def test_coverage_is_of_the_files_that_no_client_loads(corpus: Corpus) -> None:
    coverage = corpus.report().coverage
    assert coverage == Coverage(Rate(1, 2), [".claude/docs/refunds.md"], 3, "", ["AGENTS.md", "CLAUDE.md"])
    assert [(row.name, row.coverage) for row in corpus.report().skills] == [("general", Rate(1, 2))]


def test_an_unchanged_corpus_gives_the_stored_report_and_a_changed_one_another(corpus: Corpus) -> None:
    first = corpus.report()
    again, signals = observe([corpus.traces], corpus.settings)
    assert again == first
    assert len(list(signals)) == 5
    corpus.write(corpus.session("s5").user("go").grep("retryBudget").says("Done."))
    changed = corpus.report()
    assert (changed.totals.sessions, changed.last_look) == (5, first.made)
    filtered = corpus.report(Filters(project="shop"))
    assert (filtered.totals.sessions, filtered.last_look) == (4, "")  # a look at something else


@pytest.mark.parametrize(
    ("filters", "sessions", "left_out", "files"),
    [
        (Filters(project="shop"), 3, {LeftOut.OTHER_PROJECT: 1}, 3),
        (Filters(project="billing"), 1, {LeftOut.OTHER_PROJECT: 3}, 1),
        (Filters(since="2026-10-01T10:00:06"), 1, {LeftOut.BEFORE: 3}, 1),
        (Filters(agent="claude-code"), 4, {}, 4),
        (Filters(skill="general"), 4, {}, 4),
    ],
)
def test_a_filter_leaves_sessions_out_and_counts_them(
    corpus: Corpus, filters: Filters, sessions: int, left_out: dict[LeftOut, int], files: int
) -> None:
    report = corpus.report(filters)
    assert (report.totals.sessions, report.reading.left_out, report.totals.files) == (sessions, left_out, files)
    assert report.filters == filters.shown()


def test_without_the_traces_of_a_session_it_counts_by_what_was_read_unless_a_path_is_given(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    folder = tmp_path / "claude/projects/shop"
    for name in ("s1", "s2"):
        corpus.session(name).user("go").grep(f"{name}Missing").says("Done.").write(folder)
    assert observe([], corpus.settings, environ=home)[0].totals.sessions == 2
    assert read_ahead(corpus.settings, environ=home) == 0
    (folder / "s1.jsonl").unlink()
    report = observe([], corpus.settings, environ=home)[0]
    assert report.totals.sessions == 2
    assert any("before their transcripts were deleted: 1" in warning for warning in report.warnings)
    given = observe([folder], corpus.settings, environ=home)[0]
    assert (given.totals.sessions, any("deleted" in warning for warning in given.warnings)) == (1, False)


def test_what_is_read_ahead_is_not_read_again(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    home = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "claude")}
    assert read_ahead(corpus.settings, environ=home) == 0
    for name in ("s1", "s2"):
        corpus.session(name).user("go").says("Done.").write(tmp_path / "claude/projects/shop")
    assert read_ahead(corpus.settings, environ=home) == 2
    assert read_ahead(corpus.settings, environ=home) == 0
    done: list[int] = []
    report, _ = observe([], corpus.settings, environ=home, progress=lambda bytes_, _: done.append(bytes_))
    assert (report.totals.sessions, sum(done)) == (2, 0)


def refused(corpus: Corpus, filters: Filters | None = None, path: Path | None = None) -> str:
    with pytest.raises(InputError) as error:
        observe([path or corpus.traces], corpus.settings, filters)
    assert error.value.slug == "no-sessions"
    return str(error.value)


def test_where_nothing_is_found_the_reason_and_the_next_command_are_named(corpus: Corpus, tmp_path: Path) -> None:
    traces = str(corpus.traces)
    empty = tmp_path / "empty"
    empty.mkdir()
    assert f"No sessions found in {empty}. Try: knowbound observe PATH" in refused(corpus, path=empty)
    assert f"No sessions found in {traces} with --skill ship. Try: knowbound observe PATH" in refused(
        corpus, Filters(skill="ship")
    )
    assert "with --agent nobody. Agents are: " in refused(corpus, Filters(agent="nobody"))
    assert "with --agent codex. Try: knowbound observe PATH" in refused(corpus, Filters(agent="codex"))
    assert (
        f"No sessions found in {traces} with --project wiki. "
        "There are 4 sessions of other projects: shop 3, billing 1. Try: knowbound observe --all"
    ) in refused(corpus, Filters(project="wiki"))
    (empty / "notes.jsonl").write_text("no trace\n", "utf-8")
    assert "No trace: " in refused(corpus, path=empty)


def test_folders_below_the_home_folder_are_shown_short() -> None:
    home = str(Path.home())
    assert listed([f"{home}/traces", home, f"{home}er/x", "/srv"]) == f"~/traces, {home}, {home}er/x, /srv"


def test_the_state_of_the_lens_changes_with_everything_that_findings_depend_on(tmp_path: Path) -> None:
    settings = Settings(root=tmp_path, home=tmp_path)
    plain = lens_state(settings)
    assert plain.startswith(f"{__version__}|{LENS_VERSION}|")
    assert plain.endswith("|0|()|3")
    assert (
        lens_state(replace(settings, hedging_classifier_enabled=False)) == f"{__version__}|{LENS_VERSION}|none|0|()|3"
    )
    assert lens_state(replace(settings, hedges_off=True)) == f"{plain}|hedges off"
    assert lens_state(replace(settings, as_specified=True)) == f"{plain}|as specified"
    assert lens_state(replace(settings, hedges_off=True, as_specified=True)) == f"{plain}|hedges off|as specified"
    assert lens_state(replace(settings, repeated_failure_calls=4)) != plain


ROOTS = ("/link/shop", "/work/shop")


@pytest.mark.parametrize(
    ("project", "is_given", "paths", "shown"),
    [
        ("/work/shop", False, ["docs/a.md", "/work/shop/b.md", "/etc/c.md"], ["docs/a.md", "b.md", "/etc/c.md"]),
        ("/work/shop/api/", False, ["docs/a.md", "/work/shop/b.md"], ["api/docs/a.md", "b.md"]),
        ("/link/shop", False, ["docs/a.md", "/link/shop/b.md"], ["docs/a.md", "b.md"]),
        ("/work/shop/.worktrees/x", False, ["a.md"], [".worktrees/x/a.md"]),
        ("/elsewhere", True, ["docs/a.md", "/elsewhere/b.md"], ["docs/a.md", "b.md"]),
        ("/elsewhere", False, ["docs/a.md", "/work/shop/b.md", "/work/shopping/c.md"], ["b.md"]),
        ("/work/shopping", False, ["a.md"], []),
    ],
)
def test_knowledge_files_are_shown_from_the_root(
    project: str, is_given: bool, paths: list[str], shown: list[str]
) -> None:
    assert module._in_root(Findings("s", "codex", project=project), paths, ROOTS, is_given) == shown


@pytest.mark.parametrize(
    ("knowledge", "sessions", "coverage"),
    [
        (["a.md", "b.md", "CLAUDE.md"], 2, Coverage(Rate(1, 1), [], 2, "", ["CLAUDE.md", "b.md"])),
        (["a.md", "c.md"], 1, Coverage(Rate(1, 2), ["c.md"], 1, "", [])),
        (["CLAUDE.md"], 0, Coverage(Rate(), [], 0, "no session worked in /work/shop", ["CLAUDE.md"])),
        ([], 1, Coverage(Rate(), [], 1, "no knowledge files under /work/shop", [])),
    ],
)
def test_coverage_is_unknown_without_sessions_or_files(knowledge: list[str], sessions: int, coverage: Coverage) -> None:
    assert module._coverage(knowledge, ["a.md", "x.md"], ["b.md", "y.md"], sessions, Path("/work/shop")) == coverage


def test_many_broken_lines_are_counted_by_reason_and_twenty_are_shown(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    for name in ("s1", "s2"):
        transcript = corpus.session(name).user("go")
        for _ in range(15):
            transcript.raw("not json")
        corpus.write(transcript.says("Done."))
    report = corpus.report()
    assert (report.totals.skipped_lines, len(report.skipped_examples)) == (30, 20)
    assert list(Counter(report.skipped).values()) == [30]


def test_a_sample_without_an_answer_is_not_in_the_test_set(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    corpus.write(corpus.session("s1").user("go").says("Done."), corpus.session("s2").user("go"))
    report = corpus.report()
    assert (report.watermark.samples, report.totals.samples, len(report.incomplete)) == (1, 2, 1)
    assert (report.incomplete[0].reason, report.gap.rate) == ("no answer of the agent", Rate(0, 1))


def test_sessions_that_work_elsewhere_are_in_a_root_that_is_given(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    corpus.write(corpus.session("s1", "/elsewhere").user("go").read("/elsewhere/.claude/docs/tables.md").says("Done."))
    assert corpus.report().coverage.sessions == 0
    assert corpus.report(root_is_given=True).coverage.rate == Rate(1, 2)


def test_a_forgotten_file_is_left_out_with_a_warning(tmp_path: Path) -> None:
    corpus = Corpus(tmp_path)
    corpus.write(corpus.session("s1").user("go").says("Done."), corpus.session("s2").user("go").says("Done."))
    assert corpus.report().totals.sessions == 2
    from knowbound.gaps.observe import _without_forgotten
    from knowbound.traces.corpus import scan
    from knowbound.traces.sessions import sessions_of

    store = Observed(corpus.settings.home)
    files, _ = scan([corpus.traces], 0)
    found = sessions_of(files, store, None)
    warnings: list[str] = []
    left = _without_forgotten(files, found, [files[0].path], store, corpus.settings.home, warnings)
    assert ([file.path for file in left], warnings) == ([files[1].path], [])  # nothing was ever forgotten here
