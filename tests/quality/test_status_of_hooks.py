"""From the agent's hooks to the screen: nothing in between is made by hand."""

from __future__ import annotations

from knowbound.agent.hook.run import TURN_ENDS
from knowbound.config import load
from knowbound.quality.scoring import score_queue
from knowbound.quality.status import quality_status
from knowbound.report.quality.model import Fault, QualityStatus
from knowbound.stats.quality import QualityMetric
from tests.hook_project import PORT, PROMPT, Project
from tests.transcripts import SESSION, Transcript


def after(project: Project, answer: str) -> QualityStatus:
    """What the status shows once the agent has answered the prompt like that."""
    transcript = project.root / "transcripts" / f"{SESSION}.jsonl"
    project.ask(PROMPT, SESSION, prompt_id="p1", transcript_path=str(transcript))
    written = Transcript()
    written.user(PROMPT, promptId="p1")
    written.says(answer)
    written.write(transcript.parent)
    ended = {
        "session_id": SESSION,
        "prompt_id": "p1",
        "transcript_path": str(transcript),
        "cwd": str(project.root),
        "hook_event_name": TURN_ENDS["stop"],
        "last_assistant_message": answer,
    }
    project.queue("stop", ended)
    settings = load(project.root)
    score_queue(settings)
    return quality_status(settings)


def test_an_item_that_the_agent_used_counts_as_on_topic_and_used(project: Project) -> None:
    project.store(PORT)
    found = after(project, "It listens on port 8080.")
    rates = {one.metric: (one.now.k, one.now.n) for one in found.metrics}
    assert rates[QualityMetric.ON_TOPIC] == rates[QualityMetric.USED] == (1, 1)
    assert rates[QualityMetric.CONTRADICTED] == (0, 1)
    assert found.items == ()
    assert found.window.prompt_ms.runs == found.window.stop_ms.runs == 1
    assert found.window.injected_tokens > 0


def test_an_item_that_the_agent_contradicted_is_the_first_to_fix(project: Project) -> None:
    project.store(PORT)
    found = after(project, "The note is outdated: the orders service does not listen on port 8080, it is 9090 now.")
    (one,) = found.items
    assert one.fault is Fault.WRONG
    assert "9090" in one.statement
    assert (one.session, one.turn) == (SESSION, "p1")
    assert found.pending == 1
