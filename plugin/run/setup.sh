#!/bin/sh
# Finds a Python 3.11 or newer, or uv, and lets it install this release: setup.sh [--remove].
root=${0%/run/setup.sh}
for python in python3 python3.14 python3.13 python3.12 python3.11 python; do
    if command -v "$python" >/dev/null 2>&1 &&
        "$python" -c 'import sys, venv; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        exec "$python" "$root/run/setup.py" "$@"
    fi
done
if command -v uv >/dev/null 2>&1; then
    exec uv run --quiet --no-project --python '>=3.11' "$root/run/setup.py" "$@"
fi
echo "knowbound needs Python 3.11 or newer, or uv (https://docs.astral.sh/uv). Neither is on the PATH." >&2
exit 2
