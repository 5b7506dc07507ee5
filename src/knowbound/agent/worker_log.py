"""The logs of workers in the background: a JSON line per event, in the data folder; what `doctor` shows of them."""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from pathlib import Path

from knowbound.text.redact import excerpt
from knowbound.user_files import append

LARGEST = 64 * 1024  # bytes; then the file becomes the older one, and the older one before it is gone
_LONGEST = 300


def write(path: Path, event: str, **said: str | int) -> None:
    """Append a line; never an error, and never a data folder made anew."""
    cleared = {name: excerpt(value, _LONGEST) if isinstance(value, str) else value for name, value in said.items()}
    line = {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "event": event, "pid": os.getpid(), **cleared}
    with suppress(OSError):
        if path.parent.is_dir() and append(str(path), json.dumps(line).encode() + b"\n") > LARGEST:
            os.replace(path, f"{path}.1")
