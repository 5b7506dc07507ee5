"""Work done by forked processes: each takes the next piece when it is free, and ends with the process that began.

Pieces are named by number on one pipe that all processes read; each answers on a pipe of its own. An executor does the
same with threads and queues of its own, and takes 40 ms to import.
"""

from __future__ import annotations

import gc
import os
import pickle
import select
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from threading import Thread
from typing import TypeVar

Work = TypeVar("Work")
Done = TypeVar("Done")

_WAITING_PER_PROCESS = 4  # pieces of work that wait for each process
_NUMBER_BYTES = 4  # bytes of the number of a piece, and of the length of an answer
# Reading makes many values and no cycles: looking for them all the time costs 10%.
_RARE_COLLECTION = (500_000, 20, 20)


def can_fork() -> bool:
    """Report whether this system forks."""
    return hasattr(os, "fork")


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Look for cycles of garbage less often, and never among what is there already."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*_RARE_COLLECTION)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def done_in_processes(work: Sequence[Work], do: Callable[[Work], Done], jobs: int) -> Iterator[Done]:
    """Yield the result for each piece of work, in the order in which they are done."""
    # Nothing is written to `alive`: its end tells the processes that this one has ended.
    (numbers, numbers_out), (alive, alive_out) = os.pipe(), os.pipe()
    workers: dict[int, int] = {}  # pipe of its answers → process
    waiting = iter(range(len(work)))
    answers = select.poll()
    try:
        for _ in range(jobs):
            answers_in, answers_out = os.pipe()
            process = os.fork()  # posix: callers ask `can_fork`
            if not process:
                _work(work, do, numbers, answers_out, alive, {numbers_out, alive_out, answers_in, *workers})
            os.close(answers_out)
            workers[answers_in] = process
            answers.register(answers_in, select.POLLIN)
        for number in islice(waiting, _WAITING_PER_PROCESS * jobs):
            os.write(numbers_out, number.to_bytes(_NUMBER_BYTES, "little"))
        unanswered = len(work)
        while unanswered:
            for answered, _ in answers.poll():
                size = int.from_bytes(_read_exactly(answered, _NUMBER_BYTES), "little")
                result, error = pickle.loads(_read_exactly(answered, size))  # made by our own process
                for number in islice(waiting, 1):
                    os.write(numbers_out, number.to_bytes(_NUMBER_BYTES, "little"))
                if error is not None:
                    raise error
                unanswered -= 1
                yield result
    except BaseException:  # nobody waits for what they do now
        for process in workers.values():
            os.kill(process, signal.SIGKILL)  # posix: as above
        raise
    finally:
        for pipe in (numbers, numbers_out, alive, alive_out, *workers):
            os.close(pipe)
        for process in workers.values():
            os.waitpid(process, 0)  # posix: as above


def _read_exactly(pipe: int, size: int) -> bytes:
    """Return so many bytes of a pipe. Raises RuntimeError if its other side ends before."""
    parts: list[bytes] = []
    while size:
        part = os.read(pipe, size)
        if not part:
            raise RuntimeError("a process that read sessions has ended before its work was done")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


# In a process of its own


def _work(
    work: Sequence[Work], do: Callable[[Work], Done], numbers: int, answers: int, alive: int, others: set[int]
) -> None:
    """Do work until there is none; this function never returns."""
    with suppress(BaseException):
        for pipe in others:
            os.close(pipe)
        Thread(target=_end_with_parent, args=(alive,), daemon=True).start()
        with collecting_seldom(), open(answers, "wb") as out:
            while number := os.read(numbers, _NUMBER_BYTES):
                answer = pickle.dumps(_result_or_error(do, work[int.from_bytes(number, "little")]))
                out.write(len(answer).to_bytes(_NUMBER_BYTES, "little") + answer)
                out.flush()
    os._exit(0)


def _result_or_error(do: Callable[[Work], Done], piece: Work) -> tuple[Done | None, Exception | None]:
    try:
        return do(piece), None
    except Exception as error:
        return None, error


def _end_with_parent(alive: int) -> None:
    os.read(alive, 1)  # returns when the other side is closed, however that process ended
    os._exit(1)
