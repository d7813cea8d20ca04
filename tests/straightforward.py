"""The conditional objective by straightforward enumeration: one integral for every censored cell and hidden state.

The exact engine must agree with it to 1e-9, and is measured against it in ``benchmarks``.
"""

import numpy as np
from scipy.special import logsumexp

from harmonium.engine.parameters import Natural
from harmonium.engine.states import hidden_states
from harmonium.units.truncated_gamma import interval_mass


class ConditionalObjective:
    """ln p(time | covariates) summed over rows, for complete covariates and one right-censored time in the last column."""

    def __init__(self, layout, lower, upper):
        self.layout = layout
        covariates = [block.unit.statistics(lower[:, block.columns]).reshape(lower.shape[0], -1) for block in layout.blocks[:-1]]
        self.covariates = np.concatenate(covariates, axis=1)
        self.time = lower[:, -1]
        self.event = lower[:, -1] == upper[:, -1]

    def value_and_gradient(self, parameters):
        natural = parameters.natural()
        states = hidden_states(natural.n_hidden)
        rate = natural.bias[-2] + states @ natural.coupling[-2]
        shape = 1.0 + natural.bias[-1] + states @ natural.coupling[-1]
        linear = self.covariates @ natural.coupling[:-2] + natural.hidden_bias
        log_weights = -linear @ states.T
        event, time = self.event, self.time

        log_time = np.empty_like(log_weights)
        mean_x = np.empty_like(log_weights)
        mean_log_x = np.empty_like(log_weights)
        log_time[event] = np.log(time[event])[:, None] * (shape - 1.0) - time[event][:, None] * rate
        mean_x[event], mean_log_x[event] = time[event][:, None], np.log(time[event])[:, None]
        log_time[~event], mean_log_x[~event], mean_x[~event] = interval_mass(shape, rate, time[~event][:, None], 1.0)
        numerator = self._term(states, log_weights + log_time, mean_x, mean_log_x)

        log_free, free_log_x, free_x = interval_mass(shape, rate, 0.0, 1.0)
        denominator = self._term(states, log_weights + log_free, free_x[None, :], free_log_x[None, :])
        gradient = Natural(*(a - b for a, b in zip(numerator[1:], denominator[1:], strict=True)), 0.0)
        return numerator[0] - denominator[0], parameters.pull_back(gradient)

    def _term(self, states, log_joint, mean_x, mean_log_x):
        log_mass = logsumexp(log_joint, axis=1)
        posterior = np.exp(log_joint - log_mass[:, None])
        hidden = posterior @ states
        x, minus_log_x = posterior * mean_x, -posterior * mean_log_x
        bias = np.concatenate([np.zeros(self.covariates.shape[1]), [-x.sum(), -minus_log_x.sum()]])
        coupling = np.vstack([-self.covariates.T @ hidden, -x.sum(axis=0) @ states, -minus_log_x.sum(axis=0) @ states])
        return log_mass.sum(), bias, coupling, -hidden.sum(axis=0)
