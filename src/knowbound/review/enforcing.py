"""Actions for rules that agents ignore: a gate that the client or git keeps, or the rule in another place and words.

A gate runs only scripts that a manifest of the project defines, in one of a few fixed forms; no word of a rule or of a
model becomes part of a command. A person sees it in full and decides: it is never written without being asked.

Other words are a rules file for the folder of the rule, or a shorter line, earlier. A model proposes the shorter line.
It counts only if it is the same rule by its names: nothing that the rule names is missing, nothing new is named, and it
is clearly shorter.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from knowbound.codebase.checkout import Checkout
from knowbound.config import ModelTask, Settings
from knowbound.core.lesson import Action, ActionCost, ActionKind, action_id
from knowbound.core.signal import Example
from knowbound.core.statement import Rule
from knowbound.files import FilePatch, read_below
from knowbound.judge.choice import judge_for
from knowbound.judge.prompts import load_prompt
from knowbound.judge.registry import asker_for
from knowbound.knowledge.deciding import forbidden_commands, required_runs
from knowbound.knowledge.rules import RulesFound
from knowbound.lessons.proposing import clean_line
from knowbound.report.knowledge import RuleSummary, summaries
from knowbound.review.proposing import Proposed, diff_of
from knowbound.store.decisions import Fix

SETTINGS = ".claude/settings.json"
_LEAST_SESSIONS = 2  # sessions that broke a rule
_OBEYED_SHARE = 0.7  # share from which a rule needs no gate
_EXAMPLES = 5
_HUSKY = ".husky/pre-commit"
_SCRIPT = re.compile(r"[\w:.-]{1,60}")
# How a script of each manifest is run.
_RUNNERS = {"package.json": "npm run", "Makefile": "make", "makefile": "make", "justfile": "just", "Justfile": "just"}
_RUNNERS_BY_LOCK = {
    "pnpm-lock.yaml": "pnpm run",
    "yarn.lock": "yarn run",
    "bun.lockb": "bun run",
    "bun.lock": "bun run",
}
# Programs that a project decides for or against; other forbidden commands are left to the rule's words.
_DENIED = frozenset("npm npx pnpm yarn bun bunx pip pip3 poetry pipenv conda".split())
# Claude Code gives a hook the call as JSON on stdin; exit 2 stops the call and shows the agent what was printed.
_AT_COMMIT = """grep -qE '"command": *"[^"]*git( -C [^" ]+)? commit' || exit 0; {command} >&2 || exit 2"""


def enforce_actions(found: RulesFound, settings: Settings) -> list[Proposed]:
    """Return an action for each rule that agents ignore, the most ignored first."""
    checkout = Checkout(settings.root)
    broken = (each for each in summaries(found.checks) if each.violated + each.partly >= _LEAST_SESSIONS)
    ignored = [each for each in broken if each.obeyed.value is None or each.obeyed.value < _OBEYED_SHARE]
    fixes = {summary.rule.key: _gate_fix(summary.rule, checkout, settings) for summary in ignored}
    words = shorter([summary.rule for summary in ignored if fixes[summary.rule.key] is None], settings)
    for rule in (summary.rule for summary in ignored if fixes[summary.rule.key] is None):
        text = words.get(rule.key, "")
        if moved := earlier(rule, text, settings):
            title = f"Say {rule.file}:{rule.line} first{' and shorter' if text else ''}"
            fixes[rule.key] = Fix(action_id(ActionKind.ENFORCE, rule.key), title, [moved])
    return [_action(summary, found, fixes[summary.rule.key]) for summary in ignored]


def _action(summary: RuleSummary, found: RulesFound, fix: Fix | None) -> Proposed:
    """Return the action for an ignored rule, with the first sessions that broke it."""
    checks = [check for check in found.checks if check.rule.key == summary.rule.key and check.is_broken]
    id_ = action_id(ActionKind.ENFORCE, summary.rule.key)
    title = f"{summary.rule.file}:{summary.rule.line} is ignored: {' '.join(summary.rule.text.split())}"
    reminded = f"; the user reminded {summary.reminders} times" if summary.reminders else ""
    why = f"Violated in {summary.violated} sessions and partly in {summary.partly}; obeyed {summary.obeyed}{reminded}."
    evidence = [Example(check.session, check.trace, check.finding.at_line) for check in checks][:_EXAMPLES]
    by = next((check.finding.by for check in checks if check.finding.by), "rules")
    action = Action(
        id_, ActionKind.ENFORCE, title, why, ActionCost(sessions=summary.violated + summary.partly), evidence,
        place=fix.patches[0].path if fix else summary.rule.file, diff=diff_of(fix), by=by,
    )  # fmt: skip
    # A reminder counts for two violations: it cost the user, not only the agent.
    return Proposed(action, fix, summary.violated + 0.5 * summary.partly + 2.0 * summary.reminders)


def _gate_fix(rule: Rule, checkout: Checkout, settings: Settings) -> Fix | None:
    """Return a gate, or a rules file for the files that the rule names; None if there is a form for neither."""
    id_ = action_id(ActionKind.ENFORCE, rule.key)
    if patches := _gate(rule, checkout, settings):
        return Fix(id_, f"Enforce {rule.file}:{rule.line}", patches, needs_person=True)
    rules_file = scoped(rule, checkout, settings)
    return Fix(id_, f"Say {rule.file}:{rule.line} where its files are", [rules_file]) if rules_file else None


# Gates


def _gate(rule: Rule, checkout: Checkout, settings: Settings) -> list[FilePatch]:
    """Return the change that makes git or the client run the required commands, or deny a forbidden program."""
    commands = [command for words in required_runs(rule) if (command := _command(words, checkout))]
    if commands and len(commands) == len(required_runs(rule)):  # a gate for a part of them would pass for the rule
        if _HUSKY in checkout.files:
            return _husky(commands, settings)
        return _settings_patch(settings, lambda known: _with_hook(known, " && ".join(commands)))
    denied = [words[0] for words in forbidden_commands(rule) if len(words) == 1 and words[0] in _DENIED]
    if denied:
        return _settings_patch(settings, lambda known: _with_denied(known, denied))
    return []


def _command(words: Sequence[str], checkout: Checkout) -> str:
    """Return the command that runs a script of the root's manifest; "" if no such manifest defines it.

    `words` are a program and its arguments: the first argument that names a script counts.
    """
    for name in words[1:]:
        for manifest, runner in _RUNNERS.items():
            if _SCRIPT.fullmatch(name) and name in checkout.scripts.get(manifest, {}):
                by_lock = (run for lock, run in _RUNNERS_BY_LOCK.items() if lock in checkout.files)
                return f"{next(by_lock, runner) if manifest == 'package.json' else runner} {name}"
    return ""


def _husky(commands: Sequence[str], settings: Settings) -> list[FilePatch]:
    """Return the change that adds the missing commands to Husky's hook before a commit."""
    before = read_below(settings.root, _HUSKY)
    lines = before.decode("utf-8", "replace").splitlines()
    new = [command for command in commands if command not in lines]
    after = before.rstrip(b"\n") + b"\n" + "".join(f"{command}\n" for command in new).encode()
    return [FilePatch(_HUSKY, before, after)] if new else []


def _settings_patch(settings: Settings, change: Callable[[dict[str, Any]], bool]) -> list[FilePatch]:
    """Return the change of Claude Code's project settings; nothing if they cannot be read or have it already."""
    before = read_below(settings.root, SETTINGS)
    try:
        client_settings = json.loads(before) if before.strip() else {}
    except ValueError:
        return []
    if not isinstance(client_settings, dict) or not change(client_settings):
        return []
    return [FilePatch(SETTINGS, before, (json.dumps(client_settings, indent=2, ensure_ascii=False) + "\n").encode())]


def _with_hook(client_settings: dict[str, Any], command: str) -> bool:
    """Add a hook that runs the command before a commit; False if it is there, or the settings have another form."""
    hooks = client_settings.setdefault("hooks", {})
    events = hooks.setdefault("PreToolUse", []) if isinstance(hooks, dict) else None
    if not isinstance(events, list):
        return False
    entry = {"type": "command", "command": _AT_COMMIT.format(command=command)}
    if any(entry in event.get("hooks", ()) for event in events if isinstance(event, dict)):
        return False
    events.append({"matcher": "Bash", "hooks": [entry]})
    return True


def _with_denied(client_settings: dict[str, Any], programs: Sequence[str]) -> bool:
    """Add the denial of programs; False if all are denied, or the settings have another form."""
    permissions = client_settings.setdefault("permissions", {})
    denied = permissions.setdefault("deny", []) if isinstance(permissions, dict) else None
    if not isinstance(denied, list):
        return False
    new = [f"Bash({program}:*)" for program in dict.fromkeys(programs) if f"Bash({program}:*)" not in denied]
    denied.extend(new)
    return bool(new)


RULES_FOLDER = ".claude/rules"
_EARLY_LINES = 40  # of a file: what is there is read first
_SHORTER_SHARE = 0.85  # of the old length, at most
_MOST_GLOBS = 4
_SPAN = re.compile(r"`([^`]+)`")
_ENDING = re.compile(r"(?:\*\*/)?\*?(\.[A-Za-z]\w{0,7})")
_BULLET = re.compile(r"\s*[-*+]\s+")
_NAME = re.compile(r"[A-Za-z0-9_@$.][\w./:@+=-]*")
_NEGATED = re.compile(r"\b(?:not?|never|without|avoid|don't|doesn't)\b|n't\b", re.IGNORECASE)


class Wording(msgspec.Struct, frozen=True):
    """The model's answer about one rule."""

    text: str


def code_spans(text: str) -> set[str]:
    """Return what a text has between backticks."""
    return set(_SPAN.findall(text))


# A rules file of its own


def scoped(rule: Rule, checkout: Checkout, settings: Settings) -> FilePatch | None:
    """Return a rules file that Claude Code loads with the files that a rule of CLAUDE.md names; None without such."""
    if rule.file != "CLAUDE.md":
        return None
    globs = [glob for span in _SPAN.findall(rule.text) if (glob := _glob(span, checkout))]
    if not globs or len(globs) > _MOST_GLOBS:
        return None
    name = re.sub(r"\W+", "-", globs[0].replace("**", "")).strip("-").lower() or "files"
    path = f"{RULES_FOLDER}/{name}.md"
    if read_below(settings.root, path):
        return None  # the name is taken
    listed = "".join(f'  - "{glob}"\n' for glob in dict.fromkeys(globs))
    return FilePatch(path, b"", f"---\npaths:\n{listed}---\n\n{_as_bullet(rule.text)}\n".encode())


def _glob(span: str, checkout: Checkout) -> str:
    """Return the pattern of the files in a folder or of a file type of the tree; "" for anything else."""
    folder = span.removeprefix("./").removesuffix("**").strip("/")
    if "/" in span and any(path.startswith(f"{folder}/") for path in checkout.files) and '"' not in folder:
        return f"{folder}/**"
    ending = _ENDING.fullmatch(span)
    return f"**/*{ending[1]}" if ending and any(path.endswith(ending[1]) for path in checkout.files) else ""


# Shorter and earlier


def shorter(rules: Sequence[Rule], settings: Settings) -> dict[str, str]:
    """Return a model's shorter wording of rules, by their key; nothing without a model, or where it is another rule."""
    asker = asker_for(settings, judge_for(settings, ModelTask.RULES)) if rules else None
    if asker is None:
        return {}
    lines = [_BULLET.sub("", " ".join(rule.text.split()), count=1) for rule in rules]
    inputs = [{"heading": rule.heading, "rule": line} for rule, line in zip(rules, lines, strict=True)]
    # An empty text: the model finds no shorter form of the same rule.
    checks = [lambda answer, line=line: problem_of(line, answer.text) if answer.text else "" for line in lines]
    answers = asker.ask(load_prompt("wording"), inputs, Wording, checks)
    return {
        rule.key: answer.value.text.strip()
        for rule, answer in zip(rules, answers, strict=True)
        if answer.value is not None and answer.value.text.strip()
    }


def problem_of(old: str, new: str) -> str:
    """Return why a wording is not the same rule in fewer words; "" if it is."""
    if clean_line(new) != new or new.lstrip("-*+# ") != new:
        return "it is not one plain line"
    if len(new) > _SHORTER_SHARE * len(old):
        return "it is not clearly shorter"
    before, after = _names(old), _names(new)
    if missing := sorted(before - after):
        return f"it does not name {missing[0]}"
    if added := sorted(after - before):
        return f"the rule does not name {added[0]}"
    if bool(_NEGATED.search(old)) != bool(_NEGATED.search(new)):
        return "only one of the two forbids something"
    return ""


def _names(text: str) -> set[str]:
    """Return what is named: code, and words that no prose has (paths, commands, identifiers, versions)."""
    words = (word.rstrip(".:") for word in _NAME.findall(_SPAN.sub(" ", text)))
    named = {word for word in words if re.search(r"[\w)][/._:@=][\w(]|[a-z][A-Z]|\d", word) or word[:1] in "@$."}
    return {word for word in named if len(word) > 1} | code_spans(text)


def earlier(rule: Rule, text: str, settings: Settings) -> FilePatch | None:
    """Return the rule at the beginning of its file, in these words if there are any; None if nothing would change."""
    before = read_below(settings.root, rule.file)
    lines = before.decode("utf-8", "replace").split("\n")
    index = rule.line - 1
    if index >= len(lines) or " ".join(lines[index].split()) != " ".join(rule.text.split()):
        return None
    if index < _EARLY_LINES:
        if not text:
            return None  # early enough, and no shorter words
        bullet = _BULLET.match(lines[index])
        after = [*lines[:index], f"{bullet[0] if bullet else ''}{text}", *lines[index + 1 :]]
    else:
        first = _after_title(lines)
        rest = [*lines[:index], *lines[index + 1 :]]
        after = [*rest[:first], _as_bullet(text or lines[index]), "", *rest[first:]]
    return FilePatch(rule.file, before, "\n".join(after).encode())


def _as_bullet(line: str) -> str:
    return line.lstrip() if _BULLET.match(line) else f"- {line.strip()}"


def _after_title(lines: Sequence[str]) -> int:
    """Return the place after the first heading and the empty lines below it."""
    index = next((number for number, line in enumerate(lines, 1) if line.startswith("#")), 0)
    while index < len(lines) and not lines[index].strip():
        index += 1
    return index
