"""`knowbound model`: see which models are there, try one, and allow its use."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import click

from knowbound.cli import options
from knowbound.cli.asking import estimated_usd, is_interactive
from knowbound.cli.options import argument, option, verb
from knowbound.cli.output import echo, print_result
from knowbound.errors import ConfigError
from knowbound.text.clock import utc_now

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.judge.choice import Permission
    from knowbound.judge.tryout import FoundModel, Tried

# A typical day: turns with injected items, prompts, sentences that may be hedges.
_TURNS, _PROMPTS, _HEDGES = 30, 40, 50
_DAILY_CALLS = (  # calls, and tokens of one call, in and out: a turn, a choice of items, ten sentences
    (_TURNS, 4_500, 350),
    (_PROMPTS, 4_000, 60),
    (-(-_HEDGES // 10), 2_600, 450),
)
_WHAT_IS_SENT = {
    "commands": "observe, audit, learn, probe, eval and quality score send it what rules cannot decide: sentences "
    "of agents with the passage around them and your question; of audited or scored turns your prompt, the answer, "
    "edits, and parts of tool outputs; lessons and headings of documents",
    "background": "while agents work, it gets each prompt with the end of the messages before it, the names of files, "
    "and up to forty items to choose from; with a lookup that found nothing, what was looked for, what the agent did "
    "right before, and names and lines of files near to it; and each turn that items were injected into: your prompt, "
    "the answer, edits, parts of tool outputs, and the items",
}


@verb("model")
def model_command(
    name: str | None = argument(),
    try_: bool = option("Ask the model about 60 bundled cases, beside rules alone."),
    commands: bool | None = option("Allow commands that you start to ask it."),
    background: bool | None = option("Allow work in the background to ask it."),
    off: bool = option("Allow no model any more: rules decide alone."),
    format_: str = options.format_of(("text", "json")),
) -> int:
    """Use a model that you already have: see what is there, try it, and allow its use.

    knowbound works without a model. With one it understands what rules cannot: whether an injected item was used or
    contradicted, whether a sentence is doubt, which item a prompt is about. NAME is a name of `judge list`, for example
    claude-cli:haiku; without it the first usable model of this machine is meant. On a terminal you are asked, first for
    commands that you start, then for work in the background. Secrets are removed before anything is sent; your
    permission is kept for you alone and holds in every project.
    """
    from pathlib import Path

    from knowbound.config import load
    from knowbound.judge.choice import Permission, keep_permission, load_permission
    from knowbound.judge.registry import check_judge
    from knowbound.judge.tryout import found_models

    if off:
        keep_permission(Permission())
        echo("No model is allowed any more: rules decide alone.")
        return 0
    settings = load(Path.cwd(), ignore_untrusted=True)
    models, permission = found_models(), load_permission()
    chosen = name or permission.name or next((model.name for model in models if model.usable), "")
    if name:
        check_judge(name)
    tried = _try_out(chosen, settings) if try_ else None
    if commands is not None or background is not None:
        permission = _changed_permission(permission, chosen, commands, background)
        keep_permission(permission)
    if format_ == "json":
        document = {"models": models, "permission": permission, "tried": _tryout_document(tried) if tried else None}
        print_result(format_, "model", document, [])
        return 0
    _print_state(models, permission, settings, chosen, tried)
    if commands is None and background is None and is_interactive() and chosen:
        permission = _changed_permission(permission, chosen, *_ask_permissions(chosen))
        path = keep_permission(permission)
        echo(f"\n{_permission_words(permission)} Kept in {path}; knowbound model --off takes it back.")
    if permission.background:
        echo("What it answers while an agent works comes by a hook: knowbound install claude-code (or codex) adds it.")
    return 0


def _try_out(name: str, settings: Settings) -> Tried:
    from knowbound.cli.asking import announced
    from knowbound.judge.tryout import try_model

    if not name:
        raise ConfigError("no-judge", "There is no model to try. Name one: knowbound model NAME --try")
    with announced(yes=False, show_request=False):
        return try_model(name, settings)


def _changed_permission(before: Permission, name: str, commands: bool | None, background: bool | None) -> Permission:
    """Return the permission after a decision; what was not decided stays, for the same model alone."""
    from knowbound.judge.choice import Permission

    if not name:
        raise ConfigError("no-judge", "No model is found on this machine. Name one: knowbound model NAME --commands")
    current = before if before.name == name else Permission()  # another model has no permission yet
    commands = current.commands if commands is None else commands
    background = current.background if background is None else background
    if background and name.startswith("agent:"):
        raise ConfigError("no-judge", f"{name} answers when you ask it to, never in the background. Try: --commands")
    return Permission(
        name=name if commands or background else "",  # no name without a permission
        commands=commands,
        background=background,
        made=utc_now(),
        choosing=background,  # choosing items and rescuing happen while an agent works
        rescuing=background,
    )


def _ask_permissions(name: str) -> tuple[bool, bool]:
    """Ask for both permissions, each with what is sent."""
    echo(
        f"\nMay commands that you start ask {name}? {_WHAT_IS_SENT['commands'].capitalize()}. They say before how much."
    )
    commands = click.confirm("Allow it for commands?", default=False)
    echo(f"\nMay it be asked in the background? {_WHAT_IS_SENT['background'].capitalize()}. It has caps of its own.")
    return commands, click.confirm("Allow it in the background?", default=False)


# Printing


def _print_state(
    models: list[FoundModel], permission: Permission, settings: Settings, chosen: str, tried: Tried | None
) -> None:
    """Print which models are there, which one is allowed, what was used today, and what a day would cost."""
    from knowbound.store.judges import used_today

    if models:
        echo("Models on this machine:")
        unusable = "cannot be used"
        rows = [[f"  {model.name}", model.what, model.note or ("" if model.usable else unusable)] for model in models]
        _print_table(rows)
    else:
        echo("No model is found on this machine: no claude or codex on the PATH, no key, no server on loopback.")
    echo(f"\n{_permission_words(permission)}")
    by_commands, in_background = used_today(background=False), used_today(background=True)
    echo(
        f"Used today: {by_commands.calls} of {settings.model_budget_calls} calls by commands, "
        f"{in_background.calls} of {settings.model_background_calls} in the background."
    )
    if tried is not None:
        _print_tried(chosen, tried)
    if chosen:
        echo(f"\n{_day_words(chosen, tried)}")
    if chosen and not permission.name and not is_interactive():
        echo(f"To allow it: knowbound model {shlex.quote(chosen)} --commands --background. To try it first: --try")


def _print_table(rows: list[list[str]]) -> None:
    from knowbound.report.formats.plain import aligned

    for row in aligned(rows, ()):
        echo("   ".join(row).rstrip())


def _permission_words(permission: Permission) -> str:
    if not permission.name or not (permission.commands or permission.background):
        return "No model is allowed: rules decide alone."
    uses = [("commands", permission.commands), ("the background", permission.background)]
    return f"{permission.name} is allowed for {' and '.join(name for name, is_allowed in uses if is_allowed)}."


def _print_tried(name: str, tried: Tried) -> None:
    """Print how a model did on the bundled cases, where it is not worth its cost, and that cost."""
    echo(f"\n{name} on bundled cases (right, with a 95% interval), beside rules and a recorded large model:")
    rows = [["  task", "rules", "large model", name]]
    rows += [[f"  {task.task}", *map(str, (task.rules, task.large, task.model))] for task in tried.tasks]
    _print_table(rows)
    for task in tried.tasks:
        if task.problem:
            echo(f"  {task.task}: not every case was answered: {task.problem}")
        if not task.is_worth_it:
            leave = (
                "" if task.task == "choose" else f' Leave it to them: model.tasks.{task.task} = "rules" in your config'
            )
            echo(f"  {task.task}: not clearly better than rules.{leave}")
    tokens = "tokens unknown" if tried.tokens_in is None else f"{tried.tokens_in:,} tokens in, {tried.tokens_out:,} out"
    cost = "cost unknown" if tried.usd is None else f"{tried.usd:.2f} USD"
    echo(f"  {tried.calls} calls, {tried.seconds:.1f} s each, {tokens}, {cost}.{_overhead_words(tried)}")


def _overhead_words(tried: Tried) -> str:
    """Return the tokens that the client adds to every question."""
    if tried.tokens_in is None or not tried.calls:
        return ""
    overhead = max(0, tried.tokens_in // tried.calls - tried.own_tokens // tried.calls)  # own: of our text
    return f" An empty question has about {overhead:,} tokens."


def _day_words(name: str, tried: Tried | None) -> str:
    """Estimate what a typical day asks the model, with the overhead that a trial measured."""
    calls = sum(count for count, _, _ in _DAILY_CALLS)
    tokens_in = sum(count * tokens for count, tokens, _ in _DAILY_CALLS)
    tokens_out = sum(count * tokens for count, _, tokens in _DAILY_CALLS)
    if tried is not None and tried.tokens_in is not None and tried.calls:
        tokens_in += calls * max(0, (tried.tokens_in - tried.own_tokens) // tried.calls)
    usd = estimated_usd(name, tokens_in, tokens_out)
    if usd is None and tried is not None and tried.usd and tried.tokens_in:
        usd = tried.usd / tried.tokens_in * tokens_in  # no list price: at the price of the trial
    cost = "by your plan or your key" if usd is None else f"about {usd:.2f} USD"
    return (
        f"A day of {_PROMPTS} prompts, {_TURNS} turns with injected items and {_HEDGES} hedges: {calls} calls, "
        f"about {tokens_in:,} tokens in and {tokens_out:,} out, {cost}."
    )


def _tryout_document(tried: Tried) -> dict[str, object]:
    tasks = []
    for task in tried.tasks:
        rates = {"rules": task.rules.to_json(), "large": task.large.to_json(), "model": task.model.to_json()}
        tasks.append({"task": task.task, **rates, "worth_it": task.is_worth_it, "problem": task.problem})
    spent = {name: getattr(tried, name) for name in ("calls", "tokens_in", "tokens_out", "usd")}
    return {"tasks": tasks, "seconds": round(tried.seconds, 2)} | spent
