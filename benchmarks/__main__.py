"""Command line of the benchmarks: ``python -m benchmarks kernels``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    cohorts,
    concordance_speed,
    contrastive,
    episodes,
    explorer_latency,
    fit_speed,
    gaps,
    hazards,
    imputation,
    integration,
    kernels,
    landmark,
    many_rows,
    many_states,
    neutral,
    nothing_known,
    paper,
    parity,
    prediction_speed,
    quality,
    stability,
    start_up,
    three_way,
)

_BENCHMARKS: dict[str, Callable[..., None]] = {
    "cohorts": cohorts.run,
    "concordance_speed": concordance_speed.run,
    "contrastive": contrastive.run,
    "episodes": episodes.run,
    "explorer_latency": explorer_latency.run,
    "fit_speed": fit_speed.run,
    "gaps": gaps.run,
    "hazards": hazards.run,
    "imputation": imputation.run,
    "integration": integration.run,
    "kernels": kernels.run,
    "landmark": landmark.run,
    "many_rows": many_rows.run,
    "many_states": many_states.run,
    "neutral": neutral.run,
    "nothing_known": nothing_known.run,
    "paper": paper.run,
    "parity": parity.run,
    "prediction_speed": prediction_speed.run,
    "quality": quality.run,
    "stability": stability.run,
    "start_up": start_up.run,
    "three_way": three_way.run,
}


def main() -> None:
    """Run one benchmark by name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios of speed, in one run, against peers and limits.")
    parser.add_argument("name", choices=sorted(_BENCHMARKS), help="which question to answer")
    parser.add_argument("folder", nargs="?", type=Path, help="of neutral: where the published data, folds and scores are")
    given = parser.parse_args()
    if (given.folder is not None) != (given.name == "neutral"):
        parser.error("neutral, and nothing else, needs a folder")
    _BENCHMARKS[given.name](*([] if given.folder is None else [given.folder]))


if __name__ == "__main__":
    main()
