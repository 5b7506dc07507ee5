"""Pictures of every page of the studio, light, dark, narrow and Chinese: `python -m bench.studio_pictures --out DIR`.

They show the demo's project and sessions, read into a temporary folder. Needs Chromium (`apt-get install chromium
fonts-noto-cjk`).
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from bench.measuring import options
from knowbound.review.review import review
from knowbound.web.demo import lay_out_demo
from knowbound.web.registry import PAGES
from knowbound.web.serve import LOOPBACK, Address, StudioServer, prepared

ARGUMENTS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
_TURN = "/at/bb80e294-95f5-5aa8-b72a-80c5e2aefb1a/18"
_LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 860}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 860}},
    "narrow": {"color_scheme": "light", "viewport": {"width": 360, "height": 760}},
    "chinese": {"color_scheme": "light", "viewport": {"width": 1280, "height": 860}},
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
    given = options(__doc__ or "", out=Path("studio-pictures"))
    given.out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix="knowbound-studio-") as folder, sync_playwright() as driver:
        demo = lay_out_demo(Path(folder))
        review(demo.traces, demo.settings, root_is_given=True)
        made = prepared(demo.settings, Address(LOOPBACK, 0), "demo", demo.traces, root_is_given=True, reads=False)
        thread, browser = started(made), chromium(driver)
        try:
            for look, how in _LOOKS.items():
                page = browser.new_context(**how).new_page()
                page.goto(made.new_link())
                if look == "chinese":
                    page.get_by_role("button", name="中文").click()
                _take(page, made, look, given.out)
        finally:
            browser.close()
            made.server.should_exit = True
            thread.join()
    print(f"pictures in {given.out}")


def _take(page: Page, made: StudioServer, look: str, folder: Path) -> None:
    paths = {one.name: one.path for one in PAGES} | {"turn": _TURN, "items": "/knowledge?items=all"}
    for name, path in paths.items():
        page.goto(f"{made.address.url}{path}")
        page.wait_for_load_state("load")
        page.screenshot(path=folder / f"{name}-{look}.png", full_page=name != "turn")


if __name__ == "__main__":
    main()
