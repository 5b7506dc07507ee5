"""The studio from beginning to end: its server, the link that opens it, its addresses, the guard before them."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from knowbound import __version__
from knowbound.config import Settings
from knowbound.errors import DEFECT, InputError, KnowboundError
from knowbound.language import LANGUAGES, say, translated, use_here
from knowbound.web.access import Access, Guard, Team, Visitor, cookies_of, is_same_secret
from knowbound.web.live import Live, ReadingPlan
from knowbound.web.pages import Asked, Goto, Plain, Shown, Studio, StudioPage, View, studio_pages
from knowbound.web.rendering import asset_bytes, rendered, sentences

THEMES = ("light", "dark")
_LANGUAGE, _THEME = "knowbound_language", "knowbound_theme"
_LONGEST_FORM_BYTES = 2_000_000  # bytes
_YEAR_SECONDS = 365 * 24 * 3600
_MEDIA_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def application(studio: Studio, hosts: frozenset[str], cookie: str, language: str = "en") -> Starlette:
    """Return the application that shows a studio. `language` is that of browsers that did not choose one."""

    @asynccontextmanager
    async def running(_: Starlette) -> AsyncIterator[None]:
        watcher = asyncio.create_task(studio.live.watch())
        yield
        watcher.cancel()
        with suppress(asyncio.CancelledError):
            await watcher

    answers = _Answers(studio, cookie, language)
    routes = [
        Route("/open/{token}", answers.open),
        Route("/closed", answers.closed),
        Route("/sign-in", answers.sign_in, methods=["GET", "POST"]),
        Route("/sign-out", answers.sign_out, methods=["POST"]),
        Route("/preferences", answers.preferences, methods=["POST"]),
        Route("/assets/{name}", asset),
        Route("/events", answers.events),
    ]
    for page in studio_pages():
        routes += [Route(path, answers.shown(page, view)) for path, view in page.views.items()]
        routes += [Route(path, answers.changed(page, view), methods=["POST"]) for path, view in page.changes.items()]
    return Starlette(
        routes=routes,
        middleware=[Middleware(Guard, access=studio.access, hosts=hosts, cookie=cookie)],
        exception_handlers={
            HTTPException: answers.no_such_page,
            KnowboundError: answers.user_error,
            Exception: answers.defect,
        },
        lifespan=running,
    )


class _Answers:
    """The answers of the addresses of one studio."""

    def __init__(self, studio: Studio, cookie: str, language: str) -> None:
        self._studio, self._cookie, self._language = studio, cookie, language

    # The door

    async def open(self, request: Request) -> Response:
        """Exchange the token of a link for a session, and lead away from the address that has the token."""
        purpose = request.headers.get("sec-purpose", request.headers.get("purpose", ""))
        # A browser that only looks ahead must not use up the link.
        is_preview = request.method != "GET" or "prefetch" in purpose
        session = None if is_preview else self._studio.access.redeem(request.path_params["token"])
        if session is None:
            return RedirectResponse("/" if request.scope["knowbound.visitor"] else "/closed", 303)
        return self._with_session(RedirectResponse("/", 303), session, request)

    async def closed(self, request: Request) -> Response:
        """Say how the studio is opened."""
        return await self._html(request, "closed.html", {}, 401)

    async def sign_in(self, request: Request) -> Response:
        """Show the form for a name and a password, and check them."""
        access, is_wrong = self._studio.access, False
        if access.team is None or not access.team.hashes:
            return RedirectResponse("/" if request.scope["knowbound.visitor"] else "/closed", 303)
        if request.method == "POST":
            form = await _form(request)
            address = request.client.host if request.client else ""
            credentials = form.get("name", ""), form.get("password", ""), address
            session = await run_in_threadpool(access.sign_in, *credentials)
            if session is not None:
                return self._with_session(RedirectResponse("/", 303), session, request)
            is_wrong = True
        return await self._html(request, "sign_in.html", {"wrong": is_wrong}, 401 if is_wrong else 200)

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        _check_csrf(request, await _form(request))
        self._studio.access.sign_out(request.scope["knowbound.session"])
        answer = RedirectResponse("/closed", 303)
        answer.delete_cookie(self._cookie)
        return answer

    def _with_session(self, answer: Response, session: str, request: Request) -> Response:
        is_https = request.headers.get("origin", "").startswith("https:") or request.url.scheme == "https"
        answer.set_cookie(self._cookie, session, httponly=True, samesite="strict", secure=is_https)
        return answer

    async def preferences(self, request: Request) -> Response:
        """Remember the colours and the language of this browser."""
        form = await _form(request)
        _check_csrf(request, form)
        came_from = urlsplit(request.headers.get("referer", "/"))
        answer = RedirectResponse((came_from.path or "/") + (f"?{came_from.query}" if came_from.query else ""), 303)
        for name, value, known in ((_THEME, form.get("theme"), THEMES), (_LANGUAGE, form.get("language"), LANGUAGES)):
            if value == "":
                answer.delete_cookie(name)
            elif value in known:
                answer.set_cookie(name, value, max_age=_YEAR_SECONDS, httponly=True, samesite="strict")
        return answer

    async def events(self, _: Request) -> Response:
        """Stream what changes."""
        return StreamingResponse(self._studio.live.events(), media_type="text/event-stream")

    # The pages

    def shown(self, page: StudioPage, view: View) -> Callable[[Request], Any]:
        """Return the answer of an address that shows something."""

        async def answer(request: Request) -> Response:
            return await run_in_threadpool(self._answer, request, page, view, {})

        return answer

    def changed(self, page: StudioPage, change: View) -> Callable[[Request], Any]:
        """Return the answer of an address that changes something."""

        async def answer(request: Request) -> Response:
            form = await _form(request)
            _check_csrf(request, form)
            if not self._studio.access.may(page.right):
                raise HTTPException(403, "This studio is read-only.")
            try:
                return await run_in_threadpool(self._answer, request, page, change, form)
            finally:
                self._studio.live.wake()

        return answer

    def _answer(self, request: Request, page: StudioPage, view: View, form: dict[str, str]) -> Response:
        """Answer a request with what a view makes of it. Runs in a thread: a view may wait for a file."""
        use_here(sentences(self._language_of(request)))
        visitor: Visitor = request.scope["knowbound.visitor"]
        match view(Asked(self._studio, visitor.user, request.path_params, dict(request.query_params), form)):
            case Goto(path):
                return RedirectResponse(path, 303)
            case Plain(text):
                return PlainTextResponse(text)
            case Shown(template, values, status):
                return self._rendered(request, template, values, page, status)

    async def _html(self, request: Request, template: str, values: Mapping[str, Any], status: int) -> Response:
        """Return a page that is none of the menu."""
        return await run_in_threadpool(self._rendered, request, template, values, None, status)

    def _rendered(
        self, request: Request, template: str, values: Mapping[str, Any], page: StudioPage | None, status: int
    ) -> Response:
        """Render a template with what is known of the visitor and of the browser."""
        visitor, language = request.scope.get("knowbound.visitor"), self._language_of(request)
        theme = cookies_of(request.headers).get(_THEME, "")
        use_here(sentences(language))
        of_visitor = {"pages": studio_pages(), "csrf": visitor.csrf, "user": visitor.user} if visitor else {}
        of_browser = {"language": language, "theme": theme if theme in THEMES else ""}
        return HTMLResponse(rendered(template, self._studio, page, {**of_browser, **of_visitor, **values}), status)

    def _language_of(self, request: Request) -> str:
        chosen = cookies_of(request.headers).get(_LANGUAGE, "")
        return chosen if chosen in LANGUAGES else self._language

    # What went wrong

    async def no_such_page(self, request: Request, error: Exception) -> Response:
        """Show that there is no such page, or that it may not be used so."""
        status = error.status_code if isinstance(error, HTTPException) else 404
        reason = error.detail if isinstance(error, HTTPException) and status not in (404, 405) else ""
        values = {"headline": "There is no such page." if status == 404 else reason or "This cannot be done here."}
        return await self._html(request, "wrong.html", values | {"said": "", "slug": ""}, status)

    async def user_error(self, request: Request, error: Exception) -> Response:
        """Show an error that the visitor can act on, with its next step."""
        slug = error.slug if isinstance(error, KnowboundError) else ""
        # The first argument is the message without the slug.
        values = {"headline": "That did not work.", "said": str(error.args[0]), "slug": slug}
        return await self._html(request, "wrong.html", values, 409)

    async def defect(self, request: Request, error: Exception) -> Response:
        """Show that something is wrong with us. Starlette raises the error again, for the log."""
        shown_error = f"{type(error).__name__}" if not os.environ.get("KNOWBOUND_TRACEBACK") else f"{error!r}"
        values = {"headline": "A defect of ours.", "said": shown_error, "slug": f"exit {DEFECT}"}
        return await self._html(request, "wrong.html", values, 500)


async def asset(request: Request) -> Response:
    """Answer with a file that comes with the pages. `v` in the address changes with every version."""
    name = request.path_params["name"]
    content = asset_bytes(name)
    if content is None:
        raise HTTPException(404)
    # The icon of the tab gets a badge with the number `n`.
    if name == "icon.svg" and (count := request.query_params.get("n", "")).isdecimal() and count != "0":
        shown = count if len(count) < 3 else "99"
        badge = f'<circle cx="46" cy="18" r="18" fill="#a3231b"/><text x="46" y="26" class="n">{shown}</text></svg>'
        content = content.replace(b"</svg>", badge.encode())
    caching = "max-age=31536000, immutable" if request.query_params.get("v") == __version__ else "no-cache"
    return Response(content, media_type=_MEDIA_TYPES[name.rpartition(".")[2]], headers={"Cache-Control": caching})


async def _form(request: Request) -> dict[str, str]:
    """Return the fields of a form. Raises HTTPException for anything else, and for a form that is too long."""
    if request.headers.get("content-type", "").partition(";")[0] != "application/x-www-form-urlencoded":
        raise HTTPException(415, translated("This is no form."))
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LONGEST_FORM_BYTES:
            raise HTTPException(413, translated("This form is too long."))
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=100)
    return {name: values[-1] for name, values in fields.items()}


def _check_csrf(request: Request, form: dict[str, str]) -> None:
    """Raise HTTPException unless the form has the token of the visitor's session."""
    visitor: Visitor | None = request.scope["knowbound.visitor"]
    if visitor is None or not is_same_secret(form.get("csrf", ""), visitor.csrf):
        raise HTTPException(403, "This form is of an earlier session. Load the page again.")


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
        # A browser leaves out the port behind a proxy, and the usual one.
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
