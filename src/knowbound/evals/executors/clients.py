"""Agents' command lines: `claude -p` and `codex exec`, read-only, leaving no session of the user's; and any command.

A command gets the prompt on its input or in an argument, and prints text or a stream of events.

Clients differ in what they understand, so options beyond the basic ones are given only where `--help` names them.

Codex reads instructions, skills, hooks, rules and MCP servers from its home as well as its login, and has no option
that keeps only the login. So a run gets a home of its own, which is removed afterwards. Its `auth.json` links to the
user's file; from `config.toml` only the keys for the model and its provider are copied. A login that Codex keeps in the
system's keyring belongs to the user's home, and is not found from another home.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cached_property
from pathlib import Path

import msgspec

from knowbound.core.signal import InjectedText
from knowbound.core.trace import Injection
from knowbound.errors import ConfigError
from knowbound.evals.executor import Execution, Task
from knowbound.evals.executors.agent_process import run_process
from knowbound.evals.tracing import CLIENT_HOME, execution_of
from knowbound.judge.models.codex_client import read_toml, toml_text, user_home
from knowbound.process import agent_environment, require_posix, run
from knowbound.text.digest import digest_of
from knowbound.text.redact import excerpt, redact
from knowbound.traces.readers.codex.rollout import Codex
from knowbound.traces.source import Tally
from knowbound.user_files import make_file, make_folder

_HELP_SECONDS = 60.0  # for a client to print its version or its options
_VERSION_CHARACTERS = 100
_HOOK_SECONDS = 10  # that a client waits for one of our hooks
READ_ONLY = ("Read", "Grep", "Glob", "LS")  # LS: only older clients have it
_ITEM_CHARACTERS = 500  # of an item that are kept, as of every injection
# What names the model and how it is reached. Not among them, on purpose: everything that is text for the model.
_CARRIED_KEYS = frozenset(
    "model model_provider model_providers model_reasoning_effort model_reasoning_summary model_verbosity "
    "model_supports_reasoning_summaries model_context_window model_max_output_tokens model_auto_compact_token_limit "
    "service_tier oss_provider profile profiles chatgpt_base_url openai_base_url preferred_auth_method "
    "forced_login_method forced_chatgpt_workspace_id cli_auth_credentials_store disable_response_storage "
    "analytics".split()
)


class ClientExecutor(ABC):
    """Runs an agent's command line; the prompt goes in on its standard input."""

    costs = True
    remembers = True
    injects = True
    reads_freely = True
    client: str  # the program
    help_of: tuple[str, ...] = ()  # the sub-command whose options are meant
    environ: Mapping[str, str] = {}  # variables that the client gets, too

    def __init__(self, model: str = "", hooks: Mapping[str, str] | None = None) -> None:
        self.name = f"{self.client}:{model}" if model else self.client
        self.model = model
        self.hooks = dict(hooks or {})  # event → the command of our hook, for tasks with injection

    @abstractmethod
    def options(self, tools: tuple[str, ...] = (), usd: float | None = None) -> list[str]:
        """The arguments for a task that may use these tools and spend this much."""

    @abstractmethod
    def injecting(self) -> list[str]:
        """The arguments that add our hooks to a task with injection."""

    def arguments(self, task: Task) -> list[str]:
        """All arguments for a task."""
        return [*self.options(task.tools, task.usd), *(self.injecting() if task.inject else [])]

    @cached_property
    def version(self) -> str:
        """The client's version and our options."""
        version = self._output("--version").strip()[:_VERSION_CHARACTERS] or "unknown version"
        return f"{version} {shlex.join(self.options())}"

    def check(self) -> None:
        """Raise ConfigError unless the client is installed."""
        program(self.client)

    def run(self, task: Task) -> Execution:
        """Run the client for the task. Our installed hooks are off: only those of the task run."""
        return self.run_with(task, self.environ)

    def run_with(self, task: Task, environ: Mapping[str, str]) -> Execution:
        """Run the client for the task with these variables, too."""
        argv = [self._path, *self.arguments(task)]
        stdin = task.prompt.encode("utf-8", "replace")
        return execution_of(task, run_process(task, argv, stdin=stdin, env={**agent_environment(), **environ}))

    def understands(self, option: str) -> bool:
        """Report whether the help of the client names the option."""
        return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", self._help) is not None

    @cached_property
    def _path(self) -> str:
        return program(self.client)

    @cached_property
    def _help(self) -> str:
        return self._output(*self.help_of, "--help")

    def _output(self, *arguments: str) -> str:
        ran = run([self._path, *arguments], Path(), _HELP_SECONDS, environment=agent_environment())
        return "" if ran.timed_out else ran.text


class ClaudeExecutor(ClientExecutor):
    """Runs `claude -p`."""

    client = "claude"
    environ: Mapping[str, str] = {"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"}  # of earlier sessions in the folder

    def options(self, tools: tuple[str, ...] = (), usd: float | None = None) -> list[str]:
        """The arguments, with what this version of the client understands."""
        tools = tools or READ_ONLY
        options = ["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "default"]
        options += ["--allowedTools", ",".join(tools)]
        if self.understands("--tools"):  # allowed tools run without asking; this removes all other tools
            names = dict.fromkeys(tool.partition("(")[0] for tool in tools if tool != "LS")  # "Bash(ls:*)" is Bash
            options += ["--tools", ",".join(names)]
        if self.understands("--setting-sources"):  # the project's own settings are part of the knowledge base
            options += ["--setting-sources", "project"]
        if self.understands("--strict-mcp-config") and not any(tool.startswith("mcp__") for tool in tools):
            options += ["--strict-mcp-config"]  # without the user's servers, unless a tool of a server is allowed
        if self.understands("--no-session-persistence"):  # a test is no session that `observe` should count
            options += ["--no-session-persistence"]
        if usd is not None and self.understands("--max-budget-usd"):
            options += ["--max-budget-usd", f"{usd:g}"]
        return options + (["--model", self.model] if self.model else [])

    def injecting(self) -> list[str]:
        """Our hooks as settings beside the project's, and their output in the stream, which is where items are read."""
        groups = {
            event: [{"hooks": [{"type": "command", "command": command, "timeout": _HOOK_SECONDS}]}]
            for event, command in self.hooks.items()
        }
        shown = ["--include-hook-events"] if self.understands("--include-hook-events") else []
        return ["--settings", msgspec.json.encode({"hooks": groups}).decode(), *shown]


class CodexExecutor(ClientExecutor):
    """Runs `codex exec --json`. Its tools are its own: a sample cannot choose them."""

    client = "codex"
    help_of = ("exec",)

    def options(self, tools: tuple[str, ...] = (), usd: float | None = None) -> list[str]:
        """The arguments, with what this version of the client understands."""
        options = ["exec", "--json", "--sandbox", "read-only", "--skip-git-repo-check"]
        return options + (["--model", self.model] if self.model else [])

    def injecting(self) -> list[str]:
        """Our hooks, and that they run: nobody is there who could trust them."""
        options = ["--dangerously-bypass-hook-trust"]
        for event, command in self.hooks.items():
            quoted = msgspec.json.encode(command).decode()  # a JSON text is a TOML string, too
            hook = f'{{type="command", command={quoted}, timeout={_HOOK_SECONDS}}}'
            options += ["-c", f"hooks.{event}=[{{hooks=[{hook}]}}]"]
        return options

    def arguments(self, task: Task) -> list[str]:
        """All arguments for a task; `-`: the prompt is on the input."""
        return [*super().arguments(task), "-C", os.path.abspath(task.folder), "-"]

    @cached_property
    def version(self) -> str:
        """The version of the command, with a hash of the config that is copied from the user's."""
        return f"{super().version} {digest_of([self._config])[:12]}"

    def run(self, task: Task) -> Execution:
        """Run the client for the task. What hooks injected is not in its stream: it is in the session that it keeps."""
        with home_for_run(task.output_dir, user_home(), self._config) as home:
            execution = self.run_with(task, {"CODEX_HOME": str(home)})
            injected = _injected(home) if task.inject else ()
        return msgspec.structs.replace(execution, injected=injected)

    @cached_property
    def _config(self) -> str:
        return carried_config(user_home())


def _injected(home: Path) -> tuple[InjectedText, ...]:
    """The items in the sessions that a client kept in its home."""
    events = Codex().read(sorted((home / "sessions").rglob("rollout-*.jsonl")), {}, Tally())
    return tuple(
        InjectedText(
            source=event.source,
            path="",
            excerpt=excerpt(event.content, _ITEM_CHARACTERS),
            content_length=len(event.content),
            line=event.line,
            item=event.item,
        )
        for event in events
        if isinstance(event, Injection) and event.item
    )


def carried_config(home: Path) -> str:
    """The config of a run, from the user's; empty where there is none that can be read."""
    config = read_toml(home / "config.toml")  # of an unreadable file Codex itself says what is wrong
    kept = {name: value for name, value in config.items() if name in _CARRIED_KEYS}
    if isinstance(profiles := kept.get("profiles"), dict):
        kept["profiles"] = {
            name: {key: value for key, value in profile.items() if key in _CARRIED_KEYS}
            for name, profile in profiles.items()
            if isinstance(profile, dict)
        }
    return toml_text(kept)


@contextmanager
def home_for_run(output_dir: Path, user: Path, config: str) -> Iterator[Path]:
    """The home of a run; it is gone afterwards."""
    home = output_dir / CLIENT_HOME
    make_folder(home)
    try:
        make_file(home / "config.toml", config.encode())
        login = user / "auth.json"
        with suppress(FileExistsError):  # the home of a run that was cut off
            if login.exists():  # else it is in the system's keyring, or there is none
                (home / "auth.json").symlink_to(login.resolve())  # not a copy: Codex renews what is in it
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


# ---- any command

_PLACEHOLDER = re.compile(r"\{(prompt|folder|sample)\}")
_LARGEST_HASHED = 1_000_000  # bytes of a program that is read to detect changes


class CommandExecutor:
    """Runs a command without a shell. `{prompt}`, `{folder}` and `{sample}` in its arguments are filled in."""

    costs = True  # as far as we know
    remembers = False  # what its answers depend on is not known
    injects = False  # what it starts, and how, is its own
    reads_freely = False  # it runs in the folder it was written for, never in a copy

    def __init__(self, command: str) -> None:
        self.name = f"command:{redact(command)}"
        self._command = command
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise _no_agent(f"The command {command!r} cannot be read: {error}.") from None
        if not self._words:
            raise _no_agent("The executor 'command:' names no program.")
        # A relative path to a script starts where the command was given, not in the folder where the agent will work.
        self._words[1:] = [os.path.abspath(word) if os.path.isfile(word) else word for word in self._words[1:]]

    @property
    def version(self) -> str:
        """The command, and the programs and files in it."""
        words = [shutil.which(self._words[0]) or "", *self._words[1:]]
        parts = [self._command, *(digest_of_file(word) for word in words if os.path.isfile(word))]
        return f"command/{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"

    def check(self) -> None:
        """Raise ConfigError unless the program exists."""
        program(self._words[0])

    def run(self, task: Task) -> Execution:
        """Run the command for the task."""
        folder = os.path.abspath(task.folder)
        fill = {"prompt": task.prompt, "folder": folder, "sample": task.sample}
        # All placeholders at once, so that a placeholder inside a prompt stays as it is.
        words = [_PLACEHOLDER.sub(lambda name: fill[name[1]], word) for word in self._words[1:]]
        argv = [program(self._words[0]), *words]  # found where we were started, not in the task's folder
        takes_argument = any("{prompt}" in word for word in self._words[1:])
        stdin = None if takes_argument else task.prompt.encode("utf-8", "replace")
        added = {"KNOWBOUND_SAMPLE": task.sample, "KNOWBOUND_FOLDER": folder}
        return execution_of(task, run_process(task, argv, stdin=stdin, env=agent_environment(), added=added))


def program(name: str) -> str:
    """The path of an executable; a ConfigError where there is none."""
    require_posix("Running an agent")
    folders = [folder for folder in os.environ.get("PATH", os.defpath).split(os.pathsep) if os.path.isabs(folder)]
    # A relative folder of PATH would be one of the project: what it has must not run.
    found = shutil.which(name, path=os.pathsep.join(folders))
    if found is None:
        where = "here" if os.sep in name else "on the PATH"
        raise _no_agent(f"There is no program {name!r} {where}, so no sample can be run.")
    return os.path.abspath(found)


def digest_of_file(path: str | Path) -> str:
    """Return a text that changes with the file: a hash of its content, or the size and time of a large file."""
    try:
        info = os.stat(path)
        if info.st_size > _LARGEST_HASHED:
            return f"{info.st_size}:{info.st_mtime_ns}"
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return "unreadable"


def _no_agent(what: str) -> ConfigError:
    return ConfigError("no-agent", f"{what} Try: knowbound eval --executor investigate")
