"""What is in a model file: a harmonium and, where endpoints are ordered, that of each of them.

An array is a tensor of the file, which is called by its place: ``parameters.b``, ``endpoints.1.spread.kept``. Those of a harmonium are

====================  =================================================================================================
``parameters``        the prognostic units: hidden biases ``b``, then each block's own parameters by number and name, as ``0.W``
``covariate_units``   in natural parameters: ``bias``, ``coupling``, ``hidden_bias``
``generator``         what cohorts are drawn from, in the form of the prognostic units, and ``draws`` of its parameters, one for each
                      imputation, as vectors (draws, parameters)
``spread``            how far the parameters may be from where they are: the fields of :class:`~harmonium.model.spread.Spread`
====================  =================================================================================================
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from harmonium.model.stored_values import require, typed
from harmonium.model.training_summary import TrainingSummary
from harmonium.table.encoding import Encoding
from harmonium.table.state_graph import StateColumns, StateGraph
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

if TYPE_CHECKING:
    from harmonium.cells import Layout
    from harmonium.engine.covariate_units import CovariateUnits
    from harmonium.engine.parameters import Parameters
    from harmonium.model.answering import Answering, Harmonium
    from harmonium.model.generating import Generator
    from harmonium.model.on_demand import OnDemand
    from harmonium.model.spread import Spread

__all__ = ["Contents", "StoredEndpoint", "StoredHarmonium"]

Tensors = dict[str, Array]


@dataclass(frozen=True)
class StoredHarmonium:
    """A harmonium, as far as it is read without numerical code; the shapes of tensors are not checked before :meth:`parts`."""

    encoding: Encoding
    training: TrainingSummary
    parameters: Tensors
    covariate_units: Tensors | None
    generator: Tensors | None
    spread: Tensors | None

    @classmethod
    def of(cls, model: Harmonium, *more: Any) -> Self:
        """Of a model; a generator or spread that has not been made yet is made."""
        units, spread = (None if part is None else asdict(part) for part in (model.covariate_units, model.spread))
        generator, drawn = model.generator, None
        if generator is not None:
            draws = np.reshape(
                [draw.to_vector() for draw in generator.draws], (len(generator.draws), generator.parameters.to_vector().size)
            )
            drawn = {**_of_parameters(generator.parameters), "draws": draws}
        return cls(model.encoding, model.training, _of_parameters(model.parameters), units, drawn, spread, *more)

    @property
    def n_hidden(self) -> int:
        """How many prognostic units, at most in one harmonium."""
        return self.parameters["b"].size

    @property
    def n_covariate_units(self) -> int:
        """How many units couple to covariates only."""
        return (self.covariate_units or {}).get("hidden_bias", np.empty(0)).size

    def rules(self) -> dict[str, bool]:
        """What holds of every harmonium that was fitted."""
        n_hidden, scores = self.n_hidden, None if self.training.evaluation is None else self.training.evaluation["scores"]
        stated, names = self.training.settings.get("n_hidden", n_hidden), self.encoding.endpoint_names
        return {
            "there must be a tensor 'b' with one axis": self.parameters["b"].ndim == 1,
            f"the setting n_hidden is {stated}, but the tensors have {n_hidden} hidden units": stated == n_hidden,
            "there must be scores of each endpoint": scores is None or (tuple(scores) == names and all(scores.values())),
        }

    def parts(self) -> tuple[Parameters, CovariateUnits | None, OnDemand[Generator] | None, OnDemand[Spread] | None]:
        """Prognostic units, covariate units, generator and spread, whose shapes and values are checked."""
        from harmonium.engine.covariate_units import CovariateUnits  # noqa: PLC0415 - compiled code
        from harmonium.model.generating import Generator  # noqa: PLC0415 - as above
        from harmonium.model.on_demand import OnDemand  # noqa: PLC0415 - as above
        from harmonium.model.spread import Spread, flat  # noqa: PLC0415 - as above

        layout = self.encoding.layout
        parameters = _parameters("parameters", self.parameters, layout)
        units = generating = spreading = None
        if self.covariate_units is not None:
            n, n_units = layout.outcome_statistics.start, self.n_covariate_units
            _check_shapes("covariate_units", self.covariate_units, {"bias": (n,), "coupling": (n, n_units), "hidden_bias": (n_units,)})
            units = CovariateUnits(**self.covariate_units)
            units.joined(parameters).check(layout)
        if self.generator is not None:
            own = dict(self.generator)
            draws = own.pop("draws")
            joint = _parameters("generator", own, layout)
            size = joint.to_vector().size
            require(draws.shape[1:] == (size,), f"'generator.draws' must have {size} columns; found the shape {draws.shape}")
            generating = OnDemand(made=Generator(joint, tuple(joint.with_vector(vector) for vector in draws)))
            for draw in generating.value.draws:
                draw.check(layout)
        if self.spread is not None:
            n_effects = sum(sum(unit.coupled) for unit in layout.units[: layout.outcomes.start])
            spread = typed(self.spread, Spread, ".spread")
            problem = spread.check(flat(parameters.natural()).size, n_effects)
            require(problem is None, f"the tensor 'spread.{problem}'")
            spreading = OnDemand(made=spread)
        return parameters, units, generating, spreading


@dataclass(frozen=True)
class StoredEndpoint(StoredHarmonium):
    """That of one endpoint: the time scales of every state, and the covariates that tell the state."""

    scales: tuple[TimeScale | None, ...]
    columns: StateColumns

    def rules(self) -> dict[str, bool]:
        """What holds of every harmonium that was fitted."""
        told, roles = self.columns, {column.name: column.role for column in self.encoding.columns}
        right = all(name is None or roles.get(name) == "binary" for name in told.happened)
        right = right and (told.when is None or roles.get(told.when) == "numeric")
        return super().rules() | {
            "it must be of one endpoint alone": len(self.encoding.endpoints) == 1 and self.encoding.ordered is None,
            "it cannot have covariate units": self.covariate_units is None,
            f"it must have the columns that tell the state; found {told}": right,
        }


@dataclass(frozen=True)
class Contents(StoredHarmonium):
    """All that is in a file."""

    endpoints: tuple[StoredEndpoint, ...]

    @classmethod
    def of_model(cls, model: Answering) -> Self:
        """Of a fitted model."""
        models = () if model.transitions is None else model.transitions.models
        return cls.of(model, tuple(StoredEndpoint.of(own, own.scales, own.columns) for own in models))

    @property
    def n_hidden(self) -> int:
        """How many prognostic units, at most in one harmonium."""
        return max(own["b"].size for own in (self.parameters, *(one.parameters for one in self.endpoints)))

    def rules(self) -> dict[str, bool]:
        """What holds of every model that was fitted."""
        ordered = self.encoding.ordered
        graph = StateGraph((), ()) if ordered is None else ordered.graph
        found = [own.encoding.endpoint_names for own in self.endpoints]
        out = {"there must be a harmonium for each endpoint where one is terminal": found == [(name,) for name in graph.names]}
        for e, own in enumerate(self.endpoints):
            where, told = f"the harmonium of endpoint {e} must have", {*own.columns.happened, own.columns.when}
            scaled, possible = [scale is not None for scale in own.scales], [e in graph.options(state) for state in graph.states]
            out[f"{where} a time scale for each state in which it can happen"] = scaled == possible
            out[f"{where} a column or none for each event that tells the state"] = len(own.columns.happened) == len(graph.intermediate)
            out[f"{where} the columns of the study"] = _used(own.encoding) - told == _used(self.encoding)
        return out | super().rules()


def _used(encoding: Encoding) -> set[Any]:
    return {column.name for column in encoding.columns if column.role != "ignored"}


def _of_parameters(parameters: Parameters) -> Tensors:
    blocks = {f"{i}.{name}": values for i, block in enumerate(parameters.blocks) for name, values in block.items()}
    return {"b": parameters.hidden_bias, **blocks}


def _parameters(where: str, tensors: Tensors, layout: Layout) -> Parameters:
    """Parameters of a layout."""
    from harmonium.engine.parameters import Parameters  # noqa: PLC0415 - compiled code

    bias = tensors["b"]
    shapes = [
        {name: (block.n_columns, *shape) for name, shape in block.unit.parameter_shapes(bias.size).items()} for block in layout.blocks
    ]
    named = {f"{i}.{name}": shape for i, block in enumerate(shapes) for name, shape in block.items()}
    _check_shapes(where, tensors, {"b": (bias.size,), **named})
    parameters = Parameters(layout, bias, tuple({name: tensors[f"{i}.{name}"] for name in block} for i, block in enumerate(shapes)))
    parameters.check(layout)
    return parameters


def _check_shapes(where: str, tensors: Tensors, shapes: dict[str, tuple[int, ...]]) -> None:
    strange, missing = tensors.keys() - shapes.keys(), shapes.keys() - tensors.keys()
    require(not strange and not missing, f"{where} must have the tensors {', '.join(shapes)}; found {', '.join(tensors)}")
    for name, shape in shapes.items():
        found = tensors[name].shape
        require(found == shape, f"the tensor '{where}.{name}' must have the shape {shape}; found {found}")
