# Everything a user or CI needs. `.venv` is made on the first call; the stamps keep the second from installing again.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
WHERE := pyproject.toml constraints.txt
# Three on two cores, because tests of real processes wait a lot; in the order of the folders, which does not leave
# these, few to a file and long, for the end. One thread each: more threads than cores only get in each other's way.
# Bytecode is kept whatever the environment says: four processes collect all tests, and these start many more.
PYTEST := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

.PHONY: demo desk test test-all check format bench docs dist simulate fuzz clean

demo: $(VENV)/.installed  ## the main job, offline, about a minute
	$(BIN)/dcshap demo

desk: $(VENV)/.installed  ## the web page where people ask why, on embedded data
	$(PIP) install --constraint constraints.txt --editable ".[desk]"
	$(BIN)/dcshap desk demo

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

docs: $(VENV)/.installed-dev  ## the documentation as a site, docs/_build/html; warnings are errors
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

dist: $(VENV)/.installed-dev  ## wheel and source distribution, in dist/
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist

simulate: $(VENV)/.installed-dev  ## a million random schedules of faults; hours
	$(BIN)/dcshap federation simulate --schedules 1000000 --parties 3

fuzz: $(VENV)/.installed-dev  ## everything that reads bytes: by plain mutation, then guided by coverage; a night
	$(BIN)/python -m tests.fuzz --plain 2000000
	for target in wire envelopes ledger schema explanations models; do \
		$(BIN)/python -m tests.fuzz $$target -max_total_time=3600 || exit 1; \
	done

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis .coverage .fuzz docs/_build docs/examples dist

$(VENV)/.installed: $(WHERE)
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --constraint constraints.txt --editable .
	touch $@

$(VENV)/.installed-dev: $(VENV)/.installed
	$(PIP) install --constraint constraints.txt --editable ".[dev]"
	touch $@
