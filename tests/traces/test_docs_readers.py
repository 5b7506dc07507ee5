"""The reader of docs/readers.md, as it stands there."""

from __future__ import annotations

import json
import re
from pathlib import Path

from knowbound.core.trace import Outcome, Start
from knowbound.traces.registry import Reader
from knowbound.traces.source import Tally
from tests.reading import calls, prompts

PAGE = Path(__file__).parents[2] / "docs" / "readers.md"


def test_the_reader_of_the_page_reads_its_format(tmp_path: Path) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(code, str(PAGE), "exec"), names)
    made = names["MyAgent"]
    assert isinstance(made, type)
    reader: Reader = made()
    lines = [
        {"chat": "s1", "who": "me", "text": "Where?"},
        {"chat": "s1", "who": "bot", "tool": "grep", "args": {"pattern": "tides"}, "out": "No matches found"},
        {"chat": "s1", "who": "bot", "tool": "bash", "args": {"command": "ls none"}, "out": "", "code": 2},
        {"chat": "s1", "who": "bot", "text": "Nowhere."},
    ]
    path = tmp_path / "s1.jsonl"
    path.write_text("\n".join([*map(json.dumps, lines), "broken"]))
    identity = reader.identify(path.read_bytes())
    assert identity is not None
    assert identity.session == "s1"
    tally = Tally(skipped=[])
    events = list(reader.read([path], {}, tally))
    assert [one.session for one in events if isinstance(one, Start)] == ["s1"]
    assert prompts(events) == ["Where?"]
    assert [call.outcome for call in calls(events)] == [Outcome.EMPTY, Outcome.EMPTY]
    assert tally.skipped_by_reason == {"broken": 1}
    parts = path.rename(tmp_path / "1.jsonl"), tmp_path / "2.jsonl"
    parts[1].write_bytes(parts[0].read_bytes())
    events = list(reader.read(parts, {}, Tally(skipped=[])))
    assert [one.session for one in events if isinstance(one, Start)] == ["s1"]
    assert len({call.id for call in calls(events)}) == 4
