"""Processes that die at every step: where a transaction begins or is committed, a file is moved or removed.

Between these steps nothing of a process is to be seen by others. `bench/kills.py` kills at every write system call.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from typing import Any


def killed_at_each_step(work: Callable[[], object], most: int = 2000) -> Iterator[int]:
    """Run the work in a child that is killed at its first step, its second, and so on, until one is not killed.

    Yields after each kill; the caller looks at what is left, and puts it back.
    """
    for number in range(1, most):
        child = os.fork()
        if not child:
            try:
                _die_at(number)
                work()
            finally:
                os._exit(0 if sys.exc_info()[0] is None else 1)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0, "the work fails without being killed"
            return
        assert os.WTERMSIG(status) == signal.SIGKILL
        yield number
    raise AssertionError("the work does not end")


def _die_at(number: int) -> None:
    left = [number]

    def count(statement: str = "COMMIT") -> None:
        left[0] -= statement.startswith(("BEGIN", "COMMIT"))
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)

    connect = sqlite3.connect

    def traced(*args: Any, **options: Any) -> Any:
        connection = connect(*args, **options)
        connection.set_trace_callback(count)
        return connection

    sys.addaudithook(lambda event, _: count() if event in ("os.remove", "os.rename", "os.link") else None)
    sqlite3.connect = traced
