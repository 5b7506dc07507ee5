"""Every module can be imported where there is no POSIX: what needs it is looked up when it is called."""

from __future__ import annotations

import subprocess
import sys

IMPORT_ALL = """
import importlib, os, pkgutil, signal, sys
# Libraries decide by the system they are on, so ours are imported after them.
optional = {"pymongo", "neo4j", "mem0", "pydantic_ai", "llm"}
import filelock, regex, yaml, msgspec, click, jsonschema_rs, ast_grep_py, markdown_it
import asyncio, subprocess, tempfile, shutil, pathlib, selectors, multiprocessing, concurrent.futures.process, ssl
import http.client, urllib.request, sqlite3, logging.handlers, importlib.metadata
for name in list(sys.modules):
    if name.split(".")[0] == "knowbound":
        del sys.modules[name]
for name in ("fcntl", "pwd", "grp", "resource", "termios", "tty", "pty"):
    sys.modules[name] = None
for name in ("killpg", "getuid", "geteuid", "getpgid", "setsid", "fork", "waitid", "pidfd_open"):
    if hasattr(os, name):
        delattr(os, name)
for name in ("SIGKILL", "SIGALRM", "SIGHUP", "SIGUSR1", "setitimer", "alarm", "pthread_sigmask"):
    if hasattr(signal, name):
        delattr(signal, name)
import knowbound
failed = []
for module in pkgutil.walk_packages(knowbound.__path__, "knowbound."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in optional:
            failed.append(f"{module.name}: {error!r}")
    except Exception as error:
        failed.append(f"{module.name}: {error!r}")
print("\\n".join(failed))
"""


def test_every_module_can_be_imported_without_posix() -> None:
    ran = subprocess.run([sys.executable, "-c", IMPORT_ALL], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout.strip(), ran.stderr) == (0, "", "")
