"""Variants: what options name, and what each side of an evaluation finds in its copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.config import Settings
from knowbound.errors import InputError
from knowbound.evals.evaluate import EvalPlan
from knowbound.evals.executor import Execution, Task
from knowbound.evals.history import compared_of
from knowbound.evals.runner import RunLimits
from knowbound.evals.variants import Variant, read_variants
from tests.evals.test_runner import Scripted, run, said, samples, settings

__all__ = ["settings"]


@pytest.mark.parametrize(
    ("given", "against", "inject", "found"),
    [
        ((), "", "off", (Variant(),)),
        ((), "", "on", (Variant(inject=True),)),
        ((), "HEAD~1", "off", (Variant("HEAD~1", "HEAD~1"), Variant("this version"))),
        ((), "", "both", (Variant("without injection"), Variant("with injection", inject=True))),
        (("a=HEAD", "b=."), "", "off", (Variant("a", "HEAD"), Variant("b"))),
        (("a=.", "b=.+inject"), "", "off", (Variant("a"), Variant("b", ".", True))),
        (("a=none", "b=x.md"), "", "on", (Variant("a", "none", True), Variant("b", "x.md", True))),
    ],
)
def test_options_name_one_variant_or_two(
    given: tuple[str, ...], against: str, inject: str, found: tuple[Variant, ...]
) -> None:
    assert read_variants(given, against, inject) == found


@pytest.mark.parametrize(
    ("given", "against", "slug"),
    [
        (("a=.",), "", "two-variants"),
        (("a=.", "a=HEAD"), "", "two-variants"),
        (("a=.", "b=."), "", "two-variants"),
        (("a=none", "b=none"), "", "two-variants"),
        (("a", "b=."), "", "two-variants"),
        (("a\x1b=.", "b=HEAD"), "", "two-variants"),
        (("a=.", "b=HEAD"), "HEAD", "two-comparisons"),
    ],
)
def test_what_is_no_pair_is_an_error(given: tuple[str, ...], against: str, slug: str) -> None:
    with pytest.raises(InputError) as caught:
        read_variants(given, against)
    assert caught.value.slug == slug


def seen_by(settings: Settings, *given: str) -> tuple[dict[bool, list[str]], Scripted]:
    """Run two variants; return the Markdown files, with their text, that each side finds."""
    found: dict[bool, list[str]] = {}
    folders: list[Path] = []

    def answer(task: Task) -> Execution:
        if task.folder not in folders:
            folders.append(task.folder)
        files = sorted(path for path in task.folder.rglob("*.md"))
        found[task.folder.parent == folders[0].parent] = [
            f"{path.relative_to(task.folder)}: {path.read_text().strip()}" for path in files
        ]
        return said(task)

    executor = Scripted(answer)
    plan = EvalPlan(samples(1), RunLimits(concurrency=1), variants=read_variants(given))
    run(settings, executor, plan)
    return found, executor


def test_a_file_takes_the_place_of_the_file_of_the_other_side(settings: Settings, tmp_path: Path) -> None:
    (settings.root / "CLAUDE.md").write_text("long")
    (tmp_path / "short.md").write_text("short")
    found, _ = seen_by(settings, "a=" + str(settings.root / "CLAUDE.md"), "b=" + str(tmp_path / "short.md"))
    assert sorted(next(one for one in files if one.startswith("CLAUDE.md")) for files in found.values()) == [
        "CLAUDE.md: long",
        "CLAUDE.md: short",
    ]
    assert (settings.root / "CLAUDE.md").read_text() == "long"


def test_a_skill_is_there_on_one_side_alone(settings: Settings, tmp_path: Path) -> None:
    skill = tmp_path / "shipping"
    skill.mkdir()
    (skill / "SKILL.md").write_text("how to ship")
    found, _ = seen_by(settings, "a=none", f"b={skill}")
    placed = [[one for one in files if "shipping" in one] for files in found.values()]
    assert sorted(placed) == [[], [".claude/skills/shipping/SKILL.md: how to ship"]]


def test_a_variant_that_is_nowhere_is_an_error_before_anything_runs(settings: Settings) -> None:
    with pytest.raises(InputError, match="neither a file, a folder nor a commit"):
        seen_by(settings, "a=no-such-thing", "b=.")


def test_the_second_variant_is_evaluated_against_the_first(settings: Settings, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / "old.md").write_text("# Old\n")

    def answer(task: Task) -> Execution:
        return said(task, miss="" if (task.folder / "old.md").exists() else "thing")

    plan = EvalPlan(samples(9), RunLimits(concurrency=1), variants=read_variants(("a=.", f"b={old}")))
    done = run(settings, Scripted(answer), plan)
    found = compared_of(settings, done.evaluation)
    assert found is not None
    assert (found.names, found.verdict, found.answered.fixed) == (("a", "b"), "better", 9)
    assert done.evaluation.against == str(old)
