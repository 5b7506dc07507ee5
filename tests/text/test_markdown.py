"""Documents as sections: what people write in Markdown, and what no one should, with the right lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.text.markdown import BlockKind, DocumentSection, sections_of


def _shape(sections: list[DocumentSection]) -> list[tuple[str, list[str]]]:
    return [(section.heading, [block.text for block in section.blocks]) for section in sections]


CASES = [
    (
        "headings nest",
        "# A\nfirst\n## B\nsecond\n### C\nthird\n## D\nfourth\n",
        [("A", ["first"]), ("A › B", ["second"]), ("A › B › C", ["third"]), ("A › D", ["fourth"])],
    ),
    ("closing marks are no part of a heading", "## A ##\ntext", [("A", ["text"])]),
    (
        "underlined headings",
        "Title\n=====\nfirst\n\nPart\n----\nsecond",
        [("Title", ["first"]), ("Title › Part", ["second"])],
    ),
    ("a document without headings is one section", "first\n\nsecond", [("", ["first", "second"])]),
    ("a paragraph is one block over its lines", "one\ntwo\n\nthree", [("", ["one two", "three"])]),
    (
        "each item is a block, with the lines that continue it",
        "- one\n  more\n- two\n1. three",
        [("", ["one more", "two", "three"])],
    ),
    ("each row of a table is a block", "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |", [("", ["1 | 2", "3 | 4"])]),
    ("code is one block", "```sh\n# no heading\nmake\n```\nafter", [("", ["# no heading\nmake", "after"])]),
    ("an open fence goes to the end", "text\n```\n# a\n# b", [("", ["text", "# a\n# b"])]),
    ("a fence of tildes is not closed by backticks", "~~~\n```\n# a\n~~~\nafter", [("", ["```\n# a", "after"])]),
    ("links are their text", "see [the page](x.md) and ![a picture](y.png)", [("", ["see the page and a picture"])]),
    ("comments are not read", "<!-- TODO: all\nof this -->\nreal", [("", ["real"])]),
    ("an open comment hides the rest", "real\n\n<!-- never closed\n# A", [("", ["real"])]),
    ("emphasis is dropped", "**bold** and _soft_ and `snake_case`", [("", ["bold and soft and `snake_case`"])]),
    (
        "front matter names the document and describes it",
        "---\ntitle: Refunds\ndescription: Who may refund what.\n---\n# Rules\nNone.",
        [("Refunds", ["Who may refund what."]), ("Refunds › Rules", ["None."])],
    ),
    ("a rule at the top is no front matter", "---\n\ntext\n", [("", ["text"])]),
    ("a heading without a body stays", "# A\n## B\n", [("A", []), ("A › B", [])]),
    ("a heading needs a space", "#hashtag here", [("", ["#hashtag here"])]),
    ("windows line ends", "# A\r\n\r\ntext\r\n", [("A", ["text"])]),
    ("a byte order mark", "\ufeff# A\ntext", [("A", ["text"])]),
    ("nothing", "", []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_markdown_is_read_as_people_mean_it(text: str, expected: list[tuple[str, list[str]]]) -> None:
    assert _shape(sections_of("a.md", text)) == expected


def test_an_open_fence_ends_with_the_file() -> None:
    (section,) = sections_of("a.md", "```\nmake")
    assert (section.end_line, section.blocks[0].end_line) == (2, 2)


def test_lines_are_those_of_the_file() -> None:
    (first, second) = sections_of("a.md", "# A\n\none\ntwo\n\n## B\n- three\n")
    assert (first.line, first.end_line, first.blocks[0].line, first.blocks[0].end_line) == (1, 4, 3, 4)
    assert (second.line, second.end_line, second.blocks[0].line) == (6, 7, 7)


def test_what_introduces_a_list_is_its_lead() -> None:
    (section,) = sections_of("a.md", "Never do this:\n\n- push to main\n- force it\n")
    assert [block.lead for block in section.blocks] == ["", "Never do this:", "Never do this:"]


def test_the_head_of_a_table_is_the_lead_of_its_rows() -> None:
    (section,) = sections_of("a.md", "| Code | Meaning |\n|---|---|\n| E1 | lost |")
    assert section.blocks[0].kind is BlockKind.ROW
    assert section.blocks[0].lead == "Code | Meaning"


def test_a_nested_item_has_the_item_above_it_as_its_lead() -> None:
    (section,) = sections_of("a.md", "- on Fridays\n  - no deploys\n")
    assert section.blocks[1].lead == "on Fridays"


def test_a_question_leads_to_its_answer() -> None:
    (section,) = sections_of("faq.md", "**Who pays?**\n\nThe customer does.\n")
    assert [(block.lead, block.text) for block in section.blocks] == [("Who pays?", "The customer does.")]


def test_toml_tables_are_headings_and_comments_lead() -> None:
    (top, limits) = sections_of("a.toml", 'name = "x"\n[limits]\n# per user and day\nqueries = 5\n')
    assert (top.heading, limits.heading) == ("", "limits")
    assert (limits.blocks[0].text, limits.blocks[0].lead) == ("queries = 5", "per user and day")


def test_an_endless_line_is_cut() -> None:
    (section,) = sections_of("a.md", "word " * 1_000_000)
    assert len(section.blocks[0].text) <= 4000


def test_many_brackets_do_not_take_forever() -> None:
    assert sections_of("a.md", "[" * 2000 + "a](" * 600)


@given(st.text(alphabet="#-*`~|> \n\t=:[]()<!a1中?.", max_size=200))
def test_any_text_has_sections_with_lines_in_order(text: str) -> None:
    size = text.count("\n") + 1
    for section in sections_of("a.md", text):
        assert 1 <= section.line <= section.end_line <= size
        for block in section.blocks:
            assert section.line <= block.line <= block.end_line <= size
            assert block.text.strip()
