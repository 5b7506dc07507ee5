"""The plugin as a marketplace gives it to a client, with the wheel of this source, and its set-up."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tools.plugin import ROOT, add_wheel, name_release

_LISTS = (".claude-plugin", ".agents")
# Of whoever runs the tests: packages come from the caches that `make` filled, or from the index that is configured.
_CACHES = {"UV_CACHE_DIR": os.path.expanduser("~/.cache/uv"), "PIP_CACHE_DIR": os.path.expanduser("~/.cache/pip")}
_CONFIGURED = ("PIP_", "UV_", "SSL_", "HTTPS_PROXY", "https_proxy")
SET_UP_SECONDS = 300


@dataclass(frozen=True)
class Marketplace:
    """A folder that a client can add as a marketplace."""

    folder: Path

    @property
    def plugin(self) -> Path:
        """The folder of the plugin."""
        return self.folder / "plugin"

    @property
    def release(self) -> str:
        """The name of the release."""
        return (self.plugin / "release").read_text("utf-8").strip()

    def copy(self, folder: Path) -> Marketplace:
        """Another marketplace with the same plugin."""
        return Marketplace(Path(shutil.copytree(self.folder, folder)))

    def becomes_another_release(self) -> None:
        """Change what is locked, without a change of the packages."""
        with (self.plugin / "requirements.lock").open("a", encoding="utf-8") as file:
            file.write("# another release\n")
        name_release(self.plugin)


def set_up_environ(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment in which the set-up finds packages; uv is there where `make` brought it."""
    own = {name: value for name, value in os.environ.items() if name.startswith(_CONFIGURED)}
    uv = ROOT / ".tools" / "bin"
    return own | _CACHES | {**environ, "PATH": f"{uv}{os.pathsep}{environ['PATH']}"}


def set_up(plugin: Path, environ: Mapping[str, str], *options: str) -> subprocess.CompletedProcess[str]:
    """Run `knowbound setup` of the plugin."""
    words = ["sh", str(plugin / "bin" / "knowbound"), "setup", *options]
    return subprocess.run(
        words, env=set_up_environ(environ), capture_output=True, text=True, timeout=SET_UP_SECONDS, check=False
    )


@pytest.fixture(scope="session")
def marketplace(tmp_path_factory: pytest.TempPathFactory) -> Marketplace:
    """What a release publishes."""
    folder = tmp_path_factory.mktemp("marketplace")
    for name in _LISTS:
        shutil.copytree(ROOT / name, folder / name)
    shutil.copytree(
        ROOT / "plugin", folder / "plugin", ignore=shutil.ignore_patterns("wheel", "release", "release.json")
    )
    add_wheel(folder / "plugin")
    return Marketplace(folder)


@pytest.fixture(scope="session")
def installed_data(marketplace: Marketplace, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A XDG_DATA_HOME in which the plugin is set up."""
    data = tmp_path_factory.mktemp("data")
    done = set_up(marketplace.plugin, {"HOME": str(data), "PATH": os.defpath, "XDG_DATA_HOME": str(data)})
    if done.returncode and "failed" in done.stderr:
        pytest.skip(f"no packages to install from here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return data
