"""`doctor` runs what the settings name, as an agent would, and says what is wrong with it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from knowbound import __version__
from knowbound.agent.doctor import HealthCheck, data_folder, examine, installations, proof
from knowbound.agent.doctor.examine import next_steps, settings_for
from knowbound.agent.doctor.proof import HookTrial, ServerTrial
from knowbound.agent.hook_entry import TRIAL
from knowbound.agent.install.clients import entries
from knowbound.store.observed import Observed
from tests.agent.test_doctor import Project
from tests.agent.test_install import write

_BIN = str(Path(sys.executable).parent)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    made = Project(tmp_path)
    monkeypatch.setenv("KNOWBOUND_INJECTION_TIME_LIMIT_MS", "20000")  # tests assert no time
    made.environ["PATH"] = f"{_BIN}:/usr/bin:/bin"
    return made


@pytest.fixture
def _hooks_answer(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the trial of nine events where a test is about something else."""
    said = {"version": __version__, "outcome": "injected", "home": str(project.home)}
    monkeypatch.setattr(proof, "try_hook", lambda *_: HookTrial(1.0, "context", "", said))


@pytest.fixture
def _server_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proof, "try_server", lambda *_: ServerTrial(1.0, 0, __version__, ""))


def all_files(*folders: Path) -> dict[Path, bytes]:
    """Without the companions that SQLite has beside a database in use."""
    paths = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {path: path.read_bytes() for path in paths if not path.name.endswith(("-wal", "-shm"))}


def program(path: Path, text: str) -> Path:
    write(path, text).chmod(0o755)
    return path


def settings_of(project: Project) -> Path:
    return project.user / ".claude" / "settings.json"


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


# It works


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_hooks_and_server_are_run_as_the_agent_runs_them(project: Project, agent: str) -> None:
    project.store()
    project.run("install", agent, "--yes")
    checks = project.checks()
    hooks = checks[f"{agent} (user) hooks"]
    assert hooks["state"] == "ok", hooks
    assert "an item came back for its own words" in hooks["found"]
    server = checks[f"{agent} (user) MCP server"]
    assert server["state"] == "ok", server
    assert re.search(r"\b[1-9]\d* tools, handshake in ", server["found"])


@pytest.mark.usefixtures("_server_answers")
def test_a_data_folder_that_hooks_do_not_use_is_a_problem(project: Project) -> None:
    project.store()
    project.run("install", "claude-code", "--yes")
    (project.home / "owner").unlink()  # as version 0.1.0 left it
    checks = project.checks()
    assert (checks["data folder"]["state"], checks["data folder"]["do"]) == ("problem", "knowbound trust")
    assert checks["claude-code (user) hooks"]["found"].endswith("; the data folder is not used")
    project.run("trust", "--yes")
    assert "an item came back" in project.checks()["claude-code (user) hooks"]["found"]


def test_it_leaves_no_trace(project: Project) -> None:
    project.store()
    project.run("install", "claude-code", "--yes")
    project.run("install", "codex", "--yes")
    Observed(project.home).close()
    write(project.home / "injections" / "2020-01-01.jsonl", "{}\n")
    before = all_files(project.root, project.user)
    project.run("doctor")
    assert all_files(project.root, project.user) == before


def test_from_a_subfolder_it_is_about_the_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from knowbound.cli.main import knowbound

    project.store()
    (project.root / "sub").mkdir()
    monkeypatch.chdir(project.root / "sub")
    result = CliRunner().invoke(knowbound, ["doctor", "--format", "json"], env=project.environ, standalone_mode=False)
    [folder] = [check for check in json.loads(result.stdout)["checks"] if check["name"] == "data folder"]
    assert folder["found"] == str(project.home)


@pytest.mark.usefixtures("_server_answers")
def test_hooks_that_are_off_are_not_broken(project: Project) -> None:
    project.store()
    project.run("install", "claude-code", "--yes")
    project.environ["KNOWBOUND_OFF"] = "1"
    checks = project.checks()
    assert checks["claude-code (user) hooks"]["state"] == "ok"
    assert "switched off" in checks["claude-code (user) hooks"]["found"]


# Earlier, incomplete, foreign, dead


@pytest.mark.usefixtures("_hooks_answer", "_server_answers")
def test_an_incomplete_set_is_a_problem_that_install_repairs(project: Project) -> None:
    project.run("install", "claude-code", "--yes")
    settings = json.loads(settings_of(project).read_text())
    del settings["hooks"]["SessionStart"]
    settings_of(project).write_text(json.dumps(settings))
    check = project.checks()["claude-code (user)"]
    assert (check["state"], check["do"]) == ("problem", "knowbound install claude-code")
    assert "without SessionStart" in check["found"]
    project.run("install", "claude-code", "--yes")
    assert project.checks()["claude-code (user)"]["state"] == "ok"


@pytest.mark.usefixtures("_hooks_answer", "_server_answers")
def test_an_event_of_an_earlier_version_is_a_problem(project: Project) -> None:
    project.run("install", "claude-code", "--yes")
    settings = json.loads(settings_of(project).read_text())
    settings["hooks"]["NoLongerUsed"] = settings["hooks"]["SessionStart"]
    settings_of(project).write_text(json.dumps(settings))
    assert "earlier version: NoLongerUsed" in project.checks()["claude-code (user)"]["found"]


@pytest.mark.usefixtures("_hooks_answer", "_server_answers")
def test_a_missing_server_is_a_problem(project: Project) -> None:
    project.run("install", "claude-code", "--yes")
    (project.user / ".claude.json").unlink()
    assert "without the MCP server" in project.checks()["claude-code (user)"]["found"]


@pytest.mark.usefixtures("_server_answers")
def test_another_installation_is_named(project: Project, tmp_path: Path) -> None:
    other = tmp_path / "other" / "knowbound-hook"
    program(other, f'#!/bin/sh\nexec {_BIN}/knowbound-hook "$@"\n')
    project.run("install", "claude-code", "--yes")
    edit(settings_of(project), f"{_BIN}/knowbound-hook", str(other))
    checks = project.checks()
    assert checks["claude-code (user)"]["state"] == "note"
    assert str(other) in checks["claude-code (user)"]["found"]
    assert checks["claude-code (user) hooks"]["state"] == "ok"  # it works all the same


@pytest.mark.usefixtures("_server_answers")
def test_another_version_is_a_problem(project: Project, tmp_path: Path) -> None:
    account = json.dumps({"version": "9.9", "outcome": "nothing", "home": ""})
    other = program(tmp_path / "knowbound-hook", f"#!/bin/sh\ncat >/dev/null\necho '{account}' >&2\n")
    project.run("install", "claude-code", "--yes")
    edit(settings_of(project), f"{_BIN}/knowbound-hook", str(other))
    check = project.checks()["claude-code (user) hooks"]
    assert (check["state"], check["do"]) == ("problem", "knowbound install claude-code")
    assert f"version 9.9, this is {__version__}" in check["found"]


@pytest.mark.usefixtures("_server_answers")
@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("cat >/dev/null", "earlier version"),
        ("echo broken; cat >/dev/null", "no answer to the agent"),
        ("echo out of order >&2; exit 3", "ended with 3: out of order"),
    ],
)
def test_a_hook_that_does_not_answer_as_it_should_is_a_problem(
    project: Project, tmp_path: Path, script: str, found: str
) -> None:
    other = program(tmp_path / "knowbound-hook", f"#!/bin/sh\n{script}\n")
    project.run("install", "claude-code", "--yes")
    edit(settings_of(project), f"{_BIN}/knowbound-hook", str(other))
    check = project.checks()["claude-code (user) hooks"]
    assert check["state"] == "problem"
    assert found in check["found"]


@pytest.mark.usefixtures("_server_answers")
def test_a_hook_that_hangs_is_ended(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowbound.agent.doctor.proof._HOOK_SECONDS", 0.2)
    other = program(tmp_path / "knowbound-hook", "#!/bin/sh\nexec tail -f /dev/null\n")
    project.run("install", "claude-code", "--yes")
    edit(settings_of(project), f"{_BIN}/knowbound-hook", str(other))
    check = project.checks()["claude-code (user) hooks"]
    assert check["state"] == "problem"
    assert "did not end" in check["found"]


@pytest.mark.usefixtures("_hooks_answer")
@pytest.mark.parametrize(
    ("script", "found"),
    [
        ("exit 1", "ended before it answered"),
        ("echo broken; cat >/dev/null", "none of the protocol's"),
        ('echo \'{"jsonrpc":"2.0","id":1,"error":{"code":-1}}\'; cat >/dev/null', "refused initialize"),
        ("exec tail -f /dev/null", "did not answer in time"),
    ],
)
def test_a_server_that_does_not_answer_is_a_problem(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, found: str
) -> None:
    monkeypatch.setattr("knowbound.agent.doctor.proof._SERVER_SECONDS", 0.2 if "in time" in found else 10.0)
    other = program(tmp_path / "knowbound", f"#!/bin/sh\n{script}\n")
    project.run("install", "claude-code", "--yes")
    edit(project.user / ".claude.json", f"{_BIN}/knowbound", str(other))
    check = project.checks()["claude-code (user) MCP server"]
    assert check["state"] == "problem"
    assert found in check["found"]


@pytest.mark.usefixtures("_hooks_answer", "_server_answers")
def test_two_scopes_that_both_answer_are_a_problem(project: Project) -> None:
    project.run("install", "claude-code", "--scope", "local", "--yes")
    project.run("install", "claude-code", "--scope", "project", "--yes")
    check = project.checks()["claude-code"]
    assert (check["state"], check["do"]) == ("problem", "knowbound uninstall claude-code --scope local")


@pytest.mark.usefixtures("_server_answers")
@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_shared_hooks_give_way_to_the_users_own(project: Project, agent: str) -> None:
    project.run("install", agent, "--yes")
    project.run("install", agent, "--scope", "project", "--yes")
    checks = project.checks()
    assert agent not in checks
    assert "give way" in checks[f"{agent} (project) hooks"]["found"]
    shared = entries(agent, "project").hooks["SessionStart"]["hooks"][0]["command"]
    environ = {"HOME": str(project.user), "PATH": f"{_BIN}:/usr/bin:/bin", TRIAL: "1"}
    ran = subprocess.run(["/bin/sh", "-c", shared], input=b"{}", env=environ, capture_output=True, check=True)
    assert (ran.stdout, ran.stderr) == (b"", b"")  # in a trial the hook would speak of itself
    project.run("uninstall", agent, "--yes")
    ran = subprocess.run(["/bin/sh", "-c", shared], input=b"{}", env=environ, capture_output=True, check=True)
    assert json.loads(ran.stderr)["outcome"] == "nothing"


@pytest.mark.usefixtures("_hooks_answer", "_server_answers")
def test_hooks_that_the_agent_switches_off_are_a_problem(project: Project) -> None:
    project.run("install", "claude-code", "--yes")
    write(project.root / ".claude" / "settings.json", '{"disableAllHooks": true}')
    check = project.checks()["claude-code (project)"]
    assert check["state"] == "problem"
    assert "disableAllHooks" in check["found"]


# Shared settings


def test_shared_settings_work_where_knowbound_is_on_the_path(project: Project) -> None:
    project.store()
    project.run("install", "claude-code", "--scope", "project", "--yes")
    checks = project.checks()
    assert checks["claude-code (project) hooks"]["state"] == "ok"
    assert checks["claude-code (project) MCP server"]["state"] == "ok"


def test_without_knowbound_on_the_path_it_says_how_to_get_it_there(project: Project) -> None:
    project.run("install", "claude-code", "--scope", "project", "--yes")
    project.environ["PATH"] = "/usr/bin:/bin"
    check = project.checks()["claude-code (project)"]
    assert check["state"] == "problem"
    assert _BIN in check["do"]


@pytest.mark.parametrize("scope", ["project", "local"])
def test_a_program_that_a_checkout_brings_is_never_run(project: Project, tmp_path: Path, scope: str) -> None:
    ran = tmp_path / "ran"
    brought = program(project.root / "bin" / "knowbound-hook", f"#!/bin/sh\ntouch {ran}\n")
    program(project.root / "bin" / "knowbound", f"#!/bin/sh\ntouch {ran}\n")
    project.environ["PATH"] = f"{brought.parent}:{project.environ['PATH']}"
    name = "settings.json" if scope == "project" else "settings.local.json"
    line = f"command -v knowbound-hook >/dev/null || exit 0; exec {brought} session-start"
    handlers = [{"type": "command", "command": command} for command in (f"{brought} session-start", line)]
    write(project.root / ".claude" / name, json.dumps({"hooks": {"SessionStart": [{"hooks": handlers}]}}))
    server = {"command": str(project.root / "bin" / "knowbound"), "args": ["mcp"]}
    write(project.root / ".mcp.json", json.dumps({"mcpServers": {"knowbound": server}}))
    checks = project.checks()
    assert "not tried" in checks[f"claude-code ({scope}) hooks"]["found"]
    assert not ran.exists()
    (project.root / ".claude" / name).unlink()
    (project.root / ".mcp.json").unlink()
    project.run("install", "claude-code", "--scope", "project", "--yes")
    assert project.checks()["claude-code (project) hooks"]["state"] == "ok"  # found behind the brought one
    assert not ran.exists()


# Codex's trust


def trust(project: Project, **changed: object) -> None:
    """As Codex writes it when its user trusts the hooks."""
    hooks = project.user / ".codex" / "hooks.json"
    lines = []
    for one in installations.find_installations(project.root, {"HOME": str(project.user)}):
        for hook in one.hooks:
            from knowbound.agent.doctor.installations import hash_of

            event = re.sub("(?<!^)(?=[A-Z])", "_", hook.event).lower()
            state: dict[str, Any] = {"trusted_hash": hash_of(hook)} | changed
            lines.append(f'[hooks.state."{hooks}:{event}:{hook.group}:{hook.handler}"]')
            lines += [f"{key} = {json.dumps(value)}" for key, value in state.items()]
    with (project.user / ".codex" / "config.toml").open("a") as file:
        file.write("\n" + "\n".join(lines) + "\n")


@pytest.mark.usefixtures("_hooks_answer", "_server_answers")
@pytest.mark.parametrize(
    ("changed", "state"),
    [({}, ""), ({"trusted_hash": "sha256:0"}, "modified"), ({"enabled": False}, "disabled"), (None, "untrusted")],
)
def test_hooks_that_codex_does_not_run_are_a_problem(
    project: Project, changed: dict[str, object] | None, state: str
) -> None:
    project.run("install", "codex", "--yes")
    if changed is not None:
        trust(project, **changed)
    check = project.checks()["codex (user) trust"]
    assert check["state"] == ("problem" if state else "ok"), check
    assert (f"({state})" in check["found"]) == bool(state)


@pytest.mark.usefixtures("_hooks_answer", "_server_answers")
def test_codex_settings_of_a_project_that_is_not_trusted_are_a_problem(project: Project) -> None:
    project.run("install", "codex", "--scope", "project", "--yes")
    assert "have not trusted" in project.checks()["codex (project) trust"]["found"]


@pytest.mark.usefixtures("_hooks_answer", "_server_answers")
def test_codex_hooks_that_are_switched_off_are_a_problem(project: Project) -> None:
    write(project.user / ".codex" / "config.toml", "[features]\nhooks = false\n")
    project.run("install", "codex", "--yes")
    assert project.checks()["codex (user) trust"]["do"] == "codex features enable hooks"


# Whatever is broken


@pytest.mark.usefixtures("_server_answers")
def test_a_broken_config_is_a_problem_and_the_rest_is_checked(project: Project) -> None:
    project.store()
    project.run("install", "claude-code", "--yes")
    (project.root / "knowbound.toml").write_text("[broken")
    code, output = project.run("doctor")
    assert code == 2
    assert "knowbound.toml" in output
    checks = project.checks()
    assert checks["config"]["state"] == "problem"
    assert checks["index.db"]["state"] == "ok"
    assert checks["claude-code (user) hooks"]["do"] == "knowbound explain hook-failed"


def test_a_wrong_variable_is_a_problem(project: Project) -> None:
    project.environ["KNOWBOUND_INJECTION_TIME_LIMIT_MS"] = "soon"
    assert project.checks()["config"]["state"] == "problem"


def test_a_check_that_fails_does_not_fail_the_others(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_folder, "check_index", lambda settings: 1 / 0)
    project.store()
    checks = project.checks()
    assert "ZeroDivisionError" in checks["index"]["found"]
    assert checks["index.db"]["state"] == "ok"


BROKEN: dict[str, Any] = {
    "no JSON": b"{",
    "no UTF-8": b"\xff\xfe",
    "a list": b"[]",
    "hooks of the wrong type": b'{"hooks": [1, {"SessionStart": 2}]}',
    "a hook without a command": b'{"hooks": {"SessionStart": [{"hooks": [{"type": "command"}]}]}}',
    "an unbalanced quote": b'{"hooks": {"SessionStart": [{"hooks": [{"command": "knowbound-hook \'x"}]}]}}',
    "a server of the wrong type": b'{"mcpServers": {"knowbound": []}}',
    "arguments of the wrong type": b'{"mcpServers": {"knowbound": {"command": "/x/knowbound", "args": 1, "env": 2}}}',
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN)
def test_it_never_raises_whatever_the_settings_are(project: Project, content: bytes) -> None:
    for name in (".claude/settings.json", ".claude.json", ".codex/hooks.json", ".codex/config.toml"):
        write(project.user / name, content)
    write(project.root / ".mcp.json", content)
    code, output = project.run("doctor")
    assert code in (0, 2)
    assert "data folder" in output


def test_settings_that_cannot_be_read_are_a_problem(project: Project) -> None:
    (project.user / ".claude" / "settings.json").mkdir(parents=True)
    assert project.checks()["claude-code (user)"]["state"] == "problem"


def test_folders_in_the_place_of_files_do_not_raise(project: Project) -> None:
    project.store()
    for path in project.home.glob("index.db*"):
        path.unlink()
    for name in ("hook.log", "index.db"):
        (project.home / name).mkdir()
    code, output = project.run("doctor")
    assert code in (0, 2)
    assert "index.db" in output


# What to do comes first


@pytest.mark.usefixtures("_hooks_answer", "_server_answers")
def test_the_first_screen_says_what_to_do(project: Project) -> None:
    project.run("install", "codex", "--yes")
    _, output = project.run("doctor")
    first, _, rest = output.partition("\n\n")
    assert first.splitlines()[:2] == ["To do:", "  open Codex, enter /hooks and trust them"]
    assert "PROBLEM  codex (user) trust" in rest


def test_each_command_is_named_once_and_notes_only_without_problems() -> None:
    checks = [
        HealthCheck("a", "note", "x", "later"),
        HealthCheck("b", "problem", "x", "repair"),
        HealthCheck("c", "problem", "y", "repair"),
        HealthCheck("d", "ok", "z"),
    ]
    assert [check.name for check in next_steps(checks)] == ["b"]
    assert [check.name for check in next_steps(checks[:1])] == ["a"]


@pytest.mark.usefixtures("_hooks_answer", "_server_answers")
def test_a_missing_extra_alone_is_nothing_to_do(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examine, "_EXTRAS", {"mongo": "no_such_module_at_all"})
    project.store()
    project.run("install", "claude-code", "--yes")
    _, output = project.run("doctor")
    assert output.splitlines()[0] == "All is well."


def test_settings_without_a_usable_config_are_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "knowbound.toml").write_text("x = 1")
    settings, problem = settings_for(tmp_path, {})
    assert settings.home == tmp_path / ".knowbound"
    assert "unknown key" in problem
