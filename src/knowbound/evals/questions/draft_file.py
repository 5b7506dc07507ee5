"""Writes drafts as a samples file for a person to read, and adds accepted ones to the test set.

The text of the test set is not reformatted: an accepted sample is inserted after the last one, in the file's own form
(a list or an object in JSON or YAML, or JSONL). The result must load before it replaces the file.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from textwrap import indent
from typing import NamedTuple

from knowbound.config import Settings
from knowbound.core.lesson import Lesson, LessonKind
from knowbound.errors import InputError
from knowbound.evals.executors.without_agent import answer_of, quoted_passages
from knowbound.evals.knowledge import files_of, knowledge_globs
from knowbound.evals.questions.drafts import Drafts, SampleDraft, draft_samples
from knowbound.evals.questions.drafts_by_model import drafts_by_model
from knowbound.evals.questions.knowledge_text import in_turn, read_knowledge
from knowbound.evals.samples.check import id_of, samples_of
from knowbound.evals.samples.load import ending_of, load_samples, parsed
from knowbound.evidence.investigate import investigate
from knowbound.files import replacing
from knowbound.judge.models.asking import Asker
from knowbound.process import find_client
from knowbound.report.formats.plain import UNSEEN_BUT_LINES
from knowbound.text.printable import shorten

_MOST_DROPPED = 40  # dropped questions that are listed in a comment
_ESCAPED = re.compile(UNSEEN_BUT_LINES.pattern + "|[\ufffe\uffff]")
_VERSION_3 = re.compile(r"eval-sample-set/v3|[\"']?sampleId[\"']?\s*:")


def draft_text(drafts: Drafts) -> str:
    """The proposals as YAML: a samples file, with a comment that says where each comes from."""
    lines = [
        "# Proposed samples. Read each one; nothing is in your test set yet.",
        "#   knowbound draft -o eval-samples.draft.yaml   writes them to the file that --accept reads",
        "#   knowbound draft --accept ID …                adds samples to the test set",
        "#   knowbound draft --reject ID …                never proposes them again",
    ]
    for draft in drafts.drafts:
        lines += ["", f"# {_comment(draft.why)}", *yaml_item(fields_of(draft), 0)]
    if drafts.dropped:
        lines += ["", "# Not proposed:"]
        lines += [f"#   {_comment(drop.prompt)}: {_comment(drop.reason)}" for drop in drafts.dropped[:_MOST_DROPPED]]
        if len(drafts.dropped) > _MOST_DROPPED:
            lines.append(f"#   and {len(drafts.dropped) - _MOST_DROPPED} more")
    return "\n".join(lines) + "\n"


def fields_of(draft: SampleDraft) -> dict[str, object]:
    """A draft as an entry of a samples file."""
    found: dict[str, object] = {"sample_id": draft.id, "prompt": draft.prompt}
    if draft.context:
        found["context"] = draft.context
    if draft.mentions:
        found["assertions"] = draft.assertions
    found["provenance"] = draft.provenance
    if draft.covers:
        found["covers"] = [{"targetKind": "reference", "ref": draft.covers}]
    found["metadata"] = draft.metadata
    return found


def accept(ids: Sequence[str], drafts: Path, target: Path) -> list[str]:
    """Add the samples with these ids from a draft file to the test set; return the ids that it did not have yet."""
    if not drafts.exists():
        here = drafts.name if drafts.parent == Path.cwd() else drafts
        raise InputError("no-such-draft", f"There is no draft file {here}. Try: knowbound draft -o {here}")
    load_samples(drafts)  # raises for a file that is not valid
    root, _ = parsed(drafts.read_bytes(), ending_of(drafts))
    proposed = {id_of(sample): sample.value for sample in samples_of(root)} if root is not None else {}
    unknown = [id_ for id_ in ids if id_ not in proposed]
    if unknown:
        raise InputError(
            "no-such-draft", f"{drafts} has no sample {unknown[0]!r}. It has: {', '.join(list(proposed)[:8])}."
        )
    existing = {sample.id for sample in load_samples(target).samples} if target.exists() else set()
    fresh = [id_ for id_ in dict.fromkeys(ids) if id_ not in existing]
    accepted = [proposed[id_] for id_ in fresh]
    if fresh:
        add([{**item, "metadata": {**item.get("metadata", {}), "status": "accepted"}} for item in accepted], target)
    return fresh


def add(samples: Sequence[dict[str, object]], target: Path) -> None:
    """Add the samples to the file, after those that it has; it is replaced as a whole, or not at all."""
    before = target.read_bytes().decode("utf-8") if target.exists() else ""
    ending = target.suffix.lower()
    if _VERSION_3.search(before):
        samples = [_as_version_3(sample) for sample in samples]
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as file:
        file.write(_text_with(before, samples, ending).encode())
        file.flush()
        load_samples(Path(file.name))  # raises before the target is replaced


def _text_with(before: str, samples: Sequence[dict[str, object]], ending: str) -> str:
    """Return a file's text with the samples added, in the form that its ending names."""
    if ending == ".jsonl":
        lines = "".join(_json(sample) + "\n" for sample in samples)
        return before + ("" if not before or before.endswith("\n") else "\n") + lines
    if ending == ".json":
        return _into_json(before, samples) if before.strip() else _json(samples, "  ") + "\n"
    return _into_yaml(before, samples)


def _into_json(before: str, samples: Sequence[dict[str, object]]) -> str:
    """Return the text with the samples at the end of its list: on its one line, or indented as the file is."""
    end = _end_of_json_list(before)
    kept = before[:end].rstrip()
    if "\n" not in before.strip():
        return f"{kept}, {', '.join(map(_json, samples))}{before[end:]}"
    first_indented = re.search(r"\n([ \t]+)[\]}\"{]", before)
    step = first_indented[1] if first_indented else "  "
    before_bracket = re.search(r"\n([ \t]*)$", before[len(kept) : end])
    outer = before_bracket[1] if before_bracket else ""
    entries = [indent(_json(sample, step), outer + step) for sample in samples]
    return f"{kept},\n{(',' + chr(10)).join(entries)}\n{outer}{before[end:]}"


def _end_of_json_list(text: str) -> int:
    """Return the place where the list of samples closes: of the whole file, or of the value of `samples`."""
    decoder = json.JSONDecoder()
    position = _skip_space(text, 1 if text.startswith("\ufeff") else 0)
    if text[position] == "[":
        return decoder.raw_decode(text, position)[1] - 1
    position = _skip_space(text, position + 1)
    while text[position] != "}":
        key, position = decoder.raw_decode(text, position)
        position = _skip_space(text, _skip_space(text, position) + 1)
        _, end = decoder.raw_decode(text, position)
        if key == "samples":
            return end - 1
        position = _skip_space(text, end)
        position = _skip_space(text, position + 1) if text[position] == "," else position
    raise InputError("bad-samples", "The file has no list of samples. Nothing was written.")


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _into_yaml(before: str, samples: Sequence[dict[str, object]]) -> str:
    """Return the text with the samples at the end of its list, which is written in brackets or as a block."""
    if not before.strip():
        return "\n".join(line for sample in samples for line in (*yaml_item(sample, 0), "")).rstrip("\n") + "\n"
    import yaml  # noqa: PLC0415 - heavy, and only a YAML file needs it

    root = yaml.compose(before, Loader=yaml.SafeLoader)
    node = root
    if isinstance(root, yaml.MappingNode):
        node = next((value for key, value in root.value if key.value == "samples"), None)
    if not isinstance(node, yaml.SequenceNode) or not node.value:
        raise InputError("bad-samples", "The file has no list of samples. Nothing was written.")
    if node.flow_style:
        end = node.end_mark.index - 1
        added = ", ".join(_quoted(sample) for sample in samples)
        return f"{before[:end].rstrip().rstrip(',')}, {added}{before[end:]}"
    # The end of the last line of the last sample: comments and keys that follow stay after it.
    end = before.find("\n", len(before[: node.value[-1].end_mark.index].rstrip()))
    end = len(before) if end < 0 else end + 1
    column = node.start_mark.column
    lines = [line for sample in samples for line in ("", *yaml_item(sample, column))]
    return before[:end].rstrip("\n") + "\n" + "\n".join(lines) + "\n" + before[end:]


def yaml_item(fields: dict[str, object], column: int) -> Iterator[str]:
    """One entry of a list. Values are written as JSON: in YAML too, a quoted text can be nothing but a text."""
    blank = " " * column
    for position, (name, value) in enumerate(fields.items()):
        yield f"{blank}{'- ' if position == 0 else '  '}{name}: {_quoted(value)}"


def _quoted(value: object) -> str:
    """A value as JSON that is YAML too. What a reader cannot see, or YAML takes for a line break, is escaped."""
    return _ESCAPED.sub(lambda sign: f"\\U{ord(sign[0]):08x}", json.dumps(value, ensure_ascii=False))


def _json(value: object, indent: str | None = None) -> str:
    """A value as JSON, in which a reader sees what there is: nothing unseen, nothing that turns text around."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _ESCAPED.sub(lambda sign: json.dumps(sign[0])[1:-1].replace("\x7f", "\\u007f"), text)


def _as_version_3(fields: dict[str, object]) -> dict[str, object]:
    """The same sample in version 3 of the format, which has no metadata."""
    asked = {"inputKind": "text", "text": fields["prompt"]}
    converted: dict[str, object] = {"sampleId": fields["sample_id"], "input": asked}
    if "assertions" in fields:
        converted["evaluationContext"] = {"assertions": fields["assertions"]}
    annotations = {name: fields[name] for name in ("provenance", "covers") if name in fields}
    return {**converted, "annotations": annotations} if annotations else converted


def _comment(text: str) -> str:
    """Text from a trace as one line of printable characters."""
    shown = "".join(sign for sign in " ".join(text.split()) if sign.isprintable())
    return shorten(shown, 200)


# ---- the sample of a lesson

_CODE = re.compile(r"`([^`]+)`")
_NEGATED = re.compile(r"(?:not|no|without)(?: in| at)? `([^`]+)`")


def sample_of_lesson(lesson: Lesson) -> dict[str, object]:
    """An entry of a samples file. The wrong names of the lesson are in the question, the right ones in the answer."""
    wrong = list(dict.fromkeys(_NEGATED.findall(lesson.text)))
    right = [name for name in dict.fromkeys(_CODE.findall(lesson.text)) if name not in wrong]
    found: dict[str, object] = {"sample_id": f"lesson-{lesson.id}", "prompt": _question(lesson, wrong, right)}
    if right:
        found["assertions"] = [{"type": "contains_any", "values": right}]
    found["provenance"] = "production-trace"
    found["metadata"] = {"drafted_from": "lesson", "lesson": lesson.id, "expected": lesson.text, "status": "accepted"}
    return found


def _question(lesson: Lesson, wrong: list[str], right: list[str]) -> str:
    """Ask what is there instead of the wrong name; without one, what there is to know about the right one."""
    if lesson.kind is LessonKind.LOCATION and wrong:
        return f"Where in this project is `{wrong[0]}`, or what is there instead?"
    if lesson.kind is LessonKind.COMMAND and wrong:
        return f"`{wrong[0]}` fails in this project. What has to be run instead?"
    what = "What does one have to know" if lesson.kind is not LessonKind.CORRECTION else "What do the users expect"
    return f"{what} about `{right[0]}` in this project?" if right else f"{what} in this project before a commit?"


# ---- the first files of a project

SAMPLES, CONFIG, WORKFLOW = "eval-samples.yaml", "knowbound.toml", ".github/workflows/knowledge.yml"
_QUESTIONS = 10
_QUESTIONS_OF_FILE = 12  # that are tried: some have no answer
_TRIAL_SECONDS, _QUESTION_SECONDS = 60.0, 5.0  # for trying all questions; one


class Surroundings(NamedTuple):
    """The parts of a project and of the machine that a first config depends on."""

    knowledge: list[str]
    agents: list[str]
    is_git: bool
    existing: list[str]  # files that would be written and are there


def surroundings_of(settings: Settings) -> Surroundings:
    """Look at the project and at the agents on this machine."""
    root = settings.root
    knowledge = files_of(root, knowledge_globs(settings.knowledge), (settings.home,))
    existing = [name for name in (CONFIG, SAMPLES, WORKFLOW) if (root / name).exists()]
    agents = [name for name in ("claude", "codex") if find_client(name)]
    return Surroundings(knowledge, agents, (root / ".git").exists(), existing)


def first_samples(settings: Settings, found: Surroundings, asker: Asker | None) -> list[SampleDraft]:
    """Return ten questions with answers: written by the model, or made by rules that then find the answer."""
    knowledge = read_knowledge(settings.root, found.knowledge)
    if asker is not None:
        return list(drafts_by_model(knowledge, found.knowledge, (), (), asker, _QUESTIONS).drafts)
    by_file: dict[str, list[SampleDraft]] = {}
    for draft in draft_samples((), knowledge, found.knowledge, most=_QUESTIONS_OF_FILE).drafts:
        if draft.mentions:  # else nothing shows whether an answer is right
            by_file.setdefault(draft.covers, []).append(draft)
    return list(_answered(in_turn(by_file.values()), settings, found))


def _answered(drafts: Iterable[SampleDraft], settings: Settings, found: Surroundings) -> Iterator[SampleDraft]:
    """Yield the drafts whose answer the built-in executor finds in the documents, ten at most."""
    end, missing = time.monotonic() + _TRIAL_SECONDS, _QUESTIONS
    for draft in drafts:
        if not missing or time.monotonic() > end:
            return
        result = investigate(draft.prompt, settings.root, only=found.knowledge, seconds=_QUESTION_SECONDS)
        if draft.is_passed_by(answer_of(result, quoted_passages(result, settings.root))):
            missing -= 1
            yield draft


def samples_text(drafts: list[SampleDraft]) -> str:
    """Return the samples file."""
    lines = ["# What an agent should be able to answer from the documents of this project. Change it as you like:"]
    lines += ["# docs/samples.md has the format, `knowbound draft` proposes more.", ""]
    for draft in drafts:
        lines += [*yaml_item(fields_of(draft), 0), ""]
    return "\n".join(lines)


def config_text(found: Surroundings) -> str:
    """Return a config in which every line that is not needed is a comment."""
    agent = found.agents[0] if found.agents else "claude"
    return f"""\
# knowbound: every setting is in docs/config.md. What is commented out is the default, or a proposal.

# The files that agents should know. Without this line: all documents below this folder.
# knowledge = ["docs/**/*.md", "CLAUDE.md"]

[eval]
samples = "{SAMPLES}"
# Who answers. The built-in executor needs no agent: it quotes passages. An agent needs: knowbound trust
# executor = "{agent}"

[gate]
# A run fails if the gap rate rose by more than this since the last good run (0.05 is 5%), or that many samples broke.
gap_rate_regression = 0.05
# max_gap_rate = 0.3
"""


WORKFLOW_TEXT = f"""\
# Fails when a change takes an answer out of the documents. OWNER and VERSION: where you take knowbound from.
on:
  pull_request:
jobs:
  knowledge:
    runs-on: ubuntu-latest
    permissions: {{contents: read}}
    steps:
      - uses: actions/checkout@v4
        with: {{fetch-depth: 0}}
      - uses: OWNER/knowbound@VERSION
        with:
          command: eval
          samples: {SAMPLES}
          args: |
            --against
            origin/${{{{ github.base_ref }}}}
            --gap-rate-regression
            0.05
"""
