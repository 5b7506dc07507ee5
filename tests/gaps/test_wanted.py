"""The target of a lookup or of a sentence, in one spelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.signal import Ending, FoundPlace, Status
from knowbound.gaps.wanted import wanted_in
from tests.gaps.test_endings import miss
from tests.transcripts import PROJECT, Transcript


@pytest.mark.parametrize(
    ("sentence", "names"),
    [("Maybe `vat_x` is old.", {"vatx"}), ("Maybe `x_y` is old.", set()), ("See docs/rate.md.", {"rate"})],
)
def test_a_name_in_a_sentence_has_four_letters_or_more(sentence: str, names: set[str]) -> None:
    assert wanted_in(sentence).names == names


def test_a_folder_that_was_not_there_is_what_was_looked_for(tmp_path: Path) -> None:
    transcript = Transcript().user("go")
    transcript.bash("grep -rn status cmd/refunds", "grep: cmd/refunds: No such file or directory", code=2)
    found = miss(transcript.read(f"{PROJECT}/internal/refunds.go").says("done"), tmp_path)
    assert (found.names, found.ending, found.found_at) == (
        ("refunds",),
        Ending.FOUND,
        FoundPlace("internal/refunds.go"),
    )


def test_a_listing_of_the_folder_shows_what_is_there_instead_at_no_one_place(tmp_path: Path) -> None:
    transcript = Transcript().user("go").read(f"{PROJECT}/docs/plans/ledger_export.md", there=False)
    found = miss(transcript.bash("ls docs/plans", "refunds.md").says("done"), tmp_path)
    assert (found.status, found.ending, found.found_at) == (Status.RESOLVED, Ending.FOUND, None)
