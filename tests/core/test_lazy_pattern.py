from __future__ import annotations

import gc
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import knowbound
from knowbound.core.lazy_pattern import _LazyPattern, lazy

ROOMS = ("core", "text", "traces", "codebase", "lessons", "injection")


def test_it_is_the_expression() -> None:
    pattern = lazy(r"(?P<name>a+)b", re.IGNORECASE)
    assert [found["name"] for found in pattern.finditer("AAb ab")] == ["AA", "a"]
    assert (pattern.sub("-", "ab c"), pattern.search("c"), pattern.pattern) == ("- c", None, r"(?P<name>a+)b")


def test_it_is_compiled_at_its_first_use_and_not_before() -> None:
    pattern = lazy("(")
    with pytest.raises(re.error):
        pattern.search("a")


def test_every_one_of_the_package_can_be_compiled() -> None:
    for module in pkgutil.walk_packages(knowbound.__path__, "knowbound."):
        if module.name.split(".")[1] in ROOMS:
            importlib.import_module(module.name)
    gc.unfreeze()  # tests/conftest.py has frozen what was imported with the tests
    found = [one for one in gc.get_objects() if type(one) is _LazyPattern]  # a proxy of what is gone has no class
    gc.freeze()
    made = [one for one in found if one._pattern_and_flags[0] != "("]
    assert len(made) > 100
    assert all(isinstance(one.pattern, str) for one in made)


def test_no_group_is_possessive_for_pythons_before_3_11_5_match_those_wrongly() -> None:
    sources = [path for root in knowbound.__path__ for path in Path(root).rglob("*.py")]
    found = [path.name for path in sources if re.search(r"\)[*+?]\+", path.read_text("utf-8"))]
    assert (len(sources) > 100, found) == (True, [])
