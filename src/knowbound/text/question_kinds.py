"""What a clause wants, by its grammar: the order's verb with its object, or what a question says of what.

A keyword decides nothing alone. "Where do we run the tests" asks where; "the build module's tests" are tests; a
pipeline is one of CI only where something is said of it that is said of runs (green, failed, finished).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowbound.core.evidence import QuestionKind as Kind
from knowbound.text.clauses import TEST_NAME, TOOLS, Clause, Mood
from knowbound.text.question_words import CHANGES, COMPARES, DIAGNOSES, EXPLAINS, FINDS, REVIEWS, RUNS


def _rule(form: str) -> re.Pattern[str]:
    return re.compile(form)


# Things that run, and what is said of them.
_TESTS = rf"(?:\w*tests?|\w*test ?suites?|test cases?|suites?|specs?|\w*unittests?|doctests?|{TEST_NAME}|pytest|jest|vitest|ctest|rspec|e2e)"
_PLATFORM = (
    r"(?:nightly|windows|macos|mac|osx|linux|ubuntu|alpine|arm64|ios|android|lint|linter|deploy|deployment|release|"
    r"build|"
    r"test|tests|docs|docker|publish|publishing|e2e|matrix|coverage|fastlane|integration|unit|style|format|formatting|"
    r"benchmark|smoke|staging|canary|validation|ci|required|scheduled|pr|merge|security|cron|packaging|codeql)"
)
_CI = (
    r"(?:\bci\b|\bpipelines?\b|\bworkflows?\b|github-actions|\bnightl(?:y|ies)\b|\bjenkins\b|\btravis\b|\bcircleci\b|"
    r"\bgitlab\b|\bbuildkite\b|\bteamcity\b|\bbuild (?:server|machine|farm|bot|agent)s?\b|\bmerge queue\b|\bbadges?\b|"
    rf"\bchecks\b|\b{_PLATFORM} (?:jobs?|runs?|stages?|checks?|legs?)\b|"
    r"\b(?:the|our|ci|this|that) (?:ci )?runner\b|\blast (?:\w+ )?(?:jobs?|run)\b|\blatest (?:\w+ )?(?:jobs?|run)\b)"
)
_ON_CI = (
    r"(?:\b(?:on|in|by|under|through) (?:the |our )?(?:ci|pipeline|github-actions|github|gitlab|jenkins|travis|"
    r"circleci|"
    r"buildkite|nightly|build (?:server|machine|farm)|server|merge queue)\b|\b(?:for|of|on|with|after) (?:the|my|our|"
    r"this|that) "
    r"(?:(?:last|latest|newest|most recent|previous|current|open) )?(?:push|pr|pull request|merge request|mr)\b)"
)
_GOOD = (
    r"(?:green|pass(?:es|ed|ing)?|succe(?:ed|eds|eded|eding|ss|ssful|ssfully)|(?:go|goes|went|gone|going|get|gets|come|"
    r"make it|"
    r"made it) (?:all )?through|happy|healthy|okay|ok|fine|good)"
)
_BAD = (
    r"(?:fail(?:s|ed|ing|ures?)?|broken?|broke|breaks?|breaking|red|crash(?:es|ed|ing)?|flaky|hang(?:s|ing)?|hung|"
    r"stuck|"
    r"tim(?:e|es|ed|ing) out|timeouts?|time-?outs?|(?:keeps? )?dying|die[sd]?|bl(?:ow|ows|ew|own|owing) up|blowing up|"
    r"errors? out|errored|erroring|explod\w+|abort(?:s|ed|ing)?|chok\w+|barf\w*|bomb(?:s|ed|ing)?|unhappy|"
    r"(?:fall|falls|fell|fallen|falling) over|(?:not|never|no longer|does not|do not|did not|will not) (?:pass\w*|"
    r"succeed|go through|"
    r"work(?:s|ing)?|green|build|compile|start)|say otherwise|cancell?ed|trip(?:s|ped|ping)? over|unsuccessful|borked|"
    r"complain(?:s|ed|ing)?)"
)
_GOING = r"(?:running|finish(?:ed|es)?|done|complet(?:e|ed|es)|in progress|queued|pending|started|over|ended|still going|run)"
_RAN = rf"(?:{_CI}|\bbuilds?\b|\b(?:cross)?compil(?:e|ation|ing)\b|\b{_TESTS}\b|\blint(?:er|ing)?\b|\bdeploy(?:ment|s)?\b|\brelease\b|\bmerge\b)"
# A run that fails: "the windows job keeps dying", "failing tests", "the deploy workflow blow up".
_FAILURE = _rule(
    rf"{_RAN}(?! (?:client|helper|runner|server|mode|handler|hook|callback)s?\b)(?:\W+[\w'.-]+){{0,7}}?\W+{_BAD}\b|"
    rf"\b(?:failing|failed|broken) (?:step|stage)s?\b|\b(?:failing|failed|broken|red|flaky|crashed|"
    rf"cancell?ed) (?:\w+ )?(?:{_RAN})|\b(?:failures?|errors?) (?:in|of|on|from|with) (?:the |our )?(?:\w+ )?{_RAN}|"
    rf"\b(?:broke|breaks|breaking|broken|failed|fail|crashed|killed|tripped|stopped|red) (?:in |on )?(?:the |our |my |"
    rf"all |this )?(?:\w+ ){{0,2}}?(?:{_RAN})"
)
_CAUSE = _rule(
    r"\bwhy\b|\bhow come\b|\bwhat (?:has |is |was |could have |would |might have )?(?:caus\w+|made|makes|making|broke|"
    r"breaks|breaking|"
    r"killed|kills|turned|tripped|went wrong|goes wrong|happened|wrong|up with|failed|failing|fails)\b|\breasons?\b|"
    r"\bcaus(?:e|es|ed|ing)\b|"
    r"\bculprit\b|\bbecause of\b|\bdue to\b|\bwhich (?:\w+ )?(?:step|job|stage|part|check|workflow|leg)s? (?:of .* |"
    r"in .* |on .* |did |has |have |is |was |"
    r"it was that )?(?:fail|broke|break|crash|die|red)|\bwhat (?:is|was|were) the (?:\w+ )?(?:error|failure|problem|"
    r"issue|matter|failing|failed|broken)|\bfailing (?:step|job|stage)\b|"
    r"\bwhat is (?:it|wrong|going on|the matter|up)\b|\bwhat changed that\b|\bwhere (?:did|does|has|is) (?:it|the \w+|"
    r"our \w+|ci|x\w+) (?:\w+ )?(?:fail|break|broken|failing|die|crash)(?:$| (?:on|in|and|this|today|last)\b)|"
    r"\bexplain\b|\bwhat .*\b(?:makes?|made|making|caus\w+|let|lets|sent)\b"
)
_SAID_GREEN = _rule(
    rf"{_CI}(?:\W+[\w'.-]+){{0,8}}?\W+(?:{_GOOD}|{_BAD}|{_GOING}|clean)\b|"
    r"\b(?:main|master|trunk|develop|head|everything|anything|something|it|all|branch|builds?|pr|push|commit|"
    r"pull request|tip) (?:\w+ ){0,3}?(?:green|red)\b|"
    rf"\b(?:green|red|failing|failed|broken|successful) (?:\w+ )?(?:{_CI}|builds?\b|jobs?\b|runs?\b|checks?\b)|"
    rf"\b(?:pass|passed|passing|fail|failed|broke|break|clear|cleared|make it through|through|survive|"
    rf"survived)\b.*{_CI}|\b(?:status|state|result|results|outcome) (?:of|on|for|in) .*(?:{_CI}|\bbuild\b|\brun\b)|"
    rf"{_CI} (?:status|state|result|results|health|outcome)\b|\bbuild (?:status|badge)\b|{_CI} (?:\w+ ){{0,2}}?(?:say|"
    rf"says|said|reports?|shows?|thinks?)\b|\bhow (?:is|are|did|does) .*(?:{_CI}|\bbuild\b|\bruns?\b).*\b(?:do|doing|"
    rf"look|looking|go|going|today)\b|"
    rf"\b(?:green|red) (?:on|in) .*(?:{_CI}|\bmain\b|\bmaster\b)|\b(?:turn|turned|go|gone|went|going|come|came|"
    rf"back) (?:all )?(?:green|red)\b"
)
_OF_CI = _rule(
    rf"^(?:\w+ ){{0,4}}?(?:ci|pipelines?|workflows?|badges?|nightly|jenkins|travis|circleci|gitlab|buildkite|"
    rf"github-actions|{_PLATFORM} jobs?)\b|"
    r"\b(?:ci|workflow|pipeline|job)\b"
)
_RAN_BEFORE = _rule(
    r"^(?:did|has|have|was|were|is)\b.*\b(?:builds?|runs?|jobs?|deploy|deployment|release|push|pr|pull request|merge|"
    r"checks?|nightly|everything|it)\b"
    r".*\b(?:pass|passed|succeed(?:ed)?|go (?:out|ok|well|live)|go through|gone through|go green|finish(?:ed)?|"
    r"fail(?:ed)?|complete[d]?|break|broken|"
    r"successful|green|red|done|deployed|published|good)\b"
)
_BUILD_VERB = r"(?:(?:cross|re)?build|(?:cross|re)?compile|link|typecheck|bundle|transpile)"
_AFTER_VERB = (
    r"(?=$| (?:with|on|in|under|after|against|for|from|without|cleanly|fine|ok|okay|again|at|right|now|as|if|when|"
    r"locally|"
    r"today|since|and|or|yet|anymore|at all|correctly|successfully|properly|using|out of|here|all|everywhere|once|"
    r"because)\b)"
)
_COMPILES = _rule(
    rf"^(?:do|does|did|will|would|can|could|should|is|are|whether|if|that)?\b.*\b(?:{_BUILD_VERB}s?){_AFTER_VERB}|"
    rf"^(?:is|are|can|could|will) .*(?<!before )(?<!after )(?<!when )(?<!while )(?<!for )\b(?:building|compiling|"
    rf"linking|typechecking|built|compiled|buildable|compilable|typechecked){_AFTER_VERB}|"
    r"\b(?:buildable|compilable)\b|\b(?:compiler|compile|compilation|type|typing|build|linker|link|syntax|mypy|tsc|"
    r"clippy|lint|linter) (?:errors?|warnings?|problems?|issues?|complaints?)\b|"
    rf"\b(?:mypy|tsc|pyright|clippy|(?:the )?compiler|(?:the )?type ?checker|gcc|clang|rustc|javac|"
    rf"(?:the )?linker) (?:\w+ )?(?:{_GOOD}|{_BAD}|accepts?|clean|likes?|reports?|finds?)\b|"
    r"\b(?:break|broke|broken|breaks|hurt) (?:the |our |my )?(?:build|compilation|compile|typing|types)\b|\b(?:build|"
    r"compilation|compile) (?:\w+ )?(?:pass(?:es)?|succeeds?|works?|working|broken|clean|ok|okay|fine|fails?|failing|"
    r"breaks?|intact|possible)\b"
)
_TREE = _rule(
    r"\b(?:uncommitted|unstaged|staged|untracked|unpushed|unmerged|stash(?:ed|es)?|dirty|git status|merge conflicts?|"
    r"conflict markers?|unresolved conflicts?|rebas(?:e|ing)|detached head|bisect(?:ing)?|cherry-?pick(?:ing)?|"
    r"(?:working|work) (?:tree|copy|directory)|worktree|(?:local|pending|unsaved) (?:edits?|changes|modifications|"
    r"commits?)|modified files|"
    r"ahead of|behind (?:origin|upstream|main|master|remote)|up to date with|up-to-date with|(?:my|the current|"
    r"current) diff)\b|"
    r"\b(?:which|what|current|right|wrong) branch\b|\bon (?:which|what) branch\b|\b(?:i|we|it|checkout|repo|clean|"
    r"still|actually) (?:and )?on (?:the )?(?:main|master)(?: branch)?$|\b(?:left|have|need|anything|something|"
    r"commits?|still) (?:i |we )?(?:have |need )?to (?:push|commit|stage)\b|"
    r"\b(?:not|never|n't) (?:yet |been |been yet )?(?:committed|pushed|staged|checked in)\b|\b(?:edited|changed|"
    r"modified|touched) but\b|"
    r"\bforg[eo]t(?:ten)? to (?:commit|push|add|stage)\b|\b(?:have|did|'ve) (?:i|we) (?:just |already |actually |left |"
    r"even )*(?:changed?|edit(?:ed)?|touch(?:ed)?|modif(?:y|ied)|left|commit(?:ted)?|push(?:ed)?|stash(?:ed)?|staged?|"
    r"check(?:ed)? in)\b|"
    r"\b(?:repo|repository|checkout|tree|workspace|branch|clone) (?:\w+ ){0,2}?clean\b|\bclean (?:checkout|tree|repo|"
    r"repository|clone|workspace|state)\b|"
    r"\b(?:status|state) of (?:the |this |my |our )?(?:\w+ )?(?:repo|repository|tree|branch|checkout|clone|index)\b|"
    r"\bmiddle of a (?:merge|rebase|bisect)\b|"
    r"\bin sync with\b|\bwhere am i\b|\bchanges (?:that are |which are )?(?:not|waiting|"
    r"ready) (?:yet )?(?:to be )?(?:committed|commit)\b|^(?:git )?status$|\bwhat (?:is|would be) (?:in|on) (?:the |"
    r"my )?(?:index|stash|diff)\b"
)
_CHANGED = (
    r"(?:add(?:ed)?|introduc(?:ed?|ing)|creat(?:ed?)|remov(?:ed?)|delet(?:ed?)|drop(?:ped)?|renam(?:ed?)|chang(?:ed?)|"
    r"modif(?:y|ied)|"
    r"touch(?:ed)?|edit(?:ed)?|wrote|written|rewrote|rewritten|updat(?:ed?)|upgrad(?:ed?)|bump(?:ed)?|mov(?:ed?)|"
    r"replac(?:ed?)|revert(?:ed)?|"
    r"refactor(?:ed)?|commit(?:ted)?|author(?:ed)?|releas(?:ed?)|merg(?:ed?)|fix(?:ed)?|broke|landed?|switch(?:ed)?|"
    r"migrat(?:ed?)|deprecat(?:ed?)|"
    r"rais(?:ed?)|lower(?:ed)?|increas(?:ed?)|decreas(?:ed?)|reduc(?:ed?)|split|extract(?:ed)?|ported?|rework(?:ed)?|"
    r"disabled?|enabled?|"
    r"appear(?:ed)?|disappear(?:ed)?|vanish(?:ed)?|shipped?|published?|tagged|start(?:ed)?|stop(?:ped)?|get|become|"
    r"became|came|come|went|go|turned?|patched|implemented|dropped|worked on)"
)
_RECENTLY = r"(?:recently|lately|recent|latest|since|yesterday|today|last (?:week|month|year|night|release|version|time|\w+day)|this (?:week|month|year)|past (?:few )?(?:week|month|year|day)s?|these days|over time|so far)"
_HISTORY = _rule(
    rf"^(?:(?:in|by|with|on|at|from|since) )?(?:which|what) (?:\w+ )?(?:commits?|revisions?|releases?(?! of\b)|"
    rf"versions?(?! of\b)|pull requests?|prs?|tags?|change ?sets?|author|people|person|developers?|"
    rf"contributors?)\b(?!.*\b(?:parser|class|helper) do\b)|"
    rf"^(?:by )?whom?\b(?: \w+ly)?(?: (?:first|last|originally|initially|recently|else|has|have|had|was it|"
    rf"the hell))* {_CHANGED}\b|\bwhose (?:commit|change|idea|code)\b|^who is (?:the author|behind|to blame|"
    rf"responsible)\b|"
    rf"^(?:since )?when (?:was|were|did|has|have|had|exactly|do we|is the last)\b.*|^since when\b|"
    rf"^(?:why|how come) (?:was|were|has|have|had|did (?:we|they|you|someone|somebody|he|she|anyone|x\w+|"
    rf"the team))\b.*\b{_CHANGED}\b|"
    rf"\bwhat (?:has |have |had |is |was |were |got |else |all |exactly |even )*(?:changed|merged|shipped|released|"
    rf"added|removed|been (?:going on|happening|changed|done|added|removed)|happened|new|moved|landed|"
    rf"going on)\b.*\b(?:{_RECENTLY}|in|to|with|between|since|from|of|on)\b|"
    rf"^what (?:has )?changed\b|^what (?:is|was) new\b|^what happened (?:to|with|in)\b|^what (?:did|has|"
    rf"have) .*\b(?:commit|release|change|contribute|work on|do|done|been)\b.*|"
    rf"\b(?:last|latest|newest|most recent|previous|recent|first|initial|oldest) (?:\w+ ){{0,2}}?(?:commits?|changes?|"
    rf"edits?|work|activity|release|version|tag|modifications?|refactor\w*|author|fix(?:es)?)\b|"
    rf"\b(?:git|commit|version|change|release|file) ?(?:log|history|blame|messages?)\b|\bhistory of\b|"
    rf"\bcommits? (?:that|about|message|hash|id|sha|by|to|for|on|since|mention\w*|touch\w*|which|where)\b|\bblame\b|"
    rf"^(?:has|have|did|was|were) (?!i\b|we\b)(?:.*\b)?(?:ever |recently |lately )?{_CHANGED}\b.*\b(?:ever|{_RECENTLY}|"
    rf"in (?:v|version|release|\d)|by (?:\w+))\b|^(?:has|have|did) (?:anyone|anybody|someone|"
    rf"somebody)\b.*\b{_CHANGED}\b|"
    rf"^was .*\b{_CHANGED}\b|^how (?:has|have|did) .*\b(?:evolv\w+|chang\w+|grow\w*|come about|develop\w*|get here)\b|"
    rf"^how (?:old|long ago|long has|long have|many commits|recent)\b|"
    rf"\b(?:last|recently) (?:changed|modified|touched|edited|updated|committed|released)\b|\b(?:author|authors) of\b"
)
_HISTORY_NOUN = _rule(
    r"^(?:the |any |all |our |my |\d+ )*(?:last|latest|recent|newest|first|git|commit|commits|history|changes?|"
    r"changelog|work|activity)\b"
)
_USING = (
    r"(?:us(?:e|es|ing)|call(?:s|ing)?|invok(?:e|es|ing)|import(?:s|ing)?|referenc(?:e|es|ing)|depend(?:s|"
    r"ing)?(?: on)?|rel(?:y|ies|ying)(?: on)?|"
    r"consum(?:e|es|ing)|instantiat(?:e|es|ing)|inherit(?:s|ing)?(?: from)?|subclass(?:es|ing)?|extends?|reach(?:es)?|"
    r"hits?|mentions?|refers? to|includes?|touch(?:es)?|go(?:es)? through)"
)
_USED = r"(?:used|called|invoked|referenced|imported|consumed|instantiated|needed|relied on|depended on|reached|subclassed|called from)"
_SOMEONE = (
    r"(?:who(?: else)?|what(?: else| all)?|anyone|anybody|anything|something|someone|nobody|everything|everyone|"
    r"everybody|"
    r"(?:which|what|all|any|other|the|how many) (?:\w+ ){0,3}?(?:\w+s|code|file|module|class|function|method|component|"
    r"part|place|package|test|caller|piece|handler|script|service|else))"
)
_CALLERS = _rule(
    rf"^(?:is|are|does|do|has|have|can|will|did)?\s*(?:there )?{_SOMEONE}(?: in .*?| of .*?| outside .*?| inside .*?|"
    rf" under .*?| that| who| which| still| even| actually| currently| really| directly| indirectly| ever| else|"
    rf" end up| ends up| ended up| would| might| we have)*(?: \w+ly)? {_USING}\b|"
    rf"^(?:where|who|how|is|are|from where|by whom|do we|does)\b.*\b(?:is|are|gets?|be|being|still|ever|even|actually|"
    rf"x\w+|ever|currently|really|\w+) (?:\w+ly )?{_USED}\b(?! (?:to|for)\b)|"
    rf"^(?:where|do|does|did|how often|when|why)\b.*\b(?:we|you|they|i|the code|anyone) (?:still |even |ever |"
    rf"actually |really |currently )*{_USING} (?!(?:a|an|any|to)\b)|^(?:who|what|which \w+) (?:is|are) (?:still |even |"
    rf"currently |actually )*{_USING}\b|"
    rf"\b{_USED} (?:anywhere|by (?:anyone|anything|any|whom)|elsewhere|somewhere)\b|"
    r"\breferences? to\b|\b(?:callers?|usages?|call ?sites?|uses|consumers?|users|dependents|importers|subclasses|"
    r"implementers?) (?:of|for|to|in)\b|\b(?:callers?|usages?|call ?sites?|dependents|importers)\b$|"
    r"\b(?:break|breaks|affected|impacted|change|changes|happens?|fall apart|stop working)\b.*\b(?:if|when|by|"
    r"once) (?:i|we|you|someone|one)? ?(?:were to |was to |would )?(?:renam|chang|remov|delet|mov|touch|edit|drop|kill|"
    r"rip)\w*|"
    r"\bif (?:i|we|you|someone) (?:were to )?(?:rename|change|remove|delete|move|touch|edit|drop)(?:d|ed|ped)?\b|"
    r"\bsafe to (?:remove|delete|drop|rename|kill|change)\b|\b(?:can|could|may|should) (?:i|we) (?:safely )?(?:remove|"
    r"delete|drop|kill|get rid of)\b|"
    r"\b(?:dead code|unused|blast radius|impact of (?:chang|renam|remov|delet))\w*|\bwhat .*\bdepends? on\b|"
    r"\beverything that\b.*\b" + _USING + r"\b|\bwho needs\b"
)
_IF_CHANGED = _rule(
    r"\bif (?:i|we|you|someone) (?:were to )?(?:rename|change|remove|delete|move|touch|edit|drop)(?:d|ed|ped)?\b"
)
_JUDGED = (
    r"(?:safe|correct|right|wrong|secure|insecure|sound|idiomatic|robust|re-?entrant|idempotent|racy|sane|sensible|"
    r"good|bad|efficient|"
    r"thread-?safe|leaky|vulnerable|reasonable|well[- ]written|production[- ]ready|overkill|overengineered|bug-?free|"
    r"solid|clean|readable|maintainable)"
)
_FLAWS = (
    r"(?:bugs?|problems?|issues?|races?|race conditions?|leaks?|leakage|vulnerabilit(?:y|ies)|flaws?|smells?|"
    r"weak(?:nesses| spots?)|"
    r"pitfalls?|holes?|concerns?|deadlocks?|mistakes?|off-by-one|edge cases?|injection|improvements?|antipatterns?|"
    r"security)"
)
_REVIEW = _rule(
    rf"^(?:is|are|was|were|does|do|will|would|can|could) .*\b{_JUDGED}\b(?! (?:place|file|module|way to))|^(?:any|"
    rf"are there|is there|do you see|can you see|see|spot|have we got)\b.*\b{_FLAWS}\b(?! (?:open|tracker|template))|"
    rf"\b(?:go|goes|went) wrong\b|\bworr(?:y|ies|ied|ying)\b|\bany good\b|\b(?:what|how) (?:do|would) you (?:think|"
    rf"feel|rate|improve|judge|do differently)\b|\b(?:your|an?|second) (?:opinion|thoughts?|review|critique|"
    rf"critical look|hard look|close look|second look)\b|"
    rf"\b(?:looks?|seems?) (?:right|ok|okay|good|sane|fishy|wrong|off|correct|reasonable|fine|sound|suspicious|safe)\b|"
    rf"\bwhat is wrong (?:with|in)\b|\b(?:how|what) (?:good|bad|could be (?:better|improved)|can be improved)\b|"
    rf"^what (?:\w+ )?{_FLAWS}\b|\bwhat are the {_FLAWS}\b|"
    rf"^(?:can|could) .*\bever\b|\bcode review\b|\bpoke holes\b|\btear (?:\w+ )*apart\b|\b(?:hunt|look|search|scan|"
    rf"check|comb)(?:ing)? .*\bfor (?:\w+ ){{0,3}}?{_FLAWS}\b|\b(?:find|spot|list|identify|point out|"
    rf"show)\b (?:me )?(?:any |the |all |some |obvious |potential |possible |\w+ ){{0,3}}{_FLAWS}(?: (?:in|with|of|"
    rf"not)\b|$)|\bcritical(?:ly)? look\b|\blook critically\b|"
    r"\bfeedback on\b|\bsanity[- ]check\b"
)
_COMPARE = _rule(
    r"\b(?:difference|differences|distinction|similarit(?:y|ies))\b|^(?:(?!\b(?:if|when|whether|at which|avoid|"
    r"detect)\b).)*\b(?:differ|differs|differing|diverges?|diverging)\b|\bdiff between\b|\bdistinguish\w*\b.*\b(?:from|"
    r"and)\b|\b(?:versus|vs\.?)(?: |$)|"
    r"\bcompared? (?:to|with|against)\b|\bdifferent (?:from|than|to)\b|^(?:is|are|was|do|does|"
    r"so is) .*\bthe same (?:thing|as)\b(?! over)|\b(?:are|is|do|does) .* and .*\b(?:the same|identical|equivalent|"
    r"interchangeable|alike|different|related)\b|"
    r"\bin common\b|\bwhich (?:one )?(?:of .* )?is (?:better|faster|newer|safer|slower|older|stricter|preferred|"
    r"simpler)\b|\b(?:better|faster|slower|stricter|safer|newer) than\b|\bcomparison (?:of|between)\b|"
    r"\bcompare\w*\b.*\b(?:to|with|and)\b|\brather than\b.*\?|\bpros and cons\b|\btrade-?offs? between\b"
)
_LOCATE = _rule(
    r"\bwhere\b|^(?:in |on |from |at |under )?(?:which|what) (?!is\b|are\b|was\b|were\b|does\b|do\b|"
    r"did\b)(?:\w+ ){0,2}?(?:file|files|module|modules|class|classes|function|functions|method|methods|folder|"
    r"directory|package|script|doc|docs|document|page|section|notebook|component|part|place|line|lines|tests?|yaml|"
    r"workflow|config|"
    r"header|struct|type|test file|setting|option|flag|variable|constant|table|endpoint|route|command|makefile|target|"
    r"template|service|crate|migration|controller|model|view|hook|helper|query|job|step|one)s?\b|"
    r"\bnames? of the (?:\w+ )?(?:file|function|class|method|module|option|flag|variable|script)\b|\b(?:path|location|"
    r"filename|file name|line number|whereabouts) (?:of|to|for)\b|^is there\b|^are there\b|^do we have\b|"
    r"^have we got\b|^does \w+ have\b|^which\b|\bsearch for\b|\blooking for\b|\blook(?:ing)? for\b|^any\b"
)
_ARTIFACT = (
    r"(?:\w*tarballs?|\w*zip|apk|aab|ipa|wheels?|sdist|jar|war|deb|rpm|msi|dmg|exe|installer|binar(?:y|ies)|"
    r"executables?|bundles?|images?|containers?|artifacts?|"
    r"builds?|docs?|documentation|site|website|release|packages?|dist|distribution|firmware|frontend|backend|app|"
    r"library|target|targets|snapshot|debug|everything|all|crates?|projects?|it|this|that|whole|branch|wasm|book|pdf|"
    r"assets?|css|bytecode|stubs|bindings|workspace|solution|module|modules|client|server|cli|xname|xfile)"
)
_FEATURE = _rule(
    rf"^(?:build|assemble|produce|make|package|create)(?: me| us)? an? (?!(?:[\w.-]+ ){{0,3}}?{_ARTIFACT}\b)"
)
_IN_A_COMMENT = _rule(
    r"\bin (?:a|the|its|their) (?:code )?(?:comments?|docstrings?|readme|docs?|documentation|changelog|wiki|"
    r"header comment)\b"
)
_COMMANDS = _rule(rf"^{TOOLS}(?: |$)")


def _has(rule: re.Pattern[str], text: str) -> bool:
    return rule.search(text) is not None


def kind_of(clause: Clause, message: str) -> Kind:
    """What one clause wants; `message` is all that was said, where a clause alone leaves that open."""
    if clause.mood is Mood.ORDER:
        return _ordered(clause.text, message)
    if clause.mood is Mood.WHAT and _has(_IF_CHANGED, message):
        return Kind.CALLERS
    return _asked(clause.text, clause.mood)


def reports_failure(text: str) -> bool:
    """Whether a statement says that a run fails: whoever says so wants to know why."""
    return _has(_FAILURE, text)


def _asked(text: str, mood: Mood) -> Kind:
    word = re.sub(r"^(?:in|on|by|at|from|to|for|since|under|of|with|until) ", "", text).partition(" ")[0]
    how_it_works = word == "where" or bool(
        re.match(r"how (?!many|much|old|long|often|far|recent|has|have|had|did|good)", text)
    )
    if _has(_COMPARE, text):
        return Kind.COMPARE
    wrong = re.search(r"\b(?:go|goes|went|going) wrong\b|^what is (?:wrong|up|the matter) with\b", text)
    if wrong and re.search(
        rf"{_CI}|\b(?:in|with|during|of) (?:the |our |my |last |this )*(?:\w+ )?(?:build|{_TESTS}|run|deploy|"
        rf"deployment)$",
        text,
    ):
        return Kind.CI_CAUSE
    if _has(_FAILURE, text) and (
        _has(_CAUSE, text) or (mood is Mood.WHAT and word in ("why", "what") and not _asks_which(text))
    ):
        return (
            Kind.CI_CAUSE
            if not re.match(r"what (?:happens|would happen|do we do|should|to do)\b", text)
            else Kind.EXPLAIN
        )
    if word == "where" and not re.match(r"where (?:am i|are we|do (?:i|we) stand)", text):
        return Kind.CALLERS if _has(_CALLERS, text) else Kind.LOCATE
    doing = re.match(r"how (?:is|are|did) .*\b(?:do|doing|look|looking|go|going)\b", text) is not None
    if (not how_it_works or doing) and not _asks_for_code(text):
        state = _state(text, mood, word)
        if state is not None:
            return state
    if _has(_CALLERS, text) and not re.match(
        r"(?:what|which) (?:\w+ ){0,3}(?:is|are|was) (?:\w+ )*(?:used|called)\b", text
    ):
        return Kind.CALLERS
    if _has(_REVIEW, text):
        return Kind.REVIEW
    if mood is Mood.STATEMENT:
        return Kind.LOCATE
    if mood is Mood.WHETHER and not _has(_LOCATE, text):
        return Kind.EXPLAIN
    return Kind.LOCATE if word == "who" or (_has(_LOCATE, text) and word not in ("how", "why")) else Kind.EXPLAIN


def _asks_which(text: str) -> bool:
    """ "Which tests fail" wants their names, not the cause."""
    return bool(re.match(rf"(?:which|what|how many) (?:\w+ ){{0,4}}?{_TESTS}\b", text)) and not _has(
        _rule(_ON_CI), text
    )


def _asks_for_code(text: str) -> bool:
    """ "Which function detects uncommitted changes": the thing that does it, not the state."""
    found = re.match(
        r"(?:in )?(?:which|what) (?:\w+ ){0,2}?(?:file|module|class|function|method|script|part|code|component|yaml|"
        r"doc|notebook|command|setting|option|page|section|test helper|helper)s?\b(.*)",
        text,
    )
    return found is not None and not re.search(
        r"\b(?:have|did|has) (?:i|we|been)\b|\b(?:not|n't) (?:yet )?committed\b|^ (?:are|is|was|were|have been|"
        r"has been) (?:\w+ )?(?:changed|dirty|modified|uncommitted|staged|touched|edited|unstaged|untracked)\b",
        found[1],
    )


def _state(text: str, mood: Mood, word: str) -> Kind | None:
    """What is asked about runs, the tree or the history."""
    past = bool(re.match(r"(?:did|has|have|was|were|when)\b", text))
    about_tests = re.search(rf"\b{_TESTS}\b", text) is not None
    on_ci = re.search(_ON_CI, text) is not None or (re.search(_CI, text) is not None and not about_tests)
    said = re.search(rf"\b(?:{_GOOD}|{_BAD}{'|work(?:s|ing)?' if about_tests else ''})\b", text) is not None
    if re.search(r"\b(?:any good|good enough|well written|meaningful|worth|thorough|readable)\b", text):
        return None
    asks_outcome = mood is not Mood.WHAT or bool(re.match(r"(?:what|how|which|when)\b", text))
    if word in ("who", "whom", "whose") or re.match(
        r"(?:in |by |with )?(?:which|what) (?:\w+ )?(?:commit|release|version|pr|revision|tag)\b", text
    ):
        return Kind.HISTORY if _has(_HISTORY, text) else None
    if word == "why":
        return Kind.HISTORY if _has(_HISTORY, text) else None
    if (
        about_tests
        and said
        and mood is Mood.WHETHER
        and re.match(rf"(?:\w+ ){{0,4}}?{_TESTS}\b", text)
        and not re.search(_ON_CI, text)
    ):
        return Kind.WORKS if _builds_too(text) else Kind.TESTS_PASS
    if asks_outcome and not _has(_TREE, text):
        in_ci = re.search(rf"{_CI}", text) is not None
        if word == "when" and not (in_ci and said):
            return Kind.HISTORY if _has(_HISTORY, text) else None
        if about_tests and (said or "status" in text or "state" in text) and re.search(_ON_CI, text):
            return Kind.CI_STATE
        if about_tests and said and mood is Mood.WHETHER and _builds_too(text):
            return Kind.WORKS
        if _has(_OF_CI, text) and (_has(_SAID_GREEN, text) or (past and not re.search(rf"\b{_CHANGED}\b", text))):
            return Kind.CI_STATE
        if about_tests and said and not re.match(r"(?:what|how) (?:happens|do|does|should|would|to)\b", text):
            return Kind.TESTS_PASS
        if (
            (on_ci
            and _has(_SAID_GREEN, text))
            or (_has(_SAID_GREEN, text) and not about_tests and not _has(_COMPILES, text))
        ):
            return Kind.CI_STATE
        if (
            mood is Mood.WHETHER
            and past
            and _has(_RAN_BEFORE, text)
            and not about_tests
            and not re.search(rf"\b(?:i|anyone|someone)\b.*\b{_CHANGED}\b", text)
        ):
            return Kind.CI_STATE
        if (
            (mood is Mood.WHETHER
            and _has(_COMPILES, text))
            or re.match(
                r"(?:what|which|how many) .*\b(?:compiler?|compilation|type|build|linker|lint) (?:errors?|warnings?)\b",
                text,
            )
        ):
            return Kind.COMPILES
    if _has(_TREE, text):
        return Kind.TREE_STATE
    if mood is Mood.STATEMENT and not _has(_HISTORY_NOUN, text):
        return None
    return Kind.HISTORY if _has(_HISTORY, text) else None


def _builds_too(text: str) -> bool:
    return re.search(rf"\b{_BUILD_VERB}s? and\b|\band (?:\w+ ){{0,3}}?{_BUILD_VERB}s?\b", text) is not None


def _ordered(text: str, message: str) -> Kind:
    verb, _, rest = text.partition(" ")
    verb = verb.strip(",")
    if _has(_COMMANDS, text):
        command = _command(text)
        if command is not None:
            return command
    if verb not in CHANGES and _changes_after(verb, text):
        return Kind.MODIFY
    if verb in COMPARES:
        return Kind.COMPARE
    if verb in ("run", "execute", "launch", "start", "kick", "trigger", "rerun", "perform", "fire", "invoke", "build", "rebuild",
                "compile", "recompile", "crosscompile", "assemble", "link", "bundle", "package", "produce", "test", "retest", "do"):  # fmt: skip
        return _run(verb, text, message)
    if verb in ("make", "create", "generate", "cut", "prepare"):
        return _made(text)
    if verb in EXPLAINS and _has(_IN_A_COMMENT, text):
        return Kind.MODIFY
    if re.search(r"\bwithout breaking\b|\bsafely\b", text) and message.startswith("can ") and verb in CHANGES:
        return Kind.CALLERS
    if _has(_REVIEW, text) and (
        verb in REVIEWS or verb in FINDS or verb in EXPLAINS or verb in ("have", "give", "get", "take", "look", "go")
    ):
        return Kind.REVIEW
    if verb in DIAGNOSES or (
        verb in FINDS | EXPLAINS | REVIEWS | {"get", "give"}
        and _has(_FAILURE, text)
        and re.search(r"\b(?:why|cause|reason|culprit|error|wrong)\b", text)
    ):
        return Kind.CI_CAUSE if _has(_FAILURE, text) or re.search(_CI, text) else Kind.EXPLAIN
    if verb in REVIEWS:
        return _checked(text)
    if verb == "go" and re.match(r"go (?:over|through)\b", text):
        return Kind.REVIEW if "bug" in text or "over" in text else Kind.EXPLAIN
    if verb in ("look", "dig") and re.match(r"\w+ into\b", text):
        return Kind.CI_CAUSE if _has(_FAILURE, text) else Kind.EXPLAIN
    if verb == "look" and re.match(r"look (?:at|over|through)\b", text):
        return Kind.REVIEW if not _has(_HISTORY, text) else Kind.HISTORY
    if verb in EXPLAINS:
        if verb == "walk" and not re.match(r"walk (?:me|us)? ?(?:through|over)", text):
            return Kind.MODIFY
        return _told(rest)
    if re.match(r"(?:take|have|give (?:it|\w+)) an? (?:\w+ )?(?:look|pass)\b", text):
        return Kind.REVIEW
    if verb in FINDS | {"give", "get", "have"}:
        found = _found(verb, text, rest)
        if found is not None:
            return found
    return Kind.MODIFY


def _changes_after(verb: str, text: str) -> bool:
    """ "Find the typo and fix it" is a change; "run the tests and skip the slow ones" is a run."""
    verbs = {part.partition(" ")[0] for part in re.split(r" and (?:then )?(?:also )?", text)[1:]}
    options = {
        "skip",
        "stop",
        "exclude",
        "include",
        "use",
        "let",
        "get",
        "give",
        "support",
        "order",
        "handle",
        "push",
        "pull",
        "limit",
    }
    return bool(verbs & (CHANGES - options)) and (verb in RUNS | FINDS | REVIEWS | DIAGNOSES)


def _command(text: str) -> Kind | None:
    """A command line, as it is typed."""
    if re.match(r"git (?:status|diff|stash|branch)\b", text):
        return Kind.TREE_STATE
    if re.match(r"git (?:log|blame|show|shortlog)\b", text):
        return Kind.HISTORY
    if re.match(r"gh run\b|gh pr checks\b", text):
        return Kind.CI_STATE
    if re.match(r"(?:git|gh)\b", text):
        return Kind.MODIFY
    if re.match(r"(?:make|go|just|swift|mix|docker|python3?|link|poetry|uv|composer)\b", text) and not re.match(
        r"make$|make (?:test|tests|check|all|build|install|dist|docs|lint|release|clean|html|"
        r"everything)\b(?! (?:\w+ ){0,2}?(?:faster|pass|work|more|less|into|better|smaller|optional))|"
        r"go (?:test|build|vet|run|generate)\b|just (?:test|build|check|lint)\b|swift (?:build|test)\b|mix (?:test|"
        r"compile)\b|docker (?:build|compose)\b|"
        r"python3? -m|python3? x|poetry (?:run|build)\b|uv (?:run|build)\b|(?:composer|uv|poetry) \w+", text
    ):  # fmt: skip
        return None
    if re.search(rf"\b{_TESTS}\b|\b(?:check|tox|nox|mocha|phpunit)\b", text):
        return Kind.RUN_TESTS
    return Kind.RUN_BUILD


def _run(verb: str, text: str, message: str) -> Kind:
    """An order to run: what its object is, by the last noun before a preposition."""
    if _has(_FEATURE, text):
        return Kind.MODIFY
    build_verb = verb in (
        "build",
        "rebuild",
        "compile",
        "recompile",
        "crosscompile",
        "assemble",
        "link",
        "bundle",
        "package",
        "produce",
    )
    tests_too = re.search(rf"\b(?:and|then|&|,)\b.*\b(?:{_TESTS})\b", text) is not None
    if build_verb:
        if (
            re.match(rf"\w+ (?:all |the |our |my )*(?:\w+ )?{_TESTS}$", text)
            and re.search(r"\btests?$", text)
            and tests_too is False
        ):
            return Kind.RUN_BUILD
        return Kind.EXECUTE if tests_too else Kind.RUN_BUILD
    if verb in ("test", "retest"):
        return Kind.RUN_TESTS
    rest = text.partition(" ")[2]
    if re.match(rf"(?:off |up )?{TOOLS}(?: |$)", rest):
        command = _command(re.sub(r"^(?:off|up) ", "", rest))
        if command is not None:
            return command
    if re.match(r"(?:it|them|those|these|that|this|again|all of them|both)\b", rest):
        rest = message  # "I wrote two more tests, run them"
    head = re.split(
        r" (?:for|of|in|on|from|with|without|under|against|using|after|before|to|at|that|which|so|because|again|once|"
        r"as)\b",
        rest,
    )[0]
    both = re.search(
        rf"\b(?:build|compile)\b.*\band\b.*\b{_TESTS}\b|\b{_TESTS}\b.*\band\b.*\b(?:build|compile)\b", text
    )
    if both:
        return Kind.EXECUTE
    if re.search(rf"\b{_TESTS}\b", head) or (
        re.search(rf"\b{_TESTS}\b", rest) and not re.search(r"\bbuild\b|\bcompil", head)
    ):
        return Kind.RUN_TESTS
    if re.search(
        rf"\b(?:{_BUILD_VERB}|builds?|compilation|compiler|typecheck(?:er|ing)?|mypy|tsc|linter|lint|packaging)\b", head
    ):
        return Kind.RUN_BUILD
    if re.search(r"\b(?:checks|everything|regressions?|smoke|benchmarks?|coverage|tox|nox)\b", head):
        return Kind.RUN_TESTS
    if verb == "do":
        return Kind.MODIFY if not re.search(r"\breview\b", text) else Kind.REVIEW
    return Kind.EXECUTE


def _made(text: str) -> Kind:
    """ "Make the tarball" builds it; "make the build faster" and "make it compile" change something."""
    rest = re.sub(r"^(?:make|create|generate|cut|prepare) (?:me |us )?", "", text)
    if not text.startswith("make") and not re.search(
        r"\b(?:build|tarball|apk|wheel|image|binary|bundle|installer|artifacts?)\b", rest
    ):
        return Kind.MODIFY
    if re.match(r"make sense of\b", text):
        return Kind.EXPLAIN
    if re.fullmatch(
        rf"(?:(?:a|an|the|our|new|fresh|another|clean|full|\w+) ){{0,3}}{_ARTIFACT}(?: (?:for|of|from|with|at|on|again|"
        rf"now|in) .*| again)?",
        rest,
    ):
        return Kind.RUN_BUILD
    return Kind.MODIFY


def _checked(text: str) -> Kind:
    """ "Check CI", "check the build", "check the status", "check out the parser"."""
    rest = text.partition(" ")[2]
    if re.fullmatch(
        rf"(?:(?:on|the|our|my|of|status|state|latest|last|current|result|results) )*(?:{_CI}|checks|ci)(?: (?:status|"
        rf"state|results?|run|now|on main))*",
        rest,
    ):
        return Kind.CI_STATE
    if re.fullmatch(
        r"(?:(?:the|our|that|git|repo|repository|branch|working|current) )*(?:status|tree|branch|state)", rest
    ):
        return Kind.TREE_STATE
    if re.fullmatch(r"(?:(?:the|our|types|a|that) )*(?:build|compilation|types|typing|compile)", rest):
        return Kind.COMPILES
    if re.fullmatch(rf"(?:(?:the|our|all|unit) )*{_TESTS}", rest):
        return Kind.TESTS_PASS
    if _has(_CALLERS, rest):
        return Kind.CALLERS
    if _has(_HISTORY, rest) and re.match(r"(?:the )?(?:git |commit )?(?:log|history|blame)\b", rest):
        return Kind.HISTORY
    return Kind.REVIEW


def _told(rest: str) -> Kind:
    """ "Tell me the last commit", "explain the difference between A and B", "describe how X works"."""
    about = re.sub(r"^(?:to )?(?:me|us)\b ?(?:about|through)? ?", "", rest)
    if _has(_COMPARE, about):
        return Kind.COMPARE
    if _has(_REVIEW, about) and re.search(rf"\b{_FLAWS}\b|go wrong|think", about):
        return Kind.REVIEW
    if re.match(
        r"(?:the |our )?(?:last|latest|recent|newest|previous|first|git|commit) (?:\w+ )?(?:commits?|changes?|release|"
        r"log|history)\b",
        about,
    ):
        return Kind.HISTORY
    if re.match(r"(?:the )?(?:status|state) of\b|(?:the )?\w+ status\b", about):
        return _found("show", about, about) or Kind.EXPLAIN
    if _has(_FAILURE, about) and re.search(
        r"\bwhy\b|\bcause\b|\breason\b|^(?:the |this |that )?(?:\w+ )?(?:failure|failing|failed|broken|red)\b", about
    ):
        return Kind.CI_CAUSE
    return Kind.EXPLAIN


def _found(verb: str, text: str, rest: str) -> Kind | None:
    """What is to be found, shown or listed."""
    about = re.sub(r"^(?:me|us|out|up|for|at|into)\b ?", "", rest)
    if _has(_COMPARE, about):
        return Kind.COMPARE
    if re.match(
        r"(?:all |any |the |a |every |our |my |last |latest |recent |\d+ )*(?:commits?|changes? (?:to|in|of|since|by)|"
        r"history|git log|log of|blame|changelog|pull requests?|prs?)\b",
        about,
    ):
        return Kind.HISTORY
    if _has(_CALLERS, about) or re.match(
        rf"(?:all |every |any )?(?:the )?(?:\w+ ){{0,2}}(?:that|which|who) (?:\w+ly )?{_USING}\b", about
    ):
        return Kind.CALLERS
    if re.match(
        r"(?:all |any |the |my |our |which )*(?:uncommitted|unstaged|staged|untracked|local|pending|dirty|git status|"
        r"working tree|current branch|stash\w*|modified)\b",
        about,
    ) or _has(_TREE, about):
        return Kind.TREE_STATE
    if re.match(
        rf"(?:all |any |the |which |me )*(?:currently )?(?:failing|failed|broken|red|flaky) (?:\w+ )?{_TESTS}\b", about
    ):
        return Kind.TESTS_PASS
    if re.match(
        rf"(?:all |any |the |a )*(?:latest |last |current |recent |failing |failed |red )*(?:{_CI}|"
        rf"build)\b(?: (?:runs?|status|state|results?))*(?: .*)?$",
        about,
    ) and re.search(r"\b(?:runs?|status|state|results?|failing|failed|red)\b", about):
        return Kind.CI_STATE
    if re.match(r"(?:the )?(?:status|state|results?|outcome) of\b", about) and re.search(
        rf"{_CI}|\bbuild\b|\brun\b", about
    ):
        return Kind.CI_STATE
    if _has(_HISTORY, about) and not re.search(
        r"\b(?:code|function|class|file|module|place|part|parser)\b(?! .*\bhistory\b)", about
    ):
        return Kind.HISTORY
    if _has(_REVIEW, text) and re.search(rf"\b{_FLAWS}\b", text) and verb not in ("open", "go", "goto"):
        return Kind.REVIEW
    if re.match(
        r"(?:an? )?(?:\w+ )?(?:overview|rundown|summary|explanation|walkthrough|tour|description|intro|introduction|"
        r"idea)\b",
        about,
    ):
        return Kind.EXPLAIN
    if verb in ("give", "get", "have"):
        known = re.match(
            r"(?:a |the |all )*(?:quick |critical |close |hard )?(?:look|path|location|list|file|line|pointer|link|"
            r"definition|source|code for)\b",
            about,
        )
        if known and "look" in known.group():
            return Kind.REVIEW
        return Kind.LOCATE if known else None
    return (
        Kind.OPEN
        if verb in ("open", "go", "goto", "take", "jump", "navigate", "bring", "show", "list", "see", "view")
        else Kind.LOCATE
    )


def last_request(clauses: Sequence[Clause]) -> tuple[int, Clause] | None:
    """The last clause that asks or orders; "or" goes on with what was asked before it."""
    requests = [(at, clause) for at, clause in enumerate(clauses) if clause.mood is not Mood.STATEMENT]
    while len(requests) > 1 and requests[-1][1].joined:
        requests.pop()
    return requests[-1] if requests else None
