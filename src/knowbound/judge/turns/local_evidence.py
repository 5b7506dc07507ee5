"""What one place of a turn has of one statement of an item: evidence that does not grow with the length of either.

A long turn has every word of an item somewhere, and a long item has a word for every turn. So the statements of an item
(`s_`) are looked for one by one in neighbouring sentences, runs of words (`n_`) as they stand, and code, paths and
flags (`e_`) in a single call. A word that many passages of the turn have says little there (`b_`). Specification 2,
section 3.
"""

from __future__ import annotations

import math
from collections.abc import Set

from knowbound.judge.turns.alignment import best_window, coverage, hit
from knowbound.judge.turns.item_text import ItemText
from knowbound.judge.turns.passages import TurnText

_NEIGHBOURS = 2  # passages that restate one statement
_FULL = 2.5  # weight of words from which a statement counts whole
_LONG_RUN = 5.0  # weight of words that no two texts share by chance
_MANY_EXACT = 3
_RESTATED = 0.5  # the share of a statement that is said again
_LOG_PASSAGES, _LOG_CALLS, _LOG_WORDS = math.log(241), math.log(41), math.log(201)


def local_features(turn: TurnText, item: ItemText) -> dict[str, float]:
    """The local evidence about an item, and how long turn and item are."""
    return (
        _statements(turn, item)
        | _runs(turn, item)
        | _exact(turn, item)
        | _background(turn, item)
        | _lengths(turn, item)
    )


# Statements


def _statements(turn: TurnText, item: ItemText) -> dict[str, float]:
    """How far single statements of the item are in neighbouring sentences."""
    shares, new_shares, inputs, asked, weights = [], [], [], [], []
    for words in item.statements:
        weight = sum(word.weight for word in words)
        new = [word for word in words if hit(word, turn.prompt.terms) < 1]
        full = min(1.0, weight / _FULL)
        weights.append(weight)
        shares.append(full * best_window(words, turn.response, _NEIGHBOURS).share)
        new_weight = min(1.0, sum(word.weight for word in new) / _FULL)
        new_shares.append(new_weight * best_window(new, turn.response, _NEIGHBOURS).share)
        inputs.append(new_weight * best_window(new, turn.inputs, 1).share)
        asked.append(full * best_window(words, turn.prompt, _NEIGHBOURS).share)
    total = sum(weights) or 1.0
    return {
        "s_best": max(shares, default=0.0),
        "s_mean": sum(map(_product, shares, weights)) / total,
        "s_new_best": max(new_shares, default=0.0),
        "s_new_mean": sum(map(_product, new_shares, weights)) / total,
        "s_input_best": max(inputs, default=0.0),
        "s_input_mean": sum(map(_product, inputs, weights)) / total,
        "s_prompt_best": max(asked, default=0.0),
        "s_prompt_mean": sum(map(_product, asked, weights)) / total,
        "s_restated": sum(share >= _RESTATED for share in shares) / (len(shares) or 1),
        "s_any_restated": float(any(share >= _RESTATED for share in new_shares)),
    }


def _product(one: float, other: float) -> float:
    return one * other


# Runs of words


def _runs(turn: TurnText, item: ItemText) -> dict[str, float]:
    """Runs of the item's words that the response, an input or the prompt has in the same order."""
    known = turn.prompt.pairs
    response, inputs = turn.response.pairs, turn.inputs.pairs
    pairs = [
        (sum(weights), response_has, inputs_have, asked)
        for pair, weights in item.pairs
        for response_has, inputs_have, asked in ((pair in response, pair in inputs, pair in known),)
    ]
    total = sum(one[0] for one in pairs) or 1.0
    return {
        "n_pairs": sum(weight for weight, said, _, _ in pairs if said) / total,
        "n_new_pairs": sum(weight for weight, said, _, asked in pairs if said and not asked) / total,
        "n_input_pairs": sum(weight for weight, _, done, asked in pairs if done and not asked) / total,
        "n_prompt_pairs": sum(weight for weight, _, _, asked in pairs if asked) / total,
        "n_run": _longest(item, response, frozenset()),
        "n_new_run": _longest(item, response, known),
        "n_input_run": _longest(item, inputs, known),
        "n_prompt_run": _longest(item, known, frozenset()),
    }


def _longest(item: ItemText, pairs: Set[tuple[str, str]], but: Set[tuple[str, str]]) -> float:
    """The weight of the longest run of words that are neighbours elsewhere too, as far as they say anything new."""
    best = run = 0.0
    for pair, weights in item.pairs:
        if pair not in pairs:
            run = 0.0
            continue
        run = run + weights[1] if run else weights[0] + weights[1]
        if pair not in but:
            best = max(best, run)
    return min(1.0, best / _LONG_RUN)


# Code, paths and flags


def _exact(turn: TurnText, item: ItemText) -> dict[str, float]:
    """What is spelled exactly and stands in the response, or together in one call."""
    spelled = item.spelled
    new = [one for one in spelled if one not in turn.prompt.lower]
    calls = [sum(one in text for one in new) for text in turn.call_texts]
    said = sum(one in turn.response.lower for one in new)
    common = [_commonness(one, turn) for one in new if one in turn.response.lower]
    return {
        "e_any": float(bool(new)),
        "e_response": said / len(new) if new else 0.0,
        "e_response_count": min(_MANY_EXACT, said) / _MANY_EXACT,
        "e_call": max(calls, default=0) / len(new) if new else 0.0,
        "e_call_count": min(_MANY_EXACT, max(calls, default=0)) / _MANY_EXACT,
        "e_prompt": 1 - len(new) / len(spelled) if spelled else 0.0,
        "e_rare": max((1 - one for one in common), default=0.0),
    }


def _commonness(spelled: str, turn: TurnText) -> float:
    passages = turn.response.all
    return sum(spelled in one.lower for one in passages) / len(passages) if passages else 0.0


# The turn as a background


def _background(turn: TurnText, item: ItemText) -> dict[str, float]:
    """The item's words by how few passages of this turn have them."""
    response, prompt = turn.response, turn.prompt
    rare = [word._replace(weight=word.weight * response.rarity(word.terms[0])) for word in item.words]
    new = [word for word in rare if hit(word, prompt.terms) < 1]
    return {
        "b_cov": coverage(rare, response.terms),
        "b_win": best_window(rare, response, _NEIGHBOURS).share,
        "b_new_win": best_window(new, response, _NEIGHBOURS).share,
        "b_title_prompt": coverage(item.title, prompt.terms),
        "b_title_response": coverage(item.title, response.terms),
        "b_title_window": best_window(item.title, response, 1).share,
    }


def _lengths(turn: TurnText, item: ItemText) -> dict[str, float]:
    return {
        "m_response": math.log1p(len(turn.response.all)) / _LOG_PASSAGES,
        "m_prompt": math.log1p(len(turn.prompt.all)) / _LOG_PASSAGES,
        "m_inputs": math.log1p(len(turn.inputs.all)) / _LOG_PASSAGES,
        "m_calls": math.log1p(len(turn.calls)) / _LOG_CALLS,
        "m_item": min(1.0, math.log1p(len(item.words)) / _LOG_WORDS),
        "m_statements": math.log1p(len(item.statements)) / _LOG_CALLS,
    }
