"""A studio that runs, and a real Chromium to look at it.

Debian's package, driven by playwright. Where it is not installed (`apt-get install chromium`), the tests that need it
are skipped with that reason.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from knowbound.config import Settings
from knowbound.review.review import review
from knowbound.web.access import Team
from knowbound.web.app import LOOPBACK, Address, StudioServer, prepared
from tests.lessons.shop import Shop, make_shop
from tests.review.conftest import WRONG, looks_in_the_wrong_folder
from tests.services import until

_ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")


@contextmanager
def running(settings: Settings, paths: list[Path], **options: Any) -> Iterator[StudioServer]:
    """A studio that serves while the block runs."""
    made = prepared(settings, Address(LOOPBACK, 0), "ada", paths, root_is_given=True, **options)
    thread = threading.Thread(target=made.run)
    thread.start()
    try:
        until(lambda: made.server.started, lambda: not thread.is_alive())
        yield made
    finally:
        made.server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """A browser for the tests of a module; each test has a context of its own.

    It ends with the module: playwright keeps an event loop running meanwhile, and tests of others start their own.
    """
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=list(_ARGUMENTS))
        yield browser
        browser.close()


@dataclass
class Visit:
    """A tab of the browser, and everything that went wrong in it."""

    page: Page
    made: StudioServer
    problems: list[str] = field(default_factory=list)

    def goto(self, path: str) -> Page:
        """Open a page of the studio."""
        self.page.goto(f"{self.made.address.url}{path}")
        return self.page


Visiting = Callable[..., Visit]


@pytest.fixture
def visiting(chromium: Browser) -> Iterator[Visiting]:
    """Open a studio in a new context of the browser. The test fails if a page reports a problem."""
    visits: list[Visit] = []
    with ExitStack() as opened:

        def visit(made: StudioServer, *, is_open: bool = True, **options: Any) -> Visit:
            context: BrowserContext = chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
            opened.callback(context.close)
            one = Visit(context.new_page(), made)

            def note(text: str, is_error: bool = True) -> None:
                if is_error and not made.server.should_exit:  # its stream of events ends with the server
                    one.problems.append(text)

            one.page.on("console", lambda said: note(said.text, said.type == "error"))
            one.page.on("pageerror", lambda error: note(str(error)))
            visits.append(one)
            if is_open:
                one.page.goto(made.new_link())
            return one

        yield visit
    assert [one.problems for one in visits if one.problems] == []


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A project whose CLAUDE.md names a folder that is not there, and the sessions that looked there."""
    shop = make_shop(tmp_path)
    shop.write("CLAUDE.md", f"# Shop\n\nA shop.\n\n- {WRONG}\n- Be kind.\n")
    for _ in range(3):
        shop.session(looks_in_the_wrong_folder)
    return shop


@pytest.fixture
def read_shop(shop: Shop) -> Shop:
    """The same, after its sessions were read."""
    review([shop.traces], shop.settings(), root_is_given=True)
    return shop


@pytest.fixture
def studio(read_shop: Shop) -> Iterator[StudioServer]:
    """The studio of the shop, which shows what is stored."""
    with running(read_shop.settings(), [read_shop.traces], reads=False) as made:
        yield made


@pytest.fixture
def team_studio(read_shop: Shop) -> Iterator[StudioServer]:
    """The studio of the shop as a team sees it; a proxy on this machine names the users."""
    team = Team(proxy=LOOPBACK, header="x-user")
    with running(read_shop.settings(), [read_shop.traces], reads=False, team=team) as made:
        yield made
