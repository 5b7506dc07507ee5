"""`knowbound serve` from beginning to end: the studio, its server, and the link that opens it."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import uvicorn

from knowbound.config import Settings
from knowbound.errors import InputError
from knowbound.language import say, translated
from knowbound.web.access import Access, Team
from knowbound.web.app import application
from knowbound.web.live import Live, ReadingPlan
from knowbound.web.studio import Studio

LOOPBACK = "127.0.0.1"
_LOCAL = (LOOPBACK, "localhost")
_END_SECONDS = 1  # open pages listen for events: they are not waited for


class Address:
    """The address of a studio: where it listens, and the hosts that it answers to."""

    def __init__(self, host: str = LOOPBACK, port: int = 0, names: Sequence[str] = ()) -> None:
        self.host = host
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self.socket.bind((host, port))
        except OSError as error:
            self.socket.close()
            raise InputError(
                "port-taken", f"Cannot listen on {host}:{port}: {error.strerror}. Try: knowbound serve --port 0"
            ) from error
        self.port: int = self.socket.getsockname()[1]
        shown_host = f"[{host}]" if ":" in host else host
        hosts = [*names, shown_host, *(_LOCAL if host == LOOPBACK else ())]
        self.hosts = frozenset(f"{name.lower()}{port}" for name in hosts for port in (f":{self.port}", ""))
        self.url = f"http://{shown_host}:{self.port}"


class StudioServer(NamedTuple):
    """A studio with its server, ready to run."""

    server: uvicorn.Server
    studio: Studio
    address: Address

    def new_link(self) -> str:
        """Return a link that opens the studio once."""
        return f"{self.address.url}/open/{self.studio.access.new_link()}"

    def run(self) -> None:
        """Serve until it is interrupted."""
        self.server.run(sockets=[self.address.socket])


def prepared(
    settings: Settings,
    address: Address,
    user: str,
    paths: Sequence[Path] = (),
    *,
    root_is_given: bool = False,
    is_read_only: bool = False,
    team: Team | None = None,
    environ: Mapping[str, str] | None = None,
    language: str = "en",
    reads: bool = True,
) -> StudioServer:
    """Return the studio of a project. Without `reads` it shows what is stored, and reads no sessions."""
    access = Access(user, is_read_only=is_read_only, team=team)
    plan = ReadingPlan(str(settings.root), tuple(map(str, paths)), root_is_given)
    studio = Studio(settings, access, Live(plan, settings.home, environ, reads=reads), tuple(paths))
    config = uvicorn.Config(
        application(studio, address.hosts, f"knowbound_{address.port}", language),
        log_level="critical",
        access_log=False,
        server_header=False,
        date_header=False,
        proxy_headers=False,  # only the guard reads a proxy's header, and only from the configured address
        lifespan="on",
        timeout_graceful_shutdown=_END_SECONDS,
    )
    return StudioServer(uvicorn.Server(config), studio, address)


def serve(studio_server: StudioServer, *, opens: bool, say_line: Callable[[str], None]) -> None:
    """Say how the studio is opened, and serve it until it is interrupted."""
    if studio_server.studio.access.team is None:
        link = studio_server.new_link()
        say_line(say("The studio of {}: {}", studio_server.studio.project, link))
        say_line(translated("The link opens it once. Enter makes another one, Ctrl-C ends it."))
        if opens and sys.stdout.isatty():
            webbrowser.open(link)
        if sys.stdin is not None and sys.stdin.isatty():
            threading.Thread(target=_more_links, args=(studio_server, say_line), daemon=True).start()
    else:
        say_line(say("The studio of {}: {}", studio_server.studio.project, studio_server.address.url))
    studio_server.run()


def _more_links(studio_server: StudioServer, say_line: Callable[[str], None]) -> None:
    """Say another link for each line that is typed."""
    for _ in sys.stdin:
        say_line(studio_server.new_link())
