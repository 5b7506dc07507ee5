"""Local evidence: what one place of a turn has of one statement of an item."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import JudgedCall, JudgedItem, JudgedTurn
from knowbound.judge.turns.alignment import best_window, hit, words_of
from knowbound.judge.turns.features import turn_features
from knowbound.judge.turns.passages import TurnText, passages_of

ITEM = "Parcel tracker > Retention: The parcel tracker keeps scanned labels in the glacier bucket for ninety weeks."
SCATTERED = (
    "The parcel was late. We renamed a tracker. Some labels are new. I scanned the code. The glacier theme is blue. "
    "A bucket of paint. It took weeks. Retention is a word. It keeps failing. Nothing else happened."
)
RESTATED = "I looked around first. It keeps scanned labels in the glacier bucket for ninety weeks. That is all."
_WORDS = st.lists(
    st.sampled_from(["tracker", "parcel_tracker", "glacier", "bucket", "ops/tracker.env", "9417", ".", "weeks"]),
    max_size=30,
).map(" ".join)


def features(response: str, *calls: JudgedCall, item: str = ITEM, prompt: str = "How long?") -> dict[str, float]:
    turn = JudgedTurn("t", prompt, response, (JudgedItem("i", item),), calls)
    (found,) = turn_features(TurnText(turn), turn.items)
    return found.features


def test_a_statement_in_one_place_says_more_than_its_words_all_over_a_response() -> None:
    scattered, restated = features(SCATTERED), features(RESTATED)
    assert scattered["r_cov"] > 0.6  # the words are all there
    for name in ("s_new_best", "n_new_run", "n_new_pairs", "b_new_win"):
        assert restated[name] > scattered[name] + 0.2, name


def test_more_of_other_text_does_not_change_what_a_place_has() -> None:
    short, long = features(RESTATED), features(RESTATED + " Other words follow here." * 60)
    for name in ("s_best", "s_new_best", "n_run", "n_new_pairs", "e_response"):
        assert long[name] == short[name], name


def test_a_run_that_the_prompt_already_has_is_not_new() -> None:
    found = features(RESTATED, prompt="Why does it keep scanned labels in the glacier bucket for ninety weeks?")
    assert found["n_run"] > found["n_new_run"]


def test_code_counts_where_one_call_has_it() -> None:
    item = "Deploy: run `tracker-ctl roll --canary` after editing ops/tracker.env."
    together = features(
        "Done.", JudgedCall("Bash", {"command": "tracker-ctl roll --canary # ops/tracker.env"}), item=item
    )
    nothing = features("Done.", JudgedCall("Bash", {"command": "ls"}), item=item)
    assert together["e_call"] == 1.0
    assert nothing["e_call"] == 0.0


def test_a_word_in_every_passage_is_not_rare() -> None:
    several = passages_of("The tracker stops. The tracker starts. The tracker, a glacier.")
    assert several.rarity("glacier") == 1.0
    assert several.rarity("tracker") < 1e-9


@given(_WORDS, _WORDS)
def test_the_best_window_is_the_best_of_all_windows(item: str, text: str) -> None:
    words, several = words_of(passages_of(item)), passages_of(text)
    total = sum(word.weight for word in words)
    size = min(2, len(several.all))
    shares = [
        sum(word.weight * max(hit(word, one.terms) for one in several.all[start : start + size]) for word in words)
        for start in range(len(several.all) - size + 1 if several.all else 0)
    ]
    expected = max(shares, default=0.0) / total if total else 0.0
    assert abs(best_window(words, several, 2).share - min(1.0, expected)) < 1e-6
