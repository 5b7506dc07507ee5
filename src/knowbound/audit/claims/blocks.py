"""Blocks of console output: the command must have run, or the lines must have been shown."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowbound.audit.claims.answer import Answer, Block
from knowbound.audit.claims.checked import Checked, checked
from knowbound.audit.claims.success import doubt_of
from knowbound.audit.facts import SessionView, TurnFacts
from knowbound.core.audit import ClaimKind, FindingCode, Support

_CONSOLE = frozenset({"", "console", "text", "output", "bash-session", "shell-session", "log", "terminal", "plaintext"})
_PROMPTED = re.compile(r"^\s*(?:\$|❯|➜|%) (\S.*)$", re.M)
_LEADS = re.compile(r"\b(?:output|prints?|printed|shows?|showed|result|looks? like|returns?|log|ran|running)\b", re.I)
_FUTURE = re.compile(
    r"\b(?:will (?!now)|would|should|could|can|expect(?:ed)?|you(?:'ll| will)|once|when you|after you)\b", re.I
)
_TREE = re.compile(r"^[\s│|]*[├└][─-]+ ?([\w@.+-]+\.[A-Za-z]\w{0,6})\b", re.M)
_SHORT = 12  # a line of fewer characters says nothing
_ENOUGH = 3  # lines to decide on


def block_claims(answer: Answer, facts: TurnFacts, view: SessionView) -> Iterator[Checked]:
    """The blocks of an answer that are shown as output, checked."""
    doubt = doubt_of(facts, view).why
    for block in answer.blocks if facts.calls else ():  # without a call it explains or proposes
        if block.language in _CONSOLE and not block.is_proposal and not _FUTURE.search(block.lead):
            found = _block(block, answer, facts, view, doubt)
            if found is not None:
                yield found


def _block(block: Block, answer: Answer, facts: TurnFacts, view: SessionView, doubt: str) -> Checked | None:
    def say(support: Support, why: str) -> Checked:
        code = FindingCode.OUTPUT_NOT_PRINTED
        return checked(first, ClaimKind.COMMAND_OUTPUT, support, why, line=answer.line, code=code)

    commands = [found[1].strip() for found in _PROMPTED.finditer(block.text)]
    first = next((line for line in block.text.splitlines() if line.strip()), "")
    names = _TREE.findall(block.text)
    if names and not facts.last_code_edit:
        return None  # a layout that is explained or proposed
    if names:
        missing = [name for name in names if not view.has(name)]
        if missing and not doubt and not view.is_cut and view.calls:
            return say(Support.UNSEEN, f"{missing[0]} was never shown")
        return say(Support.SUPPORTED, "its names were shown") if not missing else None
    lines = [line.strip() for line in block.text.splitlines()]
    printed = [line for line in lines if len(line) >= _SHORT and not _PROMPTED.match(line)]
    if not _LEADS.search(block.lead) or (not commands and len(printed) < _ENOUGH):
        return None
    if len(printed) < (1 if commands else _ENOUGH):
        return None
    shown = [line for line in printed if view.has(line)]
    if 2 * len(shown) >= len(printed):
        return say(Support.SUPPORTED, "it was printed")
    if doubt or view.is_cut or shown:
        return say(Support.NOT_CHECKABLE, doubt or "a part of it was printed")
    if commands and not any(_is_run(command, view) for command in commands):
        return say(Support.UNSEEN, f"{commands[0].split()[0]} was not run, and nothing of this was printed")
    return say(Support.NOT_CHECKABLE, "nothing of this was printed as it is")


def _is_run(command: str, view: SessionView) -> bool:
    words = command.split()
    return any(words[0] in ran and (len(words) < 2 or words[1] in ran) for ran in view.commands)
