"""A small project with its sessions, written for the tests of lessons."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from knowbound.config import Settings, load
from knowbound.lessons.learn import Learned, learn
from tests.transcripts import Transcript

SCRIPTS = {"test": "vitest", "lint": "biome check", "lint:fix": "biome check --write", "api:generate": "openapi"}
REFUSED = (
    "\nGenerated client is not staged!\n\nYou changed the API. Run this command and stage the changes:\n\n"
    "    pnpm api:generate\n\nhusky - pre-commit script failed (code 1)"
)


@dataclass
class Shop:
    """The tree of a project, and the folder of its traces."""

    root: Path
    traces: Path
    sessions: int = 0

    def write(self, path: str, text: str = "x\n") -> None:
        """A file of the tree."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def session(self, tell: Callable[[Transcript], object], day: str = "2026-10-01") -> str:
        """One more session, on a day; gives its id."""
        self.sessions += 1
        id_ = f"{self.sessions:08d}-2222-4333-8444-555555555555"
        transcript = Transcript(id_, str(self.root)).user("Add a discount to the cart")
        tell(transcript)
        transcript.says("Done: the cart has a discount.")
        self.traces.mkdir(parents=True, exist_ok=True)
        path = self.traces / f"{id_}.jsonl"
        path.write_text(transcript.text().replace("2026-10-01T", f"{day}T"), "utf-8")
        return id_

    def settings(self) -> Settings:
        """The settings of the project."""
        return load(self.root)

    def learn(self) -> Learned:
        """What the sessions so far teach."""
        return learn([self.traces], self.settings(), root_is_given=True)

    def texts(self) -> list[str]:
        """The lines that are proposed now."""
        return [one.text for one in self.learn().lessons]


def make_shop(folder: Path) -> Shop:
    """A project with a manifest, instructions and a few sources."""
    shop = Shop(folder / "shop", folder / "traces")
    shop.write("package.json", json.dumps({"name": "shop", "scripts": SCRIPTS}, indent=2))
    shop.write("web/package.json", json.dumps({"name": "web", "scripts": {"dev": "vite"}}, indent=2))
    shop.write("CLAUDE.md", "# Shop\n\nA shop. Always prefix commands with `wrap`.\n")
    shop.write("src/cli/export.ts", "export function exportCommand() {\n  return 1\n}\n")
    shop.write("src/cart.ts", "export const cart = []\n")
    return shop
