"""Parameters that imputations and cohorts are drawn with; :mod:`harmonium.model.generator` makes them."""

from __future__ import annotations

from dataclasses import dataclass

from harmonium.engine.parameters import Parameters

__all__ = ["Generator"]


@dataclass(frozen=True)
class Generator:
    """Parameters that draws are made with.

    Attributes
    ----------
    parameters : Parameters
        Most likely ones; cohorts come from them.
    draws : tuple of Parameters
        Of the parameters themselves, one for each imputation; none if the trainer has no likelihood.
    """

    parameters: Parameters
    draws: tuple[Parameters, ...]

    def of_imputation(self, number: int) -> Parameters:
        """The parameters of the imputation with a number."""
        return self.draws[number % len(self.draws)] if self.draws else self.parameters
