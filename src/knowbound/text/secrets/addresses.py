"""Secrets in addresses: passwords, tokens in place of a user, webhooks, signatures and other parameters."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.looks import is_random, is_varied, mark

_PASSWORD = lazy(
    r"(://[^\s/:@\"'<>`\[]*+:)(?!/|\d{1,5}[/?#),;\]}])"  # after the host may come a port instead
    r"([^\s/\"'<>`]{1,300}|[^\s\"'<>`@]{1,100})(?=@)"
)
_NO_PASSWORD = lazy(
    r"(?:\[redacted:[a-z-]+\])+|\$\{?\w+\}?|\{+[\w. ]*\}+|%\w+%?|[*xX.•]+|[<(]?(?:(?:YOUR_?)?PASSWORD|PASS|PWD)[>)]?"
)
_USER = lazy(r"(://)([\w-]{16,256}+)(?=@)", re.ASCII)  # https://TOKEN@host
# Addresses that are themselves the permission to post.
_WEBHOOK = lazy(
    r"(hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/(?:[\w-]{6,16}/){2}"
    r"|discord(?:app)?\.com/api/(?:v\d+/)?webhooks/\d{15,21}/"
    r"|webhook\.office(?:365)?\.com/webhookb2/[\w@-]{30,90}/IncomingWebhook/"
    r"|outlook\.office(?:365)?\.com/webhook/[\w@-]{30,90}/IncomingWebhook/"
    r"|hooks\.zapier\.com/hooks/catch/\d+/|hook\.(?:[a-z0-9]+\.)?make\.com/|hook\.integromat\.com/"
    r"|maker\.ifttt\.com/trigger/[\w-]{1,80}/(?:json/)?with/key/"
    r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook/|qyapi\.weixin\.qq\.com/cgi-bin/webhook/send\?key="
    r"|api\.telegram\.org/bot)([A-Za-z0-9][\w:/-]{7,200})"
)
_HOOK = lazy(r"(/(?:services/)?(?:web)?hooks?/(?:[\w-]{1,40}/){0,3})([A-Za-z0-9][\w-]{15,200})")  # of any host
_HOOKS = ("hook/", "hooks/", "hook.", "hooks.", "webhookb2/", "maker.ifttt.", "telegram.org/")
_SIGNATURE = lazy(
    r"([?&;#](?:amp;)?(?:sig|(?:x-(?:amz|goog)-)?signature|x-amz-security-token|oauth_signature|hmac|(code|pat|auth|"
    r"auth_?key|sas|ticket|invite|access_?key|sk|h))=)([\w%.~+/=-]{16,2000}+)",
    re.IGNORECASE | re.ASCII,
)
_AZURE_KEY = lazy(r"(?<=Key=)(?:(?<=AccountKey=)|(?<=SharedAccessKey=))[A-Za-z0-9+/]{20,}+={0,2}")


def redact_addresses(text: str) -> str:
    """Redact passwords and tokens before the host of an address."""
    if "@" in text:
        text = _PASSWORD.sub(_redact_password, text)
        text = _USER.sub(_redact_user, text)
    return text


def redact_parameters(text: str) -> str:
    """Redact webhooks and signatures, also in addresses that were cut at their beginning."""
    if "/" in text and any(map(text.__contains__, _HOOKS)):
        text = _WEBHOOK.sub(rf"\1{mark('webhook')}", text)
        text = _HOOK.sub(_redact_hook, text)
    if "=" in text:
        if "?" in text or "&" in text or "#" in text:
            text = _SIGNATURE.sub(_redact_signature, text)
        if "Key=" in text:
            text = _AZURE_KEY.sub(mark("azure-key"), text)
    return text


def _redact_password(found: re.Match[str]) -> str:
    if _NO_PASSWORD.fullmatch(found[2]):
        return found[0]
    return found[1] + mark("url-password")


def _redact_user(found: re.Match[str]) -> str:
    return found[1] + mark("url-token") if is_random(found[2], 16) else found[0]


def _redact_hook(found: re.Match[str]) -> str:
    return found[1] + mark("webhook") if is_random(found[2]) else found[0]


def _redact_signature(found: re.Match[str]) -> str:
    value = found[3].replace("%2B", "+").replace("%2F", "/").replace("%3D", "=")
    is_secret = is_random(value) if found[2] else is_varied(value)
    return found[1] + mark("signature") if is_secret else found[0]
