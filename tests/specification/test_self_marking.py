"""Self-marking as a convention (specification 1, section 10): what a session starts with, and whether it helps."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from knowbound.core.bundle import SELF_MARKING, is_ours
from knowbound.gaps.signals import explicit_markers
from knowbound.injection.hook_settings import HookSettings, load
from knowbound.injection.prompt import HookPrompt
from knowbound.injection.session_start import start_of_session
from tests import warm_process
from tests.transcripts import Transcript

NOT_SURE = "I'm not sure which table holds it."


@pytest.mark.parametrize("is_set", [True, False])
def test_a_session_starts_with_the_convention_where_it_is_set(tmp_path: Path, is_set: bool) -> None:
    (tmp_path / "knowbound.toml").write_text(f"[injection]\nself_marking = {str(is_set).lower()}\n", "utf-8")
    settings = load(str(tmp_path), str(tmp_path / "home"), keep=False)
    start = start_of_session(str(tmp_path / "home"), settings, HookPrompt({}))
    assert start.text == (SELF_MARKING if is_set else "")
    assert isinstance(settings, HookSettings)


def test_the_convention_is_ours_and_names_markers_that_are_recognised() -> None:
    assert is_ours(SELF_MARKING)
    for marker in ("[inferred]", "[knowledge gap]"):
        assert marker in SELF_MARKING
        assert explicit_markers(f"{marker} The limit is 8 KB.")


def test_the_share_of_marked_doubts_without_and_with_the_convention(tmp_path: Path) -> None:
    for number, text in enumerate((NOT_SURE, NOT_SURE, "[inferred] The limit is 8 KB.")):
        name = f"{number:08x}-0000-4000-8000-000000000000"
        Transcript(name).user("What is the limit?").says(text).write(tmp_path / "traces")
    convention = {"type": "hook_additional_context", "content": [SELF_MARKING], "hookEvent": "SessionStart"}
    asked = Transcript("000000aa-0000-4000-8000-000000000000").line("attachment", attachment=convention)
    asked.user("What is the limit?").says("[inferred] The limit is 8 KB.").write(tmp_path / "traces")
    ran = warm_process.knowbound("observe", "traces", "--format", "json", cwd=tmp_path)
    marking = json.loads(ran.stdout)["marking"]
    assert [(marking[name]["k"], marking[name]["n"]) for name in ("unasked", "asked")] == [(1, 3), (1, 1)]
    shown = " ".join(warm_process.knowbound("observe", "traces", "--verbose", cwd=tmp_path).stdout.split())
    assert "Doubts that agents marked not asked to 33.3% (1 of 3 doubts" in shown
    assert "asked to 100% (1 of 1 doubt" in shown
