"""The paper's parameters of a fitted model: with them, its equations alone give the model's answers."""

import numpy as np
import pytest

import harmonium as hm

COLUMNS = ["gender_female", "FDG-PET SUVmax", "age", "bmi"]
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(24)


def thinned(X):
    """A few rows with different values missing, and one of which nothing is known."""
    hidden = np.array([[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 1, 1]], dtype=bool)
    return X.iloc[20 : 20 + len(hidden)].mask(hidden)


def rule(lower, upper):
    """Nodes and weights; panels halve towards 0, where a power of x is not smooth."""
    edges = np.linspace(lower, upper, 61) if lower else upper * np.concatenate([[0.0], 0.5 ** np.arange(40, -1, -1.0)])
    half, middle = np.diff(edges) / 2.0, (edges[1:] + edges[:-1]) / 2.0
    return (middle[:, None] + half[:, None] * _NODES).ravel(), (half[:, None] * _WEIGHTS).ravel()


def masses(paper, values):
    """e^-energy (docs/model.md, eq. 1) of each hidden state, (states,), missing covariates summed or integrated out; times left out."""
    states = (np.arange(2 ** paper["b"].size)[:, None] >> np.arange(paper["b"].size) & 1).astype(float)
    out, binary = np.exp(-states @ paper["b"]), len(paper["a_A"])
    for value, a, W in zip(values[:binary], paper["a_A"], paper["W_A"], strict=True):
        out = out * sum(np.exp(-x * (a + states @ W)) for x in ((0.0, 1.0) if np.isnan(value) else (value,)))
    x, weight = np.linspace(-40.0, 40.0, 8001), 0.01  # of a Gaussian the trapezoidal rule is exact
    for value, a, W, sigma in zip(values[binary:], paper["a_C"], paper["W_C"], paper["sigma"], strict=True):
        at, step = (x[:, None], weight) if np.isnan(value) else (np.full((1, 1), value), 1.0)
        out = out * (step * np.exp(-at / sigma * (states @ W) - (at - a) ** 2 / (2.0 * sigma**2))).sum(axis=0)
    return states, out


def time_masses(paper, place, states, lower):
    """The integral over a time from ``lower`` to 1 in each hidden state."""
    x, weights = rule(lower, 1.0)
    shape, rate = paper["c"][place] + states @ paper["V"][place], paper["a_B"][place] + states @ paper["W_B"][place]
    return weights @ np.exp(-x[:, None] * rate + np.log(x)[:, None] * shape)


@pytest.mark.parametrize("n_covariate_units", [0, 3])
def test_with_the_paper_parameters_its_equations_give_the_models_answers(n_covariate_units):
    """Covariates' biases are learned after the conditional fit, and covariate units, too: both decide what a missing value means."""
    X, y = hm.datasets.load_nvalt8()
    model = hm.SurvivalHarmonium(2, n_covariate_units=n_covariate_units, trainer=hm.Exact(n_starts=1), random_state=0).fit(X[COLUMNS], y)
    paper, rows, times = model.paper_parameters_, thinned(X[COLUMNS]), np.array([12.0, 36.0, 60.0])
    assert paper["b"].size == 2 + n_covariate_units
    for place, endpoint in enumerate(model.endpoint_names_):
        found = model.predict_survival_function(rows, endpoint=endpoint, times=times, return_array=True)
        for row, values in enumerate(model.encoding_.covariates(rows)):
            states, mass = masses(paper, values)
            mass = mass * time_masses(paper, 1 - place, states, 0.0)
            at = [time_masses(paper, place, states, position) for position in model.encoding_.scales[place].to_unit(times)]
            expected = [mass @ own / (mass @ time_masses(paper, place, states, 0.0)) for own in at]
            np.testing.assert_allclose(found[row], expected, rtol=0.0, atol=1e-8)


def test_where_death_is_terminal_there_are_those_of_the_covariates_and_of_each_endpoint():
    """Covariates alone say how missing values are distributed; each endpoint's equations give its curve in a state."""
    X, y = hm.datasets.load_nvalt8(terminal=True)
    model = hm.SurvivalHarmonium(2, n_covariate_units=2, trainer=hm.Exact(n_starts=1), random_state=0).fit(X[COLUMNS], y)
    paper, rows = model.paper_parameters_, thinned(X[COLUMNS])[1:]
    assert paper["b"].size == 2
    assert "a_B" not in paper  # no times
    values = model.encoding_.covariates(rows)
    likelihoods = model.fitted_.log_mass(model.encoding_.cells(values))
    expected = [np.log(masses(paper, row)[1].sum()) for row in values]
    np.testing.assert_allclose(np.diff(likelihoods), np.diff(expected), rtol=0.0, atol=1e-8)
    complete = model.encoding_.covariates(X[COLUMNS].dropna()[:5])
    for own in model.fitted_.transitions.models:
        paper = own.parameters.paper_parameters()
        assert paper["a_B"].size == 1
        covariates = own.covariates(model.encoding_, complete, 0)
        found = own.curves(covariates, 0).survival(np.array([24.0]))[:, 0]
        (position,) = own.positions(0, np.array([24.0]))
        for row, value in enumerate(covariates):
            states, mass = masses(paper, value)
            ever, later = (time_masses(paper, 0, states, at) for at in (0.0, float(position)))
            np.testing.assert_allclose(found[row], mass @ later / (mass @ ever), rtol=0.0, atol=1e-8)
