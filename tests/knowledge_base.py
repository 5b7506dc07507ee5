"""A knowledge base in git and a test set for it: five commits that teach, and one that takes away.

The test set has direct questions, paraphrases in other words than the documents use, and decoys: questions whose
words stand in the documents from the first commit on, without the knowledge that they ask for.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import yaml

# Commit by commit: the files that are written; None takes one away.
COMMITS: tuple[tuple[str, dict[str, str | None]], ...] = (
    (
        "Begin with refunds and the on-call rota",
        {
            "CLAUDE.md": """# Harbour

Harbour is the shop platform of the parcel team. Read the documents before you answer.

- Money amounts are stored in cents, never as floating point numbers.
- Every change to a price needs a test.
""",
            "docs/refunds.md": """# Refunds

## Approval

A refund above 500 EUR needs two approvals from the finance team. Smaller refunds are approved by support alone.

## Partial refunds

Partial refunds are booked in the table `refund_entries`, one row for each order line.
""",
            "docs/on-call.md": """# On call

## Rota

The rota changes every Monday at 09:00. The person on call carries the blue phone.

## Escalation

When nobody answers within fifteen minutes, the pager calls the head of platform.

## To do

- Write down how many times labels are retried after a failure of the job.
- Write down the signature over the body of webhooks.
""",
        },
    ),
    (
        "Tell how to deploy and how to go back",
        {
            "docs/deploy.md": """# Deploying

## Steps

Run `make release` on the main branch. The pipeline builds the image, runs the smoke tests and asks for a go.

## Rollback

To go back to the last version run `make rollback`. It takes about two minutes and keeps the database as it is.

## Freeze

From 20 December to 2 January nothing is deployed.
""",
        },
    ),
    (
        "Tell about carriers, labels and webhooks",
        {
            "docs/labels.md": """# Labels

## Printing

Labels are printed by the service `labeld`. It retries a job three times; after the third failure the job is parked in
the queue `labels-parked`.

## Carriers

DHL and GLS are asked over their web services, Hermes by a nightly file on the SFTP server.
""",
            "docs/webhooks.md": """# Webhooks

## Signature

Each webhook carries the header `X-Harbour-Signature`, an HMAC-SHA256 over the body with the shop's secret.

## Delivery

A webhook that gets no answer is sent again for 24 hours, with growing pauses.
""",
        },
    ),
    (
        "Tell how long customer data is kept",
        {
            "docs/privacy.md": """# Privacy

## Retention

Addresses of customers are deleted 90 days after delivery. Invoices are kept for ten years.

## Requests

Requests for deletion go to privacy@harbour.example and are answered within a month.
""",
        },
    ),
    (
        "Tell what tests a price change needs",
        {
            "docs/prices.md": """# Prices

## Rounding

Prices are rounded half up to whole cents, after the discount and before the tax.

## Discounts

At most one voucher can be used for an order; it is taken off before shipping.
""",
        },
    ),
)
REMOVAL: tuple[str, dict[str, str | None]] = (
    "Drop the old runbooks",
    {"docs/webhooks.md": None, "docs/deploy.md": None, "docs/labels.md": None},
)

# id → prompt, and what the answer must contain. The comment says in which commit the knowledge comes.
SAMPLES: tuple[tuple[str, str, str, str], ...] = (
    # 1
    ("refund-approvals", "direct", "How many approvals does a refund above 500 EUR need?", "two approvals"),
    ("refund-sign-off", "paraphrase", "Which team approves a refund above 500 EUR?", "finance"),
    ("partial-refunds", "direct", "Where are partial refunds booked?", "refund_entries"),
    ("money-type", "direct", "How are money amounts stored?", "cents"),
    ("rota", "direct", "When does the on-call rota change?", "Monday"),
    ("escalation", "paraphrase", "Whom does the pager call when nobody answers?", "platform"),
    # 2
    ("release", "direct", "Which command deploys a release?", "make release"),
    ("rollback", "direct", "How do I do a rollback?", "make rollback"),
    ("undo-deploy", "paraphrase", "How do I go back to the last version?", "rollback"),
    ("freeze", "direct", "When is nothing deployed in the freeze?", "December"),
    # 3
    ("printer-retries", "decoy", "How many times are labels retried after a failure of the job?", "retries a job"),
    ("webhook-signing", "decoy", "What is the signature over the body of webhooks?", "HMAC"),
    ("webhook-retry", "paraphrase", "For how long is a webhook without an answer sent again?", "24 hours"),
    ("hermes", "direct", "How is Hermes asked for labels?", "SFTP"),
    ("parked", "direct", "Where do label jobs go after the third failure?", "labels-parked"),
    ("carriers", "direct", "Which carriers are asked over web services?", "DHL"),
    # 4
    ("addresses", "paraphrase", "After how many days are addresses of customers deleted?", "90 days"),
    ("deletion", "direct", "Where do requests for deletion go?", "privacy@"),
    # 5
    ("rounding", "direct", "How are prices rounded?", "half up"),
    # never
    ("price-owner", "decoy", "Which team owns the price tests on Mondays?", "team"),
)


def git(folder: Path, *arguments: str) -> str:
    """Git without anybody's own settings."""
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    given = ("-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false", "-c", "gc.auto=0")
    ran = subprocess.run(
        ("git", "-C", str(folder), *given, *arguments), check=True, capture_output=True, text=True, env=environ
    )
    return ran.stdout.strip()


def begin(folder: Path) -> Path:
    """An empty knowledge base in git, with the test set beside it (not committed: it is fixed)."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("eval-samples.yaml\n.knowbound/\n", "utf-8")
    rows = [
        {"sample_id": id_, "prompt": prompt, "construct": kind, "assertions": [{"type": "contains", "value": wanted}]}
        for id_, kind, prompt, wanted in SAMPLES
    ]
    (folder / "eval-samples.yaml").write_text(yaml.safe_dump(rows, sort_keys=False, allow_unicode=True), "utf-8")
    return folder


def commit(folder: Path, step: tuple[str, dict[str, str | None]]) -> str:
    """Write what a step brings, commit it, and give the commit."""
    message, files = step
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")
