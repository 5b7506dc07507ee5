"""Skills: whether SKILL.md can be found, fits and agrees with the project's rules, and how it was used in sessions.

Size limits are those that the clients' makers publish: 1,024 characters of a description, 500 lines of a SKILL.md. What
matches a description is counted by words; whether a prompt really calls for a skill is the client's model to say.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
from msgspec.structs import replace

from knowbound.codebase.checkout import Checkout
from knowbound.config import Settings
from knowbound.core.signal import Findings, Status
from knowbound.core.statement import CheckedStatement, Rule, SkillCheck, SkillProblem, Truth
from knowbound.errors import InputError
from knowbound.knowledge.deciding import begins_with, forbidden_commands
from knowbound.knowledge.lint import knowledge_files, lint
from knowbound.knowledge.statements import is_rule, lines_of, statements_of
from knowbound.store.observed import Observed
from knowbound.text.english import STOP_WORDS, stem
from knowbound.text.printable import estimated_tokens
from knowbound.text.terms import split_words

_SKILL = re.compile(r"(?:^|/)skills/(?:.+/)?([^/]+)/SKILL\.md$")
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)", re.DOTALL)
_SPAN = re.compile(r"`([^`\n]+)`")
_DESCRIPTION_CHARACTERS, _MOST_LINES = 1024, 500  # the largest: characters of a description, lines of a file
_FEWEST_PROMPTS = 20  # before "never" is said
_SHARED_WORDS = 2  # words of a prompt and a description that make a match


class _NoReport(msgspec.Struct):
    """No part of the report of `observe` is needed: only which sessions it read."""


def check_skills(settings: Settings) -> list[SkillCheck]:
    """Check every skill of the project, and how the sessions of the newest `observe` used it. Raises InputError."""
    checkout = Checkout(settings.root)
    files = [path for path in knowledge_files(checkout) if _SKILL.search(path)]
    if not files:
        raise InputError(
            "no-skills", f"No skills/NAME/SKILL.md in {settings.root}. To check other files: knowbound lint"
        )
    forbidding_rules = [
        rule
        for path in knowledge_files(checkout)
        if path not in files
        for rule in lines_of(path, _text(settings.root, path))
        if is_rule(rule) and forbidden_commands(rule)
    ]
    checked = lint(settings.root, [settings.root / path for path in files])
    wrong = [statement for statement in checked if statement.truth is Truth.CONTRADICTED]
    sessions = list(_findings(settings.home))
    checks = (_checked(settings.root, path, forbidding_rules, wrong) for path in files)
    return [_with_use(check, settings.root, sessions) for check in checks]


def _text(root: Path, path: str) -> str:
    return (root / path).read_text("utf-8", "replace")


def _fields(text: str) -> dict[str, str]:
    """Return the texts of the front matter; none where it is no YAML."""
    import yaml  # noqa: PLC0415  (only skills have front matter that needs it)

    front = _FRONT.match(text.replace("\r\n", "\n"))
    try:
        given = yaml.safe_load(front[1]) if front else None
    except (yaml.YAMLError, RecursionError):
        return {}
    return {str(key): " ".join(str(value).split()) for key, value in given.items()} if isinstance(given, dict) else {}


def _checked(root: Path, path: str, rules: Sequence[Rule], wrong: Iterable[CheckedStatement]) -> SkillCheck:
    """Return what the file itself, the tree and the rules of other files say about a skill."""
    text = _text(root, path)
    fields, folder = _fields(text), path.split("/")[-2]
    name, description = fields.get("name", folder), fields.get("description", "")
    lines = text.count("\n") + 1
    problems = []
    if not description:
        problems.append(SkillProblem(1, "no_description", "has no description: no client knows when to use it"))
    if len(description) > _DESCRIPTION_CHARACTERS:
        words = f"its description has {len(description):,} characters; clients take {_DESCRIPTION_CHARACTERS:,}"
        problems.append(SkillProblem(1, "description_long", words))
    if name != folder:
        problems.append(SkillProblem(1, "name_differs", f"is called {name} in a folder called {folder}"))
    if lines > _MOST_LINES:
        words = f"has {lines:,} lines, more than {_MOST_LINES}: move parts to files that are read when they are needed"
        problems.append(SkillProblem(_MOST_LINES, "skill_long", words))
    for checked in wrong:
        if checked.statement.file == path:
            problems.append(SkillProblem(checked.statement.line, "tree", f"{checked.named}: {checked.why}"))
    problems += _against_rules(path, text, rules)
    listed = estimated_tokens(f"{name}: {description}")
    return SkillCheck(path, name, lines, estimated_tokens(text), listed, problems)


def _against_rules(path: str, text: str, rules: Iterable[Rule]) -> Iterator[SkillProblem]:
    """Yield the commands of a skill that a rule of another file forbids; a line that forbids them, too, agrees."""
    forbidden = [(words, rule) for rule in rules for words in forbidden_commands(rule)]
    for statement in statements_of(path, text) if forbidden else ():
        forbidden_here = forbidden_commands(Rule(path, statement.line, statement.text, statement.heading))
        commands = [statement.text] if statement.is_code else _SPAN.findall(statement.text)
        for words, rule in forbidden:
            if words not in forbidden_here and any(begins_with(command, words) for command in commands):
                said = f"{' '.join(words)}: {rule.file}:{rule.line} says: {rule.text.strip()}"
                yield SkillProblem(statement.line, "contradicts_rule", said)


def _findings(home: Path) -> Iterator[Findings]:
    """Yield what the newest `observe` found in each session; nothing if it never ran."""
    with closing(Observed(home)) as observed:
        seen = observed.run("observe", _NoReport)
        if seen is not None:
            _, session_keys = seen
            yield from observed.findings(session_keys)


def _with_use(check: SkillCheck, root: Path, found: Sequence[Findings]) -> SkillCheck:
    """Return the check with the use of the skill in sessions, and the problems that it shows."""
    if not found:
        return check
    description = _fields(_text(root, check.file)).get("description", "")
    triggers = _stems(f"{check.name} {description}")
    prompts = [turn.prompt for session in found for turn in session.turns if turn.prompt]
    matched = sum(len(triggers & _stems(prompt)) >= _SHARED_WORDS for prompt in prompts)
    uses = with_gaps = ended_well = sessions = 0
    for session in found:
        of_skill = [
            sample for sample in session.samples if sample.name == check.name or sample.name.endswith(f":{check.name}")
        ]
        gaps = {signal.sample for signal in session.signals if signal.status is Status.OPEN}
        uses, sessions = uses + len(of_skill), sessions + bool(of_skill)
        with_gaps += sum(sample.id in gaps for sample in of_skill)
        without_gaps = [sample for sample in of_skill if sample.id not in gaps]
        ended_well += sum(bool(sample.answered) and not sample.incomplete for sample in without_gaps)
    problems = list(check.problems)
    if description and not uses and len(prompts) >= _FEWEST_PROMPTS:
        total = f"{len(prompts):,} prompts"
        if matched:
            words = f"was never used, though {matched:,} of {total} share {_SHARED_WORDS} words with its description"
            problems.append(SkillProblem(1, "never_used", words))
        else:
            words = f"none of {total} shares {_SHARED_WORDS} words with its description"
            problems.append(SkillProblem(1, "never_matches", f"{words}: nothing calls for it in these words"))
    return replace(
        check, problems=problems, prompts=len(prompts), matched=matched, uses=uses, sessions=sessions,
        ended_well=ended_well, with_gaps=with_gaps,
    )  # fmt: skip


def _stems(text: str) -> frozenset[str]:
    words = (word for token in re.findall(r"\w+", text) for word in split_words(token))
    return frozenset(stem(word) for word in words if len(word) > 2 and word not in STOP_WORDS)
