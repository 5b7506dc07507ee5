"""Processes that die at every step: a transaction begins or is committed, a statement writes alone, a file is moved.

Between these steps nothing of a process is to be seen by others. A process that writes to files itself has further
steps: its calls of the operating system. `bench/kills.py` kills at every write system call.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from collections.abc import Callable, Iterator
from typing import Any

_BORDERS = ("BEGIN", "COMMIT")  # of a transaction
_WRITES = ("INSERT", "UPDATE", "DELETE", "REPLACE")  # a transaction of its own where none is open
FILE_CALLS = ("open", "write", "pwrite", "fsync", "close", "fork", "posix_spawn")


def killed_at_each_step(work: Callable[[], object], most: int = 2000) -> Iterator[int]:
    """Run the work in a child that is killed at its first step, its second, and so on, until one is not killed.

    Yields after each kill; the caller looks at what is left, and puts it back.
    """
    for number in range(1, most):
        child = os.fork()
        if not child:
            try:
                die_at(number)
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


def die_at(number: int, note: str = "", calls: tuple[str, ...] = ()) -> None:
    """Kill this process, or the child that it has become, at that step; before it, make the file `note`."""
    left = [number]

    def count() -> None:
        left[0] -= 1
        if not left[0]:
            if note:
                open(note, "wb").close()
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(call: Callable[..., Any]) -> Callable[..., Any]:
        def then(*args: Any, **options: Any) -> Any:
            count()
            return call(*args, **options)

        return then

    connect = sqlite3.connect

    def traced(*args: Any, **options: Any) -> Any:
        connection = connect(*args, **options)

        def trace(statement: str) -> None:
            is_alone = not connection.in_transaction
            if statement.lstrip().startswith(_BORDERS if not is_alone else (*_BORDERS, *_WRITES)):
                count()

        connection.set_trace_callback(trace)
        return connection

    sys.addaudithook(lambda event, _: count() if event in ("os.remove", "os.rename", "os.link") else None)
    sqlite3.connect = traced
    for name in calls:
        setattr(os, name, counted(getattr(os, name)))
