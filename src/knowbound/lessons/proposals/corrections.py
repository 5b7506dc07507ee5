"""Files that users had to ask for in several sessions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from knowbound.core.lesson import CheckKind, LessonEvidence, LessonKind, TreeCheck
from knowbound.lessons.material import Material, UserText
from knowbound.lessons.proposals.proposal import Corpus, LessonProposal, code

_AGAIN = 3  # sessions in which a request is no accident
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
