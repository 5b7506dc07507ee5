"""Each rule of specification 3's tables for FileSearch and FileContent, by its name, on a small tree."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.evidence import Evidence, EvidenceClass, Place, Quality, Strength
from knowbound.evidence.investigate import investigate
from knowbound.evidence.plan import read_plan
from knowbound.evidence.planner import Collected, corroborated, entries_that_count
from knowbound.evidence.producers.grep import Find, Grep
from knowbound.evidence.producers.passages import PassageSearch
from knowbound.evidence.producers.protocol import Ask, Context
from knowbound.evidence.producers.read import Read
from knowbound.evidence.producers.references import References
from tests.conftest import some_examples
from tests.evidence_trees import HANDBOOK, plant

Q, C = Quality, EvidenceClass
POOL = {
    "pool/pool.py": (
        "import redis\nfrom redis.exceptions import LockError\n\n\n"
        "class ConnectionPool:\n"
        '    """Keeps connections open for those who come next."""\n\n'
        "    def close_idle(self):\n"
        "        # Idle connections are closed when the pool is full.\n"
        "        for one in self.idle:\n            one.close()\n\n"
        "    def lend(self):\n"
        "        raise LockError\n"
    ),
    "pool/uses.py": "from pool.pool import ConnectionPool\n\n\ndef serve():\n    return ConnectionPool()\n",
    "pool/cipher.py": "def protect(payload):\n    # The cipher takes the payload of a message.\n    return payload\n",
    "tests/test_pool.py": "def test_it():\n    replay_the_journal_twice = 1\n",
    "docs/idle.md": "# Idle\n\nWe say idle a lot: idle, idle, idle.\n",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return plant(tmp_path, POOL)


def ask(question: str, cls: EvidenceClass = C.FILE_SEARCH, candidates: tuple[Place, ...] = ()) -> Ask:
    plan = read_plan(question)
    term = plan.terms[-1]  # before it there may be the file that the term has to be in
    return Ask(cls, term.text, plan.intent, question, term, candidates)


def found(tool: Grep | Find | References | PassageSearch, question: str, root: Path) -> Evidence:
    return tool.produce(ask(question), Context(root))


def levels(question: str, root: Path) -> set[tuple[str, Quality]]:
    return {(entry.tool, entry.quality) for entry in investigate(question, root).evidence}


# ---- FileSearch, grep


def test_filesearch_strong_exact_phrase(root: Path) -> None:
    entry = found(Grep(), "Where is the connection pool?", root)
    assert (entry.quality, entry.phrase_match) == (Q.STRONG, True)


def test_filesearch_strong_exact_identifier(root: Path) -> None:
    assert found(Grep(), "Where is ConnectionPool?", root).quality is Q.STRONG


def test_filesearch_strong_exact_plain_word(root: Path) -> None:
    assert found(Grep(), "Where is cipher?", root).quality is Q.STRONG


def test_filesearch_moderate_case_sensitive_substring_in_at_most_ten_places(root: Path) -> None:
    assert found(Grep(), "Find onnectionPoo", root).quality is Q.MODERATE
    assert found(Grep(), "Find ONNECTIONPOO", root).quality is Q.NONE


def test_filesearch_weak_substring_in_more_than_ten_places(root: Path) -> None:
    (root / "pool" / "many.py").write_text("".join(f"ConnectionPoolNumber{at} = 1\n" for at in range(12)))
    assert found(Grep(), "Find onnectionPoolNumbe", root).quality is Q.WEAK


def test_filesearch_weak_tokens_however_many(root: Path) -> None:
    (root / "pool" / "many.py").write_text("idle = 1\n" * 60)
    entry = found(Grep(), "Where is the idle journal?", root)
    assert (entry.quality, entry.strength, entry.phrase_match) == (Q.WEAK, Strength.HIGH, False)


@pytest.mark.parametrize(
    ("question", "note"),
    [("Where is the idle journal?", "only single words of it"), ("Where is Cipher?", "only parts of it")],
)
def test_filesearch_weak_says_what_was_found_of_the_term(question: str, note: str, root: Path) -> None:
    entry = found(Grep(), question, root)
    assert (entry.quality, entry.note) == (Q.WEAK, note)


def test_filesearch_none_where_the_file_it_should_be_in_is_not_there(root: Path) -> None:
    entry = found(Grep(), "How does lender.py rank the idle connections?", root)
    assert (entry.quality, entry.note) == (Q.NONE, "the file that it should be in is not there")


def test_filesearch_none_no_match(root: Path) -> None:
    assert found(Grep(), "Find qzx_17_missing", root).quality is Q.NONE


@pytest.mark.parametrize(("count", "strength"), [(1, "low"), (11, "medium"), (51, "high")])
def test_strength_is_set_by_counts_alone(count: int, strength: str, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("qzx_name = 1\n" * count)
    assert found(Grep(), "Where is qzx_name?", tmp_path).strength.value == strength


# ---- FileSearch, find


def test_find_strong_exact_filename(root: Path) -> None:
    assert found(Find(), "Open pool.py", root).quality is Q.STRONG


def test_find_moderate_partial_filename(root: Path) -> None:
    assert found(Find(), "Open ciph.py", root).quality is Q.MODERATE


def test_find_weak_token_match(root: Path) -> None:
    assert found(Find(), "Where is the idle journal?", root).quality is Q.WEAK


def test_find_none_no_match(root: Path) -> None:
    assert found(Find(), "Open nothing_like_this.py", root).quality is Q.NONE


def test_a_file_name_proves_nothing_about_content(root: Path) -> None:
    (root / "pool" / "retry_budget.py").write_text("x = 1\n")
    assert found(Find(), "Where is the retry budget?", root).quality is Q.MODERATE
    assert investigate("Where is the retry budget?", root).outcome == "insufficient_evidence"


# ---- FileSearch, references


@pytest.mark.parametrize(("uses", "quality"), [(6, Q.STRONG), (5, Q.MODERATE), (1, Q.MODERATE)])
def test_references_more_than_five_strong_some_moderate(uses: int, quality: Quality, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def qzx_name():\n    pass\n\n\n" + "qzx_name()\n" * uses)
    assert found(References(), "Who calls qzx_name?", tmp_path).quality is quality


def test_references_none_without_a_symbol(root: Path) -> None:
    assert found(References(), "Who calls qzx_name?", root).quality is Q.NONE


def test_a_definition_is_an_exact_symbol_match(root: Path) -> None:
    assert found(References(), "Where is ConnectionPool defined?", root).quality is Q.STRONG


def test_an_import_is_no_definition_and_says_where_the_name_comes_from(root: Path) -> None:
    entry = found(References(), "Where is LockError defined?", root)
    assert entry.quality is Q.MODERATE
    assert "redis.exceptions" in entry.note
    assert investigate("Where is LockError defined?", root).outcome == "insufficient_evidence"


def test_a_one_letter_correction_is_moderate_and_said(root: Path) -> None:
    entry = found(References(), "Where is ConectionPool defined?", root)
    assert (entry.quality, entry.read_as) == (Q.MODERATE, "ConnectionPool")


def test_the_note_of_a_correction_names_the_member_alone(root: Path) -> None:
    entry = found(References(), "Where is pool.ConectionPool defined?", root)
    assert "'ConectionPool' is not defined here; read as 'ConnectionPool'" in entry.note


def test_a_heading_defines_what_a_folder_of_knowledge_is_asked_for(tmp_path: Path) -> None:
    entry = found(References(), "Where is the onboarding section?", plant(tmp_path, HANDBOOK))
    assert (entry.quality, entry.places) == (Q.STRONG, (Place("people/onboarding.md", 1, "Onboarding"),))


# ---- FileSearch, passages


def test_description_strong_all_words_together_verbs_too(root: Path) -> None:
    entry = found(PassageSearch(), "Where are idle connections closed when the pool is full?", root)
    assert (entry.quality, entry.places[0].path) == (Q.STRONG, "pool/pool.py")


def test_description_weak_where_the_verb_is_absent(root: Path) -> None:
    assert (
        found(PassageSearch(), "Where are idle connections replicated when the pool is full?", root).quality is Q.WEAK
    )


def test_description_moderate_through_a_synonym(root: Path) -> None:
    entry = found(PassageSearch(), "Where is the payload of a message encrypted?", root)
    assert entry.quality is Q.MODERATE
    assert "encrypted" in entry.note


def test_description_moderate_only_in_a_test(root: Path) -> None:
    assert found(PassageSearch(), "Where do we replay the journal twice over?", root).quality.rank <= Q.MODERATE.rank


def test_description_moderate_far_apart_in_one_passage(tmp_path: Path) -> None:
    lines = ["def run():", "    lease = 1", *["    x = 1"] * 20, "    renew = 2", "    return x"]
    (tmp_path / "a.py").write_text("\n".join(lines))
    assert found(PassageSearch(), "Where does a lease get renewed?", tmp_path).quality is Q.MODERATE


# ---- FileContent


def test_filecontent_strong_read_the_best_candidate(root: Path) -> None:
    candidates = (Place("pool/pool.py", 5, "ConnectionPool"),)
    entry = Read().produce(ask("Where is ConnectionPool defined?", C.FILE_CONTENT, candidates), Context(root))
    assert entry.quality is Q.STRONG


def test_filecontent_moderate_read_a_ranked_candidate(root: Path) -> None:
    candidates = (Place("docs/idle.md", 1), Place("pool/pool.py", 5, "ConnectionPool"))
    entry = Read().produce(ask("Where is ConnectionPool?", C.FILE_CONTENT, candidates), Context(root))
    assert entry.quality is Q.MODERATE


def test_filecontent_weak_the_reader_disagrees(root: Path) -> None:
    candidates = (Place("pool/uses.py", 1, "ConnectionPool"),)
    entry = Read().produce(ask("Where is ConnectionPool defined?", C.FILE_CONTENT, candidates), Context(root))
    assert entry.quality is Q.WEAK  # an import is no definition


def test_filecontent_weak_where_the_predicate_is_not_there(root: Path) -> None:
    question = "Where are idle connections replicated when the pool is full?"
    candidates = (Place("pool/pool.py", 9, "close_idle"),)
    entry = Read().produce(ask(question, C.FILE_CONTENT, candidates), Context(root))
    assert entry.quality is Q.WEAK


def test_one_line_is_never_strong_in_two_classes(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("QZX_LIMIT = 5\n")
    answered = investigate("Where is QZX_LIMIT defined?", tmp_path)
    assert answered.outcome == "success"
    levels = {entry.cls: entry.quality for entry in answered.evidence if entry.quality.reaches(Q.MODERATE)}
    assert (levels[C.FILE_SEARCH], levels[C.FILE_CONTENT]) == (Q.STRONG, Q.MODERATE)


UNFIT = {
    "a string literal": ("app/run.py", 'def run():\n    print("the retry budget is spent")\n    return 1\n'),
    "a comment": ("app/run.py", "def run():\n    # the retry budget\n    return 1\n"),
    "a fixture": ("tests/fixtures/run.py", "def retry_budget():\n    x = 1\n    return x\n"),
    "help text": ("app/run.py", 'HELP = """\n  --x  the retry budget\n"""\nx = 1\n'),
    "a manual page": ("man/app.1", ".SH OPTIONS\nthe retry budget is enforced here\n"),
    "a transcript": ("demo/s1.jsonl", '{"text": "the retry budget is enforced"}\n'),
    "a log": ("var/app.log", "the retry budget is enforced\n"),
    "a page in a tree of code": ("docs/a.md", "# Budget\n\nThe retry budget is enforced, see the code.\n"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_the_reader_disagrees_with_a_line_that_cannot_answer(name: str, tmp_path: Path) -> None:
    path, text = UNFIT[name]
    more = {"app/a.py": "x = 1\n", "app/b.py": "y = 2\n"}
    root = plant(tmp_path, {**more, path: text})
    answered = investigate("Where is the retry budget implemented?", root)
    assert answered.outcome == "insufficient_evidence", answered.trail


@pytest.mark.parametrize(("asked_for", "outcome"), [("type", "insufficient_evidence"), ("method", "success")])
def test_a_method_is_no_type_of_its_name(asked_for: str, outcome: str, tmp_path: Path) -> None:
    plant(tmp_path, {"client.go": "package c\n\nfunc (c *Client) Balancer() *lib.Balancer {\n\treturn c.balancer\n}\n"})
    assert investigate(f"Where is the Balancer {asked_for} defined?", tmp_path).outcome == outcome


def test_a_page_calls_nothing(tmp_path: Path) -> None:
    files = {"docs/a.md": "# Use\n\nRun `qzx_name` first.\n", "app/a.py": "x = 1\n", "app/b.py": "y = 2\n"}
    assert investigate("Who calls qzx_name?", plant(tmp_path, files)).outcome == "insufficient_evidence"


# ---- Verified


def test_verified_search_and_read_agree_on_the_same_target(root: Path) -> None:
    assert ("planner", Q.VERIFIED) in levels("Where is ConnectionPool defined?", root)


def test_verified_grep_confirmed_by_a_read(root: Path) -> None:
    assert {("grep", Q.STRONG), ("read", Q.STRONG), ("planner", Q.VERIFIED)} <= levels(
        "Who calls ConnectionPool?", root
    )


def test_find_and_grep_on_the_same_file_are_strong_not_verified() -> None:
    collected = Collected()
    place = (Place("a.py", 1, "a"),)
    for tool in (Find(), Grep()):
        entry = Evidence(C.FILE_SEARCH, tool.name, "a", "a", Q.STRONG, Strength.LOW, place)
        collected.add(entry, tool)
    assert corroborated(collected) == []


_paths = st.sampled_from(["a.py", "b.py"])
_entries = st.builds(
    Evidence,
    cls=st.sampled_from([C.FILE_SEARCH, C.FILE_CONTENT]),
    tool=st.just("tool"),
    query=st.just(""),
    target=st.sampled_from(["x", "y"]),
    quality=st.sampled_from(list(Q)),
    strength=st.just(Strength.LOW),
    places=st.lists(st.builds(Place, path=_paths), max_size=2).map(tuple),
)


@given(st.lists(_entries, max_size=6))
def test_a_read_of_another_file_never_completes_a_search(entries: list[Evidence]) -> None:
    kept = entries_that_count(entries)
    for read in (entry for entry in kept if entry.cls is C.FILE_CONTENT and entry.places):
        searches = [entry for entry in entries if entry.cls is C.FILE_SEARCH and entry.target == read.target]
        best = max((entry.quality.rank for entry in searches), default=None)
        named = {path for entry in searches if entry.quality.rank == best for path in entry.sources}
        assert best is None or named & set(read.sources)


@some_examples(0.2)
@given(
    st.lists(st.sampled_from("idle connection closed pool full replicated mirrored".split()), min_size=2, unique=True)
)
def test_a_word_that_is_nowhere_is_never_answered(words: list[str]) -> None:
    root = plant(_folder(), POOL)
    answered = investigate(f"Where is the place where we {' '.join(words)}?", root)
    if {"replicated", "mirrored"} & set(words):
        assert answered.outcome == "insufficient_evidence"


def _folder() -> Path:
    folder = Path(tempfile.gettempdir()) / "knowbound-rules-of-file-search"
    folder.mkdir(exist_ok=True)
    return folder
