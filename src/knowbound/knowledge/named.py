"""The things that a statement names and that a tree can show: paths, commands, links, symbols, variables.

What is an example, a placeholder, a plan, an output, or of the outside world names nothing here: a wrong alarm costs a
reader more than a miss.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

from knowbound.core.paths import language_of
from knowbound.core.statement import Statement, StatementKind
from knowbound.knowledge.versions import versions_in

_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)")
_URL = re.compile(r"^[a-z][a-z0-9+.-]*:|^//|^www\.|^mailto:|^#")
_BARE = re.compile(r"(?<![\w`/@.:<-])@?((?:\.{0,2}/)?[\w@.-]+(?:/[\w@.\[\]-]+)+/?)(?![\w`/>])")
_PLACEHOLDER = re.compile(
    r"[<>{}$*?…|=,;!\"'\\]|\.\.\.|path/to|your[-_/]|my[-_]|foo|bar\b|(?:example|sample)(?!s?/[\w.-])|specific|some_|xxx|todo|\bNN+\b|\[.*\]|YYYY|~"
    r"|(?<=[a-z])Here\b",
    re.IGNORECASE,
)
_PATH = re.compile(r"\.{0,2}/?[\w@.+&-]+(?:/[\w@.+&()-]+)*/?")
_PACKAGE = re.compile(r"@[a-z0-9][\w.-]*/[a-z0-9][\w.-]*")
_FILE = re.compile(r"[\w@+-][\w@.+-]*\.(?P<ending>[A-Za-z][A-Za-z0-9]{0,9})$")
_DOTFILE = re.compile(r"\.[a-z][\w.-]{2,}$")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$")
_SYMBOL = re.compile(r"(?P<name>[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*)(?:\(\))?$")
_COMMENT = re.compile(r"\s+#.*$|\s+//.*$|\s{2,}\(.*\)$")
_PROMPT = re.compile(r"^(?:\$|>|%)\s+")
# What a text says about something that is not, not yet or not always there: anywhere, and right before its name.
# What is said to be optional or deprecated is still said to be there.
_KEPT = re.compile(r"\b(?:optional(?:ly)?|deprecated|legacy|if (?:it |one |they )?exists?|if present)\b", re.IGNORECASE)
_DOUBT_ANYWHERE = re.compile(
    r"\b(?:e\.g\.?|for example|for instance|such as|(?:auto-?)?generated|gitignored|git-ignored|not committed"
    r"|build outputs?|if (?:it |one |they )?exists?|if present|optional(?:ly)?|planned|in the future|no longer|removed"
    r"|deleted|deprecated|renamed|moved|formerly|previously|legacy|not exist|n't exist|not there|placeholder"
    r"|look(?:s|ed|ing)? for"
    r"|created (?:at|by|when|on|automatically|during))\b",
    re.IGNORECASE,
)
_DOUBT_BEFORE = re.compile(
    r"\b(?:creat(?:e|es|ing)|add(?:s|ing)?|writ(?:e|es|ing)|written|sav(?:e|es|ed|ing)|outputs?|generat(?:e|es|ing)"
    r"|produc(?:e|es|ing)|new|never|not|don't|avoid|instead of|like|named|will|should|would|could|copy|copies"
    r"|downloads?|install(?:s|ed)?|into|your|own)\b[^.;:]{0,40}$|['’]s\s+$",
    re.IGNORECASE,
)
_PLACE_BEFORE = re.compile(r"\b(?:to|in|under|from)\s+$")
_BARE_FILE = re.compile(r"(?<![\w`/@.:<*-])([\w-]+(?:\.[\w-]+)*\.[a-z]{2,10})(?![\w`/>(])")
_PLACED = re.compile(r"(?P<path>[\w@.+/-]+\.\w+)(?:::?[A-Za-z_]\w*(?:\(\))?|:\d+(?:-\d+)?|#L\d+(?:-L?\d+)?)$")
_OPTION = re.compile(r"--[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_SLASH_COMMAND = re.compile(r"(/[a-z][a-z0-9_-]+)(?=$|\s+[\w<\[\"-])")
# Programs that work on the manifest of the folder that they run in.
NEEDS = {
    "swift": ("Package.swift",), "cargo": ("Cargo.toml",), "go": ("go.mod",), "mvn": ("pom.xml",),
    "docker": ("compose.yaml", "compose.yml", "docker-compose.yaml", "docker-compose.yml"),
    "bundle": ("Gemfile",), "gradle": ("build.gradle", "build.gradle.kts"), "mix": ("mix.exs",),
}  # fmt: skip
_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun", "make", "just", "mise", "deno", "composer"})
_OWN_COMMANDS = frozenset(
    "add audit bin cache ci config create dedupe deploy dev dlx doctor env exec explain fetch global help i import "
    "info init install it licenses link list login logout ls node npm outdated owner pack patch patch-commit plugin "
    "policies prune publish rebuild recursive remove rb restart rm root run search set setup start store tag team test "
    "tsc unlink unplug up update upgrade upgrade-interactive version versions view whoami why workspace "
    "workspaces".split()
)
_WRAPPERS = frozenset("sudo env time npx bunx uvx exec".split())  # the program follows
_INTERPRETERS = frozenset("python python3 node tsx ts-node bash sh zsh ruby perl source .".split())
_READERS = frozenset("pytest vitest jest ruff mypy cat ls rg grep".split())  # their files are often examples
_ASSIGNMENT = re.compile(r"[A-Z_][A-Z0-9_]*=\S*$")
_VARIABLE_ASSIGNMENT = re.compile(r"([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)=\S*")


class Named(NamedTuple):
    """One thing that a statement names."""

    kind: StatementKind
    value: str
    folder: str = ""  # where a command runs, relative to the folder of the statement
    is_sure: bool = True  # nothing around it says that it may not be there
    needs_history: bool = False  # written without any sign that it is a path: only what was deleted is wrong
    if_deleted: bool = False  # it counts if history deleted it: the place of something, or said to be optional


@lru_cache(maxsize=10_000)
def named_in(statement: Statement) -> tuple[Named, ...]:
    """Return what a statement names, in order, each thing once."""
    return tuple(dict.fromkeys(_named(statement)))


def _named(statement: Statement) -> Iterator[Named]:
    """Yield what a statement names: a row its path, code its commands, prose its links, code spans and bare paths."""
    if statement.path:
        if not _PLACEHOLDER.search(statement.path) and not statement.path.startswith((".", "…")):  # "...": and others
            is_sure, was_there = _sureness(statement.text)
            yield Named(StatementKind.LAYOUT, statement.path, is_sure=is_sure, if_deleted=was_there)
        return
    if statement.is_code:
        yield from commands_in(statement.text)
        return
    text = statement.text
    is_sure, was_there = _sureness(text)
    for link in _LINK.finditer(text):
        if not _URL.match(link[1]) and not _PLACEHOLDER.search(link[1]):
            yield Named(StatementKind.LINK, unquote(link[1].partition("#")[0]), is_sure=is_sure)
    text = _LINK.sub(_without_foreign_names, text)
    subject_end = text.find("|", 1) if text.startswith("|") else len(text)  # a row is about its first cell
    for span in _SPAN.finditer(text):
        before = text[: span.start()]
        is_stated = not _DOUBT_BEFORE.search(before)
        for named in _of_span(span[1].strip()):
            is_subject = named.kind is not StatementKind.SYMBOL or span.start() < subject_end
            if_deleted = (is_sure and bool(_PLACE_BEFORE.search(before))) or (was_there and is_stated)
            yield named._replace(is_sure=named.is_sure and is_sure and is_stated and is_subject, if_deleted=if_deleted)
    for version in versions_in(text):
        yield Named(StatementKind.VERSION, version.words, is_sure=is_sure)
    # Blanks for spans and links, which were yielded above.
    prose = _SPAN.sub(lambda span: " " * len(span.group()), _LINK.sub(lambda link: " " * len(link.group()), text))
    yield from _bare_paths(prose, is_sure)


def _bare_paths(prose: str, is_sure: bool) -> Iterator[Named]:
    """Yield the paths and file names that a text has outside of code spans and links."""
    for bare in _BARE.finditer(prose):
        last = bare[1].rstrip("/").rpartition("/")[2]
        is_file = bool(_FILE.match(last)) and _is_known_ending(last)
        if (is_file or _looks_like_folders(bare[1])) and not _PLACEHOLDER.search(bare[1]):
            is_meant = is_sure and not _DOUBT_BEFORE.search(prose[: bare.start()])
            if_deleted = is_sure and bool(_PLACE_BEFORE.search(prose[: bare.start()]))  # "writes to": it was a place
            yield Named(StatementKind.PATH, bare[1], is_sure=is_meant, needs_history=not is_file, if_deleted=if_deleted)
    for bare in _BARE_FILE.finditer(prose):
        if _is_known_ending(bare[1]) and not _PLACEHOLDER.search(bare[1]):
            is_meant = is_sure and not _DOUBT_BEFORE.search(prose[: bare.start()])
            yield Named(StatementKind.PATH, bare[1], is_sure=is_meant, needs_history=True)


def _sureness(text: str) -> tuple[bool, bool]:
    """Report whether a text says that its things are there, and whether all that it doubts is optional or old."""
    is_sure = not _DOUBT_ANYWHERE.search(text)
    return is_sure, not is_sure and not _DOUBT_ANYWHERE.search(_KEPT.sub(" ", text))


def _without_foreign_names(link: re.Match[str]) -> str:
    """Return a link as it is, or blanks for one that leads to another place: what it names is there."""
    return " " * len(link.group()) if _URL.match(link[1]) and not link[1].startswith("#") else link.group()


def _of_span(span: str) -> Iterator[Named]:
    """Yield what a code span names."""
    if slash := _SLASH_COMMAND.match(span):
        yield Named(StatementKind.SKILL, slash[1])  # what follows it may name more
    if " " in span:
        yield from commands_in(span)
        return
    if _PLACEHOLDER.search(span):
        if variable := _VARIABLE_ASSIGNMENT.fullmatch(span):
            yield Named(StatementKind.VARIABLE, variable[1])
        return
    if (placed := _PLACED.fullmatch(span)) and is_path(placed["path"]) and not span.startswith("/"):
        yield Named(StatementKind.PATH, placed["path"])
        return
    if _URL.match(span):
        return
    if _PACKAGE.fullmatch(span):
        yield Named(StatementKind.OTHER, span)  # a package with a scope
    elif _VARIABLE.fullmatch(span):
        yield Named(StatementKind.VARIABLE, span)
    elif is_path(span):
        yield Named(StatementKind.PATH, span)
    elif (symbol := _SYMBOL.fullmatch(span)) and _is_specific(symbol["name"], span):
        yield Named(StatementKind.SYMBOL, symbol["name"])


def is_path(text: str) -> bool:
    """Report whether a word without spaces is written like a path of a project."""
    if not _PATH.fullmatch(text) or text.startswith(("@", "-")) or text.strip("./") == "":
        return False
    last = text.rstrip("/").rpartition("/")[2]
    if "/" in text.strip("/"):
        return bool(_FILE.match(last)) or text.endswith("/") or _looks_like_folders(text)
    if text.endswith("/"):
        return True
    return bool(_FILE.match(last) and _is_known_ending(last)) or bool(_DOTFILE.fullmatch(text) and text.count(".") == 1)


def _looks_like_folders(text: str) -> bool:
    """Report whether words with slashes are folders: not `and/or`, an owner and a repository, or a media type."""
    parts = text.strip("/").split("/")
    return len(parts) > 2 or parts[0] in ("src", "lib", "docs", "tests", "test", "app", "apps", "packages", "scripts")


def _is_known_ending(name: str) -> bool:
    return language_of(name) is not None or name.rpartition(".")[2].lower() in _ENDINGS


_ENDINGS = frozenset(
    "md mdx json jsonc yaml yml toml ini cfg conf lock txt sh bash zsh ps1 env html css scss sql proto xml csv svg png "
    "plist gradle properties tf hcl mod sum ipynb vue svelte astro graphql prisma snap service dockerfile rst "
    "lua".split()
)


def _is_specific(name: str, span: str) -> bool:
    """Report whether a name is one of a program and not a word: several humps or parts, or a call."""
    return (
        span.endswith("()")
        or "." in name
        or "_" in name.strip("_")
        or bool(re.search(r"[a-z][A-Z]|[A-Z]{2,}[a-z]", name))
    )


# Commands


def commands_in(line: str) -> Iterator[Named]:
    """Yield the scripts and files that a command line of the project names."""
    folder = ""
    for part in re.split(r"\s*(?:&&|\|\||;|\|)\s*", _COMMENT.sub("", _PROMPT.sub("", line.strip()))):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:  # quotes that are not closed
            return
        for word in words:
            if not (variable := _VARIABLE_ASSIGNMENT.fullmatch(word)):
                break
            yield Named(StatementKind.VARIABLE, variable[1])
        while words and (_ASSIGNMENT.fullmatch(words[0]) or words[0] in _WRAPPERS):
            words = words[1:]
        if not words:
            continue
        if words[0] == "cd" and len(words) == 2 and not _PLACEHOLDER.search(words[1]):
            folder = words[1]
            if is_path(f"{folder.rstrip('/')}/"):
                yield Named(StatementKind.PATH, f"{folder.rstrip('/')}/")
            continue
        yield from _of_command(words, folder)
        yield from _options(words, folder)


def _options(words: list[str], folder: str) -> Iterator[Named]:
    """Yield the options of a command line, each with the script or the program that it is given to."""
    if words[0] in ("uv", "poetry", "pdm") and words[1:2] == ["run"]:
        words = words[2:]
    if words and words[0] in _INTERPRETERS:
        words = words[1:]
    if not words or words[0].startswith("-") or _PLACEHOLDER.search(words[0]) or words[0] in _RUNNERS:
        return  # an option of a runner is not one of its script
    for word in words[1:]:
        if word == "--":
            return
        if option := _OPTION.match(word):
            yield Named(StatementKind.OPTION, f"{words[0]} {option.group()}", folder)


def _of_command(words: list[str], folder: str) -> Iterator[Named]:
    """Yield the script, hook, manifest or files that one command names; `folder` is where it runs."""
    program, rest = words[0], words[1:]
    if program in ("uv", "poetry", "pdm", "hatch", "rye") and rest[:1] == ["run"]:
        rest = [word for word in rest[1:] if not word.startswith("-")]
        if rest and re.fullmatch(r"[a-z][\w-]*", rest[0]) and rest[0] not in _INTERPRETERS:
            yield Named(StatementKind.COMMAND, f"{program} {rest[0]}", folder)
        program, rest = (rest[0], rest[1:]) if rest else ("", [])
    if program in _RUNNERS:
        if script := _script(program, rest):
            yield Named(StatementKind.COMMAND, f"{program} {script}", _folder_of(rest) or folder)
        return
    if program == "pre-commit" and rest[:1] == ["run"]:
        hooks = [word for word in rest[1:] if re.fullmatch(r"[a-z][\w-]*", word)]
        if hooks and rest[1] == hooks[0]:  # no option before it, whose value it might be
            yield Named(StatementKind.COMMAND, f"pre-commit {hooks[0]}", folder)
        return
    program = "docker" if program == "docker-compose" else program
    if program in NEEDS and (program != "docker" or rest[:1] == ["compose"] or words[0] == "docker-compose"):
        if not {"-f", "--file", "--manifest-path", "-C", "--package-path", "install"} & set(rest):
            yield Named(StatementKind.COMMAND, f"{program} ", folder)  # no script: it needs its manifest there
        return
    if program.startswith("./") and not _PLACEHOLDER.search(program):
        yield Named(StatementKind.PATH, program, folder)
    is_script = program in _INTERPRETERS
    for word in rest if is_script or program in _READERS else ():
        if is_script and word in ("-m", "-c", "-e"):
            return
        if word.startswith("-") or _PLACEHOLDER.search(word) or _URL.match(word):
            continue
        path = word.partition("::")[0]
        if ("/" in path and is_path(path)) or (is_script and _FILE.match(path)):
            yield Named(StatementKind.PATH, path, folder, is_sure=is_script)  # a reader's are often examples
        if is_script:
            return  # the script's own arguments follow


def _folder_of(rest: list[str]) -> str:
    """Return the folder that the options of a runner name; "" if they name none."""
    for number, word in enumerate(rest[:-1]):
        if word in ("-C", "--cwd", "--prefix", "--dir"):
            return rest[number + 1]
    return ""


def _script(program: str, rest: list[str]) -> str:
    """Return the script of a runner's command line; "" if the command is the runner's own."""
    words = []
    is_option_value = False
    for word in rest:
        if is_option_value:
            is_option_value = False
        elif word in ("-C", "--cwd", "--prefix", "--dir", "-w", "--workspace", "--filter", "-F", "-f", "-p"):
            is_option_value = True
        elif word.startswith("-"):
            if word == "--":
                break
        elif "=" not in word:  # `NAME=value` sets a variable of make
            words.append(word)
    if not words or _PLACEHOLDER.search(words[0]):
        return ""
    if program in ("make", "just"):
        return words[0] if re.fullmatch(r"[\w.:/-]+", words[0]) else ""
    if program == "mise":
        return words[1] if words[0] in ("run", "r") and len(words) > 1 else ""
    if program == "deno":
        return words[1] if words[0] == "task" and len(words) > 1 else ""
    if words[0] in ("run", "run-script"):
        is_script = len(words) > 1 and re.fullmatch(r"[\w.:@-]+", words[1]) and not _FILE.match(words[1])
        return words[1] if is_script else ""
    if program == "npm":
        return words[0] if words[0] in ("test", "start") else ""  # the scripts that it runs without `run`
    # yarn and pnpm also run programs of dependencies by their name (`Checker` looks whether there is one).
    is_name = (
        program in ("pnpm", "yarn") and words[0] not in _OWN_COMMANDS and bool(re.fullmatch(r"[a-z][\w:-]+", words[0]))
    )
    return words[0] if is_name else ""
