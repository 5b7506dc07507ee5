"""Permissions to see and to change things in the studio, and how a browser proves that it has them.

On the own machine a random link of a single use is exchanged for a cookie. A team signs in by name and password, or by
a header that counts only from the configured address of a reverse proxy. `docs/studio.md` has the reasons.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http.cookies import CookieError, SimpleCookie
from pathlib import Path
from threading import Lock

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowbound.errors import InputError
from knowbound.language import translated

_SESSION_HOURS = 24 * 7
_MOST_WRONG, _WRONG_SECONDS = 5, 60.0  # wrong passwords of a name or an address in this time
_SCRYPT = {"n": 2**14, "r": 8, "p": 1, "dklen": 32}
_HASH_PREFIX = "scrypt"
_LONGEST_PASSWORD = 1_000


class Right(StrEnum):
    """A right that a change needs."""

    WORK = "work"  # of files, hooks, items; evaluations; calls of a model
    RECORD = "record"  # labels, and verdicts on corrections


@dataclass(frozen=True, slots=True)
class Team:
    """The users of a studio that listens on the network, and the proxy that may name them."""

    hashes: Mapping[str, str] = field(default_factory=dict)  # name → scrypt$salt$hash
    proxy: str = ""  # address of the reverse proxy
    header: str = ""  # in which the proxy names the user


@dataclass(frozen=True, slots=True)
class Visitor:
    """A browser that has proven who it is."""

    user: str
    csrf: str  # has to come with every change
    until: float  # time.time() at which the session ends


class Access:
    """Open links, sessions and permissions of one running studio. Threads may share it."""

    def __init__(self, user: str, *, is_read_only: bool = False, team: Team | None = None) -> None:
        self.team = team
        self._user, self._is_read_only = user, is_read_only
        self._links: set[str] = set()
        self._visitors: dict[str, Visitor] = {}
        self._wrong_times: dict[str, deque[float]] = {}  # of wrong passwords, by name and by address
        self._lock = Lock()

    def may(self, right: Right) -> bool:
        """Report whether visitors may make changes of this kind."""
        return not self._is_read_only and (self.team is None or right is Right.RECORD)

    def new_link(self) -> str:
        """Return a token that opens the studio once."""
        token = secrets.token_urlsafe(32)
        with self._lock:
            self._links.add(_digest(token))
        return token

    def redeem(self, token: str) -> str | None:
        """Exchange the token of a link for the id of a session; None if it is unknown or was used."""
        with self._lock:
            if _digest(token) not in self._links:
                return None
            self._links.discard(_digest(token))
        return self._start_session(self._user)

    def sign_in(self, name: str, password: str, address: str) -> str | None:
        """Return the id of a session for the right password; None for a wrong one, or after too many wrong ones."""
        if self.team is None or self._has_too_many_wrong(name, address):
            return None
        stored_hash = self.team.hashes.get(name, "")
        # An unknown name is checked, too: it takes as long as a wrong password.
        if len(password) <= _LONGEST_PASSWORD and is_password(password, stored_hash or _HASH_OF_NOBODY) and stored_hash:
            return self._start_session(name)
        with self._lock:
            for key in (f"name {name}", f"address {address}"):
                self._wrong_times.setdefault(key, deque(maxlen=_MOST_WRONG)).append(time.monotonic())
            while len(self._wrong_times) > 10_000:  # whoever tries many names fills no memory
                del self._wrong_times[next(iter(self._wrong_times))]
        return None

    def sign_out(self, session: str) -> None:
        """End a session."""
        with self._lock:
            self._visitors.pop(_digest(session), None)

    def visitor(self, session: str, address: str, headers: Mapping[str, str]) -> Visitor | None:
        """Return the visitor of a session, or the user whom the proxy names; None for nobody."""
        if self.team is not None and self.team.header and address == self.team.proxy:
            name = headers.get(self.team.header, "").strip()
            # The proxy has no session here: its token for changes belongs to the user's name.
            return Visitor(name, _digest(f"{self._secret}{name}"), 0) if name else None
        visitor = self._visitors.get(_digest(session)) if session else None
        return visitor if visitor is not None and visitor.until > time.time() else None

    def _start_session(self, user: str) -> str:
        """Return the id of a new session of a user; sessions that ended are forgotten."""
        session = secrets.token_urlsafe(32)
        with self._lock:
            now = time.time()
            self._visitors = {key: visitor for key, visitor in self._visitors.items() if visitor.until > now}
            until = now + _SESSION_HOURS * 3600
            self._visitors[_digest(session)] = Visitor(user, secrets.token_urlsafe(32), until)
        return session

    def _has_too_many_wrong(self, name: str, address: str) -> bool:
        since = time.monotonic() - _WRONG_SECONDS
        with self._lock:
            times_by_key = (self._wrong_times.get(key, ()) for key in (f"name {name}", f"address {address}"))
            return any(sum(moment > since for moment in times) >= _MOST_WRONG for times in times_by_key)

    _secret = secrets.token_hex(32)


def _digest(token: str) -> str:
    """Return the form in which tokens are kept: what leaks from memory opens nothing, and comparing leaks no prefix."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


def is_same_secret(given: str, expected: str) -> bool:
    """Compare two secrets in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), expected.encode())


# Passwords


def password_hash(password: str) -> str:
    """Return the line with the hash of a password, for the file of users."""
    salt = secrets.token_bytes(16)
    return "$".join((_HASH_PREFIX, *(base64.b64encode(part).decode() for part in (salt, _scrypt(password, salt)))))


def is_password(password: str, stored_hash: str) -> bool:
    """Report whether a password matches a hash."""
    try:
        prefix, salt, digest = stored_hash.split("$")
        given = _scrypt(password, base64.b64decode(salt, validate=True))
        return prefix == _HASH_PREFIX and hmac.compare_digest(given, base64.b64decode(digest, validate=True))
    except ValueError:
        return False


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode("utf-8", "replace"), salt=salt, **_SCRYPT)


_HASH_OF_NOBODY = password_hash(secrets.token_hex(16))  # an unknown name takes as long as a wrong password


def read_users(path: Path) -> dict[str, str]:
    """Read a file with a line `name:hash` for each user. Raises InputError."""
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error}.") from error
    users = {}
    for number, line in enumerate(lines, 1):
        name, colon, stored_hash = line.strip().partition(":")
        if not line.strip() or line.startswith("#"):
            continue
        if not (name and colon and stored_hash.startswith(f"{_HASH_PREFIX}$") and stored_hash.count("$") == 2):
            raise InputError(
                "wrong-users", f"{path}:{number} is not NAME:HASH. A hash is made by: knowbound serve --hash-password"
            )
        users[name] = stored_hash
    return users


# The guard


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
_PATHS_WITHOUT_SESSION = ("/open/", "/assets/", "/sign-in", "/closed")  # without a session
_READING_METHODS = ("GET", "HEAD")


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
        if visitor is None and not scope["path"].startswith(_PATHS_WITHOUT_SESSION):
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
        is_safe = scope["method"] in _READING_METHODS
        # Another site may link to a page here, and may load nothing else from it.
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
        return {name: cookie.value for name, cookie in SimpleCookie(headers.get("cookie", "")).items()}
    except CookieError:
        return {}
