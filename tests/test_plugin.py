"""The plugin without a client: its files, its set-up and its scripts."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tools.plugin import PLUGIN, ROOT, generated

from knowbound import __version__
from tests.marketplaces import Marketplace, set_up, set_up_environ
from tests.services import until

EVENT = json.dumps({"session_id": "s", "cwd": "/", "prompt": "Which port?", "hook_event_name": "SessionStart"})
SYSTEM = "/usr/local/bin:/usr/bin:/bin"


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """A user account in which nothing was ever done."""
    home = tmp_path / "account"
    home.mkdir()
    return {"HOME": str(home), "PATH": SYSTEM, "LANG": "C.UTF-8"}


def kept(environ: dict[str, str]) -> Path:
    return Path(environ["HOME"]) / ".local" / "share" / "knowbound"


def environments(environ: dict[str, str]) -> list[str]:
    folder = kept(environ)
    return sorted(one.name for one in folder.iterdir() if one.is_dir()) if folder.is_dir() else []


def hook(plugin: Path, environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(plugin / "run" / "hook.sh"), *words], env=environ, input=EVENT, capture_output=True, text=True,
        cwd=environ["HOME"], timeout=60, check=False,
    )  # fmt: skip


def served(plugin: Path, environ: dict[str, str], *methods: str) -> list[dict[str, object]]:
    """What the server answers to these requests."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = [{"jsonrpc": "2.0", "id": number, "method": method, "params": about if method == "initialize" else {}}
             for number, method in enumerate(methods, 1)]  # fmt: skip
    done = subprocess.run(
        ["sh", str(plugin / "run" / "server.sh"), "claude-code"], env=environ, capture_output=True, text=True,
        input="".join(json.dumps(one) + "\n" for one in asked), cwd=environ["HOME"], timeout=60, check=True,
    )  # fmt: skip
    return [json.loads(line)["result"] for line in done.stdout.splitlines()]


def test_its_generated_files_are_current() -> None:
    stale = [str(path.relative_to(ROOT)) for path, text in generated().items() if path.read_text("utf-8") != text]
    assert stale == [], "run: python -m tools.plugin"


def test_its_lock_has_every_package_of_the_base_installation_with_hashes() -> None:
    text = (PLUGIN / "requirements.lock").read_text("utf-8")
    names = re.findall(r"^([A-Za-z0-9._-]+)==\S+(?: ;[^\\\n]*)? \\\n    --hash=sha256:[0-9a-f]{64}", text, re.M)
    project = (ROOT / "pyproject.toml").read_text("utf-8").partition("\ndependencies = [")[2].partition("]")[0]
    wanted = {re.sub(r"[-_.]+", "-", name) for name in re.findall(r'"([A-Za-z0-9._-]+?)[><=]', project)}
    assert wanted <= set(names)
    assert len(names) == len(re.findall(r"^\S", text, re.M)) <= 15


def test_its_manifests_name_one_version() -> None:
    for name in (".claude-plugin", ".codex-plugin"):
        assert json.loads((PLUGIN / name / "plugin.json").read_text("utf-8"))["version"] == __version__


@pytest.mark.parametrize("client", ["claude-code", "codex"])
def test_of_five_first_sessions_at_once_one_says_one_line(
    marketplace: Marketplace, environ: dict[str, str], client: str
) -> None:
    with ThreadPoolExecutor(5) as pool:
        runs = list(pool.map(lambda _: hook(marketplace.plugin, environ, client, "session-start"), range(5)))
    assert {(run.returncode, run.stderr) for run in runs} == {(0, "")}
    [line] = [run.stdout for run in runs if run.stdout]
    assert "knowbound setup" in json.loads(line)["systemMessage"]
    assert hook(marketplace.plugin, environ, client, "user-prompt-submit").stdout == ""
    assert environments(environ) == []


def test_before_the_set_up_the_server_has_no_tools_and_hooks_of_it_say_nothing(
    marketplace: Marketplace, environ: dict[str, str]
) -> None:
    started, tools, called = served(marketplace.plugin, environ, "initialize", "tools/list", "tools/call")
    assert started["serverInfo"] == {"name": "knowbound", "version": "0"}
    assert tools == {"tools": []}
    assert called == {"content": [{"type": "text", "text": "{}"}]}


def test_a_copy_without_the_wheel_says_where_to_get_one(environ: dict[str, str], tmp_path: Path) -> None:
    source = Path(shutil.copytree(PLUGIN, tmp_path / "plugin", ignore=shutil.ignore_patterns("wheel", "release*")))
    done = set_up(source, environ)
    assert done.returncode == 2
    assert "make plugin" in done.stderr
    assert hook(source, environ, "claude-code", "session-start").stdout == ""


def test_a_changed_wheel_is_refused(marketplace: Marketplace, environ: dict[str, str], tmp_path: Path) -> None:
    other = marketplace.copy(tmp_path / "other")
    [wheel] = (other.plugin / "wheel").iterdir()
    wheel.write_bytes(wheel.read_bytes() + b"x")
    done = set_up(other.plugin, environ)
    assert (done.returncode, "Install the plugin again" in done.stderr) == (2, True)
    assert environments(environ) == []


def test_without_a_network_nothing_is_installed(marketplace: Marketplace, environ: dict[str, str]) -> None:
    alone = ["unshare", "--net"]  # a network of its own, with nothing in it
    if subprocess.run([*alone, "true"], capture_output=True, check=False).returncode:
        alone = ["env", "PIP_NO_INDEX=1", "UV_OFFLINE=1"]
    words = [*alone, "sh", str(marketplace.plugin / "bin" / "knowbound"), "setup"]
    at_once = {**environ, "UV_HTTP_RETRIES": "0", "PIP_RETRIES": "0"}
    done = subprocess.run(words, env=at_once, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert "is the network there?" in done.stderr
    assert "Nothing was changed" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (kept(environ) / "current").exists()
    assert environments(environ) == []
    assert hook(marketplace.plugin, environ, "claude-code", "user-prompt-submit").stdout == ""


def test_a_killed_set_up_leaves_nothing_that_is_used_and_the_next_one_ends(
    installed_data: Path, marketplace: Marketplace, environ: dict[str, str]
) -> None:
    words = ["sh", str(marketplace.plugin / "bin" / "knowbound"), "setup"]
    with subprocess.Popen(
        words, env=set_up_environ(environ), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as process:
        until(lambda: bool(environments(environ)))
        os.killpg(process.pid, signal.SIGKILL)
    assert not (kept(environ) / "current").exists()
    assert hook(marketplace.plugin, environ, "claude-code", "user-prompt-submit").stdout == ""
    done = set_up(marketplace.plugin, environ)
    assert done.returncode == 0, done.stderr
    assert environments(environ) == [marketplace.release]


def test_of_several_set_ups_at_once_one_installs_and_the_others_wait(
    installed_data: Path, marketplace: Marketplace, environ: dict[str, str]
) -> None:
    with ThreadPoolExecutor(3) as pool:
        runs = list(pool.map(lambda _: set_up(marketplace.plugin, environ), range(3)))
    assert {run.returncode for run in runs} == {0}, runs
    assert sum("Set up in" in run.stdout for run in runs) == 1
    assert sum("set up already" in run.stdout for run in runs) == 2
    assert environments(environ) == [marketplace.release]


def test_update_downgrade_and_removal(
    installed_data: Path, marketplace: Marketplace, environ: dict[str, str], tmp_path: Path
) -> None:
    newer = marketplace.copy(tmp_path / "newer")
    newer.becomes_another_release()
    assert set_up(marketplace.plugin, environ).returncode == 0
    # The plugin was updated, its set-up did not run yet: the earlier release answers, and one line says so, once.
    first, second = (hook(newer.plugin, environ, "claude-code", "session-start") for _ in range(2))
    assert marketplace.release in json.loads(first.stdout)["systemMessage"]
    assert second.stdout == ""
    assert version(newer.plugin, environ) == version(marketplace.plugin, environ)
    assert set_up(newer.plugin, environ).returncode == 0
    assert (kept(environ) / "current").read_text().strip() == newer.release
    # A session that runs goes on with the environment that it has; a plugin that was taken back finds its own at once.
    assert environments(environ) == sorted((marketplace.release, newer.release))
    assert program(marketplace.plugin, environ) == kept(environ) / marketplace.release
    assert program(newer.plugin, environ) == kept(environ) / newer.release
    assert set_up(newer.plugin, environ, "--remove").returncode == 0
    assert not kept(environ).exists()
    assert hook(newer.plugin, environ, "claude-code", "user-prompt-submit").stdout == ""


def test_an_old_environment_goes_a_week_after_it_was_replaced(
    installed_data: Path, marketplace: Marketplace, environ: dict[str, str], tmp_path: Path
) -> None:
    """A session may have begun with it on the day of the update."""
    newer = marketplace.copy(tmp_path / "newer")
    assert set_up(marketplace.plugin, environ).returncode == 0
    long_ago = time.time() - 30 * 24 * 3600
    os.utime(kept(environ) / marketplace.release, (long_ago, long_ago))
    releases = [marketplace.release]
    for _ in range(2):  # two updates on one day
        newer.becomes_another_release()
        assert set_up(newer.plugin, environ).returncode == 0
        releases.append(newer.release)
    assert environments(environ) == sorted(releases)
    os.utime(kept(environ) / releases[0], (long_ago, long_ago))
    assert set_up(newer.plugin, environ).returncode == 0
    assert environments(environ) == sorted(releases[1:])


def test_its_programs_run_after_the_folder_was_renamed(
    installed_data: Path, marketplace: Marketplace, environ: dict[str, str]
) -> None:
    given = environ | {"XDG_DATA_HOME": str(installed_data)}
    assert version(marketplace.plugin, given) == f"knowbound {__version__}\n"
    left = [path for path in (installed_data / "knowbound").rglob("bin/*") if b".unfinished" in start_of(path)]
    assert left == []


def start_of(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(4096) if not path.is_symlink() and path.is_file() else b""


def version(plugin: Path, environ: dict[str, str]) -> str:
    return run_program(plugin, environ, "--version")


def run_program(plugin: Path, environ: dict[str, str], *words: str) -> str:
    given: Sequence[str] = ["sh", str(plugin / "bin" / "knowbound"), *words]
    done = subprocess.run(given, env=environ, capture_output=True, text=True, timeout=60, check=True)
    return done.stdout


def program(plugin: Path, environ: dict[str, str]) -> Path:
    """The environment whose programs the plugin runs."""
    lines = f'root={plugin}; . "$root/run/find.sh"; printf %s "${{found%/*}}"'
    done = subprocess.run(["sh", "-c", lines], env=environ, capture_output=True, text=True, timeout=60, check=True)
    return Path(done.stdout)


@pytest.mark.parametrize("where", ["user", "project", "local"])
def test_beside_settings_that_have_the_hook_it_is_silent(
    installed_data: Path, marketplace: Marketplace, environ: dict[str, str], tmp_path: Path, where: str
) -> None:
    project = tmp_path / "project"
    paths = {
        "user": Path(environ["HOME"]) / ".claude" / "settings.json",
        "project": project / ".claude" / "settings.json",
        "local": project / ".claude" / "settings.local.json",
    }
    paths[where].parent.mkdir(parents=True)
    paths[where].write_text(json.dumps({"command": "/opt/knowbound-hook user-prompt-submit"}))
    given = environ | {"XDG_DATA_HOME": str(installed_data), "CLAUDE_PROJECT_DIR": str(project)}
    tools = served(marketplace.plugin, given, "initialize", "tools/list")[1]["tools"]
    # Shared settings do nothing on a machine without a knowbound-hook on the PATH.
    assert bool(tools) is (where == "project")
    on_path = given | {"PATH": f"{next((installed_data / 'knowbound').glob('*/bin'))}:{SYSTEM}"}
    assert served(marketplace.plugin, on_path, "initialize", "tools/list")[1]["tools"] == []


def test_a_knowbound_on_the_path_needs_no_set_up(
    installed_data: Path, marketplace: Marketplace, environ: dict[str, str]
) -> None:
    own = next((installed_data / "knowbound").glob("*/bin"))
    given = environ | {"PATH": f"{own}:{SYSTEM}"}
    assert program(marketplace.plugin, given) == own.parent
    assert version(marketplace.plugin, given) == f"knowbound {__version__}\n"
