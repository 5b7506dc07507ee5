"""`knowbound trust`: show the programs and addresses that a project's config names, and allow exactly these."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli.options import root_option
from knowbound.cli.output import confirm, echo
from knowbound.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowbound.trust import RiskySetting

_SHORTEST_HASH = 32  # characters of a hash that --expect takes


@click.command("trust")
@root_option
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--expect",
    metavar="HASH",
    default="",
    help="Trust the settings without a question if they have this hash (for CI).",
)
@click.option("--revoke", is_flag=True, help="Stop trusting the project's settings.")
def command(root: Path | None, yes: bool, expect: str, revoke: bool) -> None:
    """Allow a project to decide settings that run a program or name where data go.

    Shows the difference to the settings that you trusted before, and asks. The trust holds for a hash over the settings
    and the files of the project that they name; after a change you are asked again. Your own config file, the
    environment and the command line need no trust. The verb also takes over a data folder that you did not make on this
    machine.
    """
    from knowbound.config import load, risky_settings
    from knowbound.kms.opening import open_knowledge_store
    from knowbound.store.data_dir import INDEX, OURS, owner_of
    from knowbound.store.marking import adopt, refuse_tracked
    from knowbound.trust import distrust, hash_of, trust, trusted

    project = (root or Path()).resolve()
    if revoke:
        echo("The project's settings are no longer trusted." if distrust(project) else "Nothing was trusted.")
        left = load(project, ignore_untrusted=True)
        if (left.home / INDEX).exists() and owner_of(left.home) == OURS:
            open_knowledge_store(left).close()  # drops the items of backends that are not in use any more
        return
    risky = risky_settings(project)
    settings = load(project, ignore_untrusted=True)
    home = settings.home
    is_asked = home.is_dir() and not settings.home_is_given and not expect  # a hash is of settings alone
    owner = owner_of(home) if is_asked else OURS
    if owner != OURS:
        refuse_tracked(home)
    is_new = bool(risky) and trusted(project).hash != hash_of(risky)
    if expect and (len(expect) < _SHORTEST_HASH or not hash_of(risky).startswith(expect)):
        raise ConfigError(
            "config-untrusted",
            f"The settings of {project} have the hash {hash_of(risky)}, not {expect}. Nothing is trusted. "
            "Try: knowbound trust (shows them)",
        )
    lines = _without_secrets(risky)
    if is_new:
        echo(f"The config of {project} decides what counts only if you trust it:\n")
        echo("\n".join(_difference(trusted(project).lines, lines)))
        echo("\nPrograms run as you. What they read or start themselves is not covered.")
    if owner != OURS:
        echo(f"The data folder {home} was not made by you on this machine. Taken over, its items can be injected.")
    if not is_new and owner == OURS:
        echo(f"Nothing to trust: {_nothing(bool(risky), project)}")
        return
    confirm("Trust exactly this?", "Nothing is trusted.", yes=yes or bool(expect))
    if is_new:
        trust(project, risky, lines)
        echo(f"Trusted. In CI: knowbound trust --expect {hash_of(risky)[:_SHORTEST_HASH]}")
    if owner != OURS:
        adopt(home)
        echo(f"{home} is marked as yours.")


def _nothing(is_trusted: bool, project: Path) -> str:
    return (
        "these settings are trusted already." if is_trusted else f"the config of {project} decides nothing of the kind."
    )


def _without_secrets(risky: Sequence[RiskySetting]) -> list[str]:
    from knowbound.text.redact import redact
    from knowbound.trust import lines_of

    return [redact(line) for line in lines_of(risky)]


def _difference(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the lines with the sign of a difference in front: removed, kept, new."""
    gone = [f"- {line}" for line in before if line not in after]
    shown = gone + [f"{' ' if line in before else '+'} {line}" for line in after]
    if not any(line[0] in "-+" for line in shown):
        shown.append("+ (only a credential changed)")
    return shown
