"""Every setting with its type, default and environment name, in one place.

The first source with a value wins: flag, environment, the project's file (`knowbound.toml`, or `[tool.knowbound]` in
pyproject.toml), the user's file (`~/.config/knowbound/config.toml`), default. An unknown key is an error with a
suggestion. Risky settings of a project need the user's permission: trust.py. A policy of the machine limits all of
them: policy.py.
"""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any

from knowbound import trust
from knowbound.errors import ConfigError
from knowbound.policy import load_policy
from knowbound.trust import Risk, RiskRule, RiskySetting, absolute_command, is_trusted, refusal, risky_setting
from knowbound.user_files import config_folder

# Specification 2, "Effective confidence".
ALPHA = 0.5  # how much use raises
BETA = 2.0  # how much contradiction lowers
GAMMA = 0.3  # weight of the newest injection in both averages

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
    "injection.wait_ms": "No prompt waits for a model: what it chooses comes with a later tool call of the turn.",
    "eval.retries": "A sample whose agent crashed is tried once more.",
    "judge.concurrency": "A judge that is a model gets four calls at once.",
    "judge.retries": "A failed call of a judge is repeated twice.",
}
_LARGEST_NUMBER = 10**12  # a larger number is a mistake
_LONGEST_NUMBER = 18  # characters
_CLASSIFIER = "hedgingClassifier"  # specification 1, section 4, source 3
_LARGEST_FILE = 64_000  # bytes of eval.yaml
_MOST_OF_AN_ERROR = 300  # characters of an error


@dataclass(frozen=True, slots=True)
class Setting:
    """One key of the config file, made from a field of `Settings`."""

    key: str  # as in the file; a dot separates table and key
    name: str  # the field of `Settings`
    type: type
    default: Any
    also: str  # another spelling of the key in the file
    risk: RiskRule  # finds values that need the user's permission
    most: float = 1.0  # of a number that need not be whole

    @property
    def env(self) -> str:
        """The environment variable of the setting."""
        return variable(self.key)


def _setting(key: str, default: Any, risk: RiskRule, *, also: str = "", most: float = 1.0) -> Any:
    """Return a field of `Settings`: its key, default and risk. Its text is in catalogue/settings.toml."""
    return field(default=default, metadata={"key": key, "also": also, "risk": risk, "most": most})


def _address(key: str, default: str) -> Any:
    return _setting(key, default, trust.ADDRESS)


class ModelTask(StrEnum):
    """A question about text that a model can decide; `words` say what is decided."""

    words: str

    def __new__(cls, name: str, words: str = "") -> ModelTask:
        """Make a task of its name in settings, and its words."""
        task = str.__new__(cls, name)
        task._value_, task.words = name, words
        return task

    TURNS = "turns", "injected items: on topic, used, contradicted"
    CHOOSE = "choose", "which items a prompt gets"
    CLAIMS = "claims", "claims of answers"
    HEDGES = "hedges", "sentences of doubt"
    MISSES = "misses", "how a search that found nothing ended"
    RESCUE = "rescue", "where a missed thing is"
    STATEMENTS = "statements", "statements of knowledge files"
    RULES = "rules", "whether a rule was obeyed"
    LESSONS = "lessons", "the words of proposed lines"
    INVESTIGATE = "investigate", "questions of Ask"
    RUBRICS = "rubrics", "scores of rubrics"
    CAUSES = "causes", "why samples failed"
    DRAFTS = "drafts", "proposed samples"
    PROBE = "probe", "competency questions"


def _task(task: ModelTask, also: str = "") -> Any:
    return _setting(f"model.tasks.{task}", "", trust.JUDGE, also=also)


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of a project, after flags, environment and config file."""

    root: Path
    home: Path
    knowledge: tuple[str, ...] = _setting("knowledge", (), trust.PATH)
    jobs: int = _setting("jobs", 0, trust.HARMLESS)
    cluster_address: str = _address("cluster.address", "")
    cluster_certificates: str = _address("cluster.certificates", "")
    cluster_mongo_url: str = _address("cluster.mongo_url", "")
    cluster_keep_days: int = _setting("cluster.keep_days", 0, trust.FEWER_DAYS)
    store_keep_days: int = _setting("store.keep_days", 0, trust.FEWER_DAYS)
    repeated_failure_calls: int = _setting("repeated_failure_calls", 3, trust.HARMLESS)
    as_specified: bool = _setting("as_specified", False, trust.HARMLESS)
    hedging_classifier_enabled: bool = _setting(
        "hedging_classifier.enabled", True, trust.HARMLESS, also="hedgingClassifier.enabled"
    )
    hedging_classifier_max_candidates: int = _setting(
        "hedging_classifier.max_candidates", 0, trust.HARMLESS, also="hedgingClassifier.maxCandidates"
    )
    model_name: str = _setting("model.name", "auto", trust.JUDGE)
    model_fallback: str = _setting("model.fallback", "auto", trust.JUDGE)
    model_budget_usd: float = _setting("model.budget_usd", 2.0, trust.HIGHER, most=1e6)
    model_budget_calls: int = _setting("model.budget_calls", 500, trust.HIGHER)
    model_background_calls: int = _setting("model.background_calls", 100, trust.HIGHER)
    model_keep_days: int = _setting("model.keep_days", 90, trust.HARMLESS)
    model_cross_provider: bool = _setting("model.cross_provider", False, trust.SWITCHED_ON)
    model_tasks_turns: str = _task(ModelTask.TURNS)
    model_tasks_choose: str = _task(ModelTask.CHOOSE)
    model_tasks_claims: str = _task(ModelTask.CLAIMS)
    model_tasks_hedges: str = _task(ModelTask.HEDGES, also="hedgingClassifier.model")
    model_tasks_misses: str = _task(ModelTask.MISSES)
    model_tasks_rescue: str = _task(ModelTask.RESCUE)
    model_tasks_statements: str = _task(ModelTask.STATEMENTS)
    model_tasks_rules: str = _task(ModelTask.RULES)
    model_tasks_lessons: str = _task(ModelTask.LESSONS)
    model_tasks_investigate: str = _task(ModelTask.INVESTIGATE)
    model_tasks_rubrics: str = _task(ModelTask.RUBRICS)
    model_tasks_causes: str = _task(ModelTask.CAUSES)
    model_tasks_drafts: str = _task(ModelTask.DRAFTS)
    model_tasks_probe: str = _task(ModelTask.PROBE)
    judge_seconds: int = _setting("judge.seconds", 60, trust.HARMLESS)
    gate_max_gap_rate: float | None = _setting("gate.max_gap_rate", None, trust.HARMLESS)
    gate_gap_rate_regression: float | None = _setting("gate.gap_rate_regression", None, trust.HARMLESS)
    gate_rate: str = _setting("gate.rate", "raw", trust.HARMLESS)
    eval_samples: str = _setting("eval.samples", "", trust.PATH)
    eval_executor: str = _setting("eval.executor", "investigate", trust.EXECUTOR)
    eval_model: str = _setting("eval.model", "", trust.HARMLESS)
    eval_seconds: int = _setting("eval.seconds", 300, trust.HARMLESS)
    eval_keep_runs: int = _setting("eval.keep_runs", 30, trust.HARMLESS)
    eval_keep_days: int = _setting("eval.keep_days", 90, trust.HARMLESS)
    kms_backends: tuple[str, ...] = _setting("kms.backends", ("sqlite",), trust.BACKENDS)
    items_files: tuple[str, ...] = _setting("items.files", (), trust.CONTEXT)
    kms_mongo_url: str = _address("kms.mongo_url", "mongodb://localhost:27017/knowbound")
    kms_mongo_collection: str = _address("kms.mongo_collection", "")
    kms_mem0_path: str = _address("kms.mem0_path", "")
    kms_mem0_url: str = _address("kms.mem0_url", "")
    kms_mem0_password: str = _address("kms.mem0_password", "")
    kms_mem0_user: str = _address("kms.mem0_user", "")
    kms_neo4j_url: str = _address("kms.neo4j_url", "bolt://localhost:7687")
    kms_neo4j_user: str = _address("kms.neo4j_user", "neo4j")
    kms_neo4j_password: str = _address("kms.neo4j_password", "")
    kms_neo4j_database: str = _address("kms.neo4j_database", "")
    kms_neo4j_label: str = _address("kms.neo4j_label", "")
    kms_fields: tuple[str, ...] = _setting("kms.fields", (), trust.ADDRESS)
    kms_write: bool = _setting("kms.write", False, trust.SWITCHED_ON)
    kms_reap_days: int = _setting("kms.reap_days", 30, trust.HARMLESS)
    learn_max_lines: int = _setting("learn.max_lines", 40, trust.HARMLESS)
    learn_max_tokens: int = _setting("learn.max_tokens", 1500, trust.HARMLESS)
    kms_sync_seconds: int = _setting("kms.sync_seconds", 5, trust.HARMLESS)
    injection_token_budget: int = _setting("injection.token_budget", 600, trust.HIGHER)
    injection_relevance_floor: float | None = _setting("injection.relevance_floor", None, trust.HARMLESS)
    injection_most_items: int = _setting("injection.most_items", 3, trust.HIGHER)
    injection_self_marking: bool = _setting("injection.self_marking", False, trust.HARMLESS)
    injection_subject: str = _setting("injection.subject", "", trust.HARMLESS)
    injection_time_limit_ms: int = _setting("injection.time_limit_ms", 1000, trust.HIGHER)
    audit_check: str = _setting("audit.check", "off", trust.HARMLESS)
    audit_check_ms: int = _setting("audit.check_ms", 500, trust.HIGHER)
    injection_log_days: int = _setting("injection.log_days", 90, trust.HARMLESS)
    rescue_enabled: bool = _setting("rescue.enabled", True, trust.HARMLESS)
    quality_holdout: float = _setting("quality.holdout", 0.0, trust.HARMLESS)
    rollout_auto: bool = _setting("rollout.auto", True, trust.HARMLESS)
    quality_corrections: bool = _setting("quality.corrections", True, trust.HARMLESS)
    quality_ranking: bool = _setting("quality.ranking", True, trust.HARMLESS)
    quality_alpha: float = _setting("quality.alpha", ALPHA, trust.HARMLESS, most=100.0)
    quality_beta: float = _setting("quality.beta", BETA, trust.HARMLESS, most=100.0)
    quality_gamma: float = _setting("quality.gamma", GAMMA, trust.HARMLESS)
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
        # Without an address mem0 keeps its items on this machine.
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
    Setting(name=known.name, type=_TYPES[known.type], default=known.default, **known.metadata)
    for known in fields(Settings)
    if known.metadata
)
# Hooks and workers use these from other folders.
_RUN_ANYWHERE = "model."
_NONE = "none"  # what an empty name of an earlier version meant
_DEFAULTS = {setting.name: setting.default for setting in SETTINGS}
_BY_KEY = {setting.key: setting for setting in SETTINGS}
_OTHER_SPELLINGS = {setting.also: setting.key for setting in SETTINGS if setting.also}  # those of specification 1


def load(
    root: Path,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    *,
    ignore_untrusted: bool = False,
) -> Settings:
    """Return the settings of a project. Untrusted settings raise ConfigError; `ignore_untrusted` leaves them out."""
    environ = os.environ if environ is None else environ
    by_flags = {name: value for name, value in (flags or {}).items() if value is not None}
    by_environment, old_variables = _environment_values(environ)
    user_file, user_values, old_user_keys = _user_values()
    file, project_values, old_project_keys = _project_values(root)
    risky = {_BY_KEY[setting.key].name: setting for setting in _risky(root, project_values, user_values)}
    risky_in_use = {name: setting for name, setting in risky.items() if name not in by_environment | by_flags}
    if risky_in_use and not is_trusted(root, list(risky.values())):
        if not ignore_untrusted:
            assert file is not None
            raise refusal(file, list(risky_in_use.values()), user_file)
        project_values = {name: value for name, value in project_values.items() if name not in risky_in_use}
        risky_in_use = {}  # left out above
    for name, setting in risky_in_use.items():
        if setting.risk is Risk.PROGRAM:  # it may be run from another folder
            project_values[name] = absolute_command(setting.value, root, always=setting.key.startswith(_RUN_ANYWHERE))
    values = user_values | project_values | by_environment | by_flags
    if values.get("items_files"):  # the files are a backend of their own
        values["kms_backends"] = tuple(dict.fromkeys((*values.get("kms_backends", ("sqlite",)), "files")))
    policy = load_policy()
    home = Path(environ["KNOWBOUND_HOME"]).expanduser() if environ.get("KNOWBOUND_HOME") else root / ".knowbound"
    return Settings(
        root=root,
        home=home,
        home_is_given=bool(environ.get("KNOWBOUND_HOME")),
        source=str(file or (user_file if user_values else "defaults")),
        from_project=frozenset(project_values.keys() - by_environment.keys() - by_flags.keys()),
        replaced=tuple(dict.fromkeys((*old_variables, *old_project_keys, *old_user_keys))),
        replaced_by_user=(*old_variables, *old_user_keys),
        providers=policy.providers,
        policy=tuple(policy.files),
        **policy.limited(values, _DEFAULTS),
    )


def _environment_values(environ: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return the values of variables by field, and the variables of earlier versions among them."""
    for key in TAKEN_OUT:
        if variable(key) in environ:
            raise taken_out(variable(key), key)
    old = {variable(key): new for key, new in REPLACED.items() if variable(key) in environ}
    values = {_BY_KEY[new].name: environ[name].strip() or _NONE for name, new in old.items()}
    values |= {setting.name: parsed(setting, environ[setting.env]) for setting in SETTINGS if setting.env in environ}
    if "KNOWBOUND_MODEL" in environ:  # for every task that has no variable of its own
        no_names = {setting.name: "" for setting in SETTINGS if setting.key.startswith("model.tasks.")}
        values = {**no_names, "model_name": environ["KNOWBOUND_MODEL"].strip() or _NONE} | values
    return values, list(old)


def risky_settings(root: Path) -> list[RiskySetting]:
    """Return the settings of the project's config that need the user's permission."""
    return _risky(root, _project_values(root)[1], _user_values()[1])


def _risky(root: Path, project_values: Mapping[str, Any], user_values: Mapping[str, Any]) -> list[RiskySetting]:
    """Return the project's settings whose values differ from those without the project, and are a risk."""
    risky = []
    for setting in SETTINGS:
        if setting.name in project_values:
            value, without = project_values[setting.name], user_values.get(setting.name, setting.default)
            if value != without and (risk := setting.risk.risk_of(value, without)):
                risky.append(risky_setting(setting.key, value, risk, setting.env, root))
    return risky


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
    old_keys = [key for key in flat if key in REPLACED]
    for key in old_keys:
        if REPLACED[key] in flat:
            raise ConfigError("config-twice", f"{file}: {key} was replaced by {REPLACED[key]}. Leave {key} out.")
        flat[REPLACED[key]] = flat.pop(key) or _NONE
    return {_BY_KEY[key].name: typed(_BY_KEY[key], value, str(file)) for key, value in flat.items()}, old_keys


def _flat(table: dict[str, Any], file: Path | None, prefix: str = "") -> dict[str, Any]:
    """Return the values by dotted key. Raises ConfigError for an unknown key."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        dotted_key = prefix + key
        known_keys = (*_BY_KEY, *_OTHER_SPELLINGS, *REPLACED)
        if isinstance(value, dict) and any(known.startswith(dotted_key + ".") for known in known_keys):
            inner = _flat(value, file, dotted_key + ".")
            if twice := sorted(flat.keys() & inner.keys()):
                raise ConfigError(
                    "config-twice", f"{file}: {twice[0]} is given in two spellings. Leave one of them out."
                )
            flat |= inner
        elif dotted_key in known_keys:
            flat[_OTHER_SPELLINGS.get(dotted_key, dotted_key)] = value
        elif dotted_key in TAKEN_OUT:
            raise taken_out(f"{file}: {dotted_key}", dotted_key)
        else:
            near = difflib.get_close_matches(dotted_key, (*_BY_KEY, *_OTHER_SPELLINGS), n=1, cutoff=0.5)
            hint = f" Did you mean {near[0]!r}?" if near else f" Known keys: {', '.join(_BY_KEY)}."
            raise ConfigError("config-unknown-key", f"{file}: unknown key {dotted_key!r}.{hint}")
    return flat


# The check of a value


def variable(key: str) -> str:
    """Return the environment variable of a key."""
    return "KNOWBOUND_" + key.replace(".", "_").upper()


def typed(setting: Setting, value: Any, where: str) -> Any:
    """Return the value in the type of its setting, or raise ConfigError."""
    shown = "what is given" if "password" in setting.key else repr(value)  # never printed
    wanted = _type_words(setting.type) if setting.most == 1 else "a number of 0 or more"
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
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _LARGEST_NUMBER
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


def _type_words(type_: type) -> str:
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


# The files


def eval_file(root: Path) -> tuple[Path | None, dict[str, Any]]:
    """Return `eval.yaml` and the settings of the hedging classifier in it; None if it has none."""
    path = root / "eval.yaml"
    try:
        data = path.read_bytes() if _is_file_inside(path, root) and path.stat().st_size <= _LARGEST_FILE else b""
        if _CLASSIFIER.encode() not in data:
            return None, {}
        import yaml  # noqa: PLC0415  (few projects have the file)

        # The loader in Python: that in C crashes the process on deep nesting.
        document = yaml.load(data.decode("utf-8"), Loader=yaml.SafeLoader)
    except ConfigError:
        raise
    except Exception as error:  # of reading, of Unicode, of YAML, of its depth
        raise ConfigError("config-unreadable", f"{path} cannot be used: {str(error)[:_MOST_OF_AN_ERROR]}") from error
    table = document.get(_CLASSIFIER) if isinstance(document, dict) else None
    if not isinstance(table, dict):
        return None, {}
    if not all(isinstance(key, str) and isinstance(value, str | int | bool) for key, value in table.items()):
        raise ConfigError("config-wrong-type", f"{path}: {_CLASSIFIER} takes enabled, model and maxCandidates.")
    return path, {_CLASSIFIER: table}


def project_file(root: Path) -> tuple[Path | None, dict[str, Any]]:
    """Return the file with the project's settings, and these; None if there is none."""
    knowbound_toml = root / "knowbound.toml"
    if _is_file_inside(knowbound_toml, root):
        return knowbound_toml, toml_of(knowbound_toml)
    pyproject = root / "pyproject.toml"
    if _is_file_inside(pyproject, root):
        tools = toml_of(pyproject).get("tool")
        table = tools.get("knowbound") if isinstance(tools, dict) else None
        if isinstance(table, dict):
            return pyproject, table
    return None, {}


def _is_file_inside(path: Path, root: Path) -> bool:
    """Report whether the file exists. Raises ConfigError for a link out of the root."""
    if not path.is_file():
        return False
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root)):
        raise ConfigError("config-unreadable", f"{path} is a link that leads out of {root}. It is not read.")
    return True


def toml_of(path: Path) -> dict[str, Any]:
    """Return a TOML file. Raises ConfigError."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # ValueError: also a number of thousands of digits
        raise ConfigError("config-unreadable", f"{path} cannot be used: {error}") from error
