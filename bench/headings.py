"""How many questions of rules the built-in executor answers: `python -m bench.headings`.

Rules ask about headings and principles of the knowledge bases in `bench/knowledge`, 25 questions of each at most, and
draft samples for their files. The evidence engine answers without a model; a draft is passed by an answer that has one
of its words.
"""

from __future__ import annotations

from pathlib import Path

from knowbound.core.evidence import Investigation
from knowbound.evals.executors.without_agent import answer_of, quoted_passages
from knowbound.evals.knowledge import files_of, knowledge_globs
from knowbound.evals.questions.drafts import draft_samples
from knowbound.evals.questions.knowledge_text import read_knowledge
from knowbound.evals.questions.probe import competency_questions
from knowbound.evidence.investigate import investigate
from knowbound.stats.rate import Rate

_BASES = Path(__file__).parent / "knowledge"
_QUESTIONS, _DRAFTS = 25, 20  # of one knowledge base
_SECONDS = 5.0


def measured(base: Path) -> tuple[Rate, Rate]:
    """The questions that are answered from their own file, and the drafts that an answer passes."""
    files = files_of(base, knowledge_globs(()))
    answered = [
        any(source.path == question.file for source in _asked(question.question, base, files).sources)
        for question in competency_questions(base, files, count=_QUESTIONS).questions
    ]
    drafts = [draft for draft in draft_samples((), read_knowledge(base, files), files).drafts if draft.mentions]
    passed = []
    for draft in drafts[:_DRAFTS]:
        found = _asked(draft.prompt, base, files)
        passed.append(draft.is_passed_by(answer_of(found, quoted_passages(found, base))))
    return Rate(sum(answered), len(answered)), Rate(sum(passed), len(passed))


def _asked(question: str, base: Path, files: list[str]) -> Investigation:
    return investigate(question, base, only=files, seconds=_SECONDS)


def main() -> None:
    """Measure every knowledge base."""
    answered, passed = Rate(), Rate()
    for base in sorted(path for path in _BASES.iterdir() if path.is_dir()):
        questions, drafts = measured(base)
        print(f"{base.name:10} questions {questions}   drafts {drafts}")
        answered, passed = answered + questions, passed + drafts
    print(f"{'all':10} questions {answered}   drafts {passed}")


if __name__ == "__main__":
    main()
