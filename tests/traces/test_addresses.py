"""Traces and shared files at an address: read as from a folder, from memory and from a real S3 server."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from knowbound.config import load
from knowbound.errors import InputError
from knowbound.gaps.observe import observe
from knowbound.review.sharing import share
from knowbound.review.team import read_shares, write_share
from knowbound.traces.corpus import scan
from knowbound.traces.source import address_of
from tests.services import free_ports
from tests.transcripts import Transcript

fsspec = pytest.importorskip("fsspec", reason="the extra cluster is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    traces = tmp_path / "traces"
    for number in range(6):
        transcript = Transcript(f"{number:08d}-2222-4333-8444-555555555555", "/work/shop").user("Add a discount")
        transcript.grep("invoice_total").says("Done.").write(traces, f"{number}.jsonl")
    packed = traces / "packed" / "5.jsonl.gz"
    packed.parent.mkdir()
    packed.write_bytes(gzip.compress((traces / "5.jsonl").read_bytes()))
    (traces / "5.jsonl").unlink()
    (traces / "no-trace.txt").write_text("nothing")
    return traces


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """An empty bucket of a server on loopback."""
    server_module = pytest.importorskip("moto.server", reason="moto's server is not installed")
    s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
    port = free_ports(1)[0]
    server = server_module.ThreadedMotoServer(ip_address="127.0.0.1", port=port, verbose=False)
    server.start()
    try:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            monkeypatch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir(f"traces-{port}")  # buckets outlive a server in this process
        yield f"s3://traces-{port}"
    finally:
        s3fs.S3FileSystem.clear_instance_cache()
        server.stop()


def found_at(place: Path | str, tmp_path: Path, home: str) -> tuple[Any, ...]:
    report, signals = observe([Path(place)], replace(load(tmp_path), home=tmp_path / home))
    listed = [(one.session, one.query, one.status, one.line) for one in signals]
    return report.gap, report.totals, report.agents, listed, len(report.unrecognised)


def put(folder: Path, address: str) -> None:
    files = fsspec.url_to_fs(address)[0]
    for path in sorted(folder.rglob("*.*")):
        if path.is_file():
            files.pipe_file(f"{address}/{path.relative_to(folder)}", path.read_bytes())


def test_traces_in_memory_are_read_as_those_of_a_folder(folder: Path, tmp_path: Path) -> None:
    put(folder, "memory://traces")
    assert found_at("memory://traces", tmp_path, "one") == found_at(folder, tmp_path, "two")


def test_traces_of_a_bucket_are_read_as_those_of_a_folder(folder: Path, tmp_path: Path, bucket: str) -> None:
    put(folder, f"{bucket}/week")
    assert found_at(f"{bucket}/week", tmp_path, "one") == found_at(folder, tmp_path, "two")
    assert [one.path for one in scan([Path(f"{bucket}/week/1.jsonl")])[0]] == [f"{bucket}/week/1.jsonl"]


@pytest.mark.long
def test_workers_read_a_bucket_with_the_answer_of_one_process(folder: Path, tmp_path: Path, bucket: str) -> None:
    pytest.importorskip("distributed", reason="the extra cluster is not installed")
    put(folder, f"{bucket}/week")
    command = [str(Path(sys.executable).with_name("knowbound")), "observe", f"{bucket}/week", "--format", "json"]
    printed = []
    for home, options in (("one", []), ("two", ["--cluster", "local:2"])):
        environ = os.environ | {"KNOWBOUND_HOME": str(tmp_path / home)}
        ran = subprocess.run([*command, *options], capture_output=True, check=True, env=environ, cwd=tmp_path)
        printed.append({name: value for name, value in json.loads(ran.stdout).items() if name != "made"})
    assert printed[0] == printed[1]
    assert printed[0]["totals"]["sessions"] == 6


def test_a_bucket_holds_shared_files(folder: Path, tmp_path: Path, bucket: str) -> None:
    shared = share([folder], replace(load(tmp_path), home=tmp_path / "home"))
    write_share(shared, f"{bucket}/shares/one.json")
    assert list(read_shares([f"{bucket}/shares"])) == [shared]
    assert list(read_shares([f"{bucket}/shares/one.json"])) == [shared]


def test_an_address_that_is_not_there_is_an_error(bucket: str) -> None:
    with pytest.raises(InputError, match=f"Cannot read {bucket}/none"):
        scan([Path(f"{bucket}/none")])


@pytest.mark.parametrize(
    ("path", "address"),
    [
        ("s3://b/x", "s3://b/x"),
        ("s3:/b/x", "s3://b/x"),  # as pathlib writes it
        ("https://h/x", "https://h/x"),
        ("file:///tmp/x", "file:///tmp/x"),
        ("zip::s3://b/x", ""),
        ("simplecache::s3://b/x", ""),
        ("ssh://h/x", ""),
        ("/tmp/s3:/b", ""),
        ("s3", ""),
    ],
)
def test_which_paths_are_addresses(path: str, address: str) -> None:
    assert address_of(path) == address
    assert address_of(Path(path)) == address
