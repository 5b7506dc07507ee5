"""Options of commands that may ask a model, and what they say before and while they ask."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from knowbound.cli.options import option, several
from knowbound.cli.output import StatusLine, echo
from knowbound.judge.announcing import Announcer, announced_by

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.judge.announcing import AskingPlan
    from knowbound.judge.models.asking import Asker

MODEL = "knowbound.model"  # key of the context: the name that --model gave
AGREED = "knowbound.agreed"  # key of the context: --yes was given
_BY_PLAN = "counts against your plan, or is billed by your key"


@contextlib.contextmanager
def _asking(*, yes: bool, show_request: bool, model: str | None = None) -> Iterator[None]:
    """Keep --model and --yes for the settings of the verb, and announce what a model is asked."""
    click.get_current_context().meta.update({MODEL: model, AGREED: yes})
    with announced(yes=yes, show_request=show_request):
        yield


_agreement_options = {
    "yes": option("Do not ask before a model is asked."),
    "show_request": option("Print what would be sent to the model, and send nothing."),
}
_model_option = option(
    "Ask this model (judge list), or none; default: the one that `knowbound model` was allowed to use.", metavar="NAME"
)
# What surrounds a verb that may ask a model: with --model, or without it.
asking = several(_asking, model=_model_option, **_agreement_options)
asking_as_configured = several(_asking, **_agreement_options)


@contextlib.contextmanager
def announced(*, yes: bool, show_request: bool) -> Iterator[None]:
    """Announce what a model is asked, or print it instead of asking."""
    if not show_request:
        announcer = _Announcer(yes=yes)
        with announced_by(announcer):
            yield
        announcer.say_total()
        return
    with contextlib.suppress(_ShownError), announced_by(_Requests(sys.stdout)):
        with contextlib.redirect_stdout(io.StringIO()):  # a report without a model is not what was asked for
            yield
        echo("No model would be asked.", err=True)


class _ShownError(BaseException):
    """The requests are printed: the command ends here, before it writes what it would have made of the answers."""


class _Requests(Announcer):
    """Prints requests instead of sending them."""

    def __init__(self, to: Any) -> None:
        self._to = to

    def begin(self, plan: AskingPlan) -> bool:
        """Print every request and end the command; none is sent."""
        from knowbound.report.formats.plain import printable

        for number, question in enumerate(plan.questions, 1):
            head = f"# Request {number} of {len(plan.questions)} to {plan.judge}"
            self._to.write(printable(f"{head}\n\n{question.instructions}\n\n{question.text}\n\n"))
        self._to.write(f"# {plan.tokens_in:,} tokens in all, about\n")
        raise _ShownError


class _Announcer(StatusLine, Announcer):
    """Says how much is asked, asks the user on a terminal, and shows how far it is."""

    def __init__(self, *, yes: bool) -> None:
        super().__init__()
        self._is_agreed, self._judge, self._lock = yes or not is_interactive(), "", threading.Lock()
        self._asked_count = self._announced_count = 0  # questions

    def begin(self, plan: AskingPlan) -> bool:
        """Say how many questions there are, how many tokens, and about how much that costs."""
        with self._lock:
            return self._announce(plan)

    def _announce(self, plan: AskingPlan) -> bool:
        """Announce the first questions to a judge and ask for agreement; later ones are only counted."""
        is_first, self._judge = self._judge != plan.judge, plan.judge
        self._asked_count += len(plan.questions)
        if not is_first:
            return self._is_agreed
        self._announced_count += len(plan.questions)
        questions = f"{len(plan.questions):,} question{'' if len(plan.questions) == 1 else 's'}"
        usd = estimated_usd(plan.judge, plan.tokens_in, plan.tokens_out)
        cost = _BY_PLAN if usd is None else f"about {usd:.2f} USD"
        tokens = f"about {plan.tokens_in:,} tokens in and {plan.tokens_out:,} out"
        if plan.judge.startswith("agent:"):
            client = plan.judge.removeprefix("agent:")
            how = f"In a session of {client} in this project, say: answer knowbound's questions. Then run this again."
            echo(f"Queueing {questions} for {client}, {tokens}. {how} What is sent: --show-request", err=True)
        else:
            echo(f"Asking {plan.judge}: {questions}, {tokens}; {cost}. What is sent: --show-request", err=True)
        if not self._is_agreed:
            self._is_agreed = click.confirm("Go on?", default=True, err=True)
        return self._is_agreed

    def advance(self, done: int, total: int, usd: float) -> None:
        if self.is_due:
            seconds_left = self.seconds * (total - done) / max(done, 1)
            self.write(
                f"asking {self._judge}: {done} of {total} answered  {usd:.2f} USD so far  {seconds_left:.0f} s left"
            )

    def end(self) -> None:
        self.clear()

    def say_total(self) -> None:
        """Say how much was asked, where more followed than was known before."""
        if self._asked_count > self._announced_count:
            echo(f"Asked {self._judge} {self._asked_count:,} questions in all.", err=True)


def is_interactive() -> bool:
    """Report whether a person can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def asker_of(settings: Settings, task: str) -> Asker | None:
    """Return what asks the configured model of a task; None where rules alone decide."""
    from knowbound.config import ModelTask
    from knowbound.judge.choice import judge_for
    from knowbound.judge.registry import asker_for

    return asker_for(settings, judge_for(settings, ModelTask(task)))


def hint_at_model(settings: Settings, task: str, format_: str) -> None:
    """Say in one line that rules alone decided, and how a model that the user has could decide better."""
    from knowbound.config import ModelTask
    from knowbound.judge.choice import model_for

    if format_ == "text" and not model_for(settings, ModelTask(task)):
        echo(
            f"Rules alone decided about {task}. A model decides better; to see which you have: knowbound model",
            err=True,
        )


def estimated_usd(judge: str, tokens_in: int, tokens_out: int) -> float | None:
    """Return about what a model behind an API asks for so many tokens; None if no price is known."""
    provider, _, model = judge.partition(":")
    if provider not in ("anthropic", "openai"):  # others have no public price, or are paid by a plan
        return None
    try:
        from genai_prices import Usage, calc_price

        usage = Usage(input_tokens=tokens_in, output_tokens=tokens_out)
        return float(calc_price(usage, model_ref=model, provider_id=provider).total_price)
    except (ImportError, LookupError, ValueError):
        return None
