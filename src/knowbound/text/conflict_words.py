"""Words by which two items, or an answer and an item, contradict each other: en, de, fr, es, zh, ja.

The patterns are strings for lower-case text, compiled at their first use.
"""

from __future__ import annotations

from functools import lru_cache

# After the retired name, which is the subject: "X is deprecated".
RETIRED = (
    r"\b(?:deprecated|obsolete|no longer (?:used|supported|available|exists?|needed|works?|in use|maintained|runs?)"
    r"|not (?:be )?used any ?more|(?:was|were|been|got) (?:\w+ly )?(?:removed|deleted|dropped|replaced|archived)"
    r"|(?:is|are|was|were|been|got) (?:\w+ly )?(?:retired|switched off|turned off|shut down|discontinued|decommissioned"
    r"|superseded|abandoned|phased out|abolished|gone|read-only|end-of-life)"
    r"|exits? with an error|went away|does(?:n['’]t| not) exist|stopped working"
    r"|veraltet|abgeschaltet|abgeschafft|stillgelegt|schreibgeschützt|nicht mehr"
    r"|(?:wurden?|ist|sind) (?:\S+ ){0,3}(?:abgelöst|ersetzt|entfernt|eingestellt|gelöscht)"
    r"|obsol[èe]te|déprécié\w*|(?:a|ont) été (?:remplac|supprim|abandonn|désactiv)\w+|n['’]est plus|n['’]existe plus"
    r"|obsolet[oa]s?|ya no se|ya no existe"
    r"|(?:fue|fueron|ha sido|han sido) (?:reemplazad|sustituid|eliminad|retirad|descontinuad)[oa]s?)\b"
    r"|弃用|废弃|停用|下线|不再使用|已删除|被取代|淘汰|已关闭|廃止|非推奨|もう使|使わない|使えない|やめた|ではなく|の代わりに"
    r"|に置き換え"
)
# Before the retired name: "instead of X".
RETIRES = (
    r"\b(?:instead of|rather than|in place of|no longer (?:use|run|support|need)s?|stopped using"
    r"|(?:do not|don['’]t|never) use|moved (?:away |off |on )?from|migrated (?:away |off )?from|switched (?:away )?from"
    r"|ported from|got rid of|we (?:left|dropped|abandoned|retired)"
    r"|(?<!was )(?<!were )(?<!been )(?<!is )(?<!are )(?:replace[ds]?|supersede[ds]?)"
    r"|statt|anstelle von|nicht mehr mit|au lieu d[eu']|plutôt que|n['’]utilis\w+ plus"
    r"|nous avons (?:quitté|abandonné)|remplace|en lugar de|en vez de|dejamos(?: de usar)?|abandonamos|ya no usamos"
    r"|reemplaza|sustituye(?: a)?|not (?:in|at|by|from|on|with|via|through)(?= `| \S+[./]\w))\s+"
    r"|不再使用|代替|取代了?|而不是|弃用了?"
)
USES = r"\b(?:use|uses|using|utilise|utilisons|usamos|verwenden|nutzen) `?%s\b"  # the text uses the name directly
NEGATION = (
    r"\b(?:not|never|no|nobody|none|nothing|cannot|without|nowhere|\w+n['’]t|forbidden|prohibited"
    r"|nicht|keine?[rnms]?|nie|niemals|ohne|niemand|verboten|ne|pas|jamais|aucune?|sans|personne|interdit\w*"
    r"|ning[uú]na?|ning[uú]n|nunca|jamás|sin|nadie|prohibid[oa])\b|\bn['’](?=\w)"
    r"|不|未|无需|禁止|没有|ない|ません|ず(?=、|に)"
)
# A text about an end or about the past may name what is retired.
KNOWS_OF_AN_END = r"\b(?:still|was|were|noch|wurden?|encore|était|todavía|aún|fue)\b|仍|还|まだ"
# A condition, a time or a possibility: the statement is true in part, or later.
CONDITION = (
    r"\b(?:until|unless|before|after|once|when|if|while|where|above|below|otherwise|can|could|planned|optionally"
    r"|bis|bevor|erst|wenn|falls|sobald|kann|können|geplant|avant|tant|si|quand|lorsque|peut"
    r"|hasta|antes|cuando|puede)\b|之前|直到|如果|除非|时候|可以|まで|前に|場合|とき|できる"
)
EXCEPTION = (
    r"\b(?:except|exceptions?|excepting|apart from|other than|does(?:n['’]t| not) apply|only for|exempt\w*"
    r"|ausnahmen?|außer|ausgenommen|sauf|exceptée?s?|à l['’]exception|excepto|salvo|excepci[oó]n\w*)\b"
    r"|例外|除了|除外|以外は|を除"
)

_BEGINNING = 5
# Said of the same thing, the values of a row exclude each other. "|" separates words for one value; a word of five
# letters or more is the beginning of words; "-" joins two words.
OPPOSITES = (
    "enabl|activ|aktiv|switched-on|turned-on|eingeschaltet|有効|启用|开启 "
    "disabl|deactiv|deaktiv|desactiv|désactiv|inactiv|switched-off|turned-off|ausgeschaltet|無効|禁用|关闭",
    "synchron asynchron",
    "includ|enthalten exclud",
    "accept|akzeptier reject|refus",
    "mutable immutable",
    "automatic|automatisch|automatiqu|automátic|自动|自動 manual|manuell|manuel|手动|手動|手工",
    "mandatory|required|obligator|必須 optional|facultati|opcional|任意",
    "tabs|tabulator|tabulation|tabulador spaces|leerzeichen|espaces|espacios|空格|スペース",
    "utc local-time|localtime|ortszeit|lokalzeit|hora-local|heure-locale|本地时间|現地時間",
    "ascending descending",
    "plaintext|unencrypted|unverschlüsselt encrypted|verschlüsselt|chiffré|cifrad",
)
# Opposites only if nothing else differs: otherwise they may also name two targets.
OPPOSITES_IN_ONE_PLACE = (
    *("public private|internal", "true false", "on off", "yes no", "always never", "before after", "main master"),
    *("allow deny|denies|denied|forbid|block", "permit forbid", "increas decreas", "sensitive insensitive"),
    *("stateless stateful", "opt-in opt-out", "strings integers floats uuids"),
    *("monday tuesday wednesday thursday friday saturday sunday", "hourly daily|nightly weekly monthly yearly"),
    *("前 后", "必须|允许 不要|不得|不能|禁止", "启 禁", "开 关"),
)
# Before a noun, part of the subject: "the public API", "Monday's build".
QUALIFIERS = frozenset(
    "public private internal sensitive insensitive stateless stateful mutable immutable synchronous asynchronous "
    "automatic manual mandatory required optional active inactive encrypted unencrypted plaintext "
    "ascending descending monday tuesday wednesday thursday friday saturday sunday "
    "hourly daily nightly weekly monthly yearly main master".split()
)

NEGATIONS = frozenset("not no longer never do does did don't doesn't isn't aren't".split())  # without other words
FILLERS = frozenset(
    "actually really now currently already still also just a an the every each any 都 也 现 在 已 经".split()
)
TAILS = frozenset(  # time and reason of a statement, no part of its content
    ("since", "because", "nowadays", "anymore", "any more", "any longer", "as of", "from now")
)
NUMBERS = frozenset(
    "zero one two three four five six seven eight nine ten eleven twelve once twice "
    "一 二 三 四 五 六 七 八 九 十 两".split()
)
UNITS = frozenset(
    "ms millisecond milliseconds second seconds minute minutes hour hours day days week weeks month months year years "
    "kb mb gb tb kib mib gib bytes percent pixels 秒 分 天 周 月 年".split()
)
BOUNDS = frozenset("later newer above higher up".split())  # "15 and later"
LABELLED = frozenset(  # a number after such a word is a name
    "number no item step shard ticket issue pr part phase row line test case level tier zone worker replica "
    "chapter section appendix fact entry task story returns answers status code http 第 号".split()
)
BE = frozenset("is are was were be been".split())
# Verbs that take one value: "listens on 8080". More verbs take one number: "uses Node 20".
ONE_VALUE = (
    r"(?:listen|bind|live|reside|sit|point|default|expire|start|begin|end|stop|set|pin|equal)(?:s|ed|ing|ned)?"
    r"|bound|lies"
)
ONE_NUMBER = r"(?:use|run|require|target)(?:s|d)?"
# Before a name at the end of a sentence: the subject has one such name at a time.
ONE_NAME = (
    r"\b(?:is|are) (?:called|named|(?:owned|maintained|handled|hosted|operated|led) by)(?: (?:team|squad|group))?$"
    r"|\bis hosted on$"
)
# Between "is" and a value: participles that take several values, and "to".
SEVERAL = (
    r"to|against|by|(?:support|test|mention|document|allow|includ|import|export|expos|call|us|fix|introduc|chang|add|list"
    r"|need|cover|affect|check|accept)ed|seen|known|available|compatible"
)
SEVERAL_CHINESE = "支持|依赖|包含|调用|允许|暴露|需要|导出|导入|读取|兼容|接受"

FUNCTION_WORDS = frozenset(
    "always never only every each all any now currently already still also just actually really here there please new "
    "user users use used uses using via per nobody everyone someone nothing whatever both earlier "
    "toute toutes tous tout todos todas todo toda cada chaque jede jeder jedes jeden alles der die das den dem des "
    "ein eine einer eines einem einen und oder ist sind wird werden im in am an auf aus bei mit von vom zu zum zur "
    "für nach seit jetzt man wir sie er es nicht kein keine alle ihn bitte muss müssen soll sollen darf dürfen "
    "doit doivent peut peuvent debe deben puede pueden a "
    "le la les l un une des du de d au aux et ou est sont être en dans par pour sur avec que qui ce cette ne pas n c "
    "el los las una unos unas del al y o es son está están se con por para su sus lo hay ya "
    "的 了 是 在 会 对 为 被 和 与 或 都 也 已 经 可 以 到 把 所 有 这 那 个 按".split()
)


@lru_cache(maxsize=1)
def _opposites() -> dict[str, list[tuple[str, int, int]]]:
    """Return words by their first letters, each with its row and its side in the row."""
    found: dict[str, list[tuple[str, int, int]]] = {}
    for row, sides in enumerate(OPPOSITES + OPPOSITES_IN_ONE_PLACE):
        for side, words in enumerate(sides.split()):
            for word in words.split("|"):
                found.setdefault(word[:_BEGINNING], []).append((word, row, side))
    return found


def opposites_of(word: str) -> dict[int, int]:
    """Return the rows of opposites that have a word, with the side of the word."""
    candidates = _opposites().get(word[:_BEGINNING], ())
    return {row: side for one, row, side in candidates if word.startswith(one)}
