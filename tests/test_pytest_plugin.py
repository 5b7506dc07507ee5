"""`pytest --knowbound`: samples are tests, gates end the session, in a real pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm_process

SAMPLES = """\
- sample_id: port
  prompt: On which port does the orders service listen?
  assertions: [{type: contains, value: "8080"}]
- sample_id: refund
  prompt: Who approves refunds?
- sample_id: wrong
  prompt: On which port does the orders service listen?
  assertions: [{type: contains, value: "9090"}]
"""


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "orders.md").write_text("# Orders\n\n## Port\n\nThe orders service listens on port 8080.\n", "utf-8")
    (tmp_path / "samples.yaml").write_text(SAMPLES, "utf-8")
    (tmp_path / "test_other.py").write_text("def test_other():\n    pass\n", "utf-8")
    return tmp_path


def run(base: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    others = ["cacheprovider", "hypothesispytest", "anyio"]  # a second to import, and nothing here is about them
    without = [word for name in others for word in ("-p", f"no:{name}")]
    return warm_process.run_pytest(*without, "-rA", *arguments, cwd=base)


def test_samples_are_tests_and_a_gate_ends_the_session(base: Path) -> None:
    found = run(base, "--knowbound", "samples.yaml", "--knowbound-max-gap-rate", "0.1")
    assert found.returncode == 1
    assert "PASSED samples.yaml::port" in found.stdout
    assert "FAILED samples.yaml::refund - failure: failed search" in found.stdout
    assert "FAILED samples.yaml::wrong - failure: contains 9090" in found.stdout
    assert "Test set: samples.yaml · 3 samples · sha256" in found.stdout
    assert "max-gap-rate 0.1: failed" in found.stdout
    assert "test_other" not in found.stdout


def test_a_failed_gate_fails_a_session_whose_tests_pass(base: Path) -> None:
    text = SAMPLES.split("- sample_id: refund", maxsplit=1)[0]
    (base / "samples.yaml").write_text(text, "utf-8")
    assert run(base, "--knowbound", "samples.yaml", "--knowbound-max-gap-rate", "0").returncode == 0
    (base / "orders.md").write_text("# Orders\n", "utf-8")
    (base / "samples.yaml").write_text(text.split("  assertions")[0], "utf-8")
    assert run(base, "--knowbound", "samples.yaml", "--knowbound-max-gap-rate", "0").returncode == 1


def test_a_part_is_a_test_set_of_its_own_without_gates(base: Path) -> None:
    found = run(base, "--knowbound", "samples.yaml", "-k", "port", "--knowbound-max-gap-rate", "0")
    assert found.returncode == 0
    assert "samples.yaml (1 of 3) · 1 samples" in found.stdout
    assert "no gate decides" in found.stdout


def test_named_tests_run_beside_the_samples(base: Path) -> None:
    found = run(base, "--knowbound", "samples.yaml", "test_other.py", "-k", "port or other")
    assert found.returncode == 0
    assert "2 passed" in found.stdout


def test_a_folder_of_samples_is_one_test_set(base: Path) -> None:
    (base / "set").mkdir()
    (base / "samples.yaml").rename(base / "set" / "orders.yaml")
    found = run(base, "--knowbound", "set", "-k", "port or wrong")
    assert "1 failed, 1 passed" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--knowbound", "nowhere.yaml"), "there is no such file or folder"),
        (("--knowbound", "samples.yaml", "-n", "2"), "leave -n out"),
        (("--knowbound", "samples.yaml", "--knowbound-max-gap-rate", "20"), "20 is not a fraction"),
        (("--knowbound", "orders.md"), "orders.md"),
        (("--knowbound", "samples.yaml", "--knowbound-executor", "oracle"), "unknown-executor"),
    ],
)
def test_wrong_use_is_an_error_that_says_what_to_do(base: Path, arguments: tuple[str, ...], said: str) -> None:
    found = run(base, *arguments)
    assert found.returncode != 0
    assert said in found.stdout + found.stderr
    assert "INTERNALERROR" not in found.stdout


def test_without_the_option_nothing_of_knowbound_is_loaded(base: Path) -> None:
    code = "import sys, pytest; pytest.main(['-q', 'test_other.py']); print(*sorted(sys.modules))"
    found = subprocess.run(
        [sys.executable, "-c", code], cwd=base, capture_output=True, text=True, check=True, timeout=120
    )
    ours = [name for name in found.stdout.split() if name.startswith("knowbound")]
    assert ours == ["knowbound", "knowbound.pytest_plugin"]
