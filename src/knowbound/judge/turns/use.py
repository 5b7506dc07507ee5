"""What the response and the tool calls have of an item: words, neighbouring sentences, values, meaning.

`r_` is the response, `i_` the inputs of calls, `o_` their outputs, `a_` response and inputs together, `v_` the item's
values. What the prompt has said already counts less: novel words and new values are those that it has not. A value in
a tool's output alone is no use of the item.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from knowbound.judge.turns.alignment import (
    WINDOW,
    ItemWord,
    best_window,
    coverage,
    nearest_two,
    rarest,
    shared_weight,
    shares_of,
)
from knowbound.judge.turns.item_text import ItemText
from knowbound.judge.turns.passages import MOST_EMBEDDED, Passage, Passages, TurnText
from knowbound.judge.turns.values import Value, ValueKind

_MUCH, _MUCH_NOVEL = 5.0, 4.0  # weight of shared words from which more does not matter
_MANY_VALUES, _MANY_NEW, _MANY_FOUND = 6, 4, 3
_TELLING = 0.4  # the weight of a word that says what is spoken of
_SMALL = 2  # digits of a number that stands for anything
_SPELLED = frozenset((ValueKind.PATH, ValueKind.FLAG, ValueKind.NAME))  # may be part of a longer name
_LONG_ENOUGH = 3


def use_features(turn: TurnText, item: ItemText) -> dict[str, float]:
    """How far an item is found in what the agent said and did."""
    return _in_response(turn, item) | _in_calls(turn, item) | _values(turn, item)


def _in_response(turn: TurnText, item: ItemText) -> dict[str, float]:
    response, words, novel, unique = turn.response, item.words, item.novel, item.unique
    terms = response.terms
    alone, together = nearest_two(item.whole, _most_alike(words, response))
    return {
        "r_cov": coverage(words, terms),
        "r_sentence": best_window(words, response, 1).share,
        "r_win": best_window(words, response, WINDOW).share,
        "r_shared": min(_MUCH, shared_weight(words, terms)) / _MUCH,
        "r_novel": coverage(novel, terms),
        "r_novel_win": best_window(novel, response, WINDOW).share,
        "r_novel_shared": min(_MUCH_NOVEL, shared_weight(novel, terms)) / _MUCH_NOVEL,
        "r_unique": coverage(unique, terms),
        "r_unique_win": best_window(unique, response, WINDOW).share,
        "r_rarest": rarest(novel, terms),
        "r_cos": alone,
        "r_cos_window": together,
        "r_pairs": _pair_share(item.content, response),
    }


def _in_calls(turn: TurnText, item: ItemText) -> dict[str, float]:
    inputs, words, novel = turn.inputs, item.words, item.novel
    acted = turn.response.terms | inputs.terms
    return {
        "i_cov": coverage(words, inputs.terms),
        "i_win": best_window(words, inputs, 1).share,
        "i_novel": coverage(novel, inputs.terms),
        "i_novel_win": best_window(novel, inputs, 1).share,
        "o_novel": coverage(novel, turn.outputs.terms),
        "a_cov": coverage(words, acted),
        "a_novel": coverage(novel, acted),
        "a_unique": coverage(item.unique, acted),
    }


def _values(turn: TurnText, item: ItemText) -> dict[str, float]:
    response, inputs, values, new = turn.response, turn.inputs, item.values, item.new_values
    acted = [value for value in new if _has(value, response) or _has(value, inputs)]
    others = [value for value in new if value not in acted]
    strong = [value for value in new if value.kind is not ValueKind.NUMBER or len(value.key) > _SMALL]
    named = [value for value in values if value.kind in (ValueKind.NAME, ValueKind.PATH)]
    somewhere = [value for value in named if any(_has(value, text) for text in (turn.prompt, response, inputs))]
    plain = [word for word in item.words if not word.terms[0][0].isdigit()]
    beside_words = _aligned_keys(plain, response) | _aligned_keys(plain, inputs)
    aligned = [value for value in new if value.key in beside_words]
    window = best_window(item.words, response, WINDOW)
    in_window = frozenset().union(*(one.keys for one in response.all[window.start : window.start + window.size]))
    return {
        "v_any": float(bool(values)),
        "v_count": min(_MANY_VALUES, len(values)) / _MANY_VALUES,
        "v_new": min(_MANY_NEW, len(new)) / _MANY_NEW,
        "v_prompt": _share((value.key in turn.prompt.keys for value in values), values),
        "v_response": _share((_has(value, response) for value in new), new),
        "v_input": _share((_has(value, inputs) for value in new), new),
        "v_output_only": _share((_has(value, turn.outputs) for value in others), others),
        "v_acted": _share((value in acted for value in new), new),
        "v_acted_count": min(_MANY_FOUND, len(acted)) / _MANY_FOUND,
        "v_missing": min(_MANY_FOUND, len(others)) / _MANY_FOUND,
        "v_strong": _share((value in acted for value in strong), strong),
        "v_aligned": _share((value in aligned for value in new), new),
        "v_aligned_count": min(_MANY_FOUND, len(aligned)) / _MANY_FOUND,
        "v_window": _share((value.key in in_window for value in new), new),
        "names_missing": 1 - len(somewhere) / len(named) if named else 0.0,
    }


def _has(value: Value, passages: Passages) -> bool:
    return value.key in passages.keys or (
        len(value.key) > _LONG_ENOUGH and value.kind in _SPELLED and value.key in passages.lower
    )


def _share(found: Iterable[bool], of: Sequence[Value]) -> float:
    return sum(found) / len(of) if of else 0.0


def _aligned_keys(words: Sequence[ItemWord], passages: Passages) -> frozenset[str]:
    """The values of passages that share a telling word with the item too, themselves or the one before."""
    shares = {
        at for word in words if word.weight >= _TELLING for at, share in passages.hits(word.terms).items() if share >= 1
    }
    several = [one.keys for at, one in enumerate(passages.all) if at in shares or at - 1 in shares]
    return frozenset().union(*several)


def _most_alike(words: Sequence[ItemWord], passages: Passages) -> list[Passage]:
    """The passages that share most with the item, in their order: only so many are compared by meaning."""
    if len(passages.all) <= MOST_EMBEDDED:
        return passages.all
    shares = shares_of(words, passages)
    ranked = sorted(range(len(shares)), key=lambda at: (-shares[at], at))
    return [passages.all[at] for at in sorted(ranked[:MOST_EMBEDDED])]


def _pair_share(item: Passages, other: Passages) -> float:
    """The share of the item's neighbouring words that are neighbours in the other text."""
    return len(item.pairs & other.pairs) / len(item.pairs) if item.pairs else 0.0
