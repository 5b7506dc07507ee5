"""Results of a team in a real mongod: the same pages as in SQLite, taken over by other machines, and erased."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pymongo
import pytest

from knowbound.agent.forget import Selection, forget
from knowbound.audit.audit import audit
from knowbound.config import Settings, load
from knowbound.core.signal import Findings
from knowbound.errors import ConfigError
from knowbound.gaps.observe import observe
from knowbound.kms.team_results import AUDITED, FINDINGS, RESULT, REVIEW, SESSION, TURN, MongoResults, open_results
from knowbound.report.formats.json import json_text
from knowbound.report.observe import render_observe
from knowbound.review.review import Reviewed, review
from knowbound.store.listing import ResultPages, SqliteResults
from knowbound.traces import sessions
from knowbound.web.pages import sessions as sessions_page
from tests.services import emptied
from tests.store.test_listing import SESSIONS, audited, findings, key_of
from tests.store.test_listing import home as listed_home  # noqa: F401  (a fixture)
from tests.transcripts import Transcript

IDS = [f"{number:08d}-2222-4333-8444-555555555555" for number in range(12)]


def _client(url: str) -> pymongo.MongoClient[dict[str, Any]]:
    return pymongo.MongoClient(url)


@pytest.fixture
def url(mongo_url: str) -> str:
    return emptied(mongo_url)


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    for number, id_ in enumerate(IDS):
        transcript = Transcript(id_, "/work/shop").user("Add a discount").grep(f"thing_{number % 3}")
        transcript.read("/work/shop/src/cart.ts").says("I am not sure. All tests pass.")
        transcript.write(tmp_path / "traces", f"{number}.jsonl")
    return tmp_path / "traces"


@pytest.fixture
def machine(tmp_path: Path, url: str) -> Callable[..., Settings]:
    def of(name: str, **changed: Any) -> Settings:
        given: dict[str, Any] = {"home": tmp_path / name, "cluster_mongo_url": url} | changed
        return replace(load(tmp_path), **given)

    return of


def printed(traces: Path, settings: Settings) -> str:
    found, signals = observe([traces], settings)
    listed = [json.loads(json_text(one)) for one in signals]
    return render_observe(found, "json", width=100, colour=False).replace(found.made, "") + json_text(listed)


def documents(url: str, collection: str) -> int:
    with _client(url) as client:
        return int(client.get_default_database("knowbound")[collection].count_documents({}))


@pytest.fixture
def both(listed_home: Path, url: str) -> Iterator[list[ResultPages]]:  # noqa: F811
    with closing(SqliteResults(listed_home)) as ours, closing(MongoResults(url)) as team:
        for _ in range(2):  # a repeated write changes nothing
            team.put(AUDITED, [(key_of(one), "x", audited(one)) for one in range(SESSIONS)])
            team.put(FINDINGS, [(key_of(one), "x", findings(one)) for one in range(SESSIONS)])
        yield [ours, team]


def test_every_question_has_the_answer_that_sqlite_gives(both: list[ResultPages]) -> None:
    def asked(results: ResultPages) -> list[object]:
        found: list[object] = [
            results.counts("project"),
            results.counts("agent"),
            results.counts("diagnosis"),
            results.counts("diagnosis", session="s07"),
        ]
        found.append(results.counts("diagnosis", project="shop"))
        given: dict[str, str]
        for given in ({}, {"project": "shop"}, {"agent": "codex"}, {"project": "api", "since": "2026-11-05"}):
            found.append(sorted(_all(lambda after, given=given: results.sessions(after=after, most=4, **given))))  # type: ignore[misc]
        for given in ({}, {"project": "shop"}, {"diagnosis": "grounded", "project": "api"}):
            found.append(sorted(_all(lambda after, given=given: results.turns(after=after, most=7, **given))))  # type: ignore[misc]
        found += [results.turn("s07", 1), results.turn("s07", 99), results.session("nobody")]
        return [*found, results.keys_about(["n3", "n9", "bad"])]

    ours, team = map(asked, both)
    assert team == ours


def _all(page_after: Callable[[str], Any]) -> list[Any]:
    rows, after = list[Any](), ""
    while True:
        page = page_after(after)
        rows += page.rows
        if not (after := page.after):
            assert len(rows) == len(set(rows))
            return rows


def test_a_second_machine_takes_over_what_the_first_has_read(
    traces: Path, machine: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    alone = printed(traces, machine("alone", cluster_mongo_url=""))
    assert printed(traces, machine("first")) == alone
    audit([traces], machine("first"))
    with monkeypatch.context() as patch:
        patch.setattr(sessions, "_read_one", lambda *_: pytest.fail("nothing is left to read"))
        assert printed(traces, machine("second")) == alone
        report, _ = audit([traces], machine("second", cluster_mongo_url=url))
    assert report.sessions == len(IDS)
    with closing(open_results(machine("third"))) as results:
        assert results.counts("project") == {"shop": len(IDS)}
        assert {one.audited for one in results.sessions().rows} == {1}


def test_the_studio_lists_the_sessions_of_the_team(traces: Path, machine: Callable[..., Settings]) -> None:
    for one in (observe, audit):
        one([traces], machine("first"))
    asked: Any = SimpleNamespace(query={}, path={"session": IDS[3]}, studio=SimpleNamespace(settings=machine("other")))
    listed = sessions_page.show(asked).values
    assert {one.listed.session for one in listed["entries"]} == set(IDS)
    assert listed["projects"] == {"shop": len(IDS)}
    shown = sessions_page.show_session(asked).values
    assert [one.turn.prompt for one in shown["entries"]] == ["Add a discount"]


def test_what_cannot_be_decoded_is_read_again(traces: Path, machine: Callable[..., Settings], url: str) -> None:
    expected = printed(traces, machine("first"))
    with _client(url) as client:
        client.get_default_database("knowbound")[RESULT].update_many({}, {"$set": {"body": b"\xc1"}})
    assert printed(traces, machine("second")) == expected


def test_actions_of_a_review_are_the_teams_too(traces: Path, machine: Callable[..., Settings], url: str) -> None:
    found = review([traces], machine("first"))
    with closing(MongoResults(url)) as results:
        body = results.body(REVIEW, found.project)
    assert body is not None
    assert msgspec.msgpack.decode(body, type=Reviewed) == found


def test_forget_erases_a_session_from_the_team_and_publishes_it_no_more(
    traces: Path, machine: Callable[..., Settings], url: str
) -> None:
    settings = machine("first")
    observe([traces], settings)
    audit([traces], settings)
    before = [documents(url, one) for one in (RESULT, SESSION, TURN)]
    assert before == [2 * len(IDS), len(IDS), len(IDS)]
    forget(Selection(sessions=(IDS[3],)), settings, is_preview=True)
    assert [documents(url, one) for one in (RESULT, SESSION, TURN)] == before
    shown = forget(Selection(sessions=(IDS[3],)), settings)
    assert shown.erased[f"MongoDB: {RESULT}"] == 1
    observe([traces], settings)
    assert [documents(url, one) for one in (RESULT, SESSION, TURN)] == [2 * len(IDS) - 2, len(IDS) - 1, len(IDS) - 1]
    with closing(MongoResults(url)) as results:
        assert results.session(IDS[3]) == (None, None)


@pytest.mark.long
def test_a_cluster_puts_its_results_there_with_the_same_answer(traces: Path, machine: Callable[..., Settings]) -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed")
    alone = printed(traces, machine("alone", cluster_mongo_url=""))
    assert printed(traces, machine("many", cluster_address="local:2")) == alone
    with closing(open_results(machine("other"))) as results:
        assert results.counts("project") == {"shop": len(IDS)}


def test_results_of_old_sessions_leave_the_database_and_are_not_put_there_again(
    traces: Path, machine: Callable[..., Settings], url: str
) -> None:
    kept, today = len(IDS) - 4, datetime.now(UTC).strftime("%Y-%m-%d")
    for number, path in enumerate(sorted(traces.iterdir())):
        path.write_text(path.read_text().replace("2026-10-01", today if number < kept else "2020-01-01"))
    for one in (observe, audit):
        one([traces], machine("all"))
    assert [documents(url, one) for one in (RESULT, SESSION, TURN)] == [2 * len(IDS), len(IDS), len(IDS)]
    settings = machine("bounded", cluster_keep_days=30)
    for _ in range(2):
        observe([traces], settings)
        audit([traces], settings)
        assert [documents(url, one) for one in (RESULT, SESSION, TURN)] == [2 * kept, kept, kept]
    with closing(SqliteResults(settings.home)) as own:
        assert own.counts("project") == {"shop": len(IDS)}


def test_a_file_with_several_sessions_goes_with_the_last_of_them(url: str) -> None:
    pair = msgspec.msgpack.encode([Findings(f"s{month}", "codex", ended=f"2026-0{month}-01T10Z") for month in (1, 3)])
    with closing(MongoResults(url)) as team:
        team.put(FINDINGS, [("codex:both:0123456789abcdef", "x", pair)])
        team.remove_ended_before("2026-02-01")
        assert documents(url, RESULT) == 1
        team.remove_ended_before("2026-03-02")
        assert [documents(url, one) for one in (RESULT, SESSION)] == [0, 0]


def test_pages_are_read_by_an_index_and_never_sorted(both: list[ResultPages], url: str) -> None:
    _, team = both
    with _client(url) as client:
        database = client.get_default_database("knowbound")
        database.command("profile", 2)
        for given in ({}, {"project": "shop"}, {"agent": "codex"}, {"project": "shop", "since": "2026-11-02"}):
            team.sessions(after=team.sessions(most=2, **given).after, most=2, **given)
        for given in ({}, {"project": "shop"}, {"diagnosis": "grounded"}, {"project": "shop", "diagnosis": "grounded"}):
            team.turns(after=team.turns(most=2, **given).after, most=2, **given)
        team.turn("s07", 1)
        team.keys_about(["n3", "n9"])
        team.counts("diagnosis", project="shop")
        database.command("profile", 0)
        asked = list(
            database["system.profile"].find({"ns": {"$regex": "knowbound_"}, "op": {"$in": ["query", "command"]}})
        )
        database.drop_collection("system.profile")  # nothing else can empty it
    assert len(asked) >= 20
    assert not [one["command"] for one in asked if "COLLSCAN" in one["planSummary"]]
    pages = [one for one in asked if one["command"].get("limit") == 3]
    assert len(pages) == 16
    assert not [one["command"] for one in pages if one.get("hasSortStage")]


def test_a_project_names_the_database_of_a_team_only_after_trust(tmp_path: Path) -> None:
    (tmp_path / "knowbound.toml").write_text('[cluster]\nmongo_url = "mongodb://elsewhere"\n')
    with pytest.raises(ConfigError, match=r"cluster\.mongo_url names an address"):
        load(tmp_path)
