"""The plan of a question: terms, kinds, and the places of them that are asked for, case by case."""

from __future__ import annotations

from knowbound.core.evidence import Intent
from knowbound.evidence.plan import Focus, Term, read_plan, term_of


def shown(term: Term) -> str:
    """A term as a line: its kind, text and words, and what else the question says about it."""
    signs = (
        f", {term.focus}" * (term.focus is not Focus.DEFINITION), f", within {term.within}" * bool(term.within),
        f", names {' '.join(term.names)}" * bool(term.names), ", definition asked" * term.asks_definition,
        ", action asked" * term.asks_action, ", proposed" * term.is_proposed,
    )  # fmt: skip
    return f"{term.kind} {term.text!r} ({' '.join(term.words)}){''.join(signs)}"


def test_what_a_question_names_and_asks_of_it() -> None:
    cases: list[tuple[str, str, list[str]]] = [
        (
            "Where is the retry middleware defined?",
            "locate",
            ["phrase 'retry middleware' (retry middleware), definition asked, action asked"],
        ),
        ("Where is retry defined?", "locate", ["identifier 'retry' (retry), definition asked, action asked"]),
        (
            "Where are Retry and Budget defined?",
            "locate",
            [
                "identifier 'Retry' (retry), definition asked, action asked",
                "identifier 'Budget' (budget), definition asked, action asked",
            ],
        ),
        ("Who calls make_client?", "navigate", ["identifier 'make_client' (make client), uses"]),
        (
            "Who calls make_client in src/pool.py?",
            "navigate",
            ["file 'src/pool.py' (src pool py)", "identifier 'make_client' (make client), within src/pool.py"],
        ),
        ("Where is src/pool.py used?", "navigate", ["file 'src/pool.py' (src pool py)"]),
        ("Who uses the connection pool?", "navigate", ["phrase 'connection pool' (connection pool), uses"]),
        (
            "What calls `lend` and `close`?",
            "navigate",
            ["identifier 'lend' (lend), uses", "identifier 'close' (close), uses"],
        ),
        ("Where is RETRY_LIMIT read?", "locate", ["identifier 'RETRY_LIMIT' (retry limit), occurrences, action asked"]),
        (
            "Where is the retry budget enforced?",
            "locate",
            [("description 'retry budget enforced' (retry budget enforced), occurrences, action asked")],
        ),
        (
            "Where is the budget defined and checked?",
            "locate",
            ["description 'budget checked' (budget checked), definition asked, action asked"],
        ),
        (
            "Compare RowBox and ColumnBox.",
            "compare",
            ["identifier 'RowBox' (row box)", "identifier 'ColumnBox' (column box)"],
        ),
        (
            "Compare the retry budget and the voucher cache",
            "compare",
            ["phrase 'retry budget' (retry budget)", "phrase 'voucher cache' (voucher cache)"],
        ),
        ("Compare pool versus queue", "compare", ["word 'pool' (pool)", "word 'queue' (queue)"]),
        ("Difference between RowBox and rows?", "compare", ["identifier 'RowBox' (row box)", "word 'rows' (rows)"]),
        ("Compare x, y", "compare", ["word 'x' (x)", "word 'y' (y)"]),
        ("Explain pool.py", "explain", ["file 'pool.py' (pool py)"]),
        (
            "How does pool.py close connections?",
            "explain",
            ["file 'pool.py' (pool py)", "description 'close connections' (close connections), within pool.py"],
        ),
        ("Where in pool.py is it?", "locate", ["file 'pool.py' (pool py)"]),
        ("What is in src/pool/?", "locate", ["file 'src/pool/' (src pool)"]),
        ("Where is `Owner.member` and `member`?", "locate", ["identifier 'member' (member)"]),
        ("Where is a::b->c#d?", "locate", ["identifier 'a::b->c#d' (a b c d)"]),
        ("Where is it?", "locate", []),
        ("thanks!", "chat", []),
        (
            "Where is the 重试预算 enforced?",
            "locate",
            ["description '重试 预算 enforced' (重试 预算 enforced), occurrences, action asked"],
        ),
        ("Find the -x flag", "locate", ["option '-x' (x)"]),
        ("Find --no-input and `x y`", "locate", ["quote 'x y' (x y)", "option '--no-input' (no input)"]),
        ("Where is 'ab'?", "locate", ["word 'ab' (ab)"]),
        (
            "Where is 'abc' and “long quote here”?",
            "locate",
            ["identifier 'abc' (abc)", "quote 'long quote here' (long quote here)"],
        ),
        ("Where is the Pool?", "locate", ["identifier 'Pool' (pool)"]),
        ("Pool is where?", "locate", ["identifier 'Pool' (pool)"]),
        (
            "Where is Pool used in Queue?",
            "navigate",
            ["identifier 'Pool' (pool), uses", "identifier 'Queue' (queue), uses"],
        ),
        ("What raises LockError?", "locate", ["description 'LockError raises' (raises), names LockError"]),
        (
            "Where is LockError raised by the pool?",
            "locate",
            ["description 'LockError pool' (pool), occurrences, names LockError, action asked"],
        ),
        ("How long are invoices kept?", "locate", ["description 'invoices kept' (invoices kept)"]),
        ("Who approves refunds?", "locate", ["description 'approves refunds' (approves refunds)"]),
        ("Where is the retried budget?", "locate", ["phrase 'retried budget' (retried budget)"]),
        ("the retry budget", "locate", ["phrase 'retry budget' (retry budget)"]),
        ("retry budget", "locate", ["phrase 'retry budget' (retry budget)"]),
        ("Where is retry, budget?", "locate", ["description 'retry budget' (retry budget)"]),
        ("Where is x?", "locate", []),
        ("Where is the y z thing?", "locate", []),
        ("What is HTTP2 and OAuth?", "locate", ["identifier 'HTTP2' (http 2)", "identifier 'OAuth' (o auth)"]),
        ("Where is app.push(x)?", "locate", ["identifier 'app.push' (app push x)"]),
        ("Where is @decorator.name?", "locate", ["identifier 'decorator.name' (decorator name)"]),
        ("Where is pool.unknownending?", "locate", ["identifier 'pool.unknownending' (pool unknownending)"]),
        (
            "Review error handling of queue.py",
            "review",
            ["file 'queue.py' (queue py)", "phrase 'error handling' (error handling), within queue.py"],
        ),
        (
            "Where does the pool wait and lend connections twice daily?",
            "locate",
            ["description 'pool wait lend connections daily' (pool wait lend connections daily)"],
        ),
        ("Find Redis Cache", "locate", ["identifier 'Redis' (redis)", "identifier 'Cache' (cache)"]),
        (
            "Where is redis-cache implemented?",
            "locate",
            ["phrase 'redis-cache' (redis cache), definition asked, action asked"],
        ),
        ('Where is "" here?', "locate", []),
        ("Where is ROW and row?", "locate", ["description 'ROW row' (row)"]),
        ("Describe the Lock", "explain", ["identifier 'Lock' (lock)"]),
        ("Locate Lock. Where is Lock?", "locate", ["description 'Lock Locate' (locate), names Lock"]),
    ]
    for question, intent, terms in cases:
        plan = read_plan(question)
        assert (plan.intent, [shown(term) for term in plan.terms]) == (intent, terms)


def test_a_text_is_a_term_by_the_way_it_is_written() -> None:
    cases: list[tuple[str, str | None]] = [
        ("RetryMiddleware", "identifier 'RetryMiddleware' (retry middleware)"),
        ("Pool", "identifier 'Pool' (pool)"),
        ("pool", "word 'pool' (pool)"),
        ("POOL", "identifier 'POOL' (pool)"),
        ("retry_limit", "identifier 'retry_limit' (retry limit)"),
        ("app.push()", "identifier 'app.push' (app push)"),
        ("app.push(a, b)", "identifier 'app.push' (app push a b)"),
        ("push(x)", "identifier 'push' (push x)"),
        ("@decorator.name", "identifier 'decorator.name' (decorator name)"),
        ("src/app/main.py", "file 'src/app/main.py' (src app main py)"),
        ("main.py", "file 'main.py' (main py)"),
        ("main.unknown", "identifier 'main.unknown' (main unknown)"),
        ("src/", "word 'src/' (src)"),
        ("a b/c.py", "phrase 'a b/c.py' (a b c py)"),
        ("--force", "option '--force' (force)"),
        ("-f", "option '-f' (f)"),
        ("-", None),
        ('"Too many"', "quote 'Too many' (too many)"),
        ("`pool`", "identifier 'pool' (pool)"),
        ("`pool close`", "quote 'pool close' (pool close)"),
        ("'abc'", "identifier 'abc' (abc)"),
        ("retry budget", "phrase 'retry budget' (retry budget)"),
        ("throttle", "word 'throttle' (throttle)"),
        ("  spaced out  ", "phrase 'spaced out' (spaced out)"),
        ("?!", None),
        ("", None),
        ("Two Words", "phrase 'Two Words' (two words)"),
        ("éa", "phrase 'éa' (é a)"),
        ("a-b", "phrase 'a-b' (a b)"),
        ("Pool!", "identifier 'Pool' (pool)"),
        ("x::y", "identifier 'x::y' (x y)"),
        ("$jquery", "word '$jquery' (jquery)"),
        ("aB", "identifier 'aB' (a b)"),
        ("ABc", "identifier 'ABc' (a bc)"),
        ("A1", "identifier 'A1' (a 1)"),
    ]
    for text, term in cases:
        found = term_of(text)
        assert (shown(found) if found else None) == term


def test_sixteen_terms_of_200_characters_are_taken_each_once() -> None:
    given = [f"term_{number}" for number in range(17)]
    assert [term.text for term in read_plan("Where is it?", None, [*given, *given]).proposed] == given[:16]
    [long] = read_plan("Where is it?", None, ["x" * 201]).proposed
    assert len(long.text) == 200
    assert read_plan("Where is the pool?", None, ["pool"]).targets == ("pool",)
    plan = read_plan("Where is the pool?", None, ["queue limit", "pool"], "m")
    assert (plan.targets, plan.by) == (("pool",), "m")
    assert (plan.words, plan.proposed_words) == (("pool", "queue", "limit"), ("queue", "limit", "pool"))
    assert plan.subject == "Where is the pool? queue limit pool"
    assert read_plan("Where is 重试预算?", Intent.LOCATE).words == ("重试", "预算")
