"""GitLog: git asked the way the question needs it, on real repositories; hostile ones execute nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Quality, Strength
from knowbound.evidence.investigate import investigate
from knowbound.evidence.producers.git import GitLog, GitStatus
from knowbound.evidence.producers.history import HistoryKind, date_of, read_history_question
from knowbound.evidence.producers.protocol import Ask, Context
from knowbound.evidence.producers.repository import parse_log, parse_status

K = HistoryKind
LAST_COMMIT = "What is the last commit?"


def git(root: Path, *arguments: str, when: str = "2026-03-01T12:00:00Z") -> str:
    """Git as the owner of the repository would run it."""
    env = os.environ | {
        "GIT_AUTHOR_DATE": when,
        "GIT_COMMITTER_DATE": when,
        "GIT_AUTHOR_NAME": "Ada",
        "GIT_AUTHOR_EMAIL": "ada@example.org",
        "GIT_COMMITTER_NAME": "Ada",
        "GIT_COMMITTER_EMAIL": "ada@example.org",
        "GIT_CONFIG_NOSYSTEM": "1",
    }
    done = subprocess.run(["git", *arguments], cwd=root, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(root: Path, message: str, when: str = "2026-03-01T12:00:00Z") -> str:
    git(root, "add", "-A")
    git(root, "commit", "--quiet", "--allow-empty", "-m", message, when=when)
    return git(root, "rev-parse", "HEAD")[:10]


def copied(made: Path, root: Path) -> Path:
    """A repository of one's own: git makes commits slower than we copy them."""
    return Path(shutil.copytree(made, root, dirs_exist_ok=True))


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four commits: retry comes, its budget comes and goes, a file is renamed away."""
    root = tmp_path_factory.mktemp("made")
    (root / "src").mkdir(parents=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    (root / "src/client.py").write_text("def send():\n    return 1\n")
    (root / "old.py").write_text("gone = True\n")
    commit(root, "Send requests", "2026-01-01T12:00:00Z")
    git(root, "tag", "v1.0")
    (root / "src/client.py").write_text(
        "def send():\n    return retry_middleware()\n\n\ndef retry_middleware():\n    ...\n"
    )
    commit(root, "Add the retry middleware", "2026-01-15T12:00:00Z")
    (root / "src/client.py").write_text((root / "src/client.py").read_text() + "retry_budget = 3\n")
    commit(root, "Limit attempts", "2026-02-01T12:00:00Z")
    (root / "src/client.py").write_text((root / "src/client.py").read_text().replace("retry_budget = 3\n", ""))
    (root / "old.py").unlink()
    commit(root, "Drop the budget", "2026-02-15T12:00:00Z")
    return root


@pytest.fixture
def repository(_made: Path, tmp_path: Path) -> Path:
    return copied(_made, tmp_path / "repo")


def ask(question: str, target: str = "") -> Ask:
    return Ask(EvidenceClass.GIT_LOG, target, Intent.STATUS, question)


def history(root: Path, question: str, target: str = "") -> Evidence:
    return GitLog().produce(ask(question, target), Context(root))


@pytest.mark.parametrize(
    ("question", "kind", "subject"),
    [
        (LAST_COMMIT, K.LAST, ""),
        ("show the latest commit to src/client.py", K.LAST, "src/client.py"),
        ("Who changed `send`?", K.ABOUT, "send"),
        ("who last modified the client module", K.ABOUT, "client module"),
        ("When was retry_middleware last changed?", K.ABOUT, "retry_middleware"),
        ("When was retry_middleware added?", K.ADDED, "retry_middleware"),
        ("Which commit introduced the retry budget?", K.ADDED, "retry budget"),
        ("when was old.py deleted?", K.REMOVED, "old.py"),
        ("Who removed retry_budget from the client?", K.REMOVED, "retry_budget client"),
        ("What changed since v1.0?", K.SINCE, "v1.0"),
        ("what happened last week?", K.SINCE, "1 weeks ago"),
        ("What did commit 1a2b3c4d do?", K.COMMIT, "1a2b3c4d"),
        ("Is the working tree clean?", K.TREE, ""),
        ("are there uncommitted changes?", K.TREE, ""),
        ("Which branch are we on?", K.TREE, ""),
        ("history of src/client.py", K.ABOUT, "src/client.py"),
        ("when did we switch to evidence gating?", K.ABOUT, "evidence gating"),
        ("show me the recent commits", K.ABOUT, ""),
        ("what is the status of the project?", K.ABOUT, ""),
    ],
)
def test_a_question_is_read_as_one_to_git(question: str, kind: HistoryKind, subject: str) -> None:
    read = read_history_question(question)
    assert read.kind is kind
    if subject != "switch to evidence gating":  # any subject will do that is not empty
        assert read.subject == subject
    else:
        assert "evidence gating" in read.subject


@pytest.mark.parametrize(
    ("text", "date"), [("yesterday", "yesterday"), ("last week", "1 week ago"), ("today", "midnight")]
)
def test_dates_are_known(text: str, date: str) -> None:
    assert date_of(text) == date


def test_what_is_no_date_is_not_taken_for_one() -> None:
    assert date_of("the great refactoring") == ""


def test_the_last_commit_is_strong_and_git_authoritative(repository: Path) -> None:
    entry = history(repository, LAST_COMMIT)
    assert entry.quality is Quality.STRONG
    assert "Drop the budget" in entry.note
    assert entry.places[0].path == f"commit {git(repository, 'rev-parse', 'HEAD')[:10]}"
    assert entry.strength is Strength.LOW
    assert GitLog().authoritative


def test_status_for_a_history_question_is_weak(repository: Path) -> None:
    entry = GitStatus().produce(ask(LAST_COMMIT), Context(repository))
    assert entry.quality is Quality.WEAK


def test_status_for_the_state_of_the_tree_is_strong(repository: Path) -> None:
    (repository / "src/client.py").write_text("changed\n")
    (repository / "new\nline.txt").write_text("x")
    entry = GitStatus().produce(ask("Is the tree clean?"), Context(repository))
    assert entry.quality is Quality.STRONG
    assert "1 changed and 1 untracked, on branch main" in entry.note
    assert set(entry.sources) == {"src/client.py", "new\nline.txt"}


def test_a_clean_tree_is_said_to_be_clean(repository: Path) -> None:
    entry = GitStatus().produce(ask("any uncommitted changes?"), Context(repository))
    assert entry.note == "the tree is clean, on branch main"
    assert entry.quality is Quality.STRONG


def test_the_planner_meets_the_right_tool_first() -> None:
    assert GitLog().can(ask(LAST_COMMIT)) > GitStatus().can(ask(LAST_COMMIT))
    tree = ask("Is the tree clean?")
    assert GitStatus().can(tree) > GitLog().can(tree)
    other = Ask(EvidenceClass.BUILD, "", Intent.EXECUTE, LAST_COMMIT)
    assert GitLog().can(other) == GitStatus().can(other) == 0


def test_a_log_with_nothing_to_match_is_moderate(repository: Path) -> None:
    entry = history(repository, "show me the recent history")
    assert entry.quality is Quality.MODERATE
    assert entry.match_count == 4


@pytest.mark.parametrize(
    ("question", "tool", "says"),
    [
        ("When was retry_middleware added?", "git log -S", "Add the retry middleware"),
        ("Who removed `retry_budget`?", "git log -S", "Drop the budget"),
        ("when was old.py added?", "git log", "Send requests"),
        ("when was old.py deleted?", "git log", "Drop the budget"),
        ("Who changed src/client.py?", "git log", "Drop the budget"),
        ("Who changed client.py?", "git log", "Drop the budget"),
        ("Who wrote retry_middleware?", "git log -S", "Add the retry middleware"),
        ("What changed since v1.0?", "git log", "3 commits since v1.0"),
        ("What changed since 2026-01-20?", "git log", "2 commits since 2026-01-20"),
        ("commits about the retry middleware", "git log --grep", "Add the retry middleware"),
        ("what did Ada do?", "git log --author", "4 commits by Ada"),
        ("the last 2 commits", "git log", "Drop the budget"),
        ("last commit by Ada", "git log --author", "Drop the budget"),
    ],
)
def test_matching_commits_are_strong(repository: Path, question: str, tool: str, says: str) -> None:
    entry = history(repository, question)
    assert (entry.quality, entry.tool) == (Quality.STRONG, tool), entry.note
    assert says in entry.note
    assert entry.match_count > 0


def test_one_commit_is_shown_with_its_files(repository: Path) -> None:
    entry = history(repository, f"What did commit {git(repository, 'rev-parse', 'HEAD')} change?")
    assert entry.tool == "git show"
    assert set(entry.sources[1:]) == {"old.py", "src/client.py"}


def test_nothing_since_the_last_commit_is_an_answer(repository: Path) -> None:
    entry = history(repository, "What changed since HEAD?")
    assert entry.quality is Quality.STRONG
    assert entry.note.startswith("no commit since HEAD")


@pytest.mark.parametrize(
    "question",
    [
        "When was xqkz_2024_nonexistent_class added?",
        "when did we switch to evidence gating?",
        "who changed the retry budget planner?",
        "What changed since the great refactoring?",
        "What did commit deadbeef00 do?",
        "last commit by Mallory",
        "when was retry_midd added?",  # a part of a word is not the word
    ],
)
def test_what_no_commit_matches_is_none_and_never_a_plain_log(repository: Path, question: str) -> None:
    entry = history(repository, question)
    assert entry.quality is Quality.NONE, entry.note
    assert entry.note
    assert entry.strength is Strength.NONE


def test_what_is_still_there_was_not_removed(repository: Path) -> None:
    entry = history(repository, "When was retry_middleware removed?")
    assert entry.quality is Quality.WEAK
    assert "still in the tree" in entry.note


def test_a_phrase_is_found_under_its_code_spelling(repository: Path) -> None:
    entry = history(repository, "When was the retry budget added?", "retry budget")
    assert entry.quality is Quality.STRONG
    assert "Limit attempts" in entry.note
    assert entry.target == "retry budget"


def test_a_folder_of_a_repository_has_the_history_of_that_folder(repository: Path) -> None:
    (repository / "README").write_text("hello\n")
    commit(repository, "Write a readme", "2026-02-20T12:00:00Z")
    assert "Drop the budget" in history(repository / "src", LAST_COMMIT).note


def test_a_folder_whose_name_has_a_newline_is_a_repository_too(tmp_path: Path) -> None:
    root = tmp_path / "two\nlines"
    root.mkdir()
    git(root, "init", "--quiet")
    commit(root, "First")
    assert "First" in history(root, "the last commit of all", "").note


def test_a_merge_or_an_empty_commit_can_be_the_last(repository: Path) -> None:
    git(repository, "checkout", "--quiet", "-b", "side", "HEAD~1")
    commit(repository, "On the side", "2026-02-20T12:00:00Z")
    git(repository, "checkout", "--quiet", "main")
    git(repository, "merge", "--quiet", "--no-ff", "-m", "Merge the side", "side")
    assert "Merge the side" in history(repository, LAST_COMMIT).note
    commit(repository, "Nothing in it", "2026-03-02T12:00:00Z")
    assert "Nothing in it" in history(repository, LAST_COMMIT).note


def test_the_first_of_many_commits_is_found(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    stream = "".join(
        f"commit refs/heads/main\ncommitter Ada <ada@example.org> {1_700_000_000 + number} +0000\n"
        f"data <<END\nChange {number}\nEND\n"
        f"M 644 inline many.py\ndata <<END\n{'needle = 1' if number % 2 else 'needle = needle = 1'}\nEND\n"
        for number in range(210)
    )
    subprocess.run(["git", "fast-import", "--quiet"], cwd=tmp_path, input=stream, text=True, check=True)
    entry = history(tmp_path, "When was needle added?")
    assert "Change 0" in entry.note
    assert (entry.match_count, entry.strength) == (210, Strength.HIGH)


@pytest.mark.parametrize("producer", [GitLog(), GitStatus()])
def test_no_repository_is_none_with_the_reason(tmp_path: Path, producer: GitLog | GitStatus) -> None:
    entry = producer.produce(ask(LAST_COMMIT), Context(tmp_path))
    assert (entry.quality, entry.note) == (Quality.NONE, "not a git repository")


def test_no_commit_yet_is_none_with_the_reason(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    entry = history(tmp_path, LAST_COMMIT)
    assert (entry.quality, entry.note) == (Quality.NONE, "the repository has no commit yet")


def test_no_git_is_none_with_the_reason(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    entry = history(repository, LAST_COMMIT)
    assert (entry.quality, entry.note) == (Quality.NONE, "git is not installed")


def test_a_shallow_clone_knows_its_last_commit_and_no_history(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", repository.as_uri(), "shallow")
    entry = history(tmp_path / "shallow", "When was retry_middleware added?")
    assert entry.quality is Quality.NONE
    assert "shallow clone" in entry.note
    assert history(tmp_path / "shallow", LAST_COMMIT).quality is Quality.STRONG


def test_a_broken_repository_is_none_with_the_reason(repository: Path) -> None:
    (repository / ".git/config").write_text("[core\n")
    entry = history(repository, LAST_COMMIT)
    assert entry.quality is Quality.NONE
    assert "bad config" in entry.note


def test_a_slow_git_is_none_with_the_reason(repository: Path) -> None:
    entry = GitLog().produce(ask(LAST_COMMIT), Context(repository, deadline=0.0))
    assert (entry.quality, entry.note) == (Quality.NONE, "git did not answer in time")


QUESTIONS = (
    LAST_COMMIT,
    "Who changed src/client.py?",
    "Who wrote retry_middleware?",
    "When was retry_budget removed?",
    "What changed since v1.0?",
    "Is the tree clean?",
)


def test_a_hostile_repository_executes_nothing(repository: Path, tmp_path: Path) -> None:
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/executed'\ncat\n")
    trap.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n")
    commit(repository, "Innocent")
    for name in (
        "core.fsmonitor",
        "core.pager",
        "core.sshCommand",
        "core.editor",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "filter.e=v.clean",
        "gpg.program",
        "credential.helper",
        "alias.log",
        "alias.status",
        "hook.evil.command",
    ):
        git(repository, "config", name, str(trap))
    git(repository, "config", "filter.evil.required", "true")
    git(repository, "config", "log.showSignature", "true")
    git(repository, "config", "protocol.ext.allow", "always")
    hooks = repository / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "fsmonitor-watchman", "post-checkout"):
        (hooks / hook).write_bytes(trap.read_bytes())
        (hooks / hook).chmod(0o755)
    os.utime(repository / "src/client.py", (1, 1))  # so that status has to look into the file
    os.utime(repository / ".gitattributes", (1, 1))

    for question in QUESTIONS:
        assert history(repository, question).quality is not Quality.NONE, question
        GitStatus().produce(ask(question), Context(repository))
    assert not (tmp_path / "executed").exists()

    git(repository, "config", "core.hooksPath", ".git/hooks")
    subprocess.run(["git", "status"], cwd=repository, capture_output=True, check=False)
    assert (tmp_path / "executed").exists(), "the trap itself does not work"


@pytest.mark.parametrize(
    "subject",
    ["--output=pwned", "-O/dev/null", "$(touch pwned)", "; touch pwned", ":(exclude)*", "*", "[", "\\", "--", "é\x00x"],
)
def test_what_looks_like_an_option_or_a_command_is_only_a_term(repository: Path, subject: str) -> None:
    for form in ("When was `{}` added?", "Who changed `{}`?", "What changed since `{}`?", "history of `{}`"):
        entry = history(repository, form.format(subject))
        assert entry.quality in (Quality.NONE, Quality.STRONG)
    assert not (repository / "pwned").exists()
    assert git(repository, "status", "--porcelain") == ""


def test_a_working_tree_elsewhere_is_not_read(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    git(repository, "config", "core.worktree", str(tmp_path / "elsewhere"))
    entry = GitStatus().produce(ask("Is the tree clean?"), Context(repository))
    assert entry.quality is Quality.NONE


def test_control_characters_of_a_commit_do_not_reach_the_note(repository: Path) -> None:
    commit(repository, "Red \x1b[31malert\x07 \u202eevil")
    note = history(repository, LAST_COMMIT).note
    assert note.isprintable()


def test_an_incomplete_log_line_is_left_out() -> None:
    whole = "a" * 40 + "\x1f2026-01-01\x1fAda\x1fSubject\x1e\n"
    assert [entry.subject for entry in parse_log(whole + "b" * 40 + "\x1f2026")] == ["Subject"]


def test_a_rename_is_one_change() -> None:
    state = parse_status("# branch.head main\x002 R. N... 100644 100644 100644 a b R100 new.py\x00old.py\x00? x\x00")
    assert state.changed == ("new.py",)
    assert state.untracked == ("x",)


@pytest.mark.parametrize(
    ("question", "answer"), [("Is the working tree clean?", "No: "), ("Is anything uncommitted?", "Yes: ")]
)
def test_a_dirty_tree_is_said_to_be_dirty(question: str, answer: str, tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    (tmp_path / "a.py").write_text("x = 1\n")
    commit(tmp_path, "Start", "2026-01-01T12:00:00Z")
    (tmp_path / "a.py").write_text("x = 2\n")
    found = investigate(question, tmp_path)
    assert found.outcome == "success"
    assert found.answer is not None
    assert found.answer.text.startswith(answer), found.answer.text
