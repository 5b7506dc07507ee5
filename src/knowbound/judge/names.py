"""The name of a judge, and its limits (specification 1, section 4, source 3: the classifier's `model`).

    rules                        embedded, no model
    anthropic:MODEL              a provider's model, by its own key
    openai:MODEL
    http://HOST/v1#MODEL         any server that speaks OpenAI's chat API
    claude-cli:MODEL             an agent's command line, by its own login
    codex-cli:MODEL
    command:PROGRAM ARGS         any program: the prompt on its input, the answer on its output
    agent:CLIENT                 the agent of a session (claude-code, codex, other), which answers through MCP
    NAME:MODEL                   a model of an installed package, by its entry point in `knowbound.judges`
    recorded:FILE                answers recorded before

A name is stored and shown with every verdict, so it must not have a secret.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

import msgspec

from knowbound.config import Settings
from knowbound.errors import ConfigError

RULES = "rules"
THIS_MACHINE = "this machine"
CLIENTS = ("claude-code", "codex", "other")  # whose agents can be asked through MCP


class Provider(StrEnum):
    """Source of answers: the rules, a recording, or a service or program that runs a model."""

    RULES = "rules"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    URL = "url"
    CLAUDE_CLI = "claude-cli"
    CODEX_CLI = "codex-cli"
    COMMAND = "command"
    AGENT = "agent"
    RECORDED = "recorded"
    PLUGIN = "plugin"


class ProviderForm(NamedTuple):
    """Form of the names of a provider's judges, their needs, and whom they send text to."""

    form: str
    needs: str
    sends_to: str = ""  # "": nobody, or `choice.provider_of` looks at the name
    is_api: bool = False  # asked over an API, which needs the extra `llm`


PROVIDERS = {
    Provider.RULES: ProviderForm(RULES, "nothing; it cannot score rubrics"),
    Provider.ANTHROPIC: ProviderForm("anthropic:MODEL", "the extra llm, ANTHROPIC_API_KEY", "anthropic", is_api=True),
    Provider.OPENAI: ProviderForm("openai:MODEL", "the extra llm, OPENAI_API_KEY", "openai", is_api=True),
    Provider.URL: ProviderForm(
        "http://HOST/v1#MODEL", "the extra llm, KNOWBOUND_JUDGE_API_KEY where the server wants one", is_api=True
    ),
    Provider.CLAUDE_CLI: ProviderForm("claude-cli:MODEL", "claude, logged in", "anthropic"),
    Provider.CODEX_CLI: ProviderForm("codex-cli:MODEL", "codex, logged in", "openai"),
    Provider.COMMAND: ProviderForm(
        "command:PROGRAM ARGS", "a program that reads a prompt and writes JSON", THIS_MACHINE
    ),
    Provider.AGENT: ProviderForm("agent:CLIENT", "an agent with our MCP server, whose user asks it to answer"),
    Provider.RECORDED: ProviderForm("recorded:FILE", "a file of recorded answers"),
    Provider.PLUGIN: ProviderForm("", "an installed package"),  # its name is its form
}
FORMS = tuple(provider.form for provider in PROVIDERS.values() if provider.form)
_PREFIXED = frozenset(Provider) - {Provider.RULES, Provider.URL, Provider.PLUGIN}


class JudgeName(msgspec.Struct, frozen=True):
    """A judge's name and its parts."""

    text: str  # as it was given
    provider: Provider
    model: str = ""
    url: str = ""
    command: tuple[str, ...] = ()
    file: str = ""
    plugin: str = ""  # the entry point of an installed package

    @property
    def kind(self) -> str:
        """Return `rules`, `recorded` or `model`."""
        return str(self.provider) if self.provider in (Provider.RULES, Provider.RECORDED) else "model"

    @property
    def uses_api(self) -> bool:
        """True if the judge is asked over an API, which needs the extra `llm`."""
        return PROVIDERS[self.provider].is_api

    @property
    def costs(self) -> bool:
        """True if an answer may cost money or a network call, as the answer of any program may."""
        return self.provider not in (Provider.RULES, Provider.RECORDED)


def parse_name(text: str) -> JudgeName:
    """Parse a name, or raise a ConfigError with the forms of a name."""
    text = text.strip()
    if not text:
        raise ConfigError(
            "unknown-judge", f"No judge is named. A judge is one of {', '.join(FORMS)}. Try: knowbound judge list"
        )
    if text == RULES:
        return JudgeName(text, Provider.RULES)
    if text.startswith(("http://", "https://")):
        return _server_name(text)
    head, colon, _ = text.partition(":")
    if colon and head in _PREFIXED:
        provider = Provider(head)
        if provider is Provider.RECORDED:
            return JudgeName(text, provider, file=_rest(text, f"{head}:", "a file of recorded answers"))
        if provider is Provider.COMMAND:
            return JudgeName(text, provider, command=_command_words(text, f"{head}:"))
        model = _model(text, f"{head}:")
        if provider is Provider.AGENT and model not in (*CLIENTS, "CLIENT"):  # "CLIENT": as the list of forms has it
            raise _unknown(text, f"a client is one of {', '.join(CLIENTS)}.")
        return JudgeName(text, provider, model=model)
    from knowbound.plugins import plugins  # noqa: PLC0415  (only for a name that is not built in)

    if head in plugins("judges"):
        return JudgeName(text, Provider.PLUGIN, model=_model(text, f"{head}:") if colon else "", plugin=head)
    raise _unknown(text, _suggestion(text))


def _model(text: str, prefix: str) -> str:
    """Return the model's name after the prefix; an option or words with spaces are refused."""
    model = _rest(text, prefix, "a model")
    if model.startswith("-") or any(letter.isspace() for letter in model):
        raise _unknown(text, f"{model!r} is no model's name.")
    return model


def _rest(text: str, prefix: str, wanted: str) -> str:
    """Return what follows the prefix. `wanted` names it in the error if nothing does."""
    rest = text[len(prefix) :].strip()
    if not rest:
        raise _unknown(text, f"{wanted} has to follow {prefix!r}.")
    return rest


def _command_words(text: str, prefix: str) -> tuple[str, ...]:
    """Return the words of the command after the prefix, read as a shell reads them."""
    import shlex  # noqa: PLC0415  (the name `rules` is read in every run: it loads nothing)

    try:
        return tuple(shlex.split(_rest(text, prefix, "a program")))
    except ValueError as error:
        raise _unknown(text, f"the command cannot be read: {error}.") from None


def _server_name(text: str) -> JudgeName:
    """Parse ADDRESS#MODEL; an address with a password is refused and not shown."""
    from urllib.parse import urlsplit  # noqa: PLC0415

    address, _, model = text.partition("#")
    try:
        parts = urlsplit(address)
        host = parts.hostname if parts.port != 0 else None  # a port out of range raises
    except ValueError:
        host = None
    if not host:
        raise _unknown(address.split("@")[-1], "the address cannot be read.")
    if parts.username or parts.password or parts.query:
        shown = f"{parts.scheme}://{host}"
        raise _unknown(shown, "an address has no user, password or options: set KNOWBOUND_JUDGE_API_KEY.")
    if not model.strip():
        raise _unknown(text, f"the model has to follow '#': {address.rstrip('/')}#MODEL")
    return JudgeName(text, Provider.URL, model=model.strip(), url=address.rstrip("/"))


def _suggestion(text: str) -> str:
    """Return the sentence about an unknown name: the nearest form, or all forms."""
    import difflib  # noqa: PLC0415

    head, colon, rest = text.partition(":")
    if not colon and not difflib.get_close_matches(text, [RULES], cutoff=0.7):
        return f"A judge is one of {', '.join(FORMS)}."
    near = difflib.get_close_matches(head.lower(), [RULES, *sorted(_PREFIXED)], n=1, cutoff=0.5)
    if not near:
        return f"A judge is one of {', '.join(FORMS)}."
    return f"Did you mean {near[0] if near[0] == RULES else f'{near[0]}:{rest}'!r}?"


def _unknown(text: str, why: str) -> ConfigError:
    return ConfigError("unknown-judge", f"There is no judge {text!r}: {why} Try: knowbound judge list")


class JudgeOptions(msgspec.Struct, frozen=True):
    """Limits of a judge that is a model. One question takes at most `seconds` × (`retries` + 1), waits included."""

    seconds: float = 60.0  # for one call
    retries: int = 2  # further calls for one question after a failed one
    concurrency: int = 4  # calls at once
    usd: float | None = None  # no further call once the known costs have reached this sum

    @classmethod
    def of(cls, settings: Settings) -> JudgeOptions:
        """Return the limits, with the configured time of a call and the budget of a run."""
        return cls(settings.judge_seconds, usd=settings.model_budget_usd)


class Judge(Protocol):
    """Whoever decides a question about text: rules, a model, a recording of one."""

    @property
    def version(self) -> str:
        """Version that changes whenever a verdict may change."""

    @property
    def costs(self) -> bool:
        """True if a verdict may cost money or a network call."""
