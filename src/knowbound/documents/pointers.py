"""Text that proves nothing: a list of changes, a link, a TODO, a question.

Specification 3 asks for evidence; that a document mentions something is none. A place that only points to knowledge, or
promises it, is recognised here by its usual wording.
"""

from __future__ import annotations

import re

from knowbound.text.markdown import BlockKind, DocumentBlock, DocumentSection

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
# Not `release.md`, `history.md`, `news.md`: these may say how releases are made. Their headings decide.
_CHANGES = re.compile(
    r"(?:^|/)(?:change[-_ ]?log|changes|release[-_ ]?notes|更新日志|变更记录)(?:\.\w+)?$", re.IGNORECASE
)
_VERSION = re.compile(
    r"^\W*(?:v(?:ersion)?\s*)?\[?\d+\.\d+(?:\.\d+)?\S*\]?(?:\W.*)?$|^\W*\[?unreleased\b", re.IGNORECASE
)
_SHORT = 200  # characters: a pointer is a short text
_MOSTLY = 0.6  # the share of a text that is the text of links
_MEANINGFUL = 4  # terms that a block needs to say something by itself


def why_section_proves_nothing(section: DocumentSection) -> str:
    """Why nothing in a section proves anything, or nothing."""
    if _CHANGES.search(section.path) or any(_VERSION.match(one) for one in section.headings[1:]):
        return "a list of changes"
    if any(_LISTS.match(one.strip(" :0123456789.")) for one in section.headings):
        return "a list that points elsewhere"
    return ""


def why_block_proves_nothing(block: DocumentBlock, terms: int) -> str:
    """Why a block with so many terms proves nothing, or nothing."""
    text = block.text.strip()
    if _PENDING.search(text) or (block.lead and _PENDING.search(block.lead)):
        return "something yet to be written"
    if block.links and block.links >= _MOSTLY * len(text):
        return "a link"
    if (len(text) < _SHORT and _POINTS.search(text)) or _POINTS_AWAY.search(text):
        return "a pointer elsewhere"
    if block.kind is BlockKind.CODE:
        return ""
    if _TALKS_OF.search(text):
        return "a list of what is talked about"
    if text.endswith(("?", "?")):
        return "a question"
    if len(text) < _SHORT and text.endswith((":", ":")):
        return "an introduction"
    return "too short to say anything" if terms < _MEANINGFUL else ""
