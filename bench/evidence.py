"""How honest and how good `investigate` is: questions with gold files, answerable and not, against two plain greps.

    python -m bench.evidence            every table
    python -m bench.evidence --wrong    and each question that went wrong (never those kept aside)
    python -m bench.evidence --no-speed

The packages come from their registries (pip download, npm pack) at the version the questions name, into
~/.cache/knowbound-bench. A third of the shared questions is kept aside by the hash of its id.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.labels import SHARED
from bench.measuring import hashed, options, seconds
from knowbound.codebase import tree_search
from knowbound.core.paths import source_rank
from knowbound.evidence.investigate import investigate
from knowbound.files import rg
from knowbound.stats.rate import Rate

CACHE = Path.home() / ".cache" / "knowbound-bench"
OWN = Path(__file__).parent / "evidence_questions.json"
_SPEED_PACKAGE = ("pypi", "django", "5.2.8")  # a tree of at least 2,500 files
_SPEED_QUESTIONS = (
    "Where is SessionMiddleware defined?",
    "Who calls get_resolver?",
    "Where is the manifest static files storage?",
    "Where is the upload quota enforced?",
    "Explain how the cached loader finds a template.",
    "Compare QuerySet and RawQuerySet.",
    "Open dateparse.py.",
    "Which class stores messages in a cookie?",
)
_PLAIN_WORD = re.compile(r"[A-Za-z_][\w.$-]*")
_STOP = frozenset(
    "where is the a an who what which how does do in of for to me i we it here there and or if so file files "
    "module class function find open review explain compare use uses used calls call read defined are be this "
    "that with by at on".split()
)


class Asked(NamedTuple):
    id: str
    registry: str
    package: str
    version: str
    question: str
    intent: str
    answerable: bool
    gold: tuple[str, ...]
    kind: str


class Answered(NamedTuple):
    success: bool
    files: tuple[str, ...]
    intent: str = ""


class Measured(NamedTuple):
    """Shares, k of n: both halves count."""

    refused: Rate  # unanswerable → insufficient_evidence
    answered: Rate  # answerable → success
    first: Rate  # answerable → a gold file is the first source
    three: Rate  # answerable → a gold file is in the first three
    intent: Rate
    wrong: list[str]


def questions(path: Path, *, aside: bool | None = None) -> list[Asked]:
    """The questions of a file: all, those kept aside, or those to develop on."""
    rows = [
        Asked(
            row["id"], row["registry"], row["package"], row["version"], row["question"], row["intent"],
            row["answerable"], tuple(row["gold_files"]), row["kind"],
        )
        for row in json.loads(path.read_text("utf-8"))
    ]  # fmt: skip
    return [row for row in rows if aside is None or (hashed(row.id, 3) == 0) == aside]


def source_of(registry: str, package: str, version: str) -> Path:
    folder = CACHE / "src" / f"{package.replace('/', '-').lstrip('@')}-{version}"
    if folder.is_dir():
        return folder
    fetched = CACHE / "dl" / folder.name
    fetched.mkdir(parents=True, exist_ok=True)
    if registry == "pypi":
        command = [sys.executable if _has_pip() else "python3", "-m", "pip", "download", "--quiet", "--no-deps",
                   "--no-binary", package, "--dest", str(fetched), f"{package}=={version}"]  # fmt: skip
    else:
        command = ["npm", "pack", "--silent", "--pack-destination", str(fetched), f"{package}@{version}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=fetched)
    archive = next(path for path in fetched.iterdir() if path.name.endswith((".tar.gz", ".tgz")))
    unpacked = folder.with_name(folder.name + ".part")
    shutil.rmtree(unpacked, ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extractall(unpacked, filter="data")
    (inner,) = unpacked.iterdir()
    inner.rename(folder)
    unpacked.rmdir()
    return folder


def _has_pip() -> bool:
    return subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0


def ours(asked: Asked, root: Path) -> Answered:
    found = investigate(asked.question, root)
    return Answered(found.outcome == "success", tuple(source.path for source in found.sources), found.intent)


def token_grep(asked: Asked, root: Path) -> Answered:
    """The baseline that the specification starts from: any word of the question anywhere is a success."""
    words = [word for word in _PLAIN_WORD.findall(asked.question) if word.lower() not in _STOP and len(word) > 2]
    return _grepped(root, [re.escape(word) for word in words])


def phrase_grep(asked: Asked, root: Path) -> Answered:
    """What is left of the question without its small words, each run of words as one phrase, spaces only."""
    runs: list[list[str]] = [[]]
    for word in _PLAIN_WORD.findall(asked.question):
        if word.lower() in _STOP:
            runs.append([])
        else:
            runs[-1].append(word)
    return _grepped(root, [r"\s+".join(re.escape(word) for word in run) for run in runs if run])


def _grepped(root: Path, patterns: Sequence[str]) -> Answered:
    """Files with the most matches first, tests and docs last."""
    if not patterns:
        return Answered(False, ())
    arguments = ["--count-matches", "--ignore-case", "--null"]
    for pattern in patterns:
        arguments += ["-e", pattern]
    out = rg(root, [*arguments, "--", "./"], 60).out
    counts = [(path.decode("utf-8", "replace").removeprefix("./"), int(count))
              for path, count in re.findall(rb"(?:^|\n)([^\0\n]*)\0(\d+)", out)]  # fmt: skip
    counts.sort(key=lambda one: (source_rank(one[0]), -one[1], one[0]))
    return Answered(bool(counts), tuple(path for path, _ in counts))


def measure(rows: Iterable[Asked], answer: Callable[[Asked, Path], Answered] = ours) -> Measured:
    refused = answered = first = three = right = answerable = unanswerable = 0
    wrong = []
    for asked in rows:
        said = answer(asked, source_of(asked.registry, asked.package, asked.version))
        right += said.intent == asked.intent
        if not asked.answerable:
            unanswerable += 1
            refused += not said.success
            if said.success:
                wrong.append(f"{asked.id} {asked.package}: {asked.question} → {', '.join(said.files[:3])}")
            continue
        answerable += 1
        answered += said.success
        is_first = said.success and said.files[:1] != () and said.files[0] in asked.gold
        first += is_first
        three += said.success and any(path in asked.gold for path in said.files[:3])
        if not is_first:
            what = ", ".join(said.files[:3]) if said.success else "insufficient_evidence"
            wrong.append(f"{asked.id} {asked.package}: {asked.question} → {what} (gold: {', '.join(asked.gold)})")
    total = answerable + unanswerable
    return Measured(
        Rate(refused, unanswerable), Rate(answered, answerable), Rate(first, answerable), Rate(three, answerable),
        Rate(right, total), wrong,
    )  # fmt: skip


class Speed(NamedTuple):
    """Seconds on one tree, in a running process."""

    files: int
    ripgrep: float  # one pass for one word
    each: dict[str, tuple[float, float]]  # nothing known of the tree, and asked again


def measure_speed() -> Speed:
    """Time of each question against one ripgrep pass over the same tree, best of three each."""
    root = source_of(*_SPEED_PACKAGE)
    files = len([path for path in rg(root, ["--files"], 60).out.splitlines() if path])
    ripgrep = _best(lambda: rg(root, ["--count", "-e", "session_middleware", "--", "./"], 60))
    each = {}
    for question in _SPEED_QUESTIONS:
        tree_search._passages.cache_clear()
        cold = seconds(partial(investigate, question, root))
        each[question] = cold, _best(partial(investigate, question, root))
    return Speed(files, ripgrep, each)


def _best(work: Callable[[], object]) -> float:
    return min(seconds(work) for _ in range(3))


def report(*, wrong: bool = False, speed: bool = True) -> None:
    shared = SHARED / "evidence" / "questions.json"
    sets = []
    if shared.exists():
        sets += [("developed on", questions(shared, aside=False)), ("kept aside", questions(shared, aside=True))]
    sets.append(("our own fifty", questions(OWN)))
    print("Evidence (aim: refused 98%, answered 93%, gold first 80%, in three 93%)")
    for name, rows in sets:
        for tool, answer in (("investigate", ours), ("token grep", token_grep), ("phrase grep", phrase_grep)):
            found = measure(rows, answer)
            print(f"  {name:14} {tool:12} refused {found.refused}   answered {found.answered}")
            print(f"  {'':27} gold first {found.first}   in three {found.three}")
            if answer is ours:
                print(f"  {'':27} intent as labelled {found.intent}")
            for line in found.wrong if wrong and answer is ours and name != "kept aside" else ():
                print(f"      wrong: {line}")
    if speed:
        _print_speed(measure_speed())


def _print_speed(speed: Speed) -> None:
    aim = "aim: 10 ripgrep passes cold, 5 again"
    print(f"Time on {speed.files} files ({aim}): one pass {speed.ripgrep * 1000:.0f} ms")
    for question, (cold, again) in speed.each.items():
        passes = f"{cold / speed.ripgrep:5.1f} passes cold, {again / speed.ripgrep:5.1f} again"
        print(f"  {passes}   {cold * 1000:6.0f} ms, {again * 1000:6.0f} ms  {question}")


if __name__ == "__main__":
    given = options(__doc__, wrong=False, no_speed=False)
    report(wrong=given.wrong, speed=not given.no_speed)
