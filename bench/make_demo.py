"""Writes the traces of `knowbound demo`: two weeks of agents' work on an invented order platform.

    python -m bench.make_demo

The knowledge base in `src/knowbound/demo/project` lacks five things that the work needs. Three sessions search until
they find the retry budget of the mail provider, two until they find the consumer of events. Two ask for the staging
database, two guess the refund policy, two never learn how finance defines revenue. Most of what else the agents do goes
well. Nothing here is taken from a real session: people, company and code are made up.
"""

from __future__ import annotations

from collections.abc import Callable

from bench.demo_lines import (
    FOLDER,
    Claude,
    Codex,
    Patch,
    Shell,
    SubAgent,
    bash,
    edit,
    failed,
    glob,
    grep,
    grep_lines,
    missing,
    read,
)
from knowbound.demo import TRACES

REFUNDS = '''\
def refund(order: Order, amount: int, by: Agent) -> Refund:
    """Give back part of what was captured."""
    if amount > order.captured - order.refunded:
        raise RefundTooLarge(order.id)
    return billing.refund(order.id, amount, by.id)
'''
INVOICES = """\
def total(lines: list[Line]) -> int:
    return sum(line.net + tax(line) for line in lines)

def tax(line: Line) -> int:
    return round(line.net * line.rate)
"""
WORKER = """\
async def send(message: Message) -> None:
    try:
        await mail.deliver(message)
    except MailError:
        message.attempts += 1
        await queue.put(message)
"""
CONSUMER = """\
async def handle(event: Event) -> None:
    if await handled_events.add(event.id):
        await HANDLERS[event.name](event)
"""
LIMITS = "# Agreed with the mail provider.\n[outgoing]\nper_minute = 600\nretry_budget = 5  # attempts per message\n"
CAPTURE = "def charge_customer(order: Order) -> Capture:\n    return provider.capture(order.id, order.total)\n"


def partial_refunds() -> Claude:
    """The refund policy is guessed for the first time; then a release that goes well."""
    chat = Claude("partial refunds", "2026-10-05T09:12:04", branch="partial-refunds")
    chat.user("Support needs partial refunds: POST /orders/{id}/refunds with an amount. Please add the endpoint.")
    chat.says(
        "I'll look at how a full refund works today.",
        grep("def refund", "services", ("services/orders/refunds.py", "services/billing/ledger.py")),
    )
    chat.does(read("services/orders/refunds.py", REFUNDS), read("docs/orders-api.md"))
    chat.says("For how many days after delivery can a customer get a refund?", grep("refund_policy"))
    chat.does(glob("**/*refund*policy*"))
    chat.does(missing("docs/refund-policy.md"))
    chat.says(
        "[inferred] The refund policy allows 30 days after delivery.\n\nI'll keep the number in one setting.",
        edit("services/orders/api.py", "ROUTES = [cancel]", "ROUTES = [cancel, refund_part]"),
        edit("services/orders/settings.py", "CURRENCY =", "REFUND_DAYS = 30\nCURRENCY ="),
    )
    chat.does(bash("make test SERVICE=orders", "148 passed in 11.02s", purpose="Run the tests of orders"))
    chat.says("The endpoint is in, with tests for zero, one cent, the full amount and the last day.")
    chat.slash("release-service", "orders")
    chat.does(bash("make test SERVICE=orders", "148 passed in 10.87s", purpose="Run the tests of orders"))
    chat.does(
        edit("services/orders/CHANGELOG.md", "# Changes", "# Changes\n\n## 4.12.0\n\n- Partial refunds."),
        bash("make release SERVICE=orders", "tagged orders-4.12.0\nrolled out 3/3", purpose="Release orders"),
    )
    chat.says("orders 4.12.0 is out on all three instances. Error rate and queue length are flat after ten minutes.")
    return chat


def invoice_rounding() -> Claude:
    """A skill invoked by call; the answer rests on the knowledge base, but for one doubt."""
    chat = Claude("invoice rounding", "2026-10-05T14:40:31", branch="rounding")
    chat.user("Invoice 88213 is one cent off against what the provider captured. Can you find out why and fix it?")
    chat.skill("billing-change", "This moves money, so I'll use the billing-change skill.")
    chat.does(read(".claude/knowledge/money.md"), read("services/billing/invoices.py", INVOICES))
    chat.says(
        "Found it: `tax` multiplies a float rate, so 0.145 becomes 0.14499… and the line is rounded down. The rule "
        "in money.md is half to even per line, in integers. I'll compute in basis points.",
        edit(
            "services/billing/invoices.py", "round(line.net * line.rate)", "half_even(line.net * line.rate_bp, 10_000)"
        ),
    )
    chat.does(bash("make test SERVICE=billing", "203 passed in 14.50s", purpose="Run the tests of billing"))
    chat.says(
        "Fixed, with tests for one cent and for the largest amount. Two ways to treat old invoices: we could correct "
        "them in place, or write one adjustment row each; the second keeps the ledger append-only and I'd take it.\n\n"
        "I could not confirm whether the payment provider rounds the same way, because its contract isn't described "
        "anywhere in our docs."
    )
    chat.user("Adjustment rows, please.")
    chat.does(edit("services/billing/adjust.py", "pass", "for invoice in off_by_one():\n    ledger.adjust(invoice)"))
    chat.says("Done. `adjust.py` writes one row per invoice and can be run twice without writing it twice.")
    chat.slash("release-service", "billing")
    chat.does(bash("make release SERVICE=billing", "tagged billing-2.30.0\nrolled out 2/2", purpose="Release billing"))
    chat.says("billing 2.30.0 is out, and invoice 88213 now matches its capture to the cent.")
    return chat


def rename_capture() -> Claude:
    """A rename with checks that nothing is left, and a pattern with a stray quote; then a release."""
    chat = Claude("rename capture", "2026-10-06T08:55:17", branch="rename-capture")
    chat.user("Rename charge_customer to capture_payment everywhere, the old name confuses people.")
    hits = ("services/billing/capture.py", "services/billing/events.py", "services/billing/tests/test_capture.py")
    chat.says("I'll list where it is used.", grep("charge_customer", "services", hits))
    chat.does(read("services/billing/capture.py", CAPTURE))
    chat.does(
        edit("services/billing/capture.py", "def charge_customer(order", "def capture_payment(order"),
        edit("services/billing/events.py", "charge_customer(order)", "capture_payment(order)"),
        edit("services/billing/tests/test_capture.py", "charge_customer", "capture_payment"),
    )
    left = 'grep -rn "charge_customer" services || echo "none left"'
    chat.does(bash(left, "none left", purpose="Check that no reference to the old name is left"))
    chat.does(bash("make test SERVICE=billing", "203 passed in 14.61s", purpose="Run the tests of billing"))
    chat.says("Renamed in three files; the tests pass.")
    chat.user("The event customer_charged as well, please: payment_captured, as in docs/architecture.md.")
    chat.does(read("docs/architecture.md"))
    chat.does(grep('customer_charged"', "services"))
    chat.does(grep("customer_charged", "services", ("services/billing/events.py",)))
    chat.does(edit("services/billing/events.py", 'emit("customer_charged")', 'emit("payment_captured")'))
    check = 'grep -rn "customer_charged" services docs || echo "none left"'
    chat.does(bash(check, "none left", purpose="Verify that nothing emits the old event"))
    chat.says("Done; orders and the notifier already listened to the new name.")
    chat.slash("release-service", "billing")
    chat.does(bash("make release SERVICE=billing", "tagged billing-2.30.1\nrolled out 2/2", purpose="Release billing"))
    chat.says("billing 2.30.1 is out. The captured amount follows yesterday's curve.")
    return chat


def revenue_export() -> Claude:
    """The definition of revenue is searched under three names, by the agent and by a sub-agent (progress lines)."""
    chat = Claude("revenue export", "2026-10-06T13:20:45", branch="revenue-export", version="2.1.47")
    chat.user("Finance wants a nightly CSV with revenue per day and country. Use the columns they already know.")
    scout = SubAgent(
        chat,
        "Find revenue columns",
        "Find out which tables and columns finance uses for revenue in this repository. Report paths and columns.",
        own_file=False,
    )
    scout.does(grep("revenue_schema", "services/billing"))
    scout.does(grep("invoice_lines", "", ("services/billing/models.py", ".claude/knowledge/services.md")))
    scout.says("Billing has `invoice_lines(net, tax, country, captured_at)`. No file speaks of a revenue schema.")
    chat.task(
        scout,
        "I'll have the tables listed first.",
        "Billing has `invoice_lines(net, tax, country, captured_at)`. No file speaks of a revenue schema.",
    )
    chat.says("Which columns does finance call revenue?", grep("revenue_schema"))
    chat.does(grep("revenue_schema|revenue_columns"))
    chat.does(grep("revenueSchema|revenue_definition"))
    chat.says(
        "[inferred] Revenue is net without tax, booked on the day of capture, in the country of delivery.\n\n"
        "I'll build the export on that and keep the column names in one place, so that they are quick to change.",
        edit("services/billing/export.py", "COLUMNS = ()", 'COLUMNS = ("day", "country", "net")'),
    )
    chat.user("Ok for now, I'll ask them. The export needs an index on captured_at, please add the migration.")
    chat.skill("add-migration", "I'll follow the add-migration skill.")
    chat.does(glob("services/billing/migrations/*.sql", ("services/billing/migrations/0041_adjustments.sql",)))
    sql = "CREATE INDEX invoice_lines_captured_at ON invoice_lines (captured_at);"
    chat.does(edit("services/billing/migrations/0042_captured_at.sql", "--", sql))
    chat.does(bash("make migrate SERVICE=billing", "applied 0042_captured_at", purpose="Apply the migration"))
    chat.says("Migration 0042 adds the index; it ran in 0.4 s on the seeded database.")
    return chat


def double_mails() -> Claude:
    """The retry budget is found late; a rejected call, words in the queue, a time-out, and a line that was cut off."""
    chat = Claude("double mails", "2026-10-07T10:02:58", branch="notifier-retries")
    chat.user("Customers get some order confirmations twice since yesterday. What is the notifier doing?")
    chat.says("I'll start with the page about the notifier and its worker.", read("docs/notifier.md"))
    chat.does(read("services/notifier/worker.py", WORKER))
    chat.queued("the mail server had a bad day yesterday, timeouts all afternoon")
    rejection = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, "
        "the new_string was NOT written to the file). STOP what you are doing and wait for the user to tell you how "
        "to proceed."
    )
    restart = {"command": "make restart SERVICE=notifier", "description": "Restart the notifier"}
    chat.says(
        "A message that fails goes back to the queue without end, and is sent again when the mail server answers late.",
        failed("Bash", restart, rejection, "User rejected tool use"),
    )
    chat.user("No restarts during the day. Put a limit on the attempts instead, the one we agreed with the provider.")
    chat.says("How many attempts does the mail provider allow?", grep("retry_budget", "services"))
    chat.does(missing("docs/retry-budget.md"))
    chat.does(bash('rg -n "retry_budget|max_attempts" services docs', code=1, purpose="Find the limit for attempts"))
    search = {"command": "find / -name 'notifier*.toml'", "description": "Find the notifier's settings"}
    late = "Command timed out after 2m 0.0s"
    chat.does(failed("Bash", search, late, f"Error: {late}"))
    chat.does(grep_lines("retry.?budget", "deploy/mail/limits.toml:4:retry_budget = 5  # attempts per message"))
    chat.does(
        edit(
            "services/notifier/worker.py",
            "await queue.put(message)",
            "if message.attempts < limits.retry_budget: await queue.put(message)",
        )
    )
    chat.says("The worker now gives up after five attempts, as agreed, and keeps the id of what it has sent.")
    chat.slash("release-service", "notifier, after 18:00")
    chat.does(
        bash("make release SERVICE=notifier", "tagged notifier-1.9.4\nrolled out 2/2", purpose="Release notifier")
    )
    chat.says("notifier 1.9.4 is out. The queue drained in four minutes and no message was sent twice since.")
    chat.bare('{"parentUuid":null,"isSidechain":false,"userType":"external","cwd":"/home/dev/order-pl')
    return chat


def delivered_at() -> Claude:
    """A skill found by its file; the consumer is found elsewhere, the user is asked for the staging database."""
    chat = Claude("delivered at", "2026-10-08T09:31:12", branch="delivered-at")
    chat.user("Add orders.delivered_at and fill it from parcel_delivered.")
    chat.says("I'll read the skill for migrations first.", read(".claude/skills/add-migration/SKILL.md"))
    chat.does(read("docs/architecture.md"))
    column = "ALTER TABLE orders ADD COLUMN delivered_at timestamptz;"
    chat.does(edit("services/orders/migrations/0077_delivered_at.sql", "--", column))
    chat.does(bash("make migrate SERVICE=orders", "applied 0077_delivered_at", purpose="Apply the migration"))
    chat.says("Now the consumer, where parcel_delivered arrives.", missing("services/orders/consumer.py"))
    chat.does(glob("services/orders/**/consumer.py", ("services/orders/queue/consumer.py",)))
    chat.does(read("services/orders/queue/consumer.py", CONSUMER))
    chat.does(edit("services/orders/queue/consumer.py", "HANDLERS = {", "HANDLERS = {'parcel_delivered': delivered,"))
    chat.says("Step 4 of the skill asks for a run on the staging database.", grep("staging_database"))
    chat.does(bash('rg -n "staging.?(db|database)" deploy docs', code=1, purpose="Find the staging database"))
    chat.does(missing("docs/staging-database.md"))
    chat.says(
        "The migration and the handler are ready and tested on the local database. "
        "Which database is staging, and how do I reach it?"
    )
    chat.user("It's orders_stage on db-3: postgres://app:not-a-real-secret@db-3/orders_stage")
    chat.does(bash("make migrate SERVICE=orders ENV=stage", "applied 0077_delivered_at", purpose="Migrate staging"))
    chat.says("0077 ran on orders_stage in 1.2 s. The pull request can be opened.")
    return chat


def return_labels() -> Claude:
    """Injected context, a compaction, a path that the user gave, a skill by slash command: nothing is missing."""
    chat = Claude("return labels", "2026-10-09T11:05:40", branch="return-labels")
    chat.hook("SessionStart", "Open pull requests: #412 partial refunds (merged), #418 revenue export (in review).")
    told = f"Contents of {FOLDER}/CLAUDE.md (project instructions):\n\n# Order platform\n"
    wish = "A return should create a label. The carrier's API is in docs/contracts/carrier.md."
    chat.user(f"<system-reminder>\n{told}</system-reminder>\n{wish}")
    chat.says("I'll read the carrier's page and the events.", missing("docs/contracts/carrier.md"))
    chat.does(read(".claude/knowledge/services.md"), read("docs/architecture.md"))
    chat.says("The carrier's page isn't there. Could you paste the part about labels?")
    chat.user("Sorry, wrong branch. POST /labels with the order id, you get a PDF back.")
    chat.does(edit("services/orders/returns.py", "accept(order)", "accept(order)\nlabel = carrier.label(order.id)"))
    chat.does(bash("make test SERVICE=orders", "151 passed in 11.30s", purpose="Run the tests of orders"))
    chat.compacted("The user asked for return labels. Labels are created in returns.py; the tests pass.")
    chat.says("Labels are created when a return is accepted, and the PDF is attached to the confirmation.")
    chat.slash("billing-change", "charge 3.90 for a return label")
    chat.does(read("services/billing/invoices.py", INVOICES))
    chat.does(edit("services/billing/fees.py", "FEES = {}", 'FEES = {"return_label": 390}'))
    chat.does(bash("make test SERVICE=billing", "206 passed in 14.92s", purpose="Run the tests of billing"))
    chat.says(
        "A return label now costs 390 cents, as a line of its own. If a parcel is lost on its way back, the customer "
        "could be charged although nothing arrived; I added that case to the tests, where the fee is waived."
    )
    return chat


def refund_limit() -> Claude:
    """The refund policy is guessed again, in Chinese, and differently."""
    chat = Claude("refund limit", "2026-10-12T02:14:09", branch="refund-limit")
    chat.slash("billing-change", "客服退款要检查是否过期")
    chat.says(
        "我先看退款的代码和规则。", read("services/orders/refunds.py", REFUNDS), read(".claude/knowledge/money.md")
    )
    chat.does(grep("refund_policy"))
    chat.does(grep("refund_policy|退款政策", "docs"))
    chat.says(
        "【推断】refund_policy 是签收后 14 天内可以退款 (refunds are possible for 14 days after delivery)。",
        edit("services/orders/refunds.py", "by.id)", "by.id, days=settings.REFUND_WINDOW)"),
    )
    chat.does(bash("make test SERVICE=orders", "153 passed in 11.41s", purpose="Run the tests of orders"))
    chat.says("过期检查已经加到 refund()，天数放在 settings 里，测试覆盖了最后一天和之后一天。")
    chat.user("好的，我去问财务。")
    chat.says("收到。拿到数字后只需要改 REFUND_WINDOW。")
    chat.slash("release-service", "orders")
    chat.does(bash("make release SERVICE=orders", "tagged orders-4.13.0\nrolled out 3/3", purpose="Release orders"))
    chat.says("orders 4.13.0 已经上线，三个实例都正常。")
    return chat


def order_events() -> Claude:
    """A sub-agent with a file of its own, a miss that is found later, a sibling error; then a migration."""
    chat = Claude("order events", "2026-10-13T12:48:22", branch="event-ids", version="2.1.170")
    chat.user("Where do we keep the ids of handled events, and is it the same in all three services?")
    scout = SubAgent(
        chat,
        "Find handled event ids",
        "Find where each service stores the ids of events it has handled.",
        own_file=True,
    )
    scout.says("I'll open the consumers.", missing("services/orders/consumer.py"))
    scout.does(
        glob("services/**/consumer.py", ("services/orders/queue/consumer.py", "services/billing/queue/consumer.py")),
        grep("handled_events", "", ("services/orders/queue/consumer.py", "services/billing/queue/consumer.py")),
    )
    scout.says("orders and billing use the table `handled_events`; notifier keeps the ids in `outbox.event_id`.")
    chat.task(
        scout, "A sub-agent can look through the three services.", "orders, billing: handled_events; notifier: outbox."
    )
    cancelled = "<tool_use_error>Sibling tool call errored</tool_use_error>"
    chat.does(
        failed(
            "Read", {"file_path": f"{FOLDER}/docs"}, "EISDIR: illegal operation on a directory, read", "Error: EISDIR"
        ),
        failed("Grep", {"pattern": "event_id"}, cancelled, "Sibling tool call errored"),
    )
    chat.says(
        "Two of them use a table of their own (`handled_events` in orders and billing), the notifier uses "
        "`outbox.event_id`. All three keep the ids for thirty days."
    )
    chat.slash("add-migration", "give the notifier a handled_events table too")
    chat.does(
        edit("services/notifier/migrations/0013_handled_events.sql", "--", "CREATE TABLE handled_events (id uuid);")
    )
    chat.does(bash("make migrate SERVICE=notifier", "applied 0013_handled_events", purpose="Apply the migration"))
    chat.says("Migration 0013 creates the table; the worker writes to it in the same transaction as the outbox.")
    return chat


def broken_release() -> Claude:
    """A filter that finds nothing, and a release that the model never answers: a sample without a trace."""
    chat = Claude("broken release", "2026-10-14T15:30:00", branch="main")
    chat.user("Which version of the notifier is live?")
    chat.does(bash("git log --oneline -20 | grep -i rollback", code=1, purpose="Show rollbacks"))
    chat.does(bash("git tag --list 'notifier-*' --sort=-creatordate", "notifier-1.9.4", purpose="List the tags"))
    chat.says("notifier 1.9.4, tagged last Wednesday; it was not rolled back.")
    chat.slash("release-service", "notifier")
    chat.api_error('API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
    return chat


def revenue_query() -> Codex:
    """The definition of revenue again, from another agent, which gives up."""
    chat = Codex("revenue query", "2026-10-07T16:11:20", branch="weekly-numbers")
    chat.user("Write the query for the weekly revenue numbers, the same definition as in the finance dashboard.")
    chat.says("I'll look for the definition first.", Shell("rg -n revenue_schema .", code=1))
    missed = "cat: docs/revenue-schema.md: No such file or directory\n"
    chat.does(Shell("cat docs/revenue-schema.md", missed, 1))
    chat.does(Shell("cat .claude/knowledge/services.md", "# Services\n| billing | invoices, invoice_lines, ledger |\n"))
    chat.done(
        "The query is in `services/billing/sql/weekly.sql`. It sums `invoice_lines.net` by ISO week. I could not find "
        "how the finance dashboard defines revenue: a refund may count in the week of the order or in its own."
    )
    chat.user("Good enough. It takes four seconds, add what it needs to be fast.")
    chat.does(
        Shell(
            "cat .claude/skills/add-migration/SKILL.md",
            "# Add a migration\n\n1. Create services/<service>/migrations\n",
        )
    )
    chat.does(
        Patch("services/billing/migrations/0043_week.sql", "--", "CREATE INDEX ON invoice_lines (week, country);")
    )
    chat.done("Migration 0043 adds an index on week and country; the query takes 30 ms on the seeded database.")
    return chat


def retry_test() -> Codex:
    """The retry budget is found a second time, and a skill is read with the shell."""
    chat = Codex("retry test", "2026-10-08T14:22:51", branch="retry-test")
    chat.user("test_gives_up fails since the merge. Please fix it.")
    chat.does(Shell("make test SERVICE=notifier ARGS='-k gives_up'", "1 failed: assert 5 == 3\n", 1))
    chat.says(
        "The test expects three attempts; I'll look up what was agreed.", Shell("rg -n retry_budget services", code=1)
    )
    missed = "sed: can't read services/notifier/retry_budget.py: No such file or directory\n"
    chat.does(Shell("sed -n '1,80p' services/notifier/retry_budget.py", missed, 2))
    chat.does(Shell("rg -n retry_budget services docs compose.yaml", code=1))
    chat.does(Shell("rg -n retry_budget .", "deploy/mail/limits.toml:4:retry_budget = 5  # attempts per message\n"))
    chat.does(Patch("services/notifier/tests/test_worker.py", "attempts == 3", "attempts == limits.retry_budget"))
    chat.does(Shell("make test SERVICE=notifier", "97 passed in 6.10s\n"))
    chat.done("Five is right: deploy/mail/limits.toml has the retry budget. The test reads it from there now.")
    chat.user("Thanks. Add an index on outbox.sent_at, the test query is slow.")
    chat.does(
        Shell(
            "cat .claude/skills/add-migration/SKILL.md",
            "# Add a migration\n\n1. Create services/<service>/migrations\n",
        )
    )
    chat.does(Shell("ls services/notifier/migrations | tail -2", "0010_templates.sql\n0011_sent_at.sql\n"))
    chat.does(Patch("services/notifier/migrations/0012_sent_at.sql", "--", "CREATE INDEX ON outbox (sent_at);"))
    chat.done("Migration 0012 adds the index, and the query went from 900 ms to 4 ms on the seeded database.")
    return chat


def backoff() -> Codex:
    """The retry budget is found a third time; a check that an old name is gone."""
    chat = Codex("backoff", "2026-10-12T09:40:10", branch="notifier-backoff")
    chat.user("Give the notifier an exponential backoff that stays within what the mail provider allows.")
    chat.does(Shell("cat docs/notifier.md", "# Notifier\n\nA message that fails is tried again.\n"))
    chat.says("I need the retry budget before I choose the delays.", Shell("rg -n retry_budget services", code=1))
    missed = "sed: can't read docs/retry-budget.md: No such file or directory\n"
    chat.does(Shell("sed -n '1,80p' docs/retry-budget.md", missed, 2))
    chat.does(Shell("rg -n retry_budget services docs", code=1))
    chat.does(Shell("rg -n retry_budget .", "deploy/mail/limits.toml:4:retry_budget = 5  # attempts per message\n"))
    chat.does(
        Patch(
            "services/notifier/worker.py",
            "await queue.put(message)",
            "await queue.put(message, delay=2**message.attempts)",
        )
    )
    chat.does(Patch("services/notifier/settings.py", "MAX_TRIES = 5", "MAX_ATTEMPTS = limits.retry_budget"))
    chat.does(Shell('rg -n MAX_TRIES services || echo "no references left"', "no references left\n"))
    chat.done("The delays are 2, 4, 8, 16 and 32 seconds, with a jitter of ten percent: five attempts, as agreed.")
    return chat


def smoke_test() -> Codex:
    """The user is asked for the staging database again; the question before it is answered from the docs."""
    chat = Codex("smoke test", "2026-10-15T10:26:33")
    chat.user("Which events does billing read?")
    chat.does(
        Shell(
            "cat docs/architecture.md", "order_placed orders -> billing, notifier\nreturn_accepted orders -> billing\n"
        )
    )
    chat.done("`order_placed` and `return_accepted`.")
    chat.user("Release billing, and run the smoke test on staging before you roll out.")
    chat.does(
        Shell("cat .claude/skills/release-service/SKILL.md", "# Release a service\n\n1. make test SERVICE=<service>\n")
    )
    chat.does(Shell("make test SERVICE=billing", "206 passed in 14.88s\n"))
    chat.says("The smoke test wants the name of the staging database.", Shell("rg -n staging_database .", code=1))
    missed = "cat: docs/staging-database.md: No such file or directory\n"
    chat.does(Shell("cat docs/staging-database.md", missed, 1))
    chat.done("billing is tested and tagged. What is the staging database of billing called?")
    chat.user("billing_stage, on db-3 like the others.")
    chat.does(Shell("make smoke SERVICE=billing DATABASE=billing_stage", "12 passed\n"))
    chat.does(Shell("make release SERVICE=billing", "tagged billing-2.31.0\nrolled out 2/2\n"))
    chat.done("The smoke test passed on billing_stage, and billing 2.31.0 is out on both instances.")
    return chat


SESSIONS: tuple[Callable[[], Claude | Codex], ...] = (
    partial_refunds,
    invoice_rounding,
    rename_capture,
    revenue_export,
    double_mails,
    delivered_at,
    return_labels,
    refund_limit,
    order_events,
    broken_release,
    revenue_query,
    retry_test,
    backoff,
    smoke_test,
)


def files() -> dict[str, str]:
    """Every trace file with its content."""
    return {name: "\n".join(lines) + "\n" for session in SESSIONS for name, lines in session().files.items()}


def main() -> None:
    """Write every trace anew."""
    for old in TRACES.glob("*.jsonl"):
        old.unlink()
    for name, content in files().items():
        (TRACES / name).write_text(content, "utf-8")


if __name__ == "__main__":
    main()
