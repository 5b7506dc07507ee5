from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from importlib import resources
from pathlib import Path

import pytest

from knowbound import __version__
from knowbound.agent.background import SCORING
from knowbound.agent.hook import log as hook_log
from knowbound.agent.hook.run import DEFAULT_LIMIT_MS, EVENTS, INJECTING
from knowbound.agent.hook_entry import AFTER_TOOLS, TRIAL
from knowbound.codebase.kept_index_update import open_index, update_index
from knowbound.config import load
from knowbound.injection.hook_settings import load as load_settings
from knowbound.kms.validation import ItemEdit
from tests.hook_project import HOOK, PORT, PROMPT, RETRY, SWIFT, Project, context

# What is injected


def test_a_prompt_gets_the_entry_it_is_about_with_its_id(project: Project) -> None:
    port, _, _ = project.store(PORT, RETRY, SWIFT)
    injected = project.ask()
    assert f"[{port}]" in injected
    assert PORT in injected
    assert SWIFT not in injected


def test_nothing_is_injected_when_nothing_is_good_enough(filled: Project) -> None:
    assert filled.ask("thanks, looks good") == ""
    assert filled.last_run()["outcome"] == "nothing"


def test_the_floor_can_be_set(filled: Project) -> None:
    (filled.root / "knowbound.toml").write_text("[injection]\nrelevance_floor = 1.0\n")
    assert filled.ask() == ""
    (filled.root / "knowbound.toml").write_text("[injection]\nrelevance_floor = 0.0\n")
    assert PORT in filled.ask()


def test_an_item_is_injected_once_into_a_context(filled: Project) -> None:
    assert PORT in filled.ask()
    assert PORT not in filled.ask()
    assert PORT in filled.ask(session="s-2")


def test_after_compaction_it_may_be_injected_again(filled: Project) -> None:
    assert PORT in filled.ask()
    filled.start("compact")
    assert PORT in filled.ask(session="s-1") + filled.start("clear")


def test_without_a_session_nothing_can_be_remembered(filled: Project) -> None:
    assert PORT in filled.ask(session="")
    assert PORT in filled.ask(session="")


def test_a_sub_agent_has_a_context_of_its_own(filled: Project) -> None:
    assert PORT in filled.ask()
    assert PORT in filled.ask(agent_id="a-1")
    assert PORT not in filled.ask(agent_id="a-1")


def test_an_entry_that_was_updated_is_news_again(project: Project) -> None:
    [port] = project.store(PORT)
    assert PORT in project.ask()
    base = project.base()
    base.update(port, ItemEdit(content=PORT.replace("8080", "9090")))
    base.close()
    assert "9090" in project.ask()


def test_retracted_superseded_and_deleted_items_are_never_injected(project: Project) -> None:
    ids = project.store(PORT, PORT.replace("8080", "8081"), PORT.replace("8080", "8082"))
    base = project.base()
    base.flag(ids[0], "RETRACTED")
    base.supersede(ids[1], by=ItemEdit(content="The orders service listens on port 9999 since November."))
    base.delete(ids[2])
    base.close()
    injected = project.ask()
    assert "9999" in injected
    assert not any(port in injected for port in ("8080", "8081", "8082"))


def test_an_unverified_item_is_injected_and_marked(project: Project) -> None:
    [port] = project.store(PORT)
    base = project.base()
    base.flag(port, "UNVERIFIED")
    base.close()
    assert f"[{port}] (UNVERIFIED" in project.ask()
    assert project.start(session="s-2") == ""  # without being asked only what is sure is injected


def test_the_bundle_keeps_its_budget(project: Project) -> None:
    project.store(
        *(f"Port {8000 + n} belongs to the orders service, shard {n}. " + "More words. " * 9 for n in range(20))
    )
    (project.root / "knowbound.toml").write_text("[injection]\ntoken_budget = 200\nrelevance_floor = 0.0\n")
    assert project.ask()
    assert 0 < project.last_run()["tokens"] <= 200


def test_a_prompt_gets_no_more_items_than_are_configured(project: Project) -> None:
    ids = project.store(*(f"Port {8000 + n} belongs to the orders service, shard {n}." for n in range(6)))
    config = project.root / "knowbound.toml"
    for most, settings in ((3, ""), (2, "most_items = 2\n")):
        config.write_text(f"[injection]\nrelevance_floor = 0.0\n{settings}")
        injected = project.ask(session=f"s-{most}")
        assert sum(f"[{id_}]" in injected for id_ in ids) == most


def test_settings_are_read_again_when_they_change(filled: Project) -> None:
    config = filled.root / "knowbound.toml"
    config.write_text("[injection]\ntoken_budget = 1\n")
    assert filled.ask() == ""
    config.write_text("[injection]\ntoken_budget = 500\n")
    assert PORT in filled.ask()


# Where the store is


def test_the_store_is_found_from_a_folder_below(filled: Project) -> None:
    below = filled.root / "src" / "deep"
    below.mkdir(parents=True)
    assert PORT in filled.ask(cwd=str(below))


def test_the_store_is_found_from_a_folder_that_was_deleted(filled: Project) -> None:
    gone = str(filled.root / "gone")
    given = json.dumps({"session_id": "s-1", "cwd": gone, "prompt": PROMPT}).encode()
    command = ["sh", "-c", f'mkdir "$0" && cd "$0" && rmdir "$0" && exec {HOOK} "$1"', gone]
    assert PORT in context(filled.run("user-prompt-submit", given, command), "UserPromptSubmit")


def test_knowbound_home_moves_it(filled: Project, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.move(filled.home, moved)
    filled.environ["KNOWBOUND_HOME"] = str(moved)
    assert PORT in filled.ask()


def test_a_data_folder_of_another_user_is_passed_by(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from knowbound.store.data_dir import data_folder

    monkeypatch.delenv("KNOWBOUND_HOME", raising=False)
    assert data_folder(str(filled.root))[1] == str(filled.home)
    monkeypatch.setattr(os, "getuid", lambda: 4242)
    owned_by_root = os.stat(filled.home).st_uid == 0
    assert bool(data_folder(str(filled.root))[1]) == owned_by_root
    if owned_by_root:
        os.chown(filled.home, 1234, 1234)
        assert data_folder(str(filled.root))[1] == ""


def test_without_a_store_nothing_is_said_and_nothing_is_made(project: Project) -> None:
    assert project.ask() == ""
    assert project.start() == ""
    assert list(project.root.iterdir()) == []


# As it is installed


@pytest.mark.parametrize("event", EVENTS)
def test_every_event_is_answered_by_the_installed_program(filled: Project, event: str) -> None:
    """Most tests fork the hook; this starts it as an agent does."""
    filled.store("The ledger_export job is defined in the warehouse repository.")
    (filled.root / "src" / "cli").mkdir(parents=True)
    (filled.root / "src" / "cli" / "export.ts").write_text("export function exportCommand() {}\n")
    with closing(open_index(filled.home)) as index:
        update_index(index, filled.root)
    given: dict[str, object] = {
        "session_id": "s-1", "prompt_id": "p-1", "cwd": str(filled.root), "hook_event_name": EVENTS[event],
        "prompt": PROMPT, "source": "startup", "last_assistant_message": "It listens on port 8080.",
    }  # fmt: skip
    if event == "post-tool-use":
        found = {"filenames": [], "numFiles": 0}
        given |= {"tool_name": "Grep", "tool_input": {"pattern": "ledger_export"}, "tool_response": found}
    elif event == "post-tool-use-failure":
        missing = {"file_path": str(filled.root / "src" / "commands" / "export.ts")}
        given |= {"tool_name": "Read", "tool_input": missing, "error": "File does not exist."}
    lock = SCORING.take_lock(str(filled.home))  # so that no worker is started
    assert lock is not None
    try:
        data = json.dumps(given, separators=(",", ":")).encode()
        output = filled.run(event, data, (str(HOOK),), HOME=os.environ["HOME"])  # the home folder is no source tree
    finally:
        os.close(lock)
    outcomes = {"user-prompt-submit": "injected", "session-start": "indexed"}
    assert filled.last_run()["event"] == event
    assert filled.last_run()["outcome"] == outcomes.get(event, "rescued" if event in AFTER_TOOLS else "queued")
    assert bool(output) == (event in INJECTING or event in AFTER_TOOLS)


# Whatever goes wrong


def test_the_command_line_does_the_same(filled: Project) -> None:
    given = json.dumps({"session_id": "s-1", "cwd": str(filled.root), "prompt": PROMPT}).encode()
    command = [str(HOOK.with_name("knowbound")), "hook"]
    assert PORT in context(filled.run("user-prompt-submit", given, command), "UserPromptSubmit")


@pytest.mark.parametrize(
    "stdin",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe\x00",
        b'"x"',
        b"[" * 100_000,
        b'{"prompt": 3, "cwd": [], "session_id": {}}',
        b"\x00" * 100,
    ],
    ids=repr,
)
def test_bad_input_is_no_context_and_no_error(filled: Project, stdin: bytes) -> None:
    for event in ("user-prompt-submit", "session-start"):
        assert filled.run(event, stdin[:200_000], KNOWBOUND_HOME=str(filled.home)) == b"" or stdin.startswith(
            b'{"prompt'
        )


def test_why_nothing_was_said_is_in_the_log(filled: Project) -> None:
    filled.run("user-prompt-submit", b"{broken", KNOWBOUND_HOME=str(filled.home))
    assert filled.last_run()["outcome"] == "failed"
    assert "no JSON" in filled.last_run()["reason"]


def test_huge_input_is_refused_but_read_to_its_end(filled: Project) -> None:
    given = json.dumps({"cwd": str(filled.root), "prompt": "word " * 2_000_000}).encode()
    assert filled.run("user-prompt-submit", given, KNOWBOUND_HOME=str(filled.home)) == b""
    assert "bytes" in filled.last_run()["reason"]


@pytest.mark.parametrize("prompt", ["{log}\n\n{asked}", "{asked}\n\n{log}", "{asked}\r\n\r\n{log}\r\n\r\n"])
def test_of_a_long_prompt_what_is_asked_is_searched_and_not_what_is_pasted(filled: Project, prompt: str) -> None:
    log = "2026-11-15 08:00:00 WARN pool exhausted, waiting for a connection\n" * 20_000
    assert PORT in filled.ask(prompt.format(log=log.strip(), asked=PROMPT))


def test_a_paste_without_a_question_is_no_error(filled: Project) -> None:
    filled.ask("x" * 100_000)
    filled.ask("\n\n" * 10_000)
    assert filled.last_run()["outcome"] == "nothing"


def test_an_unknown_event_is_logged(filled: Project) -> None:
    given = json.dumps({"cwd": str(filled.root)}).encode()
    assert filled.run("no-such-event", given) == b""
    assert "unknown event" in filled.last_run()["reason"]


def damage(project: Project) -> None:
    (project.home / "index.db").write_bytes(b"SQLite format 3\x00" + os.urandom(5000))


def no_tables(project: Project) -> None:
    (project.home / "index.db").unlink()
    sqlite3.connect(project.home / "index.db").close()


def a_folder(project: Project) -> None:
    (project.home / "index.db").unlink()
    (project.home / "index.db").mkdir()


def broken_config(project: Project) -> None:
    (project.root / "knowbound.toml").write_text("[injection]\ntokens = 1\n")


def no_place_for_the_record(project: Project) -> None:
    (project.home / "injections").write_text("a file where a folder should be")


@pytest.mark.parametrize(
    "harm", [damage, no_tables, a_folder, broken_config, no_place_for_the_record], ids=lambda harm: harm.__name__
)
def test_a_broken_store_is_no_context_and_a_reason(filled: Project, harm: Callable[[Project], None]) -> None:
    for ending in ("-wal", "-shm"):
        (filled.home / f"index.db{ending}").unlink(missing_ok=True)
    harm(filled)
    assert filled.ask() == ""
    assert filled.last_run()["outcome"] == "failed"
    assert filled.last_run()["reason"]


def test_backends_that_are_down_do_not_matter(filled: Project) -> None:
    """Only the local index is read."""
    (filled.root / "knowbound.toml").write_text(
        '[kms]\nbackends = ["sqlite", "mongo"]\nmongo_url = "mongodb://127.0.0.1:9/x"\nsync_seconds = 0\n'
    )
    assert PORT in filled.ask()


def test_a_writer_that_holds_the_index_does_not_stop_the_hook(filled: Project) -> None:
    writer = sqlite3.connect(filled.home / "index.db", isolation_level=None)
    writer.execute("BEGIN IMMEDIATE")
    writer.execute("INSERT INTO meta VALUES ('x', 'y')")
    assert PORT in filled.ask()
    writer.close()


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that other users may enter: pytest's own is closed again by whichever session of it starts next."""
    with tempfile.TemporaryDirectory(prefix="knowbound-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.skipif(os.name == "nt", reason="rights work differently")
def test_where_nothing_can_be_written_nothing_is_injected_and_the_reason_is_elsewhere(
    readable: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unprivileged = shutil.which("setpriv")
    if os.getuid() == 0 and not unprivileged:
        pytest.skip("root writes everywhere")
    state = readable / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    (readable / "shop").mkdir()
    project = Project(readable / "shop")
    project.store(PORT)
    command: list[str] = [str(HOOK)]
    if os.getuid() == 0:
        command = [str(unprivileged), "--reuid=65534", "--regid=65534", "--clear-groups", *command]
        for path in (state, *state.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
    for path in (project.home, *project.home.rglob("*")):
        path.chmod(0o555 if path.is_dir() else 0o444)
    given = json.dumps({"session_id": "s-1", "cwd": str(project.root), "prompt": PROMPT}).encode()
    done = subprocess.run(
        [*command, "user-prompt-submit"], input=given, capture_output=True, env=project.environ, check=False
    )
    project.home.chmod(0o755)
    if done.returncode:
        pytest.skip(f"this machine does not let another user run it: {done.stderr.decode()}")
    assert done.stdout == b""
    assert json.loads((state / "knowbound" / "hook.log").read_text().splitlines()[-1])["outcome"] == "failed"


def test_the_time_limit_ends_it_wherever_it_is(filled: Project) -> None:
    """Standard input that never ends is the simplest thing that hangs."""
    del filled.environ["KNOWBOUND_INJECTION_TIME_LIMIT_MS"]
    hung(filled)
    assert f"the time limit of {DEFAULT_LIMIT_MS} ms is over" in filled.last_run()["reason"]
    assert filled.last_run()["outcome"] == "gave_up"
    [record] = filled.records()
    assert (record.outcome, record.delivered, record.items) == ("gave_up", False, ())


def hung(project: Project) -> None:
    """A hook whose input never ends, in the project's folder."""
    process = subprocess.Popen(
        [HOOK, "user-prompt-submit"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=project.environ,
        cwd=project.root,
    )
    assert process.wait(timeout=60) == 0
    assert process.communicate() == (b"", b"")


def test_the_limit_until_the_settings_are_known_is_the_default() -> None:
    assert load(Path("/"), environ={}).injection_time_limit_ms == DEFAULT_LIMIT_MS


def test_the_configured_limit_holds_before_the_input_is_read(filled: Project) -> None:
    (filled.root / "knowbound.toml").write_text("[injection]\ntime_limit_ms = 321\n")
    del filled.environ["KNOWBOUND_INJECTION_TIME_LIMIT_MS"]
    load_settings(str(filled.root), str(filled.home))  # as a run before left them
    hung(filled)
    assert "the time limit of 321 ms is over" in filled.last_run()["reason"]


def test_the_environment_wins_over_the_configured_limit(filled: Project) -> None:
    (filled.root / "knowbound.toml").write_text("[injection]\ntime_limit_ms = 321\n")
    filled.environ["KNOWBOUND_INJECTION_TIME_LIMIT_MS"] = "432"
    hung(filled)
    assert "the time limit of 432 ms is over" in filled.last_run()["reason"]


def test_of_two_projects_the_limit_of_the_one_that_the_input_names_counts(filled: Project, tmp_path: Path) -> None:
    """The hook runs in a project whose limit lets nothing pass."""
    slow = Project(tmp_path / "slow")
    slow.root.mkdir()
    slow.store(RETRY)
    (slow.root / "knowbound.toml").write_text("[injection]\ntime_limit_ms = 900\n")
    (filled.root / "knowbound.toml").write_text("[injection]\ntime_limit_ms = 1\n")
    del filled.environ["KNOWBOUND_INJECTION_TIME_LIMIT_MS"]
    for project in (slow, filled):
        load_settings(str(project.root), str(project.home))
    given = json.dumps({"session_id": "s-1", "cwd": str(filled.root), "prompt": PROMPT}).encode()
    done = subprocess.run(
        [HOOK, "user-prompt-submit"], input=given, capture_output=True, env=filled.environ, cwd=slow.root, check=True
    )
    assert done.stdout == b""
    assert [record.outcome for record in [*slow.records(), *filled.records()]] == ["gave_up"]


def test_a_limit_of_a_millisecond_is_over_before_anything_is_done(filled: Project) -> None:
    filled.environ["KNOWBOUND_INJECTION_TIME_LIMIT_MS"] = "1"
    given = json.dumps({"session_id": "s-1", "cwd": str(filled.root), "prompt": PROMPT}).encode()
    for _ in range(5):
        done = subprocess.run(
            [HOOK, "user-prompt-submit"], input=given, capture_output=True, env=filled.environ, cwd=filled.root,
            check=True,
        )  # fmt: skip
        assert done.stdout + done.stderr == b""
    assert [record.outcome for record in filled.records()] == ["gave_up"] * 5
    assert [run["outcome"] for run in hook_log.runs(str(filled.home))] == ["gave_up"] * 5
    filled.environ["KNOWBOUND_INJECTION_TIME_LIMIT_MS"] = "20000"
    assert PORT in filled.ask()  # what was not delivered is not withheld


def test_missing_modules_are_no_error(filled: Project, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    (broken / "knowbound").mkdir(parents=True)
    source = Path(hook_log.__file__).parents[2]
    for room in ("agent", "injection", "quality", "store"):
        shutil.copytree(source / room, broken / "knowbound" / room)
    for base in ("user_files.py", "policy.py", "errors.py"):
        shutil.copy(source / base, broken / "knowbound")
    (broken / "knowbound" / "__init__.py").write_text('__version__ = "0"\n')
    command = [sys.executable, "-c", "from knowbound.agent.hook_entry import main; main()"]
    given = json.dumps({"cwd": str(filled.root), "prompt": PROMPT}).encode()
    assert filled.run("user-prompt-submit", given, command, PYTHONPATH=str(broken)) == b""
    assert "ModuleNotFoundError" in filled.last_run()["reason"] or "ImportError" in filled.last_run()["reason"]


def test_the_log_is_bounded_and_holds_no_secrets(filled: Project) -> None:
    token = "ghp_" + "a1B2" * 9
    hook_log.write(str(filled.home), "user-prompt-submit", "failed", 1.0, 0, 0, f"cannot use {token}")
    assert token not in (filled.home / hook_log.NAME).read_text()
    for _ in range(4000):
        hook_log.write(str(filled.home), "user-prompt-submit", "nothing", 1.0, 0, 0)
    size = sum(path.stat().st_size for path in filled.home.glob("hook.log*"))
    assert size < 2 * hook_log.LARGEST + 1000
    assert len(hook_log.runs(str(filled.home))) > 1000


def test_of_two_runs_that_find_the_log_full_one_moves_it(filled: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other has appended to the file that is the older one by now."""
    for reason in ("an early one", "a late one"):
        hook_log.write(str(filled.home), "stop", "gave_up", 1.0, 0, 0, reason)
    log = filled.home / hook_log.NAME
    older = log.rename(log.with_name(f"{hook_log.NAME}.1"))

    def appended_to_the_older_one(_: str, data: bytes) -> int:
        with older.open("ab") as file:
            file.write(data)
        return hook_log.LARGEST + 1

    for is_begun in (False, True):
        if is_begun:
            hook_log.write(str(filled.home), "stop", "gave_up", 1.0, 0, 0, "a new one")
        with monkeypatch.context() as late:
            late.setattr(hook_log, "append", appended_to_the_older_one)
            hook_log.write(str(filled.home), "stop", "gave_up", 1.0, 0, 0, "meanwhile")
    reasons = [run["reason"] for run in hook_log.runs(str(filled.home))]
    assert reasons == ["an early one", "a late one", "meanwhile", "meanwhile", "a new one"]


def test_the_hook_loads_only_what_it_needs(filled: Project) -> None:
    """Each of these costs more than the search itself."""
    given = json.dumps({"session_id": "s-1", "cwd": str(filled.root), "prompt": PROMPT}).encode()
    filled.ask(session="warm")  # the settings are read once
    code = (
        "import os, sys; from knowbound.agent import hook_entry; leave = os._exit\n"
        "def ended(code): print(*sys.modules, file=sys.stderr, flush=True); leave(code)\n"
        "os._exit = ended; hook_entry.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "user-prompt-submit"],
        input=given,
        capture_output=True,
        env=filled.environ,
        check=True,
    )
    loaded = set(done.stderr.decode().split())
    assert PORT in done.stdout.decode()
    heavy = {
        "click",
        "msgspec",
        "dataclasses",
        "inspect",
        "pathlib",
        "asyncio",
        "tomllib",
        "knowbound.config",
        "threading",
    }
    assert not loaded & heavy


# A trial: what `doctor` does


def kept_files(home: Path) -> dict[Path, bytes]:
    """Without the companions that SQLite has beside a database in use."""
    paths = [path for path in home.rglob("*") if path.is_file() and not path.name.endswith(("-wal", "-shm"))]
    return {path: path.read_bytes() for path in paths}


def test_a_trial_answers_and_leaves_no_trace(project: Project) -> None:
    project.store(PORT)
    before = kept_files(project.home)
    given = {"session_id": "s-9", "cwd": str(project.root), "hook_event_name": "UserPromptSubmit", "prompt": PROMPT}
    done = subprocess.run(
        [HOOK, "user-prompt-submit"], input=json.dumps(given).encode(), capture_output=True,
        env=project.environ | {TRIAL: "1"}, check=True,
    )  # fmt: skip
    assert PORT in context(done.stdout, "UserPromptSubmit")
    found = json.loads(done.stderr)
    assert (found["outcome"], found["home"], found["version"]) == ("injected", str(project.home), __version__)
    assert kept_files(project.home) == before
    assert PORT in project.ask(session="s-9")  # not withheld


def test_a_trial_says_why_it_failed(project: Project) -> None:
    project.store(PORT)
    done = subprocess.run(
        [HOOK, "user-prompt-submit"], input=b"{broken", capture_output=True, env=project.environ | {TRIAL: "1"},
        cwd=project.root, check=True,
    )  # fmt: skip
    found = json.loads(done.stderr)
    assert found["outcome"] == "failed"
    assert "no JSON" in found["reason"]
    assert not (project.home / "hook.log").exists()


def test_an_index_of_an_earlier_version_is_brought_up_to_date_behind_the_first_prompt(filled: Project) -> None:
    with closing(sqlite3.connect(filled.home / "index.db", isolation_level=None)) as db:
        scripts = resources.files("knowbound.store").joinpath("migrations/index")
        search = scripts.joinpath("0001_index.sql").read_text("utf-8").partition("CREATE VIRTUAL TABLE")[2]
        for trigger in ("added", "removed", "changed"):
            db.execute(f"DROP TRIGGER item_{trigger}")
        db.execute("DROP TABLE item_text")
        db.execute("ALTER TABLE item DROP COLUMN terms")
        db.executescript("CREATE VIRTUAL TABLE" + search.partition("-- What was injected")[0])
        db.execute("INSERT INTO item_text (item_text) VALUES ('rebuild')")
        db.execute("DELETE FROM meta WHERE key = 'terms'")
        db.execute("PRAGMA user_version = 6")
    assert filled.ask() == ""
    assert "earlier knowbound" in filled.last_run()["reason"]
    assert PORT in filled.ask()


def test_an_index_whose_terms_are_of_another_version_is_no_store_without_matches(filled: Project) -> None:
    with closing(sqlite3.connect(filled.home / "index.db", isolation_level=None)) as db:
        db.execute("UPDATE item SET terms = ''")  # as a killed migration leaves them
        db.execute("DELETE FROM meta WHERE key = 'terms'")
    assert filled.ask() == ""
    assert "earlier knowbound" in filled.last_run()["reason"]
    assert PORT in filled.ask()
