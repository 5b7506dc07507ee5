from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest

from knowbound.config import load
from knowbound.core.signal import Signal, SignalType, Status
from knowbound.errors import InputError
from knowbound.evals.evaluate import EvalPlan, evaluate
from knowbound.evals.executor import executor_named
from knowbound.evals.questions.probe import probe
from knowbound.evals.samples.load import load_samples
from knowbound.report import LINE_FORMATS
from knowbound.report.evals.probe import Format, ProbeReport, by_kind, render_probe
from knowbound.stats.evaluation import (
    CompetencyQuestion,
    Dropped,
    Evaluation,
    Origin,
    Probe,
    QuestionSource,
    RunEnding,
    SampleRun,
)
from knowbound.stats.figures import WARNING, Coverage, GapFigures, Watermark
from knowbound.stats.rate import Mean, Rate, Weighted
from knowbound.store.evaluations import Evaluations
from tests import warm_process

DEMO = Path(__file__).resolve().parents[2] / "src/knowbound/demo/project"
HOSTILE = "What is <script>alert(1)</script> \x1b[31m | `x`\u202e, and when is it used?"

ASKED = (
    CompetencyQuestion("How do you roll back the ledger?", QuestionSource.STUB, "a section without content", "l.md", 1),
    CompetencyQuestion(
        "What do you do when `make test` fails?", QuestionSource.PRINCIPLE, "the rule 'Run…'", "a.md", 3
    ),
    CompetencyQuestion("How do you deploy?", QuestionSource.STRUCTURE, "heading 'Deploy'", "d.md", 9),
)


def figures(gaps: int, n: int) -> GapFigures:
    rate = Rate(gaps, n)
    return GapFigures(rate, Weighted(gaps, 0, n), rate, rate, dict.fromkeys(SignalType, 0), {})


def evaluation(origin: Origin, gaps: int, n: int, runs: list[SampleRun] | None = None) -> Evaluation:
    path = "competency questions of shop" if origin is Origin.PROBED else "eval-samples.yaml"
    return Evaluation(
        made="2026-11-15T10:00:00Z",
        watermark=Watermark(path, n, "0badc0de" if origin is Origin.PROBED else "deadbeef"),
        sha256="0" * 64,
        origin=origin,
        executor="investigate",
        root="shop",
        gap=figures(gaps, n),
        coverage=Coverage(Rate(2, 4), ["a.md"]),
        composite=Mean(),
        runs=runs or [],
    )


def report(*questions: CompetencyQuestion) -> ProbeReport:
    probe = Probe("shop", questions or ASKED, (Dropped("What is the capital of France?", "out of scope: franc"),), 7)
    signal = Signal(SignalType.FAILED_SEARCH, Status.OPEN, "s", 1, "x", query="ledger rollback")
    runs = [
        SampleRun(probe.questions[0].id, signals=[signal]),
        *(SampleRun(one.id, answer="It is.") for one in probe.questions[1:2]),
        *(SampleRun(one.id, ending=RunEnding.TIMEOUT, problem="too slow") for one in probe.questions[2:]),
    ]
    return ProbeReport(probe, evaluation(Origin.PROBED, 1, 2, runs), evaluation(Origin.WRITTEN, 3, 12))


@pytest.mark.parametrize("format_", LINE_FORMATS)
def test_every_format_shows_every_question(format_: Format) -> None:
    said = render_probe(report(), format_)
    for one in ASKED:
        assert one.question.replace("`", "") in said.replace("`", "").replace("\\", "")


@pytest.mark.parametrize("format_", ["text", "markdown", "html", "json"])
def test_both_gap_rates_stand_with_their_own_watermark(format_: Format) -> None:
    said = render_probe(report(), format_)
    assert "competency questions of shop" in said
    assert "eval-samples.yaml" in said
    assert "0badc0de" in said
    assert "deadbeef" in said
    assert said.count(WARNING) + said.count(WARNING.replace("'", "&#x27;")) >= 2
    assert "4 of 14" not in said  # the sum of both is nobody's rate


def test_json_is_the_whole_of_it() -> None:
    document = json.loads(render_probe(report(), "json"))
    assert document["format"] == "knowbound.probe/1"
    assert document["probed"]["gap"]["rate"] | {"low": 0, "high": 0} == {
        "k": 1,
        "n": 2,
        "value": 0.5,
        "low": 0,
        "high": 0,
    }
    assert document["written"]["watermark"]["sha256_8"] == "deadbeef"
    assert [one["outcome"] for one in document["questions"]] == ["gap", "answered", "timeout"]
    assert document["questions"][0]["id"] == ASKED[0].id
    assert document["dropped"] == [
        {
            "question": "What is the capital of France?",
            "reason": "out of scope: franc",
            "kind": "structure",
            "place": "",
        }
    ]
    assert document["left"] == 7


def test_a_run_that_did_not_end_is_in_no_rate() -> None:
    assert by_kind(report()) == {QuestionSource.STUB: Rate(1, 1), QuestionSource.PRINCIPLE: Rate(0, 1)}


def test_without_a_written_evaluation_that_is_said() -> None:
    said = render_probe(report()._replace(written=None), "text")
    assert "No evaluation of written samples is stored. Try: knowbound eval" in said


@pytest.mark.parametrize("format_", LINE_FORMATS)
def test_questions_alone_show_no_rate_and_need_no_watermark(format_: Format) -> None:
    said = render_probe(ProbeReport(report().probe), format_)
    assert "How do you roll back the ledger?" in said
    assert "Gap rate" not in said
    assert "sha256" not in said.replace("'sha256-", "")


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_text_of_a_knowledge_base_is_data(format_: Format) -> None:
    hostile = CompetencyQuestion(HOSTILE, QuestionSource.STRUCTURE, HOSTILE, "<b>.md", 1)
    said = render_probe(report(hostile), format_)
    assert "\x1b[31m" not in said
    assert "\u202e" not in said
    if format_ == "html":
        assert "<script>alert" not in said
        assert "<b>.md" not in said
    if format_ == "markdown":
        assert not re.search(r"^\| <script>", said, re.MULTILINE)


def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    shutil.copytree(DEMO, root)
    (root / "docs" / "stub.md").write_text("# Ledger archive\n\n## Rollback\n")
    (root / "eval-samples.yaml").write_text("- sample_id: a\n  prompt: Which rules apply to money?\n")
    return root


def test_a_probe_is_stored_apart_from_what_people_wrote(tmp_path: Path) -> None:
    settings = load(shop(tmp_path), environ={})
    executor = executor_named("investigate")
    written = evaluate(EvalPlan(load_samples(settings.root / "eval-samples.yaml")), settings, executor).evaluation
    done = probe(settings, count=12)
    assert done.evaluation is not None
    assert done.evaluation.origin is Origin.PROBED
    assert done.evaluation.runs_complete == len(done.probe.questions) == 12
    assert done.written is not None
    assert done.written.id == written.id
    store = Evaluations(settings.home)
    assert store.newest(Origin.WRITTEN) == written
    assert msgspec.structs.replace(done.evaluation) == store.newest(Origin.PROBED)
    missing = [
        run for run in done.evaluation.runs if run.prompt == 'What is written about "Rollback" (Ledger archive)?'
    ]
    assert [run.has_gap for run in missing] == [True]


def test_no_knowledge_files_is_an_error_that_helps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No knowledge files"):
        probe(load(tmp_path, environ={}), count=5)


def knowbound(root: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = warm_process.knowbound(*arguments, "--root", root, cwd=root)
    assert done.returncode == code, done.stderr
    return done


def test_the_verb_asks_and_shows_both_rates(tmp_path: Path) -> None:
    root = shop(tmp_path)
    knowbound(root, "eval", str(root / "eval-samples.yaml"))
    said = knowbound(root, "probe", "--count", "8").stdout
    assert "8 questions" in said
    assert 'What is written about "Rollback" (Ledger archive)?' in said
    assert "eval-samples.yaml" in said
    document = json.loads(knowbound(root, "probe", "--count", "8", "--format", "json").stdout)
    assert document["probed"]["gap"]["rate"]["n"] == 8


def test_the_verb_lists_questions_without_asking_them(tmp_path: Path) -> None:
    root = shop(tmp_path)
    lines = knowbound(root, "probe", "--questions-only", "--count", "5", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["outcome"] for line in lines] == [None] * 5
    assert Evaluations(load(root, environ={}).home).heads() == []


def test_the_verb_drafts_and_accepts_what_a_person_accepts(tmp_path: Path) -> None:
    root = shop(tmp_path)
    draft = root / "eval-samples.draft.yaml"
    knowbound(root, "eval", str(root / "eval-samples.yaml"))
    knowbound(root, "draft", "-o", str(draft))
    ids = [sample.id for sample in load_samples(draft).samples]
    assert len(ids) > 2
    knowbound(root, "draft", "--accept", ids[0])
    assert [sample.id for sample in load_samples(root / "eval-samples.yaml").samples] == ["a", ids[0]]
    knowbound(root, "draft", "--reject", ids[1])
    again = knowbound(root, "draft").stdout
    assert f'sample_id: "{ids[0]}"' not in again
    assert f'sample_id: "{ids[1]}"' not in again
    assert f'sample_id: "{ids[2]}"' in again
    knowbound(root, "draft", "--accept", "nope", code=2)
    knowbound(root, "draft", "--accept", code=2)
