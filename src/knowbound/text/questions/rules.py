"""The words of questions about runs, the tree, the history and code, as patterns over plain clauses.

Each is one idea: what is said of a run, what was done to a thing, who uses it, how it is judged. Which of them decides
is a matter of the clause's mood and of their order (`kinds`, `orders`).
"""

from __future__ import annotations

import re

from knowbound.text.questions.clauses import TEST_NAME, TOOLS


def rule(form: str) -> re.Pattern[str]:
    """A compiled pattern."""
    return re.compile(form)


# Things that run, and what is said of them.
TESTS = (
    rf"(?:\w*tests?|\w*test ?suites?|test cases?|suites?|specs?|\w*unittests?|doctests?|{TEST_NAME}|pytest|jest|vitest|"
    rf"ctest|rspec|e2e)"
)
PLATFORM = (
    r"(?:nightly|windows|macos|mac|osx|linux|ubuntu|alpine|arm64|ios|android|lint|linter|deploy|deployment|release|"
    r"build|"
    r"test|tests|docs|docker|publish|publishing|e2e|matrix|coverage|fastlane|integration|unit|style|format|formatting|"
    r"benchmark|smoke|staging|canary|validation|ci|required|scheduled|pr|merge|security|cron|packaging|codeql)"
)
CI = (
    r"(?:\bci\b|\bpipelines?\b|\bworkflows?\b|github-actions|\bactions\b|\bnightl(?:y|ies)\b|\bjenkins\b|\btravis\b|"
    r"\bcircleci\b|"
    r"\bgitlab\b|\bbuildkite\b|\bteamcity\b|\bbuild (?:server|machine|farm|bot|agent)s?\b|\bmerge queue\b|\bbadges?\b|"
    rf"\bchecks\b|\b{PLATFORM} (?:jobs?|runs?|stages?|checks?|legs?|runners?|deployments?)\b|"
    r"\b(?:the|our|ci|this|that) (?:ci )?runner\b|\blast (?:\w+ )?(?:jobs?|run)\b|\blatest (?:\w+ )?(?:jobs?|run)\b)"
)
ON_CI = (
    r"(?:\b(?:on|in|by|under|through) (?:the |our )?(?:ci|pipeline|github-actions|github|gitlab|jenkins|travis|"
    r"circleci|"
    r"buildkite|nightly|build (?:server|machine|farm)|server|merge queue)\b|\b(?:for|of|on|with|after) (?:the|my|our|"
    r"this|that) "
    r"(?:(?:last|latest|newest|most recent|previous|current|open) )?(?:push|pr|pull request|merge request|mr)\b)"
)
GOOD = (
    r"(?:green|pass(?:es|ed|ing)?|succe(?:ed|eds|eded|eding|ss|ssful|ssfully)|(?:go|goes|went|gone|going|get|gets|come|"
    r"make it|"
    r"made it) (?:all )?through|happy|healthy|okay|ok|fine|good)"
)
BAD = (
    r"(?:fail(?:s|ed|ing|ures?)?|broken?|broke|breaks?|breaking|red|crash(?:es|ed|ing)?|flaky|hang(?:s|ing)?|hung|"
    r"stuck|"
    r"tim(?:e|es|ed|ing) out|timeouts?|time-?outs?|(?:keeps? )?dying|die[sd]?|bl(?:ow|ows|ew|own|owing) up|blowing up|"
    r"errors? out|errored|erroring|explod\w+|abort(?:s|ed|ing)?|chok\w+|barf\w*|bomb(?:s|ed|ing)?|unhappy|"
    r"(?:fall|falls|fell|fallen|falling) over|(?:not|never|no longer|does not|do not|did not|will not) (?:pass\w*|"
    r"succeed|go through|"
    r"work(?:s|ing)?|green|build|compile|start)|say otherwise|cancell?ed|trip(?:s|ped|ping)? over|unsuccessful|borked|"
    r"complain(?:s|ed|ing)?)"
)
GOING = (
    r"(?:running|finish(?:ed|es)?|done|complet(?:e|ed|es)|in progress|queued|pending|started|over|ended|still going|"
    r"run)"
)
RAN = (
    rf"(?:{CI}|\bbuilds?\b|\b(?:cross)?compil(?:e|ation|ing)\b|\b{TESTS}\b|\blint(?:er|ing)?\b|\bdeploy(?:ment|s)?\b|"
    rf"\brelease\b|\bmerge\b)"
)
# A run that fails: "the windows job keeps dying", "failing tests", "the deploy workflow blow up".
FAILURE = rule(
    rf"\bnot\b(?: [\w-]+){{0,2}}? {RAN}(?: \w+){{0,3}}? (?:pass|succeed|build|compile|start|finish|work|complete)\b|"
    rf"\b(?:pull request|pr|main|master|trunk|branch)\b(?: \w+){{0,3}}? (?:red|failing|broken)\b|"
    rf"{RAN}(?! (?:client|helper|runner|server|mode|handler|hook|callback)s?\b)(?:\W+[\w'.-]+){{0,7}}?\W+{BAD}\b|"
    rf"\b(?:failing|failed|broken) (?:step|stage)s?\b|\b(?:failing|failed|broken|red|flaky|crashed|"
    rf"cancell?ed) (?:\w+ )?(?:{RAN})|\b(?:failures?|errors?) (?:in|of|on|from|with) (?:the |our )?(?:\w+ )?{RAN}|"
    rf"\b(?:broke|breaks|breaking|broken|failed|fail|crashed|killed|tripped|stopped|red) (?:in |on )?(?:the |our |my |"
    rf"all |this )?(?:\w+ ){{0,2}}?(?:{RAN})"
)
CAUSE = rule(
    r"\bwhich .*\b(?:made|makes|making|caus\w+|broke|breaks|sent|turned)\b|"
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
SAID_GREEN = rule(
    r"^are (?:we|things|all) (?:\w+ )?(?:green|red)\b|\b(?:red|green) (?:cross|x|check|tick|checkmark|dot)\b|"
    r"\byellow dot\b|"
    rf"\bhow .*(?:{CI}|\bbuild\b|\brun\b).*\b(?:ended|went|turned out)$|"
    rf"{CI}(?:\W+[\w'.-]+){{0,8}}?\W+(?:{GOOD}|{BAD}|{GOING}|clean)\b|"
    r"\b(?:main|master|trunk|develop|head|everything|anything|something|it|all|branch|builds?|pr|push|commit|"
    r"pull request|tip) (?:\w+ ){0,3}?(?:green|red)\b|"
    rf"\b(?:green|red|failing|failed|broken|successful) (?:\w+ )?(?:{CI}|builds?\b|jobs?\b|runs?\b|checks?\b)|"
    rf"\b(?:pass|passed|passing|fail|failed|broke|break|clear|cleared|make it through|through|survive|"
    rf"survived)\b.*{CI}|\b(?:status|state|result|results|outcome) (?:of|on|for|in) .*(?:{CI}|\bbuild\b|\brun\b)|"
    rf"{CI} (?:status|state|result|results|health|outcome)\b|\bbuild (?:status|badge)\b|{CI} (?:\w+ ){{0,2}}?(?:say|"
    rf"says|said|reports?|shows?|thinks?)\b|\bhow (?:is|are|did|does) .*(?:{CI}|\bbuild\b|\bruns?\b).*\b(?:do|doing|"
    rf"look|looking|go|going|today)\b|"
    rf"\b(?:green|red) (?:on|in) .*(?:{CI}|\bmain\b|\bmaster\b)|\b(?:turn|turned|go|gone|went|going|come|came|"
    rf"back) (?:all )?(?:green|red)\b"
)
OF_CI = rule(
    rf"^(?:\w+ ){{0,4}}?(?:ci|pipelines?|workflows?|badges?|nightly|jenkins|travis|circleci|gitlab|buildkite|"
    rf"github-actions|{PLATFORM} jobs?)\b|"
    r"\b(?:ci|workflow|pipeline|job)\b"
)
RAN_BEFORE = rule(
    r"^(?:did|has|have|was|were|is)\b.*\b(?:builds?|runs?|jobs?|deploy|deployment|release|push|pr|pull request|merge|"
    r"checks?|nightly|everything|it)\b"
    r".*\b(?:pass|passed|succeed(?:ed)?|go (?:out|ok|well|live)|go through|gone through|go green|finish(?:ed)?|"
    r"fail(?:ed)?|complete[d]?|break|broken|"
    r"successful|green|red|done|deployed|published|good|through|out|live)\b"
)
BUILD_VERB = r"(?:(?:cross|re)?build|(?:cross|re)?compile|link|typecheck|bundle|transpile)"
AFTER_VERB = (
    r"(?=$| (?:with|on|in|under|after|against|for|from|without|cleanly|fine|ok|okay|again|at|right|now|as|if|when|"
    r"locally|"
    r"today|since|and|or|yet|anymore|at all|correctly|successfully|properly|using|out of|here|all|everywhere|once|"
    r"because)\b)"
)
COMPILES = rule(
    rf"^(?:everything|it|this|the \w+|all|all of it) (?:still )?(?:builds|compiles|links|typechecks){AFTER_VERB}|"
    r"\b(?:errors?|warnings?) (?:from|by|in) (?:the )?(?:compiler|mypy|tsc|type ?checker|build|linker)\b|\b(?:make|"
    r"cmake|gradle|npm run build|cargo build|go build|tsc) (?:still |even )?(?:runs?|goes|go|works?|succeeds?|"
    r"pass(?:es)?|finish(?:es)?|complain|completes?)\b|"
    rf"^(?:can|could|do|will|may|should) (?:i|we|you|one|anyone) (?:\w+ )?{BUILD_VERB}\b|"
    rf"^(?:do|does|did|will|would|can|could|should|is|are|whether|if|that)?\b.*\b(?:{BUILD_VERB}s?){AFTER_VERB}|"
    rf"^(?:is|are|can|could|will) .*(?<!before )(?<!after )(?<!when )(?<!while )(?<!for )\b(?:building|compiling|"
    rf"linking|typechecking|built|compiled|buildable|compilable|typechecked){AFTER_VERB}|"
    r"\b(?:buildable|compilable)\b|\b(?:compiler|compile|compilation|type|typing|build|linker|link|syntax|mypy|tsc|"
    r"clippy|lint|linter) (?:errors?|warnings?|problems?|issues?|complaints?)\b|"
    rf"\b(?:mypy|tsc|pyright|clippy|(?:the )?compiler|(?:the )?type ?checker|gcc|clang|rustc|javac|"
    rf"(?:the )?linker) (?:\w+ )?(?:{GOOD}|{BAD}|accepts?|clean|likes?|reports?|finds?)\b|"
    r"\b(?:break|broke|broken|breaks|hurt) (?:the |our |my )?(?:build|compilation|compile|typing|types)\b|\b(?:build|"
    r"compilation|compile) (?:\w+ )?(?:pass(?:es)?|succeeds?|works?|working|broken|clean|ok|okay|fine|fails?|failing|"
    r"breaks?|intact|possible)\b"
)
TREE = rule(
    r"\b(?:changes|commits|work|everything|edits|files) (?:\w+ )?(?:pushed|committed|staged|checked in)$|\b(?:left?|"
    r"leaves?|leave|have|any|the|unresolved) (?:\w+ )?conflicts\b|\bdiverged? from (?:origin|upstream|the remote|"
    r"remote|main|master)\b|\bunfinished (?:rebase|merge)\b|"
    r"\bfiles? (?:are|is|were|have been|did i|have i) (?:\w+ )?(?:modified|changed|dirty|touched|staged|new|edited)$|"
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
CHANGED = (
    r"(?:add(?:ed)?|introduc(?:ed?|ing)|creat(?:ed?)|remov(?:ed?)|delet(?:ed?)|drop(?:ped)?|renam(?:ed?)|chang(?:ed?)|"
    r"modif(?:y|ied)|"
    r"touch(?:ed)?|edit(?:ed)?|wrote|written|rewrote|rewritten|updat(?:ed?)|upgrad(?:ed?)|bump(?:ed)?|mov(?:ed?)|"
    r"replac(?:ed?)|revert(?:ed)?|"
    r"refactor(?:ed)?|commit(?:ted)?|author(?:ed)?|releas(?:ed?)|merg(?:ed?)|fix(?:ed)?|broke|landed?|switch(?:ed)?|"
    r"migrat(?:ed?)|deprecat(?:ed?)|"
    r"rais(?:ed?)|lower(?:ed)?|increas(?:ed?)|decreas(?:ed?)|reduc(?:ed?)|split|extract(?:ed)?|ported?|rework(?:ed)?|"
    r"disabled?|enabled?|"
    r"appear(?:ed)?|disappear(?:ed)?|vanish(?:ed)?|shipped?|published?|tagged|start(?:ed)?|stop(?:ped)?|get|become|"
    r"became|came|come|went|go|turned?|swap(?:ped)?|exchang(?:ed?)|"
    r"taken out|took|got rid of|get rid of|ripped out|thrown out|retired?|patched|implemented|dropped|worked on)"
)
RECENTLY = (
    r"(?:recently|lately|recent|latest|since|yesterday|today|last (?:week|month|year|night|release|version|time|"
    r"\w+day)|this (?:week|month|year)|past (?:few )?(?:week|month|year|day)s?|these days|over time|so far)"
)
HISTORY = rule(
    r"^what (?:did|have|has) (?:we|they|you|the team|\w+) (?:\w+ )?(?:ship|shipped|release|released|merge|merged|"
    r"deploy|land|landed|publish|published|been working on|work on)\b|"
    rf"^what (?:went|came|got|is|was) (?:into|in|with) (?:the )?(?:v|version |release )?\d|\b(?:last|latest|"
    rf"most recent) (?:thing|time|person|one|pr|people)\b.*\b{CHANGED}\b|^since (?:which|what) (?:release|version)\b|"
    rf"^(?:has|have|did|was|were) .*\bever\b.*\b{CHANGED}\b|\b(?:story|background|motivation|reasons?|"
    rf"rationale) (?:behind|for|of) (?:the |our )?(?:removal|introduction|addition|rename|renaming|switch|move|"
    rf"deletion|change|revert)\b|"
    rf"^(?:(?:in|by|with|on|at|from|since) )?(?:which|what) (?:\w+ )?(?:commits?|revisions?|releases?(?! of\b)|"
    rf"versions?(?! of\b)|pull requests?|prs?|tags?|change ?sets?|author|people|person|developers?|"
    rf"contributors?)\b(?!.*\b(?:parser|class|helper) do\b)|"
    rf"^(?:by )?whom?\b(?: \w+ly)?(?: (?:first|last|originally|initially|recently|else|has|have|had|was it|"
    rf"the hell))* {CHANGED}\b|\bwhose (?:commit|change|idea|code)\b|^who is (?:the author|behind|to blame|"
    rf"responsible)\b|"
    rf"^(?:since )?when (?:was|were|did|has|have|had|exactly|do we|is the last)\b.*|^since when\b|"
    rf"^(?:why|how come) (?:was|were|has|have|had|did (?:we|they|you|someone|somebody|he|she|anyone|x\w+|"
    rf"the team))\b.*\b{CHANGED}\b|"
    r"^(?:why|how come) did [\w-]+ (?:add|introduce|drop|remove|rename|replace|swap|switch|move|migrate|deprecate|"
    r"revert|raise|lower|increase|reduce)\b|"
    rf"\bwhat (?:has |have |had |is |was |were |got |else |all |exactly |even )*(?:changed|merged|shipped|released|"
    rf"added|removed|been (?:going on|happening|changed|done|added|removed)|happened|new|moved|landed|"
    rf"going on)\b.*\b(?:{RECENTLY}|in|to|with|between|since|from|of|on)\b|"
    rf"^what (?:has )?changed\b|^what (?:is|was) new\b|^what happened (?:to|with|in)\b|^what (?:did|has|"
    rf"have) .*\b(?:commit|release|change|contribute|work on|do|done|been)\b.*|"
    rf"\b(?:last|latest|newest|most recent|previous|recent|first|initial|oldest) (?:\w+ ){{0,2}}?(?:commits?|changes?|"
    rf"edits?|work|activity|release|version|tag|modifications?|refactor\w*|author|fix(?:es)?)\b|"
    rf"\b(?:git|commit|version|change|release|file) ?(?:log|history|blame|messages?)\b|\bhistory of\b|"
    rf"\bcommits? (?:that|about|message|hash|id|sha|by|to|for|on|since|mention\w*|touch\w*|which|where)\b|\bblame\b|"
    rf"^(?:has|have|did|was|were) (?!i\b|we\b)(?:.*\b)?(?:ever |recently |lately )?{CHANGED}\b.*\b(?:ever|{RECENTLY}|"
    rf"in (?:v|version|release|\d)|by (?:\w+))\b|^(?:has|have|did) (?:anyone|anybody|someone|"
    rf"somebody)\b.*\b{CHANGED}\b|"
    rf"^was .*\b{CHANGED}\b|^how (?:has|have|did) .*\b(?:evolv\w+|chang\w+|grow\w*|come about|develop\w*|get here)\b|"
    rf"^how (?:old|long ago|long has|long have|many commits|recent)\b|"
    rf"\b(?:last|recently) (?:changed|modified|touched|edited|updated|committed|released)\b|\b(?:author|authors) of\b"
)
HISTORY_NOUN = rule(
    r"^(?:the |any |all |our |my |\d+ )*(?:last|latest|recent|newest|first|git|commit|commits|history|changes?|"
    r"changelog|work|activity)\b"
)
USING = (
    r"(?:us(?:e|es|ing)|call(?:s|ing)?|invok(?:e|es|ing)|import(?:s|ing)?|referenc(?:e|es|ing)|depend(?:s|"
    r"ing)?(?: on)?|rel(?:y|ies|ying)(?: on)?|"
    r"consum(?:e|es|ing)|instantiat(?:e|es|ing)|inherit(?:s|ing)?(?: from)?|subclass(?:es|ing)?|extends?|reach(?:es)?|"
    r"hits?|mentions?|refers? to|includes?|touch(?:es)?|go(?:es)? through)"
)
USED = (
    r"(?:used|called|invoked|referenced|imported|consumed|instantiated|needed|relied on|depended on|reached|subclassed|"
    r"called from)"
)
SOMEONE = (
    r"(?:who(?: else)?|what(?: else| all)?|anyone|anybody|anything|something|someone|nobody|everything|everyone|"
    r"everybody|"
    r"(?:which|what|all|any|other|the|how many) (?:\w+ ){0,3}?(?:\w+s|code|file|module|class|function|method|component|"
    r"part|place|package|test|caller|piece|handler|script|service|else))"
)
CALLERS = rule(
    rf"\bwhere [\w-]+ (?:is|are|gets?|was) (?:\w+ )?{USED}\b|"
    rf"^(?:is|are|does|do|has|have|can|will|did)?\s*(?:there )?{SOMEONE}(?: in .*?| of .*?| outside .*?| inside .*?|"
    rf" under .*?| that| who| which| still| even| actually| currently| really| directly| indirectly| ever| else|"
    rf" end up| ends up| ended up| would| might| we have)*(?: \w+ly)? {USING}\b|"
    rf"^(?:where|who|how|is|are|from where|by whom|do we|does)\b.*\b(?:is|are|gets?|be|being|still|ever|even|actually|"
    rf"x\w+|ever|currently|really|\w+) (?:\w+ly )?{USED}\b(?! (?:to|for)\b)|"
    rf"^(?:where|do|does|did|how often|when|why)\b.*\b(?:we|you|they|i|the code|anyone) (?:still |even |ever |"
    rf"actually |really |currently )*{USING} (?!(?:a|an|any|to)\b)|^(?:who|what|which \w+) (?:is|are) (?:still |even |"
    rf"currently |actually )*{USING}\b|"
    rf"\b{USED} (?:anywhere|by (?:anyone|anything|any|whom)|elsewhere|somewhere)\b|"
    r"\breferences? to\b|\b(?:callers?|usages?|call ?sites?|uses|consumers?|users|dependents|importers|subclasses|"
    r"implementers?) (?:of|for|to|in)\b|\b(?:callers?|usages?|call ?sites?|dependents|importers)\b$|"
    r"\b(?:break|breaks|affected|impacted|change|changes|happens?|fall apart|stop working)\b.*\b(?:if|when|by|"
    r"once) (?:i|we|you|someone|one)? ?(?:were to |was to |would )?(?:renam|chang|remov|delet|mov|touch|edit|drop|kill|"
    r"rip)\w*|"
    r"\bif (?:i|we|you|someone) (?:were to )?(?:rename|change|remove|delete|move|touch|edit|drop)(?:d|ed|ped)?\b|"
    r"\bsafe to (?:remove|delete|drop|rename|kill|change)\b|\b(?:can|could|may|should) (?:i|we) (?:safely )?(?:remove|"
    r"delete|drop|kill|get rid of)\b|"
    r"\b(?:dead code|unused|blast radius|impact of (?:chang|renam|remov|delet))\w*|\bwhat .*\bdepends? on\b|"
    r"\beverything that\b.*\b" + USING + r"\b|\bwho needs\b"
)
IF_CHANGED = rule(
    r"\bif (?:i|we|you|someone) (?:were to )?(?:rename|change|remove|delete|move|touch|edit|drop)(?:d|ed|ped)?\b"
)
JUDGED = (
    r"(?:safe|correct|right|wrong|secure|insecure|sound|idiomatic|robust|re-?entrant|idempotent|racy|sane|sensible|"
    r"good|bad|efficient|"
    r"thread-?safe|leaky|vulnerable|reasonable|well[- ]written|production[- ]ready|overkill|overengineered|bug-?free|"
    r"solid|clean|readable|maintainable)"
)
FLAWS = (
    r"(?:bugs?|problems?|issues?|races?|race conditions?|leaks?|leakage|vulnerabilit(?:y|ies)|flaws?|smells?|"
    r"weak(?:nesses| spots?)|"
    r"pitfalls?|holes?|concerns?|deadlocks?|mistakes?|off-by-one|edge cases?|injection|improvements?|antipatterns?|"
    r"security)"
)
REVIEW = rule(
    r"\bwhat is (?:so )?(?:bad|wrong|good|missing|off|ugly|smelly|weird) (?:about|in|with|here)\b|"
    r"^is it (?:ok|okay|fine|right|correct|safe|wise|good|bad|a good|a bad|acceptable) (?:that|to|if|when|idea)\b|"
    r"^(?:does|do|is|are|will) .*\b(?:correctly|properly|safely|securely|well enough)$|"
    rf"\b(?:anything|something|what|everything|parts?) (?:that (?:is|looks) |is |looks )?(?:risky|suspicious|odd|wrong|"
    rf"fishy|problematic|dangerous|off|smelly|weird)\b|^(?:any )?(?:thoughts?|opinions?|comments|feedback|"
    rf"objections)(?: on .*)?$|^(?:is|are) .*\b(?:ok|okay|fine|acceptable|risky|dangerous)$|"
    rf"^(?:is|are|was|were|does|do|will|would|can|could) .*\b{JUDGED}\b(?! (?:place|file|module|way to))|^(?:any|"
    rf"are there|is there|do you see|can you see|see|spot|have we got)\b.*\b{FLAWS}\b(?! (?:open|tracker|template))|"
    rf"\b(?:go|goes|went) wrong\b|\bworr(?:y|ies|ied|ying)\b|\bany good\b|\b(?:what|how) (?:do|would) you (?:think|"
    rf"feel|rate|improve|judge|do differently)\b|\b(?:your|an?|second) (?:opinion|thoughts?|review|critique|"
    rf"critical look|hard look|close look|second look)\b|"
    rf"\b(?:looks?|seems?) (?:right|ok|okay|good|sane|fishy|wrong|off|correct|reasonable|fine|sound|suspicious|safe)\b|"
    rf"\bwhat is wrong (?:with|in)\b|\b(?:how|what) (?:good|bad|could be (?:better|improved)|can be improved)\b|"
    rf"^what (?:\w+ )?{FLAWS}\b|\bwhat are the {FLAWS}\b|"
    rf"^(?:can|could) .*\bever\b|\bcode review\b|\bpoke holes\b|\btear (?:\w+ )*apart\b|\b(?:hunt|look|search|scan|"
    rf"check|comb)(?:ing)? .*\bfor (?:\w+ ){{0,3}}?{FLAWS}\b|\b(?:find|spot|list|identify|point out|"
    rf"show)\b (?:me )?(?:any |the |all |some |obvious |potential |possible |\w+ ){{0,3}}{FLAWS}(?: (?:in|with|of|"
    rf"not)\b|$)|\bcritical(?:ly)? look\b|\blook critically\b|"
    r"\bfeedback on\b|\bsanity[- ]check\b"
)
COMPARE = rule(
    r"^how (?:is|are) .*\bdifferent\b|\bbetween the (?:old|new|previous|two|first|former)\b.*\b(?:and|versions?|"
    r"ones?)\b|"
    r"\bsets? .* apart\b|\bapart from each other\b|"
    r"^how (?:do|does|would) .*\bcompare\b|\bdifferently (?:from|than|to)\b|\bin contrast to\b|"
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
LOCATE = rule(
    r"^what is the (?:\w+ )?(?:file|class|function|method|module|script|option|flag|setting|command|struct|type|"
    r"variable|constant|endpoint|table) (?:that|which|called|where)\b|"
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
ARTIFACT = (
    r"(?:\w*tarballs?|\w*zip|apk|aab|ipa|wheels?|sdist|jar|war|deb|rpm|msi|dmg|exe|installer|binar(?:y|ies)|"
    r"executables?|bundles?|images?|containers?|artifacts?|"
    r"builds?|docs?|documentation|site|website|release|packages?|dist|distribution|firmware|frontend|backend|app|"
    r"library|target|targets|snapshot|debug|everything|all|crates?|projects?|it|this|that|whole|branch|wasm|book|pdf|"
    r"assets?|css|bytecode|stubs|bindings|workspace|solution|module|modules|client|server|cli|xname|xfile)"
)
FEATURE = rule(rf"^(?:build|assemble|produce|make|package|create)(?: me| us)? an? (?!(?:[\w.-]+ ){{0,3}}?{ARTIFACT}\b)")
IN_A_COMMENT = rule(
    r"\bin (?:a|the|its|their) (?:code )?(?:comments?|docstrings?|readme|docs?|documentation|changelog|wiki|"
    r"header comment)\b"
)
COMMANDS = rule(rf"^{TOOLS}(?: |$)")


def has(pattern: re.Pattern[str], text: str) -> bool:
    """Whether a clause has it."""
    return pattern.search(text) is not None


# What a question about its subject can be about instead of how the run ended.
_OTHER_OF_TESTS = rule(
    r"\b(?:covers?|uses?|calls?|checks?|have|has|exist|needs?|takes?|requires?|asserts?|depends?|mocks?|imports?|"
    r"written|"
    r"documented|slow|deterministic|share|rely|touch|lives?|belong|verify|any good|isolated|parallel|named|"
    r"organi[sz]ed|"
    r"defined|configured|skipped|run (?:in|on|against|under|before|after|by|with|every|as)|started|invoked|located|"
    r"there)\b"
)
_OTHER_OF_CI = rule(
    rf"\b(?:{CHANGED}|defined|configured|configurable|documented|written|named|triggered|able|possible|used|supported|"
    rf"needed|"
    r"required|part of|allowed|called|there|cached?|retr(?:y|ies)|where|how)\b"
)
_TESTS_SUBJECT = rule(rf"^(?:is|are|do|does|did|will|would|have|has)(?: [\w'-]+){{0,4}}? {TESTS}\b(?P<said>.+)$")
_CI_SUBJECT = rule(
    r"^(?:is|are|did|has|have|was|were)(?: [\w'-]+){0,3}? "
    r"(?:ci|pipelines?|workflows?|github-actions|nightly|jenkins|travis|circleci|gitlab|buildkite|deploy|deployment|"
    rf"{PLATFORM} (?:job|run|runner|stage|check|build)s?)\b(?P<said>.+)$"
)


def asks_if_tests_pass(text: str) -> bool:
    """Whether tests are the subject of a question for yes or no that can only be about how they end."""
    found = _TESTS_SUBJECT.match(text)
    return found is not None and not has(_OTHER_OF_TESTS, found["said"])


def asks_how_ci_went(text: str) -> bool:
    """The same of a pipeline, a workflow or a job."""
    found = _CI_SUBJECT.match(text)
    return found is not None and not has(_OTHER_OF_CI, found["said"])
