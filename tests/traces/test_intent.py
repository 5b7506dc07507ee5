"""What a call that missed was for, from the call alone."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.trace import LOOKUPS, MISSES, LookupIntent, Outcome, ToolKind
from knowbound.traces.calls.finish import finish_call
from knowbound.traces.calls.intent import asks_whether
from knowbound.traces.shell.lookup import read_shell

# Calls of agents' own tools, with results that say that nothing was found.
TOOLS: list[tuple[str, dict[str, Any], LookupIntent]] = [
    ("Grep", {"pattern": "loadLedger", "path": "src"}, LookupIntent.LOOKUP),
    ("Grep", {"pattern": 'loadLedger"', "path": "src"}, LookupIntent.MALFORMED),
    ("Grep", {"pattern": r"load\|save"}, LookupIntent.MALFORMED),
    ("Grep", {"pattern": "onSave={save}"}, LookupIntent.MALFORMED),
    ("Grep", {"pattern": "-C3", "path": "src/a.go"}, LookupIntent.MALFORMED),
    ("Grep", {"pattern": "*.ts"}, LookupIntent.MALFORMED),
    ("Grep", {"pattern": "load", "glob": '**/.env"'}, LookupIntent.MALFORMED),
    ("Grep", {"pattern": "load", "type": "tsx"}, LookupIntent.MALFORMED),
    ("Grep", {"pattern": "load", "type": "ts,tsx"}, LookupIntent.MALFORMED),
    ("Grep", {"pattern": "load", "type": "ts"}, LookupIntent.LOOKUP),
    ("Grep", {"pattern": r"a\nb", "multiline": True}, LookupIntent.LOOKUP),
    ("Grep", {"pattern": r"a\nb"}, LookupIntent.MALFORMED),
    ("Grep", {"pattern": "load", "output_mode": "count"}, LookupIntent.CHECK),
    ("Grep", {"pattern": "load", "path": "/tmp/run"}, LookupIntent.INCIDENTAL),
    ("Grep", {"pattern": 'load"', "path": "/tmp/run"}, LookupIntent.MALFORMED),
    ("Grep", {"pattern": "load", "path": "/tmp/run", "output_mode": "count"}, LookupIntent.INCIDENTAL),
    ("Glob", {"pattern": "**/ledger*.ts"}, LookupIntent.LOOKUP),
    ("Glob", {"pattern": '"*ledger*"'}, LookupIntent.MALFORMED),
    ("Glob", {"pattern": r".*ledger\.ts$"}, LookupIntent.MALFORMED),
    ("Glob", {"pattern": "/var/folders/x1/**/*.json"}, LookupIntent.INCIDENTAL),
    ("grep_search", {"query": r"load\|save"}, LookupIntent.MALFORMED),
    ("search_file_content", {"pattern": r"load\|save"}, LookupIntent.MALFORMED),
    ("mcp__notes__search", {"query": r'load\|save"'}, LookupIntent.LOOKUP),  # its syntax is not known
    ("mcp__notes__search", {"query": "ledger", "description": "Check if a ledger exists"}, LookupIntent.CHECK),
]


@pytest.mark.parametrize(("name", "input_", "intent"), TOOLS)
def test_intent_of_a_tool_that_found_nothing(name: str, input_: dict[str, Any], intent: LookupIntent) -> None:
    call = finish_call("c1", name, input_, "No matches found")
    assert (call.outcome, call.intent) == (Outcome.EMPTY, intent)


@pytest.mark.parametrize(("name", "input_", "intent"), TOOLS)
def test_a_call_that_found_something_has_no_other_intent(
    name: str, input_: dict[str, Any], intent: LookupIntent
) -> None:
    call = finish_call("c1", name, input_, "src/a.ts:3:load")
    assert (call.outcome, call.intent) == (Outcome.OK, LookupIntent.LOOKUP)


@pytest.mark.parametrize(
    ("path", "intent"),
    [
        ("src/ledger.ts", LookupIntent.LOOKUP),
        ("/Users/kim/code/app/src/ledger.ts", LookupIntent.LOOKUP),
        ("/home/kim/app/docs/ledger.md", LookupIntent.LOOKUP),
        ("/home/kim/.claude/skills/ledger/SKILL.md", LookupIntent.LOOKUP),
        ("~/.claude/CLAUDE.md", LookupIntent.LOOKUP),
        ("/tmp/app/CLAUDE.md", LookupIntent.LOOKUP),
        ("node_modules/ledger/index.d.ts", LookupIntent.LOOKUP),
        ("logging/log.go", LookupIntent.LOOKUP),
        ("src/distance/a.ts", LookupIntent.LOOKUP),
        ("/private/tmp/run/out.json", LookupIntent.INCIDENTAL),
        ("/var/folders/x1/T/out.json", LookupIntent.INCIDENTAL),
        ("$TMPDIR/out.json", LookupIntent.INCIDENTAL),
        ("logs/server.log", LookupIntent.INCIDENTAL),
        ("logs/server.log.1", LookupIntent.INCIDENTAL),
        ("packages/app/dist/index.js", LookupIntent.INCIDENTAL),
        ("node_modules/.cache/x", LookupIntent.INCIDENTAL),
        ("target/debug/app", LookupIntent.INCIDENTAL),
        (".git/hooks/pre-push", LookupIntent.INCIDENTAL),
        ("/run/user/1000/frob.sock", LookupIntent.INCIDENTAL),
        ("~/.config/frob/state.json", LookupIntent.INCIDENTAL),
        ("/Users/kim/Library/Application Support/frob/x", LookupIntent.INCIDENTAL),
        ('src/ledger.ts"', LookupIntent.MALFORMED),
    ],
)
def test_intent_of_a_file_that_is_not_there(path: str, intent: LookupIntent) -> None:
    call = finish_call("c1", "Read", {"file_path": path}, "File does not exist.", is_error=True)
    assert (call.outcome, call.intent) == (Outcome.MISSING, intent)


SHELL: list[tuple[str, str, LookupIntent]] = [
    ("grep -rn loadLedger lib", "", LookupIntent.LOOKUP),
    ("rg loadLedger || true", "", LookupIntent.LOOKUP),
    ("grep -rn loadLedger lib 2>/dev/null | head -5", "", LookupIntent.LOOKUP),
    ("cat a.ts | grep loadLedger", "", LookupIntent.LOOKUP),
    ("ls lib | grep ledger", "", LookupIntent.LOOKUP),
    ("find . -name '*.ts' | xargs grep loadLedger", "", LookupIntent.LOOKUP),
    ("git ls-files | grep ledger", "", LookupIntent.LOOKUP),
    ("git show main:a.ts | grep loadLedger", "", LookupIntent.LOOKUP),
    ("git log -S loadLedger", "", LookupIntent.LOOKUP),
    ("frobctl --help | grep retry", "", LookupIntent.LOOKUP),  # documentation
    ("man frob | grep retry", "", LookupIntent.LOOKUP),
    ("npx jest --listTests | grep ledger", "", LookupIntent.LOOKUP),
    ("tar -tf ledger.tar | grep ledger.ts", "", LookupIntent.LOOKUP),
    ("go doc frob | grep Retry", "", LookupIntent.LOOKUP),
    ("gh issue list --search 'ledger drift'", "", LookupIntent.LOOKUP),
    ("cat docs/ledger.md", "", LookupIntent.LOOKUP),
    ("ls -1t plans/*.md 2>/dev/null", "Find the newest plan", LookupIntent.LOOKUP),
    ("ls CHANGELOG* 2>/dev/null || echo none", "Find the changelog", LookupIntent.LOOKUP),
    ("ls plans 2>/dev/null; grep -rn ledger src", "", LookupIntent.LOOKUP),
    # either answer was expected
    ("ls plans || echo none", "", LookupIntent.CHECK),
    ("ls plans 2>/dev/null || echo 'not found'", "", LookupIntent.CHECK),
    ("grep -rn ledger src || echo 'not found'", "", LookupIntent.CHECK),
    ("ls plans && cat plans/a.md || echo none", "", LookupIntent.CHECK),
    ("test -f a.toml && echo exists || echo missing", "", LookupIntent.CHECK),
    ("[ -d lib ] && ls lib", "", LookupIntent.CHECK),
    ("if [ -f a.toml ]; then cat a.toml; fi", "", LookupIntent.CHECK),
    ("grep -q ledger a.ts && echo yes", "", LookupIntent.CHECK),
    ("grep -c ledger a.ts", "", LookupIntent.CHECK),
    ("grep -rl ledger src | wc -l", "", LookupIntent.CHECK),
    ("ls plans 2>/dev/null", "", LookupIntent.CHECK),
    ("cat a.toml 2>/dev/null", "", LookupIntent.CHECK),
    ("grep -rn ledger src", "Check if the ledger is used", LookupIntent.CHECK),
    ("grep -rn ledger src", "Check for ledger tests", LookupIntent.CHECK),
    ("ls plans", "Check for existing plans", LookupIntent.CHECK),
    ("ls plans", "Check existing plans", LookupIntent.LOOKUP),
    ("ls -la app 2>/dev/null | head", "Examine the app's structure", LookupIntent.LOOKUP),
    ("grep -rn ledger src", "Find the ledger", LookupIntent.LOOKUP),
    ("grep -rn ledger src", "Check the ledger's tests", LookupIntent.LOOKUP),
    # the pattern is wrong
    (r"rg 'load\|save' src", "", LookupIntent.MALFORMED),
    (r"grep -E 'load\|save' src", "", LookupIntent.MALFORMED),
    (r"grep -rn 'load\|save' src", "", LookupIntent.LOOKUP),
    ("grep -rn 'load|save' src", "", LookupIntent.MALFORMED),
    ("grep -rnE 'load|save' src", "", LookupIntent.LOOKUP),
    ("egrep 'load|save' src", "", LookupIntent.LOOKUP),
    (r"grep -rn 'load\\.save' src", "", LookupIntent.MALFORMED),
    (r'grep -rn "load\\.save" src', "", LookupIntent.LOOKUP),  # the shell takes one backslash
    (r'grep -l "app/cli\"" src', "", LookupIntent.LOOKUP),  # the quote is escaped on purpose
    ("find . -name 'load|save'", "", LookupIntent.MALFORMED),
    ("find . -regex '.*load.*'", "", LookupIntent.LOOKUP),
    ("grep -rn '*.ts' src", "", LookupIntent.MALFORMED),
    ("cat a.ts | grep 'load|save'", "", LookupIntent.MALFORMED),
    ("grep -q 'load|save' a.ts && echo yes", "Check if it is there", LookupIntent.MALFORMED),
    ("git log | grep 'load|save'", "", LookupIntent.MALFORMED),
    # no lookup of knowledge
    ("git log --oneline | grep ledger", "", LookupIntent.INCIDENTAL),
    ("git diff | grep ledger", "Check for the ledger", LookupIntent.INCIDENTAL),
    ("git branch -a | grep ledger || echo none", "", LookupIntent.INCIDENTAL),
    ("git branch --list 'ledger/*'", "", LookupIntent.INCIDENTAL),
    ("gh run view 7 --log | grep ledger", "", LookupIntent.INCIDENTAL),
    ("gh pr list --head ledger", "Check for an existing pull request", LookupIntent.INCIDENTAL),
    ("go test ./... | grep FAIL", "", LookupIntent.INCIDENTAL),
    ("npm test | grep FAIL", "Find the failing tests", LookupIntent.INCIDENTAL),
    ("npm ls | grep ledger", "", LookupIntent.INCIDENTAL),
    ("pip show ledger", "", LookupIntent.INCIDENTAL),
    ("curl -s https://example.org | grep ledger", "", LookupIntent.INCIDENTAL),
    ("ps aux | grep ledgerd", "", LookupIntent.INCIDENTAL),
    ("lsof -i :8080 | grep node", "", LookupIntent.INCIDENTAL),
    ("which ledgerctl", "", LookupIntent.INCIDENTAL),
    ("command -v ledgerctl || echo none", "", LookupIntent.INCIDENTAL),
    ("stat a.ts", "", LookupIntent.INCIDENTAL),
    ("cat /tmp/out.txt | grep ledger", "", LookupIntent.INCIDENTAL),
    ("grep ERROR server.log", "", LookupIntent.INCIDENTAL),
    ("ls ~/.cache/ledger 2>/dev/null || echo none", "", LookupIntent.INCIDENTAL),
    ("grep ledger /tmp/out.txt src/a.ts", "", LookupIntent.LOOKUP),  # one of them is the project's
]


@pytest.mark.parametrize(("command", "purpose", "intent"), SHELL)
def test_intent_of_a_command_line_that_found_nothing(command: str, purpose: str, intent: LookupIntent) -> None:
    reading = read_shell(command, "", 1, None, purpose)
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
    for folder, intent in (("/tmp/work/app", LookupIntent.LOOKUP), ("/tmp/work/other", LookupIntent.INCIDENTAL)):
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
        assert (call.outcome, call.intent) == (Outcome.UNKNOWN, LookupIntent.LOOKUP)
    assert call.kind is ToolKind.SHELL


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
    reading = read_shell(command, output, code, None, purpose)
    assert reading.intent is LookupIntent.LOOKUP or (reading.kind in LOOKUPS and reading.outcome in MISSES)


@given(LINES, st.sampled_from(["", "ledger", "none"]), st.sampled_from([0, 1]))
def test_what_the_agent_asks_changes_no_outcome_of_a_lookup(command: str, output: str, code: int) -> None:
    plain = read_shell(command, output, code, None, "")
    asked = read_shell(command, output, code, None, "Check if it is there")
    if plain.outcome in MISSES:
        assert (asked.kind, asked.outcome, asked.query) == (plain.kind, plain.outcome, plain.query)
