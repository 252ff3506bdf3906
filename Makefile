# The two commands of the README: `make demo` and `make test`. Both start from a bare clone.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

GET_CHROMIUM := apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium fonts-liberation

# Byte code is kept, whatever the environment says: without it each of the many processes compiles all of ours anew.
export PYTHONDONTWRITEBYTECODE :=

# What the tests with the oldest and the newest versions take of the extras, and which tests these are.
EXTRAS := excel,protocol,search,cluster,slurm,studio,aws,matplotlib
MATRIX := tests/golden tests/cli tests/workloads

.PHONY: demo test fuzz test-browser test-matrix test-lowest test-lowest-quick test-highest bench clean

demo: $(VENV)/installed
	$(BIN)/unspool run --policy fcfs --policy easy --policy conservative -o results/demo --force
	$(BIN)/unspool cost examples/sacct-to-bill/sacct.txt -c examples/sacct-to-bill/config.yml -o results/bill --force
	@printf '\nTo open in a browser:\n  %s\n  %s\n' results/demo/report.html results/bill/report.html

test: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2 --dist worksteal --ignore tests/browser

# Seconds in all, shared by the readers, those first and longest whose code has changed: make fuzz FUZZ_SECONDS=3600.
FUZZ_SECONDS ?= 180

fuzz: $(VENV)/installed-dev
	$(BIN)/python -c 'import atheris' 2>/dev/null || \
		$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[fuzz]' || echo 'atheris was not installed'
	$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS)

# Where Playwright or Chromium is missing and cannot be installed, the tests are skipped and say so.
test-browser: $(VENV)/installed-dev
	$(BIN)/python -c 'import playwright' 2>/dev/null || \
		$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[browser]' || echo 'Playwright was not installed'
	command -v chromium || { test "$$(id -u)" = 0 && command -v apt-get && timeout 300 sh -c '$(GET_CHROMIUM)'; } || \
		echo 'no chromium: install it with the packages of your system'
	$(BIN)/pytest -rs -n 2 --dist loadscope tests/browser

# The oldest versions that pyproject.toml admits, and the newest, each in an environment of its own.
test-matrix: test-lowest test-highest

test-lowest: $(VENV)/lowest-direct
	$(VENV)/of-lowest-direct/bin/pytest -n 2 --dist worksteal $(MATRIX)

test-highest: $(VENV)/highest
	$(VENV)/of-highest/bin/pytest -n 2 --dist worksteal $(MATRIX)

# The oldest versions again, in a few minutes: only the schedules of three policies are compiled, the rest runs the same
# source uncompiled.
FEW := tests/golden/test_fcfs.py tests/golden/test_easy.py tests/golden/test_conservative.py

test-lowest-quick: $(VENV)/lowest-direct
	$(VENV)/of-lowest-direct/bin/pytest -n 2 --dist worksteal $(FEW)
	NUMBA_DISABLE_JIT=1 $(VENV)/of-lowest-direct/bin/pytest -n 2 --dist worksteal -m 'not slow' $(MATRIX)

$(VENV)/lowest-direct $(VENV)/highest: $(VENV)/installed-dev
	$(BIN)/uv venv --quiet --clear --python $(BIN)/python $(VENV)/of-$(@F)
	$(BIN)/uv pip install --quiet --python $(VENV)/of-$(@F) --resolution $(@F) --editable '.[$(EXTRAS)]'
	$(BIN)/uv pip install --quiet --python $(VENV)/of-$(@F) pytest hypothesis pytest-xdist pytest-timeout simpy moto
	touch $@

bench: $(VENV)/installed-dev
	$(BIN)/python -m benchmarks

$(VENV)/installed: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "unspool needs Python 3.11 or newer; run: make demo PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) results build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
