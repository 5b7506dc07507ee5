"""What an agent's process left, as it is kept: without secrets, and only for as long as it is needed.

An agent writes its output as it likes, so a run is redacted the moment it has been graded. The file `redacted` in its
folder says that it was; a run whose process was killed before that is redacted by the next evaluation.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from knowbound.evals.executors.agent_process import is_running
from knowbound.evals.executors.codex_home import NAME as CLIENT_HOME
from knowbound.text.redact_values import redact_stream
from knowbound.user_files import keep_private, make_file

_DONE = "redacted"
_OURS = frozenset({"lock", "exit", "run.json", _DONE})  # ours, without text of the agent


def redact_folder(folder: Path) -> bool:
    """Redact what the run of one task left in its output folder; whether it held a secret."""
    if not folder.is_dir() or (folder / _DONE).exists():
        return False
    (folder / "stdin").unlink(missing_ok=True)  # left where the agent never began
    shutil.rmtree(folder / CLIENT_HOME, ignore_errors=True)  # left where it was cut off
    changed = [_redact_file(path) for path in sorted(folder.iterdir()) if path.is_file() and path.name not in _OURS]
    make_file(folder / _DONE, b"")
    return any(changed)


def redact_left_behind(run_dir: Path) -> None:
    """Redact the runs of an evaluation that was ended before it could; an agent that still runs is left alone."""
    for folder in run_dir.glob("v[01]/*/*"):
        if not is_running(folder):
            redact_folder(folder)


def _redact_file(path: Path) -> bool:
    keep_private(path)
    content = path.read_bytes()
    text = content.decode("utf-8", "surrogateescape")
    redacted = redact_stream(text)
    if redacted == text:
        return False
    make_file(path, redacted.encode("utf-8", "surrogateescape"))
    return True
