"""The rules of a knowledge file: its statements that tell agents what to do or not to do."""

from __future__ import annotations

import re
from itertools import groupby

from knowbound.core.rule import Rule
from knowbound.knowledge.statements import statements_of

_LONGEST = 600  # characters of a rule
_ORDERS = re.compile(
    r"\b(?:must|never|always|should|shall|do not|don['’]t|avoid|prefer|ensure|make sure|mandatory|required|forbidden|"
    r"not allowed|prohibited|only use|use only|no exceptions|instead of|rather than|before (?:commit|push|mak|start|"
    r"edit|finish|complet|submitt|open|merg)\w*|必须|不要|禁止|始终|总是|务必|应该|不得)",
    re.IGNORECASE,
)
# Verbs that begin an order; a heading or a description begins with a noun.
_VERBS = re.compile(
    r"(?:add|adhere|apply|ask|assume|begin|break|bump|call|catch|check|choose|clean|clear|close|commit|confirm|consult|"
    r"create|declare|define|delete|describe|do|document|encrypt|escape|explain|export|extract|favou?r|file|find|fix|"
    r"follow|format|generate|group|handle|hand|implement|import|include|inject|inherit|inline|keep|leave|limit|lint|load|"
    r"log|look|match|merge|minimi[sz]e|mock|name|never|note|omit|open|organi[sz]e|parametri[sz]e|place|plan|prefix|"
    r"preserve|provide|prune|pull|push|put|raise|read|rebuild|re-?generate|rely|remember|remove|rename|replace|report|"
    r"resolve|respect|restart|return|reuse|review|run|search|separate|set|ship|skip|sort|split|start|stop|store|test|"
    r"throw|track|treat|try|update|use|validate|verify|wait|work|wrap|write)\b",
    re.IGNORECASE,
)
_HEADED = re.compile(r"\b(?:never|always|do not|don['’]t|must)\b", re.IGNORECASE)
_BULLET = re.compile(r"^\s*(?:[-*+•]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_SIGNS = re.compile(r"[*_`~]{1,3}")
_LEAD = re.compile(r"^[^\w]*(?:[^:.]{2,60}:\s+)?")  # "**Tests**: run them"
_ADVERB = re.compile(r"^(?:please|also|then|finally|first|next)\s+", re.IGNORECASE)
_LATIN = re.compile(r"[A-Za-z]")
_NO = re.compile(r"^No (?!one\b|longer\b|doubt\b)[\w`@]")
_OF_RULES = re.compile(
    r"\b(?:rules?|conventions?|guidelines?|requirements?|mandatory|critical|must|principles?|do|don['’]ts?|avoid|"
    r"best practices|workflow)\b|правил|规则|规范|约定",
    re.IGNORECASE,
)  # headings of sections whose bullets are rules
_HAS_WORDS = 3


def lines_of(file: str, text: str) -> list[Rule]:
    """Return the statements of a file that may be rules, in order: those of one line together, with its commands."""
    found: list[Rule] = []
    leads = False  # the last line ends with a colon: the lines of code after it belong to it
    for line, group in groupby(statements_of(file, text), key=lambda one: one.line):
        statements = list(group)
        if all(one.is_code for one in statements):
            if leads:
                last = found[-1]
                commands = "".join(f" `{one.text.split(' #')[0].strip()}`" for one in statements)
                found[-1] = Rule(file, last.line, (last.text + commands)[:_LONGEST], last.heading)
            continue
        statements = [one for one in statements if not one.is_code and not one.path]
        words = " ".join(one.text for one in statements)
        if statements:
            found.append(Rule(file, line, words[:_LONGEST], statements[0].heading))
        leads = bool(statements) and words.rstrip("*_ ").endswith(":")
    return found


def is_rule(line: Rule) -> bool:
    """Report whether a line orders or forbids something, by its words; a bullet does in a section of rules."""
    text, heading = line.text, line.heading
    plain = _SIGNS.sub("", _BULLET.sub("", text)).strip()
    if plain.startswith("|") or plain.endswith("?"):
        return False
    if plain.startswith("#"):
        return bool(_HEADED.search(plain))
    is_listed = bool(_BULLET.match(text)) and bool(_OF_RULES.search(heading))
    if len(plain.split()) < _HAS_WORDS and not is_listed:
        return False
    starts = (plain, _LEAD.sub("", plain), *(part.lstrip() for part in plain.split(",")[1:]))
    ordered = any(_VERBS.match(_ADVERB.sub("", one)) or _NO.match(one) for one in starts)
    is_foreign = len(_LATIN.findall(plain)) * 2 < sum(map(str.isalpha, plain))  # no words that rules could read
    is_listed = is_listed or (is_foreign and bool(_BULLET.match(text)))
    return is_listed or ordered or bool(_ORDERS.search(plain))
