"""Rules of linters and hooks that sessions broke again and again, the repository's name, and indentation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator

from knowbound.core.lesson import CheckKind, LessonEvidence, LessonKind, TreeCheck
from knowbound.lessons.diagnostics import LINTERS
from knowbound.lessons.material import BrokenRule, Material
from knowbound.lessons.proposals.proposal import SEVERAL, Corpus, LessonProposal, code
from knowbound.lessons.tree import Tree

_SHOWN = 5  # rules in one line
_LONGEST = 300  # characters of them
_EDITS = 3  # sessions in which edits missed the text of a file
_OFF = ("false", "off", "disable", "[0", ": 0", "ignore")


def broken_rules(corpus: Corpus) -> Iterator[LessonProposal]:
    """One lesson for each linter: what it rejects most often."""
    by_tool: dict[str, list[tuple[Material, BrokenRule]]] = defaultdict(list)
    for material in corpus.materials:
        for rule in material.rules:
            by_tool[rule.tool].append((material, rule))
    for tool, seen in by_tool.items():
        config = _config(tool, corpus.tree)
        if corpus.tree is not None and config is None:
            continue
        codes = _most_broken(seen, corpus.tree, config or "")
        if not codes:
            continue
        shown = [one for one in seen if one[1].code in codes]
        command = Counter(rule.command for _, rule in shown).most_common(1)[0][0]
        messages = _within(f"{_lowered(_message(shown, code_))} ({code_})" for code_ in codes)
        checks = (TreeCheck(CheckKind.FILE, config),) if config else ()
        yield LessonProposal(
            LessonKind.COMMAND,
            f"rules {tool}",
            f"{code(command)} runs {tool}, which rejects most often: {messages}.",
            tuple(LessonEvidence(material.session, rule.line, material.file) for material, rule in shown),
            len({(material.session, rule.line) for material, rule in shown}),
            tuple(f"rule:{tool}:{code_}" for code_ in sorted(codes)),
            checks,
            unverified="" if config else f"whether {tool} is configured so",
        )


def _within(messages: Iterable[str]) -> str:
    """As many messages as a line has room for."""
    shown: list[str] = []
    for message in messages:
        if sum(map(len, shown)) + len(message) < _LONGEST:
            shown.append(message)
    return "; ".join(shown)


def _most_broken(seen: list[tuple[Material, BrokenRule]], tree: Tree | None, config: str) -> list[str]:
    """The rules that several sessions broke, and that the config does not switch off; beside them none that one did."""
    sessions: dict[str, set[str]] = defaultdict(set)
    for material, rule in seen:
        sessions[rule.code].add(material.session)
    several = [one for one in sessions if len(sessions[one]) >= SEVERAL and not _is_off(one, tree, config)]
    return sorted(several, key=lambda one: (-len(sessions[one]), one))[:_SHOWN]


def _is_off(rule: str, tree: Tree | None, config: str) -> bool:
    found = tree.line_with(config, rule) if tree is not None and config else None
    if found is None:
        return False
    assert tree is not None
    line = tree.text(config).splitlines()[found.line - 1].lower()
    return any(word in line for word in _OFF)


def _config(tool: str, tree: Tree | None) -> str | None:
    return next((name for name in LINTERS[tool].configs if tree is not None and tree.has(name)), None)


def _message(seen: list[tuple[Material, BrokenRule]], code_: str) -> str:
    """The words of a rule that are most often the same; of those the shortest."""
    counts = Counter(rule.message for _, rule in seen if rule.code == code_)
    return max(counts, key=lambda one: (counts[one], -len(one), one))


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def repository(corpus: Corpus) -> Iterator[LessonProposal]:
    """The owner and name for `gh`, where sessions guessed them."""
    right = Counter[str]()
    for material in corpus.materials:
        right.update(material.repositories.keys())
    wrong = {slug for material in corpus.materials for slug, _ in material.wrong_repositories}
    known = [slug for slug, count in right.most_common() if slug not in wrong and count >= SEVERAL]
    seen = [
        LessonEvidence(material.session, line, material.file)
        for material in corpus.materials
        for _, line in material.wrong_repositories
    ]
    if not known or len({one.session for one in seen}) < SEVERAL:
        return
    yield LessonProposal(
        LessonKind.COMMAND,
        "repository",
        f"The GitHub repository is {code(known[0])}: use this owner and name in {code('gh')} commands, do not guess "
        f"them.",
        tuple(seen),
        len(seen),
        ("repository",),
        (TreeCheck(CheckKind.TEXT, text=f"github.com/{known[0]}"),),
    )


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
