"""Models of single endpoints in a model file (:mod:`harmonium.model.storage`).

There is a list of them, or none: the time scales of every state, the names of the covariates that tell the state, the encoding and
the summary of training. Their tensors are called ``endpoint<number>.<name>``, ``event_times`` among them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from harmonium.model.component_tensors import read_tensors, tensors_of
from harmonium.model.file_checks import check_encoding, check_scale, check_training, require
from harmonium.model.training_summary import TrainingSummary
from harmonium.table.encoding import Encoding
from harmonium.table.state_graph import StateGraph
from harmonium.table.time_scale import TimeScale
from harmonium.typing import Array

if TYPE_CHECKING:
    from harmonium.model.transitions import Transitions

__all__ = ["StoredEndpoint", "endpoint_documents", "endpoint_tensors", "read_transitions", "stored_endpoints"]

_TENSORS = "endpoint"


@dataclass(frozen=True)
class StoredEndpoint:
    """The model of one endpoint, as far as it is read without numerical code."""

    scales: tuple[TimeScale | None, ...]
    happened: tuple[str | None, ...]
    when: str | None
    encoding: Encoding
    training: TrainingSummary
    tensors: dict[str, Array]


# --- to a file ---


def endpoint_documents(models: Transitions | None) -> list[dict[str, Any]] | None:
    """All but the tensors."""
    if models is None:
        return None
    return [
        {
            "scales": [None if scale is None else scale.to_dict() for scale in model.scales],
            "happened": list(model.columns.happened),
            "when": model.columns.when,
            "encoding": model.encoding.to_dict(),
            "training": asdict(model.training),
        }
        for model in models.models
    ]


def endpoint_tensors(models: Transitions | None) -> dict[str, Array]:
    """By name."""
    out: dict[str, Array] = {}
    for e, model in enumerate(() if models is None else models.models):
        own = {"event_times": model.encoding.endpoints[0].event_times, **tensors_of(model)}
        out |= {f"{_TENSORS}{e}.{name}": values for name, values in own.items()}
    return out


# --- from a file ---


def stored_endpoints(documents: Any, tensors: dict[str, Array], encoding: Encoding) -> tuple[StoredEndpoint, ...] | None:
    """Models of endpoints, whose tensors are taken out of all tensors."""
    require(
        (documents is None) == (encoding.ordered is None), "there must be harmoniums of endpoints if and only if one of these is terminal"
    )
    if encoding.ordered is None:
        return None
    graph = encoding.ordered.graph
    require(isinstance(documents, list) and len(documents) == len(graph.names), "there must be a harmonium for each endpoint")
    return tuple(_stored(document, _taken(tensors, f"{_TENSORS}{e}."), graph, e) for e, document in enumerate(documents))


def _stored(document: Mapping[str, Any], tensors: dict[str, Array], graph: StateGraph, e: int) -> StoredEndpoint:
    where = f"the model of endpoint {graph.names[e]!r}"
    require("event_times" in tensors and "b" in tensors, f"{where} has no tensors")
    require(tensors["b"].ndim == 1, f"{where} must have hidden biases with one axis")
    scales = tuple(None if scale is None else TimeScale.from_dict(scale) for scale in document["scales"])
    for scale in scales:
        if scale is not None:
            check_scale(scale)
    possible = [e in graph.options(state) for state in graph.states]
    require([scale is not None for scale in scales] == possible, f"{where} must have a time scale for each state in which it can happen")
    encoding = Encoding.from_dict(document["encoding"], [tensors.pop("event_times")])
    check_encoding(encoding)
    require(encoding.endpoint_names == (graph.names[e],) and encoding.ordered is None, f"{where} must be of that endpoint alone")
    roles = {column.name: column.role for column in encoding.columns}
    happened, when = tuple(document["happened"]), document["when"]
    right = all(own is None or roles.get(own) == "binary" for own in happened) and (when is None or roles.get(when) == "numeric")
    right = right and len(happened) == len(graph.intermediate)
    require(right, f"{where} must have the columns that tell the state; found {happened!r} and {when!r}")
    training = TrainingSummary(**document["training"])
    check_training(training, tensors["b"].size, encoding.endpoint_names)
    return StoredEndpoint(scales, happened, when, encoding, training, tensors)


def _taken(tensors: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): tensors.pop(name) for name in [name for name in tensors if name.startswith(prefix)]}


def read_transitions(stored: tuple[StoredEndpoint, ...] | None, study: Encoding) -> Transitions | None:
    """The models, whose shapes and values are checked."""
    from harmonium.model.endpoint_model import EndpointModel, StateColumns  # noqa: PLC0415 - compiled code
    from harmonium.model.on_demand import OnDemand  # noqa: PLC0415 - as above
    from harmonium.model.transitions import Transitions  # noqa: PLC0415 - as above

    if stored is None or study.ordered is None:
        return None
    models, names = [], {column.name for column in study.modelled}
    for one in stored:
        own = {column.name for column in one.encoding.modelled}
        require(own - {*one.happened, one.when} == names, "models of endpoints must have the columns of the study")
        parameters, units, generator, spread = read_tensors(dict(one.tensors), one.encoding.layout)
        require(units is None, "harmoniums of endpoints have no covariate units")
        spreading = None if spread is None else OnDemand(made=spread)
        generating = None if generator is None else OnDemand(made=generator)
        columns = StateColumns(one.happened, one.when)
        models.append(EndpointModel(one.scales, columns, one.encoding, parameters, one.training, spreading, generating))
    return Transitions(study.ordered.graph, tuple(models))
