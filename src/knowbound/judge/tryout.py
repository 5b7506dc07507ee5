"""Models that are already on this machine, tried on bundled cases with their answers.

There are twenty turns, twenty hedges and twenty choices. A model is worth its cost only where it is clearly better than
the rules: the lower end of its interval is above what the rules reach on the same cases. The recorded answers of a
large model are shown beside both. Only `knowbound model` looks for models: at files and the environment, in codex's
list of models, and at four usual ports of this machine.
"""

from __future__ import annotations

import http.client
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TypeVar

import msgspec

from knowbound.config import ModelTask, Settings
from knowbound.core.quality import ItemVerdict, JudgedItem, Metric
from knowbound.errors import ConfigError
from knowbound.judge.choosing import Choosing, choose
from knowbound.judge.hedging.verdict import HedgingCandidate, HedgingJudge
from knowbound.judge.labels import ItemLabel, LabelledTurn
from knowbound.judge.models import claude_client, codex_client
from knowbound.judge.models.api import is_installed
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Recorded
from knowbound.judge.names import JudgeOptions
from knowbound.judge.turns import TurnJudge
from knowbound.process import find_client
from knowbound.stats.rate import Rate

_USUAL_PORTS = {11434: "Ollama", 1234: "LM Studio", 8080: "llama.cpp", 8000: "vLLM"}
_SERVER_SECONDS = 0.3
_MOST_MODELS = 3  # of one server
_CLAUDE_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_USE_BEDROCK")


class FoundModel(msgspec.Struct, frozen=True):
    """A model that could be used, or why it cannot."""

    name: str  # as `judge list` has it
    what: str
    usable: bool
    note: str = ""


def found_models(environ: Mapping[str, str] = os.environ) -> list[FoundModel]:
    """Return the models of this machine, the likeliest choice first."""
    return [*_claude(environ), *_codex(environ), *_keys(environ), *_servers()]


def _claude(environ: Mapping[str, str]) -> Iterator[FoundModel]:
    """Yield Claude Code as a model, if it is installed, with what may keep it from answering."""
    if find_client("claude") is None:
        return
    name, what = "claude-cli:haiku", "Claude Code on the PATH"
    if reason := claude_client.forced_by_administrator(claude_client.managed_folder()):
        yield FoundModel(name, what, False, reason)
        return
    folder = claude_client.config_folder()
    has_login = (
        any(environ.get(key) for key in _CLAUDE_KEYS)
        or (folder / ".credentials.json").exists()
        or bool(claude_client.carried_login(folder))
        or _has_key(Path.home() / ".claude.json")
    )
    yield FoundModel(name, what, True, "" if has_login else "no login is to be seen here; --try shows whether there is")


def _has_key(path: Path) -> bool:
    """Report whether Claude Code's state has a key or an account."""
    with suppress(OSError, ValueError):
        config = json.loads(path.read_bytes())
        return isinstance(config, dict) and bool(config.get("primaryApiKey") or config.get("oauthAccount"))
    return False


def _codex(environ: Mapping[str, str]) -> Iterator[FoundModel]:
    """Yield Codex as a model, if it is installed, with what may keep it from answering."""
    if find_client("codex") is None:
        return
    what, model = "Codex on the PATH", codex_client.usual_model()
    name = f"codex-cli:{model or 'MODEL'}"
    if reason := codex_client.forced_by_administrator(codex_client.SYSTEM):
        yield FoundModel(name, what, False, reason)
        return
    has_login = (codex_client.user_home() / "auth.json").exists() or bool(environ.get("CODEX_API_KEY"))
    note = "" if has_login else "no login is to be seen here; --try shows whether there is"
    yield FoundModel(name, what, bool(model), note)


def _keys(environ: Mapping[str, str]) -> Iterator[FoundModel]:
    """Yield the models of the providers whose key is set."""
    note = "" if is_installed() else "needs the extra llm"
    if environ.get("ANTHROPIC_API_KEY"):
        yield FoundModel("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY is set", is_installed(), note)
    if environ.get("OPENAI_API_KEY"):
        yield FoundModel("openai:MODEL", "OPENAI_API_KEY is set", False, note or "name one of its models")


def _servers() -> Iterator[FoundModel]:
    """Yield the first models of each server that answers on a usual port of this machine."""
    note = "" if is_installed() else "needs the extra llm"
    for port, program in _USUAL_PORTS.items():
        for model in _models_at(port)[:_MOST_MODELS]:
            name = f"http://127.0.0.1:{port}/v1#{model}"
            yield FoundModel(name, f"a server on this machine ({program}'s port)", is_installed(), note)


def _models_at(port: int) -> list[str]:
    """Return the models that a server on loopback lists; none if nothing answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_SERVER_SECONDS)
    try:
        connection.request("GET", "/v1/models")
        listed = json.loads(connection.getresponse().read(1 << 20))
        return [str(model["id"]) for model in listed["data"]]
    except (OSError, http.client.HTTPException, ValueError, LookupError, TypeError):
        return []
    finally:
        connection.close()


_TASKS = (ModelTask.TURNS, ModelTask.HEDGES, ModelTask.CHOOSE)
_FOLDER = "tryout_cases"
_RECORDED_FILE = "answers.jsonl"
_Case = TypeVar("_Case", bound=msgspec.Struct)


class HedgeCase(msgspec.Struct, frozen=True):
    """A sentence, and whether it is doubt."""

    id: str
    sentence: str
    uncertain: bool
    context: str = ""
    question: str = ""


class ChooseCase(msgspec.Struct, frozen=True):
    """A prompt, items, and which of them it needs; `rules` are those that the rules choose."""

    id: str
    prompt: str
    items: list[JudgedItem]
    right: list[str]
    rules: list[str] = []


class TaskTried(msgspec.Struct, frozen=True):
    """Hits of the rules, of the recorded large model and of the tried model on the cases of one task."""

    task: ModelTask
    rules: Rate
    large: Rate
    model: Rate
    problem: str = ""  # of a case without an answer

    @property
    def is_worth_it(self) -> bool:
        """Report whether the model is clearly better than the rules."""
        interval = self.model.interval
        return interval is not None and self.rules.value is not None and interval[0] > self.rules.value


class Tried(msgspec.Struct, frozen=True):
    """A model on all cases."""

    tasks: list[TaskTried]
    seconds: float  # of a call
    tokens_in: int | None  # of all calls; None if the model does not say
    tokens_out: int | None
    usd: float | None
    calls: int
    own_tokens: int  # estimated, of our own texts; the rest is what the client adds


def hits_on_turns(judge: TurnJudge) -> tuple[Rate, str]:
    """Return the items whose three verdicts are all right, and the judge's first problem."""
    right, items, problem, cases = 0, 0, "", _cases(ModelTask.TURNS, LabelledTurn)
    for case, answer in zip(cases, judge.judge([case.judged for case in cases]), strict=True):
        verdicts = {verdict.item: verdict for verdict in answer.verdicts}
        right += sum(_agrees(verdicts.get(item), label) for item, label in case.labels.items())
        items += len(case.labels)
        problem = problem or answer.problem
    return Rate(right, items), problem


def hits_on_hedges(judge: HedgingJudge) -> tuple[Rate, str]:
    """Return the sentences that are judged right, and the judge's first problem."""
    cases = _cases(ModelTask.HEDGES, HedgeCase)
    found = judge.judge([HedgingCandidate(case.sentence, case.context, case.question) for case in cases])
    right = sum(
        not verdict.has_failed and verdict.is_uncertainty is case.uncertain
        for verdict, case in zip(found, cases, strict=True)
    )
    return Rate(right, len(cases)), next((verdict.reason for verdict in found if verdict.has_failed), "")


def hits_on_choices(asker: Asker | None) -> tuple[Rate, str]:
    """Return the prompts for which exactly the right items are chosen: by a model, or by rules, as recorded."""
    cases = _cases(ModelTask.CHOOSE, ChooseCase)
    if asker is None:
        return Rate(sum(set(case.rules) == set(case.right) for case in cases), len(cases)), ""
    asked = choose(asker, [Choosing(case.prompt, [item.content for item in case.items]) for case in cases])
    right = 0
    for case, choice in zip(cases, asked, strict=True):
        chosen = {case.items[entry.number - 1].id for entry in choice.entries or ()}
        right += choice.entries is not None and chosen == set(case.right)
    return Rate(right, len(cases)), next((choice.problem for choice in asked if choice.entries is None), "")


def try_model(name: str, settings: Settings) -> Tried:
    """Ask the model of that name about every case, within the user's limits; nothing of the answers is kept."""
    from knowbound.judge.registry import asker_for  # noqa: PLC0415

    asker = asker_for(settings, name, keep=False)
    if asker is None:
        raise ConfigError("no-judge", "The rules are no model to try. Name one: knowbound model NAME --try")
    tasks = measured(asker)
    usage = asker.usage
    return Tried(
        tasks=tasks,
        seconds=usage.seconds / max(1, usage.calls),
        tokens_in=usage.tokens_in,
        tokens_out=usage.tokens_out,
        usd=usage.usd,
        calls=usage.calls,
        own_tokens=usage.own_tokens,
    )


def measured(asker: Asker) -> list[TaskTried]:
    """Return the hits on each task: of the rules, of the recorded large model, and of what the asker asks."""
    from knowbound.judge.hedging.rules import RulesJudge  # noqa: PLC0415
    from knowbound.judge.model_judges import ModelHedgingJudge, ModelTurnJudge  # noqa: PLC0415
    from knowbound.judge.turns import RulesTurnJudge  # noqa: PLC0415

    def hits(asker: Asker | None) -> list[tuple[Rate, str]]:
        return [
            hits_on_turns(RulesTurnJudge() if asker is None else ModelTurnJudge("", True, asker)),
            hits_on_hedges(RulesJudge() if asker is None else ModelHedgingJudge("", True, asker)),
            hits_on_choices(asker),
        ]

    by_task = zip(_TASKS, hits(None), hits(recorded_asker()), hits(asker), strict=True)  # None: the rules
    return [TaskTried(task, rules, large, model, problem) for task, (rules, _), (large, _), (model, problem) in by_task]


def recorded_asker() -> Asker:
    """Return what replays the recorded answers of a large model to these cases."""
    with resources.as_file(_file(_RECORDED_FILE)) as path:
        recorded = Recorded(Path(path))
    return Asker("a large model", recorded, JudgeOptions(retries=0), recorded)


def _agrees(verdict: ItemVerdict | None, label: ItemLabel) -> bool:
    return verdict is not None and all(verdict.says(metric) == label.says(metric) for metric in Metric)


def _cases(task: ModelTask, type_: type[_Case]) -> Sequence[_Case]:
    data = _file(f"{task}.jsonl").read_bytes()
    return [msgspec.json.decode(line, type=type_) for line in data.splitlines() if line]


def _file(name: str) -> Traversable:
    return resources.files("knowbound.judge").joinpath(_FOLDER, name)
