"""How well the scope of probe's questions is judged: `python -m bench.scope`.

102 questions to six knowledge bases of `bench/knowledge` (`bench/unseen/scope.jsonl`): 48 that their field would ask,
answered there or not, and 54 about other things, six of them in the same words. The recorded large model sees what
`probe` shows: file names, headings, principles and the nearest passages.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import msgspec

from knowbound.evals.questions.knowledge_text import KnowledgeText, read_knowledge
from knowbound.evals.questions.probe import scope_verdicts
from knowbound.judge.models.asking import Asker
from knowbound.stats.rate import Rate

HERE = Path(__file__).parent


class LabelledQuestion(msgspec.Struct, frozen=True):
    """A question to a knowledge base, and whether it is within its scope."""

    base: str
    question: str
    in_scope: bool


def labelled() -> dict[str, list[LabelledQuestion]]:
    found: dict[str, list[LabelledQuestion]] = defaultdict(list)
    for line in (HERE / "unseen" / "scope.jsonl").read_bytes().splitlines():
        one = msgspec.json.decode(line, type=LabelledQuestion)
        found[one.base].append(one)
    return found


def base_of(name: str) -> KnowledgeText:
    root = HERE / "knowledge" / name
    return read_knowledge(root, [path.relative_to(root).as_posix() for path in root.rglob("*.md")])


def ask_scope(asker: Asker) -> tuple[int, int]:
    """Ask about every question; the numbers of those that were decided and of those that were not."""
    decided = [verdict is not None for _, verdict in judged(asker)]
    return sum(decided), len(decided) - sum(decided)


def judged(asker: Asker) -> list[tuple[LabelledQuestion, bool | None]]:
    """Every question with the verdict; None where there is none."""
    found: list[tuple[LabelledQuestion, bool | None]] = []
    for base, questions in labelled().items():
        verdicts, _ = scope_verdicts(base_of(base), [one.question for one in questions], asker)
        for one, verdict in zip(questions, verdicts, strict=True):
            is_open = verdict.reason.startswith("its scope was not decided")
            found.append((one, None if is_open else not verdict.reason))
    return found


def main() -> None:
    from bench.recorded_sets import asker_of, recording_of  # noqa: PLC0415  (which asks by this module)

    found = judged(asker_of(recording_of("scope")))
    for name, wanted in (("in scope, kept", True), ("out of scope, dropped", False)):
        of = [verdict for one, verdict in found if one.in_scope is wanted]
        print(
            f"{name}: {Rate(sum((verdict is True) is wanted for verdict in of), len(of))}, undecided {of.count(None)}"
        )
    for one, verdict in found:
        if verdict is not one.in_scope:
            print(f"  {one.base}: {one.question} → {verdict}")


if __name__ == "__main__":
    main()
