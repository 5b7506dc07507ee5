"""Where results go: a file is complete or not there, and nothing but a file is ever replaced."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from knowbound.cli.output import emit
from knowbound.errors import InputError


def test_a_file_is_written_as_a_whole(tmp_path: Path) -> None:
    emit(["a", "b"], tmp_path / "out.txt")
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "ab"


def test_a_failure_in_the_middle_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("before")

    def parts() -> object:
        yield "half"
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        emit(parts(), out)  # type: ignore[arg-type]
    assert out.read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    emit(["a", "b"], pipe)
    reader.join(30)
    assert read == ["ab"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link.txt").symlink_to("real.txt")
    emit(["new"], tmp_path / "link.txt")
    assert (tmp_path / "link.txt").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "new"


def test_a_missing_folder_is_an_error_that_helps(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="output-unwritable"):
        emit(["a"], tmp_path / "no" / "out.txt")
