"""What users had to say in two sessions or more: the same request again, or the same rule in other words."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from knowbound.core.lesson import CheckKind, LessonEvidence, LessonKind, TreeCheck
from knowbound.lessons.material import Material, UserText
from knowbound.lessons.proposals.proposal import SEVERAL, Corpus, LessonProposal, code
from knowbound.text.sentences import plain_sentences
from knowbound.text.specific_words import all_terms

_AGAIN = 3  # sessions in which a request is no accident; a rule needs two
_UPDATES = re.compile(r"\b(?:update|add (?:it |this |that )?to|amend|adjust)\b[^.!?\n]{0,40}", re.IGNORECASE)
_RULE = re.compile(
    r"^(?:always|never|do not|don'?t|dont|please don'?t|no need to|make sure|stop \w+ing|use \w+ instead)\b",
    re.IGNORECASE,
)
_QUESTION = re.compile(
    r"\?\s*$|^(?:why|how|what|where|when|who|is|are|does|do you|did|was|were|which)\b", re.IGNORECASE
)
# What is said about the work at hand is no rule for the next session.
_OF_THE_MOMENT = re.compile(
    r"\b(?:yet|now|right now|for now|at the moment|today|this time|anymore|currently|just yet|first|"
    r"(?:this|that|these|those|the other|the first|the second) \w+)\b",
    re.IGNORECASE,
)
_WAIT = re.compile(
    r"\b(?:do not|don'?t)\s+(?:(?:make|do|implement|change|write|touch)\s+)?(?:any\s+|a\s+)?"
    r"(?:changes?|implement|anything|edits?|code|act)(?:\s+anything)?\s+(?:just\s+)?yet\b",
    re.IGNORECASE,
)
_FILLERS = re.compile(
    r"^(?:ok(?:ay)?|so|and|also|please|hey|hmm+|well|yes|yeah|no|sorry|great|then|now|but|actually|i think|i guess|"
    r"you (?:should|need to|must)|we (?:should|need to|must)|can you|could you|let'?s|i want you to)\b[,.!:]*\s+",
    re.IGNORECASE,
)
_LEAST_WORDS, _MOST_WORDS = 4, 30
_SHARED = 3  # stems that two sentences about the same have in common
_COMMIT = re.compile(r"\bcom+it", re.IGNORECASE)
_DOCUMENTS = (".md", ".rst", ".txt", ".json", ".toml", ".yaml", ".yml")


def corrections(corpus: Corpus) -> Iterator[LessonProposal]:
    """Lessons from what users said."""
    yield from _files_to_update(corpus)
    yield from _answer_first(corpus)
    yield from _rules(corpus)


def _answer_first(corpus: Corpus) -> Iterator[LessonProposal]:
    """Users who ask, and have to say again and again that nothing is to be changed yet."""
    seen = [(material, said) for material in corpus.materials for said in material.said if _WAIT.search(said.text)]
    if len({material.session for material, _ in seen}) < _AGAIN:
        return
    yield _proposal(
        "answer first",
        "When asked for ideas, a review or an explanation, answer, and change nothing until that is asked for.",
        seen,
        (),
        "",
        ("said:answer first",),
    )


def _files_to_update(corpus: Corpus) -> Iterator[LessonProposal]:
    """A file of the tree that users had to ask for: the changelog, the docs page."""
    tree = corpus.tree
    if tree is None:
        return
    tops = {
        path.partition(".")[0].lower(): path for path in tree.files if "/" not in path and path.endswith(_DOCUMENTS)
    }
    asked: dict[str, list[tuple[Material, UserText]]] = defaultdict(list)
    for material in corpus.materials:
        for said in material.said:
            for found in _UPDATES.findall(said.text):
                for word in re.findall(r"@?([A-Za-z][\w-]*)(?:\.\w+)?", found.partition(" ")[2]):
                    if word.lower() in tops and len(said.text) < 140:
                        asked[tops[word.lower()]].append((material, said))
    for path, seen in asked.items():
        if len({material.session for material, _ in seen}) < _AGAIN:
            continue
        commits = sum(bool(_COMMIT.search(said.text)) for _, said in seen)
        when = "before you commit a change that belongs in it" if 2 * commits >= len(seen) else "along with the change"
        yield _proposal(
            f"update {path}",
            f"Update {code(path)} {when}, without being asked: users had to say so.",
            seen,
            (TreeCheck(CheckKind.FILE, path),),
            path,
            (f"said:update {path}",),
        )


def _rules(corpus: Corpus) -> Iterator[LessonProposal]:
    """Sentences with a rule in them that two sessions have in common, in the words of the shorter one."""
    found: list[tuple[Material, UserText, str, frozenset[str]]] = []
    for material in corpus.materials:
        for said in (one for one in material.said if one.turn > 1):  # the first prompt is the task
            for sentence in plain_sentences(said.text):
                plain = sentence.strip()
                words = plain.split()
                if (
                    _RULE.search(_without_fillers(plain))
                    and _LEAST_WORDS <= len(words) <= _MOST_WORDS
                    and not _QUESTION.search(plain)
                    and not _OF_THE_MOMENT.search(plain)
                ):
                    found.append((material, said, plain, frozenset(all_terms(plain))))
    groups: list[list[tuple[Material, UserText, str, frozenset[str]]]] = []
    for one in found:
        for group in groups:
            if any(len(one[3] & other[3]) >= _SHARED for other in group):
                group.append(one)
                break
        else:
            groups.append([one])
    for group in groups:
        if len({material.session for material, *_ in group}) < SEVERAL:
            continue
        _, _, text, stems = min(group, key=lambda one: (len(one[2]), one[2]))
        key = " ".join(sorted(stems)[:4])
        yield _proposal(
            f"rule {key}",
            _as_instruction(text),
            [(material, said) for material, said, *_ in group],
            (),
            "",
            (f"said:rule {key}",),
        )


def _as_instruction(sentence: str) -> str:
    """The user's sentence without the words that only lead to it."""
    sentence = _without_fillers(sentence)
    return sentence[:1].upper() + sentence[1:].rstrip(" .!") + "."


def _without_fillers(sentence: str) -> str:
    while (shorter := _FILLERS.sub("", sentence)) != sentence:
        sentence = shorter
    return sentence


def _proposal(
    key: str,
    text: str,
    seen: list[tuple[Material, UserText]],
    checks: tuple[TreeCheck, ...],
    subject: str,
    names: tuple[str, ...],
) -> LessonProposal:
    return LessonProposal(
        LessonKind.CORRECTION,
        key,
        text,
        tuple(LessonEvidence(material.session, said.line, material.file) for material, said in seen),
        len(seen),
        names,
        checks,
        subject,
        unverified="that users want it so was said in sessions; no tree can show it",
    )
