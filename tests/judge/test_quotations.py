from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.judge.material import is_quoted

ANSWER = "The **gateway** listens on `9090`,\nnot on 8080 — see conf/gateway.toml:12.\n端口是 9090，不是 8080。"


@pytest.mark.parametrize(
    "quotation",
    [
        "listens on 9090, not on 8080",
        "The gateway listens on `9090`",
        "“not on 8080 - see conf/gateway.toml:12.”",
        "gateway … conf/gateway.toml",
        "The gateway [...] not on 8080",
        "端口是 9090，不是 8080",
    ],
)
def test_white_space_markdown_and_ellipses_do_not_matter(quotation: str) -> None:
    assert is_quoted(quotation, ["another text", ANSWER])


@pytest.mark.parametrize(
    "quotation",
    [
        "",
        "…",
        "9",
        "on",  # too short to show anything
        "listens on port 9090",
        "not on 8080 … listens on 9090",  # the parts are there, in another order
        "GATEWAY LISTENS",
    ],
)
def test_what_is_not_verbatim_is_no_quotation(quotation: str) -> None:
    assert not is_quoted(quotation, [ANSWER])


def test_a_line_of_json_can_be_quoted_as_it_reads() -> None:
    assert is_quoted('port = "9090"\nhost', [r'{"content": "port = \"9090\"\nhost = x"}'])


@given(st.text(min_size=5, max_size=200), st.integers(0, 50), st.integers(5, 60))
def test_every_part_of_a_text_is_quoted_in_it_or_too_short(text: str, start: int, length: int) -> None:
    part = text[start : start + length]
    if "…" not in part and "..." not in part and "\\" not in text and len("".join(part.split())) > 30:
        assert is_quoted(part, [text]) or len(part.strip(" \t*_`#>|~.,;:\"'«»「」『』")) < len(part)
