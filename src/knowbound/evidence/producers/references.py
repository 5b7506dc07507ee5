"""`references`: the definitions and uses of a symbol, each resolved in the syntax tree of its file."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from knowbound.codebase.definitions import Definition, has_owner_definition
from knowbound.codebase.languages import NameRole, has_grammar, imported_from, occurrences
from knowbound.codebase.tree import SourceTree, TextMatch
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.core.paths import source_rank
from knowbound.evidence.plan import Focus, Term, TermKind
from knowbound.evidence.producers.grep import files_named
from knowbound.evidence.producers.protocol import MOST_LINES, SEARCH, Ask, Context, Producer
from knowbound.text.printable import counted
from knowbound.text.terms import glued, split_words

PARSED_FOR_USES, _PARSED_FOR_DEFINITION = 40, 3  # files resolved by their syntax tree; further files count as text
DECLARATIONS = frozenset(
    "class function struct interface enum trait type method variable module union macro const static var generator "
    "abstract mod constructor record namespace preproc alias concept internal".split()
)
_TYPES = frozenset("class struct interface enum trait type union abstract record".split())
_NO_SYMBOL = "no such symbol"
_SPELLINGS, _LONG_NAME = 3, 10  # spellings tried for a typing error; characters: a shorter name is near to many
_MANY_REFERENCES = 5  # part IV, "For references": more are Strong


@dataclass(slots=True)
class UsesInFile:
    """Definitions and uses of a symbol in one file."""

    path: str
    definitions: list[tuple[int, str, str]] = field(default_factory=list)  # line, name, kind
    calls: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    imports: list[int] = field(default_factory=list)
    text: list[int] = field(default_factory=list)

    @property
    def declared(self) -> list[tuple[int, str, str]]:
        """The definitions that are more than a field or a parameter."""
        return [definition for definition in self.definitions if definition[2] in DECLARATIONS]

    @property
    def types(self) -> list[tuple[int, str, str]]:
        """The definitions of types."""
        return [definition for definition in self.definitions if definition[2] in _TYPES]


class References(Producer):
    """Definitions and uses by ast-grep."""

    name = "references"
    cls = EvidenceClass.FILE_SEARCH
    independent_of = SEARCH

    def can(self, ask: Ask) -> int:
        """Rate this producer: best for names, good for phrases that a definition may spell."""
        if ask.term is None:
            return 0
        return {TermKind.IDENTIFIER: 9, TermKind.PHRASE: 9, TermKind.WORD: 8}.get(ask.term.kind, 0)

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Resolve the term to names, and the names to places."""
        term, tree = ask.term, context.tree
        assert term is not None
        definitions, read_as = definitions_of(term, tree)
        names = list(dict.fromkeys(definition.name for definition in definitions))
        within = set(files_named(tree.files, term.within)) if term.within else None
        if not names and term.kind is TermKind.IDENTIFIER:  # defined elsewhere, it may be used here
            names = [_last_part(term.text)]
        if not names:
            return ask.nothing(self.name, _NO_SYMBOL)
        hits: list[TextMatch] = []
        limited = ""
        if term.kind is TermKind.IDENTIFIER or term.focus is not Focus.DEFINITION:  # else definitions are enough
            pattern = "|".join(rf"\b{re.escape(name)}\b" for name in sorted(names))
            hits, limited = tree.matches([pattern], ignore_case=False)
        if not hits and not definitions:
            return ask.nothing(self.name, _NO_SYMBOL)
        most_parsed = _PARSED_FOR_DEFINITION + len(definitions) if term.focus is Focus.DEFINITION else PARSED_FOR_USES
        found = _resolve(names, definitions, hits, tree, min(most_parsed, PARSED_FOR_USES))
        found = [file for file in found if within is None or file.path in within]
        found = [file for file in found if _fits_container(file, term, tree)]
        return _grade(self.name, ask, term, names, found, read_as, limited, tree)


def definitions_of(term: Term, tree: SourceTree) -> tuple[list[Definition], str]:
    """Return the definitions that the term may mean; and the name that it was read as, if it is spelled otherwise."""
    if term.kind is TermKind.IDENTIFIER:
        name = _last_part(term.text)
        return (tree.defined(name), "") if term.is_proposed else _resolve_identifier(name, tree)
    # In a folder of knowledge headings are the symbols; beside code they are text like any other.
    exact = [definition for definition in tree.named(term.words) if definition.kind != "heading" or tree.is_knowledge]
    if exact or term.kind is TermKind.WORD or term.is_proposed:  # nobody mistypes what is only proposed
        return [definition for definition in exact if not definition.name.startswith("_")] or exact, ""
    for spelling in term.spellings[:_SPELLINGS]:
        meant = tree.mistyped(spelling) if len(spelling) >= _LONG_NAME else None
        if meant:
            return tree.defined(meant), meant
    return [], ""


def _last_part(name: str) -> str:
    """`Owner.member` → `member`."""
    return re.split(r"\.|::|->|#", name)[-1]


def _resolve_identifier(name: str, tree: SourceTree) -> tuple[list[Definition], str]:
    """Resolve a name: exactly, else in another case, else (if it is written nowhere) a name one letter away."""
    exact = tree.defined(name)
    if exact:
        return exact, ""
    is_file = any(path.rpartition("/")[2].partition(".")[0] == name for path in tree.files)  # the file is meant
    if tree.with_name(name):
        return [], ""  # written like this: no typing error
    other_case = tree.defined_in_another_case(name) if len(name) > 3 and not is_file else []
    if other_case:
        return other_case, other_case[0].name
    meant = tree.mistyped(name)
    return (tree.defined(meant), meant) if meant else ([], "")


def _spelling_note(term: Term, read_as: str) -> str:
    """Return the note about a name that was read as another name."""
    asked = _last_part(term.text) if term.kind is TermKind.IDENTIFIER else term.text
    if not read_as or asked.lower() == read_as.lower():
        return f"{asked!r} is written {read_as!r} here." if read_as else ""
    missing = "is not defined here" if term.kind is TermKind.IDENTIFIER else "is not there"
    return f"{asked!r} {missing}; read as {read_as!r} (one letter differs)."


def _resolve(
    names: list[str], definitions: list[Definition], hits: list[TextMatch], tree: SourceTree, most_parsed: int
) -> list[UsesInFile]:
    """Return every file that has one of the names, with the role of each place."""
    lines: dict[str, dict[int, str]] = defaultdict(dict)  # by path and number, those with a name
    for hit in hits:
        lines[hit.path][hit.line] = hit.text
    by_path: dict[str, list[Definition]] = defaultdict(list)
    for definition in definitions:
        by_path[definition.path].append(definition)
        lines.setdefault(definition.path, {})
    paths = sorted(lines, key=lambda path: (path not in by_path, source_rank(path), -len(lines[path]), path))
    found = []
    for number, path in enumerate(paths):
        file = UsesInFile(path)
        text = tree.text(path) if number < most_parsed and tree.seconds_left > 0 else None
        resolved_lines: set[int] = set()
        if text is not None and has_grammar(path):
            for name in names:
                for place in occurrences(text, path, name) if name in text else ():
                    resolved_lines.add(place.line)
                    if place.role is NameRole.DEFINITION:
                        file.definitions.append((place.line, name, place.kind))
                    else:
                        by_role = {NameRole.CALL: file.calls, NameRole.IMPORT: file.imports}
                        by_role.get(place.role, file.uses).append(place.line)
        else:
            for definition in by_path.get(path, ()):
                file.definitions.append((definition.line, definition.name, definition.kind))
                resolved_lines.add(definition.line)
        for line, content in lines[path].items():
            if line not in resolved_lines:
                is_key = any(f"{sign}{name}{sign}" in content for name in names for sign in "\"'`")
                (file.uses if is_key and source_rank(path) < 2 else file.text).append(line)
        if file.definitions or file.calls or file.uses or file.imports or file.text:
            found.append(file)
    return found


def _fits_container(file: UsesInFile, term: Term, tree: SourceTree) -> bool:
    """Report whether a file defines the owner of a member, is named like it, or writes the two together."""
    parts = re.split(r"\.|::|->|#", term.text) if term.kind is TermKind.IDENTIFIER else []
    if len(parts) < 2 or parts[-2] in ("self", "this", "cls"):
        return True  # it names no owner
    owner = parts[-2]
    if owner in re.split(r"[/.]", file.path):
        return True
    text = tree.text(file.path) or ""
    if term.text in text:
        return True
    prototype = rf"\b{re.escape(owner)}\.prototype\.{re.escape(parts[-1])}\b"
    return has_owner_definition(text, owner) or re.search(prototype, text) is not None


def _grade(
    tool: str,
    ask: Ask,
    term: Term,
    names: list[str],
    found: list[UsesInFile],
    read_as: str,
    limited: str,
    tree: SourceTree,
) -> Evidence:
    """Return the evidence: quality by what the places are, strength by how many there are (part IV, phase 4)."""
    definitions = sum(len(file.definitions) for file in found)
    uses = sum(len(file.calls) + len(file.uses) + len(file.imports) for file in found)
    count = definitions + uses + sum(len(file.text) for file in found)
    if not count:
        return ask.evidence(tool, Quality.NONE, note=_NO_SYMBOL)
    quality, why = _what_places_prove(term, names[0], found, tree)
    spelling = _spelling_note(term, read_as)
    is_same = glued(split_words(_last_part(term.text))) == glued(split_words(read_as))  # but for case and signs
    if spelling and quality is Quality.STRONG and not is_same:
        quality = Quality.MODERATE
    note = " ".join(filter(None, (spelling, limited)))
    return ask.evidence(
        tool,
        quality,
        list(_places(found, term.focus, names[0])),
        count=count,
        exact=count,
        note=f"{why}. {note}".strip() if note else why,
        query=" ".join(names),
        read_as=read_as,
    )


def _what_places_prove(term: Term, name: str, found: list[UsesInFile], tree: SourceTree) -> tuple[Quality, str]:
    """Return the level of resolved places, and why: a definition is Strong, uses only if they are more than five."""
    definitions = [place for file in found for place in file.definitions]
    calls = sum(len(file.calls) + len(file.uses) for file in found)
    imports = [(file.path, line) for file in found for line in file.imports]
    if term.focus is Focus.USES:
        uses = calls + len(imports)
        counts = f"{counted(calls, 'use')}, {counted(len(imports), 'import')}"
        if not uses:
            return Quality.MODERATE, "defined here, but no use of it was found" if definitions else "named in text only"
        return (Quality.STRONG if uses > _MANY_REFERENCES else Quality.MODERATE), counts
    declared = [place for file in found for place in file.declared]
    if term.focus is Focus.DEFINITION and not declared and (imports or (term.asks_definition and not definitions)):
        return Quality.MODERATE, _import_note(name, imports, tree)
    if not definitions and not calls and not imports:
        return Quality.MODERATE, "named in text, neither defined nor used"
    if term.asks_definition and not declared:
        return Quality.MODERATE, "only a parameter, an attribute or a key is called so"
    if term.kind is TermKind.PHRASE and all(source_rank(file.path) == 3 for file in found):
        return Quality.MODERATE, "exact symbol, but only in tests"
    counts = f"{counted(len(definitions), 'definition')}, {counted(calls + len(imports), 'use')}"
    return Quality.STRONG, f"exact symbol, {counts}"


def _import_note(name: str, imports: list[tuple[str, int]], tree: SourceTree) -> str:
    """Return the note about a name that this tree imports and does not define."""
    for path, line in sorted(imports, key=lambda found_import: (source_rank(found_import[0]), found_import)):
        source = imported_from(tree.text(path) or "", line, name)
        if source:
            return f"{name} is not defined in this tree: it comes from {source} (imported in {path}:{line})"
    return f"{name} is used here, and not defined in this tree"


def _places(found: list[UsesInFile], focus: Focus, name: str) -> Iterable[Place]:
    """Yield the places in the order in which the question wants them."""
    for file in sorted(found, key=lambda file: file_order(file, focus)):
        if focus is Focus.DEFINITION:
            lines = [(line, symbol) for line, symbol, _ in (file.declared or file.definitions)]
            lines += [(line, name) for line in (file.calls or file.uses or file.imports or file.text)[:3]]
        else:
            lines = [(line, name) for line in (*file.calls, *file.uses, *file.imports, *file.text)]
            lines += [(line, symbol) for line, symbol, _ in file.definitions]
        for line, symbol in lines[:MOST_LINES]:
            yield Place(file.path, line, symbol)


def file_order(file: UsesInFile, focus: Focus) -> tuple[object, ...]:
    """Return the sort key of a file in the order in which the question wants them: the smallest first."""
    rank_of_source = source_rank(file.path)
    if focus is Focus.DEFINITION:
        # A phrase is more often the name of a type than of what returns or holds one.
        is_private = all(name.startswith("_") for _, name, _ in file.definitions)
        return (
            not file.declared,
            rank_of_source,
            not file.types,
            is_private,
            not file.definitions,
            -len(file.calls) - len(file.uses),
            file.path,
        )
    active = len(file.calls) + len(file.uses)
    if focus is Focus.USES:
        # Users of a name before the file that declares it, importers and mentions last.
        rank_of_uses = 0 if active and not file.declared else 1 if active else 2 if file.imports else 3
        return (rank_of_source, rank_of_uses, -len(file.calls), -active, file.path)
    return (rank_of_source, -(active + len(file.definitions)), file.path)
