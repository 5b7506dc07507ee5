"""What lessons add to rescue: learn from the first 60% of a project's sessions, replay the commands of the rest.

    python -m bench.rescue_lessons --repository packmind=GIT_DIR [--shown]

Every proposed lesson counts as accepted. Each later command goes to rescue as the client reports it, in the tree of the
day of the split: how many are answered of those whose output says that they were called wrongly, of those that failed
for another reason, and of the rest: of these none should be.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from bench.labels import SHARED
from bench.learn import Project, projects, tree_at
from bench.measuring import options
from knowbound.core.lesson import LessonStatus
from knowbound.core.paths import project_name
from knowbound.core.trace import Outcome, Step, ToolCall, ToolKind
from knowbound.lessons.invocations import misused_line
from knowbound.lessons.material import Corpus, Material
from knowbound.lessons.proposing import lessons_of, within_budget
from knowbound.lessons.rescue.asking import indexed
from knowbound.lessons.rescue.rescue import rescue
from knowbound.stats.rate import Rate
from knowbound.store.decisions import KeptLessons
from knowbound.traces.registry import reader_named
from knowbound.traces.source import Tally

_EARLY = 0.6
_LINES, _TOKENS = 40, 1500


def commands_of(material: Material) -> Iterator[ToolCall]:
    for event in reader_named(material.agent).read([Path(material.file)], {}, Tally()):
        if isinstance(event, Step):
            yield from (call for call in event.calls if call.kind is ToolKind.SHELL and call.input)


def event_of(call: ToolCall, cwd: str) -> dict[str, Any]:
    """The call as Claude Code reports it to its hooks."""
    event: dict[str, Any] = {"tool_name": "Bash", "tool_input": call.input, "cwd": cwd}
    if call.outcome is not Outcome.ERROR:
        return event | {"tool_response": {"stdout": call.text, "stderr": ""}}
    return event | {"error": call.text if call.text.startswith("Exit code") else f"Exit code 1\n{call.text}"}


def measure(project: Project, repository: Path, *, shown: bool) -> None:
    cut = int(len(project.materials) * _EARLY)
    early, late = project.materials[:cut], project.materials[cut:]
    with tempfile.TemporaryDirectory() as folder:
        root, home = Path(folder) / "tree", Path(folder) / "home"
        root.mkdir()
        tree = tree_at(repository, late[0].started, root)
        known = [one for material in early for one in project.lookups[material.session]]
        lessons = within_budget(lessons_of(Corpus(project.name, early, known, tree)), _LINES, _TOKENS)
        with closing(KeptLessons(home)) as kept:
            own = project_name(str(root))
            kept.keep(replace(one, status=LessonStatus.ACCEPTED, project=own) for one in lessons)
        counts: dict[str, Rate] = {}
        texts: Counter[tuple[str, str]] = Counter()
        with indexed(root, home) as index:
            for material in late:
                for call in commands_of(material):
                    said = rescue(event_of(call, material.project), index, home=str(home), seconds=5.0)
                    kind = "failed" if call.outcome is Outcome.ERROR else "did not fail"
                    kind = "called wrongly" if misused_line(call.text) else kind  # a pipe hides that it failed
                    is_said = said.rule == "lesson"
                    counts[kind] = counts.get(kind, Rate()) + Rate(int(is_said), 1)
                    if is_said:
                        texts[kind, f"{str(call.query)[:80]!r} → {said.text}"] += 1
    print(f"{project.name}: {len(lessons)} lessons of {len(early)} sessions, {len(late)} later sessions")
    for kind, rate in sorted(counts.items()):
        print(f"  {kind:15} answered {rate}")
    for (kind, text), count in texts.most_common() if shown else ():
        print(f"    {kind} {count} × {text}")


if __name__ == "__main__":
    given = options(__doc__, repository=[], shown=False)
    for name, _, path in (text.partition("=") for text in given.repository):
        for project in projects(SHARED / "traces" / "claude-code" / name):
            measure(project, Path(path), shown=given.shown)
