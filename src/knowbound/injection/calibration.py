"""Measurement of the hook's choices, with prompts whose right items are known.

A file of labelled prompts has a JSON object per line:

    {"prompt": "…", "right": ["id", …], "on_topic": ["id", …], "id": "…"}

`prompt` and `right` are required. `right` are the items that the prompt needs, [] for none; `on_topic` are other items
that bear on the question. The hook's own function finds candidates once per prompt; floors and numbers of items are
then applied to them as the hook does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

import msgspec

from knowbound.config import Settings
from knowbound.errors import InputError, StoreError
from knowbound.injection import bundle, hook_settings
from knowbound.injection.hook_settings import HookSettings
from knowbound.injection.inject import choose_for_prompt
from knowbound.injection.prompt import HookPrompt
from knowbound.kms.index.ranking import RELEVANCE_FLOOR, rank, relevant
from knowbound.kms.opening import open_index
from knowbound.report.quality.floor import FloorReport
from knowbound.stats.floor import FloorTarget, Trial, calibrate_floor
from knowbound.store.own_index import IndexRefusedError

_LIMIT_MS = 60_000  # for a prompt: no agent waits here
_EXAMPLE = '{"prompt": "…", "right": ["ID of an item"]}'


class LabelledPrompt(msgspec.Struct, frozen=True):
    """A prompt, the items it needs, and further items that bear on its question."""

    prompt: str
    right: tuple[str, ...]
    on_topic: tuple[str, ...] = ()
    id: str = ""
    line: int = 0  # in the file; a value from the file is ignored

    def __post_init__(self) -> None:
        if not self.prompt.strip():
            raise ValueError("the prompt is empty")

    @property
    def name(self) -> str:
        """Return the name of the prompt in reports."""
        return f"line {self.line} ({self.id})" if self.id else f"line {self.line}"


class LabelledPrompts(msgspec.Struct, frozen=True):
    """The prompts of a file."""

    path: str
    sha256_8: str  # of the whole file
    prompts: tuple[LabelledPrompt, ...]


def calibrate_injection(settings: Settings, path: Path, wanted: FloorTarget) -> FloorReport:
    """Measure what the hook injects for labelled prompts in the store of a project, and find the best settings.

    Nothing is written to the store, and no setting is changed.
    """
    labelled = read_labelled_prompts(path)
    root, home = str(settings.root), str(settings.home)
    with closing(open_index(settings)) as index:
        served = {indexed.item.id for indexed in index.all_items() if indexed.served}
    check_ids(labelled, served)
    hook = hook_settings.load(root, home, keep=False)
    hook.time_limit_ms = max(_LIMIT_MS, hook.time_limit_ms)  # a slow machine must not change the figures
    floor = RELEVANCE_FLOOR if hook.relevance_floor is None else hook.relevance_floor
    try:
        trials = [
            Trial(
                name=prompt.name,
                right=frozenset(prompt.right),
                on_topic=frozenset(prompt.on_topic),
                injecting=PromptInjection(prompt.prompt, home, hook),
            )
            for prompt in labelled.prompts
        ]
    except IndexRefusedError as error:
        raise StoreError(
            "index-not-yours", f"The hook does not use the index of {home}: {error}. Try: knowbound kms sync"
        ) from error
    return FloorReport(
        path=labelled.path,
        sha256_8=labelled.sha256_8,
        prompts=len(trials),
        items=len(served),
        found=calibrate_floor(trials, wanted, floor, hook.most_items),
        model=bool(hook.model),
    )


def read_labelled_prompts(path: Path) -> LabelledPrompts:
    """Read the prompts of a file. An invalid line is an error: leaving it out would change the figures."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
    lines = enumerate(data.splitlines(), 1)
    prompts = tuple(_labelled(line, path, number) for number, line in lines if line.strip())
    if not prompts:
        raise InputError("bad-prompts", f"{path} has no labelled prompt. Try a line such as {_EXAMPLE}")
    return LabelledPrompts(str(path), hashlib.sha256(data).hexdigest()[:8], prompts)


def _labelled(line: bytes, path: Path, number: int) -> LabelledPrompt:
    """Return the prompt of a line, with its number; refuse a line that is none."""
    try:
        prompt = msgspec.json.decode(line, type=LabelledPrompt)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError("bad-prompts", f"{path}:{number} is no labelled prompt: {error}. Try: {_EXAMPLE}") from None
    return msgspec.structs.replace(prompt, line=number)


def check_ids(labelled: LabelledPrompts, served: Collection[str]) -> None:
    """Raise InputError if a label names an item that the hook cannot inject: the figures would blame the search."""
    for prompt in labelled.prompts:
        for id_ in (*prompt.right, *prompt.on_topic):
            if id_ not in served:
                raise InputError(
                    "unknown-label-item",
                    f"{labelled.path}:{prompt.line} names the item {id_!r}, which the store does not serve. "
                    f"Try: knowbound kms list",
                )


class PromptInjection:
    """The items that the hook would inject for a prompt into a new session, at any floor and any number of items."""

    def __init__(self, prompt: str, home: str, settings: HookSettings) -> None:
        choice = choose_for_prompt(home, settings, HookPrompt({"prompt": prompt}))
        self.ranked = rank(choice.pool, len(choice.pool))  # best first
        self._budget = settings.token_budget
        self._composed: dict[tuple[str, ...], Sequence[str]] = {}

    def __call__(self, floor: float, most: int) -> Sequence[str]:
        """Return the ids of the injected items."""
        items = relevant(self.ranked, floor)[:most]
        key = tuple(item.id for item in items)
        if key not in self._composed:
            composed = bundle.compose(items, budget=self._budget)
            self._composed[key] = [item.id for item in composed.items]
        return self._composed[key]
