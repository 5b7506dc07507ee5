import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.gaps.signals import explicit_markers


@pytest.mark.parametrize(
    "line",
    [
        "【推断】该表由计费服务维护。",
        "负责人:【未知】",
        "- 【知识缺口】没有找到部署文档",
        "接口已停用【推断】",
        "[inferred] The queue is drained at night.",
        "The owner of this table: [unknown]",
        "[Knowledge Gap]: no document names the retention period.",
        "The limit is 8 KB [ INFERRED ].",
        "**[unknown]** which host runs the job",
        "\\[inferred\\] from the file names",
        "The port is [unknown] and the host is db1.",
        "The retention [inferred] is 30 days.",
        "We rely on the [inferred] limit of 8 KB here.",
        "默认端口【推断】为 8080，主机见配置。",
        "| retention | [unknown] |",
        "| owner |[unknown]| ops |",
        "| 负责人 | 【未知】 | 需要询问 |",
        "| limit | 8 KB [inferred] |",
    ],
)
def test_a_marker_of_the_agent_is_found_with_its_line(line: str) -> None:
    assert explicit_markers(f"Some text.\n  {line}\nMore.") == [line]


@pytest.mark.parametrize(
    "text",
    [
        "`[unknown]` is printed for such rows",
        "```\n[unknown] host\n```",
        "> [inferred] as the page says",
        'the log says "[unknown] host"',
        "counts[unknown] += 1",
        "see [unknown](https://example.org)",
        "see [unknown][1]",
        "I will use the [inferred] tag for such lines.",
        "Lines are marked with 【推断】 where needed.",
        "请用【推断】标记不确定的内容",
        "我会使用【推断】和【未知】",
        "[inferred] markers are counted separately.",
        "| [unknown] | a status |",
        "the regex [unknown]+ matches a class",
        "[unknown]: https://example.org",
        "[unknown] is printed for such rows.",
        "The [unknown] is shown when the host is missing.",
        "| Field | [inferred] |\n| --- | --- |\n| a | b |",
        "| Field | [inferred] |\n| --- | --- |",
        "| Marker | Meaning |\n| --- | --- |\n| [inferred] | concluded from names |\n| [unknown] | not found |",
        "| 标记 | 含义 |\n|---|---|\n| 【推断】 | 由名称推断 |\n| **【未知】** | 没有资料 |",
        "| Status | Count |\n| --- | --- |\n| [unknown] | 3 |",
        "| the `[unknown]` value | a status |",
        "const [unknown] = useState()",
        "nothing here [at all]",
        "",
    ],
)
def test_a_marker_that_is_quoted_code_or_only_talked_about_is_not_one(text: str) -> None:
    assert explicit_markers(text) == []


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        ("| Field | Value |\n| --- | --- |\n| port | 80 |\n| host | [unknown] |", ["| host | [unknown] |"]),
        ("| Code | Meaning |\n| --- | --- |\n| 17 | [unknown] |", ["| 17 | [unknown] |"]),
        ("| 类型 | 结论 |\n|---|---|\n| 【推断】 | 由计费服务维护 |", ["| 【推断】 | 由计费服务维护 |"]),
    ],
)
def test_a_row_of_a_table_carries_a_marker_unless_the_table_explains_it(table: str, rows: list[str]) -> None:
    assert explicit_markers(f"Text.\n\n{table}\n\nMore.") == rows


def test_a_line_with_two_markers_is_one_signal() -> None:
    assert explicit_markers("[inferred] a\n[unknown] b [inferred]\nc") == ["[inferred] a", "[unknown] b [inferred]"]


@given(st.text(alphabet=st.sampled_from(list("[]【】 \\inferredunknown推断`\n>|")), max_size=200))
def test_any_text_gives_lines_of_itself(text: str) -> None:
    assert all(line in text for line in explicit_markers(text))
