"""Judges that ask a model: of hedges, ten sentences in a call, and of turns, at most twenty items in a call.

Specification 1, section 4, source 3, and specification 2, "The judge". A sentence without a verdict counts as doubt,
with the problem as the reason (`hedging/verdict.py`). A verdict that an item was used or contradicted counts only with
a quotation from the turn itself; an item without a valid answer has no verdict, and its problem is kept: it can be
judged again. Every verdict has the version of the prompt and the model.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Annotated

import msgspec

from knowbound.core.quality import ItemVerdict, JudgedItem, JudgedTurn
from knowbound.core.signal import HedgingVerdict
from knowbound.judge.hedging.verdict import HedgingCandidate, HedgingJudge, failed_verdict
from knowbound.judge.material import is_quoted, turn_material
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import known_sum
from knowbound.judge.models.questions import AnswerSource, AskedEntry, AskResult, EntryGroup, sendable
from knowbound.judge.prompts import input_hash, load_prompt
from knowbound.judge.turns import TurnJudge, TurnVerdicts
from knowbound.text.printable import both_ends
from knowbound.text.redact import redact

SENTENCES = 10  # in one call
_QUESTION_CHARACTERS, _CONTEXT_CHARACTERS = 600, 1_500


class HedgingAnswer(msgspec.Struct, frozen=True):
    """Answer of the model about one sentence, in the specification's words."""

    id: str
    is_uncertainty: bool = msgspec.field(name="isUncertainty")
    confidence: Annotated[float, msgspec.Meta(gt=0, le=1)]  # 0 marks a verdict that failed
    reason: str = ""


class ModelHedgingJudge:
    """Judges hedges by asking a model."""

    def __init__(
        self,
        version: str,
        costs: bool,
        asker: Asker,
        may_see: Callable[[str], bool] = lambda _agent: True,
        otherwise: HedgingJudge | None = None,
    ) -> None:
        """`otherwise` judges the sentences of agents that the model may not see."""
        self.version, self.costs, self._asker = version, costs, asker
        self._may_see, self._otherwise = may_see, otherwise
        self.usd: float | None = 0.0  # of all verdicts so far; None if a cost is unknown

    def known(self, candidate: HedgingCandidate) -> HedgingVerdict | None:
        """Return the kept verdict on a sentence, or that of the rules where the model may not see it."""
        if self._otherwise is not None and not self._may_see(candidate.agent):
            (verdict,) = self._otherwise.judge([candidate])
            return verdict
        answer = self._asker.known(load_prompt("hedging"), _entry_of_sentence(0, candidate).key, HedgingAnswer)
        return None if answer is None else self._verdict(answer)

    def judge(self, candidates: Sequence[HedgingCandidate]) -> list[HedgingVerdict]:
        """Return one verdict per candidate, asking about ten at once."""
        entries = EntryGroup([_entry_of_sentence(number, candidate) for number, candidate in enumerate(candidates, 1)])
        (results,) = self._asker.ask_entries(load_prompt("hedging"), [entries], HedgingAnswer, size=SENTENCES)
        self.usd = known_sum(self.usd, *(result.usd for result in results))
        return [
            self._verdict(result.value) if result.value else failed_verdict(result.problem, self.version)
            for result in results
        ]

    def _verdict(self, answer: HedgingAnswer) -> HedgingVerdict:
        return HedgingVerdict(answer.is_uncertainty, answer.confidence, answer.reason, self.version)


def _entry_of_sentence(number: int, candidate: HedgingCandidate) -> AskedEntry:
    """Return a sentence as it is asked about; its key is of what is shown, not of its number."""
    shown = {
        "question": both_ends(sendable(candidate.question), _QUESTION_CHARACTERS, " […] "),
        "context": both_ends(sendable(candidate.context), _CONTEXT_CHARACTERS, " […] "),
        "sentence": sendable(candidate.sentence),
    }
    return AskedEntry(f"s{number}", shown, input_hash(shown), AnswerSource(candidate.session, candidate.project))


ITEMS = 20  # in one call
_ITEM_CHARACTERS = 1_200  # as many as are injected
_CORRECTION_CHARACTERS, _REASON_CHARACTERS = 1_000, 300
_PLAIN_ID = re.compile(r"[\w.:/@#+-]{1,80}", re.ASCII)


class ItemAnswer(msgspec.Struct, frozen=True):
    """Answer of the model about one item."""

    id: str
    on_topic: bool
    used: bool
    contradicted: bool
    quote: str = ""
    correction: str = ""
    reason: str = ""


class ModelTurnJudge:
    """Judges turns by asking a model, or a recording of one."""

    def __init__(
        self,
        version: str,
        costs: bool,
        asker: Asker,
        may_see: Callable[[str], bool] = lambda _agent: True,
        otherwise: TurnJudge | None = None,
    ) -> None:
        """`otherwise` judges the turns of agents that the model may not see."""
        self.version, self.costs, self._asker = version, costs, asker
        self._may_see, self._otherwise = may_see, otherwise

    def judge(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        """Return one answer per turn, asking about several at once, and not about a turn without items."""
        otherwise = self._otherwise
        allowed = [otherwise is None or self._may_see(turn.agent) for turn in turns]
        visible = [turn for turn, is_allowed in zip(turns, allowed, strict=True) if is_allowed]
        hidden = [turn for turn, is_allowed in zip(turns, allowed, strict=True) if not is_allowed]
        by_model = iter(self._by_model(visible))
        by_others = iter(otherwise.judge(hidden) if otherwise is not None else ())
        return [next(by_model if is_allowed else by_others) for is_allowed in allowed]

    def _by_model(self, turns: Sequence[JudgedTurn]) -> list[TurnVerdicts]:
        """Ask the model about these turns; what it may quote is the answer, the tool calls and the next message."""
        materials = [turn_material(turn, [item.content for item in turn.items]) for turn in turns]
        groups = [EntryGroup(entries_of(turn), material.texts) for turn, material in zip(turns, materials, strict=True)]
        quotable = {
            entry.key: [material.tool_calls, material.answer, material.next_message]
            for group, material in zip(groups, materials, strict=True)
            for entry in group.entries
        }

        def check(entry: AskedEntry, answer: ItemAnswer) -> str:
            if not (answer.used or answer.contradicted) or is_quoted(answer.quote, quotable[entry.key]):
                return ""
            return "its quote is not in the answer or the tool calls, word for word"

        asked = self._asker.ask_entries(load_prompt("turns"), groups, ItemAnswer, size=ITEMS, check=check)
        return [self._verdicts(turn, results) for turn, results in zip(turns, asked, strict=True)]

    def _verdicts(self, turn: JudgedTurn, results: Sequence[AskResult[ItemAnswer]]) -> TurnVerdicts:
        """Return the verdicts on a turn; the problem is that of the first item without one."""
        pairs = list(zip(turn.items, results, strict=True))
        problem = next((result.problem for _, result in pairs if result.value is None), "")
        verdicts = tuple(self._verdict(item, result.value) for item, result in pairs if result.value is not None)
        return TurnVerdicts(verdicts, problem, known_sum(*(result.usd for result in results)))

    def _verdict(self, item: JudgedItem, answer: ItemAnswer) -> ItemVerdict:
        """Return the answer about an item as a verdict; only a contradicted item has a correction."""
        return ItemVerdict(
            item=item.id,
            on_topic=answer.on_topic,
            used=answer.used,
            contradicted=answer.contradicted,
            correction=answer.correction.strip()[:_CORRECTION_CHARACTERS] if answer.contradicted else "",
            reason=answer.reason.strip()[:_REASON_CHARACTERS],
            judge=self.version,
        )


def entries_of(turn: JudgedTurn) -> list[AskedEntry]:
    """Return the items of a turn as they are asked about."""
    # The keys are of whole texts, not of what is shown of them, which depends on the other items: so an item keeps its
    # verdict when another one changes.
    parts = {"prompt": turn.prompt, "answer": turn.response, "next_message": turn.next_message}
    parts["read_before"] = "\n".join(turn.read_before)
    parts["tool_calls"] = json.dumps(msgspec.to_builtins(turn.tool_calls), default=str)
    turn_key = input_hash(parts)
    entries = []
    for name, item in zip(item_names(turn), turn.items, strict=True):
        content = both_ends(sendable(item.content), _ITEM_CHARACTERS, " […] ")
        shown: dict[str, object] = {"content": content}
        if not item.is_whole:
            shown["only_its_beginning"] = True
        key = input_hash({"turn": turn_key, "id": name, "shown": json.dumps(shown, sort_keys=True)})
        entries.append(AskedEntry(name, shown, key, AnswerSource(turn.session, turn.project)))
    return entries


def item_names(turn: JudgedTurn) -> list[str]:
    """Return the name of each item in the material: its id, unless that has spaces, is long or looks like a secret."""
    names: list[str] = []
    for number, item in enumerate(turn.items, 1):
        is_plain = _PLAIN_ID.fullmatch(item.id) is not None and redact(item.id) == item.id
        names.append(item.id if is_plain and item.id not in names else f"entry-{number}")
    return names
