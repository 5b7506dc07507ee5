"""`find`: files by name: exact, partial, by token; aware of the folders they are in."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.core.paths import source_rank
from knowbound.evidence.plan import Focus, Term, TermKind
from knowbound.evidence.producers.protocol import SEARCH, Ask, Context, Producer
from knowbound.text.terms import canonical, canonical_words, glued, split_words

_OWN_FILES = frozenset("index __init__ mod main lib init".split())  # of a folder, by which they are named


class Find(Producer):
    """File names against the term."""

    name = "find"
    cls = EvidenceClass.FILE_SEARCH
    independent_of = SEARCH

    def can(self, ask: Ask) -> int:
        """The tool for file names; second for phrases, which files are often named after."""
        if ask.term is None or (ask.term.focus is Focus.USES and ask.term.kind is not TermKind.FILE):
            return 0
        if ask.term.within and ask.term.kind is not TermKind.FILE:
            return 0
        return {TermKind.FILE: 9, TermKind.PHRASE: 7, TermKind.WORD: 7, TermKind.IDENTIFIER: 7}.get(ask.term.kind, 0)

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Exact name strong, partial moderate, token weak (part IV, "For find")."""
        term = ask.term
        assert term is not None
        files = context.tree.files
        is_file = term.kind is TermKind.FILE
        if exact := _places(files_named(files, term.text) if is_file else _named_like_phrase(files, term)):
            # A file name proves nothing about content: a file that is only called like the term is a candidate.
            quality = Quality.STRONG if is_file else Quality.MODERATE
            return ask.evidence(self.name, quality, exact, exact=len(exact), note="exact file name")
        if partial := _named_in_part(files, term):
            return ask.evidence(self.name, Quality.MODERATE, _places(partial), note="part of a file name")
        wanted = {canonical(word) for word in term.words if len(word) > 2}
        if sharing_word := [path for path in files if wanted & set(canonical_words(_stem(path)))]:
            note = "only single words of it in file names"
            return ask.evidence(self.name, Quality.WEAK, _places(sharing_word), note=note)
        return ask.nothing(self.name, "no such file")


def files_named(files: Iterable[str], name: str) -> list[str]:
    """The files (or the files of a folder) that a name or path means: the end of the path, whole parts."""
    wanted = name.strip().removeprefix("./").strip("/").lower()
    if not wanted:
        return []
    found = [path for path in files if ("/" + path.lower()).endswith("/" + wanted)]
    if not found and "/" in name:
        found = [path for path in files if f"/{wanted}/" in f"/{path.lower()}"]
    return _ranked(found)


def _named_like_phrase(files: Iterable[str], term: Term) -> list[str]:
    """Files whose name, or folder and name together, is exactly the phrase in some spelling."""
    keys = {glued(canonical(word) for word in term.words), glued(term.words)}
    return _ranked(path for path in files if keys & _names_of(path))


@lru_cache(maxsize=100_000)
def _names_of(path: str) -> frozenset[str]:
    """Return the glued names of a file: its stem, its folder and stem, or the folder whose own file it is."""
    parts = path.split("/")
    stem = _stem(path)
    names = [stem]
    if len(parts) > 1:
        names = [parts[-2]] if stem in _OWN_FILES else [stem, f"{parts[-2]} {stem}"]
    return frozenset(glued(form) for name in names for form in (canonical_words(name), split_words(name)))


def _named_in_part(files: Iterable[str], term: Term) -> list[str]:
    """Return the files whose name or path contains the term; nothing for a short term, which many names contain."""
    text = glued(term.words) if term.kind is not TermKind.FILE else _stem(term.text).lower()
    if len(text) < 4:
        return []
    return _ranked(
        path for path in files if text in glued(split_words(path.rpartition("/")[2])) or text in path.lower()
    )


def _stem(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.lstrip(".").partition(".")[0] or name


def _ranked(paths: Iterable[str]) -> list[str]:
    return sorted(paths, key=lambda path: (source_rank(path), path.count("/"), path))


def _places(paths: Iterable[str]) -> list[Place]:
    return [Place(path, 0, path.rpartition("/")[2]) for path in paths]
