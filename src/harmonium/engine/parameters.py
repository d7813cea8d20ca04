r"""Parameters of a harmonium, and their natural form.

The natural form is all that the engine sees: energies :math:`E(x, h) = \kappa + s(x) \cdot (A + C h) + b \cdot h` with one
matrix C for all statistics of all columns, whatever their units (eq. 3).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from harmonium.cells import Layout
from harmonium.typing import Array
from harmonium.units.contract import Canonical, Parameter, ParameterBlock

__all__ = ["HIDDEN_BIAS", "Natural", "Parameters"]

HIDDEN_BIAS = Parameter("b", paper_name="b")
"""The one parameter that belongs to no column."""


@dataclass(frozen=True)
class Natural:
    """Natural parameters of the whole model, or a gradient by them.

    Attributes
    ----------
    bias : ndarray of shape (n_statistics,)
        A.
    coupling : ndarray of shape (n_statistics, n_hidden)
        C.
    hidden_bias : ndarray of shape (n_hidden,)
        b.
    constant : float
        The part of the energy that depends on neither x nor h.
    """

    bias: Array
    coupling: Array
    hidden_bias: Array
    constant: float

    @property
    def n_hidden(self) -> int:
        """How many hidden units."""
        return self.hidden_bias.size


@dataclass(frozen=True)
class Parameters:
    """Parameters in the paper's terms (eq. 1): hidden biases b and, for each block of columns, its unit's own parameters.

    Examples
    --------
    >>> import numpy as np
    >>> from harmonium.units import Gaussian, TruncatedGamma
    >>> layout = Layout([Gaussian(), TruncatedGamma()])
    >>> start = Parameters.initial(layout, np.array([[0.3, 0.5], [np.nan, 0.2]]), n_hidden=2, rng=np.random.default_rng(0))
    >>> sorted(start.blocks[1])
    ['V', 'W', 'a', 'c']
    >>> start.to_vector().size
    12
    """

    layout: Layout
    hidden_bias: Array
    blocks: tuple[ParameterBlock, ...]

    @classmethod
    def initial(cls, layout: Layout, values: Array, n_hidden: int, rng: np.random.Generator) -> Parameters:
        """The paper's initialisation from observed values (rows, columns), NaN where not observed (docs/model.md, section 5)."""
        blocks = tuple(block.unit.initial_parameters(values[:, block.columns], n_hidden, rng) for block in layout.blocks)
        return cls(layout, np.zeros(n_hidden), blocks)

    @classmethod
    def from_natural(cls, layout: Layout, natural: Natural) -> Parameters:
        """The inverse of :meth:`natural`."""
        blocks = []
        for block in layout.blocks:
            shape = block.shape
            bias = natural.bias[block.statistics].reshape(shape)
            coupling = natural.coupling[block.statistics].reshape(*shape, natural.n_hidden)
            blocks.append({name: np.array(a) for name, a in block.unit.own_parameters(Canonical(bias, coupling, 0.0)).items()})
        return cls(layout, np.array(natural.hidden_bias), tuple(blocks))

    @property
    def n_hidden(self) -> int:
        """How many hidden units."""
        return self.hidden_bias.size

    def check(self, layout: Layout) -> None:
        """Refuse parameters of another layout, and values outside their bounds."""
        if self.layout is not layout and self.layout != layout:
            raise ValueError(f"parameters and cells must have the same layout; found {self.layout} and {layout}")
        finite = np.isfinite(self.to_vector()).all()  # one look at all of them is quicker than one at each
        for one, values in self.declared():
            if finite and (one.lowest == -inf or values.min(initial=inf) > one.lowest):
                continue
            refusal = one.refusal(values)
            if refusal is not None:
                raise ValueError(refusal)

    def declared(self) -> Iterator[tuple[Parameter, Array]]:
        """Every parameter's declaration and values, in the order of :meth:`to_vector`."""
        yield HIDDEN_BIAS, self.hidden_bias
        for block, own in zip(self.layout.blocks, self.blocks, strict=True):
            by_name = {declared.name: declared for declared in block.unit.parameters}
            for name, values in own.items():
                yield by_name[name], values

    def by_declaration(self, value: Callable[[Parameter], float]) -> Array:
        """A vector, in the order of :meth:`to_vector`, with what ``value`` says of each parameter."""
        return np.concatenate([np.full(values.size, value(declared)) for declared, values in self.declared()])

    def paper_parameters(self) -> dict[str, Array]:
        """Those parameters that the paper has, under its names; columns of equal unit in the layout's order, outcomes last."""
        found: dict[str, list[Array]] = {}
        for declared, values in self.declared():
            if declared.paper_name is not None:
                found.setdefault(declared.paper_name, []).append(values)
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def to_vector(self) -> Array:
        """All parameters in one vector."""
        parts = [self.hidden_bias, *(array.ravel() for block in self.blocks for array in block.values())]
        return np.concatenate(parts)

    def with_vector(self, vector: Array) -> Parameters:
        """Parameters of the same shapes with the values of a vector, which is not copied."""
        size = self.n_hidden + sum(array.size for block in self.blocks for array in block.values())
        if vector.shape != (size,):
            raise ValueError(f"the vector must have {size} elements; found shape {vector.shape}")
        hidden_bias, start = vector[: self.n_hidden], self.n_hidden
        blocks = []
        for block in self.blocks:
            arrays = {}
            for name, array in block.items():
                arrays[name] = vector[start : start + array.size].reshape(array.shape)
                start += array.size
            blocks.append(arrays)
        return Parameters(self.layout, hidden_bias, tuple(blocks))

    def natural(self) -> Natural:
        """The natural form (eq. 3)."""
        n_statistics = self.layout.n_statistics
        bias, coupling = np.empty(n_statistics), np.empty((n_statistics, self.n_hidden))
        constant = 0.0
        for block, own in zip(self.layout.blocks, self.blocks, strict=True):
            part = block.unit.canonical(own)
            own_bias = part.bias.reshape(-1)
            bias[block.statistics] = own_bias
            coupling[block.statistics] = part.coupling.reshape(own_bias.size, self.n_hidden)
            constant += part.constant
        return Natural(bias, coupling, self.hidden_bias, constant)

    def pull_back(self, gradient: Natural) -> Parameters:
        """A gradient by the natural parameters as one by these parameters."""
        blocks = []
        for block, own in zip(self.layout.blocks, self.blocks, strict=True):
            shape = block.shape
            part = Canonical(
                gradient.bias[block.statistics].reshape(shape),
                gradient.coupling[block.statistics].reshape(*shape, self.n_hidden),
                gradient.constant,
            )
            pulled = block.unit.pull_back(own, part)
            blocks.append({name: pulled[name] for name in own})
        return Parameters(self.layout, gradient.hidden_bias, tuple(blocks))
