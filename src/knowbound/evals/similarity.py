"""How near an answer is to a reference text: shared sequences of words (ROUGE, BLEU), and edits (Levenshtein)."""

from __future__ import annotations

import math
import re
from collections import Counter

# A run of letters and digits is one word; of scripts without spaces between words, each character is.
_CHARACTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_TOKENS = re.compile(rf"[{_CHARACTERS}]|[^\W_{_CHARACTERS}]+")
_BLEU_ORDER = 4


def words(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return _TOKENS.findall(text.lower())


def rouge_n(answer: str, reference: str, n: int = 1) -> float:
    """Return the share of the reference's n-word sequences in the answer, each as often as the reference has it."""
    wanted = _sequences(words(reference), n)
    if not wanted:
        return 0.0
    return (wanted & _sequences(words(answer), n)).total() / wanted.total()


def bleu(answer: str, reference: str) -> float:
    """BLEU-4 against one reference, unsmoothed: 0 where the answer shares no sequence of four words with it."""
    answer_words, reference_words = words(answer), words(reference)
    log_precisions = 0.0
    for n in range(1, _BLEU_ORDER + 1):
        sequences = _sequences(answer_words, n)
        shared = (sequences & _sequences(reference_words, n)).total()
        if not shared:
            return 0.0
        log_precisions += math.log(shared / sequences.total())
    brevity = min(0.0, 1 - len(reference_words) / len(answer_words))  # the penalty of an answer that is too short
    return math.exp(brevity + log_precisions / _BLEU_ORDER)


def levenshtein(text: str, other: str) -> int:
    """Return the number of characters to insert, delete or change to turn the first text into the second.

    Myers' bit vectors: a column of the table is two integers with a bit per character, so that long texts take a
    moment and not minutes. `up` has the rows where a cell is one more than the cell above it, `down` one less.
    """
    if len(text) < len(other):
        text, other = other, text
    if not other:
        return len(text)
    rows: dict[str, int] = {}
    for row, sign in enumerate(other):
        rows[sign] = rows.get(sign, 0) | 1 << row
    every, last = (1 << len(other)) - 1, 1 << (len(other) - 1)
    up, down, distance = every, 0, len(other)
    for sign in text:
        equal = rows.get(sign, 0)
        diagonal = (((equal & up) + up) ^ up) | equal | down
        more = down | ~(diagonal | up) & every
        less = up & diagonal
        distance += bool(more & last) - bool(less & last)
        more = more << 1 | 1
        up = (less << 1 | ~(diagonal | more)) & every
        down = more & diagonal & every
    return distance


def _sequences(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))
