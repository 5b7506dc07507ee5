"""Pathological shapes: input that a hostile or broken trace, document or prompt may hold, at any size.

A shape is made for a size and then run; only the run is measured (bench/shapes.py). Sizes are characters where the
shape is one text, and entries where it is many.
"""

# ruff: noqa: E501 - a table is easier to read unbroken
from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.hostile_traces import (
    agent_says,
    bash_prints,
    broken_lines,
    call,
    chat_calls,
    chat_joined,
    claude_line,
    claude_session,
    codex_calls,
    codex_exec,
    codex_message,
    codex_prompts,
    copilot_calls,
    copilot_text,
    edits,
    failed_grep,
    folder_of,
    gemini_calls,
    gemini_report,
    grep_prints,
    joined_lines,
    many,
    nested_line,
    one_message,
    otel_spans,
    skills,
    stream,
    sub_agents,
    swe_agent,
    trace_file,
    user_says,
)
from knowbound.codebase.manifests import read_manifests, take_inventory
from knowbound.codebase.passages import passages_of
from knowbound.config import Settings
from knowbound.core.item import Anchor, Item
from knowbound.core.knowledge_paths import is_knowledge, is_machine_state
from knowbound.core.tool_kinds import Syntax
from knowbound.errors import KnowboundError
from knowbound.evals.questions.drafts import question_of_hedge, question_of_prompt, question_of_search
from knowbound.evals.questions.knowledge_text import plain_heading, unfit
from knowbound.evals.samples.load import load_samples
from knowbound.evidence.plan import read_plan
from knowbound.evidence.producers.history import read_history_question
from knowbound.gaps.aggregate import Aggregate
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.observe import observe
from knowbound.gaps.reading import judge_findings, read_session
from knowbound.injection.bundle import cleaned
from knowbound.judge.hedging.rules import RulesJudge
from knowbound.kms.index.search import ParsedQuery
from knowbound.kms.pieces import split
from knowbound.kms.refusals import stems
from knowbound.kms.screening import screened
from knowbound.report.formats.plain import plain, plain_lines
from knowbound.report.observe import render_observe
from knowbound.text.embedding import embed
from knowbound.text.hedges import cues
from knowbound.text.markdown import sections_of
from knowbound.text.redact import redact
from knowbound.text.sentences import plain_sentences, sentences
from knowbound.text.terms import similar, terms
from knowbound.traces.calls.intent import asks_whether, fault, speaks_of_absence
from knowbound.traces.calls.outcome import failure, is_empty_result
from knowbound.traces.corpus import SessionFiles
from knowbound.traces.registry import recognise
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.source import read_head

FORMATS: tuple[Any, ...] = ("text", "json", "markdown", "html", "sarif", "junit", "github")
_LARGEST = 4_096_000  # characters
_MOST_ENTRIES = 64_000


class Shape(NamedTuple):
    """A shape: what it makes of a size, what is then done with it, and the sizes it is tried at."""

    name: str
    make: Callable[[int], Any]
    run: Callable[[Any], object]
    first: int = 4_000
    most: int = _LARGEST


# ---- what runs


def observed(path: Path) -> object:
    """One session from its file to its figures, as `observe` does it."""
    found = recognise(read_head(path))
    assert found, f"no reader knows {path}"
    session = SessionFiles(found[0].name, found[1].session or "s", (str(path),), {}, path.stat().st_size)
    findings = read_session(SharedEvents(session), LensSettings())
    judge_findings(findings, RulesJudge())
    whole = Aggregate()
    for one in findings:
        whole.add(one)
    return whole.figures(), whole.topics(""), whole.inventory()


def reported(path: Path) -> None:
    """`observe` from the folder of a session to its report, in every format."""
    report, _ = observe([path.parent], Settings(root=path.parent, home=path.parent / ".knowbound"))
    for format_ in FORMATS:
        render_observe(report, format_, here=str(path.parent))


def _question(text: str) -> None:
    read_plan(text, given=[text])
    read_history_question(text)


def _manifests(root: Path) -> object:
    return read_manifests(take_inventory(root, time.monotonic() + 60))


def _samples(path: Path) -> None:
    with suppress(KnowboundError):
        load_samples(path)


# ---- what is made


def _of(make: Callable[[str], Any], part: str, start: str = "") -> Callable[[int], Any]:
    """The shape that holds this part again and again."""
    return lambda size: make(start + part * (size // len(part)))


def _repeat(part: str, end: str = "") -> Callable[[int], str]:
    return lambda size: part * (size // len(part)) + end


def _documents(text: str) -> object:
    return passages_of("guide.md", text)


def _yaml_aliases(size: int) -> Path:
    steps = [f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 9) if at else 'x'}]" for at in range(min(size, 4_000))]
    return trace_file("eval-samples.yaml", "\n".join(steps))


def _samples_text(part: str, name: str = "eval-samples.yaml", start: str = "", end: str = "") -> Callable[[int], Path]:
    return lambda size: trace_file(name, start + part * (size // len(part)) + end)


def _pieces(size: int) -> tuple[list[str], list[str]]:
    """As many items under one heading, each reworded."""
    old = [f"The budget of service {at} is {at * 7} units and is kept in the table of limits." for at in range(size)]
    return old, [text.replace("is kept", "was once kept") for text in old]


def _long_pieces(size: int) -> tuple[list[str], list[str]]:
    text = "the budget of the service " * (size // 26)
    return [text], [text[::-1]]


def _reworded(two: tuple[list[str], list[str]]) -> None:
    from knowbound.kms.pieces import Rewordings  # noqa: PLC0415 - the other shapes also run on older code

    anchor = Anchor("CLAUDE.md", heading="Limits")
    gone = Rewordings(Item(id=f"i{at}", content=text, anchor=anchor) for at, text in enumerate(two[0]))
    for text in two[1]:
        if found := gone.of("Limits", text):
            gone.remove(found)


def shapes() -> list[Shape]:
    made = [*_text_shapes(), *_trace_shapes(), *_entry_shapes(), *_document_shapes(), *_knowledge_shapes()]
    return [*made, *_report_shapes()]


def _report_shapes() -> list[Shape]:
    marked = {
        "one letter": "a",
        "spaces": " ",
        "backticks": "`",
        "pipes": "|",
        "tags": "<",
        "Chinese": "预",
        "escape codes": "\x1b]",
    }
    return [
        *(
            Shape(f"report of a marker before {name}", _of(agent_says, part, "[unknown] a "), reported)
            for name, part in marked.items()
        ),
        Shape("report of failed greps", many(failed_grep), reported, 250, 16_000),
        Shape("report of skills", skills, reported, 250, 16_000),
        Shape("report of broken lines", broken_lines, reported, 1_000, 64_000),
    ]


# Parts that, repeated, make a text hard for some pattern.
_PARTS = {
    "one letter": "a", "spaces": " ", "line breaks": "\n", "tabs": "\t", "capitals": "A", "digits": "7",
    "opening quotes": "“", "corner quotes": "「", "single quotes": " '", "backticks": "`a", "double quotes": '"a ',
    "brackets": "[", "parentheses": "(", "tags": "<a ", "dots": "a.", "slashes": "a/", "dashes": "a-", "colons": "a:",
    "underscores": "_", "dollars": "$", "hedges": "It may be so. ", "hedge words": "may ", "not sure": "not ",
    "let me": "let me ", "Chinese hedges": "可能", "ellipses": "…", "abbreviations": "e.g. ", "table cells": "| may ",
    "rules": "─", "markers": "[unknown] ", "bold": "**a", "escapes": "\\", "addresses": "https://a", "ends": ". ",
    "escape codes": "\x1b[", "invisible": "\u200b", "wrapped": "may be so and so and so and so and so and so and so so,\n",
}  # fmt: skip


def _text_shapes() -> list[Shape]:
    return [Shape(f"agent says: {name}", _of(agent_says, part, "It may be [unknown] "), observed)
            for name, part in _PARTS.items()]  # fmt: skip


def _trace_shapes() -> list[Shape]:
    """Texts elsewhere in a trace: outputs, commands, prompts, what clients put around them."""
    outputs = {
        "one token": "a", "brackets and letters": "a]", "dotted": "a.", "slashes": "a/", "colons": "a:", "dashes": "-.",
        "numbers": "1 ", "at signs": "@1", "blank lines": "\n", "not found": "a not found ", "timed out": "timed out after ",
        "lines": "src/a.py:1: budget\n", "lines of one file": "a:", "messages": "grep: a: No such file or directory\n",
    }  # fmt: skip
    commands = {
        "pipes": "a|", "lists": "a;", "and": "a&&", "quotes": "'", "double quotes": '"', "substitutions": "$(a ",
        "backticks": "`", "parentheses": "(", "braces": "{ ", "here documents": "<<A ", "redirects": ">a ",
        "words": "grep a ", "assignments": "a=", "variables": "$a", "prints": "echo a;", "sed": "sed -n /a/p;",
        "backslashes": "\\", "line breaks": "\n", "for loops": "for a in b; do ", "cases": "case a in b) ",
    }  # fmt: skip
    prompts = {
        "unclosed reminders": "<system-reminder ", "closed reminders": "<system-reminder>a</system-reminder>",
        "commands": "<command-message></command-message><command-name>", "contents": "Contents of /a.md ",
        "contents with notes": "Contents of /a.md (", "contents in lines": "Contents of /a.md:\n\n",
        "hooks": "<user-prompt-submit-hook>", "paths": "a/b.py ", "glued paths": "a/b.py,",
    }  # fmt: skip
    made = [Shape(f"grep prints: {name}", _of(grep_prints, part), observed)
            for name, part in outputs.items()]  # fmt: skip
    made += [Shape(f"Bash prints: {name}", _of(bash_prints, part), observed)
             for name, part in outputs.items()]  # fmt: skip
    made += [Shape(f"command of {name}", _of(partial(bash_prints, "a"), part), observed, 2_000)
             for name, part in commands.items()]  # fmt: skip
    made += [Shape(f"user says: {name}", _of(user_says, part), observed)
             for name, part in prompts.items()]  # fmt: skip
    prints = "; ".join(f"echo '{letter}'; grep budget {letter}" for letter in "abcdefghij" * 6)
    return [
        *made,
        Shape("output of what a line prints itself", lambda n: bash_prints("z\n" * (n // 2), f"grep x a || ({prints})"), observed),
        Shape("Codex: message in the user's role", lambda n: codex_message("user", _repeat("<user_instructions>")(n)), observed),
        Shape("Codex: message of the agent", lambda n: codex_message("assistant", _repeat("“may ")(n)), observed),
        Shape("Codex: skill", lambda n: codex_message("user", "<skill><name>" + _repeat("</name>")(n)), observed),
        Shape("Codex: skill that ends", lambda n: codex_message("user", "<skill><name>" + _repeat("</name> ")(n) + "</skill>"), observed),
        Shape("Codex: output", lambda n: codex_calls(1, "Exit code: 1\nOutput:\n" + _repeat("a]")(n)), observed),
        Shape("Copilot: instructions", lambda n: copilot_text(_repeat("<custom_instruction>")(n)), observed),
        Shape("Copilot: instructions of spaces", lambda n: copilot_text("<custom_instruction>" + " " * n), observed),
        Shape("Gemini: report of a command", lambda n: gemini_report("Command: " + _repeat("\nDirectory: ")(n)), observed),
        Shape("Gemini: ends of a report", lambda n: gemini_report("Output: " + _repeat("a\nError: x")(n)), observed),
        Shape("SWE-agent: prompt lines", lambda n: swe_agent(_repeat("(Open file: ")(n)), observed),
        Shape("SWE-agent: prompt lines with ends", lambda n: swe_agent(_repeat("(Open file: a)\n")(n)), observed),
        Shape("SWE-agent: command", lambda n: swe_agent("x", "search_dir " + _repeat("'a ")(n)), observed),
        Shape("SWE-agent: one token", lambda n: swe_agent(_repeat("a]")(n), "grep -rn budget src"), observed),
        Shape("error text: files", _repeat("file "), failure),
        Shape("empty result", _repeat("no "), is_empty_result),
        Shape("speech of absence", _repeat("verify "), speaks_of_absence),
        Shape("speech of old things", _repeat("stale a "), speaks_of_absence),
        Shape("speech of questions", _repeat("check a "), asks_whether),
        Shape("pattern of brackets", _repeat("[a\\"), partial(fault, syntax=Syntax.RUST)),
        Shape("path of build folders", _repeat("dist"), is_machine_state),
        Shape("knowledge path", _repeat("/.claude/a/.:/skills/1", "xrules"), is_knowledge),
        Shape("plain text: escape codes", _repeat("\x1b]"), plain),
        Shape("plain text: lines", _repeat(" \n"), plain_lines),
        Shape("one line of nested lists", nested_line, observed),
        Shape("text of tool input, nested", lambda n: claude_session(claude_line("assistant", [call(1, "Grep", pattern=["a"] * n)], 1)), observed, 1_000, 400_000),
    ]  # fmt: skip


def _entry_shapes() -> list[Shape]:
    entries = partial(Shape, first=250, most=_MOST_ENTRIES)
    return [
        entries("failed greps of a session", many(failed_grep), observed),
        entries("failed greps for one thing", many(lambda at: failed_grep(at, query="budget_limit")), observed),
        entries("failed greps with many terms", many(lambda at: failed_grep(at, query=" ".join(f"w{at}q{i}x" for i in range(70)))), observed, most=4_000),
        entries("failed searches by different tools", many(lambda at: failed_grep(at, f"mcp__s{at}__search")), observed),
        entries("calls of one message", lambda n: one_message(n, lambda _: "Grep"), observed),
        entries("calls of one message, answered backwards", lambda n: one_message(n, lambda _: "Grep", reverse=True), observed),
        entries("calls of one message by different tools", lambda n: one_message(n, lambda at: f"mcp__s{at}__search"), observed),
        entries("names that edits remove", edits, observed),
        entries("skills of a session", skills, observed, most=16_000),
        entries("sub-agents of a session", sub_agents, observed),
        entries("stream of one run", stream, observed, most=16_000),
        entries("Codex: calls of one response", codex_calls, observed),
        entries("Codex: prompts", codex_prompts, observed),
        entries("Codex exec: commands of a turn", codex_exec, observed),
        entries("Copilot: calls of one message", copilot_calls, observed),
        entries("Copilot: sub-agents", lambda n: copilot_calls(n, agents=True), observed),
        entries("Gemini: calls of one message", gemini_calls, observed),
        entries("SWE-agent: steps", lambda n: swe_agent("No matches found", steps=n), observed),
        entries("chat: results by id", chat_calls, observed),
        entries("chat: results by name", lambda n: chat_calls(n, named=True), observed),
        entries("chat: calls that join", chat_joined, observed),
        entries("OpenTelemetry: spans", otel_spans, observed),
        entries("OpenTelemetry: events of a span", lambda n: otel_spans(n, events=True), observed),
        entries("broken lines", broken_lines, observed),
        entries("objects on one line", joined_lines, observed),
        entries("similar sets of terms", lambda n: (terms(" ".join(f"w{i}left" for i in range(n))), terms(" ".join(f"w{i}right" for i in range(n)))), lambda two: similar(*two), most=250),
    ]  # fmt: skip


def _document_shapes() -> list[Shape]:
    marks = {
        "list": "- a\n", "numbered list": "1. a\n", "nested lists": "- ", "quotes": "> ", "quoted lines": "> a\n",
        "emphasis": "*a ", "strong": "**a _b ", "brackets": "[", "links": "[a](", "images": "![", "references": "[a]: b\n",
        "tables": "| a | b |\n|---|---|\n", "table row": "|a", "code": "`", "growing code": "`a``b", "fences": "```\n",
        "headings": "# a\n", "html": "<a ", "comments": "<!-- ", "entities": "&a", "autolinks": "<a:", "rules": "---\n",
        "one paragraph": "a\n", "escapes": "\\", "one line": "a b ",
    }  # fmt: skip
    questions = {
        "letters": "a", "capitals": "A", "dashes": "-", "dollars": "$", "quotes": "“", "words": "budget ", "where": "where is ",
        "names": "a_b ", "paths": "a/", "workflows": "a/b.yml ",
    }  # fmt: skip
    toml_package = '[package]\nname = "a"\n[dependencies]\n'
    return [
        *(Shape(f"markdown: {name}", _repeat(part), _documents, 2_000) for name, part in marks.items()),
        *(Shape(f"question of {name}", _repeat(part), _question, 1_000, 4_000) for name, part in questions.items()),
        Shape("TOML tables as a document", _repeat("[[a]]\n"), lambda text: sections_of("a.toml", text)),
        Shape("import of markdown: list", _repeat("- The budget of the service is kept.\n"), split),
        Shape("import of markdown: comments", _repeat("<!-- "), split),
        Shape("import of markdown: heading", _repeat("# a "), split),
        Shape("import of markdown: front matter", _repeat("a: b\n"), lambda text: split("---\n" + text)),
        Shape("import of markdown: one block", _repeat("a"), split),
        Shape("Cargo.toml", lambda n: folder_of("Cargo.toml", toml_package + "".join(f'a{i} = "1"\n' for i in range(n // 9))), _manifests),
        Shape("Cargo.toml: nesting", lambda n: folder_of("Cargo.toml", "a = " + "[" * n), _manifests, 500, 200_000),
        Shape("package.json: nesting", lambda n: folder_of("package.json", '{"a":' * n), _manifests, 500, 400_000),
        Shape("package.json: scripts", lambda n: folder_of("package.json", json.dumps({"scripts": {"test": _repeat("echo ")(n)}})), _manifests),
        Shape("Makefile", lambda n: folder_of("Makefile", _repeat("a: b\n")(n)), _manifests),
        Shape("Makefile: one line", lambda n: folder_of("Makefile", _repeat("a ")(n)), _manifests),
        Shape("setup.py", lambda n: folder_of("setup.py", _repeat("setup(\n")(n)), _manifests),
        Shape("samples: list", _samples_text("- {sample_id: a, prompt: b}\n", start="samples:\n"), _samples),
        Shape("samples: aliases", _yaml_aliases, _samples, 100, 4_000),
        Shape("samples: nesting", _samples_text("["), _samples),
        Shape("samples: anchors", _samples_text("- &a b\n- *a\n", start="samples:\n"), _samples),
        Shape("samples: merges", _samples_text("- <<: *a\n", start="samples:\n- &a {prompt: b}\n"), _samples),
        Shape("samples: JSON nesting", _samples_text("[", "samples.json"), _samples),
        Shape("samples: JSON text", _samples_text('\\"', "samples.json", '["', '"]'), _samples),
        Shape("samples: JSON open text", _samples_text('"\\', "samples.json", '["'), _samples),
        Shape("samples: number", _samples_text("7", start="samples:\n- {sample_id: a, prompt: b, weight: ", end="}\n"), _samples),
        Shape("heading as a question", _repeat(" ("), plain_heading),
        Shape("heading of spaces", _repeat(" ", "a"), plain_heading),
        Shape("question that is checked", _repeat("a "), unfit),
        Shape("draft of a prompt", _repeat("a/"), question_of_prompt),
        Shape("draft of a search", _repeat("a|"), question_of_search),
        Shape("draft of a hedge", _repeat("may "), question_of_hedge),
    ]  # fmt: skip


def _knowledge_shapes() -> list[Shape]:
    items = {
        "one word": "ignore ", "documented attacks": 'the filter rejects "ignore all previous instructions", ', "quoted attacks": '"ignore all previous instructions" ', "opening quotes": "“",
        "corner quotes": "「", "comments": "<!-- a", "hidden": "<a hidden", "spaced letters": "a.", "dots": "i . g . n ",
        "base64": "YWFh", "print": "print a ", "keep this": "keep this a ", "dialogue": "\nuser:", "images": "![](a?b",
        "forget": "forget all a ", "invisible": "a\u200b",
    }  # fmt: skip
    words = {
        "words": "budget ", "one token": "a", "capitals": "aA", "Chinese": "预算", "accents": "e\u0301", "signs": ". ",
        "different words": "",
    }  # fmt: skip

    def text(part: str) -> Callable[[int], str]:
        return _repeat(part) if part else lambda n: " ".join(f"w{at}" for at in range(n // 6))

    return [
        *(Shape(f"screening: {name}", _repeat(part), screened) for name, part in items.items()),
        *(Shape(f"prompt of {name}", text(part), lambda one: (embed(one), ParsedQuery(one))) for name, part in words.items()),
        *(Shape(f"near duplicates: {name}", text(part), stems.__wrapped__) for name, part in words.items()),
        Shape("prompt: words of doubt", _repeat("may "), cues),
        Shape("prompt: sentences", _repeat("a. B "), sentences),
        Shape("prompt: plain sentences", _repeat("a. "), plain_sentences),
        Shape("bundle: blank lines", _repeat(" \n"), cleaned),
        Shape("bundle: tabs", _repeat("\t"), cleaned),
        Shape("reworded items of one heading", _pieces, _reworded, 50, 2_000),
        Shape("one reworded item", _long_pieces, _reworded, 500, 20_000),
        Shape("redaction: one token", _repeat("a"), redact),
        Shape("redaction: names", _repeat("password="), redact),
        Shape("redaction: spaces", _repeat("token \t"), redact),
        Shape("redaction: keys", _repeat("-----BEGIN PRIVATE KEY-----"), redact),
        Shape("redaction: ends of keys", _repeat("-----END PRIVATE KEY-----"), redact),
        Shape("redaction: addresses", _repeat("://a:"), redact),
        Shape("redaction: arguments", _repeat("curl -u "), redact),
    ]  # fmt: skip
