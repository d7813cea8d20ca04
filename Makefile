# The README's commands. Everything runs in .venv, which the first target that needs it creates.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
# Compiled code is cached by source: Numba does not notice when a function that another file calls has changed.
SOURCE_HASH := $(shell grep -rlZ --include='*.py' '@compiled' src | sort -z | xargs -0 cat | cksum | cut -d ' ' -f 1)
CACHE := .cache/numba-$(SOURCE_HASH)
COMPILED := $(CACHE)/compiled
export NUMBA_CACHE_DIR := $(CURDIR)/$(CACHE)
# Python's own bytecode is kept, whatever the shell says: the tests begin hundreds of processes. It is made where it is needed, not by pip.
export PYTHONDONTWRITEBYTECODE :=
# One more than there are cores: many tests wait for a browser, a command or a worker.
TEST_PROCESSES := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
# Of other libraries in each of them, which would wait for each other in threads; ours are not changed by it.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1

.PHONY: help demo test quick thorough lint types chromium docs wheel bench reproduce clean
.DEFAULT_GOAL := demo

help:  ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## *\(.*\)$$/\1|\2/p' $(MAKEFILE_LIST) | awk -F '|' '{ printf "  make %-10s %s\n", $$1, $$2 }'

demo: $(INSTALLED)  ## run the main job on bundled data; look into demo/ afterwards
	$(BIN)/harmonium demo --output demo
	$(BIN)/harmonium reproduce three-way --output demo/three_way.png --force --quiet

test: $(INSTALLED)  ## everything that guards the project
	$(MAKE) --jobs=2 --output-sync $(COMPILED) lint types chromium
	$(ONE_THREAD) $(BIN)/python -m pytest -n $(TEST_PROCESSES) --dist loadfile -m 'not compiles'

quick: lint  ## lint and the fast tests of every layer: no documents, no browser, nothing marked slow; once compiled, in 90 seconds
	$(BIN)/python -m pytest -n auto --dist loadfile -m 'not slow and not compiles' --hypothesis-profile=quick tests

thorough: $(INSTALLED)  ## all tests, with ten times as many examples of the laws of the model, other ones every time; takes long
	$(BIN)/python -m pytest -n auto --hypothesis-profile=thorough tests

lint: $(INSTALLED)  ## ruff, check and format
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)  ## mypy
	$(BIN)/mypy

chromium:  # Debian's, for the tests that drive a browser; without it they are skipped, and say so
	@command -v $${CHROMIUM:-chromium} > /dev/null \
	|| { test "$$(id -u)" = 0 && apt-get -qq update && apt-get -qq install -y --no-install-recommends chromium > /dev/null; } \
	|| echo '*** There is no Chromium and it could not be installed: THE BROWSER TESTS WILL BE SKIPPED. ***'

docs: $(INSTALLED)  ## the documentation; open docs/_build/html/index.html afterwards
	$(BIN)/sphinx-build --fail-on-warning --keep-going --quiet docs docs/_build/html

wheel: $(INSTALLED)  ## build the wheel and the source archive, then install each outside the clone and use it
	rm -rf dist
	$(BIN)/python -m build --outdir dist .
	$(BIN)/python tools/smoke.py

bench: $(INSTALLED)  ## ratios of speed, in one run, against peers and limits
	$(BIN)/python -m benchmarks kernels
	$(BIN)/python -m benchmarks contrastive
	$(BIN)/python -m benchmarks fit_speed
	$(BIN)/python -m benchmarks prediction_speed
	$(BIN)/python -m benchmarks integration
	$(BIN)/python -m benchmarks start_up

reproduce: $(INSTALLED)  ## the paper's benchmark: what is missing from the stored results, then tables and figure of the documentation
	$(BIN)/harmonium benchmark --rivals benchmarks/rivals.py --candidates paper-harmonium=15 --results benchmarks/results/paper --output .cache/benchmark
	$(BIN)/python -m benchmarks paper

clean:  ## remove what was made, except .venv
	rm -rf .cache demo benchmark build dist docs/_build docs/gallery docs/api/generated .mypy_cache .pytest_cache .ruff_cache .hypothesis

# In two parts, beside lint and types; otherwise every process of the tests would begin with it. What is wrong is found by the tests.
$(COMPILED): $(COMPILED)-summed $(COMPILED)-sampled

$(COMPILED)-%: $(INSTALLED)
	mkdir -p $(CACHE)
	$(BIN)/python tools/compile_all.py $* || echo '*** Compilation before the tests has failed; they go on without it. ***'
	touch $@

$(INSTALLED): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile --editable '.[all,bench,dev,docs]'
	touch $@
