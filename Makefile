# Every target sets itself up: on a fresh machine Python and pip are enough.
# Running and testing have environments of their own: .venv is small, .venv-test has real servers, drivers and a model.
PYTHON ?= python3
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
RUN := .venv
TEST := .venv-test
# Trust what the machine trusts, as pip does: behind a company's proxy uv's own certificates are not enough.
export UV_SYSTEM_CERTS ?= 1
export UV_NATIVE_TLS ?= 1
# Tests start hundreds of Pythons: each would compile what it imports, where the machine says that none may keep it.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo test test-long test-agents lint bench lock clean

setup: $(RUN)/.ready

.tools/bin/uv:
	$(PYTHON) -m pip install --quiet --disable-pip-version-check --target .tools uv==0.13.7

$(RUN)/.ready: requirements.lock pyproject.toml $(filter .tools/bin/uv,$(UV))
	$(UV) venv --quiet --allow-existing --python $(PYTHON) $(RUN)
	$(UV) pip install --quiet --verify-hashes --constraints requirements.lock --build-constraints requirements.lock \
		--python $(RUN)/bin/python -e .
	@touch $@

$(TEST)/.ready: requirements.lock pyproject.toml $(filter .tools/bin/uv,$(UV))
	$(UV) venv --quiet --allow-existing --python $(PYTHON) $(TEST)
	$(UV) pip sync --quiet --require-hashes --python $(TEST)/bin/python requirements.lock
	$(UV) pip install --quiet --no-deps --no-build-isolation --python $(TEST)/bin/python -e .
	@touch $@

demo: $(RUN)/.ready
	$(RUN)/bin/knowbound demo

test: $(TEST)/.ready
	PYTEST_DEBUG_TEMPROOT=$$($(PYTHON) tests/temp_folder.py) $(TEST)/bin/python -m pytest -n auto --dist loadgroup

# Kills, failover of databases, simulations, load, and twelve times as much fuzzing. QUARTER=0 to 3 runs a quarter of it.
test-long: $(TEST)/.ready
	$(TEST)/bin/python -m pytest -n auto --dist loadgroup -m "long or hypothesis" --hypothesis-profile=long \
		$(if $(QUARTER),--quarter=$(QUARTER))

# The real Claude Code and Codex with a scripted model; npm brings them into the user's cache folder. Their files are on
# the disk: in the sandbox of Codex a project below /dev is not there.
test-agents: $(TEST)/.ready
	$(TEST)/bin/python -m pytest -n 2 -m agents tests/agents -rs

lint: $(TEST)/.ready
	$(TEST)/bin/ruff check .
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/mypy
	$(TEST)/bin/lint-imports
	$(TEST)/bin/python -m tools.house

bench: $(TEST)/.ready
	$(TEST)/bin/python -m bench

lock: $(filter .tools/bin/uv,$(UV))
	$(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate --group dev --group services --group models pyproject.toml -o requirements.lock

clean:
	rm -rf $(RUN) $(TEST) .tools
