"""The policy of the machine's administrator: a file that limits what users and projects may set, and lifts nothing."""

from __future__ import annotations

from knowbound.errors import ConfigError
from knowbound.user_files import policy_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CHECKS = ("off", "warn", "block")
_NUMBER_KEYS = ("keep_days", "budget_usd", "budget_calls", "background_calls")


class Policy:
    """The limits of all policy files together. None: no limit."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.off = False  # no hook does anything
        self.providers: frozenset[str] | None = None  # whom text may be sent to (`judge.choice.provider_of`)
        self.check: str | None = None  # the strongest check before an agent stops
        self.keep_days: float | None = None
        self.budget_usd: float | None = None
        self.budget_calls: float | None = None
        self.background_calls: float | None = None

    def limited(self, values: dict[str, Any], defaults: dict[str, Any]) -> dict[str, Any]:
        """Return the settings, by field, no looser than the policy."""
        limited_values = dict(values)
        for field, limit in (
            ("model_budget_usd", self.budget_usd),
            ("model_budget_calls", self.budget_calls),
            ("model_background_calls", self.background_calls),
            ("model_keep_days", self.keep_days),
            ("eval_keep_days", self.keep_days),
            ("injection_log_days", self.keep_days),
            ("store_keep_days", self.keep_days),
            ("cluster_keep_days", self.keep_days),
        ):
            value = limited_values.get(field, defaults[field])
            no_limit = field.endswith("_days") and not value  # 0 days: kept for ever
            if limit is not None and (no_limit or value > limit):
                limited_values[field] = type(defaults[field])(limit)
        value = limited_values.get("audit_check", defaults["audit_check"])
        if self.check is not None and value in _CHECKS and _CHECKS.index(value) > _CHECKS.index(self.check):
            limited_values["audit_check"] = self.check
        return limited_values


def load_policy() -> Policy:
    """Return the limits of every policy file. Raises ConfigError: a policy that cannot be read is not left out."""
    policy = Policy()
    for path in policy_files():
        _tighten(policy, path, _policy_table(path))
        policy.files.append(path)
    return policy


def is_off_by_policy() -> bool:
    """Report whether a policy switches hooks off; one that cannot be read does."""
    try:
        return bool(policy_files()) and load_policy().off
    except ConfigError:
        return True


def _policy_table(path: str) -> dict[str, Any]:
    import tomllib  # noqa: PLC0415  (most machines have no policy)

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError("policy-unusable", f"{path} cannot be used: {error}. Ask your administrator.") from error


def _tighten(policy: Policy, path: str, table: dict[str, Any]) -> None:
    """Add the limits of one file; of two limits the stricter counts."""
    for key, value in table.items():
        if key == "off" and isinstance(value, bool):
            policy.off = policy.off or value
        elif key == "providers" and isinstance(value, list) and all(isinstance(provider, str) for provider in value):
            allowed = frozenset(value)
            policy.providers = allowed if policy.providers is None else allowed & policy.providers
        elif key == "check" and value in _CHECKS:
            policy.check = min(value, policy.check or value, key=_CHECKS.index)
        elif key in _NUMBER_KEYS and isinstance(value, int | float) and not isinstance(value, bool) and value >= 0:
            limit = getattr(policy, key)
            setattr(policy, key, value if limit is None else min(limit, value))
        else:
            known = f"off, providers, check, {', '.join(_NUMBER_KEYS)}"
            raise ConfigError(
                "policy-unusable",
                f"{path}: {key} = {value!r} is no limit of a policy ({known}). Ask your administrator.",
            )
