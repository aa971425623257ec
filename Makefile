# Everything a user or CI needs. `.venv` is made on the first call; the stamps keep the second from installing again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WHERE := pyproject.toml constraints.txt
# Three on two cores, because tests of real processes wait a lot; in the order of the folders, which does not leave
# these, few to a file and long, for the end.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: demo test test-all check format bench clean

demo: $(VENV)/.installed  ## the main job, offline, about a minute
	$(BIN)/dcshap demo

test: $(VENV)/.installed-dev  ## the test suite without the slow cases
	$(PYTEST)

test-all: $(VENV)/.installed-dev  ## the whole test suite, with branch coverage
	$(PYTEST) -m "slow or not slow" --cov --cov-report=term-missing:skip-covered

check: $(VENV)/.installed-dev  ## lint, format and types; changes nothing
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy

format: $(VENV)/.installed-dev  ## what `check` would ask for, done
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

bench: $(VENV)/.installed-dev  ## every benchmark against its peers, in one run each
	$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage

$(VENV)/.installed: $(WHERE)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --editable ".[dev]"
	touch $@
