"""The rules of knowledge files as they were on the day of a session, on its branch if the repository has it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from knowbound.codebase.checkout import Checkout
from knowbound.core.statement import Rule
from knowbound.git import run_git
from knowbound.knowledge.lint import knowledge_files, loaded_files
from knowbound.knowledge.statements import statements_of

_SECONDS, _BYTES, _LARGEST = 20.0, 4 << 20, 1_000_000
# Skills, sub-agents and commands are loaded when they are called: they give no rules for every session.
_ON_CALL = ("/skills/", "/agents/", "/commands/")
_CLAUDE = re.compile(r"(?:^|/)claude(?:\.local)?\.md$|(?:^|/)\.claude/rules/", re.IGNORECASE)
_AGENTS = re.compile(r"(?:^|/)AGENTS\.md$")
_OF_AGENT = {
    "claude-code": _CLAUDE,
    "codex": _AGENTS,
    "gemini-cli": re.compile(r"(?:^|/)GEMINI\.md$"),
    "copilot-cli": re.compile(r"(?:^|/)AGENTS\.md$|(?:^|/)copilot-instructions\.md$"),
}


class RuleHistory:
    """The rules of a project by day. Without history, the files as they are now count for every session."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.is_rule: Callable[[Rule], bool] = is_rule  # by words, until a model has said which lines are rules

    def at(self, time: str, branch: str = "", agent: str = "", touched: Iterable[str] = ()) -> list[Rule]:
        """Return the rules that a session of a moment (ISO, UTC; "" for now) was given.

        Agents load the files of their own client; one in a folder only if the session works in that folder.
        """
        return [line for line in self.lines_at(time, branch, agent, touched) if self.is_rule(line)]

    def lines_at(self, time: str, branch: str = "", agent: str = "", touched: Iterable[str] = ()) -> list[Rule]:
        """Return every line that may be a rule of a session."""
        lines = self._of_commit(self._commit(branch, time[:19]) if time else "")
        folders = {folder for path in touched for folder in _folders_above(path)}
        return [line for line in lines if _is_loaded(line.file, agent) and _folder_of(line.file) in (*folders, "")]

    @lru_cache(maxsize=512)  # noqa: B019  (one history lives as long as a command)
    def _commit(self, branch: str, time: str) -> str:
        """Return the last commit of the branch before that moment; "" if there is no history that long."""
        for ref in (f"refs/heads/{branch}", f"refs/remotes/origin/{branch}", "HEAD") if branch else ("HEAD",):
            given = ("rev-list", "-1", f"--before={time}Z", "--end-of-options", ref, "--")
            ran = run_git(self.root, *given, seconds=_SECONDS, output_bytes=200)
            if ran.code == 0 and (found := ran.out.decode("ascii", "replace").strip()):
                return found
        return ""

    @lru_cache(maxsize=512)  # noqa: B019
    def _of_commit(self, commit: str) -> list[Rule]:
        """Return the lines of the knowledge files of a commit, or of the files as they are now for ""."""
        if not commit:
            checkout = Checkout(self.root)
            files = _every_session(knowledge_files(checkout))
            return [rule for path in files for rule in lines_of(path, checkout.text(path))]
        found: list[Rule] = []
        for path, blob in self._blobs(commit):
            found += self._of_blob(path, blob)
        return found

    def _blobs(self, commit: str) -> list[tuple[str, str]]:
        """Return the knowledge files of a commit with their blobs."""
        ran = run_git(self.root, "ls-tree", "-r", "-z", commit, seconds=_SECONDS, output_bytes=64 << 20)
        rows = (row.partition("\t") for row in ran.out.decode("utf-8", "replace").split("\0") if row)
        blobs = {path: meta.split()[2] for meta, _, path in rows if meta.startswith("100")}
        return [(path, blobs[path]) for path in _every_session(loaded_files(blobs))]

    @lru_cache(maxsize=512)  # noqa: B019
    def _of_blob(self, path: str, blob: str) -> list[Rule]:
        ran = run_git(self.root, "cat-file", "blob", blob, seconds=_SECONDS, output_bytes=_LARGEST)
        return lines_of(path, ran.out.decode("utf-8", "replace")) if ran.code == 0 and not ran.cut else []


def _every_session(files: Iterable[str]) -> list[str]:
    return [file for file in files if not any(part in f"/{file}" for part in _ON_CALL)]


def _is_loaded(file: str, agent: str) -> bool:
    """Report whether an agent loads a file by itself; of unknown agents every file counts."""
    name = _OF_AGENT.get(agent)
    return name is None or bool(name.search(file))


def _folder_of(file: str) -> str:
    """Return the folder whose work a file is for; "" for the whole project."""
    parts = file.split("/")[:-1]
    own = next((at for at, part in enumerate(parts) if part.startswith(".")), len(parts))
    return "/".join(parts[:own])


def _folders_above(path: str) -> Iterator[str]:
    while path := path.rpartition("/")[0]:
        yield path


_LONGEST = 600  # characters of a rule
_ORDERS = re.compile(
    r"\b(?:must|never|always|should|shall|do not|don['’]t|avoid|prefer|ensure|make sure|mandatory|required|forbidden|"
    r"not allowed|prohibited|only use|use only|no exceptions|instead of|rather than|before (?:commit|push|mak|start|"
    r"edit|finish|complet|submitt|open|merg)\w*|必须|不要|禁止|始终|总是|务必|应该|不得)",
    re.IGNORECASE,
)
# Verbs that begin an order; a heading or a description begins with a noun.
_VERBS = re.compile(
    r"(?:add|adhere|apply|ask|assume|begin|break|bump|call|catch|check|choose|clean|clear|close|commit|confirm|consult|"
    r"create|declare|define|delete|describe|do|document|encrypt|escape|explain|export|extract|favou?r|file|find|fix|"
    r"follow|format|generate|group|handle|hand|implement|import|include|inject|inherit|inline|keep|leave|limit|lint|load|"
    r"log|look|match|merge|minimi[sz]e|mock|name|never|note|omit|open|organi[sz]e|parametri[sz]e|place|plan|prefix|"
    r"preserve|provide|prune|pull|push|put|raise|read|rebuild|re-?generate|rely|remember|remove|rename|replace|report|"
    r"resolve|respect|restart|return|reuse|review|run|search|separate|set|ship|skip|sort|split|start|stop|store|test|"
    r"throw|track|treat|try|update|use|validate|verify|wait|work|wrap|write)\b",
    re.IGNORECASE,
)
_HEADED = re.compile(r"\b(?:never|always|do not|don['’]t|must)\b", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_SIGNS = re.compile(r"[*_`~]{1,3}")
_LABEL = re.compile(r"^[^\w]*(?:[^:.]{2,60}:\s+)?")  # "**Tests**: run them"
_ADVERB = re.compile(r"^(?:please|also|then|finally|first|next)\s+", re.IGNORECASE)
_LATIN = re.compile(r"[A-Za-z]")
_NO = re.compile(r"^No (?!one\b|longer\b|doubt\b)[\w`@]")
_OF_RULES = re.compile(
    r"\b(?:rules?|conventions?|guidelines?|requirements?|mandatory|critical|must|principles?|do|don['’]ts?|avoid|"
    r"best practices|workflow)\b|правил|规则|规范|约定",
    re.IGNORECASE,
)  # headings of sections whose bullets are rules
_FEWEST_WORDS = 3


def lines_of(file: str, text: str) -> list[Rule]:
    """Return the statements of a file that may be rules, in order: those of one line together, with its commands."""
    found: list[Rule] = []
    leads = False  # the last line ends with a colon: the lines of code after it belong to it
    for line, group in groupby(statements_of(file, text), key=lambda statement: statement.line):
        statements = list(group)
        if all(statement.is_code for statement in statements):
            if leads:
                last = found[-1]
                commands = "".join(f" `{statement.text.split(' #')[0].strip()}`" for statement in statements)
                found[-1] = Rule(file, last.line, (last.text + commands)[:_LONGEST], last.heading)
            continue
        statements = [statement for statement in statements if not statement.is_code and not statement.path]
        words = " ".join(statement.text for statement in statements)
        if statements:
            found.append(Rule(file, line, words[:_LONGEST], statements[0].heading))
        leads = bool(statements) and words.rstrip("*_ ").endswith(":")
    return found


def is_rule(line: Rule) -> bool:
    """Report whether a line orders or forbids something, by its words; a bullet does in a section of rules."""
    text, heading = line.text, line.heading
    plain = _SIGNS.sub("", _BULLET.sub("", text)).strip()
    if plain.startswith("|") or plain.endswith("?"):
        return False
    if plain.startswith("#"):
        return bool(_HEADED.search(plain))
    is_listed = bool(_BULLET.match(text)) and bool(_OF_RULES.search(heading))
    if len(plain.split()) < _FEWEST_WORDS and not is_listed:
        return False
    beginnings = (plain, _LABEL.sub("", plain), *(part.lstrip() for part in plain.split(",")[1:]))
    is_order = any(_VERBS.match(_ADVERB.sub("", start)) or _NO.match(start) for start in beginnings)
    is_foreign = len(_LATIN.findall(plain)) * 2 < sum(map(str.isalpha, plain))  # no words that rules could read
    is_listed = is_listed or (is_foreign and bool(_BULLET.match(text)))
    return is_listed or is_order or bool(_ORDERS.search(plain))
