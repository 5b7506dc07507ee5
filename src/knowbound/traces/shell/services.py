"""Roles of programs that ask git, GitHub, package managers, containers and the network, and of all other programs."""

from __future__ import annotations

from knowbound.core.lazy_pattern import lazy
from knowbound.core.tool_kinds import ToolKind
from knowbound.traces.shell.parser import Command, ShellWord
from knowbound.traces.shell.programs import ParsedCommand, ProgramRole, arguments, lookup, search

_GIT_VALUED = frozenset("-C -c --git-dir --work-tree --namespace --exec-path".split())
_REVISION_PATH = lazy(r"^(?!\w+://)[^\s:]*:(?P<path>[^\s:].*)$")
_TEXT, _SHOW = ProgramRole.TEXT, ProgramRole.SHOW
# Verbs that print something, by program; every other verb acts.
_VERBS: dict[str, dict[ProgramRole, str]] = {
    "git": {
        _TEXT: "log show blame annotate reflog shortlog ls-remote describe help whatchanged cat-file name-rev",
        ProgramRole.QUIET: "add rm mv fetch checkout switch init clone clean",
        _SHOW: "status diff config rev-parse rev-list show-ref remote stash worktree merge-base symbolic-ref "
        "for-each-ref",
    },
    "npm": {_TEXT: "ls list outdated view info show explain why"},
    "pnpm": {_TEXT: "ls list outdated view info why"},
    "yarn": {_TEXT: "list info why"},
    "bun": {_TEXT: "pm"},
    "pip": {_TEXT: "list freeze show index"},
    "pip3": {_TEXT: "list freeze show index"},
    "uv": {_TEXT: "tree"},
    "poetry": {_TEXT: "show"},
    "gem": {_TEXT: "list"},
    "go": {_TEXT: "list doc env"},
    "cargo": {_TEXT: "tree search metadata"},
    "brew": {_TEXT: "list info search"},
    "apt": {_TEXT: "list search show"},
    "apt-cache": {_TEXT: "search show policy"},
    "dpkg": {_TEXT: "-l -L -S"},
    "conda": {_TEXT: "list"},
    "docker": {_SHOW: "ps images logs inspect info network volume container image"},
    "kubectl": {_SHOW: "get describe logs config"},
    "systemctl": {_SHOW: "status list-units is-active"},
    "bd": {_SHOW: "list show ready"},
}
_LOOKS_UP_NAME = frozenset("ls list view show info search why explain doc".split())
_LOCAL_URL = lazy(r"localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1\]|\$")
_ARCHIVE_LISTED = lazy(r"-?[zjJvf]*t[zjJvf]*$|--list$")
_ASKS_VERSION = frozenset("--version -V version -version --ver".split())


def describe_service(command: Command, words: list[str]) -> ParsedCommand:
    """Return the role of a program that looks up no files."""
    name = command.program
    match name:
        case "git":
            return _git(command, words)
        case "gh":
            return _gh(command, words)
        case "curl" | "wget":  # a remote page is a text to search; a local service is a state
            is_act = any(word in ("-X", "-d", "--data", "--request", "-F", "-o", "-O", "-T") for word in words)
            is_local = any(_LOCAL_URL.search(word) for word in words if not word.startswith("-"))
            role = ProgramRole.ACT if is_act else _SHOW if is_local else _TEXT
        case "tar" | "unzip" | "zipinfo":
            is_listed = any(map(_ARCHIVE_LISTED.match, words[:2]))
            is_listed |= name != "tar" and not {"-l", "-p", "-Z1"}.isdisjoint(words)  # of unzip
            role = ProgramRole.KNOWLEDGE if is_listed else ProgramRole.ACT
        case "npx" | "bunx" | "jest" | "vitest" | "pytest":
            is_listed = not {"--listTests", "--list"}.isdisjoint(words)
            role = ProgramRole.KNOWLEDGE if is_listed else ProgramRole.ACT
        case _ if name in _VERBS:
            plain = [word for word in words if not word.startswith("-") or name == "dpkg"]  # its verbs are options
            if _TEXT in _VERBS[name] and plain[1:] and plain[0] in _LOOKS_UP_NAME:
                return lookup(command, ToolKind.SEARCH, " ".join(plain[1:]), [])._replace(is_state=plain[0] != "doc")
            role = _role_of_verb(name, plain[0] if plain else "")
        case _ if name.startswith("python") and words[:2] == ["-m", "json.tool"]:
            role = ProgramRole.FILTER
        case _ if words and words[-1] in ("-h", "help"):
            role = ProgramRole.KNOWLEDGE
        case _:
            role = _SHOW if len(words) == 1 and words[0] in _ASKS_VERSION else ProgramRole.ACT
    return ParsedCommand(role, program=name)


def _role_of_verb(program: str, verb: str) -> ProgramRole:
    return next((role for role, verbs in _VERBS[program].items() if verb in verbs.split()), ProgramRole.ACT)


def _git(command: Command, words: list[str]) -> ParsedCommand:
    """Read git by its verb: `grep`, `ls-files`, a search of the history and files of a commit look something up."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 2 if words[at] in _GIT_VALUED else 1
    if at >= len(words):
        return ParsedCommand(_SHOW, program="git")
    verb, words = words[at], words[at + 1 :]
    paths_at = words.index("--") if "--" in words else len(words)
    if verb == "grep":
        parsed = search(command._replace(words=(ShellWord("grep"),)), words[:paths_at])
        return parsed._replace(operands=(*parsed.operands, *words[paths_at + 1 :]), program="git")
    if verb in ("ls-files", "ls-tree"):
        options = arguments(words, "xX", frozenset({"exclude", "exclude-from", "exclude-per-directory"}))
        paths_of_listing = options.operands[verb == "ls-tree" :]
        return lookup(command, ToolKind.LIST, " ".join(paths_of_listing), paths_of_listing)._replace(lists_paths=True)
    if verb in ("log", "reflog", "shortlog"):  # `-S x`, `-G x`, `--grep x` and `-- path` search the history
        options = arguments(words, "SGnL", frozenset("grep author format since until after before".split()))
        searched_for = options.valued("S", "G", "grep") or words[paths_at + 1 :]
        if searched_for:
            return lookup(command, ToolKind.SEARCH, " | ".join(searched_for), [])
        return ParsedCommand(_TEXT, program="git")
    if verb in ("show", "cat-file"):
        paths = [found["path"] for word in words if (found := _REVISION_PATH.match(word))]
        if paths:
            return lookup(command, ToolKind.READ, "", paths)
    names = [word for word in words if not word.startswith("-")]
    if verb == "ls-remote" and len(names) > 1:  # it looks for a name
        return lookup(command, ToolKind.LIST, " ".join(names[1:]), [])._replace(is_state=True)
    if verb in ("branch", "tag"):
        options = arguments(words)
        if options.has("l", "list") and options.operands:
            return lookup(command, ToolKind.LIST, " ".join(options.operands), [])._replace(is_state=True)
        makes_one = options.operands and not options.has("a", "r", "contains", "merged", "no-merged", "points-at")
        return ParsedCommand(ProgramRole.QUIET if makes_one else _TEXT, program="git")
    return ParsedCommand(_role_of_verb("git", verb), program=f"git {verb}")


def _gh(command: Command, words: list[str]) -> ParsedCommand:
    """Read GitHub's command line: list, view and search look something up; other verbs act."""
    subject, verb = [*words, "", ""][:2]
    long = frozenset("repo limit state head base search author json jq label template".split())
    options = arguments(words[2:], "RLSBHlAsqt", long)
    if subject == "search":
        return lookup(command, ToolKind.SEARCH, " ".join(options.operands), [])
    if verb == "list":
        searched = options.valued("search", "S")
        searched_for = searched + options.valued("head")
        kind = ToolKind.SEARCH if searched_for else ToolKind.LIST
        return lookup(command, kind, " ".join(searched_for), [])._replace(is_state=not searched)
    if verb == "view" and subject in ("pr", "issue", "release", "repo"):
        return lookup(command, ToolKind.READ, " ".join([subject, *options.operands]), [])._replace(is_state=True)
    writes = not {"-X", "--method", "-f", "-F", "--field", "--raw-field", "--input"}.isdisjoint(words)
    is_text = verb in ("view", "diff") or (subject == "api" and not writes)
    return ParsedCommand(_TEXT if is_text else ProgramRole.ACT, program="gh")
