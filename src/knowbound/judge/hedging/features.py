"""The features around a word of doubt, by which the rules tell doubt from talk of possibilities.

A feature is a short name for something a reader can see in the sentence: its subject, what follows the word,
whether a condition comes before it, whether the agent goes to look next. English and Chinese share the names, and
words of doubt that behave alike share a group, so that what is learnt from one serves the others. Of several that
match, the first in a table counts.
"""

# ruff: noqa: E501 - a pattern is easier to read unbroken
from __future__ import annotations

import re

from knowbound.text.hedges import Cue, cues, lowered, words
from knowbound.text.sentences import HIDDEN, mask, shape

_WORD_LENGTH = 12
_NEAR = 90  # characters on each side of a cue that are looked at

_PEOPLE = r"\b(?:users?|people|developers?|humans?|customers?|someone|anyone|teams?|visitors?|readers?|clients?|owner|player|attacker|students?)\b"
_TROUBLE = r"(?:issue|problem|cause|reason|culprit|bug|error|failures?|mismatch|discrepanc\w{1,3}|difference|explanation|delay|change|diagnostics|fix)s?"
_WORTH = (
    r"(?:better|best|good|fine|ok|okay|worthwhile|viable|minimal|enough|nice|nicer|clean\w{0,4}|simpl\w{1,4}|easi\w{1,4}|useful|helpful|worth\w{0,5}|enough"
    r"|sufficient|reasonable|acceptable|right|correct|sensible|valid|feasible|overkill|premature|confusing|rare"
    r"|unnecessary|safe\w{0,2}|important|promising|preferable|appropriate|ideal|worse|worst|excessive|minor|harmless"
    r"|clear\w{0,2}|tricky|hard\w{0,2}|complex|unexpected|surprising|obsolete|redundant|critical|invasive|great|neat"
    r"|straightforward|natural|robust|faster|slower|cheaper|smart|pragmatic|small|tempting|broad|tautological|flaky|loose)"
)

_CLAUSE = re.compile(
    r"[;:(—–]| - |[,，；：（]|\b(?:but|and|so|because|since|which|though|as|means)\b"  # what comes before is another clause
)

_Table = tuple[tuple[str, re.Pattern[str]], ...]


def _table(**patterns: str) -> _Table:
    return tuple((name.replace("_", " "), re.compile(pattern)) for name, pattern in patterns.items())


_SUBJECT = _table(
    people=rf"{_PEOPLE}[^,]{{0,30}}$|(?:用户|客户|大家|玩家|开发者|团队)\W?$",
    you=r"\b(?:you|your)\b[^,]{0,16}$|[你您]们?$",
    we=r"\b(?:we|one)(?:'d|'ll)?(?: \w+)?\s*$|我们$",
    I=r"\bi(?:'d|'ll|'m)?(?: \w+)?\s*$|我$",
    trouble=rf"\b{_TROUBLE}(?: (?:here|is|was|are|were))?\s*$|(?:问题|原因|错误|故障|根因)(?:出|就)?$",
    an_option=r"\b(?:option|approach|alternative|solution|version|improvement|design|way|idea|plan|output|cleanup)"
    r"(?: \w{1,2})?\s*$|(?:方案|做法|办法|选项)\W?\w?$",
    there=r"\bthere\s*$",
    what_is_described=r"\b(?:that|who|whose|where|when|why)(?: [\w¤'-]+){0,2}\s*$",
    it=r"\b(?:it|this|that|these|those|they|which|its)(?:'s)?(?: (?:is|was|are|were|\w+ly|all|also))?\s*$|[这那它]个?$",
    a_kind_of_thing=r"^\W*(?:an?|any|some|each|every|one|other|another|no|most|many)\b",
    code=r"¤\s*(?:\w+\s+)?$",
    a_known_thing=r"^\W*(?:\w+ )?(?:the|this|that|these|those|my|our|its|their|your)\b",
)

_FOLLOWS = _table(
    a_cause=r"\s*(?:be |is |are |was |were |come |comes |stem )?(?:just |simply |only |also |all |partly )?"
    r"(?:because|due to|caused by|related to|from|that\b|why|the (?:issue|cause|problem|reason|culprit)"
    r"|an? (?:\w+ )?(?:issue|bug|problem|mismatch|race|conflict|leftover|artifact|oversight|typo|cache)"
    r"|(?:culprit|reason|explanation)s?\b|causes?\b(?! \w))|是?(?:因为|由于|由)|与",
    something_past=r"\s*(?:not |never |already |also |just |only |simply )*(?:have|'ve)\s+"
    r"(?!(?:an?|the|no|to|some|any|at|its|their|more|value)\b)[a-z]|已经?|没有?",
    something_going_on=r"\s*(?:not |still |already |also |just |to )*(?:be|being|is|are|was) (?:\w+ly )?\w+ing\b|正在|在",
    to_be=r"\s+(?:not )?to (?:be|have|not|only|use|work|match|already|show|expect|come)\b",
    to_do=r"\s+to \w",
    an_allowed_value=r"\s*(?:also |even )?be (?:null|none|nil|empty|zero|undefined|absent|omitted|optional|negative|missing|unset"
    r"|blank|repeated|nested|passed|called|used)\b|(?:会)?(?:为空|为零|缺失|省略|重复)",
    somewhere=r"\s*(?:not |only |also |just |all |\w+ly )?(?:be|is|are|was|were|come|live|lives|sit|happen) (?:\w+ly )?"
    r"(?:in|from|on|at|inside|under|within|somewhere|where|with|part|one of)\b",
    a_suggestion=r"\s*(?:\w+ly |also |just |even |all |easily )?(?:(?:be|get) (?:\w+ly )?(?:simplified|removed|inlined|added|used|moved"
    r"|extracted|improved|replaced|dropped|shared|split|reused|merged|tested|consolidated|renamed|refactored|clarified|tightened"
    r"|skipped|made|handled|combined|exposed|documented|deferred)|benefit|suffice|consider|live|go|surface|host|mention)\b",
    an_opinion=r"\s*(?>(?:(?:be|is|are|was|a|an|the|quite|very|more|most|like|to|less|least|too|actually|also|even|all|it's)\s+)*)"
    rf"{_WORTH}\b|(?:更|最|比较)?(?:好|合适|简单|合理|方便)",
    a_change=r"\s*(?:\w+ly |also |just |even |then |still )*(?:be|get) (?:\w+ly )?\w{2,}(?:ed|en|lt|wn|split|made|put|built)\b|被",
    a_wish=r"\s*(?:\w+ly |also |still |just |even )?(?:want|need|prefer|like|wish|choose|decide|ask|forget|remember|consider"
    r"|try)s?\b|(?:会)?(?:想|希望|需要|更喜欢)",
    an_effect=r"\s*(?:\w+ly |also |still |just )?(?:lead|cause|mislead|hide|mask|trip|conflict|fail|miss|drift|grow|exhaust|surprise|result|break|affect|slow|confuse|lose|leak|expose|allow|create"
    r"|introduce|crash|frustrate|help|simplify|improve|reduce|hurt|produce)\b|(?:会)?(?:导致|影响|造成|引起|提高|改善)",
    a_deed=r"\s*(?:just |also |simply |even )?(?:add|use|make|do|extract|return|store|merge|remove|replace|split|check|filter"
    r"|build|move|simplify|pass|keep|call|have|set|file|unify|inline|detect|match|skip|work|serve|be)\b",
    a_place=r"\s*(?:in|on|at|under|below|above|next|between|inside|from|within)\b",
    an_adverbial=r"\s*(?:(?:when|as|twice|once|many|several|before|after"
    r"|here|with|alongside|for|where|multiple|earlier|again|everywhere)\b|\d|[.,;—–/])",
    a_denial=r"\s*(?:not\b|n't|\w+ not\b|does|do |did|isn|aren|wasn)|不|没",
    a_known_thing=r"\s*(?:just |simply |only |also )?(?:be |is |are |was |were )?(?:an?|the|this|that|some|my|our|its)\b",
    a_state=r"\s*(?:still |already |just |also |only |simply )?(?:be|is|are|was|were|has|had)\b|是|有",
    whether=r".{0,60}\b(?:if|whether)\b|.{0,30}(?:是否|是不是|有没有)",
    how_or_what=r".{0,40}\b(?:how|what|why|which|where|when|who)\b|.{0,30}(?:怎么|如何|哪|什么|为何|谁)",
    a_thing=r"\s*(?:there|these|those|your|both|two|something)\b",
    a_pronoun=r"\s*(?:this|that|it|we|you)\b",
    myself=r"\s*(?:i|my)\b",
    code=r"\s*(?:the |a |an |to |not |in |at )?¤",
    the_end=r"\s*[).,*:：。?？!]*\s*$",
)

_WORDS_AROUND = {
    "people": "user users people developer developers human humans customer customers someone",
    "trouble": "issue problem cause reason culprit bug fail fails failed failing failure failures mismatch discrepancy error "
    "errors wrong broken stale",
    "options": "option options approach alternative alternatively alternatives instead recommend recommended recommendation "
    "prefer tradeoff pro pros con cons improvement proposal better simpler cleaner would risk scenario scenarios",
    "future": "will later future someday eventually won't",
    "past": "was were had did didn't wasn't ran got before already earlier previous previously",
    "a review": "nit consider suggestion refactor readability clearer benefit optional coverage comment",
    "a report": "said wrote told asked writes asks titled labelled labeled",
    "a judgement": "right better cleaner fine good best worth reasonable acceptable simpler agree",
}
_FEATURES_OF_WORD: dict[bytes, list[str]] = {}
for _name, _words in _WORDS_AROUND.items():
    for _word in _words.encode().split():
        _FEATURES_OF_WORD.setdefault(_word, []).append(_name)

# Phrases, each with words of which one stands in it: only then is the pattern tried.
_PHRASES_AROUND = (
    ("in order to change", "check verify confirm see understand update look", r"\b(?:check|verify|confirm|see|understand|update|look)\b.{0,80}\b(?:to|and) (?:add|fix|throw|update|make|handle|write|remove|implement|return|raise|review|create|ensure|follow|match)\b"),
    ("options", "suggest case cases trade follow worth", r"\b(?:i'd suggest|edge cases?|trade-off|follow-?up|worth it)\b"),
    ("future", "going after", r"\b(?:going to|after (?:merging|that))\b"),
    ("asks the user", "me you shall should happy feel want", r"^\W{0,4}want (?:me )?to\b|\b(?:want me to|would you|could you|can you|do you|did you|shall i|should (?:we|i)|are you|have you|let me know|happy to|feel free)\b"),
    ("no matter", "matter regardless either", r"\bno matter\b|\bregardless\b|n't matter\b"),
    ("settled", "turned turns now resolved longer confirmed expected enough fixed suspected first settles", r"\b(?:as suspected|at first|settles (?:it|that)|turned out|turns out|now (?:i|we) know|resolved|no longer|confirmed|as expected|now i (?:have|understand|see)|i have enough|fixed it)\b"),
    ("untested", "not undocumented haven't should worth unclear can't need double", r"\b(?:not documented|undocumented|haven't|not tested|should be (?:\w+ )?tested|worth (?:verifying|checking)|not sure|unclear|can't (?:tell|confirm)|need to (?:check|verify|confirm)|double-check)\b"),
)  # fmt: skip
_PHRASES = tuple(
    (name, frozenset(gate.encode().split()), re.compile(pattern)) for name, gate, pattern in _PHRASES_AROUND
)

_FORMS = _table(
    an_amount=r"\d[\d,.~–-]{0,12}\+?[ -]?(?:%|minutes?|mins?|hours?|days?|weeks?|lines?|files?|seconds?|ms|loc\b|分钟|小时|天|行)",
    an_arrow=r"→|->|=>",
    a_question=r"[?？][*_)\s]{0,4}$",
    a_colon_at_the_end=r"[:：][*_)\s]{0,4}$",
    a_label_in_front=r"^[-*\d.\s]{0,9}\*\*[^*]{1,60}\*\*",
    a_second_thought=r"^\W{0,6}(?:but|wait|hmm|actually|or|so|oh|ah|interesting|looking)\b|^(?:但|不过|等等|嗯)",
)
_CHINESE_AROUND = _table(
    people=r"用户(?![表名])|客户(?![表名])",
    trouble=r"问题|原因|报错|失败|错误",
    options=r"方案|建议|可以考虑|场景",
    future=r"将来|未来|以后|后续|日后|将会|届时",
    past=r"之前|刚才|已经|当时|了",
    asks_the_user=r"要不要|需要我|您|请问|你(?:想|希望|可以)",
    settled=r"已经?(?:确认|解决|查清|证实|处理|删)|原来|果然|后来|查明|都处理|所以(?:我|加|模板)",
    a_report=r"(?:对方|客户|客服|同事|用户|产品|运营|他|她)\w{0,3}(?:说|反馈|表示|问|担心)",
    no_matter=r"不管|无论|不论",
    a_reserve=r"(?:不过|但是?|只是|可是?|，也).{0,20}(?:没|不|无|未|只)",
    untested=r"不确定|未(?:验证|确认)|需要?(?:确认|核实|查证)",
)

_CONDITION = re.compile(
    r"\b(?:if|when|whenever|unless|in case|once|without|while|until)\b|如果|若|假如|一旦|要是|除非|当.{1,20}时"
)
_INDIRECT_QUESTION = re.compile(
    r"\b(?:check|see|verify|confirm|know|sure|determine|investigate|understand|unclear|wonder|ask|tell|find out|figure out)"
    r"\w{0,3}\b[^,]{0,40}\b(?:if|when|whether)\b"
)
_CONDITION_AFTER = re.compile(r"[^.]{0,40}\b(?:if|when|unless|once)\b")
_IS = re.compile(r"\b(?:is|are|was|were|'s|'re)\s*$")
_WORD = re.compile(r"\W{0,9}([^\W¤]{1,20})")
_STILL = re.compile(r"\s*(?:still|already|actually|only|also|incorrectly|just|simply|even|really|no longer)\b")
_WILL = re.compile(r"\b(?:will|would|should|'ll|'d)\s*$")

# Kinds that behave alike; what is learnt of one serves the others.
_GROUPS = {
    kind: group
    for group, kinds in {
        "modal": "may might could",
        "adverb": "likely probably presumably maybe possible memory",
        "seeming": "seem appear looks suggest signs",
        "opinion": "think guess assume",
        "ignorance": "unsure lack silent unknown",
    }.items()
    for kind in kinds.split()
}
# Kinds that hold words of different force: the word itself is a feature too.
_MIXED = frozenset(
    ["likely", "appear", "lack", "verify", "unsure", "think", "assume", "guess", "silent", "signs", "memory"]
)
# Kinds whose own `if` belongs to them: "not sure if", "check if".
_ASKING = frozenset(["verify", "unsure", "lack", "silent"])

# What stands before the cue in its sentence.
_BEFORE = _table(
    any=r"\b(?:any|every|each|anything|something|whatever|everything|all|other|others)\b[^,;:.]*$",
    what_or_how=r"\b(?:what|how|why|which|where)\b[^,;:.]*$",
    relative=r"\b(?:files?|everything|all|what|things?|one|code|parts?|details?|agents|fields?) (?:that )?(?:i|we|you) (?:\w+ )?$",
)
_ANNOUNCES = re.compile(
    r"\W{0,4}(?:(?:now|first|next|then|so|ok|okay|also|great|good|wait|actually|and)\b[,.!]? ?)*"
    r"(?:let me|let's|i'll|i will|we'll|i'm (?:also |now )?\w+ing|i am \w+ing)\b|(?:让我|我来|我先|接下来)"
)
_GOES_TO_LOOK = re.compile(
    rf"(?:{_ANNOUNCES.pattern}|(?:so |but )?i (?:need to|should))"
    r".{0,60}?\b(?:check|look|see|verify|find|investigat|read|debug|trac|try|test|confirm|examin|inspect|search|run|print|reproduc)"
    r"|(?:让我|我来|我先|接下来).{0,20}(?:看|查|确认|验证|试)"
)
# A name of a program is hidden like quoted code: the "user" of user_profile is nobody.
_IDENTIFIER = re.compile(r"(?<![^\W_])(?:[A-Za-z]\w*_\w+|[a-z]+[A-Z]\w+)(?!['’]\w)", re.ASCII)
_NEW_CLAUSE = re.compile(r"[;:(—–,]| - |\b(?:because|since|as|but|so)\b|[，；：（]")


def features(sentence: str, after: str = "") -> list[tuple[Cue, list[str]]]:
    """Each word of doubt in a sentence with its features; `after` is the text that follows it."""
    masked = mask(sentence)
    found = cues(masked)
    low = lowered(_IDENTIFIER.sub(lambda name: HIDDEN * len(name[0]), masked))
    shared = _around(sentence, low)
    if _GOES_TO_LOOK.match(lowered(after[:200])):
        shared.append("then goes to look")
    announced = _ANNOUNCES.match(low)
    return [(cue, _near(low, cue, announced) + shared) for cue in found]


def _near(low: str, cue: Cue, announced: re.Match[str] | None) -> list[str]:
    kind, word = cue.kind, low[cue.start : cue.end]
    group = _GROUPS.get(kind, kind)
    left = low[max(0, cue.start - _NEAR) : cue.start]
    right = low[cue.end : cue.end + _NEAR]
    subject = _subject(left)
    still = _STILL.match(right)
    rest = right[still.end() :] if still else right
    follows = next((name for name, pattern in _FOLLOWS if pattern.match(rest)), "something else")
    names = [kind, f"of {subject}", f"then {follows}", f"{group} then {follows}"]
    if kind in _ASKING:
        names.append(f"{group} of {subject}")  # who does not know decides: the agent, or a program that it describes
    if kind in _MIXED and word.isascii():
        first, *_, last = [*word.split(), ""]
        names.append(f"“{word}”" if len(word) < 14 else f"“{first} … {last or word.split()[-1]}”")
    for name, pattern in _BEFORE:
        if pattern.search(left):
            names += [f"after {name}", f"{group} after {name}"]
    if announced:
        where = "later in" if _NEW_CLAUSE.search(low, announced.end(), cue.start) else "in"
        names += [f"{where} announced work", f"{group} {where} announced work"]
    if kind != "memory" and _CONDITION.search(left) and not _INDIRECT_QUESTION.search(left):
        names += ["after a condition", f"{group} after a condition"]
    if kind not in _ASKING and _CONDITION_AFTER.match(right):
        names.append("before a condition")
    if _IS.search(left[-_WORD_LENGTH:]):
        names.append(f"{group} after is")
    if _WILL.search(left[-_WORD_LENGTH:]):
        names.append("after will")
    if still:
        names.append(f"{group} then still")
    if word_after := _WORD.match(right):
        names.append(f"{group} then “{word_after[1]}”")
    return names


def _subject(left: str) -> str:
    """The subject of the clause that contains the word of doubt."""
    start = 0
    for border in _CLAUSE.finditer(left):
        start = border.end()
    clause = left[start:]
    if not clause.strip(" *_-|#\"'("):
        return "nothing" if not left.strip(" *_-|#") else "a clause before"
    return next((name for name, pattern in _SUBJECT if pattern.search(clause)), "something")


def _around(sentence: str, low: str) -> list[str]:
    names = {f"in {shape(sentence)}"}
    found = set(words(low))
    for word in _FEATURES_OF_WORD.keys() & found:
        names.update([f"with {name}" for name in _FEATURES_OF_WORD[word]])
    names.update(
        [f"with {name}" for name, gate, pattern in _PHRASES if not found.isdisjoint(gate) and pattern.search(low)]
    )
    names.update([f"with {name}" for name, pattern in _FORMS if pattern.search(low)])
    if not low.isascii():
        names.update(f"with {name}" for name, pattern in _CHINESE_AROUND if pattern.search(low))
    return sorted(names)
