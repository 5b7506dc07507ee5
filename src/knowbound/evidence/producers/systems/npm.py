"""npm: the scripts of package.json, with what is installed already; nothing is fetched."""

from __future__ import annotations

import re

import msgspec

from knowbound.codebase.inventory import take_inventory
from knowbound.codebase.manifests import has_test_script
from knowbound.core.paths import extension, extensions_of, is_test
from knowbound.evidence.producers.systems.make import refuse_far_reaching
from knowbound.evidence.producers.systems.system import Built, System, Tested, first_error, places_in, read_counts
from knowbound.evidence.producers.workspace import UnableError, Workspace

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
        """The script `build`, or `build:NAME`, or a script of that name."""
        scripts = self._scripts(work)
        own = next((name for name in (f"build:{named}", named) if named and name in scripts), "")
        if own:
            refuse_far_reaching(own)
        script = own or "build"
        if script not in scripts:
            return self._check_syntax(work, named)
        command = f"npm run {script}"
        ran = work.run("npm", "run", script)
        text = ran.text
        if ran.code == 0:
            made = () if _TRIVIAL.fullmatch(str(scripts[script])) else (script,)
            return Built("npm", command, True, made, bool(own))
        self._raise_if_not_installed(text)
        places = places_in(work, ((path, int(line), what) for path, line, what in _TSC.findall(text)))
        return Built("npm", command, False, (), False, places, first_error(text))

    def test(self, work: Workspace, named: str) -> Tested:
        """The script `test`; whether the named target was among the tests is read from their names."""
        if not has_test_script(self._scripts(work)):
            raise UnableError("package.json has no test script")
        ran = work.run("npm", "test")
        text = ran.text
        counts = read_counts(text)
        if ran.code != 0 and counts is None:
            self._raise_if_not_installed(text)
        failing = re.findall(r"^\s*(?:not ok \d+ -|✖|✗|×|●) (.+?)(?: \([\d.]+m?s\))?$", text, re.M)
        failing = [
            name for name in dict.fromkeys(failing) if not re.match(r"failing tests:?$|\S+\.[cm]?[jt]sx?$", name)
        ]
        at = re.findall(r"^\s*(?:test at|location:) '?(?:file://)?([^\s:']+):(\d+):\d+", text, re.M)
        return Tested(
            "npm test",
            "npm test",
            ran.code == 0,
            counts,
            bool(named) and re.search(rf"(?<!\w){re.escape(named)}(?!\w)", text, re.I) is not None,
            places_in(work, ((path, int(line), "") for path, line in at)),
            ", ".join(failing[:5]) or first_error(text) if ran.code != 0 else "",
        )

    def _check_syntax(self, work: Workspace, named: str) -> Built:
        """Nothing to compile: like Python's byte compilation, a check of the syntax of the sources is the build."""
        inventory = take_inventory(work.root, work.context.deadline)
        plain = [path for path in inventory.files if path.endswith((".js", ".mjs", ".cjs")) and not is_test(path)]
        typed = any(extension(path) in extensions_of("TypeScript") for path in inventory.files)
        failures = []
        for path in plain[:_MOST_CHECKED]:
            ran = work.run("node", "--check", "--", path)
            if ran.code != 0:
                said = ran.text
                line = re.search(r":(\d+)$", said, re.M)
                failures.append((path, int(line[1]) if line else 0, first_error(said)))
        partial = "TypeScript is not checked" if typed else ""
        if len(plain) > _MOST_CHECKED:
            partial = f"only {_MOST_CHECKED} of {len(plain)} files are checked"
        return Built(
            "node",
            "node --check",
            not failures,
            tuple(plain[:_MOST_CHECKED]),
            bool(named) and any(named in path for path in plain),
            places_in(work, failures),
            f"{failures[0][0]}: {failures[0][2]}" if failures else "",
            partial,
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
