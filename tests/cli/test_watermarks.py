"""No rate without its watermark (specification 1, section 7.1): every verb, format and stream that shows one."""

from __future__ import annotations

import html
import os
import re
import subprocess
from pathlib import Path

import pytest

from knowbound.report import EVERY_FORMAT
from knowbound.stats.figures import WARNING
from tests import warm_process
from tests.knowledge_base import COMMITS, begin, commit
from tests.transcripts import Transcript

_RATE = re.compile(r"\b\d{1,3}(?:\.\d+)? ?%|\"(?:rate|gap|coverage)\":(?! ?null)")
_HASH = re.compile(r"sha256(?:_8\"?:)?[ \"`]+[0-9a-f]{8}")
_COUNT = re.compile(r"\d samples?\b|\"samples\": ?\d|\d 个用例")
_MARKUP = re.compile(r"<(style|script)\b.*?</\1>|<[^>]+>", re.DOTALL)
_VERBS = {
    "observe": ("observe", "traces"),
    "observe --verbose": ("observe", "traces", "--verbose"),
    "observe --all-rates": ("observe", "traces", "--all-rates"),
    "eval": ("eval", "--max-gap-rate", "0.01", "--gap-rate-regression", "0"),
    "eval --against": ("eval", "--against", "HEAD~1"),
    "report": ("report",),
    "check": ("check", "--max-gap-rate", "0.01", "--gap-rate-regression", "0"),
    "trend": ("trend",),
    "compare": ("compare",),
    "probe": ("probe", "--count", "5"),
    "review": ("review", "traces"),
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base with two commits, both evaluated, competency questions, and observed traces."""
    base = begin(tmp_path_factory.mktemp("marks") / "kb")
    trace = Transcript(project=str(base)).user("Where is it?").grep("revenue_schema").says("I'm not sure where it is.")
    trace.write(base / "traces")
    for step in COMMITS[:2]:
        commit(base, step)
        assert run(base, "eval").returncode == 0
    return base


def run(base: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm_process.knowbound(*arguments, cwd=base, env=dict(os.environ))


def unmarked(text: str) -> list[str]:
    """The lines of a stream with a rate, if the stream lacks the test set's hash, its sample count or the warning."""
    shown = html.unescape(_MARKUP.sub(" ", text) if "<html" in text else text)
    plain = " ".join(shown.split())
    is_marked = _HASH.search(plain) and WARNING in plain and _COUNT.search(plain)
    return [] if is_marked else [line for line in shown.splitlines() if _RATE.search(line)]


@pytest.mark.long
@pytest.mark.parametrize("verb", _VERBS)
def test_no_stream_of_any_verb_or_format_has_a_rate_without_its_watermark(base: Path, verb: str) -> None:
    seen = 0
    for format_ in EVERY_FORMAT:
        for output in ((), ("-o", str(base.parent / "out"))):
            ran = run(base, *_VERBS[verb], "--format", format_, *output)
            if ran.returncode == 2:
                assert f"'{format_}' is not one of" in ran.stderr, ran.stderr  # the verb lacks this format
                continue
            file = (base.parent / "out").read_text("utf-8") if output else ""
            for name, stream in (("stdout", ran.stdout), ("stderr", ran.stderr), ("file", file)):
                seen += bool(_RATE.search(stream))
                assert unmarked(stream) == [], (verb, format_, name)
    assert seen


@pytest.mark.parametrize("verb", ["demo", "observe", "review"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_first_screens_have_the_watermark_in_both_languages(base: Path, verb: str, language: str) -> None:
    paths = () if verb == "demo" else ("traces",)
    ran = run(base, verb, *paths, "--lang", language)
    assert _RATE.search(ran.stdout)
    assert unmarked(ran.stdout) == []
    assert unmarked(ran.stderr) == []
