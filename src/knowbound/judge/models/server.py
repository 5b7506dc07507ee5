"""What a model's server is asked with, and its refusals in our words, whichever client of HTTP asks it."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from knowbound.judge.models.completion import CompletionError
from knowbound.judge.names import Provider
from knowbound.text.redact import redact

KEYS = {
    Provider.ANTHROPIC: "ANTHROPIC_API_KEY",
    Provider.OPENAI: "OPENAI_API_KEY",
    Provider.URL: "KNOWBOUND_JUDGE_API_KEY",
}
_HOPELESS = (401, 402, 403, 404)  # key, quota, permission, model: no other question will fare better
_WORTH_ANOTHER = (408, 409, 425, 429)
_SHOWN = 300  # characters of what a server said


def refusal(status: int, body: object, after: float | None = None) -> CompletionError:
    """The status of HTTP with which a server refused, and what it said."""
    said = shown(body) if body else ""
    words = {401: "the key is refused", 403: "it is forbidden", 404: "there is no such model or address"}
    problem = words.get(status, "too many requests" if status == 429 else "the server refused")
    return CompletionError(
        f"{problem} (HTTP {status}){f': {said}' if said else ''}",
        again=status >= 500 or status in _WORTH_ANOTHER,
        hopeless=status in _HOPELESS,
        after=after,
        status=status,
    )


def redirection(where: str) -> CompletionError:
    """A redirect is not followed: material would go where nobody sent it."""
    return CompletionError(f"the server redirects to {shown(where)}: name that address instead", hopeless=True)


def is_loopback(url: str) -> bool:
    """Whether the server is on this machine: a proxy of the environment does not reach it."""
    import ipaddress  # noqa: PLC0415

    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def shown(said: object) -> str:
    """What a server said, short, on one line, without secrets."""
    text = said if isinstance(said, str) else json.dumps(said, default=str) if isinstance(said, dict) else str(said)
    return redact(" ".join(text.split()))[:_SHOWN].rstrip(".")
