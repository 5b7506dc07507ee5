"""What shell commands looked for and how they ended: one row per habit of agents and shells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.trace import LOOKUPS, MISSES, LookupIntent, Outcome, ToolKind
from knowbound.traces.calls.finish import MAX_SHELL_PATHS, finish_call
from knowbound.traces.calls.intent import speaks_of_absence
from knowbound.traces.shell.lookup import read_shell, split_exit_code

NO_FILE = "No such file or directory"

# command, output, exit code, what is read
ROWS: list[tuple[str, str, int | None, str]] = [
    # grep and its family
    ("grep -rn 'loadLedger' lib", "", 1, "search empty"),
    ("grep -rn 'loadLedger' lib", "lib/a.py:3:def loadLedger():", 0, "search ok"),
    ("grep -n loadLedger lib/a.py", f"grep: lib/a.py: {NO_FILE}", 2, "search missing"),
    ("grep -E 'a(b' lib/a.py", "grep: Unmatched ( or \\(", 2, "search error"),
    ("grep --frob x lib", "grep: unrecognized option '--frob'\nUsage: grep [OPTION]...", 2, "search error"),
    ("grep -r secret /root", "grep: /root: Permission denied", 2, "search error"),
    ("egrep 'x|y' notes.txt", "", 1, "search empty"),
    ("zgrep panic old.log.gz", "", 1, "search empty"),
    ("rg Frobnicate", "", 1, "search empty"),
    ("rg 'fn (' src", "rg: regex parse error:\n    (?:fn ()\n    ^\nerror: unclosed group", 2, "search error"),
    ("rg --frob x", "rg: unrecognized flag --frob", 2, "search error"),
    ("rg x nowhere", f"rg: nowhere: {NO_FILE} (os error 2)", 2, "search missing"),
    ("rg x src", "zsh: command not found: rg", 127, "search error"),
    ("rg x src", "bash: line 1: rg: command not found", 127, "search error"),
    ("ag Frobnicate lib", "", 1, "search empty"),
    ("git grep -n Frobnicate", "", 1, "search empty"),
    ("git -C sub grep Frobnicate -- '*.go'", "", 1, "search empty"),
    ("git grep x", "fatal: not a git repository (or any of the parent directories): .git", 128, "search error"),
    ("git log -S Frobnicate --oneline", "", 0, "search empty"),
    ("git log --grep='frob' --oneline", "1a2b3c frob the knob", 0, "search ok"),
    ("git log --oneline -- docs/gone.md", "", 0, "search empty"),
    # what swallows the status
    ("grep -rn frob lib | head -20", "", 0, "search empty"),
    ("grep -rn frob lib | sort | uniq -c", "", 0, "search empty"),
    ("grep -rn frob lib || true", "", 0, "search empty"),
    ("grep -rn frob lib 2>/dev/null", "", 0, "search empty"),
    ("grep -rn frob missing 2>/dev/null", "", 2, "search missing"),
    ("grep -rn frob lib | grep -v vendor", "", 1, "search empty"),
    ("grep -rn frob lib | xargs -r dirname", "", 0, "search empty"),
    ('grep -rl frob lib | while read f; do echo "$f"; done', "", 0, "search empty"),
    ('grep -rl frob lib | while read f; do echo "$f"; done', "lib/a.py", 0, "search ok"),
    # counts
    ("grep -rn frob lib | wc -l", "       0", 0, "search empty"),
    ("grep -rn frob lib | wc -l", "12", 0, "search ok"),
    ("grep -c frob a.txt", "0", 1, "search empty"),
    ("grep -c frob a.txt b.txt", "a.txt:0\nb.txt:0", 1, "search empty"),
    ("grep -c frob a.txt b.txt", "a.txt:0\nb.txt:4", 0, "search ok"),
    ("ls drafts/*.md 2>/dev/null | wc -l", "0", 0, "list empty"),
    ("echo -n 'hits: '; grep -c frob a.txt", "hits: 0", 1, "search empty"),
    # texts that the line prints itself
    ("grep -rn frob lib || echo 'not found'", "not found", 0, "search empty"),
    ("grep -rn frob lib || echo 'not found'", "lib/a.py:1:frob", 0, "search ok"),
    ("echo '=== a ==='; grep x a.txt; echo '=== b ==='; grep x b.txt", "=== a ===\n=== b ===", 1, "search empty"),
    ("echo '=== a ==='; grep x a.txt; echo '=== b ==='; grep x b.txt", "=== a ===\nx\n=== b ===", 1, "search ok"),
    ('for f in *.md; do echo "-- $f"; grep frob $f; done', "-- a.md\n-- b.md", 1, "search empty"),
    ('for f in *.md; do echo "-- $f"; grep frob $f; done', "-- a.md\nfrob\n-- b.md", 1, "search ok"),
    ("grep -q frob a.txt && echo yes || echo no", "no", 0, "search empty"),
    ("grep -q frob a.txt && echo yes || echo no", "yes", 0, "search ok"),
    ("if grep -q frob a.txt; then echo yes; else echo no; fi", "no", 0, "search empty"),
    ("if grep -q frob a.txt; then echo yes; else echo no; fi", "yes", 0, "search ok"),
    ('grep -q frob a.txt; echo "status $?"', "status 1", 0, "search empty"),
    ('grep -q frob a.txt; echo "status $?"', "status 0", 0, "search ok"),
    ("printf '%s\\n' '## lib'; rg frob lib", "## lib", 1, "search empty"),
    ("grep -q frob a.txt", "", 0, "search ok"),
    ("grep -q frob a.txt", "", 1, "search empty"),
    ("grep frob a.txt > /tmp/hits", "", 0, "search ok"),
    # names of files and programs
    ("find . -name '*.frob'", "", 0, "search empty"),
    ("find . -name '*.frob' -not -path './x/*'", "./a.frob", 0, "search ok"),
    ("find nowhere -name x", f"find: ‘nowhere’: {NO_FILE}", 1, "search missing"),
    ("find . -nam x", "find: unknown predicate `-nam'", 1, "list error"),
    ("find docs -type f", "docs/a.md", 0, "list ok"),
    ("find docs -type f", "", 0, "list empty"),
    ("find src -name '*.c' -exec grep -l frob {} \\;", "", 0, "search empty"),
    ("find . -name '*.py' | xargs grep -n frob", "", 123, "search empty"),
    ("find . -name '*.tmp' -delete", "", 0, "shell ok"),
    ("fd frob src", "", 1, "search empty"),
    ("rg --files | rg frob", "", 1, "search empty"),
    ("rg --files -g '*.frob'", "", 1, "search empty"),
    ("git ls-files | grep frob", "", 1, "search empty"),
    ("git ls-files 'docs/*.rst'", "", 0, "list empty"),
    ("which frobctl", "", 1, "search missing"),
    ("which frobctl", "frobctl not found", 1, "search missing"),
    ("command -v frobctl || echo absent-tool", "absent-tool", 0, "search missing"),
    ("type frobctl", "bash: type: frobctl: not found", 1, "search missing"),
    ("which node && node --version", "/usr/bin/node\nv22.1.0", 0, "search ok"),
    ("ls lib | grep frob", "", 1, "search empty"),
    ("ls -la lib | grep frob", "-rw-r--r-- 1 u g 3 Jan 1 00:00 frob.py", 0, "search ok"),
    # listing and reading
    ("ls nowhere", f"ls: cannot access 'nowhere': {NO_FILE}", 2, "list missing"),
    ("ls nowhere", f"ls: nowhere: {NO_FILE}", 1, "list missing"),
    ("ls nowhere 2>/dev/null", "", 2, "list missing"),
    ("ls nowhere 2>/dev/null || echo 'no such folder'", "no such folder", 0, "list missing"),
    ("ls plans/*.md", "zsh: no matches found: plans/*.md", 1, "list missing"),
    ("ls plans/*.md", "(eval):1: no matches found: plans/*.md", 1, "list missing"),
    ("ls empty", "", 0, "list empty"),
    (
        "ls -la empty",
        "total 0\ndrwxr-xr-x 2 u g 64 Jan 1 00:00 .\ndrwxr-xr-x 9 u g 288 Jan 1 00:00 ..",
        0,
        "list empty",
    ),
    ("ls a b", f"ls: cannot access 'b': {NO_FILE}\na:\nx.py", 2, "list ok"),
    ("tree nowhere", "nowhere  [error opening dir]\n\n0 directories, 0 files", 2, "list missing"),
    ("cat notes.md", f"cat: notes.md: {NO_FILE}", 1, "read missing"),
    ("cat notes.md", "# Notes", 0, "read ok"),
    ("cat notes.md 2>/dev/null || echo none", "none", 0, "read missing"),
    ("head -50 notes.md | tail -10", f"head: cannot open 'notes.md' for reading: {NO_FILE}", 0, "read missing"),
    ("sed -n '10,20p' a.py", f"sed: can't read a.py: {NO_FILE}", 2, "read missing"),
    ("sed -n '900,990p' a.py", "", 0, "read ok"),
    ("sed -n '/class Frob/,/^$/p' a.py", "", 0, "search empty"),
    ("awk '/class Frob/' a.py", "", 0, "search empty"),
    ("awk '{print $1}' a.txt", "one", 0, "read ok"),
    ("jq '.scripts' package.json", f"jq: error: Could not open file package.json: {NO_FILE}", 2, "read missing"),
    ("jq '.[] | select(.x)' data.json", "", 0, "search empty"),
    ("git show main:docs/a.md", "fatal: path 'docs/a.md' does not exist in 'main'", 128, "read missing"),
    ("git show main:docs/a.md", "# A", 0, "read ok"),
    ("wc -l a.py", f"wc: a.py: open: {NO_FILE}", 1, "read missing"),
    ("test -f a.toml && echo there || echo missing", "missing", 0, "list missing"),
    ("test -f a.toml && echo there || echo missing", "there", 0, "list ok"),
    ("[ -f a.toml ] && cat a.toml", "", 1, "read missing"),
    ("[ -d lib ] && echo yes", "", 1, "list missing"),
    ("test -f a.toml || echo gone-missing", "", 0, "list ok"),
    ("pwd && ls nowhere", f"/home/u\nls: nowhere: {NO_FILE}", 1, "list missing"),
    ("cd nowhere && grep x a.txt", f"bash: cd: nowhere: {NO_FILE}", 1, "search missing"),
    ("cd lib && grep -rn frob .", "", 1, "search empty"),
    # several lookups
    ("grep x a.txt; grep x b.txt", "x marks", 1, "search ok"),
    ("rg x src; rg x docs", "", 1, "search empty"),
    ("rg x src || grep -rn x src", "bash: rg: command not found", 1, "search empty"),
    ("cat a.md; ls nowhere", f"# A\nls: nowhere: {NO_FILE}", 1, "read ok"),
    # the shell itself
    ("grep 'x lib", "bash: -c: line 1: unexpected EOF while looking for matching `''", 2, "search error"),
    ("grep x $(lib; grep y lib", "zsh: parse error near `('", 1, "search error"),
    # wrappers
    ("bash -lc 'rg frob src'", "", 1, "search empty"),
    ("sudo grep -rn frob /etc", "", 1, "search empty"),
    ("timeout 5 grep -rn frob /", "", 124, "search timeout"),
    ("grep -rn frob /", "Command timed out after 2m 0s", 143, "search timeout"),
    ("docker exec web ls /srv/nowhere", f"ls: cannot access '/srv/nowhere': {NO_FILE}", 2, "list missing"),
    # text of other programs that is knowledge
    ("git log --oneline | grep frob", "", 1, "search empty"),
    ("git branch -a | grep frob", "", 1, "search empty"),
    ("npm ls | grep left-pad", "", 1, "search empty"),
    ("npm ls left-pad", "app@1.0.0 /app\n└── (empty)", 1, "search empty"),
    ("pip show frobnik", "WARNING: Package(s) not found: frobnik", 1, "search missing"),
    ("frobctl --help | grep -i retry", "", 1, "search empty"),
    ("curl -s https://example.org/docs | grep -i retry", "", 1, "search empty"),
    ("gh issue list --search frob --json number", "[]", 0, "search empty"),
    ("gh pr list --head feat/frob", "", 0, "search empty"),
    ("gh pr view 7", "no pull requests found for branch x", 1, "read missing"),
    ("cat a.json | python3 -m json.tool | grep frob", "", 1, "search empty"),
    # a filter over a program's output that lets nothing through
    ("pnpm test 2>&1 | grep -E 'FAIL|error'", "", 1, "search empty"),
    ("pnpm test 2>&1 | grep -E 'FAIL|error' | head -20", "", 0, "search empty"),
    ("pnpm test 2>&1 | grep -E 'FAIL|error' | wc -l", "       0", 0, "search empty"),
    ("pnpm test 2>&1 | grep -c FAIL", "0", 1, "search empty"),
    ("make 2>&1 | grep warning", "", 1, "search empty"),
    ("make 2>&1 | grep warning || true", "", 0, "search empty"),
    ("make 2>&1 | grep warning || echo 'no warnings'", "no warnings", 0, "search empty"),
    ('make 2>&1 | grep warning; echo "status $?"', "status 1", 0, "search empty"),
    ("make 2>&1 | grep -q warning", "", 1, "search empty"),
    ("git status | grep modified", "", 1, "search empty"),
    ("git diff | grep TODO", "", 1, "search empty"),
    ("ps aux | grep frobd | grep -v grep", "", 1, "search empty"),
    ("env | grep FROB", "", 1, "search empty"),
    ("printenv | grep FROB | sort", "", 0, "search empty"),
    ("curl -s localhost:8080/health | grep ok", "", 1, "search empty"),
    ("cd app && npm test | grep FAIL", "", 1, "search empty"),
    # … that lets something through, did not run, or does not decide
    ("pnpm test 2>&1 | grep -E 'FAIL|error'", "FAIL a.test.ts", 0, "shell ok"),
    ("pnpm test 2>&1 | grep -c FAIL", "3", 0, "shell ok"),
    ("make 2>&1 | grep -q warning", "", 0, "shell ok"),
    ("make 2>&1 | grep warning || echo 'no warnings'", "a.c:3: warning: x", 0, "shell ok"),
    ("set -o pipefail; make | grep warning", "", 2, "shell error"),
    ("make | grep warning", "bash: make: command not found", 127, "shell error"),
    ("make | grep warning", "", 143, "shell error"),
    ("make | grep warning", "", None, "shell unknown"),
    ("cd nowhere && make | grep warning", f"bash: cd: nowhere: {NO_FILE}", 1, "shell error"),
    ("test -f Makefile && make | grep warning", "", 1, "shell ok"),
    ("make | grep warning; make install", "", 0, "shell ok"),
    ("make | grep -v warning", "", 1, "shell error"),
    ("docker ps -q | grep frob | xargs docker rm", "", 0, "shell ok"),
    # programs at work
    ("go build ./... 2>&1 | head", "", 0, "shell ok"),
    ("sleep 5; cat run.log", "", 0, "shell ok"),
    ("sleep 5; ps aux | grep frobd", "", 1, "shell ok"),
    ("npm run build && ls dist", f"ls: dist: {NO_FILE}", 1, "shell error"),
    ("python tool.py", f"python: can't open file 'tool.py': [Errno 2] {NO_FILE}", 2, "shell error"),
    ("cat > a.txt <<'EOF'\nfind me\nEOF", "", 0, "shell ok"),
    ("head -20 a.txt > b.txt", "", 0, "shell ok"),
    ("git commit -m 'grep x'", "", 0, "shell ok"),
    ("echo 'abc' | grep x", "", 1, "shell ok"),
    ("make", "", None, "shell unknown"),
]


@pytest.mark.parametrize(("command", "output", "code", "expected"), ROWS)
def test_kind_and_outcome(command: str, output: str, code: int | None, expected: str) -> None:
    reading = read_shell(command, output, code, None)
    assert f"{reading.kind} {reading.outcome}" == expected, reading


@pytest.mark.parametrize(
    ("command", "query", "where"),
    [
        ("grep -rn 'frob it' lib docs", "frob it", "lib docs"),
        ("grep -A 3 -B2 frob lib/a.py", "frob", "lib/a.py"),
        ("grep -rnA 3 frob lib", "frob", "lib"),
        ("grep -m1 frob a", "frob", "a"),
        ("grep -e one -e two a.txt", "one | two", "a.txt"),
        ("grep --include='*.py' -r frob .", "frob", "."),
        ("grep --include '*.py' -r frob .", "frob", "."),
        ("grep -r --exclude-dir node_modules frob .", "frob", "."),
        ("grep -- -v flags.txt", "-v", "flags.txt"),
        ("rg -t py -g '!tests' frob src", "frob", "src"),
        ("rg -C3 --max-count 2 frob", "frob", ""),
        ("cat a.txt | grep frob", "frob", "a.txt"),
        ("git grep -n frob -- docs", "frob", "docs"),
        ("git log -Sfrob", "frob", ""),
        ("find src tests -type f -name '*.frob'", "*.frob", "src tests"),
        ("find . \\( -name a -o -name b \\) -print", "a b", "."),
        ("find . -path ./vendor -prune -o -name x -print", "x", "."),
        ("fd -e md frob docs", "frob md", "docs"),
        ("which -a frobctl", "frobctl", ""),
        ("cat docs/a.md", "docs/a.md", ""),
        ("ls -la docs", "docs", ""),
        ("sed -n '1,20p' a.py", "a.py", ""),
        ("sed -n '/start/,/end/p' a.py", "start", "a.py"),
        ("xargs grep frob < list.txt", "frob", ""),
    ],
)
def test_query_and_place(command: str, query: str, where: str) -> None:
    reading = read_shell(command, "", 1, None)
    assert (reading.query, reading.where) == (query, where)


@pytest.mark.parametrize(
    ("command", "purpose", "absence"),
    [
        ("! grep -rn oldName src", "", True),
        ("grep -rn oldName src || echo '✓ renamed everywhere'", "", True),
        ("grep -rn oldName src || echo 'no remaining references'", "", True),
        ("grep -q oldName src/a.py && echo 'STILL THERE' || echo clean", "", True),
        ("test ! -e old.txt", "", True),
        ("rm old.txt && ls old.txt", "", True),
        ("sed -i 's/a/b/' x.py && grep -n a x.py", "", True),
        ("grep -rn '<<<<<<<' src", "", True),
        ("grep -rn oldName src", "Verify no references remain", True),
        ("grep -rn oldName src", "Check that oldName is no longer used", True),
        ("grep -rn oldName src", "Find where oldName is defined", False),
        ("grep -rn oldName src", "", False),
    ],
)
def test_checks_of_absence(command: str, purpose: str, absence: bool) -> None:
    assert (read_shell(command, "", 1, None, purpose).intent is LookupIntent.CHECK) is absence


@pytest.mark.parametrize(
    ("text", "speaks"),
    [
        ("Confirm the old module has no imports left", True),
        ("Verify that the column was dropped and is gone", True),
        ("Check for leftover debug prints", True),
        ("See if legacyAuth is still referenced anywhere", True),
        ("Make sure nothing else uses it", True),
        ("No stale references should be there", True),
        ("确认旧接口已经删除", True),
        ("检查是否还有残留的引用", True),
        ("Find usages of the parser", False),
        ("Check the project layout", False),
        ("Verify the file exists", False),
        ("Look for the login handler", False),
        ("查找登录处理函数", False),
        ("", False),
    ],
)
def test_speaks_of_absence(text: str, speaks: bool) -> None:
    assert speaks_of_absence(text) is speaks


def test_the_clients_flag_stands_in_for_the_exit_code() -> None:
    assert read_shell("grep -q x a", "", None, True).outcome is Outcome.EMPTY
    assert read_shell("grep -q x a", "", None, False).outcome is Outcome.OK
    assert read_shell("grep -q x a", "", None, None).outcome is Outcome.UNKNOWN


def test_messages_of_programs_are_not_hits() -> None:
    assert read_shell("grep -r x lib", "grep: lib/bin: binary file skipped", 1, None).outcome is not Outcome.OK
    assert read_shell("cat a.md", f"cat: a.md: {NO_FILE}", 1, None).outcome is Outcome.MISSING


def test_paths_are_those_named_and_those_that_came_back() -> None:
    def paths(command: str, output: str) -> tuple[str, ...]:
        return finish_call("c", "Bash", {"command": command}, output, exit_code=0).paths

    assert paths("grep -rn frob lib", "lib/a.py:3:frob\nlib/b.py:9:frob\n") == ("lib", "lib/a.py", "lib/b.py")
    assert paths("find docs -name '*.md'", "docs/a.md\ndocs/deep/b.md\n") == ("docs", "docs/a.md", "docs/deep/b.md")
    assert len(paths("rg -l x", "\n".join(f"src/f{n}.py" for n in range(200)))) == MAX_SHELL_PATHS


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Exit code 1", (1, "")),
        ("Exit code 2\nls: no", (2, "ls: no")),
        ("Error: Exit code 127\nx", (127, "x")),
        ("all good", (None, "all good")),
        ("", (None, "")),
    ],
)
def test_split_exit_code(text: str, expected: tuple[int | None, str]) -> None:
    assert split_exit_code(text) == expected


@given(st.text(), st.text(), st.none() | st.integers(0, 255), st.none() | st.booleans(), st.text())
def test_any_command_and_output_can_be_read(
    command: str, output: str, code: int | None, failed: bool | None, purpose: str
) -> None:
    read_shell(command, output, code, failed, purpose)


SEARCHES = st.sampled_from(["grep -rn frob lib", "rg frob", "find . -name frob", "git grep frob", "cat a | grep frob"])


@given(SEARCHES, st.lists(st.sampled_from(["head -5", "sort", "uniq", "cut -d: -f1", "tail -n 2"]), max_size=4))
def test_no_chain_of_filters_hides_an_empty_search(search: str, filters: list[str]) -> None:
    reading = read_shell(" | ".join([search, *filters]), "", 0 if filters else 1, None)
    assert reading.kind in LOOKUPS
    assert reading.outcome in MISSES


@given(SEARCHES, st.from_regex(r"[=-]{2,5} [a-z ]{1,20}", fullmatch=True))
def test_headers_that_the_line_prints_are_not_hits(search: str, header: str) -> None:
    reading = read_shell(f'echo "{header}"; {search}', header + "\n", 1, None)
    assert reading.outcome in MISSES
    assert read_shell(f'echo "{header}"; {search}', f"{header}\nlib/a:1:frob", 0, None).outcome is Outcome.OK


@given(
    st.sampled_from(["echo", "grep x f &&", "for a in", "$(grep x)", "$(", '"$x" ', "| grep y", "; ", "\n", "(", "if "])
)
def test_a_repeated_part_neither_fails_the_call_nor_misses(part: str) -> None:
    assert read_shell(part * 2_000, "x\n" * 100, 0, None).outcome not in MISSES


@pytest.mark.parametrize("part", ["echo ", "grep x f && ", "$(grep x)", '"$x" ', "| grep y ", "; ", "(", "if "])
def test_a_line_that_is_too_long_to_parse_is_no_lookup(part: str) -> None:
    reading = read_shell(part * 25_000, "x\n" * 100, 0, None)
    assert (reading.kind, reading.outcome) == (ToolKind.SHELL, Outcome.OK)


def test_findstr_of_windows_is_a_search() -> None:
    found = read_shell('netstat -ano | findstr /i "5432"', "", 1, True)
    assert (found.kind, found.outcome, found.query) == (ToolKind.SEARCH, Outcome.EMPTY, "5432")
