"""Lint of our own for `make lint`: calls that only POSIX systems have stand behind a look at the system.

`python -m tools.posix [FOLDER]` prints one line per unguarded call and exits 1 if there is one. A call is guarded by a
condition or an earlier return that asks for it (`hasattr(os, "fork")`), for the system (`os.name`, `sys.platform`), or
by `require_posix`, which ends the verb in one sentence; an import by `except ImportError`. What a comment
`# posix: WHY` at the end of its line explains is left to its reader.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "knowbound"
MODULES = frozenset("fcntl grp pty pwd resource syslog termios tty".split())
CALLS = {
    "os": frozenset(
        "chown fork forkpty fchmod getegid geteuid getgid getpgid getsid getuid killpg mkfifo nice pidfd_open "
        "posix_spawn register_at_fork sched_getaffinity setpgid setsid statvfs sysconf uname wait waitpid waitid "
        "POSIX_SPAWN_OPEN WNOHANG O_CLOEXEC O_DIRECTORY O_NOFOLLOW O_NONBLOCK O_PATH".split()
    ),
    "signal": frozenset(
        "SIGALRM SIGCHLD SIGCONT SIGHUP SIGKILL SIGQUIT SIGSTOP SIGUSR1 SIGUSR2 alarm setitimer".split()
    ),
    "time": frozenset({"CLOCK_BOOTTIME", "clock_gettime"}),
}
PLACES = ("/proc/", "/bin/sh")
_ASKING = frozenset({"name", "platform", "supports_dir_fd"})
_END = (ast.Return, ast.Raise, ast.Continue)


def problems(source: Path) -> Iterator[str]:
    """Yield every unguarded call below the folder as `path:line: sentence`."""
    for path in sorted(source.rglob("*.py")):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for line, what in sorted(set(_unguarded(ast.parse(text).body, guarded=False))):
            if "# posix: " not in lines[line - 1]:
                yield f"{path.relative_to(source).as_posix()}:{line}: {what} is not there on every system"


def _unguarded(nodes: list[ast.stmt] | list[ast.AST], *, guarded: bool) -> Iterator[tuple[int, str]]:
    """Yield line and name of what nothing guards; a condition that ends the block guards what follows it."""
    for node in nodes:
        if guarded:
            return
        yield from _in(node)
        ends = isinstance(node, ast.If) and isinstance(node.body[-1], _END)
        guarded = (ends and _asks(node.test)) if isinstance(node, ast.If) else _requires(node)


def _in(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.If | ast.While):
        yield from _in(node.test)
        yield from _unguarded(node.body, guarded=_asks(node.test))
        yield from _unguarded(node.orelse, guarded=_asks(node.test))
    elif isinstance(node, ast.IfExp):
        if not _asks(node.test):
            for part in (node.test, node.body, node.orelse):
                yield from _in(part)
    elif isinstance(node, ast.BoolOp):
        if not any(map(_asks, node.values)):
            for part in node.values:
                yield from _in(part)
    elif isinstance(node, ast.Try):
        yield from _unguarded(node.body, guarded=any(_is_import_error(one.type) for one in node.handlers))
        for handler in node.handlers:
            yield from _unguarded(handler.body, guarded=False)
        yield from _unguarded([*node.orelse, *node.finalbody], guarded=False)
    elif isinstance(node, ast.comprehension):
        yield from _in(node.iter)
    else:
        yield from _own(node)
        for _, value in ast.iter_fields(node):
            children = value if isinstance(value, list) else [value]
            inner = [child for child in children if isinstance(child, ast.AST)]
            if inner:
                yield from _unguarded(inner, guarded=False)


def _own(node: ast.AST) -> Iterator[tuple[int, str]]:
    if isinstance(node, ast.Import):
        yield from ((node.lineno, one.name) for one in node.names if one.name in MODULES)
    elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
        yield node.lineno, str(node.module)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.attr in CALLS.get(node.value.id, ()):
            yield node.lineno, f"{node.value.id}.{node.attr}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith(PLACES):
        yield node.lineno, node.value.split()[0]


def _asks(test: ast.AST) -> bool:
    """Report whether a condition asks for the system, or for a call."""
    for node in ast.walk(test):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "hasattr":
            return True
        if isinstance(node, ast.Attribute) and node.attr in _ASKING and isinstance(node.value, ast.Name):
            return node.value.id in ("os", "sys")
    return False


def _requires(node: ast.AST) -> bool:
    called = node.value if isinstance(node, ast.Expr) else None
    return isinstance(called, ast.Call) and isinstance(called.func, ast.Name) and called.func.id == "require_posix"


def _is_import_error(type_: ast.expr | None) -> bool:
    named = type_.elts if isinstance(type_, ast.Tuple) else [type_]
    return any(isinstance(one, ast.Name) and one.id in ("ImportError", "AttributeError") for one in named)


def main() -> None:
    """Print the problems of the package, or of the folder that is given."""
    found = list(problems(Path(sys.argv[1]) if sys.argv[1:] else SOURCE))
    print("\n".join(found) or "posix: no unguarded call found")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
