"""The words by which the rules on contradicting items decide: en, de, fr, es, zh, ja.

What retires a name, denies, permits, excludes; what excludes each other; what names another target; units and synonyms.
"""

from __future__ import annotations

import re

# After the name that is retired: "X is deprecated". The subject of the clause is the name.
RETIRED = re.compile(
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
    r"|に置き換え",
    re.IGNORECASE,
)
# Before the name that is retired: "instead of X".
RETIRES = re.compile(
    r"\b(?:instead of|rather than|in place of|no longer (?:use|run|support|need)s?|stopped using"
    r"|(?:do not|don['’]t|never) use"
    r"|moved (?:away |off |on )?from|migrated (?:away |off )?from|switched (?:away )?from"
    r"|ported from|got rid of|we (?:left|dropped"
    r"|abandoned|retired)|(?<!was )(?<!were )(?<!been )(?<!is )(?<!are )(?:replace[ds]?|supersede[ds]?)"
    r"|statt|anstelle von|nicht mehr mit|au lieu d[eu']|plutôt que|n['’]utilis\w+ plus"
    r"|nous avons (?:quitté|abandonné)|remplace"
    r"|en lugar de|en vez de|dejamos(?: de usar)?|abandonamos|ya no usamos|reemplaza"
    r"|sustituye(?: a)?|not (?:in|at|by|from|on|with|via|through)(?= `| \S+[./]\w))\s+"
    r"|不再使用|代替|取代了?|而不是|弃用了?",
    re.IGNORECASE,
)
NEGATION = re.compile(
    r"\b(?:no longer|not|never|no|nobody|none|nothing|cannot|without|nowhere|\w+n['’]t|nicht"
    r"|keine?[rnms]?|nie|niemals|ohne|niemand"
    r"|ne|pas|jamais|aucune?|sans|personne|ning[uú]na?|ning[uú]n|nunca|jamás|sin|nadie|prohibid[oa]"
    r"|forbidden|prohibited"
    r"|verboten|interdit\w*)\b|\bn['’](?=\w)"
    r"|不再|不要|不得|不会|不能|不需要|不用|不允许|无需|禁止|没有|从不|不|未|ない|ません|ず(?=、|に)|禁止",
    re.IGNORECASE,
)
PARTS_OF_ONE = re.compile(r"\b(?:ne|pas|jamais|aucune?|personne)\b|\bn['’](?=\w)", re.IGNORECASE)  # "ne … pas" is one
# A condition, a time or a contrast: what is denied holds for a part alone.
CONDITION = re.compile(
    r"\b(?:until|unless|before|once|when|if|while|where|above|below|bis|bevor|bevor|erst|wenn|falls"
    r"|sobald|avant|tant|si|quand"
    r"|lorsque|hasta|antes|cuando|otherwise)\b|之前|直到|如果|除非|时候|まで|前に|場合|とき",
    re.IGNORECASE,
)
EXCEPTION = re.compile(
    r"\b(?:except|exceptions?|excepting|apart from|other than|does(?:n['’]t| not) apply|only for"
    r"|exempt\w*|ausnahmen?|außer|ausgenommen"
    r"|sauf|exceptée?s?|à l['’]exception|excepto|salvo|excepci[oó]n\w*)\b|例外|除了|除外|以外は|を除",
    re.IGNORECASE,
)
PERMISSION = re.compile(
    r"\b(?:may|allowed|can|permitted|free to|safe|supports?|dürfen|darf|erlaubt|peut|peuvent"
    r"|a le droit|autorisée?s?|puede[ns]?"
    r"|permitid[oa]s?)\b|可以|允许|てよい|てもよい|可能",
    re.IGNORECASE,
)
EXCLUSIVE = re.compile(
    r"\b(?:only|every|all|each|always|single|sole|solely|exclusively|nowhere else|nothing else|alle"
    r"|jede[rsnm]?|immer|nur|einzige[rsn]?"
    r"|ausschließlich|toute?s?|tous|chaque|toujours|seule?s?|uniquement|tod[oa]s?|cada|siempre|s[oó]lo|[uú]nic[oa]s?)\b"
    r"|所有|只|唯一|全部|统一|一律|全て|すべて|のみ|だけ|必ず|以外",
    re.IGNORECASE,
)
OWNERSHIP = re.compile(
    r"\b(?:own(?:s|ed|ers?)?|maintain(?:s|ed|ers?)?|responsible|contact|run by|operate[sd]?"
    r"|operated by|in charge|ask|looks? after|belongs to"
    r"|verantwortlich|zuständig|betreut|gehört|ansprechpartner(?:in)?|gepflegt|maintien\w+"
    r"|maintenue?s?|responsables?|s['’]occupe"
    r"|gérée?s?|mantiene|mantenid[oa]s?|encarg\w+|pertenece)\b|负责|维护|归属|担当|管理者|メンテ",
    re.IGNORECASE,
)
TEAMS = frozenset("team group squad crew guild tribe équipe equipo gruppe abteilung".split())

# Said of the same thing, one of these excludes the others.
OPPOSITES = tuple(
    tuple(row.split())
    for row in (
        "enabl|activ|aktiv|activad|activé|有効|启用|开启 "
        "disabl|deactiv|deaktiv|desactiv|désactiv|inactiv|無効|禁用|关闭",
        "synchronous|synchron asynchronous|asynchron",
        "includ|enthalten exclud",
        "accept|akzeptier reject|refus",
        "mutable immutable",
        "automatic|automatisch|automatiqu|automátic|自动|自動 manual|manuell|manuel|手动|手動|手工",
        "mandatory|required|compulsory|obligator|obligatori|必須 optional|voluntary|facultati|opcional|任意",
        "tabs|tabulator|tabulation|tabulador spaces|leerzeichen|espaces|espacios|空格|スペース",
        "utc localtime|ortszeit|lokalzeit|本地时间|現地時間",
        "ascending descending",
        "monday tuesday wednesday thursday friday saturday sunday",
        "montag dienstag mittwoch donnerstag freitag samstag sonntag",
        "hourly daily weekly monthly yearly quarterly",
        "täglich wöchentlich monatlich",
        "plaintext|unencrypted|unverschlüsselt encrypted|verschlüsselt|chiffré|cifrad",
    )
)
# Opposites only where they are what is said ("the repository is public"): before a noun they name the target.
OF_A_PREDICATE = tuple(
    tuple(row.split())
    for row in (
        "public|öffentlich|públic|公开 private|internal|privat|privad|privé|intern|interne|私有",
        "stateless stateful",
        "sensitive insensitive",
    )
)
OPPOSITE_PHRASES = tuple(  # what has more than one word, the first word of its row, and which of the row it is
    (re.compile(pattern, re.IGNORECASE), name, number)
    for pattern, name, number in (
        (r"\b(?:switched|turned) on\b|eingeschaltet", "enabl", 0),
        (r"\b(?:switched|turned) off\b|ausgeschaltet|abgeschaltet", "enabl", 1),
        (r"\blocal time\b|\bhora local\b|\bheure locale\b", "utc", 1),
    )
)
ONLY_POSSIBLE = re.compile(
    r"\b(?:can|could|planned|optionally|kann|können|peut|puede|geplant)\b|可以|できる", re.IGNORECASE
)
NEGATIVE = re.compile(  # it says no without a negation
    r"\b(?:lost|fail\w*|break\w*|broken|reject\w*|block\w*|error|forbid\w*|ban(?:ned)?|avoid|stop\w*|prevent\w*|ignored"
    r"|fehler\w*|verhindert|échou\w*|évit\w*|evita\w*|falla\w*)\b|失败|避免|拒绝|失敗|避け",
    re.IGNORECASE,
)
# Two of one row name two targets, not two opinions.
TARGETS = tuple(
    frozenset(row.split())
    for row in (
        "dev development local prod production staging stage test testing qa preprod sandbox "
        "preview canary entwicklung "
        "produktion développement recette producción desarrollo",
        "测 预 生",
        "max maximum maximal min minimum minimal default default máximo mínimo maximale minimale at-most at-least",
        "soft hard",
        "near far",
        "public internal external private",
        "read write reads writes",
        "upload download 上 下",
        "request response",
        "client server",
        "front-end frontend back-end backend",
        "small large big medium tiny",
        "first second third last",
        "ios android web desktop windows linux macos",
        "eu us asia apac emea",
        "master main develop lts trunk",
        "debug release",
        "above below",
        "input output",
        "primary secondary replica",
        "hot cold",
        "unit integration e2e end-to-end",
        "old new alt neu",
        "python javascript typescript go rust java kotlin swift ruby php",
        "foreground background",
        "interval count limit",
        "connect idle",
        "start stop",
    )
)
SYNONYMS = {
    word: words.split()[0]
    for words in (
        "database db datenbank",
        "production prod",
        "staging stage",
        "repository repo",
        "configuration config conf",
        "kubernetes k8s",
        "environment env",
        "directory dir folder",
        "keep retention retain retained store stored save saved write written live lives kept sit "
        "located placed reside",
        "expire ttl lifetime valid validity expiration expiry",
        "run start execute launch",
        "need require requires",
        "documentation docs",
        "library dependency",
        "check verify",
        "delete remove",
        "limit maximum max cap",
        "application app",
        "fetch load read",
        "repositorio repo",
        "enforce enforces",
    )
    for word in words.split()[1:]
}
UNITS = {  # what is measured, and how much of the smallest
    unit: (what, much)
    for what, rows in {
        "time": "ms millisecond milliseconds=1 s sec secs second seconds sekunde sekunden seconde "
        "secondes segundo segundos 秒 秒間=1000 "
        "min mins minute minutes minuten minuto minutos 分 分钟 分間=60000 h hour hours stunde stunden "
        "heure heures hora horas 小时 時間=3600000 "
        "day days tag tage tagen jour jours día días dia dias 天 日 日間=86400000 week weeks woche "
        "wochen semaine semaines semana semanas 周 週間=604800000 "
        "month months monat monate monaten mois mes meses 月 个月 か月=2592000000 year years jahr jahre "
        "jahren an ans año años 年=31536000000",
        "size": "byte bytes b=1 kb kib=1024 mb mib=1048576 gb gib=1073741824 tb tib=1099511627776",
        "rate": "hz fps=1 khz=1000 mhz=1000000",
        "share": "% percent prozent=1",
        "times": "times mal fois veces 次 回=1",
    }.items()
    for row in re.split(r"(?<=\d) ", rows)
    for words, _, number in [row.partition("=")]
    for unit in words.split()
    for much in [int(number)]
}
NUMBERS = {
    word: number
    for number, words in {
        1: "one once ein eine un une una uno 一",
        2: "two twice zwei deux dos 两 二",
        3: "three drei trois tres 三",
        4: "four vier quatre cuatro 四",
        5: "five fünf cinq cinco 五",
        6: "six sechs seis 六",
        7: "seven sieben sept siete 七",
        8: "eight acht huit ocho 八",
        9: "nine neun neuf nueve 九",
        10: "ten zehn dix diez 十",
        12: "twelve zwölf douze doce",
        20: "twenty zwanzig vingt veinte",
        30: "thirty dreißig trente treinta",
    }.items()
    for word in words.split()
}
LABELLED = frozenset(  # a number after one of these is its name
    "number no item step shard ticket issue pr part phase row line test case level tier zone worker replica "
    "chapter section appendix fact entry task story returns answers status code http 第 号".split()
)
COPULAS = frozenset("is are was were be ist sind est sont es son está están".split())
ROMANCE = frozenset("le la les l el los las un une una".split())  # articles: what qualifies a noun stands after it
OF = frozenset("of for the der des die das von vom für de d du del la l le les el los las".split())
FUNCTION_WORDS = frozenset(
    "always never only every each all any now currently already still also just actually really here there please new "
    "user users use used uses using via per nobody everyone someone nothing whatever both earlier "
    "toute toutes tous tout todos todas todo toda cada chaque jede jeder jedes jeden alles "
    "der die das den dem des ein eine einer eines einem einen und oder ist sind wird werden im in "
    "am an auf aus bei mit von vom zu zum zur "
    "für nach seit jetzt man wir sie er es nicht kein keine alle muss darf ihn bitte "
    "muss müssen soll sollen darf dürfen doit doivent peut peuvent debe deben puede pueden a "
    "le la les l un une des du de d au aux et ou est sont être en dans par pour sur avec que qui ce cette ne pas n c "
    "el los las una unos unas del al y o es son está están se en con por para que su sus lo hay ya "
    "的 了 是 在 会 对 为 被 和 与 或 都 也 已 经 可 以 到 把 所 有 这 那 个 按".split()
)
