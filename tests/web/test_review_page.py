"""The page Review in a real browser: what is shown, decided and taken back, by mouse and by keys alone."""

from __future__ import annotations

import re
from urllib.parse import urljoin

from playwright.sync_api import expect

from knowbound.review.review import review
from knowbound.web.app import StudioServer
from tests.lessons.shop import Shop
from tests.web.conftest import Visiting, running


def claude(shop: Shop) -> str:
    return (shop.root / "CLAUDE.md").read_text("utf-8")


def test_an_action_is_accepted_and_taken_back_with_one_key_each(
    studio: StudioServer, read_shop: Shop, visiting: Visiting
) -> None:
    before, page = claude(read_shop), visiting(studio).page
    expect(page.locator("h1")).to_have_text("1 action to decide.")
    expect(page.locator("header.head")).to_contain_text("The first touches 3 of 3 sessions")
    expect(page.locator(".diff .ins")).to_contain_text("src/cli/")
    page.keyboard.press("a")
    expect(page.locator(".done li")).to_have_count(1)
    assert claude(read_shop) == before.replace("src/commands/", "src/cli/")
    page.keyboard.press("u")
    expect(page.locator(".done li")).to_have_count(0)
    assert claude(read_shop) == before


def test_the_lines_of_an_action_are_edited_and_then_written(
    studio: StudioServer, read_shop: Shop, visiting: Visiting
) -> None:
    page = visiting(studio).page
    page.keyboard.press("e")
    expect(page.locator("textarea")).to_be_focused()
    expect(page.locator("textarea")).to_have_value("- Commands live in `src/cli/`.\n")
    page.locator("textarea").fill("- Every command is a file of `src/cli/`.")
    page.get_by_role("button", name="Write these lines").click()
    expect(page.locator(".done li")).to_have_count(1)
    assert claude(read_shop) == "# Shop\n\nA shop.\n\n- Every command is a file of `src/cli/`.\n- Be kind.\n"


def test_a_rejected_action_goes_and_comes_back(studio: StudioServer, read_shop: Shop, visiting: Visiting) -> None:
    before, page = claude(read_shop), visiting(studio).page
    page.keyboard.press("r")
    expect(page.locator(".done .state")).to_have_text("rejected")
    expect(page.locator(".action")).to_have_count(0)
    page.keyboard.press("u")
    expect(page.locator(".action")).to_have_count(1)
    assert claude(read_shop) == before


def test_what_changed_since_it_was_shown_is_not_written(
    studio: StudioServer, read_shop: Shop, visiting: Visiting
) -> None:
    visit = visiting(studio)
    read_shop.write("CLAUDE.md", claude(read_shop).replace("Commands live", "All commands live"))
    visit.page.keyboard.press("a")
    expect(visit.page.locator("main")).to_contain_text("The lines of CLAUDE.md changed since. Nothing was written.")
    assert "src/commands/" in claude(read_shop)
    assert visit.problems.pop().endswith("409 (Conflict)")


def test_a_studio_that_is_read_only_has_no_buttons(read_shop: Shop, visiting: Visiting) -> None:
    with running(read_shop.settings(), [read_shop.traces], reads=False, is_read_only=True) as made:
        page = visiting(made).page
        expect(page.locator(".action")).to_have_count(1)
        expect(page.locator(".decide button")).to_have_count(0)
        page.keyboard.press("a")
        expect(page.locator(".done li")).to_have_count(0)


def test_new_actions_appear_by_themselves(shop: Shop, visiting: Visiting) -> None:
    with running(shop.settings(), [shop.traces]) as made:
        page = visiting(made).page
        expect(page.locator(".action")).to_have_count(1, timeout=60_000)


def test_an_action_without_a_repair_is_rejected_and_comes_back(shop: Shop, visiting: Visiting) -> None:
    shop.write("CLAUDE.md", "# Shop\n\nA shop.\n\n- The ledger is `src/ledger/book.ts`.\n")
    review([shop.traces], shop.settings(), root_is_given=True)
    with running(shop.settings(), [shop.traces], reads=False) as made:
        page = visiting(made).page
        card = page.locator(".action", has_text="CLAUDE.md:5: src/ledger/book.ts")
        expect(card).to_contain_text("Rules know no repair")
        card.get_by_role("button", name="Reject").click()
        expect(page.locator(".done .state")).to_have_text("rejected")
        expect(card).to_have_count(0)
        page.keyboard.press("u")
        expect(card).to_have_count(1)


def test_the_icon_counts_what_is_new_while_nobody_looks(shop: Shop, visiting: Visiting) -> None:
    with running(shop.settings(), [shop.traces], reads=False) as made:
        page = visiting(made).page
        icon = page.locator("#icon")
        assert "n=" not in (icon.get_attribute("href") or "")
        page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
        review([shop.traces], shop.settings(), root_is_given=True)
        expect(icon).to_have_attribute("href", re.compile(r"[?&]n=[1-9]"), timeout=60_000)
        shown = page.request.get(urljoin(made.address.url, icon.get_attribute("href") or ""))
        assert 'class="n"' in shown.text()
        page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
        expect(icon).to_have_attribute("href", re.compile(r"[?&]n=0"))


def test_a_printed_page_has_its_text_and_nothing_to_press(studio: StudioServer, visiting: Visiting) -> None:
    visit = visiting(studio)
    for path in ("/", "/sessions", "/knowledge", "/judges?label=claims"):
        visit.page.emulate_media(media="screen")
        page = visit.goto(path)
        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
        page.emulate_media(media="print")
        expect(page.locator("h1")).to_be_visible()
        for hidden in (page.locator("nav"), page.locator("button"), page.locator("dialog")):
            assert [one.inner_text() for one in hidden.all() if one.is_visible()] == [], path


def test_a_printed_review_shows_its_actions(studio: StudioServer, visiting: Visiting) -> None:
    page = visiting(studio).page
    page.emulate_media(media="print")
    expect(page.locator(".action h2")).to_be_visible()
    expect(page.locator(".diff .ins")).to_be_visible()
