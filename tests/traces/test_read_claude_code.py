from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.signal import Findings
from knowbound.core.trace import Broken, Event, Injection, Outcome, Prompt, Skill, Start, Step, ToolCall
from knowbound.store.observed import unmanaged_in
from knowbound.traces.readers.claude_code.transcript import ClaudeCode
from knowbound.traces.source import MAX_LINE_BYTES, Tally, read_head
from tests.reading import turns_of
from tests.transcripts import PROJECT, SESSION, Transcript


def events(path: Path, *more: Path, sidechains: dict[str, Path] | None = None) -> tuple[list[Event], Tally]:
    tally = Tally()
    return list(ClaudeCode().read([path, *more], sidechains or {}, tally)), tally


def only_call(transcript: Transcript, folder: Path) -> ToolCall:
    found = [call for event in events(transcript.write(folder))[0] if isinstance(event, Step) for call in event.calls]
    assert len(found) == 1
    return found[0]


def test_a_session_is_start_prompt_steps(tmp_path: Path) -> None:
    path = Transcript().user("where is the cart?").grep("Cart", ["src/cart.ts"]).says("In src/cart.ts.").write(tmp_path)
    found, tally = events(path)
    assert [type(event) for event in found] == [Start, Prompt, Step, Step]
    assert found[0] == Start(SESSION, "claude-code", PROJECT, "2.1.60", "2026-10-01T10:00:01.000Z")
    assert (tally.lines, tally.skipped) == (4, [])


def test_lines_of_one_message_are_one_step(tmp_path: Path) -> None:
    path = (
        Transcript()
        .user("go")
        .says("Looking.", message="m1")
        .calls("Grep", {"pattern": "a"}, "t1", message="m1")
        .result("t1", "No files found", {"mode": "files_with_matches", "filenames": [], "numFiles": 0})
        .calls("Grep", {"pattern": "b"}, "t2", message="m1")
        .result("t2", "No files found", {"mode": "files_with_matches", "filenames": [], "numFiles": 0})
        .says("Done.", message="m2")
        .write(tmp_path)
    )
    steps = [event for event in events(path)[0] if isinstance(event, Step)]
    assert [(step.id, len(step.calls), len(step.said)) for step in steps] == [("m1", 2, 1), ("m2", 0, 1)]


GREP = {"mode": "content", "numFiles": 0, "filenames": []}
RESULTS: list[tuple[str, str, dict[str, Any], Any, Any, bool | None, Outcome]] = [
    ("grep hit in content mode", "Grep", {"pattern": "x"}, "a:1:x", {**GREP, "content": "a:1:x", "numLines": 1}, None,
     Outcome.OK),
    ("grep without hit", "Grep", {"pattern": "x"}, "No matches found", {**GREP, "content": "", "numLines": 0}, None,
     Outcome.EMPTY),
    ("grep count", "Grep", {"pattern": "x"}, "3", {**GREP, "content": "a:3", "numMatches": 3}, None, Outcome.OK),
    ("empty glob", "Glob", {"pattern": "*.x"}, "No files found", {"filenames": [], "numFiles": 0}, None, Outcome.EMPTY),
    ("missing file", "Read", {"file_path": "/x"}, "<tool_use_error>File does not exist.</tool_use_error>",
     "Error: File does not exist.", True, Outcome.MISSING),
    ("missing file with a hint", "Read", {"file_path": "/x.yml"},
     "<tool_use_error>File does not exist. Did you mean x.yaml?</tool_use_error>", "Error: …", True, Outcome.MISSING),
    ("folder read as a file", "Read", {"file_path": "/x"}, "EISDIR: illegal operation on a directory, read '/x'",
     "Error: EISDIR", True, Outcome.ERROR),
    ("file too large", "Read", {"file_path": "/x"}, "File content (3.1MB) exceeds maximum allowed size (256KB).",
     "Error: …", True, Outcome.ERROR),
    ("rejected", "Grep", {"pattern": "x"}, "The user doesn't want to proceed with this tool use. The tool use was "
     "rejected (eg. if it was a file edit).", "Error: The user doesn't want", True, Outcome.REJECTED),
    ("sibling", "Grep", {"pattern": "x"}, "<tool_use_error>Sibling tool call errored</tool_use_error>",
     "Sibling tool call errored", True, Outcome.CANCELLED),
    ("path of a grep is not there", "Grep", {"pattern": "x", "path": "/no"},
     "<tool_use_error>Path does not exist: /no</tool_use_error>", "Error: Path does not exist: /no", True,
     Outcome.MISSING),
    ("wrong input", "Read", {"file_path": "/x"}, "<tool_use_error>InputValidationError: Read failed</tool_use_error>",
     "InputValidationError: [", True, Outcome.ERROR),
    ("no permission", "Read", {"file_path": "/x"}, "EACCES: permission denied, open '/x'", "Error: EACCES", True,
     Outcome.ERROR),
    ("mcp search without a hit", "mcp__docs__search_pages", {"query": "x"}, [{"type": "text", "text": "[]"}], None,
     None, Outcome.EMPTY),
    ("mcp search with a hit", "mcp__docs__search_pages", {"query": "x"},
     [{"type": "text", "text": '[{"title": "Setup"}]'}], None, None, Outcome.OK),
    ("mcp search in words", "mcp__wiki__search", {"query": "x"}, "No results found for x.", None, None, Outcome.EMPTY),
    ("edit that does not fit", "Edit", {"file_path": "/x", "old_string": "a", "new_string": "b"},
     "<tool_use_error>String to replace not found in file.</tool_use_error>", "Error: …", True, Outcome.ERROR),
]  # fmt: skip


@pytest.mark.parametrize(("name", "tool", "input_", "content", "structured", "is_error", "expected"), RESULTS)
def test_outcome_comes_from_the_structured_result_first(
    tmp_path: Path,
    name: str,
    tool: str,
    input_: dict[str, Any],
    content: Any,
    structured: Any,
    is_error: bool | None,
    expected: Outcome,
) -> None:
    transcript = Transcript().user("go").calls(tool, input_, "t1")
    call = only_call(transcript.result("t1", content, structured, is_error=is_error), tmp_path)
    assert call.outcome is expected, name


def test_a_call_without_result_is_unknown(tmp_path: Path) -> None:
    assert only_call(Transcript().user("go").calls("Grep", {"pattern": "x"}), tmp_path).outcome is Outcome.UNKNOWN


def test_an_interrupted_command_is_cancelled(tmp_path: Path) -> None:
    transcript = Transcript().user("go").calls("Bash", {"command": "grep -r x ."}, "t1")
    transcript.result("t1", "", {"stdout": "", "stderr": "", "interrupted": True})
    assert only_call(transcript, tmp_path).outcome is Outcome.CANCELLED


NOT_WORDS: list[tuple[str, dict[str, Any]]] = [
    ("<local-command-stdout>ok</local-command-stdout>", {}),
    ("<command-name>/clear</command-name>\n<command-message>clear</command-message>", {}),
    ("<task-notification><task-id>a</task-id></task-notification>", {}),
    ("<bash-input>ls</bash-input>", {}),
    ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", {}),
    ("[Request interrupted by user for tool use]", {}),
    ("This session is being continued from a previous conversation.", {"isCompactSummary": True}),
    ("This session is being continued from a previous conversation.", {}),
    ("Caveat: The messages below were generated", {"isMeta": True}),
    ("<system-reminder>be brief</system-reminder>", {}),
]


@pytest.mark.parametrize(("text", "flags"), NOT_WORDS)
def test_only_the_users_own_words_start_a_turn(tmp_path: Path, text: str, flags: dict[str, Any]) -> None:
    found, _ = events(Transcript().user("real words").user(text, **flags).write(tmp_path))
    assert [event.text for event in found if isinstance(event, Prompt)] == ["real words"]


def test_words_beside_what_the_client_adds_are_kept(tmp_path: Path) -> None:
    text = "<ide_opened_file>The user opened a.py</ide_opened_file>\nfix the cart"
    found, _ = events(Transcript().user(text).write(tmp_path))
    assert [event.text for event in found if isinstance(event, Prompt)] == ["fix the cart"]


def test_words_beside_a_rejection_start_a_turn(tmp_path: Path) -> None:
    transcript = Transcript().user("go").calls("Grep", {"pattern": "x"}, "t1")
    rejection = {"type": "tool_result", "tool_use_id": "t1", "content": "The tool use was rejected", "is_error": True}
    words = {"type": "text", "text": "no, look in docs"}
    transcript.line("user", message={"role": "user", "content": [rejection, words]})
    found, _ = events(transcript.write(tmp_path))
    assert [event.text for event in found if isinstance(event, Prompt)] == ["go", "no, look in docs"]
    assert [call.outcome for event in found if isinstance(event, Step) for call in event.calls] == [Outcome.REJECTED]


def test_skills_by_call_and_by_command(tmp_path: Path) -> None:
    transcript = (
        Transcript()
        .user("<command-message>review</command-message>\n<command-name>/review</command-name>\n"
              "<command-args>the cart</command-args>")
        .calls("Skill", {"skill": "release"}, "t1")
        .result("t1", "Launching skill: release", {"success": True, "commandName": "release"})
        .calls("Skill", {"skill": "nope"}, "t2")
        .result("t2", "<tool_use_error>Unknown skill: nope</tool_use_error>", "Error: Unknown skill", is_error=True)
        .user("Base directory for this skill: /home/u/.claude/skills/release\n\n# Release", isMeta=True)
        .says("Done.")
    )  # fmt: skip
    found, _ = events(transcript.write(tmp_path))
    skills = [event for event in found if isinstance(event, Skill)]
    assert [(skill.name, skill.how) for skill in skills] == [("review", "command"), ("release", "call")]
    assert [event.text for event in found if isinstance(event, Prompt)] == ["/review the cart"]
    told = [event for event in found if isinstance(event, Injection)]
    assert [(one.source, one.path) for one in told] == [("skill", "/home/u/.claude/skills/release/SKILL.md")]


def test_sub_agents_in_progress_lines_count_once_each(tmp_path: Path) -> None:
    def progress(inner: dict[str, Any]) -> dict[str, Any]:
        return {"data": {"type": "agent_progress", "agentId": "a1", "message": inner, "normalizedMessages": [inner]}}

    call = {"type": "tool_use", "id": "s1", "name": "Grep", "input": {"pattern": "x"}}
    asked = {"type": "assistant", "uuid": "i1", "message": {"id": "sm1", "content": [call]}}
    block = {"type": "tool_result", "tool_use_id": "s1", "content": "No files found"}
    answered = {
        "type": "user",
        "uuid": "i2",
        "message": {"content": [block]},
        "toolUseResult": {"mode": "files_with_matches", "filenames": [], "numFiles": 0},
    }
    transcript = Transcript().user("go").calls("Task", {"prompt": "look"}, "t1")
    transcript.line("progress", **progress(asked)).line("progress", **progress(asked))
    transcript.line("progress", **progress(answered))
    transcript.result("t1", "found nothing", {"agentId": "a1", "status": "completed", "content": []})
    found, tally = events(transcript.write(tmp_path))
    steps = {event.agent_id: event for event in found if isinstance(event, Step)}
    assert [(one.id, one.outcome) for one in steps["a1"].calls] == [("s1", Outcome.EMPTY)]
    assert [one.agent_id for one in steps[""].calls] == ["a1"]
    assert tally.duplicates == 1


def test_a_side_chain_file_is_read_where_it_was_started(tmp_path: Path) -> None:
    main = Transcript().user("one").calls("Task", {"prompt": "look"}, "t1")
    main.result("t1", "done", {"agentId": "a7", "status": "completed"}).user("two").says("ok")
    side = Transcript().user("look", isSidechain=True, agentId="a7")
    side.lines.clear()
    side.line("user", isSidechain=True, agentId="a7", uuid="s-1", message={"role": "user", "content": "look"})
    side.calls("Glob", {"pattern": "*.md"}, "g1", isSidechain=True, agentId="a7", uuid="s-2")
    side.result("g1", "No files found", {"filenames": [], "numFiles": 0}, isSidechain=True, agentId="a7", uuid="s-3")
    side_path = side.write(tmp_path, "agent.jsonl")
    identity = ClaudeCode().identify(read_head(side_path))
    assert identity is not None
    assert (identity.session, identity.agent_id) == (SESSION, "a7")
    found, _ = events(main.write(tmp_path), sidechains={"a7": side_path})
    order = [(type(event).__name__, getattr(event, "agent_id", "")) for event in found]
    assert order.index(("Step", "a7")) < [i for i, one in enumerate(order) if one[0] == "Prompt"][1]
    prompts = [event.text for event in found if isinstance(event, Prompt)]
    assert prompts == ["one", "two"]


def test_injected_context_is_read_from_attachments(tmp_path: Path) -> None:
    transcript = Transcript()
    transcript.line("attachment", attachment={
        "type": "hook_additional_context", "hookEvent": "SessionStart", "content": ["The staging host is tern."],
    }).user("go").line("attachment", attachment={
        "type": "hook_success", "hookEvent": "UserPromptSubmit",
        "stdout": json.dumps({"hookSpecificOutput": {"additionalContext": "Use pnpm."}}),
    }).line("attachment", attachment={
        "type": "hook_success", "hookEvent": "SessionStart", "stdout": '{"systemMessage": "shown to the user"}',
    }).line("attachment", attachment={"type": "skill_listing", "content": "- a"})  # fmt: skip
    found, _ = events(transcript.write(tmp_path))
    told = [(event.source, event.content) for event in found if isinstance(event, Injection)]
    assert told == [("hook:SessionStart", "The staging host is tern."), ("hook:UserPromptSubmit", "Use pnpm.")]


BUNDLE = (
    "Entries of this project's knowledge store (knowbound), each with its id:\n"
    "[k1] (from sqlite, as of 2026-10-01) The staging host is tern.\n"
    "[k2] (UNVERIFIED, from docs/api.md) Use pnpm.\n    Never npm.\n"
    "The ids are what the tools kms_flag, kms_update and kms_supersede take when an entry is wrong."
)


def hooked(transcript: Transcript, event: str, text: str, *, twice: bool = True) -> Transcript:
    """What a hook injected by JSON: the client writes its output, and then what it took from it."""
    output = json.dumps({"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}})
    about = {"hookName": event, "hookEvent": event}
    transcript.line(
        "attachment", attachment={"type": "hook_success", "toolUseID": "t-1", "content": "", "stdout": output, **about}
    )
    taken = {"type": "hook_additional_context", "toolUseID": event, "content": [text], **about}
    return transcript.line("attachment", attachment=taken) if twice else transcript


def injected(transcript: Transcript, tmp_path: Path) -> list[list[tuple[str, str]]]:
    """For each turn, the items and texts that were injected into it."""
    return [[(one.item, one.excerpt) for one in turn.injected] for turn in turns_of(transcript.write(tmp_path))]


ITEMS = [("k1", "The staging host is tern."), ("k2", "Use pnpm.\nNever npm.")]


@pytest.mark.parametrize("twice", [True, False])
def test_a_bundle_is_one_injection_per_item_however_often_the_client_writes_it(tmp_path: Path, twice: bool) -> None:
    transcript = hooked(Transcript(), "SessionStart", BUNDLE, twice=twice).user("go")
    assert injected(hooked(transcript, "UserPromptSubmit", "of others", twice=twice).says("ok"), tmp_path) == [
        [*ITEMS, ("", "of others")]
    ]


def test_the_same_text_after_each_of_two_calls_is_two_injections(tmp_path: Path) -> None:
    transcript = hooked(Transcript().user("go").grep("a"), "PostToolUse", "Mind the gap.")
    transcript = hooked(transcript.grep("b"), "PostToolUse", "Mind the gap.").says("ok")
    assert injected(transcript, tmp_path) == [[("", "Mind the gap.")] * 2]


def test_the_index_of_the_store_is_no_item_and_not_of_somebody_else(tmp_path: Path) -> None:
    index = "Index of this project's knowledge store (knowbound). …\n```\n# shop\n[k1] Use pnpm\n```\nIn all 1 entry."
    path = hooked(Transcript(), "SessionStart", index).user("go").says("ok").write(tmp_path)
    [turn] = turns_of(path)
    assert [(one.source, one.item) for one in turn.injected] == [("hook:SessionStart", "")]
    assert list(unmanaged_in(Findings(agent="claude-code", session="s", turns=[turn]))) == []


@pytest.mark.parametrize("between", ["resume", "compact", "continue"])
def test_what_a_session_start_injects_belongs_to_the_turn_that_follows(tmp_path: Path, between: str) -> None:
    transcript = Transcript().user("one", promptId="p-1").says("1")
    if between == "compact":
        transcript.line("system", subtype="compact_boundary").user("Summary: …", isCompactSummary=True)
        transcript.user("<command-name>/compact</command-name>").user("<local-command-stdout></local-command-stdout>")
    hooked(transcript, "SessionStart", BUNDLE)
    if between == "continue":
        transcript.user("Continue from where you left off.", isMeta=True, promptId="p-2")
        transcript.line("assistant", message={"id": "m", "model": "<synthetic>", "content": "No response requested."})
    found = injected(transcript.user("two", promptId="p-2").says("2"), tmp_path)
    also = [("", "Continue from where you left off.")] if between == "continue" else []
    assert found == [[], [*ITEMS, *also]]


def test_where_the_agent_goes_on_after_a_compaction_the_bundle_is_of_its_turn(tmp_path: Path) -> None:
    transcript = Transcript().user("one").says("1").line("system", subtype="compact_boundary")
    hooked(transcript.user("Summary: …", isCompactSummary=True), "SessionStart", BUNDLE)
    assert injected(transcript.says("still 1").user("two").says("2"), tmp_path) == [ITEMS, []]


def test_a_turn_has_the_id_that_hooks_are_given(tmp_path: Path) -> None:
    transcript = Transcript().user("one", promptId="p-1").says("1").user("two").says("2")
    found, _ = events(transcript.write(tmp_path))
    assert [event.client_turn for event in found if isinstance(event, Prompt)] == ["p-1", ""]


def test_an_api_error_breaks_the_agent(tmp_path: Path) -> None:
    found, _ = events(Transcript().user("go").says("API Error: 529", isApiErrorMessage=True).write(tmp_path))
    assert [event.reason for event in found if isinstance(event, Broken)] == ["API Error: 529"]


BAD_LINES: list[tuple[str, str]] = [
    ('{"type": "user", "uuid": "x", "mess', "truncated"),
    ("not json at all", "broken"),
    ('{"foreign": true}', "foreign"),
    ("[1, 2, 3]", "foreign"),
    ("42", "foreign"),
]


@pytest.mark.parametrize(("line", "reason"), BAD_LINES)
def test_a_bad_line_is_counted_and_does_not_stop_the_run(tmp_path: Path, line: str, reason: str) -> None:
    path = Transcript().user("one").raw(line).user("two").write(tmp_path)
    found, tally = events(path)
    assert [event.text for event in found if isinstance(event, Prompt)] == ["one", "two"]
    assert [(skip.line, skip.reason) for skip in tally.skipped] == [(2, reason)]


def test_a_line_of_unexpected_types_is_read_untyped(tmp_path: Path) -> None:
    transcript = Transcript().user("one", isMeta="no", version=3, uuid=7)
    transcript.line("assistant", message={"id": 5, "content": [{"type": "text", "text": "hi", "id": 1}, "stray"]})
    found, tally = events(transcript.write(tmp_path))
    assert [type(event) for event in found] == [Start, Prompt, Step]
    assert tally.skipped == []


def test_two_objects_on_one_line_are_both_read(tmp_path: Path) -> None:
    one, two = Transcript().user("one").user("two").lines
    path = tmp_path / "glued.jsonl"
    path.write_text(one + two + "\n")
    found, tally = events(path)
    assert [event.text for event in found if isinstance(event, Prompt)] == ["one", "two"]
    assert tally.skipped == []


def test_invalid_utf8_is_replaced_not_dropped(tmp_path: Path) -> None:
    path = tmp_path / "latin.jsonl"
    path.write_bytes(Transcript().user("caf\xe9 MARK").text().encode().replace(b"MARK", b"\xff\xfe"))
    found, tally = events(path)
    assert sum(isinstance(event, Prompt) for event in found) == 1
    assert tally.skipped == []


def test_an_oversized_line_is_counted_and_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "big.jsonl"
    with path.open("wb") as file:
        file.write(Transcript().user("one").text().encode())
        file.write(b'{"x": "' + b"y" * (MAX_LINE_BYTES + 10) + b'"}\n')
        file.write(Transcript("99999999-2222").user("two").text().encode())
    found, tally = events(path)
    assert [event.text for event in found if isinstance(event, Prompt)] == ["one", "two"]
    assert [(skip.line, skip.reason) for skip in tally.skipped] == [(2, "oversized")]


def test_compressed_files_are_recognised_by_their_bytes(tmp_path: Path) -> None:
    content = Transcript().user("one").text().encode()
    for name, packed in (("a", gzip.compress(content)), ("b", zstd.compress(content))):
        path = tmp_path / name
        path.write_bytes(packed)
        found, tally = events(path)
        assert [event.text for event in found if isinstance(event, Prompt)] == ["one"]
        assert tally.skipped == []


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(Transcript().user("one").text().encode() * 50)[:200])
    _, tally = events(path)
    assert [skip.reason.split(":")[0] for skip in tally.skipped] == ["unreadable"]


def test_files_of_one_session_are_joined_by_message_id(tmp_path: Path) -> None:
    early = Transcript().user("one").says("a")
    late = Transcript().user("one").says("a").user("two").says("b")
    found, tally = events(early.write(tmp_path, "x.jsonl"), late.write(tmp_path, "y.jsonl"))
    assert [event.text for event in found if isinstance(event, Prompt)] == ["one", "two"]
    assert tally.duplicates == 2


def test_a_result_before_its_call_is_still_its_result(tmp_path: Path) -> None:
    transcript = Transcript().user("go").result("t1", "none", {"filenames": [], "numFiles": 0})
    assert only_call(transcript.calls("Glob", {"pattern": "*.md"}, "t1"), tmp_path).outcome is Outcome.EMPTY


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"data": {"results": []}}', Outcome.EMPTY),
        ('{"results": [], "meta": {"took": 3}}', Outcome.EMPTY),
        ('{"count": 0}', Outcome.EMPTY),
        ('{"result": "[]"}', Outcome.EMPTY),
        ('{"hits": [], "query": "x"}', Outcome.EMPTY),
        ("Search finished: 0 matches", Outcome.EMPTY),
        ("I couldn't find anything about x", Outcome.EMPTY),
        ('{"answer": "The port is 80."}', Outcome.OK),
        ('{"results": [{"title": "x"}]}', Outcome.OK),
        ('{"count": 2}', Outcome.OK),
    ],
)
def test_an_mcp_search_that_found_nothing_is_empty_in_any_shape(tmp_path: Path, text: str, expected: Outcome) -> None:
    transcript = Transcript().user("go").calls("mcp__docs__search", {"query": "x"}, "t1").result("t1", text)
    assert only_call(transcript, tmp_path).outcome is expected


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_exception(content: bytes) -> None:
    ClaudeCode().identify(content)
    _feed(content)


@given(st.data())
def test_any_mutation_of_a_transcript_is_read_without_an_exception(data: st.DataObject) -> None:
    whole = bytearray(
        Transcript().user("go").grep("x").bash("rg y | wc -l", "0").read("/a", there=False).text(), "utf8"
    )
    for _ in range(data.draw(st.integers(1, 8))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    ClaudeCode().identify(bytes(whole))
    _feed(bytes(whole))


def _feed(content: bytes) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "any"
        path.write_bytes(content)
        _, tally = events(path)
        assert len(tally.skipped) <= tally.lines + 1
        assert tally.lines <= content.count(b"\n") + 1


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(["user", "assistant", "progress", "attachment", "system"]),
    st.dictionaries(
        st.sampled_from(["message", "toolUseResult", "data", "attachment", "uuid", "isMeta", "timestamp", "agentId"]),
        JSON,
    ),
)
def test_any_shape_of_line_is_accounted_for(type_: str, fields: dict[str, Any]) -> None:
    line = json.dumps({"type": type_, "sessionId": "s", **fields}).encode()
    _feed(line + b"\n")
