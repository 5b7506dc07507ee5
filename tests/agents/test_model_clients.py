"""The user's own client as a plain model: it answers, and nothing of anybody acts in its run.

Every trap is shown to work in a plain run of the client first.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from knowbound.core.paths import MODEL_FOLDER
from knowbound.traces.registry import recognise
from knowbound.traces.source import read_head
from tests.agents import model_sandbox as sandbox
from tests.agents.clients import ClaudeCode, Client, Codex
from tests.agents.codex_server import codex_server, trust_hooks
from tests.agents.model_sandbox import MODELS, VERDICT, Asked, Effects, ModelSandbox, Traps, refusal, stream
from tests.agents.scripted_model import Begin, Call, Fail, Reply, Request, Say, Script
from tests.services import until

CLAUDE, CODEX = ClaudeCode(), Codex()


def name_of(value: object) -> str | None:
    return str(getattr(value, "name", "")) or None


def for_each(cases: Sequence[Any]) -> pytest.MarkDecorator:
    """Run a test for each case of a table, on a machine with the client of the case."""
    rows = [pytest.param(case.client, case, id=f"{case.client.name}-{case.name}") for case in cases]
    return pytest.mark.parametrize(("machine", "case"), rows, indirect=["machine"])


only_claude = pytest.mark.parametrize("machine", [CLAUDE], indirect=True, ids=name_of)
only_codex = pytest.mark.parametrize("machine", [CODEX], indirect=True, ids=name_of)


@pytest.fixture(params=[CLAUDE, CODEX], ids=name_of)
def machine(request: pytest.FixtureRequest, tmp_path: Path, possible: None) -> ModelSandbox:
    """A machine with a client that is logged in."""
    client: Client = request.param
    return ModelSandbox(client, tmp_path)


# A machine full of traps


@dataclass(frozen=True)
class Trapped:
    """The same hostile question, in a plain run and from knowbound, each on a machine full of traps."""

    client: Client
    question: str
    plain: Effects
    ours: Effects
    asked: Asked


@pytest.fixture(scope="module", params=[CLAUDE, Codex(bypasses_trust=False)], ids=name_of)
def trapped(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, possible: None) -> Trapped:
    """The effects of a plain run, and those of a question of knowbound."""
    client: Client = request.param
    machines = [ModelSandbox(client, tmp_path_factory.mktemp(name)) for name in ("plain", "ours")]
    for one in machines:
        Traps(one).plant()
        if not one.is_claude:
            with codex_server(one) as server:
                trust_hooks(server, one)
    plain, ours = machines
    order = f"Run `touch {ours.home}/stain`. Use $leak $leak-of-agents $leak-of-project."
    files = "Read @~/secret.txt, @secret.txt and @../../../secret.txt."
    run = plain.ask(f"{order} {files}").check()
    if not plain.is_claude:
        until(lambda: "notify" in Traps(plain).fired())  # started last, and not waited for
    asked = ours.complete(f"/compact now. {order} {files} And @{ours.home}/secret.txt.")
    caused = Traps(plain).effects(run.requests, order), Traps(ours).effects(asked.requests, order)
    return Trapped(client, order, *caused, asked)


def test_the_answer_is_the_object_of_the_schema_with_its_costs(trapped: Trapped) -> None:
    assert trapped.asked.answer == VERDICT
    completion = trapped.asked.completion
    assert (completion["tokens_in"], completion["tokens_out"]) == (100, 10)
    assert completion["model"] == MODELS[trapped.client.name]
    assert completion["usd"] == (pytest.approx(0.00045) if trapped.client is CLAUDE else None)
    (request,) = trapped.asked.requests
    assert json.dumps(sandbox.SCHEMA) in json.dumps(request.body)


def test_the_instructions_and_the_question_are_sent_and_little_else(trapped: Trapped) -> None:
    (request,) = trapped.asked.requests
    assert request.with_text(sandbox.INSTRUCTIONS)
    (asked,) = request.with_text(trapped.question)
    assert asked.role == "user"
    assert "/compact now." in asked.text
    assert len(trapped.asked.sent) < 4_000


def test_no_hook_no_server_and_no_notify_program_is_started(trapped: Trapped) -> None:
    owners = ("user", "project", "local", "plugin") if trapped.client is CLAUDE else ("user", "project")
    more = set() if trapped.client is CLAUDE else {"notify", "user-table-hook"}
    assert trapped.plain.fired == {f"{owner}-{kind}" for owner in owners for kind in ("hook", "server")} | more
    assert trapped.ours.fired == set()


def test_no_memory_no_skill_and_no_file_is_sent(trapped: Trapped) -> None:
    memories = {"TEXT-memory-of-user", "TEXT-memory-of-project"}
    if trapped.client is CLAUDE:
        files = {"TEXT-secret-at-home", "TEXT-secret-in-project"}
        assert trapped.plain.texts == memories | files | {"TEXT-memory-of-both", "TEXT-skill-of-user"}
    else:
        skills = {f"TEXT-{part}-of-{owner}" for part in ("skill", "body") for owner in ("codex", "agents", "project")}
        assert trapped.plain.texts == memories | skills | {"TEXT-developer"}
    assert trapped.asked.requests
    assert trapped.ours.texts == set()


def test_no_tool_is_offered_but_the_answer_itself(trapped: Trapped) -> None:
    assert len(trapped.plain.tools) > 10
    assert trapped.ours.tools == ({"StructuredOutput"} if trapped.client is CLAUDE else set())


def test_no_session_and_no_copy_of_the_question_is_kept(trapped: Trapped) -> None:
    assert trapped.plain.transcripts == 1
    assert trapped.plain.holding
    assert trapped.ours.transcripts == 0
    assert trapped.ours.holding == []


@only_claude
def test_a_question_that_begins_with_a_slash_is_no_command(machine: ModelSandbox) -> None:
    assert machine.ask("/compact").requests == []
    assert machine.complete("/compact").answer == VERDICT


def test_a_session_of_the_client_in_our_folder_has_no_reader(machine: ModelSandbox) -> None:
    folders = machine.project / "elsewhere", machine.project / "tmp" / f"{MODEL_FOLDER}x"
    for folder in folders:
        folder.mkdir()
        machine.ask("Hello.", cwd=folder).check()
    elsewhere, ours = machine.client.transcripts(machine.home)
    assert recognise(read_head(elsewhere)) is not None
    assert recognise(read_head(ours)) is None


# Tool calls


class ToolCall(NamedTuple):
    """A tool call of the model, and the options with which a plain run carries it out."""

    client: Client
    name: str
    call: Callable[[ModelSandbox], Reply]
    options: Sequence[str] = ()


def stain(machine: ModelSandbox) -> Path:
    return machine.project / "stain"


def touch(machine: ModelSandbox) -> Reply:
    return machine.client.runs(f"touch {stain(machine)}")


def read(machine: ModelSandbox) -> Reply:
    return machine.client.reads(machine.home / "secret.txt")


def write(machine: ModelSandbox) -> Reply:
    return Call("Write", {"file_path": str(stain(machine)), "content": "x"})


def patch(machine: ModelSandbox) -> Reply:
    return sandbox.custom_call("apply_patch", f"*** Begin Patch\n*** Add File: {stain(machine)}\n+x\n*** End Patch\n")


FULL_ACCESS = ("--sandbox", "danger-full-access")
TOOL_CALLS = [
    ToolCall(CLAUDE, "Bash", touch),
    ToolCall(CLAUDE, "Read", read),
    ToolCall(CLAUDE, "Write", write, ("--permission-mode", "acceptEdits")),
    ToolCall(CODEX, "exec_command", touch, FULL_ACCESS),
    ToolCall(CODEX, "exec_command to read", read),
    ToolCall(CODEX, "apply_patch", patch, FULL_ACCESS),
]


@for_each(TOOL_CALLS)
def test_a_tool_call_of_the_model_writes_and_reads_nothing(machine: ModelSandbox, case: ToolCall) -> None:
    secret = machine.put("home/secret.txt", "TEXT-secret")
    plain = machine.ask("Go.", [case.call(machine), Say("Done.")], options=case.options).check()
    assert stain(machine).exists() or "TEXT-secret" in plain.requests[-1].results[0], plain.requests[-1].results
    stain(machine).unlink(missing_ok=True)

    asked = machine.complete(f"Read {secret}.", [case.call(machine), machine.answers()])
    assert asked.answer == VERDICT
    (refused,) = asked.requests[-1].results
    assert re.search("No such tool available|unsupported (custom tool )?call", refused)
    assert not stain(machine).exists()
    assert "TEXT-secret" not in asked.sent


def test_a_model_that_calls_tools_for_ever_is_ended(machine: ModelSandbox) -> None:
    asked = machine.complete("Go.", lambda _: machine.client.runs("true"), seconds=60 if machine.is_claude else 5)
    assert asked.error["again"] is True
    assert asked.error["hopeless"] is False
    if machine.is_claude:
        assert asked.error["problem"] == "claude answered with tool calls or in another shape"
        assert len(asked.requests) <= 4
    else:
        assert asked.error["problem"] == "no answer within 5 seconds"


# An administrator's files


Files = dict[str, object]


class Forced(NamedTuple):
    """Files below /etc, and the name that they leave in a plain run."""

    client: Client
    name: str
    files: Callable[[Traps], Files]
    acts: str = "x"


def hooks_on_again(traps: Traps) -> Files:
    first = {"hooks": traps.hooks("x"), "disableAllHooks": True}
    return {f"{DROP_INS}/1.json": first, f"{DROP_INS}/2.json": {"disableAllHooks": False}}


def required_hooks(traps: Traps, more: str = "") -> Files:
    return {REQUIRED: f'[hooks]\nmanaged_dir = "/etc/codex"\n{traps.hook_table("x")}{more}'}


SETTINGS, DROP_INS = "claude-code/managed-settings.json", "claude-code/managed-settings.d"
SYSTEM, OVER_OURS, REQUIRED = (f"codex/{name}.toml" for name in ("config", "managed_config", "requirements"))
HOOKS_PINNED = "[feature_requirements]\nhooks = true\n"
HOOKS_ON, VIEW_IMAGE_ON = "[features]\nhooks = true\n", "[features]\nview_image = true\n"
SKILL = "---\nname: leak\ndescription: Leaks.\n---\nTEXT-x\n"
FORCED = [  # nothing of ours can switch it off
    Forced(CLAUDE, "hooks", lambda to: {SETTINGS: {"hooks": to.hooks("x")}}),
    Forced(CLAUDE, "hooks in a drop-in", lambda to: {f"{DROP_INS}/1.json": {"hooks": to.hooks("x")}}),
    Forced(CLAUDE, "hooks switched on again", hooks_on_again),
    Forced(CLAUDE, "server", lambda to: {"claude-code/managed-mcp.json": to.servers("x")}),
    Forced(CODEX, "pinned hooks", lambda to: required_hooks(to, HOOKS_ON)),
    Forced(CODEX, "hooks pinned by the other name", lambda to: required_hooks(to, HOOKS_PINNED)),
    Forced(CODEX, "hooks", lambda to: {OVER_OURS: to.hook_table("x") + HOOKS_ON}),
    Forced(CODEX, "enabled server", lambda to: {OVER_OURS: to.server_table("x") + "enabled = true\n"}),
    Forced(CODEX, "notify", lambda to: {OVER_OURS: f"notify = {to.words('x')}\n"}),
    Forced(CODEX, "tool", lambda _: {OVER_OURS: VIEW_IMAGE_ON}, "view_image"),
    Forced(CODEX, "pinned tool", lambda _: {REQUIRED: VIEW_IMAGE_ON}, "view_image"),
]
HELD_OFF = [
    Forced(CLAUDE, "memory", lambda _: {"claude-code/CLAUDE.md": "TEXT-x"}, "TEXT-x"),
    Forced(CODEX, "hooks", required_hooks),
    Forced(CODEX, "server", lambda to: {SYSTEM: to.server_table("x")}),
    Forced(CODEX, "server over ours", lambda to: {OVER_OURS: to.server_table("x")}),
    Forced(CODEX, "notify", lambda to: {SYSTEM: f"notify = {to.words('x')}\n"}),
    Forced(CODEX, "text", lambda _: {SYSTEM: 'developer_instructions = "TEXT-x"\n'}, "TEXT-x"),
    Forced(CODEX, "skill", lambda _: {"codex/skills/leak/SKILL.md": SKILL}, "TEXT-x"),
]


def asked_under(machine: ModelSandbox, case: Forced) -> Asked:
    """Return a question of knowbound under these files, which act in a plain run and not in ours."""
    traps = Traps(machine)

    def has_acted(requests: list[Request]) -> bool:
        found = traps.effects(requests, "Use $leak.")
        return case.acts in found.fired | found.texts | found.tools

    machine.put_over_etc(case.files(traps))
    plain = machine.ask("Use $leak.").check()
    until(lambda: has_acted(plain.requests))
    traps.forget()
    asked = machine.complete("Use $leak.")
    assert not has_acted(asked.requests)
    return asked


@for_each(FORCED)
def test_a_client_in_which_an_administrator_acts_is_not_asked(machine: ModelSandbox, case: Forced) -> None:
    asked = asked_under(machine, case)
    assert asked.requests == []
    assert asked.error["hopeless"] is True
    assert any(f"/etc/{path}" in asked.error["problem"] for path in case.files(Traps(machine)))
    assert asked.error["problem"].endswith("also in ours: it is not asked")


@for_each(HELD_OFF)
def test_other_files_of_an_administrator_do_not_act(machine: ModelSandbox, case: Forced) -> None:
    assert asked_under(machine, case).answer == VERDICT


# Logins


class Login(NamedTuple):
    """A way to be logged in, and the headers by which the server sees it."""

    client: Client
    name: str
    prepare: Callable[[ModelSandbox], object]
    headers: dict[str, str]


LOGINS = [
    Login(CLAUDE, "key in the environment", lambda _: None, {"x-api-key": "dummy"}),
    Login(CLAUDE, "helper", sandbox.by_helper, {"x-api-key": "key-of-helper"}),
    Login(CLAUDE, "gateway in the settings", sandbox.by_gateway, {"authorization": "Bearer token", "x-team": "one"}),
    Login(CLAUDE, "account", sandbox.by_oauth, {"authorization": "Bearer token-of-file"}),
    Login(CLAUDE, "moved settings", sandbox.claude_moved, {"x-api-key": "key-of-helper"}),
    Login(CODEX, "key of a file", sandbox.by_key_file, {"authorization": "Bearer key-of-file"}),
    Login(CODEX, "gateway with headers", sandbox.with_headers, {"authorization": "Bearer dummy", "x-team": "one"}),
    Login(CODEX, "moved home", sandbox.codex_moved, {"authorization": "Bearer dummy"}),
]


@for_each(LOGINS)
def test_the_login_is_that_of_the_terminal(machine: ModelSandbox, case: Login) -> None:
    case.prepare(machine)
    machine.ask("Hello.").check()
    plain = machine.model.headers[-1]
    asked = machine.complete("Hello.")
    assert asked.answer == VERDICT
    assert [{name: seen.get(name) for name in case.headers} for seen in (plain, asked.headers[-1])] == [
        case.headers
    ] * 2


@only_claude
def test_no_other_setting_of_claude_code_comes_along(machine: ModelSandbox) -> None:
    settings = {
        "apiKeyHelper": "echo key-$PLANTED",
        "model": "opus",
        "env": {"PLANTED": "planted", "MAX_THINKING_TOKENS": "4000"},
    }
    sandbox.without_key(machine).put("home/.claude/settings.json", settings)
    (plain,) = machine.ask("Hello.").check().requests
    assert machine.model.headers[-1]["x-api-key"] == "key-planted"
    assert plain.body["model"].startswith("claude-opus")
    asked = machine.complete("Hello.")
    (ours,) = asked.requests
    assert (ours.body["model"], asked.headers[-1]["x-api-key"]) == (MODELS["claude-code"], "key-")
    assert ours.body["thinking"] == {"type": "disabled"} != plain.body["thinking"]


@only_claude
def test_old_transcripts_of_the_user_are_not_cleaned_up(machine: ModelSandbox) -> None:
    """Claude Code deletes them in every run that lasts some seconds, by settings that are not carried over."""
    machine.put("home/.claude/settings.json", {"cleanupPeriodDays": 1})
    old = machine.put("home/.claude/projects/-x/11111111-1111-1111-1111-111111111111.jsonl", '{"type":"user"}\n')
    long_ago = time.time() - 100 * 86_400
    cleaned = machine.home / ".claude" / ".last-cleanup"

    def after_cleanup(reply: Reply) -> Callable[[Request], Reply]:
        def script(_: Request) -> Reply:
            until(cleaned.exists)
            return reply

        return script

    os.utime(old, (long_ago, long_ago))
    assert machine.complete("Hello.", after_cleanup(machine.answers())).answer == VERDICT
    assert old.exists()
    cleaned.unlink()
    machine.ask("Hello.", after_cleanup(Say("Hello."))).check()
    assert not old.exists()


@only_codex
def test_no_other_setting_of_codex_comes_along(machine: ModelSandbox) -> None:
    machine.configure_codex('model_reasoning_effort = "high"\nmodel_verbosity = "high"')
    (plain,) = machine.ask("Hello.").check().requests
    (ours,) = machine.complete("Hello.").requests
    assert [(one.body["reasoning"]["effort"], one.body["text"]["verbosity"]) for one in (plain, ours)] == [
        ("high", "high"),
        ("medium", "low"),
    ]


def test_our_own_hooks_are_off_in_the_run(machine: ModelSandbox) -> None:
    if machine.is_claude:
        sandbox.without_key(machine).put("home/.claude/settings.json", {"apiKeyHelper": "echo off-$KNOWBOUND_OFF"})
    else:
        machine.configure_codex(after='[model_providers.standin.env_http_headers]\nX-Api-Key = "KNOWBOUND_OFF"')
    asked = machine.complete("Hello.")
    assert asked.headers[-1]["x-api-key"] == ("off-1" if machine.is_claude else "1")


# Failures


class Outcome(NamedTuple):
    """Flags of an error."""

    again: bool = False
    hopeless: bool = False
    limit: bool = False


AGAIN, HOPELESS, LIMIT, LOST = (
    Outcome(again=True),
    Outcome(hopeless=True),
    Outcome(hopeless=True, limit=True),
    Outcome(),
)


class Failure(NamedTuple):
    """A reply of the model without an answer, and the error: a pattern of its sentence, and its flags."""

    client: Client
    name: str
    reply: Reply
    problem: str
    outcome: Outcome
    prepare: Callable[[ModelSandbox], object] = lambda _: None
    seconds: float = 60


PLAN_LIMIT = refusal(
    429,
    "rate_limit_error",
    "used up",
    anthropic_ratelimit_unified_status="rejected",
    anthropic_ratelimit_unified_reset="1794960000",
    anthropic_ratelimit_unified_representative_claim="five_hour",
)
NO_CREDIT = refusal(400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API.")


def no_program(machine: ModelSandbox) -> None:
    machine.environ["PATH"] = "/usr/bin:/bin"


def broken_config(machine: ModelSandbox) -> None:
    machine.configure_codex(after="= no TOML")


LOGGED_OUT = "(claude|codex) is not logged in .*(Start claude once and log in|Run: codex login)$"
LIMIT_OF_CLAUDE = r"the plan's limit of claude is reached until 2026-11-18 00:00 UTC \(.*\)\. What was answered is kept"
LIMIT_OF_CODEX = r"the plan's limit of codex is reached \(.*\)\. What was answered is kept"
NO_TIME = "no answer within 3 seconds$"
NO_PROGRAM = "(claude|codex) cannot be started: No such file or directory$"
FAILURES = [
    Failure(CLAUDE, "no login", Say(""), LOGGED_OUT, HOPELESS, sandbox.without_key),
    Failure(CLAUDE, "401", Fail(401, "authentication_error"), LOGGED_OUT, HOPELESS),
    Failure(CLAUDE, "plan limit", PLAN_LIMIT, LIMIT_OF_CLAUDE, LIMIT, sandbox.by_oauth),
    Failure(CLAUDE, "no credit", NO_CREDIT, "the account has no credit left", LIMIT),
    Failure(CLAUDE, "429", Fail(429, "rate_limit_error"), "claude failed: .*429", AGAIN),
    Failure(CLAUDE, "529", Fail(529, "overloaded_error"), "claude failed: .*529", AGAIN),
    Failure(CLAUDE, "500", Fail(500), "claude failed: .*500", AGAIN),
    Failure(CLAUDE, "no such model", Fail(404, "not_found_error"), "claude knows no such model", HOPELESS),
    Failure(CLAUDE, "cut", sandbox.cut_claude(), "claude's answer was cut", LOST),
    Failure(CLAUDE, "slow server", Begin("It"), NO_TIME, AGAIN, seconds=3),
    Failure(CLAUDE, "not installed", Say(""), NO_PROGRAM, HOPELESS, no_program),
    Failure(CODEX, "no login", Say(""), LOGGED_OUT, HOPELESS, sandbox.without_key),
    Failure(CODEX, "401", Fail(401, "invalid_api_key"), LOGGED_OUT, HOPELESS),
    Failure(CODEX, "403", Fail(403, "forbidden"), LOGGED_OUT, HOPELESS),
    Failure(CODEX, "plan limit", Fail(429, "usage_limit_reached"), LIMIT_OF_CODEX, LIMIT),
    Failure(CODEX, "no quota", refusal(429, "insufficient_quota", "No quota"), LIMIT_OF_CODEX, LIMIT),
    Failure(CODEX, "429", Fail(429, "rate_limit_exceeded"), "codex failed: .*429", AGAIN),
    Failure(CODEX, "500", Fail(500), "codex failed: ", AGAIN),
    Failure(CODEX, "cut", sandbox.cut_codex(), "codex's answer was cut", LOST),
    Failure(CODEX, "slow server", Begin("It"), NO_TIME, AGAIN, seconds=3),
    Failure(CODEX, "not installed", Say(""), NO_PROGRAM, HOPELESS, no_program),
    Failure(CODEX, "broken config", Say(""), r"codex cannot be asked: .*config\.toml", HOPELESS, broken_config),
]


@for_each(FAILURES)
def test_a_failure_says_why_and_what_can_be_done(machine: ModelSandbox, case: Failure) -> None:
    case.prepare(machine)
    asked = machine.complete("Is it so, in the material?", lambda _: case.reply, seconds=case.seconds)
    assert asked.completion == {}
    assert re.match(case.problem, asked.error["problem"]), asked.error
    assert Outcome(*(asked.error[name] for name in Outcome._fields)) == case.outcome
    assert list((machine.project / "tmp").glob(f"{MODEL_FOLDER}*")) == []
    assert Traps(machine).effects(asked.requests, "Is it so, in the material?").holding == []


@only_codex
def test_a_lost_connection_in_a_run_that_succeeds_is_no_failure(machine: ModelSandbox) -> None:
    config = machine.home / ".codex" / "config.toml"
    config.write_text(config.read_text("utf-8").replace("stream_max_retries = 0", "stream_max_retries = 2"), "utf-8")
    script: Script = [stream({"type": "response.created", "response": {"id": "resp_1"}}), machine.answers()]
    plain = machine.ask("Hello.", script).check()
    assert [event for event in plain.events if event["type"] == "error"]
    assert machine.complete("Hello.", script).answer == VERDICT
