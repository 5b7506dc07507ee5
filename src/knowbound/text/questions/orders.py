"""What an order wants: its verb with the object, whose last noun decides ("run the build module's tests")."""

from __future__ import annotations

import re

from knowbound.core.evidence import QuestionKind as Kind
from knowbound.text.questions.clauses import TOOLS
from knowbound.text.questions.rules import (
    ARTIFACT,
    BUILD_VERB,
    CALLERS,
    CI,
    COMMANDS,
    COMPARE,
    FAILURE,
    FEATURE,
    FLAWS,
    HISTORY,
    IN_A_COMMENT,
    REVIEW,
    TESTS,
    TREE,
    USING,
    has,
)
from knowbound.text.questions.words import CHANGES, COMPARES, DIAGNOSES, EXPLAINS, FINDS, REVIEWS, RUNS


def ordered(text: str, message: str) -> Kind:
    """What an order wants; `message` is all that was said, for what "it" stands for."""
    verb, _, rest = text.partition(" ")
    verb = verb.strip(",")
    if has(COMMANDS, text):
        command = _command(text)
        if command is not None:
            return command
    if verb not in CHANGES and _changes_after(verb, text):
        return Kind.MODIFY
    used = re.match(r"(?:use|try) .+? to ((?:run|build|compile|test|execute) .*)", text)
    if used:
        return ordered(used[1], message)
    if verb == "bring" and not re.match(r"bring (?:me|us|up)\b", text):
        return Kind.MODIFY
    ran_by = re.search(r"\bby (?:run|build|compil|execut|test)ing (.*)", text)
    if ran_by and verb in REVIEWS | FINDS:
        return _run("run", f"run {ran_by[1]}", message)
    if verb in COMPARES:
        return Kind.COMPARE
    if verb in RUNS - {"make"}:
        return _run(verb, text, message)
    if verb in ("make", "create", "generate", "cut", "prepare"):
        return _made(text)
    if verb in EXPLAINS and has(IN_A_COMMENT, text):
        return Kind.MODIFY
    if re.search(r"\bwithout breaking\b|\bsafely\b", text) and message.startswith("can ") and verb in CHANGES:
        return Kind.CALLERS
    if has(REVIEW, text) and (
        verb in REVIEWS or verb in FINDS or verb in EXPLAINS or verb in ("have", "give", "get", "take", "look", "go")
    ):
        return Kind.REVIEW
    if verb in DIAGNOSES or (
        verb in FINDS | EXPLAINS | REVIEWS | {"get", "give"}
        and has(FAILURE, text)
        and re.search(r"\b(?:why|cause|reason|culprit|error|wrong)\b", text)
    ):
        return Kind.CI_CAUSE if has(FAILURE, text) or re.search(CI, text) else Kind.EXPLAIN
    if verb in REVIEWS:
        return _checked(text)
    if verb == "go" and re.match(r"go (?:over|through)\b", text):
        return Kind.REVIEW if "bug" in text or "over" in text else Kind.EXPLAIN
    if verb in ("look", "dig") and re.match(r"\w+ into\b", text):
        return Kind.CI_CAUSE if has(FAILURE, text) else Kind.EXPLAIN
    if verb == "look" and re.match(r"look (?:at|over|through)\b", text):
        return Kind.REVIEW if not has(HISTORY, text) else Kind.HISTORY
    if verb == "teach" and not re.match(r"teach (?:me|us)\b", text):
        return Kind.MODIFY
    if verb in EXPLAINS:
        if verb == "walk" and not re.match(r"walk (?:me|us)? ?(?:through|over)", text):
            return Kind.MODIFY
        return _told(rest)
    if re.match(
        r"(?:give|get) (?:me|us) an? (?:[\w.-]+ ){0,2}?(?:build|image|wheel|apk|tarball|binary|installer|bundle)$", text
    ):
        return Kind.RUN_BUILD
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
    if re.search(rf"\b{TESTS}\b|\b(?:check|tox|nox|mocha|phpunit)\b", text):
        return Kind.RUN_TESTS
    return Kind.RUN_BUILD


def _run(verb: str, text: str, message: str) -> Kind:
    """An order to run: what its object is, by the last noun before a preposition."""
    if has(FEATURE, text):
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
    tests_too = re.search(rf"\b(?:and|then|&|,)\b.*\b(?:{TESTS})\b", text) is not None
    if build_verb:
        if (
            re.match(rf"\w+ (?:all |the |our |my )*(?:\w+ )?{TESTS}$", text)
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
    both = re.search(rf"\b(?:build|compile)\b.*\band\b.*\b{TESTS}\b|\b{TESTS}\b.*\band\b.*\b(?:build|compile)\b", text)
    if both:
        return Kind.EXECUTE
    if re.search(rf"\b{TESTS}\b", head) or (
        re.search(rf"\b{TESTS}\b", rest) and not re.search(r"\bbuild\b|\bcompil", head)
    ):
        return Kind.RUN_TESTS
    if re.search(
        rf"\b(?:{BUILD_VERB}|builds?|compilation|compiler|typecheck(?:er|ing)?|mypy|tsc|linter|lint|packaging)\b", head
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
        rf"(?:(?:a|an|the|our|new|fresh|another|clean|full|\w+) ){{0,3}}{ARTIFACT}(?: (?:for|of|from|with|at|on|again|"
        rf"now|in) .*| again)?",
        rest,
    ):
        return Kind.RUN_BUILD
    return Kind.MODIFY


def _checked(text: str) -> Kind:
    """ "Check CI", "check the build", "check the status", "check out the parser"."""
    rest = text.partition(" ")[2]
    if re.fullmatch(
        rf"(?:(?:on|the|our|my|of|status|state|latest|last|current|result|results) )*(?:{CI}|checks|ci)(?: (?:status|"
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
    if re.fullmatch(rf"(?:(?:the|our|all|unit) )*{TESTS}", rest):
        return Kind.TESTS_PASS
    if has(CALLERS, rest):
        return Kind.CALLERS
    if has(HISTORY, rest) and re.match(r"(?:the )?(?:git |commit )?(?:log|history|blame)\b", rest):
        return Kind.HISTORY
    return Kind.REVIEW


def _told(rest: str) -> Kind:
    """ "Tell me the last commit", "explain the difference between A and B", "describe how X works"."""
    about = re.sub(r"^(?:to )?(?:me|us)\b ?(?:about|through)? ?", "", rest)
    if has(COMPARE, about):
        return Kind.COMPARE
    if has(REVIEW, about) and re.search(rf"\b{FLAWS}\b|go wrong|think", about):
        return Kind.REVIEW
    if re.match(
        r"(?:the |our )?(?:last|latest|recent|newest|previous|first|git|commit) (?:\w+ )?(?:commits?|changes?|release|"
        r"log|history)\b",
        about,
    ):
        return Kind.HISTORY
    if re.match(r"(?:the )?(?:status|state) of\b|(?:the )?\w+ status\b", about):
        return _found("show", about, about) or Kind.EXPLAIN
    if has(FAILURE, about) and re.search(
        r"\bwhy\b|\bcause\b|\breason\b|^(?:the |this |that )?(?:\w+ )?(?:failure|failing|failed|broken|red)\b", about
    ):
        return Kind.CI_CAUSE
    return Kind.EXPLAIN


_CODE = re.compile(
    r"(?:at |to |where )?(?:the |a |any |some )?(?:\w+ )?(?:code|function|class|module|place|definition|implementation|"
    r"script|section|method|handler|helper|source)s?\b"
)


def _found(verb: str, text: str, rest: str) -> Kind | None:
    """What is to be found, shown or listed."""
    about = re.sub(r"^(?:me|us|out|up|for|at|into)\b ?", "", rest)
    if has(COMPARE, about):
        return Kind.COMPARE
    if _CODE.match(about) and not has(CALLERS, about):
        return Kind.OPEN if verb in ("open", "go", "goto", "take", "jump", "show") else Kind.LOCATE
    if re.match(
        r"(?:all |any |the |a |every |our |my |last |latest |recent |\d+ )*(?:commits?|changes? (?:to|in|of|since|by)|"
        r"history|git log|log of|blame|changelog|pull requests?|prs?)\b",
        about,
    ):
        return Kind.HISTORY
    if has(CALLERS, about) or re.match(
        rf"(?:all |every |any )?(?:the )?(?:\w+ ){{0,2}}(?:that|which|who) (?:\w+ly )?{USING}\b", about
    ):
        return Kind.CALLERS
    if re.match(
        r"(?:all |any |the |my |our |which )*(?:uncommitted|unstaged|staged|untracked|local|pending|dirty|git status|"
        r"working tree|current branch|stash\w*|modified)\b",
        about,
    ) or has(TREE, about):
        return Kind.TREE_STATE
    if re.match(
        rf"(?:all |any |the |which |me )*(?:currently )?(?:failing|failed|broken|red|flaky) (?:\w+ )?{TESTS}\b", about
    ):
        return Kind.TESTS_PASS
    if re.match(
        rf"(?:all |any |the |a )*(?:latest |last |current |recent |failing |failed |red )*(?:{CI}|"
        rf"build)\b(?: (?:runs?|status|state|results?))*(?: .*)?$",
        about,
    ) and re.search(r"\b(?:runs?|status|state|results?|failing|failed|red)\b", about):
        return Kind.CI_STATE
    if re.match(r"(?:the )?(?:status|state|results?|outcome) of\b", about) and re.search(
        rf"{CI}|\bbuild\b|\brun\b", about
    ):
        return Kind.CI_STATE
    if has(HISTORY, about) and not re.search(
        r"\b(?:code|function|class|file|module|place|part|parser)\b(?! .*\bhistory\b)", about
    ):
        return Kind.HISTORY
    if has(REVIEW, text) and re.search(rf"\b{FLAWS}\b", text) and verb not in ("open", "go", "goto"):
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
