"""Learns the weights of the embedded hedging judge: `python -m bench.train_hedging` writes them into the package.

Labelled sentences of three kinds: the hand labels of the shared traces, further sentences of the same traces (kept
here as ids and hashes, their text stays in the traces; `by` says whose labels, `drawn` what the judge of that day did
with the sentence), and sentences of our own (`written`: by somebody who had not seen the code; only measured). A
sentence counts as doubt when one of its cues does, so only its strongest cue learns (a logistic regression on the
maximum). Nothing that is kept aside is learnt from.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from bench.labels import SHARED, is_aside, labels
from bench.measuring import rows
from knowbound.core.trace import Start, Step
from knowbound.gaps.signals import hedging_candidates
from knowbound.judge.hedging.rules import HedgingWeights, features, text_after
from knowbound.judge.hedging.verdict import HedgingCandidate
from knowbound.traces.registry import recognise
from knowbound.traces.source import Tally, read_head

HERE = Path(__file__).parent
TRACES = SHARED / "traces"
WEIGHTS = HERE.parent / "src" / "knowbound" / "judge" / "hedging" / "hedging_rules.json"

# Chosen by cross-validation by project and by session. The penalty is the same for a rare feature and for a common
# one, so what was seen three times hardly weighs.
_L2, _ROUNDS, _SEEN = 1.5, 250, 3
# How much a label counts, by who gave it. Half of our own sentences are doubt, of real candidates a third.
_SURE, _UNSURE, _OURS, _OWN = 1.0, 0.5, 0.8, 0.5


class Example(NamedTuple):
    """A labelled sentence as the net sees it: no candidate where it lets the sentence pass."""

    source: str  # whose label: shared, reader, ours, own, written
    session: str  # "" for our own
    project: str
    candidates: tuple[HedgingCandidate, ...]
    uncertain: bool
    weight: float
    aside: bool
    drawn: str = ""


class Text(NamedTuple):
    """A text of an agent and the folder of its trace."""

    text: str
    project: str


def main() -> None:
    weights = fit(examples())
    WEIGHTS.write_bytes(msgspec.json.format(msgspec.json.encode(weights, order="sorted"), indent=1) + b"\n")
    print(f"{len(weights.features)} weights in {WEIGHTS}")


def examples() -> list[Example]:
    shared = [{**row, "by": "shared"} for row in labels("sentences")]
    labelled = shared + rows(HERE / "hedging_labels.jsonl")
    said = texts((row["session"], row["message_id"]) for row in labelled)
    found = [_own(row) for row in rows(HERE / "hedging_sentences.jsonl")]
    for row in labelled:
        found.append(_example(row, said[row["session"], row["message_id"]]))
    return found


def texts(messages: Iterable[tuple[str, str]]) -> dict[tuple[str, str], list[Text]]:
    """The texts of the messages asked for, by session and message id, of every agent in the traces."""
    wanted: dict[str, set[str]] = defaultdict(set)
    for session, message in messages:
        wanted[session].add(message)
    found: dict[tuple[str, str], list[Text]] = defaultdict(list)
    for path in sorted(path for path in TRACES.rglob("*") if path.is_file()):
        known = recognise(read_head(path))
        if known is None:
            continue
        reader, identity = known
        place = path.relative_to(TRACES)
        session = identity.session or str(place)
        for event in reader.read([path], {}, Tally()):
            if isinstance(event, Start):
                session = event.session or session
            elif isinstance(event, Step):
                for said in event.said:
                    if said.message_id in wanted[session]:
                        found[session, said.message_id].append(Text(said.text, str(place.parent)))
    return found


def fit(data: Iterable[Example]) -> HedgingWeights:
    """Weights that fit the examples, those kept aside left out."""
    read = [
        ([names for _, names in features(one.sentence, text_after(one))], example.uncertain, example.weight)
        for example in data
        if not example.aside
        for one in example.candidates
    ]
    seen = Counter(name for cues, _, _ in read for name in {name for names in cues for name in names})
    names = sorted(name for name, count in seen.items() if count >= _SEEN)
    index = {name: at for at, name in enumerate(names)}
    values, bias = _descend(
        [([[index[name] for name in cue if name in index] for cue in cues], y, w) for cues, y, w in read], len(names)
    )
    kept = {name: round(value, 2) for name, value in zip(names, values, strict=True) if abs(value) >= 0.02}
    return HedgingWeights(round(bias, 2), kept)


def _descend(data: list[tuple[list[list[int]], bool, float]], count: int) -> tuple[list[float], float]:
    """The weights and the bias, by gradient descent (Adam) on the strongest cue of each example."""
    cues = [cue for of_example, _, _ in data for cue in of_example]
    row = np.array([at for at, cue in enumerate(cues) for _ in cue])
    column = np.array([name for cue in cues for name in cue])
    start = np.cumsum([0] + [len(of_example) for of_example, _, _ in data[:-1]])
    doubt, weight = np.array([float(y) for _, y, _ in data]), np.array([w for _, _, w in data])
    learnt, mean, square = np.zeros(count + 1), np.zeros(count + 1), np.zeros(count + 1)
    for step in range(1, _ROUNDS + 1):
        scores = np.bincount(row, learnt[column], minlength=len(cues)) + learnt[count]
        strongest = np.array(
            [at + int(scores[at:end].argmax()) for at, end in zip(start, [*start[1:], len(cues)], strict=True)]
        )
        error = weight * (1 / (1 + np.exp(-scores[strongest])) - doubt)
        of_cue = np.zeros(len(cues))
        of_cue[strongest] = error
        slope = np.bincount(column, of_cue[row], minlength=count) + _L2 * learnt[:count]
        slope = np.append(slope, error.sum())
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope * slope
        rate = 0.1 if step < 0.6 * _ROUNDS else 0.03
        learnt -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return learnt[:count].tolist(), float(learnt[count])


def _example(row: dict[str, Any], said: list[Text]) -> Example:
    found = tuple(one for text, _ in said for one in hedging_candidates(text) if _is_meant(row, one.sentence))
    source = row.get("by", "ours")
    weight = _OURS if source == "ours" else _SURE if row.get("sure", True) else _UNSURE
    aside = is_aside(row["session"])
    project = said[0].project  # an index error: the message is not in the traces
    return Example(source, row["session"], project, found, row["uncertain"], weight, aside, row.get("drawn", ""))


def _is_meant(row: dict[str, Any], sentence: str) -> bool:
    if "sha256_16" in row:
        return hashlib.sha256(sentence.encode()).hexdigest().startswith(row["sha256_16"])
    return sentence in row["sentence"] or row["sentence"] in sentence


def _own(row: dict[str, Any]) -> Example:
    found = tuple(
        HedgingCandidate(one.sentence, f"{one.context} {row.get('after', '')}")
        for one in hedging_candidates(row["sentence"])
    )
    return Example(row.get("by", "own"), "", "", found, row["uncertain"], _OWN, row.get("aside", False))


if __name__ == "__main__":
    main()
