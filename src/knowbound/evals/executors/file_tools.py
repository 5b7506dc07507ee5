"""Read-only tools over one folder for a model: Grep, Glob and Read, which never leave it and never show what is hidden.

The wording of their answers lets readers of traces distinguish a search that matched nothing or a missing file from a
mistake (specification 1, source 1).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from knowbound.files import open_below, rg

_ALWAYS_HIDDEN = (".git", ".knowbound")
_SEARCH_SECONDS = 20.0
_MOST_MATCHES = 100
_MOST_FILES = 200
_MATCH_CHARACTERS = 300
_MOST_LINES = 2000
_LINE_CHARACTERS = 2000  # of a line that Read shows
_MOST_ANSWER_BYTES = 60_000
_MOST_FILE_BYTES = 20_000_000
_PATTERN_CHARACTERS = 2000
_NO_MATCHES = "No matches found"

_TEXT = {"type": "string"}
_GREP = {
    "type": "object",
    "properties": {
        "pattern": {**_TEXT, "description": "A regular expression."},
        "path": {**_TEXT, "description": "A file or folder to search in; the whole folder by default."},
        "glob": {**_TEXT, "description": "Only files that match, for example *.md."},
        "ignore_case": {"type": "boolean"},
    },
    "required": ["pattern"],
}
_GLOB = {
    "type": "object",
    "properties": {"pattern": {**_TEXT, "description": "For example **/*.md."}, "path": _TEXT},
    "required": ["pattern"],
}
_READ = {
    "type": "object",
    "properties": {
        "file_path": _TEXT,
        "offset": {"type": "integer", "description": "The first line to show, from 1."},
        "limit": {"type": "integer", "description": "How many lines to show."},
    },
    "required": ["file_path"],
}


class ModelTool(msgspec.Struct, frozen=True):
    """A tool that a model may call. `run` returns its result, or raises a ValueError with the message for the model."""

    name: str
    description: str
    parameters: Mapping[str, object]  # JSON schema of an object
    run: Callable[[Mapping[str, object]], str]


class FileTools:
    """The tools of one folder. `hidden`: files and folders that are not there for the model, wherever they lie."""

    def __init__(self, folder: Path, hidden: Sequence[Path | str] = ()) -> None:
        self._root = Path(os.path.realpath(folder))
        # Another version of the knowledge base has its own copy of the test set: a file's name hides it, too.
        self._hidden_names = {*_ALWAYS_HIDDEN, *(Path(path).name for path in hidden if not os.path.isdir(path))}
        self._hidden_paths = {os.path.realpath(self._root / path) for path in hidden}

    def tools(self) -> list[ModelTool]:
        """Return Grep, Glob and Read."""
        return [
            ModelTool("Grep", "Search the text of the files for a regular expression.", _GREP, self.grep),
            ModelTool("Glob", "Find files by their names.", _GLOB, self.glob),
            ModelTool("Read", "Read a file, with line numbers.", _READ, self.read),
        ]

    def grep(self, given: Mapping[str, object]) -> str:
        """The lines that match, with file and number."""
        options = ["--line-number", "--no-heading", "--with-filename", "--color", "never", "--null"]
        options += ["--max-columns", str(_MATCH_CHARACTERS), "--max-columns-preview", "--max-count", str(_MOST_MATCHES)]
        options += ["--ignore-case"] if given.get("ignore_case") is True else []
        out = self._ripgrep(given, [*options, *self._globs(_text(given, "glob")), "-e", _text(given, "pattern")])
        if isinstance(out, str):
            return out
        lines = [line.partition("\0") for line in out.decode("utf-8", "replace").split("\n")]
        shown = {path: self._is_shown(path) for path in {path for path, separator, _ in lines if separator}}
        matches = [f"{path.removeprefix('./')}:{rest}" for path, _, rest in lines if shown.get(path)]
        return _bounded(sorted(matches, key=_path_and_line), _MOST_MATCHES, "matches") if matches else _NO_MATCHES

    def glob(self, given: Mapping[str, object]) -> str:
        """The files whose path matches."""
        out = self._ripgrep(given, ["--files", "--null", *self._globs(_text(given, "pattern"))])
        if isinstance(out, str):
            return out
        names = out.decode("utf-8", "replace").split("\0")
        found = sorted(name.removeprefix("./") for name in names if name and self._is_shown(name))
        return _bounded(found, _MOST_FILES, "files") if found else "No files found"

    def _ripgrep(self, given: Mapping[str, object], arguments: Sequence[str]) -> bytes | str:
        """Return the output of ripgrep as bytes, empty if nothing matched; an error message is a str."""
        pattern, asked = _text(given, "pattern"), _text(given, "path")
        if not pattern or len(pattern) > _PATTERN_CHARACTERS:
            return f"Error: invalid pattern: a pattern of at most {_PATTERN_CHARACTERS} characters is needed."
        where = self._shown_path(asked)
        if where is None or not where.exists():
            return self._refusal(asked)
        relative = where.relative_to(self._root)
        ran = rg(self._root, [*arguments, "--", f"./{relative}" if relative.parts else "."], _SEARCH_SECONDS)
        if ran.out or ran.code == 1:
            return ran.out
        why = "timed out" if ran.timed_out else " ".join(ran.err.decode("utf-8", "replace").split())
        return f"Error: the search failed: {why[:300]}"

    def read(self, given: Mapping[str, object]) -> str:
        """A file's lines with their numbers."""
        asked = _text(given, "file_path")
        if not asked:
            return "Error: missing required file_path."
        path = self._shown_path(asked)
        if path is None or not path.is_file():
            return f"Error: {asked} is a directory." if path is not None and path.is_dir() else self._refusal(asked)
        try:
            with open_below(self._root, path) as file:
                content = file.read(_MOST_FILE_BYTES + 1)
            if len(content) > _MOST_FILE_BYTES:
                return f"Error: {asked} exceeds maximum allowed size."
        except OSError as error:
            return f"Error: permission denied: {error.strerror}"
        if b"\0" in content[:8000]:
            return f"Error: invalid input: {asked} is a binary file."
        if not content:
            return "(the file is empty)"
        lines = content.decode("utf-8", "replace").replace("\r\n", "\n").removesuffix("\n").split("\n")
        first = max(1, _number(given, "offset", 1))
        chosen = lines[first - 1 : first - 1 + max(1, min(_number(given, "limit", _MOST_LINES), _MOST_LINES))]
        if not chosen:
            return f"(the file has {len(lines)} lines)"
        return _bounded(
            [f"{number:6}\t{line[:_LINE_CHARACTERS]}" for number, line in enumerate(chosen, first)],
            _MOST_LINES,
            "lines",
        )

    def _shown_path(self, asked: str) -> Path | None:
        """The real file that a path means; None where it lies outside, or must not be shown."""
        if "\0" in asked:
            return None
        try:
            real = Path(os.path.realpath(self._root / asked)) if asked else self._root
        except (OSError, ValueError):
            return None
        if real != self._root and self._root not in real.parents:
            return None
        # A link that stays inside is followed; one to what is hidden is not.
        return real if self._is_shown(str(real.relative_to(self._root))) else None

    def _refusal(self, asked: str) -> str:
        """Return the error for a path that is not shown: forbidden outside of the folder, missing if hidden."""
        real = os.path.realpath(self._root / asked.replace("\0", ""))
        if not (real + os.sep).startswith(str(self._root) + os.sep):
            return f"Error: permission denied: {asked} is outside the allowed folder."
        return f"Error: File does not exist: {asked}"

    def _is_shown(self, relative: str) -> bool:
        parts = Path(relative.removeprefix("./")).parts
        if self._hidden_names.intersection(parts):
            return False
        real = Path(os.path.realpath(self._root / relative))
        return not self._hidden_paths.intersection(map(str, (real, *real.parents)))

    def _globs(self, wanted: str) -> list[str]:
        """Return glob options, the exclusions last: of two globs that match a file, ripgrep follows the later."""
        globs = [wanted] if wanted else []
        globs += [f"!{_escaped(name)}" for name in sorted(self._hidden_names)]
        return [part for glob in globs for part in ("--glob", glob)]


def _escaped(name: str) -> str:
    return "".join(f"\\{sign}" if sign in "*?[]{}\\!" else sign for sign in name)


def _bounded(lines: list[str], most: int, what: str) -> str:
    """Join at most `most` lines, within the size of an answer, and say how many are left out."""
    shown, size = [], 0
    for line in lines[:most]:
        size += len(line.encode("utf-8", "replace")) + 1
        if size > _MOST_ANSWER_BYTES:
            break
        shown.append(line)
    left = len(lines) - len(shown)
    return "\n".join(shown) + (f"\n({left} more {what} are not shown)" if left else "")


def _path_and_line(match: str) -> tuple[str, int]:
    path, _, rest = match.partition(":")
    number = rest.partition(":")[0]
    return path, int(number) if number.isdecimal() and len(number) < 10 else 0


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    return value.strip() if isinstance(value, str) else ""


def _number(given: Mapping[str, object], name: str, default: int) -> int:
    value = given.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else default
