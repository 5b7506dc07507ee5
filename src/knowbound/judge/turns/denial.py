"""The words by which an answer says that something it knew does not hold: English and Chinese.

Patterns for lower-case text. They decide nothing alone: what they stand beside does (`contradiction.py`).
"""

from __future__ import annotations

import re

# The answer speaks of what it had been told: a note, a record, an assumption.
MEMORY = re.compile(
    r"\bon (?:file|record)\b|\b(?:my|our|your|the|stored|saved|injected|old|older|existing) (?:\w+ ){0,2}"
    r"(?:notes?|memory|memories|records?|entry|entries|knowledge|facts?|hint|item|runbook|wiki)\b"
    r"|\b(?:had|have) (?:it |this |that |\S+ )?(?:down|noted|recorded|stored|remembered)\b|\bmemory\b"
    r"|\brecorded\b|\bi knew\b"
    r"|\bi(?:'d| had)? (?:expected|assumed|thought|believed|remembered|was told|was going to)\b|\bassumption\b"
    r"|\bbelief\b"
    r"|\bsupposed(?:ly)?\b|\bdocumented as\b|\b(?:contrary to|despite|unlike) \w+|\bas noted\b"
    r"|知识库|记录|记忆|笔记|备注|条目|原以为|以为|印象|记的|记得|文档里|写的是|说法"
)
# It calls something wrong.
WRONG = re.compile(
    r"\b(?:outdated|out of date|out-of-date|stale|wrong|incorrect|false|inaccurate|untrue|obsolete|mistaken"
    r"|misleading"
    r"|superseded|invalid|contradicts?|disagrees?|otherwise|mismatch\w*|does(?:n['’]t| not) (?:match|hold|apply)"
    r"|(?:is|was|are|were)(?:n['’]t| not) (?:true|right|correct|accurate|the case|so|current|valid)"
    r"|not (?:true|right|correct|accurate|the case)|no longer|not? any ?more|any ?more|any longer|correction"
    r"|corrected)\b"
    r"|不对|有误|错误|错的|过时|过期|不准|不再|并非|并不|不属实|失效|作废|旧的|已经不|早就|不符|不一致|更正|纠正|说反"
)
# It says that something is gone, or became another.
RETIRED = re.compile(
    r"\b(?:renamed|removed|deleted|gone|replaced|moved|migrated|dropped|retired|deprecated|decommissioned"
    r"|abandoned|killed"
    r"|given up|taken out|turned off|switched (?:off|over|to|from)|shut down|commented out|disabled|reverted"
    r"|rolled back"
    r"|raised|lowered|bumped|reduced|increased|changed|became|handed|folded|merged into|split|replaces|swapped"
    r"|does(?:n['’]t| not) exist|do(?:n['’]t| not) exist|no such|is(?:n['’]t| not) there|not found"
    r"|nothing (?:called|named)"
    r"|there (?:is|are) no|there['’]s no|has no|have no|never (?:existed|had|was))\b"
    r"|停用|下线|删除|删掉|删了|移除|废弃|弃用|不存在|没有|改成|改为|改到|改名|换成|换到|迁移|迁到|取消|关掉"
    r"|关闭|拆成|合并到|升到|降到|调到|变成"
)
# It speaks of a before and a now, or against what was expected.
CHANGED = re.compile(
    r"\b(?:now|nowadays|these days|today|currently|since|as of|used to|formerly|previously|originally|earlier"
    r"|was|were|until"
    r"|instead|rather than|but|however|actually|in fact|turns out|in reality|really|meanwhile|already|only|still)\b"
    r"|现在|如今|目前|以前|之前|原来|原先|曾经|其实|实际|而是|但|已经|已|只有|从.{1,12}起"
)
STRONGLY_CHANGED = re.compile(
    r"\b(?:actually|in fact|turns out|in reality|nowadays|these days|used to|formerly|previously|instead of"
    r"|rather than"
    r"|not \S{1,60} but|not \S{1,60} any ?more)\b|其实|实际上|事实上|如今|以前|原先|曾经|而不是|不是.{1,30}而是"
    r"|→|从.{1,12}起"
)
NEGATION = re.compile(
    r"\b(?:not|never|no|nobody|none|nothing|cannot|without|nowhere|neither|nor|\w+n['’]t|lacks?|missing|absent)\b"
    r"|不|未|无|没|别|非"
)
# Nothing has changed yet: a plan, a proposal, a condition, a question.
PLAN = re.compile(
    r"\b(?:will|would|should|could|shall|might|may|plan(?:ned|s)?|propos\w+|suggest\w*|recommend\w*|if|let['’]s"
    r"|going to"
    r"|want me to|todo|next (?:week|sprint|month|step)|consider|option|i['’]d|once|eventually|later|want to"
    r"|you can|can be)\b"
    r"|建议|计划|打算|将|可以|如果|要不要|准备|推荐|考虑|以后|等.{1,10}后|是否|要我"
)
UNVERIFIED = re.compile(
    r"\b(?:could(?:n['’]t| not)|unable to|can(?:['’]t|not)|have(?:n['’]t| not)|did(?:n['’]t| not)) (?:\w+ )?"
    r"(?:verif\w+|check\w*|confirm\w*|find|see|test\w*|tried|try|look\w*|reach|touch\w*|change\w*|run)\b"
    r"|unverified|not sure"
    r"|无法确认|没法确认|未能|没有验证|未验证|不确定|没查|没动"
)
MISSING = re.compile(
    r"no such (?:file|target|key|host|table|command|option|column)|not found|does not exist|doesn['’]t exist"
    r"|no matches"
    r"|unknown (?:option|command|flag|key)|unrecognized|is not defined|cannot find|0 results|no results|404"
    r"|invalid_|不存在|找不到"
)
ENVIRONMENTS = (
    re.compile(r"\bprod(?:uction)?\b|\blive\b|线上|生产"),
    re.compile(r"\bstaging\b|\bstage\b|\bpre-?prod\b|预发|准生产"),
    re.compile(r"\bdev(?:elopment)?\b|\blocal(?:ly|host)?\b|\blaptop\b|开发环境|本地"),
    re.compile(r"\btest(?:s|ing)?\b|\bci\b|\bqa\b|\bpreview\b|测试"),
)
CORRECTING_CALL = re.compile(
    r"(?:^|_)(?:kms_)?(?:supersede|flag|delete|retract|invalidate|forget|correct|deprecate|remove)"
)
UPDATING_CALL = re.compile(r"(?:^|_)kms_(?:update|edit|set|replace|add|store|write|create)")


def environments(text: str) -> frozenset[int]:
    """The environments that a text names."""
    return frozenset(at for at, pattern in enumerate(ENVIRONMENTS) if pattern.search(text))
