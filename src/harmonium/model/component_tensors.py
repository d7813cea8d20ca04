"""The tensors of one component of a model file, and back.

=========================  ============================================================================================
``b``, ``0.W``, ...        the prognostic units: hidden biases, then each block's own parameters by number and name
``covariates.bias``, ...   the covariate units, in natural parameters: ``bias``, ``coupling``, ``hidden_bias``
``generator.b``, ...       what cohorts are drawn from, in the form of the prognostic units
``generator.draws``        draws of the generator's parameters, one for each imputation, as vectors (draws, parameters)
``spread.kept``, ...       how far the parameters may be from where they are: the fields of :class:`~harmonium.model.spread.Spread`
=========================  ============================================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from harmonium.model.file_checks import require
from harmonium.typing import Array

if TYPE_CHECKING:
    from harmonium.cells import Layout
    from harmonium.engine.covariate_units import CovariateUnits
    from harmonium.engine.parameters import Parameters
    from harmonium.model.answering import Harmonium
    from harmonium.model.generating import Generator
    from harmonium.model.spread import Spread

__all__ = ["n_covariate_units", "read_tensors", "tensors_of"]

_UNITS, _GENERATOR, _SPREAD = "covariates.", "generator.", "spread."
_PREFIXES = ("", _UNITS, _GENERATOR, _SPREAD)
_UNIT_TENSORS = ("bias", "coupling", "hidden_bias")
_SPREAD_TENSORS = (
    *("directions", "effects", "biases", "kept", "centre", "unit", "jumps", "chances"),
    *("linear", "linear_roots", "linear_moves"),
)

Parts = tuple["Parameters", "CovariateUnits | None", "Generator | None", "Spread | None"]
"""Of a component: prognostic units, covariate units, generator and spread."""


def tensors_of(component: Harmonium) -> dict[str, Array]:
    """All tensors of a component; a generator or spread that has not been made yet is made."""
    out = _of_parameters(component.parameters)
    if component.spread is not None:
        out |= {f"{_SPREAD}{name}": values for name, values in component.spread.tensors().items()}
    units, generator = component.covariate_units, component.generator
    if units is not None:
        out |= {f"{_UNITS}{name}": getattr(units, name) for name in _UNIT_TENSORS}
    if generator is not None:
        out |= {f"{_GENERATOR}{name}": values for name, values in _of_parameters(generator.parameters).items()}
        vectors = [draw.to_vector() for draw in generator.draws]
        out[f"{_GENERATOR}draws"] = np.stack(vectors) if vectors else np.zeros((0, generator.parameters.to_vector().size))
    return out


def n_covariate_units(tensors: dict[str, Array]) -> int:
    """How many covariate units there are, without loading compiled code."""
    bias = tensors.get(f"{_UNITS}hidden_bias")
    return 0 if bias is None else bias.size


def read_tensors(tensors: dict[str, Array], layout: Layout) -> Parts:
    """The parts of a component, whose shapes and values are checked."""
    from harmonium.engine.covariate_units import CovariateUnits  # noqa: PLC0415 - compiled code
    from harmonium.model.generating import Generator  # noqa: PLC0415 - as above

    own, units, generator, spread = _sorted(tensors)
    parameters = _parameters(own, layout, "")
    found_units = found_generator = None
    if units:
        found_units = CovariateUnits(*_unit_tensors(units, layout))
        found_units.joined(parameters).check(layout)
    if generator:
        draws = _taken(generator, "draws", _GENERATOR)
        joint = _parameters(generator, layout, _GENERATOR)
        size = joint.to_vector().size
        require(draws.ndim == 2 and draws.shape[1] == size, f"'generator.draws' must have {size} columns; found the shape {draws.shape}")
        found_generator = Generator(joint, tuple(joint.with_vector(vector) for vector in draws))
        for draw in found_generator.draws:
            draw.check(layout)
    return parameters, found_units, found_generator, _spread(spread, parameters) if spread else None


def _spread(tensors: dict[str, Array], parameters: Parameters) -> Spread:
    from harmonium.model.spread import Spread, flat  # noqa: PLC0415 - as above

    found = Spread(*(_taken(tensors, name, _SPREAD) for name in _SPREAD_TENSORS))
    _refuse_strangers(tensors, _SPREAD)
    layout = parameters.layout
    n_effects = sum(sum(unit.coupled) for unit in layout.units[: layout.outcomes.start])
    problem = found.check(flat(parameters.natural()).size, n_effects)
    require(problem is None, f"the tensor '{_SPREAD}{problem}'")
    return found


def _of_parameters(parameters: Parameters) -> dict[str, Array]:
    blocks = {f"{i}.{name}": values for i, block in enumerate(parameters.blocks) for name, values in block.items()}
    return {"b": parameters.hidden_bias, **blocks}


def _sorted(tensors: dict[str, Array]) -> list[dict[str, Array]]:
    """Tensors of the prognostic units, the covariate units, the generator and the spread, by their own names."""
    parts: list[dict[str, Array]] = [{} for _ in _PREFIXES]
    for name, values in tensors.items():
        kind = max(k for k, prefix in enumerate(_PREFIXES) if name.startswith(prefix))
        parts[kind][name.removeprefix(_PREFIXES[kind])] = values
    return parts


def _unit_tensors(tensors: dict[str, Array], layout: Layout) -> list[Array]:
    n_statistics = layout.outcome_statistics.start
    found = [_taken(tensors, name, _UNITS) for name in _UNIT_TENSORS]
    n_units = found[2].size
    for name, values, shape in zip(_UNIT_TENSORS, found, ((n_statistics,), (n_statistics, n_units), (n_units,)), strict=True):
        require(values.shape == shape, f"the tensor '{_UNITS}{name}' must have the shape {shape}; found {values.shape}")
        require(bool(np.isfinite(values).all()), f"the tensor '{_UNITS}{name}' must be finite")
    _refuse_strangers(tensors, _UNITS)
    return found


def _parameters(tensors: dict[str, Array], layout: Layout, prefix: str) -> Parameters:
    """Take parameters out of the tensors."""
    from harmonium.engine.parameters import Parameters  # noqa: PLC0415 - compiled code

    hidden_bias = _taken(tensors, "b", prefix)
    require(hidden_bias.ndim == 1, f"the tensor '{prefix}b' must have one axis; found the shape {hidden_bias.shape}")
    blocks = []
    for i, block in enumerate(layout.blocks):
        own = {}
        for name, shape in block.unit.parameter_shapes(hidden_bias.size).items():
            own[name] = _taken(tensors, f"{i}.{name}", prefix)
            expected = (block.n_columns, *shape)
            require(own[name].shape == expected, f"the tensor '{prefix}{i}.{name}' must have the shape {expected}; found {own[name].shape}")
        blocks.append(own)
    _refuse_strangers(tensors, prefix)
    parameters = Parameters(layout, hidden_bias, tuple(blocks))
    parameters.check(layout)
    return parameters


def _taken(tensors: dict[str, Array], name: str, prefix: str) -> Array:
    require(name in tensors, f"'{prefix}{name}' is missing")
    return tensors.pop(name)


def _refuse_strangers(tensors: dict[str, Array], prefix: str) -> None:
    require(not tensors, f"there are tensors of no use: {', '.join(repr(prefix + name) for name in sorted(tensors))}")
