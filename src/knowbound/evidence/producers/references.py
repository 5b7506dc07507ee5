"""`references`: the definitions and uses of a symbol, each resolved in the syntax tree of its file."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from knowbound.codebase.languages import NameRole, occurrences, supports
from knowbound.codebase.ripgrep import TextMatch, matches
from knowbound.codebase.symbols import Definition, Symbols, symbols_of
from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality
from knowbound.core.paths import source_rank
from knowbound.evidence.producers.find import files_named
from knowbound.evidence.producers.protocol import SEARCH, Ask, Context
from knowbound.evidence.question.terms import Focus, Term, TermKind
from knowbound.files import read_text

PARSED_FOR_USES, _PARSED_FOR_DEFINITION = 40, 3  # files resolved by their syntax tree; the others count as text
REAL = frozenset(
    "class function struct interface enum trait type method variable module union macro const static var generator "
    "abstract mod constructor record namespace preproc alias concept internal".split()
)
_TYPES = frozenset("class struct interface enum trait type union abstract record".split())
_KIND_OF_NOUN = {
    "class": ("class", "struct", "interface", "abstract", "type", "record"),
    "struct": ("struct", "class", "type"),
    "interface": ("interface", "class", "trait"),
    "function": ("function", "method", "declaration"),
    "method": ("function", "method", "declaration"),
    "helper": ("function", "class", "method"),
    "decorator": ("function", "class"),
    "exception": ("class",),
    "command": ("function", "class"),
    "variable": ("variable", "const", "static", "var"),
    "constant": ("variable", "const", "static", "macro"),
    "type": ("class", "type", "struct", "interface", "enum"),
    "enum": ("enum", "class"),
    "trait": ("trait",),
    "macro": ("macro", "preproc"),
}
_NO_SYMBOL = "no such symbol"
_ASKS_FOR_DEFINITION = re.compile(r"\b(?:defin\w+|declar\w+|implement\w+)\b", re.IGNORECASE)


@dataclass(slots=True)
class InFile:
    """What one file says of the symbol."""

    path: str
    definitions: list[tuple[int, str, str]] = field(default_factory=list)  # line, name, kind
    calls: list[int] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    imports: list[int] = field(default_factory=list)
    text: list[int] = field(default_factory=list)

    @property
    def real(self) -> list[tuple[int, str, str]]:
        """The definitions that are more than a field or a parameter."""
        return [one for one in self.definitions if one[2] in REAL]

    @property
    def types(self) -> list[tuple[int, str, str]]:
        """The definitions of types."""
        return [one for one in self.definitions if one[2] in _TYPES]


class References:
    """Definitions and uses by ast-grep."""

    name = "references"
    cls = EvidenceClass.FILE_SEARCH
    independent_of = SEARCH
    authoritative = False

    def can(self, ask: Ask, context: Context) -> int:
        """Best for names; good for phrases that a definition may spell."""
        if ask.term is None:
            return 0
        return {TermKind.IDENTIFIER: 9, TermKind.PHRASE: 9, TermKind.WORD: 8}.get(ask.term.kind, 0)

    def produce(self, ask: Ask, context: Context) -> list[Evidence]:
        """Resolve the term to names, and the names to places."""
        term = ask.term
        assert term is not None
        symbols = symbols_of(context.root, context.seconds_left)
        names, read_as = names_of(term, symbols)
        within = set(files_named(symbols.files, term.within)) if term.within else None
        if not names and len(term.words) > 2 and term.kind is TermKind.PHRASE:
            methods = symbols.members(term.words)
            names = list(dict.fromkeys(one.name for one in methods))
            within = {one.path for one in methods} & (within or set(symbols.files))
        if not names:
            return ask.nothing(self.name, _NO_SYMBOL)
        whole_tree = term.kind is TermKind.IDENTIFIER or term.focus is not Focus.DEFINITION
        hits: list[TextMatch] = []
        limited = ""
        if whole_tree:
            pattern = "|".join(rf"\b{re.escape(name)}\b" for name in sorted(names))
            hits, limited = matches(context.root, [pattern], context.seconds_left, ignore_case=False)
            if any(re.search(rf"\b{re.escape(names[0])}\b", hit.text) for hit in hits) and len(names) > 1 and read_as:
                names, read_as = names[:1], ""  # written like this somewhere: no typing error
        known = [one for name in names for one in symbols.by_name.get(name, ())]
        if term.kind is TermKind.IDENTIFIER and not hits and not known:
            return ask.nothing(self.name, _NO_SYMBOL)
        names = [name for name in names if name in symbols.by_name] or names
        most = PARSED_FOR_USES if term.focus is not Focus.DEFINITION else _PARSED_FOR_DEFINITION + len(known)
        found = _resolve(names, known, hits, context, min(most, PARSED_FOR_USES))
        found = [one for one in found if within is None or one.path in within]
        found = [one for one in found if _fits_container(one, term, context)]
        return [_graded(self.name, ask, term, names, found, read_as, limited)]


def names_of(term: Term, symbols: Symbols) -> tuple[list[str], str]:
    """The defined names that the term may mean; and the one it was read as, where it is spelled otherwise."""
    if term.kind is TermKind.IDENTIFIER:
        return _identifier(_last_part(term.text), symbols)
    exact = _not_headings(symbols.named(term.words), symbols)
    if not exact and term.noun and len(term.words) > 2:
        exact = symbols.named(term.words[:-1])
    elif not exact and term.noun and len(term.words) == 2:
        name = term.words[1:] if term.words[0] == term.noun else term.words[:1]
        exact = _of_kind(symbols.named(name), term.noun)
    elif term.kind is TermKind.WORD and term.noun:
        exact = _of_kind(exact, term.noun)
    if exact or term.kind is TermKind.WORD:
        names = list(dict.fromkeys(one.name for one in exact))
        return [name for name in names if not name.startswith("_")] or names, ""
    for spelling in term.spellings[:3]:
        meant = symbols.mistyped(spelling) if len(spelling) >= 10 else None
        if meant:
            return [meant], meant
    return [], ""


def _last_part(name: str) -> str:
    """`Owner.member` → `member`."""
    return re.split(r"\.|::|->|#", name)[-1]


def _identifier(name: str, symbols: Symbols) -> tuple[list[str], str]:
    """The name itself; else the same in another case; else the one definition a single edit away."""
    if name in symbols.by_name:
        return [name], ""
    other_case = [other for other in symbols.by_name if other.lower() == name.lower()]
    is_file = any(path.rpartition("/")[2].partition(".")[0] == name for path in symbols.files)
    if other_case and len(name) > 3 and not is_file:
        return other_case, other_case[0]
    meant = symbols.mistyped(name)
    return ([name, meant], meant) if meant else ([name], "")


def _about_spelling(term: Term, read_as: str) -> str:
    """What to say where a name was read as another one."""
    asked = _last_part(term.text) if term.kind is TermKind.IDENTIFIER else term.text
    if not read_as or asked.lower() == read_as.lower():
        return f"{asked!r} is written {read_as!r} here." if read_as else ""
    missing = "is not defined here" if term.kind is TermKind.IDENTIFIER else "is not there"
    return f"{asked!r} {missing}; read as {read_as!r} (one letter differs)."


def _not_headings(definitions: Iterable[Definition], symbols: Symbols) -> list[Definition]:
    """In a folder of knowledge headings are the symbols; beside code they are text like any other."""
    return [one for one in definitions if symbols.is_knowledge or one.kind != "heading"]


def _of_kind(definitions: Iterable[Definition], noun: str) -> list[Definition]:
    """Those that are the sort of thing the question says; a sort that we cannot tell fits nothing."""
    kinds = _KIND_OF_NOUN.get(noun.rstrip("s") if noun not in ("class",) else noun, ())
    return [one for one in definitions if one.kind in kinds]


def _resolve(
    names: list[str], known: list[Definition], hits: list[TextMatch], context: Context, most: int
) -> list[InFile]:
    """Every file that has one of the names, with the role of each place."""
    lines: dict[str, dict[int, str]] = defaultdict(dict)
    for hit in hits:
        lines[hit.path][hit.line] = hit.text
    by_path: dict[str, list[Definition]] = defaultdict(list)
    for one in known:
        by_path[one.path].append(one)
        lines.setdefault(one.path, {})
    paths = sorted(lines, key=lambda path: (path not in by_path, source_rank(path), -len(lines[path]), path))
    found = []
    for number, path in enumerate(paths):
        here = InFile(path)
        text = read_text(context.root, path, context.limits.file_bytes) if number < most else None
        seen: set[int] = set()
        if text is not None and supports(path):
            for name in names:
                for place in occurrences(text, path, name) if name in text else ():
                    seen.add(place.line)
                    if place.role is NameRole.DEFINITION:
                        here.definitions.append((place.line, name, place.kind))
                    else:
                        {NameRole.CALL: here.calls, NameRole.IMPORT: here.imports}.get(place.role, here.uses).append(
                            place.line
                        )
        elif text is None or not supports(path):
            for one in by_path.get(path, ()):
                here.definitions.append((one.line, one.name, one.kind))
                seen.add(one.line)
        for line, content in lines[path].items():
            if line not in seen:
                quoted = any(f"{sign}{name}{sign}" in content for name in names for sign in "\"'`")
                (here.uses if quoted and source_rank(path) < 2 else here.text).append(line)
        if here.definitions or here.calls or here.uses or here.imports or here.text:
            found.append(here)
    return found


def _fits_container(one: InFile, term: Term, context: Context) -> bool:
    """`Owner.member`: the file must define the owner or be it, or write the two together."""
    parts = re.split(r"\.|::|->|#", term.text) if term.kind is TermKind.IDENTIFIER else []
    if len(parts) < 2 or parts[-2] in ("self", "this", "cls"):
        return True
    owner = parts[-2]
    if owner in re.split(r"[/.]", one.path):
        return True
    text = read_text(context.root, one.path, context.limits.file_bytes) or ""
    if term.text in text:
        return True
    return bool(
        re.search(
            rf"\b(?:class|struct|interface|trait|impl|type|enum|module|namespace|object)\s+{re.escape(owner)}\b", text
        )
    ) or (re.search(rf"\b{re.escape(owner)}\.prototype\.{re.escape(parts[-1])}\b", text) is not None)


def _graded(
    tool: str, ask: Ask, term: Term, names: list[str], found: list[InFile], read_as: str, limited: str
) -> Evidence:
    """Quality from what the places are; strength from how many there are (part IV, phase 4)."""
    defined = [one for one in found if one.real]
    definitions = sum(len(one.definitions) for one in found)
    used = [one for one in found if one.calls or one.uses or one.imports]
    uses = sum(len(one.calls) + len(one.uses) + len(one.imports) for one in found)
    count = definitions + uses + sum(len(one.text) for one in found)
    places = list(_places(found, term.focus, names[0]))
    note = " ".join(filter(None, (_about_spelling(term, read_as), limited)))
    about = f"{definitions} definition{'s' * (definitions != 1)}, {uses} use{'s' * (uses != 1)}"
    if not count:
        return ask.evidence(tool, Quality.NONE, note=_NO_SYMBOL)
    if term.focus is Focus.USES and not used:
        quality, why = Quality.MODERATE, "defined here, but no use of it was found"
        if not defined and any(one.text for one in found):
            quality, why = Quality.MODERATE, "named in text only"
    elif (
        term.focus is Focus.DEFINITION
        and not definitions
        and any(one.imports for one in found)
        and _ASKS_FOR_DEFINITION.search(ask.question)
    ):
        quality, why = Quality.MODERATE, "imported and used here, defined elsewhere"
    elif term.focus is Focus.DEFINITION and not definitions and not used:
        quality, why = Quality.MODERATE, "named in text, neither defined nor used"
    elif term.kind is TermKind.PHRASE and all(source_rank(one.path) == 3 for one in found):
        quality, why = Quality.MODERATE, "exact symbol, but only in tests"
    else:
        quality, why = Quality.STRONG, "exact symbol, " + about
    return ask.evidence(
        tool,
        quality,
        places,
        count=count,
        exact=count,
        phrase=len(term.words) > 1,
        note=f"{why}. {note}".strip() if note else why,
        query=" ".join(names),
        read_as=read_as,
    )


def _places(found: list[InFile], focus: Focus, name: str) -> Iterable[Place]:
    """Places in the order in which the question wants them."""
    for one in sorted(found, key=lambda one: order(one, focus)):
        if focus is Focus.DEFINITION:
            lines = [(line, symbol) for line, symbol, _ in (one.real or one.definitions)]
            lines += [(line, name) for line in (one.calls or one.uses or one.imports or one.text)[:3]]
        else:
            lines = [(line, name) for line in (*one.calls, *one.uses, *one.imports, *one.text)]
            lines += [(line, symbol) for line, symbol, _ in one.definitions]
        for line, symbol in lines[:20]:
            yield Place(one.path, line, symbol)


def order(one: InFile, focus: Focus) -> tuple[object, ...]:
    """Sorts files in the order in which the question wants them."""
    where = source_rank(one.path)
    if focus is Focus.DEFINITION:
        # A phrase is more often the name of a type than of what returns or holds one.
        hidden = all(name.startswith("_") for _, name, _ in one.definitions)
        return (
            not one.real,
            where,
            not one.types,
            hidden,
            not one.definitions,
            -len(one.calls) - len(one.uses),
            one.path,
        )
    active = len(one.calls) + len(one.uses)
    if focus is Focus.USES:
        rank = 0 if active and not one.real else 1 if active else 2 if one.imports else 3
        return (where, rank, -len(one.calls), -active, one.path)
    return (where, -(active + len(one.definitions)), one.path)
