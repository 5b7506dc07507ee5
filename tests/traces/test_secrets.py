from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from knowbound.cli.main import knowbound
from knowbound.errors import InputError

# Made here, so that no file of the repository has the text of a token.
KEY = "sk-ant-api03-" + "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xY" * 3
TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
PASSWORD = "xK9!fooBar77z"


def line(text: object, **fields: Any) -> str:
    return json.dumps({"type": "user", "message": {"content": text}, **fields})


def run(*args: str | Path) -> Result:
    return CliRunner().invoke(knowbound, ["secrets", *map(str, args)], standalone_mode=False)


def rows(*args: str | Path) -> list[dict[str, Any]]:
    return [json.loads(row) for row in run(*args, "--format", "jsonl").stdout.splitlines()]


def planted(folder: Path) -> Path:
    (folder / "a.jsonl").write_text(
        "\n".join(
            [
                line(f"use {KEY} please", timestamp="2026-09-01T00:00:00Z"),
                line([{"input": {"command": f"curl -H 'Authorization: Bearer {TOKEN}' x"}}]),
                line(f"again {KEY}", timestamp="2026-08-01T00:00:00Z"),
                json.dumps({"config": {"password": PASSWORD}}),
                line("only words"),
            ]
        )
    )
    (folder / "b.jsonl").write_text(line(f"and {KEY}"))
    return folder


def test_each_secret_is_listed_once_with_its_places_and_its_first_time(tmp_path: Path) -> None:
    found = {row["kind"]: row for row in rows(planted(tmp_path))}
    key = found["anthropic-key"]
    assert (key["lines"], key["files"], key["first"]) == (3, 2, "2026-08-01T00:00:00Z")
    assert [(Path(place["file"]).name, place["line"]) for place in key["places"]] == [
        ("a.jsonl", 1),
        ("a.jsonl", 3),
        ("b.jsonl", 1),
    ]
    assert set(found) == {"anthropic-key", "github-token", "password"}
    assert all(row["rotate"] for row in found.values())


@pytest.mark.parametrize("format_", ["text", "json", "jsonl"])
def test_no_value_is_shown(tmp_path: Path, format_: str) -> None:
    shown = run(planted(tmp_path), "--format", format_)
    assert shown.return_value == 1
    assert not [value for value in (KEY, TOKEN, PASSWORD, KEY[20:40]) if value in shown.output]


def test_transcripts_without_secrets_are_good(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(line("[redacted:password] and words"))
    shown = run(tmp_path)
    assert shown.exit_code == 0
    assert "No secrets found" in shown.output


def test_secrets_in_databases_and_markdown_are_found(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / "sessions.db")
    db.execute("CREATE TABLE messages (content_json TEXT)")
    db.execute("INSERT INTO messages VALUES (?)", (json.dumps([{"type": "text", "text": TOKEN}]),))
    db.commit()
    db.close()
    (tmp_path / "history.md").write_text(f"#### my key is {KEY}\n")
    assert {row["kind"] for row in rows(tmp_path)} == {"anthropic-key", "github-token"}


def test_a_folder_without_transcripts_is_an_error(tmp_path: Path) -> None:
    shown = run(tmp_path)
    assert isinstance(shown.exception, InputError)


def test_a_damaged_archive_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(b"\x1f\x8bbroken")
    shown = run(tmp_path)
    assert shown.exit_code == 0
    assert "a.jsonl.gz" in shown.output
