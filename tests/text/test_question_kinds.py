"""What everyday phrasings want: the request decides, not a keyword in it."""

from __future__ import annotations

import pytest

from knowbound.core.evidence import QuestionKind
from knowbound.text.questions.clauses import Mood, clauses_of
from knowbound.text.questions.intent import read_question

PHRASINGS: dict[str, list[str]] = {
    "callers": [
        "does anything reference ERR_TIMEOUT",
        "if I delete utils.retry, what breaks?",
        "is it safe to delete legacy.py",
        "is parse_date used anywhere",
        "what else uses this cache class",
        "what will be affected if I change the signature of load()",
        "where do we import numpy",
        "who calls make_client",
    ],
    "chat": [
        "good night",
        "great work today",
        "hmm interesting",
        "no that's fine",
        "ok bye",
        "ok got it, thanks for the help",
        "thank you so much!",
        "the tests pass now, thanks!",
    ],
    "ci_cause": [
        "Which test broke the nightly?",
        "Why is my pull request red?",
        "could you dig into why the integration job exploded",
        "my PR's checks are failing, can you see what's wrong?",
        "nightly failed again, why",
        "reason for the red release build?",
        "the ubuntu job fails with exit code 137, what does that come from",
        "why do the tests fail",
    ],
    "ci_state": [
        "are the nightly builds healthy",
        "did the deploy go out ok",
        "has the release workflow completed",
        "how's CI looking this morning?",
        "is anything red on main",
        "is the pipeline green",
        "what's the ci status of feature/login",
        "which workflows are failing right now",
    ],
    "compare": [
        "are v1 and v2 configs compatible or do they differ",
        "difference between unit and integration test setup",
        "do load() and loads() do the same thing",
        "how do sqlite and postgres backends compare",
        "how does our retry compare to tenacity's",
        "pros and cons of the two caches here",
        "tell me the differences between config.dev.yml and config.prod.yml",
        "what sets Worker apart from SimpleWorker",
    ],
    "compiles": [
        "can the project be compiled without warnings",
        "did my refactoring break the build",
        "does everything type check",
        "does teh project build",
        "does the code build on rust 1.70",
        "does tsc complain about anything",
        "is the code free of compile errors",
        "would it still build without the openssl feature",
    ],
    "explain": [
        "can you summarize what the scheduler does",
        "how do we decide whether a run failed",
        "how does CI deploy the docs",
        "how does the compiler handle generics",
        "i don't understand the plugin system",
        "what are the build targets",
        'what does "make lint" do?',
        "why does compile() take a flags argument",
    ],
    "history": [
        "did the default timeout ever change",
        "find the commit that broke the date parser",
        "in what version was --dry-run introduced",
        "in which commit did the tests start using tmp_path",
        "list commits touching the parser",
        "when did we last release",
        "which version introduced async support",
        "who touched the build script last",
    ],
    "locate": [
        "What's the class called that wraps the socket?",
        "i am looking for the code which compares versions",
        "in which file is the pipeline defined",
        "is there any code that compresses logs",
        "where do failed builds get reported",
        "where is the build configured",
        "which module runs the builds",
        "which test checks the retry limit",
    ],
    "modify": [
        "can you make the retries configurable?",
        "please write tests for the parser",
        "replace all tabs with spaces",
        "shorten the commit hash in the footer to 7 chars",
        "stop retrying on 404",
        "the failing test is outdated, delete it",
        "the retry count is hard coded, please make it an option",
        "update the README to mention windows",
    ],
    "review": [
        "any race conditions in the pool",
        "are there memory leaks in the C code",
        "how good is our error handling",
        "is there a race in worker.start()",
        "sanity check my changes to io.py",
        "what are the weak spots of the scheduler",
        "what do you think of the error handling",
        "what would you improve in the api client",
    ],
    "run_build": [
        "build both targets",
        "build the docker image",
        "can you build the project for me?",
        "compile it in release mode",
        "compile the project",
        "kick off a build of the cli",
        "ok, now build",
        "recompile the protobuf stubs",
    ],
    "run_tests": [
        "I added two tests, run them",
        "give the test suite a run",
        "ok now run the linter tests only",
        "please execute the test suite",
        "plz run teh tests",
        "run only the tests that touch the db",
        "run the specs for billing",
        "use pytest to run the api tests",
    ],
    "status": [
        "anything I haven't pushed yet?",
        "did the merge leave conflicts",
        "do I have unpushed commits",
        "do i have local modifications",
        "is my checkout dirty",
        "is there something left to commit",
        "what's in my working directory that git doesn't know about",
        "which branch am I on",
    ],
    "tests_pass": [
        "are the specs happy",
        "are we passing all the integration tests",
        "do we currently have red tests",
        "how many tests are passing",
        "i refactored the cache, is everything in the test suite still working",
        "is test_parser.py passing",
        "is the suite green locally",
        "the suite - is it green?",
    ],
}


@pytest.mark.parametrize(("need", "question"), [(need, one) for need, some in PHRASINGS.items() for one in some])
def test_a_phrasing_is_read_by_what_it_asks_or_orders(need: str, question: str) -> None:
    kind = read_question(question).kind
    assert kind is QuestionKind(need) or (need, kind) == ("locate", QuestionKind.OPEN)


@pytest.mark.parametrize(
    ("message", "moods"),
    [
        ("I bumped httpx, do the tests still pass?", [Mood.STATEMENT, Mood.WHETHER]),
        ("the page size is too small, set it to 100", [Mood.STATEMENT, Mood.ORDER]),
        ("could you please run `pytest -k parser`", [Mood.ORDER]),
        ("everything builds, right?", [Mood.WHETHER]),
        ("I need to know who calls flush()", [Mood.WHAT]),
    ],
)
def test_clauses_ask_order_or_tell(message: str, moods: list[Mood]) -> None:
    assert [clause.mood for clause in clauses_of(message)] == moods


@pytest.mark.parametrize(
    "message", ["where is the charge applied", "the whole test suite", "which locale is used", "brunch menu"]
)
def test_a_word_that_is_only_near_to_one_of_questions_stays(message: str) -> None:
    (clause,) = clauses_of(message)
    assert clause.text == message
