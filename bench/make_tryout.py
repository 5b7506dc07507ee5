"""Notes what the rules choose in the bundled cases of choices: `python -m bench.make_tryout` writes it into the cases.

Each case is a store of its own: its items are imported, and its prompt is searched for as the hook does.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

from click.testing import CliRunner

from knowbound.cli.main import knowbound
from knowbound.judge import tryout

CASES = Path(tryout.__file__).parent / "tryout_cases" / "choose.jsonl"


def main() -> None:
    rows = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    for row in rows:
        row["rules"] = _chosen(row["prompt"], {item["content"]: item["id"] for item in row["items"]})
    CASES.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    print(tryout.hits_on_choices(None)[0])


def _chosen(prompt: str, ids: dict[str, str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        items = Path(folder) / "items.jsonl"
        items.write_text("".join(json.dumps({"content": content}) + "\n" for content in ids), "utf-8")
        for words in (["import", str(items)], ["search", prompt, "--format", "json"]):
            ran = CliRunner().invoke(knowbound, ["kms", *words, "--root", folder], catch_exceptions=False)
        found = json.loads(ran.stdout)["results"]
    return [ids[one["content"]] for one in found if one["injected"]]


if __name__ == "__main__":
    main()
