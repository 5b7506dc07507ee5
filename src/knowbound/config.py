"""Every setting with its type, default and environment name, in one place.

The first source with a value wins: flag, environment, the project's file (`knowbound.toml`, or `[tool.knowbound]` in
pyproject.toml), the user's file (`~/.config/knowbound/config.toml`), default. An unknown key is an error with a
suggestion. Risky settings of a project need the user's permission: trust.py. A policy of the machine limits all of
them: policy.py.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from knowbound import trust
from knowbound.config_files import eval_file, project_file, toml_of
from knowbound.config_values import REPLACED, TAKEN_OUT, Setting, parsed, taken_out, typed, variable
from knowbound.errors import ConfigError
from knowbound.policy import load_policy
from knowbound.trust import Risk, RiskRule, RiskySetting, absolute_command, is_trusted, refusal, risky_setting
from knowbound.user_files import config_folder

# Specification 2, "Effective confidence".
ALPHA = 0.5  # how much use raises
BETA = 2.0  # how much contradiction lowers
GAMMA = 0.3  # weight of the newest injection in both averages


def _setting(
    key: str, default: Any, help_: str, also: str = "", risk: RiskRule = trust.HARMLESS, most: float = 1.0
) -> Any:
    """Return a field of `Settings`: the only definition of a key, its default, its help and its risk."""
    return field(default=default, metadata={"key": key, "help": help_, "also": also, "risk": risk, "most": most})


def _address(key: str, default: str, help_: str) -> Any:
    return _setting(key, default, help_, risk=trust.ADDRESS)


def _task(name: str, decides: str, also: str = "") -> Any:
    help_ = f"The model for {decides}; empty is model.name."
    return _setting(f"model.tasks.{name}", "", help_, also=also, risk=trust.JUDGE)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a project, after flags, environment and config file."""

    root: Path
    home: Path
    knowledge: tuple[str, ...] = _setting(
        "knowledge",
        (),
        "Globs of knowledge files beside the agents' own instruction files; for eval they replace the default, all "
        "Markdown files. `*` also crosses folders.",
        risk=trust.PATH,
    )
    jobs: int = _setting("jobs", 0, "Processes that read traces; 0 is one per core.")
    cluster_address: str = _address(
        "cluster.address",
        "",
        "Address of a Dask scheduler whose workers read traces: tls://host:port, tcp:// on this machine, or local:N "
        "for N workers here; empty is processes of this machine.",
    )
    cluster_certificates: str = _address(
        "cluster.certificates",
        "",
        "Folder with ca.pem, cert.pem and key.pem, by which a cluster and this machine know each other.",
    )
    cluster_mongo_url: str = _address(
        "cluster.mongo_url", "", "MongoDB that keeps results of observe, audit and review for a team; empty is none."
    )
    cluster_keep_days: int = _setting(
        "cluster.keep_days",
        0,
        "Days after its end that results of a session are kept in cluster.mongo_url; 0 is no limit.",
        risk=trust.FEWER_DAYS,
    )
    store_keep_days: int = _setting(
        "store.keep_days",
        0,
        "Days after its end that results of a session are kept and its trace is read; 0 is no limit.",
    )
    repeated_failure_calls: int = _setting(
        "repeated_failure_calls", 3, "Failed calls of one class within 3 steps that make a repeated failure."
    )
    as_specified: bool = _setting(
        "as_specified",
        False,
        "Whether specification 1 is counted by its letter: every failed Grep, Read and search command, no other tool.",
    )
    hedging_classifier_enabled: bool = _setting(
        "hedging_classifier.enabled",
        True,
        "Whether a judge filters hedging sentences.",
        also="hedgingClassifier.enabled",
    )
    hedging_classifier_max_candidates: int = _setting(
        "hedging_classifier.max_candidates",
        0,
        "Sentences judged per evaluation; 0 is the judge's own cap: 50 if a verdict costs money, none if it is free.",
        also="hedgingClassifier.maxCandidates",
    )
    model_name: str = _setting(
        "model.name",
        "auto",
        "The model for every task: auto is the one allowed with `knowbound model`, none is rules alone; or a name of "
        "judge list.",
        risk=trust.JUDGE,
    )
    model_fallback: str = _setting(
        "model.fallback",
        "auto",
        "The model that takes over a task if calibration shows that the first is below the limit: auto is the next "
        "larger one of the same provider, none is no other.",
        risk=trust.JUDGE,
    )
    model_budget_usd: float = _setting(
        "model.budget_usd",
        2.0,
        "USD that a command may spend on a model, as far as known.",
        risk=trust.HIGHER,
        most=1e6,
    )
    model_budget_calls: int = _setting(
        "model.budget_calls", 500, "Calls of a model that commands may make in a day.", risk=trust.HIGHER
    )
    model_background_calls: int = _setting(
        "model.background_calls",
        100,
        "Calls of a model that may be made in a day while agents work; a fifth of them in an hour.",
        risk=trust.HIGHER,
    )
    model_keep_days: int = _setting("model.keep_days", 90, "Days that a model's answers are kept; 0 is no limit.")
    model_cross_provider: bool = _setting(
        "model.cross_provider",
        False,
        "Whether a provider that has not seen a session may judge it, for example claude a session of Codex.",
        risk=trust.SWITCHED_ON,
    )
    model_tasks_turns: str = _task("turns", "whether injected items were on topic, used or contradicted")
    model_tasks_hedges: str = _task("hedges", "whether a sentence is doubt", also="hedgingClassifier.model")
    model_tasks_rubrics: str = _task("rubrics", "scores of rubrics in `eval`")
    model_tasks_causes: str = _task("causes", "why samples of `eval` failed")
    model_tasks_drafts: str = _task("drafts", "samples that `draft` proposes, and whether documents answer them")
    model_tasks_probe: str = _task("probe", "competency questions of `probe`")
    model_tasks_lessons: str = _task("lessons", "the words of lessons")
    model_tasks_claims: str = _task("claims", "claims of audited turns that rules leave open")
    model_tasks_choose: str = _task("choose", "which items are injected for a prompt, while the agent works")
    model_tasks_statements: str = _task("statements", "statements of knowledge files that rules cannot check")
    model_tasks_misses: str = _task("misses", "how lookups that found nothing ended")
    model_tasks_rescue: str = _task("rescue", "where something is that a search missed and rules do not find")
    model_tasks_investigate: str = _task("investigate", "terms of a question to `investigate`, and reading")
    model_tasks_rules: str = _task("rules", "whether sessions obeyed rules that traces alone do not decide")
    judge_seconds: int = _setting("judge.seconds", 60, "Time limit of one call of a judge that is a model.")
    gate_max_gap_rate: float | None = _setting(
        "gate.max_gap_rate", None, "The gap rate above which `eval` and `check` fail; unset is no such gate."
    )
    gate_gap_rate_regression: float | None = _setting(
        "gate.gap_rate_regression",
        None,
        "The rise of the gap rate above which `eval` and `check` fail; since the last run with the same test set that "
        "failed no gate.",
    )
    gate_rate: str = _setting(
        "gate.rate", "raw", "The rate that gates limit: raw counts every signal, open only open signals."
    )
    eval_samples: str = _setting(
        "eval.samples", "", "The samples file of `eval`; empty is eval-samples.* in the root.", risk=trust.PATH
    )
    eval_executor: str = _setting(
        "eval.executor",
        "investigate",
        "The executor that answers samples: investigate, claude, codex, model:…, command:…",
        risk=trust.EXECUTOR,
    )
    eval_model: str = _setting(
        "eval.model", "", "The model that claude or codex should use; empty is the agent's own default."
    )
    eval_seconds: int = _setting("eval.seconds", 300, "Time limit of one sample.")
    eval_keep_runs: int = _setting(
        "eval.keep_runs",
        30,
        "Evaluations whose traces are kept. Traces of older ones are removed; their figures stay. 0 is no limit.",
    )
    eval_keep_days: int = _setting(
        "eval.keep_days",
        90,
        "Days that the traces of an evaluation are kept. The newest traces, and those that --resume needs, are never "
        "removed. 0 is no limit.",
    )
    kms_backends: tuple[str, ...] = _setting(
        "kms.backends",
        ("sqlite",),
        "Backends of items: sqlite, mongo, mem0, neo4j; new items go to the first.",
        risk=trust.BACKENDS,
    )
    items_files: tuple[str, ...] = _setting(
        "items.files",
        (),
        "Globs of Markdown files of the project whose sections and bullets are items, for example knowledge/**/*.md.",
        risk=trust.CONTEXT,
    )
    kms_mongo_url: str = _address(
        "kms.mongo_url", "mongodb://localhost:27017/knowbound", "Address of MongoDB, with the name of the database."
    )
    kms_mongo_collection: str = _address(
        "kms.mongo_collection", "", "A collection of another program with items; empty is knowbound's own."
    )
    kms_mem0_path: str = _address(
        "kms.mem0_path", "", "The folder of Mem0's local Qdrant; empty is mem0 in the data folder."
    )
    kms_mem0_url: str = _address(
        "kms.mem0_url", "", "Address of a Mem0 server with memories to read; empty is Mem0 in a local folder."
    )
    kms_mem0_password: str = _address(
        "kms.mem0_password", "", "The API key of the Mem0 server; better set by its environment variable."
    )
    kms_mem0_user: str = _address(
        "kms.mem0_user", "", "The user_id whose memories are read from the Mem0 server; empty is every user's."
    )
    kms_neo4j_url: str = _address("kms.neo4j_url", "bolt://localhost:7687", "Address of Neo4j.")
    kms_neo4j_user: str = _address("kms.neo4j_user", "neo4j", "The user at Neo4j.")
    kms_neo4j_password: str = _address(
        "kms.neo4j_password", "", "The password at Neo4j; better set by its environment variable."
    )
    kms_neo4j_database: str = _address("kms.neo4j_database", "", "The database at Neo4j; empty is its default.")
    kms_neo4j_label: str = _address(
        "kms.neo4j_label", "", "The label of another program's nodes with items; empty is knowbound's own."
    )
    kms_fields: tuple[str, ...] = _setting(
        "kms.fields",
        (),
        "Fields of another program's records, as OURS=THEIRS or BACKEND.OURS=THEIRS; others as in specification 2.",
        risk=trust.ADDRESS,
    )
    kms_write: bool = _setting(
        "kms.write",
        False,
        "Whether corrections are written into another program's store; else they are noted in the data folder.",
        risk=trust.SWITCHED_ON,
    )
    kms_reap_days: int = _setting(
        "kms.reap_days", 30, "Days that a deleted or superseded item can be brought back before it is reaped."
    )
    learn_max_lines: int = _setting(
        "learn.max_lines", 40, "Lessons of a project that `learn` proposes and writes; the least useful are left out."
    )
    learn_max_tokens: int = _setting("learn.max_tokens", 1500, "Tokens that these lessons may have together.")
    kms_sync_seconds: int = _setting(
        "kms.sync_seconds",
        5,
        "While agents work, seconds between two checks of MongoDB or Neo4j for changes by other machines; 0 is never.",
    )
    injection_token_budget: int = _setting(
        "injection.token_budget",
        600,
        "Tokens (estimated) of the bundle for a prompt at most; half of that at the start of a session.",
        risk=trust.HIGHER,
    )
    injection_relevance_floor: float | None = _setting(
        "injection.relevance_floor",
        None,
        "Relevance (0 to 1) an item needs to be injected; default: the measured floor.",
    )
    injection_most_items: int = _setting(
        "injection.most_items", 3, "Items for a prompt at most; the token budget may allow fewer.", risk=trust.HIGHER
    )
    injection_self_marking: bool = _setting(
        "injection.self_marking",
        False,
        "Whether a session starts with one sentence that asks the agent to mark what it infers or did not find.",
    )
    injection_subject: str = _setting(
        "injection.subject", "", "The subject whose items open a session; empty is the root's folder name."
    )
    injection_time_limit_ms: int = _setting(
        "injection.time_limit_ms",
        1000,
        "Milliseconds from its start after which a hook gives up and injects nothing.",
        risk=trust.HIGHER,
    )
    injection_wait_ms: int = _setting(
        "injection.wait_ms",
        0,
        "Milliseconds that a prompt waits for the model that chooses items; 0: what it chooses comes with a later tool "
        "call of the turn.",
        risk=trust.HIGHER,
    )
    audit_check: str = _setting(
        "audit.check",
        "off",
        "When an agent is about to stop and claims that tests pass, that it builds, that lint is clean or that it is "
        "done, and its session does not show that: warn informs the user, block informs the agent, which continues "
        "once; off only logs the message.",
    )
    audit_check_ms: int = _setting(
        "audit.check_ms",
        500,
        "Milliseconds that the check before an agent stops may take; after that it is skipped, and its log says so.",
        risk=trust.HIGHER,
    )
    injection_log_days: int = _setting("injection.log_days", 90, "Days that the log of injections is kept.")
    rescue_enabled: bool = _setting(
        "rescue.enabled",
        True,
        "Whether hooks answer lookups that missed. They keep an index of the source tree for this.",
    )
    quality_holdout: float = _setting(
        "quality.holdout",
        0.0,
        "Share of sessions (0 to 1) that get no items, drawn at random: `quality status` compares them with the rest.",
    )
    rollout_auto: bool = _setting(
        "rollout.auto",
        True,
        "Whether a leg of the rollout of measured ranking begins by itself once every criterion is met.",
    )
    quality_corrections: bool = _setting(
        "quality.corrections",
        True,
        "Whether the next session of an agent starts with up to three suggested corrections, found by a trusted judge.",
    )
    quality_ranking: bool = _setting(
        "quality.ranking",
        True,
        "Whether measured quality may rank items. Running agents see a change with their next prompt; "
        "KMS_QUALITY_RANKING_ENABLED=false has the same effect for processes that start with it.",
    )
    quality_alpha: float = _setting("quality.alpha", ALPHA, "How much use raises effective confidence.", most=100.0)
    quality_beta: float = _setting(
        "quality.beta", BETA, "How much contradiction lowers effective confidence.", most=100.0
    )
    quality_gamma: float = _setting(
        "quality.gamma",
        GAMMA,
        "Weight (0 to 1) of an item's newest injection in the averages of use and contradiction.",
    )
    home_is_given: bool = False  # the user named the data folder: KNOWBOUND_HOME
    hedges_off: bool = False  # the calibration of the configured judge switched hedges off
    source: str = field(default="defaults", compare=False)  # file of the settings
    from_project: frozenset[str] = field(default=frozenset(), compare=False)  # fields that the project's file sets
    providers: frozenset[str] | None = None  # whom the machine's policy lets text be sent to; None: anybody
    policy: tuple[str, ...] = field(default=(), compare=False)  # files of the machine's policy
    replaced: tuple[str, ...] = field(default=(), compare=False)  # keys of earlier versions in use
    replaced_by_user: tuple[str, ...] = field(default=(), compare=False)  # those of the user and the environment

    @property
    def shared_backends(self) -> tuple[str, ...]:
        """Configured backends that other machines write to and that are to be synchronised."""
        others = ("mongo", "neo4j", "files", *(("mem0",) if self.kms_mem0_url else ()))
        shared = [name for name in dict.fromkeys(self.kms_backends) if name in others]
        return tuple(shared) if self.kms_sync_seconds > 0 else ()


_TYPES: dict[Any, type] = {
    "tuple[str, ...]": list,
    "int": int,
    "bool": bool,
    "str": str,
    "float": float,
    "float | None": float,
}
SETTINGS: tuple[Setting, ...] = tuple(
    Setting(name=one.name, type=_TYPES[one.type], default=one.default, **one.metadata)
    for one in fields(Settings)
    if one.metadata
)
# Hooks and workers use these from other folders.
_RUN_ANYWHERE = "model."
_NONE = "none"  # what an empty name of an earlier version meant
_DEFAULTS = {setting.name: setting.default for setting in SETTINGS}
_BY_KEY = {setting.key: setting for setting in SETTINGS}
_ALSO = {setting.also: setting.key for setting in SETTINGS if setting.also}  # the spelling of specification 1


def load(
    root: Path,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    *,
    ignore_untrusted: bool = False,
) -> Settings:
    """Return the settings of a project. Untrusted ones raise ConfigError; `ignore_untrusted` leaves them out."""
    environ = os.environ if environ is None else environ
    given = {name: value for name, value in (flags or {}).items() if value is not None}
    for key in TAKEN_OUT:
        if variable(key) in environ:
            raise taken_out(variable(key), key)
    old = {key: new for key, new in REPLACED.items() if variable(key) in environ}
    by_environment = {_BY_KEY[new].name: environ[variable(key)].strip() or _NONE for key, new in old.items()}
    by_environment |= {
        setting.name: parsed(setting, environ[setting.env]) for setting in SETTINGS if setting.env in environ
    }
    if "KNOWBOUND_MODEL" in environ:  # for every task that has no variable of its own
        every = {setting.name: "" for setting in SETTINGS if setting.key.startswith("model.tasks.")}
        by_environment = {**every, "model_name": environ["KNOWBOUND_MODEL"].strip() or _NONE} | by_environment
    user_file, users, users_old = _user_values()
    file, projects, projects_old = _project_values(root)
    risky = {_BY_KEY[one.key].name: one for one in _risky(root, projects, users)}
    used = {name: one for name, one in risky.items() if name not in by_environment | given}
    if used and not is_trusted(root, list(risky.values())):
        if not ignore_untrusted:
            assert file is not None
            raise refusal(file, list(used.values()), user_file)
        projects = {name: value for name, value in projects.items() if name not in used}
        used = {}
    for name, one in used.items():
        if one.risk is Risk.PROGRAM:
            projects[name] = absolute_command(one.value, root, always=one.key.startswith(_RUN_ANYWHERE))
    values = users | projects | by_environment | given
    if values.get("items_files"):
        values["kms_backends"] = tuple(dict.fromkeys((*values.get("kms_backends", ("sqlite",)), "files")))
    policy = load_policy()
    home = Path(environ["KNOWBOUND_HOME"]).expanduser() if environ.get("KNOWBOUND_HOME") else root / ".knowbound"
    return Settings(
        root=root,
        home=home,
        home_is_given=bool(environ.get("KNOWBOUND_HOME")),
        source=str(file or (user_file if users else "defaults")),
        from_project=frozenset(projects.keys() - by_environment.keys() - given.keys()),
        replaced=tuple(dict.fromkeys((*map(variable, old), *projects_old, *users_old))),
        replaced_by_user=(*map(variable, old), *users_old),
        providers=policy.providers,
        policy=tuple(policy.files),
        **policy.limited(values, _DEFAULTS),
    )


def risky_settings(root: Path) -> list[RiskySetting]:
    """Return the settings of the project's config that need the user's permission."""
    return _risky(root, _project_values(root)[1], _user_values()[1])


def _risky(root: Path, projects: Mapping[str, Any], users: Mapping[str, Any]) -> list[RiskySetting]:
    found = []
    for setting in SETTINGS:
        if setting.name in projects:
            value, without = projects[setting.name], users.get(setting.name, setting.default)
            if value != without and (risk := setting.risk.risk_of(value, without)):
                found.append(risky_setting(setting.key, value, risk, setting.env, root))
    return found


def user_config() -> Path:
    """Return the path of the user's config file, which may not exist."""
    return Path(config_folder()) / "config.toml"


def _user_values() -> tuple[Path, dict[str, Any], list[str]]:
    return (path := user_config()), *(_values(path, toml_of(path)) if path.is_file() else ({}, []))


def _project_values(root: Path) -> tuple[Path | None, dict[str, Any], list[str]]:
    """Return the project's file and its values; `eval.yaml` may have those of specification 1's classifier."""
    file, table = project_file(root)
    values, old = _values(file, table)
    evals, classifier = eval_file(root)
    if evals is None:
        return file, values, old
    return file or evals, _values(evals, classifier)[0] | values, old


def _values(file: Path | None, table: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the values by field, and the keys of earlier versions among them."""
    flat = _flat(table, file)
    old = [key for key in flat if key in REPLACED]
    for key in old:
        if REPLACED[key] in flat:
            raise ConfigError("config-twice", f"{file}: {key} was replaced by {REPLACED[key]}. Leave {key} out.")
        flat[REPLACED[key]] = flat.pop(key) or _NONE
    return {_BY_KEY[key].name: typed(_BY_KEY[key], value, str(file)) for key, value in flat.items()}, old


def _flat(table: dict[str, Any], file: Path | None, prefix: str = "") -> dict[str, Any]:
    """Return the values by dotted key. Raises ConfigError for an unknown key."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        full = prefix + key
        if isinstance(value, dict) and any(known.startswith(full + ".") for known in (*_BY_KEY, *_ALSO, *REPLACED)):
            inner = _flat(value, file, full + ".")
            if twice := sorted(flat.keys() & inner.keys()):
                raise ConfigError(
                    "config-twice", f"{file}: {twice[0]} is given in two spellings. Leave one of them out."
                )
            flat |= inner
        elif full in _BY_KEY or full in _ALSO or full in REPLACED:
            flat[_ALSO.get(full, full)] = value
        elif full in TAKEN_OUT:
            raise taken_out(f"{file}: {full}", full)
        else:
            near = difflib.get_close_matches(full, (*_BY_KEY, *_ALSO), n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else f" Known keys: {', '.join(_BY_KEY)}."
            raise ConfigError("config-unknown-key", f"{file}: unknown key {full!r}.{hint}")
    return flat
