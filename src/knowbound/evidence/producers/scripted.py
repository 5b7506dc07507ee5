"""npm: the scripts of package.json, and Python: pytest, unittest and the syntax of files. Nothing is fetched."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from knowbound.codebase.manifests import has_test_script, take_inventory
from knowbound.core.paths import extension, extensions_of, is_test
from knowbound.evidence.producers.compiled import refuse_far_reaching
from knowbound.evidence.producers.system import (
    Built,
    OutcomeCounts,
    System,
    Tested,
    UnableError,
    Workspace,
    first_error,
    places_in,
    read_counts,
)

_TRIVIAL = re.compile(r"(?:\s*(?:echo\b[^&|;]*|true|:|exit 0)\s*(?:&&|;|$))+")
_TSC = re.compile(r"^([^\s(:][^(:\n]*)[(:](\d+)[,:]\d+\)?(?::| -) error (.*)", re.M)
_MISSING = re.compile(r"Cannot find (?:module|package) '([^'./][^']*)'|sh: \d*:? ?(\S+): not found")
_MOST_CHECKED = 100  # files whose syntax is looked at one by one


class _PackageJson(msgspec.Struct):
    scripts: dict[str, object] = {}


class Npm(System):
    """`npm run build` and `npm test`; without a build script, the syntax of every file is what can be built."""

    name = "npm"
    manifests = ("package.json",)
    kind = "javascript"
    words = ("npm", "node", "jest", "vitest", "mocha")
    keeps = frozenset({"node_modules"})

    def build(self, work: Workspace, named: str) -> Built:
        """Run the script `build:NAME` or NAME, else `build`; without any, check the syntax."""
        scripts = self._scripts(work)
        own = next((name for name in (f"build:{named}", named) if named and name in scripts), "")
        if own:
            refuse_far_reaching(own)
        script = own or "build"
        if script not in scripts:
            return self._check_syntax(work, named)
        command = f"npm run {script}"
        ran = work.run("npm", "run", script)
        if ran.code == 0:
            made = () if _TRIVIAL.fullmatch(str(scripts[script])) else (script,)  # `echo ok` builds nothing
            return Built("npm", command, passed=True, made=made, has_named=bool(own))
        self._raise_if_not_installed(ran.text)
        places = places_in(work, ((path, int(line), what) for path, line, what in _TSC.findall(ran.text)))
        return Built("npm", command, passed=False, failures=places, says=first_error(ran.text))

    def test(self, work: Workspace, named: str) -> Tested:
        """Run the script `test`; whether the named target was among the tests is read from their names."""
        if not has_test_script(self._scripts(work)):
            raise UnableError("package.json has no test script")
        ran = work.run("npm", "test")
        counts = read_counts(ran.text)
        if ran.code != 0 and counts is None:
            self._raise_if_not_installed(ran.text)
        failing = re.findall(r"^\s*(?:not ok \d+ -|✖|✗|×|●) (.+?)(?: \([\d.]+m?s\))?$", ran.text, re.M)
        failing = [
            name for name in dict.fromkeys(failing) if not re.match(r"failing tests:?$|\S+\.[cm]?[jt]sx?$", name)
        ]
        failed_at = re.findall(r"^\s*(?:test at|location:) '?(?:file://)?([^\s:']+):(\d+):\d+", ran.text, re.M)
        return Tested(
            "npm test",
            "npm test",
            passed_all=ran.code == 0,
            counts=counts,
            has_named=bool(named) and re.search(rf"(?<!\w){re.escape(named)}(?!\w)", ran.text, re.I) is not None,
            failures=places_in(work, ((path, int(line), "") for path, line in failed_at)),
            says=", ".join(failing[:5]) or first_error(ran.text) if ran.code != 0 else "",
        )

    def _check_syntax(self, work: Workspace, named: str) -> Built:
        """Check the syntax of the sources, which is the build where nothing is compiled."""
        inventory = take_inventory(work.root, work.context.deadline)
        scripts = [path for path in inventory.files if path.endswith((".js", ".mjs", ".cjs")) and not is_test(path)]
        has_typescript = any(extension(path) in extensions_of("TypeScript") for path in inventory.files)
        failures = []
        for path in scripts[:_MOST_CHECKED]:
            ran = work.run("node", "--check", "--", path)
            if ran.code != 0:
                line = re.search(r":(\d+)$", ran.text, re.M)
                failures.append((path, int(line[1]) if line else 0, first_error(ran.text)))
        partial = "TypeScript is not checked" if has_typescript else ""
        if len(scripts) > _MOST_CHECKED:
            partial = f"only {_MOST_CHECKED} of {len(scripts)} files are checked"
        return Built(
            "node",
            "node --check",
            passed=not failures,
            made=tuple(scripts[:_MOST_CHECKED]),
            has_named=bool(named) and any(named in path for path in scripts),
            failures=places_in(work, failures),
            says=f"{failures[0][0]}: {failures[0][2]}" if failures else "",
            partial=partial,
        )

    def _scripts(self, work: Workspace) -> dict[str, object]:
        try:
            return msgspec.json.decode((work.root / "package.json").read_bytes(), type=_PackageJson).scripts
        except (OSError, msgspec.MsgspecError, RecursionError):
            raise UnableError("package.json cannot be read") from None

    def _raise_if_not_installed(self, text: str) -> None:
        missing = _MISSING.search(text)
        if missing:
            raise UnableError(f"{missing[1] or missing[2]} is not installed in node_modules (npm install brings it)")


_COMPILING = re.compile(r"^Compiling '(?:\./)?(.+?)'\.\.\.$", re.M)
_BROKEN = re.compile(
    r"^\*\*\*\s+File \"(?:\./)?([^\"]+)\", line (\d+)|^\*\*\* Error compiling '(?:\./)?(.+?)'\.\.\.", re.M
)
# Test data is broken on purpose often enough; templates are not Python yet.
_NOT_SOURCES = r"(^|/)(tests?|testdata|fixtures|data|templates?|node_modules)/"
_FAILED = re.compile(r"^(?:FAILED|ERROR) ([^\s:]+)(?:::(\S+))?(?: - (.*))?$", re.M)
_NO_MODULE = re.compile(r"ModuleNotFoundError: No module named '([^'.]+)")
_NOTHING_COLLECTED = 5  # pytest's exit code when it collected nothing


class Python(System):
    """Every source file compiles; pytest passes. The interpreter is the project's own where it has one."""

    name = "python"
    manifests = ("pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini", "requirements.txt", "conftest.py")
    kind = "python"
    words = ("pytest", "python")

    def build(self, work: Workspace, named: str) -> Built:
        """Compile every file with `python -m compileall`: there is no other build that needs no network."""
        python = next(interpreters(work), sys.executable)
        ran = work.run(python, "-m", "compileall", "-f", "-x", _NOT_SOURCES, ".")
        made = tuple(_COMPILING.findall(ran.text))
        has_named = bool(named) and any(_is_module_named(named, path) for path in made)
        if ran.code == 0:
            return Built("compileall", "python -m compileall", passed=True, made=made, has_named=has_named)
        found = [(path or other, int(line or 0), "") for path, line, other in _BROKEN.findall(ran.text)]
        places = places_in(work, [entry for entry in found if entry[1]] or found)  # those with a line, else the files
        says = f"{places[0].path}:{places[0].line} does not compile" if places else first_error(ran.text)
        return Built("compileall", "python -m compileall", passed=False, failures=places, says=says)

    def test(self, work: Workspace, named: str) -> Tested:
        """Run pytest: the tests whose file, class or function has the name; if there are none, all."""
        has_pytest = "import importlib.util, sys; sys.exit(importlib.util.find_spec('pytest') is None)"
        python = next((path for path in interpreters(work) if work.run(path, "-c", has_pytest).code == 0), "")
        if not python:
            raise UnableError("pytest is not installed for this project")
        if named:
            tested = self._pytest(work, python, named)
            if tested.ran or not tested.passed_all:
                return tested
        return self._pytest(work, python, "")

    def _pytest(self, work: Workspace, python: str, named: str) -> Tested:
        selected = _selection(work, named)
        # The project's own options may be quiet; without the last line there is nothing to read.
        argv = ("-m", "pytest", "--verbosity=0", "--color=no", "-rfE", "--tb=no", "-p", "no:cacheprovider", *selected)
        ran = work.run(python, *argv, env=_environment(work))
        counts = read_counts(ran.text)
        if counts is None and ran.code not in (0, 1, _NOTHING_COLLECTED):
            raise UnableError(f"pytest cannot run here: {first_error(ran.text)}")
        failing = _FAILED.findall(ran.text)
        missing = [_NO_MODULE.search(reason) for _, _, reason in failing]
        if missing and all(missing) and missing[0]:  # every failure is a module that is not there
            raise UnableError(f"{missing[0][1]} is not installed for this project: its tests cannot be imported")
        return Tested(
            "pytest",
            " ".join(("pytest", *selected)),
            passed_all=ran.code in (0, _NOTHING_COLLECTED),
            counts=counts or OutcomeCounts(passed=0),
            has_named=bool(named),
            failures=places_in(work, ((path, 0, name) for path, name, _ in failing)),
            says=", ".join(f"{path}::{name}" if name else path for path, name, _ in failing[:5]),
        )


def interpreters(work: Workspace) -> Iterator[str]:
    """Yield Python interpreters: of the project's environment, the active environment, the path, and our own."""
    folders = [work.original / name for name in (".venv", "venv", "env")]
    if "VIRTUAL_ENV" in os.environ:
        folders.append(Path(os.environ["VIRTUAL_ENV"]))
    for folder in folders:
        if (folder / "bin" / "python").exists() and (folder / "pyvenv.cfg").is_file():
            yield str(folder.absolute() / "bin" / "python")
    found = shutil.which("python3")
    if found:
        yield found
    yield sys.executable


def _environment(work: Workspace) -> dict[str, str]:
    """Put the copy before what is installed: an editable install leads to the original."""
    paths = [str(path) for path in (work.root / "src", work.root) if path.is_dir()]
    return {"PYTHONPATH": os.pathsep.join(paths)}


def _selection(work: Workspace, named: str) -> tuple[str, ...]:
    """Return pytest's arguments for a test file, or for a word in the names of tests; none for all tests."""
    if not named:
        return ()
    path = named.split("::", maxsplit=1)[0]
    if path.endswith(".py") and (work.root / path).is_file():
        return ("--", named)
    word = re.sub(r"\W+", "_", named).strip("_")
    return ("-k", word) if word.lower() not in ("", "and", "or", "not") else ()


def _is_module_named(named: str, path: str) -> bool:
    """Report whether a source file is the module, package or file of that name."""
    wanted = named.removesuffix(".py").replace(".", "/").lower()
    return f"/{wanted}/" in f"/{path.removesuffix('.py').lower()}/"
