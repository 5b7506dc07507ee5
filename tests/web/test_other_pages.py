"""Gaps, Injection, Evaluations, Ask and Judges in a real browser: topics, answers, labels, a run as it grows."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from playwright.sync_api import expect

from knowbound.evals.evaluate import EvalPlan, evaluate
from knowbound.evals.samples.load import load_samples
from knowbound.judge.labels import LABELS, TURN_LABELS, ItemLabel, read_labels, read_turn_labels
from knowbound.review.review import review
from knowbound.stats.evaluation import SampleRun
from knowbound.store.evaluations import Evaluations
from knowbound.web.app import StudioServer
from knowbound.web.demo import lay_out_demo
from tests.lessons.shop import Shop
from tests.transcripts import Transcript
from tests.web.conftest import Visiting, running

PAGES = ("/gaps", "/injection", "/evaluations", "/ask", "/judges")
SAMPLES = """\
- sample_id: port
  prompt: On which port does the orders service listen?
- sample_id: refund
  prompt: Who approves a refund above the limit?
"""
HOSTILE = "<script>document.title='taken'</script><img src=x onerror=alert(1)> \x1b[31mred\x1b[0m \u202egnp"


@pytest.fixture
def busy_shop(shop: Shop) -> Shop:
    """A shop whose agents looked for a schema that nobody wrote down, and doubted."""
    for number in range(3):
        session = Transcript(f"lost-{number}").user("Write the export.").grep("revenue_schema").grep("revenue schema")
        session.says(f"I could not find revenue_schema, so I assume the columns. {HOSTILE}").write(shop.traces)
    review([shop.traces], shop.settings(), root_is_given=True)
    return shop


@pytest.fixture
def studio(busy_shop: Shop) -> Iterator[StudioServer]:
    with running(busy_shop.settings(), [busy_shop.traces], reads=False) as made:
        yield made


def run_samples(shop: Shop) -> None:
    shop.write("docs/orders.md", "# Orders\n\nThe orders service listens on port 8080.\n")
    shop.write("eval-samples.yaml", SAMPLES)
    settings = shop.settings()
    evaluate(EvalPlan(load_samples(settings.root / "eval-samples.yaml", settings.root)), settings)


def test_a_topic_leads_to_every_call_that_missed(studio: StudioServer, visiting: Visiting) -> None:
    page = visiting(studio).goto("/gaps")
    expect(page.locator("h1")).to_contain_text("that agents missed")
    page.get_by_role("link", name="revenue_schema").first.click()
    expect(page.locator("ol.met li")).not_to_have_count(0)
    places = page.locator("ol.met a[href^='/at/lost-']")
    expect(places.first).to_have_attribute("href", "/at/lost-0/2")


def test_text_of_sessions_stays_text(studio: StudioServer, visiting: Visiting) -> None:
    page = visiting(studio).goto("/gaps")
    for link in page.locator("h2 a").all():
        page.goto(f"{studio.address.url}{link.get_attribute('href')}")
        break
    page.goto(f"{studio.address.url}/judges")
    assert "taken" not in page.title()
    assert page.locator("main img, main script").count() == 0


def test_a_sentence_is_labelled_with_one_key_and_with_the_name_of_who_did_it(
    studio: StudioServer, busy_shop: Shop, visiting: Visiting
) -> None:
    page = visiting(studio).goto("/judges")
    said = page.locator("article q").inner_text()
    page.keyboard.press("y")
    expect(page.locator("h1")).to_contain_text("1 label given")
    (label,) = read_labels(busy_shop.settings().home / LABELS).labels
    assert label.by == "ada"
    assert label.text[:20] in said


def test_the_injected_item_of_a_turn_is_labelled_with_three_keys(tmp_path: Path, visiting: Visiting) -> None:
    demo = lay_out_demo(tmp_path)
    with running(demo.settings, demo.traces, reads=False) as made:
        page = visiting(made).goto("/judges?label=turns")
        expect(page.locator("fieldset")).to_have_count(3)
        for key in "yyn":
            page.keyboard.press(key)
        expect(page.locator("h1")).to_contain_text("1 label given")
    (turn,) = read_turn_labels(demo.settings.home / TURN_LABELS).labels
    assert turn.by == "ada"
    assert [*turn.labels.values()] == [ItemLabel(on_topic=True, used=True, contradicted=False)]


def test_a_question_is_asked_and_its_trail_is_shown(studio: StudioServer, busy_shop: Shop, visiting: Visiting) -> None:
    busy_shop.write("src/ports.py", "ORDERS_PORT = 8080\n")
    page = visiting(studio).goto("/ask")
    page.get_by_label("Question").fill("where is ORDERS_PORT defined")
    page.get_by_role("button", name="Ask").click()
    expect(page.locator("h1")).to_have_text("where is ORDERS_PORT defined")
    expect(page.locator("main")).to_contain_text("src/ports.py")
    expect(page.get_by_role("heading", name="Trail")).to_be_visible()


def test_a_correction_is_accepted_with_one_key_and_taken_back(tmp_path: Path, visiting: Visiting) -> None:
    demo = lay_out_demo(tmp_path)
    with running(demo.settings, demo.traces, reads=False) as made:
        page = visiting(made).goto("/injection")
        expect(page.locator("h1")).to_contain_text("1 correction to answer")
        said = page.get_by_label("Its replacement").input_value()
        page.keyboard.press("a")
        expect(page.locator("h1")).to_have_text("No correction waits for an answer.")
        page.goto(f"{made.address.url}/knowledge?items=all")
        new = page.locator(".items li", has_text=said)
        expect(new).to_contain_text("replaces")
        page.go_back()
        page.keyboard.press("u")
        expect(page.locator("h1")).to_contain_text("1 correction to answer")


def test_two_runs_are_compared_sample_by_sample(studio: StudioServer, busy_shop: Shop, visiting: Visiting) -> None:
    run_samples(busy_shop)
    run_samples(busy_shop)
    page = visiting(studio).goto("/evaluations")
    expect(page.locator("tbody tr")).not_to_have_count(0)
    page.get_by_role("link", name="compare").first.click()
    expect(page.locator("h1")).to_have_text("Comparison of two evaluations")
    page.goto(f"{studio.address.url}/evaluations/1")
    expect(page.locator("main")).to_contain_text("refund")


def test_a_run_that_goes_on_is_watched_as_it_grows(studio: StudioServer, busy_shop: Shop, visiting: Visiting) -> None:
    page = visiting(studio).goto("/evaluations")
    with closing(Evaluations(busy_shop.settings().home)) as store:
        journal = store.begin("key", "plan", "2026-11-01T10:00:00Z", 2)
        store.note(journal, "port", SampleRun("port", answer="It listens on port 8080."))
        expect(page.locator(".going h2")).to_have_text("Going on: 1 of 2 runs have ended", timeout=30_000)
        store.note(journal, "refund", SampleRun("refund", answer="Nobody knows."))
        expect(page.locator(".going h2")).to_have_text("Going on: 2 of 2 runs have ended", timeout=30_000)
        expect(page.locator(".going li").first).to_contain_text("Nobody knows.")


def test_a_team_sees_the_pages_and_can_label_but_not_ask(team_studio: StudioServer, visiting: Visiting) -> None:
    page = visiting(team_studio, is_open=False, extra_http_headers={"x-user": "bo"}).goto("/ask")
    expect(page.locator("main")).to_contain_text("asking is switched off")
    assert page.locator("form.ask").count() == 0
    answer = page.request.post(f"{team_studio.address.url}/ask", form={"question": "where"})
    assert answer.status == 403


def test_an_empty_project_has_pages_that_say_what_to_do(shop: Shop, visiting: Visiting) -> None:
    with running(shop.settings(), [], reads=False) as made:
        visit = visiting(made)
        for path in PAGES:
            expect(visit.goto(path).locator("h1")).not_to_be_empty()


def test_every_page_fits_a_narrow_screen_in_chinese(studio: StudioServer, visiting: Visiting) -> None:
    visit = visiting(studio, viewport={"width": 320, "height": 700})
    visit.page.get_by_role("button", name="中文").click()
    for path in PAGES:
        page = visit.goto(path)
        assert page.evaluate("document.documentElement.scrollWidth") <= 320, path
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")


def test_an_address_that_leads_nowhere_is_said_so(studio: StudioServer, visiting: Visiting) -> None:
    visit = visiting(studio)
    for path in ("/gaps/none", "/evaluations/99", "/evaluations/a/b"):
        expect(visit.goto(path).locator("h1")).to_contain_text("There is no such")
    assert len([one for one in visit.problems if "404" in one]) == 3
    visit.problems.clear()
