"""The model that chooses what is injected, where one is configured: whether it can be asked, and how it did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from knowbound.agent import hook_log
from knowbound.agent.clients import HOOK_SECONDS
from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.config import Settings
from knowbound.errors import ConfigError
from knowbound.injection.model_choice import CHOSEN, FAILED, LATE
from knowbound.judge.models.server import KEYS
from knowbound.judge.names import JudgeKind, Provider, parse_name
from knowbound.judge.registry import check_judge
from knowbound.text.redact import redact

_RUNS = 200  # of the log: what is older says little about today
_LITTLE_MS = 2_000  # small models behind an API take 600 to 2,000 ms
_DO = "knowbound explain hook-model"


def check_model(settings: Settings, environ: Mapping[str, str]) -> Iterator[HealthCheck]:
    """Nothing where no model is configured."""
    if not settings.injection_model.strip():
        return
    try:
        wrong = _why_not(settings.injection_model, environ)
    except ConfigError as error:
        yield HealthCheck("hook model", PROBLEM, f"injection.model: {error}", "knowbound judge list")
        return
    limit, found = settings.injection_time_limit_ms, f"{redact(settings.injection_model)} chooses what is injected"
    if limit < _LITTLE_MS:
        wrong.append(f"{limit} ms are little for a model")
    if limit >= HOOK_SECONDS * 1000:
        wrong.append(f"agents end a hook after {HOOK_SECONDS} seconds, before the limit of {limit} ms")
    if wrong:
        yield HealthCheck("hook model", NOTE, f"{found}, but {'; '.join(wrong)}", _DO)
    else:
        yield HealthCheck("hook model", OK, f"{found}, within {limit} ms")
    yield from _runs(str(settings.home))


def _why_not(model: str, environ: Mapping[str, str]) -> list[str]:
    """What it lacks here. Raises ConfigError where it cannot be asked at all."""
    name = parse_name(model)
    if not name.uses_api and name.kind is not JudgeKind.RECORDED:
        check_judge(model, scores=True)
    key = KEYS.get(name.provider) if name.provider else None
    is_missing = key and name.provider is not Provider.URL and not environ.get(key)
    return [f"{key} is not set here"] if is_missing else []


def _runs(home: str) -> Iterator[HealthCheck]:
    """How it did for the last prompts."""
    runs = [run for run in hook_log.runs(home)[-_RUNS:] if run.get("model")]
    if not runs:
        return
    outcomes = Counter(run["model"] for run in runs)
    reasons = Counter(str(run.get("reason", "unknown")) for run in runs if run["model"] == FAILED)
    found = f"of the last {len(runs)} prompts it chose for {outcomes[CHOSEN]}, was late for {outcomes[LATE]} and "
    found += f"failed for {outcomes[FAILED]}" + "".join(f"; {n} × {why}" for why, n in reasons.most_common(2))
    if outcomes[CHOSEN] == len(runs):
        yield HealthCheck("hook model runs", OK, found)
    else:
        yield HealthCheck("hook model runs", NOTE if outcomes[CHOSEN] else PROBLEM, found, _DO)
