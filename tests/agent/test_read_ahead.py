"""What agents wrote is read in the background, so that no command starts cold."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.agent.background import READING, settings_for
from knowbound.agent.doctor.activity import check_transcripts
from knowbound.audit.audit import audit_lens
from knowbound.cli.main import knowbound
from knowbound.config import Settings
from knowbound.gaps.observe import observe, read_ahead
from knowbound.kms.pieces import claude_project
from knowbound.lessons.learn import material_lens
from knowbound.store.observed import Observed
from knowbound.traces.sessions import Lens
from tests.quality.scored_project import ScoredProject
from tests.transcripts import Transcript


@pytest.fixture
def shop(tmp_path: Path) -> ScoredProject:
    """A project with two sessions, in the folder where Claude Code keeps them."""
    project = ScoredProject(tmp_path / "shop")
    project.environ["HOME"] = os.environ["HOME"]
    Transcript("s-1", str(project.root)).user("go").grep("refundWindow").says("I will take 30 days.").write(claude())
    Transcript("s-2", str(project.root)).user("go").says("I'm not sure who owns the table.").write(claude())
    return project


def claude() -> Path:
    return Path(os.environ["HOME"]) / ".claude" / "projects" / "shop"


def settings_of(project: ScoredProject) -> Settings:
    return settings_for(project.root, project.home)


def lenses_of(settings: Settings) -> list[Lens]:
    return [material_lens(settings.home), audit_lens(settings)]


def read_by_observe(settings: Settings, *paths: Path) -> tuple[int, int]:
    """Return the sessions that `observe` reports, with every lens of `knowbound`, and the bytes that it read."""
    read: list[int] = []
    report, _ = observe(paths, settings, progress=lambda done, _: read.append(done), also=lenses_of(settings))
    return report.totals.sessions, sum(read)


def test_after_the_worker_ran_no_session_is_read_again(shop: ScoredProject) -> None:
    assert shop.work() == 0
    last = READING.last_note(str(shop.home))
    assert last is not None
    assert (last["event"], last["sessions"]) == ("read", 2)
    assert read_by_observe(settings_of(shop)) == (2, 0)


def test_only_what_grew_is_read_by_the_next_worker(shop: ScoredProject) -> None:
    shop.work()
    with (claude() / "s-2.jsonl").open("a") as file:
        file.writelines(f"{line}\n" for line in Transcript("s-2", str(shop.root)).user("a").grep("ledger").lines[1:])
    shop.work()
    last = READING.last_note(str(shop.home))
    assert last is not None
    assert last["sessions"] == 1
    assert read_by_observe(settings_of(shop)) == (2, 0)


def test_a_report_about_other_traces_leaves_what_was_read(shop: ScoredProject, tmp_path: Path) -> None:
    shop.work()
    Transcript("s-9").user("go").says("Done.").write(tmp_path / "others")
    assert read_by_observe(settings_of(shop), tmp_path / "others")[0] == 1
    assert read_by_observe(settings_of(shop)) == (2, 0)


def test_background_reading_is_no_look_and_no_report(shop: ScoredProject) -> None:
    shop.work()
    store = Observed(shop.home)
    assert store.newest_kind() == ""
    store.close()
    report, _ = observe([], settings_of(shop))
    assert report.last_look == ""


def test_what_a_capped_judge_decides_waits_for_a_command_without_a_second_reading(shop: ScoredProject) -> None:
    settings = Settings(root=shop.root, home=shop.home, hedging_classifier_max_candidates=5, jobs=1)
    lenses = [material_lens(shop.home), audit_lens(settings)]
    assert read_ahead(settings, lenses) == 2
    store = Observed(shop.home)
    assert not store.are_read(store.states())
    assert read_ahead(settings, lenses_of(settings)) == 0
    assert read_by_observe(settings) == (2, 0)
    assert store.are_read(store.states())
    store.close()


def test_a_session_counts_when_its_client_has_deleted_the_transcript(shop: ScoredProject) -> None:
    settings = settings_of(shop)
    shop.work()
    before, _ = observe([], settings)
    (claude() / "s-1.jsonl").unlink()
    after, _ = observe([], settings)
    assert (after.totals.sessions, after.gap.open.n) == (before.totals.sessions, before.gap.open.n) == (2, 2)
    assert "Sessions that count by what was read before their transcripts were deleted: 1" in after.warnings
    shop.work()  # another turn ends
    assert observe([], settings)[0].totals.sessions == 2
    forgotten = CliRunner().invoke(knowbound, ["forget", "--session", "s-1", "--yes", "--root", str(shop.root)])
    assert forgotten.exit_code == 0, forgotten.output
    (claude() / "s-2.jsonl").unlink()
    Transcript("s-3", str(shop.root)).user("go").says("Done.").write(claude())
    assert observe([], settings)[0].totals.sessions == 2  # s-2 by what was read, and s-3


def test_a_transcript_that_was_named_counts_only_while_it_is_there(shop: ScoredProject) -> None:
    shop.work()
    (claude() / "s-1.jsonl").unlink()
    assert observe([claude()], settings_of(shop))[0].totals.sessions == 1


def test_doctor_names_the_day_when_transcripts_are_deleted_and_those_not_read(shop: ScoredProject) -> None:
    folder = claude().parent / claude_project(shop.root)
    claude().rename(folder)
    for path in folder.iterdir():
        os.utime(path, (moment := 1_790_000_000, moment))  # 2026-09-21
    environ = {"HOME": os.environ["HOME"]}
    [unread] = check_transcripts(settings_of(shop), environ)
    assert (unread.state, unread.do) == ("note", "knowbound observe")
    assert "2 not read yet; it deletes the oldest after 2026-10-21 (cleanupPeriodDays 30)" in unread.found
    shop.work()
    (shop.root / ".claude").mkdir()
    (shop.root / ".claude" / "settings.json").write_text('{"cleanupPeriodDays": 90}')
    [read] = check_transcripts(settings_of(shop), environ)
    assert read.state == "ok"
    assert "all that ended are read; it deletes the oldest after 2026-12-20 (cleanupPeriodDays 90)" in read.found


@pytest.mark.parametrize("text", ["{", "[]", '{"cleanupPeriodDays": "x"}', '{"cleanupPeriodDays": 99999999}'])
def test_settings_of_the_client_that_cannot_be_read_fail_no_check(shop: ScoredProject, text: str) -> None:
    claude().rename(claude().parent / claude_project(shop.root))
    (shop.root / ".claude").mkdir()
    (shop.root / ".claude" / "settings.json").write_text(text)
    found = list(check_transcripts(settings_of(shop), {"HOME": os.environ["HOME"]}))
    assert len(found) == ("99999999" not in text)


def test_without_a_transcript_nothing_is_read(tmp_path: Path) -> None:
    project = ScoredProject(tmp_path / "shop")
    assert project.work() == 0
    assert READING.last_note(str(project.home)) is None
