"""Screening of stored text that hides something or tries to command the agent: one layer among several.

A text is screened when an item is added (validation.py) and when it enters the index, whatever wrote it
(index/entry.py). The list is short on purpose: it names the plain forms of known attacks. The form in which items are
shown protects an agent from all others (injection/bundle.py): as data, in a fence, without invisible characters, each
behind its id. Measured by `python -m bench.screening`, see docs/decisions/items.md.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from contextlib import suppress
from functools import cache, cached_property
from operator import itemgetter
from typing import NamedTuple

RULES_VERSION = 2  # raise it when a rule changes: the rows of the index are then made again

# Joiners (U+200C, U+200D) between other than ASCII letters are part of emoji, Persian and Indic text.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufeff]"
)
_JOINER = re.compile("(?<=[^\x00-\x7f])[\u200c\u200d](?=[^\x00-\x7f])")
_FLAG_EMOJI = re.compile("\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{2,7}\U000e007f")
_MOST_INVISIBLE_CHARACTERS = 6  # a pasted web page contains a few by accident
_HIDDEN_CHARACTERS = {
    "an escape sequence": re.compile("[\x1b\x9b]"),
    "tag characters": re.compile("[\U000e0000-\U000e007f]"),
    "a change of writing direction": re.compile("[\u202d\u202e]"),
}
_HIDDEN_HTML = re.compile(
    r"<!--(?P<comment>.{1,2000}?)(?:-->|\Z)"
    r"|<(?P<tag>\w{1,20})\b[^<>]{0,200}?(?:\shidden\b|display\s*:\s*none|font-size\s*:\s*0)[^<>]{0,200}>"
    r"(?P<text>[^<]{1,2000})</(?P=tag)",
    re.DOTALL | re.IGNORECASE,
)

_AGENT_NAMES = (
    r"(?:claude|chatgpt|copilot|gemini|codex|llms?|ais?|(?:ai|coding)\s+agents?|assistants?|agents?|language\s+models?)"
)
_RULE_NAMES = (
    r"(?:instructions?|directives?|guidelines?|guard\W?rails|rules|restrictions|orders|prompts?|polic(?:y|ies)"
    r"|(?:system|developer)\s+messages?)"
)
_SECRET_NAMES = (
    r"(?:\.env\b|credentials|id_rsa|\.ssh\b|private\s+keys?|api\s+keys?|secrets|passwords|tokens|conversation"
    r"|system\s+prompt)"
)
_ATTACKS = {
    "override": (
        r"\b(?:ignor(?:e|ing)|disregard|forget|overrid(?:e|ing)|bypass|do\s+not\s+follow)\s+(?:\w+\s+){0,3}?"
        r"(?:all|any|previous|prior|above|earlier|preceding|your|existing|original)\b(?:\s+\w+){0,3}?"
        rf"\s+{_RULE_NAMES}\b",
        r"\b(?:ignore|disregard|forget)\s+(?:everything|all|anything|what)\s+(?:that\s+)?(?:you\s+were|was|is)\s+"
        r"(?:told|said|given|above)",
        rf"\b(?:your|prior|previous|earlier|safety)\s+(?:\w+\s+)?{_RULE_NAMES}\s+(?:(?:are|is|were)\s+(?:now\s+)?"
        r"(?:void|lifted|revoked|suspended|compromised)|no\s+longer\s+apply)",
        r"\b(?:ignor[aeiz]|vergiss|missachte|oublie|olvida|esque[cç]a|игнорируй|забудь)\w*\b.{0,30}"
        r"(?:anweisung|regeln|instrucc|instru[cç]|instructions\s+pr|istruzion|consignes|инструкц|указани)",
        r"(?:忽略|无视|忘记|不要遵守)[^。\n]{0,10}(?:之前|以上|先前|上述|前面|所有)[^。\n]{0,10}(?:指令|指示|规则|命令|限制)",
    ),
    "role": (
        rf"\byou\s+are\s+(?:now|no\s+longer)\s+(?:an?\s+)?(?:{_AGENT_NAMES}\b|dan\b|unrestricted|jailbroken"
        r"|in\s+(?:developer|admin|god|debug|jailbreak)\s+mode)",
        rf"\b(?:unrestricted|uncensored|jailbroken)\s+{_AGENT_NAMES}\b|\bpretend\s+(?:that\s+)?(?:you\s+are|to\s+be)\b",
    ),
    "conceal": (
        r"\b(?:do\s+not|don'?t|never)\s+(?:tell|inform|notify|alert|show|warn)\s+(?:the|your)\s+"
        r"(?:user|human|developer)\b(?=[^.]{0,10}(?:about|of|this|that|\.|,|:|and|;|$))",
        r"\bwithout\s+(?:informing|telling|notifying|alerting)\s+(?:the|your)\s+(?:user|human|developer)\b",
        r"\b(?:hide|conceal|keep)\s+(?:this|it|that)\b(?:\W+\w+){0,3}?\W+from\s+(?:the\s+)?(?:user|human|developer)",
        r"(?:不要|不得|请勿|禁止)(?:告诉|告知|通知|提醒)用户(?:这|本|此|该)",
    ),
    "exfiltration": (
        rf"\b(?:send|post|upload|e-?mail|forward|leak|exfiltrate)\b[^.\n]{{0,60}}?{_SECRET_NAMES}.{{0,80}}?"
        r"(?:https?://|\bto\s+\S+@\S+|attacker|pastebin|webhook|\d{1,3}(?:\.\d{1,3}){3})",
        r"\b(?:print|output|reveal|show|repeat|disclose|leak)\b(?:\W+\w+){0,3}?\W+"
        r"(?:your\s+(?:\w+\s+){0,2}?(?:prompt|instructions)|(?:the\s+)?(?:hidden|system|initial)\s+prompt)",
        r"!\[[^\]]{0,200}\]\([^)\s]{0,300}[?&]\w+=(?:\{|\$|<|%7b)",
    ),
    "order": (
        r"\b(?:note|instructions?|message)\s+(?:to|for)\s+(?:the\s+|any\s+|all\s+)?"
        r"(?:ai|llm|language\s+model|assistant)s?\b[^.\n]{0,20}:",
        r"\bwhen\s+you\s+(?:read|see|load|process)\s+this\b"
        r"(?!\s+(?:table|file\s+from|column|warning|error|message|log))",
        r"\bbefore\s+(?:responding|answering|replying)\b.{0,40}\b(?:you\s+must|execute|run|fetch|delete)\b"
        r"|\byou\s+must\s+(?:now|immediately)\s+(?:run|execute|call|send|delete|install|download|fetch)\b",
        r"\bmessage\s+from\s+(?:anthropic|openai|google|the\s+developers?)\b",
    ),
    "forged tag": (
        r"<\|(?:im_start|im_end|system|user|assistant|endoftext|start_header_id)\|>|\[/?INST\]|<</?SYS>>",
        r"</?(?:system-reminder|system_prompt|antml:\w+|admin_\w+|developer_message|additional_?context)\b[^>]*>",
        r"<(?:antml:)?(?:function_calls|invoke|tool_call|tool_use|tool_result|function_results)\b[^<>]{0,80}>"
        r"\s*(?:<|\{|\w+\s+\w+)",
    ),
    "forged dialogue": (r"(?:^|\n)\s*(?:#+\s*)?(?:human|user|system)\s*:[\s\S]{0,400}?\n\s*(?:#+\s*)?assistant\s*:",),
}
# Words that only an attack puts into a part of a page that is not shown.
_HIDDEN_ORDER = (
    rf"\b{_AGENT_NAMES}\b|忽略|指令|\b(?:users?|instructions?|secrets?|password)\b"
    r"|(?<![-\w])(?:ignore|run|execute|delete|send)\b(?!-)"
)
_SPACED_LETTERS = re.compile(r"(?<![^\W_])(?:[^\W\d_][ .*_\-]+){6,}")
_BASE64 = re.compile(r"(?<![\w+/=])[A-Za-z0-9+/]{24,}={0,2}(?![\w+/=])")

# A phrase in quotes, in a sentence about such phrases, is documentation: 'the filter rejects "ignore all rules"'.
_QUOTED = re.compile(r"“[^“”]*”|\"[^\"\n]*\"|`[^`\n]*`|(?<!\w)'[^'\n]*'(?!\w)|「[^「」]*」")
_ABOUT_ATTACKS = re.compile(
    r"\b(?:reject|block|filter|detect|contain|phrase|case|test|attack|injection|jailbreak|incident|strip|flag|screen"
    r"|refus|said)\w*|拦截|检测|过滤|攻击",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.!?。！？]\s|\n\n")


class Finding(NamedTuple):
    """The reason why a text is refused, and the words that show it."""

    kind: str
    words: str


def screened(text: str) -> Finding | None:
    """Return the first reason not to show this text to an agent, or None."""
    if hidden := _hidden_characters(text):
        return Finding("hidden text", hidden)
    for found in _HIDDEN_HTML.finditer(text) if "<" in text else ():  # else no HTML
        unseen = (found["comment"] or found["text"]).strip()
        if _compiled(_HIDDEN_ORDER).search(unseen) or _attack_in(unseen):
            return Finding("hidden text", unseen)
    return next(filter(None, map(_attack_in, _readings(text))), None)


def _readings(text: str) -> Iterator[str]:
    """Yield the text without invisible characters, then its spaced letters and base64 decoded."""
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
    yield text
    if _SPACED_LETTERS.search(text):
        yield re.sub(r"(?<=\b\w)[ .*_\-](?=\w\b)", "", re.sub(r"(?<=\W)\W", " ", text))
    for encoded in _BASE64.findall(text):
        with suppress(ValueError):
            yield base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True).decode()


def _hidden_characters(text: str) -> str:
    """Name the invisible characters that carry a message, or return an empty string."""
    without_flag_emoji = text if text.isascii() else _FLAG_EMOJI.sub("", text)  # flags are made of tag characters
    for name, characters in _HIDDEN_CHARACTERS.items():
        if characters.search(without_flag_emoji):
            return name
    is_hiding = not text.isascii() and len(_INVISIBLE.findall(_JOINER.sub("", text))) > _MOST_INVISIBLE_CHARACTERS
    return "invisible characters" if is_hiding else ""


def _attack_in(text: str) -> Finding | None:
    """Return the first attack that is no documented example."""
    documented = _DocumentedPhrases(text)
    for kind, expressions in _ATTACKS.items():
        for expression in expressions:
            for found in _compiled(expression).finditer(text):
                if found not in documented:  # an example in a text about attacks is none
                    return Finding(kind, found[0])
    return None


@cache
def _compiled(expression: str) -> re.Pattern[str]:
    """Compile an expression on first use: reading the index needs none."""
    return re.compile(expression, re.IGNORECASE)


class _DocumentedPhrases:
    """The phrases of a text that are quoted in a sentence about attacks; each sentence is checked once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._about_attacks: dict[tuple[int, int], bool] = {}  # by sentence

    def __contains__(self, phrase: re.Match[str]) -> bool:
        quote_number = bisect_right(self._quotes, phrase.start(), key=itemgetter(0)) - 1  # the last that begins before
        if quote_number < 0 or phrase.end() > self._quotes[quote_number][1]:
            return False
        ends_before = bisect_right(self._sentence_ends, phrase.start(), key=itemgetter(1))
        next_end = bisect_left(self._sentence_ends, phrase.end(), key=itemgetter(0))
        start = self._sentence_ends[ends_before - 1][1] if ends_before else 0
        end = self._sentence_ends[next_end][0] if next_end < len(self._sentence_ends) else len(self._text)
        if (start, end) not in self._about_attacks:
            sentence = _QUOTED.sub(" ", self._text[start:end])
            self._about_attacks[start, end] = bool(_ABOUT_ATTACKS.search(sentence))
        return self._about_attacks[start, end]

    @cached_property
    def _quotes(self) -> list[tuple[int, int]]:
        return [quote.span() for quote in _QUOTED.finditer(self._text)]

    @cached_property
    def _sentence_ends(self) -> list[tuple[int, int]]:
        return [end.span() for end in _SENTENCE_END.finditer(self._text)]
