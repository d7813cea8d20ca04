"""``harmonium benchmark``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harmonium.cli.extras import require_matplotlib
from harmonium.cli.options import Json, Quiet, flag
from harmonium.cli.terminal import Terminal

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
Examples:

harmonium benchmark --quick

harmonium benchmark --datasets nvalt8,nvalt11 --models cox,harmonium --jobs 2

harmonium benchmark --rivals benchmarks/rivals.py --candidates 50 --candidates paper-harmonium=15

harmonium benchmark --models paper-harmonium --dry-run

harmonium benchmark --scheduler tcp://10.0.0.1:8786
"""

_QUICK = (3, 3)


def run(
    context: typer.Context,
    datasets: Annotated[
        str, typer.Option("--datasets", metavar="NAMES", help="Studies, separated by commas.", show_default="all six")
    ] = "",
    models: Annotated[str, typer.Option("--models", metavar="NAMES", help="Models, separated by commas.", show_default="all")] = "",
    candidates: Annotated[
        list[str] | None,
        typer.Option(
            "--candidates",
            metavar="NUMBER or MODEL=NUMBER",
            help="Settings tried for each model, or for one of them; can be repeated. More can be added later.",
            show_default="50",
        ),
    ] = None,
    folds: Annotated[int, typer.Option("--folds", metavar="NUMBER", min=2, help="Outer folds, and as many inner ones.")] = 5,
    quick: Annotated[bool, flag("--quick", help="Three folds and three candidates; all models but the paper's harmonium.")] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="NUMBER", min=1, help="Processes on this machine.")] = 2,
    rivals: Annotated[
        Path | None, typer.Option("--rivals", metavar="FILE", help="A Python file with further models to compare.", show_default=False)
    ] = None,
    scheduler: Annotated[
        str | None, typer.Option("--scheduler", metavar="ADDRESS", help="Run on the Dask cluster at this address.", show_default=False)
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where tables and figure go.")] = Path("benchmark"),
    results: Annotated[
        Path | None,
        typer.Option("--results", metavar="FOLDER", help="Where the results of single fits are.", show_default="OUTPUT/results"),
    ] = None,
    dry_run: Annotated[bool, flag("--dry-run", help="Run nothing; say how many fits are left and how long they may take.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run the paper's benchmark: nested cross-validation with random search on six studies.

    The result of every fit is saved when it is done, a line in a file for each study and model, so that an interrupted run continues where
    it stopped, on another machine too. In the end the folder holds scores.csv (every fold), table.csv (mean and standard deviation) and
    scores.png (the paper's Fig 2).

    A star marks predictions given everything observed of the other endpoint; (landmark) those given what was known at month 12.
    """
    require_matplotlib()
    from harmonium.datasets.studies import STUDIES
    from harmonium.studies.benchmark.execution import cluster
    from harmonium.studies.benchmark.protocol import Protocol
    from harmonium.studies.benchmark.rivals import RIVALS, load_rivals
    from harmonium.studies.benchmark.search import count_tasks, failures, run_benchmark, work_left
    from harmonium.studies.benchmark.storage import Results

    terminal: Terminal = context.obj
    further = None if rivals is None else str(rivals.resolve())
    load_rivals(further)
    studies = _chosen("--datasets", datasets, list(STUDIES))
    kinds = _chosen("--models", models, [name for name in RIVALS if not (quick and name == "paper-harmonium")])
    number, exceptions = (_QUICK[1], {}) if quick else _numbers(candidates or [], list(RIVALS))
    protocol = Protocol(_QUICK[0] if quick else folds, number, further, tuple(exceptions.items()))
    kept = Results(results or output / "results", protocol)
    if dry_run:
        _show_work(terminal, work_left(protocol, studies, kinds, kept))
        return
    total = count_tasks(protocol, studies, kinds)
    with terminal.steps("tasks", total) as done, cluster(scheduler):
        scores = run_benchmark(protocol, studies, kinds, kept, -1 if scheduler else jobs, done)
    _write(terminal, output, scores, f"{protocol.folds}x{protocol.folds} nested cross-validation")
    failed = failures(protocol, studies, kinds, kept)
    for task, _, error, _ in failed.head(5).itertuples(index=False):
        terminal.warn(f"{task}: {error}")
    if len(failed):
        terminal.note(f"{len(failed)} of {total} tasks failed, {failed['diverged'].sum()} of them because training diverged")
    work = work_left(protocol, studies, kinds, kept)
    if work["sampled"].any():
        terminal.note(f"{work['sampled'].sum()} answers were found by Gibbs sampling, since the integral would have been too large")
    terminal.note(f"wrote scores.csv, table.csv and scores.png to {output}")
    terminal.result({"output": str(output), "failures": len(failed), "scores": scores.to_dict("records")})


def _show_work(terminal: Terminal, work: pd.DataFrame) -> None:
    """What is done and what is left, and how long it may take."""
    rows = [[*map(str, row[:-2]), *(f"{hours:.2f}" for hours in row[-2:])] for row in work.itertuples(index=False)]
    terminal.table("hours of one core; nan: nothing to estimate from", list(work.columns), rows, right=range(2, work.shape[1]))
    terminal.result({"work": work.to_dict("records")})


def _write(terminal: Terminal, output: Path, scores: pd.DataFrame, title: str) -> None:
    """Tables and figure, into the folder and to the reader."""
    from harmonium.cli.writing import replacing
    from harmonium.studies.benchmark.figure import draw_scores
    from harmonium.studies.benchmark.summary import mean_and_deviation

    table = mean_and_deviation(scores)
    output.mkdir(parents=True, exist_ok=True)
    with replacing(output / "scores.csv", True) as temporary:
        scores.to_csv(temporary, index=False)
    with replacing(output / "table.csv", True) as temporary:
        table.to_csv(temporary)
    with replacing(output / "scores.png", True) as temporary:
        draw_scores(table).savefig(temporary, format="png", dpi=160)
    rows = [
        [*index, *(f"{row[m, 'mean']:.3f} ± {row[m, 'std']:.3f}" for m in table.columns.levels[0])]
        for index, row in zip(table.index, table.to_dict("records"), strict=True)
    ]
    terminal.table(title, ["study", "model", "kind", *table.columns.levels[0]], rows, right=(3, 4, 5))


def _numbers(texts: list[str], known: list[str]) -> tuple[int, dict[str, int]]:
    """How many candidates models have, and which have another number."""
    number, exceptions = 50, {}
    for text in texts:
        model, _, digits = text.rpartition("=")
        if not digits.isdecimal() or int(digits) < 1:
            raise ValueError(f"--candidates must be a positive number or MODEL=NUMBER; found {text!r}")
        if "=" in text:
            exceptions[_chosen("--candidates", model, known)[0]] = int(digits)
        else:
            number = int(digits)
    return number, exceptions


def _chosen(option: str, text: str, known: list[str]) -> list[str]:
    from harmonium.table.frames import did_you_mean

    names = [name.strip() for name in text.split(",") if name.strip()] or known
    for name in names:
        if name not in known:
            raise ValueError(f"{option} has no {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}")
    return names
