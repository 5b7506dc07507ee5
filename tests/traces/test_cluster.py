"""Reading with a Dask cluster: real schedulers and workers, the same answer as one process, and what is refused."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import knowbound
from knowbound.cli.main import knowbound as knowbound_verbs
from knowbound.config import Settings, load
from knowbound.errors import ConfigError, InputError
from knowbound.gaps.observe import observe
from knowbound.report.formats.json import json_text
from knowbound.report.observe import render_observe
from knowbound.traces import cluster
from tests.services import Process, free_ports, running
from tests.transcripts import Transcript

distributed = pytest.importorskip("distributed", reason="the extra cluster is not installed")
SESSIONS = 40


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    for number in range(SESSIONS):
        transcript = Transcript(f"{number:08d}-2222-4333-8444-555555555555", "/work/shop").user("Add a discount")
        transcript.grep(f"thing_{number % 7}").read("/work/shop/src/cart.ts").says("I am not sure. All tests pass.")
        path = transcript.write(folder, f"{number}.jsonl")
        if number % 10 == 0:
            path.with_suffix(".jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    (folder / "broken.jsonl").write_text(Transcript("broken").user("x").text() + '{"type": "assist\n\0\n')
    (folder / "cut.jsonl.gz").write_bytes(gzip.compress((folder / "1.jsonl").read_bytes())[:-20])
    return folder


def report(traces: Path, settings: Settings, progress: Any = None) -> str:
    """The whole report as JSON, without the time at which it was made."""
    found, signals = observe([traces], settings, progress=progress)
    listed = [json.loads(json_text(one)) for one in signals]
    return render_observe(found, "json", width=100, colour=False).replace(found.made, "") + json_text(listed)


def settings_of(tmp_path: Path, name: str, **changed: Any) -> Settings:
    return replace(load(tmp_path), home=tmp_path / name, **changed)


class Cluster:
    """A scheduler and workers, in processes of their own."""

    def __init__(self, folder: Path, stack: ExitStack, *options: str, protocol: str = "tcp") -> None:
        self.address = f"{protocol}://127.0.0.1:{free_ports(1)[0]}"
        self._folder, self._stack, self._options = folder, stack, options
        self.scheduler = self._start("scheduler", "--host", self.address, "--no-dashboard", "--no-show")

    def worker(self, environ: dict[str, str] | None = None) -> Process:
        """One more worker with one thread."""
        with pytest.MonkeyPatch.context() as patch:
            for name, value in (environ or {}).items():
                patch.setenv(name, value)
            return self._start("worker", self.address, "--nthreads", "1", "--no-nanny", "--no-dashboard")

    def _start(self, kind: str, *arguments: str) -> Process:
        self._folder.mkdir(exist_ok=True)
        command = [sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments, *self._options]
        return self._stack.enter_context(running(command, self._folder))


@pytest.fixture
def started(tmp_path: Path) -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def joined(address: str, workers: int, **security: Any) -> None:
    with distributed.Client(address, timeout=60, **security) as client:
        client.wait_for_workers(workers, timeout=60)


# The same answer


@pytest.mark.long
def test_observe_audit_and_review_are_the_same_with_local_workers(traces: Path, tmp_path: Path) -> None:
    for verb in ("observe", "audit", "review"):
        printed = []
        for home, options in (("one", []), ("two", ["--cluster", "local:2"])):
            command = [
                str(Path(sys.executable).with_name("knowbound")),
                verb,
                str(traces),
                "--format",
                "json",
                *options,
            ]
            environ = os.environ | {"KNOWBOUND_HOME": str(tmp_path / home / verb)}
            ran = subprocess.run(command, capture_output=True, text=True, check=True, env=environ, cwd=tmp_path)
            found = json.loads(ran.stdout)
            found.pop("made", None)
            printed.append(json.dumps(found))
        assert printed[0] == printed[1], verb


@pytest.mark.long
def test_a_killed_and_a_slow_worker_change_nothing(
    traces: Path, tmp_path: Path, started: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_PART_SESSIONS", 1)
    running_cluster = Cluster(tmp_path / "cluster", started)
    workers = [running_cluster.worker() for _ in range(3)]
    joined(running_cluster.address, 3)
    done: list[int] = []

    def progress(_read: int, _all: int) -> None:
        if not done:
            os.kill(workers[0].popen.pid, signal.SIGKILL)
            os.kill(workers[1].popen.pid, signal.SIGSTOP)
            threading.Timer(3.0, os.kill, (workers[1].popen.pid, signal.SIGCONT)).start()
        done.append(1)

    expected = report(traces, settings_of(tmp_path, "one"))
    found = report(traces, settings_of(tmp_path, "two", cluster_address=running_cluster.address), progress)
    assert found == expected
    assert len(done) == SESSIONS + 1  # the cut file is a copy of a session
    assert workers[0].popen.wait() == -signal.SIGKILL


COUNTING_JUDGE = """
import json, os, re, sys
asked = sys.stdin.read()
with open({log!r}, "a") as file:
    file.write(f"{{os.getppid()}}\\n")
ids = re.findall(r'"id": ?"([^"]+)"', asked.rpartition("<<<entries")[2])
print(json.dumps({{"items": [
    {{"id": one, "isUncertainty": True, "confidence": 0.9, "reason": "said so"}} for one in ids
]}}))
"""


@pytest.mark.long
@pytest.mark.parametrize("cap", [0, 3])
def test_questions_for_a_model_are_asked_by_the_one_process_that_began_within_one_budget(
    tmp_path: Path, cap: int
) -> None:
    folder, log, program = tmp_path / "traces", tmp_path / "calls", tmp_path / "judge.py"
    for number in range(40):
        says = f"I am not sure which service owns the table t{number}."
        Transcript(f"{number:08d}-2222-4333-8444-555555555555").user("go").says(says).write(folder, f"{number}.jsonl")
    program.write_text(COUNTING_JUDGE.format(log=str(log)))
    judge = {
        "model_tasks_hedges": f"command:{sys.executable} {program}",
        "model_cross_provider": True,
        "hedging_classifier_max_candidates": cap,
    }
    expected = report(folder, settings_of(tmp_path, "one", **judge))
    asked = len(log.read_text().splitlines())
    log.unlink()
    assert report(folder, settings_of(tmp_path, "two", **judge, cluster_address="local:2")) == expected
    callers = log.read_text().splitlines()
    assert len(callers) == asked > 0
    judging = json.loads(expected[: expected.rindex("\n[")])["judging"]
    assert (judging["judged"], judging["unjudged"], judging["failed"]) == (cap or 40, 40 - (cap or 40), 0), judging
    assert set(callers) == {str(os.getpid())}


# What is refused


@pytest.mark.long
def test_a_worker_of_another_version_is_refused_with_a_sentence(
    traces: Path, tmp_path: Path, started: ExitStack
) -> None:
    other = tmp_path / "other"
    shutil.copytree(Path(knowbound.__file__).parent, other / "knowbound")
    with (other / "knowbound" / "gaps" / "lens.py").open("a") as file:
        file.write("# another version\n")
    running_cluster = Cluster(tmp_path / "cluster", started)
    running_cluster.worker({"PYTHONPATH": str(other)})
    joined(running_cluster.address, 1)
    with pytest.raises(InputError, match="Install the same version there"):
        report(traces, settings_of(tmp_path, "two", cluster_address=running_cluster.address))


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("tcp://10.0.0.1:8786", "begins with tls"),
        ("10.0.0.1:8786", "begins with tls"),
        ("tcp://localhost.example.com:8786", "begins with tls"),
        ("local:0", "begins with tls"),
        ("inproc://x", "begins with tls"),
        ("tls://10.0.0.1:8786", "needs certificates"),
    ],
)
def test_addresses_beyond_this_machine_need_certificates(address: str, why: str, tmp_path: Path, traces: Path) -> None:
    with pytest.raises(ConfigError, match=why):
        report(traces, settings_of(tmp_path, "two", cluster_address=address))


@pytest.mark.parametrize("verb", ["observe", "audit", "review"])
def test_an_unsafe_address_is_refused_also_where_nothing_is_left_to_read(
    verb: str, tmp_path: Path, traces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = [verb, str(traces), "--format", "json"]
    assert CliRunner().invoke(knowbound_verbs, asked).exit_code == 0
    refused = CliRunner().invoke(knowbound_verbs, [*asked, "--cluster", "tcp://10.0.0.1:8786"])
    assert isinstance(refused.exception, ConfigError)
    assert refused.exception.slug == "cluster-insecure"


def test_a_certificate_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ca\.pem cannot be read"):
        cluster.check_address("tls://10.0.0.1:8786", settings_of(tmp_path, "two", cluster_certificates=str(tmp_path)))


@pytest.mark.long
def test_with_certificates_a_cluster_answers_and_others_do_not_reach_it(
    traces: Path, tmp_path: Path, started: ExitStack
) -> None:
    ours, theirs = distributed.Security.temporary(), distributed.Security.temporary()
    for name, security in (("ours", ours), ("theirs", theirs)):
        files = {"ca": security.tls_ca_file, "cert": security.tls_client_cert, "key": security.tls_client_key}
        (tmp_path / name).mkdir()
        for kind, text in files.items():
            (tmp_path / name / f"{kind}.pem").write_text(text)
    kinds = {"--tls-ca-file": "ca", "--tls-cert": "cert", "--tls-key": "key"}
    options = [word for flag, kind in kinds.items() for word in (flag, str(tmp_path / "ours" / f"{kind}.pem"))]
    running_cluster = Cluster(tmp_path / "cluster", started, *options, protocol="tls")
    running_cluster.worker()
    joined(running_cluster.address, 1, security=ours)

    def settings(name: str, home: str) -> Settings:
        folder = str(tmp_path / name)
        return settings_of(tmp_path, home, cluster_address=running_cluster.address, cluster_certificates=folder)

    assert report(traces, settings("ours", "two")) == report(traces, settings_of(tmp_path, "one"))
    with pytest.raises(InputError, match="does not answer"):
        report(traces, settings("theirs", "three"))


def test_a_project_names_a_cluster_only_after_trust(tmp_path: Path) -> None:
    (tmp_path / "knowbound.toml").write_text('[cluster]\naddress = "local:2"\n')
    with pytest.raises(ConfigError, match=r"cluster\.address names an address"):
        load(tmp_path)


def test_a_worker_that_does_not_see_the_files_refuses(tmp_path: Path) -> None:
    missing = str(tmp_path / "none.jsonl")
    with pytest.raises(cluster.RefusedWorkerError, match=r"does not see .*none\.jsonl"):
        cluster.read_part(lambda one, _: one, [1], [missing], load(tmp_path), cluster.code_version())


def test_settings_reach_workers_without_passwords_and_addresses(tmp_path: Path) -> None:
    given = settings_of(tmp_path, "one", kms_mongo_url="mongodb://u:hidden@h/db", kms_neo4j_password="hidden")
    sent = cluster._without_secrets(replace(given, cluster_address="local:1"))
    assert "hidden" not in repr(sent)
    assert (sent.cluster_address, sent.knowledge, sent.root) == ("", given.knowledge, given.root)


def test_nothing_of_a_cluster_is_imported_without_one(traces: Path, tmp_path: Path) -> None:
    program = (
        "import sys; from knowbound.cli.main import knowbound; "
        f"knowbound.main(['observe', {str(traces)!r}, '--format', 'json'], standalone_mode=False); "
        "print([name for name in ('distributed', 'dask', 'fsspec') if name in sys.modules], file=sys.stderr)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert ran.stderr.splitlines()[-1] == "[]"
