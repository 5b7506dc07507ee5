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

import msgspec

from knowbound.config import Settings
from knowbound.errors import ConfigError

RULES = "rules"


class JudgeKind(StrEnum):
    """Kind of a judge."""

    RULES = "rules"
    MODEL = "model"
    RECORDED = "recorded"


class Provider(StrEnum):
    """Service or program that runs a model."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    URL = "url"
    CLAUDE_CLI = "claude-cli"
    CODEX_CLI = "codex-cli"
    COMMAND = "command"
    AGENT = "agent"
    PLUGIN = "plugin"


THIS_MACHINE = "this machine"
# Whom a provider sends text to; an address, an agent and a plugin are looked at one by one (`choice.provider_of`).
SENDS_TO = {
    Provider.ANTHROPIC: "anthropic",
    Provider.CLAUDE_CLI: "anthropic",
    Provider.OPENAI: "openai",
    Provider.CODEX_CLI: "openai",
    Provider.COMMAND: THIS_MACHINE,
}
CLIENTS = ("claude-code", "codex", "other")  # whose agents can be asked through MCP
_BY_API = frozenset({Provider.ANTHROPIC, Provider.OPENAI, Provider.URL})
_PREFIXES = {f"{one}:": one for one in Provider if one not in (Provider.URL, Provider.PLUGIN)}
_RECORDED = "recorded:"
FORMS = (
    RULES,
    "anthropic:MODEL",
    "openai:MODEL",
    "http://HOST/v1#MODEL",
    "claude-cli:MODEL",
    "codex-cli:MODEL",
    "command:PROGRAM ARGS",
    "agent:CLIENT",
    "recorded:FILE",
)


class JudgeName(msgspec.Struct, frozen=True):
    """A judge's name and its parts."""

    text: str  # as it was given
    kind: JudgeKind
    provider: Provider | None = None
    model: str = ""
    url: str = ""
    command: tuple[str, ...] = ()
    file: str = ""
    plugin: str = ""  # the entry point of an installed package

    @property
    def uses_api(self) -> bool:
        """True if the judge is asked over an API, which needs the extra `llm`."""
        return self.provider in _BY_API

    @property
    def costs(self) -> bool:
        """True if an answer may cost money or a network call, as the answer of any program may."""
        return self.kind is JudgeKind.MODEL


def parse_name(text: str) -> JudgeName:
    """Parse a name, or raise a ConfigError with the forms of a name."""
    text = text.strip()
    if not text:
        raise ConfigError(
            "unknown-judge", f"No judge is named. A judge is one of {', '.join(FORMS)}. Try: knowbound judge list"
        )
    if text == RULES:
        return JudgeName(text, JudgeKind.RULES)
    if text.startswith(("http://", "https://")):
        return _url(text)
    if text.startswith(_RECORDED):
        return JudgeName(text, JudgeKind.RECORDED, file=_rest(text, _RECORDED, "a file of recorded answers"))
    for prefix, provider in _PREFIXES.items():
        if text.startswith(prefix):
            if provider is Provider.COMMAND:
                return JudgeName(text, JudgeKind.MODEL, provider, command=_words(text, prefix))
            model = _model(text, prefix)
            if provider is Provider.AGENT and model not in (*CLIENTS, "CLIENT"):  # the last in the list of forms
                raise _unknown(text, f"a client is one of {', '.join(CLIENTS)}.")
            return JudgeName(text, JudgeKind.MODEL, provider, model=model)
    from knowbound.plugins import plugins  # noqa: PLC0415  (only for a name that is not built in)

    plugin, colon, model = text.partition(":")
    if plugin in plugins("judges"):
        if colon:
            model = _model(text, f"{plugin}:")
        return JudgeName(text, JudgeKind.MODEL, Provider.PLUGIN, model=model, plugin=plugin)
    raise _unknown(text, _suggestion(text))


def _model(text: str, prefix: str) -> str:
    model = _rest(text, prefix, "a model")
    if model.startswith("-") or any(letter.isspace() for letter in model):
        raise _unknown(text, f"{model!r} is no model's name.")
    return model


def _rest(text: str, prefix: str, wanted: str) -> str:
    rest = text[len(prefix) :].strip()
    if not rest:
        raise _unknown(text, f"{wanted} has to follow {prefix!r}.")
    return rest


def _words(text: str, prefix: str) -> tuple[str, ...]:
    import shlex  # noqa: PLC0415  (the name `rules` is read in every run: it loads nothing)

    try:
        return tuple(shlex.split(_rest(text, prefix, "a program")))
    except ValueError as error:
        raise _unknown(text, f"the command cannot be read: {error}.") from None


def _url(text: str) -> JudgeName:
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
    return JudgeName(text, JudgeKind.MODEL, Provider.URL, model=model.strip(), url=address.rstrip("/"))


def _suggestion(text: str) -> str:
    import difflib  # noqa: PLC0415

    head, colon, rest = text.partition(":")
    if not colon and not difflib.get_close_matches(text, [RULES], cutoff=0.7):
        return f"A judge is one of {', '.join(FORMS)}."
    known = [RULES, *(prefix[:-1] for prefix in (*_PREFIXES, _RECORDED))]
    near = difflib.get_close_matches(head.lower(), known, n=1, cutoff=0.5)
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
