"""Chance that can be repeated: whether a prompt is held out, and whether it explores (specification 2, section 7).

Decided by a hash of the session and the prompt's id, so a replay decides alike, and the two do not depend on each
other. The hook loads it: it imports next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.injection.prompt import HookPrompt
    from knowbound.kms.search.ranking import FoundItem

EPSILON = 0.1  # the share of prompts that explore, where exploration is on
HELD_OUT, INJECTED = "held_out", "injected"  # the arms of a holdout, as they are recorded
_HOLDOUT, _EXPLORE, _WHICH = "holdout", "explore", "which"


def is_held_out(prompt: HookPrompt, share: float) -> bool:
    """Whether nothing is injected for this prompt, although something would be."""
    return drawn(_HOLDOUT, prompt) < share


def explored(prompt: HookPrompt, chosen: list[FoundItem], others: list[FoundItem]) -> list[FoundItem]:
    """The chosen items; for a tenth of the prompts one that was ranked lower has the last place."""
    if not chosen or not others or drawn(_EXPLORE, prompt) >= EPSILON:
        return chosen
    tried = others[int(drawn(_WHICH, prompt) * len(others))]
    tried.is_explored = True
    return [*chosen[:-1], tried]


def drawn(purpose: str, prompt: HookPrompt) -> float:
    """A number from 0 to under 1, always the same for one prompt and purpose. Without an id its words count."""
    key = prompt.prompt_id or prompt.turn_id or prompt.text
    try:
        from _blake2 import blake2b  # noqa: PLC0415  # all of hashlib costs the hook 8 ms
    except ImportError:
        from hashlib import blake2b  # noqa: PLC0415
    data = f"{purpose}\0{prompt.session}\0{key}".encode("utf-8", "replace")
    return int.from_bytes(blake2b(data, digest_size=6).digest(), "big") / 2**48
