"""The judge of a task: which model may be asked, for whom, and what the user allowed.

`model.name = "auto"` is the model that the user allowed with `knowbound model`; without that, rules decide alone. A
model that the user names (a flag, the environment, the user's own config) may be used by commands. Work in the
background, while agents work, needs the user's permission. A model that a project names needs `trust`, and the user's
permission for that provider. Only for choosing items, a model that is named for just that needs no permission beside:
the user's own, or one on this machine in a trusted project. The permission is one file in the user's state folder.
"""

from __future__ import annotations

import os

import msgspec

from knowbound.config import ModelTask, Settings
from knowbound.errors import ConfigError
from knowbound.judge.names import PROVIDERS, RULES, THIS_MACHINE, JudgeName, Provider, parse_name
from knowbound.user_files import make_file, make_folder, state_folder

AUTO, NONE = "auto", "none"
_PERMISSION_FILE = "model.json"
_OLD_TURN_SETTINGS = frozenset(
    {"quality.judge", "KNOWBOUND_QUALITY_JUDGE"}
)  # named the worker's model in earlier versions
# The provider whose model an agent works with; sessions of other agents count as those of another provider.
_PROVIDER_OF_AGENT = {"claude-code": "anthropic", "codex": "openai"}
# The next larger model of the same provider (specification 2, "The judge": a second judge takes over).
_NEXT_LARGER = {
    "claude-cli:haiku": "claude-cli:sonnet",
    "claude-cli:sonnet": "claude-cli:opus",
    "anthropic:claude-haiku-4-5": "anthropic:claude-sonnet-4-6",
}


class Permission(msgspec.Struct, frozen=True):
    """Use of a model that the user allowed with `knowbound model`."""

    name: str = ""  # the model; "" for none
    commands: bool = False  # commands that the user starts
    background: bool = False  # scoring turns while agents work
    made: str = ""  # UTC
    # With `background`, what earlier versions did not ask for:
    choosing: bool = False  # choosing items for prompts
    rescuing: bool = False  # naming the place that a miss meant

    @property
    def provider(self) -> str:
        """The provider that the permission is for."""
        return provider_of(parse_name(self.name)) if self.name else ""


def load_permission() -> Permission:
    """Return the user's permission; none if there is no file, or one that cannot be read."""
    try:
        with open(os.path.join(state_folder(), _PERMISSION_FILE), "rb") as file:
            permission = msgspec.json.decode(file.read(), type=Permission)
        if permission.name:
            parse_name(permission.name)  # a name of another version may not be one of ours
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, ConfigError):
        return Permission()
    return permission


def keep_permission(permission: Permission) -> str:
    """Write the user's permission and return the path of its file."""
    make_folder(state_folder())
    path = os.path.join(state_folder(), _PERMISSION_FILE)
    make_file(path, msgspec.json.encode(permission))
    return path


def judge_for(settings: Settings, task: ModelTask, *, background: bool = False) -> str:
    """Return the name of the judge of a task: `rules` if no model is configured or allowed."""
    name = _configured(settings, task, background=background)
    return name if is_within_policy(settings, name) else RULES


def is_within_policy(settings: Settings, name: str) -> bool:
    """Report whether the machine's policy lets text be sent where this judge sends it."""
    provider = provider_of(parse_name(name)) if settings.providers is not None and name != RULES else ""
    return not provider or provider in (settings.providers or ())


def _configured(settings: Settings, task: ModelTask, *, background: bool) -> str:
    """Return the judge that the settings name for a task, if the user allowed it; else `rules`."""
    field = f"model_tasks_{task}"
    model = str(getattr(settings, field)).strip()
    if not model:
        field, model = "model_name", settings.model_name.strip()
    if model in (NONE, RULES, ""):
        return RULES
    permission = load_permission()
    if background and _is_agent(permission.name if model == AUTO else model):
        return RULES  # an agent answers when its user asks for it
    if model == AUTO:
        return permission.name if permission.name and _allows(permission, background) else RULES
    # Who named the worker's model by a setting of earlier versions allowed it thereby.
    has_old_setting = task is ModelTask.TURNS and not _OLD_TURN_SETTINGS.isdisjoint(settings.replaced_by_user)
    is_users_worker = background and has_old_setting and field not in settings.from_project
    return model if is_users_worker or _may_use(settings, field, model, permission, background) else RULES


def _may_use(settings: Settings, field: str, model: str, permission: Permission, background: bool) -> bool:
    """Report whether a named model may be asked: named by the user, for commands; else with the user's permission."""
    name = parse_name(model)
    if not name.costs:  # it asks nobody
        return True
    provider = provider_of(name)
    if provider == permission.provider and _allows(permission, background):
        return True
    return not background and (field not in settings.from_project or provider == THIS_MACHINE)


def model_for(settings: Settings, task: ModelTask) -> str:
    """Return the name of the model of a task for a command; "" if rules decide."""
    name = judge_for(settings, task)
    return "" if name == RULES else name


def chooser(settings: Settings) -> str:
    """Return the model that chooses items while the agent works; "" for none.

    A model that the user names for just that needs no further permission, nor one on this machine that a trusted
    project names for it.
    """
    if is_named_for_choosing(settings):
        name = settings.model_tasks_choose.strip()
        return name if is_within_policy(settings, name) else ""
    return _while_agents_work(settings, ModelTask.CHOOSE) if load_permission().choosing else ""


def rescuer(settings: Settings) -> str:
    """Return the model that is asked about a miss while the agent works; "" for none."""
    if not settings.rescue_enabled or not load_permission().rescuing:
        return ""
    return _while_agents_work(settings, ModelTask.RESCUE)


def _while_agents_work(settings: Settings, task: ModelTask) -> str:
    """Return the model that may be asked for a task while an agent works; "" for none."""
    try:
        name = judge_for(settings, task, background=True)
    except ConfigError:  # no hook fails by the name of a model
        return ""
    return "" if name == RULES else name


def is_named_for_choosing(settings: Settings) -> bool:
    """Report whether the user, or a trusted project for this machine, names the model that chooses items."""
    name, field = settings.model_tasks_choose.strip(), "model_tasks_choose"
    if name in ("", NONE, RULES, AUTO):
        return False
    if _is_agent(name):  # an agent answers only when its user asks for it
        return False
    return field not in settings.from_project or provider_of(parse_name(name)) == THIS_MACHINE


def _is_agent(name: str) -> bool:
    return name.startswith(f"{Provider.AGENT}:")


def fallback_for(settings: Settings, name: str) -> str:
    """Return the judge that takes over, within the machine's policy; "" for none."""
    fallback = _fallback(settings, name)
    return fallback if not fallback or is_within_policy(settings, fallback) else ""


def _fallback(settings: Settings, name: str) -> str:
    """Return the judge to try if this one is below the limit: "" for the rules, and for the fallback itself.

    A recording is named to avoid costs: its fallback can only be another judge without costs.
    """
    fallback, judge = settings.model_fallback.strip(), parse_name(name)
    if judge.provider is Provider.RULES:  # nothing is below them
        return ""
    if fallback == AUTO:
        return _NEXT_LARGER.get(judge.text, "")
    if fallback in (NONE, RULES, "", judge.text):
        return ""
    if not _may_use(settings, "model_fallback", fallback, load_permission(), background=False):
        return ""
    return fallback if judge.costs or not parse_name(fallback).costs else ""


def _allows(permission: Permission, background: bool) -> bool:
    return permission.background if background else permission.commands


def provider_of(name: JudgeName) -> str:
    """Return whom a judge sends text to: a provider, a host, this machine, or "" for nobody."""
    if name.provider is Provider.URL:
        from urllib.parse import urlsplit  # noqa: PLC0415

        from knowbound.judge.models.completion import is_loopback  # noqa: PLC0415

        return THIS_MACHINE if is_loopback(name.url) else urlsplit(name.url).hostname or ""
    if name.provider is Provider.AGENT:
        return _PROVIDER_OF_AGENT.get(name.model, "another agent")
    if name.provider is Provider.PLUGIN:
        return f"the package of {name.plugin}"  # where it sends text is not known
    return PROVIDERS[name.provider].sends_to


def may_see(judge: str, agent: str, settings: Settings) -> bool:
    """Report whether a judge may be shown a session of this agent: its provider saw it, or nothing leaves the machine.

    Text that the user hands over has no agent, and may be shown.
    """
    provider = provider_of(parse_name(judge))
    return (
        provider in ("", THIS_MACHINE)
        or not agent
        or settings.model_cross_provider
        or _PROVIDER_OF_AGENT.get(agent) == provider
    )
