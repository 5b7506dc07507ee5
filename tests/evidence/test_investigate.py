"""`investigate` on small trees: answers with their evidence, or what is missing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound, main
from knowbound.core.evidence import Confidence, Quality
from knowbound.evidence.investigate import has_only_names, investigate
from knowbound.evidence.plan import read_plan
from knowbound.evidence.producers import every_producer
from tests.evidence_trees import AGENT, HANDBOOK, SHOP, plant


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return plant(tmp_path, SHOP)


@pytest.mark.parametrize(
    "question",
    [
        "Explain evidence gating.",
        "How does startup model selection work?",
        "Where are the provider credentials configured?",
        "search for xqkz_2024_nonexistent_class",
        "Where is xqkz_missing_function defined?",
        "Compare the ExecutionEngine and xqkz_engine_2024.",
    ],
)
def test_the_six_failing_queries_end_in_insufficient_evidence(question: str, tmp_path: Path) -> None:
    found = investigate(question, plant(tmp_path, AGENT))
    assert found.outcome == "insufficient_evidence"
    assert found.gaps
    assert found.sources == ()


def test_many_loose_words_are_still_weak(tmp_path: Path) -> None:
    for number in range(80):
        (tmp_path / f"evidence_{number}.py").write_text("evidence = 1  # the evidence\n")
    found = investigate("Where is the evidence gating?", tmp_path)
    grepped = next(entry for entry in found.evidence if entry.tool == "grep")
    assert (grepped.quality, grepped.strength.value, grepped.phrase_match) == (Quality.WEAK, "high", False)
    assert found.outcome == "insufficient_evidence"


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Where is RetryMiddleware defined?", "shop/retry.py"),
        ("Where is the retry middleware defined?", "shop/retry.py"),
        ("Who uses the RetryMiddleware?", "shop/client.py"),
        ("Where is RETRY_LIMIT read?", "shop/client.py"),
        ("Open blueprints.py", "shop/blueprints.py"),
        ('Where is "Too many attempts" raised?', "shop/client.py"),
    ],
)
def test_answers(question: str, first: str, shop: Path) -> None:
    found = investigate(question, shop)
    assert (found.outcome, found.sources[0].path) == ("success", first), found.trail


@pytest.mark.parametrize(
    "question",
    [
        "Where is the retry budget?",
        "Compare RetryMiddleware and CacheMiddleware.",
        "How does blueprints.py order the retry middleware?",  # the concept exists, but not in that file
        "How does blueprints.py rank the blueprint priorities?",
        "Where is BlueprintSetupState?",
        "Who calls register_blueprint?",
        "Open middleware.py",
        "Which class compresses writes to a socket?",
        "Review the file proxy export.",
    ],
)
def test_refusals(question: str, shop: Path) -> None:
    assert investigate(question, shop).outcome == "insufficient_evidence"


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Which class redirects writes to a console?", "shop/proxy.py"),  # only a docstring says so
        ("Explain the retry middleware.", "shop/retry.py"),
        ("Compare RetryMiddleware and FileProxy.", "shop/retry.py"),
        ("How does RetryMiddleware work?", "shop/retry.py"),
    ],
)
def test_what_rules_cannot_read_ends_with_the_probable_place(question: str, first: str, shop: Path) -> None:
    found = investigate(question, shop)
    assert (found.outcome, found.answer, found.sources) == ("insufficient_evidence", None, ())
    assert found.probable is not None
    assert (found.probable.path, found.nearest[0].path) == (first, first)
    assert found.confidence in (Confidence.NONE, Confidence.LOW, Confidence.MEDIUM)
    assert found.probable.why


def test_uses_are_calls_with_their_function_then_imports(tmp_path: Path) -> None:
    calls = "".join(f"\n\ndef send_{at}():\n    return lend({at})\n" for at in range(5))
    plant(tmp_path, {"pool.py": "def lend(at):\n    return at\n", "uses.py": f"from pool import lend\n{calls}"})
    found = investigate("Who calls lend()?", tmp_path)
    whys = [source.why for source in found.sources]
    assert whys == [*(f"references: call in send_{at}" for at in range(5)), "references: import at the top of the file"]


@pytest.mark.parametrize(
    ("question", "is_alone"),
    [
        ("Where is RetryMiddleware defined?", True),
        ("Where is the retry middleware defined?", False),
        ("How does blueprints.py rank the blueprint priorities?", False),
        ("thanks!", False),
    ],
)
def test_a_question_about_has_only_names_needs_no_model(question: str, is_alone: bool) -> None:
    assert has_only_names(read_plan(question)) is is_alone


def test_a_passage_with_few_words_of_the_question_is_not_probable(shop: Path) -> None:
    found = investigate("How does the console proxy mirror and archive a file?", shop)
    assert (found.outcome, found.probable) == ("insufficient_evidence", None)
    assert [place.path for place in found.nearest] == ["shop/proxy.py"]


def test_a_mistyped_name_is_moderate_said_and_shown_first(shop: Path) -> None:
    found = investigate("Where is RetryMidleware?", shop)
    assert found.outcome == "insufficient_evidence"
    assert any("RetryMiddleware" in note and "RetryMidleware" in note for note in found.notes)
    assert (found.nearest[0].path, found.nearest[0].text) == ("shop/retry.py", "class RetryMiddleware:")
    assert max(entry.quality.rank for entry in found.evidence if entry.tool == "references") == Quality.MODERATE.rank


def test_a_name_further_off_is_only_nearest(shop: Path) -> None:
    found = investigate("Where is RetryMidlewre?", shop)
    assert found.outcome == "insufficient_evidence"
    assert any("RetryMiddleware" in place.text for place in found.nearest)


def test_a_definition_that_search_and_reader_resolve_alike_is_verified(shop: Path) -> None:
    found = investigate("Where is RetryMiddleware defined?", shop)
    assert found.confidence is Confidence.COMPLETE
    verified = next(entry for entry in found.evidence if entry.quality is Quality.VERIFIED)
    cited = [found.evidence[number] for number in verified.cites]
    assert {entry.tool for entry in cited} == {"references", "read"}
    shared = set.intersection(*({(place.path, place.symbol) for place in entry.places} for entry in cited))
    assert ("shop/retry.py", "RetryMiddleware") in shared


def test_no_tool_ever_says_verified(shop: Path) -> None:
    for question in (
        "Where is RetryMiddleware?",
        "Open blueprints.py",
        "Explain FileProxy",
        "What is the last commit?",
    ):
        for entry in investigate(question, shop).evidence:
            assert entry.quality is not Quality.VERIFIED or (entry.tool == "planner" and entry.cites)


def test_every_producer_names_its_class_and_group() -> None:
    names = [producer.name for producer in every_producer()]
    assert len(set(names)) == len(names)
    assert all(producer.independent_of for producer in every_producer())


def test_chat_is_no_evidence(shop: Path) -> None:
    found = investigate("thanks!", shop)
    assert (found.intent.value, found.confidence, found.evidence) == ("chat", Confidence.NONE, ())


def test_a_folder_of_knowledge_is_answered_by_the_same_rules(tmp_path: Path) -> None:
    root = plant(tmp_path, HANDBOOK)
    found = investigate("Explain how we rotate the signing keys.", root)
    assert (found.outcome, found.nearest[0].path) == ("insufficient_evidence", "security/keys.md")
    assert {entry.cls.value for entry in found.evidence} == {"FileSearch", "FileContent", "Discovery"}
    assert investigate("Where is the onboarding section?", root).sources[0].path == "people/onboarding.md"
    assert investigate("Explain the vacation policy.", root).outcome == "insufficient_evidence"


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str]]:
    monkeypatch.setenv("KNOWBOUND_HOME", str(tmp_path / "home"))

    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as end:
            main(list(arguments))
        return int(end.value.code or 0), capsys.readouterr().out

    return call


def test_the_command_exits_0_with_an_answer_and_3_without(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    root = str(plant(tmp_path / "shop", SHOP))
    code, out = run("investigate", "--root", root, "Where is RetryMiddleware defined?")
    assert code == 0
    assert "shop/retry.py:6" in out
    code, out = run("investigate", "--root", root, "Where is the retry budget?")
    assert code == 3
    assert "FileSearch for retry budget: have weak, need strong" in out


def test_the_json_has_the_keys_that_others_rely_on(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    root = str(plant(tmp_path / "shop", SHOP))
    _, out = run("investigate", "--root", root, "--format", "json", "--trail", "Where is RetryMiddleware defined?")
    document = json.loads(out)
    assert document["format"] == "knowbound.investigation/1"
    keys = {"question", "intent", "outcome", "confidence", "explanation", "evidence", "gaps", "sources", "trail"}
    assert keys <= set(document)
    assert set(document["sources"][0]) == {"path", "line", "text", "why"}
    assert document["answer"] == {"text": "class RetryMiddleware:", "path": "shop/retry.py", "line": 6}
    entry = {"class", "quality", "strength", "tool", "query", "target", "sources", "match_count", "exact_match_count"}
    assert entry | {"phrase_match"} <= set(document["evidence"][0])


def test_many_questions_give_a_line_each_with_its_id(run: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    root = str(plant(tmp_path / "shop", SHOP))
    file = tmp_path / "questions.jsonl"
    file.write_text(
        '{"id": "a", "question": "Where is FileProxy?"}\n\n{"id": "b", "question": "Where is the queue tree?"}\n'
    )
    code, out = run("investigate", "--root", root, "--input", str(file))
    lines = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [(line["id"], line["outcome"]) for line in lines] == [("a", "success"), ("b", "insufficient_evidence")]


@pytest.mark.parametrize("format_", ["text", "json", "jsonl", "markdown", "html"])
def test_report_renders_the_stored_investigation(
    format_: str, run: Callable[..., tuple[int, str]], tmp_path: Path
) -> None:
    root = str(plant(tmp_path / "shop", SHOP))
    run("investigate", "--root", root, "Where is <b>RetryMiddleware</b> defined?")
    code, out = run("report", "--root", root, "--format", format_)
    assert code == 0
    assert "retry.py" in out
    assert format_ != "html" or "<b>" not in out


def test_a_bad_line_of_questions_is_named(tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text("{}\n")
    result = CliRunner().invoke(knowbound, ["investigate", "--root", str(tmp_path), "--input", str(file)])
    assert "line 1" in str(result.exception)
