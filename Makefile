# Every target sets itself up: on a fresh machine Python and pip are enough.
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
BIN := .venv/bin
READY := .venv/.ready
# Trust what the machine trusts, as pip does: behind a company's proxy uv's own certificates are not enough.
export UV_SYSTEM_CERTS ?= 1
export UV_NATIVE_TLS ?= 1

.PHONY: setup demo test lint bench lock clean

setup: $(READY)

.tools/bin/uv:
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --target .tools uv==0.13.7

$(READY): requirements.lock pyproject.toml $(filter .tools/bin/uv,$(UV))
	$(UV) venv --quiet --allow-existing --python $(PYTHON) .venv
	$(UV) pip sync --quiet --require-hashes --python $(BIN)/python requirements.lock
	$(UV) pip install --quiet --no-deps --no-build-isolation --python $(BIN)/python -e .
	@touch $(READY)

demo: $(READY)
	$(BIN)/knowbound demo

test: $(READY)
	$(BIN)/python -m pytest

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m bench

lock: $(filter .tools/bin/uv,$(UV))
	$(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate --group dev --group services --group models pyproject.toml -o requirements.lock

clean:
	rm -rf .venv .tools
