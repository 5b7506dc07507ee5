"""Text that proves nothing: a list of changes, a link, a TODO, a question.

Specification 3 asks for evidence; that a document mentions something is none. A place that only points to knowledge, or
promises it, is recognised here by its usual wording.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_DONE = "documented|written|defined|decided|added|done|described|filled|determined|confirmed|agreed|clarified"
_ELSEWHERE = (
    "wiki|confluence|notion|handbook|repo|repository|page|runbook|document|doc|drive|spreadsheet|sheet|jira|folder"
)
_PENDING = re.compile(
    "|".join(
        (
            r"\b(?:TODO|FIXME|TBD|TBA|WIP|XXX)\b",
            rf"\bto be (?:{_DONE})\b",
            rf"\bnot (?:yet )?(?:been )?(?:{_DONE}|covered|specified|settled|in scope)\b",
            r"\bcoming soon\b|\bwork in progress\b|\bunder construction\b|\bout of scope\b|\bopen questions?\b",
            r"\b(?:needs?|should|must|want to|have to|still) (?:to )?(?:be )?(?:document|describe|write (?:down|up))"
            r"(?:ed)?\b",
            r"\bundocumented\b|\bno (?:documentation|policy|rule)s? (?:yet|exists?)\b",
            r"\bnobody (?:has )?(?:wrote|written|documented)\b",
            r"\b(?:document|describe|write up|explain) (?:the|how|what|when|why|who|our)\b.{0,80}$",
            "待补充|待完善|待定|待办|待写|暂无|未定|尚未(?:编写|整理|确定|说明)|还没写|后续补充|建设中",
        )
    ),
    re.IGNORECASE,
)
_POINTS = re.compile(
    "|".join(
        (
            r"^\W*(?:see|refer to|more (?:in|on|about|at)|details? (?:in|are in|can be found)|related|further "
            r"reading)\b",
            r"^\W*(?:documented in|described in|full (?:list|details|text) (?:in|is)|moved to|this page has moved)\b",
            r"^\W*for (?:more|details|further)\b.{0,60}\b(?:see|read|refer)\b",
            "^(?:详见|参见|请参考|见)",
        )
    ),
    re.IGNORECASE,
)
_POINTS_AWAY = re.compile(
    "|".join(
        (
            r"\b(?:is|are) (?:documented|described|covered|explained|kept|maintained|listed|defined|tracked|found|"
            r"handled) "
            rf"(?:elsewhere|separately|in (?:the|our|a) (?:\w+ ){{0,3}}(?:{_ELSEWHERE}))\b",
            rf"\bsee (?:the |our )?(?:\w+ ){{0,3}}(?:{_ELSEWHERE})\b",
            r"\bask (?:in|on) (?:the )?#",
        )
    ),
    re.IGNORECASE,
)
# One sentence that lists topics and says nothing of any: "we often talk about refunds, gates and invoices".
_THREE_THINGS = r"[^.\d]*,[^.\d]*\b(?:and|or)\b[^.\d]*\.?$"
_TALKS_OF = re.compile(
    r"^[^.\d]{0,60}\b(?:(?:talks?|speaks?|chats?|hears?|asked?) (?:a lot |often |mostly )?(?:about|of)"
    rf"|mentions?|covers?|touches on|deals? with|is about|are about|topics are)\b{_THREE_THINGS}",
    re.IGNORECASE,
)
_LISTS = re.compile(
    r"^(?:table of contents|contents|toc|index|see also|related(?: \w+)?|(?:useful |quick )?links?|further reading|"
    r"references|resources|todo|to do|to-do|backlog|open questions?|roadmap|ideas|wish ?list|change ?log|release notes|"
    r"history|what'?s new|参考(?:资料)?|相关(?:链接|文档)?|目录|链接|待办(?:事项)?|更新日志|变更记录|开放问题|路线图)$",
    re.IGNORECASE,
)
_LINK = re.compile(r"!?\[[^\]]*\]\([^)]*\)")
_SHORT = 200  # characters: a pointer is a short text


def says_nothing(lines: Sequence[str], matching: Sequence[str], heading: str) -> str:
    """Why the lines of a section prove nothing, or nothing. `matching` are those that have what is asked."""
    if _LISTS.match(heading.strip(" :0123456789.")):
        return "a list that points elsewhere"
    if not any(line.strip() and not _is_heading(line) for line in lines):
        return "a heading without text"
    said = [line for line in matching if not _is_heading(line)]
    why = [line_says_nothing(line) for line in said]
    return why[0] if why and all(why) else ""


def line_says_nothing(line: str) -> str:
    """Why a line of a document proves nothing, or nothing: it promises, or it points elsewhere."""
    text = line.strip().lstrip("-*+> \t")
    if _PENDING.search(text):
        return "something yet to be written"
    if _LINK.search(text) and not _LINK.sub("", text).strip(" .,;:-|"):
        return "a link"
    if (len(text) < _SHORT and _POINTS.search(text)) or _POINTS_AWAY.search(text):
        return "a pointer elsewhere"
    if _TALKS_OF.search(text):
        return "a list of what is talked about"
    return "a question" if text.endswith(("?", "？")) else ""


def _is_heading(line: str) -> bool:
    return line.lstrip().startswith("#")
