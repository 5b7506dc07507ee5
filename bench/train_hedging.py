"""Learns the weights of the embedded hedging judge: `python -m bench.train_hedging` writes them into the package.

Three kinds of labelled sentences: the hand labels of the development sessions, further sentences of the same
sessions that we labelled (kept here as ids and hashes, their text stays in the traces), and sentences of our own.
A sentence counts as doubt when one of its cues does, so only its strongest cue learns (a logistic regression on
the maximum). No part of the sessions kept aside is read.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from bench.labels import SHARED, is_aside, labels
from knowbound.judge.hedging.features import features
from knowbound.judge.hedging.rules import HedgingWeights
from knowbound.text.sentences import sentences

HERE = Path(__file__).parent
WEIGHTS = HERE.parent / "src" / "knowbound" / "judge" / "hedging" / "hedging_rules.json"

_L2, _EPOCHS, _RATE, _SEEDS, _AVERAGED = 0.02, 60, 0.3, 3, 20
_SURE, _UNSURE, _OURS, _OWN = 1.0, 0.5, 0.8, 0.8  # how much a label counts, by who gave it


class Example(NamedTuple):
    """A labelled sentence; `session` is empty for our own."""

    session: str
    sentence: str
    uncertain: bool
    weight: float


def main() -> None:
    """Learn from everything that is not kept aside and write the weights."""
    weights = fit(examples())
    WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(weights, order="sorted"), indent=1) + b"\n")
    print(f"{len(weights.features)} weights in {WEIGHTS}")


def examples() -> list[Example]:
    """Every labelled sentence to learn from."""
    rows = labels("sentences", aside=False)
    ours = [json.loads(line) for line in (HERE / "hedging_labels.jsonl").read_text().splitlines()]
    own = [json.loads(line) for line in (HERE / "hedging_sentences.jsonl").read_text().splitlines()]
    said = texts((row["session"], row["message_id"]) for row in rows + ours)
    found = [Example("", row["sentence"], row["uncertain"], _OWN) for row in own]
    for row in rows:
        weight = _SURE if row["sure"] else _UNSURE
        for text in said.get(row["message_id"], []):
            for sentence in sentences(text):
                if sentence.text in row["sentence"] or row["sentence"] in sentence.text:
                    found.append(Example(row["session"], sentence.text, row["uncertain"], weight))
    for row in ours:
        for text in said.get(row["message_id"], []):
            for sentence in sentences(text):
                if hashlib.sha256(sentence.text.encode()).hexdigest()[:16] == row["sha256_16"]:
                    found.append(Example(row["session"], sentence.text, row["uncertain"], _OURS))
    return found


def texts(messages: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The text blocks of the messages asked for, by message id."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for session, message in messages:
        wanted[session].add(message)
    found: dict[str, list[str]] = {}
    for path in sorted((SHARED / "traces" / "claude-code").rglob("*.jsonl")):
        if path.stem not in wanted:
            continue
        for line in path.read_text(errors="replace").splitlines():
            if '"assistant"' not in line:
                continue
            record = json.loads(line)
            if record.get("uuid") in wanted[path.stem]:
                content = record["message"]["content"]
                found[record["uuid"]] = [block["text"] for block in content if block.get("type") == "text"]
    return found


def fit(data: list[Example]) -> HedgingWeights:
    """Weights that fit the examples, averaged over a few orders of reading them."""
    assert not any(is_aside(example.session) for example in data if example.session)
    read = [([names for _, names in features(e.sentence)], e.uncertain, e.weight) for e in data]
    read = [example for example in read if example[0]]
    seen = Counter(name for cues, _, _ in read for name in {name for names in cues for name in names})
    read = [([[name for name in names if seen[name] > 1] for names in cues], y, w) for cues, y, w in read]
    total: dict[str, float] = defaultdict(float)
    for seed in range(_SEEDS):
        for name, value in _descend(read, random.Random(seed)).items():
            total[name] += value / _SEEDS
    bias = total.pop("")
    return HedgingWeights(round(bias, 3), {name: round(v, 3) for name, v in sorted(total.items()) if abs(v) >= 0.005})


def _descend(data: list[tuple[list[list[str]], bool, float]], draw: random.Random) -> dict[str, float]:
    """AdaGrad on the strongest cue of each example; the mean of the last rounds. The bias is called ""."""
    weights: dict[str, float] = defaultdict(float)
    squares: dict[str, float] = defaultdict(lambda: 0.01)
    mean: dict[str, float] = defaultdict(float)
    order = list(data)
    for epoch in range(_EPOCHS):
        draw.shuffle(order)
        for cues, uncertain, weight in order:
            names = max(cues, key=lambda names: sum(weights[name] for name in names))
            score = weights[""] + sum(weights[name] for name in names)
            error = weight * (1 / (1 + math.exp(-max(-30.0, min(30.0, score)))) - uncertain)
            for name in ["", *names]:
                slope = error + (_L2 * weights[name] if name else 0.0)
                squares[name] += slope * slope
                weights[name] -= _RATE * slope / math.sqrt(squares[name])
        if epoch >= _EPOCHS - _AVERAGED:
            for name, value in weights.items():
                mean[name] += value / _AVERAGED
    return mean


if __name__ == "__main__":
    main()
