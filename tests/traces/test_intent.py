"""What a call that missed was for, from the call alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.trace import LOOKUPS, MISSES, Intent, Kind, Outcome
from knowbound.traces.calls import finish_call
from knowbound.traces.intent import asks_whether
from knowbound.traces.shell.lookup import read_shell

# Calls of agents' own tools, with results that say that nothing was found.
TOOLS: list[tuple[str, dict[str, Any], Intent]] = [
    ("Grep", {"pattern": "loadLedger", "path": "src"}, Intent.LOOKUP),
    ("Grep", {"pattern": 'loadLedger"', "path": "src"}, Intent.MALFORMED),
    ("Grep", {"pattern": r"load\|save"}, Intent.MALFORMED),
    ("Grep", {"pattern": "onSave={save}"}, Intent.MALFORMED),
    ("Grep", {"pattern": "-C3", "path": "src/a.go"}, Intent.MALFORMED),
    ("Grep", {"pattern": "*.ts"}, Intent.MALFORMED),
    ("Grep", {"pattern": "load", "glob": '**/.env"'}, Intent.MALFORMED),
    ("Grep", {"pattern": "load", "type": "tsx"}, Intent.MALFORMED),
    ("Grep", {"pattern": "load", "type": "ts,tsx"}, Intent.MALFORMED),
    ("Grep", {"pattern": "load", "type": "ts"}, Intent.LOOKUP),
    ("Grep", {"pattern": r"a\nb", "multiline": True}, Intent.LOOKUP),
    ("Grep", {"pattern": r"a\nb"}, Intent.MALFORMED),
    ("Grep", {"pattern": "load", "output_mode": "count"}, Intent.CHECK),
    ("Grep", {"pattern": "load", "path": "/tmp/run"}, Intent.INCIDENTAL),
    ("Grep", {"pattern": 'load"', "path": "/tmp/run"}, Intent.MALFORMED),
    ("Grep", {"pattern": "load", "path": "/tmp/run", "output_mode": "count"}, Intent.INCIDENTAL),
    ("Glob", {"pattern": "**/ledger*.ts"}, Intent.LOOKUP),
    ("Glob", {"pattern": '"*ledger*"'}, Intent.MALFORMED),
    ("Glob", {"pattern": r".*ledger\.ts$"}, Intent.MALFORMED),
    ("Glob", {"pattern": "/var/folders/x1/**/*.json"}, Intent.INCIDENTAL),
    ("grep_search", {"query": r"load\|save"}, Intent.MALFORMED),
    ("search_file_content", {"pattern": r"load\|save"}, Intent.MALFORMED),
    ("mcp__notes__search", {"query": r'load\|save"'}, Intent.LOOKUP),  # its syntax is not known
    ("mcp__notes__search", {"query": "ledger", "description": "Check if a ledger exists"}, Intent.CHECK),
]


@pytest.mark.parametrize(("name", "input_", "intent"), TOOLS)
def test_intent_of_a_tool_that_found_nothing(name: str, input_: dict[str, Any], intent: Intent) -> None:
    call = finish_call("c1", name, input_, "No matches found")
    assert (call.outcome, call.intent) == (Outcome.EMPTY, intent)


@pytest.mark.parametrize(("name", "input_", "intent"), TOOLS)
def test_a_call_that_found_something_has_no_other_intent(name: str, input_: dict[str, Any], intent: Intent) -> None:
    call = finish_call("c1", name, input_, "src/a.ts:3:load")
    assert (call.outcome, call.intent) == (Outcome.OK, Intent.LOOKUP)


@pytest.mark.parametrize(
    ("path", "intent"),
    [
        ("src/ledger.ts", Intent.LOOKUP),
        ("/Users/kim/code/app/src/ledger.ts", Intent.LOOKUP),
        ("/home/kim/app/docs/ledger.md", Intent.LOOKUP),
        ("/home/kim/.claude/skills/ledger/SKILL.md", Intent.LOOKUP),
        ("~/.claude/CLAUDE.md", Intent.LOOKUP),
        ("/tmp/app/CLAUDE.md", Intent.LOOKUP),
        ("node_modules/ledger/index.d.ts", Intent.LOOKUP),
        ("logging/log.go", Intent.LOOKUP),
        ("src/distance/a.ts", Intent.LOOKUP),
        ("/private/tmp/run/out.json", Intent.INCIDENTAL),
        ("/var/folders/x1/T/out.json", Intent.INCIDENTAL),
        ("$TMPDIR/out.json", Intent.INCIDENTAL),
        ("logs/server.log", Intent.INCIDENTAL),
        ("logs/server.log.1", Intent.INCIDENTAL),
        ("packages/app/dist/index.js", Intent.INCIDENTAL),
        ("node_modules/.cache/x", Intent.INCIDENTAL),
        ("target/debug/app", Intent.INCIDENTAL),
        (".git/hooks/pre-push", Intent.INCIDENTAL),
        ("/run/user/1000/frob.sock", Intent.INCIDENTAL),
        ("~/.config/frob/state.json", Intent.INCIDENTAL),
        ("/Users/kim/Library/Application Support/frob/x", Intent.INCIDENTAL),
        ('src/ledger.ts"', Intent.MALFORMED),
    ],
)
def test_intent_of_a_file_that_is_not_there(path: str, intent: Intent) -> None:
    call = finish_call("c1", "Read", {"file_path": path}, "File does not exist.", is_error=True)
    assert (call.outcome, call.intent) == (Outcome.MISSING, intent)


SHELL: list[tuple[str, str, Intent]] = [
    ("grep -rn loadLedger lib", "", Intent.LOOKUP),
    ("rg loadLedger || true", "", Intent.LOOKUP),
    ("grep -rn loadLedger lib 2>/dev/null | head -5", "", Intent.LOOKUP),
    ("cat a.ts | grep loadLedger", "", Intent.LOOKUP),
    ("ls lib | grep ledger", "", Intent.LOOKUP),
    ("find . -name '*.ts' | xargs grep loadLedger", "", Intent.LOOKUP),
    ("git ls-files | grep ledger", "", Intent.LOOKUP),
    ("git show main:a.ts | grep loadLedger", "", Intent.LOOKUP),
    ("git log -S loadLedger", "", Intent.LOOKUP),
    ("frobctl --help | grep retry", "", Intent.LOOKUP),  # documentation
    ("man frob | grep retry", "", Intent.LOOKUP),
    ("npx jest --listTests | grep ledger", "", Intent.LOOKUP),
    ("tar -tf ledger.tar | grep ledger.ts", "", Intent.LOOKUP),
    ("go doc frob | grep Retry", "", Intent.LOOKUP),
    ("gh issue list --search 'ledger drift'", "", Intent.LOOKUP),
    ("cat docs/ledger.md", "", Intent.LOOKUP),
    ("ls -1t plans/*.md 2>/dev/null", "Find the newest plan", Intent.LOOKUP),
    ("ls CHANGELOG* 2>/dev/null || echo none", "Find the changelog", Intent.LOOKUP),
    ("ls plans 2>/dev/null; grep -rn ledger src", "", Intent.LOOKUP),
    # either answer was expected
    ("ls plans || echo none", "", Intent.CHECK),
    ("ls plans 2>/dev/null || echo 'not found'", "", Intent.CHECK),
    ("grep -rn ledger src || echo 'not found'", "", Intent.CHECK),
    ("ls plans && cat plans/a.md || echo none", "", Intent.CHECK),
    ("test -f a.toml && echo exists || echo missing", "", Intent.CHECK),
    ("[ -d lib ] && ls lib", "", Intent.CHECK),
    ("if [ -f a.toml ]; then cat a.toml; fi", "", Intent.CHECK),
    ("grep -q ledger a.ts && echo yes", "", Intent.CHECK),
    ("grep -c ledger a.ts", "", Intent.CHECK),
    ("grep -rl ledger src | wc -l", "", Intent.CHECK),
    ("ls plans 2>/dev/null", "", Intent.CHECK),
    ("cat a.toml 2>/dev/null", "", Intent.CHECK),
    ("grep -rn ledger src", "Check if the ledger is used", Intent.CHECK),
    ("grep -rn ledger src", "Check for ledger tests", Intent.CHECK),
    ("ls plans", "Check for existing plans", Intent.CHECK),
    ("ls plans", "Check existing plans", Intent.LOOKUP),
    ("ls -la app 2>/dev/null | head", "Examine the app's structure", Intent.LOOKUP),
    ("grep -rn ledger src", "Find the ledger", Intent.LOOKUP),
    ("grep -rn ledger src", "Check the ledger's tests", Intent.LOOKUP),
    # the pattern is wrong
    (r"rg 'load\|save' src", "", Intent.MALFORMED),
    (r"grep -E 'load\|save' src", "", Intent.MALFORMED),
    (r"grep -rn 'load\|save' src", "", Intent.LOOKUP),
    ("grep -rn 'load|save' src", "", Intent.MALFORMED),
    ("grep -rnE 'load|save' src", "", Intent.LOOKUP),
    ("egrep 'load|save' src", "", Intent.LOOKUP),
    (r"grep -rn 'load\\.save' src", "", Intent.MALFORMED),
    (r'grep -rn "load\\.save" src', "", Intent.LOOKUP),  # the shell takes one backslash
    (r'grep -l "app/cli\"" src', "", Intent.LOOKUP),  # the quote is escaped on purpose
    ("find . -name 'load|save'", "", Intent.MALFORMED),
    ("find . -regex '.*load.*'", "", Intent.LOOKUP),
    ("grep -rn '*.ts' src", "", Intent.MALFORMED),
    ("cat a.ts | grep 'load|save'", "", Intent.MALFORMED),
    ("grep -q 'load|save' a.ts && echo yes", "Check if it is there", Intent.MALFORMED),
    ("git log | grep 'load|save'", "", Intent.MALFORMED),
    # no lookup of knowledge
    ("git log --oneline | grep ledger", "", Intent.INCIDENTAL),
    ("git diff | grep ledger", "Check for the ledger", Intent.INCIDENTAL),
    ("git branch -a | grep ledger || echo none", "", Intent.INCIDENTAL),
    ("git branch --list 'ledger/*'", "", Intent.INCIDENTAL),
    ("gh run view 7 --log | grep ledger", "", Intent.INCIDENTAL),
    ("gh pr list --head ledger", "Check for an existing pull request", Intent.INCIDENTAL),
    ("go test ./... | grep FAIL", "", Intent.INCIDENTAL),
    ("npm test | grep FAIL", "Find the failing tests", Intent.INCIDENTAL),
    ("npm ls | grep ledger", "", Intent.INCIDENTAL),
    ("pip show ledger", "", Intent.INCIDENTAL),
    ("curl -s https://example.org | grep ledger", "", Intent.INCIDENTAL),
    ("ps aux | grep ledgerd", "", Intent.INCIDENTAL),
    ("lsof -i :8080 | grep node", "", Intent.INCIDENTAL),
    ("which ledgerctl", "", Intent.INCIDENTAL),
    ("command -v ledgerctl || echo none", "", Intent.INCIDENTAL),
    ("stat a.ts", "", Intent.INCIDENTAL),
    ("cat /tmp/out.txt | grep ledger", "", Intent.INCIDENTAL),
    ("grep ERROR server.log", "", Intent.INCIDENTAL),
    ("ls ~/.cache/ledger 2>/dev/null || echo none", "", Intent.INCIDENTAL),
    ("grep ledger /tmp/out.txt src/a.ts", "", Intent.LOOKUP),  # one of them is the project's
]


@pytest.mark.parametrize(("command", "purpose", "intent"), SHELL)
def test_intent_of_a_command_line_that_found_nothing(command: str, purpose: str, intent: Intent) -> None:
    reading = read_shell(command, "", "", 1, None, purpose)
    assert reading.outcome in MISSES
    assert reading.intent is intent, reading


@pytest.mark.parametrize(
    ("name", "input_"),
    [
        ("Read", {"file_path": "/tmp/work/app/src/ledger.ts"}),
        ("Grep", {"pattern": "ledger", "path": "/tmp/work/app/src"}),
        ("Bash", {"command": "grep -rn ledger /tmp/work/app/src"}),
    ],
)
def test_a_project_below_a_temporary_folder_is_a_project(name: str, input_: dict[str, Any]) -> None:
    result = f"{next(iter(input_.values()))}: No such file or directory"
    for folder, intent in (("/tmp/work/app", Intent.LOOKUP), ("/tmp/work/other", Intent.INCIDENTAL)):
        call = finish_call("c1", name, input_, result if name == "Read" else "", is_error=True, folder=folder)
        assert (call.outcome in MISSES, call.intent) == (True, intent)


def test_the_reason_says_what_is_wrong_with_a_malformed_call() -> None:
    stray = finish_call("c1", "Grep", {"pattern": 'load"'}, "No matches found")
    bar = finish_call("c2", "Bash", {"command": "grep 'load|save' a.ts"}, "", exit_code=1)
    assert stray.reason == "a stray quote at the end of the pattern"
    assert bar.reason == "`|` is a literal bar without -E"


def test_what_the_client_decided_otherwise_has_no_intent() -> None:
    running = (Outcome.UNKNOWN, "still running")
    for command in ("ls plans || echo none", "make | grep warning"):
        call = finish_call("c1", "Bash", {"command": command}, "", exit_code=0, outcome=running)
        assert (call.outcome, call.intent) == (Outcome.UNKNOWN, Intent.LOOKUP)
    assert call.kind is Kind.SHELL


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("Check if the folder exists", True),
        ("See whether a plan is there", True),
        ("Verify the file exists", True),
        ("Check for duplicate issues", True),
        ("Is there a changelog?", True),
        ("检查目录是否存在", True),
        ("Look for the login handler", False),
        ("Find existing tests", False),
        ("Check the layout", False),
        ("Test the parser", False),
        ("", False),
    ],
)
def test_texts_that_ask_whether_something_is_there(text: str, asks: bool) -> None:
    assert asks_whether(text) is asks


LINES = st.sampled_from([command for command, _, _ in SHELL])


@given(
    LINES, st.sampled_from(["", "Check if it is there", "Find it"]), st.text(max_size=40), st.sampled_from([0, 1, 2])
)
def test_only_a_miss_has_an_intent(command: str, purpose: str, output: str, code: int) -> None:
    reading = read_shell(command, output, "", code, None, purpose)
    assert reading.intent is Intent.LOOKUP or (reading.kind in LOOKUPS and reading.outcome in MISSES)


@given(LINES, st.sampled_from(["", "ledger", "none"]), st.sampled_from([0, 1]))
def test_what_the_agent_asks_changes_no_outcome_of_a_lookup(command: str, output: str, code: int) -> None:
    plain = read_shell(command, output, "", code, None, "")
    asked = read_shell(command, output, "", code, None, "Check if it is there")
    if plain.outcome in MISSES:
        assert (asked.kind, asked.outcome, asked.query) == (plain.kind, plain.outcome, plain.query)
