from __future__ import annotations

import json
from pathlib import Path

from knowbound.core.signal import Turn
from knowbound.core.trace import Start
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import findings_of
from knowbound.injection.log import read_log
from knowbound.traces.registry import recognise
from knowbound.traces.source import Tally, read_head
from tests.agents.sandbox import Sandbox
from tests.services import until

PORT = "The orders service listens on port 8080 behind the internal gateway."
RETRY = "Failed payment webhooks are retried three times with exponential backoff."
PROMPT = "On which port does the orders service listen?"
OTHER_PROMPT = "How often are failed payment webhooks retried?"


def turns(transcript: Path) -> list[Turn]:
    known = recognise(read_head(transcript))
    assert known is not None
    reader, identity = known
    events = reader.read([transcript], {}, Tally())
    (found,) = findings_of(events, Start(identity.session, reader.name), [str(transcript)], LensSettings())
    return found.turns


def test_items_are_on_the_turn_they_were_injected_into(sandbox: Sandbox) -> None:
    port, retry = (sandbox.add(text) for text in (PORT, RETRY))
    sandbox.install()
    first = sandbox.ask(PROMPT).check()
    sandbox.ask(OTHER_PROMPT, resume=first.session).check()
    (transcript,) = sandbox.client.transcripts(sandbox.home)
    read = turns(transcript)
    assert [turn.prompt for turn in read] == [PROMPT, OTHER_PROMPT]
    assert [[one.item for one in turn.injected if one.item] for turn in read] == [[port], [retry]]
    until(lambda: sum(bool(record.prompt) for record in read_log(sandbox.data).records) == 2)  # written last, detached
    records = {record.turn_key: record for record in read_log(sandbox.data).records if record.session == first.session}
    for turn in read:  # what the hooks recorded is found by the client's id of the turn, and says the same
        recorded = records[turn.client_turn]
        assert (recorded.agent, recorded.prompt) == (sandbox.client.name, turn.prompt)
        assert (recorded.transcript, recorded.delivered) == (str(transcript), True)
        assert [item.item for item in recorded.items] == [one.item for one in turn.injected if one.item]


def test_observe_reads_what_the_client_wrote(sandbox: Sandbox) -> None:
    sandbox.install()
    sandbox.ask(PROMPT, [sandbox.client.reads(sandbox.project / "MISSING.md")]).check()
    observed = json.loads(sandbox.knowbound("observe", "--format", "json"))
    totals = observed["totals"]
    assert (totals["sessions"], totals["turns"], totals["tool_calls"], totals["skipped_lines"]) == (1, 1, 1, 0)
    assert observed["gap"]["by_type"]["failed_search"] == 1
