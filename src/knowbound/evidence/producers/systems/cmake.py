"""CMake and CTest."""

from __future__ import annotations

import re
import shutil

from knowbound.core.evidence import Place
from knowbound.evidence.producers.systems.system import (
    Built,
    OutcomeCounts,
    System,
    Tested,
    compiler_errors,
    first_error,
    places_in,
    read_counts,
)
from knowbound.evidence.producers.workspace import Workspace

_FOLDER = ".knowbound-build"
_TARGET = re.compile(r"^(?:\[\s*\d+%\] )?Built target (\S+)", re.M)
_NOT_THERE = re.compile(r"No rule to make target|unknown target|no such target", re.I)


class CMake(System):
    """Configured into a folder of its own; make is preferred to ninja because it names what it built."""

    name = "cmake"
    manifests = ("CMakeLists.txt",)
    kind = "c/c++"
    words = ("cmake", "ctest")

    def build(self, work: Workspace, named: str) -> Built:
        """Strong evidence needs a target that was really made: "Built target NAME"."""
        command = f"cmake --build --target {named}" if named else "cmake --build"
        broken = self._configure(work, command)
        if broken:
            return broken
        text, passed = self._make(work, named)
        if not passed and named and _NOT_THERE.search(text):
            text, passed = self._make(work, "")  # no such target: does the rest build?
        made = tuple(dict.fromkeys(_TARGET.findall(text)))
        if passed:
            return Built("cmake", command, True, made, named in made)
        return Built("cmake", command, False, made, False, compiler_errors(text, work), first_error(text))

    def test(self, work: Workspace, named: str) -> Tested:
        """CTest on a fresh build; with a name, first the tests of that name."""
        command = f"ctest -R {named}" if named else "ctest"
        broken = self._configure(work, command)
        if broken is None:
            text, passed = self._make(work, "")
            if not passed:
                broken = Built("cmake", command, False, (), False, compiler_errors(text, work), first_error(text))
        if broken:
            return Tested(
                "ctest",
                command,
                False,
                OutcomeCounts(0),
                failures=broken.failures,
                says=f"it does not build: {broken.says}",
            )
        if named:
            tested = self._ctest(work, command, "-R", re.sub(r"([^\w])", r"[\1]", named))
            if tested.ran:
                return tested
        return self._ctest(work, "ctest")

    def _configure(self, work: Workspace, command: str) -> Built | None:
        generator = ("-G", "Unix Makefiles") if shutil.which("make") else ()
        offline = "-DFETCHCONTENT_FULLY_DISCONNECTED=ON"
        ran = work.run("cmake", "-S", ".", "-B", _FOLDER, *generator, offline)
        if ran.code == 0:
            return None
        text = ran.text
        found = re.findall(r"^CMake Error at ([^:\n]+):(\d+)", text, re.M)
        places = places_in(work, ((path, int(line), "CMake Error") for path, line in found))
        said = re.search(r"^CMake Error.*\n+\s*(.*)", text, re.M)
        return Built("cmake", command, False, failures=places, says=said[1] if said else first_error(text))

    def _make(self, work: Workspace, target: str) -> tuple[str, bool]:
        ran = work.run("cmake", "--build", _FOLDER, "--parallel", "2", *(("--target", target) if target else ()))
        return ran.text, ran.code == 0

    def _ctest(self, work: Workspace, command: str, *arguments: str) -> Tested:
        ran = work.run("ctest", "--test-dir", _FOLDER, "--output-on-failure", *arguments)
        text = ran.text
        counts = read_counts(text)
        names = re.findall(r"^\s*\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Not Run|.*Exception)", text, re.M)
        return Tested(
            "ctest",
            command,
            ran.code == 0,
            counts,
            bool(arguments),
            tuple(Place("CMakeLists.txt", 0, name) for name in names),
            ", ".join(names) or first_error(text) if ran.code != 0 else "",
        )
