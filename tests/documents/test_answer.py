"""Questions to a knowledge folder: answered from the right section, or refused with what is missing."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest

from knowbound.core.evidence import Confidence, EvidenceClass, Intent, Quality
from knowbound.documents.answer import DocumentAnswer
from knowbound.documents.library import Library
from knowbound.evidence.investigate import investigate
from knowbound.text.intent import read_question
from knowbound.text.markdown import sections_of

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


def _library(root: Path, documents: dict[str, str]) -> Library:
    return Library.of(_write(root, documents), list(documents))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    return _library(tmp_path_factory.mktemp("knowledge"), DOCUMENTS)


ANSWERED = [
    ("How many approvals does a large refund need?", "docs/refunds.md", 3),
    ("Who has to sign off when we give a customer 600 euro back?", "docs/refunds.md", 3),
    ("Summarize how refunds are approved.", "docs/refunds.md", 3),
    ("You are a support agent.\n\nTask: describe how refunds above 500 EUR are approved.", "docs/refunds.md", 3),
    ("Add a refund of 700 EUR for Ms Li. How many approvals does it need?", "docs/refunds.md", 3),
    ("A client asks where the money is. How long do card refunds take?", "docs/refunds.md", 7),
    ("What does --dry-run do?", "docs/deploy.md", 1),
    ("What does E1042 mean?", "docs/warehouse.md", 1),
    ("Explain `revenue_schema`.", "docs/warehouse.md", 1),
    ("Which command rolls back?", "docs/deploy.md", 7),
    ("On which weekday must nothing go live?", "docs/deploy.md", 1),
    ("超过 500 元的退款由谁审批?", "docs/zh.md", 3),
    ("银行卡退款多久到账?", "docs/zh.md", 7),
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


@pytest.mark.parametrize(("question", "path", "line"), ANSWERED)
def test_what_the_documents_say_is_answered(library: Library, question: str, path: str, line: int) -> None:
    found = library.answer(read_question(question))
    assert found.investigation.outcome == "success", found.investigation.explanation
    assert (found.passages[0].path, found.passages[0].line) == (path, line)
    assert found.investigation.sources[0].path == path
    assert found.missing == ()
    assert found.investigation.gaps == ()


@pytest.mark.parametrize("question", [question for _, question in REFUSED], ids=[name for name, _ in REFUSED])
def test_words_without_the_knowledge_are_no_evidence(library: Library, question: str) -> None:
    found = library.answer(read_question(question))
    assert found.investigation.outcome == "insufficient_evidence", found.passages[0]
    assert found.investigation.gaps
    assert found.investigation.sources == ()


def test_an_answer_carries_its_grades_and_its_way(library: Library) -> None:
    found = library.answer(read_question("How many approvals does a refund above 500 EUR need?")).investigation
    assert found.intent is Intent.EXPLAIN
    assert found.confidence is Confidence.HIGH
    search, content = found.evidence
    assert (search.cls, search.quality) == (EvidenceClass.FILE_SEARCH, Quality.STRONG)
    assert (content.cls, content.quality) == (EvidenceClass.FILE_CONTENT, Quality.STRONG)
    assert content.places[0].path == "docs/refunds.md"
    assert len(found.trail) == 2


def test_a_passage_is_the_section_with_its_headings(library: Library) -> None:
    (passage, *_) = library.answer(read_question("How many approvals does a refund need?")).passages
    assert passage.heading == "Refunds › How refunds are approved"
    assert (passage.line, passage.end_line) == (3, 5)
    heading, text = "## How refunds are approved", "A refund above 500 EUR needs two approvals from the finance team."
    assert passage.text == f"{heading}\n\n{text}"


def test_a_refusal_names_what_is_missing_and_what_is_near(library: Library) -> None:
    found = library.answer(read_question("How many approvals does a reimbursement in Brazil need?"))
    assert found.missing[0] == "Brazil"
    assert found.passages[0].path == "docs/refunds.md"
    assert found.investigation.nearest[0].startswith("Refunds › How refunds are approved")
    assert "Brazil" in found.investigation.explanation


def test_a_missing_identifier_is_named(library: Library) -> None:
    assert library.answer(read_question("What does `orders_schema` hold?")).missing == ("orders_schema",)


def test_the_kind_of_answer_must_be_there(tmp_path: Path) -> None:
    library = _library(
        tmp_path, {"a.md": "# Backups\n\nBackups of the ledger are encrypted and copied to the vault.\n"}
    )
    assert library.answer(read_question("Where are backups of the ledger copied?")).investigation.outcome == "success"
    assert (
        library.answer(read_question("How long are backups of the ledger kept?")).investigation.outcome
        == "insufficient_evidence"
    )


def test_knowledge_that_is_added_closes_the_gap(tmp_path: Path) -> None:
    question = "How long are audit logs kept?"
    before = _library(tmp_path, {"a.md": "# Logs\n\nLogs are written to the disk of the host.\n"})
    assert before.answer(read_question(question)).investigation.outcome == "insufficient_evidence"
    after = _library(tmp_path, {"a.md": "# Logs\n\nAudit logs are kept for 400 days.\n"})
    assert after.answer(read_question(question)).investigation.outcome == "success"


def test_one_item_of_a_long_list_is_found(tmp_path: Path) -> None:
    items = [f"- The cabinet {number} holds paper of format {number}." for number in range(200)]
    items[150] = "- Backups of the ledger are kept for 35 days."
    found = _library(tmp_path, {"a.md": "# Office\n\n" + "\n".join(items)}).answer(
        read_question("How long are ledger backups kept?")
    )
    assert found.investigation.outcome == "success"
    assert (found.passages[0].line, found.passages[0].text) == (153, items[150])


def test_greetings_are_chat(library: Library) -> None:
    found = library.answer(read_question("Hello!"))
    assert found.investigation.intent is Intent.CHAT
    assert found.passages == ()


@pytest.mark.parametrize("documents", [{}, {"a.md": ""}, {"a.md": "# Only a title"}, {"a.md": "\0binary"}])
def test_a_folder_that_says_nothing_answers_nothing(tmp_path: Path, documents: dict[str, str]) -> None:
    found = _library(tmp_path, documents).answer(read_question("Who approves refunds?"))
    assert found.investigation.outcome == "insufficient_evidence"
    assert "refunds" in found.missing


def test_one_file_is_enough(tmp_path: Path) -> None:
    library = _library(tmp_path, {"notes.txt": "The head of finance approves refunds."})
    assert library.answer(read_question("Who approves refunds?")).passages[0].path == "notes.txt"


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.md").write_text("# Secret\n\nThe head of finance approves refunds.\n")
    folder = tmp_path / "folder"
    folder.mkdir()
    os.symlink(tmp_path / "secret.md", folder / "a.md")
    library = Library.of(folder, ["a.md", "../secret.md", "missing.md"])
    assert library.answer(read_question("Who approves refunds?")).passages == ()


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
    found = Library.of(tmp_path, ["good.md", "bad.md"]).answer(read_question("Who approves refunds above 500 EUR?"))
    assert found.passages[0].path == "good.md"


@pytest.mark.parametrize(
    "question", ["", "?", "`", "(" * 4000, "a" * 100_000, "\0", "什么", "--", "[x](y) " * 500, "???!!!"]
)
def test_hostile_questions_do_no_harm(library: Library, question: str) -> None:
    assert isinstance(library.answer(read_question(question)), DocumentAnswer)


def test_threads_and_repetition_give_the_same_answers(tmp_path: Path) -> None:
    questions = [*(question for question, _, _ in ANSWERED), *(question for _, question in REFUSED)] * 4
    shared = _library(tmp_path, DOCUMENTS)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(shared.answer, map(read_question, questions)))
    again = Library.of(tmp_path, list(reversed(DOCUMENTS)))
    alone = [again.answer(read_question(question)) for question in questions]
    assert msgspec.json.encode(together) == msgspec.json.encode(alone)


def test_investigate_asks_the_sections_of_a_folder_of_documents(tmp_path: Path) -> None:
    _write(tmp_path, {"docs/refunds.md": DOCUMENTS["docs/refunds.md"]})
    found = investigate("Who has to sign off when we give a customer 600 euro back?", tmp_path)
    assert (found.outcome, found.sources[0].path) == ("success", "docs/refunds.md")


def test_investigate_leaves_code_to_code(tmp_path: Path) -> None:
    _write(tmp_path, {"docs/refunds.md": DOCUMENTS["docs/refunds.md"], "src/app.py": "def main() -> None: ...\n"})
    found = investigate("Who has to sign off when we give a customer 600 euro back?", tmp_path)
    assert found.outcome == "insufficient_evidence"


def test_a_passage_is_quoted_as_it_is_written(tmp_path: Path) -> None:
    text = (
        "# Deploying\n\nPromote by hand with `just promote <service>`, **never** in *secret*.\n\n"
        "| service | http | metrics |\n| --- | --- | --- |\n| courier | 8082 | 9102 |\n"
    )
    (tmp_path / "deploy.md").write_text(text, "utf-8")
    found = Library.of(tmp_path, ["deploy.md"]).answer(read_question("How do I promote a service by hand?"))
    assert found.passages[0].text == text.strip()
    assert "`just promote <service>`" in sections_of("deploy.md", text)[0].blocks[0].text
