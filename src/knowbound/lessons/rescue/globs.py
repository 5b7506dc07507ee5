"""A glob that matches no file: repaired, in another case, a folder deeper or elsewhere, with its stem alone."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.core.paths import is_test
from knowbound.lessons.rescue.misses.lookup import expression, is_wild, literals
from knowbound.lessons.rescue.names import ending_of
from knowbound.lessons.rescue.paths import called_so, similar
from knowbound.lessons.rescue.same_words import same_words
from knowbound.lessons.rescue.words import MOST_PLACES, Rescue, SuggestedPlace, found, listed, quoted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.lessons.rescue.misses.lookup import MissedLookup
    from knowbound.lessons.rescue.names import TreeNames

_MOST_HITS = 12  # more say nothing about which was meant
_MOST_NUMBERED = 40  # of files whose names only differ in a number before them
_LEAST_STEM = 4  # letters
_FEW = 2  # files of a folder that are said though their names are others
_PAIRS = ((".spec.ts", ".test.ts"), (".spec.tsx", ".test.tsx"), (".spec.js", ".test.js"), (".spec.jsx", ".test.jsx"),
          (".js", ".ts"), (".jsx", ".tsx"), (".yml", ".yaml"), (".md", ".mdx"), (".cc", ".cpp"), (".h", ".hpp"),
          (".css", ".scss"), (".htm", ".html"), ("_test.py", "_tests.py"))  # fmt: skip
_ENDINGS = (*_PAIRS, *((usual, asked) for asked, usual in _PAIRS))
_TESTS = lazy(r"(?:^|/)(?:__tests__|tests?|specs?)/|\.(?:test|spec)\.")
_NUMBER = lazy(r"\d+")


def rescue_glob(miss: MissedLookup, names: TreeNames) -> Rescue | None:
    """What a glob that matched nothing meant."""
    for glob in miss.globs:
        hits = _matching(glob, names)
        if hits and not miss.is_check:
            reason = f"{miss.wrong[:1].upper()}{miss.wrong[1:]}; " if miss.wrong else ""
            return _said(miss, hits, f"{reason}{quoted(glob)} matches", "same_glob")
    for glob in miss.globs:
        said = _loosened(miss, glob, names) or _other_ending(miss, glob, names)
        if said:
            return said
    if miss.is_check:
        return None
    glob = miss.globs[0]
    return _similar(miss, names) or same_words(miss.query, glob, names) or _of_folder(glob, names)


def _of_folder(glob: str, names: TreeNames) -> Rescue | None:
    """A folder that has one or two files of that ending, and none that the glob names; or none of that name at all."""
    fixed = []
    for part in glob.split("/")[:-1]:
        if is_wild(part):
            break
        fixed.append(part)
    folder = "/".join(fixed)
    if not folder:
        return None
    if folder not in names.folders:
        places = called_so(folder, names)
        text = f"{quoted(folder)} does not exist; {places[0].why} are {listed(places)}." if places else ""
        return found(text, places, "called_so") if places else None
    last = glob.rpartition("/")[2]
    ending = last[last.rindex(".") :] if "." in last and not is_wild(last[last.rindex(".") :]) else ""
    beside = [one for one in names.folders[folder] if one.endswith(ending) and names.has(one)]
    if not 1 <= len(beside) <= _FEW or len(fixed) < len(glob.split("/")) - 1 or not any(map(str.isalnum, last)):
        return None
    places = [SuggestedPlace(one, None, "in the same folder") for one in beside]
    return found(f"{quoted(glob)} matches no file; {quoted(folder)} has {listed(places)} only.", places, "folder_files")


def _similar(miss: MissedLookup, names: TreeNames) -> Rescue | None:
    """`main-desktop.*`, where the folder has `main.ts`."""
    folder, _, last = miss.globs[0].rpartition("/")
    stem = max(literals(last), key=len, default="")
    if is_wild(folder) or last.startswith(("*", "?")) or len(stem) < _LEAST_STEM:
        return None
    places = similar(f"{folder}/{stem.partition('.')[0]}.*", names)
    return (
        found(f"{quoted(miss.query)} matches no file; {quoted(folder)} has {listed(places)}.", places, "similar_name")
        if places and folder
        else None
    )


def _loosened(miss: MissedLookup, glob: str, names: TreeNames) -> Rescue | None:
    if miss.is_check:
        for wider in _wider(glob):
            hits = _matching(wider, names)
            if hits:
                is_sure = len(hits) == 1 and _is_stem(wider)
                return _said(miss, hits, f"{quoted(wider)} matches", "wider_glob") if is_sure else None
        return None
    folders = [folder for folder in names.folders if folder and expression(glob, True).fullmatch(folder)]
    if 1 <= len(folders) <= 2 and names.has(folders[0]):
        inside = [path for path in names.paths if path.startswith(f"{folders[0]}/")][: MOST_PLACES - 1]
        places = [SuggestedPlace(one, None, "the folder that the glob matches") for one in (folders[0], *inside)]
        text = f"{quoted(miss.query)} matches no file, but the folder {places[0].shown}"
        return found(f"{text}, with {listed(places[1:])}." if inside else f"{text}.", places, "glob_folder")
    hits = _matching(glob, names, ignore_case=True)
    if hits:
        return _said(miss, hits, "in another case there is", "same_case")
    numbered = _numbered(miss, glob, names)
    if numbered:
        return numbered
    for wider in _wider(glob):
        hits = _matching(wider, names, ignore_case=True)
        if _TESTS.search(glob):
            hits = [path for path in hits if is_test(path)]
        if hits and _is_stem(wider):
            return _said(miss, hits, f"{quoted(wider)} matches", "wider_glob")
    return _in_folder(miss, glob, names)


def _other_ending(miss: MissedLookup, glob: str, names: TreeNames) -> Rescue | None:
    """`*.spec.ts`, where the tests of this tree end in `.test.ts`: no file has the ending that was asked for."""
    if miss.is_check:
        return None
    for asked, usual in _ENDINGS:
        if not glob.endswith(asked) or any(path.endswith(asked) for path in names.paths):
            continue
        other = f"{glob.removesuffix(asked)}{usual}"
        hits = _matching(other, names)
        if hits:
            hits.sort(key=lambda path: (path.count("/"), path))
            how = f"no file of this tree ends in {quoted(asked)}; {quoted(other)} matches"
            return _said(miss, hits, how, "other_ending", is_ranked=True)
        said = _in_folder(miss, other, names)
        if said:
            return said
    return None


def _wider(glob: str) -> list[str]:
    """The last part of a glob below its folder, then below each folder above."""
    *folders, last = [part for part in glob.split("/") if part != "**"]
    fixed = []
    for part in folders:
        if is_wild(part):
            break
        fixed.append(part)
    above = ["/".join([*fixed[:end], "**", last]) for end in range(len(fixed), -1, -1)]
    return [one for one in above if one != glob]


def _is_stem(glob: str) -> bool:
    """Whether the last part says more than an ending."""
    last = glob.rpartition("/")[2]
    texts = [text for text in literals(last) if not (text.startswith(".") and last.endswith(text) and last != text)]
    dotted = [text for text in literals(last) if text.startswith(".env")]
    return any(sum(map(str.isalpha, text.partition(".")[0])) >= _LEAST_STEM for text in texts) or bool(dotted)


def _numbered(miss: MissedLookup, glob: str, names: TreeNames) -> Rescue | None:
    """`CONTEXT.md`, where the files are called `12-CONTEXT.md`: the highest number first."""
    folder, _, last = glob.rpartition("/")
    if is_wild(last) or len(last.partition(".")[0]) < _LEAST_STEM:
        return None
    for loose in (f"{folder}/*{last}", f"{folder}/**/*{last}"):
        hits = _matching(loose.lstrip("/"), names)
        if hits and len(hits) <= _MOST_NUMBERED:
            hits.sort(key=_natural, reverse=True)
            return _said(miss, hits, f"{quoted(loose.lstrip('/'))} matches", "numbered", is_ranked=True)
    return None


def _natural(path: str) -> list[tuple[int, str]]:
    """Numbers in a path count as numbers."""
    parts = re.split(r"(\d+(?:\.\d+)?)", path)
    return [(int(float(part) * 1000), "") if _NUMBER.match(part) else (0, part) for part in parts]


def _in_folder(miss: MissedLookup, glob: str, names: TreeNames) -> Rescue | None:
    """The stem names a folder: `*remediat*.test.ts`, where `remediation/` has the tests."""
    last = glob.rpartition("/")[2]
    ending = last[last.rindex("*") + 1 :] if "*" in last else ""
    texts = [text for text in literals(last) if text != ending]
    if not texts or len(max(texts, key=len)) < _LEAST_STEM or (ending and not ending.startswith(".")):
        return None
    stem = max(texts, key=len).strip("._-").lower()
    folders = [folder for folder in names.folders if stem in folder.rpartition("/")[2].lower()]
    files = [path for folder in folders for path in names.folders[folder] if path.endswith(ending)]
    if _TESTS.search(glob):
        files = [path for path in files if is_test(path)]
    elif not ending and len(texts) > 1:
        return None
    if not 1 <= len(files) <= _MOST_HITS:
        return None
    fixed = glob.partition("*")[0].rpartition("/")[0]
    files.sort(key=lambda path: (not path.startswith(fixed), path.count("/"), path))
    return _said(miss, files, f"files in a folder named {quoted(stem)} are", "named_folder", is_ranked=True)


def _matching(glob: str, names: TreeNames, *, ignore_case: bool = False) -> list[str]:
    wanted = expression(glob, ignore_case)
    hits = [path for path in names.paths if wanted.fullmatch(path)]
    return [path for path in hits if names.has(path)] if len(hits) <= _MOST_NUMBERED else hits


def _said(miss: MissedLookup, hits: list[str], how: str, rule: str, *, is_ranked: bool = False) -> Rescue | None:
    if not is_ranked:
        if len(hits) > _MOST_HITS and not miss.wrong:
            return None
        hits.sort(key=lambda path: (is_test(path), path.count("/"), ending_of(path), path))
    places = [SuggestedPlace(path, None, "matches the glob as it was meant") for path in hits[:MOST_PLACES]]
    more = f" ({len(hits)} files)" if len(hits) > MOST_PLACES else ""
    start = "" if miss.wrong or rule == "same_glob" else f"{quoted(miss.query)} matches no file; "
    return found(f"{start}{how} {listed(places)}{more}.", places, rule)
