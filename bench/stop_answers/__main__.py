"""How well the check before an agent stops tells honest answers from others: `python -m bench.stop_answers`.

`answers.jsonl` has 40 scripted sessions with a final answer in five languages, 24 unsupported and 16 honest, written
and labelled on 2026-11-18 by somebody who had not seen the code. `bench/answers/stop.jsonl` has what a large model said
about those that rules leave to it. The baseline names every answer after an edit without a later test run.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from knowbound.audit.stop import StopFinding, check_answer, read_by
from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import Recorded
from knowbound.judge.names import JudgeOptions
from knowbound.stats.rate import Rate

HERE = Path(__file__).parent
RECORDED = HERE.parent / "answers" / "stop.jsonl"
SECONDS = 60.0


class ScriptedAnswer(msgspec.Struct, frozen=True):
    """A session and the answer that it ends with."""

    id: str
    lang: str
    label: str
    kind: str
    turns: list[dict[str, Any]]

    @property
    def is_honest(self) -> bool:
        return self.label == "honest"

    @property
    def answer(self) -> str:
        return str(self.turns[-1]["answer"])


def scripted() -> list[ScriptedAnswer]:
    lines = (HERE / "answers.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=ScriptedAnswer) for line in lines]


@contextmanager
def transcript(one: ScriptedAnswer) -> Iterator[Path]:
    """Write the session as Claude Code does, without its last answer: the client hands that over itself."""
    lines: list[dict[str, Any]] = []

    def line(type_: str, content: object, **more: object) -> None:
        number = len(lines) + 1
        lines.append(
            {"type": type_, "uuid": f"{one.id}-{number}", "sessionId": one.id, "cwd": "/work/shop", "version": "2.1.60",
             "timestamp": f"2026-11-18T10:{number // 60:02}:{number % 60:02}.000Z",
             "message": {"id": f"m{number}", "role": type_, "content": content}, **more}
        )  # fmt: skip

    for turn in one.turns:
        line("user", turn["prompt"])
        for call in turn["calls"]:
            id_ = f"toolu_{len(lines)}"
            line("assistant", [{"type": "tool_use", "id": id_, "name": call["tool"], "input": _input(call)}])
            failed, text = bool(call.get("code")), str(call.get("output", "The file has been updated."))
            text = f"Exit code {call['code']}\n{text}" if failed else text
            result = {"type": "tool_result", "tool_use_id": id_, "content": text, "is_error": failed}
            structured = {"stdout": text, "stderr": "", "interrupted": False} if call["tool"] == "Bash" else None
            line("user", [result], toolUseResult=f"Error: {text}" if failed else structured)
        if turn is not one.turns[-1]:
            line("assistant", [{"type": "text", "text": turn["answer"]}])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{one.id}.jsonl"
        path.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines), "utf-8")
        yield path


def _input(call: dict[str, Any]) -> dict[str, Any]:
    path = f"/work/shop/{call.get('path', '')}"
    match call["tool"]:
        case "Edit":
            return {"file_path": path, "old_string": call.get("old", ""), "new_string": call.get("new", "")}
        case "Write":
            return {"file_path": path, "content": call.get("new", "")}
        case "Bash":
            return {"command": call["command"]}
        case "Read":
            return {"file_path": path}
        case _:
            return {"pattern": call.get("pattern", "")}


def by_rules(one: ScriptedAnswer) -> StopFinding:
    with transcript(one) as path:
        return check_answer(path, one.answer, time.monotonic() + SECONDS)


def by_model(one: ScriptedAnswer, asker: Asker) -> str:
    with transcript(one) as path:
        return read_by(asker, path, one.answer, SECONDS)


def ask_stop(asker: Asker) -> tuple[int, int]:
    """Ask about the answers that rules leave to a model; the sentences that it has, and the rest."""
    said = [by_model(one, asker) for one in scripted() if by_rules(one).is_doubtful]
    return sum(map(bool, said)), sum(not one for one in said)


def main() -> None:
    found = {one.id: (one, by_rules(one)) for one in scripted()}
    recorded = Recorded(RECORDED)
    asker = Asker("a large model", recorded, JudgeOptions(retries=0), recorded)
    later = {id_: by_model(one, asker) for id_, (one, said) in found.items() if said.is_doubtful}
    bad = [id_ for id_, (one, _) in found.items() if not one.is_honest]
    honest = [id_ for id_, (one, _) in found.items() if one.is_honest]
    named = {id_ for id_, (_, said) in found.items() if said.sentence}
    told = named | {id_ for id_, said in later.items() if said}
    print(f"unsupported answers: rules at once {Rate(len(named & set(bad)), len(bad))}")
    print(f"    rules, or the recorded model later {Rate(len(told & set(bad)), len(bad))}")
    print(f"handed over to the model: {Rate(len(later), len(found))}")
    print(f"honest answers disturbed: by rules {len(named & set(honest))}, by either {len(told & set(honest))}")
    for lang in sorted({one.lang for one, _ in found.values()}):
        own = [id_ for id_ in bad if found[id_][0].lang == lang]
        print(f"    {lang}: rules {len(named & set(own))}, either {len(told & set(own))} of {len(own)}")
    for id_ in [*(id_ for id_ in bad if id_ not in told), *(id_ for id_ in honest if id_ in told)]:
        one, said = found[id_]
        words = said.sentence or later.get(id_, "") or ("not handed over" if id_ not in later else "nothing found")
        print(f"    wrong: {id_} {one.lang} {one.label} ({one.kind}): {words}")


if __name__ == "__main__":
    main()
