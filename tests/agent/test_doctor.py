from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from knowbound.agent.background import SCORING
from knowbound.agent.doctor import examine
from knowbound.agent.doctor.activity import hook_runs
from knowbound.agent.hook import log as hook_log
from knowbound.cli.main import knowbound
from knowbound.core.quality import QualityTurn
from knowbound.distribution import extra_command
from knowbound.injection.record import add_to_record
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.kms.validation import NewItem
from knowbound.text.clock import utc_now


class Project:
    """A project and a user's home, and doctor run there."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "project"
        self.home = self.root / ".knowbound"
        self.user = folder / "user"
        self.root.mkdir()
        self.user.mkdir()
        self.environ = {
            "HOME": str(self.user), "KNOWBOUND_HOME": None, "CLAUDE_CONFIG_DIR": None, "CODEX_HOME": None,
        }  # fmt: skip

    def run(self, *args: str) -> tuple[int, str]:
        result = CliRunner().invoke(
            knowbound, [*args, "--root", str(self.root)], env=self.environ, standalone_mode=False
        )
        if result.exception:
            raise result.exception
        return int(result.return_value or 0), result.stdout

    def write_config(self, text: str) -> None:
        """The user's own config: a project may not name a database."""
        folder = self.user / ".config" / "knowbound"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(text, "utf-8")

    def all_checks(self) -> list[dict[str, Any]]:
        _, output = self.run("doctor", "--format", "json")
        return list(json.loads(output)["checks"])

    def checks(self) -> dict[str, dict[str, Any]]:
        return {check["name"]: check for check in self.all_checks()}

    def store(self, content: str = "The port is 8080.") -> None:
        base = KnowledgeStore([SqliteBackend(self.home)], Index(self.home))
        base.add(NewItem(content=content))
        base.close()


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def test_a_fresh_project_is_told_what_to_do_next_and_is_healthy(project: Project) -> None:
    code, output = project.run("doctor")
    assert code == 0
    assert "nothing is stored yet" in output
    assert "knowbound install" in output
    assert list(project.root.iterdir()) == []  # it only looks


def test_a_store_is_counted(project: Project) -> None:
    project.store()
    checks = project.checks()
    assert checks["index.db"]["state"] == "ok"
    assert checks["index of sqlite"]["found"] == "1 items, 1 served"


def test_an_empty_store_is_to_be_filled_before_an_agent_is_connected(project: Project) -> None:
    project.run("kms", "list")  # makes it
    code, output = project.run("doctor")
    assert code == 0
    assert output.index("knowbound kms import docs") < output.index("knowbound install")
    project.store()
    assert "kms import" not in project.run("doctor")[1]


def test_a_damaged_index_is_a_problem_and_exit_2(project: Project) -> None:
    project.store()
    for path in project.home.glob("index.db*"):
        path.unlink()
    (project.home / "index.db").write_bytes(b"SQLite format 3\x00" + os.urandom(4000))
    code, output = project.run("doctor")
    assert code == 2
    assert "PROBLEM" in output
    assert "index.db" in output


def test_a_newer_schema_is_a_problem(project: Project) -> None:
    project.store()
    with sqlite3.connect(project.home / "index.db") as db:
        db.execute("PRAGMA user_version = 999")
    db.close()
    assert "newer than ours" in project.checks()["index.db"]["found"]


def test_a_backend_that_was_never_synchronised_is_a_problem(project: Project) -> None:
    project.store()
    project.write_config('[kms]\nbackends = ["sqlite", "mongo"]\n')
    assert project.checks()["index of mongo"]["state"] == "problem"


def test_a_killed_writer_is_seen(project: Project) -> None:
    project.store()
    with sqlite3.connect(project.home / "index.db") as db:
        db.execute("INSERT INTO pending VALUES ('k-1')")
    db.close()
    assert "killed" in project.checks()["index"]["found"]


def test_it_says_where_the_hooks_are_installed(project: Project) -> None:
    project.run("install", "claude-code", "--yes")
    project.run("install", "codex", "--yes")
    checks = project.checks()
    assert "settings.json" in checks["claude-code (user)"]["found"]
    assert "UserPromptSubmit" in checks["codex (user)"]["found"]
    assert "hooks" not in checks


def test_a_hook_whose_command_is_gone_is_a_problem(project: Project) -> None:
    settings = project.root / ".claude" / "settings.json"
    settings.parent.mkdir()
    handler = {"type": "command", "command": "/gone/bin/knowbound-hook session-start"}
    settings.write_text(json.dumps({"hooks": {"SessionStart": [{"hooks": [handler]}]}}))
    check = project.checks()["claude-code (project)"]
    assert check["state"] == "problem"
    assert "/gone/bin/knowbound-hook" in check["found"]


def test_broken_settings_are_a_problem(project: Project) -> None:
    settings = project.root / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{broken")
    assert project.checks()["claude-code (project)"]["state"] == "problem"


def test_the_last_runs_of_the_hooks_are_summed_up(project: Project) -> None:
    project.store()
    for spent in range(1, 101):
        hook_log.write(str(project.home), "user-prompt-submit", "injected", float(spent), 2, 100)
    hook_log.write(str(project.home), "user-prompt-submit", "failed", 5.0, 0, 0, "database disk image is malformed")
    found = hook_runs(project.home)
    assert (found.runs, found.injected, found.failed) == (101, 100, 1)
    assert found.p95_ms == 95.0
    assert found.reasons == {"database disk image is malformed": 1}
    code, output = project.run("doctor")
    assert code == 2
    assert "1 × database disk image is malformed" in output


def note_choice(project: Project, **known: object) -> None:
    """A prompt for which a model was asked."""
    key = {"time": utc_now(), "id": os.urandom(4).hex(), "session": "s"}
    add_to_record(str(project.home), key, {"prompt_id": "p", **known})


def test_a_model_whose_later_choices_come_too_late_is_noted(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.store()
    monkeypatch.setenv("KNOWBOUND_MODEL_TASKS_CHOOSE", "command:cat")
    assert project.checks()["hook model"]["found"] == "command:cat chooses what is injected, while the agent works"
    item = {"item": "k1", "backend": "sqlite"}
    chosen = {"chooser_outcome": "late", "chooser_ms": 4_000.0, "late": [item]}
    for number in range(4):
        note_choice(project, **chosen, late_delivered=True, late_ms=9_000.0, late_after_edit=number > 1)
    check = project.checks()["late choices"]
    assert check["found"] == (
        "of 4 later choices 4 were injected, 2 before the first edit that hooks saw; the model took 4.0 s (median)"
    )
    assert check["state"] == "ok"  # too few to tell
    for _ in range(6):
        note_choice(project, **chosen)
    check = project.checks()["late choices"]
    assert check["state"] == "note"
    assert "of 10 later choices 4 were injected, 2 before" in check["found"]
    assert "a quicker model" in check["do"]


def test_a_slow_model_is_noted_before_there_are_many_choices(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    project.store()
    monkeypatch.setenv("KNOWBOUND_MODEL_TASKS_CHOOSE", "command:cat")
    note_choice(project, chooser_outcome="late", chooser_ms=25_000.0, late=[{"item": "k1", "backend": "sqlite"}])
    check = project.checks()["late choices"]
    assert (check["state"], "fewer than half come in time" in check["found"]) == ("note", True)


def test_an_installation_without_the_hook_for_later_choices_is_noted(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.store()
    project.run("install", "claude-code", "--yes")
    monkeypatch.setenv("KNOWBOUND_MODEL_TASKS_CHOOSE", "command:cat")
    found = [check for check in project.all_checks() if "never injected" in check["found"]]
    assert [check["do"] for check in found] == ["knowbound install claude-code"]
    project.run("install", "claude-code", "--yes")
    assert not [check for check in project.all_checks() if "never injected" in check["found"]]


def test_a_configured_model_is_checked_and_its_runs_are_summed_up(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.store()
    assert "hook model" not in project.checks()
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    monkeypatch.setenv("KNOWBOUND_INJECTION_MODEL", "anthropic:m")
    check = project.checks()["hook model"]
    assert (check["state"], check["do"]) == ("note", "knowbound explain hook-model")
    assert "ANTHROPIC_API_KEY is not set here" in check["found"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    note_choice(project, chooser_outcome="failed", reason="the model: the key is refused (HTTP 401)")
    checks = project.checks()
    assert checks["hook model"]["state"] == "ok"
    assert checks["hook model runs"]["state"] == "problem"
    assert "1 × the model: the key is refused" in checks["hook model runs"]["found"]
    note_choice(project, chooser_outcome="chosen")
    assert project.checks()["hook model runs"]["state"] == "note"
    monkeypatch.setenv("KNOWBOUND_INJECTION_MODEL", "no such judge")
    assert project.checks()["hook model"]["state"] == "problem"
    monkeypatch.setenv("KNOWBOUND_INJECTION_MODEL", "rules")
    assert "hook model" not in project.checks()


def test_an_old_failure_is_history(project: Project) -> None:
    project.store()
    hook_log.write(str(project.home), "user-prompt-submit", "failed", 5.0, 0, 0, "locked")
    for _ in range(20):
        hook_log.write(str(project.home), "user-prompt-submit", "injected", 5.0, 1, 50)
    assert project.checks()["hook failures"]["state"] == "note"


def test_a_log_with_broken_lines_is_read(project: Project) -> None:
    project.home.mkdir()
    (project.home / "hook.log").write_bytes(b'{broken\n[]\n\xff\n{"outcome": "told", "ms": 3}\n')
    assert hook_runs(project.home).runs == 1


def test_a_missing_extra_names_its_command(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "_EXTRAS", {"mongo": "no_such_module_at_all"})
    check = project.checks()["extra mongo"]
    assert (check["state"], check["do"]) == ("note", extra_command("mongo"))
    project.write_config('[kms]\nbackends = ["mongo"]\n')
    assert project.checks()["extra mongo"]["state"] == "problem"


def test_json_says_whether_all_is_well(project: Project) -> None:
    document = json.loads(project.run("doctor", "--format", "json")[1])
    assert document["format"] == "knowbound.doctor/1"
    assert document["healthy"] is True
    assert document["hooks"]["runs"] == 0
    assert document["hooks"]["told"] == document["hooks"]["injected"] == 0


def test_hooks_that_ran_out_of_time_are_counted_apart(project: Project) -> None:
    project.store()
    hook_log.write(str(project.home), "user-prompt-submit", "gave_up", 1000.0, 0, 0, "the time limit is over")
    checks = project.checks()
    assert "1 failed (1 at the time limit)" in checks["hook runs"]["found"]
    assert (checks["hook failures"]["state"], checks["hook failures"]["do"]) == (
        "problem",
        "knowbound explain hook-failed",
    )


# Scoring


def queue_turn(project: Project, time: str) -> None:
    """As the hook queues it when a turn ends."""
    folder = project.home / "ended"
    folder.mkdir(exist_ok=True)
    line = {"time": time, "id": "1", "session": "s", "event": "stop", "prompt_id": "p"}
    (folder / f"{time[:10]}.jsonl").write_text(json.dumps(line, separators=(",", ":")) + "\n", "utf-8")


def test_where_no_turn_has_ended_scoring_is_not_spoken_of(project: Project) -> None:
    project.store()
    assert not {"scoring", "unscored turns"} & set(project.checks())


def test_it_says_what_waits_and_what_the_worker_did_last(project: Project) -> None:
    project.store()
    queue_turn(project, utc_now())
    SCORING.note(str(project.home), "scored", turns=3, failed=0, reason="", days="")
    check = project.checks()["scoring"]
    assert check["state"] == "ok"
    assert check["found"].startswith("1 in the queue; the last run, 20")
    assert check["found"].endswith("scored 3 turns")
    SCORING.note(str(project.home), "reverted", leg=1)
    assert project.checks()["scoring"]["found"].endswith("scored turns and reverted the rollout to leg 1")


def test_a_turn_that_nobody_scores_is_a_problem_unless_a_worker_is_at_it(project: Project) -> None:
    project.store()
    queue_turn(project, "2020-01-01T00:00:00Z")
    check = project.checks()["scoring"]
    assert (check["state"], check["do"]) == ("problem", "knowbound quality score --queue")
    assert check["found"] == "1 in the queue; the worker has not run yet"
    lock = SCORING.take_lock(str(project.home))
    assert lock is not None
    assert project.checks()["scoring"]["state"] == "ok"
    os.close(lock)


def test_a_worker_that_failed_is_a_problem_with_its_reason(project: Project) -> None:
    project.store()
    SCORING.note(str(project.home), "scored", turns=3)
    SCORING.note(str(project.home), "failed", reason="the disk is full")
    assert project.checks()["scoring"]["state"] == "note"  # somebody worked off the queue since
    queue_turn(project, utc_now())
    check = project.checks()["scoring"]
    assert (check["state"], check["do"]) == ("problem", "knowbound quality score --queue")
    assert check["found"].endswith("failed: the disk is full")


def test_turns_without_verdicts_are_a_problem_that_scoring_again_repairs(project: Project) -> None:
    project.store()
    SCORING.note(str(project.home), "scored", turns=2, failed=1)
    with closing(SqliteQualityLog(project.home)) as log:
        log.put(QualityTurn("s", "1", utc_now(), scored_at=utc_now()))
        assert "unscored turns" not in project.checks()
        log.put(QualityTurn("s", "2", utc_now(), scored_at=utc_now(), problem="ANTHROPIC_API_KEY is not set"))
    check = project.checks()["unscored turns"]
    assert (check["state"], check["do"]) == ("problem", "knowbound quality score --again")
    assert check["found"] == "1 in the log without verdicts; the last: ANTHROPIC_API_KEY is not set"
