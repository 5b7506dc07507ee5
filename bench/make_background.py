"""Makes `src/knowbound/text/specific_data/background.txt`: how many paragraphs about software have a word.

    python -m bench.make_background PARAGRAPHS.jsonl [-o FILE]      a minute

PARAGRAPHS.jsonl has a paragraph a line, `{"repo": …, "text": …}`: of the Markdown and reStructuredText files of public
repositories, without code blocks, tables and change logs, 6 to 120 words each, at most 25 of a file and 900 of a
repository, chosen by the hash of their text. The shipped table was counted over 76,852 paragraphs of 157 repositories;
any other such collection gives nearly the same. A term is kept that is in at least 5 repositories and 12 paragraphs, so
no project's own words are in it. Shares are rounded to steps of a quarter: a line for each step.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import Counter, defaultdict
from pathlib import Path

from knowbound.text.specific_words import all_terms

SHIPPED = Path(__file__).resolve().parents[1] / "src/knowbound/text/specific_data/background.txt"
_REPOSITORIES, _PARAGRAPHS = 5, 12
_STEP = 1.25


def counted(lines: list[str]) -> str:
    having: Counter[str] = Counter()
    where: defaultdict[str, set[str]] = defaultdict(set)
    for line in lines:
        paragraph = json.loads(line)
        for term in all_terms(paragraph["text"]):
            having[term] += 1
            where[term].add(paragraph["repo"])
    steps: defaultdict[int, list[str]] = defaultdict(list)
    for term, count in having.items():
        if count >= _PARAGRAPHS and len(where[term]) >= _REPOSITORIES and term.isascii():
            steps[round(math.log(count / len(lines), _STEP))].append(term)
    return "".join(f"{_STEP**step:.5f} {' '.join(sorted(steps[step]))}\n" for step in sorted(steps, reverse=True))


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.make_background")
    parser.add_argument("paragraphs", type=Path)
    parser.add_argument("-o", "--output", type=Path, default=SHIPPED)
    given = parser.parse_args()
    given.output.write_text(counted(given.paragraphs.read_text("utf-8").splitlines()), "utf-8")


if __name__ == "__main__":
    main()
