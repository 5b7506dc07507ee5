"""Samples that a model writes: believed where the quotation is there and shows the words that are checked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from knowbound.evals.questions.draft_file import draft_text
from knowbound.evals.questions.drafts import Drafts, Gap
from knowbound.evals.questions.drafts_by_model import drafts_by_model
from knowbound.evals.questions.knowledge_text import read_knowledge
from knowbound.evals.samples.load import load_samples
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.names import JudgeOptions

TEXT = """# Billing

## Idempotency

The billing API stores the key of every request, so that a request that is sent twice is booked once. Keys of requests
are stored for 24 hours and then removed by a job that runs at night.
"""
GOOD = {
    "section": 1,
    "question": "How long does the billing API keep the key of a request?",
    "answer": "For 24 hours.",
    "right": ["One day.", "The key stays there for 24 hours."],
    "wrong": ["It keeps it for 7 days.", "Until the request is booked."],
    "refusal": "I could not find how long the billing API keeps the key of a request.",
    "quote": "are stored for 24 hours",
    "expected": [["24 hours", "one day"]],
}
TRIED = {"answer": "24 hours.", "again": "It is one day.", "wrong": "A week.", "fault": "none", "reason": ""}


class Model:
    def __init__(self, tried: Mapping[str, object] | None = None, **answer: object) -> None:
        self.answer, self.tried, self.seen = answer, {**TRIED, **(tried or {})}, list[ModelQuestion]()

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        self.seen.append(question)
        if question.prompt == "draft_checks":
            ids = [json.loads(line)["id"] for line in question.inputs["entries"].splitlines()]
            return Completion(json.dumps({"items": [{"id": one, **self.tried} for one in ids]}), 0, 0, 0.0)
        return Completion(json.dumps({"samples": [], **self.answer}), 0, 0, 0.0)


def drafted(folder: Path, model: Model, gaps: list[Gap] | None = None, existing: tuple[str, ...] = ()) -> Drafts:
    (folder / "billing.md").write_text(TEXT)
    knowledge = read_knowledge(folder, ["billing.md"])
    return drafts_by_model(
        knowledge, ["billing.md"], gaps or [], existing, Asker("m", model, JudgeOptions(retries=0)), 5
    )


def test_a_draft_has_the_quotation_that_answers_it_and_loads_as_a_sample(tmp_path: Path) -> None:
    found = drafted(tmp_path, Model(samples=[GOOD]))
    (draft,) = found.drafts
    assert draft.mentions == (("24 hours", "one day"),)
    assert (draft.metadata["path"], draft.metadata["at"], draft.metadata["answerable"]) == ("billing.md", 6, True)
    file = tmp_path / "eval-samples.draft.yaml"
    file.write_text(draft_text(found))
    (sample,) = load_samples(file).samples
    assert sample.prompt == GOOD["question"]
    assert sample.assertions[0].values == ("24 hours", "one day")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"quote": "are stored for 48 hours", "expected": [["48 hours"]]}, "quotation is not in the section"),
        ({"section": 9}, "quotation is not in the section"),
        ({"expected": [["a week"]]}, "the words of a right answer"),
        ({"expected": []}, "the words of a right answer"),
        ({"expected": [["24 hours"], []]}, "the words of a right answer"),
        ({"expected": [["stored"]], "question": "Are keys stored by the billing API?"}, "the words of a right answer"),
        ({"expected": [["a"]], "quote": "booked once. Keys"}, "the words of a right answer"),
        (
            {
                "question": "Which setting stores the key of a request?",
                "quote": "stores the key of every request",
                "expected": [["key of every request"], ["`request_key`"]],
            },
            "the words of a right answer",
        ),
        ({"answer": "For 24 hours, then `purge.sh` removes it."}, "does not show purge.sh"),
        ({"answer": "Not quite 25 hours, so 24 hours."}, "does not show 25"),
        ({"right": ["One day.", "Until the next day."]}, "fails a right answer: Until the next day."),
        ({"wrong": ["One day after it was booked."]}, "passes a wrong answer or a refusal: One day"),
        ({"refusal": "I did not find whether it is 24 hours."}, "passes a wrong answer or a refusal"),
        ({"question": "Tell me about keys."}, "not a question"),
        ({"question": "How long? Where? And why is it so that they are removed?"}, "several questions"),
    ],
)
def test_what_rules_do_not_find_is_not_proposed(tmp_path: Path, change: dict[str, object], reason: str) -> None:
    found = drafted(tmp_path, Model(samples=[GOOD | change]))
    assert not found.drafts
    assert reason in found.dropped[0].reason


@pytest.mark.parametrize(
    ("tried", "reason"),
    [
        ({"fault": "trivia", "reason": "nobody asks this"}, "trivia: nobody asks this"),
        ({"again": "Twenty-four of them."}, "fails a right answer: Twenty-four"),
        ({"answer": "", "again": ""}, "fails a right answer"),
        ({"wrong": "A key is there for one day a week."}, "passes a wrong answer or a refusal: A key is there"),
        ({"fault": "boring"}, "it was not tried out"),
    ],
)
def test_a_draft_that_its_quotation_does_not_answer_is_not_proposed(
    tmp_path: Path, tried: dict[str, object], reason: str
) -> None:
    model = Model(tried, samples=[GOOD])
    found = drafted(tmp_path, model)
    assert not found.drafts
    assert reason in found.dropped[0].reason
    assert "one day" not in model.seen[-1].text  # what is expected is not shown


def test_a_word_that_many_sections_have_is_not_what_an_answer_is_checked_for(tmp_path: Path) -> None:
    sections = (
        f"## Part {n}\n\nA {n}th nightly job cleans the table of part {n} and says so in a log.\n" for n in range(9)
    )
    (tmp_path / "jobs.md").write_text("# Jobs\n\n" + "\n".join(sections))
    job = {
        "question": "What removes old keys?",
        "answer": "A nightly job.",
        "quote": "removed by a job that runs at night",
    }
    texts = {"right": ["The job.", "A job."], "wrong": ["A trigger.", "Nobody."], "refusal": "I found nothing."}
    model = Model({"answer": "A job.", "again": "A nightly job.", "wrong": "A trigger."}, samples=[])
    model.answer = {"samples": [GOOD | job | texts | {"expected": [["a job", "nightly job", "the job"]]}]}
    (tmp_path / "billing.md").write_text(TEXT)
    for names, proposed in ((["billing.md"], 1), (["billing.md", "jobs.md"], 0)):
        knowledge = read_knowledge(tmp_path, names)
        found = drafts_by_model(knowledge, ["billing.md"], [], (), Asker("m", model, JudgeOptions(retries=0)), 5)
        assert len(found.drafts) == proposed, found.dropped


@pytest.mark.parametrize("question", ["For how long is a key of a request kept?", "Until when does a key stay?"])
def test_a_question_may_begin_with_any_word(tmp_path: Path, question: str) -> None:
    assert drafted(tmp_path, Model(samples=[GOOD | {"question": question}])).drafts


def test_an_answer_must_name_each_thing_that_is_expected(tmp_path: Path) -> None:
    both = {
        "question": "How long is the key of a request kept, and what removes it?",
        "answer": "For 24 hours; a job that runs at night removes it.",
        "right": ["A nightly job, after 24 hours.", "24 hours, then a job."],
        "quote": "are stored for 24 hours and then removed by a job that runs at night",
        "expected": [["24 hours"], ["job"]],
    }
    again = {"answer": "24 hours, then by a job.", "again": "By a job after 24 hours."}
    (draft,) = drafted(tmp_path, Model(again, samples=[GOOD | both])).drafts
    assert draft.mentions == (("24 hours",), ("job",))
    assert draft.is_passed_by("A job removes it after 24 hours.")
    assert not draft.is_passed_by("It is removed after 24 hours.")


def test_what_the_test_asks_already_is_not_proposed(tmp_path: Path) -> None:
    found = drafted(tmp_path, Model(samples=[GOOD]), existing=(str(GOOD["question"]),))
    assert not found.drafts
    assert "asks the same" in found.dropped[0].reason


def test_what_agents_looked_for_is_answered_or_marked_unanswerable(tmp_path: Path) -> None:
    gap = Gap("looked for in 3 sessions", {"drafted_from": "gap", "topic": "t1"}, wanted="refund approval")
    model = Model(unanswerable=[{"wanted": "w1", "question": "Who approves a refund above 500 EUR?"}])
    found = drafted(tmp_path, model, [gap])
    assert "w1: refund approval" in model.seen[0].inputs["wanted"]
    (draft,) = found.drafts
    assert draft.metadata["answerable"] is False
    assert (draft.metadata["topic"], draft.mentions) == ("t1", ())
    assert "UNANSWERABLE" in draft.why


def test_no_secret_is_sent_and_none_is_proposed(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2" * 9
    gap = Gap("", {}, wanted=f"token {secret}")
    model = Model(samples=[GOOD | {"expected": [[secret]]}])
    found = drafted(tmp_path, model, [gap])
    assert all(secret not in one.text for one in model.seen)
    assert not found.drafts
