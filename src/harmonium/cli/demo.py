"""``harmonium demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from harmonium.cli.extras import require_matplotlib
from harmonium.cli.options import Json, Quiet
from harmonium.cli.terminal import Terminal

EXAMPLES = """
Examples:

harmonium demo -o demo
"""


def run(
    context: typer.Context,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="Where the page goes; an earlier one is replaced.")
    ] = Path("demo"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show what harmonium does, on a trial that comes with the package: fit, compare with a Cox model, and write a page."""
    require_matplotlib()
    from harmonium.cli.writing import replacing
    from harmonium.studies.demo import N_STEPS, demonstrate, in_months

    terminal: Terminal = context.obj
    with terminal.steps("the NVALT-8 trial", N_STEPS) as done:
        found = demonstrate(done)
    output.mkdir(parents=True, exist_ok=True)
    with replacing(output / "report.html", True) as temporary:
        temporary.write_text(found.html, encoding="utf-8")
    rows = [[row[0], str(row[1]), f"{row[2]:.3f}", f"{row[3]:.3f}"] for row in found.scores.itertuples(index=False)]
    terminal.table("overall survival in 5-fold cross-validation", list(found.scores.columns), rows, right=(1, 2, 3))
    medians = [[known, in_months(median)] for known, median in found.medians.items()]
    terminal.table("one patient's median overall survival", ["what is known", "median"], medians, right=(1,))
    terminal.note(f"Look at {output / 'report.html'}")
    terminal.result({"output": str(output / "report.html"), "scores": found.scores.to_dict("records"), "medians": found.medians})
