"""The settings of the hook, from a cache; and the switch of the shadow.

Reading the config takes longer than searching the index, so its values are kept in `.knowbound/hook.json` for as long
as neither the config files nor the environment change. config.py stays the only place that knows keys and defaults.
The cache is sealed with the user's key: a checkout may bring a file of that name. Settings of the project that the user
has not trusted count as not set.

In shadow hooks choose and record as always, and nothing reaches the agent (`knowbound install AGENT --shadow`). The
switch counts from the next hook run on.

    ~/.local/state/knowbound/shadow    the switch, for every agent and project of the user
    .knowbound/shadow.json             what a person said about choices of a project (quality/status.py)
    .knowbound/live                    the person has started injecting in this project
"""

from __future__ import annotations

import json
import os
import time

from knowbound import __version__
from knowbound.user_files import (
    config_folder,
    is_sealed,
    make_file,
    make_folder,
    policy_files,
    seal,
    state_folder,
    state_places,
)

_CACHE = "hook.json"
PREFIXES = (  # of the variables that the settings depend on
    "KNOWBOUND_INJECTION_",
    "KNOWBOUND_ITEMS_",
    "KNOWBOUND_KMS_BACKENDS",
    "KNOWBOUND_KMS_SYNC",
    "KNOWBOUND_QUALITY_HOLDOUT",
    "KNOWBOUND_QUALITY_RANKING",
    "KNOWBOUND_RESCUE_",
    "KNOWBOUND_AUDIT_CHECK",
    "KNOWBOUND_MODEL",
    "KNOWBOUND_POLICY",
)


class HookSettings:
    """The settings that the hook needs (keys injection.*, kms.*, quality.*, rescue.enabled, audit.check)."""

    time_limit_ms: int
    token_budget: int
    relevance_floor: float | None  # None: the measured floor
    most_items: int  # per prompt
    subject: str
    is_shared: bool  # other machines write to the backends: keep the index current
    model: str = ""  # the model that chooses while the agent works
    holdout: float = 0.0  # share of prompts for which nothing is injected, to compare
    rescues: bool = True  # answer lookups that miss
    rescue_model: str = ""  # the model that is asked where rules are silent
    check: str = "off"  # of an answer before the agent stops: off, warn, block
    check_ms: int = 500  # that this check may take
    ranks: bool = True  # whether measured quality may rank items
    self_marking: bool = False  # ask agents to mark what they infer

    def __init__(self, **values: object) -> None:
        if unknown := values.keys() - HookSettings.__annotations__.keys():
            raise TypeError(f"no settings of the hook: {', '.join(unknown)}")
        vars(self).update(values)


def load(root: str, home: str, *, keep: bool = True) -> HookSettings:
    """Return the settings of a project, and cache them for the next run. An invalid config is an error."""
    state = _dependencies(root)
    settings = _from_cache(home, state)
    if settings is None:
        settings = _from_config(root)
        cache: dict[str, object] = {"state": state, "settings": vars(settings)}
        try:
            if keep:
                make_file(os.path.join(home, _CACHE), json.dumps(cache | {"seal": seal(_sealed_part(cache))}).encode())
        except OSError:
            pass  # the next run reads the config again
    return settings


def cached(root: str, home: str) -> HookSettings | None:
    """Return the settings of a project if nothing has changed since they were read, else None."""
    return _from_cache(home, _dependencies(root))


def _from_cache(home: str, state: list[object]) -> HookSettings | None:
    """Return the cached settings; None if they depend on something else now, or are not sealed by the user."""
    try:
        with open(os.path.join(home, _CACHE), encoding="utf-8") as file:
            kept = json.load(file)
        if kept["state"] == state and is_sealed(_sealed_part(kept), kept["seal"]):
            return HookSettings(**kept["settings"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _sealed_part(kept: dict[str, object]) -> str:
    return json.dumps([kept["state"], kept["settings"]])


def _dependencies(root: str) -> list[object]:
    """Return everything that the settings depend on."""
    files: list[object] = []
    in_root = [os.path.join(root, name) for name in ("knowbound.toml", "pyproject.toml")]
    of_user = [os.path.join(state_folder(), name) for name in ("trusted", "model.json")]
    for path in (*in_root, os.path.join(config_folder(), "config.toml"), *of_user, *policy_files()):
        try:
            found = os.stat(path)
        except OSError:
            files.append(None)  # a missing file: its coming is a change
        else:
            files.append([found.st_mtime_ns, found.st_size, found.st_ino])
    variables = sorted([key, value] for key, value in os.environ.items() if key.startswith(PREFIXES))
    return [__version__, os.path.abspath(root), files, variables]


def _from_config(root: str) -> HookSettings:
    """Read the settings from the config files."""
    from pathlib import Path  # noqa: PLC0415  # the slow way, once after a change

    from knowbound.config import load as load_config  # noqa: PLC0415
    from knowbound.judge.choice import chooser, rescuer  # noqa: PLC0415

    settings = load_config(Path(os.path.abspath(root)), ignore_untrusted=True)
    return HookSettings(
        time_limit_ms=settings.injection_time_limit_ms,
        token_budget=settings.injection_token_budget,
        relevance_floor=settings.injection_relevance_floor,
        most_items=settings.injection_most_items,
        model=chooser(settings),
        subject=settings.injection_subject or os.path.basename(os.path.abspath(root)),
        is_shared=bool(settings.shared_backends),
        holdout=settings.quality_holdout,
        rescues=settings.rescue_enabled,
        rescue_model=rescuer(settings),
        check=settings.audit_check.strip().lower(),
        check_ms=settings.audit_check_ms,
        ranks=settings.quality_ranking,
        self_marking=settings.injection_self_marking,
    )


# Shadow


SHADOW = "shadow"  # outcome of a run, and its arm
LIVE = "live"  # the file of a project
_SWITCH_FILE = "shadow"
_TIME_CHARACTERS = 40


def is_shadowed(home: str) -> bool:
    """Report whether nothing is injected in the project of this data folder."""
    return shadow_is_on() and not os.path.exists(os.path.join(home, LIVE))


def shadow_is_on() -> bool:
    """Report whether the user started in shadow."""
    return any(map(os.path.lexists, state_places(_SWITCH_FILE)))


def shadow_since() -> str:
    """Return when the shadow began; "" if it is off, or nobody knows."""
    for path in filter(os.path.lexists, state_places(_SWITCH_FILE)):
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                found = file.read(_TIME_CHARACTERS).strip()
        except OSError:
            return ""
        return found if found.isascii() and found.isprintable() else ""
    return ""


def switch_shadow(*, is_on: bool) -> None:
    """Begin the shadow in every project, or end it. The time of the first beginning stays. Raises OSError."""
    for path in state_places(_SWITCH_FILE):
        if not is_on:
            if os.path.lexists(path):
                os.unlink(path)
        elif not os.path.lexists(path):
            make_folder(os.path.dirname(path))
            make_file(path, time.strftime("%Y-%m-%dT%H:%M:%SZ\n", time.gmtime()).encode())
