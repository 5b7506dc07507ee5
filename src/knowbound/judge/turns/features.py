"""The features of an injected item by which it is judged on topic and used (specification 2, section 3).

Each is a number, mostly from 0 to 1, about the item and the prompt, the response, the inputs and the outputs of tool
calls; some compare it with the other items of the turn. What is in a tool's output alone is no use of the item.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from knowbound.core.quality import JudgedItem
from knowbound.judge.turns import alignment
from knowbound.judge.turns.alignment import (
    Word,
    best_window,
    coverage,
    hit,
    nearest,
    nearest_two,
    shared_weight,
    soft_coverage,
    words_of,
)
from knowbound.judge.turns.contradiction import evidence
from knowbound.judge.turns.passages import Passage, Passages, TurnText
from knowbound.judge.turns.values import Kind, Value

Features = dict[str, float]

_PREFERENCE = re.compile(
    r"\b(?:user|we|team|i)\b[^.]{0,20}\b(?:prefers?|wants?|likes?|dislikes?|hates?|expects?|insists?|asks? for|asked)\b"
    r"|用户(?:喜欢|希望|偏好|习惯|要求|不喜欢|讨厌|想)|偏好",
    re.I,
)
_RULE = re.compile(
    r"\b(?:always|never|must|should|do not|don't|only|every|before|after)\b|必须|不要|禁止|一律|总是|不得|务必", re.I
)
_TRIPLE = re.compile(r"→|->")
_STEPS = re.compile(r"\b\d\)|\bthen\b|;|→.*→|然后|再|先", re.I)
_MOST_EMBEDDED = 80  # passages of a text that are compared by meaning
_TELLING = 0.4
_RELATIVE = (
    *("p_cov", "p_rev", "p_shared", "p_cos", "p_cos_whole", "p_win", "p_soft", "p_window", "telling_in_prompt"),
    *(
        "subject_in_prompt",
        "r_cov",
        "r_sentence",
        "r_win",
        "r_shared",
        "r_novel",
        "r_novel_win",
        "r_unique",
        "r_unique_win",
    ),
    *("r_cos", "r_cos_window", "r_pairs", "i_cov", "i_novel", "a_cov", "a_novel", "a_unique", "telling_anywhere"),
    *("v_acted", "v_aligned", "v_strong", "names_missing"),
)
_RELATIVE_EVIDENCE = ("rejected", "rejected_value", "slot", "mem_denied", "aligned", "k_correct_text", "k_update_text")


_EVIDENCE = (
    "c_",
    "x_",
    "k_",
    "o_missing",
    "mem",
    "aligned",
    "rejected",
    "slot",
    "polarity",
    "opposite",
    "all_unverified",
)


def is_evidence(name: str) -> bool:
    """Whether a feature is evidence of a contradiction."""
    return name.startswith(_EVIDENCE)


class ItemFeatures(NamedTuple):
    """The features of an item, and the passages of the response that say what is true instead."""

    features: Features
    witnesses: tuple[int, ...]


def turn_features(turn: TurnText, items: Sequence[JudgedItem]) -> list[ItemFeatures]:
    """The features of every item of a turn."""
    words = [words_of(item) for item in turn.items]
    prompt_words = words_of(turn.prompt)
    found = [_features(turn, at, words, prompt_words) for at in range(len(turn.items))]
    _compare(found, _RELATIVE)
    _compare_twins(found, [frozenset(word.terms[0] for word in several) for several in words])
    signs = []
    for at, item in enumerate(items):
        others = frozenset(word.terms[0] for i, several in enumerate(words) if i != at for word in several)
        signs.append(evidence(turn, item, turn.items[at], words[at], others))
    _compare([sign.features for sign in signs], _RELATIVE_EVIDENCE)
    return [ItemFeatures(one | sign.features, sign.witnesses) for one, sign in zip(found, signs, strict=True)]


def _compare(found: list[Features], names: Sequence[str]) -> None:
    """How each item stands to the others of the turn."""
    for name in names:
        several = [one[name] for one in found]
        for at, one in enumerate(found):
            others = several[:at] + several[at + 1 :]
            one[f"{name}_over_best"] = one[name] - max(others, default=0.0)
            one[f"{name}_over_mean"] = one[name] - (sum(others) / len(others) if others else 0.0)


def _compare_twins(found: list[Features], terms: list[frozenset[str]]) -> None:
    """Whether another item says nearly the same and fits the prompt or the response better."""
    for at, one in enumerate(found):
        one["twin_prompt"] = one["twin_response"] = 0.0
        for i, other in enumerate(found):
            union = len(terms[at] | terms[i])
            if i == at or not union:
                continue
            alike = len(terms[at] & terms[i]) / union
            one["twin_prompt"] = max(one["twin_prompt"], alike * (other["p_soft"] - one["p_soft"]))
            one["twin_response"] = max(one["twin_response"], alike * (other["r_win"] - one["r_win"]))


def _features(turn: TurnText, at: int, all_words: list[list[Word]], prompt_words: list[Word]) -> Features:
    item, words = turn.items[at], all_words[at]
    whole = Passage("\n".join(one.text for one in item.all))
    others = [term for i, several in enumerate(all_words) if i != at for word in several for term in word.terms]
    prompt, response = turn.prompt, turn.response
    prompt_terms, response_terms = prompt.terms, response.terms
    novel = [word for word in words if hit(word, prompt_terms) < 1]
    unique = [word for word in words if word.terms[0] not in others]
    found: Features = {}

    # The prompt
    found["p_cov"] = coverage(words, prompt_terms)
    found["p_rev"] = coverage(prompt_words, item.terms)
    found["p_shared"] = min(3.0, shared_weight(words, prompt_terms)) / 3
    found["p_rarest"] = max((word.weight * hit(word, prompt_terms) for word in words), default=0.0)
    found["p_cos"] = nearest(whole, prompt.all[:_MOST_EMBEDDED])
    found["p_cos_whole"] = nearest(whole, [_joined(prompt)])
    found["p_window"] = best_window(prompt_words, item.all, 1).share
    subject = [word for word in words if word.start < 40][:3]
    found["subject_in_prompt"] = coverage(subject, prompt_terms)
    found["subject_in_response"] = coverage(subject, response_terms)

    found["p_sentence"] = best_window(words, prompt.all, 1).share
    found["p_win"] = best_window(words, prompt.all, 2).share
    found["p_unique"] = coverage(unique, prompt_terms)
    found["p_soft"] = soft_coverage(words, prompt_words)
    found["p_soft_rev"] = soft_coverage(prompt_words, words)
    first = words[:1]
    found["first_in_prompt"] = coverage(first, prompt_terms)
    found["first_anywhere"] = coverage(first, prompt_terms | response_terms)
    found["subject_anywhere"] = coverage(subject, prompt_terms | response_terms)
    telling = sorted(words, key=lambda word: -word.weight)[:4]
    found["telling_in_prompt"] = coverage(telling, prompt_terms)
    found["telling_anywhere"] = coverage(telling, prompt_terms | response_terms)

    # The response
    one, few = best_window(words, response.all, 1), best_window(words, response.all, alignment.WINDOW)
    found["r_cov"] = coverage(words, response_terms)
    found["r_sentence"] = one.share
    found["r_win"] = few.share
    found["r_shared"] = min(5.0, shared_weight(words, response_terms)) / 5
    found["r_novel"] = coverage(novel, response_terms)
    found["r_novel_win"] = best_window(novel, response.all, alignment.WINDOW).share
    found["r_novel_shared"] = min(4.0, shared_weight(novel, response_terms)) / 4
    found["r_unique"] = coverage(unique, response_terms)
    found["r_unique_win"] = best_window(unique, response.all, alignment.WINDOW).share
    found["r_rarest"] = max((word.weight * hit(word, response_terms) for word in novel), default=0.0)
    embedded = _most_alike(words, response.all)
    found["r_cos"], found["r_cos_window"] = nearest_two(whole, embedded)
    found["r_pairs"] = _pair_share(item, response)

    # Tool calls
    inputs, outputs = turn.inputs, turn.outputs
    found["i_cov"] = coverage(words, inputs.terms)
    found["i_win"] = best_window(words, inputs.all, 1).share
    found["i_novel"] = coverage(novel, inputs.terms)
    found["i_novel_win"] = best_window(novel, inputs.all, 1).share
    found["o_novel"] = coverage(novel, outputs.terms)
    acted = response_terms | inputs.terms
    found["a_cov"] = coverage(words, acted)
    found["a_novel"] = coverage(novel, acted)
    found["a_unique"] = coverage(unique, acted)

    # Values
    values = [value for one in item.all for value in one.values]
    new = [value for value in values if value.key not in prompt.keys]
    found["v_any"] = float(bool(values))
    found["v_count"] = min(6, len(values)) / 6
    found["v_new"] = min(4, len(new)) / 4
    found["v_response"] = _share(new, response)
    found["v_input"] = _share(new, inputs)
    found["v_output_only"] = _share([one for one in new if not _has(one, response) and not _has(one, inputs)], outputs)
    found["v_prompt"] = _share(values, prompt)
    acted_values = sum(_has(one, response) or _has(one, inputs) for one in new)
    found["v_acted"] = acted_values / len(new) if new else 0.0
    found["v_acted_count"] = min(3, acted_values) / 3
    found["v_missing"] = min(3, len(new) - acted_values) / 3
    strong = [one for one in new if one.kind is not Kind.NUMBER or len(one.key) > 2]
    found["v_strong"] = sum(_has(one, response) or _has(one, inputs) for one in strong) / len(strong) if strong else 0.0
    in_window = response.all[few.start : few.start + few.size]
    plain = [word for word in words if not word.terms[0][0].isdigit()]
    aligned = _aligned_keys(plain, response) | _aligned_keys(plain, inputs)
    found["v_aligned"] = sum(one.key in aligned for one in new) / len(new) if new else 0.0
    found["v_aligned_count"] = min(3, sum(one.key in aligned for one in new)) / 3
    named = [one for one in values if one.kind in (Kind.NAME, Kind.PATH)]
    somewhere = [one for one in named if any(_has(one, text) for text in (prompt, response, inputs))]
    found["names_missing"] = 1 - len(somewhere) / len(named) if named else 0.0
    found["v_window"] = sum(any(one.key in p.keys for p in in_window) for one in new) / len(new) if new else 0.0

    # The item itself
    text = whole.text
    found["is_preference"] = float(bool(_PREFERENCE.search(text)))
    found["is_rule"] = float(bool(_RULE.search(text)))
    found["is_triple"] = float(bool(_TRIPLE.search(text)))
    found["is_steps"] = float(bool(_STEPS.search(text)))
    found["length"] = min(40, len(words)) / 40
    found["chinese"] = float(not text.isascii() and bool(re.search("[\u4e00-\u9fff]", text)))
    return found


def _aligned_keys(words: list[Word], passages: Passages) -> frozenset[str]:
    """The values of passages that share a telling word with the item too, themselves or right before."""
    found: set[str] = set()
    before = False
    for passage in passages.all:
        shares = any(word.weight >= _TELLING and hit(word, passage.terms) >= 1 for word in words)
        if shares or before:
            found |= passage.keys
        before = shares
    return frozenset(found)


def _joined(passages: Passages) -> Passage:
    return Passage(" ".join(one.text for one in passages.all))


def _most_alike(words: list[Word], passages: list[Passage]) -> list[Passage]:
    """The passages that share most with the item, in their order."""
    if len(passages) <= _MOST_EMBEDDED:
        return passages
    ranked = sorted(range(len(passages)), key=lambda at: (-shared_weight(words, passages[at].terms), at))
    return [passages[at] for at in sorted(ranked[:_MOST_EMBEDDED])]


def _pair_share(item: Passages, other: Passages) -> float:
    """The share of the item's neighbouring words that are neighbours in the other text."""
    own = _pairs(item)
    return len(own & _pairs(other)) / len(own) if own else 0.0


def _pairs(passages: Passages) -> set[tuple[str, str]]:
    return {(a[1][0], b[1][0]) for one in passages.all for a, b in zip(one.places, one.places[1:], strict=False)}


def _has(value: Value, passages: Passages) -> bool:
    return value.key in passages.keys or (
        len(value.key) > 3 and value.kind in (Kind.PATH, Kind.FLAG, Kind.NAME) and value.key in passages.lower
    )


def _share(values: list[Value], passages: Passages) -> float:
    return sum(_has(value, passages) for value in values) / len(values) if values else 0.0
