"""How long a test set takes: 200 samples with the built-in executor, as a user runs them, and what we add to an agent.

    python -m bench.evaluation [--samples 200] [--files 200]

The knowledge base is written anew: documents of a few sections each, every second sample asks for something that is
not there. A command that does next to nothing shows what we add to an agent's own time; the same command started by
itself stands beside it.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from bench.measuring import options

KNOWBOUND = Path(sys.executable).parent / "knowbound"
TARGET_SECONDS = 20.0  # for 200 samples with the built-in executor
_THINGS = "ledger voucher parcel invoice tariff rota carrier label refund ticket mailbox cursor tenant bucket".split()
_DEEDS = "created checked archived signed renewed split merged exported locked counted".split()
_PLACES = "night batch, front desk, review board, staging area, harbour office, second shift".split(", ")


def knowledge_base(folder: Path, files: int, samples: int) -> None:
    """Documents, and a test set of which one half is told in them."""
    draw = random.Random(5)
    told: list[tuple[str, str, int]] = []
    for number in range(files):
        thing = f"{draw.choice(_THINGS)} {number}"
        sections = [f"# The {thing}\n\nIt belongs to the {draw.choice(_PLACES)}.\n"]
        for deed in draw.sample(_DEEDS, 5):
            hours = draw.randrange(2, 90)
            told.append((thing, deed, hours))
            filler = " ".join(draw.choice(_THINGS + _DEEDS) for _ in range(40))
            sections.append(f"## How it is {deed}\n\nThe {thing} is {deed} every {hours} hours. {filler}.\n")
        path = folder / "docs" / f"{thing.replace(' ', '-')}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(sections), "utf-8")
    rows = []
    for number in range(samples):
        thing, deed, hours = draw.choice(told)
        absent = number % 2
        prompt = f"How often is the {'customs form' if absent else thing} {deed}?"
        wanted = {"type": "contains", "value": f"{hours} hours"}
        rows.append({"sample_id": f"s{number:03d}", "prompt": prompt, "assertions": [] if absent else [wanted]})
    (folder / "eval-samples.json").write_text(json.dumps(rows), "utf-8")


def seconds(command: Sequence[str | Path], folder: Path) -> tuple[float, str]:
    """The wall time of a command, and what it printed."""
    began = time.perf_counter()
    ran = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=True)
    return time.perf_counter() - began, ran.stdout


def report(samples: int = 200, files: int = 200) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        knowledge_base(folder, files, samples)
        seconds((KNOWBOUND, "eval", "--validate"), folder)  # files read once, bytecode made
        built_in, document = seconds((KNOWBOUND, "eval", "--format", "json"), folder)
        rate = json.loads(document)["gap"]["rate"]
        command, _ = seconds((KNOWBOUND, "eval", "--executor", "command:echo known", "--format", "json"), folder)
        began = time.perf_counter()
        for _ in range(samples):
            subprocess.run(("echo", "known"), capture_output=True, check=True)
        bare = time.perf_counter() - began
    print(f"\nEvaluation of {samples} samples over {files} documents")
    each, added = 1000 * built_in / samples, 1000 * command / samples
    print(f"  built-in executor   {built_in:6.2f} s = {each:.0f} ms a sample (aim {TARGET_SECONDS:g} s)")
    print(f"  gap rate            {rate['k']} of {rate['n']}; {samples // 2} samples ask for what is not there")
    print(f"  a command           {command:6.2f} s = {added:.0f} ms a sample, {command / bare:.1f} × bare starts")


if __name__ == "__main__":
    given = options(__doc__, samples=200, files=200)
    report(given.samples, given.files)
