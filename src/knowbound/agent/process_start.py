"""How long ago this process was started. The hook loads it: it imports only os and time."""

from __future__ import annotations

import os
import time

_STAT = "/proc/self/stat"
_START_TIME = 19  # field 22 of proc(5), counted after the name in brackets, which may hold anything
_LONGEST = 24 * 3600.0  # seconds; more is no hook, but a clock of another machine (some sandboxes have one)


def seconds_since_start() -> float:
    """Wall time since the kernel started the process; where it does not say when, the CPU time used so far."""
    since = _kernel_says() if hasattr(time, "CLOCK_BOOTTIME") else None
    return time.process_time() if since is None or not 0 <= since < _LONGEST else since


def _kernel_says() -> float | None:
    """Neither clock follows changes of the date, and both count while the machine sleeps."""
    try:
        with open(_STAT, "rb") as file:
            fields = file.read(4096).rpartition(b")")[2].split()
        ticks = int(fields[_START_TIME])
        return time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
