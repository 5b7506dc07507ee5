"""A message cut into its clauses, each with its mood: who asks whether a pipeline is green may say first what he did.

The words of a clause are plain here: in small letters, with names of code replaced by a placeholder, so that
`run_build` is no order and `tests/api` still says that it is about tests.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import cache
from typing import NamedTuple

from knowbound.text.questions.words import GENERIC, ORDERS, VERBS, verb_base
from knowbound.text.stop_words import STOP_WORDS
from knowbound.text.terms import one_edit


class Mood(StrEnum):
    """What a clause does."""

    WHAT = "what"  # asks with a question word
    WHETHER = "whether"  # asks for yes or no
    ORDER = "order"
    STATEMENT = "statement"  # or a bare noun


class Clause(NamedTuple):
    """One clause without the politeness around it."""

    mood: Mood
    text: str
    joined: bool = False  # begins with "or": another way to ask what was asked before it


NAME, FILE, TEST_NAME, OPTION, QUOTED = "xname", "xfile", "xtest", "xoption", "xquoted"
TOOLS = (
    r"(?:npm|npx|yarn|pnpm|bun|deno|cargo|go|make|cmake|ctest|gradle|\./gradlew|gradlew|mvn|\./mvnw|pytest|tox|nox|"
    r"bazel|"
    r"dotnet|swift|xcodebuild|rake|rspec|docker|just|ninja|meson|sbt|lein|mix|composer|phpunit|jest|vitest|mocha|"
    r"python3?|uv|poetry|hatch|zig|git|gh|tsc|mypy|pyright)"
)
_RUNNERS = frozenset("make pytest tox nox ctest cmake tsc mypy gradle jest vitest".split())
_COMMAND = re.compile(rf"^{TOOLS}\b", re.I)
_CODE_SPAN = re.compile(r"`+([^`\n]+)`+")
_QUOTE = re.compile(r"\"[^\"\n]{1,200}\"|“[^”\n]{1,200}”|(?<![\w'])'[^'\n]{2,200}'(?!\w)")
_PATH = re.compile(r"(?<![\w./-])(?:[\w.@-]+/)+[\w.@*-]*(?:\.\.\.)?(?=[\s,;:?!)]|\.?$|\.\s)")
_FILE_NAME = re.compile(
    r"(?<![\w./-])[\w-]*\.?[\w-]+\.(?:py|pyi|js|jsx|ts|tsx|mjs|c|h|cc|cpp|hpp|rs|go|java|kt|rb|php|cs|swift|md|rst|txt|"
    r"ya?ml|toml|json|cfg|ini|sh|sql|html|css|lock|mod|gradle|xml)\b",
    re.I,
)
_IDENTIFIER = re.compile(
    r"(?<![\w-])(?:@?\w*[a-z0-9][A-Z]\w*(?:\.\w+)*(?:\([^()\s]{0,40}\))?|@?\w+(?:::|->|#)\w+(?:\([^()\s]{0,40}\))?|"
    r"@?\w*_\w+(?:[.:]+\w+)*(?:\([^()\s]{0,40}\))?|"
    r"[A-Za-z]\w*(?:\.[A-Za-z_]\w+)+(?:\([^()\s]{0,40}\))?|\w+\([^()\s]{0,40}\))"
)
_CAPITALS = re.compile(r"(?<![\w-])(?!GHA\b|TODO\b|README\b|HEAD\b|MIT\b)[A-Z]{3,}[A-Z0-9]*(?![\w-])")
_FLAG = re.compile(r"(?<![\w-])--?[A-Za-z][\w-]*(?:=\S+)?")
_TESTING = re.compile(r"(?:^|[/_.-])(?:tests?|specs?|e2e)(?:[/_.-]|$)|\w(?:Tests?|Spec)$|^Test[A-Z]", re.I)
_SPELLINGS = (
    (re.compile(r"\btype[- ]check(s|ed|ing|er)?\b"), r"typecheck\1"),
    (re.compile(r"\bwo(?: not|n't)\b"), "will not"),
    (re.compile(r"\bca(?: not|n't)\b"), "can not"),
    (re.compile(r"\bdouble check"), "double-check"),
    (re.compile(r"\btest-suite"), "test suite"),
    (re.compile(r"\b(re)-(run|build|compile|test|start)"), r"\1\2"),
    (re.compile(r"\bcross-compil"), "crosscompil"),
    (re.compile(r"\bcontinuous integration\b|\bci[ /]cd\b"), "ci"),
    (re.compile(r"\bgithub actions?\b|\bgh actions?\b|\bgha\b"), "github-actions"),
    (re.compile(r"\b(what|where|who|how|when|that)s\b(?= )"), r"\1 is"),
    (re.compile(r"\blet'?s\b"), "let us"),
    (re.compile(r"\bgonna\b"), "going to"),
    (re.compile(r"\bwanna\b"), "want to"),
    (re.compile(r"\bdont\b"), "do not"),
    (re.compile(r"\bdoesnt\b"), "does not"),
    (re.compile(r"\bisnt\b"), "is not"),
    (re.compile(r"\bu\b(?= )"), "you"),
)
# Words by which a question is understood; one typing error in them is put right. What it is about stays as it is.
_KNOWN = frozenset(
    "where which what when whose explain compare review defined implemented locate describe understand difference "
    "between called calls does build builds building built rebuild compile compiles compiled compiling compiler tests "
    "test testing suite pass passes passed passing fail fails failed failing failure broken break pipeline pipelines "
    "workflow workflows green clean commit commits committed uncommitted branch change changed changes added removed "
    "introduced deleted renamed please rename remove delete replace update implement show find search history status "
    "recent recently latest last staged working tree every everything anything anyone someone using usage usages "
    "callers references problem problems problem's bugs review reviews safe correct execute run running runs finished "
    "nightly could would should there their about think thanks thank hello again still merge conflicts".split()
)
_SHORT = {"hwo": "how", "teh": "the", "hte": "the", "wich": "which", "waht": "what", "wher": "where", "whre": "where",
          "wehre": "where", "wht": "what", "rnu": "run", "tst": "test", "tets": "test", "tset": "test", "buid": "build",
          "bulid": "build", "fial": "fail", "psas": "pass", "taht": "that", "si": "is", "od": "do", "ar": "are",
          "whcih": "which", "wat": "what", "whats": "what is", "wheres": "where is", "pls": "please", "plz": "please",
          "thx": "thanks", "ty": "thanks", "ur": "your", "cna": "can", "yuo": "you", "adn": "and",
          "brake": "break", "braek": "break"}  # fmt: skip

_OPENERS = (
    r"(?:please|kindly|hey|hi|hello|so|now|ok|okay|well|and|then|also|but|just|quickly|quick question|question|hmm+|um|"
    r"right|anyway|btw|actually|yes|yeah|yep|no|no worries|sorry|thanks|thank you|good morning|morning|great|cool|nice|"
    r"perfect|alright|guys|team|folks|again|first|next|finally|maybe|perhaps|honestly|basically|because|cause|though|"
    r"if so|if not|if yes|once more|one more time|one more thing|last thing|for me|if possible|if you can|"
    r"when you have a (?:minute|moment)|"
    r"by the way|out of curiosity|tl ?dr)"
)
_ASKED_TO = (
    r"(?:(?:can|could|would|will|may|might) (?:you|we|someone|somebody|anyone)(?: (?:please|kindly|maybe|perhaps|also|"
    r"quickly|just|possibly|go ahead and))*(?= [a-z])|would you mind|do you mind|mind|go ahead and|go and|feel free to|"
    r"i(?: would| really| just)* (?:like|want|need) (?:you )?to|i would (?:love|appreciate it if) (?:you|to)?|"
    r"let us|let me|we (?:really )?(?:need|want|have|ought) to|we should|you (?:should|can|could|may|need to|have to)|"
    r"help me(?: out)?(?: to)?|it would be (?:nice|great|good|helpful) (?:if you(?: could)?|to)|time to|try to|try and|"
    r"remember to|be sure to|your (?:task|job) is to|i am (?:trying|going|looking) to|want you to|need you to|"
    r"do me a favou?r and|be so kind (?:as )?to|is it possible to|any chance (?:you can|you could|to)|"
    r"are you able to|how about you|why (?:do not|not) you|(?:(?:i|we) )?(?:need|want) to)"
)
_QUESTION_WORD = r"(?:where|what|which|who|whom|whose|why|how|when|whether|if)"
_WONDERS = re.compile(
    r"(?:^|\b(?:and|so|but|then|to|,) )(?:i am (?:just )?(?:wondering|curious|unsure|not sure|confused)(?: about)?|"
    r"i wonder|"
    r"wondering|curious|know|understand|(?:do|does|would|could|can) (?:you|anyone|anybody|"
    r"someone) (?:happen to )?(?:know|remember|"
    r"recall|"
    r"say|tell(?: me| us)?|see)|(?:any|got any|have any|no) (?:idea|clue|hint)|tell (?:me|us)|let (?:me|us) know|"
    r"remind me|"
    r"(?:i|we)(?: would)?(?: really| just)* (?:need|want|like|have|am trying|have to|are trying) to (?:know|see|"
    r"understand|"
    r"find out|figure out|learn|check|be sure|make sure)|(?:i am )?(?:trying|want|need) to (?:understand|figure out|"
    r"find "
    r"out|know|see)|figure out|find out|work out|(?:double[- ])?check|see|say|verify|confirm|make sure|ensure|"
    r"determine|"
    r"test|show (?:me|us)|show|explain(?: to (?:me|us))?|describe|clarify|i (?:do not|don't) (?:know|understand|get|"
    r"see)|"
    r"i forgot|not sure|(?:have|take) a look|look into|look up|investigate|look)(?: please)?(?: me| us)?(?: to see)? "
    rf"(?P<asked>(?:(?:in|on|by|at|from|to|for|since) )?{_QUESTION_WORD}\b.*|that .*)$"
)
_LOOKS = re.compile(r"^(?:(?:take|have) an? (?:\w+ )?look|look|review|go over|go through|read|inspect|audit)\b")
_ENSURES = re.compile(
    r"^(?:make sure|ensure|verify|confirm|double[- ]check|check|see to it) (?:that )?(?P<asked>(?:the |all |our |my |"
    r"every|it |this ).*)$"
)
_WHAT = re.compile(
    r"^(?:(?:in|on|by|at|from|to|for|since|under|of|with|until|after|before|through|into) )?"
    r"(?:where|what|which|who|whom|whose|why|how|when)\b"
)
_WHETHER = re.compile(
    r"^(?:is|are|was|were|am|does|did|has|had|can|could|will|would|should|shall|must|may|might|is n't|are n't|any|"
    r"anything|anyone|anybody|ever|whether|if (?:the|it|all|they|our|my|this)|do (?!a\b|an\b|not\b)|have (?!a\b|"
    r"an\b))\b"
)
# "Have the client retry twice" orders; "have the tests passed" asks.
_HAVE = re.compile(
    r"^have (?:the|our|it|all|every|this)\b(?!.*\b(?:\w+ed|been|gone|run|broken|written|made|done|any)\b)"
)
_FELT = frozenset("know want like think remember hear mean say believe need suspect guess assume wonder".split())
_NOT_ORDERS = re.compile(
    r"^(?:test|build|run|check|compile) (?:coverage|output|config|configuration|settings|status|time|times|log|logs|"
    r"failures?|errors?|server|badge|results?|cache|matrix|runner|helpers?|fixtures?|data|state|pipeline|workflow|"
    r"step)\b"
)
_WANTED = re.compile(
    r"^(?:(?:i|we)(?: would)?(?: really| just)* (?:like|want|need)|i would (?:love|prefer)) (?:the|a|an|all|our|my|"
    r"this|that|"
    r"every|x\w+|some|more|\w+s) .*\b(?:to (?:be|have|use|support|return|accept|become|do|log|go|take)|\w+ed|removed|"
    r"gone|instead|added)\b"
)
_OUGHT = re.compile(
    r"\b(?:should|ought to|needs? to|must|has to|have to|needs?) (?:not |really |now |also )?(?!know|see)[a-z]+"
)


_DONE = (
    r"(?:ran|run|built|build|fixed|fix|changed|change|added|add|"
    r"removed|remove|tested|compiled|checked|reviewed|explained)"
)


def _infinitive(match: re.Match[str]) -> str:
    """ "If you ran the tests" wants them run."""
    return f"{verb_base(match[1]) or match[1]} "


# Statements that order, and what is said after an order.
_MEANT = (
    (re.compile(r"^(?:(?:i|we) (?:am|are|was|were) )?looking for "), "find "),
    (re.compile(r"^(?:i|we) (?:can not|cannot|can't|could not|do not|did not) (?:seem to )?(?:find|locate) "), "find "),
    (
        re.compile(
            r"^(?:i|we) (?:do not|can not|cannot|did not|can't) (?:really |quite |fully )?(?:understand|get|follow) "
            r"(?=the |our |how |what |why |this |x)"
        ),
        "explain ",
    ),
    (re.compile(r"^give (.+) an? (?:\w+ )?(?:run|try|spin|whirl)$"), r"run \1"),
    (re.compile(r"^give (.+) an? (?:\w+ )?(?:look|review|once-over|read)$"), r"review \1"),
    (
        re.compile(rf"^.*\bif (?:you|someone|we) (?:could |would |can )?({_DONE}) (?=the |all |our |my |it |a |x)"),
        r"\1 ",
    ),
    (re.compile(rf"^({_DONE}) (?=the |all |our |my |it |a |x)"), _infinitive),
    (re.compile(r"^(?:do not|never) (?=[a-z]+ )(?!know|understand|see|think|worry|forget)"), "stop "),
    (
        re.compile(
            r" (?:for me|for us|if possible|thanks|thank you|right now|real quick|quickly|asap|when you can|now|once)$"
        ),
        "",
    ),
)


_TAG = re.compile(r"(?:right|correct|yes|no|ok|okay|true|or not|is it|is it not|are they|does it|do they|yeah|eh|huh)")


def clauses_of(text: str) -> list[Clause]:
    """The clauses of a message in order, each with its mood."""
    found: list[Clause] = []
    for part, mark in _parts(plain(text)):
        if found and "?" in mark and _TAG.fullmatch(part):  # "everything builds, right?"
            found[-1] = found[-1]._replace(mood=Mood.WHETHER)
            continue
        joined = part.startswith("or ")
        clause = _clause(part.removeprefix("or ").strip(), "?" in mark)
        if clause.text:
            found.append(clause._replace(joined=joined))
    return found


def plain(text: str) -> str:
    """The message in small letters, names replaced, mistyped words of questions put right."""
    text = _CODE_SPAN.sub(_span, text)
    text = _QUOTE.sub(f" {QUOTED} ", text)
    text = _PATH.sub(_placeholder, text)
    text = _FILE_NAME.sub(_placeholder, text)
    text = _IDENTIFIER.sub(_placeholder, text)
    if not text.isupper():
        text = _CAPITALS.sub(NAME, text)
    text = _FLAG.sub(OPTION, text).lower().replace("’", "'")
    text = re.sub(r"[a-z']+", lambda match: _put_right(match.group()), text)
    for spelling, usual in _SPELLINGS:
        text = spelling.sub(usual, text)
    return text


def _span(match: re.Match[str]) -> str:
    """What stands in backticks: a command says what is asked for, anything else is a name."""
    command = _COMMAND.match(match[1]) and (" " in match[1] or match[1] in _RUNNERS)
    return match[1] if command else f" {_kind(match[1])} "


def _placeholder(match: re.Match[str]) -> str:
    found = match.group()
    return found if _COMMAND.match(found) and not re.search(r"\.\w", found[2:]) else _kind(found)


def _kind(name: str) -> str:
    if _TESTING.search(name):
        return TEST_NAME
    return FILE if "/" in name or _FILE_NAME.fullmatch(name) else NAME


@cache
def _put_right(word: str) -> str:
    if word in _SHORT:
        return _SHORT[word]
    if len(word) < 4 or word in _KNOWN or word in STOP_WORDS or word in GENERIC or word in ORDERS or verb_base(word):
        return word
    if word.rstrip("s") in GENERIC or word.endswith(("'s", "'")):
        return word
    meant = [known for known in _KNOWN if len(known) > 3 and known[0] == word[0] and one_edit(word, known)]
    # A letter more or less at the end is another word more often than an error.
    # So is another letter: charge is no change, whole is not whose.
    meant = [known for known in meant if not known.startswith(word) and not word.startswith(known)]
    meant = [known for known in meant if len(known) != len(word) or sorted(known) == sorted(word)]
    return meant[0] if len(meant) == 1 and len(word) > 4 else word


def _parts(text: str) -> list[tuple[str, str]]:
    """Text and the sign that ends it: sentences, and parts of sentences between commas, colons and dashes."""
    pieces = re.split(r"((?:\.{2,}|[.?!;:…]+)(?=\s|$)|,(?=\s)|\s[-–—]+\s|\n+|[()])", text)
    return [
        (" ".join(piece.split()), mark)
        for piece, mark in zip(pieces[::2], [*pieces[1::2], ""], strict=True)
        if piece.strip(" '\"")
    ]


def _clause(text: str, asks: bool) -> Clause:
    text = _bare(text)
    wondered = _WONDERS.search(text)
    if wondered and not _LOOKS.match(text[: wondered.start()]):
        asked = re.sub(r"^(?:whether|if|that) ", "", wondered["asked"])
        mood = Mood.WHAT if asked == wondered["asked"] else Mood.WHETHER
        if _WHAT.match(asked):
            mood = Mood.WHAT
        return Clause(mood, asked)
    ensured = _ENSURES.match(text)
    if ensured and re.search(r"\b(?:pass|build|compile|green|work|succeed|typecheck)\w*", ensured["asked"]):
        return Clause(Mood.WHETHER, ensured["asked"])
    return Clause(_mood(text, asks), text)


def _bare(text: str) -> str:
    """Without greetings and politeness before what is asked or ordered."""
    text = re.sub(r"\b(?:please|kindly|pretty please)\b ?", "", text).strip(" '\"-*>")
    for spoken, order in _MEANT:
        text = spoken.sub(order, text)
    while True:
        shorter = re.sub(rf"^{_OPENERS}\b[\s,]*", "", text)
        if not re.match(r"^(?:if|that|whether)\b", text):
            shorter = re.sub(rf"^{_ASKED_TO}\b[\s,]+", "", shorter)
        shorter = (
            re.sub(r"^(\w+)ing (?=the |all |a |our |it\b|this |my |x)", _base, shorter) if shorter != text else shorter
        )
        if shorter in (text, ""):
            return text
        text = shorter


def _base(match: re.Match[str]) -> str:
    """ "Mind running the tests" orders to run them."""
    return f"{verb_base(match[1] + 'ing') or match[1] + 'ing'} "


def _mood(text: str, asks: bool) -> Mood:
    if _WHAT.match(text):
        return Mood.WHAT
    if _HAVE.match(text) and not asks:
        return Mood.ORDER
    if _WHETHER.match(text):
        return Mood.WHETHER
    first = text.partition(" ")[0].strip(",'")
    if _COMMAND.match(text) and not re.match(r"^(?:go|make|just|swift|mix|git) (?:to|through|over|a|the|is)\b", text):
        return Mood.ORDER
    if first in ORDERS and not _NOT_ORDERS.match(text):
        return Mood.ORDER
    if re.match(r"[a-z]+ (?:up|down|out|off|away|back) (?:the|our|all|my|this|these|every|x\w+)\b", text):
        return Mood.ORDER
    if first in VERBS - _FELT and re.match(
        r"\S+ (?:the|a|an|all|every|each|our|my|its|their|this|that|these|those|it|them|x\w+|only)\b", text
    ):
        return Mood.ORDER
    if _WANTED.match(text):
        return Mood.ORDER
    if asks:
        return Mood.WHETHER
    return Mood.STATEMENT


def is_wish(clause: Clause) -> bool:
    """ "I would like the timeout to be 5", "the default should be 30": a change that is wanted, not ordered."""
    return bool(_WANTED.match(clause.text)) or (clause.mood is Mood.STATEMENT and bool(_OUGHT.search(clause.text)))
