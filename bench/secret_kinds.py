"""Seeded generator of fake secrets of many kinds in many places.

`secret_kinds.jsonl` has a kind a line. A `token` is known by its own form, a `named` value only by its name, and a
`snippet` carries its own context. `secret` and `text` are templates: «A62:40» is 40 signs of an alphabet, «=abc:1-3»
one to three of these signs, «a|b» one of these texts, «secret» the secret itself; `_part` knows the other parts. A
function here makes a kind without a template. `secret_carriers.json` has the texts around a secret, and the carriers of
each form in each place: {s} is the token, the named value or the snippet, <EN>, <ZH>, <LOG> are 500 to 900 characters
of ordinary text, <en>, <zh>, <log> 60 to 200. No complete secret is written in these files.
"""

from __future__ import annotations

import base64
import hashlib
import json
import random
import re
import string
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import quote

import msgspec

PLACES = ("prompt", "tool_input", "output", "path", "query", "environment", "url", "chinese")
_HERE = Path(__file__).parent
_AROUND = json.loads((_HERE / "secret_carriers.json").read_text("utf-8"))

_LOW, _UP, _DIG = string.ascii_lowercase, string.ascii_uppercase, string.digits
_ALPHABETS = {
    "LOW": _LOW, "UP": _UP, "DIG": _DIG, "A62": _DIG + _UP + _LOW, "HEX": "0123456789abcdef",
    "B64": _UP + _LOW + _DIG + "+/", "B64U": _UP + _LOW + _DIG + "-_", "B32": _UP + "234567",
    "LN": _LOW + _DIG, "UN": _UP + _DIG,
}  # fmt: skip
_B58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_BECH = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
_WORDS = (
    "winter summer falcon copper harbor maple rocket silver tiger orchid granite monkey thunder coffee velvet pirate "
    "cactus lemon dragon bishop sailor pepper walnut ginger bandit comet pickle saturn lantern mango"
).split()
_HOSTS = (
    "db.internal.acme.io prod-db-1.eu-west-1.example.net 10.20.3.14 staging.shopfront.dev cluster0.a1b2c.example.net "
    "data.corp.example.com warehouse.northwind.io"
).split()
_USERS = "admin app deploy svc_reports root jenkins maria backend readwrite lwang".split()


class Kind(msgspec.Struct, frozen=True):
    """A line of `secret_kinds.jsonl`."""

    kind: str
    mode: str  # token, named, snippet
    secret: str = ""
    text: tuple[str, ...] = ()  # of a snippet: one of these
    encoded: str = ""  # base64, percent
    env: str = ""
    noun: str = ""
    zh: str = ""
    param: str = ""
    form: str = "line"  # of a snippet: line, cmd, url, block, prose, zh, pgpass
    not_in: tuple[str, ...] = ()

    def make(self, r: Random) -> tuple[str, str]:
        """A text with a secret, and the secret."""
        if self.kind in _SNIPPET_MAKERS:
            return _SNIPPET_MAKERS[self.kind](r)
        made = _filled(r, self.secret) if self.secret else _TOKEN_MAKERS[self.kind](r)
        secret = text = _encoded(made, self.encoded)
        if self.text:
            text = _filled(r, r.choice(self.text) if len(self.text) > 1 else self.text[0], secret)
        return text, secret


def _filled(r: Random, template: str, secret: str = "") -> str:
    return re.sub("«(.*?)»", lambda found: _part(r, found[1], secret), template)


def _part(r: Random, part: str, secret: str) -> str:
    if part == "secret":
        return secret
    if part in _NAMED_PARTS:
        return _NAMED_PARTS[part](r)
    name, _, size = part.rpartition(":")
    if name in _SIZED_PARTS:
        return _SIZED_PARTS[name](r, size)
    if name in _ALPHABETS or name.startswith("="):
        return _signs(r, _ALPHABETS.get(name) or name[1:], size)
    return r.choice(part.split("|"))


def _signs(r: Random, alphabet: str, size: str) -> str:
    least, _, most = size.partition("-")
    return "".join(r.choice(alphabet) for _ in range(r.randint(int(least), int(most)) if most else int(least)))


def _bytes(r: Random, count: int) -> bytes:
    return bytes(r.getrandbits(8) for _ in range(count))


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _b64u(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _encoded(text: str, way: str) -> str:
    return _b64(text.encode()) if way == "base64" else quote(text, safe="") if way == "percent" else text


def _uuid(r: Random) -> str:
    h = _signs(r, _ALPHABETS["HEX"], "32")
    return f"{h[:8]}-{h[8:12]}-4{h[13:16]}-{r.choice('89ab')}{h[17:20]}-{h[20:]}"


def _number(r: Random, digits: int) -> str:
    return r.choice("123456789") + _signs(r, _DIG, str(digits - 1))


def _password(r: Random, *, url: bool = False) -> str:
    """A password as people and generators make them."""
    signs = "-_.!" if url else "!#%*?-_+.="
    way = r.randrange(5)
    if way == 0:
        return r.choice(_WORDS).capitalize() + str(r.randint(1975, 2026)) + ("!" if url else r.choice("!#*"))
    if way == 1:
        return "-".join(r.sample(_WORDS, 3)) + "-" + str(r.randint(10, 99))
    if way == 2:
        word = r.choice(_WORDS) + r.choice(_WORDS)
        return word.replace("a", "4").replace("e", "3").replace("o", "0").capitalize() + str(r.randint(2, 999))
    if way == 3:
        body = _filled(r, "«A62:14-22»")
        return body[:5] + r.choice(signs) + body[5:9] + r.choice(signs[:4]) + body[9:]
    return _filled(r, "«A62:16-28»")


def _crc_token(r: Random, prefix: str) -> str:
    body = _filled(r, "«A62:30»")
    number, check = zlib.crc32(body.encode()), ""
    while number:
        number, digit = divmod(number, 62)
        check = _ALPHABETS["A62"][digit] + check
    return prefix + body + check.rjust(6, "0")


_NAMED_PARTS: dict[str, Callable[[Random], str]] = {
    "uuid": _uuid,
    "user": lambda r: r.choice(_USERS),
    "host": lambda r: r.choice(_HOSTS),
    "word": lambda r: r.choice(_WORDS),
    "password": _password,
    "url_password": lambda r: _password(r, url=True),
}
_SIZED_PARTS: dict[str, Callable[[Random, str], str]] = {
    "num": lambda r, size: _number(r, int(size)),
    "int": lambda r, size: str(r.randint(*map(int, size.split("-")))),
    "b64": lambda r, size: _b64(_bytes(r, int(size))),
    "b64u": lambda r, size: _b64u(_bytes(r, int(size))),
    "b64%": lambda r, size: quote(_b64(_bytes(r, int(size))), safe=""),
    "crc": _crc_token,
}


# Kinds that no template makes


def _base58check(payload: bytes) -> str:
    data = payload + hashlib.sha256(hashlib.sha256(payload).digest()).digest()[:4]
    number, text = int.from_bytes(data, "big"), ""
    while number:
        number, digit = divmod(number, 58)
        text = _B58[digit] + text
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def _bech32(prefix: str, raw: bytes) -> str:
    def polymod(values: list[int]) -> int:
        check = 1
        for value in values:
            top, check = check >> 25, (check & 0x1FFFFFF) << 5 ^ value
            for at, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
                check ^= generator if (top >> at) & 1 else 0
        return check

    bits = "".join(f"{byte:08b}" for byte in raw)
    bits += "0" * (-len(bits) % 5)
    data = [int(bits[at : at + 5], 2) for at in range(0, len(bits), 5)]
    expanded = [ord(sign) >> 5 for sign in prefix] + [0] + [ord(sign) & 31 for sign in prefix]
    check = polymod(expanded + data + [0] * 6) ^ 1
    return prefix + "1" + "".join(_BECH[digit] for digit in data + [(check >> 5 * (5 - at)) & 31 for at in range(6)])


_PRIVATE_KEY = "PRIV" + "ATE KEY"


def _pem(r: Random, label: str, head: bytes, size: int, extra: str = "") -> tuple[str, str]:
    body = _b64(head + _bytes(r, size))
    wrapped = "\n".join(body[at : at + 64] for at in range(0, len(body), 64))
    dash = "-" * 5
    return f"{dash}BEGIN {label}{dash}\n{extra}{wrapped}\n{dash}END {label}{dash}", wrapped


def _rsa_pem(r: Random) -> tuple[str, str]:
    return _pem(r, "RSA " + _PRIVATE_KEY, bytes.fromhex("308204a402010002820101 00"), 1180)


def _pkcs8(r: Random) -> tuple[str, str]:
    return _pem(r, _PRIVATE_KEY, bytes.fromhex("308204be020100300d06092a864886f70d0101010500"), 1196)


def _ssh_pem(r: Random) -> tuple[str, str]:
    none = b"\0\0\0\x04none"
    head = b"openssh-key-v1\0" + none * 2 + b"\0\0\0\0\0\0\0\x01\0\0\0\x33\0\0\0\x0bssh-ed25519\0\0\0 "
    return _pem(r, "OPENSSH " + _PRIVATE_KEY, head, 218)


def _pgp_pem(r: Random) -> tuple[str, str]:
    text, body = _pem(r, "PGP " + _PRIVATE_KEY + " BLOCK", b"\x95\x03\xc6\x04", 860, "\n")
    end = "-" * 5 + "END"
    return text.replace(end, "=" + _b64(_bytes(r, 3)) + "\n" + end), body


def _jwt(r: Random, **claims: str) -> str:
    head = _b64u(_compact({"alg": r.choice(["HS256", "RS256"]), "typ": "JWT"}))
    body = {
        "sub": str(r.randint(10000, 9999999)),
        "iat": r.randint(1700000000, 1780000000),
        "exp": r.randint(1780000001, 1890000000),
        **claims,
    }
    return head + "." + _b64u(_compact(body)) + "." + _b64u(_bytes(r, 32))


def _compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def _gcp_service_account(r: Random) -> tuple[str, str]:
    text, body = _pkcs8(r)
    project = _filled(r, "«word»-«word»-«num:6»")
    document = {
        "type": "service_account",
        "project_id": project,
        "private_key_id": _filled(r, "«HEX:40»"),
        "private_key": text + "\n",
        "client_email": f"ci-deploy@{project}.iam.gserviceaccount.com",
        "client_id": _number(r, 21),
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    return json.dumps(document, indent=2), body.replace("\n", "\\n")


def _putty_key(r: Random) -> tuple[str, str]:
    body = _filled(r, "«B64:64»\n«B64:43»=")
    text = (
        "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: ed25519-key-2025\nPublic-Lines: 2\n"
        "AAAAC3NzaC1lZDI1NTE5AAAAI«B64:39»\n«B64:4»\nPrivate-Lines: 2\n«secret»\nPrivate-MAC: «HEX:64»"
    )
    return _filled(r, text, body), body


def _jwk(r: Random) -> tuple[str, str]:
    secret = _b64u(_bytes(r, 32))
    key = {"kty": "EC", "crv": "P-256", "kid": _filled(r, "«A62:8»"), "x": _b64u(_bytes(r, 32))}
    return json.dumps({**key, "y": _b64u(_bytes(r, 32)), "d": secret}), secret


def _seed_phrase(r: Random) -> tuple[str, str]:
    phrase = " ".join(r.sample(_AROUND["seed_words"].split(), r.choice([12, 12, 24])))
    text = r.choice(["seed phrase: ", "Recovery phrase is: ", 'mnemonic = "', "My wallet's seed words are "]) + phrase
    return (text + '"' if '"' in text else text), phrase


def _single_line_key(r: Random) -> tuple[str, str]:
    text, body = (part.replace("\n", "\\n") for part in _pkcs8(r))
    return f'"{text}"', body


def _kubeconfig(r: Random) -> tuple[str, str]:
    key = _b64(_rsa_pem(r)[0].encode())
    certificate = _b64(b"-----BEGIN CERTIFICATE-----" + _bytes(r, 200))
    user = f"user:\n    client-certificate-data: {certificate}\n    client-key-data: {key}"
    return f"users:\n- name: kubernetes-admin\n  {user}", key


def _kubernetes_secret(r: Random) -> tuple[str, str]:
    secret = _b64(_password(r).encode())
    data = f"data:\n  username: {_b64(r.choice(_USERS).encode())}\n  password: {secret}"
    return f"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db-credentials\ntype: Opaque\n{data}", secret


def _yaml_password(r: Random) -> tuple[str, str]:
    secret = _password(r, url=True)
    text = _filled(r, "database:\n  host: «host»\n  user: «user»\n  password: ")
    return text + r.choice([secret, f'"{secret}"']) + "\n  pool: 5", secret


def _sql_password(r: Random) -> tuple[str, str]:
    secret = _password(r)
    create = _filled(r, "CREATE USER '«user»'@'%' IDENTIFIED BY '«secret»';", secret)
    alter = _filled(r, "ALTER ROLE «user» WITH LOGIN PASSWORD '«secret»';", secret)
    return r.choice([create, alter]), secret


def _json_in_json(r: Random) -> tuple[str, str]:
    secret = _filled(r, "«A62:16-24»")
    payload = json.dumps({"host": r.choice(_HOSTS), "db_password": secret, "retries": 3})
    return json.dumps({"event": "config.updated", "payload": payload}), secret


def _json_thrice(r: Random) -> tuple[str, str]:
    secret = _filled(r, "«A62:32»")
    message = json.dumps({"Message": json.dumps({"clientSecret": secret, "region": "eu"})})
    return json.dumps({"Records": [{"body": message}]}), secret


def _wrapped_token(r: Random) -> tuple[str, str]:
    templates = ("«crc:ghp_»", "sk-ant-api03-«B64U:86»-«A62:6»AA", "", "glpat-«A62:20»")
    template = r.choice(templates)
    token = _filled(r, template) if template else _jwt(r, role="admin")
    at = r.randint(10, len(token) - 8) if len(token) < 60 else r.randint(30, min(72, len(token) - 10))
    token = token[:at] + r.choice(["\n", "\n", "\n    ", "\\\n"]) + token[at:]
    return token, token


def _grafana_token(r: Random) -> str:
    token = {"o": _number(r, 6), "n": f"stack-{_number(r, 6)}-push", "k": _filled(r, "«A62:24»"), "m": {"r": "eu"}}
    return "glc_" + _b64(_compact(token))


def _sentry_token(r: Random) -> str:
    about = {"iat": r.randint(1700000000, 1780000000), "url": "https://sentry.io", "org": r.choice(_WORDS)}
    return "sntrys_" + _b64(json.dumps(about).encode()) + "_" + _filled(r, "«B64:43»")


def _bitbucket_password(r: Random) -> str:
    body = _filled(r, "«A62:24»")
    return f"ATBB{body}{zlib.crc32(body.encode()):08X}"


_TOKEN_MAKERS: dict[str, Callable[[Random], str]] = {
    "bitbucket_app_password": _bitbucket_password,
    "supabase_service_role_jwt": lambda r: _jwt(r, iss="supabase", ref=_filled(r, "«LOW:20»"), role="service_role"),
    "onepassword_service_account": lambda r: (
        "ops_eyJ" + _b64u(b'"signInAddress":"my.1password.com","userAuth":{"method":"SRPg-4096"}' + _bytes(r, 200))[1:]
    ),
    "discord_bot_token": lambda r: _b64u(_number(r, 19).encode()) + _filled(r, ".G«B64U:5».«B64U:37»«A62:1»"),
    "matrix_access_token": lambda r: (
        "syt_"
        + _b64(r.choice(["maria", "deploy", "jbot", "alex12"]).encode()).rstrip("=")
        + _filled(r, f"_«={_LOW + _UP}:20»_«A62:6»")
    ),
    "sentry_org_token": _sentry_token,
    "grafana_cloud_token": _grafana_token,
    "intercom_token": lambda r: _b64(_filled(r, "tok:«HEX:8»_«HEX:4»_«HEX:4»_«HEX:4»_«HEX:12»:1:0").encode()),
    "base64_of_pem_key": lambda r: _b64(r.choice([_rsa_pem, _pkcs8, _ssh_pem])(r)[0].encode()),
    "age_secret_key": lambda r: _bech32("age-secret-key-", _bytes(r, 32)).upper(),
    "nostr_private_key": lambda r: _bech32("nsec", _bytes(r, 32)),
    "bitcoin_extended_private_key": lambda r: _base58check(
        bytes.fromhex("0488ADE4") + bytes(9) + _bytes(r, 32) + b"\0" + _bytes(r, 32)
    ),
    "bitcoin_wif_key": lambda r: _base58check(b"\x80" + _bytes(r, 32) + b"\x01"),
    "bitlocker_recovery_key": lambda r: "-".join(f"{r.randint(0, 65535) * 11:06d}" for _ in range(8)),
    "header_ntlm": lambda r: _b64(b"NTLMSSP\0\x03\0\0\0" + _bytes(r, 150)),
    "jwt": lambda r: _jwt(r, email=r.choice(_WORDS) + "@example.com", scope="read write"),
}
_SNIPPET_MAKERS: dict[str, Callable[[Random], tuple[str, str]]] = {
    "gcp_service_account_json": _gcp_service_account,
    "pem_rsa_private_key": _rsa_pem,
    "pem_ec_private_key": lambda r: _pem(r, "EC " + _PRIVATE_KEY, bytes.fromhex("30770201010420"), 114),
    "openssh_private_key": _ssh_pem,
    "pgp_private_key_block": _pgp_pem,
    "pem_key_single_line_env": _single_line_key,
    "putty_private_key": _putty_key,
    "jwk_private_key": _jwk,
    "bip39_seed_phrase": _seed_phrase,
    "kubeconfig_client_key_data": _kubeconfig,
    "kubernetes_secret_manifest": _kubernetes_secret,
    "yaml_password": _yaml_password,
    "sql_identified_by": _sql_password,
    "json_in_json_escaped": _json_in_json,
    "json_in_json_in_json": _json_thrice,
    "token_wrapped_over_two_lines": _wrapped_token,
}

KINDS = [msgspec.json.decode(line, type=Kind) for line in (_HERE / "secret_kinds.jsonl").read_bytes().splitlines()]
# A fixed random half, blind to difficulty.
ASIDE = frozenset(random.Random("aside-2026").sample(sorted(kind.kind for kind in KINDS), len(KINDS) // 2))


def pieces(secret: str) -> list[str]:
    """The runs of a secret none of which may survive: a multi-line secret by line."""
    return [part for part in re.split(r"\s*(?:\\+n|\\?\n|\\\\)\s*", secret) if len(part) >= 4] or [secret]


# The text around a secret


def _log_line(r: Random) -> str:
    time = _filled(r, "2026-0«int:1-9»-«int:10-28» «int:10-23»:«int:10-59»:«int:10-59»")
    lines = [
        f"{time} INFO  worker-«int:1-9» processed batch «int:100-9999» in «int:5-900» ms",
        f"{time} DEBUG scheduler: next run in «int:5-300» s",
        "src/components/Table.tsx:«int:1-400»:«int:1-80» - warning: unused variable 'row'",
        "ok «int:1-300» - renders the empty state («int:1-40» ms)",
        "-rw-r--r-- 1 dev dev «int:100-90000» Mar «int:1-28» 09:1«int:0-9» «word».py",
        "tests/test_«word».py::test_«word»_roundtrip PASSED [«int:1-99»%]",
        "[«int:1-40»/40] Building CXX object src/CMakeFiles/core.dir/«word».cc.o",
        "Step «int:1-14»/14 : COPY «word» /app/«word»",
        "   Compiling «word» v0.«int:1-20».«int:0-9»",
        " M lib/«word»/«word».rb",
    ]
    return r.choice([_filled(r, line) for line in lines])


def _ordinary(r: Random, kind: str, least: int) -> str:
    """At least so many characters of ordinary text."""
    parts: list[str] = []
    between = {"en": " ", "zh": "", "log": "\n"}[kind]
    while len(between.join(parts)) < least:
        parts.append(_log_line(r) if kind == "log" else r.choice(_AROUND["sentences"][kind]))
    return between.join(parts)


def _expanded(r: Random, carrier: str) -> str:
    """Replace the fillers of a carrier."""

    def filler(found: re.Match[str]) -> str:
        match found[1]:
            case "EN" | "ZH" | "LOG":
                return _ordinary(r, found[1].lower(), r.randint(520, 900))
            case "en" | "zh" | "log":
                return _ordinary(r, found[1], r.randint(40, 180))
            case "PATHS":
                return "\n".join(_filled(r, "/srv/app/«word»/«word»/«word»_«int:1-99».«py|ts|go»") for _ in range(16))
            case "ENVS":
                names = r.sample(_AROUND["environment"].split(), r.randint(8, 18))
                return "\n".join(names + [f"FEATURE_{r.choice(_WORDS).upper()}_{at}=enabled" for at in range(16)])
            case "UTM":
                names = ["source", "medium", "campaign", "term", "content"]
                tags = "&".join(_filled(r, f"utm_{name}=«word»-«word»") for name in names)
                return tags + "".join(_filled(r, f"&f{at}=«word»+«word»") for at in range(24))
            case _:
                return "|".join(_filled(r, "«word»_«word»") for _ in range(r.choice([3, 42])))

    return re.sub(r"<(EN|ZH|LOG|en|zh|log|PATHS|ENVS|UTM|ALT)>", filler, carrier)


def _escaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _put(r: Random, kind: Kind, place: str, carrier: Any, text: str, secret: str) -> tuple[str, str]:
    """Fill a carrier; the whole text, and the secret as it occurs there."""
    value = secret if kind.mode == "named" else text
    if place == "url" and kind.mode != "snippet" and "%" not in value:
        value = secret = quote(value, safe=":$!*" if kind.mode == "token" else "!*")
    quoted = value if re.fullmatch(r"[\w./:@%+=-]+", value) else f"'{value}'"
    given = {
        "{env}": kind.env, "{low}": kind.env.lower(), "{noun}": kind.noun, "{zh}": kind.zh, "{param}": kind.param,
        "{J}": _escaped(value), "{q}": quoted, "{s}": value,
    }  # fmt: skip

    def put(part: Any) -> Any:
        if isinstance(part, str):
            part = _expanded(r, part)
            for name, meant in given.items():
                part = part.replace(name, meant)
        elif isinstance(part, dict):
            return {put(key): put(inner) for key, inner in part.items()}
        return [put(inner) for inner in part] if isinstance(part, list) else part

    if place == "tool_input":
        return json.dumps(put(carrier), ensure_ascii=False), _escaped(secret)
    return put(carrier), _escaped(secret) if "{J}" in carrier else secret


def occurrences(seed: int, repeat: int = 1) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, place, whole text and secret part, the same for the same seed.

    The secret part is as it occurs in the whole text: JSON-escaped in a tool input, percent-encoded in a URL where a
    person would have to encode it.
    """
    for kind in KINDS:
        form = kind.form if kind.mode == "snippet" else kind.mode
        for place in PLACES:
            if place in kind.not_in:
                continue
            pool = _AROUND["carriers"][_AROUND["forms"][form][place]]
            r = random.Random(f"{seed}/{kind.kind}/{place}")
            for carrier in r.sample(pool, repeat) if repeat <= len(pool) else r.choices(pool, k=repeat):
                text, secret = kind.make(r)
                yield (kind.kind, place, *_put(r, kind, place, carrier, text, secret))
