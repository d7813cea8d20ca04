"""``harmonium reproduce``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from harmonium.cli.extras import require_matplotlib
from harmonium.cli.options import Force, Json, Quiet, Seed
from harmonium.cli.terminal import Terminal

EXAMPLES = """
Examples:

harmonium reproduce three-way -o three_way.png

harmonium reproduce three-way --contrastive 60000 -o three_way.png
"""


def run(
    context: typer.Context,
    what: Annotated[Literal["three-way"], typer.Argument(metavar="WHAT", help="three-way: the paper's Fig 1.")],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="A .png, .pdf or .svg file.")] = "three_way.png",
    contrastive: Annotated[
        int,
        typer.Option(
            "--contrastive",
            metavar="EPOCHS",
            min=0,
            help="Draw a fit by contrastive divergence beside it, with the paper's settings and this many epochs; 60000 take minutes.",
            show_default="none",
        ),
    ] = 0,
    seed: Seed = 0,
    force: Force = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Reproduce a figure of the paper, and check what it claims.

    The three-way problem: two event times that reveal a colour only together. A Cox model of either time finds nothing; a harmonium with
    four hidden units represents the density, whether its parameters are written down or learned.
    """
    from harmonium.cli.writing import check_output, replacing

    terminal: Terminal = context.obj
    require_matplotlib()
    check_output(output, force, (".png", ".pdf", ".svg"))
    from harmonium.studies.three_way import reproduce_three_way  # takes longer than all messages above

    found = reproduce_three_way(random_state=seed, contrastive_epochs=contrastive)
    with replacing(Path(output), force) as temporary:
        found.figure.savefig(temporary, format=output.rsplit(".", 1)[-1].lower(), dpi=160)
    rows = [[row[0], *(f"{value:.3g}" for value in row[1:])] for row in found.modes.itertuples(index=False)]
    terminal.table("density at the modes of the blobs", list(found.modes.columns), rows, right=range(1, found.modes.shape[1]))
    for name, p in found.p_values.items():
        terminal.note(f"Cox model of {name}: the colour has p = {p:.2f}")
    terminal.note(f"total probability of the closed form, by quadrature: {found.total:.9f}")
    terminal.note(f"wrote {output}")
    terminal.result({"output": output, "p_values": found.p_values, "total": found.total, "modes": found.modes.to_dict("records")})
