"""The invented project of `knowbound serve --demo`: a copy that can be changed, and sessions to look at."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from knowbound.config import Settings, load
from knowbound.demo import PROJECT, STUDIO, TRACES
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.validation import NewItem
from knowbound.store.data_dir import ITEMS
from knowbound.store.marking import check_data_folder

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
    return StudioDemo(settings, [TRACES], environ)
