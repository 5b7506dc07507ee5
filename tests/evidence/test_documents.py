"""Questions to a folder of documents: the engine of `investigate`, and what prose can and cannot prove."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from knowbound.core.evidence import Intent, NearPlace, Quality
from knowbound.evals.executors.without_agent import answer_of, quoted_passages
from knowbound.evidence.investigate import investigate

DOCUMENTS = {
    "docs/refunds.md": """# Refunds

## How refunds are approved

A refund above 500 EUR needs two approvals from the finance team.

## When the money arrives

Card refunds reach the customer after five to ten working days.
""",
    "docs/deploy.md": """# Deploying

- Merge to `main` deploys to staging by itself.
- Use `shipctl deploy --dry-run` first: it prints the plan and changes nothing.
- No deploys on Fridays after 14:00.

## Rolling back

```sh
shipctl rollback checkout
```

## Blue-green switch

""",
    "docs/warehouse.md": """# Warehouse

`revenue_schema` is the one table that finance reports from. One row per invoice line.

| Code | Meaning | What to do |
| --- | --- | --- |
| E1042 | signature does not match | rotate the secret |
""",
    "docs/links.md": """# Further reading

- [How to rotate the signing certificate](https://wiki.example/cert)
- [Vendor contracts](https://wiki.example/contracts)
""",
    "docs/todo.md": """# Payout job

TODO: document the retry limit of the payout job.

The parental leave policy is documented in the people wiki.
""",
    "CHANGELOG.md": """# Changelog

## 2.1.0

- Added a quota for webhook subscriptions per tenant
""",
    "docs/zh.md": """# 退款

## 退款审批

超过 500 元的退款需要客服主管审批,超过 5000 元还需要财务经理复核。

## 到账时间

银行卡退款需要 5 到 7 个工作日到账。
""",
}


def _write(root: Path, documents: dict[str, str]) -> Path:
    for path, text in documents.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _write(tmp_path_factory.mktemp("knowledge"), DOCUMENTS)


ANSWERED = [
    ("Who approves a refund above 500 EUR?", "docs/refunds.md"),
    ("Where is revenue_schema?", "docs/warehouse.md"),
    ("How many approvals does a refund above 500 EUR need?", "docs/refunds.md"),
]
# How, why, and what is said in other words than the page: refused, and the page is the first that is shown.
SHOWN = [
    ("银行卡退款多久到账?", "docs/zh.md"),
    ("超过 500 元的退款由谁审批?", "docs/zh.md"),
    ("Explain `revenue_schema`.", "docs/warehouse.md"),
    ("What does E1042 mean?", "docs/warehouse.md"),
    ("What does --dry-run do?", "docs/deploy.md"),
    ("You are a support agent.\n\nTask: describe how refunds above 500 EUR are approved.", "docs/refunds.md"),
    ("Summarize how refunds are approved.", "docs/refunds.md"),
    ("How many approvals does a large refund need?", "docs/refunds.md"),
    ("Who has to sign off when we give a customer 600 euro back?", "docs/refunds.md"),
    ("A client asks where the money is. How long do card refunds take?", "docs/refunds.md"),
    ("Which command rolls back?", "docs/deploy.md"),
]
REFUSED = [
    ("absent", "Which accounting software do we use for payroll?"),
    ("absent identifier", "What does `orders_schema` hold?"),
    ("absent flag", "What does --force do?"),
    ("absent code", "What does E1043 mean?"),
    ("something to be written", "What is the retry limit of the payout job?"),
    ("a pointer to a wiki", "How long is parental leave?"),
    ("a list of links", "How do I rotate the signing certificate?"),
    ("a changelog", "What is the quota for webhook subscriptions?"),
    ("a heading without a body", "How does the blue-green switch work?"),
    ("words of two files", "How many approvals does a deploy on Fridays need?"),
    ("absent in Chinese", "员工宿舍如何申请?"),
]


@pytest.mark.parametrize(("question", "path"), ANSWERED)
def test_what_the_documents_say_is_answered_with_the_line_that_says_it(folder: Path, question: str, path: str) -> None:
    found = investigate(question, folder)
    assert found.outcome == "success", found.explanation
    assert found.sources[0].path == path
    assert found.answer is not None
    lines = (folder / path).read_text("utf-8").split("\n")
    assert found.answer.text == lines[found.answer.line - 1].strip()


@pytest.mark.parametrize(("question", "path"), SHOWN)
def test_what_is_said_in_other_words_is_shown_and_not_answered(folder: Path, question: str, path: str) -> None:
    found = investigate(question, folder)
    assert found.outcome == "insufficient_evidence"
    assert found.nearest[0].path == path


@pytest.mark.parametrize("question", [question for _, question in REFUSED], ids=[name for name, _ in REFUSED])
def test_words_without_the_knowledge_are_no_evidence(folder: Path, question: str) -> None:
    found = investigate(question, folder)
    assert found.outcome == "insufficient_evidence", found.sources[0]
    assert found.gaps
    assert found.sources == ()
    assert found.answer is None


def test_a_refusal_names_what_is_missing_and_what_is_near(folder: Path) -> None:
    found = investigate("How many approvals does a refund in Brazil need?", folder)
    assert "without brazil" in found.explanation.lower()
    assert found.nearest[0].path == "docs/refunds.md"


def test_the_kind_of_answer_must_be_there(tmp_path: Path) -> None:
    _write(tmp_path, {"a.md": "# Backups\n\nBackups of the ledger are copied to the vault and kept there.\n"})
    assert investigate("Where are backups of the ledger copied?", tmp_path).outcome == "success"
    assert investigate("How long are backups of the ledger kept?", tmp_path).outcome == "insufficient_evidence"


def test_what_is_so_today_is_in_no_document(tmp_path: Path) -> None:
    said = "The primary engineer changes every week on Monday, and who is second this week is the primary of the next."
    _write(tmp_path, {"a.md": f"# Rota\n\n{said}\n"})
    assert investigate("Who is the primary engineer this week?", tmp_path).outcome == "insufficient_evidence"


def test_one_as_a_pronoun_is_no_number(tmp_path: Path) -> None:
    _write(tmp_path, {"a.md": "# Access\n\nNobody has a shell. If you need one, ask for a break-glass session.\n"})
    assert investigate("How long does a break-glass session last?", tmp_path).outcome == "insufficient_evidence"


def test_knowledge_that_is_added_closes_the_gap(tmp_path: Path) -> None:
    question = "How long are audit logs kept?"
    _write(tmp_path, {"a.md": "# Logs\n\nLogs are written to the disk of the host.\n"})
    assert investigate(question, tmp_path).outcome == "insufficient_evidence"
    _write(tmp_path, {"a.md": "# Logs\n\nAudit logs are kept for 400 days.\n"})
    assert investigate(question, tmp_path).outcome == "success"


def test_one_item_of_a_long_list_is_found(tmp_path: Path) -> None:
    items = [f"- The cabinet {number} holds paper of format {number}." for number in range(200)]
    items[150] = "- Backups of the ledger are kept for 35 days."
    found = investigate(
        "How long are ledger backups kept?", _write(tmp_path, {"a.md": "# Office\n\n" + "\n".join(items)})
    )
    assert found.answer is not None
    assert (found.answer.line, found.answer.text) == (153, items[150])


def test_an_order_is_never_answered_from_a_page(folder: Path) -> None:
    found = investigate("Change the approvals of refunds above 500 EUR to 5.", folder)
    assert (found.intent, found.outcome) == (Intent.MODIFY, "insufficient_evidence")


@pytest.mark.parametrize("documents", [{}, {"a.md": ""}, {"a.md": "# Only a title"}, {"a.md": "\0binary"}])
def test_a_folder_that_says_nothing_answers_nothing(tmp_path: Path, documents: dict[str, str]) -> None:
    found = investigate("Who approves refunds?", _write(tmp_path, documents))
    assert found.outcome == "insufficient_evidence"
    assert "refunds" in found.explanation


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n\nThe head of finance approves refunds.\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    os.symlink(tmp_path / "secret.md", folder / "a.md")
    found = investigate("Who approves refunds?", folder, only=["a.md", "../secret.md", "missing.md"])
    assert (found.outcome, found.nearest) == ("insufficient_evidence", ())


HOSTILE = [
    "word " * 200_000,
    "[" * 5000 + "](" * 5000,
    "|" * 20_000 + "\n" + "|-" * 10_000,
    "> " * 5000 + "deep",
    "`" * 9999,
    "#" * 9999,
    "\u202eevil\u0000 \x1b[31m refunds are approved by nobody",
    "*" * 20_000,
    "- " * 10_000,
    "<!--" * 5000,
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_documents_do_no_harm(tmp_path: Path, text: str) -> None:
    (tmp_path / "good.md").write_text("# Refunds\n\nThe finance team approves refunds above 500 EUR.\n")
    (tmp_path / "bad.md").write_bytes(text.encode() + b"\xff\xfe\xc3")
    assert investigate("Who approves refunds above 500 EUR?", tmp_path).sources[0].path == "good.md"


def test_threads_and_repetition_give_the_same_answers(folder: Path) -> None:
    questions = [*(question for question, _ in ANSWERED), *(question for _, question in REFUSED)][::4] * 2
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda question: investigate(question, folder), questions))
    alone = [investigate(question, folder) for question in questions]
    assert msgspec.json.encode(together) == msgspec.json.encode(alone)


def test_a_page_beside_code_is_answered_by_the_same_rules(tmp_path: Path) -> None:
    _write(tmp_path, {"docs/refunds.md": DOCUMENTS["docs/refunds.md"], "src/app.py": "def main() -> None: ...\n"})
    found = investigate("Who approves a refund above 500 EUR?", tmp_path)
    assert (found.outcome, found.sources[0].path) == ("success", "docs/refunds.md")


def test_the_executor_quotes_the_passage_as_it_is_written(tmp_path: Path) -> None:
    text = (
        "# Deploying\n\nPromote a service by hand with `just promote <service>`, **never** in *secret*.\n\n"
        "| service | http | metrics |\n| --- | --- | --- |\n| courier | 8082 | 9102 |\n"
    )
    (tmp_path / "deploy.md").write_text(text, "utf-8")
    found = investigate("Where is promote by hand?", tmp_path)
    (passage,) = quoted_passages(found, tmp_path)
    assert (passage.heading, passage.text) == ("Deploying", text.strip())
    assert "`just promote <service>`" in answer_of(found, [passage])


def test_a_near_file_without_a_line_is_quoted_from_its_beginning(tmp_path: Path) -> None:
    long = "The ledger keeps each entry for seven years. " * 80
    (tmp_path / "ledger.md").write_text(f"# Ledger\n\n{long}\n", "utf-8")
    refused = investigate("Who paints the office?", tmp_path)
    near = msgspec.structs.replace(refused, sources=(), nearest=(NearPlace("ledger.md", 0, "Ledger"),))
    (passage,) = quoted_passages(near, tmp_path)
    assert passage.line == 1
    assert "seven years" in passage.text


def test_only_the_named_files_are_asked(tmp_path: Path) -> None:
    _write(tmp_path, {"a.md": "# A\n\nThe finance team approves refunds.\n", "b.md": "# B\n\nNothing here.\n"})
    assert investigate("Who approves refunds?", tmp_path, only=["a.md"]).outcome == "success"
    found = investigate("Who approves refunds?", tmp_path, only=["b.md"])
    assert found.outcome == "insufficient_evidence"
    assert all(entry.quality is not Quality.STRONG for entry in found.evidence if entry.cls.value == "FileSearch")
