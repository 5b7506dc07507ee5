"""Claude Code copies a session's lines when it is forked or handed off: the same `uuid`, another session id."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from knowbound.core.trace import Author, Prompt, Start
from knowbound.traces.registry import events_of
from knowbound.traces.source import Tally
from knowbound.traces.turns import sessions_in
from tests.reading import calls, prompts
from tests.transcripts import Transcript

FORK = "99999999-2222-4333-8444-555555555555"


def original() -> Transcript:
    return Transcript().user("Where is the rota?").calls("Read", {"file_path": "/p/rota.md"}, "toolu_1").says("There.")


def fork(of: Transcript, *, kind: str = "") -> Transcript:
    """Write the copied lines under another session id, and a turn of its own."""
    copy = Transcript(FORK)
    lines = [{**json.loads(line), "sessionId": FORK, **({"sessionKind": kind} if kind else {})} for line in of.lines]
    copy.lines = [json.dumps(line) for line in lines]
    return copy.user("And the tides?", **({"sessionKind": kind} if kind else {})).says("Elsewhere.")


def write(folder: Path, **transcripts: Transcript) -> Path:
    for name, transcript in transcripts.items():
        (folder / f"{name}.jsonl").write_text("\n".join(transcript.lines) + "\n")
    return folder


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a")])
def test_a_fork_counts_what_it_copied_once_and_is_a_session_of_its_own(tmp_path: Path, names: tuple[str, str]) -> None:
    first = original()
    write(tmp_path, **{names[0]: first, names[1]: fork(first)})
    (session,) = sessions_in([tmp_path])
    tally = Tally(skipped=[])
    events = list(events_of(session, tally))
    assert prompts(events) == ["Where is the rota?", "And the tides?"]
    assert len(calls(events)) == 1
    assert [event.session for event in events if isinstance(event, Start)] == [first.session, FORK]
    assert tally.duplicates == 3


def test_the_fork_of_a_deleted_session_is_read_whole(tmp_path: Path) -> None:
    write(tmp_path, b=fork(original()))
    (session,) = sessions_in([tmp_path])
    assert prompts(events_of(session, Tally(skipped=[]))) == ["Where is the rota?", "And the tides?"]


def test_sessions_that_begin_alike_but_are_no_copies_stay_apart(tmp_path: Path) -> None:
    write(tmp_path, a=Transcript().user("Hello"), b=Transcript(FORK).user("Hello"))
    assert len(sessions_in([tmp_path])) == 2


@pytest.mark.parametrize(
    ("fields", "author"),
    [
        ({"promptSource": "typed"}, Author.PERSON),
        ({"promptSource": "queued", "entrypoint": "cli"}, Author.PERSON),
        ({"promptSource": "system"}, Author.PROGRAM),
        ({"promptSource": "sdk"}, Author.PROGRAM),
        ({"promptSource": "typed", "sessionKind": "bg"}, Author.PROGRAM),
        ({"entrypoint": "sdk-py"}, Author.PROGRAM),
        ({"entrypoint": "cli"}, Author.UNKNOWN),
        ({}, Author.UNKNOWN),
    ],
)
def test_a_prompt_of_a_program_is_told_from_that_of_a_person(
    tmp_path: Path, fields: dict[str, str], author: Author
) -> None:
    write(tmp_path, a=Transcript().user("Go on", **fields))
    (session,) = sessions_in([tmp_path])
    assert [event.author for event in events_of(session, Tally()) if isinstance(event, Prompt)] == [author]


def test_what_an_editor_says_of_its_open_file_is_no_prompt(tmp_path: Path) -> None:
    opened = "<ide_opened_file>The user opened the file /p/a.py in the IDE.</ide_opened_file>"
    write(tmp_path, a=Transcript().user(opened).user(f"{opened}\nMend it"))
    (session,) = sessions_in([tmp_path])
    assert prompts(events_of(session, Tally())) == ["Mend it"]
