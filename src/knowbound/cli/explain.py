"""`knowbound explain CODE`: show the meaning of a code or an error."""

from __future__ import annotations

import click

from knowbound.cli.output import echo, width


@click.command("explain")
@click.argument("code", required=False)
def command(code: str | None) -> None:
    """Explain a code or an error slug, with an example. Without CODE, list all codes."""
    import difflib
    import textwrap

    from knowbound.catalogue import codes, codes_named, problems
    from knowbound.errors import InputError
    from knowbound.language import is_english

    if code is None:
        groups: dict[str, list[str]] = {}
        for entry in codes():
            groups.setdefault(entry.group, []).append(entry.code)
        groups["error"] = list(problems())
        lines = textwrap.TextWrapper(width(), subsequent_indent="    ", break_on_hyphens=False)
        for group, names in groups.items():
            echo(lines.fill(f"{group}: {', '.join(names)}"))
        echo("\nOne of them: knowbound explain CODE")
        return
    # A code has underscores, a slug has hyphens: the user may type either, in any case.
    known = {_plain(one): one for one in (*problems(), *(entry.code for entry in codes()))}
    chinese = {entry.zh.partition("：")[0]: entry.code for entry in codes() if entry.zh}
    known |= {_plain(name): code for term, code in chinese.items() for name in (term, *term.split(" / "))}
    key = known.get(_plain(code), code)
    if meanings := codes_named(key):
        for entry in meanings:
            defined = "" if is_english() and code.isascii() else entry.zh
            parts = (f"{entry.code} ({entry.group})", defined, entry.meaning, entry.example)
            echo("\n\n".join(filter(None, parts)))
    elif problem := problems().get(key):
        echo(f"{problem.slug} (error)\n\n{problem.what}\n{problem.why}\n\n{problem.do}")
    else:
        near = difflib.get_close_matches(_plain(code), known, n=1)
        hint = f" Did you mean {known[near[0]]!r}?" if near else ""
        raise InputError("unknown-code", f"No code {key!r}.{hint} Try: knowbound explain")


def _plain(code: str) -> str:
    return code.strip().strip("[]").lower().replace("-", "_").replace(" ", "_")
