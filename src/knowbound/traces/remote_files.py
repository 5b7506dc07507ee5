"""Files at an address (`s3://bucket/traces`): listed, and read in parts, by fsspec. The extra `cluster` installs it."""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, cast

from knowbound.distribution import extra_command
from knowbound.errors import InputError

if TYPE_CHECKING:
    from datetime import datetime

# Chained addresses (`zip::s3://…`) and those that run programs or log in are refused. `pathlib` makes one slash of two.
_ADDRESS = re.compile(r"(file|s3|gs|gcs|az|abfs|http|https|memory):/{1,3}(?=[^/])")
_PART = 8 * 1024 * 1024  # bytes that are read at once


class RemoteFile(NamedTuple):
    """A file, with the size and the time or mark that show a change."""

    path: str
    size: int
    stamp: int


def address_of(path: str | Path) -> str:
    """Return the address in a path, with the slashes that `Path` removed; "" for a path of this machine."""
    found = _ADDRESS.match(str(path))
    if found is None or "::" in str(path):
        return ""
    path_in_address = str(path)[found.end() :]
    return f"file:///{path_in_address}" if found[1] == "file" else f"{found[1]}://{path_in_address}"


def list_address(address: str) -> list[RemoteFile]:
    """Return every file at or below an address. Raises InputError."""
    with _explained(address) as (files, path):
        found = files.find(path, detail=True) or {path: files.info(path)}
        return [
            RemoteFile(files.unstrip_protocol(name), int(info.get("size") or 0), _stamp(info))
            for name, info in sorted(found.items())
            if info.get("type") == "file"
        ]


def open_address(address: str) -> io.BufferedReader:
    """Open a file at an address for reading in parts. Raises OSError."""
    try:
        with _explained(address) as (files, path):
            return io.BufferedReader(cast("Any", files.open(path, "rb", block_size=_PART)), _PART)
    except InputError as error:
        raise OSError(str(error)) from error


def size_of(stream: IO[bytes]) -> int:
    """Return the size of a file that `open_address` opened."""
    return int(getattr(getattr(stream, "raw", None), "size", 0) or 0)


def write_address(address: str, data: bytes) -> None:
    """Write a file at an address. Raises InputError."""
    with _explained(address) as (files, path):
        files.pipe_file(path, data)


def _stamp(info: dict[str, Any]) -> int:
    """Return the time of the last change in ns, or a number for the mark of the content; 0 without both."""
    time: datetime | float | None = info.get("LastModified") or info.get("mtime") or info.get("created")
    if time is not None:
        return int((time if isinstance(time, int | float) else time.timestamp()) * 1e9)
    mark = str(info.get("ETag") or info.get("etag") or "")
    return int.from_bytes(hashlib.sha256(mark.encode()).digest()[:7], "big") if mark else 0


@contextmanager
def _explained(address: str) -> Iterator[tuple[Any, str]]:
    """Give the file system and the path in it. Whatever a driver raises becomes InputError."""
    try:
        from fsspec.core import url_to_fs  # noqa: PLC0415
    except ImportError as error:
        raise InputError(
            "no-such-path", f"{address} needs a driver that is not installed. Try: {extra_command('cluster')}"
        ) from error
    try:
        yield url_to_fs(address, use_listings_cache=False)
    except ImportError as error:  # of the driver for this kind of address
        raise InputError("no-such-path", f"Cannot read {address}: {error}.") from error
    except Exception as error:  # each driver has errors of its own
        reason = str(error) or type(error).__name__
        raise InputError("no-such-path", f"Cannot read {address}: {reason[:200].rstrip('.')}.") from error
