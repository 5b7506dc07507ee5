"""Places of shared files: a file, a folder, MongoDB, or any address that fsspec opens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import msgspec

from knowbound.errors import InputError
from knowbound.files import replacing
from knowbound.remote_files import address_of, list_address, open_address, write_address
from knowbound.report.formats.json import json_text
from knowbound.report.review.team_model import SharedFile
from knowbound.review.team import parse_shared

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
                if remote.path.endswith(".json") or remote.path == address:
                    with open_address(remote.path) as file:
                        yield _parsed(file.read(_MOST_BYTES + 1), remote.path)
        else:
            for path in _files(Path(place)):
                try:
                    with path.open("rb") as file:
                        data = file.read(_MOST_BYTES + 1)
                except OSError as error:
                    raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
                yield _parsed(data, str(path))


def _files(path: Path) -> list[Path]:
    return sorted(path.glob("*.json")) if path.is_dir() else [path]


def _parsed(data: bytes, where: str) -> SharedFile:
    if len(data) > _MOST_BYTES:
        raise InputError(
            "bad-share", f"{where} is larger than {_MOST_BYTES:,} bytes: it is no file of knowbound share."
        )
    return parse_shared(data, where)


# One document per machine and project: `_id` is both, `file` the shared file with that project alone, as text.


def _write_mongo(shared: SharedFile, url: str) -> None:
    from knowbound.kms.backends.mongo_connection import MongoConnection  # noqa: PLC0415  (imports the driver)

    with closing(MongoConnection(url, refusal="bad-share")) as connection, connection.recovering(len(shared.projects)):
        shares = connection.database[_COLLECTION]
        for part in shared.projects:
            id_ = f"{shared.machine}/{part.project}"
            alone = msgspec.structs.replace(shared, projects=[part])
            shares.replace_one({"_id": id_}, {"_id": id_, "file": share_text(alone)}, upsert=True)


def _read_mongo(url: str) -> Iterator[SharedFile]:
    from knowbound.kms.backends.mongo_connection import MongoConnection  # noqa: PLC0415

    with closing(MongoConnection(url)) as connection, connection.recovering():
        found = [str(one["file"]) for one in connection.database[_COLLECTION].find({}, {"file": 1}).sort("_id", 1)]
    yield from (_parsed(text.encode(), f"a document of {_COLLECTION}") for text in found)
