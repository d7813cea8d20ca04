"""What is asked of a cluster and of Dask collections before any work begins."""

from __future__ import annotations

from typing import Any

__all__ = ["paired_partitions", "require_paired", "the_client"]

_PATIENCE = 30.0  # seconds until a cluster must have its first worker


def the_client(client: Any = None) -> Any:
    """The client that was given, or the one that was opened last; a cluster without workers is refused.

    Parameters
    ----------
    client : distributed.Client, optional

    Raises
    ------
    RuntimeError
        If there is none, or if no worker has come within 30 seconds.
    """
    from distributed import default_client  # noqa: PLC0415 - takes a second to import, and a collection can be asked without

    if client is None:
        try:
            client = default_client()
        except ValueError:
            raise RuntimeError(
                "there is no Dask client; open one, such as client = dask.distributed.Client() for this machine, and keep it open"
            ) from None
    try:
        client.wait_for_workers(1, timeout=_PATIENCE)
    except TimeoutError:
        raise RuntimeError(
            f"the Dask cluster at {client.scheduler.address} has had no worker for {_PATIENCE:g} seconds; "
            "start some, as in cluster.scale(2), and fit again"
        ) from None
    return client


def require_paired(X: Any, y: Any, called: str = "y") -> None:
    """Refuse collections whose partitions do not belong together."""
    for name, table in (("X", X), (called, y)):
        if not hasattr(table, "npartitions") or not hasattr(table, "columns"):
            raise TypeError(
                f"{name} must be a Dask DataFrame; found {type(table).__name__}. Use harmonium.SurvivalHarmonium for tables in memory"
            )
    advice = f"make {called} from the same collection as X, or give both the same divisions with repartition"
    if X.npartitions != y.npartitions:
        raise ValueError(f"X and {called} must have as many partitions; found {X.npartitions} and {y.npartitions}: {advice}")
    if X.known_divisions and y.known_divisions and X.divisions != y.divisions:
        number = next(i for i, (ours, theirs) in enumerate(zip(X.divisions, y.divisions, strict=True)) if ours != theirs)
        found = f"the first difference is at division {number}: {X.divisions[number]!r} and {y.divisions[number]!r}"
        raise ValueError(f"X and {called} must be divided alike; {found}: {advice}")


def paired_partitions(X: Any, y: Any) -> list[tuple[Any, Any]]:
    """Partitions of X and y side by side, not yet computed."""
    require_paired(X, y)
    return list(zip(X.to_delayed(), y.to_delayed(), strict=True))
