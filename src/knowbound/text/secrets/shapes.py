"""Secrets without a prefix that are known by their shape: parts, separators and lengths."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.text.secrets.looks import is_varied, mark


class _Shape(NamedTuple):
    """A pattern, searched only in text with the anchor and with `run` letters and digits in a row."""

    kind: str
    anchor: str
    pattern: str
    run: int = 0


_LONG_RUN = lazy(r"[A-Za-z0-9]{32}")
_LEFT = r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
_RIGHT = r"(?![A-Za-z0-9])"
_SHAPES = (
    _Shape("jwt", "eyJ", rf"{_LEFT}eyJ[\w-]{{8,2000}}+\.[\w-]{{8,}}+(?:\.[\w-]*+){{0,3}}"),
    _Shape("jwt", "eyJ", rf"{_LEFT}eyJ[\w-]{{60,8000}}+(?=\Z|…|\.\.\.)"),  # cut off before its second part
    _Shape("telegram-token", ":AA", rf"{_LEFT}\d{{8,10}}:AA[\w-]{{32,35}}{_RIGHT}"),
    _Shape("telegram-token", "%3AAA", rf"{_LEFT}\d{{8,10}}%3AAA[\w-]{{32,35}}{_RIGHT}"),
    _Shape("discord-token", ".", r"[MNO][\w-]{22,28}\.[\w-]{6,7}\.[\w-]{27,45}(?![A-Za-z0-9])", 20),
    _Shape("azure-secret", "Q~", r"(?<![\w~.-])[\w~.-]{3}\dQ~[\w~.-]{31,36}"),
    _Shape("azure-key", "JQQJ99", rf"{_LEFT}[A-Za-z0-9]{{40,56}}JQQJ99[A-Za-z0-9]{{20,30}}"),
    _Shape("terraform-token", ".atlasv1.", r"[A-Za-z0-9]{14}\.atlasv1\.[\w=-]{40,}+"),
    _Shape("mailchimp-key", "-us", rf"{_LEFT}[0-9a-f]{{32}}-us\d{{1,2}}{_RIGHT}", 32),
    _Shape("mailgun-key", "-", rf"{_LEFT}[0-9a-f]{{32}}-[0-9a-f]{{8}}-[0-9a-f]{{8}}{_RIGHT}", 32),
    _Shape("newrelic-key", "NRAL", rf"{_LEFT}[0-9a-f]{{36}}NRAL{_RIGHT}"),
    _Shape("zhipu-key", ".", rf"{_LEFT}[0-9a-f]{{32}}\.[A-Za-z0-9]{{16}}(?![\w.-])", 32),
    _Shape("airtable-token", "pat", rf"{_LEFT}pat[A-Za-z0-9]{{14}}\.[0-9a-f]{{64}}{_RIGHT}"),
    _Shape("asana-token", "/", rf"{_LEFT}[12]/\d{{15,16}}(?:/\d{{15,16}})?:[0-9a-f]{{32}}{_RIGHT}", 32),
    _Shape("firebase-key", "AAAA", rf"{_LEFT}AAAA[\w-]{{7}}:[\w-]{{130,160}}"),
    _Shape("salesforce-session", "!A", rf"{_LEFT}00D[A-Za-z0-9]{{12,15}}!A[\w.]{{60,}}+"),
    _Shape("rapidapi-key", "msh", rf"{_LEFT}[0-9a-f]{{10}}msh[0-9a-f]{{15}}p1[0-9a-f]{{5}}jsn[0-9a-f]{{12}}"),
    _Shape("clickup-token", "pk_", rf"{_LEFT}pk_\d{{6,10}}_[A-Z0-9]{{32}}{_RIGHT}"),
    _Shape("mollie-key", "live_", rf"{_LEFT}live_[A-Za-z0-9]{{30,40}}{_RIGHT}", 20),
    _Shape("mollie-key", "test_", rf"{_LEFT}test_[A-Za-z0-9]{{30,40}}{_RIGHT}", 20),
    _Shape("bitcoin-key", "", rf"{_LEFT}[5KLc][1-9A-HJ-NP-Za-km-z]{{50,51}}{_RIGHT}", 32),
    _Shape("onepassword-key", "A3-", rf"{_LEFT}A3-[A-Z0-9]{{6}}(?:-[A-Z0-9]{{5,6}}){{4,5}}{_RIGHT}"),
    _Shape("recovery-key", "-", r"\d{6}(?:-\d{6}){7}(?![\d-])"),
    _Shape("aws-key", "aws-key]", r"(?<=aws-key\][:,;/| \t])[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=])"),  # behind its id
)


def _redaction(shape: _Shape) -> Callable[[str], str]:
    pattern = re.compile(shape.pattern, re.ASCII)
    kind = mark(shape.kind)
    return lambda text: pattern.sub(lambda found: kind if is_varied(found[0]) else found[0], text)


_RARE = [shape.anchor for shape in _SHAPES if len(shape.anchor) > 1]
_WITHOUT_RARE = [shape for shape in _SHAPES if len(shape.anchor) <= 1]
_MADE: dict[_Shape, Callable[[str], str]] = {}


def redact_shapes(text: str, *, is_long: bool) -> str:
    """Redact secrets of these shapes. `is_long`: the text has 20 letters and digits in a row."""
    longest = 0 if not is_long else 32 if _LONG_RUN.search(text) else 20
    for shape in _SHAPES if any(map(text.__contains__, _RARE)) else _WITHOUT_RARE:
        if shape.run <= longest and shape.anchor in text:
            if shape not in _MADE:
                _MADE[shape] = _redaction(shape)
            text = _MADE[shape](text)
    return text
