"""Text of a Claude Code transcript around the user's own words: injected context, commands, reminders."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from knowbound.core.trace import Injection
from knowbound.traces.dialogue import text_in
from knowbound.traces.steps import injected
from knowbound.traces.values import dicts, object_of

# Elements that clients put around or beside the user's words.
_ELEMENT = re.compile(
    r"<(system-reminder|ide_opened_file|ide_selection|ide_diagnostics|local-command-stdout|local-command-stderr"
    r"|local-command-caveat|bash-input|bash-stdout|bash-stderr|task-notification|user-prompt-submit-hook"
    r"|command-name|command-message|command-args|session-start-hook|task-reminder|user-memory-input"
    r"|teammate-message|new-diagnostics)\b[^<>]*>.*?(?:</\1>|\Z)",
    re.DOTALL,
)
# Beginnings of texts that the client wrote as a whole.
_NOT_WORDS = (
    "[Request interrupted",
    "Caveat: The messages below",
    "This session is being continued from a previous",
    "<task-notification>",
    "<local-command-",
    "<bash-",
)
_COMMAND = re.compile(
    r"^\s*<command-message>(?>.*?</command-message>)\s*<command-name>/?(?>(.*?)</command-name>)"
    r"(?:\s*<command-args>(?>(.*?)</command-args>))?",
    re.DOTALL,
)
_BASE_DIRECTORY = re.compile(r"\ABase directory for this skill: (\S.*)")
_CONTENTS = re.compile(
    r"Contents of (/(?:(?!Contents of /)[^\n(])+?\.(?:md|mdc|txt))(?: \([^()]*\))?:\n\n"
    r"(.*?)(?=\nContents of /|</system-reminder>|\Z)",
    re.DOTALL,
)
_REMINDER = re.compile(r"<(user-prompt-submit-hook|session-start-hook)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_HOOK_TEXT_EVENTS = ("SessionStart", "UserPromptSubmit")  # the plain output of these hooks reaches the model


def own_words(text: str) -> str:
    """Return the user's own words in a user line; "" if the client wrote all of it."""
    text = text.strip()
    if text.startswith(_NOT_WORDS):
        return ""
    words = _ELEMENT.sub("", text).strip() if "<" in text else text
    return "" if words.startswith(_NOT_WORDS) else words


def skill_command(text: str) -> tuple[str, str] | None:
    """Return the skill and the words of a slash command that starts the agent; None for other text.

    A command that the client handles itself (`/clear`, `/model`) puts its name first and starts nothing.
    """
    match = _COMMAND.match(text)
    if match is None:
        return None
    name, words = match.group(1).strip(), (match.group(2) or "").strip()
    return (name, f"/{name} {words}".strip()) if name else None


def injections_of_text(text: str, is_meta: bool, line: int) -> Iterator[Injection]:
    """Yield the context in a user line: texts of skills and commands, instruction files in reminders, hook output."""
    if is_meta:
        skill = _BASE_DIRECTORY.match(text)
        if skill:
            folder = skill.group(1).strip()
            yield injected("skill", text, line, f"{folder}/SKILL.md")
        elif not text.lstrip().startswith(("<local-command", "Caveat:", "[Image")):
            yield injected("meta", text, line)
    if "Contents of /" in text:
        for match in _CONTENTS.finditer(text):
            yield injected("instructions", match.group(2), line, match.group(1).strip())
    if "-hook>" in text:
        for match in _REMINDER.finditer(text):
            yield injected(f"hook:{match.group(1)}", match.group(2).strip(), line)


def injections_of_attachment(attachment: dict[str, Any], line: int) -> Iterator[Injection]:
    """Yield the context of an `attachment` line: hook output, memory files, mentioned files, skills."""
    kind = attachment.get("type")
    hook = f"hook:{attachment.get('hookEvent') or attachment.get('hookName') or ''}"
    if kind == "hook_additional_context":
        content = attachment.get("content")
        parts = content if isinstance(content, list) else [content]
        for part in parts:
            if isinstance(part, str) and part.strip():
                yield injected(hook, part, line)
    elif kind == "hook_success":
        text = _hook_output(attachment)
        if text:
            yield injected(hook, text, line)
    elif kind == "invoked_skills":
        for skill in dicts(attachment.get("skills")):
            yield injected("skill", text_in(skill, "content"), line, text_in(skill, "path"))
    elif kind in ("nested_memory", "file", "edited_text_file", "selected_lines_in_ide", "memory", "relevant_memories"):
        for part in dicts(attachment.get("memories")) or [attachment]:
            path = text_in(part, "filename", "path", "displayPath")
            yield injected(str(kind), _content(part.get("content") or part.get("snippet")), line, path)


def _hook_output(attachment: dict[str, Any]) -> str:
    """Return the text that a successful hook injected: `additionalContext`, or the plain output of some hooks."""
    stdout = text_in(attachment, "stdout").strip() or text_in(attachment, "content").strip()
    if not stdout.startswith("{"):
        return stdout if attachment.get("hookEvent") in _HOOK_TEXT_EVENTS else ""
    output = object_of(stdout)
    specific = output.get("hookSpecificOutput")
    inner = text_in(specific, "additionalContext") if isinstance(specific, dict) else ""
    return inner or text_in(output, "additionalContext")


def _content(value: Any) -> str:
    if isinstance(value, dict):
        value = value.get("content") or (value.get("file") or {}).get("content")
    return value if isinstance(value, str) else ""
