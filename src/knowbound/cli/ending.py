"""End the agents that a verb runs when the verb is interrupted; what is done is kept."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from knowbound.cli.echo import echo

_ASKING = (signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else []))


@contextmanager
def ended_with_us(advice: str) -> Iterator[None]:
    """Agents that run end when we are asked to end, by Ctrl-C or by a signal; `advice` says how to go on."""

    def ask(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    # A signal that is ignored, as SIGHUP under nohup, stays so.
    asked = [one for one in _ASKING if signal.getsignal(one) is signal.SIG_DFL]
    for number in asked:
        signal.signal(number, ask)
    try:
        yield
    except KeyboardInterrupt:
        if "knowbound.evals.executors.agent_process" in sys.modules:  # else there are none
            from knowbound.evals.executors.agent_process import end_all

            end_all()
        echo(f"knowbound: stopped. {advice}", err=True)
        sys.stdout.flush()
        os._exit(130)  # a thread that waits for a model would keep us for as long as the model takes
    finally:
        for number in asked:
            signal.signal(number, signal.SIG_DFL)
