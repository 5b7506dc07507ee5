"""What the prompt has of an item, and the item of the prompt: in words, in its best sentences, in meaning.

`p_` is the prompt. The subject of an item (the words it begins with) and its most telling words count apart: an item
about another service shares much with the prompt, but not those.
"""

from __future__ import annotations

from knowbound.judge.turns.alignment import (
    best_window,
    coverage,
    nearest,
    rarest,
    shared_weight,
    soft_coverage,
    words_of,
)
from knowbound.judge.turns.item_text import ItemText
from knowbound.judge.turns.passages import TurnText

_MUCH = 3.0  # weight of shared words from which more does not matter


def relevance_features(turn: TurnText, item: ItemText) -> dict[str, float]:
    """How far an item and the prompt are about the same."""
    prompt, words = turn.prompt, item.words
    terms, anywhere = prompt.terms, prompt.terms | turn.response.terms
    asked = words_of(prompt)
    first = words[:1]
    return {
        "p_cov": coverage(words, terms),
        "p_rev": coverage(asked, item.content.terms),
        "p_shared": min(_MUCH, shared_weight(words, terms)) / _MUCH,
        "p_rarest": rarest(words, terms),
        "p_cos": nearest(item.whole, prompt.embedded),
        "p_cos_whole": nearest(item.whole, [prompt.joined]),
        "p_window": best_window(asked, item.content, 1).share,
        "p_sentence": best_window(words, prompt, 1).share,
        "p_win": best_window(words, prompt, 2).share,
        "p_unique": coverage(item.unique, terms),
        "p_soft": soft_coverage(words, asked),
        "p_soft_rev": soft_coverage(asked, words),
        "subject_in_prompt": coverage(item.subject, terms),
        "subject_in_response": coverage(item.subject, turn.response.terms),
        "subject_anywhere": coverage(item.subject, anywhere),
        "first_in_prompt": coverage(first, terms),
        "first_anywhere": coverage(first, anywhere),
        "telling_in_prompt": coverage(item.telling, terms),
        "telling_anywhere": coverage(item.telling, anywhere),
    }
