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

.PHONY: help setup install plugin demo studio release test-wheel test test-long test-agents test-newest-agents lint bench docs lock clean

help:  ## this list
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 28

setup: $(RUN)/.ready  ## the environment to run it in

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

# An environment of its own in the user's account; uv says what to do where its folder is not on the PATH.
install: $(filter .tools/bin/uv,$(UV))  ## knowbound on your PATH
	$(UV) tool install --quiet --force --python $(PYTHON) --constraints requirements.lock --build-constraints requirements.lock .
	@$(UV) tool dir --bin | xargs -I@ sh -c 'echo "installed: @/knowbound"; command -v knowbound >/dev/null || echo "@ is not on your PATH. Try: $(UV) tool update-shell"'

plugin: $(RUN)/.plugin  ## the wheel of the plugin, into plugin/wheel
	$(RUN)/bin/python -m tools.plugin --wheel

$(RUN)/.plugin: $(RUN)/.ready
	$(UV) pip install --quiet --verify-hashes --constraints requirements.lock --python $(RUN)/bin/python hatchling
	@touch $@

demo: $(RUN)/.ready  ## a report on the bundled sessions
	$(RUN)/bin/knowbound demo

studio: $(RUN)/.studio  ## the studio on the bundled sessions
	$(RUN)/bin/knowbound serve --demo

$(RUN)/.studio: $(RUN)/.ready
	$(UV) pip install --quiet --verify-hashes --constraints requirements.lock --build-constraints requirements.lock \
		--python $(RUN)/bin/python -e '.[studio]'
	@touch $@

test: $(TEST)/.ready  ## every test: real servers, a real browser, a small model
	PYTEST_DEBUG_TEMPROOT=$$($(PYTHON) tests/temp_folder.py) $(TEST)/bin/python -m pytest -n auto --dist loadgroup

# Kills, failover of databases, simulations, load, and twelve times as much fuzzing. QUARTER=0 to 3 runs a quarter of it.
test-long: $(TEST)/.ready  ## kills, failovers, load, twelve times as much fuzzing
	$(TEST)/bin/python -m pytest -n auto --dist loadgroup -m "long or hypothesis" --hypothesis-profile=long \
		$(if $(QUARTER),--quarter=$(QUARTER))

# The real Claude Code and Codex with a scripted model; npm brings them into the user's cache folder. Their files are on
# the disk: in the sandbox of Codex a project below /dev is not there.
test-agents: $(TEST)/.ready  ## the real Claude Code and Codex with a scripted model
	$(TEST)/bin/python -m pytest -n 2 -m agents tests/agents -rs

# The same with the newest published clients, which lie beside the locked ones; docs/newest-clients.md says what differs.
test-newest-agents: $(TEST)/.ready  ## the same with the newest published clients
	AGENT_CLIENTS=$$($(TEST)/bin/python -m tests.agents.newest) $(TEST)/bin/python -m pytest -n 2 -m agents tests/agents -rs

lint: $(TEST)/.ready  ## ruff, mypy --strict, the layers of the house
	$(TEST)/bin/ruff check .
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/mypy
	$(TEST)/bin/lint-imports
	$(TEST)/bin/python -m tools.house
	$(TEST)/bin/python -m tools.posix

# Wheel, sdist, SBOM and the plugin's marketplace into dist/, tried with every Python that is here (docs/releasing.md).
release: $(TEST)/.ready  ## wheel, sdist, SBOM and plugin, below dist/
	$(TEST)/bin/python -m tools.release

# The wheel alone, in an account without anything: a part of CI.
test-wheel: $(TEST)/.ready  ## the built wheel alone, with every Python of this machine
	$(TEST)/bin/python -m tools.release --only-try

bench: $(TEST)/.ready  ## every measurement, against others in one run
	$(TEST)/bin/python -m bench

# The site of the documentation, below dist/site: a link that leads nowhere is an error.
docs: $(TEST)/.ready  ## the site of the documentation, below dist/site
	NO_MKDOCS_2_WARNING=1 $(TEST)/bin/mkdocs build --quiet

lock: $(filter .tools/bin/uv,$(UV))  ## the lock file, with hashes, from pyproject.toml
	$(UV) pip compile --quiet --universal --generate-hashes --no-header --no-annotate --group dev --group services --group models --group pages --group docs pyproject.toml -o requirements.lock

clean:  ## removes the environments
	rm -rf $(RUN) $(TEST) .tools
