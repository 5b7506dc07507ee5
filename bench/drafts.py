"""Samples that a model drafts over documents of other projects: `python -m bench.drafts TREES JUDGE COUNT [FILE]`.

Prints how many were proposed and dropped in each tree, and why; FILE gets a line per draft with the section that it is
drafted from, for a reader who decides whether it is usable. Trees and drafts are not part of this repository.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from knowbound.config import load
from knowbound.evals.questions.draft_sources import drafts_of
from knowbound.evals.questions.drafts import Drafts
from knowbound.judge.registry import asker_for

_AROUND = 12  # lines before and after a quotation


def drafted(tree: Path, judge: str, count: int) -> Drafts:
    """What `draft --model` proposes for a tree without any run."""
    with tempfile.TemporaryDirectory() as folder:
        settings = load(tree, environ={"KNOWBOUND_HOME": folder})
        settings = dataclasses.replace(settings, model_budget_calls=10**6, model_keep_days=0)
        return drafts_of(settings, None, asker_for(settings, judge), count)


def main(arguments: Sequence[str]) -> None:
    """Draft over every tree."""
    trees, judge, count = Path(arguments[0]), arguments[1], int(arguments[2])
    lines, proposed, dropped = list[bytes](), 0, 0
    for tree in sorted(path for path in trees.iterdir() if path.is_dir()):
        found = drafted(tree, judge, count)
        proposed, dropped = proposed + len(found.drafts), dropped + len(found.dropped)
        print(f"{tree.name}: {len(found.drafts)} proposed, {len(found.dropped)} not")
        for left in found.dropped:
            print(f"  {left.prompt}: {left.reason}")
        for one in found.drafts:
            path, line = str(one.metadata["path"]), int(str(one.metadata["at"]))
            text = (tree / path).read_text("utf-8").split("\n")
            about = {
                "id": f"{tree.name}-{one.id}",
                "question": one.prompt,
                "answer": one.metadata["expected"],
                "checked_for": one.mentions,
                "quotation": one.metadata["quote"],
                "path": f"{tree.name}/{path}",
                "section": "\n".join(text[max(0, line - _AROUND) : line + _AROUND]),
            }
            lines.append(msgspec.json.encode(about))
    print(f"in all: {proposed} proposed, {dropped} not")
    if len(arguments) > 3:
        Path(arguments[3]).write_bytes(b"".join(line + b"\n" for line in lines))


if __name__ == "__main__":
    main(sys.argv[1:])
