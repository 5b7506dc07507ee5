"""The words by which a heading tells what a reader would ask of it (specification 1, section 9).

Tables only. A facet is a heading that says which side of its subject follows ("Rollback" of a service), so it asks
nothing without that subject.
"""

from __future__ import annotations

import re

# Verbs that begin an instruction whatever follows.
_VERBS = (
    "abort add adopt allow annotate append apply approve archive assign attach authenticate authorize automate avoid "
    "begin bind bootstrap bring bump call capture change check choose clean clear clone close collect combine commit "
    "compare compile compose compute configure confirm connect consume contribute convert copy correct create "
    "customise customize debug declare decode decommission decorate define delay delete deploy deprecate describe "
    "design detect determine develop disable discover drain edit embed enable encode encrypt enforce ensure "
    "establish evaluate exclude execute expand export expose extend extract fetch find fix follow format generate "
    "get give grant handle hide identify ignore implement import improve include inherit initialise initialize "
    "inject insert inspect install integrate invalidate invite invoke isolate join keep launch learn listen load "
    "locate maintain make manage measure merge migrate mitigate mock modify mount move obtain omit onboard open "
    "operate optimise optimize organise organize override pack parse pass patch perform persist pick populate "
    "prepare prevent promote propose protect prove provide provision publish pull push put raise re-run read rebuild "
    "receive recover reduce refactor register reload remove rename render renew reopen repair replace reproduce "
    "request reset resize resolve restart restore restrict resume retrieve return reuse revert review revoke rewrite "
    "roll rotate run save scale schedule secure seed select send serialise serialize serve set share ship shut sign "
    "simulate skip sort specify split start stop store submit subscribe suppress switch sync synchronise synchronize "
    "tag take terminate track transform translate troubleshoot tune uninstall unregister update upgrade upload use "
    "validate verify wait watch work wrap write"
).split()
# Words that are as often a noun: an instruction only where an object follows that needs a verb before it.
_NOUNS_TOO = (
    "access answer audit backup benchmark block branch build cache comment control demand document download drop end "
    "escape exit fail fall filter fork group guard help hook host import index label land limit link list lock log "
    "lookup map mark match monitor name nest note order output page pin ping plan plug post preview print probe "
    "process profile prompt proxy query queue rank rate record redirect release report request respond result retry "
    "return review route sample scan schedule score search set share show sign stage step stream style support swap "
    "tag target template test trace transfer trigger type use value version view vote work"
).split()
VERBS = frozenset(_VERBS) - frozenset(_NOUNS_TOO)
NOUN_OR_VERB = frozenset(_NOUNS_TOO)
# After these a word that may be a noun is a verb: "Release a service", "Log to a file".
AFTER_A_VERB = frozenset(
    "a an the your our its their this that these those all any each every one new multiple several from to with into "
    "it them up down out back off".split()
)
# Nouns of which a preposition tells more: "Support for Windows", "Access to the database".
NOUNS_WITH_PREPOSITION = frozenset("support access control limit link index report map guard help".split())
# A gerund before one of these describes it: "Logging configuration" is a noun.
NOUNS_AFTER_GERUND = frozenset(
    "api apis approach architecture behavior behaviour behaviours channel checklist client "
    "configuration context convention conventions criteria default defaults details environment "
    "experience flow format framework goals guide guideline guidelines helpers "
    "instructions layer level levels library limits list log logic loop mechanism method middleware "
    "mode model modes notes options order page parameters philosophy pipeline plan point points policy practices "
    "principles process reference requirements rules section setup stages state "
    "stories strategies strategy style support system time tips tool tools tutorial types utilities "
    "workflow".split()
)

_VOWEL = re.compile("[aeiou]")
_DOUBLES = re.compile(r"^(?:[^aeiou]*[aeiou][bdglmnprt]|(?:re|un|sub|com|over)\w*[^aeiou][aeiou][bdgmnpt])$")
_NOT_DOUBLED = frozenset("listen open render answer alter edit limit visit profit order enter offer happen".split())


def gerund(verb: str) -> str:
    """`add` → `adding`, `write` → `writing`, `run` → `running`."""
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        return verb[:-1] + "ing"
    if _DOUBLES.match(verb) and verb not in _NOT_DOUBLED and verb[-1] not in "wxy":
        return verb + verb[-1] + "ing"
    return verb + "ing"


def _third(verb: str) -> str:
    if verb.endswith(("s", "x", "ch", "sh", "z", "o")):
        return verb + "es"
    if verb.endswith("y") and not _VOWEL.match(verb[-2:-1]):
        return verb[:-1] + "ies"
    return verb + "s"


GERUNDS = {gerund(verb): verb for verb in (*_NOUNS_TOO, *_VERBS)}
THIRD_PERSONS = {_third(verb): verb for verb in (*_VERBS, "own", "mean", "depend", "contain")}

# Heading → what it asks of its subject. `{x}` is the subject, `{is}` and `{does}` agree with it.
FACETS: dict[str, str] = {
    name: asked
    for names, asked in {
        "usage|basic usage|how to use|using it|use": "How do you use {x}?",
        "install|installation|installing|how to install": "How do you install {x}?",
        "setup|set up|setting up|getting started|quick start|quickstart|quick start guide": "How do you set up {x}?",
        "configuration|configure|configuring|config|settings|setup and configuration": "How do you configure {x}?",
        "options|available options|option": "Which options are there for {x}?",
        "parameters|arguments|params|inputs|input": "Which parameters {does} {x} take?",
        "properties|attributes|fields": "Which properties {does} {x} have?",
        "methods|functions": "Which methods {does} {x} have?",
        "events|emitted events": "Which events {does} {x} emit?",
        "hooks|lifecycle hooks": "Which hooks are there for {x}?",
        "commands|subcommands": "Which commands are there for {x}?",
        "return|returns|return value|return values": "What {does} {x} return?",
        "output|outputs": "What is the output of {x}?",
        "errors|exceptions|error codes|raises|throws": "Which errors can {x} give?",
        "error handling|handling errors|exception handling": "How are errors of {x} handled?",
        "troubleshooting|common problems|common errors|known problems|problems|debugging": (
            "What do you do when something goes wrong with {x}?"
        ),
        "known issues|known limitations|limitations|limits|caveats|constraints": "What are the limits of {x}?",
        "requirements|prerequisites|before you start|before you begin|preconditions|dependencies": (
            "What is needed before you use {x}?"
        ),
        "rollback|roll back|rolling back|how to roll back|revert|reverting": "How {is} {x} rolled back?",
        "deploy|deployment|deploying|deploying it|how to deploy|rollout|roll out": "How {is} {x} deployed?",
        "release|releasing|release process|releases": "How {is} {x} released?",
        "testing|tests|test|how to test": "How {is} {x} tested?",
        "monitoring|metrics|observability|dashboards|dashboard": "How {is} {x} monitored?",
        "alerts|alerting|alarms": "Which alerts are there for {x}?",
        "logging|logs": "Where do you find the logs of {x}?",
        "escalation|escalate|escalating|escalation path": "To whom do you escalate {x}?",
        "owner|owners|ownership|contact|contacts|team|maintainers|on call": "Who is responsible for {x}?",
        "verification|verify|verifying|validation|how to verify": "How do you verify that {x} worked?",
        "impact": "What is the impact of {x}?",
        "symptoms|symptom|detection": "What are the symptoms of a problem with {x}?",
        "cause|causes|root cause|root causes|common causes|possible causes": "What can cause {x}?",
        "diagnosis|diagnose|investigation|analysis": "How do you find the cause of {x}?",
        "mitigation|remediation|resolution|fix|recovery|recover|action|actions": "How do you resolve {x}?",
        "prevention|preventing it|follow up|follow-up": "How {is} {x} prevented from happening again?",
        "backup|backups|backup and restore": "How {is} {x} backed up?",
        "restore|restoring": "How {is} {x} restored?",
        "scaling|scale|capacity": "How {is} {x} scaled?",
        "performance|performance considerations": "What affects the performance of {x}?",
        "security|security considerations|permissions|authentication|authorization": (
            "What must be kept in mind about the security of {x}?"
        ),
        "migration|migrating|upgrade|upgrading|upgrade guide|migration guide": (
            "What has to change when you upgrade {x}?"
        ),
        "architecture|design|structure": "What is the architecture of {x} like?",
        "how it works|internals|under the hood|implementation": "How {does} {x} work?",
        "components": "Which components {does} {x} have?",
        "api|api reference|interface": "Which calls are there in the API of {x}?",
        "schema|data model|tables|format|file format": "What does the data of {x} look like?",
        "motivation|rationale|why|goals": "What is the reason for {x}?",
        "alternatives": "What are the alternatives to {x}?",
        "when to use|when to use it|use cases|when to use this skill|when to use this": "When {is} {x} used?",
        "when not to use|when not to use it": "When should {x} not be used?",
        "default|defaults|default values": "What are the defaults of {x}?",
        "environment variables|environment": "Which environment variables {does} {x} read?",
        "guidelines|conventions|rules": "Which rules are there for {x}?",
        "best practices|recommendations|tips": "What is recommended for {x}?",
        "steps|procedure|process|workflow|instructions": "What are the steps of {x}?",
        "checklist": "What is on the checklist for {x}?",
        "contributing|development|how to contribute": "How do you contribute to {x}?",
    }.items()
    for name in names.split("|")
}  # fmt: skip
# Facets that are a subject of their own where a whole page is named so.
OF_EVERYTHING = frozenset(
    "on call|testing|deployment|deploying|release process|releasing|monitoring|observability|alerting|logging|"
    "escalation|backups|scaling|authentication|authorization|error handling|validation|migration|"
    "configuration".split("|")
)
# Headings that ask nothing, not even with a subject.
SILENT = frozenset(
    "overview introduction intro about summary contents table of contents toc note notes see also further reading "
    "related more links resources references next steps license licence changelog changes credits acknowledgements "
    "acknowledgments thanks authors sponsors example examples demo misc miscellaneous other appendix conclusion "
    "index readme documentation docs general warning important tip info details description basics copyright "
    "unreleased added fixed removed deprecated bug fixes history status badges community support faq tl;dr tldr "
    "project links what's new highlights breaking changes improvements security policy code of conduct donate "
    "contributors team versions legal disclaimer preface foreword glossary topic topics concept concepts pattern "
    "patterns advanced basic complex general common extra additional frequently asked questions guide guides "
    "tutorial tutorials welcome opinions various different simple first further practical content things part parts "
    "stuff recipes recipe cookbook roadmap table features feature default background reference class classes method "
    "methods property properties constructor hands-on solution ecosystem quick start getting started answer answers "
    "question todo todos backlog ideas afterwards".split()
) | frozenset(
    "open questions|open issues|to do|"
    "read more|learn more|related links|full example|related documentation|related pages|additional resources|"
    "minimal example|basic example|api changes".split("|")
)
# Nouns of which one asks what they are here, not when they are used.
ABSTRACT = frozenset(
    "alternative architecture argument benefit capability caveat change code command consideration consequence "
    "downside constraint convention cost criterion criteria dependency detail difference exception expectation "
    "format goal guarantee guideline hierarchy idea improvement layout level lifecycle life-cycle limit limitation "
    "meaning motivation name option order parameter philosophy pitfall policy practice precedence principle priority "
    "property purpose reason recommendation requirement responsibility rest result risk rota rule schema semantics "
    "setting signature status stage step strategy structure symptom syntax term tip tradeoff trade-off type value "
    "variable version".split()
)
PROCESSES = frozenset("process workflow flow lifecycle life-cycle procedure pipeline cycle algorithm mechanism".split())
TROUBLE = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure|ures)?|time[sd]? ?out|refused|crash(?:es|ed)?|denied|not found|cannot|can't|unable|"
    r"missing|stuck|slow(?!\s+\w)|is down|unavailable|unreachable|broken|leak(?:s|ing)?|exceeded|rejected|expired|"
    r"corrupt(?:ed)?|does(?: not|n't)|won't|not working|out of (?:memory|disk|space)|outage)\b",
    re.IGNORECASE,
)
# With one of these a trouble is told in a sentence of its own: "the build fails".
TROUBLE_CLAUSE = re.compile(
    r"\b(?:fails|failed|times? out|timed out|crash(?:es|ed)|cannot|can't|is|are|does|doesn't|won't|keeps?|was|were)\b",
    re.IGNORECASE,
)
TROUBLE_MESSAGE = re.compile(r"\b(?:refused|denied|not found|exceeded|rejected|expired)$", re.IGNORECASE)
TROUBLE_PAGES = frozenset(
    "troubleshooting|common problems|common errors|known issues|known problems|problems|errors|error messages|faq|"
    "debugging|incidents|alerts|failure modes|gotchas".split("|")
)
