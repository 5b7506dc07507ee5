"""Results of `observe`, `audit` and `review` in the MongoDB of a team (`cluster.mongo_url`), and pages of them.

    knowbound_result   one document per kind and key: `state` and `body` (msgpack) as in the file of a machine
    knowbound_session  one document per session, as it is listed; `names` are those that its signals are about
    knowbound_turn     one document per audited turn

A machine takes over what another has read of the same files by the same rules, and adds what it read itself. Every
write is of single documents and may be repeated, so that a killed run leaves nothing that the next does not complete.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from knowbound.config import Settings
from knowbound.core.audit import AuditedSession
from knowbound.core.signal import Findings
from knowbound.kms.backends.protocol import pages
from knowbound.store.listing import (
    PAGE,
    CountedBy,
    ListedSession,
    ListedTurn,
    ResultPage,
    ResultPages,
    SessionRow,
    SqliteResults,
    StoredSession,
    paged,
    session_rows,
)
from knowbound.store.observed import UNJUDGED, Audited, Observed
from knowbound.store.retention import oldest_kept

if TYPE_CHECKING:
    from knowbound.kms.backends.mongo import Document

FINDINGS, AUDITED, REVIEW = "findings", "audited", "review"
RESULT, SESSION, TURN = "knowbound_result", "knowbound_session", "knowbound_turn"
_RESULTS_AT_ONCE = 100  # in one command: a session has up to some 100 KB
_Decoded = TypeVar("_Decoded", Findings, AuditedSession)


class KeyedResult(Protocol):
    """A session to read, with what its results depend on."""

    @property
    def key(self) -> str: ...

    @property
    def state(self) -> str: ...


_Keyed = TypeVar("_Keyed", bound=KeyedResult)


class MongoResults(ResultPages):
    """The results of a team. Threads may share it."""

    def __init__(self, url: str) -> None:
        import pymongo
        from bson.binary import Binary

        from knowbound.kms.backends.mongo import MongoConnection

        self._server, self._pymongo, self._binary = MongoConnection(url, refusal="results-invalid"), pymongo, Binary
        database = self._server.database
        self._results, self._sessions, self._turns = database[RESULT], database[SESSION], database[TURN]
        newest_sessions, newest_turns = [("ended", -1), ("_id", -1)], [("time", -1), ("_id", -1)]
        session_filters = [[], ["project"], ["agent"]]
        turn_filters = [[], ["project"], ["diagnosis"], ["project", "diagnosis"]]
        with self._server.preparing():
            self._sessions.create_indexes(
                [pymongo.IndexModel([*((name, 1) for name in names), *newest_sessions]) for names in session_filters]
                + [pymongo.IndexModel(name) for name in ("session", "names", "key")]
            )
            self._turns.create_indexes(
                [pymongo.IndexModel([*((name, 1) for name in names), *newest_turns]) for names in turn_filters]
                + [pymongo.IndexModel(name) for name in ("session", "key")]
            )
            self._results.create_indexes([pymongo.IndexModel(["kind", "key", "state"])])

    def close(self) -> None:
        """Close all connections."""
        self._server.close()

    # Results

    def states(self, kind: str, keys: Collection[str]) -> dict[str, str]:
        """Return the state of each of these results that is stored."""
        states: dict[str, str] = {}
        for page in pages(sorted(keys), 1000):
            with self._server.recovering(len(page)):  # by the index alone, which has no bodies
                documents = self._results.find({"kind": kind, "key": {"$in": page}}, {"_id": 0, "key": 1, "state": 1})
                states |= {document["key"]: document["state"] for document in documents}
        return states

    def stored(self, kind: str, wanted: Sequence[_Keyed]) -> Iterator[tuple[_Keyed, bytes]]:
        """Yield those results whose stored state is the wanted one."""
        decoder: msgspec.msgpack.Decoder[Any] = _audited if kind == AUDITED else _findings
        by_id = {f"{kind}|{result.key}": result for result in wanted}
        for document in self._server.found(self._results, by_id, {"state": 1, "body": 1}):
            if document["state"] == by_id[document["_id"]].state:
                with suppress(msgspec.MsgspecError):  # of another version, or no result: it is read here
                    decoder.decode(document["body"])  # only a check: the bytes travel
                    yield by_id[document["_id"]], bytes(document["body"])

    def put(self, kind: str, rows: Iterable[tuple[str, str, bytes]]) -> None:
        """Store results (key, state, msgpack) in place of earlier ones, and their rows for pages."""
        for page in pages(list(rows), _RESULTS_AT_ONCE):
            self._put_rows(kind, page)
            replaced = [
                self._pymongo.ReplaceOne(
                    {"_id": f"{kind}|{key}"},
                    {"kind": kind, "key": key, "state": state, "body": self._binary(body)},
                    upsert=True,
                )
                for key, state, body in page
            ]
            with self._server.recovering(len(page)):  # last: a killed run lists them again
                self._results.bulk_write(replaced, ordered=False)

    def body(self, kind: str, key: str) -> bytes | None:
        """Return one result."""
        with self._server.recovering():
            found = self._results.find_one({"_id": f"{kind}|{key}"}, {"body": 1})
        return bytes(found["body"]) if found else None

    def _put_rows(self, kind: str, page: Sequence[tuple[str, str, bytes]]) -> None:
        """Write the sessions and turns of these results (key, state, msgpack), as pages show them."""
        sessions: list[Any] = []
        turns: list[Any] = []
        for key, _, body in page:
            if kind not in (FINDINGS, AUDITED):
                continue
            rows = list(session_rows(key, body, None) if kind == FINDINGS else session_rows(key, None, body))
            for row in rows:
                id_ = f"{key}|{row.session}"
                own, initial = _set_and_set_on_insert(key, row, kind)
                change = {"$set": own} | ({"$setOnInsert": initial} if initial else {})
                sessions.append(self._pymongo.UpdateOne({"_id": id_}, change, upsert=True))
                turns += [
                    self._pymongo.ReplaceOne({"_id": f"{id_}|{number:06}"}, document, upsert=True)
                    for number, document in _turns(key, row)
                ]
            if kind == AUDITED:
                kept = [f"{key}|{row.session}|{number:06}" for row in rows for number, _, _ in row.audited]
                turns.append(self._pymongo.DeleteMany({"key": key, "_id": {"$nin": kept}}))  # of an earlier audit
        for collection, writes in ((self._sessions, sessions), (self._turns, turns)):
            if writes:
                with self._server.recovering(len(writes)):
                    collection.bulk_write(writes, ordered=False)

    def erase(self, is_gone: Callable[[str], bool], *, preview: bool) -> int:
        """Remove every result of the sessions with such an id; return the number of sessions."""
        with self._server.recovering():
            found = self._sessions.find({}, {"session": 1, "key": 1})
            listed = [(document["session"], document["key"]) for document in found]
        gone = [(session, key) for session, key in listed if is_gone(session)]
        if gone and not preview:
            sessions = {"session": {"$in": sorted({session for session, _ in gone})}}
            self._remove({key for _, key in gone}, sessions)  # the other sessions of such a file are read again
            with self._server.recovering():
                self._results.delete_many({"kind": REVIEW})
        return len(gone)

    def remove_ended_before(self, day: str) -> None:
        """Remove the results of sessions that ended before a day; a file with several sessions goes with the last."""
        with self._server.recovering():
            old = {document["key"] for document in self._sessions.find({"ended": {"$gt": "", "$lt": day}}, {"key": 1})}
        for page in pages(sorted(old), 1000):
            with self._server.recovering(len(page)):
                found = self._sessions.find({"key": {"$in": page}, "ended": {"$gte": day}}, {"key": 1})
                gone = set(page) - {document["key"] for document in found}
            self._remove(gone, {"key": {"$in": sorted(gone)}})

    def _remove(self, keys: Collection[str], sessions: Mapping[str, Any]) -> None:
        """Remove the results with these keys, and the rows of the sessions that the query selects."""
        with self._server.recovering(len(keys)):
            self._results.delete_many(
                {"_id": {"$in": [f"{kind}|{key}" for key in keys for kind in (FINDINGS, AUDITED)]}}
            )
            self._turns.delete_many(sessions)
            self._sessions.delete_many(sessions)  # last: a killed run finds them again

    # Pages

    def sessions(
        self, *, project: str = "", agent: str = "", since: str = "", after: str = "", most: int = PAGE
    ) -> ResultPage[ListedSession]:
        filters = _not_empty(project=project, agent=agent) | ({"ended": {"$gte": since}} if since else {})
        found = self._page(self._sessions, filters, "ended", after, most)
        return paged(
            found,
            most,
            lambda document: ListedSession(*(document[name] for name in ListedSession._fields)),
            lambda document: (document["ended"], document["_id"]),
        )

    def turns(
        self, *, project: str = "", diagnosis: str = "", after: str = "", most: int = PAGE
    ) -> ResultPage[ListedTurn]:
        found = self._page(self._turns, _not_empty(project=project, diagnosis=diagnosis), "time", after, most)
        return paged(
            found,
            most,
            lambda document: ListedTurn(*(document[name] for name in ListedTurn._fields)),
            lambda document: (document["time"], document["_id"]),
        )

    def session(self, session: str) -> StoredSession:
        """Return the newest findings and the newest audit of a session."""
        with self._server.recovering():
            found = self._sessions.find({"session": session}, {"key": 1}).sort("_id", -1)
            keys = [document["key"] for document in found]
        findings: Findings | None = None
        audited: AuditedSession | None = None
        for key in keys:
            findings = findings or self._decoded_session(FINDINGS, key, session, _findings)  # the newest of each kind
            audited = audited or self._decoded_session(AUDITED, key, session, _audited)
        return StoredSession(findings, audited)

    def counts(self, by: CountedBy, *, project: str = "", session: str = "") -> dict[str, int]:
        """Return the number of turns (by diagnosis) or of sessions (by any other field) of each value, most first."""
        wanted = {"$match": _not_empty(project=project, session=session)}
        steps = [wanted, {"$group": {"_id": f"${by}", "n": {"$sum": 1}}}, {"$sort": {"n": -1, "_id": 1}}]
        with self._server.recovering():
            found = (self._turns if by == "diagnosis" else self._sessions).aggregate(steps)
            return {document["_id"]: int(document["n"]) for document in found}

    def keys_about(self, names: Collection[str]) -> list[str]:
        with self._server.recovering():
            found = self._sessions.find({"names": {"$in": sorted(names)}}, {"key": 1}).sort("_id", 1)
            return list(dict.fromkeys(document["key"] for document in found))

    def _page(self, collection: Any, wanted: Mapping[str, Any], order: str, after: str, most: int) -> list[Document]:
        """Return the documents after a cursor, newest first, and one more if there are: it says so to `paged`."""
        time, _, id_ = after.partition("|")
        last = {"$or": [{order: {"$lt": time}}, {order: time, "_id": {"$lt": id_}}]} if id_ else {}
        query = {"$and": [wanted, last]} if wanted and last else wanted or last
        with self._server.recovering():
            return list(collection.find(query).sort([(order, -1), ("_id", -1)]).limit(most + 1))

    def _decoded_session(
        self, kind: str, key: str, session: str, decoder: msgspec.msgpack.Decoder[list[_Decoded]]
    ) -> _Decoded | None:
        """Return what a stored result of this kind and key says of one session; None if nothing."""
        body = self.body(kind, key)
        found = decoder.decode(body) if body else []
        return next((stored for stored in found if stored.session == session), None)


_findings = msgspec.msgpack.Decoder(list[Findings])
_audited = msgspec.msgpack.Decoder(list[AuditedSession])


def _not_empty(**values: str) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value}


def _set_and_set_on_insert(key: str, row: SessionRow, kind: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields that this kind of result sets, and those that a document has until the other kind comes."""
    fields = msgspec.structs.asdict(row) | {"key": key}
    audited = {"audited": len(fields.pop("audited"))}
    return (fields, {"audited": 0}) if kind == FINDINGS else (audited, fields)


def _turns(key: str, row: SessionRow) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, time, diagnosis in row.audited:
        fields = {"session": row.session, "turn": number, "time": time, "project": row.project, "diagnosis": diagnosis}
        yield number, {"key": key} | fields


# What a run does


def open_results(settings: Settings) -> SqliteResults | MongoResults:
    """Open the results of the team where it keeps them, else those of this data folder."""
    return MongoResults(settings.cluster_mongo_url) if settings.cluster_mongo_url else SqliteResults(settings.home)


def taken_over(kind: str, settings: Settings) -> Callable[[Sequence[_Keyed]], Iterator[tuple[_Keyed, bytes]]] | None:
    """Return the function that yields results which another machine of the team has made; None without a team."""
    if not settings.cluster_mongo_url:
        return None

    def stored(wanted: Sequence[_Keyed]) -> Iterator[tuple[_Keyed, bytes]]:
        with closing(MongoResults(settings.cluster_mongo_url)) as results:
            yield from results.stored(kind, wanted)

    return stored


def publish_review(settings: Settings, project: str, screen: object) -> None:
    """Give the team the newest actions of a project."""
    if settings.cluster_mongo_url:
        with closing(MongoResults(settings.cluster_mongo_url)) as results:
            results.put(REVIEW, [(project, "", msgspec.msgpack.encode(screen))])


def publish(settings: Settings, judged: Iterable[str] = ()) -> None:
    """Give the team what this machine has read, and sessions judged since; nothing that was forgotten here.

    Results of sessions that ended before `cluster.keep_days` leave the team's database.
    """
    if not settings.cluster_mongo_url:
        return
    before = oldest_kept(settings.cluster_keep_days)
    with closing(SqliteResults(settings.home)) as listed:
        judged_again = set(listed.keys_of(judged))
        too_old = listed.keys_ended_before(before)
    observed, audited = Observed(settings.home), Audited(settings.home)
    with closing(MongoResults(settings.cluster_mongo_url)) as results, closing(observed), closing(audited):
        if before:
            results.remove_ended_before(before)
        for kind, store in ((FINDINGS, observed), (AUDITED, audited)):
            states = {key: state for key, state in store.states().items() if key not in too_old}
            finished = {key: state for key, state in states.items() if state and not state.startswith(UNJUDGED)}
            published = results.states(kind, finished)
            anew = judged_again if kind == AUDITED else ()
            to_publish = [key for key, state in finished.items() if published.get(key) != state or key in anew]
            for page in pages(to_publish, _RESULTS_AT_ONCE):
                results.put(kind, [(key, finished[key], body) for key, body in store.bodies(page)])
