"""Builds a release into dist/ and tries it: `python -m tools.release [--only-try]` (docs/releasing.md)."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

from knowbound import __version__
from tools.plugin import PLUGIN, ROOT, add_wheel, generated

DIST = ROOT / "dist"
MINORS = (11, 12, 13, 14)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)(?: ; ([^\\]*[^\\ ]))?")
_BRANCH = (".claude-plugin", ".agents", "plugin", "LICENSE", "NOTICE", "SECURITY.md")


class ReleaseError(Exception):
    """The reason why this is no release."""


def check_source() -> None:
    """Raise unless version, manifests and lock belong together."""
    declared = re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.M)
    if declared is None or declared[1] != __version__:
        raise ReleaseError(f"pyproject.toml does not have the version {__version__}")
    stale = [str(path.relative_to(ROOT)) for path, text in generated().items() if path.read_text("utf-8") != text]
    if stale:
        raise ReleaseError(f"not current: {', '.join(stale)}. Run: python -m tools.plugin")


def build() -> tuple[Path, Path]:
    """Build sdist and wheel, compare a second build and one from the sdist, and return both."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    _hatch(ROOT, DIST, "sdist", "wheel")
    [sdist], [wheel] = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / "again"
        _hatch(ROOT, again, "wheel")
        if next(again.glob("*.whl")).read_bytes() != wheel.read_bytes():
            raise ReleaseError("a second build of the wheel has other bytes")
        with tarfile.open(sdist) as archive:
            archive.extractall(folder, filter="data")
        from_sdist = Path(folder) / "from-sdist"
        _hatch(Path(folder) / sdist.name.removesuffix(".tar.gz"), from_sdist, "wheel")
        if _contents(next(from_sdist.glob("*.whl"))) != _contents(wheel):
            raise ReleaseError("the wheel that the sdist gives has other files")
    return sdist, wheel


def _hatch(source: Path, target: Path, *kinds: str) -> None:
    for kind in kinds:
        words = [sys.executable, "-m", "hatchling", "build", "-t", kind, "-d", str(target)]
        subprocess.run(words, cwd=source, check=True, capture_output=True)


def _contents(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {one.filename: one.CRC for one in archive.infolist()}


def sbom(wheel: Path) -> dict[str, object]:
    """Return the bill of materials of the base installation, as CycloneDX 1.5 has it."""
    own = f"pkg:pypi/knowbound@{__version__}"
    parts = [_component(*one) for one in pins((PLUGIN / "requirements.lock").read_text("utf-8"))]
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.UUID(digest[:32])}",  # the same wheel has the same number
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "knowbound",
                "version": __version__,
                "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
        },
        "components": parts,
        "dependencies": [{"ref": own, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def pins(lock: str) -> Iterator[tuple[str, str, str, list[str]]]:
    """Yield name, version, marker and hashes of each package of a lock."""
    for entry in re.split(r"\n(?=\S)", lock.strip()):
        if found := _PIN.match(entry):
            yield found[1], found[2], found[3] or "", _HASH.findall(entry)


def _component(name: str, version: str, marker: str, hashes: list[str]) -> dict[str, object]:
    purl = f"pkg:pypi/{name}@{version}"
    part: dict[str, object] = {"type": "library", "bom-ref": purl, "name": name, "version": version, "purl": purl}
    if licence := _licence(name):
        part["licenses"] = [{"license": {"name": licence}}]
    part["properties"] = [
        *({"name": "knowbound:marker", "value": marker} for _ in range(bool(marker))),
        # One per wheel: which of them is installed depends on the system.
        *({"name": "knowbound:sha256", "value": one} for one in hashes),
    ]
    return part


def _licence(name: str) -> str:
    try:
        found = metadata(name).json
    except PackageNotFoundError:
        return ""
    named = str(found.get("license_expression") or found.get("license") or "")
    classified = [str(one).rpartition(" :: ")[2] for one in found.get("classifier", []) if "License ::" in str(one)]
    return named if 0 < len(named) < 60 else ", ".join(classified)


def publishable_plugin() -> Path:
    """Lay out what the branch `plugin` has: the marketplace with the wheel, and the texts that belong to it."""
    add_wheel()
    target = DIST / "plugin"
    target.mkdir()
    for name in _BRANCH:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target / name)
    return target


def pythons() -> dict[int, str]:
    """Return a program for each minor version of Python that this machine has."""
    places = [*os.environ.get("PATH", "").split(os.pathsep), *map(str, Path.home().glob(".pyenv/versions/*/bin"))]
    found: dict[int, str] = {}
    for minor in MINORS:
        for place in places:
            program = shutil.which(f"python3.{minor}", path=place)
            words = [
                program or "",
                "-c",
                f"import sys, venv, ensurepip; sys.exit(sys.version_info[:2] != (3, {minor}))",
            ]
            if program and subprocess.run(words, capture_output=True, check=False).returncode == 0:
                found[minor] = program
                break
    return found


def fresh_account(home: Path) -> dict[str, str]:
    """Return the environment of a user who has nothing but the settings of the package index."""
    environ = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_", "HTTPS_"))}
    return environ | {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}


def try_wheel(wheel: Path, python: str, folder: Path) -> float:
    """Install the wheel alone, in an account without anything, and use it; return the seconds to the first report."""
    began = time.monotonic()
    environ = fresh_account(folder)
    environment, project = folder / "environment", folder / "project"
    project.mkdir(parents=True)
    _run(environ, folder, python, "-m", "venv", str(environment))
    inside = str(environment / "bin" / "python")
    pip = (inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(environ, folder, *pip, "--require-hashes", "-r", str(PLUGIN / "requirements.lock"))
    _run(environ, folder, *pip, "--no-deps", "--no-index", str(wheel))
    _run(environ, folder, inside, "-m", "pip", "check")
    for words in ((str(environment / "bin" / "knowbound"), "--version"), (inside, "-m", "knowbound", "--version")):
        if _run(environ, project, *words) != f"knowbound {__version__}\n":
            raise ReleaseError(f"{words} is another version")
    if "What to write down" not in (shown := _run(environ, project, str(environment / "bin" / "knowbound"), "demo")):
        raise ReleaseError(f"the demo prints no report: {shown[:200]}")
    taken = time.monotonic() - began
    (project / "src" / "orders").mkdir(parents=True)
    (project / "src" / "orders" / "export.py").write_text("def export(): ...\n", "utf-8")
    (project / "CLAUDE.md").write_text("Orders are exported by `src/export.py`.\n", "utf-8")
    if "repair" not in (shown := _run(environ, project, str(environment / "bin" / "knowbound"))).lower():
        raise ReleaseError(f"the review of a wrong line prints no repair: {shown[:200]}")
    return taken


def _run(environ: dict[str, str], cwd: Path, *words: str) -> str:
    done = subprocess.run(
        words, env=environ, cwd=cwd, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        raise ReleaseError(
            f"{' '.join(words)}: exit code {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}"
        )
    return done.stdout


def main() -> int:
    """Build and try, or only build and try the wheel."""
    try:
        check_source()
        sdist, wheel = build()
        tried = pythons()
        for minor, python in tried.items():
            with tempfile.TemporaryDirectory() as folder:
                seconds = try_wheel(wheel, python, Path(folder))
            print(f"Python 3.{minor}: installed alone, demo and review run; {seconds:.0f} s to the demo's report")
        for minor in MINORS:
            if minor not in tried:
                print(f"Python 3.{minor}: not run, it is not on this machine")
        if sys.argv[1:] == ["--only-try"]:
            return 0
        (DIST / "sbom.cdx.json").write_text(json.dumps(sbom(wheel), indent=2) + "\n", "utf-8")
        publishable_plugin()
        (DIST / "upload").mkdir()  # what a package index takes
        for path in (sdist, wheel):
            shutil.copy(path, DIST / "upload")
        files = [sdist, wheel, DIST / "sbom.cdx.json"]
        sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files)
        (DIST / "SHA256SUMS").write_text(sums, "utf-8")
        print(sums, end="")
    except (ReleaseError, OSError) as error:
        print(f"no release: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
