"""The intent of a message, by a short table of forms (specification 3, part IV: intents).

The first row that fits decides; without one the message asks where something is. The table is the fallback of a model
that reads the question: it knows the common forms of English, and no more.
"""

from __future__ import annotations

import re

from knowbound.core.evidence import EvidenceClass, Intent, Requirement, Shows, requirements_of

_LONGEST = 4000  # characters that are read
_LEAD = (
    r"^\W*(?:please |kindly |now |then |and |also |can you |could you |would you |let's |we should |i want you to )*"
)
_ORDERS = (
    "add|change|fix|rename|remove|delete|replace|implement|create|write|update|move|refactor|make|set|bump|convert|"
    "upgrade|drop|extract|introduce|improve|revert|merge|commit|increase|reduce|disable|enable|rewrite|port|migrate|"
    "clean up|simplify|split|install|edit|adjust|apply|put|insert|document|finish|undo|format"
)
_CI = r"\b(?:ci|pipelines?|workflows?|github actions?|nightly)\b"
_BUILD = r"\b(?:build|builds|compiles?|type.?checks?|type errors?)\b"
_TESTS = r"\b(?:tests?|test suite|suite|specs?)\b"
_RESULT = r"\b(?:pass(?:es|ed|ing)?|fail(?:s|ed|ing|ures?)?|green|red|broken|work(?:s|ing)?|break(?:s|ing)?)\b"
_STATE = r"\b(?:green|red|pass(?:es|ed|ing)?|fail(?:s|ed|ing)?|finished|running|status|broken|done)\b"
_WHY = r"\b(?:why|how come|what (?:broke|made|caused|is wrong|went wrong)|cause of|reason)\b"
_FAILS = r"\b(?:fail\w*|red|broken?|breaks?|breaking|error\w*|crash\w*)\b"
_NOT_ASKED = r"(?!.*\b(?:where|which file|who|how does|how do)\b)"
_PROJECT = (
    r"\bwhat (?:kind|sort|type) of (?:project|repo|code)|^\W*what is this (?:project|repo|code ?base|repository)\b"
)
# The first row that fits decides.
_TABLE: tuple[tuple[Intent, re.Pattern[str]], ...] = tuple(
    (intent, re.compile(form, re.I | re.S))
    for intent, form in (
        (Intent.CHAT, r"^\W*$"),
        (
            Intent.CHAT,
            r"^\W*(?:hi|hello|hey|thanks?|thank you|thx|ok|okay|great|nice|cool|perfect|yes|yep|no|nope|bye|sorry|"
            r"good (?:morning|job|work)|got it|sounds good|never ?mind)\b[^?]{0,40}$",
        ),
        (Intent.CHAT, r"^\W*(?:how are you|who are you|what can you do|what's up)\b.{0,20}$"),
        (Intent.DIAGNOSE, rf"{_WHY}.*(?:{_CI}|{_BUILD}|{_TESTS}|\bjobs?\b).*{_FAILS}"),
        (Intent.DIAGNOSE, rf"{_WHY}.*{_FAILS}.*(?:{_CI}|{_BUILD}|{_TESTS}|\bjobs?\b)"),
        (Intent.EXECUTE, rf"{_LEAD}(?:run|build|compile|execute|test)\b(?! (?:out|into))"),
        (Intent.STATUS, rf"^{_NOT_ASKED}.*(?:{_CI}.*{_STATE}|{_STATE}.*{_CI})"),
        (Intent.EXECUTE, rf"^{_NOT_ASKED}\W*(?:does|do|will|can|is|are|any|check whether|still)\b.*{_BUILD}"),
        (Intent.EXECUTE, rf"^{_NOT_ASKED}.*(?:{_TESTS}.*{_RESULT}|{_RESULT}.*{_TESTS})"),
        (Intent.MODIFY, rf"{_LEAD}(?:{_ORDERS})\b"),
        (Intent.EXPLAIN, r"^\W*how (?:do|does|did|is|are)\b"),
        (
            Intent.STATUS,
            r"\b(?:(?:last|latest|newest|recent|previous|which|what|first) (?:\d+ )?(?:commits?|change)\b|since when\b|"
            r"when (?:was|were|did|has)\b|who was the last\b|git (?:log|status|blame|history)\b|uncommitted|untracked|"
            r"who (?:last |first )?(?:wrote|added|changed|modified|introduced|removed|fixed|touched|broke|edited)\b|"
            r"(?:work(?:ing)?[ -]?|source )tree\b.*\b(?:clean|dirty)|\bis .*\b(?:tree|repo\w*|checkout)\b.*"
            r"\b(?:clean|dirty)|(?:which|what|current) branch|changed (?:since|between|lately|recently)|"
            r"(?:commits?|history) (?:of|to|about|by|since|for)\b|in (?:which|what) (?:release|version|commit)\b|"
            r"(?:which|what) (?:release|version) (?:added|introduced|removed|dropped|has)\b|"
            r"happened (?:recently|lately|since)|what (?:has )?changed\b)",
        ),
        (Intent.EXPLAIN, _PROJECT),
        (
            Intent.LOCATE,
            r"^\W*(?:where|which|in what)\b.*\b(?:defined|declared|implemented|defines|declares|implements)\b",
        ),
        (Intent.COMPARE, r"\b(?:compare|difference|differ|differs|versus|vs\.?|contrast)\b"),
        (Intent.REVIEW, rf"{_LEAD}(?:review|audit|critique|look over|take a look at|check)\b|\bcode review\b"),
        (Intent.REVIEW, r"^\W*is .*\b(?:thread.?safe|re-?entrant|correct|secure|idempotent)\W*$"),
        (Intent.NAVIGATE, rf"{_LEAD}(?:open|go to|jump to|take me to|show me the file)\b"),
        (
            Intent.NAVIGATE,
            r"\b(?:callers?|call sites?|uses|users|references) (?:of|to)\b|\bwhere\b.*\b(?:called|used|imported)\b|"
            r"\b(?:who|what|which \w+)\b.*\b(?:calls|imports|depends on|if i (?:rename|change|remove)d?)\b",
        ),
        (Intent.NAVIGATE, r"^\W*(?:who|what|which \w+) (?:else )?(?:uses|use|call|import|depend)\b"),
        (Intent.EXPLAIN, r"^\W*(?:and |so )?(?:why|explain|describe|summari[sz]e|walk me|tell me (?:how|why|about))\b"),
        (Intent.EXPLAIN, r"\bhow\b (?!many|much|long|often|old|big|large|far|soon|late|frequently|high)"),
        (
            Intent.EXPLAIN,
            r"\bwhat (?:does|do|happens|is an?|is the (?:purpose|point|role|idea))\b|\bwhy (?:is|are|does|do)\b",
        ),
    )
)
_IMPERATIVE = re.compile(rf"{_LEAD}(?:run|build|compile|execute|test)\b", re.I)


def intent_of(text: str) -> Intent:
    """Return the intent of a message."""
    text = " ".join(text[:_LONGEST].split())
    return next((intent for intent, form in _TABLE if form.search(text)), Intent.LOCATE)


def evidence_needed(text: str, intent: Intent) -> tuple[Requirement, ...]:
    """Return the evidence that answers a message: the row of its intent, or only the classes that it names.

    "Is CI green" is a status that no log of commits knows, "does it compile" needs no test run. Either result answers a
    question; an order is carried out only if the run passes.
    """
    low = text[:_LONGEST].lower()
    if intent is Intent.STATUS and re.search(_CI, low) and not re.search(r"\bcommits?\b", low):
        return requirements_of(intent, (EvidenceClass.CI_WORKFLOW,))
    if intent is Intent.EXPLAIN and re.search(_PROJECT, low):  # "what kind of project is this"
        return requirements_of(intent, (EvidenceClass.DISCOVERY,))
    if intent is not Intent.EXECUTE:
        return requirements_of(intent)
    named = [cls for cls, form in ((EvidenceClass.BUILD, _BUILD), (EvidenceClass.TEST, _TESTS)) if re.search(form, low)]
    shows = Shows.PASSES if _IMPERATIVE.match(low) else Shows.NOTHING
    return requirements_of(intent, named, shows)
