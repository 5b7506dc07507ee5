"""The definition of one setting, and the check of its values."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from knowbound.errors import ConfigError
from knowbound.trust import RiskRule

# Settings of earlier versions that still count, and the settings that replaced them.
REPLACED = {
    "hedging_classifier.model": "model.tasks.hedges",
    "judge.model": "model.tasks.rubrics",
    "learn.model": "model.tasks.lessons",
    "injection.model": "model.tasks.choose",
    "audit.model": "model.tasks.claims",
    "quality.judge": "model.tasks.turns",
    "quality.fallback_judge": "model.fallback",
}
# Settings of earlier versions, and what counts in their place.
TAKEN_OUT = {
    "eval.concurrency": "Four samples run at once; eval --concurrency sets another number.",
    "eval.retries": "A sample whose agent crashed is tried once more.",
    "judge.concurrency": "A judge that is a model gets four calls at once.",
    "judge.retries": "A failed call of a judge is repeated twice.",
}
_LARGEST = 10**12  # a larger number is a mistake
_LONGEST_NUMBER = 18  # characters


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of the config file, made from a field of `Settings`."""

    key: str  # as in the file; a dot separates table and key
    name: str  # the field of `Settings`
    type: type
    default: Any
    help: str
    also: str  # another spelling of the key in the file
    risk: RiskRule  # finds values that need the user's permission
    most: float = 1.0  # of a number that need not be whole

    @property
    def env(self) -> str:
        """The environment variable of the setting."""
        return variable(self.key)


def variable(key: str) -> str:
    """Return the environment variable of a key."""
    return "KNOWBOUND_" + key.replace(".", "_").upper()


def typed(setting: Setting, value: Any, where: str) -> Any:
    """Return the value in the type of its setting, or raise ConfigError."""
    shown = "what is given" if "password" in setting.key else repr(value)
    wanted = _article(setting.type) if setting.most == 1 else "a number of 0 or more"
    wrong = ConfigError("config-wrong-type", f"{where}: {setting.key} must be {wanted}, not {shown}.")
    if setting.type is list:
        if not isinstance(value, list) or not all(isinstance(part, str) for part in value):
            raise wrong
        return tuple(value)
    if setting.type is float:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= setting.most
        if not is_number:
            raise wrong
        return float(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST
    if not isinstance(value, setting.type) or (setting.type is int and not is_count):
        raise wrong
    return value


def parsed(setting: Setting, text: str) -> Any:
    """Return the value that an environment variable has."""
    value: Any = text
    if setting.type is list:
        value = [part.strip() for part in text.split(",") if part.strip()]
    elif setting.type is int and text.strip().isdecimal() and len(text) < _LONGEST_NUMBER:
        value = int(text)
    elif setting.type is float:
        with suppress(ValueError):
            value = float(text)
    elif setting.type is bool and text.lower() in ("1", "true", "yes", "on", "0", "false", "no", "off"):
        value = text.lower() in ("1", "true", "yes", "on")
    return typed(setting, value, setting.env)


def _article(type_: type) -> str:
    return {
        list: "a list of strings",
        int: "a whole number of 0 or more",
        float: "a number from 0 to 1",
        bool: "true or false",
        str: "a string",
    }[type_]


def taken_out(given: str, key: str) -> ConfigError:
    """Return the error for a setting of an earlier version that counts no more."""
    return ConfigError("config-unknown-key", f"{given} was taken out. {TAKEN_OUT[key]} Remove it.")
