"""Shadow: hooks choose and record, nothing reaches the agent until a person looked at ten choices."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import closing, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from knowbound.cli.main import main
from knowbound.config import load
from knowbound.core.quality import Counts, ItemVerdict
from knowbound.injection.hook_settings import shadow_is_on, switch_shadow
from knowbound.kms.opening import open_knowledge_store, open_quality_log
from knowbound.quality.joining import TurnSources, join
from knowbound.quality.rollup import discovery_rate, roll_up
from knowbound.quality.status import quality_status
from tests.hook_project import PORT, PROMPT, Project

NAMES = "orders billing search mailer catalog ledger uploads reports gate stock".split()
FACTS = [f"The {name} service listens on port {4000 + number} behind the gateway." for number, name in enumerate(NAMES)]


class Shown(NamedTuple):
    exit_code: int
    output: str


@pytest.fixture(autouse=True)
def live_again() -> Iterator[None]:
    """The state folder is one for all tests of a process."""
    yield
    switch_shadow(is_on=False)


def shadowed(project: Project) -> Project:
    switch_shadow(is_on=True)
    return project


def run(*args: str, root: Path | None = None) -> Shown:
    """A verb as a user runs it, errors included."""
    out = io.StringIO()
    with redirect_stdout(out), redirect_stderr(out), pytest.raises(SystemExit) as ended:
        main([*args, *(("--root", str(root)) if root else ())])
    return Shown(int(ended.value.code or 0), out.getvalue())


def test_nothing_is_printed_and_the_record_has_what_would_have_been_injected(filled: Project) -> None:
    shadowed(filled)
    assert filled.start() == ""
    assert filled.ask(prompt_id="p1") == ""
    start, record = filled.records()
    assert (start.outcome, record.outcome, record.arm, record.delivered) == ("shadow", "shadow", "shadow", False)
    assert [item.excerpt for item in record.items] == [PORT]
    assert filled.ask(prompt_id="p2") == ""  # the context would have it already
    assert [item.excerpt for item in filled.records()[-1].items] == []


def test_it_is_judged_like_any_other_and_counted_apart(filled: Project) -> None:
    shadowed(filled).ask(prompt_id="p1")
    settings = load(filled.root)
    turn = join(TurnSources(injected=filled.records()[0]), lambda _: None).turn
    (item,) = turn.injected_items
    verdict = ItemVerdict(item.id, True, False, True, "The port is 9090.")
    with closing(open_quality_log(settings)) as log:
        log.put(replace(turn, injected_items=(replace(item, verdict=verdict),), scored_at=turn.timestamp))
        roll_up(log, [])
        (day,) = log.rollups()
        assert (day.shadow, day.injected, day.by_item, day.scores) == (Counts(1, 1, 0, 1), Counts(), {}, {})
        assert discovery_rate(log.discoveries(), "", "9999").n == 1  # what is wrong is corrected before it is injected
    found = quality_status(settings).shadow
    assert found is not None
    assert (found.is_on, found.counts.judged, [one.item for one in found.choices]) == (True, 1, [item.id])
    said = run("quality", "status", root=filled.root)
    assert "Nothing reaches your agent yet" in " ".join(said.output.split())
    assert "1 item would have been injected" in " ".join(said.output.split())
    assert json.loads(run("quality", "status", "--format", "json", root=filled.root).output)["shadow"]["left"] == 10


def test_after_ten_answers_injecting_starts_without_what_was_rejected(project: Project) -> None:
    project.store(*FACTS)
    shadowed(project)
    for number, fact in enumerate(FACTS):
        project.ask(f"On which port does the {fact.split()[1]} service listen?", session=f"s{number}")
    choices = json.loads(run("quality", "shadow", "--format", "json", root=project.root).output)["choices"]
    keys = {one["content"]: one["key"] for one in choices}
    refused = run("quality", "shadow", "--start", root=project.root)
    assert (refused.exit_code, "[shadow-unseen]" in refused.output) == (2, True)
    first, *rest = [keys[fact] for fact in FACTS]
    accepted = [part for key in rest for part in ("--accept", key)]
    shown = run("quality", "shadow", *accepted, "--reject", first, root=project.root)
    assert "10 of 10 looked at" in " ".join(shown.output.split())
    assert project.ask("On which port does the billing service listen?", session="n1") == ""  # not started yet
    assert run("quality", "shadow", "--start", root=project.root).exit_code == 0
    assert FACTS[1] in project.ask("On which port does the billing service listen?", session="n2")
    assert FACTS[0] not in project.ask("On which port does the orders service listen?", session="n3")
    with closing(open_knowledge_store(load(project.root))) as store:
        (held,) = [one.item for one in store.index.all_items() if one.item.is_held_back]
    assert held.flag is not None
    assert "rejected in shadow" in held.flag.note


@pytest.mark.parametrize(
    ("args", "error"),
    [(["--accept", "nothing"], "no-choice"), (["--start"], "shadow-unseen")],
)
def test_a_wrong_answer_changes_nothing(filled: Project, args: list[str], error: str) -> None:
    shadowed(filled).ask()
    found = run("quality", "shadow", *args, root=filled.root)
    assert (found.exit_code, f"[{error}]" in found.output) == (2, True)
    said = filled.home / "shadow.json"
    assert not said.exists() or said.read_text() == "{}"


def test_without_a_shadow_the_verb_says_how_to_begin_one(filled: Project) -> None:
    found = run("quality", "shadow", root=filled.root)
    assert (found.exit_code, "--shadow" in found.output) == (2, True)
    assert PORT in filled.ask(PROMPT)


def test_install_in_shadow_has_hooks_and_no_server_until_it_is_installed_live(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    settings, state = tmp_path / ".claude/settings.json", tmp_path / ".claude.json"
    said = run(*["install", "claude-code", "--shadow", "--yes"])
    assert (said.exit_code, "In shadow" in said.output) == (0, True)
    assert "knowbound-hook" in settings.read_text()
    assert not state.exists()
    assert shadow_is_on()
    assert run(*["install", "claude-code", "--yes"]).exit_code == 0  # it stays as it was
    assert (shadow_is_on(), state.exists()) == (True, False)
    assert run(*["install", "claude-code", "--live", "--yes"]).exit_code == 0
    assert (shadow_is_on(), "knowbound" in state.read_text()) == (False, True)
