"""Builds the plugin: `python -m tools.plugin` writes its hooks and lock, `--wheel` adds the wheel.

A marketplace gives a client a repository, or a branch of it. The wheel is 8 MB and new in every release, so the source
does not keep it: `make plugin` puts it into plugin/wheel, which git ignores, and a release publishes the same files as
the branch `plugin` (docs/decisions/plugin.md).
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

from knowbound import __version__
from knowbound.agent.install.clients import AGENTS, SERVER, plugin_entries

ROOT = Path(__file__).parents[1]
PLUGIN = ROOT / "plugin"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MANIFESTS = (".claude-plugin/plugin.json", ".codex-plugin/plugin.json")


def generated() -> dict[Path, str]:
    """Return the files of the plugin that follow from the source, with what they should hold."""
    found = {PLUGIN / "hooks" / f"{agent}.json": hooks(agent) for agent in AGENTS}
    for agent in AGENTS:
        servers = {"mcpServers": {SERVER: plugin_entries(agent).server}}
        found[PLUGIN / "hooks" / f"{agent}.mcp.json"] = json.dumps(servers, indent=2) + "\n"
    found[PLUGIN / "requirements.lock"] = lock((ROOT / "requirements.lock").read_text("utf-8"))
    for name in _MANIFESTS:
        text = (PLUGIN / name).read_text("utf-8")
        found[PLUGIN / name] = re.sub(r'("version": )"[^"]*"', rf'\g<1>"{__version__}"', text)
    return found


def hooks(agent: str) -> str:
    """Return the hooks of a client, as its settings would have them."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for event, group in plugin_entries(agent).groups:
        groups.setdefault(event, []).append(group)
    return json.dumps({"hooks": groups}, indent=2) + "\n"


def lock(whole: str) -> str:
    """Return the part of the lock that knowbound needs without extras, for every system and Python."""
    wanted = set(_needed("knowbound"))
    entries = re.split(r"\n(?=\S)", whole.strip())
    kept = [entry for entry in entries if (name := _NAME.match(entry)) and _normal(name[0]) in wanted]
    return "\n".join(kept) + "\n"


def _needed(package: str, seen: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield the names of everything that a package needs without extras, on any system."""
    try:
        lines = requires(package) or []
    except PackageNotFoundError:  # of another system
        return
    for line in lines:
        name = _NAME.match(line)
        if name is None or "extra ==" in line or _normal(name[0]) in seen:
            continue
        yield _normal(name[0])
        yield from _needed(name[0], seen | {_normal(name[0])})


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def add_wheel(plugin: Path = PLUGIN) -> Path:
    """Build the wheel into the plugin, and name the release."""
    folder = plugin / "wheel"
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(words, cwd=ROOT, check=True, capture_output=True)
    name_release(plugin)
    [wheel] = folder.glob("*.whl")
    return wheel


def name_release(plugin: Path) -> str:
    """Write the hashes of what the set-up installs, and return the name that follows from them."""
    [wheel] = (plugin / "wheel").glob("*.whl")
    paths = (wheel, plugin / "requirements.lock")
    shipped = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}
    release = f"{__version__}-{hashlib.sha256(''.join(shipped.values()).encode()).hexdigest()[:12]}"
    (plugin / "release.json").write_text(json.dumps({"wheel": wheel.name, "sha256": shipped}, indent=2) + "\n", "utf-8")
    (plugin / "release").write_text(f"{release}\n", "utf-8")
    return release


def main() -> None:
    """Write what changed; with --wheel, add the wheel."""
    for path, text in generated().items():
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    if sys.argv[1:] == ["--wheel"]:
        print(f"built {add_wheel().relative_to(ROOT)}")


if __name__ == "__main__":
    main()
