"""Text that Codex adds to the user's own words: instructions, environment, skills, notices."""

from __future__ import annotations

import re

from knowbound.core.trace import Event, Injection, Skill
from knowbound.traces.steps import injected

_INSTRUCTIONS = re.compile(
    r"\s*# AGENTS\.md instructions(?: for (?P<folder>[^\n]+))?\s+<INSTRUCTIONS>\n?(?P<text>.*?)\n?</INSTRUCTIONS>\s*\Z",
    re.DOTALL,
)
_PROJECT_DOC = "\n--- project-doc ---\n"  # the user's own AGENTS.md comes before it, without a path
_SKILL = re.compile(r"\s*<skill>\s*<name>(?>(.*?)</name>)\s*(?:<path>(?>(.*?)</path>))?", re.DOTALL)
_TAG = re.compile(r"\s*<([A-Za-z][\w-]*)[^>\n]*>")
# Elements of the client in the user's role; other elements may be the user's.
_CLIENT_TAG = re.compile(
    r"(?:\w+_)?(?:context|instructions)|plugins|subagents|user_shell_command|user_action|hook_prompt|subagent_notification",
    re.IGNORECASE,
)
_IMAGE_TAG = re.compile(r"\s*</?image\b[^>]*>\s*\Z")
_SAVED = "Approved command prefix saved"  # a notice in the developer's role
_HOOK_PART = "hooks.additional_context"
_NOTICES = (
    "<turn_aborted>",
    "Another language model started to solve this problem",  # the summary of a compaction
    "Warning: The maximum number of unified exec processes",
    "Warning: apply_patch was requested via",
)
_REQUEST = re.compile(r"^## My request(?: for Codex)?:[ \t]*$", re.MULTILINE)  # an editor puts its context before it


def own_words(text: str, line: int) -> tuple[str, list[Event]]:
    """Return the user's own words in a text of the user's role, and the events of the rest."""
    instructions = _INSTRUCTIONS.match(text)
    if instructions:
        own, _, project = f"\n{instructions['text']}".rpartition(_PROJECT_DOC)
        if instructions["folder"] is None:  # only the user's own
            own, project = instructions["text"], ""
        path = f"{(instructions['folder'] or '').strip()}/AGENTS.md"
        parts = [injected("instructions", own.strip(), line), injected("instructions", project.strip(), line, path)]
        return "", [part for part in parts if part.content]
    skill = _SKILL.match(text) if text.rstrip().endswith("</skill>") else None
    if skill:
        content = text[skill.end() :].rstrip().removesuffix("</skill>")
        injection = injected("skill", content.strip(), line, (skill.group(2) or "").strip())
        return "", [Skill(skill.group(1).strip(), "command", line), injection]
    tag = _element(text)
    if _CLIENT_TAG.fullmatch(tag):
        is_instructions = tag == "user_instructions"  # how older clients wrapped AGENTS.md
        return "", [injected("instructions" if is_instructions else tag.lower(), text.strip(), line)]
    if text.lstrip().startswith(_NOTICES) or _IMAGE_TAG.match(text):
        return "", []
    *_, request = (None, *_REQUEST.finditer(text))
    if request is None:
        return text, []
    words = text[request.end() :].strip()
    return words or text, [injected("editor", text[: request.start()].strip(), line)]


def is_hook_text(text: str, kinds: list[str], *, is_alone: bool) -> bool:
    """Report whether a text in the developer's role is a hook's.

    Newer clients name the kind of each part. In older clients a hook's text has no tag, unlike the client's own texts,
    and is alone in its message, after the client's own texts of the turn (`is_alone`).
    """
    if kinds:
        return _HOOK_PART in kinds
    tag = _element(text)
    return tag == "hook_context" or (is_alone and not tag and not text.lstrip().startswith(_SAVED))


def developer_text(text: str, line: int, hook: str = "") -> Injection:
    """Return a text in the developer's role: of a hook, of the client under its tag, or configured by the user."""
    tag = _element(text)
    return injected(hook or (f"developer:{tag}" if tag else "developer"), text.strip(), line)


def _element(text: str) -> str:
    """Return the name of the element that a text consists of, or ""."""
    tag = _TAG.match(text)
    return tag.group(1) if tag and f"</{tag.group(1)}" in text[-200:] else ""
