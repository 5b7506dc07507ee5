"""A release: what belongs together, the bill of materials, and the recipe's files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from tools.plugin import ROOT
from tools.release import check_source, pins, sbom

from knowbound import __version__

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def test_version_manifests_and_lock_belong_together() -> None:
    check_source()


def test_the_bill_of_materials_names_every_locked_package_with_its_hashes(tmp_path: Path) -> None:
    wheel = tmp_path / "knowbound.whl"
    wheel.write_bytes(b"wheel")
    found = sbom(wheel)
    locked = list(pins((ROOT / "plugin" / "requirements.lock").read_text("utf-8")))
    components = found["components"]
    assert isinstance(components, list)
    assert [one["purl"] for one in components] == [f"pkg:pypi/{name}@{version}" for name, version, _, _ in locked]
    assert all(len(hashes) > 0 for *_, hashes in locked)
    assert all(one["licenses"] for one in components)
    assert sbom(wheel) == found


def test_the_base_installation_stays_small() -> None:
    assert len(list(pins((ROOT / "plugin" / "requirements.lock").read_text("utf-8")))) <= 15


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_is_well_formed_and_takes_no_text_of_others_into_a_shell(path: Path) -> None:
    found = yaml.safe_load(path.read_text("utf-8"))
    steps = [step for job in found["jobs"].values() for step in job["steps"]]
    assert all("uses" in step or "run" in step for step in steps)
    assert [step["run"] for step in steps if "${{" in step.get("run", "")] == []
    targets = {target for step in steps for target in re.findall(r"^make ([a-z-]+)$", step.get("run", ""), re.M)}
    known = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M))
    assert targets <= known


def test_notice_names_what_was_not_written_here() -> None:
    text = (ROOT / "NOTICE").read_text("utf-8")
    for part in ("all-MiniLM-L6-v2", "Recordings", "Labelled sets", "Recorded answers", "background.txt"):
        assert part in text


def test_the_security_page_has_a_contact_and_the_supported_version() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    assert "security advisory" in text
    assert f"now {__version__.rpartition('.')[0]}" in text
