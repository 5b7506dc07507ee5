"""The lines that lessons propose for topics. A stored report of `observe` shows them, so little is loaded here."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from knowbound.core.lesson import WRITTEN, LessonStatus
from knowbound.core.signal import ProposedLine, Topic
from knowbound.store.data_dir import FINDINGS
from knowbound.store.lessons import KeptLessons

_SHOWN = frozenset({LessonStatus.NEW, LessonStatus.ACCEPTED, *WRITTEN}) - {LessonStatus.STALE}


def with_proposed(topics: list[Topic], home: Path) -> list[Topic]:
    """The topics, each with the line that would settle it, where a lesson has one."""
    if not (home / FINDINGS).exists():
        return topics
    with closing(KeptLessons(home)) as store:
        lessons = [one for one in store.lessons() if one.status in _SHOWN]
    lines = {topic: ProposedLine(one.text, one.file) for one in lessons for topic in one.topics}
    return [replace(topic, proposed=lines[topic.id]) if topic.id in lines else topic for topic in topics]
