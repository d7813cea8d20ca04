"""Importing compiles nothing, and a second process compiles nothing at all."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LITTLE = """
import numpy as np
from harmonium.units.truncated_gamma import interval_mass, sample
interval_mass(2.0, 1.0, [0.1, 0.2], 1.0)
sample(2.0, 1.0, [0.1, 0.2], 1.0, np.random.default_rng(0))
"""

MUCH = """
import numpy as np
from harmonium.cells import Cells
from harmonium.engine.exact import LogMassSum, Term, log_mass, posterior
from harmonium.engine.gibbs import Chains
from tests.models import EVERY_UNIT, random_cells, random_parameters

rng = np.random.default_rng(0)
parameters, cells = random_parameters(EVERY_UNIT, 3, rng), random_cells(EVERY_UNIT, 20, rng)
LogMassSum([Term.uniform(cells, 1.0), Term.uniform(cells.freeing_outcomes(), -1.0)]).value_and_gradient(parameters)
posterior(parameters, cells)
chains = Chains.start(parameters, cells, rng)
chains.sweep(parameters, 3)
"""

COUNT = """
import gc
from numba.core.dispatcher import Dispatcher
dispatchers = [d for d in gc.get_objects() if isinstance(d, Dispatcher) and d.py_func.__module__.startswith("harmonium")]
compiled = sum(len(d.signatures) for d in dispatchers)
hits = sum(sum(d.stats.cache_hits.values()) for d in dispatchers)
misses = sum(sum(d.stats.cache_misses.values()) for d in dispatchers)
print(len(dispatchers), compiled, hits, misses)
"""


def run(code, cache):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    root = Path(__file__).resolve().parents[1]
    done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=root, capture_output=True, text=True, check=True)
    return [int(number) for number in done.stdout.split()]


def files(cache):
    return {path: path.stat().st_mtime_ns for path in Path(cache).rglob("*") if path.is_file()}


def test_importing_compiles_nothing(tmp_path):
    everything = "import harmonium, harmonium.engine.annealing, harmonium.engine.exact\n"
    n_functions, n_compiled, _, _ = run(everything + COUNT, tmp_path)
    assert n_functions > 20
    assert n_compiled == 0
    assert files(tmp_path) == {}


@pytest.mark.slow
def test_a_second_process_compiles_nothing(tmp_path):
    _, compiled, _, misses = run(LITTLE + COUNT, tmp_path)
    assert compiled > 1
    assert misses > 1
    before = files(tmp_path)
    _, compiled_again, hits, misses = run(LITTLE + COUNT, tmp_path)
    assert compiled_again > 1
    assert hits > 1
    assert misses == 0
    assert files(tmp_path) == before


@pytest.mark.slow
def test_that_is_so_of_every_part_of_the_engine():
    """With the cache that all tests share, or this would take half a minute; whatever is not in it yet is put there first."""
    shared = os.environ["NUMBA_CACHE_DIR"]
    run(MUCH + COUNT, shared)
    _, compiled, hits, misses = run(MUCH + COUNT, shared)
    assert compiled > 5
    assert hits > 5
    assert misses == 0
