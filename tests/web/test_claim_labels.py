"""Claims on the page Judges in a real browser: single keys, nothing of the verdict, and how far the audit agrees."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from knowbound.core.audit import Support
from knowbound.judge.labels import CLAIM_LABELS, ClaimLabel, read_claim_labels
from knowbound.review.review import review
from knowbound.web.access import Team
from knowbound.web.app import LOOPBACK, StudioServer
from tests.lessons.shop import Shop
from tests.transcripts import Transcript
from tests.web.conftest import Visiting, running

SECRET = "password=hunter2hunter2"


@pytest.fixture
def audited_shop(shop: Shop) -> Shop:
    """A shop with claims that its sessions show, contradict and leave open."""
    for number in range(2):
        shown = Transcript(f"shown-{number}").user("Run the tests.").bash("pytest -q", "12 passed in 0.10s")
        shown.says("All 12 tests pass.").write(shop.traces)
        failed = Transcript(f"failed-{number}").user("Run the tests.").bash("pytest -q", "2 failed, 10 passed in 0.10s")
        failed.says("All tests pass.").write(shop.traces)
        open_ = Transcript(f"open-{number}").user(f"Fix the cart. {SECRET}").read("/shop/cart.py")
        open_.says("I ran the tests and all 12 tests pass.").write(shop.traces)
    review([shop.traces], shop.settings(), root_is_given=True)
    return shop


@pytest.fixture
def studio(audited_shop: Shop) -> Iterator[StudioServer]:
    with running(audited_shop.settings(), [audited_shop.traces], reads=False) as made:
        yield made


def labels(shop: Shop) -> tuple[ClaimLabel, ...]:
    return read_claim_labels(shop.settings().home / CLAIM_LABELS)


def sentence(page: Page) -> str:
    return page.locator("article q").inner_text()


def test_a_claim_is_labelled_with_one_key_and_taken_back_with_another(
    studio: StudioServer, audited_shop: Shop, visiting: Visiting
) -> None:
    page = visiting(studio).goto("/judges?label=claims")
    first = sentence(page)
    expect(page.locator(".answer a.claim")).to_have_text(first)
    expect(page.locator(".line-of-time .call")).not_to_have_count(0)
    page.keyboard.press("j")
    page.keyboard.press("j")  # the focus is on a call
    page.keyboard.press("3")
    expect(page.locator("h1")).to_contain_text("1 label given")
    (label,) = labels(audited_shop)
    assert (label.by, label.label) == ("ada", Support.UNSEEN)
    assert label.text in first
    page.keyboard.press("u")
    expect(page.locator("h1")).to_contain_text("0 labels given")
    assert labels(audited_shop) == ()
    assert sentence(page) == first


def test_a_skipped_claim_waits_behind_the_others(studio: StudioServer, audited_shop: Shop, visiting: Visiting) -> None:
    page = visiting(studio).goto("/judges?label=claims")
    turns = []
    for _ in range(2):
        turns.append(page.locator("input[name=claim]").first.input_value())
        page.keyboard.press("s")
        expect(page.locator("input[name=claim]").first).not_to_have_value(turns[-1])
    page.keyboard.press("1")
    expect(page.locator("h1")).to_contain_text("1 label given")
    assert "skip=2" in page.url
    page.goto(f"{studio.address.url}/judges?label=claims")
    expect(page.locator("input[name=claim]").first).to_have_value(turns[0])


def test_every_label_counts_for_the_support_that_the_audit_gave(
    studio: StudioServer, audited_shop: Shop, visiting: Visiting
) -> None:
    page = visiting(studio).goto("/judges?label=claims")
    for given in range(1, 7):
        number = 1 if "shown-" in turn_of(page) else 4
        page.keyboard.press(str(number))
        expect(page.locator("h1")).to_contain_text(f"{given} label")
    agreement = page.locator("section[aria-labelledby=agreement]")
    expect(agreement).to_contain_text("100% (2 of 2, 95% ")
    expect(agreement).to_contain_text("2 more: unsure")


def turn_of(page: Page) -> str:
    return page.locator("details[data-raw]").first.get_attribute("data-raw") or ""


def test_the_page_says_nothing_of_the_verdict(studio: StudioServer, visiting: Visiting) -> None:
    page = visiting(studio).goto("/judges?label=claims")
    for _ in range(3):
        assert page.locator(".claims, .support, .diagnosis, .answer .claim:not(.not_checkable)").count() == 0
        assert page.locator(".call .rests").count() == 0
        assert SECRET not in page.content()
        page.locator("[data-do=skip]").click()


def test_a_team_labels_by_user_name_and_takes_back_only_its_own(audited_shop: Shop, visiting: Visiting) -> None:
    team = Team(proxy=LOOPBACK, header="x-user")
    with running(audited_shop.settings(), [audited_shop.traces], reads=False, team=team) as made:
        page = visiting(made, is_open=False, extra_http_headers={"x-user": "bo"}).goto("/judges?label=claims")
        page.keyboard.press("2")
        expect(page.locator("h1")).to_contain_text("1 label given")
        assert [one.by for one in labels(audited_shop)] == ["bo"]
        other = visiting(made, is_open=False, extra_http_headers={"x-user": "cy"}).goto("/judges?label=claims")
        expect(other.locator("h1")).to_contain_text("1 label given")
        expect(other.locator("[data-do=undo]")).to_have_count(0)


def test_a_studio_that_is_read_only_takes_no_label(audited_shop: Shop, visiting: Visiting) -> None:
    with running(audited_shop.settings(), [audited_shop.traces], reads=False, is_read_only=True) as made:
        visit = visiting(made)
        page = visit.goto("/judges?label=claims")
        expect(page.locator("article form")).to_have_count(0)
        csrf = re.search(r'name="csrf" value="([^"]+)"', page.content())
        assert csrf
        headers = {"Origin": made.address.url}
        form = {"csrf": csrf[1], "claim": "x", "given": "unseen"}
        for path in ("/judges/label-claim", "/judges/undo-claim"):
            assert page.request.post(f"{made.address.url}{path}", form=form, headers=headers).status == 403
    assert labels(audited_shop) == ()
