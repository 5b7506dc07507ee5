"""Cargo, without the network."""

from __future__ import annotations

import re

import msgspec

from knowbound.core.evidence import Place
from knowbound.evidence.producers.systems.system import (
    Built,
    OutcomeCounts,
    System,
    Tested,
    first_error,
    places_in,
    read_counts,
)
from knowbound.evidence.producers.workspace import UnableError, Workspace

_MADE = re.compile(r"^\s*Compiling (\S+) v", re.M)
_ERROR = re.compile(r"^(error(?:\[E\d+\])?: .*)\n\s*--> ([^:\n]+):(\d+)", re.M)
_FETCH = re.compile(r"no matching package named|failed to (?:download|get) |unable to update registry|--offline", re.I)


class _Target(msgspec.Struct):
    name: str
    kind: list[str] = []


class _Package(msgspec.Struct):
    name: str
    targets: list[_Target] = []


class _Metadata(msgspec.Struct):
    packages: list[_Package] = []


class Cargo(System):
    """`cargo build` and `cargo test`, offline: packages that were never fetched are a reason, not a failure."""

    name = "cargo"
    manifests = ("Cargo.toml",)
    kind = "rust"
    words = ("cargo", "crate", "rustc")

    def build(self, work: Workspace, named: str) -> Built:
        """The package or binary of that name, else the workspace."""
        chosen = self._choose(work, named) if named else ()
        argv = ("cargo", "build", "--offline", *(chosen or ("--workspace",)))
        ran = work.run(*argv)
        text = ran.text
        if ran.code == 0:
            return Built("cargo", " ".join(argv), True, tuple(dict.fromkeys(_MADE.findall(text))), bool(chosen))
        self._raise_if_not_fetched(text)
        return Built("cargo", " ".join(argv), False, (), False, self._places(text, work), first_error(text))

    def test(self, work: Workspace, named: str) -> Tested:
        """Tests of the package of that name or with that name in theirs, else all."""
        chosen = self._choose(work, named) if named else ()
        if named and chosen:
            return self._run(work, True, *chosen)
        if named:
            tested = self._run(work, True, "--workspace", "--", named)
            if tested.ran or not tested.passed_all:
                return tested
        return self._run(work, False, "--workspace")

    def _run(self, work: Workspace, has_named: bool, *arguments: str) -> Tested:
        argv = ("cargo", "test", "--offline", "--no-fail-fast", *arguments)
        ran = work.run(*argv)
        text = ran.text
        counts = read_counts(text)
        if ran.code != 0 and counts is None:
            self._raise_if_not_fetched(text)
        names = re.findall(r"^test (\S+) \.\.\. FAILED", text, re.M)
        panics = {name: (path, int(line)) for name, path, line in _panics(text)}
        places = places_in(work, ((*panics[name], name) for name in names if name in panics))
        return Tested(
            "cargo test",
            " ".join(argv),
            ran.code == 0,
            counts or OutcomeCounts(0),
            has_named,
            places or self._places(text, work),
            ", ".join(names) or first_error(text) if ran.code != 0 else "",
        )

    def _choose(self, work: Workspace, named: str) -> tuple[str, ...]:
        ran = work.run("cargo", "metadata", "--offline", "--no-deps", "--format-version", "1")
        try:
            packages = msgspec.json.decode(ran.out, type=_Metadata).packages
        except msgspec.MsgspecError:
            return ()
        if any(package.name == named for package in packages):
            return ("--package", named)
        for target in (target for package in packages for target in package.targets if target.name == named):
            for kind in ("bin", "example", "test", "bench"):
                if kind in target.kind:
                    return ("--workspace", f"--{kind}", named)
        return ()

    def _places(self, text: str, work: Workspace) -> tuple[Place, ...]:
        return places_in(work, ((path, int(line), what) for what, path, line in _ERROR.findall(text)))

    def _raise_if_not_fetched(self, text: str) -> None:
        if _FETCH.search(text):
            raise UnableError(f"cargo needs packages that are not on this machine: {first_error(text)}")


def _panics(text: str) -> list[tuple[str, str, str]]:
    return re.findall(r"^thread '([^']+)'(?: \(\d+\))? panicked at (?:.*, )?([^:\n']+):(\d+)", text, re.M)
