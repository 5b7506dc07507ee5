"""Cargo without the network, CMake with CTest, and Make."""

from __future__ import annotations

import re
import shutil

import msgspec

from knowbound.core.evidence import Place
from knowbound.evidence.producers.system import (
    Built,
    OutcomeCounts,
    System,
    Tested,
    UnableError,
    Workspace,
    compiler_errors,
    first_error,
    places_in,
    read_counts,
)

_COMPILED = re.compile(r"^\s*Compiling (\S+) v", re.M)
_ERROR = re.compile(r"^(error(?:\[E\d+\])?: .*)\n\s*--> ([^:\n]+):(\d+)", re.M)
_PANIC = re.compile(r"^thread '([^']+)'(?: \(\d+\))? panicked at (?:.*, )?([^:\n']+):(\d+)", re.M)
_NOT_FETCHED = re.compile(
    r"no matching package named|failed to (?:download|get) |unable to update registry|--offline", re.I
)


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
        """Build the package or target of that name, else the workspace."""
        chosen = self._chosen_target(work, named) if named else ()
        argv = ("cargo", "build", "--offline", *(chosen or ("--workspace",)))
        ran = work.run(*argv)
        if ran.code == 0:
            made = tuple(dict.fromkeys(_COMPILED.findall(ran.text)))
            return Built("cargo", " ".join(argv), passed=True, made=made, has_named=bool(chosen))
        self._raise_if_not_fetched(ran.text)
        failures = self._places(ran.text, work)
        return Built("cargo", " ".join(argv), passed=False, failures=failures, says=first_error(ran.text))

    def test(self, work: Workspace, named: str) -> Tested:
        """Run the tests of the package of that name, or those with it in their names; if there are none, all."""
        chosen = self._chosen_target(work, named) if named else ()
        if named and chosen:
            return self._run(work, True, *chosen)
        if named:
            tested = self._run(work, True, "--workspace", "--", named)
            if tested.ran or not tested.passed_all:  # else no test has the name
                return tested
        return self._run(work, False, "--workspace")

    def _run(self, work: Workspace, has_named: bool, *arguments: str) -> Tested:
        """Run cargo's tests; `has_named`: the arguments select those of the named target."""
        argv = ("cargo", "test", "--offline", "--no-fail-fast", *arguments)
        ran = work.run(*argv)
        counts = read_counts(ran.text)
        if ran.code != 0 and counts is None:
            self._raise_if_not_fetched(ran.text)
        names = re.findall(r"^test (\S+) \.\.\. FAILED", ran.text, re.M)
        panicked_at = {name: (path, int(line)) for name, path, line in _PANIC.findall(ran.text)}
        places = places_in(work, ((*panicked_at[name], name) for name in names if name in panicked_at))
        return Tested(
            "cargo test",
            " ".join(argv),
            passed_all=ran.code == 0,
            counts=counts or OutcomeCounts(passed=0),
            has_named=has_named,
            failures=places or self._places(ran.text, work),
            says=", ".join(names) or first_error(ran.text) if ran.code != 0 else "",
        )

    def _chosen_target(self, work: Workspace, named: str) -> tuple[str, ...]:
        """Return cargo's arguments for the package or target of that name; none if there is no such name."""
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
        if _NOT_FETCHED.search(text):
            raise UnableError(f"cargo needs packages that are not on this machine: {first_error(text)}")


_FOLDER = ".knowbound-build"
_TARGET = re.compile(r"^(?:\[\s*\d+%\] )?Built target (\S+)", re.M)
_NO_TARGET = re.compile(r"No rule to make target|unknown target|no such target", re.I)


class CMake(System):
    """Configured into a folder of its own; make is preferred to ninja because it names what it built."""

    name = "cmake"
    manifests = ("CMakeLists.txt",)
    kind = "c/c++"
    words = ("cmake", "ctest")

    def build(self, work: Workspace, named: str) -> Built:
        """Build the named target, or all targets if it does not exist.

        Strong evidence needs the line "Built target NAME" in the output.
        """
        command = f"cmake --build --target {named}" if named else "cmake --build"
        failed = self._configure(work, command)
        if failed:
            return failed
        text, passed = self._make(work, named)
        if not passed and named and _NO_TARGET.search(text):
            text, passed = self._make(work, "")  # no such target: does the rest build?
        made = tuple(dict.fromkeys(_TARGET.findall(text)))
        if passed:
            return Built("cmake", command, passed=True, made=made, has_named=named in made)
        failures = compiler_errors(text, work)
        return Built("cmake", command, passed=False, made=made, failures=failures, says=first_error(text))

    def test(self, work: Workspace, named: str) -> Tested:
        """Run CTest on a fresh build: the tests of that name; if there are none, all."""
        command = f"ctest -R {named}" if named else "ctest"
        broken = self._configure(work, command)
        if broken is None:
            text, passed = self._make(work, "")
            if not passed:
                failures = compiler_errors(text, work)
                broken = Built("cmake", command, passed=False, failures=failures, says=first_error(text))
        if broken:
            says, none = f"it does not build: {broken.says}", OutcomeCounts(passed=0)
            return Tested("ctest", command, passed_all=False, counts=none, failures=broken.failures, says=says)
        if named:
            tested = self._ctest(work, command, "-R", re.sub(r"([^\w])", r"[\1]", named))
            if tested.ran:
                return tested
        return self._ctest(work, "ctest")

    def _configure(self, work: Workspace, command: str) -> Built | None:
        """Configure the copy; return the failed build if that fails, None if it works."""
        generator = ("-G", "Unix Makefiles") if shutil.which("make") else ()
        offline = "-DFETCHCONTENT_FULLY_DISCONNECTED=ON"
        ran = work.run("cmake", "-S", ".", "-B", _FOLDER, *generator, offline)
        if ran.code == 0:
            return None
        found = re.findall(r"^CMake Error at ([^:\n]+):(\d+)", ran.text, re.M)
        places = places_in(work, ((path, int(line), "CMake Error") for path, line in found))
        said = re.search(r"^CMake Error.*\n+\s*(.*)", ran.text, re.M)
        return Built("cmake", command, passed=False, failures=places, says=said[1] if said else first_error(ran.text))

    def _make(self, work: Workspace, target: str) -> tuple[str, bool]:
        ran = work.run("cmake", "--build", _FOLDER, "--parallel", "2", *(("--target", target) if target else ()))
        return ran.text, ran.code == 0

    def _ctest(self, work: Workspace, command: str, *arguments: str) -> Tested:
        """Run CTest; arguments select the tests of the named target."""
        ran = work.run("ctest", "--test-dir", _FOLDER, "--output-on-failure", *arguments)
        counts = read_counts(ran.text)
        names = re.findall(r"^\s*\d+ - (\S+) \((?:Failed|Timeout|SEGFAULT|Not Run|.*Exception)", ran.text, re.M)
        return Tested(
            "ctest",
            command,
            passed_all=ran.code == 0,
            counts=counts,
            has_named=bool(arguments),
            failures=tuple(Place("CMakeLists.txt", 0, name) for name in names),
            says=", ".join(names) or first_error(ran.text) if ran.code != 0 else "",
        )


_UP_TO_DATE = re.compile(
    r"^make(?:\[\d+\])?: (?:Nothing to be done for|'[^']*' is up to date|`[^']*' is up to date)", re.M
)
_NO_RULE = re.compile(r"No rule to make target '([^']*)'\.\s+Stop|No targets\.\s+Stop")
# Targets that reach beyond the copy: never run, however the question puts it.
_FAR_REACHING = frozenset(
    "install uninstall deploy publish release upload push clean distclean destroy migrate login start serve run".split()
)


def refuse_far_reaching(named: str) -> None:
    """A target that may change the world outside the copy is not run."""
    if not _FAR_REACHING.isdisjoint(re.split(r"[^a-z]+", named.lower())):
        raise UnableError(f"{named!r} is not run: by its name it may change things outside of the copy")


class Make(System):
    """`make`, `make TARGET`, and for tests `make test` or `make check`."""

    name = "make"
    manifests = ("GNUmakefile", "makefile", "Makefile")
    kind = ""
    words = ("makefile", "gnu make", "`make")

    def build(self, work: Workspace, named: str) -> Built:
        """Build the named target, else the default one; what is already built in the copy is built again."""
        if named:
            refuse_far_reaching(named)
            built = self._make(work, named)
            if built is not None:
                return built
        return self._make(work, "") or Built("make", "make", passed=False, says="the Makefile has no default target")

    def test(self, work: Workspace, named: str) -> Tested:
        """Run the first target for tests that there is; how many tests ran, the runner behind it says."""
        for target in ("test", "check", "tests"):
            ran = work.run("make", "--", target)
            text = ran.text
            if _lacks_target(text, target):
                continue
            counts = read_counts(text)
            if ran.code == 0 and counts is None and _UP_TO_DATE.search(text):  # a file is called like the target
                counts = OutcomeCounts(passed=0)
            return Tested(
                f"make {target}",
                f"make {target}",
                passed_all=ran.code == 0,
                counts=counts,
                has_named=bool(named) and named in text,
                failures=compiler_errors(text, work),
                says=first_error(text) if ran.code != 0 else "",
            )
        raise UnableError("the Makefile has no target test, check or tests")

    def _make(self, work: Workspace, target: str) -> Built | None:
        """Build a target, again if it was up to date; None if there is no such target."""
        argv = ("make", *(("--", target) if target else ()))
        command = f"make {target}".rstrip()
        ran = work.run(*argv)
        text = ran.text
        if _lacks_target(text, target):
            return None
        if ran.code == 0 and _did_nothing(text):
            ran = work.run("make", "--always-make", *argv[1:])  # built before: that says nothing about today
            text = ran.text
        if ran.code != 0:
            failures = compiler_errors(text, work)
            return Built("make", command, passed=False, failures=failures, says=first_error(text))
        made = () if _did_nothing(text) else (target or "the default target",)
        return Built("make", command, passed=True, made=made, has_named=bool(target))


def _lacks_target(text: str, target: str) -> bool:
    missing = _NO_RULE.search(text)
    return missing is not None and (missing[1] or "") == target


def _did_nothing(text: str) -> bool:
    """Report whether make printed nothing but that all is up to date."""
    lines = [
        line for line in text.splitlines() if line.strip() and not re.match(r"make(\[\d+\])?: (Enter|Leav)ing", line)
    ]
    return all(_UP_TO_DATE.match(line) for line in lines)
