"""The invented project of `knowbound serve --demo`: a copy that can be changed, and sessions to look at."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from knowbound.config import Settings, load
from knowbound.core.item import Item
from knowbound.core.quality import ItemVerdict, LoggedItem, QualityTurn
from knowbound.demo import PROJECT, STUDIO, TRACES
from knowbound.evals.evaluate import EvalPlan, evaluate
from knowbound.evals.samples.load import load_samples
from knowbound.kms.listing import ItemFilter, items_page
from knowbound.kms.opening import open_knowledge_store, open_quality_log
from knowbound.kms.validation import NewItem
from knowbound.quality.rollup import roll_up
from knowbound.store.data_dir import ITEMS
from knowbound.store.marking import check_data_folder
from knowbound.text.printable import estimated_tokens

_FOLDER = "studio"
_CODE = {
    "services/orders/queue/consumer.py": "async def handle(event):\n    await HANDLERS[event.name](event)\n",
    "services/orders/refunds.py": "def refund(order, amount):\n    return billing.refund(order.id, amount)\n",
    "services/billing/invoices.py": "def total(lines):\n    return sum(line.net + tax(line) for line in lines)\n",
    "services/notifier/worker.py": "async def send(message):\n    await mail.deliver(message)\n",
}
_ITEMS = (
    "A message to a customer is tried five times: retry_budget in `deploy/mail/limits.toml`.",
    "Refunds go through `billing.refund()`, which writes a negative ledger row.",
    "Events are deduplicated by their id in `services/orders/queue/consumer.py`.",
    "The invoices of a month are made by `services/billing/monthly.py` on its first day.",
    "Tax is rounded half to even for each line of an invoice, never for its total.",
)
# Measured turns: a prompt, the item that was injected for it, and whether it was on topic, used, contradicted.
_MEASURED = (
    ("How often is a mail to a customer tried again?", 0, True, True, False),
    ("Write the refund of a partial return.", 1, True, True, False),
    ("Add a column for the carrier to orders.", 1, False, False, False),
    ("Make the consumer skip events that it has handled.", 2, True, True, False),
    ("Why is the limit of outgoing mail not applied?", 0, True, False, False),
    ("Round the tax of a credit note.", 4, True, False, True),
)
_DAYS = 28
_CONTRADICTION = "Tax is rounded half up for each line of an invoice, never for its total."
_WRITTEN_LATER = ("docs/notifier.md", "docs/orders-api.md")  # written between the two evaluations


class StudioDemo(NamedTuple):
    """The demo's settings, its traces, and the variables that lead another process to its data folder."""

    settings: Settings
    traces: list[Path]
    environ: dict[str, str]


def lay_out_demo(home: Path) -> StudioDemo:
    """Copy the demo's project below a data folder, unless it is there: fixes of an earlier visit stay."""
    folder = home.absolute() / "demo" / _FOLDER
    root = folder / "order-platform"
    if not root.exists():
        draft = folder / ".order-platform"
        shutil.rmtree(draft, ignore_errors=True)
        shutil.copytree(PROJECT, draft)
        shutil.copytree(STUDIO, draft, dirs_exist_ok=True)
        for path, code in _CODE.items():
            (draft / path).parent.mkdir(parents=True, exist_ok=True)
            (draft / path).write_text(code, "utf-8")
        draft.rename(root)
    environ = {"KNOWBOUND_HOME": str(folder / ".knowbound")}
    settings = load(root, environ=environ)
    check_data_folder(settings.home, is_given=True)
    if not (settings.home / ITEMS).exists():
        with closing(open_knowledge_store(settings, by="demo")) as store:
            store.add_many([NewItem(content=content, subject="order-platform") for content in _ITEMS])
            with store.index.reading() as connection:
                items = {
                    item.item.content: item.item for item in items_page(connection, ItemFilter.ALL, "", "", 50).items
                }
        with closing(open_quality_log(settings)) as log:
            for turn in _invented_turns([items[content] for content in _ITEMS]):
                log.put(turn)
            roll_up(log, ())
        _evaluate_twice(settings)
    return StudioDemo(settings, [TRACES], environ)


def _invented_turns(items: Sequence[Item]) -> Iterator[QualityTurn]:
    """Yield the invented turns of the last four weeks; in the older half less of what is injected is of use."""
    today = datetime.now(UTC)
    for days_ago in range(_DAYS, 0, -1):
        for number, (prompt, item_index, on_topic, used, contradicted) in enumerate(_MEASURED):
            # A contradiction is on two days only; of the others about a third is left out.
            if (contradicted and days_ago not in (4, 11)) or (not contradicted and (days_ago + number) % 3 == 0):
                continue
            item, is_new = items[item_index], days_ago <= _DAYS // 2
            verdict = ItemVerdict(
                item.id,
                on_topic=on_topic and (is_new or number != 0),
                used=used and (is_new or number % 2 != 0),
                contradicted=contradicted,
                correction=_CONTRADICTION if contradicted else "",
                judge="demo",
            )
            content, sha = item.content, item.content_sha
            logged = LoggedItem(item.id, "sqlite", content, len(content), content_sha=sha, verdict=verdict)
            time = (today - timedelta(days=days_ago)).strftime(f"%Y-%m-%dT{9 + number:02}:10:00Z")
            yield QualityTurn(
                f"demo-{days_ago}", f"turn-{number}", time, "claude-code", user_prompt=prompt, judge="demo",
                scored_at=time, injected_items=(logged,), injected_tokens=estimated_tokens(content),
                prompt_ms=21.0 + number, stop_ms=9.0,
            )  # fmt: skip


def _evaluate_twice(settings: Settings) -> None:
    """Evaluate the test set twice: before and after two of the documents were written."""
    plan = EvalPlan(load_samples(settings.root / "eval-samples.yaml", settings.root))
    for name in _WRITTEN_LATER:
        (settings.root / name).unlink()
    evaluate(plan, settings)
    for name in _WRITTEN_LATER:
        shutil.copy(PROJECT / name, settings.root / name)
    evaluate(plan, settings)
