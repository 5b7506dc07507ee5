"""What belongs together in a topic, in which order topics come, and what has none (docs/decisions/traces.md)."""

from __future__ import annotations

from msgspec.structs import replace

from knowbound.core.paths import project_folder, project_name
from knowbound.core.signal import WORTH, Cost, Ending, Findings, FoundPlace, Signal, SignalType, Status, Topic
from knowbound.core.trace import Outcome
from knowbound.gaps.topics import TOPICS, TopicNames, Topics

SHOP = "/home/ada/shop"


def miss(session: str, query: str, *names: str, at: str = "", calls: int = 3, **more: object) -> Signal:
    """A miss that was found, or stayed open where no place is given."""
    signal = Signal(
        SignalType.FAILED_SEARCH,
        Status.RESOLVED if at else Status.OPEN,
        session,
        1,
        f"{session}#1",
        query=query,
        names=names,
        ending=Ending.FOUND if at else Ending.WENT_ON,
        found_at=FoundPlace(at) if at else None,
        cost=Cost(calls, 2, 10.0, 500),
        said="Let me look at it.",
        file=f"/traces/{session}.jsonl",
        line=7,
    )
    return replace(signal, **more)


def doubt(session: str, text: str, *names: str, turn: int = 1, ending: Ending = Ending.GUESSED) -> Signal:
    return Signal(
        SignalType.HEDGING,
        Status.OPEN,
        session,
        turn,
        f"{session}#1",
        text=text,
        names=names,
        ending=ending,
        cost=Cost(),
    )


def ranked(*signals: Signal, here: str = "shop", folder: str = SHOP) -> list[Topic]:
    topics = Topics()
    for signal in signals:
        topics.add(Findings(signal.session, "claude-code", project=folder, ended="2026-11-01"), [signal])
    return topics.ranked(here)


class TestTogether:
    def test_misses_of_one_name_in_any_spelling_with_what_they_cost(self) -> None:
        (topic,) = ranked(
            miss("a", "vat_rates", "vatrates", at="docs/vat.md"),
            miss("b", "vatRates", "vatrates", at="docs/vat.md"),
            miss("c", "VAT-rates", "vatrates"),
        )
        assert (topic.sessions, topic.turns, topic.signals) == (3, 3, 3)
        assert topic.cost == Cost(9, 6, 30.0, 1500)
        assert topic.endings == {"found": 2, "went_on": 1}
        assert [(one.path, one.sessions) for one in topic.answer] == [("docs/vat.md", 2)]
        assert topic.is_open
        assert topic.proposed is None
        assert [(one.session, one.line) for one in topic.examples] == [("c", 7), ("a", 7), ("b", 7)]

    def test_a_doubt_that_names_what_was_missed(self) -> None:
        (topic,) = ranked(
            miss("a", "vat_rates", "vatrates"), doubt("b", "`vat_rates` is probably in finance.", "vatrates")
        )
        assert (topic.title, topic.sessions, topic.signals) == ("vat_rates", 2, 2)

    def test_doubts_of_one_turn_that_no_miss_is_about_are_not_lumped(self) -> None:
        topics = ranked(doubt("a", "Maybe it rounds."), doubt("a", "Docker may cache it."), doubt("a", "Hm.", turn=2))
        assert [topic.signals for topic in topics] == [1, 1, 1]

    def test_names_that_led_four_sessions_to_one_file(self) -> None:
        names = {"a": "hookData", "b": "onStop", "c": "hookData", "d": "onStop"}
        misses = [miss(session, name, name.lower(), at="src/hooks.go") for session, name in names.items()]
        (topic,) = ranked(*misses)
        assert (topic.title, topic.sessions) == ("hookData, onStop", 4)
        assert len(ranked(*misses[:3])) == 2  # two or three may be in one file by chance

    def test_files_that_two_sessions_took_to_be_in_one_folder(self) -> None:
        router = miss("a", "src/api/router.ts", "router", outcome=Outcome.MISSING)
        server = miss("b", "src/api/server.ts", "server", outcome=Outcome.MISSING)
        assert [topic.sessions for topic in ranked(router, server)] == [2]

    def test_not_over_projects(self) -> None:
        topics = Topics()
        for folder in (SHOP, "/home/ada/billing"):
            topics.add(Findings("s", "codex", project=folder), [miss(folder[-4:], "vat_rates", "vatrates")])
        assert [topic.project for topic in topics.ranked("billing")] == ["billing", "shop"]

    def test_a_signal_knows_its_topic_again(self) -> None:
        first, second = (
            miss("a", "hookData", "hookdata", at="src/hooks.go"),
            doubt("b", "`hookData` may be old.", "hookdata"),
        )
        topics = Topics()
        topics.add(Findings("a", "codex", project=SHOP), [first, second])
        (topic,) = topics.ranked()
        again = TopicNames(topics.names.known)
        assert again.id_of(first, "shop") == again.id_of(second, "shop") == topic.id


class TestNone:
    def test_checks_malformed_and_incidental_misses(self) -> None:
        statuses = (Status.VERIFICATION, Status.MALFORMED, Status.INCIDENTAL)
        assert ranked(*(replace(miss("a", "vat_rates", "vatrates"), status=status) for status in statuses)) == []

    def test_a_question_that_the_empty_result_answered(self) -> None:
        assert ranked(replace(miss("a", "vat_rates", "vatrates"), status=Status.RESOLVED, ending=None)) == []

    def test_a_path_that_was_there(self) -> None:
        drifted = miss("a", "src/main.py", "main", at="src/main.py", outcome=Outcome.MISSING)
        assert ranked(drifted) == []
        assert ranked(replace(drifted, found_at=FoundPlace("/home/ada/shop/src/main.py"))) == []

    def test_a_doubt_that_the_next_call_answered(self) -> None:
        assert ranked(replace(doubt("a", "It may be empty."), status=Status.RESOLVED, ending=Ending.FOUND)) == []


class TestOrder:
    def test_by_sessions_and_calls(self) -> None:
        often = [miss(one, "docs/a.md", "a", at="wiki/a.md") for one in "abc"]
        once = miss("d", "docs/b.md", "b", at="wiki/b.md", calls=5)
        assert [topic.title for topic in ranked(once, *often)] == ["docs/a.md", "docs/b.md"]

    def test_open_before_resolved(self) -> None:
        topics = ranked(miss("a", "docs/a.md", "a", at="wiki/a.md"), miss("b", "docs/b.md", "b"))
        assert [topic.title for topic in topics] == ["docs/b.md", "docs/a.md"]

    def test_a_file_before_a_name_before_a_doubt(self) -> None:
        file = miss("a", "docs/vat.md", "vat", at="wiki/vat.md")
        name, guess = miss("b", "vatRates", "vatrates", at="src/tax.py"), doubt("c", "Maybe.")
        topics = ranked(guess, name, file)
        assert [topic.title for topic in topics] == ["docs/vat.md", "vatRates", "Maybe."]
        assert topics[0].saves > topics[1].saves > topics[2].saves
        again = ranked(file, miss("d", "docs/vat.md", "vat", at="wiki/vat.md"))
        assert [topic.saves >= WORTH for topic in (topics[0], again[0])] == [False, True]

    def test_a_path_guessed_with_wildcards_counts_half_until_three_sessions_tried_it(self) -> None:
        sure, vague = (
            miss("a", "docs/vat.md", "vat", at="wiki/vat.md"),
            miss("b", "docs/*rat*.md", "rat", at="wiki/r.md"),
        )
        (path, pattern) = ranked(vague, sure)
        assert (path.title, pattern.saves) == ("docs/vat.md", path.saves / 2)
        (often,) = ranked(*(replace(vague, session=session) for session in "bcd"))
        assert often.saves == 9 * path.saves  # three times the sessions, each with three times the calls

    def test_the_project_at_hand_first_and_a_few_of_every_other(self) -> None:
        topics = Topics()
        for folder, number in ((SHOP, TOPICS + 5), ("/home/ada/billing", 60)):
            found = [miss(f"{folder}{at}", f"docs{at}/{at}x.md", f"{at}x") for at in range(number)]
            topics.add(Findings("s", "codex", project=folder), found)
        names = [topic.project for topic in topics.ranked("shop")]
        assert (names.count("shop"), names.count("billing"), names[0]) == (TOPICS, 50, "shop")


def test_the_folder_that_was_not_there_is_the_title() -> None:
    (topic,) = ranked(miss("a", "status", "commands", path="cmd/commands", outcome=Outcome.MISSING))
    assert topic.title == "cmd/commands"


def test_worktrees_are_the_project_they_are_of() -> None:
    for folder in (
        f"{SHOP}/.worktrees/fix",
        f"{SHOP}/.claude/worktrees/fix",
        f"{SHOP}__worktrees/fix",
        f"{SHOP}.worktrees/fix/api",
    ):
        assert (project_folder(folder), project_name(folder)) == (SHOP, "shop")
