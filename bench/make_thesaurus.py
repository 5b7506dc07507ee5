"""Makes `src/knowbound/text/thesaurus_data/terms.txt` of the lines beside it, which are written by hand.

    python -m bench.make_thesaurus [-o FILE]

`knowbound/text/thesaurus.py` says what the lines mean. A term has at most eight words or ideographs; a longer one, and
a term that is a single stop word, is an error.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from itertools import combinations, product
from pathlib import Path

from knowbound.text.stop_words import SEARCH_STOP_WORDS
from knowbound.text.thesaurus import LINKS, stems_of

FOLDER = Path(__file__).resolve().parents[1] / "src/knowbound/text/thesaurus_data"
SHIPPED = FOLDER / "terms.txt"
_IDEOGRAPHS = re.compile("[\u4e00-\u9fff]{2,8}")
_MOST_WORDS = 8


def made() -> str:
    links: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for path in sorted(FOLDER.glob("*.txt")):
        if path == SHIPPED:
            continue
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
            try:
                kind, pairs = _linked(line)
            except ValueError as error:
                raise SystemExit(f"{path.name}:{number}: {error}") from error
            for one, other in pairs:
                for term, to in ((one, other), (other, one)):
                    if one != other and LINKS[links[term].get(to, kind)] <= LINKS[kind]:
                        links[term][to] = kind
    terms = sorted(links)
    numbers = {term: number for number, term in enumerate(terms)}
    lines = (" ".join(f"{kind}{numbers[to]}" for to, kind in sorted(links[term].items())) for term in terms)
    return "\n".join(terms) + "\n\n" + "\n".join(lines)


def _linked(line: str) -> tuple[str, list[tuple[str, str]]]:
    """The kind of a line, and the pairs of terms that it links."""
    kind, rest = line[:1], line[1:]
    if kind not in LINKS:
        raise ValueError(f"a line begins with one of {' '.join(LINKS)}")
    english, _, chinese = rest.partition("|")
    if kind == "=":
        return kind, list(combinations(dict.fromkeys(_terms(english) + _terms(chinese)), 2))
    left, _, right = english.partition(":")
    chinese_left, colon, chinese_right = chinese.partition(":")
    if not colon:
        chinese_left, chinese_right = "", chinese
    return kind, list(product(_terms(left) + _terms(chinese_left), _terms(right) + _terms(chinese_right)))


def _terms(listed: str) -> list[str]:
    return [_term(term.strip()) for term in listed.split(",") if term.strip()]


def _term(written: str) -> str:
    if _IDEOGRAPHS.fullmatch(written):
        return written
    words = stems_of(written)
    if not words or len(words) > _MOST_WORDS:
        raise ValueError(f"{written!r} has no word, or more than {_MOST_WORDS}")
    if len(words) == 1 and written.lower() in SEARCH_STOP_WORDS:
        raise ValueError(f"{written!r} alone says nothing")
    return " ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.make_thesaurus")
    parser.add_argument("-o", "--output", type=Path, default=SHIPPED)
    given = parser.parse_args()
    given.output.write_text(made(), "utf-8")


if __name__ == "__main__":
    main()
