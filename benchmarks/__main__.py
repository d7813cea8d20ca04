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
    interval_cost,
    interval_coverage,
    kernels,
    landmark,
    many_rows,
    neutral,
    nothing_known,
    null_effects,
    paper,
    parity,
    prediction_speed,
    quality,
    stability,
    start_up,
    three_way,
    wins,
)

_BENCHMARKS: dict[str, Callable[..., None]] = {
    "cohorts": cohorts.run,
    "concordance_speed": concordance_speed.run,
    "contrastive": contrastive.run,
    "coverage": interval_coverage.run,
    "episodes": episodes.run,
    "explorer_latency": explorer_latency.run,
    "fit_speed": fit_speed.run,
    "gaps": gaps.run,
    "hazards": hazards.run,
    "imputation": imputation.run,
    "integration": integration.run,
    "interval_cost": interval_cost.run,
    "kernels": kernels.run,
    "landmark": landmark.run,
    "many_rows": many_rows.run,
    "neutral": neutral.run,
    "nothing_known": nothing_known.run,
    "null_effects": null_effects.run,
    "paper": paper.run,
    "parity": parity.run,
    "prediction_speed": prediction_speed.run,
    "quality": quality.run,
    "stability": stability.run,
    "start_up": start_up.run,
    "three_way": three_way.run,
    "wins": wins.run,
}


def main() -> None:
    """Run one benchmark by name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Ratios of speed, in one run, against peers and limits.")
    parser.add_argument("name", choices=sorted(_BENCHMARKS), help="which question to answer")
    parser.add_argument(
        "given",
        nargs="*",
        help="of neutral: the folder with the published data; of episodes: some of its studies; of others that simulate: replications",
    )
    asked = parser.parse_args()
    if asked.name == "neutral" and len(asked.given) != 1:
        parser.error("neutral needs a folder")
    if asked.given and asked.name not in ("neutral", "episodes", "coverage", "null_effects", "wins"):
        parser.error("neutral, episodes, coverage, null_effects and wins, and nothing else, take more than a name")
    _BENCHMARKS[asked.name](*(map(Path, asked.given) if asked.name == "neutral" else asked.given))


if __name__ == "__main__":
    main()
