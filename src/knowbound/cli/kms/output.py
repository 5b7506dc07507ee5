"""How the verbs of `knowbound kms` print: a JSON document, or lines for people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from knowbound.cli.echo import echo
from knowbound.cli.options import emit
from knowbound.text.printable import short_line

SHOWN = 20  # lines of a list in text; JSON has all


def print_result(format_: str, kind: str, document: dict[str, Any], lines: list[str], late: Sequence[str] = ()) -> None:
    """Print the document, or the lines; `late` says where the index is older than it should be."""
    if format_ == "json":
        from knowbound.report.formats.json import json_text

        emit([json_text({"format": f"knowbound.{kind}/1"} | document | ({"late": late} if late else {}))], None)
    else:
        echo("\n".join(lines))
        for sentence in late:
            echo(sentence, err=True)


def short(text: str) -> str:
    """Return the beginning of a text on one line."""
    return short_line(text, 90)
