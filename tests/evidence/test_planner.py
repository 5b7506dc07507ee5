"""The planner: gaps choose the tool, nothing is called twice, and only it derives Verified."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.evidence import REQUIREMENTS, Evidence, EvidenceClass, Intent, Place, Quality, Strength
from knowbound.evidence.plan import Plan, Term, TermKind
from knowbound.evidence.planner import Collected, collect, corroborated, entries_that_count, search
from knowbound.evidence.producers.protocol import READER, SEARCH, Ask, Context, Producer

_SEARCH, _CONTENT = EvidenceClass.FILE_SEARCH, EvidenceClass.FILE_CONTENT


class Fake(Producer):
    """A producer that gives the quality and the places that a test wants."""

    def __init__(
        self,
        name: str,
        cls: EvidenceClass,
        quality: Quality,
        group: str = SEARCH,
        places: tuple[Place, ...] = (),
        suits: int = 5,
    ) -> None:
        self.name, self.cls, self.independent_of = name, cls, group
        self.quality, self.places, self.suits = quality, places, suits
        self.calls: list[Ask] = []

    def can(self, ask: Ask) -> int:
        return self.suits

    def produce(self, ask: Ask, context: Context) -> Evidence:
        self.calls.append(ask)
        return Evidence(
            self.cls, self.name, ask.target, ask.target, self.quality, Strength.LOW, self.places, len(self.places)
        )


def _collected(tools: list[Fake], tmp_path: Path, terms: tuple[str, ...] = ("x",), calls: int = 40) -> Collected:
    plan = Plan("?", Intent.LOCATE, tuple(Term(term, TermKind.IDENTIFIER, (term,)) for term in terms))
    return collect(plan, REQUIREMENTS[Intent.LOCATE], tools, Context(tmp_path), calls)


def test_the_best_suited_tool_is_asked_first_and_the_next_only_where_it_fails(tmp_path: Path) -> None:
    worse = Fake("grep", _SEARCH, Quality.WEAK, suits=3)
    better = Fake("references", _SEARCH, Quality.STRONG, suits=9)
    read = Fake("read", _CONTENT, Quality.MODERATE, READER)
    found = _collected([worse, better, read], tmp_path)
    assert [entry.tool for entry in found.entries] == ["references", "read"]
    assert worse.calls == []


def test_nothing_is_called_twice_and_the_loop_ends(tmp_path: Path) -> None:
    tools = [Fake("grep", _SEARCH, Quality.WEAK), Fake("find", _SEARCH, Quality.NONE)]
    found = _collected(tools, tmp_path, ("x", "y"))
    assert sorted((tool.name, ask.target) for tool in tools for ask in tool.calls) == [
        ("find", "x"), ("find", "y"), ("grep", "x"), ("grep", "y"),
    ]  # fmt: skip
    assert len(found.trail) == 4


def test_the_budget_of_calls_is_kept(tmp_path: Path) -> None:
    found = _collected([Fake("grep", _SEARCH, Quality.WEAK), Fake("find", _SEARCH, Quality.NONE)], tmp_path, calls=1)
    assert len(found.entries) == 1
    assert found.stopped


def test_no_tool_is_called_once_the_time_is_over(tmp_path: Path) -> None:
    context = Context(tmp_path, deadline=0.0)
    tools = [Fake("grep", _SEARCH, Quality.WEAK), Fake("find", _SEARCH, Quality.NONE)]
    plan = Plan("where is it?", Intent.LOCATE, (Term("it", TermKind.WORD, ("it",), ("it",)),))
    for found in (collect(plan, plan.needs, tools, context, 40), search(plan.terms, plan, tools, context, 40)):
        assert (found.entries, found.stopped) == ([], "the time is over")
    assert not any(tool.calls for tool in tools)


def test_the_same_file_and_symbol_from_two_independent_tools_is_verified_and_cites_both(tmp_path: Path) -> None:
    place = Place("a.py", 3, "Thing")
    search, read = (
        Fake("find", _SEARCH, Quality.STRONG, SEARCH, (place,)),
        Fake("read", _CONTENT, Quality.STRONG, READER, (place,)),
    )
    found = _collected([search, read], tmp_path)
    verified = [entry for entry in found.entries if entry.quality is Quality.VERIFIED]
    assert {entry.cls for entry in verified} == {_SEARCH, _CONTENT} or verified == []
    collected = Collected()
    collected.add(search.produce(Ask(_SEARCH, "x", Intent.LOCATE, "?"), Context(tmp_path)), search)
    collected.add(read.produce(Ask(_CONTENT, "x", Intent.LOCATE, "?"), Context(tmp_path)), read)
    first, second = corroborated(collected)
    assert (first.quality, first.cites, second.cites) == (Quality.VERIFIED, (0, 1), (0, 1))


@given(st.sampled_from(Quality), st.sampled_from(Quality), st.booleans(), st.booleans())
def test_two_search_tools_never_verify_and_the_searched_string_is_no_agreement(
    one: Quality, other: Quality, same_group: bool, same_place: bool
) -> None:
    context = Context(Path())
    first = Fake("find", _SEARCH, one, SEARCH, (Place("a.py", 3, "Thing"),))
    second = Fake(
        "read",
        _CONTENT,
        other,
        SEARCH if same_group else READER,
        (Place("a.py" if same_place else "b.py", 9, "Thing"),),
    )
    collected = Collected()
    for tool in (first, second):
        collected.add(tool.produce(Ask(tool.cls, "x", Intent.LOCATE, "?"), context), tool)
    both_strong = one.reaches(Quality.STRONG) and other.reaches(Quality.STRONG)  # a tool that says more says Strong
    assert bool(corroborated(collected)) == (both_strong and same_place and not same_group)


def test_an_authority_is_verified_alone() -> None:
    git = Fake("git log", EvidenceClass.GIT_LOG, Quality.STRONG, "git")
    git.authoritative = True
    collected = Collected()
    collected.add(git.produce(Ask(EvidenceClass.GIT_LOG, "", Intent.STATUS, "?"), Context(Path())), git)
    (verified,) = corroborated(collected)
    assert (verified.quality, verified.cites) == (Quality.VERIFIED, (0,))


def test_a_producer_cannot_say_verified(tmp_path: Path) -> None:
    tools = [Fake("grep", _SEARCH, Quality.VERIFIED), Fake("read", _CONTENT, Quality.VERIFIED, READER)]
    found = _collected(tools, tmp_path)
    assert {entry.quality for entry in found.entries} == {Quality.STRONG}


def test_a_disputed_class_is_never_more_than_moderate() -> None:
    ci = EvidenceClass.CI_WORKFLOW
    listed = Evidence(ci, "gh run list", "", "", Quality.STRONG, Strength.LOW)
    viewed = Evidence(ci, "gh run view", "", "", Quality.MODERATE, Strength.LOW, disputes=True)
    assert {entry.quality for entry in entries_that_count([listed, viewed])} == {Quality.MODERATE}
    assert entries_that_count([listed]) == [listed]


def test_what_another_collecting_brought_follows_with_its_numbers() -> None:
    def entry(tool: str, *cites: int) -> Evidence:
        return Evidence(_SEARCH, tool, "x", "x", Quality.STRONG, Strength.LOW, cites=cites)

    first, second = Collected(), Collected()
    first.add(entry("a"), None)
    second.add(entry("b"), None)
    second.add(entry("c", 0), None)
    second.stop("the time is over")
    first.join(second)
    assert [(one.tool, one.cites) for one in first.entries] == [("a", ()), ("b", ()), ("c", (1,))]
    assert (len(first.producers), first.trail, first.stopped) == (3, ["stopped: the time is over"], "the time is over")
    second.stopped = "later"
    first.join(second)
    assert first.stopped == "the time is over"


def test_a_search_goes_on_until_a_tool_finds_exactly_the_term(tmp_path: Path) -> None:
    weak, good = Fake("weak", _SEARCH, Quality.MODERATE, suits=9), Fake("good", _SEARCH, Quality.STRONG, suits=5)
    worse, never = Fake("worse", _SEARCH, Quality.WEAK, suits=1), Fake("never", _SEARCH, Quality.STRONG, suits=0)
    reader = Fake("read", _CONTENT, Quality.STRONG, suits=9)
    terms = [Term(text, TermKind.IDENTIFIER, (text,)) for text in ("x", "y")]
    tools = [never, worse, good, reader, weak]
    plan = Plan("?", Intent.LOCATE, ())
    found = search(terms, plan, tools, Context(tmp_path), 40)
    assert [(one.tool, one.target) for one in found.entries] == [
        ("weak", "x"),
        ("good", "x"),
        ("weak", "y"),
        ("good", "y"),
    ]
    assert [one.tool for one in search(terms, plan, tools, Context(tmp_path), 3).entries] == ["weak", "good", "weak"]
    assert search(terms, plan, tools, Context(tmp_path), 3).stopped == "3 calls were made"
    late = search(terms, plan, tools, Context(tmp_path, deadline=0.0), 40)
    assert (late.entries, late.stopped) == ([], "the time is over")
    equal = search(
        terms[:1], plan, [Fake("one", _SEARCH, Quality.WEAK), Fake("two", _SEARCH, Quality.WEAK)], Context(tmp_path), 9
    )
    assert [one.tool for one in equal.entries] == ["one", "two"]


def test_a_read_counts_where_the_best_search_found_its_file() -> None:
    def entry(cls: EvidenceClass, quality: Quality, *paths: str, disputes: bool = False, target: str = "x") -> Evidence:
        places = tuple(Place(path) for path in paths)
        return Evidence(cls, "t", "x", target, quality, Strength.LOW, places, disputes=disputes)

    best, weaker = entry(_SEARCH, Quality.STRONG, "a"), entry(_SEARCH, Quality.WEAK, "b")
    here, there = entry(_CONTENT, Quality.STRONG, "a", "c"), entry(_CONTENT, Quality.STRONG, "b")
    nowhere, other = entry(_CONTENT, Quality.NONE), entry(_CONTENT, Quality.STRONG, "b", target="y")
    assert entries_that_count([best, weaker, here, there, nowhere, other]) == [best, weaker, here, nowhere, other]
    disputing = entry(EvidenceClass.CI_WORKFLOW, Quality.WEAK, disputes=True)
    strong, moderate = (
        entry(EvidenceClass.CI_WORKFLOW, Quality.STRONG),
        entry(EvidenceClass.CI_WORKFLOW, Quality.MODERATE),
    )
    counted = entries_that_count([disputing, strong, moderate, best])
    assert [one.quality for one in counted] == [Quality.WEAK, Quality.MODERATE, Quality.MODERATE, Quality.STRONG]
