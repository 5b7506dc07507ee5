"""Sessions read by the workers of a Dask cluster: values in, values out, with the functions of one process.

A scheduler runs the code that its clients send, and a client takes objects from it. Beyond this machine it is reached
only with certificates of both sides. A worker of another version or without the files is refused: it would answer
otherwise.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import fields, replace
from functools import lru_cache
from multiprocessing import forkserver, get_all_start_methods, get_context
from pathlib import Path
from typing import Any, TypeVar

import knowbound
from knowbound.config import Settings
from knowbound.distribution import extra_command
from knowbound.errors import ConfigError, InputError
from knowbound.traces.source import address_of

_LOCAL = re.compile(r"local:([1-9]\d{0,2})")
_LOOPBACK = re.compile(r"tcp://(?:127\.\d+\.\d+\.\d+|localhost|\[::1\]):\d+")
_CONNECT_SECONDS = 20.0
_PART_BYTES, _PART_SESSIONS = 4_000_000, 50  # of one task: small sessions go together
_WAITING_PER_WORKER = 4  # tasks that wait for each worker: more would stay in the scheduler's memory
_SECRETS = re.compile(r"password|_url$|_token$")

Work = TypeVar("Work")
Found = TypeVar("Found")


class RefusedWorkerError(Exception):
    """A worker that must not read: the message says why. Raised in the worker."""


@lru_cache(maxsize=1)
def code_version() -> str:
    """Return the version of Python and of every module of knowbound: equal code gives equal answers."""
    digest = hashlib.sha256()
    package = Path(knowbound.__file__).parent
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    return f"{knowbound.__version__}+{digest.hexdigest()[:12]} on Python {sys.version_info[0]}.{sys.version_info[1]}"


def check_address(address: str, settings: Settings) -> None:
    """Refuse an address that anybody on the way could read or answer. Raises ConfigError."""
    if _LOCAL.fullmatch(address) or _LOOPBACK.fullmatch(address):
        return
    if not address.startswith("tls://"):
        raise ConfigError(
            "cluster-insecure",
            f"The cluster {address} is not reached: beyond this machine an address begins with tls://, and local:N "
            "starts workers here.",
        )
    if not settings.cluster_certificates:
        raise ConfigError(
            "cluster-insecure",
            f"The cluster {address} needs certificates: set cluster.certificates to a folder with ca.pem, cert.pem and "
            "key.pem.",
        )
    for path in _certificates(settings):
        if not path.is_file():
            raise ConfigError("cluster-insecure", f"The certificate or key {path} cannot be read.")


def _certificates(settings: Settings) -> list[Path]:
    return [Path(settings.cluster_certificates).expanduser() / f"{name}.pem" for name in ("ca", "cert", "key")]


def read_on_cluster(
    work: Sequence[Work],
    settings: Settings,
    read_one: Callable[[Work, Settings], Found],
    size_of: Callable[[Work], int],
    files_of: Callable[[Work], list[str]],
) -> Iterator[Found]:
    """Yield what the workers make of each piece of work, in the order in which they are done."""
    check_address(settings.cluster_address, settings)
    if _LOCAL.fullmatch(settings.cluster_address):
        _start_fork_server()  # before Dask is imported here
    try:
        from distributed import as_completed  # noqa: PLC0415  (a second to import)
    except ImportError as error:
        raise ConfigError(
            "cluster-missing", f"A cluster needs packages that are not installed. Try: {extra_command('cluster')}"
        ) from error
    worker_settings = _without_secrets(settings)
    parts = iter(_parts(work, size_of))
    with ExitStack() as stack:
        client = _connected(settings, stack)
        most_submitted = _WAITING_PER_WORKER * max(1, len(client.scheduler_info(n_workers=-1)["workers"]))

        def submit_next() -> list[Any]:
            for part in parts:
                files = [file for piece in part for file in files_of(piece)]
                return [client.submit(read_part, read_one, part, files, worker_settings, code_version(), pure=False)]
            return []

        waiting = as_completed([future for _ in range(most_submitted) for future in submit_next()])
        for future in waiting:
            try:
                found = future.result()
            except Exception as error:
                raise _refusal(error) from error
            for submitted in submit_next():
                waiting.add(submitted)
            yield from found


def read_part(
    read_one: Callable[[Work, Settings], Found],
    part: Sequence[Work],
    files: Sequence[str],
    settings: Settings,
    version: str,
) -> list[Found]:
    """Run in a worker: read a part of the sessions."""
    if version != code_version():
        raise RefusedWorkerError(f"it has knowbound {code_version()}, not {version}. Install the same version there")
    for file in files:
        if not address_of(file) and not os.path.lexists(file):  # an address is reached from anywhere
            raise RefusedWorkerError(f"it does not see {file}. Mount the traces there, or give an s3:// address")
    return [read_one(piece, settings) for piece in part]


def _parts(work: Sequence[Work], size_of: Callable[[Work], int]) -> Iterator[list[Work]]:
    """Yield the work in parts; the order stays, so that the largest sessions come first."""
    part: list[Work] = []
    size = 0
    for piece in work:
        if part and (size + size_of(piece) > _PART_BYTES or len(part) == _PART_SESSIONS):  # a part has a piece at least
            yield part
            part, size = [], 0
        part.append(piece)
        size += size_of(piece)
    if part:
        yield part


def _without_secrets(settings: Settings) -> Settings:
    """Return the settings without addresses and passwords of stores: no worker writes to one."""
    secret = (setting for setting in fields(settings) if _SECRETS.search(setting.name))
    defaults: dict[str, Any] = {setting.name: setting.default for setting in secret}
    return replace(settings, cluster_address="", **defaults)


def _start_fork_server() -> None:
    """Let one process import what workers need, while this one does: each worker is a fork of it.

    Importing Dask takes two seconds of CPU, and reading 20 MB of traces one: workers that each import it cost more than
    they bring (measured).
    """
    if "forkserver" not in get_all_start_methods():
        return
    loaded = [name for name in sys.modules if name.startswith("knowbound.") and name != "knowbound.cli.entry"]
    get_context("forkserver").set_forkserver_preload(
        ["distributed", "distributed.nanny", "distributed.worker", *loaded]
    )
    forkserver.ensure_running()


def _connected(settings: Settings, stack: ExitStack) -> Any:
    """Return a client of the cluster: of workers started here for local:N, else of the one at the address."""
    import dask  # noqa: PLC0415
    from distributed import Client, LocalCluster, Security  # noqa: PLC0415

    address = settings.cluster_address
    if local := _LOCAL.fullmatch(address):
        if "forkserver" in get_all_start_methods():
            stack.enter_context(dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}))
        # Others on this machine may reach the port: certificates that only this process and its workers have.
        cluster = LocalCluster(
            n_workers=int(local[1]),
            threads_per_worker=1,
            processes=True,
            host="tls://127.0.0.1",
            dashboard_address=None,
            security=Security.temporary(),
            silence_logs="CRITICAL",
        )
        return stack.enter_context(Client(stack.enter_context(cluster)))
    security = None
    if address.startswith("tls://"):
        ca, cert, key = map(str, _certificates(settings))
        security = Security(tls_ca_file=ca, tls_client_cert=cert, tls_client_key=key, require_encryption=True)
    try:
        client = stack.enter_context(Client(address, security=security, timeout=_CONNECT_SECONDS))
        if not client.scheduler_info(n_workers=-1)["workers"]:
            client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        reason = str(error).partition("\n")[0][:200].rstrip(".")
        raise InputError("cluster-unreachable", f"The cluster {address} does not answer: {reason}.") from error
    return client


def _refusal(error: Exception) -> InputError:
    """Return the sentence for a part that no worker read."""
    if isinstance(error, RefusedWorkerError):
        return InputError("cluster-refused", f"A worker of the cluster is not used: {error}.")
    if isinstance(error, ImportError):
        return InputError("cluster-refused", f"A worker of the cluster has no knowbound, or another: {error}.")
    reason = f"{type(error).__name__}: {error}".partition("\n")[0][:300].rstrip(".")
    return InputError("cluster-refused", f"The cluster did not read every session: {reason}.")
