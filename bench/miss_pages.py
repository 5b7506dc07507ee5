"""Unlabelled misses of public projects, for readers who say where each thing was.

    python -m bench.miss_pages --repositories DIR --traces DIR --to FOLDER PROJECT=OWNER+NAME …

DIR of the traces has a folder for each project (`bench.public_traces`). Every failed search that `observe` reports
there is an event, at most 60 of a project, in an order that its id alone decides. FOLDER gets `rows.jsonl` (what
`miss_places.jsonl` needs beside the labels), `events.jsonl`, the trees of the day, and a page for each miss: the
prompt, the calls before, the miss, and what the agent did until the turn ended. Our own answers are not shown.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.measuring import check_out
from bench.miss_events import events
from knowbound.core.signal import SignalType
from knowbound.core.trace import Step, ToolCall
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import read_session
from knowbound.traces.sessions import SharedEvents
from knowbound.traces.turns import TraceTurn, session_of, turns_in

_MOST = 60  # of a project
_BEFORE, _AFTER = 10, 40  # calls that a page shows
_INPUT, _OUTPUT, _SAID = 1_500, 1_200, 1_500  # characters
_BRANCH = re.compile(r'"(?:gitBranch|branch)":\s*"([^"]+)"')


def misses(project: str, folder: Path) -> list[tuple[Path, str, str]]:
    """The transcript, session and call of each drawn miss."""
    found = []
    for path in sorted(folder.glob("*.jsonl")):
        for findings in read_session(SharedEvents(session_of(path)), LensSettings()):
            for signal in findings.signals:
                if signal.type is SignalType.FAILED_SEARCH:
                    found.append((path, signal.session, signal.call_ids[0]))
    found.sort(key=lambda one: hashlib.sha256(f"{project} {one[2]}".encode()).hexdigest())
    return found[:_MOST]


def commit_of(repository: Path, branch: str, time: str) -> str:
    """The last commit before a moment, on the session's branch where the clone has it."""
    for ref in (f"refs/heads/{branch}", "HEAD") if branch else ("HEAD",):
        ran = subprocess.run(
            ["git", "-C", str(repository), "rev-list", "-1", f"--before={time}", ref, "--"],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode == 0 and ran.stdout.strip():
            return ran.stdout.strip()
    return ""


def page(turn: TraceTurn, step: Step, call: ToolCall) -> str:
    """What happened around a miss, to be read by a person."""
    flat = [(one, of) for of in turn.steps if of.agent_id == step.agent_id for one in of.calls]
    at = next(number for number, (one, _) in enumerate(flat) if one is call)
    lines = ["## The prompt", _cut(turn.prompt.text, 4_000), "", "## The calls before"]
    lines += _calls(flat[max(0, at - _BEFORE) : at])
    lines += ["", "## THE MISS", *_calls([flat[at]], output=6_000), "", "## What followed"]
    lines += _calls(flat[at + 1 : at + 1 + _AFTER])
    lines += ["", "## The answer of the turn", _cut("\n".join(turn.said[-1:]), 3_000)]
    return "\n".join(lines)


def _calls(pairs: list[tuple[ToolCall, Step]], output: int = _OUTPUT) -> Iterator[str]:
    said: object = None
    for call, step in pairs:
        if step is not said:
            said = step
            yield from (f"\n> {line}" for one in step.said for line in _cut(one.text, _SAID).splitlines())
        yield f"\n**{call.name}** {_cut(json.dumps(call.input, ensure_ascii=False), _INPUT)}"
        yield f"```\n{_cut(call.text, output) or '(empty)'}\n```"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} … ({len(text) - most:,} more characters)"


def write(project: str, repository: Path, traces: Path, target: Path) -> int:
    """Write the rows, events, pages and trees of a project; how many misses they are."""
    rows: list[dict[str, Any]] = []
    for path, session, call_id in misses(project, traces):
        for turn in turns_in(session_of(path)):
            found = next(((step, one) for step in turn.steps for one in step.calls if one.id == call_id), None)
            if found is None:
                continue
            step, call = found
            before = path.read_text("utf-8", "replace").partition(call_id)[0]
            branch = (_BRANCH.findall(before) or [""])[-1]
            commit = commit_of(repository, branch, step.time)
            if not commit:
                break
            id_ = f"{project}-{len(rows) + 1:03}"
            rows.append({"id": id_, "session": session, "call_id": call_id, "commit": commit})
            tree = target / "trees" / f"{project}-{commit[:12]}"
            if not tree.exists():
                check_out(["git", "-C", str(repository)], commit, tree)
            head = f"# {id_}\n\nTree of the day: `{tree}` (branch `{branch}`, {step.time})\n\n"
            (target / "pages" / f"{id_}.md").write_text(head + page(turn, step, call), "utf-8")
            break
    given = events(rows, [traces])
    with (target / "rows.jsonl").open("a", encoding="utf-8") as to, (target / "events.jsonl").open("a") as events_to:
        for row in rows:
            if (event := given.get(row["id"])) is None:  # the client told its hooks of it in another form
                (target / "pages" / f"{row['id']}.md").unlink()
                continue
            to.write(json.dumps(row) + "\n")
            where = f"{target}/trees/{project}-{row['commit'][:12]}"
            events_to.write(json.dumps(event | {"tree": where}, ensure_ascii=False) + "\n")
    return len(given)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.miss_pages")
    parser.add_argument("--repositories", type=Path, required=True, help="the folder with the clones")
    parser.add_argument("--traces", type=Path, required=True, help="the folder with the transcripts")
    parser.add_argument("--to", type=Path, required=True, help="an empty folder")
    parser.add_argument("projects", nargs="+", metavar="PROJECT=OWNER+NAME")
    given = parser.parse_args()
    (given.to / "pages").mkdir(parents=True)
    for one in given.projects:
        project, _, name = one.partition("=")
        count = write(project, given.repositories / name / "repo", given.traces / project, given.to)
        print(f"{project}: {count} misses")


if __name__ == "__main__":
    main()
