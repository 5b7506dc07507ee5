"""The target of a lookup or of a sentence, in one spelling."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.signal import Ending, FoundPlace, Status
from knowbound.core.trace import Outcome, ToolCall, ToolKind
from knowbound.gaps import wanted
from knowbound.gaps.wanted import (
    NOWHERE,
    Wanted,
    asks,
    asks_whether,
    concludes_absence,
    finds,
    gives_up,
    is_about_a_path,
    is_question_tool,
    last_sentence,
    topic_names,
    wanted_by,
    wanted_in,
)
from tests.gaps.stories import SHOP, call, read, search
from tests.gaps.test_endings import miss
from tests.transcripts import PROJECT, Transcript


@pytest.mark.parametrize(
    ("sentence", "names"),
    [("Maybe `vat_x` is old.", {"vatx"}), ("Maybe `x_y` is old.", set()), ("See docs/rate.md.", {"rate"})],
)
def test_a_name_in_a_sentence_has_four_letters_or_more(sentence: str, names: set[str]) -> None:
    assert wanted_in(sentence).names == names


def test_a_folder_that_was_not_there_is_what_was_looked_for(tmp_path: Path) -> None:
    transcript = Transcript().user("go")
    transcript.bash("grep -rn status cmd/refunds", "grep: cmd/refunds: No such file or directory", code=2)
    found = miss(transcript.read(f"{PROJECT}/internal/refunds.go").says("done"), tmp_path)
    assert (found.names, found.ending, found.found_at) == (
        ("refunds",),
        Ending.FOUND,
        FoundPlace("internal/refunds.go"),
    )


def test_a_listing_of_the_folder_shows_what_is_there_instead_at_no_one_place(tmp_path: Path) -> None:
    transcript = Transcript().user("go").read(f"{PROJECT}/docs/plans/ledger_export.md", there=False)
    found = miss(transcript.bash("ls docs/plans", "refunds.md").says("done"), tmp_path)
    assert (found.status, found.ending, found.found_at) == (Status.RESOLVED, Ending.FOUND, None)


@pytest.mark.parametrize(
    ("pattern", "names", "words"),
    [
        ("refundLedger", ["refundledger"], ["ledger", "refund"]),
        ("def handleRefund|class RefundBook", ["handlerefund", "refundbook"], ["book", "refund"]),
        ("\\bvat\\w+", [], []),
        ("foo bar carrier", ["carrier"], ["carrier"]),
        ("abcd", ["abcd"], ["abcd"]),
        ("abc", [], []),
        ("config|ledgerBook", ["ledgerbook"], ["book", "ledger"]),
        ("退款 账本", [], ["账本", "退款"]),
        ("a|" * 11 + "lastNameHere", ["lastnamehere"], ["her", "last"]),
        ("a|" * 12 + "lastNameHere", [], []),  # twelve alternatives are looked at
    ],
)
def test_a_pattern_names_the_longest_identifier_of_each_alternative(
    pattern: str, names: list[str], words: list[str]
) -> None:
    found = wanted_by(search(pattern), SHOP)
    assert (sorted(found.names), sorted(found.words), found.path) == (names, words, "")


@pytest.mark.parametrize(
    ("path", "names", "words", "in_tree", "called"),
    [
        ("/work/shop/docs/vat.md", ["vat"], [], "docs/vat.md", ("vat",)),
        ("src/**/*refund*.py", ["refund"], ["refund"], "src/**/*refund*.py", ("refund",)),
        ("/work/shop/.claude/worktrees/x/src/pay.py", ["pay"], [], "src/pay.py", ("pay",)),
        ("docs/plans/", ["plans"], ["plan"], "docs/plans/", ("plans",)),
        ("*.md", [], [], "*.md", ()),
        (
            "x/refund/ledger/book.test.ts",
            ["book"],
            ["book", "ledger", "refund"],
            "x/refund/ledger/book.test.ts",
            ("book",),
        ),
        ("tax/refund/ledger/book.ts", ["book"], ["book", "ledger", "refund"], "tax/refund/ledger/book.ts", ("book",)),
        (".lint.yml", ["lint"], ["lint"], ".lint.yml", ("lint",)),
        ("~/notes/ab.md", [], ["not"], "~/notes/ab.md", ("ab",)),
        ("~/notes/abc.md", ["abc"], ["not"], "~/notes/abc.md", ("abc",)),
        ("docs/a.md docs/vatRates.md", ["vatrates"], ["rat"], "docs/a.md docs/vatRates.md", ("a",)),
        ("./", [], [], "", ()),
        ("{a,b}/[cd]/refund?.py", ["refund"], ["refund"], "{a,b}/[cd]/refund?.py", ("refund?",)),
        ("config.py", ["config"], [], "config.py", ("config",)),
        ("docs/config.md", ["config"], [], "docs/config.md", ("docs/config",)),
    ],
)
def test_a_path_names_its_last_part_and_is_shown_from_its_tree(
    path: str, names: list[str], words: list[str], in_tree: str, called: tuple[str, ...]
) -> None:
    missed = read(path, there=False)
    found = wanted_by(missed, SHOP)
    assert (sorted(found.names), sorted(found.words), found.path) == (names, words, in_tree)
    assert topic_names(missed, found, SHOP) == called


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("refundLedger handle_refund plain", ("handlerefund", "refundledger")),
        ("vatRates taxRates", ("taxrates", "vatrates")),
        ("plain words", ()),
        ("退款账本", ("退款账本",)),
    ],
)
def test_a_search_is_remembered_by_what_only_code_spells_so_longest_first(query: str, names: tuple[str, ...]) -> None:
    missed = search(query)
    assert topic_names(missed, wanted_by(missed, SHOP), SHOP) == names


@pytest.mark.parametrize(
    ("call_", "is_path"),
    [
        (search("a*b"), True),
        (search("a/b"), True),
        (search("a/b|c"), False),
        (search("a.*b"), False),
        (search("a b/c"), False),
        (search("x+/y"), False),
        (search("ab"), False),
        (read("x"), True),
        (call(ToolKind.LIST, "x"), True),
        (call(ToolKind.SHELL, "x"), False),
    ],
)
def test_a_lookup_is_for_files_or_for_text_in_them(call_: ToolCall, is_path: bool) -> None:
    assert is_about_a_path(call_) is is_path


def test_something_wanted_has_a_name_or_a_word() -> None:
    none = frozenset[str]()
    assert not Wanted(none, none, "docs/")
    assert Wanted(frozenset("a"), none)
    assert Wanted(none, frozenset("a"))


def test_a_sentence_is_about_names_of_code_and_long_words_in_it() -> None:
    found = wanted_in("See docs/rate.md and getUser in `GitHubApp`, SomeProduct carriers.")
    assert sorted(found.names) == ["getuser", "githubapp", "rate"]
    assert {"carrier", "getuser"} <= found.words
    assert "github" not in found.words
    assert wanted_in("x" * 1_500 + " vat_rates") == Wanted(frozenset(), frozenset({"x" * 1_500}))


def shows(output: str, kind: ToolKind = ToolKind.SEARCH, query: str = "q", **more: object) -> ToolCall:
    return call(kind, query, **{"outcome": Outcome.OK, "output": output, **more})  # type: ignore[arg-type]


LEDGER = Wanted(frozenset({"refundledger"}), frozenset({"refund", "ledger"}))


@pytest.mark.parametrize(
    ("call_", "place"),
    [
        (shows("src/a.py:12: refundLedger = 1"), FoundPlace("src/a.py", 12)),
        (shows("nothing\nsrc/b.py-3-refund_ledger"), FoundPlace("src/b.py", 3)),
        (shows("12: refund_ledger"), NOWHERE),
        (shows("12: refund_ledger", where="src/a.py"), FoundPlace("src/a.py", 12)),
        (shows("  src/refundLedger.py "), FoundPlace("src/refundLedger.py")),
        (shows("refundLedger here", paths=("a.py",)), FoundPlace("a.py")),
        (shows("refundLedger here", paths=("a.py", "b.py")), NOWHERE),
        (shows("refundLedger", ToolKind.READ, "src/x.py"), FoundPlace("src/x.py")),
        (shows("refundLedger", ToolKind.SHELL, "cat"), NOWHERE),
        (shows("x\n" * 399 + "a.py:1: refundLedger"), FoundPlace("a.py", 1)),
        (shows("x\n" * 400 + "a.py:1: refundLedger"), NOWHERE),  # 400 lines are looked through
        (shows("nothing of it"), None),
        (shows("", paths=("src/refundLedger.py",)), FoundPlace("src/refundLedger.py")),
        (shows("src/refundLedger.py:7: x", paths=("src/refundLedger.py",)), FoundPlace("src/refundLedger.py", 7)),
        (shows("", query="refundLedgers"), NOWHERE),
        (shows("", query="other"), None),
    ],
)
def test_a_call_that_shows_the_name_has_found_it_at_the_place_that_it_shows(
    call_: ToolCall, place: FoundPlace | None
) -> None:
    assert finds(call_, LEDGER, SHOP) == place


def test_looking_inside_takes_a_name_of_six_letters_and_can_be_left_out() -> None:
    assert finds(shows("a.py:1: refundLedger"), LEDGER, SHOP, looks_inside=False) is None
    assert finds(shows("a.py:1: vatsum"), Wanted(frozenset({"vatsum"}), frozenset()), SHOP) == FoundPlace("a.py", 1)
    assert finds(shows("a.py:1: vatxs"), Wanted(frozenset({"vatxs"}), frozenset()), SHOP) is None
    assert finds(shows("a.py:1: x"), Wanted(frozenset(), frozenset({"x"})), SHOP) is None


@pytest.mark.parametrize(
    ("path", "name", "is_named"),
    [
        ("a/abc.py", "abc", True),
        ("a/xabcdex.py", "abcde", True),  # a long name inside of it
        ("a/abcde.py", "xabcdex", True),  # or it inside of a long name
        ("a/abcd.py", "xabcdx", False),
        ("a/xabcdx.py", "abcd", False),
        ("a/b/", "b", True),
        ("a/.lint.yml", "lint", True),
        ("abc/d.py", "abc", False),
    ],
)
def test_a_file_is_named_so_by_its_stem(path: str, name: str, is_named: bool) -> None:
    assert wanted._path_has_name(path, frozenset({name})) is is_named


@pytest.mark.parametrize(
    ("name", "other", "is_shared"),
    [
        ("abc", "abc", True),
        ("abcde", "xabcdex", True),
        ("xabcdex", "abcde", True),
        ("abcd", "xabcdx", False),
        ("xabcdx", "abcd", False),
    ],
)
def test_a_name_of_five_letters_counts_inside_another(name: str, other: str, is_shared: bool) -> None:
    assert wanted._shares_name(frozenset({name}), frozenset({other, "zzzzzzz"})) is is_shared


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("/work/shop/a.py", FoundPlace("a.py", 3)),
        ("docs/x", FoundPlace("docs/x", 3)),
        ("README", NOWHERE),
        ("a b.py", NOWHERE),
    ],
)
def test_output_is_a_place_if_it_looks_like_a_path(path: str, place: FoundPlace) -> None:
    assert wanted._as_place(path, 3, SHOP) == place


@pytest.mark.parametrize(
    ("missed", "call_", "is_there"),
    [
        ("docs/plans/x.md", call(ToolKind.LIST, "docs/plans/"), True),
        ("docs/plans/x.md", call(ToolKind.LIST, "docs/plans/y.md"), True),
        ("docs/plans/x.md", call(ToolKind.LIST, "/work/shop/docs/plans"), True),
        ("docs/plans/x.md", search("q", where="docs/plans"), True),
        ("docs/plans/x.md", call(ToolKind.LIST, "docs"), False),
        ("docs/plans/x.md", call(ToolKind.READ, "docs/plans/y.md"), False),
        ("x.md", call(ToolKind.LIST, "docs"), False),
        ("docs/*/x.md", call(ToolKind.LIST, "docs/*"), False),
    ],
)
def test_a_listing_of_the_same_folder_answers_a_missed_path(missed: str, call_: ToolCall, is_there: bool) -> None:
    found = finds(call_, Wanted(frozenset({"zzz"}), frozenset(), missed), SHOP)
    assert found == (NOWHERE if is_there else None)


def test_the_line_of_a_file_is_the_first_that_the_result_shows() -> None:
    assert wanted._line_in(shows("a.py:7: x\nb.py:9: y\nb.py:10: z"), "b.py") == 9
    assert wanted._line_in(shows("z\na.py-7- x"), "a.py") == 7
    assert wanted._line_in(shows("a.py:7: x"), "b.py") == 0


ABOUT = frozenset({"ledger"})


@pytest.mark.parametrize(
    ("said", "gave_up"),
    [
        ("I cannot find the ledger.", True),
        ("Done. No luck with ledger.", True),
        ("No luck. The ledger is old.", False),
        ("The ledger is there.", False),
        ("x " * 990 + ". No luck, ledger.", True),
        ("x " * 1_000 + ". No luck, ledger.", False),
    ],
)
def test_giving_up_is_said_in_a_sentence_about_the_thing(said: str, gave_up: bool) -> None:
    assert gives_up(said, ABOUT) is gave_up


@pytest.mark.parametrize(
    ("said", "is_asked"),
    [
        ("Where is the ledger?", True),
        ("账本 ledger？", True),
        ("The ledger. Why?", False),
        ("Where is the ledger? " + "x" * 1_975, True),
        ("Where is the ledger? " + "x. " * 1_000, False),
    ],
)
def test_a_question_about_the_thing_is_near_the_end(said: str, is_asked: bool) -> None:
    assert asks(said, ABOUT) is is_asked


@pytest.mark.parametrize(
    ("said", "is_absent"),
    [
        ("There is no ledger.", True),
        ("I looked. There is no ledger.", True),
        ("I looked. I read. There is no ledger.", False),
        ("There is no ledger; I could not find it.", False),
        ("Fine.", False),
    ],
)
def test_the_first_two_sentences_can_conclude_that_it_is_not_there(said: str, is_absent: bool) -> None:
    assert concludes_absence(said) is is_absent


def test_words_around_a_call() -> None:
    assert (last_sentence("One. Two."), last_sentence(""), last_sentence("x. " * 300 + "Two.")) == ("Two.", "", "Two.")
    assert is_question_tool(call(ToolKind.OTHER, "x", name="ask_user_question"))
    assert not is_question_tool(call(ToolKind.OTHER, "x", name="Ask"))
    assert asks_whether(search("x", purpose="Check if there"), "")
    assert asks_whether(search("x"), "Let me see whether it is.")
    assert not asks_whether(search("x"), "Is it still used? Let me read.")
