"""The lint that forbids unguarded POSIX calls, and what stands in for them elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tools.posix import SOURCE, problems

from knowbound import process
from knowbound.errors import InputError
from knowbound.files import NotBelowError, _open_by_name
from knowbound.process import require_posix

GUARDED = (
    'if hasattr(os, "fork"):\n    os.fork()\n',
    'def f():\n    if not hasattr(os, "fork"):\n        return\n    os.fork()\n',
    'def f():\n    if os.name != "posix":\n        raise OSError\n    os.killpg(1, 9)\n',
    "def f():\n    try:\n        import fcntl\n    except ImportError:\n        return\n",
    'uid = os.getuid() if hasattr(os, "getuid") else 0\n',
    'known = not hasattr(os, "getuid") or os.getuid() == 0\n',
    'def f():\n    require_posix("It")\n    os.setsid()\n',
    "os.fork()  # posix: nobody calls it elsewhere\n",
    'flag = getattr(os, "O_NOFOLLOW", 0)\n',
)
UNGUARDED = (
    "os.fork()\n",
    "import fcntl\n",
    "def f():\n    return os.getuid()\n",
    'open("/proc/self/stat")\n',
    "if x:\n    os.killpg(1, 9)\n",
    'if hasattr(os, "fork"):\n    pass\nos.fork()\n',
    "class A:\n    def f(self):\n        with b:\n            return signal.SIGKILL\n",
)


def found(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "module.py").write_text(text, "utf-8")
    return list(problems(tmp_path))


@pytest.mark.parametrize("text", GUARDED)
def test_a_guarded_call_is_no_problem(tmp_path: Path, text: str) -> None:
    assert found(tmp_path, text) == []


@pytest.mark.parametrize("text", UNGUARDED)
def test_an_unguarded_call_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    [problem] = found(tmp_path, text)
    assert problem.startswith("module.py:")


def test_the_package_has_no_unguarded_call() -> None:
    assert list(problems(SOURCE)) == []


def test_a_verb_that_needs_posix_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    require_posix("It")
    monkeypatch.setattr(os, "name", "nt")
    with pytest.raises(InputError) as raised:
        require_posix("Running an agent")
    monkeypatch.undo()
    assert raised.value.slug == "needs-posix"
    assert "\n" not in str(raised.value)


def collected(code: str, seconds: float, limit: int = 1_000_000) -> tuple[bytes, bytes, bool, bool]:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", code], stdout=pipe, stderr=pipe) as started:
        try:
            return process._collect_in_threads(started, time.monotonic() + seconds, limit)
        finally:
            started.kill()


def test_output_is_collected_in_threads_where_pipes_cannot_be_waited_for() -> None:
    code = "import sys; print('x' * 200_000); print('e', file=sys.stderr)"
    out, err, timed_out, cut = collected(code, 60)
    assert (len(out), err, timed_out, cut) == (200_001, b"e\n", False, False)


def test_threads_end_at_the_output_limit_and_at_the_time_limit() -> None:
    assert collected("while True: print('x' * 65536)", 60, 100_000)[2:] == (False, True)
    assert collected("import time; time.sleep(600)", 0.2)[2:] == (True, False)


def test_a_file_is_opened_by_name_only_below_the_root(tmp_path: Path) -> None:
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree" / "a.txt").write_text("a")
    (tmp_path / "secret").write_text("s")
    (tmp_path / "tree" / "link").symlink_to(tmp_path / "secret")
    with _open_by_name(str(tmp_path / "tree"), "a.txt") as file:
        assert file.read() == b"a"
    for name in ("link", "../secret", "", "none"):
        with pytest.raises(NotBelowError):
            _open_by_name(str(tmp_path / "tree"), name)
