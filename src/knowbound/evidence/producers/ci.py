"""CIWorkflow: what GitHub says about the workflow runs, through the user's own `gh` (specification 3, CIWorkflow).

| evidence | level |
| --- | --- |
| the list of runs is empty | Weak |
| a list of runs, none of the workflow asked for | Moderate |
| a run of the workflow asked for (of any, if none was named) | Strong |
| `gh run view` confirms failure or success: GitHub is authoritative, the planner makes it Verified | Verified |
| to explain a failure: the last run passed, or is still going | it says so, and explains nothing |
| `gh` is not installed, not logged in, knows no repository, does not answer | None, with the reason |

The network is used only here, only through `gh`, and only for a question that is about CI. `gh pr list` and other
answers of the same program are no evidence of this class.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import TypeVar

import msgspec

from knowbound.codebase.manifests import Inventory
from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Place, Quality, Shows
from knowbound.evidence.producers.protocol import CI, LONGEST_NOTE, Ask, Context, Producer
from knowbound.git import GIT_CONFIG
from knowbound.process import Ran, clean_environment, run
from knowbound.text.english import STOP_WORDS
from knowbound.text.printable import counted, listed, one_line
from knowbound.text.terms import has_phrase, split_words

_LISTED_RUNS = 50  # runs asked for
_WORKFLOW_BYTES = 200_000
_MOST_WORKFLOWS = 200
_NAME_CHARACTERS, _BRANCH_CHARACTERS, _OUTCOME_CHARACTERS = 60, 40, 30  # that are shown of a run
# The user's settings of gh, and how to reach the network; nothing else of the environment.
_PASSED_ON = (
    "GH_TOKEN GITHUB_TOKEN GH_ENTERPRISE_TOKEN GITHUB_ENTERPRISE_TOKEN GH_HOST GH_REPO GH_CONFIG_DIR XDG_CONFIG_HOME "
    "HTTPS_PROXY HTTP_PROXY NO_PROXY https_proxy http_proxy no_proxy SSL_CERT_FILE SSL_CERT_DIR "
    "DBUS_SESSION_BUS_ADDRESS"
).split()
_QUIET = {"GH_PROMPT_DISABLED": "1", "GH_NO_UPDATE_NOTIFIER": "1", "GH_PAGER": "cat", "CLICOLOR": "0"}
_ABOUT_CI = re.compile(
    r"\b(?:ci|cd|continuous\s+integration|workflows?|pipelines?|github\s+actions?|actions?|nightly|gh|runs?|checks?)\b",
    re.I,
)
_WORKFLOW_FORMS = tuple(
    re.compile(form, re.I)
    for form in (
        r"[`\"“]([^`\"”]+)[`\"”]\s+(?:workflow|pipeline|action)",
        r"\b(?:workflow|pipeline|action)\s+(?:called|named)\s+[`\"“]?([\w./-]+)",
        r"\b(?:workflow|pipeline|action)\s+[`\"“]([^`\"”]+)[`\"”]",
        r"\b([\w./-]+)\s+(?:workflow|pipeline|action)s?\b",
        r"\b([\w./-]+\.ya?ml)\b",
    )
)
_JOB_FORM = re.compile(r"`([^`]+)`|\b([\w.-]+)\s+(?:job|step|stage|check|tests?)\b", re.I)
_NO_NAME = STOP_WORDS | frozenset(
    "broken ci current fail failed failing fails github latest newest pass passing red run runs status unit test "
    "last".split()
)


class WorkflowRun(msgspec.Struct, frozen=True, rename="camel"):
    """One run of a workflow, as `gh run list --json` prints it."""

    database_id: int
    workflow_name: str = ""
    status: str = ""
    conclusion: str | None = None
    head_branch: str = ""
    created_at: str = ""
    url: str = ""

    @property
    def has_ended(self) -> bool:
        """Report whether the run has a conclusion."""
        return self.status == "completed" and bool(self.conclusion)

    @property
    def shows(self) -> Shows:
        """Result of the run; a run that has not ended, or was skipped, shows nothing."""
        if not self.has_ended:
            return Shows.NOTHING
        by_conclusion = {"success": Shows.PASSES, "skipped": Shows.NOTHING, "neutral": Shows.NOTHING}
        return by_conclusion.get(self.conclusion or "", Shows.FAILS)  # failure, timed_out, cancelled, …

    def __str__(self) -> str:
        outcome = self.conclusion or self.status or "unknown"
        where = f" on {one_line(self.head_branch, _BRANCH_CHARACTERS)}" if self.head_branch else ""
        name, day = one_line(self.workflow_name, _NAME_CHARACTERS), one_line(self.created_at[:10])
        return f"{name} {self.database_id}: {one_line(outcome, _OUTCOME_CHARACTERS)}{where}, {day}"


class JobStep(msgspec.Struct, frozen=True):
    """A step of a job."""

    name: str = ""
    conclusion: str | None = None


class RunJob(msgspec.Struct, frozen=True):
    """A job of a run."""

    name: str = ""
    conclusion: str | None = None
    steps: list[JobStep] | None = None


class RunDetails(msgspec.Struct, frozen=True, rename="camel"):
    """`gh run view --json`."""

    conclusion: str | None = None
    status: str = ""
    workflow_name: str = ""
    jobs: list[RunJob] | None = None


class Workflow(msgspec.Struct, frozen=True):
    """A workflow file: where it is and how it calls itself."""

    path: str
    name: str


def local_workflows(context: Context) -> list[Workflow]:
    """The workflows of .github/workflows, by their `name:` line; links and oversized files are left out."""
    folder = ".github/workflows"
    try:
        with os.scandir(context.root / folder) as entries:
            files = sorted(entry.name for entry in entries if entry.is_file(follow_symlinks=False))
    except OSError:
        return []
    inventory = Inventory(context.root, ())  # to read files safely: without a list of them
    found = []
    for file in [file for file in files if file.endswith((".yml", ".yaml"))][:_MOST_WORKFLOWS]:
        text = (inventory.read(f"{folder}/{file}", _WORKFLOW_BYTES) or b"").decode("utf-8", "replace")
        found_name = re.search(r"^name:[ \t]*(?:\"([^\"\n]*)\"|'([^'\n]*)'|([^#\n]*))", text, re.M)
        groups = found_name.groups() if found_name else ()
        name = next((group.strip() for group in groups if group and group.strip()), "")
        found.append(Workflow(f"{folder}/{file}", name or f"{folder}/{file}"))  # GitHub too falls back to the path
    return found


def asked_workflows(question: str, names: Sequence[str], files: Sequence[Workflow] = ()) -> list[str] | None:
    """Return the names that a question asks for; an empty list if it names another workflow, None if it names none."""
    words = split_words(question)
    paths = {workflow.name: workflow.path for workflow in files}
    found = []
    for name in dict.fromkeys(names):
        stem = paths.get(name, "").rpartition("/")[2].rpartition(".")[0]  # of its file: a question may say that
        phrases = [split_words(text) for text in (name, stem) if text and split_words(text)]
        if any(has_phrase(words, phrase) for phrase in phrases):
            found.append(name)
    if found:
        longest = max(len(split_words(name)) for name in found)  # "Docs build" is not "Build"
        return [name for name in found if len(split_words(name)) == longest]
    named = (match[1] for form in _WORKFLOW_FORMS for match in form.finditer(question))
    return [] if any(not _NO_NAME.issuperset(text.lower().split()) for text in named) else None


class GhRefusedError(Exception):
    """`gh` cannot say, and why."""


_Shape = TypeVar("_Shape")


def _gh_json(context: Context, shape: type[_Shape], *arguments: str) -> _Shape:
    """Ask gh for JSON of a known shape."""
    ran = _run_gh(context, *arguments)
    if ran.code != 0:
        raise GhRefusedError(_refusal(ran, context))
    try:
        return msgspec.json.decode(ran.out, type=shape)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        raise GhRefusedError(f"gh {' '.join(arguments[:2])} did not print what it should") from None


def _run_gh(context: Context, *arguments: str) -> Ran:
    """Run gh with the user's login and nothing else of the environment."""
    env = {name: os.environ[name] for name in _PASSED_ON if name in os.environ} | _QUIET | GIT_CONFIG
    limits = context.limits
    seconds = min(limits.call_seconds, context.seconds_left)
    environment = clean_environment(context.root, env)
    return run(["gh", *arguments], context.root, seconds, limits.output_bytes, environment=environment)


def _refusal(ran: Ran, context: Context) -> str:
    """Return the reason why gh gave no answer."""
    message = ran.err.decode("utf-8", "replace")
    if ran.missing:
        return "gh (the GitHub CLI) is not installed"
    if ran.timed_out:
        return "gh did not answer in time"
    if ran.cut:
        return f"gh printed more than {context.limits.output_bytes:,} bytes"
    if ran.code == 4 or "gh auth login" in message or "HTTP 401" in message:  # 4: gh's own code for "log in first"
        return "gh is not logged in (gh auth login)"
    if "not a git repository" in message:
        return "not a git repository"
    if "no git remotes" in message or "none of the git remotes" in message:
        return "this repository has no remote on GitHub"
    return f"gh cannot say: {one_line(message) or 'it gives no reason'}"


class Runs(msgspec.Struct, frozen=True):
    """The runs that GitHub lists, and those that the question asks for."""

    all: list[WorkflowRun]
    asked: list[WorkflowRun]  # newest first
    named: bool  # the question names a workflow

    @classmethod
    def ask(cls, ask: Ask, context: Context) -> Runs:
        """List the runs and match them to the workflow asked for."""
        fields = "databaseId,workflowName,status,conclusion,headBranch,createdAt,url"
        runs = _gh_json(context, list[WorkflowRun], "run", "list", "--limit", str(_LISTED_RUNS), "--json", fields)
        workflows = local_workflows(context)
        names = [run.workflow_name for run in runs] + [workflow.name for workflow in workflows]
        wanted = asked_workflows(ask.question, names, workflows)
        asked = runs if wanted is None else [run for run in runs if run.workflow_name in wanted]
        return cls(runs, asked, wanted is not None)


def grade_runs(runs: Runs, intent: Intent = Intent.STATUS) -> tuple[Quality, str]:
    """Return the level of a list of runs by specification 3 (empty, listed, of the requested workflow), and why."""
    if not runs.all:
        return Quality.WEAK, "GitHub lists no runs"
    if not runs.asked:
        names = listed(list(dict.fromkeys(run.workflow_name for run in runs.all)))
        return Quality.MODERATE, f"{counted(len(runs.all), 'run')}, none of the workflow asked for (there are: {names})"
    # To explain a failure an earlier run that has ended will do.
    if not runs.asked[0].has_ended and not (intent is Intent.DIAGNOSE and any(run.has_ended for run in runs.asked)):
        return Quality.MODERATE, f"the last run is still going: {runs.asked[0]}"
    return Quality.STRONG, f"{counted(len(runs.asked), 'run')}, the last one {runs.asked[0]}"


def _is_about_ci(ask: Ask) -> bool:
    asks_for_ci = ask.intent is Intent.DIAGNOSE or _ABOUT_CI.search(ask.question) is not None
    return ask.cls is EvidenceClass.CI_WORKFLOW and asks_for_ci


def _run_place(run: WorkflowRun) -> Place:
    return Place(run.url or f"run {run.database_id}", 0, one_line(run.workflow_name))


class RunList(Producer):
    """The list of workflow runs, each with its end."""

    name = "gh run list"
    cls = EvidenceClass.CI_WORKFLOW
    independent_of = CI

    def can(self, ask: Ask) -> int:
        """For questions about CI."""
        return 1 if _is_about_ci(ask) else 0

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Return one entry: the runs of the requested workflow, or of any workflow if none is named."""
        try:
            runs = Runs.ask(ask, context)
        except GhRefusedError as reason:
            return ask.nothing(self.name, str(reason), "")
        quality, note = grade_runs(runs, ask.intent)
        shown = runs.asked or runs.all
        chosen = choose_run(runs.asked, ask.intent) if ask.intent is Intent.DIAGNOSE else next(iter(runs.asked), None)
        return ask.evidence(
            self.name,
            quality,
            map(_run_place, shown),
            exact=len(runs.asked) if runs.named else 0,
            note=note,
            query=f"--limit {_LISTED_RUNS}",
            shows=chosen.shows if chosen else Shows.NOTHING,
        )


class RunView(Producer):
    """One workflow run: its jobs, its steps, and the log of what failed."""

    name = "gh run view"
    cls = EvidenceClass.CI_WORKFLOW
    independent_of = CI
    authoritative = True  # GitHub is right by definition about how its own runs ended

    def can(self, ask: Ask) -> int:
        """Rate this producer: for questions about CI. It lists the runs itself, so it comes first."""
        return 2 if _is_about_ci(ask) else 0

    def produce(self, ask: Ask, context: Context) -> Evidence:
        """Return one entry: the last finished (to explain a failure, the last failed) run of the requested workflow."""
        try:
            runs = Runs.ask(ask, context)
            chosen = choose_run(runs.asked, ask.intent)
            if chosen is None:
                raise GhRefusedError(_why_no_run(runs))
            fields = "conclusion,status,workflowName,jobs"
            view = _gh_json(context, RunDetails, "run", "view", str(chosen.database_id), "--json", fields)
        except GhRefusedError as reason:
            return ask.nothing(self.name, str(reason), "")
        failed = failed_steps(view)
        job_count = max(1, len(view.jobs or ()))  # a run that could not start has none: it is still one run
        log = ""
        if view.conclusion == "failure":  # of a long log its beginning, where the first error is
            log = _run_gh(context, "run", "view", str(chosen.database_id), "--log-failed").text
        is_confirmed = view.status == "completed" and view.conclusion == chosen.conclusion  # list and view agree
        did_not_fail = "it did not fail" if ask.intent is Intent.DIAGNOSE and chosen.shows is Shows.PASSES else ""
        newest = runs.asked[0]
        still_going = f"a newer run is still going: {newest}" if not newest.has_ended else ""
        error_line = first_failure(log)
        other_failure = (
            _about_another_failure(ask.question, (chosen.workflow_name, *failed, error_line)) if failed else ""
        )
        differs = (
            "" if is_confirmed else f"the list says {chosen.conclusion}, the view {view.conclusion or view.status}"
        )
        remarks = (other_failure, differs, did_not_fail, str(chosen), listed(failed), error_line, still_going)
        is_settled = is_confirmed and not other_failure and (not still_going or ask.intent is Intent.DIAGNOSE)
        return ask.evidence(
            self.name,
            Quality.STRONG if is_settled else Quality.MODERATE,
            (_run_place(chosen), *(Place(chosen.url or f"run {chosen.database_id}", 0, step) for step in failed)),
            count=job_count,
            exact=len(failed) or job_count,
            note=one_line("; ".join(filter(None, remarks)), LONGEST_NOTE),
            query=str(chosen.database_id),
            shows=chosen.shows if is_confirmed and not other_failure else Shows.NOTHING,
            disputes=bool(differs or other_failure or (still_going and ask.intent is not Intent.DIAGNOSE)),
        )


def _about_another_failure(question: str, failure_texts: Sequence[str]) -> str:
    """Return words that say that another thing failed than the quoted name, job, step or test asked for; else ""."""
    named = [match[1] or match[2] for match in _JOB_FORM.finditer(question)]
    wanted = [name for name in named if not _NO_NAME.issuperset(name.lower().split())]
    failure_words = [split_words(text) for text in failure_texts]
    if not wanted or any(has_phrase(words, split_words(name)) for name in wanted for words in failure_words):
        return ""
    return f"another failure, not of {wanted[0]!r}"


def definition_of_pipeline(question: str, context: Context) -> str:
    """The workflow file that the question names, else the folder of workflows: where a failing pipeline is defined."""
    workflows = local_workflows(context)
    named = asked_workflows(question, [workflow.name for workflow in workflows], workflows) or []
    paths = [workflow.path for workflow in workflows if workflow.name in named]
    return paths[0] if len(paths) == 1 else ".github/workflows/"


def _why_no_run(runs: Runs) -> str:
    """Return the reason why no run can be looked at: none at all, none of this workflow, or still going."""
    if not runs.all:
        return "GitHub lists no runs"
    going = f": still going is {runs.asked[0]}" if runs.asked else ""
    return f"no finished run of the workflow asked for{going}"


def choose_run(runs: list[WorkflowRun], intent: Intent) -> WorkflowRun | None:
    """Return the newest finished run; to diagnose, the newest that failed, if it is not old news.

    A workflow whose newest finished run passed does not fail any more: then that run is the evidence.
    """
    newest_by_workflow: dict[str, WorkflowRun] = {}
    for listed_run in runs:
        if listed_run.has_ended:
            newest_by_workflow.setdefault(listed_run.workflow_name, listed_run)
    finished = list(newest_by_workflow.values())
    if intent is Intent.DIAGNOSE:
        finished.sort(key=lambda listed_run: listed_run.conclusion == "success")  # failed workflows first
    return finished[0] if finished else None


def failed_steps(view: RunDetails) -> list[str]:
    """Return the jobs that did not succeed, each with the step that failed."""
    found = []
    for job in view.jobs or ():
        if job.conclusion in ("failure", "timed_out", "startup_failure", "cancelled", "action_required"):
            steps = [step.name for step in job.steps or () if step.conclusion in ("failure", "timed_out")]
            found.append(f"{job.name} / {steps[0]}" if steps else job.name)
    return [one_line(name) for name in found]


def first_failure(log: str) -> str:
    """Return the first line of a log that names an error, without job, step and time before it; "" for none."""
    lines = (line.rpartition("\t")[2] for line in log.splitlines())
    plain = (re.sub(r"^\ufeff?\d{4}-\d\d-\d\dT[\d:.]+Z\s*", "", line) for line in lines)
    errors = (line for line in plain if re.search(r"##\[error\]|\b(?:error|failed|failure|fatal)\b", line, re.I))
    return one_line(next(errors, "").replace("##[error]", ""))
