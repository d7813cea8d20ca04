# The README's commands. Everything runs in .venv, which the first target that needs it creates.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
# Compiled code is cached by source: Numba does not notice when a function that another file calls has changed.
SOURCE_HASH := $(shell grep -rlZ --include='*.py' '@compiled' src | sort -z | xargs -0 cat | cksum | cut -d ' ' -f 1)
export NUMBA_CACHE_DIR := $(CURDIR)/.cache/numba-$(SOURCE_HASH)

.PHONY: demo test lint types bench reproduce clean

demo: $(INSTALLED)  ## run the main job on bundled data; look into demo/ afterwards
	$(BIN)/harmonium demo --output demo
	$(BIN)/harmonium reproduce three-way --output demo/three_way.png --force --quiet

test: lint types  ## everything that guards the project
	$(BIN)/python -m pytest -n auto --dist loadfile

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy

bench: $(INSTALLED)  ## ratios of speed, in one run, against peers and limits
	$(BIN)/python -m benchmarks kernels
	$(BIN)/python -m benchmarks contrastive
	$(BIN)/python -m benchmarks fit_speed
	$(BIN)/python -m benchmarks prediction_speed

reproduce: $(INSTALLED)  ## the paper's benchmark, about an hour on two cores; goes on where it was interrupted
	$(BIN)/harmonium benchmark --models cox,forest,svm,harmonium,harmonium-default,harmonium-cv --output .cache/benchmark

clean:
	rm -rf .cache demo benchmark build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,bench,cluster,explorer]'
	touch $@
