"""Prints the folder for the files of tests: in memory where there is room, for tests wait half of the time for a disk.

Durable writes are what they wait for. A killed process leaves the same in memory as on a disk; the long tests stay on
the disk. `TMPDIR` of whoever runs the tests comes first.
"""

from __future__ import annotations

import os
import re
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 6 << 30  # several times what the tests of two processes have at once


def temp_folder() -> str:
    """The folder in memory, or the usual one."""
    if os.environ.get("TMPDIR") or not (os.access(MEMORY, os.W_OK | os.X_OK) and _has_room()):
        return tempfile.gettempdir()
    return str(MEMORY)


def _has_room() -> bool:
    """Free space, free memory, and programs may be run there."""
    folder = os.statvfs(MEMORY)
    free = re.search(r"MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text("ascii"))
    room = min(folder.f_bavail * folder.f_frsize, int(free[1]) * 1024 if free else 0)
    return room >= ROOM and not folder.f_flag & os.ST_NOEXEC


if __name__ == "__main__":
    print(temp_folder())
