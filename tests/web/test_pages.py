"""Every page in a real browser: reached, without a problem, for everybody, on any screen, by keys alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from knowbound.errors import InputError
from knowbound.review.review import review
from knowbound.web.app import StudioServer
from knowbound.web.demo import lay_out_demo
from knowbound.web.pages import studio_pages
from knowbound.web.rendering import static_page
from tests.lessons.shop import Shop
from tests.transcripts import Transcript
from tests.web.conftest import Visiting, running

_RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


def fixes_the_cart(transcript: Transcript) -> None:
    """A turn with a miss, an edit, a check that fails, and an answer that says otherwise."""
    transcript.read(f"{transcript.project}/src/commands/export.ts", there=False)
    transcript.read(f"{transcript.project}/src/cli/export.ts")
    file = f"{transcript.project}/src/cart.ts"
    change = {"old_string": "export const cart = []", "new_string": "export const cart = [1]"}
    transcript.calls("Edit", {"file_path": file, **change}, "toolu_edit")
    transcript.result("toolu_edit", f"The file {file} has been updated.", {"filePath": file})
    transcript.bash("pnpm test", "FAIL src/cart.test.ts\nTests: 1 failed, 3 passed, 4 total", code=1)
    transcript.says("**The discount is in** `src/cart.ts`.\n\n- All tests pass.\n- <b>Not</b> markup.")


@pytest.fixture
def story(shop: Shop) -> Iterator[StudioServer]:
    """A studio with a session that has everything that a turn can show; its turn is 1 of session 4."""
    shop.session(fixes_the_cart)
    review([shop.traces], shop.settings(), root_is_given=True)
    with running(shop.settings(), [shop.traces], reads=False) as made:
        yield made


TURN = "/turn/00000004-2222-4333-8444-555555555555/1"
PATHS = [one.path for one in studio_pages()] + [
    "/session/00000004-2222-4333-8444-555555555555",
    TURN,
    "/knowledge?items=all",
]


def violations(page: Page) -> list[str]:
    """What axe-core says about a page: rule and element."""
    found = Axe().run(page, options=_RULES).response["violations"]
    return [f"{one['id']}: {node['html'][:150]}" for one in found for node in one["nodes"]]


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_every_page_is_for_everybody(story: StudioServer, visiting: Visiting, colours: str) -> None:
    visit = visiting(story, color_scheme=colours, bypass_csp=True)  # axe-core is a script of the test
    found = {path: violations(visit.goto(path)) for path in PATHS}
    assert {path: one for path, one in found.items() if one} == {}


def test_every_page_fits_a_narrow_screen(story: StudioServer, visiting: Visiting) -> None:
    visit = visiting(story, viewport={"width": 320, "height": 640})
    widths = {path: visit.goto(path).evaluate("document.documentElement.scrollWidth") for path in PATHS}
    assert {path: width for path, width in widths.items() if width > 320} == {}


def test_every_page_is_there_in_chinese(story: StudioServer, visiting: Visiting) -> None:
    page = visiting(story).page
    page.get_by_role("button", name="中文").click()
    for path, words in (("/", "个行动"), ("/sessions", "会话"), (TURN, "用户的要求"), ("/knowledge", "与源码树矛盾")):
        page.goto(f"{story.address.url}{path}")
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
        expect(page.locator("main")).to_contain_text(words)


def test_nothing_moves_for_those_who_asked_for_that(story: StudioServer, visiting: Visiting) -> None:
    page = visiting(story, reduced_motion="reduce").page
    moving = "[...document.querySelectorAll('*')].filter(one => getComputedStyle(one).animationName !== 'none').length"
    assert page.evaluate(moving) == 0


def test_a_journey_from_an_action_to_its_evidence_the_turn_the_fix_and_back(
    story: StudioServer, shop: Shop, visiting: Visiting
) -> None:
    before = (shop.root / "CLAUDE.md").read_text("utf-8")
    page = visiting(story).page
    card = page.locator(".action").filter(has=page.locator(".kind.repair"))
    card.locator(".evidence summary").click()
    card.locator(".evidence a").first.click()
    expect(page.locator(".call.asked")).to_contain_text("src/commands/export.ts")
    expect(page.locator(".call.asked")).to_be_focused()
    page.go_back()
    card.get_by_role("button", name="Accept").click()
    expect(page.locator(".done .state")).to_have_text("applied")
    assert "src/cli/" in (shop.root / "CLAUDE.md").read_text("utf-8")
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".done li")).to_have_count(0)
    assert (shop.root / "CLAUDE.md").read_text("utf-8") == before


def test_a_claim_lights_up_the_call_that_decides_it(story: StudioServer, visiting: Visiting) -> None:
    page = visiting(story).goto(TURN)
    expect(page.locator(".event.look .call.miss .what")).to_contain_text("src/commands/export.ts")
    expect(page.locator(".event.edit .diff .ins")).to_be_visible()
    expect(page.locator(".event.edit .diff .ins")).to_contain_text("cart = [1]")
    expect(page.locator(".event.run .call")).to_contain_text("failed")
    claim = page.locator(".answer .claim", has_text="All tests pass.")
    expect(claim).to_have_class("claim contradicted")
    claim.click()
    expect(page.locator(".call.lit .what")).to_contain_text("pnpm test")
    expect(page.locator(".answer strong")).to_have_text("The discount is in")
    expect(page.locator(".answer")).to_contain_text("<b>Not</b> markup.")


def test_the_raw_line_of_a_call_is_shown_on_demand(story: StudioServer, visiting: Visiting) -> None:
    page = visiting(story).goto(TURN)
    call = page.locator(".event.run .call")
    call.locator(".raw summary").click()
    expect(call.locator(".raw pre")).to_contain_text('"command": "pnpm test"')


def test_each_page_of_the_menu_has_a_key_of_its_own() -> None:
    pages = studio_pages()
    assert len({page.key for page in pages}) == len(pages)
    assert {page.title: page.key for page in pages}["Sessions"] == "s"


def test_pages_are_reached_and_actions_decided_by_keys_alone(
    story: StudioServer, shop: Shop, visiting: Visiting
) -> None:
    page = visiting(story).page
    for keys, path in (("gs", "/sessions"), ("gk", "/knowledge"), ("gr", "/")):
        for key in keys:
            page.keyboard.press(key)
        page.wait_for_url(f"{story.address.url}{path}")
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("g")
    page.keyboard.press("s")
    page.wait_for_url("**/sessions")
    page.keyboard.press("j")
    expect(page.locator("[data-entry]").first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url("**/session/*")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/turn/**")
    page.keyboard.press("c")
    expect(page.locator(".answer .claim").first).to_be_focused()


def test_a_file_of_knowledge_has_its_wrong_line_and_the_repair_in_the_margin(
    story: StudioServer, visiting: Visiting
) -> None:
    page = visiting(story).goto("/knowledge?file=CLAUDE.md")
    expect(page.locator("li.wrong .words")).to_contain_text("src/commands/")
    expect(page.locator("li.wrong .remark")).to_contain_text("src/commands/ is not there")
    page.get_by_role("link", name="To the action that repairs it").click()
    expect(page.locator(".action.lit .diff .ins")).to_contain_text("src/cli/")


def test_a_file_that_is_no_knowledge_is_not_read(story: StudioServer, visiting: Visiting) -> None:
    visit = visiting(story)
    for path in ("package.json", "../traces", "/etc/passwd"):
        expect(visit.goto(f"/knowledge?file={path}").locator("main")).to_contain_text("is no knowledge file")
    assert len(visit.problems) == 3
    visit.problems.clear()


def test_a_turn_whose_transcript_is_gone_says_so(story: StudioServer, shop: Shop, visiting: Visiting) -> None:
    visit = visiting(story)
    for file in shop.traces.iterdir():
        file.unlink()
    expect(visit.goto(TURN).locator("main")).to_contain_text("The transcript is gone")


def test_an_unknown_page_says_so_and_leads_back(story: StudioServer, visiting: Visiting) -> None:
    visit = visiting(story)
    page = visit.goto("/no-such-page")
    expect(page.locator("h1")).to_have_text("There is no such page.")
    page.get_by_role("link", name="To the review").click()
    expect(page.locator(".action").first).to_be_visible()
    visit.problems.clear()


def test_a_project_without_anything_has_calm_pages(shop: Shop, tmp_path_factory: pytest.TempPathFactory,
                                                   visiting: Visiting) -> None:  # fmt: skip
    with running(shop.settings(), [tmp_path_factory.mktemp("none")], reads=False) as made:
        visit = visiting(made)
        expect(visit.goto("/").locator("h1")).to_have_text("There is nothing here yet.")
        expect(visit.goto("/sessions").locator("h1")).to_have_text("No session was read yet.")
        expect(visit.goto("/knowledge").locator("h1")).to_have_text("No knowledge file was read yet.")


def test_the_demo_fills_every_page_in_both_languages_on_a_narrow_screen(tmp_path: Path, visiting: Visiting) -> None:
    demo = lay_out_demo(tmp_path)
    review(demo.traces, demo.settings, root_is_given=True)
    paths = [*(one.path for one in studio_pages()), "/gaps/retry_budget", "/evaluations/2", "/evaluations/1/2"]
    with running(demo.settings, demo.traces, reads=False) as made:
        visit = visiting(made, viewport={"width": 320, "height": 640})
        for language in ("en", "zh-Hans"):
            widths = {path: visit.goto(path).evaluate("document.documentElement.scrollWidth") for path in paths}
            assert {path: width for path, width in widths.items() if width > 320} == {}
            expect(visit.page.locator("html")).to_have_attribute("lang", language)
            visit.goto("/").get_by_role("button", name="中文" if language == "en" else "English").click()


def test_any_page_is_written_as_one_file_that_asks_for_nothing(story: StudioServer, tmp_path: Path,
                                                               visiting: Visiting) -> None:  # fmt: skip
    file, visit = tmp_path / "page.html", visiting(story, is_open=False)
    asked: list[str] = []
    visit.page.on("request", lambda request: asked.append(request.url))
    for path in (*PATHS, "/at/00000004-2222-4333-8444-555555555555/5"):
        file.write_text(static_page(story.studio.settings, path), "utf-8")
        visit.page.goto(file.as_uri())
        expect(visit.page.locator("h1")).not_to_be_empty()
        assert visit.page.locator("script, form, link, a[href^='/']").count() == 0
        assert visit.page.evaluate("getComputedStyle(document.querySelector('h1')).letterSpacing") != "normal"
    assert set(asked) == {file.as_uri()}
    with pytest.raises(InputError):
        static_page(story.studio.settings, "/nowhere")
