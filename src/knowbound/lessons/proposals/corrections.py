"""What sessions had to be corrected in: files that users asked for, and tabs that edits missed."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from knowbound.core.lesson import CheckKind, LessonEvidence, LessonKind, TreeCheck
from knowbound.lessons.material import Material, UserText
from knowbound.lessons.proposals.proposal import Corpus, LessonProposal, code
from knowbound.lessons.tree import Tree

_AGAIN = 3  # sessions in which a request, or an edit that misses the text of a file, is no accident
_UPDATES = re.compile(r"\b(?:update|add (?:it |this |that )?to|amend|adjust)\b[^.!?\n]{0,40}", re.IGNORECASE)
_COMMIT = re.compile(r"\bcom+it", re.IGNORECASE)
_DOCUMENTS = (".md", ".rst", ".txt", ".json", ".toml", ".yaml", ".yml")


def corrections(corpus: Corpus) -> Iterator[LessonProposal]:
    """A file of the tree that users had to ask for: the changelog, the docs page."""
    tree = corpus.tree
    if tree is None:
        return
    tops = {
        path.partition(".")[0].lower(): path for path in tree.files if "/" not in path and path.endswith(_DOCUMENTS)
    }
    asked: dict[str, list[tuple[Material, UserText]]] = defaultdict(list)
    for material in corpus.materials:
        for said in material.said:
            for found in _UPDATES.findall(said.text):
                for word in re.findall(r"@?([A-Za-z][\w-]*)(?:\.\w+)?", found.partition(" ")[2]):
                    if word.lower() in tops and len(said.text) < 140:
                        asked[tops[word.lower()]].append((material, said))
    for path, seen in asked.items():
        if len({material.session for material, _ in seen}) < _AGAIN:
            continue
        commits = sum(bool(_COMMIT.search(said.text)) for _, said in seen)
        when = "before you commit a change that belongs in it" if 2 * commits >= len(seen) else "along with the change"
        yield LessonProposal(
            LessonKind.CORRECTION,
            f"update {path}",
            f"Update {code(path)} {when}, without being asked: users had to say so.",
            tuple(LessonEvidence(material.session, said.line, material.file) for material, said in seen),
            len(seen),
            (f"said:update {path}",),
            (TreeCheck(CheckKind.FILE, path),),
            path,
            unverified="that users want it so was said in sessions; no tree can show it",
        )


def indentation(corpus: Corpus) -> Iterator[LessonProposal]:
    """Sources that are indented with tabs, where edits kept missing their text."""
    seen = [
        LessonEvidence(material.session, line, material.file)
        for material in corpus.materials
        for line in material.missed_edits
    ]
    if len({one.session for one in seen}) < _AGAIN or (corpus.tree is not None and not corpus.tree.uses_tabs):
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
