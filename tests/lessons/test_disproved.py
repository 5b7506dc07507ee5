"""A hypothesis that the user disproved, or that the tree of today contradicts, becomes neither a lesson nor an item."""

from __future__ import annotations

import json
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.cli.review import fix_command as fix
from knowbound.errors import InputError
from knowbound.kms.opening import open_knowledge_store
from tests.fault_server import chat, serving
from tests.lessons.shop import Shop, make_shop
from tests.transcripts import Transcript

RIGHT = "src/export/command.ts"


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    made = make_shop(tmp_path)
    made.write(RIGHT, "export const run = 1\n")
    return made


def guessed(transcript: Transcript, then: str = "") -> None:
    """The agent takes a file for the one that it missed; the user answers."""
    transcript.read(f"{transcript.project}/src/commands/export.ts", there=False)
    transcript.read(f"{transcript.project}/src/cli/export.ts").says("The export is in src/cli/export.ts.")
    if then:
        transcript.user(then).read(f"{transcript.project}/{RIGHT}")


DENIED = f"No, `src/cli/export.ts` is dead code. The export is in `{RIGHT}`."


def test_without_the_user_s_word_the_place_is_a_lesson(shop: Shop) -> None:
    for _ in range(2):
        shop.session(guessed)
    assert any("src/cli/export.ts" in text for text in shop.texts())


@pytest.mark.parametrize("denials", [1, 2])
def test_a_place_that_the_user_denied_is_no_lesson_and_no_item(shop: Shop, denials: int) -> None:
    for number in range(2):
        shop.session(partial(guessed, then=DENIED if number < denials else ""))
    assert not any("src/cli/export.ts" in text for text in shop.texts())


def test_a_lesson_that_is_disproved_after_it_was_proposed_cannot_become_an_item(shop: Shop) -> None:
    for _ in range(2):
        shop.session(guessed)
    (lesson,) = shop.learn().lessons
    shop.session(partial(guessed, then=DENIED))
    assert shop.learn().lessons == []
    result = CliRunner().invoke(fix, [lesson.id, "--to", "items", "--yes", "--root", str(shop.root)])
    assert isinstance(result.exception, InputError)
    with closing(open_knowledge_store(shop.settings())) as store:
        assert not any(served for served, _ in store.index.counts().values())


def test_a_message_that_names_the_place_alone_denies_nothing(shop: Shop) -> None:
    for _ in range(2):
        shop.session(partial(guessed, then="Thanks. Now add a test for src/cli/export.ts"))
    assert any("src/cli/export.ts" in text for text in shop.texts())


@pytest.mark.parametrize(("place", "is_used"), [("src/cli/export.ts", False), (RIGHT, True)])
def test_a_model_sees_the_user_s_word_and_cannot_send_anybody_to_the_denied_place(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, place: str, is_used: bool
) -> None:
    for _ in range(2):
        shop.session(partial(guessed, then=DENIED))
    line = f"The export command is in `{place}`."
    answer = {"lines": [{"groups": [1], "title": "Export", "line": line}]}
    with serving(chat(json.dumps(answer))) as server:
        monkeypatch.setenv("KNOWBOUND_MODEL_TASKS_LESSONS", server.judge)
        assert any(line in text for text in shop.texts()) is is_used
    assert "is dead code" in server.asked[0]["messages"][1]["content"]
