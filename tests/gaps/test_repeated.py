"""What belongs together: a miss, the guess that follows it, and what the user answers."""

from __future__ import annotations

from pathlib import Path

from knowbound.core.signal import Ending, Status, Topic
from knowbound.gaps.topics import Topics
from tests.gaps.test_endings import miss, read
from tests.transcripts import PROJECT, Transcript


def topics(transcript: Transcript, folder: Path) -> list[Topic]:
    found = read(transcript, folder)
    gathered = Topics()
    gathered.add(found, found.signals)
    return gathered.ranked()


def searched() -> Transcript:
    """Three attempts at the same thing, in three steps."""
    transcript = Transcript().user("go").grep("refund_window").grep("refundWindow")
    return transcript.read(f"{PROJECT}/docs/refund-window.md", there=False)


def test_a_guess_is_soon_after_the_last_attempt_not_after_the_first(tmp_path: Path) -> None:
    transcript = searched().read(f"{PROJECT}/README.md").says("[inferred] A refund is possible for 30 days.")
    found = miss(transcript, tmp_path)
    assert (found.status, found.ending, len(found.call_ids)) == (Status.UNDECIDED, Ending.GUESSED, 3)


def test_a_guess_outweighs_the_conclusion_that_it_is_not_there(tmp_path: Path) -> None:
    absent = "There is nothing about the refund window in the handbook."
    (topic,) = topics(searched().says(f"{absent}\n\n[inferred] The refund window is 30 days."), tmp_path)
    assert (topic.title, topic.is_open, topic.endings) == ("refund_window", True, {"guessed": 1})
    assert topics(searched().says(absent), tmp_path) == []


def test_a_guess_about_a_miss_is_of_its_topic(tmp_path: Path) -> None:
    transcript = searched().says("[inferred] The refund window is 30 days.")
    (topic,) = topics(transcript, tmp_path)
    assert (topic.title, topic.signals, topic.endings) == ("refund_window", 2, {"guessed": 1})


def test_a_doubt_at_the_end_of_the_turn_that_names_a_miss_is_of_its_topic(tmp_path: Path) -> None:
    transcript = searched()
    for at in range(6):
        transcript.read(f"{PROJECT}/src/other{at}.py")
    (topic,) = topics(transcript.says("I'm not sure how long the refund window is."), tmp_path)
    assert (topic.signals, topic.endings) == (2, {"guessed": 1})


def test_a_doubt_about_something_else_is_a_topic_of_its_own(tmp_path: Path) -> None:
    transcript = searched().says("I'm not sure which carrier prints the labels.")
    assert [topic.signals for topic in topics(transcript, tmp_path)] == [1, 1]


def test_words_are_no_searches(tmp_path: Path) -> None:
    (topic,) = topics(Transcript().user("go").says("I could not find which carrier prints the labels."), tmp_path)
    assert (topic.endings, topic.cost.calls, topic.effort) == ({"gave_up": 1}, 0, 2)


def test_what_the_user_answers_is_kept_without_its_secrets(tmp_path: Path) -> None:
    secret = "s3cret" + "s3cret"
    transcript = searched().says("How long is the refund window?")
    transcript.user(f"14 days,\nsee postgres://app:{secret}@db/rules").says("Thanks.")
    (topic,) = topics(transcript, tmp_path)
    assert topic.endings == {"asked": 1}
    assert topic.correction == "14 days, see postgres://app:[redacted:url-password]@db/rules"


def test_what_the_user_says_next_is_no_answer_where_nothing_was_asked(tmp_path: Path) -> None:
    (topic,) = topics(searched().says("Done.").user("Now the release notes."), tmp_path)
    assert (topic.endings, topic.correction) == ({"went_on": 1}, "")
