"""The guard of the studio: every request passes it before a page sees it.

It refuses other hosts (a name that was rebound to 127.0.0.1), other origins, and browsers without a session, and puts
the headers on every answer that keep a page from running or loading anything that is not ours.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowbound.language import translated
from knowbound.web.access import Access

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "same-origin",  # a form of ours has to name its origin
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
_OPEN = ("/open/", "/assets/", "/sign-in", "/closed")  # without a session
_SAFE = ("GET", "HEAD")


class Guard:
    """Checks every request of one studio: its host, its origin, its session."""

    def __init__(self, app: ASGIApp, access: Access, hosts: frozenset[str], cookie: str) -> None:
        self._app, self._access, self._hosts, self._cookie = app, access, hosts, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    given.setdefault(name, value)
                given.setdefault("Cache-Control", "no-store")
            await send(message)

        refused = self._refusal(scope, headers)
        if refused:
            await PlainTextResponse(translated(refused) + "\n", 403)(scope, receive, guarded)
            return
        session = cookies_of(headers).get(self._cookie, "")
        client = scope.get("client")
        visitor = self._access.visitor(session, client[0] if client else "", headers)
        if visitor is None and not scope["path"].startswith(_OPEN):
            place = "/sign-in" if self._access.team is not None else "/closed"
            await RedirectResponse(place, 303)(scope, receive, guarded)
            return
        scope["knowbound.visitor"], scope["knowbound.session"] = visitor, session
        await self._app(scope, receive, guarded)

    def _refusal(self, scope: Scope, headers: Headers) -> str:
        """Return why a request is refused, or an empty string."""
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return "The studio does not answer to this host name."
        is_safe = scope["method"] in _SAFE
        site = headers.get("sec-fetch-site", "none")
        if site not in ("same-origin", "none") and not (is_safe and headers.get("sec-fetch-mode") == "navigate"
                                                        and headers.get("sec-fetch-dest") == "document"):  # fmt: skip
            return "The studio does not answer to pages of others."
        if not is_safe and headers.get("origin", "") not in (f"http://{host}", f"https://{host}"):
            return "A change has to come from a page of the studio."
        return ""


def cookies_of(headers: Headers) -> dict[str, str]:
    """Return the cookies of a request; none if they cannot be read."""
    try:
        return {name: one.value for name, one in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}
