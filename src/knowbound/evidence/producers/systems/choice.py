"""Which build system a question is about, and which target."""

from __future__ import annotations

import re

from knowbound.codebase.inventory import Inventory
from knowbound.codebase.manifests import known_manifest
from knowbound.core.evidence import Intent
from knowbound.evidence.producers.discovery import scan_tree
from knowbound.evidence.producers.protocol import Ask
from knowbound.evidence.producers.systems.cargo import Cargo
from knowbound.evidence.producers.systems.cmake import CMake
from knowbound.evidence.producers.systems.make import Make
from knowbound.evidence.producers.systems.npm import Npm
from knowbound.evidence.producers.systems.python import Python
from knowbound.evidence.producers.systems.system import System
from knowbound.evidence.producers.workspace import UnableError
from knowbound.text.stop_words import STOP_WORDS

SYSTEMS: tuple[System, ...] = (CMake(), Cargo(), Python(), Npm(), Make())  # make last: it often only calls the others

# Words that say that something is built or tested, not what.
_GENERAL = STOP_WORDS | frozenset(
    "assert build builds building built cargo check checks clean cmake code codebase compilation compile compiled "
    "compiles compiling complete completely correctly ctest current entire everything execute fail failed failing "
    "fails fine full fully green integration jest make makefile node npm pass passed passes passing project pytest "
    "python repo repository result results run running runs source sources succeed succeeds success successfully "
    "suite suites sure target targets test tested testing tests tree unit verify work works whole main new existing "
    "latest properly locally default errors warnings ci command".split()
)
# Words that may be the name of a target, but hardly are unless the question says "target".
_THINGS = frozenset("app application binary bundle library module package program script software".split())
_NAME = r"[`'\"]?([\w@][\w./:@+-]*)(?![\w=])[`'\"]?"
_SAID = tuple(re.compile(form, re.I) for form in (rf"\btarget\s+{_NAME}", rf"{_NAME}\s+target\b"))
_FORMS = tuple(
    re.compile(form, re.I)
    for form in (
        r"`([^`]+)`",
        r"[\"“]([^\"”]+)[\"”]",
        r"\btests?\s+(?:for|of|in|about)\s+(.+?)(?:\s+(?:pass|fail|run|succeed|work|still)\w*\b|[?.!,]?\s*$)",
        rf"\b(?:build|compile|test|make|run)s?\s+(?:the\s+)?{_NAME}",
        rf"\bthe\s+{_NAME}\s+(?:unit\s+)?(?:tests?|builds?|compiles?|crate|package|module|library|binary)\b",
        rf"\bdo(?:es)?\s+(?:the\s+)?{_NAME}\s+(?:build|compile|pass|tests?)\b",
        r"\b(\w+(?:_|::|/)[\w./:]+)",
    )
)


def named_target(ask: Ask) -> str:
    """The target that the question names; "" for the project as a whole.

    Only a question to build or test names one. To change something safely, the whole project has to build.
    """
    if ask.intent is not Intent.EXECUTE:
        return ""
    said = [match[1] for form in _SAID for match in form.finditer(ask.question)]
    meant = [ask.target, *(match[1] for form in _FORMS for match in form.finditer(ask.question))]
    names = (*(_specific(text, _GENERAL) for text in said), *(_specific(text, _GENERAL | _THINGS) for text in meant))
    return next(filter(None, names), "")


def _specific(text: str, general: frozenset[str]) -> str:
    """What is left of a name without the general words around it; several words are one name, never loose words."""
    words = [word for word in text.strip("`'\"?!., ").split() if word.lower().strip("?!.,") not in general]
    name = "_".join(word.strip("?!.,`'\"") for word in words)
    return name if re.fullmatch(r"[\w@][\w./:@+-]*", name) else ""  # no option, no assignment


def choose_system(inventory: Inventory, question: str) -> tuple[System, str]:
    """The system to run with its manifest: the one the question names, else that of most of the sources."""
    names = inventory.at_root()
    here = [(system, name) for system in SYSTEMS for name in system.manifests if name in names]
    if not here:
        raise UnableError(_why_none(names))
    low = question.lower()
    for system, name in here:
        if any(re.search(rf"(?<!\w){re.escape(word)}\b", low) for word in system.words):
            return system, name
    kind = scan_tree(inventory).kind
    return min(here, key=lambda pair: (pair[0].kind != kind, SYSTEMS.index(pair[0])))


def _why_none(names: frozenset[str]) -> str:
    others = sorted({known.system for name in names if (known := known_manifest(name))})
    if not others:
        return "no build system is recognised in the root"
    return f"{', '.join(others)} is recognised, but not supported (supported: cmake, pytest, npm, cargo, make)"
