"""Trainers are objects that own their settings, in scikit-learn's manner."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone

from harmonium.training.choice import trainer_named
from harmonium.training.contrastive import Contrastive
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.objective import Objective
from harmonium.training.trainer import Trainer
from tests.models import EVERY_UNIT, random_cells, random_parameters


class Holder(BaseEstimator):
    def __init__(self, trainer=None):
        self.trainer = trainer


def fit(trainer, n_hidden=1):
    cells = random_cells(EVERY_UNIT, 12, np.random.default_rng(0))
    return trainer.fit(Objective(cells, np.zeros((12, 2)), 1.0), n_hidden, rng=np.random.default_rng(0), history=History())


@pytest.mark.parametrize("trainer", [Exact(l2=3.0, tol=1e-4), Contrastive(n_steps=3, l2={"W": 0.1})])
def test_a_trainer_can_be_cloned_and_set_from_outside(trainer):
    assert isinstance(trainer, Trainer)
    assert clone(trainer).get_params() == trainer.get_params()
    held = clone(Holder(trainer)).set_params(trainer__l2=0.7)
    assert held.trainer.l2 == 0.7
    assert trainer.l2 != 0.7


def test_names_of_trainers():
    assert isinstance(trainer_named("exact", 3), Exact)
    assert isinstance(trainer_named("contrastive", 3), Contrastive)
    assert isinstance(trainer_named("auto", 14), Exact)
    assert isinstance(trainer_named("auto", 15), Contrastive)
    own = Exact(l2=1.0)
    assert trainer_named(own, 3) is own


@pytest.mark.parametrize("trainer", ["exakt", None, Exact, 3])
def test_what_is_no_trainer_is_refused(trainer):
    with pytest.raises(ValueError, match='"auto", "exact" and "contrastive", or a trainer such as Exact'):
        trainer_named(trainer, 3)


@pytest.mark.parametrize(
    ("trainer", "message"),
    [
        (Exact(l2="much"), "l2 must be \"auto\" or a number of at least 0; found 'much'"),
        (Exact(l2=-1.0), "found -1.0"),
        (Exact(l2=True), "found True"),
        (Exact(n_starts=0), 'n_starts must be "auto" or a whole number of at least 1; found 0'),
        (Exact(max_iter=2.5), "max_iter must be a whole number of at least 1; found 2.5"),
        (Exact(tol=np.nan), "tol must be a number of at least 0; found nan"),
        (Contrastive(learning_rate=0.0), "learning_rate must be a number above 0; found 0.0"),
        (Contrastive(learning_rate=np.inf), "found inf"),
        (Contrastive(momentum=1.0), "momentum must be a number of at least 0 and below 1; found 1.0"),
        (Contrastive(batch_size=0), "batch_size must be a whole number of at least 1; found 0"),
        (Contrastive(n_epochs=-1), "n_epochs"),
        (Contrastive(n_steps="3"), "n_steps must be a whole number of at least 1; found '3'"),
        (Contrastive(persistent="no"), "persistent must be True or False; found 'no'"),
        (Contrastive(optimizer="lbfgs"), "optimizer must be one of 'sgd', 'adam'; found 'lbfgs'"),
        (Contrastive(l2="auto"), "l2 must be a mapping of parameters' names to numbers, or a number of at least 0; found 'auto'"),
        (Contrastive(l2={"Q": 1.0}), "a name in l2 must be one of 'V', 'W', 'a', 'b', 'c', 'sigma'; found 'Q'"),
        (Contrastive(l2={"W": -1.0}), r"l2\['W'\] must be a number of at least 0; found -1.0"),
    ],
)
def test_settings_that_make_no_sense_are_refused_when_they_are_used(trainer, message):
    with pytest.raises(ValueError, match=message):
        fit(trainer)


@pytest.mark.parametrize("trainer", [Exact(), Contrastive()])
def test_training_does_not_begin_at_another_model(trainer):
    cells = random_cells(EVERY_UNIT, 12, np.random.default_rng(0))
    start = random_parameters(EVERY_UNIT, 2, np.random.default_rng(0))
    objective, rng = Objective(cells, np.zeros((12, 2)), 1.0), np.random.default_rng(0)
    with pytest.raises(ValueError, match="parameters with 2 hidden units; 3 are asked for"):
        trainer.fit(objective, 3, rng=rng, history=History(), start=start)


def test_numbers_of_numpy_are_numbers():
    fit(Exact(l2=np.float64(1.0), n_starts=np.int64(1), max_iter=np.int64(2)))
    fit(Contrastive(n_epochs=np.int64(1), learning_rate=np.float32(0.01)))


@pytest.mark.parametrize(
    ("entry", "conditional", "message"), [((12, 1), 0.0, "a column per outcome"), ((12, 2), 1.5, "between 0 and 1; found 1.5")]
)
def test_an_objective_is_checked(entry, conditional, message):
    with pytest.raises(ValueError, match=message):
        Objective(random_cells(EVERY_UNIT, 12, np.random.default_rng(0)), np.zeros(entry), conditional)
