"""The package in `examples/` is built, put beside knowbound, and each of its parts is used by a verb."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

import msgspec
import pytest

from tests.transcripts import Transcript

PACKAGE = Path(__file__).parents[1] / "examples" / "knowbound-extras"
Verb = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built package, to be put on the path."""
    folder = tmp_path_factory.mktemp("extras")
    built = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(built, cwd=PACKAGE, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        wheel.extractall(folder / "site")
    return folder / "site"


@pytest.fixture
def knowbound(installed: Path, tmp_path: Path) -> Verb:
    """Run a verb in a project of its own with the package installed."""

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {"PYTHONPATH": str(installed)} | more
        command = [str(Path(sys.executable).with_name("knowbound")), *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
        )

    return run


def journal(folder: Path) -> Path:
    path = folder / "day.journal"
    path.write_text(
        "# journal\nuser: where is the schema?\nran grep -r revenue_schema .: \n"
        "agent: I could not find the schema; it is probably elsewhere.\n",
        "utf-8",
    )
    return path


def test_a_reader_of_another_package_reads_its_format(knowbound: Verb, tmp_path: Path) -> None:
    found = knowbound("observe", str(journal(tmp_path)), "--format", "json")
    assert found.returncode == 0, found.stderr
    report = msgspec.json.decode(found.stdout)
    assert report["totals"]["tool_calls"] == 1
    assert report["gap"]["by_type"]["failed_search"] == 1


def test_files_that_no_reader_knew_are_looked_at_again_for_a_new_one(knowbound: Verb, tmp_path: Path) -> None:
    (tmp_path / "traces").mkdir()
    path = str(journal(tmp_path / "traces"))
    assert "No sessions found" in knowbound("observe", path, PYTHONPATH="").stderr
    Transcript("known").user("Where is it?").says("Here.").write(tmp_path / "traces")
    before = knowbound("observe", "traces", "--format", "json", PYTHONPATH="")
    assert msgspec.json.decode(before.stdout)["agents"] == {"claude-code": 1}
    for arguments in ((path,), ("traces",)):
        found = knowbound("observe", *arguments, "--format", "json")
        assert msgspec.json.decode(found.stdout)["agents"]["journal"] == 1, found.stderr


def test_a_format_of_another_package_renders_a_report(knowbound: Verb, tmp_path: Path) -> None:
    found = knowbound("observe", str(journal(tmp_path)), "--verbose", "--format", "csv")
    assert found.returncode == 0, found.stderr
    assert found.stdout.startswith("By source,source,signals,,meaning\n,failed search,1,1.000,")
    assert knowbound("observe", str(journal(tmp_path)), "--format", "cvs").returncode == 2
    audited = knowbound("audit", str(journal(tmp_path)), "--format", "csv")
    assert (audited.returncode, audited.stderr) == (0, "")


def test_an_executor_of_another_package_runs_samples(knowbound: Verb, tmp_path: Path) -> None:
    (tmp_path / "answers.toml").write_text('[answers]\n"Which port?" = "8080"\n', "utf-8")
    samples = '[{"sample_id": "port", "prompt": "Which port?", "assertions": [{"type": "contains", "value": "8080"}]}]'
    (tmp_path / "eval-samples.json").write_text(samples, "utf-8")
    found = knowbound("eval", "--executor", "faq:answers.toml", "--format", "json")
    run = msgspec.json.decode(found.stdout)["runs"][0]
    assert (run["answer"], run["ending"]) == ("8080", "done")
    assert run["grade"]["assertions"][0]["passed"] is True
    missing = knowbound("eval", "--executor", "faq:nowhere.toml")
    assert missing.returncode == 2
    assert "nowhere.toml" in missing.stderr


def test_a_judge_of_another_package_is_asked_through_its_folder(knowbound: Verb, tmp_path: Path) -> None:
    spool = tmp_path / "questions"
    spool.mkdir()
    (tmp_path / "traces").mkdir()
    journal(tmp_path / "traces")

    ended = Event()

    def answer() -> None:
        while not ended.wait(0.05):
            for asked in spool.glob("*.question"):
                asked.with_suffix(".answer").write_text('{"verdicts": []}', "utf-8")

    answering = Thread(target=answer)
    answering.start()
    found = knowbound("observe", "traces", "--model", f"spool:{spool}", KNOWBOUND_MODEL_CROSS_PROVIDER="true")
    ended.set()
    answering.join()
    assert found.returncode == 0, found.stderr
    asked = next(spool.glob("*.question")).read_text("utf-8")
    assert "could not find the schema" in asked


def test_a_backend_of_another_package_serves_items(knowbound: Verb, tmp_path: Path) -> None:
    (tmp_path / "glossary.toml").write_text('[terms]\nSKU = "the number of an article in the warehouse"\n', "utf-8")
    chosen = {"KNOWBOUND_KMS_BACKENDS": "glossary"}
    found = knowbound("kms", "search", "number", "article", "warehouse", "--format", "json", **chosen)
    assert found.returncode == 0, found.stderr
    assert [one["id"] for one in msgspec.json.decode(found.stdout)["results"]] == ["glossary:SKU"]
    refused = knowbound("kms", "update", "glossary:SKU", "--content", "SKU: a shelf", **chosen)
    assert refused.returncode == 2
    assert "Terms are changed in glossary.toml." in refused.stderr


def test_a_part_that_cannot_be_loaded_names_its_package(knowbound: Verb, installed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "site" / "broken-1.0.dist-info"
    broken.mkdir(parents=True)
    (broken / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n", "utf-8")
    (broken / "entry_points.txt").write_text("[knowbound.executors]\nlost = nowhere:run\n", "utf-8")
    (tmp_path / "eval-samples.json").write_text('[{"sample_id": "a", "prompt": "b"}]', "utf-8")
    found = knowbound("eval", "--executor", "lost", PYTHONPATH=str(tmp_path / "site"))
    assert found.returncode == 2
    assert "package broken cannot be loaded" in found.stderr
    assert "plugin-broken" in found.stderr
