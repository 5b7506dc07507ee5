"""Items in what other tools inject: by the shape of the text, with the id, source and confidence that it has."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from knowbound.core.trace import Injection
from knowbound.traces.other_items import OtherItem, items_of_text, other_items
from knowbound.traces.turns import session_of, turns_in
from tests.transcripts import Transcript

KMS = """[KMS Memory Context #5f0e11aa]
Note: memories retrieved from past sessions. They may be stale.
  1. [mem0] [87%] The orders service listens on port 8080.
  2. [mongodb] [60%] Releases go through the blue pipeline,
     never through the green one.
  3. [memory] Invoices are rounded half up.
[End KMS Context #5f0e11aa]"""

OBSERVATIONS = """<claude-mem-context>
# [shop] recent context, 2026-10-01 9:21pm

Legend: 🎯session 🔴bugfix 🟣feature
Fetch details: get_observations([IDs])
- Use the search skill for details

### Oct 1, 2026
81424 6:02p 🟣 Orders listen on port 8080
81512 " 🔵 Pull request #23 waits for a review
**#177** 4:12 PM 🔴 **Rounding of invoices repaired**
🎯 #S25 Search for the retry budget (Oct 1, 6:47 PM)

Access past work via get_observations([IDs]).
</claude-mem-context>"""

TABLE = """# [shop] recent context by claude-mem
| ID | Time | T | Title | Read |
|----|------|---|-------|------|
| #593 | 12:03 PM | 🔄 | The test of retries is simpler | ~186 |
| #556 | " | 🔵 | Fixtures live below tests/data | ~216 |
"""

MEM0 = "## Relevant memories from Mem0:\n- [style, editor] Uses tabs\n- The staging host is tern (id: m-7)"
MEM0_JSON = json.dumps(
    {"results": [{"id": "m-1", "memory": "The port is 8080", "score": 0.8}, {"memory": "Tabs", "confidence": 0.5}]}
)
ELEMENTS = """<memories count="2">
  <memory id="4" category="fact" confidence="0.90">
    The port is 8080 &amp; fixed:
    - in the config
    - in the List<String> of ports
  </memory>
  <memory id="7"><title>Editor</title><text>vim</text></memory>
</memories>"""
OWN_IDS = """## Mem0 Active

After a task, store what was learnt. Always give the project:
- user_id: `ines`

Search before you answer.

### Recent Activity

- ⚖️ [decision] (2h ago) Alerts go through the worker [mem0:99e714f1]
- 🔵 [learning] (1d ago) Buffers are:
- in SRAM2
- aligned [mem0:5e4f4b7e]

Search for details.
"""
COUNTED = """# Workflow

## Memories (showing 2 of 5)
- 3 more are not shown
- **api-cents**: Amounts are cents
- **pnpm**: pnpm 9

## Rules
- **Default**: track every task
- no other list
"""
KEYED = """# Workflow

## Persistent Memories (2)

Stored by hand.

### zone
Times are UTC.

### naming
Events are past tense.

# Closing
- close what is done
"""
DATED = (
    "## Past work\n\n### Newer model (2026-01-19)\nIt was off.\n\n### Labels (2026-02-02)\nTried:\n- tiles\n- buffers"
)
INNER = """[KMS Context #0be77d52]
  1. [mongodb] [95%] Checklist:
1. bump
2. run

then tag it
  2. [mem0] [83%] No force pushes
⚠️ Pending correction: entry `a` was contradicted.
[End KMS Context #0be77d52]"""
INDEX = "# Memory\n- [Ports](ports.md) — orders listen on 8080\n- [Style](style.md) — tabs"


@pytest.mark.parametrize(
    ("text", "store", "items"),
    [
        (
            KMS,
            "kms",
            [
                OtherItem("The orders service listens on port 8080.", "", "mem0", 0.87),
                OtherItem("Releases go through the blue pipeline,\nnever through the green one.", "", "mongodb", 0.6),
                OtherItem("Invoices are rounded half up.", "", "memory"),
            ],
        ),
        (
            OBSERVATIONS,
            "claude-mem",
            [
                OtherItem("Orders listen on port 8080", "81424"),
                OtherItem("Pull request #23 waits for a review", "81512"),
                OtherItem("Rounding of invoices repaired", "177"),
                OtherItem("Search for the retry budget (Oct 1, 6:47 PM)", "S25"),
            ],
        ),
        (
            TABLE,
            "claude-mem",
            [OtherItem("The test of retries is simpler", "593"), OtherItem("Fixtures live below tests/data", "556")],
        ),
        (MEM0, "mem0", [OtherItem("Uses tabs", "", "style, editor"), OtherItem("The staging host is tern", "m-7")]),
        (MEM0_JSON, "", [OtherItem("The port is 8080", "m-1"), OtherItem("Tabs", "", "", 0.5)]),
        (MEM0_JSON[:-10], "", [OtherItem("The port is 8080", "m-1")]),
        (
            ELEMENTS,
            "",
            [
                OtherItem(
                    "The port is 8080 & fixed:\n- in the config\n- in the List<String> of ports", "4", "fact", 0.9
                ),
                OtherItem("Editor\nvim", "7"),
            ],
        ),
        (
            "<found>\n1. [fact] port 8080\n2. tabs\n</found>",
            "",
            [OtherItem("port 8080", "", "fact"), OtherItem("tabs")],
        ),
        (
            OWN_IDS,
            "mem0",
            [
                OtherItem("Alerts go through the worker", "99e714f1", "decision"),
                OtherItem("Buffers are:\n- in SRAM2\n- aligned", "5e4f4b7e", "learning"),
            ],
        ),
        (COUNTED, "", [OtherItem("Amounts are cents", "api-cents"), OtherItem("pnpm 9", "pnpm")]),
        (KEYED, "", [OtherItem("Times are UTC.", "zone"), OtherItem("Events are past tense.", "naming")]),
        (
            DATED,
            "",
            [
                OtherItem("Newer model (2026-01-19)\nIt was off."),
                OtherItem("Labels (2026-02-02)\nTried:\n- tiles\n- buffers"),
            ],
        ),
        (
            INNER,
            "kms",
            [
                OtherItem("Checklist:\n1. bump\n2. run\nthen tag it", "", "mongodb", 0.95),
                OtherItem("No force pushes", "", "mem0", 0.83),
            ],
        ),
        (
            "Uses tabs.\n§\nThe host is tern.\n§\nPort 8080.",
            "",
            [OtherItem("Uses tabs."), OtherItem("The host is tern."), OtherItem("Port 8080.")],
        ),
        (INDEX, "", [OtherItem("Ports: orders listen on 8080", "ports.md"), OtherItem("Style: tabs", "style.md")]),
    ],
    ids=[
        "kms",
        "claude-mem",
        "claude-mem-table",
        "mem0",
        "json",
        "cut-json",
        "elements",
        "numbered",
        "own-ids",
        "counted",
        "keyed",
        "dated",
        "inner-list",
        "parts",
        "memory-index",
    ],
)
def test_a_list_is_taken_apart_into_its_items(text: str, store: str, items: list[OtherItem]) -> None:
    assert items_of_text(text) == (tuple(items), store)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "The staging host is tern.",
        "# Rules\n\nUse the skills.\n\n- the first\n- the second\n\nThen read on.\n\n## More\n\nA paragraph.",
        "Ports: 8080, 9090. See {config} and <host>.",
        "<important>Read this first.</important>",
        '{"ok": true, "count": 3}',
        "|a|b|\n|-|-|\n|1|2|",
    ],
)
def test_a_document_has_no_items(text: str) -> None:
    assert items_of_text(text).items == ()


def test_a_memory_file_is_one_item_named_by_itself() -> None:
    text = "---\nname: ports\ntype: project\n---\n\nOrders listen on 8080.\n\n- and only there\n"
    found = other_items(Injection("relevant_memories", text, "/home/u/.claude/memory/ports.md"))
    assert found.items == (OtherItem("Orders listen on 8080.\n\n- and only there", "ports"),)


@pytest.mark.parametrize("source", ["instructions", "skill", "system"])
def test_instructions_are_no_list_of_items(source: str) -> None:
    assert other_items(Injection(source, KMS, "CLAUDE.md")).items == ()


def test_hostile_text_is_bounded() -> None:
    for text in ("{" * 10_000, '{"a":[' * 1_600, "<a>" * 3_000, "[" * 10_000, "#1 " * 3_000, "- x\n" * 5_000):
        assert len(items_of_text(text).items) <= 200


def test_the_context_of_a_codex_hook_is_taken_apart(tmp_path: Path) -> None:
    said = {"type": "output_text", "text": "8080."}
    rows: list[tuple[str, dict[str, object]]] = [
        ("session_meta", {"id": "s", "cwd": "/work/shop"}),
        ("response_item", _message("developer", "<permissions>all</permissions>")),
        ("event_msg", {"type": "task_started", "turn_id": "t1"}),
        ("response_item", _message("user", "<environment_context>\n</environment_context>")),
        ("response_item", _message("user", "Which port?")),
        ("response_item", _message("developer", KMS)),
        ("response_item", {"type": "message", "role": "assistant", "content": [said]}),
    ]
    path = tmp_path / "rollout-1.jsonl"
    stamp = "2026-10-01T10:00:00Z"
    path.write_text("".join(json.dumps({"timestamp": stamp, "type": t, "payload": p}) + "\n" for t, p in rows))
    (turn,) = turns_in(session_of(path))
    found = [item.content for one in turn.injections for item in other_items(one).items]
    assert found[0] == "The orders service listens on port 8080."
    assert len(found) == 3


def _message(role: str, text: str) -> dict[str, object]:
    return {"type": "message", "role": role, "content": [{"type": "input_text", "text": text}]}


def test_the_context_of_a_claude_code_hook_is_taken_apart(tmp_path: Path) -> None:
    told = {"type": "hook_additional_context", "content": [OBSERVATIONS], "hookEvent": "SessionStart"}
    path = Transcript().line("attachment", attachment=told).user("Which port?").says("8080.").write(tmp_path)
    (turn,) = turns_in(session_of(path))
    assert [item.id for one in turn.injections for item in other_items(one).items] == ["81424", "81512", "177", "S25"]
