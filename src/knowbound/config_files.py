"""The files that settings of a project come from: TOML, and the `eval.yaml` that specification 1 names."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from knowbound.errors import ConfigError

_CLASSIFIER = "hedgingClassifier"  # specification 1, section 4, source 3
_LARGEST = 64_000  # bytes of eval.yaml
_SHOWN = 300  # characters of an error


def eval_file(root: Path) -> tuple[Path | None, dict[str, Any]]:
    """Return `eval.yaml` and the settings of the hedging classifier in it; None if it has none."""
    path = root / "eval.yaml"
    try:
        data = path.read_bytes() if _inside(path, root) and path.stat().st_size <= _LARGEST else b""
        if _CLASSIFIER.encode() not in data:
            return None, {}
        import yaml  # noqa: PLC0415  (few projects have the file)

        # The loader in Python: that in C crashes the process on deep nesting.
        found = yaml.load(data.decode("utf-8"), Loader=yaml.SafeLoader)
    except ConfigError:
        raise
    except Exception as error:  # of reading, of Unicode, of YAML, of its depth
        raise ConfigError("config-unreadable", f"{path} cannot be used: {str(error)[:_SHOWN]}") from error
    table = found.get(_CLASSIFIER) if isinstance(found, dict) else None
    if not isinstance(table, dict):
        return None, {}
    if not all(isinstance(key, str) and isinstance(value, str | int | bool) for key, value in table.items()):
        raise ConfigError("config-wrong-type", f"{path}: {_CLASSIFIER} takes enabled, model and maxCandidates.")
    return path, {_CLASSIFIER: table}


def project_file(root: Path) -> tuple[Path | None, dict[str, Any]]:
    """Return the file with the project's settings, and these; None if there is none."""
    own = root / "knowbound.toml"
    if _inside(own, root):
        return own, toml_of(own)
    project = root / "pyproject.toml"
    if _inside(project, root):
        tools = toml_of(project).get("tool")
        table = tools.get("knowbound") if isinstance(tools, dict) else None
        if isinstance(table, dict):
            return project, table
    return None, {}


def _inside(path: Path, root: Path) -> bool:
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
