"""What is wrong with a search pattern, by what it is read as."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.tool_kinds import Syntax
from knowbound.files import rg
from knowbound.traces.calls.intent import fault, has_stray_quote, is_option
from knowbound.traces.calls.ripgrep_syntax import rust_fault

RUST, PERL, EXTENDED, BASIC, FIXED, GLOB = Syntax

FAULTY = [
    (RUST, r"loadLedger\|saveLedger"),
    (RUST, r"foo\|bar\|baz qux"),
    (RUST, "useState({})"),
    (RUST, "onSave={handleSave}"),
    (RUST, "interface{}"),
    (RUST, "load(Ledger"),
    (RUST, "load)"),
    (RUST, "[abc"),
    (RUST, "*.ts"),
    (RUST, "src/**/ledger.ts"),
    (RUST, "(?=x)y"),
    (RUST, r"first\nsecond"),
    (RUST, r"frob\\.knob"),
    (RUST, r"frob\\(\\)"),
    (RUST, r"\\bfrob\\b"),
    (RUST, r"frob\\s+knob"),
    (PERL, r"frob\|knob"),
    (EXTENDED, r"frob\|knob"),
    (EXTENDED, r"(?:frob|knob)"),
    (BASIC, "frob|knob"),
    (BASIC, "(frob|knob)s"),
    (BASIC, "v[0-9]+"),
    (BASIC, r"frob\s+knob"),
    (BASIC, "frob.+knob"),
    (BASIC, "[a-f]{8}"),
    (BASIC, "(?i)frob"),
    (BASIC, "*.ts"),
    (FIXED, r"frob\|knob"),
    (GLOB, '**/.env"'),
    (GLOB, '"*.toml"'),
    (GLOB, r".*\.ts"),
    (GLOB, "frob|knob"),
    (GLOB, "src/*.{ts,tsx"),
    (GLOB, "src/*.sh -o tests/*.sh"),
    (GLOB, "ledger.ts$"),
]
FAULTLESS = [
    (RUST, "loadLedger|saveLedger"),
    (RUST, r"string \| null"),
    (RUST, r"a \|\| b"),
    (RUST, r"left\|right|up"),  # who writes a plain bar beside it means the other one
    (RUST, r"interface\{\}"),
    (RUST, r"a{2,3}b{2}c{4,}"),
    (RUST, r"[{(|)}]"),
    (RUST, r"['\"]react['\"]"),
    (RUST, r'"name": "x"'),
    (RUST, "import x from 'y'"),
    (RUST, "don't"),
    (RUST, r"func \(s \*Store\) Load"),
    (RUST, r"\\n"),
    (RUST, r"(?i)frob(?P<name>\w+)(?:x|y)"),
    (RUST, "[[:alpha:]_][]x]"),
    (PERL, "(?=frob)frob|knob"),
    (EXTENDED, "frob|knob"),
    (EXTENDED, r"\|\s*frob"),
    (BASIC, r"frob\|knob"),
    (BASIC, "| head"),
    (BASIC, "|---|---|"),
    (BASIC, "a | b"),
    (BASIC, "func (s *Store) Load"),
    (BASIC, "c++"),
    (BASIC, "[a-z]*"),
    (FIXED, "a|b.*"),
    (GLOB, "**/*.{ts,tsx}"),
    (GLOB, "src/@(a|b)/*.ts"),
    (GLOB, "*[rR]emediat*"),
    (GLOB, ".env*"),
    (GLOB, "app/(shop)/[id]/page.tsx"),
    (RUST, ""),
]


@pytest.mark.parametrize(("syntax", "pattern"), FAULTY)
def test_a_mistake_of_writing_is_named(syntax: Syntax, pattern: str) -> None:
    assert fault(pattern, syntax)


@pytest.mark.parametrize(("syntax", "pattern"), FAULTLESS)
def test_what_may_be_meant_has_no_fault(syntax: Syntax, pattern: str) -> None:
    assert fault(pattern, syntax) == ""


def test_a_line_break_needs_multiline() -> None:
    assert fault(r"first\nsecond", RUST, multiline=True) == ""


@pytest.mark.parametrize(
    ("pattern", "is_stray"),
    [
        ('loadLedger"', True),
        ("loadLedger'", True),
        ("loadLedger`", True),
        (r'func Load\(\)"', True),
        ('a|b|saveLedger"', True),
        (r"\"github.com/frob/knob\"" + '"', True),
        ('"loadLedger"', False),
        (r'ledger\s*="', True),
        ('className="', False),
        (r'ledger\s*=\s*"', False),
        ('ledger.*"', False),
        ('log.Info("', False),
        ('Frob{"', False),
        ('from "', False),
        ('frob/knob"', False),  # closes an import
        ("don't", False),
        ('"', False),
        ("", False),
    ],
)
def test_stray_quotes(pattern: str, is_stray: bool) -> None:
    assert has_stray_quote(pattern) is is_stray


@pytest.mark.parametrize(
    ("pattern", "option"),
    [("-C3", True), ("-n", True), ("--include=*.go", True), ("--force", False), ("-> Result", False), ("--", False)],
)
def test_options_as_patterns(pattern: str, option: bool) -> None:
    assert is_option(pattern) is option


PIECES = st.sampled_from(
    [*"ab|()[]{}*+?^$.-,2:\\\"'é", r"\s", r"\b", r"\n", r"\(", r"\|", r"\c", r"\1", r"\x41", r"\u{41}", r"\p{L}", r"\Q",
     r"\é", "(?:", "(?i)", "(?=", "(?P<n>", "{2}", "{2,", "{3,2}", "[:alpha:]", "[^"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=8).map("".join))
def test_what_is_called_wrong_is_refused_by_ripgrep(tmp_path_factory: pytest.TempPathFactory, pattern: str) -> None:
    """What ripgrep refuses for its ranges and properties is not looked for, so the converse is not asked."""
    folder = tmp_path_factory.getbasetemp() / "empty"
    folder.mkdir(exist_ok=True)
    if rust_fault(pattern):
        assert _ends_with_an_error(pattern, folder)


@given(st.lists(st.sampled_from(["a", "|", "(", ")", "[", "]", "{", "}", "*", "+", r"\(", "{2}"]), max_size=6))
def test_what_ripgrep_refuses_for_its_brackets_is_found(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str]
) -> None:
    folder = tmp_path_factory.getbasetemp() / "empty"
    folder.mkdir(exist_ok=True)
    pattern = "".join(pieces)
    assert bool(rust_fault(pattern)) == _ends_with_an_error(pattern, folder)


def _ends_with_an_error(pattern: str, folder: Path) -> bool:
    ran = rg(folder, ["-e", pattern, "."], 60)
    assert not ran.missing
    return ran.code == 2


@given(st.text(max_size=200), st.sampled_from(Syntax))
def test_any_pattern_can_be_asked_about(pattern: str, syntax: Syntax) -> None:
    assert isinstance(fault(pattern, syntax), str)
    has_stray_quote(pattern)
