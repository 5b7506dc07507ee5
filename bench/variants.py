"""Whether the verdict on two variants keeps its word: on simulated agents whose true difference is known.

    python -m bench.variants [--tries 2000]

Each simulated agent answers a sample with a chance of the sample's own, so samples are hard or easy for both. Three
questions: how often do two equal agents get a verdict (at most 5%); does the number of samples that is promised for a
true difference find it in 4 of 5 cases; and what becomes of both where a user adds the samples that a first run of 31
asked for, and looks again.
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Sequence

from knowbound.stats.comparison import answered_pairs
from knowbound.stats.evaluation import AssertionGrade, Evaluation, Grade, SampleRun
from knowbound.stats.figures import Coverage, GapFigures, Watermark
from knowbound.stats.paired import Pairs, pairs_needed
from knowbound.stats.rate import Mean, Rate, Weighted

_PASSED, _FAILED = (Grade(assertions=(AssertionGrade("contains", passed=passed),)) for passed in (True, False))
_FIRST = 31  # samples of a first look
_MOST = 400  # that a user would add
_NO_GAP = GapFigures(Rate(), Weighted(), Rate(), Rate(), {}, {})


def chances(draw: random.Random, samples: int, effect: float, spread: float) -> list[tuple[float, float]]:
    """The chance of both agents to answer each sample; on average they differ by the effect."""
    found = []
    for _ in range(samples):
        base = 0.1 + (0.8 - effect) * (draw.random() if spread else 0.5)
        found.append((base, base + effect))
    return found


def paired(answered: Sequence[tuple[bool, bool]]) -> Pairs:
    """The pairs that the verdict of `eval` rests on."""
    sides = [
        [SampleRun(str(number), grade=_PASSED if pair[side] else _FAILED) for number, pair in enumerate(answered)]
        for side in (0, 1)
    ]
    return answered_pairs(*(_evaluation(runs) for runs in sides))


def _evaluation(runs: list[SampleRun]) -> Evaluation:
    return Evaluation(
        made="", watermark=Watermark("simulated", len(runs), "0" * 8), sha256="0", executor="simulated",
        gap=_NO_GAP, coverage=Coverage(Rate(), []), composite=Mean(), runs=runs, samples=len(runs),
    )  # fmt: skip


def drawn(draw: random.Random, several: Sequence[tuple[float, float]]) -> list[tuple[bool, bool]]:
    """What both agents answer."""
    return [(draw.random() < one, draw.random() < other) for one, other in several]


def _is_better(pairs: Pairs) -> bool:
    return bool(pairs.settled) and pairs.rise < 0


def main() -> None:
    """Print the shares of verdicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=2000)
    tries = parser.parse_args().tries
    draw = random.Random(40)
    print("two equal agents: verdicts (at most 5%)")
    for samples in (10, 31, 100, 300):
        for spread in (0.0, 1.0):
            many = tries if samples <= 31 else tries // 4
            wrong = sum(bool(paired(drawn(draw, chances(draw, samples, 0.0, spread))).settled) for _ in range(many))
            print(f"  {samples:3} samples, {'samples alike' if not spread else 'hard and easy'}: {wrong / many:.1%}")
    print("a true difference, with the number of samples that is promised: found (80%)")
    for effect in (0.15, 0.25, 0.4, 0.6):
        one = [(0.5 - effect / 2, 0.5 + effect / 2)]
        changed = one[0][0] * (1 - one[0][1]) + one[0][1] * (1 - one[0][0])
        samples = math.ceil(pairs_needed(changed, effect))
        many = tries if samples <= 31 else tries // 4
        found = sum(map(_is_better, (paired(drawn(draw, one * samples)) for _ in range(many))))
        print(f"  {effect:.0%} more: {samples} samples, found {found / many:.1%}")
    print(f"a first look at {_FIRST}, then with the samples that it asks for ({_MOST} at most)")
    for effect in (0.0, 0.15, 0.25, 0.4):
        pair = (0.5 - effect / 2, 0.5 + effect / 2)
        first = second = fresh = 0
        asked: list[int] = []
        for _ in range(tries // 4):
            answered = drawn(draw, [pair] * _FIRST)
            now = paired(answered)
            if now.settled:
                first += 1
                continue
            more = min(now.more or _MOST, _MOST)
            asked.append(more)
            added = drawn(draw, [pair] * more)
            second += bool(paired([*answered, *added]).settled)
            fresh += bool(paired(added).settled)
        of = tries // 4
        middle = sorted(asked)[len(asked) // 2] if asked else 0
        print(
            f"  {effect:.0%} more: a verdict at once {first / of:.1%}; in all, with {middle} more in the middle, "
            f"{(first + second) / of:.1%}; by the added samples alone {(first + fresh) / of:.1%}"
        )


if __name__ == "__main__":
    main()
