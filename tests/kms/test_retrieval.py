"""Search and ranking on a small index made by hand."""

from __future__ import annotations

import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.kms.index import codes
from knowbound.kms.index import search as search_module
from knowbound.kms.index.codes import nearest, nearest_of, refresh_codes
from knowbound.kms.index.ranking import FoundItem, rank, recency_of, relevant
from knowbound.kms.index.search import ParsedQuery, rows_with_words, search, terms_of
from knowbound.store.own_index import IndexConnection
from knowbound.text.embedding import code_of, embed

NOW = 1_800_000_000.0  # 2027-01-15
STORE = {
    "port": "Staging nginx forwards to ledger-api on port 8004.",
    "bind": "ledger-api's gunicorn binds to the address in GUNICORN_BIND.",
    "eggs": "The cake recipe needs three eggs and a cup of sugar.",
    "retry": "The function fetchInvoice retries three times, then raises TimeoutError.",
    "violin": "Melanie plays the violin every Sunday evening.",
    "chinese": "数据库连接超时设置为三十秒",
}


def made_index(path: str = ":memory:") -> IndexConnection:
    index = sqlite3.connect(path, isolation_level=None, factory=IndexConnection)
    scripts = resources.files("knowbound.store").joinpath("migrations/index").iterdir()
    for script in sorted(scripts, key=lambda script: script.name):
        index.executescript(script.read_text("utf-8"))
    return index


def add(index: sqlite3.Connection, id_: str, content: str, **given: Any) -> None:
    vector = embed(content)
    row = {
        "id": id_,
        "backend": "sqlite",
        "content": content,
        "type": "fact",
        "source": "technical",
        "subject": "",
        "user": "",
        "timestamp": "2027-01-01T00:00:00Z",
        "confidence": 1.0,
        "quality": 1.0,
        "flag": "",
        "served": 1,
        "stale": 0,
        "copy_of": "",
        "content_sha": hashlib.sha256(content.encode()).hexdigest(),
        "code": code_of(vector),
        "vector": vector,
        "record": b"",
        "terms": terms_of(content),
        **given,
    }
    index.execute(f"INSERT INTO item ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


@pytest.fixture(params=["packed codes", "pending codes"])
def index(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> sqlite3.Connection:
    made = made_index()
    for id_, content in STORE.items():
        add(made, id_, content)
    if request.param == "packed codes":
        monkeypatch.setattr(codes, "_MOST_PENDING", 0)
    refresh_codes(made)
    return made


def found(index: sqlite3.Connection, query: str, **filters: Any) -> list[str]:
    return [hit.id for hit in search(index, query, only=filters, limit=10, now=NOW).items]


# Finding


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("which port does nginx use on staging?", "port"),
        ("gunicorn bind", "bind"),
        ("baking a dessert", "eggs"),  # no word in common
        ("how often does fetch_invoice retry", "retry"),
        ("fetchInvoice", "retry"),
        ("a musical instrument", "violin"),
        ("数据库超时", "chinese"),
    ],
)
def test_the_best_item_is_first(index: sqlite3.Connection, query: str, best: str) -> None:
    assert found(index, query)[0] == best


def test_a_hit_says_what_its_score_is_made_of(index: sqlite3.Connection) -> None:
    hit = search(index, "nginx port on staging", limit=1, now=NOW).items[0]
    assert (hit.id, hit.backend, hit.rank, hit.content) == ("port", "sqlite", 1, STORE["port"])
    assert hit.words > 0
    assert 0 < hit.meaning <= 1
    assert (hit.confidence, hit.quality) == (1.0, 1.0)
    assert hit.recency == pytest.approx(0.9, abs=0.1)
    assert hit.score == hit.computed_score()


def test_the_pool_gives_the_same_ranking_again(index: sqlite3.Connection) -> None:
    result = search(index, "nginx port of the ledger, three times", limit=3, now=NOW)
    replayed = rank([FoundItem(*row) for row in json.loads(json.dumps([item.pool_row() for item in result.pool]))], 3)
    assert [(place.id, place.score) for place in replayed] == [(hit.id, hit.score) for hit in result.items]
    assert len(result.pool) > len(result.items)


def test_every_process_finds_the_same(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    index = made_index(str(path))
    for id_, content in STORE.items():
        add(index, id_, content)
    refresh_codes(index)
    code = (
        "import sqlite3, sys; from knowbound.kms.index.search import search\n"
        "found = search(sqlite3.connect(sys.argv[1]), 'three ports', now=1.8e9)\n"
        "print([(hit.id, hit.score) for hit in found.items], [item.pool_row() for item in found.pool])"
    )
    runs = [
        subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    ]
    here = search(index, "three ports", now=1.8e9)
    assert runs == [f"{[(hit.id, hit.score) for hit in here.items]} {[item.pool_row() for item in here.pool]}\n"] * 2


def test_the_hook_path_imports_nothing_slow() -> None:
    code = "import sys, knowbound.kms.index.search; print(*sys.modules)"
    import knowbound

    env = {**os.environ, "PYTHONPATH": str(Path(knowbound.__file__).parents[1])}
    loaded = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, env=env, check=True
    ).stdout.split()
    assert "knowbound.kms.index.search" in loaded
    assert not {"typing", "dataclasses", "inspect", "numpy", "msgspec", "pathlib"} & set(loaded)


# What must never be found


@given(
    served=st.lists(st.booleans(), min_size=len(STORE), max_size=len(STORE)),
    late=st.sets(st.sampled_from(sorted(STORE))),
    removed=st.sets(st.sampled_from(sorted(STORE))),
    query=st.sampled_from([*STORE.values(), "port", "three", "nothing of this"]),
    most_pending=st.sampled_from([0, 1000]),
)
def test_what_is_not_served_is_never_found(
    served: list[bool], late: set[str], removed: set[str], query: str, most_pending: int
) -> None:
    """Whatever was packed before it was withdrawn, and whether or not the codes were refreshed since."""
    index = made_index()
    for (id_, content), is_served in zip(STORE.items(), served, strict=True):
        add(index, id_, content, served=int(is_served))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codes, "_MOST_PENDING", most_pending)
        refresh_codes(index)
    for id_ in late:
        index.execute("UPDATE item SET served = 0 WHERE id = ?", (id_,))
    for id_ in removed:
        index.execute("DELETE FROM item WHERE id = ?", (id_,))
    allowed = {id_ for id_, is_served in zip(STORE, served, strict=True) if is_served} - late - removed
    result = search(index, query, limit=100, now=NOW)
    assert {hit.id for hit in result.items} <= allowed
    assert {item.id for item in result.pool} <= allowed
    for id_ in allowed:
        assert id_ in found(index, STORE[id_])


def test_a_thousand_withdrawn_copies_do_not_hide_the_one_that_is_served() -> None:
    index = made_index()
    for number in range(1200):
        add(index, f"old-{number}", f"The nginx port on staging is {number}.", served=0)
    add(index, "new", "The nginx port of staging is 8004.")
    refresh_codes(index)
    assert found(index, "nginx port staging") == ["new"]


# Filters


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"a", "b", "c", "d", "e"}),
        ({"subject": "billing"}, {"a", "b"}),
        ({"type": "procedure"}, {"b"}),
        ({"user": "kim"}, {"c"}),
        ({"flag": "UNVERIFIED"}, {"d"}),
        ({"flag": "RETRACTED"}, set()),
        ({"subject": "billing", "type": "fact"}, {"a"}),
        ({"subject": "' OR 1 --"}, set()),
    ],
)
def test_only_what_the_filters_allow_is_found(filters: dict[str, Any], expected: set[str]) -> None:
    index = made_index()
    add(index, "a", "invoices are rounded to cents", subject="billing", stale=1)
    add(index, "b", "how invoices are sent", subject="billing", type="procedure")
    add(index, "c", "Kim writes invoices on Mondays", source="personal", user="kim")
    add(index, "d", "invoices may be sent twice", flag="UNVERIFIED", timestamp="2020-01-01T00:00:00+00:00")
    add(index, "e", "invoices have a number", timestamp="")
    add(index, "gone", "invoices are secret", flag="RETRACTED", served=0)
    refresh_codes(index)
    assert set(found(index, "invoices", **filters)) == expected


# Ranking


def candidate(**given: Any) -> FoundItem:
    parts: dict[str, Any] = {
        "id_": "a",
        "backend": "sqlite",
        "content_sha": given.get("id_", "a"),
        "words": 10.0,
        "meaning": 0.5,
        "recency": 0.5,
        "confidence": 0.5,
        "quality": 1.0,
        **given,
    }
    return FoundItem(**parts)


shares = st.floats(0, 1)
candidates = st.builds(
    candidate,
    id_=st.text("abcdef", min_size=1, max_size=3),
    backend=st.sampled_from(["sqlite", "mongo", "mem0"]),
    words=st.floats(0, 50),
    meaning=st.floats(-1, 1),
    prior=st.floats(-6, 1),
    recency=st.none() | shares,
    confidence=shares,
    quality=st.floats(0, 1.5),
    flag=st.sampled_from(["", "UNVERIFIED"]),
    stale=st.booleans(),
)


@given(st.lists(candidates, max_size=20), st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter(pool: list[FoundItem], chance: random.Random) -> None:
    shuffled = list(pool)
    chance.shuffle(shuffled)
    places = [
        [(place.score, place.id, place.backend, place.rank) for place in rank(one, 10)] for one in (pool, shuffled)
    ]
    assert places[0] == places[1]


@given(st.lists(candidates, max_size=20), st.integers(0, 10))
def test_ranks_are_numbered_and_scores_fall(pool: list[FoundItem], limit: int) -> None:
    places = rank(pool, limit)
    count = min(limit, len({one.content_sha for one in pool}))
    assert [place.rank for place in places] == list(range(1, count + 1))
    assert [place.score for place in places] == sorted((place.score for place in places), reverse=True)


@given(candidates, st.sampled_from(["words", "meaning", "recency", "confidence", "quality"]), shares, shares)
def test_more_of_a_part_is_never_less_of_a_score(one: FoundItem, part: str, less: float, more: float) -> None:
    less, more = sorted((less, more))
    names = "id_ backend content_sha words meaning prior recency confidence quality flag stale".split()
    parts: dict[str, Any] = dict(zip(names, one.pool_row(), strict=True))
    assert FoundItem(**{**parts, part: less}).computed_score() <= FoundItem(**{**parts, part: more}).computed_score()


def test_confidence_multiplies_the_whole_score() -> None:
    assert candidate(confidence=0.2).computed_score() == pytest.approx(candidate(confidence=0.4).computed_score() / 2)


def test_a_contradicted_item_falls_behind_a_less_relevant_one() -> None:
    pool = [candidate(id_="contradicted", meaning=0.6, quality=0.45), candidate(id_="honest", meaning=0.5)]
    assert rank(pool, 1, with_quality=True)[0].id == "honest"
    assert rank(pool, 1, with_quality=False)[0].id == "contradicted"


@pytest.mark.parametrize(
    ("value", "is_on"), [(None, True), ("true", True), ("false", False), ("0", False), ("Off", False)]
)
def test_quality_ranking_has_an_off_switch(
    index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch, value: str | None, is_on: bool
) -> None:
    if value is not None:
        monkeypatch.setenv("KMS_QUALITY_RANKING_ENABLED", value)
    before = search(index, "nginx port", limit=1, now=NOW).items[0].score
    index.execute("UPDATE item SET quality = 0.5 WHERE id = 'port'")
    after = search(index, "nginx port", limit=10, now=NOW).items
    assert next(hit.score for hit in after if hit.id == "port") == pytest.approx(before * (0.5 if is_on else 1))


@pytest.mark.parametrize("mark", [{"flag": "UNVERIFIED"}, {"stale": 1}])
def test_unverified_and_stale_items_are_found_lower_and_marked(mark: dict[str, Any]) -> None:
    index = made_index()
    add(index, "a", "staging listens on port 8004", **mark)
    add(index, "b", "staging listens on port 8005")
    first, second = search(index, "staging port", now=NOW).items
    assert (first.id, second.flag, second.stale) == ("b", mark.get("flag", ""), bool(mark.get("stale")))


def test_the_same_content_of_several_backends_is_one_hit() -> None:
    index = made_index()
    for backend, confidence in (("sqlite", 0.5), ("mem0", 0.9), ("mongo", 0.4)):
        add(index, "a", "staging listens on port 8004", backend=backend, confidence=confidence)
    (hit,) = search(index, "staging port", now=NOW).items
    assert hit.backend == "mem0"


def test_recency_halves_every_90_days() -> None:
    assert [recency_of(age) for age in (0, -5, 90, 180, None)] == [1.0, 1.0, 0.5, 0.25, None]


@pytest.mark.parametrize("timestamp", ["", "yesterday", "2027-13-45", "2027-01-01", "2027-01-01T00:00:00"])
def test_any_timestamp_can_be_ranked(timestamp: str) -> None:
    add(index := made_index(), "a", "staging listens on port 8004", timestamp=timestamp)
    assert found(index, "staging port") == ["a"]


# Queries are data


@pytest.mark.parametrize(
    "query",
    [
        'nginx" OR "staging',
        "nginx AND NOT port",
        "NEAR(nginx port, 2)",
        "content:nginx*",
        "^nginx + port",
        "nginx'; DROP TABLE item; --",
        '"""nginx port',
        "{content subject} : nginx",
        "nginx\x00port",
        "nginx \ud800 port",
        "nginx 🎉 port",
        "nginx a\u19b0b port",  # a letter for Python, not for SQLite
        "nginx " + "x" * 1_000_000,
        "nginx port " * 100_000,
        "nginx port\n" + "\n".join(f"line {number} of a log" for number in range(50_000)),
    ],
    ids=lambda query: ascii(query[:20]),
)
def test_no_query_is_taken_for_syntax(index: sqlite3.Connection, query: str) -> None:
    assert found(index, query)[0] == "port"


@pytest.mark.parametrize("query", ["", " ", "\n\t", "?!…", "🎉", "\x00", "_" * 1000])
def test_a_query_without_words_finds_nothing(index: sqlite3.Connection, query: str) -> None:
    assert found(index, query) == []
    assert found(made_index(), query or "nginx") == []


def test_stop_words_alone_share_no_words_with_an_item(index: sqlite3.Connection) -> None:
    assert with_words(index, "what is the of and to") == {}


def with_words(index: sqlite3.Connection, query: str, most: int = 10_000) -> dict[str, float]:
    """What items share with a query by their words alone."""
    ids = dict(index.execute("SELECT rowid, id FROM item").fetchall())
    return {ids[row]: shared for row, shared in rows_with_words(index, ParsedQuery(query), most).items()}


@given(st.text(max_size=200))
def test_any_text_can_be_searched_for(query: str) -> None:
    add(index := made_index(), "a", STORE["port"])
    assert found(index, query) in (["a"], [])


def parts_of(query: str, content: str) -> dict[str, float]:
    """The parts of an item's score in a store that has nothing else."""
    add(index := made_index(), "a", content)
    hits = search(index, query, now=NOW).items
    return {"words": hits[0].words, "meaning": hits[0].meaning} if hits else {"words": 0.0, "meaning": 0.0}


def test_three_shared_words_are_three_times_one() -> None:
    three = parts_of("kestrel hovering over meadows", "the kestrel hovers above a meadow")["words"]
    assert parts_of("kestrel", "the kestrel hovers above a meadow")["words"] == pytest.approx(three / 3, abs=1e-3)


def test_of_two_items_with_the_same_words_the_shorter_shares_more() -> None:
    short, long = STORE["port"], f"{STORE['port']} {STORE['eggs']} {STORE['violin']}"
    assert parts_of("nginx port", short)["words"] > parts_of("nginx port", long)["words"]


def test_a_word_of_many_items_weighs_less() -> None:
    index = made_index()
    for number in range(200):
        add(index, f"s{number}", f"Service {number} is idle.")
    add(index, "kestrel", "A kestrel is a service.")
    query = ParsedQuery("kestrel service")
    rows_with_words(index, query, 10)
    assert query.weights["kestrel"] > 10 * query.weights[terms_of("service")]


AROUND = (
    "I have an hour for this before the review. Please keep the change small and say what you touched. ",
    " If something looks off on the way, note it but do not fix it now. Add a test that fails without the change.",
)


@pytest.mark.parametrize("log", ["", "\n" + "\n".join(f"worker-{number} idle after {number}s" for number in range(80))])
def test_a_sentence_shares_the_same_words_alone_and_among_others(log: str) -> None:
    question = "which port does nginx forward to on staging?"
    alone, among = (parts_of(text, STORE["port"]) for text in (question, AROUND[0] + question + AROUND[1] + log))
    assert among["words"] == pytest.approx(alone["words"])
    assert among["meaning"] > alone["meaning"] / 3  # half of it is the meaning of the whole


def test_the_whole_of_a_prompt_counts_at_most_three_times_its_best_sentence() -> None:
    words = "nginx gunicorn redis celery kafka postgres grafana loki minio vault consul nomad".split()
    apart = "\n".join(f"{word} alpha{at} beta{at}" for at, word in enumerate(words))
    one = parts_of("nginx alpha beta", " ".join(words))["words"]
    assert parts_of(apart, " ".join(words))["words"] == pytest.approx(2 * one, abs=1e-3)  # (1 + 3) / 2


def test_what_is_asked_is_found_in_the_middle_of_a_long_prompt(index: sqlite3.Connection) -> None:
    lines = [f"line {number} of the output has nothing to do with it" for number in range(300)]
    assert (
        found(index, "\n".join([*lines[:150], "why does fetchInvoice retry three times?", *lines[150:]]))[0] == "retry"
    )


def test_a_short_query_with_half_of_the_words_of_an_item_is_about_it_in_a_store_of_one() -> None:
    add(index := made_index(), "port", STORE["port"])
    (hit,) = relevant(search(index, "which port does ledger-api have on staging?", now=NOW).items, 0.25)
    assert hit.relevance > 0.9
    assert relevant(search(index, "run the tests", now=NOW).items, 0.25) == []


def test_far_less_relevant_items_are_not_injected_beside_the_best() -> None:
    best, near, far = (candidate(id_=id_, words=words) for id_, words in (("best", 20), ("near", 19), ("far", 17)))
    assert [item.id for item in relevant([best, near, far], 0.1)] == ["best", "near"]


def test_withdrawn_rows_do_not_make_the_words_of_the_rest_common() -> None:
    index = made_index()
    for number in range(7):
        add(index, f"old{number}", f"Staging nginx forwards to ledger-api on port {9000 + number}.", served=0)
    add(index, "port", STORE["port"])
    (hit,) = relevant(search(index, "which port does ledger-api have on staging?", now=NOW).items, 0.25)
    assert hit.id == "port"


def test_of_a_small_subject_everything_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_module, "_MOST_ROWS", 3)
    monkeypatch.setattr(search_module, "_MOST_BY_MEANING", 1)
    index = made_index()
    for number in range(3):
        add(index, f"own{number}", f"Staging nginx has port {8000 + number}.", subject="shop")
    for number in range(9):  # newer, with the same words
        add(index, f"other{number}", f"Staging nginx has port {9000 + number}.", subject="bank")
    assert {*found(index, "the port of nginx on staging", subject="shop")} == {"own0", "own1", "own2"}


def test_the_meaning_of_a_long_query_is_that_of_its_ends(
    index: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    lengths: list[int] = []

    def counted(text: str) -> bytes:
        lengths.append(len(text))
        return embed(text)

    monkeypatch.setattr(search_module, "embed", counted)
    names = " ".join(hashlib.sha256(str(number).encode()).hexdigest()[:8] for number in range(3_000))
    assert found(index, f"{names}. Which port does nginx use on staging?")[0] == "port"
    assert 0 < sum(lengths) < 8_000


def test_rows_that_were_removed_count_no_more() -> None:
    fresh, used = made_index(), made_index()
    for number in range(300):
        add(used, f"old{number}", f"Invoice {number} is paid.")
    for index in (fresh, used):
        add(index, "port", STORE["port"])
    used.execute("DELETE FROM item WHERE id <> 'port'")
    (one,), (other,) = (search(index, "the port of nginx", now=NOW).items for index in (fresh, used))
    assert one.pool_row() == other.pool_row()


def test_of_a_long_query_every_word_is_looked_up() -> None:
    index = made_index()
    for number in (0, 250, 499):
        add(index, str(number), f"the word{number} is here")
    assert with_words(index, " ".join(f"word{number}" for number in range(500))).keys() == {"0", "250", "499"}


def test_a_search_leaves_the_callers_transaction_alone(index: sqlite3.Connection) -> None:
    for begun in (False, True):
        if begun:
            index.execute("BEGIN")
        found(index, "nginx")
        assert index.in_transaction == begun


# Common words


def test_a_word_in_every_item_weighs_little_and_adds_to_rarer_ones() -> None:
    index = made_index()
    for number in range(2_500):
        add(index, f"i{number}", f"service entry {number}")
    add(index, "rare", "the kestrel service")
    add(index, "other", "a kestrel somewhere")
    assert [*with_words(index, "kestrel service")] == ["other", "rare"]  # the newest first; both are compared
    rare, other = search(index, "kestrel service", now=NOW, limit=2).items
    assert (rare.id, other.id) == ("rare", "other")
    assert other.words > 0.5 * rare.words
    assert len(with_words(index, "service entry")) == 1_999  # nothing is rare: those with both among the newest


# Codes


byte_codes = st.binary(min_size=32, max_size=32)


@given(st.lists(byte_codes, max_size=60), byte_codes, st.integers(1, 20), st.booleans())
def test_packed_codes_give_the_nearest_of_all(given_codes: list[bytes], asked: bytes, most: int, packed: bool) -> None:
    given_codes.append(bytes(byte ^ 0xFF for byte in asked))  # the farthest: nine binary digits
    index = made_index()
    for number, code in enumerate(given_codes):
        add(index, str(number), f"item {number}", code=code)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(codes, "_MOST_PENDING", 0 if packed else 1000)
        patch.setattr(codes, "_SLOTS", 16)
        refresh_codes(index)
        rows = index.execute("SELECT rowid, code FROM item").fetchall()
        distance = {row: (int.from_bytes(code, "big") ^ int.from_bytes(asked, "big")).bit_count() for row, code in rows}
        near = nearest(index, asked, most)
    assert [distance[row] for row in near] == sorted(distance.values())[:most]
    assert nearest_of(rows, asked, most) == sorted(distance, key=lambda row: (distance[row], row))[:most]


@pytest.mark.parametrize(
    "change",
    [
        lambda index: index.execute("DELETE FROM item WHERE id = 'port'"),
        lambda index: index.execute("UPDATE item SET served = 0 WHERE id = 'port'"),
        lambda index: index.execute("UPDATE item SET code = zeroblob(32) WHERE id = 'port'"),
        lambda index: add(index, "more", "port 8004"),
        lambda index: index.execute("UPDATE item SET code = zeroblob(32), served = 0"),
        lambda index: index.executescript(
            "UPDATE item SET served = 0; INSERT INTO item SELECT * FROM item WHERE id = 'port' "
            "ON CONFLICT (id, backend) DO UPDATE SET served = 1"
        ),
    ],
)
def test_codes_follow_every_change(
    change: Callable[[sqlite3.Connection], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "_MOST_PENDING", 0)
    index = made_index()
    for id_, content in STORE.items():
        add(index, id_, content)
    refresh_codes(index)
    change(index)
    code = code_of(embed("port 8004"))
    expected = nearest_of(index.execute("SELECT rowid, code FROM item WHERE served = 1"), code, 10)
    assert nearest(index, code, 10) == expected
    refresh_codes(index)
    assert nearest(index, code, 10) == expected
    assert index.execute("SELECT count(*) FROM code_pending").fetchone() == (0,)


# A connection that stays open


def scored(index: sqlite3.Connection, query: str) -> list[tuple[str, float]]:
    return [(item.id, item.score) for item in search(index, query, now=NOW).items]


def test_an_open_connection_finds_the_same_before_and_after_another_one_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "_MOST_PENDING", 0)
    writer, reader = (
        made_index(str(tmp_path / "index.db")),
        sqlite3.connect(tmp_path / "index.db", isolation_level=None, factory=IndexConnection),
    )
    reader.kept = {}
    for id_, content in STORE.items():
        add(writer, id_, content)
    refresh_codes(writer)
    queries = [
        "Which port does ledger-api have?",
        "超时",
        "Sugar and eggs. Melanie plays the violin.",
    ]
    for change in (
        lambda: None,
        lambda: add(writer, "more", "ledger-api also listens on port 8005"),
        lambda: writer.execute("DELETE FROM item WHERE id = 'port'"),
        lambda: refresh_codes(writer),
    ):
        change()
        assert [scored(reader, query) for query in queries] == [scored(writer, query) for query in queries]
