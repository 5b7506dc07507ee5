"""Rules of knowledge files: which lines are rules, and which sessions obeyed them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound
from knowbound.core.statement import Rule, RuleVerdict
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Completion, ModelQuestion
from knowbound.judge.names import JudgeOptions
from knowbound.knowledge.deciding import check_of, required_runs
from knowbound.knowledge.rules import RuleHistory, RulesFound, check_rules, check_sessions
from knowbound.knowledge.statements import is_rule, lines_of
from knowbound.traces.turns import sessions_in
from tests.lessons.shop import Shop, make_shop
from tests.transcripts import Transcript


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return make_shop(tmp_path)


def rules_in(text: str) -> list[str]:
    return [one.text for one in lines_of("CLAUDE.md", text) if is_rule(one)]


def test_orders_and_prohibitions_are_rules_and_descriptions_are_not() -> None:
    text = (
        "# Shop\n\nThe cart is kept in memory. It has three parts.\n\n"
        "- Never push to `main`.\n- Run `pnpm test` before committing.\n- The API lives in `src/api`.\n"
        "- **Style**: use tabs.\n- No default exports.\n"
    )
    assert rules_in(text) == [
        "- Never push to `main`.",
        "- Run `pnpm test` before committing.",
        "- **Style**: use tabs.",
        "- No default exports.",
    ]


def test_the_command_below_a_rule_belongs_to_it() -> None:
    text = "At the end of any task, also run lint:\n```bash\npnpm lint  # all\n```\n\nDone.\n"
    assert rules_in(text) == ["At the end of any task, also run lint: `pnpm lint`"]


def test_a_command_below_a_finished_sentence_is_no_part_of_it() -> None:
    assert rules_in("Always run lint.\n```bash\npnpm dev\n```\n") == ["Always run lint."]


def edit(transcript: Transcript, path: str = "src/cart.ts", text: str = "x") -> Transcript:
    id_ = f"toolu_edit_{len(transcript.lines)}"
    given = {"file_path": f"{transcript.project}/{path}", "old_string": "a", "new_string": text}
    return transcript.calls("Edit", given, id_).result(id_, "The file has been updated.")


def run(transcript: Transcript, command: str, output: str = "ok", *, is_error: bool | None = None) -> None:
    id_ = f"toolu_run_{len(transcript.lines)}"
    transcript.calls("Bash", {"command": command}, id_).result(id_, output, is_error=is_error)


REFUSED = "The user doesn't want to proceed with this tool use. The tool use was rejected."
TEST_FIRST = "- Run `pnpm test` before committing."
AT_END = "- Run `pnpm test` after each code change."


@pytest.mark.parametrize(
    ("rule", "commands", "verdict"),
    [
        (TEST_FIRST, ["EDIT", "pnpm test", "git commit -m x"], RuleVerdict.OBEYED),
        (TEST_FIRST, ["EDIT", "npm run test && git -C . commit -m x"], RuleVerdict.OBEYED),
        (TEST_FIRST, ["EDIT", "pnpm test src/cart.test.ts", "git commit -m x"], RuleVerdict.PARTLY),
        (TEST_FIRST, ["EDIT", "pnpm test src/cart.test.ts && pnpm test", "git commit -m x"], RuleVerdict.OBEYED),
        (TEST_FIRST, ["EDIT", "pnpm test", "EDIT", "git commit -m x"], RuleVerdict.PARTLY),
        (TEST_FIRST, ["EDIT", "git commit -m x"], RuleVerdict.VIOLATED),
        (TEST_FIRST, ["EDIT", "REFUSED pnpm test", "git commit -m x"], RuleVerdict.VIOLATED),
        (TEST_FIRST, ["EDIT", "pnpm test"], None),
        (TEST_FIRST, ["git commit -m x"], None),
        (TEST_FIRST, ["EDIT", "pnpm run check", "git commit -m x"], None),
        (AT_END, ["EDIT", "pnpm test"], RuleVerdict.OBEYED),
        (AT_END, ["EDIT", "timeout 60 pnpm run test"], RuleVerdict.OBEYED),
        (AT_END, ["pnpm test", "EDIT"], RuleVerdict.PARTLY),
        (AT_END, ["EDIT", "ls"], RuleVerdict.VIOLATED),
        (AT_END, ["EDIT", "echo pnpm test"], RuleVerdict.VIOLATED),
        (AT_END, ["EDIT", "pnpm test", "sed -i s/a/b/ src/cart.ts"], RuleVerdict.PARTLY),
        ("- Use `pnpm`, not `npm`.", ["npm install"], RuleVerdict.VIOLATED),
        ("- Use `pnpm`, not `npm`.", ["pnpm install", "npm test"], RuleVerdict.PARTLY),
        ("- Use `pnpm`, not `npm`.", ["pnpm install"], RuleVerdict.OBEYED),
        ("- Use `pnpm`, not `npm`.", ["ls"], None),
        ("- Never run `git push --force`.", ["git push --force origin x"], RuleVerdict.VIOLATED),
        ("- Commits must follow Conventional Commits.", ['git commit -m "feat(cart): add"'], RuleVerdict.OBEYED),
        ("- Commits must follow Conventional Commits.", ['git commit -m "added"'], RuleVerdict.VIOLATED),
        ("- NEVER push directly to `main`.", ["git push origin main"], RuleVerdict.VIOLATED),
        ("- NEVER push directly to `main`.", ["git push origin feat/x"], RuleVerdict.OBEYED),
        ("- NEVER push directly to `main`.", ["git push"], None),
        ("- Do not edit files in `src/gen/`.", ["EDIT src/gen/api.ts"], RuleVerdict.VIOLATED),
        ("- Do not edit files in `src/gen/`.", ["EDIT"], None),
        ("- Read `docs/style.md` before you edit.", ["READ docs/style.md", "EDIT"], RuleVerdict.OBEYED),
        ("- Read `docs/style.md` before you edit.", ["git show :docs/style.md", "EDIT"], RuleVerdict.OBEYED),
        ("- Read `docs/style.md` before you edit.", ["EDIT", "READ docs/style.md"], RuleVerdict.PARTLY),
        ("- Read `docs/style.md` before you edit.", ["EDIT"], RuleVerdict.VIOLATED),
        ("- Read `docs/style.md` before you edit.", ["READ docs/other.md", "EDIT"], RuleVerdict.VIOLATED),
        ("- Read `docs/style.md` before you edit.", ["EDIT docs/style.md", "EDIT"], RuleVerdict.VIOLATED),
        ("- Read `docs/style.md` before you edit.", ["SAYS I know docs/style.md.", "EDIT"], RuleVerdict.VIOLATED),
    ],
)
def test_rules_decide_what_a_trace_shows(
    shop: Shop, rule: str, commands: list[str], verdict: RuleVerdict | None
) -> None:
    def tell(transcript: Transcript) -> None:
        for one in commands:
            word, _, rest = one.partition(" ")
            match word:
                case "EDIT":
                    edit(transcript, rest or "src/cart.ts")
                case "READ":
                    transcript.read(f"{transcript.project}/{rest}")
                case "SAYS":
                    transcript.says(rest)
                case "REFUSED":
                    run(transcript, rest, REFUSED, is_error=True)
                case _:
                    run(transcript, one)

    shop.write("CLAUDE.md", f"# Shop\n\n{rule}\n")
    shop.session(tell)
    (check,) = checked(shop).checks
    assert check.finding.verdict is verdict


@pytest.mark.parametrize(
    "rule",
    [
        "- Run `pnpm test` before committing if you changed the cart.",
        "- Keep functions short.",
        "- Never log keys.",
        "- Use `const` instead of `let`.",
        "- Always run `detect_changes()` before committing.",
        "- Prefer conventional commit style for the titles of PRs.",
        "- Do not default to the whole `bun run test` suite.",
    ],
)
def test_what_words_leave_open_is_not_decided_by_rules(rule: str) -> None:
    assert check_of(Rule("CLAUDE.md", 1, rule)) is None


def checked(shop: Shop, asker: Asker | None = None) -> RulesFound:
    return check_sessions(sessions_in([shop.traces]), RuleHistory(shop.root), asker)


def git(root: Path, *arguments: str, date: str = "2026-09-01T00:00:00Z") -> None:
    given = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date, "HOME": str(root), "PATH": "/usr/bin:/bin"}
    name = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    subprocess.run(["git", "-C", str(root), *name, *arguments], check=True, capture_output=True, env=given)


def test_a_session_is_held_to_the_file_of_its_day_and_of_its_agent(shop: Shop) -> None:
    git(shop.root, "init", "-q", "-b", "main")
    shop.write("CLAUDE.md", "# Shop\n\n- Never run `git push --force`.\n")
    shop.write("AGENTS.md", "- Never run `git gc`.\n")
    shop.write("web/CLAUDE.md", "- Use `pnpm`, not `npm`.\n")
    git(shop.root, "add", ".")
    git(shop.root, "commit", "-qm", "one")
    shop.write("CLAUDE.md", "# Shop\n\nWords.\n\n- Never run `git push --force` or `git reset --hard`.\n")
    git(shop.root, "commit", "-qam", "two", date="2026-10-02T00:00:00Z")
    shop.session(edit, day="2026-10-01")
    shop.session(lambda one: edit(one, "web/app.ts"), day="2026-10-03")
    found = {(one.started[:10], one.rule.file, one.rule.line) for one in checked(shop).checks}
    assert found == {
        ("2026-10-01", "CLAUDE.md", 3),
        ("2026-10-03", "CLAUDE.md", 5),
        ("2026-10-03", "web/CLAUDE.md", 1),
    }


@pytest.mark.parametrize(
    ("runs_before", "said", "reminded"),
    [
        (False, "pnpm test, please", True),
        (False, "You forgot the tests again.", False),  # it names nothing of the rule
        (True, "Never mind, pnpm test was slow again.", False),  # nothing was broken
    ],
)
def test_a_message_that_names_the_rule_after_a_breach_is_a_reminder(
    shop: Shop, runs_before: bool, said: str, reminded: bool
) -> None:
    shop.write("CLAUDE.md", f"# Shop\n\n{AT_END}\n")

    def tell(transcript: Transcript) -> None:
        edit(transcript)
        if runs_before:
            run(transcript, "pnpm test")
        transcript.says("Done.").user(said)
        run(transcript, "pnpm test")

    shop.session(tell)
    (check,) = checked(shop).checks
    assert check.reminded is reminded
    assert check.finding.verdict is RuleVerdict.OBEYED


def test_what_the_user_says_when_refusing_a_call_is_a_reminder(shop: Shop) -> None:
    shop.write("CLAUDE.md", "# Shop\n\n- Use `pnpm`, not `npm`.\n")
    refused = "The user doesn't want to proceed with this tool use. To proceed, the user said:\nuse pnpm"

    def tell(transcript: Transcript) -> None:
        run(transcript, "npm install")
        transcript.calls("Bash", {"command": "npm test"}, "toolu_r")
        transcript.result("toolu_r", refused, "User rejected tool use", is_error=True)
        run(transcript, "pnpm test")

    shop.session(tell)
    (check,) = checked(shop).checks
    assert check.reminded


class Scripted:
    """A model that answers with one function for each prompt."""

    def __init__(self, **answers: Callable[[ModelQuestion], object]) -> None:
        self.answers, self.asked = answers, list[ModelQuestion]()

    def complete(self, question: ModelQuestion, *, seconds: float) -> Completion:
        self.asked.append(question)
        return Completion(json.dumps(self.answers[question.prompt](question)), 0, 0, 0.0)


def lines_in(question: ModelQuestion) -> list[dict[str, str]]:
    return [json.loads(line) for line in question.inputs["entries"].splitlines()]


def test_a_model_decides_the_rest_and_a_verdict_without_a_quotation_does_not_count(shop: Shop) -> None:
    shop.write("CLAUDE.md", "# Shop\n\n- Name things well.\n- Write `const`.\n- Log nothing.\n- Words about a shop.\n")
    shop.session(lambda one: edit(one, text="let total = 1"))
    model = Scripted(
        rule_lines=lambda question: {
            "items": [
                {"id": one["id"], "rule": one["line"].startswith("-") and "Words" not in one["line"]}
                for one in lines_in(question)
            ]
        },
        rules=lambda question: {
            "rules": [
                {"number": 2, "verdict": "violated", "quote": "let total = 1"},
                {"number": 3, "verdict": "violated", "quote": "console.log(total)"},
                {"number": 9, "verdict": "violated", "quote": "let total = 1"},
            ]
        },
    )
    found = checked(shop, Asker("m", model, JudgeOptions(retries=0)))
    said = {one.rule.line: (one.finding.applicable, one.finding.verdict, one.finding.by) for one in found.checks}
    assert said == {3: (False, None, "m"), 4: (True, RuleVerdict.VIOLATED, "m"), 5: (None, None, "")}


def test_a_model_reads_which_calls_were_refused_or_failed(shop: Shop) -> None:
    shop.write("CLAUDE.md", "# Shop\n\n- Name things well.\n")

    def tell(transcript: Transcript) -> None:
        run(edit(transcript), "make a")
        run(transcript, "make b", REFUSED, is_error=True)
        run(transcript, "make c", "Exit code 2", is_error=True)

    shop.session(tell)
    model = Scripted(
        rule_lines=lambda question: {"items": [{"id": one["id"], "rule": True} for one in lines_in(question)]},
        rules=lambda question: {"rules": []},
    )
    checked(shop, Asker("m", model, JudgeOptions(retries=0)))
    record = model.asked[-1].inputs["record"]
    ran = [line.partition(" ")[2] for line in record.splitlines() if "make" in line]
    assert ran == ["ran: make a", "ran (refused by the user): make b", "ran (failed): make c"]


def test_the_rows_and_the_screen(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("CLAUDE.md", f"# Shop\n\n{AT_END}\n- Keep functions short.\n")
    shop.session(edit)
    shop.session(lambda one: run(edit(one), "pnpm test"))
    monkeypatch.chdir(shop.root)
    given = ["rules", str(shop.traces), "--root", str(shop.root), "--model", "none"]
    ran = CliRunner().invoke(knowbound, [*given, "--format", "jsonl"])
    assert ran.exit_code == 0, ran.output
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    wanted = {"file", "line", "rule", "session", "applicable", "verdict", "at_line", "calls_before", "reminded", "by"}
    assert all(wanted <= set(row) for row in rows)
    assert sorted(row["verdict"] or "" for row in rows) == ["", "", "obeyed", "violated"]
    assert {row["by"] for row in rows if row["verdict"] is None} == {None}
    screen = CliRunner().invoke(knowbound, given).stdout
    assert screen.startswith("1. CLAUDE.md:3  - Run `pnpm test` after each code change.\n   violated in 1 session")
    assert "2 rules in 2 of 2 sessions: 2 cases decided" in screen
    assert "2 cases nobody decided" in screen


def test_a_second_run_comes_from_the_store(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.write("CLAUDE.md", f"# Shop\n\n{AT_END}\n")
    shop.session(edit)
    first = check_rules([shop.traces], shop.settings(), root_is_given=True)
    monkeypatch.setattr("knowbound.knowledge.rules.check_sessions", None)
    assert check_rules([shop.traces], shop.settings(), root_is_given=True) == first


def test_records_are_ordered_as_they_happened_whatever_their_lines(shop: Shop) -> None:
    """The lines of a resumed session begin again in its second file."""
    shop.write("CLAUDE.md", f"# Shop\n\n{AT_END}\n")

    def tell(transcript: Transcript) -> None:
        for _ in range(6):
            run(edit(transcript), "ls")
        run(transcript, "pnpm test")

    session = shop.session(tell)
    first = shop.traces / f"{session}.jsonl"
    lines = first.read_text("utf-8").splitlines()
    first.write_text("\n".join(lines[:-1]) + "\n", "utf-8")
    (shop.traces / "later.jsonl").write_text(lines[-1].replace("10:00:", "10:30:") + "\n", "utf-8")
    (check,) = checked(shop).checks
    assert check.finding.verdict is RuleVerdict.OBEYED


@pytest.mark.parametrize("command", ["ls", "pnpm test"])
def test_a_session_that_was_interrupted_broke_no_rule_about_its_end(shop: Shop, command: str) -> None:
    shop.write("CLAUDE.md", f"# Shop\n\n{AT_END}\n")
    path = shop.traces / f"{shop.session(lambda one: run(edit(one), command))}.jsonl"
    path.write_text("\n".join(path.read_text("utf-8").splitlines()[:-1]) + "\n", "utf-8")  # without the last words
    (check,) = checked(shop).checks
    ran, open_ = (
        (RuleVerdict.OBEYED, "`pnpm test` ran after the last edit"),
        (None, "the session ends before the work did"),
    )
    assert (check.finding.verdict, check.finding.why) == (ran if command == "pnpm test" else open_)


@pytest.mark.parametrize("length", [80, 81])
def test_a_command_longer_than_80_characters_is_cut_where_a_finding_shows_it(shop: Shop, length: int) -> None:
    shop.write("CLAUDE.md", "# Shop\n\n- NEVER push directly to `main`.\n")
    command = "git push origin main  # ".ljust(length, "x")
    shop.session(lambda one: run(one, command))
    (check,) = checked(shop).checks
    assert check.finding.why == f"`{command[:80]}{'…' if length > 80 else ''}`"


def test_a_hook_of_the_commit_may_have_run_it_and_a_wrapper_runs_it(shop: Shop) -> None:
    shop.write("CLAUDE.md", f"# Shop\n\n{AT_END}\n")
    shop.session(lambda one: run(edit(one), "git commit -m x", "husky: pre-commit\n12 pass"))
    shop.session(lambda one: run(edit(one), "rtk test pnpm run test"))
    shop.session(lambda one: run(edit(one), 'echo "pnpm test"'))
    verdicts = {one.session[:8]: one.finding.verdict for one in checked(shop).checks}
    assert list(verdicts.values()) == [None, RuleVerdict.OBEYED, RuleVerdict.VIOLATED]


def test_a_provider_that_did_not_see_a_session_is_not_asked_about_it(shop: Shop) -> None:
    shop.write("CLAUDE.md", "# Shop\n\n- Write `const`.\n")
    shop.session(edit)
    model = Scripted(
        rule_lines=lambda question: {"items": [{"id": one["id"], "rule": True} for one in lines_in(question)]}
    )
    asker = Asker("m", model, JudgeOptions(retries=0))
    found = check_sessions(sessions_in([shop.traces]), RuleHistory(shop.root), asker, lambda _agent: False)
    assert {question.prompt for question in model.asked} == {"rule_lines"}
    assert all(one.finding.by == "" for one in found.checks)


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("Always run `make lint` before you commit.", [("make", "lint")]),
        ("Run `make lint` and `make test` before you commit.", [("make", "lint"), ("make", "test")]),
        ("Run `make a`, `make b`, and then `make c` before you commit.", [("make", "a"), ("make", "b"), ("make", "c")]),
        ("Run `make lint` or `make test` before you commit.", []),
        ("Run `make lint` before you commit, if you touched Go.", []),
        ("Prefer short names.", []),
    ],
)
def test_a_rule_names_the_commands_that_it_wants_to_have_run(text: str, commands: list[tuple[str, ...]]) -> None:
    assert required_runs(Rule("CLAUDE.md", 1, text)) == commands
