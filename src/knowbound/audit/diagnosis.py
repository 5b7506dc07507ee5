"""Exactly one diagnosis per turn: the first of the table in docs/audit.md that fits, and its next action.

The evidence that a turn's calls brought is graded by the levels of specification 3, part I. The specification grades
what its own tools bring; a trace holds other tools' calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from knowbound.audit.answer import Answer, Checked
from knowbound.audit.checks import Check, Ended
from knowbound.audit.facts import GitAct, TurnFacts
from knowbound.audit.runs import Run
from knowbound.core.audit import KINDS, UNSUPPORTED, AuditFinding, Claim, Diagnosis, FindingCode, Support
from knowbound.core.evidence import Evidence, EvidenceClass, EvidenceGap, Intent, Place, Quality, strength_of
from knowbound.core.trace import Outcome, ToolCall, ToolKind
from knowbound.text.redact import redact
from knowbound.traces.turns import TraceTurn

_ASKING_TOOLS = frozenset({"askuserquestion", "ask_user", "ask_user_question", "request_user_input", "exitplanmode"})
_ENDING_TOOLS = frozenset({"submit", "finish", "exit_plan_mode", "task_complete", "attempt_completion"})
_API_ERROR = re.compile(
    r"^\s*(?:API Error\b|\[?Request (?:interrupted|timed out)|Error: (?:429|5\d\d)\b|Prompt is too long)", re.I
)
# The last words announce the next step, and it does not come.
_ANNOUNCES = re.compile(
    r"^(?:now,? )?(?:let me (?!know\b)|i(?:'|’)?(?:ll| will) now |i(?:'|’)m (?:now |also )?"
    r"(?:updating|running|checking|adding|fixing|writing|reading|looking|verifying|making|creating|moving|testing|"
    r"patching|editing|applying|implementing|replacing|rerunning|wiring|tightening|inspecting|searching) )"
)
# The agent says that what it was given is wrong. Only where the thing that is wrong was given to it.
_SAYS_WRONG = re.compile(
    r"\b(?:contradict(?:s|ed|ing)?|conflicts? with|is (?:wrong|outdated|stale|incorrect|out of date|misleading)|"
    r"(?:has|contains) (?:an error|a bug|a mistake)|does(?:n't| not) match)\b"
)
_GIVEN_THING = re.compile(
    r"\b(?:check(?:er)?(?: script)?|spec(?:ification)?|claude\.md|agents\.md|readme|docs?|documentation|instructions?|"
    r"memory|the plan|the issue says|visible tests?|your (?:assumption|premise))\b|check\.py|test_visible"
)
_SAYS_UNKNOWN = re.compile(
    r"\bi(?:'ve| have| was|'m)? ?(?:could(?:n't| not)|can(?:'t|not)|was(?:n't| not) able to|unable to|didn't|did not) "
    r"(?:\w+ ){0,2}(?:find|locate|determine|identify|verify|confirm|reproduce)\b"
    r"|\bi don't (?:know|have (?:access|information))"
    r"|\bno (?:smoking gun|documentation|information|evidence) (?:on|about|for|that|from|in)\b"
    r"|(?<!confirms )(?<!confirmed )\b(?:my|best|strong) (?:guess|hypothesis)\b"
)
_STEP_BY_CODE: dict[FindingCode, str] = {
    FindingCode.FAILURE_LEFT_OUT: "read the failed run, and run it again",
    FindingCode.NO_TESTS_RAN: "find out why no tests were collected",
}
_LONGEST_STEP = 120
NOT_FINAL = "its last words announce or wait for something that did not come"


class TurnSigns(msgspec.Struct, frozen=True):
    """Verdicts of other lenses about a turn."""

    contradicted: str = ""  # the injected item that the turn contradicts
    unused: str = ""  # an injected item on topic, where none was used


class TurnDiagnosis(msgspec.Struct, frozen=True):
    """The diagnosis of a turn, and why."""

    diagnosis: Diagnosis
    why: str
    item: str = ""


def why_unanswered(turn: TraceTurn) -> str:
    """Return why a turn has no answer; "" where it has one."""
    main_steps = [step for step in turn.steps if not step.agent_id]
    if not main_steps:
        return "no answer of the agent"
    last = main_steps[-1]
    if turn.broken is not None and turn.broken.line > max(last.line, *(said.line for said in last.said), 0):  # the end
        return f"the agent failed: {turn.broken.reason}"[:200]
    messages = [said for said in last.said if said.text.strip()]
    if messages and _API_ERROR.match(messages[-1].text):
        return "an API error is its last word"
    if not last.calls:
        if messages and len(main_steps) > 1 and _announces(messages[-1].text):  # the only step may be the answer
            return NOT_FINAL
        return "" if messages else "no answer of the agent"
    last_call = last.calls[-1]
    name, is_rejected = last_call.name.lower(), last_call.outcome is Outcome.REJECTED
    if name in _ENDING_TOOLS or (name in _ASKING_TOOLS and not is_rejected):
        return ""  # the call is the answer, or a question that ends the turn
    if messages and messages[-1].line > last_call.line:  # the words came after the calls
        return NOT_FINAL if _announces(messages[-1].text) else ""
    return "the trace ends in the middle of its work"


def _announces(text: str) -> bool:
    """Report whether the last sentence says what the agent does next, or ends with a colon: nothing follows it."""
    if text.rstrip(" *_\n").endswith((":", "：")):
        return True
    last = text.strip().rsplit("\n", 1)[-1]
    sentence = re.split(r"(?<=[.!?]) ", last)[-1].lower()
    return bool(_ANNOUNCES.match(sentence)) and sentence.endswith((".", ":")) and "background" not in text.lower()


def diagnose(
    unanswered: str,
    answer: Answer | None,
    claims: list[Checked],
    facts: TurnFacts,
    signs: TurnSigns,
    intent: Intent,
    gaps: Sequence[EvidenceGap],
) -> TurnDiagnosis:
    """Return the first diagnosis that fits. Grounded needs the evidence that the intent requires (specification 3)."""
    if unanswered:
        return TurnDiagnosis(Diagnosis.INCOMPLETE, unanswered)
    judged = [claim.claim for claim in claims]
    if _is_chat(answer, judged, facts):
        return TurnDiagnosis(Diagnosis.CHAT, "it states nothing about the work or the code")
    if signs.contradicted:
        return TurnDiagnosis(Diagnosis.MISLED, "an injected item is contradicted by the turn", signs.contradicted)
    unsupported = [claim for claim in judged if claim.important and claim.support in UNSUPPORTED]
    if unsupported:
        return TurnDiagnosis(Diagnosis.UNSUPPORTED, unsupported[0].why)
    # The agent's own words about its input or its search are no evidence: they come after the claims.
    if answer is not None and (wrong := _sentence_on_wrong_input(answer)):
        return TurnDiagnosis(Diagnosis.MISLED, wrong)
    if answer is not None and (lack := _sentence_on_unknown(answer)) and not facts.edits:
        return TurnDiagnosis(Diagnosis.BLIND, lack)
    if signs.unused:
        return TurnDiagnosis(Diagnosis.IGNORED, "injected items were on topic, and none was used", signs.unused)
    important = [claim for claim in judged if claim.important]
    if not important:
        return TurnDiagnosis(Diagnosis.UNKNOWN, "neither rules nor a model have judged what it states")
    if undecided := [claim for claim in important if claim.support is not Support.SUPPORTED]:
        return TurnDiagnosis(Diagnosis.UNKNOWN, f"undecided: {undecided[0].why}")
    if gaps:
        needs = "; ".join(f"{gap.cls} at {gap.need.value}, has {gap.have.value}" for gap in gaps)
        return TurnDiagnosis(Diagnosis.UNKNOWN, f"{intent.value.capitalize()} needs {needs}")
    return TurnDiagnosis(Diagnosis.GROUNDED, "its important claims are supported, each by a cited call")


def _is_chat(answer: Answer | None, claims: list[Claim], facts: TurnFacts) -> bool:
    """Report whether a turn only asks or talks: nothing was decided, changed or run, and no code is spoken of."""
    if answer is None:
        return True  # it stopped to ask
    if any(claim.is_decided for claim in claims):
        return False
    if facts.edits or facts.gits or facts.runs:
        return False
    asks = answer.text.rstrip(" *_`\n").endswith("?")
    return asks or (
        not facts.calls and not any(not statement.is_open and "`" in statement.text for statement in answer.statements)
    )


def _sentence_on_wrong_input(answer: Answer) -> str:
    """Return the sentence in which the agent says that what it was given is wrong; "" if there is none."""
    for statement in answer.statements:
        if (
            _SAYS_WRONG.search(statement.low)
            and _GIVEN_THING.search(statement.text.lower())
            and "?" not in statement.masked
        ):
            return statement.text[:200]
    return ""


def _sentence_on_unknown(answer: Answer) -> str:
    """Return the sentence in which the agent says what it does not know; "" if there is none."""
    return next((statement.text[:200] for statement in answer.statements if _SAYS_UNKNOWN.search(statement.low)), "")


def next_step(
    verdict: TurnDiagnosis, claims: tuple[Claim, ...], findings: tuple[AuditFinding, ...], missed: list[str]
) -> str:
    """Return the next step for a turn; "" if there is none."""
    match verdict.diagnosis:
        case Diagnosis.UNSUPPORTED:
            if findings and findings[0].code in _STEP_BY_CODE:
                return _STEP_BY_CODE[findings[0].code]
            bad = next((claim for claim in claims if claim.important and claim.support in UNSUPPORTED), None)
            return KINDS[bad.kind].next if bad else "get the named evidence"
        case Diagnosis.MISLED:
            return f"knowbound kms supersede {verdict.item}" if verdict.item else "correct what it was given"
        case Diagnosis.IGNORED:
            return f"knowbound kms show {verdict.item}: trim or demote it"
        case Diagnosis.BLIND:
            return (
                f"write down: {redact(missed[0])[:_LONGEST_STEP]}"
                if missed
                else "write down what was missing; add a sample"
            )
        case _:
            return ""


_MANIFEST = re.compile(
    r"(?:^|/)(?:package\.json|go\.mod|Cargo\.toml|pyproject\.toml|CMakeLists\.txt|pom\.xml|build\.gradle\w*|README\w*"
    r"(?:\.\w+)?|CLAUDE\.md|AGENTS\.md|Makefile|mise\.toml)$"
)
_PLAIN_PATTERN = re.compile(r"[\w ./:-]+")
_MOST_ENTRIES = 200  # entries of a turn
_FEW_PLACES = 10  # places of a pattern that one can look through


def evidence_of(calls: Iterable[ToolCall], facts: TurnFacts) -> list[Evidence]:
    """Return the evidence that a turn's calls brought."""
    entries: list[Evidence] = []
    found_paths: set[str] = set()
    for call in calls:
        if len(entries) < _MOST_ENTRIES:
            entries += _lookup_entries(call, found_paths)
    return [*entries, *map(_git_entry, facts.gits), *_check_entries(facts.runs)]


def best_entries(entries: Iterable[Evidence]) -> list[Evidence]:
    """Return the best entry of each class, which is what requirements are compared with."""
    best: dict[EvidenceClass, Evidence] = {}
    for entry in entries:
        best_so_far = best.get(entry.cls)
        if best_so_far is None or (
            entry.quality is not best_so_far.quality and entry.quality.reaches(best_so_far.quality)
        ):
            best[entry.cls] = entry
    return list(best.values())


def _entry(cls: EvidenceClass, call: ToolCall, quality: Quality, count: int, note: str) -> Evidence:
    """Return a call as evidence that found `count` places; all of them are exact if the quality is Strong."""
    places = tuple(Place(path) for path in call.paths[:5])
    exact = count if quality.reaches(Quality.STRONG) else 0
    query = call.query[:200]  # a recorded call has no other target than its query
    return Evidence(cls, call.name, query, query, quality, strength_of(count), places, count, exact, note=note)


def _lookup_entries(call: ToolCall, found_paths: set[str]) -> Iterator[Evidence]:
    """Yield the entries of a search, list or read. A file that a search found is Moderate; a named file is Strong."""
    if call.kind in (ToolKind.SEARCH, ToolKind.LIST):
        count = len(call.paths) or (1 if call.outcome is Outcome.OK else 0)  # its reader may list no paths
        if call.outcome is not Outcome.OK:
            yield _entry(EvidenceClass.FILE_SEARCH, call, Quality.NONE, 0, "nothing matched")
            return
        is_plain = bool(call.query) and bool(_PLAIN_PATTERN.fullmatch(call.query))
        quality = Quality.STRONG if is_plain else Quality.MODERATE if count <= _FEW_PLACES else Quality.WEAK
        found_paths.update(call.paths)
        yield _entry(
            EvidenceClass.FILE_SEARCH, call, quality, count, "exact match" if is_plain else "a pattern matched"
        )
    elif call.kind is ToolKind.READ and call.outcome is Outcome.OK:
        was_found = any(path in found_paths for path in call.paths)
        quality = Quality.MODERATE if was_found else Quality.STRONG
        yield _entry(
            EvidenceClass.FILE_CONTENT, call, quality, 1, "a file that was found" if was_found else "a named file"
        )
        if any(_MANIFEST.search(path) for path in call.paths):
            yield _entry(EvidenceClass.DISCOVERY, call, Quality.MODERATE, 1, "the project's own description")


def _git_entry(act: GitAct) -> Evidence:
    """Return a git or gh command as an entry; a command that failed or has no known end is no evidence."""
    cls, quality = EvidenceClass.GIT_LOG, Quality.WEAK
    if act.verb.startswith("gh "):
        cls = EvidenceClass.CI_WORKFLOW
        quality = Quality.VERIFIED if act.verb.startswith("gh run view") else Quality.MODERATE
    elif act.verb in ("log", "show", "blame", "shortlog", "reflog"):
        names_something = any(not word.startswith("-") for word in act.arguments)
        quality = Quality.STRONG if names_something else Quality.MODERATE
    quality = quality if act.ok else Quality.NONE
    query = " ".join(act.arguments)[:200]
    return Evidence(cls, act.verb, query, query, quality, strength_of(1 if act.ok else 0))


def _check_entries(runs: list[Run]) -> Iterator[Evidence]:
    """Yield the entries of builds and tests; if both passed, they corroborate each other."""
    built = any(Check.BUILD in run.kinds and run.ended is Ended.PASSED for run in runs)
    tested = any(Check.TEST in run.kinds and run.ended is Ended.PASSED for run in runs)
    for run in runs:
        for kind, cls in ((Check.BUILD, EvidenceClass.BUILD), (Check.TEST, EvidenceClass.TEST)):
            if kind in run.kinds:
                count = run.passed if run.passed is not None else int(run.ended is Ended.PASSED)
                quality = Quality.VERIFIED if built and tested and run.ended is Ended.PASSED else _check_quality(run)
                yield Evidence(
                    cls, run.tool, run.command[:200], "", quality, strength_of(count), note=f"it {run.ended}"
                )


def _check_quality(run: Run) -> Quality:
    if run.ended is Ended.PASSED:
        return Quality.MODERATE if run.is_filtered else Quality.STRONG
    return Quality.WEAK if run.ended in (Ended.EMPTY, Ended.UNKNOWN) else Quality.NONE
