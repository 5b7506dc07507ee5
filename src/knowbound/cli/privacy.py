"""Data that are kept, allowed and shown to others: `knowbound forget`, `trust`, `secrets` and `share`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli import options
from knowbound.cli.options import argument, option, verb
from knowbound.cli.output import Out, ReadingProgress, confirm, echo, emit, print_result, reading
from knowbound.errors import UNDECIDED, ConfigError, InputError
from knowbound.text.clock import iso_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowbound.agent.forget import ForgetReport, Selection


@verb("forget")
def forget_command(
    sessions: tuple[str, ...] = option("Erase this session (the agent's id); repeatable.", "--session", metavar="ID"),
    project: str | None = option(
        "Erase the sessions that worked in or below DIR (default: this project, with all that its data folder has).",
        is_flag=False,
        flag_value=".",
        metavar="[DIR]",
    ),
    before: str | None = option(
        "Erase what ended or was recorded before then: a date, or 30d, 12h, 2w.", metavar="DATE"
    ),
    everything: bool = option("Erase all that came from sessions, hooks and evaluations."),
    dry_run: bool = option("Only show what would be erased."),
    yes: bool = option("Do not ask."),
    root: Path | None = options.root,
    format_: str = options.format_of(("text", "json")),
) -> int:
    """Erase what is kept about sessions from every store, and prove it.

    Shows first what would be erased, and asks. Afterwards all bytes of all files that knowbound keeps are searched for
    the erased ids, prompts and sentences; the exit code is 3 when something is left. The agents' own transcripts and
    the items of the knowledge store stay; `observe` does not read forgotten sessions again. docs/privacy.md says where
    each kind of data is kept.
    """
    from knowbound.agent.forget import Selection, forget

    settings = options.settings_of(root)
    if sum((bool(sessions), project is not None, before is not None, everything)) != 1:
        raise click.UsageError("Give one of --session ID, --project [DIR], --before DATE or --everything.")
    folder = (settings.root if project == "." else Path(project).expanduser()).resolve() if project is not None else ""
    until = _time_before(before) if before is not None else ""
    selection = Selection(sessions=sessions, project=str(folder), before=until, everything=everything)
    report = forget(selection, settings, is_preview=True)
    if not dry_run:
        if format_ == "text" and not yes:
            echo("\n".join(_report_lines(report, "To be erased from")))
        confirm("Erase it?", "Nothing was erased.", yes=yes, err=format_ != "text")
        report = forget(selection, settings)
    _print_report(report, selection, format_)
    return UNDECIDED if report.proof is not None and (report.proof.left or report.proof.unreadable) else 0


def _time_before(before: str) -> str:
    from knowbound.gaps.stored import since

    try:
        return since(before)
    except InputError as error:
        raise InputError(error.slug, f"--before {before!r} is neither a span (30d, 12h, 2w) nor a date.") from None


def _print_report(report: ForgetReport, selection: Selection, format_: str) -> None:
    from msgspec.structs import asdict

    proof = report.proof
    lines = _report_lines(report, "To be erased from" if proof is None else "Erased from")
    if proof is not None:
        occurrences = sum(left.texts for left in proof.left)
        documents = f" and {proof.documents:,} documents of MongoDB" if proof.documents else ""
        lines.append(
            f"Searched {proof.files:,} files{documents}, {proof.bytes:,} bytes for {proof.texts:,} erased texts: "
            f"{occurrences:,} {'occurrence' if occurrences == 1 else 'occurrences'}."
        )
        lines += [f"  left: {left.file} ({left.texts:,})" for left in proof.left]
        lines += [f"  could not be read: {path}" for path in proof.unreadable]
    print_result(format_, "forget", {"selection": selection, **asdict(report)}, lines)


def _report_lines(report: ForgetReport, heading: str) -> list[str]:
    lines = [f"{heading} {report.home}: {report.sessions:,} sessions."]
    lines += [f"  {count:>7,}  {store}" for store, count in report.erased.items()] or ["  nothing is kept"]
    return lines + [f"Not touched: {sentence}." for sentence in report.not_touched]


_SHORTEST_HASH = 32  # characters of a hash that --expect takes


@verb("trust")
def trust_command(
    root: Path | None = options.root,
    yes: bool = option("Do not ask."),
    expect: str = option("Trust the settings without a question if they have this hash (for CI).", metavar="HASH"),
    revoke: bool = option("Stop trusting the project's settings."),
) -> None:
    """Allow a project to decide settings that run a program or name where data go.

    Shows the difference to the settings that you trusted before, and asks. The trust holds for a hash over the settings
    and the files of the project that they name; after a change you are asked again. Your own config file, the
    environment and the command line need no trust. The verb also takes over a data folder that you did not make on this
    machine.
    """
    from knowbound.config import load, risky_settings
    from knowbound.store.data_dir import OURS, owner_of
    from knowbound.store.marking import adopt, refuse_tracked
    from knowbound.text.redact import redact
    from knowbound.trust import hash_of, lines_of, trust, trusted

    project = (root or Path()).resolve()
    if revoke:
        _revoke_trust(project)
        return
    risky = risky_settings(project)
    settings = load(project, ignore_untrusted=True)
    home = settings.home
    may_adopt = home.is_dir() and not settings.home_is_given and not expect  # a hash is of settings alone
    owner = owner_of(home) if may_adopt else OURS
    if owner != OURS:
        refuse_tracked(home)
    needs_trust = bool(risky) and trusted(project).hash != hash_of(risky)
    if expect and (len(expect) < _SHORTEST_HASH or not hash_of(risky).startswith(expect)):
        raise ConfigError(
            "config-untrusted",
            f"The settings of {project} have the hash {hash_of(risky)}, not {expect}. Nothing is trusted. "
            "Try: knowbound trust (shows them)",
        )
    lines = [redact(line) for line in lines_of(risky)]
    if needs_trust:
        echo(f"The config of {project} decides what counts only if you trust it:\n")
        echo("\n".join(_difference(trusted(project).lines, lines)))
        echo("\nPrograms run as you. What they read or start themselves is not covered.")
    if owner != OURS:
        echo(f"The data folder {home} was not made by you on this machine. Taken over, its items can be injected.")
    if not needs_trust and owner == OURS:
        why = "these settings are trusted already" if risky else f"the config of {project} decides nothing of the kind"
        echo(f"Nothing to trust: {why}.")
        return
    confirm("Trust exactly this?", "Nothing is trusted.", yes=yes or bool(expect))
    if needs_trust:
        trust(project, risky, lines)
        echo(f"Trusted. In CI: knowbound trust --expect {hash_of(risky)[:_SHORTEST_HASH]}")
    if owner != OURS:
        adopt(home)
        echo(f"{home} is marked as yours.")


def _revoke_trust(project: Path) -> None:
    """Stop trusting a project's settings, and drop the items of backends that only these named."""
    from knowbound.config import load
    from knowbound.kms.opening import open_knowledge_store
    from knowbound.store.data_dir import INDEX, OURS, owner_of
    from knowbound.trust import distrust

    echo("The project's settings are no longer trusted." if distrust(project) else "Nothing was trusted.")
    settings = load(project, ignore_untrusted=True)
    if (settings.home / INDEX).exists() and owner_of(settings.home) == OURS:
        open_knowledge_store(settings).close()  # drops the items of backends that are not in use any more


def _difference(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the lines with the sign of a difference in front: removed, kept, new."""
    removed = [f"- {line}" for line in before if line not in after]
    signed_lines = removed + [f"{' ' if line in before else '+'} {line}" for line in after]
    if not any(line[0] in "-+" for line in signed_lines):
        signed_lines.append("+ (only a credential changed)")
    return signed_lines


@verb("secrets")
def secrets_command(
    paths: tuple[Path, ...] = argument(),
    since: str | None = option("Take only files that changed since then: 7d, 12h, 2w or a date."),
    out: Out = options.report(("text", "json", "jsonl")),
) -> None:
    """List secrets that lie in transcripts: kind, file, line and age, never the value.

    Looks in the files and folders of PATHS, or where agents keep their transcripts. The rules are those by which
    knowbound redacts what it stores or sends. Each secret is listed once, with what to rotate. Nothing is stored and
    nothing is sent. Exit code 1 if a secret was found, 0 if none was.
    """
    from knowbound.gaps.stored import since as since_time
    from knowbound.report.secrets import render_secrets
    from knowbound.traces.corpus import scan
    from knowbound.traces.secrets import scan_for_secrets
    from knowbound.traces.sessions import places_of_agents

    known, existing = places_of_agents()
    files, notes = scan(options.absolute(paths) if paths else existing)
    if since:
        after = since_time(since)
        files = [file for file in files if iso_time(file.mtime_ns, 1_000_000_000) >= after]
    if not files:
        places = ", ".join(str(path) for path in paths or known)
        raise InputError("no-sessions", f"No transcripts found in {places}. Try: knowbound secrets PATH")
    with ReadingProgress() as progress:
        scan_result = scan_for_secrets(files, progress)
    scan_result.unreadable += notes
    out.emit(render_secrets(scan_result, out.format))
    if scan_result.secrets:
        click.get_current_context().exit(1)


@verb("share")
def share_command(
    paths: tuple[Path, ...] = argument(),
    root: Path | None = options.root,
    sessions: options.Sessions = options.sessions(),
    output: str | None = option(
        "Write to this file, mongodb:// or s3:// address (default: show only).", "-o", "--output", metavar="PLACE"
    ),
    yes: bool = option("Write without asking."),
) -> None:
    """Share what agents of this machine miss, without a transcript.

    The file has the names that agents searched for and did not find, the lines of knowledge files that the tree
    contradicts, rules and injected items, each with counts. It has no prompt, no answer, no path outside of the
    project, no session id and no person; secrets are left out. It is shown whole, and nothing is written before you
    agree. knowbound review --team adds up the files of three people or more.
    """
    from knowbound.review.sharing import share
    from knowbound.review.team import share_text, write_share

    settings = options.settings_of(root)
    filters = sessions.filters(settings, paths)
    with reading() as progress:
        shared = share(options.absolute(paths), settings, filters, root_is_given=root is not None, progress=progress)
    emit([share_text(shared)], None)
    if output is None:
        return
    sys.stdout.flush()
    confirm(f"Write this to {_without_secrets(output)}?", "Nothing was written.", yes=yes, err=True)
    write_share(shared, output)
    echo(f"Written to {_without_secrets(output)}. Of a team: knowbound review --team PLACE …", err=True)


def _without_secrets(place: str) -> str:
    from knowbound.text.redact import redact

    return redact(place)
