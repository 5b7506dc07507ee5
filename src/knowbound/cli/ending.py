"""End the agents that a verb runs when the verb is interrupted; what is done is kept."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from knowbound.cli.echo import echo


@contextmanager
def ended_with_us(advice: str) -> Iterator[None]:
    """Agents that run end when we are asked to end, by Ctrl-C or by a signal; `advice` says how to go on."""

    def ask(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, ask)
    try:
        yield
    except KeyboardInterrupt:
        from knowbound.evals.executors.agent_process import end_all

        end_all()
        echo(f"knowbound: stopped. {advice}", err=True)
        sys.stdout.flush()
        os._exit(130)  # a thread that waits for a model would keep us for as long as the model takes
    finally:
        signal.signal(signal.SIGTERM, before)
