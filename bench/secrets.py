"""How many kinds of secrets are redacted in how many places, how many look-alikes are flagged, and what it costs.

    python -m bench.secrets

The kinds and the look-alikes were written by somebody who had not seen the rules. One half of them was developed on,
the other half is kept aside and only counted. Beside it stands the rule that most tools begin with. The rules of commit
36256d7 caught 39% of developed-on (1,129 of 2,886) and 40% of kept-aside secrets (1,123 of 2,823).
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import NamedTuple
from unittest.mock import patch

from bench.corpus import TRACES
from bench.measuring import HALVES, rows
from bench.secret_kinds import ASIDE, PLACES, occurrences, pieces
from knowbound.core.trace import Start
from knowbound.gaps import lens
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import findings_of
from knowbound.stats.rate import Rate
from knowbound.text.redact import redact
from knowbound.traces.registry import recognise
from knowbound.traces.source import Tally, read_head

LOOK_ALIKES = Path(__file__).with_name("secret_look_alikes.jsonl")
DEMO = Path(lens.__file__).parents[1] / "demo" / "traces"
MOST = 40_000_000  # bytes
SEEDS = (1, 2, 3)
_GENERIC = re.compile(r"(?i)(key|token|secret|password)\s*[:=]\s*\S+")
SHORT = (
    "revenue_schema",
    "src/app/models/user_profile.py",
    "I could not find where the retry budget is enforced, so I assume it is in the gateway.",
    "Why was my refund retried twice? The ledger shows two entries for order 18823.",
    "No matches found",
    "grep -rn 'def handle_event' src/ --include=*.py | head -20",
)
Redact = Callable[[str], str]


class Caught(NamedTuple):
    """Of the secrets in each place, how many are gone; and of the kinds, how many are gone in every place."""

    places: dict[str, Rate]
    whole: Rate
    kinds: Rate
    again: int  # texts that redacting once more changes


def caught(by: Redact, *, aside: bool) -> Caught:
    places = dict.fromkeys(PLACES, Rate(0, 0))
    kinds: dict[str, bool] = {}
    again = 0
    for seed in SEEDS:
        for kind, place, text, secret in occurrences(seed):
            if (kind in ASIDE) != aside:
                continue
            shown = by(text)
            is_gone = not any(piece in shown for piece in pieces(secret))
            places[place] += Rate(int(is_gone), 1)
            kinds[kind] = kinds.get(kind, True) and is_gone
            again += by(shown) != shown
    whole = sum(places.values(), Rate(0, 0))
    return Caught(places, whole, Rate(sum(kinds.values()), len(kinds)), again)


def flagged(by: Redact, *, aside: bool) -> Rate:
    """Of the look-alikes of one half, how many are changed."""
    texts = [row["text"] for row in rows(LOOK_ALIKES) if row["aside"] == aside]
    return Rate(sum(by(text) != text for text in texts), len(texts))


def generic(text: str) -> str:
    """The rule that most tools begin with."""
    return _GENERIC.sub("[redacted]", text)


def microseconds(rounds: int = 2000) -> float:
    """For one short text without a secret; the best of five."""
    times = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(rounds):
            for text in SHORT:
                redact(text)
        times.append((time.perf_counter() - began) / rounds / len(SHORT))
    return min(times) * 1e6


def share_of_observe(pairs: int = 7) -> float:
    """The share of the time of reading sessions that redaction takes: with and without it in turns, in one process."""
    paths = sessions()
    _seconds(paths)  # what is read once is read from memory afterwards
    shares = []
    for _ in range(pairs):
        with_it = _seconds(paths)
        with patch.multiple(lens, redact=str, excerpt=_start, excerpt_of_end=_end):
            without = _seconds(paths)
        shares.append(1 - without / with_it)
    return median(shares)


def sessions() -> list[Path]:
    """Real transcripts where they are at hand, at most 40 MB; else those that come with knowbound."""
    folder = TRACES if TRACES.is_dir() else DEMO
    found, left = [], MOST
    for path in sorted(folder.rglob("*.jsonl")):
        left -= path.stat().st_size
        if left < 0:
            break
        found.append(path)
    return found


def _seconds(paths: list[Path]) -> float:
    began = time.process_time()
    for path in paths:
        known = recognise(read_head(path))
        if known is not None:
            reader, identity = known
            start = Start(identity.session or path.stem, reader.name)
            findings_of(reader.read([path], {}, Tally()), start, [str(path)], LensSettings())
    return time.process_time() - began


def _start(text: str, most: int) -> str:
    return text[:most]


def _end(text: str, most: int) -> str:
    return text[-most:]


def report() -> None:
    print("\nSecrets (aim: 95% caught in every place, no look-alike flagged, at most 5% of observe's time)")
    for name, aside in HALVES:
        ours, plain = caught(redact, aside=aside), caught(generic, aside=aside)
        print(f"  {name}: caught {ours.whole}; kinds caught in every place and time {ours.kinds}")
        for place, rate in ours.places.items():
            print(f"    {place:12} {rate}   key=value alone {plain.places[place]}")
        print(f"    key=value alone {plain.whole}")
        print(
            f"    look-alikes flagged {flagged(redact, aside=aside)}; key=value alone {flagged(generic, aside=aside)}"
        )
        print(f"    texts that redacting again changes: {ours.again}")
    where = "real transcripts" if TRACES.is_dir() else "the transcripts that come with knowbound"
    print(f"  {microseconds():.1f} microseconds for a short text; {share_of_observe():.1%} of reading {where}")


if __name__ == "__main__":
    report()
