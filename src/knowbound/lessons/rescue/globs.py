"""A glob that matches no file: its files from the root, a folder, another case, or the other ending of YAML."""

from __future__ import annotations

import re
from functools import lru_cache

from knowbound.codebase.kept_index import ending_of
from knowbound.core.lazy_pattern import lazy
from knowbound.core.paths import is_test
from knowbound.lessons.rescue.words import MOST_PLACES, Rescue, SuggestedPlace, found, listed, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.codebase.kept_index import TreeNames
    from knowbound.lessons.rescue.words import MissedLookup

_MOST_HITS = 12  # more say nothing about which was meant
_MOST_CHECKED = 40  # hits that are looked up as they are now
_MOST_EXPANDED = 64  # globs that braces are expanded to
_BRACES = lazy(r"\{([^{}]*)\}")
_WILD = lazy(r"\*+|\?|\[[^\]]*\]")
_ENDINGS = ((".yml", ".yaml"), (".yaml", ".yml"))


def rescue_glob(miss: MissedLookup, names: TreeNames) -> Rescue | None:
    """Return the files or the folder that a glob meant which matched nothing."""
    if miss.is_check:  # nothing was expected
        return None
    for glob in miss.globs:
        if hits := _matching(glob, names):
            return _rescue_with(miss, hits, f"{quoted(glob)} matches", "same_glob")
    for glob in miss.globs:
        if said := _folder(miss, glob, names) or _other_case(miss, glob, names) or _other_ending(miss, glob, names):
            return said
    return None


def _folder(miss: MissedLookup, glob: str, names: TreeNames) -> Rescue | None:
    """Suggest the folder that a glob matches in place of files, with some of its files; None if over two match."""
    folders = [folder for folder in names.folders if folder and expression(glob, True).fullmatch(folder)]
    if not 1 <= len(folders) <= 2 or not names.has(folders[0]):  # gone by now
        return None
    inside = [path for path in names.paths if path.startswith(f"{folders[0]}/")][: MOST_PLACES - 1]
    places = [SuggestedPlace(path, None, "the folder that the glob matches") for path in (folders[0], *inside)]
    text = f"{quoted(miss.query)} matches no file, but the folder {places[0].shown}"
    return found(f"{text}, with {listed(places[1:])}." if inside else f"{text}.", places, "glob_folder")


def _other_case(miss: MissedLookup, glob: str, names: TreeNames) -> Rescue | None:
    hits = _matching(glob, names, ignore_case=True)
    return _rescue_with(miss, hits, "in another case there is", "same_case") if hits else None


def _other_ending(miss: MissedLookup, glob: str, names: TreeNames) -> Rescue | None:
    """`*.yaml`, where the files of this tree end in `.yml`: no file has the ending that was asked for."""
    for asked, usual in _ENDINGS:
        if not glob.endswith(asked) or any(path.endswith(asked) for path in names.paths):
            continue
        other = f"{glob.removesuffix(asked)}{usual}"
        hits = _matching(other, names)
        if hits:
            hits.sort(key=lambda path: (path.count("/"), path))
            how = f"no file of this tree ends in {quoted(asked)}; {quoted(other)} matches"
            return _rescue_with(miss, hits, how, "other_ending", is_ranked=True)
    return None


def _matching(glob: str, names: TreeNames, *, ignore_case: bool = False) -> list[str]:
    """Return the files that a glob matches, of few only those that are still there."""
    wanted = expression(glob, ignore_case)
    hits = [path for path in names.paths if wanted.fullmatch(path)]
    return [path for path in hits if names.has(path)] if len(hits) <= _MOST_CHECKED else hits  # too many to check


def _rescue_with(miss: MissedLookup, hits: list[str], how: str, rule: str, *, is_ranked: bool = False) -> Rescue | None:
    """Return the sentence with the hits, likeliest first; None if they are too many and not ranked yet."""
    if not is_ranked:
        if len(hits) > _MOST_HITS:
            return None
        hits.sort(key=lambda path: (is_test(path), path.count("/"), ending_of(path), path))
    places = [SuggestedPlace(path, None, "matches the glob as it was meant") for path in hits[:MOST_PLACES]]
    more = f" ({len(hits)} files)" if len(hits) > MOST_PLACES else ""
    start = "" if rule == "same_glob" else f"{quoted(miss.query)} matches no file; "
    return found(f"{start}{how} {listed(places)}{more}.", places, rule)


# ---- globs as expressions


def expanded(glob: str) -> list[str]:
    """Expand the braces of a glob."""
    done: list[str] = []
    left = [glob]
    while left and len(done) + len(left) <= _MOST_EXPANDED:
        glob_left = left.pop(0)
        brace = _BRACES.search(glob_left)
        if brace is None:
            done.append(glob_left)
        else:
            left += [f"{glob_left[: brace.start()]}{part}{glob_left[brace.end() :]}" for part in brace[1].split(",")]
    return done or [glob]


@lru_cache(maxsize=512)
def expression(glob: str, ignore_case: bool) -> re.Pattern[str]:
    """The glob as an expression over a whole path; `*` stays within a folder, `**` does not."""
    parts = []
    for alternative in expanded(glob):
        text, at = "", 0
        while at < len(alternative):
            if alternative.startswith("**/", at):
                text, at = text + "(?:[^/]+/)*", at + 3
            elif alternative.startswith("**", at):
                text, at = text + ".*", at + 2
            elif alternative[at] == "*":
                text, at = text + "[^/]*", at + 1
            elif alternative[at] == "?":
                text, at = text + "[^/]", at + 1
            elif alternative[at] == "[" and "]" in alternative[at + 2 :]:
                end = alternative.index("]", at + 2)
                inner = alternative[at + 1 : end].replace("\\", "\\\\")
                text, at = f"{text}[{'^' + inner[1:] if inner[0] in '!^' else inner}]", end + 1
            else:
                text, at = text + re.escape(alternative[at]), at + 1
        parts.append(text)
    try:
        return re.compile("|".join(f"(?:{part})" for part in parts), re.IGNORECASE if ignore_case else 0)
    except re.error:
        return re.compile(r"(?!)")


def literals(part: str) -> list[str]:
    """The texts between the wildcards of a part of a glob."""
    return [text for text in _WILD.split(_BRACES.sub("*", part)) if text]
