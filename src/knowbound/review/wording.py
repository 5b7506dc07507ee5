"""Other words or another place for a rule that agents ignore: a rules file for its folder, or a shorter line, earlier.

A model proposes the shorter line. It counts only if it is the same rule by its names: nothing that the rule names is
missing, nothing new is named, and it is clearly shorter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from knowbound.codebase.checkout import Checkout
from knowbound.config import Settings
from knowbound.core.statement import Rule
from knowbound.judge.choice import ModelTask, judge_for
from knowbound.judge.prompts import WORDING, load_prompt
from knowbound.judge.registry import asker_for
from knowbound.lessons.proposing import clean_line
from knowbound.patching import FilePatch, read_below

RULES_FOLDER = ".claude/rules"
_EARLY_LINES = 40  # of a file: what is there is read first
_SHORTER = 0.85  # of the old length, at most
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
        return None
    listed = "".join(f'  - "{glob}"\n' for glob in dict.fromkeys(globs))
    return FilePatch(path, b"", f"---\npaths:\n{listed}---\n\n{_as_bullet(rule.text)}\n".encode())


def _glob(span: str, checkout: Checkout) -> str:
    """Return the pattern of the files that a folder or a file type of the tree stands for; "" for anything else."""
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
    checks = [lambda answer, line=line: problem_of(line, answer.text) if answer.text else "" for line in lines]
    answers = asker.ask(load_prompt(WORDING), inputs, Wording, checks)
    return {
        rule.key: answer.value.text.strip()
        for rule, answer in zip(rules, answers, strict=True)
        if answer.value is not None and answer.value.text.strip()
    }


def problem_of(old: str, new: str) -> str:
    """Return why a wording is not the same rule in fewer words; "" if it is."""
    if clean_line(new) != new or new.lstrip("-*+# ") != new:
        return "it is not one plain line"
    if len(new) > _SHORTER * len(old):
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
    at = rule.line - 1
    if at >= len(lines) or " ".join(lines[at].split()) != " ".join(rule.text.split()):
        return None
    if at < _EARLY_LINES:
        if not text:
            return None
        bullet = _BULLET.match(lines[at])
        after = [*lines[:at], f"{bullet[0] if bullet else ''}{text}", *lines[at + 1 :]]
    else:
        first = _after_title(lines)
        rest = [*lines[:at], *lines[at + 1 :]]
        after = [*rest[:first], _as_bullet(text or lines[at]), "", *rest[first:]]
    return FilePatch(rule.file, before, "\n".join(after).encode())


def _as_bullet(line: str) -> str:
    return line.lstrip() if _BULLET.match(line) else f"- {line.strip()}"


def _after_title(lines: Sequence[str]) -> int:
    """Return the place after the first heading and the empty lines below it."""
    at = next((at for at, line in enumerate(lines) if line.startswith("#")), -1) + 1
    while at < len(lines) and not lines[at].strip():
        at += 1
    return at
