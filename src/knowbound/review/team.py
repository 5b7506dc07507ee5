"""`review --team`: adds up what machines share, and shows only what three people or more have.

Values that fewer people have are left out before anything is counted, together with every trace of how many there were:
a number about what is hidden, together with a known part of it, is a number about the rest.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

import msgspec

from knowbound.core.quality import Counts
from knowbound.core.signal import Findings, Signal, SignalType, Topic
from knowbound.core.trace import Outcome
from knowbound.errors import InputError
from knowbound.files import replacing
from knowbound.gaps.topics import Topics
from knowbound.report.formats.json import json_text
from knowbound.report.review import (
    FORMAT,
    LEAST_PEOPLE,
    OfPeople,
    SharedFile,
    SharedItem,
    SharedMiss,
    SharedProject,
    SharedRule,
    SharedStatement,
    TeamProject,
    TeamReport,
)
from knowbound.stats.figures import Watermark, observed_hash
from knowbound.traces.source import address_of, list_address, open_address, write_address

_Value = TypeVar("_Value")


def parse_shared(data: bytes, where: str) -> SharedFile:
    """Return a shared file. Raises InputError if it is none."""
    if len(data) > _MOST_BYTES:
        words = f"{where} is larger than {_MOST_BYTES:,} bytes: it is no file of knowbound share."
        raise InputError("bad-share", words)
    try:
        found = msgspec.json.decode(data, type=SharedFile)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError("bad-share", f"{where} is no file of knowbound share: {error}.") from error
    if found.format != FORMAT:
        raise InputError("bad-share", f"{where} has the format {found.format!r}, not {FORMAT}. Share it again.")
    return found


def team_review(files: Iterable[SharedFile], least: int = LEAST_PEOPLE) -> TeamReport:
    """Add up what machines share, one person each; the newest file of a machine counts."""
    newest: dict[tuple[str, str], tuple[tuple[str, bytes], SharedProject]] = {}  # by project and machine
    for file in files:
        for part in file.projects:
            rank = (file.made, msgspec.json.encode(part))  # of the same second: by content, whatever the order
            key = part.project, file.machine
            if key not in newest or rank > newest[key][0]:
                newest[key] = rank, part
    people = len({machine for _, machine in newest})
    if people < least:
        raise InputError(
            "few-people", f"Only {people} people shared: a team is shown from {least} up. Ask others for their file."
        )
    by_project: dict[str, list[tuple[bytes, SharedProject]]] = {}
    for (project, _), ((_, encoded), part) in newest.items():
        by_project.setdefault(project, []).append((encoded, part))
    shown = [
        _project(project, [part for _, part in sorted(parts, key=itemgetter(0))], least)
        for project, parts in sorted(by_project.items())
        if len(parts) >= least
    ]
    return TeamReport(sorted(shown, key=lambda project: (-project.people, -project.sessions, project.project)), least)


def _project(project: str, parts: Sequence[SharedProject], least: int) -> TeamProject:
    """Add up what the machines share about one project."""
    gap = sum((part.gap for part in parts[1:]), start=parts[0].gap)
    digests = (hashlib.sha256(msgspec.json.encode(part)).hexdigest() for part in parts)
    return TeamProject(
        project=project,
        people=len(parts),
        watermark=Watermark(f"shared files of {len(parts)} people", gap.rate.n, observed_hash(digests)),
        # Counts by name: equal whatever was added first.
        gap=msgspec.structs.replace(
            gap, by_type=dict(sorted(gap.by_type.items())), by_status=dict(sorted(gap.by_status.items()))
        ),
        sessions=sum(part.sessions for part in parts),
        turns=sum(part.turns for part in parts),
        tool_calls=sum(part.tool_calls for part in parts),
        answers=dict(sorted(sum((Counter(part.answers) for part in parts), Counter()).items())),
        topics=_topics(project, parts, least),
        statements=_statements(parts, least),
        rules=_rules(parts, least),
        items=_items(parts, least),
    )


def _people(parts: Sequence[SharedProject], values: Callable[[SharedProject], Iterable[_Value]]) -> Counter[_Value]:
    """Return how many people have each value, however often one of them has it."""
    return Counter(value for part in parts for value in set(values(part)))


def _topics(project: str, parts: Sequence[SharedProject], least: int) -> list[OfPeople[Topic]]:
    """Return the topics of what several people missed, each with the number of people."""
    people_with_name = _people(parts, lambda part: (miss.name for miss in part.misses))
    people_with_text = _people(parts, lambda part: (text for miss in part.misses for text in {miss.query, miss.path}))
    people_at_place = _people(parts, lambda part: (miss.found_at for miss in part.misses if miss.found_at))

    def signal(miss: SharedMiss, person: int) -> Signal:
        """Return the miss as a signal, without a query, a path or a place that fewer than `least` people have."""
        return Signal(
            SignalType.FAILED_SEARCH,
            miss.status,
            f"{person}:{miss.session}",
            miss.turn,
            sample="",
            query=miss.query if people_with_text[miss.query] >= least else miss.name,
            path=miss.path if people_with_text[miss.path] >= least else "",
            outcome=Outcome.MISSING if miss.missing else Outcome.EMPTY,
            ending=miss.ending,
            found_at=miss.found_at if miss.found_at and people_at_place[miss.found_at] >= least else None,
            cost=miss.cost,
            names=(miss.name,),
        )

    shared_misses = [
        (msgspec.json.encode(msgspec.structs.replace(miss, session=0)), person, miss)
        for person, part in enumerate(parts)
        for miss in part.misses
        if people_with_name[miss.name] >= least
    ]
    # By content: topics do not depend on the order in which files or sessions came.
    signals = [signal(miss, person) for _, person, miss in sorted(shared_misses, key=itemgetter(0))]
    topics = Topics()
    topics.add(Findings("", "", project), signals)
    ranked = topics.ranked(project)
    people: dict[str, set[str]] = {}
    for shared in signals:
        people.setdefault(topics.names.id_of(shared, project), set()).add(shared.session.partition(":")[0])
    return [OfPeople(msgspec.structs.replace(topic, examples=[]), len(people[topic.id])) for topic in ranked]


def _statements(parts: Sequence[SharedProject], least: int) -> list[OfPeople[SharedStatement]]:
    """Return the wrong lines that enough people have; a reason only if enough people have that, too."""
    people = _people(parts, lambda part: ((statement.file, statement.text) for statement in part.statements))
    whys = _people(parts, lambda part: part.statements)
    found = []
    for (file, text), number in people.items():
        if number >= least:
            here = [(row.why, agreed) for row, agreed in whys.items() if (row.file, row.text) == (file, text)]
            said = [why for why, agreed in here if agreed >= least]
            found.append(OfPeople(SharedStatement(file, text, min(said, default="")), number))
    return sorted(found, key=lambda shared: (-shared.people, shared.value.file, shared.value.text))


def _rules(parts: Sequence[SharedProject], least: int) -> list[OfPeople[SharedRule]]:
    """Return the counts of the rules that enough people have, of those that sessions decided."""
    decided = [[rule for rule in part.rules if rule.obeyed + rule.violated + rule.partly] for part in parts]
    people = Counter(key for rules in decided for key in {(rule.file, rule.text) for rule in rules})
    found = []
    for (file, text), number in people.items():
        if number >= least:
            of_rule = [rule for rules in decided for rule in rules if (rule.file, rule.text) == (file, text)]
            counts = (sum(getattr(rule, name) for rule in of_rule) for name in ("obeyed", "violated", "partly"))
            found.append(OfPeople(SharedRule(file, text, *counts), number))
    return sorted(found, key=lambda row: (-row.value.violated, -row.value.partly, row.value.file, row.value.text))


def _items(parts: Sequence[SharedProject], least: int) -> list[OfPeople[SharedItem]]:
    """Return the verdicts on items that were judged on enough machines."""
    people = _people(parts, lambda part: (item.id for item in part.items if item.counts.judged))
    sums: dict[str, Counts] = {}
    for part in parts:
        for shared in part.items:
            sums[shared.id] = sums.get(shared.id, Counts()) + shared.counts
    found = [OfPeople(SharedItem(id_, sums[id_]), number) for id_, number in people.items() if number >= least]
    return sorted(found, key=lambda row: (-row.value.counts.contradicted, -row.value.counts.judged, row.value.id))


_MOST_BYTES = 50_000_000  # of one shared file
_COLLECTION = "knowbound_shares"
_MONGO = ("mongodb://", "mongodb+srv://")


def share_text(shared: SharedFile) -> str:
    """Return the file as it is shown and written."""
    return json_text(msgspec.to_builtins(shared))


def write_share(shared: SharedFile, place: str) -> None:
    """Write a shared file; in MongoDB it replaces what the machine shared about each project before."""
    if place.startswith(_MONGO):
        _write_mongo(shared, place)
    elif address := address_of(place):
        write_address(address, share_text(shared).encode())
    else:
        try:
            with replacing(Path(place)) as file:
                file.write(share_text(shared).encode())
        except OSError as error:
            raise InputError("output-unwritable", f"Cannot write {place}: {error.strerror or error}.") from error


def read_shares(places: Iterable[str]) -> Iterator[SharedFile]:
    """Yield the shared files of each place. Raises InputError for one that cannot be read."""
    for place in places:
        if place.startswith(_MONGO):
            yield from _read_mongo(place)
        elif address := address_of(place):
            for remote in list_address(address):
                if remote.path.endswith(".json") or remote.path == address:  # or the file itself was named
                    with open_address(remote.path) as file:
                        yield parse_shared(file.read(_MOST_BYTES + 1), remote.path)
        else:
            for path in sorted(Path(place).glob("*.json")) if Path(place).is_dir() else [Path(place)]:
                try:
                    with path.open("rb") as file:
                        data = file.read(_MOST_BYTES + 1)
                except OSError as error:
                    raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
                yield parse_shared(data, str(path))


# One document per machine and project: `_id` is both, `file` the shared file with that project alone, as text.


def _write_mongo(shared: SharedFile, url: str) -> None:
    """Write one document for each project; it replaces what this machine shared about it before."""
    from knowbound.kms.backends.mongo import MongoConnection  # noqa: PLC0415  (imports the driver)

    with closing(MongoConnection(url, refusal="bad-share")) as connection, connection.recovering(len(shared.projects)):
        shares = connection.database[_COLLECTION]
        for part in shared.projects:
            id_ = f"{shared.machine}/{part.project}"
            alone = msgspec.structs.replace(shared, projects=[part])
            shares.replace_one({"_id": id_}, {"_id": id_, "file": share_text(alone)}, upsert=True)


def _read_mongo(url: str) -> Iterator[SharedFile]:
    from knowbound.kms.backends.mongo import MongoConnection  # noqa: PLC0415

    with closing(MongoConnection(url)) as connection, connection.recovering():
        documents = connection.database[_COLLECTION].find({}, {"file": 1}).sort("_id", 1)
        found = [str(document["file"]) for document in documents]
    yield from (parse_shared(text.encode(), f"a document of {_COLLECTION}") for text in found)
