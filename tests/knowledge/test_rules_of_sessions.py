"""Rules of a project by day and agent, checked in sessions that are values."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.statement import Rule, RuleCheck, RuleVerdict
from knowbound.knowledge.rule_questions import AskedVerdict, RuleAnswer, RuleAnswers, RuleLine
from knowbound.knowledge.rules import RuleHistory, check_sessions
from knowbound.process import Ran
from knowbound.traces.activity import ActivityRecord, RecordKind, SessionActivity
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.shell.parser import commands, parse
from tests.knowledge.scripts import Script

AGENTS = "# Rules\n\n- Use `pnpm` instead of `npm`.\n- Name things well.\nText that says nothing.\n"
TREES = {
    "c1": {
        "AGENTS.md": "b1",
        "CLAUDE.md": "b2",
        "web/AGENTS.md": "b3",
        ".claude/skills/x/SKILL.md": "b1",
        "a.ts": "b9",
    },
    "c2": {"AGENTS.md": "b4"},
}
BLOBS = {"b1": AGENTS, "b2": "- Never push to main.\n", "b3": "- Never edit `web/gen/`.\n", "b4": "- Run it all now.\n"}


class Git:
    """Answers `run_git` for two commits: one before 2026-02, one after; a branch `topic` has only the first."""

    def __init__(self, *, is_cut: bool = False, has_history: bool = True) -> None:
        self._is_cut, self._has_history = is_cut, has_history
        self.refs: list[str] = []

    def __call__(self, root: Path, verb: str, *given: str, seconds: float, output_bytes: int) -> Ran:
        if verb == "rev-list":
            ref, before = given[3], given[1].removeprefix("--before=")
            self.refs.append(f"{ref} {before}")
            if not self._has_history or ref.startswith("refs/heads/other") or ref == "refs/remotes/origin/other":
                return Ran(0 if ref == "HEAD" else 128, b"", b"")
            commit = "c2" if before >= "2026-02" and "topic" not in ref else "c1" if before >= "2026-01" else ""
            return Ran(0, f"{commit}\n".encode(), b"")
        if verb == "ls-tree":
            rows = [f"100644 blob {blob}\t{path}\0" for path, blob in TREES[given[-1]].items()]
            return Ran(0, "".join([*rows, "120000 blob b1\tGEMINI.md\0"]).encode(), b"")
        return Ran(0, BLOBS[given[-1]].encode(), b"", cut=self._is_cut)


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> Git:
    fake = Git()
    monkeypatch.setattr("knowbound.knowledge.rules.run_git", fake)
    return fake


def rules(history: RuleHistory, *given: object) -> list[str]:
    return [f"{rule.file}:{rule.line} {rule.text}" for rule in history.at(*given)]  # type: ignore[arg-type]


PNPM, NAMES, PUSH, GEN, ALL = (
    "AGENTS.md:3 - Use `pnpm` instead of `npm`.", "AGENTS.md:4 - Name things well.",
    "CLAUDE.md:1 - Never push to main.",
    "web/AGENTS.md:1 - Never edit `web/gen/`.", "AGENTS.md:1 - Run it all now.",
)  # fmt: skip


def test_a_session_has_the_rules_of_its_day_branch_agent_and_folders(git: Git) -> None:
    cases: list[tuple[tuple[object, ...], list[str]]] = [
        (("2026-01-05T10:00:00Z",), [PNPM, NAMES, PUSH]),
        (("2026-02-05T10:00:00Z",), [ALL]),
        (("2026-02-05T10:00:00Z", "topic"), [PNPM, NAMES, PUSH]),
        (("2026-02-05T10:00:00Z", "other"), [ALL]),
        (("2026-01-05T10:00:00Z", "", "codex"), [PNPM, NAMES]),
        (("2026-01-05T10:00:00Z", "", "claude-code"), [PUSH]),
        (("2026-01-05T10:00:00Z", "", "gemini-cli"), []),
        (("2026-01-05T10:00:00Z", "", "copilot-cli"), [PNPM, NAMES]),
        (("2026-01-05T10:00:00Z", "", "codex", ["web/a.ts"]), [PNPM, NAMES, GEN]),
        (("2026-01-05T10:00:00Z", "", "codex", ["web/x/y/a.ts"]), [PNPM, NAMES, GEN]),
        (("2026-01-05T10:00:00Z", "", "codex", ["lib/a.ts", "a.ts"]), [PNPM, NAMES]),
    ]
    for given, found in cases:
        assert rules(RuleHistory(Path("/none")), *given) == found, given


def test_a_branch_is_looked_for_here_then_where_it_came_from_then_the_head_counts(git: Git) -> None:
    history = RuleHistory(Path("/none"))
    rules(history, "2026-02-05T10:00:00.123Z", "other")
    rules(history, "2026-02-05T10:00:00.999Z", "other")
    moment = "2026-02-05T10:00:00Z"
    assert git.refs == [f"refs/heads/other {moment}", f"refs/remotes/origin/other {moment}", f"HEAD {moment}"]


@pytest.mark.parametrize("fake", [Git(has_history=False), None])
def test_without_history_or_a_time_the_files_as_they_are_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: Git | None
) -> None:
    if fake:
        monkeypatch.setattr("knowbound.knowledge.rules.run_git", fake)
    for name, text in {"AGENTS.md": AGENTS, ".claude/commands/x.md": AGENTS, "web/.cursor/rules/a.md": AGENTS}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    history, time = RuleHistory(tmp_path), "2026-01-05T10:00:00Z" if fake else ""
    assert rules(history, time) == [PNPM, NAMES]
    assert len(rules(history, time, "", "", ["web/a.ts"])) == 4
    assert len(history.lines_at(time)) == 4


def test_a_blob_that_is_too_long_has_no_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowbound.knowledge.rules.run_git", Git(is_cut=True))
    assert rules(RuleHistory(Path("/none")), "2026-01-05T10:00:00Z") == []


def record(kind: RecordKind, text: str = "", path: str = "") -> ActivityRecord:
    made = ActivityRecord(kind, 0, text, path)
    made.commands = tuple(commands(parse(text))) if kind is RecordKind.COMMAND else ()
    return made


def checks(
    monkeypatch: pytest.MonkeyPatch,
    *records: ActivityRecord,
    script: Script | None = None,
    agent: str = "codex",
    sees: bool = True,
) -> tuple[list[RuleCheck], list[str]]:
    for order, made in enumerate(records):
        made.line, made.order, made.calls_before = 10 * (order + 1), order, order
    activity = SessionActivity("s1", agent, "/shop", "2026-01-05T10:00:00Z", "main", list(records), calls=len(records))
    monkeypatch.setattr("knowbound.knowledge.rules.activity_of", lambda events, start: activity)
    monkeypatch.setattr("knowbound.knowledge.rules.events_of", lambda session, tally: ())
    files = SessionFiles("codex", "s1", ("trace.jsonl",), {}, 0)
    found = check_sessions([files], RuleHistory(Path("/none")), script, lambda agent: sees)
    assert (found.sessions, found.of) == (1, 1)
    return found.checks, found.notes


NPM, SAY = record(RecordKind.COMMAND, "npm i"), RecordKind.PROMPT


@pytest.mark.parametrize(
    ("records", "reminded_line"),
    [
        ([record(SAY, "go"), record(RecordKind.COMMAND, "npm i"), record(SAY, "use `pnpm` please")], 30),
        ([record(SAY, "use pnpm"), record(RecordKind.COMMAND, "npm i")], 0),
        ([record(SAY, "go"), record(SAY, "use pnpm"), record(RecordKind.COMMAND, "npm i")], 0),
        ([record(SAY, "go"), record(RecordKind.COMMAND, "npm i"), record(SAY, "use pnpmx please")], 0),
        ([record(SAY, "go"), record(RecordKind.COMMAND, "npm i"), record(SAY, "pnpm" + " x" * 198)], 30),
        ([record(SAY, "go"), record(RecordKind.COMMAND, "npm i"), record(SAY, "pnpm" + " x" * 199)], 0),
        ([record(SAY, "go"), record(RecordKind.COMMAND, "npm i; pnpm i"), record(SAY, "PNPM!")], 30),
    ],
)
def test_a_short_message_that_names_the_rule_after_a_breach_is_a_reminder(
    git: Git, monkeypatch: pytest.MonkeyPatch, records: list[ActivityRecord], reminded_line: int
) -> None:
    (pnpm, names), _ = checks(monkeypatch, *records)
    assert (pnpm.reminded, pnpm.reminded_line) == (bool(reminded_line), reminded_line)
    assert (names.reminded, names.finding.applicable, names.finding.by) == (False, None, "")


def test_a_check_has_its_session_and_the_calls_before_the_line(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    (pnpm, names), notes = checks(monkeypatch, record(SAY, "go"), record(RecordKind.COMMAND, "npm i"))
    assert (pnpm.session, pnpm.started, pnpm.trace, pnpm.calls) == ("s1", "2026-01-05T10:00:00Z", "trace.jsonl", 2)
    assert (pnpm.finding.verdict, pnpm.finding.at_line, pnpm.calls_before) == (RuleVerdict.VIOLATED, 20, 1)
    assert (names.calls_before, notes) == (None, [])


def lines_then(*answers: RuleAnswers | None) -> Script:
    """A model that says of the second and third line that they are rules, and then answers about the session."""
    return Script(*(RuleLine(str(number), number in (2, 3)) for number in range(1, 5)), *answers)


def test_a_model_decides_what_rules_leave_open(git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = RuleAnswer(1, AskedVerdict.VIOLATED, "let totally = 1", "use better names")
    steps = [
        record(SAY, "go on then"),
        record(RecordKind.EDIT, "let totally = 1", "a.ts"),
        record(SAY, "use better names"),
    ]
    script = lines_then(RuleAnswers([answer]))
    (pnpm, names), notes = checks(monkeypatch, *steps, script=script)
    assert (pnpm.finding.by, names.finding.by, names.finding.verdict) == ("rules", "m", RuleVerdict.VIOLATED)
    assert (names.finding.at_line, names.calls_before, names.reminded, names.reminded_line) == (20, 1, True, 30)
    assert [material.get("line") for material in script.materials[:4]] == [
        "# Rules", "- Use `pnpm` instead of `npm`.", "- Name things well.", "Text that says nothing.",
    ]  # fmt: skip
    assert script.materials[-1]["rules"].count("\n") == 0
    assert notes == []


def test_a_session_without_answer_is_noted_and_one_that_may_not_be_seen_is_not_asked_about(
    git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [record(SAY, "go"), record(RecordKind.EDIT, "x", "a.ts")]
    _, notes = checks(monkeypatch, *steps, script=lines_then(None))
    assert notes == ["m did not answer for every session: no answer"]
    script = lines_then()
    _, notes = checks(monkeypatch, *steps, script=script, sees=False)
    assert (notes, len(script.materials)) == ([], 4)
    script = lines_then()
    _, notes = checks(monkeypatch, script=script)
    assert (notes, len(script.materials)) == ([], 4)


def test_rules_are_values_with_a_key_of_file_and_words() -> None:
    assert Rule("A.md", 1, " a  b\n").key == Rule("A.md", 9, "a b", "H").key
