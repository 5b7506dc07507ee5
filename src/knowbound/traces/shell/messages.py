"""Messages of programs in the output of a command line: what is not there, and what was called wrongly."""

from __future__ import annotations

import re
from functools import lru_cache

from knowbound.core.lazy_pattern import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.traces.shell.lookup import ReadOutput

# Names that a message may start with, besides the programs in the line.
_SHELL_NAMES = frozenset({"(eval)", "bash", "sh", "zsh", "dash", "-bash", "cd", "xargs", "env", "timeout", "sudo"})
_SPEAKERS_OF_PROGRAM = {"git": ("fatal", "error"), "gh": ("GraphQL", "error"), "rtk": ("error",), "go": ("doc",)}
_LOOK_UP_NAMES = frozenset({"which", "type", "command", "whereis"})
_SPEAKER = lazy(r"(?:/[\w./-]*/)?(\(eval\)|\[fd error\]|[\w.+\[-]+):")
_NOT_THERE = lazy(
    r"no such file or directory|no matches found: |not a directory|does not exist|exists on disk, but not in"
    r"|cannot find (?:path|the)|can't open file|cannot open file|unknown revision or path|bad revision"
    r"|invalid object name|no such (?:package|symbol|path)|no symbol |no (?:method|field) |\(os error 2\)"
    r"|no package |not a valid object name|did not match any|is not a directory|pathspec",
    re.IGNORECASE,
)
_NOT_KNOWN = lazy(
    r"(?:which: )?no [\w.+-]+ in \(|[\w.+-]+ not found$|.*: (?:type|command|which): [\w.+-]+: not found"
    r"|WARNING: Package\(s\) not found|no (?:pull requests|issues|runs|releases|open \w+) (?:found|match)"
    r"|.*\[error opening dir\]|npm (?:ERR!|error) (?:code E?404|404)"
    r"|.*HTTP 404|GraphQL: Could not resolve to|.*: not found in this "
)
_WRONG_USE = lazy(
    r"(?:invalid|unrecognized|illegal|unknown) (?:option|flag|argument|subcommand|file type|predicate|primary"
    r"|command|expression)|unexpected argument|regex parse error|regular expression|unmatched|unbalanced"
    r"|repetition-operator|not balanced|missing argument|must precede|requires an argument|syntax error"
    r"|parse error|unexpected (?:EOF|token)|command not found|: not found|permission denied"
    r"|operation not permitted|argument list too long|back ?reference|trailing backslash|bad substitution"
    r"|bad pattern|event not found|is a directory|not a git repository|invalid range|usage:"
    r"|unterminated|unclosed|extra characters|illegal byte|cannot execute|bad math|unexpected INVALID",
    re.IGNORECASE,
)
_BAD_CALL = lazy(r"usage:|error: (?:unexpected|unrecognized|invalid|the following required) ", re.IGNORECASE)
_BAD_SYNTAX = lazy(r"parse error near|syntax error near|unexpected EOF|unmatched ['\"`]", re.IGNORECASE)


def note_message(output: ReadOutput, text: str, is_hinted: bool) -> bool:
    """Report whether a line is a message of a program, and note it; `is_hinted`: it has words of `_NOT_KNOWN`."""
    programs = output.line_plan.programs
    looks_up_names = not programs.isdisjoint(_LOOK_UP_NAMES)
    if is_hinted and _NOT_KNOWN.match(text) and (looks_up_names or not text.endswith(" not found")):
        output.not_there.add(text)
        return True
    speaker = _SPEAKER.match(text)
    if speaker is None or speaker[1] not in _speakers(programs):
        is_bad_call = _BAD_CALL.match(text) is not None
        if is_bad_call:
            output.wrong_use.add(text)
        return is_bad_call
    message = text[speaker.end() :]
    if _NOT_THERE.search(message):
        output.not_there.add(message)
    elif _WRONG_USE.search(message):
        output.wrong_use.add(message)
        output.is_line_unreadable |= speaker[1] in _SHELL_NAMES and _BAD_SYNTAX.search(message) is not None
    elif speaker[1] in ("fatal", "error", "GraphQL", "doc") or message.startswith(" "):  # these name no program
        output.other_messages += 1
    else:
        return False  # a hit in a file with the name of a program
    return True


@lru_cache(maxsize=64)
def _speakers(programs: frozenset[str]) -> frozenset[str]:
    """Return the names that a message of these programs may start with."""
    return programs.union(_SHELL_NAMES, *(_SPEAKERS_OF_PROGRAM.get(program, ()) for program in programs))
