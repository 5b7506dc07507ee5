"""Pictures of every page of the studio, light, dark, narrow and Chinese: `python -m bench.studio_pictures --out DIR`.

They show the demo's project and sessions, read into a temporary folder. `--readme` takes those of the README instead,
into docs/; `--look dark` takes one look alone. Needs Chromium (`apt-get install chromium fonts-noto-cjk`).
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from bench.measuring import options
from knowbound.review.review import review
from knowbound.web.app import LOOPBACK, Address, StudioServer, prepared
from knowbound.web.demo import lay_out_demo
from knowbound.web.pages import studio_pages

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
_SESSION = "bb80e294-95f5-5aa8-b72a-80c5e2aefb1a"
_FURTHER = {
    "turn": f"/at/{_SESSION}/18",
    "turn-top": f"/turn/{_SESSION}/1",
    "session": f"/session/{_SESSION}",
    "items": "/knowledge?items=all",
    "labels": "/judges?label=turns",
    "gap": "/gaps/retry_budget",
    "run": "/evaluations/2",
    "runs": "/evaluations/1/2",
    "wrong": "/nowhere",
}
_README = {"review": "/", "turn": f"/at/{_SESSION}/18", "knowledge": "/knowledge"}
_QUESTION = "Where is retry_budget?"
_DOCS = Path(__file__).parents[1] / "docs"
_SCREEN = {"width": 1280, "height": 860}
_LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": _SCREEN},
    "dark": {"color_scheme": "dark", "viewport": _SCREEN},
    "narrow": {"color_scheme": "light", "viewport": {"width": 320, "height": 720}},
    "chinese": {"color_scheme": "light", "viewport": _SCREEN},
}


def chromium(driver: Any) -> Browser:
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        sys.exit("no Chromium: apt-get install chromium fonts-noto-cjk")
    found: Browser = driver.chromium.launch(executable_path=program, args=ARGUMENTS)
    return found


def started(made: StudioServer) -> threading.Thread:
    thread = threading.Thread(target=made.run)
    thread.start()
    while not made.server.started and thread.is_alive():
        time.sleep(0.05)
    return thread


def main() -> None:
    """Take the pictures."""
    given = options(__doc__ or "", out=Path("studio-pictures"), look=[], readme=False)
    given.out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="knowbound-studio-") as folder, sync_playwright() as driver:
        demo = lay_out_demo(Path(folder))
        review(demo.traces, demo.settings, root_is_given=True)
        made = prepared(demo.settings, Address(LOOPBACK, 0), "demo", demo.traces, root_is_given=True, reads=False)
        thread, browser = started(made), chromium(driver)
        try:
            if given.readme:
                _take_for_readme(browser, made)
            else:
                for look in given.look or _LOOKS:
                    _take(browser, made, look, given.out)
                print(f"pictures in {given.out}")
        finally:
            browser.close()
            made.server.should_exit = True
            thread.join()


def _take_for_readme(browser: Browser, made: StudioServer) -> None:
    page = browser.new_context(**_LOOKS["light"], reduced_motion="reduce").new_page()
    page.goto(made.new_link())
    for name, path in _README.items():
        page.goto(f"{made.address.url}{path}")
        page.wait_for_load_state("load")
        page.screenshot(path=_DOCS / f"studio-{name}.png")
    print(f"pictures in {_DOCS}")


def _take(browser: Browser, made: StudioServer, look: str, folder: Path) -> None:
    page = browser.new_context(**_LOOKS[look], reduced_motion="reduce").new_page()
    page.goto(made.new_link())
    if look == "chinese":
        page.get_by_role("button", name="中文").click()
    for name, path in ({one.name: one.path for one in studio_pages()} | _FURTHER).items():
        page.goto(f"{made.address.url}{path}")
        page.wait_for_load_state("load")
        page.screenshot(path=folder / f"{name}-{look}.png", full_page=name != "turn")
    if look == "light":  # the page before it was empty
        page.goto(f"{made.address.url}/ask")
        page.locator("textarea").fill(_QUESTION)
        page.locator("form.ask button").click()
        page.locator("main section").first.wait_for()
        page.screenshot(path=folder / "answer-light.png", full_page=True)


if __name__ == "__main__":
    main()
