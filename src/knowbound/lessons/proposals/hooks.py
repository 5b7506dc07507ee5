"""Hooks that refuse commits, and indentation."""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.core.lesson import CheckKind, LessonEvidence, LessonKind, TreeCheck
from knowbound.lessons.proposals.proposal import Corpus, LessonProposal, code, listed
from knowbound.lessons.tree import Tree

_COMMITS = 3  # sessions whose commits a hook refused
_HOOK_FILES = (".husky/pre-commit", "lefthook.yml", ".lefthook.yml", ".pre-commit-config.yaml", ".githooks/pre-commit")
_MOST_COMMANDS = 4
_NO_COMMANDS = ("#", ". ", "set ", "exit", "if ", "fi", "echo", "export", "then", "else")
_EDITS = 3  # sessions in which edits missed the text of a file


def refused_commits(corpus: Corpus) -> Iterator[LessonProposal]:
    """What the hook of `git commit` runs, where it kept refusing commits and no instructions say so."""
    seen = [
        LessonEvidence(material.session, line, material.file)
        for material in corpus.materials
        for _, line in material.refused_commits
    ]
    tree = corpus.tree
    if tree is None or len({one.session for one in seen}) < _COMMITS:
        return
    path = next((path for path in _HOOK_FILES if path in tree.files), "")
    commands = _commands(tree, path)
    if not commands or any(tree.line_with(name, "pre-commit") for name in ("CLAUDE.md", "AGENTS.md")):
        return
    yield LessonProposal(
        LessonKind.COMMAND,
        "hook pre-commit",
        f"{code('git commit')} runs {listed(map(code, commands))} ({code(path)}) and is refused when one of them "
        f"fails: run them before you commit.",
        tuple(seen),
        len(seen),
        ("refused",),
        tuple(TreeCheck(CheckKind.TEXT, path, command) for command in commands),
    )


def _commands(tree: Tree, path: str) -> list[str]:
    """The commands of a hook that is a plain list of them."""
    if not path or not path.endswith("pre-commit"):
        return []
    lines = [line.strip() for line in tree.text(path).splitlines() if line.strip()]
    commands = [
        part.strip() for line in lines if not line.startswith(_NO_COMMANDS) for part in line.split("&&") if part.strip()
    ]
    is_plain = 0 < len(commands) <= _MOST_COMMANDS and not any(set("$;|{`") & set(one) for one in commands)
    return commands if is_plain else []


def indentation(corpus: Corpus) -> Iterator[LessonProposal]:
    """Sources that are indented with tabs, where edits kept missing their text."""
    seen = [
        LessonEvidence(material.session, line, material.file)
        for material in corpus.materials
        for line in material.missed_edits
    ]
    if len({one.session for one in seen}) < _EDITS or (corpus.tree is not None and not corpus.tree.uses_tabs):
        return
    config, text = _indent_config(corpus.tree)
    if corpus.tree is not None and not config and any(name.endswith(".go") for name in corpus.tree.files):
        return  # everybody knows that of Go
    checks = (TreeCheck(CheckKind.TABS), *((TreeCheck(CheckKind.TEXT, config, text),) if config else ()))
    named = f" ({code(config)})" if config else ""
    yield LessonProposal(
        LessonKind.COMMAND,
        "tabs",
        f"Sources are indented with tabs{named}: an edit whose text has other whitespace is not found, so copy the "
        f"lines exactly as they were read.",
        tuple(seen),
        len(seen),
        ("edit",),
        checks if corpus.tree is not None else (),
        unverified="" if corpus.tree is not None else "how the sources are indented",
    )


_TAB_SETTINGS = (
    ("biome.json", '"indentStyle": "tab"'), (".editorconfig", "indent_style = tab"), (".prettierrc", '"useTabs": true'),
    (".prettierrc.json", '"useTabs": true'), ("biome.jsonc", '"indentStyle": "tab"'),
)  # fmt: skip


def _indent_config(tree: Tree | None) -> tuple[str, str]:
    if tree is None:
        return "", ""
    return next(((path, text) for path, text in _TAB_SETTINGS if tree.line_with(path, text)), ("", ""))
