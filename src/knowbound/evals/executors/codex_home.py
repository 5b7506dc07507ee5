"""A home for one run of `codex`: the user's login and model, and nothing else of the user's.

Codex reads instructions, skills, hooks, rules and MCP servers from its home as well as its login, and has no option
that leaves out all of the first and keeps the second. So a run gets a home of its own, which is removed after it:
`auth.json` leads to the user's own file, and of `config.toml` what names the model and how it is reached is carried
over. A login that Codex keeps in the system's keyring belongs to the user's home and is not found from another one.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from knowbound.user_files import make_file, make_folder

NAME = "client-home"  # of the folder, in the output folder of a task
# What names the model and how it is reached. Not among them, on purpose: everything that is text for the model.
_CARRIED = frozenset(
    "model model_provider model_providers model_reasoning_effort model_reasoning_summary model_verbosity "
    "model_supports_reasoning_summaries model_context_window model_max_output_tokens model_auto_compact_token_limit "
    "service_tier oss_provider profile profiles chatgpt_base_url openai_base_url preferred_auth_method "
    "forced_login_method forced_chatgpt_workspace_id cli_auth_credentials_store disable_response_storage "
    "analytics".split()
)
_Toml = str | int | float | bool | list["_Toml"] | dict[str, "_Toml"]


def user_home(environ: Mapping[str, str]) -> Path:
    """Where Codex keeps what is the user's."""
    return Path(environ.get("CODEX_HOME") or Path(environ.get("HOME") or os.path.expanduser("~")) / ".codex")


def carried_config(home: Path) -> str:
    """The config of a run, from the user's; empty where there is none that can be read."""
    try:
        config = tomllib.loads((home / "config.toml").read_text("utf-8"))
    except (OSError, ValueError):  # Codex itself says what is wrong with it
        return ""
    kept = {name: value for name, value in config.items() if name in _CARRIED}
    if isinstance(profiles := kept.get("profiles"), dict):
        kept["profiles"] = {
            name: {key: value for key, value in profile.items() if key in _CARRIED}
            for name, profile in profiles.items()
            if isinstance(profile, dict)
        }
    return "".join(f"{json.dumps(name)} = {_toml(value)}\n" for name, value in kept.items())


@contextmanager
def home_for_run(output_dir: Path, user: Path, config: str) -> Iterator[Path]:
    """The home of a run; it is gone afterwards."""
    home = output_dir / NAME
    make_folder(home)
    try:
        make_file(home / "config.toml", config.encode())
        login = user / "auth.json"
        with suppress(FileExistsError):  # the home of a run that was cut off
            if login.exists():
                (home / "auth.json").symlink_to(login.resolve())  # not a copy: Codex renews what is in it
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _toml(value: _Toml) -> str:
    """A value on one line. What JSON and TOML write in the same way is written as JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)} = {_toml(one)}" for name, one in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str | int | float) else json.dumps(str(value))
