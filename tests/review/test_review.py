"""The front door: which actions it shows, what they cost, and what it says without sessions or knowledge files."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from knowbound.cli.main import knowbound
from knowbound.core.item import FlagKind
from knowbound.core.lesson import ActionKind
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.validation import NewItem
from knowbound.review.review import Reviewed, review
from tests.lessons.shop import Shop
from tests.review.conftest import WRONG, looks_in_the_wrong_folder


def reviewed(shop: Shop) -> Reviewed:
    return review([shop.traces], shop.settings(), root_is_given=True)


def test_a_wrong_line_is_repaired_with_its_cost_and_no_line_is_written_beside_it(shop: Shop) -> None:
    found = reviewed(shop)
    (action,) = found.actions
    assert (action.kind, action.place) == (ActionKind.REPAIR, "CLAUDE.md")
    assert action.title == "CLAUDE.md:5: src/commands/ is not there; src/cli is"
    assert (action.cost.sessions, action.cost.calls, action.cost.share) == (3, 6, 1.0)
    assert len({one.session for one in action.evidence}) == 3
    assert "-- Commands live in `src/commands/`." in action.diff
    assert "+- Commands live in `src/cli/`." in action.diff


def test_the_same_wrong_thing_in_several_files_is_one_action_with_one_repair(shop: Shop) -> None:
    shop.write("src/cli/AGENTS.md", f"{WRONG}\nThe rest is in `src/commands/`.\n")
    (action,) = reviewed(shop).actions
    assert "(and 2 more)" in action.title
    assert action.diff.count("\n+") == 3 + 2  # three lines, two headers
    assert "b/src/cli/AGENTS.md" in action.diff


def test_a_line_that_agents_miss_is_written(shop: Shop) -> None:
    shop.write("CLAUDE.md", "# Shop\n\nA shop.\n")
    for _ in range(3):
        shop.session(looks_in_the_wrong_folder)
    (action,) = reviewed(shop).actions
    assert (action.kind, action.place, action.cost.sessions) == (ActionKind.WRITE, "CLAUDE.md", 6)
    assert "src/cli/export.ts" in action.title


def test_the_screen_is_kept_until_a_session_a_file_or_a_decision_changes(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = reviewed(shop)
    made: list[str] = []
    from knowbound.review import review as module

    real = module._run_lenses

    def noted(*given: Any) -> Reviewed:
        made.append("made")
        return real(*given)

    monkeypatch.setattr(module, "_run_lenses", noted)
    assert reviewed(shop) == first
    assert made == []
    shop.write("src/cart.ts", "export const cart = [1]\n")
    reviewed(shop)
    assert made == ["made"]
    shop.session(looks_in_the_wrong_folder)
    assert reviewed(shop).actions[0].cost.sessions == 4


def run(shop: Shop, *arguments: str) -> str:
    result = CliRunner().invoke(knowbound, [*arguments, "--root", str(shop.root)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_verb_prints_actions_then_figures_and_json_has_the_documented_keys(shop: Shop) -> None:
    text = run(shop, "review", str(shop.traces))
    assert "1. repair    CLAUDE.md:5: src/commands/ is not there; src/cli is" in text
    assert "3 of 3 sessions, 6 calls, 100% of tool calls" in text
    assert "Gap rate 100%" in text
    assert "3 sessions read (claude-code 3)" in text
    document = json.loads(run(shop, "review", str(shop.traces), "--format", "json"))
    assert document["format"] == "knowbound.review/1"
    (action,) = document["actions"]
    assert set(action) == {"id", "kind", "title", "why", "cost", "evidence", "fix", "by"}
    assert set(action["cost"]) == {"sessions", "calls", "tokens", "share"}
    assert set(action["evidence"][0]) == {"session", "file", "line"}
    assert (action["fix"]["file"], action["by"]) == ("CLAUDE.md", "rules")
    assert f"knowbound fix {action['id']}" in text
    assert document["figures"]["sessions"] == 3


def test_knowbound_alone_is_the_front_door(shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(shop.root)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    result = CliRunner().invoke(knowbound, [])
    assert result.exit_code == 0, result.output
    assert "1. repair    CLAUDE.md:5" in result.stdout
    assert "No session of this project was found" in result.stdout
    assert "no session met it yet" in result.stdout


def test_a_folder_without_sessions_and_knowledge_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    result = CliRunner().invoke(knowbound, [])
    assert result.exit_code == 0, result.output
    assert "Nothing to do" in result.stdout
    assert "No CLAUDE.md" in result.stdout


def test_an_item_that_the_tree_contradicts_is_held_back_until_it_is_true(shop: Shop) -> None:
    settings = shop.settings()
    with closing(open_knowledge_store(settings, by="me")) as store:
        id_ = store.add(NewItem(content=WRONG)).item.id
        other = store.add(NewItem(content="The cart is in `src/cart.ts`.")).item.id
    places = {one.place for one in reviewed(shop).actions}
    assert places == {"CLAUDE.md", f"item:{id_}"}
    with closing(open_knowledge_store(settings)) as store:
        held = store.show(id_)
        assert held.item.flag is not None
        assert (held.item.flag.kind, held.item.flag.by, held.served) == (FlagKind.HELD_BACK, "lint", False)
        assert "src/commands/ is not there" in held.item.flag.note
        assert store.show(other).served
    shop.write("src/commands/index.ts")
    reviewed(shop)
    with closing(open_knowledge_store(settings)) as store:
        assert store.show(id_).served
        assert store.show(id_).item.flag is None


def test_hostile_words_of_a_statement_are_shown_without_control_characters(shop: Shop) -> None:
    shop.write("CLAUDE.md", "- Commands\x1b[31m live in `src/commands/` \u202enow.\n")
    text = run(shop, "review", str(shop.traces))
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_the_first_look_reads_the_newest_sessions_and_leaves_the_store_alone(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from knowbound.gaps.stored import Filters
    from knowbound.review import review as module

    folder = tmp_path / "home/.claude/projects/shop"
    folder.mkdir(parents=True)
    for number, path in enumerate(sorted(shop.traces.iterdir())):
        path.rename(folder / path.name)
        os.utime(folder / path.name, (1_000 + number, 1_000 + number))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    filters = Filters(project=str(shop.root))
    assert module.first_look(shop.settings(), filters) is None  # it is read at once
    sizes = [path.stat().st_size for path in folder.iterdir()]
    monkeypatch.setattr(module, "_LARGE_CORPUS_BYTES", 1)
    monkeypatch.setattr(module, "_FIRST_LOOK_BYTES", max(sizes) + min(sizes) // 2)
    found = module.first_look(shop.settings(), filters)
    assert found is not None
    assert found.figures.sessions == 1
    assert {one.session for one in found.actions[0].evidence} == {f"{3:08d}-2222-4333-8444-555555555555"}
    assert not (shop.settings().home / "knowbound.db").exists()
    assert not module.is_kept(shop.settings(), filters)
    review([], shop.settings(), filters)
    assert module.is_kept(shop.settings(), filters)


def test_a_folder_that_moved_is_one_action_however_many_paths_moved_with_it(shop: Shop) -> None:
    def git(*words: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", str(shop.root), *who, *words], check=True, capture_output=True)

    for name in ("one", "two", "three"):
        shop.write(f"web/{name}.ts", f"export const {name} = 'a line that can be followed';\n" * 5)
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "one")
    (shop.root / "apps").mkdir()
    git("mv", "web", "apps/web")
    git("commit", "-qm", "two")
    shop.write("CLAUDE.md", "- The pages are `web/`.\n- The first is `web/one.ts`.\n- The next is `web/two.ts`.\n")
    (action,) = (one for one in reviewed(shop).actions if one.kind is ActionKind.REPAIR)
    assert action.title == "CLAUDE.md:1 (and 2 more): web/ is not there; apps/web is"
    assert [line for line in action.diff.splitlines() if line.startswith("+-")] == [
        "+- The pages are `apps/web/`.",
        "+- The first is `apps/web/one.ts`.",
        "+- The next is `apps/web/two.ts`.",
    ]


def test_a_folder_that_is_gone_and_what_was_in_it_are_one_action(shop: Shop) -> None:
    shop.write("CLAUDE.md", "# Shop\n\n- Pages are in `web/pages/`.\n- The first is `web/pages/shop/first.ts`.\n")
    shop.write("web/pages/shop/first.ts")
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["commit", "-qm", "one"],
        ["rm", "-rq", "web/pages"],
        ["commit", "-qm", "two"],
    ):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
        subprocess.run(["git", "-C", str(shop.root), *who, *words], check=True, capture_output=True)
    repairs = [one for one in reviewed(shop).actions if one.kind is ActionKind.REPAIR]
    assert [one.title for one in repairs] == ["CLAUDE.md:3 (and 1 more): web/pages/ is not there"]
