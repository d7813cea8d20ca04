"""From a model file to the model in it."""

from __future__ import annotations

import os

from harmonium.model.contents import Contents
from harmonium.model.fitted import Fitted
from harmonium.model.storage import naming, read_contents
from harmonium.model.transitions import EndpointModel, Transitions

__all__ = ["load", "model_in"]


def load(path: str | os.PathLike[str], *, n_jobs: int | None = None) -> Fitted:
    """Read a model that :meth:`harmonium.SurvivalHarmonium.save` has written. Executes no code from the file.

    Parameters
    ----------
    path : path-like
    n_jobs : int, optional
        Threads that answer; by default as many as there are cores.

    Returns
    -------
    Fitted
        With the same predictions to the last bit.

    Raises
    ------
    FileNotFoundError
    ModelFileError
        If the file is damaged, of another origin, or of a newer format.

    Examples
    --------
    >>> import harmonium as hm, tempfile
    >>> X, y = hm.datasets.make_three_way(100, random_state=0)
    >>> model = hm.SurvivalHarmonium(n_hidden=1, trainer=hm.Exact(n_starts=1), random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(f"{folder}/model.harmonium")
    ...     again = hm.load(f"{folder}/model.harmonium")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    contents = read_contents(path)
    with naming(path):
        return model_in(contents, n_jobs)


def model_in(contents: Contents, n_jobs: int | None = None) -> Fitted:
    """The model in a file that has been read."""
    parameters, units, generating, spreading = contents.parts()
    return Fitted(contents.encoding, parameters, contents.training, n_jobs, units, generating, spreading, _transitions(contents))


def _transitions(contents: Contents) -> Transitions | None:
    if contents.encoding.ordered is None:
        return None
    models = []
    for one in contents.endpoints:
        parameters, _, generating, spreading = one.parts()
        models.append(EndpointModel(one.scales, one.columns, one.encoding, parameters, one.training, spreading, generating))
    return Transitions(contents.encoding.ordered.graph, tuple(models))
