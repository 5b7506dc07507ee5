"""Rules that the records of a session decide: every kind of rule, obeyed, broken and left open."""

from __future__ import annotations

import pytest

from knowbound.core.statement import Rule
from knowbound.knowledge.deciding import begins_with, check_of, forbidden_commands, required_runs
from knowbound.traces.activity import ActivityRecord, RecordKind, SessionActivity
from knowbound.traces.shell.parser import commands, parse

KINDS = {"edit": RecordKind.EDIT, "read": RecordKind.READ, "say": RecordKind.SAID, "$": RecordKind.COMMAND}


def session(steps: list[str], branch: str = "") -> SessionActivity:
    """A session: "edit PATH", "read PATH", "say WORDS", "$ COMMAND", "!" before what failed,
    "-" before what was refused, output after " => ".
    """
    records = []
    for order, step in enumerate(steps):
        verb, _, rest = step.lstrip("!-").partition(" ")
        text, _, output = rest.partition(" => ")
        kind = KINDS[verb]
        record = ActivityRecord(kind, order + 1, text, order=order, output=output)
        record.path = text if kind in (RecordKind.EDIT, RecordKind.READ) else ""
        record.ok, record.done = not step.startswith("!"), not step.startswith("-")
        record.commands = tuple(commands(parse(text))) if kind is RecordKind.COMMAND else ()
        records.append(record)
    return SessionActivity(branch=branch, records=records)


def finding(text: str, steps: list[str], branch: str = "") -> str:
    """What rules find on a rule in a session, as a line; "open" where they do not decide such a rule."""
    decide = check_of(Rule("CLAUDE.md", 1, text))
    if decide is None:
        return "open"
    found = decide(session(steps, branch))
    verdict = found.verdict or {None: "unknown", True: "applies", False: "no case"}[found.applicable]
    return f"{verdict} at {found.at_line} by {found.by or 'nobody'}: {found.why}"


def test_a_required_run_is_held_to_the_last_edit() -> None:
    cases: list[tuple[str, list[str], str]] = [
        ("Run `npm test` before committing", [], "no case at 0 by rules: no source was edited"),
        ("Run `npm test` before committing", ["edit a.ts"], "no case at 0 by rules: nothing was committed"),
        (
            "Run `npm test` before committing",
            ["edit a.ts", "$ npm test"],
            "no case at 0 by rules: nothing was committed",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.ts", "$ npm test", '$ git commit -m "feat: x"'],
            "obeyed at 2 by rules: `npm test` ran after the last edit",
        ),
        (
            "Run `npm test` before committing",
            ["$ npm test", "edit a.ts", '$ git commit -m "feat: x"'],
            "partly at 1 by rules: `npm test` ran, but not whole after the last edit",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.ts", '$ git commit -m "feat: x"'],
            "violated at 2 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` before committing",
            ['$ git commit -m "feat: x"', "edit a.ts"],
            "no case at 0 by rules: nothing was committed",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.ts", '$ git commit -m "feat: x"', "$ npm test"],
            "violated at 3 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.ts", "$ npm test", '$ git commit -m "feat: x"', "edit a.ts", '$ git commit -m "feat: x"'],
            "partly at 2 by rules: `npm test` ran, but not whole after the last edit",
        ),
        (
            "Run `npm test` before committing",
            [
                "edit a.ts",
                "$ npm test",
                '$ git commit -m "feat: x"',
                "edit a.ts",
                "$ npm test",
                '$ git commit -m "feat: x"',
            ],
            "obeyed at 5 by rules: `npm test` ran after the last edit",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.ts", '!$ git commit -m "feat: x"'],
            "no case at 0 by rules: nothing was committed",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.md", '$ git commit -m "feat: x"'],
            "no case at 0 by rules: no source was edited",
        ),
        (
            "Run `npm test` before committing",
            ["$ npm test", "$ npm test", '$ git commit -m "feat: x"'],
            "no case at 0 by rules: no source was edited",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts"],
            "applies at 0 by nobody: the session ends before the work did",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "say done"],
            "violated at 1 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "$ npm test", "say done"],
            "obeyed at 2 by rules: `npm test` ran after the last edit",
        ),
        (
            "Run `npm test` after every change",
            ["$ npm test", "edit a.ts", "say done"],
            "partly at 1 by rules: `npm test` ran, but not whole after the last edit",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "!$ npm test", "say done"],
            "obeyed at 2 by rules: `npm test` ran after the last edit",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "-$ npm test", "say done"],
            "violated at 1 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "$ npm test"],
            "obeyed at 2 by rules: `npm test` ran after the last edit",
        ),
        (
            "Run `npm test` after every change",
            ["$ npm test", "edit a.ts"],
            "partly at 1 by rules: `npm test` ran, but not whole after the last edit",
        ),
        ("Run `npm test` after every change", ["-edit a.ts", "say x"], "no case at 0 by rules: no source was edited"),
        ("Run `npm test` after every change", ["say x"], "no case at 0 by rules: no source was edited"),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "$ npm test -- a.ts", "say done"],
            "partly at 2 by rules: `npm test` ran, but not whole after the last edit",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "$ npm run test", "say done"],
            "obeyed at 2 by rules: `npm test` ran after the last edit",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "$ pnpm test", "say done"],
            "obeyed at 2 by rules: `npm test` ran after the last edit",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "$ npm test && npm test a.ts", "say done"],
            "obeyed at 2 by rules: `npm test` ran after the last edit",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "$ npm run ci", "say done"],
            "applies at 0 by nobody: another check ran that may have run it",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "$ echo npm test", "say done"],
            "violated at 1 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "$ npm", "say done"],
            "violated at 1 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` after every change",
            ["edit a.ts", "$ yarn lint", "say done"],
            "violated at 1 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.ts", "$ git commit -m x => husky ran"],
            "applies at 0 by nobody: a hook of the commit may have run it",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.ts", "$ git commit -m x => husky ran", "edit a.ts"],
            "violated at 2 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.ts", "$ git commit -m x => husky ran", "edit a.ts", "$ git commit -m y"],
            "violated at 4 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.ts", "$ npm run check", '$ git commit -m "feat: x"'],
            "applies at 0 by nobody: another check ran that may have run it",
        ),
        (
            "Run `npm test` before committing",
            ["edit a.ts", "$ node check", '$ git commit -m "feat: x"'],
            "violated at 3 by rules: `npm test` never ran",
        ),
        (
            "Run `pytest -q` after every change",
            ["edit a.ts", "$ pytest -q", "say x"],
            "obeyed at 2 by rules: `pytest -q` ran after the last edit",
        ),
        (
            "Run `pytest -q` after every change",
            ["edit a.ts", "$ uv run pytest", "say x"],
            "obeyed at 2 by rules: `pytest -q` ran after the last edit",
        ),
        (
            "Run `pytest -q` after every change",
            ["edit a.ts", "$ pytest -k x", "say x"],
            "partly at 2 by rules: `pytest -q` ran, but not whole after the last edit",
        ),
        (
            "Run `pytest -q` after every change",
            ["edit a.ts", "$ pytest tests/a.py", "say x"],
            "partly at 2 by rules: `pytest -q` ran, but not whole after the last edit",
        ),
        (
            "Run `pytest -q` after every change",
            ["edit a.ts", "$ time pytest", "say x"],
            "obeyed at 2 by rules: `pytest -q` ran after the last edit",
        ),
        (
            "Run `npm test` and then run `npm run lint` before committing",
            ["edit a.ts", "$ npm test", '$ git commit -m "feat: x"'],
            "partly at 3 by rules: `npm run lint` never ran",
        ),
        (
            "Run `npm test` and then run `npm run lint` before committing",
            ["edit a.ts", "$ npm test", "$ npm run lint", '$ git commit -m "feat: x"'],
            "obeyed at 2 by rules: `npm test` ran after the last edit",
        ),
        (
            "Run `npm test` and then run `npm run lint` before committing",
            ["edit a.ts", '$ git commit -m "feat: x"'],
            "violated at 2 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` and then run `npm run lint` before committing",
            ["edit a.ts", "$ npm run lint", '$ git commit -m "feat: x"'],
            "partly at 3 by rules: `npm test` never ran",
        ),
        (
            "Run `npm test` and then run `npm run lint` before committing",
            ["edit a.ts", "$ npm test", "$ npm run ci", '$ git commit -m "feat: x"'],
            "applies at 0 by nobody: another check ran that may have run it",
        ),
        ("Run `npm test`", ["edit a.ts", "say x"], "open"),
        (
            "Never run `npm test` before committing",
            ["edit a.ts", '$ git commit -m "feat: x"'],
            "no case at 0 by rules: neither ran",
        ),
        ("Run `npm test` before committing if needed", ["edit a.ts", '$ git commit -m "feat: x"'], "open"),
        ("Run `f(x)` before committing", ["edit a.ts", '$ git commit -m "feat: x"'], "open"),
        ("Run `Make all` before committing", ["edit a.ts", '$ git commit -m "feat: x"'], "open"),
        ("Run `a; b` before committing", ["edit a.ts", '$ git commit -m "feat: x"'], "open"),
    ]
    for rule, steps, found in cases:
        assert finding(rule, steps) == found, rule


def test_a_forbidden_command_is_looked_for() -> None:
    cases: list[tuple[str, list[str], str]] = [
        ("Use `pnpm` instead of `npm`", [], "no case at 0 by rules: neither ran"),
        ("Use `pnpm` instead of `npm`", ["$ pnpm i"], "obeyed at 0 by rules: only the right one ran"),
        ("Use `pnpm` instead of `npm`", ["$ npm i"], "violated at 1 by rules: it ran `npm i`"),
        ("Use `pnpm` instead of `npm`", ["$ npm i", "$ pnpm i", "$ npm x"], "partly at 1 by rules: it ran `npm i`"),
        ("Use `pnpm` instead of `npm`", ["-$ npm i"], "no case at 0 by rules: neither ran"),
        ("Use pnpm, not npm", ["$ npm i"], "violated at 1 by rules: it ran `npm i`"),
        ("Use **pnpm**, never npm", ["$ npm i"], "violated at 1 by rules: it ran `npm i`"),
        ("Use `pnpm`, not `mocha`", ["$ mocha"], "open"),
        ("Use `vitest run`, not `mocha x`", ["$ mocha x"], "open"),
        ("Never run `git push --force`", ["$ git push --force"], "violated at 1 by rules: it ran `git push --force`"),
        ("Never run `git push --force`", ["$ git push"], "no case at 0 by rules: neither ran"),
        ("Never run `git`", ["$ git push"], "open"),
        ("Never run things, `git push`", ["$ git push"], "violated at 1 by rules: it ran `git push`"),
        (
            "Do not use the very long and elaborate form of it all to run `git push --force`",
            ["$ git push --force"],
            "violated at 1 by rules: it ran `git push --force`",
        ),
        ("Avoid npm", ["$ npm i"], "open"),
        ("Never use it: `run x` instead of `npm y`", ["$ npm y"], "violated at 1 by rules: it ran `npm y`"),
        ("Use `npm y` over `npm x`", ["$ npx npm x"], "violated at 1 by rules: it ran `npx npm x`"),
    ]
    for rule, steps, found in cases:
        assert finding(rule, steps) == found, rule


def test_commits_and_pushes_are_read() -> None:
    cases: list[tuple[str, list[str], str]] = [
        ("Use conventional commits", [], "no case at 0 by rules: every commit follows it"),
        ("Use conventional commits", ['$ git commit -m "feat: x"'], "obeyed at 0 by rules: every commit follows it"),
        (
            "Use conventional commits",
            ['$ git commit -m "x"'],
            "violated at 1 by rules: the subject is no conventional commit",
        ),
        (
            "Use conventional commits",
            ['$ git commit -m "feat: x"', '$ git commit -m "x"', '$ git commit -m "y"'],
            "partly at 2 by rules: the subject is no conventional commit",
        ),
        ("Use conventional commits", ["!$ git commit -m x"], "no case at 0 by rules: every commit follows it"),
        ("Use conventional commits", ["$ git commit --amend"], "no case at 0 by rules: every commit follows it"),
        (
            "Use conventional commits",
            ['$ git -C a commit -am "fix(x)!: y"'],
            "obeyed at 0 by rules: every commit follows it",
        ),
        (
            "Use conventional commits",
            ['$ git -c a=b --no-pager commit --message "docs: y"'],
            "obeyed at 0 by rules: every commit follows it",
        ),
        (
            "Use conventional commits",
            ['$ git commit -m "fix: a" -m "b"'],
            "obeyed at 0 by rules: every commit follows it",
        ),
        ("Use conventional commits for PR titles", ['$ git commit -m "feat: x"'], "open"),
        ("Use conventional commits if asked", ['$ git commit -m "feat: x"'], "open"),
        ("Do not use conventional commits", ['$ git commit -m "feat: x"'], "open"),
        ("Never add Co-Authored-By", ['$ git commit -m "feat: x"'], "obeyed at 0 by rules: every commit follows it"),
        (
            "Never add Co-Authored-By",
            ['$ git commit -m "x Co-authored-by: y"'],
            "violated at 1 by rules: the message has a co-author",
        ),
        ("Add Co-Authored-By", ['$ git commit -m "feat: x"'], "open"),
        ("Never push to main", [], "no case at 0 by rules: nothing was pushed"),
        ("Never push to main", ["$ git push origin main"], "violated at 1 by rules: `git push origin main`"),
        ("Never push to main", ["$ git push origin HEAD:main"], "violated at 1 by rules: `git push origin HEAD:main`"),
        ("Never push to main", ["$ git push origin x"], "obeyed at 0 by rules: every push went to another branch"),
        ("Never push to main", ["$ git push origin master"], "violated at 1 by rules: `git push origin master`"),
        (
            "Never push to main",
            ["$ git push -f origin x", "$ git push origin main"],
            "violated at 2 by rules: `git push origin main`",
        ),
        ("Never push to main", ["$ git status"], "no case at 0 by rules: nothing was pushed"),
        (
            "Use conventional commits",
            ["$ git commit -m \"$(cat <<'EOF'\nfeat: x\nEOF\n)\""],
            "obeyed at 0 by rules: every commit follows it",
        ),
    ]
    for rule, steps, found in cases:
        assert finding(rule, steps) == found, rule


def test_files_are_left_alone_or_read_first() -> None:
    cases: list[tuple[str, list[str], str]] = [
        ("Never edit `docs/`", [], "no case at 0 by rules: no such file was edited"),
        ("Never edit `docs/`", ["edit docs/a.md"], "violated at 1 by rules: it edited docs/a.md"),
        ("Never edit `docs/`", ["edit docs2/a.md"], "no case at 0 by rules: no such file was edited"),
        ("Never edit `docs/`", ["-edit docs/a.md"], "no case at 0 by rules: no such file was edited"),
        ("Never edit `a.lock` or `x`", ["edit a.lock"], "violated at 1 by rules: it edited a.lock"),
        ("Never edit `dist/*`", ["edit dist/a"], "violated at 1 by rules: it edited dist/a"),
        ("Never edit `gen/**`", ["edit gen/a"], "violated at 1 by rules: it edited gen/a"),
        ("Never edit files", [], "open"),
        ("Never edit `x`", [], "open"),
        ("Never edit `a.lock` manually", [], "open"),
        ("Never edit `a.lock`", ["read a.lock"], "no case at 0 by rules: no such file was edited"),
        ("Read `docs/a.md` first", [], "no case at 0 by rules: no source was edited"),
        ("Read `docs/a.md` first", ["edit a.ts"], "violated at 1 by rules: it edited before it read docs/a.md"),
        ("Read `docs/a.md` first", ["read docs/a.md", "edit a.ts"], "obeyed at 1 by rules: it read docs/a.md"),
        ("Read `docs/a.md` first", ["read x/docs/a.md", "edit a.ts"], "obeyed at 1 by rules: it read docs/a.md"),
        ("Read `docs/a.md` first", ["edit a.ts", "read docs/a.md"], "partly at 2 by rules: it read docs/a.md"),
        ("Read `docs/a.md` first", ["$ cat docs/a.md", "edit a.ts"], "obeyed at 1 by rules: it read docs/a.md"),
        (
            "Before editing, read `docs/a.md`",
            ["read docs/a.md", "edit a.ts"],
            "obeyed at 1 by rules: it read docs/a.md",
        ),
        ("Before editing, read `docs/a.md`", ["edit docs/a.md"], "no case at 0 by rules: no source was edited"),
        ("Read `docs/a.md` first if needed", ["edit a.ts"], "open"),
    ]
    for rule, steps, found in cases:
        assert finding(rule, steps) == found, rule


@pytest.mark.parametrize(
    ("branch", "found"),
    [
        ("", "applies at 0 by nobody: a push without a branch"),
        ("main", "applies at 0 by nobody: a push without a branch"),
        ("master", "applies at 0 by nobody: a push without a branch"),
        ("topic", "obeyed at 0 by rules: every push went to another branch"),
    ],
)
def test_a_push_without_a_branch_is_that_of_the_session(branch: str, found: str) -> None:
    assert finding("Never push to main", ["$ git push", "$ git push origin"], branch) == found


@pytest.mark.parametrize(("length", "is_cut"), [(79, False), (80, False), (81, True)])
def test_a_line_of_80_characters_is_shown_whole(length: int, is_cut: bool) -> None:
    line = "npm " + "x" * (length - 4)
    shown = f"{line[:80]}…" if is_cut else line
    assert finding("Use `pnpm` instead of `npm`", [f"$ {line}"]).endswith(f"it ran `{shown}`")


def test_a_rule_names_commands_that_it_wants_and_that_it_forbids() -> None:
    cases: list[tuple[str, list[tuple[str, ...]], list[tuple[str, ...]]]] = [
        ("Run `npm test` before committing", [("npm", "test")], []),
        ("Run `npm test` and run `npx eslint .` before committing", [("npm", "test"), ("eslint", ".")], []),
        ("Run `npm test` before committing if needed", [], []),
        ("Never use `git push --force`", [], [("git", "push", "--force")]),
        ("Never use `git push --force` if x", [], []),
        ("Use `pnpm` instead of `npm`", [], [("npm",)]),
        ("Use yarn over npm or npx", [], [("npm",), ("npx",)]),
        ("Use `f()` not `g()`", [], []),
        ("Prefer it", [], []),
    ]
    for rule, required, forbidden in cases:
        assert (required_runs(Rule("A.md", 1, rule)), forbidden_commands(Rule("A.md", 1, rule))) == (
            required,
            forbidden,
        ), rule


def test_a_command_line_begins_with_words_alone_or_behind_a_wrapper() -> None:
    cases: list[tuple[str, bool]] = [
        ("git push --force x", True),
        ("git push", False),
        ("echo; git push --force", True),
        ("npx git push --force", True),
        ("echo git push --force", False),
        ("", False),
    ]
    for line, begins in cases:
        assert begins_with(line, ("git", "push", "--force")) is begins, line
