"""Of several optima, which is taken."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

import harmonium as hm
from harmonium.model.fitting import encode_training_table
from harmonium.training.exact import Exact
from harmonium.training.history import History
from harmonium.training.optima import Optimum, best_of, found_again, merged, settled, worth_settling
from harmonium.training.optimum_search import OptimumSearch
from harmonium.training.penalised import PenalisedLikelihood, Prior, evidence_prior, prior_precisions


def three_way_problem():
    X, y = hm.datasets.make_three_way(300, random_state=0)
    recipe = hm.SurvivalHarmonium(objective="joint", time_scale="linear", horizon=1).recipe()
    objective = encode_training_table(recipe, X, y).objective(0.0)
    coordinates = objective.coordinates(4)
    return objective, lambda: PenalisedLikelihood(
        objective.likelihood(4, 1), coordinates, objective.n_rows, prior_precisions(coordinates, 5.0)
    )


def search_of(problem):
    return OptimumSearch(problem, History(), several=True, max_iter=1000, tol=3e-7)


def best_end(objective, problem):
    return search_of(problem).ends(Exact()._starts(problem, objective))[0].x


def an_optimum(evidence, n_starts=1, objective=1.0, is_settled=False):
    return Optimum(Prior(np.ones(2)), OptimizeResult(x=np.zeros(1), fun=objective), evidence, n_starts, is_settled)


def test_the_evidence_tells_a_good_optimum_from_a_poor_one():
    """In the poor one all hidden units are alike."""
    objective, problem = three_way_problem()
    coordinates, good = objective.coordinates(4), best_end(objective, problem())
    alike = good.copy()
    hidden, couplings, _ = coordinates.split(alike)
    hidden[:], couplings[:] = hidden[:1], couplings[:, :1]
    poor, found = (search_of(problem()).under_own_prior(z) for z in (coordinates.within_bounds(alike), good))
    assert found.evidence > poor.evidence + 10.0
    assert found.end.fun < poor.end.fun - 0.1
    assert best_of([poor, found]) is found


def test_the_evidence_is_laplaces():
    """Against the prior's density, the likelihood and the volume of a normal distribution, each written down here."""
    objective, problem = three_way_problem()
    own = problem()
    optimum = search_of(own).under_own_prior(best_end(objective, problem()))
    coordinates, z = own.coordinates, optimum.end.x
    low, high = coordinates.bounds()
    free = (z > low + 1e-9) & (z < high - 1e-9)
    precisions = prior_precisions(coordinates, optimum.prior)
    value, _ = objective.likelihood(4, 1).value_and_natural_gradient(coordinates.to_natural(z))
    log_prior = -0.5 * precisions @ z**2 + 0.5 * np.log(precisions[free & (precisions > 0.0)]).sum()
    gradient = [own.loss(z + 1e-5 * direction)[1] - own.loss(z - 1e-5 * direction)[1] for direction in np.eye(z.size)]
    hessian = own.n_rows * np.array(gradient)[np.ix_(free, free)] / 2e-5
    volume = np.log(np.linalg.eigvalsh(0.5 * (hessian + hessian.T))).sum()
    assert optimum.evidence == pytest.approx(value + log_prior - 0.5 * volume, abs=0.5)


def test_a_settled_optimum_has_the_prior_that_it_asks_for_wherever_it_came_from():
    objective, problem = three_way_problem()
    own = problem()
    polish = search_of(own).polish
    near = search_of(own).under_own_prior(best_end(objective, problem()))
    found = []
    for factor in (0.5, 2.0):
        prior = Prior(factor * near.prior.covariates, factor * near.prior.outcomes)
        own.precisions = prior_precisions(own.coordinates, prior)
        end = polish(near.end.x, own.curvature(near.end.x))
        found.append(settled(own, Optimum(prior, end, 0.0), polish))
    for one in found:
        own.precisions = prior_precisions(own.coordinates, one.prior)
        again = evidence_prior(own, one.end.x, one.prior, own.curvature(one.end.x))
        np.testing.assert_allclose(again.covariates, one.prior.covariates, rtol=0.05)
        assert again.outcomes == pytest.approx(one.prior.outcomes, rel=0.05)
    first, second = found
    assert first.evidence == pytest.approx(second.evidence, abs=0.1)
    np.testing.assert_allclose(first.prior.covariates, second.prior.covariates, rtol=0.1)
    np.testing.assert_allclose(first.end.x, second.end.x, atol=0.02)


def test_optima_that_several_starts_led_to_are_one():
    optima = [an_optimum(-10.0), an_optimum(-10.05, 2), an_optimum(-10.0, objective=1.5), an_optimum(-12.0)]
    found = merged(optima, n_rows=10.0)
    assert [(one.evidence, one.n_starts) for one in found] == [(-10.0, 3), (-10.0, 1), (-12.0, 1)]


def test_an_optimum_counts_by_its_evidence_and_by_the_starts_that_led_there():
    rare, common = an_optimum(-10.0), an_optimum(-11.0, 3)
    assert best_of([rare, common]) is common
    assert best_of([rare, an_optimum(-11.0, 2)]) is rare
    assert found_again(common)
    assert not found_again(rare)


def test_what_is_far_behind_is_not_settled():
    near, far, done = an_optimum(-12.0), an_optimum(-20.0), an_optimum(-10.0, is_settled=True)
    assert worth_settling([near, far, done]) == [near]


def test_starts_follow_until_a_second_one_has_led_to_the_best():
    """Where the first ten lead to the best optimum once; and never where their number is given."""
    X, y = hm.datasets.make_three_way(1000, random_state=2)
    settings = {"objective": "joint", "time_scale": "linear", "horizon": 1, "random_state": 0}
    few, more = (hm.SurvivalHarmonium(4, trainer=Exact(n_starts=n), **settings).fit(X, y) for n in (10, "auto"))
    assert more.n_evaluations_ > 2 * few.n_evaluations_
    assert more.log_likelihood(X, y, kind="joint").sum() >= few.log_likelihood(X, y, kind="joint").sum() - 0.5
