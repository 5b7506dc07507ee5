"""Vendors' tokens by their prefixes: a table, and the search for tokens.

A row is the kind, the prefixes, the characters that may follow and their least number. A token is searched only after
its prefix. A pattern is compiled at its first use: compiling all patterns takes longer than a hook may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.looks import is_varied

_ALNUM, _WORD, _HEX, _UPPER, _LOWER = "A-Za-z0-9", r"-\w", "0-9a-fA-F", "A-Z0-9", "a-z0-9"
_BASE64, _DOTTED = r"-\w+/=", r"-\w.="

TOKENS: tuple[tuple[str, str, str, int], ...] = (
    # cloud
    ("aws-key", "AKIA ASIA ABIA ACCA", _UPPER, 16),
    ("aws-key", "ABSK", _BASE64, 60),
    ("aws-token", "IQoJb3JpZ2lu FwoGZXIvYXdz", _BASE64 + "%", 60),
    ("google-key", "AIza", _WORD, 35),
    ("google-token", "GOCSPX- ya29. 1//0 1%2F%2F0", _DOTTED, 24),
    ("alibaba-key", "LTAI", _ALNUM, 12),
    ("tencent-key", "AKID", _ALNUM, 28),
    ("volcengine-key", "AKLT", _ALNUM, 30),
    ("baidu-key", "ALTAK", _ALNUM, 18),
    ("yandex-key", "AQVN YCA", _WORD, 33),
    ("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", _HEX, 40),
    ("heroku-key", "HRKU-", _WORD, 30),
    ("fly-token", "fo1_ fm1r_ fm1a_ fm2_", _BASE64, 30),
    ("render-key", "rnd_", _ALNUM, 24),
    ("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", _ALNUM, 24),
    ("netlify-token", "nfp_ nfc_ nfo_ nfu_", _ALNUM, 30),
    ("supabase-key", "sbp_ sb_secret_", _WORD, 20),
    ("planetscale-token", "pscale_tkn_ pscale_pw_ pscale_oauth_", _DOTTED, 30),
    ("neon-key", "napi_", _ALNUM, 40),
    ("databricks-token", "dapi dose dkea dsap", _HEX + "-", 32),
    ("cloudflare-token", "v1.0- cfut_ cfat_ cfk_", _WORD, 24),
    ("scaleway-key", "SCW", _UPPER, 17),
    ("akamai-token", "akab-", _WORD, 16),
    # where secrets are kept
    ("doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", _DOTTED, 32),
    ("vault-token", "hvs. hvb. hvr.", _WORD, 20),
    ("pulumi-token", "pul-", _HEX, 40),
    ("onepassword-token", "ops_eyJ", _BASE64, 40),
    ("age-key", "AGE-SECRET-KEY-1", _UPPER, 50),
    ("infisical-token", "st.", _HEX + ".", 60),
    ("tailscale-key", "tskey-", _WORD, 20),
    # code and builds
    ("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", _ALNUM, 30),
    ("github-token", "github_pat_", r"\w", 30),
    (
        "gitlab-token",
        "glpat- glptt- glrt- gldt- glcbt- glsoat- glft- glffct- glimt- glagent- gloas- glrtr-",
        _DOTTED,
        20,
    ),
    ("gitlab-token", "GR1348941", _WORD, 20),
    ("atlassian-token", "ATATT3 ATCTT3 ATBB ATTA", _DOTTED, 28),
    ("buildkite-token", "bkua_ bkct_ bkaj_ bkst_", _ALNUM, 30),
    ("circleci-token", "CCIPAT_ CCIPRJ_", r"\w", 40),
    ("sonar-token", "sqp_ squ_ sqa_", _HEX, 40),
    ("sourcegraph-token", "sgp_ sgd_ slk_", r"\w", 40),
    ("npm-token", "npm_", _ALNUM, 36),
    ("pypi-token", "pypi-", _WORD, 50),
    ("rubygems-key", "rubygems_", _HEX, 40),
    ("nuget-key", "oy2", _LOWER, 43),
    ("crates-token", "cio", _ALNUM, 32),
    ("docker-token", "dckr_pat_ dckr_oat_", _WORD, 20),
    ("artifactory-key", "AKCp cmVmdGtuOj", _ALNUM, 50),
    ("clojars-token", "CLOJARS_", _HEX, 50),
    ("packagist-token", "packagist_", _WORD, 40),
    ("postman-key", "PMAK- PMAT-", _ALNUM + "-", 26),
    ("readme-key", "rdme_", _LOWER, 60),
    ("expo-token", "EXPO_", _WORD, 30),
    ("prefect-key", "pnu_ pnb_", _ALNUM, 36),
    ("dbt-token", "dbtc_ dbtu_ dbts_", _DOTTED, 30),
    ("jfrog-token", "eyJ2ZXIiOiIy", _DOTTED, 60),
    # chat and mail
    ("slack-token", "xoxa- xoxb- xoxc- xoxd- xoxe- xoxe. xoxo- xoxp- xoxr- xoxs- xapp-", r"-\w.%", 10),
    ("telegram-token", "bot", r"\d:\w-", 40),
    ("matrix-token", "syt_", r"\w", 24),
    ("discord-token", "mfa.", _WORD, 60),
    ("dingtalk-secret", "SEC", _HEX, 60),
    ("sendgrid-key", "SG.", _DOTTED, 40),
    ("mailgun-key", "key- pubkey-", _HEX, 32),
    ("mandrill-key", "md-", _WORD, 22),
    ("brevo-key", "xkeysib- xsmtpsib-", _ALNUM + "-", 60),
    ("resend-key", "re_", r"\w", 24),
    ("onesignal-key", "os_v2_app_ os_v2_org_", _LOWER, 60),
    ("twilio-key", "SK AC", "0-9a-f", 32),
    # money
    ("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", _ALNUM, 16),
    ("stripe-key", "whsec_", _BASE64, 24),
    ("square-token", "sq0atp- sq0csp- sq0idp- EAAA", _WORD, 22),
    ("shopify-token", "shpat_ shpca_ shppa_ shpss_ shptka_ shpua_", _HEX, 32),
    ("paypal-token", "access_token$", r"\w$", 40),
    ("plaid-token", "access-production- access-sandbox- access-development-", _HEX + "-", 36),
    ("adyen-key", "AQE", r"-\w+/=^.%[\](){}<>;:,&#?~*|!@$", 90),
    ("paddle-key", "pdl_live_ pdl_sdbx_", r"\w", 30),
    ("razorpay-key", "rzp_live_ rzp_test_", _ALNUM, 14),
    ("flutterwave-key", "FLWSECK- FLWSECK_TEST- FLWSECK_", _ALNUM + "-", 30),
    ("shippo-token", "shippo_live_ shippo_test_", _HEX, 40),
    ("easypost-key", "EZAK EZTK", _ALNUM, 50),
    ("duffel-token", "duffel_live_ duffel_test_", _WORD, 40),
    ("bitcoin-key", "xprv yprv zprv", _ALNUM, 100),
    # models
    ("anthropic-key", "sk-ant-", _WORD, 20),
    ("openai-key", "sk-proj- sk-svcacct- sk-admin- sess-", _WORD, 20),
    ("model-key", "sk-or-v1- sk-lf- sk-helicone- sk-cp- sk-kimi-", _WORD, 20),
    ("openai-key", "sk-", _ALNUM, 20),
    ("huggingface-token", "hf_ api_org_", _ALNUM, 30),
    ("replicate-token", "r8_", _ALNUM, 30),
    ("groq-key", "gsk_", _ALNUM, 40),
    ("perplexity-key", "pplx-", _ALNUM, 40),
    ("xai-key", "xai-", _ALNUM, 60),
    ("nvidia-key", "nvapi-", _WORD, 50),
    ("cerebras-key", "csk-", _ALNUM, 40),
    ("together-key", "tgp_v1_", _WORD, 30),
    ("fireworks-key", "fw_", _ALNUM, 22),
    ("langsmith-key", "lsv2_pt_ lsv2_sk_ ls__", r"\w", 30),
    ("wandb-key", "wandb_v1_", r"\w", 40),
    ("pinecone-key", "pcsk_", r"\w", 40),
    ("elevenlabs-key", "sk_", "0-9a-f", 40),
    ("tavily-key", "tvly-", _WORD, 24),
    ("firecrawl-key", "fc-", _HEX, 32),
    ("jina-key", "jina_", _WORD, 40),
    ("voyage-key", "pa-", _WORD, 40),
    ("e2b-key", "e2b_", _HEX, 40),
    ("runpod-key", "rpa_", _ALNUM, 40),
    ("modal-token", "ak- as-", _ALNUM, 20),
    ("dify-key", "app- dataset-", _ALNUM, 24),
    # work
    ("notion-token", "ntn_ secret_", _ALNUM, 40),
    ("linear-key", "lin_api_ lin_oauth_", _ALNUM, 32),
    ("figma-token", "figd_ figo_ figur_", _WORD, 36),
    ("typeform-token", "tfp_", _DOTTED, 40),
    ("contentful-token", "CFPAT-", _WORD, 40),
    ("hubspot-token", "pat-na1- pat-na2- pat-eu1- pat-ap1-", _HEX + "-", 36),
    ("dropbox-token", "sl.", _WORD, 60),
    ("mapbox-token", "sk.eyJ", _DOTTED, 40),
    ("sanity-token", "skSanity", _ALNUM, 60),
    ("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", r"\w%", 50),
    ("facebook-token", "EAA", _ALNUM, 60),
    ("instagram-token", "IGQV IGAA", _WORD, 60),
    ("twitch-token", "oauth:", _LOWER, 30),
    ("segment-token", "sgp_", _ALNUM, 60),
    ("posthog-key", "phx_", _ALNUM, 40),
    ("launchdarkly-key", "sdk- api-", _HEX + "-", 36),
    ("statsig-key", "secret-", _ALNUM, 40),
    # watching
    ("sentry-token", "sntrys_ sntryu_", _BASE64, 40),
    ("newrelic-key", "NRAK- NRJS- NRII- NRAA- NRRA- NRSP- NRIQ- NRBR-", _WORD, 16),
    ("grafana-token", "glsa_ glc_", _BASE64, 32),
    ("grafana-token", "eyJrIjoi", _BASE64, 40),
    ("dynatrace-token", "dt0c01. dt0s01. dt0s02. dt0s16.", _DOTTED, 60),
    ("honeycomb-key", "hcaik_ hcbik_ hcalk_ hcamk_", _ALNUM, 40),
    ("jwt", "eyJ", _DOTTED, 36),
    ("paseto", "v2.local. v3.local. v4.local. v1.local.", _DOTTED, 40),
)

# A token begins after anything but a letter or digit, or after an escape that ends with one (\n in JSON, %3D in a URL).
_START = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-F][0-9A-F])|(?<=%[0-9a-f][0-9a-f])|(?<=u[0-9a-f]{4}))"
_BREAK = r"[ \t]*(?:\\|\"[ \t]*\+?|'[ \t]*\+?)?(?:\r?\n|\\+r?\\*n)[ \t>|+\"'#*]{0,12}"  # a line that was wrapped
_LINE_BREAK = lazy(_BREAK)
_FEWEST = 4  # characters of a wrapped token on a line


class _Row:
    """A row of the table, with its patterns."""

    def __init__(self, kind: str, alphabet: str, fewest: int) -> None:
        self.kind, self.fewest = kind, fewest
        self._alphabet = alphabet

    def is_token(self, body: str) -> bool:
        """Report whether the text after the prefix makes a token."""
        if len(body) < self.fewest or not is_varied(body) or _EXAMPLE.search(body):
            return False
        return self.kind != "jwt" or "." in body

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"[{self._alphabet}]{{{self.fewest},}}+", re.ASCII)

    @cached_property
    def wrapped(self) -> re.Pattern[str]:
        line = rf"[{self._alphabet}]{{{_FEWEST},200}}+"
        return re.compile(rf"{line}(?:{_BREAK}{line}(?=[\s\"'`\\]|\Z)){{1,3}}", re.ASCII)


_ROWS: dict[str, list[_Row]] = {}  # by prefix
for _kind, _prefixes, _alphabet, _fewest in TOKENS:
    _row = _Row(_kind, _alphabet, _fewest)
    for _prefix in _prefixes.split():
        _ROWS.setdefault(_prefix, []).append(_row)
# Prefixes by first letter, so that few are tried at a position; longest first: `sk-ant-` before `sk-`.
_BY_START: dict[str, list[str]] = {}
for _prefix in sorted(_ROWS, key=len, reverse=True):
    _BY_START.setdefault(_prefix[0], []).append(_prefix)
_BRANCHES = (
    f"{re.escape(first)}(?:{'|'.join(re.escape(one[1:]) for one in ones)})" for first, ones in _BY_START.items()
)
_ANY = f"(?:{'|'.join(_BRANCHES)})"
_PREFIX = lazy("(?<![A-Za-z0-9])" + _ANY)
_ESCAPED = lazy(r"\\(?:[nrtbf][A-Za-z1]|u[0-9a-f]{4})|%[0-9A-Fa-f]{2}[A-Za-z1]")
_PREFIX_AFTER_ESCAPE = lazy(_START + _ANY)  # five times slower
_MOST_TRIES = 8
_SHORT = 2_000  # characters: in a shorter text, a search for each prefix is faster than compiling the pattern
_EXAMPLE = lazy(r"EXAMPLE(?:KEY)?\b")


def find_tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and kind of every token."""
    if len(text) <= _SHORT and not any(map(text.__contains__, _ROWS)):
        return
    at, pattern = 0, _PREFIX_AFTER_ESCAPE if _ESCAPED.search(text) else _PREFIX
    tries: dict[int, int] = {}  # by the end of a run: prefixes in it that begin no token
    while found := pattern.search(text, at):
        at, reached = found.end(), 0
        for prefix, row in _rows_of(found[0]):
            end, looked_at = _end(text, found.end() - len(found[0]) + len(prefix), row)
            if end:
                yield found.start(), end, row.kind
                at = end
                break
            reached = max(reached, looked_at)
        else:
            tries[reached] = tries.get(reached, 0) + 1
            if tries[reached] > _MOST_TRIES:  # else a run of prefixes would be read to its end from each prefix
                at = max(at, reached)


def _rows_of(prefix: str) -> Iterator[tuple[str, _Row]]:
    """Yield the rows of the prefix, then of the shorter prefixes that it begins with."""
    for length in range(len(prefix), 1, -1):
        for row in _ROWS.get(prefix[:length], ()):
            yield prefix[:length], row


def _end(text: str, start: int, row: _Row) -> tuple[int, int]:
    """Return the end of the token whose prefix ends at `start`, or 0; and the end of the text that was looked at."""
    looked_at = start
    if wrapped := row.wrapped.match(text, start):
        looked_at = wrapped.end()
        lines = _LINE_BREAK.split(wrapped[0])
        fewest = 16 if row.is_token(lines[0]) else 6  # a word on the next line does not belong to the token
        if row.is_token("".join(lines)) and all(len(line) >= fewest and is_varied(line) for line in lines[1:]):
            return wrapped.end(), looked_at
    found = row.pattern.match(text, start)
    end = found.end() if found else 0
    return end if found and row.is_token(found[0]) else 0, max(end, looked_at)
