"""A first test set and config for a project that has none: `knowbound init`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from knowbound.config import Settings
from knowbound.evals.drafts.by_model import drafts_by_model
from knowbound.evals.drafts.drafts import SampleDraft, draft_samples
from knowbound.evals.drafts.file import fields_of, yaml_item
from knowbound.evals.executors.investigate import answer_of, quoted_passages
from knowbound.evals.knowledge import files_of, knowledge_globs
from knowbound.evals.questions.knowledge_text import in_turn, read_knowledge
from knowbound.evidence.investigate import investigate
from knowbound.judge.models.asking import Asker
from knowbound.process import find_client

SAMPLES, CONFIG, WORKFLOW = "eval-samples.yaml", "knowbound.toml", ".github/workflows/knowledge.yml"
_QUESTIONS = 10
_QUESTIONS_OF_FILE = 12  # that are tried: some have no answer
_TRIAL_SECONDS, _QUESTION_SECONDS = 60.0, 5.0  # for trying all questions; one


class Found(NamedTuple):
    """The parts of a project and of the machine that a first config depends on."""

    knowledge: list[str]
    agents: list[str]
    is_git: bool
    existing: list[str]  # files that would be written and are there


def look(settings: Settings) -> Found:
    """Look at the project and at the agents on this machine."""
    root = settings.root
    knowledge = files_of(root, knowledge_globs(settings.knowledge), (settings.home,))
    existing = [name for name in (CONFIG, SAMPLES, WORKFLOW) if (root / name).exists()]
    agents = [name for name in ("claude", "codex") if find_client(name)]
    return Found(knowledge, agents, (root / ".git").exists(), existing)


def first_samples(settings: Settings, found: Found, asker: Asker | None) -> list[SampleDraft]:
    """Return ten questions with answers: written by the model, or made by rules that then find the answer."""
    knowledge = read_knowledge(settings.root, found.knowledge)
    if asker is not None:
        return list(drafts_by_model(knowledge, found.knowledge, (), (), asker, _QUESTIONS).drafts)
    by_file: dict[str, list[SampleDraft]] = {}
    for draft in draft_samples((), knowledge, found.knowledge, most=_QUESTIONS_OF_FILE).drafts:
        if draft.mentions:
            by_file.setdefault(draft.covers, []).append(draft)
    return list(_answered(in_turn(by_file.values()), settings, found))


def _answered(drafts: Iterable[SampleDraft], settings: Settings, found: Found) -> Iterator[SampleDraft]:
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


def config_text(found: Found) -> str:
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
