"""A hostile clone through every verb and hook: canaries planted and run, connections, words of another project."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from tests.security.hostile import SECRET, HostileRepository, Listener, commands, knowbound_program


def report() -> bool:
    """Print the totals over the four sets of traps; whether nothing ran, left or was read."""
    planted = ran = connections = leaked = runs = 0
    for traps in ((), ("config",), ("data",), ("config", "data")):
        listener = Listener()
        # A worker that a hook has started may still write there when the folder is removed.
        with tempfile.TemporaryDirectory(prefix="knowbound-hostile-", ignore_cleanup_errors=True) as folder:
            repository = HostileRepository(Path(folder), listener.port)
            repository.build(*traps)
            said = [_run(repository, words) for words in commands()]
            for event in ("user-prompt-submit", "session-start"):
                payload = {"session_id": "s", "cwd": str(repository.root), "prompt": "Which port does the service use?"}
                said.append(_run(repository, ("hook", event), json.dumps(payload)))
            runs += len(said)
            planted += len(set(repository.planted))
            ran += len(repository.ran())
            connections += listener.connections
            leaked += sum(SECRET in text for text in said) + (SECRET.encode() in repository.everything_kept())
        listener.close()
    print(
        f"  hostile clone     {planted} canaries planted, {ran} run; {connections} connections; words of another "
        f"project in {leaked} places; {runs} runs of every verb and hook"
    )
    return not (ran or connections or leaked)


def _run(repository: HostileRepository, words: tuple[str, ...], said: str = "") -> str:
    done = subprocess.run(
        [knowbound_program(), *words], cwd=repository.root, env=repository.environment(), input=said,
        capture_output=True, text=True, errors="replace", timeout=240, check=False,
    )  # fmt: skip
    return done.stdout + done.stderr


if __name__ == "__main__":
    raise SystemExit(0 if report() else 1)
