"""Writes the generated pages of docs/: `python -m bench.make_docs`. A test checks that they are current.

A page per verb keeps its own words above the line GENERATED; what stands below is the verb's help.
"""

from __future__ import annotations

import json
from pathlib import Path

import click

from knowbound import catalogue
from knowbound.cli.main import GROUPS, ONLY_FOR_CLIENTS, VERBS, knowbound
from knowbound.config import SETTINGS, ModelTask
from knowbound.evals.assertions import TYPES
from knowbound.evals.samples.schema import ASSERTION, ENVIRONMENT, SAMPLE, SAMPLE_SET, SAMPLE_V3, SCHEMA
from knowbound.evals.samples.values import Schema, kind_of

DOCS = Path(__file__).resolve().parents[1] / "docs"
GENERATED = "<!-- generated below: python -m bench.make_docs -->"
_DECIDED_BY = {"": "rules", "judge": "a judge", "program": "your program"}


def pages() -> dict[Path, str]:
    """Every generated page with what it should hold."""
    found = {DOCS / "messages.md": messages(), DOCS / "codes.md": codes(), DOCS / "config.md": config()}
    found[DOCS / "verbs" / "index.md"] = verb_index()
    for verb in VERBS:
        path = DOCS / "verbs" / f"{verb}.md"
        words = path.read_text("utf-8").split(GENERATED)[0] if path.exists() else f"# knowbound {verb}\n\n"
        found[path] = f"{words.rstrip()}\n\n{GENERATED}\n\n{help_of(verb)}"
    words = (DOCS / "samples.md").read_text("utf-8").split(GENERATED)[0]
    found[DOCS / "samples.md"] = f"{words.rstrip()}\n\n{GENERATED}\n\n{sample_tables()}"
    found[DOCS / "samples.schema.json"] = json.dumps(SCHEMA, indent=2, ensure_ascii=False) + "\n"
    return found


def verb_index() -> str:
    """Return the table of the verbs by group, as --help shows them."""
    parts = [
        "# Verbs\n\n`knowbound` without a verb is `knowbound review`. `knowbound VERB --help` has the text of a page.\n"
    ]
    for heading, verbs in {**GROUPS, "Called by agents": ONLY_FOR_CLIENTS}.items():
        rows = "".join(f"| [`{verb}`]({verb}.md) | {VERBS[verb][1]} |\n" for verb in verbs)
        parts.append(f"## {heading}\n\n| verb | what it does |\n| --- | --- |\n{rows}")
    return "\n".join(parts)


def help_of(verb: str) -> str:
    context = click.Context(knowbound, info_name="knowbound")
    command = knowbound.get_command(context, verb)
    assert command is not None
    texts = [_help(command, context, verb)]
    if isinstance(command, click.Group):
        inner = click.Context(command, parent=context, info_name=verb)
        for name in command.list_commands(inner):
            below = command.get_command(inner, name)
            assert below is not None
            texts.append(_help(below, inner, name))
    return "\n".join(f"```text\n{text}\n```\n" for text in texts)


def _help(command: click.Command, parent: click.Context, name: str) -> str:
    with click.Context(command, parent=parent, info_name=name, terminal_width=100, max_content_width=100) as context:
        return command.get_help(context)


def messages() -> str:
    parts = ["# Messages\n\nEvery error ends with its slug. `knowbound explain SLUG` prints the same text.\n"]
    for problem in catalogue.problems().values():
        parts.append(f"## {problem.slug}\n\n{problem.what} {problem.why}\n\n{problem.do}\n")
    return "\n".join(parts)


def codes() -> str:
    parts = ["# Codes\n\nWhat the codes in reports and JSON mean. `knowbound explain CODE` prints the same text.\n"]
    for group in dict.fromkeys(entry.group for entry in catalogue.codes()):
        parts.append(f"## {group}\n")
        parts += [
            f"- **{one.code}**: {one.meaning} *{one.example}*{f' {one.zh}' * bool(one.zh)}"
            for one in catalogue.codes()
            if one.group == group
        ]
        parts.append("")
    return "\n".join(parts)


def config() -> str:
    texts = catalogue.settings()
    texts |= {f"model.tasks.{task}": f"The model for {task.words}; empty is model.name." for task in ModelTask}
    rows = [
        f"| `{one.key}` | {one.type.__name__} | `{list(one.default) if one.type is list else one.default}` "
        f"| `{one.env}` | {one.risk.needs_trust} | {texts[one.key]} |"
        for one in SETTINGS
    ]
    return (
        "# Config\n\n`knowbound.toml`, or `[tool.knowbound]` in pyproject.toml, in the root; and your own "
        "`~/.config/knowbound/config.toml` (in `XDG_CONFIG_HOME`, where that is set). A flag wins over the "
        "environment, that over the project's file, that over yours, that over the default. An unknown key is an "
        "error with a suggestion. In the environment, commas separate the values of a list.\n\n"
        "A project may not decide alone what runs a program, names an address or a credential, leaves the root, "
        "lifts a limit of the hooks or puts its own text into agents' context: such a setting is refused until "
        "[`knowbound trust`](verbs/trust.md) has shown it to you. The column *trust* says when. Your own file, the "
        "environment and flags need none.\n\n"
        "| key | type | default | environment | trust | what it does |\n| --- | --- | --- | --- | --- | --- |\n"
        + "\n".join(rows)
        + "\n\n"
        "`KNOWBOUND_HOME` moves the data folder (default: `.knowbound/` of the root).\n"
    )


def sample_tables() -> str:
    """The tables of docs/samples.md: the fields of a sample, of an assertion and of a file, and the assertion types."""
    parts = [
        _fields("Fields of a sample", SAMPLE),
        _types(),
        _fields("Fields of an assertion", ASSERTION),
        _fields("Fields of `environment`", ENVIRONMENT),
        _fields("Fields of a file that is an object", SAMPLE_SET),
        _fields("Fields of a sample in version 3 of the format", SAMPLE_V3),
    ]
    return "\n".join(parts)


def _fields(title: str, shape: Schema) -> str:
    rows = [
        f"| `{name}`{' (needed)' * (name in shape['required'])} | {kind_of(field)} | {field['description']} |"
        for name, field in shape["properties"].items()
    ]
    return _table(title, "field | is | what it does", rows)


def _types() -> str:
    rows = [
        f"| `{one.name}` | {one.layer or 'its children’s'} | {_DECIDED_BY[one.decided_by]} | {one.description} |"
        for one in TYPES.values()
    ]
    return _table("Assertion types", "type | layer | decided by | passes where", rows)


def _table(title: str, columns: str, rows: list[str]) -> str:
    rule = " | ".join("---" for _ in columns.split("|"))
    return "\n".join([f"## {title}\n", f"| {columns} |", f"| {rule} |", *rows, ""])


def main() -> None:
    for path, text in pages().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"wrote {path.relative_to(DOCS.parent)}")


if __name__ == "__main__":
    main()
