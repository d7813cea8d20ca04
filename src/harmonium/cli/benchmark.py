"""``harmonium benchmark``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harmonium.cli.extras import require_matplotlib
from harmonium.cli.options import Json, Quiet, flag
from harmonium.cli.terminal import Terminal

EXAMPLES = """
Examples:

harmonium benchmark --quick

harmonium benchmark --datasets nvalt8,nvalt11 --models cox,harmonium --jobs 2

harmonium benchmark --rivals benchmarks/rivals.py --models cox,forest,svm,harmonium

harmonium benchmark --scheduler tcp://10.0.0.1:8786
"""

_QUICK = (3, 3)


def run(
    context: typer.Context,
    datasets: Annotated[
        str, typer.Option("--datasets", metavar="NAMES", help="Studies, separated by commas.", show_default="all six")
    ] = "",
    models: Annotated[str, typer.Option("--models", metavar="NAMES", help="Models, separated by commas.", show_default="all")] = "",
    candidates: Annotated[int, typer.Option("--candidates", metavar="NUMBER", min=1, help="Settings tried for each model.")] = 50,
    folds: Annotated[int, typer.Option("--folds", metavar="NUMBER", min=2, help="Outer folds, and as many inner ones.")] = 5,
    quick: Annotated[bool, flag("--quick", help="Three folds and three candidates; all models but the paper's harmonium.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="NUMBER", min=1, help="Processes on this machine.")] = 2,
    rivals: Annotated[
        Path | None, typer.Option("--rivals", metavar="FILE", help="A Python file with further models to compare.", show_default=False)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster at this address.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where results are saved.")] = Path("benchmark"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the paper's benchmark: nested cross-validation with random search on six studies.

    Results are saved one by one, so that an interrupted run continues where it stopped. In the end the folder holds scores.csv (every
    fold), table.csv (mean and standard deviation) and scores.png (the paper's Fig 2).

    A star marks predictions given everything observed of the other endpoint; (landmark) those given what was known at month 12.
    """
    require_matplotlib()
    from harmonium.cli.writing import replacing
    from harmonium.datasets.studies import STUDIES
    from harmonium.studies.benchmark.execution import Results, cluster
    from harmonium.studies.benchmark.protocol import Protocol
    from harmonium.studies.benchmark.rivals import RIVALS, load_rivals
    from harmonium.studies.benchmark.search import count_tasks, failures, run_benchmark
    from harmonium.studies.benchmark.summary import draw_scores, mean_and_deviation

    terminal: Terminal = context.obj
    folds, candidates = _QUICK if quick else (folds, candidates)
    load_rivals(None if rivals is None else str(rivals.resolve()))
    studies = _chosen("--datasets", datasets, list(STUDIES))
    kinds = _chosen("--models", models, [name for name in RIVALS if not (quick and name == "paper-harmonium")])
    protocol = Protocol(folds, candidates, None if rivals is None else str(rivals.resolve()))
    results = Results(output, protocol)
    total = count_tasks(protocol, studies, kinds)
    with terminal.steps("tasks", total) as done, cluster(scheduler):
        scores = run_benchmark(protocol, studies, kinds, results, -1 if scheduler else jobs, done)
    table = mean_and_deviation(scores)
    with replacing(output / "scores.csv", True) as temporary:
        scores.to_csv(temporary, index=False)
    with replacing(output / "table.csv", True) as temporary:
        table.to_csv(temporary)
    with replacing(output / "scores.png", True) as temporary:
        draw_scores(scores).savefig(temporary, format="png", dpi=160)
    rows = [
        [*index, *(f"{row[m, 'mean']:.3f} ± {row[m, 'std']:.3f}" for m in table.columns.levels[0])]
        for index, row in zip(table.index, table.to_dict("records"), strict=True)
    ]
    terminal.table(f"{folds}x{folds} nested cross-validation", ["study", "model", "kind", *table.columns.levels[0]], rows, right=(3, 4, 5))
    failed = failures(protocol, studies, kinds, results)
    for task, _, error in failed.head(5).itertuples(index=False):
        terminal.warn(f"{task}: {error}")
    if len(failed):
        terminal.note(f"{len(failed)} of {total} tasks failed; their files in {output} say why")
    terminal.note(f"wrote scores.csv, table.csv and scores.png to {output}")
    terminal.result({"output": str(output), "failures": len(failed), "scores": scores.to_dict("records")})


def _chosen(option: str, text: str, known: list[str]) -> list[str]:
    from harmonium.table.frames import did_you_mean

    names = [name.strip() for name in text.split(",") if name.strip()] or known
    for name in names:
        if name not in known:
            raise ValueError(f"{option} has no {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}")
    return names
