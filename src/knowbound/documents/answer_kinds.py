"""The kind of answer that a question wants, and whether a text gives it: a number, a time, a person, a command.

A question "how many" is not answered by a passage without a number, however much it says about the thing. The signs are
wide: a text that has them may still not answer, one that has none does not.
"""

from __future__ import annotations

import re
from enum import StrEnum


class AnswerKind(StrEnum):
    """The kind of answer that is asked for."""

    NUMBER = "a number"
    DURATION = "a duration"
    MOMENT = "a time"
    FREQUENCY = "how often"
    OCCASION = "a time or a condition"
    PERSON = "a person, a role or a team"
    COMMAND = "a command or code"
    PLACE = "a place"
    REASON = "a reason"
    ANYTHING = "an explanation"


def _any(words: str) -> str:
    """One of these words, `_` for a space, as a whole word."""
    return rf"\b(?:{'|'.join(words.split()).replace('_', ' ')})\b"


_THE = r"\bwhat (?:is|are) (?:the |our )?(?:\w+ ){0,3}"
# In this order: the first that fits decides.
_ASKS: tuple[tuple[AnswerKind, re.Pattern[str]], ...] = tuple(
    (kind, re.compile("|".join(patterns), re.IGNORECASE))
    for kind, patterns in (
        (
            AnswerKind.DURATION,
            (
                r"\bhow (?:long|old|far back)\b|\bwithin (?:which|what) (?:time|period)\b|\bwhat timeout\b",
                r"\bhow many (?:\w+ )?(?:seconds|minutes|hours|days|weeks|months|years)\b",
                _THE + _any("duration period retention expiry lifetime timeout notice"),
                "多长时间|几天|多少天|多少小时|多少分钟",
            ),
        ),
        (
            AnswerKind.MOMENT,
            (
                r"\bhow (?:soon|quickly|fast|late|early)\b",
                r"\b(?:by|since|until|till) when\b|\b(?:at )?what time\b",
                r"\b(?:which|what) (?:day|date|month|week|weekday|deadline)\b",
                _THE + _any("deadline"),
                "多久|什么时候|何时|几点|几号",
            ),
        ),
        (
            AnswerKind.FREQUENCY,
            (
                r"\bhow (?:often|frequently)\b|\b(?:which|what) (?:interval|frequency|schedule)\b",
                _THE + _any("interval frequency"),
            ),
        ),
        (AnswerKind.OCCASION, (r"^\W*(?:\w+ ){0,2}when\b(?! i\b)",)),
        (
            AnswerKind.NUMBER,
            (
                r"\bhow (?:many|much|big|large|high|wide|tall|far|few|small)\b",
                _THE + _any("limit maximum minimum number percentage percent"),
                _THE + _any("rate threshold size price port budget quota"),
                r"\bwhich port\b|\bwhat (?:percentage|share|amount|number|size|port)\b",
                "多少|几个|几次|几位|几张|上限|多大|多高",
            ),
        ),
        (
            AnswerKind.PERSON,
            (
                # Not "people who …".
                r"(?<!people )(?<!person )(?<!someone )(?<!anyone )(?<!everyone )(?<!user )\bwho(?:m|se)?\b",
                r"\bwhich (?:team|person|role|group|department)\b",
                "谁|哪个团队|哪个部门|哪位",
            ),
        ),
        (
            AnswerKind.COMMAND,
            (
                r"\b(?:which|what)(?: \w+)? " + _any("commands? flag option query"),
                r"\b(?:which|what)(?: \w+)? " + _any("script function method call endpoint"),
                r"\b(?:which|what)(?: \w+)? " + _any("header prop variable class macro statement import"),
                r"\bhow (?:do|can|would) (?:i|we|you) (?:run|call|invoke|import)\b",
                "什么命令|哪个命令|哪条命令|命令是",
            ),
        ),
        (
            AnswerKind.PLACE,
            (
                r"\bwhere\b|\bin which (?:file|folder|channel|table|bucket|place)\b",
                r"\bwhich (?:file|folder|channel|bucket|repository|repo|page|url|address)\b",
                "哪里|哪儿|在哪|哪个频道|哪个文件|哪个目录",
            ),
        ),
        (
            AnswerKind.REASON,
            (r"\bwhy\b|\bwhat (?:is|was) the reason\b|\bfor what reason\b|\bhow come\b", "为什么|为何|原因"),
        ),
    )
)  # fmt: skip
_UNITS = _any("(?:milli)?seconds? minutes? hours? days? weeks? months? quarters? years? ms")
_REGULARLY = (
    _any("daily weekly monthly yearly quarterly annual(?:ly)? hourly nightly"),
    _any("overnight every each"),
)
_MOMENTS = (
    _any("immediately never always forever permanent(?:ly)?"),
    _any("morning noon afternoon evening night midnight weekends?"),
    _any("before after until when once as_soon_as"),
    _any("(?:mon|tues|wednes|thurs|fri|satur|sun)days? january february march"),
    _any("april june july august september"),
    _any("october november december utc cet am pm lifetime indefinitely"),
    r"\d\s*(?:s|m|h|d|min|hrs?)\b|\d:\d\d",
    "天|小时|分钟|秒|周|个月|年|每|日|点|时|永久|立即|当",
)
_SIGNS: dict[AnswerKind, re.Pattern[str]] = {
    kind: re.compile("|".join(patterns), re.IGNORECASE | re.MULTILINE)
    for kind, patterns in {
        AnswerKind.NUMBER: (
            r"\d",
            _any("one two three four five six seven eight nine"),
            _any("ten eleven twelve dozen hundred thousand half quarter third"),
            _any("once twice single both none zero unlimited no_limit double percent never always every"),
            "[一二三四五六七八九十两百千万]",
        ),
        AnswerKind.FREQUENCY: (_UNITS, *_REGULARLY, *_MOMENTS),
        AnswerKind.MOMENT: (_UNITS, *_MOMENTS),
        AnswerKind.DURATION: (
            r"\d",
            rf"{_any('an? one two three four five six seven eight nine ten twelve fifteen twenty thirty few half')}"
            r"(?: \w+)? (?:seconds?|minutes?|hours?|days?|weeks?|months?|quarters?|years?)\b",
            _any("until immediately never always forever permanent(?:ly)? indefinitely overnight at_once as_long_as"),
            _any("once twice daily nightly same_day"),
            "[一二三四五六七八九十两半几百]|永久|立即|当天|直到",
        ),
        AnswerKind.OCCASION: (
            r"\d",
            _any("when whenever if once after before until unless while"),
            _any("during as_soon_as at on every each never always over"),
            _any(r"above below under from more_than less_than only late early \w+day \w+ly"),
            "[天时日月年周点当前后每若如]",
        ),
        AnswerKind.PERSON: (
            _any("teams? managers? leads? owners? engineers?"),
            _any("developers? officer director head admins? administrators?"),
            _any("on-?call person people someone everyone anyone nobody you"),
            _any("we he she they staff members? group department"),
            _any("finance legal security support sales marketing hr it"),
            _any("ops sre dba cto ceo cfo coo maintainers? reviewers?"),
            _any("approvers? author customers? users? employees?"),
            _any("colleague commander coordinator analysts? accountants?"),
            _any("agents? operators? responders? designers? partner vendor"),
            _any("supplier contractor board committee council guild"),
            _any("squad chapter stewards? representative desk buddy mentor"),
            r"@\w|#[a-z]",
            "团队|部门|经理|主管|负责人|人员|工程师|组|员|财务|法务|客服|运维|总监|专员|值班",
        ),
        AnswerKind.PLACE: (
            r"[/#~]\w|\bhttps?:|\.\w{2,4}\b",
            _any("in at on under inside into from to above below beside"),
            "目录|文件|页面|频道|群|系统|平台|后台|在",
        ),
        AnswerKind.REASON: (
            _any("because since so_that so therefore due_to in_order"),
            _any("otherwise reason why as would that_way means hence"),
            _any("after if risk without avoids? prevents? caus(?:e|es|ed) or"),
            r"\bto (?:avoid|prevent|keep|protect|make|ensure|save|reduce|stop|allow)\b",
            "因为|由于|以免|避免|防止|为了|否则|因此|所以|导致",
        ),
        AnswerKind.COMMAND: (r"`|--?\w|\w\(|\w_\w|\$ |^\s*[a-z][\w-]*(?: [\w./-]+)+$|\w[./]\w",),
    }.items()
}


def wanted_by(question: str) -> AnswerKind:
    """The kind of answer that a question wants."""
    return next((kind for kind, pattern in _ASKS if pattern.search(question)), AnswerKind.ANYTHING)


def has_kind(wanted: AnswerKind, text: str, *, code: bool) -> bool:
    """Whether a text has a sign of the wanted kind; an explanation has none."""
    pattern = _SIGNS.get(wanted)
    return pattern is None or (code and wanted is AnswerKind.COMMAND) or pattern.search(text) is not None
