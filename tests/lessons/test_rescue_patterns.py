from __future__ import annotations

from pathlib import Path

import pytest

from tests.lessons.trees import answered, bash, grep, make_tree, places

INVOICE = "class Invoice:\n    def total(self):\n        return self.amount\n\n\ndef send_invoice(invoice):\n    pass\n"


def test_a_stray_quote(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"billing/invoice.py": INVOICE})
    said = grep(tree, 'send_invoice"', "billing")
    assert said.text == "The pattern ends in a stray quote; without it there is 1 match: `billing/invoice.py:6`."
    assert grep(tree, 'send_letter"', "billing").status == "silent"


@pytest.mark.parametrize(
    ("pattern", "line"),
    [("onDelete={remove}", 2), ("remove|\\{onDelete={", 2), (r"send\|onDelete", 2), (r"onDelete\\.call", 3)],
)
def test_a_pattern_that_ripgrep_refuses_or_reads_otherwise(tmp_path: Path, pattern: str, line: int) -> None:
    tree = make_tree(tmp_path, {"App.tsx": "<Row\n  onDelete={remove}\n  onDelete.call()\n/>\n"})
    assert f"App.tsx:{line}" in places(grep(tree, pattern, "App.tsx"))


def test_a_file_type_that_ripgrep_does_not_know(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/Tabs.tsx": "const activeTab = 1;\n", "src/tabs.css": ".activeTab {}\n"})
    said = grep(tree, "activeTab", "src", type="tsx")
    assert (places(said), said.text.partition(";")[0]) == (["src/Tabs.tsx:1"], "Ripgrep has no file type `tsx`")


def test_one_name_inside_another_in_another_case_is_not_it(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/a.ts": "const profileTypeName = 1;\n"})
    assert grep(tree, "fileType", "src").status == "silent"


def test_words_in_another_order_in_the_same_place(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/a.ts": "const logoOfAgent = provider;\n", "src/b.ts": "const agent = 1;\n"})
    assert places(grep(tree, "agent.*provider", "src")) == ["src/a.ts:1"]


def test_the_longest_name_alone_in_the_same_file(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"hooks/useShare.ts": "\nconst getShareKeys = useCallback(() => 1);\n"})
    said = grep(tree, "async function getShareKeys|function getShareKeys", "hooks/useShare.ts")
    assert places(said) == ["hooks/useShare.ts:2"]


def test_a_search_in_a_file_that_is_not_there(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/cli/export.ts": "\nexport function exportCommand() {}\n"})
    nothing = "grep: src/commands/export.ts: No such file or directory"
    said = bash(tree, "grep -n exportCommand src/commands/export.ts", nothing)
    assert said.text.startswith("`src/commands/export.ts` does not exist; in `src/cli/export.ts`")
    assert places(said) == ["src/cli/export.ts:2"]


def test_a_plain_grep_reads_a_bar_literally(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/run.py": "def start_job():\n    pass\n"})
    said = bash(tree, 'grep -rn "start_job|stop_job" src')
    assert (places(said), "`-E`" in said.text) == (["src/run.py:1"], True)


@pytest.mark.parametrize(
    ("command", "description"),
    [
        ('grep -rn "send_invoice" src/api', "Verify that no reference is left"),
        ('grep -rn "send_invoice" src/api || echo "clean"', ""),
        ("make test 2>&1 | grep send_invoice", "Find failing tests"),
    ],
)
def test_checks_and_filters_are_left_alone(tmp_path: Path, command: str, description: str) -> None:
    tree = make_tree(tmp_path, {"src/api/run.py": "x = 1\n", "src/billing/invoice.py": INVOICE})
    assert bash(tree, command, "clean\n" if "clean" in command else "", description).status == "silent"


def test_a_name_that_is_nowhere_is_called_absent_without_a_suggestion(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"a.py": "x = 1\n", "b.py": "y = 1\n"})
    said = grep(tree, "RevenueSchema")
    assert said.text == "No file or symbol named `RevenueSchema` exists in this tree (2 files searched)."
    assert (said.status, said.suggestions) == ("absent", ())


def test_after_a_file_was_added_nothing_is_called_absent(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"a.py": "x = 1\n"})
    (tmp_path / "tree" / "revenue.py").write_text("class RevenueSchema:\n    pass\n", "utf-8")
    assert grep(tree, "RevenueSchema").status == "silent"


def test_a_call_that_found_something_is_no_miss(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"billing/invoice.py": INVOICE})
    found = {"mode": "content", "numFiles": 0, "filenames": [], "content": "invoice.py:1:x", "numLines": 1}
    assert not answered(tree, "Grep", {"pattern": 'total"'}, found).is_miss
    assert not answered(tree, "Edit", {"file_path": "x"}, {"filenames": []}).is_miss
    assert not answered(tree, "Bash", {"command": "mkdir -p src"}, "").is_miss


def test_an_event_of_another_machine_is_read_in_this_tree(tmp_path: Path) -> None:
    from knowbound.lessons.rescue.rescue import rescue

    tree = make_tree(tmp_path, {"apps/web/a.ts": "", "apps/api/export.ts": "", "README.md": ""})
    event = {"tool_name": "Read", "cwd": "/Users/ana/code/shop/apps/web", "error": "File does not exist."}
    said = rescue(event | {"tool_input": {"file_path": "/Users/ana/code/shop/lib/export.ts"}}, tree)
    assert places(said) == ["apps/api/export.ts"]


def test_what_other_places_have_is_not_suggested(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/api/run.py": "x = 1\n", "src/billing/invoice.py": INVOICE})
    assert grep(tree, "send_invoice", "src/api").status == "silent"


@pytest.mark.parametrize("drive", ["D:\\code\\shop\\", "d:/code/shop/", "/d/code/shop/"])
def test_a_path_of_windows_is_read_in_this_tree(tmp_path: Path, drive: str) -> None:
    from knowbound.lessons.rescue.rescue import rescue

    tree = make_tree(tmp_path, {"docs/faq.mdx": "repaint\n", "README.md": ""})
    event = {"tool_name": "Read", "cwd": "D:\\code\\shop", "error": "File does not exist."}
    assert places(rescue(event | {"tool_input": {"file_path": f"{drive}docs/faq.md"}}, tree)) == ["docs/faq.mdx"]
    assert not rescue(event | {"tool_input": {"file_path": "C:\\other\\docs\\faq.md"}}, tree).is_miss


def test_a_secret_in_a_pattern_is_not_said(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    tree = make_tree(tmp_path, {"src/run.py": "def start_job():\n    pass\n"})
    said = grep(tree, f'start_job|{token}"', "src")
    assert token not in said.text


@pytest.mark.parametrize("pattern", ["(a+)+b start_job", "(", "[", "\\", "|", "*", "(?P<x", "a" * 5000, "\x00\u202e"])
def test_a_hostile_pattern_ends_and_says_nothing_wrong(tmp_path: Path, pattern: str) -> None:
    tree = make_tree(tmp_path, {"src/run.py": "a" * 3000 + "\n"})
    assert grep(tree, pattern, "src").status in ("silent", "absent")


def test_an_alternative_that_the_tool_looked_for_by_itself_is_not_suggested(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/views.ts": "class EmptyViewProvider {}\n", "src/a.ts": ""})
    said = bash(tree, "rg -n 'EmptyViewKind|EmptyViewProvider' src")
    assert said.status == "silent"


def test_a_search_that_hides_its_errors_is_run_again(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/logo.tsx": "import mark from './logo.svg';\n"})
    said = bash(tree, "rtk grep -r 'logo.svg' src 2>/dev/null")
    assert (places(said), "its errors are hidden" in said.text) == (["src/logo.tsx:1"], True)
    assert bash(tree, "grep -r 'logo.svg' src").status == "silent"


def test_words_in_another_order_are_not_tried_for_one_of_several_alternatives(tmp_path: Path) -> None:
    tree = make_tree(tmp_path, {"src/models.ts": "import { DetailOfSession } from './x'; // detail, session\n"})
    assert grep(tree, "SessionTarget|session detail", "src").rule != "any_order"


def test_two_names_on_lines_near_each_other(tmp_path: Path) -> None:
    text = "@Column({ unique: true })\n// the key of the user\npublicKey!: string;\n"
    tree = make_tree(tmp_path, {"auth/user.ts": text, "auth/mail.ts": "@Column()\nname!: string;\n"})
    said = grep(tree, "Column.*publicKey", "auth")
    assert (places(said), said.rule) == (["auth/user.ts:1"], "near_lines")
    assert grep(tree, "unique of the user", "auth").rule != "near_lines"
