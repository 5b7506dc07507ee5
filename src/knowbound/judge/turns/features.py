"""The features of the items of a turn, by which they are judged (specification 2, section 3).

Each is a number, mostly from 0 to 1: what the prompt has of the item (`relevance.py`), what the response and the calls
have of it (`use.py`), and in one place (`local_evidence.py`), what speaks for a contradiction (`contradiction.py`),
what kind of item it is (`item_text.py`).
Most of them also as the difference to the other items of the turn: what fits best is meant.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum
from typing import NamedTuple

from knowbound.core.quality import JudgedItem
from knowbound.judge.turns.contradiction import evidence
from knowbound.judge.turns.item_text import ItemText, items_of, kind_features
from knowbound.judge.turns.local_evidence import local_features
from knowbound.judge.turns.passages import TurnText
from knowbound.judge.turns.relevance import relevance_features
from knowbound.judge.turns.use import use_features

Features = dict[str, float]

_COMPARED = (
    "p_cov p_rev p_shared p_cos p_cos_whole p_win p_soft p_window telling_in_prompt subject_in_prompt "
    "r_cov r_sentence r_win r_shared r_novel r_novel_win r_unique r_unique_win r_cos r_cos_window r_pairs "
    "i_cov i_novel a_cov a_novel a_unique telling_anywhere v_acted v_aligned v_strong names_missing"
).split()
# Also times the logarithm of the item's length: what a share of a long item says is something else.
_BY_LENGTH = (
    "r_cov r_win r_novel r_novel_win r_cos r_cos_window a_novel a_cov i_cov i_novel_win v_acted v_response "
    "p_cov p_win p_cos p_soft p_rev telling_in_prompt subject_in_prompt s_best s_new_mean s_input_best s_prompt_best "
    "n_run n_new_run b_new_win b_title_prompt b_title_response e_response e_call_count"
).split()
_COMPARED_EVIDENCE = "rejected rejected_value slot mem_denied aligned k_correct_text k_update_text".split()


class ItemFeatures(NamedTuple):
    """The features of an item, and the passages of the response that say what is true instead."""

    features: Features
    witnesses: tuple[int, ...]


def turn_features(turn: TurnText, items: Sequence[JudgedItem]) -> list[ItemFeatures]:
    """The features of every item of a turn."""
    texts = items_of(turn)
    found = [
        relevance_features(turn, one) | use_features(turn, one) | local_features(turn, one) | kind_features(one)
        for one in texts
    ]
    signs = [evidence(turn, item, one) for item, one in zip(items, texts, strict=True)]
    for one in found:
        one.update((f"{name}_long", one[name] * one["m_item"]) for name in _BY_LENGTH)
    _compare_twins(found, texts)
    _compare(found, _COMPARED)
    _compare([sign.features for sign in signs], _COMPARED_EVIDENCE)
    return [ItemFeatures(one | sign.features, sign.witnesses) for one, sign in zip(found, signs, strict=True)]


def _compare(found: Sequence[Features], names: Sequence[str]) -> None:
    """How each item stands to the best and to the mean of the others."""
    for name in names:
        several = [one[name] for one in found]
        for at, one in enumerate(found):
            others = several[:at] + several[at + 1 :]
            one[f"{name}_over_best"] = one[name] - max(others, default=0.0)
            one[f"{name}_over_mean"] = one[name] - (fsum(others) / len(others) if others else 0.0)


def _compare_twins(found: Sequence[Features], texts: Sequence[ItemText]) -> None:
    """Whether another item says nearly the same and fits the prompt or the response better."""
    terms = [frozenset(word.terms[0] for word in text.words) for text in texts]
    for at, one in enumerate(found):
        one["twin_prompt"] = one["twin_response"] = 0.0
        for i, other in enumerate(found):
            union = len(terms[at] | terms[i])
            if i == at or not union:
                continue
            alike = len(terms[at] & terms[i]) / union
            one["twin_prompt"] = max(one["twin_prompt"], alike * (other["p_soft"] - one["p_soft"]))
            one["twin_response"] = max(one["twin_response"], alike * (other["r_win"] - one["r_win"]))
