"""Walks stay below their root: links that lead out are not followed, and said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from knowbound import files
from knowbound.cli.main import knowbound
from knowbound.codebase.manifests import Inventory
from knowbound.config import Settings
from knowbound.errors import KnowboundError
from knowbound.evals.executors.model import FileTools
from knowbound.evals.knowledge import DOCUMENTS, folder_state
from knowbound.evals.variants import Copies, Variant
from knowbound.files import read_text, ripgrep
from knowbound.gaps.observe import observe
from tests.transcripts import Transcript

SECRET = "The vault code of the other project is kiwi-4711-lagoon."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project between things that are not its own."""
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "secret.md").write_text(f"# Secret\n\n{SECRET}\n")
    (tmp_path / "project" / "docs").mkdir(parents=True)
    (tmp_path / "project" / "docs" / "guide.md").write_text("# Guide\n\nThe ledger API binds to 8004.\n")
    return tmp_path / "project"


def run(root: Path, *words: str) -> Result:
    return CliRunner().invoke(knowbound, [*words, "--root", str(root)])


def said(result: Result) -> str:
    return result.output + str(result.exception or "")


def everything_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


# The rule itself


def test_a_walk_gives_files_and_inner_links_and_names_those_that_lead_out(root: Path) -> None:
    (root / "inner.md").symlink_to("docs/guide.md")
    (root / "loop").symlink_to("loop")
    (root / "self").symlink_to(".")
    (root / "docs" / "up").symlink_to("../..")
    (root / "out.md").symlink_to("../other/secret.md")
    (root / "folder").symlink_to(root.parent / "other")
    walk = files.Walk(root)
    assert sorted(os.path.relpath(entry.path, root) for entry in walk) == ["docs/guide.md", "inner.md"]
    assert sorted(os.path.relpath(link, root) for link in walk.outside) == ["docs/up", "folder", "out.md"]


def test_a_root_that_is_a_link_is_walked(root: Path) -> None:
    link = root.parent / "link"
    link.symlink_to(root)
    assert [entry.name for entry in files.Walk(link)] == ["guide.md"]
    with files.open_below(link, "docs/guide.md") as file:
        assert file.read().startswith(b"# Guide")


def test_the_sentence_counts_all_and_names_the_first(root: Path) -> None:
    links = [str(root / f"{number}.md") for number in range(5)]
    assert files.links_not_followed(links, root) == (
        f"5 links lead out of {root} and are not followed: 0.md, 1.md, 2.md and 2 more"
    )


@pytest.mark.parametrize("path", ["out.md", "folder/secret.md", "../other/secret.md", "docs", "loop", "pipe", "."])
def test_what_is_no_file_below_the_root_is_not_opened(root: Path, path: str) -> None:
    (root / "out.md").symlink_to("../other/secret.md")
    (root / "folder").symlink_to("../other")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    with pytest.raises(files.NotBelowError):
        files.open_below(root, path)


def _swapped(monkeypatch: pytest.MonkeyPatch, change: Callable[[], None]) -> None:
    """Something is put into the tree right after a check of a real path, and after each step of opening a file."""
    real_path, real_open = os.path.realpath, os.open

    def checked(path: str | Path) -> str:
        found = real_path(path)
        change()
        return found

    def opened(*given: Any, **more: Any) -> int:
        descriptor = real_open(*given, **more)
        change()
        return descriptor

    monkeypatch.setattr("os.path.realpath", checked)
    monkeypatch.setattr("os.open", opened)


READERS: dict[str, Callable[[Path], object]] = {
    "read_text": lambda root: read_text(root, "docs/guide.md", 1000),
    "inventory": lambda root: Inventory(root, ()).read("docs/guide.md", 1000),
    "the model's tool": lambda root: FileTools(root).read({"file_path": "docs/guide.md"}),
}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_link_that_comes_between_the_check_and_the_opening_is_not_followed(
    root: Path, monkeypatch: pytest.MonkeyPatch, reader: str, what: str
) -> None:
    (root.parent / "other" / "guide.md").write_text(SECRET)
    guide = root / "docs" / "guide.md"

    def change() -> None:
        if what == "file" and not guide.is_symlink():
            guide.unlink()
            guide.symlink_to(root.parent / "other" / "guide.md")
        if what == "folder" and not (root / "docs").is_symlink():
            (root / "docs").rename(root.parent / "away")
            (root / "docs").symlink_to(root.parent / "other")

    _swapped(monkeypatch, change)
    assert SECRET not in str(READERS[reader](root))


# kms import


def test_an_import_of_a_folder_leaves_links_out_of_the_root_and_says_so(root: Path) -> None:
    (root / "docs" / "out.md").symlink_to(root.parent / "other" / "secret.md")
    (root / "docs" / "others").symlink_to(root.parent / "other")
    (root / "docs" / "inner.md").symlink_to(root / "NOTES.md")
    (root / "NOTES.md").write_text("# Notes\n\nThe pager calls the head of platform.\n")
    result = run(root, "kms", "import", str(root / "docs"))
    assert result.exit_code == 0, said(result)
    assert "2 added" in result.output
    assert "2 left out" in result.output
    assert f"{root}/docs/out.md: a link that leads out of the root is not followed" in result.output
    assert f"{root}/docs/others: a link" in result.output
    assert SECRET.encode() not in everything_in(root / ".knowbound")


def test_an_import_of_a_file_that_leads_out_is_refused(root: Path) -> None:
    (root / "CLAUDE.md").symlink_to(root.parent / "other" / "secret.md")
    result = run(root, "kms", "import", str(root / "CLAUDE.md"))
    assert result.exit_code != 0
    assert f"leads out of {root}, to {root.parent}/other/secret.md" in said(result)
    assert SECRET.encode() not in everything_in(root / ".knowbound")


def test_a_file_of_another_place_that_was_named_is_imported(root: Path) -> None:
    (root.parent / "link.md").symlink_to(root.parent / "other" / "secret.md")
    assert "1 added" in run(root, "kms", "import", str(root.parent / "link.md")).output


def test_records_of_an_import_that_name_files_do_not_read_them(root: Path) -> None:
    (root / "list.json").write_text(json.dumps([{"content": "See the vault.", "source": str(root.parent / "other")}]))
    (root / "list.jsonl").write_text(json.dumps({"file": str(root.parent / "other" / "secret.md"), "text": "A."}))
    for name in ("list.json", "list.jsonl"):
        assert "1 added" in run(root, "kms", "import", str(root / name)).output
    assert SECRET.encode() not in everything_in(root)


def test_an_item_cannot_be_anchored_to_a_file_outside(root: Path) -> None:
    (root / "out.md").symlink_to(root.parent / "other" / "secret.md")
    result = run(root, "kms", "add", "The code is known.", "--anchor", "out.md")
    assert "No file 'out.md'" in said(result)


# observe


def test_traces_that_are_links_out_of_the_folder_are_not_read(root: Path) -> None:
    Transcript("s-mine").user("go").says("Done.").write(root / "traces")
    Transcript("s-other").user(SECRET).says("Done.").write(root.parent / "other")
    (root / "traces" / "linked.jsonl").symlink_to(root.parent / "other" / "s-other.jsonl")
    (root / "traces" / "folder").symlink_to(root.parent / "other")
    settings = Settings(root=root, home=root / ".knowbound", jobs=1)
    report, _ = observe([root / "traces"], settings)
    assert report.totals.sessions == 1
    [warning] = [one for one in report.warnings if "not followed" in one]
    assert warning.startswith(f"2 links lead out of {root}/traces and are not followed: ")
    assert SECRET.encode() not in everything_in(root / ".knowbound")


def test_a_trace_folder_with_links_out_alone_says_why_there_is_nothing(root: Path) -> None:
    Transcript("s-other").user(SECRET).says("Done.").write(root.parent / "other")
    (root / "traces").mkdir()
    (root / "traces" / "linked.jsonl").symlink_to(root.parent / "other" / "s-other.jsonl")
    with pytest.raises(KnowboundError, match="1 link leads out of"):
        observe([root / "traces"], Settings(root=root, home=root / ".knowbound", jobs=1))


def test_a_trace_that_is_named_or_linked_inside_is_read_once(root: Path) -> None:
    Transcript("s-mine").user("go").says("Done.").write(root / "traces")
    (root / "traces" / "again.jsonl").symlink_to("s-mine.jsonl")
    (root / "named.jsonl").symlink_to("traces/s-mine.jsonl")
    settings = Settings(root=root, home=root / ".knowbound", jobs=1)
    for place in ("traces", "named.jsonl"):
        report, _ = observe([root / place], settings)
        assert (report.totals.sessions, report.totals.files, report.totals.duplicates) == (1, 1, 0)


# eval


def test_a_commit_with_links_out_is_laid_out_without_them(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(root.parent))
    (root / "docs" / "out.md").symlink_to(root.parent / "other" / "secret.md")
    (root / "docs" / "others").symlink_to("../../other")
    (root / "docs" / "inner.md").symlink_to("guide.md")
    who = ["-c", "user.name=t", "-c", "user.email=t@t"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "links"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    copies = Copies(root.parent / "home" / "evals" / "1", root.parent / "home", DOCUMENTS)
    for version in copies.versions(root, (Variant("a", "HEAD"), Variant("b")), ()):
        names = {path.name for path in (version.folder / "docs").iterdir()}
        assert names == {"guide.md", "inner.md"}
        assert (version.folder / "docs" / "inner.md").read_text().startswith("# Guide")


def test_the_state_of_a_folder_does_not_depend_on_what_links_lead_to(root: Path) -> None:
    (root / "out.md").symlink_to(root.parent / "other" / "secret.md")
    before = folder_state(root, DOCUMENTS)
    (root.parent / "other" / "secret.md").write_text("changed")
    assert folder_state(root, DOCUMENTS) == before


def _evaluated(root: Path, *more: str, **sample: str) -> dict[str, Any]:
    one = {"sample_id": "s1", "prompt": "On which port does the ledger API listen?", **sample}
    (root / "eval-samples.json").write_text(json.dumps([one]))
    result = run(root, "eval", "--format", "json", *more)
    document: dict[str, Any] = json.loads(result.stdout)
    return document


@pytest.mark.parametrize("cwd", ["../other", "{other}", "way-out"])
def test_a_sample_cannot_send_an_agent_out_of_the_knowledge_base(root: Path, cwd: str) -> None:
    (root / "way-out").symlink_to(root.parent / "other")
    document = _evaluated(root, cwd=cwd.format(other=root.parent / "other"))
    [found] = document["runs"]
    assert found["ending"] == "crashed"
    assert "outside of the knowledge base" in found["problem"]
    assert SECRET.encode() not in everything_in(root / ".knowbound")


def test_knowledge_that_is_a_link_out_is_said(root: Path) -> None:
    (root / "docs" / "out.md").symlink_to(root.parent / "other" / "secret.md")
    document = _evaluated(root)
    assert f"1 link leads out of {root} and is not followed: docs/out.md." in document["warnings"]
    assert "docs/out.md" not in document["knowledge"]["files"]


@pytest.mark.parametrize("name", ["eval-samples.json", ".omk", ".omk/samples.json"])
def test_samples_that_are_a_link_out_are_refused(root: Path, name: str) -> None:
    secret = root.parent / "other" / "samples.json"
    secret.write_text(json.dumps([{"sample_id": "s1", "prompt": SECRET}]))
    (root / name).parent.mkdir(exist_ok=True)
    (root / name).symlink_to(secret.parent if name == ".omk" else secret)
    result = run(root, "eval")
    assert result.exit_code != 0
    assert "is a link that leads out of" in said(result)
    assert SECRET not in said(result)


def test_samples_that_are_a_link_inside_are_read(root: Path) -> None:
    (root / "tests").mkdir()
    (root / "tests" / "set.json").write_text(json.dumps([{"sample_id": "s1", "prompt": "Where?"}]))
    (root / ".omk").mkdir()
    (root / ".omk" / "samples.json").symlink_to("../tests/set.json")
    result = run(root, "eval", "--validate")
    assert result.exit_code == 0, said(result)


# investigate, install


def test_an_answer_that_is_missing_says_which_links_were_not_followed(root: Path) -> None:
    (root / "docs" / "out\x1b[2J.md").symlink_to(root.parent / "other" / "secret.md")
    document = json.loads(run(root, "investigate", "Where is the vault code?", "--format", "json").stdout)
    assert document["outcome"] == "insufficient_evidence"
    assert f"1 link leads out of {root} and is not followed: docs/out?[2J.md." in document["notes"]
    assert SECRET not in str(document)


@pytest.mark.parametrize(("agent", "name"), [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")])
def test_a_project_cannot_have_the_installation_write_elsewhere(root: Path, agent: str, name: str) -> None:
    theirs = root.parent / "other" / "settings.json"
    theirs.write_text("{}")
    (root / name).parent.mkdir()
    (root / name).symlink_to(theirs)
    result = run(root, "install", agent, "--scope", "project", "--yes")
    assert "leads out of the project" in said(result)
    assert theirs.read_text() == "{}"


def test_the_users_own_ripgrep_comes_first_and_never_one_of_the_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, tree = tmp_path / "bin", tmp_path / "tree"
    for folder in (own, tree):
        folder.mkdir()
        (folder / "rg").write_text("#!/bin/sh\n")
        (folder / "rg").chmod(0o755)
    ripgrep.cache_clear()
    monkeypatch.setenv("PATH", os.pathsep.join(map(str, (tree, own))))
    assert ripgrep(tree) == str(own / "rg")
    ripgrep.cache_clear()
    monkeypatch.setenv("PATH", str(tree))
    assert ripgrep(tree) == str(Path(sys.executable).parent / "rg")
    ripgrep.cache_clear()
