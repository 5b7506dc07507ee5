"""The target of a lookup, in one spelling, the later call that found it, and the agent's words around it.

What was found is compared with what was missed: the same stem with another extension or in another folder, the same
name in a looser pattern or in what a call showed, a shared word. Words, English and Chinese, are asked of one or two
sentences beside a miss, never of a whole text. Before a miss plain words do as well as phrases
(`python -m bench.endings`).
"""

# ruff: noqa: E501 - a pattern is easier to read unbroken
from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from knowbound.core.knowledge_paths import relative_to
from knowbound.core.signal import FoundPlace
from knowbound.core.trace import Outcome, ToolCall, ToolKind
from knowbound.text.code_names import CODE_WORDS
from knowbound.text.sentences import plain_sentences
from knowbound.text.terms import canonical, plain_term, split_words

_QUERY_CHARS = 500
_SENTENCE_CHARS = 1_500
_OUTPUT_LINES = 400  # of a result that are looked through for a place
_SHOWN_CHARS = 100_000  # of a result that are looked through for a name
_NAME_LETTERS = 4  # at least, of a name that says something
_NAME_LETTERS_IN_PATH = 3  # the same of a file or folder
_INNER_LETTERS = 5  # at least, of a name that counts inside another
_SPECIFIC_LETTERS = 6  # at least, of a word that is enough alone
_MOST_BRANCHES = 12
_BRANCH = re.compile(r"\\?\||[\s,]+-o\s|\s·\s")
_ESCAPE = re.compile(r"\\[bBswdnrtSWD]")
_IDENTIFIER = re.compile(r"[^\W\d][\w-]{2,}|[\u4e00-\u9fff]{2,}")
# A name as only code spells it, or a path: getUser, user_id, docs/api.md. Products are spelled like classes (GitHub):
# those count only between backticks.
_CODE_NAME = re.compile(r"(?>(?:[\w.@-]++/)+)[\w.@-]++|\b[a-z]+[A-Z]\w+|\b\w+_\w+\b|\b[\w-]+\.[a-z]{2,4}\b")
_LONG_WORD = re.compile(r"[A-Za-z]{6,}|[\u4e00-\u9fff]{2,}")
_QUOTED_NAME = re.compile(r"`((?:[A-Z][a-z0-9]+){2,})`")
_WILD = re.compile(r"[*?]+|\{[^{}]*\}|\[[^\]]*\]")
_WORKTREE = re.compile(r".*?/(?:\.?worktrees|\.claude/worktrees)/[^/]+/")
_PATH = re.compile(r"[\w.@~+()\[\]/-]{1,300}")
_LINE = re.compile(r"^(?P<path>[^\s:][^:\n]{0,299}?)[:-](?P<line>\d{1,7})[:-]|^\s*(?P<alone>\d{1,7})[:-]")
_COMMON_WORDS = CODE_WORDS | frozenset("agents claude github skill".split())


class Wanted(NamedTuple):
    """The target of a lookup."""

    names: frozenset[str]  # in plain spelling; finding one answers it
    words: frozenset[str]  # the specific words inside the names and folders
    path: str = ""  # a missed path or glob, relative to its project or worktree

    def __bool__(self) -> bool:
        return bool(self.names or self.words)


def wanted_by(call: ToolCall, project: str) -> Wanted:
    """Return what a call looked for; where the folder that it searched is not there, that folder."""
    if call.outcome is Outcome.MISSING and call.where:
        return _wanted_by_path(call.where[:_QUERY_CHARS], project)
    if is_about_a_path(call):
        return _wanted_by_path(call.query[:_QUERY_CHARS], project)
    return _wanted_by_pattern(call.query[:_QUERY_CHARS])


def topic_names(call: ToolCall, wanted: Wanted, project: str) -> tuple[str, ...]:
    """The names that a miss is remembered by: of a path its last part, of a pattern its code names, longest first.

    A single word of a pattern says too little: every search in a project about sessions has `session` in it.
    """
    if wanted.path or is_about_a_path(call):
        first = (wanted.path.split() or [""])[0]  # a path may be empty: `./`, or the project itself
        parts = [stem for part in first.split("/") if (stem := _stem(part).replace("*", ""))]
        name = plain_name(parts[-1]) if parts else ""
        if not name:
            return ()
        is_vague = name in _COMMON_WORDS and len(parts) > 1  # index, main: only with its folder
        return (f"{plain_name(parts[-2])}/{name}" if is_vague else name,)
    identifiers = _IDENTIFIER.findall(_ESCAPE.sub(" ", call.query[:_QUERY_CHARS]))
    names = {plain_name(name) for name in identifiers if _is_code_spelling(name)}
    return tuple(sorted(names, key=lambda name: (-len(name), name)))


def _is_code_spelling(name: str) -> bool:
    """Report whether code spells it so: several words in one, or signs that prose has none of."""
    return len(split_words(name)) > 1 or not name.isascii()


def wanted_in(sentence: str) -> Wanted:
    """Return what a sentence is about: the names of code and files in it, and its specific words."""
    sentence = sentence[:_SENTENCE_CHARS]
    names = _CODE_NAME.findall(sentence) + _QUOTED_NAME.findall(sentence)
    stems = [_stem(name.rstrip("/").rpartition("/")[2]) for name in names]
    plain = frozenset(
        name for name in map(plain_name, stems) if len(name) >= _NAME_LETTERS and name not in _COMMON_WORDS
    )
    words = (word.lower() for word in _LONG_WORD.findall(sentence))
    return Wanted(plain, frozenset(canonical(word) for word in words if word not in _COMMON_WORDS))


def is_about_a_path(call: ToolCall) -> bool:
    """Report whether it looked for files by their path rather than for text in them."""
    return call.kind in (ToolKind.READ, ToolKind.LIST) or (_is_glob(call.query) and "|" not in call.query)


def _is_glob(query: str) -> bool:
    """Report whether a query is a path or a glob, without the signs that only regular expressions have."""
    return ("*" in query or "/" in query) and not re.search(r"[\\()^$+]|\.\*|\s", query)


@lru_cache(maxsize=4096)
def _wanted_by_pattern(pattern: str) -> Wanted:
    """Return what a pattern names: the longest identifier of each of its alternatives."""
    names: dict[str, None] = {}
    words: frozenset[str] = frozenset()
    for branch in _BRANCH.split(pattern)[:_MOST_BRANCHES]:
        found = [name for name in _IDENTIFIER.findall(_ESCAPE.sub(" ", branch)) if name.lower() not in _COMMON_WORDS]
        if found:
            names[plain_name(max(found, key=len))] = None
        words = words.union(*map(specific_words, found))
    return Wanted(frozenset(name for name in names if len(name) >= _NAME_LETTERS), words)


@lru_cache(maxsize=4096)
def _wanted_by_path(path: str, project: str) -> Wanted:
    """Return what a path names: its last part, or the folder before it if that is only a wildcard."""
    tree_path = _path_in_tree(path, project)
    names: set[str] = set()
    words: set[str] = set()
    for listed_path in tree_path.split() or [tree_path]:  # a listing of several
        every_part = _WILD.sub("*", listed_path).rstrip("/").split("/")
        parts = [part for part in every_part if part not in ("", ".", "..", "~")]
        stems = [stem for part in parts if (stem := _stem(part).replace("*", ""))]
        if parts and stems:
            names.add(plain_name(stems[-1]))
            words.update(*map(specific_words, stems[-3:]))  # folders further up say little
    long_enough = frozenset(name for name in names if len(name) >= _NAME_LETTERS_IN_PATH)
    return Wanted(long_enough, frozenset(words), tree_path)


def _stem(part: str) -> str:
    """Return a file name without its extensions; of a dotfile without the first dot."""
    return part.partition(".")[0] or part.strip(".").partition(".")[0]


def _path_in_tree(path: str, project: str) -> str:
    """Return the path from the project or worktree that it lies in."""
    path = path.strip()
    worktree = _WORKTREE.match(path)
    return path[worktree.end() :] if worktree else relative_to(path, project)


@lru_cache(maxsize=16384)
def plain_name(name: str) -> str:
    """A name without case and without the signs that spellings differ in."""
    return plain_term(name.lower())


@lru_cache(maxsize=16384)
def specific_words(name: str) -> frozenset[str]:
    """Return the specific words inside a name: no common ones, no short ones."""
    words = (word for word in split_words(name) if word not in _COMMON_WORDS)
    return frozenset(canonical(word) for word in words if len(word) >= _NAME_LETTERS or not word.isascii())


NOWHERE = FoundPlace("")  # found, and no one place shows it


def finds(call: ToolCall, wanted: Wanted, project: str, *, looks_inside: bool = True) -> FoundPlace | None:
    """Return where a call that succeeded found what was wanted, or None; a shared word alone names no place.

    Looking inside what a call showed is worth its time for a search that missed; few doubts are answered by it.
    """
    paths = call.paths or ((call.query,) if call.kind is ToolKind.READ else ())
    for path in paths:
        if _path_has_name(path, wanted.names):
            return FoundPlace(_path_in_tree(path, project), _line_in(call, path))
    call_wanted = wanted_by(call, project)
    looks_inside = looks_inside and bool(wanted.names)
    if _shares_name(call_wanted.names, wanted.names) or (looks_inside and _output_names(call, wanted.names)):
        return _place_in_output(call, wanted, project)
    return NOWHERE if _is_same_folder(call, wanted, project) else None


def _is_same_folder(call: ToolCall, wanted: Wanted, project: str) -> bool:
    """Report whether a call looked into the folder where a path was missed: it shows what is there instead."""
    folder = wanted.path.rpartition("/")[0]
    if not folder or "*" in folder or call.kind is ToolKind.READ:
        return False  # a read shows one file, not what is in its folder
    looked = [_path_in_tree(path, project).rstrip("/") for path in (call.query, call.where) if path]
    return any(path == folder or path.rpartition("/")[0] == folder for path in looked)


def _shares_name(names: frozenset[str], other_names: frozenset[str]) -> bool:
    """Report whether a name is in both sets, or a long name is a part of a long name in the other set."""
    if names & other_names:
        return True
    long, other_long = ([name for name in some if len(name) >= _INNER_LETTERS] for some in (names, other_names))
    return any(name in other or other in name for name in long for other in other_long)


def _path_has_name(path: str, names: frozenset[str]) -> bool:
    """Report whether a file is named so: its stem is one of the names, has a long name inside, or is inside one."""
    stem = plain_name(_stem(path.rstrip("/").rpartition("/")[2]))
    return stem in names or any(
        name in stem or (len(stem) >= _INNER_LETTERS and stem in name) for name in names if len(name) >= _INNER_LETTERS
    )


def _output_names(call: ToolCall, names: frozenset[str]) -> bool:
    """Report whether what a call showed holds one of the names, in any spelling."""
    specific = [name for name in names if len(name) >= _SPECIFIC_LETTERS]
    if not specific:
        return False
    plain = _plain_text(call)
    return any(name in plain for name in specific)


_LAST_SHOWN: list[tuple[ToolCall, str]] = []  # the last call that was looked into: several misses ask for it in turn


def _plain_text(call: ToolCall) -> str:
    """Return what a call showed, in the spelling of `Wanted.names`."""
    if not _LAST_SHOWN or _LAST_SHOWN[0][0] is not call:
        _LAST_SHOWN[:] = [(call, plain_term(call.text[:_SHOWN_CHARS].lower()))]
    return _LAST_SHOWN[0][1]


def _place_in_output(call: ToolCall, wanted: Wanted, project: str) -> FoundPlace:
    """Return the path and line at which a call shows what was wanted; NOWHERE if it shows no single place."""
    if call.kind is ToolKind.READ:
        return _as_place(call.query, 0, project)
    if call.kind is ToolKind.SEARCH:
        for line in call.text[:_SHOWN_CHARS].splitlines()[:_OUTPUT_LINES]:
            plain_line = plain_term(line.lower())
            if any(name in plain_line for name in wanted.names):
                found = _LINE.match(line)
                if found is not None and (found["path"] or call.where):  # a search in one file prints no path
                    return _as_place(found["path"] or call.where, int(found["line"] or found["alone"]), project)
                if _PATH.fullmatch(line.strip()):  # a search that prints paths alone
                    return _as_place(line.strip(), 0, project)
        if len(call.paths) == 1:
            return _as_place(call.paths[0], 0, project)
    return NOWHERE


def _as_place(path: str, line: int, project: str) -> FoundPlace:
    """Return the place of a path; NOWHERE for output that is no path."""
    tree_path = _path_in_tree(path, project)
    looks_like_path = _PATH.fullmatch(tree_path) and ("/" in tree_path or "." in tree_path)
    return FoundPlace(tree_path, line) if looks_like_path else NOWHERE


def _line_in(call: ToolCall, path: str) -> int:
    """Return the first line of a file that a result shows; 0 if it shows none."""
    for text in call.text[:_SHOWN_CHARS].splitlines()[:_OUTPUT_LINES]:
        found = _LINE.match(text)
        if found is not None and found["path"] == path:
            return int(found["line"])
    return 0


# The words around a lookup: the agent checks whether something is there, concludes that it is not, gives up, or asks.

_NEAR_CHARS = 500  # beside a call
_ASKING_TOOLS = frozenset("askuserquestion requestuserinput askuser askfollowupquestion askquestions".split())

# Wider than what a call's own description has to say (`traces.intent`): it decides only where no later call finds it.
_WHETHER = re.compile(
    r"\b(?:if|whether|any|already|existing|exists?|others?|elsewhere|anywhere|still|remaining|usages?|references?"
    r"|duplicates?|conflicts?|leftovers?)\b|是否|有没有|还有|其他地方|已",
    re.IGNORECASE,
)
_ABSENT = re.compile(
    r"\b(?:there(?:'s| is| are|'re) (?:currently |also |already )?(?:no|none|nothing)\b"
    r"|there (?:isn't|aren't|is not|are not|was no|were no)|"
    r"no (?:\w+ ){0,3}(?:exists?|found|matches|references?|usages?|tests?|results?|callers?|issues?|changes?|conflicts?|needed|left|yet)\b"
    r"|no (?:existing|such|other|remaining|more|longer|duplicates?)\b"
    r"|(?:does|do|did|is|are|was|were|has|have)(?:n't| not)(?: (?:yet|currently|actually|even|any|anything))* "
    r"(?:exist|have|use|used|appear|contain|include|there|present|found|defined|implemented|referenced|set|exported|"
    r"tracked|mention\w*|been|got|a|an|any|need\w*|support\w*|installed|available|configured|documented|covered|tested|in|on)\b"
    r"|not (?:yet |currently |already |actually )*(?:used|there|present|found|defined|implemented|referenced|set|"
    r"exported|tracked|installed|available|configured|needed|exist\w*|in (?:the|this|use))\b"
    r"|nothing (?:else|references|uses|left|there|in|to|found|matches)|never (?:used|called|set|referenced)"
    r"|(?:is|are|'s) (?:empty|gone|unused|unreferenced|absent|new|clean)"
    r"|don't need|only (?:one|place|used|in|the|exists?|appears?)"
    r"|(?:the|that was the) only\b|all (?:clear|clean|removed|gone|good|references|usages|set))"
    r"|^(?:good|great|perfect|clean|nice|excellent)[,.!:—–-]|✓|✅"
    r"|不存在|没有|未(?:使用|找到|定义|发现|引用)|缺少|无需",
    re.IGNORECASE,
)
_GAVE_UP = re.compile(
    r"(?:n't|\bnot|\bcannot) (?:able to )?(?:find|locate|determine|figure out|access|documented|explained|specified"
    r"|described|anywhere|know (?:where|how|which|what|who))\b|\b(?:i|we) (?:do|did)(?:n't| not) have\b"
    r"|\b(?:unable to|failed to find|no luck|nowhere)\b"
    r"|找不到|没找到|未能|无法|没有(?:提到|说明|记载|文档)",
    re.IGNORECASE,
)


def asks_whether(call: ToolCall, said: str) -> bool:
    """Report whether the agent's words before a call, or its description, ask if something is there."""
    return bool(_WHETHER.search(call.purpose) or _WHETHER.search(last_sentence(said)))


def concludes_absence(said: str) -> bool:
    """Report whether the first sentences after a result take "not there" for the answer; giving up is no answer."""
    head = plain_sentences(said[:_NEAR_CHARS])[:2]
    return any(_ABSENT.search(sentence) and not _GAVE_UP.search(sentence) for sentence in head)


def gives_up(said: str, about: frozenset[str]) -> bool:
    """Report whether the agent says that it did not find something, in a sentence with one of these words."""
    said = said[: 4 * _NEAR_CHARS]
    if not _GAVE_UP.search(said):
        return False
    return any(_GAVE_UP.search(sentence) and _is_about(sentence, about) for sentence in plain_sentences(said))


def asks(said: str, about: frozenset[str]) -> bool:
    """Report whether the agent asks the user about one of these words."""
    said = said[-4 * _NEAR_CHARS :]
    questions = (sentence for sentence in plain_sentences(said) if "?" in sentence or "？" in sentence)
    return any(_is_about(question, about) for question in questions)


def is_question_tool(call: ToolCall) -> bool:
    """Report whether a call is to a tool by which an agent asks the user."""
    return call.name.replace("_", "").lower() in _ASKING_TOOLS


def last_sentence(said: str) -> str:
    """The sentence that announces a call: what comes before it is about something else."""
    return (plain_sentences(said[-_NEAR_CHARS:]) or [""])[-1]


def words_in(text: str) -> frozenset[str]:
    """The words of a text in the spelling of `Wanted.words`."""
    return frozenset(map(canonical, split_words(text)))


def _is_about(sentence: str, about: frozenset[str]) -> bool:
    return not about.isdisjoint(words_in(sentence))
