"""Lint of our own for `make lint`: what STYLE asks of names and docstrings, and no other tool checks.

`python -m tools.house [FOLDER]` prints one line per problem and exits 1 if there is one.
"""

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "knowbound"
LONGEST_MODULE = 500
LARGEST_ROOM = 15  # modules side by side

# A docstring that begins with one of these is a question or a fragment: it does not say what the thing is or does.
FIRST_WORDS = frozenset(
    "what whether who whom whose where when why how which if as so that it its they those there".split()
)


def problems(source: Path) -> Iterator[str]:
    """Yield every problem below the folder as `path:line: sentence`."""
    classes: dict[str, list[str]] = defaultdict(list)
    rooms = Counter(path.parent.relative_to(source).as_posix() for path in source.rglob("*.py"))
    for room, modules in rooms.items():
        if modules > LARGEST_ROOM:
            yield f"{room}: {modules} modules side by side; a room has {LARGEST_ROOM} at most, then it needs sub-rooms"
    for path in sorted(source.rglob("*.py")):
        name = path.relative_to(source).as_posix()
        text = path.read_text("utf-8")
        tree = ast.parse(text)
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                classes[node.name].append(f"{name}:{node.lineno}")
        length = text.count("\n")
        if length > LONGEST_MODULE:
            yield f"{name}:1: {length} lines; a module has {LONGEST_MODULE} at most"
        yield from _docstring_problems(tree, name)
    for class_name, places in classes.items():
        if len(places) > 1:
            yield f"{places[1]}: class {class_name} is also in {places[0]}; one name has one meaning"


def _docstring_problems(tree: ast.Module, name: str) -> Iterator[str]:
    """Yield the docstrings that begin with a question word or a pronoun."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        words = (ast.get_docstring(node) or "").split(maxsplit=1)
        if words and words[0].strip(",:;").lower() in FIRST_WORDS:
            line = node.body[0].lineno
            yield f'{name}:{line}: docstring begins with "{words[0]}"; begin with a verb or a noun phrase'


def main() -> None:
    """Print the problems of the package, or of the folder that is given."""
    found = list(problems(Path(sys.argv[1]) if sys.argv[1:] else SOURCE))
    print("\n".join(found) or "house: no problem found")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
