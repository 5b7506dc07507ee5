from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from knowbound.cli.main import knowbound
from knowbound.core.item import Item
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from tests.stores import put_items

NAMES = (
    "ledger invoice parser worker cache router scheduler exporter gateway mailer indexer crawler billing search "
    "session upload thumbnail webhook audit quota tenant locale feature digest"
).split()
QUIET = (
    "Thanks, that looks good.",
    "Commit this.",
    "Rename the variable in this loop, {}.",
    "Why is the sky blue, {}?",
)


class Calibration:
    """A project with a store of a port for each service, and labelled prompts."""

    def __init__(self, root: Path) -> None:
        self.root, self.prompts = root, root / "prompts.jsonl"
        self.home = root / ".knowbound"
        backend = SqliteBackend(self.home)
        put_items(
            backend,
            *[Item(id=name, content=f"The {name} service listens on port {8000 + n}.") for n, name in enumerate(NAMES)],
        )
        KnowledgeStore([backend], Index(self.home)).close()

    def label(self, needing: int, left_alone: int) -> None:
        rows = [
            {"prompt": f"On which port does the {name} service listen?", "right": [name]} for name in NAMES[:needing]
        ]
        rows += [{"prompt": QUIET[n % 4].format(n), "right": [], "id": f"q{n}"} for n in range(left_alone)]
        self.prompts.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")

    def run(self, *words: str) -> Result:
        args = ["quality", "calibrate", str(self.prompts), "--root", str(self.root), *words]
        return CliRunner().invoke(knowbound, args, standalone_mode=False)

    def stored(self) -> dict[str, str]:
        names = ("items.db", "index.db")
        return {name: hashlib.sha256((self.home / name).read_bytes()).hexdigest() for name in names}


@pytest.fixture
def calibration(tmp_path: Path) -> Calibration:
    return Calibration(tmp_path)


def test_a_floor_is_recommended_from_the_store_of_the_project_and_nothing_is_changed(calibration: Calibration) -> None:
    calibration.label(needing=20, left_alone=20)
    before = calibration.stored()
    found = json.loads(calibration.run("--format", "json").output)
    best = found["recommended"]
    assert found["format"] == "knowbound.floor/1"
    assert (best["right"]["k"], best["right"]["n"]) == (20, 20)
    assert best["on_topic"]["value"] >= 0.85
    assert best["left_alone"]["value"] >= 0.95
    assert {"low", "high"} <= found["present"]["right"].keys()
    assert len(found["by_floor"]) >= 12
    assert [point["most_items"] for point in found["by_number"]] == [1, 2, 3, 6]
    assert calibration.stored() == before


def test_too_few_prompts_decide_nothing(calibration: Calibration) -> None:
    calibration.label(needing=5, left_alone=5)
    done = calibration.run("--strict")
    assert done.return_value == 3
    assert "Label 15 more that need an item and 15 more that need nothing" in done.output
    assert "relevance_floor" not in done.output
