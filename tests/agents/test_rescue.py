from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from knowbound.core.lesson import Lesson, LessonKind, LessonStatus
from knowbound.lessons.rescue.scores import read_rescues
from knowbound.store.decisions import KeptLessons
from tests.agents.clients import ClaudeCode
from tests.agents.sandbox import Sandbox
from tests.agents.scripted_model import Call, Reply, Request, Say
from tests.services import until

EXPORT = "export function exportCommand(): void {\n  run();\n}\n"
SENTENCE = "`src/commands/export.ts` does not exist; the file of that name is `src/cli/export.ts`."


def with_index(sandbox: Sandbox) -> None:
    """A project with a source tree, whose index was made when a session started."""
    source = sandbox.project / "src" / "cli" / "export.ts"
    source.parent.mkdir(parents=True)
    source.write_text(EXPORT, "utf-8")
    sandbox.add("The orders service listens on port 8080.")
    sandbox.install()
    sandbox.ask("Hello.").check()
    until((sandbox.data / "codebase.log").exists)


def missing(sandbox: Sandbox) -> Reply:
    """A look at a file that is not there."""
    if isinstance(sandbox.client, ClaudeCode):
        return Call("Read", {"file_path": str(sandbox.project / "src" / "commands" / "export.ts")})
    return sandbox.client.runs("cat src/commands/export.ts")


def with_model(sandbox: Sandbox, place: str) -> Path:
    """A program as the model that is asked in the background, which names this place; what it was asked."""
    program, asked = sandbox.home / "answer.sh", sandbox.home / "asked"
    answer = json.dumps({"places": [{"path": place, "line": 1, "why": "w"}]})
    program.write_text(f"#!/bin/sh\ncat > {asked}\necho '{answer}'\n", "utf-8")
    program.chmod(0o755)
    sandbox.knowbound("model", f"command:{program}", "--background")
    return asked


def texts(request: Request) -> list[str]:
    return [part.text for part in request.parts]


def test_the_request_after_a_miss_holds_where_the_file_really_is(sandbox: Sandbox) -> None:
    with_index(sandbox)
    run = sandbox.ask("Where is the export command?", [missing(sandbox), Say("In src/cli/export.ts.")]).check()
    first, second = run.requests
    assert not first.with_text(SENTENCE)
    (part,) = second.with_text(SENTENCE)
    roles = ("user", "system") if isinstance(sandbox.client, ClaudeCode) else ("developer",)  # "user" before 2.1.327
    assert part.role in roles


def test_a_grep_in_the_wrong_folder_is_left_to_the_agent(sandbox: Sandbox) -> None:
    with_index(sandbox)
    (sandbox.project / "src" / "api").mkdir()
    (sandbox.project / "src" / "api" / "server.ts").write_text("listen();\n", "utf-8")
    if isinstance(sandbox.client, ClaudeCode):
        search: Reply = Call("Grep", {"pattern": "exportCommand", "path": "src/api"})
    else:
        search = sandbox.client.runs("grep -rn exportCommand src/api")
    run = sandbox.ask("Where is exportCommand defined?", [search, Say("In src/cli.")]).check()
    assert not run.requests[-1].with_text("src/cli/export.ts")


def test_the_same_place_is_said_once_in_a_session(sandbox: Sandbox) -> None:
    with_index(sandbox)
    run = sandbox.ask("Where is it?", [missing(sandbox), missing(sandbox), Say("There.")]).check()
    assert sum(text.count(SENTENCE) for text in texts(run.requests[-1])) == 1


def test_a_call_that_found_something_and_a_session_without_an_index_get_nothing(sandbox: Sandbox) -> None:
    sandbox.add("The orders service listens on port 8080.")
    sandbox.install()
    found = sandbox.client.runs("cat README.md")
    run = sandbox.ask(
        "What is this?", [missing(sandbox), found, Say("Orders.")], KNOWBOUND_RESCUE_ENABLED="false"
    ).check()
    assert not run.requests[-1].with_text("does not exist; ")
    assert not (sandbox.data / "codebase.db").exists()


def test_off_says_nothing_after_a_miss(sandbox: Sandbox) -> None:
    with_index(sandbox)
    sandbox.knowbound("off")
    run = sandbox.ask("Where is it?", [missing(sandbox), Say("There.")]).check()
    assert not run.requests[-1].with_text(SENTENCE)


def test_a_command_that_fails_as_an_accepted_lesson_says_is_answered_with_it(sandbox: Sandbox) -> None:
    with_index(sandbox)
    lesson = Lesson(
        id="5e6f7a8b",
        kind=LessonKind.COMMAND,
        text="Run `make unit`, not `shop-tests unit`.",
        file="CLAUDE.md",
        project=sandbox.project.name,
        status=LessonStatus.ACCEPTED,
        names=["misused:shop-tests unit"],
    )
    with closing(KeptLessons(sandbox.data)) as store:
        store.keep([lesson])
    run = sandbox.ask("Run the tests.", [sandbox.client.runs("shop-tests unit"), Say("They ran.")]).check()
    first, second = run.requests
    said = "In this project: Run `make unit`, not `shop-tests unit` (lesson 5e6f7a8b)."
    assert not first.with_text(said)
    assert second.with_text(said)


def test_a_name_that_only_an_item_knows_is_answered_with_its_sentence(sandbox: Sandbox) -> None:
    with_index(sandbox)
    id_ = sandbox.add("The ledger_export job is defined in the warehouse repository.")
    if isinstance(sandbox.client, ClaudeCode):
        search: Reply = Call("Grep", {"pattern": "ledger_export"})
    else:
        search = sandbox.client.runs("grep -rn ledger_export src")  # not in the data folder, which has the item
    run = sandbox.ask("Go on.", [search, Say("It is elsewhere.")]).check()
    assert run.requests[-1].with_text(f"The ledger_export job is defined in the warehouse repository (item {id_}).")


def test_where_rules_are_silent_the_model_s_place_comes_with_a_later_tool_event(sandbox: Sandbox) -> None:
    asked = with_model(sandbox, "src/cli/export.ts")
    for number in range(9):  # in many files, so that rules neither name one place nor call it absent
        (sandbox.project / f"n{number}.md").write_text("writeSpreadsheet\n", "utf-8")
    with_index(sandbox)
    said = "`writeSpreadsheet` is not there; a model takes `src/cli/export.ts:1` to be meant."
    if isinstance(sandbox.client, ClaudeCode):
        search: Reply = Call("Grep", {"pattern": "writeSpreadsheet", "path": "src"})
    else:
        search = sandbox.client.runs("grep -rn writeSpreadsheet src")
    left = [search, sandbox.client.runs("cat README.md"), sandbox.client.runs("cat README.md"), Say("There.")]

    def script(_request: Request) -> Reply:
        if len(left) == 3:  # the miss is over: the model answers meanwhile
            until(lambda: any((sandbox.data / "late").glob("*~rescue")))
        return left.pop(0)

    run = sandbox.ask("Where is the spreadsheet written?", script).check()
    assert [sum(text.count(said) for text in texts(request)) for request in run.requests] == [0, 0, 1, 1]
    assert "writeSpreadsheet" in asked.read_text("utf-8")
    [record] = [one for one in read_rescues(sandbox.data) if one.model]
    assert (record.rule, record.delivered, bool(record.late_at)) == ("model", True, True)
