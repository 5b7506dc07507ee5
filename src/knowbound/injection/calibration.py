"""How well the hook chooses, measured with prompts whose right items are known.

A file of labelled prompts has a JSON object per line:

    {"prompt": "…", "right": ["id", …], "on_topic": ["id", …], "id": "…"}

of which `prompt` and `right` are needed. `right` are the items that the prompt needs, [] where it needs none;
`on_topic` are others that bear on what it asks. Candidates are found once per prompt by the hook's own function; floors
and numbers of items are then applied to them as the hook does.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from knowbound.errors import InputError
from knowbound.injection import bundle
from knowbound.injection.hook_settings import HookSettings
from knowbound.injection.inject import choose_for_prompt
from knowbound.injection.prompt import HookPrompt
from knowbound.kms.search.ranking import FoundItem, rank
from knowbound.stats.floor import Trial


class LabelledPrompt(msgspec.Struct, frozen=True):
    """A prompt, the items it needs, and others that bear on what it asks."""

    prompt: str
    right: tuple[str, ...]
    on_topic: tuple[str, ...] = ()
    id: str = ""

    def __post_init__(self) -> None:
        if not self.prompt.strip():
            raise ValueError("the prompt is empty")


class LabelledPrompts(msgspec.Struct, frozen=True):
    """The prompts of a file."""

    path: str
    sha256_8: str  # of the whole file
    prompts: tuple[LabelledPrompt, ...]


def read_labelled_prompts(path: Path) -> LabelledPrompts:
    """The prompts of a file. A line that is none is an error: one lost in silence would change the figures."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError("no-such-path", f"Cannot read {path}: {error.strerror or error}.") from error
    lines = enumerate(data.splitlines(), 1)
    prompts = [_labelled(line, path, number) for number, line in lines if line.strip()]
    if not prompts:
        raise InputError(
            "bad-prompts", f'{path} has no labelled prompt. Try: {{"prompt": "…", "right": ["ID of an item"]}} per line'
        )
    return LabelledPrompts(str(path), hashlib.sha256(data).hexdigest()[:8], tuple(prompts))


def _labelled(line: bytes, path: Path, number: int) -> LabelledPrompt:
    try:
        return msgspec.json.decode(line, type=LabelledPrompt)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(
            "bad-prompts",
            f'{path}:{number} is no labelled prompt: {error}. Try: {{"prompt": "…", "right": ["ID of an item"]}}',
        ) from None


def check_ids(prompts: LabelledPrompts, served: Collection[str]) -> None:
    """Raise InputError where a label names an item that the hook cannot inject: the figures would blame the search."""
    for number, prompt in enumerate(prompts.prompts, 1):
        for id_ in (*prompt.right, *prompt.on_topic):
            if id_ not in served:
                raise InputError(
                    "unknown-label-item",
                    f"{prompts.path}: prompt {number} ({prompt.id or prompt.prompt[:40]!r}) names the item {id_!r}, "
                    "which is not in the store or is not served. Try: knowbound kms show ID, or knowbound kms sync",
                )


def trials_of(prompts: Iterable[LabelledPrompt], home: str, settings: HookSettings) -> list[Trial]:
    """Each prompt with the candidates of the hook, to try floors and numbers of items on."""
    return [
        Trial(one.prompt, frozenset(one.right), frozenset(one.on_topic), Injection(one.prompt, home, settings))
        for one in prompts
    ]


class Injection:
    """What the hook would inject for a prompt into a new session, at any floor and any number of items."""

    def __init__(self, prompt: str, home: str, settings: HookSettings) -> None:
        pool = choose_for_prompt(home, settings.without_model(), HookPrompt({"prompt": prompt})).pool
        self.ranked = rank(pool, len(pool))  # best first
        self._budget = settings.token_budget
        self._composed: dict[tuple[str, ...], Sequence[str]] = {}

    def __call__(self, floor: float, most: int) -> Sequence[str]:
        """The ids of what is injected."""
        items = [item for item in self.ranked if item.relevance >= floor][:most]
        key = tuple(item.id for item in items)
        if key not in self._composed:
            self._composed[key] = _ids(bundle.compose(items, budget=self._budget, intro=bundle.FOR_A_PROMPT).items)
        return self._composed[key]


def _ids(items: Iterable[FoundItem]) -> Sequence[str]:
    return [item.id for item in items]
