"""Commands that were called by a wrong name or in the wrong folder, and how they are called here."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from knowbound.core.lesson import CheckKind, LessonEvidence, LessonKind, TreeCheck
from knowbound.lessons.invocations import MACHINE, script_name
from knowbound.lessons.material import Failure, Follow, Material
from knowbound.lessons.proposals.proposal import SEVERAL, Corpus, LessonProposal, code
from knowbound.lessons.tree import Tree

# What runs programs of a project's own environment, and a file that says that the project uses it.
_RUNNERS = {
    "uv run": ("uv.lock",), "poetry run": ("poetry.lock",), "pipenv run": ("Pipfile",), "pdm run": ("pdm.lock",),
    "hatch run": ("pyproject.toml",), "bundle exec": ("Gemfile",), "npx": ("package.json",), "bunx": ("package.json",),
    "pnpm exec": ("pnpm-lock.yaml", "pnpm-workspace.yaml"), "yarn": ("yarn.lock",), "mise exec --": ("mise.toml",),
}  # fmt: skip
_SOON = 3  # commands after the one that failed
_Seen = tuple[Material, Failure, Follow]


def wrong_invocations(corpus: Corpus) -> Iterator[LessonProposal]:
    """Lessons from commands that their programs did not know."""
    wrapped: dict[tuple[str, str], list[_Seen]] = defaultdict(list)  # by wrapper and program
    misplaced: dict[str, list[_Seen]] = defaultdict(list)  # by command
    renamed: dict[tuple[str, str], list[_Seen]] = defaultdict(list)  # by wrong and right command
    through: dict[tuple[str, str], list[_Seen]] = defaultdict(list)  # by runner and program
    for material in corpus.materials:
        for failure in material.failures:
            found = _what_worked(failure) if failure.misused else None
            if found is None:
                continue
            wrong, right, follow = found
            if wrong == right:
                misplaced[wrong].append((material, failure, follow))
            elif wrong.endswith(f" {right}") and " " not in (wrapper := wrong.removesuffix(f" {right}")):
                wrapped[wrapper, right.split()[0]].append((material, failure, follow))
            elif prefix := _runner(wrong, right):
                through[prefix, wrong.split()[0]].append((material, failure, follow))
            elif wrong.split()[0] not in MACHINE:
                renamed[wrong, right].append((material, failure, follow))
    for (wrapper, program), seen in wrapped.items():
        yield from _of_wrapper(corpus, wrapper, program, seen)
    for (prefix, program), seen in through.items():
        yield from _of_runner(corpus, prefix, program, seen)
    for command, seen in misplaced.items():
        yield from _of_folder(corpus, command, seen)
    for (wrong, right), seen in renamed.items():
        yield from _of_name(corpus, wrong, right, seen)


def _what_worked(failure: Failure) -> tuple[str, str, Follow] | None:
    """The command that failed, the next that is like it and was known, and the run of that."""
    if len(failure.commands) != 1:
        return None
    wrong = failure.commands[0]
    for follow in failure.next[:_SOON]:
        for right in follow.commands:
            if right == wrong and follow.folder == failure.folder:
                continue
            if right == wrong or wrong.endswith(f" {right}") or _runner(wrong, right):
                return wrong, right, follow  # known by its program, whether the tests passed or not
            shared = set(wrong.split()[1:]) & set(right.split()[1:])
            if follow.ok and not follow.edited and any(not one.startswith("-") for one in shared):
                return wrong, right, follow
    return None


def _of_wrapper(corpus: Corpus, wrapper: str, program: str, seen: list[_Seen]) -> Iterator[LessonProposal]:
    if _sessions(seen) < SEVERAL:
        return
    commands = Counter(one.commands[0] for _, one, _ in seen)
    wrong = commands.most_common(1)[0][0]
    right = wrong.removeprefix(f"{wrapper} ")
    yield LessonProposal(
        LessonKind.COMMAND,
        f"wrapper {wrapper} {program}",
        f"Run {code(right)} without {code(wrapper)}: {code(wrapper)} has no {code(program)} subcommand, so "
        f"{code(wrong)} fails.",
        _evidence(seen),
        len(seen),
        tuple(f"misused:{one}" for one in sorted(commands)),
        # The tool of one person's machine is no knowledge of the project: something in the tree has to speak of it.
        (*_script(right, corpus.tree), TreeCheck(CheckKind.TEXT, text=wrapper)),
        unverified=f"that {wrapper} refuses {program} was seen in sessions, not in the tree",
    )


def _runner(wrong: str, right: str) -> str:
    """What runs a program of the project's own environment: `uv run` of `uv run pytest tests`."""
    prefix = right.removesuffix(f" {wrong}") if right.endswith(f" {wrong}") else ""
    return prefix if prefix in _RUNNERS else ""


def _of_runner(corpus: Corpus, prefix: str, program: str, seen: list[_Seen]) -> Iterator[LessonProposal]:
    """A program that is there only in the project's own environment."""
    known = next((path for path in _RUNNERS[prefix] if corpus.tree is not None and corpus.tree.has(path)), "")
    if _sessions(seen) < SEVERAL or (corpus.tree is not None and not known):
        return
    wrong = Counter(one.commands[0] for _, one, _ in seen)
    shortest = min(wrong, key=lambda one: (len(one), one))
    yield LessonProposal(
        LessonKind.COMMAND,
        f"runner {prefix} {program}",
        f"Run {code(f'{prefix} {shortest}')}, not {code(shortest)}: {code(program)} is only there through "
        f"{code(prefix)}.",
        _evidence(seen),
        len(seen),
        tuple(f"misused:{one}" for one in sorted(wrong)),
        (TreeCheck(CheckKind.FILE, known),) if known else (),
        unverified=f"that {program} is not installed elsewhere was seen in sessions, not in the tree",
    )


def _of_folder(corpus: Corpus, command: str, seen: list[_Seen]) -> Iterator[LessonProposal]:
    """A script that only the manifest of one folder has."""
    name, folders = script_name(command), Counter(follow.folder for _, _, follow in seen)
    folder = folders.most_common(1)[0][0]
    if _sessions(seen) < SEVERAL or not name or not folder:
        return
    at = "" if folder == "." else folder.strip("/") + "/"
    found = corpus.tree.script(name) if corpus.tree else None
    manifest = found.path if found and found.path.rpartition("/")[0] == at.rstrip("/") else f"{at}package.json"
    others = sorted(
        path
        for path, scripts in (corpus.tree.scripts if corpus.tree else {}).items()
        if name not in scripts and path.rpartition("/")[2] == manifest.rpartition("/")[2]
    )
    where = "the root folder" if not at else code(at)
    reason = f": {code(others[0])} has no {code(name)} script" if others else f": only {code(manifest)} has it"
    absent = (TreeCheck(CheckKind.NO_SCRIPT, others[0], name),) if others else ()
    yield LessonProposal(
        LessonKind.COMMAND,
        f"folder {command}",
        f"Run {code(command)} in {where}{reason}.",
        _evidence(seen),
        len(seen),
        (f"misused:{command}",),
        (TreeCheck(CheckKind.SCRIPT, manifest, name), *absent),
        subject=manifest,
    )


def _of_name(corpus: Corpus, wrong: str, right: str, seen: list[_Seen]) -> Iterator[LessonProposal]:
    script = _script(right, corpus.tree)
    if _sessions(seen) < SEVERAL or (corpus.tree is not None and not script):
        return
    name = script_name(wrong)
    gone = (TreeCheck(CheckKind.NO_SCRIPT, text=name),) if name and name != script_name(right) else ()
    yield LessonProposal(
        LessonKind.COMMAND,
        f"name {wrong}",
        f"Use {code(right)}, not {code(wrong)}.",
        _evidence(seen),
        len(seen),
        (f"misused:{wrong}",),
        (*script, *gone),
        unverified="" if script else f"that {right} works was seen in sessions, not in the tree",
    )


def _script(command: str, tree: Tree | None) -> tuple[TreeCheck, ...]:
    """That the script of a command is there, in the manifest nearest to the root."""
    name = script_name(command)
    found = tree.script(name) if tree is not None and name else None
    return (TreeCheck(CheckKind.SCRIPT, found.path, name),) if found else ()


def _sessions(seen: list[_Seen]) -> int:
    return len({material.session for material, _, _ in seen})


def _evidence(seen: list[_Seen]) -> tuple[LessonEvidence, ...]:
    return tuple(LessonEvidence(material.session, failure.line, failure.file) for material, failure, _ in seen)
