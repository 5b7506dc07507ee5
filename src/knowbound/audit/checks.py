"""Checks: which one a single command is (test, build, lint, type check, format, run), and what its tool printed.

Specification 3 names cmake and ctest as producers of Build and Test evidence; real projects use the runners here, and
scripts whose names say what they do (`npm run lint`, `make test`, `mise run test:ci`). A printed summary says more than
an exit code, which a pipe into `tail` or `grep` replaces by its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum

import msgspec

from knowbound.text.printable import both_ends
from knowbound.text.runner_output import RunnerSummary, runner_summaries, without_colours
from knowbound.traces.shell.parser import Command


class Check(StrEnum):
    """Kind of a check."""

    TEST = "test"
    BUILD = "build"
    LINT = "lint"
    TYPES = "type check"
    FORMAT = "format"
    RUN = "run"  # a program of the project, or code that tries it out


class Checking(msgspec.Struct, frozen=True):
    """One command that checks something."""

    kinds: frozenset[Check]
    tool: str
    is_filtered: bool = False  # a part of the tests: -k, -run, a file
    operands: tuple[str, ...] = ()  # files and folders that it names
    is_own_script: bool = False  # a script of the project: only the same one can take back its failure


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_TESTS = _words(
    "pytest py.test jest vitest mocha ava tap jasmine karma ctest gotestsum rspec phpunit tox nox nose2 nosetests "
    "minitest bats busted prove cypress"
)
_LINTS = _words(
    "eslint biome ruff flake8 pylint golangci-lint shellcheck markdownlint markdownlint-cli2 stylelint hadolint "
    "actionlint rubocop ktlint detekt yamllint oxlint standard xo tslint swiftlint credo bandit semgrep staticcheck "
    "luacheck vale cpplint clang-tidy jshint htmlhint sqlfluff tflint pre-commit lint-staged knip"
)
_TYPES = _words("mypy pyright basedpyright tsc vue-tsc tsgo flow pytype pyre svelte-check")
_FORMATS = _words("prettier gofmt goimports black isort rustfmt clang-format shfmt gofumpt dprint yapf")
_BUILDS = _words(
    "webpack rollup esbuild parcel ninja bazel javac gcc g++ clang clang++ cc tsup swc babel rustc cmake xcodebuild "
    "meson scons ant astro"
)
# Programs whose second word says what they do.
_SUBCOMMANDS: dict[str, dict[str, Check]] = {
    "go": {"test": Check.TEST, "build": Check.BUILD, "install": Check.BUILD, "vet": Check.LINT, "fmt": Check.FORMAT,
           "run": Check.RUN},
    "cargo": {"test": Check.TEST, "nextest": Check.TEST, "build": Check.BUILD, "check": Check.BUILD,
              "clippy": Check.LINT, "fmt": Check.FORMAT, "run": Check.RUN, "bench": Check.RUN},
    "bun": {"test": Check.TEST, "build": Check.BUILD},
    "deno": {"test": Check.TEST, "lint": Check.LINT, "check": Check.TYPES, "fmt": Check.FORMAT, "run": Check.RUN},
    "dotnet": {"test": Check.TEST, "build": Check.BUILD, "run": Check.RUN, "format": Check.FORMAT,
               "publish": Check.BUILD},
    "mix": {"test": Check.TEST, "compile": Check.BUILD, "credo": Check.LINT, "format": Check.FORMAT},
    "swift": {"test": Check.TEST, "build": Check.BUILD, "run": Check.RUN},
    "flutter": {"test": Check.TEST, "build": Check.BUILD, "analyze": Check.LINT},
    "dart": {"test": Check.TEST, "analyze": Check.LINT, "format": Check.FORMAT},
    "zig": {"test": Check.TEST, "build": Check.BUILD},
    "mvn": {"test": Check.TEST, "verify": Check.TEST, "package": Check.BUILD, "compile": Check.BUILD,
            "install": Check.BUILD},
    "vite": {"build": Check.BUILD}, "next": {"build": Check.BUILD, "lint": Check.LINT}, "nuxt": {"build": Check.BUILD},
    "tauri": {"build": Check.BUILD}, "docker": {"build": Check.BUILD}, "playwright": {"test": Check.TEST},
    "ruff": {"format": Check.FORMAT, "check": Check.LINT}, "biome": {"format": Check.FORMAT},
    "react-scripts": {"test": Check.TEST, "build": Check.BUILD}, "rake": {"test": Check.TEST, "spec": Check.TEST},
    "terraform": {"validate": Check.BUILD, "fmt": Check.FORMAT},
}  # fmt: skip
# Programs that run a script of the project by its name; the options that take a value.
_SCRIPTS: dict[str, str] = {
    "npm": "-w --workspace --prefix -C", "pnpm": "-C --filter -F --dir -w", "yarn": "--cwd", "bun": "--cwd --filter",
    "mise": "-C --cd", "just": "-f --justfile -d", "task": "-d -t", "make": "-C -f -j", "gmake": "-C -f -j",
    "nx": "", "turbo": "--filter -F", "lerna": "--scope", "rake": "", "gradle": "-p", "gradlew": "-p", "composer": "",
    "hatch": "-e", "pdm": "", "poe": "", "invoke": "", "deno": "", "moon": "", "ninja": "-C", "tox": "-e", "nox": "-s",
}  # fmt: skip
_RUN_WORDS = _words("run run-script exec x task r run-many dlx")
_LAUNCHERS = _words("npx bunx pnpx uvx pipx uv poetry pipenv rye bundle hatch pdm yarn pnpm bun mise rtk env dotenv")
_NOT_SCRIPTS = _words(
    "install i add remove ci init create publish view info ls list why outdated audit link login logout config "
    "version up update upgrade help store prune import trust use ls-remote current which settings clean pack"
)
_BY_NAME: tuple[tuple[Check, re.Pattern[str]], ...] = (
    (Check.TYPES, re.compile(r"(?:^|[:_-])(?:type-?check(?:ing)?|check-types|types|tsc|mypy|pyright)(?:$|[:_-])")),
    (Check.LINT, re.compile(r"(?:^|[:_-])(?:lint\w*|eslint|biome|clippy|vet|ruff|stylelint)(?:$|[:_-])")),
    (Check.FORMAT, re.compile(r"(?:^|[:_-])(?:fmt|format\w*|prettier)(?:$|[:_-])")),
    (Check.TEST, re.compile(r"(?:^|[:_-])(?:tests?|spec|e2e|unit|integration|jest|vitest|pytest|coverage)(?:$|[:_-])")),
    (Check.BUILD, re.compile(r"(?:^|[:_-])(?:build|compile|bundle|dist|assemble)(?:$|[:_-])")),
)
_WHOLE_CHECKS = _words("check checks verify validate ci all prepush pre-push precommit pre-commit preflight")
_TEST_SCRIPT = re.compile(
    r"(?:^|[/_-])(?:run[_-]?)?(?:tests?|spec|check|verify)(?:[_-][\w-]+)?\.(?:sh|py|js|ts|mjs|rb|pl)$"
)
_INTERPRETERS = _words("python python3 python2 py node ruby perl php deno tsx ts-node bash sh zsh java lua Rscript")
_FILTERS: dict[str, tuple[str, ...]] = {
    "pytest": ("-k", "-m", "--lf", "--last-failed", "--deselect"), "jest": ("-t", "--testNamePattern", "-o"),
    "vitest": ("-t", "--testNamePattern"), "go": ("-run", "-skip"), "bun": ("-t", "--test-name-pattern"),
    "ctest": ("-R", "-E", "-L"), "mocha": ("-g", "--grep", "-f"), "cargo": (), "mvn": ("-Dtest",),
    "gradle": ("--tests",), "rspec": ("-e",), "phpunit": ("--filter",), "dotnet": ("--filter",),
    "playwright": ("-g", "--grep"), "node": ("--test-name-pattern",),
}  # fmt: skip
_DEEPEST = 4  # launchers in each other: `npx dotenv npm run test`
_PATH = re.compile(r"[\w@.+-]*(?:/[\w@.+*-]*)+|[\w@.+-]+\.[A-Za-z]\w{0,5}")


def checking_of(command: Command) -> Checking | None:
    """Return the check that a command is; None if it checks nothing."""
    words = [command.program, *command.texts]
    return _checking(words) if words[0] else None


def _checking(words: list[str], depth: int = 0) -> Checking | None:
    """Return the check of a command line; `depth` counts the launchers before it."""
    program, rest = words[0].rsplit("/", 1)[-1], words[1:]
    if depth > _DEEPEST or not program:
        return None
    if program in _INTERPRETERS:
        return _interpreted(program, rest)
    operands = _operands(rest, _SCRIPTS.get(program, ""))
    if program in _SUBCOMMANDS and operands and operands[0] in _SUBCOMMANDS[program]:
        kind = _SUBCOMMANDS[program][operands[0]]
        return _made(kind, program, rest, operands[1:], f"{program} {operands[0]}")
    if program == "mvn" or program in ("gradle", "gradlew"):
        return _build_tool(program, rest, operands)
    for names, kind in ((_TESTS, Check.TEST), (_TYPES, Check.TYPES), (_LINTS, Check.LINT), (_FORMATS, Check.FORMAT)):
        if program in names:
            return _made(kind, program, rest, operands)
    if program == "cmake":
        return _made(Check.BUILD, program, rest, []) if "--build" in rest else None
    if program in _BUILDS:
        return _made(Check.BUILD, program, rest, operands)
    if program in _SCRIPTS or program in _LAUNCHERS:
        return _script(program, operands, rest, depth)
    if _TEST_SCRIPT.search("/" + program):
        return Checking(frozenset({Check.TEST}), " ".join([program, *operands[:1]]), is_own_script=True)
    if "/" in words[0] and not words[0].startswith(("/usr/", "/bin/", "/opt/")):  # a program of the project
        return Checking(frozenset({Check.RUN}), program, False, (words[0],))
    return None


def _made(kind: Check, tool: str, rest: list[str], operands: list[str], name: str = "") -> Checking:
    """Return a tool's check of this kind, and of the other kinds that it checks by the way."""
    paths = tuple(word for word in operands if _PATH.fullmatch(word) or word in (".", "./...", "..."))
    kinds = {kind}
    if kind is Check.TYPES and tool == "tsc" and "--noEmit" not in rest:
        kinds.add(Check.BUILD)  # it writes the JavaScript, too
    if tool == "biome" and kind is Check.LINT:
        kinds.add(Check.FORMAT)
    is_filtered = kind is Check.TEST and _is_filtered(tool, rest, operands)
    return Checking(frozenset(kinds), name or tool, is_filtered, paths)


def _is_filtered(tool: str, rest: list[str], operands: list[str]) -> bool:
    """Report whether a test command runs a part of the tests: by an option, a file, or a test's name."""
    options = _FILTERS.get(tool, ())
    if any(word == option or word.startswith(f"{option}=") for word in rest for option in options):
        return True
    if tool == "cargo":  # an operand is a part of a test's name
        return any(not word.startswith("-") for word in operands)
    if tool == "go":  # a package is no part of the tests that a reader would miss
        return False
    return any("::" in word or re.search(r"\.\w{1,4}$", word) for word in operands)


def _operands(rest: list[str], options_with_value: str) -> list[str]:
    """Return the words that are neither options nor the values of these options."""
    takes_value, found, at = frozenset(options_with_value.split()), [], 0
    while at < len(rest):
        word = rest[at]
        at += 1
        if word in takes_value:
            at += 1
        elif word == "--":
            found += rest[at:]
            break
        elif not word.startswith("-"):
            found.append(word)
    return found


def _build_tool(program: str, rest: list[str], operands: list[str]) -> Checking | None:
    """Return the check of Maven's phases or Gradle's tasks, such as `:app:test`; None if they check nothing."""
    kinds = {kind for task in operands for kind in _kinds_by_name(task.rsplit(":", 1)[-1])}
    if "verify" in operands or "check" in operands:
        kinds |= {Check.TEST, Check.BUILD}
    if not kinds and {"package", "install"} & set(operands):
        kinds = {Check.BUILD}
    filtered = _is_filtered("gradle" if program.startswith("gradle") else "mvn", rest, [])
    return Checking(frozenset(kinds), program, filtered) if kinds else None


def _interpreted(program: str, rest: list[str]) -> Checking | None:
    """Return the check of `python -m pytest`, `node --test`, `python x.py` or `python - <<EOF`."""
    if "-m" in rest and program.startswith("py"):
        module = rest[rest.index("-m") + 1 :]
        if module and module[0] in ("unittest", "doctest"):
            return _made(Check.TEST, module[0], module[1:], _operands(module[1:], ""))
        if module and module[0] in ("py_compile", "compileall", "build"):
            return _made(Check.BUILD, module[0], module[1:], _operands(module[1:], ""))
        return (_checking(module, 1) or Checking(frozenset({Check.RUN}), module[0])) if module else None
    if program == "node" and "--test" in rest:
        return _made(Check.TEST, "node", rest, _operands(rest, ""))
    if (program == "node" and ("--check" in rest or "-c" in rest)) or (program in ("bash", "sh") and "-n" in rest):
        return _made(Check.BUILD, f"{program} syntax check", rest, _operands(rest, ""))
    operands = _operands(rest, "-c -e")
    if operands and _TEST_SCRIPT.search("/" + operands[0]):
        return Checking(frozenset({Check.TEST, Check.RUN}), operands[0].rsplit("/", 1)[-1], False, (operands[0],), True)
    if "-c" in rest or "-e" in rest or not operands:
        return Checking(frozenset({Check.RUN}), program, False, ())
    return Checking(frozenset({Check.RUN}), program, False, (operands[0],))


def _script(program: str, operands: list[str], rest: list[str], depth: int) -> Checking | None:
    """Return the check of a project's script (`npm run lint`), or of a program that is launched (`uvx ruff`)."""
    names = list(operands)
    while names and names[0] in _RUN_WORDS:
        names.pop(0)
    if not names:
        is_make = program in ("make", "gmake", "ninja")
        return Checking(frozenset({Check.BUILD}), program) if is_make else None
    if names[0] in _NOT_SCRIPTS and names[:1] == operands[:1]:
        return None  # `npm install`; `npm run install` is a script
    launched = rest[rest.index(names[0]) :] if program in _LAUNCHERS else names[:1]
    inner = _checking(launched, depth + 1) if depth < _DEEPEST else None
    kinds = {kind for name in (names[:3] if program in ("make", "nx", "turbo") else names[:1])
             for kind in _kinds_by_name(name)}  # fmt: skip
    if inner is not None and (not kinds or inner.tool in rest):
        return inner  # a tool that is named says more than the name of a script
    if not kinds:
        is_run = program in ("npm", "pnpm", "yarn", "bun", "uv", "poetry") and (names[0] == "start" or "." in names[0])
        return Checking(frozenset({Check.RUN}), f"{program} {names[0]}", False, (names[0],)) if is_run else None
    after = rest[rest.index("--") + 1 :] if "--" in rest else []
    paths = tuple(word for word in (*names[1:], *after) if _PATH.fullmatch(word))
    filtered = Check.TEST in kinds and (bool(paths) or any(word in ("-t", "-k", "-g", "-run") for word in after))
    return Checking(frozenset(kinds), f"{program} {names[0]}", filtered, paths)


def _kinds_by_name(name: str) -> set[Check]:
    """Return the kinds of a script by its name: `test:ci`, `lint`, `check-types`; `check` and `ci` are all kinds."""
    low = name.lower()
    if low in _WHOLE_CHECKS:
        return {Check.TEST, Check.LINT, Check.BUILD}
    return next(({kind} for kind, pattern in _BY_NAME if pattern.search(low)), set())


class Ended(StrEnum):
    """End of a check."""

    PASSED = "passed"
    FAILED = "failed"
    EMPTY = "nothing ran"
    UNKNOWN = "unknown"


class Printed(msgspec.Struct, frozen=True):
    """The result that a tool printed."""

    tool: str
    kind: Check
    ended: Ended
    passed: int | None = None
    failed: int = 0


_LONGEST = 400_000  # characters of an output that are read: its start and its end


def printed_results(output: str) -> list[Printed]:
    """Return every result that a tool printed in an output."""
    text = without_colours(both_ends(output, _LONGEST, "\n"))
    others = [result for signs, read in _READERS if any(sign in text for sign in signs) for result in read(text)]
    return [*map(_of_tests, runner_summaries(text)), *others]


def _of_tests(summary: RunnerSummary) -> Printed:
    """Return the result that the summary of a test runner says."""
    count = summary.passed if summary.ran is None else summary.ran
    ended = Ended.FAILED if summary.failed else Ended.EMPTY if count == 0 else Ended.PASSED
    passed = summary.passed
    if passed is not None and summary.ran is not None:  # a skipped test did not fail
        passed = summary.ran - summary.failed
    return Printed(summary.runner, Check.TEST, ended, passed, summary.failed)


def _build_tools(text: str) -> Iterator[Printed]:
    """Yield the results of Maven, Gradle and .NET."""
    for word in re.findall(r"^(?:\[\w+\] )?BUILD (SUCCESSFUL|SUCCESS|FAILED|FAILURE)\b", text, re.M):
        yield Printed("build", Check.BUILD, Ended.FAILED if word.startswith("FAIL") else Ended.PASSED)
    if found := re.search(r"^Build (succeeded|FAILED)", text, re.M):
        yield Printed("dotnet", Check.BUILD, Ended.PASSED if found[1] == "succeeded" else Ended.FAILED)


def _tsc(text: str) -> Iterator[Printed]:
    """Yield the result of a type check that lists errors, or only counts them."""
    errors = len(re.findall(r"error TS\d+:", text))
    found = re.search(r"^Found (\d+) errors? in\b", text, re.M)
    if errors:
        yield Printed("tsc", Check.TYPES, Ended.FAILED, None, errors)
    elif found:
        yield Printed("type check", Check.TYPES, Ended.FAILED if int(found[1]) else Ended.PASSED, None, int(found[1]))


def _mypy(text: str) -> Iterator[Printed]:
    if re.search(r"^Success: no issues found in \d+", text, re.M):
        yield Printed("mypy", Check.TYPES, Ended.PASSED)
    for errors in re.findall(r"^(\d+) errors?, \d+ warnings?", text, re.M):
        yield Printed("pyright", Check.TYPES, Ended.FAILED if int(errors) else Ended.PASSED, None, int(errors))


def _linters(text: str) -> Iterator[Printed]:
    if "✖" in text:
        for errors in re.findall(r"^✖ \d+ problems? \((\d+) errors?", text, re.M):
            yield Printed("eslint", Check.LINT, Ended.FAILED if int(errors) else Ended.PASSED, None, int(errors))
    if " issue" in text:
        for number in re.findall(r"^(\d+) issues?[.:]", text, re.M):
            ended = Ended.FAILED if int(number) else Ended.PASSED
            yield Printed("golangci-lint", Check.LINT, ended, None, int(number))
    if "All checks passed!" in text:
        yield Printed("ruff", Check.LINT, Ended.PASSED)
    if "Found " in text and (found := re.search(r"^Found (\d+) errors?(?: \(.*\)|\.)?$", text, re.M)):
        yield Printed("linter", Check.LINT, Ended.FAILED if int(found[1]) else Ended.PASSED, None, int(found[1]))
    if "Checked " in text and re.search(r"^Checked \d+ files? in [\d.]+\w+\.", text, re.M):
        bad = "Some errors were emitted" in text or "Some warnings were emitted" in text
        yield Printed("biome", Check.LINT, Ended.FAILED if bad else Ended.PASSED)
    if "All matched files use Prettier code style" in text:
        yield Printed("prettier", Check.FORMAT, Ended.PASSED)
    elif "Code style issues" in text:
        yield Printed("prettier", Check.FORMAT, Ended.FAILED)


_FINISHED = r"^[ \t]*Finished (?:`?\w+`? profile|dev|release|test)\b.*target\(s\)"


def _builders(text: str) -> Iterator[Printed]:
    is_rust = "could not compile" in text or "aborting due to" in text
    if is_rust and re.search(r"^error(?:\[E\d+\])?: (?:could not compile|aborting due to)", text, re.M):
        yield Printed("cargo", Check.BUILD, Ended.FAILED)
    elif "target(s)" in text and re.search(_FINISHED, text, re.M):
        yield Printed("cargo", Check.BUILD, Ended.PASSED)
    good = "built in" in text or "ompiled successfully" in text or "Build complete!" in text
    if good and re.search(r"✓ built in [\d.]+m?s|\b[Cc]ompiled successfully\b|^Build complete!", text, re.M):
        yield Printed("build", Check.BUILD, Ended.PASSED)
    idle = "no work to do" in text or "Nothing to be done" in text or "is up to date." in text
    if idle and re.search(r"^ninja: no work to do|^make(?:\[\d\])?: Nothing to be done|is up to date\.$", text, re.M):
        yield Printed("make", Check.BUILD, Ended.EMPTY)
    bad = "***" in text or "build stopped" in text or "Failed to compile" in text or "Build failed" in text
    if bad and re.search(
        r"^g?make(?:\[\d+\])?: \*\*\* |^ninja: build stopped|Failed to compile|\bBuild failed\b", text, re.M
    ):
        yield Printed("build", Check.BUILD, Ended.FAILED)


# By words that its output cannot be without: to look for those is much quicker than for a pattern.
_READERS: tuple[tuple[tuple[str, ...], Callable[[str], Iterator[Printed]]], ...] = (
    (("BUILD ", "Build succeeded", "Build FAILED"), _build_tools),
    (("error TS", "Found "), _tsc),
    (("no issues found", " warning"), _mypy),
    (("problem", " issue", "checks passed!", "Found ", "Checked ", "code style", "Code style"), _linters),
    (
        (
            "compile",
            "Finished ",
            "built in",
            "Build ",
            "no work to do",
            "Nothing to be",
            "up to date.",
            "make: ***",
            "make[",
            "build stopped",
            "aborting due",
        ),
        _builders,
    ),
)
