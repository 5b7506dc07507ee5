"""The words by which an answer says that something it knew does not hold: English and Chinese.

Patterns for lower-case text. They decide nothing alone: what they stand beside does (`contradiction.py`). What
retires a name, in more languages, is in `text/conflict_words.py`.
"""

from __future__ import annotations

import re
from functools import lru_cache

from knowbound.text import conflict_words

# The answer speaks of what was in its context: a note, a record, an assumption.
MEMORY = re.compile(
    r"\bon (?:file|record)\b|\b(?:my|our|your|the|stored|saved|injected|old|older|existing|that|this) (?:\w+ ){0,1}"
    r"(?:notes?|memory|memories|records?|entry|entries|knowledge base|runbook|wiki)\b(?! (?:leak|limit|usage|use))"
    r"|\bmemory (?:says|said|claims|has|had|entry|note|of this)\b|\bnotes? (?:says?|said|claims?|had|have|about|in)\b"
    r"|\b(?:had|have) (?:it |this |that |\S+ )?(?:down|noted|recorded|stored|remembered)\b|\b(?:was"
    r"|is) recorded\b|\bi knew\b"
    r"|\bi(?:'d|['’]d| had| have)?(?: first)? (?:expected|assumed|thought|believed|remembered|was told"
    r"|was going to)\b"
    r"|\b(?:the )?(?:assumption|belief)\b|\bsupposed(?:ly)?\b|\bthe (?:figure|number|value|claim|name"
    r"|path)s? (?:of|that)\b"
    r"|知识库|(?:的|有|条|按|这|那)记录|记录(?:里|中|是|写|说|的|上)|记忆|笔记|备注|条目|原以为|以为|印象|记的"
    r"|记得|写的是|说法|之前记"
)
# It calls something wrong.
WRONG = re.compile(
    r"\b(?:outdated|out of date|out-of-date|stale|wrong|incorrect|false|inaccurate|untrue|obsolete|mistaken"
    r"|misleading"
    r"|superseded|contradicts?|disagrees?|says otherwise|does(?:n['’]t| not) (?:match|hold|apply)"
    r"|(?:is|was|are|were)(?:n['’]t| not) (?:true|right|correct|accurate|the case|so|current|valid|involved)"
    r"|not (?:true|right|correct|accurate|the case)|no longer|any ?more|any longer|correction|corrected|is history)\b"
    r"|不对|有误|错误|错的|过时|过期|不准|不再|并非|并不|不属实|失效|作废|已经不|早就|不符|不一致|更正|纠正"
    r"|说反|不是了"
)
# It says that something is gone, or became another.
RETIRED = re.compile(
    r"\b(?:renamed|removed|deleted|gone|replaced|moved|migrated|dropped|retired|deprecated|decommissioned"
    r"|abandoned|killed"
    r"|given up|taken (?:out|over)|turned off|switched (?:off|over|to|from)|shut down|commented out|reverted"
    r"|went away"
    r"|raised|lowered|bumped|reduced|increased|tightened|changed|became|handed|folded|merged into|split"
    r"|replaces|swapped"
    r"|does(?:n['’]t| not) exist|do(?:n['’]t| not) exist|no such|is(?:n['’]t| not) there|not found"
    r"|nothing (?:called|named)"
    r"|there (?:is|are) no|there['’]s no|has no|have no|never (?:existed|had|was|put))\b"
    r"|停用|下线|删除|删掉|删了|移除|废弃|弃用|不存在|没有|改成|改为|改到|改名|换成|换到|迁移|迁到|取消|关掉"
    r"|拆成|合并到|升到|降到|调到|变成"
)
# What no plan and no story of a fix says: the strongest words of both, in more languages.
GONE = re.compile(conflict_words.RETIRED)
# It speaks of a before and a now.
CHANGED = re.compile(
    r"\b(?:actually|in fact|turns out|in reality|really|nowadays|these days|used to|formerly|previously|originally"
    r"|instead of|rather than|now|currently|since|as of|already|until|today|by now|meanwhile"
    r"|not \S{1,60}(?: \S{1,30})? but)\b"
    r"|其实|实际|事实上|如今|现在|目前|以前|之前|原来|原先|曾经|而不是|而是|已经|→|从.{1,12}起"
)
AGAINST = re.compile(
    r"\b(?:but|however|yet|although|though|only|isn['’]t|not|doesn['’]t|it is(?:n['’]t)?)\b|但|不过|然而|只|却|不|没"
)
NEGATION = re.compile(conflict_words.NEGATION)
# Nothing has changed yet: a plan, a proposal, a condition, a question, a fix that is just made.
PLAN = re.compile(
    r"\b(?:will|would|should|could|shall|might|may|plan(?:ned|s)?|propos\w+|suggest\w*|recommend\w*|if|let['’]s"
    r"|going to"
    r"|want me to|todo|next (?:week|sprint|month|step)|consider|option|i['’]d|eventually|later|want to|you can"
    r"|can be)\b"
    r"|\?|？|建议|计划|打算|将|可以|如果|要不要|准备|推荐|考虑|以后|是否|要我"
)
UNVERIFIED = re.compile(
    r"\b(?:could(?:n['’]t| not)|unable to|can(?:['’]t|not)|have(?:n['’]t| not)|did(?:n['’]t| not)) (?:\w+ )?"
    r"(?:verif\w+|check\w*|confirm\w*|find|see|seen|tell|test\w*|tried|try|look\w*|reach|touch\w*|change\w*|run)\b"
    r"|\bunverified\b|\bnot (?:sure|certain|verified|confirmed)\b|\bno way (?:to|of)\b|\bpermission denied\b"
    r"|\bno access\b|\bno login\b|无法确认|没法|未能|没有验证|未验证|不确定|没查"
    r"|没动|访问不到"
)
MISSING = re.compile(
    r"no such (?:file|target|key|host|table|command|option|column)|not found|does not exist|doesn['’]t exist"
    r"|no matches"
    r"|unknown (?:option|command|flag|key)|unrecognized|is not defined|cannot find|0 results|no results|404|410"
    r"|invalid_"
    r"|不存在|找不到"
)
ENVIRONMENTS = (
    re.compile(r"\bprod(?:uction)?\b|\blive\b|线上|生产"),
    re.compile(r"\bstaging\b|\bstage\b|\bpre-?prod\b|预发|准生产"),
    re.compile(r"\bdev(?:elopment)?\b|\blocal(?:ly|host)?\b|\blaptop\b|\bsandbox\b|开发环境|本地"),
    re.compile(r"\btest(?:s|ing)?\b|\bci\b|\bqa\b|\bpreview\b|测试"),
)
CORRECTING_CALL = re.compile(r"kms.*(?:supersede|flag|delete|retract|invalidate|forget|correct|deprecate|remove)")
FLAGS_THAT_KEEP = frozenset(("UNVERIFIED", "NONE"))  # of kms_flag: doubt, and no flag any more
UPDATING_CALL = re.compile(r"kms.*(?:update|edit|set|replace|add|store|write|create)")


@lru_cache(maxsize=2_000)
def environments(text: str) -> frozenset[int]:
    """The environments that a text names."""
    return frozenset(at for at, pattern in enumerate(ENVIRONMENTS) if pattern.search(text))
