"""A project whose CLAUDE.md names a folder that is not there, and the sessions that looked there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lessons.shop import Shop, make_shop
from tests.transcripts import Transcript

WRONG = "Commands live in `src/commands/`."


def looks_in_the_wrong_folder(transcript: Transcript) -> None:
    transcript.read(f"{transcript.project}/src/commands/export.ts", there=False)
    transcript.read(f"{transcript.project}/src/cli/export.ts")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = make_shop(tmp_path)
    shop.write("CLAUDE.md", f"# Shop\n\nA shop.\n\n- {WRONG}\n- Be kind.\n")
    for _ in range(3):
        shop.session(looks_in_the_wrong_folder)
    return shop
